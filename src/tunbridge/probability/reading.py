"""Numbers, rows and configurations as people give them, checked once.

Rows are lists or mappings of probabilities; states go by name. A configuration of the parents has a number, counted
with the last parent fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import did_you_mean, listed, repeated, shortened
from tunbridge.counts.radix import configuration_numbers
from tunbridge.data import Variable
from tunbridge.errors import DataError

Parents = Variable | Iterable[Variable]
"""One parent or several."""

Row = Sequence[float] | np.ndarray | Mapping[Any, float]
"""Probabilities in the order of the states, or by state."""

TOLERANCE = 1.001e-6
"""The tolerance of a sum of probabilities: 1e-6, and a little more for 0.333333 three times."""

_EPS = float(np.finfo(np.float64).eps)
_HINT = "Give a list in the order of the states, or a mapping from state to probability."


# Numbers


def as_floats(what: str, values: object) -> np.ndarray:
    """Return a new C-ordered array of floats; masked values become NaN, which later checks refuse."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(object), np.nan)
        array = np.asarray(values)
        if array.dtype.kind != "c" and not (array.dtype.kind == "O" and any(map(_is_complex, array.flat))):
            return np.array(array, np.float64, order="C")
    except OverflowError:
        raise DataError(f"{what} must fit into 64-bit floats; got a number that is too large.") from None
    except (TypeError, ValueError):
        pass
    raise DataError(f"{what} must be an array of numbers; got {shortened(repr(values))}.")


def as_float(what: str, value: SupportsFloat | SupportsIndex | str) -> float:
    """Return one number as a float; raise if it is not a number, or too large."""
    try:
        if not _is_complex(value):
            return float(value)
    except OverflowError:
        raise DataError(f"{what} must fit into 64-bit floats; got a number that is too large.") from None
    except (TypeError, ValueError):
        pass
    raise DataError(f"{what} must be numbers; got {shortened(repr(value))}.")


def locked(array: np.ndarray) -> np.ndarray:
    """Return the array, made read-only together with the array that it is a view of."""
    array.setflags(write=False)
    if isinstance(array.base, np.ndarray):
        array.base.setflags(write=False)
    return array


def _is_complex(value: object) -> bool:
    return isinstance(value, complex | np.complexfloating)  # NumPy would only warn and drop the imaginary part


# Families and configurations


def checked_family(variable: Variable, parents: Parents) -> tuple[Variable, ...]:
    """Return the parents as a tuple; raise unless all are distinct categorical variables with states."""
    family = distinct_variables(variable, parents)
    for v in family:
        if not v.states:
            state = "it is continuous" if v.states is None else "it has none"
            hint = "" if v.states is not None else _about_numbers(v, variable)
            raise DataError(f"the variables of a conditional table must have states; {v.name!r}: {state}.{hint}")
    return family[:-1]


def distinct_variables(variable: Variable, parents: Parents) -> tuple[Variable, ...]:
    """Return the parents and the variable; raise unless they are variables with distinct names."""
    if isinstance(parents, str) or not isinstance(parents, Variable | Iterable):
        raise DataError(f"parents must be a list of Variables; got {shortened(repr(parents))}.")
    family = (parents, variable) if isinstance(parents, Variable) else (*parents, variable)
    for v in family:
        if not isinstance(v, Variable):
            raise DataError(f"variable and parents must be Variables; got {shortened(repr(v))}.")
    if twice := repeated(v.name for v in family):
        raise DataError(f"the variable and its parents must have distinct names; got {twice[0]!r} more than once.")
    return family


def _about_numbers(v: Variable, variable: Variable) -> str:
    """Return the hint about a continuous variable in the family of a categorical one."""
    if v is variable:
        return " The table of a continuous variable is a LinearGaussian."
    return (
        f" Exact inference needs categories that do not depend on numbers: reverse the arc, so that {v.name!r} depends "
        f"on {variable.name!r}, or discretise {v.name!r}."
    )


def checked_codes(variable: Variable, parents: Sequence[Variable], codes: ArrayLike) -> np.ndarray:
    """Return codes as an integer array with one column for each parent; raise for codes without a state."""
    array = np.asarray(codes)
    what = f"the codes of the parents of {variable.name!r}"
    if array.ndim != 2 or array.shape[1] != len(parents):
        raise DataError(f"{what} must have the shape (n, {len(parents)}); got {array.shape}.")
    if array.dtype.kind not in "iu" and array.size:
        raise DataError(f"{what} must be integers; got {array.dtype}. Variable.code(state) gives them.")
    if not array.size:
        return array.astype(np.int64)
    outside = (array.min(axis=0) < 0) | (array.max(axis=0) >= [p.n_states for p in parents])
    if outside.any():
        i = int(outside.argmax())
        bad = array[(array[:, i] < 0) | (array[:, i] >= parents[i].n_states), i][0]
        raise DataError(
            f"the codes of {parents[i].name!r} must be from 0 to {parents[i].n_states - 1}; got {bad}. "
            "Every parent must be known."
        )
    return array.astype(np.int64, copy=False)  # arithmetic on uint64 would give floats, on int8 overflow


