from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tunbridge.probability.kernel_density import MOST_POINTS, bandwidth, log_density, points_of


def test_density_is_the_sum_of_bumps():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=50), rng.random(50)
    points = points_of(values, weights)
    h = bandwidth(points)
    x = np.linspace(-4, 4, 33)
    expected = [np.sum(weights / weights.sum() * norm.pdf(v, values, h)) for v in x]
    np.testing.assert_allclose(np.exp(log_density(x, points, h)), expected, rtol=1e-10)


def test_kernel_and_numpy_paths_agree():
    rng = np.random.default_rng(1)
    points = points_of(rng.normal(size=400), np.ones(400))
    x = rng.normal(size=2000) * 3
    x[::9] = np.nan
    together = log_density(x, points, 0.3)
    apart = np.concatenate([log_density(x[i : i + 100], points, 0.3) for i in range(0, 2000, 100)])
    np.testing.assert_allclose(together, apart, rtol=1e-10)
    assert (together[::9] == 0).all()


def test_integrates_to_one():
    points = points_of(np.array([1.0, 2.0, 2.0, 7.0]), np.array([1.0, 1.0, 2.0, 0.5]))
    x = np.linspace(-30, 40, 20001)
    assert np.trapezoid(np.exp(log_density(x, points, bandwidth(points))), x) == pytest.approx(1.0, rel=1e-9)


def test_far_away_is_finite():
    points = points_of(np.array([0.0, 1.0]), np.ones(2))
    assert np.isfinite(log_density(np.array([1e6, -1e8]), points, 0.1)).all()


def test_equal_values_are_one_point():
    points = points_of(np.array([2.0, 1.0, 2.0, np.nan, 5.0]), np.array([1.0, 1.0, 3.0, 1.0, 0.0]))
    assert points.values.tolist() == [1.0, 2.0]
    assert points.weights.tolist() == [1.0, 4.0]


def test_joined_points_keep_weight_mean_and_density():
    values = np.random.default_rng(2).normal(size=5000)
    points = points_of(values, np.ones(5000))
    assert points.values.size <= MOST_POINTS
    assert points.total == pytest.approx(5000, rel=1e-12)
    assert np.average(points.values, weights=points.weights) == pytest.approx(values.mean(), abs=1e-12)
    h = bandwidth(points)
    x = np.linspace(-2, 2, 9)
    exact = np.array([norm.pdf(v, values, h).mean() for v in x])
    np.testing.assert_allclose(np.exp(log_density(x, points, h)), exact, rtol=5e-3)  # 5000 values in at most 512 points


def test_bandwidth_follows_the_scale_and_is_zero_without_spread():
    values = np.random.default_rng(3).normal(size=100)
    one = bandwidth(points_of(values, np.ones(100)))
    assert bandwidth(points_of(values * 1000, np.ones(100))) == pytest.approx(1000 * one, rel=1e-9)
    assert bandwidth(points_of(np.full(5, 3.0), np.ones(5))) == 0.0


def test_points_without_weights_are_those_with_a_weight_of_one_in_all() -> None:
    values = np.round(np.random.default_rng(1).normal(size=900), 1)
    plain = points_of(values, np.ones(900))
    tenths = points_of(values, np.full(900, 0.1))
    assert plain.values.tolist() == tenths.values.tolist()
    np.testing.assert_allclose(plain.weights, 10 * tenths.weights, rtol=1e-12, atol=0)
    assert plain.weights.dtype == np.float64


def test_bandwidth_is_silvermans() -> None:
    values = np.random.default_rng(2).normal(size=300)
    found = points_of(values, np.ones(300))
    spread = np.std(values)
    shares = (np.arange(300) + 0.5) / 300
    iqr = np.diff(np.interp([0.25, 0.75], shares, np.sort(values)))[0] / 1.34
    assert bandwidth(found) == pytest.approx(0.9 * min(spread, iqr) * 300**-0.2, rel=1e-12)
