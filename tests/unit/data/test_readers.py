from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tunbridge.data.formats import delimited
from tunbridge.data.readers import DEFAULT_MISSING, iter_batches, read_table
from tunbridge.data.table import Table
from tunbridge.errors import DataError, DataWarning, FormatError, MemoryForecastError


@pytest.fixture
def write(tmp_path: Path):
    """Return a function that writes a file and returns its path."""

    def _write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _write


def states(table: Table, name: str) -> tuple:
    return table.variable(name).states


def cells(table: Table) -> dict[str, list]:
    return table.to_arrow().to_pydict()


def refusal(path: object, error: type[Exception] = DataError, **options: object) -> str:
    """Return the message with which a file is refused, by both ways of reading it."""
    with pytest.raises(error) as caught:
        read_table(path, **options)
    return str(caught.value)


def stream_refusal(path: object, error: type[Exception] = DataError, **options: object) -> str:
    with pytest.raises(error) as caught:
        list(iter_batches(path, **options))
    return str(caught.value)


class TestDelimited:
    def test_kinds_and_values(self, write) -> None:
        table = read_table(
            write("age,smokes,stage,when\n31,yes,II,2020-01-01\n45,no,None,2020-01-03\n62,no,II,2020-01-05\n")
        )
        assert [v.is_continuous for v in table.variables] == [True, False, False, True]
        assert table.floats("age").tolist() == [31.0, 45.0, 62.0]
        assert states(table, "stage") == ("II", "None")
        assert table.codes("smokes").tolist() == [1, 0, 0]
        assert table.codes("smokes").dtype == np.int8
        assert np.diff(table.floats("when")).tolist() == [2 * 86_400.0, 2 * 86_400.0]
        assert cells(table)["age"] == [31, 45, 62]

    def test_states_are_sorted_whatever_the_order_of_rows(self, write) -> None:
        table = read_table(write("x\nz\nä\na\nZ\nz\n"))
        assert states(table, "x") == ("Z", "a", "z", "ä")
        assert cells(table)["x"] == ["z", "ä", "a", "Z", "z"]

    def test_exactly_the_default_markers_are_missing_and_counted(self, write) -> None:
        rows = ["", "?", "NA", "NaN", "null", "?", "None", "nan", "na", "N/A", "NULL", "-", "True", "yes"]
        table = read_table(write("k,x\n" + "".join(f"r,{r}\n" for r in rows)))
        assert DEFAULT_MISSING == ("", "?", "NA", "NaN", "null")
        assert states(table, "x") == tuple(sorted(rows[6:]))
        assert table.read_as_missing == {"x": {"": 1, "?": 2, "NA": 1, "NaN": 1, "null": 1}}
        assert table.missing == {"x": 6}

    def test_markers_in_numbers_are_counted_too(self, write) -> None:
        table = read_table(write("x,y\n1.5,1\n?,2\n,3\n?,4\nnan,5\n"))
        assert np.isnan(table.floats("x")).tolist() == [False, True, True, True, True]
        assert table.read_as_missing == {"x": {"": 1, "?": 2, "nan": 1}}

    def test_markers_in_numbers_of_a_large_file_are_not_told_apart(self, write, monkeypatch) -> None:
        monkeypatch.setattr(delimited, "_SECOND_LOOK", 10)
        table = read_table(write("x,y\n1.5,a\n?,NA\n2.5,b\n"))
        assert table.read_as_missing == {"y": {"NA": 1}}
        assert table.missing == {"x": 1, "y": 1}

    def test_further_markers_are_added_to_the_default_ones(self, write) -> None:
        path = write("x,y\n-99,NA\n1.5,\n2.5,.\n3.5,?\n")
        table = read_table(path, missing=["-99", "."])
        assert table.missing == {"x": 1, "y": 4}
        batch = next(iter_batches(path, numbers=["x"], missing=["-99", "."]))
        assert [batch["x"].null_count, batch["y"].null_count] == [1, 4]

    def test_default_markers_may_be_values(self, write) -> None:
        path = write("x,y\n-99,NA\n1.5,\n2.5,.\n3.5,?\n")
        table = read_table(path, missing=["-99", "."], not_missing=["NA"])
        assert table.missing == {"x": 1, "y": 3}
        assert states(table, "y") == ("NA",)
        table = read_table(path, missing=["-99", "."], not_missing=DEFAULT_MISSING)
        assert states(table, "y") == ("", "?", "NA")
        assert states(read_table(path, missing=[]), "y") == ("", ".", "?", "NA")
        assert refusal(path, not_missing=["-99"]).startswith("not_missing must hold default markers, '', '?', 'NA'")

    def test_further_markers_are_added_to_those_of_a_reading(self, write) -> None:
        path = write("x\n-99\n1.5\n-77\n")
        known = read_table(path, missing=["-99"]).reading
        assert read_table(path, missing=["-77"], reading=known).missing == {"x": 2}

    def test_default_markers_are_states_in_files_with_a_null(self, tmp_path) -> None:
        pa.parquet.write_table(pa.table({"y": ["NA", "-", None, "a"]}), tmp_path / "a.parquet")
        assert read_table(tmp_path / "a.parquet", missing=["-"]).missing == {"y": 2}
        assert read_table(tmp_path / "a.parquet", missing=["-", "NA"]).missing == {"y": 3}

    def test_a_column_of_markers_only_has_no_states(self, write) -> None:
        table = read_table(write("x,y\n?,a\nNA,b\n"))
        assert states(table, "x") == ()
        assert table.read_as_missing["x"] == {"?": 1, "NA": 1}

    def test_quotes_make_no_difference_to_markers_and_numbers(self, write) -> None:
        table = read_table(write('x,y\n"1","NA"\n"2",""\n"3","a"\n'))
        assert table.floats("x").tolist() == [1.0, 2.0, 3.0]
        assert table.read_as_missing == {"y": {"NA": 1, "": 1}}

    def test_a_marker_with_blanks_is_a_state_with_a_warning(self, write) -> None:
        path = write("x,y\n1, ?\n2, a\n")
        with pytest.warns(DataWarning, match=r"column 'y' holds ' \?': missing markers with blanks around them"):
            table = read_table(path)
        assert states(table, "y") == (" ?", " a")
        assert read_table(path, missing=[" ?"]).missing == {"y": 1}

    def test_blanks_around_numbers_do_not_matter(self, write) -> None:
        assert read_table(write("x\n 1\n2 \n 3.5 \n")).floats("x").tolist() == [1.0, 2.0, 3.5]

    def test_fields_with_delimiters_line_ends_and_quotes(self, write) -> None:
        table = read_table(write('a,"b\nc"\r\n"x, y",1\r\n"l1\nl2 ""q""\r\n",2\r\n\r\nz,3\r\n'))
        assert table.names == ("a", "b\nc")
        assert cells(table)["a"] == ["x, y", 'l1\nl2 "q"\r\n', "z"]

    def test_a_stray_quote_within_a_field_is_text(self, write) -> None:
        assert cells(read_table(write('a,b\nx,5" pipe\ny,z\n')))["b"] == ['5" pipe', "z"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, write, end: str) -> None:
        table = read_table(write(end.join(["a,b", "x,1", "y,2", "z,3"])))
        assert cells(table) == {"a": ["x", "y", "z"], "b": [1, 2, 3]}

    def test_blank_lines_are_left_out(self, write) -> None:
        assert cells(read_table(write("\n\na,b\n\nx,1\n\ny,2\nz,3\n\n")))["a"] == ["x", "y", "z"]

    def test_one_row_and_one_column(self, write) -> None:
        table = read_table(write("a\nx"))
        assert (table.n_rows, table.n_columns, states(table, "a")) == (1, 1, ("x",))

    @pytest.mark.parametrize(("delimiter", "name"), [(";", "d.csv"), ("\t", "d.csv"), ("\t", "d.tsv"), ("\t", "d.tab")])
    def test_the_delimiter_is_found(self, write, delimiter: str, name: str) -> None:
        table = read_table(write(f"a{delimiter}b c\nx{delimiter}1,5\ny{delimiter}2,5\n", name))
        assert cells(table) == {"a": ["x", "y"], "b c": [1.5, 2.5]}

    def test_the_comma_loses_a_draw_and_an_argument_wins_always(self, write) -> None:
        path = write("a;b,c\n1;2,x\n")
        assert read_table(path).names == ("a", "b,c")
        assert read_table(path, delimiter=";").names == ("a", "b,c")
        assert read_table(write("a|b\nx|y\n"), delimiter="|").names == ("a", "b")

    def test_a_quoted_delimiter_does_not_count(self, write) -> None:
        assert read_table(write('"a;b;c",d\nx,y\n')).names == ("a;b;c", "d")

    def test_utf8_with_a_byte_order_mark_and_other_encodings(self, write) -> None:
        text = "ä,b\né,1\nö,2\nß,3\n"
        expected = cells(read_table(write(text)))
        assert list(expected) == ["ä", "b"]
        for encoding in ("utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252"):
            given = "utf-8" if encoding == "utf-8-sig" else encoding
            assert cells(read_table(write(text.encode(encoding)), encoding=given)) == expected, encoding

    def test_columns_in_the_order_asked(self, write) -> None:
        path = write("a,b,c\n1,x,2.5\n2,y,3.5\n3,z,4.5\n")
        assert cells(read_table(path, columns=["c", "a"])) == {"c": [2.5, 3.5, 4.5], "a": [1, 2, 3]}

    def test_weights_from_a_column(self, write) -> None:
        path = write("a,w,b\nx,1,1\ny,2,2\nx,0.5,3\n")
        table = read_table(path, weights="w")
        assert table.names == ("a", "b")
        assert table.weights.tolist() == [1.0, 2.0, 0.5]
        assert read_table(path, columns=["a"], weights="w").weights.tolist() == [1.0, 2.0, 0.5]
        assert read_table(path, weights=[1, 2, 3]).weights.tolist() == [1.0, 2.0, 3.0]
        message = refusal(write("a,w\nx,1\ny,?\n"), weights="w")
        assert message == "weights must be finite and not negative; row 2 has nan."

    def test_kinds(self, write) -> None:
        path = write("x,y\n007,1\n7,0\n08,1\n9,0\n")
        assert states(read_table(path, kinds={"x": "categorical"}), "x") == ("007", "08", "7", "9")
        assert read_table(path).floats("x").tolist() == [7.0, 7.0, 8.0, 9.0]
        assert states(read_table(path), "y") == (0, 1)
        assert read_table(path, kinds="continuous").floats("y").tolist() == [1.0, 0.0, 1.0, 0.0]
        assert states(read_table(path, kinds="categorical"), "y") == ("0", "1")

    def test_text_made_continuous_names_the_value_that_is_none(self, write) -> None:
        path = write("x\n1\nNA\nabc\n4\n")
        assert refusal(path, kinds={"x": "continuous"}).startswith("column 'x' must hold numbers; row 3 holds 'abc'.")
        table = read_table(path, kinds={"x": "continuous"}, missing=["NA", "abc"])
        assert np.nan_to_num(table.floats("x"), nan=-1).tolist() == [1.0, -1.0, -1.0, 4.0]

    def test_numbers_far_down_may_turn_out_to_be_text(self, write) -> None:
        rows = [f"{i},{i / 4}" for i in range(200_000)]
        path = write("a,b\n" + "\n".join(rows) + "\nxyz,0.5\n")
        assert path.stat().st_size > 2_000_000
        table = read_table(path)
        assert table.variable("a").is_categorical
        assert table.variable("a").n_states == 200_001
        assert table.floats("b")[-2:].tolist() == [199_999 / 4, 0.5]
        assert cells(table)["a"][:2] + cells(table)["a"][-1:] == ["0", "1", "xyz"]

    def test_a_million_distinct_texts_are_an_identifier(self, write) -> None:
        table = read_table(write("id,x\n" + "".join(f"u{i},{i % 3}\n" for i in range(1_000_000))))
        assert table.variable("id").n_states == 1_000_000
        assert table.identifiers == ("id",)
        assert "identifier" in table.summary()

    def test_whole_numbers_too_long_for_any_integer_stay_what_they_are(self, write) -> None:
        long = ["12345678901234567890", "12345678901234567891", "7", "?"]
        table = read_table(write("id,x\n" + "".join(f"{text},1e30\n" for text in long)))
        assert states(table, "id") == tuple(sorted(long[:3]))
        assert table.read_as_missing == {"id": {"?": 1}}
        assert table.floats("x").tolist() == [1e30] * 4

    def test_a_header_longer_than_a_block(self, write) -> None:
        names = [f"{'x' * 1000}{i}" for i in range(1100)]
        rows = "\n".join(",".join(str(i + j) for i in range(1100)) for j in range(3))
        table = read_table(write(f"{','.join(names)}\n{rows}\n", "wide.csv"))
        assert table.names == tuple(names)
        assert table.floats(names[-1]).tolist() == [1099.0, 1100.0, 1101.0]

    @pytest.mark.parametrize("pair", [
        "1 2", "1 x", "1.5 7", " 3", "7 ", "2020-01-01 b", "nan 1", "b a", "1 99999999999999999999", "NA NA", "-3 4e2",
        "007 8", "b NA", "12:30 x", "True False", "inf a", "i n", '"a,b" c', ".5 x", "2020-01-01 2020-01-02",
    ])  # fmt: skip
    @pytest.mark.filterwarnings("ignore")
    def test_a_column_among_many_is_read_like_one_among_few(self, write, pair: str) -> None:
        """What wide files are read as is guessed from their first rows, and must be what Arrow finds."""

        def read(n: int) -> Table:
            filler = [f"c{i}" for i in range(n)]
            rows = [",".join([value, *("1" for _ in filler)]) for value in pair.split(" ")]
            return read_table(write("\n".join([",".join(["x", *filler]), *rows]) + "\n", f"of{n}.csv"))

        few, many = read(2), read(1500)
        assert many.variable("x") == few.variable("x")
        np.testing.assert_array_equal(many.column("x").values, few.column("x").values)
        assert many.column("x").type == few.column("x").type
        assert many.read_as_missing == few.read_as_missing

    def test_rows_longer_than_a_block(self, write) -> None:
        long = "x" * 3_000_000
        path = write(f'a,b\n1,y\n2,"{long}\n{long}"\n3,z\n')
        assert [len(text) for text in cells(read_table(path))["b"]] == [1, 6_000_001, 1]
        batches = list(iter_batches(path, batch_rows=2))
        assert [len(v) for b in batches for v in b["b"].to_pylist()] == [1, 6_000_001, 1]
        assert [b.num_rows for b in batches] == [2, 1]

    def test_a_large_file_is_read_the_same_way(self, write, monkeypatch) -> None:
        lines = [
            f"{i % 7},s{i % 5},{'long text ' * (i % 3)},{i}{'é' * (i % 2)},{['NA', '', 'ok'][i % 3]}"
            for i in range(5000)
        ]
        path = write("a,b,c,d,e\n" + "\n".join(lines) + "\n")
        small = read_table(path, kinds={"a": "categorical"})
        monkeypatch.setattr(delimited, "_LARGE", 0)
        large = read_table(path, kinds={"a": "categorical"})
        assert large.variables == small.variables
        assert all(np.array_equal(x, y) for x, y in zip(large.columns, small.columns, strict=True))
        assert large.read_as_missing == small.read_as_missing == {"c": {"": 1667}, "e": {"NA": 1667, "": 1667}}

    def test_gzip_by_content(self, write) -> None:
        packed = gzip.compress(b"a,b\nx,1\n") + gzip.compress(b"y,2\nz,3\n")
        for name in ("d.csv.gz", "D.CSV.GZ", "d.csv"):
            assert cells(read_table(write(packed, name))) == {"a": ["x", "y", "z"], "b": [1, 2, 3]}

    def test_format_by_argument(self, write) -> None:
        path = write("a\tb\nx\t1\n", "data.txt")
        assert read_table(path, format="tsv").names == ("a", "b")
        assert read_table(path, format=".TSV").names == ("a", "b")


