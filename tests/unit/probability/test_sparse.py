from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.probability import CPT, SparseCPT

TOWN, MONTH = Variable("Town", ["Bath", "York", "Wells"]), Variable("Month", range(1, 5))
RAIN = Variable("Rain", ["no", "yes"])
ROWS = {("York", 4): [0.4, 0.6], ("Bath", 1): {"yes": 0.9, "no": 0.1}, ("Wells", 2): [1.0, 0.0]}
DEFAULT = [0.7, 0.3]


def rain(**kwargs) -> SparseCPT:
    return SparseCPT(RAIN, [TOWN, MONTH], ROWS, DEFAULT, **kwargs)


def dense() -> np.ndarray:
    table = np.empty((3, 4, 2))
    table[:] = DEFAULT
    table[1, 3], table[0, 0], table[2, 1] = [0.4, 0.6], [0.1, 0.9], [1.0, 0.0]
    return table


def test_what_it_is():
    cpt = rain()
    assert cpt.configurations.tolist() == [0, 7, 9]
    assert cpt.probabilities.tolist() == [[0.1, 0.9], [0.4, 0.6], [1.0, 0.0]]
    assert cpt.default.tolist() == DEFAULT
    assert cpt.n_rows == 3
    assert cpt.n_configurations == 12
    assert cpt.n_parameters == 4
    assert cpt.shape == (3, 4, 2)
    assert cpt.codes().tolist() == [[0, 0], [1, 3], [2, 1]]
    assert np.array_equal(cpt.table(), dense())
    assert not cpt.table().flags.writeable


def test_rows_are_those_of_the_dense_table():
    codes = np.array([[i, j] for i in range(3) for j in range(4)])
    assert np.array_equal(rain().rows(codes), dense().reshape(12, 2))
    assert rain().distribution({"Town": "York", "Month": 4})["yes"] == 0.6
    assert rain().distribution({"Town": "York", "Month": 3})["yes"] == 0.3


def test_without_rows_all_is_default():
    cpt = SparseCPT(RAIN, [TOWN, MONTH], {})
    assert cpt.rows([[1, 1]]).tolist() == [[0.5, 0.5]]
    assert cpt.table().tolist() == np.full((3, 4, 2), 0.5).tolist()
    assert cpt.n_parameters == 1
    assert SparseCPT(RAIN, [], {}).rows(np.empty((2, 0), int)).tolist() == [[0.5, 0.5]] * 2
    assert SparseCPT(RAIN, [], {(): [0.1, 0.9]}).n_parameters == 1


def test_a_single_parent_needs_no_tuples():
    cpt = SparseCPT(RAIN, [TOWN], {"York": [0.4, 0.6], ("Bath",): [0.2, 0.8]})
    assert cpt.configurations.tolist() == [0, 1]
    assert cpt.probabilities.tolist() == [[0.2, 0.8], [0.4, 0.6]]


def test_from_codes():
    assert SparseCPT.from_codes(RAIN, [TOWN, MONTH], [[2, 1], [0, 0], [1, 3]], [[1, 0], [0.1, 0.9], [0.4, 0.6]],
                                default=DEFAULT) == rain()  # fmt: skip
    with pytest.raises(DataError, match=r"rows must have the shape \(1, 2\); got \(2,\)"):
        SparseCPT.from_codes(RAIN, [TOWN, MONTH], [[2, 1]], [1, 0])
    with pytest.raises(DataError, match="'Rain' given Town='Wells', Month=2 has more"):
        SparseCPT.from_codes(RAIN, [TOWN, MONTH], [[2, 1], [2, 1]], [[1, 0], [1, 0]])


def test_memory_is_in_proportion_to_the_rows():
    parents = [Variable(f"p{i}", range(20)) for i in range(5)]
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, 20, (10_000, 5)), axis=0)
    cpt = SparseCPT.from_codes(RAIN, parents, codes, rng.dirichlet([1, 1], len(codes)))
    assert cpt.n_configurations == 3_200_000
    assert cpt.n_bytes == len(codes) * (8 + 16) + 16
    np.testing.assert_array_equal(cpt.rows(codes), cpt.probabilities)


