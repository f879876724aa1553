"""Tables in binary files that know their types: Parquet and Arrow (IPC file or stream, Feather 2).

Such a file has its own null, so text in it is a state, whatever it says. Files are checked in full before a value is
used: a damaged one ends in an error, not in wrong values.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tunbridge._core.check import shortened
from tunbridge._core.registry import table_format
from tunbridge.data.formats.request import Request, typed_table
from tunbridge.data.formats.source import Source, check_size, no_rows, reading
from tunbridge.data.table import Table
from tunbridge.errors import FormatError

_MOST_PLACES = 76  # of a decimal, as many as Arrow's widest has digits


@table_format("parquet", rank=3, suffixes=(".parquet", ".pq"))
class Parquet:
    """Apache Parquet."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        from pyarrow import parquet

        with reading(source), source.unpacked().open() as stream:
            file = parquet.ParquetFile(stream)
            columns = request.choose(file.schema_arrow.names)
            check_size(source, 8.0 * file.metadata.num_rows * len(columns))
            table = file.read(columns).select(columns)
            table.validate(full=True)
        return typed_table(dict(zip(table.column_names, table.columns, strict=True)), request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file."""
        from pyarrow import parquet

        with reading(source), source.unpacked().open() as stream:
            for batch in parquet.ParquetFile(stream).iter_batches(batch_size=request.batch_rows):
                yield _checked(batch)


@table_format("arrow", rank=4, suffixes=(".arrow", ".feather", ".ipc"))
class Arrow:
    """Arrow IPC: file, stream or Feather 2."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        batches: list[pa.RecordBatch] = []
        size = 0
        for batch in Arrow.batches(source, request):
            columns = batches[0].schema.names if batches else request.choose(batch.schema.names)
            batches.append(batch.select(columns))
            size += batch.nbytes
            check_size(source, size)
        if not batches:
            raise no_rows(source)
        table = pa.Table.from_batches(batches)
        return typed_table(dict(zip(table.column_names, table.columns, strict=True)), request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.RecordBatch]:
        """Yield the record batches of a file, as they were written."""
        with reading(source), source.unpacked().open() as stream:
            head = stream.read(6)
            stream.seek(0)
            if head.startswith(b"FEA1"):
                raise FormatError(f"{source.named} must be an Arrow or Feather 2 file; it is Feather 1. Write it anew.")
            for batch in _ipc_file(stream) if head == b"ARROW1" else pa.ipc.open_stream(stream):
                yield _checked(batch)


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    batch.validate(full=True)
    names = batch.schema.names  # they are decoded when they are looked at, and may be damaged as well
    for name, field in zip(names, batch.schema, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_decimal(kind) and abs(kind.scale) > _MOST_PLACES:
            what = f"column {shortened(name)!r} has a scale of {kind.scale}"
            raise FormatError(f"decimals must have at most {_MOST_PLACES} places; {what}.")
    return batch


def _ipc_file(stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    reader = pa.ipc.open_file(stream)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))
