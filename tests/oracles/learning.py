"""Families scored the slow way: NumPy counts of every family, no shortcut."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from math import prod

import numpy as np

from tunbridge.learning.scores.discrete import Score
from tunbridge.learning.scores.families import Families, Parents


class PlainFamilies(Families):
    """Scores of the families of integer columns (−1: missing), counted row by row."""

    def __init__(self, columns: dict[str, Sequence[int]], score: Score, n_states: dict[str, int] | None = None):
        names = tuple(sorted(columns))
        self.codes = [np.asarray(columns[name]) for name in names]
        self.n_states = [max(1, int(c.max(initial=0)) + 1) for c in self.codes]
        if n_states is not None:
            self.n_states = [n_states[name] for name in names]
        self.criterion = score
        super().__init__(names, float(len(self.codes[0])))

    def _score(self, x: int, parents: Parents) -> float:
        shape = [self.n_states[p] for p in parents]
        table = np.zeros((prod(shape), self.n_states[x]))
        for row in zip(*(self.codes[v] for v in (*parents, x)), strict=True):
            if min(row) >= 0:
                table[int(np.ravel_multi_index(row[:-1], shape)) if parents else 0, row[-1]] += 1
        if table.sum() == 0 and not parents:  # never seen, nothing to explain
            return -float(self.criterion.penalty(1, self.n_states[x], self.n_rows))
        return self.criterion.family(table, prod(shape), self.n_rows)

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        chosen = range(self.n) if candidates is None else candidates
        out = [-np.inf if c == x or c in parents else self.score(x, tuple(sorted((*parents, int(c))))) for c in chosen]
        return np.array(out)


def graph_score(families: Families, parents: Sequence[Parents]) -> float:
    """Return the score of a graph: the sum over its families."""
    return sum(families.score(x, tuple(p)) for x, p in enumerate(parents))


def all_graphs(n: int) -> list[tuple[Parents, ...]]:
    """Return every DAG of n nodes, as the parents of each node."""
    found = set()
    subsets = [[s for k in range(n) for s in combinations([c for c in range(n) if c != x], k)] for x in range(n)]
    for order in permutations(range(n)):
        rank = {x: i for i, x in enumerate(order)}
        below = [[s for s in subsets[x] if all(rank[c] < rank[x] for c in s)] for x in range(n)]
        found.update(product(*below))
    return sorted(found)
