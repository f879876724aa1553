"""Best order score search: a graph by looking for the order of its variables.

Once the order is known, every variable has its best parents among those before it, and no cycle can arise. So the
search goes over orders: the score of an order is that of the graph in which grow-shrink finds each variable's parents
(:mod:`tunbridge.learning.grow_shrink`). Each variable in turn is taken out and put where the order scores highest,
until none finds a better place. All places of a variable are scored in one go: as it moves up by one, only its own
family and that of the variable it passes can change, and the trees answer that without a look at the data.

The first order is one of the graph that hill-climbing finds from the start graph; this is quick, and leaves the order
search with few families to look at. Where single variables no longer help, the order is disturbed and the climb begins
again. An order stands for a graph, and the graph has other orders, and equivalent graphs with orders of their own, all
of the same score: one of these is drawn at random. If that leads to nothing better, two neighbours in the graph change
places, then three, then four, and so on until something is gained; an order that ends worse is given up. At last
hill-climbing looks whether a single arc would still help.

References
----------
B. Andrews, J. Ramsey, R. Sanchez-Romero, J. Camchong, E. Kummerfeld (2023). Fast scalable and accurate discovery of
DAGs using the best order score search and grow-shrink trees. Advances in Neural Information Processing Systems 36.
D. M. Chickering (1995). A transformational characterization of equivalent Bayesian network structures. Uncertainty in
Artificial Intelligence 11, 87-98: covered arcs.
N. Mladenović, P. Hansen (1997). Variable neighborhood search. Computers & Operations Research 24, 1097-1100.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import ClassVar, NamedTuple

import numpy as np

from tunbridge._check import check_whole, counted
from tunbridge.learning.grow_shrink import GrowShrinkTrees, tie_of
from tunbridge.learning.hill_climbing import HillClimbing
from tunbridge.learning.problem import Graph, Journal, Move, Problem, Search, SearchResult


@dataclass(frozen=True)
class OrderSearch(Search):
    """Search over orders of the variables: slower than hill-climbing, and as a rule the best score.

    Parameters
    ----------
    restarts : int
        How often to begin anew from a random order; what the trees know of the data is kept.
    patience : int
        How many times in a row disturbing the order may bring nothing before the search ends; 0 for the plain best
        order score search.

    Notes
    -----
    Required arcs hold in every order, forbidden ones are never grown, and a variable with its full number of parents
    grows no more. In the graph found no arc more, less or turned round would raise the score. Parents that tell
    something only together, as two bits do of their parity, can be missed: they are added one at a time.

    A round over n variables takes O(n²) walks of less than a microsecond each; the data are looked at once for each set
    of parents that a walk meets for the first time.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> tb.learn_structure(table, search=tb.OrderSearch(patience=5), random_state=0).n_arcs
    8
    """

    name: ClassVar[str] = "orders"
    restarts: int = 0
    patience: int = 10

    def __post_init__(self) -> None:
        check_whole("restarts", self.restarts, low=0)
        check_whole("patience", self.patience, low=0)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph of all orders tried; after Ctrl-C the best so far."""
        climb, note = _OrderClimb(problem, self.patience), ""
        try:
            climb.search(self.restarts)
        except KeyboardInterrupt:
            climb.keep_best()
            note = "interrupted: the best graph so far"
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
    """A search under way: the present order, the moves to it, and the best graph so far."""

    def __init__(self, problem: Problem, patience: int) -> None:
        n = problem.n
        self._problem, self._patience = problem, patience
        self._journal = Journal(problem.graph_score(problem.start))
        self._start = self.best = _Found(problem.start, self._journal.score, ())
        self._at = _Place(np.empty(0, np.int64), -np.inf)
        self._trees = GrowShrinkTrees(problem)
        self._followers = [[x for x in range(n) if v in problem.required[x]] for v in range(n)]

    def search(self, restarts: int) -> None:
        """Settle near the graph of hill-climbing and near random orders; see whether single arcs would still help."""
        problem = self._problem
        self._climb_by_arcs()
        if problem.n < 2:
            return
        self._settle(self.best, topological_order(self.best.graph, range(problem.n)))
        for _ in range(restarts):
            self._settle(self._start, topological_order(problem.required, problem.rng.random(problem.n)))
        while self._climb_by_arcs():
            self._settle(self.best, topological_order(self.best.graph, range(problem.n)))

    def keep_best(self) -> None:
        """Remember the graph of the present order if it is better than all before."""
        order, score = self._at
        if score > self.best.score + tie_of(self.best.score):
            self.best = _Found(self._trees.along(order)[0], score, tuple(self._journal.moves))

    def _climb_by_arcs(self) -> bool:
        """Climb from the best graph by single arcs; return whether that made it better."""
        before = self.best
        found = HillClimbing().run(self._problem.starting_from(before.graph))
        score = self._problem.graph_score(found.graph)
        if score > before.score + tie_of(before.score):
            began = before.moves[-1].seconds if before.moves else 0.0
            moves = tuple(replace(move, seconds=began + move.seconds) for move in found.moves)
            self.best = _Found(found.graph, score, before.moves + moves)
        if found.note:
            raise KeyboardInterrupt  # it was caught there; the search as a whole ends, too
        return self.best is not before

    # Climbing by variables

    def _go(self, kind: str, start: int, end: int, order: np.ndarray) -> None:
        """Go to an order and note that as a move."""
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
        tie = tie_of(score)
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
        """Return the first and last place for a variable: behind its required parents, before those that require it."""
        behind = np.flatnonzero(np.isin(others, self._problem.required[v]))
        before = np.flatnonzero(np.isin(others, self._followers[v]))
        return int(behind.max(initial=-1)) + 1, int(before.min(initial=len(others)))

    # Ways out of a local optimum

    def _settle(self, start: _Found, order: np.ndarray) -> None:
        """Climb from an order, then disturb it and climb again, until that has failed too many times in a row."""
        self._journal.moves[:], self._journal.score = start.moves, start.score
        self._at = _Place(order, start.score)
        self._go("order", int(order[0]), int(order[-1]), order)
        self._climb()
        best, failed = self._at.score, 0
        while failed < self._patience:
            before, n_moves = self._at, len(self._journal.moves)
            self._disturb(failed)
            self._climb()
            gain, tie = self._at.score - best, tie_of(best)
            failed = 0 if gain > tie else failed + 1
            best = max(best, self._at.score)
            if gain < -tie:
                self._at = before
                self._rewind(n_moves)

    def _rewind(self, n_moves: int) -> None:
        """Take back all moves but the first so many."""
        while len(self._journal.moves) > n_moves:
            self._journal.score -= self._journal.moves.pop().gain

    def _disturb(self, strength: int) -> None:
        """Go to a random order of an equivalent graph; with more strength shuffle so many neighbours and one more."""
        problem, rng, order = self._problem, self._problem.rng, self._at.order.copy()
        graph = self._trees.along(order)[0]
        near = neighbourhood(graph, strength + 1, rng)
        if strength == 0:
            order = topological_order(random_equivalent(problem, graph), rng.random(problem.n))
        else:
            places = np.flatnonzero(np.isin(order, near))
            order[places] = rng.permutation(order[places])
            order = topological_order(problem.required, np.argsort(order))
        self._go("disturb", near[0], near[-1], order)


