"""Best order score search: a graph by looking for the order of its variables.

Once the order is known, every variable has its best parents among those before it, and no cycle can arise. So the
search goes over orders: the score of an order is that of the graph in which grow-shrink finds each variable's parents
(:mod:`tunbridge.learning.grow_shrink`). Each variable in turn is taken out and put where the order scores highest, until
none finds a better place. All places of a variable are scored in one go: as it moves up by one, only its own family and
that of the variable it passes can change, and the trees answer that without a look at the data.

Where single variables no longer help, the order is disturbed and the climb begins again. An order stands for a graph,
and the graph has other orders, and equivalent graphs with orders of their own, all of the same score: one of these is
drawn at random. If that leads to nothing better, the variables of a neighbourhood in the graph also change places among
each other, one, then two, then three of them, and so on until something is gained; a worse order is given up.

The search begins with the variables that the others tell least about: they are more often causes, and what has several
causes comes late. It begins from the start graph instead, if that has arcs beyond the required ones.

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
from dataclasses import dataclass
from itertools import cycle
from typing import ClassVar

import numpy as np

from tunbridge._check import check_whole, counted
from tunbridge.errors import DataError
from tunbridge.learning.grow_shrink import GrowShrinkTrees
from tunbridge.learning.problem import TIE, Graph, Journal, Move, Problem, Search, SearchResult


@dataclass(frozen=True)
class OrderSearch(Search):
    """Search over orders of the variables: slower than hill-climbing, and usually the best score there is.

    Parameters
    ----------
    restarts : int
        How often to begin anew from a random order; what the trees have learned from the data is kept.
    patience : int
        How many times in a row disturbing the order may bring nothing before the search ends; 0 is the plain best order
        score search.
    finish : Search, optional
        A search to end with, from the graph found: ``GES()``, say, for the equivalence search that the paper ends with.
        Its graph is taken if it is better.

    Notes
    -----
    Required arcs hold in every order, forbidden ones are never grown, and a variable with its full number of parents
    grows no more. In the graph found no parent taken out, and no predecessor added, would raise the score.

    A round over n variables takes O(n²) walks of less than a microsecond each; the data are looked at once for each set
    of parents that a walk meets for the first time.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> tb.learn_structure(table, search=tb.OrderSearch(patience=10), random_state=0).n_arcs
    8
    """

    name: ClassVar[str] = "orders"
    restarts: int = 0
    patience: int = 20
    finish: Search | None = None

    def __post_init__(self) -> None:
        check_whole("restarts", self.restarts, low=0)
        check_whole("patience", self.patience, low=0)
        if not (self.finish is None or isinstance(self.finish, Search)):
            raise DataError(f"finish must be a search, or None; got {self.finish!r}. Try HillClimbing() or GES().")

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph of all orders tried; after Ctrl-C the best so far."""
        climb = _OrderClimb(problem)
        try:
            climb.search(restarts=self.restarts, patience=self.patience)
        except KeyboardInterrupt:
            climb.keep_best()
            return climb.result("interrupted: the best graph so far")
        found = climb.result("")
        return found if self.finish is None else _finished(problem, found, self.finish)


