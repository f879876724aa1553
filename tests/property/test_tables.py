"""Whatever comes in goes out again: values, types, order, missing cells."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.data import Variable, as_table, encode
from tunbridge.data.columns import KINDS, column_to_arrow, distinct_values, infer_column

UNITS = ("s", "ms", "us", "ns")
ZONES = (None, "UTC", "Europe/Berlin", "America/New_York")

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
integer_types = st.sampled_from([getattr(pa, f"{u}int{bits}")() for u in ("", "u") for bits in (8, 16, 32, 64)])
time_types = st.one_of(
    st.builds(pa.timestamp, st.sampled_from(UNITS), st.sampled_from(ZONES)),
    st.builds(pa.duration, st.sampled_from(UNITS)),
)
decimal_types = st.integers(1, 38).flatmap(lambda p: st.builds(pa.decimal128, st.just(p), st.integers(0, p)))


def whole_numbers(bits: int, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    narrow = st.integers(max(low, -5), min(high, 5))
    return st.one_of(narrow, st.sampled_from([low, high]), st.integers(low, high))


def values_of(arrow_type: pa.DataType) -> st.SearchStrategy:
    """Return what a column of the type may hold, as pa.array takes it."""
    t = pa.types
    if t.is_integer(arrow_type):
        return whole_numbers(arrow_type.bit_width, t.is_signed_integer(arrow_type))
    if t.is_floating(arrow_type):
        return st.floats(width=arrow_type.bit_width, allow_infinity=False)
    if t.is_decimal(arrow_type):
        limit = 10**arrow_type.precision - 1
        return st.integers(-limit, limit).map(
            lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -arrow_type.scale))
        )
    if t.is_boolean(arrow_type):
        return st.booleans()
    if t.is_date32(arrow_type):
        return whole_numbers(32)
    if t.is_date64(arrow_type):
        return st.integers(-(10**5), 10**5).map(lambda days: days * 86_400_000)
    if t.is_time(arrow_type):
        return st.integers(0, 86_400 * 1000 ** UNITS.index(arrow_type.unit) - 1)
    if t.is_temporal(arrow_type):
        return whole_numbers(64)
    return st.none() if t.is_null(arrow_type) else text


plain_types = st.one_of(
    integer_types,
    time_types,
    decimal_types,
    st.sampled_from([pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.date64()]),
    st.sampled_from([pa.string(), pa.large_string(), pa.string_view(), pa.decimal32(7, 2), pa.decimal256(50, 9)]),
    st.sampled_from([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
)
dictionary_types = st.builds(
    pa.dictionary,
    st.sampled_from([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()]),
    st.sampled_from([pa.string(), pa.large_string(), pa.int64(), pa.uint64(), pa.float64(), pa.date32()]),
    ordered=st.booleans(),
)


@st.composite
def dictionary_arrays(draw: st.DrawFn, arrow_type: pa.DictionaryType, n_rows: int) -> pa.Array:
    """Return an array whose dictionary may hold nulls, and entries that no row uses."""
    cells = st.none() | values_of(arrow_type.value_type)
    entries = draw(st.lists(cells, min_size=1, max_size=6, unique=True))
    indices = draw(st.lists(st.none() | st.integers(0, len(entries) - 1), min_size=n_rows, max_size=n_rows))
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, arrow_type.index_type), pa.array(entries, arrow_type.value_type), ordered=arrow_type.ordered
    )


@st.composite
def arrays(draw: st.DrawFn, arrow_type: pa.DataType, n_rows: int) -> pa.Array:
    """Return an array that is cut out of a longer one; some of its values are likely to come twice."""
    if pa.types.is_dictionary(arrow_type):
        return draw(dictionary_arrays(arrow_type, n_rows + 2))[1:-1]
    few = draw(st.lists(values_of(arrow_type), min_size=1, max_size=4))
    cells = st.one_of(st.none(), st.sampled_from(few), values_of(arrow_type))
    return pa.array(draw(st.lists(cells, min_size=n_rows + 2, max_size=n_rows + 2)), arrow_type)[1:-1]


@st.composite
def chunked_arrays(draw: st.DrawFn, arrow_type: pa.DataType, n_rows: int) -> pa.ChunkedArray:
    """Return a column in up to three pieces, cut from one array or each with a dictionary of its own."""
    bounds = [0, *sorted(draw(st.lists(st.integers(0, n_rows), max_size=2))), n_rows]
    sizes = np.diff(bounds).tolist()
    if draw(st.booleans()):
        return pa.chunked_array([draw(arrays(arrow_type, size)) for size in sizes if size], arrow_type)
    whole = draw(arrays(arrow_type, n_rows))
    return pa.chunked_array([whole[a : a + size] for a, size in zip(bounds, sizes, strict=False)], arrow_type)


@st.composite
def arrow_tables(draw: st.DrawFn, types: st.SearchStrategy = plain_types | dictionary_types) -> pa.Table:
    n_rows = draw(st.integers(0, 8))
    columns = [draw(chunked_arrays(t, n_rows)) for t in draw(st.lists(types, min_size=1, max_size=4))]
    return pa.table(columns, names=[f"column {i}" for i in range(len(columns))])


def cells(column: pa.ChunkedArray) -> list:
    """Return the cells as values that can be compared: numbers for times, None for NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if column.type.bit_width == 32 else pa.int64())
    return [None if value != value else value for value in column.to_pylist()]


