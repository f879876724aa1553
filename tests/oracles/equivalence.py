"""Equivalence classes the slow way: every graph of a class listed, every arc of every graph changed.

A graph is the tuple of its nodes' parents; a class is known by what its graphs have in common, the pairs of nodes that
are joined and the v-structures.
"""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import numpy as np

from oracles.graphs import is_acyclic
from tunbridge.learning.scores.discrete import Score
from tunbridge.learning.scores.families import Families
from tunbridge.learning.searches.problem import Problem


def arcs_of(graph):
    """Return the arcs of a graph."""
    return frozenset((x, y) for y, parents in enumerate(graph) for x in parents)


def graph_of(n, arcs):
    """Return the graph with these arcs."""
    return tuple(tuple(sorted(x for x, end in arcs if end == y)) for y in range(n))


def class_of(graph):
    """Return what all graphs of the class have in common: joined pairs and v-structures."""
    arcs = arcs_of(graph)
    joined = frozenset(frozenset(arc) for arc in arcs)
    pairs = ((y, pair) for y, parents in enumerate(graph) for pair in combinations(sorted(parents), 2))
    return joined, frozenset((y, pair) for y, pair in pairs if frozenset(pair) not in joined)


def members(graph):
    """Return all graphs of the class."""
    n, pairs = len(graph), sorted(arcs_of(graph))
    turned = ([(y, x) if turn else (x, y) for turn, (x, y) in zip(choice, pairs, strict=True)]
              for choice in product([False, True], repeat=len(pairs)))  # fmt: skip
    found = [graph_of(n, arcs) for arcs in turned if is_acyclic(n, set(arcs))]
    return [other for other in found if class_of(other) == class_of(graph)]


def classes_around(graph, kind):
    """Return one graph of every other class that one change of an arc in some graph of this class leads to."""
    n, found = len(graph), {}
    for member in members(graph):
        arcs = arcs_of(member)
        for arc in product(range(n), repeat=2):
            changed = _changed(arcs, arc, kind)
            if changed is not None and is_acyclic(n, changed):
                other = graph_of(n, changed)
                found.setdefault(class_of(other), other)
    found.pop(class_of(graph), None)
    return found


def _changed(arcs, arc, kind):
    turned = arc[::-1]
    if kind == "insert":
        return None if arc[0] == arc[1] or arc in arcs or turned in arcs else arcs | {arc}
    if arc not in arcs:
        return None
    return arcs - {arc} if kind == "delete" else arcs - {arc} | {turned}


def random_graph(rng, n, density=0.5):
    """Return a random graph."""
    order = rng.permutation(n).tolist()
    arcs = [(order[i], order[j]) for i, j in combinations(range(n), 2) if rng.random() < density]
    return graph_of(n, arcs)


def problem_of(families, **changes):
    """Return the problem of finding the best graph, free and from the empty one unless told otherwise."""
    empty = ((),) * families.n
    given = {"allowed": None, "required": empty, "max_parents": np.full(families.n, families.n), "start": empty}
    return Problem(families, rng=np.random.default_rng(0), **{**given, **changes})


class SetFamilies(Families):
    """Scores s(x | P) = f(P ∪ x) − f(P) of any function f of sets: all that are equal for equivalent graphs."""

    def __init__(self, values):
        self.values = np.asarray(values, float)
        super().__init__(tuple(f"x{i}" for i in range(self.values.size.bit_length() - 1)), 1.0)

    def _score(self, x, parents):
        mask = sum(1 << p for p in parents)
        return float(self.values[mask | 1 << x] - self.values[mask])

    def _additions_of(self, x, parents, candidates):
        chosen = range(self.n) if candidates is None else candidates
        out = [-np.inf if c == x or c in parents else self.score(x, tuple(sorted((*parents, int(c))))) for c in chosen]
        return np.array(out)


class JointFamilies(SetFamilies):
    """Scores from the counts of all joint states of a few variables, one axis each."""

    def __init__(self, counts: np.ndarray, criterion: Score):
        self.counts, self.criterion = counts, criterion
        Families.__init__(self, tuple(f"x{i}" for i in range(counts.ndim)), float(counts.sum()))

    def _score(self, x, parents):
        shape = [self.counts.shape[p] for p in parents]
        family = np.einsum(self.counts, range(self.n), [*parents, x])
        return self.criterion.family(family.reshape(prod(shape), -1), prod(shape), self.n_rows)


def random_joint(rng, graph, n_states=2):
    """Return the joint distribution of a network with this graph and clear, random effects."""
    n = len(graph)
    joint = np.ones((n_states,) * n)
    for x, parents in enumerate(graph):
        table = rng.dirichlet(np.full(n_states, 0.7), size=(n_states,) * len(parents)) * 0.96 + 0.04 / n_states
        axes = [*parents, x]
        shape = [n_states if i in axes else 1 for i in range(n)]
        joint = joint * np.transpose(table, np.argsort(axes)).reshape(shape)
    return joint
