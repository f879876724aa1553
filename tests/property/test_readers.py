from __future__ import annotations

import csv
import io
import json
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.data.formats import delimited
from tunbridge.data.formats.layout import records
from tunbridge.data.formats.request import text_column
from tunbridge.data.readers import DEFAULT_MISSING, iter_batches, read_table
from tunbridge.errors import DataError, DataWarning

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
WORDS = st.sampled_from(
    [*DEFAULT_MISSING, "None", "True", "yes", " NA", "a", "b c", 'q"q', '"', "x,y", "l\nm", "é;ü", "1a"]
)
CELLS = WORDS | TEXT


@st.composite
def tables(draw: st.DrawFn, cells: st.SearchStrategy = CELLS) -> tuple[list[str], list[list[str]]]:
    """Return column names and rows; a first column keeps any row from being blank."""
    names = draw(st.lists(TEXT.filter(str.strip), min_size=1, max_size=4, unique=True))
    width = st.lists(cells, min_size=len(names), max_size=len(names))
    return names, draw(st.lists(width, min_size=1, max_size=12))


@pytest.fixture(scope="module")
def file() -> Callable[[bytes, str], Path]:
    """Return a function that writes bytes into a file and returns its path."""
    folder = Path(tempfile.mkdtemp())

    def write(content: bytes, name: str = "data.csv") -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def written(names: list[str], rows: list[list[str]], **dialect: object) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, **dialect).writerows([names, *rows])
    return out.getvalue().encode()


def columns_of(names: list[str], rows: list[list[str]], markers: tuple[str, ...]) -> dict[str, list[str | None]]:
    return {name: [None if row[j] in markers else row[j] for row in rows] for j, name in enumerate(names)}


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    # With "\n" alone the csv module leaves "\r" within a field without quotes, and then it ends a row.
    style=st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\r\n"), (csv.QUOTE_ALL, "\n")]),
    delimiter=st.sampled_from([",", ";", "\t"]),
    large=st.booleans(),
)
def test_csv_comes_back_as_it_was_written(
    file: Callable, table: tuple, style: tuple[int, str], delimiter: str, large: bool
) -> None:
    names, rows = table
    content = written(names, rows, quoting=style[0], lineterminator=style[1], delimiter=delimiter)
    expected = columns_of(names, rows, DEFAULT_MISSING)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        patch.setattr(delimited, "_LARGE", 0 if large else 1 << 25)
        found = read_table(file(content), kinds="categorical", delimiter=delimiter, header=True)
    assert found.to_arrow().to_pydict() == expected
    counts = {n: {m: sum(row[j] == m for row in rows) for m in DEFAULT_MISSING} for j, n in enumerate(names)}
    present = {name: {m: n for m, n in of.items() if n} for name, of in counts.items()}
    assert found.read_as_missing == {name: of for name, of in present.items() if of}
    batches = list(iter_batches(file(content), delimiter=delimiter, header=True, batch_rows=3))
    assert pa.concat_tables(batches).to_pydict() == expected


@settings(max_examples=100, deadline=None)
@given(table=tables(), markers=st.lists(WORDS, max_size=3))
def test_given_markers_are_missing_besides_the_default_ones(file: Callable, table: tuple, markers: list[str]) -> None:
    names, rows = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        path = file(written(names, rows, quoting=csv.QUOTE_ALL))
        found = read_table(path, kinds="categorical", missing=markers, delimiter=",", header=True)
    assert found.to_arrow().to_pydict() == columns_of(names, rows, (*DEFAULT_MISSING, *markers) if markers else ())


@settings(max_examples=100, deadline=None)
@given(
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(DEFAULT_MISSING), min_size=1)
)
def test_numbers_come_back_exactly(file: Callable, numbers: list) -> None:
    rows = [[n if isinstance(n, str) else repr(n), "x"] for n in [0.5, *numbers]]
    expected = np.array([np.nan if isinstance(n, str) else n for n in [0.5, *numbers]])
    path = file(written(["n", "k"], rows))
    np.testing.assert_array_equal(read_table(path).floats("n"), expected)
    batches = pa.concat_tables(list(iter_batches(path, numbers=["n"], batch_rows=2)))
    np.testing.assert_array_equal(batches["n"].to_numpy(), expected)


