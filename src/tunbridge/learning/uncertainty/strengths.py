"""The strengths of arcs: in which share of many graphs each arc is present.

One search gives one graph, and does not show the others that score nearly as well. Many graphs, learned from resampled
rows (``bootstrap``) or drawn from their posterior, give two numbers for every pair of nodes (Friedman, Goldszmidt and
Wyner 1999):

* its **strength**, the share of the graphs in which the two are joined;
* its **direction**, the share of these in which the arc has one direction. Where equivalent graphs disagree (an
  undirected edge of the class) each direction counts half.

Which strengths are significant? Without uncertainty every strength would be 0 or 1, and their distribution function a
step at t, the share of the pairs that are not joined. Scutari and Nagarajan (2013) take the step that is nearest to the
distribution function F of the strengths,

    t̂ = argmin_t ∫₀¹ |F(x) − t| dx,        and keep the pairs whose strength is above F⁻¹(t̂).

Since F does not decrease, the integral is smallest at its median, t̂ = F(½): the significant pairs are those that are
joined in more than half of the graphs. The threshold is the smallest strength among them.

The **consensus** graph has the significant arcs in their likelier direction, added in order of certainty without those
that would close a cycle. Pairs without a likelier direction get theirs at the end, by removing sinks one by one (Dor
and Tarsi 1992), if possible without new v-structures.

References
----------
N. Friedman, M. Goldszmidt, A. Wyner (1999). Data analysis with Bayesian networks: a bootstrap approach. Uncertainty in
Artificial Intelligence 15, 196–205.
M. Scutari, R. Nagarajan (2013). Identifying significant edges in graphical models of molecular networks. Artificial
Intelligence in Medicine 57(3), 207–217, section 3.
D. Dor, M. Tarsi (1992). A simple algorithm to construct a consistent extension of a partially oriented graph. Technical
Report R-185, Cognitive Systems Laboratory, UCLA.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted, listed, shortened
from tunbridge._core.grid import grid_lines
from tunbridge._core.memory import check_memory
from tunbridge.data import Table, as_table
from tunbridge.errors import DataError
from tunbridge.graph import CPDAG, DAG
from tunbridge.graph.names import Pair, index_nodes, joined_pairs, position
from tunbridge.graph.walks import closure
from tunbridge.learning.learned import LearnedDAG

if TYPE_CHECKING:
    import pandas

_SHOWN = 10
_DIGITS = 9
_TIE = 10.0**-_DIGITS
"""Shares that differ by less count as equal, so that rounding does not decide."""

_Arc = tuple[int, int]


@dataclass(frozen=True, eq=False, repr=False)
class ArcStrengths:
    """The share of many graphs in which two nodes are joined, and in which direction.

    Returned by :func:`tunbridge.bootstrap_structure` and :func:`tunbridge.posterior_structure`; :meth:`of` counts any
    graphs.

    Parameters
    ----------
    nodes : sequence of str
        The names of the nodes.
    shares : ndarray of shape (n, n)
        The share of the graphs with the arc i → j, at [i, j]; an undirected edge counts half each way.
    n_graphs : int
        The number of graphs.
    note : str
        A note about how they were made.

    Examples
    --------
    >>> import tunbridge as tb
    >>> chain = tb.DAG(arcs=[("A", "B"), ("B", "C")])
    >>> collider = tb.DAG(arcs=[("A", "B"), ("C", "B")])
    >>> found = ArcStrengths.of([collider, collider, chain, tb.DAG(["A", "B", "C"], [("A", "B")])])
    >>> found
    ArcStrengths: 3 nodes, 4 graphs; 2 of 2 pairs are significant, at 0.75 or more
      from  to  strength  direction
      A     B      1.000      0.750
      C     B      0.750      0.833
    >>> found.strength("B", "C"), found.direction("A", "B"), found.direction("B", "A")
    (0.75, 0.75, 0.25)
    >>> found.consensus()
    LearnedDAG(3 nodes, 2 arcs: 'A' → 'B', 'C' → 'B'; consensus)
    """

    nodes: tuple[str, ...]
    shares: np.ndarray
    n_graphs: int
    note: str = ""
    _index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        index = index_nodes(self.nodes)
        check_integer("the number of graphs", self.n_graphs, low=1)
        shares = np.array(self.shares, np.float64)
        _check_shares(shares, len(index))
        shares.flags.writeable = False
        self.__dict__.update(nodes=tuple(index), shares=shares, _index=index)

    @classmethod
    def of(cls, graphs: Iterable[DAG | CPDAG], *, cpdag: bool = True) -> ArcStrengths:
        """Return the strengths of the arcs of some graphs over the same nodes.

        Parameters
        ----------
        graphs : iterable of DAG or CPDAG
            The graphs.
        cpdag : bool
            Whether an arc that equivalent graphs have in the other direction counts half each way.

        Examples
        --------
        >>> dag = DAG(arcs=[("A", "B")])
        >>> ArcStrengths.of([dag]).direction("A", "B"), ArcStrengths.of([dag], cpdag=False).direction("A", "B")
        (0.5, 1.0)
        """
        some = [_checked_graph(graph) for graph in graphs]
        if not some:
            raise DataError("graphs must not be empty; got none.", parameter="graphs")
        index = {name: i for i, name in enumerate(some[0].nodes)}
        check_size(len(index))
        shares = average(len(index), (_drawn(graph, index, cpdag) for graph in some))
        return cls(some[0].nodes, shares, len(some))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    @cached_property
    def strengths(self) -> np.ndarray:
        """The matrix of strengths: the share of the graphs in which i and j are joined, at [i, j]."""
        return _locked(self.shares + self.shares.T)

    @cached_property
    def directions(self) -> np.ndarray:
        """The matrix of directions: of the graphs that join i and j the share with i → j; 0 where none does."""
        joined = self.strengths
        return _locked(np.divide(self.shares, joined, out=np.zeros_like(joined), where=joined > 0))

    def strength(self, one: str, other: str) -> float:
        """Return the share of the graphs in which two nodes are joined."""
        return float(self.strengths[position(one, self._index), position(other, self._index)])

    def direction(self, start: str, end: str) -> float:
        """Return the share with the arc start → end of the graphs in which the two are joined; 0 where none does."""
        return float(self.directions[position(start, self._index), position(end, self._index)])

    @cached_property
    def threshold(self) -> float:
        """The smallest significant strength by the rule of Scutari and Nagarajan (2013); 1 when none is.

        Examples
        --------
        >>> one, two = DAG(["A", "B", "C"], [("A", "B")]), DAG(["A", "B", "C"], [("A", "B"), ("C", "B")])
        >>> ArcStrengths.of([one, one, two]).threshold
        1.0
        >>> round(ArcStrengths.of([one, two, two]).threshold, 2)
        0.67
        """
        return _significance_threshold(self.strengths)

    def table(self, threshold: float = 0.0) -> Table:
        """Return the pairs with at least this strength, the strongest first.

        Each pair appears once, in its likelier direction, in the columns from, to, strength and direction.

        Examples
        --------
        >>> table = ArcStrengths.of([DAG(arcs=[("A", "B")])]).table()
        >>> table.names, table.n_rows
        (('from', 'to', 'strength', 'direction'), 1)
        """
        start, end = self._ranked(threshold)
        columns = {"from": [self.nodes[i] for i in start], "to": [self.nodes[i] for i in end]}
        return as_table(columns | {"strength": self.strengths[start, end], "direction": self.directions[start, end]})

    def to_pandas(self, threshold: float = 0.0) -> pandas.DataFrame:
        """Return :meth:`table` as a pandas.DataFrame."""
        return self.table(threshold).to_pandas()

    def consensus(self, threshold: float | None = None) -> LearnedDAG:
        """Return the graph of the significant arcs.

        Parameters
        ----------
        threshold : float, optional
            The smallest strength of an arc; default: :attr:`threshold`.

        Returns
        -------
        LearnedDAG
            The graph; its note names the arcs that were left out because they would close a cycle.

        Notes
        -----
        Arcs are added in order of strength, then of direction, then of their nodes. A pair without a likelier direction
        never closes a cycle: it gets the direction that fits the others.
        """
        arcs = [(self.nodes[i], self.nodes[j]) for i, j in sorted(self._plan(threshold)[0])]
        lost = self.left_out(threshold)
        note = f"left out, because they would close a cycle: {joined_pairs(lost)}" if lost else ""
        return LearnedDAG(self.nodes, arcs, family_scores={}, search="consensus", note=note)

    def left_out(self, threshold: float | None = None) -> tuple[Pair, ...]:
        """Return the arcs that the consensus at this threshold leaves out because they would close a cycle.

        Examples
        --------
        >>> ring = [DAG(["A", "B", "C"], arcs) for arcs in ([("A", "B"), ("B", "C")], [("B", "C"), ("C", "A")],
        ...                                                 [("C", "A"), ("A", "B")])]
        >>> found = ArcStrengths.of(ring, cpdag=False)
        >>> found.consensus().arcs, found.left_out()
        ((('A', 'B'), ('B', 'C')), (('C', 'A'),))
        """
        return tuple((self.nodes[i], self.nodes[j]) for i, j in self._plan(threshold)[1])

    def _plan(self, threshold: float | None) -> tuple[list[_Arc], list[_Arc]]:
        """Return the arcs of a consensus, and those that it leaves out."""
        start, end = self._ranked(self.threshold if threshold is None else threshold)
        even = np.abs(self.directions[start, end] - 0.5) < _TIE
        pairs = np.stack([start, end], axis=1)
        arcs, left_out = _acyclic(self.n_nodes, [(i, j) for i, j in pairs[~even].tolist()])
        return _oriented(self.n_nodes, arcs, [(i, j) for i, j in pairs[even].tolist()]), left_out

    def _ranked(self, threshold: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the arcs of at least this strength, in their likelier direction, most certain first."""
        low = check_number("the threshold", threshold, low=0.0, high=1.0)
        one, other = np.nonzero(np.triu(self.strengths > max(low - _TIE, 0.0), 1))
        ahead = self.directions[one, other] > 0.5 - _TIE
        start, end = np.where(ahead, one, other), np.where(ahead, other, one)
        keys = (end, start, -self.directions[start, end].round(_DIGITS), -self.strengths[start, end].round(_DIGITS))
        order = np.lexsort(keys)
        return start[order], end[order]

    def __repr__(self) -> str:
        start, end = self._ranked(0.0)
        joined, n_kept = self.strengths[start, end], len(self._ranked(self.threshold)[0])
        cut = f", at {self.threshold:.3g} or more" if n_kept else ""
        kept = f"{n_kept} of {counted(len(start), 'pair')} {'is' if n_kept == 1 else 'are'} significant{cut}"
        head = f"ArcStrengths: {counted(self.n_nodes, 'node')}, {counted(self.n_graphs, 'graph')}; {kept}"
        rows = [
            (shortened(self.nodes[i], 30), shortened(self.nodes[j], 30), f"{share:.3f}", f"{self.directions[i, j]:.3f}")
            for i, j, share in zip(start[:_SHOWN], end[:_SHOWN], joined, strict=False)
        ]
        grid = [f"  {line}" for line in grid_lines(("from", "to", "strength", "direction"), rows, left=(0, 1))]
        rest = [f"  … and {counted(len(start) - _SHOWN, 'more pair')}"] if len(start) > _SHOWN else []
        note = [f"  note: {self.note}"] if self.note else []
        return "\n".join([head, *(grid if rows else []), *rest, *note])


