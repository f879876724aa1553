"""Conditional probability tables: dense, sparse, and deterministic ones.

A dense table (:class:`CPT`) stores a row for every configuration of the parents. Five parents of twenty states have 3.2
million configurations, of which ten thousand rows of data can show ten thousand: a sparse table (:class:`SparseCPT`)
stores only these, sorted by configuration number, and one row for all others. A row is found by bisection.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import counted, did_you_mean, shortened
from tunbridge._core.memory import check_memory
from tunbridge.counts.radix import configuration_codes
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import SHOWN_ROWS, ConditionalTable, labelled
from tunbridge.probability.reading import (
    Parents,
    Row,
    as_floats,
    check_n_axes,
    checked_codes,
    checked_counts,
    checked_family,
    checked_row,
    checked_rows,
    condition_text,
    configuration_of,
    locked,
    numbers_of,
    read_row,
)

_MOST = 2**62  # configurations, so that their numbers are 64-bit integers


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class CPT(ConditionalTable):
    """A conditional probability table with every row stored.

    Parameters
    ----------
    variable : Variable
        The variable.
    parents : sequence of Variable
        Its parents, in the order of the table's axes.
    table : array-like of shape ``shape`` or (n_configurations, n_states)
        P(variable | parents): an axis for each parent, then the variable's. Every row must be ≥ 0 and sum to one
        within 1e-6; it is then rescaled. :func:`as_cpt` accepts dicts and frames.
    counts : array-like, optional
        The Dirichlet counts behind the table, of the same shape.

    Examples
    --------
    >>> rain = Variable("Rain", ["no", "yes"])
    >>> wet = CPT(Variable("Wet", ["no", "yes"]), [rain], [[0.9, 0.1], [0.2, 0.8]])
    >>> wet
    CPT('Wet' | 'Rain': 2 rows of 2 states)
    >>> print(wet)
    Wet given Rain
    Rain  no   yes
    no    0.9  0.1
    yes   0.2  0.8
    >>> wet.distribution({"Rain": "yes"})["yes"]
    0.8
    """

    probabilities: np.ndarray

    def __init__(
        self,
        variable: Variable,
        parents: Parents = (),
        table: ArrayLike | None = None,
        *,
        counts: ArrayLike | None = None,
    ) -> None:
        family = checked_family(variable, parents)
        self._set_family(variable, family)
        array = _shaped(variable, family, table, self.shape)
        checked_rows(variable, family, array.reshape(-1, variable.n_states))
        kept = None if counts is None else checked_counts(variable, counts, self.shape)
        self.__dict__.update(counts=kept, probabilities=locked(array))

    @classmethod
    def of_valid(
        cls, variable: Variable, parents: tuple[Variable, ...], array: np.ndarray, counts: np.ndarray | None = None
    ) -> CPT:
        """Return the table of a valid array of the full shape, without checks; it is made read-only, not copied."""
        kept, shape = None if counts is None else locked(counts), array.shape
        self = object.__new__(cls)
        self.__dict__.update(
            variable=variable,
            parents=parents,
            shape=shape,
            n_configurations=array.size // shape[-1],
            counts=kept,
            probabilities=locked(array),
        )
        return self

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities: one less than the states in every row."""
        return self.n_configurations * (self.variable.n_states - 1)

    def table(self) -> np.ndarray:
        """Return the stored array, of shape ``shape`` and read-only."""
        return self.probabilities

    def _table(self) -> np.ndarray:
        return self.probabilities

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        return self.probabilities.reshape(-1, self.variable.n_states)[numbers_of(self.parents, codes)]

    def _reduced(self, fixed: dict[int, int]) -> CPT:
        index = tuple(fixed.get(i, slice(None)) for i in range(len(self.parents)))
        kept = tuple(p for i, p in enumerate(self.parents) if i not in fixed)
        counts = None if self.counts is None else np.array(self.counts[index], order="C")
        return CPT.of_valid(self.variable, kept, np.array(self.probabilities[index], order="C"), counts)

    def _values(self) -> tuple[np.ndarray, ...]:
        return (self.probabilities,)


