"""Ways uphill: L-BFGS, steepest ascent, and stochastic ascent over tables written as softmax.

What is maximised is an objective F of the numbers η behind the tables (:mod:`tunbridge.learning.softmax`). Rows of
tables differ much in how many data they see, and so in how strongly F bends; all methods but the stochastic one
therefore work with

    x_jk = η_jk √h_jk,     h_jk = n_j θ_jk (1 − θ_jk),

in which F would bend about equally in all directions if nothing were missing. A step of length one along the gradient
is then about a step of EM (Xu and Jordan 1996).

*L-BFGS* takes h at the start and learns the rest of the bending on the way, from the last changes of the gradient.
*Steepest ascent* takes h where it is, follows the gradient, and halves a step until it gains enough (Armijo's rule).
*Stochastic ascent* takes the gradient from a batch of rows at a time, with Adam's step lengths; after every epoch, one
pass over all batches, the objective of all rows is computed. When it has not risen, the ascent goes back to the best
tables and halves its steps.

References
----------
D. C. Liu, J. Nocedal (1989). On the limited memory BFGS method for large scale optimization. Mathematical Programming
45, 503–528.
L. Armijo (1966). Minimization of functions having Lipschitz continuous first partial derivatives. Pacific Journal of
Mathematics 16, 1–3.
D. P. Kingma, J. Ba (2015). Adam: a method for stochastic optimization. ICLR 3.
L. Xu, M. I. Jordan (1996). On convergence properties of the EM algorithm for Gaussian mixtures. Neural Computation 8,
129–151.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from tunbridge._memory import check_memory
from tunbridge.inference.expectations import ExpectedCounts
from tunbridge.learning.fitting import FitStep
from tunbridge.learning.incomplete import Incomplete
from tunbridge.learning.progress import Report
from tunbridge.learning.softmax import Rows

_REMEMBERED = 10
"""Changes of the gradient that L-BFGS keeps."""
_LEAST_CURVATURE = 1e-2
"""Cells that hardly any row touches must not be thrown far by the first step."""
_WORSE = 1e100
"""What a point at which a row is impossible is worth, signs turned: a line search copes with no infinity."""
_SUFFICIENT = 0.25
"""The share of the promised gain that a step must bring; more than ½ would refuse the best step of a parabola."""
_FURTHEST = 5.0
_MOST_HALVINGS = 50
_PATIENCE = 5
"""Epochs in vain, the step halved after each, until stochastic ascent ends."""
_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
_WAYS_OUT = "Use method='gradient', or give the largest table fewer parents."


class CountedRows(Protocol):
    """Rows of data whose likelihood, joint or conditional, and expected counts can be asked for."""

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the expected counts under these tables, and the log-likelihood."""
        ...


@dataclass(frozen=True, eq=False)
class Point:
    """A place on the hill: x, its tables, what they make of the rows, and the gradient there."""

    x: np.ndarray
    tables: np.ndarray
    expected: ExpectedCounts
    objective: float
    gradient: np.ndarray


class Hill:
    """The objective as a function of numbers without constraints.

    Parameters
    ----------
    problem : Incomplete
        The graph and the prior.
    rows : CountedRows
        The rows.
    tables : ndarray
        Where the ascent begins; cells that are zero stay so, and rows that neither data nor prior touch do not move.
    """

    def __init__(self, problem: Incomplete, rows: CountedRows, tables: np.ndarray) -> None:
        self.problem, self.data = problem, rows
        self.rows = Rows(problem.row_start, len(tables))
        self.free = (tables > 0.0) & (tables < 1.0)
        with np.errstate(divide="ignore"):
            self._eta = np.log(tables)
        self._touching = problem.rows.expected_counts(tables).counts + problem.pseudo_counts
        self.scale = np.sqrt(self._curvature(tables, _LEAST_CURVATURE))
        self.start = self._eta[self.free] * self.scale

    def uphill(self, point: Point) -> np.ndarray:
        """Return a direction from a point: along the gradient, in numbers scaled by the curvature there."""
        change = point.gradient * self.scale / self._curvature(point.tables, _TINY)
        return np.clip(change, -_FURTHEST, _FURTHEST) * self.scale

    def _curvature(self, tables: np.ndarray, least: float) -> np.ndarray:
        """Return h of the cells that move, with the counts that touched the rows at the start."""
        return np.maximum(self.rows.curvature(self._touching, tables)[self.free], least)

    def at(self, x: np.ndarray, rows: CountedRows | None = None, factor: float = 1.0) -> Point:
        """Return the point x, by all rows, or by a batch whose counts stand for ``factor`` times as many."""
        eta = self._eta.copy()
        eta[self.free] = x / self.scale
        tables = self.rows.softmax(eta)
        expected = (rows or self.data).expected_counts(tables)
        objective = factor * expected.log_likelihood + self.problem.penalty(tables)
        slope = self.rows.gradient(factor * expected.counts + self.problem.pseudo_counts, tables)
        return Point(x, tables, expected, objective, slope[self.free] / self.scale)


