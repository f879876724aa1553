from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)
from typer.testing import CliRunner

import tunbridge as tb
from tunbridge.cli.app import app
from tunbridge.cli.rows import iter_rows
from tunbridge.evaluation.candidates import Candidate


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
    auc = roc_auc_score(np.array(y) == "yes", proba[:, 1])
    assert found["auc"] == pytest.approx(auc, rel=1e-12)
    precision, recall, f1, support = precision_recall_fscore_support(y, guess, labels=labels)
    for k, label in enumerate(labels):
        assert found["classes"][label] == pytest.approx(
            {
                "precision": precision[k],
                "recall": recall[k],
                "specificity": recall[1 - k],
                "npv": precision[1 - k],
                "f1": f1[k],
                "auc": auc,
                "support": support[k],
            },
            rel=1e-12,
        )
        assert list(found["confusion"][label].values()) == confusion_matrix(y, guess)[k].tolist()
    assert found["baseline"]["class"] == "yes"
    assert found["baseline"]["accuracy"] == pytest.approx(9 / 14, rel=1e-12)
    assert found["baseline"]["balanced_accuracy"] == 0.5


def test_cross_validation_says_what_it_did(run, tennis):
    result = run("evaluate", tennis, "--target", "play")
    assert "9 folds instead of 10, because no class has more than 9 rows" in result.stderr
    assert "fewer rows than folds, so not in every fold: 'no' (5)" in result.stderr
    assert "9-fold cross-validation" in result.stdout
    for word in ("accuracy", "balanced accuracy", "log-loss", "Brier score", "AUC", "± s.e.", "Time per fold"):
        assert word in result.stdout
    for word in ("precision", "recall", "specificity", "NPV", "F1", "support", "(PPV)", "sensitivity"):
        assert word in result.stdout
    assert "nb is no better than the class frequencies (log-loss " in result.stdout
    assert "always yes" in result.stdout


def evaluated(run, tennis, *options):
    """Return what a cross-validation says as JSON, without the times."""
    found = json.loads(run("evaluate", tennis, "--target", "play", "--json", *options).stdout)
    assert found.pop("fit_seconds") > 0
    assert found.pop("predict_seconds") > 0
    return found


def test_cross_validation_holds_every_row_out_once_and_keeps_its_seed(run, tennis):
    found = evaluated(run, tennis, "--folds", "3")
    assert found == evaluated(run, tennis, "--folds", "3")
    assert found != evaluated(run, tennis, "--folds", "3", "--seed", "5")
    assert found["rows"] == 14
    assert {c: v["support"] for c, v in found["classes"].items()} == {"no": 5.0, "yes": 9.0}
    assert len(found["accuracy_by_fold"]) == 3


def test_options_of_learning_change_the_result(run, tennis):
    plain = json.loads(run("evaluate", tennis, "--target", "play", "--json").stdout)
    strong = json.loads(run("evaluate", tennis, "--target", "play", "--json", "--smoothing", "50").stdout)
    assert plain["log_loss"] != strong["log_loss"]


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
    assert "has not seen the classes 'maybe'" in result.stderr
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


@pytest.fixture
def fever(run) -> Path:
    run("datasets", "flu_malaria_fever", "-o", "fever.csv")
    return Path("fever.csv")


def test_several_models_in_one_table(run, fever):
    result = run("evaluate", fever, "-t", "fever", "--models", "nb,TAN,forest", "--folds", "5")
    lines = result.stdout.splitlines()
    assert lines[0] == "5-fold cross-validation on fever.csv, target fever, seed 0: 100 rows"
    assert lines[2].split() == ["model", "accuracy", "log-loss", "Brier", "score", "AUC", "fit"]
    assert {line.split()[0] for line in lines[3:6]} == {"nb", "tan", "forest"}
    assert lines[6].startswith("always no")
    assert lines[7].startswith("Lowest log-loss: ")
    best = lines[3].split()[0]
    assert f"{best}, class by class:" in lines
    assert "Confusion matrix (rows: true class, columns: predicted class):" in lines


