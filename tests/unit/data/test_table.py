from __future__ import annotations

import copy
import datetime as dt
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import infer_column
from tunbridge.data.summary import listed_markers
from tunbridge.data.table import check_lengths, check_weights
from tunbridge.errors import DataError

NAN = float("nan")


@pytest.fixture
def weather() -> Table:
    columns = {"sky": ["clear", "cloudy", None, "clear"], "wind": [2.5, NAN, 4.0, 7.0], "day": [1, 2, 3, 4]}
    return as_table(columns, weights=[1, 2, 3, 4])


def message(function: object, *arguments: object, **keywords: object) -> str:
    with pytest.raises(DataError) as error:
        function(*arguments, **keywords)  # type: ignore[operator]
    return str(error.value)


def coded(name: str, states: list, codes: list, arrow_type: pa.DataType = pa.string()) -> Column:  # noqa: B008
    return Column(Variable(name, states), np.array(codes, np.int8), arrow_type)


# What is in it


def test_looking_things_up(weather: Table) -> None:
    assert weather.names == ("sky", "wind", "day")
    assert (weather.n_rows, weather.n_columns, len(weather)) == (4, 3, 4)
    assert weather.position("wind") == 1
    assert weather.variable("sky") == Variable("sky", ["clear", "cloudy"])
    assert weather.codes("sky").tolist() == [0, 1, -1, 0]
    np.testing.assert_array_equal(weather.floats("wind"), [2.5, NAN, 4, 7])
    assert weather.missing == {"sky": 1, "wind": 1}
    assert [c.variable.name for c in weather] == ["sky", "wind", "day"]
    assert weather.column("day").type == pa.int64()


def test_names_that_are_not_there(weather: Table) -> None:
    rule = "the name must be that of a column of the table; got"
    assert message(weather.position, "wnd") == f"{rule} 'wnd'. Did you mean 'wind'?"
    assert message(weather.column, 7) == f"{rule} 7. Known: 'sky', 'wind', 'day'."
    assert message(weather.variable, ["sky"]).startswith(f"{rule} ['sky'].")


def test_codes_and_floats_are_not_mixed_up(weather: Table) -> None:
    assert message(weather.codes, "wind") == (
        "column 'wind' must be categorical; it is continuous. Discretise it first."
    )
    assert message(weather.floats, "sky") == (
        "column 'sky' must be continuous; it is categorical. Use kinds={'sky': 'continuous'}."
    )


def test_identifiers() -> None:
    n = 12
    ages = [20, 73, 37, 33, 48, 29, 52, 42, 61, 30, 26, 54]
    table = as_table(
        {
            "text": [f"D{i}" for i in range(n)],
            "number": range(100, 100 + n),
            "hash": [2**60 + 2 * i + 1 for i in range(n)],
            "age": ages,
            "float": np.arange(n) / 3,
            "twice": ["a", *[f"D{i}" for i in range(n - 2)], "a"],
            "gap": [None, *[f"D{i}" for i in range(n - 1)]],
            "category": pd.Categorical([f"D{i}" for i in range(n)], [f"D{i}" for i in range(-3, n)]),
        }
    )
    assert table.identifiers == ("text", "number", "hash", "category")
    assert table.take(slice(10)).identifiers == ()
    assert as_table({"age": np.arange(100) * 7}).identifiers == ("age",)
    assert as_table({"age": np.append(np.arange(199) * 7, 0)}).identifiers == ()


def test_amounts_are_no_identifiers() -> None:
    amounts = np.random.default_rng(0).choice(np.arange(20_000, 150_000), 300, replace=False)
    assert as_table({"salary": amounts}).identifiers == ()
    for name in ("order_no", "Kundennr", "CustomerID", "id", "Key"):
        assert as_table({name: amounts}).identifiers == (name,)
    for name in ("casino", "paid", "covid", "turnover"):
        assert as_table({name: amounts}).identifiers == ()
    assert as_table({"salary": np.sort(amounts)}).identifiers == ("salary",)
    some = np.delete(np.arange(400), [3, 77, 200])
    assert as_table({"customer": np.random.default_rng(1).permutation(some)}).identifiers == ("customer",)


def test_constants() -> None:
    table = as_table({"a": ["x", "x", None], "b": [1.5, NAN, 1.5], "c": [1, 2, 3], "d": [None] * 3, "e": [True] * 3})
    assert table.constants == ("a", "b", "e")
    assert table.take([0]).constants == ()


