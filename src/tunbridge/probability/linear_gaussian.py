"""The conditional linear Gaussian table: a number that depends on numbers linearly, and on categories in any way.

For each configuration j of its categorical parents a continuous variable X with continuous parents y₁ … y_p is

    X | j, y  ~  N(a_j + b_j1 y₁ + … + b_jp y_p,  s_j²),

a regression with an intercept, coefficients and a variance of its own. Without categorical parents there is one
regression, without continuous ones only intercepts: the means of the configurations.

A variance of 0 says that X *is* the linear function of its parents, without noise. Such a table has variance 0 in all
configurations or in none: a density here and a certain value there could not be compared.

References
----------
S. L. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which are qualitative
and some quantitative. Annals of Statistics 17, 31–57.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import check_number, counted, listed, shortened
from tunbridge.counts.configurations import configuration_codes
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.conditional import SHOWN_ROWS, ConditionalTable, parents_tuple
from tunbridge.probability.configured import by_configuration
from tunbridge.probability.floats import as_floats, locked
from tunbridge.probability.mixture import Mixture


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinearGaussian(ConditionalTable):
    """The table of a continuous variable: for each configuration of its categorical parents a linear regression.

    Parameters
    ----------
    variable : Variable
        A continuous variable.
    parents : sequence of Variable
        What it depends on: categorical and continuous variables, in any order.
    intercepts : number, array-like or mapping
        The intercept of each configuration of the categorical parents: one number for all; an array with an axis for
        each categorical parent, in their order, or with one entry for each configuration, the last parent fastest; or
        a mapping from states (tuples of states for several parents) to numbers.
    coefficients : mapping, or array-like
        By the name of each continuous parent, in any of the forms of the intercepts; or an array with a last axis for
        the continuous parents.
    variances : number, array-like or mapping
        As the intercepts; above 0, or 0 throughout for a variable that is the linear function exactly.
    moments : CrossMoments, optional
        The moments of the continuous parents and the variable in each configuration, where the table was learned.

    Attributes
    ----------
    intercepts, variances : ndarray of shape ``shape``
        With an axis for each categorical parent.
    coefficients : ndarray of shape (*shape, n_continuous_parents)
        With a last axis for the continuous parents, in their order.
    counts : ndarray or None
        The number (or weight) of the rows behind each configuration, where the table was learned.

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

    def __init__(
        self,
        variable: Variable,
        parents: Any = (),
        intercepts: Any = 0.0,
        coefficients: Any = None,
        variances: Any = None,
        *,
        moments: CrossMoments | None = None,
    ) -> None:
        family = _checked_family(variable, parents)
        self.__dict__.update(variable=variable, parents=family, counts=None, moments=None)
        if variances is None:
            raise DataError(f"the variances of {variable.name!r} must be given; got none.")
        values = {
            "intercepts": by_configuration(self._what("intercepts"), intercepts, self.discrete_parents),
            "coefficients": self._read_coefficients(coefficients),
            "variances": by_configuration(self._what("variances"), variances, self.discrete_parents),
        }
        for name, array in values.items():
            self._check_finite(name, array)
        _check_variances(variable, values["variances"])
        self.__dict__.update({name: locked(array) for name, array in values.items()})
        self._keep_moments(moments)

    def _read_coefficients(self, given: Any) -> np.ndarray:
        names = [p.name for p in self.continuous_parents]
        shape = (*self.shape, len(names))
        if isinstance(given, Mapping):
            self._check_names("coefficients", given, names)
            absent = [name for name in names if name not in given]
            if absent:
                raise DataError(f"{self._what('coefficients')} must name every continuous parent; {absent[0]!r} lacks.")
            parts = [by_configuration(self._what("coefficients"), given[name], self.discrete_parents) for name in names]
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
    def discrete_parents(self) -> tuple[Variable, ...]:
        """The categorical parents, in their order."""
        return tuple(p for p in self.parents if p.is_categorical)

    @property
    def continuous_parents(self) -> tuple[Variable, ...]:
        """The continuous parents, in their order."""
        return tuple(p for p in self.parents if p.is_continuous)

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of states of the categorical parents."""
        return tuple(p.n_states for p in self.discrete_parents)

    @property
    def n_configurations(self) -> int:
        """How many configurations the categorical parents have."""
        return math.prod(self.shape)

    @property
    def n_parameters(self) -> int:
        """How many numbers are free: of each configuration an intercept, the coefficients and a variance."""
        return self.n_configurations * (len(self.continuous_parents) + 2)

    @property
    def is_exact(self) -> bool:
        """Whether the variable is the linear function of its parents without noise."""
        return not self.variances.any()

    # Rows

    def distribution(self, given: Mapping[str, object] | None = None) -> Mixture:  # type: ignore[override]
        """Return the Gaussian of the variable for one configuration of its parents.

        Parameters
        ----------
        given : mapping of parent name to state or number
            Every parent must be there; without parents leave it out.
        """
        values = self._configuration(given or {})
        j = tuple(int(c) for p, c in zip(self.parents, values, strict=True) if p.is_categorical)
        y = np.array([c for p, c in zip(self.parents, values, strict=True) if p.is_continuous])
        mean = float(self.intercepts[j] + self.coefficients[j] @ y) if len(y) else float(self.intercepts[j])
        return Mixture._trusted(self.variable, np.ones(1), np.array([mean]), np.array([float(self.variances[j])]))

    def _value_of(self, parent: Variable, given: object) -> Any:
        if parent.is_categorical:
            return parent.code(given)
        return check_number(f"the value of {parent.name!r}", given)

    def _table(self) -> np.ndarray:
        hint = "Look at its intercepts, coefficients and variances."
        raise DataError(
            f"a table that is written out must be of categories; {self.variable.name!r} is a number. {hint}"
        )

    def table(self) -> np.ndarray:
        """Raise: there are no probabilities of states to be written out."""
        return self._table()

    def _rows(self, codes: np.ndarray) -> np.ndarray:
        return self._table()

    def rows(self, codes: Any) -> np.ndarray:
        """Raise: there are no probabilities of states."""
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

    def _checked_counts(self, counts: Any) -> np.ndarray:
        hint = "Give the moments when it is made."
        raise DataError(f"{self._what('counts')} must be those of its moments; got others. {hint}")

    # For people

    def _size(self) -> str:
        return f"{counted(self.n_configurations, 'regression')} on {counted(len(self.continuous_parents), 'number')}"

    def _header(self) -> list[object]:
        names = [[p.name for p in some] for some in (self.discrete_parents, self.continuous_parents)]
        return [*names[0], "intercept" if names[1] else "mean", *names[1], "std"]

    def _shown(self) -> tuple[list[list[object]], int]:
        n, k = min(self.n_configurations, SHOWN_ROWS), len(self.continuous_parents)
        codes = configuration_codes(np.arange(n), self.shape).tolist()
        numbers = np.column_stack(
            [
                self.intercepts.ravel()[:n],
                self.coefficients.reshape(self.n_configurations, k)[:n],
                np.sqrt(self.variances.ravel()[:n]),
            ]
        )
        rows = []
        for line, row in zip(codes, numbers.tolist(), strict=True):
            states = [(p.states or ())[c] for p, c in zip(self.discrete_parents, line, strict=True)]
            rows.append([*states, *(f"{number:.6g}" for number in row)])
        return rows, self.n_configurations - n

    def __repr__(self) -> str:
        parents = f" | {listed(p.name for p in self.parents)}" if self.parents else ""
        return f"LinearGaussian({self.variable.name!r}{parents}: {self._size()})"


def _checked_family(variable: Any, parents: Any) -> tuple[Variable, ...]:
    """Return the parents as a tuple; raise unless the variable is continuous and all names are distinct."""
    family = (*parents_tuple(parents), variable)
    for v in family:
        if not isinstance(v, Variable):
            raise DataError(f"variable and parents must be Variables; got {shortened(repr(v))}.")
        if v.states is not None and not v.states:
            raise DataError(f"the categorical parents of a LinearGaussian must have states; {v.name!r} has none.")
    if variable.is_categorical:
        hint = "CPT is the table of a categorical one."
        raise DataError(f"the variable of a LinearGaussian must be continuous; {variable.name!r} has states. {hint}")
    names = [v.name for v in family]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the variable and its parents must have distinct names; got {twice!r} more than once.")
    return family[:-1]


def _check_variances(variable: Variable, variances: np.ndarray) -> None:
    what = f"the variances of {variable.name!r}"
    if (variances < 0.0).any():
        raise DataError(f"{what} must be at least 0; got {variances[variances < 0.0][0]:g}.")
    if (variances == 0.0).any() and variances.any():
        hint = "Give those that are 0 a small one."
        raise DataError(f"{what} must be above 0 in every configuration, or 0 in all; got both. {hint}")
