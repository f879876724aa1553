"""Losses on the command line: of missing a class, by row, and what they add up to; calibrated models."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb


@pytest.fixture
def loans(run) -> tuple[Path, Path]:
    """Return a model of loans, and a table of them."""
    rng = np.random.default_rng(0)
    bad = rng.random(300) < 0.3
    lines = ["income,amount,note,class"]
    for is_bad in bad:
        income = rng.choice(["low", "high"], p=[0.7, 0.3] if is_bad else [0.35, 0.65])
        lines.append(f"{income},{int(rng.integers(100, 5000))},x,{'bad' if is_bad else 'good'}")
    Path("loans.csv").write_text("\n".join(lines) + "\n")
    run("learn", "loans.csv", "-t", "class", "--ignore", "note", "-o", "loans.tb")
    return Path("loans.tb"), Path("loans.csv")


def column(text: str, name: str) -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(text))]


def test_the_cost_of_missing_a_class(run, loans):
    found = run("predict", *loans, "--only", "--cost", "bad=5").stdout
    assert found == run("predict", *loans, "--only", "--cost", "bad:good=5").stdout
    expected, risks = tb.load("loans.tb").decide(tb.read_table("loans.csv"), {"bad": 5}, return_risk=True)
    assert column(found, "prediction") == expected.tolist()
    np.testing.assert_allclose([float(r) for r in column(found, "risk")], risks, rtol=1e-12)


def test_a_loss_in_a_column(run, loans):
    found = run("predict", *loans, "--only", "--cost", "bad=amount", "--cost", "good=300").stdout
    table = tb.read_table("loans.csv")
    amounts = table.column("amount").values
    expected, risks = tb.load("loans.tb").decide(table, {"bad": amounts, "good": 300}, return_risk=True)
    assert column(found, "prediction") == expected.tolist()
    assert len(set(expected.tolist())) == 2
    np.testing.assert_allclose([float(r) for r in column(found, "risk")], risks, rtol=1e-12)


def test_the_last_cost_of_a_pair_counts(run, loans):
    found = run("predict", *loans, "--only", "--cost", "bad=amount", "--cost", "bad:good=5").stdout
    assert found == run("predict", *loans, "--only", "--cost", "bad=5").stdout


def test_the_expected_loss_is_told(run, loans):
    told = run("predict", *loans, "-o", "out.csv", "--cost", "bad=5", "--reject", "0.4").stdout
    decided = tb.load("loans.tb").decisions(tb.read_table("loans.csv"), {"bad": 5}, reject=0.4)
    assert f"Expected loss: {decided.total_risk:.6g} in total, {decided.mean_risk:.4g} per row" in told
    assert "Expected loss" not in run("predict", *loans, "-o", "out.csv").stdout


@pytest.mark.parametrize(
    ("cost", "code", "message"),
    [
        ("bed=5", 1, "--cost must name classes of the model; got 'bed'. Did you mean 'bad'?"),
        ("bad:god=5", 1, "--cost must name classes of the model; got 'god'. Did you mean 'good'?"),
        ("bad=amont", 2, "with a number or a column of the rows; got 'bad=amont'. Did you mean 'amount'?"),
        ("bad", 2, "--cost must be TRUE:CHOSEN=LOSS with a number or a column of the rows; got 'bad'."),
        ("bad=inf", 1, "losses must be finite numbers; the loss of choosing 'good' for 'bad' is inf"),
        ("bad=income", 1, "column 'income' must hold numbers; row 1 holds"),
    ],
)
def test_messages(run, loans, cost, code, message):
    assert message in run("predict", *loans, "--cost", cost, code=code).stderr


def test_an_amount_that_is_missing(run, loans):
    lines = Path("loans.csv").read_text().splitlines()
    lines[3] = "low,,x,bad"
    Path("gap.csv").write_text("\n".join(lines))
    told = run("predict", "loans.tb", "gap.csv", "--cost", "bad=amount", code=1).stderr
    assert "gap.csv must have a number in column 'amount' of every row, because it is a loss; row 3 has none" in told


@pytest.mark.parametrize("method", ["auto", "isotonic", "platt", "temperature"])
def test_learning_a_calibrated_model(run, loans, method):
    told = run("learn", "loans.csv", "-t", "class", "--ignore", "note", "--calibrate", method, "-o", "cal.tb").stdout
    model = tb.load("cal.tb")
    assert isinstance(model, tb.CalibratedClassifier)
    assert model.method == method
    assert f"Calibrated  by {model.method_}" in told
    assert "1 categorical, 1 numeric (" in told
    shown = run("explain", "cal.tb", "loans.csv", "--row", "1").stdout
    assert "calibration" in shown
    run("predict", "cal.tb", "loans.csv", "--cost", "bad=5", "-o", "out.csv")


def test_calibration_is_for_classifiers(run, loans):
    told = run("network", "learn", "loans.csv", "--calibrate", "platt", code=2).stderr
    assert "has no option --calibrate; it belongs" in told
    told = run("evaluate", "loans.tb", "loans.csv", "--calibrate", "platt", code=2).stderr
    assert "--calibrate must be left out when a model is evaluated" in told
    told = run("evaluate", "loans.csv", "-t", "class", "--models", "forest", "--calibrate", "platt", code=2).stderr
    assert "--calibrate must come with classifiers of Tunbridge; 'forest' is scikit-learn's" in told


def test_calibrated_models_are_evaluated(run, loans):
    words = ("evaluate", "loans.csv", "-t", "class", "--ignore", "note", "--folds", 3, "--json")
    assert run(*words).stdout != run(*words, "--calibrate", "isotonic").stdout