class _OrderClimb:
    """A search under way: the present order and its score, the steps to it, and the best graph so far."""

    def __init__(self, problem: Problem) -> None:
        n = problem.n
        self._problem = problem
        self._trees = GrowShrinkTrees(problem)
        self._must_follow = [[x for x in range(n) if v in problem.required[x]] for v in range(n)]
        self._start_score = sum(self._trees.family_score(x, parents) for x, parents in enumerate(problem.start))
        self._journal = Journal(problem.graph_score(problem.start))
        self._at: tuple[np.ndarray, float] = (np.arange(0), -np.inf)
        self._best: tuple[Graph, float, tuple[Move, ...]] = (problem.start, self._start_score, ())

    def search(self, *, restarts: int, patience: int) -> None:
        """Settle from the first order, then from random ones."""
        problem = self._problem
        if problem.n < 2:
            return
        self._begin(self._first_order())
        self._settle(patience)
        for _ in range(restarts):
            self._begin(topological_order(problem.required, problem.rng.random(problem.n)))
            self._settle(patience)

    def result(self, note: str) -> SearchResult:
        """Return the best graph and the steps to it."""
        graph, _, moves = self._best
        return SearchResult(graph, moves, note)

    def keep_best(self) -> None:
        """Remember the present order's graph if it is better than all before."""
        order, score = self._at
        if len(order) and score > self._best[1] + self._tie:
            self._best = (self._trees.along(order)[0], score, tuple(self._journal.moves))

    @property
    def _tie(self) -> float:
        score = self._at[1]
        return TIE * max(1.0, abs(score))

    # Where to begin

    def _first_order(self) -> np.ndarray:
        problem = self._problem
        if problem.start != problem.required:
            return topological_order(problem.start, range(problem.n))
        return topological_order(problem.required, self._trees.associations())

    def _begin(self, order: np.ndarray) -> None:
        """Go to an order; the steps to it begin at the start graph."""
        self._journal.moves.clear()
        self._journal.score = self._problem.graph_score(self._problem.start)
        self._go("order", order, int(order[0]), int(order[-1]), self._start_score)

    def _go(self, kind: str, order: np.ndarray, start: int, end: int, score: float) -> None:
        """Go to an order from where the score was given."""
        new = self._trees.along(order)[1]
        self._at = (order, new)
        self._journal.add(kind, start, end, new - score)

    # Climbing

    def _climb(self) -> None:
        """Put each variable in turn where the order scores highest, until none finds a better place."""
        still = 0
        for v in cycle(self._at[0].tolist()):
            still = 0 if self._reposition(v) else still + 1
            if still == self._problem.n:
                return
            if self._trees.trim():
                self._trees.along(self._at[0])

    def _reposition(self, v: int) -> bool:
        """Put a variable where the order scores highest; return whether it moved."""
        (order, score), tie = self._at, self._tie
        here = int(np.flatnonzero(order == v)[0])
        others = np.delete(order, here)
        low, high = self._bounds(v, others)
        gains = self._trees.places(v, others, low, high)
        gains -= gains[here - low]
        if gains.max() <= tie:
            return False
        best = np.flatnonzero(gains >= gains.max() - tie)
        at = int(best[np.argmin(np.abs(best + low - here))])
        self._at = (np.insert(others, low + at, v), score + float(gains[at]))
        behind = int(others[low + at]) if low + at < len(others) else v
        self._journal.add("reposition", v, behind, float(gains[at]))
        self._problem.tell(f"{counted(len(self._journal.moves), 'move')} of variables", self._journal.score)
        return True

    def _bounds(self, v: int, others: np.ndarray) -> tuple[int, int]:
        """Return the first and last place that a variable can take, between those it must follow and precede."""
        required, following = self._problem.required[v], self._must_follow[v]
        low = 1 + max(np.flatnonzero(np.isin(others, required)), default=-1)
        return int(low), int(min(np.flatnonzero(np.isin(others, following)), default=len(others)))

    # Ways out of a local optimum

    def _settle(self, patience: int) -> None:
        """Climb, then disturb the order and climb again until that has brought nothing so many times in a row."""
        self._climb()
        self.keep_best()
        reference, failed = self._at[1], 0
        while failed < patience:
            before, n_moves = self._at, len(self._journal.moves)
            self._disturb(failed)
            self._climb()
            self.keep_best()
            gain, tie = self._at[1] - reference, self._tie
            failed = 0 if gain > tie else failed + 1
            reference = max(reference, self._at[1]) if gain > tie else reference
            if gain < -tie:
                self._at = before
                self._rewind(n_moves)

    def _rewind(self, n_moves: int) -> None:
        """Forget the last moves."""
        while len(self._journal.moves) > n_moves:
            self._journal.score -= self._journal.moves.pop().gain

    def _disturb(self, size: int) -> None:
        """Go to a random order of an equivalent graph, with ``size`` neighbours shuffled among each other."""
        problem, rng = self._problem, self._problem.rng
        graph, score = self._trees.along(self._at[0])
        order = topological_order(random_equivalent(problem, graph), rng.random(problem.n))
        near = neighbourhood(graph, size, rng)
        places = np.flatnonzero(np.isin(order, near))
        order[places] = rng.permutation(order[places])
        centre = near[0] if near else int(order[0])
        self._go("disturb", topological_order(problem.required, np.argsort(order)), centre, centre, score)


def _finished(problem: Problem, found: SearchResult, search: Search) -> SearchResult:
    """Return what a further search makes of a result, if it is better."""
    score = problem.graph_score(found.graph)
    last = search.run(problem.starting_from(found.graph))
    if problem.graph_score(last.graph) <= score + TIE * max(1.0, abs(score)):
        return found
    return SearchResult(last.graph, found.moves + last.moves, last.note)


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
    if size == 0:
        return []
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
