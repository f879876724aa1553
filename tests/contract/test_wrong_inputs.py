"""Every estimator answers wrong input with one of our errors, in one sentence, and keeps what it had learned."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tunbridge as tb
from tunbridge._core.registry import entries

Y = ["a", "b"] * 10
NUMBERS = np.random.default_rng(0).normal(size=(20, 3))
FRAME = pandas.DataFrame(NUMBERS, columns=["age", "size", "dose"])
LONG = "x" * 20_000

TABLES = {
    name: entry.load() for name, entry in entries("classifier").items() if name not in ("text", "sequence", "hmm")
}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    **TABLES,
    "calibrated": tb.CalibratedClassifier,
    "semi-supervised": tb.SemiSupervisedClassifier,
    "discretiser": tb.Discretiser,
}


def _duplicates() -> pandas.DataFrame:
    return pandas.DataFrame(NUMBERS, columns=["a", "a", "b"])


def _objects(value: Any) -> np.ndarray:
    found = NUMBERS.astype(object)
    found[3, 1] = value
    return found


WRONG_X: dict[str, tuple[Callable[[], Any], str]] = {
    "one dimension": (lambda: NUMBERS[:, 0], r"X must have rows and columns; got an array of shape \(20,\). Reshape"),
    "three dimensions": (lambda: np.ones((20, 3, 2)), r"X must have rows and columns; got an array of shape"),
    "no rows": (lambda: NUMBERS[:0], "at least one row"),
    "no rows in a frame": (lambda: FRAME[:0], "at least one row"),
    "no columns": (lambda: NUMBERS[:, :0], "at least one column"),
    "no columns in a frame": (lambda: FRAME[[]], "at least one column"),
    "lists in cells": (lambda: _objects([1, 2]), "row 4 holds"),
    "dicts in cells": (lambda: _objects({"a": 1}), "row 4 holds"),
    "complex numbers": (lambda: NUMBERS + 1j, "real numbers|complex"),
    "infinity": (lambda: np.where(NUMBERS > 1, np.inf, NUMBERS), "infinity"),
    "infinity in a frame": (lambda: FRAME.where(FRAME < 1, np.inf), "infinity"),
    "two columns of one name": (_duplicates, "'a' more than once"),
    "a sparse matrix": (lambda: sparse.csr_matrix(NUMBERS), r"got a sparse matrix. Call \.toarray\(\) first"),
    "a sparse array": (lambda: sparse.coo_array(NUMBERS), r"got a sparse matrix. Call \.toarray\(\) first"),
    "None": (lambda: None, "got None"),
    "a generator": (lambda: (row for row in NUMBERS), "got generator"),
    "a file name": (lambda: "visits.csv", r"Read a file first: tb\.read_table\(.visits\.csv.\)"),
    "a lazy frame": (lambda: polars.LazyFrame(FRAME), r"Call \.collect\(\) first"),
    "rows of different lengths": (lambda: [[1.0, 2.0], [3.0]] * 10, "equally long"),
    "names that are half text": (lambda: FRAME.rename(columns={"age": 7}), "column names must be text"),
    "a scalar": (lambda: 7, "got int"),
}

WRONG_Y: dict[str, tuple[Any, str]] = {
    "too short": (Y[:5], "a class for each row; got 5 classes for 20 rows"),
    "all missing": ([None] * 20, "every row of it is missing|have none"),
    "all NaN": (np.full(20, np.nan), "every row of it is missing|have none"),
    "two columns": (np.ones((20, 2), int), "y must be one label for each row"),
    "None": (None, "y"),
    "lists": ([[1], [1, 2]] * 10, "y must be one label for each row|classes must"),
    "dates": (np.array(["2020-01-01", "2021-01-01"] * 10, "M8[D]"), "Convert them to text"),
    "quantities": (NUMBERS[:, 0], "Discretize"),
    "a generator": ((label for label in Y), "y must be one label for each row"),
    "a number": (7, "y must be one label for each row"),
    "complex": (np.array([1j, 2j] * 10), "classes must|complex"),
}

WRONG_WEIGHTS: dict[str, Any] = {
    "negative": [-1.0] * 20,
    "NaN": [np.nan] * 20,
    "infinite": [np.inf] * 20,
    "too short": [1.0] * 3,
    "text": ["a"] * 20,
    "two-dimensional": np.ones((20, 2)),
}

WRONG_LATER: dict[str, tuple[Callable[[], Any], str]] = {
    "a column is absent": (lambda: FRAME[["age", "size"]], "'dose'"),
    "a column is absent in a dict": (lambda: {"age": [1.0], "size": [2.0]}, "'dose'"),
    "a column has another name": (lambda: FRAME.rename(columns={"dose": "dosis"}), "'dose'"),
    "columns in another order": (lambda: FRAME[["size", "age", "dose"]], "in the order of the training data"),
    "a column too few": (lambda: NUMBERS[:, :2], "the 3 columns .*'age', 'size', 'dose'.*; got 2"),
    "a column too many": (lambda: np.ones((4, 4)), "the 3 columns .*'age', 'size', 'dose'.*; got 4"),
    **{name: WRONG_X[name] for name in WRONG_X if name not in ("no columns in a frame", "infinity in a frame")},
}


@cache
def _fitted(name: str) -> Any:
    return ESTIMATORS[name]().fit(FRAME, Y)


def _later(name: str, X: Any) -> Any:
    model = _fitted(name)
    return model.transform(X) if name == "discretiser" else model.predict_proba(X)


def _check(error: pytest.ExceptionInfo[BaseException]) -> None:
    assert isinstance(error.value, ValueError)  # what scikit-learn's own tools catch
    assert len(str(error.value)) < 1000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("wrong", WRONG_X)
def test_wrong_rows_to_learn_from(name: str, wrong: str) -> None:
    make, message = WRONG_X[wrong]
    with pytest.raises(tb.DataError, match=message) as error:
        ESTIMATORS[name]().fit(make(), Y)
    _check(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("wrong", WRONG_LATER)
def test_wrong_rows_to_predict(name: str, wrong: str) -> None:
    make, message = WRONG_LATER[wrong]
    with pytest.raises(tb.DataError, match=message) as error:
        _later(name, make())
    _check(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("wrong", WRONG_Y)
def test_wrong_classes(name: str, wrong: str) -> None:
    y, message = WRONG_Y[wrong]
    with pytest.raises(tb.DataError, match=message) as error:
        ESTIMATORS[name]().fit(FRAME, y)
    _check(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("wrong", WRONG_WEIGHTS)
def test_wrong_weights(name: str, wrong: str) -> None:
    with pytest.raises(tb.DataError, match="weight") as error:
        ESTIMATORS[name]().fit(FRAME, Y, sample_weight=WRONG_WEIGHTS[wrong])
    _check(error)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_not_fitted(name: str) -> None:
    with pytest.raises(tb.DataError, match=rf"must be fitted first; this {type(ESTIMATORS[name]()).__name__} is not"):
        getattr(ESTIMATORS[name](), "transform" if name == "discretiser" else "predict")(FRAME)
    with pytest.raises(NotFittedError):
        getattr(ESTIMATORS[name](), "transform" if name == "discretiser" else "predict")(FRAME)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_odd_tables_that_are_read(name: str) -> None:
    """Dates, masked arrays and frames with several levels of column names have a proper answer."""
    dates = pandas.DataFrame({"day": [datetime.datetime(2020, 1, 1 + i) for i in range(20)], "x": NUMBERS[:, 0]})
    masked = np.ma.masked_array(NUMBERS, NUMBERS > 1)
    levels = pandas.DataFrame(NUMBERS, columns=pandas.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    for X in (dates, masked, levels):
        model = ESTIMATORS[name]().fit(X, Y)
        found = model.transform(X) if name == "discretiser" else model.predict_proba(X)
        assert len(found) == 20


@pytest.mark.parametrize("name", ["nb", "discretiser"])
def test_a_failed_fit_keeps_what_was_learned(name: str) -> None:
    model = ESTIMATORS[name]().fit(FRAME, Y)
    answer = model.transform if name == "discretiser" else model.predict_proba
    before = answer(FRAME)
    with pytest.raises(tb.DataError):
        model.fit(NUMBERS[:0], Y)
    np.testing.assert_array_equal(answer(FRAME), before)
    clone(model)


def test_the_discretiser_names_a_column_of_text() -> None:
    with pytest.raises(tb.DataError, match=r"column 'a' must hold numbers; row 1 holds 'x'"):
        tb.Discretiser().fit(pandas.DataFrame({"a": list("xy") * 5, "b": range(10)}), [0, 1] * 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tb.NaiveBayesClassifier().fit({LONG: [1.0, 2.0]}, "y"),
        lambda: tb.NaiveBayesClassifier().fit({"x": [1.0, 2.0]}, LONG),
        lambda: tb.as_table({LONG: [[1], [2]]}),
        lambda: tb.Variable(LONG, ["a", "a"]),
        lambda: tb.Variable("x", ["a"]).code(LONG),
        lambda: tb.read_table(LONG + ".csv"),
        lambda: tb.read_network(LONG + ".bif"),
        lambda: tb.load(LONG + ".tb"),
        lambda: tb.example_network("asia").posterior(LONG),
        lambda: tb.example_network("asia").posterior("lung", {LONG: "yes"}),
        lambda: tb.example_network("asia").posterior("lung", {"smoke": LONG}),
        lambda: tb.DAG(["a", LONG], [("a", LONG), (LONG, "a")]),
        lambda: tb.learn_structure({LONG: ["a", "b"], "b": ["a", "b"]}, score=LONG),
    ],
)
def test_long_names_are_shortened(call: Callable[[], Any]) -> None:
    with pytest.raises(tb.DataError) as error:
        call()
    assert len(str(error.value)) < 700
    assert "…" in str(error.value)
    assert not re.search("x{150}", str(error.value))
