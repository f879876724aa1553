"""Kernels that find what is hidden in rows with holes.

What is hidden in a row falls into components (see :mod:`tunbridge.kernels.rows`). A component depends on nothing but
the observed states in the tables that hold one of its members, so rows share components far more often than they are
equal: one hole between the same neighbours is one component, however the rest of the row looks. Components are found
once, and each is kept with the weight of all rows that have it. They are compiled by
:mod:`tunbridge.kernels.component_programs` and computed by :mod:`tunbridge.kernels.expectations`.
"""

import numpy as np
from numba import njit

from tunbridge.kernels.rows import _grow, _mark_barren


@njit(cache=True, nogil=True)
def _hash(key, n):
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for i in range(n):
        mixed = (mixed ^ np.uint64(key[i] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@njit(cache=True, nogil=True)
def _intern(slots, hashes, starts, arena, n_kept, key, n):
    """Return the number of a sequence among those kept, n_kept when it is new: it is then kept."""
    mask, hashed = slots.shape[0] - 1, _hash(key, n)
    slot = hashed & mask
    while slots[slot] >= 0:
        other = slots[slot]
        if hashes[other] == hashed and starts[other + 1] - starts[other] == n:
            i, start = 0, starts[other]
            while i < n and arena[start + i] == key[i]:
                i += 1
            if i == n:
                return other
        slot = (slot + 1) & mask
    slots[slot], hashes[n_kept] = n_kept, hashed
    start = starts[n_kept]
    for i in range(n):
        arena[start + i] = key[i]
    starts[n_kept + 1] = start + n
    return n_kept


@njit(cache=True, nogil=True)
def _longer(array, size):
    """Return an array at least so long with the same beginning."""
    if array.shape[0] >= size:
        return array
    other = np.empty(max(size, 2 * array.shape[0]), array.dtype)
    for i in range(array.shape[0]):
        other[i] = array[i]
    return other


@njit(cache=True, nogil=True)
def _roomier(slots, hashes, n_kept, n_more):
    """Return slots that are at most half full when so many more are kept."""
    size = slots.shape[0]
    if 2 * (n_kept + n_more) <= size:
        return slots
    while 2 * (n_kept + n_more) > size:
        size *= 2
    other = np.full(size, -1, np.int64)
    for i in range(n_kept):
        slot = hashes[i] & (size - 1)
        while other[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        other[slot] = i
    return other


@njit(cache=True, nogil=True)
def _sort(values, n, rank):
    """Sort the first n values by rank; they are few."""
    for i in range(1, n):
        value, j = values[i], i - 1
        while j >= 0 and rank[values[j]] > rank[value]:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@njit(cache=True, nogil=True)
def _entry(n_states, parent_start, parents, table_start, states, v):
    """Return where the table of v has its entry for the observed states; hidden ones count as the first."""
    entry, stride = table_start[v] + max(states[v], 0), n_states[v]
    for i in range(parent_start[v + 1] - 1, parent_start[v] - 1, -1):
        entry += max(states[parents[i]], 0) * stride
        stride *= n_states[parents[i]]
    return entry


@njit(cache=True, nogil=True)
def find_components(
    n_states, order, parent_start, parents, table_start, child_start, children, rank, codes, weights, most, complete
):
    """Find the hidden components of all rows, and add up what needs no inference.

    codes[row, v] is a state, −1 where the cell is missing; rank[v] tells when a variable is eliminated. The weight of
    rows in which a family is complete is added to ``complete``, laid out like the tables. Returns the programs (where
    each begins, and its members, −1 and its tables), the components (where each begins, its program and where each of
    its tables is to be read, and its weight), and how many rows were looked at: it stops where the components would
    have more than ``most`` numbers.
    """
    n = n_states.shape[0]
    numbers = np.arange(n)
    states, barren, seen = np.empty(n, np.int64), np.zeros(n, np.uint8), np.empty(n, np.uint8)
    asked, used = np.zeros(n, np.uint8), np.empty(n, np.uint8)
    members, tables, key = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(2 * n + 1, np.int64)
    slots, hashes = np.full(256, -1, np.int64), np.empty(64, np.int64)
    starts, arena = np.zeros(65, np.int64), np.empty(1024, np.int32)
    own_slots, own_hashes = np.full(256, -1, np.int64), np.empty(64, np.int64)
    own_starts, own_arena, own_weights = np.zeros(65, np.int64), np.empty(1024, np.int32), np.zeros(64)
    n_programs, n_components, n_rows = 0, 0, 0
    for row in range(codes.shape[0]):
        weight = weights[row]
        if starts[n_programs] + own_starts[n_components] + 4 * n_components > most:
            break
        n_rows += 1
        if weight == 0.0:
            continue
        n_hidden = 0
        for v in range(n):
            states[v] = codes[row, v]
            n_hidden += states[v] < 0
            seen[v], used[v], barren[v] = 0, 0, 0
        if n_hidden > 0:
            _mark_barren(order, child_start, children, states, asked, barren)
            slots = _roomier(slots, hashes, n_programs, n_hidden)
            hashes, starts = _longer(hashes, n_programs + n_hidden), _longer(starts, n_programs + n_hidden + 1)
            arena = _longer(arena, starts[n_programs] + 3 * n)
            own_slots = _roomier(own_slots, own_hashes, n_components, n_hidden)
            own_hashes = _longer(own_hashes, n_components + n_hidden)
            own_weights = _longer(own_weights, n_components + n_hidden)
            own_starts = _longer(own_starts, n_components + n_hidden + 1)
            own_arena = _longer(own_arena, own_starts[n_components] + 2 * n)
            for v in range(n):
                if states[v] >= 0 or seen[v] or barren[v]:
                    continue
                n_members, n_tables = _grow(
                    v, parent_start, parents, child_start, children, states, barren, seen, used, members, tables
                )
                _sort(members, n_members, rank)
                _sort(tables, n_tables, numbers)
                for i in range(n_members):
                    key[i] = members[i]
                key[n_members] = -1
                for i in range(n_tables):
                    key[n_members + 1 + i] = tables[i]
                found = _intern(slots, hashes, starts, arena, n_programs, key, n_members + 1 + n_tables)
                n_programs = max(n_programs, found + 1)
                key[0] = found
                for i in range(n_tables):
                    key[i + 1] = _entry(n_states, parent_start, parents, table_start, states, tables[i])
                found = _intern(own_slots, own_hashes, own_starts, own_arena, n_components, key, n_tables + 1)
                if found == n_components:
                    own_weights[found] = 0.0
                    n_components += 1
                own_weights[found] += weight
        for v in range(n):
            if not used[v] and not barren[v]:
                complete[_entry(n_states, parent_start, parents, table_start, states, v)] += weight
    return (
        starts[: n_programs + 1].copy(), arena[: starts[n_programs]].copy(), own_starts[: n_components + 1].copy(),
        own_arena[: own_starts[n_components]].copy(), own_weights[:n_components].copy(), n_rows,
    )  # fmt: skip
