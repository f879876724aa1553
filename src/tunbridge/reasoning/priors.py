"""Prior probabilities as people state them: by name, in order, all alike, or all but one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge.errors import DataError
from tunbridge.probability.floats import TOLERANCE
from tunbridge.reasoning.numbers import Number, as_probability, exact_sum, exact_value, like, number_text

NOISE = Fraction(1, 10**12)
"""What rounding may leave of a difference of two sums that are equal."""


def as_prior(prior: Any, hypotheses: Sequence[Hashable], *, what: str = "the prior") -> tuple[Number, ...]:
    """Return the prior probability of each hypothesis; they sum to one.

    Parameters
    ----------
    prior : None, "uniform", mapping, pandas Series, or iterable of numbers
        ``None`` or ``"uniform"``: all alike. A mapping by hypothesis, in which one may be left out: it gets what the
        others leave. An iterable in the order of the hypotheses.
    hypotheses : sequence
    what : str
        What it is called in messages.

    Examples
    --------
    >>> as_prior({"cancer": 0.008}, ["cancer", "healthy"])
    (0.008, 0.992)
    >>> as_prior(None, ["a", "b", "c"])
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    if not hypotheses:
        raise DataError("there must be one hypothesis at least; got none.")
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return (Fraction(1, len(hypotheses)),) * len(hypotheses)
    if isinstance(prior := by_name(prior), Mapping):
        return normalised(what, _named(what, prior, hypotheses))
    if isinstance(prior, str) or not isinstance(prior, Iterable):
        rule = "must be a mapping or a sequence of probabilities, or 'uniform'"
        raise DataError(f"{what} {rule}; got {shortened(repr(prior))}.")
    given = list(prior)
    if len(given) != len(hypotheses):
        raise DataError(f"{what} must have a probability for each of {len(hypotheses)} hypotheses; got {len(given)}.")
    pairs = zip(hypotheses, given, strict=True)
    return normalised(what, [as_probability(f"{what} of {name!r}", value) for name, value in pairs])


def by_name(given: Any) -> Any:
    """Return a pandas Series as a mapping, by its index, unless that only counts; all else as it is."""
    if isinstance(given, Mapping) or not hasattr(given, "to_dict"):
        return given
    found = given.to_dict()
    return given if list(found) == list(range(len(found))) else found


def normalised(what: str, values: Sequence[Number]) -> tuple[Number, ...]:
    """Return probabilities that sum to exactly one; raise unless they nearly do."""
    whole = exact_sum(values)
    if abs(whole - 1) > TOLERANCE:
        hint = " They look like percentages: divide them by 100." if abs(whole - 100) < 1 else ""
        raise DataError(f"{what} must sum to 1; got {number_text(like(whole, values))}.{hint}")
    return tuple(values) if whole == 1 else tuple(like(exact_value(value) / whole, [value]) for value in values)


def distinct(hypotheses: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return the hypotheses, which must be different from each other, and one at least."""
    try:
        names = tuple(hypotheses)
        n_different = len(set(names))
    except TypeError as error:
        raise DataError(f"hypotheses must be names or other plain values; {error}.") from None
    if not names or n_different < len(names):
        got = listed(names) or "none"
        raise DataError(f"hypotheses must be different from each other, and one at least; got {got}.")
    return names


def check_names(what: str, given: Mapping[Any, Any], hypotheses: Sequence[Hashable]) -> None:
    """Raise unless all keys are hypotheses."""
    known = set(hypotheses)
    for name in given:
        if name not in known:
            raise DataError(f"{what} must name hypotheses; got {name!r}. {did_you_mean(name, hypotheses)}")


def _named(what: str, prior: Mapping[Any, Any], hypotheses: Sequence[Hashable]) -> list[Number]:
    check_names(what, prior, hypotheses)
    given = {name: as_probability(f"{what} of {name!r}", value) for name, value in prior.items()}
    absent = [name for name in hypotheses if name not in given]
    rest = 1 - exact_sum(given.values())
    if len(absent) == 1 and abs(rest) <= NOISE:
        raise DataError(f"{what} must leave something for {absent[0]!r}, which it does not name; the others sum to 1.")
    if len(absent) > 1:
        raise DataError(f"{what} must name every hypothesis, or all but one; {listed(absent)} is not there.")
    if absent:
        if rest < 0:
            shown = number_text(like(1 - rest, given.values()))
            raise DataError(f"{what} must sum to 1; without {absent[0]!r}, which is not there, it sums to {shown}.")
        given[absent[0]] = like(rest, given.values())
    return [given[name] for name in hypotheses]
