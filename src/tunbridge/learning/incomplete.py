"""Rows with holes and the tables to be found from them: what EM and gradient ascent have in common.

The tables θ of a graph lie end to end in one array (see :mod:`tunbridge.inference.flat`). What is maximised is

    ln P(rows | θ) + Σ a_jk ln θ_jk,

the logarithm of the probability of what was observed, and of a prior with pseudo-counts a. Where nothing is missing
the maximum is (n_jk + a_jk) / (n_j + a_j), the estimate from counts. The pseudo-counts are settled once, from the rows
in which a family is complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._check import counted, listed, shortened
from tunbridge._memory import check_memory
from tunbridge.counts import Counter
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.batches import answer
from tunbridge.inference.engine import Engine
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.learning.priors import Rule, pseudo_counts
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT

_LATENT_RESTARTS = 9
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
    """

    start: FlatNetwork
    rows: IncompleteRows
    pseudo_counts: np.ndarray
    weight: float

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

    @cached_property
    def latent(self) -> list[int]:
        """The variables that no row shows."""
        return np.flatnonzero((self.rows.codes < 0).all(axis=1)).tolist()

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
        """Return random tables to begin from: of the families that hold a latent variable, or else of all.

        Where every variable is observed somewhere they lie half-way between chance and the usual start.
        """
        flat, tables = self.start, self.start.tables.copy()
        drawn = self.normalised(rng.standard_exponential(len(tables)))
        if not self.latent:
            return 0.5 * (tables + drawn)
        for v in range(flat.n_variables):
            if not set(self.latent).isdisjoint([v, *flat.parents_of(v).tolist()]):
                part = slice(flat.table_start[v], flat.table_start[v + 1])
                tables[part] = drawn[part]
        return tables

    def starts(self, start: Any, restarts: int | None, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the tables to begin from: first those of a network, if one is given, then so many random ones.

        Unless their number is given there are nine random ones where a variable is latent and no network is given.
        """
        if start is not None:
            first = self._possible(start)
        else:
            first = self.scattered(rng) if self.latent else self.start.tables
        if restarts is None:
            restarts = _LATENT_RESTARTS if self.latent and start is None else 0
        return [first, *(self.scattered(rng) for _ in range(restarts))]

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
        parts = []
        for v, variable in enumerate(flat.variables):
            cpt, parents = net.cpt(variable.name), [names[p] for p in flat.parents_of(v)]
            theirs = [p.name for p in cpt.parents]
            known = {p.name: p.states for p in (*cpt.parents, cpt.variable)}
            if set(theirs) != set(parents) or any(
                known[names[u]] != flat.variables[u].states for u in (*flat.parents_of(v), v)
            ):
                raise DataError(
                    f"start must have the parents and states that the data and the graph give {variable.name!r}; got "
                    f"{cpt!r}."
                )
            parts.append(cpt.table().transpose([*map(theirs.index, parents), len(parents)]).ravel())
        return np.concatenate(parts)

    def first_impossible(self, tables: np.ndarray) -> int:
        """Return the number of the first row, counted from one, that the tables give no probability."""
        engine = Engine(list(self.network(tables, np.zeros(len(tables))).cpts.values()))
        return int(np.isneginf(answer(engine, self.rows.codes, []).log_evidence).argmax()) + 1

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
    added = [np.asarray(pseudo_counts(rule, counts), np.float64) for counts in families]
    tables = [
        _positive(c.table + a).reshape([*(p.n_states for p in c.parents), c.child.n_states])
        for c, a in zip(families, added, strict=True)
    ]
    start = flatten([CPT._trusted(c.child, c.parents, t) for c, t in zip(families, tables, strict=True)])
    codes = np.array([table.codes(node) for node in dag.nodes])
    rows = IncompleteRows(start, codes, table.weights, n_jobs=n_jobs)
    weight = float(table.n_rows if table.weights is None else table.weights.sum())
    return Incomplete(start, rows, np.concatenate([a.ravel() for a in added]), weight)


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
