from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from tunbridge.data.columns import Column
from tunbridge.data.formats.request import holds_text, marker_counts, nulled, text_column, texts_of_nan, without_markers
from tunbridge.data.variable import Variable


def column_of(texts: list[str], pieces: int = 3) -> pa.ChunkedArray:
    cuts = np.linspace(0, len(texts), pieces + 1).astype(int)
    return pa.chunked_array([pa.array(texts[a:b], pa.string()) for a, b in pairwise(cuts)])


def assert_holds(column: Column, texts: list[str]) -> None:
    assert column.variable.states == tuple(sorted(set(texts)))
    assert [column.variable.states[code] for code in column.values] == texts
    assert column.type == pa.string()


@pytest.mark.parametrize(
    "texts",
    [
        [""],
        ["a", "", "b", "a"],
        ["12345678", "1234567", "123456789", "12345678"],  # around the eight bytes of a word
        ["x" * 16, "x" * 15, "x" * 17, "y" * 16, "x" * 8 + "y" * 8],
        ["é", "e", "ü", "日本語の長い文字列", "日本語の長い文字"],
        ["no\x00", "no", "no\x00\x00"],  # told apart by their lengths
        [str(i) for i in range(1000)] * 2,
        [str(i) for i in range(5000)],  # more distinct texts than the table takes
        ["z" * 70_000, "a"],  # a longer text than the pool takes
    ],
)
def test_text_in_dictionaries_and_as_it_is(texts: list[str]) -> None:
    plain = column_of(texts)
    assert_holds(text_column("x", plain), texts)
    assert_holds(text_column("x", plain.dictionary_encode()), texts)


def test_a_slice_of_a_column() -> None:
    texts = ["a", "long enough to be more than a word", "b", "a", "long enough to be more than a wind"]
    whole = pa.chunked_array([pa.array(texts, pa.string())])
    assert_holds(text_column("x", whole.slice(1)), texts[1:])
    assert_holds(text_column("x", whole.dictionary_encode()), texts)


def test_the_sizes_of_codes() -> None:
    for n, expected in ((127, np.int8), (128, np.int16), (32768, np.int32)):
        assert text_column("x", column_of([str(i) for i in range(n)])).values.dtype == expected


def test_markers_become_missing_and_are_counted() -> None:
    column = text_column("x", column_of(["?", "b", "NA", "a", "?"]))
    slim, counts = without_markers(column, ("?", "NA", "null"))
    assert slim.variable.states == ("a", "b")
    assert slim.values.tolist() == [-1, 1, -1, 0, -1]
    assert counts == {"?": 2, "NA": 1} == marker_counts(column, ("?", "NA"))


def test_a_column_without_markers_stays_as_it_is() -> None:
    column = text_column("x", column_of(["b", "a"]))
    assert without_markers(column, ("?",)) == (column, {})
    continuous = Column(Variable("x"), np.array([1.5]), pa.float64())
    assert without_markers(continuous, ("?",)) == (continuous, {})


def test_a_declared_state_that_is_a_marker_goes_even_when_unused() -> None:
    column = Column(Variable("x", ["lo", "NA", "hi"], ordered=True), np.array([2, -1, 0], np.int8), pa.string())
    slim, counts = without_markers(column, ("NA",))
    assert slim.variable == Variable("x", ["lo", "hi"], ordered=True)
    assert slim.values.tolist() == [1, -1, 0]
    assert counts == {}


def test_texts_of_nan() -> None:
    column = text_column("x", column_of(["nan", "-NaN", " NAN ", "1", "nano"]))
    assert texts_of_nan(column) == [" NAN ", "-NaN", "nan"]


def test_nulled() -> None:
    values = pa.chunked_array([pa.array(["a", "?", None]).dictionary_encode()])
    assert nulled(values, ["?"]).to_pylist() == ["a", None, None]


def test_holds_text() -> None:
    assert holds_text(pa.string())
    assert holds_text(pa.dictionary(pa.int8(), pa.large_string()))
    assert not holds_text(pa.dictionary(pa.int8(), pa.int64()))
    assert not holds_text(pa.float64())
