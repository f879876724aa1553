from __future__ import annotations

import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.evaluation import Coded, Estimate
from tunbridge.evaluation.comparison import standard_error
from tunbridge.evaluation.cross_validation import assign_folds


def rows(n=240, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    flip = rng.random((n, 3)) < 0.25
    X = (y[:, None] + flip * rng.integers(1, n_classes + 1, (n, 3))) % (n_classes + 1)
    frame = pd.DataFrame({f"f{j}": np.array(list("abcdefg"))[X[:, j]] for j in range(3)})
    return frame.assign(size=rng.normal(y, 1.5), y=np.array(["no", "yes", "maybe", "never"])[y])


class Broken(ClassifierMixin, BaseEstimator):
    """A classifier that stops in its n-th fit."""

    count = 0

    def __init__(self, error=ValueError, at=1):
        self.error = error
        self.at = at

    def fit(self, X, y, sample_weight=None):
        Broken.count += 1
        if Broken.count >= self.at:
            raise self.error("no more")
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


@pytest.fixture(autouse=True)
def fresh():
    Broken.count = 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_numbers_are_those_of_a_plain_loop(n_classes):
    data = rows(n_classes=n_classes)
    found = tb.compare_classifiers(data, "y", ["nb", "tan"], folds=4, random_state=3)
    X, y = data.drop(columns="y"), data["y"].to_numpy()
    labels = sorted(set(y))
    fold_of = assign_folds(np.searchsorted(labels, y), 4, 3)
    for name, model in {"nb": tb.NaiveBayesClassifier(), "tan": tb.TANClassifier()}.items():
        parts = []
        for fold in range(4):
            train, test = fold_of != fold, fold_of == fold
            parts.append((y[test], clone(model).fit(X[train], y[train]).predict_proba(X[test])))
        true, proba = np.concatenate([p[0] for p in parts]), np.vstack([p[1] for p in parts])
        summary = found.summary(name)
        assert summary["log-loss"].mean == pytest.approx(log_loss(true, proba, labels=labels), rel=1e-10)
        guess = np.array(labels)[proba.argmax(axis=1)]
        assert summary["accuracy"].mean == pytest.approx(np.mean(guess == true), rel=1e-12)
        by_fold = [log_loss(t, p, labels=labels) for t, p in parts]
        assert summary["log-loss"].error == pytest.approx(np.std(by_fold, ddof=1) / 2, rel=1e-9)
        two = {"y_score": parts[0][1][:, 1]} if n_classes == 2 else {"y_score": parts[0][1], "multi_class": "ovr"}
        first = found.folds[name][0].scores
        assert first.auc == pytest.approx(roc_auc_score(parts[0][0], labels=labels, **two), rel=1e-10)
        assert found.scores(name).n_rows == len(data)


def test_equal_seeds_give_equal_results_whatever_the_threads():
    def numbers(found):
        return {name: {m: e.mean for m, e in found.summary(name).items()} for name in found.models}

    data, models = rows(), ["nb", "kdb2", "forest"]
    one = tb.compare_classifiers(data, "y", models, folds=3, n_jobs=1)
    assert numbers(one) == numbers(tb.compare_classifiers(data, "y", models, folds=3, n_jobs=2))
    other = tb.compare_classifiers(data, "y", models, folds=3, random_state=1)
    assert numbers(one) != numbers(other)
    generator = tb.compare_classifiers(data, "y", "nb", folds=3, random_state=np.random.default_rng(0))
    again = tb.compare_classifiers(data, "y", "nb", folds=3, random_state=np.random.default_rng(0))
    assert numbers(generator) == numbers(again)


def test_frames_of_any_make_give_one_result():
    data = rows()
    expected = tb.compare_classifiers(data, "y", "tan", folds=3).summary("tan")
    table = tb.as_table(data)
    for frame, target in (
        (table, "y"),
        (data.to_dict("list"), "y"),
        (table.to_arrow(), "y"),
        (data.drop(columns="y"), data["y"]),
        (data.drop(columns="y"), data["y"].tolist()),
    ):
        assert tb.compare_classifiers(frame, target, "tan", folds=3).summary("tan") == expected


def test_weights_count_in_learning_and_in_the_scores():
    data = rows(120)
    w = np.random.default_rng(1).integers(1, 4, 120).astype(float)
    column = tb.compare_classifiers(data.assign(w=w), "y", ["nb", "forest"], folds=3, weights="w")
    given = tb.compare_classifiers(data, "y", ["nb", "forest"], folds=3, weights=w)
    assert column.summary("nb") == given.summary("nb")
    assert column.summary("forest") == given.summary("forest")
    assert column.scores("nb").weight == pytest.approx(w.sum(), rel=1e-12)
    plain = tb.compare_classifiers(data, "y", "nb", folds=3)
    assert plain.summary("nb")["log-loss"] != column.summary("nb")["log-loss"]
    with pytest.raises(DataError, match="all weights are zero"):
        tb.compare_classifiers(data, "y", "nb", weights=np.zeros(120))


def test_estimators_of_other_makes():
    data = rows()
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["f0", "f1", "f2"]))
    models = {
        "plain": LogisticRegression(),
        "pipeline": make_pipeline(encode, LogisticRegression()),
        "calibrated": CalibratedClassifierCV(tb.NaiveBayesClassifier(), cv=2),
        "ours": tb.NaiveBayesClassifier(),
    }
    found = tb.compare_classifiers(data, "y", models, folds=3)
    assert not found.failed
    assert found.models == tuple(models)
    assert all(found.summary(name)["accuracy"].mean > 0.6 for name in models)
    from_table = tb.compare_classifiers(tb.as_table(data), "y", models, folds=3)
    for name in models:
        means = [f.summary(name)["log-loss"].mean for f in (found, from_table)]
        assert means[0] == pytest.approx(means[1], rel=1e-9)


