"""The bookkeeping of a climb over graphs: which single-arc move raises the score most, without closing a cycle.

A graph is ``parents[x, :n_parents[x]]``. ``adds[x, i]`` is the gain of the i-th candidate parent of x, ``candidates[x,
i]`` (the i-th variable where there are no lists); −inf where the arc is there already or not allowed. ``removes[x, i]``
is the gain without the i-th parent.

An arc c → x closes a cycle if c is a descendant of x. For each node the best legal addition is kept, and looked for
again only when its gains have changed or arcs have gone; an addition elsewhere can only make it illegal, which is
tested when it is about to be made. So no closure of the graph is ever computed.

A pair of nodes in ``tabu`` (−1: no pair) may not be touched, unless the move leads to a score above all so far, which
takes a gain of more than ``needed``.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ADD = np.int64(0)
REMOVE = np.int64(1)
REVERSE = np.int64(2)
NONE = np.int64(3)


@njit(cache=True, nogil=True)
def _fill_children(parents, n_parents, start, children):
    """Fill the children of each node, one list behind the other; those of x begin at start[x]."""
    n = n_parents.shape[0]
    for x in range(n + 1):
        start[x] = 0
    for x in range(n):
        for i in range(n_parents[x]):
            start[parents[x, i] + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
    for x in range(n - 1, -1, -1):
        for i in range(n_parents[x]):
            p = parents[x, i]
            start[p + 1] -= 1
            children[start[p + 1]] = x
    total = 0
    for x in range(n):
        total += n_parents[x]
        start[x] = start[x + 1]
    start[n] = total


@njit(cache=True, nogil=True)
def _mark_descendants(start, children, x, mark, stamp, stack):
    """Stamp x and every node that can be reached from it."""
    mark[x] = stamp
    stack[0] = x
    height = 1
    while height > 0:
        height -= 1
        u = stack[height]
        for i in range(start[u], start[u + 1]):
            v = children[i]
            if mark[v] != stamp:
                mark[v] = stamp
                stack[height] = v
                height += 1


@njit(cache=True, nogil=True)
def _reaches(start, children, source, goal, without_direct, mark, stamp, stack):
    """Return whether a path leads from source to goal; if asked, other than the arc between the two."""
    mark[source] = stamp
    stack[0] = source
    height = 1
    while height > 0:
        height -= 1
        u = stack[height]
        for i in range(start[u], start[u + 1]):
            v = children[i]
            if v == goal:
                if u == source and without_direct:
                    continue
                return True
            if mark[v] != stamp:
                mark[v] = stamp
                stack[height] = v
                height += 1
    return False


@njit(cache=True, nogil=True)
def _is_tabu(tabu, a, b):
    found = False
    for i in range(tabu.shape[0]):
        found |= (tabu[i, 0] == a and tabu[i, 1] == b) or (tabu[i, 0] == b and tabu[i, 1] == a)
    return found


@njit(cache=True, nogil=True)
def _candidate_at(candidates, x, i):
    return candidates[x, i] if candidates.shape[0] > 0 else i


@njit(cache=True, nogil=True)
def _gain_of(adds, candidates, x, c):
    """Return the gain of the arc c → x; −inf if c is no candidate of x."""
    if candidates.shape[0] == 0:
        return adds[x, c]
    low, high = 0, candidates.shape[1]
    while low < high:
        middle = (low + high) // 2
        if candidates[x, middle] < c:
            low = middle + 1
        else:
            high = middle
    return adds[x, low] if low < candidates.shape[1] and candidates[x, low] == c else -np.inf


@njit(cache=True, nogil=True)
def _scan(x, adds, candidates, tabu, start, children, tie, best_gain, best_candidate, mark, stamp, stack):
    """Look for the best legal addition to x, pairs in the tabu list apart; the first of equals is taken."""
    _mark_descendants(start, children, x, mark, stamp, stack)
    gain, found = -np.inf, -1
    for i in range(adds.shape[1]):
        if adds[x, i] > gain + tie or (found < 0 and adds[x, i] > -np.inf):
            c = _candidate_at(candidates, x, i)
            if mark[c] != stamp and not _is_tabu(tabu, c, x):
                gain, found = adds[x, i], c
    best_gain[x], best_candidate[x] = gain, found


@njit(cache=True, nogil=True)
def best_move(parents, n_parents, adds, candidates, removes, tabu, needed, tie, dirty, best, work, move):
    """Put the best legal move into ``move`` (kind, from, to) and return its gain; −inf and NONE if there is none.

    ``dirty`` marks nodes whose best addition has to be looked for again; ``best`` = (gain, candidate) of each node;
    ``work`` = (start, children, mark, stack), mark[n] being the last stamp used. Ties go to additions, then removals,
    then reversals, then to the earlier child and parent.
    """
    best_gain, best_candidate = best
    start, children, mark, stack = work
    n = n_parents.shape[0]
    _fill_children(parents, n_parents, start, children)
    for x in range(n):
        if dirty[x]:
            mark[n] += 1
            _scan(x, adds, candidates, tabu, start, children, tie, best_gain, best_candidate, mark, mark[n], stack)
            dirty[x] = False
    gain, move[0], move[1], move[2] = -np.inf, NONE, -1, -1
    while True:
        top = -1
        for x in range(n):
            if best_candidate[x] >= 0 and (top < 0 or best_gain[x] > best_gain[top] + tie):
                top = x
        if top < 0:
            break
        mark[n] += 1
        if not _reaches(start, children, top, best_candidate[top], False, mark, mark[n], stack):
            gain, move[0], move[1], move[2] = best_gain[top], ADD, best_candidate[top], top
            break
        mark[n] += 1
        _scan(top, adds, candidates, tabu, start, children, tie, best_gain, best_candidate, mark, mark[n], stack)
    for x in range(n):
        for i in range(n_parents[x]):
            if removes[x, i] > gain + tie and not _is_tabu(tabu, parents[x, i], x):
                gain, move[0], move[1], move[2] = removes[x, i], REMOVE, parents[x, i], x
    for x in range(n):
        for i in range(n_parents[x]):
            p = parents[x, i]
            turned = removes[x, i] + _gain_of(adds, candidates, p, x)
            if turned > gain + tie and not _is_tabu(tabu, p, x):
                mark[n] += 1
                if not _reaches(start, children, p, x, True, mark, mark[n], stack):
                    gain, move[0], move[1], move[2] = turned, REVERSE, p, x
    if tabu.shape[0] > 0:
        gain = _best_pardoned(
            parents, n_parents, adds, candidates, removes, tabu, needed, tie, gain, start, children, mark, stack, move
        )
    return gain


@njit(cache=True, nogil=True)
def _best_pardoned(
    parents, n_parents, adds, candidates, removes, tabu, needed, tie, gain, start, children, mark, stack, move
):
    """Take a move of a tabu pair if it is better than ``gain`` and gains what is needed; return the better gain."""
    n = n_parents.shape[0]
    for t in range(tabu.shape[0]):
        for turn in range(2):
            p, x = tabu[t, turn], tabu[t, 1 - turn]
            if p < 0:
                continue
            at = -1
            for i in range(n_parents[x]):
                if parents[x, i] == p:
                    at = i
            floor = max(gain, needed)
            if at >= 0:
                if removes[x, at] > floor + tie:
                    gain, move[0], move[1], move[2] = removes[x, at], REMOVE, p, x
                    floor = gain
                turned = removes[x, at] + _gain_of(adds, candidates, p, x)
                mark[n] += 1
                if turned > floor + tie and not _reaches(start, children, p, x, True, mark, mark[n], stack):
                    gain, move[0], move[1], move[2] = turned, REVERSE, p, x
            else:
                added = _gain_of(adds, candidates, x, p)
                mark[n] += 1
                if added > floor + tie and not _reaches(start, children, x, p, False, mark, mark[n], stack):
                    gain, move[0], move[1], move[2] = added, ADD, p, x
    return gain
