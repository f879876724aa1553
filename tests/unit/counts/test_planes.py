"""Bit planes: one bit a row, none for the last state of a complete column, an even number of them."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.counts import count_pairs, count_table
from tunbridge.counts import Counter, extensions
from tunbridge.counts.columns import Columns, build_planes, count_margins, families_by_planes, pairs_by_planes
from tunbridge.data import Column, Table, Variable
from tunbridge.errors import MemoryForecastError

ROWS = [1, 63, 64, 65, 127, 128, 129]


def columns(n_rows: int, n_states: list[int], missing: list[bool]) -> list[np.ndarray]:
    rng = np.random.default_rng(n_rows)
    return [rng.integers(-1 if gaps else 0, n, n_rows, np.int8) for n, gaps in zip(n_states, missing, strict=True)]


def bits(words: np.ndarray, n_rows: int) -> np.ndarray:
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_rows]


def columns_of(source: list[np.ndarray], n_states: list[int]) -> Columns:
    variables = [Variable(f"x{i}", range(n)) for i, n in enumerate(n_states)]
    return Columns.of(Table.of([Column(v, c, None) for v, c in zip(variables, source, strict=True)]), 1)


def test_which_columns_have_planes() -> None:
    n_states = [0, 1, 2, 16, 17]
    codes = [np.full(3, -1 if n == 0 else 0, np.int8) for n in n_states]
    assert columns_of(codes, n_states).narrow.tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("n_rows", ROWS)
def test_planes_are_the_rows_of_each_state(n_rows: int) -> None:
    a, b, c = columns(n_rows, [3, 1, 4], [False, False, True])
    a[0], c[0] = 2, -1
    planes = build_planes([a, b, c], [3, 1, 4], n_jobs=1)
    assert planes.first.tolist() == [0, 2, 2, 6]
    assert planes.state.tolist() == [0, 3, 4, 8]
    expected = [a == 0, a == 1, c == 0, c == 1, c == 2, c == 3]
    np.testing.assert_array_equal(bits(planes.words, n_rows), expected)
    assert bits(planes.words, planes.words.shape[1] * 64)[:, n_rows:].sum() == 0


@pytest.mark.parametrize("n_rows", ROWS)
def test_pairs_of_planes(n_rows: int) -> None:
    n_states = [3, 2, 4]
    source = columns(n_rows, n_states, [False, True, True])
    planes = build_planes(source, n_states, n_jobs=1)
    expected = count_pairs(source, n_states)
    np.testing.assert_array_equal(pairs_by_planes(planes, 0, 3, n_jobs=1)[0], expected)
    np.testing.assert_array_equal(count_margins(planes)[0], expected.diagonal())
    block = pairs_by_planes(planes, 1, 2, n_jobs=1)[0]
    np.testing.assert_array_equal(block, expected[3:5, 3:])


@pytest.mark.parametrize("n_rows", ROWS)
def test_rows_sorted_by_a_class(n_rows: int) -> None:
    a, b, c = columns(n_rows, [3, 4, 2], [False, True, True])
    planes = build_planes([a, b], [3, 4], within=(c, 2), n_jobs=1)
    assert planes.n_rows.tolist() == [(c == 0).sum(), (c == 1).sum()]
    for state, matrix in enumerate(pairs_by_planes(planes, 0, 2, n_jobs=1)):
        np.testing.assert_array_equal(matrix, count_pairs([a[c == state], b[c == state]], [3, 4]))


@pytest.mark.parametrize("n_rows", ROWS)
def test_families_and_extensions(n_rows: int) -> None:
    n_states = [2, 3, 4]
    a, b, c = source = columns(n_rows, n_states, [False, True, False])
    known = columns_of(source, n_states)
    joint, alone = families_by_planes(known.planes, [(0, 1, 2), (1,)], n_jobs=1)
    np.testing.assert_array_equal(joint, count_table([a, b, c], n_states).ravel())
    np.testing.assert_array_equal(alone, count_table([b], [3]).ravel())
    found = extensions.Extensions(known, kernels=True).tables(0, (1,), np.array([2]))
    np.testing.assert_array_equal(found[2].reshape(6, 4), count_table([a, b, c], n_states).reshape(6, 4))


def test_planes_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100")
    with pytest.raises(MemoryForecastError, match="the bit planes would need 128 bytes"):
        build_planes([np.zeros(500, np.int8), np.ones(500, np.int8)], [2, 2], n_jobs=1)


def test_wide_narrow_and_empty_columns_together() -> None:
    n_states = [2, 20, 0, 3]
    a, b, d = columns(3_000, [2, 20, 3], [False, True, True])
    source = [a, b, np.full(3_000, -1, np.int8), d]
    variables = [Variable(f"x{i}", range(n)) for i, n in enumerate(n_states)]
    counter = Counter(Table.of([Column(v, c, None) for v, c in zip(variables, source, strict=True)]), n_jobs=2)
    expected = count_pairs(source, n_states)
    np.testing.assert_array_equal(counter.pairs().matrix, expected)
    ((low, high, block),) = counter.pair_blocks()
    assert (low, high) == (0, 4)
    np.testing.assert_array_equal(block, expected)
