"""Kernel density estimates of one numeric variable: a Gaussian kernel on every value.

    p(x) = Σ_p w_p N(x; x_p, h²),     h = 0.9 min(σ, IQR/1.34) n^(−1/5)   (Silverman's rule)

Equal values are one point with their weights added. Above a number of points, neighbours are merged into points of
about equal weight at their mean: memory and time are bounded, outliers stay separate, and the points of further rows
can be merged.

References
----------
B. W. Silverman (1986). Density Estimation for Statistics and Data Analysis, eq. 3.31.
G. H. John, P. Langley (1995). Estimating continuous distributions in Bayesian classifiers. UAI, 338–345.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._core.packing import FloatArray, WeightArray

MOST_POINTS = 512
_TAIL = 64
_FARTHEST = 1e150  # deviations whose square is still a number
_SMALL_TERMS = 200_000


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct values, sorted, with their weights.

    Parameters
    ----------
    values : ndarray
        Sorted, distinct, finite.
    weights : ndarray
        The weight of each, positive.
    """

    values: FloatArray
    weights: WeightArray

    @property
    def total(self) -> float:
        """The weight of all points."""
        return float(self.weights.sum())

    def merge(self, other: Points) -> Points:
        """Return the points of both."""
        return points_of(np.append(self.values, other.values), np.append(self.weights, other.weights))


def points_of(values: np.ndarray, weights: np.ndarray) -> Points:
    """Return the distinct values without missing ones, with weights; neighbours are merged if there are too many."""
    use = ~np.isnan(values) & (weights > 0)
    values, weights = (values, weights) if use.all() else (values[use], weights[use])
    if (weights == 1.0).all():  # to sort values is many times faster than to find their order
        distinct, summed = np.unique(values, return_counts=True)
    else:
        distinct, where = np.unique(values, return_inverse=True)
        summed = np.bincount(where, weights, minlength=distinct.size)
    summed = summed.astype(np.float64, copy=False)
    return Points(distinct, summed) if distinct.size <= MOST_POINTS else _joined(distinct, summed)


def bandwidth(points: Points) -> float:
    """Return Silverman's bandwidth; 0 if all values are equal or there are none."""
    if points.values.size < 2:
        return 0.0
    total = points.total
    n = max(total, points.values.size)  # weights below 1 must not widen the kernels
    share = points.weights / total  # a weight times a number might overflow
    whole = share.sum()
    mean = (points.values * share).sum() / whole
    with np.errstate(over="ignore"):
        away = points.values - mean
        unit = np.ldexp(0.5, np.frexp(np.abs(away).max())[1])  # squares must not overflow, nor underflow
        spread = unit * np.sqrt(((away / unit) ** 2 * share).sum() / whole)
    shares = (np.cumsum(points.weights) - 0.5 * points.weights) / total
    quartiles = np.interp([0.25, 0.75], shares, points.values)
    iqr = (quartiles[1] - quartiles[0]) / 1.34
    return float(0.9 * (min(spread, iqr) if iqr > 0 else spread) * n**-0.2)


def log_density(values: np.ndarray, points: Points, h: float) -> np.ndarray:
    """Return log p(x) for each value, 0 for missing values.

    Terms are relative to the largest one, so a value far from all points has a finite log-density.
    """
    log_weights = np.log(points.weights) - np.log(points.total)  # a quotient might underflow
    if values.size * points.values.size > _SMALL_TERMS:
        from tunbridge.kernels.classifiers.likelihood import add_kernel_density

        out = np.zeros(values.size)
        add_kernel_density(np.ascontiguousarray(values), points.values, log_weights, h, _FARTHEST, out)
        return out
    terms = values[:, None] - points.values  # in place from here on, which takes half the time
    terms /= h
    np.clip(terms, -_FARTHEST, _FARTHEST, out=terms)
    np.square(terms, out=terms)
    terms *= -0.5
    terms += log_weights
    top = terms.max(axis=1)
    terms -= top[:, None]
    density = top + np.log(np.exp(terms, out=terms).sum(axis=1)) - np.log(h * np.sqrt(2.0 * np.pi))
    return np.where(np.isnan(values), 0.0, density)


def _joined(values: np.ndarray, weights: np.ndarray) -> Points:
    """Return points for runs of neighbouring values of about equal weight, each at the mean of its run.

    The tails, 64 values at either end, are kept: the density is low there, and a mean would shift it.
    """
    inner = slice(_TAIL, values.size - _TAIL)
    middle = np.cumsum(weights[inner]) - 0.5 * weights[inner]
    n_runs = MOST_POINTS - 2 * _TAIL
    run = np.minimum((middle / weights[inner].sum() * n_runs).astype(np.intp), n_runs - 1)
    joined = np.bincount(run, weights[inner], minlength=n_runs)
    share = weights[inner] / joined[run]  # a weight times a number might overflow
    centre = np.bincount(run, share * values[inner], minlength=n_runs)
    used = joined > 0
    return Points(
        np.concatenate([values[:_TAIL], centre[used], values[-_TAIL:]]),
        np.concatenate([weights[:_TAIL], joined[used], weights[-_TAIL:]]),
    )
