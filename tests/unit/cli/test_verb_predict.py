from __future__ import annotations

import csv
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tunbridge as tb
from tunbridge.cli import files as files_module, rows as rows_module

HEAD = "outlook,temperature,humidity,wind"


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture
def mixed(run, tmp_path: Path) -> tuple[Path, Path]:
    """Return a model of mixed columns and the rows it was learned from."""
    rng = np.random.default_rng(1)
    lines = ["id,age,ward,0/1,note,ill"]
    for i in range(200):
        age = "?" if i % 17 == 0 else f"{rng.normal(40 + 10 * (i % 2), 12):.2f}"
        ward = ["A", "B", "", "C"][int(rng.integers(4))]
        lines.append(f'{i:04d},{age},{ward},{int(rng.integers(2))},"say ""{i}"", ü",{"yes" if i % 2 else "no"}')
    path = tmp_path / "mixed.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run("learn", path, "-t", "ill", "--ignore", "id", "--ignore", "note", "-o", "mixed.tb")
    return tmp_path / "mixed.tb", path


def test_streamed_probabilities_are_those_in_memory(run, mixed, monkeypatch):
    model, path = mixed
    expected = tb.load(model).predict_proba(tb.read_table(path).drop(["id", "note"]))
    whole = run("predict", model, path, "--proba").stdout
    monkeypatch.setattr("tunbridge.cli.rows._ANSWERS", 2 * 7)  # probabilities of two classes at once
    assert run("predict", model, path, "--proba").stdout == whole
    found = np.array([[float(r["P(no)"]), float(r["P(yes)"])] for r in table_of(whole)])
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
    guess = [r["prediction"] for r in table_of(whole)]
    assert guess == np.array(["no", "yes"])[expected.argmax(axis=1)].tolist()


def test_columns_come_out_as_they_came_in(run, mixed):
    model, path = mixed
    before = table_of(path.read_text(encoding="utf-8"))
    after = table_of(run("predict", model, path).stdout)
    assert list(after[0]) == [*before[0], "prediction"]
    assert [{k: v for k, v in row.items() if k != "prediction"} for row in after] == before


ODD = [
    "plain", "007", " blanks ", 'a "quoted" word', "comma, and; more", "two\nlines", "cr\r\nlf", "Ünïcödé 日本",
    "?", "NA", "", "'", "=1+1", "tab\there", '"', '""', ",",
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_odd_texts_survive(run, model, tmp_path: Path, suffix):
    rows = tmp_path / "odd.csv"
    with rows.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*HEAD.split(","), "odd name, here"])
        writer.writerows([["Sunny", "Hot", "High", "Weak", text] for text in ODD])
    out = tmp_path / f"out{suffix}"
    run("predict", model, rows, "-o", out)
    with out.open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file, delimiter="\t" if suffix == ".tsv" else ","))
    assert [r["odd name, here"] for r in found] == ODD
    assert {r["prediction"] for r in found} == {"no"}


def test_parquet_keeps_types_and_writes_them(run, model, tmp_path: Path):
    table = pa.table(
        {
            "outlook": ["Sunny", None, "Rain"], "temperature": ["Hot", "Mild", "Cool"],
            "humidity": ["High", "High", "Normal"], "wind": ["Weak", "Weak", "Strong"],
            "n": pa.array([1, None, 3], pa.int16()), "when": pa.array([1, 2, 3], pa.date32()),
        }
    )  # fmt: skip
    pq.write_table(table, tmp_path / "rows.parquet")
    told = run("predict", model, "rows.parquet", "-o", "out.parquet", "--proba").stdout
    assert "3 rows in out.parquet" in told
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.select(table.column_names).equals(table)
    assert found.column_names[-3:] == ["prediction", "P(no)", "P(yes)"]
    np.testing.assert_allclose(
        np.array(found["P(yes)"]), tb.load(model).predict_proba(table.drop(["n", "when"]))[:, 1], rtol=1e-12, atol=0
    )


