from __future__ import annotations

import array
import datetime as dt
import fractions
import sys
import uuid
from collections import deque
from decimal import Decimal
from types import ModuleType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tunbridge.data.arrow import as_arrow, is_pandas
from tunbridge.errors import DataError

NAN = float("nan")
PLAIN = "column 'x' must hold text, numbers, booleans, dates or times"
UTC = dt.UTC


def refusal(values: object) -> str:
    with pytest.raises(DataError) as error:
        as_arrow("x", values)
    return str(error.value)


@pytest.mark.parametrize(
    ("values", "arrow_type", "cells"),
    [
        ([1, None, 3], pa.int64(), [1, None, 3]),
        (np.array([1, NAN, None, pd.NA], object), pa.int64(), [1, None, None, None]),
        (["a", NAN, pd.NaT, pd.NA], pa.string(), ["a", None, None, None]),
        ([True, None], pa.bool_(), [True, None]),
        ([1, 2.5], pa.float64(), [1.0, 2.5]),
        ([None, NAN], pa.null(), [None, None]),
        ([], pa.null(), []),
        ((1, 2), pa.int64(), [1, 2]),
        (range(3), pa.int64(), [0, 1, 2]),
        (deque(["a"]), pa.string(), ["a"]),
        (array.array("d", [1.5]), pa.float64(), [1.5]),
        ([2**64 - 1, 0], pa.uint64(), [2**64 - 1, 0]),
        ([Decimal("1.5"), Decimal("NaN")], pa.decimal128(2, 1), [Decimal("1.5"), None]),
        ([dt.date(2020, 1, 1), pd.NaT], pa.date32(), [dt.date(2020, 1, 1), None]),
        (pl.Series(["a", None]), pa.string_view(), ["a", None]),
        (pa.array([1, None], pa.int8()), pa.int8(), [1, None]),
    ],
)
def test_python_and_arrow_values(values: object, arrow_type: pa.DataType, cells: list) -> None:
    column = as_arrow("x", values)
    assert column.type == arrow_type
    assert column.to_pylist() == cells


@pytest.mark.parametrize(
    ("values", "arrow_type", "cells"),
    [
        (np.array([1, 2], ">i4"), pa.int32(), [1, 2]),
        (np.array([1.5], ">f4"), pa.float32(), [1.5]),
        (np.arange(10)[::-3], pa.int64(), [9, 6, 3, 0]),
        (np.arange(6).reshape(2, 3)[:, 1], pa.int64(), [1, 4]),
        (np.array([True, False]), pa.bool_(), [True, False]),
        (np.array(["a\0b", "c"]), pa.string(), ["a\0b", "c"]),
        (np.array(["2020-01-01", "NaT"], "M8[D]"), pa.date32(), [dt.date(2020, 1, 1), None]),
        (np.array(["2020-02", "NaT"], "M8[M]"), pa.timestamp("s"), [dt.datetime(2020, 2, 1), None]),
        (np.array([90], "m8[m]"), pa.duration("s"), [dt.timedelta(minutes=90)]),
        (np.ma.array([1, 2], mask=[False, True]), pa.int64(), [1, None]),
        (np.ma.array(["a", "b"], mask=[False, True]), pa.string(), ["a", None]),
        (np.ma.array(["a", 7], dtype=object, mask=[False, True]), pa.string(), ["a", None]),
        (np.ma.masked_all(2), pa.float64(), [None, None]),
    ],
)
def test_numpy_values(values: np.ndarray, arrow_type: pa.DataType, cells: list) -> None:
    column = as_arrow("x", values)
    assert column.type == arrow_type
    assert column.to_pylist() == cells


@pytest.mark.parametrize(
    ("series", "arrow_type", "cells"),
    [
        (pd.Series([1, None], dtype="Int16"), pa.int16(), [1, None]),
        (pd.Series([1, None], dtype="int64[pyarrow]"), pa.int64(), [1, None]),
        (pd.Series([True, None], dtype="boolean"), pa.bool_(), [True, None]),
        (pd.Series(pd.arrays.SparseArray([0, 5])), pa.int64(), [0, 5]),
        (pd.Series([1, None, NAN], dtype=object), pa.int64(), [1, None, None]),
        (pd.Series([0, 3], index=[7, 7]), pa.int64(), [0, 3]),
        (pd.Series(["2020-01-01", None], dtype="M8[s]"), pa.timestamp("s"), [dt.datetime(2020, 1, 1), None]),
    ],
)
def test_pandas_values(series: pd.Series, arrow_type: pa.DataType, cells: list) -> None:
    column = as_arrow("x", series)
    assert column.type == arrow_type
    assert column.to_pylist() == cells


def test_plain_numbers_are_wrapped_without_a_copy() -> None:
    for values in (np.arange(5), np.arange(5.0), np.array([1.0, NAN])):
        column = as_arrow("x", values)
        assert column.chunk(0).buffers()[1].address == values.ctypes.data
        assert column.null_count == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, "a"], "row 3 holds 'a' (str), row 1 holds 1 (int)"),
        ([None, "a", NAN, 3], "row 4 holds 3 (int), row 2 holds 'a' (str)"),
        (np.array(["a", 2.5], object), "row 2 holds 2.5 (float), row 1 holds 'a' (str)"),
        (pd.Series(["a", 2.5], dtype=object), "row 2 holds 2.5 (float), row 1 holds 'a' (str)"),
        (pd.Series(pd.Categorical([1, "a"])), "row 2 holds 'a' (str), row 1 holds 1 (int)"),
        (
            np.ma.array(["a", 1, 2.5], dtype=object, mask=[0, 1, 0]),
            "row 3 holds 2.5 (float), row 1 holds 'a' (str)",
        ),
        ([True, 1], "row 2 holds 1 (int), row 1 holds True (bool)"),
        ([1, True], "row 2 holds True (bool), row 1 holds 1 (int)"),
        ([1.5, True], "row 2 holds True (bool), row 1 holds 1.5 (float)"),
        ([1.5, np.True_], f"row 2 holds {np.True_!r} (bool), row 1 holds 1.5 (float)"),
        ([Decimal("1.5"), 2.5], "row 2 holds 2.5 (float), row 1 holds Decimal('1.5') (Decimal)"),
        (
            [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)],
            "row 2 holds datetime.datetime(2020, 1, 1, 5, 0) (datetime), row 1 holds datetime.date(2020, 1, 1) (date)",
        ),
    ],
)
def test_mixtures_are_refused_by_the_first_row_that_differs(values: object, message: str) -> None:
    expected = f"column 'x' must hold values of one type; {message}. Turn them into text or numbers first."
    assert refusal(values) == expected


