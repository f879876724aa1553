from __future__ import annotations

import math
from fractions import Fraction
from operator import mul

import numpy as np
import pytest
from scipy import optimize, stats

import tunbridge as tb
from tunbridge.reasoning import LinearFamily, linear

X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
Y = np.array([1.3, 0.7, 3.2, 3.9, 6.4, 7.0])


def log_density(weights, sigma, x=X, y=Y):
    """The likelihood as one would write it down: a product of normal densities."""
    means = sum(w * x**k for k, w in enumerate(weights))
    return stats.norm.logpdf(y, means, sigma).sum()


# Least squares is maximum likelihood


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_ml_is_least_squares(degree):
    fit = LinearFamily(degree).ml(X, Y)
    expected, residual, *_ = np.linalg.lstsq(np.vander(X, degree + 1, increasing=True), Y, rcond=None)
    np.testing.assert_allclose(fit.vector, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fit.squared_error, residual[0], rtol=1e-10)
    np.testing.assert_allclose(fit.noise, math.sqrt(residual[0] / len(X)), rtol=1e-10)


def test_a_general_search_for_the_greatest_likelihood_ends_at_least_squares():
    fit = LinearFamily(1).ml(X, Y)
    found = optimize.minimize(lambda v: -log_density(v[:2], math.exp(v[2])), [0.0, 0.0, 0.0], options={"gtol": 1e-8})
    np.testing.assert_allclose(found.x[:2], fit.vector, rtol=1e-5)  # what a search without derivatives reaches
    np.testing.assert_allclose(math.exp(found.x[2]), fit.noise, rtol=1e-5)
    np.testing.assert_allclose(-found.fun, fit.log_likelihood, rtol=1e-9)


def test_likelihood_is_the_product_of_densities():
    family = LinearFamily(1, noise=0.7)
    np.testing.assert_allclose(family.log_likelihood([1.0, 0.5], X, Y), log_density([1.0, 0.5], 0.7), rtol=1e-12)
    np.testing.assert_allclose(
        family.log_likelihood({"x": 0.5, "1": 1.0}, X, Y, noise=2.0), log_density([1.0, 0.5], 2.0), rtol=1e-12
    )


@pytest.mark.parametrize("noise", [0.01, 1.0, 30.0])
def test_the_noise_does_not_change_the_weights(noise):
    known = LinearFamily(2, noise=noise).ml(X, Y)
    assert known.weights == LinearFamily(2).ml(X, Y).weights
    assert known.noise == noise


def test_as_a_finite_space_the_best_hypothesis_is_the_one_of_least_squares():
    family = LinearFamily(1, noise=0.8)
    grid = [(a, b) for a in np.linspace(-1, 2, 7).tolist() for b in np.linspace(0, 3, 13).tolist()]
    space = tb.HypothesisSpace(grid, log_likelihood=lambda w, point: family.log_likelihood(w, *point))
    seen = space.update(list(zip(X.tolist(), Y.tolist(), strict=True)))
    best = min(grid, key=lambda w: family.squared_error(w, X, Y))
    assert seen.ml == seen.map == best
    shares = np.exp([-family.squared_error(w, X, Y) / (2 * 0.8**2) for w in grid])
    np.testing.assert_allclose([seen.posterior[w] for w in grid], shares / shares.sum(), rtol=1e-9)


# A prior is regularisation


def test_map_is_ridge_regression():
    sigma, tau = 0.5, 2.0
    fit = LinearFamily(2, noise=sigma).map(X, Y, prior_variance=tau**2)
    design, penalty = np.vander(X, 3, increasing=True), sigma**2 / tau**2 * np.eye(3)
    np.testing.assert_allclose(fit.vector, np.linalg.solve(design.T @ design + penalty, design.T @ Y), rtol=1e-9)


