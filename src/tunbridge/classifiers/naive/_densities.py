"""The densities of numbers within the classes: normal ones from moments, kernel densities from points.

Soft ones, for ``numeric="auto"``, never have a veto; :mod:`tunbridge.classifiers.naive._automatic` has the reasons. To
the n rows of a column one is added that may lie anywhere, with a broad density b that all classes share:

    p(x | c) = (n f_c(x) + b(x)) / (n + 1)

Of kernel densities b is half a Cauchy density about all values and half the mean of f_c over the K classes. So the
log-odds of two classes are at most log(1 + 2 K n), whatever the value. Between the least and the greatest value each
width of a kernel gets a quarter of a row more for each class, as Laplace's rule adds to every bin: few rows say little.
Of normal densities b has the height of the
narrowest class at its centre, falls like a normal density of three times the variance, and no lower than that height /
(n + 1). The larger term stands for the sum, so that no logarithm is taken for a value. The log-odds are at most
2 log(n + 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from tunbridge.counts import Moments
from tunbridge.probability.kernel_density import Points, bandwidth, log_density, points_of

_BROAD = 3.0  # times the variance of a number: that of the broad normal density
_LEAST_KNOTS, _MOST_KNOTS, _CELLS = 1024, 8192, 1 << 16  # of a curve; knots × classes
_CACHED = 1 << 14  # terms of densities
_SPREAD_OUT = 0.25  # of a row, for each class in each width of a kernel
_PRECISION = 0.03  # of a curve's log-densities
_AWAY = np.array([-10, -8, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 10])  # bandwidths from a point to knots


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Normal densities of numbers; arrays have shape (n_classes, n_features).

    Parameters
    ----------
    mean, variance : ndarray
        μ and σ² of each class.
    weight : ndarray of shape (n_features,)
        The weight of the log-densities.
    share : ndarray of shape (n_features,)
        The logarithm of the broad density's share; −∞ for those that are not soft.
    centre, breadth : ndarray of shape (n_features,)
        Mean and variance of the broad density.
    """

    mean: np.ndarray
    variance: np.ndarray
    weight: np.ndarray
    share: np.ndarray
    centre: np.ndarray
    breadth: np.ndarray

    @cached_property
    def constant(self) -> np.ndarray:
        """−½ w log 2πσ²."""
        return -0.5 * self.weight * np.log(2.0 * np.pi * self.variance)

    @cached_property
    def precision(self) -> np.ndarray:
        """W / 2σ²."""
        return 0.5 * self.weight / self.variance

    @cached_property
    def floor(self) -> np.ndarray:
        """The weighted logarithm of the broad density at its centre, times its share; −∞ where there is none."""
        return self.weight * (self.share - 0.5 * np.log(2.0 * np.pi * self.variance.min(axis=0)))

    @cached_property
    def slope(self) -> np.ndarray:
        """W / 2σ² of the broad density."""
        return 0.5 * self.weight / self.breadth

    @cached_property
    def lowest(self) -> np.ndarray:
        """What is taken from the floor at most, so that a value far from all leaves the prior as it is."""
        return np.where(np.isfinite(self.share), -self.weight * self.share, 0.0)

    @cached_property
    def is_soft(self) -> bool:
        """Whether any of them has a broad density."""
        return bool(np.isfinite(self.share).any())

    def log_density(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the weighted log-density of values of one feature, (n_classes, n_values); 0 where missing."""
        with np.errstate(over="ignore"):  # a deviation whose square overflows has density zero
            found = self.constant[:, j, None] - self.precision[:, j, None] * (x - self.mean[:, j, None]) ** 2
            if self.is_soft:
                found = np.maximum(
                    found, self.floor[j] - np.minimum(self.slope[j] * (x - self.centre[j]) ** 2, self.lowest[j])
                )
        return np.where(np.isnan(x), 0.0, found)

    def softened(self, soft: Gaussian, which: np.ndarray) -> Gaussian:
        """Return the densities with some features as in another record, which has these only."""
        arrays = {name: getattr(self, name).copy() for name in Gaussian.__dataclass_fields__}
        for name, values in arrays.items():
            values[..., which] = getattr(soft, name)
        return Gaussian(**arrays)


def fit_gaussian(moments: Moments, unbiased: bool, variance_floor: float) -> Gaussian:
    """Return the normal densities of features.

    To each variance is added ``variance_floor`` times the feature's variance over all rows, which makes the floor move
    with the feature's scale. A class that has no value of a feature, or (unbiased) a single one, takes the spread of
    the whole column; a column that is constant gets variance one and says nothing about the class.
    """
    if not moments.count.size:
        return _plain(moments.mean, moments.m2)
    pooled = moments.pooled()
    overall = np.nan_to_num(pooled.variance(unbiased=False))
    variance = moments.variance(unbiased=unbiased)
    variance = np.where(np.isnan(variance), overall, variance) + variance_floor * overall
    mean = np.where(moments.count > 0, moments.mean, pooled.mean)
    constant = overall <= 0
    # A class whose values are all equal has no density; the smallest positive spread stands for it without a floor.
    variance = np.maximum(variance, np.finfo(float).tiny)
    return _plain(np.where(constant, pooled.mean, mean), np.where(constant, 1.0, variance))


def _plain(mean: np.ndarray, variance: np.ndarray) -> Gaussian:
    one = np.ones(mean.shape[1])
    return Gaussian(mean, variance, one, np.full(mean.shape[1], -np.inf), 0.0 * one, one)


def soft_gaussian(moments: Moments, steps: np.ndarray, added: float = 1.0, weight: float = 1.0) -> Gaussian:
    """Return normal densities that have no veto, of features with these resolutions."""
    n, pooled = moments.count, moments.pooled()
    rounding = steps**2 / 12.0
    freedom = np.maximum(n - added, 0.5 * n)
    total = freedom.sum(axis=0)
    within = np.divide(moments.m2.sum(axis=0), total, out=np.zeros(len(steps)), where=total > 0.0)
    variance = (moments.m2 + added * np.maximum(within, rounding)) / (freedom + added)
    overall = np.nan_to_num(pooled.variance(unbiased=False))[0]
    constant = overall <= 0.0
    variance = np.where(constant, 1.0, np.maximum(np.maximum(variance, rounding), np.finfo(float).tiny))
    mean = np.where(constant | (n <= 0.0), pooled.mean, moments.mean)
    breadth = _BROAD * np.maximum(overall, variance.max(axis=0))
    rows = np.log1p(pooled.count[0] / added)
    return Gaussian(mean, variance, np.full(len(steps), weight), -rows, pooled.mean[0], breadth)


class Curve(NamedTuple):
    """Log-densities given at knots, straight in between, and level beyond: (n_classes, n_knots)."""

    knots: np.ndarray
    logs: np.ndarray

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log-density of values, (n_classes, n_values); 0 where missing."""
        left = np.clip(np.searchsorted(self.knots, x) - 1, 0, len(self.knots) - 2)
        start = self.knots[left]
        share = np.clip((x - start) / (self.knots[left + 1] - start), 0.0, 1.0)
        found = self.logs[:, left] * (1.0 - share) + self.logs[:, left + 1] * share
        return np.where(np.isnan(x), 0.0, found)


def curve_of(points: tuple[Points, ...], step: float, added: float = 1.0, weight: float = 1.0) -> Curve:
    """Return the weighted kernel densities of the classes, without a veto, of a feature with this resolution.

    Knots lie about every point of every class, and where the curve would differ from the densities by more than 3 %;
    of those that are too many only some.
    """
    exact = partial(soft_kernel, points, step, added)
    most = min(max(_LEAST_KNOTS, _CELLS // len(points)), _MOST_KNOTS)
    knots = _thinned(_first_knots(points, step), most)
    logs, is_new = exact(knots), np.ones(len(knots) - 1, np.bool_)
    while is_new.any() and len(knots) < most:
        left = np.flatnonzero(is_new)
        middle = 0.5 * (knots[left] + knots[left + 1])
        found = exact(middle)
        error = np.abs(found - 0.5 * (logs[:, left] + logs[:, left + 1])).max(axis=0)
        error[(middle <= knots[left]) | (middle >= knots[left + 1])] = 0.0  # no number lies between
        wrong = np.sort(np.argsort(-error, kind="stable")[: min(most - len(knots), int((error > _PRECISION).sum()))])
        places = left[wrong] + 1
        knots, logs = np.insert(knots, places, middle[wrong]), np.insert(logs, places, found[:, wrong], axis=1)
        is_new, after = np.zeros(len(knots) - 1, np.bool_), places + np.arange(len(places))
        is_new[after] = is_new[after - 1] = True
    return Curve(knots, weight * logs)


def _first_knots(points: tuple[Points, ...], step: float) -> np.ndarray:
    """Return a grid of bandwidths about the points of each class, and farther ones where points are alone."""
    found = []
    for own, h in _with_bandwidths(points, step):
        centre = own.values[len(own.values) // 2]
        cells = np.unique(np.round((own.values - centre) / h))
        found.append(centre + h * np.unique((cells[:, None] + _AWAY).ravel()))
    return np.unique(np.concatenate(found))


def _thinned(knots: np.ndarray, most: int) -> np.ndarray:
    """Return so many of the knots at most."""
    return knots if len(knots) <= most else knots[np.linspace(0, len(knots) - 1, most).astype(np.intp)]


def soft_kernel(points: tuple[Points, ...], step: float, added: float, x: np.ndarray) -> np.ndarray:
    """Return the logarithms of kernel densities without a veto, by class and value; 0 where missing."""
    known = ~np.isnan(x)
    several = _with_bandwidths(points, step)
    own = np.array([_in_pieces(x[known], p, h) for p, h in several])
    n = max(sum(p.total for p in points), np.finfo(float).tiny)
    width = np.sqrt(2.0 * np.pi) * float(np.exp(np.mean([np.log(h) for _, h in several])))
    even, breadth = _even(points, width, x[known])
    n_even = _SPREAD_OUT * len(own) / width
    mean = np.logaddexp.reduce(own, axis=0) - np.log(len(own))
    broad = np.logaddexp(mean, _broad(points, x[known])) - np.log(2.0)
    common = np.log(added) + np.logaddexp(broad, np.log(n_even) + even)
    found = np.zeros((len(own), len(x)))
    found[:, known] = np.logaddexp(own + np.log(n), common) - np.log(n + added * (1.0 + n_even * breadth))
    return found


def _even(points: tuple[Points, ...], width: float, x: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the logarithm of what is one between the least and the greatest point and falls outside; its integral."""
    values = [p.values for p in points if p.values.size]
    if not values:
        return np.zeros(len(x)), 1.0
    low, high = min(v[0] for v in values), max(v[-1] for v in values)
    beyond = np.maximum(np.maximum(low - x, x - high), 0.0)
    return -2.0 * np.log(np.hypot(1.0, beyond / width)), float(high - low + np.pi * width)


def _in_pieces(x: np.ndarray, points: Points, h: float) -> np.ndarray:
    """Return log-densities of values, a few at a time, so that their terms stay in the processor's cache."""
    n_pieces = 1 + x.size * points.values.size // _CACHED
    return np.concatenate([log_density(some, points, h) for some in np.array_split(x, n_pieces)])


def _broad(points: tuple[Points, ...], x: np.ndarray) -> np.ndarray:
    """Return the logarithm of a Cauchy density about all points."""
    whole = _merged(points)
    if not whole.values.size:
        return np.zeros(len(x))
    share = whole.weights / whole.weights.sum()
    centre = float(whole.values @ share)
    away = whole.values - centre
    unit = float(np.abs(away).max()) or 1.0
    scale = max(unit * float(np.sqrt((away / unit) ** 2 @ share)), np.finfo(float).tiny)
    return -np.log(np.pi) - np.log(scale) - 2.0 * np.log(np.hypot(1.0, (x - centre) / scale))


def _with_bandwidths(points: tuple[Points, ...], step: float) -> list[tuple[Points, float]]:
    """Return each class's points with a bandwidth not below half of the resolution."""
    return [(p, max(h, 0.5 * step)) for p, h in with_bandwidths(points)]


def _merged(points: tuple[Points, ...]) -> Points:
    return points_of(np.concatenate([p.values for p in points]), np.concatenate([p.weights for p in points]))


def with_bandwidths(points: tuple[Points, ...]) -> tuple[tuple[Points, float], ...]:
    """Return each class's points with their bandwidth; a class of one value takes that of all classes together."""
    widths = [bandwidth(p) for p in points]
    if all(widths):
        return tuple(zip(points, widths, strict=True))
    everything = points[0]
    for more in points[1:]:
        everything = everything.merge(more)
    common = bandwidth(everything) or 1.0
    return tuple((p if p.values.size else everything, h or common) for p, h in zip(points, widths, strict=True))


def resolution(distinct: np.ndarray) -> float:
    """Return the smallest difference of distinct sorted values; 0 if there is none."""
    return float(np.diff(distinct).min()) if len(distinct) > 1 else 0.0
