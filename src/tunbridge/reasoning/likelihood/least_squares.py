"""Least squares with the inverse it goes with, and the question whether the data determine every weight.

The columns are first scaled to length one, so that weights of very different sizes do no harm; the singular values
s_1 ≥ … ≥ s_K of the scaled matrix then say how well each direction of the weights is seen. One that is below rounding
is not seen at all, and no least-squares answer is better than another along it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._check import counted, listed
from tunbridge.errors import DataError
from tunbridge.reasoning.likelihood.basis import LARGEST

_SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer to a least-squares problem Φ w ≈ y.

    Parameters
    ----------
    weights : ndarray of shape (K,)
    root : ndarray of shape (K, rank)
        A root of (ΦᵀΦ)⁻¹: root rootᵀ is the inverse.
    log_det : float
        The logarithm of |root rootᵀ|, of a root with full rank.
    unseen : ndarray of shape (K, K − rank)
        Directions of the scaled weights that Φ is blind to.
    """

    weights: np.ndarray
    root: np.ndarray
    log_det: float
    unseen: np.ndarray


def column_scale(matrix: np.ndarray) -> np.ndarray:
    """Return the length of each column; 1 for a column of zeros."""
    largest = np.abs(matrix).max(axis=0)
    largest[largest == 0.0] = 1.0
    return largest * np.maximum(np.linalg.norm(matrix / largest, axis=0), 1.0)


def least_squares(matrix: np.ndarray, target: np.ndarray) -> Solution:
    """Return the weights that minimise ‖Φ w − y‖."""
    scale = column_scale(matrix)
    left, singular, right = np.linalg.svd(matrix / scale, full_matrices=False)
    seen = singular > max(matrix.shape) * np.finfo(float).eps * singular[0]
    root = (right[seen].T / singular[seen]) / scale[:, None]
    log_det = -2.0 * float(np.log(singular[seen]).sum() + np.log(scale).sum())
    return Solution(root @ (left[:, seen].T @ target), root, log_det, _complement(right[seen]))


def check_size(weights: np.ndarray, root: np.ndarray) -> None:
    """Raise where weights, or a root of their covariance, are too large to be squared."""
    if not max(np.abs(weights).max(), np.abs(root).max(initial=0.0)) <= LARGEST:
        rule = f"the weights and their deviations must be up to {LARGEST:g} in size"
        raise DataError(f"{rule}; got {np.abs(weights).max():g}. Measure x and y in other units.")


def check_determined(found: Solution, names: tuple[str, ...], n_points: int) -> None:
    """Raise unless every weight is determined."""
    if not found.unseen.shape[1]:
        return
    hint = "Take fewer basis functions, or map(…, prior_variance=…) with finite variances."
    if n_points < len(names):
        rule = f"at least as many as weights, {len(names)}"
        raise DataError(f"the points must be {rule}; got {n_points}. {hint}")
    involved = np.abs(found.unseen).max(axis=1) > _SMALL
    blamed = listed(name for name, is_involved in zip(names, involved, strict=True) if is_involved)
    rule = f"the data must determine {counted(len(names), 'weight')}"
    got = f"they determine {found.root.shape[1]}: at these x, {blamed} depend on each other"
    far = " For high powers, measure x from its middle." if any("^" in name for name in names) else ""
    raise DataError(f"{rule}; {got}. {hint}{far}")


def _complement(rows: np.ndarray) -> np.ndarray:
    """Return columns that span what is orthogonal to some orthonormal rows."""
    if rows.shape[0] == rows.shape[1]:
        return np.zeros((rows.shape[1], 0))
    return np.linalg.svd(rows, full_matrices=True)[2][rows.shape[0] :].T
