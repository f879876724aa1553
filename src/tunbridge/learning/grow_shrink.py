"""Grow-shrink trees: the best parents of a variable among its predecessors, without a look at the data.

*Grow* adds, from the parents that a variable must have, the predecessor that raises the score most, until none does;
*shrink* takes out the parent without which the score is highest, until that would lower it. Here the two take turns
until neither finds anything to do, so that no single parent more or less would be better.

What grow does depends on the predecessors only through the first of them in a list: the variables that raise the score,
sorted by how much. The list belongs to the variable and its present parents, whatever the order is. So a tree keeps it:
its root is the variable alone, and a node has a branch for every variable in its list. One pass over the data makes the
list of a node, when a walk first comes there; later walks, for other orders, only look up which of the listed
variables come before. Shrink depends on the parents alone and is kept at the node as well. A set of parents that is
reached on several ways is one node.

References
----------
B. Andrews, J. Ramsey, R. Sanchez-Romero, J. Camchong, E. Kummerfeld (2023). Fast scalable and accurate discovery of
DAGs using the best order score search and grow-shrink trees. Advances in Neural Information Processing Systems 36,
section 3.
D. Margaritis, S. Thrun (1999). Bayesian network induction via local neighborhoods. Advances in Neural Information
Processing Systems 12, 505-511.
"""

from __future__ import annotations

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.learning.families import Parents
from tunbridge.learning.problem import TIE, Graph, Problem

_MOST_BYTES = 2**30
_NODE_BYTES, _CANDIDATE_BYTES = 600, 16
_FIRST_ROOM = 64


