"""Weights of evidence: why this class rather than that one.

Under naive Bayes the log-odds of class c against c′ are a sum with one term a feature,

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_f log P(x_f | c)/P(x_f | c′),

and each term is the weight of evidence (Good 1950) that the feature's value speaks for c. A missing value says nothing:
weight 0. A weight of 0.69 doubles the odds, one of −0.69 halves them.

In a model with dependences between features a term is log P(x_f | parents, c)/P(x_f | parents, c′): what the value says
beside the values of its parents. The terms still add up, and each names what it is conditional on.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, isinf, isnan
from typing import Any, NamedTuple, Self

_BAR = 12
_GIVEN_SHOWN = 3


class _Weight(NamedTuple):
    feature: str
    value: Any
    weight: float


class Evidence(_Weight):
    """What one feature says: its name, its value (None when missing), and its weight in nats.

    It is a tuple of these three. ``given`` names the features beside whose values the weight is meant; it is empty
    where a feature speaks for itself.

    Examples
    --------
    >>> Evidence("humidity", "High", 0.88)
    Evidence(feature='humidity', value='High', weight=0.88)
    >>> Evidence("humidity", "High", 0.88, given=("temperature",)).given
    ('temperature',)
    """

    given: tuple[str, ...] = ()

    def __new__(cls, feature: str, value: Any, weight: float, given: Sequence[str] = ()) -> Self:
        """Return the evidence of one feature."""
        self = super().__new__(cls, feature, value, weight)
        self.given = tuple(given)
        return self

    def __repr__(self) -> str:
        more = f", given={self.given!r}" if self.given else ""
        return f"Evidence(feature={self.feature!r}, value={self.value!r}, weight={self.weight!r}{more})"

    @property
    def name(self) -> str:
        """The feature as it is shown: with what it is conditional on, the first three of many."""
        if not self.given:
            return self.feature
        more = ", …" if len(self.given) > _GIVEN_SHOWN else ""
        return f"{self.feature} | {', '.join(self.given[:_GIVEN_SHOWN])}{more}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; an infinite weight as text."""
        given = {"given": list(self.given)} if self.given else {}
        return {"feature": self.feature, "value": json_value(self.value), "weight": json_value(self.weight), **given}


@dataclass(frozen=True)
class Explanation:
    """Why a row is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before any evidence.
    evidence : tuple of Evidence
        One a feature, the heaviest (in absolute value) first; ``prior`` plus all weights is ``log_odds``. In text a
        feature that is conditional on others stands as «humidity | temperature».
    probabilities : mapping
        The posterior probability of every class.
    """

    label: Any
    against: Any
    prior: float
    evidence: tuple[Evidence, ...]
    probabilities: Mapping[Any, float]

    @property
    def log_odds(self) -> float:
        """The log of the posterior odds of ``label`` against ``against``.

        Where both classes are excluded, by the evidence or one of them by the prior, the evidence says nothing between
        them, and the prior odds remain.
        """
        terms = [self.prior, *(e.weight for e in self.evidence)]
        return self.prior if inf in terms and -inf in terms else float(sum(terms))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; infinite weights and other odd ones as text."""
        return {
            "label": json_value(self.label),
            "against": json_value(self.against),
            "prior": json_value(self.prior),
            "evidence": [e.to_dict() for e in self.evidence],
            "log_odds": json_value(self.log_odds),
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
        }

    def rows(self) -> list[tuple[str, str, float]]:
        """Return (feature, value, weight) lines: the prior, the evidence, heaviest first, and the sum."""
        found = [(e.name, value_text(e.value), e.weight) for e in self.evidence]
        return [("prior", "", self.prior), *found, ("sum", "", self.log_odds)]

    def __str__(self) -> str:
        lines = [self._headline(), ""]
        rows = self.rows()
        widths = [
            max(map(len, column)) for column in (["feature", *(r[0] for r in rows)], ["value", *(r[1] for r in rows)])
        ]
        lines.append(f"{'feature':<{widths[0]}}  {'value':<{widths[1]}}  {'weight':>7}  {'odds ×':>8}")
        largest = max((abs(w) for _, _, w in rows[:-1] if not isinf(w)), default=0.0)
        for i, (feature, value, weight) in enumerate(rows):
            bar = "" if i == len(rows) - 1 else _bar(weight, largest)
            lines.append(
                f"{feature:<{widths[0]}}  {value:<{widths[1]}}  {weight:+7.2f}  {_factor(weight):>8}  {bar}".rstrip()
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _headline(self) -> str:
        return f"{self.label!s} rather than {self.against!s}: P({self.label!s}) = {self.probabilities[self.label]:.3g}"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{html.escape(f)}</td><td>{html.escape(v)}</td><td style='text-align:right'>{w:+.2f}</td>"
            f"<td style='text-align:right'>{_factor(w)}</td></tr>"
            for f, v, w in self.rows()
        )
        head = "<tr><th>feature</th><th>value</th><th>weight</th><th>odds ×</th></tr>"
        return f"<p>{html.escape(self._headline())}</p><table>{head}{cells}</table>"


def explanation(
    label: Any,
    against: Any,
    *,
    prior: float,
    names: Sequence[str],
    values: Sequence[Any],
    weights: Sequence[float],
    probabilities: Mapping[Any, float],
    given: Sequence[Sequence[str]] | None = None,
) -> Explanation:
    """Return an Explanation with the evidence sorted, the heaviest first (ties in the order of the features)."""
    beside = [()] * len(names) if given is None else given
    evidence = [Evidence(n, v, float(w), g) for n, v, w, g in zip(names, values, weights, beside, strict=True)]
    ordered = sorted(evidence, key=lambda e: -abs(e.weight))
    return Explanation(label, against, float(prior), tuple(ordered), dict(probabilities))


def json_value(value: Any) -> Any:
    """Return a value as JSON knows it: infinities and what is no plain value as text, NaN as nothing."""
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, float) and not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def value_text(value: Any) -> str:
    """Return a value as a table shows it."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _bar(weight: float, largest: float) -> str:
    if largest == 0.0 and not isinf(weight):
        return ""
    length = _BAR if isinf(weight) else round(_BAR * abs(weight) / largest)
    return ("+" if weight > 0 else "-") * length


def _factor(weight: float) -> str:
    if isinf(weight):
        return "∞" if weight > 0 else "0"
    if abs(weight) > 700.0:  # beyond the range of doubles
        return "> 1e304" if weight > 0 else "< 1e-304"
    return f"{exp(weight):.3g}"
