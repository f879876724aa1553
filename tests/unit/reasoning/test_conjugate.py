from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit, logit

import tunbridge as tb
from tunbridge.data import Variable
from tunbridge.probability.smoothing import Laplace, MEstimate, smooth
from tunbridge.reasoning import BetaBinomial, DirichletMultinomial, NormalNormal

# Beta and binomial


def test_fractions_in_fractions_out():
    coin = BetaBinomial(Fraction(1), 1).update(7, 3)
    assert (coin.alpha, coin.beta) == (8, 4)
    assert (coin.mean, coin.mode, coin.variance) == (Fraction(2, 3), Fraction(7, 10), Fraction(2, 117))
    assert isinstance(BetaBinomial(1.0, Fraction(1)).update(7, 3).mean, float)
    assert BetaBinomial("1/2", "1/2").mean == Fraction(1, 2)


def test_whole_numbers_in_floats_out():
    coin = BetaBinomial().update(7, 3)
    assert f"{coin.mean:.3f} {coin.mode:.3f} {coin.variance:.3f}" == "0.667 0.700 0.017"
    assert json.loads(json.dumps([coin.alpha, coin.mean, coin.evidence(1, 1)])) == pytest.approx([8, 2 / 3, 8 / 39])
    urn = DirichletMultinomial({"r": 1, "g": 2}).update(["r"])
    shown = json.dumps([urn.alpha, urn.variance, urn.evidence(["r"]), urn.predictive_probability({"r": 1})])
    assert json.loads(shown) == [{"r": 2, "g": 2}, pytest.approx({"r": 0.05, "g": 0.05}), 0.5, 0.5]
    weight = NormalNormal(70, 25, noise_variance=4).update([74, 76, 75])
    assert f"{weight.mean:.3f} {weight.variance:.3f} {weight.predictive_variance:.3f}" == "74.747 1.266 5.266"
    json.dumps([weight.mean, weight.variance, weight.seen])


def test_laplaces_rule_of_succession():
    assert BetaBinomial().update(3, 0).mean == 0.8
    assert BetaBinomial("1", "1").update(3, 0).mean == Fraction(4, 5)


def test_failures_or_trials():
    prior = BetaBinomial(2, 3)
    assert prior.update(120, trials=1000) == prior.update(successes=120, failures=880) == BetaBinomial(122, 883)
    assert prior.evidence(2, trials=3) == prior.evidence(2, 1)
    assert prior.log_evidence(2, trials=3) == prior.log_evidence(2, 1)


def exact_probability_above(a: int, b: int, c: int, d: int) -> Fraction:
    """Return P(p > q) of p ~ Beta(a, b), q ~ Beta(c, d): the chance that a − 1 or fewer of a + b − 1 are below q."""
    n, q = a + b - 1, BetaBinomial(Fraction(c), d)
    return sum((math.comb(n, i) * q.evidence(i, n - i) for i in range(a)), Fraction(0))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((1, 1), (1, 1)),
        ((8, 4), (5, 9)),
        ((121, 881), (151, 851)),
        ((151, 851), (121, 881)),
        ((3, 200), (50, 20)),
        ((1, 500), (1, 1)),
        ((100, 2), (2, 100)),
        ((2, 100), (100, 2)),
    ],
)
def test_which_of_two_is_larger_by_a_finite_sum(first, second):
    expected = float(exact_probability_above(*first, *second))
    found = BetaBinomial(*first).probability_above(BetaBinomial(*second))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second"),
    [((0.7, 3.0), (2.5, 4.0)), ((2.5, 40.0), (0.2, 0.3)), ((1e5, 3e5), (100.5, 300.0)), ((3.0, 2.0), (1e6, 1e6))],
)
def test_which_of_two_is_larger_by_integration(first, second):
    known = stats.beta(*first), stats.beta(*second)
    joint = lambda t: known[0].pdf(expit(t)) * expit(t) * expit(-t) * known[1].cdf(expit(t))  # noqa: E731
    steps = {float(d.mean() + k * d.std()) for d in known for k in range(-9, 10, 3)}
    points = [logit(p) for p in steps if 0 < p < 1]
    expected = integrate.quad(joint, -90, 90, points=points, epsabs=0, epsrel=1e-11, limit=500)[0]
    one, other = BetaBinomial(*first), BetaBinomial(*second)
    np.testing.assert_allclose(one.probability_above(other), expected, rtol=1e-9)
    np.testing.assert_allclose(one.probability_above(other) + other.probability_above(one), 1.0, rtol=1e-12)