def test_several_models_as_json_are_those_of_the_library(run, fever):
    found = json.loads(run("evaluate", fever, "-t", "fever", "--models", "nb,tan", "--folds", "5", "--json").stdout)
    expected = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"], folds=5)
    assert found["best"] == expected.best
    for name in ("nb", "tan"):
        for key, metric in (("accuracy", "accuracy"), ("log_loss", "log-loss"), ("auc", "AUC")):
            assert found["models"][name][key]["mean"] == pytest.approx(expected.summary(name)[metric].mean, rel=1e-12)
            assert found["models"][name][key]["error"] == pytest.approx(expected.summary(name)[metric].error, rel=1e-12)
    assert found["scores_of_best"]["confusion"] == expected.scores(expected.best).to_dict()["confusion"]


@pytest.mark.parametrize("options", [["nb, tan"], ["nb tan"], ["nb", "--models", "tan"]])
def test_models_are_listed_in_any_way(run, fever, options):
    found = json.loads(run("evaluate", fever, "-t", "fever", "--folds", "2", "--json", "--models", *options).stdout)
    assert set(found["models"]) == {"nb", "tan"}


def test_one_model_that_is_named(run, fever):
    found = json.loads(run("evaluate", fever, "-t", "fever", "--model", "tan", "--folds", "5", "--json").stdout)
    expected = tb.compare_classifiers(tb.datasets.flu_malaria_fever(), "fever", "tan", folds=5)
    assert found["model"] == "tan"
    assert found["log_loss"] == pytest.approx(expected.scores("tan").log_loss, rel=1e-12)
    assert found["standard_errors"]["log_loss"] == pytest.approx(expected.summary("tan")["log-loss"].error, rel=1e-12)


def test_options_reach_every_model(run, fever):
    plain = json.loads(run("evaluate", fever, "-t", "fever", "--models", "nb,tan", "--json").stdout)
    options = ("--smoothing", "20", "--prior", "uniform")
    other = json.loads(run("evaluate", fever, "-t", "fever", "--models", "nb,tan", "--json", *options).stdout)
    for name in ("nb", "tan"):
        assert plain["models"][name]["log_loss"] != other["models"][name]["log_loss"]


