from __future__ import annotations

import math

import numpy as np
import pytest

from networks import random_network
from oracles.enumeration import joint_table
from tunbridge.inference.engine import Engine
from tunbridge.inference.tree import compile_tree, triangulate
from tunbridge.kernels.inference import propagation
from tunbridge.kernels.inference.propagation import layout


def run(engine, codes, likelihoods=None, wanted=None, joint=()):
    """Run the tree of the whole network over several lanes; return (log evidence, marginals, joint table)."""
    n, lanes = codes.shape
    tree, n_states = engine.tree, engine.potentials.n_states
    soft, is_soft = np.ones((int(n_states.sum()), lanes)), np.zeros(n, np.int64)
    for v, table in (likelihoods or {}).items():
        is_soft[v] = 1
        soft[engine.starts[v] : engine.starts[v + 1]] = table
    marks = np.ones(n, np.int64) if wanted is None else wanted
    asked = np.array([v for v in tree.clique_of(joint) if v in joint] if joint else [], np.int64)
    size = int(n_states[asked].prod()) * lanes if joint else 0
    with tree.borrow(engine.potentials, lanes, size) as (at, x, _):
        propagation.propagate(tree.program, x, propagation.Evidence(codes, soft, is_soft), marks, asked)
        marginals = x[at.marginals : at.up].reshape(-1, lanes).copy()
        return x[at.log_evidence : at.marginals].copy(), marginals, x[at.end : at.end + size].copy()


def expected(engine, codes, likelihoods=None):
    """Return the same by enumeration, lane by lane."""
    joint, n = joint_table(engine.cpts), engine.n_variables
    totals, marginals = [], []
    for lane in range(codes.shape[1]):
        table = joint
        for v in range(n):
            weight = np.ones(joint.shape[v])
            if codes[v, lane] >= 0:
                weight = np.arange(joint.shape[v]) == codes[v, lane]
            elif likelihoods and v in likelihoods:
                weight = likelihoods[v][:, lane]
            table = table * np.reshape(weight, [-1 if i == v else 1 for i in range(n)])
        totals.append(table.sum())
        sums = [table.sum(axis=tuple(i for i in range(n) if i != v)) for v in range(n)]
        marginals.append(np.concatenate(sums) / max(table.sum(), 1e-300))
    return np.array(totals), np.array(marginals).T


def dense_engine(seed):
    rng = np.random.default_rng(seed)
    while True:
        engine = Engine(random_network(rng, most_cells=400, zeros=0.15))
        if len(engine.potentials.n_states) == engine.n_variables:  # no chains of noisy tables
            return engine, rng


def random_codes(rng, engine, lanes):
    """Return findings: none, in every lane, or in some lanes only."""
    codes = np.stack([rng.integers(0, k, lanes) for k in engine.n_states])
    kind = rng.integers(0, 3, engine.n_variables)
    codes[kind == 0] = -1
    codes[(kind == 2)[:, None] & (rng.random(codes.shape) < 0.5)] = -1
    return codes


