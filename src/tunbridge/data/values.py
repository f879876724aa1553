"""The distinct values of a column, and which of them each row holds.

Distinct text and decimals are found by Arrow's hashing, distinct numbers by NumPy: those in a narrow range by a lookup
table, others by sorting. Dates and times stay the integers that Arrow stores until the few distinct ones become Python
values. No step loops over the rows in Python.

:func:`to_floats` returns any values as float64: numbers, text that spells them, and dates and times as seconds.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import shortened
from tunbridge.data.arrow import Values, as_arrow, is_text
from tunbridge.data.variable import MISSING, State, is_missing
from tunbridge.errors import DataError

_NARROW_RANGE = 2**16

FEW_ROWS = 100
"""Rows up to which Python is faster than to call Arrow several times."""


def code_type(n_states: int) -> type[np.signedinteger]:
    """Return the smallest integer type that holds the codes 0 … n_states − 1 and −1 for missing."""
    return np.int8 if n_states <= 127 else np.int16 if n_states <= 32767 else np.int32


def distinct_values(name: str, values: Values) -> tuple[list[Any], np.ndarray]:
    """Return the distinct values that are present, and for each row which of them it holds (−1: missing).

    They are sorted; those of a categorical stand in its own order.

    Examples
    --------
    >>> distinct_values("x", ["b", "a", None, "b"])
    (['a', 'b'], array([ 1,  0, -1,  1], dtype=int8))
    """
    column, t = as_arrow(name, values), pa.types
    if t.is_dictionary(column.type):
        return _used(*dictionary_codes(column))
    if t.is_null(column.type):
        return [], np.full(len(column), MISSING, np.int8)
    if t.is_floating(column.type):
        floats = numpy_floats(column)
        distinct, codes = _distinct(floats, ~np.isnan(floats))
        return distinct.tolist(), codes
    if is_text(column.type) or t.is_decimal(column.type):
        return distinct_sorted(column)
    integers, present = _numpy_integers(as_integers(column))
    distinct, codes = _distinct(integers, present)
    return _plain_values(pa.array(distinct).cast(column.type)), codes


def dictionary_codes(column: pa.ChunkedArray) -> tuple[list[State], np.ndarray]:
    """Return a dictionary column's entries without nulls and repeats, and each row's entry (−1: missing)."""
    dictionary, indices = _joined(column)
    raw = _plain_values(dictionary)
    entries = list(dict.fromkeys(value for value in raw if not is_missing(value)))
    position = {value: code for code, value in enumerate(entries)}
    known = np.array([position.get(value, MISSING) for value in raw] + [MISSING], code_type(len(raw)))
    return entries, known[indices]


def _joined(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the dictionaries of all pieces one after the other, and each row's index into that (−1: missing).

    (Arrow's own unification of dictionaries refuses nulls, and takes long when there are many pieces.)
    """
    dictionaries: list[pa.Array] = []
    rows, start = [np.empty(0, np.int32)], 0
    for chunk in column.chunks:
        if not dictionaries or not chunk.dictionary.equals(dictionaries[-1]):
            start = sum(map(len, dictionaries))
            dictionaries.append(chunk.dictionary)
        wide = pa.int64() if column.type.index_type.bit_width == 64 else pa.int32()
        indices = chunk.indices.cast(wide).fill_null(MISSING).to_numpy()
        rows.append(np.where(indices < 0, MISSING, indices + start) if start else indices)
    empty = [pa.array([], column.type.value_type)]
    return pa.concat_arrays(dictionaries or empty), np.concatenate(rows)


def _used(entries: list[State], codes: np.ndarray) -> tuple[list[State], np.ndarray]:
    """Return the entries that occur, and codes into them."""
    used = np.zeros(len(entries) + 1, bool)
    used[codes] = True
    if used[:-1].all():
        return entries, codes
    position = np.append(np.cumsum(used[:-1]) - 1, MISSING).astype(codes.dtype)
    return [entries[i] for i in np.flatnonzero(used[:-1])], position[codes]