class Climb:
    """An ascent on its way: the best point so far, the trace, and whether it is time to end.

    Parameters
    ----------
    hill : Hill
        The objective.
    tolerance : float
        An iteration gains little when it raises the objective by no more.
    began : float
        The clock when the fit began.
    """

    def __init__(self, hill: Hill, tolerance: float, began: float) -> None:
        self.hill, self.tolerance, self._began = hill, tolerance, began
        self.best = hill.at(hill.start)
        self.trace: list[FitStep] = []
        self.converged, self.note = False, ""
        self._idle = self._limit = 0
        self._report: Report | None = None
        self._note_step()

    def until(self, limit: int, report: Report | None) -> Climb:
        """Return it with a limit of iterations set, ready for one of the ways uphill."""
        self._limit, self._report, self._idle = limit, report, 0
        return self

    @property
    def is_over(self) -> bool:
        """Whether to go no further."""
        return self.converged or len(self.trace) > self._limit

    def reach(self, point: Point, patience: int = 2) -> bool:
        """Note where an iteration has led and return whether it gained; ``patience`` without a gain are the end."""
        gain = point.objective - self.best.objective
        if gain >= 0.0:
            self.best = point
        self._note_step()
        self._idle = 0 if gain > self.tolerance else self._idle + 1
        self.converged = self._idle >= patience
        return gain > self.tolerance

    def _note_step(self) -> None:
        best = self.best
        self.trace.append(FitStep(best.expected.log_likelihood, best.objective, perf_counter() - self._began))
        if self._report is not None:
            self._report(f"gradient ascent, iteration {len(self.trace) - 1}", best.objective)


def climb_by_lbfgs(climb: Climb) -> None:
    """Climb by L-BFGS; where its line search gives up it is begun anew, and ends when that gains nothing either."""
    check_memory(
        "the memory of L-BFGS", 8.0 * (2 * _REMEMBERED + 8) * len(climb.best.x), ways_out=_WAYS_OUT
    )  # fmt: skip
    while not climb.is_over:
        before = climb.best.objective
        _run_lbfgs(climb)
        if not climb.is_over:
            climb.converged = climb.best.objective - before <= climb.tolerance


def _run_lbfgs(climb: Climb) -> None:
    """Run SciPy's L-BFGS from the best point until the climb is over or its line search finds nothing better."""
    from scipy.optimize import minimize

    latest, weight = climb.best, max(climb.hill.problem.weight, 1.0)

    def downhill(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal latest
        latest = climb.hill.at(x.copy())
        loss = -latest.objective / weight if np.isfinite(latest.objective) else _WORSE
        return loss, -latest.gradient / weight

    def arrived(x: np.ndarray) -> None:
        climb.reach(latest if np.array_equal(x, latest.x) else climb.hill.at(x.copy()))
        if climb.is_over:
            raise StopIteration

    options = {"maxcor": _REMEMBERED, "ftol": 0.0, "gtol": 0.0, "maxiter": 10**9, "maxfun": 10**9}
    minimize(downhill, climb.best.x, jac=True, method="L-BFGS-B", callback=arrived, options=options)


def climb_steepest(climb: Climb) -> None:
    """Climb along the gradient, every step halved until it gains its share of what the slope promises."""
    length = 1.0
    while not climb.is_over:
        here = climb.best
        direction = climb.hill.uphill(here)
        slope = float(here.gradient @ direction)
        for _ in range(_MOST_HALVINGS):
            there = climb.hill.at(here.x + length * direction)
            if there.objective >= here.objective + _SUFFICIENT * length * slope:
                break
            length *= 0.5
        climb.reach(there)
        length *= 2.0


def climb_stochastically(climb: Climb, batches: Sequence[CountedRows], step: float, rng: np.random.Generator) -> None:
    """Climb by batches of rows in random order, back to the best point with half the step after an epoch in vain."""
    walk = _Adam(climb.hill, climb.best.x, step)
    while not climb.is_over:
        for i in rng.permutation(len(batches)):
            walk.follow(batches[i], len(batches))
        if not climb.reach(climb.hill.at(walk.x), patience=_PATIENCE):
            walk = _Adam(climb.hill, climb.best.x, 0.5 * walk.step)


class _Adam:
    """Steps along gradients known from batches only, as long in η as the gradient is steady there."""

    def __init__(self, hill: Hill, x: np.ndarray, step: float) -> None:
        self.hill, self.x, self.step = hill, x, step
        self._mean, self._square, self._taken = np.zeros_like(x), np.zeros_like(x), 0

    def follow(self, batch: CountedRows, n_batches: int) -> None:
        """Take a step along the gradient of a batch, one of so many."""
        slope = self.hill.at(self.x, batch, n_batches).gradient * self.hill.scale / max(self.hill.problem.weight, 1.0)
        self._taken += 1
        self._mean += (1.0 - _MEAN_DECAY) * (slope - self._mean)
        self._square += (1.0 - _SQUARE_DECAY) * (slope**2 - self._square)
        typical = np.sqrt(self._square / (1.0 - _SQUARE_DECAY**self._taken)) + _TINY
        change = self._mean / (1.0 - _MEAN_DECAY**self._taken) / typical
        self.x = self.x + self.step * self.hill.scale * change