def test_which_of_two_is_larger_by_simulation():
    rng = np.random.default_rng(0)
    drawn = np.mean(rng.beta(31, 71, 200_000) > rng.beta(25, 77, 200_000))
    found = BetaBinomial().update(30, trials=100).probability_above(BetaBinomial().update(24, trials=100))
    assert abs(found - drawn) < 0.004  # four deviations of the simulation
    assert abs(found - 0.5) > 0.3


@pytest.mark.parametrize("size", [1e-10, 1e-3, 1e10])
def test_equal_beliefs_of_any_size_are_even(size):
    assert BetaBinomial(size, size).probability_above(BetaBinomial(size, size)) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (2.5, 0.7), (Fraction(1, 2), 3)])
def test_a_posterior_is_prior_times_likelihood_divided_by_their_integral(alpha, beta):
    before, s, f = BetaBinomial(alpha, beta), 4, 2
    after = before.update(s, f)
    joint = lambda p: float(before.pdf(p)) * p**s * (1 - p) ** f  # noqa: E731
    whole = integrate.quad(joint, 0, 1, epsabs=0, epsrel=1e-11)[0]
    np.testing.assert_allclose(float(before.evidence(s, f)), whole, rtol=1e-9)
    np.testing.assert_allclose(before.log_evidence(s, f), math.log(whole), rtol=1e-9)
    for p in (0.1, 0.5, 0.9):
        np.testing.assert_allclose(after.pdf(p), joint(p) / whole, rtol=1e-9)
    np.testing.assert_allclose(float(after.mean), integrate.quad(lambda p: p * joint(p), 0, 1)[0] / whole, rtol=1e-9)


def test_a_fine_grid_of_hypotheses_agrees():
    grid = ((np.arange(2000) + 0.5) / 2000).tolist()
    space = tb.HypothesisSpace(grid, likelihood=lambda p, side: p if side == "H" else 1 - p).update("HHTHH")
    coin = BetaBinomial().update(4, 1)
    np.testing.assert_allclose(space.posterior.expected(), float(coin.mean), rtol=1e-6)
    np.testing.assert_allclose(float(space.evidence), float(BetaBinomial().evidence(4, 1)), rtol=1e-6)
    assert abs(space.map - coin.mode) <= 1 / 2000
    np.testing.assert_allclose(2000 * space.posterior[grid[1200]], coin.pdf(grid[1200]), rtol=1e-5)


def test_evidence_is_exact_and_multiplies_over_pieces():
    prior = BetaBinomial(Fraction(1), Fraction(1))
    assert prior.evidence(7, 3) == Fraction(1, 1320)
    assert BetaBinomial().evidence(7, 3) == 1 / 1320
    assert prior.evidence(2, 1) * prior.update(2, 1).evidence(5, 2) == prior.evidence(7, 3)
    assert prior.evidence(0, 0) == 1
    assert BetaBinomial(Fraction(1, 3), Fraction(2, 3)).evidence(1, 0) == Fraction(1, 3)


def test_evidence_of_many_is_a_float_and_never_lost_in_its_logarithm():
    prior = BetaBinomial(Fraction(1, 2), 2)
    expected = math.lgamma(30000.5) + math.lgamma(40002) - math.lgamma(70002.5)
    expected -= math.lgamma(0.5) + math.lgamma(2) - math.lgamma(2.5)
    np.testing.assert_allclose(prior.log_evidence(30000, 40000), expected, rtol=1e-12)
    assert prior.evidence(30000, 40000) == 0.0
    np.testing.assert_allclose(prior.evidence(6000, 0), math.exp(prior.log_evidence(6000, 0)), rtol=1e-12)
    sure = BetaBinomial(10**12, 10**12)
    np.testing.assert_allclose(sure.log_evidence(5000, 5000), -10000 * math.log(2), rtol=1e-8)


