from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import tunbridge as tb
from tunbridge.data import Variable, as_table, encode
from tunbridge.data.frames import check_column_names, column_kinds, frame_columns
from tunbridge.errors import DataError, DataWarning

NAN = float("nan")
FRAMES = "a table must be a frame, a dict of columns, a list of rows or records, or a two-dimensional array"
ONE_FRAME = {"age": [31, 45, 62], "sex": ["m", None, "f"]}


def refusal(data: object, **keywords: object) -> str:
    with pytest.raises(DataError) as error:
        as_table(data, **keywords)  # type: ignore[arg-type]
    return str(error.value)


# Frames of every make


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pa.table,
        pa.record_batch,
        lambda d: pa.table(d).to_reader(),
        pd.DataFrame,
        lambda d: pd.DataFrame(d, index=[5, 5, 7]),
        pl.DataFrame,
        lambda d: duckdb.from_arrow(pa.table(d)),
        lambda d: as_table(d),
        lambda d: [dict(zip(d, row, strict=True)) for row in zip(*d.values(), strict=True)],
        lambda d: {name: pl.Series(values) for name, values in d.items()},
        lambda d: {name: pd.Series(values) for name, values in d.items()},
        lambda d: {name: np.array(values, object) for name, values in d.items()},
    ],
)
def test_all_frames_make_the_same_table(make: Callable) -> None:
    table = as_table(make(ONE_FRAME))
    assert table.variables == (Variable("age"), Variable("sex", ["f", "m"]))
    assert table.floats("age").tolist() == [31, 45, 62]
    assert table.codes("sex").tolist() == [1, -1, 0]


def test_rows_keep_the_types_of_their_values() -> None:
    table = as_table([[1, "a", None], (2, "b", 2.5), [3, "a", NAN]])
    assert table.names == ("x0", "x1", "x2")
    assert table.floats("x0").tolist() == [1, 2, 3]
    assert table.variable("x1").states == ("a", "b")
    assert table.missing == {"x2": 2}


def test_records_may_lack_names() -> None:
    table = as_table([{"a": 1.5}, {"b": "x", "a": 2.5}, {}])
    assert table.names == ("a", "b")
    assert table.missing == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [3]], "row 1 is [1, 2], row 2 is [3]"),
        ([{"a": 1}, [1]], "row 1 is {'a': 1}, row 2 is [1]"),
        ([[1], {"a": 1}], "row 1 is [1], row 2 is {'a': 1}"),
    ],
)
def test_ragged_rows(rows: list, message: str) -> None:
    assert refusal(rows) == f"rows must be equally long lists, or all dicts; {message}."


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(6.0).reshape(3, 2).astype(">f8"),
        np.arange(6.0).reshape(3, 2).astype(np.float32),
        np.arange(6.0).reshape(3, 2).repeat(2, axis=0).repeat(3, axis=1)[::2, ::3],
        np.arange(6).reshape(3, 2),
        np.arange(6, dtype=np.uint8).reshape(3, 2),
        np.arange(6).reshape(3, 2).astype(object),
        np.ma.array(np.arange(6.0).reshape(3, 2)),
        [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])],
    ],
)
def test_matrices(array: np.ndarray) -> None:
    table = as_table(array)
    assert table.names == ("x0", "x1")
    assert table.floats("x0").tolist() == [0, 2, 4]
    assert table.floats("x1").tolist() == [1, 3, 5]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_numpy_matrices() -> None:
    assert as_table(np.matrix([[1.5, 2], [3, 4]])).floats("x0").tolist() == [1.5, 3]


def test_masked_matrices() -> None:
    table = as_table(np.ma.array([[1.0, 2], [3, 4]], mask=[[True, False], [False, False]]))
    assert table.missing == {"x0": 1}


def test_structured_arrays_keep_their_names() -> None:
    rows = [(1, 2.5, "a"), (3, 4.5, "b"), (5, NAN, "a")]
    for array in (np.array(rows, [("n", "i4"), ("x", "f8"), ("s", "U3")]), np.rec.array(rows, names="n,x,s")):
        table = as_table(array)
        assert table.names == ("n", "x", "s")
        assert table.floats("n").tolist() == [1, 3, 5]
        assert table.variable("s").states == ("a", "b")
    assert refusal(np.zeros(3, [("a", "f8", 2)])) == "column 'a' must be one-dimensional; got shape (3, 2)."


def test_doubles_are_not_copied_and_nothing_is_changed() -> None:
    matrix = np.arange(12.0).reshape(4, 3)
    locked = np.arange(4.0)
    locked.flags.writeable = False
    assert np.shares_memory(as_table(matrix).floats("x1"), matrix)
    assert np.shares_memory(as_table({"x": matrix[:, 0]}).floats("x"), matrix)
    assert np.shares_memory(as_table({"x": locked}).floats("x"), locked)
    assert matrix.flags.writeable
    assert not as_table(matrix).floats("x1").flags.writeable
    assert matrix.tolist() == np.arange(12.0).reshape(4, 3).tolist()


