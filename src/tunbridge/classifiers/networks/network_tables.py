"""From what was counted to the tables of a network with numbers: regressions that borrow from their relatives.

The table of a number x with categorical parents p₁, p₂, … (the class first, where it is one) and numbers y as parents
is a regression for each configuration. What a configuration knows is in its moments (n, means, products; see
:mod:`tunbridge.counts.cross_moments`). As the tables of categories do under hierarchical smoothing, a configuration
borrows from the one with fewer parents,

    M(p₁ … p_i)  ←  M(p₁ … p_i) + s rows' worth of M(p₁ … p_{i−1}),

beginning with all rows together: s = 1 for the first parent, so that classes are hardly drawn together, and 10 for the
others. With many rows a configuration keeps its own regression, with few it has mostly that of its class, without any
exactly that. Borrowed products also make the coefficients of parents that are combinations of each other well defined;
where they still are not, the smallest that fit are taken (:mod:`tunbridge.learning.regression`). A column that holds
one value only gets the variance 1, and so says nothing about the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from tunbridge.classifiers.dependence.family_model import as_table_prior
from tunbridge.classifiers.networks.network_model import NetworkModel
from tunbridge.classifiers.networks.network_statistics import NetworkStatistics
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.data import Table, Variable
from tunbridge.graph import DAG
from tunbridge.learning import fit_parameters
from tunbridge.learning.hybrid_problem import MixedProblem
from tunbridge.learning.priors import DEFAULT_PRIOR, pseudo_counts
from tunbridge.learning.regression import least_variance, regressions
from tunbridge.learning.tables import tables_of
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian

BORROWED = 1.0
"""How many rows' worth the states of the first parent borrow from all rows together."""
_BORROWED_DEEPER = 10.0
"""How many a configuration of several parents borrows from the one with a parent less."""


def network_tables(statistics: NetworkStatistics, rule: Any) -> dict[int, ConditionalTable]:
    """Return the table of each node that is used; ``rule`` says how counts become tables."""
    tables = tables_of(list(statistics.counts.values()), rule)
    found: dict[int, ConditionalTable] = dict(zip(statistics.counts, tables, strict=True))
    for i, moments in statistics.moments.items():
        found[i] = gaussian_table(statistics.nodes[i], statistics.family(i), moments)
    return dict(sorted(found.items()))


def filled_in(
    statistics: NetworkStatistics, table: Table, *, random_state: Any = None, n_jobs: int | None = None
) -> NetworkStatistics:
    """Return the statistics with the holes of a table filled in: what EM expects of rows that miss something."""
    families = {i: statistics.parents[i] or () for i in sorted({*statistics.counts, *statistics.moments})}
    names = {i: statistics.nodes[i].name for i in sorted({*families, *(p for own in families.values() for p in own)})}
    seen = table.select(list(names.values()))
    if not seen.missing:
        return statistics
    dag = DAG(names.values(), [(names[p], names[i]) for i, own in families.items() for p in own])
    net = fit_parameters(dag, seen, DEFAULT_PRIOR, random_state=random_state, n_jobs=n_jobs, progress=False)
    if not statistics.moments:
        raised = {i: np.asarray(net.cpt(names[i]).counts).reshape(c.table.shape) for i, c in statistics.counts.items()}
        added = {i: pseudo_counts(DEFAULT_PRIOR, c) for i, c in statistics.counts.items()}
        counts = {i: replace(c, table=np.maximum(raised[i] - added[i], 0.0)) for i, c in statistics.counts.items()}
        return replace(statistics, counts=counts)
    problem, place = MixedProblem(dag, seen, DEFAULT_PRIOR, n_jobs), {i: v for v, i in enumerate(names)}
    found = problem.rows.expected(problem.hybrid.with_tables(list(net.cpts.values())), n_jobs=n_jobs)
    expected = {i: found.counts[place[i]].reshape(c.table.shape) for i, c in statistics.counts.items()}
    return replace(
        statistics,
        counts={i: replace(c, table=expected[i]) for i, c in statistics.counts.items()},
        moments={i: found.moments.get(place[i], m) for i, m in statistics.moments.items()},
    )


def class_network(statistics: NetworkStatistics, log_prior: np.ndarray, smoothing: Any) -> NetworkModel:
    """Return the model of a class that has no parents, with P(c) as given."""
    tables = network_tables(statistics, as_table_prior(smoothing))
    prior = np.exp(log_prior)
    tables[0] = CPT(statistics.nodes[0], [], prior / prior.sum())
    return NetworkModel(statistics.columns, statistics.parents, tables)


def gaussian_table(child: Variable, parents: Sequence[Variable], moments: CrossMoments) -> LinearGaussian:
    """Return the regressions of a number, each configuration borrowing from the one with fewer parents."""
    shape = [p.n_states for p in parents if p.is_categorical]
    moments = CrossMoments(*map(np.ascontiguousarray, moments.arrays))  # sums are the same when read from a file
    pooled = moments.pooled()
    if pooled.products[0, -1, -1] / pooled.count[0] <= least_variance(pooled):
        numbers = moments.mean.shape[1] - 1
        return LinearGaussian(
            child, parents, np.full(shape, pooled.mean[0, -1]), np.zeros((*shape, numbers)), np.ones(shape),
            moments=moments,
        )  # fmt: skip
    return regressions(child, parents, borrowed(moments, shape), behind=moments)


def borrowed(moments: CrossMoments, shape: Sequence[int]) -> CrossMoments:
    """Return moments of which each configuration has borrowed from the one with fewer parents, and so on down."""
    found = moments.pooled()
    for i in range(1, len(shape) + 1):
        level = moments if i == len(shape) else _first(moments, prod(shape[:i]))
        wide = CrossMoments(*(np.repeat(a, shape[i - 1], axis=0) for a in found.arrays))
        found = level + wide.scaled((BORROWED if i == 1 else _BORROWED_DEEPER) / wide.count)
    return found


def _first(moments: CrossMoments, n_groups: int) -> CrossMoments:
    """Return the moments of runs of configurations, each run together."""
    count, mean, products = (a.reshape(n_groups, -1, *a.shape[1:]) for a in moments.arrays)
    n = count.sum(axis=1)
    share = np.divide(count, n[:, None], out=np.zeros_like(count), where=n[:, None] > 0)
    middle = np.einsum("gi,gik->gk", share, mean)
    off = np.where(count[..., None] > 0, mean - middle[:, None], 0.0)
    between = np.einsum("gi,gik,gil->gkl", count, off, off)
    return CrossMoments(n, middle, products.sum(axis=1) + between)
