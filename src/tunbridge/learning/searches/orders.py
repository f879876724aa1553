"""Best order score search: find a graph by searching for the order of its variables.

Once the order is known, every variable has its best parents among those before it, and there can be no cycle. So the
search runs over orders: the score of an order is that of the graph in which grow-shrink finds each variable's parents.
Each variable in turn is taken out and put where the order scores highest, until none finds a better place.

The first order is one of the graph that hill-climbing finds from the start graph; this is fast, and leaves the order
search few families to score. When moving single variables no longer helps, the order is disturbed and the climb starts
again. A graph has several orders, and equivalent graphs have orders of their own, all of the same score: one of these
is drawn at random. If that leads to nothing better, two neighbours in the graph swap places, then three are shuffled,
then four, and so on until something is gained; an order that ends worse is dropped. Finally hill-climbing checks
whether a single arc would still help.

**Grow-shrink trees.** *Grow* adds, starting from the required parents, the predecessor that raises the score most,
until none does; *shrink* removes the parent without which the score is highest, until that would lower it. The two
alternate until neither changes anything. What grow does depends on the predecessors only through the first of them in a
list: the variables that raise the score, sorted by how much. The list belongs to the variable and its current parents,
whatever the order is, so a tree keeps it: its root is the variable alone, and a node has a branch for every variable in
its list. One pass over the data makes the list of a node when a walk first reaches it; later walks only look up which
of the listed variables come before. Shrink depends on the parents alone and is stored at the node as well. As a
variable moves up by one place, only its own family and that of the variable it passes can change, so all places of a
variable are scored together, without reading the data.

References
----------
B. Andrews, J. Ramsey, R. Sanchez-Romero, J. Camchong, E. Kummerfeld (2023). Fast scalable and accurate discovery of
DAGs using the best order score search and grow-shrink trees. Advances in Neural Information Processing Systems 36.
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network structures. Uncertainty in
Artificial Intelligence 11, 87-98: covered arcs.
D. Margaritis, S. Thrun (1999). Bayesian network induction via local neighborhoods. Advances in Neural Information
Processing Systems 12, 505-511.
N. Mladenović, P. Hansen (1997). Variable neighborhood search. Computers & Operations Research 24, 1097-1100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import ClassVar, NamedTuple

import numpy as np

from tunbridge._core.check import check_integer, counted
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import search
from tunbridge.graph import walks
from tunbridge.learning.scores.families import Parents
from tunbridge.learning.searches.hill_climbing import HillClimbing
from tunbridge.learning.searches.problem import INTERRUPTED, TIE, Graph, Journal, Move, Problem, Search, SearchResult

_MOST_BYTES = 2**30
_NODE_BYTES, _CANDIDATE_BYTES = 600, 16
_FIRST_ROOM = 64


@search("orders", rank=3)
@dataclass(frozen=True)
class OrderSearch(Search):
    """Search over orders of the variables: slower than hill-climbing, usually with the best score.

    Parameters
    ----------
    restarts : int
        How many times to start again from a random order; the families scored so far are kept.
    patience : int
        Stop after disturbing the order this many times in a row without a better graph; 0 for the plain best order
        score search.

    Notes
    -----
    All orders satisfy the required arcs; forbidden arcs, and arcs beyond ``max_parents``, are never added. No single
    arc added, removed or reversed would raise the score of the result. Parents that are informative only together, as
    two bits are of their parity, can be missed: parents are added one at a time.

    A round over n variables takes O(n²) walks of less than a microsecond each; the data are read once for each new set
    of parents.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> tb.learn_structure(table, search=tb.OrderSearch(patience=5), random_state=0).n_arcs
    8
    """

    uses_start: ClassVar[bool] = False
    restarts: int = 0
    patience: int = 10

    def __post_init__(self) -> None:
        check_integer("restarts", self.restarts, low=0)
        check_integer("patience", self.patience, low=0)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph of all orders tried."""
        climb, note = _OrderClimb(problem, self.patience), ""
        try:
            climb.search(self.restarts)
        except KeyboardInterrupt:
            climb.keep_best()
            note = INTERRUPTED
        return SearchResult(climb.best.graph, climb.best.moves, note)


