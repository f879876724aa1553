"""The bins of a histogram by minimum description length.

Hypothesis: the values, n of them and written down to a precision δ, lie in K bins of which bin k holds m_k readings
(multiples of δ), all equally probable within the bin. With h_k values in bin k the likelihood is largest for the
probabilities h_k/n, and then

    L(D | h) = Σ_k h_k log₂(n m_k / h_k)   bits.

The hypothesis costs its number of bins, one of those considered; where the widths are free, the places of the K − 1
inner edges among the E edges of a fine grid, log₂ C(E, K − 1); and the probabilities themselves. Their price is the
regret of the multinomial distribution,

    log₂ Σ_{h₁ + … + h_K = n} n!/(h₁! … h_K!) Π_k (h_k/n)^{h_k},

the sum of the largest likelihoods of all data there could have been: by it the code of normalised maximum likelihood is
longer than the best distribution, whatever the data, and no code does better. It grows like ½ (K − 1) log₂ n.

Edges lie half-way between two readings, so no value is on an edge; bins are of equal width to one reading. The
range of the values is taken as known: it is the same for all candidates.

References
----------
P. Kontkanen, P. Myllymäki (2007). MDL histogram density estimation. Proceedings of the 11th International Conference on
Artificial Intelligence and Statistics, 219–226. (The code, and the best edges by dynamic programming.)

J. Rissanen, T. P. Speed, B. Yu (1992). Density estimation by stochastic complexity. IEEE Transactions on Information
Theory 38, 315–323.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from tunbridge._check import check_choice, check_number, check_whole, counted
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.learning.complexity import log_regret_of_states
from tunbridge.probability.floats import as_floats, locked
from tunbridge.reasoning.description.code_lengths import as_readings, log2_binomial, naming_bits, recorded_precision
from tunbridge.reasoning.description.shortest import DescriptionChoice, DescriptionLength, shortest_description

_GRID = 256
"""Among so many cells of equal width the edges of free bins are chosen; or more, with more bins."""


def choose_histogram(
    values: Any, max_bins: int = 100, *, widths: str = "equal", precision: float | None = None
) -> DescriptionChoice:
    """Return the choice between histograms of 1 to ``max_bins`` bins.

    Parameters
    ----------
    values : array-like
        The numbers, one at least.
    max_bins : int
        The largest number of bins; there are none narrower than the precision.
    widths : {"equal", "free"}
        Whether all bins are equally wide, or each as wide as it makes the description shortest. Edges of free bins
        are chosen, best of all, among those of 256 cells.
    precision : float, optional
        To what precision δ the values were written down; by default their last decimal place
        (:func:`recorded_precision`).

    Returns
    -------
    DescriptionChoice
        Candidates "1 bin", "2 bins", …; their ``model`` is a :class:`Histogram`.

    Notes
    -----
    After sorting the n values, K bins of equal width cost K log n; the free ones up to K take a table of 256 × 256
    cells for each.

    Examples
    --------
    >>> ages = [21, 22, 22, 23, 23, 24, 24, 25, 26, 61, 62, 63, 63, 64, 64, 65, 66, 68]
    >>> choice = choose_histogram(ages, widths="free")
    >>> choice.best.name, choice.model.edges.tolist(), choice.model.counts.tolist()
    ('3 bins', [20.5, 26.5, 60.5, 68.5], [9, 0, 9])
    """
    array = np.sort(as_readings("values", values))
    check_whole("max_bins", max_bins, low=1)
    check_choice("widths", widths, ["equal", "free"])
    delta = recorded_precision(array) if precision is None else check_number("the precision", precision, above=0)
    scale = _Scale.of(array, delta)
    most = int(min(max_bins, scale.n_readings))
    grid = 0.0 if widths == "equal" else min(max(_GRID, most), scale.n_readings)
    check_memory("the histograms", 8.0 * most**2 + 48.0 * grid**2, ways_out="Give a lower max_bins.")
    cuts = _equal_cuts(scale, most) if widths == "equal" else _best_cuts(array, scale, most)
    return shortest_description([_description(array, scale, where, edges, most) for where, edges in cuts])


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """A piecewise constant density.

    Parameters
    ----------
    edges : ndarray
        The ends of the bins, one more than there are bins.
    counts : ndarray of int
        How many values are in each bin.

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

    def pdf(self, x: Any) -> np.ndarray:
        """Return the density at each x; 0 outside the bins."""
        points = as_floats("x", x)
        place = np.searchsorted(self.edges[1:-1], points, side="left")
        inside = (points >= self.edges[0]) & (points <= self.edges[-1])
        return np.where(inside, self.densities[place], 0.0)

    def __repr__(self) -> str:
        ends = [f"{low:.6g} … {high:.6g}" for low, high in zip(self.edges[:-1], self.edges[1:], strict=True)]
        width = max(map(len, ends))
        rows = zip(ends, self.counts.tolist(), self.densities.tolist(), strict=True)
        lines = [f"{end:{width}}  {count:<5}  {density:.6g}" for end, count, density in rows]
        return "\n".join([f"{'edges':{width}}  count  density", *lines])


