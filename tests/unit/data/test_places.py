# ruff: noqa: E501 (the parts of a workbook)
"""Tables that are not one text file: workbooks, databases, JSON, several files, standard input, addresses."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import sys
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tunbridge.data.readers import iter_batches, read_table
from tunbridge.errors import DataError, FormatError


def cells(table) -> dict[str, list]:
    return table.to_arrow().to_pydict()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table visits (id integer, name text, seen text, weight real)")
        rows = [(1, "Ann", "2025-01-02", 61.5), (2, None, "2025-01-03", None), (3, "NA", "2025-02-01", 70)]
        connection.executemany("insert into visits values (?, ?, ?, ?)", rows)
        connection.execute("create table wards (ward text)")
        connection.execute("create table empty (a integer)")
        connection.execute("insert into wards values ('A')")
    connection.close()
    return path


class TestSQLite:
    def test_a_table(self, base: Path) -> None:
        expected = {
            "id": [1, 2, 3],
            "name": ["Ann", None, "NA"],
            "seen": [datetime(2025, 1, 2), datetime(2025, 1, 3), datetime(2025, 2, 1)],
            "weight": [61.5, None, 70.0],
        }
        assert cells(read_table(f"{base}::visits")) == expected
        assert cells(read_table(f"sqlite:///{base}?table=visits")) == expected
        assert cells(read_table(Path(f"sqlite:///{base}?table=visits"), columns=["id"])) == {"id": [1, 2, 3]}

    def test_an_address_relative_to_the_folder(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(base.parent)
        for text in ("sqlite:///clinic.db?table=wards", Path("sqlite:///clinic.db?table=wards"), "clinic.db::wards"):
            assert cells(read_table(text)) == {"ward": ["A"]}

    def test_batches(self, base: Path) -> None:
        batches = list(iter_batches(f"{base}::visits", numbers=["id", "weight"], batch_rows=2))
        assert [b.num_rows for b in batches] == [2, 1]
        assert batches[0]["weight"].to_pylist() == [61.5, None]

    def test_what_is_wrong(self, base: Path, tmp_path: Path) -> None:
        with pytest.raises(
            DataError, match=r"must be named; it has 'empty', 'visits', 'wards'. Write clinic.db::TABLE"
        ):
            read_table(base)
        with pytest.raises(DataError, match=r"got 'visit'. Did you mean 'visits'"):
            read_table(f"{base}::visit")
        with pytest.raises(FormatError, match="holds a header but no rows"):
            read_table(f"{base}::empty")
        (tmp_path / "no.db").write_text("this is text, which is not a database at all" * 50)
        with pytest.raises(FormatError, match=r"must be an SQLite database; SQLite says: file is not a database"):
            read_table(tmp_path / "no.db")


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "c.duckdb")) as connection:
        connection.execute("create table t as select * from (values (1, 'x'), (2, 'y'), (3, 'x')) as v(a, b)")
    assert cells(read_table(tmp_path / "c.duckdb")) == {"a": [1, 2, 3], "b": ["x", "y", "x"]}
    assert cells(read_table(f"duckdb:///{tmp_path / 'c.duckdb'}?table=t"))["a"] == [1, 2, 3]
    assert next(iter_batches(f"{tmp_path / 'c.duckdb'}::t", numbers=["a"]))["a"].to_pylist() == [1.0, 2.0, 3.0]
    (tmp_path / "no.duckdb").write_text("no database" * 1000)
    with pytest.raises(FormatError, match="must be a DuckDB database"):
        read_table(tmp_path / "no.duckdb")


class TestJSON:
    @pytest.mark.parametrize("content", [
        [{"a": 1, "b": "x"}, {"a": 2}, {"a": 2.5, "b": "z"}],
        {"rows": [{"a": 1, "b": "x"}, {"a": 2}, {"a": 2.5, "b": "z"}]},
        {"a": [1, 2, 2.5], "b": ["x", None, "z"]},
    ])  # fmt: skip
    def test_forms(self, tmp_path: Path, content: object) -> None:
        (tmp_path / "d.json").write_text(json.dumps(content, indent=1))
        assert cells(read_table(tmp_path / "d.json")) == {"a": [1.0, 2.0, 2.5], "b": ["x", None, "z"]}
        batch = next(iter_batches(tmp_path / "d.json", numbers=["a"]))
        assert batch.to_pydict() == {"a": [1.0, 2.0, 2.5], "b": ["x", None, "z"]}

    def test_lines_in_spite_of_the_name(self, tmp_path: Path) -> None:
        (tmp_path / "d.json").write_text('{"a": 1}\n{"a": 2}\n{"a": 3}\n')
        assert cells(read_table(tmp_path / "d.json")) == {"a": [1, 2, 3]}
        (tmp_path / "e.json.gz").write_bytes(gzip.compress(b'[{"a": "x"}, {"a": "y"}]'))
        assert cells(read_table(tmp_path / "e.json.gz")) == {"a": ["x", "y"]}

    @pytest.mark.parametrize(("content", "message"), [
        ("[1, 2]", "must hold an array of objects"), ("[]", "no rows"), ("[{]", "line 1, column 3: .* must be JSON"),
        ('[{"a": {"b": 1}}]', "column 'a' .* must hold plain values"), ("[" * 100_000, "nested too deeply"),
        (" \n", "blank lines"), ('{"a": [1], "b": [1, 2]}', "equally long"), ('[{"a": 1}, {"a": "x"}]', "one type"),
    ])  # fmt: skip
    def test_what_is_wrong(self, tmp_path: Path, content: str, message: str) -> None:
        (tmp_path / "d.json").write_text(content)
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / "d.json")


class TestSeveralFiles:
    def test_one_table(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a-1.csv").write_text("x;y;w\n1,5;u;1\n2,5;n/a;2\n?;u;1\n")
        (tmp_path / "a-2.csv").write_text("y;x;w\nv;3;4\nu;4,25;1\n")
        monkeypatch.chdir(tmp_path)
        for files in ("a-*.csv", Path("a-?.csv"), ["a-1.csv", "a-2.csv"]):
            table = read_table(files, weights="w")
            assert cells(table) == {"x": [1.5, 2.5, None, 3.0, 4.25], "y": ["u", "n/a", "u", "v", "u"]}
            assert table.weights.tolist() == [1.0, 2.0, 1.0, 4.0, 1.0]
            assert table.read_as_missing == {"x": {"?": 1}}
            assert table.reading.numbers["x"].decimal == ","
        batches = list(iter_batches("a-*.csv", numbers=["x", "w"], reading=table.reading))
        assert [b["x"].to_pylist() for b in batches] == [[1.5, 2.5, None], [3.0, 4.25]]

    def test_other_columns(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("x,y\n1,u\n")
        (tmp_path / "b.csv").write_text("x,z\n1,u\n")
        with pytest.raises(DataError, match=r"same columns; '.*b.csv' lacks 'y' and has 'z' besides, unlike '.*a.csv'"):
            read_table([tmp_path / "a.csv", tmp_path / "b.csv"])
        with pytest.raises(DataError, match="same columns"):
            list(iter_batches(tmp_path / "*.csv"))

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no file is called like"):
            read_table(tmp_path / "b*.csv")
        with pytest.raises(DataError, match="at least one file"):
            read_table([])

    def test_a_file_with_a_star_in_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "a*.csv").write_text("x\n1\n2\n3\n")
        (tmp_path / "ab.csv").write_text("y\n1\n2\n3\n")
        assert read_table(tmp_path / "a*.csv").names == ("x",)

    def test_parquet(self, tmp_path: Path) -> None:
        for n in (1, 2):
            pyarrow.parquet.write_table(pa.table({"a": [n, n], "b": ["x", "y"]}), tmp_path / f"{n}.parquet")
        assert cells(read_table(tmp_path / "*.parquet")) == {"a": [1, 1, 2, 2], "b": ["x", "y"] * 2}


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, pack) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"a;b\nx;1,5\ny;2,5\n"))))
    assert cells(read_table("-")) == {"a": ["x", "y"], "b": [1.5, 2.5]}
    assert next(iter_batches(Path("-")))["a"].to_pylist() == ["x", "y"]  # read once, there for all
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(FormatError, match="standard input must hold a table; it is empty"):
        read_table("-")


@pytest.mark.parametrize(
    "address", ["https://example.org/iris.csv", Path("https://example.org/iris.csv"), "s3://b/x.csv"]
)
def test_addresses_are_to_be_downloaded(address: object) -> None:
    with pytest.raises(DataError, match=r"got the address .* Download the file first"):
        read_table(address)


class TestWorkbooks:
    @pytest.fixture
    def book(self, tmp_path: Path) -> Path:
        """Return a workbook with a title, an empty sheet in front, and all kinds of cells."""
        pytest.importorskip("python_calamine")
        return write_workbook(tmp_path / "clinic.xlsx")

    def test_a_sheet(self, book: Path) -> None:
        table = read_table(book)
        assert cells(table) == {
            "zip": ["01067", "80331", "04103"],
            "amount": [1.5, 2.0, None],
            "day": [date(2025, 12, 24), date(2025, 12, 25), date(2025, 12, 26)],
            "paid": ["True", "False", "True"],
        }
        assert "Sheet: 'May'; the others are 'Notes', 'June'" in str(table.reading)
        assert "Before the header: 1 line left out" in str(table.reading)
        assert read_table(f"{book}::June").names == ("a", "b")
        batch = next(iter_batches(book, numbers=["amount"], reading=table.reading))
        assert batch["amount"].to_pylist() == [1.5, 2.0, None]

    def test_what_is_wrong(self, book: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"must have the sheet that is named; got 'Mai'. Did you mean 'May'"):
            read_table(f"{book}::Mai")
        with pytest.raises(FormatError, match="sheet 'Notes' is empty"):
            read_table(f"{book}::Notes")
        (tmp_path / "no.xlsx").write_bytes(b"PK\x03\x04 no workbook")
        with pytest.raises(FormatError, match="must be a workbook; it is damaged or something else"):
            read_table(tmp_path / "no.xlsx")


def test_without_the_package_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "d.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(
        DataError, match=r"is a workbook; .* must be installed .* -m pip install python-calamine, or save the sheet"
    ):
        read_table(tmp_path / "d.xlsx")


def write_workbook(path: Path) -> Path:
    """Write an Excel workbook by hand: it is a ZIP archive of XML."""
    import zipfile

    head = '<?xml version="1.0" encoding="UTF-8"?>'
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    days = [46015, 46016, 46017]
    rows = [
        ['<c r="A1" t="inlineStr"><is><t>Clinic, May</t></is></c>'],
        [f'<c r="{c}2" t="inlineStr"><is><t>{n}</t></is></c>' for c, n in zip("ABCD", ["zip", "amount", "day", "paid"], strict=True)],
        *[
            [f'<c r="A{i}" t="inlineStr"><is><t>{z}</t></is></c>', f'<c r="B{i}"><v>{x}</v></c>' if x else "",
             f'<c r="C{i}" s="1"><v>{day}</v></c>', f'<c r="D{i}" t="b"><v>{i % 2}</v></c>']
            for i, z, x, day in zip((3, 4, 5), ["01067", "80331", "04103"], ["1.5", "2", ""], days, strict=True)
        ],
    ]  # fmt: skip
    data = "".join(f'<row r="{i}">{"".join(row)}</row>' for i, row in enumerate(rows, start=1))
    june = "".join(
        f'<row r="{i}">'
        + "".join(f'<c r="{c}{i}" t="inlineStr"><is><t>{v}</t></is></c>' for c, v in zip("AB", row, strict=True))
        + "</row>"
        for i, row in enumerate([("a", "b"), ("x", "u"), ("y", "v")], start=1)
    )
    sheet = f'{head}<worksheet xmlns="{main}"><sheetData>{{}}</sheetData></worksheet>'
    names = ["Notes", "May", "June"]
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'{head}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>'
        + "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}.worksheet+xml"/>' for i in (1, 2, 3)
        )
        + "</Types>",
        "_rels/.rels": f'{head}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{head}<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>'
        + "".join(f'<sheet name="{n}" sheetId="{i}" r:id="rId{i}"/>' for i, n in enumerate(names, start=1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'{head}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="rId{i}" Type="{rel}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in (1, 2, 3)
        )
        + f'<Relationship Id="rId9" Type="{rel}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'{head}<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": sheet.format(""),
        "xl/worksheets/sheet2.xml": sheet.format(data),
        "xl/worksheets/sheet3.xml": sheet.format(june),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_marked_text_in_other_formats(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "d.jsonl").write_bytes('{"ä": "ü"}\n{"ä": "b"}\n'.encode(encoding))
    (tmp_path / "d.json").write_bytes('[{"ä": "ü"}, {"ä": "b"}]'.encode(encoding))
    (tmp_path / "d.arff").write_bytes("@relation r\n@attribute ä {ü,b}\n@data\nü\nb\n".encode(encoding))
    for name in ("d.jsonl", "d.json", "d.arff"):
        assert cells(read_table(tmp_path / name)) == {"ä": ["ü", "b"]}
