"""Basis functions, Gaussian priors over weights, and least squares.

A family of hypotheses that is linear in basis functions φ_1, …, φ_K has one weight for each of them,

    a(x) = Σ_k w_k φ_k(x),

and x enters through the φ only: a cubic in x is linear in the basis 1, x, x², x³. For n points the values φ_k(x_i) are
the design matrix Φ, with a row per point and a column per weight, and a = Φ w. The basis is given as a degree, as
functions, or by :func:`linear`, which takes the columns of a table.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import null_space

from tunbridge._core.check import check_integer, counted, did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.data.frames import as_table
from tunbridge.data.table import Table
from tunbridge.errors import DataError
from tunbridge.probability.reading import as_floats, locked

Function: TypeAlias = Callable[[Any], Any]

_LARGEST = 1e150  # its square is a float
_COPIES = 6  # of the design matrix during a fit
_SMALL = 1e-6


@dataclass(frozen=True, repr=False)
class Basis:
    """Named basis functions.

    Parameters
    ----------
    names : tuple of str
        A name for each function and its weight.
    columns : callable
        From the points, an array of numbers or of rows, to the design matrix.
    n_inputs : int, optional
        How many numbers a point has; None: any.
    inputs : tuple of str
        The names of these numbers, if points can be given as the columns of a table.

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

    def points(self, x: object) -> np.ndarray:
        """Return x as an array of finite numbers, or of rows of them."""
        has_columns = isinstance(x, Table | Mapping) or (
            hasattr(x, "__arrow_c_stream__") and len(getattr(x, "shape", (0, 0))) == 2
        )
        array = np.atleast_1d(_from_columns(x, self.inputs) if self.inputs and has_columns else as_floats("x", x))
        if self.n_inputs == 1 and array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        n_inputs = 1 if array.ndim == 1 else array.shape[1]
        if array.ndim > 2 or self.n_inputs not in (None, n_inputs):
            rule = "numbers" if self.n_inputs == 1 else f"rows of {self.n_inputs or 'several'} numbers"
            hint = " Write a single point as [[…]]." if array.ndim == 1 and array.size == self.n_inputs else ""
            raise DataError(f"x must be {rule}; got an array of shape {array.shape}.{hint}", parameter="x")
        if not array.size:
            raise DataError("x must have at least one point; got none.", parameter="x")
        check_finite("x", array)
        return array

    def design(self, x: object) -> np.ndarray:
        """Return the design matrix Φ: φ_k(x_i) in row i and column k."""
        points = self.points(x)
        size, ways_out = 8.0 * len(points) * len(self) * _COPIES, "Use fewer points or basis functions."
        check_memory(f"a design of {counted(len(points), 'point')} × {len(self)}", size, ways_out=ways_out)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            matrix = self.columns(points)
        wrong = ~(np.abs(matrix) <= _LARGEST)
        if wrong.any():
            i, k = (int(at[0]) for at in np.nonzero(wrong))
            where = f"basis function {self.names[k]!r} at x = {shortened(str(points[i].tolist()))}"
            raise DataError(f"{where} must be a number up to {_LARGEST:g} in size; got {matrix[i, k]:g}.")
        return matrix

    def vector(self, weights: object) -> np.ndarray:
        """Return weights, given by name or in order, as an array."""
        array = as_floats("weights", self.by_name("weights", weights))
        if array.shape != (len(self),):
            rule = f"{counted(len(self), 'number')}, for {listed(self.names)}"
            raise DataError(f"weights must be {rule}; got an array of shape {array.shape}.", parameter="weights")
        check_finite("weights", array)
        return array

    def by_name(self, what: str, given: object) -> object:
        """Return the values of a mapping by name in the order of the functions; anything else unchanged."""
        if not isinstance(given, Mapping):
            return given
        for name in given:
            if name not in self.names:
                hint = did_you_mean(name, self.names)
                raise DataError(f"{what} must name basis functions; got {shortened(repr(name))}. {hint}")
        absent = [name for name in self.names if name not in given]
        if absent:
            raise DataError(f"{what} must name every basis function; {absent[0]!r} has none.")
        return [given[name] for name in self.names]


def linear(inputs: int | Sequence[str]) -> Basis:
    """Return the basis 1, x_1, …, x_d of rows of d numbers, or of the columns of a table with these names.

    Examples
    --------
    >>> basis = linear(["age", "bmi"])
    >>> basis.design([[50, 24.5]]).tolist()
    [[1.0, 50.0, 24.5]]
    >>> basis.design({"bmi": [24.5, 31], "name": ["Ann", "Bob"], "age": [50, 61]}).tolist()
    [[1.0, 50.0, 24.5], [1.0, 61.0, 31.0]]
    """
    if not isinstance(inputs, Iterable):
        check_integer("the number of inputs", inputs, low=1)
    names = tuple(f"x{i + 1}" for i in range(inputs)) if isinstance(inputs, int) else _names(inputs)
    return Basis(("1", *names), lambda x: np.column_stack([np.ones(len(x)), x]), len(names), names)


