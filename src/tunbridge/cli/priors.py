"""The prior of a network's tables, as an option describes it."""

from __future__ import annotations

from typing import Any

from tunbridge.cli.failures import UsageError

_FORMS = (
    "--prior must be mle, a number, m:M, bdeu, bdeu:ESS, bds, bds:ESS, k2, laplace, laplace:X, jeffreys, backoff or "
    "backoff:S"
)


def read_prior(text: str | None) -> Any:
    """Return the prior that an option describes."""
    from tunbridge.learning import BackOff, BDeu, BDs
    from tunbridge.learning.priors import DEFAULT_PRIOR, NAMES, as_prior
    from tunbridge.probability import Laplace, MEstimate

    if text is None:
        return DEFAULT_PRIOR
    name, sign, number = text.strip().lower().partition(":")
    rules: dict[str, Any] = {
        "bdeu": BDeu, "bds": BDs, "laplace": Laplace, "backoff": BackOff, "m": lambda m: MEstimate(m=m),
    }  # fmt: skip
    if sign and name in rules:
        return rules[name](_number(text, number))
    if not sign and (name in NAMES or name[:1].isdigit() or name[:1] in (".", "-")):
        return as_prior(name if name in NAMES else _number(text, name))
    raise UsageError(f"{_FORMS}; got {text!r}.")


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise UsageError(f"{_FORMS}; got {text!r}.") from None