def test_object_columns_of_the_caller_stay_as_they_are() -> None:
    values = np.array([1, NAN, None, pd.NA], object)
    before = list(values)
    as_table({"x": values})
    assert all(a is b for a, b in zip(values, before, strict=True))
    assert values.flags.writeable


@pytest.mark.parametrize(
    ("data", "n_rows", "names"),
    [
        ({}, 0, ()),
        (pd.DataFrame(), 0, ()),
        (pl.DataFrame(), 0, ()),
        (np.empty((3, 0)), 0, ()),
        ({"x": []}, 0, ("x",)),
        (np.empty((0, 2)), 0, ("x0", "x1")),
        (pd.DataFrame({"x": pd.Series([], dtype="category")}), 0, ("x",)),
        (pl.DataFrame(schema={"x": pl.Int64, "y": pl.Categorical}), 0, ("x", "y")),
    ],
)
def test_no_rows_or_no_columns(data: object, n_rows: int, names: tuple) -> None:
    table = as_table(data)
    assert (table.n_rows, table.names) == (n_rows, names)
    assert table.to_arrow().num_columns == len(names)


# What is no frame


@pytest.mark.parametrize(
    ("data", "rest"),
    [
        (np.arange(3), "got an array of shape (3,). Give the column a name: {'x': values}."),
        (np.zeros((2, 2, 2)), "got an array of shape (2, 2, 2)."),
        (np.array(5), "got an array of shape ()."),
        ([1, 2], "got list. Give the column a name: {'x': values}."),
        ([], "got list. Give the column a name: {'x': values}."),
        (pd.Series([1]), "got Series. Give the column a name: {'x': values}."),
        (pl.Series([1]), "got Series. Give the column a name: {'x': values}."),
        (pa.array([1]), "got Int64Array. Give the column a name: {'x': values}."),
        (pa.chunked_array([[1]]), "got ChunkedArray. Give the column a name: {'x': values}."),
        (pl.LazyFrame({"a": [1]}), "got LazyFrame. Call .collect() first."),
        (scipy.sparse.csr_matrix(np.eye(2)), "got csr_matrix. Call .toarray() first."),
        (scipy.sparse.csr_array(np.eye(2)), "got csr_array. Call .toarray() first."),
        (tb.discretise({"a": [0.5, 1.5]}), "got the pair that discretise returns; pass its first element."),
        ("data.csv", "got str. Read a file first: tb.read_table('data.csv')."),
        (Path("data.csv"), f"got {type(Path()).__name__}. Read a file first: tb.read_table('data.csv')."),
        (None, "got None."),
        (5, "got int."),
        ({1, 2}, "got set."),
        ((i for i in range(3)), "got generator."),
        ([1, [2]], "got list."),
    ],
)
def test_what_is_no_frame(data: object, rest: str) -> None:
    assert refusal(data) == f"{FRAMES}; {rest}"


def test_numbers_as_text_are_categories_with_a_warning() -> None:
    numbers = [str(i) for i in range(12)]
    with pytest.warns(DataWarning, match=r"column 'a' holds numbers as text.* kinds=\{'a': 'continuous'\}\) reads it"):
        assert as_table({"a": numbers, "b": ["x"] * 12}).variable("a").is_categorical
    assert as_table({"a": numbers}, kinds={"a": "continuous"}).floats("a")[11] == 11.0
    as_table({"a": numbers}, kinds={"a": "categorical"})
    as_table({"few": ["1", "2", "3"] * 4, "codes": [f"{i:03}" for i in range(12)], "words": [*numbers[:-1], "x"]})
    as_table({"chosen": pd.Categorical(numbers)})


def test_a_frame_of_unknown_make_does_not_lose_its_names() -> None:
    class Frame:
        columns = ("a", "b")

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.eye(2)

    assert refusal(Frame()) == f"{FRAMES}; got Frame. Turn it into a pyarrow.Table first."


def test_a_frame_that_arrow_cannot_carry() -> None:
    message = refusal(pl.DataFrame({"x": [1]}, schema={"x": pl.Int128}))
    assert message.startswith(f"{FRAMES} that pyarrow can read; it says: ")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({1}, "must be a list of values; got {1}."),
        ({"b": 1}, "must be a list of values; got {'b': 1}."),
        (np.eye(2), "must be one-dimensional; got shape (2, 2)."),
        (np.array(1), "must be one-dimensional; got shape ()."),
        (pd.DataFrame({"b": [1]}), "must be one-dimensional; got shape (1, 1)."),
    ],
)
def test_columns_of_a_dict_are_lists(values: object, message: str) -> None:
    assert refusal({"a": values}) == f"column 'a' {message}"


