"""Tables as delimited text: CSV and TSV.

Arrow reads the rows, with several threads; text columns arrive as dictionaries, so that each distinct text is looked at
once, however many rows hold it. What Arrow does not tell is found here: which delimiter the file uses, whether its
header is sound, and, when a file is broken, on which line and how.

The rules of the text:

- The first line that is not blank is the header. Blank lines are left out everywhere.
- A ``.csv`` file whose delimiter is not given is read with that one of comma, semicolon and tab which cuts its header
  into the most fields (the comma when they are equal).
- A field in double quotes may hold delimiters, line ends and doubled quotes. Quotes make no other difference: ``"NA"``
  is as missing as ``NA``, and ``"7"`` as much a number as ``7``.
- Blanks around a text belong to it: ``" NA"`` is a state, with a warning. Blanks around numbers do not matter.
- Text stays as it is written: ``True``, ``yes`` and ``None`` are states.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tunbridge._core.check import listed
from tunbridge._core.registry import table_format
from tunbridge._core.threads import map_threads
from tunbridge.data.columns import Column, Kind, infer_column, to_floats
from tunbridge.data.formats.request import (
    Request,
    holds_text,
    marker_counts,
    nulled,
    text_column,
    texts_of_nan,
    without_markers,
)
from tunbridge.data.formats.source import Scan, Source, check_decodes, check_size, no_rows, reading, scan
from tunbridge.data.frames import check_column_names, column_kinds, holes_of
from tunbridge.data.table import Table
from tunbridge.errors import DataError, DataWarning, FormatError

_SNIFFED = (",", ";", "\t", "|")
_TEXT = pa.dictionary(pa.int32(), pa.string())
_LARGE = 32 * 2**20
_WIDE, _FIRST_ROWS = 1000, 8  # columns for which it pays to look at the first rows before
_COLUMN_BYTES = 4000.0  # what Arrow and a table keep of a column, however short
_DECISIVE = re.compile(
    r"(?P<integer>-?[0-9]{1,18}\Z)|(?P<fraction>-?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?\Z)|(?P<text>[A-HJ-MO-Za-hj-mo-z])"
)  # I and N begin numbers too, «inf» and «nan»
_TYPES = {"integer": pa.int64(), "fraction": pa.float64(), "text": None}
_SECOND_LOOK = 64 * 2**20
_SEARCHED_STATES = 100_000


class Record(NamedTuple):
    """A row of text: the line it starts on, its fields, and whether its last quote is closed."""

    line: int
    fields: list[str]
    closed: bool


class Layout(NamedTuple):
    """What must be known of a delimited file before its rows are read."""

    names: tuple[str, ...]
    delimiter: str
    scan: Scan


@table_format("csv", rank=1, suffixes=(".csv",), text=True, delimited=True)
class CSV:
    """Text with a header and delimited fields: comma, semicolon, tab or vertical bar."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        layout = find_layout(source, request.delimiter)
        columns = request.choose(layout.names)
        kinds = column_kinds(request.kinds, columns)
        as_text = [name for name in columns if kinds.get(name) == "categorical"]
        raw = read_delimited(source, layout, columns=columns, text=as_text, missing=request.missing)
        if raw.num_rows == 0:
            raise no_rows(source)
        values = {name: raw[name] for name in columns} | _long_numbers(source, layout, raw, kinds, request.missing)
        whole = map_threads(
            lambda name: _delimited_column(name, values[name], kinds.get(name), request.missing), columns
        )
        parts = [without_markers(column, request.missing) for column in whole]
        found = {column.variable.name: counts for column, counts in parts if counts}
        table = Table.of_valid(column for column, _ in parts)
        _warn_of_blanks(table, request.missing)
        return Table.of(table, read_as_missing=found | _second_look(source, layout, table, found, request.missing))

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file."""
        layout = find_layout(source, request.delimiter)
        floats = [name for name in layout.names if name in request.numbers]
        return iter_delimited(source, layout, numbers=floats, missing=request.missing)


@table_format("tsv", rank=2, suffixes=(".tsv", ".tab"), text=True, delimited=True)
class TSV(CSV):
    """Text with a header and fields delimited by tabs."""


def find_layout(source: Source, delimiter: str | None) -> Layout:
    """Return the column names and the delimiter of a file; raise when its header is not sound."""
    if delimiter is not None:
        _check_delimiter(delimiter)
    found = scan(source)
    choices = (delimiter,) if delimiter is not None else ("\t",) if source.format == "tsv" else _SNIFFED
    headers = {choice: _header(source, choice) for choice in choices}
    chosen = max(choices, key=lambda choice: len(headers[choice].fields))
    header = headers[chosen]
    if not header.closed:
        raise _unclosed(source, header.line)
    try:
        check_column_names(header.fields)
    except DataError as error:
        raise FormatError(f"{error} (It is the header of {source.named}.)", line=header.line) from None
    return Layout(tuple(header.fields), chosen, found)


def read_delimited(
    source: Source, layout: Layout, *, columns: Sequence[str], text: Collection[str], missing: Sequence[str]
) -> pa.Table:
    """Return these columns; in those of text the missing markers stand like any other text.

    Columns named in ``text`` are read as text whatever they hold. In columns of numbers and dates markers are null. The
    text of a small file comes as dictionaries, that of a large one as it is: there are faster ways to encode it.
    """
    n_cells = layout.scan.n_bytes * len(columns) / len(layout.names)
    check_size(source, n_cells + _COLUMN_BYTES * len(columns))
    wide = len(columns) > _WIDE
    small = layout.scan.n_bytes < _LARGE and not wide
    likely = _likely_types(source, layout, columns, missing) if wide else {}

    def options(types: Mapping[str, pa.DataType | None]) -> csv.ConvertOptions:
        wanted = {**types, **dict.fromkeys(text)}
        return csv.ConvertOptions(
            **_conversion(missing),
            include_columns=list(columns),
            column_types={name: kind or (_TEXT if small else pa.string()) for name, kind in wanted.items()},
            auto_dict_encode=small,
            auto_dict_max_cardinality=2**31 - 1,
            strings_can_be_null=False,
        )

    with reading(source):
        table = _read(source, layout, *(options(types) for types in ([likely, {}] if likely else [{}])))
        if any(pa.types.is_binary(getattr(t, "value_type", t)) for t in table.schema.types):
            check_decodes(source)
        _check_closed(source, layout, table)
    return table


def iter_delimited(
    source: Source, layout: Layout, *, numbers: Collection[str], missing: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield batches of the whole file: these columns as numbers or dates, the others as text, markers as null."""
    with reading(source):
        types = dict.fromkeys(layout.names, pa.string()) | _number_types(source, layout, numbers, missing)
        options = csv.ConvertOptions(**_conversion(missing), column_types=types, strings_can_be_null=True)
        floats = [name for name in numbers if types[name] == pa.float64()]
        batch = None
        try:
            for batch in resumed(
                lambda block: _open(source, layout, options, block), _block_sizes(layout.scan.n_bytes)
            ):
                yield batch
        except pa.ArrowInvalid:
            _explain(source, layout, floats, missing)
            raise
        _check_closed(source, layout, batch)