def _shaped(
    variable: Variable, parents: tuple[Variable, ...], table: ArrayLike | None, shape: tuple[int, ...]
) -> np.ndarray:
    """Return the table as a new array of the full shape."""
    check_n_axes(variable, parents)
    what = f"the table of {variable.name!r}"
    if table is None or isinstance(table, Mapping) or hasattr(table, "columns"):
        shown = "nothing" if table is None else shortened(repr(table))
        raise DataError(f"{what} must be an array; got {shown}. as_cpt accepts dicts and frames.")
    array = as_floats(what, table)
    if array.shape != shape and array.shape != (math.prod(shape[:-1]), shape[-1]):
        raise _shape_error(variable, parents, array.shape, shape)
    return array.reshape(shape)


def _shape_error(
    variable: Variable, parents: tuple[Variable, ...], got: tuple[int, ...], shape: tuple[int, ...]
) -> DataError:
    axes = ", ".join(v.name for v in (*parents, variable))
    flat = (math.prod(shape[:-1]), shape[-1])
    also = f" or {flat}" if len(shape) > 2 else ""
    hint = f"The axes are {axes}."
    if got == flat[::-1]:
        hint = "It looks like the transpose; give one row for each configuration of the parents."
    return DataError(f"the table of {variable.name!r} must have the shape {shape}{also}; got {got}. {hint}")