# Building


def test_a_table_never_changes_and_leaves_the_arrays_of_others_alone() -> None:
    values, codes, weights = np.arange(3.0), np.array([0, 1, -1], np.int8), np.ones(3)
    columns = (values, codes)
    table = Table((Variable("x"), Variable("y", ["a", "b"])), columns, (pa.float64(), pa.string()), weights)
    for array in (*table.columns, table.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    for array in (values, codes, weights):
        assert array.flags.writeable
    weights[0] = 5
    assert table.weights[0] == 1
    with pytest.raises(AttributeError):
        table.columns = ()  # type: ignore[misc]


def test_columns_that_do_not_fit_are_refused() -> None:
    good = coded("x", ["a"], [0, -1])
    assert message(Table.of, [good, good]) == "column names must be distinct; got 'x' more than once. Rename one."
    short = coded("y", ["a"], [0])
    assert message(Table.of, [good, short]) == "columns must be equally long; 'x' has 2 values and 'y' has 1."
    assert message(Table, (good.variable,), (), ()) == (
        "variables, columns and types must be equally many; got 1, 0 and 0."
    )
    assert message(Table.of, [coded("x", ["a"], [0, 1])]) == "the codes of 'x' must lie between −1 and 0; got 0 … 1."
    assert message(Table.of, [coded("x", ["a"], [0, -2])]) == "the codes of 'x' must lie between −1 and 0; got -2 … 0."
    floats = good._replace(values=np.zeros(2))
    assert message(Table.of, [floats]) == "column 'x' must hold codes, which are signed integers; got float64."
    narrow = Column(Variable("x"), np.zeros(2, np.float32), pa.float32())
    assert message(Table.of, [narrow]) == "column 'x' is continuous and must be of type float64; got float32."
    assert message(Table.of, [good._replace(values=[0, 1])]) == (
        "column 'x' must be a one-dimensional array; got [0, 1]."
    )


def test_a_table_without_columns_has_the_rows_of_its_weights(weather: Table) -> None:
    assert Table.of([]).n_rows == 0
    assert weather.select([]).n_rows == 4
    assert repr(weather.select([])) == "Table: 4 rows × 0 columns, 0 missing values, weighted"
    assert weather.select([]).to_arrow().num_columns == 0


def test_tables_can_be_pickled_and_copied(weather: Table) -> None:
    assert weather.missing  # fills a cache
    for again in (pickle.loads(pickle.dumps(weather)), copy.deepcopy(weather)):
        assert again.to_arrow().equals(weather.to_arrow())
        assert again.weights.tolist() == [1, 2, 3, 4]
        assert not again.columns[0].flags.writeable


# New tables


def test_select_and_drop(weather: Table) -> None:
    assert weather.select(iter(["day", "sky"])).names == ("day", "sky")
    assert weather.drop(["sky"]).names == ("wind", "day")
    assert weather.select(["sky"]).weights.tolist() == [1, 2, 3, 4]
    assert np.shares_memory(weather.select(["wind"]).floats("wind"), weather.floats("wind"))
    assert message(weather.select, "sky") == (
        "names must be a list of column names; got the text 'sky'. Write ['sky']."
    )
    assert "got 'moon'" in message(weather.drop, ["moon"])
    assert message(weather.select, ["sky", "sky"]).startswith("column names must be distinct; got 'sky'")


@pytest.mark.parametrize(
    ("rows", "days"),
    [
        (slice(1, 3), [2, 3]),
        ([3, 0, 3], [4, 1, 4]),
        ([-1], [4]),
        ([True, False, True, False], [1, 3]),
        (np.array([2], np.uint8), [3]),
        (pd.Series([False, True, False, False]), [2]),
        ([], []),
        (np.zeros(4, bool), []),
    ],
)
def test_take(weather: Table, rows: object, days: list) -> None:
    taken = weather.take(rows)
    assert taken.floats("day").tolist() == days
    assert taken.weights.tolist() == days
    assert taken.variables == weather.variables


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([4], "rows must be numbers below 4; got 4 … 4."),
        ([0, -5], "rows must be numbers below 4; got -5 … 0."),
        ([True, False], "a mask must have an entry for each of the 4 rows; got 2."),
        (2, "rows must be a slice, row numbers or a mask; got 2."),
        ([0.5], "rows must be a slice, row numbers or a mask; got [0.5]."),
        (["a"], "rows must be a slice, row numbers or a mask; got ['a']."),
        ([[0, 1]], "rows must be a slice, row numbers or a mask; got [[0, 1]]."),
    ],
)
def test_rows_that_are_not_there(weather: Table, rows: object, text: str) -> None:
    assert message(weather.take, rows) == text


