"""Rows with holes and the tables to be found from them: what EM and gradient ascent have in common.

The tables θ of a graph lie end to end in one array (see :mod:`tunbridge.inference.flat`). What is maximised is

    ln P(rows | θ) + Σ a_jk ln θ_jk,

the logarithm of the probability of what was observed, and of a prior with pseudo-counts a. Where nothing is missing
the maximum is (n_jk + a_jk) / (n_j + a_j), the estimate from counts. Pseudo-counts that depend on the data (back-off,
BDs, the m-estimate with marginal shares) are settled once, from the counts expected at the usual start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._check import counted, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.counts import Counter, Counts
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.batches import answer
from tunbridge.inference.engine import Engine
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.learning.priors import Rule, depends_on_counts, pseudo_counts
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable

_RESTARTS = 9
_COPIES = 8  # of all tables, that are there at once


@dataclass(frozen=True, eq=False)
class Incomplete:
    """A graph, rows with holes, and a prior, ready for iteration.

    Attributes
    ----------
    start : FlatNetwork
        The structure, with tables to begin from: positive estimates from the rows in which each family is complete.
    rows : IncompleteRows
        The rows.
    pseudo_counts : ndarray
        What the prior adds to each cell, laid out like the tables.
    weight : float
        The weight of all rows together.
    loose : tuple of int
        The variables whose families no row shows whole, such as those of hidden variables. Uniform tables would be a
        saddle there, from which iteration does not find away; they are begun at random.
    """

    start: FlatNetwork
    rows: IncompleteRows
    pseudo_counts: np.ndarray
    weight: float
    loose: tuple[int, ...] = ()

    @cached_property
    def row_start(self) -> np.ndarray:
        """Where each distribution (one a configuration) begins in the tables."""
        n_rows = np.diff(self.start.table_start) // self.start.n_states
        steps = np.repeat(self.start.n_states, n_rows)
        return np.cumsum(steps) - steps

    @cached_property
    def row_sizes(self) -> np.ndarray:
        """The number of states of each distribution."""
        return np.diff(np.append(self.row_start, len(self.pseudo_counts)))

    def estimate(self, counts: np.ndarray) -> np.ndarray:
        """Return the tables with (n_jk + a_jk) / (n_j + a_j); uniform rows where there is neither count nor prior."""
        return self.normalised(counts + self.pseudo_counts)

    def normalised(self, raised: np.ndarray) -> np.ndarray:
        """Return the tables of which these are multiples; uniform rows where all is zero."""
        totals = np.repeat(np.add.reduceat(raised, self.row_start), self.row_sizes)
        if totals.min() > 0.0:
            return raised / totals
        uniform = np.repeat(1.0 / self.row_sizes, self.row_sizes)
        return np.where(totals > 0.0, raised / np.where(totals > 0.0, totals, 1.0), uniform)

    def scattered(self, rng: np.random.Generator) -> np.ndarray:
        """Return random tables to begin from: of the loose families, or, where there are none, of all.

        The latter lie half-way between chance and the usual start.
        """
        flat, tables = self.start, self.start.tables.copy()
        drawn = self.normalised(rng.standard_exponential(len(tables)))
        if not self.loose:
            return 0.5 * (tables + drawn)
        for v in self.loose:
            part = slice(flat.table_start[v], flat.table_start[v + 1])
            tables[part] = drawn[part]
        return tables

    def starts(self, start: Any, restarts: int | None, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the tables to begin from: first those of a network, if one is given, then so many random ones.

        Unless their number is given there are nine random ones where a family is loose and no network is given.
        """
        at_random = bool(self.loose) and start is None
        usual = self.start.tables if start is None else self._possible(start)
        n = restarts if restarts is not None else _RESTARTS if at_random else 0
        return [self.scattered(rng) if at_random else usual, *(self.scattered(rng) for _ in range(n))]

    def _possible(self, start: Any) -> np.ndarray:
        """Return the tables of a network with no zero that the prior rules out: an iteration of EM takes such away."""
        if not isinstance(start, BayesianNetwork):
            raise DataError(f"start must be a BayesianNetwork; got {shortened(repr(start))}.")
        tables = self.tables_of(start)
        if not (self.pseudo_counts[tables == 0.0] > 0.0).any():
            return tables
        return self.estimate(self.rows.expected_counts(tables).counts)

    def check_start(self, tables: np.ndarray, objective: float) -> None:
        """Raise when tables to begin from make a row impossible, and name it."""
        if objective == -np.inf:
            row = self.first_impossible(tables)
            hint = "Smooth its tables with a prior, or leave start out."
            raise DataError(f"start must give every row a positive probability; row {row} has none. {hint}")

    def tables_of(self, net: BayesianNetwork) -> np.ndarray:
        """Return the tables of a network over the same graph; raise unless it is one."""
        flat = self.start
        names = [variable.name for variable in flat.variables]
        if set(net.nodes) != set(names):
            differ = listed(sorted(set(net.nodes) ^ set(names)))
            raise DataError(f"start must have the graph's nodes as its variables; {differ} differ.")
        return np.concatenate([self._table_of(net.cpt(names[v]), v).ravel() for v in range(len(names))])

    def _table_of(self, cpt: ConditionalTable, v: int) -> np.ndarray:
        """Return a table with the axes and states in the order of the family of v."""
        family = [self.start.variables[u] for u in (*self.start.parents_of(v), v)]
        theirs = {p.name: p for p in (*cpt.parents, cpt.variable)}
        if set(theirs) != {u.name for u in family}:
            parents = listed([u.name for u in family[:-1]]) or "no parents"
            raise DataError(f"start must give {family[-1].name!r} the graph's parents, {parents}; got {cpt!r}.")
        orders = []
        for u in family:
            other = theirs[u.name]
            orders.append([other.find(state) for state in u.states or ()])
            if other.n_states != u.n_states or min(orders[-1]) < 0:
                told = f"{listed(u.states or ())}; got {listed(other.states or ())}"
                hint = "Give the network itself as dag, so that its states are used."
                raise DataError(f"start must have the states of {u.name!r} that the data have, {told}. {hint}")
        axes = [list(theirs).index(u.name) for u in family]
        return cpt.table().transpose(axes)[np.ix_(*orders)]

    def first_impossible(self, tables: np.ndarray) -> int:
        """Return the number of the first row, counted from one, that the tables give no probability."""
        engine = Engine(list(self.network(tables, np.zeros(len(tables))).cpts.values()))
        impossible = np.isneginf(answer(engine, self.rows.codes, []).log_evidence)
        weights = self.rows.weights
        return int((impossible if weights is None else impossible & (weights > 0)).argmax()) + 1

    def penalty(self, tables: np.ndarray) -> float:
        """Return Σ a_jk ln θ_jk."""
        used = self.pseudo_counts > 0.0
        with np.errstate(divide="ignore"):
            return float(self.pseudo_counts[used] @ np.log(tables[used]))

    def network(self, tables: np.ndarray, counts: np.ndarray) -> BayesianNetwork:
        """Return the network of these tables; behind them stand the expected counts and the prior's."""
        flat, raised = self.start, counts + self.pseudo_counts
        cpts = []
        for v, variable in enumerate(flat.variables):
            part = slice(flat.table_start[v], flat.table_start[v + 1])
            parents = tuple(flat.variables[p] for p in flat.parents_of(v))
            shape = (*(p.n_states for p in parents), variable.n_states)
            cpts.append(
                CPT._trusted(variable, parents, tables[part].reshape(shape).copy(), raised[part].reshape(shape))
            )
        return BayesianNetwork.from_tables(cpts)


