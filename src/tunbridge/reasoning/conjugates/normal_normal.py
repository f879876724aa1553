"""A mean, learned from measurements of known noise: the normal prior and the normal likelihood.

Of an unknown mean θ the prior is N(m, v), and a measurement is x ~ N(θ, s²) with s² known. Precisions, one over
variances, add up, and the posterior mean is the average of prior mean and data, weighted by them: after n values of
mean x̄

    1/v' = 1/v + n/s²,     m' = v' (m/v + n x̄/s²),

and the next measurement is N(m', v' + s²).

References
----------
A. Gelman et al. (2013). Bayesian Data Analysis, 3rd ed., section 2.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from scipy.special import ndtr, ndtri

from tunbridge.errors import DataError
from tunbridge.reasoning.conjugates.conjugate import as_count, as_places, as_positive, check_level
from tunbridge.reasoning.conjugates.conjugate_lines import normal_lines
from tunbridge.reasoning.derivation import Derivation
from tunbridge.reasoning.numbers import Number, as_float, as_number, exact_value, like, number_text


@final
@dataclass(frozen=True, repr=False)
class NormalNormal:
    """What is believed about a mean: N(mean, variance), to be updated by measurements of known noise.

    Parameters
    ----------
    mean : number
        Whole numbers give floats; with fractions or texts ("1/2"), and no float, what is computed is an exact fraction.
    variance : number
        Above 0.
    noise_variance : number
        s², the variance of a measurement around the mean; above 0.
    prior : NormalNormal, optional
        What was believed before any data; :meth:`update` fills it in.
    seen : tuple of int and number, optional
        How many measurements led from the prior here, and their sum; :meth:`update` fills it in.

    Examples
    --------
    >>> weight = NormalNormal(70, 25, noise_variance=4).update([74, 76, 75])
    >>> round(weight.mean, 4), round(weight.variance, 4), round(weight.predictive_variance, 4)
    (74.7468, 1.2658, 5.2658)
    >>> [round(end, 2) for end in weight.interval(0.95)]
    [72.54, 76.95]
    >>> NormalNormal(70, Fraction(25), noise_variance=4).update([74, 76, 75]).mean
    Fraction(5905, 79)
    """

    mean: Number
    variance: Number
    noise_variance: Number = field(kw_only=True)
    prior: NormalNormal | None = field(default=None, kw_only=True, compare=False)
    seen: tuple[int, Number] = field(default=(0, 0), kw_only=True, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        object.__setattr__(self, "variance", as_positive("variance", self.variance))
        object.__setattr__(self, "noise_variance", as_positive("noise_variance", self.noise_variance))

    # Learning

    def update(self, values: Any = None, *, mean: Any = None, n: Any = None) -> NormalNormal:
        """Return what is believed after more measurements.

        Parameters
        ----------
        values : array-like or number, optional
            The measurements.
        mean, n : number and int, optional
            Their mean and how many they are, instead.

        Examples
        --------
        >>> prior = NormalNormal(0, 1, noise_variance=1)
        >>> prior.update([1, 2, 3]) == prior.update(mean=2, n=3)
        True
        """
        if (values is None) == (mean is None or n is None) or (mean is None) != (n is None):
            raise DataError("what was measured must be given as values, or as mean= and n=; got none of it, or both.")
        if values is not None:
            return self._moved(*_summed(_numbers(values)))
        count, centre = as_count("n", n), as_number("mean", mean)
        return self._moved(count, like(count * exact_value(centre), [centre]))

    def _moved(self, n: int, total: Number) -> NormalNormal:
        m, v, noise = (exact_value(x) for x in (self.mean, self.variance, self.noise_variance))
        variance = 1 / (1 / v + n / noise)
        mean = variance * (m / v + exact_value(total) / noise)
        seen = self.seen[0] + n, like(exact_value(self.seen[1]) + exact_value(total), [self.seen[1], total])
        return NormalNormal(
            like(mean, [self.mean, self.variance, self.noise_variance, total]),
            like(variance, [self.variance, self.noise_variance]),
            noise_variance=self.noise_variance,
            prior=self._start,
            seen=seen,
        )

    @property
    def _start(self) -> NormalNormal:
        return self.prior or self

    # What is believed

    @property
    def std(self) -> float:
        """The standard deviation, the root of the variance."""
        return math.sqrt(as_float(self.variance))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the mean with this probability; it is also the shortest one."""
        return _interval(self.mean, self.variance, level)

    def pdf(self, theta: Any) -> Any:
        """Return the density at theta."""
        z = (as_places("theta", theta) - as_float(self.mean)) / self.std
        with np.errstate(over="ignore"):
            found = np.exp(-0.5 * np.square(z)) / (self.std * math.sqrt(2.0 * math.pi))
        return float(found) if np.ndim(found) == 0 else found

    def cdf(self, theta: Any) -> Any:
        """Return the probability that the mean is at most theta."""
        found = ndtr((as_places("theta", theta) - as_float(self.mean)) / self.std)
        return float(found) if np.ndim(found) == 0 else found

    # Data to come, or that came

    @property
    def predictive_variance(self) -> Number:
        """The variance of the next measurement: that of the mean and that of the noise."""
        found = exact_value(self.variance) + exact_value(self.noise_variance)
        return like(found, [self.variance, self.noise_variance])

    def predictive_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the next measurement with this probability."""
        return _interval(self.mean, self.predictive_variance, level)

    def log_evidence(self, values: Any) -> float:
        """Return ln P(D), the logarithm of the density of measurements with the mean averaged out.

        Notes
        -----
        Together they are normal with mean m, variance v + s² and covariance v. With x̄ their mean,
        −2 ln P(D) = n ln(2πs²) + ln(1 + n v/s²) + Σ (x − x̄)²/s² + n (x̄ − m)²/(s² + n v).
        """
        x = np.array([as_float(value) for value in _numbers(values)])
        if not len(x):
            return 0.0
        n, m, v, noise = len(x), *(as_float(part) for part in (self.mean, self.variance, self.noise_variance))
        centre = math.fsum((x / n).tolist())
        off, deviations = (centre - m) / math.sqrt(noise + n * v), (x - centre) / math.sqrt(noise)
        with np.errstate(over="ignore"):
            spread = float(np.square(deviations).sum()) + n * off * off
        return -0.5 * (n * math.log(2.0 * math.pi * noise) + math.log1p(n * v / noise) + spread)

    def derivation(self) -> Derivation:
        """Return the posterior mean as a weighted average, with the numbers in it."""
        return normal_lines(self, self._start)

    def __repr__(self) -> str:
        parts = [f"{k}={number_text(getattr(self, k))}" for k in ("mean", "variance", "noise_variance")]
        return f"NormalNormal({', '.join(parts)})"


def _numbers(values: Any) -> list[Number]:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        values = [values]
    return [as_number(f"the value at position {i}", value) for i, value in enumerate(values)]


def _summed(values: list[Number]) -> tuple[int, Number]:
    """Return how many numbers there are, and their sum: exact where they are."""
    if all(isinstance(value, int | Fraction) for value in values):
        return len(values), sum(values)
    try:
        return len(values), math.fsum(map(as_float, values))
    except OverflowError:
        raise DataError("the sum of the values must be finite; it is too large for a float.") from None


def _interval(mean: Number, variance: Number, level: float) -> tuple[float, float]:
    half = float(ndtri(0.5 + 0.5 * check_level(level))) * math.sqrt(as_float(variance))
    return as_float(mean) - half, as_float(mean) + half