def test_map_maximises_likelihood_times_prior():
    variances = np.array([2.0, 0.1])
    fit = LinearFamily(1, noise=0.9).map(X, Y, prior_variance=variances)
    found = optimize.minimize(
        lambda w: -log_density(w, 0.9) - stats.norm.logpdf(w, 0, np.sqrt(variances)).sum(), [0.0, 0.0]
    )
    np.testing.assert_allclose(fit.vector, found.x, rtol=1e-5)  # what a search without derivatives reaches
    design = np.vander(X, 2, increasing=True)
    expected = np.linalg.inv(np.diag(1 / variances) + design.T @ design / 0.81)
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-9)


def test_evidence_is_the_density_of_the_data_with_the_weights_averaged_out():
    fit = LinearFamily(2, noise=0.6).map(X, Y, prior_variance=1.5)
    design = np.vander(X, 3, increasing=True)
    expected = stats.multivariate_normal.logpdf(Y, np.zeros(6), 0.36 * np.eye(6) + 1.5 * design @ design.T)
    np.testing.assert_allclose(fit.log_evidence, expected, rtol=1e-9)


def exact_log_evidence(x, y, degree, noise, variance):
    """Elimination in fractions, of the covariance of the data."""
    rows = [[Fraction(a) ** k for k in range(degree + 1)] for a in x]
    noise, variance = Fraction(noise), Fraction(variance)
    rows = [
        [variance * sum(map(mul, a, b)) + (noise**2 if i == j else 0) for j, b in enumerate(rows)] + [Fraction(y[i])]
        for i, a in enumerate(rows)
    ]
    determinant, distance = Fraction(1), Fraction(0)
    for i, pivot in enumerate(rows):
        determinant *= pivot[i]
        distance += pivot[-1] ** 2 / pivot[i]
        for row in rows[i + 1 :]:
            row[i:] = [a - row[i] / pivot[i] * b for a, b in zip(row[i:], pivot[i:], strict=True)]
    log_determinant = math.log(determinant.numerator) - math.log(determinant.denominator)
    return -0.5 * (len(x) * math.log(2 * math.pi) + log_determinant + float(distance))


@pytest.mark.parametrize(
    ("x", "y", "degree", "noise", "variance"),
    [
        (X.tolist(), Y.tolist(), 2, 0.6, 1.5),
        ([1.0], [2.0], 1, 1e-6, 1e10),
        ([0.0, 1.0, 2.0], [1.0, 2.0, 2.5], 5, 1e-4, 1e6),
        ([100.0, 101.0, 102.0], [1.0, 2.0, 2.5], 3, 1e-3, 1e4),
    ],
)
def test_evidence_keeps_its_digits_where_data_say_little_about_some_weights(x, y, degree, noise, variance):
    found = LinearFamily(degree, noise=noise).map(x, y, prior_variance=variance).log_evidence
    expected = exact_log_evidence(x, y, degree, noise, variance)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)  # rounding times how unequal what is known is


def test_prediction_of_a_new_point_is_the_ratio_of_two_evidences():
    family = LinearFamily(1, noise=0.6)
    mean, deviation = family.map(X, Y, prior_variance=1.5).predictive(7.0)
    before = family.map(X, Y, prior_variance=1.5).log_evidence
    after = family.map([*X, 7.0], [*Y, 9.1], prior_variance=1.5).log_evidence
    np.testing.assert_allclose(stats.norm.logpdf(9.1, mean, deviation), after - before, rtol=1e-8)


def test_a_weak_prior_gives_way_and_a_strong_one_does_not():
    family = LinearFamily(1, noise=1.0)
    np.testing.assert_allclose(family.map(X, Y, prior_variance=1e12).vector, family.ml(X, Y).vector, rtol=1e-9)
    assert abs(family.map(X, Y, prior_variance=1e-12).vector).max() < 1e-9


def test_a_free_weight_is_not_penalised():
    free = LinearFamily(1, noise=1.0).map(X, Y, prior_variance={"1": math.inf, "x": 1e-12})
    np.testing.assert_allclose(free.vector, [Y.mean(), 0.0], atol=1e-9)
    with pytest.raises(tb.DataError, match="evidence must have a prior over every weight"):
        _ = free.log_evidence


