"""One column, from whatever it came as to codes or floats, and back.

The rules by which a column's kind is inferred:

1. text, truth values and categoricals (pandas, polars, Arrow dictionaries) are **categorical**;
2. floating-point numbers are **continuous**, and so are whole numbers, decimal numbers, dates, times and durations,
   except that
3. whole numbers with at most two distinct values are **categorical**, and so is
4. a column with values that a double (a 64-bit float) would not give back unchanged: whole numbers beyond 2⁵³ that
   it would round, decimals of more digits than it has, times in nanoseconds with a fraction of a microsecond;
5. a column of which nothing is known, every cell being missing, is **categorical** without states.

``kind`` overrides the rules. Numbers that a double cannot hold are rounded when they are made continuous, and they and
text that is read as numbers go out again as doubles; every other column goes out with the values and the Arrow type it
came in, except that NaN, which means missing here, comes back as null.

The states of text and numbers are sorted, so that the order of the rows does not matter; those of a categorical keep
the order they came in, entries that no row uses included. States are Python's own values: ``str``, ``int``, ``float``,
``bool``, ``Decimal``, ``date``, ``datetime`` (in UTC where there is a time zone), ``time``, ``timedelta``. Times for
which Python has no value (fractions of a microsecond, years after 9999) are whole numbers in the column's unit.
Continuous dates and times are numbers in the column's unit, counted from 1970 or midnight.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import check_choice, listed, shortened
from tunbridge.data.arrow import as_arrow, is_text
from tunbridge.data.variable import MISSING, State, Variable, is_missing
from tunbridge.errors import DataError

__all__ = [
    "KINDS", "Column", "Kind", "as_arrow", "code_type", "column_to_arrow", "describe_unseen", "distinct_values",
    "encode_column", "fitting_type", "infer_column", "is_float_array", "state_type", "to_floats",
]  # fmt: skip

Kind = Literal["categorical", "continuous"]
KINDS = ("categorical", "continuous")

_EXACT = 2**53
_EXACT_DIGITS = 15
_NARROW_RANGE = 2**16
_ROUNDED_UP = 2048  # the last numbers below 2⁶⁴ round to 2⁶⁴, and a processor may cast that back to anything


class Column(NamedTuple):
    """A variable, its codes or floats, and the Arrow type that gives the values back."""

    variable: Variable
    values: np.ndarray
    type: pa.DataType


def code_type(n_states: int) -> type[np.signedinteger]:
    """Return the smallest integer type that holds the codes 0 … n_states − 1 and −1 for missing."""
    return np.int8 if n_states <= 127 else np.int16 if n_states <= 32767 else np.int32


def infer_column(name: str, values: Any, kind: Kind | None = None) -> Column:
    """Return the column's variable, codes or floats, by the rules above or as ``kind`` says.

    Examples
    --------
    >>> infer_column("grade", [2, 3, 2, 1]).variable, infer_column("grade", [2, 3, 2, 1], "categorical").variable
    (Variable('grade', continuous), Variable('grade', [1, 2, 3]))
    """
    if kind is not None:
        check_choice(f"the kind of column {name!r}", kind, KINDS)
    if kind != "categorical" and is_float_array(values):
        return Column(Variable(name), to_floats(name, values), pa.from_numpy_dtype(values.dtype))
    column = as_arrow(name, values)
    if (kind or _natural_kind(column)) == "categorical":
        return _categorical(name, column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return Column(Variable(name), to_floats(name, column), column.type if _is_exact(column) else pa.float64())


def encode_column(variable: Variable, values: Any) -> tuple[np.ndarray, list[State]]:
    """Return codes or floats of a known variable, and the distinct values that are none of its states.

    A value is in the state that it equals, or else that reads like it (see :mod:`tunbridge.data.variable`).

    Examples
    --------
    >>> encode_column(Variable("sky", ["clear", "cloudy"]), ["clear", None, "green", "clear"])
    (array([ 0, -1, -1,  0], dtype=int8), ['green'])
    """
    if variable.is_continuous:
        return to_floats(variable.name, values), []
    column = as_arrow(variable.name, values)
    if pa.types.is_temporal(column.type) and all(isinstance(state, int) for state in variable.states or ()):
        column = _as_integers(column)
    distinct, codes = distinct_values(variable.name, column)
    known = np.full(len(distinct) + 1, MISSING, code_type(variable.n_states))
    known[:-1] = [variable.find(value) for value in distinct]
    return known[codes], [distinct[i] for i in np.flatnonzero(known[:-1] == MISSING)]


def distinct_values(name: str, values: Any) -> tuple[list[Any], np.ndarray]:
    """Return the distinct values that are present, and for each row which of them it holds (−1: missing).

    They are sorted; those of a categorical stand in its own order.

    Examples
    --------
    >>> distinct_values("x", ["b", "a", None, "b"])
    (['a', 'b'], array([ 1,  0, -1,  1], dtype=int8))
    """
    column, t = as_arrow(name, values), pa.types
    if t.is_dictionary(column.type):
        return _used(*_dictionary_codes(column))
    if t.is_null(column.type):
        return [], np.full(len(column), MISSING, np.int8)
    if t.is_floating(column.type):
        floats = _numpy_floats(column)
        distinct, codes = _distinct(floats, ~np.isnan(floats))
        return distinct.tolist(), codes
    if is_text(column.type) or t.is_decimal(column.type):
        return _distinct_sorted(column)
    integers, present = _numpy_integers(_as_integers(column))
    distinct, codes = _distinct(integers, present)
    return _plain_values(pa.array(distinct).cast(column.type)), codes


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
        floats = _numpy_floats(_as_numbers(name, as_arrow(name, values)))
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


def column_to_arrow(column: Column) -> pa.Array:
    """Return the column as an Arrow array of the type it came in; missing cells are null.

    Examples
    --------
    >>> column_to_arrow(infer_column("age", [31, None, 62])).to_pylist()
    [31, None, 62]
    """
    variable, values, arrow_type = column
    if variable.is_continuous:
        return _floats_to_arrow(values, arrow_type)
    indices = pa.array(values, mask=values < 0)
    if pa.types.is_dictionary(arrow_type):
        states = _states_to_arrow(variable, arrow_type.value_type)
        return pa.DictionaryArray.from_arrays(indices.cast(arrow_type.index_type), states, ordered=arrow_type.ordered)
    if pa.types.is_string_view(arrow_type):  # which Arrow cannot take from
        return _states_to_arrow(variable, pa.large_string()).take(indices).cast(arrow_type)
    return _states_to_arrow(variable, arrow_type).take(indices)


def state_type(variable: Variable) -> pa.DataType:
    """Return the Arrow type of a variable's states; text where they are of several types.

    Examples
    --------
    >>> state_type(Variable("dose", [0, 5, 10])), state_type(Variable("dose", [0, "high"]))
    (DataType(int64), DataType(string))
    """
    try:
        return as_arrow(variable.name, list(variable.states or ())).type
    except DataError:
        return pa.string()


def fitting_type(variable: Variable, arrow_type: pa.DataType) -> pa.DataType:
    """Return the type in which a variable's states go out: the one given, or their own where they do not fit that.

    Examples
    --------
    >>> fitting_type(Variable("dose", [0, 5]), pa.int8()), fitting_type(Variable("dose", [0, "high"]), pa.int8())
    (DataType(int8), DataType(string))
    """
    if pa.types.is_dictionary(arrow_type):
        inner, index = fitting_type(variable, arrow_type.value_type), arrow_type.index_type
        room = np.iinfo(index.to_pandas_dtype()).max
        return pa.dictionary(index if variable.n_states <= room else pa.int32(), inner, ordered=arrow_type.ordered)
    try:
        _states_to_arrow(variable, arrow_type)
    except pa.ArrowException:
        return state_type(variable)
    return arrow_type


def describe_unseen(name: str, unseen: list[State]) -> str:
    """Return the sentence of the warning about states that the model has not seen."""
    return f"column {name!r} holds states that were not there at learning: {listed(unseen)}; they count as missing."


# Kinds


def _natural_kind(column: pa.ChunkedArray) -> Kind:
    """Return the kind by the rules at the top of this module."""
    t = pa.types
    if t.is_floating(column.type):
        return "continuous"
    if t.is_integer(column.type):
        return "continuous" if not _at_most_two(column) and _is_exact(column) else "categorical"
    if t.is_decimal(column.type) or t.is_temporal(column.type):
        return "continuous" if _is_exact(column) else "categorical"
    return "categorical"


def _at_most_two(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column)
    low, high = ends["min"], ends["max"]
    if not low.is_valid or high.as_py() - low.as_py() <= 1:
        return True
    return bool(pc.all(pc.or_(pc.equal(column, low), pc.equal(column, high))).as_py())


def _is_exact(column: pa.ChunkedArray) -> bool:
    """Return whether every value comes back unchanged from a double."""
    t = pa.types
    if t.is_floating(column.type) or t.is_boolean(column.type) or t.is_null(column.type):
        return True
    if t.is_integer(column.type) or t.is_temporal(column.type):
        return _integers_are_exact(_as_integers(column))
    if t.is_decimal(column.type):
        return column.type.precision <= _EXACT_DIGITS or _decimals_are_exact(column)
    return False


def _integers_are_exact(column: pa.ChunkedArray) -> bool:
    low, high = pc.min_max(column).as_py().values()
    if low is None or (low >= -_EXACT and high <= _EXACT):
        return True
    if high > np.iinfo(column.type.to_pandas_dtype()).max - _ROUNDED_UP:
        return False
    return bool(column.cast(pa.float64(), safe=False).cast(column.type, safe=False).equals(column))


def _decimals_are_exact(column: pa.ChunkedArray) -> bool:
    try:
        return bool(_decimals_to_floats(column).cast(column.type).equals(column))
    except pa.ArrowInvalid:
        return False


# Floats


def _as_numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as numbers of some type, or raise and name the value that is none."""
    t = pa.types
    if t.is_dictionary(column.type):
        return _as_numbers(name, column.cast(column.type.value_type))
    if t.is_temporal(column.type):
        return _as_integers(column)
    if t.is_decimal(column.type):
        return _decimals_to_floats(column)
    return _parsed(name, column.cast(pa.large_string())) if is_text(column.type) else column