@settings(max_examples=100, deadline=None)
@given(table=tables(), end=st.sampled_from(["\n", "\r\n"]))
def test_records_are_those_of_the_csv_module(table: tuple, end: str) -> None:
    names, rows = table
    text = written(names, rows, quoting=csv.QUOTE_ALL, lineterminator=end).decode()
    found = list(records(io.StringIO(text, newline=""), ","))
    assert [record.fields for record in found] == [names, *rows]
    assert all(record.closed for record in found)
    assert found[0].line == 1


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from("abc"), min_size=1)
)
def test_codes_give_the_texts_back(texts: list[str]) -> None:
    plain = pa.chunked_array([pa.array(texts[:3], pa.string()), pa.array(texts[3:], pa.string())])
    for values in (plain, plain.dictionary_encode()):
        column = text_column("x", values)
        assert [column.variable.states[code] for code in column.values] == texts
        assert list(column.variable.states) == sorted(set(texts))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {}, optional={"a": TEXT | st.none(), "b b": st.integers(-(2**53), 2**53), "c": st.booleans()}
        ),
        min_size=1,
        max_size=10,
    )
)
def test_json_lines_come_back(file: Callable, rows: list[dict]) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        return
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = file(content, "data.jsonl")
    found = read_table(path).to_arrow().to_pydict()
    for name in {"b b", "c"} & set(names):
        assert found[name] == [row.get(name) for row in rows]
    batches = pa.concat_tables(list(iter_batches(path, numbers=["b b"], batch_rows=2))).to_pydict()
    assert list(batches) == names
    for name in {"a"} & set(names):
        assert batches[name] == [row.get(name) for row in rows]


CSV = b'age,sex,"a, b",n\r\n31,f,"x ""y""\nz",1.5\r\n?,m,,NA\r\n62,f,w,-2e3\r\n'
ARFF = (
    b"% c\n@relation r\n@attribute 'a b' {x,'y z',\"w\"}\n@attribute n numeric\n@attribute s string\n"
    b"@attribute d date 'yyyy-MM-dd'\n@data\nx,1.5,'t\\'u',2020-01-01\n'y z',?,\"v\",?\n"
    b'{1 2,2 q}\n{0 w, 3 "1999-12-31"}\n'
)
JSONL = b'{"a": 1, "b": "x", "c": null}\n{"a": 2.5, "b": "\\u00e9", "c": true}\n{"b": "NA"}\n'
BYTES = st.binary(max_size=4) | st.sampled_from(
    [
        b'"',
        b"'",
        b"\n",
        b"\r",
        b",",
        b";",
        b"{",
        b"}",
        b"%",
        b"\\",
        b"@data\n",
        b"?",
        b"\xff",
        b"\xe9",
        b"\x00",
        b"inf",
        b"[[",
    ]
)
MUTATIONS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 6), BYTES), min_size=1, max_size=5)


def mutated(content: bytes, mutations: list[tuple[int, int, bytes]]) -> bytes:
    """Return the content with some of its bytes put in place of others."""
    for at, removed, put in mutations:
        at %= len(content) + 1
        content = content[:at] + put + content[at + removed :]
    return content


@pytest.mark.parametrize(("content", "name"), [(CSV, "data.csv"), (ARFF, "data.arff"), (JSONL, "data.jsonl")])
@settings(max_examples=250, deadline=None)
@given(mutations=MUTATIONS)
def test_damaged_text_gives_our_errors_only(file: Callable, content: bytes, name: str, mutations: list) -> None:
    path = file(mutated(content, mutations), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        for read in (read_table, lambda p: list(iter_batches(p, numbers=["n", "a"]))):
            try:
                read(path)
            except DataError as error:
                assert str(error)  # noqa: PT017 - any other exception fails the test


def typed_bytes(name: str) -> bytes:
    from pyarrow import parquet

    table = pa.table({"a": [1, 2, None], "b": ["x", None, "y"], "c": pa.array(["u", "v", "u"]).dictionary_encode()})
    out = pa.BufferOutputStream()
    if name == "data.parquet":
        parquet.write_table(table, out)
    else:
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize("name", ["data.parquet", "data.arrow"])
@settings(max_examples=150, deadline=None)
@given(mutations=MUTATIONS)
def test_damaged_typed_files_give_our_errors_only(file: Callable, name: str, mutations: list) -> None:
    path = file(mutated(typed_bytes(name), mutations), name)
    for read in (read_table, lambda p: list(iter_batches(p))):
        try:
            read(path)
        except DataError as error:
            assert str(error)  # noqa: PT017 - any other exception fails the test
