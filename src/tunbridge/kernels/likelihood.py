"""Log-likelihoods of rows under each class, feature by feature; ``out`` is class × row."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_categorical(codes, table, out):
    """Add table[k, codes[i] + 1] to out[k, i]; column 0 of the table is the missing cell's."""
    for k in range(out.shape[0]):
        for i in range(codes.shape[0]):
            out[k, i] += table[k, codes[i] + 1]


@njit(cache=True, nogil=True)
def add_gaussian(block, mean, precision, constant, out):
    """Add constant[k, j] − precision[k, j]·(block[j, i] − mean[k, j])² to out[k, i]; NaN adds nothing."""
    for j in range(block.shape[0]):
        for k in range(out.shape[0]):
            m, s, c = mean[k, j], precision[k, j], constant[k, j]
            for i in range(block.shape[1]):
                d = block[j, i] - m
                term = c - s * d * d
                out[k, i] += term if d == d else 0.0


@njit(cache=True, nogil=True)
def add_kernel_density(values, points, log_weights, bandwidth, farthest, out):
    """Add the log of Σ_p w_p N(values[i]; points[p], bandwidth) to out[i]; NaN adds nothing.

    The terms are taken relative to the largest, and no value is farther than ``farthest`` bandwidths from a point, so
    that every log-density is finite.
    """
    constant = -np.log(bandwidth * np.sqrt(2.0 * np.pi))
    for i in range(values.shape[0]):
        x = values[i]
        if x == x:
            top = -np.inf
            for p in range(points.shape[0]):
                d = min(abs(x - points[p]) / bandwidth, farthest)
                top = max(top, log_weights[p] - 0.5 * d * d)
            total = 0.0
            for p in range(points.shape[0]):
                d = min(abs(x - points[p]) / bandwidth, farthest)
                total += np.exp(log_weights[p] - 0.5 * d * d - top)
            out[i] += constant + top + np.log(total)