def records(lines: Iterable[str], delimiter: str) -> Iterator[Record]:
    r"""Yield the records of delimited text, one by one: slow, and exact about lines.

    Examples
    --------
    >>> for record in records(['a,b\n', '1,"x\n', 'y"\n'], ","):
    ...     print(record.line, record.fields)
    1 ['a', 'b']
    2 ['1', 'x\ny']
    """
    fields: list[list[str]] = []
    start, quoted = 0, False
    for number, line in enumerate(lines, start=1):
        if not quoted:
            body = line.rstrip("\r\n")
            if '"' not in body:
                if body:
                    yield Record(number, body.split(delimiter), True)
                continue
            start, fields = number, []
        quoted = _split(line, delimiter, fields, quoted)
        if not quoted:
            yield Record(start, ["".join(parts) for parts in fields], True)
    if quoted:
        yield Record(start, ["".join(parts) for parts in fields], False)


def resumed(start: Callable[[int], Iterator[pa.RecordBatch]], blocks: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of ``start(block size)``; where a row is longer than a block, go on with larger blocks."""
    done = 0
    for block in blocks:
        seen = 0
        try:
            for batch in start(block):
                fresh = batch.slice(min(done - seen, batch.num_rows))
                seen, done = seen + batch.num_rows, done + fresh.num_rows
                yield fresh
            return
        except pa.ArrowInvalid as error:
            if not _row_too_long(error) or block == blocks[-1]:
                raise


def read_in_blocks(n_bytes: int, read: Callable[[int], pa.Table], *, wide: bool = False) -> pa.Table:
    """Return ``read(block size)``; where a row is longer than a block, try larger blocks: at once, if it is wide."""
    *smaller, largest = _block_sizes(n_bytes)
    smaller = smaller[1:] if wide else smaller  # each block costs something for each column
    for block in smaller:
        try:
            return read(block)
        except pa.ArrowInvalid as error:
            if not _row_too_long(error):
                raise
    return read(largest)


def _row_too_long(error: pa.ArrowInvalid) -> bool:
    """Return whether Arrow complains that a row is longer than its block of bytes."""
    return "straddl" in str(error) or "cannot infer number of columns" in str(error)


def _block_sizes(n_bytes: int) -> list[int]:
    """Return the sizes of blocks, in bytes, to try in order; the last holds the longest row that can be read."""
    first = 1 << 20 if n_bytes < _LARGE else 1 << 22
    # Text in another encoding may grow to twice its size on the way to UTF-8.
    return [first] + [min(size, 2 * n_bytes + 2) for size in (1 << 25, 1 << 30) if 2 * n_bytes > first]


def _conversion(missing: Sequence[str]) -> dict[str, Any]:
    return {"null_values": list(missing), "true_values": [], "false_values": []}


def _settings(source: Source, layout: Layout, block: int) -> dict[str, Any]:
    # Line ends within quotes cost a slower search for the places where a file can be cut into blocks.
    across = layout.scan.quoted_rows or source.encoding != "utf-8"
    return {
        "read_options": csv.ReadOptions(
            block_size=block,
            encoding=source.encoding.replace("utf-8", "utf8"),
            use_threads=len(layout.names) <= _WIDE,  # to hand out short columns takes longer than to read them
        ),
        "parse_options": csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=across),
    }


def _read(source: Source, layout: Layout, *tried: csv.ConvertOptions) -> pa.Table:
    """Return the table, read with the first options that it fits."""

    def read(block: int) -> pa.Table:
        with source.open() as stream:
            return csv.read_csv(stream, convert_options=tried[0], **_settings(source, layout, block))

    try:
        return read_in_blocks(layout.scan.n_bytes, read, wide=len(layout.names) > _WIDE)
    except pa.ArrowInvalid:
        if len(tried) > 1:
            return _read(source, layout, *tried[1:])
        _explain(source, layout)
        raise


def _likely_types(
    source: Source, layout: Layout, columns: Collection[str], missing: Sequence[str]
) -> dict[str, pa.DataType | None]:
    """Return the types of columns that Arrow would find, as far as the first rows tell; None is text.

    To try all types takes Arrow a tenth of a millisecond a column, as long as many rows. A value with a letter in front
    makes a column text; an integer or a decimal fraction makes it one of numbers, if all its values are.
    """
    found: dict[str, pa.DataType | None] = {}
    wanted, markers = set(columns), set(missing)
    rest = [(at, name) for at, name in enumerate(layout.names) if name in wanted]
    with source.text() as lines:
        for record in islice(records(lines, layout.delimiter), 1, 1 + _FIRST_ROWS):
            if len(record.fields) != len(layout.names):
                return {}
            decided = {name: _DECISIVE.match(text) for at, name in rest if (text := record.fields[at]) not in markers}
            found |= {name: _TYPES[str(match.lastgroup)] for name, match in decided.items() if match}
            rest = [(at, name) for at, name in rest if name not in found]
    return found


def _open(source: Source, layout: Layout, options: csv.ConvertOptions, block: int) -> Iterator[pa.RecordBatch]:
    with source.open() as stream:
        yield from csv.open_csv(stream, convert_options=options, **_settings(source, layout, block))


def _number_types(
    source: Source, layout: Layout, numbers: Collection[str], missing: Sequence[str]
) -> dict[str, pa.DataType]:
    """Return the types of columns of numbers: dates and times where the file starts with them, else float64."""
    types = dict.fromkeys(numbers, pa.float64())
    options = csv.ConvertOptions(**_conversion(missing), include_columns=list(numbers))
    try:
        with source.open() as stream:
            block = max(1 << 20, 4 * sum(map(len, layout.names)) + 4 * len(layout.names))
            reader = csv.open_csv(stream, convert_options=options, **_settings(source, layout, block))
            found = {field.name: field.type for field in reader.schema}
    except pa.ArrowInvalid:
        return types  # reading the file raises the error
    return {name: found[name] if pa.types.is_temporal(found[name]) else types[name] for name in numbers}


def _header(source: Source, delimiter: str) -> Record:
    with reading(source), source.text() as lines:
        for record in records(lines, delimiter):
            return record
    raise FormatError(f"{source.named} must hold a table; it holds nothing but blank lines.")


def _split(line: str, delimiter: str, fields: list[list[str]], quoted: bool) -> bool:
    """Append the fields of a line, each as a list of parts; return whether the last one's quote is still open."""
    body, at = line.rstrip("\r\n"), 0
    if not quoted:
        fields.append([])
        quoted = body.startswith('"')
        at = int(quoted)
    while True:
        while quoted:
            close = line.find('"', at)
            if close < 0:
                fields[-1].append(line[at:])
                return True
            quoted = line.startswith('"', close + 1)  # doubled: one quote, and on within the field
            fields[-1].append(line[at : close + quoted])
            at = close + 1 + quoted
        stop = body.find(delimiter, at)
        if stop < 0:
            fields[-1].append(body[at:])
            return False
        fields[-1].append(body[at:stop])
        fields.append([])
        quoted = body.startswith('"', stop + 1)
        at = stop + 1 + quoted


def _explain(source: Source, layout: Layout, numbers: Collection[str] = (), missing: Sequence[str] = ()) -> None:
    """Raise an error that says where a file that Arrow refuses is wrong, if that can be found."""
    check_decodes(source)
    watched = [(layout.names.index(name), name) for name in numbers]
    row = 0
    with source.text() as lines:
        for row, record in enumerate(records(lines, layout.delimiter)):
            if not record.closed:
                raise _unclosed(source, record.line)
            if len(record.fields) != len(layout.names):
                raise _ragged(source, layout, record)
            for at, name in watched if row else ():
                _check_is_number(name, row, record.fields[at], missing)
    if row == 0:
        raise no_rows(source)


def _check_closed(source: Source, layout: Layout, last: pa.Table | pa.RecordBatch | None) -> None:
    """Raise when the file ends within quotes, which Arrow takes for a last field that holds all the rest."""
    if layout.scan.quotes == 0 or (layout.scan.quotes % 2 == 0 and not _ends_in_lines(last)):
        return
    with source.text() as lines:
        for record in records(lines, layout.delimiter):
            if not record.closed:
                raise _unclosed(source, record.line)


def _ends_in_lines(last: pa.Table | pa.RecordBatch | None) -> bool:
    """Return whether the last row holds a text of several lines."""
    if last is None or not last.num_rows:
        return False
    row = last.slice(last.num_rows - 1).to_pylist()[0]
    return any(isinstance(value, str) and ("\n" in value or "\r" in value) for value in row.values())


def _unclosed(source: Source, line: int) -> FormatError:
    return FormatError(
        f"{source.named} must close every quote; the row that starts here opens one, and the file ends in it.",
        line=line,
    )


def _ragged(source: Source, layout: Layout, record: Record) -> FormatError:
    expected, got = len(layout.names), len(record.fields)
    hint = (
        f"Put fields that hold the delimiter {layout.delimiter!r} in quotes."
        if got > expected
        else f"Add what is missing, or give another delimiter than {layout.delimiter!r}."
    )
    return FormatError(
        f"{source.named} must have as many fields in every row as in its header, {expected}; got {got}. {hint}",
        line=record.line,
    )


def _check_is_number(name: str, row: int, text: str, missing: Sequence[str]) -> None:
    try:
        if text in missing or ("_" not in text and float(text) is not None):
            return
    except ValueError:
        pass
    raise DataError(f"column {name!r} must hold numbers; row {row} holds {text!r}. Correct it or leave the cell empty.")


def _check_delimiter(delimiter: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise DataError(f"delimiter must be one ASCII character such as ',' or ';'; got {delimiter!r}.")


def _delimited_column(name: str, values: pa.ChunkedArray, kind: Kind | None, missing: tuple[str, ...]) -> Column:
    """Return a column as Arrow has read it; among the states of text the missing markers still are."""
    if not holds_text(values.type):
        return infer_column(name, values, kind)
    if kind == "continuous":
        return infer_column(name, to_floats(name, nulled(values, missing)))
    return text_column(name, values)


def _long_numbers(
    source: Source, layout: Layout, raw: pa.Table, kinds: Mapping[str, Kind], missing: tuple[str, ...]
) -> dict[str, pa.ChunkedArray]:
    """Return as text the columns of integers too long for Arrow, which has read and rounded them as floats."""
    free = [f.name for f in raw.schema if pa.types.is_floating(f.type) and f.name not in kinds]
    huge = [name for name in free if (np.abs(raw[name].to_numpy()) >= 2.0**63).any()]
    if not huge:
        return {}
    texts = read_delimited(source, layout, columns=huge, text=huge, missing=missing)
    digits = {name: pc.match_substring_regex(nulled(texts[name], missing), r"^\s*[+-]?[0-9]+\s*$") for name in huge}
    return {name: texts[name] for name in huge if pc.all(digits[name]).as_py()}


def _second_look(
    source: Source, layout: Layout, table: Table, found: Mapping[str, Any], missing: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    """Return what was read as missing in columns of numbers, which hold no texts to count."""
    unknown = [c.variable.name for c in table if c.variable.name not in found and holes_of(c).any()]
    if not unknown or layout.scan.n_bytes > _SECOND_LOOK:
        return {}
    raw = read_delimited(source, layout, columns=unknown, text=unknown, missing=missing)
    texts = [text_column(name, raw[name]) for name in unknown]
    return {c.variable.name: marker_counts(c, [*missing, *texts_of_nan(c)]) for c in texts}


def _warn_of_blanks(table: Table, missing: tuple[str, ...]) -> None:
    """Warn of states that would be missing markers without the blanks around them."""
    for variable in table.variables:
        if variable.n_states > _SEARCHED_STATES:
            continue
        texts = [state for state in variable.states or () if isinstance(state, str)]
        padded = [state for state in texts if state not in missing and state.strip() in missing]
        if padded:
            warnings.warn(
                f"column {variable.name!r} holds {listed(padded)}: missing markers with blanks around them, read as "
                "states. Add them to missing to count them as missing values.",
                DataWarning,
                stacklevel=5,
            )
