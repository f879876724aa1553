"""Structural EM: a graph and its tables together, from rows with holes that are missing at random.

For one graph G, EM finds the tables θ under which what was observed is most probable. To do that for every graph that a
search looks at would take far too long, so search and expectation take turns:

* **tables** θ of the present graph by EM, on the rows as they are;
* **completion** of the rows under (G, θ): what is missing is drawn from its exact distribution given the rest of the
  row, several times (:mod:`tunbridge.learning.completions`);
* **search** on the completed rows, where scores are as quick as ever: once from the present graph and once from the
  smallest one, because the present graph has left its mark on what was drawn;
* the graph found is **taken** if its own score on the rows as they are is higher, and the next turn begins.

The score of a graph on incomplete rows is the one that its expected counts n have, corrected by how much more the rows
as they are tell about θ than the completed ones do,

    S(G) = Σ_families score(n) + ln P(rows | θ) − Σ n_jk ln θ_jk

(Cheeseman and Stutz 1996; for the Bayesian scores Friedman 1998). Where nothing is missing the last two terms cancel.
For BIC it is the log-likelihood at its maximum less ½ ln N for every parameter. This score rises in every round, so the
result is never worse than the start: the graph that the rows with complete families suggest (the score «nal»), unless
another one is given.

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

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

from tunbridge._check import check_whole, counted, shortened, warn_user
from tunbridge.data import Table
from tunbridge.errors import ConvergenceWarning, DataError, MemoryForecastError
from tunbridge.graph import DAG
from tunbridge.inference.forward import entropy_of
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.em import EM
from tunbridge.learning.fitting import Fitter, Hidden, graph_and_table
from tunbridge.learning.parameters import fit_parameters
from tunbridge.learning.priors import DEFAULT_PRIOR, Prior, as_prior
from tunbridge.learning.problem import Search
from tunbridge.learning.progress import Report, watched
from tunbridge.learning.scores import LogLikelihood, Score, as_score
from tunbridge.learning.structural_turns import Present, Task, beginning, is_interrupted
from tunbridge.learning.structure import as_search, checked_constraints, checked_table, learn_structure, network_table
from tunbridge.network import BayesianNetwork

INTERRUPTED = "interrupted: the best network so far"

_PATIENCE = 2  # rounds without a better graph, each with draws of its own
_LEAST_RISE = 1e-6  # a row


@dataclass(frozen=True)
class StructuralStep:
    """A graph on the way, each with a higher score than the one before.

    Parameters
    ----------
    score : float
        The score of the graph on the rows as they are.
    log_likelihood : float
        The natural logarithm of the probability of what was observed.
    n_arcs : int
        The arcs of the graph.
    round : int
        The round that found it; 0 is the start.
    seconds : float
        When it was reached, from the start.
    """

    score: float
    log_likelihood: float
    n_arcs: int
    round: int
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class StructuralFit:
    """A network whose graph and tables were found together, and the way to it.

    Attributes
    ----------
    network : BayesianNetwork
        The network.
    trace : tuple of StructuralStep
        The start and every better graph after it; the last is that of the network.
    converged : bool
        Whether no better graph was found before the limit.
    criterion, search : str
        The names of the score and the search.
    note : str
        A word about how it ended, where there is something to say.
    """

    network: BayesianNetwork
    trace: tuple[StructuralStep, ...]
    converged: bool
    criterion: str
    search: str
    note: str = ""

    @property
    def score(self) -> float:
        """The score of the graph on the rows as they are."""
        return self.trace[-1].score

    @property
    def log_likelihood(self) -> float:
        """The natural logarithm of the probability of what was observed."""
        return self.trace[-1].log_likelihood

    def __repr__(self) -> str:
        how = "converged" if self.converged else self.note or "not converged"
        n = len(self.trace) - 1
        graph = f"after {counted(n, 'better graph')}" if n else "with the graph of the start"
        return f"StructuralFit: {self.criterion} {self.score:.6g} {graph} ({how})\n{self.network!r}"


@dataclass(frozen=True)
class StructuralEM:
    """Structural EM, with its options.

    Parameters
    ----------
    search, score : str or object
        As for :func:`learn_structure`.
    rounds : int
        The most rounds; it ends earlier when two in a row find nothing better.
    completions : int, optional
        How often each row is completed for the search; 10 unless given, and down to 3 where the rows are many.
    em : EM or GradientAscent
        How the tables of a graph are found.

    Examples
    --------
    >>> import numpy as np
    >>> import tunbridge as tb
    >>> frame = tb.example_network("asia").sample(2000, random_state=1).to_pandas()
    >>> holes = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2)
    >>> fit = tb.StructuralEM().fit(holes, random_state=1)
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
            raise DataError("search must keep no checkpoint, since the rows change from round to round; got one.")
        check_whole("rounds", self.rounds, low=1)
        check_whole("completions", self.completions, low=1, optional=True)
        if not isinstance(self.em, Fitter):
            raise DataError(f"em must be a fitter such as tb.EM(); got {shortened(repr(self.em))}.")

    def fit(
        self,
        frame: Any,
        prior: Prior = DEFAULT_PRIOR,
        *,
        constraints: Constraints | None = None,
        max_parents: int | None = None,
        start: DAG | BayesianNetwork | None = None,
        hidden: Hidden | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Report | Literal[False] | None = None,
    ) -> StructuralFit:
        """Return the network whose graph and tables were found together, and the way to it.

        Parameters
        ----------
        frame : Table or any frame
            Categorical columns; cells may be missing at random.
        prior
            As for :func:`fit_parameters`.
        constraints, max_parents
            As for :func:`learn_structure`; they may name hidden variables.
        start : DAG or BayesianNetwork, optional
            The graph to begin with, and the tables too if it is a network. Unless given it is what a search by the
            score «nal» finds; with hidden variables, arcs from these to all others.
        hidden : mapping of str to int or list of states, optional
            Variables that are never observed, with the number of their states or the states.
        random_state : int, Generator, optional
            For what is drawn. Equal seeds give equal results, whatever the number of threads.
        n_jobs : int, optional
            Threads; all cores unless given.
        progress : callable or False, optional
            Called with a word on what is going on and the present score. Unless given, a line in the terminal shows
            it; ``False`` keeps silent.

        Returns
        -------
        StructuralFit
            After Ctrl-C it is the best so far. Where nothing is missing it is what :func:`learn_structure` and
            :func:`fit_parameters` give.
        """
        table = _with_hidden(checked_table(network_table(frame, hidden or ())), hidden)
        as_prior(prior, table.names)
        known = checked_constraints(constraints).compile(tuple(sorted(table.names)), max_parents=max_parents)
        way = as_search(self.search)
        score = (as_score(self.score) if way.is_scored else LogLikelihood()).for_variables(table.n_columns)
        limits = {"constraints": constraints, "max_parents": max_parents, "n_jobs": n_jobs}
        with watched(progress) as report:
            task = Task(
                way, score, table, prior, known, limits, entropy_of(random_state), self.em, self.completions, report
            )
            if not table.missing:
                return _counted(task, start)
            found = _alternate(task, beginning(task, start, tuple(hidden or ())), self.rounds)
        if not found.converged and not found.note:
            _warn_unsettled(found, self.rounds)
        return found


