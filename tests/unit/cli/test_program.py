"""The program itself: its own options, exit codes, errors and warnings."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

import tunbridge as tb
from tunbridge.cli.app import app
from tunbridge.cli.files import replacing, text_lines
from tunbridge.cli.options import Kind, Reading, spread
from tunbridge.cli.output import say_table, tracked
from tunbridge.cli.usage import guarded, in_options
from tunbridge.cli.verbs import describe as describe_module
from tunbridge.errors import DataError, DataWarning


def test_version(run):
    assert run("--version").stdout == f"tunbridge {tb.__version__}\n"


def test_without_a_verb_the_help_is_shown():
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 2
    assert "Usage: " in result.stdout


def test_an_unknown_verb(run):
    assert "predct" in run("predct", code=2).stderr


@pytest.mark.parametrize("args", [["--debug", "describe", "no.csv"], ["describe", "no.csv", "--debug"]])
def test_debug_shows_the_traceback(args, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("tunbridge: path must be a file that exists")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (DataError("a must b; got c.\n  Hint."), 1, "tunbridge: a must b; got c. Hint.\n"),
        (PermissionError(13, "Permission denied", "x.csv"), 1, "tunbridge: the file 'x.csv' cannot be used; the"),
        (OSError(28, "No space left on device"), 1, "tunbridge: the system says: No space left on device.\n"),
        (MemoryError(), 1, "tunbridge: there is not enough memory."),
        (KeyboardInterrupt(), 130, "tunbridge: interrupted.\n"),
        (typer.Abort(), 130, "tunbridge: interrupted.\n"),
        (ZeroDivisionError("by zero"), 1, "tunbridge: an error that should not happen, ZeroDivisionError: by zero."),
        (typer.Exit(3), 3, ""),
        (typer.BadParameter("wrong"), 2, "tunbridge: invalid value: wrong."),
    ],
)
def test_every_failure_has_a_sentence_and_a_code(capsys, error, code, told):
    def work() -> None:
        raise error

    assert guarded(work, debug=False) == code
    captured = capsys.readouterr()
    assert captured.err.startswith(told)
    assert captured.err.count("\n") == (1 if told else 0)
    assert captured.out == ""


def test_a_system_exit_passes():
    with pytest.raises(SystemExit):
        guarded(lambda: sys.exit(7), debug=False)


def test_warnings_are_lines(capsys):
    def work() -> None:
        for _ in range(3):
            warnings.warn("column 'a'\nlooks odd.", DataWarning)
        warnings.warn("of another library", RuntimeWarning)

    assert guarded(work, debug=False) == 0
    assert capsys.readouterr().err == "warning: column 'a' looks odd.\n"
    assert guarded(work, debug=True) == 0
    assert "of another library" in capsys.readouterr().err


def test_sentences_name_options():
    names = {"download": "--download", "format": "--format", "class_prior": "--prior"}
    assert "--download" in in_options("To look for it, use download=True.", names)
    assert "--format csv" in in_options("Give the format, as in format='csv'.", names)
    assert in_options("class_prior must sum to one.", names) == "--prior must sum to one."


def test_the_help_of_the_program_imports_nothing_heavy():
    heavy = ("numpy", "pyarrow", "sklearn", "scipy", "numba", "pandas", "matplotlib")
    code = (
        "import sys\nfrom tunbridge.cli.app import app as main\nsys.argv = ['tunbridge', '--help']\n"
        f"try:\n    main()\nexcept SystemExit:\n    print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("module", ["tunbridge", "tunbridge.cli"])
def test_modules_run(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tunbridge {tb.__version__}\n"


def test_spread_puts_options_in_the_place_of_records():
    import inspect

    found = inspect.signature(spread(describe_module.describe)).parameters
    assert list(found) == [
        "data",
        "missing_values",
        "merge_categories",
        "missing",
        "delimiter",
        "header",
        "not_missing",
        "day_first",
        "decimal",
        "dates",
        "encoding",
        "format",
        "help_all",
    ]
    assert found["encoding"].default is None


def test_markers_are_added_to_the_usual_ones():
    assert Reading().markers == ("", "?", "NA", "NaN", "null")
    assert Reading(missing=["-9"], not_missing=["NA"]).markers == ("", "?", "NaN", "null", "-9")
    prior = Kind.of('None, "uniform" or mapping of class to probability', "")
    assert prior.read_all("--prior", ["a=b=0.5", "c=0.5"]) == {"a=b": 0.5, "c": 0.5}
    assert prior.read_all("--prior", ["uniform"]) == "uniform"


def test_long_tables_lose_nothing(capsys):
    wide = ["x" * 300, "y" * 200]
    say_table(["name", "value"], [wide])
    told = capsys.readouterr().out
    assert wide[0] in told
    assert wide[1] in told
    assert "\x1b" not in told


def test_tables_fold_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    say_table(["name", "value"], [["x" * 100, "[bold]1"]])
    told = capsys.readouterr().out
    assert told.count("x") == 100
    assert "[bold]1" in told.replace("\n", "")


def test_progress_is_for_terminals(capsys, monkeypatch):
    assert list(tracked(range(3), "counting", total=3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(tracked(range(3), "counting", total=3)) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err


def test_replacing_is_all_or_nothing(tmp_path: Path):
    target = tmp_path / "t.csv"
    target.write_text("old")
    link = tmp_path / "link.csv"
    link.symlink_to(target)
    with pytest.raises(ZeroDivisionError), replacing(link) as file:
        _ = file.write_text("half") / 0
    assert target.read_text() == "old"
    with replacing(link) as file:
        file.write_text("new")
    assert target.read_text() == "new"
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.csv", "t.csv"]


def test_text_lines_of_any_type_and_of_slices():
    table = pa.table(
        {
            "t": pa.chunked_array([["a", None], ["b,c"], ['"', ""]]),
            "d": pa.array(["x", "y", "x", None, "z"]).dictionary_encode(),
            "f": pa.array([0.1, None, 1e-300, 1e22, -0.5]),
            "b": pa.array([True, False, None, True, True]),
        }
    )
    lines = text_lines(table).decode().splitlines()
    assert lines == ["a,x,0.1,true", ",y,,false", '"b,c",x,1e-300,', '"""",,1e+22,true', ",z,-0.5,true"]
    assert text_lines(table.slice(2, 1)).decode() == '"b,c",x,1e-300,\n'
    assert text_lines(table.slice(0, 0)) == b""
    assert text_lines(pa.table({"p": ["no", None]})) == b'no\n""\n'


