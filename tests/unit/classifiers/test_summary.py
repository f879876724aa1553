from __future__ import annotations

from pathlib import Path

import pytest
import sklearn

import tunbridge as tb
from tunbridge.classifiers._estimator import unfitted_copy
from tunbridge.data.reading import Reading


@pytest.fixture
def table() -> tb.Table:
    return tb.datasets.play_tennis()


def test_a_fitted_classifier_is_printed_as_its_summary(table):
    text = str(tb.NaiveBayesClassifier(smoothing=0.5).fit(table, "play"))
    assert text.startswith("NaiveBayesClassifier(smoothing=0.5) learned from 14 rows\ntarget     play: no 5, yes 9")
    assert "wind         categorical, 2 states  Weak, Strong" in text or "Strong, Weak" in text
    assert max(map(len, text.splitlines())) <= 100
    assert str(tb.NaiveBayesClassifier()) == "NaiveBayesClassifier()"


def test_bins_and_numbers_have_their_type():
    data = {"x": [1.0, 1.1, 5.0, 5.5, 1.2, 5.1] * 4, "n": [0.5, 1.5, 2.5] * 8, "y": ["a", "a", "b", "b", "a", "b"] * 4}
    text = tb.NaiveBayesClassifier(numeric="discretise").fit(data, "y").describe()
    assert "x        number, 2 bins" in text
    assert "number" in tb.NaiveBayesClassifier(numeric="gaussian").fit(data, "y").describe()


def test_many_features_are_cut_off_unless_all_are_asked_for():
    data = {f"x{j}": ["a", "b"] * 5 for j in range(40)} | {"y": ["n", "p"] * 5}
    clf = tb.NaiveBayesClassifier().fit(data, "y")
    assert clf.describe().endswith("… and 10 more features")
    assert "x39" in clf.describe(most=None)


def test_notebooks_show_the_summary_of_a_fitted_one_only(table):
    plain, fitted = tb.NaiveBayesClassifier(), tb.NaiveBayesClassifier().fit(table, "play")
    assert "play: no 5, yes 9" in fitted._repr_html_()
    assert "play: no 5, yes 9" in fitted._repr_mimebundle_()["text/html"]
    assert fitted._repr_mimebundle_()["text/plain"] == "NaiveBayesClassifier()"
    assert "learned from" not in plain._repr_html_()
    with sklearn.config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")


def test_html_is_escaped():
    clf = tb.NaiveBayesClassifier().fit({"<b>": ["<i>", "q"] * 3, "y": ["n", "p"] * 3}, "y")
    assert "<b>" not in clf._repr_html_().rpartition("learned from")[2]


def test_texts_and_sequences_have_a_summary_too():
    text = tb.TextClassifier().fit(["cheap pills", "lunch at noon"], ["spam", "ham"])
    assert "words      5 different ones" in str(text)
    sequences = tb.SequenceClassifier(order=1).fit(["abab", "bbaa"], ["x", "y"])
    assert "model      markov, order 1" in str(sequences)


def test_a_chosen_model_keeps_its_cross_validated_accuracy(table, tmp_path: Path):
    clf = tb.classify(table, "play", ["nb", "tan"], folds=3).classifier
    clf.save(tmp_path / "m.tb")
    again = tb.load(tmp_path / "m.tb")
    assert again.evaluation_ == clf.evaluation_
    assert set(again.evaluation_) == {"accuracy", "balanced_accuracy", "log_loss", "brier_score", "auc", "folds"}
    assert "in 3-fold cross-validation" in str(again)
    assert not hasattr(again.fit(table, "play"), "evaluation_")
    assert not hasattr(unfitted_copy(clf), "evaluation_")


def test_how_the_table_was_read_is_shown(table):
    clf = tb.NaiveBayesClassifier().fit(table, "play")
    clf.reading_ = Reading(notes=("Delimiter: ';'", "Missing in 'age': '-'"))
    assert "reading    Delimiter: ';'; Missing in 'age': '-'" in str(clf)
