from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from oracles.decision_regions import confusion_on_grid
from tunbridge.errors import DataError
from tunbridge.reasoning import DecisionProblem, Density, Gaussian, Region

PHI = stats.norm.cdf


def two(first=(3, 1), second=(5, 1), **options) -> DecisionProblem:
    known = {name: Gaussian(mean, variance=variance) for name, (mean, variance) in {"a": first, "b": second}.items()}
    return DecisionProblem(known, **options)


def check_against_grid(problem: DecisionProblem, low: float, high: float) -> None:
    """Compare with 100 000 cells: a boundary is known to a cell there, and the risk to the square of one."""
    pdfs = [density.pdf for density in problem.densities.values()]
    x = np.linspace(low, high, 100_001)
    expected = confusion_on_grid(pdfs, problem.prior.probabilities, problem.losses, x)
    np.testing.assert_allclose(problem.performance().confusion, expected, rtol=0, atol=2 * (x[1] - x[0]))
    risk = float(problem.prior.probabilities @ (problem.losses * expected).sum(axis=1))
    assert problem.risk() == pytest.approx(risk, rel=0, abs=20 * (x[1] - x[0]) ** 2)
    np.testing.assert_allclose(problem.performance().confusion.sum(axis=1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("variance", [0.25, 1.0, 9.0])
def test_equal_variances_in_closed_form(share, variance):
    problem = two((3, variance), (5, variance), prior={"a": share})
    place = 4 - variance / 2 * math.log((1 - share) / share)
    assert problem.boundaries() == pytest.approx((place,), rel=1e-12)
    s = math.sqrt(variance)
    expected = share * PHI((3 - place) / s) + (1 - share) * PHI((place - 5) / s)
    assert problem.error() == pytest.approx(expected, rel=1e-12, abs=0)


def test_tiny_errors_keep_their_digits():
    assert two((-10, 1), (10, 1)).error() == pytest.approx(PHI(-10), rel=1e-12, abs=0)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12, 1e69])
def test_classes_that_are_far_apart_are_told_apart(far):
    assert two((0, 1), (far, 1)).boundaries() == pytest.approx((far / 2,), rel=1e-12)
    wide = two((0, 1), (far, 4))
    assert wide.boundaries() == pytest.approx((-far, far / 3), rel=1e-3)
    assert two((0, 1), (far, 1)).error() == wide.error() == 0.0
    plane = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([far, far], variance=1)})
    assert plane.error() == 0.0


@pytest.mark.parametrize("first", [(0, 1), (1, 0.2), (-3, 5)])
@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.2, 0.8), (0.95, 0.05)])
def test_unequal_variances(first, prior):
    problem = two(first, (0, 4), prior=prior)
    check_against_grid(problem, -30, 30)
    for place in problem.boundaries():
        shares = problem.posterior(np.array([place]))
        np.testing.assert_allclose(shares, [[0.5, 0.5]], rtol=1e-9)


def test_two_boundaries_and_none():
    assert [r.choice for r in two((0, 1), (0, 4)).regions()] == ["b", "a", "b"]
    assert two((0, 1), (0, 4), prior=(0.3, 0.7)).regions() == (Region(-math.inf, math.inf, "b"),)
    assert two((0, 1), (0, 4), prior=(0.3, 0.7)).error() == 0.3


def test_identical_densities():
    problem = two((0, 1), (0, 1))
    assert problem.regions() == (Region(-math.inf, math.inf, "a"),)
    assert problem.boundaries() == ()
    assert problem.error() == 0.5
    same = DecisionProblem({"a": stats.t(5), "b": Density(stats.t(5).pdf, (-math.inf, math.inf))})
    assert same.regions() == (Region(-math.inf, math.inf, "a"),)
    assert two((0, 0.3), (1, 0.1 + 0.2)).boundaries() == pytest.approx((0.5,))  # variances equal but for rounding


def test_the_boundary_moves_away_from_the_class_that_matters_more():
    places = [two(prior={"a": p}).boundaries()[0] for p in (0.1, 0.3, 0.5, 0.7, 0.9)]
    assert places == sorted(places)
    places = [two(loss={"a": cost}).boundaries()[0] for cost in (0.1, 1, 10)]
    assert places == sorted(places)
    assert places[1] == 4.0


@pytest.mark.parametrize("prior", [(0, 1), (1, 0), {"a": 0}])
def test_certain_priors(prior):
    problem = two(prior=prior)
    certain = "a" if prior == (1, 0) else "b"
    assert problem.regions() == (Region(-math.inf, math.inf, certain),)
    assert problem.error() == 0.0
    assert problem.decide(-1e9) == certain


