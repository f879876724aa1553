from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.reasoning import DecisionProblem, Gaussian

numbers = st.floats(-5, 5)
variances = st.floats(0.05, 10)
gaussians = st.builds(Gaussian, numbers, variance=variances)


@st.composite
def problems(draw):
    n = draw(st.integers(2, 4))
    densities = {f"c{i}": draw(gaussians) for i in range(n)}
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=n, max_size=n)))
    loss = draw(st.none() | st.lists(st.floats(0, 5), min_size=n * n, max_size=n * n))
    reject = draw(st.none() | st.floats(0.01, 1))
    matrix = None if loss is None else np.reshape(loss, (n, n))
    return DecisionProblem(densities, (weights / weights.sum()).tolist(), matrix, reject=reject)


@settings(max_examples=20, deadline=None)
@given(problems(), st.lists(st.floats(-20, 20), min_size=1, max_size=20))
def test_regions_are_what_is_decided(problem, points):
    """At every point the choice of the region costs what the choice of least risk costs."""
    regions = problem.regions()
    assert regions[0].low == -np.inf
    assert regions[-1].high == np.inf
    assert all(a.high == b.low and a.choice != b.choice for a, b in pairwise(regions))
    for x in points:
        risks = problem.risks(x)
        found = [risks[region.choice] for region in regions if x in region]
        assert min(found) == pytest.approx(min(risks.values()), rel=1e-9, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(problems())
def test_probabilities_and_risks(problem):
    performance = problem.performance()
    np.testing.assert_allclose(performance.confusion.sum(axis=1), 1.0, rtol=1e-12)
    best = min(problem.prior.probabilities @ problem.losses)  # of always choosing the same
    assert performance.risk <= best + 1e-12
    assert problem.with_loss().error() <= performance.error + performance.confusion.sum(axis=1).max() + 1e-12
    for other in (problem.with_prior(None), problem.with_loss()):
        assert problem.risk(other) >= performance.risk - 1e-12


@settings(max_examples=15, deadline=None)
@given(gaussians, gaussians, st.floats(0.01, 0.99), st.floats(0.1, 3))
def test_the_same_in_the_plane(first, second, share, variance):
    """A second coordinate that says nothing changes nothing."""
    line = DecisionProblem({"a": first, "b": second}, (share, 1 - share))
    plane = DecisionProblem(
        {n: Gaussian([d.mean, 1], variance=[d.variance, variance]) for n, d in line.densities.items()},
        (share, 1 - share),
    )
    found = plane.performance()
    np.testing.assert_allclose(found.confusion, line.performance().confusion, rtol=0, atol=1e-9)
    assert abs(found.error - line.error()) <= found.precision + 1e-12


@st.composite
def planes(draw):
    def gaussian():
        a, c, r = draw(variances), draw(variances), draw(st.floats(-0.95, 0.95))
        b = r * (a * c) ** 0.5
        return Gaussian([draw(numbers), draw(numbers)], variance=[[a, b], [b, c]])

    n = draw(st.integers(2, 3))
    return DecisionProblem({f"c{i}": gaussian() for i in range(n)}, loss=draw(st.none() | st.just({"c0": 3})))


@settings(max_examples=10, deadline=None)
@given(planes(), st.floats(0.1, 3))
def test_turning_the_plane_changes_nothing(problem, angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned = {
        name: Gaussian(turn @ density.mean, variance=turn @ np.array(density.variance) @ turn.T)
        for name, density in problem.densities.items()
    }
    other = DecisionProblem(turned, loss=problem.losses)
    found = [p.performance() for p in (problem, other)]
    assert max(p.precision for p in found) < 1e-9
    np.testing.assert_allclose(found[0].confusion, found[1].confusion, rtol=0, atol=1e-9)
