"""Equivalence classes of graphs as bit masks: the states of a search over classes.

A class is drawn as a completed partially directed graph: arcs where all its graphs agree on the direction, edges where
they do not (see :mod:`tunbridge.graph`). Here every node has its parents, its children and its neighbours (the nodes at
the other end of an edge) as one integer each, bit i for the node at position i: unions, cliques and paths are then a
few machine words wide, whatever the number of nodes.

Three facts carry the work. The edges fall into chain components, each a chordal graph whose nodes have the same parents
outside. A clique can come first in any of them, and numbering the rest by maximum cardinality search gives directions
that make no v-structure (Tarjan and Yannakakis 1984): so one graph of the class is at hand for every choice of a clique
of neighbours as the further parents of a node. From a graph, one pass in topological order finds the compelled arcs
(Chickering 1995).

References
----------
R. E. Tarjan, M. Yannakakis (1984). Simple linear-time algorithms to test chordality of graphs, test acyclicity of
hypergraphs, and selectively reduce acyclic hypergraphs. SIAM Journal on Computing 13(3), 566–579, section 2.
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network structures. Uncertainty in
Artificial Intelligence 11, 87–98, algorithm Label-Edges.
S. A. Andersson, D. Madigan, M. D. Perlman (1997). A characterization of Markov equivalence classes for acyclic
digraphs. Annals of Statistics 25(2), 505–541, theorem 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tunbridge.learning.searches.problem import Graph

Mask = int
"""A set of nodes: bit i is set when the node at position i belongs to it."""


def mask_of(nodes: Iterable[int]) -> Mask:
    """Return the mask of some positions.

    Examples
    --------
    >>> mask_of([0, 3])
    9
    """
    mask = 0
    for i in nodes:
        mask |= 1 << i
    return mask


def positions(mask: Mask) -> list[int]:
    """Return the positions in a mask, ascending.

    Examples
    --------
    >>> positions(9)
    [0, 3]
    """
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


@dataclass(frozen=True)
class EquivalenceClass:
    """One equivalence class of directed acyclic graphs; for every node a mask of its parents, and so on.

    Examples
    --------
    The chain 0 → 1 → 2 has no v-structure, so both its arcs could point the other way; an arc 2 → 1 would make one.

    >>> chain = EquivalenceClass.of([(), (0,), (1,)])
    >>> chain.neighbours, chain.parents
    ((2, 5, 2), (0, 0, 0))
    >>> EquivalenceClass.of([(), (0, 2), ()]).parents
    (0, 5, 0)
    """

    parents: tuple[Mask, ...]
    neighbours: tuple[Mask, ...]
    children: tuple[Mask, ...] = field(compare=False, repr=False)
    joined: tuple[Mask, ...] = field(compare=False, repr=False)
    _dag: tuple[Mask, ...] = field(compare=False, repr=False)  # the parents in some graph of the class
    _rank: tuple[int, ...] = field(compare=False, repr=False)  # smaller for parents than for children there
    _reached: dict[tuple[int, Mask, Mask], Mask] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, graph: Graph | Sequence[Sequence[int]]) -> EquivalenceClass:
        """Return the class of a graph, which is given by the parents of each node."""
        n = len(graph)
        return cls(*((0,) * n,) * 6).relabelled([mask_of(parents) for parents in graph], (1 << n) - 1)

    @property
    def n(self) -> int:
        """The number of nodes."""
        return len(self.parents)

    def graph(self) -> Graph:
        """Return one graph of the class, always the same; earlier nodes tend to be parents of later ones."""
        return tuple(tuple(positions(mask)) for mask in self._directed((), (1 << self.n) - 1))

    def with_arc(self, start: int, end: int, given: Mask) -> EquivalenceClass:
        """Return the class after the arc was added to a graph in which ``given`` are end's parents by edges."""
        region = self._below(start, end)
        dag = self._directed((*positions(given), end), region)
        dag[end] |= 1 << start
        return self.relabelled(dag, region)

    def without_arc(self, start: int, end: int, given: Mask) -> EquivalenceClass:
        """Return the class after the arc was taken from a graph in which ``given`` are end's other parents by edges."""
        region = self._below(start, end)
        dag = self._directed((*positions(given), start, end), region)
        dag[end] &= ~(1 << start)
        return self.relabelled(dag, region)

    def with_turned(self, start: int, end: int, given: Mask) -> EquivalenceClass:
        """Return the class after end → start became start → end where ``given`` are end's parents by edges."""
        region = self._below(start, end)
        dag = self._directed((*positions(given), end, start), region)
        dag[start] &= ~(1 << end)
        dag[end] |= 1 << start
        return self.relabelled(dag, region)

    def reach(self, start: int, avoided: Mask, unless: Mask = 0) -> Mask:
        """Return the nodes to which a path leads from a node along edges and arcs, around the avoided nodes.

        The first step of the path does not lead to ``unless``.
        """
        key = (start, avoided, unless)
        found = self._reached.get(key)
        if found is None:
            found = self._reached[key] = self._reach(start, ~(avoided | 1 << start), unless)
        return found

    def _reach(self, start: int, allowed: Mask, unless: Mask) -> Mask:
        neighbours, children = self.neighbours, self.children
        found, ahead = 0, (neighbours[start] | children[start]) & allowed & ~unless
        while ahead:
            low = ahead & -ahead
            found |= low
            i = low.bit_length() - 1
            ahead = (ahead | (neighbours[i] | children[i]) & allowed) & ~found
        return found

    def cliques(self, nodes: Mask, most: int) -> Iterator[Mask]:
        """Return all sets of at most ``most`` of these nodes in which any two are joined, the empty one first."""
        waiting = [(0, nodes, most)] if most >= 0 else []
        while waiting:
            clique, others, room = waiting.pop()
            yield clique
            for i in positions(others if room else 0):
                others ^= 1 << i
                waiting.append((clique | 1 << i, others & self.joined[i], room - 1))

    def is_clique(self, nodes: Mask) -> bool:
        """Return whether any two of these nodes are joined."""
        return all(not nodes & ~(self.joined[i] | 1 << i) for i in positions(nodes))

    def around(self, nodes: Mask) -> Mask:
        """Return all that is joined to one of these nodes."""
        found = 0
        for i in positions(nodes):
            found |= self.joined[i]
        return found

    def common(self, nodes: Mask, among: Mask) -> Mask:
        """Return those of some nodes that are joined to all of these."""
        for i in positions(nodes):
            among &= self.joined[i]
        return among

    def flood(self, nodes: Mask, within: Mask) -> Mask:
        """Return these nodes and all that a path leads to from them, whatever its directions, within some nodes."""
        found, ahead = nodes, nodes
        while ahead:
            ahead = self.around(ahead) & within & ~found
            found |= ahead
        return found

    def _below(self, start: int, end: int) -> Mask:
        """Return the two nodes with their chain components and all below: what a step between them can change."""
        return 1 << start | 1 << end | self.reach(start, 0) | self.reach(end, 0)

    def _directed(self, first: Sequence[int], region: Mask) -> list[Mask]:
        """Return the parents in a graph whose edges in a region point away from ``first``, a clique a component."""
        dag, numbered = list(self._dag), 0
        for i in self._numbering(first, region):
            dag[i] = self.parents[i] | self.neighbours[i] & numbered
            numbered |= 1 << i
        return dag

    def _numbering(self, first: Sequence[int], region: Mask) -> Iterator[int]:
        """Yield the nodes with edges by maximum cardinality search: the next one has the most neighbours before it."""
        neighbours = self.neighbours
        before = [0] * self.n  # how many neighbours of each have been numbered
        waiting = [mask_of(i for i in positions(region) if neighbours[i])]  # by that number
        queue, top = [i for i in reversed(first) if neighbours[i]], 0
        while top >= 0:
            if not queue and not waiting[top]:
                top -= 1
                continue
            i = queue.pop() if queue else (waiting[top] & -waiting[top]).bit_length() - 1
            yield i
            waiting[before[i]] ^= 1 << i
            before[i] = -1
            for j in positions(neighbours[i]):
                if before[j] >= 0:
                    top = max(top, _promote(j, before, waiting))

    def relabelled(self, dag: list[Mask], region: Mask) -> EquivalenceClass:
        """Return the class of a graph that differs from the present one in arcs into a region with all below it."""
        order = _topological(dag, region)
        base, rank, parents = max(self._rank, default=0) + 1, list(self._rank), list(self.parents)
        for at, y in enumerate(order, base):
            rank[y] = at
        for y in order:
            parents[y] = _compelled(y, dag, rank, parents)
        neighbours, children = list(self.neighbours), list(self.children)
        for i in positions(region | self.around(region)):
            neighbours[i] &= ~region
            children[i] &= ~region
        for y in order:
            _link(y, dag[y] & ~parents[y], neighbours)
            neighbours[y] |= dag[y] & ~parents[y]
            _link(y, parents[y], children)
        joined = (p | n | c for p, n, c in zip(parents, neighbours, children, strict=True))
        return EquivalenceClass(
            tuple(parents), tuple(neighbours), tuple(children), tuple(joined), tuple(dag), tuple(rank)
        )


