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
from math import exp, inf, isinf
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
        """The log of the posterior odds of ``label`` against ``against``."""
        return _sum([self.prior, *(e.weight for e in self.evidence)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return {
            "label": self.label,
            "against": self.against,
            "prior": self.prior,
            "evidence": [e._asdict() for e in self.evidence],
            "log_odds": self.log_odds,
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
        }

    def rows(self) -> list[tuple[str, str, float]]:
        """Return (feature, value, weight) lines: the prior, the evidence, heaviest first, and the sum."""
        found = [(e.feature, "missing" if e.value is None else str(e.value), e.weight) for e in self.evidence]
        return [("prior", "", self.prior), *found, ("sum", "", self.log_odds)]

    def __str__(self) -> str:
        lines = [self._headline(), ""]
        rows = self.rows()
        widths = [
            max(map(len, column)) for column in (["feature", *(r[0] for r in rows)], ["value", *(r[1] for r in rows)])
        ]
        lines.append(f"{'feature':<{widths[0]}}  {'value':<{widths[1]}}  {'weight':>7}  {'odds ×':>8}")
        largest = max((abs(w) for _, _, w in rows[:-1] if not isinf(w)), default=0.0)
        for feature, value, weight in rows:
            bar = "" if feature == "sum" else _bar(weight, largest)
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


def _sum(terms: list[float]) -> float:
    """Return the sum, where evidence that excludes one class outweighs everything and two exclusions cancel."""
    infinite = sum((t > 0) - (t < 0) for t in terms if isinf(t))
    if any(isinf(t) for t in terms):
        return inf * infinite if infinite else 0.0
    return float(sum(terms))


def _bar(weight: float, largest: float) -> str:
    if largest == 0.0 and not isinf(weight):
        return ""
    length = _BAR if isinf(weight) else round(_BAR * abs(weight) / largest)
    return ("+" if weight > 0 else "-") * length


def _factor(weight: float) -> str:
    if isinf(weight):
        return "∞" if weight > 0 else "0"
    return f"{exp(min(weight, 700.0)):.3g}"
