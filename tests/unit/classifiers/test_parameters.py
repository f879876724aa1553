from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers._parameters import class_of, fitted_content, fitted_of, parameters_content, parameters_of
from tunbridge.formats.native import read_model, write_model

VALUES = {
    "number": 0.5,
    "text": "uniform",
    "nothing": None,
    "list": ["a", 2],
    "pair": (0.3, 0.7),
    "laplace": tb.Laplace(2.0),
    "m": tb.MEstimate(5, "marginal"),
    "by_column": {"a": tb.Laplace(0.5), "b": 1.0},
}


def through_a_file(parameters, path):
    write_model(path / "p.tb", "parameters", parameters_content(parameters))
    return parameters_of(read_model(path / "p.tb")[1])


def test_values_come_back(tmp_path):
    found = through_a_file(VALUES, tmp_path)
    assert str(found) == str(VALUES)
    assert through_a_file({"array": np.array([0.3, 0.7])}, tmp_path) == {"array": [0.3, 0.7]}


def test_estimators_come_back_with_their_parameters(tmp_path):
    inner = tb.KDBClassifier(k=1, smoothing=tb.MEstimate(5, "marginal"), categorical=["a"])
    deep = tb.CalibratedClassifier(inner, method="platt")
    given = {"one": inner, "deep": deep, "several": [("nb", tb.NaiveBayesClassifier()), ("kdb", inner)]}
    found = through_a_file(given, tmp_path)
    assert str(found) == str(given)
    assert str(found["deep"].get_params()) == str(deep.get_params())
    assert isinstance(found["several"][0], tuple)


def test_fitted_estimators_come_back():
    table = tb.datasets.play_tennis()
    model = tb.TANClassifier().fit(table, "play")
    np.testing.assert_array_equal(fitted_of(fitted_content(model)).predict_proba(table), model.predict_proba(table))


def test_unknown_kinds():
    with pytest.raises(ValueError, match=r"no classifier of kind 'os\.system'"):
        class_of("os.system")


def test_no_path_is_written_or_read(tmp_path):
    search = tb.SparseCandidate(checkpoint=tmp_path / "steps.json")
    content = parameters_content({"search": search})
    assert "steps.json" not in repr(content)
    content["search"]["fields"]["checkpoint"] = "elsewhere.json"  # as a hostile file could
    assert parameters_of(content)["search"].checkpoint is None
