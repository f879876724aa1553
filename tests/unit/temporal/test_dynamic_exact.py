from __future__ import annotations

import math

import numpy as np
import pytest

from dynamic_networks import random_dynamic, random_slices, unrolled_evidence
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.temporal.dynamic import slices

CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def check_all(rng, net, n_slices):
    """Compare every answer with that of the unrolled network; return False where the evidence is impossible."""
    evidence = random_slices(rng, net, n_slices)
    wide = net.unrolled(n_slices + 2)
    everything = unrolled_evidence(evidence)
    log = wide.log_probability(everything)
    np.testing.assert_allclose(net.log_probability(evidence), log, **CLOSE)
    if log == -math.inf:
        with pytest.raises(ImpossibleEvidenceError, match="slice"):
            net.filter(evidence)
        with pytest.raises(ImpossibleEvidenceError):
            net.most_probable(evidence)
        return False
    target = str(rng.choice(net.nodes))
    pair = list(rng.choice(net.nodes, min(2, len(net.nodes)), replace=False))
    lag = int(rng.integers(0, 3))
    smooth, lagged, ahead = (
        net.smooth(evidence),
        net.fixed_lag(evidence, target, lag=lag),
        net.predict(evidence, steps=2),
    )
    filtered, joint = net.filter(evidence, target), net.smooth(evidence, pair)
    for t in range(n_slices):
        known, later = unrolled_evidence(evidence[: t + 1]), unrolled_evidence(evidence[: t + 1 + lag])
        same(filtered[t], wide.posterior(f"{target}[{t}]", known))
        same(lagged[t], wide.posterior(f"{target}[{t}]", later))
        same(joint[t], wide.posterior([f"{name}[{t}]" for name in pair], everything))
        for name in net.nodes:
            same(smooth[name][t], wide.posterior(f"{name}[{t}]", everything))
    for step in range(2):
        for name in net.nodes:
            same(ahead[name][step], wide.posterior(f"{name}[{n_slices + step}]", everything))
    check_most_probable(net, evidence)
    return True


def check_most_probable(net, evidence):
    best, wide = net.most_probable(evidence), net.unrolled(len(evidence))
    wanted = wide.most_probable(unrolled_evidence(evidence))
    np.testing.assert_allclose(best.log_probability, wanted.log_probability, **CLOSE)
    own = {f"{name}[{t}]": state for t, states in enumerate(best) for name, state in states.items()}
    scale = sum(
        math.log(given[name][state] if isinstance(given[name], dict) else 1.0)
        for given, states in zip(evidence, best, strict=True) for name, state in states.items() if name in (given or {})
    )  # fmt: skip
    np.testing.assert_allclose(wide.log_probability(own) + scale, best.log_probability, rtol=1e-9, atol=1e-10)


def same(found, wanted):
    np.testing.assert_allclose(found.probabilities, wanted.probabilities, **CLOSE)


@pytest.mark.parametrize("seed", range(60))
def test_every_answer_is_that_of_the_unrolled_network(seed):
    rng = np.random.default_rng(seed)
    check_all(rng, random_dynamic(rng), int(rng.integers(1, 7)))


@pytest.mark.parametrize("seed", range(25))
def test_higher_order(seed):
    rng = np.random.default_rng(1000 + seed)
    check_all(rng, random_dynamic(rng, most_variables=3, most_states=2, order=3), int(rng.integers(1, 6)))


@pytest.mark.parametrize("seed", range(25))
def test_messages_as_tensors(seed, monkeypatch):
    monkeypatch.setattr(slices, "_MOST_STATES", 0)
    rng = np.random.default_rng(2000 + seed)
    check_all(rng, random_dynamic(rng, order=1 + seed % 2), int(rng.integers(1, 5)))