def check_n_axes(variable: Variable, parents: Sequence[Variable]) -> None:
    """Raise if a dense array would have more axes than NumPy allows."""
    if len(parents) > 63:
        hint = "SparseCPT and NoisyMaxCPT have no such limit."
        raise DataError(f"a dense table must have at most 63 parents; {variable.name!r} has {len(parents)}. {hint}")


def numbers_of(parents: Sequence[Variable], codes: np.ndarray) -> np.ndarray:
    """Return the numbers of configurations."""
    return configuration_numbers(codes, [p.n_states for p in parents])


def condition_text(parents: Sequence[Variable], number: int) -> str:
    """Return a configuration in words, with a leading space; an empty string without parents.

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


# Rows


def checked_rows(
    variable: Variable,
    parents: Sequence[Variable],
    rows: np.ndarray,
    numbers: np.ndarray | None = None,
    *,
    advice: bool = True,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return rows that are distributions, rescaled in place; raise an error that names the first wrong row.

    Rows whose sum differs from one by no more than the rounding of the sum itself do not change, so a table that was
    written and read again is the same.

    Parameters
    ----------
    variable, parents : Variable, sequence of Variable
        The family, for the error message.
    rows : ndarray of shape (n, n_states)
        Changed in place.
    numbers : ndarray, optional
        The configuration of each row; default: its index.
    advice : bool
        Whether the message may give hints about the array, which do not help the reader of a file.
    tolerance : float
        The tolerance of the sum of a row.
    """
    if not rows.size:
        return rows
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduce(rows, axis=1)
        off = np.abs(totals - 1.0)
    worst = off.max()
    if not (worst <= tolerance and rows.min() >= 0.0):  # NaN makes a comparison false
        raise _row_error(variable, parents, rows, numbers, advice, tolerance)
    if worst > rows.shape[1] * _EPS:
        inexact = off > rows.shape[1] * _EPS
        rows[inexact] /= totals[inexact, None]
    return rows


