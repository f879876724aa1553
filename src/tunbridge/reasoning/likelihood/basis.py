"""Basis functions: what a hypothesis that is linear in its weights is made of.

A family of hypotheses that is linear in basis functions φ_1, …, φ_K has one weight for each of them,

    a(x) = Σ_k w_k φ_k(x),

and x enters through the φ only: a cubic in x is linear in the basis 1, x, x², x³. For n points the values φ_k(x_i) are
the design matrix Φ, a row for each point and a column for each weight, and a = Φ w. The basis is given as a degree,
as functions, or by :func:`linear`, which takes the columns of a table.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tunbridge._check import check_whole, counted, did_you_mean, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.data.frames import as_table
from tunbridge.data.table import Table
from tunbridge.errors import DataError
from tunbridge.probability.floats import as_floats

Function: TypeAlias = Callable[[Any], Any]

LARGEST = 1e150
"""How large a number may be; the squares of larger ones are too large for a float."""

_COPIES = 6  # of the design matrix, while a fit works


@dataclass(frozen=True, repr=False)
class Basis:
    """Named basis functions.

    Parameters
    ----------
    names : tuple of str
        A name for each function, and so for its weight.
    columns : callable
        From the points, an array of numbers or of rows, to the design matrix.
    n_inputs : int, optional
        How many numbers a point has; None where the functions take what they get.
    inputs : tuple of str
        What these numbers are called, where points may come as the columns of a table.

    Examples
    --------
    >>> basis = linear(["age", "bmi"])
    >>> basis
    Basis('1', 'age', 'bmi')
    >>> basis.design([[50, 24.5]]).tolist()
    [[1.0, 50.0, 24.5]]
    """

    names: tuple[str, ...]
    columns: Callable[[np.ndarray], np.ndarray]
    n_inputs: int | None = None
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise DataError("the basis must have at least one function; got none.")
        twice = [name for i, name in enumerate(self.names) if name in self.names[:i]]
        if twice:
            raise DataError(f"the names of basis functions must be distinct; got {twice[0]!r} more than once.")

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Basis({listed(self.names)})"

    def points(self, x: Any) -> np.ndarray:
        """Return x as an array of numbers, or of rows of numbers, that are finite and as long as they must be."""
        array = _from_columns(x, self.inputs) if self.inputs and _has_columns(x) else as_floats("x", x)
        array = array.reshape(1) if array.ndim == 0 else array
        if self.n_inputs == 1 and array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim > 2 or not self._fits(array):
            rule = "numbers" if self.n_inputs == 1 else f"rows of {self.n_inputs or 'several'} numbers"
            raise DataError(f"x must be {rule}; got an array of shape {array.shape}.{self._rows_hint(array)}")
        if not array.size:
            raise DataError("x must have at least one point; got none.")
        check_finite("x", array)
        return array

    def design(self, x: Any) -> np.ndarray:
        """Return the design matrix Φ: φ_k(x_i) in row i and column k."""
        points = self.points(x)
        size, ways_out = 8.0 * len(points) * len(self) * _COPIES, "Take fewer points or basis functions."
        check_memory(f"a design of {counted(len(points), 'point')} × {len(self)}", size, ways_out=ways_out)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            matrix = self.columns(points)
        wrong = ~(np.abs(matrix) <= LARGEST)
        if wrong.any():
            i, k = (int(at[0]) for at in np.nonzero(wrong))
            where = f"basis function {self.names[k]!r} at x = {shortened(str(points[i].tolist()))}"
            raise DataError(f"{where} must be a number up to {LARGEST:g} in size; got {matrix[i, k]:g}.")
        return matrix

    def vector(self, weights: Any) -> np.ndarray:
        """Return the weights, given by name or in the order of the functions, as an array."""
        if isinstance(weights, Mapping):
            weights = self._by_name("weights", weights)
        array = as_floats("weights", weights)
        if array.shape != (len(self),):
            rule = f"{counted(len(self), 'number')}, for {listed(self.names)}"
            raise DataError(f"weights must be {rule}; got an array of shape {array.shape}.")
        check_finite("weights", array)
        return array

    def _by_name(self, what: str, given: Mapping[Any, Any]) -> list[Any]:
        for name in given:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise DataError(f"{what} must name basis functions; got {shortened(repr(name))}. {hint}")
        absent = [name for name in self.names if name not in given]
        if absent:
            raise DataError(f"{what} must name every basis function; {absent[0]!r} has none.")
        return [given[name] for name in self.names]

    def _fits(self, array: np.ndarray) -> bool:
        return self.n_inputs is None or self.n_inputs == (1 if array.ndim == 1 else array.shape[1])

    def _rows_hint(self, array: np.ndarray) -> str:
        return " Write a single point as [[…]]." if array.ndim == 1 and array.size == self.n_inputs else ""


def linear(inputs: int | Sequence[str]) -> Basis:
    """Return the basis 1, x_1, …, x_d of rows of d numbers, or of the columns of a table that have these names.

    Examples
    --------
    >>> basis = linear(["age", "bmi"])
    >>> basis.design([[50, 24.5]]).tolist()
    [[1.0, 50.0, 24.5]]
    >>> basis.design({"bmi": [24.5, 31], "name": ["Ann", "Bob"], "age": [50, 61]}).tolist()
    [[1.0, 50.0, 24.5], [1.0, 61.0, 31.0]]
    """
    if not isinstance(inputs, Iterable):
        check_whole("the number of inputs", inputs, low=1)
    names = tuple(f"x{i + 1}" for i in range(inputs)) if isinstance(inputs, int) else _names(inputs)
    return Basis(("1", *names), lambda x: np.column_stack([np.ones(len(x)), x]), len(names), names)


def as_basis(given: Any) -> Basis:
    """Return a basis: itself, a polynomial of a degree, or the one of functions, given as a list or by name."""
    if isinstance(given, Basis):
        return given
    if isinstance(given, numbers.Integral) and not isinstance(given, bool):
        return _polynomial(int(given))
    if isinstance(given, Mapping):
        return _of_functions(_names(given), tuple(given.values()))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        functions = tuple(given)
        return _of_functions(_names_of(functions), functions)
    hint = "Write 1 for a straight line."
    raise DataError(f"the basis must be a degree or functions; got {shortened(repr(given))}. {hint}")


def _polynomial(degree: int) -> Basis:
    check_whole("the degree", degree, low=0)
    powers = np.arange(degree + 1)
    names = tuple("1" if k == 0 else "x" if k == 1 else f"x^{k}" for k in powers.tolist())
    return Basis(names, lambda x: x[:, None] ** powers, 1)


def as_targets(y: Any, n_points: int) -> np.ndarray:
    """Return y as an array of numbers, one for each point."""
    array = as_floats("y", y)
    array = array.reshape(-1) if array.ndim == 0 or (array.ndim == 2 and array.shape[1] == 1) else array
    if array.ndim > 1:
        raise DataError(f"y must have one number for each point; got an array of shape {array.shape}.")
    if len(array) != n_points:
        raise DataError(f"x and y must be of one length; got {n_points} and {len(array)}.")
    return array


def is_single(x: Any) -> bool:
    """Whether x is one number, not an array or a table of them."""
    return isinstance(x, numbers.Real) or (isinstance(x, np.ndarray) and x.ndim == 0)


def check_finite(what: str, array: np.ndarray) -> None:
    """Raise, naming the place, unless all numbers are finite and not too large to be squared."""
    wrong = ~(np.abs(array) <= LARGEST)
    if wrong.any():
        i = int(np.nonzero(wrong)[0][0])
        value = array[wrong].flat[0]
        rule = f"up to {LARGEST:g} in size" if np.isfinite(value) else "finite"
        raise DataError(f"{what} must be {rule}; got {value:g} at position {i}.")


def _of_functions(names: tuple[str, ...], functions: tuple[Function, ...]) -> Basis:
    for name, function in zip(names, functions, strict=True):
        if not callable(function):
            raise DataError(f"basis function {name!r} must be a function; got {shortened(repr(function))}.")

    def columns(x: np.ndarray) -> np.ndarray:
        points: Sequence[Any] = x.tolist() if x.ndim == 1 else list(x)
        pairs = list(zip(names, functions, strict=True))
        return np.array([[_value(name, function, point) for name, function in pairs] for point in points])

    return Basis(names, columns)


def _value(name: str, function: Function, point: Any) -> float:
    where = f"basis function {name!r} at x = {shortened(str(point))}"
    try:
        value = function(point)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise DataError(f"{where} must be a number; it raised {type(error).__name__}: {error}.") from error
    found = as_floats(where, value)
    if found.size != 1:
        raise DataError(f"{where} must be one number; got {shortened(repr(value))}.")
    return float(found.reshape(()))


def _names(given: Iterable[Any]) -> tuple[str, ...]:
    names = tuple(given)
    if isinstance(given, str) or not all(isinstance(name, str) for name in names):
        raise DataError(f"the names of basis functions must be texts; got {shortened(repr(given))}.")
    return names


def _names_of(functions: Sequence[Any]) -> tuple[str, ...]:
    """Return the functions' own names; f1, f2, … where they have none, or share one."""
    own = [getattr(function, "__name__", "<lambda>") for function in functions]
    return tuple(f"f{i + 1}" if name == "<lambda>" or own.count(name) > 1 else name for i, name in enumerate(own))


def _has_columns(x: Any) -> bool:
    """Whether x is a table, a frame or a dict of columns."""
    return isinstance(x, Table | Mapping) or (
        hasattr(x, "__arrow_c_stream__") and len(getattr(x, "shape", (0, 0))) == 2
    )


def _from_columns(x: Any, names: tuple[str, ...]) -> np.ndarray:
    """Return the columns with these names as rows of numbers."""
    table = as_table(x)
    return np.column_stack([_numbers(table, name) for name in names])


def _numbers(table: Table, name: str) -> np.ndarray:
    """Return a column as numbers, one of categories that are numbers too."""
    variable = table.variable(name)
    if variable.is_continuous:
        return table.floats(name)
    codes, states = table.codes(name), as_floats(f"column {name!r}", list(variable.states or ()))
    return np.where(codes >= 0, np.append(states, np.nan)[codes], np.nan)
