from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from tunbridge.data.formats import arff
from tunbridge.data.formats.arff import Attribute, numbered, read_batches, read_header
from tunbridge.errors import FormatError


def read(content: str, **options: object) -> dict[str, list]:
    """Return the columns of an ARFF text."""
    lines = numbered(content.splitlines(keepends=True))
    return pa.Table.from_batches(list(read_batches(lines, read_header(lines), **options))).to_pydict()


def refusal(text: str) -> FormatError:
    with pytest.raises(FormatError) as caught:
        read(text)
    return caught.value


def header(line: str) -> Attribute:
    (attribute,) = read_header(numbered([line, "@data"]))
    return attribute


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("@attribute a numeric", Attribute("a", "numeric")),
        ("@ATTRIBUTE\tA\tREAL % blood", Attribute("A", "numeric")),
        ("  @Attribute a Integer", Attribute("a", "integer")),
        ("@attribute a string", Attribute("a", "string")),
        ("@attribute 'a b' {x,y}", Attribute("a b", "nominal", ("x", "y"))),
        ('@attribute "it\'s" {x}', Attribute("it's", "nominal", ("x",))),
        (r"@attribute 'it\'s' {x}", Attribute("it's", "nominal", ("x",))),
        ("@attribute a{x, y}", Attribute("a", "nominal", ("x", "y"))),
        ("@attribute a {  'c d' , \"e,f\" , g h,} % three", Attribute("a", "nominal", ("c d", "e,f", "g h"))),
        ("@attribute a {'}', '%', '?', ''}", Attribute("a", "nominal", ("}", "%", "?", ""))),
        ("@attribute a {}", Attribute("a", "nominal", ())),
        ("@attribute fat% real", Attribute("fat%", "numeric")),
        ("@attribute a date", Attribute("a", "date", layout="%Y-%m-%dT%H:%M:%S")),
        ("@attribute a DATE 'dd.MM.yy HH:mm'", Attribute("a", "date", layout="%d.%m.%y %H:%M")),
        ("@attribute a date \"yyyy'%y'MMM\"", Attribute("a", "date", layout="%Y%%y%b")),
    ],
)
def test_declarations(line: str, expected: Attribute) -> None:
    assert header(line) == expected


def test_a_whole_file() -> None:
    found = read(
        "% comment\n\n@RELATION 'play it'\n@attribute sky {wet,'light rain',dry}\n@attribute n real\n"
        "@attribute s string\n% more\n@DATA\n% and more\n'light rain', 1.5 , 'a, \"b\"'\n\ndry,?,?\n"
        "wet,-2e3,\"it's\"  % end\n?,7,'?'\n"
    )
    assert found == {
        "sky": ["light rain", "dry", "wet", None],
        "n": [1.5, None, -2000.0, 7.0],
        "s": ['a, "b"', None, "it's", "?"],
    }


def test_declared_states_keep_their_order_and_stay_when_unused() -> None:
    lines = numbered(["@attribute a {z,m,a}", "@data", "a", "z"])
    (batch,) = read_batches(lines, read_header(lines))
    assert batch.column(0).dictionary.to_pylist() == ["z", "m", "a"]
    assert batch.column(0).indices.to_pylist() == [2, 0]


def test_escapes() -> None:
    assert read("@attribute s string\n@data\n" + r"'a\'b\\c\nd\te\%f\"g'") == {"s": ["a'b\\c\nd\te%f\"g"]}


def test_line_ends_and_an_unquoted_apostrophe() -> None:
    assert read("@attribute s string\r\n@attribute t string\r\n@data\r\ndon't,it's\r\n") == {
        "s": ["don't"],
        "t": ["it's"],
    }


def test_rows_delimited_by_blanks() -> None:
    assert read("@attribute a real\n@attribute b {x,y}\n@data\n1 x\n2\ty\n") == {"a": [1.0, 2.0], "b": ["x", "y"]}


SPARSE = "@attribute a real\n@attribute b {no,yes,'may be'}\n@attribute s string\n@attribute d date yyyy\n@data\n"


