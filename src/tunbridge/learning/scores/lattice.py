"""The scores of all families of categorical variables up to a size, from one count of every set of variables.

A score Σ_jk cell(n_jk) − Σ_j row(n_j) − penalty is a sum over the joint counts of child and parents, less one over
those of the parents. Both are joint counts of a set of variables, and the set S is the same for each of its members as
child: so instead of |S| families one set is counted, in one pass that goes from every set to those with one later
variable. For the scores that are alike for equivalent graphs both terms are the same function, and

    score(X | Pa) = g(Pa ∪ X) − g(Pa) − penalty.

Equal rows are counted once, with their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple, TypeGuard

import numpy as np

from tunbridge._core.threads import map_threads, n_threads
from tunbridge.counts.columns import Columns
from tunbridge.counts.radix import number_configurations
from tunbridge.learning.scores.discrete import Score
from tunbridge.learning.scores.families import DiscreteFamilies, Families

_PREFIX = 3
"""Sets of so many variables are the pieces that threads take, each with all sets that continue it."""
_PIECE_VISITS = 2**27  # visits of rows in such a piece: a fraction of a second
_MOST_STATES, _MOST_CELLS = 2**15 - 1, 2**31 - 1
"""What the codes of a column and the joint codes of several can number."""


class _Ranks(NamedTuple):
    """Where the sets of up to some number of members lie: the smaller first, then by the largest member."""

    binomials: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, n: int, max_size: int) -> _Ranks:
        binomials = np.array([[comb(v, k) for k in range(max_size + 1)] for v in range(n)], np.int64)
        return cls(binomials, np.cumsum([0] + [comb(n, k) for k in range(max_size + 1)]))

    def __call__(self, masks: np.ndarray) -> np.ndarray:
        """Return the ranks of sets."""
        sizes, ranks = np.zeros(len(masks), np.int64), np.zeros(len(masks), np.int64)
        for v in range(len(self.binomials)):
            member = masks >> v & 1
            sizes += member
            ranks += member * self.binomials[v, sizes]
        return self.first[sizes] + ranks


@dataclass(frozen=True, eq=False)
class Lattice:
    """The scores of the families over one table, up to a number of members."""

    families: Families
    score: Score
    states: np.ndarray
    ranks: _Ranks
    terms: np.ndarray
    kinds: dict[int, tuple[int, int]]

    def scores(self, x: int, parents: np.ndarray) -> np.ndarray:
        """Return the scores of x given each of some parent sets (masks); −inf for those not counted."""
        r = int(self.states[x])
        cell, row = self.kinds[r]
        found = self.terms[cell, self.ranks(parents | np.int64(1) << x)] - self.terms[row, self.ranks(parents)]
        q, bonus = np.ones(len(parents)), np.zeros(len(parents))
        bonuses = np.broadcast_to(self.families.bonuses(x, (), np.arange(len(self.states))), len(self.states))
        for c, n_states in enumerate(self.states.tolist()):
            member = parents >> c & 1 == 1
            q[member] *= n_states
            bonus[member] += bonuses[c]
        found += bonus - self.score.penalty(q, r, self.families.n_rows)
        found[np.isnan(found)] = -np.inf
        return found


def has_lattice(families: Families) -> TypeGuard[DiscreteFamilies]:
    """Return whether the scores of families can be had from the counts of sets of variables."""
    if not isinstance(families, DiscreteFamilies) or families.criterion.is_of_occurring:
        return False
    columns = families.columns
    whole = columns.n_rows > 0 and columns.weights is None and bool(columns.complete.all())
    if not whole or columns.states.min() < 1:
        return False
    return bool(columns.states.max() <= _MOST_STATES) and _n_cells(columns) <= _MOST_CELLS


def lattice_bytes(families: DiscreteFamilies, max_size: int) -> float:
    """Return the memory that a lattice takes, and the counting of it."""
    columns = families.columns
    n_sets = sum(comb(families.n, k) for k in range(max_size + 1))
    n_tables = 1 + len(set(columns.states.tolist()))
    room = n_threads(columns.n_jobs) * (4.0 * (max_size + 1) * columns.n_rows + 8.0 * _n_cells(columns))
    return 8.0 * n_tables * n_sets + room + columns.n_rows * (2.0 * families.n + 8.0 * n_tables)


def count_lattice(families: DiscreteFamilies, max_size: int, *, most: float = np.inf) -> Lattice:
    """Count all sets of variables of at most ``max_size`` members.

    Parameters
    ----------
    families : Families
        Families of categorical variables that :func:`has_lattice` approves.
    max_size : int
        The most members: child and parents.
    most : float
        Sets that have so many joint states even without one of their members are left out.
    """
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.learning.subsets import fill_terms

    columns, score = families.columns, families.criterion
    announce(fill_terms, "exact search", 3)
    data, ranks = _distinct_rows(columns), _Ranks.of(families.n, max_size)
    tables, kinds, ess = _tables(score, columns)
    out = np.full((max(1, len(tables)), ranks.first[-1]), np.nan)
    out[:, 0] = tables[:, -1] if len(tables) else score.row(np.array(columns.total), 1.0, 1)
    n_rows = data[0].shape[1]
    begun = _prefix_size(families.n, max_size, n_rows)

    def count(prefix: tuple[int, ...]) -> None:
        deepest = max_size if len(prefix) == begun else len(prefix)
        room = tuple(np.empty(size, np.int32) for size in ((deepest + 1, n_rows), _n_cells(columns), _n_cells(columns)))
        chosen = np.array(prefix, np.int64)
        fill_terms(data, chosen, deepest, float(most), tables, ess, ranks.binomials, ranks.first, room, out)

    sizes = range(1, min(begun, max_size) + 1)
    map_threads(count, [p for k in sizes for p in combinations(range(families.n), k)], columns.n_jobs)
    return Lattice(families, score, columns.states, ranks, out, kinds)


def _prefix_size(n: int, max_size: int, n_rows: int) -> int:
    """Return how many members the sets have that begin a piece of work: enough for pieces of a fraction of a second."""
    for size in range(_PREFIX, max_size):
        if n_rows * sum(comb(n - size, k) for k in range(max_size - size + 1)) <= _PIECE_VISITS:
            return size
    return max(_PREFIX, max_size)


def _n_cells(columns: Columns) -> int:
    """Return the most joint codes that are counted at once: those of all rows with one column more."""
    return max(columns.n_rows, 64) * int(columns.states.max())


def _distinct_rows(columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the codes of the distinct rows (variables × rows), how often each occurs, and the numbers of states."""
    numbers, rows = number_configurations(columns.codes, columns.states.tolist())
    codes = np.stack([c[rows].astype(np.int16) for c in columns.codes])
    return codes, np.bincount(numbers, minlength=len(rows)).astype(np.int32), columns.states


def _tables(score: Score, columns: Columns) -> tuple[np.ndarray, dict[int, tuple[int, int]], float]:
    """Return the different terms by count, which of them is cell and row for a child of r states, and the ess."""
    sizes = sorted(set(columns.states.tolist()))
    if score.is_dirichlet:
        return np.empty((0, 0)), dict.fromkeys(sizes, (0, 0)), float(score.ess)  # type: ignore[attr-defined]
    tables: list[np.ndarray] = []
    kinds = {}
    for r in sizes:
        pair = score.cell_table(columns.n_rows, r), score.row_table(columns.n_rows, r)
        kinds[r] = (_place(tables, pair[0]), _place(tables, pair[1]))
    return np.stack(tables), kinds, 0.0


def _place(tables: list[np.ndarray], table: np.ndarray) -> int:
    """Return where a table stands in the list, adding it if it is new."""
    for i, known in enumerate(tables):
        if np.array_equal(known, table):
            return i
    tables.append(table)
    return len(tables) - 1
