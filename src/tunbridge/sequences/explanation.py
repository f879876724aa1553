"""Why a sequence gets this class rather than that one: what each symbol adds to the log-odds.

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + Σ_i log P(x_i | context, c)/P(x_i | context, c′).

The weight of a symbol is its evidence given the symbols before it. Unknown symbols add nothing.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from tunbridge._core.check import counted, shortened
from tunbridge._core.grid import grid_lines
from tunbridge.decisions.evidence import Evidence, Explained, json_value

END = "end"
"""The name of the evidence of the end of a sequence."""

_LINE = 60
_HEAVIEST = 8
_SOME, _MUCH = 0.25, 0.6  # shares of the heaviest weight from which a symbol is marked
_LONGEST_SHOWN = 1200
_UNKNOWN = "·"


@dataclass(frozen=True, eq=False, repr=False)
class SequenceExplanation(Explained):
    """Why a sequence is given one class rather than another.

    Parameters
    ----------
    label, against : object
        The class that is explained, and the one it is compared with.
    prior : float
        log P(label)/P(against) before the sequence.
    evidence : tuple of Evidence
        One for each symbol in order (its position from 1, the symbol, its weight in nats), then that of the end if the
        model knows ends, and of a calibration. ``prior`` plus all weights is ``log_odds``.
    probabilities : mapping
        The posterior probability of every class.
    n_symbols : int
        The number of symbols.
    unknown : tuple of int
        The positions, from 1, of unknown symbols; their weight is 0.

    Examples
    --------
    >>> import tunbridge as tb
    >>> names = ["anna", "hanna", "nina", "otto", "bruno", "hugo"]
    >>> clf = tb.SequenceClassifier(smoothing=2).fit(names, ["f", "f", "f", "m", "m", "m"])
    >>> found = clf.explain("nora")
    >>> found.label, found.sequence, found.weights.round(1).tolist()
    ('f', ('n', 'o', 'r', 'a'), [2.6, -5.3, -0.8, 3.8])
    """

    n_symbols: int
    unknown: tuple[int, ...] = ()

    @property
    def sequence(self) -> tuple[Any, ...]:
        """The symbols; None for a missing one."""
        return tuple(e.value for e in self.evidence[: self.n_symbols])

    @cached_property
    def weights(self) -> np.ndarray:
        """What each symbol adds to the log-odds, in nats."""
        found = np.array([e.weight for e in self.evidence[: self.n_symbols]], np.float64)
        found.flags.writeable = False
        return found

    @property
    def end(self) -> float:
        """What the end of the sequence adds; 0 if the model does not know ends."""
        return next((e.weight for e in self.evidence[self.n_symbols :] if e.feature == END), 0.0)

    @cached_property
    def cumulative(self) -> np.ndarray:
        """The log-odds before the first symbol and after each: the prior first, the end left out."""
        found = np.concatenate([[self.prior], self.weights])
        with np.errstate(invalid="ignore"):
            found = np.cumsum(found)
        found[np.isnan(found)] = self.prior  # both classes are impossible: the prior remains
        found.flags.writeable = False
        return found

    @property
    def headline(self) -> str:
        """The two classes, the probability of the explained one, and the number of symbols."""
        return f"{super().headline}, {counted(self.n_symbols, 'symbol')}"

    @property
    def heaviest(self) -> tuple[Evidence, ...]:
        """The evidence of largest absolute weight: at most eight, the heaviest first."""
        some = [e for e in self.evidence if e.weight != 0.0]
        return tuple(sorted(some, key=lambda e: -abs(e.weight))[:_HEAVIEST])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values; infinite weights as text."""
        return self._with_common(
            sequence=[json_value(s) for s in self.sequence],
            weights=[json_value(w) for w in self.weights.tolist()],
            unknown=list(self.unknown),
            further=[e.to_dict() for e in self.evidence[self.n_symbols :]],
        )

    def __str__(self) -> str:
        further = [(e.feature, e.weight) for e in self.evidence[self.n_symbols :]]
        cells = [[e.feature, _value(e), f"{e.weight:+.2f}"] for e in self.heaviest]
        table = grid_lines(["  place", "symbol  ", " weight"], cells, left=(1,))
        both = np.isposinf(self.weights).any() and np.isneginf(self.weights).any()
        symbols = 0.0 if both else float(self.weights.sum())
        totals = [("prior", self.prior), ("symbols", symbols), *further, ("sum", self.log_odds)]
        sums = (f"{name:>17}  {weight:+7.2f}" for name, weight in totals)
        return "\n".join([self.headline, "", *self._marked(), "", *table, "", *sums])

    def _marked(self) -> list[str]:
        """Return the sequence in lines, with marks under heavy symbols."""
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
        return f"<p>{html.escape(self.headline)}</p><p style='{style}'>{joint.join(cells)}{more}</p>"


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
    """Return an explanation; ``weights`` are those of the symbols and, last, of the end."""
    evidence = [Evidence(str(i), s, w) for i, (s, w) in enumerate(zip(symbols, weights.tolist(), strict=False), 1)]
    if ends:
        evidence.append(Evidence(END, None, float(weights[-1])))
    return SequenceExplanation(
        *classes, float(prior), tuple(evidence), dict(probabilities), len(symbols), tuple(unknown)
    )


def log_ratios(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return log p/q of each symbol; all are 0 if one of them is impossible in both classes.

    Examples
    --------
    >>> log_ratios(np.log([0.5, 0.4]), np.log([0.25, 0.4])).round(3).tolist()
    [0.693, 0.0]
    """
    if (np.isneginf(log_p) & np.isneginf(log_q)).any():
        return np.zeros(len(log_p))
    return log_p - log_q


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


def _text(symbol: object) -> str:
    text = _UNKNOWN if symbol is None else str(symbol)
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _colour(weight: float, largest: float) -> str:
    share = 1.0 if not isfinite(weight) else abs(weight) / largest if largest else 0.0
    return f"rgba({'0,120,60' if weight > 0 else '190,50,30'},{0.75 * share:.2f})"
