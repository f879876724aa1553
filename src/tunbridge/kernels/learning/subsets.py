"""Sums over all subsets of the variables: terms of their counts, and the best graphs.

A subset is a bit mask, or, where only those of a few members are kept, a rank: subsets of k members v_1 < … < v_k come
behind all smaller ones, at first_rank[k] + Σ_i C(v_i, i).
"""

from math import lgamma

import numpy as np

from tunbridge.kernels.caching import njit

# Terms of the counts


@njit(cache=True, nogil=True)
def fill_terms(data, prefix, max_size, most, tables, ess, binomials, first_rank, room, out):
    """Set out[t, rank], Σ term_t(n) over the joint counts n, for the prefix and all subsets that continue it.

    ``data`` are the codes of the distinct rows (variables × rows), how often each occurs, and the numbers of states.
    The prefix is not empty and ascending. Subsets have at most max_size members, and are left out when even without the
    member of most states they have ``most`` joint states. A term is looked up in tables[t], or, for ``ess`` > 0, there
    is one: log Γ(n + a) − log Γ(a) with a = ess by the number of joint states. ``room`` holds the joint codes for every
    size, counts, and numbers in their place.
    """
    codes, weights, states = data
    slots, counts, numbers = room
    n, n_prefix = codes.shape[0], prefix.shape[0]
    members, n_slots = np.empty(n + 1, np.int64), np.ones(n + 1, np.int64)
    ranks, cells, widest = np.zeros(n + 1, np.int64), np.ones(n + 1), np.ones(n + 1)
    slots[0, :] = 0
    k, v = 0, prefix[0]
    while k >= 0:
        if v == n or k == max_size:
            k -= 1
            if k < n_prefix:
                return
            v = members[k] + 1
            continue
        members[k], ranks[k + 1] = v, ranks[k] + binomials[v, k + 1]
        cells[k + 1], widest[k + 1] = cells[k] * states[v], max(widest[k], float(states[v]))
        if cells[k + 1] < most * widest[k + 1]:
            size = n_slots[k] * states[v]
            kept = slots[k + 1] if k + 1 < max_size else slots[k + 1, :0]
            _count(codes[v], states[v], slots[k], weights, counts[:size], kept)
            if k + 1 >= n_prefix:
                _sum_terms(counts, size, tables, ess / cells[k + 1], out[:, first_rank[k + 1] + ranks[k + 1]])
            n_slots[k + 1] = _renumber(counts, size, numbers, slots[k + 1]) if k + 1 < max_size else 0
            k += 1
        elif k < n_prefix:
            return
        v = prefix[k] if k < n_prefix else v + 1


@njit(cache=True, nogil=True)
def _count(codes, r, slots, weights, counts, out):
    """Count the joint codes slots·r + codes, and write them to ``out`` unless it is empty."""
    counts[:] = 0
    if out.shape[0] > 0:
        for i in range(np.uint64(slots.shape[0])):
            out[i] = slots[i] * r + codes[i]
            counts[out[i]] += weights[i]
    else:
        for i in range(np.uint64(slots.shape[0])):
            counts[slots[i] * r + codes[i]] += weights[i]


@njit(cache=True, nogil=True)
def _sum_terms(counts, size, tables, a, out):
    if a > 0.0:
        total, least = 0.0, lgamma(a)
        for s in range(size):
            if counts[s] > 0:
                total += lgamma(counts[s] + a) - least
        out[0] = total
    for t in range(tables.shape[0]):
        total = 0.0
        for s in range(size):
            total += tables[t, counts[s]]
        out[t] = total


@njit(cache=True, nogil=True)
def _renumber(counts, size, numbers, slots):
    """Number the joint codes that occur, where there are more codes than rows; return how many there are."""
    if size <= max(slots.shape[0], 64):
        return size
    n_found = 0
    for s in range(size):
        numbers[s] = n_found
        n_found += counts[s] > 0
    for i in range(slots.shape[0]):
        slots[i] = numbers[slots[i]]
    return n_found


# Best graphs
#
# The upper bits of a mask name a block of 2^low masks that lie side by side. For a block and a node the best score over
# all parent sets inside each of the block's subsets is made from scratch, in a table that stays near the core: the
# scores are scattered to their masks and the maximum is spread to supersets, bit by bit. So only one number is kept for
# every subset. ``sets`` are (first_group, upper, first, lower, scores): those of node x lie in groups ``first_group[x]
# : first_group[x + 1]`` of equal upper bits, ``upper[g]``; group g holds the entries ``first[g] : first[g + 1]`` of
# ``lower`` and ``scores``.


@njit(cache=True, nogil=True)
def fill_best_graphs(blocks, n, sets, tables, out):
    """Set out[b, l], the score of the best graph over the subset (b, l), for the given blocks b.

    ``tables`` is room for the parents of the nodes of the lower bits; the blocks b without one bit are filled already,
    and out[0, 0] is 0.
    """
    n_low, size = tables.shape
    for i in range(blocks.shape[0]):
        block = blocks[i]
        row = out[block]
        for s in range(size):
            row[s] = -np.inf
        if block == 0:
            row[0] = 0.0
        for x in range(n_low, n):
            bit = np.int64(1) << (x - n_low)
            if block & bit:
                _fill_best_parents(x, block ^ bit, sets, tables[0])
                _take_last(out[block ^ bit], tables[0], row)
        for x in range(n_low):
            _fill_best_parents(x, block, sets, tables[x])
        _order_lower(tables, row)


@njit(cache=True, nogil=True)
def _take_last(without, parents, row):
    """Let a node of the upper bits come last in every subset of the block."""
    for s in range(np.uint64(row.shape[0])):
        score = without[s] + parents[s]
        row[s] = score if score > row[s] else row[s]


@njit(cache=True, nogil=True)
def _order_lower(tables, row):
    """Let every node of the lower bits come last in the subsets that have it, the smaller subsets first."""
    for s in range(1, row.shape[0]):
        best = row[s]
        for x in range(tables.shape[0]):
            rest = s ^ (1 << x)
            if rest < s:
                score = row[rest] + tables[x, rest]
                best = score if score > best else best
        row[s] = best


@njit(cache=True, nogil=True)
def _fill_best_parents(x, block, sets, table):
    """Set table[l] to the best score of node x over the parent sets inside the subset (block, l)."""
    first_group, upper, first, lower, scores = sets
    size = table.shape[0]
    for s in range(size):
        table[s] = -np.inf
    for g in range(first_group[x], first_group[x + 1]):
        if upper[g] & ~block == 0:
            for f in range(first[g], first[g + 1]):
                if scores[f] > table[lower[f]]:
                    table[lower[f]] = scores[f]
    step = np.uint64(1)
    while step < size:
        for start in range(np.uint64(0), np.uint64(size), np.uint64(2) * step):
            for s in range(start, start + step):
                larger = s + step
                table[larger] = table[s] if table[s] > table[larger] else table[larger]
        step *= np.uint64(2)
