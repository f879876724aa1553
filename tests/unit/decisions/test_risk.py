from __future__ import annotations

import numpy as np
import pytest

from tunbridge.decisions import REJECT, loss_matrix, minimum_risk
from tunbridge.errors import DataError


def brute_force(probabilities, loss):
    return [
        min(range(loss.shape[1]), key=lambda j, p=p: sum(loss[i, j] * p[i] for i in range(len(p))))
        for p in probabilities
    ]


def test_minimum_risk_is_the_cheapest_column():
    rng = np.random.default_rng(0)
    for n in (2, 3, 5):
        p = rng.dirichlet(np.ones(n), 50)
        loss = rng.random((n, n))
        found = minimum_risk(p, loss)
        assert found.choices.tolist() == brute_force(p, loss)
        np.testing.assert_allclose(found.risks, (p @ loss).min(axis=1), rtol=1e-12)


def test_threshold_from_a_cost_ratio():
    # Choosing "ill" is right from P(ill) = 1/(1 + 10) on when missing an ill person costs ten times a false alarm.
    loss = loss_matrix({"ill": {"well": 10}}, ["ill", "well"])
    p = np.array([[0.092, 0.908], [0.090, 0.910]])
    assert minimum_risk(p, loss).choices.tolist() == [0, 1]


def test_reject():
    p = np.array([[0.95, 0.05], [0.6, 0.4]])
    found = minimum_risk(p, 1 - np.eye(2), reject=0.2)
    assert found.choices.tolist() == [0, REJECT]
    np.testing.assert_allclose(found.risks, [0.05, 0.2], rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([[0, 1]], "must be 2 × 2"),
        ([[0, np.nan], [1, 0]], "choosing 'b' for 'a' is nan"),
        ("cheap", "must be a matrix of numbers"),
        ({"a": 3}, "must map each true class"),
        ({"aa": {"b": 1}}, "Did you mean 'a'"),
        ({"a": {"b": "x"}}, "must be a number"),
    ],
)
def test_bad_losses(loss, message):
    with pytest.raises(DataError, match=message):
        loss_matrix(loss, ["a", "b"])


def test_labels_may_be_named_by_their_text():
    assert loss_matrix({"1": {"0": 7}}, [0, 1]).tolist() == [[0, 1], [7, 0]]
