from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.probability.gaussian import Mixture
from tunbridge.reasoning import Density, Gaussian
from tunbridge.reasoning.densities import KnownDistribution, as_density, integrate


def test_a_gaussian_on_the_line_is_scipys():
    x, gaussian, known = np.linspace(-30, 30, 61), Gaussian(1.5, variance=4), stats.norm(1.5, 2)
    np.testing.assert_allclose(gaussian.log_pdf(x), known.logpdf(x), rtol=1e-13)
    np.testing.assert_allclose(gaussian.pdf(x), known.pdf(x), rtol=1e-12)
    np.testing.assert_allclose(gaussian.probability(x[:-1], x[1:])[20:40], np.diff(known.cdf(x))[20:40], rtol=1e-9)
    assert gaussian.probability(30.0, math.inf) == pytest.approx(known.sf(30.0), rel=1e-12, abs=0)
    assert isinstance(gaussian.pdf(0.0), float)


def test_a_gaussian_in_the_plane_is_scipys():
    mean, covariance = [1.0, -2.0], [[2.0, -0.7], [-0.7, 0.5]]
    points = np.random.default_rng(0).normal(size=(50, 2)) * 5
    gaussian, known = Gaussian(mean, variance=covariance), stats.multivariate_normal(mean, covariance)
    np.testing.assert_allclose(gaussian.log_pdf(points), known.logpdf(points), rtol=1e-12)
    assert gaussian.support == ((-math.inf, math.inf), (-math.inf, math.inf))


def test_forms_of_variances():
    assert (
        Gaussian([0, 1], variance=2) == Gaussian([0, 1], variance=[2, 2]) == Gaussian([0, 1], variance=[[2, 0], [0, 2]])
    )
    assert Gaussian([3], variance=[[4]]) == Gaussian(3, variance=4) == Gaussian(Fraction(3), variance=np.float64(4))
    assert hash(Gaussian(0, variance=1)) == hash(Gaussian(0, variance=1.0))


def test_a_gaussian_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Gaussian(0, variance=1).mean = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("high", 1), "mean must be an array of numbers; got 'high'."),
        ((math.nan, 1), "mean must be one number, or two for a density in the plane; got nan."),
        ((0, 0), "variance must be above 0 and moderate; got 0."),
        ((0, -1), "variance must be above 0 and moderate; got -1."),
        ((1e80, 1), "mean must be one number, or two for a density in the plane; got 1e+80."),
        ((0, 1e-150), "variance must be above 0 and moderate; got 1e-150."),
        (([0, 0], 1e150), "variance must be above 0 and moderate; got 1e+150."),
        ((0, [1, 2]), "variance must be one number, as the mean has 1; got [1, 2]."),
        (([0, 0, 0], 1), "mean must be one number, or two for a density in the plane; got "),
        (([0, 0], [[1, 2], [2, 1]]), "variance must be "),
        (([0, 0], [[1, 1], [1, 1]]), "variance must be "),
        (([0, 0], [[-1, 0], [0, 1]]), "variance must be "),
        (([0, 0], [[1, 0.5], [0.4, 1]]), "variance must be a symmetric matrix; got [[1, 0.5], [0.4, 1]]."),
        (([0, 0], [1, 2, 3]), "variance must be a number, two numbers or a 2 × 2 matrix"),
        (([0, 0], [[1, "a"], [0, 1]]), "variance must be an array of numbers; got "),
    ],
)
def test_bad_gaussians(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Gaussian(arguments[0], variance=arguments[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0), "a Gaussian must have either variance= or deviation=; got neither."),
        (lambda: Gaussian(0, variance=1, deviation=1), "either variance= or deviation=; got both."),
        (lambda: Gaussian(0, deviation=0), "deviation must be greater than 0; got 0."),
        (lambda: Gaussian(0, deviation="wide"), "deviation must be a number; got 'wide'."),
        (lambda: Gaussian(0, deviation=[1, 2]), "deviation must be a number; got [1, 2]."),
        (lambda: Gaussian(0, deviation=1e80), "variance must be above 0 and moderate; got 1e+160."),
        (
            lambda: Gaussian([0, 0], deviation=1),
            "deviation needs a density in one dimension; use variance= in the plane.",
        ),
        (lambda: Gaussian({"a": 1}, variance=1), "mean must be an array of numbers; got {'a': 1}."),
    ],
)
def test_the_spread_must_be_named(make, message):
    with pytest.raises(DataError, match=re.escape(message)):
        make()


