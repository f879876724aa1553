"""Counts and pair counts: rows by name, dense and sparse, merged, printed."""

from __future__ import annotations

import numpy as np
import pytest

from tunbridge.counts import Counter, Counts, PairCounts
from tunbridge.counts.records import number_text
from tunbridge.data import Variable, datasets
from tunbridge.errors import DataError, MemoryForecastError

WIND = Variable("wind", ["strong", "weak"])
SKY = Variable("sky", ["clear", "cloudy", "rain"])
DENSE = Counts(SKY, (WIND,), np.array([[1, 0, 4], [0, 0, 2]]))
SPARSE = Counts(SKY, (WIND,), np.array([[0, 0, 2]]), np.array([[1]], np.int32))


def huge(n_parents: int) -> Counts:
    parents = tuple(Variable(f"x{i}", range(16)) for i in range(n_parents))
    return Counts(SKY, parents, np.array([[1, 2, 3]]), np.full((1, n_parents), 15, np.int32))


# Rows


def test_row_by_name() -> None:
    assert DENSE.row({"wind": "strong"}).tolist() == [1, 0, 4]
    assert SPARSE.row({"wind": "weak"}).tolist() == [0, 0, 2]
    assert SPARSE.row({"wind": "strong"}).tolist() == [0, 0, 0]
    assert Counts(SKY, (), np.array([[1, 2, 3]])).row({}).tolist() == [1, 2, 3]


def test_row_errors() -> None:
    with pytest.raises(DataError, match=r"must name parents of 'sky'; got 'wnd'\. Did you mean 'wind'\?"):
        DENSE.row({"wnd": "weak"})
    with pytest.raises(DataError, match="every parent a state; 'wind' has none"):
        DENSE.row({})
    with pytest.raises(DataError, match="'wind' must be in one of its states; got 'none'"):
        DENSE.row({"wind": "none"})
    with pytest.raises(DataError, match="must name parents of 'sky'; got 'wind'"):
        Counts(SKY, (), np.array([[1, 2, 3]])).row({"wind": "weak"})


# Dense and sparse


