"""Decisions and thresholds: nothing chosen is dearer than anything else."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tunbridge.decisions import REJECT, decide, minimum_risk, threshold_from_costs

LOSS = st.floats(-1e3, 1e3, allow_subnormal=False)
COST = st.floats(0.001, 1e3)


@st.composite
def problems(draw):
    n_rows, n_classes, n_choices = (draw(st.integers(1, 5)) for _ in range(3))
    parts = draw(arrays(np.float64, (n_rows, n_classes), elements=st.floats(0.01, 1.0)))
    shape = (n_classes, n_choices) if draw(st.booleans()) else (n_rows, n_classes, n_choices)
    return parts / parts.sum(axis=1, keepdims=True), draw(arrays(np.float64, shape, elements=LOSS))


def risk(p, loss, row, choice):
    matrix = loss if loss.ndim == 2 else loss[row]
    return sum(p[row, i] * matrix[i, choice] for i in range(p.shape[1]))


@given(problems(), st.none() | LOSS)
def test_the_choice_has_the_least_risk(problem, reject):
    p, loss = problem
    found = minimum_risk(p, loss, reject=reject)
    for row in range(len(p)):
        all_risks = [risk(p, loss, row, j) for j in range(loss.shape[-1])]
        every = all_risks + ([] if reject is None else [reject])
        slack = 1e-9 * (1 + max(map(abs, every)))
        assert abs(found.risks[row] - min(every)) <= slack
        chosen = reject if found.choices[row] == REJECT else all_risks[found.choices[row]]
        assert chosen <= min(every) + slack


@given(problems())
def test_no_other_rule_is_expected_to_cost_less(problem):
    p, loss = problem
    found = minimum_risk(p, loss)
    for fixed in range(loss.shape[-1]):
        always = sum(risk(p, loss, row, fixed) for row in range(len(p)))
        assert found.total_risk <= always + 1e-9 * (1 + abs(always))


@given(COST, COST, st.floats(-10, 10), st.floats(-10, 10), st.floats(0.0, 1.0))
def test_the_threshold_is_where_the_cheaper_choice_changes(alarm, miss, tp, tn, p):
    limit = threshold_from_costs(
        false_positive=tn + alarm, false_negative=tp + miss, true_positive=tp, true_negative=tn
    )
    loss = np.array([[tn, tn + alarm], [tp + miss, tp]])
    if abs(p - limit) > 1e-6:
        assert minimum_risk(np.array([[1 - p, p]]), loss).choices[0] == int(p > limit)


@given(st.lists(COST, min_size=1, max_size=6), st.floats(0.0, 1.0))
def test_losses_by_row_are_thresholds_by_row(amounts, p):
    found = decide([[1 - p, p]] * len(amounts), ["good", "bad"], {"bad": amounts})
    limits = threshold_from_costs(false_negative=amounts)
    for label, limit in zip(found.labels, limits, strict=True):
        if abs(p - limit) > 1e-6:
            assert label == ("bad" if p > limit else "good")
