"""Expectation–maximisation in networks of categories and numbers: tables and regressions from rows with holes.

Each iteration computes what the rows are expected to hold under the present network
(:mod:`tunbridge.inference.hybrid_expectations`), and estimates all tables from it: those of categories from expected
counts, the regressions of numbers from expected moments. With a category that is never observed and numbers that depend
on it this fits a mixture of Gaussians.

Left alone, the likelihood of such a mixture has no upper bound: a state may take a single row, and its variance goes to
zero. So every regression has one row's worth of the family as a whole behind it, its numbers taken together whatever
the categories (a thousandth of a row with the prior "mle"), like the pseudo-counts behind tables. What is maximised is

    ln p(rows | θ) + Σ a_jk ln θ_jk + Σ_j m E₀[ln N(y; a_j + b_jᵀ x, s_j²)],

E₀ being the average over those m rows' worth, and it never falls.

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

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from tunbridge._check import warn_user
from tunbridge.counts import Counter
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.data import Column, Table, Variable
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.graph import DAG
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_expectations import ExpectedStatistics, IncompleteMixedRows
from tunbridge.inference.hybrid_rows import read_rows
from tunbridge.learning.fitting import INTERRUPTED, Fit, FitStep
from tunbridge.learning.priors import Rule, pseudo_counts
from tunbridge.learning.progress import Report
from tunbridge.learning.regression import check_arcs, family_moments, regressions, table_of_moments, worth_of
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, Laplace, LinearGaussian

_TRIAL = 15  # iterations of each start before the best is chosen
_LATENT_RESTARTS = 9
_PRIOR_ROWS, _FEW_PRIOR_ROWS = 1.0, 1e-3


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
    if not run.converged and not run.note:
        warn_user(
            f"EM did not settle within {settings.max_iterations} iterations. Raise max_iterations or the tolerance.",
            ConvergenceWarning,
        )
    net = BayesianNetwork.from_tables(run.cpts)
    return Fit(net, tuple(run.trace), run.converged, problem.weight, note=run.note)


class MixedProblem:
    """A graph, rows with holes and a prior, ready for iteration."""

    def __init__(self, graph: DAG, table: Table, rule: Rule, n_jobs: int | None = None) -> None:
        check_arcs(graph, table)
        self.graph, self.table, self.n_jobs = graph, table.select(graph.nodes), n_jobs
        empty = [v.name for v in self.table.variables if v.is_continuous and self._is_empty(v.name)]
        if empty:
            raise DataError(f"a continuous variable must have values; {empty[0]!r} holds nothing but missing cells.")
        self.latent = [v.name for v in self.table.variables if v.is_categorical and self._is_empty(v.name)]
        self.weight = float(table.n_rows if table.weights is None else table.weights.sum())
        is_mle = isinstance(rule, Laplace) and rule.gamma == 0.0
        self._prior_rows = _FEW_PRIOR_ROWS if is_mle else _PRIOR_ROWS
        self._added = self._pseudo_counts(rule)
        self._pseudo = {v: self._pseudo_moments(v) for v in graph.nodes if table.variable(v).is_continuous}
        hybrid = HybridEngine(
            self.available(self.table if not self.latent else self._scattered(np.random.default_rng(0)))
        )
        self.hybrid = hybrid
        self.rows = IncompleteMixedRows(hybrid, read_rows(hybrid, self.table), self.table.weights)

    def _is_empty(self, name: str) -> bool:
        return self.table.missing.get(name, 0) == self.table.n_rows

    # Priors

    def _families(self, table: Table) -> list[tuple[str, tuple[str, ...]]]:
        return [(v.name, self.graph.parents(v.name)) for v in table.variables if v.is_categorical]

    def _pseudo_counts(self, rule: Rule) -> dict[str, np.ndarray]:
        families = self._families(self.table)
        names = [name for name, _ in families]
        found = {}
        for counts in Counter(self.table.select(names), n_jobs=self.n_jobs).families(families) if names else ():
            if counts.configurations is not None:
                hint = "Give it fewer parents."
                raise DataError(f"the table of {counts.child.name!r} must be small enough to be written out. {hint}")
            shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
            found[counts.child.name] = np.asarray(pseudo_counts(rule, counts), np.float64).reshape(shape)
        return found

    def _pseudo_moments(self, child: str) -> CrossMoments:
        """Return the rows' worth of the numbers of a family that stand behind each of its regressions."""
        parents = [self.table.variable(p) for p in self.graph.parents(child)]
        numbers = [p.name for p in parents if p.is_continuous]
        q = int(np.prod([p.n_states for p in parents if p.is_categorical], dtype=np.int64))
        whole = family_moments(self.table, child, numbers)
        if whole.count[0] < len(numbers) + 2.0:  # too few rows have all of them: each number by itself
            own = [family_moments(self.table, name) for name in (*numbers, child)]
            spread = np.diag([float(m.products[0, 0, 0] / m.count[0]) for m in own])
            whole = CrossMoments(np.ones(1), np.array([[m.mean[0, 0] for m in own]]), spread[None])
        return worth_of(whole, np.full(q, self._prior_rows))

    def penalty(self, cpts: Sequence[ConditionalTable]) -> float:
        """Return what the prior adds to the log-likelihood."""
        return sum(self._penalty(cpt) for cpt in cpts)

    def _penalty(self, cpt: ConditionalTable) -> float:
        name = cpt.variable.name
        if not isinstance(cpt, LinearGaussian):
            added = self._added[name]
            with np.errstate(divide="ignore"):
                return float(added[added > 0.0] @ np.log(cpt.table()[added > 0.0]))
        pseudo, k = self._pseudo[name], len(cpt.continuous_parents)
        slopes = cpt.coefficients.reshape(-1, k) if k else np.zeros((cpt.n_configurations, 0))
        d = np.concatenate([-slopes, np.ones((len(slopes), 1))], axis=1)
        off = (d * pseudo.mean).sum(axis=1) - cpt.intercepts.ravel()
        squares = np.einsum("gi,gij,gj->g", d, pseudo.products, d) + pseudo.count * off * off
        s2 = cpt.variances.ravel()
        return float(-0.5 * (pseudo.count * np.log(2.0 * np.pi * s2) + squares / s2).sum())

    # Tables

    def estimate(self, found: ExpectedStatistics) -> list[ConditionalTable]:
        """Return the tables that are best for what the rows are expected to hold."""
        cpts: list[ConditionalTable] = []
        for v, cpt in enumerate(self.hybrid.cpts):
            if isinstance(cpt, LinearGaussian):
                pseudo = self._pseudo[cpt.variable.name]
                moments = found.moments[v] + pseudo if v in found.moments else pseudo
                cpts.append(regressions(cpt.variable, cpt.parents, moments))
            else:
                cpts.append(self._counted(cpt.variable, cpt.parents, found.counts[v]))
        return cpts

    def _counted(self, variable: Variable, parents: tuple[Variable, ...], counts: np.ndarray) -> CPT:
        raised = counts + self._added[variable.name]
        known = raised.sum(axis=-1, keepdims=True) > 0.0
        raised = np.where(known, raised, 1.0)
        return CPT._trusted(variable, parents, raised / raised.sum(axis=-1, keepdims=True), raised)

    def available(self, table: Table) -> list[ConditionalTable]:
        """Return tables to begin from: positive estimates from the rows in which each family is complete."""
        names = [name for name, _ in self._families(table)]
        found: dict[str, ConditionalTable] = {}
        for counts in Counter(table.select(names), n_jobs=self.n_jobs).families(self._families(table)) if names else ():
            shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
            raised = counts.table.reshape(shape) + self._added[counts.child.name] + 1.0 / counts.child.n_states
            found[counts.child.name] = CPT._trusted(
                counts.child, counts.parents, raised / raised.sum(axis=-1, keepdims=True)
            )
        for name, pseudo in self._pseudo.items():
            parents = self.graph.parents(name)
            moments = family_moments(table, name, parents) + pseudo
            found[name] = table_of_moments(table.variable(name), [table.variable(p) for p in parents], moments)
        return [found[name] for name in self.graph.nodes]

    # Where to begin

    def starts(
        self, start: BayesianNetwork | None, restarts: int | None, rng: np.random.Generator
    ) -> list[list[ConditionalTable]]:
        """Return the tables to begin from."""
        if start is not None:
            first = self._tables_of(start)
        else:
            first = self.available(self._scattered(rng) if self.latent else self.table)
        if restarts is None:
            restarts = _LATENT_RESTARTS if self.latent and start is None else 0
        return [first, *(self.available(self._scattered(rng)) for _ in range(restarts))]

    def _tables_of(self, start: BayesianNetwork) -> list[ConditionalTable]:
        if not isinstance(start, BayesianNetwork) or set(start.nodes) != set(self.graph.nodes):
            raise DataError("start must be a network with the graph's nodes as its variables.")
        for cpt in self.hybrid.cpts:
            theirs = start.cpt(cpt.variable.name)
            if (theirs.variable, theirs.parents) != (cpt.variable, cpt.parents):
                raise DataError(f"start must have the parents and states of the graph and the data; got {theirs!r}.")
        return [start.cpt(name) for name in self.graph.nodes]

    def _scattered(self, rng: np.random.Generator) -> Table:
        """Return the table with latent columns filled by nearness to rows drawn at random, or with random weights."""
        table = self.table
        if not self.latent:
            weights = rng.standard_exponential(table.n_rows)
            return table.with_weights(weights if table.weights is None else weights * table.weights)
        places = _scaled_rows(table.drop(self.latent))
        for name in self.latent:
            variable = table.variable(name)
            chosen = rng.integers(table.n_rows, size=variable.n_states)
            distances = np.array([_distances(places, places[:, i]) for i in chosen])
            codes = (distances + 1e-9 * rng.random(distances.shape)).argmin(axis=0)
            column = table.column(name)
            table = table.with_column(Column(variable, codes.astype(column.values.dtype), column.type))
        return table


