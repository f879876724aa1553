"""Updating on random networks and rows: exact where it should be, and equal to enumeration where it is fractional."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from networks import networks, random_network
from oracles.adaptation import updated
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import state_type
from tunbridge.learning import merge_networks, update_network
from tunbridge.learning.arriving.update import grown
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, SparseCPT

EXACT = {"rtol": 1e-10, "atol": 1e-12}


def random_rows(rng, net, n, share):
    """Return rows of a network with a share of their cells missing, and weights in every second call."""
    table = net.sample(n, random_state=int(rng.integers(2**31)))
    columns = [
        Column(c.variable, np.where(rng.random(n) < share, -1, c.values).astype(np.int8), state_type(c.variable))
        for c in table
    ]
    return Table.of(columns, weights=rng.uniform(0.1, 2.0, n) if rng.random() < 0.5 else None)


def counts_of(cpt, ess=1.0):
    """Return the counts behind a table written out: where a sparse one stores none, so many rows of the default."""
    if isinstance(cpt, CPT):
        return cpt.counts
    counts = np.tile(ess * cpt.default, (cpt.n_configurations, 1))
    counts[cpt.configurations] = cpt.counts
    return counts.reshape(cpt.shape)


def started(cpts, rng):
    """Return a network of these tables, noisy ones written out, with random counts behind them."""
    tables = []
    for cpt in cpts:
        if not isinstance(cpt, CPT | SparseCPT):
            cpt = CPT(cpt.variable, cpt.parents, cpt.table())
        rows = cpt._values()[0]
        tables.append(cpt.with_counts(rows * rng.uniform(0.5, 20.0, (*rows.shape[:-1], 1))))
    return BayesianNetwork.from_tables(tables)


@pytest.mark.parametrize("seed", range(40))
def test_fractional_updating_is_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = started(random_network(rng, most_variables=6, most_states=3, zeros=0.0), rng)
    rows = random_rows(rng, net, 12, rng.choice([0.0, 0.2, 0.6]))
    fading = float(rng.choice([1.0, 0.9]))
    found = update_network(net, rows, fading=fading)
    weights = np.ones(12) if rows.weights is None else rows.weights
    alphas = {name: counts_of(cpt) for name, cpt in net.cpts.items()}
    expected = updated(list(net.cpts.values()), alphas, rows.to_arrow().to_pylist(), weights, fading)
    for name, alpha in expected.items():
        cpt = found.network.cpt(name)
        n = alpha - fading**12 * alphas[name]  # what the rows have added
        told = n.sum(axis=-1) > 1e-9
        np.testing.assert_allclose(counts_of(cpt)[told], alpha[told], **EXACT)
        np.testing.assert_allclose(
            cpt.table()[told], (alpha / alpha.sum(axis=-1, keepdims=True))[told], rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(cpt.table()[~told], net.cpt(name).table()[~told], rtol=1e-6, atol=1e-9)
    assert found.log_score == pytest.approx(np.average(net.log_likelihood(rows), weights=weights), rel=1e-8, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(0, 2**31), st.lists(st.integers(0, 30), max_size=4), st.sampled_from([0.5, 1.0, 3.0]))
def test_any_batches_are_one_fit(cpts, seed, cuts, m):
    """Complete rows of a random network, cut anywhere, in any order of batches."""
    net = BayesianNetwork.from_tables(cpts)
    rows = net.sample(30, random_state=seed)
    prior = tb.MEstimate(m=m)
    ends = [0, *sorted(cuts), 30]
    batches = [rows.take(slice(a, b)) for a, b in pairwise(ends)]
    order = np.random.default_rng(seed).permutation(len(batches))
    nothing, whole = (tb.fit_parameters(net, some, prior) for some in (rows.take([]), rows))
    updated_net = nothing.update(batches[i] for i in order)
    merged = merge_networks([tb.fit_parameters(net, batch, prior) for batch in batches], prior=prior)
    for name in net.nodes:
        for found in (updated_net, merged):
            np.testing.assert_allclose(found.cpt(name).counts, whole.cpt(name).counts, **EXACT)
            np.testing.assert_allclose(found.cpt(name).table(), whole.cpt(name).table(), **EXACT)


@settings(max_examples=40, deadline=None)
@given(networks(most_variables=4), st.integers(0, 2**31), st.data())
def test_room_for_new_states(cpts, seed, data):
    """Rows sum to one, old odds stay, and what is new is possible wherever anything stood behind the row."""
    net = started(cpts, np.random.default_rng(seed))
    more = {name: data.draw(st.integers(0, 2)) for name in net.nodes}
    known = {v.name: Variable(v.name, [*v.states, *["new", "newer"][: more[v.name]]]) for v in net.variables}
    for cpt in net.cpts.values():
        wide = grown(cpt, known)
        assert wide.shape == tuple(known[v.name].n_states for v in (*cpt.parents, cpt.variable))
        np.testing.assert_allclose(wide.table().sum(axis=-1), 1.0, rtol=1e-12, atol=0)
        np.testing.assert_allclose(
            wide.counts / wide.counts.sum(axis=-1, keepdims=True), wide.table(), rtol=1e-9, atol=1e-12
        )
        inner = tuple(slice(n) for n in cpt.shape)
        np.testing.assert_array_equal(wide.counts[inner], cpt.counts)
        assert (wide.table()[..., cpt.variable.n_states :] > 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_rows_with_new_states_and_holes(seed):
    """Whatever turns up, and in whatever batches, rows stay distributions and know every state that was seen."""
    rng = np.random.default_rng(seed)
    net = started(random_network(rng, most_variables=5, most_states=3, zeros=0.0), rng)
    records = net.sample(20, random_state=seed).to_arrow().to_pylist()
    for record in records:
        for name in record:
            if rng.random() < 0.3:
                record[name] = str(rng.choice(["new", "newer"])) if rng.random() < 0.3 else None
    found = update_network(net, iter([records[:7], records[7:]]), fading=0.99)
    for name in net.nodes:
        cpt = found.network.cpt(name)
        np.testing.assert_allclose(cpt.table().sum(axis=-1), 1.0, rtol=1e-12, atol=0)
        seen = {record[name] for record in records if record[name] is not None}
        assert seen <= set(cpt.variable.states)
        assert found.new_states.get(name, ()) == cpt.variable.states[net.variable(name).n_states :]
