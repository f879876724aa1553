"""The counter: every count that a learner asks for, over a table or a sum of tables.

Three ways to count give the same numbers; each request takes the cheapest:

* **bit planes** (:mod:`tunbridge.counts.planes`) for all pairs of columns with few states, and for extending a family
  by every candidate parent at once;
* **histograms** (:mod:`tunbridge.counts.radix`) for families, for columns with many states, and for weighted rows;
* **NumPy** for small tables, so that the first answer does not wait for a compiler.

A family whose dense table would be larger than the data is counted sparsely: only parent configurations that occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from tunbridge._check import check_number, listed
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, n_threads
from tunbridge.counts.part import Part
from tunbridge.counts.records import Counts, PairCounts, number_text
from tunbridge.counts.states import merge_states
from tunbridge.data import Variable, as_table
from tunbridge.errors import DataError


class Counter:
    """Counts over a table: families, all pairs, pairs within a class, extensions; exact, threaded, deterministic.

    Parameters
    ----------
    data : Table or any frame
        Categorical columns are counted, rows by their weights; continuous columns are ignored.
    n_jobs : int, optional
        Threads; ``None`` takes every core. The counts do not depend on it.

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

    def __init__(self, data: Any, *, n_jobs: int | None = None) -> None:
        n_threads(n_jobs)
        table = as_table(data)
        self._parts: tuple[Part, ...] = (Part.of(table, n_jobs),)
        self._continuous = frozenset(v.name for v in table.variables if v.is_continuous)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The categorical variables, in the order of the columns."""
        return self._parts[0].table.variables

    @property
    def total(self) -> float:
        """The number (or weight) of all rows."""
        return sum(part.total for part in self._parts)

    @property
    def n_jobs(self) -> int | None:
        """The number of threads, as it was given."""
        return self._parts[0].n_jobs

    # Counts of families

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
        names = self._check_family(x, parents)
        return self._sum(lambda part: part.family(names, self.n_jobs))

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> list[Counts]:
        """Return the counts of several (variable, parents) families, counted by several threads."""
        checked = [self._check_family(*_pair_of(family)) for family in families]
        return map_threads(lambda names: self._sum(lambda part: part.family(names, 1)), checked, self.n_jobs)

    def extend(self, x: str, parents: Iterable[str] = (), candidates: Iterable[str] | None = None) -> list[Counts]:
        """Return the counts of (x | parents, c) for each candidate c (every other variable by default).

        What (x, parents) have in common is computed once for all candidates.
        """
        names = self._check_family(x, parents)
        if candidates is None:
            chosen = [v.name for v in self.variables if v.name not in names]
        else:
            chosen = self._check_names("candidates", candidates)
        for c in chosen:
            _check_distinct([*names[:-1], c, x])
        per_part = [part.extend(names, chosen) for part in self._parts]
        return [reduce(Counts.merge, counts) for counts in zip(*per_part, strict=True)]

    # Counts of pairs

    def pairs(self, variables: Iterable[str] | None = None) -> PairCounts:
        """Return the counts of all pairs of variables; a pair leaves out the rows that miss one of the two.

        The variables stand in the order of the columns, whatever the order they are asked for in.
        """
        chosen = self._chosen(variables)
        self._check_matrix(chosen, 1)
        return PairCounts(chosen, _added(part.pairs(chosen) for part in self._parts))

    def pairs_within(self, c: str, variables: Iterable[str] | None = None) -> PairCounts:
        """Return the counts of all pairs of the other variables for each state of ``c``, rows that miss it left out.

        Examples
        --------
        >>> import tunbridge as tb
        >>> counter = tb.Counter(tb.datasets.play_tennis())
        >>> counter.pairs_within("play").table("wind", "humidity").tolist()
        [[[2, 1], [2, 0]], [[1, 2], [2, 4]]]
        """
        (given,) = self._chosen([c])
        chosen = tuple(v for v in self._chosen(variables) if v.name != c)
        self._check_matrix(chosen, given.n_states)
        return PairCounts(chosen, _added(part.pairs_within(given, chosen) for part in self._parts), given)

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
        parts = [part.recode(variables, self.n_jobs) for part in (*self._parts, *other._parts)]
        return self._with(parts, self._continuous | other._continuous)

    def decay(self, factor: float) -> Counter:
        """Return the counter in which every row so far weighs ``factor`` times as much (0 … 1)."""
        number = check_number("the factor of decay", factor, low=0, high=1)
        return self._with([replace(part, scale=part.scale * number) for part in self._parts], self._continuous)

    def _with(self, parts: Sequence[Part], continuous: frozenset[str]) -> Counter:
        counter = Counter.__new__(Counter)
        counter._parts, counter._continuous = tuple(parts), continuous
        return counter

    def __repr__(self) -> str:
        return f"Counter of {number_text(len(self.variables), 'variable')} over {number_text(self.total, 'row')}"

    def _sum(self, count: Callable[[Part], Counts]) -> Counts:
        return reduce(Counts.merge, [count(part) for part in self._parts])

    # Checks

    def _chosen(self, names: Iterable[str] | None) -> tuple[Variable, ...]:
        if names is None:
            return self.variables
        wanted = set(self._check_names("variables", names))
        return tuple(v for v in self.variables if v.name in wanted)

    def _check_names(self, what: str, names: Iterable[str]) -> list[str]:
        if isinstance(names, str):
            raise DataError(f"{what} must be a list of names; got the text {names!r}. Write [{names!r}].")
        checked = list(names)
        for name in checked:
            if isinstance(name, str) and name in self._continuous:
                raise DataError(f"variables must be categorical to be counted; {name!r} is continuous. Discretise it.")
            self._parts[0].table.position(name)
        return checked

    def _check_family(self, x: str, parents: Iterable[str]) -> list[str]:
        """Return the family's names, child last."""
        names = [*self._check_names("parents", parents), *self._check_names("variables", [x])]
        _check_distinct(names)
        return names

    def _check_matrix(self, variables: Sequence[Variable], n_given: int) -> None:
        n_states = sum(v.n_states for v in variables)
        widest = max(variables, key=lambda v: v.n_states, default=None)
        alone = f" ({widest.name!r} alone has {widest.n_states})" if widest is not None else ""
        n_copies = 2 if len(self._parts) == 1 else 3
        check_memory(
            f"the counts of all pairs of {n_states} states{alone}",
            8 * n_copies * n_given * n_states**2,
            ways_out="Leave out columns with many states, or count families one by one.",
        )


def _added(matrices: Iterable[np.ndarray]) -> np.ndarray:
    return reduce(np.add, matrices)


def _check_distinct(names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise DataError(f"a family must name each variable once; got {listed(names)}.")


def _pair_of(family: Any) -> tuple[str, Iterable[str]]:
    if isinstance(family, str) or not isinstance(family, Sequence) or len(family) != 2:
        raise DataError(f"families must be pairs (variable, parents); got {family!r}. Write ('x', ['a', 'b']).")
    return family[0], family[1]
