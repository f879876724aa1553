"""Decision regions: where which choice has the least risk, and how probable that is.

With the weights w_i(x) = P(ω_i) p(x | ω_i) and the losses λ_ij of choosing j when i is true, choices a and b cost the
same where

    Σ_i (λ_ia − λ_ib) w_i(x) = 0.

If only two classes enter this sum, as with two classes, or with any number of them when all mistakes about a class cost
the same, it says that a ratio of weights has a certain value:

    ln w_i(x) − ln w_k(x) = ln[(λ_kb − λ_ka) / (λ_ia − λ_ib)].

For Gaussians the left side is a quadratic function of x, linear where the variances are equal. So each pair of choices
has at most two boundary points, known exactly (those more than 100 000 standard deviations from the means are left
out); they cut the line into cells, one point inside each cell gives its best choice, and neighbours with the same
choice are merged. Otherwise the choices are computed on a grid that is dense where the densities are, and boundaries
between grid points that differ are found by bisection. A region between two grid points is overlooked.

In the plane, P(choose j | i) = ∫ dx ∫_{y : choice at (x, y) is j} p(x, y | ω_i) dy. Along each vertical line a Gaussian
is a Gaussian again,

    p(x, y) = N(x; μ₁, σ₁²) · N(y; μ₂ + (σ₁₂/σ₁²)(x − μ₁), σ₂² − σ₁₂²/σ₁²),

so the boundaries on it and the inner integral are exact. The outer integral has kinks and jumps where boundaries appear
or are vertical; it is computed adaptively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, final

import numpy as np

from tunbridge.reasoning.densities import AnyDensity, Density, Gaussian, integrate, log_normal, normal_probability
from tunbridge.reasoning.numbers import number_text

NOWHERE = -1
"""The choice where no class is possible."""

_TIED = 1e-13
_EQUAL = 1e-12
_SNAPPED = 1e-15
_FARTHEST = 1e5
_AT_ONCE = 1024
_SMALLEST = -690.0


@final
@dataclass(frozen=True)
class Region:
    """An interval and the choice in it.

    Parameters
    ----------
    low, high : float
        Its ends; they may be infinite.
    choice
        A class or an action; None for no decision.
    coordinate : str
        The coordinate: "x" on the line, "y" along a vertical line in the plane.

    Examples
    --------
    >>> Region(0.5, float("inf"), "bass")
    Region(low=0.5, high=inf, choice='bass')
    >>> print(Region(0.5, float("inf"), "bass"))
    bass: x > 0.5
    >>> 2.0 in Region(0.5, float("inf"), "bass")
    True
    """

    low: float
    high: float
    choice: Any
    coordinate: str = field(default="x", repr=False)

    def __contains__(self, x: float) -> bool:
        return self.low <= x <= self.high

    def __str__(self) -> str:
        low, high, x = number_text(self.low), number_text(self.high), self.coordinate
        if self.low == -math.inf:
            where = "everywhere" if self.high == math.inf else f"{x} < {high}"
        else:
            where = f"{x} > {low}" if self.high == math.inf else f"{low} < {x} < {high}"
        return f"{'no decision' if self.choice is None else self.choice}: {where}"


@dataclass(frozen=True, eq=False)
class Cells:
    """Several lines, each cut into cells with a choice in each.

    Parameters
    ----------
    cuts : ndarray of shape (n_lines, n_cuts)
        Increasing; ∞ where a line has fewer cuts than others.
    choices : ndarray of shape (n_lines, n_cuts + 1)
        The number of the choice in each cell.
    """

    cuts: np.ndarray
    choices: np.ndarray

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and the upper end of each cell."""
        side = np.full((len(self.cuts), 1), math.inf)
        return np.hstack([-side, self.cuts]), np.hstack([self.cuts, side])


