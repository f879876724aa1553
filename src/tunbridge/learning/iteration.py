"""What the ways of EM share: a climb of iterations and leaps, the best of several starts, and what is said at the end.

Two changes r and r + v of a point, each made by an iteration, say how far there still is to go: a leap goes to

    point + 2 s r + s² v,     s = ‖r‖ / ‖v‖,

no further than has proved good before (SQUAREM; see :mod:`tunbridge.learning.em`). What a point is, and what its
entries weigh, is the business of the problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Protocol, TypeVar

import numpy as np

from tunbridge._check import counted, warn_user
from tunbridge.errors import ConvergenceWarning
from tunbridge.learning.fitting import INTERRUPTED, FitStep
from tunbridge.learning.progress import Report

_TRIAL = 15  # iterations of each start before the best is chosen
_FIRST_LEAP = 4.0
_FURTHEST = 50.0  # by which an entry of a point may change in a leap


class Settings(Protocol):
    """What is asked of the options of EM."""

    @property
    def tolerance(self) -> float:
        """It ends when an iteration raises the objective by less than this for each row."""

    @property
    def max_iterations(self) -> int:
        """It ends here at the latest."""

    @property
    def restarts(self) -> int | None:
        """Further starts."""

    @property
    def accelerate(self) -> bool:
        """Whether to leap ahead between iterations."""


class Climb(ABC):
    """One climb: the trace of what it has reached, and whether it is over."""

    def __init__(self, settings: Settings, weight: float, began: float) -> None:
        self.settings, self.weight = settings, weight
        self.trace: list[FitStep] = []
        self.converged, self.note = False, ""
        self._began, self._longest = began, _FIRST_LEAP

    @property
    def objective(self) -> float:
        """What is maximised, where the climb is."""
        return self.trace[-1].objective

    @abstractmethod
    def iterate(self) -> None:
        """Make one iteration, or a leap."""

    def go(self, max_iterations: int, report: Report | None, what: str) -> None:
        """Iterate until it settles, or has done so many iterations."""
        while not self.converged and not self.note and len(self.trace) <= max_iterations:
            self.iterate()
            if report is not None:
                report(f"{what}, iteration {len(self.trace) - 1}", self.objective)

    def step_to(self, log_likelihood: float, objective: float) -> FitStep:
        """Return the entry of the trace for a place that is reached now."""
        return FitStep(log_likelihood, objective, perf_counter() - self._began)

    def leap_length(self, first: np.ndarray, bend: np.ndarray, weights: np.ndarray) -> float:
        """Return s for two changes of a point, r and r + v; no more than the longest leap that is tried."""
        length, curve = weights @ first**2, weights @ bend**2
        return float(min(np.sqrt(length / curve), self._longest)) if curve > 0.0 else self._longest

    def leap_tried(self, length: float, *, is_higher: bool) -> None:
        """Try longer leaps after the longest has proved good, and shorter ones after one that has not."""
        if not is_higher:
            self._longest = max(_FIRST_LEAP, length / _FIRST_LEAP)
        elif length == self._longest:
            self._longest *= _FIRST_LEAP


def leap(first: np.ndarray, bend: np.ndarray, length: float) -> np.ndarray:
    """Return the change 2 s r + s² v of a leap, none of its entries too large."""
    return np.clip(2.0 * length * first + length**2 * bend, -_FURTHEST, _FURTHEST)


C = TypeVar("C", bound=Climb)


def best_climb(begin: Sequence[Callable[[], C]], settings: Settings, report: Report | None) -> C:
    """Return the climb that is kept: each begins and goes a few iterations, and the best of them to its end."""
    best: C | None = None
    try:
        for i, start in enumerate(begin):
            climb = start()
            best = climb if best is None else best
            if len(begin) > 1:
                climb.go(min(_TRIAL, settings.max_iterations), report, f"EM, start {i + 1}")
            best = max(best, climb, key=lambda c: c.objective)
        assert best is not None
        best.go(settings.max_iterations, report, "EM")
    except KeyboardInterrupt:
        if best is None:
            raise
        best.note = INTERRUPTED
    return best


def warn_unsettled(climb: Climb) -> None:
    """Warn of a climb that did not settle, unless somebody has stopped it."""
    if climb.note and climb.note != INTERRUPTED:
        warn_user(f"EM {climb.note}.", ConvergenceWarning)
    elif not climb.converged and not climb.note:
        last = climb.trace[-1].objective - climb.trace[-2].objective
        most, tolerance = climb.settings.max_iterations, climb.settings.tolerance
        warn_user(
            f"EM did not settle within {counted(most, 'iteration')}: the last raised the objective by "
            f"{last / max(climb.weight, 1.0):.2g} a row, above the tolerance of {tolerance:g}. Raise max_iterations or "
            "the tolerance.",
            ConvergenceWarning,
        )
