"""Every estimator: scikit-learn's own checks, and the manners that all of ours share."""

from __future__ import annotations

import copy
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import tunbridge as tb

CLASSIFIERS = [
    tb.NaiveBayesClassifier(),
    tb.NaiveBayesClassifier(numeric="kernel"),
    tb.NaiveBayesClassifier(numeric="discretise"),
    tb.NaiveBayesClassifier(smoothing=0.5, class_prior="uniform", variance="mle", variance_floor=1e-6),
    tb.TANClassifier(),
    tb.TANClassifier(forest="bic", smoothing=0.5, class_prior="uniform", missing="state"),
    tb.KDBClassifier(),
    tb.BayesForestClassifier(5, random_state=0),
    tb.KDBClassifier(k=1, smoothing=tb.MEstimate(5, "marginal"), missing="state"),
    tb.AODEClassifier(),
    tb.AODEClassifier(weighting="mutual information", subsumption=5, min_count=3, smoothing=0.5, missing="state"),
    tb.A2DEClassifier(),
    tb.A2DEClassifier(weighting="mutual information", subsumption=5, smoothing="hierarchical", class_prior="uniform"),
    tb.TANClassifier(numeric="gaussian"),
    tb.TANClassifier(numeric="gaussian", forest="bic", class_prior="uniform", missing="state"),
    tb.KDBClassifier(numeric="gaussian"),
    tb.BayesNetClassifier(),
    tb.BayesNetClassifier("tabu", criterion="bdeu", smoothing=0.5, class_prior="uniform", missing="state"),
    tb.BayesNetClassifier(numeric="gaussian", criterion="aic", max_parents=2),
    tb.CalibratedClassifier(),
    tb.CalibratedClassifier(tb.TANClassifier(forest="bic"), method="isotonic", folds=3, random_state=1),
    tb.SelectiveNaiveBayesClassifier(),
    tb.SelectiveNaiveBayesClassifier("backward", criterion="log-loss", smoothing="hierarchical", missing="state"),
    tb.JoinedNaiveBayesClassifier(),
    tb.JoinedNaiveBayesClassifier("forward", criterion="log-loss", class_prior="uniform", missing="state"),
    tb.SelectiveKDBClassifier(),
    tb.SelectiveKDBClassifier(2, criterion="rmse", smoothing=0.5, class_prior="uniform", missing="state"),
    tb.MultinetClassifier(),
    tb.MultinetClassifier(forest="bic", smoothing=tb.MEstimate(5, "marginal"), class_prior="uniform", missing="state"),
    tb.WeightedNaiveBayesClassifier(),
    tb.WeightedNaiveBayesClassifier(leave_one_out=False, max_weight=1.0, smoothing=tb.MEstimate(1)),
    tb.SemiSupervisedClassifier(),
    tb.SemiSupervisedClassifier(tb.TANClassifier(smoothing=1.0), unlabelled_weight=0.5, unlabelled=None),
    tb.BayesOptimalClassifier(),
    tb.BayesOptimalClassifier([("a", tb.NaiveBayesClassifier()), ("b", tb.TANClassifier())], weights=[1, 2]),
    tb.BayesOptimalClassifier([("a", tb.NaiveBayesClassifier()), ("b", tb.KDBClassifier())], gibbs=True, prior=[1, 2]),
]

