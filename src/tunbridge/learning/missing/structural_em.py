"""Structural EM: a graph and its tables together, from rows with values missing at random.

For one graph G, EM finds the tables θ with the highest likelihood of the observed values. Running EM for every graph
that a search visits would take far too long, so search and expectation alternate:

* **tables** θ of the current graph by EM, on the incomplete rows;
* **completion** of the rows under (G, θ): missing values are drawn several times from their exact distribution given
  the rest of the row (:mod:`tunbridge.learning.missing.completions`);
* **search** on the completed rows: once from the current graph and once from the graph of the required arcs, because
  the drawn values favour the current graph;
* the graph found is **accepted** if its own score on the incomplete rows is higher, and the next round begins.

The score of a graph on incomplete rows is that of its expected counts n, corrected by the difference of the
log-likelihoods of the incomplete and the completed rows,

    S(G) = Σ_families score(n) + ln P(rows | θ) − Σ n_jk ln θ_jk

(Cheeseman and Stutz 1996; for the Bayesian scores Friedman 1998). If nothing is missing the last two terms cancel. For
BIC it is the maximal log-likelihood less ½ ln N for every parameter. The score rises in every round, so the result is
never worse than the start: the graph learned with the score «nal», which uses the rows in which a family is complete,
unless another graph is given.

References
----------
N. Friedman (1997). Learning belief networks in the presence of missing values and hidden variables. Proceedings of the
14th International Conference on Machine Learning, 125–133.
N. Friedman (1998). The Bayesian structural EM algorithm. Proceedings of the 14th Conference on Uncertainty in
Artificial Intelligence, 129–138.
P. Cheeseman, J. Stutz (1996). Bayesian classification (AutoClass): theory and results. In: Advances in Knowledge
Discovery and Data Mining, AAAI Press, 153–180.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
from scipy.special import xlogy

from tunbridge._core.check import check_integer, counted, shortened, warn_user
from tunbridge._core.grid import data_frame
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.data import Table
from tunbridge.errors import ConvergenceWarning, DataError, MemoryForecastError
from tunbridge.graph import DAG
from tunbridge.learning.constraints import CompiledConstraints, Constraints
from tunbridge.learning.learned import LearnedDAG
from tunbridge.learning.missing.completions import complete
from tunbridge.learning.missing.em import EM
from tunbridge.learning.missing.fitting import Fitter, Hidden, graph_and_table
from tunbridge.learning.missing.incomplete import DiscreteProblem, table_sizes
from tunbridge.learning.parameters.fit import fit_parameters
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.scores.discrete import LogLikelihood, NodeAverage, Score, as_score
from tunbridge.learning.searches.problem import Progress, Report, Search, watched
from tunbridge.learning.structure import (
    as_search,
    checked_table,
    compiled_constraints,
    graph_of,
    learn_structure,
    network_table,
)
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    import pandas

INTERRUPTED = "interrupted: the best network so far"

_PATIENCE = 2  # rounds without a better graph, each with its own draws
_LEAST_RISE = 1e-6  # per row
_USUAL, _LEAST, _MANY_ROWS = 10, 3, 1_000_000  # completions, and how many completed rows are enough
_OCCURS = 0.5  # expected rows of a configuration that counts as occurring
_EM_BYTES = 8.0 * 12  # per cell of the tables, with its counts, pseudo-counts and logarithms
_WAYS_OUT = "Set max_parents, or use a score that penalises parameters."
_DRAWS, _SEARCH, _FIRST, _TABLES = range(4)  # what a seed is for


@dataclass(frozen=True)
class StructuralStep:
    """An accepted graph; each has a higher score than the one before.

    Parameters
    ----------
    score : float
        The score of the graph on the incomplete rows.
    log_likelihood : float
        The log-likelihood of the observed values.
    n_arcs : int
        The number of arcs.
    round : int
        The round that found it; 0 is the start.
    seconds : float
        The time from the start.
    """

    score: float
    log_likelihood: float
    n_arcs: int
    round: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class StructuralFit:
    """A network whose graph and tables were learned together, and the accepted graphs.

    Attributes
    ----------
    network : BayesianNetwork
        The network.
    trace : tuple of StructuralStep
        The start and every better graph after it; the last is that of the network.
    converged : bool
        Whether it stopped because no better graph was found.
    criterion, search : str
        The names of the score and the search.
    note : str
        How it ended, if it did not converge.
    """

    network: BayesianNetwork
    trace: tuple[StructuralStep, ...]
    converged: bool
    criterion: str
    search: str
    note: str = ""

    @property
    def score(self) -> float:
        """The score of the graph on the incomplete rows."""
        return self.trace[-1].score

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the observed values."""
        return self.trace[-1].log_likelihood

    def to_pandas(self) -> pandas.DataFrame:
        """Return the accepted graphs as a pandas.DataFrame with the fields of :class:`StructuralStep`."""
        return data_frame({f.name: [getattr(step, f.name) for step in self.trace] for f in fields(StructuralStep)})

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.note or "not converged"
        n = len(self.trace) - 1
        graph = f"after {counted(n, 'better graph')}" if n else "with the graph of the start"
        return f"StructuralFit: {self.criterion} {self.score:.6g} {graph} ({how})\n{self.network!r}"