def test_deviations_and_variances():
    with pytest.raises(TypeError, match="positional"):
        Gaussian(110.8, 24.8)  # which of the two?
    assert Gaussian(10, deviation=0.2) == Gaussian(10, variance=0.04)
    assert Gaussian(3, deviation=np.array([2])) == Gaussian(mean=3, variance=4)
    assert repr(Gaussian(3, deviation=2)) == "Gaussian(mean=3.0, variance=4.0)"


def test_moments_of_frames():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0], "b": [0.0, 1.0, 1.0, 5.0]})
    found = Gaussian(frame.mean(), variance=frame.cov())
    assert found.mean == (2.5, 1.75)
    np.testing.assert_array_equal(found.variance, frame.cov())
    assert Gaussian(frame["a"].mean(), variance=frame["a"].var()) == Gaussian(2.5, variance=frame["a"].var())
    assert Gaussian(frame[["a"]].mean(), deviation=frame["a"].std()).n_dimensions == 1


def test_bad_points():
    with pytest.raises(DataError, match="points must be finite numbers; got nan"):
        Gaussian(0, variance=1).pdf(math.nan)
    with pytest.raises(DataError, match="points must be pairs of finite numbers; got 1"):
        Gaussian([0, 0], variance=1).pdf(1.0)
    with pytest.raises(DataError, match="the probability of an interval needs a density in one dimension"):
        Gaussian([0, 0], variance=1).probability(0, 1)


# Functions