@pytest.mark.parametrize("lanes", [1, 2, 7, 64])
@pytest.mark.parametrize("seed", range(25))
def test_lanes_are_those_of_enumeration(lanes, seed):
    engine, rng = dense_engine(seed)
    codes = random_codes(rng, engine, lanes)
    totals, marginals = expected(engine, codes)
    log_evidence, found, _ = run(engine, codes)
    possible = totals > 0
    np.testing.assert_allclose(log_evidence[possible], np.log(totals[possible]), rtol=1e-12, atol=1e-12)
    assert (log_evidence[~possible] == -math.inf).all()
    np.testing.assert_allclose(found[:, possible], marginals[:, possible], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_several_lanes_equal_one_by_one(seed):
    engine, rng = dense_engine(seed)
    codes = random_codes(rng, engine, 9)
    log_evidence, found, _ = run(engine, codes)
    for lane in range(9):
        alone, single, _ = run(engine, np.ascontiguousarray(codes[:, lane : lane + 1]))
        assert log_evidence[lane] == pytest.approx(alone[0], rel=1e-12, abs=1e-12)
        if alone[0] > -math.inf:
            np.testing.assert_allclose(found[:, lane], single[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("lanes", [1, 5])
@pytest.mark.parametrize("seed", range(25))
def test_likelihoods_of_every_lane(lanes, seed):
    engine, rng = dense_engine(seed)
    codes = np.full((engine.n_variables, lanes), -1)
    likelihoods = {}
    for v in range(engine.n_variables):
        if rng.random() < 0.4:
            likelihoods[v] = rng.random((int(engine.n_states[v]), lanes))
        elif rng.random() < 0.3:
            codes[v] = rng.integers(0, engine.n_states[v], lanes)
    totals, marginals = expected(engine, codes, likelihoods)
    log_evidence, found, _ = run(engine, codes, likelihoods)
    possible = totals > 0
    np.testing.assert_allclose(log_evidence[possible], np.log(totals[possible]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[:, possible], marginals[:, possible], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(15))
def test_only_what_is_wanted_need_be_right_and_it_is(seed):
    engine, rng = dense_engine(seed)
    codes = random_codes(rng, engine, 3)
    wanted = rng.integers(0, 2, engine.n_variables)
    log_evidence, found, _ = run(engine, codes, wanted=wanted)
    all_evidence, everything, _ = run(engine, codes)
    np.testing.assert_array_equal(log_evidence, all_evidence)
    for v in np.flatnonzero(wanted):
        part = slice(engine.starts[v], engine.starts[v + 1])
        possible = log_evidence > -math.inf
        np.testing.assert_allclose(found[part, possible], everything[part, possible], rtol=0, atol=1e-13)


def test_the_same_bits_every_time():
    for seed in range(10):
        engine, rng = dense_engine(seed)
        codes = random_codes(rng, engine, 6)
        first, again = run(engine, codes), run(engine, codes)
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(15))
def test_joint_table_of_a_family(seed):
    engine, _ = dense_engine(seed)
    v = max(range(engine.n_variables), key=lambda v: len(engine.parents[v]))
    family = [v, *engine.parents[v]]
    lanes = 3
    *_, table = run(
        engine, np.full((engine.n_variables, lanes), -1), wanted=np.zeros_like(engine.n_states), joint=family
    )
    axes = [u for u in engine.tree.clique_of(family) if u in family]
    rest = tuple(u for u in range(engine.n_variables) if u not in family)
    reference = joint_table(engine.cpts).sum(axis=rest).transpose(np.argsort(np.argsort(axes)))
    for lane in range(lanes):
        found = table.reshape(-1, lanes)[:, lane].reshape(reference.shape)
        np.testing.assert_allclose(found, reference, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_maximise_finds_a_largest_cell(seed):
    engine, rng = dense_engine(seed)
    is_summed = rng.integers(0, 2, engine.n_variables) if seed % 2 else np.zeros(engine.n_variables, np.int64)
    is_summed[0] = 0
    found = triangulate(engine.potentials, last=1 - is_summed)
    tree = compile_tree(engine.potentials, found)
    n = engine.n_variables
    codes, chosen = np.full((n, 1), -1), np.empty(n, np.int64)
    soft, is_soft = np.empty((engine.starts[-1], 1)), np.zeros(n, np.int64)
    with tree.borrow(engine.potentials) as (_, x, _):
        largest = propagation.maximise(
            tree.program, x, propagation.Evidence(codes, soft, is_soft), 1 - is_summed, chosen
        )
    table = joint_table(engine.cpts).sum(axis=tuple(np.flatnonzero(is_summed).tolist()))
    assert table[tuple(chosen[is_summed == 0])] == pytest.approx(table.max(), rel=1e-12)
    assert largest == pytest.approx(math.log(table.max()), rel=1e-12, abs=1e-12)


def test_the_length_of_the_buffer_is_told():
    engine, _ = dense_engine(3)
    tree = engine.tree
    for lanes in (1, 8):
        at = layout(tree.program.sizes, lanes)
        assert (np.diff(at) >= 0).all()
        assert tree.n_bytes(lanes) == 8 * at.end
        assert at.up - at.marginals == engine.starts[-1] * lanes