def test_the_predictive_distribution_is_the_beta_binomial():
    coin = BetaBinomial(2.5, 0.7)
    found = coin.predictive(9)
    np.testing.assert_allclose(list(found.values()), stats.betabinom.pmf(range(10), 9, 2.5, 0.7), rtol=1e-11)
    exact = BetaBinomial(8, 4)
    np.testing.assert_allclose(list(exact.predictive(2).values()), [5 / 39, 16 / 39, 6 / 13], rtol=1e-14)
    assert exact.predictive(1)[1] == pytest.approx(2 / 3, rel=1e-14)
    assert exact.predictive(0)[0] == 1.0
    rare = BetaBinomial(1, Fraction(1, 10**12)).predictive(2)  # β(β + 1), 2β and 2, divided by (β + 1)(β + 2)
    np.testing.assert_allclose(list(rare.values()), [5e-13, 1e-12, 1.0], rtol=1e-11)
    assert BetaBinomial(1e-300, 1e-300).predictive(2)[0] == pytest.approx(0.5)
    assert exact.predictive(100_000).probabilities.sum() == pytest.approx(1.0, rel=1e-12)


def test_intervals():
    coin = BetaBinomial(8, 4)
    np.testing.assert_allclose(coin.interval(0.9), stats.beta.interval(0.9, 8, 4), rtol=1e-9)


def test_densities_at_the_edges():
    assert BetaBinomial(2, 2).pdf([-1, 0, 1, 2]).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert BetaBinomial(1, 1).pdf([0.0, 1.0]).tolist() == [1.0, 1.0]
    assert BetaBinomial(0.5, 1).pdf(0) == math.inf
    assert BetaBinomial(2, 2).cdf([-1, 0.5, 3]).tolist() == pytest.approx([0.0, 0.5, 1.0])


def test_modes_at_the_ends():
    assert BetaBinomial(1, 3).mode == 0
    assert BetaBinomial(3, 1).mode == 1
    for undefined in (BetaBinomial(1, 1), BetaBinomial(0.5, 2), BetaBinomial(2, 0.5)):
        with pytest.raises(tb.DataError, match="the mode needs alpha and beta of at least 1, not both 1"):
            _ = undefined.mode
    with pytest.raises(tb.DataError, match="the density is constant"):
        _ = BetaBinomial().mode
    with pytest.raises(tb.DataError, match="unbounded at an end"):
        _ = BetaBinomial(0.5, 2).mode


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BetaBinomial(0, 1), "alpha must be above 0; got 0"),
        (lambda: BetaBinomial(1, -2), "beta must be above 0; got -2"),
        (lambda: BetaBinomial(math.nan), "alpha must be finite; got nan"),
        (lambda: BetaBinomial(None), "alpha must be a number; got None"),
        (lambda: BetaBinomial(10**400), "alpha must be above 0"),
        (lambda: BetaBinomial().update(-1, 0), "successes must be an integer of at least 0; got -1"),
        (lambda: BetaBinomial().update(1, 0.5), "failures must be an integer of at least 0; got 0.5"),
        (lambda: BetaBinomial().update(math.inf, 1), "successes must be finite"),
        (lambda: BetaBinomial().update(7), "successes must come with failures or trials=; got neither."),
        (lambda: BetaBinomial().update(7, 3, trials=10), r"got both. update\(7, 3\) and update\(7, trials=10\) are"),
        (lambda: BetaBinomial().update(7, trials=5), "trials must be at least the number of successes, 7; got 5"),
        (lambda: BetaBinomial().update(7, trials=9.5), "trials must be an integer of at least 0; got 9.5"),
        (lambda: BetaBinomial().evidence(7), "successes must come with failures"),
        (lambda: BetaBinomial().probability_above(0.5), "other must be a BetaBinomial; got 0.5"),
        (
            lambda: BetaBinomial(1e-20, 1).probability_above(BetaBinomial()),
            r"alpha and beta must lie between 1e-10 and 1e\+10 for a comparison; got \(1e-20, 1.0\) and \(1.0, 1.0\)",
        ),
        (lambda: BetaBinomial().interval(0), "level must be greater than 0; got 0"),
        (lambda: BetaBinomial().interval(95), "level must be below 1; got 95. Write 0.95 for 95 %"),
        (lambda: BetaBinomial().predictive(-1), "n must be an integer of at least 0; got -1"),
        (lambda: BetaBinomial().pdf("a"), "p must be an array of numbers"),
        (lambda: BetaBinomial().pdf([0.5, math.nan]), "p must be numbers; got nan"),
        (lambda: BetaBinomial().cdf(math.nan), "p must be numbers; got nan"),
    ],
)
def test_bad_beta(call, message):
    with pytest.raises(tb.DataError, match=message):
        call()


