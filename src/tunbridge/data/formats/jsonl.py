"""JSON lines: one object a line.

A key that a line does not have is missing there. Values must be plain: text, numbers, booleans, null. Text is a state,
whatever it says, because the format has its own null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from tunbridge._core.check import repeated
from tunbridge._core.registry import table_format
from tunbridge.data.formats.delimited import read_in_blocks
from tunbridge.data.formats.request import Request, typed_table
from tunbridge.data.formats.source import Source, check_size, reading, scan
from tunbridge.data.table import Table
from tunbridge.errors import FormatError

# An object this deep is refused with an error; far deeper ones would end the process within Arrow.
_OPENERS = 500


@table_format("jsonl", rank=6, suffixes=(".jsonl", ".ndjson"), text=True)
class JSONLines:
    """JSON lines: one object a line."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""
        table = _read(source)
        return typed_table({name: table[name] for name in request.choose(table.column_names)}, request)

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.Table]:
        """Yield the rows of a file: ``request.numbers`` as numbers or text, the other columns as text.

        All lines are read first, because a key may turn up on the last one; so every batch has all columns.
        """
        scan(source)
        with reading(source):
            names = list(dict.fromkeys(name for _, row in _json_rows(source) for name in row))
            left = (row for _, row in _json_rows(source))
            while rows := list(islice(left, request.batch_rows)):
                yield pa.table({n: _json_column([row.get(n) for row in rows], n in request.numbers) for n in names})


def _read(source: Source) -> pa.Table:
    def read(block: int) -> pa.Table:
        with _utf8(source) as stream:
            return arrow_json.read_json(stream, arrow_json.ReadOptions(block_size=block))

    size = scan(source).n_bytes
    check_size(source, size)
    with reading(source):
        _check_json_lines(source)
        try:
            return read_in_blocks(size, read)
        except pa.ArrowInvalid:
            _explain_json(source)
            raise


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
        raise ValueError(f"the key {repeated(key for key, _ in pairs)[0]!r} is there twice")
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


def _json_kind(value: object) -> str | None:
    if value is None:
        return None
    return "text" if isinstance(value, str) else "a boolean" if isinstance(value, bool) else "a number"


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
