"""Histograms: when a table is dense, joint codes, numbers of configurations, the hash table."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from tunbridge.counts import radix
from tunbridge.counts.radix import (
    configuration_codes,
    configuration_numbers,
    is_dense,
    joint_codes,
    joint_table,
    product_numbers,
    sparse_table,
)
from tunbridge.kernels.compiled import kernels_forced


def test_a_table_is_dense_up_to_the_size_of_the_data() -> None:
    assert is_dense([256, 256], 0)
    assert not is_dense([256, 257], 0)
    assert is_dense([256, 257], 256 * 257)
    assert is_dense([0, 10**9], 0)  # no configurations at all
    assert is_dense([4, 0], 0)
    assert not is_dense([10**9, 0], 0)  # no cells, but a row for each configuration
    assert not is_dense([16] * 400, 10**12)


def test_joint_codes() -> None:
    a, b = np.array([0, 1, -1, 1], np.int8), np.array([2, -1, 0, 1], np.int16)
    assert joint_codes([a, b], [2, 3]).tolist() == [2, -1, -1, 4]
    assert joint_codes([a], [2]).tolist() == [0, 1, -1, 1]
    assert joint_codes([a, b], [2, 3]).dtype == np.int32


def test_joint_codes_beyond_32_bits() -> None:
    a = np.array([69_999, 0, -1], np.int32)
    assert joint_codes([a, a], [70_000, 70_000]).tolist() == [4_899_999_999, 0, -1]
    assert joint_codes([a], [2**31 - 1]).dtype == np.int32
    assert joint_codes([a], [2**31]).dtype == np.int64


def test_rows_are_folded_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(radix, "SMALL_CELLS", 0)
    monkeypatch.setattr(radix, "_code_type", lambda n_cells: np.int64)
    a, b = np.array([0, 1, -1, 1], np.int8), np.array([2, -1, 0, 1], np.int16)
    with kernels_forced():
        assert joint_table([a, b], [2, 3], None, n_jobs=1).tolist() == [0, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("small", [0, 10**9])
@pytest.mark.parametrize("weights", [None, np.array([2.0, 0.0, 1.0, 0.5])])
def test_sparse_table(monkeypatch: pytest.MonkeyPatch, small: int, weights: np.ndarray | None) -> None:
    monkeypatch.setattr(radix, "SMALL_CELLS", small)
    a, b = np.array([1, 0, 1, 1], np.int8), np.array([5, 7, 5, -1], np.int8)
    child = np.array([0, 1, 1, 0], np.int8)
    with nullcontext() if small else kernels_forced():
        configurations, table = sparse_table([a, b, child], [2, 8, 2], weights)
    if weights is None:
        assert configurations.tolist() == [[0, 7], [1, 5]]
        assert table.tolist() == [[0, 1], [1, 1]]
    else:  # a row of weight 0 is not there
        assert configurations.tolist() == [[1, 5]]
        assert table.tolist() == [[2, 1]]


@pytest.mark.parametrize("distinct", [1, 2, 1000, 50_000])
def test_hashed_keys_are_numbered_in_their_order(distinct: int) -> None:
    rng = np.random.default_rng(distinct)
    pool = rng.integers(0, 2**62, distinct)
    pool[: distinct // 2] = np.arange(distinct // 2) << 40  # keys with equal low halves meet in the hash table
    keys = rng.choice(pool, 50_000)
    ranks, first = radix._number_keys(keys)
    expected, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(ranks, inverse)
    np.testing.assert_array_equal(first, where)
    np.testing.assert_array_equal(keys[first], expected)


def test_numbers_and_codes_of_configurations() -> None:
    n_states = [3, 1, 4]
    codes = configuration_codes(np.arange(12), n_states)
    assert codes.tolist() == [list(c) for c in np.ndindex(3, 1, 4)]
    assert configuration_numbers(codes, n_states).tolist() == list(range(12))
    every = [np.arange(n) for n in n_states]
    assert product_numbers(every, n_states).tolist() == list(range(12))
    assert product_numbers([np.array([2, 0]), np.array([0]), np.array([3])], n_states).tolist() == [11, 3]


def test_the_configuration_of_no_variables() -> None:
    assert configuration_codes(np.arange(1), []).shape == (1, 0)
    assert configuration_numbers(np.zeros((1, 0), int), []).tolist() == [0]
    assert product_numbers([], []).tolist() == [0]


def test_a_large_table_has_one_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    zeros = np.zeros
    monkeypatch.setattr(radix.np, "zeros", lambda shape, *rest: sizes.append(shape) or zeros(shape, *rest))
    codes = (np.arange(30_000) % 300).astype(np.int16)
    table = joint_table([codes, codes[::-1]], [300, 300], None, n_jobs=1)
    monkeypatch.undo()
    assert sizes == [(1, 90_001)]
    assert table.reshape(300, 300)[np.arange(300), np.arange(299, -1, -1)].tolist() == [100] * 300