def topological_order(graph: Graph, key: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the nodes with parents before children; of those that could come next the one with the smallest key.

    Examples
    --------
    >>> topological_order(((), (0,), ()), [1.0, 0.0, 2.0]).tolist()
    [0, 1, 2]
    """
    children: list[list[int]] = [[] for _ in graph]
    waiting = [len(parents) for parents in graph]
    for x, parents in enumerate(graph):
        for p in parents:
            children[p].append(x)
    ready = [(key[x], x) for x, n_parents in enumerate(waiting) if n_parents == 0]
    heapq.heapify(ready)
    order = np.empty(len(graph), np.int64)
    for i in range(len(graph)):
        _, order[i] = _, x = heapq.heappop(ready)
        for child in children[x]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, (key[child], child))
    return order


def random_equivalent(problem: Problem, graph: Graph) -> Graph:
    """Return a graph with the same independences, by turning covered arcs at random.

    An arc is covered when both its nodes have otherwise the same parents; turning such arcs leads to all equivalent
    graphs and to no others. What the constraints do not allow is left alone.
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
    """Return whether an arc may be turned round, given the number of its start's parents."""
    allowed = problem.is_allowed(end, start) and start not in problem.required[end]
    return allowed and n_parents < problem.max_parents[start]


def neighbourhood(graph: Graph, size: int, rng: np.random.Generator) -> list[int]:
    """Return up to ``size`` nodes near a random one, nearest first, the direction of arcs apart."""
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
