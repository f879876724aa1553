from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tunbridge.data import Variable
from tunbridge.data.columns import (
    Column,
    code_type,
    column_to_arrow,
    distinct_values,
    encode_column,
    fitting_type,
    infer_column,
    interval_codes,
    is_float_array,
    state_type,
    to_floats,
)
from tunbridge.errors import DataError

NAN = float("nan")


def kind_of(values: object) -> str:
    return "categorical" if infer_column("x", values).variable.is_categorical else "continuous"


# Kinds


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "c"],
        ["1", "2", "3"],
        [True, False, None],
        [0, 1, 1, None],
        [7, 7, 7],
        [3, -900, 3],
        [2**53 + 1, 5, 7],
        [-(2**53) - 1, 5, 7],
        [None, None],
        [],
        pd.Series([3, 1, 2]).astype("category"),
        pa.array([1.5, 2.5, 3.5]).dictionary_encode(),
        pa.array([2**64 - 1, 5, 7], pa.uint64()),
        pa.array([2**63 - 1, 5, 7], pa.int64()),
        pa.array([None, None], pa.int64()),
        pa.array([Decimal("0.1234567890123456789"), Decimal("1"), Decimal("2")]),
        pa.array([1_700_000_000_123_456_789], pa.timestamp("ns")),
        pa.array([2**62 + 1], pa.duration("us")),
    ],
)
def test_categorical_columns(values: object) -> None:
    assert kind_of(values) == "categorical"


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5],
        [0.0, 1.0],
        [NAN, 1.0],
        np.array([NAN, NAN]),
        [1, 2, 3],
        [2**53, -(2**53), 0],
        [2**60, 2**61, 2**62],
        np.array([0, 1, 2], np.uint8),
        pa.array([None, 1.5], pa.float32()),
        pa.array([Decimal("0.10"), Decimal("0.20")]),
        pa.array([Decimal("0.5"), Decimal("0.25")], pa.decimal128(38, 30)),
        pa.array([0, 1], pa.date32()),
        pa.array([0, 1], pa.time64("ns")),
        pa.array([1_700_000_000 * 10**9], pa.timestamp("ns")),
        pa.array([1_700_000_000_123_456_000], pa.timestamp("ns")),
        pa.array([1001, 2**40], pa.duration("ns")),
        pa.array([2**31 - 1, -(2**31)], pa.date32()),
        pa.array([1_700_000_000_123_456], pa.timestamp("us", "Europe/Berlin")),
        pa.array([None], pa.duration("s")),
    ],
)
def test_continuous_columns(values: object) -> None:
    assert kind_of(values) == "continuous"


def test_the_kind_can_be_chosen() -> None:
    assert infer_column("x", [1, 2, 3], "categorical").variable == Variable("x", [1, 2, 3])
    assert infer_column("x", [0, 1], "continuous").values.tolist() == [0.0, 1.0]
    assert infer_column("x", [True, None], "continuous").values[0] == 1.0
    assert infer_column("x", ["1.5", "2"], "continuous").values.tolist() == [1.5, 2.0]


def test_a_wrong_kind_is_refused() -> None:
    with pytest.raises(DataError) as error:
        infer_column("x", [1], "continous")  # type: ignore[arg-type]
    rule = "the kind of column 'x' must be one of 'categorical', 'continuous'"
    assert str(error.value) == f"{rule}; got 'continous'. Did you mean 'continuous'?"


@pytest.mark.parametrize(
    ("values", "arrow_type"),
    [
        ([0, 1], pa.int64()),
        ([True, False], pa.bool_()),
        (pa.array([1, 2]).dictionary_encode(), pa.int64()),
        (pa.array([None], pa.null()), pa.null()),
        ([2**53 + 1, 1, 2], pa.float64()),
        (["1.50", "2"], pa.float64()),
        (pa.array(["1.50", "2"]).dictionary_encode(), pa.float64()),
        (pa.array([2**62 + 1], pa.timestamp("ns")), pa.float64()),
        (pa.array([2**64 - 1, 0, 1], pa.uint64()), pa.float64()),
    ],
)
def test_what_is_rounded_or_read_from_text_goes_out_as_doubles(values: object, arrow_type: pa.DataType) -> None:
    column = infer_column("x", values, "continuous")
    assert column.type == arrow_type
    assert column_to_arrow(column).type == arrow_type


# States


