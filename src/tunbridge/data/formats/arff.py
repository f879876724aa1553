r"""ARFF, the text format of Weka: a header that declares the attributes, then one row a line.

::

    % a comment
    @relation weather
    @attribute outlook {sunny, overcast, 'light rain'}
    @attribute temperature numeric
    @attribute note string
    @data
    sunny, 85, 'it\'s hot'
    overcast, ?, ?
    {1 21.5, 2 "sunny, as the first state"}

What is read, and how:

- Keywords are read in any case. Names and values are quoted with ``'`` or ``"``, within which ``\`` takes away the
  meaning of the next character (``\n``, ``\t`` and ``\r`` are line end, tab and return). ``%`` outside quotes starts a
  comment.
- Nominal attributes are categorical and keep their declared states in the declared order, also those that never occur;
  any other value is an error.
- ``numeric``, ``real`` and ``integer`` are continuous, because the file says so; ``string`` is categorical, with its
  states sorted; ``date`` is continuous (seconds since 1970).
- An unquoted ``?`` is missing, and nothing else is.
- In a sparse row, ``{index value, …}`` with indices from 0, what is left out is 0, the first declared state, or the
  empty text; a date that is left out is missing.
- Relational attributes and weights of rows are not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed, repeated
from tunbridge._core.registry import table_format
from tunbridge.data.columns import Kind, code_type
from tunbridge.data.formats.request import Request, typed_table
from tunbridge.data.formats.source import Source, check_size, count_lines, no_rows, reading, scan
from tunbridge.data.frames import column_kinds
from tunbridge.data.table import Table
from tunbridge.errors import FormatError

_QUOTED = r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
_NAME = re.compile(rf"""\s*({_QUOTED}|[^\s{{}}'"%][^\s{{}}]*)""")
_VALUE = re.compile(rf"""\s*({_QUOTED}|[^\s,%'"][^,%]*|)\s*""")
_STATE = re.compile(rf"""\s*({_QUOTED}|[^\s,}}%'"][^,}}%]*|)\s*""")
_WORD = re.compile(r"[^\s%]*")
_INDEX = re.compile(r"\s*([0-9]{1,9})\s")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_SPECIAL = re.compile(r"""['"%{]""")
_KEYWORD = re.compile(r"\s*@([a-z]+)(?=\s|$)", re.IGNORECASE)
_DATE_PARTS = re.compile(r"'([^']*)'|yyyy|yy|MMM|MM|dd|HH|hh|mm|ss|SSS|a|[^A-Za-z']+|.")
_DATE_CODES = {
    "yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S",
    "SSS": "%f", "a": "%p",
}  # fmt: skip
_ISO_DATE = "yyyy-MM-dd'T'HH:mm:ss"
_BATCH_CELLS = 1 << 25
_BATCH_VALUES = 1 << 22

AttributeType = Literal["nominal", "numeric", "integer", "string", "date"]
_NUMERIC = {"numeric": "numeric", "real": "numeric", "integer": "integer"}


@dataclass(frozen=True)
class Attribute:
    """A declared column: its name and type, the states of a nominal one, the layout of a date."""

    name: str
    type: AttributeType
    states: tuple[str, ...] = ()
    layout: str = ""

    @property
    def n_bytes(self) -> int:
        """How much memory a cell needs, at least."""
        return np.dtype(code_type(len(self.states))).itemsize if self.type == "nominal" else 8

    @property
    def left_out(self) -> str | None:
        """What a sparse row means that does not name this column."""
        if self.type == "nominal":
            return self.states[0] if self.states else None
        return {"string": "", "date": None}.get(self.type, "0")


class Row(NamedTuple):
    """A row of text: its line number, the line, and its values; of a sparse row those that it names.

    A value is ``None`` where it is missing.
    """

    line: int
    text: str
    values: list[str | None] | dict[int, str | None]


Lines = Iterator[tuple[int, str]]


@table_format("arff", rank=5, suffixes=(".arff",), text=True)
class ARFF:
    """Weka's text format: declared attributes, then one row a line."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        scan(source)
        with reading(source), source.text() as lines:
            rows = numbered(lines)
            attributes = read_header(rows)
            columns = request.choose([a.name for a in attributes])
            kinds = column_kinds(request.kinds, columns)
            as_text = [name for name in columns if kinds.get(name) == "categorical"]
            # Rows may be far shorter than what they stand for: two characters are a whole sparse row.
            row_bytes = {a.name: a.n_bytes for a in attributes}
            check_size(source, float(count_lines(source)) * sum(row_bytes[name] for name in columns))
            batches = [batch.select(columns) for batch in read_batches(rows, attributes, text=as_text)]
        if not batches:
            raise no_rows(source)
        raw = pa.Table.from_batches(batches)
        numeric: dict[str, Kind] = {a.name: "continuous" for a in attributes if a.type in ("numeric", "integer")}
        whole = [a.name for a in attributes if a.type == "integer"]
        values = {name: _whole_numbers(raw[name]) if name in whole else raw[name] for name in columns}
        question_marks = {name: {"?": raw[name].null_count} for name in columns if raw[name].null_count}
        return typed_table(values, request, kinds=numeric, nulls=question_marks)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file."""
        scan(source)
        with reading(source), source.text() as lines:
            rows = numbered(lines)
            attributes = read_header(rows)
            as_text = [a.name for a in attributes if a.name not in request.numbers]
            yield from read_batches(rows, attributes, text=as_text, batch_rows=request.batch_rows)


def _whole_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(pa.int64()) if pa.types.is_floating(values.type) else values
    except pa.ArrowInvalid:
        return values


def read_header(lines: Lines) -> tuple[Attribute, ...]:
    """Return the declared attributes; the lines are read up to and with ``@data``.

    Examples
    --------
    >>> read_header(enumerate(["@attribute 'wind speed' real", "@attribute sky {clear, cloudy}", "@data"], start=1))
    (Attribute(name='wind speed', type='numeric', states=(), layout=''),
     Attribute(name='sky', type='nominal', states=('clear', 'cloudy'), layout=''))
    """
    attributes: dict[str, Attribute] = {}
    number = 0
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("%"):
            continue
        keyword = _KEYWORD.match(line)
        word = keyword.group(1).lower() if keyword else ""
        if keyword and word == "attribute":
            attribute = _attribute(line, number, keyword.end())
            if attribute.name in attributes:
                _fail(f"attribute names must be distinct; got {attribute.name!r} more than once.", number)
            attributes[attribute.name] = attribute
        elif word == "data":
            if not attributes:
                _fail("an ARFF file must declare attributes before '@data'; there are none.", number)
            return tuple(attributes.values())
        elif word != "relation":
            _fail(f"the header must hold @relation, @attribute and @data lines; got {line.strip()[:40]!r}.", number)
    raise FormatError("an ARFF file must have a line '@data' after its header; it ends without.", line=number or None)


def read_rows(lines: Lines, width: int) -> Iterator[Row]:
    """Yield the rows that follow a header of that many attributes."""
    for number, line in lines:
        start = line.lstrip()[:1]
        if not start or start == "%":
            continue
        if start == "{":
            yield Row(number, line, _sparse(line, number, width))
            continue
        values = _dense(line, number) if _SPECIAL.search(line) else _plain(line, width)
        if len(values) != width:
            _fail(f"a row must have a value for each attribute, {width}; got {len(values)}.", number)
        yield Row(number, line, values)


def read_batches(
    lines: Lines, attributes: tuple[Attribute, ...], *, text: Collection[str] = (), batch_rows: int = 65536
) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of at most that many; attributes named in ``text`` as they are written.

    A wide file comes in batches of fewer rows, so that the memory does not grow with the number of attributes.
    """
    rows: list[Row] = []
    most_rows = max(1, min(batch_rows, _BATCH_CELLS // len(attributes)))
    n_values = 0
    for row in read_rows(lines, len(attributes)):
        rows.append(row)
        n_values += len(row.values)
        if len(rows) == most_rows or n_values >= _BATCH_VALUES:
            yield _batch(rows, attributes, text)
            rows, n_values = [], 0
    if rows:
        yield _batch(rows, attributes, text)


def numbered(lines: Iterable[str]) -> Lines:
    """Return the lines of a text with their numbers, without their ends."""
    return ((number, line.rstrip("\r\n")) for number, line in enumerate(lines, start=1))


def _attribute(line: str, number: int, at: int) -> Attribute:
    found = _NAME.match(line, at)
    if found is None or not (name := _unquoted(found.group(1))).strip():
        _fail("an attribute must have a name (in quotes if it holds blanks); there is none.", number, at)
    at = found.end()
    rest = line[at:].lstrip()
    if rest.startswith("{"):
        return Attribute(name, "nominal", _states(line, number, line.index("{", at) + 1))
    word = _WORD.match(rest).group().lower()  # type: ignore[union-attr]
    if word in _NUMERIC:
        return Attribute(name, _NUMERIC[word])  # type: ignore[arg-type]
    if word == "string":
        return Attribute(name, "string")
    if word == "date":
        pattern = _VALUE.match(rest, len(word)).group(1)  # type: ignore[union-attr]
        return Attribute(name, "date", layout=_date_layout(_unquoted(pattern.rstrip()), number))
    known = ["numeric", "real", "integer", "string", "date", "{state, …}"]
    hint = "" if word == "relational" else " " + did_you_mean(word, known)
    return _fail(f"the type of attribute {name!r} must be one of {listed(known)}; got {word!r}.{hint}", number, at)


def _states(line: str, number: int, at: int) -> tuple[str, ...]:
    states: list[str] = []
    while True:
        found = _STATE.match(line, at)
        if found is None or found.end() == len(line) or line[found.end()] not in ",}":
            _fail("the states of a nominal attribute must be a list in braces; it is not closed.", number, at)
        if found.group(1):
            states.append(_unquoted(found.group(1).rstrip()))
        at = found.end() + 1
        if line[found.end()] == "}":
            break
    _check_end(line, number, at)
    if len(set(states)) < len(states):
        _fail(f"the states of an attribute must be distinct; got {listed(repeated(states))} more than once.", number)
    return tuple(states)


def _fields(line: str, number: int) -> Iterator[tuple[int, str]]:
    """Yield the start and the raw text of each value in a dense row."""
    at = 0
    while True:
        found = _VALUE.match(line, at)
        assert found is not None, "the pattern matches an empty value too"
        at = found.end()
        if not found.group(1) and line[at : at + 1] in ("'", '"'):
            _fail("a quote must be closed on its line; this one is not.", number, at)
        yield found.start(1), found.group(1).rstrip()
        if at == len(line) or line[at] == "%":
            return
        if line[at] != ",":
            _fail(f"a comma must follow a quoted value; got {line[at]!r}.", number, at)
        at += 1


def _pairs(line: str, number: int) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the index and the raw text of each value in a sparse row."""
    at = line.index("{") + 1
    while True:
        index = _INDEX.match(line, at)
        if index is None:
            if not line[at:].lstrip().startswith("}"):
                _fail("a sparse row must be {index value, …}; there is no index.", number, at)
            return _check_end(line, number, line.index("}", at) + 1)
        found = _STATE.match(line, index.end())
        if found is None or found.end() == len(line) or line[found.end()] not in ",}" or not found.group(1):
            _fail("a sparse row must be {index value, …}; a value is missing or not closed.", number, index.end())
        yield found.start(1), int(index.group(1)), found.group(1).rstrip()
        at = found.end() + 1
        if line[found.end()] == "}":
            return _check_end(line, number, at)


def _check_end(line: str, number: int, at: int) -> None:
    rest = line[at:].strip()
    if rest and not rest.startswith("%"):
        _fail(f"nothing but a comment must follow the closing brace; got {rest[:40]!r}.", number, at)


def _dense(line: str, number: int) -> list[str | None]:
    return [_value(raw) for _, raw in _fields(line, number)]


def _plain(line: str, width: int) -> list[str | None]:
    """Return the values of a line without quotes and comments."""
    values = [value.strip() for value in line.split(",")]
    if len(values) == 1 < width:  # Weka also takes blanks and tabs for delimiters
        values = line.split()
    return [None if value == "?" else value for value in values]


def _sparse(line: str, number: int, width: int) -> dict[int, str | None]:
    values: dict[int, str | None] = {}
    for at, index, raw in _pairs(line, number):
        if index >= width:
            _fail(f"an index must be less than the number of attributes, {width}; got {index}.", number, at)
        if index in values:
            _fail(f"the indices of a sparse row must be distinct; got {index} more than once.", number, at)
        values[index] = _value(raw)
    return values


def _value(raw: str) -> str | None:
    return None if raw == "?" else _unquoted(raw)


def _unquoted(raw: str) -> str:
    if raw[:1] not in ("'", '"'):
        return raw
    body = raw[1:-1]
    return _ESCAPE.sub(lambda m: _ESCAPES.get(m.group(1), m.group(1)), body) if "\\" in body else body


def _batch(rows: list[Row], attributes: tuple[Attribute, ...], text: Collection[str]) -> pa.RecordBatch:
    sparse = all(isinstance(row.values, dict) for row in rows)
    arrays = _sparse_arrays(rows, attributes, text) if sparse else _dense_arrays(rows, attributes, text)
    return pa.RecordBatch.from_arrays(list(arrays), [attribute.name for attribute in attributes])


def _dense_arrays(rows: list[Row], attributes: tuple[Attribute, ...], text: Collection[str]) -> Iterator[pa.Array]:
    left_out = dict(enumerate(attribute.left_out for attribute in attributes))
    lists = (row.values if isinstance(row.values, list) else (left_out | row.values).values() for row in rows)
    for index, (attribute, values) in enumerate(zip(attributes, zip(*lists, strict=True), strict=True)):
        yield _array(attribute, values, rows, index, as_text=attribute.name in text)


def _sparse_arrays(rows: list[Row], attributes: tuple[Attribute, ...], text: Collection[str]) -> Iterator[pa.Array]:
    """Yield the columns of sparse rows: what is there is read once, and so is the value of all that is left out."""
    holders: list[list[int]] = [[] for _ in attributes]
    for i, row in enumerate(rows):
        for index in row.values:
            holders[index].append(i)  # type: ignore[index]
    for index, (attribute, at) in enumerate(zip(attributes, holders, strict=True)):
        held = [rows[i] for i in at]
        values = (*(row.values[index] for row in held), attribute.left_out)
        array = _array(attribute, values, held, index, as_text=attribute.name in text)
        where = np.full(len(rows), len(at), np.int32)
        where[at] = np.arange(len(at))
        yield array.take(pa.array(where))


def _array(
    attribute: Attribute, values: tuple[str | None, ...], rows: list[Row], index: int, *, as_text: bool
) -> pa.Array:
    if attribute.type == "nominal":
        return _nominal(attribute, values, rows, index)
    texts = pa.array(values, pa.string())
    if as_text or attribute.type == "string":
        return texts
    if attribute.type == "date":
        return _dates(attribute, values, rows, index)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        bad = next(i for i, value in enumerate(values) if not _is_number(value))
        return _refuse(attribute, "a number", rows[bad], index)


def _nominal(attribute: Attribute, values: tuple[str | None, ...], rows: list[Row], index: int) -> pa.Array:
    codes: dict[str | None, int] = {state: code for code, state in enumerate(attribute.states)}
    codes[None] = -1
    try:
        array = np.fromiter((codes[value] for value in values), code_type(len(attribute.states)), len(values))
    except KeyError:
        bad = next(i for i, value in enumerate(values) if value not in codes)
        _refuse(attribute, f"one of {listed(attribute.states)}", rows[bad], index)
    return pa.DictionaryArray.from_arrays(pa.array(array, mask=array < 0), pa.array(attribute.states, pa.string()))


def _dates(attribute: Attribute, values: tuple[str | None, ...], rows: list[Row], index: int) -> pa.Array:
    parsed: list[datetime | None] = []
    for i, value in enumerate(values):
        try:
            parsed.append(None if value is None else datetime.strptime(value, attribute.layout))
        except ValueError:
            _refuse(attribute, "a date of the declared layout", rows[i], index)
    return pa.array(parsed, pa.timestamp("ms"))


def _is_number(value: str | None) -> bool:
    try:
        pa.scalar(value, pa.string()).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _refuse(attribute: Attribute, what: str, row: Row, index: int) -> NoReturn:
    """Raise the error about a value that is not of its attribute's type, with its place in the line."""
    value, line = row.values[index], row.text
    if line.lstrip().startswith("{"):
        at = next((start for start, i, _ in _pairs(line, row.line) if i == index), None)
    else:
        places = [start for start, _ in _fields(line, row.line)]
        at = places[index] if len(places) == len(row.values) else None
    _fail(f"attribute {attribute.name!r} must be {what}, or ? where missing; got {value!r}.", row.line, at)


def _date_layout(pattern: str, number: int) -> str:
    """Return the layout of a date as Python writes it, from the letters of Java."""
    layout = ""
    for found in _DATE_PARTS.finditer(pattern or _ISO_DATE):
        part = found.group()
        if part.startswith("'"):
            part = found.group(1) or "'"
        elif part in _DATE_CODES and _DATE_CODES[part] not in layout:
            layout += _DATE_CODES[part]
            continue
        elif part.isalpha() or part == "'":
            _fail(f"the layout of a date must use {listed(_DATE_CODES, most=11)}, each once; got {pattern!r}.", number)
        layout += part.replace("%", "%%")
    return layout


def _fail(message: str, line: int, at: int | None = None) -> NoReturn:
    raise FormatError(message, line=line, column=None if at is None else at + 1)
