"""Measures of all pairs of a block of variables with the later ones, from blocks of pair counts.

``block[i, j]`` counts the rows with state i of the block's variables and state j of all variables from the block's
first one on; ``start_a`` and ``start_b`` say where each variable's states begin. Results are written at [a, b] and at
[b, a].
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def expand_block(kept, first_a, first_b, start_a, start_b, margins_a, margins_b, low, high, out):
    """Fill a block of pair counts from that of planes: a complete variable's last state has none and gets the rest.

    ``kept[p, q]`` counts planes; variable v's begin at first[v], its states at start[v], its counts in ``margins``.
    Only the variables a, low ≤ a < high, are filled.
    """
    for a in range(low, high):
        n_a = first_a[a + 1] - first_a[a]
        for b in range(first_b.shape[0] - 1):
            n_b = first_b[b + 1] - first_b[b]
            for i in range(n_a):
                rest = margins_a[start_a[a] + i]
                for j in range(n_b):
                    cell = kept[first_a[a] + i, first_b[b] + j]
                    out[start_a[a] + i, start_b[b] + j] = cell
                    rest -= cell
                if n_b < start_b[b + 1] - start_b[b]:
                    out[start_a[a] + i, start_b[b + 1] - 1] = rest
            if n_a < start_a[a + 1] - start_a[a]:
                for t in range(start_b[b], start_b[b + 1]):
                    rest = margins_b[t]
                    for s in range(start_a[a], start_a[a] + n_a):
                        rest -= out[s, t]
                    out[start_a[a + 1] - 1, t] = rest


@njit(cache=True, nogil=True)
def fill_block_information(block, start_a, start_b, low, a, out):
    """Fill I(A; B) of the a-th variable of a block that begins with variable ``low``, for every later b."""
    for b in range(a + 1, start_b.shape[0] - 1):
        total, terms = 0.0, 0.0
        for i in range(start_a[a], start_a[a + 1]):
            margin = 0.0
            for j in range(start_b[b], start_b[b + 1]):
                n = float(block[i, j])
                margin += n
                if n > 0.0:
                    terms += n * np.log(n)
            total += margin
            if margin > 0.0:
                terms -= margin * np.log(margin)
        for j in range(start_b[b], start_b[b + 1]):
            margin = 0.0
            for i in range(start_a[a], start_a[a + 1]):
                margin += float(block[i, j])
            if margin > 0.0:
                terms -= margin * np.log(margin)
        found = max(0.0, (total * np.log(total) + terms) / total) if total > 0.0 else 0.0
        out[low + a, low + b] = found
        out[low + b, low + a] = found


@njit(cache=True, nogil=True)
def fill_block_discrepancy(block, model, start_a, start_b, low, a, out):
    """Fill the divergence of each later pair's frequencies from the model's, whose counts are raised by one row."""
    for b in range(a + 1, start_b.shape[0] - 1):
        total, modelled = 0.0, 1.0
        n_cells = (start_a[a + 1] - start_a[a]) * (start_b[b + 1] - start_b[b])
        for i in range(start_a[a], start_a[a + 1]):
            for j in range(start_b[b], start_b[b + 1]):
                total += float(block[i, j])
                modelled += float(model[i, j])
        found = 0.0
        for i in range(start_a[a], start_a[a + 1]):
            for j in range(start_b[b], start_b[b + 1]):
                if block[i, j] > 0:
                    p = float(block[i, j]) / total
                    found += p * np.log(p * modelled / (float(model[i, j]) + 1.0 / n_cells))
        out[low + a, low + b] = max(0.0, found)
        out[low + b, low + a] = max(0.0, found)
