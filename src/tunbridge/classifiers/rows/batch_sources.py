"""Where rows come from that are read several times: files, lists of batches, functions that make them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import did_you_mean, shortened
from tunbridge.classifiers.rows.batch import is_frame
from tunbridge.classifiers.rows.readers import is_one_row
from tunbridge.data.readers import iter_batches
from tunbridge.data.source import find_source
from tunbridge.data.typed import iter_arrow, iter_parquet
from tunbridge.errors import DataError

BATCH_ROWS = 65_536

Given = tuple[Any, Any, Any]
"""Features, classes (or the name of their column) and weights of a batch, as users give them."""

Batches = Callable[[], Iterator[Given]]
"""Gives all batches anew."""


def rereadable(source: Any, y: str | None, *, weights: str | None, batch_rows: int) -> Batches:
    """Return what gives the batches of a source, each time from the beginning."""
    if isinstance(source, (str, os.PathLike)):
        return _file_batches(source, y, weights, batch_rows)
    if weights is not None:
        raise DataError(
            f"weights must be left out unless source is a file; got {weights!r}. "
            "Give batches as (X, y, sample_weight), or as Tables with weights."
        )
    if callable(source):
        return lambda: _given(source(), y)
    if hasattr(source, "__next__"):
        raise DataError(
            f"source must be readable several times; got a {type(source).__name__}. "
            "Give the function that makes it, or a list of batches."
        )
    if is_frame(source) and not (
        isinstance(source, list) and not is_one_row(source[0])
    ):  # dicts may be batches or rows
        return lambda: _given([source], y)
    return lambda: _given(source, y)


def _given(batches: Any, y: str | None) -> Iterator[Given]:
    if not isinstance(batches, Iterable):
        raise DataError(
            "source must be a file, a list of batches, or a function that returns an iterable of them; got "
            f"{shortened(repr(batches))}."
        )
    for batch in batches:
        if not isinstance(batch, tuple) and y is None:
            raise DataError("a batch without classes must have y name their column; got None. Or give [(X, y), …].")
        if not isinstance(batch, tuple):
            yield batch, y, None
        elif len(batch) in (2, 3):
            yield (*batch, None)[:3]
        else:
            raise DataError(f"a batch must be a frame, (X, y) or (X, y, sample_weight); got {len(batch)} parts.")


def _file_batches(path: str | os.PathLike[str], y: str | None, weights: str | None, batch_rows: int) -> Batches:
    """Return what gives the batches of a file; the first one tells which columns are numbers."""
    if y is None:
        raise DataError("y must name the column of the file that holds the classes; got None.")
    typed = find_source(path, None, "utf-8").format in ("parquet", "arrow")
    head = next(_typed_batches(path, batch_rows) if typed else iter_batches(path, batch_rows=batch_rows))
    for what, name in {"y": y, "weights": weights}.items():
        if name is not None and name not in head.column_names:
            raise DataError(
                f"{what} must name a column of the file; got {name!r}. {did_you_mean(name, head.column_names)}"
            )
    if weights == y:
        raise DataError(f"weights must be another column than the classes; got {y!r} for both.")
    types = {} if typed else _number_types(head)

    def batches() -> Iterator[Given]:
        read = iter_batches(path, numbers=types, batch_rows=batch_rows)
        for table in _typed_batches(path, batch_rows) if typed else read:
            table = _whole_again(table, types)
            if weights is None:
                yield table, y, None
            else:
                yield table.drop_columns([weights]), y, table[weights].to_numpy()

    return batches


def _typed_batches(path: str | os.PathLike[str], batch_rows: int) -> Iterator[pa.Table]:
    source = find_source(path, None, "utf-8")
    read = iter_parquet(source, batch_rows) if source.format == "parquet" else iter_arrow(source)
    return (pa.Table.from_batches([batch]) for batch in read)


def _number_types(head: pa.Table) -> dict[str, pa.DataType]:
    """Return the types of the columns of text that hold nothing but numbers."""
    found = {}
    for name, column in zip(head.column_names, head.columns, strict=True):
        if column.null_count == len(column):
            continue
        for kind in (pa.int64(), pa.float64()):
            try:
                pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
            found[name] = kind
            break
    return found


def _whole_again(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Return a table with whole numbers as such where the first batch had only these."""
    for name, kind in types.items():
        if kind != pa.int64():
            continue
        try:
            whole = table[name].cast(kind)
        except pa.ArrowInvalid:
            continue
        table = table.set_column(table.column_names.index(name), name, whole)
    return table
