"""Posteriors and likelihoods of rows equal sums of logarithms, for tables with entries from 1e-300 to 1."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import logsumexp

import tunbridge as tb
from tunbridge.inference import batches


def network(seed: int) -> tb.BayesianNetwork:
    """Return a network of up to 243 joint states whose tables have log-uniform entries, some of them 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
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


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_rows_equal_sums_of_logarithms(seed: int) -> None:
    net, rng = network(seed), np.random.default_rng(seed)
    joint = log_joint(net)
    codes = np.array([[rng.integers(-1, v.n_states) for v in net.variables] for _ in range(4)])
    columns = {v.name: [v.states[c] if c >= 0 else None for c in codes[:, i]] for i, v in enumerate(net.variables)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "is_compiled", lambda kernel: True)
        answers, log_evidence = net.posteriors(tb.as_table(columns, kinds="categorical")), net.log_likelihood(columns)
    for row in range(len(codes)):
        part = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in codes[row])]
        expected = logsumexp(part) if np.isfinite(part).any() else -np.inf
        np.testing.assert_allclose(log_evidence[row], expected, rtol=1e-12, atol=1e-10)
        for i in np.flatnonzero(codes[row] < 0) if np.isfinite(expected) else ():
            marginal = np.exp(logsumexp(part, axis=tuple(j for j in range(part.ndim) if j != i)) - expected)
            np.testing.assert_allclose(answers[net.nodes[i]][row], marginal, rtol=0, atol=1e-10)