def test_a_predictive_distribution_too_large_is_forecast():
    with pytest.raises(tb.MemoryForecastError, match="a distribution over 0 … 10000000000000 would need"):
        BetaBinomial().predictive(10**13)


# Dirichlet and multinomial


def test_means_and_modes():
    seen = DirichletMultinomial({"r": 1, "g": 2, "b": 3}, name="ball").update({"r": 4, "b": 1})
    assert seen.alpha == {"r": 5, "g": 2, "b": 4}
    assert dict(seen.mean) == pytest.approx({"r": 5 / 11, "g": 2 / 11, "b": 4 / 11}, rel=1e-15)
    assert dict(seen.mode) == pytest.approx({"r": 4 / 8, "g": 1 / 8, "b": 3 / 8}, rel=1e-15)
    assert seen.variance["r"] == pytest.approx(5 * 6 / (121 * 12), rel=1e-15)
    exact = DirichletMultinomial({"r": "1", "g": 2, "b": 3}).update({"r": 4, "b": 1})
    assert exact.variance["r"] == Fraction(5 * 6, 121 * 12)
    assert seen.mean.variables[0].name == "ball"
    assert seen == DirichletMultinomial({"r": 1, "g": 2, "b": 3}, name="ball").update(["r", "b", "r", "r", "r"])


def test_two_states_are_the_beta_binomial():
    pair, coin = DirichletMultinomial({"H": 2, "T": Fraction(1, 2)}), BetaBinomial(2, Fraction(1, 2))
    after = pair.update({"H": 3, "T": 2})
    assert after.marginal("H") == coin.update(3, 2)
    assert pair.evidence({"H": 3, "T": 2}) == coin.evidence(3, 2)
    np.testing.assert_allclose(float(pair.predictive_probability({"H": 3, "T": 2})), coin.predictive(5)[3], rtol=1e-13)
    assert after.interval(0.8)["H"] == coin.update(3, 2).interval(0.8)
    assert str(after.marginal("H").derivation()) == str(coin.update(3, 2).derivation())


def test_smoothing_is_the_mean():
    states, counts = ["a", "b", "c"], np.array([5.0, 0.0, 2.0])
    variable, seen = Variable("v", states), {"a": 5, "c": 2}
    laplace = smooth(counts, Laplace(0.5), variable)
    uniform = DirichletMultinomial(dict.fromkeys(states, "1/2")).update(seen)
    np.testing.assert_allclose(list(uniform.mean.values()), laplace, rtol=1e-15)
    guess = {"a": 0.2, "b": 0.5, "c": 0.3}
    m_estimate = smooth(counts, MEstimate(m=10, p=guess), variable)
    weighted = DirichletMultinomial({state: 10 * p for state, p in guess.items()}).update(seen)
    np.testing.assert_allclose(list(weighted.mean.values()), m_estimate, rtol=1e-14)


def test_evidence_by_enumeration():
    prior = DirichletMultinomial({"a": 1, "b": Fraction(1, 2), "c": 3})
    sequences = list(itertools.product("abc", repeat=3))
    assert sum(prior.evidence(list(s)) for s in sequences) == 1
    counts = [{"a": i, "b": j, "c": 3 - i - j} for i in range(4) for j in range(4 - i)]
    assert sum(prior.predictive_probability(c) for c in counts) == 1
    one_by_one = Fraction(1)
    belief = prior
    for state in "abca":
        one_by_one *= belief.marginal(state).mean
        belief = belief.update([state])
    assert prior.evidence(list("abca")) == one_by_one
    np.testing.assert_allclose(prior.log_evidence(list("abca")), math.log(one_by_one), rtol=1e-14)


