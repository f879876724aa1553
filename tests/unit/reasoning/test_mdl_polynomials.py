from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.reasoning import choose_polynomial
from tunbridge.reasoning.number_models import interval_bits

X = np.linspace(-2, 2, 30)


def cubic(scale: float = 0.5, seed: int = 0) -> np.ndarray:
    return (X**3 - 2 * X + np.random.default_rng(seed).normal(scale=scale, size=30)).round(1)


def plain_lengths(x: np.ndarray, y: np.ndarray, degree: int, n_degrees: int, delta: float) -> tuple[float, float]:
    """Return L(h) and L(D | h) from the formulas of the module, by a fit with NumPy."""
    n, width = len(x), y.max() - y.min() + delta
    residuals = y - np.polynomial.Polynomial.fit(x, y, degree)(x)
    sigma = max(math.sqrt((residuals**2).mean()), delta / math.sqrt(12))
    half = 0.5 * math.log2(math.e)
    coefficient = math.log2(math.ceil(math.sqrt(n) * width / (math.sqrt(12) * sigma))) + half
    steps = math.log(width / 2 / (delta / math.sqrt(12))) / math.sqrt(6 / n)
    told = math.log2(n_degrees) + (degree + 1) * coefficient + math.log2(math.ceil(steps)) + half
    p = norm.cdf(residuals + delta / 2, scale=sigma) - norm.cdf(residuals - delta / 2, scale=sigma)
    return told, float(-np.log2(p).sum())


def test_lengths_by_the_formulas():
    y = cubic()
    choice = choose_polynomial(X, y, 6)
    assert list(choice) == [f"degree {d}" for d in range(7)]
    for degree, found in enumerate(choice.candidates):
        expected = plain_lengths(X, y, degree, 7, 0.1)
        assert (found.hypothesis_bits, found.data_bits) == pytest.approx(expected, rel=1e-9)


def test_the_true_degree_is_chosen_and_predicts():
    choice = choose_polynomial(X, cubic())
    assert choice.best.name == "degree 3"
    assert choice.model.degree == 3
    np.testing.assert_allclose(choice.model(X), np.polynomial.Polynomial.fit(X, cubic(), 3)(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(choice.model.coefficients, np.polyfit(X, cubic(), 3)[::-1], rtol=1e-9)
    assert choice.model.noise == pytest.approx(math.sqrt(((cubic() - choice.model(X)) ** 2).mean()), rel=1e-9)


def test_it_is_the_most_probable_degree():
    choice = choose_polynomial(X, cubic())
    assert choice.space().update(["D"]).map == choice.posterior.mode == choice.best.name
    assert choice.kraft_sum <= 1


def test_noise_has_no_degree_where_half_a_logarithm_would_fit_it():
    random, found, crude = np.random.default_rng(1), [], []
    x = np.arange(12.0)
    for _ in range(20):
        y = random.normal(size=12).round(2)
        found.append(choose_polynomial(x, y).model.degree)
        rss = [((y - np.polynomial.Polynomial.fit(x, y, d)(x)) ** 2).sum() for d in range(11)]
        crude.append(int(np.argmin([12 * math.log2(r) + d * math.log2(12) for d, r in enumerate(rss)])))
    assert np.median(found) == 0
    assert max(found) <= 3
    assert np.median(crude) >= 9


def test_a_perfect_fit_is_told_by_the_lowest_degree():
    x = np.arange(8.0)
    choice = choose_polynomial(x, 3 * x**2 - x + 1)
    assert choice.best.name == "degree 2"
    assert repr(choice.model) == "1 - 1 x + 3 x^2"
    assert choice.best.data_bits == pytest.approx(8 * -math.log2(2 * norm.cdf(math.sqrt(3)) - 1), rel=1e-6)
    assert choice.model.noise == pytest.approx(1 / math.sqrt(12), rel=1e-9)


def test_rounding_errors_of_floats_are_not_fitted():
    x = np.linspace(0, 1, 40)
    assert choose_polynomial(x, 0.1 + x / 3 - x**2 / 7).best.name == "degree 2"


@pytest.mark.parametrize(
    ("x", "y", "names"),
    [
        ([1.0], [5.0], ["degree 0"]),
        ([2.0, 2.0, 2.0], [1.0, 2.0, 4.0], ["degree 0"]),
        ([1.0, 2.0, 2.0, 1.0], [1.0, 2.0, 3.0, 1.0], ["degree 0", "degree 1"]),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0], ["degree 0", "degree 1", "degree 2"]),
        ([0.0, 1.0, 1.0 + 1e-15], [1.0, 2.0, 4.0], ["degree 0", "degree 1"]),
    ],
)
def test_few_points_have_few_degrees(x, y, names):
    choice = choose_polynomial(x, y)
    assert list(choice) == names
    assert all(math.isfinite(found.total) for found in choice.candidates)


