"""Kernels of searches over graphs: the single-arc move that raises the score most, and the maximum spanning tree.

**Moves.** An arc c → x closes a cycle if c is a descendant of x. For each node the best legal addition is kept, and
searched again only when its gains have changed or arcs have been removed; an addition elsewhere can only make it
illegal, which is tested before it is made. So no closure of the graph is ever computed.

References
----------
R. C. Prim (1957). Shortest connection networks and some generalizations. Bell System Technical Journal 36, 1389-1401.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

ADD, REMOVE, REVERSE, NONE = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""Kinds of moves."""


class ArcGraph(NamedTuple):
    """A graph of n nodes, and room for what is computed from it.

    Parameters
    ----------
    parents, n_parents : ndarray
        The parents of node x are parents[x, :n_parents[x]].
    first_child, children : ndarray
        Room for the children of each node, one list after the other.
    mark, stack : ndarray
        Room for walks; mark[n] is the last mark used.
    """

    parents: np.ndarray
    n_parents: np.ndarray
    first_child: np.ndarray
    children: np.ndarray
    mark: np.ndarray
    stack: np.ndarray


class Gains(NamedTuple):
    """What moves gain.

    Parameters
    ----------
    adds : ndarray
        adds[x, i] is the gain of the i-th candidate parent of x; −inf if the arc exists or is not allowed.
    candidates : ndarray
        candidates[x, i] is that candidate; empty: the i-th node.
    removes : ndarray
        removes[x, i] is the gain without the i-th parent.
    """

    adds: np.ndarray
    candidates: np.ndarray
    removes: np.ndarray


class Limits(NamedTuple):
    """Which moves count.

    Parameters
    ----------
    tabu : ndarray of shape (length, 2)
        Pairs of nodes (−1: no pair) that must not be changed unless the move gains more than ``needed``.
    needed : float
        The gain that leads to a score above all so far.
    tie : float
        Gains that differ by less are equal.
    """

    tabu: np.ndarray
    needed: float
    tie: float


