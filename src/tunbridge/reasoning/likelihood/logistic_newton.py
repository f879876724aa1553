"""Newton's method for logistic hypotheses.

With p = 1 / (1 + exp(−Φw)) and a prior of mean 0 and precision RᵀR, what is minimised has

    value     −Σ [y ln p + (1 − y) ln(1 − p)] + ½ ‖R w‖²,
    gradient  Φᵀ (p − y) + RᵀR w,
    curvature Φᵀ diag(p (1 − p)) Φ + RᵀR.

A step solves curvature · step = −gradient, as least squares on the rows √(p (1 − p)) φ and R, and is halved until the
value falls by a share of what the gradient promises. The search ends where a step promises no more than rounding can
make up: log-odds are sums, and where their parts are large (one x is a million times the others) they lose digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._check import warn_user
from tunbridge.errors import ConvergenceWarning
from tunbridge.reasoning.likelihood.gaussian_prior import GaussianPrior
from tunbridge.reasoning.likelihood.least_squares import check_size, least_squares

_MOST_STEPS, _MOST_HALVINGS = 200, 60
_SUFFICIENT = 1e-4
_ROUNDING = 2.0**-52
_SHARES = (0.0, 0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where Newton's method ended.

    Parameters
    ----------
    weights, covariance : ndarray
        The weights, and the inverse of the curvature there.
    is_certain : bool
        Whether the gradient is so small that a minimum is proven to exist.
    """

    weights: np.ndarray
    covariance: np.ndarray
    is_certain: bool


def probabilities(log_odds: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(−a)) without overflow.

    Examples
    --------
    >>> probabilities(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    small = np.exp(-np.abs(log_odds))
    return np.where(log_odds >= 0.0, 1.0, small) / (1.0 + small)


def cross_entropy(log_odds: np.ndarray, targets: np.ndarray) -> float:
    """Return −Σ [y ln p + (1 − y) ln(1 − p)], exact at log-odds of any size.

    Examples
    --------
    >>> cross_entropy(np.array([-1000.0, 1000.0]), np.array([0.0, 0.0]))
    1000.0
    """
    costs = targets * np.logaddexp(0.0, -log_odds) + (1.0 - targets) * np.logaddexp(0.0, log_odds)
    return float(costs.sum())


def maximise(design: np.ndarray, targets: np.ndarray, prior: GaussianPrior | None = None) -> Optimum:
    """Return the weights of greatest likelihood, or of greatest posterior under a prior."""
    seen_before = design[:0] if prior is None else prior.rows
    rows = np.concatenate([design, seen_before])
    change = least_squares(rows, np.zeros(len(rows))).root
    problem = _Problem(design @ change, targets, seen_before @ change)
    found, settled = _descend(problem)
    if not settled:
        warn_user(f"Newton's method must settle; after {_MOST_STEPS} steps it had not.", ConvergenceWarning)
    weights, root = change @ found, change @ problem.newton(found).root
    check_size(weights, root)
    return Optimum(weights, root @ root.T, settled and problem.is_certain(found))


@dataclass(frozen=True, eq=False)
class _Step:
    """A Newton step, the fall of the value that it promises, and a root of the inverse curvature.

    ``blur`` is how far rounding may put the value off, and ``least`` the smallest promise that is more than rounding.
    """

    step: np.ndarray
    promise: float
    root: np.ndarray
    blur: float
    least: float


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is minimised, in weights that were changed so that the columns of Φ and R are orthonormal.

    The change costs nothing, for Newton's method takes the same way in all coordinates, and keeps
    digits where the columns are nearly the same.
    """

    design: np.ndarray
    targets: np.ndarray
    root: np.ndarray

    def value(self, weights: np.ndarray) -> float:
        """Return what is to be small."""
        far = np.square(self.root @ weights).sum()
        return cross_entropy(self.design @ weights, self.targets) + 0.5 * float(far)

    def pulls(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return y (1 − p) and (1 − y) p, by which each point draws its log-odds up and down."""
        log_odds = self.design @ weights
        return self.targets * probabilities(-log_odds), (1.0 - self.targets) * probabilities(log_odds)

    def slope(self, weights: np.ndarray) -> np.ndarray:
        """Return the gradient."""
        up, down = self.pulls(weights)
        return self.design.T @ (down - up) + self.root.T @ (self.root @ weights)

    def newton(self, weights: np.ndarray) -> _Step:
        """Return the step of Newton's method."""
        log_odds = self.design @ weights
        bend = np.sqrt(probabilities(log_odds) * probabilities(-log_odds))
        rows = np.concatenate([self.design * bend[:, None], self.root])
        found, slope = least_squares(rows, np.zeros(len(rows))), self.slope(weights)
        step = -found.root @ (found.root.T @ slope)
        pulls, off = sum(self.pulls(weights)), _ROUNDING * (np.abs(self.design) @ np.abs(weights))
        slope_off = np.abs(self.design @ found.root).T @ (np.square(bend) * off)
        return _Step(step, float(-slope @ step), found.root, float(pulls @ off), float(slope_off @ slope_off))

    def is_certain(self, weights: np.ndarray) -> bool:
        """Return whether the gradient proves that a minimum exists.

        Along a direction d (of length one) in which the value falls for ever every point is on its side, and
        −d·gradient = Σ μ_i |d·φ_i|, with μ_i what point i pulls with. Of the points that pull with μ or more alone,
        that is at least μ times the length of their d·φ_i, and so at least μ s, with s the smallest singular value of
        their rows. There is no such direction where |gradient| < μ s for some μ, with room for rounding.
        """
        up, down = self.pulls(weights)
        pulls = np.concatenate([up[self.targets > 0.0], down[self.targets < 1.0]])
        rows = np.concatenate([self.design[self.targets > 0.0], self.design[self.targets < 1.0]])
        slope = np.linalg.norm(self.slope(weights)) + 8.0 * _ROUNDING * np.linalg.norm(pulls)
        return any(slope < least * _smallest(rows[pulls >= least]) for least in np.quantile(pulls, _SHARES))


def _smallest(rows: np.ndarray) -> float:
    """Return the smallest singular value; 0 where there are fewer rows than columns."""
    return float(np.linalg.svd(rows, compute_uv=False)[-1]) if rows.shape[0] >= rows.shape[1] else 0.0


def _descend(problem: _Problem) -> tuple[np.ndarray, bool]:
    """Return the minimum, and whether it was reached."""
    weights = np.zeros(problem.design.shape[1])
    value = problem.value(weights)
    for _ in range(_MOST_STEPS):
        newton = problem.newton(weights)
        weights, value, moved = _halved(problem, weights, value, newton)
        if newton.promise <= _ROUNDING * (1.0 + value) + newton.least or not moved:
            return weights, True
    return weights, False


def _halved(problem: _Problem, weights: np.ndarray, value: float, newton: _Step) -> tuple[np.ndarray, float, bool]:
    """Return weights and value after the longest of the step, its half, its quarter … that does enough good."""
    share, blur = 1.0, _ROUNDING * (1.0 + value) + newton.blur
    for _ in range(_MOST_HALVINGS):
        tried = weights + share * newton.step
        found = problem.value(tried)
        if found <= value - _SUFFICIENT * share * newton.promise + blur:
            return tried, found, bool((tried != weights).any())
        share *= 0.5
    return weights, value, False
