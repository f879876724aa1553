"""Family counts by histogram: dense where the table is no larger than the data, sparse where it would be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.kernels.compiled import is_numpy_quicker, read_only

SMALL_CELLS = 20_000
"""Up to so many cells of data (rows × columns) NumPy counts at once, before any kernel has to be compiled or loaded."""

_DENSE_CELLS = 65_536
_COUNTED_CELLS = 1 << 21
_BLOCK = 65_536
_KEY_LIMIT = 2**62


def is_dense(n_states: Sequence[int], n_rows: float) -> bool:
    """Return whether a family's table, child last, is no larger than the data it counts.

    A child without states counts as one with one: its table is empty, but still has a row for each configuration.
    """
    return prod(n_states[:-1]) * max(1, n_states[-1]) <= dense_cells(n_rows)


def dense_cells(n_rows: float) -> float:
    """Return how many cells a dense table may have."""
    return max(_DENSE_CELLS, n_rows)


def joint_table(
    columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None, *, n_jobs: int | None
) -> np.ndarray:
    """Return the dense table of several columns, flat, the last column fastest; incomplete rows are left out.

    The rows are cut into lanes by their number alone, and the lanes' tables added in order: weighted sums are equal
    whatever the number of threads.
    """
    n_rows, n_cells = len(columns[0]), prod(n_states)
    if n_cells == 0:
        return np.zeros(0, np.int64 if weights is None else np.float64)
    size = n_rows * len(columns)
    if size <= SMALL_CELLS or (weights is None and is_numpy_quicker(size, "counting.histograms", "add_joint")):
        return _numpy_table(columns, n_states, weights)
    n_lanes = max(1, min(8, n_rows // (4 * _BLOCK), (1 << 20) // n_cells))
    lanes = row_pieces(n_rows, -(-n_rows // n_lanes))
    tables = map_threads(lambda lane: _lane_table(columns, n_states, weights, *lane), lanes, n_jobs)
    return tables[0] if len(tables) == 1 else np.sum(tables, axis=0)


def joint_codes(columns: Sequence[np.ndarray], n_states: Sequence[int]) -> np.ndarray:
    """Return the code of all columns together, the last one fastest; −1 where one of them is missing."""
    number = _code_type(prod(n_states))
    joint = np.zeros(len(columns[0]), number)
    missing = np.zeros(len(joint), bool)
    for codes, n in zip(columns, n_states, strict=True):
        joint = joint * number(n) + codes
        missing |= codes < 0
    joint[missing] = -1
    return joint


def sparse_table(
    columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return (configurations, table) of the last column given the others, only for configurations that occur.

    A row of weight 0 is a row that is not there.
    """
    counted = [codes >= 0 for codes in columns] + ([] if weights is None else [weights > 0])
    rows = np.flatnonzero(reduce(np.logical_and, counted))
    *parents, child = (codes[rows] for codes in columns)
    slots, representatives = number_configurations(parents, n_states[:-1])
    configurations = np.column_stack([codes[representatives] for codes in parents]).astype(np.int32)
    shape = [len(configurations), n_states[-1]]
    check_memory("the sparse table", 8 * prod(shape), ways_out="Use fewer parents, or a child with fewer states.")
    chosen = None if weights is None else weights[rows]
    return configurations, joint_table([slots, child], shape, chosen, n_jobs=1).reshape(shape)


def _code_type(n_cells: int) -> type[np.signedinteger]:
    """Return the type of joint codes: 32 bits, which are faster, unless a table has more cells than they can number."""
    return np.int32 if n_cells <= np.iinfo(np.int32).max else np.int64


def _numpy_table(columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None) -> np.ndarray:
    rows = joint_codes(columns, n_states)
    complete = rows >= 0
    table = np.bincount(rows[complete], None if weights is None else weights[complete], minlength=prod(n_states))
    return table.astype(np.int64 if weights is None else np.float64, copy=False)