def _scaled_rows(table: Table) -> np.ndarray:
    """Return the columns of a table as numbers of unit variance, categories as indicators; NaN where missing."""
    lines = []
    for column in table:
        if column.variable.is_continuous:
            present = ~np.isnan(column.values)
            middle, deviation = float(column.values[present].mean()), float(column.values[present].std())
            lines.append((column.values - middle) / (deviation or 1.0))
        else:
            known = column.values >= 0
            lines += [np.where(known, column.values == k, np.nan) for k in range(column.variable.n_states)]
    return np.array(lines, np.float64).reshape(len(lines), table.n_rows)


def _distances(places: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return the mean squared distances of columns to one, over what both know; 0 where that is nothing."""
    squares = (places - one[:, None]) ** 2
    there = ~np.isnan(squares)
    n = there.sum(axis=0)
    return np.divide(np.where(there, squares, 0.0).sum(axis=0), n, out=np.zeros(places.shape[1]), where=n > 0)


# Climbing


@dataclass
class _Climb:
    """One climb: the tables it has reached, and what is expected under them."""

    problem: MixedProblem
    cpts: list[ConditionalTable]
    began: float
    converged: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        self.trace: list[FitStep] = []
        self._settle(self.cpts)

    @property
    def objective(self) -> float:
        """What has been reached."""
        return self.trace[-1].objective

    def _settle(self, cpts: list[ConditionalTable]) -> None:
        problem = self.problem
        found = problem.rows.expected(problem.hybrid.with_tables(cpts), n_jobs=problem.n_jobs)
        objective = found.log_likelihood + problem.penalty(cpts)
        self.cpts, self._expected = cpts, found
        self.trace.append(FitStep(found.log_likelihood, objective, perf_counter() - self.began))

    def go(self, most: int, settings: Settings, report: Report | None, what: str) -> None:
        """Climb until it settles, or has gone so many iterations."""
        while not self.converged and len(self.trace) < most:
            before = self.objective
            self._settle(self.problem.estimate(self._expected))
            self.converged = self.objective - before <= settings.tolerance * self.problem.weight
            if report is not None:
                report(what, self.objective)


def _best(
    problem: MixedProblem, starts: list[list[ConditionalTable]], settings: Settings, report: Report | None
) -> _Climb:
    """Return the climb that is kept: each start goes a few iterations, and the best of them to its end."""
    began, best = perf_counter(), None
    try:
        for i, cpts in enumerate(starts):
            climb = _Climb(problem, cpts, began)
            if len(starts) > 1:
                climb.go(min(_TRIAL, settings.max_iterations), settings, report, f"EM, start {i + 1}")
            best = climb if best is None or climb.objective > best.objective else best
        assert best is not None
        best.go(settings.max_iterations, settings, report, "EM")
    except KeyboardInterrupt:
        if best is None:
            raise
        best.note = INTERRUPTED
    return best
