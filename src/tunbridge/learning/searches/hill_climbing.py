"""Hill-climbing: make the single-arc move that raises the score most, until none does.

From a start graph the search repeatedly makes the legal move (add, remove or reverse an arc) with the largest gain. The
score is a sum over families, so a move changes the gains of moves into one or two nodes only; :class:`Climber` keeps
all others. The search ends in a local optimum. *Restarts* search again: once with other choices among equal gains, then
from the best graph after random moves.

References
----------
D. Heckerman, D. Geiger, D. M. Chickering (1995). Learning Bayesian networks: the combination of knowledge and
statistical data. Machine Learning 20, 197-243, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge._core.registry import search
from tunbridge.learning.searches.climber import ArcSearch, Climber


@search("hill-climbing", rank=1)
@dataclass(frozen=True)
class HillClimbing(ArcSearch):
    """Greedy search that changes one arc at a time.

    Parameters
    ----------
    restarts : int
        How many times to climb again: first from the start graph, with ties between the two directions of an arc broken
        by name, then from the best graph after random moves.
    disturb : int, optional
        The number of random moves of a restart; default: a tenth of the variables, at least five.
    max_moves : int, optional
        The maximum number of moves of one climb.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.learn_structure(tb.datasets.play_tennis(), search=tb.HillClimbing(restarts=3), random_state=0).n_arcs
    2
    """

    restarts: int = 0
    disturb: int | None = None
    max_moves: int | None = None

    def __post_init__(self) -> None:
        check_integer("restarts", self.restarts, low=0)
        check_integer("disturb", self.disturb, low=1, optional=True)
        check_integer("max_moves", self.max_moves, low=0, optional=True)

    def climb(self, climber: Climber) -> None:
        """Make the best move until none raises the score.

        The score is summed again after each move, and must have risen: with nearly collinear columns a gain may be
        rounding only.
        """
        left = np.inf if self.max_moves is None else self.max_moves
        before = -np.inf
        while left > 0 and climber.score > before and (step := climber.best()) is not None and step.gain > climber.tie:
            before = climber.score
            climber.make(step)
            left -= 1
