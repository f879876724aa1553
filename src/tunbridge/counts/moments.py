"""Count, mean and sum of squared deviations of numeric columns, group by group; mergeable.

Two sets of moments are merged by (Chan, Golub & LeVeque 1979)

    n = n₁ + n₂,   δ = μ₂ − μ₁,   μ = μ₁ + δ n₂/n,   M₂ = M₂₁ + M₂₂ + δ² n₁ n₂/n,

which loses nothing when the mean is large against the spread. Rows are taken in pieces of fixed size and the pieces
merged in order, so the result does not depend on the number of threads.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque (1979). Updating formulae and a pairwise algorithm for computing sample
variances. Stanford STAN-CS-79-773, eq. 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number
from tunbridge._core.packing import FloatArray, SquareArray, WeightArray
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.errors import DataError

Columns = Sequence[np.ndarray] | np.ndarray

_PIECE_CELLS = 1 << 17
_MANY_GROUPS = 256
_ROWS_A_GROUP = 16
_LEAST_SUM = 1e-300
_MOST_ROWS = 1e6  # with fewer rows than its square it is not their number that makes a mean square too small

LARGEST = 1e150
"""Numbers whose squares, and sums of many of these, are floats."""
SMALLEST = 1e-140
"""Deviations whose squares are floats of full precision, also times the shares that variances are floored at."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of columns within groups; every array has shape (n_groups, n_columns).

    Parameters
    ----------
    count : ndarray
        The number (or weight) n of values that are not missing.
    mean : ndarray
        Their mean μ (0 where there are none).
    m2 : ndarray
        Their sum of squared deviations from the mean, M₂.
    """

    count: WeightArray
    mean: FloatArray
    m2: SquareArray

    def variance(self, *, unbiased: bool) -> np.ndarray:
        """Return M₂/n, or M₂/(n − 1) if unbiased; NaN where that is undefined.

        Weights count as repeated rows. Weights that sum to less than two are no numbers of rows (normalised ones, say);
        then n/2 takes the place of n − 1, which would blow up there.
        """
        divisor = np.maximum(self.count - 1.0, 0.5 * self.count) if unbiased else self.count
        defined = (self.count > 1.0) | (self.m2 > 0.0) if unbiased else self.count > 0.0
        return np.divide(self.m2, divisor, out=np.full(self.m2.shape, np.nan), where=defined)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the rows of both.

        Examples
        --------
        >>> import numpy as np
        >>> one, two = (moments_within([np.array(x)], np.zeros(2, np.int8), 1) for x in ([1.0, 3.0], [5.0, 7.0]))
        >>> both = one.merge(two)
        >>> both.count.item(), both.mean.item(), both.variance(unbiased=False).item()
        (4.0, 4.0, 5.0)
        """
        n = self.count + other.count
        share = np.divide(other.count, n, out=np.zeros_like(n), where=n > 0)
        with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
            delta = other.mean - self.mean
            # From the mean of the larger side, so that an empty or far smaller one does not blur it.
            mean = np.where(share <= 0.5, self.mean + delta * share, other.mean - delta * (1.0 - share))
            return Moments(n, mean, self.m2 + other.m2 + delta * (self.count * share) * delta)

    __add__ = merge

    def decay(self, factor: float) -> Moments:
        """Return the moments with every row so far weighing ``factor`` times as much."""
        number = check_number("the factor of decay", factor, low=0, high=1)
        return Moments(self.count * number, self.mean * (number > 0), self.m2 * number)

    def pooled(self) -> Moments:
        """Return the moments of all groups together, as one group."""
        if (n := len(self.count)) > _MANY_GROUPS:  # half with half: a merge for each group would take long
            lower, upper, odd = (Moments(*(a[s] for a in self.arrays)) for s in _halves(n))
            return lower.merge(upper).pooled().merge(odd.pooled())
        groups = (Moments(*(a[g : g + 1] for a in self.arrays)) for g in range(n))
        return reduce(Moments.merge, groups, _no_moments(1, self.count.shape[1]))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The counts, the means and the sums of squares."""
        return self.count, self.mean, self.m2


def moments_within(
    columns: Columns,
    groups: np.ndarray,
    n_groups: int,
    *,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Moments:
    """Return the moments of float columns (a list, or a rows × columns array) within groups (codes, −1: left out).

    Examples
    --------
    >>> import numpy as np
    >>> heights, sex = np.array([1.6, 1.8, 1.7, np.nan]), np.array([0, 1, 0, 1], np.int8)
    >>> moments = moments_within([heights], sex, 2)
    >>> moments.count.tolist(), moments.mean.round(2).tolist()
    ([[2.0], [1.0]], [[1.65], [1.8]])
    """
    n_rows, n_columns = len(groups), columns.shape[1] if isinstance(columns, np.ndarray) else len(columns)
    ones = np.ones(n_rows) if weights is None else weights
    if n_rows * n_columns <= SMALL_CELLS:
        return _numpy_moments(columns, groups, n_groups, ones)
    # Pieces well above the number of groups, so that their moments together stay smaller than the data.
    piece = max(256, _ROWS_A_GROUP * n_groups, _PIECE_CELLS // n_columns)
    found = map_threads(
        lambda rows: _piece_moments(columns, groups, n_groups, ones, *rows), row_pieces(n_rows, piece), n_jobs
    )
    return reduce(Moments.merge, found)


def block_of(columns: Columns, start: int, stop: int) -> np.ndarray:
    """Return rows start … stop of the columns as a contiguous columns × rows array."""
    if isinstance(columns, np.ndarray):
        if (stop - start) * columns.shape[1] <= SMALL_CELLS:
            return columns[start:stop].T.astype(np.float64, order="C")
        from tunbridge.kernels.counting.moments import fill_block

        block = np.empty((columns.shape[1], stop - start))
        fill_block(columns[start:stop], block)
        return block
    return _stacked(columns, start, stop)


def _piece_moments(
    columns: Columns, groups: np.ndarray, n_groups: int, weights: np.ndarray, start: int, stop: int
) -> Moments:
    from tunbridge.kernels.counting.moments import fill_moments, fill_row_moments

    rows = groups[start:stop], weights[start:stop]
    if isinstance(columns, np.ndarray) and columns.flags.c_contiguous:
        moments = _no_moments(n_groups, columns.shape[1])
        fill_row_moments(columns[start:stop], *rows, *moments.arrays)
    else:
        block = block_of(columns, start, stop)
        moments = _no_moments(n_groups, len(block))
        fill_moments(block, *rows, *moments.arrays)
    return moments


def _numpy_moments(columns: Columns, groups: np.ndarray, n_groups: int, weights: np.ndarray) -> Moments:
    """Return the moments as the kernel finds them: deviations from a first value give the mean, then those from it."""
    array = columns if isinstance(columns, np.ndarray) else _stacked(columns, 0, len(groups)).T
    n_columns = array.shape[1]
    rows, at = np.nonzero((groups[:, None] >= 0) & (weights[:, None] > 0) & ~np.isnan(array))
    cells, x, w = groups[rows].astype(np.intp) * n_columns + at, array[rows, at].astype(np.float64), weights[rows]

    def sums(terms: np.ndarray) -> np.ndarray:
        return np.bincount(cells, terms, minlength=n_groups * n_columns).astype(np.float64, copy=False)

    count, mean = sums(w), np.zeros(n_groups * n_columns)
    mean[cells[::-1]] = x[::-1]
    with np.errstate(invalid="ignore", over="ignore"):  # infinities give moments that are not finite, as in the kernel
        mean += np.divide(sums(w * (x - mean[cells])), count, out=np.zeros_like(count), where=count > 0)
        m2 = sums(w * (x - mean[cells]) ** 2)
    return Moments(*(a.reshape(n_groups, n_columns) for a in (count, mean, m2)))


def _halves(n: int) -> tuple[slice, slice, slice]:
    return slice(n // 2), slice(n // 2, n // 2 * 2), slice(n // 2 * 2, n)


def _stacked(columns: Sequence[np.ndarray], start: int, stop: int) -> np.ndarray:
    return np.array([c[start:stop] for c in columns], np.float64).reshape(len(columns), stop - start)


def _no_moments(n_groups: int, n_columns: int) -> Moments:
    return Moments(*(np.zeros((n_groups, n_columns)) for _ in range(3)))


def are_empty(count: np.ndarray, squares: np.ndarray) -> bool:
    """Return whether groups without rows have no deviations, which those of a file may have."""
    return count.shape == squares.shape[: count.ndim] and not squares[count == 0].any()


def check_squares(
    names: Sequence[str],
    count: np.ndarray,
    squares: np.ndarray,
    values: Callable[[int], np.ndarray],
    *,
    parameter: str | None = None,
) -> None:
    """Raise unless columns are constant, or their sums of squared deviations are floats of full precision.

    Values are looked at only where a sum is suspicious, so that the check costs nothing beside the sums.

    Parameters
    ----------
    names : sequence of str
        The columns.
    count, squares : ndarray of shape (n_columns,)
        The number (or weight) of the values of each, and the sum of their squared deviations.
    values : callable
        Returns the values of a column that were added: position → array, missing values allowed.
    parameter : str, optional
        What the error is about.

    Examples
    --------
    >>> columns = [np.array([2.0, 2.0]), np.array([1e-162, 3e-162])]
    >>> check_squares(["same", "tiny"], np.full(2, 2.0), np.zeros(2), columns.__getitem__)
    Traceback (most recent call last):
        ...
    tunbridge.errors.DataError: numbers must differ by enough to square; those of 'tiny' differ by at most 2e-162...
    """
    mean = np.divide(squares, count, out=np.zeros(len(names)), where=count > 0.0)
    small = mean <= LARGEST**2  # not so where a sum is not a number
    for j in np.flatnonzero(~small | (mean < SMALLEST**2) | (squares < _LEAST_SUM)).tolist():
        x = values(j)
        x = x[~np.isnan(x)]
        if not small[j]:
            what = "" if np.abs(x).max(initial=0.0) > LARGEST else ", times their weights,"
            rule = f"numbers must be small enough to square; those of {names[j]!r}{what} overflow"
            out = "Divide them by a constant"
        elif not x.size or x.min() == x.max():
            continue
        elif (apart := float(x.max() - x.min())) < _MOST_ROWS * SMALLEST:
            rule = f"numbers must differ by enough to square; those of {names[j]!r} differ by at most {apart:.2g}"
            out = "Give them in another unit: multiply them by a power of ten"
        else:
            rule = (
                f"weights must be large enough for sums of squares; those of {names[j]!r} vanish, times their weights"
            )
            out = "Leave out rows of negligible weight, or multiply all weights by a constant"
        raise DataError(f"{rule}. {out} first.", parameter=parameter)


# Products of columns


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

    count: WeightArray
    mean: FloatArray
    products: FloatArray

    def __post_init__(self) -> None:
        for array in self.arrays:
            array.setflags(write=False)

    def __setstate__(self, state: dict[str, np.ndarray]) -> None:
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
        with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
            delta = other.mean - self.mean
            # From the mean of the larger side, so that an empty or far smaller one does not blur it.
            mean = np.where(share <= 0.5, self.mean + delta * share, other.mean - delta * (1.0 - share))
            between = (self.count[:, None] * share * delta)[:, :, None] * delta[:, None, :]
            return CrossMoments(n, mean, self.products + other.products + between)

    __add__ = merge

    def scaled(self, factor: ArrayLike) -> CrossMoments:
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
        with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
            mean = some + (self.count / n) @ (self.mean - some)
            off = self.mean - mean
            products = self.products.sum(axis=0) + (off * self.count[:, None]).T @ off
        return CrossMoments(n, mean[None], products[None])


def cross_moments(
    columns: np.ndarray, groups: np.ndarray, n_groups: int, weights: np.ndarray | None = None
) -> CrossMoments:
    """Return the moments of columns (an array of shape (k, n_rows) without missing values) within groups.

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
    with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
        return _of_groups(columns, groups, n_groups, ones)


def _of_groups(columns: np.ndarray, groups: np.ndarray, n_groups: int, ones: np.ndarray) -> CrossMoments:
    k = len(columns)
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
