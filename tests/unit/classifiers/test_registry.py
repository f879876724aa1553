"""A new classifier is one file: whatever lists classifiers finds it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tunbridge as tb
from tunbridge._core import registry
from tunbridge.evaluation import classifier_names

TOY = '''
from tunbridge._core.registry import classifier
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier


@classifier("toy", file="toy-bayes", variants={"toy-smooth": ("a toy with more smoothing", {"smoothing": 5})})
class ToyClassifier(NaiveBayesClassifier):
    """A toy for the tests."""
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_module.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(registry._REGISTERED, "classifier", dict(registry._REGISTERED["classifier"]))
    import toy_module

    yield toy_module.ToyClassifier
    del sys.modules["toy_module"]
    vars(tb).pop("ToyClassifier", None)


def test_it_is_compared_by_its_names(toy):
    table = tb.datasets.play_tennis()
    assert {"toy", "toy-smooth"} <= set(classifier_names())
    found = tb.compare_classifiers(table, "play", models=["nb", "toy", "toy-smooth"], folds=2)
    assert list(found.folds) == ["nb", "toy", "toy-smooth"]


def test_its_files_are_loaded(toy, tmp_path):
    table = tb.datasets.play_tennis()
    model = toy(smoothing=0.5).fit(table, "play")
    model.save(tmp_path / "toy.tb")
    same = tb.load(tmp_path / "toy.tb")
    assert type(same) is toy
    assert same.kind == "toy-bayes"
    np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))


def test_it_is_a_name_of_the_package(toy):
    assert tb.ToyClassifier is toy


def test_every_classifier_of_the_package_is_registered():
    ours = {name for name in tb.__all__ if name.endswith("Classifier")}
    assert ours == {entry.object for entry in registry.entries("classifier").values()}
