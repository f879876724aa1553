"""A graph that is changed one arc at a time, with the gain of every legal move kept up to date.

:class:`Climber` finds and makes the best move; :class:`ArcSearch` is the base class of the searches that use it, with
restarts and Ctrl-C.

At the start most arcs gain the same in both directions, and the choice decides how good the result will be. If
C → X ← B is true, adding X → C first leads to X → B too, and then to an arc between B and C that does not exist;
adding C → X does no harm. So of two directions with equal gain the one is taken whose child gains more from further
parents *because of* this one: the sum over all B of what B gains in addition to what it gained before. If that is equal
too, the names decide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge.graph.walks import closure
from tunbridge.kernels.compiled import is_compiled
from tunbridge.kernels.learning.climbing import ArcGraph, Gains, Limits, best_move
from tunbridge.learning.scores.families import Parents
from tunbridge.learning.searches.problem import INTERRUPTED, TIE, Graph, Journal, Problem, Search, SearchResult

_KINDS = ("add", "remove", "reverse")
_PATIENT_NODES = 40
"""Up to this many nodes the best move is found in plain Python until the kernels have been compiled."""
_FIRST_ROOM = 8
_MOVES_PER_REPORT = 16
_TRIES_PER_MOVE = 50


class ArcSearch(Search):
    """Base class of the searches that change one arc at a time.

    Attributes
    ----------
    restarts : int
        How many times to search again: first from the start graph, with ties between the two directions of an arc
        broken by name, then from the best graph after random moves.
    disturb : int, optional
        The number of random moves of a restart; default: a tenth of the variables, at least five.
    """

    restarts: int
    disturb: int | None = None

    @abstractmethod
    def climb(self, climber: Climber) -> None:
        """Change the graph until the search ends; the climber keeps the best graph."""

    def run(self, problem: Problem, candidates: np.ndarray | None = None) -> SearchResult:
        """Return the best graph of all climbs, with parents from the candidates (see :class:`Climber`) only."""
        climber: Climber | None = None
        note = ""
        try:
            climber = Climber(problem, candidates)
            self.climb(climber)
            for i in range(self.restarts):
                climber.prefers_synergy = False
                climber.restart(problem.start if i == 0 else climber.best_graph)
                if i > 0:
                    climber.make_random_moves(self.disturb or max(5, problem.n // 10))
                self.climb(climber)
        except KeyboardInterrupt:
            note = INTERRUPTED
            if climber is None:
                return SearchResult(problem.start, (), note)
        return SearchResult(climber.best_graph, tuple(climber.journal.moves), note)


class _Step(NamedTuple):
    """A legal move and its gain."""

    kind: str
    start: int
    end: int
    gain: float


class Climber:
    """A graph that is changed one arc at a time, and the gain of every legal move.

    Parameters
    ----------
    problem : Problem
        Scores, constraints and start graph.
    candidates : ndarray of shape (n, k), optional
        The candidate parents of each node, ascending, with −1 in front of short lists; default: all other nodes.
    """

    def __init__(self, problem: Problem, candidates: np.ndarray | None = None) -> None:
        n, width = problem.n, problem.n if candidates is None else candidates.shape[1]
        check_memory(
            f"the gains of all arcs among {n} variables",
            32.0 * n * width,
            ways_out="Use search='sparse-candidate', which keeps a few candidates for each variable.",
        )
        self.problem = problem
        self.candidates = np.empty((0, 0), np.int64) if candidates is None else candidates
        self._adds = np.full((n, width), -np.inf)
        self._scores = np.zeros(n)
        self._tabu = np.empty((0, 2), np.int64)
        self._ahead: dict[tuple[int, Parents], np.ndarray] = {}
        self.prefers_synergy = True
        self._dirty = np.ones(n, bool)
        self._best = (np.full(n, -np.inf), np.full(n, -1))
        self._mark, self._stack = np.zeros(n + 1, np.int64), np.empty(max(1, n), np.int64)
        self._move = np.empty(3, np.int64)
        self._set_graph(problem.start)
        self.journal = Journal(self.score)
        self.best_graph, self.best_score = self.graph, self.score

    # The graph

    @property
    def graph(self) -> Graph:
        """The parents of every node."""
        return tuple(self._graph)

    def _set_graph(self, graph: Graph) -> None:
        """Compute everything for another graph."""
        n = self.problem.n
        room = max(_FIRST_ROOM, *(len(parents) for parents in graph)) if n else _FIRST_ROOM
        self._graph = list(graph)
        self._parents, self._n_parents = np.zeros((n, room), np.int64), np.zeros(n, np.int64)
        self._removes = np.full((n, room), -np.inf)
        self._first_child, self._children = np.empty(n + 1, np.int64), np.empty(max(1, n * room), np.int64)
        for x in range(n):
            self._rescore(x)
        self._dirty[:] = True
        self._sum_up()

    def _sum_up(self) -> None:
        """Compute the score, and the difference below which two scores count as equal."""
        self.score = float(self._scores.sum())
        self.tie = TIE * max(1.0, float(np.abs(self._scores).sum()))

    def _rescore(self, x: int) -> None:
        """Update the gains of the moves into a node."""
        parents, families = self._graph[x], self.problem.families
        if len(parents) > self._parents.shape[1]:
            self._make_room()
        k = len(parents)
        self._parents[x, :k], self._n_parents[x] = parents, k
        self._adds[x] = self._gains(x, parents)
        own = self._scores[x] = families.score(x, parents)
        self._adds[x] -= own
        if k:
            self._removes[x, :k] = families.removals(x, parents) - own
            for required in self.problem.required[x]:
                self._removes[x, parents.index(required)] = -np.inf
        self._dirty[x] = True

    def _gains(self, x: int, parents: Parents) -> np.ndarray:
        """Return the scores with each candidate added, −inf where it is not allowed."""
        problem = self.problem
        if (x, parents) in self._ahead:
            return self._ahead.pop((x, parents))
        if len(parents) >= problem.max_parents[x]:
            return np.full(self._adds.shape[1], -np.inf)
        if not len(self.candidates):
            found = problem.families.additions(x, parents)
            return found if problem.allowed is None else np.where(problem.allowed[:, x], found, -np.inf)
        row = self.candidates[x]
        out, real = np.full(len(row), -np.inf), row >= 0
        if problem.allowed is not None:
            real &= problem.allowed[row, x]
        out[real] = problem.families.additions_of(x, parents, row[real])
        return out

    def _make_room(self) -> None:
        room = self._parents.shape[1]
        self._parents = np.pad(self._parents, ((0, 0), (0, room)))
        self._removes = np.pad(self._removes, ((0, 0), (0, room)), constant_values=-np.inf)
        self._children = np.empty(self._parents.size, np.int64)

    # Moves

    def best(self, needed: float = np.inf) -> _Step | None:
        """Return the best legal move; a move of a tabu pair only if it gains more than ``needed``."""
        n = self.problem.n
        if n <= _PATIENT_NODES and not is_compiled(best_move):
            return self._best_of_all(needed)
        children = (self._first_child, self._children)
        graph = ArcGraph(self._parents, self._n_parents, *children, self._mark, self._stack)
        gains, limits = Gains(self._adds, self.candidates, self._removes), Limits(self._tabu, needed, self.tie)
        gain = best_move(graph, gains, limits, self._dirty, self._best, self._move)
        kind, start, end = self._move.tolist()
        if kind == len(_KINDS):
            return None
        step = _Step(_KINDS[kind], start, end, gain)
        return self._better_direction(step) if kind == 0 and self._looks_ahead(needed) else step

    def _looks_ahead(self, needed: float) -> bool:
        """Return whether ties are broken by later gains: on the way up, not below the best score so far."""
        return self.prefers_synergy and not self.tie < needed < np.inf

    def _best_of_all(self, needed: float) -> _Step | None:
        """Return the same without kernels, by trying every legal move."""
        tabu = {frozenset(pair) for pair in map(tuple, self._tabu.tolist())}
        best: _Step | None = None
        for step in sorted(self._moves(), key=lambda step: _KINDS.index(step.kind)):
            pardoned = frozenset((step.start, step.end)) not in tabu or step.gain > needed + self.tie
            if pardoned and (best is None or step.gain > best.gain + self.tie) and self._is_acyclic(step):
                best = step
        if best is not None and best.kind == "add" and self._looks_ahead(needed):
            return self._better_direction(best)
        return best

    def _moves(self) -> Iterator[_Step]:
        """Yield every allowed move; some may close a cycle."""
        for x, parents in enumerate(self._graph):
            for c in range(self.problem.n):
                gain = self._gain(x, c)
                if gain > -np.inf and c not in parents:
                    yield _Step("add", c, x, gain)
            for i, p in enumerate(parents):
                remove = float(self._removes[x, i])
                if remove > -np.inf:
                    yield _Step("remove", p, x, remove)
                    if self._gain(p, x) > -np.inf:
                        yield _Step("reverse", p, x, remove + self._gain(p, x))

    def _is_acyclic(self, step: _Step) -> bool:
        if step.kind == "add":
            return not self._leads(step.end, step.start)
        return step.kind == "remove" or not self._leads(step.start, step.end, direct=False)

    def _better_direction(self, step: _Step) -> _Step:
        """Return an added arc, reversed if that gains the same now and more later."""
        _, start, end, gain = step
        if abs(self._gain(start, end) - gain) > self.tie or self._leads(start, end):
            return step
        promise, other = self._synergy(end, start), self._synergy(start, end)
        return _Step("add", end, start, gain) if other > promise + self.tie else step

    def _synergy(self, x: int, c: int) -> float:
        """Return how much more all further parents of x would gain with c as a parent than without."""
        parents = _with(self._graph[x], c)
        scores = self._ahead[x, parents] = self._gains(x, parents)
        gains = scores - self.problem.families.score(x, parents)
        more = gains - np.maximum(self._adds[x], 0.0)
        return float(more[(gains > 0.0) & (more > 0.0) & np.isfinite(self._adds[x])].sum())

    def make(self, step: _Step) -> None:
        """Make a move."""
        kind, start, end, gain = step
        if kind == "add":
            self._graph[end] = _with(self._graph[end], start)
        else:
            self._dirty[list(closure(self._graph, [start]))] = True  # its ancestors may reach fewer nodes now
            self._graph[end] = tuple(p for p in self._graph[end] if p != start)
        self._rescore(end)
        self._ahead.clear()
        if kind == "reverse":
            self._graph[start] = _with(self._graph[start], end)
            self._rescore(start)
        self._sum_up()
        self.journal.add(kind, start, end, gain)
        if self.score > self.best_score + self.tie:
            self.best_score, self.best_graph = self.score, self.graph
        if len(self.journal.moves) % _MOVES_PER_REPORT == 0:
            self.problem.tell(f"{len(self.journal.moves)} moves", self.score)

    def restart(self, graph: Graph) -> None:
        """Continue from another graph."""
        self._set_graph(graph)
        self.journal.score = self.score

    def forbid(self, length: int) -> None:
        """Start an empty tabu list for ``length`` pairs of nodes."""
        self._dirty[:] = True
        self._tabu, self._oldest = np.full((length, 2), -1, np.int64), 0

    def touch(self, a: int, b: int) -> None:
        """Put a pair of nodes into the tabu list in place of the oldest pair."""
        for v in (*self._tabu[self._oldest].tolist(), a, b):
            self._dirty[v] |= v >= 0
        self._tabu[self._oldest] = a, b
        self._oldest = (self._oldest + 1) % len(self._tabu)

    def make_random_moves(self, n_moves: int) -> None:
        """Make this many random legal moves, or as many as are found."""
        made = 0
        for _ in range(_TRIES_PER_MOVE * n_moves):
            if (step := self.random_step()) is not None:
                self.make(step)
                made += 1
            if made == n_moves:
                return

    def random_step(self) -> _Step | None:
        """Return a random legal move; None if the pair of nodes drawn has none."""
        x, c = (int(v) for v in self.problem.rng.integers(self.problem.n, size=2))
        turn = bool(self.problem.rng.integers(2))
        if x == c or x in self._graph[c]:
            return None
        add = self._gain(x, c)
        if c not in self._graph[x]:
            legal = add > -np.inf and not self._leads(x, c)
            return _Step("add", c, x, add) if legal else None
        remove = float(self._removes[x, self._graph[x].index(c)])
        back = remove + self._gain(c, x)
        if turn and back > -np.inf and not self._leads(c, x, direct=False):
            return _Step("reverse", c, x, back)
        return _Step("remove", c, x, remove) if remove > -np.inf else None

    def _gain(self, x: int, c: int) -> float:
        """Return the gain of adding c → x, whether or not it closes a cycle."""
        if not len(self.candidates):
            return float(self._adds[x, c])
        at = int(np.searchsorted(self.candidates[x], c))
        known = at < self.candidates.shape[1] and self.candidates[x, at] == c
        return float(self._adds[x, at]) if known else -np.inf

    def _leads(self, source: int, goal: int, *, direct: bool = True) -> bool:
        """Return whether a path leads from one node to the other; with ``direct=False`` other than the arc itself."""
        return source in closure(self._graph, [p for p in self._graph[goal] if direct or p != source])


def _with(parents: Parents, more: int) -> Parents:
    return tuple(sorted((*parents, more)))