class TestBadFiles:
    def test_no_such_file(self, write, tmp_path: Path) -> None:
        write("a\n1\n", "visits.csv")
        message = refusal(tmp_path / "vists.csv", FileNotFoundError)
        assert message.endswith(f"Did you mean {str(tmp_path / 'visits.csv')!r}?")
        assert refusal(tmp_path / "quite different", DataError).endswith("different'.")
        message = refusal(tmp_path / "no" / "data.csv", FileNotFoundError)
        assert message == f"path must be a file that exists; there is no folder {str(tmp_path / 'no')!r}."

    def test_things_that_are_no_files(self, tmp_path: Path) -> None:
        assert refusal(tmp_path) == f"path must be the name of a file; got the folder {str(tmp_path)!r}."
        assert refusal({"a": [1]}) == "path must be the name of a file; got dict. Frames are for as_table."

    @pytest.mark.parametrize("name", ["d.csv", "d.arff", "d.jsonl", "d.parquet", "d.arrow"])
    def test_empty(self, write, name: str) -> None:
        path = write(b"", name)
        assert refusal(path, FormatError) == f"the file {str(path)!r} must hold a table; it is empty."
        assert stream_refusal(path, FormatError) == f"the file {str(path)!r} must hold a table; it is empty."

    @pytest.mark.parametrize("content", ["\n\n", "\r\n", "\ufeff"])
    def test_blank(self, write, content: str) -> None:
        assert refusal(write(content), FormatError).endswith("must hold a table; it holds nothing but blank lines.")

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            ("a,b", "d.csv"),
            ("a,b\n", "d.csv"),
            ('"a","b"\r\n\r\n', "d.csv"),
            ("@attribute a real\n@data\n% no\n", "d.arff"),
        ],
    )
    def test_header_only(self, write, content: str, name: str) -> None:
        path = write(content, name)
        assert refusal(path, FormatError).endswith("must hold rows; it holds a header but no rows.")
        assert stream_refusal(path, FormatError).endswith("must hold rows; it holds a header but no rows.")

    @pytest.mark.parametrize(
        ("content", "line", "got"),
        [
            ("a,b\n1,2\n3\n", 3, "2; got 1. Add what is missing, or give another delimiter than ','."),
            ("a,b\n1,2\n\n3,4,5\n", 4, "2; got 3. Put fields that hold the delimiter ',' in quotes."),
            ('a,b\n"x\ny",2\n3\n', 4, "2; got 1."),
            ("a;b\n1;2\n3;4;5\n", 3, "2; got 3. Put fields that hold the delimiter ';' in quotes."),
        ],
    )
    def test_ragged_rows(self, write, content: str, line: int, got: str) -> None:
        path = write(content)
        for message in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert message.startswith(f"line {line}: the file ")
            assert f"must have as many fields in every row as in its header, {got}" in message

    def test_a_ragged_row_far_down(self, write) -> None:
        with pytest.raises(FormatError) as caught:
            read_table(write("a,b\n" + "1,2\n" * 400_000 + "1,2,3\n"))
        assert caught.value.line == 400_002

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            ('a,b\n1,"x\n2,y\n3,z\n', 2),
            ('a,b\n1,x\n2,"y', 3),
            ('a,"b\n1,x\n', 1),
            ('a,b\n1,5" pipe\n2,"y\n3,z\n', 3),  # an even number of quotes
        ],
    )
    def test_unclosed_quotes(self, write, content: str, line: int) -> None:
        path = write(content)
        for message in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert message.startswith(f"line {line}: the file ")
            assert "must close every quote" in message

    def test_an_unclosed_quote_before_megabytes_of_rows(self, write) -> None:
        path = write('a,b\n1,2\n1,"x\n' + "1,2\n" * 1_000_000)
        for message in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert message.startswith("line 3: ")
            assert "must close every quote" in message

    def test_wrong_encoding(self, write) -> None:
        path = write("a,b\n1,x\n2,é\n".encode("latin-1"))
        expected = f"line 3: the file {str(path)!r} must be utf-8 text; byte 10 is 0xe9. Try encoding='latin-1'."
        assert refusal(path, FormatError, encoding="utf-8") == expected
        assert stream_refusal(path, FormatError, encoding="utf-8") == expected
        assert cells(read_table(path))["b"] == ["x", "é"]
        assert "byte 5 is 0xe9" in refusal(write(b"a,b,c\xe9\n1,2,3\n"), FormatError, encoding="utf-8")
        assert "byte 0 is 0x61. Try encoding='utf-8'" in refusal(write("a,b\n1,2\n"), FormatError, encoding="utf-16")
        ascii_only = refusal(write("a,b\n1,2\n3,é\n"), FormatError, encoding="ascii")
        assert ascii_only.startswith("line 3: ")
        assert "must be ascii text; byte 10 is 0xc3" in ascii_only

    def test_wrong_encoding_far_down(self, write) -> None:
        path = write(b"a,b\n" + b"x,y\n" * 1_000_000 + b"x,\xe9\n")
        assert read_table(path).variable("b").states == ("y", "é")
        with pytest.raises(FormatError) as caught:
            read_table(path, encoding="utf-8")
        assert caught.value.line == 1_000_002
        assert "byte 4000006 is 0xe9" in str(caught.value)

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_a_byte_order_mark_names_the_encoding(self, write, encoding: str) -> None:
        path = write("a,b\n1,2\n".encode(encoding))
        assert cells(read_table(path)) == {"a": [1], "b": [2]}
        message = refusal(path, FormatError, encoding="utf-8")
        assert message.endswith(f"Its first bytes say encoding={encoding!r}.")

    def test_binary(self, write) -> None:
        message = refusal(write(b"a,b\n1,\x00\n"), FormatError)
        assert message.startswith("line 2: ")
        assert "byte 6 is NUL, which no text holds" in message

    @pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.arff"])
    def test_an_image(self, write, name: str) -> None:
        refusal(write(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00", name), FormatError)

    def test_column_names(self, write) -> None:
        """Names that are repeated or empty are completed; the report says so."""
        assert read_table(write("a,b,a\n1,2,3\n")).names == ("a", "b", "a_2")
        assert read_table(write("\na,,c\n1,2,3\n")).names == ("a", "column_2", "c")
        batch = next(iter_batches(write(" ,b\n1,2\n")))
        assert batch.column_names == ["column_1", "b"]

    def test_infinities(self, write) -> None:
        path = write("a,b\n1,2.5\n2,inf\n")
        assert "column 'b' must hold finite numbers; row 2" in refusal(path)
        assert "column 'b' must hold finite numbers; row 2 holds inf" in stream_refusal(path, numbers=["b"])
        assert refusal(write("a\n1\n1e999\n")).startswith("column 'a' must hold finite numbers; row 2")

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            ("%PDF-1.7\n1 0 obj\n", "a PDF document"),
            ("\ufeff\n <!doctype HTML>\n<p>Sign in, please", "a web page"),
            ("<html lang=en>\n<p>a,b\n1,2\n", "a web page"),
        ],
    )
    def test_other_files_are_named_whatever_their_name_is(self, write, content, what) -> None:
        for name in ("d.csv", "d.pdf", "d"):
            assert f"must hold a table; it is {what}." in refusal(write(content, name), FormatError)

    def test_unknown_suffix(self, write) -> None:
        message = refusal(write("a,b\n1,2\n", "data.doc"), FormatError)
        assert message.startswith("the name of a table's file must end in .csv, .tsv, .parquet,")
        assert message.endswith("got 'data.doc'. If it is one of these formats, name it, as in format='csv'.")
        assert "must end in" in refusal(write("a,b\n1,2\n", "data.gz"), FormatError)

    @pytest.mark.parametrize(
        ("content", "name", "expected"),
        [
            ("a\n1\n", "d.csv.zip", "a compressed file must be gzipped (.gz); got 'd.csv.zip'."),
            (
                b"PK\x03\x04....",
                "d.csv",
                "a compressed file must be gzipped; 'd.csv' is a zip archive. Unpack it first.",
            ),
            (b"BZh91AY&SY", "d.csv", "a compressed file must be gzipped; 'd.csv' is bzip2. Unpack it first."),
            (b"\x28\xb5\x2f\xfd....", "d.parquet", "a compressed file must be gzipped; 'd.parquet' is zstd."),
            ("a\n1\n", "d.csv.gz", "a file called .gz must be gzipped; 'd.csv.gz' is not."),
        ],
    )
    def test_other_compression(self, write, content: str | bytes, name: str, expected: str) -> None:
        assert refusal(write(content, name), FormatError).startswith(expected)

    def test_text_that_starts_like_bzip2_is_text(self, write) -> None:
        assert read_table(write("BZh,b\nx,1\n")).names == ("BZh", "b")

    @pytest.mark.parametrize("cut", [3, 12, -9, -1])
    @pytest.mark.parametrize("name", ["d.csv.gz", "d.jsonl.gz", "d.arff.gz", "d.parquet.gz", "d.arrow.gz"])
    def test_damaged_gzip(self, write, cut: int, name: str) -> None:
        path = write(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:cut], name)
        for message in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert "must be a whole gzipped" in message

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (b"not parquet at all", "d.parquet"),
            (b"PAR1\x00\x00\x00\x00PAR1", "d.parquet"),
            (b"ARROW1\x00\x00 and more", "d.arrow"),
            (b"\xff\xff\xff\xff\x10\x00\x00\x00....", "d.feather"),
        ],
    )
    def test_damaged_typed_files(self, write, content: bytes, name: str) -> None:
        path = write(content, name)
        for message in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert "it is damaged or something else" in message

    def test_more_than_memory_holds(self, write, monkeypatch) -> None:
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000000")
        text = b"a,b\n" + b"1,2\n" * 20_000_000
        message = refusal(write(text), MemoryForecastError)
        assert "would need 76.3 MiB, and the limit is 976.6 KiB. Read fewer columns, or read it in batches." in message
        message = refusal(write(gzip.compress(text, 1), "d.csv.gz"), MemoryForecastError)
        assert message.startswith("unpacking the file")
        assert message.endswith("Unpack it to disk, or read it in batches.")
        sparse = "".join(f"@attribute a{i} real\n" for i in range(10_000)) + "@data\n" + "{}\n" * 10_000
        assert "would need" in refusal(write(sparse, "d.arff"), MemoryForecastError)


