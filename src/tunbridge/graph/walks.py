"""Walks along arcs: topological order, reachability, shortest paths, cycles.

A graph is given as a sequence with, for each node, the positions of its parents (or of its children). Every walk visits
a node and an arc once, and none is recursive, so a chain of a million nodes is no problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

Lists = Sequence[Sequence[int]]
"""For each node the positions of some others: of its parents, its children, or its neighbours."""


def topological_order(parents: Lists, children: Lists) -> list[int]:
    """Return the nodes, parents before children, otherwise in their own order; nodes on or after a cycle are left out.

    Of the nodes whose parents have all been taken the first is taken next (A. B. Kahn, 1962), so nodes that are in
    topological order keep it. (graphlib promises no such order.)

    Examples
    --------
    >>> topological_order([[2], [], []], [[], [], [0]])
    [1, 2, 0]
    """
    waiting = [len(p) for p in parents]
    ready = [i for i, n in enumerate(waiting) if n == 0]  # sorted, hence a heap
    order = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in children[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                heappush(ready, j)
    return order


def closure(lists: Lists, starts: Iterable[int]) -> set[int]:
    """Return the nodes that can be reached, the starts among them.

    Examples
    --------
    >>> sorted(closure([[1], [2], [], [0]], [0]))
    [0, 1, 2]
    """
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            stack += lists[i]
    return seen


def reached(lists: Lists, starts: Iterable[int]) -> list[int]:
    """Return the nodes that are one or more steps away from any of the starts, in order.

    Examples
    --------
    >>> reached([[1], [2], [], [0]], [0, 1])
    [1, 2]
    """
    return sorted(closure(lists, [j for i in starts for j in lists[i]]))


def shortest_path(lists: Lists, starts: Iterable[int], end: int) -> list[int]:
    """Return the nodes of a shortest path from one of the starts, both ends included; empty if there is none.

    Examples
    --------
    >>> shortest_path([[1], [2], [], [0]], [3], 2)
    [3, 0, 1, 2]
    """
    came_from: dict[int, int | None] = dict.fromkeys(starts)
    queue = list(came_from)
    for i in queue:  # it grows while it is read
        if i == end:
            break
        new = [j for j in lists[i] if j not in came_from]
        came_from.update(dict.fromkeys(new, i))
        queue += new
    path, step = [], end if end in came_from else None
    while step is not None:
        path.append(step)
        step = came_from[step]
    return path[::-1]


def find_cycle(parents: Lists, children: Lists, order: Sequence[int]) -> list[int]:
    """Return a cycle, its first node once more at the end; ``order`` is the incomplete topological order.

    A walk from a node that was left out to a parent that was left out, and on, never ends, so it comes back to a node
    that it has visited. The shortest cycle through that node is returned.
    """
    placed = set(order)
    i = next(i for i in range(len(parents)) if i not in placed)
    seen: set[int] = set()
    while i not in seen:
        seen.add(i)
        i = next(j for j in parents[i] if j not in placed)
    ring = shortest_path(children, children[i], i)
    at = ring.index(min(ring))
    return [*ring[at:], *ring[: at + 1]]


def named_cycle(parents: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return a cycle in a graph that is given by the parents of each node, its first node once more at the end.

    Examples
    --------
    >>> named_cycle({"a": ("b",), "b": ("a",), "c": ("a",)}), named_cycle({"a": (), "b": ("a",)})
    (('a', 'b', 'a'), ())
    """
    names = list(parents)
    index = {name: i for i, name in enumerate(names)}
    above = [[index[parent] for parent in some] for some in parents.values()]
    below: list[list[int]] = [[] for _ in names]
    for i, some in enumerate(above):
        for parent in some:
            below[parent].append(i)
    order = topological_order(above, below)
    return tuple(names[i] for i in find_cycle(above, below, order)) if len(order) < len(names) else ()
