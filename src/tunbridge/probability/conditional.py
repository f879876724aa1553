"""What every conditional probability table has: a variable, its parents, and a row of probabilities for each
configuration of the parents' states.

A configuration has a number, counted with the last parent fastest, so that configuration j is row j of the dense table
seen as a matrix,

    P(X = k | configuration j) = table.reshape(−1, n_states)[j, k].

How the rows are kept is what the kinds of tables differ in: all of them (:class:`CPT`), those that were seen and one
for the others (:class:`SparseCPT`), or a rule that makes them (:class:`NoisyMaxCPT`).
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tunbridge._check import counted, did_you_mean, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.counts.configurations import configuration_codes, configuration_numbers
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.distribution import Distribution
from tunbridge.probability.floats import TOLERANCE, as_floats, locked
from tunbridge.probability.grid import html_grid, text_grid

_EPS = float(np.finfo(np.float64).eps)
SHOWN_ROWS = 20
_WAYS_OUT = "Ask for single rows with rows(codes), or fix some parents with reduced()."


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ConditionalTable(ABC):
    """The distribution of a variable for each configuration of its parents: what all kinds of tables share.

    Attributes
    ----------
    variable : Variable
        Whose probabilities they are.
    parents : tuple of Variable
        What they depend on.
    counts : ndarray or None
        The Dirichlet counts behind the stored rows, of the same shape as these, where the table was learned.

    Notes
    -----
    Two tables are equal when they are of one kind, about the same variables, and hold the same probabilities. What
    they were learned from is not compared: tables with other counts, or without, are equal.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    counts: np.ndarray | None

    # Sizes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the dense table: the numbers of states of the parents, then of the variable."""
        return (*(p.n_states for p in self.parents), self.variable.n_states)

    @property
    def n_configurations(self) -> int:
        """How many configurations the parents have; any whole number, however large."""
        return math.prod(p.n_states for p in self.parents)

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many of the stored probabilities are free."""

    # Rows

    @abstractmethod
    def _table(self) -> np.ndarray: ...

    @abstractmethod
    def _rows(self, codes: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _reduced(self, fixed: dict[int, int]) -> ConditionalTable: ...

    @abstractmethod
    def _values(self) -> tuple[np.ndarray, ...]: ...

    def table(self) -> np.ndarray:
        """Return all rows as a read-only array of shape ``shape``; raise before it would not fit into memory."""
        n_bytes = 8 * self.n_configurations * self.variable.n_states
        check_memory(f"the dense table of {self.variable.name!r}", n_bytes, ways_out=_WAYS_OUT)
        check_n_axes(self.variable, self.parents)
        return locked(self._table())

    def rows(self, codes: Any) -> np.ndarray:
        """Return the row for each configuration.

        Parameters
        ----------
        codes : array-like of int, shape (n, n_parents)
            The codes of the parents' states.

        Returns
        -------
        ndarray of shape (n, n_states)
        """
        return self._rows(checked_codes(self.variable, self.parents, codes))

    def distribution(self, given: Mapping[str, object] | None = None) -> Distribution:
        """Return the distribution of the variable for one configuration of its parents.

        Parameters
        ----------
        given : mapping of parent name to state
            Every parent must be there; without parents leave it out.
        """
        codes = self._configuration(given or {})
        row = self._rows(np.array([codes], np.int64).reshape(1, -1))[0].copy()  # no view of what could be written to
        return Distribution._trusted((self.variable,), row)

    def reduced(self, codes: Mapping[str, int]) -> ConditionalTable:
        """Return the table in which the named parents are fixed at these codes and are parents no more."""
        fixed = self._fixed(codes)
        return self._reduced(fixed) if fixed else self

    def with_counts(self, counts: Any) -> Self:
        """Return the same table with other Dirichlet counts behind its stored rows, or with none (``None``)."""
        checked = None if counts is None else self._checked_counts(counts)
        return _replaced(self, counts=checked)

    def _checked_counts(self, counts: Any) -> np.ndarray:
        return checked_counts(self.variable, counts, self._values()[0].shape)

    # By name

    def _configuration(self, given: Mapping[str, object]) -> list[Any]:
        names = [p.name for p in self.parents]
        self._check_names("given", given, names)
        absent = [name for name in names if name not in given]
        if absent:
            are = "is" if len(absent) == 1 else "are"
            raise DataError(
                f"given must name every parent of {self.variable.name!r}; {listed(absent)} {are} not there."
            )
        return [self._value_of(p, given[p.name]) for p in self.parents]

    def _value_of(self, parent: Variable, given: object) -> Any:
        return parent.code(given)

    def _fixed(self, codes: Mapping[str, int]) -> dict[int, int]:
        """Return the position and the code of each fixed parent."""
        names = [p.name for p in self.parents]
        self._check_names("codes", codes, names)
        return {names.index(name): _as_code(self.parents[names.index(name)], code) for name, code in codes.items()}

    def _check_names(self, what: str, given: object, names: Sequence[str]) -> None:
        if not isinstance(given, Mapping):
            raise DataError(f"{what} must be a mapping by parent; got {shortened(repr(given))}.")
        for name in given:
            if name not in names:
                hint = did_you_mean(name, names) if names else "It has no parents."
                raise DataError(f"{what} must name parents of {self.variable.name!r}; got {name!r}. {hint}")

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalTable):
            return NotImplemented
        if type(self) is not type(other) or (self.variable, self.parents) != (other.variable, other.parents):
            return False
        return all(map(np.array_equal, self._values(), other._values()))

    __hash__ = None  # type: ignore[assignment]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():  # pickling forgets that arrays are read-only
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    locked(array)
        self.__dict__.update(state)

    # For people

    def _size(self) -> str:
        return counted(self.n_configurations, "row")

    def _shown(self) -> tuple[list[list[object]], int]:
        """Return the first rows, each behind its parents' states, and how many more there are."""
        n = min(self.n_configurations, SHOWN_ROWS)
        codes = configuration_codes(np.arange(n), self.shape[:-1])
        return labelled(self.parents, codes, self._rows(codes)), self.n_configurations - n

    def _title(self) -> str:
        given = ", ".join(p.name for p in self.parents)
        return f"{self.variable.name} given {given}" if given else self.variable.name

    def _header(self) -> list[object]:
        return [*(p.name for p in self.parents), *(self.variable.states or ())]

    def __repr__(self) -> str:
        parents = f" | {listed(p.name for p in self.parents)}" if self.parents else ""
        size = f"{self._size()} of {counted(self.variable.n_states, 'state')}"
        return f"{type(self).__name__}({self.variable.name!r}{parents}: {size})"

    def __str__(self) -> str:
        rows, n_more = self._shown()
        more = f"\n… and {counted(n_more, 'more row')}" if n_more else ""
        return f"{self._title()}\n{text_grid(self._header(), rows)}{more}"

    def _repr_html_(self) -> str:
        rows, n_more = self._shown()
        more = f" (the first {len(rows)} of {counted(len(rows) + n_more, 'row')})" if n_more else ""
        return html_grid(self._header(), rows, caption=self._title() + more)


