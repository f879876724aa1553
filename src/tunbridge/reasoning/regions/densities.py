"""Densities of classes that are known: Gaussians, distributions of scipy.stats, and functions of one's own.

A Gaussian in one and in two dimensions has the density

    p(x) = exp(−(x − μ)² / 2σ²) / (σ √2π),      p(x) = exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ)) / (2π √|Σ|),

and the logarithm of it is computed without the density itself, which far from the mean is too small for a float. What
is asked of Gaussians has exact answers, so a normal distribution of scipy.stats becomes a :class:`Gaussian` too. Other
distributions answer with their own distribution functions; functions are integrated numerically.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.special import ndtr

from tunbridge._check import check_number, shortened
from tunbridge.errors import DataError
from tunbridge.reasoning.numbers import as_float, exact_value

_LOG_TAU = math.log(2.0 * math.pi)
_FARTHEST = 40.0  # standard deviations: nothing that matters lies beyond
_SPREAD = np.sinh(np.linspace(-4.0, 4.0, 481)) / math.sinh(4.0)
_FEW_SPREAD = np.sinh(np.linspace(-3.0, 3.0, 9)) / math.sinh(3.0)
_PANELS = np.array([-11.0, -8.0, -6.0, -4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 11.0])
_SINGULAR = 1e-12
_LARGEST = 1e70  # of means and deviations, so that squares of their ratios are floats


@final
@dataclass(frozen=True, init=False)
class Gaussian:
    """A normal density in one or two dimensions. It never changes.

    Parameters
    ----------
    mean : number, or two numbers
        μ; two numbers make it a density in the plane.
    variance : number, two numbers, or 2 × 2 matrix
        σ². In the plane: one variance for both coordinates, one for each, or the covariance matrix Σ.
    deviation : number
        σ, instead of the variance; on the line only. One of the two must be named.

    Examples
    --------
    >>> height = Gaussian(178, deviation=7)
    >>> height
    Gaussian(mean=178.0, variance=49.0)
    >>> round(height.pdf(180.0), 5), round(height.probability(171.0, 185.0), 4)
    (0.05471, 0.6827)
    >>> plane = Gaussian([0, 0], variance=[[1, 0.5], [0.5, 1]])
    >>> plane.n_dimensions, plane.log_pdf([[0.0, 0.0], [100.0, 100.0]]).round(3).tolist()
    (2, [-1.694, -6668.361])
    """

    mean: float | tuple[float, float]
    variance: float | tuple[tuple[float, float], tuple[float, float]]
    precision: ClassVar[float] = 1e-15

    def __init__(self, mean: Any, *, variance: Any = None, deviation: Any = None) -> None:
        if (variance is None) == (deviation is None):
            got = "neither" if variance is None else "both"
            raise DataError(f"a Gaussian must have a variance= or a deviation=, one of the two; got {got}.")
        middle = _mean(mean)
        found: Any
        if deviation is not None:
            found = _squared(deviation, middle)
        else:
            found = _variance(variance) if isinstance(middle, float) else _covariance(variance)
        self.__dict__.update(mean=middle, variance=found)

    def __str__(self) -> str:
        return f"Gaussian({_shown(self.mean)}, variance={_shown(self.variance)})"

    @property
    def n_dimensions(self) -> int:
        """1 or 2."""
        return 1 if isinstance(self.mean, float) else 2

    @property
    def support(self) -> tuple[Any, Any]:
        """Where the density is above 0: from −∞ to ∞, and in the plane that of each coordinate."""
        line = (-math.inf, math.inf)
        return line if self.n_dimensions == 1 else (line, line)

    def log_pdf(self, x: Any) -> Any:
        """Return the natural logarithm of the density at a point, or at each of an array of points.

        Parameters
        ----------
        x : number or array-like
            In the plane the last axis has the two coordinates.
        """
        points = as_points(x, self.n_dimensions)
        with np.errstate(over="ignore"):
            return _plain(self._log_pdf(points))

    def pdf(self, x: Any) -> Any:
        """Return the density at a point, or at each of an array of points."""
        return _plain(np.exp(self.log_pdf(x)))

    def _log_pdf(self, points: np.ndarray) -> np.ndarray:
        if isinstance(self.variance, float):
            off = (points - self.mean) / math.sqrt(self.variance)
            return -0.5 * (off * off + math.log(self.variance) + _LOG_TAU)
        first, second = self.along(points[..., 0])
        return first._log_pdf(points[..., 0]) + _log_normal(points[..., 1], *second)

    def along(self, x: np.ndarray) -> tuple[Gaussian, tuple[np.ndarray, float]]:
        """Return the density of the first coordinate, and mean and variance of the second one given the first."""
        (m, n), ((a, b), (_, c)) = self.mean, self.variance  # type: ignore[misc]
        return Gaussian(m, variance=a), (n + b / a * (x - m), c - b * b / a)

    def probability(self, low: Any, high: Any) -> Any:
        """Return the probability between low and high, numbers or arrays; for one dimension."""
        if not isinstance(self.variance, float):
            raise DataError("the probability of an interval must be asked of a density in one dimension; this has two.")
        deviation = math.sqrt(self.variance)
        ends = [(np.asarray(end, np.float64) - self.mean) / deviation for end in (low, high)]
        return _plain(normal_probability(*ends))

    # Where to look for boundaries, and how to cut up integrals

    @property
    def grid(self) -> np.ndarray:
        """Points from end to end of what matters, close together in the middle; of one dimension."""
        return np.asarray(self.mean) + math.sqrt(np.asarray(self.variance)) * _FARTHEST * _SPREAD

    @property
    def panels(self) -> np.ndarray:
        """Values of the first coordinate between which the density is smooth and easily integrated; of two."""
        first, _ = self.along(np.zeros(1))
        return np.asarray(first.mean) + math.sqrt(np.asarray(first.variance)) * _PANELS

    def section_edges(self, x: np.ndarray) -> np.ndarray:
        """Return the same for the second coordinate, given values of the first: an array (n, some)."""
        _, (mean, variance) = self.along(x)
        return mean[:, None] + math.sqrt(variance) * 0.3 * _FARTHEST * _FEW_SPREAD


def normal_probability(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the probability of the standard normal distribution between limits; small ones keep their digits."""
    upper = low > 0.0
    return np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def as_points(x: Any, n_dimensions: int) -> np.ndarray:
    """Return points as an array of finite floats; raise for what is none."""
    try:
        points = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        points = np.array(np.nan)
    wrong = not np.isfinite(points).all() or (n_dimensions == 2 and points.shape[-1:] != (2,))
    if wrong:
        what = "finite numbers" if n_dimensions == 1 else "pairs of finite numbers"
        raise DataError(f"points must be {what}; got {shortened(repr(x))}.")
    return points


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else f"{value:g}"


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values