def test_predictive_agrees_with_scipy():
    prior = DirichletMultinomial({"a": 1.5, "b": 0.3, "c": 2.0})
    expected = stats.dirichlet_multinomial.pmf([2, 1, 4], [1.5, 0.3, 2.0], 7)
    np.testing.assert_allclose(prior.predictive_probability({"a": 2, "b": 1, "c": 4}), expected, rtol=1e-10)
    large = stats.dirichlet_multinomial.pmf([2000, 1000, 4000], [1.5, 0.3, 2.0], 7000)
    found = prior.predictive_probability({"a": 2000, "b": 1000, "c": 4000})
    np.testing.assert_allclose(found, large, rtol=1e-7)  # what differences of log-gamma functions keep


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda p: DirichletMultinomial({}),
            "alpha must be a mapping of state to pseudo-count, with at least one state",
        ),
        (lambda p: DirichletMultinomial(["a", "b"]), r"got \['a', 'b'\]. dict.fromkeys\(states, 1\) gives"),
        (lambda p: DirichletMultinomial({"a": 0, "b": 1}), "alpha of 'a' must be above 0; got 0"),
        (lambda p: DirichletMultinomial({"a": math.inf}), "alpha of 'a' must be finite; got inf"),
        (lambda p: p.update({"red": -1}), "the count of 'red' must be an integer of at least 0; got -1"),
        (lambda p: p.update({"red": 1.5}), "the count of 'red' must be an integer of at least 0; got 1.5"),
        (lambda p: p.update(["rde"]), "must be one with a pseudo-count; got 'rde'. Did you mean 'red'?"),
        (lambda p: p.update([None]), "must be one with a pseudo-count; got None"),
        (lambda p: p.update("red"), "must be counts by state, or a list of states; got 'red'. Write a single"),
        (lambda p: p.update(3), "must be counts by state, or a list of states; got 3"),
        (lambda p: p.marginal("blu"), "Did you mean 'blue'"),
        (lambda p: p.mode, "the mode needs pseudo-counts of at least 1, not all 1; for .* the density is constant"),
        (lambda p: DirichletMultinomial({"a": 0.5, "b": 3}).mode, "the density is unbounded at an edge"),
        (lambda p: DirichletMultinomial({"a": 0.5, "b": 1.5}).mode, "the density is unbounded at an edge"),
        (
            lambda p: DirichletMultinomial({"a": 1}).marginal("a"),
            "there must be at least two states; 'a' is the only one",
        ),
        (lambda p: p.interval(2), "level must be below 1; got 2"),
    ],
)
def test_bad_dirichlet(call, message):
    with pytest.raises(tb.DataError, match=message):
        call(DirichletMultinomial({"red": 1, "blue": 1}))


def test_an_unknown_state_is_a_key_error_too():
    with pytest.raises(tb.UnknownStateError):
        DirichletMultinomial({"red": 1, "blue": 1}).update({"green": 1})


def test_one_state_is_certain():
    assert dict(DirichletMultinomial({"a": 2}).update(["a"]).mean) == {"a": 1.0}


# Normal and normal


def test_precisions_add():
    weight = NormalNormal(70, Fraction(25), noise_variance=4).update([74, 76, 75])
    assert weight.variance == 1 / (Fraction(1, 25) + Fraction(3, 4)) == Fraction(100, 79)
    assert weight.mean == weight.variance * (Fraction(70, 25) + Fraction(225, 4))
    assert weight.predictive_variance == Fraction(100, 79) + 4
    assert isinstance(NormalNormal(70, 25, noise_variance=4).update([74.5]).mean, float)


def test_a_normal_posterior_is_prior_times_likelihood_divided_by_their_integral():
    before, values = NormalNormal(1.0, 2.0, noise_variance=0.5), [2.0, 1.2, 3.1]
    after = before.update(values)
    joint = lambda t: before.pdf(t) * stats.norm.pdf(values, t, math.sqrt(0.5)).prod()  # noqa: E731
    whole = integrate.quad(joint, -10, 12, epsabs=0, epsrel=1e-11)[0]
    np.testing.assert_allclose(before.log_evidence(values), math.log(whole), rtol=1e-9)
    for theta in (0.0, 2.0, 3.0):
        np.testing.assert_allclose(after.pdf(theta), joint(theta) / whole, rtol=1e-9)