def test_a_constant():
    choice = choose_polynomial(np.arange(20), [7] * 20)
    assert choice.best.name == "degree 0"
    assert repr(choice.model) == "7"
    assert repr(choose_polynomial(np.arange(20), [0] * 20).model) == "0"


def test_units_do_not_matter():
    y = cubic()
    plain = choose_polynomial(X, y, 5, precision=0.1)
    for other in (
        choose_polynomial(1950 + 1000 * X, y, 5, precision=0.1),
        choose_polynomial(X, 1e200 * y, 5, precision=1e199),
        choose_polynomial(X * 1e-200, 100 + 1e-3 * y, 5, precision=1e-4),
    ):
        found, expected = ([c.total for c in choice.candidates] for choice in (other, plain))
        assert found == pytest.approx(expected, rel=1e-6)  # some digits are lost beside 100


def test_a_finer_precision_costs_every_degree_the_same():
    coarse, fine = (choose_polynomial(X, cubic(0.5), 6, precision=p) for p in (1e-3, 1e-6))
    extra = [b.data_bits - a.data_bits for a, b in zip(coarse.candidates, fine.candidates, strict=True)]
    assert extra == pytest.approx([30 * math.log2(1000)] * 7, rel=1e-6)
    assert coarse.best.name == fine.best.name


@pytest.mark.parametrize(("sigma", "delta"), [(1.0, 0.5), (0.2, 1.0), (3.0, 0.1)])
def test_intervals_of_all_readings_have_probability_one(sigma, delta):
    readings = delta * np.arange(-1000, 1001)
    assert np.exp2(-interval_bits(readings, sigma, delta)).sum() == pytest.approx(1.0, rel=1e-9)


def test_narrow_intervals_and_wide_ones_meet():
    z = np.array([0.0, 0.5, 3.0, 10.0])
    below, above = interval_bits(z, 1.0, 0.9999999e-3), interval_bits(z, 1.0, 1.0000001e-3)
    np.testing.assert_allclose(below, above, rtol=1e-7)
    np.testing.assert_allclose(interval_bits(z, 1.0, 1e-9), -np.log2(norm.pdf(z) * 1e-9), rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "rest", "message"),
    [
        ([], [], {}, "x must be a list of at least one number"),
        ([1, 2], [1], {}, "x and y must have the same length; got 2 and 1"),
        ([1, math.nan], [1, 2], {}, "x must be finite numbers; number 2 is nan. Leave missing values out."),
        ([1, 2], [1, "a"], {}, "y must be an array of numbers"),
        ([1, 2], [-1e308, 1e308], {}, "the range of y must not overflow; got -1e[+]308 to 1e[+]308"),
        ([1, 2], [1, 4], {"precision": 1e-308}, "the range of y must not overflow; got 1 to 4, to 1e-308"),
        ([-1e308, 1e308], [1, 2], {}, "the range of x must not overflow"),
        ([1, 2], [1, 2], {"max_degree": -1}, "max_degree must be at least 0; got -1"),
        ([1, 2], [1, 2], {"max_degree": 2.5}, "max_degree must be an integer; got 2.5"),
        ([1, 2], [1, 2], {"precision": 0}, "precision must be greater than 0; got 0"),
    ],
)
def test_bad_input(x, y, rest, message):
    with pytest.raises(DataError, match=message):
        choose_polynomial(x, y, **rest)


def test_memory_is_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError, match="the polynomials at all points would need"):
        choose_polynomial(X, cubic())
