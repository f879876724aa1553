"""Counting by histogram: joint codes are folded column by column, then every row adds to its cell.

``rows`` is the code of everything counted so far (int32 or int64, −1 as soon as one of its columns is missing).
"""

from __future__ import annotations

import numpy as np

from tunbridge.kernels.caching import njit

LANES = 4
"""Copies of a small histogram: neighbouring rows often hit the same cell, and would wait for each other's store."""

_ROW_BLOCK = 256


@njit(cache=True, nogil=True)
def fold_codes(rows, codes, n_states):
    """Turn rows[i] into rows[i]·n_states + codes[i], or −1 where either is missing."""
    for i in range(rows.shape[0]):
        folded = rows[i] * n_states + codes[i]
        rows[i] = folded if rows[i] >= 0 and codes[i] >= 0 else -1


@njit(cache=True, nogil=True)
def _add_row(rows, codes, n_states, weights, i, histogram):
    r, c = rows[i], codes[i]
    cell = r * n_states + c if r >= 0 and c >= 0 else histogram.shape[0] - 1
    if weights is None:
        histogram[cell] += 1
    else:
        histogram[cell] += weights[i]


@njit(cache=True, nogil=True)
def add_joint(rows, codes, n_states, weights, out):
    """Add weights[i] (None: one) to out[lane, rows[i]·n_states + codes[i]]; the last cell takes the incomplete rows.

    ``out`` has LANES copies of the histogram, which share the rows, or a single one.
    """
    n, last = rows.shape[0], out.shape[0] - 1
    for i in range(0, n - n % LANES, LANES):
        for lane in range(LANES):
            _add_row(rows, codes, n_states, weights, i + lane, out[lane & last])
    for i in range(n - n % LANES, n):
        _add_row(rows, codes, n_states, weights, i, out[0])


@njit(cache=True, nogil=True)
def assign_slots(keys, table_keys, table_slots, slots, found):
    """Number the distinct non-negative keys in order of appearance; return how many there are.

    An open-addressing hash table (``table_slots`` all −1 at first, size a power of two above the number of distinct
    keys) gives ``slots[i]``, the number of keys[i], and ``found[slot]``, the key; missing keys (−1) get slot −1.
    """
    mask = np.uint64(table_keys.shape[0] - 1)
    n_found = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        if key < 0:
            slots[i] = -1
            continue
        h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        place = (h ^ (h >> np.uint64(32))) & mask
        while table_slots[place] >= 0 and table_keys[place] != key:
            place = (place + np.uint64(1)) & mask
        if table_slots[place] < 0:
            table_keys[place] = key
            table_slots[place] = n_found
            found[n_found] = key
            n_found += 1
        slots[i] = table_slots[place]
    return n_found


# Codes of integer matrices
#
# One pass for the ranges, one for which values occur, one to look them up. A matrix is taken in blocks of rows that
# stay in the cache while its columns are worked through one by one. The tables of all columns stand one after the
# other; that of column j begins at first[j], with the entry of its least value low[j].


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
    for i0 in range(0, n_rows, _ROW_BLOCK):
        for j in range(n_columns):
            seen, least = present[first[j] : first[j + 1]], low[j]
            for i in range(i0, min(i0 + _ROW_BLOCK, n_rows)):
                seen[values[i, j] - least] = True


@njit(cache=True, nogil=True)
def look_up(values, low, first, codes, out):
    """Set out[j, i] to codes[first[j] + values[i, j] − low[j]], or −1 outside column j's table."""
    n_rows, n_columns = values.shape
    for i0 in range(0, n_rows, _ROW_BLOCK):
        for j in range(n_columns):
            code, least, column = codes[first[j] : first[j + 1]], low[j], out[j]
            most = least + code.shape[0] - 1
            for i in range(i0, min(i0 + _ROW_BLOCK, n_rows)):
                x = values[i, j]
                column[i] = code[x - least] if least <= x <= most else -1
