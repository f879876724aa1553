"""The gradient is the derivative, and ascent never loses: on random networks with random holes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from networks import random_network, random_rows
from oracles.likelihood import (
    central_differences,
    conditional_log_likelihood,
    log_likelihood,
    log_prior,
    tables_by_loops,
)
from tunbridge.data import Table
from tunbridge.inference.sampling.forward import code_table
from tunbridge.learning.missing.gradient import _ClassifiedRows, _CountedRows, _Objective
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.parameters.priors import as_prior

seeds = st.integers(0, 2**32 - 1)
priors = st.sampled_from(["mle", 0.5, tb.MEstimate(m=2.0), tb.MEstimate(m=1.5, p="marginal")])


def random_problem(seed: int, *, holes: float = 0.35) -> tuple[tb.DAG, Table]:
    """Return a random graph and random rows with holes, of random weight."""
    rng = np.random.default_rng(seed)
    cpts = random_network(rng, most_variables=5, most_states=3, most_parents=3, most_cells=200)
    names = [cpt.variable.name for cpt in cpts]
    arcs = [(p.name, cpt.variable.name) for cpt in cpts for p in cpt.parents]
    n = int(rng.integers(1, 12))
    columns = []
    for cpt in cpts:
        codes = rng.integers(0, cpt.variable.n_states, n).astype(np.int8)
        codes[rng.random(n) < holes] = -1
        columns.append(codes)
    table = code_table([cpt.variable for cpt in cpts], columns)
    return tb.DAG(names, arcs), table.with_weights(rng.random(n) * 3.0)


def random_tables(problem: DiscreteProblem, rng: np.random.Generator) -> np.ndarray:
    """Return positive tables at which to take derivatives."""
    parts = [random_rows(rng, problem.start.table_of(v).shape, 0.0).ravel() for v in range(problem.start.n_variables)]
    return np.concatenate(parts)


def check_gradient(problem: DiscreteProblem, rows: _CountedRows, seed: int, expected_of: Any) -> None:
    tables = random_tables(problem, np.random.default_rng(seed))
    hill = _Objective(problem, rows, tables)
    found = np.zeros(len(tables))
    point = hill.at(hill.start)
    found[hill.free] = point.gradient * hill.scale
    expected = central_differences(expected_of, np.log(tables))
    assert point.objective == pytest.approx(expected_of(np.log(tables)), rel=1e-10, abs=1e-10)
    # Differences of width 1e-5 are wrong by about 1e-10 for the bending and by rounding, 1e-16 · |F| / 1e-5.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(seeds, priors)
def test_gradient_of_the_likelihood_is_that_of_differences(seed: int, prior: Any) -> None:
    dag, table = random_problem(seed)
    problem = DiscreteProblem(dag, table, as_prior(prior))
    codes = np.array([table.codes(node) for node in dag.nodes])

    def objective(eta: np.ndarray) -> float:
        cpts = tables_by_loops(problem.start, eta)
        return log_likelihood(cpts, codes, table.weights) + log_prior(cpts, problem.pseudo_counts)

    check_gradient(problem, problem.rows, seed, objective)


@settings(max_examples=40, deadline=None)
@given(seeds, priors)
def test_gradient_of_the_conditional_likelihood_is_that_of_differences(seed: int, prior: Any) -> None:
    dag, table = random_problem(seed)
    problem = DiscreteProblem(dag, table, as_prior(prior))
    codes = np.array([table.codes(node) for node in dag.nodes])
    target = seed % len(dag.nodes)

    def objective(eta: np.ndarray) -> float:
        cpts = tables_by_loops(problem.start, eta)
        found = conditional_log_likelihood(cpts, codes, table.weights, target)
        return found + log_prior(cpts, problem.pseudo_counts)

    check_gradient(problem, _ClassifiedRows(problem.start, codes, table.weights, target=target), seed, objective)


@settings(max_examples=30, deadline=None)
@given(seeds, priors, st.sampled_from(["l-bfgs", "gradient", "stochastic"]), st.booleans())
def test_never_ends_below_its_start_and_never_falls(seed: int, prior: Any, method: Any, by_class: bool) -> None:
    dag, table = random_problem(seed)
    known = [node for node in dag.nodes if (table.codes(node) >= 0).any()]
    target = known[0] if by_class and known else None
    ascent = tb.GradientAscent(
        method, target=target, max_iterations=8, restarts=0, batch_rows=2 if method == "stochastic" else None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.ConvergenceWarning)
        fit = ascent.fit(dag, table, prior, random_state=seed, hidden={n: 2 for n in dag.nodes if n not in known})
    objectives = [step.objective for step in fit.trace]
    assert np.isfinite(objectives).all()
    assert (np.diff(objectives) >= 0.0).all()
    for cpt in fit.network.cpts.values():
        assert (cpt.counts is None) == (target is not None)
        np.testing.assert_allclose(cpt.table().sum(axis=-1), 1.0, rtol=1e-12, atol=0)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_conditional_likelihood_reported_is_that_of_the_network(seed: int) -> None:
    dag, table = random_problem(seed, holes=0.2)
    codes = np.array([table.codes(node) for node in dag.nodes])
    target = seed % len(dag.nodes)
    if not (codes[target] >= 0).any() or (codes < 0).all(axis=1).any():
        return
    fit = tb.GradientAscent(target=dag.nodes[target], tolerance=1e-4).fit(dag, table, random_state=0)
    cpts = [fit.network.cpt(node) for node in dag.nodes]
    expected = conditional_log_likelihood(cpts, codes, table.weights, target)
    assert fit.log_likelihood == pytest.approx(expected, rel=1e-9, abs=1e-9)