def scalar_normal(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def test_functions_of_numbers_and_of_arrays():
    arrays = Density(stats.norm.pdf, (-math.inf, math.inf))
    numbers = Density(scalar_normal, (-math.inf, math.inf))
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(numbers.pdf(x), arrays.pdf(x), rtol=1e-13)
    np.testing.assert_allclose(numbers.probability(x[:-1], x[1:]), np.diff(stats.norm.cdf(x)), rtol=1e-11)
    assert numbers.probability(-math.inf, math.inf) == pytest.approx(1.0, abs=1e-12)
    assert numbers.precision < 1e-10


@pytest.mark.parametrize("known", [stats.expon(2, 3), stats.cauchy(5), stats.norm(300, 5), stats.gamma(0.5)])
def test_functions_on_infinite_supports(known):
    density = Density(known.pdf, known.support())
    at = known.ppf([0.1, 0.5, 0.9])
    np.testing.assert_allclose(density.probability(-math.inf, at), [0.1, 0.5, 0.9], rtol=1e-6)


def test_a_support_that_ends_above():
    density = Density(lambda x: np.exp(x), (-math.inf, 0))
    assert density.probability(-1, 5) == pytest.approx(1 - math.exp(-1), rel=1e-12)
    assert density.pdf(0.5) == 0.0
    assert density.log_pdf(0.5) == -math.inf


@pytest.mark.parametrize(
    ("function", "support", "message"),
    [
        (3, (0, 1), "a density must be given by a function; got 3."),
        (np.sin, (0, 2 * math.pi), "a density must be a number of at least 0; got -"),
        (lambda x: np.nan * x, (0, 1), "a density must be a number of at least 0; got nan at"),
        (lambda x: 2 * x, (0, 2), "a density must integrate to one over its support; got 4. Divide it by that."),
        (lambda x: stats.norm.pdf(x, 1e9, 1e-3), (-math.inf, math.inf), "Give a support that is nearer to where"),
        (lambda x, y, z: x, (0, 1), "a density must be a function of one number; calling it gave TypeError"),
        (lambda x: x, (1, 0), "the support must be (low, high) with low < high"),
        (lambda x: x, "all", "support must be an array of numbers; got 'all'."),
        (
            lambda x, y: x,
            ((0, 1), (0, 1)),
            "the support must be (low, high) with low < high",
        ),
    ],
)
def test_functions_that_are_no_densities(function, support, message):
    with pytest.raises(DataError, match=re.escape(message)):
        Density(function, support)


# What others made


def test_normals_become_gaussians():
    assert as_density("a", stats.norm(3, 2)) == Gaussian(3, variance=4)
    assert as_density("a", stats.multivariate_normal([1, 2], [[2, 1], [1, 2]])) == Gaussian(
        [1, 2], variance=[[2, 1], [1, 2]]
    )
    assert as_density("a", stats.multivariate_normal(1, 2)) == Gaussian(1, variance=2)


@pytest.mark.parametrize("known", [stats.uniform(1, 2), stats.t(3, 1), stats.beta(0.5, 0.5), stats.lognorm(2)])
def test_distributions_of_scipy(known):
    density, x = as_density("a", known), np.linspace(-1, 4, 23)
    assert isinstance(density, KnownDistribution)
    np.testing.assert_array_equal(density.log_pdf(x), known.logpdf(x))
    np.testing.assert_allclose(density.probability(x[:-1], x[1:]), np.diff(known.cdf(x)), rtol=1e-9, atol=1e-16)
    assert density.support == known.support()
    assert (np.diff(density.grid) > 0).all()
    assert density.probability(density.grid[:-1], density.grid[1:]).max() < 0.0101


def test_between_two_points_of_a_grid_there_is_about_a_hundredth_of_the_probability():
    known = stats.norm(3, 2)
    for density in (Gaussian(3, variance=4), Density(known.pdf, (-math.inf, math.inf))):
        assert np.diff(known.cdf(density.grid)).max() < 0.016


def test_a_histogram_and_a_mixture():
    histogram = stats.rv_histogram(([1, 3], [0.0, 1.0, 2.0]), density=False)
    assert as_density("a", histogram).probability(0.0, 1.0) == pytest.approx(0.25)
    mixture = Mixture(Variable("x"), [0.5, 0.5], [0.0, 4.0], [1.0, 1.0])
    assert Density(mixture.density, (-math.inf, math.inf)).probability(-math.inf, 2.0) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (stats.poisson(3), "the density of 'a' must be of a continuous distribution; got poisson."),
        (stats.norm([0, 1]), "the density of 'a' must be one distribution; got 2 of them in one."),
        (stats.uniform([0, 1]), "the density of 'a' must be one distribution; got 2 of them in one."),
        ((3, 1), "got (3, 1). Wrap a function"),
        (stats.gamma, "the density of 'a' must be frozen; got gamma without its parameters."),
        (scalar_normal, "Wrap a function: Density(function, support=(low, high))."),
        (
            3,
            "must be a Gaussian, a frozen continuous distribution of scipy.stats, or a Density; got 3",
        ),
        (
            stats.multivariate_normal([0, 0, 0]),
            "mean must be one number, or two for a density in the plane; got ",
        ),
    ],
)
def test_what_is_no_density(given, message):
    with pytest.raises(DataError, match=re.escape(message)):
        as_density("a", given)


def test_names_of_densities():
    assert repr(as_density("a", stats.uniform(1, scale=2))) == "uniform(1, scale=2)"
    assert repr(Density(scalar_normal, (-9, 9))) == "Density(scalar_normal, support=(-9.0, 9.0))"


# Integrals


def test_integrals_of_several_functions_at_once():
    found = integrate(lambda x: np.stack([np.sin(x), x > 1.0, np.sqrt(np.abs(x - 2))], axis=1), np.array([0.0, 3.0]))
    expected = [1 - math.cos(3), 2.0, (2**1.5 + 1) / 1.5]
    np.testing.assert_allclose(found.value, expected, rtol=1e-10)
    assert np.abs(found.value - expected).sum() <= found.error < 1e-10


def test_jumps_anywhere():
    """A jump in the last hundredth of a panel lies beyond all points of both rules."""
    for place in [*np.random.default_rng(0).uniform(0, 1, 30), 1e-3, 0.999, 0.3333]:
        found = integrate(lambda x, place=place: (x > place) * np.exp(-x), np.linspace(0, 1, 4))
        assert abs(found.value - (math.exp(-place) - math.exp(-1))) <= found.error < 1e-10


def test_an_integral_that_cannot_be_taken_says_so():
    found = integrate(lambda x: np.sin(1e7 * x * x), np.array([0.0, 3.0]), most_panels=64)
    assert found.error > 1e-3
