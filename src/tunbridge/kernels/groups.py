"""Scores of families too large for a table: rows are grouped by the configuration of the parents.

Each group is tallied and cleared in turn, so that the memory goes by rows, not by cells. The terms of the score are
looked up by count, or with a_cell > 0 those of a Dirichlet score, as in :mod:`tunbridge.kernels.extensions`.
"""

from __future__ import annotations

from math import lgamma

from numba import njit


@njit(cache=True, nogil=True)
def _dirichlet(n, a):
    return lgamma(n + a) - lgamma(a) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def sort_by_slot(slots, child, starts, order, states):
    """Put rows in the order of their slots (−1: left out, as are rows without child): counting sort.

    ``starts[g]`` becomes the first place of slot g; order and states hold the rows and their child's codes; returns
    how many there are.
    """
    for i in range(slots.shape[0]):
        if slots[i] >= 0 and child[i] >= 0:
            starts[slots[i] + 1] += 1
    for g in range(1, starts.shape[0]):
        starts[g] += starts[g - 1]
    n = starts[starts.shape[0] - 1]
    for i in range(slots.shape[0] - 1, -1, -1):
        if slots[i] >= 0 and child[i] >= 0:
            starts[slots[i] + 1] -= 1
            at = starts[slots[i] + 1]
            order[at] = i
            states[at] = child[i]
    for g in range(starts.shape[0] - 1):
        starts[g] = starts[g + 1]
    starts[starts.shape[0] - 1] = n
    return n


@njit(cache=True, nogil=True)
def count_configurations(order, starts, codes, sums):
    """Return how many configurations (group, state of a candidate) occur; ``sums`` is zero before and after."""
    found = 0
    for g in range(starts.shape[0] - 1):
        for i in range(starts[g], starts[g + 1]):
            c = codes[order[i]]
            if c >= 0:
                found += sums[c] == 0
                sums[c] += 1
        for i in range(starts[g], starts[g + 1]):
            c = codes[order[i]]
            if c >= 0:
                sums[c] = 0
    return found


@njit(cache=True, nogil=True)
def score_groups(order, starts, states, codes, r, cells, rows, a_cell, a_row, table, sums):
    """Return the score of grouped rows with one candidate column, without penalty, and the rows counted.

    ``table`` (candidate's states × r) and ``sums`` (candidate's states) are zero before and after.
    """
    value, total = 0.0, 0
    for g in range(starts.shape[0] - 1):
        for i in range(starts[g], starts[g + 1]):
            c = codes[order[i]]
            if c >= 0:
                table[c * r + states[i]] += 1
                sums[c] += 1
        for i in range(starts[g], starts[g + 1]):
            c = codes[order[i]]
            if c < 0:
                continue
            n = table[c * r + states[i]]
            if n > 0:
                value += _dirichlet(n, a_cell) if a_cell > 0.0 else cells[n]
                table[c * r + states[i]] = 0
            if sums[c] > 0:
                value -= _dirichlet(sums[c], a_row) if a_cell > 0.0 else rows[sums[c]]
                total += sums[c]
                sums[c] = 0
    return value, total
