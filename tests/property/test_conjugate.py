"""Conjugate updates in any order and in any pieces, and hypotheses ranked by likelihood as by their errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings, strategies as st
from scipy import stats

from tunbridge.reasoning import BetaBinomial, DirichletMultinomial, LinearFamily, LogisticFamily, NormalNormal

positive = st.fractions(min_value=Fraction(1, 20), max_value=20, max_denominator=20)
values = st.fractions(min_value=-50, max_value=50, max_denominator=8)
weights = st.lists(st.floats(-5, 5), min_size=2, max_size=2)
points = st.lists(st.tuples(st.floats(-3, 3), st.floats(-10, 10)), min_size=1, max_size=6)


@given(positive, positive, *[st.integers(0, 6)] * 4)
@settings(max_examples=25)
def test_beta_in_pieces(alpha, beta, s, f, s_more, f_more):
    prior = BetaBinomial(alpha, beta)
    whole = prior.update(s + s_more, f + f_more)
    assert prior.update(s_more, f_more).update(s, f) == whole
    assert prior.evidence(s, f) * prior.update(s, f).evidence(s_more, f_more) == prior.evidence(s + s_more, f + f_more)
    assert 0 < whole.mean < 1
    assert whole.variance <= whole.mean * (1 - whole.mean)


@given(st.lists(positive, min_size=2, max_size=4), st.lists(st.integers(0, 3), max_size=10), st.data())
@settings(max_examples=25)
def test_dirichlet_in_pieces(alphas, seen, data):
    prior = DirichletMultinomial(dict(enumerate(alphas)))
    observed, cut = [code % len(alphas) for code in seen], data.draw(st.integers(0, len(seen)))
    whole = prior.update(observed)
    assert prior.update(observed[cut:]).update(observed[:cut]) == whole
    assert prior.evidence(observed[:cut]) * prior.update(observed[:cut]).evidence(observed[cut:]) == prior.evidence(
        observed
    )
    np.testing.assert_allclose(
        list(whole.mean.values()), [float(whole.marginal(k).mean) for k in range(len(alphas))], rtol=1e-12
    )


@given(values, positive, positive, st.lists(values, max_size=8), st.data())
@settings(max_examples=25)
def test_normal_in_pieces(mean, variance, noise, measured, data):
    prior, cut = NormalNormal(mean, variance, noise_variance=noise), data.draw(st.integers(0, len(measured)))
    first, second = measured[:cut], measured[cut:]
    whole = prior.update(measured)
    assert prior.update(first).update(second) == whole
    assert whole.variance <= variance
    np.testing.assert_allclose(
        prior.log_evidence(first) + prior.update(first).log_evidence(second),
        prior.log_evidence(measured),
        rtol=1e-9,
        atol=1e-9,
    )


@given(weights, weights, points, st.floats(0.1, 10))
@settings(max_examples=25)
def test_likelihood_ranks_as_squared_error_does(one, other, rows, noise):
    x, y = zip(*rows, strict=True)
    family = LinearFamily(1, noise=noise)
    errors = [family.squared_error(w, x, y) for w in (one, other)]
    densities = [stats.norm.logpdf(y, w[0] + w[1] * np.array(x), noise).sum() for w in (one, other)]
    difference = (errors[1] - errors[0]) / (2 * noise**2)
    np.testing.assert_allclose(densities[0] - densities[1], difference, rtol=1e-6, atol=1e-6 * (1 + sum(errors)))
    if abs(difference) > 1e-6 * (1 + sum(errors) / noise**2):
        assert (densities[0] > densities[1]) == (errors[0] < errors[1])


@given(weights, weights, st.lists(st.tuples(st.floats(-3, 3), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=25)
def test_likelihood_ranks_as_cross_entropy_does(one, other, rows):
    x, y = zip(*rows, strict=True)
    family = LogisticFamily(1)
    costs = [family.cross_entropy(w, x, y) for w in (one, other)]
    chances = [
        np.prod([p if hit else 1 - p for hit, p in zip(y, 1 / (1 + np.exp(-(w[0] + w[1] * np.array(x)))), strict=True)])
        for w in (one, other)
    ]
    if abs(costs[0] - costs[1]) > 1e-6:
        assert (chances[0] > chances[1]) == (costs[0] < costs[1])


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from([0.0, 0.25, 1.0])), min_size=2, max_size=8))
@settings(max_examples=25)
def test_no_other_logistic_hypothesis_is_more_probable(rows):
    x, y = (np.array(part, float) for part in zip(*rows, strict=True))
    family = LogisticFamily(1)
    fit = family.map(x, y, prior_variance=2.0)
    best = fit.cross_entropy + fit.vector @ fit.vector / 4.0
    for step in ([1e-3, 0], [0, 1e-3], [-1e-3, 0], [0, -1e-3], [1, -1]):
        moved = fit.vector + step
        assert family.cross_entropy(moved, x, y) + moved @ moved / 4.0 > best