class _Found(NamedTuple):
    """A graph, its score, and the moves that led to it."""

    graph: Graph
    score: float
    moves: tuple[Move, ...]


class _Place(NamedTuple):
    """An order and its score."""

    order: np.ndarray
    score: float


class _OrderClimb:
    """The state of a search: the current order, the moves to it, and the best graph so far."""

    def __init__(self, problem: Problem, patience: int) -> None:
        n = problem.n
        self._problem, self._patience = problem, patience
        self._journal = Journal(problem.graph_score(problem.start))
        self._start = self.best = _Found(problem.start, self._journal.score, ())
        self._at = _Place(np.empty(0, np.int64), -np.inf)
        self._trees = _GrowShrinkTrees(problem)
        self._followers = [[x for x in range(n) if v in problem.required[x]] for v in range(n)]

    def search(self, restarts: int) -> None:
        """Search from the graph of hill-climbing and from random orders, as long as single arcs still help."""
        problem = self._problem
        self._climb_by_arcs()
        if problem.n < 2:
            return
        self._search_from(self.best, topological_order(self.best.graph, range(problem.n)))
        for _ in range(restarts):
            self._search_from(self._start, topological_order(problem.required, problem.rng.random(problem.n)))
        while self._climb_by_arcs():
            self._search_from(self.best, topological_order(self.best.graph, range(problem.n)))

    def keep_best(self) -> None:
        """Store the graph of the current order if it is the best so far."""
        order, score = self._at
        if score > self.best.score + _tie_of(self.best.score):
            self.best = _Found(self._trees.along(order)[0], score, tuple(self._journal.moves))

    def _climb_by_arcs(self) -> bool:
        """Climb from the best graph by single arcs; return whether that made it better."""
        before = self.best
        found = HillClimbing().run(self._problem.starting_from(before.graph))
        score = self._problem.graph_score(found.graph)
        if score > before.score + _tie_of(before.score):
            began = before.moves[-1].seconds if before.moves else 0.0
            moves = tuple(replace(move, seconds=began + move.seconds) for move in found.moves)
            self.best = _Found(found.graph, score, before.moves + moves)
        if found.note:
            raise KeyboardInterrupt  # hill-climbing caught it; end the whole search
        return self.best is not before

    # Climbing by variables

    def _go(self, kind: str, start: int, end: int, order: np.ndarray) -> None:
        """Change to an order and record that as a move."""
        score = self._trees.along(order)[1]
        self._journal.add(kind, start, end, score - self._at.score)
        self._at = _Place(order, score)

    def _climb(self) -> None:
        """Put each variable in turn where the order scores highest, until none finds a better place."""
        still = 0
        for v in cycle(self._at.order.tolist()):
            still = 0 if self._reposition(v) else still + 1
            if still == self._problem.n:
                break
            if self._trees.trim():
                self._trees.along(self._at.order)
        self.keep_best()

    def _reposition(self, v: int) -> bool:
        """Put a variable where the order scores highest; return whether it moved."""
        order, score = self._at
        here = int(np.flatnonzero(order == v)[0])
        others = np.delete(order, here)
        low, high = self._bounds(v, others)
        gains = self._trees.places(v, others, low, high)
        gains -= gains[here - low]
        tie = _tie_of(score)
        if gains.max() <= tie:
            return False
        best = low + np.flatnonzero(gains >= gains.max() - tie)
        place = int(best[np.argmin(np.abs(best - here))])
        gain = float(gains[place - low])
        behind = int(others[place]) if place < len(others) else v
        self._at = _Place(np.insert(others, place, v), score + gain)
        self._journal.add("reposition", v, behind, gain)
        self._problem.tell(counted(len(self._journal.moves), "move"), self._journal.score)
        return True

    def _bounds(self, v: int, others: np.ndarray) -> tuple[int, int]:
        """Return the first and last place for a variable: after its required parents, before its required children."""
        behind = np.flatnonzero(np.isin(others, self._problem.required[v]))
        before = np.flatnonzero(np.isin(others, self._followers[v]))
        return int(behind.max(initial=-1)) + 1, int(before.min(initial=len(others)))

    # Leaving a local optimum

    def _search_from(self, start: _Found, order: np.ndarray) -> None:
        """Climb from an order, then disturb it and climb again, until that fails ``patience`` times in a row."""
        self._journal.moves[:], self._journal.score = start.moves, start.score
        self._at = _Place(order, start.score)
        self._go("order", int(order[0]), int(order[-1]), order)
        self._climb()
        best, failed = self._at.score, 0
        while failed < self._patience:
            before, n_moves = self._at, len(self._journal.moves)
            self._disturb(failed)
            self._climb()
            gain, tie = self._at.score - best, _tie_of(best)
            failed = 0 if gain > tie else failed + 1
            best = max(best, self._at.score)
            if gain < -tie:
                self._at = before
                self._rewind(n_moves)

    def _rewind(self, n_moves: int) -> None:
        """Undo all moves but the first ``n_moves``."""
        while len(self._journal.moves) > n_moves:
            self._journal.score -= self._journal.moves.pop().gain

    def _disturb(self, strength: int) -> None:
        """Change to a random order of an equivalent graph; with strength k shuffle k + 1 neighbours instead."""
        problem, rng, order = self._problem, self._problem.rng, self._at.order.copy()
        graph = self._trees.along(order)[0]
        near = _neighbourhood(graph, strength + 1, rng)
        if strength == 0:
            order = topological_order(_random_equivalent(problem, graph), rng.random(problem.n))
        else:
            places = np.flatnonzero(np.isin(order, near))
            order[places] = rng.permutation(order[places])
            order = topological_order(problem.required, np.argsort(order))
        self._go("disturb", near[0], near[-1], order)


