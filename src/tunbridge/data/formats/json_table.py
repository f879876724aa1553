"""JSON: an array of objects, one a row, or an object of arrays, one a column.

A key that an object does not have is missing there. Values must be plain: text, numbers, booleans, null. A file that
holds one object a line, in spite of its name, is read as JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tunbridge._core.registry import table_format
from tunbridge.data.arrow import as_arrow
from tunbridge.data.formats.jsonl import JSONLines
from tunbridge.data.formats.request import Request, typed_table
from tunbridge.data.formats.source import Source, check_size, no_rows, reading, scan
from tunbridge.data.frames import frame_columns
from tunbridge.data.table import Table
from tunbridge.errors import FormatError

_BYTES = 8.0  # that Python takes for a byte of JSON


@table_format("json", rank=7, suffixes=(".json",), text=True)
class JSON:
    """JSON: an array of objects."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        values = _columns(source)
        if values is None:
            return JSONLines.read(source, request)
        return typed_table({name: values[name] for name in request.choose(list(values))}, request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.Table]:
        """Yield the rows of a file."""
        values = _columns(source)
        if values is None:
            yield from JSONLines.batches(source, request)
        else:
            yield pa.table(list(values.values()), names=list(values))


def _columns(source: Source) -> dict[str, pa.ChunkedArray] | None:
    """Return the columns of a file; None if it holds JSON lines."""
    check_size(source, _BYTES * scan(source).n_bytes)
    with reading(source), source.text() as stream:
        text = stream.read()
    if not text.strip():
        raise FormatError(f"{source.named} must hold a table; it holds nothing but blank lines.")
    try:
        data = json.loads(text)
    except RecursionError:
        raise FormatError(f"{source.named} must hold rows of plain values; it is nested too deeply.") from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text.lstrip().startswith("{"):
            return None
        raise FormatError(f"{source.named} must be JSON; {error.msg}.", line=error.lineno, column=error.colno) from None
    return {name: as_arrow(name, values) for name, values in _named(source, data).items()}


def _named(source: Source, data: Any) -> dict[str, Any]:
    """Return the columns of rows, of columns, or of either under a single key."""
    if isinstance(data, dict) and len(data) == 1:
        (inner,) = data.values()
        data = inner if _are_rows(inner) else data
    if data == []:
        raise no_rows(source)
    if _are_rows(data) or (isinstance(data, dict) and data and all(isinstance(v, list) for v in data.values())):
        found = frame_columns(data)
        for name, values in found.items():
            if any(isinstance(value, dict | list) for value in values):
                raise FormatError(f"column {name!r} of {source.named} must hold plain values; it holds objects.")
        return found
    raise FormatError(
        f"{source.named} must hold an array of objects, one a row, or an object of arrays, one a column; "
        "it holds something else."
    )


def _are_rows(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(row, dict) for row in data)
