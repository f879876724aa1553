"""Pair counts by bit planes: AND and population count over N/64 words a cell.

A column without missing cells needs no plane for its last state: n(a, last of b) is n(a) less the other cells of that
row. So a complete binary column is one plane, and all pairs of 2 000 such columns cost 2 · 10⁶ ANDs of N/64 words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces

PLANE_STATES = 16
"""Columns with more states are counted by histogram: r² ANDs of N/64 words cost more than N additions."""

_LARGEST_TILE = 64
_WORDS_WORTH_A_THREAD = 2_000_000
_CELLS_WORTH_A_THREAD = 200_000


def has_planes(n_states: int) -> bool:
    """Return whether a column of so many states is counted by planes."""
    return 1 <= n_states <= PLANE_STATES


@dataclass(frozen=True, eq=False)
class BitPlanes:
    """The planes of several columns, one under the other.

    ``words[first[v] + s]`` is the plane of state s of column v; the last state of a complete column has none. The
    number of planes is made even by an empty one, because pairs are counted two planes by two.
    """

    words: np.ndarray
    first: np.ndarray
    n_states: np.ndarray
    n_rows: int

    def implies_last(self, column: int) -> bool:
        """Whether a column's last state has no plane, being what the others leave."""
        return bool(self.first[column + 1] - self.first[column] < self.n_states[column])

    def take(self, columns: Sequence[int]) -> BitPlanes:
        """Return the planes of these columns, in this order."""
        planes = [np.arange(self.first[v], self.first[v + 1]) for v in columns]
        first = np.concatenate([[0], np.cumsum([len(p) for p in planes])])
        return BitPlanes(_even(self.words[np.concatenate(planes)]), first, self.n_states[list(columns)], self.n_rows)


def build_planes(columns: Sequence[np.ndarray], n_states: Sequence[int], *, n_jobs: int | None) -> BitPlanes:
    """Return the planes of at least one contiguous int8 column of codes; all are of equal length."""
    from tunbridge.kernels.planes import fill_planes

    n_rows = len(columns[0])
    states = np.array(n_states, np.intp)
    complete = np.array([int(c.min(initial=0)) >= 0 for c in columns])
    first = np.concatenate([[0], np.cumsum(states - complete)])
    n_planes, n_words = int(first[-1] + first[-1] % 2), -(-n_rows // 64)
    check_memory("the bit planes", 8.0 * n_planes * n_words, ways_out="Count fewer columns at a time.")
    words = np.zeros((n_planes, n_words), np.uint64)
    map_threads(
        lambda v: fill_planes(columns[v], words[first[v] : first[v + 1]]),
        range(len(columns)),
        n_jobs if n_planes * n_words > _WORDS_WORTH_A_THREAD else 1,
    )
    return BitPlanes(words, first, states, n_rows)


def cross_counts(a: np.ndarray, b: np.ndarray, *, symmetric: bool = False, n_jobs: int | None) -> np.ndarray:
    """Return for planes a and b (both of even number) the rows in a[i] & b[j]; if symmetric, for j ≥ i only."""
    from tunbridge.kernels.planes import add_tiles

    out = np.zeros((len(a), len(b)), np.int64)
    tile = min(_LARGEST_TILE, max(8, len(a) // 32 * 2))  # small beside the matrix: a tile on its diagonal is half waste
    corners = [
        (i, min(i + tile, len(a)), j, min(j + tile, len(b)))
        for i in range(0, len(a), tile)
        for j in range(i if symmetric else 0, len(b), tile)
    ]
    tiles = np.array(corners, np.intp).reshape(-1, 4)
    n_words = len(a) * len(b) * a.shape[1] // (2 if symmetric else 1)
    pieces = min(len(tiles), max(1, n_words // _WORDS_WORTH_A_THREAD), 64)
    map_threads(lambda p: add_tiles(a, b, tiles[p::pieces], out), range(pieces), n_jobs)
    return out


def pair_matrix(planes: BitPlanes, *, n_jobs: int | None) -> np.ndarray:
    """Return the matrix of all pair counts, states without a plane included."""
    from tunbridge.kernels.planes import expand_pairs, fill_margins

    kept = cross_counts(planes.words, planes.words, symmetric=True, n_jobs=n_jobs)
    start = np.concatenate([[0], np.cumsum(planes.n_states)])
    margins, out = np.empty(start[-1], np.int64), np.empty((start[-1], start[-1]), np.int64)
    fill_margins(kept, planes.first, start, planes.n_rows, margins)
    pieces = row_pieces(len(planes.n_states), max(16, _CELLS_WORTH_A_THREAD // int(start[-1])))
    map_threads(lambda rows: expand_pairs(kept, planes.first, start, margins, *rows, out), pieces, n_jobs)
    return out


def joint_tables(
    columns: Sequence[np.ndarray], n_states: Sequence[int], planes: BitPlanes, *, n_jobs: int | None
) -> list[np.ndarray]:
    """Return for every column of the planes the table of its states for each joint state of several other columns."""
    from tunbridge.kernels.planes import count_planes

    joint, n_joint = joint_planes(columns, n_states), prod(n_states)
    margins = np.empty(len(joint), np.int64)
    count_planes(joint, margins)
    crossed = cross_counts(joint, planes.words, n_jobs=n_jobs)
    tables = []
    for v in range(len(planes.n_states)):
        table = crossed[:n_joint, planes.first[v] : planes.first[v + 1]]
        if planes.implies_last(v):
            table = np.column_stack([table, margins[:n_joint] - table.sum(axis=1)])
        tables.append(table)
    return tables


def joint_planes(columns: Sequence[np.ndarray], n_states: Sequence[int]) -> np.ndarray:
    """Return the planes of all joint states, those of the last column fastest, made even by an empty one."""
    from tunbridge.kernels.planes import cross_planes, fill_planes

    n_words = -(-len(columns[0]) // 64)
    joint = np.full((1, n_words), ~np.uint64(0))
    for codes, n in zip(columns, n_states, strict=True):
        own = np.zeros((n, n_words), np.uint64)
        fill_planes(codes, own)
        crossed = np.empty((len(joint) * n, n_words), np.uint64)
        cross_planes(joint, own, crossed)
        joint = crossed
    return _even(joint)


def _even(words: np.ndarray) -> np.ndarray:
    return words if len(words) % 2 == 0 else np.vstack([words, np.zeros_like(words[:1])])