@njit(cache=True, nogil=True)
def _fill_children(graph):
    """Fill the children of each node, one list after the other; those of x begin at first_child[x]."""
    n, start = graph.n_parents.shape[0], graph.first_child
    start[:] = 0
    for x in range(n):
        for i in range(graph.n_parents[x]):
            start[graph.parents[x, i] + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
    for x in range(n - 1, -1, -1):
        for i in range(graph.n_parents[x]):
            p = graph.parents[x, i]
            start[p + 1] -= 1
            graph.children[start[p + 1]] = x
    total = 0
    for x in range(n):
        total += graph.n_parents[x]
        start[x] = start[x + 1]
    start[n] = total


@njit(cache=True, nogil=True)
def _reaches(graph, source, goal, without_direct):
    """Return whether a path leads from source to goal (without_direct: other than the arc between the two).

    Every node on the way gets the mark mark[n]; with goal −1 these are all descendants.
    """
    n = graph.n_parents.shape[0]
    graph.mark[n] += 1
    stamp, height = graph.mark[n], 1
    graph.mark[source], graph.stack[0] = stamp, source
    while height > 0:
        height -= 1
        u = graph.stack[height]
        for i in range(graph.first_child[u], graph.first_child[u + 1]):
            v = graph.children[i]
            if v == goal:
                if u == source and without_direct:
                    continue
                return True
            if graph.mark[v] != stamp:
                graph.mark[v], graph.stack[height] = stamp, v
                height += 1
    return False


@njit(cache=True, nogil=True)
def _is_tabu(tabu, a, b):
    found = False
    for i in range(tabu.shape[0]):
        found |= (tabu[i, 0] == a and tabu[i, 1] == b) or (tabu[i, 0] == b and tabu[i, 1] == a)
    return found


@njit(cache=True, nogil=True)
def _gain_of(gains, x, c):
    """Return the gain of the arc c → x; −inf if c is no candidate of x."""
    if gains.candidates.shape[0] == 0:
        return gains.adds[x, c]
    at = np.searchsorted(gains.candidates[x], c)
    is_known = at < gains.candidates.shape[1] and gains.candidates[x, at] == c
    return gains.adds[x, at] if is_known else -np.inf


@njit(cache=True, nogil=True)
def _scan(x, graph, gains, limits, best_gain, best_candidate):
    """Find the best legal addition to x without the pairs in the tabu list; the first of equals is taken."""
    _reaches(graph, x, -1, False)
    stamp = graph.mark[graph.n_parents.shape[0]]
    gain, found = -np.inf, -1
    for i in range(gains.adds.shape[1]):
        if gains.adds[x, i] > gain + limits.tie or (found < 0 and gains.adds[x, i] > -np.inf):
            c = gains.candidates[x, i] if gains.candidates.shape[0] > 0 else i
            if graph.mark[c] != stamp and not _is_tabu(limits.tabu, c, x):
                gain, found = gains.adds[x, i], c
    best_gain[x], best_candidate[x] = gain, found


@njit(cache=True, nogil=True)
def best_move(graph, gains, limits, dirty, best, move):
    """Put the best legal move into ``move`` (kind, from, to) and return its gain; −inf and NONE if there is none.

    ``dirty`` marks nodes whose best addition must be searched again; ``best`` = (gain, candidate) of each node. Ties
    go to additions, then removals, then reversals, then to the earlier child and parent.
    """
    best_gain, best_candidate = best
    n, tie = graph.n_parents.shape[0], limits.tie
    _fill_children(graph)
    for x in range(n):
        if dirty[x]:
            _scan(x, graph, gains, limits, best_gain, best_candidate)
            dirty[x] = False
    gain, move[0], move[1], move[2] = -np.inf, NONE, -1, -1
    while True:
        top = -1
        for x in range(n):
            if best_candidate[x] >= 0 and (top < 0 or best_gain[x] > best_gain[top] + tie):
                top = x
        if top < 0:
            break
        if not _reaches(graph, top, best_candidate[top], False):
            gain, move[0], move[1], move[2] = best_gain[top], ADD, best_candidate[top], top
            break
        _scan(top, graph, gains, limits, best_gain, best_candidate)
    for x in range(n):
        for i in range(graph.n_parents[x]):
            p = graph.parents[x, i]
            if gains.removes[x, i] > gain + tie and not _is_tabu(limits.tabu, p, x):
                gain, move[0], move[1], move[2] = gains.removes[x, i], REMOVE, p, x
    for x in range(n):
        for i in range(graph.n_parents[x]):
            p = graph.parents[x, i]
            turned = gains.removes[x, i] + _gain_of(gains, p, x)
            if turned > gain + tie and not _is_tabu(limits.tabu, p, x) and not _reaches(graph, p, x, True):
                gain, move[0], move[1], move[2] = turned, REVERSE, p, x
    return _best_pardoned(graph, gains, limits, gain, move) if limits.tabu.shape[0] > 0 else gain


@njit(cache=True, nogil=True)
def _best_pardoned(graph, gains, limits, gain, move):
    """Take a move of a tabu pair if it is better than ``gain`` and gains what is needed; return the better gain."""
    for t in range(limits.tabu.shape[0]):
        for turn in range(2):
            p, x = limits.tabu[t, turn], limits.tabu[t, 1 - turn]
            if p < 0:
                continue
            at = -1
            for i in range(graph.n_parents[x]):
                if graph.parents[x, i] == p:
                    at = i
            floor = max(gain, limits.needed) + limits.tie
            if at < 0:
                added = _gain_of(gains, x, p)
                if added > floor and not _reaches(graph, x, p, False):
                    gain, move[0], move[1], move[2] = added, ADD, p, x
                continue
            if gains.removes[x, at] > floor:
                gain, move[0], move[1], move[2] = gains.removes[x, at], REMOVE, p, x
                floor = gain + limits.tie
            turned = gains.removes[x, at] + _gain_of(gains, p, x)
            if turned > floor and not _reaches(graph, p, x, True):
                gain, move[0], move[1], move[2] = turned, REVERSE, p, x
    return gain


# Spanning trees


@njit(cache=True, nogil=True)
def _comes_first(weight, u, v, best, x, y):
    """Return whether the edge u – v goes before x – y: it is heavier, or as heavy and the first by its ends."""
    if weight != best:
        return weight > best
    return (min(u, v), max(u, v)) < (min(x, y), max(x, y))


@njit(cache=True, nogil=True)
def span(weights, joined_to):
    """Fill the node that each node is joined to when it enters a maximum spanning forest; −1 for the first of a tree.

    Edges of weight −inf are not there. Edges of equal weight are taken by their ends, so the forest is the one that
    Kruskal's algorithm finds.
    """
    n = weights.shape[0]
    best, nearest, waiting = np.full(n, -np.inf), np.full(n, -1), np.arange(n)
    at = 0
    for n_left in range(n, 0, -1):
        chosen = waiting[at]
        joined_to[chosen] = nearest[chosen]
        waiting[at] = waiting[n_left - 1]
        at = 0
        for k in range(n_left - 1):
            v = waiting[k]
            weight = weights[chosen, v]
            if weight > -np.inf and _comes_first(weight, chosen, v, best[v], nearest[v], v):
                best[v], nearest[v] = weight, chosen
            first = waiting[at]
            if k > 0 and _comes_first(best[v], nearest[v], v, best[first], nearest[first], first):
                at = k
