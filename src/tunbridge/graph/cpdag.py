"""Equivalence classes of directed acyclic graphs.

Different graphs can say the same: A → B and A ← B both say nothing, A → B → C and A ← B → C both say that A and C are
independent given B. Two graphs are equivalent when they join the same nodes and have the same v-structures A → C ← B
with A and B not joined. A completed partially directed graph (CPDAG) stands for such a class: an arc where all its
graphs agree on the direction (a compelled arc), an undirected edge where they do not. Data alone can tell classes
apart, not the graphs within one.

Finding the compelled arcs takes one pass over the nodes in topological order (Chickering 1995). Finding one graph of
the class means to take away sinks one by one (Dor and Tarsi 1992).

References
----------
T. Verma, J. Pearl (1990). Equivalence and synthesis of causal models. Uncertainty in Artificial Intelligence 6,
220–227.
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network structures. Uncertainty in
Artificial Intelligence 11, 87–98, algorithm Label-Edges.
D. Dor, M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially oriented graph. Technical
Report R-185, Cognitive Systems Laboratory, UCLA.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from tunbridge._check import counted, listed
from tunbridge.errors import DataError
from tunbridge.graph.base import NamedGraph
from tunbridge.graph.dag import DAG
from tunbridge.graph.names import EDGE, Pair, as_pairs, index_nodes, joined_pairs
from tunbridge.graph.undirected import UndirectedGraph, indexed_edges


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CPDAG(NamedGraph):
    """A graph with arcs and undirected edges over named nodes; it never changes.

    Most come from :meth:`DAG.cpdag`. The constructor takes any arcs and edges that do not contradict each other;
    whether they are the class of some graph is for :attr:`is_complete` to say.

    Parameters
    ----------
    nodes : iterable of str, optional
        The names of the nodes; without them they are taken from the arcs and then the edges, in order of appearance.
    arcs : iterable of pairs of str
        Pairs (from, to), without a cycle.
    edges : iterable of pairs of str
        Pairs of nodes in either order, none of them joined by an arc.

    Examples
    --------
    >>> cpdag = DAG(arcs=[("A", "C"), ("B", "C"), ("D", "E")]).cpdag()
    >>> cpdag
    CPDAG(5 nodes, 2 arcs: 'A' → 'C', 'B' → 'C', 1 edge: 'D' – 'E')
    >>> cpdag.to_dag()
    DAG(5 nodes, 3 arcs: 'A' → 'C', 'B' → 'C', 'D' → 'E')
    """

    arcs: tuple[Pair, ...]
    edges: tuple[Pair, ...]
    _directed: DAG = field(init=False)
    _undirected: UndirectedGraph = field(init=False)

    def __init__(
        self,
        nodes: Iterable[str] | None = None,
        arcs: Iterable[Iterable[str]] = (),
        edges: Iterable[Iterable[str]] = (),
    ) -> None:
        given_arcs, given_edges = as_pairs("arc", arcs), as_pairs("edge", edges)
        index = index_nodes(nodes, given_arcs, given_edges)
        directed = DAG(index, given_arcs)  # type: ignore[arg-type]
        self._set(directed, UndirectedGraph._trusted(index, indexed_edges(given_edges, index)))
        twice = directed.skeleton()._lines() & self._undirected._lines()
        if twice:
            pairs = [pair for pair in self.edges if frozenset(pair) in twice]
            raise DataError(f"nodes must be joined by an arc or by an edge; got both for {listed(pairs)}.")

    def _set(self, directed: DAG, undirected: UndirectedGraph) -> None:
        self.__dict__.update(nodes=directed.nodes, arcs=directed.arcs, edges=undirected.edges, _index=directed._index)
        self.__dict__.update(_directed=directed, _undirected=undirected)

    @classmethod
    def _trusted(cls, directed: DAG, undirected: UndirectedGraph) -> CPDAG:
        """Return the graph of two over the same nodes that join no two of them alike."""
        graph = object.__new__(cls)
        graph._set(directed, undirected)
        return graph

    @property
    def n_arcs(self) -> int:
        """The number of arcs."""
        return len(self.arcs)

    @property
    def n_edges(self) -> int:
        """The number of undirected edges."""
        return len(self.edges)

    @property
    def is_complete(self) -> bool:
        """Whether this is the equivalence class of some directed acyclic graph."""
        try:
            return self.to_dag().cpdag() == self
        except DataError:
            return False

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the nodes from which an arc leads to this one."""
        return self._directed.parents(node)

    def children(self, node: str) -> tuple[str, ...]:
        """Return the nodes to which an arc leads from this one."""
        return self._directed.children(node)

    def neighbours(self, node: str) -> tuple[str, ...]:
        """Return the nodes that share an undirected edge with this one."""
        return self._undirected.neighbours(node)

    def has_arc(self, start: str, end: str) -> bool:
        """Return whether there is an arc from the one node to the other."""
        return self._directed.has_arc(start, end)

    def has_edge(self, one: str, other: str) -> bool:
        """Return whether two nodes share an undirected edge."""
        return self._undirected.has_edge(one, other)

    def skeleton(self) -> UndirectedGraph:
        """Return all arcs and edges as edges."""
        pairs = [*self._directed._edges(), *indexed_edges(self.edges, self._index)]
        return UndirectedGraph._trusted(self._index, sorted(pairs))

    def to_dag(self) -> DAG:
        """Return a directed acyclic graph of the class: edges get a direction and no new v-structure arises.

        Where there is a choice, earlier nodes become parents of later ones.

        Raises
        ------
        DataError
            When there is no such graph, which cannot happen to the class of one.

        Notes
        -----
        A node without children can come last if each of its neighbours is joined to all others around it: its edges
        then become arcs into it, and it is taken away. No choice among such nodes is ever wrong (Dor and Tarsi 1992).
        """
        sinks = self._named(_sinks_first(self._directed, self._undirected))
        if len(sinks) < self.n_nodes:
            taken = set(sinks)
            left = [name for name in self.nodes if name not in taken]
            rule = "edges must have directions that close no cycle and make no new v-structure"
            raise DataError(f"{rule}; got none for those among {listed(left)}. Is this the class of a graph?")
        when = {name: at for at, name in enumerate(sinks)}
        return DAG(self.nodes, [*self.arcs, *((a, b) if when[b] < when[a] else (b, a) for a, b in self.edges)])

    def _lines(self) -> tuple[frozenset[Pair], frozenset[frozenset[str]]]:
        return self._directed._lines(), self._undirected._lines()

    def __reduce__(self) -> tuple[Any, ...]:
        return CPDAG, (self.nodes, self.arcs, self.edges)

    def __repr__(self) -> str:
        arcs = f": {joined_pairs(self.arcs)}" if self.arcs else ""
        edges = f": {joined_pairs(self.edges, EDGE)}" if self.edges else ""
        sizes = [
            counted(self.n_nodes, "node"),
            counted(self.n_arcs, "arc") + arcs,
            counted(self.n_edges, "edge") + edges,
        ]
        return f"CPDAG({', '.join(sizes)})"


