"""Files, in: CSV, TSV, Parquet, Arrow and Feather, ARFF, JSON lines, each also gzipped.

:func:`read_table` reads a whole file into a :class:`Table`; :func:`iter_batches` passes a file of any size through a
fixed amount of memory, for prediction. Both know the same formats and the same missing markers.

The kinds of columns follow the rules of :mod:`tunbridge.data.columns`. The types in a delimited file are first found by
Arrow: a column in which every cell that is not missing is a whole number, a number, a date or a time is of that type,
and any other column is text, exactly as written.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import check_number, did_you_mean, listed
from tunbridge._threads import map_threads
from tunbridge.data import arff
from tunbridge.data.columns import Column, Kind, distinct_values, infer_column, to_floats
from tunbridge.data.delimited import Layout, find_layout, iter_delimited, read_delimited
from tunbridge.data.frames import as_table, check_column_names, column_kinds
from tunbridge.data.source import Source, check_size, count_lines, find_source, no_rows, reading, scan
from tunbridge.data.table import Table
from tunbridge.data.texts import holds_text, marker_counts, nulled, text_column, texts_of_nan, without_markers
from tunbridge.data.typed import iter_arrow, iter_json, iter_parquet, read_arrow, read_json, read_parquet
from tunbridge.errors import DataError, DataWarning

DEFAULT_MISSING = ("", "?", "NA", "NaN", "null")
"""The texts that are missing by default in delimited files: exactly these, and so not ``None``, ``nan`` or ``-``."""

_SECOND_LOOK = 64 * 2**20
_SEARCHED_STATES = 100_000


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    kinds: Mapping[str, Kind] | Kind | None = None,
    missing: Sequence[str] = DEFAULT_MISSING,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    columns: Sequence[str] | None = None,
    weights: Any = None,
) -> Table:
    r"""Return the table in a file.

    Parameters
    ----------
    path : str or path-like
        The file. Whether it is gzipped is seen from its first bytes.
    format : {"csv", "tsv", "parquet", "arrow", "arff", "jsonl"}, optional
        Read the file as this, instead of what the end of its name says (before ``.gz``).
    kinds : mapping of str to {"categorical", "continuous"}, or one of the two for all columns
        Overrides the rules by which kinds are inferred. A column of a text file that is made categorical is read as
        text, so that ``007`` stays ``007``.
    missing : sequence of str
        The texts that stand for a missing value, compared with the whole cell, blanks included. Parquet, Arrow and JSON
        files have a null of their own, and ARFF has ``?``: the default markers are states there, and others that are
        given count in columns of text.
    encoding : str
        The encoding of a text file. A byte order mark at the start of UTF-8 is left out.
    delimiter : str, optional
        The character between fields of a delimited file. By default a tab in ``.tsv``; in ``.csv`` whichever of comma,
        semicolon and tab cuts the header into the most fields.
    columns : sequence of str, optional
        Read these columns only, in this order.
    weights : str or array-like, optional
        The name of the column that holds row weights (it is taken out of the table), or the weights.

    Returns
    -------
    Table
        Its ``read_as_missing`` tells for each column which markers were found, and how often.

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
    Table: 4 rows × 3 columns, 2 missing cells
      age     continuous   31 … 62        1 missing (?)
      smokes  categorical  no, yes        1 missing (NA)
      stage   categorical  II, III, None
    """
    source = _source(path, format, encoding, delimiter).unpacked()
    named = weights if isinstance(weights, str) else None
    table = _READERS[source.format](source, _Wish(columns, kinds, named, check_missing(missing), delimiter))
    if table.n_rows == 0:
        raise no_rows(source)
    return as_table(table, weights=weights)


def iter_batches(
    path: str | os.PathLike[str],
    *,
    text: Iterable[str] = (),
    numbers: Iterable[str] = (),
    missing: Sequence[str] = DEFAULT_MISSING,
    format: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    batch_rows: int = 65536,
) -> Iterator[pa.Table]:
    r"""Return the rows of a file of any size, batch by batch, in columns whose types are fixed in advance.

    Every batch has all columns of the file: those in ``numbers`` as float64, all others as text. So no batch can be
    read by other rules than the one before. Missing cells are null.

    Parameters
    ----------
    path, missing, format, encoding, delimiter
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
    source = _source(path, format, encoding, delimiter)
    markers = check_missing(missing)
    size = int(check_number("batch_rows", batch_rows, low=1))
    as_text, as_numbers = _names("text", text), _names("numbers", numbers)
    both = sorted(as_text & as_numbers)
    if both:
        raise DataError(f"a column must be text or numbers; got {listed(both)} in both lists.")
    if source.format in _DELIMITED:
        layout = find_layout(source, delimiter)
        floats = [name for name in layout.names if name in as_numbers]
        return _batches(iter_delimited(source, layout, numbers=floats, missing=markers), source, as_numbers, (), size)
    own = () if markers == DEFAULT_MISSING else markers
    return _batches(_ITERATORS[source.format](source, as_numbers, size), source, as_numbers, own, size)


