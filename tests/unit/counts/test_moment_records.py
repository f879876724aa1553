"""Moments: variances, groups, merges and their edges."""

from __future__ import annotations

import numpy as np
import pytest

from tunbridge.counts import Moments, moments, moments_within
from tunbridge.counts.moments import block_of
from tunbridge.errors import DataError

AGES = np.array([20.0, 73, 37, 33, 48, 29, 52, 42, 61, 30, 26, 54])
DRUGS = np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0], np.int8)


def test_the_ages_of_the_drug_table() -> None:
    found = moments_within([AGES], DRUGS, 2)
    np.testing.assert_allclose(found.mean.ravel(), [36.3, 47.8], atol=0.05)
    np.testing.assert_allclose(found.variance(unbiased=True).ravel(), [161.9, 311.0], atol=0.05)
    np.testing.assert_allclose(found.variance(unbiased=False), found.m2 / 6, rtol=1e-15)


def test_variance_where_it_is_undefined() -> None:
    found = moments_within([np.array([3.0, np.nan])], np.array([0, 1], np.int8), 2)
    np.testing.assert_array_equal(found.variance(unbiased=True), [[np.nan], [np.nan]])
    np.testing.assert_array_equal(found.variance(unbiased=False), [[0.0], [np.nan]])


@pytest.mark.parametrize("small", [0, 20_000])
@pytest.mark.parametrize(
    ("columns", "shape"),
    [
        ([], (2, 0)),
        ([np.empty(0)], (2, 1)),
        ([np.empty(0), np.empty(0)], (2, 2)),
        (np.empty((0, 3)), (2, 3)),
        (np.empty((0, 0)), (2, 0)),
    ],
)
def test_nothing_to_sum(monkeypatch: pytest.MonkeyPatch, small: int, columns: object, shape: tuple) -> None:
    monkeypatch.setattr(moments, "SMALL_CELLS", small)
    found = moments_within(columns, np.empty(0, np.int8), 2)  # type: ignore[arg-type]
    for array in (found.count, found.mean, found.m2):
        assert array.shape == shape
        assert not array.any()


def test_rows_but_no_columns_or_no_groups() -> None:
    assert moments_within([], DRUGS, 2).count.shape == (2, 0)
    none = moments_within([AGES], np.full(12, -1, np.int8), 0)
    assert none.count.shape == (0, 1)
    assert none.pooled().count.tolist() == [[0.0]]


@pytest.mark.parametrize("small", [0, 20_000])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.float64])
def test_arrays_of_other_numbers(monkeypatch: pytest.MonkeyPatch, small: int, dtype: type) -> None:
    monkeypatch.setattr(moments, "SMALL_CELLS", small)
    found = moments_within(np.stack([AGES, -AGES], axis=1).astype(dtype), DRUGS, 2)
    assert found.mean.dtype == np.float64
    np.testing.assert_allclose(found.mean[:, 0], [218 / 6, 287 / 6], rtol=1e-15)
    np.testing.assert_allclose(found.mean[:, 1], -found.mean[:, 0], rtol=1e-15)


def test_many_groups_need_no_matrix_of_rows_by_groups() -> None:
    n = 20_000
    found = moments_within([np.arange(n, dtype=float)], np.arange(n, dtype=np.int32), n)
    np.testing.assert_array_equal(found.mean.ravel(), np.arange(n))
    assert not found.m2.any()


def test_pieces_are_long_against_the_number_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    original = moments._piece_moments
    monkeypatch.setattr(moments, "_piece_moments", lambda *args: lengths.append(args[-1] - args[-2]) or original(*args))
    array, groups = np.ones((40_000, 1)), (np.arange(40_000) % 1000).astype(np.int16)
    monkeypatch.setattr(moments, "_PIECE_CELLS", 1000)
    found = moments_within(array, groups, 1000, n_jobs=1)
    assert lengths == [16_000, 16_000, 8_000]
    assert (found.count == 40).all()


def test_a_forgotten_past_leaves_no_trace() -> None:
    past = moments_within([np.array([1e9, 1e9 + 2])], np.zeros(2, np.int8), 1).decay(0.0)
    now = moments_within([np.array([1e-3, 3e-3])], np.zeros(2, np.int8), 1)
    for merged in (past.merge(now), now.merge(past)):
        np.testing.assert_array_equal(merged.mean, now.mean)
        np.testing.assert_array_equal(merged.m2, now.m2)


def test_an_empty_side_does_not_overflow() -> None:
    empty, far = (moments_within([np.array(x)], np.zeros(len(x), np.int8), 1) for x in ([], [1e200]))
    for merged in (empty.merge(far), far.merge(empty)):
        assert merged.mean.item() == 1e200
        assert merged.m2.item() == 0.0


@pytest.mark.parametrize("factor", [-1, 2, float("nan"), None])
def test_decay_refuses(factor: object) -> None:
    with pytest.raises(DataError, match="the factor of decay must be"):
        Moments(np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1))).decay(factor)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_columns", [1, 7, 8, 9, 17])
@pytest.mark.parametrize("order", ["C", "F", "list"])
def test_blocks_are_columns_by_rows(n_columns: int, order: str) -> None:
    array = np.arange(20.0 * n_columns).reshape(20, n_columns)
    source = list(array.T) if order == "list" else np.asarray(array, order=order)
    block = block_of(source, 3, 11)
    np.testing.assert_array_equal(block, array[3:11].T)
    assert block.flags.c_contiguous


def test_many_groups_are_pooled_like_one():
    rng = np.random.default_rng(0)
    values, groups = rng.normal(5.0, 2.0, 4000), rng.integers(0, 1301, 4000)
    pooled = moments_within([values], groups, 1301).pooled()
    np.testing.assert_allclose(
        [a.item() for a in pooled.arrays], [4000, values.mean(), 4000 * values.var()], rtol=1e-12
    )