@dataclass(frozen=True)
class StructuralEM:
    """Structural EM: learn a graph and its tables from rows with missing values.

    Parameters
    ----------
    search, score : str or object
        As for :func:`learn_structure`.
    rounds : int
        The maximum number of rounds; it ends earlier when two in a row find nothing better.
    completions : int, optional
        How many times each row is completed for the search; default: 10, down to 3 for many rows.
    em : EM or GradientAscent
        The method that fits the tables of a graph.

    Examples
    --------
    >>> import numpy as np
    >>> import tunbridge as tb
    >>> frame = tb.example_network("asia").sample(2000, random_state=1).to_pandas()
    >>> incomplete = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    >>> fit = tb.StructuralEM().fit(incomplete, random_state=1)
    >>> sorted(fit.network.dag.parents("dysp"))
    ['bronc', 'either']
    """

    search: str | Search = "hill-climbing"
    score: str | Score = "bic"
    rounds: int = 20
    completions: int | None = None
    em: Fitter = field(default_factory=EM)

    def __post_init__(self) -> None:
        as_score(self.score)
        if getattr(as_search(self.search), "checkpoint", None) is not None:
            rule = "search must not have a checkpoint, because the rows change from round to round; got one"
            raise DataError(f"{rule}.", parameter="search")
        check_integer("rounds", self.rounds, low=1)
        check_integer("completions", self.completions, low=1, optional=True)
        if not isinstance(self.em, Fitter):
            raise DataError(f"em must be a fitter such as tb.EM(); got {shortened(repr(self.em))}.", parameter="em")

    def fit(
        self,
        frame: object,
        prior: Prior = DEFAULT_PRIOR,
        *,
        constraints: Constraints | None = None,
        max_parents: int | None = None,
        start: DAG | BayesianNetwork | None = None,
        hidden: Hidden | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: Progress = None,
    ) -> StructuralFit:
        """Return the network whose graph and tables were learned together, and the accepted graphs.

        Parameters
        ----------
        frame : Table or any frame
            Categorical columns; values may be missing at random.
        prior
            As for :func:`fit_parameters`.
        constraints, max_parents
            As for :func:`learn_structure`; they may name hidden variables.
        start : DAG or BayesianNetwork, optional
            The graph to start from, and the tables too if it is a network. Default: the graph learned with the score
            «nal»; with hidden variables, arcs from these to all others.
        hidden : mapping of str to int or list of states, optional
            Hidden variables, with the number of their states or the states.
        random_state : int, Generator, optional
            The random seed. The result does not depend on the number of threads.
        n_jobs : int, optional
            The number of threads; default: all cores.
        progress : callable or False, optional
            A function that is called with a short text and the current score. Default: a line in a terminal or
            notebook; ``False`` shows nothing.

        Returns
        -------
        StructuralFit
            After Ctrl-C it is the best so far. If nothing is missing it is what :func:`learn_structure` and
            :func:`fit_parameters` return.
        """
        table = _with_hidden(checked_table(network_table(frame, hidden or ())), hidden)
        as_prior(prior, table.names)
        known = compiled_constraints(constraints, table, max_parents)
        search = as_search(self.search)
        score = (as_score(self.score) if search.is_scored else LogLikelihood()).for_variables(table.n_columns)
        limits: _Limits = {"constraints": constraints, "max_parents": max_parents, "n_jobs": n_jobs}
        with watched(progress) as report:
            task = Task(self, search, score, table, prior, known, limits, entropy_of(random_state), report)
            found = task.alternate(start, tuple(hidden or ())) if table.missing else task.complete_case(start)
        if table.missing and not found.converged and not found.note:
            last = found.trace[-1].score - found.trace[-2].score if len(found.trace) > 1 else 0.0
            warn_user(
                f"structural EM did not converge in {counted(self.rounds, 'round')}: the last better graph raised the "
                f"score by {last:.3g}. Raise rounds.",
                ConvergenceWarning,
            )
        return found


def _with_hidden(table: Table, hidden: Hidden | None) -> Table:
    """Return a table with a column for each hidden variable."""
    names = dict.fromkeys([*table.names, *(hidden if hidden is not None else ())])
    return graph_and_table(DAG(names), table, hidden)[1]


