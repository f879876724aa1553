"""The densities of numbers within the classes: normal ones from moments, kernel densities from points.

Soft ones, for ``numeric="auto"``, never have a veto; :mod:`tunbridge.classifiers.naive._automatic` has the reasons. To
the n rows of a column one is added that may lie anywhere, with a broad normal density b that all classes share:

    p(x | c) = (n N(x; μ, σ²) + b(x)) / (n + 1)

Of a normal density the larger term stands for the sum, so that no logarithm is taken for a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tunbridge.counts import Moments
from tunbridge.probability.kernel_density import Points, bandwidth, log_density, points_of

FARTHEST = 50.0  # of the logarithm of a broad density below its centre: so that a far value leaves the prior as it is
_BROAD = 3.0  # times the variance of a number: that of the broad density
_KNOTS, _CENTRES = 1024, 256
_TERMS = 1 << 16  # knots × points that are looked at together
_AWAY = np.array([-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0])  # bandwidths from a point: where knots lie


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
        return self.weight * (self.share - 0.5 * np.log(2.0 * np.pi * self.breadth))

    @cached_property
    def slope(self) -> np.ndarray:
        """W / 2σ² of the broad density."""
        return 0.5 * self.weight / self.breadth

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
                    found, self.floor[j] - np.minimum(self.slope[j] * (x - self.centre[j]) ** 2, FARTHEST)
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


def soft_gaussian(moments: Moments, steps: np.ndarray, weight: float = 1.0) -> Gaussian:
    """Return normal densities that have no veto, of features with these resolutions."""
    n, pooled = moments.count, moments.pooled()
    rounding = steps**2 / 12.0
    freedom = np.maximum(n - 1.0, 0.5 * n)
    total = freedom.sum(axis=0)
    within = np.divide(moments.m2.sum(axis=0), total, out=np.zeros(len(steps)), where=total > 0.0)
    variance = (moments.m2 + np.maximum(within, rounding)) / (freedom + 1.0)
    overall = np.nan_to_num(pooled.variance(unbiased=False))[0]
    constant = overall <= 0.0
    variance = np.where(constant, 1.0, np.maximum(np.maximum(variance, rounding), np.finfo(float).tiny))
    mean = np.where(constant | (n <= 0.0), pooled.mean, moments.mean)
    breadth = _BROAD * np.maximum(overall, variance.max(axis=0))
    share = -np.log1p(pooled.count[0])
    return Gaussian(mean, variance, np.full(len(steps), weight), share, pooled.mean[0], breadth)


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


def curve_of(points: tuple[Points, ...], step: float, weight: float = 1.0, n_knots: int = _KNOTS) -> Curve:
    """Return the weighted kernel densities of the classes, without a veto, of a feature with this resolution."""
    several = tuple(_with_bandwidth(p, step) for p in with_bandwidths(points))
    whole = _merged(points)
    total = whole.weights / whole.weights.sum() if whole.values.size else whole.weights
    centre = float(whole.values @ total)
    breadth = _BROAD * max(float((whole.values - centre) ** 2 @ total), np.finfo(float).tiny)
    widths = [h for _, h in several]
    knots = _knots(whole.values, min(widths), max(widths), n_knots)
    broad = -0.5 * np.log(2.0 * np.pi * breadth) - (knots - centre) ** 2 / (2.0 * breadth)
    logs = np.array([_at_knots(knots, p, h) for p, h in several])
    n = max(whole.total, np.finfo(float).tiny)
    return Curve(knots, weight * (np.logaddexp(logs + np.log(n), broad) - np.log1p(n)))


def _at_knots(knots: np.ndarray, points: Points, h: float) -> np.ndarray:
    """Return the log-density at each knot; as many at a time as need no compiled kernel."""
    n = max(1, _TERMS // max(1, points.values.size))
    if len(knots) <= n:
        return log_density(knots, points, h)
    return np.concatenate([log_density(knots[i : i + n], points, h) for i in range(0, len(knots), n)])


def _knots(values: np.ndarray, h: float, widest: float, n: int) -> np.ndarray:
    """Return where the densities are computed: about every point, and at the ends until the broad one is reached."""
    some = values[np.unique(np.linspace(0, len(values) - 1, _CENTRES).astype(np.intp))] if len(values) else np.zeros(1)
    knots = np.unique((some[:, None] + h * _AWAY).ravel())
    places = np.cumsum(np.append(0.0, np.minimum(np.diff(knots) / h, 1.0)))  # dense where points are
    which = np.searchsorted(places, np.linspace(0.0, places[-1], min(len(knots), n)))
    ends = widest * np.array([4.0, 5.0, 6.0, 8.0])
    inner = knots[np.unique(np.append(which, len(knots) - 1))]
    return np.concatenate([knots[0] - ends[::-1], inner, knots[-1] + ends])


def _with_bandwidth(density: tuple[Points, float], step: float) -> tuple[Points, float]:
    points, h = density
    return points, max(h, 0.5 * step)


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