class TestArguments:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"missing": "NA"}, "missing must be a list of texts; got the text 'NA'. Write missing=['NA']."),
            ({"missing": ["", 9]}, "missing must be a list of texts; got 9 in it. Write it as it is in the file."),
            ({"missing": 9}, "missing must be a list of texts; got 9."),
            ({"columns": ["ag"]}, "columns must name columns of the file; got 'ag'. Did you mean 'age'?"),
            ({"columns": "age"}, "columns must be a list of names; got the text 'age'."),
            ({"columns": []}, "columns must name at least one column; got none."),
            ({"columns": ["age", "age"]}, "column names must be distinct; got 'age' more than once. Rename one."),
            ({"weights": "wt"}, "weights must name columns of the file; got 'wt'. Known: 'age', 'sex'."),
            ({"kinds": {"sx": "continuous"}}, "kinds must name columns; got 'sx'. Did you mean 'sex'?"),
            ({"delimiter": ";;"}, "delimiter must be one ASCII character such as ',' or ';'; got ';;'."),
            ({"delimiter": '"'}, "delimiter must be one ASCII character such as ',' or ';'; got '\"'."),
            ({"encoding": "utf-9"}, "encoding must be a text encoding such as 'utf-8' or 'latin-1'; got 'utf-9'."),
            ({"encoding": "base64"}, "encoding must be a text encoding such as 'utf-8' or 'latin-1'; got 'base64'."),
            ({"encoding": 8}, "encoding must be a text encoding such as 'utf-8' or 'latin-1'; got 8."),
            ({"format": "jsonl", "delimiter": ","}, "delimiter must be left out for a jsonl file; got ','."),
        ],
    )
    def test_wrong_arguments(self, write, options: dict, message: str) -> None:
        assert refusal(write("age,sex\n31,f\n45,m\n62,f\n"), **options) == message

    def test_unknown_format(self, write) -> None:
        message = refusal(write("a\n1\n"), format="parket")
        assert message.startswith("format must be one of 'arff', 'arrow', 'csv'")
        assert message.endswith("got 'parket'. Did you mean 'parquet'?")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"text": "a"}, "text must be a list of column names; got the text 'a'. Write ['a']."),
            ({"text": ["a"], "numbers": ["a"]}, "a column must be text or numbers; got 'a' in both lists."),
            ({"batch_rows": 0}, "batch_rows must be at least 1; got 0."),
            ({"missing": "?"}, "missing must be a list of texts; got the text '?'. Write missing=['?']."),
        ],
    )
    def test_wrong_arguments_of_batches(self, write, options: dict, message: str) -> None:
        with pytest.raises(DataError) as caught:
            iter_batches(write("a\n1\n"), **options)  # at the call, before the first batch
        assert str(caught.value) == message


