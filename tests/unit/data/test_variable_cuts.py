"""Variables whose states are intervals of a number, and the columns that are read by them."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tunbridge as tb
from tunbridge.counts.records import merge_states
from tunbridge.data import MISSING, Variable, encode
from tunbridge.data.columns import encode_column, infer_column, to_floats
from tunbridge.data.variable import number_of
from tunbridge.errors import DataError

FEVER = Variable("fever", ["none", "mild", "high"], cuts=[37.5, 38.5])
AGE = Variable("age", cuts=[18, 65])
NAN = float("nan")


def refusal(*arguments: object, **named: object) -> str:
    with pytest.raises(DataError) as error:
        Variable(*arguments, **named)  # type: ignore[arg-type]
    return str(error.value)


# The variable


def test_cut_points_make_ordered_states_named_after_them() -> None:
    assert AGE.states == ("≤ 18", "18 – 65", "> 65")
    assert AGE.cuts == (18.0, 65.0)
    assert (AGE.ordered, AGE.is_categorical, AGE.n_states) == (True, True, 3)
    assert AGE.states == tb.Discretisation((18, 65)).labels


def test_states_may_have_names_of_their_own() -> None:
    assert FEVER.states == ("none", "mild", "high")
    assert FEVER.ordered
    assert Variable("fever", ["no", "yes"], ordered=False, cuts=np.array([38.5], np.float32)).cuts == (38.5,)


def test_without_cut_points_there_is_one_interval() -> None:
    whole = Variable("x", cuts=())
    assert (whole.states, whole.cuts, whole.find(-3), whole.find(NAN)) == (("all",), (), 0, MISSING)
    assert repr(whole) == "Variable('x', ['all'], one interval)"


def test_variables_without_cuts_have_none() -> None:
    assert Variable("x").cuts is None
    assert Variable("x", ["a"]).cuts is None
    assert Variable("x", ["a"]) == Variable("x", ["a"], cuts=None)


def test_cut_points_are_part_of_the_value() -> None:
    other = Variable("age", AGE.states, cuts=[18, np.nextafter(65.0, 66)])
    assert other.states == AGE.states
    assert other != AGE
    assert Variable("age", AGE.states, ordered=True) != AGE
    assert len({AGE, other, Variable("age", cuts=(18, 65))}) == 2
    assert Variable("x", cuts=[-0.0]) == Variable("x", cuts=[0.0])
    assert str(Variable("x", cuts=[-0.0]).cuts) == "(0.0,)"


def test_variables_with_cuts_are_pickled_copied_renamed_and_shown() -> None:
    for again in (pickle.loads(pickle.dumps(FEVER)), copy.deepcopy(FEVER)):
        assert again == FEVER
        assert again.find(38) == 1
    assert FEVER.renamed("t") == Variable("t", FEVER.states, cuts=FEVER.cuts)
    assert FEVER.renamed("fever") is FEVER
    assert Variable("x", ["a"], ordered=True).renamed("y") == Variable("y", ["a"], ordered=True)
    assert repr(FEVER) == "Variable('fever', ['none', 'mild', 'high'], cut at 37.5, 38.5)"


@pytest.mark.parametrize(
    ("cuts", "message"),
    [
        ([2, 1], "the cuts of 'x' must be strictly increasing; got 1.0 after 2.0. Sort them, drop repeats."),
        ([1, 1], "the cuts of 'x' must be strictly increasing; got 1.0 after 1.0. Sort them, drop repeats."),
        ([1, NAN], "a bin edge of 'x' must be finite; got nan."),
        ([float("inf")], "a bin edge of 'x' must be finite; got inf."),
        (["1"], "a bin edge of 'x' must be a number; got '1'."),
        ([True], "a bin edge of 'x' must be a number; got True."),
        ("12", "the cuts of 'x' must be a list of numbers; got '12'."),
        (3.5, "the cuts of 'x' must be a list of numbers; got 3.5."),
        ({1: 2}, "the cuts of 'x' must be a list of numbers; got {1: 2}."),
    ],
)
def test_bad_cuts_are_refused(cuts: object, message: str) -> None:
    assert refusal("x", cuts=cuts) == message


def test_cuts_are_one_fewer_than_the_states() -> None:
    assert refusal("x", ["a", "b"], cuts=[1, 2]) == "the cuts of 'x' must be one fewer than its states, 2; got 2."
    assert refusal("x", [], cuts=[]) == "the cuts of 'x' must be one fewer than its states, 0; got 0."


@pytest.mark.parametrize("state", [1, 0.5, "2", " 3e1 ", Decimal("1.5"), dt.date(2020, 1, 1)])
def test_a_state_beside_cuts_is_no_number(state: object) -> None:
    rule = "the states of 'x', which has cuts, must be no numbers"
    hint = "A number is in its interval; give names such as 'low'."
    assert refusal("x", ["low", state], cuts=[1]) == f"{rule}; got {state!r}. {hint}"


def test_truth_values_and_names_like_nan_may_be_states() -> None:
    high = Variable("high", [False, True], cuts=[38.5])
    assert [high.find(value) for value in (1, 39, True, "true", "1", 0)] == [0, 1, 1, 1, 0, 0]
    odd = Variable("x", ["nan", "inf"], cuts=[0])
    assert [odd.find(value) for value in ("nan", "inf", NAN, 1)] == [0, 1, MISSING, 1]


# A value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (36, 0),
        (37.5, 0),
        (np.nextafter(37.5, 38), 1),
        (38.5, 1),
        (39, 2),
        (-1e308, 0),
        (10**30, 2),
        (np.float32(38), 1),
        (np.int8(38), 1),
        (Decimal("38.5"), 1),
        (Decimal("38.5000001"), 2),
        (Fraction(77, 2), 1),
        (pa.scalar(38.0), 1),
        ("38.5", 1),
        (" +39 ", 2),
        ("3.85e1", 1),
        ("mild", 1),
        (np.str_("mild"), 1),
        ("Mild", MISSING),
        ("3_8", MISSING),
        ("", MISSING),
        (True, MISSING),
        (np.True_, MISSING),
        (None, MISSING),
        (NAN, MISSING),
        ("nan", MISSING),
        (float("inf"), MISSING),
        ("-inf", MISSING),
        (10**400, MISSING),
        (Decimal("NaN"), MISSING),
        (pd.NA, MISSING),
        (pd.NaT, MISSING),
        (np.datetime64("NaT"), MISSING),
        ([38.0], MISSING),
        ({38.0: 1}, MISSING),
        (1 + 2j, MISSING),
    ],
)
def test_a_value_is_a_label_or_a_number_in_an_interval(value: object, code: int) -> None:
    assert FEVER.find(value) == code


def test_a_value_that_is_neither_is_told() -> None:
    with pytest.raises(DataError) as error:
        FEVER.code("mld")
    rule = "'fever' must be in one of its states; got 'mld'."
    assert str(error.value) == f"{rule} Did you mean 'mild'? A finite number will do too."


@pytest.mark.parametrize(
    "value",
    [
        dt.datetime(2020, 5, 1, 12, 30, 1, 250_000),
        dt.datetime(1931, 5, 1, 12, 30, 1, 999_999),
        dt.datetime(2020, 5, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=3))),
        dt.date(1969, 12, 31),
        dt.time(23, 59, 59, 1),
        dt.timedelta(days=-2, microseconds=7),
        pd.Timestamp("2020-05-01 12:00", tz="Europe/Berlin"),
        pd.Timedelta("3 days 00:00:00.5"),
        np.datetime64("2020-05-01T12:30", "m"),
        np.timedelta64(90, "s"),
    ],
)
def test_dates_and_times_are_the_seconds_of_a_continuous_column(value: object) -> None:
    values = [value] if not isinstance(value, np.generic) else np.array([value])
    (expected,) = to_floats("when", values)
    assert number_of(value) == expected
    assert Variable("when", cuts=[expected]).find(value) == 0
    assert Variable("when", cuts=[np.nextafter(expected, -np.inf)]).find(value) == 1


# A column


@pytest.mark.parametrize(
    "values",
    [
        [36, 37, 38, 39],
        np.array([36.0, 37.5, 38.5, 38.6]),
        np.array([36, 38, 39], np.uint8),
        np.array([36.0, 38.0, 39.0], np.float32),
        pa.array([36, None, 39], pa.int64()),
        pa.array([36.5, None, NAN, 39.0]),
        pa.chunked_array([[36.5], [], [39.0, 38.5]]),
        pa.array([Decimal("38.50"), Decimal("38.51"), None]),
        pa.array(["38.5", "39", None]),
        pa.array(["38.5", "mild", "high", None, "none", "1e2"], pa.string_view()),
        pa.array([" 38.5", "+39", "high"], pa.large_string()),
        ["mild", "high", "none"],
        [None, None],
        [],
        pd.Series([36, None, 39], dtype="Int64"),
        pd.Series(["mild", "high", "none"], dtype="category"),
        pd.Series([36.0, 39.0, 36.0], dtype="category"),
        pd.Series(pd.Categorical(["mild", None, "38.5"])),
        np.ma.array([36.0, 39.0], mask=[True, False]),
    ],
)
def test_each_cell_of_a_column_is_found_like_a_value(values: object) -> None:
    codes, unseen = encode_column(FEVER, values)
    cells = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    cells = cells.to_pylist() if isinstance(cells, pa.ChunkedArray) else list(cells)  # type: ignore[call-overload]
    cells = [None if cell is np.ma.masked else cell for cell in cells]
    assert codes.tolist() == [FEVER.find(cell) for cell in cells]
    assert codes.dtype == np.int8
    assert unseen == []


def test_what_is_neither_label_nor_number_is_reported() -> None:
    codes, unseen = encode_column(FEVER, ["36", "hot", "high", None, "cold", "39"])
    assert (codes.tolist(), unseen) == ([0, -1, 2, -1, -1, 2], ["cold", "hot"])
    assert encode_column(FEVER, ["hot", "36"])[1] == ["hot"]
    assert encode_column(FEVER, [True, False, None])[1] == [False, True]


@pytest.mark.parametrize("values", [[36.0, float("inf")], np.array([36, -np.inf]), ["36", "inf"], ["mild", "1e999"]])
def test_infinity_is_refused_as_in_any_column_of_numbers(values: object) -> None:
    with pytest.raises(DataError, match=r"column 'fever' must hold finite numbers; row 2 contains infinity"):
        encode_column(FEVER, values)


def test_many_intervals_have_wider_codes() -> None:
    cuts = np.arange(200) + 0.5
    variable = Variable("x", cuts=cuts)
    codes, _ = encode_column(variable, np.arange(201.0))
    assert (codes.dtype, codes.tolist()) == (np.int16, list(range(201)))


def test_dates_are_cut_as_they_were_counted() -> None:
    days = pa.array([dt.date(2020, 1, 1), None, dt.date(2021, 1, 1)])
    table, _ = tb.discretise({"day": days, "x": [1, 2, 3]}, "frequency", columns=["day"], n_bins=2)
    for again in (days, pd.Series(days.to_pandas()), days.cast(pa.timestamp("ns", "UTC"))):
        assert encode_column(table.variable("day"), again)[0].tolist() == [0, -1, 1]


# Tables


def test_a_discretised_table_knows_its_cut_points() -> None:
    frame = {"age": [20.0, 31.5, 48.0, 73.0], "sex": ["f", "m", "f", "m"]}
    table, found = tb.discretise(frame, n_bins=2)
    variable = table.variable("age")
    assert variable.cuts == found["age"].cuts == (39.75,)
    assert variable.states == found["age"].labels == ("≤ 39.75", "> 39.75")
    assert table.variable("sex").cuts is None
    assert found["age"].variable("years") == variable.renamed("years")


def test_tables_made_of_it_know_them_too() -> None:
    table, _ = tb.discretise({"age": [20.0, 31.5, 48.0, 73.0], "sex": ["f", "m", "f", "m"]}, n_bins=2)
    age = table.variable("age")
    more = table.with_column(infer_column("x", ["a", "b", "c", "d"]))
    tables = [table.select(["age"]), table.drop(["sex"]), table.take([0]), table.with_weights([1, 2, 3, 4]), more]
    tables += [table.recode([age]), pickle.loads(pickle.dumps(table)), tb.as_table(table), encode(table, [age])[0]]
    assert [each.variable("age") for each in tables] == [age] * len(tables)
    assert tb.as_table(table.to_pandas()).variable("age") == Variable("age", age.states, ordered=True)


def test_a_table_of_numbers_or_codes_is_read_by_the_cuts() -> None:
    table = tb.as_table({"age": [17, 18, 70, None]})
    assert encode(table, [AGE])[0].codes("age").tolist() == [0, 0, 2, -1]
    binary = tb.as_table({"age": [17, 70, 70]})
    assert binary.variable("age").states == (17, 70)
    assert encode(binary, [AGE])[0].codes("age").tolist() == [0, 2, 2]
    matrix = np.array([[17.0], [np.nan], [66.0]])
    assert encode(matrix, [AGE.renamed("x0")])[0].codes("x0").tolist() == [0, -1, 2]


def test_recoding_puts_labels_in_the_order_of_the_intervals() -> None:
    labels = tb.as_table({"age": ["> 65", "≤ 18", None]})
    assert labels.recode([AGE]).codes("age").tolist() == [2, 0, -1]


# Merged states


def test_states_merge_where_one_knows_the_cut_points_of_the_other() -> None:
    labels = Variable("age", AGE.states)
    some = Variable("age", ["> 65", "≤ 18"])
    for pair in ((AGE, AGE), (AGE, labels), (labels, AGE), (AGE, some), (some, AGE), (AGE, Variable("age", []))):
        assert merge_states(*pair) == AGE


def test_other_cut_points_are_not_merged() -> None:
    with pytest.raises(DataError) as error:
        merge_states(AGE, Variable("age", cuts=[18, 60]))
    rule = "'age' must be cut at the same points in both; got 18.0, 65.0 and 18.0, 60.0."
    assert str(error.value) == f"{rule} Discretise both alike."


def test_nor_are_intervals_of_other_names() -> None:
    with pytest.raises(DataError, match="so its states must be bins in both; got 'young', 'adult', 'old'"):
        merge_states(AGE, Variable("age", ["young", "adult", "old"], cuts=AGE.cuts))


@pytest.mark.parametrize("swap", [False, True])
def test_nothing_is_added_to_intervals(swap: bool) -> None:
    pair = (AGE, Variable("age", ["≤ 18", "unknown", "23"]))
    with pytest.raises(DataError) as error:
        merge_states(*(pair[::-1] if swap else pair))
    rule = "'age' has bins, so its states must be bins in both; got 'unknown', '23'."
    assert str(error.value) == f"{rule} Discretise both at the same bin edges."


def test_counts_of_two_tables_cut_alike_add_up() -> None:
    first = tb.discretise({"age": [10.0, 40, 80], "sex": ["f", "m", "f"]}, {"age": [18, 65]})[0]
    second = tb.discretise({"age": [12.0, 99], "sex": ["m", "f"]}, {"age": [18, 65]})[0]
    counts = (tb.Counter(first).merge(tb.Counter(second))).family("age", [])
    assert counts.child == AGE
    assert counts.table.tolist() == [[2, 1, 2]]
