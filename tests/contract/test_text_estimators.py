"""The classifiers of texts and sequences have the manners of all others: only what X is differs."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import tunbridge as tb

TEXT = [
    tb.TextClassifier(),
    tb.TextClassifier("bernoulli", smoothing=0.5, class_prior="uniform"),
    tb.TextClassifier("complement", ngrams=(1, 2), min_documents=2, stop_words=3),
    tb.TextClassifier("normalised-complement", counts="log", length="unit", idf=True),
    tb.TextClassifier("multinomial", tokens="characters", ngrams=(2, 3), lower_case=False, length=20),
    tb.TextClassifier("multinomial", tokens="words and marks", n_buckets=64, smoothing=tb.MEstimate(5, "marginal")),
    tb.TextClassifier("multinomial", tokens="letters", shortest=1, counts="binary", stop_words=["wordab", "wordac"]),
    tb.TextClassifier("nb-svm", penalty=0.5),
    tb.TextClassifier("nb-svm", penalty=0.5, ngrams=2, beta=0.5, counts="binary", length=None, idf=False),
    tb.CalibratedClassifier(tb.TextClassifier(), folds=3, random_state=0),
    tb.CalibratedClassifier(tb.TextClassifier("nb-svm", penalty=0.5), method="isotonic", folds=3, random_state=1),
    tb.SemiSupervisedClassifier(tb.TextClassifier(min_documents=2)),
]
SEQUENCE = [
    tb.SequenceClassifier(),
    tb.SequenceClassifier(order=0, smoothing=1.0, ends=False),
    tb.SequenceClassifier(order=2, class_prior="uniform", ignore_case=True),
    tb.SequenceClassifier(order="bic", max_order=3, alphabet="ACGT", gaps="N"),
    tb.SequenceClassifier("position", order=0),
    tb.SequenceClassifier("position", order=1, smoothing=0.5),
    tb.CalibratedClassifier(tb.SequenceClassifier(), folds=3, random_state=0),
]
ALL = [*((clf, "text") for clf in TEXT), *((clf, "sequence") for clf in SEQUENCE)]
PARAMETERS = {
    "class_prior": ["uniform", None],
    "smoothing": [0.1, 5.0],
}


def data(kind, n=90):
    """Return texts or sequences of three classes."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, n)
    if kind == "text":
        ranks = rng.zipf(1.5, (n, 12)) % 30
        own = rng.random((n, 12)) < 0.25
        words = np.where(own, 30 + 5 * y[:, None] + ranks % 5, ranks)
        names = np.array([f"Word{a}{b}" for a in "abcdefg" for b in "abcdefg"])
        return [", ".join(names[row[: rng.integers(3, 13)]]) + "!" for row in words], y
    shift = rng.random((n, 12)) < 0.5
    codes = np.where(shift, y[:, None], rng.integers(0, 4, (n, 12)))
    return ["".join("ACGT"[c] for c in row) for row in codes], y


def is_wrapper(clf):
    return hasattr(clf, "estimator")