class _Limits(TypedDict):
    """The options that every search gets."""

    constraints: Constraints | None
    max_parents: int | None
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class _Present:
    """A network with its score and log-likelihood on the incomplete rows."""

    network: BayesianNetwork
    score: float
    log_likelihood: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Task:
    """The data, the settings, and the steps of structural EM."""

    settings: StructuralEM
    search: Search
    score: Score
    table: Table
    prior: Prior
    known: CompiledConstraints
    limits: _Limits
    entropy: int
    report: Report | None
    began: float = field(default_factory=perf_counter)

    def alternate(self, start: DAG | BayesianNetwork | None, hidden: tuple[str, ...]) -> StructuralFit:
        """Complete, search and fit in turn, until two rounds in a row find nothing better."""
        best = self.beginning(start, hidden)
        weight = self.table.n_rows if self.table.weights is None else float(self.table.weights.sum())
        trace, stale, note, n_round = [self._step(best, 0)], 0, best.note and INTERRUPTED, 0
        try:
            while not note and stale < _PATIENCE and n_round < self.settings.rounds:
                n_round += 1
                found = self.turn(best, n_round)
                if found is None or found.score <= best.score + _LEAST_RISE * weight:
                    stale += 1
                    note = INTERRUPTED if found is not None and found.note else ""
                    continue
                best, stale, note = found, 0, found.note and INTERRUPTED
                trace.append(self._step(best, n_round))
        except KeyboardInterrupt:
            note = INTERRUPTED
        except MemoryForecastError as error:
            note = f"stopped because of insufficient memory: {error}"
        return self._result(best.network, trace, note, converged=stale > 0 and not note)

    def _step(self, present: _Present, n_round: int) -> StructuralStep:
        n_arcs, seconds = present.network.dag.n_arcs, perf_counter() - self.began
        return StructuralStep(present.score, present.log_likelihood, n_arcs, n_round, seconds)

    def _result(
        self, network: BayesianNetwork, trace: list[StructuralStep], note: str, *, converged: bool
    ) -> StructuralFit:
        return StructuralFit(network, tuple(trace), converged, self.score.name, self.search.name, note)

    def complete_case(self, start: DAG | BayesianNetwork | None) -> StructuralFit:
        """Return the network for a table without missing values."""
        first, n_jobs = start.dag if isinstance(start, BayesianNetwork) else start, self.limits["n_jobs"]
        dag = learn_structure(
            self.table, self.score, self.search, start=first, random_state=self.entropy,
            progress=self.report or False, **self.limits,
        )  # fmt: skip
        net = fit_parameters(dag, self.table, self.prior, n_jobs=n_jobs)
        each = net.log_likelihood(self.table, n_jobs=n_jobs)
        total = float(each.sum() if self.table.weights is None else each @ self.table.weights)
        found = _Present(net, dag.score if self.search.is_scored else total, total)
        return self._result(net, [self._step(found, 0)], dag.note, converged=not _is_interrupted(dag))

    def _seed(self, *what: int) -> int:
        """Return the seed for a part of the work."""
        return int(np.random.SeedSequence(self.entropy, spawn_key=what).generate_state(1, np.uint64)[0])

    def _reporting(self, where: str) -> Report | Literal[False]:
        """Return a report whose texts begin with the part of the work."""
        report = self.report
        return False if report is None else lambda what, score: report(f"{where}, {what}", score)

    # One round

    def turn(self, best: _Present, n_round: int) -> _Present | None:
        """Return the network of the graph that a search on completed rows finds; None if it is the current graph."""
        if self.report is not None:
            self.report(f"round {n_round}, completing rows", best.score)
        times = self.settings.completions or min(_USUAL, max(_LEAST, _MANY_ROWS // self.table.n_rows))
        rows, score = complete(
            best.network, self.table, self.score, times=times, entropy=self._seed(n_round, _DRAWS),
            merge=not self.search.is_scored, n_jobs=self.limits["n_jobs"],
        )  # fmt: skip
        dag = self._searched(rows, score, DAG(rows.names, best.network.dag.arcs), n_round)
        if set(dag.arcs) == set(best.network.dag.arcs):
            return None
        return self.fitted(dag, fit_parameters(dag, rows, n_jobs=self.limits["n_jobs"]), n_round)

    def _searched(self, rows: Table, score: Score, current: DAG, n_round: int) -> DAG:
        """Return the best graph for completed rows, from the current graph and from that of the required arcs."""
        starts = [current, None] if self.search.is_scored and self.search.uses_start else [current]
        seed, progress = self._seed(n_round, _SEARCH), self._reporting(f"round {n_round}")
        found = [
            learn_structure(rows, score, self.search, start=s, random_state=seed, progress=progress, **self.limits)
            for s in starts
        ]
        if any(map(_is_interrupted, found)):
            raise KeyboardInterrupt
        return max(found, key=lambda dag: dag.score) if len(found) > 1 else found[0]

    def fitted(self, dag: DAG, start: BayesianNetwork | None, n_round: int) -> _Present:
        """Return the network of a graph with tables by EM, and its score on the incomplete rows."""
        n_jobs, size = self.limits["n_jobs"], sum(table_sizes(dag, self.table))
        check_memory("EM on the tables of a graph", _EM_BYTES * size, ways_out=_WAYS_OUT)
        found = self.settings.em.fit(
            DAG(self.table.names, dag.arcs), self.table, self.prior, start=start, n_jobs=n_jobs,
            random_state=self._seed(n_round, _TABLES), progress=self._reporting(f"round {n_round}"),
        )  # fmt: skip
        problem = DiscreteProblem(found.network.dag, self.table, as_prior(self.prior), n_jobs)
        score, log_likelihood = _observed_score(problem, problem.tables_of(found.network), self.score)
        if self.known.arc_bonus is not None:
            place = {name: i for i, name in enumerate(self.known.names)}
            score += float(sum(self.known.arc_bonus[place[a], place[b]] for a, b in dag.arcs))
        return _Present(found.network, score, log_likelihood, found.note)

    # The start

    def beginning(self, start: DAG | BayesianNetwork | None, hidden: tuple[str, ...]) -> _Present:
        """Return the first network."""
        if start is None and not hidden:
            found = self._available()
            present = self.fitted(found, None, 0)
            return replace(present, note=found.note) if _is_interrupted(found) else present
        dag = self._star(hidden) if start is None else start.dag if isinstance(start, BayesianNetwork) else start
        self.known.check_graph(graph_of(dag, self.known.names))
        return self.fitted(dag, start if isinstance(start, BayesianNetwork) else None, 0)

    def _required(self) -> DAG:
        """Return the graph of the required arcs."""
        names = self.known.names
        return DAG(self.table.names, [(names[p], names[x]) for x, ps in enumerate(self.known.required) for p in ps])

    def _available(self) -> LearnedDAG:
        """Return the graph learned from the rows in which each family is complete, else the required arcs."""
        seed = self._seed(0, _FIRST)
        try:
            return learn_structure(
                self.table, NodeAverage(), self.search, random_state=seed, progress=self._reporting("start"),
                **self.limits,
            )  # fmt: skip
        except DataError:
            if not any(self.known.required):
                raise
            # no row has all values of a required family
            return LearnedDAG(self.table.names, self._required().arcs, family_scores={})

    def _star(self, hidden: tuple[str, ...]) -> DAG:
        """Return a graph with arcs from the hidden variables to all others, as far as they are allowed."""
        dag, known = self._required(), self.known
        place = {name: i for i, name in enumerate(known.names)}
        for h in hidden:
            for name in self.table.names:
                allowed = known.allowed is None or known.allowed[place[h], place[name]]
                few = len(dag.parents(name)) < known.max_parents[place[name]]
                if name not in hidden and allowed and few and not dag.has_arc(h, name) and name not in dag.ancestors(h):
                    dag = dag.add_arc(h, name)
        return dag


def _is_interrupted(dag: LearnedDAG) -> bool:
    """Return whether a search was ended by Ctrl-C."""
    return dag.note.startswith("interrupted")


def _observed_score(problem: DiscreteProblem, tables: np.ndarray, score: Score) -> tuple[float, float]:
    """Return the score of a graph on rows with missing values, and the log-likelihood of its tables.

    Parameters
    ----------
    problem : DiscreteProblem
        The graph and the rows.
    tables : ndarray
        The tables, by EM.
    score : Score
        The score.

    Notes
    -----
    For penalised likelihoods it lies between the scores with these tables and with the best ones, and equals both where
    EM without a prior has converged.
    """
    expected, flat = problem.expected(tables), problem.start
    value = expected.log_likelihood - float(xlogy(expected.counts, tables).sum())
    for v in range(flat.n_variables):
        r = int(flat.n_states[v])
        n = expected.counts[flat.table_start[v] : flat.table_start[v + 1]].reshape(-1, r)
        sums = n.sum(axis=1)
        q = float(max(1, int((sums >= _OCCURS).sum())) if score.is_of_occurring else len(n))
        value += float(score.cell(n, q, r).sum() - score.row(sums, q, r).sum() - score.penalty(q, r, problem.weight))
    return value, expected.log_likelihood
