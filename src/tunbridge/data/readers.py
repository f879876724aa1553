"""Table files: CSV, TSV, Parquet, Arrow and Feather, ARFF, JSON lines, each also gzipped.

:func:`read_table` reads a whole file into a :class:`Table`; :func:`iter_batches` passes a file of any size through a
fixed amount of memory, for prediction. Both know the same formats and the same missing markers.

The kinds of columns follow the rules of :mod:`tunbridge.data.columns`. The types in a delimited file are first found by
Arrow: a column in which every cell that is not missing is an integer, a number, a date or a time has that type,
and any other column is text, exactly as written.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import as_list, check_choice, check_number, listed
from tunbridge._core.registry import entry
from tunbridge.data.columns import Kind, column_to_arrow, distinct_values, to_floats
from tunbridge.data.dates import MONTHS, date_columns, date_parts, with_date_parts
from tunbridge.data.formats.delimited import dialect
from tunbridge.data.formats.places import check_same_columns, several
from tunbridge.data.formats.request import (
    DEFAULT_MISSING,
    Request,
    TableFormat,
    holds_text,
    nulled,
    respelled,
    unmarked,
)
from tunbridge.data.formats.source import Source, find_source, marked, no_rows
from tunbridge.data.formats.spelling import Spelling, known_spellings
from tunbridge.data.frames import as_table, check_column_names
from tunbridge.data.reading import NumberForm, Reading
from tunbridge.data.remarks import merged_spellings, spellings
from tunbridge.data.table import Table
from tunbridge.errors import DataError


def read_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    kinds: Mapping[str, Kind] | Kind | None = None,
    missing: Sequence[str] | None = None,
    not_missing: Sequence[str] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    day_first: bool | None = None,
    decimal: str | None = None,
    dates: Literal["numbers", "parts"] | None = None,
    columns: Sequence[str] | Callable[[list[str]], Sequence[str]] | None = None,
    weights: str | ArrayLike | None = None,
    merge_categories: bool = False,
    reading: Reading | None = None,
) -> Table:
    r"""Return the table in a file.

    Parameters
    ----------
    path : str, path-like, or sequence of these
        The file. Whether it is gzipped is seen from its first bytes. A list, or a pattern such as ``"visits-*.csv"``,
        stands for several files with the same columns; ``"clinic.db::visits"`` for a table of a database (as does
        ``"sqlite:///clinic.db?table=visits"``), ``"clinic.xlsx::May"`` for a sheet, ``"-"`` for standard input.
    format : {"csv", "tsv", "parquet", "arrow", "arff", "jsonl", "json", "excel", "sqlite", "duckdb"}, optional
        Read the file as this, instead of what the end of its name says (before ``.gz``).
    kinds : mapping of str to {"categorical", "continuous"}, or one of the two for all columns
        Overrides the rules by which kinds are inferred. A column of a text file that is made categorical is read as
        text, so that ``007`` stays ``007``.
    missing : sequence of str, optional
        Further texts that stand for a missing value, besides the default ones: the empty text, ``?``, ``NA``, ``NaN``,
        ``null``. They are compared with the whole cell, blanks included. With an empty list no text is missing.
        Parquet, Arrow and JSON files have a null of their own, and ARFF has ``?``: the default markers are states
        there, and those that are given count in columns of text and, if they are
        numbers, in columns of numbers.
    not_missing : sequence of str, optional
        Default markers that are values here, such as ``NA`` for Namibia. Without it, texts such as ``-`` and ``n/a``
        are missing, too, in columns that hold nothing else but numbers or dates.
    encoding : str, optional
        The encoding of a text file. By default it is detected: UTF-8, UTF-16, or Windows-1252 (Western text). A byte
        order mark is left out.
    delimiter : str, optional
        The character between fields of a delimited file. By default a tab in ``.tsv``; in ``.csv`` whichever of comma,
        semicolon, tab and vertical bar cuts the header into the most fields, and the rows into as many.
    header : bool, optional
        Whether a delimited file has a header; by default it is detected. Without one the columns are ``x0``, ``x1``, …
    day_first : bool, optional
        Whether the day comes before the month in dates such as 03/04/2025; by default the column decides, then the
        other columns and the delimiter.
    decimal : {".", ","}, optional
        The decimal mark of numbers such as 25.000 and 1,234, which may be fractions or thousands; by default the other
        columns decide, then the delimiter, and the report names the columns in doubt.
    dates : {"numbers", "parts"}, optional
        Dates and times are numbers, in order. With ``"parts"`` year, month, weekday and hour are further columns
        (:func:`with_date_parts`). Default: ``"numbers"``, or what ``reading`` says.
    columns : sequence of str or callable, optional
        Read these columns only, in this order; a function is given the names of all columns and returns some of them.
    weights : str or array-like, optional
        The name of the column that holds row weights (it is taken out of the table), or the weights.
    merge_categories : bool
        Whether categories that differ in capitals or blanks only, such as ``yes`` and ``Yes``, are one: the most
        frequent of them. ``reading`` has what was merged, and merges the same.
    reading : Reading, optional
        Read the file as this one was read: ``table.reading`` of another table. Arguments that are given override it.

    Returns
    -------
    Table
        Its ``read_as_missing`` tells for each column which markers were found, and how often; its ``reading`` is the
        record, and report, of how the file was read.

    Raises
    ------
    FormatError
        The file is damaged, empty, or not of its format; the message has the line where that is known.
    DataError
        The arguments do not fit the file.

    Notes
    -----
    The states of text are sorted; those that a file declares (ARFF, Arrow and Parquet dictionaries) keep their order.
    In a column of numbers ``nan``, in any case and with any sign, is missing as well. Which markers stood in columns of
    numbers is found by a second look at these columns; for files of more than 64 MiB it is left out, and
    ``Table.missing`` has their number only.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = file.write_text("age,smokes,stage\n31,yes,II\n?,no,None\n62,NA,III\n45,no,II\n")
    >>> read_table(file)
    Table: 4 rows × 3 columns, 2 missing values
      age     continuous   31 … 62        1 missing (?)
      smokes  categorical  no, yes        1 missing (NA)
      stage   categorical  II, III, None
    """
    if (files := several(path)) is not None:
        options: dict[str, Any] = {
            "format": format, "kinds": kinds, "missing": missing, "not_missing": not_missing, "encoding": encoding,
            "delimiter": delimiter, "header": header, "day_first": day_first, "decimal": decimal, "dates": dates,
            "columns": columns, "reading": reading,
        }  # fmt: skip
        return _merged(_read_several(files, weights, options), merge_categories, reading)
    source = _source(path, format, encoding, delimiter, reading).unpacked()
    named = weights if isinstance(weights, str) else None
    markers, given = _markers(missing, not_missing, reading), tuple(missing or ())
    request = Request(
        columns, kinds, named, markers, delimiter,
        given_missing=given, header=header, reading=reading, day_first=day_first, decimal=_decimal(decimal),
    )  # fmt: skip
    table = _format(source).read(source, request)
    if table.n_rows == 0:
        raise no_rows(source)
    return _merged(as_table(_with_parts(table, dates, reading), weights=weights), merge_categories, reading)


def _merged(table: Table, asks: bool, reading: Reading | None) -> Table:
    """Return a table with the spellings of categories merged, and that on record."""
    groups = {} if reading is None else dict(reading.spellings)
    table = merged_spellings(table, groups)
    new = spellings(table) if asks else {}
    if not groups and not new:
        return table
    for name, kept in new.items():
        groups[name] = {**groups.get(name, {}), **kept}
    record = table.reading or Reading()
    merges = [(name, state, others) for name, kept in new.items() for state, others in kept.items()]
    notes = [f"Merged in {name!r}: {', '.join(map(repr, others))} into {state!r}" for name, state, others in merges]
    found = merged_spellings(table, new)
    return found.with_reading(replace(record, spellings=groups, notes=(*notes, *record.notes)))


def _with_parts(table: Table, dates: str | None, reading: Reading | None) -> Table:
    """Return a table with the parts of its dates, if they are wanted, and that on record."""
    if dates is not None:
        check_choice("dates", dates, ("numbers", "parts"))
    known = () if reading is None or dates == "numbers" else reading.date_parts
    names = date_columns(table) if dates == "parts" else [name for name in known if name in table.positions]
    if not names:
        return table
    if dates == "parts":
        whole = with_date_parts(table, names)
    else:
        had = {} if reading is None else reading.kinds
        parts = [p for n in names for p in date_parts(n, table.floats(n), hours=f"{n} hour" in had)]
        whole = table.with_columns([*table, *parts])
    record = table.reading or Reading()
    kinds = {v.name: "categorical" if v.is_categorical else "continuous" for v in whole.variables}
    return whole.with_reading(replace(record, date_parts=tuple(names), kinds=kinds))


def _read_several(files: Sequence[str | os.PathLike[str]], weights: Any, options: dict[str, Any]) -> Table:
    """Return the rows of several files with the same columns, all read alike."""
    named = weights if isinstance(weights, str) else None
    tables = [read_table(files[0], weights=named, **options)]
    record = tables[0].reading or options["reading"]
    is_free = options["reading"] is None and record is not None
    others = {**options, "reading": _layout_of(record) if is_free else record}
    for file in files[1:]:
        try:
            tables.append(read_table(file, weights=named, **others))
        except DataError:  # about a column that is not there, perhaps
            check_same_columns(files[0], _all_names(files[0], options), file, _all_names(file, options))
            raise
        check_same_columns(files[0], tables[0].names, file, tables[-1].names)
    if is_free:
        tables = _read_alike(files, tables, named, options)
    first = tables[0]
    whole = pa.concat_tables([t.select(first.names).to_arrow() for t in tables], promote_options="permissive")
    kinds: Any = {v.name: "categorical" if v.is_categorical else "continuous" for v in first.variables}
    found = as_table(whole, kinds=kinds)
    if named is not None:
        weights = np.concatenate([t.weights for t in tables])
    markers = {name: _added([t.read_as_missing.get(name, {}) for t in tables]) for name in first.names}
    kept = {name: counts for name, counts in markers.items() if counts}
    table = Table.of(found, read_as_missing=kept, reading=first.reading)
    return as_table(table, weights=weights)


def _all_names(file: str | os.PathLike[str], options: Mapping[str, Any]) -> list[str]:
    """Return the names of all columns of a file."""
    how = {name: options[name] for name in ("format", "encoding", "delimiter", "header", "reading")}
    return list(next(iter_batches(file, missing=(), batch_rows=1, **how)).column_names)


def _layout_of(record: Reading) -> Reading:
    """Return the record of a file without what its values told: another file of the same layout tells for itself."""
    return replace(
        record,
        markers={},
        numbers={},
        dates={},
        date_parts=(),
        text=(),
        kinds={},
        decimal=None,
        day_first=None,
        notes=(),
    )


def _read_alike(
    files: Sequence[str | os.PathLike[str]], tables: list[Table], weights: str | None, options: dict[str, Any]
) -> list[Table]:
    """Return the tables, those read again that another file shows to be read otherwise: decimals, dates and codes."""
    records = [t.reading or Reading() for t in tables]
    marks, orders = ({getattr(r, name) for r in records} - {None} for name in ("decimal", "day_first"))
    mark, order = (found.pop() if len(found) == 1 else None for found in (marks, orders))
    for at, record in enumerate(records):
        asks_mark = mark and record.decimal != mark and _has_fractions(tables[at])
        if asks_mark or (order is not None and record.day_first != order and record.dates):
            hints = replace(_layout_of(record), decimal=mark, day_first=order)
            tables[at] = read_table(files[at], weights=weights, **{**options, "reading": hints})
    records = [t.reading or Reading() for t in tables]
    first, codes = records[0], {name for t in tables for name in _code_columns(t)}
    whole = replace(
        first,
        text=tuple(dict.fromkeys([*first.text, *sorted(codes)])),
        kinds={**first.kinds, **dict.fromkeys(codes, "categorical")},
        numbers=_widest([r.numbers for r in records], {*first.text, *codes}),
        decimal=mark,
        day_first=order,
    )
    for at, record in enumerate(records):
        if {*record.text} != {*whole.text} or record.dates.keys() != whole.dates.keys():
            tables[at] = read_table(files[at], weights=weights, **{**options, "reading": whole})
    notes = tables[0].reading.notes if tables[0].reading else ()
    tables[0] = tables[0].with_reading(replace(whole, notes=notes))
    return tables


def _has_fractions(table: Table) -> bool:
    return any(pa.types.is_floating(column.type) for column in table)


def _code_columns(table: Table) -> list[str]:
    """Return the columns of text that hold digits only: codes, some with leading zeros."""
    return [v.name for v in table.variables if v.states and all(isinstance(s, str) and s.isdecimal() for s in v.states)]


def _widest(forms: Sequence[Mapping[str, NumberForm]], text: Collection[str]) -> dict[str, NumberForm]:
    """Return how the numbers of each column are written: with thousands, where one of the files has them."""
    found: dict[str, NumberForm] = {}
    for name, form in chain.from_iterable(each.items() for each in forms):
        if name not in text and not (name in found and found[name].thousands):
            found[name] = form
    return found


def _added(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    return dict(sum((Counter(each) for each in counts), Counter()))


def iter_batches(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    text: Iterable[str] = (),
    numbers: Iterable[str] = (),
    missing: Sequence[str] | None = None,
    not_missing: Sequence[str] = (),
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    day_first: bool | None = None,
    decimal: str | None = None,
    batch_rows: int = 65536,
    reading: Reading | None = None,
) -> Iterator[pa.Table]:
    r"""Return the rows of a file of any size, batch by batch, in columns whose types are fixed in advance.

    Every batch has all columns of the file: those in ``numbers`` as float64, all others as text. So no batch can be
    read by other rules than the one before. Missing values are null.

    Parameters
    ----------
    path, missing, not_missing, format, encoding, delimiter, header, day_first, decimal, reading
        As in :func:`read_table`.
    text, numbers : iterable of str
        Columns to be read as text and as numbers; names that the file does not have are left out. Dates and times among
        the numbers count as :func:`read_table` counts them. A categorical variable whose states are numbers belongs to
        the numbers, so that ``1.0`` and ``1`` are the same.
    batch_rows : int
        The number of rows of every batch but the last.

    Yields
    ------
    pyarrow.Table

    Notes
    -----
    The memory needed depends on the batches and not on the file, but for gzipped Parquet and Arrow files, which are
    unpacked into memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = file.write_text("id,age\n007,31\n008,?\n009,62\n")
    >>> for batch in iter_batches(file, numbers=["age"], batch_rows=2):
    ...     print(batch.to_pylist())
    [{'id': '007', 'age': 31.0}, {'id': '008', 'age': None}]
    [{'id': '009', 'age': 62.0}]
    """
    if (files := several(path)) is not None:
        options: dict[str, Any] = {
            "format": format, "missing": missing, "not_missing": not_missing, "encoding": encoding,
            "delimiter": delimiter, "header": header, "text": text, "numbers": numbers, "day_first": day_first,
            "decimal": decimal, "batch_rows": batch_rows, "reading": reading,
        }  # fmt: skip
        return _batches_of_several(files, options)
    source = _source(path, format, encoding, delimiter, reading)
    markers, given = _markers(missing, not_missing, reading), tuple(missing or ())
    size = int(check_number("batch_rows", batch_rows, low=1))
    as_text, as_numbers = (
        set(as_list(what, names, "column names")) for what, names in (("text", text), ("numbers", numbers))
    )
    if reading is not None:
        as_numbers |= {name for name in reading.date_parts if f"{name} year" in as_numbers} - as_text
    both = sorted(as_text & as_numbers)
    if both:
        raise DataError(f"a column must be text or numbers; got {listed(both)} in both lists.")
    request = Request(
        missing=markers, delimiter=delimiter, numbers=as_numbers, batch_rows=size, given_missing=given,
        header=header, reading=reading, day_first=day_first, decimal=_decimal(decimal),
    )  # fmt: skip
    typed = not _is_delimited(source)
    own, spellings = (request.own_missing, known_spellings(reading)) if typed else ((), {})
    found = _batches(_format(source).batches(source, request), source, as_numbers, own, size, spellings)
    if reading is not None and reading.spellings:
        found = (_batch_merged(batch, reading.spellings) for batch in found)
    wanted = [n for n in (() if reading is None else reading.date_parts) if f"{n} year" in as_numbers]
    return (_batch_with_parts(batch, wanted) for batch in found) if wanted else found


def _batch_merged(batch: pa.Table, spellings: Mapping[str, Mapping[str, tuple[str, ...]]]) -> pa.Table:
    """Return a batch with other spellings of a category as that category."""
    for name, groups in spellings.items():
        if name in batch.column_names and holds_text(batch.schema.field(name).type):
            spelled = {other: kept for kept, others in groups.items() for other in others}
            texts = [spelled.get(text, text) for text in batch[name].to_pylist()]
            batch = batch.set_column(batch.column_names.index(name), name, pa.array(texts, pa.string()))
    return batch


def _batch_with_parts(batch: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return a batch with the parts of its dates."""
    for name in names:
        if name in batch.column_names:
            for part in date_parts(name, batch[name].to_numpy(), hours=True):
                column = column_to_arrow(part)
                number = part.variable.is_continuous or part.variable.states == MONTHS
                batch = batch.append_column(part.variable.name, column.cast(pa.float64()) if number else column)
    return batch