@dataclass(frozen=True, eq=False)
class GaussianLines:
    """Lines along which every density is a Gaussian times a factor.

    Parameters
    ----------
    log_factors, means : ndarray of shape (n_classes, n_lines)
    variances : ndarray of shape (n_classes,)
    """

    log_factors: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x | ω_i) at points, each on the line of that number, with a first axis for classes."""
        variances = self.variances.reshape(-1, *(1 for _ in x.shape))
        off = (x - self.means[:, line]) / np.sqrt(variances)
        with np.errstate(over="ignore"):
            return self.log_factors[:, line] - 0.5 * (off * off + np.log(2.0 * math.pi * variances))

    def grid(self) -> np.ndarray:
        """Return points where boundaries are searched: fewer where there are many lines."""
        steps = 40.0 * np.sinh(np.linspace(-4.0, 4.0, 481 if self.means.shape[1] == 1 else 81)) / math.sinh(4.0)
        points = self.means[:, :, None] + np.sqrt(self.variances)[:, None, None] * steps
        return np.sort(np.hstack(list(points)), axis=1)

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of the cells under each class, (n_lines, n_classes, n_cells), and their errors."""
        deviations = np.sqrt(self.variances)[:, None]
        low, high = ((end[:, None, :] - self.means.T[:, :, None]) / deviations for end in cells.ends)
        found = np.exp(self.log_factors).T[:, :, None] * normal_probability(low, high)
        return found, 1e-15 * found.sum(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class OneLine:
    """One-dimensional densities of any kind; the same methods as :class:`GaussianLines`, for one line."""

    densities: Sequence[AnyDensity]

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x | ω_i) at points."""
        return np.stack([density.log_pdf(x) for density in self.densities])

    def grid(self) -> np.ndarray:
        """Return the points of all grids; with functions only those where some density does not underflow."""
        points = np.unique(np.concatenate([density.grid for density in self.densities]))
        if any(isinstance(density, Density) for density in self.densities):
            points = points[self.log_densities(points, points).max(axis=0) > _SMALLEST]
        return points[None]

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each cell under each class, and an error."""
        low, high = (end[0] for end in cells.ends)
        found = np.stack([density.probability(low, high) for density in self.densities])[None]
        return found, np.array([sum(density.precision for density in self.densities)])


Lines = GaussianLines | OneLine
Cut = Callable[[Lines, np.ndarray | None], Cells]
"""A rule: how it cuts lines, which in the plane are vertical lines at the given x."""


def lines_of(densities: Sequence[AnyDensity], x: np.ndarray | None = None) -> Lines:
    """Return the line of one-dimensional densities, or the vertical lines at x of two-dimensional ones."""
    gaussians = [density for density in densities if isinstance(density, Gaussian)]
    if len(gaussians) < len(densities):
        return OneLine(densities)
    if x is None:
        means, variances = (np.array([getattr(d, name) for d in gaussians]) for name in ("mean", "variance"))
        return GaussianLines(np.zeros((len(gaussians), 1)), means[:, None], variances)
    parts = [density.along(x) for density in gaussians]
    factors = np.stack([log_normal(x, *first) for first, _ in parts])
    means, variances = np.stack([second[0] for _, second in parts]), np.array([second[1] for _, second in parts])
    return GaussianLines(factors, means, variances)