def test_fewer_points_than_weights_have_a_most_probable_hypothesis():
    fit = LinearFamily(3, noise=0.1).map([1.0], [2.0], prior_variance=1.0)
    np.testing.assert_allclose(fit.vector, np.full(4, 2.0 / (4 + 0.01)), rtol=1e-9)


# Bases


def test_functions_get_one_point_at_a_time():
    rows = [[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]]
    family = LinearFamily({"product": lambda row: row[0] * row[1], "one": lambda row: 1}, noise=1.0)
    fit = family.ml(rows, [5.0, 25.0, 0.0])
    np.testing.assert_allclose(fit.predict(rows), [5.0, 25.0, 0.0], atol=1e-12)
    assert list(fit.weights) == ["product", "one"]


def test_names_of_bases():
    assert LinearFamily(linear(["age", "bmi"])).basis.names == ("1", "age", "bmi")
    assert linear(2).names == ("1", "x1", "x2")
    assert linear(1).design([3.0]).tolist() == [[1.0, 3.0]]
    assert LinearFamily([math.sin, lambda x: x, lambda x: 1]).basis.names == ("sin", "f2", "f3")


def test_a_single_number_gives_a_single_number():
    fit = LinearFamily(1, noise=1.0).ml([0, 1], [1, 3])
    assert fit.predict(2) == pytest.approx(5.0)
    assert isinstance(fit.predictive(2)[0], float)
    assert LinearFamily(0, noise=1.0).ml(5.0, 2.0).weights == {"1": 2.0}


def test_frames_and_columns_of_one_are_read():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X, "y": Y})
    expected = LinearFamily(1).ml(X, Y).weights
    assert LinearFamily(1).ml(frame["x"], frame["y"]).weights == expected
    assert LinearFamily(1).ml(frame[["x"]], frame[["y"]]).weights == expected


def test_columns_are_found_by_name():
    pandas = pytest.importorskip("pandas")
    columns = {"y": [1.0, 2.0, 2.5, 4.5], "b": [0, 1, 1, 0], "who": ["a", "b", "c", "d"], "a": [1.5, 2.0, 3.0, 5.0]}
    rows = [[1.5, 0], [2.0, 1], [3.0, 1], [5.0, 0]]
    family = LinearFamily(linear(["a", "b"]))
    expected = family.ml(rows, columns["y"])
    for given in (columns, tb.as_table(columns), pandas.DataFrame(columns)):
        fit = family.ml(given, columns["y"])
        assert fit.weights == expected.weights
        assert fit.predict(given).tolist() == expected.predict(rows).tolist()
    one = LinearFamily(linear(["a"])).ml(pandas.Series(columns["a"]), columns["y"])
    assert one.weights == LinearFamily(linear(["a"])).ml(columns, columns["y"]).weights


def test_columns_that_do_not_fit():
    columns = {"age": [1.5, 2.0, None], "who": ["x", "y", "x"], "b": [0, 1, None]}
    with pytest.raises(tb.DataError, match=r"Did you mean 'age'"):
        linear(["Age"]).design(columns)
    with pytest.raises(tb.DataError, match="column 'who' must be an array of numbers"):
        linear(["who"]).design(columns)
    for name in ("age", "b"):
        with pytest.raises(tb.DataError, match="x must be finite; got nan at position 2"):
            linear([name]).design(columns)
    with pytest.raises(tb.DataError, match="x must be an array of numbers"):
        LinearFamily(1).basis.design(columns)


# Numbers


@pytest.mark.parametrize("scale", [1e-60, 1e-6, 1e9, 1e70])
def test_scales_do_no_harm(scale):
    base, fit = LinearFamily(1).ml(X, Y), LinearFamily(1).ml(X * scale, Y / scale)
    np.testing.assert_allclose(fit.vector * [scale, scale**2], base.vector, rtol=1e-9)
    np.testing.assert_allclose(fit.noise * scale, base.noise, rtol=1e-9)


def test_a_column_far_from_zero_keeps_its_digits():
    years = 2000.0 + X
    np.testing.assert_allclose(LinearFamily(1).ml(years, Y).vector[1], LinearFamily(1).ml(X, Y).vector[1], rtol=1e-9)