def test_arrays_without_names():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    X = rng.normal(y[:, None], 1.0, (150, 4))
    found = tb.compare_classifiers(X, y, {"ours": "nb-gaussian", "theirs": GaussianNB()}, folds=3)
    assert found.summary("ours")["accuracy"].mean == pytest.approx(found.summary("theirs")["accuracy"].mean, abs=0.03)


def test_an_estimator_of_text_may_lack_a_class_in_order():
    """Probabilities are put where the class is, whatever order an estimator has."""

    class Reversed(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)[::-1]
            return self

        def predict_proba(self, X):
            return np.tile([0.9, 0.1], (len(X), 1))  # 0.9 for the last class

    data = rows()
    found = tb.compare_classifiers(data, "y", {"r": Reversed()}, folds=2)
    assert found.scores("r").recall.tolist() == [0.0, 1.0]


def test_a_failing_model_is_left_out_and_told():
    found = tb.compare_classifiers(rows(), "y", {"nb": "nb", "broken": Broken()}, folds=3)
    assert found.models == ("nb",)
    assert found.failed == {"broken": "ValueError: no more"}
    assert "broken failed: ValueError: no more" in str(found)
    assert len(found.folds["nb"]) == 3


def test_a_model_that_fails_later_is_left_out_too():
    found = tb.compare_classifiers(rows(), "y", {"broken": Broken(at=3), "nb": "nb"}, folds=4)
    assert found.models == ("nb",)


def test_when_all_fail_the_error_is_raised():
    with pytest.raises(ValueError, match="no more"):
        tb.compare_classifiers(rows(), "y", {"a": Broken(), "b": Broken()}, folds=3)


def test_ctrl_c_keeps_the_folds_that_are_done():
    models = {"nb": "nb", "stop": Broken(KeyboardInterrupt, at=3)}
    found = tb.compare_classifiers(rows(), "y", models, folds=5)
    assert found.is_interrupted
    assert [len(found.folds[name]) for name in models] == [2, 2]
    assert "interrupted after 2 of 5 folds" in found.notes[-1]
    assert "2 folds of 5-fold cross-validation" in str(found)


