from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.evaluation import classifier_names, make_classifier
from tunbridge.evaluation.candidates import as_candidates
from tunbridge.evaluation.families import DEFAULT_MODELS, find_family
from tunbridge.evaluation.labelled import Coded


@pytest.mark.parametrize("name", classifier_names())
def test_every_name_makes_a_classifier_that_learns_and_predicts(name):
    table = tb.datasets.play_tennis()
    model = make_classifier(name).fit(table, "play")
    found = model.predict_proba(table)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert model.classes_.tolist() == ["no", "yes"]
    assert find_family(name).is_ours == hasattr(model, "save")


def test_names_say_the_settings():
    assert make_classifier("kdb3").k == 3
    assert make_classifier("nb-kernel").numeric == "kernel"
    assert make_classifier("fan").forest == "bic"
    assert isinstance(make_classifier("forest").estimator, RandomForestClassifier)
    assert make_classifier("forest").estimator.n_estimators == 100
    assert isinstance(make_classifier("boosting").estimator, HistGradientBoostingClassifier)


def test_names_are_read_kindly():
    assert find_family(" TAN ").name == "tan"
    assert find_family("nb_kernel").name == "nb-kernel"
    assert find_family("random forest").name == "forest"
    assert find_family("kdb").name == "kdb2"


def test_unknown_names_get_a_hint():
    with pytest.raises(DataError, match=r"model must be one of 'nb', .*; got 'tann'. Did you mean 'tan'"):
        make_classifier("tann")
    with pytest.raises(DataError, match=r"model must be one of 'nb', .*; got 'svm'"):
        make_classifier("svm")


def test_the_usual_models_begin_with_the_simplest():
    assert DEFAULT_MODELS[0] == "nb"
    assert set(DEFAULT_MODELS) <= set(classifier_names())


def test_models_are_names_estimators_or_a_dict_of_them():
    assert [c.name for c in as_candidates("nb, tan,")] == ["nb", "tan"]
    assert [c.name for c in as_candidates(["nb", tb.TANClassifier(forest="bic")])] == [
        "nb",
        "TANClassifier(forest='bic')",
    ]
    assert [c.name for c in as_candidates({"simple": "nb", "ours": tb.TANClassifier()})] == ["simple", "ours"]
    assert as_candidates(tb.TANClassifier())[0].name == "TANClassifier()"


def test_estimators_of_other_makes_are_coded_unless_they_read_rows_themselves():
    found = as_candidates(
        {
            "plain": LogisticRegression(),
            "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
            "calibrated": CalibratedClassifierCV(tb.TANClassifier()),
            "ours": tb.TANClassifier(),
            "coded": Coded(LogisticRegression(), codes="ordinal"),
        }
    )
    assert {c.name: c.takes_tables for c in found} == {
        "plain": True,
        "pipeline": False,
        "calibrated": False,
        "ours": True,
        "coded": True,
    }
    assert isinstance(found[0].estimator, Coded)
    assert found[4].estimator.codes == "ordinal"


def test_seeds_and_threads_are_given_to_those_that_have_none():
    forest, fixed, ours = as_candidates(
        {"a": "forest", "b": RandomForestClassifier(random_state=7), "c": "tan"}, random_state=5, n_jobs=1
    )
    assert forest.estimator.estimator.random_state == 5
    assert forest.estimator.estimator.n_jobs == 1
    assert fixed.estimator.estimator.random_state == 7
    assert ours.estimator.n_jobs == 1
    given = RandomForestClassifier()
    as_candidates([given], random_state=5)
    assert given.random_state is None


BAD = {
    "none": ([], "models must name one model at least; got none"),
    "empty": ("", "models must name one model at least; got none"),
    "twice": (["nb", "tan", "nb"], "models must have different names; got 'nb' twice"),
    "a class": ([tb.TANClassifier], "must be an estimator, not its class; .* Write TANClassifier\\(\\)"),
    "a number": (3, "must be the name of one, or a scikit-learn estimator; got 3"),
    "no probabilities": ([LinearSVC()], "must give probabilities .*LinearSVC\\(\\) gives none. Wrap it in"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_models(case):
    models, message = BAD[case]
    with pytest.raises(DataError, match=message):
        as_candidates(models)


def test_bad_threads():
    with pytest.raises(DataError, match="n_jobs must be an integer"):
        as_candidates("nb", n_jobs=0)
