"""The help of every verb: it has examples, and these use options that exist and verbs that run."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.testing import CliRunner

from tunbridge.cli.app import app

VERBS = (
    "learn",
    "evaluate",
    "predict",
    "explain",
    "query",
    "sample",
    "impute",
    "convert",
    "describe",
    "datasets",
    "bayes",
    "test",
    "warmup",
)


def help_of(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="tunbridge", env={"COLUMNS": "200"})
    assert result.exit_code == 0
    return result.stdout


def examples_of(verb: str) -> list[str]:
    return [line.strip() for line in help_of(verb).splitlines() if re.match(r"\s+tunbridge ", line)]


def test_the_program_lists_its_verbs():
    told = help_of()
    for verb in VERBS:
        assert re.search(rf"^\W*{verb}\s+\w", told, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_short_helps_are_whole_sentences(verb):
    line = next(line for line in help_of().splitlines() if re.match(rf"\W*{verb}\s", line))
    assert line.rstrip(" │").endswith(".")
    assert "..." not in line


@pytest.mark.parametrize("verb", VERBS)
def test_examples_use_options_that_exist(verb):
    told = help_of(verb)
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told.split("Options")[1])) | {"--debug"}
    found = examples_of(verb)
    assert len(found) >= 2 or verb == "warmup"
    for example in found:
        words = shlex.split(example)
        assert verb in words
        assert {w for w in words if re.match(r"--?[a-z]", w)} <= known, example


def test_the_first_steps_of_the_help_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = re.search(r"A first model: (.*)", " ".join(help_of().split())).group(1)
    for step in steps.split("; "):
        result = CliRunner().invoke(app, shlex.split(step)[1:])
        assert result.exit_code == 0, result.output
    assert (tmp_path / "tennis.tb").exists()
