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

from functools import partial
from time import perf_counter
from typing import final

import numpy as np

from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.hybrid_expectations import ExpectedStatistics
from tunbridge.learning.fitting import Fit
from tunbridge.learning.hybrid_problem import MixedProblem
from tunbridge.learning.iteration import Climb, Settings, best_climb, leap, warn_unsettled
from tunbridge.learning.priors import Rule
from tunbridge.learning.progress import Report
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable

_LOST = "ended where rounding outweighs what an iteration could gain"


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
    starts, began = problem.starts(start, settings.restarts, rng), perf_counter()
    run = best_climb([partial(_Climb, problem, settings, cpts, began) for cpts in starts], settings, report)
    warn_unsettled(run)
    net = BayesianNetwork.from_tables(run.cpts)
    return Fit(net, tuple(run.trace), run.converged, problem.weight, note=run.note)


# Climbing


@final
class _Climb(Climb):
    """One climb: the tables it has reached, and what is expected under them."""

    def __init__(self, problem: MixedProblem, settings: Settings, cpts: list[ConditionalTable], began: float) -> None:
        super().__init__(settings, problem.weight, began)
        self.problem = problem
        self._base: np.ndarray | None = None
        self._settle(cpts, self._expectations(cpts))
        if self.objective == -np.inf:
            hint = "Smooth its tables with a prior, or leave start out."
            raise DataError(f"start must give every row a positive probability; some row has none. {hint}")

    def _expectations(self, cpts: list[ConditionalTable]) -> ExpectedStatistics:
        return self.problem.rows.expected(self.problem.hybrid.with_tables(cpts), n_jobs=self.problem.n_jobs)

    def _settle(self, cpts: list[ConditionalTable], found: ExpectedStatistics) -> None:
        """Be at these tables."""
        step = self.step_to(found.log_likelihood, found.log_likelihood + self.problem.penalty(cpts))
        self.cpts, self._expected = cpts, found
        self.trace.append(step)

    def iterate(self) -> None:
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
        length = self.leap_length(first, bend, problem.weights(target))
        if not length > 1.0:
            return False
        ahead = problem.tables_at(base + leap(first, bend, length))
        found = self._expectations(ahead)
        is_higher = found.log_likelihood + problem.penalty(ahead) >= self.objective
        self.leap_tried(length, is_higher=is_higher)
        if is_higher:
            self._settle(problem.behind(ahead, found), found)
        return is_higher
