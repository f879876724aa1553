"""Why this class rather than that one: what each symbol of a sequence adds to the log-odds, and where they turn.

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_i log P(x_i | context, c)/P(x_i | context, c′).

The weight of a symbol is what it says beside the symbols before it. Unknown symbols add nothing.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite
from typing import Any

import numpy as np

from tunbridge._check import counted, shortened
from tunbridge.decisions.evidence import Evidence, json_value

END = "end"
"""What the line of an explanation is called that has the weight of the end of the sequence."""

_LINE = 60
_HEAVIEST = 8
_SOME, _MUCH = 0.25, 0.6  # shares of the heaviest weight from which on a symbol is marked
_LONGEST_SHOWN = 1200
_UNKNOWN = "·"


@dataclass(frozen=True, eq=False)
class SequenceExplanation:
    """Why a sequence is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before the sequence.
    evidence : tuple of Evidence
        One for each symbol in order (its place, counted from 1, the symbol, its weight in nats), then that of the end
        where ends speak, and of a calibration. ``prior`` plus all weights is ``log_odds``.
    probabilities : mapping
        The posterior probability of every class.
    n_symbols : int
        The number of symbols.
    unknown : tuple of int
        The places, counted from 1, of symbols that the model does not know; they weigh nothing.

    Examples
    --------
    >>> import tunbridge as tb
    >>> names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
    >>> clf = tb.SequenceClassifier(smoothing=2).fit(names, ["f", "f", "f", "m", "m", "m"])
    >>> told = clf.explain("nora")
    >>> told.label, told.sequence, told.weights.round(1).tolist()
    ('f', ('n', 'o', 'r', 'a'), [2.6, -5.3, -0.8, 3.8])
    """

    label: Any
    against: Any
    prior: float
    evidence: tuple[Evidence, ...]
    probabilities: Mapping[Any, float]
    n_symbols: int
    unknown: tuple[int, ...] = ()

    @property
    def sequence(self) -> tuple[Any, ...]:
        """The symbols; None where there was none to be read."""
        return tuple(e.value for e in self.evidence[: self.n_symbols])

    @cached_property
    def weights(self) -> np.ndarray:
        """What each symbol adds to the log-odds, in nats."""
        found = np.array([e.weight for e in self.evidence[: self.n_symbols]], np.float64)
        found.flags.writeable = False
        return found

    @property
    def end(self) -> float:
        """What the end of the sequence adds; 0 where ends do not speak."""
        return next((e.weight for e in self.evidence[self.n_symbols :] if e.feature == END), 0.0)

    @cached_property
    def cumulative(self) -> np.ndarray:
        """The log-odds before the first symbol and after each: the prior first, the end left out."""
        found = np.concatenate([[self.prior], self.weights])
        with np.errstate(invalid="ignore"):
            found = np.cumsum(found)
        found[np.isnan(found)] = self.prior  # both classes are excluded: the sequence says nothing between them
        found.flags.writeable = False
        return found

    @property
    def log_odds(self) -> float:
        """The log of the posterior odds; where the sequence excludes both classes, that of the prior odds."""
        terms = [self.prior, *(e.weight for e in self.evidence)]
        return self.prior if inf in terms and -inf in terms else float(sum(terms))

    @property
    def heaviest(self) -> tuple[Evidence, ...]:
        """What weighs most, for or against: at most eight, the heaviest first."""
        some = [e for e in self.evidence if e.weight != 0.0]
        return tuple(sorted(some, key=lambda e: -abs(e.weight))[:_HEAVIEST])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON knows; infinite weights as text."""
        further = self.evidence[self.n_symbols :]
        return {
            "label": json_value(self.label),
            "against": json_value(self.against),
            "prior": json_value(self.prior),
            "sequence": [json_value(s) for s in self.sequence],
            "weights": [json_value(w) for w in self.weights.tolist()],
            "unknown": list(self.unknown),
            "further": [e.to_dict() for e in further],
            "log_odds": json_value(self.log_odds),
            "probabilities": {str(c): p for c, p in self.probabilities.items()},
        }

    def __str__(self) -> str:
        further = [(e.feature, e.weight) for e in self.evidence[self.n_symbols :]]
        lines = [self._headline(), "", *self._marked(), ""]
        lines += [f"{'place':>7}  {'symbol':<8}  {'weight':>7}"]
        lines += [f"{e.feature:>7}  {_value(e):<8}  {e.weight:+7.2f}" for e in self.heaviest]
        totals = [("prior", self.prior), ("symbols", _total(self.weights)), *further, ("sum", self.log_odds)]
        return "\n".join([*lines, "", *(f"{name:>17}  {weight:+7.2f}" for name, weight in totals)])

    __repr__ = __str__

    def _headline(self) -> str:
        shown = f"{self.label!s} rather than {self.against!s}: P({self.label!s}) = {self.probabilities[self.label]:.3g}"
        return f"{shown}, {counted(self.n_symbols, 'symbol')}"

    def _marked(self) -> list[str]:
        """Return the sequence in lines, with marks under what weighs."""
        texts = [shortened(_text(s), 12) for s in self.sequence[:_LONGEST_SHOWN]]
        gap = " " if any(len(t) > 1 for t in texts) else ""
        marks, lines = [_mark(w, self._largest) for w in self.weights[:_LONGEST_SHOWN]], []
        for start, stop in _lines([len(t) + len(gap) for t in texts]):
            above = gap.join(texts[start:stop])
            below = gap.join(m.ljust(len(t)) for m, t in zip(marks[start:stop], texts[start:stop], strict=True))
            lines += [f"{start + 1:>7}  {above}", f"{'':>7}  {below}".rstrip()]
        rest = self.n_symbols - _LONGEST_SHOWN
        return [*lines, *([f"         … and {counted(rest, 'symbol')} more"] if rest > 0 else [])]

    @cached_property
    def _largest(self) -> float:
        finite = np.abs(self.weights[np.isfinite(self.weights)])
        return float(finite.max(initial=0.0))

    def _repr_html_(self) -> str:
        cells = [
            f"<span style='background:{_colour(w, self._largest)}' title='{i}: {w:+.2f}'>{html.escape(_text(s))}</span>"
            for i, (s, w) in enumerate(
                zip(self.sequence[:_LONGEST_SHOWN], self.weights[:_LONGEST_SHOWN].tolist(), strict=True), start=1
            )
        ]
        joint = "" if all(len(_text(s)) == 1 for s in self.sequence[:_LONGEST_SHOWN]) else " "
        more = "…" if self.n_symbols > _LONGEST_SHOWN else ""
        style = "font-family:monospace;word-break:break-all"
        return f"<p>{html.escape(self._headline())}</p><p style='{style}'>{joint.join(cells)}{more}</p>"