def test_ctrl_c_before_any_fold_ends_it():
    with pytest.raises(KeyboardInterrupt):
        tb.compare_classifiers(rows(), "y", {"nb": "nb", "stop": Broken(KeyboardInterrupt)}, folds=5)


def test_differences_are_paired():
    found = tb.compare_classifiers(rows(), "y", ["nb", "tan", "kdb2"], folds=4)
    a, b = ([part.scores.log_loss for part in found.folds[name]] for name in ("nb", "tan"))
    difference = found.difference("nb", "tan")
    assert difference.mean == pytest.approx(found.scores("nb").log_loss - found.scores("tan").log_loss, rel=1e-12)
    assert difference.error == pytest.approx(np.std(np.subtract(a, b), ddof=1) / 2, rel=1e-9)
    assert found.difference(found.best) == Estimate(0.0, 0.0)
    assert all(found.difference(name).mean >= 0 for name in found.models)
    expected = [n for n in found.models if found.difference(n).mean <= found.difference(n).error]
    assert list(found.near_best()) == expected
    assert found.difference("nb", "tan", metric="accuracy").mean == pytest.approx(
        found.scores("nb").accuracy - found.scores("tan").accuracy, rel=1e-12
    )


def test_infinite_losses_come_last_and_say_so():
    data = rows().assign(rare=["odd" if i == 7 else "usual" for i in range(240)])
    data.loc[7, ["y", "f0"]] = ["no", "z"]
    models = {"sharp": tb.NaiveBayesClassifier(smoothing=0), "nb": "nb", "tree": Coded(_tree())}
    found = tb.compare_classifiers(data, "y", models, folds=3)
    assert found.summary("tree")["log-loss"].mean == math.inf
    assert math.isnan(found.summary("tree")["log-loss"].error)
    assert found.best != "tree"
    assert "∞" in str(found)
    assert found.difference("tree").mean == math.inf
    assert "tree" not in found.near_best()


def _tree():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0)


def test_when_nothing_is_learned_the_verdict_says_so():
    rng = np.random.default_rng(0)
    noise = {f"x{j}": rng.choice(list("abcdefgh"), 60) for j in range(12)}
    found = tb.compare_classifiers({**noise, "y": rng.choice(["u", "v"], 60)}, "y", ["nb", "tan"], folds=5)
    assert found.summary(found.best)["log-loss"].mean > found.baseline_summary()["log-loss"].mean
    assert "No model is better than the class frequencies (log-loss " in str(found)


def test_the_baseline_has_the_frequencies_of_the_classes():
    data = rows()
    found = tb.compare_classifiers(data, "y", "nb", folds=4)
    counts = data["y"].value_counts()
    assert found.usual == counts.idxmax()
    assert found.baseline_summary()["accuracy"].mean == pytest.approx(counts.max() / len(data), rel=1e-12)
    assert found.baseline_summary()["AUC"].mean == 0.5


def test_notes_say_what_was_done():
    data = rows(60)
    data.loc[:3, "y"] = None
    data.loc[10, "y"] = "single"
    found = tb.compare_classifiers(data, "y", "nb", folds=50)
    assert found.notes[0] == "4 rows without y left out"
    assert "folds instead of 50" in found.notes[1]
    assert found.notes[-1] == "1 row never held out, being the only one of a class"
    assert found.n_rows == 55


