"""Sequence models by definition: every probability by walking through the training sequences again.

A sequence is a list of symbols, None where one is unknown. A context is a tuple of items, the nearest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

BEGINNING, END = ("the beginning",), ("the end",)


def context(sequence: Sequence[object], i: int, order: int, *, ends: bool, places: bool) -> tuple[object, ...]:
    """Return the longest context of place i."""
    items: list[object] = [("place", i)] if places else []
    for j in range(i - 1, i - order - 1, -1):
        if j < -1 or (j == -1 and not ends):
            break
        if j == -1:
            items.append(BEGINNING)
            break
        if sequence[j] is None:
            break
        items.append(sequence[j])
    return tuple(items)


def events(
    sequence: Sequence[object], order: int, *, ends: bool, places: bool
) -> list[tuple[tuple[object, ...], object]]:
    """Return (longest context, outcome) of every known symbol, and of the end."""
    if all(s is None for s in sequence):
        return []
    found = [
        (context(sequence, i, order, ends=ends, places=places), s) for i, s in enumerate(sequence) if s is not None
    ]
    if ends:
        found.append((context(sequence, len(sequence), order, ends=ends, places=places), END))
    return found


class Chain:
    """The distribution of one class.

    Parameters
    ----------
    sequences, weights
        What it is learned from.
    outcomes : list
        The symbols, and the end where that is one.
    strengths : list of float
        m of each level, from the bag of letters upwards.
    """

    def __init__(self, sequences, weights, outcomes, strengths, *, order, ends, places=False):
        self.how = {"ends": ends, "places": places}
        self.order, self.outcomes, self.strengths = order, outcomes, strengths
        self.events = [
            (*event, w) for x, w in zip(sequences, weights, strict=True) for event in events(x, order, **self.how)
        ]

    def count(self, items: tuple[object, ...], outcome: object = None, without: object = None) -> float:
        """Return n(context) or n(context, s): of events whose context begins with the items; one may be left out."""
        n = len(items)
        total = sum(w for c, s, w in self.events if c[:n] == items and len(c) >= n and outcome in (None, s))
        if without is not None:
            c, s, w = without
            total -= min(1.0, w) if c[:n] == items and outcome in (None, s) else 0.0
        return total

    def probability(self, items: tuple[object, ...], outcome: object, without: object = None) -> float:
        """Return P(outcome | context)."""
        base = self.probability(items[:-1], outcome, without) if items else 1.0 / len(self.outcomes)
        m = self.strengths[len(items)]
        n, total = self.count(items, outcome, without), self.count(items, None, without)
        return base if total + m <= 1e-12 else (n + m * base) / (total + m)

    def terms(self, sequence: Sequence[object]) -> list[float]:
        """Return log P of each event of a sequence."""
        return [_log(self.probability(c, s)) for c, s in events(sequence, self.order, **self.how)]

    def log_likelihood(self, sequence: Sequence[object]) -> float:
        """Return log P(sequence)."""
        return sum(self.terms(sequence))

    def left_out(self, level: int, m: float) -> float:
        """Return what the strength of a level maximises, with the levels below as they are."""
        kept, self.strengths = self.strengths, [*self.strengths[:level], m]
        cells: dict[object, float] = {}
        for c, s, w in self.events:
            if len(c) >= level:
                cells[c[:level], s] = cells.get((c[:level], s), 0.0) + w
        total = -0.5 * log(m, 10) ** 2
        for (c, s), n in cells.items():
            if self.count(c) - min(1.0, n) > 0:
                total += n * _log(self.probability(c, s, without=(c, s, n)))
        self.strengths = kept
        return total


def _log(p: float) -> float:
    return log(p) if p > 0 else -inf
