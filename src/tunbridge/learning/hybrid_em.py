"""Expectation–maximisation in networks of categories and numbers: tables and regressions from rows with holes.

Each iteration computes what the rows are expected to hold under the present network
(:mod:`tunbridge.inference.hybrid_expectations`), and estimates all tables from it: those of categories from expected
counts, the regressions of numbers from expected moments. With a category that is never observed and numbers that depend
on it this fits a mixture of Gaussians.

Left alone, the likelihood of such a mixture has no upper bound: a state may take a single row, and its variance goes to
zero. So every regression has one row's worth of the family as a whole behind it, its numbers taken together whatever
the categories (a thousandth of a row with the prior "mle"), like the pseudo-counts behind tables. What is maximised is

    ln p(rows | θ) + Σ a_jk ln θ_jk + Σ_j m E₀[ln N(y; a_j + b_jᵀ x, s_j²)],

E₀ being the average over those m rows' worth, and it never falls: an iteration that would lower it (by rounding, where
columns are nearly collinear) is not made, and ends the climb. Every other iteration is followed by a leap, as in
:mod:`tunbridge.learning.em`; what is extrapolated of a regression are its line about the means and ln s².

Where a category is never observed, EM begins at random: for each of its states a row is drawn, and every row begins in
the state of the one that it is nearest to.

References
----------
A. P. Dempster, N. M. Laird, D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM algorithm. Journal
of the Royal Statistical Society B 39, 1–38.

S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics &
Data Analysis 19, 191–201.
"""

from __future__ import annotations

from time import perf_counter
from typing import Protocol

import numpy as np

from tunbridge._check import counted, warn_user
from tunbridge.data import Table
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.graph import DAG
from tunbridge.inference.hybrid_expectations import ExpectedStatistics
from tunbridge.learning.fitting import INTERRUPTED, Fit, FitStep
from tunbridge.learning.hybrid_problem import MixedProblem
from tunbridge.learning.priors import Rule
from tunbridge.learning.progress import Report
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable

_TRIAL = 15  # iterations of each start before the best is chosen
_FIRST_LEAP = 4.0
_FURTHEST = 50.0  # by which an entry of a point may change in a leap
_LOST = "ended where rounding outweighs what an iteration could gain"


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


