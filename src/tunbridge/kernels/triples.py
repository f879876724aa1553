"""Counts of triples of features within classes."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def add_triples(codes, classes, weights, first, f, g, n_classes, out):
    """Add the weight of every row to out[a, b, k, c], flat: states a of f and b of g > f, k of a feature after g.

    ``codes`` has a row of memory for each row of data; the states of the features after g are numbered through.
    """
    n_features, after = codes.shape[1], first[g + 1]
    n_states, width = after - first[g], first[n_features] - after
    for i in range(codes.shape[0]):
        a, b = codes[i, f], codes[i, g]
        if a < 0 or b < 0:
            continue
        start, weight = (a * n_states + b) * width - after, weights[i]
        for h in range(g + 1, n_features):
            if codes[i, h] >= 0:
                out[(start + first[h] + codes[i, h]) * n_classes + classes[i]] += weight