def test_floats_in_text_come_back_exactly():
    values = np.random.default_rng(0).random(1000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 1000)
    lines = text_lines(pa.table({"p": values})).decode().split()
    assert [float(line) for line in lines] == values.tolist()


def test_a_small_address_space_is_a_sentence_before_the_libraries_abort(monkeypatch, capsys):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**29, 2**29))
    for name in ("ARROW_DEFAULT_MEMORY_POOL", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "")  # so that what the program sets does not stay
        monkeypatch.delenv(name)
    with pytest.raises(SystemExit, match="1"):
        app(["describe", "play_tennis.csv"])
    said = "tunbridge: the address space (ulimit -v) must be at least 1 GiB; got 0.50 GiB. Raise the limit.\n"
    assert capsys.readouterr().err == said


SWAPPED = {
    "a model to learn from": (["learn", "m.tb", "-t", "play"], "the table must be a file of rows; 'm.tb' is a model"),
    "without a target": (["learn", "m.tb"], "tunbridge describe m.tb shows what is in it"),
    "a network to learn from": (["network", "learn", "n.bif"], "'n.bif' is a network. tunbridge describe n.bif shows"),
    "a model of texts": (["text", "learn", "m.tb"], "the table must be a file of rows; 'm.tb' is a model"),
    "a folder of tables": (["learn", "sub"], "To learn from a table name it, such as 'sub/a.csv'"),
    "a folder for a network": (["network", "learn", "sub"], "is a folder. Name a table in it, such as 'sub/a.csv'"),
    "a folder to impute": (["impute", "sub"], "the table must be a file; 'sub' is a folder"),
    "a folder of rows": (["predict", "m.tb", "sub"], "the rows must be a file; 'sub' is a folder"),
    "a folder as a model": (["predict", "sub", "tennis.csv"], "the model must be a file; 'sub' is a folder"),
    "a model as rows": (["evaluate", "m.tb", "m.tb"], "the rows must be a file of rows; 'm.tb' is a model"),
    "tables only": (["predict", "tennis.csv", "tennis.csv"], "is a table. Learn one from it: tunbridge learn tenn"),
    "a table to explain": (["explain", "tennis.csv", "--row", "1"], "Write tunbridge explain MODEL tennis.csv --row 1"),
    "a text for columns": (["explain", "m.tb", "some text"], "the model reads columns; got the text 'some text'"),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_what_stands_in_the_wrong_place_is_named_with_the_remedy(run, tennis, tmp_path, name):
    words, told = SWAPPED[name]
    tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play").save(tmp_path / "m.tb")
    tb.example_network("sprinkler").write(tmp_path / "n.bif")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_text("x,y\n1,a\n2,b\n")
    result = CliRunner().invoke(app, words, prog_name="tunbridge")
    assert result.exit_code in (1, 2)
    assert told in result.stderr