def test_large_tables_are_refused_by_forecast(monkeypatch):
    parents = [Variable(f"p{i}", range(100)) for i in range(9)]
    cpt = SparseCPT(RAIN, parents, {tuple([99] * 9): [0.0, 1.0]})
    assert cpt.n_configurations == 10**18
    assert cpt.rows([[99] * 9, [98] * 9]).tolist() == [[0.0, 1.0], [0.5, 0.5]]
    with pytest.raises(MemoryForecastError, match="the dense table of 'Rain' would need"):
        cpt.table()
    assert "1 of about 10^18 rows" in repr(cpt)
    with pytest.raises(DataError, match=r"at most 2\^62 configurations; got about 10\^20 configurations"):
        SparseCPT(RAIN, [*parents, MONTH, Variable("q", range(25))], {})


@pytest.mark.parametrize("fixed", [{"Town": 1}, {"Town": 0}, {"Month": 3}, {"Month": 2}, {"Town": 2, "Month": 1}, {}])
def test_reduced_is_the_slice_of_the_dense_table(fixed):
    cpt = rain()
    index = tuple(fixed.get(p.name, slice(None)) for p in cpt.parents)
    assert np.array_equal(cpt.reduced(fixed).table(), dense()[index])


def test_reduced_to_nothing_stored():
    assert rain().reduced({"Town": 0, "Month": 1}) == CPT(RAIN, (), DEFAULT)


def test_counts_follow_their_rows():
    counts = [[4, 6], [1, 9], [5, 0]]
    cpt = rain(counts=counts)
    assert cpt.counts.tolist() == [[1, 9], [4, 6], [5, 0]]
    assert cpt.reduced({"Town": 1}).counts.tolist() == [[4, 6]]
    assert cpt.reduced({"Town": 1, "Month": 3}).counts.tolist() == [4, 6]
    assert cpt.with_counts(np.ones((3, 2))).counts.tolist() == [[1, 1]] * 3
    with pytest.raises(DataError, match=r"the shape of the stored rows, \(3, 2\); got \(2, 2\)"):
        cpt.with_counts(np.ones((2, 2)))
    with pytest.raises(DataError, match="at least 0; got -1"):
        rain(counts=[[4, 6], [1, -1], [5, 0]])


@pytest.mark.parametrize(
    ("rows", "default", "message"),
    [
        ({("York", 4): [0.4, 0.5]}, None, "'Rain' given Town='York', Month=4 must sum to 1; got 0.9"),
        ({("Yrk", 4): [0.4, 0.6]}, None, "states of its parent 'Town'; got 'Yrk'. Did you mean 'York'"),
        ({"York": [0.4, 0.6]}, None, "a tuple with a state of each parent \\('Town', 'Month'\\); got 'York'"),
        ({("York", 4): [0.4, 0.6], ("York", "4"): [0.4, 0.6]}, None, "Month=4 has more"),
        ({("York", 4): 0.4}, None, "Month=4 must be 2 numbers; got 0.4"),
        ({("York", 4): {"yes": 0.4}}, None, "every state a probability; 'no' has none, and the others sum to 0.4"),
        ({("York", 4): {"yep": 0.4}}, None, "must name states of it; got 'yep'"),
        ({("York", 4): ["x", 1]}, None, "must be numbers; got 'x'"),
        ({}, [0.4, 0.5], "the default row: the probabilities of 'Rain' must sum to 1; got 0.9"),
        ([[0.4, 0.6]], None, "rows must map parent states to rows"),
    ],
)
def test_bad_rows(rows, default, message):
    with pytest.raises(DataError, match=message):
        SparseCPT(RAIN, [TOWN, MONTH], rows, default)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies(again):
    cpt = again(rain(counts=np.ones((3, 2))))
    assert cpt == rain()
    for array in (cpt.configurations, cpt.probabilities, cpt.default, cpt.counts):
        assert not array.flags.writeable


def test_equality():
    assert rain() != SparseCPT(RAIN, [TOWN, MONTH], ROWS)
    assert rain() != SparseCPT(RAIN, [TOWN, MONTH], {}, DEFAULT)
    assert rain() != CPT(RAIN, [TOWN, MONTH], dense())


def test_it_reads_well():
    assert repr(rain()) == "SparseCPT('Rain' | 'Town', 'Month': 3 of 12 rows of 2 states)"
    lines = str(rain()).splitlines()
    assert lines[2].split() == ["Bath", "1", "0.1", "0.9"]
    assert lines[-1].split() == ["…", "…", "0.7", "0.3"]
