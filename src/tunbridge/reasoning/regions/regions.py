"""Decision regions on a line: where which choice has the least risk.

With the weights w_i(x) = P(ω_i) p(x | ω_i) and the losses λ_ij of choosing j when i is true, choices a and b cost the
same where

    Σ_i (λ_ia − λ_ib) w_i(x) = 0.

Where two classes only enter this sum, as they do with two classes, or with any number of them when all mistakes about a
class cost the same, it says that a ratio of weights has a certain value:

    ln w_i(x) − ln w_k(x) = ln[(λ_kb − λ_ka) / (λ_ia − λ_ib)].

For Gaussians the left side is a quadratic function of x, and a linear one where the variances are equal. So there are
at most two points for each pair of choices, known exactly (those more than 100 000 standard deviations beyond the means
are left out); all of them cut the line into cells, one look into each cell tells the best choice, and neighbours with
the same choice are put together.

Otherwise the choices are looked up at the points of a grid that is fine where the densities are, and between neighbours
that differ the boundary is closed in on by halving, down to neighbouring numbers of the machine. A region that begins
and ends between two points of the grid is overlooked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, final

import numpy as np

from tunbridge.reasoning.numbers import number_text
from tunbridge.reasoning.regions.lines import NOWHERE, Cells, GaussianLines, Lines

_TIED = 1e-13
_EQUAL = 1e-12
_SNAPPED = 1e-15
_FARTHEST = 1e5
_HALVINGS, _FEW_HALVINGS = 120, 46  # of one line, and of many, which only integrals need


@final
@dataclass(frozen=True)
class Region:
    """An interval and what is chosen in it.

    Parameters
    ----------
    low, high : float
        Its ends; they may be infinite.
    choice
        A class or an action; None for no decision.
    coordinate : str
        What lies in the interval: "x" on the line, "y" along a vertical line in the plane.

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
        return f"{'no decision' if self.choice is None else self.choice}: {self._where()}"

    def _where(self) -> str:
        low, high, x = number_text(self.low), number_text(self.high), self.coordinate
        if self.low == -math.inf:
            return "everywhere" if self.high == math.inf else f"{x} < {high}"
        return f"{x} > {low}" if self.high == math.inf else f"{low} < {x} < {high}"


