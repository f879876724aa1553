"""Values of any type as one Arrow column, or an error that names the row that does not fit.

Everything arrives as Arrow: what is Arrow already (polars, pyarrow, duckdb) is taken as it is,
NumPy and pandas columns are wrapped, without a copy where they lie in memory as Arrow has them, and lists of Python
values are read. Where Arrow would change a value on the way (a boolean among floats becomes 1.0, a time of day is
cut off a date, text ends at a NUL), the value is kept or the column refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import pyarrow as pa

from tunbridge._core.check import shortened
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas


Values: TypeAlias = object
"""The values of one column: a list, an array, or a series of any library. :func:`as_arrow` checks that they are."""

Frame: TypeAlias = object
"""Rows by column: a Table, a frame of any library, a dict of columns, a list of rows or records, or a matrix.

:func:`tunbridge.data.frames.frame_columns` checks that it is one.
"""

_PLAIN = "text, numbers, booleans, dates or times"
_CONVERT = "Turn it into text or numbers first."
_REFUSED = (pa.ArrowException, TypeError, ValueError, OverflowError)


def as_arrow(name: str, values: Values) -> pa.ChunkedArray:
    """Return any one-dimensional values as an Arrow column; None, NaT, pandas' NA and NaN among objects become null.

    The NaN of a column of floats stays as it is, so that nothing need be copied.

    Examples
    --------
    >>> as_arrow("age", [31, None, 62]).type
    DataType(int64)
    """
    try:
        column = _chunked(values)
    except _REFUSED as reason:
        if isinstance(reason, DataError):
            raise
        raise _why_not(name, values, reason) from None
    _check_type(name, column.type)
    if isinstance(values, list | tuple) or _is_object_array(values):
        _check_mixture(name, values, column.type)
    return column


def is_pandas(data: object, *kinds: str) -> TypeGuard[Any]:
    """Return whether data are a pandas object of one of these classes; pandas is not imported to find out.

    Another thread may be importing pandas: a class that does not exist yet has no instances.
    """
    classes = (getattr(sys.modules.get("pandas"), kind, None) for kind in kinds)
    return isinstance(data, tuple(c for c in classes if c is not None))


def is_text(arrow_type: pa.DataType) -> bool:
    """Return whether a type is one of Arrow's types of text."""
    t = pa.types
    return t.is_string(arrow_type) or t.is_large_string(arrow_type) or t.is_string_view(arrow_type)


def _chunked(values: Values) -> pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        return values
    if is_pandas(values, "Series"):
        values = _from_pandas(values)
    if isinstance(values, np.ndarray):
        values = _from_numpy(values)
    elif hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    elif not isinstance(values, pa.Array):
        values = _from_objects(values)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def _from_pandas(series: pandas.Series) -> np.ndarray | pa.Array:
    """Return a pandas column as NumPy where it is just that, else as Arrow."""
    if is_pandas(series.dtype, "SparseDtype"):
        series = series.sparse.to_dense()
    return series.to_numpy() if isinstance(series.dtype, np.dtype) else pa.array(series, from_pandas=True)


def _from_numpy(array: np.ndarray) -> pa.Array:
    mask = np.ma.getmaskarray(array) if np.ma.isMA(array) else None
    array = np.asarray(array)
    if array.dtype.kind == "U":
        array = array.astype(object)  # read as it is, Arrow would end each text at its first NUL
    elif array.dtype.kind in "mM" and not _arrow_knows(array.dtype):
        array = array.astype(f"{array.dtype.kind}8[s]", casting="safe")
    if array.dtype == object:
        return _from_objects(array, mask)
    return pa.array(array.astype(array.dtype.newbyteorder("="), copy=False), mask=mask)


def _arrow_knows(dtype: np.dtype) -> bool:
    """Return whether Arrow has a type for this NumPy type."""
    try:
        pa.from_numpy_dtype(dtype)
    except pa.ArrowException:
        return False
    return True


def _from_objects(values: Values, mask: np.ndarray | None = None) -> pa.Array:
    try:
        return pa.array(values, mask=mask, from_pandas=True)
    except OverflowError:
        return pa.array(values, pa.uint64(), mask=mask, from_pandas=True)  # 2⁶³ and above


