"""Hill-climbing over graphs, with restarts and with a tabu list.

From a start graph the climb makes, again and again, the legal move that raises the score most: an arc added, removed
or turned round. Because the score is a sum over families, a move changes the gains of moves into one or two nodes
only; the others are kept. The climb ends where no move raises the score, which is a local optimum.

At the beginning most arcs gain the same in either direction, and the choice decides how good the optimum will be. If
C → X ← B is true, X → C drawn first leads to X → B too, and then to an arc between B and C that is not there in truth;
whereas C → X drawn wrongly does no harm, since the rest then joins X as children. So of two directions that gain the
same the one is taken whose child has more to gain from further parents *because of* this one: the sum over all B of
what B gains in addition to what it gained before. Where that is equal too, the names decide.

Two ways lead out of a local optimum. *Restarts* climb again: once with the names alone deciding between equal gains,
then from the best graph disturbed by random moves. *Tabu search* goes on with the best move even if it lowers the
score, but does not touch the pairs of nodes that it has touched lately, and ends when no better graph has been found
for a while.

References
----------
D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197-243, section 7.
F. Glover (1989). Tabu search, part I. ORSA Journal on Computing 1, 190-206.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunbridge._check import check_whole
from tunbridge.learning.climber import Climber
from tunbridge.learning.problem import Problem, Search, SearchResult

INTERRUPTED = "interrupted: the best graph so far"

_TRIES = 50


@dataclass(frozen=True)
class HillClimbing(Search):
    """Greedy search over graphs by single arcs.

    Parameters
    ----------
    restarts : int
        How often to climb again: first from the start with directions that gain the same chosen by name, then from the
        best graph disturbed by random moves.
    disturb : int, optional
        How many random moves a restart makes; a tenth of the variables, five at least, unless given.
    max_moves : int, optional
        The most moves of a climb.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.learn_structure(tb.datasets.play_tennis(), search=tb.HillClimbing(restarts=3), random_state=0).n_arcs
    2
    """

    name: ClassVar[str] = "hill-climbing"
    restarts: int = 0
    disturb: int | None = None
    max_moves: int | None = None

    def __post_init__(self) -> None:
        check_whole("restarts", self.restarts, low=0)
        check_whole("disturb", self.disturb, low=1, optional=True)
        check_whole("max_moves", self.max_moves, low=0, optional=True)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best of all climbs."""
        return self.climb(problem)

    def climb(self, problem: Problem, candidates: np.ndarray | None = None) -> SearchResult:
        """Return the best of all climbs with parents from lists of candidates."""
        return _searched(problem, candidates, self.restarts, self.disturb, lambda climber: _climb(climber, self))


@dataclass(frozen=True)
class Tabu(Search):
    """Greedy search that goes on past local optima, with the pairs of nodes touched lately left alone.

    It also makes moves that lower the score, except for arcs that could not raise it whatever the rows say, because the
    family would be too large.

    Parameters
    ----------
    length : int, optional
        How many moves a pair of nodes stays untouched after a move; as many as there are variables, 10 at least,
        unless given.
    patience : int, optional
        After how many moves without a better graph to give up; three times the variables, 100 at least, unless given.
    restarts : int
        How often to walk again: first from the start with directions that gain the same chosen by name, then from the
        best graph disturbed by random moves.
    max_moves : int, optional
        The most moves of a walk.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.learn_structure(tb.datasets.play_tennis(), search=tb.Tabu(length=5)).n_arcs
    2
    """

    name: ClassVar[str] = "tabu"
    length: int | None = None
    patience: int | None = None
    restarts: int = 1
    max_moves: int | None = None

    def __post_init__(self) -> None:
        check_whole("length", self.length, low=1, optional=True)
        check_whole("patience", self.patience, low=1, optional=True)
        check_whole("restarts", self.restarts, low=0)
        check_whole("max_moves", self.max_moves, low=0, optional=True)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph on the way."""
        return self.climb(problem)

    def climb(self, problem: Problem, candidates: np.ndarray | None = None) -> SearchResult:
        """Return the best graph on the way with parents from lists of candidates."""
        return _searched(problem, candidates, self.restarts, None, lambda climber: _walk(climber, self))


def _climb(climber: Climber, options: HillClimbing) -> None:
    """Make the best move until none raises the score.

    The score is added up anew after each move, and has to have risen: where columns are nearly collinear a gain may be
    nothing but rounding.
    """
    left = np.inf if options.max_moves is None else options.max_moves
    before = -np.inf
    while left > 0 and climber.score > before and (step := climber.best()) is not None and step.gain > climber.tie:
        before = climber.score
        climber.make(step)
        left -= 1


def _searched(
    problem: Problem,
    candidates: np.ndarray | None,
    restarts: int,
    disturb: int | None,
    search: Callable[[Climber], None],
) -> SearchResult:
    """Search, search again with other ties, and then from disturbed graphs; after Ctrl-C the best so far stays."""
    climber: Climber | None = None
    note = ""
    try:
        climber = Climber(problem, candidates)
        search(climber)
        for i in range(restarts):
            climber.prefers_synergy = False
            climber.restart(problem.start if i == 0 else climber.best_graph)
            if i > 0:
                _disturb(climber, disturb or max(5, problem.n // 10))
            search(climber)
    except KeyboardInterrupt:
        note = INTERRUPTED
        if climber is None:
            return SearchResult(problem.start, (), note)
    return SearchResult(climber.best_graph, tuple(climber.journal.moves), note)


def _disturb(climber: Climber, n_moves: int) -> None:
    """Make so many random legal moves, as far as they can be found."""
    made = 0
    for _ in range(_TRIES * n_moves):
        step = climber.random_step()
        if step is not None:
            climber.make(step)
            made += 1
        if made == n_moves:
            return


def _walk(climber: Climber, options: Tabu) -> None:
    """Make the best move that is not tabu, whether it gains or not, until nothing better is found for long."""
    n = climber.problem.n
    climber.forbid(options.length or max(10, n))
    stale, left = 0, np.inf if options.max_moves is None else options.max_moves
    best = climber.score
    while stale < (options.patience or max(100, 3 * n)) and left > 0:
        step = climber.best(best - climber.score)
        if step is None:
            break
        climber.make(step)
        climber.touch(step.start, step.end)
        rose = climber.score > best + climber.tie
        stale, best, left = 0 if rose else stale + 1, max(best, climber.score), left - 1
    climber.forbid(0)
