"""Whether a hyperplane separates the ones from the zeros, found by a linear programme.

With s = +1 for a point that is not certainly 0 and s = −1 for one that is not certainly 1 (a target between is both), a
direction d separates if s d·φ ≥ 0 everywhere and > 0 somewhere. Asked is for the largest sum of t_i under

    s_i d·φ_i ≥ t_i,     0 ≤ t_i ≤ T.

Directions can be added and made longer, so in the best one t_i is T for every point that any separates, and 0 for the
others: the sum divided by T is the number of points that are separated. All of them: complete separation; some:
quasi-complete. No programme is needed where weights at hand put every point on its side.
"""

from __future__ import annotations

import numpy as np

from tunbridge._check import counted
from tunbridge.errors import DataError
from tunbridge.reasoning.likelihood.least_squares import least_squares

_FAR = 1e4  # as large as t may be: errors of the programme are small beside it


def check_overlap(
    design: np.ndarray, targets: np.ndarray, weights: np.ndarray, free_of: np.ndarray | None = None
) -> None:
    """Raise where ones and zeros are separated, so that no weights have the greatest likelihood.

    ``weights`` are those where a search for the greatest likelihood ended, ``free_of`` has rows that d must be
    orthogonal to: what a prior holds fast.
    """
    n_points = len(targets)
    apart = free_of is None and bool((_signed(design @ weights, targets)[0] > 0.0).all())
    n_separated = n_points if apart else n_separable(design, targets, free_of)
    if not n_separated:
        return
    part = f"{counted(n_separated, 'point')} of {n_points}, the rest on the border"
    which = "completely" if n_separated == n_points else part
    got = f"all are {targets[0]:g}" if np.ptp(targets) == 0.0 else f"ones and zeros are separated ({which})"
    rule = "the points must overlap for a greatest likelihood to exist"
    why, hint = "larger weights always fit better", "map(…, prior_variance=1.0) has an answer always."
    raise DataError(f"{rule}; {got}, and {why}. {hint}")


def n_separable(design: np.ndarray, targets: np.ndarray, free_of: np.ndarray | None = None) -> int:
    """Return how many points a direction can separate without putting any point on the wrong side."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    held_fast = design[:0] if free_of is None else free_of
    everything = np.concatenate([design, held_fast])
    change = least_squares(everything, np.zeros(len(everything))).root  # columns far from 0 would look the same
    design, fixed = design @ change, held_fast @ change
    rows, points = _signed(design / np.abs(design).max(), targets)
    n_rows, n_weights = rows.shape
    above = hstack([csr_array(-rows), eye_array(n_rows)], format="csr")
    held = np.hstack([fixed, np.zeros((len(fixed), n_rows))])
    found = linprog(
        np.concatenate([np.zeros(n_weights), -np.ones(n_rows)]),
        A_ub=above,
        b_ub=np.zeros(n_rows),
        A_eq=held if len(held) else None,
        b_eq=np.zeros(len(held)) if len(held) else None,
        bounds=[(None, None)] * n_weights + [(0.0, _FAR)] * n_rows,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None:
        return 0
    return len(set(points[found.x[n_weights:] > 0.5 * _FAR].tolist()))


def _signed(design: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows s φ, and the point that each is of."""
    ones, zeros = np.flatnonzero(targets > 0.0), np.flatnonzero(targets < 1.0)
    return np.concatenate([design[ones], -design[zeros]]), np.concatenate([ones, zeros])
