"""What commands and model files import: nothing slow that they do not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import csv

import tunbridge as tb

SLOW = ("sklearn", "pandas", "matplotlib", "jax")
OTHER_ROOMS = ("tunbridge.text", "tunbridge.sequences")
COMPILED = ("numba", "scipy")

COMMAND = """
import sys
from tunbridge.cli import signals, main

def leave(code):
    print(code, [name for name in {names!r} if name in sys.modules])
    raise SystemExit

signals.leave = leave
main()
"""


def imported(names: tuple[str, ...], code: str, *arguments: object) -> str:
    """Return the last line that a new Python prints: an exit code, and which of these modules were imported."""
    words = [sys.executable, "-c", code.format(names=names), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports")
    table = tb.datasets.play_tennis()
    csv.write_csv(table.to_arrow(), folder / "rows.csv")
    tb.NaiveBayesClassifier().fit(table, "play").save(folder / "nb.tb")
    tb.TANClassifier().fit(table, "play").save(folder / "tan.tb")
    tb.CalibratedClassifier(folds=2).fit(table, "play").save(folder / "calibrated.tb")
    tb.example_network("sprinkler").write(folder / "net.bif")
    (folder / "texts.csv").write_text("text,label\ncheap pills,spam\nlunch at noon,ham\ncheap,spam\nlunch,ham\n")
    (folder / "letters.csv").write_text("s,label\nAACG,p\nTTCG,n\nAAAG,p\nTTTG,n\n")
    return folder


TABLES = [
    ("learn", "rows.csv", "-t", "play", "--model", "nb", "-o", "new.tb"),
    ("learn", "rows.csv", "-t", "play", "--model", "tan", "-o", "new.tb"),
    ("learn", "rows.csv", "-t", "play", "--calibrate", "isotonic", "-o", "new.tb"),
    ("predict", "nb.tb", "rows.csv"),
    ("predict", "nb.tb", "rows.csv", "-o", "predicted.parquet"),
    ("predict", "tan.tb", "rows.csv"),
    ("predict", "calibrated.tb", "rows.csv"),
    ("explain", "nb.tb", "rows.csv", "--row", "1"),
    ("explain", "tan.tb", "rows.csv", "--row", "1", "--what-if"),
    ("explain", "--importance", "nb.tb"),
    ("describe", "nb.tb"),
    ("describe", "rows.csv"),
    ("network", "query", "net.bif"),
]


@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_commands_on_tables_do_without(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert imported(SLOW + OTHER_ROOMS, COMMAND, *words) == "0 []"


@pytest.mark.parametrize("words", [each for each in TABLES if {"nb", "nb.tb"} & {*each[:-1]}], ids=" ".join)
def test_naive_bayes_does_without_the_compiler(words, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert imported(COMPILED, COMMAND, *words) == "0 []"


@pytest.mark.parametrize(("kind", "data"), [("text", "texts.csv"), ("sequence", "letters.csv")])
def test_commands_on_texts_and_sequences_do_without(kind, data, folder, monkeypatch):
    monkeypatch.chdir(folder)
    model = f"{kind}.tb"
    assert imported(SLOW, COMMAND, kind, "learn", data, "-t", "label", "-o", model) == "0 []"
    assert imported(SLOW, COMMAND, "predict", model, data) == "0 []"
    assert imported(SLOW, COMMAND, "explain", model, data, "--row", "1") == "0 []"


def test_a_model_is_loaded_and_predicts_in_python_without_scikit_learn(folder):
    row = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    code = (
        "import sys, tunbridge as tb\n"
        f"clf = tb.load({str(folder / 'nb.tb')!r})\n"
        f"clf.predict({row!r}), clf.explain({row!r}), clf.describe(), repr(clf), clf.get_params()\n"
        "clf.set_params(smoothing=2.0).fit(tb.datasets.play_tennis(), 'play')\n"
        "print([name for name in ('sklearn', 'tunbridge.text') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_pandas_can_be_imported_by_what_a_command_needs_later(folder):
    pytest.importorskip("pandas")
    code = (
        "import sys, tunbridge.cli.app as program\nsys.meta_path.insert(0, program.NoPandas())\n"
        "import pyarrow\n[each.retire() for each in sys.meta_path if isinstance(each, program.NoPandas)]\n"
        "print('pandas' in sys.modules, pyarrow.table({'a': [1]}).to_pandas().a.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False [1]\n"
