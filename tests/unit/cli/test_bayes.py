"""``bayes``: hypotheses on the command line, what is told about them, and what is told when they are wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import pytest

import tunbridge as tb
from tunbridge.cli.verbs.bayes import _named

CANCER = ("bayes", "--prior", "cancer=0.008", "--likelihood", "cancer=0.98,healthy=0.03")


def test_a_rare_cancer(run):
    lines = [line.split() for line in run(*CANCER).stdout.splitlines()]
    assert lines[1] == ["cancer", "0.008", "0.98", "0.00784", "0.208511", "32.6667", "0.263441"]
    assert lines[2] == ["healthy", "0.992", "0.03", "0.02976", "0.791489", "0.0306122", "3.79592"]
    assert lines[-2][-1] == "0.0376"
    assert lines[-1] == ["Most", "probable", "healthy,", "0.791489"]


def test_json_has_the_answers_of_the_library(run):
    told = json.loads(run(*CANCER, "--likelihood", "healthy=0.97,cancer=0.02", "--json", "--derivation").stdout)
    rows = [{"cancer": 0.98, "healthy": 0.03}, {"cancer": 0.02, "healthy": 0.97}]
    found = tb.bayes_rule({"cancer": 0.008}, rows)
    assert told["evidence"] == found.evidence
    assert (told["map"], told["ml"]) == ("healthy", "healthy")
    for name, numbers in told["hypotheses"].items():
        assert numbers["posterior"] == found[name]
        assert numbers["joint"] == pytest.approx(found[name] * found.evidence, rel=1e-12)
        assert numbers["bayes_factor"] == found.bayes_factor(name)
        assert numbers["odds"] == found.odds(name)
    assert told["posteriors"][0]["cancer"] == float(Fraction(49, 235))
    assert told["derivation"] == str(found.derivation())


def test_several_observations_are_shown_one_by_one(run):
    out = run(*CANCER, "--likelihood", "cancer=0.98,healthy=0.03").stdout
    assert "After each observation:" in out
    assert [line.split()[-2] for line in out.splitlines()[-3:]] == ["0.008", "0.208511", "0.895896"]


def test_exact_fractions(run):
    out = run(*CANCER, "--exact").stdout
    assert "49/235" in out
    assert "0.0376 = 47/1250" in out
    assert json.loads(run(*CANCER, "--exact", "--json").stdout)["hypotheses"]["cancer"]["exact"] == "49/235"
    assert "/" not in run(*CANCER).stdout
    rare = ("bayes", "--exact", "--prior", "a=1e-350", "--likelihood", "a=1,b=1")  # odds that no float holds
    assert [line.split()[6] for line in run(*rare).stdout.splitlines()[1:3]] == ["1e-350", "1e+350"]
    assert json.loads(run(*rare, "--json").stdout)["hypotheses"]["b"]["odds"] == "Infinity"


def test_derivations(run):
    out = run(*CANCER, "--derivation").stdout
    assert "P(cancer | E) = P(E | cancer) × P(cancer) / P(E) = 0.00784 / 0.0376 = 0.208511" in out
    latex = run(*CANCER, "--latex").stdout
    assert latex.startswith("\\begin{aligned}\n")
    assert "hypothesis" not in latex


def test_uniform_priors_and_certain_ones(run):
    out = run("bayes", "--prior", "uniform", "--likelihood", "a=1/2,b=1/4,c=0").stdout
    assert [line.split()[4] for line in out.splitlines()[1:4]] == ["0.666667", "0.333333", "0"]
    out = run("bayes", "--prior", "a=1,b=0", "--likelihood", "a=1/2,b=1/4").stdout
    assert [line.split()[-2:] for line in out.splitlines()[1:3]] == [["-", "inf"], ["0.5", "0"]]


def test_names_hold_spaces_and_equals_signs():
    assert _named("--prior", "a b = 1/3, c=d=25%,e=.5", False) == {"a b": Fraction(1, 3), "c=d": 0.25, "e": 0.5}
    assert _named("--prior", "e=.5", True) == {"e": Fraction(1, 2)}
    assert _named("--prior", "rare=1e-350", False) == {"rare": Fraction(1, 10**350)}  # as a float it would be 0


def test_priors_in_one_option_or_in_several(run):
    one = run("bayes", "--prior", "a=0.2,b=0.3", "--likelihood", "a=0.1,b=0.2,c=0.3").stdout
    assert run("bayes", "--prior", "a=0.2", "--prior", "b=0.3", "--likelihood", "a=0.1,b=0.2,c=0.3").stdout == one


@pytest.mark.parametrize(
    ("prior", "likelihood", "message"),
    [
        (
            "cancer",
            "cancer=1,b=0",
            "--prior must be NAME=P, or several separated by commas; got 'cancer'. Example",
        ),
        ("cancer=0,008", "cancer=1,b=0", "got '008'. Write decimals with a point, and names without commas."),
        ("=0.5", "a=1,b=0", "--prior must be NAME=P, or several separated by commas; got '=0.5'."),
        ("a=half", "a=1,b=0", "--prior of 'a' must be a number such as 0.25, 1/4 or 25%; got 'half'."),
        ("a=1.5", "a=1,b=0", "--prior of 'a' must lie between 0 and 1; got 3/2."),
        ("a=0.5,a=0.5", "a=1,b=0", "--prior must name a hypothesis once; got 'a' twice."),
        ("a=0.5", "a=98,b=0", "--likelihood of 'a' must lie between 0 and 1; got 98. It looks like a percentage"),
        ("a=0.5", "a=1", "--likelihood must name every hypothesis, at least two; got 'a=1'. Example"),
        ("a=0.5", "", "--likelihood must be NAME=P, or several separated by commas; got ''."),
    ],
)
def test_wrong_usage(run, prior, likelihood, message):
    assert message in run("bayes", "--prior", prior, "--likelihood", likelihood, code=2).stderr


@pytest.mark.parametrize(
    ("prior", "likelihood", "message"),
    [
        ("a=0.5,b=0.4", "a=1,b=0", "the prior must sum to 1; got 0.9."),
        ("a=0.5,flu=0.2", "a=1,b=0", "the likelihood must name hypotheses; got 'b'. Known: 'a', 'flu'."),
        ("a=0.5", "a=1,b=0,c=1", "the prior must name every hypothesis, or all but one; 'b', 'c' are missing."),
        ("uniform", "a=0,b=0", "E has probability 0 under 'a', 'b'."),
    ],
)
def test_hypotheses_that_do_not_fit(run, prior, likelihood, message):
    assert message in run("bayes", "--prior", prior, "--likelihood", likelihood, code=1).stderr


def test_forms_that_exclude_each_other(run):
    assert "one form; got --latex and --json." in run(*CANCER, "--latex", "--json", code=2).stderr
    assert "one form; got --latex and --derivation." in run(*CANCER, "--latex", "--derivation", code=2).stderr
    assert "missing option '--prior'" in run("bayes", "--likelihood", "a=1,b=0", code=2).stderr


def test_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    assert "The picture is in moved.svg." in run(*CANCER, "--plot", "moved.svg").stderr
    assert "<svg" in (tmp_path / "moved.svg").read_text(encoding="utf-8")
    assert "must end in '.png', '.svg', '.pdf'" in run(*CANCER, "--plot", "moved.txt", code=1).stderr
    nowhere = run(*CANCER, "--plot", "nowhere/moved.svg", code=1)
    assert "the output must go to a folder that exists" in nowhere.stderr
    assert nowhere.stdout == ""


def test_neither_verb_waits_for_heavy_libraries():
    words = [list(CANCER), ["test", "--counts", "4,2,3,12"]]
    code = (
        "import sys, tunbridge as tb\nfrom typer.testing import CliRunner\nfrom tunbridge.cli.app import app\n"
        "tb.HypothesisSpace({'a': {'H': 1}}).update('H')\n"
        f"assert all(CliRunner().invoke(app, w).exit_code == 0 for w in {words!r})\n"
        "print([m for m in ('sklearn', 'matplotlib', 'numba') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
