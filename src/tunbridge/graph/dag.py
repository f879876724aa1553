"""Directed acyclic graphs and their equivalence classes.

An arc A → B means that A is a parent of B: the table of B is conditional on A. Because there is no cycle, the nodes can
be ordered with parents before children, and the product of the tables is one joint distribution,

    P(x_1, …, x_n) = Π_i P(x_i | parents of x_i).

The graph alone shows which variables are independent of which, given others: two nodes are independent if every path
between them is blocked (d-separation, see :mod:`tunbridge.graph.separation`).

Different graphs can mean the same: A → B and A ← B imply no independence, A → B → C and A ← B → C both imply that A and
C are independent given B. Two graphs are equivalent if they join the same nodes and have the same v-structures
A → C ← B with A and B not joined. A completed partially directed graph (CPDAG) represents such a class: an arc where
all its graphs agree on the direction (a compelled arc), an undirected edge where they do not. Data alone can
distinguish classes, not the graphs within one. Finding the compelled arcs takes one pass over the nodes in topological
order (Chickering 1995). Finding one graph of the class means removing sinks one by one (Dor and Tarsi 1992).

References
----------
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann, chapter 3.
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
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tunbridge._core.check import counted, install_hint, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError
from tunbridge.graph.names import (
    EDGE,
    NamedGraph,
    Names,
    Pair,
    as_names,
    as_pairs,
    check_distinct,
    index_nodes,
    index_pairs,
    joined,
    joined_pairs,
    pairs_size,
    positions,
)
from tunbridge.graph.separation import connected, requisite
from tunbridge.graph.undirected import UndirectedGraph, indexed_edges
from tunbridge.graph.walks import find_cycle, reached, shortest_path, topological_order

if TYPE_CHECKING:
    import networkx

IndexLists = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DAG(NamedGraph):
    """An immutable directed acyclic graph over named nodes.

    Two graphs are equal if they have the same nodes and the same arcs, in any order. Methods that change something
    return a new graph.

    Parameters
    ----------
    nodes : iterable of str, optional
        The names of the nodes; default: those of the arcs, in order of appearance.
    arcs : iterable of pairs of str
        Pairs (from, to).

    Raises
    ------
    DataError
        For a name that is not a string, an unknown or repeated node, a repeated arc, or a cycle, which is named.

    Examples
    --------
    >>> dag = DAG(arcs=[("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "John"), ("Alarm", "Mary")])
    >>> dag.parents("Alarm"), dag.roots
    (('Burglary', 'Earthquake'), ('Burglary', 'Earthquake'))
    >>> dag.d_separated("Burglary", "Earthquake"), dag.d_separated("Burglary", "Earthquake", given="John")
    (True, False)
    >>> dag.add_arc("Mary", "Burglary")
    Traceback (most recent call last):
        ...
    tunbridge.errors.DataError: arcs must form no cycle; got 'Mary' → 'Burglary' → 'Alarm' → 'Mary'. Leave one out or
    reverse it.
    """

    arcs: tuple[Pair, ...]
    n_arcs: int = field(init=False)
    """The number of arcs."""
    parent_indices: IndexLists = field(init=False)
    """The positions of the parents of each node, in the order of the arcs."""
    child_indices: IndexLists = field(init=False)
    """The positions of the children of each node, in the order of the arcs."""

    def __init__(self, nodes: Iterable[str] | None = None, arcs: Iterable[Iterable[str]] = ()) -> None:
        given = as_pairs("arc", arcs)
        index = index_nodes(nodes, given)
        self._set_nodes(index)
        pairs, names = index_pairs("arc", given, index), self.nodes
        arcs = tuple([(names[i], names[j]) for i, j in pairs])
        check_distinct("arcs", arcs)
        parents, children = _lists(len(names), pairs)
        self.__dict__.update(arcs=arcs, n_arcs=len(arcs), parent_indices=parents, child_indices=children)
        if len(self.order_indices) < len(names):
            raise _cycle_error(self, find_cycle(self.parent_indices, self.child_indices, self.order_indices))

    def _with(self, arcs: tuple[Pair, ...], parents: IndexLists, children: IndexLists) -> DAG:
        """Return a graph of the same nodes with other arcs, known to be without a cycle."""
        new = object.__new__(DAG)
        new.__dict__.update(nodes=self.nodes, n_nodes=self.n_nodes, _index=self._index)
        new.__dict__.update(arcs=arcs, n_arcs=len(arcs), parent_indices=parents, child_indices=children)
        return new

    # Contents

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes without parents."""
        return self._named(i for i, some in enumerate(self.parent_indices) if not some)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The nodes without children."""
        return self._named(i for i, some in enumerate(self.child_indices) if not some)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes in topological order, parents before children; nodes in such an order keep it."""
        return self._named(self.order_indices)

    @cached_property
    def order_indices(self) -> tuple[int, ...]:
        """The positions of the nodes in topological order."""
        return tuple(topological_order(self.parent_indices, self.child_indices))

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the parents of a node, in the order of their arcs."""
        return self._named(self.parent_indices[self.index(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """Return the children of a node, in the order of their arcs."""
        return self._named(self.child_indices[self.index(node)])

    def has_arc(self, start: str, end: str) -> bool:
        """Return whether there is an arc from start to end."""
        return self.index(start) in self.parent_indices[self.index(end)]

    def ancestors(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes with a directed path to this one (to any of these), in the order of the nodes.

        A node is not its own ancestor, but of several nodes one may be an ancestor of another.
        """
        return self._named(reached(self.parent_indices, positions("nodes", nodes, self._index)))

    def descendants(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes with a directed path from this one (from any of these), in the order of the nodes."""
        return self._named(reached(self.child_indices, positions("nodes", nodes, self._index)))

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return the parents, the children and the children's other parents, in the order of the nodes.

        Given these the node is independent of all others.

        Examples
        --------
        >>> DAG(arcs=[("A", "C"), ("B", "C"), ("C", "D")]).markov_blanket("A")
        ('C', 'B')
        """
        i = self.index(node)
        children = self.child_indices[i]
        blanket = {*self.parent_indices[i], *children, *(p for c in children for p in self.parent_indices[c])}
        return self._named(sorted(blanket - {i}))

    # Changes: each returns a new graph

    def add_arc(self, start: str, end: str) -> DAG:
        """Return the graph with another arc, the last; raise if it exists already or would close a cycle."""
        ((i, j),) = index_pairs("arc", [(start, end)], self._index)
        if i in self.parent_indices[j]:
            raise DataError(f"the arc must be new; got {joined([start, end])}, which exists already.")
        path = shortest_path(self.child_indices, [j], i)
        if path:
            raise _cycle_error(self, [i, *path])
        parents = _replaced(self.parent_indices, j, (*self.parent_indices[j], i))
        children = _replaced(self.child_indices, i, (*self.child_indices[i], j))
        return self._with((*self.arcs, (self.nodes[i], self.nodes[j])), parents, children)

    def remove_arc(self, start: str, end: str) -> DAG:
        """Return the graph without one of its arcs; raise if it has no such arc."""
        i, j = self.index(start), self.index(end)
        if i not in self.parent_indices[j]:
            hint = f"There is {joined([end, start])}." if self.has_arc(end, start) else "See its .arcs."
            raise DataError(f"the arc must be one of the graph; got {joined([start, end])}. {hint}")
        at = self.arcs.index((self.nodes[i], self.nodes[j]))
        parents = _replaced(self.parent_indices, j, tuple(p for p in self.parent_indices[j] if p != i))
        children = _replaced(self.child_indices, i, tuple(c for c in self.child_indices[i] if c != j))
        return self._with(self.arcs[:at] + self.arcs[at + 1 :], parents, children)

    def reverse_arc(self, start: str, end: str) -> DAG:
        """Return the graph with one arc reversed, now the last; raise if that would close a cycle."""
        return self.remove_arc(start, end).add_arc(end, start)

    def add_nodes(self, names: Names) -> DAG:
        """Return the graph with more nodes, after the others and without arcs."""
        return DAG((*self.nodes, *as_names("names", names)), self.arcs)  # type: ignore[arg-type]

    def subgraph(self, nodes: Names) -> DAG:
        """Return the graph of some nodes, in the order given, and the arcs among them."""
        wanted = self._named(positions("nodes", nodes, self._index))
        kept = set(wanted)
        return DAG(wanted, [(a, b) for a, b in self.arcs if a in kept and b in kept])

    # Independence

    def d_separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Return whether the graph makes ``a`` and ``b`` independent given the nodes of ``given``.

        Parameters
        ----------
        a, b, given : str or iterable of str
            Names of nodes. Nodes of ``a`` and ``b`` that are also given are known, and so independent of everything; a
            node in both ``a`` and ``b`` that is not given is not independent of itself.

        Examples
        --------
        >>> dag = DAG(arcs=[("Season", "Rain"), ("Season", "Sprinkler"), ("Rain", "Wet"), ("Sprinkler", "Wet")])
        >>> dag.d_separated("Rain", "Sprinkler", given="Season")
        True
        >>> dag.d_separated("Rain", "Sprinkler", given=["Season", "Wet"])
        False
        """
        starts, ends, observed = (
            set(positions(what, names, self._index)) for what, names in (("a", a), ("b", b), ("given", given))
        )
        return ends.isdisjoint(connected(self.parent_indices, self.child_indices, starts, observed))

    def requisite(self, targets: Names, given: Names = ()) -> tuple[str, ...]:
        """Return the nodes that P(targets | given) depends on, in the order of the nodes.

        All others are barren (not a target, not observed, and not an ancestor of such a node) or d-separated from the
        targets.

        Examples
        --------
        >>> DAG(arcs=[("A", "B"), ("B", "C"), ("C", "D")]).requisite("C", given="B")
        ('B', 'C')
        """
        asked, observed = positions("targets", targets, self._index), positions("given", given, self._index)
        return self._named(requisite(self.parent_indices, self.child_indices, asked, set(observed)).nodes)

    # Other graphs

    def skeleton(self) -> UndirectedGraph:
        """Return the skeleton: the arcs without direction."""
        return UndirectedGraph.of_valid(self._index, sorted(_edges(self.parent_indices)))

    def moral(self) -> UndirectedGraph:
        """Return the moral graph: the arcs without direction, and all parents of a node joined.

        Examples
        --------
        >>> DAG(arcs=[("A", "C"), ("B", "C")]).moral().edges
        (('A', 'C'), ('A', 'B'), ('C', 'B'))
        """
        self._check_pairs("the moral graph")
        married = (pair for parents in self.parent_indices for pair in combinations(sorted(parents), 2))
        return UndirectedGraph.of_valid(self._index, sorted(_edges(self.parent_indices).union(married)))

    def v_structures(self) -> tuple[tuple[str, str, str], ...]:
        """Return every (parent, child, other parent) whose parents are not joined, in the order of the nodes.

        Examples
        --------
        >>> DAG(arcs=[("A", "C"), ("B", "C")]).v_structures()
        (('A', 'C', 'B'),)
        """
        self._check_pairs("the list of v-structures")
        edges, nodes = _edges(self.parent_indices), self.nodes
        return tuple(
            (nodes[i], nodes[c], nodes[j])
            for c, parents in enumerate(self.parent_indices)
            for i, j in combinations(sorted(parents), 2)
            if (i, j) not in edges
        )

    def cpdag(self) -> CPDAG:
        """Return the equivalence class: arcs that all equivalent graphs share, edges where they differ.

        Examples
        --------
        >>> DAG(arcs=[("A", "B"), ("B", "C")]).cpdag()
        CPDAG(3 nodes, 0 arcs, 2 edges: 'A' – 'B', 'B' – 'C')
        """
        compelled = _compelled_parents(self)
        arcs = [(a, b) for a, b in self.arcs if self._index[a] in compelled[self._index[b]]]
        children = enumerate(self.parent_indices)
        loose = [(min(i, j), max(i, j)) for j, some in children for i in some if i not in compelled[j]]
        edges = UndirectedGraph.of_valid(self._index, sorted(loose))
        return CPDAG.of_valid(self._index, DAG(self.nodes, arcs), edges)

    def to_networkx(self) -> networkx.DiGraph:
        """Return a :class:`networkx.DiGraph` with the same nodes and arcs, in the same order."""
        try:
            import networkx
        except ImportError as error:
            message = f"to_networkx needs networkx, which cannot be imported ({error}). {install_hint('networkx')}"
            raise ImportError(message) from error
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.arcs)
        return graph

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph) -> DAG:
        """Return the DAG of a :class:`networkx.DiGraph` whose nodes are strings."""
        if not (hasattr(graph, "is_directed") and graph.is_directed()):
            rule = "graph must be a directed graph of networkx"
            raise DataError(f"{rule}; got {shortened(repr(graph))}.", parameter="graph")
        return cls(graph.nodes, graph.edges)

    def _check_pairs(self, what: str) -> None:
        """Raise if there are too many pairs of parents to list."""
        n_pairs = sum(len(some) * (len(some) - 1) // 2 for some in self.parent_indices)
        most = max(self.parent_indices, key=len, default=())
        ways_out = f"One node has {len(most)} parents; use fewer."
        check_memory(what, pairs_size(n_pairs), ways_out=ways_out)

    def _lines(self) -> frozenset[Pair]:
        return frozenset(self.arcs)

    def __reduce__(self) -> tuple[Any, ...]:
        return DAG, (self.nodes, self.arcs)

    def _repr_svg_(self) -> str:
        from tunbridge.graph.drawing import Node, drawn, lines_of, svg_of

        return svg_of(drawn([Node(name) for name in self.nodes], lines_of(self)))

    def __repr__(self) -> str:
        shown = f": {joined_pairs(self.arcs)}" if self.arcs else ""
        return f"DAG({counted(self.n_nodes, 'node')}, {counted(self.n_arcs, 'arc')}{shown})"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class CPDAG(NamedGraph):
    """An immutable graph with arcs and undirected edges over named nodes.

    Most come from :meth:`DAG.cpdag`. The constructor accepts any arcs and edges that do not contradict each other;
    :attr:`is_complete` tells whether they are the class of some graph.

    Parameters
    ----------
    nodes : iterable of str, optional
        The names of the nodes; default: those of the arcs and then the edges, in order of appearance.
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
    n_arcs: int = field(init=False)
    """The number of arcs."""
    edges: tuple[Pair, ...]
    n_edges: int = field(init=False)
    """The number of undirected edges."""
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
        self._set(index, directed, UndirectedGraph.of_valid(index, indexed_edges(given_edges, index)))
        joined_by_arcs = set(map(frozenset, self.arcs))
        twice = [pair for pair in self.edges if frozenset(pair) in joined_by_arcs]
        if twice:
            raise DataError(f"nodes must be joined by an arc or by an edge; got both for {listed(twice)}.")

    def _set(self, index: dict[str, int], directed: DAG, undirected: UndirectedGraph) -> None:
        self._set_nodes(index)
        self.__dict__.update(arcs=directed.arcs, n_arcs=directed.n_arcs, _directed=directed)
        self.__dict__.update(edges=undirected.edges, n_edges=undirected.n_edges, _undirected=undirected)

    @classmethod
    def of_valid(cls, index: dict[str, int], directed: DAG, undirected: UndirectedGraph) -> CPDAG:
        """Return the graph of arcs and edges over the same nodes that join no pair twice."""
        self = object.__new__(cls)
        self._set(index, directed, undirected)
        return self

    @property
    def is_complete(self) -> bool:
        """Whether this is the equivalence class of some directed acyclic graph."""
        try:
            return self.to_dag().cpdag() == self
        except DataError:
            return False

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the nodes with an arc to this one."""
        return self._directed.parents(node)

    def children(self, node: str) -> tuple[str, ...]:
        """Return the nodes with an arc from this one."""
        return self._directed.children(node)

    def neighbours(self, node: str) -> tuple[str, ...]:
        """Return the nodes that share an undirected edge with this one."""
        return self._undirected.neighbours(node)

    def has_arc(self, start: str, end: str) -> bool:
        """Return whether there is an arc from start to end."""
        return self._directed.has_arc(start, end)

    def has_edge(self, one: str, other: str) -> bool:
        """Return whether two nodes share an undirected edge."""
        return self._undirected.has_edge(one, other)

    def skeleton(self) -> UndirectedGraph:
        """Return all arcs and edges as edges."""
        pairs = [*_edges(self._directed.parent_indices), *indexed_edges(self.edges, self._index)]
        return UndirectedGraph.of_valid(self._index, sorted(pairs))

    def to_dag(self) -> DAG:
        """Return a directed acyclic graph of the class: edges get a direction without a new v-structure.

        Where there is a choice, earlier nodes become parents of later ones.

        Raises
        ------
        DataError
            If there is no such graph, which cannot happen for the class of a graph.

        Notes
        -----
        A node without children can come last if each of its neighbours is joined to all other nodes around it: its
        edges then become arcs into it, and it is removed. No choice among such nodes is wrong (Dor and Tarsi 1992).
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
        return frozenset(self.arcs), frozenset(map(frozenset, self.edges))

    def __reduce__(self) -> tuple[Any, ...]:
        return CPDAG, (self.nodes, self.arcs, self.edges)

    def _repr_svg_(self) -> str:
        from tunbridge.graph.drawing import Node, drawn, lines_of, svg_of

        return svg_of(drawn([Node(name) for name in self.nodes], lines_of(self)))

    def __repr__(self) -> str:
        arcs = f": {joined_pairs(self.arcs)}" if self.arcs else ""
        edges = f": {joined_pairs(self.edges, EDGE)}" if self.edges else ""
        sizes = [
            counted(self.n_nodes, "node"),
            counted(self.n_arcs, "arc") + arcs,
            counted(self.n_edges, "edge") + edges,
        ]
        return f"CPDAG({', '.join(sizes)})"


def _compelled_parents(dag: DAG) -> list[set[int]]:
    """Return for each node the positions of the parents whose arc has this direction in all equivalent graphs.

    The arcs into y are labelled together, after those into its parents, by looking at x, the last of its parents:

    * w → x compelled and w not a parent of y: all arcs into y are compelled, or A → B – C would hide a v-structure;
    * a parent z of y that is not a parent of x: z and x form a v-structure, and again all arcs are compelled;
    * otherwise w → y is compelled for each compelled w → x, and the other arcs into y can be reversed.
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
    """Return the positions of the nodes in an order in which they can be removed, each a sink at that time."""
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
    # The sizes decide most cases, such as a hub with thousands of nodes around it.
    return all(len(ring) <= len(around[y]) and ring - around[y] == {y} for y in neighbours[x])


def _lists(n_nodes: int, pairs: Iterable[tuple[int, int]]) -> tuple[IndexLists, IndexLists]:
    """Return the parents and the children of every node."""
    parents: list[list[int]] = [[] for _ in range(n_nodes)]
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, j in pairs:
        parents[j].append(i)
        children[i].append(j)
    return tuple(map(tuple, parents)), tuple(map(tuple, children))


def _edges(parents: IndexLists) -> set[tuple[int, int]]:
    """Return the joined pairs of positions, the lower first."""
    return {(i, j) if i < j else (j, i) for j, some in enumerate(parents) for i in some}


def _replaced(lists: IndexLists, at: int, value: tuple[int, ...]) -> IndexLists:
    return (*lists[:at], value, *lists[at + 1 :])


def _cycle_error(dag: DAG, cycle: list[int]) -> DataError:
    shown = joined([dag.nodes[i] for i in cycle])
    return DataError(f"arcs must form no cycle; got {shown}. Leave one out or reverse it.")
