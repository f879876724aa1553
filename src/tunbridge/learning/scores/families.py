"""Families and their scores: what every search over structures asks for.

A decomposable score of a graph is a sum over its families, a variable with its parents. A search therefore needs three
answers only: the score of one family, the scores of a family with each candidate as a further parent, and those with
each parent left out. :class:`Families` gives them by position (the variables are sorted by name, so that the order of
the columns cannot matter) and caches them.

:class:`DiscreteFamilies` are those of categorical variables. A candidate is not counted at all when the family would be
too large to pay: the score of any family is at most the ceiling that its dimensions alone allow (for BIC minus the
penalty), and where the ceiling lies below the score of X | P no rows could make the candidate worth adding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tunbridge._core.check import listed
from tunbridge._core.threads import map_threads
from tunbridge.counts import Counter
from tunbridge.counts.columns import offsets
from tunbridge.counts.extensions import Extensions, Start, compile_beside_counting
from tunbridge.counts.radix import SMALL_CELLS, dense_cells, is_dense, joint_table, occurring_counts
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.kernels.compiled import is_numpy_quicker
from tunbridge.learning.scores.discrete import MOST_CONFIGURATIONS, Score, has_enough_rows

if TYPE_CHECKING:
    from tunbridge.kernels.counting.scores import Terms

Parents = tuple[int, ...]
"""The positions of a variable's parents, ascending."""

_REMEMBERED_BYTES = 256 * 2**20
_REMEMBERED_SCORES = 1_000_000
_ENTRY_BYTES = 200
_PASSES = 80  # over every cell of a table: what NumPy takes for a search


