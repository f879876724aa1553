from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.cli.models import model_names


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_model_is_the_one_that_python_learns(run, tennis, tmp_path):
    told = run("learn", tennis, "--target", "play", "-o", "m.tb", "--smoothing", "0.5").stdout
    assert "14 rows, 5 columns" in told
    assert "play: no 5 (35.7 %), yes 9 (64.3 %)" in told
    assert "4 categorical" in told
    assert "Model saved to m.tb" in told
    expected = tb.NaiveBayesClassifier(smoothing=0.5).fit(tb.datasets.play_tennis(), "play")
    found = tb.load(tmp_path / "m.tb")
    table = tb.datasets.play_tennis()
    np.testing.assert_allclose(found.predict_proba(table), expected.predict_proba(table), rtol=1e-12, atol=0)
    assert found.target_name_ == "play"


@pytest.mark.parametrize(("name", "model"), [("tennis.csv", "tennis.tb"), ("a.b.csv", "a.b.tb")])
def test_the_model_is_named_after_the_table(run, tennis, tmp_path, name, model):
    (tmp_path / "sub").mkdir()
    tennis.rename(tmp_path / "sub" / name)
    run("learn", f"sub/{name}", "-t", "play")
    assert tb.load(tmp_path / model).classes_.tolist() == ["no", "yes"]


def test_options_reach_the_classifier(run, tmp_path):
    write(tmp_path / "d.csv", "id,ward,dose,w,ill\n1,3,0.5,1,no\n2,4,1.5,2,yes\n3,3,2.5,1,yes\n4,5,0.25,1,no\n")
    told = run(
        "learn", "d.csv", "-t", "ill", "--ignore", "id", "--categorical", "ward", "--weights", "w",
        "--numeric", "kernel", "--prior", "yes=0.3", "--prior", "no=0.7",
    )  # fmt: skip
    clf = tb.load(tmp_path / "d.tb")
    assert [v.name for v in clf.variables_] == ["ward", "dose"]
    assert clf.variables_[0].states == ("3", "4", "5")
    assert clf.statistics_.roles == ("categorical", "kernel")
    assert clf.class_count_.tolist() == [2.0, 3.0]
    np.testing.assert_allclose(np.exp(clf.class_log_prior_), [0.7, 0.3], rtol=1e-12, atol=0)
    assert "Ignored" in told.stdout
    assert "1 categorical, 1 numeric (kernel)" in told.stdout


def test_numbers_of_classes_stay_numbers(run, tmp_path):
    write(tmp_path / "d.csv", "x,grade\n" + "".join(f"{i * 0.5},{i % 3 + 1}\n" for i in range(12)))
    run("learn", "d.csv", "--target", "grade")
    assert tb.load(tmp_path / "d.tb").classes_.tolist() == [1, 2, 3]
    run("learn", "d.csv", "--target", "grade", "--categorical", "grade")
    assert tb.load(tmp_path / "d.tb").classes_.tolist() == ["1", "2", "3"]


def test_what_was_read_as_missing_is_told_by_column_and_marker(run, tmp_path):
    write(tmp_path / "d.csv", "age,city,ill\n-99,NA,no\n31,,yes\n?,x,yes\n40,y,no\n55,None,no\n")
    told = run("learn", "d.csv", "--target", "ill", "--missing", "-99").stdout
    assert "age: 2 ('-99' 1, '?' 1)" in told
    assert "city: 2 (empty 1, 'NA' 1)" in told
    assert "tunbridge predict d.tb rows.csv -o predicted.csv\n" in told  # the model remembers
    told = run("learn", "d.csv", "--target", "ill", "--not-missing", "NA").stdout
    assert "city: 1 (empty 1)" in told
    assert "NA" in tb.load(tmp_path / "d.tb").variables_[1].states


def test_rows_without_a_class_are_left_out_and_counted(run, tmp_path):
    write(tmp_path / "d.csv", "x,ill\na,no\nb,yes\na,\nb,?\na,no\n")
    told = run("learn", "d.csv", "--target", "ill").stdout
    assert "2 rows without ill" in told
    assert "5 rows" in told
    assert tb.load(tmp_path / "d.tb").class_count_.tolist() == [2.0, 1.0]


def test_leaving_rows_out_does_not_change_the_kind_of_a_column(run, tmp_path):
    write(tmp_path / "d.csv", "age,ill\n31,no\n44,\n50,yes\n")
    assert "1 numeric (gaussian)" in run("learn", "d.csv", "--target", "ill").stdout