class GrowShrinkTrees:
    """The trees of all variables, filled in from the data where walks come.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    most_bytes : int
        How large the trees may grow before :meth:`trim` empties them.
    """

    def __init__(self, problem: Problem, *, most_bytes: int = _MOST_BYTES) -> None:
        n = problem.n
        check_memory(
            f"which of {n} variables matter to which",
            float(n * n),
            ways_out="Use search='sparse-candidate', which keeps a few candidates for each variable.",
        )
        self._problem, self._most_bytes = problem, most_bytes
        self._need = np.empty(2, np.int64)
        self._ever = np.zeros((n, n), np.bool_)
        self._clear()

    def _clear(self) -> None:
        """Leave nothing but the roots."""
        n, problem = self._problem.n, self._problem
        room = max(_FIRST_ROOM, 2 * n)
        self._ever[:] = False
        self._families: list[tuple[int, Parents]] = []
        self._node_of: dict[tuple[int, Parents], int] = {}
        self._first, self._count = np.zeros(room, np.int64), np.full(room, -1, np.int32)
        self._shrunk, self._score = np.full(room, -1, np.int32), np.zeros(room)
        self._n_candidates = 0
        self._candidate, self._child = np.zeros(room, np.int32), np.zeros(room, np.int32)
        self._raised = np.zeros(room)
        for x in range(n):
            self._node(x, problem.required[x], self.family_score(x, problem.required[x]))

    # Questions

    def family_score(self, x: int, parents: Parents) -> float:
        """Return the score of a family; 0 for a variable that cannot be scored at all, a column without values say."""
        families = self._problem.families
        return families.score(x, parents) if families.score(x, self._problem.required[x]) > -np.inf else 0.0

    def along(self, order: np.ndarray) -> tuple[Graph, float]:
        """Return the graph that grow-shrink finds along an order, and its score."""
        from tunbridge.kernels.orders import walk_order

        n = len(order)
        rank, nodes, reached = np.argsort(order), np.empty(n, np.int64), 0
        while (reached := walk_order(order, reached, rank, self._trees, nodes, self._need)) < n:
            self._fill()
        return tuple(self._families[node][1] for node in nodes.tolist()), float(self._score[nodes].sum())

    def places(self, v: int, others: np.ndarray, low: int, high: int) -> np.ndarray:
        """Return the score of the order of the others with v put before others[low], ..., others[high].

        The scores are right up to a constant. The present order, v at any of these places, must have been walked along.
        """
        from tunbridge.kernels.orders import walk_places

        rank, reached = np.empty(len(others) + 1, np.int64), low
        rank[others] = np.arange(len(others))
        own, change = np.empty(len(others) + 1), np.empty(len(others))
        while reached <= high:
            kept = (self._trees, self._score, self._ever)
            reached = walk_places(v, others, low, reached, high, rank, *kept, own, change, self._need)
            if reached <= high:
                self._fill()
        found = own[low : high + 1]
        found[1:] += np.cumsum(change[low:high])
        return found

    def trim(self) -> bool:
        """Empty the trees if they are too large; return whether they were."""
        n_bytes = _NODE_BYTES * len(self._families) + _CANDIDATE_BYTES * self._n_candidates
        if n_bytes <= self._most_bytes:
            return False
        self._clear()
        return True

    # Nodes

    @property
    def _trees(self) -> tuple[np.ndarray, ...]:
        return self._first, self._count, self._shrunk, self._candidate, self._child

    def _node(self, x: int, parents: Parents, score: float) -> int:
        """Return the node of a family, a new one if there is none."""
        node = self._node_of.get((x, parents))
        if node is None:
            node = len(self._families)
            if node == len(self._score):
                self._first, self._score = _doubled(self._first, 0), _doubled(self._score, 0.0)
                self._count, self._shrunk = _doubled(self._count, -1), _doubled(self._shrunk, -1)
            self._score[node] = score
            self._families.append((x, parents))
            self._node_of[x, parents] = node
        return node

    def _fill(self) -> None:
        """Fill in what the last walk needed."""
        from tunbridge.kernels.orders import GROWTH, SHRINKAGE

        node, what = self._need.tolist()
        if what == GROWTH:
            self._grow(node)
        elif what == SHRINKAGE:
            self._shrink(node)
        else:
            x, parents = self._families[node]
            larger = tuple(sorted((*parents, int(self._candidate[what]))))
            child = self._node(x, larger, float(self._raised[what]))
            if self._count[child] < 0:  # the walk goes there next
                self._grow(child)
            self._child[what] = child

    def _grow(self, node: int) -> None:
        """Make the list of a node: the variables that raise the score, the best first."""
        found, scores = self._better(node)
        start, end = self._n_candidates, self._n_candidates + len(found)
        while end > len(self._child):
            self._candidate, self._child = _doubled(self._candidate, 0), _doubled(self._child, 0)
            self._raised = _doubled(self._raised, 0.0)
        self._candidate[start:end], self._raised[start:end], self._child[start:end] = found, scores, -1
        self._n_candidates = end
        self._ever[self._families[node][0], found] = True
        self._first[node] = start
        self._count[node] = len(found)

    def _better(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the variables that raise the score of a node when added, the best first, and the scores with them."""
        (x, parents), problem = self._families[node], self._problem
        if len(parents) >= problem.max_parents[x]:
            return np.empty(0, np.int64), np.empty(0)
        scores, tie = problem.families.additions(x, parents), tie_of(self._score[node])
        better = scores > self._score[node] + tie
        if problem.allowed is not None:
            better &= problem.allowed[:, x]
        found = np.flatnonzero(better)
        found = found[_ranked(scores[found], tie)]
        return found, scores[found]

    def _shrink(self, node: int) -> None:
        """Find the node without the parents that hurt."""
        x, parents = self._families[node]
        score = float(self._score[node])
        while (i := self._worst(x, parents, score)) is not None:
            parents = parents[:i] + parents[i + 1 :]
            score = self._problem.families.score(x, parents)
        self._shrunk[node] = self._node(x, parents, score)

    def _worst(self, x: int, parents: Parents, score: float) -> int | None:
        """Return the place of the parent without which the score is highest; None if none should leave."""
        required, tie = self._problem.required[x], tie_of(score)
        if len(parents) == len(required):
            return None
        scores = self._problem.families.removals(x, parents)
        scores[[p in required for p in parents]] = -np.inf
        i = int(np.argmax(scores >= scores.max() - tie))
        return i if scores[i] > score + tie else None


def tie_of(score: float) -> float:
    """Return the difference below which a score counts as equal to this one."""
    return TIE * max(1.0, abs(float(score))) if score > -np.inf else 0.0


def _ranked(scores: np.ndarray, tie: float) -> np.ndarray:
    """Return the places of the scores, the highest first; of those that are as good as equal the first comes first."""
    order = np.argsort(-scores, kind="stable")
    drops = -np.diff(scores[order]) > tie
    if drops.all():
        return order
    group = np.concatenate([[0], np.cumsum(drops)])
    return order[np.lexsort((order, group))]


def _doubled(array: np.ndarray, fill: float) -> np.ndarray:
    return np.concatenate([array, np.full_like(array, fill)])
