"""``tunbridge impute`` fills holes and leaves other cells as they stood; ``describe --holes`` tells what is missing."""

from __future__ import annotations

import csv
import datetime as dt
import random
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tunbridge as tb
from tunbridge.cli import rows as cli_rows

ROWS = """id,lung,smoke,dysp,xray,score
007,?,yes,no,NA,1.50
008,yes, ,no,yes,
"09,a",no,no,yes,no,2e3
010,,,,,
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS.replace(", ,", ",,"))
    return path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def expected(net: tb.BayesianNetwork, given: dict[str, str], holes: list[str]) -> dict[str, str]:
    return dict(net.most_probable(given, of=holes))


def test_holes_are_filled_and_the_rest_is_word_for_word(run, asia, net, rows, tmp_path):
    out = tmp_path / "filled.csv"
    told = run("impute", asia, rows, "-o", out)
    first, second, third, last = read(out)
    assert first == {"id": "007", "smoke": "yes", "dysp": "no", "score": "1.50"} | expected(
        net, {"smoke": "yes", "dysp": "no"}, ["lung", "xray"]
    )
    assert second["smoke"] == net.most_probable({"lung": "yes", "dysp": "no", "xray": "yes"}, of=["smoke"])["smoke"]
    assert second["score"] == ""
    assert third == {"id": "09,a", "lung": "no", "smoke": "no", "dysp": "yes", "xray": "no", "score": "2e3"}
    assert last == {"id": "010", "score": ""} | expected(net, {}, ["lung", "smoke", "dysp", "xray"])
    assert told.stdout == f"4 rows in {out}; 7 missing values imputed: lung 2, smoke 2, xray 2, dysp 1\n"
    assert "unknown, because rows.csv has no such column: asia, tub, bronc, either" in told.stderr


def test_to_stdout(run, asia, rows):
    told = run("impute", asia, rows)
    assert told.stdout.splitlines()[0] == "id,lung,smoke,dysp,xray,score"
    assert len(told.stdout.splitlines()) == 5
    assert "Note: 7 missing values imputed: lung 2, smoke 2, xray 2, dysp 1." in told.stderr
    assert run("impute", asia, rows, "-o", "-").stdout == told.stdout


def test_cell_wise(run, tmp_path):
    net = tb.BayesianNetwork(
        {"a": ["x", "y", "z"], "b": ["x", "y"]}, [("a", "b")], {"a": [0.4, 0.3, 0.3], "b": [[1, 0], [0, 1], [0, 1]]}
    )
    net.write(tmp_path / "net.tb")
    (tmp_path / "rows.csv").write_text("a,b\n,\n")
    assert run("impute", "net.tb", "rows.csv").stdout == "a,b\nx,x\n"
    assert run("impute", "net.tb", "rows.csv", "--cell-wise").stdout == "a,b\nx,y\n"


def test_several_imputations_go_to_numbered_files(run, asia, net, tmp_path):
    n = 400
    (tmp_path / "rows.csv").write_text("dysp,bronc\n" + "yes,\n" * n)
    told = run("impute", asia, "rows.csv", "-o", "out.csv", "--imputations", 3, "--seed", 5)
    assert (
        told.stdout
        == f"{n} rows in each of out-1.csv … out-3.csv; {n} missing values imputed in each: bronc {n}; seed 5\n"
    )
    assert not (tmp_path / "out.csv").exists()
    shares = [sum(row["bronc"] == "yes" for row in read(tmp_path / f"out-{i}.csv")) / n for i in (1, 2, 3)]
    p = net.posterior("bronc", {"dysp": "yes"})["yes"]
    assert all(abs(share - p) < 5 * (p * (1 - p) / n) ** 0.5 for share in shares)
    assert len(set(shares)) > 1
    first = (tmp_path / "out-1.csv").read_text()
    run("impute", asia, "rows.csv", "-o", "again.csv", "--method", "sample", "--seed", 5)
    assert (tmp_path / "again.csv").read_text() == first
    run("impute", asia, "rows.csv", "-o", "other.csv", "--method", "sample", "--seed", 6)
    assert (tmp_path / "other.csv").read_text() != first


def test_a_new_seed_is_told(run, asia, rows, tmp_path):
    told = run("impute", asia, rows, "-o", tmp_path / "out.csv", "--method", "sample").stdout
    seed = told.rstrip().rpartition("seed ")[2]
    run("impute", asia, rows, "-o", tmp_path / "again.csv", "--method", "sample", "--seed", seed)
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "out.csv").read_text()


def test_batches_differ_and_are_all_filled(run, asia, tmp_path, monkeypatch):
    monkeypatch.setattr(cli_rows.iter_rows, "__kwdefaults__", {"batch_rows": 50})
    (tmp_path / "rows.csv").write_text("dysp,bronc\n" + "yes,\n" * 170)
    told = run("impute", asia, "rows.csv", "-o", "out.csv", "--method", "sample", "--seed", 1).stdout
    assert told.startswith("170 rows in out.csv; 170 missing values imputed: bronc 170")
    drawn = [row["bronc"] for row in read(tmp_path / "out.csv")]
    assert len({tuple(drawn[i : i + 50]) for i in (0, 50, 100)}) == 3


def test_columns_may_be_chosen_and_added(run, asia, net, rows, tmp_path):
    told = run("impute", asia, rows, "-o", "out.csv", "--column", "lung", "--column", "bronc").stdout
    found = read(tmp_path / "out.csv")
    assert list(found[0]) == ["id", "lung", "smoke", "dysp", "xray", "score", "bronc"]
    assert {name: found[0][name] for name in ("lung", "bronc")} == expected(
        net, {"smoke": "yes", "dysp": "no"}, ["lung", "bronc"]
    )
    assert [row["xray"] for row in found] == ["NA", "yes", "no", ""]
    assert told.endswith("6 missing values imputed: bronc 4, lung 2\n")


def test_typed_files(run, asia, tmp_path):
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int16()),
            "lung": pa.array([None, "no"]).dictionary_encode(),
            "smoke": pa.array(["yes", None]),
            "x": pa.array([None, 2.5]),
        }
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    run("impute", asia, "rows.parquet", "-o", "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.to_pylist() == [
        {"id": 1, "lung": "no", "smoke": "yes", "x": None},
        {"id": 2, "lung": "no", "smoke": "no", "x": 2.5},
    ]
    assert found.schema.field("id").type == pa.int16()
    assert run("impute", asia, "rows.parquet").stdout == "id,lung,smoke,x\n1,no,yes,\n2,no,no,2.5\n"


def test_text_to_a_typed_file(run, asia, rows, tmp_path):
    run("impute", asia, rows, "-o", "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert found[1]["score"] is None
    assert found[0]["id"] == "007"
    assert None not in {row["lung"] for row in found}


def test_states_that_are_numbers(run, tmp_path):
    tb.BayesianNetwork({"n": [1, 2, 3], "m": [0.5, 1.5]}, [], {"n": [0.2, 0.2, 0.6], "m": [0.1, 0.9]}).write("net.tb")
    (tmp_path / "rows.csv").write_text("n,m\n1.0,\n,0.50\n9,?\n")
    told = run("impute", "net.tb", "rows.csv")
    assert told.stdout == "n,m\n1.0,1.5\n3,0.50\n9,1.5\n"
    assert "states that the network does not know count as missing: n: 9.0." in told.stderr


def test_impossible_rows_are_told_once(run, asia, tmp_path):
    (tmp_path / "rows.csv").write_text("either,lung,xray\nyes,no,yes\nno,yes,\nno,yes,\n,no,no\n")
    told = run("impute", asia, "rows.csv", "-o", "out.csv")
    warning = "2 of 4 rows (the first is row 2) cannot occur in the network; their missing values are not imputed."
    assert told.stderr.count("cannot occur") == 1
    assert warning in told.stderr
    assert [row["xray"] for row in read(tmp_path / "out.csv")] == ["yes", "", "", "no"]
    assert told.stdout.endswith("1 missing value imputed: either 1\n")


def test_markers_that_are_states_are_states(run, tmp_path):
    net = tb.BayesianNetwork({"country": ["NA", "FR"], "b": ["x", "y"]}, [], {"country": [0.3, 0.7], "b": [0.2, 0.8]})
    net.write(tmp_path / "net.tb")
    (tmp_path / "rows.csv").write_text("country,b\nNA,NA\n,x\n-9,y\n")
    assert run("impute", "net.tb", "rows.csv", "--missing", "-9").stdout == "country,b\nNA,NA\nFR,x\nFR,y\n"


def test_a_file_without_holes(run, asia, tmp_path):
    (tmp_path / "rows.csv").write_text("lung\nno\n")
    told = run("impute", asia, "rows.csv", "-o", "out.csv").stdout
    assert told == "1 row in out.csv; 0 missing values imputed: no column of the network has one that can be imputed\n"


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (["--method", "mode"], "--method must be one of 'most-probable', 'sample'; got 'mode'", 2),
        (
            ["--imputations", "3"],
            "--imputations must come with --output, which gets a number for each of the files.",
            2,
        ),
        (
            ["-n", "3", "--method", "most-probable", "-o", "x.csv"],
            "--imputations must come with --method sample; the",
            2,
        ),
        (["--cell-wise", "--method", "sample"], "--cell-wise must come with --method most-probable; states are", 2),
        (["--seed", "1"], "--seed must come with --method sample; the other method uses no random numbers.", 2),
        (["--column", "lungs"], "--column must name a variable of the network; got 'lungs'. Did you mean 'lung'?", 1),
        (
            ["-o", "out.xlsx"],
            "must end in '.csv', '.tsv', '.csv.gz', '.tsv.gz', '.parquet', '.pq'; got 'out.xlsx'.",
            1,
        ),
        (["-o", "rows.csv"], "the output must not replace the input", 1),
        (["-o", "no/out.csv"], "the output must go to a folder that exists", 1),
    ],
)
def test_messages(run, asia, rows, options, message, code):
    assert message in run("impute", asia, rows, *options, code=code).stderr


def test_messages_about_files(run, asia, rows, model, tmp_path):
    assert f"the network must come first; got '{rows}' before '{asia}'." in run("impute", rows, asia, code=1).stderr
    assert "it holds a model of the kind 'naive-bayes'" in run("impute", model, rows, code=1).stderr
    assert "Did you mean" in run("impute", tmp_path / "asa.bif", rows, code=1).stderr
    (tmp_path / "other.csv").write_text("Lungs\nyes\n")
    told = run("impute", asia, tmp_path / "other.csv", code=1).stderr
    assert "other.csv must have columns that are variables of the network; got 'Lungs'." in told


# describe --holes


def test_describe_holes(run, tmp_path):
    rng = np.random.default_rng(0)
    age = rng.choice(["young", "old"], 400)
    income = ["" if rng.random() < (0.5 if a == "old" else 0.1) else "high" for a in age]
    lines = "\n".join(f"{a},{i}" for a, i in zip(age, income, strict=True))
    (tmp_path / "people.csv").write_text(f"age,income\n{lines}\n")
    told = run("describe", "people.csv", "--holes").stdout
    n = income.count("")
    assert told.startswith(
        f"people.csv: 400 rows, 2 columns, {n} missing values\n{400 - n} rows without missing values\n\n"
    )
    assert "\nincome " in told
    assert told.endswith(
        "Whether values are missing depending on the missing values themselves cannot be seen in the data.\n"
    )


def test_describe_holes_of_a_network_is_an_error(run, asia):
    assert (
        "--missing-values must come with a table; 'asia.bif' is a network."
        in run("describe", asia, "--holes", code=1).stderr
    )


@pytest.mark.parametrize("kind", [pa.float64(), pa.null()], ids=str)
def test_a_column_of_missing_values_whose_type_cannot_hold_the_states_stays(run, asia, tmp_path, kind):
    table = pa.table({"lung": pa.array([None, None], kind), "smoke": ["yes", None]})
    pq.write_table(table, tmp_path / "rows.parquet")
    found = run("impute", asia, "rows.parquet", "-o", "out.parquet")
    assert f"column 'lung' must have a type that holds the network's states to be filled; got {kind}" in found.stderr
    assert pq.read_table(tmp_path / "out.parquet").column("lung").to_pylist() == [None, None]
    assert pq.read_table(tmp_path / "out.parquet").column("smoke").null_count == 0


WARDS = """patient,smoke,temperature,ward
P01,yes,37.20,3
P02,?,36.90,4
P03,,38.40,3
P04,no,36.60,
P05,no,36.80,4
P06,yes,38.90,3
P07,yes,38.50,3
P08,no,,4
P09,no,36.70,4
P10,yes,38.70,3
P11,yes,,3
P12,no,36.60,4
"""


def test_a_table_alone_is_filled_in(run, tmp_path):
    (tmp_path / "w.csv").write_text(WARDS)
    result = run("impute", "w.csv", "-o", "f.csv", "--report", "c.csv")
    assert "12 rows in f.csv; 5 missing values imputed" in result.stdout
    filled = (tmp_path / "f.csv").read_text().splitlines()
    given = WARDS.splitlines()
    assert filled[0] == given[0]
    assert filled[1] == given[1]
    assert filled[2] == "P02,no,36.90,4"
    assert filled[4] == "P04,no,36.60,4"
    warm, cold = filled[11].split(",")[2], filled[8].split(",")[2]
    assert float(warm) > float(cold)
    assert len(warm.partition(".")[2]) == 2
    cells = (tmp_path / "c.csv").read_text().splitlines()
    assert cells[0] == "row,column,value,probability,low,high"
    assert len(cells) == 6


def test_skipped_columns_are_named(run, tmp_path):
    (tmp_path / "w.csv").write_text(WARDS.replace("P05", ""))
    result = run("impute", "w.csv", "-o", "f.csv")
    assert "Note: patient is not imputed: it has 11 different texts." in result.stderr


def test_several_draws_of_a_table_alone(run, tmp_path):
    (tmp_path / "w.csv").write_text(WARDS)
    assert "each of f-1.csv … f-3.csv" in run("impute", "w.csv", "-o", "f.csv", "-n", "3", "--seed", "0").stdout
    assert (tmp_path / "f-1.csv").read_text() != (tmp_path / "f-2.csv").read_text()


def test_bad_input_without_a_network(run, asia, tmp_path):
    (tmp_path / "w.csv").write_text(WARDS)
    assert "a table must come after the network" in run("impute", asia, code=2).stderr
    assert "must come with a network" in run("impute", "w.csv", "--cell-wise", code=2).stderr
    assert "Did you mean 'ward'?" in run("impute", "w.csv", "--ignore", "wardd", code=1).stderr
    assert "--report must come without a network" in run("impute", asia, "w.csv", "--report", "c.csv", code=2).stderr


def test_numbers_are_filled_in_as_the_file_writes_them(run, tmp_path):
    heights = ["" if i % 9 == 0 else f"1,{50 + i % 40}" for i in range(90)]
    temps = ["-99.0" if i % 10 == 5 else f"{i}.5" for i in range(90)]
    rows = "".join(f"{h};{i % 40};{t}\n" for i, (h, t) in enumerate(zip(heights, temps, strict=True)))
    (tmp_path / "d.csv").write_text(f"height;n;temp\n{rows}")
    run("impute", "d.csv", "--missing=-99", "-o", "out.csv")
    filled = tb.read_table("out.csv")
    found = filled.to_pandas()["height"]
    assert found.between(1.4, 2.0).all()
    assert found.nunique() > 30
    assert filled.to_pandas()["temp"].min() > -99


EXPORTS = {
    "german": (";", "cp1252", "%d.%m.%Y", lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,"))),
    "plain": (",", "utf-8", "%Y-%m-%d", lambda x: f"{x:.2f}"),
    "times": ("\t", "utf-8", "%Y-%m-%dT%H:%M", lambda x: f"{x:.2f}"),
    "american": (",", "utf-8", "%m/%d/%Y", lambda x: f"{x:.2f}"),
}


@pytest.mark.parametrize("kind", EXPORTS)
def test_a_filled_file_reads_back_the_same_but_for_the_filled_cells(run, tmp_path: Path, kind: str) -> None:
    delimiter, encoding, form, number = EXPORTS[kind]
    draw, lines = random.Random(0), [delimiter.join(["größe", "tag", "betrag", "wahl"])]
    for i in range(150):
        day = dt.datetime(2025, 1, 1) + dt.timedelta(days=draw.randint(0, 300))
        amount = 1000 + 10 * (day - dt.datetime(2025, 1, 1)).days + draw.gauss(0, 50)
        cells = [str(draw.randint(1, 5)), day.strftime(form), number(amount), "ja" if amount > 2500 else "größer"]
        if i % 10 == 3:
            cells[1 + i // 10 % 3] = ""
        lines.append(delimiter.join(cells))
    suffix = ".tsv" if delimiter == "\t" else ".csv"
    (tmp_path / f"in{suffix}").write_bytes("\n".join(lines).encode(encoding))
    before = tb.read_table(tmp_path / f"in{suffix}")
    told = run("impute", f"in{suffix}", "-o", f"out{suffix}", "--report", "cells.csv").stdout
    assert "15 missing values imputed" in told
    after = tb.read_table(tmp_path / f"out{suffix}")
    assert after.missing == {}
    assert after.names == before.names
    for name in before.names:
        assert after.variable(name) == before.variable(name) or before.variable(name).is_continuous
        known = before.column(name).values == before.column(name).values
        known &= before.column(name).values >= 0 if before.variable(name).is_categorical else True
        assert (after.column(name).values[known] == before.column(name).values[known]).all(), name
    assert after.column("tag").type == before.column("tag").type
    gone = np.isnan(before.floats("tag"))
    guess = (before.floats("betrag")[gone] - 1000) / 10 * 86400 + dt.datetime(2025, 1, 1).replace(
        tzinfo=dt.UTC
    ).timestamp()
    assert np.abs(after.floats("tag")[gone] - guess).max() < 20 * 86400
    assert len(tb.read_table(tmp_path / "cells.csv")) == 15


def test_a_table_alone_gets_the_remarks_of_learn(run, tmp_path):
    rows = [f"{i % 9 * 1000 + 1234.5:,.2f};{'uvwU'[i % 4]};{i % 5}".translate({44: 46, 46: 44}) for i in range(60)]
    rows[7], rows[8] = ";v;1", "1.234,00;k. A.;2"
    (tmp_path / "d.csv").write_text("\n".join(["x;a;n", *rows]) + "\n")
    told = run("impute", "d.csv", "-o", "out.csv").stderr
    assert "Check: a has categories that differ in capitals or blanks only: 'U' and 'u' (--merge-categories).\n" in told
    assert "Check: a: 'k. A.' (1 row) may be a missing value; --missing='k. A.' reads it so.\n" in told
    cell = (tmp_path / "out.csv").read_text(encoding="utf-8-sig").splitlines()[8].split(";")[0]
    assert re.fullmatch(r"\d\.\d{3},\d\d", cell)
    how = ["--merge-categories", "--missing", "k. A."]
    assert "Check" not in run("impute", "d.csv", "-o", "out.csv", *how).stderr
