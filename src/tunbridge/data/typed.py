"""Tables in files that know their types: Parquet, Arrow (IPC file or stream, Feather 2) and JSON lines.

Such a file has its own null, so text in it is a state, whatever it says. Parquet and Arrow files are checked in full
before a value is used: a damaged one ends in an error, not in rubbish. JSON lines hold one object a line; a key that a
line does not have is missing there, and values must be plain (text, numbers, truth values, null).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tunbridge.data.delimited import block_sizes, row_too_long
from tunbridge.data.source import Source, check_size, no_rows, reading, scan
from tunbridge.errors import FormatError

# An object this deep is refused with an error; far deeper ones would end the process within Arrow.
_OPENERS = 500


def read_parquet(source: Source, choose: Callable[[Sequence[str]], list[str]]) -> pa.Table:
    """Return the columns that ``choose`` picks from the names in a Parquet file."""
    from pyarrow import parquet

    with reading(source), source.unpacked().open() as stream:
        file = parquet.ParquetFile(stream)
        columns = choose(file.schema_arrow.names)
        check_size(source, 8.0 * file.metadata.num_rows * len(columns))
        table = file.read(columns).select(columns)
        table.validate(full=True)
    return table


def iter_parquet(source: Source, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in batches."""
    from pyarrow import parquet

    with reading(source), source.unpacked().open() as stream:
        for batch in parquet.ParquetFile(stream).iter_batches(batch_size=batch_rows):
            yield _checked(batch)


def read_arrow(source: Source, choose: Callable[[Sequence[str]], list[str]]) -> pa.Table:
    """Return the columns that ``choose`` picks from the names in an Arrow file."""
    batches, size, columns = [], 0, None
    for batch in iter_arrow(source):
        columns = columns or choose(batch.schema.names)
        batches.append(batch.select(columns))
        size += batch.nbytes
        check_size(source, size)
    if not batches:
        raise no_rows(source)
    return pa.Table.from_batches(batches)


def iter_arrow(source: Source) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of an Arrow file, as they were written."""
    with reading(source), source.unpacked().open() as stream:
        head = stream.read(6)
        stream.seek(0)
        if head.startswith(b"FEA1"):
            raise FormatError(f"{source.named} must be an Arrow or Feather 2 file; it is Feather 1. Write it anew.")
        for batch in _ipc_file(stream) if head == b"ARROW1" else pa.ipc.open_stream(stream):
            yield _checked(batch)


def read_json(source: Source) -> pa.Table:
    """Return the columns of a file of JSON lines."""
    from pyarrow import json as arrow_json

    size = scan(source).n_bytes
    check_size(source, size)
    with reading(source):
        _check_json_lines(source)
        for block in block_sizes(size):
            try:
                with _utf8(source) as stream:
                    return arrow_json.read_json(stream, arrow_json.ReadOptions(block_size=block))
            except pa.ArrowInvalid as error:
                if not row_too_long(error) or block == block_sizes(size)[-1]:
                    _explain_json(source)
                    raise
    raise AssertionError("there is always a last block size")


def iter_json(source: Source, numbers: Collection[str], batch_rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a file of JSON lines in batches: these columns as numbers or text, the others as text.

    All lines are looked at first, because a key may turn up on the last one; so every batch has all columns.
    """
    scan(source)
    with reading(source):
        names = list(dict.fromkeys(name for _, row in _json_rows(source) for name in row))
        for rows in _grouped((row for _, row in _json_rows(source)), batch_rows):
            yield pa.table({name: _json_column([row.get(name) for row in rows], name in numbers) for name in names})


def _checked(batch: pa.RecordBatch) -> pa.RecordBatch:
    batch.validate(full=True)
    batch.schema.names  # noqa: B018 - names are decoded when they are looked at, and may be damaged as well
    return batch


def _ipc_file(stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    reader = pa.ipc.open_file(stream)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))


def _utf8(source: Source) -> pa.NativeFile:
    stream = source.open()
    return stream if source.encoding == "utf-8" else pa.transcoding_input_stream(stream, source.encoding, "utf-8")


def _json_lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line that is not blank; raise unless it looks like an object."""
    with source.text() as lines:
        for number, line in enumerate(lines, start=1):
            body = line.strip()
            if body and not (body[0] == "{" and body[-1] == "}"):
                raise FormatError(f"{source.named} must hold one JSON object a line; got {body[:40]!r}.", line=number)
            if body:
                yield number, body


def _check_json_lines(source: Source) -> None:
    empty = True
    for number, body in _json_lines(source):
        empty = False
        if body.count("{") + body.count("[") > _OPENERS:
            _json_object(source, number, body)
    if empty:
        raise FormatError(f"{source.named} must hold rows; it holds nothing but blank lines.")


def _json_object(source: Source, number: int, body: str) -> dict[str, Any]:
    try:
        return json.loads(body, object_pairs_hook=_distinct_keys)
    except json.JSONDecodeError as error:
        raise FormatError(
            f"{source.named} must hold one JSON object a line; this is none ({error.msg}).",
            line=number,
            column=error.colno,
        ) from None
    except (RecursionError, ValueError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"{source.named} must hold one plain JSON object a line; {reason}.", line=number) from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(k for k in keys if keys.count(k) > 1)!r} is there twice")
    return found


def _json_rows(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and object of each line; raise for values that are not plain."""
    for number, body in _json_lines(source):
        row = _json_object(source, number, body)
        for name, value in row.items():
            if isinstance(value, (dict, list)):
                what = "an object" if isinstance(value, dict) else "a list"
                raise FormatError(f"column {name!r} must hold one plain value a row; got {what}.", line=number)
        yield number, row


def _explain_json(source: Source) -> None:
    """Raise an error that says where a file that Arrow refuses is wrong, if that can be found."""
    kinds: dict[str, str] = {}
    for number, row in _json_rows(source):
        for name, value in row.items():
            kind = _json_kind(value)
            if kind and kinds.setdefault(name, kind) != kind:
                raise FormatError(
                    f"column {name!r} must hold values of one type; got {kind} after {kinds[name]}. "
                    "Write all of them as text or as numbers.",
                    line=number,
                )


def _json_kind(value: Any) -> str | None:
    if value is None:
        return None
    return "text" if isinstance(value, str) else "a truth value" if isinstance(value, bool) else "a number"


def _json_column(values: list[Any], number: bool) -> pa.Array:
    if number and not any(isinstance(value, str) for value in values):
        return pa.array([None if value is None else _to_float(value) for value in values], pa.float64())
    texts = pa.array([None if value is None else str(value) for value in values], pa.string())
    try:
        return texts.cast(pa.timestamp("s")) if number else texts
    except pa.ArrowInvalid:
        return texts


def _to_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _grouped(rows: Iterator[Any], size: int) -> Iterator[list[Any]]:
    group = []
    for row in rows:
        group.append(row)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
