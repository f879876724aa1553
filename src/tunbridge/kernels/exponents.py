"""The conditional log-likelihood of classes under exponents of features, and its derivatives.

No BLAS: several of these problems are solved at once by threads, and its own threads would get in each other's way.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fill_shares(terms, log_prior, classes, weights, exponents, shares):
    """Fill shares[row, class] with P(c | x) ∝ P(c) exp Σ_f w_f terms[row, c, f]; return −Σ log P(own class)."""
    lost = 0.0
    for i in range(terms.shape[0]):
        top = -np.inf
        for c in range(terms.shape[1]):
            total = log_prior[c]
            for f in range(terms.shape[2]):
                total += exponents[f] * terms[i, c, f]
            shares[i, c] = total
            top = max(top, total)
        own, total = shares[i, classes[i]] - top, 0.0
        for c in range(terms.shape[1]):
            shares[i, c] = np.exp(shares[i, c] - top)
            total += shares[i, c]
        for c in range(terms.shape[1]):
            shares[i, c] /= total
        lost += weights[i] * (np.log(total) - own)
    return lost


@njit(cache=True, nogil=True)
def add_derivatives(terms, classes, weights, shares, gradient, curvature):
    """Add the first derivatives of the loss to ``gradient`` and the second ones to the lower half of ``curvature``."""
    n_features = terms.shape[2]
    mean, apart = np.empty(n_features), np.empty(n_features)
    for i in range(terms.shape[0]):
        mean[:] = 0.0
        for c in range(terms.shape[1]):
            for f in range(n_features):
                mean[f] += shares[i, c] * terms[i, c, f]
        for f in range(n_features):
            gradient[f] += weights[i] * (mean[f] - terms[i, classes[i], f])
        for c in range(terms.shape[1]):
            share = weights[i] * shares[i, c]
            if share > 1e-12:
                for f in range(n_features):
                    apart[f] = terms[i, c, f] - mean[f]
                for f in range(n_features):
                    scaled = share * apart[f]
                    for g in range(f + 1):
                        curvature[f, g] += scaled * apart[g]
