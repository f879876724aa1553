"""One column, from whatever it came as to codes or floats, and back.

The rules by which a column's kind is inferred:

1. text, booleans and categoricals (pandas, polars, Arrow dictionaries) are **categorical**;
2. floating-point numbers, integers, decimals, dates, times and durations are **continuous**, with two exceptions:
3. integers with at most two distinct values are **categorical**;
4. values that a 64-bit float cannot hold exactly are **categorical**: integers beyond 2⁵³ that it would round,
   decimals with too many digits, times with a fraction of a microsecond;
5. a column without any known value is **categorical**, without states.

``kind`` overrides the rules. Numbers that a double cannot hold are rounded when they are made continuous, and they and
text that is read as numbers go out again as doubles; every other column goes out with the values and the Arrow type it
came in, except that NaN, which means missing here, comes back as null.

The states of text and numbers are sorted, so that the order of the rows does not matter; those of a categorical keep
the order they came in, entries that no row uses included. States are Python's own values: ``str``, ``int``, ``float``,
``bool``, ``Decimal``, ``date``, ``datetime`` (in UTC where there is a time zone), ``time``, ``timedelta``. Times for
which Python has no value (fractions of a microsecond, years after 9999) are integers in the column's unit.
Continuous dates and times are seconds, counted from 1970 (in UTC where there is a time zone) or from midnight, whatever
the unit of the column: so a model that was learned from microseconds understands nanoseconds.

A column of a variable with bins may hold numbers, text that spells them, and the labels of the bins. Numbers are binned
by bisection, all rows at once; of text, labels are looked up in a hash table and the rest is parsed as numbers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import check_choice
from tunbridge.data.arrow import Values, as_arrow, is_text
from tunbridge.data.values import (
    DAY,
    FEW_ROWS,
    as_integers,
    as_numbers,
    code_type,
    dictionary_codes,
    distinct_values,
    is_float_array,
    numpy_floats,
    per_second,
    to_floats,
)
from tunbridge.data.variable import MISSING, State, Variable, number_of
from tunbridge.errors import DataError

__all__ = [
    "KINDS", "Column", "Kind", "as_arrow", "code_type", "column_to_arrow", "distinct_values",
    "encode_column", "fitting_type", "infer_column", "interval_codes", "is_float_array", "state_type", "to_floats",
]  # fmt: skip

Kind = Literal["categorical", "continuous"]
KINDS = ("categorical", "continuous")

_EXACT = 2**53
_DOUBLE = pa.float64()
_EXACT_DIGITS = 15
_LAST = {pa.int64(): 2**63 - 1024, pa.uint64(): 2**64 - 2048}  # what rounds to 2⁶³ or 2⁶⁴ may be cast to anything
_FEW_CUTS = 12
_FINE = 2**22  # the seconds up to which a double tells nanoseconds apart


class Column(NamedTuple):
    """A variable, its codes or floats, and the Arrow type that gives the values back."""

    variable: Variable
    values: np.ndarray
    type: pa.DataType


def infer_column(name: str, values: Values, kind: Kind | None = None) -> Column:
    """Return the column's variable, codes or floats, by the rules above or as ``kind`` says.

    Examples
    --------
    >>> infer_column("grade", [2, 3, 2, 1]).variable, infer_column("grade", [2, 3, 2, 1], "categorical").variable
    (Variable('grade', continuous), Variable('grade', [1, 2, 3]))
    """
    if isinstance(values, pa.ChunkedArray) and values.type == _DOUBLE and kind != "categorical":
        values = values.to_numpy()
    if kind is not None:
        check_choice(f"the kind of column {name!r}", kind, KINDS)
    if kind != "categorical" and is_float_array(values):
        return Column(Variable(name), to_floats(name, values), pa.from_numpy_dtype(values.dtype))
    column = as_arrow(name, values)
    if len(column) <= FEW_ROWS and pa.types.is_integer(column.type) and (few := _few_integers(name, column, kind)):
        return few
    if kind == "continuous" and pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    exact = _is_exact(column)
    if (kind or _natural_kind(column, exact)) == "categorical":
        return _categorical(name, column)
    variable = Variable(name, dates=holds_dates(column.type))
    return Column(variable, to_floats(name, column), column.type if exact else pa.float64())


def holds_dates(arrow_type: pa.DataType) -> bool:
    """Return whether values of a type are dates, with or without a time of day."""
    return bool(pa.types.is_timestamp(arrow_type) or pa.types.is_date(arrow_type))


def _few_integers(name: str, column: pa.ChunkedArray, kind: Kind | None) -> Column | None:
    """Return a column of a few integers by the rules above, without the many calls of Arrow; None: it is not plain."""
    numbers = column.to_pylist()
    distinct = [] if column.null_count else sorted(set(numbers))
    if not distinct or distinct[0] < -_EXACT or distinct[-1] > _EXACT:
        return None
    if kind == "continuous" or (kind is None and len(distinct) > 2):
        return Column(Variable(name), np.array(numbers, np.float64), column.type)
    place = {number: code for code, number in enumerate(distinct)}
    return Column(Variable(name, distinct), np.array([place[n] for n in numbers], code_type(len(place))), column.type)


def encode_column(variable: Variable, values: Values) -> tuple[np.ndarray, list[State]]:
    """Return codes or floats of a known variable, and the distinct values that are none of its states.

    A value is in the state that it equals, or else that reads like it (see :mod:`tunbridge.data.variable`). For a
    variable with bins numbers, also numbers written as text, are put into their bin; columns
    of numbers must be finite. In a column of text each value is by itself a label, a number, or unknown.

    Examples
    --------
    >>> encode_column(Variable("sky", ["clear", "cloudy"]), ["clear", None, "green", "clear"])
    (array([ 0, -1, -1,  0], dtype=int8), ['green'])
    >>> encode_column(Variable("fever", ["no", "yes"], cuts=[38.5]), [36.6, None, 39.0])
    (array([ 0, -1,  1], dtype=int8), [])
    """
    if variable.is_continuous:
        return to_floats(variable.name, _as_dates(variable.name, values) if variable.dates else values), []
    if variable.cuts is not None and (cut := cut_column(variable, values)) is not None:
        return cut, []
    column = as_arrow(variable.name, values)
    if pa.types.is_temporal(column.type) and all(isinstance(state, int) for state in variable.states or ()):
        column = as_integers(column)
    distinct, codes = distinct_values(variable.name, column)
    known = np.full(len(distinct) + 1, MISSING, code_type(variable.n_states))
    known[:-1] = [variable.find(value) for value in distinct]
    return known[codes], [distinct[i] for i in np.flatnonzero(known[:-1] == MISSING)]


def _as_dates(name: str, values: Values) -> Values:
    """Return texts in ISO form as times; other values, and texts of which one is none, as they are."""
    column = as_arrow(name, values)
    column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    with suppress(pa.ArrowInvalid):
        return column.cast(pa.timestamp("us")) if is_text(column.type) else column
    return column


def column_to_arrow(column: Column) -> pa.Array:
    """Return the column as an Arrow array of the type it came in; missing values are null.

    Examples
    --------
    >>> column_to_arrow(infer_column("age", [31, None, 62])).to_pylist()
    [31, None, 62]
    """
    variable, values, arrow_type = column
    if variable.is_continuous:
        return _floats_to_arrow(values, arrow_type)
    is_missing = values < 0
    indices = pa.array(values, mask=is_missing) if is_missing.any() else pa.array(values)
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


def _natural_kind(column: pa.ChunkedArray, exact: bool) -> Kind:
    """Return the kind by the rules at the top of this module."""
    t = pa.types
    number = t.is_floating(column.type) or t.is_integer(column.type) or t.is_decimal(column.type)
    few = t.is_integer(column.type) and _at_most_two(column)
    return "continuous" if (number or t.is_temporal(column.type)) and exact and not few else "categorical"


def _at_most_two(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column)
    low, high = ends["min"], ends["max"]
    if not low.is_valid or high.as_py() - low.as_py() <= 1:
        return True
    return bool(pc.all(pc.or_(pc.equal(column, low), pc.equal(column, high))).as_py())


def _is_exact(column: pa.ChunkedArray) -> bool:
    """Return whether every value comes back unchanged from a double."""
    t = pa.types
    if t.is_dictionary(column.type) or is_text(column.type):
        return False
    if t.is_floating(column.type) or t.is_boolean(column.type) or t.is_null(column.type):
        return True
    if t.is_decimal(column.type):
        return column.type.precision <= _EXACT_DIGITS or _comes_back(column)
    integers = as_integers(column)
    low, high = pc.min_max(integers).as_py().values()
    if low is None or (t.is_integer(column.type) and low >= -_EXACT and high <= _EXACT):
        return True
    return high <= _LAST.get(integers.type, high) and _comes_back(column)


def _comes_back(column: pa.ChunkedArray) -> bool:
    try:
        back = _floats_to_arrow(numpy_floats(as_numbers("", column)), column.type)
    except pa.ArrowInvalid:
        return False
    return bool(pa.chunked_array([back]).equals(column))


# Floats


def _from_seconds(seconds: np.ndarray, arrow_type: pa.DataType) -> np.ndarray:
    """Return seconds as the integers by which Arrow holds dates and times."""
    if pa.types.is_date32(arrow_type):
        return np.rint(seconds / DAY).astype(np.int32)
    units = per_second(arrow_type)
    whole = np.floor(seconds)
    step = np.where(np.abs(whole) < _FINE, 1, 1000) if units == 10**9 else 1
    rest = np.rint((seconds - whole) * (units / step)) * step
    numbers = whole.astype(np.int64) * units + rest.astype(np.int64)
    return numbers.astype(np.int32) if arrow_type.bit_width == 32 else numbers


def _floats_to_arrow(values: np.ndarray, arrow_type: pa.DataType) -> pa.Array:
    t, missing = pa.types, np.isnan(values)
    if t.is_null(arrow_type):
        return pa.nulls(len(values))
    if t.is_floating(arrow_type):
        return pa.array(values.astype(arrow_type.to_pandas_dtype(), copy=False), mask=missing)
    if t.is_temporal(arrow_type):
        return pa.array(_from_seconds(np.where(missing, 0, values), arrow_type), mask=missing).cast(arrow_type)
    return pa.array(values, mask=missing).cast(arrow_type)


# Codes


def _categorical(name: str, column: pa.ChunkedArray) -> Column:
    if pa.types.is_boolean(column.type):
        codes = column.cast(pa.int8()).fill_null(MISSING).to_numpy()
        return Column(Variable(name, [False, True]), codes, column.type)
    dictionary = pa.types.is_dictionary(column.type)
    states, codes = dictionary_codes(column) if dictionary else distinct_values(name, column)
    variable = Variable(name, states, ordered=dictionary and column.type.ordered)
    return Column(variable, codes.astype(code_type(len(states)), copy=False), column.type)


def _states_to_arrow(variable: Variable, arrow_type: pa.DataType) -> pa.Array:
    states = list(variable.states or ())
    try:
        return pa.array(states, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        own = state_type(variable)
        return pa.array([str(s) for s in states] if own == pa.string() else states, own).cast(arrow_type)


def interval_codes(cuts: tuple[float, ...], floats: np.ndarray) -> np.ndarray:
    """Return the number of each value's interval, counted from 0; −1 for NaN.

    Examples
    --------
    >>> interval_codes((37.5, 38.5), np.array([36.6, 37.5, 39.2, np.nan]))
    array([ 0,  0,  2, -1], dtype=int8)
    """
    if 0 < len(cuts) <= _FEW_CUTS:  # to compare with each cut takes less time than to search among them
        codes = (floats > cuts[0]).view(np.int8)
        for cut in cuts[1:]:
            codes += floats > cut
    else:
        codes = np.searchsorted(np.array(cuts), floats, side="left").astype(code_type(len(cuts) + 1))
    codes[np.isnan(floats)] = MISSING
    return codes


def cut_column(variable: Variable, values: Values) -> np.ndarray | None:
    """Return the codes of a column of numbers, labels or both; None where it holds, or may hold, anything else."""
    cuts, t = variable.cuts or (), pa.types
    if is_float_array(values):
        return interval_codes(cuts, to_floats(variable.name, values))
    column = as_arrow(variable.name, values)
    if is_text(column.type):
        return _cut_text(variable, column.cast(pa.large_string()))
    number = t.is_floating(column.type) or t.is_integer(column.type) or t.is_decimal(column.type)
    return interval_codes(cuts, to_floats(variable.name, column)) if number or t.is_temporal(column.type) else None


def _cut_text(variable: Variable, column: pa.ChunkedArray) -> np.ndarray | None:
    """Return the codes of labels and numbers; None when there is any other text."""
    labels = [state if isinstance(state, str) else None for state in variable.states or ()]
    at = pc.index_in(column, value_set=pa.array(labels, pa.large_string()), skip_nulls=True)
    rest = pc.if_else(at.is_valid(), pa.scalar(None, pa.large_string()), column)
    first = next(iter(rest.drop_null().slice(0, 1).to_pylist()), "0")
    if number_of(first) is None:  # Arrow takes its time over each text that is no number
        return None
    try:
        floats = to_floats(variable.name, rest.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    codes = interval_codes(variable.cuts or (), floats)
    codes[at.is_valid().to_numpy()] = at.drop_null().to_numpy()
    return codes
