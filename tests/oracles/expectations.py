"""Expected counts by writing out every completion of every row."""

from __future__ import annotations

import numpy as np

from tunbridge.inference.flat import FlatNetwork


def expected_counts(
    flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray, tables: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the expected count of every cell and the log-likelihood; barren families are counted nowhere."""
    counts, log_likelihood = np.zeros(len(tables)), 0.0
    for row, weight in zip(codes.T, weights, strict=True):
        if weight == 0.0:
            continue
        kept = np.flatnonzero(~barren(flat, row)).tolist()
        hidden = [v for v in kept if row[v] < 0]
        axes = {v: i for i, v in enumerate(hidden)}
        logs, cells = np.zeros([flat.n_states[v] for v in hidden]), []
        grid = np.indices(logs.shape)
        for v in kept:
            j = np.zeros(logs.shape, np.int64)
            for u in (*flat.parents_of(v), v):
                j = j * flat.n_states[u] + (grid[axes[u]] if u in axes else row[u])
            cells.append(flat.table_start[v] + j)
            with np.errstate(divide="ignore"):
                logs = logs + np.log(tables[cells[-1]])
        if logs.max() == -np.inf:
            log_likelihood = -np.inf
            continue
        total = logs.max() + np.log(np.exp(logs - logs.max()).sum())
        log_likelihood += weight * total
        for places in cells:
            np.add.at(counts, places, weight * np.exp(logs - total))
    return counts, float(log_likelihood)


def barren(flat: FlatNetwork, row: np.ndarray) -> np.ndarray:
    """Return which variables are hidden with nothing observed below."""
    found = row < 0
    for v in flat.order[::-1].tolist():
        if not found[v]:
            found[flat.parents_of(v)] = False
    return found