def _with_hidden(table: Table, hidden: Hidden | None) -> Table:
    """Return a table with a column for each hidden variable, every cell missing."""
    names = dict.fromkeys([*table.names, *(hidden if hidden is not None else ())])
    return graph_and_table(DAG(names), table, hidden)[1]


def _counted(task: Task, start: DAG | BayesianNetwork | None) -> StructuralFit:
    """Return the network for a table without holes."""
    first = start.dag if isinstance(start, BayesianNetwork) else start
    progress: Report | Literal[False] = task.report or False
    dag = learn_structure(
        task.table, task.score, task.search, start=first, random_state=task.entropy, progress=progress, **task.limits
    )
    net = fit_parameters(dag, task.table, task.prior, n_jobs=task.limits["n_jobs"])
    each = net.log_likelihood(task.table, n_jobs=task.limits["n_jobs"])
    total = float(each.sum() if task.table.weights is None else each @ task.table.weights)
    score = dag.score if task.search.is_scored else total
    step = StructuralStep(score, total, dag.n_arcs, 0, perf_counter() - task.began)
    return StructuralFit(net, (step,), not is_interrupted(dag), task.score.name, task.search.name, dag.note)


# The rounds


def _alternate(task: Task, best: Present, rounds: int) -> StructuralFit:
    """Complete, search and fit in turn, as long as it helps."""
    trace, stale, note = [_step(task, best, 0)], 0, best.note and INTERRUPTED
    n_round = 0
    try:
        while not note and stale < _PATIENCE and n_round < rounds:
            n_round += 1
            found = task.turn(best, n_round)
            if found is None or found.score <= best.score + _LEAST_RISE * task.weight:
                stale += 1
                note = INTERRUPTED if found is not None and found.note else ""
                continue
            best, stale, note = found, 0, found.note and INTERRUPTED
            trace.append(_step(task, best, n_round))
    except KeyboardInterrupt:
        note = INTERRUPTED
    except MemoryForecastError as error:
        note = f"it ended for want of memory: {error}"
    done = stale > 0 and not note
    return StructuralFit(best.network, tuple(trace), done, task.score.name, task.search.name, note)


def _step(task: Task, present: Present, n_round: int) -> StructuralStep:
    arcs, seconds = present.network.dag.n_arcs, perf_counter() - task.began
    return StructuralStep(present.score, present.log_likelihood, arcs, n_round, seconds)


def _warn_unsettled(found: StructuralFit, rounds: int) -> None:
    last = found.trace[-1].score - found.trace[-2].score if len(found.trace) > 1 else 0.0
    warn_user(
        f"structural EM did not settle within {counted(rounds, 'round')}: the last better graph raised the score by "
        f"{last:.3g}. Raise rounds.",
        ConvergenceWarning,
    )
