"""The sequence classifier: worked results, the choice of the order, files, wrappers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

import tunbridge as tb
from tunbridge.errors import DataError, FormatError, MemoryForecastError, ZeroProbabilityWarning

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
        with pytest.raises(DataError, match="model, order, max_order and ends must not change"):
            names(order=1).set_params(order=2).partial_fit(NAMES, SEX)
        with pytest.raises(DataError, match="all text or all integers"):
            names().partial_fit([[1, 2]], ["f"])

    def test_what_is_less_than_a_symbol_is_no_reward(self):
        clf = tb.SequenceClassifier(order="bic", max_order=4)
        clf.fit(["abab", "aabb", "baba"], ["x", "y", "x"], sample_weight=[1e-4] * 3)
        assert clf.order_ == 0

    def test_cross_validation_needs_the_first_sequences(self):
        for first in (2, "bic"):
            with pytest.raises(DataError, match=r"order must not change.*got 'cv', which needs the earlier sequences"):
                names(order=first, max_order=2).set_params(order="cv").partial_fit(NAMES, SEX)


class TestEdges:
    def test_places_that_nobody_has_seen(self):
        """An alphabet is known, but no sequence has shown how many places there are."""
        clf = tb.SequenceClassifier("position", 1, alphabet="ab").fit(["", "", ""], ["x", "y", "x"])
        np.testing.assert_allclose(clf.predict_proba(["ab" * 500, ""]), [[2 / 3, 1 / 3]] * 2, rtol=1e-12)
        np.testing.assert_allclose(clf.stream().update("ab" * 500).proba, [2 / 3, 1 / 3], rtol=1e-12)
        wide = tb.SequenceClassifier("position", 0, alphabet=range(400)).fit([[], []], ["x", "y"])
        np.testing.assert_allclose(wide.predict_proba([[399] * 50]), [[0.5, 0.5]], rtol=1e-12)

    def test_hardly_any_smoothing(self):
        """Products of tiny shares do not vanish, in whichever table they are."""
        clf = tb.SequenceClassifier(order=3, smoothing=1e-150, ends=False).fit(["abcabca", "acbacb"], ["x", "y"])
        found = clf.predict_joint_log_proba(["abcc"])[0]
        # c was met after neither abc, bc nor c, which leave 1e-150 / n each
        letters = {"x": (3 / 7, 2 / 7), "y": (2 / 6, 2 / 6)}
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[0], np.log(0.5 * letters["x"][0] * letters["x"][1]) - 3 * 150 * np.log(10)
                                   - np.log(2 * 2 * 2), rtol=1e-9)  # fmt: skip

    def test_weights_of_any_size(self):
        for weight in (1e-300, 1e-6, 1e6, 1e300):
            for order in (2, "cv", "bic"):
                clf = tb.SequenceClassifier(order=order).fit(NAMES, SEX, sample_weight=[weight] * 8)
                np.testing.assert_allclose(clf.predict_proba(["anna", ""]).sum(axis=1), 1.0, rtol=1e-12)

    def test_a_context_longer_than_any_sequence(self):
        long, short = (
            names(order=order, smoothing=1) for order in (9, 6)
        )  # the longest: five letters, and the beginning
        np.testing.assert_allclose(long.predict_log_proba(NAMES), short.predict_log_proba(NAMES), rtol=1e-12)

    def test_estimates_are_forecast(self, monkeypatch):
        words = [[f"{i} {j}" for j in range(30)] for i in range(40)]
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "300000")
        with pytest.raises(MemoryForecastError, match=r"the estimates of contexts of 3 symbols .* Lower the order"):
            tb.SequenceClassifier(order=3).fit(words, np.arange(40) % 2)


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
        X = [letters.tobytes().decode() for letters in rng.integers(97, 101, (700, 2000), dtype=np.uint8)]
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
            {"class_weight": np.array([-1.0, 2.0])},
            {"class_weight": np.array([np.nan, 2.0])},
            {"ends": 3},
            {"length": 2},
            {"alphabet": ["a", 1]},
        ],
    )
    def test_damaged_files(self, damage, tmp_path):
        from tunbridge.formats import write_model

        content = tb.SequenceClassifier().fit(["ab", "ba"], ["x", "y"]).to_content()
        content["statistics"] |= damage
        write_model(tmp_path / "model.tb", "sequence", content)
        with pytest.raises(FormatError):
            tb.load(tmp_path / "model.tb")

    @pytest.mark.parametrize(("key", "ends"), [(6, True), (18, True), (12, False), (8, False)])
    def test_contexts_that_cannot_be(self, key, ends, tmp_path):
        """A letter behind nothing or behind the beginning, a beginning where there is none."""
        from tunbridge.formats import write_model

        content = tb.SequenceClassifier(order=2, ends=ends).fit(["ab", "ba"], ["x", "y"]).to_content()
        one = {"keys": np.array([key, key]), "counts": np.ones(2), "ends_of_classes": np.array([1, 2])}
        content["statistics"] |= one
        write_model(tmp_path / "model.tb", "sequence", content)
        with pytest.raises(FormatError, match="its counts do not belong to its alphabet"):
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

    def test_symbols_of_unlabelled_sequences_count_from_the_start(self):
        """Otherwise a symbol that becomes known would cost likelihood, and learning would stop before it begins."""
        X = ["aaab", "abaa", "ccbc", "bccc", "aaaa" + "z" * 300, "cccb"]
        semi = tb.SemiSupervisedClassifier(tb.SequenceClassifier(order=0, smoothing=1))
        semi.fit(X, ["x", None, "y", None, None, None])
        assert semi.estimator_.alphabet_ == ("a", "b", "c", "z")
        assert semi.estimator_.class_count_.sum() == pytest.approx(6.0)

    def test_sets_are_written_in_one_order(self):
        written = tb.SequenceClassifier(alphabet=set("hgfedcba")).fit(["ab", "ba"], ["x", "y"]).to_content()
        assert written["parameters"]["alphabet"] == list("abcdefgh")

    def test_a_grid_of_orders(self):
        X, y = ["aab", "aba", "aaa", "bba", "bab", "bbb"] * 4, ["x", "x", "x", "y", "y", "y"] * 4
        found = GridSearchCV(tb.SequenceClassifier(), {"order": [0, 1, "bic"]}, cv=2).fit(X, y)
        assert found.best_score_ == 1.0

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
        with pytest.raises(DataError, match="got None, and 'name', 'sequence' hold text"):
            tb.SequenceClassifier("position").fit(table, "class")
        clf = tb.SequenceClassifier("position", column="sequence").fit(table, "class")
        assert clf.score(table, "class") > 0.96