@pytest.mark.parametrize(
    ("values", "kind", "states", "codes"),
    [
        (["b", "a", None, "b"], None, ("a", "b"), [1, 0, -1, 1]),
        (["é", "z", "Z", ""], None, ("", "Z", "z", "é"), [3, 2, 1, 0]),
        ([1, 0, None], None, (0, 1), [1, 0, -1]),
        ([True, True, None], None, (False, True), [1, 1, -1]),
        ([10, 9, 100], "categorical", (9, 10, 100), [1, 0, 2]),
        ([70_000, -70_000, None], "categorical", (-70_000, 70_000), [1, 0, -1]),
        ([2.5, NAN, -1.0], "categorical", (-1.0, 2.5), [1, -1, 0]),
        ([np.inf, 1.0], "categorical", (1.0, np.inf), [1, 0]),
        (pa.array([2**64 - 1, 2**64 - 3], pa.uint64()), None, (2**64 - 3, 2**64 - 1), [1, 0]),
        (np.array([-128, 127, 0], np.int8), "categorical", (-128, 0, 127), [0, 2, 1]),
        ([None, None], None, (), [-1, -1]),
        ([Decimal("2.5"), Decimal("1.5")], "categorical", (Decimal("1.5"), Decimal("2.5")), [1, 0]),
        ([dt.date(2020, 1, 2), dt.date(2020, 1, 1)], "categorical", (dt.date(2020, 1, 1), dt.date(2020, 1, 2)), [1, 0]),
    ],
)
def test_states_are_sorted_plain_values(values: object, kind: str | None, states: tuple, codes: list) -> None:
    column = infer_column("x", values, kind)  # type: ignore[arg-type]
    assert column.variable.states == states
    assert list(map(type, column.variable.states)) == list(map(type, states))
    assert column.values.tolist() == codes
    assert column.values.dtype == np.int8


def test_categoricals_keep_their_order_and_unused_entries() -> None:
    column = infer_column("x", pd.Series(pd.Categorical(["b", None, "a"], ["b", "c", "a"], ordered=True)))
    assert column.variable == Variable("x", ["b", "c", "a"], ordered=True)
    assert column.values.tolist() == [0, -1, 2]


def test_dictionaries_with_nulls_nans_and_repeats() -> None:
    dictionary = pa.DictionaryArray.from_arrays([0, 1, 2, 3, None], pa.array([1.5, NAN, None, 1.5]))
    column = infer_column("x", dictionary)
    assert column.variable.states == (1.5,)
    assert column.values.tolist() == [0, -1, -1, 0, -1]


def test_pieces_with_dictionaries_of_their_own() -> None:
    pieces = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", None, "b"]).dictionary_encode()]
    column = infer_column("x", pa.chunked_array(pieces))
    assert column.variable.states == ("b", "a", "c")
    assert column.values.tolist() == [0, 1, 2, -1, 0]


def test_a_dictionary_as_large_as_its_index_type() -> None:
    values = [f"{i:03d}" for i in range(128)]
    indices = pa.array([*range(128), None], pa.int8())
    column = infer_column("x", pa.DictionaryArray.from_arrays(indices, values))
    assert column.values.tolist() == [*range(128), -1]
    assert column_to_arrow(column).to_pylist() == [*values, None]


@pytest.mark.parametrize(("n_states", "dtype"), [(0, "i1"), (127, "i1"), (128, "i2"), (32_767, "i2"), (32_768, "i4")])
def test_codes_take_the_smallest_type(n_states: int, dtype: str) -> None:
    assert code_type(n_states) == np.dtype(dtype)
    column = infer_column("x", [f"{i:06d}" for i in range(n_states)])
    assert column.values.dtype == np.dtype(dtype)
    assert column.values.tolist() == list(range(n_states))


@pytest.mark.parametrize(
    ("values", "states"),
    [
        (pa.array([1_500_000], pa.timestamp("us")), (dt.datetime(1970, 1, 1, 0, 0, 1, 500_000),)),
        (pa.array([0], pa.timestamp("s", "Asia/Tokyo")), (dt.datetime(1970, 1, 1, tzinfo=dt.UTC),)),
        (pa.array([1000], pa.timestamp("ns")), (dt.datetime(1970, 1, 1, 0, 0, 0, 1),)),
        (pa.array([1001], pa.timestamp("ns")), (1001,)),
        (pa.array([1001], pa.time64("ns")), (1001,)),
        (pa.array([2000], pa.time64("ns")), (dt.time(0, 0, 0, 2),)),
        (pa.array([1001], pa.duration("ns")), (1001,)),
        (pa.array([10**14], pa.timestamp("s")), (10**14,)),
        (pa.array([10**7], pa.date32()), (10**7,)),
        (pa.array([90], pa.duration("s")), (dt.timedelta(seconds=90),)),
    ],
)
def test_times_are_python_s_where_it_has_them_and_numbers_elsewhere(values: pa.Array, states: tuple) -> None:
    column = infer_column("x", values, "categorical")
    assert column.variable.states == states
    assert type(column.variable.states[0]) is type(states[0])
    assert column_to_arrow(column).equals(values)


