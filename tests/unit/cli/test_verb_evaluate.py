from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
)

import tunbridge as tb
from tunbridge.cli.evaluate import assign_folds
from tunbridge.cli.scores import Scores


def test_a_model_on_new_rows_against_scikit_learn(run, tennis, model):
    found = json.loads(run("evaluate", model, tennis, "--json").stdout)
    table = tb.datasets.play_tennis()
    y = table.to_arrow()["play"].to_pylist()
    proba = tb.load(model).predict_proba(table)
    labels = ["no", "yes"]
    guess = np.array(labels)[proba.argmax(axis=1)]
    assert found["rows"] == 14
    assert found["accuracy"] == pytest.approx(np.mean(guess == y), rel=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, guess), rel=1e-12)
    assert found["log_loss"] == pytest.approx(log_loss(y, proba), rel=1e-12)
    assert found["brier_score"] == pytest.approx(brier_score_loss(y, proba[:, 1], pos_label="yes"), rel=1e-12)
    precision, recall, _, support = precision_recall_fscore_support(y, guess, labels=labels)
    for k, label in enumerate(labels):
        assert found["classes"][label] == pytest.approx(
            {"precision": precision[k], "recall": recall[k], "support": support[k]}, rel=1e-12
        )
        assert list(found["confusion"][label].values()) == confusion_matrix(y, guess)[k].tolist()
    assert found["baseline"]["class"] == "yes"
    assert found["baseline"]["accuracy"] == pytest.approx(9 / 14, rel=1e-12)
    assert found["baseline"]["balanced_accuracy"] == 0.5


def test_scores_of_several_classes_and_weights_against_scikit_learn():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.ones(4), size=200)
    true, weights = rng.integers(0, 4, 200), rng.random(200)
    parts = [Scores.of(tuple("abcd"), true[s], np.log(proba[s]), weights[s]) for s in (slice(0, 70), slice(70, 200))]
    found = parts[0].merge(parts[1])
    names, guess = np.array(list("abcd")), proba.argmax(axis=1)
    assert found.log_loss == pytest.approx(log_loss(names[true], proba, sample_weight=weights), rel=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(names[true], proba, sample_weight=weights), rel=1e-12)
    assert found.accuracy == pytest.approx(np.average(guess == true, weights=weights), rel=1e-12)
    expected = balanced_accuracy_score(true, guess, sample_weight=weights)
    assert found.balanced_accuracy == pytest.approx(expected, rel=1e-12)
    assert found.n_rows == 200


def test_cross_validation_says_what_it_did(run, tennis):
    result = run("evaluate", tennis, "--target", "play")
    assert "5 folds instead of 10, because a class has only 5 rows" in result.stderr
    assert "5-fold cross-validation" in result.stdout
    for word in ("accuracy", "balanced accuracy", "log-loss", "Brier score", "precision", "recall", "support"):
        assert word in result.stdout
    assert "always yes" in result.stdout


def test_cross_validation_holds_every_row_out_once_and_keeps_its_seed(run, tennis):
    first = run("evaluate", tennis, "--target", "play", "--folds", "3", "--json").stdout
    assert first == run("evaluate", tennis, "--target", "play", "--folds", "3", "--json").stdout
    assert first != run("evaluate", tennis, "--target", "play", "--folds", "3", "--json", "--seed", "5").stdout
    found = json.loads(first)
    assert found["rows"] == 14
    assert {c: v["support"] for c, v in found["classes"].items()} == {"no": 5.0, "yes": 9.0}
    assert len(found["accuracy_by_fold"]) == 3


