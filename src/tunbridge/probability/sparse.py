"""The sparse conditional probability table: the rows that were seen, and one row for all others.

Five parents of twenty states have 3.2 million configurations; ten thousand rows of data can show ten thousand of them.
Only these are kept: their configuration numbers, sorted, and a row of probabilities each. A row is found by bisection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import counted, shortened
from tunbridge.counts.configurations import configuration_codes
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import (
    SHOWN_ROWS,
    ConditionalTable,
    checked_codes,
    checked_counts,
    checked_family,
    checked_rows,
    condition_text,
    labelled,
    numbers_of,
)
from tunbridge.probability.cpt import CPT
from tunbridge.probability.floats import as_floats, locked
from tunbridge.probability.reading import configuration_of, read_row

_MOST = 2**62


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class SparseCPT(ConditionalTable):
    """A conditional probability table that stores some rows, and one row for all other configurations.

    Parameters
    ----------
    variable : Variable
        Whose probabilities they are.
    parents : sequence of Variable
        What they depend on; at most 2^62 configurations.
    rows : mapping of tuple of parent states to row
        A row is a list of probabilities in the order of the states, or a mapping from state to probability. The key
        for a single parent may be its bare state.
    default : row, optional
        The row of all other configurations; uniform unless given.
    counts : array-like of shape (n_rows, n_states), optional
        The Dirichlet counts behind the rows, in the order in which ``rows`` gives them.

    Attributes
    ----------
    configurations : ndarray of int64
        The numbers of the stored configurations, sorted.
    probabilities : ndarray of shape (n_rows, n_states)
        Their rows.
    default : ndarray of shape (n_states,)
        The row of the others.

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
        self, variable: Variable, parents: Any, rows: Mapping[Any, Any], default: Any = None, *, counts: Any = None
    ) -> None:
        family = checked_family(variable, parents)
        if not isinstance(rows, Mapping):
            hint = "SparseCPT.from_codes takes arrays."
            raise DataError(f"rows must map parent states to rows; got {shortened(repr(rows))}. {hint}")
        codes = np.array([configuration_of(variable, family, key) for key in rows], np.int64)
        values = [read_row(variable, family, row, key) for row, key in zip(rows.values(), codes.tolist(), strict=True)]
        array = np.array(values, np.float64).reshape(-1, variable.n_states)
        numbered = codes.reshape(len(rows), len(family))
        self._fill(variable, family, numbered, array, default=default, counts=counts)

    @classmethod
    def from_codes(
        cls, variable: Variable, parents: Any, codes: Any, rows: Any, *, default: Any = None, counts: Any = None
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
    def _trusted(
        cls,
        variable: Variable,
        parents: tuple[Variable, ...],
        configurations: np.ndarray,
        probabilities: np.ndarray,
        default: np.ndarray,
        counts: np.ndarray | None = None,
    ) -> SparseCPT:
        """Return the table of sorted configuration numbers and rows that need no check; they are locked, not copied."""
        self = object.__new__(cls)
        self.__dict__.update(variable=variable, parents=parents, counts=None if counts is None else locked(counts))
        self.__dict__.update(configurations=locked(configurations), probabilities=locked(probabilities))
        self.__dict__.update(default=locked(default))
        return self

    def _fill(
        self,
        variable: Variable,
        parents: tuple[Variable, ...],
        codes: np.ndarray,
        rows: np.ndarray,
        *,
        default: Any,
        counts: Any,
    ) -> None:
        self.__dict__.update(variable=variable, parents=parents)
        numbers, order = self._sorted(codes)
        kept = None if counts is None else locked(checked_counts(variable, counts, rows.shape)[order])
        array = checked_rows(variable, parents, np.ascontiguousarray(rows[order]), numbers)
        self.__dict__.update(configurations=locked(numbers), probabilities=locked(array), counts=kept)
        self.__dict__.update(default=locked(_default_row(variable, default)))

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
        """How many rows are stored."""
        return len(self.configurations)

    @property
    def n_parameters(self) -> int:
        """How many of the stored probabilities are free, the default row's among them where it is in use."""
        n_used = self.n_rows + (self.n_rows < self.n_configurations)
        return n_used * (self.variable.n_states - 1)

    @property
    def n_bytes(self) -> int:
        """How much memory the arrays take."""
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
        """Return where the rows of these configuration numbers are stored; −1 where the default row applies."""
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
            return SparseCPT._trusted(self.variable, parents, numbers, rows, self.default, counts)
        if len(rows):
            kept = None if counts is None else counts[0].copy()
            return CPT._trusted(self.variable, (), rows[0].copy(), kept)
        return CPT._trusted(self.variable, (), self.default)

    def _values(self) -> tuple[np.ndarray, ...]:
        return self.probabilities, self.configurations, self.default

    # For people

    def _size(self) -> str:
        return f"{self.n_rows} of {counted(self.n_configurations, 'row')}"

    def _shown(self) -> tuple[list[list[object]], int]:
        n = min(self.n_rows, SHOWN_ROWS)
        codes = configuration_codes(self.configurations[:n], self.shape[:-1])
        others = [[*("…" for _ in self.parents), *self.default.tolist()]] if self.n_rows < self.n_configurations else []
        return labelled(self.parents, codes, self.probabilities[:n]) + others, self.n_rows - n


def _default_row(variable: Variable, default: Any) -> np.ndarray:
    if default is None:
        return np.full(variable.n_states, 1.0 / variable.n_states)
    try:
        row = np.array([read_row(variable, (), default, ())], np.float64)
        return checked_rows(variable, (), row)[0].copy()
    except DataError as error:
        raise DataError(f"the default row: {error}") from None