def _numpy_floats(column: pa.ChunkedArray) -> np.ndarray:
    """Return a numeric column as float64 with NaN for null (no copy where Arrow holds just that)."""
    if column.type == pa.float16():
        return column.to_numpy().astype(np.float64)
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy()


def _decimals_to_floats(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()).cast(pa.float64())  # by way of text, since Arrow's own way rounds twice


def _parsed(name: str, text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text as the numbers that it spells."""
    text = pc.utf8_trim_whitespace(text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:  # Python reads more ways to write a number («+1»), and we must find the bad one
        entries, codes = _distinct_sorted(text)
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


def _floats_to_arrow(values: np.ndarray, arrow_type: pa.DataType) -> pa.Array:
    t, missing = pa.types, np.isnan(values)
    if t.is_null(arrow_type):
        return pa.nulls(len(values))
    if t.is_floating(arrow_type):
        return pa.array(values.astype(arrow_type.to_pandas_dtype(), copy=False), mask=missing)
    array = pa.array(values, mask=missing)
    if t.is_temporal(arrow_type):
        array = array.cast(pa.int32() if arrow_type.bit_width == 32 else pa.int64())
    return array.cast(arrow_type)


# Codes


def _categorical(name: str, column: pa.ChunkedArray) -> Column:
    if pa.types.is_boolean(column.type):
        codes = column.cast(pa.int8()).fill_null(MISSING).to_numpy()
        return Column(Variable(name, [False, True]), codes, column.type)
    dictionary = pa.types.is_dictionary(column.type)
    states, codes = _dictionary_codes(column) if dictionary else distinct_values(name, column)
    variable = Variable(name, states, ordered=dictionary and column.type.ordered)
    return Column(variable, codes.astype(code_type(len(states)), copy=False), column.type)


def _dictionary_codes(column: pa.ChunkedArray) -> tuple[list[State], np.ndarray]:
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


def _distinct_sorted(column: pa.ChunkedArray) -> tuple[list[Any], np.ndarray]:
    """Return the distinct texts or decimals, sorted, and each row's place among them."""
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


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return truth values, whole numbers, dates and times as the whole numbers by which Arrow holds them."""
    t = pa.types
    if t.is_integer(column.type):
        return column
    if t.is_boolean(column.type):
        return column.cast(pa.int8())
    return column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())


def _numpy_integers(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers, with 0 for null, and which of them are present."""
    if not column.null_count:
        return column.to_numpy(), np.ones(len(column), bool)
    return column.fill_null(0).to_numpy(), column.is_valid().to_numpy()


def _plain_values(array: pa.Array) -> list[Any]:
    """Return an array's values as Python's own."""
    return _python_times(array) if pa.types.is_temporal(array.type) else array.to_pylist()


def _python_times(array: pa.Array) -> list[Any]:
    """Return dates or times as Python has them, or as whole numbers where it has no value for one of them."""
    try:
        times = array.cast(_python_type(array.type)).to_pylist()
        kept = pa.array(times, array.type).equals(array)
    except (pa.ArrowException, KeyError, OverflowError, ValueError):  # KeyError: no time zones on this machine
        kept = False
    return times if kept else _as_integers(array).to_pylist()


def _python_type(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type of times nearest to Python's: microseconds, and UTC, where no hour comes twice a year."""
    t, unit = pa.types, getattr(arrow_type, "unit", None)
    if t.is_timestamp(arrow_type):
        return pa.timestamp("us" if unit == "ns" else unit, arrow_type.tz and "UTC")
    if unit != "ns":
        return arrow_type
    return pa.duration("us") if t.is_duration(arrow_type) else pa.time64("us")


def _states_to_arrow(variable: Variable, arrow_type: pa.DataType) -> pa.Array:
    states = list(variable.states or ())
    try:
        return pa.array(states, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        own = state_type(variable)
        return pa.array([str(s) for s in states] if own == pa.string() else states, own).cast(arrow_type)
