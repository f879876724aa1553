"""Tables as delimited text: CSV and TSV.

Arrow reads the rows, with several threads; text columns arrive as dictionaries, so that each distinct text is looked at
once, however many rows hold it. What Arrow does not tell is found elsewhere: delimiter and header from the first lines
(:mod:`~tunbridge.data.formats.layout`), numbers and dates that are written in other ways from the distinct texts of
the columns that Arrow leaves as text (:mod:`~tunbridge.data.formats.spelling`), and, when a file is broken, on which
line and how.

The rules of the text:

- The first line that is not blank is the header, unless the layout says otherwise. Blank lines are left out everywhere.
- A ``.csv`` file whose delimiter is not given is read with that one of comma, semicolon, tab and vertical bar which
  cuts its header into the most fields; where several cut the header, with one that cuts the rows as well.
- A field in double quotes may hold delimiters, line ends and doubled quotes. Quotes make no other difference: ``"NA"``
  is as missing as ``NA``, and ``"7"`` as much a number as ``7``.
- Blanks around a text belong to it: ``" NA"`` is a state, with a warning. Blanks around numbers do not matter.
- Text stays as it is written: ``True``, ``yes`` and ``None`` are states, and so are codes with leading zeros.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from tunbridge._core.check import counted, listed
from tunbridge._core.registry import table_format
from tunbridge._core.threads import map_threads
from tunbridge.data.columns import Column, Kind, infer_column, to_floats
from tunbridge.data.formats.layout import Layout, Record, find_layout, unclosed
from tunbridge.data.formats.request import (
    Request,
    holds_text,
    marker_counts,
    misspelled,
    nulled,
    respelled,
    text_column,
    texts_of_nan,
    without_markers,
)
from tunbridge.data.formats.source import Source, check_decodes, check_size, has_leading_zero, no_rows, reading, scan
from tunbridge.data.formats.spelling import (
    POINTS_IN_DOUBT,
    Habits,
    Spelling,
    date_words,
    day_first,
    known_spellings,
    parsed,
    spelling_of,
)
from tunbridge.data.reading import NumberForm, Reading, is_odd
from tunbridge.data.table import Table
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError, DataWarning, FormatError

_FLOAT64 = pa.float64()
_TEXT = pa.dictionary(pa.int32(), pa.string())
_LARGE = 32 * 2**20
_FEW_BELOW, _LOOKED_AT = 3, 64
_WIDE, _FIRST_ROWS = 1000, 8  # columns for which it pays to look at the first rows before
_COLUMN_BYTES = 4000.0  # what Arrow and a table keep of a column, however short
_DECISIVE = re.compile(
    r"(?P<integer>-?[0-9]{1,18}\Z)|(?P<fraction>-?[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?\Z)|(?P<text>[A-HJ-MO-Za-hj-mo-z])"
)  # I and N begin numbers too, «inf» and «nan»
_ISO_DATE = re.compile(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TYPES = {"integer": pa.int64(), "fraction": pa.float64(), "text": None}
_SECOND_LOOK = 64 * 2**20
_SEARCHED_STATES = 100_000


@table_format("csv", rank=1, suffixes=(".csv",), text=True, delimited=True)
class CSV:
    """Text with a header and delimited fields: comma, semicolon, tab or vertical bar."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        source, layout = laid_out(source, request)
        columns = request.choose(layout.names)
        kinds = request.kinds_of(columns)
        as_text = request.as_text(columns) | _text_first(layout, request)
        raw = read_delimited(source, layout, columns=columns, text=as_text & {*columns}, missing=request.missing)
        if raw.num_rows == 0:
            raise no_rows(source)
        values = dict(zip(columns, raw.columns, strict=True))
        values |= _long_numbers(source, layout, values, kinds, request.missing)
        values |= _late_codes(source, layout, raw, request)
        whole = map_threads(lambda name: _delimited_column(name, values[name], kinds.get(name)), columns)
        parts = [without_markers(column, request.missing) for column in whole]
        found = {column.variable.name: counts for column, counts in parts if counts}
        spelled = _Spelled.of([column for column, _ in parts], values, source, layout, request)
        table = Table.of_valid(spelled.columns)
        _warn_of_blanks(table, request.missing)
        found = found | _second_look(source, layout, table, found, request.missing)
        for name, counts in spelled.markers.items():
            found[name] = {**found.get(name, {}), **counts}
        dropped = _useless(table, layout, request)
        kept = table.drop(n for n in dropped if n in table.positions) if dropped else table
        record = _record(kept, source, layout, request, spelled, dropped)
        return Table.of(kept, read_as_missing=found, reading=record)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file."""
        source, layout = laid_out(source, request)
        numbers = [name for name in layout.names if name in request.numbers]
        spellings = _batch_spellings(source, layout, numbers, request)
        floats = [name for name in numbers if name not in spellings]
        gone = {} if request.reading is None else _known_useless(layout, request.reading)
        kept = [n for n in layout.names if n not in gone]
        done = 0
        padded = _known_integers(layout, request)
        for batch in iter_delimited(source, layout, numbers=floats, missing=request.missing):
            converted = _respelled(batch, spellings, done) if spellings else batch
            converted = _without_zeros(converted, padded) if padded else converted
            yield converted if len(kept) == len(layout.names) else converted.select(kept)
            done += batch.num_rows


@table_format("tsv", rank=2, suffixes=(".tsv", ".tab"), text=True, delimited=True)
class TSV(CSV):
    """Text with a header and fields delimited by tabs."""


def laid_out(source: Source, request: Request) -> tuple[Source, Layout]:
    """Return the layout of a file, and the file with its encoding."""
    found = scan(source)
    if found.encoding != source.encoding:
        source = replace(source, encoding=found.encoding)
    delimiter = request.delimiter or source.delimiter
    layout = find_layout(source, found, delimiter, header=request.header, known=request.reading)
    if source.notes:
        layout = replace(layout, notes=(*source.notes, *layout.notes))
    if source.detects and not source.encoding.startswith("utf-8"):
        layout = replace(layout, notes=(f"Encoding: {source.encoding}, because the file is not UTF-8", *layout.notes))
    return source, layout


def dialect(source: Source, request: Request) -> tuple[str, str]:
    """Return the delimiter of a file, and the decimal mark that its first rows or another file show."""
    layout = laid_out(source, request)[1]
    known = request.reading
    mark = known.decimal if known is not None and known.delimiter == layout.delimiter else None
    if request.decimal or mark:
        return layout.delimiter, str(request.decimal or mark)
    return layout.delimiter, "," if layout.delimiter != "," and layout.columns_where(_have_decimal_commas) else "."


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
        batch = None
        try:
            for batch in resumed(
                lambda block: _open(source, layout, options, block), _block_sizes(layout.scan.n_bytes)
            ):
                yield batch
        except pa.ArrowInvalid:
            _explain(source, layout, numbers, missing)
            raise
        _check_closed(source, layout, batch)


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
    own = {} if layout.skipped is None else {"skip_rows": layout.skipped, "column_names": list(layout.names)}
    return {
        "read_options": csv.ReadOptions(
            block_size=block,
            encoding=source.encoding.replace("utf-8", "utf8"),
            use_threads=len(layout.names) <= _WIDE,  # to hand out short columns takes longer than to read them
            **own,
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
    for record in islice(layout.body(source), _FIRST_ROWS):
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


def _explain(source: Source, layout: Layout, numbers: Collection[str] = (), missing: Sequence[str] = ()) -> None:
    """Raise an error that says where a file that Arrow refuses is wrong, if that can be found."""
    check_decodes(source)
    watched = [(layout.names.index(name), name) for name in numbers]
    dates = {*layout.columns_where(lambda values: any(map(_ISO_DATE.match, values)))}
    row = 0
    for row, record in enumerate(layout.body(source), start=1):
        if not record.closed:
            raise unclosed(source, record.line)
        if len(record.fields) != len(layout.names):
            raise _ragged(source, layout, record)
        for at, name in watched:
            if record.fields[at] not in missing:
                _check_value(name, row, record.fields[at], is_date=name in dates)
    if row == 0:
        raise no_rows(source)


def _check_closed(source: Source, layout: Layout, last: pa.Table | pa.RecordBatch | None) -> None:
    """Raise when the file ends within quotes, which Arrow takes for a last field that holds all the rest."""
    if layout.scan.quotes == 0 or (layout.scan.quotes % 2 == 0 and not _ends_in_lines(last)):
        return
    for record in layout.body(source):
        if not record.closed:
            raise unclosed(source, record.line)


def _ends_in_lines(last: pa.Table | pa.RecordBatch | None) -> bool:
    """Return whether the last row holds a text of several lines."""
    if last is None or not last.num_rows:
        return False
    row = last.slice(last.num_rows - 1).to_pylist()[0]
    return any(isinstance(value, str) and ("\n" in value or "\r" in value) for value in row.values())


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


def _check_value(name: str, row: int, text: str, *, is_date: bool) -> None:
    """Raise unless a text is a number or, in a column of dates, a date in ISO form."""
    with suppress(ValueError):
        if ("_" not in text and float(text) is not None) if not is_date else datetime.fromisoformat(text.strip()):
            return
    what = "dates as year-month-day" if is_date else "numbers"
    raise DataError(f"column {name!r} must hold {what}; row {row} holds {text!r}. Correct it or leave the cell empty.")


def _delimited_column(name: str, values: pa.ChunkedArray, kind: Kind | None) -> Column:
    """Return a column as Arrow has read it; among the states of text the missing markers still are."""
    return text_column(name, values) if holds_text(values.type) else infer_column(name, values, kind)


def _long_numbers(
    source: Source,
    layout: Layout,
    values: Mapping[str, pa.ChunkedArray],
    kinds: Mapping[str, Kind],
    missing: tuple[str, ...],
) -> dict[str, pa.ChunkedArray]:
    """Return as text the columns of integers too long for Arrow, which has read and rounded them as floats."""
    free = {name: v.to_numpy() for name, v in values.items() if v.type == _FLOAT64 and name not in kinds}
    with np.errstate(over="ignore"):  # a sum of squares takes one look at the values; it is NaN if one of them is
        some = [name for name, floats in free.items() if not np.dot(floats, floats) < 2.0**126]
    huge = [name for name in some if (np.abs(free[name]) >= 2.0**63).any()]
    if not huge:
        return {}
    texts = read_delimited(source, layout, columns=huge, text=huge, missing=missing)
    digits = {name: pc.match_substring_regex(nulled(texts[name], missing), r"^\s*[+-]?[0-9]+\s*$") for name in huge}
    return {name: texts[name] for name in huge if pc.all(digits[name]).as_py()}


def _second_look(
    source: Source, layout: Layout, table: Table, found: Mapping[str, Any], missing: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    """Return what was read as missing in columns of numbers, which hold no texts to count."""
    unknown = [c.variable.name for c in table if c.variable.name not in found and _has_holes(c)]
    if not unknown or layout.scan.n_bytes > _SECOND_LOOK:
        return {}
    raw = read_delimited(source, layout, columns=unknown, text=unknown, missing=missing)
    texts = [text_column(name, raw[name]) for name in unknown]
    return {c.variable.name: marker_counts(c, [*missing, *texts_of_nan(c)]) for c in texts}


def _has_holes(column: Column) -> bool:
    """Return whether a value is missing: the least one is NaN, or below zero."""
    low = column.values.min()
    return bool(np.isnan(low) if column.variable.is_continuous else low < 0)


def _warn_of_blanks(table: Table, missing: tuple[str, ...]) -> None:
    """Warn of states that would be missing markers without the blanks around them."""
    for variable in table.variables:
        if variable.is_continuous or variable.n_states > _SEARCHED_STATES:
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


# Numbers and dates that are written in other ways

_DIGIT, _DIGITS = re.compile("[0-9]"), re.compile("[0-9]+")
_TELEPHONE = re.compile(r"\+[0-9]{7,}")
_GROUPS = re.compile(r"[-+]?(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]{1,3})")
_SURE_COMMA = re.compile(r"[-+]?[0-9.]*[0-9],(?:[0-9]{1,2}|[0-9]{4,})")
_COMMAS, _GROUPED = Spelling(NumberForm(","), None, ()), Spelling(NumberForm(",", "."), None, ())
_GUESSED = Spelling(NumberForm(), None, (), POINTS_IN_DOUBT)


@dataclass(frozen=True)
class _Spelled:
    """The columns of a table, those of text converted that hold numbers or dates.

    ``spellings`` says how the converted ones are written, ``markers`` counts their further missing markers, ``habits``
    says what all of them tell.
    """

    columns: list[Column]
    spellings: dict[str, Spelling]
    markers: dict[str, dict[str, int]]
    habits: Habits

    @classmethod
    def of(
        cls, columns: list[Column], raw: Mapping[str, pa.ChunkedArray], source: Source, layout: Layout, request: Request
    ) -> _Spelled:
        """Convert the columns of text that hold numbers or dates, and those of numbers that Arrow has misread."""
        words = {c.variable.name: c.variable.states or () for c in columns if _is_of_text(c.variable)}
        known = () if request.reading is None else request.reading.text
        as_text, kinds = request.as_text(list(raw)) | {*known}, request.kinds_of(list(raw))
        found, habits = _spellings({n: states for n, states in words.items() if n not in as_text}, layout, request)
        grouped, habits = _in_groups(source, layout, raw, habits, request.missing)
        found |= dict.fromkeys(grouped, _GROUPED if habits.decimal == "," else _GUESSED)
        done, markers = list(columns), dict[str, dict[str, int]]()
        for at, column in enumerate(columns):
            name, spelling = column.variable.name, found.get(column.variable.name)
            column = grouped.get(name, column)
            if spelling is not None and (each := _converted(column, spelling, kinds.get(name))) is not None:
                done[at], markers[name] = each
            elif name in words and kinds.get(name) == "continuous":
                values = nulled(raw[name], request.missing)
                if spelling is not None:
                    raise misspelled(name, nulled(values, spelling.markers), spelling, 0)
                done[at] = infer_column(name, to_floats(name, values))  # which names the value that is no number
        used = {name: found[name] for name in markers}
        return cls(done, used, {name: counts for name, counts in markers.items() if counts}, habits)


def _text_first(layout: Layout, request: Request) -> set[str]:
    """Return the columns that Arrow must read as text: what it takes for plain numbers may be something else."""
    known = request.reading or Reading()
    first = {*known.text}
    if layout.delimiter == known.delimiter:
        first |= {*known.numbers, *known.dates, *known.markers}
    if layout.led:
        first |= {*layout.columns_where(_are_codes)} - known.kinds.keys()
    return first


def _late_codes(source: Source, layout: Layout, raw: pa.Table, request: Request) -> dict[str, pa.ChunkedArray]:
    """Return as text the columns of integers in which some have leading zeros, which Arrow has left out."""
    known = request.kinds_of(layout.names)
    names = [f.name for f in raw.schema if pa.types.is_integer(f.type) and f.name not in known]
    sizes = _padded_sizes(layout, raw, names)
    places = {name: layout.names.index(name) for name in sizes}
    is_large = layout.scan.n_bytes > _LARGE // 32  # to pass over a small file costs less
    for record in islice(layout.body(source), _LOOKED_AT) if sizes and is_large else ():
        if not sizes:
            break
        sizes = {name: n for name, n in sizes.items() if not 0 < len(record.fields[places[name]].strip()) < n}
    if not sizes or not has_leading_zero(source):
        return {}
    found = read_delimited(source, layout, columns=[*sizes], text=[*sizes], missing=request.missing)
    return {name: found[name] for name in sizes if _any_match(found[name], r"^\s*0[0-9]")}


def _padded_sizes(layout: Layout, raw: pa.Table, names: Sequence[str]) -> dict[str, int]:
    """Return the columns of integers that may be codes of one length, with leading zeros where they are smaller."""
    first, found = dict(zip(layout.names, zip(*layout.rows, strict=False), strict=False)), {}
    for name in names:
        lengths = {len(text) for text in first.get(name, ()) if text.isdigit()}
        if len(lengths) > 1 or lengths == {1}:
            continue
        low, high = pc.min_max(raw[name]).as_py().values()
        size = max(lengths, default=len(str(high)))
        if low is not None and 0 <= low < 10 ** (size - 1) and high < 10**size:
            found[name] = size
    return found


def _any_match(texts: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts.cast(pa.string()), pattern)).as_py())


def _in_groups(
    source: Source, layout: Layout, raw: Mapping[str, pa.ChunkedArray], habits: Habits, missing: tuple[str, ...]
) -> tuple[dict[str, Column], Habits]:
    """Return as text the columns of floats to Arrow whose points may be between thousands; and the habits.

    Only files that have decimal commas, or semicolons, are looked at again, and only columns in which no value has more
    than three decimals or is above 1000.
    """
    if habits.decimal == "." or (not habits.decimal and layout.delimiter != ";"):
        return {}, habits
    pointed = {*layout.columns_where(lambda values: any("." in v and not _GROUPS.fullmatch(v) for v in values))}
    names = [n for n, v in raw.items() if n not in pointed and pa.types.is_floating(v.type) and _may_be_grouped(v)]
    if not names:
        return {}, habits
    texts = read_delimited(source, layout, columns=names, text=names, missing=missing)
    columns = {name: without_markers(text_column(name, texts[name]), missing)[0] for name in names}
    states = {n: [str(s).strip() for s in c.variable.states or () if not is_odd(str(s))] for n, c in columns.items()}
    fitting = {n for n, s in states.items() if "." in "".join(s) and all(map(_GROUPS.fullmatch, s))}
    if any("." in text for name, texts in states.items() if name not in fitting for text in texts):
        habits = habits._replace(decimal="", german=False)
    elif habits.german and fitting:
        habits = habits._replace(decimal=",")
    return {name: columns[name] for name in fitting}, habits


def _may_be_grouped(values: pa.ChunkedArray) -> bool:
    """Return whether floats may have been groups of three digits with points between them."""
    found = values.to_numpy()
    found = found[~np.isnan(found)]
    return bool(
        np.all(np.abs(found) < 1000.0) and np.allclose(found * 1000.0, np.rint(found * 1000.0), rtol=0, atol=1e-6)
    )


def _are_codes(values: Sequence[Any]) -> bool:
    """Return whether numbers may be codes: some of them with a leading zero, or all telephone numbers with a plus."""
    if all(map(_DIGITS.fullmatch, values)):
        return any(len(text) > 1 and text[0] == "0" for text in values)
    return all(map(_TELEPHONE.fullmatch, values))


def _spellings(
    texts: Mapping[str, Sequence[Any]], layout: Layout, request: Request
) -> tuple[dict[str, Spelling], Habits]:
    """Return how columns of text are written that hold numbers or dates, as before or as they look; and the habits."""
    known = _known_spellings(request.reading, layout)
    habits = _known_habits(layout, request)
    guess = request.guesses_markers
    free = {name: states for name, states in texts.items() if name not in known}
    found = {name: s for name, states in free.items() if (s := spelling_of(states, habits, guess_markers=guess))}
    if layout.delimiter != "," or found or any("," in "".join(states[:1]) for states in free.values()):
        more = _habits([*found.values(), *known.values()], [texts[n] for n in found if found[n].date], layout, habits)
        if more != habits:
            habits = more
            found = {n: s for n, states in free.items() if (s := spelling_of(states, more, guess_markers=guess))}
    kinds = request.kinds_of(layout.names)
    odd_ones = {n for n in free if n not in found and kinds.get(n) == "continuous" and any(map(is_odd, free[n]))}
    known |= dict.fromkeys(odd_ones, _PLAIN)
    for name in known.keys() & texts.keys():
        odd = [text for text in texts[name] if guess and is_odd(text)]
        found[name] = known[name]._replace(markers=tuple(dict.fromkeys([*known[name].markers, *odd])))
    return found, habits


def _known_habits(layout: Layout, request: Request) -> Habits:
    """Return what is given, and what another file has told, about how numbers and dates are written."""
    known = request.reading or Reading()
    first = known.day_first if request.day_first is None else request.day_first
    if request.decimal is not None or known.delimiter != layout.delimiter:
        return Habits(request.decimal, first, layout.delimiter)
    marks = {form.decimal for form in known.numbers.values()}  # in models of earlier versions the only record
    own = ("," if marks == {","} else None) if known.decimal is None else known.decimal
    return Habits(own, first, layout.delimiter)


def _habits(found: Sequence[Spelling], dates: Sequence[Sequence[str]], layout: Layout, before: Habits) -> Habits:
    """Return what the columns of a file that can be read in one way only say about the others."""
    sure = [s.numbers for s in found if s.numbers and not s.doubt]
    decimals = {n.decimal for n in sure if n.decimal == "," or n.thousands == ","}
    if layout.delimiter != "," and layout.columns_where(_have_decimal_commas):
        decimals.add(",")
    if layout.columns_where(
        lambda values: any("." in v and not _GROUPS.fullmatch(v) for v in values) and _all_float(values)
    ):
        decimals.add(".")
    mark = decimals.pop() if len(decimals) == 1 else "" if decimals else None
    firsts = {first for states in dates if (first := day_first(states)) is not None}
    return before._replace(
        decimal=mark if before.decimal is None else before.decimal,
        german=mark is None and before.delimiter == ";" and any((s.date or "").startswith("%d.%m") for s in found),
        day_first=firsts.pop() if before.day_first is None and len(firsts) == 1 else before.day_first,
    )


def _have_decimal_commas(values: list[str]) -> bool:
    return any(map(_SURE_COMMA.fullmatch, values)) and all(any(map(str.isdigit, text)) for text in values)


def _all_float(values: list[str]) -> bool:
    return all(_FLOAT.fullmatch(text) for text in values)


_PLAIN = Spelling(NumberForm(), None, ())
_FLOAT = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")


def _known_spellings(known: Reading | None, layout: Layout) -> dict[str, Spelling]:
    """Return how the columns of a file that was read before are written, if this one is of the same layout."""
    return known_spellings(known) if known is not None and known.delimiter == layout.delimiter else {}


def _converted(column: Column, spelling: Spelling, kind: Kind | None) -> tuple[Column, dict[str, int]] | None:
    """Return a column of text as numbers or dates, and its missing markers; None if a text is neither."""
    slim, counts = without_markers(column, spelling.markers)
    name, states = slim.variable.name, slim.variable.states or ()
    values = parsed(pa.array(states, pa.string()), spelling)
    if holds_text(values.type):
        return None
    codes = pa.array(slim.values, mask=slim.values < 0)
    return infer_column(name, pa.chunked_array([values.take(codes)]), kind), counts


def _batch_spellings(source: Source, layout: Layout, numbers: Sequence[str], request: Request) -> dict[str, Spelling]:
    """Return how columns of numbers and dates are written that Arrow cannot read as such; by the first rows.

    Beside decimal commas a point is between thousands, as in a whole table.
    """
    columns = dict(zip(layout.names, zip(*layout.rows, strict=False), strict=False)) if layout.rows else {}
    texts = {n: sorted({v for v in columns.get(n, ()) if v not in request.missing}) for n in numbers}
    found, habits = _spellings(texts, layout, request)
    known = () if request.reading is None else request.reading.dates
    special = {name: s for name, s in found.items() if name in known or not _is_plain(s, texts[name])}
    if habits.decimal != "," and not habits.german:
        return special
    types = _number_types(source, layout, [n for n in numbers if n not in special], request.missing)
    return {name: _COMMAS for name, kind in types.items() if pa.types.is_floating(kind)} | special


def _is_plain(spelling: Spelling, texts: list[str]) -> bool:
    """Return whether Arrow reads texts by itself."""
    is_iso = spelling.date is not None and spelling.date.startswith("%Y-%m-%d")
    if spelling.markers or not (is_iso or spelling.numbers == NumberForm()):
        return False
    return is_iso or all(map(_FLOAT.fullmatch, texts))


def _respelled(batch: pa.RecordBatch, spellings: Mapping[str, Spelling], done: int) -> pa.RecordBatch:
    """Return a batch with these columns of text as numbers or dates."""
    names = batch.schema.names
    columns = [
        respelled(name, values, spellings[name], done) if name in spellings else values
        for name, values in zip(names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _known_integers(layout: Layout, request: Request) -> set[str]:
    """Return the columns that are wanted as text and whose categories are integers, by the record of another file."""
    known = request.reading or Reading()
    others = {*known.text, *known.dates, *request.numbers}
    return {name for name in layout.names if known.kinds.get(name) == "categorical" and name not in others}


def _without_zeros(batch: pa.RecordBatch, names: Collection[str]) -> pa.RecordBatch:
    """Return a batch in which these columns of text have integers without leading zeros, as a whole table has them."""
    columns = [
        pc.replace_substring_regex(values, r"^([-+]?)0+([0-9]+)$", r"\1\2") if name in names else values
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


# The record of how a file was read


def _record(
    table: Table, source: Source, layout: Layout, request: Request, spelled: _Spelled, dropped: Mapping[str, str]
) -> Reading:
    """Return the record of how a table was read."""
    forms = {name: spelling for name, spelling in spelled.spellings.items() if name not in dropped}
    return Reading(
        encoding=source.encoding,
        delimiter=layout.delimiter,
        header=layout.header,
        names=layout.names,
        missing=request.missing,
        markers={name: s.markers for name, s in forms.items() if s.markers},
        numbers={name: s.numbers for name, s in forms.items() if s.numbers and s.numbers != NumberForm()},
        dates={name: s.date for name, s in forms.items() if s.date},
        text=tuple(v.name for v in table.variables if _is_of_text(v)),
        kinds={v.name: "categorical" if v.is_categorical else "continuous" for v in table.variables},
        dropped=tuple(dropped),
        decimal=spelled.habits.decimal,
        day_first=spelled.habits.day_first,
        notes=tuple(_notes(table, layout, spelled, dropped)),
    )


def _is_of_text(variable: Variable) -> bool:
    return bool(variable.states) and isinstance(variable.states[0], str)  # type: ignore[index]


def _useless(table: Table, layout: Layout, request: Request) -> dict[str, str]:
    """Return the columns without a name that hold nothing or number the rows, and which of the two; or those known."""
    if request.reading is not None:
        return _known_useless(layout, request.reading)
    if not layout.unnamed or isinstance(request.columns, Sequence):
        return {}
    unnamed = [name for name in layout.unnamed if name in table.positions]
    found = {name: "no values" for name in unnamed if table.missing.get(name) == table.n_rows}
    if unnamed and unnamed[0] == layout.names[0] and _numbers_rows(table.column(unnamed[0])):
        found[unnamed[0]] = "the numbers of the rows"
    return found if len(found) < table.n_columns else {}


def _known_useless(layout: Layout, known: Reading) -> dict[str, str]:
    """Return the columns that are left out as in another file, and those without a name that it did not have."""
    new = [name for name in layout.unnamed if name not in known.names]
    return dict.fromkeys([*known.dropped, *new], "was left out before")


def _numbers_rows(column: Column) -> bool:
    """Return whether a column holds 0, 1, 2, … or 1, 2, 3, …"""
    if not pa.types.is_integer(column.type):
        return False
    states = np.array(column.variable.states or (), np.float64)
    values = states[column.values] if column.variable.is_categorical else column.values
    return bool(np.array_equal(values, np.arange(len(values)) + values[0])) and values[0] in (0, 1)


def _notes(table: Table, layout: Layout, spelled: _Spelled, dropped: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of the report."""
    for note in layout.notes:
        if not any(note.endswith(f"read as {name!r}") for name in dropped):
            yield note
    for name, what in dropped.items():
        if name in layout.names:
            yield f"Column {layout.names.index(name) + 1} has no name and {what}: left out"
    forms: dict[tuple[NumberForm, str], list[str]] = {}
    for name, spelling in spelled.spellings.items():
        if spelling.numbers and (spelling.numbers != NumberForm() or spelling.doubt):
            forms.setdefault((spelling.numbers, spelling.doubt), []).append(name)
    for (form, doubt), names in forms.items():
        yield f"Numbers in {listed(names, most=4)}: {form}{f' ({doubt})' if doubt else ''}"
    for name, counts in spelled.markers.items():
        marks = ", ".join(f"{mark!r} ({counted(n, 'row')})" for mark, n in counts.items())
        kind = "dates" if spelled.spellings[name].date else "numbers"
        yield f"Missing in {name!r}: {marks}, because all other values are {kind}"
    for name, spelling in spelled.spellings.items():
        if spelling.date:
            yield f"Dates in {name!r}: {date_words(spelling.date)}{f' ({spelling.doubt})' if spelling.doubt else ''}"
    zoned = [c.variable.name for c in table if pa.types.is_timestamp(c.type) and c.type.tz]
    if zoned:
        yield f"Times in {listed(zoned, most=4)}: with time zones, and read as UTC, as are their parts"
    yield from _other_rows(table, layout)
    codes = [v.name for v in table.variables if _is_of_text(v) and _are_codes(v.states or ())]
    if codes:
        yield f"Text in {listed(codes, most=4)}: codes with leading zeros, or telephone numbers"


