"""A finite mixture of Gaussians: what is known of a continuous variable.

    p(x) = Σ_i w_i N(x; μ_i, σ_i²),     μ = Σ w_i μ_i,     σ² = Σ w_i (σ_i² + (μ_i − μ)²).

In a network of Gaussian and categorical variables the posterior of a number is such a mixture: one Gaussian for each
configuration of the categories that matter, weighted by its probability. A component with variance 0 is a value that is
certain; its density is infinite there and 0 elsewhere.

References
----------
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models.
Journal of the American Statistical Association 87, 1098–1108.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tunbridge._check import check_number, shortened
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.floats import TOLERANCE, as_floats, locked
from tunbridge.probability.grid import html_grid, text_grid

_SHOWN = 20
_HALVINGS = 200
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Mixture:
    """The distribution of a continuous variable: a mixture of one or more Gaussians. It never changes.

    Parameters
    ----------
    variable : Variable
        A continuous variable.
    weights, means, variances : array-like of shape (n,)
        Of each Gaussian. Weights are ≥ 0 and sum to one within 1e-6; they are then rescaled. A variance may be 0.

    Attributes
    ----------
    weights, means, variances : ndarray
        Of each Gaussian, the weightiest first; equal ones are put together, and those of weight 0 left out.

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

    def __init__(self, variable: Variable, weights: Any, means: Any, variances: Any) -> None:
        if not isinstance(variable, Variable) or not variable.is_continuous:
            raise DataError(
                f"the variable of a mixture must be a continuous Variable; got {shortened(repr(variable))}."
            )
        arrays = [_checked(variable, *each) for each in zip(_NAMES, (weights, means, variances), strict=True)]
        if not arrays[0].size or len({len(array) for array in arrays}) > 1:
            sizes = ", ".join(str(len(array)) for array in arrays)
            raise DataError(f"weights, means and variances must be equally many, and at least one; got {sizes}.")
        total = float(arrays[0].sum())
        if not abs(total - 1.0) <= TOLERANCE:
            raise DataError(f"the weights of a mixture must sum to 1; got {total:.10g}.")
        self.__dict__.update(variable=variable)
        self._settle(*arrays)

    @classmethod
    def _trusted(cls, variable: Variable, weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Mixture:
        """Return the mixture of arrays that need no check; the weights are ≥ 0 and their sum is above 0."""
        self = object.__new__(cls)
        self.__dict__.update(variable=variable)
        self._settle(weights, means, variances)
        return self

    def _settle(self, weights: np.ndarray, means: np.ndarray, variances: np.ndarray) -> None:
        kinds, place = np.unique(np.stack([means, variances]), axis=1, return_inverse=True)
        summed = np.bincount(place.ravel(), weights, kinds.shape[1])
        order = np.argsort(-summed, kind="stable")
        order = order[summed[order] > 0.0]
        kept = summed[order] / summed.sum(), kinds[0, order], kinds[1, order]
        self.__dict__.update(zip(_NAMES, map(locked, kept), strict=True))

    # What it tells

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def mean(self) -> float:
        """The mean."""
        middle = float(self.means[0])  # so that far-away means cost no digits
        return middle + float(self.weights @ (self.means - middle))

    @property
    def variance(self) -> float:
        """The variance."""
        return float(self.weights @ (self.variances + (self.means - self.mean) ** 2))

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def density(self, x: Any) -> Any:
        """Return the density at a number, or at each of an array."""
        with np.errstate(over="ignore"):
            return _plain(np.exp(self._log_density(_numbers(x))))

    def log_density(self, x: Any) -> Any:
        """Return the natural logarithm of the density at a number, or at each of an array."""
        return _plain(self._log_density(_numbers(x)))

    def _log_density(self, x: np.ndarray) -> np.ndarray:
        from scipy.special import logsumexp  # when it is needed: most questions are about categories

        with np.errstate(divide="ignore", invalid="ignore"):
            off = (x[..., None] - self.means) / np.sqrt(self.variances)
            terms = np.log(self.weights) - 0.5 * off * off - 0.5 * np.log(self.variances) - _LOG_ROOT
            certain = self.variances == 0.0
            if certain.any():
                at = np.where(x[..., None] == self.means, np.inf, -np.inf)
                terms = np.where(certain, at, terms)
        return np.asarray(logsumexp(terms, axis=-1))

    def cdf(self, x: Any) -> Any:
        """Return the probability of at most x, a number or each of an array."""
        return _plain(np.clip((self.weights * self._steps(_numbers(x))).sum(axis=-1), 0.0, 1.0))

    def _steps(self, x: np.ndarray) -> np.ndarray:
        """Return the distribution function of each Gaussian."""
        from scipy.special import ndtr

        with np.errstate(divide="ignore", invalid="ignore"):
            off = (x[..., None] - self.means) / np.sqrt(self.variances)
        return ndtr(np.where(np.isnan(off), np.inf, off))  # 0/0: at the very value that is certain

    def quantile(self, p: Any) -> Any:
        """Return the value that is exceeded with probability 1 − p: for p from 0 to 1, or for each of an array."""
        from scipy.special import ndtri

        share = _numbers(p, "p")
        if not ((share >= 0.0) & (share <= 1.0)).all():
            raise DataError(f"p must be from 0 to 1; got {share[~((share >= 0.0) & (share <= 1.0))].ravel()[0]:g}.")
        with np.errstate(invalid="ignore"):
            each = self.means + np.where(self.variances > 0.0, np.sqrt(self.variances) * ndtri(share)[..., None], 0.0)
        low, high = each.min(axis=-1), each.max(axis=-1)  # of the mixture it lies between those of the Gaussians
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
        """Return whether P(at most x) < share; in the upper half by the other tail, which keeps its digits."""
        from scipy.special import ndtr

        lower = (self.weights * self._steps(x)).sum(axis=-1) < share
        with np.errstate(divide="ignore", invalid="ignore"):
            off = (self.means - x[..., None]) / np.sqrt(self.variances)
        tail = ndtr(np.where(np.isnan(off), -np.inf, off))
        upper = (self.weights * tail).sum(axis=-1) > 1.0 - share
        return np.where(share > 0.5, upper, lower)

    def interval(self, probability: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the value with this probability, as much left out below as above."""
        share = check_number("probability", probability, above=0, high=1)
        return float(self.quantile(0.5 * (1.0 - share))), float(self.quantile(0.5 * (1.0 + share)))

    # As an object

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        pairs = zip(self._arrays, other._arrays, strict=True)
        return self.variable == other.variable and all(np.array_equal(a, b) for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.weights, self.means, self.variances

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for array in self._arrays:  # pickling forgets that arrays are read-only
            locked(array)

    def _head(self) -> str:
        if len(self) == 1 and self.variance == 0.0:
            return f"{self.variable.name}: {self.mean:.6g}, which is certain"
        kind = "Gaussian" if len(self) == 1 else f"mixture of {len(self)} Gaussians"
        return f"{self.variable.name}: {kind}, mean {self.mean:.6g}, standard deviation {self.std:.6g}"

    def _rows(self) -> tuple[list[list[object]], str]:
        columns = zip(self.weights.tolist(), self.means.tolist(), np.sqrt(self.variances).tolist(), strict=True)
        rows: list[list[object]] = [[w, f"{m:.6g}", f"{s:.6g}"] for w, m, s in columns]
        return rows[:_SHOWN], f"… the {_SHOWN} weightiest of {len(self)}" if len(self) > _SHOWN else ""

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


def _checked(variable: Variable, name: str, values: Any) -> np.ndarray:
    what = f"the {name} of the mixture of {variable.name!r}"
    array = np.atleast_1d(as_floats(what, values))
    if array.ndim != 1:
        raise DataError(f"{what} must be a list of numbers; got an array of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise DataError(f"{what} must be finite; got {array[~np.isfinite(array)][0]:g}.")
    if name != "means" and (array < 0.0).any():
        raise DataError(f"{what} must be at least 0; got {array[array < 0.0][0]:g}.")
    return array


def _numbers(x: Any, what: str = "x") -> np.ndarray:
    array = as_floats(what, x)
    if np.isnan(array).any():
        raise DataError(f"{what} must be numbers; got NaN.")
    return array


def _plain(array: np.ndarray) -> Any:
    return float(array) if array.ndim == 0 else array