def test_a_fine_grid_of_means_agrees():
    grid = np.linspace(-8, 12, 2001).tolist()
    before, values = NormalNormal(1.0, 2.0, noise_variance=0.5), [2.0, 1.2, 3.1]
    shares = np.array([before.pdf(t) for t in grid])
    log_density = lambda t, x: float(stats.norm.logpdf(x, t, math.sqrt(0.5)))  # noqa: E731
    some = [i for i in range(len(grid)) if i % 10 == 0]
    space = tb.HypothesisSpace([grid[i] for i in some], shares[some] / shares[some].sum(), log_likelihood=log_density)
    seen = space.update(values)
    np.testing.assert_allclose(seen.posterior.expected(), before.update(values).mean, rtol=1e-9)
    np.testing.assert_allclose(seen.log_evidence, before.log_evidence(values), rtol=1e-9)


def test_normal_evidence_is_the_joint_density():
    before, values = NormalNormal(1.0, 2.0, noise_variance=0.5), [2.0, 1.2, 3.1, -4.0]
    expected = stats.multivariate_normal.logpdf(values, np.ones(4), 0.5 * np.eye(4) + 2.0)
    np.testing.assert_allclose(before.log_evidence(values), expected, rtol=1e-12)
    assert before.log_evidence([]) == 0.0
    one = stats.norm.logpdf(3.0, 1.0, math.sqrt(float(before.predictive_variance)))
    np.testing.assert_allclose(before.log_evidence(3.0), one, rtol=1e-12)


def test_the_normal_family_is_the_linear_family_with_a_constant():
    values, before = [2.0, 1.2, 3.1], NormalNormal(0.0, 2.0, noise_variance=0.5)
    fit, after = (
        tb.reasoning.LinearFamily(0, noise=math.sqrt(0.5)).map([0, 0, 0], values, prior_variance=2.0),
        before.update(values),
    )
    np.testing.assert_allclose([fit.vector[0], fit.covariance[0, 0]], [after.mean, after.variance], rtol=1e-12)
    np.testing.assert_allclose(fit.predictive(0.0)[1] ** 2, after.predictive_variance, rtol=1e-12)
    np.testing.assert_allclose(fit.log_evidence, before.log_evidence(values), rtol=1e-12)


def test_values_of_any_size_have_an_evidence():
    prior = NormalNormal(0, 1, noise_variance=1)
    np.testing.assert_allclose(prior.log_evidence([1e150]), -(1e300) / 4, rtol=1e-12)
    assert prior.log_evidence([1e200]) == prior.log_evidence([1e300, -1e300]) == -math.inf
    np.testing.assert_allclose(
        NormalNormal(0, 1e200, noise_variance=1e200).log_evidence([1e100]),
        -0.25 - math.log(4 * math.pi * 1e200) / 2,
        rtol=1e-12,
    )


def test_normal_intervals():
    after = NormalNormal(1.0, 2.0, noise_variance=0.5)
    np.testing.assert_allclose(after.interval(0.9), stats.norm.interval(0.9, 1.0, math.sqrt(2.0)), rtol=1e-12)
    np.testing.assert_allclose(after.predictive_interval(0.9), stats.norm.interval(0.9, 1, math.sqrt(2.5)), rtol=1e-12)
    np.testing.assert_allclose(after.cdf([1.0, 2.0]), stats.norm.cdf([1, 2], 1, math.sqrt(2.0)), rtol=1e-12)
    assert isinstance(after.cdf(1.0), float)


