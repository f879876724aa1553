from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.evaluation import choice as choice_module
from tunbridge.evaluation.choice import RACERS
from tunbridge.evaluation.labelled import labelled


def dependent(n=400, seed=0):
    """Return rows whose class is the parity of two features, which naive Bayes cannot see."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 2, (3, n))
    y = np.where(rng.random(n) < 0.9, a ^ b, rng.integers(0, 2, n))
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": np.array(["no", "yes"])[y]})


def test_the_winner_has_the_least_log_loss_and_all_rows():
    data = dependent()
    choice = tb.classify(data, "y", ["nb", "tan"], folds=4)
    assert choice.name == "tan" == choice.comparison.best
    assert isinstance(choice.classifier, tb.TANClassifier)
    expected = tb.TANClassifier().fit(data, "y")
    np.testing.assert_array_equal(choice.classifier.predict_proba(data), expected.predict_proba(data))
    assert choice.classifier.class_count_.sum() == len(data)
    assert choice.classifier.target_name_ == "y"
    assert choice.reason == "tan has the least log-loss of 2 models in 4-fold cross-validation."


class TestTheRace:
    def test_models_race_by_default(self):
        choice = tb.classify(dependent(300), "y", folds=3, budget=math.inf)
        assert set(choice.comparison.models) <= set(RACERS)
        assert choice.comparison.n_folds == 3
        left_out = {note.split()[0] for note in choice.comparison.notes if "left out after" in note}
        assert left_out | set(choice.comparison.models) == set(RACERS)
        assert choice.name == choice.comparison.best
        assert "nb" in left_out  # the features depend on each other

    def test_it_can_be_used_as_the_classifier(self, tmp_path):
        table = dependent(200)
        choice = tb.classify(table, "y", ["nb", "tan"], budget=60.0)
        assert choice.predict(table).tolist() == choice.classifier.predict(table).tolist()
        choice.save(tmp_path / "best.tb")
        assert tb.load(tmp_path / "best.tb").evaluation_["folds"] == len(choice.comparison.baseline)
        with pytest.raises(AttributeError):
            getattr(choice, "nothing_like_this")  # noqa: B009

    def test_the_predictions_are_those_of_models_of_the_other_compared_rows(self):
        data = dependent(6000)
        data.loc[:9, "y"] = None
        raced = tb.classify(data, "y", ["nb", "tan"], folds=3, budget=math.inf).comparison
        p, compared = raced.predictions(), raced.compared
        assert len(p) == len(compared) == 5000
        assert compared.min() >= 10
        some = p.folds == 1
        rows = data.iloc[np.setdiff1d(compared, p.rows[some])]
        expected = tb.TANClassifier().fit(rows, "y").predict_log_proba(data.iloc[p.rows[some]])
        np.testing.assert_allclose(p.log_proba[some], expected, rtol=1e-12)
        assert (data["y"].to_numpy()[p.rows] == np.array(p.classes)[p.true]).all()

    def test_the_result_is_that_of_all_folds(self):
        raced = tb.classify(dependent(300), "y", ["nb", "tan"], folds=3, budget=math.inf)
        full = tb.classify(dependent(300), "y", ["nb", "tan"], folds=3)
        assert raced.name == full.name
        mine, theirs = raced.comparison.summary(raced.name), full.comparison.summary(full.name)
        assert mine["log-loss"] == theirs["log-loss"]

    def test_a_tiny_budget_gives_an_answer(self, monkeypatch):
        monkeypatch.setattr(choice_module, "_PROBE", 20)
        choice = tb.classify(dependent(400), "y", budget=1e-6)
        assert choice.name == "nb"
        assert len(choice.comparison.baseline) == 1
        assert any("left out: a fold would take" in note for note in choice.comparison.notes)

    def test_large_tables_are_represented_by_some_rows(self, monkeypatch):
        monkeypatch.setattr(choice_module, "_ROWS", 100)
        choice = tb.classify(dependent(400), "y", ["nb", "tan"], folds=2, budget=60.0)
        assert "compared on 100 of 400 rows" in choice.comparison.notes
        assert choice.class_count_.sum() == 400

    def test_what_would_take_too_long_is_not_learned_from_all_rows(self, monkeypatch):
        monkeypatch.setattr(
            choice_module._Race, "_seconds_for_all", lambda self, name: 0.0 if name == "nb" else math.inf
        )
        monkeypatch.setattr(choice_module._Race, "_has_time", lambda self: True)
        monkeypatch.setattr(choice_module._Race, "_drop_far", lambda self, fold: None)
        choice = tb.classify(dependent(200), "y", ["nb", "tan"], folds=2, budget=60.0)
        assert choice.name == "nb"
        assert "tan would take too long to learn from all rows" in choice.comparison.notes

    def test_copies_are_noted(self):
        rng = np.random.default_rng(0)
        rows = {"a": rng.normal(size=100), "b": rng.normal(size=100), "y": rng.integers(0, 2, 100)}
        choice = tb.classify({k: np.repeat(v, 10) for k, v in rows.items()}, "y", ["nb", "tan"], budget=math.inf)
        assert any("held-out rows equal a training row in all columns" in note for note in choice.comparison.notes)

    def test_the_rows_of_a_race_have_a_weight_and_all_classes(self):
        n = 20_000
        rng = np.random.default_rng(0)
        y = np.where(np.arange(n) % 4 == 0, "some", "most").astype(object)
        y[:30], weights = "rare", np.where(rng.random(n) < 0.6, 0.0, 1.0)
        weights[:30] = 1.0
        rows = labelled({"x": rng.normal(size=n), "y": y}, "y", weights=weights)
        mask = choice_module._some(rows, 5_000, 0)
        assert mask.sum() == 5_000
        assert (rows.weights[mask] > 0).all()
        found, known = (np.bincount(rows.codes[which], minlength=3) for which in (mask, weights > 0))
        assert found[rows.classes.index("rare")] == 20
        most = rows.classes.index("most")
        assert found[most] / 5_000 == pytest.approx(known[most] / known.sum(), abs=0.01)
        np.testing.assert_array_equal(choice_module._some(rows, 5_000, 0), mask)
        assert choice_module._some(rows, n, 0).sum() == (weights > 0).sum()

    def test_a_used_up_budget_is_said(self):
        notes = tb.classify(dependent(100), "y", budget=1e-6).comparison.notes
        assert "bayes-forest left out: the time budget is used up" in notes

    @pytest.mark.parametrize("budget", [0, -1, "long"])
    def test_budgets_are_checked(self, budget):
        with pytest.raises(tb.DataError, match="budget must be"):
            tb.classify(dependent(50), "y", ["nb", "tan"], budget=budget)


def test_one_standard_error_prefers_the_first_that_is_as_good():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 300)
    data = {f"f{j}": np.where(rng.random(300) < 0.8, y, 1 - y) for j in range(4)} | {"y": y}
    models = ["nb", "tan", "kdb2", "forest"]
    choice = tb.classify(data, "y", models, one_standard_error=True)
    assert choice.name == next(m for m in models if m in choice.comparison.near_best())
    reordered = tb.classify(data, "y", models[::-1], one_standard_error=True)
    assert reordered.name == next(m for m in models[::-1] if m in reordered.comparison.near_best())
    if choice.name != choice.comparison.best:
        assert "is the first of 4 models whose log-loss is within one standard error of the least" in choice.reason


def test_the_reason_of_one_standard_error_names_the_best():
    from tunbridge.evaluation.choice import _reason

    comparison = tb.compare_classifiers(dependent(), "y", ["nb", "tan"], folds=3)
    said = (
        "nb is the first of 2 models whose log-loss is within one standard error of the least, that of tan, in 3-fold"
    )
    assert _reason(comparison, "nb", 2).startswith(said)


def test_a_single_model_is_learned_and_evaluated():
    choice = tb.classify(dependent(), "y", tb.NaiveBayesClassifier(smoothing=2), folds=2)
    assert choice.reason == "NaiveBayesClassifier(smoothing=2) is the only model."
    assert choice.classifier.smoothing == 2


def test_classes_beside_an_array_without_names():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(y[:, None], 1.0, (80, 3))
    choice = tb.classify(X, y, ["nb", "tan"], folds=2)
    assert not hasattr(choice.classifier, "feature_names_in_")
    assert choice.classifier.predict(X).shape == (80,)
    missing = y.astype(float)
    missing[:5] = np.nan
    fewer = tb.classify(X, missing, "nb", folds=2)
    assert fewer.classifier.class_count_.sum() == 75


def test_it_tells_what_it_did():
    choice = tb.classify(dependent(), "y", ["nb", "tan"], folds=2)
    text = str(choice)
    assert text.startswith("2-fold cross-validation, target y, seed 0: 400 rows")
    assert "Chosen: tan has the least log-loss" in text
    assert text.endswith("TANClassifier()")
    assert "Chosen: tan" in choice._repr_html_()
    assert choice.to_dict()["chosen"] == "tan"
    assert choice.to_pandas().equals(choice.comparison.to_pandas())


def test_missing_cells_text_and_identifiers_are_no_obstacle():
    data = dependent(200).astype({"a": object})
    data.loc[::5, "a"] = None
    data["note"] = ["x" if i % 3 else None for i in range(200)]
    data["nothing"] = None
    with pytest.warns(tb.DataWarning, match="'note' has only one value; 'nothing' has only missing values"):
        choice = tb.classify(data, "y", ["nb", "tan", "kdb2", "forest", "boosting", "logistic"], folds=2)
    assert choice.comparison.failed == {}


@pytest.mark.shared
def test_identifiers_are_left_out_with_a_warning():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(120)], "x": rng.normal(y), "y": np.array(["no", "yes"])[y]})
    with pytest.warns(tb.DataWarning, match=r"left out: 'id' looks like an identifier\. keep=\['id'\] keeps a column"):
        choice = tb.classify(frame, "y", ["nb", "logistic"])
    assert choice.remarks == ("id looks like an identifier",)
    assert "Note: id looks like an identifier." in str(choice)
    assert choice.to_dict()["remarks"] == list(choice.remarks)
    assert choice.predict(frame).shape == (120,)
    assert tb.classify(frame, "y", ["nb"], keep=["id"]).feature_names_in_.tolist() == ["id", "x"]
    with pytest.raises(tb.DataError, match=r"keep must name columns of the data; got .idd.\. Did you mean .id."):
        tb.classify(frame, "y", ["nb"], keep=["idd"])
    array = np.column_stack([np.ones(120), rng.normal(y)])  # without names nothing is left out
    assert tb.classify(array, y, ["nb"]).n_features_in_ == 2


def test_chess_is_no_matter_for_naive_bayes(shared_data):
    table = tb.read_table(shared_data / "uci/chess.csv")
    choice = tb.classify(table, "class", ["nb", "tan", "kdb2"], folds=3)
    assert choice.name == "kdb2"
    assert choice.comparison.difference("nb").mean > 5 * choice.comparison.difference("nb").error
