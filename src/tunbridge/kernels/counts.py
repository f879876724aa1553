"""Counting by histogram: joint codes are folded column by column, then every row adds to its cell.

``rows`` is the code of everything counted so far (int32 or int64, −1 as soon as one of its columns is missing).
"""

from __future__ import annotations

import numpy as np
from numba import njit

LANES = 4
"""Copies of a small histogram: neighbouring rows often hit the same cell, and would wait for each other's store."""


@njit(cache=True, nogil=True)
def fold_codes(rows, codes, n_states):
    """Turn rows[i] into rows[i]·n_states + codes[i], or −1 where either is missing."""
    for i in range(rows.shape[0]):
        folded = rows[i] * n_states + codes[i]
        rows[i] = folded if rows[i] >= 0 and codes[i] >= 0 else -1


@njit(cache=True, nogil=True)
def count_joint(rows, codes, n_states, out):
    """Add one to out[lane, rows[i]·n_states + codes[i]] for every row; the last cell takes the incomplete ones.

    ``out`` has LANES copies of the histogram, which share the rows, or a single one.
    """
    n = rows.shape[0]
    last, trash = out.shape[0] - 1, out.shape[1] - 1
    for i in range(0, n - n % LANES, LANES):
        for lane in range(LANES):
            r, c = rows[i + lane], codes[i + lane]
            out[lane & last, r * n_states + c if r >= 0 and c >= 0 else trash] += 1
    for i in range(n - n % LANES, n):
        r, c = rows[i], codes[i]
        out[0, r * n_states + c if r >= 0 and c >= 0 else trash] += 1


@njit(cache=True, nogil=True)
def weigh_joint(rows, codes, n_states, weights, out):
    """Add weights[i] to out[lane, rows[i]·n_states + codes[i]]; the last cell takes the incomplete rows.

    ``out`` has LANES copies of the histogram, which share the rows, or a single one.
    """
    n = rows.shape[0]
    last, trash = out.shape[0] - 1, out.shape[1] - 1
    for i in range(0, n - n % LANES, LANES):
        for lane in range(LANES):
            r, c = rows[i + lane], codes[i + lane]
            out[lane & last, r * n_states + c if r >= 0 and c >= 0 else trash] += weights[i + lane]
    for i in range(n - n % LANES, n):
        r, c = rows[i], codes[i]
        out[0, r * n_states + c if r >= 0 and c >= 0 else trash] += weights[i]


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