def test_an_hour_that_comes_twice_is_two_states() -> None:
    hours = pa.array([1_603_584_000, 1_603_587_600], pa.timestamp("s", "Europe/Berlin"))  # 02:00 twice
    assert infer_column("x", hours, "categorical").variable.n_states == 2


# Encoding


@pytest.mark.parametrize(
    ("states", "values", "codes", "unseen"),
    [
        (["a", "b"], ["b", "c", None, "c", "aa"], [1, -1, -1, -1, -1], ["aa", "c"]),
        ([1, 2], [2.0, NAN, 1.5], [1, -1, -1], [1.5]),
        ([1, 2], ["2", "1", "x"], [1, 0, -1], ["x"]),
        (["1", "2"], [2, 1, 3], [1, 0, -1], [3]),
        (["1", "2"], [2.0, NAN], [1, -1], []),
        ([False, True], ["true", "False", "yes"], [1, 0, -1], ["yes"]),
        ([False, True], [1, 0], [1, 0], []),
        (["false", "true"], [True, False, None], [1, 0, -1], []),
        (["None"], ["None", None], [0, -1], []),
        ([], ["a"], [-1], ["a"]),
        ([dt.date(2020, 1, 1)], ["2020-01-01", "2020-01-02"], [0, -1], ["2020-01-02"]),
        (["b", "a"], pd.Series(pd.Categorical(["a", "c"], ["c", "b", "a", "d"])), [1, -1], ["c"]),
        (["a"], np.ma.array(["a", "b"], mask=[False, True]), [0, -1], []),
        ([1001], pa.array([1001, 2000], pa.timestamp("ns")), [0, -1], [2000]),
        ([1001, 2000], pa.array([2000], pa.timestamp("ns")), [1], []),
    ],
)
def test_encode_column(states: list, values: object, codes: list, unseen: list) -> None:
    found, unknown = encode_column(Variable("x", states), values)
    assert found.tolist() == codes
    assert found.dtype == np.int8
    assert unknown == unseen


def test_encode_a_continuous_column() -> None:
    found, unknown = encode_column(Variable("x"), ["1", None, "2.5"])
    np.testing.assert_array_equal(found, [1, NAN, 2.5])
    assert unknown == []


def test_codes_have_room_for_the_states_of_the_variable_not_of_the_data() -> None:
    found, _ = encode_column(Variable("x", range(1000)), [999])
    assert found.tolist() == [999]
    assert found.dtype == np.int16


def test_distinct_values_of_a_categorical_are_those_that_occur() -> None:
    values, codes = distinct_values("x", pd.Series(pd.Categorical(["b", None, "c"], ["c", "a", "b"])))
    assert values == ["c", "b"]
    assert codes.tolist() == [1, -1, 0]


# Floats


@pytest.mark.parametrize(
    ("values", "floats"),
    [
        ([1, None, 3], [1, NAN, 3]),
        (np.array([1, 2], ">f8"), [1, 2]),
        (np.array([1.5], np.float16), [1.5]),
        ([True, None, False], [1, NAN, 0]),
        ([Decimal("0.1"), None], [0.1, NAN]),
        ([" 1.5 ", "+2", "1e3", None, "nan"], [1.5, 2, 1000, NAN, NAN]),
        (pa.array(["1", "2"]).dictionary_encode(), [1, 2]),
        (pa.array(["1", "2"], pa.string_view()), [1, 2]),
        (pa.array([3, None], pa.date32()), [259_200, NAN]),
        (pa.array([-86_400_000, None], pa.date64()), [-86_400, NAN]),
        (pa.array([-1500], pa.duration("us")), [-0.0015]),
        (pa.array([1_700_000_000_123_456_000], pa.timestamp("ns")), [1_700_000_000.123456]),
        (pa.array([1_700_000_000_123_456], pa.timestamp("us")), [1_700_000_000.123456]),
        (pa.array([1500, None], pa.timestamp("ms", "Europe/Berlin")), [1.5, NAN]),
        (pa.array([None, None]), [NAN, NAN]),
        (pa.array(np.array([1.5, NAN], np.float16)), [1.5, NAN]),
        (np.ma.array([1.0, 2.0], mask=[True, False]), [NAN, 2]),
        (pa.chunked_array([[1.5], [2.5]]), [1.5, 2.5]),
        ([], []),
    ],
)
def test_to_floats(values: object, floats: list) -> None:
    found = to_floats("x", values)
    assert found.dtype == np.float64
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, floats)


