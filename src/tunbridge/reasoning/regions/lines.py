"""Known densities along lines: the line itself for one dimension, sections of the plane for two.

In the plane the probability of choosing j when i is true is an integral over the region of j,

    P(j | i) = ∫ dx ∫_{y : choice at (x, y) is j} p(x, y | ω_i) dy,

and along each vertical line x the region is a set of intervals, found as on the line. For Gaussians a section is a
Gaussian again,

    p(x, y) = N(x; μ₁, σ₁²) · N(y; μ₂ + (σ₁₂/σ₁²)(x − μ₁), σ₂² − σ₁₂²/σ₁²),

so the boundaries on it are roots of a quadratic and the inner integral is a difference of distribution functions: both
exact. Other densities are integrated along the line between the boundaries. What remains is one integral over x, of
functions with kinks where boundaries appear or meet, and with jumps where one is itself a vertical line; it is taken
adaptively (:mod:`tunbridge.reasoning.regions.integration`). All sections that it asks for are computed together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tunbridge.reasoning.regions.densities import Gaussian, normal_probability
from tunbridge.reasoning.regions.density_adapters import AnyDensity, PlaneDensity
from tunbridge.reasoning.regions.function_density import Density
from tunbridge.reasoning.regions.integration import TOLERANCE, integrate, panel_nodes, panel_sums

NOWHERE = -1
"""The choice where no class is possible."""

_ROUGHLY = 1e-7
_MOST_PANELS = 400
_AT_ONCE = 1024
_SMALLEST = -690.0
_ROUNDING = 1e-14


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


class Lines(Protocol):
    """What is known of the densities along some lines."""

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x | ω_i) at points, each on the line of that number: an array with a first axis for classes."""

    def grid(self) -> np.ndarray:
        """Return where to look for boundaries, from low to high: an array (n_lines, some)."""

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of the cells under each class, (n_lines, n_classes, n_cells), and an error a line."""


Cut = Callable[[Lines, np.ndarray | None], Cells]
"""A rule: how it cuts lines, which in the plane are the sections at the given values of x."""


@dataclass(frozen=True, eq=False)
class GaussianLines:
    """Lines along which every density is a Gaussian, times a factor.

    Parameters
    ----------
    log_factors, means : ndarray of shape (n_classes, n_lines)
    variances : ndarray of shape (n_classes,)
    """

    log_factors: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x | ω_i) at points on lines."""
        variances = self.variances.reshape(-1, *(1 for _ in x.shape))
        off = (x - self.means[:, line]) / np.sqrt(variances)
        with np.errstate(over="ignore"):
            return self.log_factors[:, line] - 0.5 * (off * off + np.log(2.0 * math.pi * variances))

    def grid(self) -> np.ndarray:
        """Return points up to 40 standard deviations around each mean; fewer where there are many lines."""
        steps = 40.0 * np.sinh(np.linspace(-4.0, 4.0, 481 if self.means.shape[1] == 1 else 81)) / math.sinh(4.0)
        points = self.means[:, :, None] + np.sqrt(self.variances)[:, None, None] * steps
        return np.sort(np.hstack(list(points)), axis=1)

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each cell under each class, from the distribution function."""
        deviations = np.sqrt(self.variances)[:, None]
        low, high = ((end[:, None, :] - self.means.T[:, :, None]) / deviations for end in cells.ends)
        found = np.exp(self.log_factors).T[:, :, None] * normal_probability(low, high)
        return found, 1e-15 * found.sum(axis=(1, 2))


@dataclass(frozen=True, eq=False)
class OneLine:
    """One-dimensional densities of any kind.

    Parameters
    ----------
    densities : sequence of density
    """

    densities: Sequence[AnyDensity]

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x | ω_i) at points."""
        return np.stack([density.log_pdf(x) for density in self.densities])

    def grid(self) -> np.ndarray:
        """Return the points of all grids; with functions only where some density is not too small for a float."""
        points = np.unique(np.concatenate([density.grid for density in self.densities]))
        if any(isinstance(density, Density) for density in self.densities):
            points = points[self.log_densities(points, points).max(axis=0) > _SMALLEST]
        return points[None]

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each cell under each class."""
        low, high = (end[0] for end in cells.ends)
        found = np.stack([density.probability(low, high) for density in self.densities])[None]
        return found, np.array([sum(density.precision for density in self.densities)])


@dataclass(frozen=True, eq=False)
class Sections:
    """Two-dimensional densities of any kind along vertical lines.

    Parameters
    ----------
    densities : sequence of density
    x : ndarray of shape (n_lines,)
    """

    densities: Sequence[PlaneDensity]
    x: np.ndarray

    def log_densities(self, line: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return ln p(x, y | ω_i) at points on the lines."""
        points = np.stack([self.x[line], x], axis=-1)
        return np.stack([density.log_pdf(points) for density in self.densities])

    def grid(self) -> np.ndarray:
        """Return for each line the points at which integrals would look."""
        parts = [density.section_edges(self.x) for density in self.densities]
        nodes = [panel_nodes(part[:, :-1], part[:, 1:]).reshape(len(part), -1) for part in parts]
        return np.sort(np.hstack(nodes), axis=1)

    def masses(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Return the integral of each density over each cell, and the sum of the errors on each line."""
        fixed = np.hstack([density.section_edges(self.x) for density in self.densities])
        cuts = np.clip(cells.cuts, fixed.min(axis=1, keepdims=True), fixed.max(axis=1, keepdims=True))
        edges = np.sort(np.hstack([fixed, cuts]), axis=1)
        low, high = edges[:, :-1], edges[:, 1:]
        at = panel_nodes(low, high)
        line = np.broadcast_to(np.arange(len(at))[:, None, None], at.shape)
        values = np.moveaxis(np.exp(self.log_densities(line, at)), 0, 1)
        found, errors = panel_sums(values, low[:, None], high[:, None])
        cell = (cells.cuts[:, None, :] <= (0.5 * (low + high))[:, :, None]).sum(axis=2)
        return _tally(found, cell, cells.choices.shape[1]), errors.sum(axis=(1, 2))


def lines_of(densities: Sequence[AnyDensity], x: np.ndarray | None = None) -> Lines:
    """Return the line of one-dimensional densities, or the sections of two-dimensional ones at some x."""
    gaussians = [density for density in densities if isinstance(density, Gaussian)]
    if len(gaussians) < len(densities):
        return OneLine(densities) if x is None else Sections(_in_plane(densities), x)
    if x is None:
        means, variances = (np.array([getattr(d, name) for d in gaussians]) for name in ("mean", "variance"))
        return GaussianLines(np.zeros((len(gaussians), 1)), means[:, None], variances)
    parts = [density.along(x) for density in gaussians]
    factors = np.stack([first._log_pdf(x) for first, _ in parts])
    means = np.stack([mean for _, (mean, _) in parts])
    return GaussianLines(factors, means, np.array([variance for _, (_, variance) in parts]))


def choice_probabilities(densities: Sequence[AnyDensity], n_choices: int, cut: Cut) -> tuple[np.ndarray, float]:
    """Return P(choose j | i) for all classes and choices of a rule, and an estimate of the error."""
    if densities[0].n_dimensions == 2:
        return _over_the_plane(densities, n_choices, cut)
    lines = lines_of(densities)
    cells = cut(lines, None)
    masses, doubt = lines.masses(cells)
    return _tally(masses, cells.choices, n_choices)[0], float(doubt[0])


def _over_the_plane(densities: Sequence[AnyDensity], n_choices: int, cut: Cut) -> tuple[np.ndarray, float]:
    def few_sections(x: np.ndarray) -> np.ndarray:
        lines = lines_of(densities, x)
        cells = cut(lines, x)
        masses, doubt = lines.masses(cells)
        found = _tally(masses, cells.choices, n_choices)
        return np.hstack([found.reshape(len(x), -1), doubt[:, None]])

    def sections(x: np.ndarray) -> np.ndarray:
        return np.concatenate([few_sections(x[i : i + _AT_ONCE]) for i in range(0, len(x), _AT_ONCE)])

    edges = np.unique(np.concatenate([density.panels for density in _in_plane(densities)]))
    exact = all(isinstance(density, Gaussian) for density in densities)
    tolerance, most = (TOLERANCE, 5 * _MOST_PANELS) if exact else (_ROUGHLY, _MOST_PANELS)
    found = integrate(sections, edges, tolerance=tolerance, most_panels=most)
    probabilities = found.value[:-1].reshape(len(densities), n_choices)
    off = abs(probabilities.sum(axis=1) - 1.0).max()  # a function need not integrate to one exactly
    return probabilities, max(found.error + float(found.value[-1]) + _ROUNDING, float(off))


def _tally(masses: np.ndarray, choices: np.ndarray, n_choices: int) -> np.ndarray:
    """Return the probability of each choice, (n_lines, n_classes, n_choices), from that of each cell."""
    chosen = choices[:, None, :] == np.arange(n_choices)[:, None]
    return np.einsum("lic,ljc->lij", masses, chosen.astype(np.float64))


def _in_plane(densities: Sequence[AnyDensity]) -> list[PlaneDensity]:
    return [density for density in densities if isinstance(density, Gaussian | Density)]
