"""Rows with missing values in networks of categorical and continuous variables: what the EM loop needs.

Expected counts and moments become parameters, together with the prior: pseudo-counts for the tables of categorical
variables, and for every regression one row's worth of the family as a whole (its numbers taken together whatever the
categories are; a thousandth of a row with the prior "mle"). With a hidden category and numbers that depend on it this
fits a mixture of Gaussians, whose likelihood alone has no upper bound: a state may take a single row, and its variance
goes to zero. What is maximised is

    ln p(rows | θ) + Σ a_jk ln θ_jk + Σ_j m E₀[ln N(y; a_j + b_jᵀ x, s_j²)],

E₀ being the average over those m rows' worth. No variance is below 1e-10 of the column's own (or of the square of its
only value). That bound is fixed from the start, so that the objective does not fall.

If a category is hidden, random starts draw a row for each of its states, and put every row into the state of the
nearest one.

References
----------
S. L. Lauritzen (1995). The EM algorithm for graphical association models with missing data. Computational Statistics &
Data Analysis 19, 191–201.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import softmax

from tunbridge.counts import Counter, Counts
from tunbridge.counts.moments import CrossMoments
from tunbridge.data import Column, Table
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import read_rows
from tunbridge.inference.hybrid.expectations import ExpectedStatistics, IncompleteMixedRows
from tunbridge.learning.missing.incomplete import DiscreteProblem, IncompleteProblem, positive
from tunbridge.learning.parameters.priors import Rule, pseudo_counts
from tunbridge.learning.parameters.regression import (
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

_PRIOR_ROWS, _FEW_PRIOR_ROWS = 1.0, 1e-3
_SMALLEST = 1e-300
_LARGEST_LOG = 700.0  # the exponential of anything larger overflows

_Cpts = Sequence[ConditionalTable]


def prepare(dag: DAG, table: Table, rule: Rule, n_jobs: int | None = None) -> DiscreteProblem | MixedProblem:
    """Return a graph, the columns of its nodes, and a prior, ready for iteration.

    Columns of hidden variables must be in the table, with all values missing and the states named.
    """
    mixed = any(v.is_continuous for v in table.variables)
    return (MixedProblem if mixed else DiscreteProblem)(dag, table, rule, n_jobs)


class MixedProblem(IncompleteProblem[_Cpts, ExpectedStatistics]):
    """A problem with continuous variables; its parameters are conditional tables in the order of the nodes.

    Parameters
    ----------
    graph : DAG
        The graph.
    table : Table
        A column for each node; those of hidden variables with all values missing.
    rule : Rule
        The prior of the tables of categorical variables.
    n_jobs : int, optional
        The number of threads.
    """

    def __init__(self, graph: DAG, table: Table, rule: Rule, n_jobs: int | None = None) -> None:
        check_arcs(graph, table)
        self.graph, self.table, self._n_jobs = graph, table.select(graph.nodes), n_jobs
        variables = self.table.variables
        empty = {v.name for v in variables if self.table.missing.get(v.name, 0) == self.table.n_rows}
        for v in variables:
            if v.is_continuous and v.name in empty:
                raise DataError(f"a continuous variable must have values; {v.name!r} holds only missing values.")
        self._latent = [v.name for v in variables if v.name in empty]
        self.is_hidden = bool(self._latent)
        is_mle = isinstance(rule, Laplace) and rule.gamma == 0.0
        self._prior_rows = _FEW_PRIOR_ROWS if is_mle else _PRIOR_ROWS
        self._added = {c.child.name: _pseudo_counts(rule, c) for c in self._counts(self.table)}
        self._pseudo = {v.name: self._pseudo_moments(v.name) for v in variables if v.is_continuous}
        self._least = {v: least_variance(family_moments(table, v)) for v in self._pseudo}
        self._hybrid = Engine(self._random(np.random.default_rng(0)) if self._latent else self._usual())
        self._rows = IncompleteMixedRows(self._hybrid, read_rows(self._hybrid, self.table), self.table.weights)

    def _counts(self, table: Table) -> list[Counts]:
        """Return the counts of the families of categories."""
        names = [v.name for v in table.variables if v.is_categorical]
        families = [(name, self.graph.parents(name)) for name in names]
        return Counter(table.select(names), n_jobs=self._n_jobs).families(families) if names else []

    def _pseudo_moments(self, child: str) -> CrossMoments:
        """Return the moments of the prior for each regression of a family."""
        parents = [self.table.variable(p) for p in self.graph.parents(child)]
        numbers = [p.name for p in parents if p.is_continuous]
        q = math.prod(p.n_states for p in parents if p.is_categorical)
        whole = family_moments(self.table, child, numbers)
        if whole.count[0] < len(numbers) + 2.0:  # too few rows have all of them: each number by itself
            own = [family_moments(self.table, name) for name in (*numbers, child)]
            spread = np.diag([float(m.products[0, 0, 0] / m.count[0]) for m in own])
            whole = CrossMoments(np.ones(1), np.array([[m.mean[0, 0] for m in own]]), spread[None])
        return worth_of(whole, np.full(q, self._prior_rows))

    def _raised(self, v: int, found: ExpectedStatistics) -> CrossMoments:
        """Return the expected moments of a family and those of the prior."""
        pseudo = self._pseudo[self._hybrid.cpts[v].variable.name]
        return found.moments[v] + pseudo if v in found.moments else pseudo

    # Iteration

    def expected(self, parameters: _Cpts) -> ExpectedStatistics:
        """Return the expected counts and moments."""
        return self._rows.expected(self._hybrid.with_tables(parameters), n_jobs=self._n_jobs)

    def estimate(self, expected: ExpectedStatistics) -> _Cpts:
        """Return the tables and regressions that are best for the expected statistics."""
        cpts: list[ConditionalTable] = []
        for v, cpt in enumerate(self._hybrid.cpts):
            if isinstance(cpt, LinearGaussian):
                moments, least = self._raised(v, expected), self._least[cpt.variable.name]
                cpts.append(regressions(cpt.variable, cpt.parents, moments, least=least))
            else:
                raised = expected.counts[v] + self._added[cpt.variable.name]
                cpts.append(CPT.of_valid(cpt.variable, cpt.parents, _distributions(raised), raised))
        return cpts

    def penalty(self, parameters: _Cpts) -> float:
        """Return what the prior adds to the log-likelihood."""
        return sum(self._penalty(cpt) for cpt in parameters)

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

    def point(self, parameters: _Cpts) -> np.ndarray:
        """Return ln θ, and of regressions the line about the means, in units of the standard deviations, and ln s²."""
        parts = []
        for cpt in parameters:
            if isinstance(cpt, LinearGaussian):
                middle, unit = self._unit(cpt)
                slopes = cpt.coefficients.reshape(cpt.n_configurations, len(middle) - 1)
                level = cpt.intercepts.ravel() + slopes @ middle[:-1] - middle[-1]
                parts += [level / unit[-1], slopes * unit[:-1] / unit[-1], np.log(cpt.variances)]
            else:
                parts.append(np.log(np.maximum(cpt.table(), _SMALLEST)))
        return np.concatenate([part.ravel() for part in parts])

    def information(self, parameters: _Cpts, expected: ExpectedStatistics) -> np.ndarray:
        """Return the Fisher information of complete rows for each entry of a point."""
        parts = []
        for v, cpt in enumerate(parameters):
            if isinstance(cpt, LinearGaussian):
                n, (middle, unit) = self._raised(v, expected).count, self._unit(cpt)
                each = n * unit[-1] ** 2 / cpt.variances.ravel()
                parts += [each, np.repeat(each, len(middle) - 1), 0.5 * n]
            else:
                parts.append((expected.counts[v] + self._added[cpt.variable.name]).ravel())
        return np.concatenate(parts)

    def moved(self, parameters: _Cpts, change: np.ndarray) -> _Cpts:
        """Return the parameters at another point; rows sum to one, and no variance is below the bound."""
        point, cpts, start = self.point(parameters) + change, list[ConditionalTable](), 0
        for cpt in self._hybrid.cpts:
            size = cpt.n_parameters if isinstance(cpt, LinearGaussian) else math.prod(cpt.shape)
            part = point[start : start + size]
            if isinstance(cpt, LinearGaussian):
                cpts.append(self._line_at(cpt, part))
            else:
                cpts.append(CPT.of_valid(cpt.variable, cpt.parents, softmax(part.reshape(cpt.shape), axis=-1)))
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

    def network(self, parameters: _Cpts, behind: ExpectedStatistics) -> BayesianNetwork:
        """Return the network of these parameters, with expected counts and moments and the prior's behind them."""
        cpts: list[ConditionalTable] = []
        for v, c in enumerate(parameters):
            if isinstance(c, LinearGaussian):
                numbers = (c.intercepts, c.coefficients, c.variances)
                cpts.append(LinearGaussian(c.variable, c.parents, *numbers, moments=self._raised(v, behind)))
            else:
                raised = behind.counts[v] + self._added[c.variable.name]
                cpts.append(CPT.of_valid(c.variable, c.parents, c.table(), raised))
        return BayesianNetwork.of_valid(cpts)

    # Starts

    def _usual(self) -> _Cpts:
        return self._available(self.table)

    def _available(self, table: Table) -> _Cpts:
        """Return positive estimates from the rows in which each family is complete."""
        found: dict[str, ConditionalTable] = {}
        for counts in self._counts(table):
            added = self._added[counts.child.name]
            rows = positive(counts.table.reshape(added.shape) + added)
            found[counts.child.name] = CPT.of_valid(counts.child, counts.parents, rows)
        for name, pseudo in self._pseudo.items():
            parents = [table.variable(p) for p in self.graph.parents(name)]
            moments = filled(family_moments(table, name, [p.name for p in parents]) + pseudo)
            found[name] = regressions(table.variable(name), parents, moments, least=self._least[name])
        return [found[name] for name in self.graph.nodes]

    def _random(self, rng: np.random.Generator) -> _Cpts:
        """Return estimates with hidden columns filled by nearness to random rows, or with random weights."""
        table = self.table
        if not self._latent:
            weights = rng.standard_exponential(table.n_rows)
            return self._available(table.with_weights(weights if table.weights is None else weights * table.weights))
        places = _scaled_rows(table.drop(self._latent))
        for name in self._latent:
            variable = table.variable(name)
            chosen = rng.integers(table.n_rows, size=variable.n_states)
            distances = np.array([_distances(places, places[:, i]) for i in chosen])
            codes = (distances + 1e-9 * rng.random(distances.shape)).argmin(axis=0)
            column = table.column(name)
            table = table.with_column(Column(variable, codes.astype(column.values.dtype), column.type))
        return self._available(table)

    def _of_network(self, net: BayesianNetwork) -> _Cpts:
        """Return the tables of a network, without a variance below the bound."""
        if set(net.nodes) != set(self.graph.nodes):
            raise DataError("start must be a network with the graph's nodes as its variables.", parameter="start")
        cpts: list[ConditionalTable] = []
        for cpt in self._hybrid.cpts:
            theirs = net.cpt(cpt.variable.name)
            if (theirs.variable, theirs.parents) != (cpt.variable, cpt.parents):
                rule = "start must have the parents and states of the graph and the data"
                raise DataError(f"{rule}; got {theirs!r}.", parameter="start")
            if isinstance(theirs, LinearGaussian):
                variances = np.maximum(theirs.variances, self._least[cpt.variable.name])
                theirs = LinearGaussian(cpt.variable, cpt.parents, theirs.intercepts, theirs.coefficients, variances)
            cpts.append(theirs)
        return cpts


