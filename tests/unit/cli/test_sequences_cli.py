from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tunbridge as tb
from tunbridge.cli.models import model_names

NAMES = [
    *[("f", name) for name in ("anna", "hanna", "nina", "maria", "paula")],
    *[("m", name) for name in ("otto", "bruno", "hugo", "mario", "paulo")],
]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def python_model(model="markov", **parameters):
    labels, names = zip(*NAMES, strict=True)
    return tb.SequenceClassifier(model, **parameters).fit(list(names), list(labels))


@pytest.fixture
def names(run, tmp_path) -> Path:
    return write(tmp_path / "names.csv", "name,sex\n" + "".join(f"{name},{sex}\n" for sex, name in NAMES))


@pytest.fixture
def aligned(run, tmp_path) -> Path:
    rows = ["acgt,+", "acga,+", "acct,+", "tgca,-", "tgga,-", "tgct,-"]
    return write(tmp_path / "dna.csv", "sequence,class\n" + "\n".join(rows) + "\n")


@pytest.fixture
def model(run, names) -> Path:
    run("learn", names, "-t", "sex", "--sequence", "-o", "sex.tb")
    return Path("sex.tb")


OPTIONS = {
    "nothing": ([], {}),
    "order": (["--order", "2"], {"order": 2}),
    "order to be chosen": (["--order", "cv", "--max-order", "3"], {"order": "cv", "max_order": 3}),
    "order by BIC": (["--order", "BIC"], {"order": "bic"}),
    "bag": (["--order", "0", "--smoothing", "2"], {"order": 0, "smoothing": 2.0}),
    "ends": (["--no-ends"], {"ends": False}),
    "prior": (["--prior", "f=0.9", "--prior", "m=0.1"], {"class_prior": {"f": 0.9, "m": 0.1}}),
    "gaps": (["--gaps", "n"], {"gaps": "n"}),
    "case": (["--ignore-case"], {"ignore_case": True}),
    "alphabet": (["--alphabet", "abcdefghijklmnopqrstuvwxyz"], {"alphabet": "abcdefghijklmnopqrstuvwxyz"}),
}


@pytest.mark.parametrize("words", OPTIONS.values(), ids=OPTIONS)
def test_the_model_is_the_one_that_python_learns(run, names, words):
    options, parameters = words
    told = run("learn", names, "--target", "sex", "--sequence", *options).stdout
    assert "10 sequences in column name" in told
    assert "markov: a Markov chain of symbols for each class" in told
    found, expected, new = tb.load("names.tb"), python_model(**parameters), ["nora", "bruna", "", "otto"]
    np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(new), rtol=1e-12, atol=0)
    usual = tb.SequenceClassifier().get_params()
    assert {k: v for k, v in found.get_params().items() if v != usual[k]} == parameters
    assert (found.target_name_, found.statistics_.column) == ("sex", "name")


def test_what_was_found_is_told(run, names, aligned):
    told = run("learn", names, "-t", "sex", "--sequence", "--order", "bic").stdout
    assert "Letters  a b g h i l m n o p r t u" in told
    assert ", chosen by BIC" in told
    told = run("learn", aligned, "-t", "class", "--sequence", "--model", "position", "--order", "0").stdout
    assert "Length   4, aligned" in told
    assert "Letters  a c g t" in told
    assert "tunbridge explain dna.tb rows.csv --row 1" in told


def test_the_best_of_both_models_is_taken(run, aligned, names):
    told = run("learn", aligned, "-t", "class", "--sequence", "--model", "auto", "--folds", "2").stdout
    assert "Chosen: " in told
    assert tb.load("dna.tb").classes_.tolist() == ["+", "-"]
    told = run("learn", names, "-t", "sex", "--sequence", "--model", "auto", "--folds", "2")
    assert tb.load("names.tb").model == "markov"  # the names are not of one length
    assert "position" in told.stderr
    assert model_names("--model", ["auto"], "sequence") == ("markov", "position")


def test_sequences_without_a_class_are_learned_from(run, tmp_path):
    write(tmp_path / "d.csv", "name,sex\n" + "".join(f"{n},{s}\n" for s, n in NAMES) + "susanna,\nrita,?\n")
    told = run("learn", "d.csv", "-t", "sex", "--sequence", "--unlabelled-weight", "0.2").stdout
    assert "2 rows without sex, weight 0.2" in told
    found = tb.load("d.tb")
    assert isinstance(found, tb.SemiSupervisedClassifier)
    assert (found.unlabelled_weight, found.estimator_.statistics_.column) == (0.2, "name")
    told = run("learn", "d.csv", "-t", "sex", "--sequence").stdout
    assert "Left out  2 rows without sex" in told


def test_digits_are_letters_too(run, tmp_path):
    write(tmp_path / "d.csv", "bits,kind\n" + "0101,a\n0011,b\n0111,b\n1010,a\n" * 2)
    told = run("learn", "d.csv", "-t", "kind", "--sequence").stdout
    assert "Letters  0 1" in told
    assert run("predict", "d.tb", "d.csv", "--only").stdout.split()[1:] == ["a", "b", "b", "a"] * 2
    assert "0101,a," in run("predict", "d.tb", "d.csv").stdout


