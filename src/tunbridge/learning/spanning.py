"""Spanning forests of a weighted graph, and arcs that point away from roots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Edge = tuple[int, int]
"""Two nodes, the smaller first."""

_FEW_NODES = 32
"""Up to so many nodes the edges are simply sorted, without a kernel."""
_PATIENT_NODES = 300
"""The same, as long as the kernel has not been compiled."""


def spanning_forest(weights: np.ndarray) -> list[Edge]:
    """Return the edges of the maximum spanning forest of a symmetric matrix, the smaller end of each first.

    Pairs of weight −inf have no edge. Of edges of equal weight the first by their ends is taken.

    Examples
    --------
    >>> spanning_forest(np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]]))
    [(0, 1), (0, 2)]
    """
    if len(weights) <= _FEW_NODES:
        return _kruskal(weights)
    from tunbridge.kernels.compiled import is_compiled
    from tunbridge.kernels.trees import span

    if len(weights) <= _PATIENT_NODES and not is_compiled(span):
        return _kruskal(weights)
    joined_to = np.empty(len(weights), np.int64)
    span(np.ascontiguousarray(weights, np.float64), joined_to)
    return sorted((min(v, u), max(v, u)) for v, u in enumerate(joined_to.tolist()) if u >= 0)


def _kruskal(weights: np.ndarray) -> list[Edge]:
    n = len(weights)
    starts, ends = np.triu_indices(n, 1)
    heavy = weights[starts, ends]
    tree, found = list(range(n)), []
    for e in np.argsort(-heavy, kind="stable")[: int((heavy > -np.inf).sum())].tolist():
        a, b = int(starts[e]), int(ends[e])
        if tree[a] != tree[b]:
            found.append((a, b))
            tree = [tree[a] if t == tree[b] else t for t in tree]
    return sorted(found)


def direct(edges: Sequence[Edge], n: int, *, root: int | None = None, allowed: np.ndarray | None = None) -> list[int]:
    """Return each node's parent when the edges of a forest point away from roots; −1 for a root.

    Each tree's root is the given one, else the first node that gives it the fewest arcs that are not allowed.

    Examples
    --------
    >>> direct([(0, 1), (1, 2)], 4, root=2)
    [1, 2, -1, -1]
    """
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    parents, seen = [-1] * n, [False] * n
    for first in range(n):
        if seen[first]:
            continue
        nodes = _walk(first, neighbours, parents)
        start = root if root is not None and root in nodes else _best_root(nodes, parents, allowed)
        if start != first:
            nodes = _walk(start, neighbours, parents)
        for v in nodes:
            seen[v] = True
    return parents


def _walk(root: int, neighbours: Sequence[Sequence[int]], parents: list[int]) -> list[int]:
    """Set the parents of the nodes of a tree, seen from its root; return the nodes, parents first."""
    parents[root] = -1
    nodes = [root]
    for v in nodes:
        for u in neighbours[v]:
            if u != parents[v]:
                parents[u] = v
                nodes.append(u)
    return nodes


def _best_root(nodes: Sequence[int], parents: Sequence[int], allowed: np.ndarray | None) -> int:
    """Return the first node from which the fewest arcs are not allowed; nodes and parents are as seen from nodes[0]."""
    if allowed is None:
        return nodes[0]
    broken = {nodes[0]: 0}
    for v in nodes[1:]:  # to move the root along an edge turns that edge only
        p = parents[v]
        broken[v] = broken[p] + int(allowed[p, v]) - int(allowed[v, p])
    return min(nodes, key=lambda v: (broken[v], v))
