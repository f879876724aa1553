"""Documents come in many shapes, and all shapes give the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunbridge as tb
from tunbridge.text.reader import as_texts

TEXTS = ["cheap pills now", "Cheap watches, naïve", "", None, "meeting at noon 😀", "lunch at noon"]
CLASSES = ["spam", "spam", "spam", "ham", "ham", "ham"]
FULL = [text or "" for text in TEXTS]
RULE = "X must be documents: a list of texts, a column of them, or a frame with such a column; got "


def in_chunks(values, kind):
    return pa.chunked_array([pa.array(values[:2], kind), pa.array([], kind), pa.array(values[2:], kind)])


def damaged(data: bytes):
    parts = [None, pa.py_buffer(np.array([0, len(data)]).tobytes()), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), 1, parts)


SHAPES = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "NumPy objects": np.array(TEXTS, object),
    "NumPy text": np.array(FULL),
    "NumPy strided": np.array([w for t in FULL for w in (t, "other")], object)[::2],
    "pandas objects": pd.Series(TEXTS, dtype=object),
    "pandas with another index": pd.Series(TEXTS, index=list("fedcba"), dtype=object),
    "pandas string": pd.Series(TEXTS, dtype="string"),
    "pandas Arrow string": pd.Series(TEXTS, dtype="string[pyarrow]"),
    "pandas Arrow large string": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas in chunks": pd.concat([pd.Series(TEXTS[:2], dtype=pd.ArrowDtype(pa.string())),
                                   pd.Series(TEXTS[2:], dtype=pd.ArrowDtype(pa.string()))]),
    "pandas categories": pd.Series(TEXTS, dtype="category"),
    "polars": pl.Series(TEXTS),
    "polars categories": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars in chunks": pl.concat([pl.Series(TEXTS[:2]), pl.Series(TEXTS[2:])], rechunk=False),
    "Arrow string": pa.array(TEXTS, pa.string()),
    "Arrow large string": pa.array(TEXTS, pa.large_string()),
    "Arrow string view": pa.array(TEXTS, pa.string_view()),
    "Arrow dictionary": pa.array(TEXTS).dictionary_encode(),
    "Arrow dictionary of views": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, None, 3, 4]), pa.array([t for t in TEXTS if t is not None], pa.string_view())),
    "Arrow slice": pa.array(["é", None, *TEXTS, "ü"], pa.string()).slice(2, 6),
    "Arrow large slice": pa.array(["é", None, *TEXTS, "ü"], pa.large_string()).slice(2, 6),
    "Arrow view slice": pa.array(["é" * 20, *TEXTS, "ü"], pa.string_view()).slice(1, 6),
    "Arrow dictionary slice": pa.array(["é", *TEXTS, "ü"]).dictionary_encode().slice(1, 6),
    "Arrow chunks": in_chunks(TEXTS, pa.string()),
    "Arrow chunks of dictionaries": in_chunks(TEXTS, pa.string()).dictionary_encode(),
    "missing as NaN": [float("nan") if t is None else t for t in TEXTS],
    "missing as NA": [pd.NA if t is None else t for t in TEXTS],
    "NumPy str": [None if t is None else np.str_(t) for t in TEXTS],
}  # fmt: skip


@pytest.fixture(scope="module")
def expected():
    return tb.TextClassifier().fit(TEXTS, CLASSES).predict_proba(FULL)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same(shape, expected):
    X = SHAPES[shape]
    np.testing.assert_array_equal(tb.TextClassifier().fit(X, CLASSES).predict_proba(X), expected)
    assert [text or "" for text in as_texts(X).to_pylist()] == FULL


def test_the_expected_answers_tell_classes_apart(expected):
    assert (expected[:2].argmax(axis=1) == 1).all()
    assert (expected[4:].argmax(axis=1) == 0).all()
    np.testing.assert_allclose(expected[2:4], 0.5, rtol=1e-12)


FRAMES = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "pandas Arrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "polars categories": lambda c: pl.DataFrame(c).with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "Arrow": pa.table,
    "Arrow batch": lambda c: pa.table(c).to_batches()[0],
    "Arrow view": lambda c: pa.table({**c, "text": pa.array(c["text"], pa.string_view())}),
    "records": lambda c: pd.DataFrame(c).to_dict("records"),
    "Table": tb.as_table,
}


@pytest.mark.parametrize("frame", FRAMES)
class TestFrames:
    def test_with_the_name_of_the_target(self, frame, expected):
        X = FRAMES[frame]({"text": TEXTS, "kind": CLASSES})
        clf = tb.TextClassifier().fit(X, "kind")
        np.testing.assert_array_equal(clf.predict_proba(X), expected)
        np.testing.assert_array_equal(clf.predict_proba(TEXTS), expected)
        assert (clf.target_name_, clf.statistics_.column) == ("kind", "text")
        assert clf.score(X) == clf.score(X, "kind") == clf.score(TEXTS, CLASSES) == 5 / 6

    def test_beside_columns_of_numbers(self, frame, expected):
        X = FRAMES[frame]({"n": [1, 2, 3, 4, 5, 6], "text": TEXTS, "x": [0.5] * 6})
        np.testing.assert_array_equal(tb.TextClassifier().fit(X, CLASSES).predict_proba(X), expected)

    def test_the_column_that_was_learned_is_read(self, frame, expected):
        X = FRAMES[frame]({"subject": ["a b"] * 6, "text": TEXTS, "kind": CLASSES})
        clf = tb.TextClassifier(column="text").fit(X, "kind")
        np.testing.assert_array_equal(clf.predict_proba(X), expected)
        assert clf.score(X) == 5 / 6
        alone = tb.TextClassifier().fit({"text": TEXTS}, CLASSES)
        np.testing.assert_array_equal(alone.predict_proba(X), expected)

    def test_several_columns_of_text_ask_for_a_name(self, frame):
        X = FRAMES[frame]({"n": [1] * 6, "text": TEXTS, "subject": ["a b"] * 6, "kind": CLASSES})
        with pytest.raises(tb.DataError) as error:
            tb.TextClassifier().fit(X, "kind")
        message = "column must say which column holds the documents; got None, and 'text', 'subject' hold text. "
        assert str(error.value) == f"{message}Name one of them."
        with pytest.raises(tb.DataError, match=r"column must name a column of the data; got 'subjekt'.*'subject'\?$"):
            tb.TextClassifier(column="subjekt").fit(X, "kind")


def test_a_column_is_text_although_its_first_cells_are_missing():
    X = {"n": [1.0, 2.0, 3.0], "text": [None, float("nan"), "spam egg"]}
    assert tb.TextClassifier().fit(X, list("aba")).statistics_.column == "text"


def test_a_column_may_be_called_like_the_target():
    X = {"class": TEXTS, "n": [1] * 6}
    clf = tb.TextClassifier(column="class").fit(X, pd.Series(CLASSES, name="class"))
    assert clf.predict(X).tolist()[:2] == ["spam", "spam"]


def test_one_text_is_a_document_at_prediction():
    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    assert clf.predict("cheap!").tolist() == ["spam"]
    assert clf.predict_proba("cheap!").shape == (1, 2)


def test_no_document_gets_no_answer():
    clf = tb.TextClassifier().fit(TEXTS, CLASSES)
    assert clf.predict([]).shape == (0,)
    for none in ([], pa.array([], pa.string()), pa.chunked_array([], pa.string()), np.array([], object)):
        assert clf.predict_proba(none).shape == (0, 2)


def test_lone_surrogates_are_question_marks():
    found = as_texts(["a\ud800b", None, "\udfff"])
    assert found.to_pylist() == ["a?b", None, "?"]
    clf = tb.TextClassifier().fit([*TEXTS, "half\udc00way"], [*CLASSES, "ham"])
    assert "half" in clf.statistics_.vocabulary.names()


@pytest.mark.parametrize(
    ("X", "told"),
    [
        ("spam", "one text. Put it into a list: ['spam']."),
        (b"spam", "one text. Put it into a list: [b'spam']."),
        ("spam " * 20, "one text. Put it into a list: ['spam spam spam spa…]."),
        ([b"spam", "egg"], "b'spam' as document 1. Decode it into text first."),
        (["egg", bytearray(b"spam")], "bytearray(b'spam') as document 2. Decode it into text first."),
        (np.array(["egg", "spam"], "S"), "np.bytes_(b'egg') as document 1. Decode it into text first."),
        ([1, 2], "1 as document 1. Turn it into text first."),
        (["egg", 2.5], "2.5 as document 2. Turn it into text first."),
        (["a\ud800", 3], "3 as document 2. Turn it into text first."),
        (["egg", ["spam"]], "['spam'] as document 2. Turn it into text first."),
        (np.arange(2), "np.int64(0) as document 1. Turn it into text first."),
        (pd.Series([1, 2]), "1 as document 1. Turn it into text first."),
        (pd.Series([1, 2], dtype="Int64"), "a column of int64. Turn it into text first."),
        (pl.Series([1.0, 2.0]), "a column of double. Turn it into text first."),
        (pa.array([1, 2]), "a column of int64. Turn it into text first."),
        (pa.array([b"spam", b"egg"]), "a column of binary. Decode the bytes into text first."),
        (pa.array([b"s", b"e"]).dictionary_encode(), "a column of binary. Decode the bytes into text first."),
        (np.array([["spam", "egg"]]), "an array of shape (1, 2). Pass one column of it."),
        ({"spam"}, "{'spam'}."),
        (5, "5."),
        (None, "None."),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, str) else value[:20],
)  # fmt: skip
def test_what_is_no_text_is_refused(X, told):
    with pytest.raises(tb.DataError) as error:
        tb.TextClassifier().fit(X, ["a", "b"])
    assert str(error.value) == RULE + told


def test_the_name_of_a_folder_is_a_path(tmp_path):
    with pytest.raises(tb.DataError, match=r"got one text, the name of a folder. Use pathlib.Path\(.*\) to read"):
        tb.TextClassifier().fit(str(tmp_path))


@pytest.mark.parametrize("data", [b"a\xff", b"\xc3", b"\xf8\x88\x80\x80\x80", b"\xed\xa0\x80", b"\x80abc"])
@pytest.mark.parametrize("lower_case", [True, False])
def test_damaged_columns_are_refused_before_anything_is_read(data, lower_case):
    with pytest.raises(tb.DataError, match=r"must be text in UTF-8; got a column that is damaged \(.*UTF8"):
        tb.TextClassifier(lower_case=lower_case).fit(damaged(data), ["a"])


def test_documents_that_end_where_there_is_nothing_are_refused():
    offsets = pa.py_buffer(np.array([0, 900, 4]).tobytes())
    wrong = pa.Array.from_buffers(pa.large_string(), 2, [None, offsets, pa.py_buffer(b"spam")])
    with pytest.raises(tb.DataError, match="got a column that is damaged"):
        tb.TextClassifier().fit(wrong, ["a", "b"])


@pytest.mark.parametrize(
    ("y", "told"),
    [
        (None, "y must be the classes, one for each of the documents, unless X is a frame; got None."),
        ("kind", "y must be the classes, one for each of the documents, unless X is a frame; got 'kind'."),
        (CLASSES[:4], "y must have a class for each row; got 4 classes for 6 rows."),
    ],
)
def test_classes_must_fit(y, told):
    with pytest.raises(tb.DataError) as error:
        tb.TextClassifier().fit(TEXTS, y)
    assert str(error.value) == told


def test_a_target_that_is_not_there_is_named():
    with pytest.raises(tb.DataError, match=r"the target must be a column of the data; got 'kindd'. Did you mean"):
        tb.TextClassifier().fit({"text": TEXTS, "kind": CLASSES}, "kindd")
    with pytest.raises(tb.DataError, match="requires y to be passed"):
        tb.TextClassifier().fit({"text": TEXTS})
    with pytest.raises(tb.DataError, match="every row must have a class; 1 of 6 have none, row 2 first"):
        tb.TextClassifier().fit(TEXTS, ["a", None, "b", "b", "a", "a"])
