"""The counter: every count that a learner asks for, over a table or a sum of tables.

Three ways to count give the same numbers; each request takes the fastest:

* **bit planes** (:mod:`tunbridge.counts.columns`) for all pairs of columns with few states, for many small families,
  and for extending a family by every candidate parent at once (:mod:`tunbridge.counts.extensions`);
* **histograms** (:mod:`tunbridge.counts.radix`) for single families, columns with many states, and weighted rows;
* **NumPy** for small tables, so that the first answer does not wait for a compiler.

A family whose dense table would be larger than the data is counted sparsely: only parent configurations that occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import numpy as np

from tunbridge._core.check import as_list, check_number, listed
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.counts.columns import Columns, count_pairs, families_by_planes, offsets
from tunbridge.counts.extensions import Extensions
from tunbridge.counts.radix import is_dense, joint_codes, joint_table, sparse_table
from tunbridge.counts.records import Counts, PairCounts, TripleCounts, merge_states, number_text
from tunbridge.data import Frame, Table, Variable, as_table
from tunbridge.data.columns import code_type
from tunbridge.errors import DataError
from tunbridge.kernels.compiled import is_numpy_quicker

_BLOCK_CELLS = 1 << 22
"""Cells of a block of pair counts."""
_FEW_FAMILIES, _FAMILY_JOINT, _FAMILY_CELLS = 4, 64, 256
"""So many families of at most so many configurations and cells are counted together by bit planes."""


class Counter:
    """Counts over a table: families, pairs, triples, extensions of families; exact, threaded, deterministic.

    Parameters
    ----------
    data : Table or any frame
        Categorical columns are counted, rows by their weights; continuous columns are ignored.
    n_jobs : int, optional
        Threads; default: every core. The counts do not depend on it.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> counter
    Counter of 5 variables over 14 rows
    >>> counter.family("play").table.tolist()
    [[5, 9]]
    >>> counter.pairs().table("wind", "play").tolist()
    [[3, 3], [2, 6]]
    """

    def __init__(self, data: Frame, *, n_jobs: int | None = None) -> None:
        n_threads(n_jobs)
        table = data if isinstance(data, Table) else as_table(data)
        self.parts: tuple[Columns, ...] = (Columns.of(table, n_jobs),)
        self.continuous = frozenset(v.name for v in table.variables if v.is_continuous)
        """The names of the continuous columns, which are not counted."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The categorical variables, in the order of the columns."""
        return self.parts[0].table.variables

    @property
    def total(self) -> float:
        """The number (or weight) of all rows."""
        return sum(part.total for part in self.parts)

    @property
    def n_jobs(self) -> int | None:
        """The number of threads, as it was given."""
        return self.parts[0].n_jobs

    # Families

    def marginal(self, x: str) -> Counts:
        """Return the counts of one variable by itself."""
        return self.family(x)

    def family(self, x: str, parents: Iterable[str] = ()) -> Counts:
        """Return the counts of a variable for every configuration of its parents.

        The table is sparse when a dense one would be larger than the data.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.Counter(tb.datasets.play_tennis()).family("play", ["outlook"]).row({"outlook": "Rain"}).tolist()
        [2, 3]
        """
        members = self._check_family(x, parents)
        return self._sum(lambda part: _family(part, members, self.n_jobs))

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> list[Counts]:
        """Return the counts of several (variable, parents) families; many small ones are counted together.

        Examples
        --------
        >>> import tunbridge as tb
        >>> counts = tb.Counter(tb.datasets.play_tennis()).families([("wind", ()), ("play", ("wind",))])
        >>> [c.table.tolist() for c in counts]
        [[[6, 8]], [[3, 3], [2, 6]]]
        """
        checked = [self._check_family(*_pair_of(family)) for family in families]
        return self._sum_each(_families(part, checked) for part in self.parts)

    def extend(self, x: str, parents: Iterable[str] = (), candidates: Iterable[str] | None = None) -> list[Counts]:
        """Return the counts of (x | parents, c) for each candidate c (default: every other variable).

        What (x, parents) have in common is computed once for all candidates.
        """
        members = self._check_family(x, parents)
        if candidates is None:
            chosen = [v for v in range(len(self.variables)) if v not in members]
        else:
            chosen = self._check_names("candidates", candidates)
        for c in chosen:
            self._check_distinct([*members[:-1], c, members[-1]])
        return self._sum_each(_extensions(part, members, chosen) for part in self.parts)

    # Pairs and triples

    def pairs(self, variables: Iterable[str] | None = None) -> PairCounts:
        """Return the counts of all pairs of variables; a pair leaves out the rows that miss one of the two.

        The variables are in the order of the columns, whatever the order of the names.
        """
        chosen = self._chosen(variables)
        self._check_matrix(chosen, 1)
        return PairCounts(self._named(chosen), self._add(lambda part: count_pairs(part, chosen))[0])

    def pairs_within(self, c: str, variables: Iterable[str] | None = None) -> PairCounts:
        """Return the counts of all pairs of the other variables for each state of ``c``, without rows that miss it.

        Examples
        --------
        >>> import tunbridge as tb
        >>> counter = tb.Counter(tb.datasets.play_tennis())
        >>> counter.pairs_within("play").table("wind", "humidity").tolist()
        [[[2, 1], [2, 0]], [[1, 2], [2, 4]]]
        """
        (given,) = self._chosen([c])
        chosen = [v for v in self._chosen(variables) if v != given]
        n_given = self.variables[given].n_states
        self._check_matrix(chosen, n_given)
        matrix = self._add(lambda part: count_pairs(part, chosen, (part.codes[given], n_given)))
        return PairCounts(self._named(chosen), matrix, self.variables[given])

    def pair_blocks(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the counts of all pairs block by block, in bounded memory.

        A block (low, high, counts) has the counts of the states of variables low … high − 1 × those of all variables
        from ``low`` on. A pair is in the block of its earlier variable.
        """
        states = np.array([v.n_states for v in self.variables])
        start, low, n = offsets(states), 0, len(states)
        while low < n:
            most = _BLOCK_CELLS // max(1, int(start[-1] - start[low]))
            high = min(n, max(low + 1, int(np.searchsorted(start, start[low] + most, "right")) - 1))
            check_memory(
                "a block of pair counts",
                16.0 * int(start[high] - start[low]) * int(start[-1] - start[low]),
                ways_out="Leave out columns with many states, such as identifiers.",
            )
            yield low, high, self._add(lambda part: count_pairs(part, range(n), block=(low, high)))[0]  # noqa: B023
            low = high

    def triples_within(self, c: str) -> TripleCounts:
        """Return the counts of all triples of the other variables for each state of ``c``.

        Examples
        --------
        >>> import tunbridge as tb
        >>> triples = tb.Counter(tb.datasets.play_tennis()).triples_within("play")
        >>> triples.table(1, 2, 3)[0, 0].tolist()  # Cool, High, by wind × play
        [[0, 0], [0, 0]]
        """
        (given,) = self._chosen([c])
        others = [v for v in range(len(self.variables)) if v != given]
        cells = self._add(lambda part: _triples(part, others, given))
        return TripleCounts(tuple(v.n_states for v in self._named(others)), self.variables[given].n_states, cells)

    # Sums of counters

    def merge(self, other: Counter) -> Counter:
        """Return the counter over the rows of both; states are matched by name, new ones come last."""
        if not isinstance(other, Counter):
            raise DataError(f"a counter must be merged with a counter; got {type(other).__name__}.")
        mine, theirs = ({v.name: v for v in counter.variables} for counter in (self, other))
        if mine.keys() != theirs.keys():
            differ = listed(sorted(mine.keys() ^ theirs.keys()))
            raise DataError(f"counters must have the same variables to be merged; only one of them has {differ}.")
        variables = [merge_states(v, theirs[name]) for name, v in mine.items()]
        parts = [part.recode(variables, self.n_jobs) for part in (*self.parts, *other.parts)]
        return Counter._of(parts, self.continuous | other.continuous)

    def decay(self, factor: float) -> Counter:
        """Return the counter in which every row so far weighs ``factor`` times as much (0 … 1)."""
        number = check_number("the factor of decay", factor, low=0, high=1)
        return Counter._of([replace(part, scale=part.scale * number) for part in self.parts], self.continuous)

    @classmethod
    def _of(cls, parts: Sequence[Columns], continuous: frozenset[str]) -> Counter:
        self = object.__new__(cls)
        self.parts, self.continuous = tuple(parts), continuous
        return self

    def __repr__(self) -> str:
        return f"Counter of {number_text(len(self.variables), 'variable')} over {number_text(self.total, 'row')}"

    def _sum(self, count: Callable[[Columns], Counts]) -> Counts:
        return reduce(Counts.merge, [count(part) for part in self.parts])

    def _sum_each(self, counted: Iterable[Sequence[Counts]]) -> list[Counts]:
        return [reduce(Counts.merge, counts) for counts in zip(*counted, strict=True)]

    def _add(self, count: Callable[[Columns], np.ndarray]) -> np.ndarray:
        return reduce(np.add, [_scaled(part, count(part)) for part in self.parts])

    # Checks

    def _named(self, positions: Iterable[int]) -> tuple[Variable, ...]:
        return tuple(self.variables[v] for v in positions)

    def _chosen(self, names: Iterable[str] | None) -> list[int]:
        """Return the positions of some variables, ascending; None: all."""
        return list(range(len(self.variables))) if names is None else sorted(set(self._check_names("variables", names)))

    def _check_names(self, what: str, names: Iterable[str]) -> list[int]:
        table, positions = self.parts[0].table, []
        for name in as_list(what, names):
            if isinstance(name, str) and name in self.continuous:
                raise DataError(f"variables must be categorical to be counted; {name!r} is continuous. Discretise it.")
            positions.append(table.position(name))
        return positions

    def _check_family(self, x: str, parents: Iterable[str]) -> list[int]:
        """Return the positions of a family, child last."""
        members = [*self._check_names("parents", parents), *self._check_names("variables", [x])]
        self._check_distinct(members)
        return members

    def _check_distinct(self, members: Sequence[int]) -> None:
        if len(set(members)) < len(members):
            names = listed([v.name for v in self._named(members)])
            raise DataError(f"a family must name each variable once; got {names}.")

    def _check_matrix(self, chosen: Sequence[int], n_given: int) -> None:
        variables = self._named(chosen)
        n_states = sum(v.n_states for v in variables)
        widest = max(variables, key=lambda v: v.n_states, default=None)
        alone = f" ({widest.name!r} alone has {widest.n_states})" if widest is not None else ""
        n_copies = 2 if len(self.parts) == 1 else 3
        check_memory(
            f"the counts of all pairs of {n_states} states{alone}",
            8 * n_copies * n_given * n_states**2,
            ways_out="Leave out columns with many states, or count families one by one.",
        )


def _pair_of(family: object) -> tuple[str, Iterable[str]]:
    if isinstance(family, str) or not isinstance(family, Sequence) or len(family) != 2:
        raise DataError(f"families must be pairs (variable, parents); got {family!r}. Write ('x', ['a', 'b']).")
    return family[0], family[1]


# One table: families, members by position, child last


def _scaled(part: Columns, table: np.ndarray) -> np.ndarray:
    return table if part.scale == 1.0 else table * part.scale


def _counts(part: Columns, members: Sequence[int], table: np.ndarray) -> Counts:
    *parents, child = (part.table.variables[v] for v in members)
    shape = (prod(p.n_states for p in parents), child.n_states)
    return Counts(child, tuple(parents), _scaled(part, table.reshape(shape)))


def _family(part: Columns, members: Sequence[int], n_jobs: int | None) -> Counts:
    codes, n_states = part.of_members(members)
    if len(members) == 1 or is_dense(n_states, part.n_rows):
        return _counts(part, members, joint_table(codes, n_states, part.weights, n_jobs=n_jobs))
    *parents, child = (part.table.variables[v] for v in members)
    configurations, table = sparse_table(codes, n_states, part.weights)
    return Counts(child, tuple(parents), _scaled(part, table), configurations)


def _families(part: Columns, families: Sequence[Sequence[int]]) -> list[Counts]:
    n_states, narrow = part.n_states, part.narrow.tolist()

    def is_small(members: Sequence[int]) -> bool:  # so many ANDs cost less than the additions of a histogram
        n_joint = prod(n_states[v] for v in members[:-1])
        few = n_joint <= _FAMILY_JOINT and n_joint * n_states[members[-1]] <= _FAMILY_CELLS
        return few and all(narrow[v] for v in members)

    small = [members for members in families if is_small(members)] if part.has_planes else []
    size = part.n_rows * sum(map(len, small))
    if len(small) < _FEW_FAMILIES or is_numpy_quicker(size, "counting.planes", "count_families"):
        return map_threads(lambda members: _family(part, members, 1), families, part.n_jobs)
    tables = dict(zip(map(tuple, small), families_by_planes(part.planes, small, n_jobs=part.n_jobs), strict=True))

    def count(members: Sequence[int]) -> Counts:
        table = tables.get(tuple(members))
        return _family(part, members, 1) if table is None else _counts(part, members, table)

    return map_threads(count, families, part.n_jobs if len(small) < len(families) else 1)


def _extensions(part: Columns, members: Sequence[int], candidates: Sequence[int]) -> list[Counts]:
    *parents, x = members
    r, q, kind = part.n_states[x], part.n_configurations(parents), part.count_type
    found = Extensions(part).tables(x, tuple(parents), np.array(sorted(set(candidates)), np.int64)) if r and q else {}

    def count(c: int) -> Counts:
        if c not in found:
            return _family(part, [*parents, c, x], 1)
        return _counts(part, [*parents, c, x], found[c].reshape(r, -1).T.astype(kind, order="C"))

    return map_threads(count, candidates, part.n_jobs if len(found) < len(candidates) else 1)


def _triples(part: Columns, others: Sequence[int], given: int) -> np.ndarray:
    """Return the cells of the counts of all triples within the states of a column.

    The triples of a feature f are the pairs of later features within the joint states of f and the class.
    """
    n_states, n_given = [part.n_states[v] for v in others], part.n_states[given]
    triples = TripleCounts.zeros(n_states, n_given, part.count_type)
    for f in range(len(others) - 2):
        size, later = n_states[f] * n_given, others[f + 1 :]
        joint = joint_codes([part.codes[others[f]], part.codes[given]], [n_states[f], n_given])
        matrix = count_pairs(part, later, (joint.astype(code_type(size)), size))
        matrix = matrix.reshape(n_states[f], n_given, *matrix.shape[1:])
        first = triples.first - triples.first[f + 1]
        for g in range(f + 1, len(others)):
            found = matrix[:, :, first[g] : first[g + 1], first[g + 1] :]
            triples.block(f, g)[...] = found.transpose(0, 2, 3, 1)
    return triples.cells