def test_dense() -> None:
    assert SPARSE.is_sparse
    assert not SPARSE.dense().is_sparse
    assert SPARSE.dense().table.tolist() == [[0, 0, 0], [0, 0, 2]]
    assert DENSE.dense() is DENSE
    assert SPARSE.array.tolist() == [[0, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize("n_parents", [20, 31, 400])
def test_a_dense_table_that_no_machine_holds(n_parents: int) -> None:
    with pytest.raises(MemoryForecastError, match=r"dense table of 'sky' given 'x0'.*Keep it sparse"):
        huge(n_parents).dense()


def test_the_limit_of_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = huge(3)
    assert counts.array[15, 15, 15].tolist() == [1, 2, 3]
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "98303")
    with pytest.raises(MemoryForecastError, match=r"would need 96\.0 KiB"):
        _ = counts.array


# Sums


def test_merge_of_the_same_states() -> None:
    merged = DENSE.merge(DENSE)
    assert merged.table.tolist() == [[2, 0, 8], [0, 0, 4]]
    assert merged.table.dtype == np.int64
    assert (DENSE + SPARSE).dense().table.tolist() == [[1, 0, 4], [0, 0, 4]]
    assert (SPARSE + DENSE).dense().table.tolist() == [[1, 0, 4], [0, 0, 4]]
    assert (SPARSE + SPARSE).table.tolist() == [[0, 0, 4]]
    assert DENSE.table.tolist() == [[1, 0, 4], [0, 0, 2]]


@pytest.mark.parametrize("mine", [DENSE, SPARSE])
def test_merge_with_new_states_in_another_order(mine: Counts) -> None:
    sky, wind = Variable("sky", ["snow", "rain"]), Variable("wind", ["none", "weak"])
    other = Counts(sky, (wind,), np.array([[1, 2], [3, 5]]))
    merged = mine.merge(other)
    assert merged.child == Variable("sky", ["clear", "cloudy", "rain", "snow"])
    assert merged.parents == (Variable("wind", ["strong", "weak", "none"]),)
    assert merged.row({"wind": "weak"}).tolist() == [0, 0, 7, 3]
    assert merged.row({"wind": "none"}).tolist() == [0, 0, 2, 1]
    assert merged.total == mine.total + 11


def test_merge_with_decay_gives_floats() -> None:
    merged = DENSE.decay(0.5).merge(DENSE)
    assert merged.table.tolist() == [[1.5, 0, 6], [0, 0, 3]]


def test_states_of_other_types_that_read_alike_are_one() -> None:
    numbers = Counts(Variable("x", [0, 1]), (), np.array([[2, 3]]))
    texts = Counts(Variable("x", ["1", "2"]), (), np.array([[5, 7]]))
    merged = numbers.merge(texts)
    assert merged.child.states == (0, 1, "2")
    assert merged.table.tolist() == [[2, 8, 7]]


def test_states_that_cannot_be_told_apart_lose_no_rows() -> None:
    a = Counts(Variable("x", ["true"]), (), np.array([[1]]))
    b = Counts(Variable("x", [True, "True"]), (), np.array([[2, 4]]))
    assert a.merge(b).total == 7


def test_many_new_states_make_a_sparse_table_instead_of_a_vast_one() -> None:
    def part(letter: str) -> Counts:
        columns = {f"x{i}": [f"{letter}0", f"{letter}1"] for i in range(16)}
        return Counter(columns).family("x0", [f"x{i}" for i in range(1, 16)])

    a, b = part("a"), part("b")
    assert not a.is_sparse
    merged = a.merge(b)  # 4^16 cells if it were dense
    assert merged.is_sparse
    assert merged.total == 4
    assert merged.table.shape == (4, 4)
    assert not a.merge(part("a")).is_sparse


def test_a_variable_by_itself_stays_dense_whatever_its_states() -> None:
    a = Counts(Variable("x", range(50_000)), (), np.ones((1, 50_000), np.int64))
    b = Counts(Variable("x", range(50_000, 100_000)), (), np.zeros((1, 50_000), np.int64))
    assert a.merge(b).table.shape == (1, 100_000)
    assert not a.merge(b).is_sparse


def test_only_counts_of_one_family_are_merged() -> None:
    with pytest.raises(DataError, match="same family to be merged; got 'sky given wind' and 'sky'"):
        DENSE.merge(Counts(SKY, (), np.array([[1, 2, 3]])))
    with pytest.raises(DataError, match="'wind' must be of one kind in both"):
        DENSE.merge(Counts(SKY, (Variable("wind"),), np.zeros((0, 3), np.int64)))


# For people


def test_repr_has_a_column_for_each_parent() -> None:
    counts = Counter(datasets.play_tennis()).family("play", ["outlook", "wind"])
    assert repr(counts).splitlines() == [
        "Counts of play given outlook, wind (14 rows)",
        "outlook   wind    no  yes",
        "Overcast  Strong   0    2",
        "Overcast  Weak     0    2",
        "Rain      Strong   2    0",
        "Rain      Weak     0    3",
        "Sunny     Strong   1    1",
        "Sunny     Weak     2    1",
    ]


def test_repr_of_a_variable_by_itself() -> None:
    assert repr(Counter(datasets.play_tennis()).marginal("play")) == "Counts of play (14 rows)\nno  yes\n 5    9"


def test_repr_shows_weights_and_large_numbers_as_they_are() -> None:
    counts = Counts(SKY, (), np.array([[0.125, 1_234_567.0, 2e20]]))
    assert repr(counts) == "Counts of sky (2e+20 rows)\nclear   cloudy   rain\n0.125  1234567  2e+20"


def test_repr_of_a_long_table_is_cut() -> None:
    wide, long = Variable("wide", range(12)), Variable("long", range(23))
    lines = repr(Counts(wide, (long,), np.ones((23, 12), np.int64))).splitlines()
    assert lines[0] == "Counts of wide given long (276 rows)"
    assert lines[1] == "long  0  1  2  3  4  5  6  7  8  9  …"
    assert lines[2] == "0     1  1  1  1  1  1  1  1  1  1  …"
    assert lines[-1] == "… (3 more configurations)"
    assert len(lines) == 23


def test_repr_of_sparse_and_of_empty_tables() -> None:
    assert (
        repr(SPARSE)
        == "Counts of sky given wind (2 rows, sparse)\nwind  clear  cloudy  rain\nweak      0       0     2"
    )
    none = Counts(Variable("x", []), (WIND,), np.zeros((2, 0), np.int64))
    assert repr(none) == "Counts of x given wind (0 rows)\nwind\nstrong\nweak"
    assert repr(Counts(SKY, (Variable("x", []),), np.zeros((0, 3), np.int64))).endswith("x  clear  cloudy  rain")


def test_repr_of_long_names() -> None:
    counts = Counts(Variable("x", ["a" * 100, "b"]), (), np.array([[1, 2]]))
    assert max(map(len, repr(counts).splitlines())) < 40


def test_number_text() -> None:
    assert [number_text(n) for n in (0, 3.0, 1e6, 10**14, 0.5, 1 / 3)] == [
        "0", "3", "1000000", "100000000000000", "0.5", "0.333333",
    ]  # fmt: skip


# Pairs


def test_pair_counts() -> None:
    matrix = np.arange(25).reshape(5, 5)
    pairs = PairCounts((WIND, SKY), matrix)
    assert pairs.first.tolist() == [0, 2, 5]
    assert pairs.table("wind", "sky").tolist() == [[2, 3, 4], [7, 8, 9]]
    assert pairs.table("sky", "wind").tolist() == [[10, 11], [15, 16], [20, 21]]
    assert repr(pairs) == "PairCounts of 2 variables: 1 pair"
    within = PairCounts((WIND, SKY), np.stack([matrix, matrix]), Variable("c", ["p", "q"]))
    assert within.table("wind", "wind").shape == (2, 2, 2)
    assert repr(within) == "PairCounts of 2 variables within c: 1 pair"


# Other forms of the same counts


def test_sparse_counts_have_the_rows_that_occur_and_become_dense_again() -> None:
    empty = Counts(SKY, (WIND,), np.array([[0, 0, 0], [0, 3, 2]]))
    sparse = empty.sparse()
    assert sparse.is_sparse
    assert sparse.configurations is not None
    assert sparse.configurations.tolist() == [[1]]
    assert sparse.dense().table.tolist() == empty.table.tolist()
    assert sparse.sparse() is sparse


@pytest.mark.parametrize("counts", [DENSE, DENSE.sparse()])
def test_counts_over_variables_with_more_states(counts: Counts) -> None:
    wind, sky = Variable("wind", ["none", "weak", "strong"]), Variable("sky", ["rain", "snow", "cloudy", "clear"])
    wider = counts.over([wind, sky])
    assert [v.name for v in wider.variables] == ["wind", "sky"]
    assert wider.is_sparse == counts.is_sparse
    assert wider.dense().table.tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [4, 0, 0, 1]]