@pytest.mark.parametrize(("estimator", "kind"), ALL, ids=[str(clf).replace("\n", "") for clf, _ in ALL])
class TestManners:
    def test_it_learns(self, estimator, kind):
        X, y = data(kind)
        assert clone(estimator).fit(X, y).score(X, y) > 0.6

    def test_fitting_twice_is_fitting_once(self, estimator, kind):
        X, y = data(kind)
        once, twice = clone(estimator).fit(X, y), clone(estimator).fit(X[::-1], y).fit(X, y)
        np.testing.assert_array_equal(once.predict_proba(X), twice.predict_proba(X))

    def test_clone_keeps_parameters_and_forgets_data(self, estimator, kind):
        X, y = data(kind)
        copied = clone(clone(estimator).fit(X, y))
        assert str(copied.get_params()) == str(estimator.get_params())
        with pytest.raises(ValueError, match="not fitted"):
            copied.predict(X)

    def test_inputs_and_parameters_are_left_alone(self, estimator, kind):
        X, y = data(kind)
        weights = np.ones(len(y))
        for each in (y, weights):
            each.flags.writeable = False
        arrow, before, settings = pa.array(X), copy.deepcopy(X), str(estimator.get_params())
        clf = clone(estimator).fit(X, y, sample_weight=weights)
        clf.predict_proba(X)
        np.testing.assert_array_equal(clone(estimator).fit(arrow, y).predict(arrow), clf.predict(X))
        assert X == before == arrow.to_pylist()
        assert str(clf.get_params()) == settings

    def test_class_order_does_not_matter(self, estimator, kind):
        X, y = data(kind)
        names = np.array(["c", "a", "b"])
        plain, named = clone(estimator).fit(X, y), clone(estimator).fit(X, names[y])
        order = [named.classes_.tolist().index(names[k]) for k in range(3)]
        found = named.predict_proba(X)[:, order]
        tolerance = {"rtol": 1e-9, "atol": 1e-12} if "nb-svm" not in str(estimator) else {"rtol": 0, "atol": 5e-2}
        np.testing.assert_allclose(found, plain.predict_proba(X), **tolerance)  # nb-svm ends near its optimum

    def test_probabilities_sum_to_one(self, estimator, kind):
        X, y = data(kind)
        clf = clone(estimator).fit(X, y)
        found = clf.predict_proba([*X, X[0] * 300, ""] if kind == "text" else X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        assert (found >= 0).all()
        np.testing.assert_allclose(np.exp(clf.predict_log_proba(X)), clf.predict_proba(X), rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(clf.predict(X), clf.classes_[clf.predict_log_proba(X).argmax(axis=1)])

    def test_weights_are_replication(self, estimator, kind):
        if "nb-svm" in str(estimator):
            pytest.skip("the optimum is approached on another way")
        X, y = data(kind)
        weights = np.random.default_rng(3).integers(0, 3, len(y))
        weighted = clone(estimator).fit(X, y, sample_weight=weights)
        twice = np.repeat(np.arange(len(y)), weights)
        repeated = clone(estimator).fit([X[i] for i in twice], y[twice])
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)

    def test_rows_without_weight_say_nothing(self, estimator, kind):
        X, y = data(kind)
        weights = np.array([1.0] * 60 + [0.0] * 30)
        extra = [*X[:60], *(text.replace("W", "Z").replace("A", "C") for text in X[60:])]
        some, less = clone(estimator).fit(extra, y, sample_weight=weights), clone(estimator).fit(X[:60], y[:60])
        tolerance = 1e-10 if "nb-svm" not in str(estimator) else 5e-2
        np.testing.assert_allclose(some.predict_proba(X), less.predict_proba(X), rtol=0, atol=tolerance)

    def test_all_weights_zero_is_refused(self, estimator, kind):
        X, y = data(kind)
        with pytest.raises(tb.DataError, match="weight"):
            clone(estimator).fit(X, y, sample_weight=np.zeros(len(y)))

    def test_batches_are_the_whole(self, estimator, kind):
        if not hasattr(estimator, "partial_fit"):
            pytest.skip("it needs all rows at once")
        X, y = data(kind)
        whole, parts = clone(estimator).fit(X, y), clone(estimator)
        for start in range(0, 90, 25):
            parts.partial_fit(X[start : start + 25], y[start : start + 25])
        np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-8)

    def test_what_stops_learning_leaves_what_was_learned(self, estimator, kind):
        X, y = data(kind)
        clf = clone(estimator).fit(X, y)
        before = clf.predict_proba(X)
        with pytest.raises(tb.DataError):
            clf.fit(X, y[:5])
        with pytest.raises(tb.DataError):
            clf.fit([*X[:-1], 5.5], y)
        np.testing.assert_array_equal(clf.predict_proba(X), before)

    def test_saved_is_loaded(self, estimator, kind, tmp_path):
        X, y = data(kind)
        clf = clone(estimator).fit(X, y)
        clf.save(tmp_path / "model.tb")
        same = tb.load(tmp_path / "model.tb")
        np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
        assert str(same.get_params()) == str(clf.get_params())
        same.save(tmp_path / "again.tb")
        assert (tmp_path / "again.tb").read_bytes() == (tmp_path / "model.tb").read_bytes()

    def test_pickled_is_the_same(self, estimator, kind):
        """Joblib sends estimators to other processes this way."""
        X, y = data(kind)
        clf = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_proba(X), clf.predict_proba(X))

    def test_threads_change_nothing(self, estimator, kind):
        X, y = data(kind, 700)
        found = []
        for n_jobs in (1, 3):
            clf = clone(estimator).set_params(n_jobs=n_jobs)
            if is_wrapper(clf):
                clf.set_params(estimator__n_jobs=n_jobs)
            found.append(clf.fit(X, y).predict_proba(X))
        np.testing.assert_array_equal(*found)

    def test_scikit_learn_takes_it_for_a_classifier_of_texts(self, estimator, kind):
        assert is_classifier(estimator)
        tags = get_tags(estimator)
        assert tags.input_tags.string
        assert not tags.input_tags.two_d_array
        assert tags.target_tags.required

    @pytest.mark.filterwarnings("ignore")
    def test_scikit_learn_checks(self, estimator, kind):
        """Those that need no table; the others are skipped, as for scikit-learn's own text tools."""
        results = check_estimator(estimator, on_fail=None)
        failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}
        assert failed == {}
        assert any(r["status"] == "passed" for r in results)

    def test_cross_validation(self, estimator, kind):
        X, y = data(kind)
        for given in (X, np.array(X, object), pd.Series(X)):
            assert cross_val_score(clone(estimator), given, y, cv=3).mean() > 0.4
        found = cross_val_predict(clone(estimator), X, y, cv=3, method="predict_proba")
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)

    def test_grid_search(self, estimator, kind):
        X, y = data(kind)
        search = GridSearchCV(clone(estimator), {"n_jobs": [1, None]}, cv=3).fit(X, y)
        assert search.predict(X).shape == y.shape
        if not is_wrapper(estimator):
            search = GridSearchCV(clone(estimator), PARAMETERS, cv=3).fit(X, y)
            assert set(search.best_params_) == set(PARAMETERS)

    def test_at_the_end_of_a_pipeline(self, estimator, kind):
        X, y = data(kind)
        clean = FunctionTransformer(lambda texts: [text.strip() for text in texts])
        pipe = make_pipeline(clean, clone(estimator))
        assert isinstance(pipe, Pipeline)
        padded = [f"  {text} " for text in X]
        found = pipe.fit(padded, y).predict_proba(padded)
        np.testing.assert_array_equal(found, clone(estimator).fit(X, y).predict_proba(X))
        assert pipe.score(padded, y) > 0.6

    def test_frames_and_decisions(self, estimator, kind):
        X, y = data(kind)
        frame = pd.DataFrame({"content": X, "label": y})
        clf = clone(estimator).fit(frame, "label")
        np.testing.assert_array_equal(clf.predict_proba(frame), clone(estimator).fit(X, y).predict_proba(X))
        assert clf.score(frame) == clf.score(X, y)
        decided = clf.decide(X, {0: 100.0})
        assert (decided == 0).mean() >= (clf.predict(X) == 0).mean() > 0.1

    def test_one_class_is_enough(self, estimator, kind):
        X, _ = data(kind)
        if isinstance(estimator, tb.CalibratedClassifier):
            pytest.skip("there is nothing to calibrate")
        clf = clone(estimator).fit(X, np.zeros(90, int))
        np.testing.assert_array_equal(clf.predict_proba(X), np.ones((90, 1)))
