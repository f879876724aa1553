"""``tunbridge fit``: what it writes is what Python fits, and what it says to mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """Return rows of the Asia network with holes as a CSV file."""
    rows = tb.example_network("asia").sample(600, random_state=1).to_pandas()
    rows.mask(np.random.default_rng(0).random(rows.shape) < 0.2).to_csv(tmp_path / "holes.csv", index=False)
    return tmp_path / "holes.csv"


def test_em_is_the_default_and_equals_python(run, asia, holes, tmp_path):
    told = run("network", "fit", asia, holes, "-o", tmp_path / "f.tb").stdout
    net = tb.read_network(asia)
    found = tb.read_network(tmp_path / "f.tb")
    assert found == tb.fit_parameters(net, tb.read_table(holes))
    assert found.cpt("lung").counts is not None
    assert "Tables      EM, " in told
    assert "converged" in told
    assert "rows of 600" in told
    assert "tunbridge impute" in told


@pytest.mark.parametrize("way", ["available", "complete"])
def test_rows_can_be_left_out(run, asia, holes, tmp_path, way):
    told = run("network", "fit", asia, holes, "-o", tmp_path / "f.tb", "--missing", way, "--prior", "bdeu:10").stdout
    expected = tb.fit_parameters(tb.read_network(asia), tb.read_table(holes), tb.BDeu(ess=10), missing=way)
    assert tb.read_network(tmp_path / "f.tb") == expected
    assert f"counted in {way} rows" in told


def test_gradient_ascent(run, asia, holes, tmp_path):
    told = run(
        "network", "fit", asia, holes, "-o", tmp_path / "f.tb", "--missing", "gradient", "--max-iterations", "200"
    ).stdout
    assert "gradient ascent, " in told


@pytest.mark.parametrize(
    ("rule", "prior"),
    [
        ("mle", "mle"),
        ("0.5", 0.5),
        ("m:3", tb.MEstimate(m=3)),
        ("k2", 1.0),
        ("bdeu", tb.BDeu()),
        ("bds:4", tb.BDs(ess=4)),
        ("laplace:2", 2.0),
        ("backoff:3", tb.BackOff(3.0)),
    ],
)
def test_priors(run, asia, holes, tmp_path, rule, prior):
    run("network", "fit", asia, holes, "-o", tmp_path / "f.tb", "--prior", rule, "--missing", "available")
    expected = tb.fit_parameters(tb.read_network(asia), tb.read_table(holes), prior, missing="available")
    assert tb.read_network(tmp_path / "f.tb") == expected


def test_complete_rows_are_counted(run, asia, tmp_path):
    run("network", "sample", asia, "-n", "200", "-o", tmp_path / "rows.csv", "--seed", "1")
    told = run("network", "fit", asia, tmp_path / "rows.csv", "-o", tmp_path / "f.bif").stdout
    assert "Tables      counted\n" in told
    assert "tunbridge network query" in told


def test_hidden_variables_weights_and_states_of_the_data(run, asia, holes, tmp_path):
    frame = tb.read_table(holes).drop(["either"]).to_pandas()
    frame["n"] = 2.0
    frame.to_csv(tmp_path / "less.csv", index=False)
    told = run(
        "network", "fit", asia, tmp_path / "less.csv", "-o", tmp_path / "f.tb", "--restarts", "1", "--weights", "n"
    ).stdout
    assert "Hidden      either" in told
    assert tb.read_network(tmp_path / "f.tb").cpt("either").variable.states == ("yes", "no")
    run(
        "network",
        "fit",
        asia,
        tmp_path / "less.csv",
        "-o",
        tmp_path / "f.tb",
        "--states-from-data",
        "--hidden",
        "either=3",
    )
    assert tb.read_network(tmp_path / "f.tb").cpt("either").variable.n_states == 3
    run(
        "network",
        "fit",
        asia,
        tmp_path / "less.csv",
        "-o",
        tmp_path / "f.tb",
        "--states-from-data",
        "--hidden",
        "either=x|y",
    )
    assert tb.read_network(tmp_path / "f.tb").cpt("either").variable.states == ("x", "y")


def test_a_warm_start_and_a_picture(run, asia, holes, tmp_path):
    run("network", "fit", asia, holes, "-o", tmp_path / "f.tb", "--trace", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    told = run("network", "fit", tmp_path / "f.tb", holes, "-o", tmp_path / "g.tb", "--warm").stdout
    assert "EM, 1 iteration, converged" in told


def test_marks_of_missing_cells(run, asia, tmp_path, holes):
    text = holes.read_text().replace(",,", ",unknown,").replace(",,", ",unknown,")
    (tmp_path / "marked.csv").write_text(text)
    failed = run("network", "fit", asia, tmp_path / "marked.csv", "-o", tmp_path / "f.tb", code=1)
    assert "must be those of the network; got 'unknown'" in failed.stderr
    run("network", "fit", asia, tmp_path / "marked.csv", "-o", tmp_path / "f.tb", "--missing-mark", "unknown")


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--prior", "much"], "--prior must be mle, a number", 2),
        (["--prior", "bdeu:x"], "--prior must be mle, a number", 2),
        (["--hidden", "smoke"], "--hidden must be NAME=N|NAME=a|b; got 'smoke'", 2),
        (["--hidden", "smoke=2"], "a hidden variable must have no observed values; 'smoke' has", 1),
        (["--missing", "available", "--tolerance", "1"], "--tolerance must come with --missing em or gradient", 2),
        (["--missing", "complete", "--seed", "1"], "--seed must come with --missing em or gradient", 2),
        (["--prior", "m:-1"], "m of the m-estimate must be at least 0; got -1", 1),
        (["--prior", "bdeu:0"], "ess must be at least 1e-100; got 0", 1),
        (["--prior", "-1"], "prior must be at least 0; got -1", 1),
        (["--hidden", "either=²"], "--hidden must be NAME=N|NAME=a|b", 2),
        (["--hidden", "either=2.5"], "--hidden must be NAME=N|NAME=a|b", 2),
        (["--hidden", "either=a|"], "--hidden must be NAME=N|NAME=a|b", 2),
        (["--hidden", "x=2", "--hidden", "x=3"], "--hidden must name each variable once; got 'x' twice", 2),
        (["--weights", "smoke2"], "--weights must name a column of holes.csv; got 'smoke2'", 1),
        (["-o", "out.csv"], "the name of the network must end in", 2),
    ],
)
def test_mistakes(run, asia, holes, options, message, code):
    assert message in run("network", "fit", asia, holes, *options, code=code).stderr


def test_a_table_of_other_columns(run, asia, tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    failed = run("network", "fit", asia, tmp_path / "other.csv", "-o", tmp_path / "f.tb", code=1)
    assert "other.csv must have a column of the network; got none" in failed.stderr
    assert not (tmp_path / "f.tb").exists()


def test_a_network_is_not_replaced_by_chance(run, asia, holes, tmp_path):
    run("network", "fit", asia, holes)
    before = (tmp_path / "holes.tb").read_bytes()
    failed = run("network", "fit", "holes.tb", holes, code=2)
    assert "-o must name the network to write; without it holes.tb itself would be replaced" in failed.stderr
    assert (tmp_path / "holes.tb").read_bytes() == before


def test_the_network_comes_first(run, asia, holes):
    failed = run("network", "fit", holes, asia, code=2)
    assert "the network must come first and the table second; got holes.csv asia.bif" in failed.stderr


def test_a_column_that_nearly_has_the_name_of_a_variable(run, asia, holes, tmp_path):
    (tmp_path / "near.csv").write_text(holes.read_text().replace("smoke", "Smoke"))
    told = run("network", "fit", asia, tmp_path / "near.csv", "-o", tmp_path / "f.tb").stderr
    assert "treated as hidden: 'smoke' (the table has 'Smoke')" in told


def test_rows_without_weight(run, asia, tmp_path):
    rows = tb.example_network("asia").sample(10, random_state=0).to_pandas().assign(n=0)
    rows.to_csv(tmp_path / "none.csv", index=False)
    assert "Likelihood  0 per row" in run("network", "fit", asia, "none.csv", "-o", "f.tb", "--weights", "n").stdout
