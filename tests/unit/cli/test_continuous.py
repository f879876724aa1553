"""Networks of categories and numbers on the command line: learned, asked, applied, drawn from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb


@pytest.fixture
def body() -> tb.BayesianNetwork:
    return tb.BayesianNetwork(
        {"Sex": ["female", "male"], "Height": None, "Weight": None},
        [("Sex", "Height"), ("Sex", "Weight"), ("Height", "Weight")],
        {
            "Sex": [0.5, 0.5],
            "Height": {"intercepts": {"female": 165, "male": 178}, "variances": [36, 49]},
            "Weight": {"intercepts": -100, "coefficients": {"Height": {"female": 0.97, "male": 1.0}}, "variances": 64},
        },
    )


@pytest.fixture
def file(body: tb.BayesianNetwork, tmp_path: Path) -> Path:
    body.write(tmp_path / "body.tb")
    return tmp_path / "body.tb"


@pytest.fixture
def rows(run, file, tmp_path) -> Path:
    run("network", "sample", file, "-n", 300, "--seed", 1, "-o", "rows.csv")
    return tmp_path / "rows.csv"


def test_numbers_are_findings(run, body, file):
    told = run("network", "query", file, "-t", "Sex", "--given", "Weight=80", "--json").stdout
    assert json.loads(told)["posteriors"]["Sex"] == pytest.approx(dict(body.posterior("Sex", {"Weight": 80})))


def test_the_distribution_of_a_number(run, body, file):
    told = run("network", "query", file, "-t", "Height", "--given", "Weight=80").stdout.splitlines()
    assert told[0] == "Height: 178.022 ± 5.68"
    assert told[1] == "95 % between 166.632 and 188.891"
    assert told[3].split() == ["0.874759", "178.867", "5.26804"]
    found = json.loads(run("network", "query", file, "-t", "Height", "--given", "Weight=80", "--json").stdout)
    exact = body.posterior("Height", {"Weight": 80})
    height = found["posteriors"]["Height"]
    assert (height["mean"], height["standard_deviation"]) == (pytest.approx(exact.mean), pytest.approx(exact.std))
    assert [part["weight"] for part in height["mixture"]] == pytest.approx(exact.weights.tolist())
    top = json.loads(run("network", "query", file, "-t", "Height", "--top", 1, "--json").stdout)
    assert len(top["posteriors"]["Height"]["mixture"]) == 1
    assert "… the weightiest of 2" in run("network", "query", file, "-t", "Height", "--top", 1).stdout


def test_all_variables_in_short(run, file):
    told = run("network", "query", file, "--given", "Sex=male", "--do", "Height=180").stdout.splitlines()
    assert told[0].split("  ")[0] == "variable"
    assert told[2].split() == ["Height", "180", "±", "0"]
    assert told[3].split() == ["Weight", "80", "±", "8"]


def test_densities_explanations_forecasts(run, body, file):
    told = run(
        "network", "query", file, "--probability", "--given", "Weight=80", "--given", "Sex=female"
    ).stdout.split()
    assert (told[0], float(told[3])) == (
        "density",
        pytest.approx(body.log_probability({"Weight": 80, "Sex": "female"}), rel=1e-5),
    )
    assert "Weight = 80" in run("network", "query", file, "-t", "Sex", "--given", "Weight=80", "--explain").stdout
    assert "it fits" in run("network", "query", file, "--forecast").stdout
    told = run("network", "query", file, "--most-probable", "-t", "Sex", "--given", "Weight=95").stdout
    assert told.splitlines()[1].split() == ["Sex", "male"]


def test_description(run, file):
    told = run("describe", file).stdout
    assert "continuous       2 variables" in told
    assert "2 Gaussian, 1 dense" in told
    assert "Weight given Sex, Height: 2 regressions" in told


def test_rows_are_predicted(run, body, file, rows):
    run("predict", file, rows, "-t", "Weight", "-o", "w.csv", "--only")
    found = tb.read_table("w.csv").floats("prediction")
    np.testing.assert_allclose(found, body.predict(tb.read_table(rows), "Weight"), rtol=1e-9)
    told = run("predict", file, rows, "-t", "Weight", "-o", "w.csv").stdout
    assert told == "300 rows in w.csv; prediction: the expected Weight\n"
    run("predict", file, rows, "-t", "Sex", "-o", "s.csv", "--only", "--proba")
    expected = body.predict_proba(tb.read_table(rows), "Sex")[:, 1]
    np.testing.assert_allclose(tb.read_table("s.csv").floats("P(male)"), expected, rtol=1e-9)


def test_networks_are_learned_and_fitted(run, file, rows):
    told = run("network", "learn", rows, "--cuts", "none", "-o", "learned.tb").stdout
    net = tb.read_network("learned.tb")
    assert isinstance(net.cpt("Height"), tb.LinearGaussian)
    command = next(line for line in told.splitlines() if line.startswith("  tunbridge network query"))
    run(*command.split()[1:])
    run("network", "fit", file, rows, "-o", "fitted.tb")
    assert tb.read_network("fitted.tb") == tb.fit_parameters(tb.read_network(file), tb.read_table(rows))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["query", "-t", "Sex", "--given", "Weight=heavy"],
            1,
            "--given must give a number such as 12.5 for 'Weight', which is continuous; got 'heavy'.",
        ),
        (["query", "-t", "Sex", "--given", "Weight=inf"], 1, "--given must give a number such as 12.5 for 'Weight'"),
        (
            ["query", "-t", "Sex", "--given", "Weight"],
            2,
            "--given must be NAME=STATE; got 'Weight'. Write Weight=1.5, for example.",
        ),
        (["query", "--most-probable"], 1, "continuous: 'Height', 'Weight'. Name categorical variables with --target."),
        (
            ["query", "-t", "Sex", "-t", "Height", "--joint"],
            1,
            "a joint distribution must be of categorical variables; 'Height'",
        ),
        (
            ["convert", "b.bif"],
            1,
            "a network in bif must have categorical variables only; 'Height', 'Weight' are continuous.",
        ),
    ],
)
def test_mistakes(run, file, arguments, code, message):
    told = run(arguments[0], file, *arguments[1:], code=code).stderr
    assert message in told


def test_mistakes_about_tables(run, file, rows):
    assert "'Weight' is continuous" in run("predict", file, rows, "-t", "Weight", "--proba", code=2).stderr
    assert (
        "must end in '.tb'; got 'x.bif'"
        in run("network", "learn", rows, "--cuts", "none", "-o", "x.bif", code=2).stderr
    )
    assert (
        "with none nothing is discretized"
        in run("network", "learn", rows, "--cuts", "none", "--bins", 3, code=2).stderr
    )
    assert "--cuts none makes them Gaussian variables" in run("network", "learn", rows, code=1).stderr