def _batches_of_several(files: Sequence[str | os.PathLike[str]], options: dict[str, Any]) -> Iterator[pa.Table]:
    """Yield the rows of several files with the same columns."""
    names: list[str] = []
    for file in files:
        for batch in iter_batches(file, **options):
            names = names or batch.column_names
            check_same_columns(files[0], names, file, batch.column_names)
            yield batch.select(names)


def dialect_of(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    day_first: bool | None = None,
    decimal: str | None = None,
    reading: Reading | None = None,
) -> tuple[str, str] | None:
    r"""Return the delimiter and the decimal mark of a delimited file; None for other formats.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "visits.csv"
    >>> _ = file.write_text("age;fever\n31;38,5\n62;39,0\n")
    >>> dialect_of(file)
    (';', ',')
    """
    source = _source(path, format, encoding, delimiter, reading)
    request = Request(delimiter=delimiter, header=header, reading=reading, day_first=day_first, decimal=decimal)
    return dialect(source, request) if _is_delimited(source) else None


def iter_typed(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,
    batch_rows: int = 65536,
) -> Iterator[pa.Table] | None:
    """Return the rows of a file in batches with the file's own types; None for text files, which have none."""
    if (files := several(path)) is not None:
        first = [iter_typed(file, format=format, batch_rows=batch_rows) for file in files]
        return None if None in first else chain.from_iterable(each for each in first if each is not None)
    source = find_source(path, format, "utf-8")  # type: ignore[arg-type]
    if entry("table_format", source.format).details.get("text"):
        return None
    raw = _format(source).batches(source, Request(batch_rows=batch_rows))
    return _rebatched((pa.table(batch.columns, names=batch.schema.names) for batch in raw), batch_rows)


