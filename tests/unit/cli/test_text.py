from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tunbridge as tb
from tunbridge.cli import documents
from tunbridge.cli.models import model_names
from tunbridge.cli.verbs.explain import file_of
from tunbridge.text.text_classifier import MODELS

HAM = [
    "See you at noon.",
    "Lunch at noon?",
    "The meeting is at ten, see you there",
    "Thanks, see you tomorrow at lunch",
]
SPAM = [
    "You have won a prize!",
    "Cheap pills, a prize for you",
    "Win cheap watches now",
    "Claim your prize now, winner",
]
DOCUMENTS = [("ham", text) for text in HAM] + [("spam", text) for text in SPAM]


def csv_of(rows, header="label,text") -> str:
    return f"{header}\n" + "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def python_model(**parameters):
    labels, texts = zip(*DOCUMENTS, strict=True)
    return tb.TextClassifier(**parameters).fit(list(texts), list(labels))


@pytest.fixture
def sms(run, tmp_path) -> Path:
    return write(tmp_path / "sms.csv", csv_of(DOCUMENTS))


@pytest.fixture
def mails(run, tmp_path) -> Path:
    for n, (label, text) in enumerate(DOCUMENTS):
        write(tmp_path / "mails" / label / f"{n}.txt", text)
    return tmp_path / "mails"


@pytest.fixture
def spam(run, sms) -> Path:
    run("learn", sms, "--target", "label", "--text", "-o", "spam.tb")
    return Path("spam.tb")


# learn


def test_the_model_is_the_one_that_python_learns(run, sms):
    told = run("learn", sms, "--target", "label", "--text").stdout
    assert "8 documents in column text" in told
    assert "multinomial: naive Bayes, how often words occur" in told
    assert "label: ham 4 (50.0 %), spam 4 (50.0 %)" in told
    assert "tunbridge predict sms.tb rows.csv" in told
    found, new = tb.load("sms.tb"), ["a prize at noon", "", "see the winner"]
    np.testing.assert_allclose(found.predict_proba(new), python_model().predict_proba(new), rtol=1e-12, atol=0)
    assert found.target_name_ == "label"
    assert found.statistics_.column == "text"


