"""What structural EM is made of: where it begins, and one turn of completing rows, searching and fitting tables.

How the turns make the method is in :mod:`tunbridge.learning.structural_em`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from time import perf_counter
from typing import Any, Literal

import numpy as np
from scipy.special import xlogy

from tunbridge._memory import check_memory
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning.completions import Completion, complete
from tunbridge.learning.exact import Exact
from tunbridge.learning.fitting import Fitter
from tunbridge.learning.incomplete import Incomplete, prepare
from tunbridge.learning.learned import LearnedDAG
from tunbridge.learning.orders import OrderSearch
from tunbridge.learning.parameters import fit_parameters
from tunbridge.learning.priors import Prior, as_prior
from tunbridge.learning.problem import Search
from tunbridge.learning.progress import Report
from tunbridge.learning.rules import CompiledConstraints
from tunbridge.learning.scores import NodeAverage, Score
from tunbridge.learning.structure import graph_of, learn_structure
from tunbridge.network import BayesianNetwork

_USUAL, _LEAST, _MANY_ROWS = 10, 3, 1_000_000  # completions, and how many completed rows are plenty
_STARTLESS = (Exact, OrderSearch)  # searches that find the same wherever they start
_OCCURS = 0.5  # expected rows of a configuration that counts as one that occurs
_EM_BYTES = 8.0 * 12  # an entry of the tables, with its counts, pseudo-counts, logarithms and leaps
_WAYS_OUT = "Set max_parents, or take a score that charges for parameters."
_DRAWS, _SEARCH, _FIRST, _TABLES = range(4)


@dataclass(frozen=True, eq=False)
class Present:
    """A network on the way, and what it reaches."""

    network: BayesianNetwork
    score: float
    log_likelihood: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class Task:
    """What is searched for, in what, and how."""

    search: Search
    score: Score
    table: Table
    prior: Prior
    known: CompiledConstraints
    limits: dict[str, Any]
    entropy: int
    em: Fitter
    completions: int | None
    report: Report | None
    began: float = field(default_factory=perf_counter)

    @property
    def weight(self) -> float:
        """The weight of all rows together."""
        return float(self.table.n_rows if self.table.weights is None else self.table.weights.sum())

    def seed(self, *what: int) -> int:
        """Return the seed for some part of the work."""
        return int(np.random.SeedSequence(self.entropy, spawn_key=what).generate_state(1, np.uint64)[0])

    def reporting(self, where: str) -> Report | Literal[False]:
        """Return what is told of a part of the work, with a word on where we are."""
        report = self.report
        return False if report is None else lambda what, score: report(f"{where}, {what}", score)

    def turn(self, best: Present, n_round: int) -> Present | None:
        """Return the network of the graph that a search on completed rows finds; None for the graph that is there."""
        if self.report is not None:
            self.report(f"round {n_round}, completing rows", best.score)
        rows = self.completed(best.network, n_round)
        dag = self.searched(rows, DAG(rows.table.names, best.network.dag.arcs), n_round)
        if set(dag.arcs) == set(best.network.dag.arcs):
            return None
        return self.fitted(dag, fit_parameters(dag, rows.table, n_jobs=self.limits["n_jobs"]), n_round)

    def searched(self, rows: Completion, start: DAG, n_round: int) -> DAG:
        """Return the best graph for completed rows, from the present graph and from the smallest one."""
        starts: list[DAG | None] = [start, None]
        if not self.search.is_scored or isinstance(self.search, _STARTLESS):
            starts = [start]
        how = {
            "random_state": self.seed(n_round, _SEARCH),
            "progress": self.reporting(f"round {n_round}"),
            **self.limits,
        }
        found = [learn_structure(rows.table, rows.score, self.search, start=s, **how) for s in starts]
        if any(map(is_interrupted, found)):
            raise KeyboardInterrupt
        return max(found, key=lambda dag: dag.score) if len(found) > 1 else found[0]

    def completed(self, net: BayesianNetwork, n_round: int) -> Completion:
        """Return the rows completed under a network."""
        times = self.completions
        if times is None:
            times = min(_USUAL, max(_LEAST, _MANY_ROWS // self.table.n_rows))
        return complete(
            net, self.table, self.score, times=times, entropy=self.seed(n_round, _DRAWS),
            merge=not self.search.is_scored, n_jobs=self.limits["n_jobs"],
        )  # fmt: skip

    def fitted(self, dag: DAG, start: BayesianNetwork | None, n_round: int) -> Present:
        """Return the network of a graph with tables by EM, and its score on the rows as they are."""
        n_jobs = self.limits["n_jobs"]
        check_tables(dag, self.table)
        found = self.em.fit(
            DAG(self.table.names, dag.arcs), self.table, self.prior, start=start, n_jobs=n_jobs,
            random_state=self.seed(n_round, _TABLES), progress=self.reporting(f"round {n_round}"),
        )  # fmt: skip
        problem = prepare(found.network.dag, self.table, as_prior(self.prior), n_jobs=n_jobs)
        score, log_likelihood = observed_score(problem, problem.tables_of(found.network), self.score)
        bonus = 0.0
        if self.known.arc_bonus is not None:
            place = {name: i for i, name in enumerate(self.known.names)}
            bonus = float(sum(self.known.arc_bonus[place[a], place[b]] for a, b in dag.arcs))
        return Present(found.network, score + bonus, log_likelihood, found.note)


def check_tables(dag: DAG, table: Table) -> None:
    """Raise where EM would not have the room for the dense tables of a graph, of which it keeps several."""
    states = {variable.name: variable.n_states for variable in table.variables}
    size = sum(prod(states[name] for name in (*dag.parents(node), node)) for node in dag.nodes)
    check_memory("EM on the tables of a graph", _EM_BYTES * size, ways_out=_WAYS_OUT)


def is_interrupted(dag: LearnedDAG) -> bool:
    """Return whether a search was ended by Ctrl-C."""
    return dag.note.startswith("interrupted")


def observed_score(problem: Incomplete, tables: np.ndarray, score: Score) -> tuple[float, float]:
    """Return the score of a graph on rows with holes, and the log-likelihood of its tables.

    Parameters
    ----------
    problem : Incomplete
        The graph and the rows.
    tables : ndarray
        The tables, by EM.
    score : Score
        The score.

    Notes
    -----
    For scores that are a penalised likelihood it lies between those of these tables and of the best ones, and equals
    both where EM without a prior has settled.
    """
    expected, flat = problem.rows.expected_counts(tables), problem.start
    value = expected.log_likelihood - float(xlogy(expected.counts, tables).sum())
    for v in range(flat.n_variables):
        r = int(flat.n_states[v])
        n = expected.counts[flat.table_start[v] : flat.table_start[v + 1]].reshape(-1, r)
        sums = n.sum(axis=1)
        q = float(max(1, int((sums >= _OCCURS).sum())) if score.is_of_occurring else len(n))
        value += float(score.cell(n, q, r).sum() - score.row(sums, q, r).sum() - score.penalty(q, r, problem.weight))
    return value, expected.log_likelihood


# Where it begins


def beginning(task: Task, start: DAG | BayesianNetwork | None, hidden: tuple[str, ...]) -> Present:
    """Return the first network."""
    if start is None and not hidden:
        found = _available(task)
        present = task.fitted(found, None, 0)
        return replace(present, note=found.note) if is_interrupted(found) else present
    dag = _star(task, hidden) if start is None else start.dag if isinstance(start, BayesianNetwork) else start
    task.known.check_graph(graph_of(dag, task.known.names))
    return task.fitted(dag, start if isinstance(start, BayesianNetwork) else None, 0)


def _smallest(task: Task) -> DAG:
    """Return the graph of the required arcs alone."""
    names = task.known.names
    return DAG(task.table.names, [(names[p], names[x]) for x, ps in enumerate(task.known.smallest_graph) for p in ps])


def _available(task: Task) -> LearnedDAG:
    """Return what a search finds good for the rows in which a family is complete; where it cannot, the least graph."""
    how = {"random_state": task.seed(0, _FIRST), "progress": task.reporting("start"), **task.limits}
    try:
        return learn_structure(task.table, NodeAverage(), task.search, **how)
    except DataError:
        if not any(task.known.required):
            raise
        # no row has all cells of a required family
        return LearnedDAG(task.table.names, _smallest(task).arcs, family_scores={})


def _star(task: Task, hidden: tuple[str, ...]) -> DAG:
    """Return a graph with arcs from the hidden variables to all others, as far as they may be."""
    dag, known = _smallest(task), task.known
    place = {name: i for i, name in enumerate(known.names)}
    for h in hidden:
        for name in task.table.names:
            may = known.allowed is None or known.allowed[place[h], place[name]]
            few = len(dag.parents(name)) < known.max_parents[place[name]]
            if name not in hidden and may and few and not dag.has_arc(h, name) and name not in dag.ancestors(h):
                dag = dag.add_arc(h, name)
    return dag
