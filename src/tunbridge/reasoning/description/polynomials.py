"""The degree of a polynomial by minimum description length.

Hypothesis h_d: y = a polynomial of degree d in x, plus Gaussian noise of standard deviation σ. To tell n readings y,
which were written down to a precision δ and have the range R, somebody who knows the x tells

* the degree, one of those considered;
* σ, and the d + 1 coefficients. In the orthonormal basis of polynomials on the points x every coefficient lies within
  ±½ √n R and has the standard error σ. Steps of √12 σ are as fine as it pays to tell it: finer ones save less of the
  data than they cost. So one takes log₂⌈√n R/(√12 σ)⌉ bits, and on average ½ log₂ e bits more of the data are
  lost by rounding it, which are counted here too. This is Rissanen's ½ log₂ n for a parameter, and log₂(R/σ) − 1.07
  bits for the scale, which that formula leaves out as n grows. They must not be left out where a polynomial is about
  to go through every point: then σ is small, and its coefficients have to be told as precisely as the data.
* the readings: −log₂ of the probability that the normal distribution around the polynomial gives to each interval
  y ± ½ δ.

σ² is the mean square of the residuals, and not below δ²/12, what rounding alone leaves. So every length is finite and
0 or more, also where the fit is perfect. n, x, δ and the range of y are taken as known: they are the same for every
degree.

References
----------
J. Rissanen (1978). Modeling by shortest data description. Automatica 14, 465–471.

C. S. Wallace, P. R. Freeman (1987). Estimation and inference by compact coding. Journal of the Royal Statistical
Society B 49, 240–265. (Steps of √12 standard errors.)

P. D. Grünwald (2007). The Minimum Description Length Principle. MIT Press, chapters 1 and 12.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.polynomial.legendre import legvander
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr

from tunbridge._check import check_number, check_whole
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.probability.floats import as_floats
from tunbridge.reasoning.description.code_lengths import as_readings, naming_bits, recorded_precision
from tunbridge.reasoning.description.shortest import DescriptionChoice, DescriptionLength, shortest_description

_FINE = 1e-3
"""Below this share of σ an interval's probability is taken from the density at its middle and its curvature."""
_LEAST_PIVOT = 1e-12
_STEP = math.sqrt(12.0)
_LOST = 0.5 * math.log2(math.e)


def choose_polynomial(x: Any, y: Any, max_degree: int = 10, *, precision: float | None = None) -> DescriptionChoice:
    """Return the choice between the polynomials of degree 0 to ``max_degree``, each fitted by least squares.

    Parameters
    ----------
    x, y : array-like
        The points, as many numbers of each.
    max_degree : int
        The highest degree; there is none with more coefficients than there are different x.
    precision : float, optional
        To what precision δ the y were written down; by default their last decimal place
        (:func:`recorded_precision`).

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
    x, y = _points(x, y)
    check_whole("max_degree", max_degree, low=0)
    delta = recorded_precision(y) if precision is None else check_number("the precision", precision, above=0)
    known = _Readings.of(y, delta)
    fits = list(_fits(x, known, max_degree))
    return shortest_description([_description(*fit, known, len(fits)) for fit in fits])


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

    def __call__(self, x: Any) -> np.ndarray:
        """Return the value of the polynomial at each x."""
        return np.asarray(self.series(as_floats("x", x)))

    def __repr__(self) -> str:
        terms = [(f"{c:.6g}", _power(i)) for i, c in enumerate(self.coefficients)]
        text = " + ".join(f"{number} {power}".rstrip() for number, power in terms if number != "0")
        return text.replace("+ -", "- ") or "0"


def _power(i: int) -> str:
    return "" if i == 0 else "x" + ("" if i == 1 else f"^{i}")


@dataclass(frozen=True, eq=False)
class _Readings:
    """Readings y in units of their range, which makes them as good as any others to compute with.

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
            raise DataError(f"y must have a range that a float can hold; got {ends}. Divide it first.")
        middle = low + 0.5 * (high - low)
        return cls((y - middle) / width, middle, width, precision / width)

    @property
    def least_noise(self) -> float:
        """What rounding alone leaves: the standard deviation of a number between −½ δ and ½ δ."""
        return self.delta / _STEP


def _points(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = as_readings("x", x), as_readings("y", y)
    if len(x) != len(y):
        raise DataError(f"x and y must be equally many numbers; got {len(x)} and {len(y)}.")
    if not math.isfinite(float(x.max()) - float(x.min())):
        raise DataError(f"x must have a range that a float can hold; got {x.min():g} to {x.max():g}. Divide it first.")
    return x, y


def _fits(x: np.ndarray, known: _Readings, max_degree: int) -> Iterator[tuple[Legendre, np.ndarray]]:
    """Yield the polynomial of each degree, in units of y, and its residuals, in units of the range of y."""
    size = min(max_degree + 1, np.unique(x).size)
    check_memory("the polynomials at all points", 32.0 * len(x) * size, ways_out="Give a lower max_degree.")
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


def _description(series: Legendre, residuals: np.ndarray, known: _Readings, n_degrees: int) -> DescriptionLength:
    n = len(residuals)
    sigma = max(math.sqrt(float(residuals @ residuals) / n), known.least_noise)
    coefficient = naming_bits(math.ceil(math.sqrt(n) / (_STEP * sigma))) + _LOST
    told = naming_bits(n_degrees) + len(series.coef) * coefficient + _noise_bits(n, known.least_noise)
    model = PolynomialFit(series, sigma * known.range)
    data_bits = float(interval_bits(residuals, sigma, known.delta).sum())
    return DescriptionLength(f"degree {model.degree}", told, data_bits, model)


def _noise_bits(n: int, least: float) -> float:
    """Return the bits of σ: its logarithm lies between those of δ/√12 and ½ R, and has the standard error 1/√(2n)."""
    return naming_bits(math.ceil(math.log(0.5 / least) * math.sqrt(2 * n) / _STEP)) + _LOST


def interval_bits(residuals: Any, sigma: float, delta: float) -> np.ndarray:
    """Return −log₂ of the probability that a normal number around 0 lies within ½ δ of each residual.

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
