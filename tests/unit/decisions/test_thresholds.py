from __future__ import annotations

import numpy as np
import pytest

from tunbridge.decisions import minimum_risk, threshold_from_costs, threshold_from_loss
from tunbridge.errors import DataError


def test_a_ratio_of_costs():
    assert threshold_from_costs() == 0.5
    assert threshold_from_costs(false_negative=4) == 0.2
    assert threshold_from_costs(false_positive=4) == 0.8
    assert threshold_from_costs(false_positive=0) == 0.0


def test_a_threshold_is_where_the_decision_changes():
    rng = np.random.default_rng(0)
    for _ in range(20):
        right, more = rng.normal(size=2), rng.random(2) + 0.01
        loss = np.array([[right[0], right[0] + more[0]], [right[1] + more[1], right[1]]])
        limit = threshold_from_loss(loss, ["no", "yes"], "yes")
        p = np.array([limit - 1e-6, limit + 1e-6])
        assert minimum_risk(np.column_stack([1 - p, p]), loss).choices.tolist() == [0, 1]
        assert threshold_from_loss(loss, ["no", "yes"], "no") == pytest.approx(1 - limit, rel=1e-12)


def test_huge_and_tiny_costs():
    assert threshold_from_costs(false_positive=1e308, false_negative=1e308) == 0.5
    assert threshold_from_costs(false_positive=1e308, true_negative=-1e308, false_negative=2e307) > 0.9
    assert threshold_from_costs(false_positive=1e-308, false_negative=3e-308) == pytest.approx(0.25, rel=1e-12)


def test_thresholds_by_row():
    found = threshold_from_loss({"bad": [100, 900], "good": 100}, ["bad", "good"], "bad")
    np.testing.assert_allclose(found, [0.5, 0.1], rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: threshold_from_costs(true_positive=2), "one of the two more; got 1 more .* and -1 more"),
        (lambda: threshold_from_costs(false_positive=0, false_negative=0), "one of the two more"),
        (lambda: threshold_from_costs(false_positive="x"), "false_positive must be a finite number, or one a row"),
        (lambda: threshold_from_costs(true_negative=np.nan), "true_negative must be a finite number"),
        (lambda: threshold_from_loss({}, ["a", "b", "c"], "a"), "between two classes; got 'a', 'b', 'c'"),
        (lambda: threshold_from_loss({}, ["bad", "good"], "bed"), "one of the classes; got 'bed'. Did you mean 'bad'"),
    ],
)
def test_messages(call, message):
    with pytest.raises(DataError, match=message):
        call()
