"""``convert``, ``sample``, ``predict`` and ``describe`` with networks, and what the other verbs say of one."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import tunbridge as tb
from tunbridge.cli import rows as rows_module
from tunbridge.cli.files import losses
from tunbridge.cli.verbs import sample as sample_module
from tunbridge.formats import NetworkParts, read_network_parts, write_network_parts

FORMATS = ("bif", "xmlbif", "net", "dsc", "xdsl", "dsl", "uai", "tb")


@pytest.fixture
def learned() -> NetworkParts:
    """Return a network with everything that some format does not keep."""
    day, rain = tb.Variable("day", [1, 2, 3]), tb.Variable("rain", ["no", "yes"])
    wet, slip = tb.Variable("wet grass?", ["no", "yes"]), tb.Variable("slip", ["no", "yes"])
    cpts = [
        tb.CPT(day, [], [0.2, 0.3, 0.5], counts=[2.0, 3.0, 5.0]),
        tb.SparseCPT(rain, [day], {(1,): [0.1, 0.9]}, default=[0.6, 0.4]),
        tb.CPT(wet, [rain], [[0.9, 0.1], [0.2, 0.8]]),
        tb.noisy_or(slip, {wet: 0.3, rain: 0.1}, leak=0.05),
    ]
    return NetworkParts("lawn", cpts, {"rain": ["unit = mm"]})


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# convert


@pytest.mark.parametrize("before", FORMATS)
@pytest.mark.parametrize("after", FORMATS)
def test_any_pair_of_formats(run, net, before, after):
    net.write(f"a.{before}")
    told = run("network", "convert", f"a.{before}", f"b.{after}")
    assert told.stdout.startswith(f"a.{before}: 8 variables, 8 arcs in b.{after} (")
    assert told.stdout.count("\n") == 1
    found, expected = tb.read_network(f"b.{after}"), tb.read_network(f"a.{before}")
    assert [cpt.table().tolist() for cpt in found.cpts.values()] == [c.table().tolist() for c in expected.cpts.values()]
    if after != "uai":
        assert found == expected
        assert told.stderr == ""


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_lost_is_what_is_told(run, learned, tmp_path: Path, format):
    write_network_parts(tmp_path / "lawn.tb", learned)
    warning = run("network", "convert", "lawn.tb", f"new.{format}").stderr
    back = read_network_parts(tmp_path / f"new.{format}")
    assert ("names of variables" in warning) == (
        [v.name for v in back.variables] != [v.name for v in learned.variables]
    )
    assert ("the counts behind 1 table" in warning) == (back.cpts[0].counts is None)
    assert ("sparse table" in warning) == (not isinstance(back.cpts[1], tb.SparseCPT))
    assert ("noisy-MAX table" in warning) == (not isinstance(back.cpts[3], tb.NoisyMaxCPT))
    assert ("the properties" in warning) == (dict(back.properties) != dict(learned.properties))
    if format != "uai":
        assert ("the type of states (int)" in warning) == (back.variables[0].states != (1, 2, 3))
    assert warning.count("\n") == (format != "tb")
    assert losses(learned, "tb") == []


def test_the_format_may_be_said(run, asia, net, tmp_path: Path):
    run("network", "convert", asia, "asia.tb")
    for own in ("tb", "native"):
        run("network", "convert", asia, "own.dat", "--to", own)
        assert (tmp_path / "own.dat").read_bytes() == (tmp_path / "asia.tb").read_bytes()
    run("network", "convert", asia, "asia.txt", "--to", "XMLBIF")
    assert (tmp_path / "asia.txt").read_text().startswith("<?xml")
    run("network", "convert", "asia.txt", "again.net.gz", "--from", ".xml")
    assert tb.read_network(tmp_path / "again.net.gz") == net


def test_a_file_of_agrum(run, asia, net, tmp_path: Path):
    for suffix in ("uai", "xdsl"):
        net.write(tmp_path / f"agrum.{suffix}", dialect="agrum")
        run("network", "convert", f"agrum.{suffix}", "back.bif", "--dialect", "agrum")
        found = tb.read_network(tmp_path / "back.bif")
        for ours, theirs in zip(net.posteriors().values(), found.posteriors().values(), strict=True):
            np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-12, atol=0)
    assert (
        "dialect must be None for bif" in run("network", "convert", asia, "b.net", "--dialect", "agrum", code=1).stderr
    )


def test_converting_bad_input(run, asia, tmp_path: Path):
    text = asia.read_bytes()
    assert "must not replace the input" in run("network", "convert", asia, asia, code=1).stderr
    assert "must not replace the input" in run("network", "convert", asia, asia, "--to", "net", code=1).stderr
    assert asia.read_bytes() == text
    assert "come with --to, such as --to bif." in run("network", "convert", asia, "asia.txt", code=2).stderr
    assert "come with --from, such as --from bif." in run("network", "convert", "asia.txt", "b.bif", code=2).stderr
    assert "--to must be one of 'bif', 'dsc'" in run("network", "convert", asia, "b.bif", "--to", "bfi", code=2).stderr
    assert "Did you mean 'asia.bif'?" in run("network", "convert", "asai.bif", "b.net", code=1).stderr
    assert "must not end in '.gz'" in run("network", "convert", asia, "b.tb.gz", code=1).stderr
    (tmp_path / "broken.net").write_text("net { }\nnode a { states = }\n")
    assert "line 2, column" in run("network", "convert", "broken.net", "b.bif", code=1).stderr
    assert not (tmp_path / "b.bif").exists()


# sample


def test_equal_seeds_give_equal_files_whatever_their_length(run, asia, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sample_module, "_MOST_ROWS", 1000)
    assert (
        run("network", "sample", asia, "-n", "2500", "-o", "a.csv", "--seed", "7").stdout
        == "2500 rows in a.csv; seed 7\n"
    )
    run("network", "sample", asia, "-n", "2500", "-o", "b.csv", "--seed", "7")
    run("network", "sample", asia, "-n", "1300", "-o", "short.csv", "--seed", "7")
    run("network", "sample", asia, "-n", "2500", "-o", "other.csv", "--seed", "8")
    text = (tmp_path / "a.csv").read_text()
    assert (tmp_path / "b.csv").read_text() == text
    assert text.startswith((tmp_path / "short.csv").read_text())
    assert (tmp_path / "other.csv").read_text() != text
    lines = text.splitlines()
    assert len(lines) == 2501
    assert lines[1:1001] != lines[1001:2001]


def test_rows_follow_the_network(run, asia, net, tmp_path: Path):
    run("network", "sample", asia, "-n", "20000", "-o", "rows.parquet", "--seed", "0")
    rows = pq.read_table(tmp_path / "rows.parquet").to_pydict()
    assert list(rows) == list(net.nodes)
    share = np.mean(np.array(rows["dysp"]) == "yes")
    exact = net.posterior("dysp")["yes"]
    assert abs(share - exact) < 5.0 * np.sqrt(exact * (1.0 - exact) / 20000)
    assert abs(exact - 0.5) > 0.05  # which chance alone would not explain


def test_rows_given_findings_and_interventions(run, asia, net):
    told = run("network", "sample", asia, "-n", "4000", "--given", "dysp=yes", "--do", "smoke=no", "--seed", "1")
    rows = table_of(told.stdout)
    assert told.stderr == ""
    assert {row["dysp"] for row in rows} == {"yes"}
    assert {row["smoke"] for row in rows} == {"no"}
    exact = net.do({"smoke": "no"}).posterior("bronc", {"dysp": "yes"})["yes"]
    share = np.mean([row["bronc"] == "yes" for row in rows])
    assert abs(share - exact) < 5.0 * np.sqrt(exact * (1.0 - exact) / 4000)
    assert abs(exact - net.posterior("bronc")["yes"]) > 0.1


def test_a_new_seed_is_told(run, asia):
    result = run("network", "sample", asia, "-n", "30")
    seed = result.stderr.removeprefix("Note: the seed was ").removesuffix(".\n")
    assert run("network", "sample", asia, "-n", "30", "--seed", seed).stdout == result.stdout
    told = run("network", "sample", asia, "-n", "30", "-o", "rows.tsv").stdout
    assert told.startswith("30 rows in rows.tsv; seed ")


def test_sampling_bad_input(run, asia, tmp_path: Path):
    assert "missing option" in run("network", "sample", asia, code=2).stderr
    assert "--rows must be at least 1; got 0." in run("network", "sample", asia, "-n", "0", code=2).stderr
    assert "must end in '.csv'" in run("network", "sample", asia, "-n", "5", "-o", "rows.xlsx", code=1).stderr
    told = run(
        "network", "sample", asia, "-n", "5", "--given", "either=no", "--given", "lung=yes", "-o", "rows.csv", code=1
    ).stderr
    assert "have probability zero together" in told
    assert not (tmp_path / "rows.csv").exists()
    assert "Did you mean 'yes'?" in run("network", "sample", asia, "-n", "5", "--given", "lung=yess", code=1).stderr


# predict


@pytest.fixture
def patients(run, asia, tmp_path: Path) -> Path:
    """Return rows with missing cells, a column that is no variable, and without the column of one variable."""
    rows = tb.example_network("asia").sample(300, random_state=3).to_arrow().to_pylist()
    rng = np.random.default_rng(5)
    path = tmp_path / "patients.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", "asia", "smoke", "xray", "dysp", "lung"])
        for i, row in enumerate(rows):
            cells = [row[name] if rng.random() > 0.2 else "?" for name in ("asia", "smoke", "xray", "dysp")]
            writer.writerow([f"{i:04d}", *cells, row["lung"]])
    return path


def test_streamed_posteriors_are_those_of_single_queries(run, asia, net, patients, monkeypatch):
    result = run("predict", asia, patients, "--target", "lung", "--proba")
    assert result.stderr == "Note: unknown, because patients.csv has no such column: tub, bronc, either.\n"
    monkeypatch.setattr(rows_module.iter_rows, "__kwdefaults__", {"batch_rows": 7})
    assert run("predict", asia, patients, "--target", "lung", "--proba").stdout == result.stdout
    rows, before = table_of(result.stdout), table_of(patients.read_text())
    assert [{k: row[k] for k in before[0]} for row in rows] == before
    for row in rows[:40]:
        evidence = {name: row[name] for name in ("asia", "smoke", "xray", "dysp") if row[name] != "?"}
        expected = net.posterior("lung", evidence)
        assert float(row["P(yes)"]) == pytest.approx(expected["yes"], rel=1e-10)
        assert float(row["P(no)"]) == pytest.approx(expected["no"], rel=1e-10)
        assert row["prediction"] == expected.mode


def test_decisions_of_a_network(run, asia, net, patients):
    words = ["predict", asia, patients, "-t", "lung", "--only"]
    rows = table_of(run(*words, "--cost", "yes:no=50", "--reject", "0.6", "--proba").stdout)
    for row in rows:
        risks = {"yes": float(row["P(no)"]), "no": 50.0 * float(row["P(yes)"]), "": 0.6}
        assert float(row["risk"]) == pytest.approx(min(risks.values()), rel=1e-9)
        assert row["prediction"] == min(risks, key=lambda choice: risks[choice])
    assert {row["prediction"] for row in rows} == {"yes", "no", ""}


def test_rows_that_cannot_occur(run, asia, tmp_path: Path, monkeypatch):
    (tmp_path / "odd.csv").write_text("either,lung,xray\nno,no,yes\nno,yes,yes\n,,no\nno,yes,no\n")
    monkeypatch.setattr(rows_module.iter_rows, "__kwdefaults__", {"batch_rows": 2})
    result = run("predict", asia, "odd.csv", "-t", "tub", "--proba", "-o", "out.csv")
    assert "warning: 2 of 4 rows (the first is row 2) cannot occur in the network" in result.stderr
    assert result.stdout == "4 rows in out.csv; prediction: no 2, (none) 2\n"
    rows = table_of((tmp_path / "out.csv").read_text())
    assert [row["prediction"] for row in rows] == ["no", "", "no", ""]
    assert [row["P(yes)"] == "" for row in rows] == [False, True, False, True]
    decided = run("predict", asia, "odd.csv", "-t", "tub", "--cost", "yes:no=3", "--only").stdout.splitlines()
    assert decided[2] == decided[4] == ","
    run("predict", asia, "odd.csv", "-t", "tub", "--proba", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["P(yes)"].null_count == 2


def test_a_state_that_looks_missing_is_a_state(run, tmp_path: Path):
    net = tb.BayesianNetwork(
        {"answer": ["NA", "yes"], "truth": ["a", "b"]},
        [("truth", "answer")],
        {"truth": [0.5, 0.5], "answer": [[0.9, 0.1], [0.2, 0.8]]},
    )
    net.write(tmp_path / "net.bif")
    (tmp_path / "rows.csv").write_text("answer\nNA\n?\n")
    rows = table_of(run("predict", "net.bif", "rows.csv", "-t", "truth", "--proba").stdout)
    assert float(rows[0]["P(a)"]) == pytest.approx(0.9 / 1.1)
    assert float(rows[1]["P(a)"]) == pytest.approx(0.5)
    rows = table_of(run("predict", "net.bif", "rows.csv", "-t", "truth", "--proba", "--missing", "NA").stdout)
    assert float(rows[0]["P(a)"]) == pytest.approx(0.5)


def test_native_networks_with_typed_states(run, tmp_path: Path):
    net = tb.BayesianNetwork(
        {"n": [1, 2], "flag": [True, False]}, [("n", "flag")], {"n": [0.5, 0.5], "flag": [[0.9, 0.1], [0.2, 0.8]]}
    )
    net.write(tmp_path / "net.tb")
    assert tb.load(tmp_path / "net.tb") == net
    (tmp_path / "rows.csv").write_text("flag,n\ntrue,1\nfalse,2.0\n")
    assert [row["prediction"] for row in table_of(run("predict", "net.tb", "rows.csv", "-t", "n").stdout)] == ["1", "2"]
    rows = table_of(run("predict", "net.tb", "rows.csv", "-t", "flag").stdout)
    assert [row["prediction"] for row in rows] == ["true", "false"]
    run("predict", "net.tb", "rows.csv", "-t", "n", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["prediction"].to_pylist() == [1, 2]


def test_predicting_bad_input(run, asia, model, tennis, patients, tmp_path: Path):
    assert "--target must name the variable to predict; asia.bif is a network." in run(
        "predict", asia, patients, code=2
    ).stderr  # fmt: skip
    assert "Did you mean 'lung'?" in run("predict", asia, patients, "-t", "lnug", code=1).stderr
    assert "must have columns that are variables" in run("predict", asia, tennis, "-t", "lung", code=1).stderr
    assert "the model must come first" in run("predict", patients, asia, "-t", "lung", code=1).stderr
    told = run("predict", model, tennis, "-t", "wind", code=2).stderr
    assert "--target must be left out with a classifier; tennis.tb predicts 'play'." in told
    assert run("predict", model, tennis, "-t", "play").stdout == run("predict", model, tennis).stdout
    assert "must not replace the input" in run("predict", asia, patients, "-t", "lung", "-o", patients, code=1).stderr


def test_unknown_states_count_as_missing(run, asia, net, tmp_path: Path):
    (tmp_path / "odd.csv").write_text("smoke,DYSP\nsometimes,yes\n")
    result = run("predict", asia, "odd.csv", "-t", "lung", "--proba")
    assert "warning: states that the network does not know count as missing: smoke: 'sometimes'." in result.stderr
    assert "'DYSP' (the network has 'dysp')" in result.stderr
    assert float(table_of(result.stdout)[0]["P(yes)"]) == pytest.approx(net.posterior("lung")["yes"], rel=1e-12)


# describe, and other verbs


def test_describe_shows_a_network(run, asia, net):
    told = run("describe", asia).stdout
    lines = told.splitlines()
    assert lines[0].endswith("asia.bif: 8 variables, 8 arcs, 18 parameters")
    assert "name             asia" in lines
    assert "states           2 per variable, 16 in total" in lines
    assert any(line.startswith("largest table    either given tub, lung: 4 rows of 2 states") for line in lines)
    assert "tables" not in told
    start = lines.index(next(line for line in lines if line.startswith("variable")))
    assert [line.split()[0] for line in lines[start + 1 :]] == list(net.nodes)
    assert lines[-1].split() == ["dysp", "yes,", "no", "either,", "bronc"]


def test_describe_tells_the_kinds_of_tables(run, learned, tmp_path: Path):
    write_network_parts(tmp_path / "lawn.tb", learned)
    assert "2 dense, 1 sparse, 1 noisy-MAX, 1 with counts" in run("describe", "lawn.tb").stdout
    assert "--delimiter must come with a table" in run("describe", "lawn.tb", "--delimiter", ";", code=1).stderr


def test_describe_prints_classifiers(run, model):
    assert run("describe", model).stdout.startswith(f"{tb.load(model)}\n\nfile     {model}, ")


@pytest.mark.parametrize("suffix", ["bif", "tb"])
def test_verbs_of_classifiers_say_that_it_is_a_network(run, asia, tennis, suffix):
    run("network", "convert", asia, f"net.{suffix}")
    for words in (["explain", f"net.{suffix}", "--given", "a=b"], ["evaluate", f"net.{suffix}", tennis]):
        assert "is a network. Query it with tunbridge network query." in run(*words, code=1).stderr


def test_loading_and_predicting_with_a_network_does_without_scikit_learn(run, net, tmp_path: Path):
    net.write(tmp_path / "asia.tb")
    (tmp_path / "rows.csv").write_text("dysp\nyes\n")
    code = (
        "import sys\nimport tunbridge as tb\nfrom tunbridge.cli.app import app as main\ntb.load('asia.tb')\n"
        "sys.argv = ['tunbridge', 'predict', 'asia.tb', 'rows.csv', '-t', 'lung']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "0 False"


@pytest.mark.shared
def test_networks_of_the_repositories(run, shared_data: Path):
    alarm = shared_data / "networks" / "alarm.bif"
    data = json.loads(
        run("network", "query", alarm, "-t", "HYPOVOLEMIA", "--given", "HR=HIGH", "--given", "CVP=LOW", "--json").stdout
    )
    assert sum(data["posteriors"]["HYPOVOLEMIA"].values()) == pytest.approx(1.0, rel=1e-12)
    child = shared_data / "networks" / "child.bif"
    told = run(
        "network", "query", child, "-t", "Disease", "--given", "CO2Report=<7.5", "--given", "Age=0-3_days|4-10_days"
    ).stdout
    assert "PAIVS" in told
    assert "37 variables, 46 arcs, 509 parameters" in run("describe", alarm).stdout
