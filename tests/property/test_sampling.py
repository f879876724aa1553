"""Samples of random networks are possible, agree with enumeration, and are the same by every way to draw them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.sampling import joint, posterior, random_network
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling.forward import sample_codes
from tunbridge.inference.sampling.gibbs import sample_gibbs
from tunbridge.inference.sampling.weighting import weigh_likelihoods

SIGMAS = 6.5  # a few thousand comparisons of estimates whose errors are themselves estimated

seeds = st.integers(0, 10**6)
sizes = st.integers(1, 6)
zeros = st.sampled_from([0.0, 0.2, 0.5])


def random_evidence(seed, flat):
    """Return certain, several possible or soft findings on up to three variables."""
    rng = np.random.default_rng(seed)
    found = {}
    for v in rng.permutation(flat.n_variables)[: rng.integers(0, 4)].tolist():
        r = int(flat.n_states[v])
        several = (rng.random(r) < 0.5).astype(float)
        several[rng.integers(r)] = 1.0
        found[v] = (np.eye(r)[rng.integers(r)], several, rng.random(r) + 0.05)[rng.integers(3)]
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds, sizes, zeros, st.integers(0, 3000))
def test_rows_are_possible(seed, size, share, n):
    cpts = random_network(seed, size, most_states=5, zeros=share)
    columns = sample_codes(flatten(cpts), n, seed)
    assert all(len(column) == n for column in columns)
    assert (joint(cpts)[tuple(columns)] > 0).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds, sizes, zeros)
def test_marginals_are_those_of_enumeration(seed, size, share):
    cpts = random_network(seed, size, zeros=share)
    exact = joint(cpts)
    n = 40_000
    for v, codes in enumerate(sample_codes(flatten(cpts), n, seed)):
        p = posterior(exact, {}, v)[0]
        counts = np.bincount(codes, minlength=p.size)
        assert (np.abs(counts - n * p) <= SIGMAS * np.sqrt(n * p * (1 - p)) + 1e-6).all()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(seeds, sizes, zeros)
def test_weighting_agrees_with_enumeration(seed, size, share):
    cpts = random_network(seed, size, zeros=share)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = random_evidence(seed, flat)
    total = posterior(exact, likelihoods, 0)[1]
    if total == 0.0:
        with pytest.raises(ImpossibleEvidenceError):
            weigh_likelihoods(flat, range(size), likelihoods, max_samples=1, random_state=seed)
        return
    answer = weigh_likelihoods(flat, range(size), likelihoods, precision=0.005, max_samples=200_000, random_state=seed)
    assert answer.log_evidence == pytest.approx(np.log(total), abs=SIGMAS * answer.log_evidence_error + 1e-9)
    for target in range(size):
        off = np.abs(answer.probabilities[target] - posterior(exact, likelihoods, target)[0])
        assert (off <= SIGMAS * answer.standard_errors[target]).all()
        assert answer.probabilities[target].sum() == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seeds, sizes)
def test_gibbs_agrees_with_enumeration(seed, size):
    cpts = random_network(seed, size)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = random_evidence(seed, flat)
    answer = sample_gibbs(flat, range(size), likelihoods, precision=0.005, random_state=seed)
    assert answer.reached
    for target in range(size):
        off = np.abs(answer.probabilities[target] - posterior(exact, likelihoods, target)[0])
        assert (off <= SIGMAS * answer.standard_errors[target] + 1e-9).all()
        assert answer.probabilities[target].sum() == pytest.approx(1.0, abs=1e-12)
