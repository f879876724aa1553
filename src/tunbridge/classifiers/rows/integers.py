"""Matrices of whole numbers: which columns have at most two values, and codes of all columns in three passes.

Looking values up in a table works while the ranges of the columns together are no larger than the data; hashes and
other wide numbers go column by column through :mod:`tunbridge.data`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.data import Variable
from tunbridge.data.columns import code_type

_PIECE_ROWS = 1 << 15
_FAST_CELLS = 20_000
_MOST_EXACT = 2**53


def has_few_values(array: np.ndarray, n_jobs: int | None) -> list[bool]:
    """Return for each column whether it is categorical by itself: at most two values, or beyond exact doubles."""
    low, high = _ranges(array, n_jobs)
    return [
        _beyond_doubles(lo, hi) or hi - lo <= 1 or bool(np.all((column == lo) | (column == hi)))
        for lo, hi, column in zip(low, high, array.T, strict=True)
    ]


def coded_integers(
    array: np.ndarray, names: Sequence[str], n_jobs: int | None
) -> tuple[list[Variable], np.ndarray] | None:
    """Return the variables and codes (columns × rows) of a whole-number matrix; None where that would not pay."""
    if array.size <= _FAST_CELLS:
        return None
    low, high = _ranges(array, n_jobs)
    first = _places(low, high, array.size)
    if first is None:
        return None
    from tunbridge.kernels.encode import mark_present

    least, present = np.array(low, np.int64), np.zeros(first[-1], bool)
    map_threads(
        lambda rows: mark_present(array[rows[0] : rows[1]], least, first, present),
        row_pieces(len(array), _PIECE_ROWS),
        n_jobs,
    )
    variables = [
        Variable(name, (np.flatnonzero(present[first[j] : first[j + 1]]) + low[j]).tolist())
        for j, name in enumerate(names)
    ]
    return variables, _looked_up(array, variables, first, n_jobs)


def encoded_integers(array: np.ndarray, variables: Sequence[Variable], n_jobs: int | None) -> np.ndarray | None:
    """Return codes of known variables (columns × rows; −1: no such state), or None where that would not pay."""
    states: list[Any] = [v.states or () for v in variables]
    if array.size <= _FAST_CELLS or not all(s and all(type(x) is int for x in s) for s in states):
        return None
    first = _places([min(s) for s in states], [max(s) for s in states], array.size)
    return None if first is None else _looked_up(array, variables, first, n_jobs)


def _places(low: Sequence[int], high: Sequence[int], most: int) -> np.ndarray | None:
    """Return where each column's range begins in a table of all ranges; None when the table would be too large."""
    widths = [hi - lo + 1 for lo, hi in zip(low, high, strict=True)]
    if sum(widths) > most or any(_beyond_doubles(lo, hi) for lo, hi in zip(low, high, strict=True)):
        return None
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)


def _beyond_doubles(low: int, high: int) -> bool:
    return low < -_MOST_EXACT or high > _MOST_EXACT


def _looked_up(array: np.ndarray, variables: Sequence[Variable], first: np.ndarray, n_jobs: int | None) -> np.ndarray:
    from tunbridge.kernels.encode import look_up

    table = np.full(first[-1], -1, code_type(max(v.n_states for v in variables)))
    states: list[Any] = [v.states for v in variables]
    low = np.array([min(s) for s in states], np.int64)
    for j, s in enumerate(states):
        table[first[j] + np.array(s, np.int64) - low[j]] = np.arange(len(s))
    out = np.empty((len(variables), len(array)), table.dtype)
    map_threads(
        lambda rows: look_up(array[rows[0] : rows[1]], low, first, table, out[:, rows[0] : rows[1]]),
        row_pieces(len(array), _PIECE_ROWS),
        n_jobs,
    )
    return out


def _ranges(array: np.ndarray, n_jobs: int | None) -> tuple[list[int], list[int]]:
    """Return the least and the greatest value of each column, as Python numbers, whose differences cannot overflow."""
    if array.size <= _FAST_CELLS:
        return array.min(axis=0).tolist(), array.max(axis=0).tolist()
    from tunbridge.kernels.encode import fill_ranges

    def one(rows: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        low, high = array[rows[0]].copy(), array[rows[0]].copy()
        fill_ranges(array[rows[0] : rows[1]], low, high)
        return low, high

    found = map_threads(one, row_pieces(len(array), _PIECE_ROWS), n_jobs)
    return np.min([low for low, _ in found], axis=0).tolist(), np.max([high for _, high in found], axis=0).tolist()
