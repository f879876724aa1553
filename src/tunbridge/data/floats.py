"""Values of any make as doubles: numbers, text that spells them, and dates and times as seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import shortened
from tunbridge.data.arrow import as_arrow, is_text
from tunbridge.data.distinct import as_integers, distinct_sorted, numpy_floats
from tunbridge.errors import DataError

DAY = 86_400
"""Seconds of a day."""


def to_floats(name: str, values: Any) -> np.ndarray:
    """Return values as float64 with NaN for missing; raise for text that is no number and for infinities.

    Nothing is copied when they are float64 already, in NumPy or in one piece of Arrow without nulls.

    Examples
    --------
    >>> to_floats("age", ["31", None, " 6e1 "])
    array([31., nan, 60.])
    """
    if is_float_array(values):
        floats = values.astype(np.float64, copy=False)
    else:
        floats = numpy_floats(as_numbers(name, as_arrow(name, values)))
    infinite = np.isinf(floats)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(
            f"column {name!r} must hold finite numbers; row {row + 1} contains infinity ({floats[row]}). "
            "Replace it by a number or leave the cell empty."
        )
    return floats


def is_float_array(values: Any) -> bool:
    """Return whether values are a plain one-dimensional NumPy array of floats, which may stay where it is."""
    if not isinstance(values, np.ndarray) or np.ma.isMA(values):
        return False
    return values.ndim == 1 and values.dtype.kind == "f" and values.dtype.itemsize <= 8


def as_numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as numbers of some type, or raise and name the value that is none."""
    t = pa.types
    if t.is_dictionary(column.type):
        return as_numbers(name, column.cast(column.type.value_type))
    if t.is_temporal(column.type):
        return _seconds(column)
    if t.is_decimal(column.type):
        return column.cast(pa.string()).cast(pa.float64())  # by way of text, since Arrow's own way rounds twice
    return _parsed(name, column.cast(pa.large_string())) if is_text(column.type) else column


def _parsed(name: str, text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text as the numbers that it spells."""
    text = pc.utf8_trim_whitespace(text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:  # Python reads more ways to write a number («+1»), and we must find the bad one
        entries, codes = distinct_sorted(text)
    numbers = [_number(entry) for entry in entries]
    if None in numbers:
        row = int(np.argmax(np.array([n is None for n in numbers] + [False])[codes]))
        raise DataError(
            f"column {name!r} must hold numbers; row {row + 1} holds {shortened(repr(entries[codes[row]]))}. "
            "Make the column categorical, or give that value as a missing marker."
        )
    return pa.chunked_array([np.array([*numbers, np.nan], np.float64)[codes]])


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and times as seconds; whole seconds and the rest apart, so that neither rounds the other away."""
    integers, units = as_integers(column), per_second(column.type)
    if pa.types.is_date32(column.type):
        return pc.multiply(integers.cast(pa.float64()), float(DAY))
    whole = pc.divide(integers, units)
    rest = pc.subtract(integers, pc.multiply(whole, units))
    return pc.add(whole.cast(pa.float64(), safe=False), pc.divide(rest.cast(pa.float64()), float(units)))


def per_second(arrow_type: pa.DataType) -> int:
    """Return how many units of a type of times make a second."""
    return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(arrow_type, "unit", "ms")]  # ms: that of a date64