@dataclass(frozen=True)
class _Scale:
    """The readings that there could have been: ``n_readings`` of them, ``delta`` apart, the first bin from ``low``."""

    low: float
    delta: float
    n_readings: float

    @classmethod
    def of(cls, array: np.ndarray, delta: float) -> _Scale:
        width = float(array[-1]) - float(array[0])
        if not math.isfinite(width / delta):
            ends = f"{array[0]:g} to {array[-1]:g}"
            raise DataError(f"values must have a range that a float can hold; got {ends}, to {delta:g}. Divide them.")
        return cls(float(array[0]) - 0.5 * delta, delta, float(round(width / delta)) + 1.0)

    def bounds(self, n_bins: int) -> np.ndarray:
        """Return the numbers of the readings between which equal bins part, from 0 to ``n_readings``."""
        return np.round(np.linspace(0.0, self.n_readings, n_bins + 1))


def _equal_cuts(scale: _Scale, most: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the bounds of 1, 2, … equal bins, and what telling them costs."""
    return ((scale.bounds(k), 0.0) for k in range(1, most + 1))


def _best_cuts(array: np.ndarray, scale: _Scale, most: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the bounds of 1, 2, … bins that leave the fewest bits of data, and what telling them costs.

    With D_k[j] the bits of the values below grid edge j in k bins, D_k[j] = min_{i < j} D_{k−1}[i] + bits(i … j).
    """
    grid = scale.bounds(int(min(max(_GRID, most), scale.n_readings)))
    below = _below(array, scale, grid)
    counts, sizes = np.maximum(below - below[:, None], 0), grid - grid[:, None]
    bits = np.where(sizes > 0, _data_bits(counts, np.maximum(sizes, 1.0), len(array)), math.inf)
    least, came_from = bits[0], [np.zeros(len(grid), np.intp)]
    for k in range(1, most + 1):
        yield grid[_traced(came_from)], float(log2_binomial(len(grid) - 2, k - 1))
        through = least[:, None] + bits
        came_from.append(through.argmin(axis=0))
        least = through.min(axis=0)


def _traced(came_from: list[np.ndarray]) -> list[int]:
    """Return the grid edges of the best bins, from the last back to the first."""
    path = [len(came_from[0]) - 1]
    for previous in reversed(came_from):
        path.append(int(previous[path[-1]]))
    return path[::-1]


def _below(array: np.ndarray, scale: _Scale, bounds: np.ndarray) -> np.ndarray:
    """Return how many values are below each bound, none below the first and all below the last."""
    inner = np.searchsorted(array, scale.low + scale.delta * bounds[1:-1], side="right")
    return np.concatenate([[0], inner, [len(array)]])


def _data_bits(counts: np.ndarray, sizes: np.ndarray, n: int) -> np.ndarray:
    """Return h log₂(n m / h), the bits of the h values of a bin of m readings."""
    return (counts * np.log2(n * sizes) - xlogy(counts, counts) / math.log(2)).clip(0.0)


def _description(
    array: np.ndarray, scale: _Scale, bounds: np.ndarray, edge_bits: float, most: int
) -> DescriptionLength:
    n, k = len(array), len(bounds) - 1
    counts = np.diff(_below(array, scale, bounds))
    regret = float(log_regret_of_states(n, np.array([float(k)]))[0]) / math.log(2)
    data_bits = float(_data_bits(counts, np.diff(bounds), n).sum())
    model = Histogram(scale.low + scale.delta * bounds, counts)
    return DescriptionLength(counted(k, "bin"), naming_bits(most) + edge_bits + regret, data_bits, model)
