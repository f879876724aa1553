from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import tunbridge as tb
from tunbridge.decisions import minimum_risk
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.reasoning import DecisionProblem, Density, Gaussian


def two(first=(3, 1), second=(5, 1), **options) -> DecisionProblem:
    known = {name: Gaussian(mean, variance=variance) for name, (mean, variance) in {"a": first, "b": second}.items()}
    return DecisionProblem(known, **options)


# Points


def test_posteriors_follow_bayes_rule():
    problem = two(prior={"a": Fraction(1, 4)})
    x = np.linspace(0, 8, 9)
    weights = np.column_stack([0.25 * stats.norm.pdf(x, 3), 0.75 * stats.norm.pdf(x, 5)])
    np.testing.assert_allclose(problem.posterior(x), weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)
    assert isinstance(problem.posterior(4.0), tb.Distribution)
    assert problem.posterior(4.0)["a"] == pytest.approx(0.25, rel=1e-12)
    assert problem.prior == {"a": 0.25, "b": 0.75}


def test_risks_and_decisions_are_those_of_minimum_risk():
    problem = DecisionProblem(
        {"a": Gaussian(0, variance=1), "b": Gaussian(2, variance=3), "c": stats.uniform(-3, 9)},
        loss=[[0, 2, 1], [5, 0, 1], [1, 1, 0]],
    )
    x = np.linspace(-2.9, 5.9, 200)
    found = minimum_risk(problem.posterior(x), problem.losses)
    np.testing.assert_array_equal(problem.decide(x), np.array(["a", "b", "c"])[found.choices])
    np.testing.assert_allclose(problem.risks(x).min(axis=1), found.risks, rtol=1e-12)
    assert problem.risks(0.0) == dict(zip("abc", problem.risks([0.0])[0].tolist(), strict=True))
    assert problem.decide(0.0) == problem.decide([0.0])[0]


def test_far_out_where_every_density_is_too_small():
    problem = two((0, 1), (0, 4), prior=(1 - 1e-6, 1e-6))
    for x in (1e3, -1e6, 1e9):
        assert problem.decide(x) == "b"
        assert problem.posterior(x) == {"a": 0.0, "b": 1.0}
    plane = DecisionProblem({"a": Gaussian([0, 0], variance=1), "b": Gaussian([1, 0], variance=1)})
    assert plane.decide([[-1e7, 1e7], [1e7, 1e7]]).tolist() == ["a", "b"]


def test_labels_keep_their_types():
    problem = DecisionProblem({0: Gaussian(0, variance=1), 1: Gaussian(2, variance=1)}, reject=0.1)
    assert problem.decide([-3.0, 1.0, 5.0]).tolist() == [0, None, 1]
    assert problem.decide(1.0) is None
    mixed = DecisionProblem({0: Gaussian(0, variance=1), "one": Gaussian(2, variance=1)})
    assert mixed.decide([-3.0, 5.0]).tolist() == [0, "one"]


def test_no_points_at_all():
    assert two().decide([]).shape == (0,)
    assert two().posterior([]).shape == (0, 2)


def test_a_point_that_no_class_can_have():
    problem = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(0.5, 1)})
    for ask in (problem.posterior, problem.risks, problem.decide, problem.likelihood_ratio):
        with pytest.raises(
            ImpossibleEvidenceError, match=re.escape("a point must be possible under some class; at 3.0")
        ):
            ask([0.7, 3.0])
    with pytest.raises(ImpossibleEvidenceError):
        problem.with_prior((0, 1)).posterior(0.2)  # where the one class is that cannot be


# The likelihood ratio


@pytest.mark.parametrize("prior", [(0.5, 0.5), (0.01, 0.99), ("1/3", "2/3")])
@pytest.mark.parametrize("loss", [None, [[0, 4], [1, 0]], [[-1, 2], [3, 1]], [[0.5, 0.75], [9, 0]]])
def test_the_likelihood_ratio_rule_is_the_rule_of_least_risk(prior, loss):
    problem = two((0, 1), (1, 3), prior=prior, loss=loss)
    x = np.linspace(-8, 8, 999)
    first = problem.likelihood_ratio(x) > problem.threshold
    np.testing.assert_array_equal(problem.decide(x), np.where(first, "a", "b"))
    np.testing.assert_array_equal(problem.likelihood_ratio(x, log=True) > math.log(problem.threshold), first)


def test_the_threshold_of_the_formula():
    """(λ₂₁ − λ₂₂) P(ω₂) / ((λ₁₂ − λ₁₁) P(ω₁)), λ by true class and choice."""
    problem = two(prior=(0.2, 0.8), loss=[[1, 7], [5, 2]])
    assert problem.threshold == pytest.approx((5 - 2) * 0.8 / ((7 - 1) * 0.2), rel=1e-15)
    assert two(prior=(0, 1)).threshold == math.inf
    assert two(prior=(1, 0)).threshold == 0.0


