"""Tables of databases: SQLite files, by the standard library, and DuckDB files, if the package duckdb is installed.

The table is named as in ``clinic.db::visits`` or ``sqlite:///clinic.db?table=visits``; a database with one table needs
no name. A database has its own null, so text in it is a state, whatever it says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tunbridge._core.check import did_you_mean, install_hint, listed
from tunbridge._core.registry import table_format
from tunbridge.data.arrow import as_arrow, is_text
from tunbridge.data.formats.request import Request, typed_table
from tunbridge.data.formats.source import Source, check_size, no_rows
from tunbridge.data.table import Table
from tunbridge.errors import DataError, FormatError

_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by name"
_CELL_BYTES = 64.0


@table_format("sqlite", rank=9, suffixes=(".db", ".sqlite", ".sqlite3"))
class SQLite:
    """A table of an SQLite database."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return a table."""
        found = list(SQLite.batches(source, request))
        if not found:
            raise no_rows(source)
        values = {n: pa.chunked_array([v for t in found for v in t[n].chunks]) for n in found[0].column_names}
        return typed_table({name: values[name] for name in request.choose(list(values))}, request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.Table]:
        """Yield the rows of a table."""
        address = f"file:{quote(str(source.path.resolve()))}?mode=ro"
        try:
            with closing(sqlite3.connect(address, uri=True)) as base:
                name = _chosen(source, [row[0] for row in base.execute(_TABLES)])
                yield from _converted(source, base.execute(f"select * from {_quoted(name)}"))
        except sqlite3.Error as error:
            raise FormatError(f"{source.named} must be an SQLite database; SQLite says: {error}.") from None


@table_format("duckdb", rank=10, suffixes=(".duckdb",))
class DuckDB:
    """A table of a DuckDB database."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return a table."""
        found = pa.Table.from_batches(list(DuckDB.batches(source, request)))
        return typed_table({name: found[name] for name in request.choose(found.column_names)}, request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table."""
        try:
            import duckdb
        except ImportError:
            rule = f"the package duckdb must be installed to read {source.named}"
            raise DataError(f"{rule}. {install_hint('duckdb')}") from None
        try:
            with duckdb.connect(str(source.path), read_only=True) as base:
                names = [row[0] for row in base.execute("select table_name from information_schema.tables").fetchall()]
                rows = base.sql(f"select * from {_quoted(_chosen(source, sorted(names)))}")
                reader: Any = rows.to_arrow_reader(request.batch_rows)
                yield from reader
        except duckdb.Error as error:
            said = str(error).partition("\n")[0].rstrip(".")
            raise FormatError(f"{source.named} must be a DuckDB database; DuckDB says: {said}.") from None


def _chosen(source: Source, names: Sequence[str]) -> str:
    """Return the table that is named, or the only one."""
    if source.part is None and len(names) == 1:
        return names[0]
    if source.part is None:
        some = f"it has {listed(names, most=8)}" if names else "it has none"
        raise DataError(f"a table of {source.named} must be named; {some}. Write {source.path.name}::TABLE.")
    if source.part not in names:
        hint = did_you_mean(source.part, names)
        raise DataError(f"{source.named} must have the table that is named; got {source.part!r}. {hint}")
    return source.part


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _converted(source: Source, cursor: sqlite3.Cursor) -> Iterator[pa.Table]:
    """Yield all rows as one table: the types of SQLite are those of the values, so all must be looked at."""
    names, rows = [each[0] for each in cursor.description], list[tuple[Any, ...]]()
    while some := cursor.fetchmany(1 << 14):
        rows += some
        check_size(source, _CELL_BYTES * len(rows) * len(names))
    if rows:
        columns = [as_arrow(name, list(values)) for name, values in zip(names, zip(*rows, strict=True), strict=True)]
        yield pa.table([_dated(column) for column in columns], names=names)


def _dated(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of text as times if all its values are in ISO form: SQLite has no type for them."""
    first = next((v for v in column.slice(0, 1).to_pylist() if v is not None), None)
    if not is_text(column.type) or first is None or first[4:5] != "-":
        return column
    try:
        return column.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        return column
