"""What an emission is: the distribution of an observation in each hidden state, p(x | z = k).

Observations are one array x of shape (n, d), with NaN for missing values and codes 0, 1, … for the states of a
categorical column. Its rows may be the distinct observations of a sample, with summed weights: everything here is a
function of rows. Expectation–maximization asks an emission for three things:

    log_likelihood(x)      ln p(x_i | k) for every row i and state k,
    fit(x, w)              the parameters that maximize Σ_i Σ_k w_ik ln p(x_i | k) + ln p(parameters),
    sample(states, rng)    an observation for every state in a sequence.

That is all a user-written emission needs; the rest has defaults. Emissions do not change: ``fit`` returns another one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from tunbridge._core.check import check_number, counted, shortened
from tunbridge._core.lazy import LazyModule
from tunbridge._core.packing import FloatArray
from tunbridge.errors import DataError

special = LazyModule("scipy.special")

if TYPE_CHECKING:
    Values: TypeAlias = Any
else:
    Values = FloatArray | None  # a parameter, None until it is known; methods check that once

IMPOSSIBLE = -1e300
"""Stands for ln 0 in matrix products, where 0 · −∞ would be NaN."""


class Emission(ABC):
    """The distribution of an observation in each of K hidden states.

    Write a family of your own as a class with ``log_likelihood``, ``fit`` and ``sample``.

    Examples
    --------
    Waiting times with an exponential distribution, p(x | k) = r_k exp(−r_k x):

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True, eq=False)
    ... class Exponential(Emission):
    ...     rates: np.ndarray | None = None
    ...
    ...     def log_likelihood(self, x):
    ...         return np.where(np.isnan(x), 0.0, np.log(self.rates) - self.rates * x)
    ...
    ...     def fit(self, x, weights):
    ...         seen = ~np.isnan(x)
    ...         return Exponential((weights.T @ seen).ravel() / (weights.T @ np.where(seen, x, 0.0)).ravel())
    ...
    ...     def sample(self, states, rng):
    ...         return rng.exponential(1.0 / self.rates[states])[:, None]
    >>> x = np.array([[0.5], [1.5], [np.nan], [10.0]])
    >>> Exponential().fit(x, np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).rates.tolist()
    [1.0, 0.1]
    """

    @abstractmethod
    def log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return ln p(x_i | k), shape (n, K); missing values are marginalized, so a row without values gives 0."""

    @abstractmethod
    def fit(self, x: np.ndarray, weights: np.ndarray) -> Self:
        """Return the emission with parameters estimated from rows with weights (n, K): the M step.

        Parameters that are known already complete missing values (one step of EM), and stay in states without weight.
        """

    @abstractmethod
    def sample(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return an observation for each state, shape (n, d)."""

    _shared: ClassVar[frozenset[str]] = frozenset({"prior_means", "prior_variances", "variances"})
    """Parameters that all states share."""

    @property
    def lags(self) -> int:
        """How many earlier rows each row has as further columns: x is (n, d · (1 + lags)), the latest first."""
        return 0

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of all states together; 0 where a family does not say."""
        return 0

    def log_prior(self) -> float:
        """Return the log-density of the prior at the parameters, up to a constant; 0 without a prior."""
        return 0.0

    def permuted(self, order: np.ndarray) -> Self:
        """Return the emission with its states in another order."""
        tied = {"covariances", "scales"} if getattr(self, "covariance", "") == "tied" else set()
        arrays = {name: v for name, v in vars(self).items() if isinstance(v, np.ndarray)}
        own = {name: v[order] for name, v in arrays.items() if name not in self._shared | tied}
        return replace(self, **own)  # type: ignore[type-var]

    @property
    def expected(self) -> np.ndarray | None:
        """The expected value of each column in each state, (K, d); None where a family does not say."""
        found = getattr(self, "means", None)
        return getattr(self, "rates", None) if found is None else found

    def posterior(self, x: np.ndarray, weights: np.ndarray) -> Conjugate:
        """Return the exact posterior of the parameters given rows with weights (n, K)."""
        name = type(self).__name__
        raise DataError(
            f"emissions must have a conjugate prior for Bayesian learning; got {name}. "
            "Use Categorical, Gaussian, Poisson, or Independent of these, or learn by EM."
        )


class Conjugate(ABC):
    """The posterior of the parameters of an emission, given rows weighted by their probability in each state."""

    @abstractmethod
    def expected_log_likelihood(self, x: np.ndarray) -> np.ndarray:
        """Return E ln p(x_i | k) over the posterior, shape (n, K), for variational Bayes."""

    @abstractmethod
    def divergence(self) -> float:
        """Return the Kullback–Leibler divergence of the posterior from the prior, summed over states."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Emission:
        """Return an emission with parameters drawn from the posterior."""

    @abstractmethod
    def mean(self) -> Emission:
        """Return an emission with the posterior means of the parameters."""


def as_rows(x: Any, width: int | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return x as floats of shape (n, d), and where values are missing, None for nowhere."""
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2:
        raise DataError(f"x must have rows and columns; got {counted(x.ndim, 'dimension')}. Try x.reshape(-1, 1).")
    if width is not None and x.shape[1] != width:
        raise DataError(f"x must have {counted(width, 'column')}, as the emission has; got {x.shape[1]}.")
    if np.isfinite(x.sum()):
        return x, None
    if np.isinf(x).any():
        raise DataError("x must hold finite numbers, or NaN for missing values; got infinity.")
    missing = np.isnan(x)
    return x, missing if missing.any() else None


def as_weights(weights: Any, n_rows: int, n_states: int | None = None) -> np.ndarray:
    """Return weights as floats; raise unless there is one for each row and state."""
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 2 or len(weights) != n_rows or n_states not in (None, weights.shape[1]):
        states = "number of states" if n_states is None else n_states
        raise DataError(f"weights must have the shape ({n_rows}, {states}); got {weights.shape}.")
    return weights


def as_counts(x: Any, width: int | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return x as :func:`as_rows` does; raise unless it holds counts."""
    x, missing = as_rows(x, width)
    wrong = (x < 0) | (x != np.floor(x)) if missing is None else ((x < 0) | (x != np.floor(x))) & ~missing
    if wrong.any():
        raise DataError(f"x must hold counts 0, 1, 2, …; got {x[wrong][0]:g}.")
    return x, missing


def as_parameters(what: str, values: Any, shape: tuple[int | None, ...], *, low: float | None = None) -> np.ndarray:
    """Return a read-only copy of parameters; raise unless they have a shape (None: any size), and are ≥ low."""
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; got {shortened(repr(values))}.", parameter=what) from None
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise DataError(f"{what} must have the shape ({wanted}); got {array.shape}.", parameter=what)
    if not np.isfinite(array).all():
        raise DataError(f"{what} must be finite; got {array[~np.isfinite(array)][0]}.", parameter=what)
    if low is not None and array.size and array.min() < low:
        raise DataError(f"{what} must be at least {low:g}; got {array.min():g}.", parameter=what)
    array.setflags(write=False)
    return array


def as_probabilities(what: str, values: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a read-only copy of probabilities; raise unless each row sums to one."""
    array = as_parameters(what, values, shape, low=0.0)
    sums = array.sum(-1)
    if array.size == 0 or np.abs(sums - 1.0).max() > 1e-6:
        got = sums[np.abs(sums - 1.0).argmax()] if sums.size else 0
        raise DataError(f"{what} must sum to one in each state; got {got:g}.", parameter=what)
    return array


def as_positive(what: str, values: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a read-only copy of positive parameters."""
    array = as_parameters(what, values, shape)
    if array.size and array.min() <= 0.0:
        raise DataError(f"{what} must be greater than 0; got {array.min():g}.", parameter=what)
    return array


def check_settings(**settings: object) -> None:
    """Raise unless settings are finite numbers, 0 at least; the floor of variances is above 0."""
    for name, value in settings.items():
        check_number(name, value, **({"above": 0.0} if name == "floor" else {"low": 0.0}))


def check_known(emission: Emission, parameters: object) -> None:
    """Raise unless an emission has its parameters."""
    if parameters is None:
        name = type(emission).__name__
        raise DataError(f"an emission must have parameters; this {name} has none yet. Call fit, or give them.")


def put(emission: Any, **fields: object) -> None:
    """Set fields of an emission that is being built: it is frozen afterwards."""
    for name, value in fields.items():
        object.__setattr__(emission, name, value)


def gamma_divergence(a: np.ndarray, b: np.ndarray, a0: float | np.ndarray, b0: float | np.ndarray) -> float:
    """Return the summed divergence of Gamma(a, b) from Gamma(a0, b0), where b are rates."""
    logs = special.gammaln(a0) - special.gammaln(a) + a0 * (np.log(b) - np.log(b0))
    return float(np.sum((a - a0) * special.digamma(a) + logs + a * (b0 - b) / b))