def test_likelihood_ratios():
    problem = two()
    assert problem.likelihood_ratio(4.0) == 1.0
    assert problem.likelihood_ratio(3.0) == pytest.approx(math.exp(2), rel=1e-12)
    assert problem.likelihood_ratio(-1e6) == math.inf
    assert problem.likelihood_ratio(-1e6, log=True) == pytest.approx(2e6 + 8, rel=1e-9)
    halves = DecisionProblem({"a": stats.uniform(0, 1), "b": stats.uniform(0.5, 1)})
    assert halves.likelihood_ratio([0.2, 0.7, 1.2]).tolist() == [math.inf, 1.0, 0.0]


@pytest.mark.parametrize("loss", [[[1, 1], [1, 0]], [[0, 1], [2, 3]]])
def test_mistakes_must_cost_more_than_right_choices(loss):
    rule = "a threshold needs losses of mistakes that are greater than those of right choices; got [["
    with pytest.raises(DataError, match=re.escape(rule)):
        _ = two(loss=loss).threshold
    assert "θ" not in str(two(loss=loss).derivation())


def test_thresholds_and_ratios_are_between_two():
    three = DecisionProblem({name: Gaussian(i, variance=1) for i, name in enumerate("abc")})
    for ask in (lambda: three.threshold, lambda: three.likelihood_ratio(0.0), three.minimax):
        with pytest.raises(DataError, match="must be between two classes; got 'a', 'b', 'c'"):
            ask()
    acting = two(loss=[[1, 2], [2, 1]], actions=["go", "stay"])
    with pytest.raises(DataError, match="must be between choices that are classes; got 'go', 'stay'"):
        _ = acting.threshold
    with pytest.raises(DataError, match="must be between choices that are classes; got 'a', 'b', 'no decision'"):
        _ = two(reject=0.3).threshold  # with no decision there are two of them


# Minimax


@pytest.mark.parametrize("loss", [None, {"a": 4}])
def test_minimax(loss):
    problem = two((0, 1), (1, 3), loss=loss)
    worst = problem.minimax()
    first, second = worst.performance().class_risks
    assert first == pytest.approx(second, rel=1e-9)
    shares = np.linspace(0.01, 0.99, 33)
    assert worst.risk() >= max(problem.with_prior((p, 1 - p)).risk() for p in shares)
    for p in shares:  # whatever the prior turns out to be, the risk is that
        assert problem.with_prior((p, 1 - p)).risk(worst) == pytest.approx(worst.risk(), rel=1e-9)


def test_minimax_at_an_end():
    assert two(loss=[[0, 1], [5, 4]]).minimax().prior == {"a": 0.0, "b": 1.0}
    assert two(loss=[[4, 5], [1, 0]]).minimax().prior == {"a": 1.0, "b": 0.0}


# As an object


def test_it_never_changes():
    problem = two()
    other = problem.with_prior({"a": 0.9}).with_loss({"b": 3}, reject=0.2)
    assert problem.prior == {"a": 0.5, "b": 0.5}
    assert problem.losses.tolist() == [[0, 1], [1, 0]]
    assert other.losses.tolist() == [[0, 1, 0.2], [3, 0, 0.2]]
    assert other.choices == ("a", "b", None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.losses = None
    with pytest.raises(ValueError, match="read-only"):
        problem.losses[0, 0] = 1
    with pytest.raises(TypeError):
        problem.densities["c"] = Gaussian(0, variance=1)
    with pytest.raises(ValueError, match="read-only"):
        problem.performance().confusion[0, 0] = 1


def test_how_it_is_shown():
    assert (
        repr(two()) == "P(a) = 1/2, p(x | a) = Gaussian(3, variance=1)\nP(b) = 1/2, p(x | b) = Gaussian(5, variance=1)"
    )
    assert str(Gaussian([0, 1], variance=[2, 1e-9])) == "Gaussian([0, 1], variance=[[2, 0], [0, 1e-09]])"
    acting = two(loss=[[0, 2, 1], [2, 0, 1]], actions=["go", "stay", "ask"]).performance()
    assert repr(acting).splitlines()[0].split() == ["true", "go", "stay", "ask"]
    assert repr(acting).splitlines()[-1].startswith("risk ")
    assert "no decision" in repr(two(reject=0.2).performance())
    assert "(within " in repr(dataclasses.replace(acting, precision=1e-4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({},), "densities must be a mapping of class to density; got {}."),
        (
            ([Gaussian(0, variance=1)],),
            "densities must be a mapping of class to density; got [Gaussian(mean=0.0, variance=1.0)].",
        ),
        (({None: Gaussian(0, variance=1)},), "a class must have a name; got None, which stands for no decision."),
        (({"a": Gaussian(0, variance=1), "b": 3},), "the density of 'b' must be a Gaussian"),
        (({"a": Gaussian(0, variance=1), "b": Gaussian([0, 0], variance=1)},), "'a' has one and 'b' has two."),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, {"a": 1.2}),
            "must lie between 0 and 1; got 1.2.",
        ),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, {"a": -0.1}),
            "must lie between 0 and 1; got -0.1.",
        ),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, (0.5, 0.6)),
            "the prior must sum to 1; got 1.1.",
        ),
        (({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, {"c": 0.5}), "got 'c'."),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, None, {"c": 2}),
            "the loss must name classes; got 'c'.",
        ),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, None, {"a": [1, 2]}),
            "the losses must be the same for all points",
        ),
        (
            ({"a": Gaussian(0, variance=1), "b": Gaussian(1, variance=1)}, None, np.eye(3)),
            "the loss matrix must be 2 × 2",
        ),
    ],
)
def test_bad_problems(arguments, message):
    with pytest.raises(DataError, match=re.escape(message)):
        DecisionProblem(*arguments)


