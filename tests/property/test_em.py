"""EM on random networks: the objective never falls, whatever is missing, with and without leaps."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from networks import random_network
from tunbridge.inference import expectations
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling.forward import sample_codes
from tunbridge.probability import CPT


def rows_with_holes(rng: np.random.Generator, share: float) -> tuple[tb.DAG, tb.Table]:
    """Return a random graph, and rows of a network over it with holes."""
    cpts = [CPT(c.variable, c.parents, c.table()) for c in random_network(rng, most_variables=8, most_states=3)]
    net = tb.BayesianNetwork.from_tables(cpts)
    codes = sample_codes(flatten(cpts), 60, int(rng.integers(2**31)))
    frame = {}
    for cpt, column in zip(cpts, codes, strict=True):
        states = np.array(cpt.variable.states, object)[column]
        frame[cpt.variable.name] = np.where(rng.random(60) < share, None, states)
    table, _ = tb.data.encode(frame, net.variables)
    return net.dag, table


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_the_objective_never_falls(seed: int, accelerate: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expectations, "is_compiled", lambda _: seed % 2 == 0)  # by the kernel, or by NumPy
    rng = np.random.default_rng(seed)
    dag, table = rows_with_holes(rng, float(rng.choice([0.1, 0.3, 0.6])))
    prior = [0.0, 0.5, tb.MEstimate(m=1), tb.MEstimate(m=3, p="marginal")][seed % 4]
    fit = tb.EM(tolerance=1e-7, max_iterations=5000, accelerate=accelerate).fit(dag, table, prior, random_state=seed)
    objectives = np.array([step.objective for step in fit.trace])
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1]))
    assert fit.log_likelihood == pytest.approx(fit.network.log_likelihood(table).sum(), rel=1e-10, abs=1e-10)
    assert all(np.allclose(cpt.table().sum(axis=-1), 1.0, rtol=0, atol=1e-12) for cpt in fit.network.cpts.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_columns_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag, table = rows_with_holes(rng, 0.3)
    turned = tb.DAG(dag.nodes[::-1], dag.arcs)
    one = tb.EM(tolerance=1e-10, max_iterations=3000).fit(dag, table, 0.5)
    other = tb.EM(tolerance=1e-10, max_iterations=3000).fit(turned, table.select(dag.nodes[::-1]), 0.5)
    assert one.trace[-1].objective == pytest.approx(other.trace[-1].objective, rel=1e-7)  # both to the tolerance