class Drawn(NamedTuple):
    """A graph by position: its arcs and its undirected edges."""

    arcs: Sequence[_Arc]
    edges: Sequence[_Arc]


def _significance_threshold(strengths: np.ndarray) -> float:
    """Return the smallest significant strength; 1 when none is.

    Examples
    --------
    >>> _significance_threshold(np.array([0.05, 0.22, 0.39, 0.77, 0.89, 0.94]))
    0.77
    """
    significant = strengths[strengths > 0.5 + _TIE]
    return min(1.0, float(significant.min())) if significant.size else 1.0


def check_size(n: int) -> None:
    """Raise when the strengths of all pairs of n nodes would not fit into memory."""
    check_memory(f"the strengths of all pairs of {counted(n, 'node')}", 32.0 * n * n, ways_out="Use fewer variables.")


def average(n: int, graphs: Iterable[Drawn], times: Iterable[int] = repeat(1)) -> np.ndarray:
    """Return the share of the graphs with the arc i → j, at [i, j]; an edge counts half each way.

    ``times`` is how many times each graph counts.

    Examples
    --------
    >>> average(2, [Drawn([(0, 1)], []), Drawn([], [(0, 1)])]).tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    >>> average(2, [Drawn([(0, 1)], []), Drawn([], [])], [3, 1]).tolist()
    [[0.0, 0.75], [0.0, 0.0]]
    """
    halves, n_graphs = np.zeros((n, n)), 0
    for (arcs, edges), count in zip(graphs, times, strict=False):
        n_graphs += count
        for votes, pairs in ((2, arcs), (1, edges), (1, [(j, i) for i, j in edges])):
            start, end = np.array(pairs, np.int64).reshape(-1, 2).T
            halves[start, end] += votes * count
    return halves / (2 * n_graphs)