def prepare(dag: DAG, table: Table, rule: Rule, *, n_jobs: int | None = None) -> Incomplete:
    """Return a graph, the columns of its nodes, and a prior, ready for iteration.

    Columns of hidden variables must be in the table, every cell missing and the states named.
    """
    table = table.select(dag.nodes)
    _check_size(dag, table)
    found = Counter(table, n_jobs=n_jobs).families([(node, dag.parents(node)) for node in dag.nodes])
    families = [counts.dense() for counts in found]
    settled = depends_on_counts(rule)
    added = [np.zeros(c.table.shape) if settled else _added(rule, c) for c in families]
    shapes = [(*(p.n_states for p in c.parents), c.child.n_states) for c in families]
    tables = [_positive(c.table + a).reshape(shape) for c, a, shape in zip(families, added, shapes, strict=True)]
    start = flatten([CPT._trusted(c.child, c.parents, t) for c, t in zip(families, tables, strict=True)])
    codes = np.array([table.codes(node) for node in dag.nodes])
    rows = IncompleteRows(start, codes, table.weights, n_jobs=n_jobs)
    if settled:
        expected = np.split(rows.expected_counts(start.tables).counts, start.table_start[1:-1])
        added = [
            _added(rule, replace(c, table=n.reshape(c.table.shape))) for c, n in zip(families, expected, strict=True)
        ]
    weight = float(table.n_rows if table.weights is None else table.weights.sum())
    loose = [v for v, c in enumerate(families) if weight > 0.0 and not c.table.any()]
    return Incomplete(start, rows, np.concatenate([a.ravel() for a in added]), weight, tuple(loose))


def _added(rule: Rule, counts: Counts) -> np.ndarray:
    return np.asarray(pseudo_counts(rule, counts), np.float64)


def _check_size(dag: DAG, table: Table) -> None:
    """Raise when the tables, which are written out here, would not fit into memory."""
    n_states = {v.name: v.n_states for v in table.variables}
    sizes = {node: math.prod([n_states[p] for p in dag.parents(node)]) * n_states[node] for node in dag.nodes}
    largest = max(sizes, key=lambda node: sizes[node])
    others = counted(len(dag.parents(largest)), "other")
    check_memory(
        f"the tables for an iterative fit (the largest: {largest!r} given {others})",
        8.0 * _COPIES * sum(sizes.values()),
        ways_out="Give nodes fewer parents, or use missing='available', which keeps large tables sparse.",
    )


def _positive(raised: np.ndarray) -> np.ndarray:
    """Return distributions near relative frequencies in which nothing is impossible."""
    lifted = raised + 1.0 / raised.shape[1]
    return lifted / lifted.sum(axis=1, keepdims=True)
