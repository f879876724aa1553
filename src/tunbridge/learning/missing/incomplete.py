"""Rows with missing values and the parameters to be fitted to them: what EM and gradient ascent have in common.

What is maximised is

    ln P(rows | θ) + ln prior(θ),

the log-likelihood of the observed values plus the prior. :class:`IncompleteProblem` is the interface that the EM loop
uses: from parameters to expected statistics and back. :class:`DiscreteProblem` implements it for categorical variables;
:class:`tunbridge.learning.missing.mixed.MixedProblem` for networks with continuous ones.

The parameters of a discrete problem are the tables θ of the graph, end to end in one array (see
:mod:`tunbridge.inference.flat`), and a prior with pseudo-counts a adds Σ a_jk ln θ_jk. Without missing values the
maximum is (n_jk + a_jk) / (n_j + a_j), the estimate from counts. Pseudo-counts that depend on the data (back-off, BDs,
the m-estimate with marginal shares) are computed once, from the expected counts at the default start.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from tunbridge._core.check import counted, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.counts import Counter, Counts
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.expectations import ExpectedCounts, IncompleteRows
from tunbridge.inference.flat import FlatNetwork
from tunbridge.learning.parameters.priors import Rule, depends_on_counts, pseudo_counts
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable

_RESTARTS = 9
_COPIES = 8  # of all tables, at the same time
_SMALLEST = 1e-300  # smaller probabilities count as this in logarithms


class Expected(Protocol):
    """Expected statistics of rows with missing values, and their log-likelihood."""

    @property
    def log_likelihood(self) -> float:
        """Σ w ln P(row)."""


P = TypeVar("P")  # the parameters
E = TypeVar("E", bound=Expected)


class IncompleteProblem(ABC, Generic[P, E]):
    """A graph, rows with missing values and a prior, ready for iteration.

    Attributes
    ----------
    table : Table
        A column for each node; those of hidden variables with all values missing.
    weight : float
        The number of rows, or the sum of their weights.
    is_hidden : bool
        Whether a family is complete in no row, because of a hidden variable for example. The default start would be a
        saddle point; random starts are used instead.
    """

    table: Table
    is_hidden: bool

    @cached_property
    def weight(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(self.table.n_rows if self.table.weights is None else self.table.weights.sum())

    @abstractmethod
    def expected(self, parameters: P) -> E:
        """Return the expected statistics of the rows, and their log-likelihood."""

    @abstractmethod
    def estimate(self, expected: E) -> P:
        """Return the parameters that are best for expected statistics."""

    @abstractmethod
    def penalty(self, parameters: P) -> float:
        """Return what the prior adds to the log-likelihood."""

    @abstractmethod
    def point(self, parameters: P) -> np.ndarray:
        """Return the parameters as one vector without constraints, logarithms for example."""

    @abstractmethod
    def information(self, parameters: P, expected: E) -> np.ndarray:
        """Return the Fisher information of complete rows for each entry of a point."""

    @abstractmethod
    def moved(self, parameters: P, change: np.ndarray) -> P:
        """Return the parameters after a change of their point."""

    @abstractmethod
    def network(self, parameters: P, behind: E) -> BayesianNetwork:
        """Return the network of these parameters; its tables carry the statistics behind them, and the prior's."""

    @abstractmethod
    def _of_network(self, net: BayesianNetwork) -> P:
        """Return the parameters of a network to start from; raise unless it has this graph and these states."""

    @abstractmethod
    def _usual(self) -> P:
        """Return the default start: estimates from the rows in which each family is complete."""

    @abstractmethod
    def _random(self, rng: np.random.Generator) -> P:
        """Return random parameters to start from."""

    def starts(self, start: BayesianNetwork | None, restarts: int | None, rng: np.random.Generator) -> list[P]:
        """Return the parameters to start from: those of a network, or the default, then random ones.

        The default number of restarts is nine if a variable is hidden and no network is given, else zero.
        """
        if start is not None and not isinstance(start, BayesianNetwork):
            raise DataError(f"start must be a BayesianNetwork; got {shortened(repr(start))}.", parameter="start")
        at_random = self.is_hidden and start is None
        first = self._of_network(start) if start is not None else self._random(rng) if at_random else self._usual()
        n = restarts if restarts is not None else _RESTARTS if at_random else 0
        return [first, *(self._random(rng) for _ in range(n))]

    def check_start(self, parameters: P, expected: E) -> None:
        """Raise if a start makes a row impossible, and name the row."""
        if expected.log_likelihood + self.penalty(parameters) > -np.inf:
            return
        impossible = np.isneginf(self.network(parameters, expected).log_likelihood(self.table))
        if self.table.weights is not None:
            impossible &= self.table.weights > 0.0
        hint = "Smooth its tables with a prior, or leave start out."
        rule = f"start must give every row a positive probability; row {int(impossible.argmax()) + 1} has none"
        raise DataError(f"{rule}. {hint}", parameter="start")