def choice_probabilities(densities: Sequence[AnyDensity], n_choices: int, cut: Cut) -> tuple[np.ndarray, float]:
    """Return P(choose j | i) for all classes and choices of a rule, and an estimate of the error."""

    def on_lines(x: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        lines = lines_of(densities, x)
        cells = cut(lines, x)
        masses, errors = lines.masses(cells)
        chosen = cells.choices[:, None, :] == np.arange(n_choices)[:, None]
        return np.einsum("lic,ljc->lij", masses, chosen.astype(np.float64)), errors

    if densities[0].n_dimensions == 1:
        found, errors = on_lines(None)
        return found[0], float(errors[0])

    def sections(x: np.ndarray) -> np.ndarray:
        parts = [on_lines(x[i : i + _AT_ONCE]) for i in range(0, len(x), _AT_ONCE)]
        return np.concatenate([np.hstack([p.reshape(len(p), -1), errors[:, None]]) for p, errors in parts])

    edges = np.unique(np.concatenate([d.panels for d in densities if isinstance(d, Gaussian)]))
    integral = integrate(sections, edges)
    probabilities = integral.value[:-1].reshape(len(densities), n_choices)
    off = abs(probabilities.sum(axis=1) - 1.0).max()
    return probabilities, max(integral.error + float(integral.value[-1]) + 1e-14, float(off))


def least_risk(log_weights: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return the choice of least risk, of equal ones the first; NOWHERE where all weights are zero.

    Parameters
    ----------
    log_weights : ndarray of shape (n_classes, …)
        ln P(ω_i) p(x | ω_i).
    losses : ndarray of shape (n_classes, n_choices)

    Examples
    --------
    >>> import numpy as np
    >>> least_risk(np.array([[-8000.0, -np.inf], [-8001.0, -np.inf]]), 1.0 - np.eye(2)).tolist()
    [0, -1]
    """
    shares, possible = shares_of(log_weights)
    risks, scale = np.tensordot(losses.T, shares, 1), np.tensordot(np.abs(losses.T), shares, 1)
    choices = (risks <= risks.min(axis=0) + _TIED * scale).argmax(axis=0)
    return np.where(possible, choices, NOWHERE)


def shares_of(log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights scaled to sum to one over the first axis, and where any is above 0; elsewhere shares are 0."""
    logs = np.minimum(log_weights, 1e300)  # a density may be infinite at a point
    top = logs.max(axis=0)
    possible = top > -math.inf
    shares = np.exp(logs - np.where(possible, top, 0.0))
    return shares / np.where(possible, shares.sum(axis=0), 1.0), possible


def cut_lines(lines: Lines, log_prior: np.ndarray, losses: np.ndarray) -> Cells:
    """Return the cells of least risk on each line."""
    prior = np.maximum(log_prior, -1e290)  # a class of prior 0 is chosen only where no other one is possible
    if isinstance(lines, GaussianLines) and (pairs := _comparisons(losses)) is not None:
        return _exact_cells(lines, prior, losses, [_roots(lines, log_prior, *pair) for pair in pairs])
    n_marks = losses.shape[1] + 1

    def look(line: np.ndarray, x: np.ndarray) -> np.ndarray:
        logs = lines.log_densities(line, x)
        choices = least_risk(logs + prior.reshape(-1, *(1 for _ in x.shape)), losses)
        possible = np.tensordot(1 << np.arange(len(logs)), logs > -math.inf, 1)  # cut where a support ends, too
        return choices - NOWHERE + n_marks * possible

    cuts, marks = _scanned(lines.grid(), look)
    return Cells(cuts, marks % n_marks + NOWHERE)


# Gaussians: exact boundaries


def _comparisons(losses: np.ndarray) -> list[tuple[int, int, float]] | None:
    """Return classes i, k and the ln w_i − ln w_k at which two choices cost the same; None where more classes enter."""
    found = []
    for a, b in combinations(range(losses.shape[1]), 2):
        worse = losses[:, a] - losses[:, b]
        entering = np.flatnonzero(worse)
        if (worse >= 0.0).all() or (worse <= 0.0).all():
            continue  # one choice is never worse than the other
        if len(entering) > 2:
            return None
        i, k = entering.tolist()
        found.append((i, k, math.log(-worse[k] / worse[i])))
    return found


def _exact_cells(lines: GaussianLines, log_prior: np.ndarray, losses: np.ndarray, roots: Sequence[np.ndarray]) -> Cells:
    """Return the cells between points, with the best choice in each."""
    n_lines = lines.means.shape[1]
    cuts = np.sort(np.concatenate([np.full((n_lines, 1), math.inf), *roots], axis=1), axis=1)[:, :-1]
    line = np.broadcast_to(np.arange(n_lines)[:, None], (n_lines, cuts.shape[1] + 1))
    near, step = lines.means[0][:, None], 4.0 * math.sqrt(lines.variances.max()) + 0.5 * np.ptp(lines.means, axis=0)
    low, high = Cells(cuts, line).ends
    with np.errstate(invalid="ignore"):  # a point in each cell, near the mean but not close to an end
        margin = np.minimum(step[:, None], 0.5 * (high - low))
        inside = np.clip(near, low + margin, high - margin)
    inside = np.where(np.isfinite(inside), inside, near)  # the cells after the last cut are empty
    return Cells(cuts, least_risk(lines.log_densities(line, inside) + log_prior[:, None, None], losses))


def _roots(lines: GaussianLines, log_prior: np.ndarray, i: int, k: int, value: float) -> np.ndarray:
    """Return where ln w_i − ln w_k has a value: two points a line, ∞ where there are fewer.

    With t = x − m_i and δ = m_k − m_i it is A t² + B t + C = 0, where

        A = (1/v_k − 1/v_i)/2,   B = −δ/v_k,   C = ln f_i − ln f_k + δ²/2v_k − value,

    solved without loss of digits; for A = 0 it is linear.
    """
    (v_i, v_k), delta = lines.variances[[i, k]], lines.means[k] - lines.means[i]
    heights = lines.log_factors + (log_prior - 0.5 * np.log(lines.variances))[:, None]
    a = 0.0 if abs(v_i - v_k) <= _EQUAL * max(v_i, v_k) else 0.5 * (1.0 / v_k - 1.0 / v_i)
    b = -delta / v_k
    with np.errstate(all="ignore"):  # a prior of 0 makes them infinite, and then there are none
        c = heights[i] - heights[k] + 0.5 * delta * delta / v_k - value
        q = -0.5 * (b + np.copysign(np.sqrt(b * b - 4.0 * a * c), b))
        roots = np.stack([q / a if a else np.full_like(q, np.inf), c / q], axis=1) + lines.means[i][:, None]
    reach = _FARTHEST * math.sqrt(max(v_i, v_k)) + 4.0 * np.abs(delta)
    far = np.abs(roots - lines.means[i][:, None]) > reach[:, None]
    return np.where(np.isfinite(roots) & ~far, roots, math.inf)


# Other densities, and losses that compare more than two classes: a grid and bisection

_Look = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _scanned(grid: np.ndarray, look: _Look) -> tuple[np.ndarray, np.ndarray]:
    """Return where on each line the mark changes, and the mark of each cell.

    Pieces with different marks at their ends are halved; of the halves those are kept that have different marks, too.
    """
    marks = look(np.broadcast_to(np.arange(len(grid))[:, None], grid.shape), grid)
    rows, columns = np.nonzero(marks[:, 1:] != marks[:, :-1])
    low, high, below, after = (each[rows, columns + i] for each in (grid, marks) for i in (0, 1))
    for _ in range(120 if len(grid) == 1 else 46):
        middle = 0.5 * low + 0.5 * high
        if not ((middle > low) & (middle < high)).any():
            break
        seen = look(rows, middle)
        pieces = [(rows, rows), (low, middle), (middle, high), (below, seen), (seen, after)]
        rows, low, high, below, after = (np.concatenate(halves) for halves in pieces)
        kept = below != after
        rows, low, high, below, after = rows[kept], low[kept], high[kept], below[kept], after[kept]
    found = 0.5 * low + 0.5 * high
    order = np.lexsort([found, rows])
    rows, found, after = rows[order], found[order], after[order]
    count = np.bincount(rows, minlength=len(grid))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    cuts = np.full((len(grid), int(count.max(initial=0))), math.inf)
    cells = np.repeat(marks[:, :1], cuts.shape[1] + 1, axis=1)
    cuts[rows, place], cells[rows, place + 1] = found, after
    return cuts, cells


def as_regions(
    cells: Cells, options: Sequence[Any], supports: Sequence[tuple[float, float]], coordinate: str = "x"
) -> tuple[Region, ...]:
    """Return the regions of the first line, within the supports, neighbours with the same choice as one."""
    known = np.array([end for support in supports for end in support])
    found: list[tuple[float, float, int]] = []
    for a, b, j in zip(*(_snapped(end[0], known) for end in cells.ends), cells.choices[0].tolist(), strict=True):
        if a >= b or j == NOWHERE:
            continue
        if found and found[-1][1:] == (a, j):
            a = found.pop()[0]
        found.append((a, b, j))
    return tuple(Region(a, b, options[j], coordinate) for a, b, j in found)


def _snapped(ends: np.ndarray, known: np.ndarray) -> list[float]:
    """Return ends of cells within all supports; those that differ from the end of one by rounding are that."""
    inside = np.clip(ends, known.min(), known.max())
    finite = known[np.isfinite(known)]
    return [next((k for k in finite.tolist() if abs(k - x) <= _SNAPPED * abs(k)), x) for x in inside.tolist()]