def test_sparse_rows() -> None:
    found = read(SPARSE + "{}\n{0 2.5, 1 yes}\n{ 1 'may be' , 2 \"a, }\" } % end\n{0 ?,1 ?,2 ?,3 1999}\n")
    assert found == {
        "a": [0.0, 2.5, 0.0, None],
        "b": ["no", "yes", "may be", None],
        "s": ["", "", "a, }", None],
        "d": [None, None, None, dt.datetime(1999, 1, 1)],
    }


def test_sparse_and_dense_rows_together() -> None:
    found = read(SPARSE + "{0 2.5}\n1.5,yes,'{',2000\n{3 1999}\n")
    assert found == {
        "a": [2.5, 1.5, 0.0],
        "b": ["no", "yes", "no"],
        "s": ["", "{", ""],
        "d": [None, dt.datetime(2000, 1, 1), dt.datetime(1999, 1, 1)],
    }


def test_attributes_as_text() -> None:
    text = "@attribute a real\n@attribute d date yyyy\n@attribute n {x}\n@data\n01.50,1999,x\n?,?,?\n"
    assert read(text, text=["a", "d", "n"]) == {"a": ["01.50", None], "d": ["1999", None], "n": ["x", None]}
    assert read("@attribute a real\n@data\n{0 01}\n{}\n", text=["a"]) == {"a": ["01", "0"]}


@pytest.mark.parametrize(("batch_rows", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (5, [5]), (100, [5])])
def test_batches(batch_rows: int, sizes: list[int]) -> None:
    lines = numbered(["@attribute a real", "@data", "1", "2", "3", "4", "5"])
    batches = list(read_batches(lines, read_header(lines), batch_rows=batch_rows))
    assert [b.num_rows for b in batches] == sizes
    assert [v for b in batches for v in b.column(0).to_pylist()] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_wide_files_come_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arff, "_BATCH_CELLS", 20)
    lines = numbered([*(f"@attribute a{i} real" for i in range(10)), "@data", *(["{}"] * 5)])
    assert [b.num_rows for b in read_batches(lines, read_header(lines))] == [2, 2, 1]
    monkeypatch.setattr(arff, "_BATCH_VALUES", 10)
    lines = numbered([*(f"@attribute a{i} real" for i in range(10)), "@data", *(["{0 1}"] * 2), ",".join("1" * 10)])
    assert [b.num_rows for b in read_batches(lines, read_header(lines), batch_rows=3)] == [2, 1]


