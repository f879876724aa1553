from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.evaluation.labelled import labelled


def frame():
    return pd.DataFrame({"x": [1.5, 2.5, None, 4.5], "s": ["a", None, "b", "a"], "y": ["no", "yes", None, "no"]})


def test_rows_without_a_class_are_left_out_of_table_and_source():
    rows = labelled(frame(), "y")
    assert (rows.n_rows, rows.left_out, rows.classes) == (3, 1, ("no", "yes"))
    assert rows.labels.tolist() == ["no", "yes", "no"]
    assert list(rows.source.columns) == ["x", "s"]
    assert rows.source["x"].tolist() == [1.5, 2.5, 4.5]
    part = rows.take(np.array([False, False, True]))
    assert part.classes == ("no", "yes")
    assert part.source["x"].tolist() == [4.5]
    assert part.codes.tolist() == [0]


def test_classes_may_be_given_beside_the_rows():
    X = np.arange(12.0).reshape(6, 2)
    rows = labelled(X, np.array([0, 1, 2, 0, 1, 2]))
    assert not rows.is_named
    assert rows.target == "class"
    assert rows.classes == (0, 1, 2)
    assert rows.features.names == ("x0", "x1")
    assert rows.source is X
    named = labelled(frame()[["x", "s"]], frame()["y"])
    assert (named.target, named.left_out) == ("y", 1)
    clash = labelled({"class": ["a", "b", "a"]}, ["u", "v", "u"])
    assert clash.target == "class_"


def test_weights_are_a_column_or_numbers():
    data = frame().assign(w=[1.0, 2.0, 3.0, 4.0])
    rows = labelled(data, "y", weights="w")
    assert rows.weights.tolist() == [1.0, 2.0, 4.0]
    assert list(rows.source.columns) == ["x", "s"]
    assert rows.features.names == ("x", "s")
    assert labelled(frame(), "y", weights=[1, 2, 3, 4]).weights.tolist() == [1.0, 2.0, 4.0]
    assert labelled(frame(), "y").weights.tolist() == [1.0, 1.0, 1.0]


def test_classes_and_weights_may_both_be_arrays():
    rows = labelled(frame()[["x", "s"]], frame()["y"].to_numpy(), weights=np.array([1.0, 0.0, 3.0, 4.0]))
    assert rows.weights.tolist() == [1.0, 0.0, 4.0]
    assert list(rows.source.columns) == ["x", "s"]
    named = labelled(frame().assign(w=2.0), frame()["y"].tolist(), weights="w")
    assert list(named.source.columns) == ["x", "s", "y"]


def test_unused_categories_are_no_classes():
    data = frame().assign(y=pd.Categorical(["b", "a", "b", "a"], categories=["c", "b", "a"]))
    rows = labelled(data, "y")
    assert rows.classes == ("a", "b")
    assert rows.labels.tolist() == ["b", "a", "b", "a"]


def test_tables_of_any_make_can_be_given_to_scikit_learn():
    rows = labelled(tb.as_table(frame()), "y")
    assert rows.source is None
    assert list(rows.as_they_came().columns) == ["x", "s"]


BAD = {
    "no such column": ("z", "target must name a column of the data; got 'z'. Known: 'x', 's', 'y'"),
    "near miss": ("Y", "Did you mean 'y'"),
    "too few": (["a", "b"], "target must have a class for each row; got 2 for 4 rows"),
    "a table": ([["a", "b"]] * 4, "target must be the name of a column, or one class for each row"),
    "quantity": ("x", "holds numbers that are not integers"),
    "one class": (["a"] * 4, "at least two classes"),
    "all missing": ([None] * 4, "every cell of column 'class' is missing"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_targets(case):
    target, message = BAD[case]
    with pytest.raises(DataError, match=message):
        labelled(frame(), target)


def test_a_quantity_gets_a_hint():
    with pytest.raises(
        DataError, match=r"or make each value a class: tb.as_table\(table, kinds={'x': 'categorical'}\)"
    ):
        labelled(frame(), "x")


def test_there_must_be_a_feature():
    with pytest.raises(DataError, match="there must be a column to learn from beside the target 'y'"):
        labelled(frame()[["y"]], "y")


def test_groups_and_numbers_go_with_their_rows():
    rows = labelled({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", None, "b", "a"]}, "y", groups=["p", "q", "q", "r"])
    some = rows.take(np.array([True, False, True]))
    assert (some.numbers.tolist(), some.groups.tolist(), some.times) == ([0, 3], [0, 2], None)
