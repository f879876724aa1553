"""Tables to files, by the end of the file's name: delimited text, Parquet, Arrow, JSON lines.

A file is written whole or not at all. Parquet and Arrow keep types and the order of states; in text missing values are
empty, so that an empty text comes back as missing.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from tunbridge._core.check import listed
from tunbridge._core.replacing import replacing
from tunbridge.errors import DataError

if TYPE_CHECKING:
    from tunbridge.data.table import Table

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_TEXT = (*_DELIMITERS, ".jsonl", ".ndjson")
_BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_LINES = 1 << 14


def write_table(path: str | os.PathLike[str], table: Table) -> None:
    """Write the columns of a table to a file; the end of its name says the format, text also with ``.gz``."""
    file = Path(path)
    packed = file.suffix.lower() == ".gz"
    suffix = Path(file.stem).suffix.lower() if packed else file.suffix.lower()
    if suffix not in (_TEXT if packed else (*_TEXT, *_BINARY)):
        known = [*_TEXT, *(f"{each}.gz" for each in _TEXT), *_BINARY]
        raise DataError(f"the name of a table's file must end in {listed(known, most=20)}; got {file.name!r}.")
    if table.weights is not None:
        raise DataError("a table that is written must have no weights; got some. Add them as a column.")
    found = table.to_arrow()
    with replacing(file) as temporary, open(temporary, "wb") as stream:
        if packed:
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as out:
                _write(out, found, suffix)  # type: ignore[arg-type]
        else:
            _write(stream, found, suffix)


def _write(stream: BinaryIO, found: pa.Table, suffix: str) -> None:
    if suffix in (".parquet", ".pq"):
        from pyarrow import parquet

        parquet.write_table(found, stream)
    elif suffix in _BINARY:
        with pa.ipc.new_file(stream, found.schema) as out:
            out.write_table(found)
    elif suffix in _DELIMITERS:
        from pyarrow import csv

        plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in found.columns]
        options = csv.WriteOptions(delimiter=_DELIMITERS[suffix], quoting_style="needed")
        csv.write_csv(pa.table(plain, names=found.column_names), stream, options)
    else:
        for batch in found.to_batches(_LINES):
            stream.writelines(f"{json.dumps(r, ensure_ascii=False, default=str)}\n".encode() for r in batch.to_pylist())