def test_with_weights(weather: Table) -> None:
    assert weather.with_weights(None).weights is None
    assert weather.with_weights([4, 3, 2, 1]).weights.tolist() == [4, 3, 2, 1]
    assert weather.weights.tolist() == [1, 2, 3, 4]


def test_with_column_adds_or_replaces(weather: Table) -> None:
    moon = infer_column("moon", ["new", "full", "new", None])
    assert weather.with_column(moon).names == ("sky", "wind", "day", "moon")
    other = weather.with_column(infer_column("sky", [1.5, 2.5, 3.5, NAN]))
    assert other.names == weather.names
    assert other.variable("sky").is_continuous
    assert weather.variable("sky").is_categorical
    short = infer_column("sky", ["a"])
    assert message(weather.with_column, short) == "columns must be equally long; 'sky' has 1 value and 'wind' has 4."


def test_recode(weather: Table) -> None:
    states = ["cloudy", "foggy", "clear"]
    again = weather.recode([Variable("sky", states), Variable("wind")])
    assert again.names == ("sky", "wind")
    assert again.codes("sky").tolist() == [2, 0, -1, 2]
    assert again.weights.tolist() == [1, 2, 3, 4]
    assert again.to_arrow()["sky"].equals(weather.to_arrow()["sky"])
    assert message(weather.recode, [Variable("sky", ["clear"])]) == (
        "'sky' must be in one of its states; got 'cloudy'. Known: 'clear'."
    )
    rule = "must be categorical in both tables; in one it is continuous."
    assert message(weather.recode, [Variable("sky")]) == f"column 'sky' {rule}"
    assert message(weather.recode, [Variable("wind", ["a"])]) == f"column 'wind' {rule}"


def test_recode_to_states_of_another_type() -> None:
    table = as_table({"x": [True, False], "y": pd.Categorical([1, 2])})
    wide = [Variable("x", ["False", "True", "maybe"]), Variable("y", list(range(500)))]
    out = table.recode(wide).to_arrow()
    assert out["x"].to_pylist() == ["True", "False"]
    assert out["y"].to_pylist() == [1, 2]


def test_read_as_missing_goes_with_its_column() -> None:
    columns = [coded("x", ["a"], [0, -1]), coded("y", ["a"], [-1, 0])]
    table = Table.of(columns, read_as_missing={"x": {"NA": 1}, "y": {"?": 1}, "z": {"": 3}})
    assert set(table.read_as_missing) == {"x", "y"}
    assert table.select(n for n in ["y"]).read_as_missing == {"y": {"?": 1}}
    assert table.take([0]).read_as_missing == {"x": {"NA": 1}, "y": {"?": 1}}
    assert table.with_column(coded("x", ["b"], [0, 0])).read_as_missing == {"y": {"?": 1}}


# Weights


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1, -1], "weights must be finite and not negative; row 2 has -1.0."),
        ([NAN, 1], "weights must be finite and not negative; row 1 has nan."),
        ([None, 1], "weights must be finite and not negative; row 1 has nan."),
        (np.ma.array([1, 2], mask=[0, 1]), "weights must be finite and not negative; row 2 has nan."),
        ([1], "weights must be one number a row; got shape (1,) for 2 rows."),
        (1.0, "weights must be one number a row; got shape () for 2 rows."),
        (np.eye(2), "weights must be one number a row; got shape (2, 2) for 2 rows."),
    ],
)
def test_bad_weights(weights: object, text: str) -> None:
    assert message(check_weights, weights, 2) == text


def test_weights_that_are_no_finite_numbers() -> None:
    assert "row 2 contains infinity (inf)" in message(check_weights, [1, np.inf], 2)
    assert "must hold numbers; row 1 holds 'a'" in message(check_weights, ["a", "b"], 2)


