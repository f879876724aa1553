"""Holes as columns."""

from __future__ import annotations

import re

import pytest

import tunbridge as tb
from tunbridge.errors import DataError

FRAME = {"sky": ["clear", None, "grey"], "wind": [2.5, None, None], "n": [1, 2, 3]}


def test_every_column_with_holes_gets_one():
    table = tb.with_indicators(FRAME)
    assert table.names == ("sky", "wind", "n", "sky missing", "wind missing")
    assert table.to_arrow()["sky missing"].to_pylist() == ["no", "yes", "no"]
    assert table.to_arrow()["wind missing"].to_pylist() == ["no", "yes", "yes"]
    assert table.missing == {"sky": 1, "wind": 2}


def test_columns_may_be_named_and_weights_stay():
    table = tb.with_indicators(tb.as_table(FRAME, weights=[1.0, 2.0, 3.0]), ["n", "wind"])
    assert table.names[3:] == ("n missing", "wind missing")
    assert table.codes("n missing").tolist() == [0, 0, 0]
    assert table.variable("n missing").states == ("no", "yes")
    assert table.weights.tolist() == [1.0, 2.0, 3.0]


def test_a_table_without_holes_stays_as_it_is():
    assert tb.with_indicators({"n": [1, 2, 3]}).names == ("n",)


def test_markers_of_a_file_are_remembered(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nNA,1\nx,2\n")
    assert tb.with_indicators(tb.read_table(path)).read_as_missing == {"a": {"NA": 1}}


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (FRAME, "sky", "columns must be a list of names; got the text 'sky'. Write ['sky']."),
        (FRAME, 3, "columns must be a list of names; got 3."),
        (FRAME, ["Sky"], "the name must be that of a column of the table; got 'Sky'. Did you mean 'sky'?"),
        (
            {"a": ["x", None], "a missing": [1, 2]},
            None,
            "the table must not have the columns that are added; it has 'a missing'. Rename them.",
        ),
    ],
)
def test_messages(frame, columns, message):
    with pytest.raises(DataError, match=re.escape(message)):
        tb.with_indicators(frame, columns)
