"""Class sums of numeric columns."""

from __future__ import annotations

import numpy as np

from tunbridge.kernels.caching import njit


@njit(cache=True, nogil=True)
def fill_block(source, out):
    """Copy rows × columns into columns × rows, a few columns at a time so that no cache line is read twice."""
    n_rows, n_columns = source.shape
    for j0 in range(0, n_columns, 8):
        for i in range(n_rows):
            for j in range(j0, min(j0 + 8, n_columns)):
                out[j, i] = source[i, j]


@njit(cache=True, nogil=True)
def fill_moments(block, groups, weights, count, mean, m2):
    """Fill count, mean and m2 (group × column, all zero) of a block (column × row); NaN and group −1 are left out.

    Two passes: deviations from each group's first value give the means, then squared deviations from them. So a mean
    that is large against the spread costs no digits, and equal values have a spread of exactly zero.
    """
    n_groups = count.shape[0]
    first = np.zeros(n_groups)
    total = np.zeros(n_groups)
    for j in range(block.shape[0]):
        for i in range(block.shape[1]):
            x, g = block[j, i], groups[i]
            if g >= 0 and x == x:
                if count[g, j] == 0.0:
                    first[g] = x
                count[g, j] += weights[i]
                total[g] += weights[i] * (x - first[g])
        for g in range(n_groups):
            if count[g, j] > 0.0:
                mean[g, j] = first[g] + total[g] / count[g, j]
            total[g] = 0.0
        for i in range(block.shape[1]):
            x, g = block[j, i], groups[i]
            if g >= 0 and x == x:
                d = x - mean[g, j]
                m2[g, j] += weights[i] * d * d


@njit(cache=True, nogil=True)
def fill_row_moments(rows, groups, weights, count, mean, m2):
    """Do as ``fill_moments`` for rows × columns in memory order: the columns of a row are added side by side."""
    n_groups, n_columns = count.shape
    first = np.full((n_groups, n_columns), np.nan)
    total = np.zeros((n_groups, n_columns))
    unmet = np.full(n_groups, n_columns)
    for i in range(rows.shape[0]):
        g = groups[i]
        if g < 0:
            continue
        x, w, origin, n, t = rows[i], weights[i], first[g], count[g], total[g]
        if unmet[g] > 0:
            unmet[g] = 0
            for j in range(n_columns):
                if origin[j] != origin[j]:
                    origin[j] = x[j]
                    unmet[g] += origin[j] != origin[j]
        for j in range(n_columns):
            n[j] += w if x[j] == x[j] else 0.0
            t[j] += w * (x[j] - origin[j]) if x[j] == x[j] else 0.0
    for g in range(n_groups):
        for j in range(n_columns):
            if count[g, j] > 0.0:
                mean[g, j] = first[g, j] + total[g, j] / count[g, j]
    for i in range(rows.shape[0]):
        g = groups[i]
        if g >= 0:
            x, w, centre, s = rows[i], weights[i], mean[g], m2[g]
            for j in range(n_columns):
                d = x[j] - centre[j]
                s[j] += w * d * d if d == d else 0.0