def _log_normal(x: np.ndarray, mean: np.ndarray, variance: float) -> np.ndarray:
    off = (x - mean) / math.sqrt(variance)
    return -0.5 * (off * off + math.log(variance) + _LOG_TAU)


def _squared(deviation: Any, mean: float | tuple[float, float]) -> float:
    """Return the variance that goes with a deviation, of 0.2 the same as 0.04."""
    if not isinstance(mean, float):
        hint = "Give the covariance matrix as variance=."
        raise DataError(f"deviation must be that of a density on the line; this mean is two numbers. {hint}")
    value = np.asarray(deviation, object)
    if value.size != 1:
        raise DataError(f"the deviation must be one number, as the mean is; got {shortened(repr(deviation))}.")
    found = check_number("the deviation", value.item(), above=0)
    return as_float(exact_value(_moderate("the deviation", found, smallest=1.0 / _LARGEST)) ** 2)


def _mean(given: Any) -> float | tuple[float, float]:
    if isinstance(given, str) or np.ndim(np.asarray(given, object)) == 0:
        return _moderate("the mean", given)
    numbers = [_moderate("the mean", value) for value in np.ravel(np.asarray(given, object)).tolist()]
    if len(numbers) == 1:
        return numbers[0]
    if len(numbers) != 2:
        rule = "must be one number, or two for a density in the plane"
        hint = " Densities in more dimensions are not treated here." if len(numbers) > 2 else ""
        raise DataError(f"the mean {rule}; got {len(numbers)}.{hint}")
    return numbers[0], numbers[1]


def _variance(given: Any) -> float:
    value = np.asarray(given, object)
    if value.size != 1:
        raise DataError(f"the variance must be one number, as the mean is; got {shortened(repr(given))}.")
    found = check_number("the variance", value.item(), above=0)
    _moderate("the standard deviation", math.sqrt(found), smallest=1.0 / _LARGEST)
    return found


def _moderate(what: str, value: Any, smallest: float = -_LARGEST) -> float:
    """Return a number whose square, and that of its ratio to another one, is neither 0 nor infinite."""
    return check_number(what, check_number(what, value), low=smallest, high=_LARGEST)


def _covariance(given: Any) -> tuple[tuple[float, float], tuple[float, float]]:
    value = np.asarray(given, object)
    if value.shape == ():
        value = np.array([value.item()] * 2, object)
    if value.shape not in ((2,), (2, 2)):
        rule = "must be a number, two numbers or a 2 × 2 matrix, as the mean is two numbers"
        raise DataError(f"the covariance {rule}; got {shortened(repr(given))}.")
    matrix = np.diag(value) if value.shape == (2,) else value
    a, b, d, c = (check_number("the covariance", entry) for entry in matrix.ravel().tolist())
    scale = math.sqrt(max(a, 0.0)) * math.sqrt(max(c, 0.0))
    if abs(b - d) > 1e-9 * max(abs(a), abs(c), scale):
        raise DataError(f"the covariance matrix must be symmetric; got {b:g} and {d:g} beside the diagonal.")
    if not (scale > 0.0 and abs(0.5 * (b + d)) < (1.0 - _SINGULAR) * scale):
        rule = "must be positive definite: variances above 0 and a correlation between −1 and 1"
        raise DataError(f"the covariance matrix {rule}; got {shortened(str([[a, b], [d, c]]))}.")
    return (_variance(a), 0.5 * (b + d)), (0.5 * (b + d), _variance(c))