def test_times_with_and_without_zone_are_a_mixture() -> None:
    message = refusal([dt.datetime(2020, 1, 1), pd.NaT, dt.datetime(2020, 1, 1, tzinfo=UTC)])
    assert message.startswith(
        "column 'x' must hold values of one type; row 3 holds datetime.datetime(2020, 1, 1, 0, 0, "
    )
    assert "(datetime with time zone), row 1 holds" in message


@pytest.mark.parametrize(
    ("values", "got", "hint"),
    [
        ([b"a"], "got binary", "Decode the bytes into text first."),
        (["a", b"a"], "got binary", "Decode the bytes into text first."),
        (np.array([b"a"]), "got binary", "Decode the bytes into text first."),
        (pa.array([b"a"], pa.large_binary()), "got large_binary", "Decode the bytes into text first."),
        (pa.array([b"a"], pa.binary_view()), "got binary_view", "Decode the bytes into text first."),
        (pa.array([b"abc"], pa.binary(3)), "got fixed_size_binary[3]", "Decode the bytes into text first."),
        ([[1], [2]], "got list<item: int64>", "Turn it into text or numbers first."),
        ([(1, 2)], "got list<item: int64>", "Turn it into text or numbers first."),
        ([{"a": 1}], "got struct<a: int64>", "Turn it into text or numbers first."),
        ([1j], "row 1 holds 1j (complex)", "Turn it into text or numbers first."),
        (np.array([1j]), "got the NumPy type complex128", "Turn it into text or numbers first."),
        (pd.Series([1j]), "row 1 holds 1j (complex)", "Turn it into text or numbers first."),
        (
            [None, fractions.Fraction(1, 2)],
            "row 2 holds Fraction(1, 2) (Fraction)",
            "Turn it into text or numbers first.",
        ),
        ([uuid.UUID(int=1)], "got extension<arrow.uuid>", "Turn it into text or numbers first."),
        (np.array([1], "m8[Y]"), "got the NumPy type timedelta64[Y]", "Turn it into text or numbers first."),
        (np.zeros(1, [("a", "i4")]), "got the NumPy type [('a', '<i4')]", "Turn it into text or numbers first."),
        (
            pa.array([None], pa.month_day_nano_interval()),
            "got month_day_nano_interval",
            "Turn it into text or numbers first.",
        ),
        (
            pa.RunEndEncodedArray.from_arrays([2], ["a"]),
            "got run_end_encoded<run_ends: int64, values: string>",
            "Turn it into text or numbers first.",
        ),
        (
            pd.Series(pd.period_range("2020", periods=2, freq="M")),
            "got extension<pandas.period<ArrowPeriodType>>",
            "Turn it into text or numbers first.",
        ),
    ],
)
def test_values_that_are_not_plain_are_refused(values: object, got: str, hint: str) -> None:
    assert refusal(values) == f"{PLAIN}; {got}. {hint}"


def test_categories_that_are_not_plain_are_refused() -> None:
    message = refusal(pd.Series(pd.cut([1, 2, 3], 2)))
    assert message.startswith(f"{PLAIN}; got dictionary<values=extension<pandas.interval")


@pytest.mark.parametrize(
    ("values", "row", "shown"),
    [
        ([1, 2**70], 2, "1180591620717411303424 (int)"),
        ([-1, 2**63], 2, "9223372036854775808 (int)"),
        ([2**53 + 1, 2.5], 1, "9007199254740993 (int)"),
    ],
)
def test_numbers_that_no_type_holds_are_refused(values: list, row: int, shown: str) -> None:
    rule = f"column 'x' must hold numbers that 64 bits hold exactly; row {row} holds {shown}."
    assert refusal(values) == f"{rule} Turn them into text or floats first."


@pytest.mark.parametrize("values", [["a", None, "\ud800"], np.array(["a", "b", "\ud800"])])
def test_text_that_cannot_be_written_is_refused(values: object) -> None:
    assert refusal(values) == "column 'x' must hold text that UTF-8 can write; row 3 holds '\\ud800'."


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize <= 8, reason="long doubles are doubles here")
def test_long_doubles_are_refused() -> None:
    assert refusal(np.ones(2, np.longdouble)).startswith(f"{PLAIN}; got the NumPy type float")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.eye(2), "column 'x' must be one-dimensional; got shape (2, 2)."),
        (np.array(5), "column 'x' must be one-dimensional; got shape ()."),
        (5, "column 'x' must be a list of values; got 5."),
        (None, "column 'x' must be a list of values; got None."),
    ],
)
def test_what_is_no_column_is_refused(values: object, message: str) -> None:
    assert refusal(values) == message


def test_pandas_that_another_thread_is_still_importing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    assert not is_pandas([1, 2], "Series", "DataFrame")
    assert as_arrow("a", ["x", None]).null_count == 1
