"""A graph, rows with holes and a prior, some columns being numbers: what EM asks of them.

Expected counts and moments become tables here, together with the prior: pseudo-counts behind the tables of categories,
and some rows' worth of the family as a whole behind every regression. Where EM begins is here too.

No variance is below 1e-10 of the column's own (or of the square of its only value). That bound is fixed from the start,
so that each estimate is the best of those that keep to it, and the objective does not fall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tunbridge.counts import Counter
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.data import Column, Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_expectations import ExpectedStatistics, IncompleteMixedRows
from tunbridge.inference.hybrid_rows import read_rows
from tunbridge.learning.priors import Rule, pseudo_counts
from tunbridge.learning.regression import (
    check_arcs,
    family_moments,
    filled,
    least_variance,
    regressions,
    residual_squares,
    worth_of,
)
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, ConditionalTable, Laplace, LinearGaussian

_LATENT_RESTARTS = 9
_PRIOR_ROWS, _FEW_PRIOR_ROWS = 1.0, 1e-3
_SMALLEST = 1e-300
_LARGEST_LOG = 700.0  # e to a power beyond is no number


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
        self._least = {v: least_variance(family_moments(table, v)) for v in self._pseudo}
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
        off = pseudo.mean[:, -1] - (slopes * pseudo.mean[:, :-1]).sum(axis=1) - cpt.intercepts.ravel()
        squares = residual_squares(pseudo, slopes) + pseudo.count * off * off
        s2 = cpt.variances.ravel()
        return float(-0.5 * (pseudo.count * np.log(2.0 * np.pi * s2) + squares / s2).sum())

    # Tables

    def estimate(self, found: ExpectedStatistics) -> list[ConditionalTable]:
        """Return the tables that are best for what the rows are expected to hold."""
        cpts: list[ConditionalTable] = []
        for v, cpt in enumerate(self.hybrid.cpts):
            if isinstance(cpt, LinearGaussian):
                moments, least = self._raised_moments(v, found), self._least[cpt.variable.name]
                cpts.append(regressions(cpt.variable, cpt.parents, moments, least=least))
            else:
                raised = found.counts[v] + self._added[cpt.variable.name]
                cpts.append(CPT._trusted(cpt.variable, cpt.parents, _rows_of(raised), raised))
        return cpts

    def _raised_moments(self, v: int, found: ExpectedStatistics) -> CrossMoments:
        pseudo = self._pseudo[self.hybrid.variables[v].name]
        return found.moments[v] + pseudo if v in found.moments else pseudo

    # Tables as points

    def point(self, cpts: Sequence[ConditionalTable]) -> np.ndarray:
        """Return tables as one vector: ln θ, and of regressions the line about the means, in units, and ln s²."""
        parts = []
        for cpt in cpts:
            if isinstance(cpt, LinearGaussian):
                middle, unit = self._unit(cpt)
                slopes = cpt.coefficients.reshape(cpt.n_configurations, len(middle) - 1)
                level = cpt.intercepts.ravel() + slopes @ middle[:-1] - middle[-1]
                parts += [level / unit[-1], slopes * unit[:-1] / unit[-1], np.log(cpt.variances)]
            else:
                parts.append(np.log(np.maximum(cpt.table(), _SMALLEST)))
        return np.concatenate([part.ravel() for part in parts])

    def weights(self, cpts: Sequence[ConditionalTable]) -> np.ndarray:
        """Return how much a change of each entry of a point matters: the Fisher information of complete rows."""
        parts = []
        for cpt in cpts:
            assert cpt.counts is not None
            if isinstance(cpt, LinearGaussian):
                n, (middle, unit) = cpt.counts.ravel(), self._unit(cpt)
                each = n * unit[-1] ** 2 / cpt.variances.ravel()
                parts += [each, np.repeat(each, len(middle) - 1), 0.5 * n]
            else:
                parts.append(cpt.counts.ravel())
        return np.concatenate(parts)

    def tables_at(self, point: np.ndarray) -> list[ConditionalTable]:
        """Return the tables at a point; rows are scaled to sum to one, and no variance is below the least."""
        cpts: list[ConditionalTable] = []
        start = 0
        for cpt in self.hybrid.cpts:
            size = cpt.n_parameters if isinstance(cpt, LinearGaussian) else math.prod(cpt.shape)
            part = point[start : start + size]
            cpts.append(self._line_at(cpt, part) if isinstance(cpt, LinearGaussian) else _rows_at(cpt, part))
            start += size
        return cpts

    def _line_at(self, cpt: LinearGaussian, part: np.ndarray) -> LinearGaussian:
        (middle, unit), g = self._unit(cpt), cpt.n_configurations
        levels, slopes, logs = np.split(part, [g, len(part) - g])
        slopes = slopes.reshape(g, -1 if slopes.size else 0) * unit[-1] / unit[:-1]
        intercepts = levels * unit[-1] + middle[-1] - slopes @ middle[:-1]
        variances = np.maximum(np.exp(np.minimum(logs, _LARGEST_LOG)), self._least[cpt.variable.name])
        return LinearGaussian(cpt.variable, cpt.parents, intercepts, slopes, variances)

    def _unit(self, cpt: LinearGaussian) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of a family's numbers, and their standard deviations (1 where it is 0)."""
        pseudo = self._pseudo[cpt.variable.name]
        spread = np.sqrt(np.diagonal(pseudo.products[0]) / pseudo.count[0])
        return pseudo.mean[0], np.where(spread > 0.0, spread, 1.0)

    def behind(self, cpts: Sequence[ConditionalTable], found: ExpectedStatistics) -> list[ConditionalTable]:
        """Return tables with what is expected under them, and the prior, as the counts and moments they carry."""
        return [
            replaced_moments(cpt, self._raised_moments(v, found))
            if isinstance(cpt, LinearGaussian)
            else CPT._trusted(cpt.variable, cpt.parents, cpt.table(), found.counts[v] + self._added[cpt.variable.name])
            for v, cpt in enumerate(cpts)
        ]

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
            parents = [table.variable(p) for p in self.graph.parents(name)]
            moments = filled(family_moments(table, name, [p.name for p in parents]) + pseudo)
            found[name] = regressions(table.variable(name), parents, moments, least=self._least[name])
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
        return [self._noisy(start.cpt(name)) for name in self.graph.nodes]

    def _noisy(self, cpt: ConditionalTable) -> ConditionalTable:
        """Return a table without a variance below the least."""
        least = self._least.get(cpt.variable.name)
        if not isinstance(cpt, LinearGaussian) or least is None or cpt.variances.min() >= least:
            return cpt
        variances = np.maximum(cpt.variances, least)
        return LinearGaussian(cpt.variable, cpt.parents, cpt.intercepts, cpt.coefficients, variances)

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


def _rows_of(raised: np.ndarray) -> np.ndarray:
    """Return the distributions of which these are multiples; uniform ones where all is zero."""
    known = raised.sum(axis=-1, keepdims=True) > 0.0
    raised = np.where(known, raised, 1.0)
    return raised / raised.sum(axis=-1, keepdims=True)


def _rows_at(cpt: ConditionalTable, part: np.ndarray) -> CPT:
    """Return the table of a category whose entries have these logarithms, up to a constant a row."""
    logs = part.reshape(cpt.shape)
    raised = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return CPT._trusted(cpt.variable, cpt.parents, raised / raised.sum(axis=-1, keepdims=True))


def replaced_moments(cpt: LinearGaussian, moments: CrossMoments) -> LinearGaussian:
    """Return a table that carries other moments."""
    return LinearGaussian(cpt.variable, cpt.parents, cpt.intercepts, cpt.coefficients, cpt.variances, moments=moments)


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