def test_texts_and_plain_values():
    found = tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=3)
    text = str(found)
    assert text.splitlines()[0] == "3-fold cross-validation, target y, seed 0: 240 rows"
    assert "accuracy" in text
    assert " ± " in text
    assert f"always {found.usual}" in text
    assert found.table() in text
    assert found.table().splitlines()[1].startswith(found.best)
    page = found._repr_html_()
    assert page.count("<tr>") == 4
    assert "<th>Brier score</th>" in page
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["best"] == found.best
    assert list(plain["models"]) == list(found.ranked)
    assert plain["models"]["nb"]["log_loss"] == {
        "mean": found.summary("nb")["log-loss"].mean,
        "error": found.summary("nb")["log-loss"].error,
    }
    assert len(plain["models"]["nb"]["by_fold"]["auc"]) == 3
    assert plain["models"]["nb"]["fit_seconds"] > 0


def test_html_escapes_names():
    found = tb.compare_classifiers(rows(), "y", {"<b>": "nb"}, folds=2)
    assert "&lt;b&gt;" in found._repr_html_()


def test_names_of_models_are_checked():
    found = tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=2)
    with pytest.raises(DataError, match=r"model must be one that was compared; got 'tam'. Did you mean 'tan'"):
        found.summary("tam")
    with pytest.raises(DataError, match=r"metric must be one of 'accuracy', .*got 'auc'. Did you mean 'AUC'"):
        found.difference("nb", metric="auc")


def test_frames():
    found = tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=3)
    frame = found.to_pandas()
    assert frame.index.tolist() == [*found.ranked, f"always {found.usual}"]
    assert frame.loc["nb", "accuracy"] == found.summary("nb")["accuracy"].mean
    assert frame.loc["nb", "log_loss_error"] == found.summary("nb")["log-loss"].error
    assert frame["fit_seconds"].isna().tolist() == [False, False, True]
    by_class = found.scores("nb").to_pandas()
    assert by_class["recall"].tolist() == found.scores("nb").recall.tolist()
    assert by_class.index.tolist() == list(found.scores("nb").classes)


def test_progress_is_told():
    told = []
    tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=2, progress=lambda what, share: told.append((what, share)))
    assert told == [("nb, fold 1", 0.0), ("tan, fold 1", 0.25), ("nb, fold 2", 0.5), ("tan, fold 2", 0.75)]
    with pytest.raises(DataError, match="progress must be a function of a text and a share, False or None; got True"):
        tb.compare_classifiers(rows(), "y", "nb", progress=True)


@pytest.mark.parametrize("where", ["terminal", "notebook"])
def test_people_see_a_bar(monkeypatch, capsys, where):
    monkeypatch.setattr("sys.stderr.isatty", lambda: where == "terminal")
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr("tunbridge._core.progress._FIRST_SECONDS", 0.0)
    monkeypatch.setattr("tunbridge._core.progress._SECONDS_BETWEEN", 0.0)
    tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=2)
    shown = capsys.readouterr().err
    assert "tan, fold 2 (Ctrl-C keeps what is done)" in shown
    assert "████" in shown
    assert shown.endswith("\r")
    tb.compare_classifiers(rows(), "y", ["nb", "tan"], folds=2, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("random_state", [-1, "zero", 1.5])
def test_seeds_are_checked(random_state):
    with pytest.raises(DataError, match="random_state must be"):
        tb.compare_classifiers(rows(), "y", "nb", random_state=random_state)


def test_standard_errors():
    assert standard_error(np.array([1.0, 3.0])) == pytest.approx(1.0, rel=1e-12)
    assert math.isnan(standard_error(np.array([1.0])))
    assert math.isnan(standard_error(np.array([1.0, np.inf])))
    assert standard_error(np.array([1.0, np.nan, 3.0])) == pytest.approx(1.0, rel=1e-12)
    assert Estimate(0.5, math.nan).text() == "0.5000"


def test_an_infinite_loss_is_no_comparison():
    rows = {"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "y": ["a", "a", "b", "b", "c", "c"], "t": [1, 2, 3, 4, 5, 6]}
    found = tb.compare_classifiers(rows, "y", ["nb", "tan"], time="t", folds=2)
    assert "Every log-loss is infinite: held-out rows have classes that no training row has." in str(found)
