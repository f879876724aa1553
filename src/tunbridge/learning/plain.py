"""Scores of families of categorical variables by NumPy: for small tables and weighted rows, without a compiler."""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np

from tunbridge._check import listed
from tunbridge.counts import Counter
from tunbridge.counts.planes import BitPlanes, build_planes, has_planes
from tunbridge.counts.radix import is_dense, joint_codes, joint_table, sparse_table
from tunbridge.data import Table
from tunbridge.data.columns import code_type
from tunbridge.errors import DataError
from tunbridge.learning.families import Families, Parents
from tunbridge.learning.scores import Score

_MOST_CONFIGURATIONS = 10**150


class Columns:
    """The columns of a table of categorical variables, sorted by name, as searches read them."""

    def __init__(self, table: Table, score: Score, n_jobs: int | None) -> None:
        columns = sorted(table, key=lambda column: column.variable.name)
        self.names = tuple(column.variable.name for column in columns)
        self.states = np.array([column.variable.n_states for column in columns], np.int64)
        self.codes = tuple(np.ascontiguousarray(c.values, code_type(c.variable.n_states)) for c in columns)
        self.complete = np.array([name not in table.missing for name in self.names], bool)
        self.weights = table.weights
        self.total = float(table.n_rows if table.weights is None else table.weights.sum())
        self.n_rows, self.n_jobs = table.n_rows, n_jobs
        self._given = table
        if not self.complete.all() and not score.is_average:
            some = listed([name for name, ok in zip(self.names, self.complete, strict=True) if not ok], most=3)
            raise DataError(
                f"a table scored by {score.name!r} must have no missing cells; got some in {some}. "
                "Use score='nal', whose penalty allows for families that rest on different rows."
            )

    @cached_property
    def table(self) -> Table:
        """The table of the columns in this order."""
        return self._given.select(self.names)

    @cached_property
    def counter(self) -> Counter:
        """The counter of the same columns."""
        return Counter(self.table, n_jobs=self.n_jobs)

    @cached_property
    def narrow(self) -> np.ndarray:
        """Which columns have few enough states for bit planes."""
        return np.array([has_planes(int(n)) for n in self.states], bool)

    @cached_property
    def bit_planes(self) -> BitPlanes:
        """The planes of the narrow columns, of which there is at least one."""
        return build_planes(*self.of(*np.flatnonzero(self.narrow)), n_jobs=self.n_jobs)

    @cached_property
    def planes(self) -> tuple[np.ndarray, np.ndarray]:
        """The words of the planes of the narrow columns, and where those of each column begin."""
        sizes = np.zeros(len(self.names) + 1, np.int64)
        if not self.narrow.any():
            return np.zeros((0, -(-self.n_rows // 64)), np.uint64), sizes
        sizes[np.flatnonzero(self.narrow) + 1] = np.diff(self.bit_planes.first)
        return self.bit_planes.words, np.cumsum(sizes)

    @cached_property
    def state_counts(self) -> np.ndarray:
        """How often each state of the narrow columns occurs, those of all columns one behind the other."""
        from tunbridge.kernels.planes import count_planes

        words, first = self.planes
        counted = np.empty(len(words), np.int64)
        count_planes(words, counted)
        start = np.concatenate([[0], np.cumsum(self.states)])
        out = np.zeros(start[-1], np.int64)
        for v in np.flatnonzero(self.narrow).tolist():
            own = counted[first[v] : first[v + 1]]
            out[start[v] : start[v] + len(own)] = own
            if len(own) < self.states[v]:
                out[start[v + 1] - 1] = self.n_rows - own.sum()
        return out

    def n_configurations(self, parents: Parents) -> int:
        """Return the number of configurations of some columns."""
        return prod(self.states[list(parents)].tolist())

    def size(self, parents: Parents) -> float:
        """Return the number of configurations as far as scores can tell: more than 10¹⁵⁰ are as many as that."""
        return float(min(self.n_configurations(parents), _MOST_CONFIGURATIONS))

    def of(self, *family: int) -> tuple[list[np.ndarray], list[int]]:
        """Return the codes and the numbers of states of some columns."""
        return [self.codes[v] for v in family], self.states[list(family)].tolist()


def worth_counting(
    families: Families, columns: Columns, score: Score, x: int, parents: Parents, some: np.ndarray
) -> np.ndarray:
    """Return which candidates might raise the score of x | parents, by what the dimensions alone allow."""
    q = columns.size(parents) * columns.states[some]
    ceilings = score.ceiling(q, int(columns.states[x]), columns.total) + families.bonuses(x, parents, some)
    free = columns.states > 0
    free[[x, *parents]] = False
    tells = (columns.states[some] > 1) | (families.bonuses(x, (), some) > 0.0)  # one state tells nothing by itself
    return free[some] & tells & (ceilings > families.score(x, parents))


class NumpyFamilies(Families):
    """The scores of the families of a table of categorical columns, each counted by NumPy.

    Parameters
    ----------
    table : Table
        Categorical columns only; missing cells only under a score that averages over the rows it has.
    score : Score
        The score.
    arc_bonus : ndarray of shape (n, n), optional
        What an arc adds to the score of its child.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> import tunbridge as tb
    >>> families = NumpyFamilies(tb.datasets.play_tennis(), tb.BIC())
    >>> families.names
    ('humidity', 'outlook', 'play', 'temperature', 'wind')
    >>> round(families.score(2, (4,)), 4)
    -11.2966
    >>> families.additions(2, ()).round(2).tolist()
    [-10.29, -10.69, -inf, -12.8, -11.3]
    """

    def __init__(
        self, table: Table, score: Score, *, arc_bonus: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        self.columns = Columns(table, score, n_jobs)
        super().__init__(self.columns.names, self.columns.total, arc_bonus)
        self.criterion = score

    @property
    def counter(self) -> Counter:
        """The counter of the same columns."""
        return self.columns.counter

    def _score(self, x: int, parents: Parents) -> float:
        codes, states = self.columns.of(*parents, x)
        q, weights = prod(states[:-1]), self.columns.weights
        if min(states) == 0:
            return -np.inf if parents else 0.0
        if is_dense(states, self.columns.n_rows):
            table = joint_table(codes, states, weights, n_jobs=1).reshape(q, states[-1])
        else:
            _, table = sparse_table(codes, states, weights)
        if not parents and not table.any():  # never seen: alone it costs its penalty, and explains nothing
            return -float(self.criterion.penalty(1.0, states[-1], self.n_rows))
        return self.criterion.family(table, self.columns.size(parents), self.n_rows)

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        some = np.arange(self.n) if candidates is None else candidates
        out = np.full(len(some), -np.inf)
        worth = worth_counting(self, self.columns, self.criterion, x, parents, some)
        counted = self._extended(x, parents, some[worth])
        out[worth] = counted + self.bonuses(x, parents, some[worth])
        return out

    def _extended(self, x: int, parents: Parents, some: np.ndarray) -> np.ndarray:
        """Return the score with each of the candidates; what the family has in common is coded once."""
        codes, states = self.columns.of(*parents, x)
        if not is_dense([*states, int(self.columns.states[some].max(initial=1))], self.columns.n_rows):
            return np.array([self._score(x, tuple(sorted((*parents, c)))) for c in some.tolist()])
        joint, q, r = joint_codes(codes, states), prod(states[:-1]), states[-1]
        weights, out = self.columns.weights, np.empty(len(some))
        for i, c in enumerate(some.tolist()):
            s = int(self.columns.states[c])
            table = joint_table([joint, self.columns.codes[c]], [q * r, s], weights, n_jobs=1)
            cells = table.reshape(q, r, s).swapaxes(1, 2).reshape(q * s, r)
            out[i] = self.criterion.family(cells, float(q * s), self.n_rows)
        return out
