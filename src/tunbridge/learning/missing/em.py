"""Expectation–maximisation: parameters from rows with missing values, missing at random.

Each iteration computes the statistics that the rows are expected to have under the current parameters, and estimates
the parameters from them as from complete rows. For tables of categorical variables these are expected counts,

    E   n_jk = Σ_rows P(j, k | observed values of the row, θ)         M   θ_jk = (n_jk + a_jk) / (n_j + a_j),

for regressions of continuous variables expected moments (:mod:`tunbridge.learning.missing.mixed`). The objective
ln P(rows | θ) + ln prior(θ) never falls (Dempster, Laird and Rubin 1977). EM is slow if many values are missing, so
every other iteration is followed by an extrapolation: from the last two changes r and r + v of a point (ln θ for
tables) it tries

    point' = point + 2 s r + s² v,     s = ‖r‖ / ‖v‖

(SQUAREM; Varadhan and Roland 2008). Lengths are measured by the Fisher information of complete rows, for tables
‖r‖² = Σ n_jk r_jk². An extrapolation that does not reach a higher objective is undone, so that the objective rises in
every iteration all the same.

References
----------
A. P. Dempster, N. M. Laird, D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM algorithm. Journal
of the Royal Statistical Society B 39, 1–38.
S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics &
Data Analysis 19, 191–201.
R. Varadhan, C. Roland (2008). Simple and globally convergent methods for accelerating the convergence of any EM
algorithm. Scandinavian Journal of Statistics 35, 335–353.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Generic, final

import numpy as np

from tunbridge.learning.missing.fitting import FitStep, Fitter, Run
from tunbridge.learning.missing.incomplete import DiscreteProblem, E, IncompleteProblem, P
from tunbridge.learning.missing.mixed import MixedProblem
from tunbridge.learning.searches.problem import Report
from tunbridge.network import BayesianNetwork

_ROUNDING = 1e-9  # a relative fall of the objective that counts as rounding
_LOST = "stopped because rounding errors would lower the objective"
_FIRST_LENGTH = 4.0
_FURTHEST = 50.0  # the largest change of an entry of a point in an extrapolation


@dataclass(frozen=True)
class EM(Fitter):
    """Expectation–maximisation.

    Parameters
    ----------
    tolerance : float
        Stop when an iteration raises the objective by less than this per row.
    max_iterations : int
        The maximum number of iterations; a warning is issued when it is reached.
    restarts : int, optional
        The number of further starts from random parameters. Default: 9 if a family is complete in no row, because of a
        hidden variable for example, otherwise 0.
    accelerate : bool
        Whether to extrapolate between iterations. The result is the same up to the tolerance.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
    >>> fit = tb.EM().fit(tb.DAG(arcs=[("rain", "wet")]), rows, "mle")
    >>> fit.converged, round(fit.network.cpt("rain").distribution()["yes"], 3)
    (True, 0.4)
    """

    title: ClassVar[str] = "EM"
    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    accelerate: bool = True

    def _beginning(
        self, problem: DiscreteProblem | MixedProblem, rng: np.random.Generator
    ) -> tuple[Callable[[Any], Run], float]:
        return partial(_Run[Any, Any], self, problem, perf_counter()), problem.weight


@final
class _Run(Run, Generic[P, E]):
    """A run of EM: the parameters, the statistics expected under them, and those they were estimated from."""

    def __init__(self, em: EM, problem: IncompleteProblem[P, E], began: float, parameters: P) -> None:
        self._em, self._problem, self._began = em, problem, began
        self._before: P | None = None  # the parameters one iteration ago, if an extrapolation comes next
        self._longest = _FIRST_LENGTH
        self.trace = []
        found = problem.expected(parameters)
        self._move(parameters, found, behind=found)
        problem.check_start(parameters, found)

    def go(self, max_iterations: int, report: Report | None) -> None:
        """Iterate until convergence, or until there are ``max_iterations`` in all."""
        while not self.converged and not self.note and len(self.trace) <= max_iterations:
            self._iterate()
            if report is not None:
                report(f"iteration {len(self.trace) - 1}", self.objective)

    def network(self) -> BayesianNetwork:
        """Return the network reached."""
        return self._problem.network(self._parameters, self._behind)

    def _iterate(self) -> None:
        """Estimate the parameters from the expected statistics; every other time try to extrapolate."""
        behind, before, self._before = self._expected, self._before, None
        target = self._problem.estimate(behind)
        if before is None:
            self._before = self._parameters if self._em.accelerate else None
        elif self._extrapolate(before, target):
            return
        found = self._problem.expected(target)
        rise = found.log_likelihood + self._problem.penalty(target) - self.objective
        little = self._em.tolerance * self._problem.weight
        self.converged = -max(little, _ROUNDING * abs(self.objective)) <= rise <= little
        if rise >= 0.0:
            self._move(target, found, behind)
        elif not self.converged:
            self.note = _LOST

    def _extrapolate(self, before: P, target: P) -> bool:
        """Go beyond the target, as far as the last two changes suggest; return False where the objective is lower."""
        problem = self._problem
        now = problem.point(self._parameters)
        first = now - problem.point(before)
        bend = problem.point(target) - now - first
        information = problem.information(target, self._expected)
        length, curve = information @ first**2, information @ bend**2
        s = float(min(np.sqrt(length / curve), self._longest)) if curve > 0.0 else self._longest
        if not s > 1.0:
            return False
        ahead = problem.moved(before, np.clip(2.0 * s * first + s**2 * bend, -_FURTHEST, _FURTHEST))
        found = problem.expected(ahead)
        is_higher = found.log_likelihood + problem.penalty(ahead) >= self.objective
        if not is_higher:
            self._longest = max(_FIRST_LENGTH, s / _FIRST_LENGTH)
        elif s == self._longest:
            self._longest *= _FIRST_LENGTH
        if is_higher:
            self._move(ahead, found, behind=found)
        return is_higher

    def _move(self, parameters: P, expected: E, behind: E) -> None:
        """Store new parameters, the statistics expected under them, and those they were estimated from."""
        objective = expected.log_likelihood + self._problem.penalty(parameters)
        step = FitStep(expected.log_likelihood, objective, perf_counter() - self._began)
        self._parameters, self._expected, self._behind = parameters, expected, behind
        self.trace.append(step)