# The consensus


def _acyclic(n: int, arcs: Sequence[_Arc]) -> tuple[list[_Arc], list[_Arc]]:
    """Return the arcs that can be added one after the other, and those that would close a cycle."""
    children: list[list[int]] = [[] for _ in range(n)]
    kept, left_out = [], []
    for start, end in arcs:
        if start in closure(children, [end]):
            left_out.append((start, end))
        else:
            kept.append((start, end))
            children[start].append(end)
    return kept, left_out


def _oriented(n: int, arcs: Sequence[_Arc], edges: Sequence[_Arc]) -> list[_Arc]:
    """Return the arcs, and the edges as arcs, without a cycle and if possible without new v-structures.

    The edges of a node without children become arcs into it, and the node is removed. Among such nodes those that get
    no v-structure come first, and of these the last.
    """
    around = Around(n, arcs, edges)
    found, left = list(arcs), list(reversed(range(n)))
    while any(around.edges):
        sinks = [x for x in left if not around.children[x]]
        x = next((x for x in sinks if around.can_be_last(x)), sinks[0])
        found += [(y, x) for y in sorted(around.edges[x])]
        around.take_away(x)
        left.remove(x)
    return found


class Around:
    """The nodes around each node of a graph that is being changed."""

    def __init__(self, n: int, arcs: Sequence[_Arc], edges: Sequence[_Arc]) -> None:
        self.parents, self.children, self.edges = ([set[int]() for _ in range(n)] for _ in range(3))
        for i, j in arcs:
            self.children[i].add(j)
            self.parents[j].add(i)
        for i, j in edges:
            self.edges[i].add(j)
            self.edges[j].add(i)

    def joined(self, x: int) -> set[int]:
        """Return all nodes around x."""
        return self.parents[x] | self.children[x] | self.edges[x]

    def direct(self, start: int, end: int) -> None:
        """Turn an edge into an arc."""
        self.edges[start].discard(end)
        self.edges[end].discard(start)
        self.children[start].add(end)
        self.parents[end].add(start)

    def can_be_last(self, x: int) -> bool:
        """Return whether turning the edges of x, a node without children, into arcs makes no new v-structure."""
        ring = self.parents[x] | self.edges[x]
        return all(ring - {y} <= self.joined(y) for y in self.edges[x])

    def take_away(self, x: int) -> None:
        """Remove a node without children."""
        for y in self.parents[x]:
            self.children[y].discard(x)
        for y in self.edges[x]:
            self.edges[y].discard(x)
        self.parents[x], self.edges[x] = set(), set()