def test_a_class_of_prior_zero_has_a_row_too():
    problem = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(5, 1)}, prior=(0, 1))
    np.testing.assert_allclose(problem.performance().confusion.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("prior", [None, (0.6, 0.1, 0.3), (0.98, 0.01, 0.01)])
def test_three_classes(prior):
    densities = {"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=3), "c": Gaussian(-4, variance=0.3)}
    problem = DecisionProblem(densities, prior)
    check_against_grid(problem, -30, 30)
    check_against_grid(problem.with_loss({"a": 2, "c": 5}), -30, 30)


@pytest.mark.parametrize("reject", [None, 0.05, 0.3, 0.9])
def test_losses_in_which_three_classes_enter(reject):
    densities = {"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=2), "c": Gaussian(-4, variance=0.3)}
    problem = DecisionProblem(densities, loss=[[0, 1, 2], [3, 0, 1], [1, 5, 0]], reject=reject)
    check_against_grid(problem, -30, 30)


def test_rejection_between_two_classes():
    problem = two(reject=0.2)
    low, high = problem.boundaries()
    assert [r.choice for r in problem.regions()] == ["a", None, "b"]
    assert problem.posterior(low)["a"] == pytest.approx(0.8, rel=1e-12)
    assert high == pytest.approx(8 - low, rel=1e-12)
    assert problem.risk() == pytest.approx(problem.error() + 0.2 * (problem.performance().confusion[:, 2] @ [0.5, 0.5]))
    assert problem.with_loss(reject=0.6).boundaries() == (4.0,)


def test_actions():
    problem = DecisionProblem(
        {"ill": Gaussian(2, variance=1), "well": Gaussian(0, variance=1)},
        {"ill": 0.1},
        [[1, 20, 5], [4, 0, 1]],
        actions=["treat", "wait", "test"],
    )
    assert [r.choice for r in problem.regions()] == ["wait", "test", "treat"]
    check_against_grid(problem, -20, 20)
    with pytest.raises(DataError, match="an error needs choices that are classes; 'treat', 'wait', 'test' is none"):
        problem.error()


@pytest.mark.parametrize("overlap", [0.0, 0.25, 0.5, 1.0])
def test_overlapping_uniforms_err_by_half_the_overlap(overlap):
    problem = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(1 - overlap, 1)})
    assert problem.error() == pytest.approx(overlap / 2, abs=1e-15)
    assert problem.regions()[0] == Region(0.0, 1.0, "a")
    assert problem.regions()[-1].high == (2 - overlap if overlap < 1 else 1.0)


def test_a_gap_belongs_to_nobody():
    problem = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(3, 1)})
    assert problem.regions() == (Region(0.0, 1.0, "a"), Region(3.0, 4.0, "b"))
    assert problem.boundaries() == ()
    assert problem.error() == 0.0


def test_exponentials():
    problem = DecisionProblem({"a": stats.expon(), "b": stats.expon(scale=3)})
    place = math.log(3) / (1 - 1 / 3)
    assert problem.boundaries() == pytest.approx((place,), rel=1e-12)
    assert problem.error() == pytest.approx(0.5 * (math.exp(-place) + 1 - math.exp(-place / 3)), rel=1e-11)
    assert problem.regions()[0].low == 0.0


def test_kinds_of_densities_agree():
    whole = (-math.inf, math.inf)
    exact = DecisionProblem({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=2)})
    for first in (Density(stats.norm(0, 1).pdf, whole), stats.t(1e12), stats.norm(0, 1)):
        other = DecisionProblem({"a": first, "b": Gaussian(1, variance=2)})
        assert [r.choice for r in other.regions()] == ["b", "a", "b"]
        assert other.boundaries() == pytest.approx(exact.boundaries(), rel=1e-8)
        assert other.error() == pytest.approx(exact.error(), rel=1e-9)


def test_tails_that_are_equal_but_for_rounding_are_no_region():
    assert DecisionProblem({"a": stats.cauchy(0), "b": stats.cauchy(1)}).boundaries() == pytest.approx((0.5,))


def test_an_integral_that_is_not_quite_one_shows_in_the_precision():
    rough, even = Density(lambda x: 1.00009 + 0 * x, (0, 1)), stats.uniform(0, 1)
    assert DecisionProblem({"a": rough, "b": even}).performance().precision == pytest.approx(9e-5, rel=1e-6)


def test_heavy_tails_and_a_narrow_peak():
    problem = DecisionProblem({"tails": stats.cauchy(), "peak": stats.uniform(50, 0.001)})
    assert problem.regions()[1] == Region(50.0, 50.001, "peak")
    check_against_grid(DecisionProblem({"t": stats.t(3), "n": Gaussian(0, variance=1)}), -2000, 2000)


# Other rules


def test_thresholds_elsewhere_cost_more():
    problem = two(prior={"a": 0.3})
    best = problem.boundaries()[0]
    assert problem.error(best) == pytest.approx(problem.error(), rel=1e-14)
    errors = [problem.error(best + off) for off in (0.0, 0.5, 1.0, 2.0)]
    assert errors == sorted(errors)
    assert problem.error(4) == pytest.approx(0.3 * PHI(-1) + 0.7 * PHI(-1), rel=1e-12)


def test_a_threshold_is_the_rule_of_the_problem_that_has_it():
    problem = two(prior={"a": 0.3})
    other = two(loss=[[0, math.e], [1, 0]])  # its boundary is 4.5
    np.testing.assert_allclose(problem.performance(other).confusion, problem.performance(4.5).confusion, rtol=1e-9)


def test_a_wrong_belief_costs():
    problem = two((0, 1), (1, 4), prior={"a": 0.7}, loss={"b": 2})
    for other in (problem.with_prior(None), problem.with_loss(), two((0, 1), (1, 1))):
        assert problem.risk(other) > problem.risk() + 0.01
    assert problem.risk(problem) == problem.risk()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("a", "a rule must be a DecisionProblem or a threshold; got 'a'."),
        (True, "a rule must be a DecisionProblem or a threshold; got True."),
        (math.inf, "a threshold must be finite; got inf."),
        (
            DecisionProblem({"a": Gaussian([0, 0], variance=1)}),
            "must have as many dimensions as this one; got 2, not 1.",
        ),
        (DecisionProblem({"z": Gaussian(0, variance=1)}), "a rule must choose among 'a', 'b'; got 'z'."),
    ],
)
def test_bad_rules(rule, message):
    with pytest.raises(DataError, match=re.escape(message)):
        two().performance(rule)


def test_a_threshold_is_between_two():
    with pytest.raises(DataError, match=re.escape("a threshold must be between two choices; got 'a', 'b', None.")):
        two(reject=0.1).performance(4)


def test_a_rule_for_narrower_densities_leaves_something_out():
    narrow = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(1, 1)})
    with pytest.raises(DataError, match="its regions leave out"):
        two((0, 1), (1, 1)).error(narrow)