@given(arrow_tables())
@settings(max_examples=200, deadline=None)
def test_arrow_comes_back_as_it_was(frame: pa.Table) -> None:
    back = as_table(frame).to_arrow()
    back.validate(full=True)
    assert back.schema == frame.schema
    for name in frame.column_names:
        assert cells(back[name]) == cells(frame[name])


@given(arrow_tables())
@settings(max_examples=100, deadline=None)
def test_arrow_comes_back_from_categorical_columns_too(frame: pa.Table) -> None:
    table = as_table(frame, kinds="categorical")
    back = table.to_arrow()
    assert back.schema == frame.schema
    for name in frame.column_names:
        assert table.variable(name).is_categorical
        assert cells(back[name]) == cells(frame[name])


@given(arrow_tables(dictionary_types))
@settings(max_examples=50, deadline=None)
def test_dictionaries_keep_entries_that_no_row_uses(frame: pa.Table) -> None:
    table = as_table(frame)
    for name, column in zip(frame.column_names, frame.columns, strict=True):
        entries = [e for chunk in column.chunks for e in cells(pa.chunked_array([chunk.dictionary])) if e is not None]
        out = table.to_arrow()[name].chunk(0).dictionary
        assert cells(pa.chunked_array([out])) == list(dict.fromkeys(entries))
        assert table.variable(name).ordered == column.type.ordered


@given(arrow_tables(plain_types), st.sampled_from([None, *KINDS]))
@settings(max_examples=100, deadline=None)
def test_a_column_is_the_same_whatever_its_pieces(frame: pa.Table, kind: str | None) -> None:
    whole = frame.combine_chunks()
    for name, pieces, piece in zip(frame.column_names, frame.columns, whole.columns, strict=True):
        if kind == "continuous" and not pa.types.is_primitive(pieces.type):
            continue  # most text is no number
        one, other = infer_column(name, pieces, kind), infer_column(name, piece, kind)
        assert one.variable == other.variable
        assert one.values.dtype == other.values.dtype
        np.testing.assert_array_equal(one.values, other.values)


@given(arrow_tables())
@settings(max_examples=100, deadline=None)
def test_encoding_by_its_own_variables_gives_the_table_again(frame: pa.Table) -> None:
    table = as_table(frame)
    for source in (frame, table):
        again, unseen = encode(source, table.variables)
        assert unseen == {}
        assert again.variables == table.variables
        for name in table.names:
            np.testing.assert_array_equal(again.column(name).values, table.column(name).values)


@given(arrow_tables())
@settings(max_examples=50, deadline=None)
def test_every_table_can_be_looked_at(frame: pa.Table) -> None:
    table = as_table(frame)
    assert repr(table).startswith("Table: ")
    assert len(table.summary().splitlines()) == table.n_columns
    assert sum(table.missing.values()) == sum(cells(column).count(None) for column in frame.columns)


