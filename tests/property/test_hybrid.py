"""Networks of categories and numbers answer as brute force does: all configurations, and dense algebra."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.hybrid import HybridEnumeration, random_evidence, random_hybrid_network

RTOL = 1e-9
SEEDS = st.integers(0, 2**32 - 1)


def case(
    seed: int, **options: Any
) -> tuple[tb.BayesianNetwork, HybridEnumeration, dict[str, Any], np.random.Generator]:
    """Return a random network with its oracle and findings."""
    rng = np.random.default_rng(seed)
    cpts = random_hybrid_network(rng, **options)
    return tb.BayesianNetwork.from_tables(cpts), HybridEnumeration(cpts), random_evidence(rng, cpts), rng


def random_rows(rng: np.random.Generator, net: tb.BayesianNetwork, n: int) -> dict[str, list[Any]]:
    """Return columns in which about half of the cells are missing."""
    return {v.name: [_cell(rng, v) if rng.random() < 0.6 else None for _ in range(n)] for v in net.variables}


def _cell(rng: np.random.Generator, v: tb.Variable) -> Any:
    return float(rng.normal(0.0, 3.0)) if v.is_continuous else v.states[int(rng.integers(v.n_states))]


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_density_of_evidence_and_posteriors(seed):
    net, oracle, evidence, _ = case(seed)
    found = net.posteriors(evidence)
    density = oracle.log_density(evidence)
    np.testing.assert_allclose(net.log_probability(evidence), density, rtol=RTOL, atol=RTOL)
    np.testing.assert_allclose(found.log_evidence, density, rtol=RTOL, atol=RTOL)
    for v in net.variables:
        for one in (net.posterior(v.name, evidence), found[v.name]):
            if v.is_categorical:
                expected = oracle.posterior([v.name], evidence)
                np.testing.assert_allclose(one.probabilities, expected, rtol=RTOL, atol=1e-15)
            else:
                mean, variance = oracle.moments(v.name, evidence)
                np.testing.assert_allclose(one.mean, mean, rtol=RTOL, atol=RTOL)
                np.testing.assert_allclose(one.variance, variance, rtol=RTOL, atol=RTOL)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_whole_distribution_of_a_number(seed):
    net, oracle, evidence, rng = case(seed)
    for v in net.variables:
        if v.is_continuous and v.name not in evidence:
            one, x = net.posterior(v.name, evidence), float(rng.normal(0.0, 3.0))
            np.testing.assert_allclose(one.cdf(x), oracle.cdf(v.name, x, evidence), rtol=RTOL, atol=RTOL)
            density = oracle.log_density({**evidence, v.name: x}) - oracle.log_density(evidence)
            np.testing.assert_allclose(one.log_density(x), density, rtol=RTOL, atol=1e-8)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_joint_distribution_of_categories(seed):
    net, oracle, evidence, rng = case(seed)
    names = [v.name for v in net.variables if v.is_categorical]
    names = [names[i] for i in rng.permutation(len(names))]
    if names:
        expected = oracle.posterior(names, evidence)
        np.testing.assert_allclose(net.posterior(names, evidence).probabilities, expected, rtol=RTOL, atol=1e-15)
        state = {name: net.variable(name).states[0] for name in names}
        np.testing.assert_allclose(net.probability(state, evidence), expected[(0,) * len(names)], rtol=1e-8, atol=1e-14)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_rows_equal_single_questions(seed):
    net, oracle, _, rng = case(seed)
    rows = random_rows(rng, net, 5)
    likelihoods, each = net.log_likelihood(rows), net.posteriors(tb.as_table(rows, kinds=_kinds(net)))
    for i in range(5):
        row = {name: column[i] for name, column in rows.items() if column[i] is not None}
        np.testing.assert_allclose(likelihoods[i], oracle.log_density(row), rtol=RTOL, atol=RTOL)
        for v in net.variables:
            if v.is_categorical:
                np.testing.assert_allclose(each[v.name][i], oracle.posterior([v.name], row), rtol=RTOL, atol=1e-14)
            elif v.name in row:
                assert each[v.name][i].tolist() == [row[v.name], 0.0]
            else:
                mean, variance = oracle.moments(v.name, row)
                np.testing.assert_allclose(each[v.name][i], [mean, variance**0.5], rtol=1e-8, atol=1e-8)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_predictions_do_not_look_at_the_target(seed):
    net, oracle, _, rng = case(seed)
    rows = random_rows(rng, net, 4)
    for v in net.variables:
        without = [{n: c[i] for n, c in rows.items() if n != v.name and c[i] is not None} for i in range(4)]
        if v.is_categorical:
            expected = [oracle.posterior([v.name], row) for row in without]
            np.testing.assert_allclose(net.predict_proba(rows, v.name), expected, rtol=RTOL, atol=1e-14)
        else:
            expected = [oracle.moments(v.name, row)[0] for row in without]
            np.testing.assert_allclose(net.predict(rows, v.name), expected, rtol=1e-8, atol=1e-8)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_impossible_states_among_possible_numbers(seed):
    net, oracle, evidence, rng = case(seed, zeros=0.4)
    rows = random_rows(rng, net, 4)
    for i, found in enumerate(net.log_likelihood(rows)):
        density = oracle.log_density({name: column[i] for name, column in rows.items() if column[i] is not None})
        np.testing.assert_allclose(found, density, rtol=RTOL, atol=RTOL)
    np.testing.assert_allclose(net.log_probability(evidence), oracle.log_density(evidence), rtol=RTOL, atol=RTOL)


def _kinds(net: tb.BayesianNetwork) -> dict[str, str]:
    return {v.name: "continuous" if v.is_continuous else "categorical" for v in net.variables}


def test_factors_in_one_cluster_are_multiplied():
    """X | a, b and Y | b, c are observed, and Z | a, b, c is asked: both factors are about the cluster (a, b, c)."""
    a, b, c = (tb.Variable(name, ["0", "1"]) for name in "abc")
    rng = np.random.default_rng(0)
    cpts = [tb.CPT(v, (), np.array([0.4, 0.6])) for v in (a, b, c)]
    for name, parents in (("X", [a, b]), ("Y", [b, c]), ("Z", [a, b, c])):
        means = rng.normal(0, 3, (2,) * len(parents))
        cpts.append(tb.LinearGaussian(tb.Variable(name), parents, means, variances=np.ones(means.shape)))
    net, oracle = tb.BayesianNetwork.from_tables(cpts), HybridEnumeration(cpts)
    evidence = {"X": 1.0, "Y": -1.0}
    mean, _ = oracle.moments("Z", evidence)
    rows = net.predict({name: [value] for name, value in evidence.items()}, "Z")
    np.testing.assert_allclose(np.ravel(rows)[0], mean, rtol=RTOL)
    np.testing.assert_allclose(net.posterior("Z", evidence).mean, mean, rtol=RTOL)