@pytest.mark.parametrize("weights", [[1, 2], np.array([1, 2], np.uint8), pd.Series([1, 2]), pl.Series([1, 2]), (1, 2)])
def test_good_weights(weights: object) -> None:
    found = check_weights(weights, 2)
    assert found.tolist() == [1.0, 2.0]
    assert found.dtype == np.float64
    assert not found.flags.writeable


def test_weights_that_cannot_change_are_shared() -> None:
    weights = check_weights(np.ones(3), 3)
    assert np.shares_memory(check_weights(weights, 3), weights)


def test_check_lengths() -> None:
    check_lengths([])
    check_lengths([("a", [1]), ("b", (2,))])
    assert (
        message(check_lengths, [("a", [1]), ("b", [])])
        == "columns must be equally long; 'a' has 1 value and 'b' has 0."
    )


# Out again


def test_arrow_stream(weather: Table) -> None:
    assert pa.table(weather).equals(weather.to_arrow())
    assert pl.DataFrame(weather).equals(weather.to_polars())


def test_to_pandas_keeps_whole_numbers_and_truth_values_with_missing_cells() -> None:
    data = pa.table(
        {"i": pa.array([2**53 + 1, None, 5]), "u": pa.array([1, None, 3], pa.uint8()), "b": [True, None, False]}
    )
    frame = as_table(data).to_pandas()
    assert frame.dtypes.astype(str).tolist() == ["Int64", "UInt8", "boolean"]
    assert frame["i"].tolist() == [2**53 + 1, pd.NA, 5]


def test_to_pandas_keeps_times_that_python_does_not_have() -> None:
    frame = as_table({"t": pa.array([1001, None], pa.time64("ns"))}).to_pandas()
    assert pa.array(frame["t"]).cast(pa.int64()).to_pylist() == [1001, None]


def test_to_polars_makes_enums_of_ordered_states() -> None:
    dose = pd.Categorical(["low", None], ["low", "high"], ordered=True)
    frame = as_table({"dose": dose, "sex": pd.Categorical(["m", "f"])}).to_polars()
    assert frame.schema["dose"] == pl.Enum(["low", "high"])
    assert frame.schema["sex"] == pl.Categorical
    assert frame["dose"].to_list() == ["low", None]


# For people


def test_repr() -> None:
    data = {
        "sky": ["clear", None],
        "wind": [2.5, 7.0],
        "number": [2**53, 0],
        "gone": [None, None],
        "day": [dt.date(2020, 1, 1), dt.date(2020, 2, 1)],
        "time": pa.array([0, 1500], pa.timestamp("ms", "Europe/Berlin")),
        "lasts": pa.array([5, 6], pa.duration("s")),
        "still": [1.0, 1.0],
    }
    table = as_table(data, kinds={"number": "continuous"})
    assert repr(table).splitlines() == [
        "Table: 2 rows × 8 columns, 3 missing values",
        "  sky     categorical  clear                                           1 missing, constant",
        "  wind    continuous   2.5 … 7",
        "  number  continuous   0 … 9007199254740992",
        "  gone    categorical  no states                                       all missing",
        "  day     date         2020-01-01 … 2020-02-01",
        "  time    date         1970-01-01 00:00:00 … 1970-01-01 00:00:01.500Z",
        "  lasts   continuous   5 … 6 s",
        "  still   continuous   1                                               constant",
    ]


def test_one_row_one_column() -> None:
    assert (
        repr(as_table({"x": [1.5]}, weights=[2]))
        == "Table: 1 row × 1 column, 0 missing values, weighted\n  x  continuous  1.5"
    )
    assert repr(as_table({})) == "Table: 0 rows × 0 columns, 0 missing values"
    assert (
        repr(as_table({"x": np.empty(0)})) == "Table: 0 rows × 1 column, 0 missing values\n  x  continuous  no values"
    )


def test_what_was_read_as_missing_is_told() -> None:
    markers = {"x": {"NA": 1, "": 1, "?": 1}}
    table = Table.of([coded("x", ["a"], [0, -1, -1, -1])], read_as_missing=markers)
    assert table.summary() == "  x  categorical  a  3 missing (NA, empty, ?), constant"
    assert table.take([0, 0]).summary() == "  x  categorical  a  constant"
    assert listed_markers({}) == ""
    assert listed_markers("abcdefg") == " (a, b, c, d, e, …)"