def _pseudo_counts(rule: Rule, counts: Counts) -> np.ndarray:
    if counts.configurations is not None:
        hint = "Give it fewer parents."
        raise DataError(f"the table of {counts.child.name!r} must be small enough for a dense array. {hint}")
    shape = (*(p.n_states for p in counts.parents), counts.child.n_states)
    return np.asarray(pseudo_counts(rule, counts), np.float64).reshape(shape)


def _distributions(raised: np.ndarray) -> np.ndarray:
    """Return the distributions of which these are multiples; uniform ones where all is zero."""
    raised = np.where(raised.sum(axis=-1, keepdims=True) > 0.0, raised, 1.0)
    return raised / raised.sum(axis=-1, keepdims=True)


def _scaled_rows(table: Table) -> np.ndarray:
    """Return the columns as numbers of unit variance, categories as indicators; NaN where missing."""
    found = []
    for column in table:
        if column.variable.is_continuous:
            present = ~np.isnan(column.values)
            middle, deviation = float(column.values[present].mean()), float(column.values[present].std())
            found.append((column.values - middle) / (deviation or 1.0))
        else:
            known = column.values >= 0
            found += [np.where(known, column.values == k, np.nan) for k in range(column.variable.n_states)]
    return np.array(found, np.float64).reshape(len(found), table.n_rows)


def _distances(places: np.ndarray, one: np.ndarray) -> np.ndarray:
    """Return the mean squared distances of columns to one, over the values that both have; 0 without any."""
    squares = (places - one[:, None]) ** 2
    there = ~np.isnan(squares)
    n = there.sum(axis=0)
    return np.divide(np.where(there, squares, 0.0).sum(axis=0), n, out=np.zeros(places.shape[1]), where=n > 0)
