from __future__ import annotations

import numpy as np
import pytest

from tunbridge.decisions import REJECT, Decisions, decide, loss_matrix, minimum_risk
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


def test_losses_by_row_are_one_matrix_a_row():
    rng = np.random.default_rng(1)
    p, loss = rng.dirichlet(np.ones(3), 40), rng.normal(size=(40, 3, 4))
    found = minimum_risk(p, loss)
    for row in range(40):
        alone = minimum_risk(p[row : row + 1], loss[row])
        assert found.choices[row] == alone.choices[0]
        np.testing.assert_allclose(found.risks[row], alone.risks[0], rtol=1e-12)


def test_reject_by_row():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    assert minimum_risk(p, 1 - np.eye(2), reject=[0.05, 0.1, 0.2]).choices.tolist() == [REJECT, 0, 0]


def test_a_row_without_probabilities_gets_no_decision():
    found = decide([[0.5, 0.5], [np.nan, np.nan]], ["a", "b"], {"a": 3})
    assert found.labels.tolist() == ["a", None]
    assert (found.n_rejected, found.total_risk, found.mean_risk) == (1, 0.5, 0.5)
    assert np.isnan(decide([[np.nan, np.nan]], ["a", "b"]).mean_risk)


def test_rounded_probabilities_are_good_enough():
    assert decide([[0.33, 0.33, 0.33]], ["a", "b", "c"]).labels.tolist() == ["a"]


def test_no_losses_are_the_fewest_errors():
    p = np.random.default_rng(2).dirichlet(np.ones(4), 100)
    found = decide(p, list("abcd"))
    assert found.choices.tolist() == p.argmax(axis=1).tolist()
    np.testing.assert_allclose(found.risks, 1 - p.max(axis=1), rtol=1e-12, atol=1e-15)


def test_actions():
    loss = {"ill": {"treat": 1, "wait": 20, "test": 2}, "well": {"treat": 4, "wait": 0, "test": 0.5}}
    found = decide([[0.9, 0.1], [0.2, 0.8], [0.01, 0.99]], ["ill", "well"], loss, actions=["treat", "wait", "test"])
    assert found.labels.tolist() == ["treat", "test", "wait"]
    np.testing.assert_allclose(found.risks, [1.3, 0.8, 0.2], rtol=1e-12)
    np.testing.assert_allclose(found.costs(["well", "well", "ill"]), [4, 0.5, 20], rtol=1e-12)


def test_utilities_are_losses_below_zero():
    p = np.random.default_rng(3).dirichlet(np.ones(2), 60)
    gain = np.array([[3.0, -5.0], [0.0, 1.0]])
    found = decide(p, ["bad", "good"], utility=gain)
    assert found.choices.tolist() == (p @ gain).argmax(axis=1).tolist()
    np.testing.assert_allclose(found.risks, -(p @ gain).max(axis=1), rtol=1e-12)
    same = decide(p, ["bad", "good"], utility={"bad": {"bad": 3, "good": -5}})
    np.testing.assert_allclose(same.risks, found.risks, rtol=1e-12)


def test_costs_are_what_happened():
    found = decide([[0.2, 0.8], [0.5, 0.5], [0.02, 0.98]], ["ill", "well"], {"ill": 10}, reject=0.4)
    assert found.labels.tolist() == [None, None, "well"]
    np.testing.assert_allclose(found.costs(np.array(["ill", "well", "ill"])), [0.4, 0.4, 10], rtol=1e-12)
    by_row = decide([[0.2, 0.8], [0.2, 0.8]], [0, 1], {0: [1, 100]})
    assert by_row.labels.tolist() == [1, 0]
    np.testing.assert_allclose(by_row.costs([0, 1]), [1, 1], rtol=1e-12)
    np.testing.assert_allclose(by_row.costs(["0", "0"]), [1, 0], rtol=1e-12)


def test_costs_meet_the_risk_on_average():
    # Classes drawn from the probabilities: the mean cost is the mean risk within four standard errors, and the mean
    # risk of the wrong probabilities is not.
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.ones(2), 20000)
    true = (rng.random(20000) < p[:, 1]).astype(int)
    found = decide(p, [0, 1], {0: 3})
    costs = found.costs(true)
    error = costs.std() / np.sqrt(len(costs))
    assert abs(costs.mean() - found.mean_risk) < 4 * error
    assert abs(costs.mean() - decide(p**4 / (p**4).sum(axis=1, keepdims=True), [0, 1], {0: 3}).mean_risk) > 4 * error


def test_summary():
    found = decide([[0.2, 0.8], [0.5, 0.5], [0.02, 0.98]], ["ill", "well"], {"ill": 10}, reject=0.4)
    assert str(found) == "3 decisions: ill 0, well 1, none 2; expected loss 0.3333 a row, 1 in all"
    assert str(minimum_risk(np.array([[0.25, 0.75]]), 1 - np.eye(2))).startswith("1 decision; expected loss 0.25")
    many = decide(np.eye(12), range(12))
    assert str(many).startswith("12 decisions: 0 1, 1 1, 2 1, 3 1, 4 1, 5 1, 6 1, 7 1, …;")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decide([0.5, 0.5], ["a", "b"]), r"rows × classes; got shape \(2,\)"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"], {}, utility={}), "losses or utilities; got both"),
        (
            lambda: decide([[0.5, 0.5]], ["a", "b", "c"]),
            "classes must name the 2 columns of the prob",
        ),
        (lambda: minimum_risk([[0.5, 0.5]], np.ones((3, 2))), "a row for each of 2 classes"),
        (lambda: minimum_risk(np.full((3, 2), 0.5), np.ones((2, 2, 2))), "one such matrix for each of 3 rows"),
        (lambda: minimum_risk([[0.0, 1.0]], [[0, np.inf], [1, 0]]), "the losses must be finite; got inf"),
        (lambda: minimum_risk([[0.0, 1.0]], "abc"), "the losses must be a table of numbers; got 'abc'"),
        (lambda: decide([["x", "y"]], ["a", "b"]), "probabilities must be a table of numbers; got"),
        (lambda: decide([[1.0], [0.5, 0.5]], ["a", "b"]), "probabilities must be a table of numbers; got"),
        (lambda: decide([[-0.5, 1.5]], ["a", "b"]), "probabilities must lie between 0 and 1; got -0.5"),
        (lambda: decide([[np.inf, 0.5]], ["a", "b"]), "probabilities must lie between 0 and 1; got inf"),
        (lambda: decide([[0.5, 0.5], [0.9, 0.9]], ["a", "b"]), "must sum to one; those of row 2 sum to 1.8"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"], reject=["x"]), "rejection must be a table of numbers; got"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"], reject="x"), "rejection must be a number; got 'x'"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"], reject=[1, 2]), "one for each of 1 rows"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"], reject=[np.inf]), "rejection must be finite; it is inf"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"]).costs(["c"]), "the true classes must be classes; got 'c'"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"]).costs(["a", "b"]), "for each of 1 decisions; got 2"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"]).costs("a"), r"for each of 1 decisions; got an array of shape \(\)"),
        (lambda: decide([[0.5, 0.5]], ["a", "b"]).costs([["a", "b"]]), r"got an array of shape \(1, 2\)"),
        (lambda: Decisions(np.array([0]), np.array([0.0]), classes=("a",)).costs(["a"]), "made without them"),
    ],
)
def test_messages(call, message):
    with pytest.raises(DataError, match=message):
        call()