BAD_MODELS = {
    "near": (["--models", "nb,tann"], "auto; got 'tann'. Did you mean 'tan'?"),
    "far": (["--models", "svm"], "--models must be one of nb, nb-gaussian, "),
    "twice": (["--models", "nb,tan,NB"], "--models must name each model once; got 'nb' twice"),
    "none": (["--models", ","], "--models must name a model, such as nb; got ','"),
    "density of a tree": (
        ["--models", "nb,tan", "--numeric", "kernel"],
        "--numeric must be one of 'discretise', 'gaussian'; got 'kernel'. These are the values for tan",
    ),
    "settled": (["--models", "nb-kernel", "--numeric", "kernel"], "--numeric must be left out with nb-kernel, which"),
    "density of a forest": (
        ["--models", "nb,forest", "--numeric", "kernel"],
        "--numeric must come with models that have it, such as 'nb'",
    ),
    "smoothed forest": (["--models", "forest", "--smoothing", "2"], "'forest' does not"),
    "prior of boosting": (["--models", "boosting", "--prior", "uniform"], "--prior must come with models that have it"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_models_and_options_that_do_not_fit(run, fever, case):
    options, message = BAD_MODELS[case]
    assert message in run("evaluate", fever, "-t", "fever", *options, code=2).stderr


def test_models_are_for_cross_validation_only(run, model, tennis):
    told = run("evaluate", model, tennis, "--models", "tan", code=2).stderr
    assert "--models must be left out when a model is evaluated; it has been learned already" in told


def test_columns_that_look_like_mistakes_are_told(run):
    lines = [f"P{i:03},{'abc'[i % 3]},{'yes' if i % 2 else 'no'}" for i in range(30)]
    Path("d.csv").write_text("id,x,y\n" + "\n".join(lines) + "\n")
    told = run("evaluate", "d.csv", "-t", "y", "--folds", "3").stderr
    assert "Note: left out: id looks like an identifier." in told
    assert "identifier" not in run("evaluate", "d.csv", "-t", "y", "--folds", "3", "--ignore", "id").stderr


def test_the_auc_of_a_file_does_not_depend_on_its_batches(run, fever, monkeypatch):
    run("learn", fever, "-t", "fever", "-o", "f.tb")
    whole = json.loads(run("evaluate", "f.tb", fever, "--json").stdout)
    monkeypatch.setattr("tunbridge.cli.rows.iter_rows", partial(iter_rows, batch_rows=7))
    pieces = json.loads(run("evaluate", "f.tb", fever, "--json").stdout)
    assert pieces["auc"] == pytest.approx(whole["auc"], rel=1e-12)
    assert pieces["log_loss"] == pytest.approx(whole["log_loss"], rel=1e-12)


def test_ctrl_c_shows_the_folds_that_are_done(run, fever, monkeypatch):
    fits = []

    def fit(self, rows):
        fits.append(self.name)
        if len(fits) == 6:
            raise KeyboardInterrupt
        return fitted(self, rows)

    fitted = Candidate.fitted
    monkeypatch.setattr(Candidate, "fitted", fit)
    result = run_raw("evaluate", fever, "-t", "fever", "--models", "nb,tan", "--folds", "5")
    assert result.exit_code == 130
    assert "2 folds of 5-fold cross-validation on fever.csv" in result.stdout
    assert "interrupted after 2 of 5 folds; the numbers are those of these folds" in result.stderr


def run_raw(*args):
    return CliRunner().invoke(app, [str(a) for a in args], prog_name="tunbridge")


@pytest.mark.parametrize("name", ["tan", "kdb2", "aode", "snb"])
def test_models_of_every_kind_are_evaluated_on_rows(run, tennis, name):
    run("learn", tennis, "-t", "play", "--model", name, "-o", "m.tb")
    found = json.loads(run("evaluate", "m.tb", tennis, "--json").stdout)
    table = tb.datasets.play_tennis()
    assert found["log_loss"] == pytest.approx(
        log_loss(table.to_arrow()["play"].to_pylist(), tb.load("m.tb").predict_proba(table)), rel=1e-12
    )


def test_auto_compares_models_with_the_options_they_know(run, tennis):
    def losses(*options):
        result = run("evaluate", tennis, "-t", "play", "--models", "auto", "--folds", "2", "--json", *options)
        return {name: m["log_loss"]["mean"] for name, m in json.loads(result.stdout)["models"].items()}, result.stderr

    (plain, _), (strong, told) = losses(), losses("--smoothing", "50")
    assert "Note: --smoothing is ignored by bayes-forest." in told
    assert {name for name in plain if plain[name] != strong[name]} == set(plain) - {"bayes-forest"}


@pytest.mark.parametrize("option", ["--folds", "--seed"])
def test_options_of_cross_validation_do_nothing_for_a_model(run, model, tennis, option):
    result = run("evaluate", model, tennis, option, "3", code=2)
    assert f"{option} must be left out when a model is evaluated" in result.stderr


def test_a_value_that_only_some_of_the_usual_models_take(run, tmp_path):
    lines = "".join(f"{x / 7:.3f},{'no' if x % 3 else 'yes'}\n" for x in range(40))
    (tmp_path / "d.csv").write_text(f"x,y\n{lines}")
    result = run("evaluate", "d.csv", "-t", "y", "--models", "auto", "--numeric", "kernel", "--folds", "2")
    assert "--numeric is ignored by bayes-forest, aode, tan, skdb" in result.stderr


def test_models_with_spaces_between_them(run, tennis):
    told = run("evaluate", tennis, "--target", "play", "--models", "nb,", "tan", code=2).stderr
    assert "--models must be one word, with commas and without spaces; got 'tan' beside it" in told
    assert "Write --models nb,tan." in told


def test_costs_thresholds_and_mistakes_are_shown(run, fever):
    asked = ["--cost", "yes:no=5", "--thresholds", "0.1,0.5", "--errors", "2"]
    text = run("evaluate", fever, "-t", "fever", "--folds", "5", *asked).stdout
    assert "\ncost " in text
    assert "Decisions of least expected cost" in text
    assert "Thresholds on P(yes):" in text
    assert text.count("\nRow ") == 2
    assert max(map(len, text.splitlines())) <= 80


def test_results_are_written(run, fever, tmp_path: Path):
    run("evaluate", fever, "-t", "fever", "--folds", "5", "--plot", "c.svg", "--predictions", "p.csv", "-o", "r.json")
    rows = (tmp_path / "p.csv").read_text().splitlines()
    assert rows[0] == "row,fold,true,predicted,P(no),P(yes)"
    assert len(rows) == 101
    assert json.loads((tmp_path / "r.json").read_text())["rows"] == 100
    assert (tmp_path / "c.svg").stat().st_size > 1000
    run("evaluate", fever, "-t", "fever", "--folds", "5", "--models", "nb,tan", "--predictions", "q.csv")
    assert (tmp_path / "q.csv").read_text().startswith("model,row,fold")
    run("evaluate", fever, "-t", "fever", "--folds", "5", "--json", "s.json")
    assert (tmp_path / "s.json").read_text() == (tmp_path / "r.json").read_text() or (tmp_path / "s.json").exists()


def test_a_model_on_new_rows_answers_the_same_questions(run, model, tennis, tmp_path: Path):
    text = run(
        "evaluate", model, tennis, "--cost", "no=3", "--errors", "1", "--predictions", "p.csv", "--plot", "c.png"
    ).stdout
    assert "Decisions of least expected cost" in text
    assert "\nRow " in text
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 15
    found = json.loads(run("evaluate", model, tennis, "--cost", "no=3", "--errors", "1", "--json").stdout)
    assert found["cost"] >= 0
    assert found["mistakes"][0]["explanation"]["label"] == found["mistakes"][0]["predicted"]


def test_folds_by_group_and_in_time(run, tmp_path: Path):
    lines = [f"P{i % 9},2024-01-{i % 28 + 1:02},{i % 7},{'yn'[i % 2]}" for i in range(120)]
    (tmp_path / "v.csv").write_text("\n".join(["who,day,x,y", *lines]))
    by_group = run("evaluate", "v.csv", "-t", "y", "--groups", "who", "--ignore", "day", "--folds", "3").stdout
    assert by_group.startswith("3-fold cross-validation on v.csv, 9 groups kept together, target y")
    in_time = run("evaluate", "v.csv", "-t", "y", "--time", "day", "--ignore", "who", "--folds", "3").stdout
    assert "in the order of time" in in_time
    assert "Did you mean 'who'?" in run("evaluate", "v.csv", "-t", "y", "--groups", "whoo", code=1).stderr


def test_text_models_need_no_option(run, tmp_path: Path):
    rows = [f'"{text}",{kind}' for text, kind in [("cheap pills", "spam"), ("lunch at noon", "ham")] * 6]
    (tmp_path / "sms.csv").write_text("\n".join(["text,label", *rows]))
    found = run("evaluate", "sms.csv", "-t", "label", "--models", "multinomial,complement", "--folds", "3").stdout
    assert "complement" in found


def test_many_classes_show_their_most_frequent_confusions(run, tmp_path: Path):
    rows = [f"{i % 5},{chr(97 + i % 26)}{'x' * 6}" for i in range(260)]
    (tmp_path / "d.csv").write_text("\n".join(["x,y", *rows]))
    text = run("evaluate", "d.csv", "-t", "y", "--folds", "2").stdout
    assert "the most frequent mistakes" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--thresholds", "2"], "--thresholds must be numbers from 0 to 1, such as 0.1,0.5; got '2'."),
        (["--positive", "yes"], "--positive must come with --thresholds or --plot."),
        (["--plot", "c.gif"], "the name of the output must end in '.png', '.svg', '.pdf'; got 'c.gif'."),
        (["--cost", "perhaps:no=5"], "--cost must name classes of the model; got 'perhaps'."),
        (["-o", "r.txt"], "the name of the output must end in '.json'; got 'r.txt'."),
    ],
)
def test_bad_questions(run, fever, options, message):
    result = CliRunner().invoke(app, ["evaluate", str(fever), "-t", "fever", *options])
    assert message in result.stderr