def as_basis(given: object) -> Basis:
    """Return a basis: itself, a polynomial of this degree, or functions in a list or by name."""
    if isinstance(given, Basis):
        return given
    if isinstance(given, numbers.Integral) and not isinstance(given, bool):
        check_integer("the degree", given, low=0)
        powers = np.arange(int(given) + 1)
        names = tuple("1" if k == 0 else "x" if k == 1 else f"x^{k}" for k in powers.tolist())
        return Basis(names, lambda x: x[:, None] ** powers, 1)
    if isinstance(given, Mapping):
        return _of_functions(_names(given), tuple(given.values()))
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        functions = tuple(given)
        own = [getattr(function, "__name__", "<lambda>") for function in functions]
        names = tuple(f"f{i + 1}" if n == "<lambda>" or own.count(n) > 1 else n for i, n in enumerate(own))
        return _of_functions(names, functions)
    raise DataError(
        f"the basis must be a degree or functions; got {shortened(repr(given))}. Use 1 for a straight line."
    )


def as_targets(y: object, n_points: int) -> np.ndarray:
    """Return y as an array of numbers, one for each point."""
    array = as_floats("y", y)
    array = array.reshape(-1) if array.ndim == 0 or (array.ndim == 2 and array.shape[1] == 1) else array
    if array.ndim > 1:
        raise DataError(f"y must have one number for each point; got an array of shape {array.shape}.", parameter="y")
    if len(array) != n_points:
        raise DataError(f"x and y must have the same length; got {n_points} and {len(array)}.", parameter="y")
    return array


def is_single(x: object) -> bool:
    """Return whether x is one number, not an array or a table."""
    return isinstance(x, numbers.Real) or (isinstance(x, np.ndarray) and x.ndim == 0)


def check_finite(what: str, array: np.ndarray) -> None:
    """Raise unless all numbers are finite and can be squared."""
    wrong = ~(np.abs(array) <= _LARGEST)
    if wrong.any():
        i, value = int(np.nonzero(wrong)[0][0]), array[wrong].flat[0]
        rule = f"up to {_LARGEST:g} in size" if np.isfinite(value) else "finite"
        raise DataError(f"{what} must be {rule}; got {value:g} at position {i}.")


def _of_functions(names: tuple[str, ...], functions: tuple[Function, ...]) -> Basis:
    for name, function in zip(names, functions, strict=True):
        if not callable(function):
            raise DataError(f"basis function {name!r} must be a function; got {shortened(repr(function))}.")

    def value(name: str, function: Function, point: object) -> float:
        where = f"basis function {name!r} at x = {shortened(str(point))}"
        found = as_floats(where, given := function(point))
        if found.size != 1:
            raise DataError(f"{where} must be one number; got {shortened(repr(given))}.")
        return float(found.reshape(()))

    def columns(x: np.ndarray) -> np.ndarray:
        points: Sequence[Any] = x.tolist() if x.ndim == 1 else list(x)
        return np.array([[value(*pair, point) for pair in zip(names, functions, strict=True)] for point in points])

    return Basis(names, columns)


def _names(given: Iterable[Any]) -> tuple[str, ...]:
    names = tuple(given)
    if isinstance(given, str) or not all(isinstance(name, str) for name in names):
        raise DataError(f"the names of basis functions must be strings; got {shortened(repr(given))}.")
    return names


def _from_columns(x: object, names: tuple[str, ...]) -> np.ndarray:
    """Return the columns with these names as rows of numbers; categories may be numbers too."""
    table, columns = as_table(x), []
    for name in names:
        variable = table.variable(name)
        if variable.is_continuous:
            columns.append(table.floats(name))
        else:
            states = as_floats(f"column {name!r}", list(variable.states or ()))
            columns.append(np.append(states, np.nan)[table.codes(name)])  # −1, a missing value, is the last one
    return np.column_stack(columns)


