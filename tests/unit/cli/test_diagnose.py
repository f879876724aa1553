"""``test``: a diagnostic test on the command line, what is told about it, and what is told when it is wrong."""

from __future__ import annotations

import json

import pytest

import tunbridge as tb

CANCER = ("test", "--prevalence", "0.008", "--sensitivity", "0.98", "--specificity", "0.97")
STUDY = ("test", "--counts", "400,210,310,1200")


def value_of(out: str, name: str) -> list[str]:
    return next(line.split() for line in out.splitlines() if line.startswith(name))


def test_a_rare_cancer(run):
    out = run(*CANCER).stdout
    assert value_of(out, "PPV")[-1] == "0.2085"
    assert value_of(out, "likelihood ratio +")[-1] == "32.67"
    assert "So 376 test positive, and 78 of these are diseased (20.9 %)" in out
    assert "interval" not in out


def test_counts_of_an_allergy(run):
    out = run(*STUDY).stdout
    assert out.splitlines()[:3] == [
        "          diseased  healthy",
        "positive       400      210",
        "negative       310     1200",
    ]
    found = {name: round(float(value_of(out, name)[-4]), 3) for name in ("PPV", "NPV", "sensitivity", "specificity")}
    assert found == {"PPV": 0.656, "NPV": 0.795, "sensitivity": 0.563, "specificity": 0.851}
    assert value_of(out, "PPV")[-3:] == ["0.6172", "…", "0.6924"]
    assert "95 % interval" in out


@pytest.mark.parametrize(("options", "level", "method"), [((), 0.95, "wilson"), (("--interval", "beta"), 0.95, "beta")])
def test_json_has_the_answers_of_the_library(run, options, level, method):
    told = json.loads(run(*STUDY, *options, "--json").stdout)
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    counts = dict(zip(names, ("400", "210", "310", "1200"), strict=True))
    assert told == tb.DiagnosticTest.from_counts(**counts).to_dict(level, method)
    told = json.loads(run(*STUDY, *options, "--level", "90%", "--prevalence", "1%", "--json").stdout)
    assert told == tb.DiagnosticTest.from_counts(**counts, prevalence=0.01).to_dict(0.9, method)


def test_results_of_a_patient(run):
    out = run(*CANCER, "--result", "+", "--result", "+", "--exact").stdout
    assert "After ++ P(diseased) is 89.6 % = 2401/2680; most probable: diseased." in out
    assert "After +- P(diseased) is 0.54 %; most probable: healthy." in run(*CANCER, "--result", "+-").stdout
    told = json.loads(run(*CANCER, "--result", "-", "--json").stdout)["posterior"]
    test = tb.DiagnosticTest(0.008, 0.98, 0.97)
    expected = test.posterior("-")
    assert told == {
        "results": ["-"],
        "diseased": expected["diseased"],
        "healthy": expected["healthy"],
        "map": "healthy",
    }


def test_which_prevalence(run):
    out = run(*CANCER, "--ppv", "50%", "--npv", "0.9", "--exact").stdout
    assert "PPV is 50 % at prevalence 2.97 % = 3/101." in out
    assert "NPV is 90 % at prevalence" in out
    told = json.loads(run("test", "--sensitivity", "0.98", "--specificity", "0.97", "--ppv", "0.5", "--json").stdout)
    assert told["prevalence_for"] == {"ppv": {"value": 0.5, "prevalence": 3 / 101}}


def test_without_a_prevalence(run):
    out = run("test", "--sensitivity", "98%", "--specificity", "0.97", "--derivation").stdout
    assert "Predictive values need a --prevalence." in out
    assert "PPV" not in out
    assert "LR+ = P(+ | diseased) / P(+ | healthy) = 0.98 / 0.03 = 32.6667" in out


def test_so_many_people(run):
    out = run(*STUDY, "--per", "2120").stdout
    assert "Of 2 120 people 710 are diseased and 1 410 are healthy." in out
    assert "rounded" not in out


def test_derivations(run):
    out = run(*CANCER, "--derivation").stdout
    assert "P(+, diseased) = P(+ | diseased) × P(diseased) = 0.98 × 0.008 = 0.00784" in out
    assert "P(healthy | -) = P(-, healthy) / P(-)" in out
    assert (
        "P(diseased | +) = TP / (TP + FP) = 400 / (400 + 210) = 40/61 ≈ 0.655738" in run(*STUDY, "--derivation").stdout
    )
    assert "P(diseased | +(1), +(2))" in run(*CANCER, "--result", "++", "--derivation").stdout
    assert run(*CANCER, "--latex").stdout.startswith("\\begin{aligned}\n")
    never = run("test", "--prevalence", "0.1", "--sensitivity", "0", "--specificity", "1", "--latex").stdout
    assert r"P(\text{healthy} \mid \text{-})" in never  # the PPV is 0/0
    assert "P(diseased | +)" in json.loads(run(*CANCER, "--derivation", "--json").stdout)["derivation"]


def test_fractions_beside_decimals(run):
    assert value_of(run(*CANCER, "--exact").stdout, "PPV")[-2:] == ["0.2085", "49/235"]
    assert "49/235" not in run(*CANCER).stdout


def test_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    assert "The picture is in ppv.png." in run(*CANCER, "--plot", "ppv.png").stderr
    assert (tmp_path / "ppv.png").read_bytes()[:4] == b"\x89PNG"


RATES = ("test", "--sensitivity", "0.9", "--specificity", "0.9")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("test",), "a test must have --sensitivity and --specificity, or --counts TP,FP,FN,TN; got neither."),
        (("test", "--sensitivity", "0.9"), "--specificity is missing."),
        (
            ("test", "--sensitivity", "98", "--specificity", "97"),
            "--sensitivity must lie between 0 and 1; got 98. It looks",
        ),
        (("test", "--sensitivity", "0,9", "--specificity", "1"), "--sensitivity must be a number such as 0.25"),
        (("test", "--counts", "1,2,3"), "--counts must be TP,FP,FN,TN, four numbers; got 3, '1,2,3'."),
        (("test", "--counts", "1,2,3,x"), "--counts must be four numbers, such as 400,210,310,1200; got '1,2,3,x'."),
        ((*STUDY, "--sensitivity", "0.5"), "--counts must come without --sensitivity and --specificity"),
        ((*STUDY, "--level", "95"), "--level must lie between 0 and 1; got 95. It looks like a percentage"),
        ((*RATES, "--level", "0.9"), "--level must come with --counts: without counts there are no intervals."),
        ((*RATES, "--interval", "beta"), "--interval must come with --counts"),
        ((*RATES, "--result", "+"), "--result must come with --prevalence: the probability before the test."),
        ((*RATES, "--per", "10"), "--per must come with --prevalence, which says how many of N people are diseased."),
        ((*CANCER, "--result", "maybe"), "--result must be +, - or several of them, such as ++-; got 'maybe'."),
        ((*CANCER, "--ppv", "two"), "--ppv must be a number such as"),
        (
            ("test", "--sensitivity", "1", "--specificity", "1", "--ppv", "0.5"),
            "--ppv must be a value that the test can have",
        ),
        ((*CANCER, "--latex", "--json"), "an answer must have one form; got --latex and --json."),
        ((*STUDY, "--interval", "wald"), "wald"),
    ],
)
def test_wrong_usage(run, words, message):
    assert message in run(*words, code=2).stderr


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("0,2,0,5", "the counts must have diseased cases; got none."),
        ("-1,2,3,4", "true_positives must be at least 0"),
    ],
)
def test_counts_that_tell_nothing(run, counts, message):
    assert message in run("test", "--counts", counts, code=1).stderr