def test_means_numbers_and_arrays_are_read():
    prior = NormalNormal(0, 1, noise_variance=1)
    assert prior.update([1, 2, 3]) == prior.update(mean=2, n=3) == prior.update(np.array([1, 2, 3]))
    assert prior.update(5) == prior.update([5])
    assert prior.update([]) == prior.update(mean=3, n=0) == prior


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: NormalNormal(0, 0, noise_variance=1), "variance must be above 0; got 0"),
        (lambda p: NormalNormal(0, 1, noise_variance=-1), "noise_variance must be above 0; got -1"),
        (lambda p: NormalNormal(math.inf, 1, noise_variance=1), "mean must be finite; got inf"),
        (lambda p: NormalNormal("a", 1, noise_variance=1), "mean must be a number such as"),
        (lambda p: p.update([1, math.nan]), "the value at position 1 must be finite; got nan"),
        (lambda p: p.update([1, None]), "the value at position 1 must be a number; got None"),
        (lambda p: p.update([[1, 2]]), "the value at position 0 must be a number"),
        (lambda p: p.update(), "the measurements must be given as values, or as mean= and n="),
        (lambda p: p.update([1], mean=1, n=1), "got neither, or both"),
        (lambda p: p.update(mean=1), "got neither, or both"),
        (lambda p: p.update([1], n=1), "got neither, or both"),
        (lambda p: p.update(mean=1, n=-1), "n must be an integer of at least 0; got -1"),
        (lambda p: p.interval(1), "level must be below 1; got 1"),
        (lambda p: p.update([1e308, 1e308]), "the sum of the values must be finite; it overflows a float"),
        (lambda p: p.pdf(math.nan), "theta must be numbers; got nan"),
    ],
)
def test_bad_normal(call, message):
    with pytest.raises(tb.DataError, match=message):
        call(NormalNormal(0, 1, noise_variance=1))


# What they say


def test_derivations():
    lines = str(BetaBinomial("2", "2").update(7, 3).derivation()).splitlines()
    assert lines[2] == "P(p | D) ∝ p^7 (1 − p)^3 × p^1 (1 − p)^1 = p^8 (1 − p)^4"
    assert lines[3] == "E(p | D) = α / (α + β) = 9 / (9 + 5) = 9/14 ≈ 0.642857"
    floats = str(BetaBinomial(2, 2).update(7, 3).derivation()).splitlines()
    assert floats[:3] == lines[:3]
    assert floats[3] == "E(p | D) = α / (α + β) = 9 / (9 + 5) = 0.642857"
    assert "P(D)" not in str(BetaBinomial(2, 2).derivation())
    assert str(BetaBinomial().update(10**4, 10**4).derivation()).splitlines()[-1] == "ln P(D) = -13867.7"
    text = str(DirichletMultinomial(dict.fromkeys("abcdefgh", "1")).update({"a": 2}).derivation())
    assert "E(p(a) | D) = (a_k + n_k) / (a + n) = (1 + 2) / 10 = 3/10 = 0.3" in text
    assert "… (8 states in all)" in text
    assert "P(D) = B(a + n) / B(a)" in text
    text = " ".join(str(NormalNormal(70, "25", noise_variance="4").update([74, 76, 75]).derivation()).split())
    assert "1 / Var(θ | D) = 1/v + n/s² = 1 / 25 + 3 / 4 = 79/100" in text
    assert "= 100/79 × (70 / 25 + 3 × 75 / 4) = 5905/79 ≈ 74.7468" in text
    assert "weight of the data = nv / (s² + nv) = 3 × 25 / (4 + 3 × 25) = 75/79" in text
    text = str(NormalNormal(70, 25, noise_variance=4).update([74, 76, 75]).derivation())
    assert "1 / Var(θ | D) = 1/v + n/s² = 1 / 25 + 3 / 4 = 0.79" in text
    assert str(NormalNormal(70, 25, noise_variance=4).derivation()).splitlines() == ["E(θ) = 70", "Var(θ) = 25"]
    assert r"\propto" in BetaBinomial(2, 2).update(7, 3).derivation().latex


def test_reprs():
    assert repr(BetaBinomial(Fraction(1, 2), 2.5)) == "BetaBinomial(alpha=1/2, beta=2.5)"
    assert repr(NormalNormal(1, 2, noise_variance=0.5)) == "NormalNormal(mean=1, variance=2, noise_variance=0.5)"
    assert "… (9 in all)" in repr(DirichletMultinomial(dict.fromkeys(range(9), 1)))