class Families(ABC):
    """The scores of the families over one table; variables are known by their position in ``names``, which is sorted.

    Parameters
    ----------
    names : sequence of str
        The variables, sorted.
    n_rows : float
        The number (or weight) of the rows.
    arc_bonus : ndarray of shape (n, n), optional
        ``arc_bonus[c, x]`` is added to the score of x for the parent c: the prior log-odds of the arc.
    """

    def __init__(self, names: tuple[str, ...], n_rows: float, arc_bonus: np.ndarray | None = None) -> None:
        self.names = names
        self.n_rows = n_rows
        self._arc_bonus = arc_bonus
        self._scores: dict[tuple[int, Parents], float] = {}
        self._additions: OrderedDict[tuple[int, Parents], np.ndarray] = OrderedDict()

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.names)

    def score(self, x: int, parents: Parents) -> float:
        """Return the score of one family; −inf for an impossible one (a continuous parent of a category)."""
        key = (x, parents)
        found = self._scores.get(key)
        if found is None:
            found = self._score(x, parents) + self._bonus(x, parents)
            self.remember_score(x, parents, found)
        return found

    def remember_score(self, x: int, parents: Parents, score: float) -> None:
        """Cache the score of a family; the cache is cleared when it is full."""
        if len(self._scores) >= _REMEMBERED_SCORES:
            self._scores.clear()
        self._scores[x, parents] = score

    def additions(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every variable c the score of x given parents and c.

        −inf stands for the variable itself, its parents, and every c that cannot raise the score whatever the rows,
        because the family would be too large. The array must not be changed.
        """
        key = (x, parents)
        found = self._additions.get(key)
        if found is None:
            return self.remember_additions(x, parents, self._additions_of(x, parents, None))
        self._additions.move_to_end(key)
        return found

    def remember_additions(self, x: int, parents: Parents, found: np.ndarray) -> np.ndarray:
        """Cache the scores of an extended family; the oldest are dropped when the cache is full."""
        found.flags.writeable = False
        self._additions[x, parents] = found
        if len(self._additions) * (found.nbytes + _ENTRY_BYTES) > _REMEMBERED_BYTES:
            self._additions.popitem(last=False)
        return found

    def additions_of(self, x: int, parents: Parents, candidates: np.ndarray) -> np.ndarray:
        """Return the same for some candidates only (positions, ascending), without caching."""
        return self._additions_of(x, parents, candidates)

    def removals(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every parent the score of x given the others."""
        return np.array([self.score(x, parents[:i] + parents[i + 1 :]) for i in range(len(parents))])

    @abstractmethod
    def _score(self, x: int, parents: Parents) -> float:
        """Return the score of one family, prior apart."""

    @abstractmethod
    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        """Return the scores with each candidate (all variables: None), prior included."""

    def bonuses(self, x: int, parents: Parents, candidates: np.ndarray) -> np.ndarray | float:
        """Return what the prior adds to the score of x given the parents and each candidate."""
        return 0.0 if self._arc_bonus is None else self._arc_bonus[candidates, x] + self._bonus(x, parents)

    def _bonus(self, x: int, parents: Parents) -> float:
        return 0.0 if self._arc_bonus is None else float(self._arc_bonus[list(parents), x].sum())


class DiscreteFamilies(Families):
    """The scores of the families of a table of categorical columns.

    Small tables and weighted rows are scored by NumPy, without a compiler: bit planes need a processor instruction
    that Python does not offer, and the kernels take 8 s to compile; a search over 8 columns × 2 000 rows takes 8 ms.

    Parameters
    ----------
    table : Table
        Categorical columns only; missing values only for a score that averages over the rows it has.
    score : Score
        The score.
    arc_bonus : ndarray of shape (n, n), optional
        ``arc_bonus[c, x]`` is added to the score of x for the parent c.
    n_jobs : int, optional
        Threads; the scores do not depend on it.
    kernels : bool, optional
        Whether to score by kernels; default: where that is faster.

    Examples
    --------
    >>> import tunbridge as tb
    >>> families = DiscreteFamilies(tb.datasets.play_tennis(), tb.BIC())
    >>> families.names
    ('humidity', 'outlook', 'play', 'temperature', 'wind')
    >>> round(families.score(2, (4,)), 4)
    -11.2966
    >>> families.additions(2, ()).round(2).tolist()
    [-10.29, -10.69, -inf, -12.8, -11.3]
    """

    def __init__(
        self,
        table: Table,
        score: Score,
        *,
        arc_bonus: np.ndarray | None = None,
        n_jobs: int | None = None,
        kernels: bool | None = None,
    ) -> None:
        names = tuple(sorted(table.names))
        self._kernels = _worth_kernels(table) if kernels is None else kernels
        self.counter = Counter(table.select(names), n_jobs=n_jobs)
        self.columns = self.counter.parts[0]
        self._extensions = Extensions(self.columns, kernels=self._kernels)
        self._states, self._n_states = self.columns.states, self.columns.n_states
        self.criterion = score
        super().__init__(names, self.columns.total, arc_bonus)
        if not score.is_average and not self.columns.complete.all():
            some = listed([names[v] for v in np.flatnonzero(~self.columns.complete)], most=3)
            raise DataError(
                f"a table scored by {score.name!r} must have no missing values; got some in {some}. "
                "Use score='nal', whose penalty allows for families with different complete rows.",
                parameter="score",
            )
        self._terms: dict[int, Terms] = {}

    # Whole families

    def _score(self, x: int, parents: Parents) -> float:
        columns, (codes, n_states) = self.columns, self.columns.of_members((x, *parents))
        r, q = n_states[0], self._n_configurations(parents)
        if min(n_states) == 0:
            return -np.inf if parents else 0.0
        if is_dense(n_states, columns.n_rows):
            counts = joint_table(codes, n_states, columns.weights, n_jobs=1)
            if self._kernels:
                return self._score_and_margins(x, parents, counts)
            if not parents and not counts.any():  # never seen: it costs its penalty, and explains nothing
                return -float(self.criterion.penalty(1.0, r, self.n_rows))
            return self.criterion.family(counts.reshape(r, -1).T, q, self.n_rows)
        rows = np.flatnonzero(np.logical_and.reduce([c >= 0 for c in codes]))
        codes, weights = [c[rows] for c in codes], None if columns.weights is None else columns.weights[rows]
        cells, sums = (occurring_counts(codes[i:], n_states[i:], len(rows), weights) for i in (0, 1))
        return self.criterion.of_counts(cells, sums, q, r, self.n_rows)

    def _score_and_margins(self, x: int, parents: Parents, counts: np.ndarray) -> float:
        """Return the score of a family from its joint states, and cache the scores without each of the parents."""
        table = counts.reshape([self._n_states[v] for v in (x, *parents)])
        tables = [counts, *(np.add.reduce(table, axis=i, dtype=np.int32).ravel() for i in range(1, table.ndim))]
        sizes = np.array([len(t) for t in tables])
        values, totals = self._sums(x, np.concatenate(tables, dtype=np.int32), offsets(sizes))
        if len(parents) <= 1:
            totals[len(parents)] = max(1, totals[len(parents)])  # never seen: alone it explains nothing, but may be
        own, *rest = self._finish(x, sizes / self._states[x], values, totals).tolist()
        for i, value in enumerate(rest):
            if self.columns.complete[parents[i]]:  # without an incomplete one the family has more rows
                fewer = tuple(sorted(parents[:i] + parents[i + 1 :]))
                self.remember_score(x, fewer, value + self._bonus(x, fewer))
        return own

    def _sums(self, x: int, cells: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from tunbridge.kernels.counting.scores import score_tables

        values, totals = np.empty(len(first) - 1), np.empty(len(first) - 1, np.int64)
        score_tables(cells, first, self._n_states[x], self._terms_of(x), values, totals)
        return values, totals

    def _finish(self, x: int, q: np.ndarray, values: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Return scores from the sums of terms: averaged over the complete rows, less the penalty."""
        r = self._n_states[x]
        if self.criterion.is_average and not self.columns.complete.all():
            scale = np.divide(self.n_rows, totals, out=np.zeros(len(values)), where=totals > 0)
            values = np.where(has_enough_rows(totals, q, r, self.n_rows), values * scale, -np.inf)
        return values - self.criterion.penalty(q, r, self.n_rows)

    def _terms_of(self, x: int) -> Terms:
        r = self._n_states[x]
        if r not in self._terms:
            self._terms[r] = self.criterion.terms(self.columns.n_rows, r)
        return self._terms[r]

    def _n_configurations(self, parents: Parents) -> float:
        return float(min(prod(self._n_states[p] for p in parents), MOST_CONFIGURATIONS))

    # Extended families

    def additions(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every variable c the score of x given parents and c; see :class:`Families`."""
        if not parents and not self._additions and self._kernels and self._extensions.pairs is not None:
            self._score_pairs(self._extensions.pairs)
        return super().additions(x, parents)

    def _score_pairs(self, pairs: np.ndarray) -> None:
        """Score every variable alone and given each other one."""
        states, everything = self._states, np.arange(self.n)
        start, alone = self.columns.first_states, np.ascontiguousarray(pairs.diagonal())

        def score(x: int) -> tuple[np.ndarray, np.ndarray]:
            tables = self._extensions.pair_tables(x)
            return self._sums(x, tables.cells, tables.first) if states[x] else (np.zeros(self.n), np.zeros(self.n))

        for x in range(self.n):
            own = alone[start[x] : start[x + 1]]
            self.remember_score(x, (), self._score_and_margins(x, (), own) if len(own) else 0.0)
        for x, sums in enumerate(map_threads(score, range(self.n), self.columns.n_jobs if self.n > 64 else 1)):
            found = self._finish(x, states.astype(float), *sums) + self.bonuses(x, (), everything)
            self.remember_additions(x, (), np.where(self._worth_counting(x, (), everything), found, -np.inf))

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        some = np.arange(self.n) if candidates is None else candidates
        out, start = np.full(len(some), -np.inf), None
        if self._kernels:
            start = self._extensions.start(x, parents, candidates)
            if start is not None and (x, parents) not in self._scores:
                own = self._score_and_margins(x, start.parents, start.counts)
                self.remember_score(x, parents, own + self._bonus(x, parents))
        worth = self._worth_counting(x, parents, some)
        if worth.any():
            out[worth] = self._extended(x, parents, some[worth], start) + self.bonuses(x, parents, some[worth])
        return out

    def _worth_counting(self, x: int, parents: Parents, some: np.ndarray) -> np.ndarray:
        """Return which candidates might raise the score of x | parents, by what the dimensions alone allow."""
        states = self._states
        q = self._n_configurations(parents) * states[some]
        ceilings = self.criterion.ceiling(q, self._n_states[x], self.n_rows) + self.bonuses(x, parents, some)
        free = states > 0
        free[[x, *parents]] = False
        varies = (states[some] > 1) | (self.bonuses(x, (), some) > 0.0)  # a single state explains nothing
        return free[some] & varies & (ceilings > self.score(x, parents))

    def _extended(self, x: int, parents: Parents, chosen: np.ndarray, start: Start | None) -> np.ndarray:
        """Return the score with each of the candidates."""
        r, n_configurations = self._n_states[x], self._n_configurations(parents)
        q = n_configurations * self._states[chosen]
        dense = self._states[chosen] * min(r * n_configurations, 2.0**31) <= dense_cells(self.columns.n_rows)
        if not dense.all():
            out = np.empty(len(chosen))
            out[dense] = self._extended(x, parents, chosen[dense], start) if dense.any() else 0.0
            out[~dense] = [self._score(x, tuple(sorted((*parents, c)))) for c in chosen[~dense].tolist()]
            return out
        if self._kernels:
            return self._finish(x, q, *self._extensions.sums(x, parents, chosen, start, self._terms_of(x)))
        tables = self._extensions.tables(x, parents, chosen)
        cells = (tables[c].reshape(r, -1).T for c in chosen.tolist())
        return np.array([self.criterion.family(t, n, self.n_rows) for t, n in zip(cells, q.tolist(), strict=True)])


def _worth_kernels(table: Table) -> bool:
    """Return whether kernels score a table faster than NumPy, the time to compile them included."""
    if table.weights is not None or table.n_rows * table.n_columns <= SMALL_CELLS:
        return False
    if is_numpy_quicker(_PASSES * table.n_rows * table.n_columns, "counting.planes", "extend_family"):
        return False
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.counting.planes import extend_family

    announce(extend_family, "structure learning", 3)
    compile_beside_counting()
    return True