def _check_type(name: str, arrow_type: pa.DataType) -> None:
    """Raise for columns that do not hold one plain value a row."""
    t = pa.types
    inner = arrow_type.value_type if t.is_dictionary(arrow_type) else arrow_type
    if is_text(inner) or t.is_null(inner) or t.is_boolean(inner) or t.is_decimal(inner) or t.is_integer(inner):
        return
    if t.is_floating(inner) or (t.is_temporal(inner) and not t.is_interval(inner)):
        return
    hint = "Decode the bytes into text first." if "binary" in str(inner) else _CONVERT
    raise DataError(f"column {name!r} must hold {_PLAIN}; got {shortened(str(arrow_type))}. {hint}")


def _is_object_array(values: object) -> TypeGuard[np.ndarray]:
    dtype = getattr(values, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _check_mixture(name: str, values: Iterable[Any], arrow_type: pa.DataType) -> None:
    """Raise for the mixtures of Python types that Arrow takes, though it changes values to do so."""
    types = set(map(type, values))
    truths = any(issubclass(kind, bool | np.bool_) for kind in types) and not pa.types.is_boolean(arrow_type)
    clocks = pa.types.is_date(arrow_type) and any(map(_is_time, values))
    zones = pa.types.is_timestamp(arrow_type) and len({v.tzinfo is None for v in values if _is_time(v)}) > 1
    if truths or clocks or zones:
        raise _mixed(name, _present(values))


def _is_time(value: object) -> bool:
    return isinstance(value, datetime) and not is_missing(value)


def _why_not(name: str, values: Values, reason: Exception) -> DataError:
    """Return the error that says why values cannot be a column."""
    if len(shape := getattr(values, "shape", (0,))) != 1:
        return DataError(f"column {name!r} must be one-dimensional; got shape {shape}.")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OU":
        return DataError(f"column {name!r} must hold {_PLAIN}; got the NumPy type {values.dtype}. {_CONVERT}")
    if isinstance(values, str) or not isinstance(values, Iterable):
        return DataError(f"column {name!r} must be a list of values; got {shortened(repr(values))}.")
    present = _present(values)
    if isinstance(reason, UnicodeEncodeError):
        row, text = next((row, value) for row, value in present if isinstance(value, str) and not _is_utf8(value))
        rule = "text that UTF-8 can write"
        return DataError(f"column {name!r} must hold {rule}; row {row} holds {shortened(repr(str(text)))}.")
    return _mixed(name, present)


def _present(values: Iterable[Any]) -> list[tuple[int, Any]]:
    return [(row, value) for row, value in enumerate(values, start=1) if not is_missing(value)]


def _mixed(name: str, present: list[tuple[int, Any]]) -> DataError:
    """Return the error that names the first row whose value is unlike the first one."""
    start, first = present[0]
    row, value = next(((r, v) for r, v in present if _family(v) != _family(first)), (start, first))
    if row != start:
        rule = f"values of one type; row {row} holds {_shown(value)}, row {start} holds {_shown(first)}"
        return DataError(f"column {name!r} must hold {rule}. Turn them into text or numbers first.")
    if _family(first) != "number":
        return DataError(f"column {name!r} must hold {_PLAIN}; row {row} holds {_shown(value)}. {_CONVERT}")
    row, value = max(present, key=lambda pair: abs(pair[1]))
    rule = f"numbers that 64 bits hold exactly; row {row} holds {_shown(value)}"
    return DataError(f"column {name!r} must hold {rule}. Turn them into text or floats first.")


def _family(value: object) -> str:
    """Return the name of the types that may stand together in a column."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | float | np.integer | np.floating):
        return "number"
    if isinstance(value, datetime):
        return "datetime" if value.tzinfo is None else "datetime with time zone"
    return next((kind.__name__ for kind in (str, date) if isinstance(value, kind)), type(value).__name__)


def _shown(value: object) -> str:
    kind = _family(value)
    return f"{shortened(repr(value))} ({type(value).__name__ if kind == 'number' else kind})"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
