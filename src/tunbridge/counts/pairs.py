"""The counts of all pairs of columns, in one matrix of all their states.

Columns with few states are counted together by bit planes, the others pair by pair by histogram; rows with weights by
histogram; small tables by one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunbridge._threads import map_threads
from tunbridge.counts.planes import BitPlanes, build_planes, has_planes, pair_matrix
from tunbridge.counts.radix import SMALL_CELLS, joint_table


def all_pairs(
    columns: Sequence[np.ndarray],
    n_states: Sequence[int],
    weights: np.ndarray | None,
    *,
    n_jobs: int | None,
    planes: BitPlanes | None = None,
) -> np.ndarray:
    """Return the matrix of the counts of all pairs of states; ``planes``: of the columns with few, where known."""
    first = np.concatenate([[0], np.cumsum(n_states)]).astype(np.intp)
    if not columns or len(columns[0]) * first[-1] <= SMALL_CELLS:
        return _one_hot_pairs(columns, first, weights)
    narrow = [i for i, n in enumerate(n_states) if weights is None and has_planes(n)]
    wide = [i for i, n in enumerate(n_states) if n and (weights is not None or not has_planes(n))]
    if narrow and planes is None:
        planes = build_planes([columns[i] for i in narrow], [n_states[i] for i in narrow], n_jobs=n_jobs)
    if planes is not None and not wide:
        return pair_matrix(planes, n_jobs=n_jobs)
    out = np.zeros((first[-1], first[-1]), np.int64 if weights is None else np.float64)
    if planes is not None:
        at = np.concatenate([np.arange(first[i], first[i + 1]) for i in narrow])
        out[np.ix_(at, at)] = pair_matrix(planes, n_jobs=n_jobs)
    map_threads(lambda ij: _fill_pair(columns, first, weights, ij, out), _pairs_with(wide, len(columns)), n_jobs)
    return out


def _pairs_with(wide: Sequence[int], n_columns: int) -> list[tuple[int, int]]:
    """Return every pair, each once, in which there is at least one of these columns; with themselves too."""
    chosen = set(wide)
    return [(i, j) for i in wide for j in range(n_columns) if j <= i or j not in chosen]


def _one_hot_pairs(columns: Sequence[np.ndarray], first: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return ZᵀWZ for the 0/1 matrix Z of all states: needs no kernel, and is exact without weights."""
    n_rows = len(columns[0]) if columns else 0
    hot = np.zeros((n_rows, first[-1]))
    for codes, start in zip(columns, first[:-1], strict=True):
        rows = np.flatnonzero(codes >= 0)
        hot[rows, start + codes[rows]] = 1.0
    if weights is None:
        return (hot.T @ hot).astype(np.int64)
    return hot.T @ (hot * weights[:n_rows, None])


def _fill_pair(
    columns: Sequence[np.ndarray], first: np.ndarray, weights: np.ndarray | None, pair: tuple[int, int], out: np.ndarray
) -> None:
    """Count one pair by histogram into both halves of the matrix."""
    i, j = pair
    shape = [int(first[i + 1] - first[i]), int(first[j + 1] - first[j])]
    table = joint_table([columns[i], columns[j]], shape, weights, n_jobs=1).reshape(shape)
    out[first[i] : first[i + 1], first[j] : first[j + 1]] = table
    out[first[j] : first[j + 1], first[i] : first[i + 1]] = table.T
