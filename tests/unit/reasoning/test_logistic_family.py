from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

import tunbridge as tb
from tunbridge.reasoning import LogisticFamily, linear
from tunbridge.reasoning.families import n_separable

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
Y = np.array([0.0, 0.0, 1.0, 0.0, 1.0, 1.0])
SHARES = np.array([0.1, 0.0, 0.4, 0.3, 1.0, 0.8])


def log_probability(weights, x=X, y=Y):
    """The likelihood as one would write it down: a product of Bernoulli probabilities."""
    return stats.bernoulli.logpmf(y, 1 / (1 + np.exp(-(weights[0] + weights[1] * x)))).sum()


# Cross-entropy is likelihood


def test_likelihood_is_the_product_of_probabilities():
    family = LogisticFamily(1)
    np.testing.assert_allclose(family.log_likelihood([-2.0, 0.5], X, Y), log_probability([-2.0, 0.5]), rtol=1e-12)
    assert family.cross_entropy({"x": 0.5, "1": -2.0}, X, Y) == -family.log_likelihood([-2.0, 0.5], X, Y)


def test_a_general_search_for_the_greatest_likelihood_ends_at_least_cross_entropy():
    fit = LogisticFamily(1).ml(X, Y)
    found = optimize.minimize(lambda w: -log_probability(w), [0.0, 0.0], options={"gtol": 1e-7})
    np.testing.assert_allclose(fit.vector, found.x, rtol=1e-5)  # what a search without derivatives reaches
    np.testing.assert_allclose(fit.cross_entropy, found.fun, rtol=1e-10)


def test_targets_that_are_probabilities_stand_for_shares_of_many_cases():
    fit = LogisticFamily(1).ml(X, SHARES)
    ones = np.round(10 * SHARES).astype(int)
    rows = [(x, y) for x, k in zip(X, ones, strict=True) for y in [1] * k + [0] * (10 - k)]
    many = LogisticFamily(1).ml([x for x, _ in rows], [y for _, y in rows])
    np.testing.assert_allclose(fit.vector, many.vector, rtol=1e-10)
    np.testing.assert_allclose(10 * fit.cross_entropy, many.cross_entropy, rtol=1e-12)
    np.testing.assert_allclose(fit.covariance, 10 * many.covariance, rtol=1e-9)


def test_the_gradient_is_zero_and_the_covariance_inverts_the_curvature():
    fit = LogisticFamily(2).map(X, SHARES, prior_variance=4.0)
    design, p = np.vander(X, 3, increasing=True), fit.predict_proba(X)
    np.testing.assert_allclose(design.T @ (p - SHARES) + fit.vector / 4.0, 0.0, atol=1e-10)
    curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.eye(3) / 4.0
    np.testing.assert_allclose(fit.covariance, np.linalg.inv(curvature), rtol=1e-8)