@given(st.lists(st.none() | whole_numbers(64), max_size=30))
@settings(max_examples=200, deadline=None)
def test_whole_numbers_are_continuous_only_where_doubles_hold_them(values: list) -> None:
    present = [v for v in values if v is not None]
    column = infer_column("x", pa.array(values, pa.int64()))
    exact = all(int(float(v)) == v for v in present) and 2**63 - 1 not in present
    assert column.variable.is_continuous == (exact and len(set(present)) > 2)


@given(st.lists(st.none() | st.integers(-(10**15) + 1, 10**15 - 1), min_size=1), st.integers(0, 15))
@settings(max_examples=200, deadline=None)
def test_decimals_of_fifteen_digits_are_the_nearest_doubles(units: list, scale: int) -> None:
    values = [None if n is None else Decimal(n).scaleb(-scale) for n in units]
    column = infer_column("x", pa.array(values, pa.decimal128(15, scale)))
    assert column.variable.is_continuous
    np.testing.assert_array_equal(column.values, [np.nan if v is None else float(v) for v in values])


@given(st.lists(st.none() | st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)), min_size=1))
@settings(max_examples=200, deadline=None)
def test_points_in_time_are_the_same_seconds_whatever_their_unit(times: list) -> None:
    expected = [np.nan if t is None else (t - dt.datetime(1970, 1, 1)).total_seconds() for t in times]
    for arrow_type in (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ns", "Europe/Berlin")):
        values = pa.array(times, arrow_type)
        column = infer_column("x", values)
        assert column.variable.is_continuous
        np.testing.assert_array_equal(column.values, expected)
        assert column_to_arrow(column).equals(values)


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=1))
@settings(max_examples=100, deadline=None)
def test_dates_are_whole_seconds(days: list) -> None:
    column = infer_column("x", pa.array(days, pa.date32()))
    np.testing.assert_array_equal(column.values, [np.nan if d is None else d * 86_400 for d in days])
    assert column_to_arrow(column).equals(pa.array(days, pa.date32()))


@given(st.lists(st.integers(-(2**52), 2**52), min_size=1))
@settings(max_examples=200, deadline=None)
def test_nanoseconds_of_two_months_are_continuous(values: list) -> None:
    array = pa.array([value % (2**22 * 10**9) for value in values], pa.duration("ns"))
    column = infer_column("x", array)
    assert column.variable.is_continuous
    assert column_to_arrow(column).equals(array)


@given(st.lists(st.none() | text, max_size=30))
@settings(max_examples=100, deadline=None)
def test_distinct_values_are_sorted_and_give_the_rows_back(values: list) -> None:
    distinct, codes = distinct_values("x", values)
    assert distinct == sorted({v for v in values if v is not None})
    assert [None if c < 0 else distinct[c] for c in codes] == values


pandas_columns = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda v: pd.Series(v, dtype="Int64")),
    st.lists(st.none() | st.integers(0, 255)).map(lambda v: pd.Series(v, dtype="UInt8")),
    st.lists(st.integers(-9, 9)).map(lambda v: pd.Series(v, dtype="int16")),
    st.lists(st.floats(allow_infinity=False)).map(lambda v: pd.Series(v, dtype="float64")),
    st.lists(st.none() | st.floats(width=32, allow_infinity=False)).map(lambda v: pd.Series(v, dtype="Float32")),
    st.lists(st.booleans()).map(lambda v: pd.Series(v, dtype="bool")),
    st.lists(st.none() | st.booleans()).map(lambda v: pd.Series(v, dtype="boolean")),
    st.lists(st.none() | text).map(lambda v: pd.Series(v, dtype="string")),
    st.lists(st.none() | text).map(lambda v: pd.Series(v, dtype="object")),
    st.lists(st.none() | st.integers(-9, 9)).map(lambda v: pd.Series(v, dtype="object")),
    st.lists(st.none() | st.sampled_from(["low", "high"])).map(
        lambda v: pd.Series(pd.Categorical(v, ["low", "mid", "high"], ordered=True))
    ),
    st.lists(st.none() | st.integers(1, 3)).map(lambda v: pd.Series(pd.Categorical(v, [3, 1, 2]))),
    st.lists(st.none() | st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))).map(
        lambda v: pd.Series(v, dtype="datetime64[ns]")
    ),
    st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))).map(
        lambda v: pd.Series(v, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    ),
    st.lists(st.timedeltas(dt.timedelta(-(10**7)), dt.timedelta(10**7))).map(
        lambda v: pd.Series(v, dtype="timedelta64[us]")
    ),
    st.lists(st.none() | st.dates()).map(lambda v: pd.Series(v, dtype="object")),
)