def _lane_table(
    columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None, start: int, stop: int
) -> np.ndarray:
    """Return the table of some rows, folded and counted in blocks that stay in the cache."""
    from tunbridge.kernels.counting.histograms import LANES, add_joint, fold_codes

    n_cells = prod(n_states)
    n_copies = LANES if n_cells <= _DENSE_CELLS else 1  # rows seldom meet in the cells of a large table
    out = np.zeros((n_copies, n_cells + 1), np.int64 if weights is None else np.float64)
    buffer = np.empty(min(_BLOCK, stop - start), _code_type(prod(n_states[:-1])))
    for low, high in ((start + a, start + b) for a, b in row_pieces(stop - start, _BLOCK)):
        rows = buffer[: high - low]
        rows[:] = 0
        for codes, n in zip(columns[:-1], n_states[:-1], strict=True):
            fold_codes(rows, codes[low:high], buffer.dtype.type(n))
        some = None if weights is None else read_only(weights[low:high])
        add_joint(rows, read_only(columns[-1][low:high]), n_states[-1], some, out)
    return (out[0] if n_copies == 1 else out.sum(axis=0))[:-1]


def number_configurations(columns: Sequence[np.ndarray], n_states: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's configuration number, in sorted order of the configurations, and a row that has each of them.

    Keys that would pass 62 bits are numbered on the way, so any number of columns will do; the order is kept because
    the numbers are given in the order of the keys.
    """
    keys, n_keys = np.zeros(len(columns[0]), np.int64), 1
    for codes, n in zip(columns, n_states, strict=True):
        if n_keys * n >= _KEY_LIMIT:
            keys, representatives = _number_keys(keys)
            n_keys = len(representatives)
        keys = keys * n + codes
        n_keys *= n
    return _number_keys(keys)


def _number_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each key its rank among the distinct ones, and the first row of each distinct key."""
    if len(keys) <= SMALL_CELLS:
        _, first, ranks = np.unique(keys, return_index=True, return_inverse=True)
        return ranks, first
    from tunbridge.kernels.counting.histograms import assign_slots

    size = 1 << (2 * len(keys) - 1).bit_length()
    slots, found = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
    n_found = assign_slots(keys, np.empty(size, np.int64), np.full(size, -1, np.int32), slots, found)
    order = np.argsort(found[:n_found], kind="stable")
    rank = np.empty(n_found, np.int64)
    rank[order] = np.arange(n_found)
    first = np.empty(n_found, np.intp)
    first[slots[::-1]] = np.arange(len(keys) - 1, -1, -1)
    return rank[slots], first[order]


def occurring_counts(
    columns: Sequence[np.ndarray], n_states: Sequence[int], n_rows: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how often each configuration of some columns occurs, for those that do; no value may be missing.

    Examples
    --------
    >>> occurring_counts([np.array([0, 1, 0]), np.array([2, 2, 2])], [2, 3], 3).tolist()
    [2, 1]
    """
    if prod(n_states) <= max(_COUNTED_CELLS, n_rows):  # a table that is not kept may be larger
        counts = np.bincount(joint_codes(columns, n_states) if columns else np.zeros(n_rows, np.int8), weights)
        return counts[counts > 0]
    return np.bincount(number_configurations(columns, n_states)[0], weights)


# Numbers of configurations: mixed radix, the last variable fastest. NumPy's own functions stop at 32 or 64 variables.


def configuration_numbers(codes: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return the number of each configuration, a row of codes.

    Examples
    --------
    >>> configuration_numbers(np.array([[0, 2], [1, 0]]), [2, 3]).tolist()
    [2, 3]
    """
    numbers = np.zeros(len(codes), np.int64)
    for column, n in zip(codes.T, n_states, strict=True):
        numbers = numbers * n + column
    return numbers


def configuration_codes(numbers: np.ndarray, n_states: Sequence[int]) -> np.ndarray:
    """Return the configurations of these numbers, a row of codes each.

    Examples
    --------
    >>> configuration_codes(np.array([2, 3]), [2, 3]).tolist()
    [[0, 2], [1, 0]]
    """
    codes = np.empty((len(numbers), len(n_states)), np.int32)
    for j in reversed(range(len(n_states))):
        numbers, codes[:, j] = np.divmod(numbers, n_states[j])
    return codes


def product_numbers(codes: Sequence[np.ndarray], n_states: Sequence[int]) -> np.ndarray:
    """Return the numbers of all configurations in which each variable has one of its codes.

    Examples
    --------
    >>> product_numbers([np.array([1]), np.array([0, 2])], [2, 3]).tolist()
    [3, 5]
    """
    numbers = np.zeros(1, np.int64)
    for column, n in zip(codes, n_states, strict=True):
        numbers = (numbers[:, None] * n + column).ravel()
    return numbers