def _markers(missing: Sequence[str] | None, not_missing: Sequence[str], reading: Reading | None) -> tuple[str, ...]:
    """Return the default missing markers, or those of another file, but those that are none, and what is given."""
    values = check_missing(not_missing, "not_missing")
    if unknown := [mark for mark in values if mark not in DEFAULT_MISSING]:
        rule = f"not_missing must hold default markers, {listed(DEFAULT_MISSING)}"
        raise DataError(f"{rule}; got {unknown[0]!r}.", parameter="not_missing")
    further = () if missing is None else check_missing(missing)
    if missing is not None and not further:
        return ()
    before = DEFAULT_MISSING if reading is None else reading.missing
    kept = [mark for mark in before if mark not in values]
    return tuple(dict.fromkeys([*kept, *_spelled(further)]))


def _decimal(decimal: str | None) -> str | None:
    """Return the decimal mark; raise unless it is a point or a comma."""
    if decimal is not None:
        check_choice("decimal", decimal, (".", ","))
    return decimal


def _spelled(markers: tuple[str, ...]) -> tuple[str, ...]:
    """Return missing markers with other spellings of those that are integers: ``-99`` is ``-99.0``, too."""
    ends = [""] + [f"{mark}{zeros}" for mark in ".," for zeros in ("0", "00")]
    found = [[m + end for end in ends] if m.lstrip("+-").isdigit() else [m] for m in markers]
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def check_missing(missing: Sequence[str], what: str = "missing") -> tuple[str, ...]:
    """Return missing markers; raise unless they are a list of texts.

    Examples
    --------
    >>> check_missing(["", "-99"])
    ('', '-99')
    """
    if isinstance(missing, str):
        raise DataError(f"{what} must be a list of texts; got the text {missing!r}. Write {what}=[{missing!r}].")
    try:
        markers = tuple(missing)
    except TypeError:
        raise DataError(f"{what} must be a list of texts; got {missing!r}.") from None
    for marker in markers:
        if not isinstance(marker, str):
            raise DataError(f"{what} must be a list of texts; got {marker!r} in it. Write it as it is in the file.")
    return markers