OPTIONS = {
    "model": (["--model", "complement"], {"model": "complement"}),
    "alias": (["--model", "NB"], {}),
    "nb-svm": (["--model", "nb_svm"], {"model": "nb-svm"}),
    "ngrams": (["--ngrams", "2"], {"ngrams": 2}),
    "range of ngrams": (["--ngrams", "2-3"], {"ngrams": (2, 3)}),
    "characters": (["--characters", "--ngrams", "3-4"], {"tokens": "characters", "ngrams": (3, 4)}),
    "characters alone": (["--characters"], {"tokens": "characters", "ngrams": (1, 4)}),
    "letters": (["--tokens", "letters"], {"tokens": "letters"}),
    "marks": (["--tokens", "marks", "--ngrams", "2"], {"tokens": "words and marks", "ngrams": 2}),
    "case": (["--keep-case"], {"lower_case": False}),
    "shortest": (["--shortest", "4"], {"shortest": 4}),
    "number of stop words": (["--stop-words", "2"], {"stop_words": 2}),
    "stop words": (["--stop-words", "noon,prize"], {"stop_words": ["noon", "prize"]}),
    "rare words": (["--min-documents", "2", "--min-count", "3"], {"min_documents": 2, "min_count": 3}),
    "buckets": (["--buckets", "64"], {"n_buckets": 64}),
    "weights of words": (
        ["--counts", "log", "--length", "unit", "--idf"], {"counts": "log", "length": "unit", "idf": True},
    ),
    "length": (["--length", "20", "--no-idf"], {"length": 20.0, "idf": False}),
    "smoothing and prior": (
        ["--smoothing", "0.5", "--prior", "ham=0.9", "--prior", "spam=0.1"],
        {"smoothing": 0.5, "class_prior": {"ham": 0.9, "spam": 0.1}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", OPTIONS.values(), ids=OPTIONS)
def test_options_reach_the_classifier(run, sms, words):
    options, parameters = words
    run("learn", sms, "-t", "label", "--text", *options)
    found, expected, new = tb.load("sms.tb"), python_model(**parameters), ["a prize at noon, Win!", "lunch there now"]
    np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(new), rtol=1e-9, atol=0)
    if parameters:
        usual = python_model().get_params()
        assert {k: v for k, v in found.get_params().items() if v != usual[k]} == parameters


def test_characters_are_no_other_tokens(run, sms):
    found = run("learn", sms, "-t", "label", "--text", "--characters", "--tokens", "letters", code=2)
    assert "--characters must come without --tokens letters." in found.stderr


def test_a_model_without_words_is_told(run, sms):
    found = run("learn", sms, "-t", "label", "--text", "--min-count", "1000")
    assert "No word is left to learn from, so that every text gets the prior" in found.stderr


def test_stop_words_come_from_a_file(run, sms, tmp_path):
    write(tmp_path / "stop.txt", "noon\nprize\n")
    run("learn", sms, "-t", "label", "--text", "--stop-words", "stop.txt")
    assert tb.load("sms.tb").stop_words == ["noon", "prize"]


def test_batches_give_what_all_documents_at_once_give(run, sms, monkeypatch):
    run("learn", sms, "-t", "label", "--text", "-o", "whole.tb")
    monkeypatch.setattr(documents, "BATCH_ROWS", 3)
    run("learn", sms, "-t", "label", "--text", "-o", "batches.tb")
    new = ["a prize at noon", "see the winner"]
    whole, batches = tb.load("whole.tb"), tb.load("batches.tb")
    np.testing.assert_allclose(batches.predict_proba(new), whole.predict_proba(new), rtol=1e-12, atol=0)
    assert (batches.target_name_, batches.statistics_.column) == ("label", "text")


@pytest.mark.parametrize("name", ["d.jsonl.gz", "d.parquet", "d.tsv", "d.txt"])
def test_tables_of_every_kind_are_read(run, tmp_path, name):
    labels, texts = zip(*DOCUMENTS, strict=True)
    if name.endswith("parquet"):
        parquet.write_table(pa.table({"label": labels, "text": texts}), name)
    elif name.endswith("gz"):
        rows = "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in DOCUMENTS)
        (tmp_path / name).write_bytes(gzip.compress(rows.encode()))
    else:
        write(tmp_path / name, csv_of(DOCUMENTS).replace('","', '"\t"').replace("label,text", "label\ttext"))
    how = ["--format", "tsv"] if name.endswith("txt") else []
    run("learn", name, "-t", "label", "--text", *how, "-o", "m.tb")
    expected = python_model().predict_proba(HAM)
    np.testing.assert_allclose(tb.load("m.tb").predict_proba(HAM), expected, rtol=1e-12, atol=0)
    told = run("predict", "m.tb", name, "--only", *how).stdout.split()
    assert told == ["prediction", *python_model().predict(list(texts)).tolist()]


def test_a_folder_means_text(run, mails):
    told = run("learn", "mails", "-o", "m.tb").stdout
    assert "Read     mails: 8 documents\n" in told
    assert "class: ham 4 (50.0 %), spam 4 (50.0 %)" in told
    expected = python_model().predict_proba(SPAM)
    np.testing.assert_allclose(tb.load("m.tb").predict_proba(SPAM), expected, rtol=1e-12, atol=0)
    run("learn", "mails")
    assert tb.load("mails.tb").target_name_ == "class"


def test_the_model_of_the_folder_of_work_has_its_name(run, mails, monkeypatch):
    monkeypatch.chdir(mails)
    run("learn", ".", "-o", "../x.tb")
    assert tb.load("../x.tb").classes_.tolist() == ["ham", "spam"]
    told = run("learn", ".").stdout
    assert "Model saved to mails.tb" in told


def test_numbers_of_classes_stay_numbers(run, tmp_path):
    write(tmp_path / "d.csv", csv_of([(n % 2 + 1, text) for n, (_, text) in enumerate(DOCUMENTS)]).replace('"1"', "1"))
    run("learn", "d.csv", "--target", "label", "--text")
    assert tb.load("d.tb").classes_.tolist() == [1, 2]
    run("learn", "d.csv", "--target", "label", "--text", "--categorical", "label")
    assert tb.load("d.tb").classes_.tolist() == ["1", "2"]


def test_the_usual_missing_markers_are_texts_and_an_empty_cell_is_none(run, tmp_path):
    write(tmp_path / "d.csv", "label,text\nham,NA\nspam,null and void\nham,\nspam,gone\n")
    assert "Empty    1 document\n" in run("learn", "d.csv", "-t", "label", "--text").stdout
    assert "na" in tb.load("d.tb").top_words("ham")
    run("learn", "d.csv", "-t", "label", "--text", "--missing", "NA")
    assert "na" not in tb.load("d.tb").top_words("ham")


def test_rows_without_a_class_are_left_out_unless_they_are_wanted(run, tmp_path):
    rows = [*DOCUMENTS, ("", "pills and tablets"), ("", "tablets for you")]
    write(tmp_path / "d.csv", csv_of(rows))
    told = run("learn", "d.csv", "-t", "label", "--text").stdout
    assert "Left out  2 rows without label" in told
    assert isinstance(tb.load("d.tb"), tb.TextClassifier)
    told = run("learn", "d.csv", "-t", "label", "--text", "--unlabelled-weight", "0.5").stdout
    assert "2 rows without label, weight 0.5" in told
    assert "Left out" not in told
    found = tb.load("d.tb")
    labels, texts = zip(*[(label or None, text) for label, text in rows], strict=True)
    expected = tb.SemiSupervisedClassifier(tb.TextClassifier(), unlabelled_weight=0.5).fit(list(texts), list(labels))
    np.testing.assert_allclose(found.predict_proba(["tablets"]), expected.predict_proba(["tablets"]), rtol=1e-9, atol=0)
    assert found.predict(["tablets"]).tolist() == ["spam"]
    told = run("learn", "d.csv", "-t", "label", "--text", "--unlabelled-weight", "auto", "--seed", "3").stdout
    assert "chosen by cross-validation" in told
    assert run("predict", "d.tb", "d.csv", "--only").stdout.count("\n") == len(rows) + 1


def test_weights_count(run, tmp_path):
    write(tmp_path / "d.csv", csv_of([(*row, n) for n, row in enumerate(DOCUMENTS)], "label,text,n"))
    told = run("learn", "d.csv", "-t", "label", "--text", "--weights", "n").stdout
    assert "Weights  n" in told
    assert tb.load("d.tb").class_count_.tolist() == [6.0, 22.0]


def test_probabilities_are_calibrated(run, sms):
    assert "by platt" in run("learn", sms, "-t", "label", "--text", "--calibrate", "platt").stdout
    found = tb.load("sms.tb")
    assert isinstance(found, tb.CalibratedClassifier)
    told = run("explain", "sms.tb", "a prize at noon").stdout
    assert "[prize " in told
    assert "calibration  platt" in told
    assert run("predict", "sms.tb", sms, "--only").stdout.count("\n") == len(DOCUMENTS) + 1


def test_the_best_of_several_models_is_taken(run, sms):
    told = run("learn", sms, "-t", "label", "--text", "--model", "bernoulli,complement", "--folds", "2").stdout
    assert "2-fold cross-validation, target label, seed 0: 8 rows" in told
    assert "Chosen: " in told
    assert tb.load("sms.tb").model in ("bernoulli", "complement")


def test_names_of_models():
    assert model_names("--model", ["auto"], "text") == MODELS
    assert model_names("--model", ["nb, AUTO"], "text")[0] == "multinomial"
    assert len(model_names("--model", ["nb, AUTO"], "text")) == len(MODELS)


def test_the_column_is_the_one_called_text_or_the_only_one_of_text(run, tmp_path):
    rows = [(label, n, text, "web") for n, (label, text) in enumerate(DOCUMENTS)]
    write(tmp_path / "d.csv", csv_of(rows, "label,id,Text,source"))
    assert "in column Text" in run("learn", "d.csv", "-t", "label", "--text").stdout
    assert "in column source" in run("learn", "d.csv", "-t", "label", "--text", "--column", "source").stdout
    write(tmp_path / "d.csv", csv_of(rows, "label,id,body,source"))
    told = run("learn", "d.csv", "-t", "label", "--text", code=2).stderr
    assert "--column must name the column of the documents; d.csv has 'body', 'source'. Try --column body." in told
    assert "in column body" in run("learn", "d.csv", "-t", "label", "--text", "--ignore", "source").stdout


def test_a_column_of_texts_is_learned_from_beside_others(run, tmp_path):
    texts = [(label, f"{text} and number {n}", n % 3) for n, (label, text) in enumerate(DOCUMENTS * 3)]
    write(tmp_path / "d.csv", csv_of(texts, "label,text,n"))
    told = run("learn", "d.csv", "-t", "label", "--model", "nb", "-o", "m.tb").stdout
    assert "1 free text (text)" in told
    assert "identifier" not in told
    assert "capitals" not in told
    word = texts[0][1].split()[0].lower()
    assert f"text     {word}" in run("explain", "m.tb", "d.csv", "--row", "1").stdout
    assert f"text     {word}" in run("explain", "m.tb", "--given", f"text={word}", "--given", "n=1").stdout
    assert "text     text   " in run("describe", "m.tb").stdout
    predicted = run("predict", "m.tb", "d.csv").stdout.splitlines()
    assert predicted[0] == "label,text,n,prediction"
    assert len(predicted) == 1 + len(texts)
    evaluated = run("evaluate", "d.csv", "-t", "label", "--folds", "2", "--models", "nb,logistic").stderr
    assert "Note: logistic without text, which is free text." in evaluated
    alone = run("learn", "d.csv", "-t", "label", "--ignore", "n").stdout
    assert "Features  1 free text (text)" in alone
    kept = run("learn", "d.csv", "-t", "label", "--model", "nb", "--categorical", "text").stdout
    assert "free text" not in kept


# predict


def test_every_row_is_predicted_and_comes_out_as_it_came_in(run, spam, tmp_path):
    write(tmp_path / "new.csv", 'id,text\n007,"A prize, at noon"\n008,\n009,NA\n')
    told = run("predict", spam, "new.csv", "--proba").stdout.splitlines()
    assert told[0] == "id,text,prediction,P(ham),P(spam)"
    assert told[1].startswith('007,"A prize, at noon",')
    expected = python_model().predict_proba(["A prize, at noon", "", "NA"])
    found = [[float(x) for x in line.split(",")[-2:]] for line in told[1:]]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_another_column_can_be_read(run, spam, tmp_path):
    write(tmp_path / "one.csv", "id,body\n7,claim your prize\n")
    assert run("predict", spam, "one.csv", "--only").stdout == "prediction\nspam\n"
    write(tmp_path / "two.csv", "subject,body\nlunch at noon,claim your prize\n")
    told = run("predict", spam, "two.csv", code=1).stderr
    assert "two.csv must have the column that the model was learned from, 'text'; it has 'subject', 'body'." in told
    assert run("predict", spam, "two.csv", "--only", "--column", "body").stdout == "prediction\nspam\n"
    assert run("predict", spam, "two.csv", "--only", "--column", "subject").stdout == "prediction\nham\n"
    assert "Did you mean 'body'?" in run("predict", spam, "two.csv", "--column", "bodi", code=1).stderr
    write(tmp_path / "near.csv", "texts,body\nlunch at noon,claim your prize\n")
    assert "Did you mean 'texts'? --column names another one." in run("predict", spam, "near.csv", code=1).stderr


def test_a_model_that_was_given_a_list_reads_any_only_column(run, tmp_path):
    python_model().save("m.tb")
    write(tmp_path / "one.csv", "id,body\n7,claim your prize\n")
    assert run("predict", "m.tb", "one.csv", "--only").stdout == "prediction\nspam\n"


def test_folders_and_text_files_are_documents(run, spam, mails, tmp_path):
    told = run("predict", spam, "mails").stdout.splitlines()
    assert told[0] == "file,label,prediction"
    assert told[1:] == [f"{label}/{n}.txt,{label},{label}" for n, (label, _) in enumerate(DOCUMENTS)]
    write(tmp_path / "flat" / "a.txt", "see you at lunch\r\nAnn\rBob\n")
    write(tmp_path / "flat" / "b.txt", "a prize")
    assert run("predict", spam, "flat").stdout == "file,prediction\na.txt,ham\nb.txt,spam\n"
    told = run("predict", spam, "flat/b.txt", "flat/a.txt", "--cost", "ham:spam=1e9", "--keep", "file").stdout
    assert [line.split(",")[:2] for line in told.splitlines()[1:]] == [["flat/b.txt", "ham"], ["flat/a.txt", "ham"]]
    run("predict", spam, "flat", "-o", "out.parquet")
    assert parquet.read_table("out.parquet").to_pydict() == {"file": ["a.txt", "b.txt"], "prediction": ["ham", "spam"]}


def test_losses_may_stand_in_columns(run, spam, tmp_path):
    write(tmp_path / "new.csv", "text,damage\na prize,100000\na prize,1\n")
    told = run("predict", spam, "new.csv", "--cost", "ham:spam=damage", "--keep", "damage").stdout
    assert [line.split(",")[1] for line in told.splitlines()[1:]] == ["ham", "spam"]


def test_a_typed_file_has_the_classes(run, spam, sms):
    run("predict", spam, sms, "-o", "out.parquet")
    assert parquet.read_table("out.parquet")["prediction"].to_pylist() == python_model().predict(HAM + SPAM).tolist()


# evaluate


def test_a_model_is_evaluated_on_a_table_and_on_a_folder(run, spam, sms, mails):
    score = python_model().score(HAM + SPAM, [label for label, _ in DOCUMENTS])
    for data in (sms, mails):
        assert json.loads(run("evaluate", spam, data, "--json").stdout)["accuracy"] == score
    run("learn", "mails", "-o", "m.tb")
    found = json.loads(run("evaluate", "m.tb", sms, "--target", "label", "--json").stdout)
    assert (found["rows"], found["accuracy"]) == (len(DOCUMENTS), score)


def test_the_column_read_is_not_the_column_of_the_classes(run, spam, tmp_path):
    write(tmp_path / "d.csv", csv_of([(label, "no known syllable") for label, _ in DOCUMENTS]))
    found = json.loads(run("evaluate", spam, "d.csv", "--json").stdout)
    assert found["accuracy"] == 0.5  # all get the class that is first
    write(tmp_path / "d.csv", csv_of(DOCUMENTS, "label,body"))
    assert json.loads(run("evaluate", spam, "d.csv", "--column", "body", "--json").stdout)["accuracy"] == 1.0


def test_models_are_compared_by_cross_validation(run, sms, mails):
    told = run("evaluate", sms, "-t", "label", "--text", "--models", "multinomial,complement", "--folds", "2").stdout
    assert "2-fold cross-validation on " in told
    assert all(name in told for name in ("multinomial", "complement", "always ham", "log-loss"))
    found = json.loads(run("evaluate", sms, "-t", "label", "--text", "--folds", "2", "--json").stdout)
    again = json.loads(run("evaluate", "mails", "--folds", "2", "--json").stdout)
    assert found["model"] == "multinomial"
    assert found["accuracy_by_fold"] == again["accuracy_by_fold"]


# explain


def test_a_text_is_explained_as_python_does(run, spam, sms, mails):
    expected = str(python_model().explain("You have won a prize"))
    for words in (
        ["You have won a prize"],
        ["--given", "text=You have won a prize"],
    ):
        told = run("explain", spam, *words).stdout
        assert told.startswith(expected)
        assert "P(spam) = " in told.splitlines()[-1]
    for words in ([sms, "--row", "5"], ["mails", "--row", "5"], ["mails/spam/4.txt"]):
        assert run("explain", spam, *words).stdout.startswith(str(python_model().explain(SPAM[0])))
    found = json.loads(run("explain", spam, "a prize", "--label", "ham", "--json").stdout)
    assert (found["label"], found["against"], found["text"]) == ("ham", "spam", "a prize")


def test_a_word_an_empty_text_and_a_long_one_are_texts(run, spam):
    assert run("explain", spam, "prize").stdout.startswith("spam rather than ham")
    assert "The text is empty" in run("explain", spam, "").stdout
    assert run("explain", spam, "prize " * 3000).stdout.startswith("spam rather than ham")
    assert file_of("x" * 5000) is None


def test_a_page_and_pictures_are_written(run, spam, tennis, model, tmp_path):
    told = run("explain", spam, "You have <b>won</b> a prize", "--html", "why.html", "--plot", "why.png")
    assert "The page is in why.html." in told.stderr
    page = (tmp_path / "why.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "&lt;b&gt;" in page
    assert "<b>won" not in page
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    run("explain", model, tennis, "--html", "tennis.html")
    assert "outlook" in (tmp_path / "tennis.html").read_text("utf-8")


def test_words_have_an_importance(run, spam):
    told = run("explain", spam, "--importance").stdout
    assert "What each feature tells about label" in told
    assert "prize" in told


def test_colours_are_for_terminals(run, spam, monkeypatch):
    from tunbridge.cli.verbs.explain import _show

    printed = []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.console.Console.print", lambda self, text: printed.append(text))
    _show(python_model().explain("You have won a prize"))
    assert "[prize +" in printed[0].plain
    assert printed[0].plain.splitlines()[-1].startswith("P(spam) = ")
    assert any("prize" in printed[0].plain[s.start : s.end] for s in printed[0].spans)


# describe


def test_a_folder_is_described(run, mails):
    told = run("describe", "mails").stdout
    assert told.splitlines()[0] == "mails: 8 documents"
    assert "ham            4               25       36" in told
    write(mails.parent / "flat" / "a.txt", "one")
    assert "(no subfolder)" in run("describe", "flat").stdout
    assert "is a folder" in run("describe", "mails", "--holes", code=1).stderr


def test_a_model_of_texts_is_described(run, spam):
    assert "TextClassifier() learned from 8 rows" in run("describe", spam).stdout


# Mistakes

LEARN = ("learn", "sms.csv", "-t", "label", "--text")
MISTAKES = {
    "no target": (["learn", "sms.csv", "--text"], 2, "--target must name the column of the classes when documents are"),
    "target that is not there": (["learn", "sms.csv", "-t", "lable", "--text"], 1, "Did you mean 'label'?"),
    "column that is not there": ([*LEARN, "--column", "texte"], 1, "must name a column of sms.csv; got 'texte'"),
    "target as column": ([*LEARN, "--column", "label"], 2, "--column must not name the target; got 'label'."),
    "target ignored": ([*LEARN, "--ignore", "label"], 2, "--ignore must not name the target"),
    "column ignored": ([*LEARN, "--column", "text", "--ignore", "text"], 2, "that is ignored or holds weights"),
    "nothing left": ([*LEARN, "--ignore", "text"], 1, "must have the column of the documents beside the target"),
    "a value for the flag": (["learn", "sms.csv", "--text", "text", "-t", "label"], 2, "--column names the column."),
    "a value for the flag of evaluate": (
        ["evaluate", "sms.csv", "--text", "body", "-t", "label"], 2, "--text must have no value; got 'body'.",
    ),
    "texts as classes": (["learn", "long.csv", "-t", "text", "--text"], 1, "'text' holds texts."),
    "numbers": (["learn", "n.csv", "-t", "label", "--text"], 1, "beside the target; 'age' hold numbers."),
    "column of numbers": (
        ["learn", "n.csv", "-t", "label", "--text", "--column", "age"], 1,
        "column 'age' of n.csv must hold documents; it holds numbers. Name another one with --column.",
    ),
    "empty column": (["learn", "e.csv", "-t", "label", "--text"], 1, "must hold documents; every value is empty."),
    "empty file": (["learn", "empty.csv", "-t", "label", "--text"], 1, "it is empty."),
    "one class": (["learn", "o.csv", "-t", "label", "--text"], 1, "at least two classes"),
    "other categories": ([*LEARN, "--categorical", "text"], 2, "--categorical must name the target, if anything"),
    "search": ([*LEARN, "--search", "tabu"], 2, "no option --search; it belongs"),
    "score": ([*LEARN, "--score", "bic"], 2, "no option --score; it belongs"),
    "seed": ([*LEARN, "--seed", "1"], 2, "--seed must come with a model that uses random numbers"),
    "folds": ([*LEARN, "--folds", "3"], 2, "--folds must come with --model auto"),
    "numeric": ([*LEARN, "--numeric", "kernel"], 2, "no option --numeric; it belongs"),
    "both": ([*LEARN, "--sequence"], 2, "text learn has no option --sequence"),
    "order": ([*LEARN, "--order", "2"], 2, "no option --order; it belongs"),
    "no text": (["learn", "sms.csv", "-t", "label", "--ngrams", "2"], 2, "no option --ngrams; it belongs"),
    "no idf": (["learn", "sms.csv", "-t", "label", "--no-idf"], 2, "no option --no-idf; it belongs"),
    "column alone": (["learn", "sms.csv", "--column", "text"], 2, "no option --column; it belongs"),
    "weight": ([*LEARN, "--unlabelled-weight", "2"], 2, "must be a number from 0 to 1, or auto; got 2.0."),
    "weight of a word": ([*LEARN, "--unlabelled-weight", "much"], 2, "or auto; got 'much'."),
    "weight and calibration": ([*LEARN, "--unlabelled-weight", "1", "--calibrate", "platt"], 2, "without --calibrate"),
    "weight and several": ([*LEARN, "--unlabelled-weight", "1", "--model", "auto"], 2, "must come with one --model"),
    "weight and complement": (
        [*LEARN, "--unlabelled-weight", "1", "--model", "complement"], 2, "'complement' is none.",
    ),
    "model": ([*LEARN, "--model", "multinomail"], 2, "got 'multinomail'. Did you mean 'multinomial'?"),
    "model of tables": ([*LEARN, "--model", "kdb2"], 2, "--model must be one of multinomial"),
    "no model": ([*LEARN, "--model", ","], 2, "--model must name a model, such as multinomial; got ','."),
    "ngrams": ([*LEARN, "--ngrams", "many"], 2, "--ngrams must be an integer or A-B; got 'many'."),
    "no ngrams": ([*LEARN, "--ngrams", "0"], 2, "--ngrams must be at least 1"),
    "buckets": ([*LEARN, "--buckets", "9999999999"], 2, "--buckets must be at most 2³⁰"),
    "length": ([*LEARN, "--length", "long"], 2, "--length must be a number, auto, unit or none; got 'long'."),
    "negative length": ([*LEARN, "--length", "-1"], 2, "--length must be greater than 0"),
    "smoothing": ([*LEARN, "--smoothing", "0"], 2, "--smoothing must be above 0 for words"),
    "stop words": ([*LEARN, "--stop-words", "stopp.txt"], 2, "or a file that exists; got 'stopp.txt'."),
    "prior": ([*LEARN, "--prior", "eggs=1"], 1, "got 'eggs'. Known: 'ham', 'spam'."),
    "text file": (["learn", "mail.txt", "-t", "label", "--text"], 1, "got the text file 'mail.txt'."),
    "flat folder": (["learn", "flat"], 1, "must have a subfolder for each class; 'flat' holds files only."),
    "empty folder": (["learn", "nothing"], 1, "'nothing' has no file."),
    "stray file": (["learn", "mixed"], 1, "'stray.txt' is beside the subfolders."),
    "folder and target": (["learn", "mails", "-t", "label"], 2, "--target must be left out with a folder"),
    "folder and column": (["learn", "mails", "--column", "text"], 2, "--column must come with a table; 'mails'"),
    "folder and weights": (["learn", "mails", "--weights", "n"], 2, "--weights must come with a table; 'mails'"),
    "folder and sequence": (["learn", "mails", "--sequence"], 2, "sequences must come in a table"),
    "folder and encoding": (["learn", "mails", "--encoding", "utf-9"], 1, "--encoding must be a text encoding"),
    "encoding": (["learn", "latin.csv", "-t", "label", "--text", "--encoding", "utf-8"], 1, "must be utf-8 text"),
    "output": ([*LEARN, "-o", "sms.csv"], 1, "must not overwrite a file that is not a model"),
    "output of a network": ([*LEARN, "-o", "sms.bif"], 2, "must not be that of a network"),
    "rows that are not there": (["predict", "spam.tb", "mial.txt"], 1, "Did you mean 'mail.txt'?"),
    "folder that is not there": (["predict", "spam.tb", "males"], 1, "males"),
    "two tables": (["predict", "spam.tb", "sms.csv", "sms.csv"], 2, "several files must be text files"),
    "two tables of columns": (["predict", "tennis.tb", "sms.csv", "n.csv"], 1, "must have the columns that the model"),
    "column of a model of columns": (["predict", "tennis.tb", "n.csv", "--column", "age"], 2, "reads several columns"),
    "column of a folder": (["predict", "spam.tb", "mails", "--column", "text"], 2, "--column must come with a table"),
    "swapped": (["predict", "sms.csv", "spam.tb"], 1, "the model must come first"),
    "options of learning": (["evaluate", "spam.tb", "sms.csv", "--text"], 2, "--text must be left out when a model is"),
    "evaluated on a flat folder": (["evaluate", "spam.tb", "flat"], 1, "must have a subfolder for each class"),
    "evaluated without classes": (["evaluate", "spam.tb", "mail.csv"], 1, "the column of the classes, 'label'"),
    "explained file": (["explain", "spam.tb", "smss.csv"], 1, "Did you mean 'sms.csv'?"),
    "explained row": (["explain", "spam.tb", "sms.csv", "--row", "9"], 1, "which has 8 rows; got 9."),
    "explained document": (["explain", "spam.tb", "mails", "--row", "9"], 1, "which has 8 documents; got 9."),
    "row of a text": (["explain", "spam.tb", "a prize", "--row", "2"], 2, "--row must come with a file; got 'a prize'"),
    "column of a text": (["explain", "spam.tb", "a prize", "--column", "x"], 2, "--column must come with a file"),
    "given twice": (["explain", "spam.tb", "--given", "text=a", "--given", "text=b"], 2, "--given must come once"),
    "given other": (["explain", "spam.tb", "--given", "wind=a"], 2, "must be text=… where the model reads texts"),
    "what if": (["explain", "spam.tb", "a prize", "--what-if"], 2, "--what-if must come with a model of columns"),
    "nomogram": (["explain", "spam.tb", "--nomogram", "n.png"], 2, "--nomogram must come with a model of columns"),
    "page of nothing": (["explain", "spam.tb", "--importance", "--html", "p.html"], 2, "--html must have"),
    "page of another name": (["explain", "spam.tb", "a prize", "--html", "p.txt"], 1, "must end in '.html', '.htm'"),
    "column of columns": (["explain", "tennis.tb", "tennis.csv", "--column", "wind"], 2, "reads several columns"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_get_one_sentence(run, mistake, sms, mails, spam, model, tmp_path):
    words, code, told = mistake
    write(
        tmp_path / "long.csv",
        csv_of([(label, f"{text} and so on {n // 9 * n}") for n, (label, text) in enumerate(DOCUMENTS * 3)]),
    )
    write(tmp_path / "n.csv", "label,age\nham,1\nspam,2.5\nham,\n")
    write(tmp_path / "e.csv", "label,text\nham,\nspam,\n")
    write(tmp_path / "o.csv", "label,text\nham,a word\nham,another\n")
    write(tmp_path / "empty.csv", "")
    write(tmp_path / "mail.txt", "a prize")
    write(tmp_path / "mail.csv", "text\na prize\n")
    write(tmp_path / "flat" / "a.txt", "a prize")
    write(tmp_path / "mixed" / "ham" / "a.txt", "a prize")
    write(tmp_path / "mixed" / "stray.txt", "a prize")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "latin.csv").write_bytes("label,text\nham,café\nspam,prize\n".encode("latin-1"))
    assert told in run(*words, code=code).stderr


def test_bytes_that_are_no_text_are_told(run, mails):
    (mails / "ham" / "x.txt").write_bytes("Café at noon".encode("latin-1"))
    told = run("learn", "mails", "-o", "m.tb").stderr
    assert told == "Note: 'ham/x.txt' must be utf-8 text; what is not becomes �. --encoding latin-1 may read it.\n"
    assert run("learn", "mails", "-o", "m.tb", "--encoding", "latin-1").stderr == ""
    assert "café" in tb.load("m.tb").top_words("ham", 99)
    (mails / "ham" / "x.txt").write_bytes(b"\xef\xbb\xbfCaf\xc3\xa9 at noon")
    assert run("learn", "mails", "-o", "m.tb", "--characters").stderr == ""
    assert "\ufeff" not in tb.load("m.tb").top_words("ham", 999)


def test_lines_may_end_in_any_way(run, tmp_path):
    (tmp_path / "d.csv").write_bytes(csv_of(DOCUMENTS).replace("\n", "\r\n").encode())
    run("learn", "d.csv", "-t", "label", "--text", "-o", "a.tb")
    expected = python_model().predict_proba(HAM)
    np.testing.assert_allclose(tb.load("a.tb").predict_proba(HAM), expected, rtol=1e-12, atol=0)
    (tmp_path / "q.csv").write_bytes(
        b'label,text\r\nham,"see you\rat noon"\r\nspam,"a prize\r\nfor you"\r\nham,"at\nten"\r\n'
    )
    run("learn", "q.csv", "-t", "label", "--text", "-o", "b.tb")
    assert tb.load("b.tb").statistics_.vocabulary.names() == ["see", "you", "at", "noon", "prize", "for", "ten"]


def test_real_messages_are_learned_predicted_and_explained(run, shared_data):
    sms = shared_data / "text" / "sms_spam.csv"
    told = run("learn", sms, "-t", "label", "--text", "-o", "spam.tb").stdout
    assert "8713 different" in told
    found = json.loads(run("evaluate", sms, "-t", "label", "--text", "--folds", "3", "--json").stdout)
    assert found["accuracy"] > 0.98
    assert run("explain", "spam.tb", "You have won a prize").stdout.startswith("spam rather than ham: P(spam) = 0.99")


def test_a_gzipped_file_of_lines_with_other_columns(run, shared_data):
    news = shared_data / "text" / "20news_bydate.jsonl.gz"
    told = run(
        "learn", news, "-t", "group", "--text", "-o", "news.tb", "--stop-words", "100", "--min-count", "3"
    ).stdout
    assert "18846 documents in column text" in told
    assert tb.load("news.tb").class_count_.sum() == 18846
