"""Every path to an answer equals sums of logarithms, for tables with entries from 1e-300 to 1.

Products of such entries leave the range of a double. The oracle writes out the logarithm of the joint distribution. The
paths: single queries, joint posteriors, most probable states, samples given evidence, rows by components and by the
junction tree, imputation, expected counts (EM), networks with continuous variables, and classifiers.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp

import tunbridge as tb
from oracles import expectations
from oracles.hybrid import HybridEnumeration, random_hybrid_network
from tunbridge._core.registry import entries
from tunbridge.inference import array_propagation, batches, imputation
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import flatten
from tunbridge.kernels.compiled import kernels_forced

SEEDS = st.integers(0, 2**32 - 1)
ATOL = 1e-10  # of logarithms around −5000, and so of what they are logarithms of


@pytest.fixture(scope="module", params=["kernels", "NumPy"])
def _way(request):
    """Answer by kernels, or by NumPy as long as they are not compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_propagation, "is_compiled", lambda kernel: request.param == "kernels")
        patch.setattr(array_propagation, "_left", np.inf)
        yield


def random_network(seed: int, most: int = 6) -> tb.BayesianNetwork:
    """Return a network of up to 729 joint states whose tables have log-uniform entries, some of them 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most + 1))
    names, sizes = [f"v{i}" for i in range(n)], rng.integers(2, 4, n)
    arcs, cpts = [], {}
    for i, name in enumerate(names):
        parents = [j for j in range(i) if rng.random() < 0.6][:3]
        arcs += [(names[j], name) for j in parents]
        rows = 10.0 ** rng.uniform(-300, 0, (int(np.prod(sizes[parents])), sizes[i]))
        rows[rng.random(rows.shape) < 0.05] = 0.0
        rows[np.arange(len(rows)), rng.integers(0, sizes[i], len(rows))] = 1.0
        cpts[name] = (rows / rows.sum(axis=1, keepdims=True)).reshape(*sizes[parents], sizes[i])
    variables = {name: [f"s{k}" for k in range(r)] for name, r in zip(names, sizes, strict=True)}
    return tb.BayesianNetwork(variables, arcs, cpts)


def log_joint(net: tb.BayesianNetwork) -> np.ndarray:
    """Return the logarithm of the joint distribution, one axis for each variable."""
    out = np.zeros([v.n_states for v in net.variables])
    with np.errstate(divide="ignore"):
        for states in product(*map(range, out.shape)):
            at = dict(zip(net.nodes, states, strict=True))
            for name, cpt in net.cpts.items():
                out[states] += np.log(cpt.table()[(*(at[p.name] for p in cpt.parents), at[name])])
    return out


class Row:
    """What the oracle says of a row of codes, −1 where a value is missing."""

    def __init__(self, joint: np.ndarray, codes: np.ndarray) -> None:
        self.part = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in codes)]
        self.hidden = np.flatnonzero(codes < 0).tolist()
        self.log_evidence = logsumexp(self.part) if np.isfinite(self.part).any() else -np.inf

    @property
    def is_possible(self) -> bool:
        return bool(np.isfinite(self.log_evidence))

    def marginal(self, *axes: int) -> np.ndarray:
        others = tuple(j for j in range(self.part.ndim) if j not in axes)
        return np.exp(logsumexp(self.part, axis=others) - self.log_evidence)


def random_codes(net: tb.BayesianNetwork, rng: np.random.Generator, n: int) -> np.ndarray:
    return np.array([[rng.integers(-1, v.n_states) for v in net.variables] for _ in range(n)])


def columns_of(net: tb.BayesianNetwork, codes: np.ndarray) -> dict[str, list[Any]]:
    return {v.name: [v.states[c] if c >= 0 else None for c in codes[:, i]] for i, v in enumerate(net.variables)}


def check_rows(net: tb.BayesianNetwork, joint: np.ndarray, codes: np.ndarray) -> None:
    """Compare posteriors and likelihoods of rows with the oracle."""
    columns = columns_of(net, codes)
    answers, log_evidence = net.posteriors(tb.as_table(columns, kinds="categorical")), net.log_likelihood(columns)
    for i, row in enumerate(Row(joint, each) for each in codes):
        np.testing.assert_allclose(log_evidence[i], row.log_evidence, rtol=1e-12, atol=ATOL)
        for v in row.hidden if row.is_possible else ():
            np.testing.assert_allclose(answers[net.nodes[v]][i], row.marginal(v), rtol=0, atol=ATOL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("largest_component", [0, 4096], ids=["junction tree", "components"])
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_rows(seed: int, largest_component: int) -> None:
    net = random_network(seed)
    codes = random_codes(net, np.random.default_rng(seed), 4)
    with pytest.MonkeyPatch.context() as patch, kernels_forced():
        patch.setattr(batches, "_LARGEST_COMPONENT", largest_component)
        check_rows(net, log_joint(net), codes)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_rows_without_kernels(seed: int) -> None:
    net = random_network(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(array_propagation, "is_compiled", lambda kernel: False)
        patch.setattr(array_propagation, "_left", np.inf)
        check_rows(net, log_joint(net), random_codes(net, np.random.default_rng(seed), 4))


@pytest.mark.usefixtures("_way")
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_queries(seed: int) -> None:
    net, rng = random_network(seed), np.random.default_rng(seed)
    codes = random_codes(net, rng, 1)[0]
    row, evidence = Row(log_joint(net), codes), {}
    for v, c in zip(net.variables, codes, strict=True):
        if c >= 0:
            evidence[v.name] = v.states[c]
    if not row.is_possible:
        with pytest.raises(tb.ImpossibleEvidenceError):
            net.posteriors(evidence)
        return
    np.testing.assert_allclose(net.log_probability(evidence), row.log_evidence, rtol=1e-12, atol=ATOL)
    found = net.posteriors(evidence)
    for v in row.hidden:
        for one in (found[net.nodes[v]], net.posterior(net.nodes[v], evidence)):
            np.testing.assert_allclose(one.probabilities, row.marginal(v), rtol=0, atol=ATOL)
    if len(row.hidden) > 1:
        pair = row.hidden[:2]
        both = np.asarray(net.posterior([net.nodes[v] for v in pair], evidence).probabilities)
        np.testing.assert_allclose(both.ravel(), row.marginal(*pair).ravel(), rtol=0, atol=ATOL)
    np.testing.assert_allclose(net.most_probable(evidence).log_probability, row.part.max(), rtol=1e-12, atol=ATOL)


@pytest.mark.usefixtures("_way")
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_soft_evidence(seed: int) -> None:
    net, rng = random_network(seed, most=4), np.random.default_rng(seed)
    joint = log_joint(net)
    evidence = {}
    for axis, v in enumerate(net.variables):
        logs = rng.uniform(-690.0, 0.0, v.n_states)
        evidence[v.name] = dict(zip(v.states, np.exp(logs).tolist(), strict=True))
        joint = joint + np.log(list(evidence[v.name].values())).reshape(
            [-1 if j == axis else 1 for j in range(joint.ndim)]
        )
    row, found = Row(joint, np.full(joint.ndim, -1)), net.posteriors(evidence)
    np.testing.assert_allclose(found.log_evidence, row.log_evidence, rtol=1e-12, atol=ATOL)
    for v in row.hidden:
        np.testing.assert_allclose(found[net.nodes[v]].probabilities, row.marginal(v), rtol=0, atol=ATOL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most_entries", [0, 4096], ids=["junction tree", "components"])
@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_imputation(seed: int, most_entries: int) -> None:
    net, rng = random_network(seed), np.random.default_rng(seed)
    joint, codes = log_joint(net), random_codes(net, rng, 3)
    codes = codes[[Row(joint, each).is_possible for each in codes]]
    columns = columns_of(net, codes)
    with pytest.MonkeyPatch.context() as patch, kernels_forced():
        patch.setattr(imputation, "_MOST_ENTRIES", most_entries)
        table = tb.as_table(columns, kinds="categorical")
        imputed = net.impute(table).to_pandas() if len(codes) else None
        drawn = net.impute(table, method="sample", random_state=seed).to_pandas() if len(codes) else None
    for i, each in enumerate(codes):
        row = Row(joint, each)
        for found, is_best in ((imputed, True), (drawn, False)):
            chosen = tuple(v.states.index(found[v.name][i]) for v in net.variables)
            assert all(c in (-1, k) for c, k in zip(each, chosen, strict=True))
            if is_best:
                np.testing.assert_allclose(joint[chosen], row.part.max(), rtol=1e-12, atol=ATOL)
            else:
                assert joint[chosen] > row.log_evidence - 60.0  # what is drawn is not practically impossible


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_expected_counts(seed: int) -> None:
    net, rng = random_network(seed), np.random.default_rng(seed)
    flat, codes = flatten(list(net.cpts.values())), random_codes(net, rng, 5)
    weights = rng.uniform(0.5, 2.0, len(codes))
    for use in (None, kernels_forced):
        if use is None:
            found = IncompleteRows(flat, codes.T, weights).expected_counts(flat.tables)
        else:
            with use():
                found = IncompleteRows(flat, codes.T, weights).expected_counts(flat.tables)
        counts, log_likelihood = expectations.expected_counts(flat, codes.T, weights, flat.tables)
        np.testing.assert_allclose(found.log_likelihood, log_likelihood, rtol=1e-12, atol=ATOL)
        if np.isfinite(log_likelihood):
            np.testing.assert_allclose(found.counts, counts, rtol=0, atol=ATOL)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_networks_with_continuous_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cpts = random_hybrid_network(rng, most_categories=4, most_numbers=3, zeros=0.1, smallest=1e-250)
    net, oracle = tb.BayesianNetwork.from_tables(cpts), HybridEnumeration(cpts)
    evidence: dict[str, Any] = {}
    for v in net.variables:
        if rng.random() < 0.6:
            evidence[v.name] = float(rng.normal(0, 60)) if v.is_continuous else v.states[int(rng.integers(v.n_states))]
    row = {v.name: [evidence.get(v.name)] for v in net.variables}
    if not np.isfinite(expected := oracle.log_density(evidence)):
        return
    assert np.isclose(net.log_probability(evidence), expected, rtol=1e-10, atol=1e-9)
    assert np.isclose(net.log_likelihood(row)[0], expected, rtol=1e-10, atol=1e-9)
    answers = net.posteriors(tb.as_table(row, kinds={v.name: "categorical" for v in net.variables if v.is_categorical}))
    for v in net.variables:
        if v.is_categorical and v.name not in evidence:
            marginal = oracle.posterior([v.name], evidence)
            np.testing.assert_allclose(net.posterior(v.name, evidence).probabilities, marginal, rtol=0, atol=1e-8)
            np.testing.assert_allclose(answers[v.name][0], marginal, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["nb", "tan", "kdb", "multinet", "bn"])
@settings(max_examples=15, deadline=None)
@given(seed=SEEDS)
def test_classifiers(kind: str, seed: int) -> None:
    """An incomplete row has the probability of all its completions, which sum logarithms, one for each feature."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q"], 40)
    X = {f"x{i}": np.where(y == "p", rng.choice(["a", "b"], 40), rng.choice(["b", "c"], 40)) for i in range(5)}
    clf = entries("classifier")[kind].load()(smoothing=1e-250).fit(X, y)
    row = {name: [None if rng.random() < 0.5 else str(rng.choice(["a", "b", "c"]))] for name in X}
    cells = [sorted(set(X[name])) if value == [None] else value for name, value in row.items()]
    whole = dict(zip(row, map(list, zip(*product(*cells), strict=True)), strict=True))
    logs = logsumexp(clf.predict_joint_log_proba(whole), axis=0)
    np.testing.assert_allclose(clf.predict_proba(row)[0], np.exp(logs - logsumexp(logs)), rtol=0, atol=ATOL)
    np.testing.assert_allclose(logsumexp(clf.predict_joint_log_proba(row)), logsumexp(logs), rtol=1e-12, atol=ATOL)
