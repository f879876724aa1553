"""Counts, means and centred products of several numeric columns, group by group: what linear regressions are made of.

For the rows of a group, with weights w and values x (a vector with one entry for each column),

    n = Σ w,     μ = Σ w x / n,     S = Σ w (x − μ)(x − μ)ᵀ.

Two sets are merged by (Chan, Golub & LeVeque 1979)

    n = n₁ + n₂,   δ = μ₂ − μ₁,   μ = μ₁ + δ n₂/n,   S = S₁ + S₂ + δ δᵀ n₁ n₂/n,

so that rows may come in parts, and nothing is lost where the means are large against the spread: values are taken less
a mean before they are multiplied.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque (1979). Updating formulae and a pairwise algorithm for computing sample
variances. Stanford STAN-CS-79-773, eq. 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tunbridge._check import check_number


@dataclass(frozen=True, eq=False)
class CrossMoments:
    """Moments of k columns within g groups; the arrays are read-only.

    Parameters
    ----------
    count : ndarray of shape (g,)
        The number (or weight) n of rows.
    mean : ndarray of shape (g, k)
        Their means μ (0 where there are no rows).
    products : ndarray of shape (g, k, k)
        Their centred sums of products S.

    Examples
    --------
    >>> import numpy as np
    >>> moments = cross_moments(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), np.zeros(3, int), 1)
    >>> moments.count.tolist(), moments.mean.tolist(), moments.products.tolist()
    ([3.0], [[2.0, 4.0]], [[[2.0, 4.0], [4.0, 8.0]]])
    """

    count: np.ndarray
    mean: np.ndarray
    products: np.ndarray

    def __post_init__(self) -> None:
        for array in self.arrays:
            array.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickling forgets that arrays are read-only

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The count, the means and the products."""
        return self.count, self.mean, self.products

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.count)

    def merge(self, other: CrossMoments) -> CrossMoments:
        """Return the moments of the rows of both."""
        n = self.count + other.count
        share = np.divide(other.count, n, out=np.zeros_like(n), where=n > 0)[:, None]
        delta = other.mean - self.mean
        # From the mean of the larger side, so that an empty or far smaller one does not blur it.
        mean = np.where(share <= 0.5, self.mean + delta * share, other.mean - delta * (1.0 - share))
        between = (self.count[:, None] * share * delta)[:, :, None] * delta[:, None, :]
        return CrossMoments(n, mean, self.products + other.products + between)

    __add__ = merge

    def scaled(self, factor: Any) -> CrossMoments:
        """Return the moments with every row weighing ``factor`` times as much: a number, or one for each group."""
        by = np.broadcast_to(np.asarray(factor, np.float64), self.count.shape)
        check_number("the factor of moments", float(by.min(initial=0.0)), low=0)
        kept = (by > 0.0)[:, None]
        return CrossMoments(self.count * by, np.where(kept, self.mean, 0.0), self.products * by[:, None, None])

    def pooled(self) -> CrossMoments:
        """Return the moments of all groups together, as one group."""
        n = self.count.sum(keepdims=True)
        if not n[0] > 0.0:
            return no_cross_moments(1, self.mean.shape[1])
        some = self.mean[int(self.count.argmax())]
        mean = some + (self.count / n) @ (self.mean - some)
        off = self.mean - mean
        products = self.products.sum(axis=0) + (off * self.count[:, None]).T @ off
        return CrossMoments(n, mean[None], products[None])


def cross_moments(
    columns: np.ndarray, groups: np.ndarray, n_groups: int, weights: np.ndarray | None = None
) -> CrossMoments:
    """Return the moments of columns (an array of shape (k, n_rows) without missing cells) within groups.

    Parameters
    ----------
    columns : ndarray of shape (k, n_rows)
        The values.
    groups : ndarray of int
        The group of each row.
    n_groups : int
        How many groups there are.
    weights : ndarray, optional
        The weight of each row.
    """
    k, n_rows = columns.shape
    ones = np.ones(n_rows) if weights is None else weights
    if not n_rows or not ones.any():
        return no_cross_moments(n_groups, k)
    middle = columns[:, 0] + (columns - columns[:, :1]) @ (ones / ones.sum())
    shifted = columns - middle[:, None]
    if n_groups == 1:
        return _of_one_group(shifted, middle, ones)
    n = np.bincount(groups, ones, n_groups).astype(np.float64)
    share = np.divide(1.0, n, out=np.zeros(n_groups), where=n > 0)
    means = np.array([np.bincount(groups, ones * x, n_groups) * share for x in shifted]).reshape(k, n_groups)
    centred = shifted - means[:, groups]
    products = np.empty((n_groups, k, k))
    for i in range(k):
        weighed = ones * centred[i]
        for j in range(i, k):
            products[:, i, j] = products[:, j, i] = np.bincount(groups, weighed * centred[j], n_groups)
    return CrossMoments(n, np.where(n[:, None] > 0, means.T + middle, 0.0), products)


def _of_one_group(shifted: np.ndarray, middle: np.ndarray, weights: np.ndarray) -> CrossMoments:
    n = weights.sum()
    rest = shifted @ (weights / n)
    centred = shifted - rest[:, None]
    return CrossMoments(np.array([n]), (middle + rest)[None], ((centred * weights) @ centred.T)[None])


def no_cross_moments(n_groups: int, k: int) -> CrossMoments:
    """Return the moments of no rows at all."""
    return CrossMoments(np.zeros(n_groups), np.zeros((n_groups, k)), np.zeros((n_groups, k, k)))


def merged(parts: list[CrossMoments]) -> CrossMoments:
    """Return the moments of the rows of all parts, merged in their order."""
    return reduce(CrossMoments.merge, parts)