class DiscreteProblem(IncompleteProblem[np.ndarray, ExpectedCounts]):
    """A problem of categorical variables.

    Parameters
    ----------
    dag : DAG
        The graph.
    table : Table
        A column for each node; those of hidden variables with all values missing.
    rule : Rule
        The prior.
    n_jobs : int, optional
        The number of threads.

    Attributes
    ----------
    start : FlatNetwork
        The structure, with positive estimates from the rows in which each family is complete.
    rows : IncompleteRows
        The rows.
    pseudo_counts : ndarray
        The pseudo-counts of each cell, laid out like the tables.
    hidden : tuple of int
        The variables whose families are complete in no row.
    row_start, row_sizes : ndarray
        The start and the number of states of each distribution (one per configuration) in the tables.
    """

    def __init__(self, dag: DAG, table: Table, rule: Rule, n_jobs: int | None = None) -> None:
        _check_size(dag, table)
        self.table = table.select(dag.nodes)
        names, parents = dag.nodes, dag.parent_indices
        asked = [(name, [names[p] for p in some]) for name, some in zip(names, parents, strict=True)]
        families = [c.dense() for c in Counter(self.table, n_jobs=n_jobs).families(asked)]
        later = depends_on_counts(rule)
        added = [np.zeros(c.table.shape) if later else _added(rule, c) for c in families]
        tables = [positive(c.table + a) for c, a in zip(families, added, strict=True)]
        self.start = FlatNetwork.of(self.table.variables, parents, tables)
        self.rows = IncompleteRows(self.start, np.array(self.table.columns), table.weights, n_jobs=n_jobs)
        if later:
            found = np.split(self.expected(self.start.tables).counts, self.start.table_start[1:-1])
            sums = [replace(c, table=n.reshape(c.table.shape)) for c, n in zip(families, found, strict=True)]
            added = [_added(rule, c) for c in sums]
        self.pseudo_counts = np.concatenate([a.ravel() for a in added])
        self.hidden = tuple(v for v, c in enumerate(families) if self.weight > 0.0 and not c.table.any())
        self.is_hidden = bool(self.hidden)
        n_rows = np.diff(self.start.table_start) // self.start.n_states
        self.row_sizes = np.repeat(self.start.n_states, n_rows)
        self.row_start = np.cumsum(self.row_sizes) - self.row_sizes

    def totals(self, values: np.ndarray) -> np.ndarray:
        """Return for every cell the sum of its row."""
        return np.repeat(np.add.reduceat(values, self.row_start), self.row_sizes)

    def normalised(self, raised: np.ndarray) -> np.ndarray:
        """Return the tables of which these are multiples; uniform rows where all is zero."""
        totals = self.totals(raised)
        if totals.min() > 0.0:
            return raised / totals
        uniform = np.repeat(1.0 / self.row_sizes, self.row_sizes)
        return np.where(totals > 0.0, raised / np.where(totals > 0.0, totals, 1.0), uniform)

    def expected(self, parameters: np.ndarray) -> ExpectedCounts:
        """Return the expected counts."""
        return self.rows.expected_counts(parameters)

    def estimate(self, expected: ExpectedCounts) -> np.ndarray:
        """Return the tables with (n_jk + a_jk) / (n_j + a_j); uniform rows without counts and prior."""
        return self.normalised(expected.counts + self.pseudo_counts)

    def penalty(self, parameters: np.ndarray) -> float:
        """Return Σ a_jk ln θ_jk."""
        used = self.pseudo_counts > 0.0
        with np.errstate(divide="ignore"):
            return float(self.pseudo_counts[used] @ np.log(parameters[used]))

    def point(self, parameters: np.ndarray) -> np.ndarray:
        """Return ln θ."""
        return np.log(np.maximum(parameters, _SMALLEST))

    def information(self, parameters: np.ndarray, expected: ExpectedCounts) -> np.ndarray:
        """Return the expected counts and the prior's."""
        return expected.counts + self.pseudo_counts

    def moved(self, parameters: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the tables multiplied by exp(change), each row scaled to sum to one."""
        return self.normalised(parameters * np.exp(change))

    def network(self, parameters: np.ndarray, behind: ExpectedCounts) -> BayesianNetwork:
        """Return the network of these tables, with expected counts and the prior's behind them."""
        flat, raised = self.start, behind.counts + self.pseudo_counts
        cpts = []
        for v, variable in enumerate(flat.variables):
            part = slice(flat.table_start[v], flat.table_start[v + 1])
            parents = tuple(flat.variables[p] for p in flat.parents_of(v))
            shape = (*(p.n_states for p in parents), variable.n_states)
            cpts.append(
                CPT.of_valid(variable, parents, parameters[part].reshape(shape).copy(), raised[part].reshape(shape))
            )
        return BayesianNetwork.of_valid(cpts)

    # Starts

    def _usual(self) -> np.ndarray:
        return self.start.tables

    def _random(self, rng: np.random.Generator) -> np.ndarray:
        """Return random tables of the families that no row shows; if there are none, of all, halfway to the default."""
        flat, tables = self.start, self.start.tables.copy()
        drawn = self.normalised(rng.standard_exponential(len(tables)))
        if not self.hidden:
            return 0.5 * (tables + drawn)
        for v in self.hidden:
            part = slice(flat.table_start[v], flat.table_start[v + 1])
            tables[part] = drawn[part]
        return tables

    def _of_network(self, net: BayesianNetwork) -> np.ndarray:
        """Return the tables of a network; zeros that the prior excludes are removed by an iteration of EM."""
        tables = self.tables_of(net)
        if not (self.pseudo_counts[tables == 0.0] > 0.0).any():
            return tables
        return self.estimate(self.expected(tables))

    def tables_of(self, net: BayesianNetwork) -> np.ndarray:
        """Return the tables of a network with the same graph and states; raise if they differ."""
        names = [variable.name for variable in self.start.variables]
        if set(net.nodes) != set(names):
            differ = listed(sorted(set(net.nodes) ^ set(names)))
            raise DataError(f"start must have the graph's nodes as its variables; {differ} differ.", parameter="start")
        return np.concatenate([self._table_of(net.cpt(name), v).ravel() for v, name in enumerate(names)])

    def _table_of(self, cpt: ConditionalTable, v: int) -> np.ndarray:
        """Return a table with the axes and states in the order of the family of v."""
        family = [self.start.variables[u] for u in (*self.start.parents_of(v), v)]
        theirs = {p.name: p for p in (*cpt.parents, cpt.variable)}
        if set(theirs) != {u.name for u in family}:
            parents = listed([u.name for u in family[:-1]]) or "no parents"
            rule = f"start must give {family[-1].name!r} the graph's parents, {parents}; got {cpt!r}"
            raise DataError(f"{rule}.", parameter="start")
        orders = []
        for u in family:
            other = theirs[u.name]
            orders.append([other.find(state) for state in u.states or ()])
            if other.n_states != u.n_states or min(orders[-1]) < 0:
                rule = f"start must have the states of {u.name!r} that the data have, {listed(u.states or ())}"
                hint = "Pass the network itself as dag, so that its states are used."
                raise DataError(f"{rule}; got {listed(other.states or ())}. {hint}", parameter="start")
        axes = [list(theirs).index(u.name) for u in family]
        return cpt.table().transpose(axes)[np.ix_(*orders)]


def _added(rule: Rule, counts: Counts) -> np.ndarray:
    return np.asarray(pseudo_counts(rule, counts), np.float64)


def _check_size(dag: DAG, table: Table) -> None:
    """Raise when the dense tables would not fit into memory."""
    sizes = table_sizes(dag, table)
    largest = sizes.index(max(sizes))
    others = counted(len(dag.parent_indices[largest]), "other")
    check_memory(
        f"the tables for an iterative fit (the largest: {dag.nodes[largest]!r} given {others})",
        8.0 * _COPIES * sum(sizes),
        ways_out="Give nodes fewer parents, or use missing='available', which keeps large tables sparse.",
    )


def table_sizes(dag: DAG, table: Table) -> list[int]:
    """Return the number of cells of the dense table of each node."""
    known = {v.name: v.n_states for v in table.variables}
    n_states = [known[node] for node in dag.nodes]
    return [math.prod([n_states[x], *(n_states[p] for p in some)]) for x, some in enumerate(dag.parent_indices)]


def positive(raised: np.ndarray) -> np.ndarray:
    """Return positive distributions near relative frequencies."""
    lifted = raised + 1.0 / raised.shape[-1]
    return lifted / lifted.sum(axis=-1, keepdims=True)
