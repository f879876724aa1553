"""Gradient ascent: tables from rows with holes, by the slope of the log-likelihood.

The log-likelihood of rows with holes has a gradient that inference gives for nothing: with expected counts n, the
tables written as softmax of numbers η, and a prior with pseudo-counts a,

    ∂/∂η_jk [ln P(rows | θ) + Σ a ln θ] = (n_jk + a_jk) − (n_j + a_j) θ_jk

(Russell, Binder, Koller and Kanazawa 1995). At a maximum it is zero, which is where EM stops too. EM needs no step
length and never falls; gradient methods can take any objective that has a gradient, above all the conditional
log-likelihood of a class (:mod:`tunbridge.learning.conditional`), and L-BFGS needs fewer iterations than plain EM where
much is missing. The ways uphill are in :mod:`tunbridge.learning.ascent`.

References
----------
S. Russell, J. Binder, D. Koller, K. Kanazawa (1995). Local learning in probabilistic networks with hidden variables.
IJCAI 14, 1146–1152.
J. Binder, D. Koller, S. Russell, K. Kanazawa (1997). Adaptive probabilistic networks with hidden variables. Machine
Learning 29, 213–244.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np

from tunbridge._check import check_choice, check_number, check_whole, counted, did_you_mean, shortened, warn_user
from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.data import Table
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.graph import DAG
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.ascent import Climb, CountedRows, Hill, climb_by_lbfgs, climb_steepest, climb_stochastically
from tunbridge.learning.conditional import ClassifiedRows, classified
from tunbridge.learning.fitting import INTERRUPTED, Fit, Fitter, Hidden, graph_and_table
from tunbridge.learning.incomplete import Incomplete, prepare
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.progress import Report, watched
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT

_METHODS = ("l-bfgs", "gradient", "stochastic")
_TRIAL = 15  # iterations of each start before the best is chosen
_BATCH_ROWS, _STEP = 256, 0.1


@dataclass(frozen=True)
class GradientAscent(Fitter):
    """Gradient ascent on the log-likelihood, or on the conditional log-likelihood of a class.

    Parameters
    ----------
    method : {"l-bfgs", "gradient", "stochastic"}
        L-BFGS; steepest ascent with a line search; or ascent by batches of rows (Adam), for many rows.
    target : str, optional
        A variable, the class. What is maximised is then Σ ln P(class | rest of the row), and the prior's part; rows
        without a class are left out. The tables are good at predicting the class; they are no longer relative
        frequencies, so no counts stand behind them.
    tolerance : float
        It ends when iterations raise the objective by less than this for each row.
    max_iterations : int
        It ends here at the latest, with a warning. An iteration of the stochastic method is an epoch, one pass over
        the rows.
    restarts : int, optional
        Further starts from random tables; unless given 9 where a variable is never observed, and else none.
    batch_rows : int, optional
        For ``"stochastic"``: the rows of a batch, 256 unless given.
    step : float, optional
        For ``"stochastic"``: how far the logarithm of a probability moves at first with each batch, 0.1 unless given.

    Notes
    -----
    Cells that are zero in the tables to begin from stay zero, and rows of tables that neither data nor prior touch
    stay as they are. The objective of the result is never below that of the start.

    The conditional likelihood with ``prior="mle"`` may grow without end, when the rest of a row tells the class for
    certain; a prior keeps the tables finite.

    Examples
    --------
    >>> import tunbridge as tb
    >>> rows = {"rain": ["no", "no", "yes", None, None], "wet": ["no", "no", "yes", "yes", "no"]}
    >>> fit = tb.GradientAscent().fit(tb.DAG(arcs=[("rain", "wet")]), rows, "mle")
    >>> fit.converged, round(fit.network.cpt("rain").distribution()["yes"], 3)
    (True, 0.4)
    """

    method: Literal["l-bfgs", "gradient", "stochastic"] = "l-bfgs"
    target: str | None = None
    tolerance: float = 1e-6
    max_iterations: int = 1000
    restarts: int | None = None
    batch_rows: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        check_choice("method of gradient ascent", self.method, _METHODS)
        if self.target is not None and not isinstance(self.target, str):
            raise DataError(f"target must name one variable; got {shortened(repr(self.target))}.")
        check_number("tolerance of gradient ascent", self.tolerance, low=0)
        check_whole("max_iterations of gradient ascent", self.max_iterations, low=1)
        check_whole("restarts of gradient ascent", self.restarts, low=0, optional=True)
        check_whole("batch_rows", self.batch_rows, low=1, optional=True)
        if self.step is not None:
            check_number("step", self.step, above=0)
        for name in ("batch_rows", "step"):
            if self.method != "stochastic" and getattr(self, name) is not None:
                hint = f"Leave {name} out, or ask for the other method."
                raise DataError(f"{name} must go with method='stochastic'; got method={self.method!r}. {hint}")

    @property
    def counts_suffice(self) -> bool:
        """Whether rows without a hole need no ascent, because counting them gives the same tables."""
        return self.target is None

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
        """Return the network with the best tables found, and the way to it.

        Parameters
        ----------
        dag, frame, prior, hidden, random_state, n_jobs, progress
            As for :func:`fit_parameters`.
        start : BayesianNetwork, optional
            Tables to begin from (a warm start). Without one it begins at the estimates from the rows in which each
            family is complete, and at random tables where a variable is never observed.

        Returns
        -------
        Fit
            With a target, the log-likelihoods in it are those of the class given the rest (which BIC is not made
            for), and ``n_rows`` counts the rows with a class. After Ctrl-C it is the best so far.
        """
        graph, table = graph_and_table(dag, frame, hidden)
        problem = prepare(graph, table, as_prior(prior, graph.nodes), n_jobs=n_jobs)
        task = _Task(self, problem, table, n_jobs, np.random.default_rng(entropy_of(random_state)))
        with watched(progress) as report:
            climb = task.best(start, report)
        if not climb.converged and not climb.note:
            _warn_unsettled(climb, self, task.weight)
        net = problem.network(climb.best.tables, climb.best.expected.counts)
        if self.target is not None:
            net = _without_counts(net)
        return Fit(net, tuple(climb.trace), climb.converged, task.weight, note=climb.note)


class _Task:
    """What is to be maximised, over which rows, and how."""

    def __init__(
        self, settings: GradientAscent, problem: Incomplete, table: Table, n_jobs: int | None, rng: np.random.Generator
    ) -> None:
        self.settings, self.problem, self.rng, self._n_jobs = settings, problem, rng, n_jobs
        self.codes, self.weights = problem.rows.codes, table.weights
        self.class_index: int | None = None
        self.weight = problem.weight
        self.rows: CountedRows = problem.rows
        if settings.target is not None:
            self.class_index = _class_index(problem, settings.target)
            self.codes, self.weights = classified(self.codes, self.weights, self.class_index)
            self.weight = _checked_weight(self.codes, self.weights, settings.target)
            self.rows = self._prepared(self.codes, self.weights)

    def best(self, start: BayesianNetwork | None, report: Report | None) -> Climb:
        """Return the climb that is kept: each start goes a few iterations, and the best of them to its end."""
        began, best = perf_counter(), None
        starts, batches = self.problem.starts(start, self.settings.restarts, self.rng), self._batches()
        try:
            for tables in starts:
                climb = self._climb(tables, began)
                best = climb if best is None else best
                if len(starts) > 1:
                    self._go(climb.until(min(_TRIAL, self.settings.max_iterations), report), batches)
                best = max(best, climb, key=lambda c: c.best.objective)
            assert best is not None
            self._go(best.until(self.settings.max_iterations, report), batches)
        except KeyboardInterrupt:
            if best is None:
                raise
            best.note = INTERRUPTED
        return best

    def _go(self, climb: Climb, batches: Sequence[CountedRows]) -> None:
        if self.settings.method == "l-bfgs":
            climb_by_lbfgs(climb)
        elif self.settings.method == "gradient":
            climb_steepest(climb)
        else:
            climb_stochastically(climb, batches, self.settings.step or _STEP, self.rng)

    def _climb(self, tables: np.ndarray, began: float) -> Climb:
        """Return a climb that begins at these tables; raise when they make a row impossible."""
        climb = Climb(Hill(self.problem, self.rows, tables), self.settings.tolerance * self.weight, began)
        self.problem.check_start(tables, climb.best.objective)
        return climb

    def _batches(self) -> list[CountedRows]:
        """Return the rows in batches, dealt out at random once."""
        if self.settings.method != "stochastic":
            return []
        order, weights = self.rng.permutation(self.codes.shape[1]), self.weights
        pieces = [order[a:b] for a, b in row_pieces(len(order), self.settings.batch_rows or _BATCH_ROWS)]
        terms = 1 if self.class_index is None else 2
        n_bytes = terms * (4.0 * self.codes.size + 8.0 * len(pieces) * len(self.problem.start.tables))
        check_memory("the batches of rows", n_bytes, ways_out="Raise batch_rows, or use method='l-bfgs'.")
        return [self._prepared(self.codes[:, i], None if weights is None else weights[i]) for i in pieces]

    def _prepared(self, codes: np.ndarray, weights: np.ndarray | None) -> CountedRows:
        if self.class_index is None:
            return IncompleteRows(self.problem.start, codes, weights, n_jobs=self._n_jobs)
        return ClassifiedRows(self.problem.start, codes, weights, target=self.class_index, n_jobs=self._n_jobs)


def _class_index(problem: Incomplete, target: str) -> int:
    names = [variable.name for variable in problem.start.variables]
    if target not in names:
        raise DataError(f"target must name a node of the graph; got {target!r}. {did_you_mean(target, names)}")
    return names.index(target)


def _checked_weight(codes: np.ndarray, weights: np.ndarray | None, target: str) -> float:
    weight = float(codes.shape[1] if weights is None else weights.sum())
    if weight <= 0.0:
        hint = "Leave target out to maximise the likelihood of the rows."
        raise DataError(f"target must be known in some row; {target!r} is missing in all. {hint}")
    return weight


def _without_counts(net: BayesianNetwork) -> BayesianNetwork:
    """Return a network with nothing behind its tables."""
    return BayesianNetwork.from_tables([CPT._trusted(c.variable, c.parents, c.table()) for c in net.cpts.values()])


def _warn_unsettled(climb: Climb, settings: GradientAscent, weight: float) -> None:
    last = climb.trace[-1].objective - climb.trace[-2].objective if len(climb.trace) > 1 else np.inf
    warn_user(
        f"gradient ascent did not settle within {counted(settings.max_iterations, 'iteration')}: the last raised the "
        f"objective by {last / max(weight, 1.0):.2g} a row, and the tolerance is {settings.tolerance:g}. Raise "
        "max_iterations or the tolerance.",
        ConvergenceWarning,
    )