def _link(node: int, others: Mask, masks: list[Mask]) -> None:
    """Add a node to the masks of others."""
    for i in positions(others):
        masks[i] |= 1 << node


def _promote(node: int, before: list[int], waiting: list[Mask]) -> int:
    """Move a node up by one numbered neighbour, and return their number."""
    waiting[before[node]] ^= 1 << node
    before[node] += 1
    if before[node] == len(waiting):
        waiting.append(0)
    waiting[before[node]] ^= 1 << node
    return before[node]


def _compelled(y: int, dag: Sequence[Mask], rank: Sequence[int], compelled: Sequence[Mask]) -> Mask:
    """Return those parents of y whose arc has this direction in all equivalent graphs; its parents have been settled.

    It takes a look at x, the last of the parents:

    * w → x compelled and w no parent of y, or a parent of y that is not joined to x: all arcs into y are compelled;
    * otherwise w → y is compelled for each compelled w → x, and the other arcs into y can be turned round.
    """
    parents = dag[y]
    if not parents:
        return 0
    x = max(positions(parents), key=rank.__getitem__)
    above, around = compelled[x], dag[x] | 1 << x
    return parents if above & ~parents or parents & ~around else above


def _topological(dag: Sequence[Mask], region: Mask) -> list[int]:
    """Return the nodes of a region, parents before children."""
    nodes = positions(region)
    n_left = dict.fromkeys(nodes, 0)
    children: dict[int, list[int]] = {x: [] for x in nodes}
    for y in nodes:
        for x in positions(dag[y] & region):
            children[x].append(y)
            n_left[y] += 1
    order = [y for y in nodes if not n_left[y]]
    for x in order:  # which grows meanwhile
        for y in children[x]:
            n_left[y] -= 1
            if not n_left[y]:
                order.append(y)
    return order
