from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from oracles.decision_regions import confusion_on_plane
from tunbridge.errors import DataError
from tunbridge.reasoning import DecisionProblem, Gaussian

PHI = stats.norm.cdf


def check_against_grid(problem: DecisionProblem, low: float, high: float) -> None:
    """Compare with 160 000 cells; the tolerances are those of the grid."""
    x = np.linspace(low, high, 401)
    pdfs = [density.pdf for density in problem.densities.values()]
    expected = confusion_on_plane(pdfs, problem.prior.probabilities, problem.losses, x, x)
    np.testing.assert_allclose(problem.performance().confusion, expected, rtol=0, atol=6e-3)
    risk = float(problem.prior.probabilities @ (problem.losses * expected).sum(axis=1))
    assert problem.risk() == pytest.approx(risk, rel=0, abs=1e-4)
    np.testing.assert_allclose(problem.performance().confusion.sum(axis=1), 1.0, rtol=0, atol=1e-7)


@pytest.mark.parametrize("covariance", [1.0, [[2.0, 0.9], [0.9, 0.5]], [[1.0, -0.99], [-0.99, 1.0]], [0.01, 100.0]])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_equal_covariances_in_closed_form(covariance, share):
    first, second = Gaussian([0, 0], variance=covariance), Gaussian([2, 1], variance=covariance)
    apart = np.array([2.0, 1.0])
    distance = math.sqrt(apart @ np.linalg.solve(np.array(first.variance), apart))
    off = math.log(share / (1 - share)) / distance
    expected = share * PHI(-distance / 2 - off) + (1 - share) * PHI(-distance / 2 + off)
    problem = DecisionProblem({"a": first, "b": second}, {"a": share})
    assert problem.error() == pytest.approx(expected, rel=0, abs=1e-11)
    assert problem.performance().precision < 1e-9


def test_classes_that_differ_in_one_coordinate_are_a_problem_on_the_line():
    line = DecisionProblem({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=4)}, {"a": 0.6}, reject=0.3)
    for order in (1, -1):
        first, second = (Gaussian([m, 7][::order], variance=[v, 0.3][::order]) for m, v in ((0, 1), (1, 4)))
        plane = DecisionProblem({"a": first, "b": second}, {"a": 0.6}, reject=0.3)
        np.testing.assert_allclose(plane.performance().confusion, line.performance().confusion, rtol=0, atol=1e-10)


def test_circles_in_closed_form():
    """Equal means and round covariances: the boundary is a circle, and the squared distance exponential."""
    problem = DecisionProblem({"in": Gaussian([1, 1], variance=1), "out": Gaussian([1, 1], variance=4)})
    squared = math.log(4) / (0.5 - 0.125)
    expected = 0.5 * (math.exp(-squared / 2) + 1 - math.exp(-squared / 8))
    assert problem.error() == pytest.approx(expected, rel=1e-9)
    assert problem.boundaries(1.0) == pytest.approx((1 - math.sqrt(squared), 1 + math.sqrt(squared)))
    assert problem.boundaries(1.0 + 1.01 * math.sqrt(squared)) == ()


@pytest.mark.parametrize("loss", [None, {"a": 3}, [[0, 1, 2], [4, 0, 1], [1, 1, 0]]])
def test_three_gaussians(loss):
    densities = {
        "a": Gaussian([0, 0], variance=[[1, 0.5], [0.5, 2]]),
        "b": Gaussian([1, 1], variance=[[2, -1], [-1, 3]]),
        "c": Gaussian([-1, 3], variance=0.3),
    }
    check_against_grid(DecisionProblem(densities, (0.5, 0.3, 0.2), loss), -12, 13)


def test_sections_agree_with_decisions():
    densities = {
        "a": Gaussian([0, 0], variance=[[1, 0.5], [0.5, 2]]),
        "b": Gaussian([1, 1], variance=[[2, -1], [-1, 3]]),
    }
    problem = DecisionProblem(densities)
    for x in (-3.0, 0.0, 2.5):
        for region in problem.regions(x):
            low = region.low if math.isfinite(region.low) else min(region.high, 0.0) - 50
            high = region.high if math.isfinite(region.high) else max(region.low, 0.0) + 50
            inside = np.linspace(low, high, 12)[1:-1]
            points = np.column_stack([np.full(10, x), inside])
            assert set(problem.decide(points).tolist()) == {region.choice}


def test_other_rules_in_the_plane():
    problem = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([2, 0], variance=1)}, {"a": 0.3})
    other = problem.with_prior(None)
    both = PHI(-1)
    assert problem.error(other) == pytest.approx(both, rel=1e-9)
    assert problem.error() < problem.error(other)


def test_certain_priors_and_identical_densities():
    problem = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([0, 0], variance=1)})
    assert problem.error() == pytest.approx(0.5, rel=1e-12)
    assert problem.with_prior((0, 1)).error() == 0.0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: p.regions(), "regions in the plane need a vertical line; got no x."),
        (lambda p: p.regions("left"), "x must be a number; got 'left'."),
        (
            lambda p: p.error(0.5),
            "a rule in the plane must be a DecisionProblem; got 0.5.",
        ),
        (lambda p: p.decide([1.0, 2.0, 3.0]), "points must be pairs of finite numbers; got [1.0, 2.0, 3.0]."),
        (
            lambda p: p.decide(np.zeros((2, 2, 2))),
            "points must be two numbers, or an array (n, 2); got shape (2, 2, 2).",
        ),
    ],
)
def test_bad_questions(ask, message):
    with pytest.raises(DataError, match=re.escape(message)):
        ask(DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([1, 1], variance=1)}))


def test_x_is_for_the_plane_only():
    with pytest.raises(DataError, match=re.escape("x must be left out for densities in one dimension; got 1.0.")):
        DecisionProblem({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}).regions(1.0)