A = "@attribute a {x,y}\n@attribute b real\n@data\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", None, None, "an ARFF file must have a line '@data' after its header; it ends without."),
        ("@relation r\n@attribute a real\n", 2, None, "an ARFF file must have a line '@data'"),
        ("@relation r\n@data\n1\n", 2, None, "an ARFF file must declare attributes before '@data'; there are none."),
        ("a,b\n1,2\n", 1, None, "the header must hold @relation, @attribute and @data lines; got 'a,b'."),
        ("@attributes a real\n", 1, None, "the header must hold @relation, @attribute and @data lines"),
        ("@attribute\n", 1, 11, "an attribute must have a name (in quotes if it holds blanks); there is none."),
        ("@attribute '' real\n", 1, 11, "an attribute must have a name"),
        ("@attribute 'a real\n", 1, 11, "an attribute must have a name"),
        ("@attribute a\n", 1, 13, "the type of attribute 'a' must be one of 'numeric', 'real', 'integer', 'string',"),
        ("@attribute a numerical\n", 1, 13, "got 'numerical'. Did you mean 'numeric'?"),
        ("@attribute a relational\n", 1, 13, "got 'relational'."),
        ("@attribute a {x,y\n", 1, 17, "the states of a nominal attribute must be a list in braces; it is not closed."),
        (
            "@attribute a {x,'y}\n",
            1,
            17,
            "the states of a nominal attribute must be a list in braces; it is not closed.",
        ),
        ("@attribute a {x} y\n", 1, 17, "nothing but a comment must follow the closing brace; got 'y'."),
        ("@attribute a {x,y,x}\n", 1, None, "the states of an attribute must be distinct; got 'x' more than once."),
        (
            "@attribute a real\n@attribute a real\n",
            2,
            None,
            "attribute names must be distinct; got 'a' more than once.",
        ),
        ("@attribute a date 'YYYY'\n", 1, None, "the layout of a date must use 'yyyy', 'yy'"),
        ("@attribute a date 'yy-yy'\n", 1, None, "'SSS', 'a', each once; got 'yy-yy'."),
        (A + "x,1\nz,2\n", 5, 1, "attribute 'a' must be one of 'x', 'y', or ? where missing; got 'z'."),
        (A + "x,1\n'x', 'two'\n", 5, 6, "attribute 'b' must be a number, or ? where missing; got 'two'."),
        (A + "x,1\nx,\n", 5, 3, "attribute 'b' must be a number, or ? where missing; got ''."),
        (A + "z 1\n", 4, None, "attribute 'a' must be one of 'x', 'y', or ? where missing; got 'z'."),
        (A + "{0 x, 1  1_0}\n", 4, 10, "attribute 'b' must be a number, or ? where missing; got '1_0'."),
        (A + "x\n", 4, None, "a row must have a value for each attribute, 2; got 1."),
        (A + "x,1,2\n", 4, None, "a row must have a value for each attribute, 2; got 3."),
        (A + "x,1,{5}\n", 4, None, "a row must have a value for each attribute, 2; got 3."),
        (A + "'x,1\n", 4, 1, "a quote must be closed on its line; this one is not."),
        (A + "x, 'y\\'\n", 4, 4, "a quote must be closed on its line; this one is not."),
        (A + "'x'y,1\n", 4, 4, "a comma must follow a quoted value; got 'y'."),
        (A + "{0 x\n", 4, 4, "a sparse row must be {index value, …}; a value is missing or not closed."),
        (A + "{0 }\n", 4, 4, "a sparse row must be {index value, …}; a value is missing or not closed."),
        (A + "{x 1}\n", 4, 2, "a sparse row must be {index value, …}; there is no index."),
        (A + "{-1 1}\n", 4, 2, "a sparse row must be {index value, …}; there is no index."),
        (A + "{2 1}\n", 4, 4, "an index must be less than the number of attributes, 2; got 2."),
        (A + "{0 x, 0 y}\n", 4, 9, "the indices of a sparse row must be distinct; got 0 more than once."),
        (A + "{0 x}, {5}\n", 4, 6, "nothing but a comment must follow the closing brace; got ', {5}'."),
        (
            "@attribute d date yyyy-MM-dd\n@data\n2020-02-30\n",
            3,
            1,
            "attribute 'd' must be a date of the declared layout",
        ),
    ],
)
def test_errors_have_their_place(text: str, line: int | None, column: int | None, message: str) -> None:
    error = refusal(text)
    assert (error.line, error.column) == (line, column)
    assert message in str(error)


def test_the_place_of_a_bad_value_in_a_later_batch() -> None:
    lines = numbered(["@attribute a {x}", "@data", *["x"] * 10, " y"])
    with pytest.raises(FormatError) as caught:
        list(read_batches(lines, read_header(lines), batch_rows=3))
    assert (caught.value.line, caught.value.column) == (13, 2)


@pytest.mark.parametrize(
    "text",
    [
        "'" + "x" * 200_000,
        "'" + "\\x" * 200_000,
        "x" + " " * 200_000 + "'y",
        " " * 200_000 + "'y",
        "{" + " " * 200_000,
        "{0" + " " * 200_000,
        "'a'," * 100_000,
        "?," * 200_000,
    ],
)
def test_long_hostile_lines_end_in_an_error(text: str) -> None:
    refusal("@attribute a string\n@attribute b string\n@data\n" + text)
    refusal("@attribute a {" + text + "\n@data\n")
    refusal("@attribute " + text + "\n@data\n")