# Checks and text


def _checked_graph(graph: object) -> DAG | CPDAG:
    if not isinstance(graph, DAG | CPDAG):
        raise DataError(f"graphs must be DAGs or CPDAGs; got {shortened(repr(graph))}.", parameter="graphs")
    return graph


def _drawn(graph: DAG | CPDAG, index: dict[str, int], cpdag: bool) -> Drawn:
    """Return a graph, or its class, by position; raise unless it has these nodes."""
    if set(graph.nodes) != index.keys():
        differ = listed(sorted(set(graph.nodes) ^ index.keys()))
        raise DataError(f"graphs must have the same nodes; {differ} differ.")
    whole = graph.cpdag() if isinstance(graph, DAG) and cpdag else graph
    edges = whole.edges if isinstance(whole, CPDAG) else ()
    return Drawn(*([(index[a], index[b]) for a, b in pairs] for pairs in (whole.arcs, edges)))


def _check_shares(shares: np.ndarray, n: int) -> None:
    """Raise unless these can be shares of graphs over n nodes."""
    if shares.shape != (n, n):
        raise DataError(f"shares must be a matrix of {n} rows and columns; got shape {shares.shape}.")
    both = shares + shares.T
    if not ((shares >= 0).all() and (both <= 1 + _TIE).all()):
        raise DataError("shares must be at least 0, and those of the two directions of a pair at most 1 in sum.")
    if shares.diagonal().any():
        raise DataError("shares must be 0 on the diagonal: no node is joined to itself.")


def _locked(matrix: np.ndarray) -> np.ndarray:
    matrix.flags.writeable = False
    return matrix