@pytest.mark.parametrize("variance", [0.01, 1.0, 100.0])
def test_map_agrees_with_scikit_learn(variance):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3))
    y = rng.random(80) < 1 / (1 + np.exp(-(x @ [1.0, -2.0, 0.0] + 0.5)))
    basis = linear(["a", "b", "c"])
    fit = LogisticFamily(basis).map(x, y, prior_variance=variance)
    peer = LogisticRegression(C=variance, fit_intercept=False, tol=1e-10, max_iter=1000).fit(basis.design(x), y)
    np.testing.assert_allclose(fit.vector, peer.coef_[0], rtol=1e-4, atol=1e-6)  # the peer's own tolerance
    free = LogisticFamily(basis).map(x, y, prior_variance={"1": math.inf, "a": variance, "b": variance, "c": variance})
    peer = LogisticRegression(C=variance, tol=1e-10, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(free.vector, [*peer.intercept_, *peer.coef_[0]], rtol=1e-4, atol=1e-6)


def test_as_a_finite_space_the_best_hypothesis_is_the_one_of_least_cross_entropy():
    family = LogisticFamily(1)
    grid = list(itertools.product(np.linspace(-6, 0, 7).tolist(), np.linspace(0, 3, 7).tolist()))
    space = tb.HypothesisSpace(grid, log_likelihood=lambda w, point: family.log_likelihood(w, *point))
    seen = space.update(list(zip(X.tolist(), Y.tolist(), strict=True)))
    assert seen.ml == min(grid, key=lambda w: family.cross_entropy(w, X, Y))
    np.testing.assert_allclose(
        seen.posterior[seen.map],
        1 / sum(math.exp(family.cross_entropy(seen.ml, X, Y) + family.log_likelihood(w, X, Y)) for w in grid),
        rtol=1e-9,
    )


# Separation


def brute_separable(x, y):
    """Whether a threshold on a line separates without contradiction: the largest of one class against the other."""
    ones, zeros = [a for a, b in zip(x, y, strict=True) if b > 0], [a for a, b in zip(x, y, strict=True) if b < 1]
    if not ones or not zeros:
        return True
    return max(zeros) <= min(ones) or max(ones) <= min(zeros)


@pytest.mark.parametrize("targets", list(itertools.product([0.0, 0.5, 1.0], repeat=4)))
def test_on_a_line_ml_exists_exactly_where_no_threshold_separates(targets):
    x = [0.0, 1.0, 1.0, 3.0]
    if brute_separable(x, targets):
        with pytest.raises(tb.DataError, match=r"the points must overlap for a maximum likelihood"):
            LogisticFamily(1).ml(x, targets)
    else:
        fit = LogisticFamily(1).ml(x, targets)
        p = fit.predict_proba(x)
        np.testing.assert_allclose([(p - targets).sum(), (p - targets) @ x], 0.0, atol=1e-12)


def test_complete_and_quasi_complete_separation_are_told_apart():
    with pytest.raises(tb.DataError, match=r"ones and zeros are separated \(completely\), and larger weights fit"):
        LogisticFamily(1).ml([1, 2, 3, 4], [0, 0, 1, 1])
    with pytest.raises(tb.DataError, match=r"separated \(2 points of 4, the rest on the boundary\)"):
        LogisticFamily(1).ml([1, 2, 2, 3], [0, 0, 1, 1])
    with pytest.raises(tb.DataError, match=r"all are 1, and larger weights .* map\(…, prior_variance=1.0\) always has"):
        LogisticFamily(1).ml([1, 2, 3], [1, 1, 1])


@pytest.mark.parametrize("origin", [1e3, 1.7e9, 1e12])
def test_separation_is_seen_far_from_zero_too(origin):
    """The hour of an event, for example, as seconds since 1970."""
    with pytest.raises(tb.DataError, match=r"separated \(completely\)"):
        LogisticFamily(1).ml(origin + X, [0, 0, 0, 1, 1, 1])
    with pytest.raises(tb.DataError, match=r"separated \(4 points of 6, the rest on the boundary\)"):
        LogisticFamily(1).ml(origin + np.array([1.0, 2.0, 3.0, 3.0, 4.0, 5.0]), [0, 0, 0, 1, 1, 1])
    found = LogisticFamily(1).ml(origin + X, Y).weights["x"]
    left = max(1e-9, 1e-15 * origin)  # the digits beside the origin, on processors that round products before adding
    np.testing.assert_allclose(found, 1.2140275858514, rtol=left)


def test_in_a_plane_a_slanted_line_separates():
    rows = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [0.0, 3.0], [3.0, 0.0]])
    y = (rows @ [1.0, 1.0] > 3.0).astype(float)
    design = linear(2).design(rows)
    assert n_separable(design, y) == n_separable(design, 1.0 - y) == 6
    y[1] = 1.0  # between two zeros on the line x1 + x2 = 3, which is then the border of all others
    assert n_separable(design, y) == n_separable(design, 1.0 - y) == 2
    y[0] = 1.0
    assert n_separable(design, y) == n_separable(design, 1.0 - y) == 0


def test_ml_exists_exactly_where_the_linear_program_finds_no_separation():
    rng, found = np.random.default_rng(0), []
    for _ in range(30):
        rows = rng.integers(-2, 3, size=(rng.integers(4, 9), 2)).astype(float)
        y, design = rng.choice([0.0, 0.5, 1.0], size=len(rows), p=[0.45, 0.1, 0.45]), linear(2).design(rows)
        if np.linalg.matrix_rank(design) == 3:
            found.append(n_separable(design, y) == 0)
            if found[-1]:
                assert LogisticFamily(linear(2)).ml(rows, y).n_points == len(rows)
            else:
                with pytest.raises(tb.DataError, match="the points must overlap"):
                    LogisticFamily(linear(2)).ml(rows, y)
    assert {True, False} == set(found)


def test_nearly_separated_points_still_have_a_maximum():
    for gap in (1e-3, 1e-6, 1e-9):
        fit = LogisticFamily(1).ml([0.0, 1.0, 1.0 + gap, 2.0], [0, 1, 0, 1])
        np.testing.assert_allclose(fit.weights["x"], math.log(4 / gap), rtol=1e-2)  # to first order in the gap


def test_nearly_overlapping_points_have_none():
    for gap in (1e-3, 1e-8, 1e-10, 1e-12):
        with pytest.raises(tb.DataError, match=r"separated \(completely\)"):
            LogisticFamily(1).ml([0.0, 1.0, 1.0 + gap, 2.0], [0, 0, 1, 1])