# Gaussian priors


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """Independent Gaussian priors of weights, around 0.

    The log-density is, up to a constant, −½ Σ w_k² / τ_k²: the squared error of K more points, of which point k has the
    value w_k and was measured as 0 with standard deviation τ_k. A weight with an infinite variance is free.

    Parameters
    ----------
    variances : ndarray of shape (K,)
        τ² of each weight.
    """

    variances: np.ndarray

    @property
    def is_proper(self) -> bool:
        """Whether all variances are finite, so that it is a distribution."""
        return bool(np.isfinite(self.variances).all())

    @property
    def common(self) -> float | None:
        """τ², if it is finite and the same for all weights."""
        first = float(self.variances[0])
        return first if (self.variances == first).all() and math.isfinite(first) else None

    @property
    def rows(self) -> np.ndarray:
        """A root of the precision matrix, with a row for each weight that is not free."""
        return np.diag(1.0 / np.sqrt(self.variances))[np.isfinite(self.variances)]

    def distance(self, weights: np.ndarray) -> float:
        """Return Σ w² / τ²."""
        return float((weights * weights / self.variances).sum())

    def log_density(self, weights: np.ndarray) -> float:
        """Return ln P(w) of a proper prior."""
        return -0.5 * (float(np.log(2.0 * math.pi * self.variances).sum()) + self.distance(weights))


def as_gaussian_prior(basis: Basis, given: object) -> GaussianPrior:
    """Return the prior with one variance, or with one for each weight by name or in order."""
    array = as_floats("prior_variance", basis.by_name("prior_variance", given))
    if array.shape not in ((), (len(basis),)):
        raise DataError(f"prior_variance must be one number, or {len(basis)} of them; got {shortened(repr(given))}.")
    if not (array > 0.0).all():
        hint = "A small variance keeps weights near 0, an infinite one leaves them free."
        raise DataError(f"prior_variance must be above 0; got {array[~(array > 0.0)].flat[0]:g}. {hint}")
    variances = np.array(np.broadcast_to(array, len(basis)))
    check_finite("prior_variance", variances[np.isfinite(variances)])
    with np.errstate(over="ignore"):
        check_finite("the precision 1 / prior_variance", 1.0 / variances)
    return GaussianPrior(locked(variances))


# Least squares


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of a least-squares problem Φ w ≈ y.

    Parameters
    ----------
    weights : ndarray of shape (K,)
    root : ndarray of shape (K, rank)
        A root of (ΦᵀΦ)⁻¹: root rootᵀ is the inverse.
    log_det : float
        The logarithm of |root rootᵀ|, if the rank is K.
    unseen : ndarray of shape (K, K − rank)
        Directions of the scaled weights that Φ does not depend on.
    """

    weights: np.ndarray
    root: np.ndarray
    log_det: float
    unseen: np.ndarray

    def check_determined(self, names: tuple[str, ...], n_points: int) -> None:
        """Raise unless the data determine every weight."""
        if not self.unseen.shape[1]:
            return
        hint = "Use fewer basis functions, or map(…, prior_variance=…) with finite variances."
        if n_points < len(names):
            raise DataError(f"there must be at least as many points as weights, {len(names)}; got {n_points}. {hint}")
        involved = np.abs(self.unseen).max(axis=1) > _SMALL
        blamed = listed(name for name, is_involved in zip(names, involved, strict=True) if is_involved)
        got = f"they determine {self.root.shape[1]}: at these x, {blamed} are linearly dependent"
        far = " For high powers, subtract the mean from x." if any("^" in name for name in names) else ""
        raise DataError(f"the data must determine {counted(len(names), 'weight')}; {got}. {hint}{far}")


def least_squares(matrix: np.ndarray, target: np.ndarray | None = None) -> Solution:
    """Return the weights that minimise ‖Φ w − y‖; y is 0 by default.

    Columns are scaled to length one first, so that weights of very different sizes do no harm. ``scipy.linalg.lstsq``
    would give the weights, but not the root of the inverse.
    """
    largest = np.abs(matrix).max(axis=0)
    largest[largest == 0.0] = 1.0
    scale = largest * np.maximum(np.linalg.norm(matrix / largest, axis=0), 1.0)
    left, singular, right = np.linalg.svd(matrix / scale, full_matrices=False)
    seen = singular > max(matrix.shape) * np.finfo(float).eps * singular[0]
    root = (right[seen].T / singular[seen]) / scale[:, None]
    weights = np.zeros(matrix.shape[1]) if target is None else root @ (left[:, seen].T @ target)
    log_det = -2.0 * float(np.log(singular[seen]).sum() + np.log(scale).sum())
    unseen = null_space(right[seen]) if seen.sum() < matrix.shape[1] else np.zeros((matrix.shape[1], 0))
    return Solution(weights, root, log_det, unseen)


def check_size(weights: np.ndarray, root: np.ndarray) -> None:
    """Raise if weights, or a root of their covariance, cannot be squared."""
    if not max(np.abs(weights).max(), np.abs(root).max(initial=0.0)) <= _LARGEST:
        rule = f"the weights and their standard deviations must be up to {_LARGEST:g} in size"
        raise DataError(f"{rule}; got {np.abs(weights).max():g}. Use other units for x and y.")
