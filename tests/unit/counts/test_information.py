"""Entropy and mutual information: the definitions, and what must hold whatever the counts."""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles.counts as oracle
from tunbridge.counts import (
    Counter,
    Counts,
    PairCounts,
    conditional_mutual_information,
    entropy,
    information,
    mutual_information,
)
from tunbridge.data import Table, Variable, as_table, datasets
from tunbridge.errors import DataError

cells = st.one_of(st.integers(0, 50), st.floats(1e-3, 1e3))
TINY = 1e-12  # information is a difference of sums of n log n; their rounding is of this size


@st.composite
def tables(draw: st.DrawFn, least: int = 0) -> np.ndarray:
    shape = draw(st.integers(least, 5)), draw(st.integers(least, 5))
    values = draw(st.lists(cells, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return np.array(values, np.float64).reshape(shape)


@st.composite
def frames(draw: st.DrawFn) -> Table:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.sampled_from([0, 1, 20, 400]))
    columns = {}
    for name in "abcd":
        states = np.array([*"pqrst"[: draw(st.integers(1, 5))], None], object)
        weights = np.r_[np.ones(len(states) - 1), draw(st.sampled_from([0.0, 0.5, 50.0]))]
        columns[name] = rng.choice(states, n_rows, p=weights / weights.sum()).tolist()
    columns["b"] = [a if rng.random() < 0.5 else b for a, b in zip(columns["a"], columns["b"], strict=True)]
    return as_table(columns, kinds=dict.fromkeys("abcd", "categorical")).with_weights(
        draw(st.sampled_from([None, rng.random(n_rows)]))
    )


# Against the definitions


@settings(max_examples=80, deadline=None)
@given(table=tables())
def test_definitions(table: np.ndarray) -> None:
    assert mutual_information(table) == pytest.approx(oracle.mutual_information(table), rel=1e-10, abs=TINY)
    margin = table.sum(axis=0)
    assert entropy(table) == pytest.approx(oracle.entropy(margin) if margin.sum() else 0.0, rel=1e-12, abs=TINY)
    assert entropy(margin) == pytest.approx(entropy(table), rel=1e-12, abs=TINY)


@settings(max_examples=40, deadline=None)
@given(table=frames())
def test_all_pairs_at_once_are_the_pairs_one_by_one(table: Table) -> None:
    counter = Counter(table)
    pairs, within = counter.pairs(), counter.pairs_within("d")
    information, conditional = mutual_information(pairs), conditional_mutual_information(within)
    np.testing.assert_array_equal(mutual_information(within), conditional)
    assert information.shape == (4, 4)
    assert conditional.shape == (3, 3)
    for i, a in enumerate("abcd"):
        for j, b in enumerate("abcd"):
            expected = oracle.mutual_information(pairs.table(a, b))
            assert information[i, j] == pytest.approx(expected, rel=1e-9, abs=TINY)
            if a != b:
                assert mutual_information(counter.family(b, [a])) == pytest.approx(expected, rel=1e-9, abs=TINY)
            if "d" not in (a, b):
                expected = oracle.conditional_mutual_information(within.table(a, b))
                assert conditional[i, j] == pytest.approx(expected, rel=1e-9, abs=TINY)


def test_play_tennis() -> None:
    counter = Counter(datasets.play_tennis())
    pairs = counter.pairs()
    gains = dict(zip("otHWp", mutual_information(pairs)[-1], strict=True))
    bits = {name: round(gain / log(2), 3) for name, gain in gains.items()}
    # Information gain of outlook, temperature, humidity and wind as in Mitchell (1997), section 3.4; then the entropy
    assert bits == {"o": 0.247, "t": 0.029, "H": 0.152, "W": 0.048, "p": 0.94}
    assert entropy(counter.marginal("play")) / log(2) == pytest.approx(0.940286, abs=1e-6)


def test_sparse_counts_inform_like_dense_ones() -> None:
    a, b = Variable("a", range(3)), Variable("b", range(2))
    sparse = Counts(b, (a,), np.array([[3, 1], [0, 2]]), np.array([[0], [2]], np.int32))
    assert mutual_information(sparse) == pytest.approx(mutual_information(sparse.dense()), rel=1e-14, abs=0)
    assert entropy(sparse) == entropy(np.array([3, 3])) == pytest.approx(log(2), rel=1e-15, abs=0)


# What must hold


@settings(max_examples=60, deadline=None)
@given(table=tables(least=1))
def test_bounds_and_symmetry(table: np.ndarray) -> None:
    information = mutual_information(table)
    assert information == pytest.approx(mutual_information(table.T), rel=1e-12, abs=TINY)
    assert 0 <= information <= min(entropy(table), entropy(table.T)) + TINY
    assert 0 <= entropy(table) <= log(table.shape[1]) + TINY


@settings(max_examples=60, deadline=None)
@given(table=tables(least=1), data=st.data())
def test_merging_states_never_adds_information(table: np.ndarray, data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(table), max_size=len(table)))
    merged = np.array([table[np.array(groups) == g].sum(axis=0) for g in range(3)])
    assert mutual_information(merged) <= mutual_information(table) + TINY


