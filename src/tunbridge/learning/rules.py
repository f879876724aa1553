"""Constraints as a search reads them: by position, as arrays, with the reason for every arc that may not be."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tunbridge._check import listed
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.graph.names import joined
from tunbridge.graph.walks import find_cycle, topological_order
from tunbridge.learning.problem import Graph

Index = tuple[int, int]
"""An arc (from, to), by position."""


@dataclass(frozen=True, eq=False)
class CompiledConstraints:
    """Constraints over the columns of one table, by position: what a search reads.

    Parameters
    ----------
    names : tuple of str
        The columns.
    allowed : ndarray of shape (n, n), optional
        Whether the arc c → x may be there, at [c, x], the diagonal False; None when nothing is forbidden.
    required : tuple of tuples of int
        The parents that each node must have, ascending.
    max_parents : ndarray of shape (n,)
        The most parents of each node; n − 1 where there is no limit.
    arc_bonus : ndarray of shape (n, n), optional
        The prior log-odds of the arc c → x, at [c, x]; None when all are zero.
    rules : tuple
        What forbids arcs, for messages.
    """

    names: tuple[str, ...]
    allowed: np.ndarray | None
    required: Graph
    max_parents: np.ndarray
    arc_bonus: np.ndarray | None
    rules: tuple[Rule, ...] = field(repr=False)

    @property
    def smallest_graph(self) -> Graph:
        """The graph of the required arcs alone, from which a search can start: it obeys whenever any graph does.

        Examples
        --------
        >>> import tunbridge as tb
        >>> tb.Constraints(required=["B->A", "C->A"]).compile(("A", "B", "C")).smallest_graph
        ((1, 2), (), ())
        """
        return self.required

    def check_graph(self, graph: Graph, what: str = "start") -> None:
        """Raise unless a graph, given as the parents of every node, obeys.

        Parameters
        ----------
        graph : tuple of tuples of int
            The parents of each node; that there is no cycle is taken for granted.
        what : str
            What the graph is called in a message.

        Examples
        --------
        >>> import tunbridge as tb
        >>> compiled = tb.Constraints(leaves="C", max_parents=1).compile(("A", "B", "C"))
        >>> compiled.check_graph(((1,), (), (0,)))
        >>> compiled.check_graph(((2,), (), ()))
        Traceback (most recent call last):
            ...
        tunbridge.errors.DataError: start must have allowed arcs only; got 'C' → 'A', but 'C' is one of the leaves.
        """
        self._check_allowed(f"{what} must have allowed arcs only", graph)
        for x, needed in enumerate(self.required):
            absent = sorted(set(needed).difference(graph[x]))
            if absent:
                raise DataError(f"{what} must have every required arc; got no {self._arc(absent[0], x)}.")
        self._check_limits(what, graph)

    def _check_allowed(self, rule: str, graph: Graph) -> None:
        for x, parents in enumerate(graph):
            for c in parents:
                if self.allowed is not None and not self.allowed[c, x]:
                    reason = next(filter(None, (known.why(c, x, self.names) for known in self.rules)))
                    raise DataError(f"{rule}; got {self._arc(c, x)}, but {reason}.")

    def _check_limits(self, what: str, graph: Graph) -> None:
        over = np.flatnonzero(np.fromiter(map(len, graph), np.int64) > self.max_parents)
        for x in over[:1]:
            found = f"{len(graph[x])} parents of {self.names[x]!r} ({listed(self.names[c] for c in graph[x])})"
            raise DataError(f"{what} must keep to max_parents; got {found} where {self.max_parents[x]} is the most.")

    def _arc(self, c: int, x: int) -> str:
        return joined((self.names[c], self.names[x]))


# What forbids arcs


class Rule(ABC):
    """One reason for which arcs are forbidden."""

    @abstractmethod
    def strike(self, allowed: np.ndarray) -> None:
        """Mark the arcs that it forbids."""

    @abstractmethod
    def why(self, c: int, x: int, names: tuple[str, ...]) -> str:
        """Return why it forbids c → x; no text when it does not."""


@dataclass(frozen=True)
class Forbidden(Rule):
    """Arcs that are forbidden one by one."""

    arcs: frozenset[Index]

    def strike(self, allowed: np.ndarray) -> None:
        """Mark the arcs that it forbids."""
        allowed[ends_of(self.arcs)] = False

    def why(self, c: int, x: int, names: tuple[str, ...]) -> str:
        """Return why it forbids c → x; no text when it does not."""
        return "that is forbidden" if (c, x) in self.arcs else ""


@dataclass(frozen=True, eq=False)
class Layers(Rule):
    """Levels of which later ones have no arcs to earlier ones, nor (unless ``within``) to themselves; −1 is free."""

    level: np.ndarray
    within: bool
    words: str
    end: str = ""

    def strike(self, allowed: np.ndarray) -> None:
        """Mark the arcs that it forbids."""
        free = self.level < 0
        for c in np.flatnonzero(~free):  # by rows: a matrix of comparisons would double the memory
            later = self.level >= self.level[c] if self.within else self.level > self.level[c]
            allowed[c] &= later | free

    def why(self, c: int, x: int, names: tuple[str, ...]) -> str:
        """Return why it forbids c → x; no text when it does not."""
        start, end = self.level[c], self.level[x]
        if end >= 0 and start > end:
            return f"{names[c]!r} {self.words} {names[x]!r}{self.end}"
        return "the two are in one tier and within_tiers is False" if start == end >= 0 and not self.within else ""


@dataclass(frozen=True)
class FixedFamilies(Rule):
    """Nodes into which no other arcs than these lead."""

    nodes: tuple[int, ...]
    arcs: frozenset[Index]
    words: str

    def strike(self, allowed: np.ndarray) -> None:
        """Mark the arcs that it forbids."""
        at = ends_of(self.arcs)
        kept = allowed[at]
        allowed[:, list(self.nodes)] = False
        allowed[at] = kept

    def why(self, c: int, x: int, names: tuple[str, ...]) -> str:
        """Return why it forbids c → x; no text when it does not."""
        return f"{names[x]!r} {self.words}" if x in self.nodes and (c, x) not in self.arcs else ""


@dataclass(frozen=True)
class Leaves(Rule):
    """Nodes without children."""

    nodes: tuple[int, ...]

    def strike(self, allowed: np.ndarray) -> None:
        """Mark the arcs that it forbids."""
        allowed[list(self.nodes)] = False

    def why(self, c: int, x: int, names: tuple[str, ...]) -> str:
        """Return why it forbids c → x; no text when it does not."""
        return f"{names[c]!r} is one of the leaves" if c in self.nodes else ""


# What the rules come to


def allowed_arcs(n: int, rules: tuple[Rule, ...]) -> np.ndarray | None:
    """Return the matrix of the arcs that no rule forbids; None when that is all of them."""
    if not rules:
        return None
    check_memory("the matrix of allowed arcs", n * n, ways_out="Learn from fewer columns.")
    allowed = np.ones((n, n), bool)
    np.fill_diagonal(allowed, False)
    for rule in rules:
        rule.strike(allowed)
    allowed.flags.writeable = False
    return allowed if np.count_nonzero(allowed) < n * (n - 1) else None


def parent_lists(n: int, arcs: Iterable[Index]) -> Graph:
    """Return the parents of every node, ascending."""
    parents: list[list[int]] = [[] for _ in range(n)]
    for c, x in sorted(arcs):
        parents[x].append(c)
    return tuple(map(tuple, parents))


def check_possible(compiled: CompiledConstraints) -> None:
    """Raise when not even the graph of the required arcs obeys."""
    required = compiled.required
    compiled._check_allowed("required arcs must be allowed", required)
    compiled._check_limits("required arcs", required)
    children = parent_lists(len(required), [(x, c) for x, parents in enumerate(required) for c in parents])
    order = topological_order(required, children)
    if len(order) < len(required):
        cycle = joined([compiled.names[i] for i in find_cycle(required, children, order)])
        raise DataError(f"required arcs must form no cycle; got {cycle}. Leave one out or reverse it.")


def ends_of(arcs: Iterable[Index]) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and the ends of arcs, as an index into a matrix."""
    starts, ends = np.array(list(arcs), np.int64).reshape(-1, 2).T
    return starts, ends