@given(pandas_columns)
@settings(max_examples=150, deadline=None)
def test_pandas_comes_back_as_it_was(series: pd.Series) -> None:
    frame = pd.DataFrame({"x": series})
    copy = frame.copy(deep=True)
    back = as_table(frame).to_pandas()["x"]
    pd.testing.assert_frame_equal(frame, copy)
    assert back.isna().tolist() == series.isna().tolist()
    assert back.dropna().tolist() == series.dropna().tolist()
    if isinstance(series.dtype, pd.CategoricalDtype):
        assert back.dtype == series.dtype
    if pd.api.types.is_integer_dtype(series.dtype):
        assert pd.api.types.is_integer_dtype(back.dtype)
        assert back.dtype.name.lower() == series.dtype.name.lower()
    if series.dtype.kind in "Mm":
        assert back.dtype == series.dtype


polars_types = st.sampled_from(
    [
        *(pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Boolean, pl.Date, pl.Time, pl.Null),
        *(pl.Datetime("us"), pl.Datetime("ns"), pl.Datetime("ms", "Europe/Berlin"), pl.Duration("ms")),
        *(pl.Categorical, pl.Enum(["low", "mid", "high"]), pl.Decimal(20, 4)),
    ]
)


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    from polars.testing.parametric import series

    kind = draw(polars_types)
    return draw(series(name="x", dtype=kind, allow_null=True, max_size=8)).to_frame()


@given(polars_frames())
@settings(max_examples=150, deadline=None)
def test_polars_comes_back_as_it_was(frame: pl.DataFrame) -> None:
    finite = frame.with_columns(pl.col(pl.Float32, pl.Float64).replace(float("inf"), 1.0).replace(-float("inf"), 2.0))
    back = as_table(finite).to_polars()
    assert back.schema == finite.schema
    assert back["x"].to_list() == [None if v != v else v for v in finite["x"].to_list()]


@given(arrow_tables(st.sampled_from([pa.int64(), pa.float64(), pa.string(), pa.bool_(), pa.timestamp("us")])))
@settings(max_examples=50, deadline=None)
def test_duckdb_relations_come_back_as_they_were(frame: pa.Table) -> None:
    duckdb.register("frame_of_test", frame)
    back = as_table(duckdb.sql("select * from frame_of_test")).to_arrow()
    assert back.schema.types == frame.schema.types
    assert [cells(c) for c in back.columns] == [cells(c) for c in frame.columns]


@given(arrow_tables(), st.data())
@settings(max_examples=50, deadline=None)
def test_rows_and_columns_taken_are_those_of_the_frame(frame: pa.Table, data: st.DataObject) -> None:
    table = as_table(frame)
    rows = data.draw(st.lists(st.integers(0, frame.num_rows - 1))) if frame.num_rows else []
    names = data.draw(st.lists(st.sampled_from(frame.column_names), unique=True, min_size=1))
    out = table.take(rows).select(names).to_arrow()
    assert out.column_names == names
    for name in names:
        everything = cells(frame[name])
        assert cells(out[name]) == [everything[row] for row in rows]


@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1), st.permutations(["a", "b", "c", "d"]))
def test_recoding_changes_codes_and_not_values(values: list, states: list) -> None:
    table = as_table({"x": values})
    again = table.recode([Variable("x", states)])
    assert again.to_arrow()["x"].to_pylist() == values
    assert [states[code] for code in again.codes("x")] == values


def test_the_comparison_of_cells_sees_a_change() -> None:
    frame = pa.table({"x": pa.array([2**53 + 1, 0, 5])})
    rounded = frame.set_column(0, "x", pc.cast(pc.cast(frame["x"], pa.float64(), safe=False), pa.int64()))
    with pytest.raises(AssertionError):
        assert cells(rounded["x"]) == cells(frame["x"])