@pytest.mark.parametrize("order", list(itertools.permutations(range(6)))[::37])
@pytest.mark.parametrize("far", [1e9, 1.234567e9])
def test_a_point_far_away_does_not_hide_the_overlap_of_others(far, order):
    """In any order of the points, which changes how sums are rounded: the search must know when to end."""
    x, y = np.array([0, 1, 2, 3, 4, far]), np.array([0, 0, 1, 0, 1, 1])
    fit = LogisticFamily(1).ml(x[list(order)], y[list(order)])
    p = fit.predict_proba([0, 1, 2, 3, 4])  # to the digits that are left beside 1e9
    np.testing.assert_allclose([(p - [0, 0, 1, 0, 1]).sum(), (p - [0, 0, 1, 0, 1]) @ [0, 1, 2, 3, 4]], 0.0, atol=1e-6)


def test_separated_points_have_a_most_probable_hypothesis():
    fit = LogisticFamily(1).map([1, 2, 3, 4], [0, 0, 1, 1], prior_variance=1.0)
    assert fit.predict_proba([1, 4]).round(2).tolist() == [0.48, 0.75]
    weak = LogisticFamily(1).map([1, 2, 3, 4], [0, 0, 1, 1], prior_variance=1e12)
    np.testing.assert_allclose(-weak.weights["1"] / weak.weights["x"], 2.5, rtol=1e-2)
    with pytest.raises(tb.DataError, match="the points must overlap"):
        LogisticFamily(1).map([1, 2, 3, 4], [1, 1, 1, 1], prior_variance={"1": math.inf, "x": 1.0})


# Numbers


def test_log_odds_of_any_size():
    family = LogisticFamily([lambda x: x])
    assert family.cross_entropy([1000.0], [1, -1], [1, 0]) == 0.0
    assert family.cross_entropy([1000.0], [1, -1], [0, 1]) == 2000.0
    assert family.cross_entropy([1.0], [-50.0], [0]) == math.exp(-50.0)
    fit = family.map([1.0, 1e8], [1, 1], prior_variance=1.0)
    assert fit.predict_proba([-1e12, 0, 1e12]).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("scale", "shift"), [(1e-100, 0.0), (1e100, 0.0), (1.0, 1e6)])
def test_scale_and_origin_do_no_harm(scale, shift):
    base, fit = LogisticFamily(1).ml(X, Y), LogisticFamily(1).ml(X * scale + shift, Y)
    np.testing.assert_allclose(fit.weights["x"] * scale, base.weights["x"], rtol=1e-8)
    np.testing.assert_allclose(fit.cross_entropy, base.cross_entropy, rtol=1e-10)


# What it says


def test_what_it_says():
    fit = LogisticFamily(1).map(X, SHARES, prior_variance=2.0)
    text = str(fit.derivation())
    assert "Σ [y ln p(x) + (1 − y) ln(1 − p(x))] = 0.1 × ln 0." in " ".join(text.split())
    assert "minimise the cross-entropy and half of that" in text
    assert "Σ w² / τ² = " in text
    assert r"\ln P(D \mid w)" in fit.derivation().latex
    assert "Σ w² / τ² = 0\n" in str(LogisticFamily(1).map(X, Y, prior_variance=math.inf).derivation())
    assert repr(fit).startswith("MAP fit of 2 weights to 6 points: 1 = ")
    assert isinstance(fit.predict_proba(3), float)
    extreme = LogisticFamily([lambda x: x]).map([1e9], [0], prior_variance=1.0)
    assert "ln P(D | w)" in str(extreme.derivation())


# Bad input


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1, 2], [0, 2], "y must be 0, 1 or a probability between; got 2 at position 1. Write y == label"),
        ([1, 2], [0, -0.1], "y must be 0, 1 or a probability between; got -0.1 at position 1"),
        ([1, 2], [0, math.nan], "y must be 0, 1 or a probability between; got nan at position 1"),
        ([1, 2], ["no", "yes"], "y must be 0, 1 or a probability between; got 'no'. Write y == label"),
        ([1, 2], [0, "yes"], "y must be an array of numbers"),
        ([1, 2], [1], "x and y must have the same length; got 2 and 1"),
        ([], [], "x must have at least one point"),
        ([1], [1], "there must be at least as many points as weights, 2; got 1"),
        ([2, 2, 2], [0, 1, 1], "the data must determine 2 weights; they determine 1"),
    ],
)
def test_bad_points(x, y, message):
    with pytest.raises(tb.DataError, match=message):
        LogisticFamily(1).ml(x, y)


def test_bad_settings():
    with pytest.raises(tb.DataError, match="the basis must be a degree or functions"):
        LogisticFamily("linear")
    with pytest.raises(tb.DataError, match="the log-odds must be up to"):
        LogisticFamily(1).log_likelihood([1e149, 1e149], [1e100], [0])
    with pytest.raises(tb.DataError, match="the data must determine 2 weights"):
        LogisticFamily(1).map([2, 2, 2], [0, 1, 1], prior_variance=math.inf)
