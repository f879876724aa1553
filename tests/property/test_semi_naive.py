"""Semi-naive Bayes on random tables: leave-one-out from counts is counting without the row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.semi_naive import left_out, score
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Encoding
from tunbridge.classifiers.naive._left_out import factor, judged, left_out_rows, total
from tunbridge.classifiers.naive.weighted_naive_bayes import Objective
from tunbridge.data import Variable


@st.composite
def problems(draw):
    n_rows, n_classes = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    n_states = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    cells = [draw(st.lists(st.integers(-1, r - 1), min_size=n_rows, max_size=n_rows)) for r in n_states]
    classes = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows))
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.5]), min_size=n_rows, max_size=n_rows))
    gamma = draw(st.sampled_from([0.25, 1.0]))
    return cells, classes, weights, n_states, n_classes, gamma


def made_rows(problem, class_prior=None):
    cells, classes, weights, n_states, n_classes, gamma = problem
    variables = tuple(Variable(f"x{f}", [str(k) for k in range(r)]) for f, r in enumerate(n_states))
    target = Variable("class", [str(c) for c in range(n_classes)])
    return left_out_rows(
        Examples(None, np.array(classes), target, np.array(weights)),
        Encoding(variables, {}),
        np.array(cells, np.int32),
        class_prior=class_prior,
        smoothing=gamma,
    )


@given(problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_leaving_out_is_counting_without(problem, data):
    cells, classes, weights, n_states, n_classes, gamma = problem
    features = data.draw(st.permutations(range(len(n_states))))
    cut = data.draw(st.integers(1, len(features)))
    groups = [tuple(features[:cut]), *((f,) for f in features[cut:])]
    rows = made_rows(problem)
    joint = total(rows, [factor(rows, g) for g in groups])
    expected = np.array(
        left_out(cells, classes, weights, groups=groups, gamma=gamma, n_states=n_states, n_classes=n_classes)
    )
    asked = rows.asked > 0
    present = np.isin(np.arange(n_classes), classes)
    found, expected = (a[asked][:, present] for a in (joint, expected))
    np.testing.assert_allclose(
        found - found.max(axis=1, keepdims=True), expected - expected.max(axis=1, keepdims=True), rtol=1e-10, atol=1e-10
    )
    if asked.any():
        wanted = score(cells, classes, weights, groups=groups, gamma=gamma, n_states=n_states, n_classes=n_classes)
        np.testing.assert_allclose(judged(rows, joint), wanted, rtol=1e-10, atol=1e-12)


@given(problems())
@settings(max_examples=40, deadline=None)
def test_trying_is_adding_and_taking_away(problem):
    rows = made_rows(problem)
    factors = [factor(rows, (f,)) for f in range(len(problem[3]))]
    everything = total(rows, factors)
    tried = judged(rows, everything, less=factors[:1])
    np.testing.assert_allclose(tried, judged(rows, total(rows, factors[1:])), rtol=1e-9, atol=1e-12)
    tried = judged(rows, total(rows, factors[1:]), more=factors[:1])
    np.testing.assert_allclose(tried, judged(rows, everything), rtol=1e-9, atol=1e-12)


@given(problems(), st.booleans(), st.floats(0.0, 3.0))
@settings(max_examples=40, deadline=None)
def test_gradient_of_the_weights_is_that_of_finite_differences(problem, leave_one_out, penalty):
    rows = made_rows(problem)
    if not rows.asked.any():
        return
    objective = Objective(rows, penalty, leave_one_out=leave_one_out)
    weights = np.linspace(0.3, 1.4, len(problem[3]))
    _, gradient = objective(weights)
    step = 1e-6
    for f in range(len(weights)):
        ahead, behind = (objective(weights + sign * step * (np.arange(len(weights)) == f))[0] for sign in (1, -1))
        assert gradient[f] == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-7)  # central differences


@given(problems())
@settings(max_examples=25, deadline=None)
def test_weights_are_replication(problem):
    cells, classes, *_ = problem
    times = np.arange(len(classes)) % 3
    if not times.any():
        return
    frame = {f"x{f}": [str(v) if v >= 0 else None for v in column] for f, column in enumerate(cells)}
    copied = {name: [v for v, t in zip(column, times, strict=True) for _ in range(t)] for name, column in frame.items()}
    y = [str(c) for c in classes]
    more = [c for c, t in zip(y, times, strict=True) for _ in range(t)]
    for model in (
        tb.SelectiveNaiveBayesClassifier("backward"),
        tb.JoinedNaiveBayesClassifier(),
        tb.WeightedNaiveBayesClassifier(tol=1e-9),
    ):
        kinds = dict.fromkeys(frame, True)
        with np.errstate(all="raise"):
            weighted = model.set_params(categorical=kinds).fit(frame, y, sample_weight=times.astype(float))
            first = _states_of(weighted)
            shares = weighted.predict_proba(frame)[:, [weighted.classes_.tolist().index(c) for c in sorted(set(more))]]
            again = model.fit(copied, more)
        if _states_of(again) == first:  # a state that only rows without weight have makes tables larger
            np.testing.assert_allclose(again.predict_proba(frame), shares, rtol=1e-5, atol=1e-7)  # tol of the weights


def _states_of(model):
    return [v.states for v in model.variables_]