def test_columns_that_look_like_mistakes_are_named(run, tmp_path):
    rows = "".join(f"p{i},same,,{i % 2},{'yes' if i % 3 else 'no'}\n" for i in range(20))
    write(tmp_path / "d.csv", "patient id,kind,nothing,x,ill\n" + rows)
    told = run("learn", "d.csv", "--target", "ill").stdout
    assert "patient id looks like an identifier\n" in told
    assert "kind has only one value\n" in told
    assert "nothing has only missing values\n" in told
    assert "(--categorical NAME keeps such a column)" in told
    assert [v.name for v in tb.load("d.tb").variables_] == ["x"]
    run("learn", "d.csv", "--target", "ill", "--categorical", "patient id", "-o", "kept.tb")
    assert [v.name for v in tb.load("kept.tb").variables_] == ["patient id", "x"]


def test_a_model_is_replaced_but_nothing_else(run, tennis, model):
    before = model.read_bytes()
    run("learn", tennis, "--target", "play", "-o", model, "--smoothing", "2")
    assert model.read_bytes() != before
    text = tennis.read_text()
    told = run("learn", tennis, "--target", "play", "-o", tennis, code=1)
    assert "must not overwrite a file that is not a model" in told.stderr
    assert tennis.read_text() == text


BAD = {
    "target that is not there": ("x,ill\na,no\nb,yes\n", ["-t", "ilt"], 1, "got 'ilt'. Did you mean 'ill'?"),
    "constant target": ("x,ill\na,no\nb,no\n", ["-t", "ill"], 1, "must have at least two classes"),
    "target all missing": ("x,ill\na,\nb,NA\n", ["-t", "ill"], 1, "every cell of column 'ill' is missing"),
    "continuous target": ("x,y\na,1.5\nb,2.5\nc,0.1\n", ["-t", "y"], 1, "holds numbers that are not integers"),
    "date target": ("x,y\na,2020-01-02\nb,2021-01-02\nc,2022-01-03\n", ["-t", "y"], 1, "holds dates or times"),
    "target of many numbers": (
        "x,y\n" + "".join(f"a,{i // 2}\n" for i in range(60)), ["-t", "y"], 1, "many different numbers",
    ),
    "target that names rows": (
        "x,y\n" + "".join(f"a,n{i}\n" for i in range(30)), ["-t", "y"], 1, "another value in each of 30 rows",
    ),
    "no feature": ("ill\nno\nyes\n", ["-t", "ill"], 1, "a column to learn from"),
    "all features ignored": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--ignore", "x"], 1, "a column to learn from"),
    "ignored column that is not there": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--ignore", "y"], 1, "--ignore must"),
    "ignored target": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--ignore", "ill"], 1, "must not name the target"),
    "unknown categorical": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--categorical", "z"], 1, "--categorical must"),
    "unknown weights": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--weights", "z"], 1, "--weights must name a column"),
    "weights of the target": ("x,ill\na,0\nb,1\n", ["-t", "ill", "--weights", "ill"], 1, "--weights must not name"),
    "negative weight": ("x,w,ill\na,-1,no\nb,1,yes\n", ["-t", "ill", "--weights", "w"], 1, "not negative"),
    "header only": ("x,ill\n", ["-t", "ill"], 1, "holds a header but no rows"),
    "empty": ("", ["-t", "ill"], 1, "it is empty"),
    "ragged": ("x,ill\na,no\nb\n", ["-t", "ill"], 1, "line 3:"),
    "wrong encoding name": ("x,ill\na,no\n", ["-t", "ill", "--encoding", "klingon"], 1, "text encoding"),
    "wrong delimiter": ("x,ill\na,no\n", ["-t", "ill", "--delimiter", ";;"], 1, "delimiter must be one"),
    "unknown format": ("x,ill\na,no\n", ["-t", "ill", "--format", "word"], 1, "format must be one of"),
    "option of networks": ("x,ill\na,no\n", ["-t", "ill", "--score", "bic"], 2, "no option --score; it belongs"),
    "number of parents": ("x,ill\na,no\n", ["-t", "ill", "--model", "kdb", "--k", "3"], 2, "no option --k; it belongs"),
    "seed of one model": ("x,ill\na,no\n", ["-t", "ill", "--model=nb", "--seed=3"], 2, "--seed must come with a model"),
    "unknown model": ("x,ill\na,no\n", ["-t", "ill", "--model", "tann"], 2, "got 'tann'. Did you mean 'tan'?"),
    "near auto": ("x,ill\na,no\n", ["-t", "ill", "--model", "autp"], 2, "got 'autp'. Did you mean 'auto'?"),
    "unknown models": ("x,ill\na,no\n", ["-t", "ill", "--model", "svm"], 2, "bayes-optimal, auto; got 'svm'."),
    "no file for a forest": ("x,ill\na,no\n", ["-t", "ill", "--model", "forest"], 2, "'forest' is scikit-learn's"),
    "folds of one model": ("x,ill\na,no\n", ["-t", "ill", "--model", "tan", "--folds", "3"], 2, "--folds must come"),
    "densities of a tree": ("x,ill\na,no\n", ["-t", "ill", "--model", "tan", "--numeric", "kernel"], 2, "for tan"),
    "model without target": ("x,ill\na,no\n", ["--model", "tan"], 2, "--target is missing"),
    "no target": ("x,ill\na,no\n", [], 2, "it names the column to predict. d.csv has the columns 'x', 'ill'."),
    "label": ("x,ill\na,no\n", ["--label", "ill"], 2, "For a network use tunbridge network learn."),
    "folds": ("x,ill\na,no\n", ["-t", "ill", "--folds", "1"], 2, "--folds must be at least 2; got 1."),
    "no number": ("x,ill\na,no\n", ["-t", "ill", "--folds", "x"], 2, "--folds must be an integer; got 'x'."),
    "model and search": (
        "x,ill\na,no\n", ["-t", "ill", "--model", "tan", "--search", "tan"], 2, "no option --model; it belongs",
    ),
    "name of a network": ("x,ill\na,no\n", ["-t", "ill", "-o", "d.bif"], 2, "must not be that of a network"),
    "unknown kind of density": ("x,ill\na,no\n", ["-t", "ill", "--numeric", "gausian"], 2, "got 'gausian'"),
    "negative smoothing": ("x,ill\na,no\n", ["-t", "ill", "--smoothing", "-1"], 2, "--smoothing"),
    "text for smoothing": ("x,ill\na,no\n", ["-t", "ill", "--smoothing", "much"], 2, "--smoothing"),
    "unknown option": ("x,ill\na,no\n", ["-t", "ill", "--smooting", "1"], 2, "--smooting"),
    "prior without a number": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--prior", "no"], 2, "--prior must be uniform"),
    "prior of one class": ("x,ill\na,no\nb,yes\n", ["-t", "ill", "--prior", "no=1"], 1, "--prior must give every"),
    "marker that is none": ("x,ill\na,no\n", ["-t", "ill", "--not-missing", "x"], 2, "--not-missing must be one of"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(run, tmp_path, case):
    text, options, code, message = BAD[case]
    write(tmp_path / "d.csv", text)
    assert message in run("learn", "d.csv", *options, code=code).stderr
    assert not (tmp_path / "d.tb").exists()


def test_messages_speak_of_options(run, tmp_path):
    (tmp_path / "d.csv").write_bytes("x,ill\né,no\n".encode("latin-1"))
    assert "Try --encoding latin-1" in run("learn", "d.csv", "-t", "ill", "--encoding", "utf-8", code=1).stderr


def test_a_file_that_is_not_there_gets_a_near_miss(run, tennis):
    assert "Did you mean 'tennis.csv'?" in run("learn", "tenis.csv", "-t", "play", code=1).stderr


def test_a_folder_is_no_table(run, tmp_path):
    assert "folder" in run("learn", tmp_path, "-t", "play", code=1).stderr


def test_a_model_needs_a_place(run, tennis, tmp_path):
    assert (
        "must be written to a writable place" in run("learn", tennis, "-t", "play", "-o", "no/such/m.tb", code=1).stderr
    )
    assert "folder" in run("learn", tennis, "-t", "play", "-o", tmp_path, code=1).stderr


def test_delimiters_and_encodings(run, tmp_path):
    (tmp_path / "d.txt").write_bytes("x\till\nKöln\tno\nUlm\tyes\n".encode("latin-1"))
    run("learn", "d.txt", "-t", "ill", "--format", "csv", "--delimiter", r"\t", "--encoding", "latin-1")
    assert tb.load(tmp_path / "d.tb").variables_[0].states == ("Köln", "Ulm")


def test_a_column_of_numbers_with_one_odd_word_is_told(run):
    for word, line in (
        ("old", "age is categorical, because 'old' (1 row) is not a number; --missing=old reads it so"),
        ("n/a", "age: 1 ('n/a' 1)"),
    ):
        lines = [f"{i},{word if i == 5 else 20 + i},{'yes' if i % 3 else 'no'}" for i in range(30)]
        Path("ages.csv").write_text("\n".join(["row,age,ill", *lines]) + "\n")
        told = run("learn", "ages.csv", "-t", "ill").stdout
        assert line in told
    assert "row looks like an identifier" in told
    assert "numbers" not in run("learn", "ages.csv", "-t", "ill", "--missing", "n/a").stdout


@pytest.mark.parametrize(("name", "expected"), [("tan", tb.TANClassifier()), ("KDB3", tb.KDBClassifier(k=3))])
def test_a_model_that_is_named(run, tennis, tmp_path, name, expected):
    told = run("learn", tennis, "-t", "play", "--model", name).stdout
    assert f"Model     {name.lower()}: " in told
    table = tb.datasets.play_tennis()
    found = tb.load(tmp_path / "tennis.tb")
    assert type(found) is type(expected)
    np.testing.assert_array_equal(found.predict_proba(table), expected.fit(table, "play").predict_proba(table))


def test_options_reach_other_models_too(run, tmp_path):
    write(tmp_path / "d.csv", "ward,dose,w,ill\n" + "3,0.5,1,no\n4,1.5,2,yes\n3,2.5,1,yes\n5,0.25,1,no\n" * 3)
    told = run(
        "learn", "d.csv", "-t", "ill", "--model", "tan", "--categorical", "ward", "--weights", "w",
        "--smoothing", "2", "--prior", "uniform",
    ).stdout  # fmt: skip
    clf = tb.load(tmp_path / "d.tb")
    assert clf.smoothing == 2.0
    assert clf.variables_[0].states == ("3", "4", "5")
    np.testing.assert_allclose(np.exp(clf.class_log_prior_), [0.5, 0.5], rtol=1e-12, atol=0)
    assert "1 categorical, 1 numeric (discretise)" in told


def test_the_best_of_several_is_kept(run, tmp_path):
    run("datasets", "flu_malaria_fever", "-o", "fever.csv")
    told = run("learn", "fever.csv", "-t", "fever", "--model", "nb,tan", "--folds", "4", "--seed", "2").stdout
    choice = tb.classify(tb.datasets.flu_malaria_fever(), "fever", ["nb", "tan"], folds=4, random_state=2)
    assert choice.reason in told
    assert "4-fold cross-validation, target fever, seed 2: 100 rows" in told
    assert f"Model     {choice.name}: " in told
    assert type(tb.load(tmp_path / "fever.tb")) is type(choice.classifier)


def test_a_model_of_chance_has_a_seed(run, tennis, tmp_path):
    def learned(*options):
        run("learn", tennis, "-t", "play", "--model", "bayes-forest", *options)
        return tb.load(tmp_path / "tennis.tb").predict_proba(tb.datasets.play_tennis())

    np.testing.assert_array_equal(learned(), learned("--seed", "0"))
    assert not np.array_equal(learned(), learned("--seed", "1"))


def test_auto_compares_the_usual_models(run, tennis, tmp_path):
    told = run("learn", tennis, "-t", "play", "--model", "auto").stdout
    assert "Chosen: " in told
    assert "No model is better than the class frequencies (log-loss " in told
    assert tb.load(tmp_path / "tennis.tb").classes_.tolist() == ["no", "yes"]


def test_auto_learns_without_what_a_model_does_not_know(run, tennis, tmp_path):
    result = run("learn", tennis, "-t", "play", "--model", "auto", "--smoothing", "50", "--folds", "2")
    assert result.exit_code == 0
    assert "Note: --smoothing is ignored by bayes-forest." in result.stderr
    assert "bayes-forest" in result.stdout
    assert model_names("--model", ["auto,nb"]) == model_names("--model", ["auto"])
    result = run("learn", tennis, "-t", "play", "--model", "nb,bayes-forest", "--smoothing", "50", code=2)
    assert "--smoothing must come with models that have it" in result.stderr


def test_numbers_that_no_cut_parts_are_told(run, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    lines = [f"{v:.3f},{n:.3f},{c}" for v, n, c in zip(rng.normal(3 * y), rng.normal(size=300), y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["good,noise,y", *lines]))
    done = run("learn", tmp_path / "t.csv", "--target", "y", "--model", "tan", "-o", tmp_path / "m.tb")
    told = " ".join(done.stdout.split())
    assert "noise: in one bin, because no cut separates the classes" in told
    assert "good: in one" not in told


def test_several_values_may_be_separated_by_commas(run, tennis):
    told = run(
        "learn", tennis, "-t", "play", "--ignore", "wind,humidity", "--prior", "no=0.4,yes=0.6", "-o", "x.tb"
    ).stdout
    assert "Ignored   wind, humidity" in told
    assert tb.load("x.tb").class_prior == {"no": 0.4, "yes": 0.6}
    assert "got 'humdity'" in run("learn", tennis, "-t", "play", "--ignore", "wind,humdity", code=1).stderr


def test_a_column_may_have_a_comma_in_its_name(run, tmp_path: Path):
    (tmp_path / "d.csv").write_text('"a,b",a,b,ill\n1,x,y,no\n2,y,x,yes\n')
    assert "Ignored   a,b\n" in run("learn", tmp_path / "d.csv", "-t", "ill", "--ignore", "a,b").stdout


def test_all_columns_may_be_categorical(run, tmp_path):
    rows = "".join(f"{i % 3},{i % 5},{i % 2}\n" for i in range(30))
    (tmp_path / "d.csv").write_text(f"a,b,ill\n{rows}")
    run("learn", "d.csv", "--target", "ill", "--model", "nb", "--categorical", "*", "-o", "m.tb")
    assert all(v.is_categorical for v in tb.load("m.tb").variables_)


def test_a_target_of_numbers_in_bins(run, tmp_path):
    rows = "".join(f"{i % 7},{1.5 * (i % 7) + i / 100}\n" for i in range(70))
    (tmp_path / "d.csv").write_text(f"a,price\n{rows}")
    assert "--target-bins 3" in run("learn", "d.csv", "--target", "price", code=1).stderr
    told = run("learn", "d.csv", "--target", "price", "--model", "nb", "--target-bins", "2", "-o", "m.tb").stdout
    assert len(tb.load("m.tb").classes_) == 2
    assert "Classes   price: ≤ " in told or "Classes   price: > " in told
    wrong = run("learn", "d.csv", "--target", "a", "--categorical", "a", "--target-bins", "2", code=1).stderr
    assert "--target-bins must come with a target of numbers; the target 'a' holds categories" in wrong


def test_two_rows_cannot_be_compared(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,ill\nu,no\nv,yes\n")
    assert "no class has two rows, so models could not be compared" in run("learn", "d.csv", "--target", "ill").stderr
    assert type(tb.load("d.tb")).__name__ == "NaiveBayesClassifier"


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    """Write a few rows with a class, many without in a file of their own, and both in one file."""
    draw, rows = random.Random(0), []
    for i in range(200):
        ill = draw.random() < 0.5
        rows.append(
            [draw.gauss(2 * ill, 1), draw.choice("ab" if ill else "bc"), ("yes" if ill else "no") if i < 20 else ""]
        )
    lines = [f"{x:.3f},{c},{y}" for x, c, y in rows]
    (tmp_path / "labelled.csv").write_text("x,c,ill\n" + "\n".join(lines[:20]))
    (tmp_path / "more.csv").write_text("c,x\n" + "\n".join(f"{c},{x:.3f}" for x, c, _ in rows[20:]))
    (tmp_path / "one.csv").write_text("x,c,ill\n" + "\n".join(lines))
    return tmp_path


def test_rows_without_a_class_of_another_file_or_of_the_same(run, halves: Path) -> None:
    files = ("labelled.csv", "--unlabelled", "more.csv")
    told = run("learn", *files, "-t", "ill", "--unlabelled-weight", "0.5", "-o", "a.tb")
    assert "20 rows with a class, 180 without" in told.stdout
    assert "weight 0.5 of these" in told.stdout
    told = run("learn", "one.csv", "-t", "ill", "--unlabelled-weight", "0.5", "-o", "b.tb").stdout
    assert "20 rows with a class, 180 without" in told
    assert "Left out" not in told
    a, b = tb.load("a.tb"), tb.load("b.tb")
    assert type(a).__name__ == "SemiSupervisedClassifier"
    rows = {"x": [0.0, 1.0, 2.0], "c": ["a", "b", "c"]}
    np.testing.assert_allclose(a.predict_proba(rows), b.predict_proba(rows), rtol=1e-9, atol=0)
    plain = tb.SemiSupervisedClassifier(unlabelled=None, unlabelled_weight=0.5).fit(tb.read_table("one.csv"), "ill")
    np.testing.assert_allclose(b.predict_proba(rows), plain.predict_proba(rows), rtol=1e-9, atol=0)
    assert run("predict", "a.tb", "more.csv", "--only").stdout.count("\n") == 181
    assert "P(" in run("explain", "a.tb", "more.csv", "--row", 3).stdout
    assert "accuracy" in run("evaluate", "a.tb", "labelled.csv").stdout


def test_the_weight_of_rows_without_a_class_is_cross_validated(run, halves: Path) -> None:
    told = run("learn", "labelled.csv", "-t", "ill", "--unlabelled", "more.csv", "--model", "tan", "-o", "t.tb").stdout
    assert "Held out    cross-validated log-loss" in told
    assert "tan: tree-augmented naive Bayes" in told
    weight = tb.load("t.tb").unlabelled_weight_
    assert f"weight {weight:g} of these" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "nb,tan"], "--unlabelled must come with one --model"),
        (["--calibrate", "platt"], "--unlabelled must come without --calibrate"),
        (["--model", "bayes-optimal"], "--unlabelled must come with a model of how rows arise, such as nb or tan"),
        (["--unlabelled-weight", "7"], "--unlabelled-weight must be a number from 0 to 1, or auto; got 7"),
    ],
)
def test_what_rows_without_a_class_do_not_go_with(run, halves: Path, options: list[str], said: str) -> None:
    assert said in run("learn", "labelled.csv", "-t", "ill", "--unlabelled", "more.csv", *options, code=2).stderr