@pytest.mark.parametrize("options", [["--model", "nb"], ["--model", "tan", "--calibrate", "isotonic"]])
def test_rows_that_were_learned_from_are_told(run, tmp_path, options):
    rows = [f"{i % 7},{'uvw'[i % 3]},{'' if i % 9 == 0 else i},{'pq'[i * i % 5 % 2]}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["n,a,x,y", *rows]) + "\n")
    (tmp_path / "turned.csv").write_text("\n".join(["n,a,x,y", *reversed(rows)]) + "\n")
    (tmp_path / "some.csv").write_text("\n".join(["n,a,x,y", *rows[1:]]) + "\n")
    (tmp_path / "other.csv").write_text("\n".join(["n,a,x,y", *rows[1:], "3,u,7,p"]) + "\n")
    run("learn", "d.csv", "-t", "y", *options, "-o", "m.tb")
    note = "the model was learned from these rows, so the scores are optimistic; cross-validation: tunbridge evaluate"
    for name, is_same in {"d.csv": True, "turned.csv": True, "some.csv": False, "other.csv": False}.items():
        told = run("evaluate", "m.tb", name)
        assert (f"Note: {note} {name} --target y." in told.stderr) == is_same
    assert len(tb.load(tmp_path / "m.tb").training_key_) == len("60-0123456789abcdef")
    clf = tb.load(tmp_path / "m.tb")
    if hasattr(clf, "partial_fit"):
        clf.partial_fit(tb.read_table(tmp_path / "some.csv"), "y")
        assert not hasattr(clf, "training_key_")


def test_the_suggested_command_reads_the_file_alike(run, tmp_path):
    rows = [f"{i % 7};{'uvwUx'[i % 5]};{'-9' if i % 9 == 0 else i};{'pq'[i * i % 5 % 2]}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["n;a;x;y", *rows]) + "\n")
    how = ["--merge-categories", "--missing", "-9", "--ignore", "n"]
    run("learn", "d.csv", "-t", "y", "--model", "nb", *how, "-o", "m.tb")
    told = run("evaluate", "m.tb", "d.csv").stderr
    again = "tunbridge evaluate d.csv --target y --ignore n --missing=-9 --merge-categories"
    assert f"cross-validation: {again}.\n" in told
    printed = [run(*command).stdout for command in (again.split()[1:], ["evaluate", "d.csv", "-t", "y", *how])]
    assert re.sub("Time.*", "", printed[0]) == re.sub("Time.*", "", printed[1])


@pytest.mark.parametrize("kind", ["text", "sequence"])
def test_documents_that_were_learned_from_are_told(run, tmp_path, kind):
    words = ["abab", "aabb", "bbba", "abba", "bab"]
    rows = [f"{words[i % 5]}{'a' * (i % 3)},{'pq'[i % 2]},{i}" for i in range(40)]
    (tmp_path / "d.csv").write_text("\n".join(["what,y,n", *rows]) + "\n")
    (tmp_path / "some.csv").write_text("\n".join(["what,y,n", *rows[1:]]) + "\n")
    told = run(kind, "learn", "d.csv", "-t", "y", "--column", "what", "-o", "m.tb").stdout
    assert "\nNot used  n (tunbridge learn uses all columns)\n" in told
    note = "the model was learned from these rows, so the scores are optimistic; cross-validation: "
    again = f"tunbridge evaluate d.csv --target y --{kind} --column what"
    assert f"Note: {note}{again}.\n" in run("evaluate", "m.tb", "d.csv").stderr
    assert note not in run("evaluate", "m.tb", "some.csv").stderr
    assert run(*again.split()[1:]).exit_code == 0


def test_a_folder_that_was_learned_from_is_told(run, tmp_path):
    for i in range(8):
        (tmp_path / "mails" / "pq"[i % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "mails" / "pq"[i % 2] / f"{i}.txt").write_text(f"word{i % 3} other{i % 2}")
    run("text", "learn", "mails", "-o", "m.tb")
    assert "cross-validation: tunbridge evaluate mails.\n" in run("evaluate", "m.tb", "mails").stderr


def test_the_baseline_is_called_what_it_is(run, tmp_path):
    rows = [f"{i},{'uvw'[i % 3]},{'p' if i < 40 else 'q'}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["n,a,y", *rows]) + "\n")
    usual = run("evaluate", "d.csv", "-t", "y", "--models", "nb,tan", "--folds", "3")
    assert "\nalways p " in usual.stdout
    cost = run("evaluate", "d.csv", "-t", "y", "--models", "nb,tan", "--folds", "3", "--cost", "q:p=9")
    assert "\nclass frequencies " in cost.stdout
    assert "always p" not in cost.stdout
    time = run("evaluate", "d.csv", "-t", "y", "--time", "n", "--folds", "3")
    assert "± s.e.  class frequencies\n" in time.stdout
    assert "Note: 15 rows, the earliest, only learned from.\n" in time.stderr


def test_few_rows_get_a_note(run, tennis, tmp_path):
    (tmp_path / "few.csv").write_text(
        "\n".join(["a,y", *[f"{'uv'[i % 2]},{'pq'[i // 2 % 2]}" for i in range(10)]]) + "\n"
    )
    told = run("evaluate", "few.csv", "-t", "y", "--folds", "2").stderr
    note = "Note: scores from 10 rows say little: other rows may give very different ones.\n"
    assert note in told
    assert note in run("learn", "few.csv", "-t", "y").stderr
