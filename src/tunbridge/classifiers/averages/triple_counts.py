"""Counts of all triples of features within each class, and the memory that they and their tables take.

A triple is counted once, whatever the order of its features. For n features of r states there are about n³r³/6 cells
for each class, and the tables P(x_k | x_i, x_j, c) are three times as many, as each of the three can be the child.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from tunbridge._check import check_whole, counted
from tunbridge._memory import memory_limit, size_text
from tunbridge._threads import n_threads, row_pieces
from tunbridge.data import Variable
from tunbridge.errors import DataError

PIECE_CELLS = 1 << 18
"""Of so many cells tables are computed at once, unless one state with all states of another feature has more."""

_PIECE_COPIES = 6  # arrays of that size that are held meanwhile


@dataclass(frozen=True)
class TripleForecast:
    """The memory that an average over pairs of super-parents takes, in bytes.

    Parameters
    ----------
    n_triples : int
        The number of triples of features.
    counts : int
        Bytes of the counts of all triples within the classes.
    tables : int
        Bytes of the tables that are looked into.
    work : int
        Bytes that are needed beside these while the tables are computed.
    """

    n_triples: int
    counts: int
    tables: int
    work: int

    @property
    def total(self) -> int:
        """Bytes in all."""
        return self.counts + self.tables + self.work

    @property
    def fits(self) -> bool:
        """Whether the total is within the memory limit."""
        return self.total <= memory_limit()

    def __str__(self) -> str:
        parts = f"counts {size_text(self.counts)}, tables {size_text(self.tables)}, work {size_text(self.work)}"
        verdict = "within" if self.fits else "beyond"
        return (
            f"{counted(self.n_triples, 'triple')} of features: {size_text(self.total)} ({parts}); {verdict} the limit "
            f"of {size_text(memory_limit())}"
        )


def forecast_triples(n_states: Iterable[int], n_classes: int, *, n_jobs: int | None = None) -> TripleForecast:
    """Return the memory that triples of features with these numbers of states will take."""
    sizes = [int(r) for r in n_states]
    total, after = sum(sizes), sum(sizes)
    pair_cells = triple_cells = before = 0
    for r in sizes:  # as the second of a pair
        after -= r
        pair_cells += before * r
        triple_cells += before * r * after
        before += r
    n, (wide, widest) = len(sizes), sorted([0, 0, *sizes])[-2:]
    largest = min(wide * widest * total * n_classes, max(PIECE_CELLS, widest * total * n_classes))
    return TripleForecast(
        n * (n - 1) * (n - 2) // 6,
        8 * n_classes * triple_cells,
        8 * n_classes * pair_cells * total,
        8 * (largest * _PIECE_COPIES * n_threads(n_jobs) + 4 * n_classes * total**2),
    )


def checked_forecast(features: Any, n_classes: Any) -> TripleForecast:
    """Return the forecast for features given as variables or as their numbers of states."""
    if isinstance(features, str) or not isinstance(features, Sequence | np.ndarray):
        raise DataError(f"features must be a list of variables or of numbers of states; got {type(features).__name__}.")
    for f in features:
        if isinstance(f, Variable) and f.is_continuous:
            raise DataError(
                f"features must have states; {f.name!r} is continuous. Give the number of intervals it will have."
            )
    n_states = [f.n_states if isinstance(f, Variable) else f for f in features]
    for n in n_states:
        check_whole("the number of states", n, low=0)
    check_whole("n_classes", n_classes, low=1)
    return forecast_triples(n_states, int(n_classes))


@dataclass(frozen=True, eq=False)
class TripleCounts:
    """How often the states of three features go together, for all triples of features f < g < h, within each class.

    Parameters
    ----------
    n_states : tuple of int
        The number of states of each feature.
    n_classes : int
        The number of classes.
    cells : ndarray
        The counts, flat: one block after another for the pairs f < g. The block of a pair has the states of f, of g,
        of all features after g, and the classes as its axes.
    """

    n_states: tuple[int, ...]
    n_classes: int
    cells: np.ndarray

    @cached_property
    def first(self) -> np.ndarray:
        """Where the states of each feature begin among those of all; one entry more than features."""
        return np.concatenate([[0], np.cumsum(self.n_states)]).astype(np.int64)

    @cached_property
    def start(self) -> dict[tuple[int, int], int]:
        """Where the block of each pair begins."""
        place, at = {}, 0
        for f, g in combinations(range(len(self.n_states)), 2):
            place[f, g] = at
            at += prod(self._shape(f, g))
        return place

    def _shape(self, f: int, g: int) -> tuple[int, int, int, int]:
        return self.n_states[f], self.n_states[g], int(self.first[-1] - self.first[g + 1]), self.n_classes

    def flat(self, f: int, g: int) -> np.ndarray:
        """Return the block of a pair as one row of cells."""
        return self.cells[self.start[f, g] : self.start[f, g] + prod(self._shape(f, g))]

    def block(self, f: int, g: int) -> np.ndarray:
        """Return the block of a pair: states of f × of g × of the features after g × classes."""
        return self.flat(f, g).reshape(self._shape(f, g))

    def table(self, f: int, g: int, h: int) -> np.ndarray:
        """Return the counts of three features f < g < h: states of each × classes."""
        here = slice(self.first[h] - self.first[g + 1], self.first[h + 1] - self.first[g + 1])
        return self.block(f, g)[:, :, here]

    def beside(self, f: int, g: int, some: slice = slice(None)) -> np.ndarray:
        """Return the counts of a pair f < g with all features: (some) states of f × of g × of all × classes.

        With the two features themselves nothing is counted.
        """
        block = self.block(f, g)[some]
        out = np.zeros((*block.shape[:2], int(self.first[-1]), self.n_classes), self.cells.dtype)
        out[:, :, self.first[g + 1] :] = block
        for h in range(g):
            if h == f or not self.n_states[h]:
                continue
            here = slice(self.first[h], self.first[h + 1])
            if h < f:
                out[:, :, here] = self.table(h, f, g)[:, some].transpose(1, 2, 0, 3)
            else:
                out[:, :, here] = self.table(f, h, g)[some].transpose(0, 2, 1, 3)
        return out

    def pieces(self) -> list[tuple[int, int, slice]]:
        """Return the pairs f < g with some states of f each, so that the counts beside them are not too many."""
        found = []
        for f, g in self.start:
            n_cells = self.n_states[g] * int(self.first[-1]) * self.n_classes
            if n_cells:
                pieces = row_pieces(self.n_states[f], max(1, PIECE_CELLS // n_cells))
                found += [(f, g, slice(a, b)) for a, b in pieces]
        return found


def n_cells(n_states: Sequence[int], n_classes: int) -> int:
    """Return how many cells the counts of all triples have."""
    return forecast_triples(n_states, n_classes).counts // 8