def test_arguments_stay_as_they_were_and_results_cannot_be_changed():
    x, y = X.copy(), Y.copy()
    fit = LinearFamily(1).ml(x, y)
    assert (x == X).all()
    assert x.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        fit.vector[0] = 1.0


# What it says


def test_derivations():
    fit = LinearFamily(1, noise=0.5).map([0, 1, 2], [1, 2, 4], prior_variance=4.0)
    text = str(fit.derivation())
    assert "λ = σ² / τ² = 0.25 / 4 = 0.0625" in text
    assert "a Gaussian prior is ridge regression" in text
    free = LinearFamily(1, noise=0.5).map([0, 1, 2], [1, 2, 4], prior_variance=[math.inf, 4.0])
    slope = free.weights["x"]
    assert f"Σ w² / τ² = {slope:.6g}^2 / 4 = {slope**2 / 4:.6g}" in str(free.derivation())
    flat = LinearFamily(1, noise=0.5).map([0, 1, 2], [1, 2, 4], prior_variance=math.inf)
    assert "Σ w² / τ² = 0" in str(flat.derivation())
    many = LinearFamily(0).ml(np.arange(50.0), np.arange(50.0))
    assert " + … = 10412.5" in " ".join(str(many.derivation()).split())
    assert r"\sum (y - h(x))^2" in many.derivation().latex


def test_many_weights_are_shortened():
    assert "… (10 in all)" in repr(LinearFamily(9, noise=1.0).map(X, Y, prior_variance=1.0))


# Bad input


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (-1, "the degree must be at least 0; got -1"),
        ("cubic", r"the basis must be a degree or functions; got 'cubic'. Use 1 for a straight line"),
        (True, "the basis must be a degree or functions; got True"),
        ([], "the basis must have at least one function"),
        ([3], "basis function 'f1' must be a function; got 3"),
        ({1: math.sin}, "the names of basis functions must be strings"),
    ],
)
def test_bad_bases(basis, message):
    with pytest.raises(tb.DataError, match=message):
        LinearFamily(basis)


def test_bad_columns():
    with pytest.raises(tb.DataError, match="names of basis functions must be distinct; got '1' more than once"):
        linear(["1", "x"])
    with pytest.raises(tb.DataError, match="the number of inputs must be at least 1; got 0"):
        linear(0)
    with pytest.raises(tb.DataError, match="the names of basis functions must be strings; got 'age'"):
        linear("age")


@pytest.mark.parametrize(
    ("family", "x", "y", "message"),
    [
        (1, [], [], "x must have at least one point; got none"),
        (1, [1, 2], [1], "x and y must have the same length; got 2 and 1"),
        (1, ["a", "b"], [1, 2], "x must be an array of numbers"),
        (1, [1, math.nan], [1, 2], "x must be finite; got nan at position 1"),
        (1, [1, 2], [1, math.inf], "y must be finite; got inf at position 1"),
        (1, [1, 2], [1, 1e200], r"y must be up to 1e\+150 in size; got 1e\+200 at position 1"),
        (1, [[1, 2]], [1], r"x must be numbers; got an array of shape \(1, 2\)"),
        (1, [1, 2], [[1, 2], [3, 4]], "y must have one number for each point"),
        (linear(2), [1, 2], [1], r"x must be rows of 2 numbers; got an array of shape \(2,\). Write a single point as"),
        (linear(2), [[1, 2, 3]], [1], "x must be rows of 2 numbers"),
        (9, [1e100, 2], [1, 2], r"basis function 'x\^2' at x = 1e\+100 must be a number up to 1e\+150 in size"),
        ([lambda x: [x, x]], [1], [1], "basis function 'f1' at x = 1.0 must be one number"),
        ([lambda x: None], [1], [1], "basis function 'f1' at x = 1.0 must be .*number"),
    ],
)
def test_bad_points(family, x, y, message):
    with pytest.raises(tb.DataError, match=message):
        LinearFamily(family).ml(x, y)