def test_text_to_parquet_has_null_for_nothing(run, model, tmp_path: Path):
    (tmp_path / "rows.csv").write_text(f"{HEAD},x\nSunny,Hot,High,,\n,Hot,High,Weak,NA\n")
    run("predict", model, "rows.csv", "-o", "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["x"].to_pylist() == [None, "NA"]
    assert found["outlook"].to_pylist() == ["Sunny", None]


def test_keep_and_only(run, model, tennis):
    assert run("predict", model, tennis, "--keep", "wind", "--keep", "outlook").stdout.splitlines()[:2] == [
        "wind,outlook,prediction", "Weak,Sunny,no",
    ]  # fmt: skip
    assert run("predict", model, tennis, "--only").stdout.splitlines()[:2] == ["prediction", "no"]


def test_the_target_may_be_there_or_not(run, model, tennis, tmp_path: Path):
    lines = tennis.read_text().splitlines()
    (tmp_path / "bare.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in lines) + "\n")
    with_target = [line.rsplit(",", 1)[1] for line in run("predict", model, tennis).stdout.splitlines()]
    assert with_target == [line.rsplit(",", 1)[1] for line in run("predict", model, "bare.csv").stdout.splitlines()]


def test_decisions_are_those_of_decide(run, model, tennis, tmp_path: Path):
    clf, table = tb.load(model), tb.datasets.play_tennis()
    expected, risk = clf.decide(table, {"no": {"yes": 4}}, reject=0.5, return_risk=True)
    (tmp_path / "loss.json").write_text('{"no": {"yes": 4}}')
    (tmp_path / "loss.csv").write_text(",no,yes\nno,0,4\nyes,1,0\n")
    for options in (["--cost", "no:yes=4"], ["--loss", "loss.json"], ["--loss", "loss.csv"]):
        found = table_of(run("predict", model, tennis, "--only", "--reject", "0.5", *options).stdout)
        assert [r["prediction"] or None for r in found] == expected.tolist()
        np.testing.assert_allclose([float(r["risk"]) for r in found], risk, rtol=1e-12, atol=0)
    assert None in expected.tolist()
    both = run("predict", model, tennis, "--only", "--loss", "loss.csv", "--cost", "no:yes=1").stdout
    assert [r["prediction"] for r in table_of(both)] == clf.predict(table).tolist()


def test_an_unseen_state_is_one_warning_line(run, model, tmp_path: Path):
    (tmp_path / "rows.csv").write_text(f"{HEAD}\nFoggy,Hot,High,Weak\nSunny,Hot,High,Weak\n")
    result = run("predict", model, "rows.csv")
    assert result.stderr.startswith("warning: ")
    assert result.stderr.count("\n") == 1
    assert "'outlook' holds 'Foggy'" in result.stderr


def test_many_warnings_are_summed_up(run, model, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(rows_module.iter_rows, "__kwdefaults__", {"batch_rows": 1})
    (tmp_path / "rows.csv").write_text(f"{HEAD}\n" + "".join(f"Fog{i},Hot,High,Weak\n" for i in range(9)))
    result = run("predict", model, "rows.csv")
    assert result.stderr.count("\n") == 4
    assert "6 more of the same kind" in result.stderr


def test_a_failure_leaves_what_was_there(run, model, tmp_path: Path):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    (tmp_path / "rows.csv").write_text(f"{HEAD}\nSunny,Hot,High,Weak\nSunny,Hot\n")
    assert "line 3" in run("predict", model, "rows.csv", "-o", out, code=1).stderr
    assert out.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.glob(".*")) == []


def test_an_interrupt_leaves_what_was_there(run, model, tennis, tmp_path: Path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("precious")

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(files_module, "text_lines", interrupted)
    assert run("predict", model, tennis, "-o", out, code=130).stderr == "tunbridge: interrupted.\n"
    assert out.read_text() == "precious"
    assert sorted(p.name for p in tmp_path.glob(".*")) == []


def test_a_closed_pipe_is_quiet(run, model, tennis, monkeypatch):
    def closed(*_: object) -> bytes:
        raise BrokenPipeError

    monkeypatch.setattr(files_module, "text_lines", closed)
    from typer.testing import CliRunner

    from tunbridge.cli.app import app

    result = CliRunner().invoke(app, ["predict", str(model), str(tennis)])
    assert (result.exit_code, result.stderr) == (141, "")


def test_rows_that_do_not_fit(run, model, tmp_path: Path):
    rows = tmp_path / "rows.csv"
    rows.write_text("outlok,temperature,humidity,wind\nSunny,Hot,High,Weak\n")
    told = run("predict", model, rows, code=1).stderr
    assert "'outlook' is not there. Did you mean 'outlok'?" in told
    rows.write_text(f"{HEAD}\n")
    assert "no rows" in run("predict", model, rows, code=1).stderr
    rows.write_text(f"{HEAD},prediction\nSunny,Hot,High,Weak,no\n")
    assert "it has 'prediction'" in run("predict", model, rows, code=1).stderr
    run("predict", model, rows, "--keep", "wind")


def test_absent_columns_are_missing_values(run, mixed, tennis, model, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("outlook,humidity,wind\nSunny,High,Weak\n")
    (tmp_path / "empty.csv").write_text(f"{HEAD}\nSunny,,High,Weak\n")
    told = run("predict", model, "rows.csv", "--only", "--proba")
    assert told.stderr == "warning: rows.csv has no column 'temperature': treated as missing values.\n"
    assert told.stdout == run("predict", model, "empty.csv", "--only", "--proba").stdout
    assert "is not there" not in run("explain", model, "rows.csv", "--row", 1).stderr
    run("predict", model, "rows.csv", "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["outlook", "humidity", "wind", "prediction"]
    (tmp_path / "one.csv").write_text("wind\nWeak\n")
    told = run("predict", model, "one.csv", code=1).stderr
    assert "'outlook', 'temperature', 'humidity' are not there. It has 'wind'." in told
    (tmp_path / "part.csv").write_text("ward,0/1\nA,1\n")
    assert "has no column 'age'" in run("predict", mixed[0], "part.csv").stderr


def test_numbers_that_are_none(run, mixed, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("age,ward,0/1\n31,A,1\nold,A,0\n")
    told = run("predict", mixed[0], "rows.csv", code=1).stderr
    assert "column 'age' must hold" in told
    assert "row 2 holds 'old'" in told


def test_wrong_use(run, model, tennis, tmp_path: Path):
    assert "must exist" in run("predict", "no.tb", tennis, code=1).stderr.replace("a file that exists", "must exist")
    assert "is a table. Learn one from it" in run("predict", tennis, tennis, code=1).stderr
    assert "the model must come first" in run("predict", tennis, model, code=1).stderr
    assert "must end in '.csv'" in run("predict", model, tennis, "-o", "out.xlsx", code=1).stderr
    assert "folder that exists" in run("predict", model, tennis, "-o", "no/out.csv", code=1).stderr
    assert "must not replace the input" in run("predict", model, tennis, "-o", tennis, code=1).stderr
    assert "--keep must name a column" in run("predict", model, tennis, "--keep", "x", code=1).stderr
    assert "--only must come without --keep" in run("predict", model, tennis, "--only", "--keep", "wind", code=2).stderr
    assert "Missing argument 'ROWS'".lower() in run("predict", model, code=2).stderr.lower()


def test_losses_that_are_none(run, model, tennis, tmp_path: Path):
    def told(*options: object, code: int = 1) -> str:
        return run("predict", model, tennis, *options, code=code).stderr

    assert "--cost must name classes of the model; got 'nein'" in told("--cost", "nein:yes=3")
    assert "--cost must name classes of the model; got 'nein'" in told("--cost", "nein=3")
    assert "--cost must be TRUE:CHOSEN=LOSS with a number" in told("--cost", "no:yes=much", code=2)
    assert "must be a .json or .csv file" in told("--loss", "loss.txt")
    assert "'loss.json' cannot be used" in told("--loss", "loss.json")
    (tmp_path / "loss.json").write_text('{"no": ')
    assert "must hold losses in JSON" in told("--loss", "loss.json")
    (tmp_path / "loss.json").write_text("[[0, 1]]")
    assert "must be 2 × 2" in told("--loss", "loss.json")
    (tmp_path / "loss.csv").write_text(",no,yes\nno,0\n")
    assert "line 2:" in told("--loss", "loss.csv")
    (tmp_path / "loss.csv").write_text(",no,yes\nno,0,x\n")
    assert "must hold losses in CSV" in told("--loss", "loss.csv")


def test_an_output_that_is_write_protected(run, model, tennis, tmp_path: Path, monkeypatch):
    out = tmp_path / "out.csv"
    out.write_text("precious")
    monkeypatch.setattr(files_module.os, "access", lambda _, mode: mode != os.W_OK)
    assert "write-protected" in run("predict", model, tennis, "-o", out, code=1).stderr
    assert out.read_text() == "precious"


def test_jsonl_rows(run, model, tmp_path: Path):
    row = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong", "n": 3}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    found = table_of(run("predict", model, "rows.jsonl", "--proba").stdout)[0]
    assert found["prediction"] == "no"
    assert float(found["P(no)"]) == pytest.approx(0.795, abs=5e-4)
    assert found["n"] == "3"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_loss_files_of_any_delimiter(run, model, tennis, delimiter):
    Path("losses.csv").write_text(",no,yes\nno,0,1\nyes,50,0\n".replace(",", delimiter))
    found = run("predict", model, tennis, "--loss", "losses.csv", "--only").stdout
    assert found == run("predict", model, tennis, "--cost", "yes:no=50", "--only").stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a header with the chosen classes"),
        (",no,yes\n", "must hold a header with the chosen classes"),
        ("x\ny\n", "must hold a header with the chosen classes"),
        (",no,yes\nyes,5,0\nyes,7,0\n", "line 3: losses.csv must have one line for each true class; 'yes' has two"),
    ],
)
def test_loss_files_that_say_nothing_clear(run, model, tennis, text, message):
    Path("losses.csv").write_text(text)
    assert message in run("predict", model, tennis, "--loss", "losses.csv", code=1).stderr


def test_text_in_and_types_out(run, tmp_path):
    lines = [f"{i:03d},{20 + i % 40},{i % 2},{'a' if i % 3 else ''}" for i in range(60)]
    Path("rows.csv").write_text("\n".join(["id,age,ill,ward", *lines]) + "\n")
    run("learn", "rows.csv", "-t", "ill", "--ignore", "id", "-o", "m.tb")
    run("predict", "m.tb", "rows.csv", "-o", "out.parquet")
    found = pq.read_table("out.parquet")
    assert [str(t) for t in found.schema.types] == ["string", "double", "int64", "string", "int64"]
    assert found["id"][7].as_py() == "007"
    assert found["ward"].null_count == 20


def test_numbers_far_outside_of_what_was_learned_are_named(run, tmp_path):
    rows = "".join(f"{30 + i},{'no' if i % 3 else 'yes'}\n" for i in range(40))
    (tmp_path / "age.csv").write_text(f"age,ill\n{rows}")
    run("learn", "age.csv", "--target", "ill", "--model", "nb", "--numeric", "gaussian", "-o", "age.tb")
    (tmp_path / "new.csv").write_text("age\n35\n100\n3500\n")
    told = run("predict", "age.tb", "new.csv", "-o", "out.csv").stderr
    assert (
        "Note: 1 row holds a number far outside of what was learned: in row 3 age is 3500, learned were 30 to 69."
        in told
    )
    (tmp_path / "new.csv").write_text("age\n35\n")
    assert "far outside" not in run("predict", "age.tb", "new.csv", "-o", "out.csv").stderr


def test_a_column_without_a_name_comes_out_too(run, tmp_path):
    rows = [f"{i},{'uv'[i % 2]},{'pq'[i % 2]}" for i in range(20)]
    (tmp_path / "d.csv").write_text("\n".join([",a,y", *rows]) + "\n")
    (tmp_path / "plain.csv").write_text("\n".join(["a,y", *(row.partition(",")[2] for row in rows)]) + "\n")
    for data in ("d.csv", "plain.csv"):
        run("learn", data, "-t", "y", "--model", "nb", "-o", "m.tb")
        assert run("predict", "m.tb", "d.csv").stdout.splitlines()[:2] == ["column_1,a,y,prediction", "0,u,p,p"]
    assert run("impute", "d.csv").stdout.splitlines()[0] == "column_1,a,y"
    run("network", "learn", "d.csv", "-o", "n.tb")
    assert run("network", "impute", "n.tb", "d.csv").stdout.splitlines()[:2] == ["column_1,a,y", "0,u,p"]


def test_predictions_are_written_like_the_rows(run, tmp_path):
    rows = [f"{i % 9},5;{'uvwx'[i % 4]};{'pq'[i * i % 5 % 2]}" for i in range(60)]
    (tmp_path / "d.csv").write_text("\n".join(["größe;a;y", *rows]) + "\n", encoding="latin-1")
    run("learn", "d.csv", "-t", "y", "--model", "nb", "-o", "m.tb")
    run("predict", "m.tb", "d.csv", "-o", "p.csv", "--proba")
    written = (tmp_path / "p.csv").read_bytes()
    assert written.startswith("\ufeffgröße;a;y;prediction;P(p);P(q)\n0,5;u;p;".encode())
    assert re.fullmatch(r"0,5;u;p;[pq];0,\d{1,7};0,\d{1,7}", written.decode().splitlines()[1])
    table = tb.read_table(tmp_path / "p.csv")
    exact = tb.load(tmp_path / "m.tb").predict_proba(tb.read_table(tmp_path / "d.csv"))
    np.testing.assert_allclose(table.floats("P(p)"), exact[:, 0], rtol=1e-5)
    assert run("predict", "m.tb", "d.csv", "--proba").stdout == written.decode("utf-8-sig")
    refused = run("predict", "m.tb", "d.csv", "-o", "p.xlsx", code=1).stderr
    assert refused.endswith("got 'p.xlsx'. Excel opens .csv files.\n")
    (tmp_path / "plain.csv").write_text("größe,a\n0.5,u\n")
    run("predict", "m.tb", "plain.csv", "-o", "p.csv", "--proba")
    assert (tmp_path / "p.csv").read_bytes().startswith("größe,a,prediction,P(p),P(q)\n0.5,u,".encode())


def test_a_column_of_nearly_the_same_name_is_the_only_one_named(run, tmp_path):
    rows = [f"{'ab'[i % 2]},{i % 7},{i % 5},{'pq'[i % 3 % 2]}" for i in range(40)]
    (tmp_path / "d.csv").write_text("\n".join(["tarif,age,n,y", *rows]) + "\n")
    run("learn", "d.csv", "-t", "y", "--model", "nb", "-o", "m.tb")
    (tmp_path / "rows.csv").write_text("age,tarrif\n3,a\n")
    told = run("predict", "m.tb", "rows.csv", code=1).stderr
    assert told.endswith("the model was learned from; 'tarif' is not there. Did you mean 'tarrif'?\n")


def test_an_option_that_begins_another_one(run, tennis):
    told = run("learn", tennis, "-t", "play", "--merge", code=2).stderr
    assert told == "tunbridge: no such option: --merge. Did you mean --merge-categories? See tunbridge learn --help.\n"
