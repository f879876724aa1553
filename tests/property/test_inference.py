"""Exact inference on thousands of random networks: junction tree = variable elimination = enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings

from networks import networks_with_evidence, random_evidence, random_network
from oracles.elimination import eliminate
from oracles.enumeration import Enumeration, joint_table, joint_table_by_loops
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference import array_propagation, engine
from tunbridge.network import BayesianNetwork

EXACT = {"rtol": 0, "atol": 1e-12}
BLOCK = 120


@pytest.fixture(params=["whole tree", "tree of its own", "whole tree, NumPy", "tree of its own, NumPy"])
def path(request, monkeypatch):
    """Answer by the tree of the whole network, or by one made for each question; by kernels, or without them."""
    monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: "NumPy" not in request.param)
    monkeypatch.setattr(array_propagation, "_left", math.inf)
    if "tree of its own" in request.param:
        monkeypatch.setattr(engine, "_SMALL_TREE", 0)
        monkeypatch.setattr(engine, "_WORTH_A_TREE", math.inf)
    return request.param


def check_answers(cpts, evidence, rng):
    """Compare every kind of answer with enumeration; return whether the evidence is possible."""
    net, exact = BayesianNetwork.from_tables(cpts), Enumeration(cpts)
    total = exact.probability_of(evidence)
    if total == 0.0:
        check_impossible(net, exact, evidence)
        return False
    assert net.log_probability(evidence) == pytest.approx(math.log(total), rel=1e-12, abs=1e-12)
    targets = [exact.names[i] for i in rng.permutation(len(cpts))[: rng.integers(1, 5)]]
    check_posteriors(net, exact, evidence, targets)
    check_most_probable(net, exact, evidence, targets)
    check_events(net, exact, evidence, targets, rng)
    return True


def check_posteriors(net, exact, evidence, targets):
    together = net.posteriors(evidence)
    assert together.log_evidence == pytest.approx(math.log(exact.probability_of(evidence)), rel=1e-12, abs=1e-12)
    for name in exact.names:
        reference = exact.posterior(name, evidence)
        np.testing.assert_allclose(together[name].probabilities, reference, **EXACT)
        np.testing.assert_allclose(net.posterior(name, evidence).probabilities, reference, **EXACT)
    joint = net.posterior(targets, evidence)
    assert [v.name for v in joint.variables] == targets
    np.testing.assert_allclose(joint.probabilities, exact.posterior(targets, evidence), **EXACT)


def check_most_probable(net, exact, evidence, targets):
    total = exact.probability_of(evidence)
    for of in (None, targets):
        found = net.most_probable(evidence, of=of)
        names = exact.names if of is None else of
        assert list(found) == names
        table = exact.unnormalised(names, evidence)
        codes = tuple(exact.states[exact.names.index(name)].index(found[name]) for name in names)
        assert table[codes] == pytest.approx(table.max(), rel=1e-12)  # of equally probable ones any will do
        assert found.log_probability == pytest.approx(math.log(table.max()), rel=1e-12, abs=1e-12)
        assert found.probability == pytest.approx(table.max() / total, rel=0, abs=1e-12)


def check_events(net, exact, evidence, targets, rng):
    events = []
    for part in (targets[:2], targets[1:]):
        states = {name: exact.states[exact.names.index(name)] for name in part}
        events.append({name: rng.permutation(s)[: rng.integers(1, len(s) + 1)].tolist() for name, s in states.items()})

    def holds(event):
        return lambda x: all(x[name] in states for name, states in event.items())

    reference = [exact.event(holds(event), targets, evidence) for event in events]
    assert net.probability(events[0], evidence) == pytest.approx(reference[0], rel=0, abs=1e-12)
    either = exact.event(lambda x: any(holds(event)(x) for event in events), targets, evidence)
    assert net.probability(events, evidence) == pytest.approx(either, rel=0, abs=1e-12)

    def odd(*states):
        return sum(int(state[1:]) for state in states) % 2 == 1

    by_function = exact.event(lambda x: odd(*(x[name] for name in targets)), targets, evidence)
    assert net.probability(odd, evidence, of=targets) == pytest.approx(by_function, rel=0, abs=1e-12)


def check_impossible(net, exact, evidence):
    assert net.log_probability(evidence) == -math.inf
    for ask in (net.posteriors, net.most_probable, net.conflict, lambda e: net.probability({exact.names[0]: "s0"}, e)):
        with pytest.raises(ImpossibleEvidenceError) as caught:
            ask(evidence)
        conflict = caught.value.conflict
        assert exact.probability_of(conflict) == 0.0
        assert exact.is_impossible(evidence, conflict)
        assert len(conflict) == exact.smallest_conflict(evidence)
        assert all(name in str(caught.value) for name in conflict)


@pytest.mark.parametrize("block", range(6))
def test_random_networks_are_answered_as_by_enumeration(path, block):
    n_possible = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        rng = np.random.default_rng([seed, len(path)])
        cpts = random_network(rng, most_cells=1000)
        n_possible += check_answers(cpts, random_evidence(rng, cpts, share=rng.choice([0.0, 0.3, 0.6])), rng)
    assert BLOCK / 2 < n_possible < BLOCK  # both kinds of evidence were there


@settings(max_examples=100, deadline=None, derandomize=True)
@given(networks_with_evidence())
def test_drawn_networks_are_answered_as_by_enumeration(drawn):
    cpts, evidence = drawn
    check_answers(cpts, evidence, np.random.default_rng(0))


def test_larger_networks_of_five_states(path):
    for seed in range(30):
        rng = np.random.default_rng([seed, 5])
        cpts = random_network(rng, most_cells=100_000, zeros=0.1)
        net, exact = BayesianNetwork.from_tables(cpts), Enumeration(cpts)
        evidence = random_evidence(rng, cpts, share=0.2)
        if exact.probability_of(evidence) > 0.0:
            check_posteriors(net, exact, evidence, exact.names[:3])


def test_a_single_posterior_refuses_impossible_evidence(path):
    """Also findings that do not bear on the target must be possible."""
    n_refused = 0
    for seed in range(150):
        rng = np.random.default_rng([seed, 7])
        cpts = random_network(rng, most_cells=1000, zeros=0.5)
        evidence = random_evidence(rng, cpts, share=0.6)
        if Enumeration(cpts).probability_of(evidence) > 0.0:
            continue
        net = BayesianNetwork.from_tables(cpts)
        for target in [*net.nodes, list(net.nodes[:2])]:
            with pytest.raises(ImpossibleEvidenceError):
                net.posterior(target, evidence)
            n_refused += 1
    assert n_refused > 50


def test_plain_elimination_agrees_on_networks_too_large_to_enumerate(path):
    n_possible = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 11])
        cpts = random_network(rng, most_variables=40, most_states=4, most_cells=math.inf, window=5, zeros=0.1)
        net, evidence = BayesianNetwork.from_tables(cpts), random_evidence(rng, cpts, share=0.15)
        log_evidence = net.log_probability(evidence)
        targets = [net.nodes[i] for i in rng.permutation(len(cpts))[:2]]
        order = [name for name in reversed(net.dag.order) if name not in targets]
        table = eliminate(cpts, targets, evidence, order)
        if log_evidence == -math.inf:
            assert table.sum() == 0.0
            continue
        n_possible += 1
        assert log_evidence == pytest.approx(math.log(table.sum()), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(net.posterior(targets, evidence).probabilities, table / table.sum(), **EXACT)
        for axis, name in enumerate(targets):
            single = table.sum(axis=tuple(i for i in range(len(targets)) if i != axis)) / table.sum()
            np.testing.assert_allclose(net.posterior(name, evidence).probabilities, single, **EXACT)
    assert n_possible > 15


def test_chain_rule_of_queries(path):
    """Log P(e₁ … e_k) = Σ log P(e_i | e₁ … e_{i−1})."""
    n_checked = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 13])
        cpts = random_network(rng, zeros=0.1)
        net = BayesianNetwork.from_tables(cpts)
        row = {name: column[0] for name, column in rows_of(net.sample(1, random_state=seed)).items()}
        names = [net.nodes[i] for i in rng.permutation(len(cpts))[:5]]
        known, total = {}, 0.0
        for name in names:
            total += math.log(net.posterior(name, known)[row[name]])
            known[name] = row[name]
        assert net.log_probability(known) == pytest.approx(total, rel=1e-12, abs=1e-11)
        n_checked += len(names) > 2
    assert n_checked > 50


def rows_of(table):
    return table.to_arrow().to_pydict()


def test_likelihoods_count_up_to_a_factor(path):
    for seed in range(20):
        rng = np.random.default_rng([seed, 17])
        cpts = random_network(rng)
        net = BayesianNetwork.from_tables(cpts)
        variable = net.variables[0]
        likelihood = dict(zip(variable.states, rng.random(variable.n_states).tolist(), strict=True))
        for factor in (1e-300, 1e300):
            scaled = {state: value * factor for state, value in likelihood.items()}
            gap = net.log_probability({variable.name: scaled}) - net.log_probability({variable.name: likelihood})
            assert gap == pytest.approx(math.log(factor), rel=1e-12)
            for name in net.nodes:
                a, b = (net.posterior(name, {variable.name: e}) for e in (scaled, likelihood))
                np.testing.assert_allclose(a.probabilities, b.probabilities, **EXACT)


def test_oracles_agree():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cpts = random_network(rng, most_cells=300)
        np.testing.assert_allclose(joint_table(cpts), joint_table_by_loops(cpts), rtol=1e-13, atol=0)
        assert joint_table(cpts).sum() == pytest.approx(1.0, abs=1e-12)
        names = [cpt.variable.name for cpt in cpts]
        evidence = random_evidence(rng, cpts)
        total = Enumeration(cpts).probability_of(evidence)
        assert eliminate(cpts, [], evidence, names) == pytest.approx(total, rel=1e-12, abs=1e-300)