_TOTALS = frozenset({
    "sum", "sums", "total", "totals", "grand total", "summe", "gesamt", "gesamtsumme", "insgesamt", "somme", "totale",
    "suma",
})  # fmt: skip


def _other_rows(table: Table, layout: Layout) -> Iterator[str]:
    """Yield remarks on rows that are no observations: a second line of names, or units, and a line of totals."""
    first_rows = dict(zip(layout.names, zip(*layout.rows, strict=False), strict=False))
    found: dict[int, list[str]] = {}
    for variable, codes, _ in table:
        if not _is_of_text(variable):
            continue
        states: Sequence[Any] = variable.states or ()
        if n := _n_above_numbers(first_rows.get(variable.name, ()), states):
            found.setdefault(n, []).append(variable.name)
        last = states[codes[-1]] if codes[-1] >= 0 else ""
        if last.strip(" :").lower() in _TOTALS and np.count_nonzero(codes == codes[-1]) == 1 and table.n_rows > 2:
            yield f"Last row: {last!r} in {variable.name!r}; if it is a total, delete the row"
    for n, names in found.items():
        where = "First row" if n == 1 else f"First {n} rows"
        yield f"{where}: text above numbers in {listed(names, most=4)}; if these are names or units, delete them"


def _n_above_numbers(first: Sequence[str], states: Sequence[str]) -> int:
    """Return how many values, one or two, stand above the numbers, or dates, that all others of a column are."""
    if len(first) <= _FEW_BELOW or not _DIGIT.search(first[-1]):
        return 0
    if is_odd(first[0]) or spelling_of(first[:1], Habits()) is not None:
        return 0
    for n in (1, 2):
        if len(first) - n >= _FEW_BELOW and spelling_of(first[n:], Habits()) is not None:
            return n if spelling_of([s for s in states if s not in first[:n]], Habits()) is not None else 0
    return 0
