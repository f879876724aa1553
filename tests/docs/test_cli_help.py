"""The help of every verb: it has examples, and these use options that exist and verbs that run."""

from __future__ import annotations

import re
import shlex

import pytest
from typer.testing import CliRunner

from tunbridge._core.registry import entries
from tunbridge.cli.app import app, command_of

VERBS = tuple(entries("verb"))
MOST_OPTIONS = 20


def help_of(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="tunbridge", env={"COLUMNS": "200"})
    assert result.exit_code == 0
    return result.stdout


def examples_of(verb: str) -> list[str]:
    return [line.strip() for line in help_of(*verb.split()).splitlines() if re.match(r"\s+tunbridge ", line)]


def line_of(verb: str) -> str:
    group, _, name = verb.rpartition(" ")
    told = help_of(*group.split()).splitlines()
    return next(line for line in told if re.match(rf"\W*{name}\s", line))


@pytest.mark.parametrize("verb", VERBS)
def test_short_helps_are_whole_sentences(verb):
    assert line_of(verb).rstrip(" │").endswith(".")
    assert "..." not in line_of(verb)


@pytest.mark.parametrize("verb", VERBS)
def test_examples_use_options_that_exist(verb):
    parameters = command_of(entries("verb")[verb]).params
    known = {o for p in parameters for o in (*p.opts, *p.secondary_opts)} | {"--debug"}
    found = examples_of(verb)
    assert len(found) >= 2 or verb == "warmup"
    names = {verb, entries("verb")[verb].details.get("also", verb)}
    for example in found:
        assert any(f" {name} " in f"{example} " for name in names)
        assert {w for w in shlex.split(example) if re.match(r"--?[a-z]", w)} <= known, example


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_of_help_is_short_and_another_one_has_everything(verb):
    shown = re.findall(r"(?m)^  -", help_of(*verb.split()).split("Options")[1])
    assert len(shown) <= MOST_OPTIONS
    parameters = command_of(entries("verb")[verb]).params
    if any(getattr(p, "hidden", False) for p in parameters):
        told = CliRunner().invoke(app, [*verb.split(), "--help-all"], prog_name="tunbridge").stdout
        assert all(p.opts[0] in told for p in parameters if p.opts[0].startswith("--"))
    assert all(p.help and p.help[0] != " " for p in parameters)


def test_the_first_steps_of_the_help_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = re.search(r"A first model: (.*)", " ".join(help_of().split())).group(1)
    for step in steps.split("; "):
        result = CliRunner().invoke(app, shlex.split(step)[1:])
        assert result.exit_code == 0, result.output
    assert (tmp_path / "tennis.tb").exists()