def topological_order(graph: Graph, key: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the nodes with parents before children; among those that could come next, the smallest key first.

    Examples
    --------
    >>> topological_order(((), (0,), ()), [1.0, 0.0, 2.0]).tolist()
    [0, 1, 2]
    """
    order = np.argsort(key, kind="stable")
    rank = np.argsort(order).tolist()
    parents = [[rank[p] for p in graph[x]] for x in order]
    children: list[list[int]] = [[] for _ in graph]
    for x, own in enumerate(parents):
        for p in own:
            children[p].append(x)
    return order[walks.topological_order(parents, children)]


def _random_equivalent(problem: Problem, graph: Graph) -> Graph:
    """Return an equivalent graph, by reversing covered arcs at random.

    An arc is covered when its two nodes have otherwise the same parents; reversing such arcs leads to all equivalent
    graphs and to no others. The result satisfies the constraints.
    """
    parents, rng = [set(own) for own in graph], problem.rng
    arcs = [(p, x) for x, own in enumerate(graph) for p in own]
    for i in np.concatenate([rng.permutation(len(arcs)) for _ in range(3)]).tolist():
        p, x = arcs[i]
        covered = parents[x] == parents[p] | {p}
        if covered and rng.random() < 0.5 and _can_turn(problem, p, x, len(parents[p])):
            parents[x].discard(p)
            parents[p].add(x)
            arcs[i] = (x, p)
    return tuple(tuple(sorted(own)) for own in parents)


def _can_turn(problem: Problem, start: int, end: int, n_parents: int) -> bool:
    """Return whether an arc may be reversed, given the number of parents of its start."""
    allowed = problem.is_allowed(end, start) and start not in problem.required[end]
    return allowed and n_parents < problem.max_parents[start]


def _neighbourhood(graph: Graph, size: int, rng: np.random.Generator) -> list[int]:
    """Return up to ``size`` nodes near a random one, nearest first, ignoring the direction of arcs."""
    joined: list[set[int]] = [set(parents) for parents in graph]
    for x, parents in enumerate(graph):
        for p in parents:
            joined[p].add(x)
    found = [int(rng.integers(len(graph)))]
    for node in found:
        if len(found) >= size:
            break
        new = sorted(joined[node] - set(found))
        found += rng.permutation(np.array(new, np.int64)).tolist()
    return found[:size]


# Grow-shrink trees


class _GrowShrinkTrees:
    """The grow-shrink trees of all variables, filled from the data when a walk needs them.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    most_bytes : int
        The size above which :meth:`trim` empties the trees.
    """

    def __init__(self, problem: Problem, *, most_bytes: int = _MOST_BYTES) -> None:
        n = problem.n
        check_memory(
            f"which of {n} variables depend on which",
            float(n * n),
            ways_out="Use search='sparse-candidate', which keeps a few candidates for each variable.",
        )
        self._problem, self._most_bytes = problem, most_bytes
        self._need = np.empty(2, np.int64)
        self._ever = np.zeros((n, n), np.bool_)
        self._clear()

    def _clear(self) -> None:
        """Keep only the roots."""
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

    def family_score(self, x: int, parents: Parents) -> float:
        """Return the score of a family; 0 for a variable that cannot be scored, such as an empty column."""
        families = self._problem.families
        return families.score(x, parents) if families.score(x, self._problem.required[x]) > -np.inf else 0.0

    def along(self, order: np.ndarray) -> tuple[Graph, float]:
        """Return the graph that grow-shrink finds along an order, and its score."""
        from tunbridge.kernels.learning.orders import walk_order

        n = len(order)
        rank, nodes, reached = np.argsort(order), np.empty(n, np.int64), 0
        while (reached := walk_order(order, reached, rank, self._trees, nodes, self._need)) < n:
            self._fill()
        return tuple(self._families[node][1] for node in nodes.tolist()), float(self._score[nodes].sum())

    def places(self, v: int, others: np.ndarray, low: int, high: int) -> np.ndarray:
        """Return the score of the order of the others with v put before others[low], ..., others[high].

        The scores are correct up to a constant. :meth:`along` must have been called for the current order.
        """
        from tunbridge.kernels.learning.orders import walk_places

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
        """Empty the trees if they are too large; return whether that happened."""
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
        """Return the node of a family; add it if there is none."""
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
        """Compute what the last walk needed."""
        from tunbridge.kernels.learning.orders import GROWTH, SHRINKAGE

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
        scores, tie = problem.families.additions(x, parents), _tie_of(self._score[node])
        better = scores > self._score[node] + tie
        if problem.allowed is not None:
            better &= problem.allowed[:, x]
        found = np.flatnonzero(better)
        found = found[_ranked(scores[found], tie)]
        return found, scores[found]

    def _shrink(self, node: int) -> None:
        """Find the node without the parents that lower the score."""
        x, parents = self._families[node]
        score = float(self._score[node])
        while (i := self._worst(x, parents, score)) is not None:
            parents = parents[:i] + parents[i + 1 :]
            score = self._problem.families.score(x, parents)
        self._shrunk[node] = self._node(x, parents, score)

    def _worst(self, x: int, parents: Parents, score: float) -> int | None:
        """Return the index of the parent without which the score is highest; None if no parent should be removed."""
        required, tie = self._problem.required[x], _tie_of(score)
        if len(parents) == len(required):
            return None
        scores = self._problem.families.removals(x, parents)
        scores[[p in required for p in parents]] = -np.inf
        i = int(np.argmax(scores >= scores.max() - tie))
        return i if scores[i] > score + tie else None


def _tie_of(score: float) -> float:
    """Return the difference below which a score counts as equal to this one."""
    return TIE * max(1.0, abs(float(score))) if score > -np.inf else 0.0


def _ranked(scores: np.ndarray, tie: float) -> np.ndarray:
    """Return the indices of the scores, highest first; ties keep their order."""
    order = np.argsort(-scores, kind="stable")
    drops = -np.diff(scores[order]) > tie
    if drops.all():
        return order
    group = np.concatenate([[0], np.cumsum(drops)])
    return order[np.lexsort((order, group))]


def _doubled(array: np.ndarray, fill: float) -> np.ndarray:
    return np.concatenate([array, np.full_like(array, fill)])
