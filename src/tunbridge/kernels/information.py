"""Mutual information of all pairs of variables from the matrix of their counts."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _n_log_n(n):
    return n * np.log(n) if n > 0.0 else 0.0


@njit(cache=True, nogil=True)
def fill_information(matrix, first, low, high, information, rows):
    """Fill I(A; B) and the number of rows for variables a, low ≤ a < high, and b ≥ a, and the same mirrored.

    Variable v's states are first[v] … first[v + 1] − 1 of the matrix.
    """
    for a in range(low, high):
        for b in range(a, first.shape[0] - 1):
            total, terms = 0.0, 0.0
            for i in range(first[a], first[a + 1]):
                margin = 0.0
                for j in range(first[b], first[b + 1]):
                    margin += matrix[i, j]
                    terms += _n_log_n(float(matrix[i, j]))
                total += margin
                terms -= _n_log_n(margin)
            for j in range(first[b], first[b + 1]):
                margin = 0.0
                for i in range(first[a], first[a + 1]):
                    margin += matrix[i, j]
                terms -= _n_log_n(margin)
            found = max(0.0, (_n_log_n(total) + terms) / total) if total > 0.0 else 0.0
            information[a, b] = found
            information[b, a] = found
            rows[a, b] = total
            rows[b, a] = total
