"""Documents without a class: EM around TextClassifier."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb

TEXTS = [
    "cheap pills and watches, cheap!",
    "cheap watches now",
    "the meeting is at noon",
    "lunch at noon in the room",
    "pills watches rolex rolex",
    "the lunch meeting room is large",
]
CLASSES = ["spam", "spam", "ham", "ham", None, None]

SETTINGS = [
    {},
    {"length": 20, "min_documents": 2},
    {"counts": "log", "length": "unit", "idf": True},
    {"stop_words": 2, "smoothing": tb.MEstimate(5, "marginal")},
    {"model": "bernoulli", "min_documents": 2},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_without_unlabelled_documents_it_is_the_classifier_inside(settings):
    inner = tb.TextClassifier(**settings)
    around = tb.SemiSupervisedClassifier(inner, unlabelled_weight=0).fit(TEXTS[:4], CLASSES[:4])
    np.testing.assert_allclose(
        around.predict_proba(TEXTS), inner.fit(TEXTS[:4], CLASSES[:4]).predict_proba(TEXTS), rtol=1e-10
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_objective_never_falls(settings):
    found = tb.SemiSupervisedClassifier(tb.TextClassifier(**settings), tol=1e-9).fit(TEXTS, CLASSES)
    assert (np.diff(found.trace_) >= 0).all()


@pytest.mark.parametrize("model", ["multinomial", "bernoulli"])
def test_words_of_unlabelled_documents_are_learned(model):
    found = tb.SemiSupervisedClassifier(tb.TextClassifier(model)).fit(TEXTS, CLASSES)
    alone = tb.TextClassifier(model).fit(TEXTS[:4], CLASSES[:4])
    assert alone.predict_proba(["rolex"])[0, 1] == 0.5
    assert found.predict_proba(["rolex"])[0, 1] > 0.6


def test_models_without_a_joint_distribution_are_refused():
    with pytest.raises(
        tb.DataError, match=r"must have a joint distribution.*TextClassifier\(model='complement'\) has none"
    ):
        tb.SemiSupervisedClassifier(tb.TextClassifier("complement")).fit(TEXTS, CLASSES)
    with pytest.raises(tb.DataError, match=r"must have a joint distribution.*nb-svm"):
        tb.SemiSupervisedClassifier(tb.TextClassifier("nb-svm")).fit(TEXTS, CLASSES)


def test_a_saved_one_is_loaded(tmp_path):
    clf = tb.TextClassifier(smoothing=tb.MEstimate(5, "marginal"))
    found = tb.SemiSupervisedClassifier(clf).fit(TEXTS, CLASSES)
    found.save(tmp_path / "model.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "model.tb").predict_proba(TEXTS), found.predict_proba(TEXTS))