def wrong_rows(rows: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Return which rows are not distributions."""
    with np.errstate(invalid="ignore", over="ignore"):
        return ~((rows >= 0.0).all(axis=1) & (np.abs(rows.sum(axis=1) - 1.0) <= tolerance))


def checked_counts(variable: Variable, counts: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return Dirichlet counts as a read-only array of this shape; raise unless they are finite and ≥ 0."""
    array = as_floats(f"the counts of {variable.name!r}", counts)
    if array.shape != shape and array.shape != (math.prod(shape[:-1]), shape[-1]):
        rule = f"the shape of the stored rows, {shape}"
        raise DataError(f"the counts of {variable.name!r} must have {rule}; got {array.shape}.")
    if array.size and not 0.0 <= array.min() <= array.max() < np.inf:
        bad = array[~(np.isfinite(array) & (array >= 0.0))][0]
        raise DataError(f"the counts of {variable.name!r} must be finite and at least 0; got {bad:g}.")
    return locked(array.reshape(shape))


def _row_error(
    variable: Variable,
    parents: Sequence[Variable],
    rows: np.ndarray,
    numbers: np.ndarray | None,
    advice: bool,
    tolerance: float,
) -> DataError:
    """Return the error about the first row that is not a distribution."""
    invalid, wrong = ~(np.isfinite(rows) & (rows >= 0.0)), wrong_rows(rows, tolerance)
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
    """Return what rows that are not distributions look like."""
    return "They look like percentages." if np.all(np.abs(rows.sum(axis=1) - 100.0) < 0.1) else ""


def _advice(rows: np.ndarray) -> str:
    """Return the hint about an array with a common mistake."""
    if looks := _looks(rows):
        return f"{looks.rstrip('.')}: divide them by 100."
    if len(rows) == rows.shape[1] and np.all(np.abs(rows.sum(axis=0) - 1.0) <= TOLERANCE):
        return "The columns sum to 1: pass the transpose, one row for each configuration of the parents."
    return ""


# As people write them


def configuration_of(variable: Variable, parents: Sequence[Variable], key: object) -> tuple[int, ...]:
    """Return the codes of a configuration: a tuple of states, or the bare state of a single parent.

    Examples
    --------
    >>> sky = Variable("Sky", ["clear", "grey"])
    >>> configuration_of(Variable("Rain", ["no", "yes"]), [sky], "grey")
    (1,)
    """
    if len(parents) == 1 and (code := parents[0].find(key)) >= 0:
        return (code,)
    states = key if isinstance(key, tuple) else (key,)
    if len(states) != len(parents):
        names = listed(p.name for p in parents) or "none, an empty tuple"
        rule = f"must be a tuple with a state of each parent ({names})"
        raise DataError(f"a key of the rows of {variable.name!r} {rule}; got {key!r}.")
    return tuple(state_code(variable, parent, state) for parent, state in zip(parents, states, strict=True))


def state_code(variable: Variable, parent: Variable, state: object) -> int:
    """Return the code of a parent's state; raise an error that also names the variable."""
    code = parent.find(state)
    if code < 0:
        hint = did_you_mean(state, parent.states or ())
        raise DataError(
            f"the table of {variable.name!r} must name states of its parent {parent.name!r}; got {state!r}. {hint}"
        )
    return code


def read_row(variable: Variable, parents: Sequence[Variable], row: Row, codes: Sequence[int]) -> Sequence[float]:
    """Return a row as numbers in the order of the states; all rows together are checked to be distributions later."""
    if isinstance(row, Mapping):
        return _mapped_row(variable, parents, row, codes)
    if isinstance(row, str | bytes | Set) or not hasattr(row, "__len__") or getattr(row, "ndim", 1) != 1:
        shown = shortened(repr(row))
        raise DataError(f"{_named(variable, parents, codes)} must be {variable.n_states} numbers; got {shown}. {_HINT}")
    if len(row) != variable.n_states:
        states = listed(variable.states or ())
        rule = f"must be {variable.n_states} numbers, for the states {states}"
        raise DataError(f"{_named(variable, parents, codes)} {rule}; got {len(row)}.")
    what = _named(variable, parents, codes)
    return [as_float(what, p) for p in row]


def checked_row(what: str, variable: Variable, row: Row) -> np.ndarray:
    """Return a row that is a distribution as a new array; an error begins with what it is."""
    try:
        return checked_rows(variable, (), np.array([read_row(variable, (), row, ())], np.float64))[0].copy()
    except DataError as error:
        raise DataError(f"{what}: {error}") from None


def _mapped_row(
    variable: Variable, parents: Sequence[Variable], row: Mapping[Any, Any], codes: Sequence[int]
) -> list[float]:
    """Return a row given by state; a missing state has probability 0 if the others sum to one."""
    found: dict[int, float] = {}
    for state, value in row.items():
        code = variable.find(state)
        if code < 0 or code in found:
            rule = "must name states" if code < 0 else "must name every state once"
            hint = did_you_mean(state, variable.states or ())
            raise DataError(f"{_named(variable, parents, codes)} {rule} of it; got {state!r}. {hint}")
        found[code] = as_float(_named(variable, parents, codes), value)
    check_absent(variable, parents, found, number_of(parents, codes))
    return [found.get(code, 0.0) for code in range(variable.n_states)]


def check_absent(variable: Variable, parents: Sequence[Variable], found: Mapping[int, float], number: int) -> None:
    """Raise if states have no probability in a configuration although the others do not sum to one."""
    absent = [s for code, s in enumerate(variable.states or ()) if code not in found]
    total = sum(found.values())
    if absent and not abs(total - 1.0) <= TOLERANCE:
        none = f"{listed(absent)} {'has' if len(absent) == 1 else 'have'} none"
        rule = f"must give every state a probability; {none}, and the others sum to {total:.10g}"
        raise DataError(f"the probabilities of {variable.name!r}{condition_text(parents, number)} {rule}.")


def number_of(parents: Sequence[Variable], codes: Sequence[int]) -> int:
    """Return the number of one configuration, an integer of any size.

    Examples
    --------
    >>> number_of([Variable("A", [0, 1]), Variable("B", [0, 1, 2])], [1, 2])
    5
    """
    number = 0
    for parent, code in zip(parents, codes, strict=True):
        number = number * parent.n_states + code
    return number


def _named(variable: Variable, parents: Sequence[Variable], codes: Sequence[int]) -> str:
    return f"the probabilities of {variable.name!r}{condition_text(parents, number_of(parents, codes))}"
