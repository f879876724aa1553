from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tunbridge.decisions import loss_matrix, utility_losses
from tunbridge.errors import DataError, MemoryForecastError


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (None, [[0, 1], [1, 0]]),
        ({}, [[0, 1], [1, 0]]),
        ([[0, 5], [2, -1]], [[0, 5], [2, -1]]),
        ({"a": {"b": 5}}, [[0, 5], [1, 0]]),
        ({"a": 5}, [[0, 5], [1, 0]]),
        ({"a": 5, "b": {"b": -2}}, [[0, 5], [1, -2]]),
        (pd.DataFrame({"b": [7, 0], "a": [0, 3]}, index=["a", "b"]), [[0, 7], [3, 0]]),
    ],
)
def test_forms(loss, expected):
    assert loss_matrix(loss, ["a", "b"]).tolist() == expected


def test_missing_a_class_costs_the_same_whatever_is_chosen():
    assert loss_matrix({"b": 4}, ["a", "b", "c"]).tolist() == [[0, 1, 1], [4, 0, 4], [1, 1, 0]]


def test_losses_by_row():
    amounts = pd.Series([100, 20, 3], index=[7, 8, 9])
    found = loss_matrix({"bad": {"good": amounts}, "good": 2}, ["bad", "good"], n_rows=3)
    assert found.tolist() == [[[0, 100], [2, 0]], [[0, 20], [2, 0]], [[0, 3], [2, 0]]]
    np.testing.assert_array_equal(loss_matrix(found, ["bad", "good"], n_rows=3), found)


def test_labels_may_be_named_by_their_text():
    assert loss_matrix({"1": {"0": 7}}, [0, 1]).tolist() == [[0, 1], [7, 0]]
    assert loss_matrix({"1": 7}, [1, "1"]).tolist() == [[0, 1], [7, 0]]  # an equal label goes before an equal text


def test_utilities():
    assert utility_losses([[1, 2], [3, 4]], ["a", "b"]).tolist() == [[-1, -2], [-3, -4]]
    assert utility_losses({"a": {"b": -5}}, ["a", "b"]).tolist() == [[-1, 5], [0, -1]]
    assert utility_losses({"a": [3, 4]}, ["a", "b"]).tolist() == [[[-3, 0], [0, -1]], [[-4, 0], [0, -1]]]


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        ([[0, 1]], {}, r"must be 2 × 2, a row for each true class of 'a', 'b'.*got shape \(1, 2\)"),
        ([[0, np.nan], [1, 0]], {}, "choosing 'b' for 'a' is nan"),
        ([[[0, 1], [1, 0]], [[0, np.inf], [1, 0]]], {}, "choosing 'b' for 'a' in row 2 is inf"),
        (np.zeros((3, 2, 2)), {"n_rows": 2}, "the loss by row must be given for each of 2 rows; got 3"),
        ("cheap", {}, "must be a matrix of numbers or a mapping of mappings; got 'cheap'"),
        ({"a": "x"}, {}, "the loss of missing 'a' must be a number, or one a row; got 'x'. Give a column itself"),
        ({"aa": {"b": 1}}, {}, "must name classes; got 'aa'. Did you mean 'a'"),
        ({"a": {"c": 1}}, {}, "must name classes; got 'c'"),
        ({"a": {"b": "x"}}, {}, "the loss of choosing 'b' for 'a' must be a number"),
        ({"a": {"b": [1, 2]}}, {"n_rows": 3}, "choosing 'b' for 'a' must be given for each of 3 rows; got 2"),
        ({"a": {"b": [1, 2]}, "b": [1, 2, 3]}, {}, "choosing 'a' for 'b' must be given for each of 2 rows; got 3"),
        ({"a": {"b": [1, np.nan]}}, {}, "must be finite; it is nan in row 2"),
        ({"a": {"b": [[1, 2]]}}, {}, r"one a row; got an array of shape \(1, 2\)"),
        ({"a": {"b": ["x"]}}, {}, r"a number, or one a row; got \['x'\]"),
        (None, {"actions": ["x", "y"]}, "there must be losses for the actions 'x', 'y'; got none"),
        ({"a": {"x": 1}, "b": {"x": 1, "y": 2}}, {"actions": ["x", "y"]}, "choosing 'y' for 'a' is not"),
        ({"a": 3}, {"actions": ["x"]}, "must map each class to {action: loss}; got 3 for 'a'"),
        ({"a": {"z": 3}}, {"actions": ["x"]}, "must name actions; got 'z'"),
        ([[1, 2]], {"actions": ["x", "x"]}, "actions must be different from each other"),
    ],
)
def test_messages(loss, options, message):
    with pytest.raises(DataError, match=message):
        loss_matrix(loss, ["a", "b"], **options)


def test_messages_of_utilities():
    with pytest.raises(DataError, match="utilities must be finite numbers; the utility of choosing 'a' for 'a' is nan"):
        utility_losses([[np.nan, 0], [0, 0]], ["a", "b"])
    with pytest.raises(DataError, match="the utility of finding 'a' must be a number"):
        utility_losses({"a": None}, ["a", "b"])


def test_memory_is_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError, match="a matrix of losses for each of 100 rows"):
        loss_matrix({"a": np.ones(100)}, ["a", "b"])