def sequence_explanation(
    classes: tuple[Any, Any],
    *,
    prior: float,
    symbols: list[Any],
    weights: np.ndarray,
    ends: bool,
    probabilities: Mapping[Any, float],
    unknown: list[int],
) -> SequenceExplanation:
    """Return an explanation; ``weights`` are those of the symbols and, behind them, of the end."""
    evidence = [Evidence(str(i), s, w) for i, (s, w) in enumerate(zip(symbols, weights.tolist(), strict=False), 1)]
    if ends:
        evidence.append(Evidence(END, None, float(weights[-1])))
    return SequenceExplanation(
        *classes, float(prior), tuple(evidence), dict(probabilities), len(symbols), tuple(unknown)
    )


def log_ratios(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return log p/q of each symbol; all are 0 where neither class can produce one of them.

    Examples
    --------
    >>> log_ratios(np.log([0.5, 0.4]), np.log([0.25, 0.4])).round(3).tolist()
    [0.693, 0.0]
    """
    if (np.isneginf(log_p) & np.isneginf(log_q)).any():
        return np.zeros(len(log_p))
    return log_p - log_q


def _total(weights: np.ndarray) -> float:
    both = np.isposinf(weights).any() and np.isneginf(weights).any()
    return 0.0 if both else float(weights.sum())


def _lines(widths: list[int]) -> list[tuple[int, int]]:
    """Return the (start, stop) of the symbols of each line."""
    found, start, used = [], 0, 0
    for i, width in enumerate(widths):
        if used + width > _LINE and i > start:
            found.append((start, i))
            start, used = i, 0
        used += width
    return [*found, (start, len(widths))] if widths else []


def _mark(weight: float, largest: float) -> str:
    if isfinite(weight) and (largest == 0.0 or abs(weight) < _SOME * largest):
        return " "
    much = not isfinite(weight) or abs(weight) >= _MUCH * largest
    return ("▲" if much else "+") if weight > 0 else ("▼" if much else "-")


def _value(evidence: Evidence) -> str:
    return "" if evidence.feature == END else shortened(_text(evidence.value), 8)


def _text(symbol: Any) -> str:
    text = _UNKNOWN if symbol is None else str(symbol)
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _colour(weight: float, largest: float) -> str:
    share = 1.0 if not isfinite(weight) else abs(weight) / largest if largest else 0.0
    return f"rgba({'0,120,60' if weight > 0 else '190,50,30'},{0.75 * share:.2f})"