def least_risk(log_weights: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return the choice of least risk, of those equal but for rounding the first; NOWHERE where all weights are zero.

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
    """Return weights scaled to sum to one over the first axis, and whether any is above 0; else the shares are 0.

    They are scaled by their largest before they leave the logarithm, and so may all be far too small for a float.
    """
    logs = np.minimum(log_weights, 1e300)  # a density may be infinite at a point
    top = logs.max(axis=0)
    possible = top > -math.inf
    shares = np.exp(logs - np.where(possible, top, 0.0))
    return shares / np.where(possible, shares.sum(axis=0), 1.0), possible


def cut_lines(lines: Lines, log_prior: np.ndarray, losses: np.ndarray) -> Cells:
    """Return the cells of least risk on each line."""
    prior = np.maximum(log_prior, -1e290)  # a class of prior 0 is chosen only where no other one is possible
    if isinstance(lines, GaussianLines) and (pairs := _comparisons(losses)) is not None:
        roots = [_roots(lines, log_prior, *pair) for pair in pairs]
        return _exact_cells(lines, prior, losses, roots)
    n_marks = losses.shape[1] + 1

    def look(line: np.ndarray, x: np.ndarray) -> np.ndarray:
        logs = lines.log_densities(line, x)
        choices = least_risk(logs + prior.reshape(-1, *(1 for _ in x.shape)), losses)
        possible = np.tensordot(1 << np.arange(len(logs)), logs > -math.inf, 1)  # integrals are cut where one ends
        return choices - NOWHERE + n_marks * possible

    cuts, marks = _scanned(lines.grid(), look)
    return Cells(cuts, marks % n_marks + NOWHERE)


# Gaussians: the points are known


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
    step = 4.0 * math.sqrt(lines.variances.max()) + 0.5 * np.ptp(lines.means, axis=0)
    inside = _inside(cuts, lines.means[0][:, None], step[:, None])
    return Cells(cuts, least_risk(lines.log_densities(line, inside) + log_prior[:, None, None], losses))


def _roots(lines: GaussianLines, log_prior: np.ndarray, i: int, k: int, value: float) -> np.ndarray:
    """Return where ln w_i − ln w_k has a value: two points a line, ∞ where there are fewer.

    With t = x − m_i and δ = m_k − m_i it is A t² + B t + C = 0, where

        A = (1/v_k − 1/v_i)/2,   B = −δ/v_k,   C = ln f_i − ln f_k + δ²/2v_k − value,

    solved without loss of digits, which for A = 0 gives the one root of the linear equation.
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


def _inside(cuts: np.ndarray, near: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return a point in each cell, as near to the given one as may be without being close to an end."""
    side = np.full((len(cuts), 1), math.inf)
    low, high = np.hstack([-side, cuts]), np.hstack([cuts, side])
    with np.errstate(invalid="ignore"):
        margin = np.minimum(step, 0.5 * (high - low))
        found = np.clip(near, low + margin, high - margin)
    return np.where(np.isfinite(found), found, near)  # the cells after the last cut are empty


# Other densities: looking and halving

Look = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From numbers of lines and points on them to marks; a cut is made where the mark changes."""


def _scanned(grid: np.ndarray, look: Look) -> tuple[np.ndarray, np.ndarray]:
    """Return where on each line the mark changes, and the mark of each cell.

    Between two points that differ the first change is closed in on; what lies above it may be a third mark, and then
    the search goes on from there.
    """
    marks = look(np.broadcast_to(np.arange(len(grid))[:, None], grid.shape), grid)
    rows, columns = np.nonzero(marks[:, 1:] != marks[:, :-1])
    low, high = grid[rows, columns], grid[rows, columns + 1]
    below, above = marks[rows, columns], marks[rows, columns + 1]
    parts = [(rows[:0], low[:0], above[:0])]
    while rows.size:
        near, far, mark = _halved(
            rows, (low, high), (below, above), look, _HALVINGS if len(grid) == 1 else _FEW_HALVINGS
        )
        parts.append((rows, 0.5 * near + 0.5 * far, mark))
        more = mark != above
        rows, low, high, below, above = rows[more], far[more], high[more], mark[more], above[more]
    return _gathered(marks[:, 0], *(np.concatenate(each) for each in zip(*parts, strict=True)))


def _halved(
    rows: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    marks: tuple[np.ndarray, np.ndarray],
    look: Look,
    n_halvings: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the neighbours between which the mark of the lower end first changes, and the mark above."""
    (low, high), (below, mark) = ends, marks
    for _ in range(n_halvings):
        middle = 0.5 * low + 0.5 * high
        if not ((middle > low) & (middle < high)).any():
            break
        seen = look(rows, middle)
        same = seen == below
        low, high, mark = np.where(same, middle, low), np.where(same, high, middle), np.where(same, mark, seen)
    return low, high, mark


def _gathered(
    first: np.ndarray, rows: np.ndarray, found: np.ndarray, after: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return cuts and marks by line, from changes in any order."""
    order = np.lexsort([found, rows])
    rows, found, after = rows[order], found[order], after[order]
    count = np.bincount(rows, minlength=len(first))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    cuts = np.full((len(first), int(count.max(initial=0))), math.inf)
    marks = np.repeat(first[:, None], cuts.shape[1] + 1, axis=1)
    cuts[rows, place], marks[rows, place + 1] = found, after
    return cuts, marks


# Cells as regions


def as_regions(
    cells: Cells, options: Sequence[Any], supports: Sequence[tuple[float, float]], coordinate: str = "x"
) -> tuple[Region, ...]:
    """Return the regions of the first line, neighbours with the same choice as one, where some class is possible."""
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
    """Return ends of cells within all supports; those beside the end of one, but for rounding, are that."""
    inside = np.clip(ends, known.min(), known.max())
    finite = known[np.isfinite(known)]
    return [next((k for k in finite.tolist() if abs(k - x) <= _SNAPPED * abs(k)), x) for x in inside.tolist()]
