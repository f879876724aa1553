"""The sequence classifier: worked results, what it takes, what it says to bad input, files, wrappers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict, cross_val_score

import tunbridge as tb
from tunbridge.errors import DataError, FormatError, MemoryForecastError, UnseenStateWarning, ZeroProbabilityWarning

NAMES = ["anna", "hanna", "nina", "lea", "otto", "bruno", "hugo", "ivo"]
SEX = ["f"] * 4 + ["m"] * 4


def names(**parameters):
    return tb.SequenceClassifier(**parameters).fit(NAMES, SEX)


class TestWorkedResults:
    def test_bag_of_letters(self):
        clf = tb.SequenceClassifier(order=0, smoothing=2, ends=False).fit(["aab", "b"], ["x", "y"])
        # x: a 2 of 3, b 1 of 3; y: b 1 of 1; one imagined letter of each kind
        x, y = 3 / 5 * 2 / 5, 1 / 3 * 2 / 3
        np.testing.assert_allclose(clf.predict_proba(["ab"])[0], [x / (x + y), y / (x + y)], rtol=1e-12)

    def test_first_order_with_ends(self):
        clf = tb.SequenceClassifier(smoothing=1).fit(["ab", "b"], ["x", "y"])
        third = 1 / 3
        bag = {"a": (1 + third) / 4, "b": (1 + third) / 4, "$": (1 + third) / 4}
        first, then, end = (1 + bag["a"]) / 2, (1 + bag["b"]) / 2, (1 + bag["$"]) / 2
        joint = np.log(0.5 * first * then * end)
        np.testing.assert_allclose(clf.predict_joint_log_proba(["ab"])[0, 0], joint, rtol=1e-12)

    def test_places(self):
        clf = tb.SequenceClassifier("position", 0, smoothing=1).fit(["ab", "aa", "bb"], ["x", "x", "y"])
        bag = (3 + 0.5) / 5  # of a in x
        x = 2 / 3 * (2 + bag) / 3 * (1 + bag) / 3
        np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(["aa"]))[0, 0], x, rtol=1e-12)

    def test_places_are_naive_bayes_with_its_smoothing(self):
        """Without any imagined letters, both are frequencies."""
        rows = ["ab", "aa", "ba", "bb"] * 3 + ["ab"]
        y = ["x", "x", "x", "x", "y", "y", "y", "y", "x", "y", "x", "y", "x"]
        columns = {"1": [r[0] for r in rows], "2": [r[1] for r in rows]}
        nb = tb.NaiveBayesClassifier(smoothing=0).fit(columns, y)
        clf = tb.SequenceClassifier("position", 0, smoothing=0).fit(rows, y)
        np.testing.assert_allclose(clf.predict_proba(rows), nb.predict_proba(columns), rtol=1e-12)

    def test_without_smoothing_the_impossible_gets_the_prior(self):
        clf = tb.SequenceClassifier(order=1, smoothing=0, ends=False).fit(["ab", "ab", "c"], ["x", "x", "y"])
        with pytest.warns(ZeroProbabilityWarning, match="probability zero under every class"):
            found = clf.predict_proba(["bc"])
        np.testing.assert_allclose(found, [[2 / 3, 1 / 3]], rtol=1e-12)

    def test_lengths_speak_with_ends_only(self):
        X, y = ["a", "a", "aaaaaaaa", "aaaaaaaa"], ["short", "short", "long", "long"]
        assert tb.SequenceClassifier(order=0).fit(X, y).predict(["a", "aaaaaaaaa"]).tolist() == ["short", "long"]
        found = tb.SequenceClassifier(order=0, ends=False).fit(X, y).predict_proba(["a", "aaaaaaaaa"])
        np.testing.assert_allclose(found, 0.5, rtol=1e-12)


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
        with pytest.warns(UnseenStateWarning, match="'A', 'N'. ignore_case=True puts capitals"):
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
        with pytest.warns(UnseenStateWarning, match="not in the alphabet count as missing: 'n'. Call them gaps"):
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


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"model": "markow"}, "model must be one of 'markov', 'position'; got 'markow'. Did you mean 'markov'?"),
            ({"order": -1}, "order (a number of symbols, 'cv' or 'bic') must be at least 0; got -1."),
            ({"order": 1.5}, "order (a number of symbols, 'cv' or 'bic') must be a whole number; got 1.5."),
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
            ({"alphabet": ["a", 1]}, "symbols must be all text or all whole numbers; got 'a' and 1."),
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
            ([["a"], [1]], "symbols must be all text or all whole numbers; got 'a' and 1."),
            ([[0.5], [1]], "symbols must be text or whole numbers; got 0.5. Cut numbers into intervals first."),
            ([[["a"]], ["b"]], "symbols must be text or whole numbers; got ['a']"),
            ([[True], [False]], "symbols must be text or whole numbers; got True."),
            (pa.array([1, 2]), "got a column of int64. Read it as text, or put the symbols of each"),
            (pa.array([b"a", b"b"]), "got a column of binary. Decode the bytes into text first."),
            (5, "X must be a list of sequences, each a text or a list of symbols; got 5."),
            ({"a": ["x", "y"], "b": ["x", "y"]}, "column must say which column holds the sequences"),
        ],
    )
    def test_data(self, X, message):
        with pytest.raises(DataError, match=re.escape(message)):
            tb.SequenceClassifier().fit(X, ["x", "y"])

    def test_no_sequences(self):
        with pytest.raises(DataError, match="must have at least one sequence"):
            tb.SequenceClassifier().fit([], [])

    def test_classes(self):
        with pytest.raises(DataError, match="y must have a class for each row; got 1 classes for 8 rows"):
            tb.SequenceClassifier().fit(NAMES, ["f"])
        with pytest.raises(DataError, match="y must be the classes"):
            tb.SequenceClassifier().fit(NAMES)
        with pytest.raises(DataError, match=r"column must name a column of the data; got 'nam'\. Did you mean 'name'"):
            tb.SequenceClassifier(column="nam").fit({"name": NAMES, "sex": SEX}, "sex")

    def test_one_text_to_predict(self):
        with pytest.raises(DataError, match=re.escape("got one text. Put it into a list: ['anna']")):
            names().predict("anna")

    def test_lengths(self):
        with pytest.raises(
            DataError, match=r"one length; row 3 has 3 symbols, not 2\. Align them, or use model='markov'"
        ):
            tb.SequenceClassifier("position").fit(["ab", "ba", "abc"], ["x", "y", "x"])
        clf = tb.SequenceClassifier("position").fit(["ab", "ba", ""], ["x", "y", "x"])
        with pytest.raises(DataError, match="row 2 has 1 symbols, not 2"):
            clf.predict(["ab", "a"])
        with pytest.raises(DataError, match="row 1 has 3 symbols, not 2"):
            clf.partial_fit(["abb"], ["x"])
        np.testing.assert_allclose(clf.predict_proba([""]), [[2 / 3, 1 / 3]], rtol=1e-12)

    def test_an_explanation_needs_two_classes(self):
        with pytest.raises(DataError, match="two different classes"):
            names().explain("anna", "f", "f")

    def test_no_features(self):
        with pytest.raises(DataError, match="what_if must have features"):
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


class TestOrders:
    def chain(self, order, n=4000, seed=0):
        """Sequences of two classes whose next letter follows from the last ``order`` letters, up to noise."""
        rng, found = np.random.default_rng(seed), {}
        for c, shift in (("x", 0), ("y", 1)):
            letters = [0] * order
            for _ in range(n):
                step = sum(letters[len(letters) - order :]) + shift if order else shift
                letters.append(int(step % 3 if rng.random() < 0.8 else rng.integers(3)))
            found[c] = "".join("abc"[k] for k in letters)
        return [x[i : i + 50] for x in found.values() for i in range(0, n, 50)], [
            c for c in found for _ in range(n // 50)
        ]

    @pytest.mark.parametrize("order", [0, 1, 2])
    @pytest.mark.parametrize("how", ["cv", "bic"])
    def test_the_true_order_is_found(self, order, how):
        X, y = self.chain(order)
        clf = tb.SequenceClassifier(order=how, max_order=4, ends=False).fit(X, y)
        assert clf.order_ == order
        assert list(clf.order_scores_) == [0, 1, 2, 3, 4]
        assert clf.order_scores_[order] >= max(clf.order_scores_.values()) - 2
        plain = tb.SequenceClassifier(order=order, ends=False).fit(X, y)
        np.testing.assert_allclose(clf.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-9, atol=1e-12)

    def test_one_long_sequence_can_be_cross_validated(self):
        X, y = self.chain(2, n=4000)
        whole = ["".join(x for x, c in zip(X, y, strict=True) if c == label) for label in "xy"]
        assert tb.SequenceClassifier(order="cv", max_order=4, ends=False).fit(whole, ["x", "y"]).order_ == 2

    def test_places(self):
        rng = np.random.default_rng(0)
        X = ["".join(rng.choice(list("ab"), 4)) for _ in range(400)]
        X = [x + (x[-1] if i % 2 else "ba"[x[-1] == "b"]) for i, x in enumerate(X)]  # repeats the letter before, or not
        for how in ("cv", "bic"):
            clf = tb.SequenceClassifier("position", how, max_order=2).fit(X, ["x", "y"] * 200)
            assert clf.order_ == 1
            assert clf.score(X, ["x", "y"] * 200) > 0.95

    def test_equal_sequences_do_not_vouch_for_each_other(self):
        rng = np.random.default_rng(0)
        X = ["".join(rng.choice(list("abcd"), 30)) for _ in range(20)] * 5
        assert tb.SequenceClassifier(order="cv").fit(X, ["x", "y"] * 50).order_ == 0

    def test_further_sequences_choose_anew(self):
        X, y = self.chain(2)
        whole = tb.SequenceClassifier(order="bic", max_order=3).fit(X, y)
        parts = tb.SequenceClassifier(order="bic", max_order=3).partial_fit(X[:3], y[:3], classes=["x", "y"])
        for i in range(3, len(X), 40):
            parts.partial_fit(X[i : i + 40], y[i : i + 40])
        assert parts.order_ == whole.order_ == 2
        np.testing.assert_allclose(list(parts.order_scores_.values()), list(whole.order_scores_.values()), rtol=1e-12)

    def test_the_first_sequences_settle_what_needs_them(self):
        X, y = self.chain(2)
        clf = tb.SequenceClassifier(order="cv", max_order=3).partial_fit(X[::2], y[::2])
        before = clf.order_scores_
        clf.partial_fit(X[1::2], y[1::2])
        assert clf.order_ == 2
        assert clf.order_scores_ == before
        plain = tb.SequenceClassifier(order=2).fit(X, y)
        np.testing.assert_allclose(clf.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-9, atol=1e-12)

    def test_without_a_choice_there_are_no_scores(self):
        clf = names(order=2)
        assert clf.order_ == 2
        assert clf.order_scores_ == {}
        assert list(clf.strengths_) == ["f", "m"]
        assert len(clf.strengths_["f"]) == 3

    def test_what_cannot_be_merged(self):
        with pytest.raises(DataError, match="model, order, max_order and ends must stay as they were"):
            names(order=1).set_params(order=2).partial_fit(NAMES, SEX)
        with pytest.raises(DataError, match="all text or all whole numbers"):
            names().partial_fit([[1, 2]], ["f"])


class TestManners:
    def test_parameters(self):
        clf = tb.SequenceClassifier("position", 2, smoothing=3, gaps="-", column="seq")
        again = clone(clf)
        assert again.get_params() == clf.get_params()
        assert again.set_params(order="bic").order == "bic"

    def test_each_parameter_changes_the_result(self):
        X, y = ["aab", "abB", "bba", "bab"], ["x", "x", "y", "y"]
        asked = ["ab", "bb", "abab"]
        plain = tb.SequenceClassifier().fit(X, y).predict_proba(asked)
        for change in ({"order": 0}, {"smoothing": 5}, {"ends": False}, {"class_prior": [0.1, 0.9]},
                       {"alphabet": "abBcdefgh"}, {"gaps": "B"}, {"ignore_case": True}):  # fmt: skip
            assert not np.array_equal(tb.SequenceClassifier(**change).fit(X, y).predict_proba(asked), plain), change

    def test_refit_equals_fit(self):
        clf = names()
        first = clf.predict_proba(NAMES)
        np.testing.assert_array_equal(clf.fit(["x", "y"], [1, 2]).fit(NAMES, SEX).predict_proba(NAMES), first)

    def test_order_of_rows_and_classes(self):
        order = np.random.default_rng(0).permutation(8)
        for how in (1, "cv"):
            a = tb.SequenceClassifier(order=how).fit(NAMES, SEX)
            b = tb.SequenceClassifier(order=how).fit([NAMES[i] for i in order], [SEX[i] for i in order])
            np.testing.assert_allclose(a.predict_proba(NAMES), b.predict_proba(NAMES), rtol=1e-12)

    def test_threads_change_nothing(self):
        rng = np.random.default_rng(0)
        X = ["".join(rng.choice(list("acgt"), 2000)) for _ in range(700)]
        y, w = rng.integers(0, 2, 700), rng.random(700)
        one, two = (tb.SequenceClassifier(order=4, n_jobs=n).fit(X, y, sample_weight=w) for n in (1, 3))
        np.testing.assert_array_equal(one.predict_log_proba(X), two.predict_log_proba(X))

    def test_new_symbols_and_classes(self):
        parts = tb.SequenceClassifier().partial_fit(["ab"], ["x"]).partial_fit(["öb", "cc"], ["a", "x"])
        whole = tb.SequenceClassifier().fit(["ab", "öb", "cc"], ["x", "a", "x"])
        assert parts.classes_.tolist() == ["a", "x"]
        assert parts.alphabet_ == ("a", "b", "c", "ö")
        np.testing.assert_array_equal(parts.predict_proba(["öc", "ba"]), whole.predict_proba(["öc", "ba"]))
        ahead = tb.SequenceClassifier("position", 1).partial_fit(["", ""], ["x", "y"]).partial_fit(["ab"], ["x"])
        assert ahead.statistics_.length == 2

    def test_decide(self):
        clf = names()
        costly = clf.decide(NAMES, {"f": {"m": 1e9}})
        assert costly.tolist() == ["f"] * 8

    def test_scikit_learn_around_it(self):
        rng = np.random.default_rng(0)
        X = ["".join(rng.choice(list("ab"), 12, p=p)) for p in ([0.8, 0.2], [0.2, 0.8]) for _ in range(30)]
        y = ["x"] * 30 + ["y"] * 30
        assert cross_val_score(tb.SequenceClassifier(order=0), X, y, cv=5).mean() > 0.9
        assert cross_val_predict(tb.SequenceClassifier(), pd.Series(X), y, cv=3, method="predict_proba").shape == (
            60,
            2,
        )

    @pytest.mark.parametrize(
        "parameters", [{}, {"order": "cv"}, {"order": "bic"}, {"model": "position"}, {"gaps": "N"}]
    )
    def test_files(self, parameters, tmp_path):
        X, y = ["abN", "aab", "bba", "bab"], ["x", "x", "y", "y"]
        clf = tb.SequenceClassifier(**parameters).fit({"seq": X, "c": y}, "c")
        clf.save(tmp_path / "model.tb")
        again = tb.load(tmp_path / "model.tb")
        assert type(again) is tb.SequenceClassifier
        assert again.get_params() == clf.get_params()
        np.testing.assert_array_equal(again.predict_log_proba(X), clf.predict_log_proba(X))
        assert (again.order_, again.order_scores_, again.alphabet_) == (clf.order_, clf.order_scores_, clf.alphabet_)
        assert again.predict({"seq": X, "c": y}).tolist() == clf.predict(X).tolist()
        np.testing.assert_array_equal(
            again.partial_fit(X, y).predict_log_proba(X), clf.partial_fit(X, y).predict_log_proba(X)
        )

    @pytest.mark.parametrize(
        "damage",
        [
            {"keys": np.array([5, 3])},
            {"counts": np.array([1.0])},
            {"alphabet": ["b", "a"]},
            {"ends_of_classes": np.array([1, 1])},
            {"class_weight": np.array([1.0])},
            {"order": 99},
        ],
    )
    def test_damaged_files(self, damage, tmp_path):
        from tunbridge.formats import write_model

        content = tb.SequenceClassifier().fit(["ab", "ba"], ["x", "y"]).to_content()
        content["statistics"] |= damage
        write_model(tmp_path / "model.tb", "sequence", content)
        with pytest.raises(FormatError):
            tb.load(tmp_path / "model.tb")

    def test_wrappers(self, tmp_path):
        rng = np.random.default_rng(1)
        X = ["".join(rng.choice(list("abc"), 10, p=p)) for p in ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) for _ in range(60)]
        y = ["x"] * 60 + ["y"] * 60
        calibrated = tb.CalibratedClassifier(tb.SequenceClassifier(order=0), method="temperature").fit(X, y)
        assert calibrated.score(X, y) > 0.7
        calibrated.save(tmp_path / "calibrated.tb")
        np.testing.assert_array_equal(tb.load(tmp_path / "calibrated.tb").predict_proba(X), calibrated.predict_proba(X))
        few = [c if i % 10 == 0 else None for i, c in enumerate(y)]
        semi = tb.SemiSupervisedClassifier(tb.SequenceClassifier(order=0)).fit(X, few)
        assert semi.score(X, y) > 0.7

    def test_an_explanation_of_calibrated_log_odds(self):
        X = ["aab", "abb", "aaa", "aba", "bba", "bab", "bbb", "bbb"]
        clf = tb.CalibratedClassifier(tb.SequenceClassifier(order=0), method="temperature", folds=2)
        clf.fit(X, ["x"] * 4 + ["y"] * 4)
        told = clf.explain(["ab"])[0]
        p = clf.predict_proba(["ab"])[0]
        np.testing.assert_allclose(abs(told.log_odds), abs(np.log(p[0] / p[1])), rtol=1e-9, atol=1e-12)
        assert told.evidence[-1].feature == "calibration"


class TestRealData:
    def test_promoters(self, shared_data):
        table = tb.read_table(shared_data / "sequences" / "promoters.csv")
        clf = tb.SequenceClassifier("position", 0).fit(table, "class")
        assert clf.alphabet_ == tuple("acgt")
        assert clf.statistics_.length == 57
        assert clf.score(table, "class") > 0.95

    def test_splice_needs_to_be_told_the_column(self, shared_data):
        table = tb.read_table(shared_data / "sequences" / "splice.csv")
        with pytest.raises(DataError, match="column must say which column holds the sequences"):
            tb.SequenceClassifier("position").fit(table, "class")
        clf = tb.SequenceClassifier("position", column="sequence").fit(table, "class")
        assert clf.score(table, "class") > 0.96