def test_generators_are_no_columns() -> None:
    assert refusal({"a": (i for i in range(3))}).startswith("column 'a' must be a list of values; got <generator")


def test_columns_are_equally_long() -> None:
    assert refusal({"a": [1], "b": [1, 2]}) == "columns must be equally long; 'a' has 1 value and 'b' has 2."


def test_errors_name_the_column() -> None:
    assert refusal({"a": [1], "b": [b"x"]}).startswith("column 'b' must hold text, ")
    assert refusal(np.array([[1.0, 2], [3, -np.inf]])) == (
        "column 'x1' must hold finite numbers; row 2 contains infinity (-inf). "
        "Replace it by a number or leave the cell empty."
    )


# Names


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(np.eye(2)), "column names must be text; column 1 is called 0."),
        (
            pd.DataFrame(np.eye(2), columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
            "column names must be text; column 1 is called ('a', 'b').",
        ),
        ({"a": [1], None: [1]}, "column names must be text; column 2 is called None."),
    ],
)
def test_names_that_are_no_text(frame: object, message: str) -> None:
    hint = "Rename the columns, for example by [str(name) for name in names]."
    assert refusal(frame) == f"{message} {hint}"


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_empty_names(name: str) -> None:
    message = "columns must have names; column 2 of 2 has none. Name it in the header."
    assert refusal({"a": [1], name: [1]}) == message
    assert refusal(pd.DataFrame({"a": [1], name: [1]})) == message


def test_repeated_names() -> None:
    message = "column names must be distinct; got 'a' more than once. Rename one."
    assert refusal(pd.DataFrame(np.eye(2), columns=["a", "a"])) == message
    assert refusal(pa.table([[1], [2]], names=["a", "a"])) == message


def test_any_text_is_a_name() -> None:
    names = ["with space", "comma, and 'quote'", "größe", "年齢", "a\nb", "x" * 500]
    assert as_table({name: [1.5] for name in names}).to_arrow().column_names == names
    check_column_names(names)


def test_names_of_subclasses_of_text() -> None:
    table = as_table({np.str_("a"): [1.5]})
    assert type(table.names[0]) is str
    assert table.floats("a").tolist() == [1.5]


# Kinds and weights


def test_kinds() -> None:
    data = {"a": [1, 2, 3], "b": [0, 1, 0]}
    assert as_table(data, kinds={"a": "categorical"}).variable("a").states == (1, 2, 3)
    assert [v.is_continuous for v in as_table(data, kinds="continuous").variables] == [True, True]
    assert [v.is_categorical for v in as_table(np.eye(3), kinds="categorical").variables] == [True] * 3
    assert as_table(np.eye(3), kinds={"x1": "categorical"}).variable("x1").states == (0.0, 1.0)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"agee": "continuous"}, "kinds must name columns; got 'agee'. Did you mean 'age'?"),
        ({"age": "number"}, "the kind of column 'age' must be one of 'categorical', 'continuous'; got 'number'."),
        ("continuos", "kinds must be one of 'categorical', 'continuous'; got 'continuos'. Did you mean 'continuous'?"),
        (["age"], "kinds must be a kind, or a dict from column to kind; got ['age']."),
    ],
)
def test_bad_kinds(kinds: object, message: str) -> None:
    assert refusal({"age": [1]}, kinds=kinds) == message
    assert refusal(as_table({"age": [1]}), kinds=kinds) == message


def test_column_kinds() -> None:
    assert column_kinds(None, ["a"]) == {}
    assert column_kinds("continuous", ["a", "b"]) == {"a": "continuous", "b": "continuous"}


def test_a_table_is_taken_as_it_is() -> None:
    table = as_table({"a": pd.Categorical(["x", "y"], ["y", "x", "z"]), "b": [0, 1]}, weights=[1, 2])
    assert as_table(table) is table
    other = as_table(table, kinds={"b": "continuous"})
    assert other.variable("a") == table.variable("a")
    assert other.floats("b").tolist() == [0, 1]
    assert other.weights.tolist() == [1, 2]
    assert as_table(table, weights=[3, 4]).weights.tolist() == [3, 4]


def test_weights_by_name() -> None:
    for weights in ([1, 1, 2], [0.5, 1.5, 2], [True, True, False], ["1", "2", "3"]):
        table = as_table({"a": ["x", "y", "x"], "w": weights}, weights="w")
        assert table.names == ("a",)
        assert table.weights.tolist() == [float(w) for w in weights]
    assert refusal({"a": [1], "weight": [1]}, weights="weigth") == (
        "weights must name a column; got 'weigth'. Did you mean 'weight'?"
    )
    assert refusal({"a": [1, 2], "w": [1, None]}, weights="w") == (
        "weights must be finite and not negative; row 2 has nan."
    )