def cpdag_of(dag: DAG) -> CPDAG:
    """Return the equivalence class of a directed acyclic graph."""
    nodes, compelled = dag.nodes, compelled_parents(dag)
    arcs = [(a, b) for a, b in dag.arcs if dag._index[a] in compelled[dag._index[b]]]
    loose = [(min(i, j), max(i, j)) for j, some in enumerate(dag.parent_indices) for i in some if i not in compelled[j]]
    return CPDAG._trusted(DAG(nodes, arcs), UndirectedGraph._trusted(dag._index, sorted(loose)))


def compelled_parents(dag: DAG) -> list[set[int]]:
    """Return for each node the positions of those parents whose arc has this direction in all equivalent graphs.

    The arcs into y are settled together, once those into its parents are, by looking at x, the last of its parents:

    * w → x compelled and w no parent of y: all arcs into y are compelled, else A → B – C would hide a v-structure;
    * a parent z of y that is no parent of x: z and x meet in a v-structure, and again all arcs are compelled;
    * otherwise w → y is compelled for each compelled w → x, and the other arcs into y can be turned round.
    """
    rank = {i: at for at, i in enumerate(dag.order_indices)}
    compelled: list[set[int]] = [set() for _ in rank]
    for y in dag.order_indices:
        parents = set(dag.parent_indices[y])
        if parents:
            x = max(parents, key=rank.__getitem__)
            above, around = compelled[x], {x, *dag.parent_indices[x]}
            compelled[y] = above if above <= parents <= around else parents
    return compelled


def _sinks_first(directed: DAG, undirected: UndirectedGraph) -> list[int]:
    """Return the positions of the nodes in the order in which they can be taken away, each a sink at that time."""
    neighbours = [set(some) for some in undirected.neighbour_indices]
    lists = zip(neighbours, directed.parent_indices, directed.child_indices, strict=True)
    around = [{*some, *parents, *children} for some, parents, children in lists]
    n_children = [len(some) for some in directed.child_indices]
    waiting = list(range(1 - directed.n_nodes, 1))  # negative, and so a heap with the last node in front
    taken: dict[int, None] = {}
    while waiting:
        x = -heappop(waiting)
        if x in taken or n_children[x] or not _can_be_last(x, neighbours, around):
            continue
        taken[x] = None
        for p in directed.parent_indices[x]:
            n_children[p] -= 1
        for y in around[x]:
            around[y].discard(x)
            neighbours[y].discard(x)
            heappush(waiting, -y)  # it may be a sink now
    return list(taken)


def _can_be_last(x: int, neighbours: list[set[int]], around: list[set[int]]) -> bool:
    """Return whether each neighbour of x is joined to all the other nodes around x."""
    ring = around[x]
    # The sizes settle most cases, above all those of a hub with thousands of nodes around it.
    return all(len(ring) <= len(around[y]) and ring - around[y] == {y} for y in neighbours[x])