def test_rows_are_predicted_from_tables_and_text_files(run, model, tmp_path):
    write(tmp_path / "new.csv", "id,name\n1,nora\n2,gino\n")
    told = run("predict", model, "new.csv", "--proba").stdout.splitlines()
    assert told[0] == "id,name,prediction,P(f),P(m)"
    expected = python_model().predict_proba(["nora", "gino"])
    np.testing.assert_allclose([[float(x) for x in line.split(",")[3:]] for line in told[1:]], expected, rtol=1e-12)
    (tmp_path / "new.txt").write_bytes(b"nora\r\n\r\n  gino\rpaula")
    assert run("predict", model, "new.txt").stdout == "name,prediction\nnora,f\ngino,m\npaula,f\n"


def test_a_model_is_evaluated_and_models_are_compared(run, model, names, aligned):
    found = json.loads(run("evaluate", model, names, "--json").stdout)
    assert found["accuracy"] == python_model().score([n for _, n in NAMES], [s for s, _ in NAMES])
    told = run("evaluate", aligned, "-t", "class", "--sequence", "--models", "markov,position", "--folds", "2").stdout
    assert "2-fold cross-validation" in told
    assert "position" in told


def test_a_sequence_is_explained(run, model, names, tmp_path):
    expected = str(python_model().explain("nora"))
    for words in (["nora"], ["--given", "name=nora"], ["--given", "sequence=nora"]):
        assert run("explain", model, *words).stdout.startswith(expected)
    told = run("explain", model, names, "--row", "6", "--html", "why.html", "--plot", "why.svg").stdout
    assert told.startswith(str(python_model().explain("otto")))
    assert "m rather than f" in (tmp_path / "why.html").read_text("utf-8")
    assert "<svg" in (tmp_path / "why.svg").read_text("utf-8")


def test_unknown_letters_are_named_once(run, model, tmp_path):
    write(tmp_path / "new.csv", "name\nxenia\nyvonne\n")
    told = run("predict", model, "new.csv")
    assert told.stderr.count("warning:") == 1
    assert "'e', 'v', 'x', 'y'" in told.stderr


LEARN = ("learn", "names.csv", "-t", "sex", "--sequence")
MISTAKES = {
    "no target": (["learn", "names.csv", "--sequence"], 2, "when sequences are learned from."),
    "order": ([*LEARN, "--order", "two"], 2, "--order must be an integer, cv or bic; got 'two'."),
    "ngrams": ([*LEARN, "--ngrams", "2"], 2, "no option --ngrams; it belongs"),
    "max order": ([*LEARN, "--max-order", "-1"], 2, "--max-order"),
    "model": ([*LEARN, "--model", "markow"], 2, "got 'markow'. Did you mean 'markov'?"),
    "model of texts": ([*LEARN, "--model", "bernoulli"], 2, "--model must be one of markov, position, auto;"),
    "lengths": ([*LEARN, "--model", "position"], 1, "length"),
    "search": ([*LEARN, "--search", "tabu"], 2, "no option --search; it belongs"),
    "numbers": (["learn", "n.csv", "-t", "sex", "--sequence"], 1, "'height' hold numbers."),
    "column of numbers": (
        ["learn", "n.csv", "-t", "sex", "--sequence", "--column", "height"], 1, "sequences; it holds numbers.",
    ),
    "typed numbers": (["learn", "n.parquet", "-t", "sex", "--sequence"], 1, "it holds other values than text"),
    "empty column": (["learn", "e.csv", "-t", "sex", "--sequence"], 1, "must hold sequences; every value is empty."),
    "folder": (["predict", "sex.tb", "."], 1, "sequences must be in a table or in a text file; '.' is a folder."),
    "empty text file": (["predict", "sex.tb", "empty.txt"], 1, "'empty.txt' is empty."),
    "texts": (["predict", "sex.tb", "sms.csv"], 1, "learned from, 'name'; it has 'label', 'body', 'source'."),
    "what if": (["explain", "sex.tb", "nora", "--what-if"], 2, "this one reads sequences."),
    "importance": (["explain", "sex.tb", "--importance"], 2, "--importance must come with a model of columns"),
    "given": (["explain", "sex.tb", "--given", "nora"], 2, "--given must be name=… where the model reads sequences"),
    "row": (["explain", "sex.tb", "names.csv", "--row", "11"], 1, "which has 10 rows; got 11."),
    "line": (["explain", "sex.tb", "two.txt", "--row", "3"], 1, "which has 2 sequences; got 3."),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_get_one_sentence(run, mistake, names, model, tmp_path):
    words, code, told = mistake
    write(tmp_path / "n.csv", "height,sex\n1.75,f\n1.8,m\n1.7,f\n")
    parquet.write_table(pa.table({"n": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]}), "n.parquet")
    write(tmp_path / "e.csv", "name,sex\n,f\n,m\n")
    write(tmp_path / "empty.txt", "\n\n")
    write(tmp_path / "two.txt", "nora\ngino\n")
    write(tmp_path / "sms.csv", "label,body,source\nham,See you,web\n")
    assert told in run(*words, code=code).stderr


def test_promoters_and_splice_junctions(run, shared_data):
    promoters, splice = (shared_data / "sequences" / f"{name}.csv" for name in ("promoters", "splice"))
    told = run("learn", promoters, "-t", "class", "--sequence", "--order", "cv", "-o", "p.tb").stdout
    assert "106 sequences in column sequence" in told
    assert run("explain", "p.tb", promoters, "--row", "1").stdout.startswith("+ rather than -")
    found = json.loads(run("evaluate", splice, "-t", "class", "--sequence", "--models", "position", "--json").stdout)
    assert found["accuracy"] > 0.95
