"""Weights of evidence: why this class rather than that one.

Under naive Bayes the log-odds of class c against c′ are a sum with one term a feature,

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_f log P(x_f | c)/P(x_f | c′),

and each term is the weight of evidence (Good 1950) that the feature's value speaks for c. A missing value says nothing:
weight 0. A weight of 0.69 doubles the odds, one of −0.69 halves them.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, isinf
from typing import Any, NamedTuple

_BAR = 12


class Evidence(NamedTuple):
    """What one feature says: its name, its value (None when missing), and its weight in nats."""

    feature: str
    value: Any
    weight: float


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
        One a feature, the heaviest (in absolute value) first; ``prior`` plus all weights is ``log_odds``.
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

        Where the evidence excludes both classes it says nothing between them, and the prior odds remain.
        """
        weights = [e.weight for e in self.evidence]
        if inf in weights and -inf in weights:
            return self.prior
        return float(self.prior + sum(weights))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; infinite weights and other odd ones as text."""
        return {
            "label": _json_value(self.label),
            "against": _json_value(self.against),
            "prior": _json_value(self.prior),
            "evidence": [
                {"feature": e.feature, "value": _json_value(e.value), "weight": _json_value(e.weight)}
                for e in self.evidence
            ],
            "log_odds": _json_value(self.log_odds),
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
        }

    def rows(self) -> list[tuple[str, str, float]]:
        """Return (feature, value, weight) lines: the prior, the evidence, heaviest first, and the sum."""
        found = [(e.feature, _value_text(e.value), e.weight) for e in self.evidence]
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
) -> Explanation:
    """Return an Explanation with the evidence sorted, the heaviest first (ties in the order of the features)."""
    evidence = [Evidence(n, v, float(w)) for n, v, w in zip(names, values, weights, strict=True)]
    ordered = sorted(evidence, key=lambda e: -abs(e.weight))
    return Explanation(label, against, float(prior), tuple(ordered), dict(probabilities))


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def _value_text(value: Any) -> str:
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
