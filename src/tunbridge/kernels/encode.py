"""Codes of whole-number matrices: one pass for the ranges, one to see which values occur, one to look them up.

A matrix is taken in blocks of rows that stay in the cache while its columns are worked through one by one. The tables
of all columns stand one after the other; column j's begins at first[j], with the entry of its least value low[j].
"""

from __future__ import annotations

from numba import njit

ROW_BLOCK = 256


@njit(cache=True, nogil=True)
def fill_ranges(values, low, high):
    """Lower low[j] and raise high[j] to the range of column j of a rows × columns matrix."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            low[j] = min(low[j], values[i, j])
            high[j] = max(high[j], values[i, j])


@njit(cache=True, nogil=True)
def mark_present(values, low, first, present):
    """Set present[first[j] + values[i, j] − low[j]] for every cell."""
    n_rows, n_columns = values.shape
    for i0 in range(0, n_rows, ROW_BLOCK):
        for j in range(n_columns):
            seen, least = present[first[j] : first[j + 1]], low[j]
            for i in range(i0, min(i0 + ROW_BLOCK, n_rows)):
                seen[values[i, j] - least] = True


@njit(cache=True, nogil=True)
def look_up(values, low, first, codes, out):
    """Set out[j, i] to codes[first[j] + values[i, j] − low[j]], or −1 outside column j's table."""
    n_rows, n_columns = values.shape
    for i0 in range(0, n_rows, ROW_BLOCK):
        for j in range(n_columns):
            code, least, column = codes[first[j] : first[j + 1]], low[j], out[j]
            most = least + code.shape[0] - 1
            for i in range(i0, min(i0 + ROW_BLOCK, n_rows)):
                x = values[i, j]
                column[i] = code[x - least] if least <= x <= most else -1