def test_bad_losses_of_no_decision():
    with pytest.raises(DataError, match="reject must be a number; got 'much'"):
        two(reject="much")


def test_bad_points():
    with pytest.raises(DataError, match="points must be an array of numbers; got 'far'"):
        two().decide("far")
    with pytest.raises(DataError, match=re.escape("points must be a number or an array of them; got shape (2, 2).")):
        two().decide(np.zeros((2, 2)))


# Derivations


def test_the_derivation_with_equal_variances():
    lines = str(two(prior={"a": 0.7}, loss={"b": 2}).derivation()).splitlines()
    text = " ".join(line.strip() for line in lines)
    assert "θ = (λ(b, a) − λ(b, b)) × P(b) / ((λ(a, b) − λ(a, a)) × P(a)) = (2 − 0) × 0.3 / ((1 − 0) × 0.7)" in text
    place = 4 - 0.5 * math.log(0.6 / 0.7)
    assert (
        f"x = (μ₁ + μ₂) / 2 + (σ² / (μ₁ − μ₂)) × ln θ = (3 + 5) / 2 + (1 / (3 − 5)) × ln 0.857143 = {place:.6g}" in text
    )
    assert f"a: x < {place:.6g} b: x > {place:.6g}" in text
    problem = two(prior={"a": 0.7}, loss={"b": 2})
    assert f"= {problem.error():.6g}" in text
    assert lines[-1].strip() == f"= {problem.risk():.6g}"


def test_the_derivation_with_unequal_variances_is_solved_by_the_boundaries():
    problem = two((0, 1), (1, 4), prior={"a": 0.4})
    quadratic = next(line for line in map(str, problem.derivation().lines) if "x²" in line).split(" = ")[0]
    assert quadratic == "-0.375 × x² − 0.25 × x + 0.412682"
    for x in problem.boundaries():
        assert -0.375 * x * x - 0.25 * x + 0.412682 == pytest.approx(0.0, abs=1e-6)


def test_the_derivation_in_the_plane_and_of_many():
    plane = DecisionProblem(
        {"a": Gaussian([0, 0], variance=[[1, 0.5], [0.5, 1]]), "b": Gaussian([2, 1], variance=[[1, 0.5], [0.5, 1]])}
    )
    line = next(text for text in map(str, plane.derivation().lines) if "× x" in text)
    assert line.replace("\n", " ").split() == ["-2", "×", "x", "=", "-2"]
    assert r"\begin{aligned}" in plane.derivation().latex
    three = DecisionProblem(
        {"a": Gaussian(0, variance=1), "b": Gaussian(2, variance=1), "c": stats.expon(5)}, reject=0.2
    )
    text = str(three.derivation())
    assert "no decision: " in text
    assert "P(error) = P(a) × P(wrong | a) + P(b) × P(wrong | b) + P(c) × P(wrong | c)" in text
    assert "risk = " in text
    assert "everywhere" in str(two((0, 1), (0, 1)).derivation())
    assert "θ = " in str(two(prior=(0, 1)).derivation())
    assert "θ" not in str(two(reject=0.2).derivation())
    acting = two(loss=[[0, 1], [1, 0]], actions=["go", "stay"])
    assert str(acting.derivation()).split()[-1] == f"{acting.risk():.6g}"


def test_a_kernel_estimate_is_a_density_too():
    rng = np.random.default_rng(0)
    samples = {"a": rng.normal(0, 1, 60), "b": rng.normal(3, 1, 60)}
    whole = (-math.inf, math.inf)
    problem = DecisionProblem({name: Density(stats.gaussian_kde(x), whole) for name, x in samples.items()})
    assert problem.decide([0.0, 3.0]).tolist() == ["a", "b"]
    np.testing.assert_allclose(problem.densities["a"].pdf(samples["b"]), stats.gaussian_kde(samples["a"])(samples["b"]))