def distinct_sorted(column: pa.ChunkedArray) -> tuple[list[Any], np.ndarray]:
    """Return the distinct texts or decimals, sorted, and each row's place among them."""
    if len(column) <= FEW_ROWS and is_text(column.type):
        found = column.to_pylist()
        place = {text: code for code, text in enumerate(sorted(set(found) - {None}))}  # in UTF-8 by bytes, as Arrow
        return list(place), np.array([place.get(text, MISSING) for text in found], code_type(len(place)))
    if not pa.types.is_large_string(column.type) and not pa.types.is_string(column.type):  # types that Arrow can sort
        column = column.cast(pa.large_string() if is_text(column.type) else pa.decimal256(76, column.type.scale))
    entries, codes = _joined(pc.dictionary_encode(column))
    order = pc.array_sort_indices(entries)
    rank = np.empty(len(order) + 1, code_type(len(order)))
    rank[order.to_numpy()], rank[-1] = np.arange(len(order)), MISSING  # code −1 picks the last entry
    return entries.take(order).to_pylist(), rank[codes]


def _distinct(values: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers of the rows that are present, sorted, and each row's place among them."""
    complete = bool(present.all())
    here = values if complete else values[present]
    distinct, codes = _distinct_integers(here) if here.dtype.kind in "iu" else np.unique(here, return_inverse=True)
    if complete:
        return distinct, codes
    spread = np.full(present.size, MISSING, code_type(distinct.size))
    spread[present] = codes
    return distinct, spread


def _distinct_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.size == 0:
        return values, np.empty(0, np.int8)
    low, high = values.min(), values.max()
    if int(high) - int(low) >= _NARROW_RANGE:
        return np.unique(values, return_inverse=True)
    offsets = values - low if values.dtype.itemsize > 2 else values.astype(np.int32) - int(low)
    present = np.zeros(int(high) - int(low) + 1, bool)
    present[offsets] = True
    found = np.flatnonzero(present)
    lookup = np.zeros(present.size, code_type(found.size))
    lookup[found] = np.arange(found.size)
    return found.astype(values.dtype) + low, lookup[offsets]


# Between Arrow's values, NumPy's and Python's


def as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return booleans, integers, dates and times as the integers that Arrow stores."""
    t = pa.types
    if t.is_integer(column.type):
        return column
    if t.is_boolean(column.type):
        return column.cast(pa.int8())
    return column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())


def _numpy_integers(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return integers, with 0 for null, and which of them are present."""
    if not column.null_count:
        return column.to_numpy(), np.ones(len(column), bool)
    return column.fill_null(0).to_numpy(), column.is_valid().to_numpy()


def _plain_values(array: pa.Array) -> list[Any]:
    """Return an array's values as Python's own."""
    return _python_times(array) if pa.types.is_temporal(array.type) else array.to_pylist()


def _python_times(array: pa.Array) -> list[Any]:
    """Return dates or times as Python has them, or as integers where it has no value for one of them."""
    try:
        times = array.cast(_python_type(array.type)).to_pylist()
        kept = pa.array(times, array.type).equals(array)
    except (pa.ArrowException, KeyError, OverflowError, ValueError):  # KeyError: no time zones on this machine
        kept = False
    return times if kept else as_integers(array).to_pylist()


def _python_type(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type of times nearest to Python's: microseconds, and UTC, where no hour comes twice a year."""
    t, unit = pa.types, getattr(arrow_type, "unit", None)
    if t.is_timestamp(arrow_type):
        return pa.timestamp("us" if unit == "ns" else unit, arrow_type.tz and "UTC")
    if unit != "ns":
        return arrow_type
    return pa.duration("us") if t.is_duration(arrow_type) else pa.time64("us")


def numpy_floats(column: pa.ChunkedArray) -> np.ndarray:
    """Return a numeric column as float64 with NaN for null (no copy where Arrow holds just that)."""
    if column.type == pa.float16():
        return column.to_numpy().astype(np.float64)
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy()


DAY = 86_400
"""Seconds of a day."""


def to_floats(name: str, values: Values) -> np.ndarray:
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


def is_float_array(values: object) -> TypeGuard[np.ndarray]:
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
