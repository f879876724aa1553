"""Tabu search: always make the best move, also one that lowers the score, but do not undo recent moves.

Hill-climbing stops in the first local optimum. Tabu search goes on from there with the move that costs least, and
remembers the pairs of nodes it changed last: moves between them are forbidden (*tabu*) for a while, so that the search
does not return at once. A tabu move is made anyway if it leads to a better graph than any so far. The search ends when
it has found no better graph for many moves, and returns the best graph it has seen.

References
----------
F. Glover (1989). Tabu search, part I. ORSA Journal on Computing 1, 190-206.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import search
from tunbridge.learning.searches.climber import ArcSearch, Climber


@search("tabu", rank=2)
@dataclass(frozen=True)
class Tabu(ArcSearch):
    """Greedy search that continues past local optima and does not change recently changed pairs of nodes.

    It also makes moves that lower the score, except arcs that cannot raise it whatever the data are, because the family
    would be too large.

    Parameters
    ----------
    length : int, optional
        For how many moves a pair of nodes is tabu after a move; default: the number of variables, at least 10.
    patience : int, optional
        Stop after this many moves without a better graph; default: three times the variables, at least 100.
    restarts : int
        How many times to search again: first from the start graph, with ties between the two directions of an arc
        broken by name, then from the best graph after random moves.
    max_moves : int, optional
        The maximum number of moves of one search.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.learn_structure(tb.datasets.play_tennis(), search=tb.Tabu(length=5)).n_arcs
    2
    """

    length: int | None = None
    patience: int | None = None
    restarts: int = 1
    max_moves: int | None = None

    def __post_init__(self) -> None:
        check_integer("length", self.length, low=1, optional=True)
        check_integer("patience", self.patience, low=1, optional=True)
        check_integer("restarts", self.restarts, low=0)
        check_integer("max_moves", self.max_moves, low=0, optional=True)

    def climb(self, climber: Climber) -> None:
        """Make the best move that is not tabu until no better graph is found for ``patience`` moves."""
        n = climber.problem.n
        patience = self.patience or max(100, 3 * n)
        left = np.inf if self.max_moves is None else self.max_moves
        length = self.length or max(10, n)
        check_memory("the tabu list", 16.0 * min(length, 2**63), ways_out="Choose a smaller length.")
        climber.forbid(length)
        best, stale = climber.score, 0
        while stale < patience and left > 0 and (step := climber.best(best - climber.score)) is not None:
            climber.make(step)
            climber.touch(step.start, step.end)
            stale = 0 if climber.score > best + climber.tie else stale + 1
            best, left = max(best, climber.score), left - 1
        climber.forbid(0)
