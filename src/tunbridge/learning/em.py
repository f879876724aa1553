"""Expectation–maximisation: tables from rows with holes, missing at random.

Each iteration computes the counts that the rows are expected to hold under the present tables, and estimates the tables
from them as from counts of complete rows,

    E   n_jk = Σ_rows P(j, k | what the row shows, θ)         M   θ_jk = (n_jk + a_jk) / (n_j + a_j).

The objective ln P(rows | θ) + Σ a_jk ln θ_jk never falls (Dempster, Laird and Rubin 1977). EM is slow where much is
missing, so every other iteration is followed by a leap: the two last changes r and r + v of ln θ say how far the tables
are still to go, and

    ln θ' = ln θ + 2 s r + s² v,     s = ‖r‖ / ‖v‖,

each row then scaled to sum to one (SQUAREM; Varadhan and Roland 2008). Lengths are measured by the expected counts,
‖r‖² = Σ n_jk r_jk², the Fisher information of the complete data. A leap that does not reach a higher objective is
taken back, so that the objective rises in every iteration all the same.

Several starts are run for a few iterations, and the best of them to its end (Biernacki, Celeux and Govaert 2003).

References
----------
A. P. Dempster, N. M. Laird, D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM algorithm. Journal
of the Royal Statistical Society B 39, 1–38.
S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics &
Data Analysis 19, 191–201.
R. Varadhan, C. Roland (2008). Simple and globally convergent methods for accelerating the convergence of any EM
algorithm. Scandinavian Journal of Statistics 35, 335–353.
C. Biernacki, G. Celeux, G. Govaert (2003). Choosing starting values for the EM algorithm for getting the highest
likelihood in multivariate Gaussian mixture models. Computational Statistics & Data Analysis 41, 561–575.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Literal, final

import numpy as np

from tunbridge._check import check_number, check_whole
from tunbridge.graph import DAG
from tunbridge.inference.expectations import ExpectedCounts
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.fitting import Fit, Fitter, Hidden, graph_and_table
from tunbridge.learning.hybrid_em import fit_mixed
from tunbridge.learning.incomplete import Incomplete, prepare
from tunbridge.learning.iteration import Climb, best_climb, leap, warn_unsettled
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.progress import Report, watched
from tunbridge.network import BayesianNetwork

_ROUNDING = 1e-9  # by this share the objective may seem to fall
_LOST = "stopped where a step would have made rows impossible by rounding; weights may be too far apart"
_SMALLEST = 1e-300  # what is possible stays so


@dataclass(frozen=True)
class EM(Fitter):
    """Expectation–maximisation, with its options.

    Parameters
    ----------
    tolerance : float
        It ends when an iteration raises the objective by less than this for each row.
    max_iterations : int
        It ends here at the latest, with a warning.
    restarts : int, optional
        Further starts from random tables; unless given 9 where no row shows all of a family, and else none.
    accelerate : bool
        Whether to leap ahead between iterations. The result is the same to the tolerance.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
    >>> fit = tb.EM().fit(tb.DAG(arcs=[("rain", "wet")]), rows, "mle")
    >>> fit.converged, round(fit.network.cpt("rain").distribution()["yes"], 3)
    (True, 0.4)
    """

    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    accelerate: bool = True

    def __post_init__(self) -> None:
        check_number("tolerance of EM", self.tolerance, low=0)
        check_whole("max_iterations of EM", self.max_iterations, low=1)
        check_whole("restarts of EM", self.restarts, low=0, optional=True)

    def fit(
        self,
        dag: DAG | BayesianNetwork,
        frame: Any,
        prior: Prior = DEFAULT_PRIOR,
        *,
        hidden: Hidden | None = None,
        start: BayesianNetwork | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Report | Literal[False] | None = None,
    ) -> Fit:
        """Return the network with tables of the highest likelihood found, and the way to it.

        Parameters
        ----------
        dag, frame, prior, hidden, random_state, n_jobs, progress
            As for :func:`fit_parameters`.
        start : BayesianNetwork, optional
            Tables to begin from (a warm start). Without one it begins at the estimates from the rows in which each
            family is complete, and at random tables for families that no row shows whole.

        Returns
        -------
        Fit
            After Ctrl-C it is the best so far.
        """
        graph, table = graph_and_table(dag, frame, hidden)
        if any(v.is_continuous for v in table.variables):
            rng = np.random.default_rng(entropy_of(random_state))
            with watched(progress) as report:
                return fit_mixed(
                    graph, table, as_prior(prior, graph.nodes), self, start=start, rng=rng, n_jobs=n_jobs, report=report
                )
        problem = prepare(graph, table, as_prior(prior, graph.nodes), n_jobs=n_jobs)
        starts = problem.starts(start, self.restarts, np.random.default_rng(entropy_of(random_state)))
        began = perf_counter()
        with watched(progress) as report:
            run = best_climb([partial(_Climb, problem, self, tables, began) for tables in starts], self, report)
        warn_unsettled(run)
        return Fit(
            problem.network(run.tables, run.counts), tuple(run.trace), run.converged, problem.weight, note=run.note
        )


@final
class _Climb(Climb):
    """One climb: the tables it has reached, the counts they were estimated from, and those expected under them."""

    def __init__(self, problem: Incomplete, settings: EM, tables: np.ndarray, began: float) -> None:
        super().__init__(settings, problem.weight, began)
        self.problem = problem
        self._base: np.ndarray | None = None
        self._settle(tables, None, problem.rows.expected_counts(tables))
        problem.check_start(tables, self.objective)

    def iterate(self) -> None:
        """Go where the expected counts lead; every other time try to leap further."""
        counts = self._expected.counts
        target = self.problem.estimate(counts)
        if not self.settings.accelerate or self._base is None:
            self._base = self.tables
        elif self._leap(self._base, target):
            self._base = None
            return
        else:
            self._base = None
        before, found = self.objective, self.problem.rows.expected_counts(target)
        after = found.log_likelihood + self.problem.penalty(target)
        if not after >= before - _ROUNDING * abs(before):
            self.note = _LOST
            return
        self._settle(target, counts, found)
        self.converged = after - before <= self.settings.tolerance * self.problem.weight

    def _leap(self, base: np.ndarray, target: np.ndarray) -> bool:
        """Go beyond the target, as far as the last two changes suggest; stay and return False where that is lower."""
        first = np.log(np.maximum(self.tables, _SMALLEST)) - np.log(np.maximum(base, _SMALLEST))
        bend = np.log(np.maximum(target, _SMALLEST)) - np.log(np.maximum(self.tables, _SMALLEST)) - first
        weight = self._expected.counts + self.problem.pseudo_counts
        length = self.leap_length(first, bend, weight)
        if not length > 1.0:
            return False
        ahead = self.problem.normalised(base * np.exp(leap(first, bend, length)))
        found = self.problem.rows.expected_counts(ahead)
        is_higher = found.log_likelihood + self.problem.penalty(ahead) >= self.objective
        self.leap_tried(length, is_higher=is_higher)
        if is_higher:
            self._settle(ahead, None, found)
        return is_higher

    def _settle(self, tables: np.ndarray, counts: np.ndarray | None, expected: ExpectedCounts) -> None:
        """Be at these tables; those that were not estimated from counts have the ones expected under them behind."""
        objective = expected.log_likelihood + self.problem.penalty(tables)
        step = self.step_to(expected.log_likelihood, objective)
        self.tables, self._expected = tables, expected
        self.counts = expected.counts if counts is None else counts
        self.trace.append(step)