def test_long_and_odd_names_and_states_are_cut() -> None:
    table = as_table({"n" * 1000: ["s" * 1000, "line\nbreak"], "tab\t": ["", " "]})
    lines = table.summary().splitlines()
    assert lines[0] == f"  {'n' * 39}…  categorical  'line\\nbreak', {'s' * 19}…"
    assert lines[1] == "  " + "'tab\\t'".ljust(40) + "  categorical  '', ' '"


def test_many_states_are_counted() -> None:
    table = as_table({"x": [f"s{i}" for i in range(7)]})
    assert table.summary() == "  x  categorical  s0, s1, s2, s3, s4, … (7 states)"


def test_many_columns_are_counted() -> None:
    table = as_table(np.eye(3, 500))
    lines = repr(table).splitlines()
    assert lines[0] == "Table: 3 rows × 500 columns, 0 missing values"
    assert len(lines) == 42
    assert lines[-1] == "  … and 460 more columns"
    assert len(table.summary().splitlines()) == 500
    assert table.summary(most=499).splitlines()[-1] == "  … and 1 more column"


def test_texts_among_numbers_are_suspected() -> None:
    numbers = [str(i / 2) for i in range(40)]
    assert as_table({"a": [*numbers, "old", "old"]}).suspected_missing == {"a": {"old": 2}}
    assert as_table({"a": [*numbers, *"abcdef"]}).suspected_missing == {}  # too many different ones
    assert as_table({"a": [*numbers, *["old"] * 50]}).suspected_missing == {}  # most are not numbers
    assert as_table({"a": ["1", "2", "old"] * 5}).suspected_missing == {}  # a few categories


def test_a_million_states_are_looked_at_quickly() -> None:
    table = as_table({"id": pa.array(np.arange(10**6)).cast(pa.string())}, kinds="categorical")
    assert table.variable("id").n_states == 10**6
    assert table.codes("id").dtype == np.int32
    assert table.identifiers == ("id",)
    assert repr(table).endswith("0, 1, 10, 100, 1000, … (1000000 states)  looks like an identifier")


def test_complete_rows_have_no_hole_in_any_kind_of_column():
    table = as_table({"a": ["x", None, "y", "x"], "b": [1.5, 2.5, float("nan"), -3.0]})
    assert table.complete.tolist() == [True, False, False, True]
    assert table.select([]).complete.tolist() == []


# Names and sizes


def test_names_sizes_and_positions_follow_the_columns_of_every_new_table(weather: Table) -> None:
    made = {
        "itself": weather,
        "select": weather.select(["day", "sky"]),
        "drop": weather.drop(["sky"]),
        "take": weather.take([0, 2]),
        "take none": weather.take([]),
        "with_weights": weather.with_weights(None),
        "with_column": weather.with_column(coded("new", ["a"], [0, 0, -1, 0])),
        "with_columns": weather.with_columns([weather.column("day")]),
        "recode": weather.recode([Variable("sky", ["rain", "cloudy", "clear"])]),
        "encode": weather.encode([weather.variable("wind")]),
        "pickle": pickle.loads(pickle.dumps(weather)),
        "copy": copy.copy(weather),
    }
    for how, table in made.items():
        assert table.names == tuple(v.name for v in table.variables), how
        assert table.positions == {name: i for i, name in enumerate(table.names)}, how
        assert (table.n_columns, table.n_rows) == (len(table.columns), len(table.columns[0])), how
        assert len(table) == table.n_rows, how


def test_rows_of_a_table_without_columns_are_taken_by_its_weights() -> None:
    assert Table.of([], weights=np.ones(3)).take([0]).n_rows == 1


def test_with_columns_keeps_weights_and_the_markers_of_columns_that_stay(weather: Table) -> None:
    marked = Table.of(weather, weights=weather.weights, read_as_missing={"sky": {"?": 1}, "wind": {"NA": 1}})
    other = marked.with_columns([marked.column("wind")])
    assert other.read_as_missing == {"wind": {"NA": 1}}
    assert other.weights is not None
    assert other.weights.tolist() == [1, 2, 3, 4]


def test_names_and_sizes_cannot_be_changed(weather: Table) -> None:
    for name in ("names", "n_rows", "n_columns", "positions"):
        with pytest.raises(AttributeError):
            setattr(weather, name, None)
