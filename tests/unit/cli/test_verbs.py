"""Verbs: found by the registry, with options from signatures and docstrings; old spellings still work."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from typer.testing import CliRunner

from tunbridge._core import registry
from tunbridge._core.registry import entries, verb
from tunbridge.cli.app import app, command_of, current_spelling
from tunbridge.cli.options import From, Kind, described, spread
from tunbridge.cli.usage import UsageError, given_for, refuse_options


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("query asia.bif", "network query asia.bif"),
        ("sample asia.bif -n 3", "network sample asia.bif -n 3"),
        ("fit asia.bif rows.csv", "network fit asia.bif rows.csv"),
        ("update asia.bif rows.csv", "network update asia.bif rows.csv"),
        ("convert asia.bif asia.net", "network convert asia.bif asia.net"),
        ("learn sms.csv -t label --text", "text learn sms.csv -t label"),
        ("learn sms.csv --sequence -t label", "sequence learn sms.csv -t label"),
        ("learn t.csv --search tan -t play", "network learn t.csv --search tan -t play"),
        ("learn t.csv --bins 3", "network learn t.csv --bins 3"),
        ("describe t.csv --holes", "describe t.csv --missing-values"),
    ],
)
def test_old_spellings_become_new_ones_with_a_notice(old, now):
    words, notice = current_spelling(old.split())
    assert words == now.split()
    assert " is now `" in notice


@pytest.mark.parametrize(
    "words", ["learn t.csv -t play", "learn --help", "network query a.bif", "impute a.bif t.csv", ""]
)
def test_current_spellings_stay_as_they_are(words):
    assert current_spelling(words.split()) == (words.split(), "")


def test_an_old_spelling_says_so_on_one_line(asia):
    result = CliRunner().invoke(app, ["query", str(asia), "-t", "lung"], prog_name="tunbridge")
    assert result.exit_code == 0
    assert result.stderr == "`tunbridge query` is now `tunbridge network query`; the old spelling still works.\n"


def test_impute_is_a_verb_of_both(run, asia, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("smoke,lung\nyes,\n")
    assert run("impute", asia, "rows.csv").stdout == run("network", "impute", asia, "rows.csv").stdout


def test_a_verb_is_one_function(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {**registry._REGISTERED, "verb": {}})

    @verb("greet")
    def greet(name: str, *, times: int = 1, words: Annotated[dict[str, Any], From("text", "TextClassifier", "ngrams")]):
        """Greet somebody.

        Parameters
        ----------
        name : NAME
            Whom.
        times, -n : N >= 1
            How often.

        Examples
        --------
        tunbridge greet Ann -n 2
        """
        print(name * times, words)

    assert "greet" in entries("verb")
    entry = entries("verb")["greet"]
    monkeypatch.setattr(type(entry), "load", lambda _: greet)
    told = CliRunner().invoke(app, ["greet", "--help"]).stdout
    assert "How often (default: 1)." in " ".join(told.split())
    assert "tunbridge greet Ann -n 2" in told
    assert (
        CliRunner().invoke(app, ["greet", "Ann", "-n", "2", "--ngrams", "1-2"]).stdout == "AnnAnn {'ngrams': (1, 2)}\n"
    )
    assert CliRunner().invoke(app, ["greet", "Ann", "-n", "0"]).exit_code == 2


def test_options_that_were_given_are_known_by_what_they_set(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {**registry._REGISTERED, "verb": {}})

    @verb("greet")
    def greet(
        *,
        words: Annotated[dict[str, Any], From("text", "TextClassifier", "ngrams lower_case=lower-case/keep-case")],
        loud: bool | None = None,
        often: int = 1,
    ):
        """Greet somebody."""
        print(given_for("often", "loud", "words"))
        refuse_options(["loud"], "be left out here.")

    monkeypatch.setattr(type(entries("verb")["greet"]), "load", lambda _: greet)
    words = ["greet", "--keep-case", "--often", "2", "--ngrams", "2"]
    assert CliRunner().invoke(app, words).stdout == "['--often', '--ngrams', '--keep-case']\n"
    assert CliRunner().invoke(app, ["greet", "--often", "1"]).stdout == "[]\n"  # which is the default
    refused = CliRunner().invoke(app, ["greet", "--no-loud"])
    assert (refused.exit_code, refused.stderr) == (2, "tunbridge: --no-loud must be left out here.\n")


def test_only_the_verb_that_is_called_is_imported():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom tunbridge.cli.app import app\n"
        "CliRunner().invoke(app, ['network', 'convert', '--help'])\n"
        "print([m for m in sys.modules if m.startswith('tunbridge.cli.verbs.')], 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['tunbridge.cli.verbs.convert'] False\n"


@pytest.mark.parametrize("name", ["learn", "network learn", "text learn", "evaluate", "network query"])
def test_help_needs_no_scikit_learn(name):
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom tunbridge.cli.app import app\n"
        f"assert CliRunner().invoke(app, {[*name.split(), '--help']!r}).exit_code == 0\nprint('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_verb_has_its_options_described():
    for entry in entries("verb").values():
        assert all(p.help and p.help[0] not in " (" for p in command_of(entry).params), entry.name


def test_docstrings_are_read():
    found = described(
        "Do.\n\nParameters\n----------\na, b : int\n    Both.\n\nOther Parameters\n---------------\nc\n    Rare."
    )
    assert found["a"].text == found["b"].text == "Both."
    assert (found["a"].type, found["c"].is_rare) == ("int", True)


@pytest.mark.parametrize(
    ("documented", "text", "value"),
    [
        ("int", "3", 3),
        ("int or (int, int)", "1-3", (1, 3)),
        ('int, "cv" or "bic"', "CV", "cv"),
        ('"auto", None, float or "unit"', "none", None),
        ('{"words", "words and marks"}', "marks", "words and marks"),
        ("int or collection of str", "a,b", ["a", "b"]),
        ("text", "acgt", "acgt"),
    ],
)
def test_values_are_read_by_documented_types(documented, text, value):
    assert Kind.of(documented, "").read("--x", text) == value


@pytest.mark.parametrize(
    ("documented", "text", "told"),
    [
        ("int", "-1", "--x must be at least 0; got -1."),
        ("int", "two", "--x must be an integer; got 'two'."),
        (
            '{"em", "gradient"}',
            "gradiant",
            "--x must be one of 'em', 'gradient'; got 'gradiant'. Did you mean 'gradient'?",
        ),
    ],
)
def test_wrong_values_are_told(documented, text, told):
    with pytest.raises(UsageError) as error:
        Kind.of(documented, "").read("--x", text)
    assert str(error.value) == told


def test_a_repeated_option_may_name_variables():
    ess = Kind.of("float or mapping of str to float", "")
    assert ess.read_all("--ess", ["3"]) == 3.0
    assert ess.read_all("--ess", ["a=1", "b=2"]) == {"a": 1.0, "b": 2.0}
    with pytest.raises(UsageError, match="must name each variable once; got 'a' twice"):
        ess.read_all("--ess", ["a=1", "a=2"])


def test_parameters_of_the_library_are_found_in_its_source():
    options = dict(From("learning", "EM", "tolerance", "max_iterations").options())
    assert options["tolerance"].default == 1e-6
    assert options["max_iterations"].is_rare
    assert [p.name for p in inspect.signature(spread(entries("verb")["datasets"].load())).parameters.values()] == [
        "names", "output", "download",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("network predict", "Use tunbridge predict."),
        ("text evaluate", "Use tunbridge evaluate."),
        ("network plot", "Pictures: network draw, --plot of evaluate, explain"),
        ("show", "Did you mean 'describe'?"),
        ("plot", "Use tunbridge describe for text."),
        ("xyz", "bayes, test, warmup, network, text, sequence, hmm."),
    ],
)
def test_unknown_commands_get_a_hint(run, words, hint):
    assert hint in run(*words.split(), code=2).stderr
