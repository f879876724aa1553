"""The base class of the classifiers is to scikit-learn what its own base class is."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import tunbridge as tb
from tunbridge.classifiers._estimator import Estimator, available_if, unfitted_copy
from tunbridge.classifiers.wrappers._calibration import HeldOut, learn_calibration, log_odds

NAMES = [f"column{i}" for i in range(40)]
SETTINGS = [
    {},
    {"smoothing": 0.5},
    {"smoothing": float("nan"), "n_jobs": 2},
    {"categorical": NAMES[:3], "class_prior": {"yes": 0.25, "no": 0.75}},
    {"categorical": NAMES[:12], "smoothing": 0.25},
    {"categorical": NAMES},
    {"class_prior": [0.1] * 40, "smoothing": 3},
    {"class_prior": {"no, we do not want that": 0.7, "yes, of course we do": 0.3}, "n_jobs": 3, "smoothing": 0.25},
    {"categorical": ["x" * 1000]},
]


def theirs(settings: dict[str, object]) -> BaseEstimator:
    """Return an estimator with scikit-learn's base class, and the parameters of naive Bayes."""
    body = {"__init__": tb.NaiveBayesClassifier.__init__, "fit": tb.NaiveBayesClassifier.fit}
    return type("NaiveBayesClassifier", (ClassifierMixin, BaseEstimator), body)(**settings)


@pytest.mark.parametrize("settings", SETTINGS[:-1], ids=str)
def test_the_text_is_that_of_scikit_learn(settings):
    ours = tb.NaiveBayesClassifier(**settings)
    assert repr(ours) == repr(theirs(settings))
    with config_context(print_changed_only=False):
        assert ours.get_params() == theirs(settings).get_params() or "nan" in repr(ours)
        assert repr(ours).replace(" ", "") == repr(theirs(settings)).replace(" ", "")


def test_the_text_is_of_limited_length():
    assert len(repr(tb.NaiveBayesClassifier(**SETTINGS[-1]))) < 720
    assert "..." in repr(tb.TextClassifier(stop_words=frozenset(NAMES)))


def test_an_estimator_inside_is_written_in_lines():
    inner = tb.NaiveBayesClassifier(categorical=NAMES[:3], smoothing=0.25, class_prior="uniform", n_jobs=1)
    assert repr(tb.CalibratedClassifier(inner, method="platt")).splitlines() == [
        "CalibratedClassifier(estimator=NaiveBayesClassifier(categorical=['column0',",
        "                                                                 'column1',",
        "                                                                 'column2'],",
        "                                                    class_prior='uniform',",
        "                                                    n_jobs=1, smoothing=0.25),",
        "                     method='platt')",
    ]


def test_parameters_of_estimators_inside_are_set_by_their_path():
    clf = tb.CalibratedClassifier(tb.NaiveBayesClassifier()).set_params(estimator__smoothing=0.5, method="platt")
    assert (clf.estimator.smoothing, clf.method, clf.get_params()["estimator__smoothing"]) == (0.5, "platt", 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'smooth' for estimator CalibratedClassifier"):
        clf.set_params(smooth=1)


def test_copies_are_those_of_clone():
    clf = tb.BayesOptimalClassifier([("a", tb.NaiveBayesClassifier(smoothing=0.5)), ("b", tb.TANClassifier())])
    for copy in (clone(clf), unfitted_copy(clf)):
        assert repr(copy) == repr(clf)
        assert copy.estimators[0][1] is not clf.estimators[0][1]


def test_it_is_a_classifier_for_scikit_learn():
    clf = tb.NaiveBayesClassifier()
    assert is_classifier(clf)
    assert get_tags(clf).target_tags.required
    table = tb.datasets.play_tennis()
    fitted = clf.fit(table, "play")
    assert pickle.loads(pickle.dumps(fitted)).predict(table).tolist() == fitted.predict(table).tolist()
    assert "partial_fit" in dir(clf)
    assert "partial_fit" not in dir(tb.CalibratedClassifier())
    assert not hasattr(tb.CalibratedClassifier(), "partial_fit")


def test_weights_are_routed():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    w = np.tile([0.0, 0.0, 1.0, 1.0], 15)
    with config_context(enable_metadata_routing=True):
        clf = tb.NaiveBayesClassifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert isinstance(clf, tb.NaiveBayesClassifier)
        assert type(clf) is tb.NaiveBayesClassifier
        assert clone(clf).get_metadata_routing().fit.requests == {"sample_weight": True}
        assert unfitted_copy(clf).get_metadata_routing().score.requests == {"sample_weight": False}
        found = cross_validate(clf, X, y, params={"sample_weight": w}, return_estimator=True, cv=2)["estimator"]
        assert sum(each.class_count_.sum() for each in found) == 30.0
        with pytest.raises(TypeError, match="nothing"):
            clf.set_fit_request(nothing=True)
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        clf.set_fit_request(sample_weight=True)


def test_notebooks_show_a_page():
    clf = tb.NaiveBayesClassifier(smoothing=0.5).fit(tb.datasets.play_tennis(), "play")
    page = clf._repr_mimebundle_()["text/html"]
    assert "NaiveBayesClassifier" in page
    assert "smoothing" in page
    assert "smoothing" in make_pipeline(StandardScaler(), clf)._repr_mimebundle_()["text/html"]
    assert "NaiveBayesClassifier" in clf._repr_html_()
    with config_context(display="text"):
        assert not hasattr(clf, "_repr_html_")


def test_pipelines_and_searches_take_it():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    pipeline = make_pipeline(StandardScaler(), tb.NaiveBayesClassifier())
    search = GridSearchCV(pipeline, {"naivebayesclassifier__smoothing": [0.5, 1.0]}, cv=2).fit(X, y)
    assert isinstance(search.best_estimator_[-1], Estimator)
    assert 0.0 <= search.score(X, y) <= 1.0


def test_a_method_may_depend_on_a_condition():
    class Door:
        is_open = False

        @available_if(lambda self: self.is_open)
        def enter(self) -> str:
            """Enter."""
            return "in"

    door = Door()
    assert not hasattr(door, "enter")
    door.is_open = True
    assert (door.enter(), Door.enter.__doc__, Door.enter(door)) == ("in", "Enter.", "in")


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_calibration_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    joint = np.round(rng.normal(size=(2, 200)), 1 + seed)
    weights = rng.integers(0, 3, 200) * rng.random(200)
    rows = HeldOut(joint, rng.integers(0, 2, 200), weights, np.arange(200) % 5, np.log([0.5, 0.5]))
    found = learn_calibration("isotonic", rows).maps[0]
    z, own = log_odds(joint)[1], rows.classes == 1
    ends = np.array([z.min(), z.min(), z.max(), z.max()])
    model = IsotonicRegression(out_of_bounds="clip")
    model.fit(np.append(z, ends), np.append(own, [0.0, 1.0, 0.0, 1.0]), np.append(weights, np.ones(4)))
    np.testing.assert_array_equal(found, [model.X_thresholds_, model.y_thresholds_])