@pytest.fixture
def frame() -> pa.Table:
    return pa.table(
        {
            "sky": pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), ["wet", "dry", "never"]),
            "text": ["NA", "a", None],
            "n.1": pa.array([1, 2, 3], pa.int32()),
            "x": [0.5, None, 2.5],
            "flag": [True, False, None],
            "w": [1.0, 2.0, 0.0],
        }
    )


def _write_frame(frame: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(frame, path)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(frame, path, compression="uncompressed")
    else:
        new = pa.ipc.new_stream if path.suffix == ".arrow" else pa.ipc.new_file
        with new(str(path), frame.schema) as writer:
            writer.write_table(frame)


class TestTypedFiles:
    @pytest.fixture(params=["d.parquet", "d.feather", "d.arrow", "d.ipc"])
    def path(self, request, frame: pa.Table, tmp_path: Path) -> Path:
        _write_frame(frame, tmp_path / request.param)
        return tmp_path / request.param

    def test_values_come_back(self, path: Path, frame: pa.Table) -> None:
        table = read_table(path)
        assert table.to_arrow().to_pydict() == frame.to_pydict()
        assert states(table, "sky") == ("wet", "dry", "never")
        assert states(table, "text") == ("NA", "a")
        assert table.read_as_missing == {}

    def test_gzipped(self, path: Path, frame: pa.Table, tmp_path: Path) -> None:
        packed = tmp_path / (path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert read_table(packed).to_arrow().to_pydict() == frame.to_pydict()
        assert sum(b.num_rows for b in iter_batches(packed)) == 3

    def test_columns_kinds_weights_and_markers(self, path: Path) -> None:
        table = read_table(
            path, columns=["text", "n.1", "sky"], missing=["NA", "dry"], weights="w", kinds={"n.1": "categorical"}
        )
        assert table.names == ("text", "n.1", "sky")
        assert table.weights.tolist() == [1.0, 2.0, 0.0]
        assert states(table, "n.1") == (1, 2, 3)
        assert states(table, "sky") == ("wet", "never")
        assert table.read_as_missing == {"text": {"NA": 1}, "sky": {"dry": 1}}

    def test_unknown_column(self, path: Path) -> None:
        assert (
            refusal(path, columns=["fla"]) == "columns must name columns of the file; got 'fla'. Did you mean 'flag'?"
        )

    def test_batches_are_text_and_numbers(self, path: Path) -> None:
        batches = list(iter_batches(path, numbers=["x", "n.1"], batch_rows=2))
        assert [b.num_rows for b in batches] == [2, 1]
        assert {b.schema for b in batches} == {
            pa.schema(
                {"sky": "string", "text": "string", "n.1": "float64", "x": "float64", "flag": "string", "w": "string"}
            )
        }
        assert pa.concat_tables(batches).to_pydict() == {
            "sky": ["dry", None, "wet"],
            "text": ["NA", "a", None],
            "n.1": [1.0, 2.0, 3.0],
            "x": [0.5, None, 2.5],
            "flag": ["True", "False", None],
            "w": ["1.0", "2.0", "0.0"],
        }

    def test_no_rows(self, frame: pa.Table, tmp_path: Path) -> None:
        for name in ("e.parquet", "e.feather", "e.arrow", "e.ipc"):
            _write_frame(frame.slice(0, 0), tmp_path / name)
            assert refusal(tmp_path / name, FormatError).endswith("it holds a header but no rows.")
            assert stream_refusal(tmp_path / name, FormatError).endswith("it holds a header but no rows.")

    def test_text_with_markers_made_continuous(self, tmp_path: Path) -> None:
        pyarrow.parquet.write_table(pa.table({"x": ["1.5", "-", "2"]}), tmp_path / "d.parquet")
        table = read_table(tmp_path / "d.parquet", missing=["-"], kinds="continuous")
        assert np.nan_to_num(table.floats("x"), nan=-1).tolist() == [1.5, -1.0, 2.0]
        message = refusal(tmp_path / "d.parquet", kinds="continuous")
        assert message.startswith("column 'x' must hold numbers; row 2 holds '-'.")

    def test_nested_and_repeated_columns(self, tmp_path: Path) -> None:
        _write_frame(pa.table({"a": [[1], [2]]}), tmp_path / "d.parquet")
        assert refusal(tmp_path / "d.parquet").startswith("column 'a' must hold")
        assert stream_refusal(tmp_path / "d.parquet").startswith("column 'a' must hold")
        _write_frame(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "d.arrow")
        assert "column names must be distinct; got 'a' more than once" in refusal(tmp_path / "d.arrow")
        assert "column names must be distinct; got 'a' more than once" in stream_refusal(tmp_path / "d.arrow")

    def test_feather_1_is_refused(self, write) -> None:
        assert "it is Feather 1" in refusal(write(b"FEA1\x00\x00\x00\x00", "d.feather"), FormatError)

    def test_damaged_text_is_found(self, tmp_path: Path) -> None:
        path = tmp_path / "d.ipc"
        _write_frame(pa.table({"a": ["needle", "y"]}), path)
        path.write_bytes(path.read_bytes().replace(b"needle", b"n\xff\xff\xffle"))
        assert "damaged" in refusal(path, FormatError)


class TestJsonLines:
    def test_values(self, write) -> None:
        path = write('{"a": 1, "b": "NA"}\n\n{"b": "y", "a": 2.5, "c": true}\r\n{"a": null}\n', "d.jsonl")
        table = read_table(path)
        assert cells(table) == {"a": [1.0, 2.5, None], "b": ["NA", "y", None], "c": [None, True, None]}
        assert read_table(path, columns=["b"], missing=["NA"]).read_as_missing == {"b": {"NA": 1}}
        assert read_table(write(gzip.compress(path.read_bytes()), "e.ndjson.gz")).names == ("a", "b", "c")

    def test_batches_have_all_columns_from_the_first_one_on(self, write) -> None:
        path = write('{"a": 1}\n{"a": true, "b": 2}\n{"b": 2.5, "z": "x"}\n', "d.jsonl")
        batches = list(iter_batches(path, numbers=["b"], batch_rows=1))
        assert [b.to_pylist()[0] for b in batches] == [
            {"a": "1", "b": None, "z": None},
            {"a": "True", "b": 2.0, "z": None},
            {"a": None, "b": 2.5, "z": "x"},
        ]
        assert len({b.schema for b in batches}) == 1

    def test_dates_count_the_same_in_tables_and_batches(self, write) -> None:
        path = write('{"a": "2020-01-01"}\n{"a": null}\n{"a": "2020-01-02"}\n', "d.jsonl")
        whole = read_table(path).floats("a")
        parts = [b["a"].to_pylist()[0] for b in iter_batches(path, numbers=["a"], batch_rows=1)]
        assert parts == [whole[0], None, whole[2]]
        assert whole[2] - whole[0] == 86_400

    def test_encodings_and_long_lines(self, write) -> None:
        text = json.dumps({"a": "é" * 1_500_000, "b": "x"}, ensure_ascii=False) + '\n{"a": "ü", "b": "y"}\n'
        for encoding in ("utf-8", "utf-8-sig", "latin-1", "utf-16"):
            path = write(text.encode(encoding), "d.jsonl")
            given = "utf-8" if encoding == "utf-8-sig" else encoding
            assert [len(a) for a in cells(read_table(path, encoding=given))["a"]] == [1_500_000, 1]
            assert [len(a) for b in iter_batches(path, encoding=given) for a in b["a"].to_pylist()] == [1_500_000, 1]

    @pytest.mark.parametrize(
        ("content", "line", "message"),
        [
            ('{"a": 1}\n[1, 2]\n', 2, "must hold one JSON object a line; got '[1, 2]'."),
            ('{"a": 1}\n{"a": }\n', 2, "must hold one JSON object a line; this is none (Expecting value)."),
            ('{"a": 1}\n{"a": 1\n', 2, "must hold one JSON object a line; got '{\"a\": 1'."),
            ('{"a": 1, "a": 2}\n', 1, "the key 'a' is there twice."),
            ('{"b": 1}\n{"a": ' + "[" * 200_000 + "]" * 200_000 + "}\n", 2, "it is nested too deeply."),
        ],
    )
    def test_bad_lines(self, write, content: str, line: int, message: str) -> None:
        path = write(content, "d.jsonl")
        for refused in (refusal(path, FormatError), stream_refusal(path, FormatError)):
            assert refused.startswith(f"line {line}")
            assert refused.endswith(message)

    def test_nested_values_name_the_column(self, write) -> None:
        path = write('{"a": 1, "b": {"c": 1}}\n', "d.jsonl")
        assert refusal(path).startswith("column 'b' must hold")
        assert stream_refusal(path, FormatError) == (
            "line 1: column 'b' must hold one plain value a row; got an object."
        )

    def test_values_of_several_types(self, write) -> None:
        path = write('{"a": 1}\n{"a": null}\n{"a": "x"}\n', "d.jsonl")
        assert refusal(path, FormatError).startswith(
            "line 3: column 'a' must hold values of one type; got text after a number."
        )
        message = stream_refusal(path, numbers=["a"])
        assert message.startswith("column 'a' must hold finite numbers; row 3 holds 'x'.")

    def test_wrong_encoding_and_no_columns(self, write) -> None:
        assert "byte 6 is 0xe9" in refusal(write(b'{"a":"\xe9"}\n', "d.jsonl"), FormatError)
        assert "byte 6 is 0xe9" in stream_refusal(write(b'{"a":"\xe9"}\n', "d.jsonl"), FormatError)
        assert refusal(write("{}\n{}\n", "d.jsonl")) == "a file must name at least one column; got none."
        assert refusal(write("\n", "d.jsonl"), FormatError).endswith("it holds nothing but blank lines.")

    def test_braces_within_text_are_text(self, write) -> None:
        text = "[{" * 2000
        assert cells(read_table(write(json.dumps({"a": text}) + "\n", "d.jsonl")))["a"] == [text]


class TestArffFiles:
    CONTENT = (
        "@relation r\n@attribute sky {wet,dry,never}\n@attribute 'n 1' integer\n@attribute x real\n"
        "@attribute s string\n@attribute d date yyyy-MM-dd\n@data\n"
        "dry,1,0.50,NA,2020-01-01\n?,1,?,'?',2020-01-02\nwet,2,2.5,a,?\n"
    )

    def test_values(self, write) -> None:
        table = read_table(write(self.CONTENT, "d.arff"))
        assert table.names == ("sky", "n 1", "x", "s", "d")
        assert states(table, "sky") == ("wet", "dry", "never")
        assert states(table, "s") == ("?", "NA", "a")
        assert table.floats("n 1").tolist() == [1.0, 1.0, 2.0]  # declared a number, though it has two values
        assert cells(table)["n 1"] == [1, 1, 2]
        assert np.diff(table.floats("d"))[0] == 86_400
        assert table.read_as_missing == {"sky": {"?": 1}, "x": {"?": 1}, "d": {"?": 1}}

    def test_kinds_columns_and_markers(self, write) -> None:
        path = write(gzip.compress(self.CONTENT.encode()), "d.arff.gz")
        table = read_table(path, columns=["x", "s", "sky"], kinds={"x": "categorical"}, missing=["NA", "never"])
        assert states(table, "x") == ("0.50", "2.5")
        assert states(table, "s") == ("?", "a")
        assert states(table, "sky") == ("wet", "dry")
        assert table.read_as_missing == {"x": {"?": 1}, "s": {"NA": 1}, "sky": {"?": 1}}

    def test_batches(self, write) -> None:
        path = write(self.CONTENT, "d.arff")
        batches = list(iter_batches(path, numbers=["n 1", "d"], batch_rows=2))
        assert [b.num_rows for b in batches] == [2, 1]
        whole = pa.concat_tables(batches).to_pydict()
        assert whole["sky"] == ["dry", None, "wet"]
        assert whole["x"] == ["0.50", None, "2.5"]
        assert whole["n 1"] == [1.0, 1.0, 2.0]
        assert whole["d"][:2] == read_table(path).floats("d")[:2].tolist()

    def test_wrong_encoding(self, write) -> None:
        path = write("@attribute é string\n@data\nx\n".encode("latin-1"), "d.arff")
        assert "byte 11 is 0xe9" in refusal(path, FormatError)
        assert read_table(path, encoding="latin-1").names == ("é",)


class TestBatches:
    def test_types_do_not_depend_on_the_batch(self, write) -> None:
        path = write("id,x,y\n007,1,1.5\n008,?,2\n00a,3,NA\n")
        batches = list(iter_batches(path, text=["id"], numbers=["x", "absent"], batch_rows=1))
        assert {b.schema for b in batches} == {pa.schema({"id": "string", "x": "float64", "y": "string"})}
        assert pa.concat_tables(batches).to_pydict() == {
            "id": ["007", "008", "00a"],
            "x": [1.0, None, 3.0],
            "y": ["1.5", "2", None],
        }

    @pytest.mark.parametrize("batch_rows", [1, 7, 1000, 65536])
    def test_sizes(self, write, batch_rows: int) -> None:
        path = write("a,b\n" + "".join(f"{i},t{i % 3}\n" for i in range(2500)))
        batches = list(iter_batches(path, numbers=["a"], batch_rows=batch_rows))
        assert all(b.num_rows == batch_rows for b in batches[:-1])
        assert pa.concat_tables(batches)["a"].to_pylist() == list(range(2500))

    def test_markers(self, write) -> None:
        path = write("a,b\n-,1\n?,-\n")
        assert next(iter_batches(path, numbers=["b"], missing=["-"])).to_pydict() == {
            "a": [None, None],
            "b": [1.0, None],
        }
        assert next(iter_batches(path, missing=[])).to_pydict() == {"a": ["-", "?"], "b": ["1", "-"]}

    def test_a_number_that_is_none(self, write) -> None:
        path = write("a,b\n1,x\n?,y\n\n1_0,z\n")
        assert stream_refusal(path, numbers=["a"]) == (
            "column 'a' must hold numbers; row 3 holds '1_0'. Correct it or leave the cell empty."
        )
        far = write("a,b\n" + '1,"x\ny"\n' * 300_000 + "oops,z\n")
        assert "column 'a' must hold numbers; row 300001 holds 'oops'" in stream_refusal(far, numbers=["a"])

    def test_a_date_that_is_none(self, write) -> None:
        for bad in ("05.06.2024", "2024-02-30", "x"):
            path = write(f"a,d\n1,2024-05-28\n2,\n3,{bad}\n")
            rule = f"column 'd' must hold dates as year-month-day; row 3 holds {bad!r}."
            assert stream_refusal(path, numbers=["a", "d"]) == f"{rule} Correct it or leave the cell empty."

    def test_dates_among_numbers_count_as_in_a_table(self, write) -> None:
        path = write("d,t\n2020-01-01,2020-01-01 10:00:00\n,\n2020-01-03,2020-01-01 12:00:00\n")
        table = read_table(path)
        batch = next(iter_batches(path, numbers=["d", "t"]))
        for name in ("d", "t"):
            found = batch[name].to_numpy()
            np.testing.assert_array_equal(found, table.floats(name))

    def test_gzip_and_encodings(self, write) -> None:
        path = write(gzip.compress("a;ä\n1;é\n".encode("utf-16")), "d.csv.gz")
        assert next(iter_batches(path, encoding="utf-16")).to_pydict() == {"a": ["1"], "ä": ["é"]}

    def test_tables_and_batches_agree(self, write) -> None:
        rows = ["x,1", '"?",2', "NA,3", '"a ""b""",4', '"l\nm",5', " y,6", "null,7"]
        path = write("t,n\n" + "\n".join(rows) + "\n")
        table = read_table(path)
        batches = pa.concat_tables(list(iter_batches(path, numbers=["n"], batch_rows=2)))
        assert batches["t"].to_pylist() == cells(table)["t"]
        assert batches["n"].to_pylist() == table.floats("n").tolist()


@pytest.mark.shared
class TestRealFiles:
    def test_none_is_a_state_of_insurance(self, shared_data: Path) -> None:
        table = read_table(shared_data / "bnlearn" / "insurance.csv.gz")
        assert (table.n_rows, table.n_columns, table.missing) == (20_000, 27, {})
        assert states(table, "Accident") == ("Mild", "Moderate", "None", "Severe")
        assert states(table, "Antilock") == ("False", "True")

    @pytest.mark.parametrize(
        ("name", "shape", "n_missing"),
        [
            ("uci/vote.csv", (435, 17), 392),
            ("tabular/mushroom.csv", (8124, 23), 2480),
            ("tabular/adult_train.csv.gz", (32561, 15), 4262),
            ("tabular/titanic_passengers.csv", (891, 12), 866),
            ("tabular/horse_colic.csv", (368, 23), 1927),
        ],
    )
    def test_missing_cells_are_those_that_are_empty(
        self, shared_data: Path, name: str, shape: tuple, n_missing: int
    ) -> None:
        table = read_table(shared_data / name)
        assert (table.n_rows, table.n_columns) == shape
        assert sum(table.missing.values()) == n_missing
        assert {column: counts[""] for column, counts in table.read_as_missing.items()} == table.missing
        assert sum(b.num_rows for b in iter_batches(shared_data / name, batch_rows=100)) == shape[0]

    def test_titanic(self, shared_data: Path) -> None:
        table = read_table(shared_data / "tabular" / "titanic_passengers.csv")
        assert table.identifiers == ("PassengerId", "Name")
        assert "Braund, Mr. Owen Harris" in states(table, "Name")
        assert states(table, "Survived") == (0, 1)

    def test_news(self, shared_data: Path) -> None:
        table = read_table(shared_data / "text" / "20news_bydate.jsonl.gz", columns=["group", "split"])
        assert table.n_rows == 18_846
        assert table.variable("group").n_states == 20


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1e300", "-1e300", "1"], "continuous"),
        (["nan", "0.5", "-0.5"], "continuous"),
        (["NaN", "36893488147419103232", "36893488147419103233"], "categorical"),
        (["36893488147419103232", "36893488147419103233", "-5"], "categorical"),
    ],
)
def test_only_integers_too_long_for_a_float_are_text(tmp_path: Path, cells: list[str], kind: str) -> None:
    (tmp_path / "large.csv").write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells) + ",2\n")
    table = read_table(tmp_path / "large.csv")
    assert table.variable("x").is_continuous == (kind == "continuous")
    assert table.missing["x"] >= 1
