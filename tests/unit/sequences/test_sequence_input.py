"""What the sequence classifier takes, and what it says to what it does not."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, MemoryForecastError, UnseenStateWarning
from tunbridge.sequences.reader import read_sequences

NAMES = ["anna", "hanna", "nina", "lea", "otto", "bruno", "hugo", "ivo"]
SEX = ["f"] * 4 + ["m"] * 4


def names(**parameters):
    return tb.SequenceClassifier(**parameters).fit(NAMES, SEX)


class TestInput:
    def test_makes(self):
        expected = names().predict_proba(NAMES)
        column = pa.array(NAMES)
        makes = [
            tuple(NAMES), np.array(NAMES), np.array(NAMES, object), pd.Series(NAMES), pd.Series(NAMES, dtype="string"),
            pd.Series(NAMES, dtype="category"), pl.Series(NAMES), column, pa.chunked_array([column[:3], column[3:]]),
            column.dictionary_encode(), pa.array(NAMES, pa.large_string()), pa.array(["no", *NAMES])[1:],
            [list(n) for n in NAMES], pa.array([list(n) for n in NAMES]), iter(NAMES),
            pd.Series([np.array(list(n)) for n in NAMES]), pl.Series([list(n) for n in NAMES]),
        ]  # fmt: skip
        for X in makes:
            clf = tb.SequenceClassifier().fit(X, SEX)
            np.testing.assert_array_equal(clf.predict_proba(NAMES), expected)

    def test_frames(self):
        frame = {"id": list(range(8)), "name": NAMES, "sex": SEX}
        expected = names().predict_proba(NAMES)
        for X in (frame, pd.DataFrame(frame), pl.DataFrame(frame), pa.table(frame), tb.as_table(frame)):
            clf = tb.SequenceClassifier(column="name").fit(X, "sex")
            np.testing.assert_array_equal(clf.predict_proba(X), expected)
            np.testing.assert_array_equal(clf.predict_proba({"name": NAMES}), expected)
            np.testing.assert_array_equal(clf.predict_proba(NAMES), expected)
            assert clf.score(X, "sex") == clf.score(NAMES, SEX) == 1.0
        assert clf.statistics_.target.name == "sex"
        assert clf.statistics_.column == "name"

    def test_a_row_of_a_frame(self):
        frame = pd.DataFrame({"name": NAMES, "sex": SEX, "age": range(8)})
        clf = tb.SequenceClassifier(column="name").fit(frame, "sex")
        assert clf.explain(frame.iloc[0]).sequence == tuple("anna")
        assert len(clf.explain(frame[:1])) == 1
        by_name = pd.Series(NAMES, index=[f"row {i}" for i in range(8)])
        assert clf.predict(by_name).tolist() == SEX

    def test_a_column_of_an_array(self):
        column = np.array(NAMES, object)[:, None]
        np.testing.assert_array_equal(tb.SequenceClassifier().fit(column, SEX).predict(column), SEX)

    def test_capitals_are_hinted_at(self):
        with pytest.warns(UnseenStateWarning, match="'A', 'N'. ignore_case=True treats upper"):
            names().predict(["ANNA"])

    def test_the_only_column(self):
        frame = pd.DataFrame({"name": NAMES, "sex": SEX})
        assert tb.SequenceClassifier().fit(frame, "sex").predict(frame).tolist() == SEX
        assert tb.SequenceClassifier().fit(frame[["name"]], SEX).predict(frame).tolist() == SEX

    def test_whole_numbers(self):
        X = [[3, 1, 1], [1, 1], [2, 7, 7], [7, 2]]
        clf = tb.SequenceClassifier().fit(X, ["x", "x", "y", "y"])
        assert clf.alphabet_ == (1, 2, 3, 7)
        same = [np.array(x, np.int16) for x in X]
        np.testing.assert_array_equal(clf.predict_proba(same), clf.predict_proba(X))
        floats = tb.SequenceClassifier().fit([[3.0, 1.0, np.nan, 1.0], [2.0]], ["x", "y"])
        assert floats.alphabet_ == (1, 2, 3)
        square = tb.SequenceClassifier().fit(np.array([[1, 2], [2, 1]]), ["x", "y"])
        assert square.predict(np.array([[1, 2]])).tolist() == ["x"]

    def test_words(self):
        X = [["open", "read"], ["open", "read", "close"], ["fail", "fail"]]
        clf = tb.SequenceClassifier().fit(X, ["good", "good", "bad"])
        assert clf.alphabet_ == ("close", "fail", "open", "read")
        assert clf.predict([["open"], ["fail", "fail", "fail"]]).tolist() == ["good", "bad"]

    def test_letters_beyond_ascii(self):
        clf = tb.SequenceClassifier().fit(["añb", "日本", "a"], ["x", "y", "x"])
        assert clf.alphabet_ == ("a", "b", "ñ", "日", "本")
        assert clf.predict(["日", "ñ"]).tolist() == ["y", "x"]
        listed = tb.SequenceClassifier().fit([list("añb"), list("日本"), list("a")], ["x", "y", "x"])
        np.testing.assert_array_equal(listed.predict_proba(["日", "ñ"]), clf.predict_proba(["日", "ñ"]))

    def test_a_large_alphabet(self):
        rng = np.random.default_rng(0)
        X = [rng.integers(0, 1000, 20).tolist() for _ in range(40)]
        y = ["low" if np.mean(x) < 500 else "high" for x in X]
        for order in (0, 1, 3):
            clf = tb.SequenceClassifier(order=order).fit(X, y)
            assert clf.score(X, y) == 1.0

    def test_nothing_known_gets_the_prior(self):
        for parameters in ({}, {"ends": False}, {"order": 3}):
            clf = names(class_prior={"f": 0.9, "m": 0.1}, **parameters)
            empty = clf.predict_proba(["", None, float("nan")] if parameters else ["", None])
            np.testing.assert_allclose(empty, [[0.9, 0.1]] * len(empty), rtol=1e-12)
            with pytest.warns(UnseenStateWarning, match="count as missing: 'X', 'Y'"):
                np.testing.assert_allclose(clf.predict_proba(["XYX"]), [[0.9, 0.1]], rtol=1e-12)

    def test_nothing_at_all(self):
        for model in ("markov", "position"):
            clf = tb.SequenceClassifier(model, 1).fit(["", "", None], ["x", "x", "y"])
            assert clf.alphabet_ == ()
            with pytest.warns(UnseenStateWarning):
                np.testing.assert_allclose(clf.predict_proba(["ab", ""]), [[2 / 3, 1 / 3]] * 2, rtol=1e-12)

    def test_unknown_symbols_are_passed_over(self):
        clf = tb.SequenceClassifier(order=2, ends=False, smoothing=1).fit(["abab", "bbab"], ["x", "y"])
        with pytest.warns(UnseenStateWarning, match=r"count as missing: '\?'"):
            found = clf.predict_joint_log_proba(["ab?ab"])
        twice = clf.predict_joint_log_proba(["ab"]) * 2 - clf.class_log_prior_
        np.testing.assert_allclose(found, twice, rtol=1e-12)

    def test_gaps_are_unknown_without_a_word(self):
        X, y = ["aNb", "ab-", "bb", "bNb"], ["x", "x", "y", "y"]
        clf = tb.SequenceClassifier(gaps="N-").fit(X, y)
        assert clf.alphabet_ == ("a", "b")
        same = tb.SequenceClassifier().fit([[s if s in "ab" else None for s in x] for x in X], y)
        np.testing.assert_array_equal(clf.predict_proba(["aN", "-"]), same.predict_proba([["a", None], [None]]))

    def test_an_alphabet(self):
        with pytest.warns(UnseenStateWarning, match="not in the alphabet count as missing: 'n'. If they are gaps"):
            clf = tb.SequenceClassifier(alphabet="acgt").fit(["acgn", "tt"], ["x", "y"])
        assert clf.alphabet_ == ("a", "c", "g", "t")
        wide = tb.SequenceClassifier(order=0, smoothing=1, ends=False, alphabet="abcd").fit(["a", "b"], ["x", "y"])
        np.testing.assert_allclose(np.exp(wide.predict_joint_log_proba(["c"])), 0.5 * 0.25 / 2, rtol=1e-12)

    def test_capitals(self):
        clf = tb.SequenceClassifier(ignore_case=True, gaps="n").fit(["ACGTN", "acga", "TTTT"], ["x", "x", "y"])
        assert clf.alphabet_ == ("a", "c", "g", "t")
        np.testing.assert_array_equal(clf.predict_proba(["AcGt"]), clf.predict_proba(["acgt"]))

    def test_rows_without_weight_are_not_there(self):
        with_ = tb.SequenceClassifier().fit([*NAMES, "xyz"], [*SEX, "f"], sample_weight=[1] * 8 + [0])
        assert with_.alphabet_ == names().alphabet_
        np.testing.assert_array_equal(with_.predict_proba(NAMES), names().predict_proba(NAMES))

    def test_one_class(self):
        clf = tb.SequenceClassifier(order="cv").fit(["ab", "ba"], ["x", "x"])
        assert clf.predict(["a", ""]).tolist() == ["x", "x"]
        with pytest.raises(DataError, match="must compare two classes"):
            clf.explain("ab")

    def test_inputs_are_left_alone(self):
        X, y = np.array(NAMES, object), np.array(SEX)
        before = X.copy(), y.copy()
        tb.SequenceClassifier(order="cv").fit(X, y).predict(X)
        assert (before[0] == X).all()
        assert (y == before[1]).all()

    def test_categories(self):
        for X in (pl.Series(NAMES, dtype=pl.Categorical), pl.Series(NAMES, dtype=pl.Enum(NAMES))):
            assert tb.SequenceClassifier().fit(X, SEX).predict(NAMES).tolist() == SEX
        lists = pl.Series([["a", "b"], ["b"]], dtype=pl.List(pl.Categorical))
        assert tb.SequenceClassifier().fit(lists, ["x", "y"]).alphabet_ == ("a", "b")

    def test_lists_of_arrow(self):
        pairs = pa.array([[9, 9], [1, 2], [2, 1]], pa.list_(pa.int64(), 2))
        for X in (pairs[1:], pa.array([[9, 9], [1, 2], [2, 1]])[1:], pa.array([[1.0, 2.0, np.nan], [2.0, None]])):
            assert tb.SequenceClassifier().fit(X, ["x", "y"]).alphabet_ == (1, 2)
        assert tb.SequenceClassifier().fit(pa.array([[], [None]]), ["x", "y"]).alphabet_ == ()

    def test_masked_cells_are_unknown(self):
        X = np.ma.array([[1, 2], [3, 1]], mask=[[False, True], [False, False]])
        assert read_sequences(X).symbols(0) == [1, None]
        assert tb.SequenceClassifier().fit(X, ["x", "y"]).alphabet_ == (1, 3)

    def test_the_only_column_of_lists(self):
        frame = {"id": [1, 2], "events": [["open", "read"], ["fail"]]}
        for X in (frame, pd.DataFrame(frame), pl.DataFrame(frame), pa.table(frame)):
            assert tb.SequenceClassifier().fit(X, ["x", "y"]).statistics_.column == "events"

    @pytest.mark.parametrize("name", ["names", "columns", "column_names", "sequence"])
    def test_the_column_that_was_learned_is_read(self, name):
        frame = pd.DataFrame({name: NAMES, "sex": SEX})
        clf = tb.SequenceClassifier().fit(frame, "sex")
        assert clf.predict(frame.assign(town="x")).tolist() == SEX
        assert clf.partial_fit(frame.assign(town="x"), "sex").predict(frame).tolist() == SEX
        assert clf.predict(frame.rename(columns={name: "other"})).tolist() == SEX

    def test_one_sequence(self):
        clf, frame = names(), {"id": list(range(8)), "name": NAMES, "sex": SEX}
        assert clf.predict("anna").tolist() == ["f"]
        by_column = tb.SequenceClassifier(column="name").fit(frame, "sex")
        assert by_column.predict_proba({"name": "anna", "id": 3}).shape == (1, 2)
        assert len(by_column.explain(frame)) == 8
        assert len(clf.explain({"id": list(range(8)), "name": NAMES})) == 8
        assert clf.explain({"name": "anna", "age": 30}).sequence == tuple("anna")
        learned = tb.SequenceClassifier().fit(pd.DataFrame({"name": NAMES, "sex": SEX}), "sex")
        assert learned.explain(pd.DataFrame(frame).iloc[0]).sequence == tuple("anna")
        assert learned.explain(pd.Series({"name": None, "age": 30})).sequence == ()
        calibrated = tb.CalibratedClassifier(tb.SequenceClassifier(), folds=2).fit(NAMES, SEX)
        assert calibrated.explain("anna").sequence == tuple("anna")


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"model": "markow"}, "model must be one of 'markov', 'position'; got 'markow'. Did you mean 'markov'?"),
            ({"order": -1}, "order (a number of symbols, 'cv' or 'bic') must be at least 0; got -1."),
            ({"order": 1.5}, "order (a number of symbols, 'cv' or 'bic') must be an integer; got 1.5."),
            ({"order": "aic"}, "order must be one of 'cv', 'bic'; got 'aic'."),
            ({"order": "cv", "max_order": -2}, "max_order must be at least 0; got -2."),
            ({"smoothing": -1}, "smoothing (a number of symbols, or 'auto') must be at least 0; got -1."),
            ({"smoothing": "laplace"}, "smoothing (a number of symbols, or 'auto') must be a number; got 'laplace'."),
            ({"ends": 1}, "ends must be True or False; got 1."),
            ({"column": 3}, "column must be the name of a column, or None; got 3."),
            ({"alphabet": ""}, "alphabet must have symbols; got none."),
            ({"alphabet": 4}, "alphabet must be a text or a list of symbols, or None; got 4."),
            ({"gaps": [None]}, "gaps must name symbols; got a missing value among them."),
            ({"ignore_case": "yes"}, "ignore_case must be True or False; got 'yes'."),
            ({"alphabet": ["a", 1]}, "symbols must be all text or all integers; got 'a' and 1."),
            ({"alphabet": iter("ab")}, "alphabet must be a text or a list of symbols, or None; got <str"),
            ({"order": 60}, "order must be low enough for contexts to be numbered; got 60"),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(DataError, match=re.escape(message)):
            names(**parameters)

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            ("acgt", "X must be a list of sequences, each a text or a list of symbols; got one text."),
            ([b"ac", b"gt"], "row 1 holds bytes. Decode them"),
            (
                [1, 2],
                "X must be a list of sequences, each a text or a list of symbols; row 1 is 1. Read it as text, or",
            ),
            ([["a"], [1]], "symbols must be all text or all integers; got 'a' and 1."),
            ([[0.5], [1]], "symbols must be text or integers; got 0.5. Discretize numbers first."),
            ([[["a"]], ["b"]], "symbols must be text or integers; got ['a']"),
            ([[True], [False]], "symbols must be text or integers; got True."),
            (pa.array([1, 2]), "got a column of int64. Read it as text, or put the symbols of each"),
            (["ab"] * 150 + [b"ab"], "row 151 holds bytes. Decode them"),
            (pa.array([[["a"]], [["b"]]]), "symbols must be text or integers; got a column of large_list<"),
            (pa.array([["a"], ["b"]], pa.list_view(pa.string())), "got a column of list_view<"),
            (pa.array([1, 2]).dictionary_encode(), "got a column of int64. Read it as text"),
            (pa.array([b"a", b"b"]), "got a column of binary. Decode the bytes into text first."),
            (5, "X must be a list of sequences, each a text or a list of symbols; got 5."),
            (
                {"a": ["x", "y"], "n": [1, 2], "b": ["x", "y"]},
                "column must say which column holds the sequences; got None, and 'a', 'b' hold text or lists. Name one",
            ),
            ({"a": [1, 2], "b": iter([1, 2])}, "got None, and none of 'a', 'b' holds text or lists. Name one of them."),
        ],
    )
    def test_data(self, X, message):
        with pytest.raises(DataError, match=re.escape(message)):
            tb.SequenceClassifier().fit(X, ["x", "y"])

    def test_no_sequences(self):
        with pytest.raises(DataError, match="must have at least one sequence"):
            tb.SequenceClassifier().fit([], [])

    def test_classes(self):
        with pytest.raises(DataError, match="y must have a class for each row; got 1 class for 8 rows"):
            tb.SequenceClassifier().fit(NAMES, ["f"])
        with pytest.raises(DataError, match="y must be the classes"):
            tb.SequenceClassifier().fit(NAMES)
        with pytest.raises(DataError, match=r"column must name a column of the data; got 'nam'\. Did you mean 'name'"):
            tb.SequenceClassifier(column="nam").fit({"name": NAMES, "sex": SEX}, "sex")

    def test_lengths(self):
        with pytest.raises(
            DataError, match=r"one length; row 3 has 3 symbols, not 2\. Align them, or use model='markov'"
        ):
            tb.SequenceClassifier("position").fit(["ab", "ba", "abc"], ["x", "y", "x"])
        clf = tb.SequenceClassifier("position").fit(["ab", "ba", ""], ["x", "y", "x"])
        with pytest.raises(DataError, match="row 2 has 1 symbol, not 2"):
            clf.predict(["ab", "a"])
        with pytest.raises(DataError, match="row 1 has 3 symbols, not 2"):
            clf.partial_fit(["abb"], ["x"])
        np.testing.assert_allclose(clf.predict_proba([""]), [[2 / 3, 1 / 3]], rtol=1e-12)

    def test_an_explanation_needs_two_classes(self):
        with pytest.raises(DataError, match="two different classes"):
            names().explain("anna", "f", "f")

    def test_no_features(self):
        with pytest.raises(DataError, match="what-if must have features"):
            names().what_if("anna")
        with pytest.raises(DataError, match="importance must have features"):
            names().importance()

    def test_a_failed_fit_changes_nothing(self):
        clf = names()
        with pytest.raises(DataError):
            clf.fit([["a"], [1]], ["x", "y"])
        assert clf.classes_.tolist() == ["f", "m"]

    def test_memory(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
        with pytest.raises(MemoryForecastError, match="Lower the order"):
            tb.SequenceClassifier(order=3).fit(NAMES, SEX)