@settings(max_examples=40, deadline=None)
@given(n=st.lists(cells, min_size=1, max_size=6))
def test_a_variable_tells_all_of_itself(n: list[float]) -> None:
    assert mutual_information(np.diag(n)) == pytest.approx(entropy(np.array(n)), rel=1e-12, abs=TINY)


@settings(max_examples=40, deadline=None)
@given(p=st.lists(cells, min_size=1, max_size=4), q=st.lists(cells, min_size=1, max_size=4))
def test_independent_variables_tell_nothing(p: list[float], q: list[float]) -> None:
    assert mutual_information(np.outer(p, q)) == pytest.approx(0.0, abs=TINY)


@settings(max_examples=30, deadline=None)
@given(table=frames())
def test_the_matrix_is_symmetric_with_entropies_on_its_diagonal(table: Table) -> None:
    counter = Counter(table)
    information = mutual_information(counter.pairs())
    np.testing.assert_allclose(information, information.T, rtol=1e-9, atol=TINY)
    entropies = [entropy(counter.marginal(name)) for name in "abcd"]
    np.testing.assert_allclose(np.diag(information), entropies, rtol=1e-9, atol=TINY)


@settings(max_examples=30, deadline=None)
@given(table=tables(least=1), factor=st.sampled_from([0.25, 3.0, 1000.0]))
def test_the_unit_of_weights_does_not_matter(table: np.ndarray, factor: float) -> None:
    assert mutual_information(table * factor) == pytest.approx(mutual_information(table), rel=1e-9, abs=TINY)


