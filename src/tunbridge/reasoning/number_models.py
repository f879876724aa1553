"""Histograms and polynomials by minimum description length.

*Histogram.* The values, n of them and recorded to a precision δ, lie in K bins; bin k has m_k possible readings
(multiples of δ), all equally probable within the bin. With h_k values in bin k the likelihood is largest for the
probabilities h_k/n, and then L(D | h) = Σ_k h_k log₂(n m_k / h_k) bits. The hypothesis costs the number of bins, one of
those considered; with free widths the places of the K − 1 inner edges among the E edges of a fine grid, log₂ C(E, K −
1); and the probabilities. Their price is the regret of the multinomial distribution,

    log₂ Σ_{h₁ + … + h_K = n} n!/(h₁! … h_K!) Π_k (h_k/n)^{h_k},

by which the code of normalised maximum likelihood is longer than the best distribution, whatever the data; no code does
better. It grows like ½ (K − 1) log₂ n. Edges lie half-way between two readings; bins are of equal width to one reading.
The range of the values is taken as known.

*Polynomial.* y is a polynomial of degree d in x, plus Gaussian noise of standard deviation σ. For n readings y with
precision δ and range R, given the x, the description has

* the degree, one of those considered;
* σ, and the d + 1 coefficients. In the orthonormal basis of polynomials on the points x every coefficient lies within
  ±½ √n R and has the standard error σ. Steps of √12 σ are as fine as it pays to describe it, which takes log₂⌈√n R/(√12
  σ)⌉ bits; rounding it loses on average ½ log₂ e bits of the data, counted here too. This is Rissanen's ½ log₂ n for a
  parameter, and log₂(R/σ) − 1.07 bits for the scale, which that formula omits as n grows, but which matter if a
  polynomial passes through every point: then σ is small, and its coefficients need the precision of the data.
* the readings: −log₂ of the probability that the normal distribution around the polynomial gives to y ± ½ δ.

σ² is the mean square of the residuals, but at least δ²/12, which rounding alone leaves. So every length is finite and
at least 0. n, x, δ and the range of y are taken as known.

References
----------
P. Kontkanen, P. Myllymäki (2007). MDL histogram density estimation. Proceedings of the 11th International Conference on
Artificial Intelligence and Statistics, 219–226. (The code, and the best edges by dynamic programming.)
J. Rissanen, T. P. Speed, B. Yu (1992). Density estimation by stochastic complexity. IEEE Transactions on Information
Theory 38, 315–323.
C. S. Wallace, P. R. Freeman (1987). Estimation and inference by compact coding. Journal of the Royal Statistical
Society B 49, 240–265. (Steps of √12 standard errors.)
P. D. Grünwald (2007). The Minimum Description Length Principle. MIT Press, chapters 1 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.polynomial.legendre import legvander
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, xlogy

from tunbridge._core.check import check_choice, check_integer, counted
from tunbridge._core.grid import text_grid
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError
from tunbridge.learning.scores.complexity import log_regret_of_states
from tunbridge.probability.reading import as_floats, locked
from tunbridge.reasoning.code_lengths import (
    DescriptionChoice,
    DescriptionLength,
    as_precision,
    as_readings,
    log2_binomial,
    naming_bits,
    shortest_description,
)

_GRID = 256  # cells of equal width, among whose edges those of free bins are chosen
_FINE = 1e-3
_LEAST_PIVOT = 1e-12
_STEP = math.sqrt(12.0)
_LOST = 0.5 * math.log2(math.e)


# Histograms


def choose_histogram(
    values: object, max_bins: int = 100, *, widths: str = "equal", precision: float | None = None
) -> DescriptionChoice:
    """Return the choice between histograms of 1 to ``max_bins`` bins.

    Parameters
    ----------
    values : array-like
        The numbers, at least one.
    max_bins : int
        The largest number of bins; none is narrower than the precision.
    widths : {"equal", "free"}
        Bins of equal width, or of the widths with the shortest description. Edges of free bins are optimal among those
        of 256 cells.
    precision : float, optional
        The precision δ to which the values were recorded. Default: their last decimal place
        (:func:`recorded_precision`).

    Returns
    -------
    DescriptionChoice
        Candidates "1 bin", "2 bins", …; their ``model`` is a :class:`Histogram`.

    Notes
    -----
    After sorting the n values, K bins of equal width cost K log n; free bins up to K take a table of 256 × 256 cells
    for each.

    Examples
    --------
    >>> ages = [21, 22, 22, 23, 23, 24, 24, 25, 26, 61, 62, 63, 63, 64, 64, 65, 66, 68]
    >>> choice = choose_histogram(ages, widths="free")
    >>> choice.best.name, choice.model.edges.tolist(), choice.model.counts.tolist()
    ('3 bins', [20.5, 26.5, 60.5, 68.5], [9, 0, 9])
    """
    array = np.sort(as_readings("values", values))
    check_integer("max_bins", max_bins, low=1)
    check_choice("widths", widths, ["equal", "free"])
    scale = _Scale.of(array, as_precision(precision, array))
    most = int(min(max_bins, scale.n_readings))
    grid = 0.0 if widths == "equal" else min(max(_GRID, most), scale.n_readings)
    check_memory("the histograms", 8.0 * most**2 + 48.0 * grid**2, ways_out="Use a lower max_bins.")
    equal = ((scale.bounds(k), 0.0) for k in range(1, most + 1))
    cuts = equal if widths == "equal" else _best_cuts(array, scale, most)
    return shortest_description([_histogram(array, scale, where, edge_bits, most) for where, edge_bits in cuts])


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """A piecewise constant density.

    Parameters
    ----------
    edges : ndarray
        The edges of the bins, one more than there are bins.
    counts : ndarray of int
        The number of values in each bin.

    Examples
    --------
    >>> histogram = choose_histogram([1, 1, 1, 1, 2, 1, 1, 1, 4, 1, 1, 1, 1, 1, 3], widths="free").model
    >>> histogram
    edges       count  density
    0.5 … 1.5   12     0.8
    1.5 … 4.5   3      0.0666667
    >>> histogram.pdf([1, 3, 9]).round(4).tolist()
    [0.8, 0.0667, 0.0]
    """

    edges: np.ndarray
    counts: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.edges, self.counts):
            locked(array)

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return len(self.counts)

    @property
    def densities(self) -> np.ndarray:
        """The density in each bin, count / (n × width)."""
        return self.counts / self.counts.sum() / np.diff(self.edges)

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Return the density at each x; 0 outside the bins."""
        points = as_floats("x", x)
        place = np.searchsorted(self.edges[1:-1], points, side="left")
        inside = (points >= self.edges[0]) & (points <= self.edges[-1])
        return np.where(inside, self.densities[place], 0.0)

    def __repr__(self) -> str:
        ends = [f"{low:.6g} … {high:.6g}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        rows = zip(ends, self.counts.tolist(), self.densities.tolist(), strict=True)
        return text_grid(
            ["edges", "count", "density"], [[end, count, f"{density:.6g}"] for end, count, density in rows]
        )


@dataclass(frozen=True)
class _Scale:
    """The possible readings: ``n_readings`` of them, ``delta`` apart, with the first bin from ``low``."""

    low: float
    delta: float
    n_readings: float

    @classmethod
    def of(cls, array: np.ndarray, delta: float) -> _Scale:
        width = float(array[-1]) - float(array[0])
        if not math.isfinite(width / delta):
            ends = f"{array[0]:g} to {array[-1]:g}"
            raise DataError(f"the range of values must not overflow; got {ends}, to {delta:g}. Divide them first.")
        return cls(float(array[0]) - 0.5 * delta, delta, float(round(width / delta)) + 1.0)

    def bounds(self, n_bins: int) -> np.ndarray:
        """Return the numbers of the readings between equal bins, from 0 to ``n_readings``."""
        return np.round(np.linspace(0.0, self.n_readings, n_bins + 1))


def _best_cuts(array: np.ndarray, scale: _Scale, most: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the bounds of 1, 2, … bins with the fewest bits of data, and the bits of the bounds.

    With D_k[j] the bits of the values below grid edge j in k bins, D_k[j] = min_{i < j} D_{k−1}[i] + bits(i … j).
    """
    grid = scale.bounds(int(min(max(_GRID, most), scale.n_readings)))
    below = _below(array, scale, grid)
    counts, sizes = np.maximum(below - below[:, None], 0), grid - grid[:, None]
    bits = np.where(sizes > 0, _data_bits(counts, np.maximum(sizes, 1.0), len(array)), math.inf)
    least, came_from = bits[0], [np.zeros(len(grid), np.intp)]
    for k in range(1, most + 1):
        path = [len(grid) - 1]  # the best edges, from the last back to the first
        for previous in reversed(came_from):
            path.append(int(previous[path[-1]]))
        yield grid[path[::-1]], float(log2_binomial(len(grid) - 2, k - 1))
        through = least[:, None] + bits
        came_from.append(through.argmin(axis=0))
        least = through.min(axis=0)


def _below(array: np.ndarray, scale: _Scale, bounds: np.ndarray) -> np.ndarray:
    """Return how many values are below each bound: none below the first and all below the last."""
    inner = np.searchsorted(array, scale.low + scale.delta * bounds[1:-1], side="right")
    return np.concatenate([[0], inner, [len(array)]])


def _data_bits(counts: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Return h log₂(n m / h), the bits of the h values of a bin of m readings."""
    return (counts * np.log2(n * sizes) - xlogy(counts, counts) / math.log(2)).clip(0.0)


def _histogram(array: np.ndarray, scale: _Scale, bounds: np.ndarray, edge_bits: float, most: int) -> DescriptionLength:
    n, k = len(array), len(bounds) - 1
    counts = np.diff(_below(array, scale, bounds))
    regret = float(log_regret_of_states(n, np.array([float(k)]))[0]) / math.log(2)
    data_bits = float(_data_bits(counts, np.diff(bounds), n).sum())
    model = Histogram(scale.low + scale.delta * bounds, counts)
    return DescriptionLength(counted(k, "bin"), naming_bits(most) + edge_bits + regret, data_bits, model)


# Polynomials


def choose_polynomial(
    x: object, y: object, max_degree: int = 10, *, precision: float | None = None
) -> DescriptionChoice:
    """Return the choice between the polynomials of degree 0 to ``max_degree``, each fitted by least squares.

    Parameters
    ----------
    x, y : array-like
        The points, as many numbers of each.
    max_degree : int
        The highest degree; none has more coefficients than there are different x.
    precision : float, optional
        The precision δ to which the y were recorded. Default: their last decimal place (:func:`recorded_precision`).

    Returns
    -------
    DescriptionChoice
        Candidates "degree 0", "degree 1", …; their ``model`` is a :class:`PolynomialFit`.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> x = np.linspace(-2, 2, 30)
    >>> y = (x**3 - 2 * x + random.normal(scale=0.5, size=30)).round(1)
    >>> choice = choose_polynomial(x, y, 5)
    >>> choice.best.name, round(float(choice.model(0.5)), 2)
    ('degree 3', -0.92)
    """
    x, y = as_readings("x", x), as_readings("y", y)
    if len(x) != len(y):
        raise DataError(f"x and y must have the same length; got {len(x)} and {len(y)}.")
    if not math.isfinite(float(x.max()) - float(x.min())):
        raise DataError(f"the range of x must not overflow; got {x.min():g} to {x.max():g}. Divide it first.")
    check_integer("max_degree", max_degree, low=0)
    known = _Readings.of(y, as_precision(precision, y))
    fits = list(_fits(x, known, max_degree))
    return shortest_description([_polynomial(*fit, known, len(fits)) for fit in fits])


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialFit:
    """A fitted polynomial, which can be called.

    Parameters
    ----------
    series : numpy.polynomial.Legendre
        The polynomial, as a series that keeps its digits.
    noise : float
        The standard deviation σ of the residuals.

    Examples
    --------
    >>> fit = choose_polynomial([0, 1, 2, 3, 4], [1, 3, 5, 7, 9]).model
    >>> fit
    1 + 2 x
    >>> fit([10, 20]).round(6).tolist()
    [21.0, 41.0]
    """

    series: Legendre
    noise: float

    @property
    def degree(self) -> int:
        """The degree."""
        return len(self.series.coef) - 1

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients of 1, x, x², …"""
        powers = self.series.convert(kind=Polynomial)
        return np.pad(powers.coef, (0, self.degree + 1 - len(powers.coef)))

    def __call__(self, x: ArrayLike) -> np.ndarray:
        """Return the value of the polynomial at each x."""
        return np.asarray(self.series(as_floats("x", x)))

    def __repr__(self) -> str:
        powers = ["", "x", *(f"x^{i}" for i in range(2, self.degree + 1))]
        terms = [(f"{c:.6g}", power) for c, power in zip(self.coefficients, powers, strict=False)]
        text = " + ".join(f"{number} {power}".rstrip() for number, power in terms if number != "0")
        return text.replace("+ -", "- ") or "0"


@dataclass(frozen=True, eq=False)
class _Readings:
    """Readings y in units of their range.

    Parameters
    ----------
    z : ndarray
        (y − middle)/range, between −½ and ½.
    middle, range : float
        The range goes from half a precision below the lowest to half a precision above the highest reading.
    delta : float
        The precision, in units of the range.
    """

    z: np.ndarray
    middle: float
    range: float
    delta: float

    @classmethod
    def of(cls, y: np.ndarray, precision: float) -> _Readings:
        low, high = float(y.min()), float(y.max())
        width = high - low + precision
        if not math.isfinite(width / precision * _STEP):
            ends = f"{low:g} to {high:g}, to {precision:g}"
            raise DataError(f"the range of y must not overflow; got {ends}. Divide it first.")
        middle = low + 0.5 * (high - low)
        return cls((y - middle) / width, middle, width, precision / width)

    @property
    def least_noise(self) -> float:
        """The standard deviation of a number between −½ δ and ½ δ, which rounding leaves."""
        return self.delta / _STEP


def _fits(x: np.ndarray, known: _Readings, max_degree: int) -> Iterator[tuple[Legendre, np.ndarray]]:
    """Yield the polynomial of each degree, in units of y, and its residuals, in units of the range of y."""
    size = min(max_degree + 1, np.unique(x).size)
    check_memory("the polynomials at all points", 32.0 * len(x) * size, ways_out="Use a lower max_degree.")
    domain = [x.min(), x.max()] if size > 1 else [x[0] - 1.0, x[0] + 1.0]
    basis, triangle = np.linalg.qr(legvander(np.interp(x, domain, [-1.0, 1.0]), size - 1))
    pivots = np.abs(np.diagonal(triangle))
    rest, weights = known.z, np.zeros(0)
    for k in range(size):
        if pivots[k] <= _LEAST_PIVOT * pivots[0]:
            return  # x that can hardly be told apart
        weight = float(basis[:, k] @ rest)
        rest, weights = rest - weight * basis[:, k], np.append(weights, weight)
        coefficients = known.range * solve_triangular(triangle[: k + 1, : k + 1], weights)
        coefficients[0] += known.middle
        yield Legendre(coefficients, domain=domain), rest


def _polynomial(series: Legendre, residuals: np.ndarray, known: _Readings, n_degrees: int) -> DescriptionLength:
    n = len(residuals)
    sigma = max(math.sqrt(float(residuals @ residuals) / n), known.least_noise)
    coefficient_bits = naming_bits(math.ceil(math.sqrt(n) / (_STEP * sigma))) + _LOST
    log_range = math.log(0.5 / known.least_noise)  # of σ, whose logarithm has the standard error 1/√(2n)
    noise_bits = naming_bits(math.ceil(log_range * math.sqrt(2 * n) / _STEP)) + _LOST
    bits = naming_bits(n_degrees) + len(series.coef) * coefficient_bits + noise_bits
    model = PolynomialFit(series, sigma * known.range)
    data_bits = float(interval_bits(residuals, sigma, known.delta).sum())
    return DescriptionLength(f"degree {model.degree}", bits, data_bits, model)


def interval_bits(residuals: ArrayLike, sigma: float, delta: float) -> np.ndarray:
    """Return −log₂ of the probability that a normal number around 0 lies within ½ δ of each residual.

    For δ < σ/1000 it is computed from the density in the middle and its curvature.

    Examples
    --------
    >>> interval_bits([0.0, 1.0], 1.0, 2.0).round(4).tolist()
    [0.5507, 1.0672]
    """
    z, width = np.abs(np.asarray(residuals, np.float64)) / sigma, delta / sigma
    if width < _FINE:
        log_p = math.log(width) - 0.5 * math.log(2 * math.pi) - 0.5 * z**2 + np.log1p(width**2 * (z**2 - 1) / 24)
    else:
        above, below = log_ndtr(0.5 * width - z), log_ndtr(-0.5 * width - z)
        log_p = above + np.log1p(-np.exp(below - above))
    return -log_p / math.log(2)