def test_options_of_learning_change_the_result(run, tennis):
    plain = json.loads(run("evaluate", tennis, "--target", "play", "--json").stdout)
    strong = json.loads(run("evaluate", tennis, "--target", "play", "--json", "--smoothing", "50").stdout)
    assert plain["log_loss"] != strong["log_loss"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_are_even_and_spread_the_classes(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [53, 17, 1])[rng.permutation(71)]
    folds = assign_folds(codes, 5, seed)
    assert folds[codes == 2].tolist() == [-1]
    for c in (0, 1):
        sizes = np.bincount(folds[codes == c], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert np.ptp(np.bincount(folds[folds >= 0])) <= 1
    assert not np.array_equal(folds, assign_folds(codes, 5, seed + 1))


def test_a_class_of_one_row_is_never_held_out(run, tmp_path: Path):
    (tmp_path / "d.csv").write_text("x,y\n" + "a,no\nb,yes\n" * 4 + "a,odd\n")
    result = run("evaluate", "d.csv", "--target", "y", "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == 8
    assert any("1 row never held out" in line for line in found["notes"])


def test_rows_without_class_and_with_unknown_class(run, model, tmp_path: Path):
    (tmp_path / "n.csv").write_text(
        "outlook,temperature,humidity,wind,play\nSunny,Hot,High,Weak,no\nSunny,Hot,High,Weak,\nRain,Mild,High,Weak,maybe\n"
    )
    result = run("evaluate", model, "n.csv")
    assert "1 row without play left out" in result.stderr
    assert "does not know the classes 'maybe'" in result.stderr
    assert "(unknown to the model)" in result.stdout
    found = json.loads(run("evaluate", model, "n.csv", "--json").stdout)
    assert found["accuracy"] == 0.5
    assert found["log_loss"] == "Infinity"
    assert found["unknown_classes"] == 1.0


def test_weights_count_rows(run, model, tmp_path: Path):
    head = "outlook,temperature,humidity,wind,play"
    (tmp_path / "w.csv").write_text(f"{head},n\nSunny,Hot,High,Weak,no,3\nRain,Mild,High,Weak,yes,1\n")
    (tmp_path / "r.csv").write_text(f"{head}\n" + "Sunny,Hot,High,Weak,no\n" * 3 + "Rain,Mild,High,Weak,yes\n")
    weighted = json.loads(run("evaluate", model, "w.csv", "--weights", "n", "--json").stdout)
    repeated = json.loads(run("evaluate", model, "r.csv", "--json").stdout)
    for name in ("accuracy", "balanced_accuracy", "log_loss", "brier_score"):
        assert weighted[name] == pytest.approx(repeated[name], rel=1e-12)


def test_wrong_use(run, tennis, model):
    assert "--target must name" in run("evaluate", tennis, code=2).stderr
    assert "Name the table after it" in run("evaluate", model, code=2).stderr
    assert "--smoothing must be left out" in run("evaluate", model, tennis, "--smoothing", "2", code=2).stderr
    assert "--folds" in run("evaluate", tennis, "--target", "play", "--folds", "1", code=2).stderr
    assert "the model must come first" in run("evaluate", tennis, model, code=1).stderr
    assert "Did you mean 'play'?" in run("evaluate", tennis, "--target", "pley", code=1).stderr
    assert "Did you mean 'play'?" in run("evaluate", model, tennis, "--target", "pley", code=1).stderr
    assert "must be a file that exists" in run("evaluate", "tenis.tb", tennis, code=1).stderr


def test_a_table_without_classes(run, model, tmp_path: Path):
    (tmp_path / "n.csv").write_text("outlook,temperature,humidity,wind\nSunny,Hot,High,Weak\n")
    assert "must have the column of the classes, 'play'" in run("evaluate", model, "n.csv", code=1).stderr
    (tmp_path / "n.csv").write_text("outlook,temperature,humidity,wind,play\nSunny,Hot,High,Weak,?\n")
    assert "must have rows with a class" in run("evaluate", model, "n.csv", code=1).stderr


def test_every_class_once_cannot_be_cross_validated(run, tmp_path: Path):
    (tmp_path / "d.csv").write_text("x,y\na,1\nb,2\nc,3\n")
    assert "a class with two rows" in run("evaluate", "d.csv", "--target", "y", code=1).stderr


@pytest.mark.shared
def test_held_out_adult(run, shared_data, tmp_path: Path):
    run("learn", shared_data / "tabular/adult_train.csv.gz", "-t", "income", "--ignore", "fnlwgt", "-o", "a.tb")
    found = json.loads(run("evaluate", "a.tb", shared_data / "tabular/adult_test.csv.gz", "--json").stdout)
    assert found["rows"] == 16281
    table = tb.read_table(shared_data / "tabular/adult_test.csv.gz")
    clf = tb.load(tmp_path / "a.tb")
    right = clf.predict(table.drop(["income", "fnlwgt"])) == np.array(table.to_arrow()["income"].to_pylist())
    assert found["accuracy"] == pytest.approx(right.mean(), rel=1e-12)


def test_labels_that_are_none_of_the_models(run, model, tennis):
    text = tennis.read_text().replace(",yes", ",Ja").replace(",no", ",Nein")
    Path("german.csv").write_text(text)
    told = run("evaluate", model, "german.csv", code=1).stderr
    assert "column 'play' must hold classes of the model, 'no', 'yes'; got 'Ja', 'Nein' only" in told


def test_whole_numbers_written_with_a_point(run):
    Path("a.csv").write_text("x,y\n" + "\n".join(f"{i},{int(i > 5)}" for i in range(12)) + "\n")
    Path("b.csv").write_text("x,y\n" + "\n".join(f"{i},{float(i > 5)}" for i in range(12)) + "\n")
    run("learn", "a.csv", "-t", "y", "-o", "m.tb")
    assert (
        run("evaluate", "m.tb", "b.csv").stdout.splitlines()[2:]
        == run("evaluate", "m.tb", "a.csv").stdout.splitlines()[2:]
    )
