"""Rows drawn given evidence follow the posterior; a wrong sampler would be noticed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

import tunbridge as tb
from networks import random_evidence, random_network
from oracles.enumeration import Enumeration
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.evidence import read_evidence
from tunbridge.inference.sampling.forward import conditioned


def joint_given(net: tb.BayesianNetwork, evidence: dict) -> np.ndarray:
    joint = Enumeration(list(net.cpts.values())).with_evidence(evidence)
    return joint / joint.sum()


def test_the_conditioned_network_has_the_posterior_as_its_joint_distribution():
    n_checked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=6, most_cells=500))
        evidence = random_evidence(rng, list(net.cpts.values()))
        wanted = Enumeration(list(net.cpts.values())).with_evidence(evidence)
        if wanted.sum() == 0.0:
            continue
        numbers, flat = conditioned(net._engine, read_evidence(net._engine.variables, net._engine.index, evidence))
        found = np.ones(tuple(flat.n_states))
        for v in range(flat.n_variables):
            axes = [*flat.parents_of(v).tolist(), v]
            table = flat.table_of(v).reshape([flat.n_states[a] for a in axes]).transpose(np.argsort(axes))
            found = found * table.reshape([flat.n_states[a] if a in axes else 1 for a in range(flat.n_variables)])
        keep = [i for i, number in enumerate(numbers) if number < len(net.nodes)]
        found = found.sum(axis=tuple(i for i in range(found.ndim) if i not in keep))
        order = np.argsort([numbers[i] for i in keep])
        hard = [i for i, n in enumerate(net.nodes) if i not in numbers]
        wanted = (wanted / wanted.sum()).sum(axis=tuple(hard))
        np.testing.assert_allclose(found.transpose(order), wanted, rtol=0, atol=1e-12)
        n_checked += 1
    assert n_checked > 30


def test_rows_given_evidence_follow_the_posterior():
    net = tb.example_network("asia")
    evidence = {"dysp": "yes", "xray": {"yes": 0.9, "no": 0.2}, "smoke": ["yes", "no"]}
    rows = net.sample(40_000, random_state=3, evidence=evidence)
    assert set(rows.codes("dysp").tolist()) == {0}
    counted = np.zeros([v.n_states for v in net.variables])
    np.add.at(counted, tuple(rows.codes(name) for name in net.nodes), 1)
    wanted = joint_given(net, evidence)
    seen = wanted > 0.0
    assert counted[~seen].sum() == 0
    assert chisquare(counted[seen], wanted[seen] * counted.sum()).pvalue > 1e-4
    other = joint_given(net, evidence | {"xray": {"yes": 0.9, "no": 0.4}})  # a test that could not tell would be none
    assert chisquare(counted[seen], other[seen] * counted.sum()).pvalue < 1e-12


def test_equal_seeds_equal_rows_whatever_the_threads():
    net = tb.example_network("asia")
    for evidence in (None, {"dysp": "yes"}):
        rows = net.sample(30_000, random_state=1, evidence=evidence, n_jobs=1)
        assert net.sample(30_000, random_state=1, evidence=evidence, n_jobs=4).to_arrow() == rows.to_arrow()
        assert net.sample(30_000, random_state=2, evidence=evidence).to_arrow() != rows.to_arrow()


def test_noisy_chains_are_drawn_without_their_auxiliary_variables():
    yes_no = ["no", "yes"]
    causes = [tb.Variable(f"c{i}", yes_no) for i in range(30)]
    effect = tb.noisy_or(tb.Variable("x", yes_no), dict.fromkeys(causes, 0.1), leak=0.01)
    net = tb.BayesianNetwork.from_tables([*(tb.CPT(c, [], [0.8, 0.2]) for c in causes), effect])
    for evidence in (None, {"c0": "yes"}):
        rows = net.sample(50_000, random_state=0, evidence=evidence)
        assert rows.names == net.nodes
        p = net.posterior("x", evidence)["yes"]
        assert abs(rows.codes("x").mean() - p) < 5 * np.sqrt(p * (1 - p) / 50_000)


def test_impossible_evidence_and_odd_sizes():
    net = tb.example_network("asia")
    with pytest.raises(ImpossibleEvidenceError, match="either='no' and tub='yes'"):
        net.sample(5, evidence={"either": "no", "tub": "yes"})
    assert net.sample(0, evidence={"tub": "yes"}).n_rows == 0
    everything = dict.fromkeys(net.nodes, "no")
    assert net.sample(3, random_state=0, evidence=everything).n_rows == 3
    with pytest.raises(ValueError, match="n must be at least 0; got -1"):
        net.sample(-1)
