"""Rows and sets in bulk: which rows are equal, and which sets contain no other one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_SMALL = 2**22
_LARGE = 2**62
_MOST_WORK = 200_000_000


def row_keys(columns: Sequence[np.ndarray], sizes: Sequence[int], n_rows: int) -> tuple[np.ndarray, int]:
    """Return a number for each row, equal for equal rows only, and a bound above all of them."""
    keys, span = np.zeros(n_rows, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size > _LARGE:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            span = int(keys.max(initial=0)) + 1
        keys = keys * size + column
        span *= size
    return keys, span


def distinct_rows(columns: Sequence[np.ndarray], sizes: Sequence[int], n_rows: int) -> np.ndarray:
    """Return the place of the first of each kind of equal rows, in order."""
    keys, span = row_keys(columns, sizes, n_rows)
    if span > max(_SMALL, 4 * n_rows):
        return np.sort(np.unique(keys, return_index=True)[1])
    first = np.full(span, n_rows)
    first[keys[::-1]] = np.arange(n_rows - 1, -1, -1)  # of equal rows the one that is written last stays
    return np.sort(first[first < n_rows])


def minimal_sets(sets: np.ndarray) -> np.ndarray:
    """Return the places of the sets (rows of truth values) that contain no other one.

    Where that takes long the rest is left as it is: to forget a row saves time and changes no answer.
    """
    order = np.argsort(sets.sum(axis=1), kind="stable")
    packed = np.packbits(sets[order], axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    left, work = np.arange(len(order)), _MOST_WORK
    kept: list[int] = []
    while left.size and work > 0:
        least = packed[left[0]]
        kept.append(int(left[0]))
        work -= left.size * packed.shape[1]
        left = left[((packed[left] & least) != least).any(axis=1)]
    return np.sort(order[np.concatenate([np.array(kept, int), left])])