# Checks


def checked_family(variable: Any, parents: Any) -> tuple[Variable, ...]:
    """Return the parents as a tuple; raise unless all are distinct categorical variables that have states."""
    family = (*parents_tuple(parents), variable)
    for v in family:
        if not isinstance(v, Variable):
            raise DataError(f"variable and parents must be Variables; got {shortened(repr(v))}.")
        if not v.states:
            state = "it is continuous" if v.states is None else "it has none"
            hint = "" if v.states is not None else _about_numbers(v, variable)
            raise DataError(f"the variables of a conditional table must have states; {v.name!r}: {state}.{hint}")
    if len({v.name for v in family}) < len(family):
        names = [v.name for v in family]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the variable and its parents must have distinct names; got {twice!r} more than once.")
    return family[:-1]


def _about_numbers(v: Variable, variable: Any) -> str:
    """Return what to do where a continuous variable stands in the family of a categorical one."""
    if v is variable:
        return " The table of a continuous variable is a LinearGaussian."
    return (
        f" Exact answers need categories that do not depend on numbers: turn the arc round, so that {v.name!r} depends "
        f"on {getattr(variable, 'name', variable)!r}, or discretise {v.name!r}."
    )


def checked_rows(
    variable: Variable,
    parents: Sequence[Variable],
    rows: np.ndarray,
    numbers: np.ndarray | None = None,
    *,
    advice: bool = True,
) -> np.ndarray:
    """Return rows that are distributions, rescaled in place where rounding shows; raise an error that names the row.

    Rows whose sum differs from one by no more than the rounding of the sum itself stay as they are, so that a table
    that was written and read again is the same.

    Parameters
    ----------
    variable, parents : Variable, sequence of Variable
        For the message.
    rows : ndarray of shape (n, n_states)
        It must be the caller's own: it is changed.
    numbers : ndarray, optional
        The configuration of each row, where it is not its index.
    advice : bool
        Whether the message may say what to do with the array, which is of no use to the reader of a file.
    """
    if not rows.size:
        return rows
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduce(rows, axis=1)
        off = np.abs(totals - 1.0)
    worst = off.max()
    if not (worst <= TOLERANCE and rows.min() >= 0.0):  # a NaN makes either comparison false
        raise _row_error(variable, parents, rows, numbers, advice)
    if worst > rows.shape[1] * _EPS:
        inexact = off > rows.shape[1] * _EPS
        rows[inexact] /= totals[inexact, None]
    return rows


