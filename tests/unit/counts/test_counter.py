"""The counter's border: what it takes, what it refuses, and its answers where there is nothing to count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tunbridge._core import threads as _threads
from tunbridge.counts import Counter, columns
from tunbridge.data import Column, Table, Variable, as_table, datasets
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.kernels.compiled import kernels_forced

WEATHER = {
    "sky": ["clear", "cloudy", None, "clear"],
    "wind": ["weak", "strong", "weak", None],
    "degrees": [21.5, 18.0, 17.25, None],
}


@pytest.fixture
def counter() -> Counter:
    return Counter(WEATHER)


def many_states(n: int, n_rows: int = 3) -> Table:
    codes = np.arange(n_rows, dtype=np.int32)
    return Table.of(
        [Column(Variable("id", range(n)), codes, pa.int64()), Column(Variable("id2", range(n)), codes, pa.int64())]
    )


# What is counted


def test_any_frame_is_counted_and_continuous_columns_are_left_out(counter: Counter) -> None:
    assert [v.name for v in counter.variables] == ["sky", "wind"]
    assert counter.marginal("sky").table.tolist() == [[2, 1]]
    assert counter.family("sky", ["wind"]).table.tolist() == [[0, 1], [1, 0]]
    assert counter.total == 4


def test_play_tennis() -> None:
    counter = Counter(datasets.play_tennis())
    counts = counter.family("play", ["outlook", "wind"])
    assert counts.array.shape == (3, 2, 2)
    assert counts.row({"wind": "Strong", "outlook": "Rain"}).tolist() == [2, 0]
    assert counter.pairs().table("outlook", "play").tolist() == [[0, 4], [2, 3], [3, 2]]
    assert counter.pairs_within("play").table("outlook", "outlook")[1].tolist() == [[4, 0, 0], [0, 3, 0], [0, 0, 2]]


def test_repr(counter: Counter) -> None:
    assert repr(counter) == "Counter of 2 variables over 4 rows"
    assert repr(counter.decay(0.3)) == "Counter of 2 variables over 1.2 rows"
    assert repr(Counter({"x": ["a"] * 1_500_000})) == "Counter of 1 variable over 1500000 rows"
    assert repr(Counter({"x": ["a"]})) == "Counter of 1 variable over 1 row"


def test_the_tables_of_others_stay_as_they_were() -> None:
    codes = np.array([0, 1, -1, 1], np.int16)
    table = Table.of([Column(Variable("x", ["a", "b"]), codes, pa.string())])
    Counter(table).merge(Counter({"x": ["c"]})).family("x")
    assert codes.tolist() == [0, 1, -1, 1]
    assert codes.flags.writeable
    assert table.codes("x").dtype == np.int16


# Nothing to count


@pytest.mark.parametrize("weighted", [False, True])
def test_no_rows(weighted: bool) -> None:
    table = Table.of(
        [
            Column(Variable("x", ["a", "b"]), np.empty(0, np.int8), pa.string()),
            Column(Variable("y", ["c"]), np.empty(0, np.int8), pa.string()),
        ],
        weights=np.empty(0) if weighted else None,
    )
    counter = Counter(table)
    assert counter.total == 0
    assert counter.family("x", ["y"]).table.tolist() == [[0, 0]]
    assert [c.table.tolist() for c in counter.extend("y")] == [[[0], [0]]]
    assert counter.pairs().matrix.tolist() == [[0] * 3] * 3
    assert counter.pairs_within("x").matrix.tolist() == [[[0]], [[0]]]


@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.0]])
def test_no_categorical_columns(weights: list[float] | None) -> None:
    counter = Counter(as_table({"age": [1.5, 2.5, 3.25]}).with_weights(weights))
    assert counter.variables == ()
    assert counter.total == (3 if weights is None else 3.5)
    assert counter.pairs().matrix.shape == (0, 0)
    assert counter.families([]) == []
    assert counter.merge(counter.decay(0.5)).total == counter.total * 1.5


def test_no_columns() -> None:
    counter = Counter(Table.of([]))
    assert counter.total == 0
    assert counter.pairs().matrix.shape == (0, 0)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_no_variables_asked_for(weights: list[float] | None) -> None:
    counter = Counter(as_table({"x": ["a", "b"], "y": ["c", "d"]}).with_weights(weights))
    assert counter.pairs([]).matrix.shape == (0, 0)
    assert counter.pairs_within("x", []).matrix.shape == (2, 0, 0)
    assert counter.pairs_within("x", ["x"]).matrix.shape == (2, 0, 0)
    assert counter.extend("x", [], []) == []


def test_no_variables_asked_for_of_a_large_table_without_narrow_columns() -> None:
    codes = (np.arange(30_000) % 20).astype(np.int8)
    counter = Counter(Table.of([Column(Variable("x", range(20)), codes, pa.int64())]))
    assert counter.pairs([]).matrix.shape == (0, 0)
    assert counter.pairs().matrix.tolist() == (np.eye(20, dtype=int) * 1500).tolist()


def test_columns_without_states() -> None:
    counter = Counter({"x": ["a", "b"], "empty": [None, None]})
    assert counter.marginal("empty").table.shape == (1, 0)
    assert counter.family("empty", ["x"]).table.shape == (2, 0)
    assert counter.family("x", ["empty"]).table.shape == (0, 2)
    assert [c.table.shape for c in counter.extend("empty")] == [(2, 0)]
    assert [c.table.shape for c in counter.extend("x")] == [(0, 2)]
    assert counter.pairs().table("x", "empty").shape == (2, 0)
    assert counter.pairs_within("empty").matrix.shape == (0, 2, 2)


def test_a_child_without_states_has_no_row_for_each_of_a_great_many_configurations() -> None:
    columns = {f"x{i}": [f"s{k}" for k in range(16)] for i in range(40)}
    counter = Counter(columns | {"empty": [None] * 16})
    counts = counter.family("empty", list(columns))
    assert counts.is_sparse
    assert counts.table.shape == (0, 0)
    assert counter.extend("empty", list(columns)[:39])[0].table.shape == (0, 0)


def test_more_constant_parents_than_an_array_may_have_axes() -> None:
    names = [f"x{i}" for i in range(100)]
    counter = Counter({name: ["a", "a"] for name in names})
    counts = counter.family("x0", names[1:])
    assert counts.table.tolist() == [[2]]
    assert counts.row(dict.fromkeys(names[1:], "a")).tolist() == [2]
    assert counts.merge(counts).table.tolist() == [[4]]
    with pytest.raises(DataError, match=r"at most 32 axes.*100 variables"):
        _ = counts.array


# What is refused


def test_a_continuous_variable(counter: Counter) -> None:
    message = "must be categorical to be counted; 'degrees' is continuous. Discretise it"
    with pytest.raises(DataError, match=message):
        counter.marginal("degrees")
    with pytest.raises(DataError, match=message):
        counter.family("sky", ["degrees"])
    with pytest.raises(DataError, match=message):
        counter.pairs(["sky", "degrees"])
    with pytest.raises(DataError, match=message):
        counter.pairs_within("degrees")
    with pytest.raises(DataError, match=message):
        counter.extend("sky", candidates=["degrees"])


def test_an_unknown_name_gets_a_hint(counter: Counter) -> None:
    for ask in (
        lambda: counter.family("sky", ["wnd"]),
        lambda: counter.marginal("wnd"),
        lambda: counter.pairs(["wnd"]),
        lambda: counter.pairs_within("wnd"),
        lambda: counter.extend("sky", candidates=["wnd"]),
        lambda: counter.families([("wnd", [])]),
        lambda: counter.pairs().table("sky", "wnd"),
    ):
        with pytest.raises(DataError, match=r"got 'wnd'\. Did you mean 'wind'\?"):
            ask()


@pytest.mark.parametrize("name", [["sky"], 3, None])
def test_a_name_that_is_no_text(counter: Counter, name: object) -> None:
    with pytest.raises(DataError, match="must be that of a column"):
        counter.family(name)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="must be of variables that were counted"):
        counter.pairs().table("sky", name)  # type: ignore[arg-type]


def test_the_same_variable_twice(counter: Counter) -> None:
    with pytest.raises(DataError, match="each variable once; got 'sky', 'sky'"):
        counter.family("sky", ["sky"])
    with pytest.raises(DataError, match="each variable once; got 'wind', 'wind', 'sky'"):
        counter.family("sky", ["wind", "wind"])
    with pytest.raises(DataError, match="each variable once"):
        counter.extend("sky", ["wind"], ["wind"])
    with pytest.raises(DataError, match="each variable once"):
        counter.extend("sky", [], ["sky"])


def test_a_candidate_may_be_asked_for_twice(counter: Counter) -> None:
    assert [c.table.tolist() for c in counter.extend("sky", [], ["wind", "wind"])] == [[[0, 1], [1, 0]]] * 2


def test_text_where_a_list_is_meant(counter: Counter) -> None:
    with pytest.raises(DataError, match=r"parents must be a list of names; got the text 'wind'\. Write \['wind'\]"):
        counter.family("sky", "wind")
    with pytest.raises(DataError, match="candidates must be a list of names; got the text 'wind'"):
        counter.extend("sky", [], "wind")
    with pytest.raises(DataError, match="variables must be a list of names; got the text 'wind'"):
        counter.pairs("wind")
    with pytest.raises(DataError, match=r"families must be pairs \(variable, parents\); got 'sky'"):
        counter.families(["sky"])  # type: ignore[list-item]
    with pytest.raises(DataError, match="families must be pairs"):
        counter.families([("sky", ["wind"], "wind")])  # type: ignore[list-item]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_n_jobs(n_jobs: object) -> None:
    with pytest.raises(DataError, match="n_jobs must be an integer other than 0"):
        Counter(WEATHER, n_jobs=n_jobs)  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [-0.1, 1.1, float("nan"), "half"])
def test_the_factor_of_decay(counter: Counter, factor: object) -> None:
    with pytest.raises(DataError, match="the factor of decay must be"):
        counter.decay(factor)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the factor of decay must be"):
        counter.marginal("sky").decay(factor)  # type: ignore[arg-type]


def test_counters_of_different_variables_are_not_merged(counter: Counter) -> None:
    with pytest.raises(
        DataError, match="must have the same variables to be merged; only one of them has 'rain', 'wind'"
    ):
        counter.merge(Counter({"sky": ["clear"], "rain": ["no"]}))


def test_merged_counters_know_the_continuous_variables_of_both() -> None:
    merged = Counter({"x": ["a"], "p": [0.5]}).merge(Counter({"x": ["b"], "q": [0.5]}))
    with pytest.raises(DataError, match="'q' is continuous"):
        merged.family("q")


# Memory


def test_pairs_of_a_million_states_are_refused_before_anything_is_allocated() -> None:
    counter = Counter(many_states(1_000_000))
    with pytest.raises(MemoryForecastError, match=r"2000000 states \('id' alone has 1000000\).*Leave out columns"):
        counter.pairs()
    with pytest.raises(MemoryForecastError, match="more than 1000 PiB"):
        counter.pairs_within("id")
    assert counter.marginal("id").table[0, :4].tolist() == [1, 1, 1, 0]


def test_the_limit_of_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100000")
    counter = Counter(many_states(200))
    with pytest.raises(MemoryForecastError, match=r"the limit is 97\.7 KiB"):
        counter.pairs()
    with pytest.raises(MemoryForecastError, match=r"the limit is 97\.7 KiB"):
        counter.pairs_within("id")
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "10000000")
    assert counter.pairs().matrix.sum() == 3 * 4


def test_a_sparse_table_may_be_too_large_too(monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(many_states(40_000, 2_000))
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000000")
    with pytest.raises(MemoryForecastError, match="the sparse table would need 610"):
        counter.family("id", ["id2"])


def test_planes_are_built_by_no_more_threads_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def spy(function: object, pieces: object, n_jobs: int | None = None) -> object:
        asked.append(n_jobs)
        return _threads.map_threads(function, pieces, n_jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(columns, "map_threads", spy)
    monkeypatch.setattr(columns, "_WORDS_WORTH_A_THREAD", 1)
    monkeypatch.setattr(columns, "SMALL_CELLS", 0)
    with kernels_forced():
        Counter({"x": ["a", "b"], "y": ["c", "c"]}, n_jobs=1).extend("x")
    assert set(asked) == {1}
