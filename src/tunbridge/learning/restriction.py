"""Measures of how much two variables have to do with each other, for all pairs, in bounded memory.

All pairs of 10 000 variables are 10⁸ numbers, which fit; their counts are four times as many and more, which need not
be there all at once. So the variables are taken in blocks: a block's counts with all later variables are made, turned
into the measure, and forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.counts.planes import cross_counts
from tunbridge.counts.radix import joint_table
from tunbridge.learning.plain import Columns

_BLOCK_CELLS = 1 << 23


def pair_information(columns: Columns, tell: Callable[[float], None] | None = None) -> np.ndarray:
    """Return the mutual information of all pairs (single precision, zeros on the diagonal)."""
    from tunbridge.kernels.pair_measures import fill_block_information

    out = _room(len(columns.names))
    for block in PairBlocks(columns):
        fill = partial(fill_block_information, block.counts, block.start_a, block.start_b, block.low)
        map_threads(lambda a, fill=fill: fill(a, out), range(block.n_variables), columns.n_jobs)  # type: ignore[misc]
        if tell is not None:
            tell((block.low + block.n_variables) / len(columns.names))
    return out


def pair_discrepancy(columns: Columns, model: Columns, tell: Callable[[float], None] | None = None) -> np.ndarray:
    """Return D_KL(P̂(X, Y) ‖ P_model(X, Y)) for all pairs, the model given by rows drawn from it."""
    from tunbridge.kernels.pair_measures import fill_block_discrepancy

    out = _room(len(columns.names))
    for ours, theirs in zip(PairBlocks(columns), PairBlocks(model), strict=True):
        fill = partial(fill_block_discrepancy, ours.counts, theirs.counts, ours.start_a, ours.start_b, ours.low)
        map_threads(lambda a, fill=fill: fill(a, out), range(ours.n_variables), columns.n_jobs)  # type: ignore[misc]
        if tell is not None:
            tell((ours.low + ours.n_variables) / len(columns.names))
    return out


@dataclass(frozen=True, eq=False)
class Block:
    """The counts of the variables from ``low`` on with those from ``low`` to the end."""

    low: int
    counts: np.ndarray
    start_a: np.ndarray
    start_b: np.ndarray

    @property
    def n_variables(self) -> int:
        """The number of variables of the block."""
        return len(self.start_a) - 1


class PairBlocks:
    """The pair counts of all variables, block by block."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._start = np.concatenate([[0], np.cumsum(columns.states)])

    def __iter__(self) -> Iterator[Block]:
        low, n = 0, len(self._columns.names)
        while low < n:
            most = _BLOCK_CELLS // max(1, int(self._start[-1] - self._start[low]))
            high = max(low + 1, int(np.searchsorted(self._start, self._start[low] + most, "right")) - 1)
            yield self._block(low, min(high, n))
            low = min(high, n)

    def _block(self, low: int, high: int) -> Block:
        from tunbridge.kernels.pair_measures import expand_block

        start_a = self._start[low : high + 1] - self._start[low]
        start_b = self._start[low:] - self._start[low]
        check_memory(
            "a block of pair counts",
            16.0 * int(start_a[-1]) * int(start_b[-1]),
            ways_out="Leave out columns with many states, such as identifiers.",
        )
        counts = np.zeros((int(start_a[-1]), int(start_b[-1])), np.int64)
        words, first = self._columns.planes
        if first[high] > first[low]:
            begin = first[low] - first[low] % 2  # planes are counted two by two
            end = first[high] + (first[high] - begin) % 2
            kept = cross_counts(words[begin:end], words[begin:], n_jobs=self._columns.n_jobs)
            margins = self._columns.state_counts
            places = (first[low : high + 1] - begin, first[low:] - begin, start_a, start_b)
            known = (margins[self._start[low] : self._start[high]], margins[self._start[low] :])
            pieces = row_pieces(high - low, max(1, (high - low) // 16))
            map_threads(lambda piece: expand_block(kept, *places, *known, *piece, counts), pieces, self._columns.n_jobs)
        self._count_wide(low, high, counts)
        return Block(low, counts, start_a, start_b)

    def _count_wide(self, low: int, high: int, counts: np.ndarray) -> None:
        """Count by histogram the pairs in which one has too many states for planes."""
        n, states = len(self._columns.names), self._columns.states
        wide = np.flatnonzero(~self._columns.narrow[low:]) + low
        here = range(low, high)
        pairs = {(a, b) for a in wide[wide < high].tolist() for b in range(low, n)}
        pairs |= {(a, b) for a in here for b in wide.tolist()}

        def count(pair: tuple[int, int]) -> None:
            rows, cols = (slice(*(self._start[[v, v + 1]] - self._start[low])) for v in pair)
            shape = [int(states[v]) for v in pair]
            table = joint_table([self._columns.codes[v] for v in pair], shape, None, n_jobs=1)
            counts[rows, cols] = table.reshape(shape)

        map_threads(count, sorted(pairs), self._columns.n_jobs)


def _room(n: int) -> np.ndarray:
    check_memory(f"a measure of all pairs of {n} variables", 4.0 * n * n, ways_out="Learn from fewer columns.")
    return np.zeros((n, n), np.float32)