def wrong_rows(rows: np.ndarray) -> np.ndarray:
    """Return which rows are no distributions."""
    with np.errstate(invalid="ignore", over="ignore"):
        return ~((rows >= 0.0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= TOLERANCE))


def checked_counts(variable: Variable, counts: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return Dirichlet counts as a read-only array of this shape; raise unless they are finite and ≥ 0."""
    array = as_floats(f"the counts of {variable.name!r}", counts)
    if array.shape != shape and array.shape != (math.prod(shape[:-1]), shape[-1]):
        rule = f"the shape of the stored rows, {shape}"
        raise DataError(f"the counts of {variable.name!r} must have {rule}; got {array.shape}.")
    if array.size and not 0.0 <= array.min() <= array.max() < np.inf:
        bad = array[~(np.isfinite(array) & (array >= 0.0))][0]
        raise DataError(f"the counts of {variable.name!r} must be finite and at least 0; got {bad:g}.")
    return locked(array.reshape(shape))


def checked_codes(variable: Variable, parents: Sequence[Variable], codes: Any) -> np.ndarray:
    """Return codes as an integer array with one column for each parent; raise for codes that no state has."""
    array = np.asarray(codes)
    what = f"the codes of the parents of {variable.name!r}"
    if array.ndim != 2 or array.shape[1] != len(parents):
        raise DataError(f"{what} must have the shape (n, {len(parents)}); got {array.shape}.")
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(f"{what} must be whole numbers; got {array.dtype}. Variable.code(state) gives them.")
    if not array.size:
        return array.astype(np.int64)
    outside = (array.min(axis=0) < 0) | (array.max(axis=0) >= [p.n_states for p in parents])
    if outside.any():
        i = int(outside.argmax())
        bad = array[(array[:, i] < 0) | (array[:, i] >= parents[i].n_states), i][0]
        raise DataError(
            f"the codes of {parents[i].name!r} must be from 0 to {parents[i].n_states - 1}; got {bad}. "
            "A row of the table needs every parent to be known."
        )
    return array.astype(np.int64, copy=False)  # arithmetic on uint64 would give floats, on int8 overflow


def check_n_axes(variable: Variable, parents: Sequence[Variable]) -> None:
    """Raise when a dense array would have more axes than NumPy can count."""
    if len(parents) > 63:
        hint = "SparseCPT and NoisyMaxCPT take any number."
        raise DataError(f"a dense table must have at most 63 parents; {variable.name!r} has {len(parents)}. {hint}")


# Texts


def condition_text(parents: Sequence[Variable], number: int) -> str:
    """Return a configuration in words, with a leading space; nothing without parents.

    Examples
    --------
    >>> condition_text([Variable("Burglary", ["no", "yes"]), Variable("Earthquake", ["no", "yes"])], 2)
    " given Burglary='yes', Earthquake='no'"
    """
    found: list[str] = []
    for parent in reversed(parents):
        number, code = divmod(number, parent.n_states)
        found.append(f"{parent.name}={(parent.states or ())[code]!r}")
    return f" given {', '.join(reversed(found))}" if found else ""


def labelled(parents: Sequence[Variable], codes: np.ndarray, rows: np.ndarray) -> list[list[object]]:
    """Return rows for a grid: the parents' states, then the probabilities."""
    return [
        [*((p.states or ())[c] for p, c in zip(parents, line, strict=True)), *row.tolist()]
        for line, row in zip(codes.tolist(), rows, strict=True)
    ]


# Arrays


def numbers_of(parents: Sequence[Variable], codes: np.ndarray) -> np.ndarray:
    """Return the numbers of configurations."""
    return configuration_numbers(codes, [p.n_states for p in parents])


def _replaced(table: Any, **fields: Any) -> Any:
    other = object.__new__(type(table))
    other.__dict__.update(table.__dict__, **fields)
    return other


def parents_tuple(parents: Any) -> tuple[Any, ...]:
    """Return parents as a tuple: a single one, or several."""
    if isinstance(parents, Variable):
        return (parents,)
    if isinstance(parents, str) or not isinstance(parents, Iterable):
        raise DataError(f"parents must be a list of Variables; got {shortened(repr(parents))}.")
    return tuple(parents)


def _as_code(parent: Variable, code: Any) -> int:
    try:
        number = operator.index(code)
    except TypeError:
        number = -1
    if not 0 <= number < parent.n_states:
        rule = f"a code from 0 to {parent.n_states - 1}"
        raise DataError(f"the code of {parent.name!r} must be {rule}; got {shortened(repr(code))}.")
    return number


def _row_error(
    variable: Variable, parents: Sequence[Variable], rows: np.ndarray, numbers: np.ndarray | None, advice: bool
) -> DataError:
    """Return the error about the first row that is no distribution."""
    invalid, wrong = ~(np.isfinite(rows) & (rows >= 0.0)), wrong_rows(rows)
    j = int(wrong.argmax())
    condition = condition_text(parents, j if numbers is None else int(numbers[j]))
    if invalid[j].any():
        k = int(invalid[j].argmax())
        state, rule = (variable.states or ())[k], "finite" if not np.isfinite(rows[j, k]) else "at least 0"
        return DataError(
            f"the probability of {variable.name}={state!r}{condition} must be {rule}; got {rows[j, k]:.10g}."
        )
    with np.errstate(invalid="ignore", over="ignore"):
        total, hint = float(rows[j].sum()), _advice(rows) if advice else _looks(rows)
    if not hint:
        others = f" {wrong.sum()} of {len(rows)} rows are wrong." if wrong.sum() > 1 else ""
        hint = f"A row gives the probabilities of {listed(variable.states or ())}, in this order.{others}"
    return DataError(f"the probabilities of {variable.name!r}{condition} must sum to 1; got {total:.10g}. {hint}")


def _looks(rows: np.ndarray) -> str:
    """Return what rows that are no distributions look like."""
    return "They look like percentages." if np.all(np.abs(rows.sum(axis=1) - 100.0) < 0.1) else ""


def _advice(rows: np.ndarray) -> str:
    """Return what to do with an array whose mistake is a usual one."""
    if looks := _looks(rows):
        return f"{looks.rstrip('.')}: divide them by 100."
    if len(rows) == rows.shape[1] and np.all(np.abs(rows.sum(axis=0) - 1.0) <= TOLERANCE):
        return "The columns sum to 1: give the transpose, one row for each configuration of the parents."
    return ""
