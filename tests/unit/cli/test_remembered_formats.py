"""A model remembers how its table was read, whatever the format of that table and of the rows that come later."""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import tunbridge as tb

Rows = list[dict[str, Any]]


def of_rows(rows: Rows) -> pa.Table:
    return pa.table({name: [row[name] for row in rows] for name in rows[0]})


def write_csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_arff(path: Path, rows: Rows) -> None:
    kinds = {"age": "numeric", "load": "numeric"}
    head = "".join(f"@attribute {name} {kinds.get(name, 'string')}\n" for name in rows[0])
    lines = (",".join("?" if v is None else str(v) for v in row.values()) for row in rows)
    path.write_text(f"@relation r\n{head}@data\n" + "\n".join(lines) + "\n")


def write_sqlite(path: Path, rows: Rows) -> None:
    with sqlite3.connect(path) as base:
        base.execute(f"create table visits ({', '.join(rows[0])})")
        marks = ", ".join("?" * len(rows[0]))
        base.executemany(f"insert into visits values ({marks})", [tuple(row.values()) for row in rows])
    base.close()


WRITERS: dict[str, Callable[[Path, Rows], object]] = {
    "csv": write_csv,
    "parquet": lambda path, rows: parquet.write_table(of_rows(rows), path),
    "arrow": lambda path, rows: feather.write_feather(of_rows(rows), str(path)),
    "jsonl": lambda path, rows: path.write_text("".join(json.dumps(row) + "\n" for row in rows)),
    "json": lambda path, rows: path.write_text(json.dumps(rows)),
    "arff": write_arff,
    "db": write_sqlite,
}
FORMATS = tuple(WRITERS)


def made_rows(n: int = 120) -> Rows:
    """Return rows with -99 for missing ages, codes that only look like numbers, and two spellings of a category."""
    draw, rows = random.Random(0), []
    for i in range(n):
        ill = draw.random() < 0.5
        age = -99 if draw.random() < 0.3 else draw.randint(30, 60) if ill else draw.randint(20, 40)
        load = -99.0 if draw.random() < 0.1 else round(draw.gauss(3 + ill, 1), 2)
        ward = draw.choice(["01", "02"] if ill else ["02", "03"])
        smokes = draw.choice(["yes", "Yes", "no"] if ill else ["no", "yes", "no"])
        rows.append(
            {"nr": f"P{i}", "age": age, "load": load, "ward": ward, "smokes": smokes, "ill": "ja" if ill else "nein"}
        )
    return rows


LATER = [
    {"nr": "Q1", "age": -99, "load": 3.5, "ward": "01", "smokes": "Yes", "ill": "ja"},
    {"nr": "Q2", "age": 33, "load": -99.0, "ward": "03", "smokes": "no", "ill": "nein"},
]
CLEAN = [
    {"nr": "Q1", "age": None, "load": 3.5, "ward": "01", "smokes": "yes", "ill": "ja"},
    {"nr": "Q2", "age": 33, "load": None, "ward": "03", "smokes": "no", "ill": "nein"},
]
OPTIONS = ("--missing=-99", "--ignore", "nr", "--merge-categories")


