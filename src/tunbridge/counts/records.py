"""The records that counting gives and everything else reads: counts of families, of pairs and of triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from tunbridge._core.check import check_known, check_number, did_you_mean, listed, shortened
from tunbridge._core.grid import grid_lines
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import row_pieces
from tunbridge.counts.radix import configuration_codes, configuration_numbers, is_dense, product_numbers
from tunbridge.data import MISSING, State, Variable
from tunbridge.errors import DataError

_MOST_AXES = 32
_SHOWN_ROWS = 20
_SHOWN_STATES = 10
_STATE_WIDTH = 24
_WHOLE = 1e15
_PIECE_CELLS = 1 << 18
"""Cells of triples that are worked on at once."""


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each state of a child goes with each configuration of its parents.

    ``table[j, k]`` is the number (or weight) N_jk of the rows with parent configuration j and child state k, rows that
    miss any of the variables left out.

    Parameters
    ----------
    child : Variable
        The variable counted.
    parents : tuple of Variable
        Its parents; the last one varies fastest in the order of the configurations.
    table : ndarray of shape (n_configurations, n_states)
        int64 when every row counts one, float64 when rows have weights.
    configurations : ndarray of shape (n_configurations, n_parents), optional
        ``None`` for a dense table, in which every configuration has its row; else the parents' codes of the
        configurations that occur, in sorted order.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = tb.Counter(tb.datasets.play_tennis()).family("play", ["wind"])
    >>> counts
    Counts of play given wind (14 rows)
    wind    no  yes
    Strong   3    3
    Weak     2    6
    >>> counts.row({"wind": "Weak"}).tolist()
    [2, 6]
    """

    child: Variable
    parents: tuple[Variable, ...]
    table: np.ndarray
    configurations: np.ndarray | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The parents in order, then the child."""
        return (*self.parents, self.child)

    @property
    def is_sparse(self) -> bool:
        """Whether only the configurations that occur have a row."""
        return self.configurations is not None

    @property
    def total(self) -> float:
        """The number (or weight) of the rows counted."""
        return self.table.sum().item()

    @property
    def array(self) -> np.ndarray:
        """The dense table with one axis a variable: parents in order, then the child."""
        if len(self.variables) > _MOST_AXES:
            raise DataError(
                f"an array must have at most {_MOST_AXES} axes; the family of {self.child.name!r} has "
                f"{len(self.variables)} variables. Use table and configurations."
            )
        return self.dense().table.reshape([v.n_states for v in self.variables])

    def row(self, parents: Mapping[str, State]) -> np.ndarray:
        """Return the child's counts for one configuration of the parents, given by name."""
        names = [p.name for p in self.parents]
        check_known(f"a configuration must name parents of {self.child.name!r}", parents, names)
        missing = [name for name in names if name not in parents]
        if missing:
            raise DataError(f"a configuration must give every parent a state; {listed(missing)} has none.")
        codes = np.array([[p.code(parents[p.name]) for p in self.parents]], np.intp)
        if self.configurations is None:
            return self.table[configuration_numbers(codes, self._n_parent_states).item()]
        at = np.flatnonzero((self.configurations == codes).all(axis=1))
        return self.table[at[0]] if at.size else np.zeros_like(self.table, shape=self.child.n_states)

    def dense(self) -> Counts:
        """Return the same counts as a dense table; raise MemoryForecastError where that would be too large."""
        if self.configurations is None:
            return self
        n_configurations = prod(self._n_parent_states)
        check_memory(
            f"the dense table of {self.child.name!r} given {listed(p.name for p in self.parents)}",
            8 * n_configurations * self.child.n_states,
            ways_out="Keep it sparse, or use fewer parents.",
        )
        table = np.zeros((n_configurations, self.child.n_states), self.table.dtype)
        table[configuration_numbers(self.configurations, self._n_parent_states)] = self.table
        return replace(self, table=table, configurations=None)

    def decay(self, factor: float) -> Counts:
        """Return the counts times a factor between 0 and 1, so that old rows weigh less than new ones."""
        return replace(self, table=self.table * check_number("the factor of decay", factor, low=0, high=1))

    def merge(self, other: Counts) -> Counts:
        """Return the counts of both; states are matched by name, and new ones come after the known ones."""
        if [v.name for v in self.variables] != [v.name for v in other.variables]:
            raise DataError(
                f"counts must be of the same family to be merged; got {_title(self)!r} and {_title(other)!r}."
            )
        variables = [merge_states(a, b) for a, b in zip(self.variables, other.variables, strict=True)]
        if self._stays_dense(other, variables):
            a, b = self.over(variables), other.over(variables)
            return replace(a, table=a.table + b.table)
        return _merge_sparse(self.sparse().over(variables), other.sparse().over(variables))

    __add__ = merge

    @property
    def _n_parent_states(self) -> list[int]:
        return [p.n_states for p in self.parents]

    def _stays_dense(self, other: Counts, variables: Sequence[Variable]) -> bool:
        """Whether two dense tables are merged into one; with many new states that could be far larger than both."""
        if self.is_sparse or other.is_sparse:
            return False
        unchanged = _has_states(self, variables) or _has_states(other, variables)
        n_rows = self.total + other.total
        return unchanged or not self.parents or is_dense([v.n_states for v in variables], n_rows)

    def over(self, variables: Sequence[Variable]) -> Counts:
        """Return the same counts over variables, in the same order, that have at least the states of ours."""
        if _has_states(self, variables):
            return replace(self, child=variables[-1], parents=tuple(variables[:-1]))
        *maps, child_map = (
            np.array([new.code(s) for s in old.states or ()], np.int32)
            for old, new in zip(self.variables, variables, strict=True)
        )
        *parents, child = variables
        if self.configurations is None:
            rows = product_numbers(maps, [p.n_states for p in parents])
            table = np.zeros((prod(p.n_states for p in parents), child.n_states), self.table.dtype)
            np.add.at(table, np.ix_(rows, child_map), self.table)
            return Counts(child, tuple(parents), table)
        table = np.zeros((len(self.table), child.n_states), self.table.dtype)
        np.add.at(table, np.ix_(np.arange(len(table)), child_map), self.table)
        codes = np.column_stack([m[c] for m, c in zip(maps, self.configurations.T, strict=True)])
        return Counts(child, tuple(parents), table, codes)

    def sparse(self) -> Counts:
        """Return the same counts with a row for each configuration that occurs only."""
        if self.configurations is not None:
            return self
        used = np.flatnonzero(self.table.any(axis=1))
        return replace(self, table=self.table[used], configurations=configuration_codes(used, self._n_parent_states))

    def __repr__(self) -> str:
        sparse = ", sparse" if self.is_sparse else ""
        head = f"Counts of {_title(self)} ({number_text(self.total, 'row')}{sparse})"
        n_hidden = len(self.table) - _SHOWN_ROWS
        more = [f"… ({number_text(n_hidden, 'more configuration')})"] if n_hidden > 0 else []
        return "\n".join([head, *self._lines(), *more])

    def _lines(self) -> list[str]:
        """Return the table as text: a column for each parent, then one for each state of the child."""
        table = self.table[:_SHOWN_ROWS, :_SHOWN_STATES]
        if self.configurations is None:
            codes = configuration_codes(np.arange(len(table)), self._n_parent_states)
        else:
            codes = self.configurations[:_SHOWN_ROWS]
        states = [_state_text(s) for s in (self.child.states or ())[:_SHOWN_STATES]]
        cut = ["…"] if self.child.n_states > _SHOWN_STATES else []
        lines = []
        for row, counts in zip(codes, table, strict=True):
            heads = [_state_text((p.states or ())[c]) for p, c in zip(self.parents, row, strict=True)]
            lines.append(heads + [number_text(n) for n in counts.tolist()] + cut)
        return grid_lines([p.name for p in self.parents] + states + cut, lines, left=range(len(self.parents)))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """How often each state of one variable goes with each state of another, for all pairs.

    The tables stand in one matrix: ``matrix[first[a] + i, first[b] + j]`` is the number of rows with state i of
    variable a and state j of variable b (each pair counts the rows that miss neither). With a ``given`` variable there
    is one such matrix for each of its states.

    Parameters
    ----------
    variables : tuple of Variable
        The variables counted.
    matrix : ndarray of shape (S, S) or (n_given, S, S)
        S is the number of states of all variables together.
    given : Variable, optional
        The variable within whose states the pairs were counted.

    Examples
    --------
    >>> import tunbridge as tb
    >>> pairs = tb.Counter(tb.datasets.play_tennis()).pairs()
    >>> pairs
    PairCounts of 5 variables: 10 pairs
    >>> pairs.table("humidity", "play").tolist()
    [[4, 3], [1, 6]]
    """

    variables: tuple[Variable, ...]
    matrix: np.ndarray
    given: Variable | None = None

    @cached_property
    def first(self) -> np.ndarray:
        """Where each variable's states begin; one entry more than variables."""
        return np.concatenate([[0], np.cumsum([v.n_states for v in self.variables])]).astype(np.intp)

    def table(self, a: str, b: str) -> np.ndarray:
        """Return the table of two variables, by name: states of ``a`` × states of ``b`` (one for each given state)."""
        i, j = self._position(a), self._position(b)
        return self.matrix[..., self.first[i] : self.first[i + 1], self.first[j] : self.first[j + 1]]

    def over(self, variables: Sequence[Variable], given: Variable | None = None) -> PairCounts:
        """Return the same counts over variables, in the same order, that have at least the states of ours.

        Examples
        --------
        >>> import tunbridge as tb
        >>> pairs = tb.Counter({"a": ["x", "y"], "b": ["u", "u"]}).pairs()
        >>> pairs.over([Variable("a", ["y", "x"]), Variable("b", ["u", "v"])]).table("a", "b").tolist()
        [[1, 0], [1, 0]]
        """
        wider = PairCounts(tuple(variables), self.matrix, given)
        at = np.concatenate(
            [
                first + np.array([new.code(s) for s in old.states or ()], np.intp)
                for first, old, new in zip(wider.first, self.variables, variables, strict=False)
            ]
        )
        size = int(wider.first[-1])
        if self.given is None or given is None:
            matrix = np.zeros((size, size), self.matrix.dtype)
            matrix[np.ix_(at, at)] = self.matrix
        else:
            within = np.array([given.code(s) for s in self.given.states or ()], np.intp)
            matrix = np.zeros((given.n_states, size, size), self.matrix.dtype)
            matrix[np.ix_(within, at, at)] = self.matrix
        return replace(wider, matrix=matrix)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {v.name: i for i, v in enumerate(self.variables)}

    def _position(self, name: str) -> int:
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            hint = did_you_mean(name, self._positions)
            raise DataError(f"the pair must be of variables that were counted; got {name!r}. {hint}") from None

    def __repr__(self) -> str:
        n = len(self.variables)
        within = f" within {self.given.name}" if self.given is not None else ""
        return f"PairCounts of {number_text(n, 'variable')}{within}: {number_text(n * (n - 1) // 2, 'pair')}"


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

    @classmethod
    def zeros(cls, n_states: Sequence[int], n_classes: int, dtype: DTypeLike) -> TripleCounts:
        """Return counts that are all zero."""
        counts = cls(tuple(n_states), n_classes, np.empty(0))
        size = sum(prod(counts.shape(*pair)) for pair in counts.start)
        return replace(counts, cells=np.zeros(size, dtype))

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
            at += prod(self.shape(f, g))
        return place

    def shape(self, f: int, g: int) -> tuple[int, int, int, int]:
        """Return the shape of the block of a pair."""
        return self.n_states[f], self.n_states[g], int(self.first[-1] - self.first[g + 1]), self.n_classes

    def flat(self, f: int, g: int) -> np.ndarray:
        """Return the block of a pair as one row of cells."""
        return self.cells[self.start[f, g] : self.start[f, g] + prod(self.shape(f, g))]

    def block(self, f: int, g: int) -> np.ndarray:
        """Return the block of a pair: states of f × of g × of the features after g × classes."""
        return self.flat(f, g).reshape(self.shape(f, g))

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
                pieces = row_pieces(self.n_states[f], max(1, _PIECE_CELLS // n_cells))
                found += [(f, g, slice(a, b)) for a, b in pieces]
        return found


def number_text(number: float, unit: str = "") -> str:
    """Return a count as text, integers in full; with a unit in the singular or plural.

    Examples
    --------
    >>> number_text(1_500_000), number_text(0.25), number_text(1, "row"), number_text(14.0, "row")
    ('1500000', '0.25', '1 row', '14 rows')
    """
    text = str(int(number)) if float(number).is_integer() and abs(number) < _WHOLE else f"{number:.6g}"
    return text if not unit else f"{text} {unit}" if number == 1 else f"{text} {unit}s"


def _merge_sparse(a: Counts, b: Counts) -> Counts:
    codes = np.concatenate([np.asarray(a.configurations), np.asarray(b.configurations)])
    both, where = np.unique(codes, axis=0, return_inverse=True)
    table = np.zeros((len(both), a.child.n_states), np.result_type(a.table, b.table))
    np.add.at(table, where.ravel(), np.concatenate([a.table, b.table]))
    return replace(a, table=table, configurations=both)


def _title(counts: Counts) -> str:
    given = f" given {', '.join(p.name for p in counts.parents)}" if counts.parents else ""
    return counts.child.name + given


def _has_states(counts: Counts, variables: Sequence[Variable]) -> bool:
    return all(mine.states == v.states for mine, v in zip(counts.variables, variables, strict=True))


def _state_text(state: State) -> str:
    return shortened(str(state), _STATE_WIDTH)


# States of merged counts


def merge_states(a: Variable, b: Variable) -> Variable:
    """Return the variable with the states of both, those of the first one first.

    Its order means something only where both orders do and they tell how the new states follow. Bin edges are kept,
    with their intervals in order: nothing can be added to them, so the others' states must be among them.

    Examples
    --------
    >>> merge_states(Variable("Wind", ["strong", "weak"]), Variable("Wind", ["none", "weak"]))
    Variable('Wind', ['strong', 'weak', 'none'])
    """
    if a.is_continuous != b.is_continuous:
        raise DataError(
            f"{a.name!r} must be of one kind in both; it is categorical in one and continuous in the other."
        )
    if a.cuts is not None or b.cuts is not None:
        return _merge_intervals(a, b)
    if a.states == b.states or not b.states:
        return a
    if not a.states:
        return b
    new = _new_states(a, b)
    return Variable(a.name, [*a.states, *new], ordered=a.ordered and b.ordered and _continues(a, b, new))


def _merge_intervals(a: Variable, b: Variable) -> Variable:
    """Return the one of two variables that has bin edges, if the other has the same ones or only labels of it."""
    cut, other = (b, a) if a.cuts is None else (a, b)
    if other.cuts not in (None, cut.cuts):
        rule = f"{a.name!r} must be cut at the same points in both"
        raise DataError(f"{rule}; got {listed(cut.cuts or ())} and {listed(other.cuts or ())}. Discretise both alike.")
    known = set(cut.states or ())
    new = [state for state in other.states or () if state not in known]
    if new:
        rule = f"{a.name!r} has bins, so its states must be bins in both"
        raise DataError(f"{rule}; got {listed(new)}. Discretise both at the same bin edges.")
    return cut


def _new_states(a: Variable, b: Variable) -> list[State]:
    """Return the states of b that are none of a's; of several that read like one of a's only the first is that one."""
    known = set(a.states or ())
    taken = {a.find(state) for state in b.states or () if state in known}
    new: list[State] = []
    for state in b.states or ():
        code = a.find(state)
        if state not in known and (code == MISSING or code in taken):
            new.append(state)
        taken.add(code)
    return new


def _continues(a: Variable, b: Variable, new: list[State]) -> bool:
    """Whether b's states are in a's order, and its new ones follow the last of a's."""
    n_known = b.n_states - len(new)
    codes = [a.find(state) for state in (b.states or ())[:n_known]]
    if MISSING in codes or codes != sorted(codes):
        return False
    return not new or (bool(codes) and codes[-1] == a.n_states - 1)
