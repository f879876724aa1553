"""Undirected graphs: moral graphs and skeletons.

In an undirected graph a set of nodes separates two others if every path between them meets it. The moral graph of a
directed graph (arcs without direction, the parents of each node joined) shows which variables share a table, and is the
start of triangulation; the skeleton is the arcs without direction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tunbridge._core.check import counted
from tunbridge.graph.names import (
    EDGE,
    NamedGraph,
    Names,
    Pair,
    as_pairs,
    check_distinct,
    index_nodes,
    index_pairs,
    joined_pairs,
    positions,
)
from tunbridge.graph.walks import closure


@dataclass(frozen=True, eq=False, repr=False, init=False)
class UndirectedGraph(NamedGraph):
    """An immutable undirected graph over named nodes.

    Two graphs are equal if they have the same nodes and the same edges, in any order.

    Parameters
    ----------
    nodes : iterable of str, optional
        The names of the nodes; default: those of the edges, in order of appearance.
    edges : iterable of pairs of str
        Pairs of nodes, each pair once, in either order.

    Examples
    --------
    >>> graph = UndirectedGraph(edges=[("A", "B"), ("B", "C")])
    >>> graph
    UndirectedGraph(3 nodes, 2 edges: 'A' – 'B', 'B' – 'C')
    >>> graph.neighbours("B")
    ('A', 'C')
    >>> graph.separated("A", "C", given="B")
    True
    """

    edges: tuple[Pair, ...]
    n_edges: int = field(init=False)
    """The number of edges."""
    neighbour_indices: tuple[tuple[int, ...], ...] = field(init=False)
    """The positions of the neighbours of each node, in order."""

    def __init__(self, nodes: Iterable[str] | None = None, edges: Iterable[Iterable[str]] = ()) -> None:
        pairs = as_pairs("edge", edges)
        index = index_nodes(nodes, pairs)
        self._fill(index, indexed_edges(pairs, index))

    def _fill(self, index: dict[str, int], pairs: Iterable[tuple[int, int]]) -> None:
        self._set_nodes(index)
        nodes, neighbours, edges = self.nodes, [list[int]() for _ in index], []
        for i, j in pairs:
            neighbours[i].append(j)
            neighbours[j].append(i)
            edges.append((nodes[i], nodes[j]))
        lists = tuple(tuple(sorted(some)) for some in neighbours)
        self.__dict__.update(edges=tuple(edges), n_edges=len(edges), neighbour_indices=lists)

    @classmethod
    def of_valid(cls, index: dict[str, int], pairs: Iterable[tuple[int, int]]) -> UndirectedGraph:
        """Return a graph of valid parts, without checks: distinct pairs of positions, the lower first."""
        self = object.__new__(cls)
        self._fill(index, pairs)
        return self

    def neighbours(self, node: str) -> tuple[str, ...]:
        """Return the nodes that share an edge with this one."""
        return self._named(self.neighbour_indices[self.index(node)])

    def has_edge(self, one: str, other: str) -> bool:
        """Return whether two nodes share an edge."""
        return self.index(other) in self.neighbour_indices[self.index(one)]

    def subgraph(self, nodes: Names) -> UndirectedGraph:
        """Return the graph of some nodes, in the order given, and the edges among them."""
        kept = positions("nodes", nodes, self._index)
        check_distinct("nodes", self._named(kept))
        new = {old: i for i, old in enumerate(kept)}
        ends = [(new[i], new[j]) for i in kept for j in self.neighbour_indices[i] if j in new]
        return self.of_valid({self.nodes[i]: at for i, at in new.items()}, sorted((i, j) for i, j in ends if i < j))

    def components(self) -> tuple[tuple[str, ...], ...]:
        """Return the connected components, each in the order of the nodes."""
        found: list[tuple[str, ...]] = []
        seen: set[int] = set()
        for start in range(self.n_nodes):
            if start not in seen:
                part = closure(self.neighbour_indices, [start])
                seen |= part
                found.append(self._named(sorted(part)))
        return tuple(found)

    def separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Return whether every path from one of ``a`` to one of ``b`` meets a node of ``given``.

        Nodes of ``a`` or ``b`` that are given too count as met; a node is not separated from itself.
        """
        wall = set(positions("given", given, self._index))
        open_lists = [() if i in wall else some for i, some in enumerate(self.neighbour_indices)]
        reach = closure(open_lists, set(positions("a", a, self._index)) - wall) - wall
        return reach.isdisjoint(positions("b", b, self._index))

    def _lines(self) -> frozenset[frozenset[str]]:
        return frozenset(map(frozenset, self.edges))

    def __reduce__(self) -> tuple[Any, ...]:
        return UndirectedGraph, (self.nodes, self.edges)

    def __repr__(self) -> str:
        shown = f": {joined_pairs(self.edges, EDGE)}" if self.edges else ""
        return f"UndirectedGraph({counted(self.n_nodes, 'node')}, {counted(self.n_edges, 'edge')}{shown})"


def indexed_edges(pairs: Iterable[tuple[object, object]], index: dict[str, int]) -> list[tuple[int, int]]:
    """Return edges as pairs of positions, the lower first; raise if an edge is repeated, in either order."""
    found = [(i, j) if i < j else (j, i) for i, j in index_pairs("edge", pairs, index)]
    if len(set(found)) < len(found):
        nodes = tuple(index)
        check_distinct("edges", [(nodes[i], nodes[j]) for i, j in found])
    return found