@pytest.mark.parametrize(
    ("family", "x", "y", "message"),
    [
        (2, [1, 2], [1, 2], "there must be at least as many points as weights, 3; got 2"),
        (
            1,
            [2, 2, 2],
            [1, 2, 3],
            "the data must determine 2 weights; they determine 1: at these x, '1', 'x' are linearly dep",
        ),
        (
            {"a": lambda x: x, "b": lambda x: 1, "c": lambda x: 3 * x},
            [1, 2, 3],
            [1, 2, 2],
            "'a', 'c' are linearly dependent",
        ),
        ({"a": lambda x: x, "zero": lambda x: 0}, [1, 2, 3], [1, 2, 2], "at these x, 'zero' are linearly dep"),
        (12, range(2000, 2020), np.arange(20.0) % 3, "For high powers, subtract the mean from x"),
        (1, [0, 1], [1, 3], "must not lie exactly on the curve if the noise is estimated; they do. Give"),
        (1, [0, 1, 2], [1, 3, 5], "must not lie exactly on the curve"),
        (0, [7], [3], "must not lie exactly on the curve"),
        (0, [7, 8], [0, 0], "must not lie exactly on the curve"),
    ],
)
def test_data_that_do_not_suffice(family, x, y, message):
    with pytest.raises(tb.DataError, match=message):
        LinearFamily(family).ml(x, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior_variance": None}, "prior_variance must be above 0; got nan"),
        ({"prior_variance": 1e200}, r"prior_variance must be up to 1e\+150"),
        ({"prior_variance": 0}, "prior_variance must be above 0; got 0"),
        ({"prior_variance": math.nan}, "prior_variance must be above 0; got nan"),
        ({"prior_variance": 1e-200}, r"the precision 1 / prior_variance must be up to 1e\+150"),
        ({"prior_variance": [1, 2, 3]}, "prior_variance must be one number, or 2 of them"),
        ({"prior_variance": {"x": 1}}, "prior_variance must name every basis function; '1' has none"),
        ({"prior_variance": {"1": 1, "xx": 1}}, "prior_variance must name basis functions; got 'xx'. Did you mean 'x'"),
        ({"prior_variance": math.inf}, "there must be at least as many points as weights, 2; got 1"),
    ],
)
def test_bad_priors(settings, message):
    with pytest.raises(tb.DataError, match=message):
        LinearFamily(1, noise=1.0).map([1], [1], **settings)


def test_bad_weights_and_noise():
    family = LinearFamily(1)
    with pytest.raises(tb.DataError, match=r"weights must name basis functions; got 'X'. Did you mean 'x'"):
        family.squared_error({"1": 0, "X": 1}, X, Y)
    with pytest.raises(tb.DataError, match="weights must be 2 numbers, for '1', 'x'; got an array of shape"):
        family.squared_error([1], X, Y)
    with pytest.raises(tb.DataError, match="weights must be finite; got nan"):
        family.squared_error([1, math.nan], X, Y)
    with pytest.raises(tb.DataError, match="the noise must be known for the likelihood; got none"):
        family.log_likelihood([1, 2], X, Y)
    with pytest.raises(tb.DataError, match=r"the noise must be known for the posterior; got none. Write LinearFamily"):
        family.map(X, Y, prior_variance=1.0)
    with pytest.raises(tb.DataError, match=r"the errors y − h.x. must be up to"):
        family.squared_error([1e149, 1e149], [1e100], [0])
    with pytest.raises(
        tb.DataError, match=r"the weights and their standard deviations must be up to 1e\+150 in size; got 1.32"
    ):
        family.ml(X * 1e-120, Y * 1e120)
    for wrong in (0, -1, math.inf, "1"):
        with pytest.raises(tb.DataError, match="noise must be"):
            LinearFamily(1, noise=wrong)


def test_too_many_points_are_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(tb.MemoryForecastError, match="a design of 1 000 points × 2 would need"):
        LinearFamily(1).ml(np.arange(1000.0), np.arange(1000.0))
