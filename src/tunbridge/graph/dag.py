"""Directed acyclic graphs.

An arc A → B says that A is a parent of B: the table of B is conditional on A. Because no path leads back to where it
started, the nodes can be put in an order in which parents come before children, and the product of the tables is one
joint distribution,

    P(x_1, …, x_n) = Π_i P(x_i | parents of x_i).

The graph alone says which variables are independent of which, given others: two nodes are independent when every
path between them is blocked (d-separation, see :mod:`tunbridge.graph.separation`).

References
----------
J. Pearl (1988). Probabilistic Reasoning in Intelligent Systems. Morgan Kaufmann, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.graph.base import NamedGraph
from tunbridge.graph.names import (
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
from tunbridge.graph.undirected import UndirectedGraph
from tunbridge.graph.walks import find_cycle, reached, shortest_path, topological_order

if TYPE_CHECKING:
    from tunbridge.graph.cpdag import CPDAG

IndexLists = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class DAG(NamedGraph):
    """A directed acyclic graph over named nodes; it never changes.

    Two graphs are equal when they have the same nodes and the same arcs, in whatever order. Methods that change
    something return a new graph.

    Parameters
    ----------
    nodes : iterable of str, optional
        The names of the nodes, any text; without them they are taken from the arcs, in order of appearance.
    arcs : iterable of pairs of str
        Pairs (from, to).

    Raises
    ------
    DataError
        For a name that is no text, an unknown or repeated node, a repeated arc, or a cycle, which is named.

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
    parent_indices: IndexLists = field(init=False)
    """For each node the positions of its parents, in the order in which the arcs were given."""
    child_indices: IndexLists = field(init=False)
    """For each node the positions of its children, in the order in which the arcs were given."""

    def __init__(self, nodes: Iterable[str] | None = None, arcs: Iterable[Iterable[str]] = ()) -> None:
        given = as_pairs("arc", arcs)
        index = index_nodes(nodes, given)
        pairs = index_pairs("arc", given, index)
        names = tuple(index)
        named = [(names[i], names[j]) for i, j in pairs]
        check_distinct("arcs", named)
        parents, children = _lists(len(names), pairs)
        self.__dict__.update(nodes=names, _index=index)
        self.__dict__.update(arcs=tuple(named), parent_indices=parents, child_indices=children)
        if len(self.order_indices) < len(names):
            raise _cycle_error(self, find_cycle(self.parent_indices, self.child_indices, self.order_indices))

    def _with(self, arcs: tuple[Pair, ...], parents: IndexLists, children: IndexLists) -> DAG:
        """Return a graph of the same nodes with other arcs, known to be without a cycle."""
        new = object.__new__(DAG)
        new.__dict__.update(nodes=self.nodes, _index=self._index)
        new.__dict__.update(arcs=arcs, parent_indices=parents, child_indices=children)
        return new

    # What is in it

    @property
    def n_arcs(self) -> int:
        """The number of arcs."""
        return len(self.arcs)

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
        """The nodes with parents before children; nodes that are in such an order already keep it."""
        return self._named(self.order_indices)

    @cached_property
    def order_indices(self) -> tuple[int, ...]:
        """The positions of the nodes with parents before children."""
        return tuple(topological_order(self.parent_indices, self.child_indices))

    def parents(self, node: str) -> tuple[str, ...]:
        """Return the parents of a node, in the order in which their arcs were given."""
        return self._named(self.parent_indices[self.index(node)])

    def children(self, node: str) -> tuple[str, ...]:
        """Return the children of a node, in the order in which their arcs were given."""
        return self._named(self.child_indices[self.index(node)])

    def has_arc(self, start: str, end: str) -> bool:
        """Return whether there is an arc from the one node to the other."""
        return self.index(start) in self.parent_indices[self.index(end)]

    def ancestors(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes from which a path leads to this one (to any of these), in the order of the nodes.

        A node is no ancestor of itself, but of several nodes one may be an ancestor of another.
        """
        return self._named(reached(self.parent_indices, positions("nodes", nodes, self._index)))

    def descendants(self, nodes: Names) -> tuple[str, ...]:
        """Return the nodes to which a path leads from this one (from any of these), in the order of the nodes."""
        return self._named(reached(self.child_indices, positions("nodes", nodes, self._index)))

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Return parents, children and the children's other parents, in the order of the nodes.

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

    # Changes, each a new graph

    def add_arc(self, start: str, end: str) -> DAG:
        """Return the graph with one arc more, the last; raise when it is there already or would close a cycle."""
        ((i, j),) = index_pairs("arc", [(start, end)], self._index)
        if i in self.parent_indices[j]:
            raise DataError(f"the arc must be a new one; got {joined([start, end])}, which is there already.")
        path = shortest_path(self.child_indices, [j], i)
        if path:
            raise _cycle_error(self, [i, *path])
        parents = _replaced(self.parent_indices, j, (*self.parent_indices[j], i))
        children = _replaced(self.child_indices, i, (*self.child_indices[i], j))
        return self._with((*self.arcs, (self.nodes[i], self.nodes[j])), parents, children)

    def remove_arc(self, start: str, end: str) -> DAG:
        """Return the graph without one of its arcs; raise when it has no such arc."""
        i, j = self.index(start), self.index(end)
        if i not in self.parent_indices[j]:
            hint = f"There is {joined([end, start])}." if self.has_arc(end, start) else "See its .arcs."
            raise DataError(f"the arc must be one of the graph; got {joined([start, end])}. {hint}")
        at = self.arcs.index((self.nodes[i], self.nodes[j]))
        parents = _replaced(self.parent_indices, j, tuple(p for p in self.parent_indices[j] if p != i))
        children = _replaced(self.child_indices, i, tuple(c for c in self.child_indices[i] if c != j))
        return self._with(self.arcs[:at] + self.arcs[at + 1 :], parents, children)

    def reverse_arc(self, start: str, end: str) -> DAG:
        """Return the graph with one arc turned round, now the last; raise when that would close a cycle."""
        return self.remove_arc(start, end).add_arc(end, start)

    def add_nodes(self, names: Names) -> DAG:
        """Return the graph with more nodes, behind the others and without arcs."""
        return DAG((*self.nodes, *as_names("names", names)), self.arcs)  # type: ignore[arg-type]

    def subgraph(self, nodes: Names) -> DAG:
        """Return the graph of some of the nodes, in the order given, and of the arcs among them."""
        wanted = self._named(positions("nodes", nodes, self._index))
        kept = set(wanted)
        return DAG(wanted, [(a, b) for a, b in self.arcs if a in kept and b in kept])

    # Independence

    def d_separated(self, a: Names, b: Names, given: Names = ()) -> bool:
        """Return whether the graph makes ``a`` and ``b`` independent given the nodes of ``given``.

        Parameters
        ----------
        a, b, given : str or iterable of str
            Names of nodes. Those of ``a`` and ``b`` that are given as well are known, and so independent of everything;
            a node that is in both and not given is not independent of itself.

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

        All others are barren (neither asked for nor observed, nor an ancestor of such) or d-separated from the
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
        """Return the arcs without their heads."""
        return UndirectedGraph._trusted(self._index, sorted(self._edges()))

    def moral(self) -> UndirectedGraph:
        """Return the moral graph: the arcs without their heads, and all parents of a node joined.

        Examples
        --------
        >>> DAG(arcs=[("A", "C"), ("B", "C")]).moral().edges
        (('A', 'C'), ('A', 'B'), ('C', 'B'))
        """
        self._check_pairs("the moral graph")
        married = (pair for parents in self.parent_indices for pair in combinations(sorted(parents), 2))
        return UndirectedGraph._trusted(self._index, sorted(self._edges().union(married)))

    def v_structures(self) -> tuple[tuple[str, str, str], ...]:
        """Return every (parent, child, other parent) whose parents are not joined, in the order of the nodes.

        Examples
        --------
        >>> DAG(arcs=[("A", "C"), ("B", "C")]).v_structures()
        (('A', 'C', 'B'),)
        """
        self._check_pairs("the list of v-structures")
        edges, nodes = self._edges(), self.nodes
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
        from tunbridge.graph.cpdag import cpdag_of  # each kind of graph can be turned into the other

        return cpdag_of(self)

    def _edges(self) -> set[tuple[int, int]]:
        """Return the pairs of positions that are joined, the lower first."""
        return {(i, j) if i < j else (j, i) for j, some in enumerate(self.parent_indices) for i in some}

    def _check_pairs(self, what: str) -> None:
        """Raise when the pairs of parents are too many to be listed."""
        n_pairs = sum(len(some) * (len(some) - 1) // 2 for some in self.parent_indices)
        most = max(self.parent_indices, key=len, default=())
        check_memory(what, pairs_size(n_pairs), ways_out=f"One node has {len(most)} parents: let nodes have fewer.")

    def _lines(self) -> frozenset[Pair]:
        return frozenset(self.arcs)

    def __reduce__(self) -> tuple[Any, ...]:
        return DAG, (self.nodes, self.arcs)

    def __repr__(self) -> str:
        shown = f": {joined_pairs(self.arcs)}" if self.arcs else ""
        return f"DAG({counted(self.n_nodes, 'node')}, {counted(self.n_arcs, 'arc')}{shown})"


def _lists(n_nodes: int, pairs: Iterable[tuple[int, int]]) -> tuple[IndexLists, IndexLists]:
    """Return the parents and the children of every node."""
    parents: list[list[int]] = [[] for _ in range(n_nodes)]
    children: list[list[int]] = [[] for _ in range(n_nodes)]
    for i, j in pairs:
        parents[j].append(i)
        children[i].append(j)
    return tuple(map(tuple, parents)), tuple(map(tuple, children))


def _replaced(lists: IndexLists, at: int, value: tuple[int, ...]) -> IndexLists:
    return (*lists[:at], value, *lists[at + 1 :])


def _cycle_error(dag: DAG, cycle: list[int]) -> DataError:
    shown = joined(dag._named(cycle))
    return DataError(f"arcs must form no cycle; got {shown}. Leave one out or reverse it.")
