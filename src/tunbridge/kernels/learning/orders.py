"""Kernels that walk grow-shrink trees: the parents of a variable among those before it in an order.

Node i of the trees stands for a variable and a set of parents, node x < n for the variable x and those that it must
have. ``candidate[first[i] : first[i] + count[i]]`` are the variables that raise the score when added, the best first,
and ``child`` beside them the nodes with them added; ``shrunk[i]`` is the node after the parents that hurt have left,
i itself when none does. −1 stands for what is not known yet: a walk that meets it writes the node and what is missing
to ``need`` and gives up, so that the caller can fill it in from the data and ask again.

The predecessors are given by ranks: variable c is one of them when rank[c] < limit.
"""

import numpy as np

from tunbridge.kernels.caching import njit

GROWTH = np.int64(-1)  # the node's candidates are missing
SHRINKAGE = np.int64(-2)  # the node without the parents that hurt is missing; any other number: the child at that place


@njit(cache=True, nogil=True)
def _walk(root, rank, limit, watched, trees, need):
    """Return the node at which grow-shrink ends, −1 if something is missing; and whether ``watched`` was ever added.

    From a node the walk goes to the best candidate that is a predecessor; where there is none the parents that hurt
    leave, and the walk goes on from there. The score rises with every step, so that it ends.
    """
    first, count, shrunk, candidate, child = trees
    node, met = root, False
    while True:
        if count[node] < 0:
            need[0], need[1] = node, GROWTH
            return -1, met
        k, end = first[node], first[node] + count[node]
        while k < end and rank[candidate[k]] >= limit:
            k += 1
        if k < end:
            if child[k] < 0:
                need[0], need[1] = node, k
                return -1, met
            met = met or candidate[k] == watched
            node = child[k]
        elif shrunk[node] < 0:
            need[0], need[1] = node, SHRINKAGE
            return -1, met
        elif shrunk[node] == node:
            return node, met
        else:
            node = shrunk[node]


@njit(cache=True, nogil=True)
def walk_order(order, begin, rank, trees, out, need):
    """Put the last node of each variable's walk into ``out``; return the place in the order that was reached."""
    for j in range(begin, order.shape[0]):
        node, _ = _walk(order[j], rank, j, -1, trees, need)
        if node < 0:
            return j
        out[order[j]] = node
    return order.shape[0]


@njit(cache=True, nogil=True)
def walk_places(v, others, low, begin, high, rank, trees, score, ever, own, change, need):
    """Score variable ``v`` put before others[j], for j from ``begin`` to ``high``; return the place that was reached.

    ``own[j]`` becomes the score of v there, ``change[j]`` what others[j] gains when v moves from before it to behind
    it. ``ever[x, c]`` tells whether c is a candidate anywhere in the tree of x: if not, it cannot matter to x. ``rank``
    holds the places of the others; that of v is set here.
    """
    for j in range(begin, high + 1):
        if j > low and not ever[v, others[j - 1]]:
            own[j] = own[j - 1]
        else:
            node, _ = _walk(v, rank, j, -1, trees, need)
            if node < 0:
                return j
            own[j] = score[node]
        if j == high:
            break
        u = others[j]
        change[j] = 0.0
        if ever[u, v]:
            rank[v] = -1
            before, met = _walk(u, rank, j, v, trees, need)
            if before < 0:
                return j
            if met:
                rank[v] = others.shape[0]
                behind, _ = _walk(u, rank, j, -1, trees, need)
                if behind < 0:
                    return j
                change[j] = score[behind] - score[before]
    return high + 1