def answers(text: str) -> list[list[str]]:
    return [row[6:] for row in csv.reader(io.StringIO(text))][1:]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Return the later rows in every format."""
    for ending, write in WRITERS.items():
        write(tmp_path / f"later.{ending}", LATER)
    return {ending: tmp_path / f"later.{ending}" for ending in WRITERS}


@pytest.mark.parametrize("ending", FORMATS)
def test_a_classifier_reads_rows_of_every_format_as_its_table(
    run, tmp_path: Path, files: dict[str, Path], ending: str
) -> None:
    WRITERS[ending](tmp_path / f"visits.{ending}", made_rows())
    write_csv(tmp_path / "clean.csv", CLEAN)
    run("learn", f"visits.{ending}", "-t", "ill", *OPTIONS, "-o", "m.tb")
    model = tb.load("m.tb")
    assert {"-99", "-99.0"} & set(model.reading_.missing)
    assert "nr" not in [v.name for v in model.variables_]
    assert set(next(v for v in model.variables_ if v.name == "smokes").states) == {"no", "yes"}
    assert next(v for v in model.variables_ if v.name == "ward").states == ("01", "02", "03")
    expected = answers(run("predict", "m.tb", "clean.csv", "--proba").stdout)
    explained = run("explain", "m.tb", "clean.csv", "--row", 1).stdout
    scores = run("evaluate", "m.tb", "clean.csv", "--json").stdout
    for later in files.values():
        found = run("predict", "m.tb", later, "--proba")
        assert answers(found.stdout) == expected, later.name
        assert found.stderr == ""
        assert run("explain", "m.tb", later, "--row", 1).stdout == explained, later.name
        assert run("evaluate", "m.tb", later, "--json").stdout == scores, later.name


@pytest.mark.parametrize("ending", FORMATS)
def test_a_network_reads_rows_of_every_format_as_its_table(
    run, tmp_path: Path, files: dict[str, Path], ending: str
) -> None:
    WRITERS[ending](tmp_path / f"visits.{ending}", made_rows())
    write_csv(tmp_path / "clean.csv", CLEAN)
    run("network", "learn", f"visits.{ending}", *OPTIONS, "--cuts", "frequency", "-o", "n.tb", "--search", "chow-liu")
    asked = ("predict", "n.tb", "-t", "ill", "--proba")
    expected = answers(run(*asked, "clean.csv").stdout)
    for later in files.values():
        assert answers(run(*asked, later).stdout) == expected, later.name
        assert run("network", "update", "n.tb", later, "-o", "u.tb").stderr == ""
        assert tb.load("u.tb").reading == tb.load("n.tb").reading
        run("network", "fit", "n.tb", later, "-o", "f.tb")
        assert "-99" in tb.load("f.tb").reading.missing


@pytest.mark.parametrize("ending", FORMATS)
def test_imputation_knows_remembered_markers_and_keeps_all_other_values(run, tmp_path: Path, ending: str) -> None:
    rows = made_rows()
    write_csv(tmp_path / "visits.csv", rows)
    run("network", "learn", "visits.csv", *OPTIONS, "--cuts", "frequency", "-o", "n.tb", "--search", "chow-liu")
    WRITERS[ending](tmp_path / f"later.{ending}", rows)
    run("network", "impute", "n.tb", f"later.{ending}", "-o", "filled.csv")
    with (tmp_path / "filled.csv").open() as file:
        filled = list(csv.DictReader(file))
    for before, after in zip(rows, filled, strict=True):
        for name, value in before.items():
            if value == -99:
                assert float(after[name]) != -99
            else:
                assert after[name] == (f"{value:g}" if name == "load" and ending != "csv" else str(value)), name


def test_numbers_and_dates_as_written_in_a_table_are_read_in_typed_files(run, tmp_path: Path) -> None:
    draw = random.Random(1)
    lines = [f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.2025;1.{draw.randint(100, 999)},5;{'ab'[i % 2]}"
             for i in range(60)]  # fmt: skip
    (tmp_path / "d.csv").write_text("\n".join(["datum;betrag;y", *lines, "03.04.2025;k.A.;a"]))
    run("learn", "d.csv", "-t", "y", "-o", "m.tb")
    (tmp_path / "plain.csv").write_text("datum,betrag\n2025-02-01,1200.5\n2025-02-03,\n")
    expected = [row[-2:] for row in csv.reader(io.StringIO(run("predict", "m.tb", "plain.csv", "--proba").stdout))]
    texts = [{"datum": "01.02.2025", "betrag": "1.200,5"}, {"datum": "03.02.2025", "betrag": "k.A."}]
    plain = [{"datum": "2025-02-01", "betrag": "1200.5"}, {"datum": "2025-02-03", "betrag": None}]
    for ending in ("jsonl", "parquet", "json", "db"):
        for rows in (texts, plain):
            (tmp_path / f"later.{ending}").unlink(missing_ok=True)
            WRITERS[ending](tmp_path / f"later.{ending}", rows)
            found = run("predict", "m.tb", f"later.{ending}", "--proba").stdout
            assert [row[-2:] for row in csv.reader(io.StringIO(found))] == expected, (ending, rows)
            table = tb.read_table(tmp_path / f"later.{ending}", reading=tb.load("m.tb").reading_)
            assert table.floats("betrag")[0] == 1200.5
    WRITERS["jsonl"](tmp_path / "later.jsonl", [{"datum": "01.02.2025", "betrag": "viel"}])
    told = run("predict", "m.tb", "later.jsonl", code=1).stderr
    assert "column 'betrag' must hold numbers with decimal commas" in told
    assert "row 1 holds 'viel'" in told


TEXTS = [("win money now", "spam"), ("none", "spam"), ("lunch at noon", "ham"), ("see you at noon", "ham")] * 5


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl", "db"])
@pytest.mark.parametrize("kind", ["text", "sequence"])
def test_models_of_texts_and_sequences_remember_their_reading(run, tmp_path: Path, kind: str, ending: str) -> None:
    WRITERS[ending](tmp_path / f"mails.{ending}", [{"body": text, "label": label} for text, label in TEXTS])
    told = run(kind, "learn", f"mails.{ending}", "-t", "label", "--column", "body", "--missing", "none", "-o", "t.tb")
    assert "--missing" not in told.stdout + told.stderr
    assert "none" in tb.load("t.tb").reading_.markers["body"]
    (tmp_path / "empty.csv").write_text('body,label\n"",spam\nat noon,none\n')
    expected = run("predict", "t.tb", "empty.csv", "--only", "--proba").stdout
    for other in ("csv", "parquet", "jsonl", "db"):
        (tmp_path / f"later.{other}").unlink(missing_ok=True)
        WRITERS[other](
            tmp_path / f"later.{other}", [{"body": "none", "label": "spam"}, {"body": "at noon", "label": "none"}]
        )
        assert run("predict", "t.tb", f"later.{other}", "--only", "--proba").stdout == expected, other
        assert "1 row without label left out" in run("evaluate", "t.tb", f"later.{other}").stderr, other
    known = run("predict", "t.tb", "later.csv", "--only", "--proba", "--not-missing", "NA")
    assert known.stdout == expected


def test_a_model_of_texts_remembers_the_delimiter_and_a_folder_its_encoding(run, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("label^body\n" + "".join(f"{label}^{text}, and more\n" for text, label in TEXTS))
    run("text", "learn", "m.csv", "-t", "label", "--delimiter", "^", "-o", "t.tb")
    (tmp_path / "later.csv").write_text("label^body\nham^lunch, at noon\n")
    assert run("predict", "t.tb", "later.csv", "--only").stdout == "prediction\nham\n"
    for name, text in (("a", "größer"), ("b", "kleiner")):
        (tmp_path / "docs" / name).mkdir(parents=True)
        (tmp_path / "docs" / name / "1.txt").write_bytes(text.encode("latin-1"))
    run("text", "learn", "docs", "--encoding", "latin-1", "-o", "f.tb")
    found = run("predict", "f.tb", "docs/a/1.txt", "--only")
    assert found.stdout == "prediction\na\n"
    assert found.stderr == ""


def test_workbooks_remember_too(run, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    rows = made_rows()
    for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
        book.active.append(row)
    book.save(tmp_path / "visits.xlsx")
    write_csv(tmp_path / "later.csv", LATER)
    write_csv(tmp_path / "clean.csv", CLEAN)
    run("learn", "visits.xlsx", "-t", "ill", *OPTIONS, "-o", "m.tb")
    expected = answers(run("predict", "m.tb", "clean.csv", "--proba").stdout)
    assert answers(run("predict", "m.tb", "later.csv", "--proba").stdout) == expected