def test_chain_rule() -> None:
    """I(X; Y, Z) = I(X; Z) + I(X; Y | Z) where nothing is missing."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 3, 500)
    y = (z + rng.integers(0, 2, 500)) % 4
    x = (y * z + rng.integers(0, 2, 500)) % 3
    counter = Counter({"x": x.astype(str), "y": y.astype(str), "z": z.astype(str)})
    both = mutual_information(counter.family("x", ["y", "z"]))
    given_z = conditional_mutual_information(counter.pairs_within("z"))[0, 1]
    assert both == pytest.approx(mutual_information(counter.family("x", ["z"])) + given_z, rel=1e-12, abs=0)


def test_missing_cells_leave_out_the_row_of_that_pair_only() -> None:
    a, b, c = list("ppqqpq"), ["r", "r", "s", "s", None, None], ["t", None, "u", None, "t", "u"]
    information = mutual_information(Counter({"a": a, "b": b, "c": c}).pairs())
    assert information[0, 1] == pytest.approx(log(2), rel=1e-12, abs=0)  # four rows, b says all of a
    assert information[1, 2] == pytest.approx(log(2), rel=1e-12, abs=0)  # two rows
    assert information[0, 0] == pytest.approx(log(2), rel=1e-12, abs=0)  # six rows


# Nothing to tell, and what is refused


def test_no_rows() -> None:
    assert mutual_information(np.zeros((2, 3))) == 0.0
    assert mutual_information(np.zeros((0, 3))) == 0.0
    assert entropy(np.zeros(3)) == entropy(np.zeros((2, 0))) == entropy(np.zeros(0)) == 0.0
    counter = Counter({"a": ["p", None], "b": [None, "q"], "none": [None, None]})
    np.testing.assert_array_equal(mutual_information(counter.pairs()), np.zeros((3, 3)))
    np.testing.assert_array_equal(conditional_mutual_information(counter.pairs_within("none")), np.zeros((2, 2)))
    assert entropy(counter.marginal("none")) == 0.0
    assert mutual_information(PairCounts((), np.zeros((0, 0)))).shape == (0, 0)


def test_constants_have_no_entropy_and_no_negative_zero() -> None:
    for n in (1, 3, 7, 49, 10**9):
        assert str(entropy(np.array([n]))) == "0.0"
        assert mutual_information(np.array([[n]])) == 0.0


def test_a_large_table_loses_no_digits() -> None:
    table = np.array([[500_500_000, 499_500_000], [499_500_000, 500_500_000]])
    assert mutual_information(table) == pytest.approx(oracle.mutual_information(table), abs=1e-14)
    assert oracle.mutual_information(table) > 1e-7


def test_refusals() -> None:
    with pytest.raises(DataError, match="must be a table of two axes and not negative"):
        mutual_information(np.zeros(3))
    with pytest.raises(DataError, match="must be a table of two axes and not negative"):
        mutual_information(np.zeros((2, 2, 2)))
    with pytest.raises(DataError, match="not negative"):
        mutual_information(np.array([[1, -1], [2, 2]]))
    with pytest.raises(DataError, match="not negative"):
        entropy(np.array([np.nan, 1.0]))
    with pytest.raises(DataError, match="one or two axes"):
        entropy(np.zeros((1, 2, 3)))
    with pytest.raises(DataError, match=r"counted within a variable; got plain pairs\. Use pairs_within"):
        conditional_mutual_information(Counter({"a": ["p"]}).pairs())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_says_what_numpy_says(monkeypatch, weighted):
    rng = np.random.default_rng(5)
    states = [1, 2, 3, 5, 20, 2]
    data = {
        f"v{j}": [None if rng.random() < 0.1 else f"s{rng.integers(r)}" for _ in range(300)]
        for j, r in enumerate(states)
    }
    data["empty"] = [None] * 300
    counter = Counter(as_table(data, weights=rng.random(300) if weighted else None))
    plain = mutual_information(counter.pairs())
    within = conditional_mutual_information(counter.pairs_within("v2"))
    monkeypatch.setattr(information, "_SMALL_MATRIX", 0)
    np.testing.assert_allclose(mutual_information(counter.pairs()), plain, rtol=1e-9, atol=1e-13)
    found = conditional_mutual_information(counter.pairs_within("v2"))
    np.testing.assert_allclose(found, within, rtol=1e-9, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(
    some=st.lists(st.integers(0, 4), min_size=0, max_size=4), seed=st.integers(0, 2**32 - 1), n_given=st.integers(0, 3)
)
def test_information_with_a_class_is_that_of_each_table(some: list[int], seed: int, n_given: int) -> None:
    margins = np.random.default_rng(seed).integers(0, 9, (n_given, sum(some)))
    first = np.concatenate([[0], np.cumsum(some)]).astype(np.intp)
    found = information.information_with_given(margins, first)
    expected = [oracle.mutual_information(margins[:, a:b]) for a, b in pairwise(first)]
    np.testing.assert_allclose(found, np.array(expected).reshape(-1), rtol=1e-10, atol=TINY)