def _batches(
    raw: Iterator[pa.Table | pa.RecordBatch],
    source: Source,
    numbers: Collection[str],
    markers: tuple[str, ...],
    size: int,
    spellings: Mapping[str, Spelling],
) -> Iterator[pa.Table]:
    """Yield the rows of batches of any size in tables of this size, in columns of text and of numbers."""
    done = 0

    def converted() -> Iterator[pa.Table]:
        nonlocal done
        for batch in raw:
            names = batch.schema.names
            check_column_names(names)
            columns = [
                _as_numbers(name, values, done, markers, spellings.get(name))
                if name in numbers
                else _as_text(name, unmarked(values, markers)[0], markers)
                for name, values in zip(names, batch.columns, strict=True)
            ]
            done += len(batch)
            yield pa.table(columns, names=names)

    yield from _rebatched(converted(), size)
    if not done:
        raise no_rows(source)


def _rebatched(tables: Iterator[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield the rows of tables of any size in tables of this size; the last may be smaller."""
    waiting = None
    for table in tables:
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while len(waiting) >= size:
            yield waiting.slice(0, size)
            waiting = waiting.slice(size)
    if waiting:
        yield waiting


def _as_numbers(
    name: str, values: pa.ChunkedArray, done: int, markers: tuple[str, ...], spelling: Spelling | None
) -> pa.Array:
    """Return a column as float64, NaN as null; raise with the number of the row in the file."""
    if holds_text(values.type):
        values = nulled(values, markers) if markers else values
        values = values if spelling is None else respelled(name, values, spelling, done, or_plain=True)
    values, _ = unmarked(values, markers)
    try:
        return pa.array(to_floats(name, values), from_pandas=True)
    except DataError:
        for i, value in enumerate(values.to_pylist()):
            try:
                to_floats(name, values.slice(i, 1))
            except DataError:
                raise DataError(
                    f"column {name!r} must hold finite numbers; row {done + i + 1} holds {value!r}. "
                    "Correct it or leave the cell empty."
                ) from None
        raise


def _as_text(name: str, values: pa.ChunkedArray, markers: tuple[str, ...]) -> pa.ChunkedArray:
    """Return a column as text: other values as Python writes them, which is how states are found by their text."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_null(values.type) or holds_text(values.type):
        return nulled(values, markers) if markers else values.cast(pa.string())
    distinct, codes = distinct_values(name, values)
    texts = pa.array([str(value) for value in distinct], pa.string())
    return texts.take(pa.array(codes, mask=codes < 0))


def _source(
    path: Any,  # which is checked
    format: str | None,
    encoding: str | None,
    delimiter: str | None,
    reading: Reading | None = None,
) -> Source:
    source = find_source(path, format, encoding)
    if delimiter is not None and not _is_delimited(source):
        raise DataError(
            f"delimiter must be left out for a {source.format} file; got {delimiter!r}.", parameter="delimiter"
        )
    if source.detects and not _is_delimited(source) and entry("table_format", source.format).details.get("text"):
        source = marked(source)
    if reading is not None and source.detects and not reading.encoding.startswith(("utf-8", "utf-16", "utf-32")):
        source = replace(source, fallback=reading.encoding)
    return source


def _format(source: Source) -> TableFormat:
    return entry("table_format", source.format).load()


def _is_delimited(source: Source) -> bool:
    return bool(entry("table_format", source.format).details.get("delimited"))