def test_rows_without_a_class_need_the_same_columns(run, halves: Path) -> None:
    (halves / "less.csv").write_text("xx,c\n1,a\n2,b\n")
    told = run("learn", "labelled.csv", "-t", "ill", "--unlabelled", "less.csv", code=1).stderr
    assert "less.csv must have the columns that are learned from; 'x' is not there." in told


def test_the_bayes_optimal_classifier_by_name(run, tennis: Path) -> None:
    told = run("learn", tennis, "-t", "play", "--model", "bayes-optimal", "-o", "bo.tb").stdout
    weights = tb.load("bo.tb").weights_
    assert "Averaged  " + ", ".join(f"{name} {w:.3g}" for name, w in weights.items()) in told
    assert "bayes-optimal" in run("evaluate", tennis, "-t", "play", "--models", "nb,bayes-optimal", "--folds", 2).stdout


def test_an_option_of_naive_bayes_is_the_reason_not_to_compare(run, tennis):
    told = run("learn", tennis, "-t", "play", "--numeric", "gaussian", "-o", "m.tb").stdout
    assert "\nModel     nb: naive Bayes, because --numeric is an option of it\n" in told
    assert "--model NAME" in run("learn", "--help").stdout


def test_merged_categories_come_first_and_are_never_cut(run, tmp_path):
    names = [f"c{k}" for k in range(10)]
    rows = [[f"{'aAbB'[(i + k) % 4]}{k}" for k in range(10)] + [f"{i % 5 * 3},5", "pq"[i % 3 % 2]] for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(";".join(row) for row in [[*names, "x", "y"], *rows]) + "\n")
    told = run("learn", "d.csv", "-t", "y", "--model", "nb", "--merge-categories", "-o", "m.tb").stdout
    assert told.count("Merged in 'c") == 20
    assert told.index("Merged in 'c9'") < told.index("2 more lines: tunbridge describe d.csv")
    assert "Merged in 'c9': 'a9' into 'A9'" in run("describe", "d.csv", "--merge-categories").stdout
    assert "c9 has categories that differ in capitals" in run("describe", "d.csv").stdout


def test_the_columns_of_the_file_are_counted(run, tmp_path):
    rows = {
        "id": [f"p{i}" for i in range(40)],
        "a": ["u", "v"] * 20,
        "b": ["u", "v"] * 20,
        "y": ["p", "p", "q", "q"] * 10,
    }
    for name in ("d.csv", "d.parquet"):
        tb.as_table(rows).write(tmp_path / name)
        told = run("learn", name, "-t", "y", "--ignore", "b", "--model", "nb", "-o", "m.tb").stdout
        assert told.startswith(f"Read      {name}: 40 rows, 4 columns\n")