# Known variables


def test_encode_takes_the_columns_of_the_variables_in_their_order() -> None:
    variables = [Variable("sky", ["clear", "cloudy"]), Variable("wind")]
    data = {"wind": ["2.5", None], "moon": [[1], [2]], "sky": ["green", "clear"]}
    table, unseen = encode(data, variables)
    assert table.variables == tuple(variables)
    assert table.codes("sky").tolist() == [-1, 0]
    np.testing.assert_array_equal(table.floats("wind"), [2.5, NAN])
    assert unseen == {"sky": ["green"]}
    assert table.to_arrow()["sky"].to_pylist() == [None, "clear"]


def test_encode_reports_each_unseen_state_once_and_sorted() -> None:
    _, unseen = encode({"x": ["d", "c", "d", "a", None, "b"]}, [Variable("x", ["a"])])
    assert unseen == {"x": ["b", "c", "d"]}


def test_encode_names_columns_that_are_not_there() -> None:
    with pytest.raises(DataError) as error:
        encode({"Skyy": ["a"], "wind": [1]}, [Variable("wind"), Variable("Sky", ["a"]), Variable("moon")])
    assert str(error.value) == "the data must have the columns 'Sky', 'moon'. Did you mean 'Skyy'?"


def test_encode_a_table() -> None:
    source = as_table({"x": ["b", "a", None, "c"], "y": [0, 1, 1, 0], "z": [1.0, 2.0, 3.0, 4.0]}, weights=[1, 2, 3, 4])
    variables = [Variable("x", ["c", "b"]), Variable("y"), Variable("z", [1, 2, 3])]
    table, unseen = encode(source.take([0, 2, 3]), variables)
    assert table.codes("x").tolist() == [1, -1, 0]
    assert table.floats("y").tolist() == [0, 1, 0]
    assert table.codes("z").tolist() == [0, 2, -1]
    assert unseen == {"z": [4.0]}
    assert table.weights.tolist() == [1, 3, 4]
    assert encode(source, variables)[1]["x"] == ["a"]


def test_encode_a_matrix() -> None:
    matrix = np.array([[1.0, 2.0], [NAN, 3.0]])
    table, unseen = encode(matrix, [Variable("x1", [2, 4]), Variable("x0")])
    assert np.shares_memory(table.floats("x0"), matrix)
    assert table.codes("x1").tolist() == [0, -1]
    assert unseen == {"x1": [3.0]}
    with pytest.raises(DataError, match="column 'x0' must hold finite numbers; row 1 contains infinity"):
        encode(np.array([[np.inf, 2.0]]), [Variable("x0")])


def test_encode_understands_times_in_another_unit() -> None:
    days = pd.date_range("2020-01-01", periods=3)
    learned = as_table({"day": pa.array(days.date)})
    for unit in ("s", "ms", "us", "ns"):
        table, _ = encode(pd.DataFrame({"day": days.as_unit(unit)}), learned.variables)
        assert table.floats("day").tolist() == learned.floats("day").tolist()


def test_encode_with_states_of_several_types() -> None:
    table, unseen = encode({"x": ["0", "high", "low"]}, [Variable("x", [0, "high"])])
    assert table.codes("x").tolist() == [0, 1, -1]
    assert unseen == {"x": ["low"]}
    assert table.to_arrow()["x"].to_pylist() == ["0", "high", None]


def test_frame_columns_of_a_table_are_its_values() -> None:
    table = as_table({"x": ["b", "a"], "day": [dt.date(2020, 1, 1), None]})
    columns = frame_columns(table)
    assert columns["x"].to_pylist() == ["b", "a"]
    assert columns["day"].to_pylist() == [dt.date(2020, 1, 1), None]


def test_many_rows_are_read_by_several_threads_alike() -> None:
    n = 70_000
    data = {f"c{i}": np.arange(n) % (i + 3) for i in range(4)} | {"bad": np.zeros(n)}
    table = as_table(data)
    for i in range(4):
        np.testing.assert_array_equal(table.floats(f"c{i}"), data[f"c{i}"])
    assert "column 'a'" in refusal({"ok": np.zeros(n), "a": np.full(n, np.inf), "b": np.full(n, np.inf)})


def test_a_mapping_of_values_is_one_row() -> None:
    assert as_table({"a": 1, "b": "x", "c": None}).shape == (1, 3)
    assert refusal({"a": 1, "b": [1, 2]}).endswith(
        "must be a list of values; got 1. A single row is written {'a': [1]}."
    )
