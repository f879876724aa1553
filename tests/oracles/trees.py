"""Spanning trees by looking at all of them, and information pair by pair from the rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

import oracles.counts as counting
from tunbridge.counts import Counter
from tunbridge.data import Table
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.searches.problem import Problem

Edge = tuple[int, int]


class CountedColumns:
    """The little of the families of a table that trees are made from: names, rows and a counter."""

    def __init__(self, table: Table, n_jobs: int | None = None) -> None:
        self.counter = Counter(table.select(sorted(table.names)), n_jobs=n_jobs)
        self.names = tuple(v.name for v in self.counter.variables)
        self.n, self.n_rows = len(self.names), self.counter.total


class CorrelatedColumns:
    """The same of continuous columns."""

    def __init__(self, names: Sequence[str], correlations: np.ndarray, n_rows: float) -> None:
        self.names, self.n, self.n_rows = tuple(names), len(names), n_rows
        self._correlations = correlations

    def correlations(self) -> tuple[np.ndarray, np.ndarray]:
        return self._correlations, np.full((self.n, self.n), float(self.n_rows))


def problem_of(families: object, known: Constraints | None = None) -> Problem:
    """Return the problem of a stand-in for families, with what is known about the arcs."""
    compiled = (known or Constraints()).compile(families.names)
    start, rng = compiled.required, np.random.default_rng(0)
    return Problem(families, compiled.allowed, compiled.required, compiled.max_parents, start, rng)


def pair_information(table: Table, given: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return I(X; Y), given a column if named, and the rows of every pair of the other columns."""
    names = [name for name in table.names if name != given]
    information, rows = np.zeros((len(names), len(names))), np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names[: i + 1]):
            family = [a, b] if given is None else [given, a, b]
            shape = [table.variable(name).n_states for name in family]
            counts = counting.count_table([table.codes(name) for name in family], shape, table.weights)
            found = counting.conditional_mutual_information([counts] if given is None else list(counts))
            information[i, j] = information[j, i] = found
            rows[i, j] = rows[j, i] = counts.sum()
    return information, rows


def spanning_trees(n: int) -> list[tuple[Edge, ...]]:
    """Return every spanning tree of n nodes."""
    edges = list(combinations(range(n), 2))
    return [some for some in combinations(edges, max(0, n - 1)) if is_forest(some, n)]


def forests(n: int) -> list[tuple[Edge, ...]]:
    """Return every set of edges without a ring."""
    edges = list(combinations(range(n), 2))
    return [some for k in range(max(1, n)) for some in combinations(edges, k) if is_forest(some, n)]


def is_forest(edges: Sequence[Edge], n: int) -> bool:
    """Whether there is no ring: every edge joins two parts that were apart."""
    parts = [{v} for v in range(n)]
    for a, b in edges:
        first, second = (next(part for part in parts if v in part) for v in (a, b))
        if first is second:
            return False
        parts = [part for part in parts if part is not first and part is not second] + [first | second]
    return True


def greedy_forest(weights: np.ndarray) -> list[Edge]:
    """Return the forest of Kruskal's algorithm, equal edges taken by their ends; pairs of −inf are no edges."""
    n = len(weights)
    taken: list[Edge] = []
    for edge in sorted(combinations(range(n), 2), key=lambda e: (-weights[e], e)):
        if weights[edge] > -np.inf and is_forest([*taken, edge], n):
            taken.append(edge)
    return sorted(taken)


def rooted_trees(n: int) -> list[tuple[tuple[int, ...], ...]]:
    """Return every graph whose edges are a spanning tree and point away from a root, as the parents of each node."""
    return [graph_of(edges, n, root) for edges in spanning_trees(n) for root in range(n)]


def graph_of(edges: Sequence[Edge], n: int, root: int) -> tuple[tuple[int, ...], ...]:
    """Return the parents of each node when a spanning tree points away from a root."""
    parents: dict[int, tuple[int, ...]] = {root: ()}
    while len(parents) < n:
        for a, b in [*edges, *((b, a) for a, b in edges)]:
            if a in parents and b not in parents:
                parents[b] = (a,)
    return tuple(parents[v] for v in range(n))