def check_missing(missing: Sequence[str]) -> tuple[str, ...]:
    """Return the missing markers; raise unless they are a list of texts.

    Examples
    --------
    >>> check_missing(["", "-99"])
    ('', '-99')
    """
    if isinstance(missing, str):
        raise DataError(f"missing must be a list of texts; got the text {missing!r}. Write missing=[{missing!r}].")
    try:
        markers = tuple(missing)
    except TypeError:
        raise DataError(f"missing must be a list of texts; got {missing!r}.") from None
    for marker in markers:
        if not isinstance(marker, str):
            raise DataError(f"missing must be a list of texts; got {marker!r} in it. Write it as it is in the file.")
    return markers


@dataclass(frozen=True)
class _Wish:
    """What was asked of a file: which columns, of which kinds, with which markers and delimiter."""

    columns: Sequence[str] | None
    kinds: Mapping[str, Kind] | Kind | None
    weights: str | None
    missing: tuple[str, ...]
    delimiter: str | None

    @property
    def own_missing(self) -> tuple[str, ...]:
        """The markers to look for in files that have a null of their own."""
        return () if self.missing == DEFAULT_MISSING else self.missing

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the columns to be read, that of the weights included."""
        check_column_names(names)
        if isinstance(self.columns, str):
            raise DataError(f"columns must be a list of names; got the text {self.columns!r}.")
        chosen = list(names if self.columns is None else self.columns)
        if not chosen:
            raise DataError(f"{'columns' if names else 'a file'} must name at least one column; got none.")
        self._check_known("columns", chosen, names)
        check_column_names(chosen)
        if self.weights is None or self.weights in chosen:
            return chosen
        self._check_known("weights", [self.weights], names)
        return [*chosen, self.weights]

    def _check_known(self, what: str, chosen: Sequence[str], names: Sequence[str]) -> None:
        known = set(names)
        for name in chosen:
            if name not in known:
                raise DataError(f"{what} must name columns of the file; got {name!r}. {did_you_mean(name, names)}")


def _read_delimited(source: Source, wish: _Wish) -> Table:
    layout = find_layout(source, wish.delimiter)
    columns = wish.choose(layout.names)
    kinds = column_kinds(wish.kinds, columns)
    as_text = [name for name in columns if kinds.get(name) == "categorical"]
    raw = read_delimited(source, layout, columns=columns, text=as_text, missing=wish.missing)
    if raw.num_rows == 0:
        raise no_rows(source)
    values = {name: raw[name] for name in columns} | _long_numbers(source, layout, raw, kinds, wish.missing)
    whole = map_threads(lambda name: _delimited_column(name, values[name], kinds.get(name), wish.missing), columns)
    parts = [without_markers(column, wish.missing) for column in whole]
    found = {column.variable.name: counts for column, counts in parts if counts}
    table = Table.of([column for column, _ in parts])
    _warn_of_blanks(table, wish.missing)
    return Table.of(table, read_as_missing=found | _second_look(source, layout, table, found, wish.missing))


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
    """Return as text the columns of whole numbers so long that Arrow has read them as floats, and has rounded them."""
    free = [f.name for f in raw.schema if pa.types.is_floating(f.type) and f.name not in kinds]
    huge = [name for name in free if (pc.max(pc.abs(raw[name])).as_py() or 0.0) >= 2.0**63]
    if not huge:
        return {}
    texts = read_delimited(source, layout, columns=huge, text=huge, missing=missing)
    digits = {name: pc.match_substring_regex(nulled(texts[name], missing), r"^\s*[+-]?[0-9]+\s*$") for name in huge}
    return {name: texts[name] for name in huge if pc.all(digits[name]).as_py()}


def _second_look(
    source: Source, layout: Layout, table: Table, found: Mapping[str, Any], missing: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    """Return what was read as missing in columns of numbers, which hold no texts to count."""
    unknown = [name for name in table.missing if name not in found]
    if not unknown or layout.scan.n_bytes > _SECOND_LOOK:
        return {}
    raw = read_delimited(source, layout, columns=unknown, text=unknown, missing=missing)
    texts = [text_column(name, raw[name]) for name in unknown]
    return {c.variable.name: marker_counts(c, [*missing, *texts_of_nan(c)]) for c in texts}


def _warn_of_blanks(table: Table, missing: tuple[str, ...]) -> None:
    """Warn of states that would be missing were it not for blanks around them."""
    for variable in table.variables:
        if variable.n_states > _SEARCHED_STATES:
            continue
        texts = [state for state in variable.states or () if isinstance(state, str)]
        padded = [state for state in texts if state not in missing and state.strip() in missing]
        if padded:
            warnings.warn(
                f"column {variable.name!r} holds {listed(padded)}: missing markers but for the blanks, which make them "
                "states. Add them to missing to count them as missing.",
                DataWarning,
                stacklevel=4,
            )


def _read_arff(source: Source, wish: _Wish) -> Table:
    scan(source)
    with reading(source), source.text() as lines:
        rows = arff.numbered(lines)
        attributes = arff.read_header(rows)
        columns = wish.choose([a.name for a in attributes])
        kinds = column_kinds(wish.kinds, columns)
        as_text = [name for name in columns if kinds.get(name) == "categorical"]
        # Rows may be far shorter than what they stand for: two characters are a whole sparse row.
        row_bytes = {a.name: a.n_bytes for a in attributes}
        check_size(source, float(count_lines(source)) * sum(row_bytes[name] for name in columns))
        batches = [batch.select(columns) for batch in arff.read_batches(rows, attributes, text=as_text)]
    if not batches:
        raise no_rows(source)
    raw = pa.Table.from_batches(batches)
    numeric = {a.name: "continuous" for a in attributes if a.type in ("numeric", "integer")}
    whole = [a.name for a in attributes if a.type == "integer"]
    values = {name: _whole_numbers(raw[name]) if name in whole else raw[name] for name in columns}
    question_marks = {name: {"?": raw[name].null_count} for name in columns if raw[name].null_count}
    return _typed_table(values, numeric | kinds, wish.own_missing, question_marks)


def _whole_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(pa.int64()) if pa.types.is_floating(values.type) else values
    except pa.ArrowInvalid:
        return values


def _read_parquet(source: Source, wish: _Wish) -> Table:
    return _typed_wish(read_parquet(source, wish.choose), wish)


def _read_arrow(source: Source, wish: _Wish) -> Table:
    return _typed_wish(read_arrow(source, wish.choose), wish)


def _read_json(source: Source, wish: _Wish) -> Table:
    raw = read_json(source)
    return _typed_wish(raw.select(wish.choose(raw.column_names)), wish)


def _typed_wish(raw: pa.Table, wish: _Wish) -> Table:
    values = dict(zip(raw.column_names, raw.columns, strict=True))
    return _typed_table(values, column_kinds(wish.kinds, raw.column_names), wish.own_missing, {})


def _typed_table(
    values: Mapping[str, pa.ChunkedArray],
    kinds: Mapping[str, Any],
    markers: tuple[str, ...],
    found: dict[str, dict[str, int]],
) -> Table:
    """Return a table of columns that have types and nulls, with further missing markers in those of text."""
    parts = []
    for name, column in values.items():
        if markers and kinds.get(name) == "continuous" and holds_text(column.type):
            column = nulled(column, markers)
        part, counts = without_markers(infer_column(name, column, kinds.get(name)), markers)
        parts.append(part)
        if counts:
            found[name] = found.get(name, {}) | counts
    return Table.of(parts, read_as_missing=found)


def _iter_arff(source: Source, numbers: Collection[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
    scan(source)
    with reading(source), source.text() as lines:
        rows = arff.numbered(lines)
        attributes = arff.read_header(rows)
        as_text = [a.name for a in attributes if a.name not in numbers]
        yield from arff.read_batches(rows, attributes, text=as_text, batch_rows=batch_rows)


def _batches(
    raw: Iterator[pa.Table | pa.RecordBatch],
    source: Source,
    numbers: Collection[str],
    markers: tuple[str, ...],
    size: int,
) -> Iterator[pa.Table]:
    """Yield the rows of batches of any size in tables of this size, in columns of text and of numbers."""
    done, waiting = 0, None
    for batch in raw:
        names = batch.schema.names
        check_column_names(names)
        columns = [
            _as_numbers(name, values, done) if name in numbers else _as_text(name, values, markers)
            for name, values in zip(names, batch.columns, strict=True)
        ]
        table = pa.table(columns, names=names)
        done += len(table)
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while len(waiting) >= size:
            yield waiting.slice(0, size)
            waiting = waiting.slice(size)
    if waiting:
        yield waiting
    if not done:
        raise no_rows(source)


def _as_numbers(name: str, values: Any, done: int) -> pa.Array:
    """Return a column as float64, NaN as null; raise with the number of the row in the file."""
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


def _as_text(name: str, values: Any, markers: tuple[str, ...]) -> Any:
    """Return a column as text: other values as Python writes them, which is how states are found by their text."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_null(values.type) or holds_text(values.type):
        return nulled(values, markers) if markers else values.cast(pa.string())
    distinct, codes = distinct_values(name, values)
    texts = pa.array([str(value) for value in distinct], pa.string())
    return texts.take(pa.array(codes, mask=codes < 0))


def _names(what: str, names: Iterable[str]) -> set[str]:
    if isinstance(names, str):
        raise DataError(f"{what} must be a list of column names; got the text {names!r}. Write [{names!r}].")
    return set(names)


def _source(path: str | os.PathLike[str], format: str | None, encoding: str, delimiter: str | None) -> Source:
    source = find_source(path, format, encoding)
    if delimiter is not None and source.format not in _DELIMITED:
        raise DataError(f"delimiter must be left out for a {source.format} file; got {delimiter!r}.")
    return source


_DELIMITED = ("csv", "tsv")
_READERS: dict[str, Callable[[Source, _Wish], Table]] = {
    "csv": _read_delimited,
    "tsv": _read_delimited,
    "arff": _read_arff,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "jsonl": _read_json,
}
_ITERATORS: dict[str, Callable[[Source, Collection[str], int], Iterator[Any]]] = {
    "arff": _iter_arff,
    "parquet": lambda source, numbers, batch_rows: iter_parquet(source, batch_rows),
    "arrow": lambda source, numbers, batch_rows: iter_arrow(source),
    "jsonl": iter_json,
}
