"""Gaussian variables in a network: their conditional tables, and the mixtures that are their posteriors.

*Linear Gaussian tables.* For each configuration j of its categorical parents a continuous variable X with continuous
parents y₁ … y_p is

    X | j, y  ~  N(a_j + b_j1 y₁ + … + b_jp y_p,  s_j²),

a regression with its own intercept, coefficients and variance. Without categorical parents there is one regression,
without continuous ones only intercepts: the means of the configurations. A variance of 0 means that X *is* the linear
function of its parents, without noise. Such a table has variance 0 in all configurations or in none, because a density
in one and a certain value in another could not be compared.

*Mixtures.* The posterior of a number is a mixture with one Gaussian for each configuration of the relevant categories,
weighted by its probability:

    p(x) = Σ_i w_i N(x; μ_i, σ_i²),     μ = Σ w_i μ_i,     σ² = Σ w_i (σ_i² + (μ_i − μ)²).

A component with variance 0 is a certain value; its density is infinite there and 0 elsewhere.

References
----------
S. L. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which are qualitative
and some quantitative. Annals of Statistics 17, 31–57.
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models.
Journal of the American Statistical Association 87, 1098–1108.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number, counted, listed, shortened
from tunbridge._core.grid import data_frame, html_grid, text_grid
from tunbridge._core.lazy import LazyModule
from tunbridge.counts.moments import CrossMoments
from tunbridge.counts.radix import configuration_codes
from tunbridge.data import Variable
from tunbridge.data.values import DAY
from tunbridge.data.variable import date_text
from tunbridge.errors import DataError
from tunbridge.probability.conditional import SHOWN_ROWS, ConditionalTable, labelled
from tunbridge.probability.reading import (
    TOLERANCE,
    Parents,
    as_float,
    as_floats,
    condition_text,
    distinct_variables,
    locked,
)

if TYPE_CHECKING:
    import pandas

special = LazyModule("scipy.special")

_HALVINGS = 200
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


# Linear Gaussian tables


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinearGaussian(ConditionalTable):
    """The table of a continuous variable: for each configuration of its categorical parents a linear regression.

    Parameters
    ----------
    variable : Variable
        A continuous variable.
    parents : sequence of Variable
        Its parents: categorical and continuous variables, in any order.
    intercepts : number, array-like or mapping
        The intercept of each configuration of the categorical parents: one number for all; an array with an axis for
        each categorical parent, in their order, or with one entry for each configuration, the last parent fastest; or
        a mapping from states (tuples of states for several parents) to numbers.
    coefficients : mapping, or array-like
        By the name of each continuous parent, in any of the forms of the intercepts; or an array with a last axis for
        the continuous parents.
    variances : number, array-like or mapping
        Like the intercepts; positive, or 0 in all configurations for a variable without noise.
    moments : CrossMoments, optional
        The moments of the continuous parents and the variable in each configuration, if the table was learned.

    Attributes
    ----------
    intercepts, variances : ndarray of shape ``shape``
        With an axis for each categorical parent.
    coefficients : ndarray of shape (*shape, n_continuous_parents)
        With a last axis for the continuous parents, in their order.
    counts : ndarray or None
        The number (or weight) of the rows behind each configuration, if the table was learned.

    Examples
    --------
    >>> sex, height, weight = Variable("Sex", ["female", "male"]), Variable("Height"), Variable("Weight")
    >>> LinearGaussian(height, [sex], intercepts={"female": 165, "male": 178}, variances=[36, 49])
    LinearGaussian('Height' | 'Sex': 2 regressions on 0 numbers)
    >>> table = LinearGaussian(
    ...     weight, [height, sex], intercepts=-100, coefficients={"Height": {"female": 0.97, "male": 1.0}}, variances=64
    ... )
    >>> print(table)
    Weight given Height, Sex
    Sex     intercept  Height  std
    female  -100       0.97    8
    male    -100       1       8
    >>> table.distribution({"Sex": "male", "Height": 180})
    Weight: Gaussian, mean 80, standard deviation 8
    """

    intercepts: np.ndarray
    coefficients: np.ndarray
    variances: np.ndarray
    moments: CrossMoments | None
    discrete_parents: tuple[Variable, ...]
    """The categorical parents, in their order."""
    continuous_parents: tuple[Variable, ...]
    """The continuous parents, in their order."""

    def __init__(
        self,
        variable: Variable,
        parents: Parents = (),
        intercepts: ArrayLike | Mapping[Any, float] = 0.0,
        coefficients: ArrayLike | Mapping[str, Any] | None = None,
        variances: ArrayLike | Mapping[Any, float] | None = None,
        *,
        moments: CrossMoments | None = None,
    ) -> None:
        family = _checked_family(variable, parents)
        self._set_family(variable, family)
        if variances is None:
            raise DataError(f"the variances of {variable.name!r} must be given; got none.")
        values = {
            "intercepts": _by_configuration(self._what("intercepts"), intercepts, self.discrete_parents),
            "coefficients": self._read_coefficients(coefficients),
            "variances": _by_configuration(self._what("variances"), variances, self.discrete_parents),
        }
        for name, array in values.items():
            self._check_finite(name, array)
        _check_variances(variable, values["variances"])
        self.__dict__.update({name: locked(array) for name, array in values.items()}, counts=None, moments=None)
        self._keep_moments(moments)

    def _set_family(self, variable: Variable, parents: tuple[Variable, ...]) -> None:
        """Set the variables; the shape is that of the configurations of the categorical parents."""
        discrete = tuple(p for p in parents if p.is_categorical)
        shape = tuple(p.n_states for p in discrete)
        self.__dict__.update(variable=variable, parents=parents, shape=shape, n_configurations=math.prod(shape))
        self.__dict__.update(discrete_parents=discrete)
        self.__dict__.update(continuous_parents=tuple(p for p in parents if p.is_continuous))

    def _read_coefficients(self, given: ArrayLike | Mapping[str, Any] | None) -> np.ndarray:
        names = [p.name for p in self.continuous_parents]
        shape = (*self.shape, len(names))
        if isinstance(given, Mapping):
            self._check_names("coefficients", given, names)
            absent = [name for name in names if name not in given]
            if absent:
                rule = f"{self._what('coefficients')} must name every continuous parent"
                raise DataError(f"{rule}; {absent[0]!r} is missing.")
            numbers = [given[name] for name in names]
            parts = [_by_configuration(self._what("coefficients"), each, self.discrete_parents) for each in numbers]
            return np.ascontiguousarray(np.stack(parts, axis=-1)) if parts else np.zeros(shape)
        if given is None and names:
            hint = f"Write coefficients={{{names[0]!r}: 1.0}}, for example."
            raise DataError(f"{self._what('coefficients')} must be given for {listed(names)}; got none. {hint}")
        array = np.zeros(shape) if given is None else as_floats(self._what("coefficients"), given)
        if array.shape in (shape, (math.prod(shape[:-1]), shape[-1])):
            return array.reshape(shape)
        if array.shape == shape[-1:] or (array.ndim == 0 and len(names) == 1):
            return np.broadcast_to(array, shape).copy()
        raise DataError(f"{self._what('coefficients')} must have the shape {shape}; got {array.shape}.")

    def _what(self, name: str) -> str:
        return f"the {name} of {self.variable.name!r}"

    def _check_finite(self, name: str, array: np.ndarray) -> None:
        if not np.isfinite(array).all():
            raise DataError(f"{self._what(name)} must be finite; got {array[~np.isfinite(array)][0]:g}.")

    def _keep_moments(self, moments: CrossMoments | None) -> None:
        if moments is None:
            return
        k = len(self.continuous_parents) + 1
        if moments.products.shape != (self.n_configurations, k, k):
            rule = f"of {counted(self.n_configurations, 'group')} and {counted(k, 'column')}"
            raise DataError(f"{self._what('moments')} must be {rule}; got {moments.products.shape}.")
        for array in moments.arrays:
            self._check_finite("moments", array)
        self.__dict__.update(moments=moments, counts=locked(moments.count.reshape(self.shape).copy()))

    # Sizes

    @property
    def n_parameters(self) -> int:
        """The number of free parameters: an intercept, coefficients and a variance for each configuration."""
        return self.n_configurations * (len(self.continuous_parents) + 2)

    @property
    def is_exact(self) -> bool:
        """Whether the variable is a linear function of its parents without noise."""
        return not self.variances.any()

    # Rows

    def distribution(self, given: Mapping[str, object] | None = None) -> Mixture:  # type: ignore[override]
        """Return the Gaussian of the variable for one configuration of its parents.

        Parameters
        ----------
        given : mapping of parent name to state or number
            A value for every parent; omit it without parents.
        """
        values = self._configuration(given or {})
        j = tuple(int(c) for p, c in zip(self.parents, values, strict=True) if p.is_categorical)
        y = np.array([c for p, c in zip(self.parents, values, strict=True) if p.is_continuous])
        mean = float(self.intercepts[j] + self.coefficients[j] @ y) if len(y) else float(self.intercepts[j])
        return Mixture.of_valid(self.variable, np.ones(1), np.array([mean]), np.array([float(self.variances[j])]))

    def _value_of(self, parent: Variable, given: object) -> Any:
        if parent.is_categorical:
            return parent.code(given)
        return check_number(f"the value of {parent.name!r}", given)

    def _table(self) -> np.ndarray:
        hint = "See its intercepts, coefficients and variances."
        what = f"a dense table must be of a categorical variable; {self.variable.name!r} is continuous"
        raise DataError(f"{what}. {hint}")

    def table(self) -> np.ndarray:
        """Raise an error: a continuous variable has no probabilities of states."""
        return self._table()

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        return self._table()

    def rows(self, codes: ArrayLike) -> np.ndarray:
        """Raise an error: a continuous variable has no probabilities of states."""
        return self._table()

    def _reduced(self, fixed: dict[int, int]) -> LinearGaussian:
        at = [i for i, p in enumerate(self.parents) if p.is_categorical]
        index = tuple(fixed.get(i, slice(None)) for i in at)
        kept = tuple(p for i, p in enumerate(self.parents) if i not in fixed)
        numbers = np.arange(self.n_configurations).reshape(self.shape)[index].ravel()
        moments = None if self.moments is None else CrossMoments(*(a[numbers] for a in self.moments.arrays))
        return LinearGaussian(
            self.variable, kept, self.intercepts[index], self.coefficients[index], self.variances[index],
            moments=moments,
        )  # fmt: skip

    def _values(self) -> tuple[np.ndarray, ...]:
        return self.intercepts, self.coefficients, self.variances

    def _checked_counts(self, counts: ArrayLike) -> np.ndarray:
        hint = "Pass moments to LinearGaussian instead."
        raise DataError(f"{self._what('counts')} must be those of its moments; got others. {hint}")

    # Display

    def _size(self) -> str:
        return f"{counted(self.n_configurations, 'regression')} on {counted(len(self.continuous_parents), 'number')}"

    def _header(self) -> list[object]:
        names = [[p.name for p in some] for some in (self.discrete_parents, self.continuous_parents)]
        return [*names[0], "intercept" if names[1] else "mean", *names[1], "std"]

    def _listed(self, n: int) -> list[list[object]]:
        k = len(self.continuous_parents)
        codes = configuration_codes(np.arange(n), self.shape)
        slopes = self.coefficients.reshape(self.n_configurations, k)[:n]
        numbers = [self.intercepts.ravel()[:n], slopes, np.sqrt(self.variances.ravel()[:n])]
        return labelled(self.discrete_parents, codes, np.column_stack(numbers))

    def _shown(self) -> tuple[list[list[object]], int]:
        rows, n_more = super()._shown()
        return [[f"{x:.6g}" if isinstance(x, float) and i >= len(self.shape) else x for i, x in enumerate(row)]
                for row in rows], n_more  # fmt: skip

    def __repr__(self) -> str:
        parents = f" | {listed(p.name for p in self.parents)}" if self.parents else ""
        return f"LinearGaussian({self.variable.name!r}{parents}: {self._size()})"


def _checked_family(variable: Variable, parents: Parents) -> tuple[Variable, ...]:
    """Return the parents as a tuple; raise unless the variable is continuous and all names are distinct."""
    family = distinct_variables(variable, parents)
    for v in family:
        if v.is_categorical and not v.n_states:
            raise DataError(f"the categorical parents of a LinearGaussian must have states; {v.name!r} has none.")
    if variable.is_categorical:
        hint = "CPT is the table of a categorical one."
        raise DataError(f"the variable of a LinearGaussian must be continuous; {variable.name!r} has states. {hint}")
    return family[:-1]


def _check_variances(variable: Variable, variances: np.ndarray) -> None:
    what = f"the variances of {variable.name!r}"
    if (variances < 0.0).any():
        raise DataError(f"{what} must be at least 0; got {variances[variances < 0.0][0]:g}.")
    if (variances == 0.0).any() and variances.any():
        hint = "Replace 0 by a small positive variance."
        raise DataError(f"{what} must be above 0 in every configuration, or 0 in all; got both. {hint}")


def _by_configuration(what: str, given: ArrayLike | Mapping[Any, float], parents: Sequence[Variable]) -> np.ndarray:
    """Return a new array of numbers with an axis for each parent.

    Parameters
    ----------
    what : str
        The name of the numbers in error messages.
    given : number, array-like or mapping
        One number for all configurations; an array with an axis for each parent, or with one entry for each
        configuration, the last parent fastest; or a mapping from states, tuples of states for several parents.
    parents : sequence of Variable
        Categorical variables.

    Examples
    --------
    >>> sex = Variable("Sex", ["female", "male"])
    >>> _by_configuration("the means", {"male": 178, "female": 165}, [sex]).tolist()
    [165.0, 178.0]
    """
    shape = tuple(p.n_states for p in parents)
    if isinstance(given, Mapping):
        return _from_mapping(what, given, parents, shape)
    array = as_floats(what, given)
    if array.ndim == 0:
        return np.full(shape, float(array))
    if array.shape not in (shape, (math.prod(shape),)):
        named = f" (the states of {listed(p.name for p in parents)})" if parents else ""
        raise DataError(f"{what} must be one number, or have the shape {shape}{named}; got {array.shape}.")
    return array.reshape(shape)


def _from_mapping(what: str, given: Mapping[Any, Any], parents: Sequence[Variable], shape: tuple[int, ...]) -> Any:
    if not parents:
        raise DataError(f"{what} must be one number without categorical parents; got {shortened(repr(given))}.")
    array, seen = np.empty(shape), np.zeros(shape, bool)
    for key, value in given.items():
        states = (key,) if len(parents) == 1 else key
        if not isinstance(states, tuple) or len(states) != len(parents):
            names = listed(p.name for p in parents)
            raise DataError(f"{what} must have tuples with a state of each of {names} as keys; got {key!r}.")
        codes = tuple(p.code(state) for p, state in zip(parents, states, strict=True))
        array[codes], seen[codes] = as_float(what, value), True
    if not seen.all():
        absent = condition_text(parents, int(seen.argmin())).removeprefix(" given ")
        raise DataError(f"{what} must have a number for every configuration; {absent} has none.")
    return array


# Mixtures


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mixture:
    """The distribution of a continuous variable: an immutable mixture of one or more Gaussians.

    Parameters
    ----------
    variable : Variable
        A continuous variable.
    weights, means, variances : array-like of shape (n,)
        For each Gaussian. Weights must be ≥ 0 and sum to one within 1e-6; they are then rescaled. A variance may be 0.

    Attributes
    ----------
    weights, means, variances : ndarray
        For each Gaussian, the largest weight first; equal Gaussians are merged, and those of weight 0 omitted.

    Examples
    --------
    >>> height = Mixture(Variable("Height"), [0.5, 0.5], [178.0, 165.0], [49.0, 36.0])
    >>> height
    Height: mixture of 2 Gaussians, mean 171.5, standard deviation 9.20598
    weight  mean  std
    0.5     165   6
    0.5     178   7
    >>> round(height.cdf(180.0), 4), round(height.quantile(0.5), 2), round(height.density(170.0), 5)
    (0.8031, 171.0, 0.03832)
    """

    variable: Variable
    weights: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def __init__(self, variable: Variable, weights: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        if not isinstance(variable, Variable) or not variable.is_continuous:
            raise DataError(
                f"the variable of a mixture must be a continuous Variable; got {shortened(repr(variable))}."
            )
        arrays = [_checked(variable, *each) for each in zip(_NAMES, (weights, means, variances), strict=True)]
        if not arrays[0].size or len({len(array) for array in arrays}) > 1:
            sizes = ", ".join(str(len(array)) for array in arrays)
            raise DataError(f"weights, means and variances must have the same length, at least 1; got {sizes}.")
        total = float(arrays[0].sum())
        if not abs(total - 1.0) <= TOLERANCE:
            raise DataError(f"the weights of a mixture must sum to 1; got {total:.10g}.")
        self.__dict__.update(variable=variable)
        self._fill(*arrays)

    @classmethod
    def of_valid(cls, variable: Variable, weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Mixture:
        """Return the mixture of valid arrays, without checks; the weights are ≥ 0 and have a positive sum."""
        self = object.__new__(cls)
        self.__dict__.update(variable=variable)
        self._fill(weights, means, variances)
        return self

    def _fill(self, weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> None:
        kinds, place = np.unique(np.stack([means, variances]), axis=1, return_inverse=True)
        if not np.isfinite(kinds).all():
            hint = "Divide the numbers by a constant first."
            raise DataError(f"the mean and variance of {self.variable.name!r} must be finite; they overflow. {hint}")
        summed = np.bincount(place.ravel(), weights, kinds.shape[1])
        order = np.argsort(-summed, kind="stable")
        order = order[summed[order] > 0.0]
        kept = summed[order] / summed.sum(), kinds[0, order], kinds[1, order]
        self.__dict__.update(zip(_NAMES, map(locked, kept), strict=True))

    # Results

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def mean(self) -> float:
        """The mean."""
        middle = float(self.means[0])  # far-away means lose no digits
        return middle + float(self.weights @ (self.means - middle))

    @property
    def variance(self) -> float:
        """The variance."""
        return float(self.weights @ (self.variances + (self.means - self.mean) ** 2))

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def density(self, x: ArrayLike) -> Any:
        """Return the density at a number, or at each of an array."""
        with np.errstate(over="ignore"):
            return _plain(np.exp(self._log_density(_numbers(x))))

    def log_density(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the density at a number, or at each of an array."""
        return _plain(self._log_density(_numbers(x)))

    def _log_density(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (x[..., None] - self.means) / np.sqrt(self.variances)
            terms = np.log(self.weights) - 0.5 * off * off - 0.5 * np.log(self.variances) - _LOG_ROOT
            certain = self.variances == 0.0
            if certain.any():
                at = np.where(x[..., None] == self.means, np.inf, -np.inf)
                terms = np.where(certain, at, terms)
        return np.asarray(special.logsumexp(terms, axis=-1))

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X ≤ x) for a number, or for each of an array."""
        return _plain(np.clip((self.weights * self._steps(_numbers(x))).sum(axis=-1), 0.0, 1.0))

    def _steps(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function of each Gaussian."""
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (x[..., None] - self.means) / np.sqrt(self.variances)
        return special.ndtr(np.where(np.isnan(off), np.inf, off))  # 0/0: at the certain value

    def quantile(self, p: ArrayLike) -> Any:
        """Return the value x with P(X ≤ x) = p, for p from 0 to 1 or for each of an array."""
        share = _numbers(p, "p")
        if not ((share >= 0.0) & (share <= 1.0)).all():
            raise DataError(f"p must be from 0 to 1; got {share[~((share >= 0.0) & (share <= 1.0))].ravel()[0]:g}.")
        with np.errstate(invalid="ignore"):
            each = self.means + np.where(
                self.variances > 0.0, np.sqrt(self.variances) * special.ndtri(share)[..., None], 0.0
            )
        # The quantile of the mixture is between those of the Gaussians.
        low, high = each.min(axis=-1), each.max(axis=-1)
        return _plain(self._bisected(share, low, high))

    def _bisected(self, share: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        finite = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
        ends = np.where(share > 0.5, np.inf, -np.inf)
        for _ in range(_HALVINGS):
            middle = low + 0.5 * (high - low)
            if not ((middle > low) & (middle < high)).any():
                break
            below = self._is_below(middle, share)
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.where(finite, high, ends)

    def _is_below(self, x: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return whether P(X ≤ x) < share; in the upper half by the other tail, to lose no digits."""
        lower = (self.weights * self._steps(x)).sum(axis=-1) < share
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (self.means - x[..., None]) / np.sqrt(self.variances)
        tail = special.ndtr(np.where(np.isnan(off), -np.inf, off))
        upper = (self.weights * tail).sum(axis=-1) > 1.0 - share
        return np.where(share > 0.5, upper, lower)

    def interval(self, probability: float = 0.95) -> tuple[float, float]:
        """Return the central interval with this probability, with equal tails."""
        share = check_number("probability", probability, above=0, high=1)
        return float(self.quantile(0.5 * (1.0 - share))), float(self.quantile(0.5 * (1.0 + share)))

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        pairs = zip(self.arrays, other.arrays, strict=True)
        return self.variable == other.variable and all(np.array_equal(a, b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The weights, the means and the variances."""
        return self.weights, self.means, self.variances

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self.arrays:  # pickling loses the read-only flag
            locked(array)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the Gaussians as a pandas DataFrame with the columns weight, mean and std."""
        columns = (self.weights, self.means, np.sqrt(self.variances))
        return data_frame(dict(zip(_HEADER, columns, strict=True)))

    def number_text(self, x: float) -> str:
        """Return a number of this distribution as people read it: 6 digits, or a date."""
        if not self.variable.dates:
            return f"{x:.6g}"
        unit = DAY if self.std >= DAY else 1.0
        return date_text(round(x / unit) * unit)

    def width_text(self, width: float) -> str:
        """Return a standard deviation as people read it: 6 digits, that of dates in days."""
        return f"{width / DAY:.4g} days" if self.variable.dates else f"{width:.6g}"

    def _head(self) -> str:
        mean = self.number_text(self.mean)
        if len(self) == 1 and self.variance == 0.0:
            return f"{self.variable.name}: {mean} with certainty"
        kind = "Gaussian" if len(self) == 1 else f"mixture of {len(self)} Gaussians"
        return f"{self.variable.name}: {kind}, mean {mean}, standard deviation {self.width_text(self.std)}"

    def _rows(self) -> tuple[list[list[object]], str]:
        columns = zip(self.weights.tolist(), self.means.tolist(), np.sqrt(self.variances).tolist(), strict=True)
        rows: list[list[object]] = [[w, self.number_text(m), self.width_text(s)] for w, m, s in columns]
        more = f"… the {SHOWN_ROWS} largest of {len(self)}" if len(self) > SHOWN_ROWS else ""
        return rows[:SHOWN_ROWS], more

    def __repr__(self) -> str:
        if len(self) == 1:
            return self._head()
        rows, more = self._rows()
        return f"{self._head()}\n{text_grid(_HEADER, rows)}{more and chr(10) + more}"

    def _repr_html_(self) -> str:
        rows, more = self._rows()
        return html_grid(_HEADER, rows, caption=self._head() + (more and f" ({more})"))


_NAMES = ("weights", "means", "variances")
_HEADER = ["weight", "mean", "std"]


def _checked(variable: Variable, name: str, values: ArrayLike) -> np.ndarray:
    what = f"the {name} of the mixture of {variable.name!r}"
    array = np.atleast_1d(as_floats(what, values))
    if array.ndim != 1:
        raise DataError(f"{what} must be a list of numbers; got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"{what} must be finite; got {array[~np.isfinite(array)][0]:g}.")
    if name != "means" and (array < 0.0).any():
        raise DataError(f"{what} must be at least 0; got {array[array < 0.0][0]:g}.")
    return array


def _numbers(x: ArrayLike, what: str = "x") -> np.ndarray:
    array = as_floats(what, x)
    if np.isnan(array).any():
        raise DataError(f"{what} must be numbers; got NaN.")
    return array


def _plain(array: np.ndarray) -> Any:
    return float(array) if array.ndim == 0 else array