def fit_mixed(
    graph: DAG,
    table: Table,
    rule: Rule,
    settings: Settings,
    *,
    start: BayesianNetwork | None = None,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> Fit:
    """Return the network of a graph with tables from rows with holes, some of whose columns are continuous.

    Parameters
    ----------
    graph : DAG
        The graph.
    table : Table
        A column for each node; those of hidden categories with every cell missing and the states named.
    rule : Rule
        The prior of the categories' tables.
    settings : EM
        Tolerance, limit and restarts.
    start : BayesianNetwork, optional
        Tables to begin from.
    rng : Generator
        For random starts.
    n_jobs, report
        Threads; who is told of the progress.
    """
    problem = MixedProblem(graph, table, rule, n_jobs)
    run = _best(problem, problem.starts(start, settings.restarts, rng), settings, report)
    if run.note == _LOST:
        warn_user(f"EM {_LOST}.", ConvergenceWarning)
    elif not run.converged and not run.note:
        _warn_unsettled(run, settings.max_iterations)
    net = BayesianNetwork.from_tables(run.cpts)
    return Fit(net, tuple(run.trace), run.converged, problem.weight, note=run.note)


# Climbing


class _Climb:
    """One climb: the tables it has reached, and what is expected under them."""

    def __init__(self, problem: MixedProblem, settings: Settings, cpts: list[ConditionalTable], began: float) -> None:
        self.problem, self.settings, self.began = problem, settings, began
        self.trace: list[FitStep] = []
        self.converged, self.note = False, ""
        self._base: np.ndarray | None = None
        self._longest = _FIRST_LEAP
        self._settle(cpts, self._expectations(cpts))
        if self.objective == -np.inf:
            hint = "Smooth its tables with a prior, or leave start out."
            raise DataError(f"start must give every row a positive probability; some row has none. {hint}")

    @property
    def objective(self) -> float:
        """What has been reached."""
        return self.trace[-1].objective

    def _expectations(self, cpts: list[ConditionalTable]) -> ExpectedStatistics:
        return self.problem.rows.expected(self.problem.hybrid.with_tables(cpts), n_jobs=self.problem.n_jobs)

    def _settle(self, cpts: list[ConditionalTable], found: ExpectedStatistics) -> None:
        """Be at these tables."""
        self.cpts, self._expected = cpts, found
        objective = found.log_likelihood + self.problem.penalty(cpts)
        self.trace.append(FitStep(found.log_likelihood, objective, perf_counter() - self.began))

    def go(self, most: int, report: Report | None, what: str) -> None:
        """Climb until it settles, or has gone so many iterations."""
        while not self.converged and not self.note and len(self.trace) <= most:
            self._iterate()
            if report is not None:
                report(f"{what}, iteration {len(self.trace) - 1}", self.objective)

    def _iterate(self) -> None:
        """Go where the expected statistics lead; every other time try to leap further."""
        target = self.problem.estimate(self._expected)
        base, self._base = self._base, None
        if base is None:
            self._base = self.problem.point(self.cpts) if self.settings.accelerate else None
        elif self._leap(base, target):
            return
        found = self._expectations(target)
        rise = found.log_likelihood + self.problem.penalty(target) - self.objective
        little = self.settings.tolerance * self.problem.weight
        self.converged = abs(rise) <= little
        if rise >= 0.0:
            self._settle(target, found)
        elif not self.converged:
            self.note = _LOST

    def _leap(self, base: np.ndarray, target: list[ConditionalTable]) -> bool:
        """Go beyond the target, as far as the last two changes suggest; stay and return False where that is lower."""
        problem = self.problem
        now = problem.point(self.cpts)
        first, bend = now - base, problem.point(target) - 2.0 * now + base
        weights = problem.weights(target)
        length, curve = weights @ first**2, weights @ bend**2
        step = min(np.sqrt(length / curve), self._longest) if curve > 0.0 else self._longest
        if not step > 1.0:
            return False
        ahead = problem.tables_at(base + np.clip(2.0 * step * first + step**2 * bend, -_FURTHEST, _FURTHEST))
        found = self._expectations(ahead)
        if not found.log_likelihood + problem.penalty(ahead) >= self.objective:
            self._longest = max(_FIRST_LEAP, step / _FIRST_LEAP)
            return False
        if step == self._longest:
            self._longest *= _FIRST_LEAP
        self._settle(problem.behind(ahead, found), found)
        return True


def _best(
    problem: MixedProblem, starts: list[list[ConditionalTable]], settings: Settings, report: Report | None
) -> _Climb:
    """Return the climb that is kept: each start goes a few iterations, and the best of them to its end."""
    began, best = perf_counter(), None
    try:
        for i, cpts in enumerate(starts):
            climb = _Climb(problem, settings, cpts, began)
            best = climb if best is None else best
            if len(starts) > 1:
                climb.go(min(_TRIAL, settings.max_iterations), report, f"EM, start {i + 1}")
            best = max(best, climb, key=lambda c: c.objective)
        assert best is not None
        best.go(settings.max_iterations, report, "EM")
    except KeyboardInterrupt:
        if best is None:
            raise
        best.note = INTERRUPTED
    return best


def _warn_unsettled(run: _Climb, most: int) -> None:
    last = run.trace[-1].objective - run.trace[-2].objective
    warn_user(
        f"EM did not settle within {counted(most, 'iteration')}: the last raised the objective by "
        f"{last / max(run.problem.weight, 1.0):.2g} a row, above the tolerance of {run.settings.tolerance:g}. "
        "Raise max_iterations or the tolerance.",
        ConvergenceWarning,
    )
