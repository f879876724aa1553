"""Known densities of classes: Gaussians, distributions of scipy.stats, and functions.

A Gaussian in one and in two dimensions has the density

    p(x) = exp(−(x − μ)² / 2σ²) / (σ √2π),      p(x) = exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ)) / (2π √|Σ|),

whose logarithm is computed directly, because far from the mean the density underflows. Gaussians have exact answers, so
a normal distribution of scipy.stats becomes a :class:`Gaussian`. Other distributions use their own distribution
functions; functions are integrated numerically.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander
from numpy.typing import ArrayLike
from scipy.special import ndtr

from tunbridge._core.check import check_number, shortened
from tunbridge.errors import DataError
from tunbridge.probability.reading import as_floats
from tunbridge.reasoning.numbers import as_float, exact_value, scalar_or_array

_LOG_TAU = math.log(2.0 * math.pi)
_GRID = 40.0 * np.sinh(np.linspace(-4.0, 4.0, 481)) / math.sinh(4.0)  # standard deviations: denser in the middle
_PANELS = np.array([-11.0, -8.0, -6.0, -4.5, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.5, 6.0, 8.0, 11.0])
_SINGULAR = 1e-12
_LARGEST = 1e70  # of means and deviations, so that squares of their ratios are floats
_FAR = 40.0  # sinh(40) is 10¹⁷
_OFF = 1e-4
_SHARES = np.union1d(1.0 / (1.0 + np.exp(np.linspace(2.0, 30.0, 57))), np.linspace(0.01, 0.5, 50))
_NEEDED = ("logpdf", "cdf", "sf", "ppf", "isf", "support")


@final
@dataclass(frozen=True, init=False)
class Gaussian:
    """A normal density in one or two dimensions.

    Parameters
    ----------
    mean : number, or two numbers
        μ; two numbers make it a density in the plane.
    variance : number, two numbers, or 2 × 2 matrix
        σ². In the plane: one variance for both coordinates, one for each, or the covariance matrix Σ.
    deviation : number
        The standard deviation σ, instead of the variance; in one dimension only.

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

    def __init__(self, mean: object, *, variance: object = None, deviation: object = None) -> None:
        if (variance is None) == (deviation is None):
            got = "neither" if variance is None else "both"
            raise DataError(f"a Gaussian must have either variance= or deviation=; got {got}.")
        middle = np.ravel(as_floats("mean", mean))
        if middle.size not in (1, 2) or not (np.abs(middle) <= _LARGEST).all():
            rule = "mean must be one number, or two for a density in the plane"
            raise DataError(f"{rule}; got {shortened(repr(mean))}.", parameter="mean")
        if deviation is not None:
            if middle.size == 2:
                raise DataError("deviation needs a density in one dimension; use variance= in the plane.")
            sigma = np.asarray(deviation, object)
            given = sigma.item() if sigma.size == 1 else deviation
            variance = as_float(exact_value(check_number("deviation", given, above=0)) ** 2)
        matrix = _covariance(variance, middle.size)
        found = float(matrix[0, 0]) if middle.size == 1 else tuple(map(tuple, matrix.tolist()))
        self.__dict__.update(mean=float(middle[0]) if middle.size == 1 else tuple(middle.tolist()), variance=found)

    def __str__(self) -> str:
        return f"Gaussian({_shown(self.mean)}, variance={_shown(self.variance)})"

    @property
    def n_dimensions(self) -> int:
        """1 or 2."""
        return 1 if isinstance(self.mean, float) else 2

    @property
    def support(self) -> tuple[Any, Any]:
        """Where the density is above 0: from −∞ to ∞, in the plane for each coordinate."""
        line = (-math.inf, math.inf)
        return line if self.n_dimensions == 1 else (line, line)

    def log_pdf(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the density at a point or at an array of points.

        Parameters
        ----------
        x : number or array-like
            In the plane the last axis has the two coordinates.
        """
        points = as_points(x, self.n_dimensions)
        with np.errstate(over="ignore"):
            if isinstance(self.variance, float):
                return scalar_or_array(log_normal(points, self.mean, self.variance))
            first, second = self.along(points[..., 0])
            return scalar_or_array(log_normal(points[..., 0], *first) + log_normal(points[..., 1], *second))

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at a point or at an array of points."""
        return scalar_or_array(np.exp(self.log_pdf(x)))

    def along(self, x: np.ndarray) -> tuple[tuple[float, float], tuple[np.ndarray, float]]:
        """Return mean and variance of the first coordinate, and those of the second one given the first."""
        (m, n), ((a, b), (_, c)) = self.mean, self.variance  # type: ignore[misc]
        return (m, a), (n + b / a * (x - m), c - b * b / a)

    def probability(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability between low and high, numbers or arrays; in one dimension."""
        if not isinstance(self.variance, float):
            raise DataError("the probability of an interval needs a density in one dimension; this one has two.")
        deviation = math.sqrt(self.variance)
        ends = [(np.asarray(end, np.float64) - self.mean) / deviation for end in (low, high)]
        return scalar_or_array(normal_probability(*ends))

    @property
    def grid(self) -> np.ndarray:
        """Points where boundaries are searched in one dimension, up to 40 standard deviations from the mean."""
        return np.asarray(self.mean) + math.sqrt(np.asarray(self.variance)) * _GRID

    @property
    def panels(self) -> np.ndarray:
        """In the plane: values of the first coordinate between which the density is easily integrated."""
        (mean, variance), _ = self.along(np.zeros(1))
        return mean + math.sqrt(variance) * _PANELS


def log_normal(x: np.ndarray, mean: ArrayLike, variance: float) -> np.ndarray:
    """Return ln N(x; mean, variance)."""
    off = (x - mean) / math.sqrt(variance)
    return np.asarray(-0.5 * (off * off + math.log(variance) + _LOG_TAU))


def normal_probability(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the probability of the standard normal distribution between limits; small ones keep their digits."""
    return np.where(low > 0.0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def as_points(x: ArrayLike, n_dimensions: int) -> np.ndarray:
    """Return points as an array of finite floats."""
    points = as_floats("points", x)
    if not np.isfinite(points).all() or (n_dimensions == 2 and points.shape[-1:] != (2,)):
        what = "finite numbers" if n_dimensions == 1 else "pairs of finite numbers"
        raise DataError(f"points must be {what}; got {shortened(repr(x))}.")
    return points


def _shown(value: object) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, tuple) else f"{value:g}"


def _covariance(given: object, n: int) -> np.ndarray:
    """Return the covariance matrix of n coordinates, from one variance, one for each, or the matrix."""
    value = as_floats("variance", given)
    if value.shape not in ((), (1,), (n,), (n, n)):
        rule = "one number" if n == 1 else "a number, two numbers or a 2 × 2 matrix"
        raise DataError(f"variance must be {rule}, as the mean has {n}; got {shortened(repr(given))}.")
    matrix = value if value.ndim == 2 else np.diag(np.broadcast_to(value, n))
    if not ((np.diag(matrix) >= _LARGEST**-2) & (np.diag(matrix) <= _LARGEST**2)).all():
        raise DataError(f"variance must be above 0 and moderate; got {shortened(repr(given))}.", parameter="variance")
    scale = np.sqrt(np.diag(matrix))
    correlation = matrix / scale[:, None] / scale
    if not (np.abs(matrix - matrix.T) <= 1e-9 * np.abs(matrix).max()).all():
        raise DataError(f"variance must be a symmetric matrix; got {shortened(repr(given))}.", parameter="variance")
    if n == 2 and not abs(correlation[0, 1] + correlation[1, 0]) < 2.0 - 2.0 * _SINGULAR:
        rule = "must be positive definite: correlations between −1 and 1"
        raise DataError(f"variance {rule}; got {shortened(repr(given))}.", parameter="variance")
    return 0.5 * (matrix + matrix.T)


# Functions


@final
@dataclass(frozen=True, eq=False, repr=False)
class Density:
    """A density on the line, given by a function.

    The function must be nowhere negative and integrate to one over its support, within 1e-4. The integral is taken when
    the density is made. On an infinite support it covers distances up to 10¹⁷ from 0, or from the finite end.

    Parameters
    ----------
    function : callable
        p(x), of numbers, or of arrays, which is faster.
    support : (low, high)
        Where the density may be above 0; outside it counts as 0. The ends may be infinite.

    Examples
    --------
    >>> triangle = Density(lambda x: 1 - abs(x), (-1, 1))
    >>> triangle.pdf([-2.0, 0.25]).tolist(), round(triangle.probability(0.5, 1.0), 12)
    ([0.0, 0.75], 0.125)
    >>> Density(lambda x: x, (0, 1))
    Traceback (most recent call last):
    tunbridge.errors.DataError: a density must integrate to one over its support; got 0.5. Divide it by that.
    """

    function: Callable[..., Any]
    support: tuple[float, float]
    _called: Callable[..., Any] = field(init=False)
    _total: Integral = field(init=False)
    n_dimensions: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DataError(f"a density must be given by a function; got {shortened(repr(self.function))}.")
        support = _support(self.support)
        called = (
            self.function if _takes_arrays(self.function, *support) else np.vectorize(self.function, otypes=[float])
        )
        self.__dict__.update(support=support, _called=called)
        total = integrate(self._values, _first_panels(*support))
        self.__dict__.update(_total=total)
        if not abs(float(total.value) - 1.0) <= _OFF + total.error:
            nearby = 1e-3 < float(total.value) < 1e6
            hint = "Divide it by that." if nearby else "Give a support that is nearer to where the density lies."
            raise DataError(f"a density must integrate to one over its support; got {float(total.value):g}. {hint}")

    @property
    def precision(self) -> float:
        """An estimate of the error of probabilities."""
        return self._total.error + abs(float(self._total.value) - 1.0)

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at a point or at an array of points."""
        return scalar_or_array(self._values(as_points(x, 1)))

    def log_pdf(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the density; −∞ where it is 0."""
        with np.errstate(divide="ignore"):
            return scalar_or_array(np.log(self.pdf(x)))

    def probability(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability between low and high, numbers or arrays."""
        ends = np.broadcast_arrays(np.asarray(low, np.float64), np.asarray(high, np.float64))
        found = [self._between(a, b) for a, b in zip(*(end.ravel().tolist() for end in ends), strict=True)]
        return scalar_or_array(np.reshape(found, ends[0].shape))

    @property
    def grid(self) -> np.ndarray:
        """Points where boundaries are searched, close together where the density varies."""
        edges = self._total.edges
        nodes = _nodes(edges[:-1], edges[1:])
        some = np.flatnonzero(self._values(nodes).max(axis=1) > 0.0)
        return np.union1d(nodes[some[0] : some[-1] + 1], edges[some[0] : some[-1] + 2])

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"Density({name}, support={self.support})"

    def _values(self, points: np.ndarray) -> np.ndarray:
        """Return the density, 0 outside the support; raise if the function returns a negative value or no number."""
        inside = (points >= self.support[0]) & (points <= self.support[1])
        found, asked = np.zeros(inside.shape), points[inside]
        if asked.size:
            with np.errstate(all="ignore"):
                try:
                    values = np.asarray(self._called(asked), np.float64)
                except Exception as error:
                    got = shortened(f"{type(error).__name__}: {error}")
                    raise DataError(f"a density must be a function of one number; calling it gave {got}.") from error
            bad = np.flatnonzero(~(values >= 0.0))
            if bad.size:
                got = f"{values[bad[0]]:g} at {asked[bad[0]]:g}"
                raise DataError(f"a density must be a number of at least 0; got {got}.")
            found[inside] = values
        return found

    def _between(self, low: float, high: float) -> float:
        edges = self._total.edges
        a, b = max(low, edges[0]), min(high, edges[-1])
        if not a < b:
            return 0.0
        return float(integrate(self._values, np.array([a, *edges[(edges > a) & (edges < b)], b])).value)


def _support(given: object) -> tuple[float, float]:
    pair = as_floats("support", given)
    if pair.shape != (2,) or not pair[0] < pair[1]:
        raise DataError(f"the support must be (low, high) with low < high; got {shortened(repr(given))}.")
    return float(pair[0]), float(pair[1])


def _takes_arrays(function: Callable[..., Any], low: float, high: float) -> bool:
    """Return whether a function takes arrays."""
    start = low if math.isfinite(low) else high - 1.0 if math.isfinite(high) else -1.0
    end = high if math.isfinite(high) else start + 1.0
    with np.errstate(all="ignore"):
        try:
            return np.shape(np.asarray(function(np.linspace(start, end, 5)[1:4]), np.float64)) == (3,)
        except Exception:
            return False


def _first_panels(low: float, high: float) -> np.ndarray:
    if math.isfinite(low) and math.isfinite(high):
        return np.linspace(low, high, 33)
    if math.isinf(low) and math.isinf(high):
        return np.sinh(np.linspace(-_FAR, _FAR, 401))
    away = np.sinh(np.linspace(0.0, _FAR, 201))
    return low + away if math.isfinite(low) else high - away[::-1]


# Integrals

_INNER, _WEIGHTS = leggauss(15)
_END = 1.0 - 1e-9
_NODES = np.array([-_END, *_INNER, _END])
_COEFFICIENTS = np.linalg.inv(legvander(_INNER, 14))  # from values at the nodes to a Legendre series
_BEFORE = legvander(np.array([-_END]), 14)[0] @ _COEFFICIENTS
_UNSEEN = 1.0 + _INNER[0]
_NARROWEST = 1e-13


@dataclass(frozen=True, eq=False)
class Integral:
    """Integrals, an estimate of their error, and the panels they were computed on.

    Parameters
    ----------
    value : ndarray
        The integral of each function.
    error : float
        The estimated error of all of them together.
    edges : ndarray
        The ends of the panels: close together where the functions vary.
    """

    value: np.ndarray
    error: float
    edges: np.ndarray


def integrate(
    function: Callable[[np.ndarray], np.ndarray],
    edges: np.ndarray,
    *,
    tolerance: float = 1e-11,
    most_panels: int = 2000,
) -> Integral:
    """Return the integrals of functions from the first edge to the last, by Gauss–Legendre with 15 nodes a panel.

    A panel is halved where the polynomial through its nodes has not converged, or does not continue to its ends, as
    near a jump. All panels of a round are computed in one call of the function;
    ``scipy.integrate.quad_vec`` calls it for one point at a time.

    Parameters
    ----------
    function : callable
        Takes points, an array of shape (n,), and returns an array of shape (n, …): the values of all functions.
    edges : ndarray
        The ends of the first panels, increasing.
    tolerance : float
        Panels are halved until the estimated errors sum to at most this,
    most_panels : int
        or until there are this many of them; then the reported error is larger.

    Examples
    --------
    >>> import numpy as np
    >>> found = integrate(lambda x: np.sqrt(np.abs(x)), np.array([-1.0, 2.0]))
    >>> round(float(found.value), 9), found.error < 1e-10
    (2.55228475, True)
    """
    low, high, narrowest = edges[:-1], edges[1:], _NARROWEST * (edges[-1] - edges[0])
    value, error, n_done, ends = np.float64(0.0), 0.0, 0, [edges[-1:]]
    while low.size:
        sums, errors = _panel_sums(function, low, high)
        n_panels, middle = n_done + len(low), 0.5 * (low + high)
        split = (errors > 0.5 * tolerance / n_panels) & (high - low > narrowest) & (n_panels < most_panels)
        done = ~split
        value, error, n_done = value + sums[done].sum(axis=0), error + errors[done].sum(), n_done + int(done.sum())
        ends.append(low[done])
        low, high = np.concatenate([low[split], middle[split]]), np.concatenate([middle[split], high[split]])
    rounding = 2.0**-50 * float(np.abs(value).sum())
    return Integral(np.asarray(value), float(error) + rounding, np.sort(np.concatenate(ends)))


def _nodes(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * _NODES


def _panel_sums(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the integrals over panels, and an estimate of the error of each.

    The estimate is the size of the last two coefficients of the Legendre series through the nodes, and of what is left
    out at the ends if the function does not continue the series there.
    """
    at = _nodes(low, high)
    values = function(at.ravel())
    values = np.moveaxis(values.reshape(at.shape + values.shape[1:]), 1, -1)
    half, inner = 0.5 * (high - low).reshape(-1, *(1 for _ in values.shape[2:])), values[..., 1:-1]
    beside = np.abs(values[..., 0] - inner @ _BEFORE) + np.abs(values[..., -1] - inner @ _BEFORE[::-1])
    rough, scale = np.abs(inner @ _COEFFICIENTS[-2:].T).sum(axis=-1), np.abs(inner).max(axis=-1) + 1e-300
    rough *= np.minimum(1.0, np.sqrt(1e3 * rough / scale))  # the rule is of twice the degree of the series
    return inner @ _WEIGHTS * half, (half * (rough + _UNSEEN * beside)).reshape(len(low), -1).sum(axis=1)


# Distributions of scipy.stats


@final
@dataclass(frozen=True, eq=False, repr=False)
class KnownDistribution:
    """A distribution of scipy.stats on the line.

    Parameters
    ----------
    distribution
        A frozen continuous distribution, or a histogram (``rv_histogram``).
    """

    distribution: Any
    n_dimensions: ClassVar[int] = 1
    precision: ClassVar[float] = 1e-14

    @cached_property
    def support(self) -> tuple[float, float]:
        """The ends of where the density is above 0."""
        low, high = self.distribution.support()
        return float(low), float(high)

    def log_pdf(self, x: ArrayLike) -> Any:
        """Return the natural logarithm of the density at points; −∞ outside the support."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.distribution.logpdf(np.asarray(x, np.float64)))
        return np.where(np.isnan(found), -np.inf, found)

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at points."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_pdf(x))

    def probability(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Return the probability between low and high; small ones at the upper end keep their digits."""
        below, above = ((f(low), f(high)) for f in (self.distribution.cdf, self.distribution.sf))
        return np.maximum(np.where(below[0] > 0.5, above[0] - above[1], below[1] - below[0]), 0.0)

    @cached_property
    def grid(self) -> np.ndarray:
        """Points where boundaries are searched: quantiles, and points just outside the support."""
        points = np.concatenate([self.distribution.ppf(_SHARES), self.distribution.isf(_SHARES), self.support])
        points = np.unique(points[np.isfinite(points)])
        return np.concatenate([[np.nextafter(points[0], -np.inf)], points, [np.nextafter(points[-1], np.inf)]])

    def __repr__(self) -> str:
        given = getattr(self.distribution, "dist", None)
        if given is None:
            return shortened(str(self.distribution).splitlines()[0])
        words = [f"{v:g}" for v in self.distribution.args] + [f"{k}={v:g}" for k, v in self.distribution.kwds.items()]
        return f"{given.name}({', '.join(words)})"


AnyDensity: TypeAlias = Gaussian | Density | KnownDistribution


def as_density(name: object, given: Any) -> AnyDensity:
    """Return the density of a class."""
    if isinstance(given, Gaussian | Density | KnownDistribution):
        return given
    if hasattr(given, "cov") and hasattr(given, "logpdf"):  # scipy's multivariate_normal
        return Gaussian(np.ravel(given.mean), variance=given.cov)
    base, what = getattr(given, "dist", given), f"the density of {name!r}"
    if "rv_discrete" in {kind.__name__ for kind in type(base).__mro__}:
        raise DataError(f"{what} must be of a continuous distribution; got {base.name}.")
    if not all(callable(getattr(given, method, None)) for method in _NEEDED):
        hint = "Wrap a function: Density(function, support=(low, high))."
        rule = "must be a Gaussian, a frozen continuous distribution of scipy.stats, or a Density"
        raise DataError(f"{what} {rule}; got {shortened(repr(given))}. {hint}")
    try:
        n = np.size(given.cdf(0.0))
    except TypeError:
        got = f"{getattr(given, 'name', 'a distribution')} without its parameters"
        raise DataError(f"{what} must be frozen; got {got}. Call it with them first.") from None
    if n != 1:
        raise DataError(f"{what} must be one distribution; got {n} of them in one.")
    if getattr(base, "name", "") == "norm":
        return Gaussian(float(given.mean()), variance=float(given.var()))
    return KnownDistribution(given)