def test_doubles_are_not_copied() -> None:
    values = np.arange(6.0)
    for kept in (values, values[::2], pa.array(values), pa.chunked_array([pa.array(values)])):
        assert np.shares_memory(to_floats("x", kept), values)
    series = pd.Series(values)
    assert np.shares_memory(to_floats("x", series), series.to_numpy())
    assert is_float_array(values)
    assert not is_float_array(np.ma.array(values))
    assert not is_float_array(values.reshape(2, 3))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "two", "3"], "row 2 holds 'two'"),
        (["1", None, ""], "row 3 holds ''"),
        (["1_000"], "row 1 holds '1_000'"),
        (["1,5"], "row 1 holds '1,5'"),
        (["b", "a"], "row 1 holds 'b'"),
        (pd.Series(["a", "b"]).astype("category"), "row 1 holds 'a'"),
        (["x" * 1000], f"row 1 holds '{'x' * 58}…"),
    ],
)
def test_text_that_is_no_number_is_named(values: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        to_floats("x", values)
    hint = "Make the column categorical, or give that value as a missing marker."
    assert str(error.value) == f"column 'x' must hold numbers; {message}. {hint}"


@pytest.mark.parametrize("values", [[1.0, np.inf], np.array([1.0, np.inf]), ["1", "inf"], ["+1", "Infinity"]])
def test_infinities_are_refused(values: object) -> None:
    with pytest.raises(DataError) as error:
        to_floats("x", values)
    rule = "column 'x' must hold finite numbers; row 2 contains infinity (inf)."
    assert str(error.value) == f"{rule} Replace it by a number or leave the cell empty."


# Out again


def test_the_bitmap_of_a_complete_column_is_left_out() -> None:
    assert column_to_arrow(infer_column("x", [1.5, 2.5])).null_count == 0


@pytest.mark.parametrize(
    ("states", "arrow_type"),
    [
        (["a", "b"], pa.string()),
        ([1, 2], pa.int64()),
        ([0.5], pa.float64()),
        ([False, True], pa.bool_()),
        ([dt.date(2020, 1, 1)], pa.date32()),
        ([2**64 - 1], pa.uint64()),
        ([2**70], pa.string()),
        ([1, "a"], pa.string()),
        ([object()], pa.string()),
        ([], pa.null()),
    ],
)
def test_states_of_any_kind_go_out(states: list, arrow_type: pa.DataType) -> None:
    variable = Variable("x", states)
    assert state_type(variable) == arrow_type
    out = column_to_arrow(Column(variable, np.arange(-1, len(states), dtype=np.int8), arrow_type))
    expected = [str(s) for s in states] if arrow_type == pa.string() else states
    assert out.to_pylist() == [None, *expected]


@pytest.mark.parametrize(
    ("states", "arrow_type", "fitting"),
    [
        (["1", "2"], pa.int8(), pa.int8()),
        ([1, 2], pa.string(), pa.string()),
        ([300], pa.int8(), pa.int64()),
        (["yes"], pa.bool_(), pa.string()),
        (["a"], pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int8(), pa.string())),
        (["a"], pa.dictionary(pa.int8(), pa.int64(), True), pa.dictionary(pa.int8(), pa.string(), True)),
        (range(1000), pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int32(), pa.int64())),
    ],
)
def test_fitting_type(states: list, arrow_type: pa.DataType, fitting: pa.DataType) -> None:
    variable = Variable("x", states)
    assert fitting_type(variable, arrow_type) == fitting
    codes = np.arange(variable.n_states, dtype=code_type(variable.n_states))
    assert column_to_arrow(Column(variable, codes, fitting)).type == fitting


@pytest.mark.parametrize("n_cuts", [0, 1, 2, 12, 13, 200])
def test_numbers_get_the_interval_that_a_search_finds(n_cuts: int) -> None:
    cuts = tuple(float(c) for c in range(n_cuts))
    values = np.append(np.random.default_rng(0).integers(-2, n_cuts + 2, 500) / 2, [np.nan, -1e300, 1e300])
    known = ~np.isnan(values)
    expected = np.where(known, np.searchsorted(np.array(cuts), values, side="left"), -1)
    assert interval_codes(cuts, values).tolist() == expected.tolist()