# Sparse tables


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class SparseCPT(ConditionalTable):
    """A conditional probability table that stores some rows, and one default row for all other configurations.

    Parameters
    ----------
    variable : Variable
        The variable.
    parents : sequence of Variable
        Its parents, with at most 2^62 configurations.
    rows : mapping of tuple of parent states to row
        A row is a list of probabilities in the order of the states, or a mapping from state to probability. The key
        for a single parent may be its bare state.
    default : row, optional
        The row of all other configurations; default: uniform.
    counts : array-like of shape (n_rows, n_states), optional
        The Dirichlet counts behind the rows, in the order of ``rows``.

    Attributes
    ----------
    configurations : ndarray of int64
        The numbers of the stored configurations, sorted.
    probabilities : ndarray of shape (n_rows, n_states)
        Their rows.
    default : ndarray of shape (n_states,)
        The row of all others.

    Examples
    --------
    >>> town, month = Variable("Town", ["Bath", "York"]), Variable("Month", range(1, 13))
    >>> rain = SparseCPT(Variable("Rain", ["no", "yes"]), [town, month], {("York", 11): [0.4, 0.6]}, default=[0.7, 0.3])
    >>> rain
    SparseCPT('Rain' | 'Town', 'Month': 1 of 24 rows of 2 states)
    >>> rain.distribution({"Town": "York", "Month": 11})["yes"], rain.distribution({"Town": "Bath", "Month": 1})["yes"]
    (0.6, 0.3)
    """

    configurations: np.ndarray
    probabilities: np.ndarray
    default: np.ndarray

    def __init__(
        self,
        variable: Variable,
        parents: Parents,
        rows: Mapping[Any, Row],
        default: Row | None = None,
        *,
        counts: ArrayLike | None = None,
    ) -> None:
        family = checked_family(variable, parents)
        if not isinstance(rows, Mapping):
            hint = "SparseCPT.from_codes accepts arrays."
            raise DataError(f"rows must map parent states to rows; got {shortened(repr(rows))}. {hint}")
        codes = np.array([configuration_of(variable, family, key) for key in rows], np.int64)
        values = [read_row(variable, family, row, key) for row, key in zip(rows.values(), codes.tolist(), strict=True)]
        array = np.array(values, np.float64).reshape(-1, variable.n_states)
        numbered = codes.reshape(len(rows), len(family))
        self._fill(variable, family, numbered, array, default=default, counts=counts)

    @classmethod
    def from_codes(
        cls,
        variable: Variable,
        parents: Parents,
        codes: ArrayLike,
        rows: ArrayLike,
        *,
        default: Row | None = None,
        counts: ArrayLike | None = None,
    ) -> SparseCPT:
        """Return the table of rows whose configurations are given by codes.

        Parameters
        ----------
        variable, parents : Variable, sequence of Variable
            As for the class.
        codes : array-like of int, shape (n_rows, n_parents)
            The codes of the parents' states, every configuration at most once.
        rows : array-like of shape (n_rows, n_states)
            The probabilities.
        default, counts : row and array-like of shape (n_rows, n_states), optional
            As for the class.
        """
        family = checked_family(variable, parents)
        array, known = as_floats("rows", rows), checked_codes(variable, family, codes)
        if array.shape != (len(known), variable.n_states):
            raise DataError(f"rows must have the shape {(len(known), variable.n_states)}; got {array.shape}.")
        self = object.__new__(cls)
        self._fill(variable, family, known, array, default=default, counts=counts)
        return self

    @classmethod
    def of_valid(
        cls,
        variable: Variable,
        parents: tuple[Variable, ...],
        configurations: np.ndarray,
        probabilities: np.ndarray,
        default: np.ndarray,
        counts: np.ndarray | None = None,
    ) -> SparseCPT:
        """Return the table of valid rows with sorted configuration numbers, without checks or copies."""
        self = object.__new__(cls)
        kept = None if counts is None else locked(counts)
        self._set_family(variable, parents)
        self.__dict__.update(configurations=locked(configurations), probabilities=locked(probabilities), counts=kept)
        self.__dict__.update(default=locked(default))
        return self

    def _fill(
        self,
        variable: Variable,
        parents: tuple[Variable, ...],
        codes: np.ndarray,
        rows: np.ndarray,
        *,
        default: Row | None,
        counts: ArrayLike | None,
    ) -> None:
        self._set_family(variable, parents)
        numbers, order = self._sorted(codes)
        kept = None if counts is None else locked(checked_counts(variable, counts, rows.shape)[order])
        array = checked_rows(variable, parents, np.ascontiguousarray(rows[order]), numbers)
        self.__dict__.update(configurations=locked(numbers), probabilities=locked(array), counts=kept)
        uniform = np.full(variable.n_states, 1.0 / variable.n_states)
        row = uniform if default is None else checked_row("the default row", variable, default)
        self.__dict__.update(default=locked(row))

    def _sorted(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the configuration numbers, sorted, and the order that sorts them."""
        name = self.variable.name
        if self.n_configurations > _MOST:
            found = counted(self.n_configurations, "configuration")
            raise DataError(f"the parents of {name!r} must have at most 2^62 configurations; got {found}.")
        numbers = numbers_of(self.parents, codes)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        twice = np.flatnonzero(numbers[1:] == numbers[:-1])
        if twice.size:
            where = condition_text(self.parents, int(numbers[twice[0]]))
            raise DataError(f"every configuration must have one row; {name!r}{where} has more.")
        return numbers, order

    # Sizes

    @property
    def n_rows(self) -> int:
        """The number of stored rows."""
        return len(self.configurations)

    @property
    def n_parameters(self) -> int:
        """The number of free probabilities, including the default row's if it is used."""
        n_used = self.n_rows + (self.n_rows < self.n_configurations)
        return n_used * (self.variable.n_states - 1)

    @property
    def n_bytes(self) -> int:
        """The memory of the arrays in bytes."""
        counts = 0 if self.counts is None else self.counts.nbytes
        return self.configurations.nbytes + self.probabilities.nbytes + self.default.nbytes + counts

    def codes(self) -> np.ndarray:
        """Return the parents' codes of the stored rows, of shape (n_rows, n_parents)."""
        return configuration_codes(self.configurations, self.shape[:-1])

    # Rows

    def _table(self) -> np.ndarray:
        table = np.empty((self.n_configurations, self.variable.n_states))
        table[:] = self.default
        table[self.configurations] = self.probabilities
        return table.reshape(self.shape)

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        found = self.find(numbers_of(self.parents, codes))
        rows = self.probabilities[found] if self.n_rows else np.empty((len(found), self.variable.n_states))
        rows[found < 0] = self.default
        return rows

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """Return the positions of the rows of these configuration numbers; −1 where the default row applies."""
        if not self.n_rows:
            return np.full(len(numbers), -1)
        near = np.minimum(np.searchsorted(self.configurations, numbers), self.n_rows - 1)
        return np.where(self.configurations[near] == numbers, near, -1)

    def _reduced(self, fixed: dict[int, int]) -> ConditionalTable:
        codes = self.codes()
        match = np.ones(len(codes), bool)
        for i, code in fixed.items():
            match &= codes[:, i] == code
        free = [i for i in range(len(self.parents)) if i not in fixed]
        parents = tuple(self.parents[i] for i in free)
        numbers, rows = numbers_of(parents, codes[match][:, free]), self.probabilities[match]
        counts = None if self.counts is None else self.counts[match]
        if parents:
            return SparseCPT.of_valid(self.variable, parents, numbers, rows, self.default, counts)
        if len(rows):
            kept = None if counts is None else counts[0].copy()
            return CPT.of_valid(self.variable, (), rows[0].copy(), kept)
        return CPT.of_valid(self.variable, (), self.default)

    def _values(self) -> tuple[np.ndarray, ...]:
        return self.probabilities, self.configurations, self.default

    # Display

    def _size(self) -> str:
        return f"{self.n_rows} of {counted(self.n_configurations, 'row')}"

    def _shown(self) -> tuple[list[list[object]], int]:
        n = min(self.n_rows, SHOWN_ROWS)
        codes = configuration_codes(self.configurations[:n], self.shape[:-1])
        others = [[*("…" for _ in self.parents), *self.default.tolist()]] if self.n_rows < self.n_configurations else []
        return labelled(self.parents, codes, self.probabilities[:n]) + others, self.n_rows - n


# Deterministic tables


def deterministic(variable: Variable, parents: Parents, function: Callable[..., State]) -> CPT:
    """Return the table that gives probability one to the result of a function.

    Parameters
    ----------
    variable : Variable
        The variable whose state the function returns.
    parents : sequence of Variable
        The variables whose states it takes, as positional arguments in this order.
    function : callable
        Called once for every configuration.

    Returns
    -------
    CPT

    Examples
    --------
    >>> a, b = Variable("A", [0, 1]), Variable("B", [0, 1])
    >>> print(deterministic(Variable("Sum", [0, 1, 2]), [a, b], lambda a, b: a + b))
    Sum given A, B
    A  B  0  1  2
    0  0  1  0  0
    0  1  0  1  0
    1  0  0  1  0
    1  1  0  0  1
    """
    family = checked_family(variable, parents)
    check_n_axes(variable, family)
    shape = (*(p.n_states for p in family), variable.n_states)
    ways_out = "Use fewer parents or states; noisy_or and noisy_max need no dense table."
    check_memory(f"the deterministic table of {variable.name!r}", 8 * math.prod(shape), ways_out=ways_out)
    if not callable(function):
        raise DataError(f"function must be callable with the states of the parents; got {function!r}.")
    table = np.zeros((math.prod(shape[:-1]), variable.n_states))
    for j, key in enumerate(itertools.product(*(p.states or () for p in family))):
        state = function(*key)
        code = variable.find(state)
        if code < 0:
            where = condition_text(family, j)
            hint = "Does it always return a state?" if state is None else did_you_mean(state, variable.states or ())
            rule = f"the function of {variable.name!r}{where} must return one of its states"
            raise DataError(f"{rule}; got {state!r}. {hint}")
        table[j, code] = 1.0
    return CPT.of_valid(variable, family, table.reshape(shape))
