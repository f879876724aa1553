"""Bit planes: one bit a row, none for the last state of a complete column, an even number of them."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.counts import count_pairs, count_table
from tunbridge.counts.pairs import _pairs_with, all_pairs
from tunbridge.counts.planes import build_planes, has_planes, joint_planes, joint_tables, pair_matrix
from tunbridge.errors import MemoryForecastError

ROWS = [1, 63, 64, 65, 127, 128, 129]


def columns(n_rows: int, n_states: list[int], missing: list[bool]) -> list[np.ndarray]:
    rng = np.random.default_rng(n_rows)
    return [rng.integers(-1 if gaps else 0, n, n_rows, np.int8) for n, gaps in zip(n_states, missing, strict=True)]


def bits(words: np.ndarray, n_rows: int) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_rows]


def test_which_columns_have_planes() -> None:
    assert [has_planes(n) for n in (0, 1, 2, 16, 17)] == [False, True, True, True, False]


@pytest.mark.parametrize("n_rows", ROWS)
def test_planes_are_the_rows_of_each_state(n_rows: int) -> None:
    a, b, c = columns(n_rows, [3, 1, 4], [False, False, True])
    a[0], c[0] = 2, -1
    planes = build_planes([a, b, c], [3, 1, 4], n_jobs=1)
    assert planes.first.tolist() == [0, 2, 2, 6]
    assert [planes.implies_last(v) for v in range(3)] == [True, True, False]
    expected = [a == 0, a == 1, c == 0, c == 1, c == 2, c == 3]
    np.testing.assert_array_equal(bits(planes.words, n_rows), expected)
    assert bits(planes.words, planes.words.shape[1] * 64)[:, n_rows:].sum() == 0


@pytest.mark.parametrize("n_rows", ROWS)
def test_taken_planes(n_rows: int) -> None:
    n_states = [3, 2, 4]
    source = columns(n_rows, n_states, [False, True, True])
    planes = build_planes(source, n_states, n_jobs=1)
    taken = planes.take([2, 0])
    np.testing.assert_array_equal(pair_matrix(taken, n_jobs=1), count_pairs([source[2], source[0]], [4, 3]))
    assert len(taken.words) % 2 == 0
    assert taken.n_rows == n_rows


@pytest.mark.parametrize("n_rows", ROWS)
def test_joint_planes_and_tables(n_rows: int) -> None:
    n_states = [2, 3, 4]
    a, b, c = columns(n_rows, n_states, [False, True, False])
    joint = joint_planes([a, b], [2, 3])
    np.testing.assert_array_equal(bits(joint, n_rows), [(a == i) & (b == j) for i in range(2) for j in range(3)])
    assert len(joint_planes([b], [3])) == 4
    (table,) = joint_tables([a, b], [2, 3], build_planes([c], [4], n_jobs=1), n_jobs=1)
    np.testing.assert_array_equal(table, count_table([a, b, c], n_states).reshape(6, 4))


def test_planes_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100")
    with pytest.raises(MemoryForecastError, match="the bit planes would need 128 bytes"):
        build_planes([np.zeros(500, np.int8), np.ones(500, np.int8)], [2, 2], n_jobs=1)


def test_every_pair_with_a_wide_column_once() -> None:
    pairs = _pairs_with([1, 3], 5)
    assert len(pairs) == len({frozenset(p) for p in pairs})
    assert {frozenset(p) for p in pairs} == {frozenset({i, j}) for i in range(5) for j in range(5) if {i, j} & {1, 3}}


def test_wide_narrow_and_empty_columns_together() -> None:
    n_states = [2, 20, 0, 3]
    a, b, d = columns(3_000, [2, 20, 3], [False, True, True])
    source = [a, b, np.full(3_000, -1, np.int8), d]
    np.testing.assert_array_equal(all_pairs(source, n_states, None, n_jobs=2), count_pairs(source, n_states))
