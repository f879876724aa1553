"""Networks of numbers cut into intervals on the command line: learned, asked and applied to raw numbers."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    age = rng.integers(1, 90, 300)
    pulse = np.round(50 + 0.8 * age + rng.normal(0, 6, 300), 1)
    ill = np.where(rng.random(300) < (pulse > 85) * 0.8 + 0.1, "yes", "no")
    text = "\n".join(
        f"{a},{'' if i % 20 == 7 else p},{c}" for i, (a, p, c) in enumerate(zip(age, pulse, ill, strict=True))
    )
    path = tmp_path / "visits.csv"
    path.write_text(f"age,pulse,ill\n{text}\n")
    return path


@pytest.mark.parametrize("suffix", ["tb", "bif", "xmlbif", "net", "dsc"])
def test_from_numbers_to_predictions(run, visits, tmp_path, suffix):
    run("learn", visits, "--cuts", "frequency", "--bins", "3", "-o", f"v.{suffix}")
    net, table = tb.read_network(tmp_path / f"v.{suffix}"), tb.read_table(visits)
    run("predict", f"v.{suffix}", visits, "--target", "ill", "-o", "p.csv", "--proba", "--only")
    found = tb.read_table(tmp_path / "p.csv").floats("P(yes)")
    cuts = {name: net.variable(name).cuts for name in ("age", "pulse")}
    expected = net.predict_proba(tb.discretise(table, cuts)[0], "ill")[:, list(net.variable("ill").states).index("yes")]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    assert len(set(np.round(found, 12))) > 1


def test_parquet_rows_and_labels_are_read_too(run, visits, tmp_path):
    run("learn", visits, "--bins", "4", "-o", "v.tb")
    net, table = tb.read_network(tmp_path / "v.tb"), tb.read_table(visits)
    cuts = {name: net.variable(name).cuts for name in ("age", "pulse")}
    table.to_pandas().to_parquet(tmp_path / "raw.parquet")
    tb.discretise(table, cuts)[0].to_pandas().to_csv(tmp_path / "labels.csv", index=False)
    told = [
        run("predict", "v.tb", rows, "--target", "ill", "--proba", "--only").stdout
        for rows in ("raw.parquet", "labels.csv")
    ]
    assert told[0] == told[1] == run("predict", "v.tb", visits, "--target", "ill", "--proba", "--only").stdout


def test_findings_are_numbers(run, visits, tmp_path):
    run("learn", visits, "--cuts", "width", "--bins", "3", "-o", "v.bif")
    net = tb.read_network(tmp_path / "v.bif")
    label = net.variable("age").states[net.variable("age").find(37)]
    by_number = run("network", "query", "v.bif", "--target", "ill", "--given", "age=37").stdout
    assert by_number == run("network", "query", "v.bif", "--target", "ill", "--given", f"age={label}").stdout
    either = run("network", "query", "v.bif", "--target", "pulse", "--given", "age=5|80").stdout
    assert either != run("network", "query", "v.bif", "--target", "pulse").stdout
    wrong = run("network", "query", "v.bif", "--target", "ill", "--given", "age=old", code=1).stderr
    assert "--given must give a state of 'age'; got 'old'. Known: " in wrong
    assert wrong.endswith(" A finite number will do too.\n")


def test_the_commands_that_come_next_work(run, visits, tmp_path):
    told = run("learn", visits, "--search", "tan", "--cuts", "frequency", "-t", "ill", "-o", "v.tb").stdout
    lines = [line.strip() for line in told.splitlines() if line.startswith("  tunbridge ")]
    (query,) = [line for line in lines if " query " in line]
    net = tb.read_network(tmp_path / "v.tb")
    name, _, value = shlex.split(query)[-1].partition("=")
    assert net.variable(name).cuts
    assert net.variable(name).find(float(value)) >= 0
    for line in lines:
        run(*shlex.split(line.replace("rows.csv", visits.name))[1:])


def test_what_uai_loses_is_told(run, visits):
    assert "the bin edges of 'age', 'pulse'" in run("learn", visits, "--bins", "3", "-o", "v.uai").stdout
    run("learn", visits, "--bins", "3", "-o", "v.tb")
    assert "v.uai does not keep the names" in (lost := run("network", "convert", "v.tb", "v.uai").stderr)
    assert "the bin edges of 'age', 'pulse'" in lost
    assert "cut points" not in run("network", "convert", "v.tb", "v.bif").stderr


def test_a_real_table(run, shared_data, tmp_path):
    data = shared_data / "uci" / "cleve.csv"
    run("learn", data, "--search", "tan", "--cuts", "mdl", "-t", "num", "-o", "heart.xmlbif")
    run("predict", "heart.xmlbif", data, "--target", "num", "-o", "p.csv")
    table = tb.read_table(tmp_path / "p.csv").to_pandas()
    assert (table["prediction"] == table["num"]).mean() > 0.8