EXPECTED_FAILURES: dict[str, str] = {}
"""Checks of scikit-learn that an estimator is expected to fail, with the reason. There are none."""


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator):
    results = check_estimator(estimator, on_fail=None, expected_failed_checks=EXPECTED_FAILURES)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] not in ("passed", "skipped")}
    assert failed == {}
    assert sum(r["status"] == "passed" for r in results) > 40


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
class TestManners:
    def data(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, 90)
        return rng.normal(y[:, None], 1.5, (90, 4)), y

    def test_fitting_twice_is_fitting_once(self, estimator):
        X, y = self.data()
        once = clone(estimator).fit(X, y)
        twice = clone(estimator).fit(X[::-1], y).fit(X, y)
        np.testing.assert_array_equal(once.predict_proba(X), twice.predict_proba(X))

    def test_clone_keeps_parameters_and_forgets_data(self, estimator):
        X, y = self.data()
        copy = clone(clone(estimator).fit(X, y))
        assert str(copy.get_params()) == str(estimator.get_params())  # estimators in estimators are never equal
        with pytest.raises(ValueError, match="not fitted"):
            copy.predict(X)

    def test_inputs_are_left_alone(self, estimator):
        X, y = self.data()
        X0, y0 = X.copy(), y.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(estimator).fit(X, y).predict(X)
        np.testing.assert_array_equal(X, X0)
        np.testing.assert_array_equal(y, y0)

    def test_class_order_does_not_matter(self, estimator):
        X, y = self.data()
        names = np.array(["c", "a", "b"])
        plain = clone(estimator).fit(X, y)
        named = clone(estimator).fit(X, names[y])
        order = [named.classes_.tolist().index(names[k]) for k in range(3)]
        np.testing.assert_allclose(named.predict_proba(X)[:, order], plain.predict_proba(X), rtol=1e-12, atol=0)

    def test_probabilities_sum_to_one(self, estimator):
        X, y = self.data()
        found = clone(estimator).fit(X, y).predict_proba(X * 100)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)

    def test_saved_is_loaded(self, estimator, tmp_path):
        X, y = self.data()
        model = clone(estimator).fit(X, y)
        model.save(tmp_path / "model.tb")
        np.testing.assert_array_equal(tb.load(tmp_path / "model.tb").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_a_classifier_that_has_predicted_is_pickled_and_copied(estimator):
    """Rows with missing values make a model compile what it needs; that must not be in the way."""
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(["x", "y", "z"], 60).astype(object) for name in "abc"}
    y = np.where(columns["a"] == "x", "no", "yes")
    columns["b"][::3] = None
    fitted = clone(estimator).fit(columns, y)
    expected = fitted.predict_proba(columns)
    for same in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_allclose(same.predict_proba(columns), expected, rtol=1e-12, atol=0)


@pytest.fixture
def interleaved():
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


CONTINUING = [
    *(each for each in CLASSIFIERS if each.can_continue),
    tb.TextClassifier(column="a"), tb.SequenceClassifier(column="a"), tb.VersionSpace("p"),
]  # fmt: skip


@pytest.mark.parametrize("estimator", CONTINUING, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_threads_that_learn_on_one_object_lose_no_rows(estimator, interleaved):
    columns = {"a": np.array(["xx", "yy", "zz"])[np.arange(600) % 3], "b": np.array(["u", "v"])[np.arange(600) % 2]}
    y = np.where(columns["a"] == "xx", "p", "q")
    parts = [slice(start, start + 20) for start in range(60, 600, 20)]
    model = clone(estimator).partial_fit({k: v[:60] for k, v in columns.items()}, y[:60])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda part: model.partial_fit({k: v[part] for k, v in columns.items()}, y[part]), parts))
    assert (model.n_rows_ if isinstance(model, tb.VersionSpace) else model.class_count_.sum()) == 600


@pytest.mark.parametrize("estimator", [*CLASSIFIERS[:5:2], tb.BayesNetClassifier()], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_predictions_while_another_thread_learns_are_those_before_or_after(estimator, interleaved):
    few = {"a": ["x", "y", "z"] * 10, "b": ["u", "v"] * 15}
    more = {"a": ["z", "w", "x", "y"] * 9, "c": ["s", "t"] * 18, "b": ["v", "r", "u"] * 12}
    model = clone(estimator).fit(few, ["p", "q"] * 15)
    asked = {"a": ["x", "z"], "b": ["u", "v"], "c": ["s", "t"]}
    answers = {"few": model.predict_proba({"a": asked["a"], "b": asked["b"]}).tolist()}
    answers["more"] = clone(estimator).fit(more, ["p", "q", "r"] * 12).predict_proba(asked).tolist()
    with ThreadPoolExecutor(1) as pool:
        learned = pool.submit(
            lambda: [model.fit(*each) for each in 20 * [(more, ["p", "q", "r"] * 12), (few, ["p", "q"] * 15)]]
        )
        while not learned.done():
            assert model.predict_proba(asked).tolist() in answers.values()
            assert set(model.predict(asked).tolist()) <= {"p", "q", "r"}
        learned.result()


def test_what_threads_need_is_in_no_copy(interleaved):
    model = tb.NaiveBayesClassifier().fit({"a": ["x", "y"]}, ["p", "q"])
    assert not any("lock" in name for name in vars(model))
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]
    for other in copies:
        other.partial_fit({"a": ["x"]}, ["p"])
    assert [m.class_count_.sum() for m in (model, *copies)] == [2, 3, 3, 3]
