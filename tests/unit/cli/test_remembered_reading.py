"""A model remembers how its table was read: commands with it read other files in the same way."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

import tunbridge as tb
from tunbridge._core.packing import pack, unpack
from tunbridge.data.reading import Reading


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Return a German export: decimal commas, dates, an odd marker, -99 for missing ages."""
    draw, lines = random.Random(0), ["Nr;Datum;Alter;Umsatz;kauft;"]
    for i in range(120):
        buys = draw.random() < 0.5
        age = -99 if draw.random() < 0.2 else draw.randint(20, 45) if buys else draw.randint(40, 80)
        amount = "k.A." if i % 20 == 7 else f"{1000 + 500 * buys + draw.gauss(0, 200):_.2f}".replace("_", "'")
        amount = amount.replace(".", ",").replace("'", ".") if amount != "k.A." else amount
        lines.append(
            f"{i + 1};{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.2025;{age};{amount};{'ja' if buys else 'nein'};"
        )
    path = tmp_path / "export.csv"
    path.write_bytes("\r\n".join(lines).encode("cp1252"))
    return path


ROWS = "Nr;Datum;Alter;Umsatz;\r\n1;01.02.2026;-99;1.200,5;\r\n2;14.03.2026;33;k.A.;\r\n"
PLAIN = "Alter,Umsatz,Nr,Datum\n,1200.5,1,2026-02-01\n33,,2,2026-03-14\n"


def answers(text: str) -> list[tuple[str, ...]]:
    delimiter = ";" if ";" in text.partition("\n")[0] else ","
    rows = [row[-3:] for row in csv.reader(io.StringIO(text), delimiter=delimiter)][1:]
    return [(label, *(f"{float(p.replace(',', '.')):.6g}" for p in ps)) for label, *ps in rows]


@pytest.mark.parametrize("model", ["nb", "tan"])
def test_a_forgotten_marker_gives_the_same_prediction(run, export: Path, tmp_path: Path, model: str) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "plain.csv").write_text(PLAIN)
    run("learn", export, "-t", "kauft", "--missing=-99", "--model", model, "-o", "m.tb")
    forgotten = answers(run("predict", "m.tb", "rows.csv", "--proba").stdout)
    assert len(forgotten) == 2
    assert forgotten == answers(run("predict", "m.tb", "rows.csv", "--proba", "--missing=-99").stdout)
    assert forgotten == answers(run("predict", "m.tb", "plain.csv", "--proba").stdout)
    assert "missing" in run("explain", "m.tb", "rows.csv", "--row", "1").stdout
    assert "120 rows" in run("evaluate", "m.tb", export).stdout


def test_a_network_remembers_too(run, export: Path, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS)
    run("network", "learn", export, "--missing=-99", "--cuts", "frequency", "-o", "n.tb", "--ignore", "Nr")
    net = tb.load("n.tb")
    assert "-99" in net.reading.missing
    assert net.reading.numbers["Umsatz"].decimal == ","
    asked = ("predict", "n.tb", "rows.csv", "-t", "kauft", "--proba")
    assert answers(run(*asked).stdout) == answers(run(*asked, "--missing=-99").stdout)
    assert "unseen" not in run("network", "impute", "n.tb", "rows.csv").stderr
    run("network", "update", "n.tb", export, "-o", "u.tb")
    assert tb.load("u.tb").reading == net.reading
    run("network", "fit", "n.tb", export, "-o", "f.tb", "--missing", "available")
    assert tb.load("f.tb").reading.missing == net.reading.missing


def test_python_remembers_and_forgets(export: Path, tmp_path: Path) -> None:
    table = tb.read_table(export, missing=["-99", *tb.data.readers.DEFAULT_MISSING])
    learned = tb.NaiveBayesClassifier().fit(table, "kauft")
    learned.save(tmp_path / "m.tb")
    assert tb.load(tmp_path / "m.tb").reading_ == table.reading
    assert not hasattr(learned.fit({"a": [1.0, 2.0], "b": ["x", "y"]}, "b"), "reading_")
    net = tb.learn_network(table.select(["kauft"]).with_column(table.column("kauft")._replace(
        variable=tb.Variable("again", table.variable("kauft").states))))  # fmt: skip
    assert net.reading == table.reading
    net.write(tmp_path / "n.bif")  # which keeps tables only
    assert tb.read_network(tmp_path / "n.bif").reading is None


def test_a_reading_is_plain_data(export: Path) -> None:
    reading = tb.read_table(export).reading
    assert unpack(Reading, pack(reading)) == reading


def test_describe_shows_the_report(run, export: Path) -> None:
    told = run("describe", export).stdout
    assert "Detected:\n  Delimiter: ';'\n" in told
    assert "Missing in 'Umsatz': 'k.A.' (6 rows), because all other values are numbers" in told
    assert "Alter: '-99' (" in told
    assert "--missing=-99 reads it so" in told
    assert all(len(line) <= 80 for line in told.splitlines()[1:])
    assert "Detected" not in run("describe", Path(__file__).parents[2] / "x.csv", code=1).stdout


def test_options_override_what_is_detected(run, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("1,a\n2,b\n3,a\n")
    assert "  x0 " in run("describe", "d.csv", "--no-header").stdout
    assert "  1 " in run("describe", "d.csv", "--header").stdout
    (tmp_path / "e.csv").write_text("d,n\n3/4/2025,1\n5/6/2025,2\n")
    assert "2025-04-03" in run("describe", "e.csv", "--day-first").stdout
    assert "2025-03-04" in run("describe", "e.csv", "--no-day-first").stdout


def test_packed_output_and_patterns(run, tmp_path: Path) -> None:
    for n, rows in ((1, "1,a,yes\n2,b,no\n4,a,yes\n"), (2, "1,a,yes\n7,b,no\n")):
        (tmp_path / f"part-{n}.csv").write_text("x,y,ill\n" + rows)
    assert "5 rows" in run("learn", "part-*.csv", "-t", "ill").stdout
    run("predict", "part.tb", "part-*.csv", "-o", "out.csv.gz")
    run("predict", "part.tb", "part-1.csv", "part-2.csv", "-o", "same.csv.gz")
    assert (tmp_path / "same.csv.gz").read_bytes() == (tmp_path / "out.csv.gz").read_bytes()
    out = tb.read_table(tmp_path / "out.csv.gz")
    assert out.names == ("x", "y", "ill", "prediction")
    assert out.n_rows == 5
    assert (tmp_path / "out.csv.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert (
        "must end in '.csv', '.tsv', '.csv.gz'" in run("predict", "part.tb", "part-1.csv", "-o", "x.gz", code=1).stderr
    )
    assert "curl -O" in run("describe", "https://example.org/iris.csv", code=1).stderr
