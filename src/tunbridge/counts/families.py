"""The counts of all families of a graph together: small ones by bit planes, in one call; the others by the counter.

A graph of 441 nodes has 441 families, most of them of three variables with a handful of states. Counted one by one
they take longer to ask for than to count. Here the planes of all columns are made once, and one kernel goes through the
families.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tunbridge._threads import map_threads, n_threads
from tunbridge.counts.counter import Counter
from tunbridge.counts.planes import has_planes
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.counts.records import Counts
from tunbridge.data import Table, Variable

_MOST_JOINT = 64
_MOST_CELLS = 256
"""A family of more cells is counted by histogram: so many ANDs cost more than the additions."""

_FEWEST = 4
_FAMILIES_A_PIECE = 32

Family = tuple[str, Sequence[str]]


def count_families(table: Table, families: Sequence[Family], *, n_jobs: int | None = None) -> list[Counts]:
    """Return the counts of several (variable, parents) families.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counts = count_families(tb.datasets.play_tennis(), [("wind", ()), ("play", ("wind",))])
    >>> [c.table.tolist() for c in counts]
    [[[6, 8]], [[3, 3], [2, 6]]]
    """
    sizes = {v.name: v.n_states for v in table.variables} if _is_worth_planes(table) else {}
    few = [i for i, family in enumerate(families) if _is_small(sizes, family)]
    if len(few) < _FEWEST:
        return Counter(table, n_jobs=n_jobs).families(families)
    found: dict[int, Counts] = dict(zip(few, _by_planes(table, [families[i] for i in few], n_jobs), strict=True))
    others = [i for i in range(len(families)) if i not in found]
    if others:
        counted = Counter(table, n_jobs=n_jobs).families([families[i] for i in others])
        found.update(zip(others, counted, strict=True))
    return [found[i] for i in range(len(families))]


def _is_worth_planes(table: Table) -> bool:
    return table.weights is None and table.n_rows * table.n_columns > SMALL_CELLS


def _is_small(sizes: Mapping[str, int], family: Family) -> bool:
    """Whether planes count a family fast; no where it is not one of these columns, which the counter then says."""
    child, parents = family
    n_states = [sizes.get(name, 0) for name in (*parents, child)]
    n_joint = prod(n_states[:-1])
    few = n_joint <= _MOST_JOINT and n_joint * n_states[-1] <= _MOST_CELLS
    return few and all(map(has_planes, n_states)) and len({child, *parents}) == len(n_states)


def _by_planes(table: Table, families: Sequence[Family], n_jobs: int | None) -> list[Counts]:
    from tunbridge.kernels.families import WORD_BLOCK, count_families

    known = {v.name: v for v in table.variables}
    variables = [[known[name] for name in (*parents, child)] for child, parents in families]
    names = list(dict.fromkeys(v.name for family in variables for v in family))
    number = {name: i for i, name in enumerate(names)}
    members = np.array([number[v.name] for family in variables for v in family], np.int64)
    start = _starts([len(family) for family in variables])
    cells = _starts([prod(v.n_states for v in family) for family in variables])
    words, first = _planes(table, names, n_jobs)
    out, widest = np.zeros(cells[-1], np.int64), max(_n_configurations(family) for family in variables)

    def count(piece: tuple[int, int]) -> None:
        joint = np.empty((2, widest, min(WORD_BLOCK, words.shape[1])), np.uint64)
        count_families(words, first, members, start, cells, *piece, joint, out)

    n_pieces = -(-len(families) // _FAMILIES_A_PIECE)
    pieces = [(i * len(families) // n_pieces, (i + 1) * len(families) // n_pieces) for i in range(n_pieces)]
    map_threads(count, pieces, n_jobs)
    return [_counts(family, out[cells[i] : cells[i + 1]]) for i, family in enumerate(variables)]


def _planes(table: Table, names: Sequence[str], n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the planes of all states of these columns, and where each column's begin."""
    from tunbridge.kernels.planes import fill_planes

    first = _starts([table.variable(name).n_states for name in names])
    words = np.zeros((first[-1], -(-table.n_rows // 64)), np.uint64)
    columns = [np.ascontiguousarray(table.codes(name), np.int8) for name in names]
    size = -(-len(names) // (4 * n_threads(n_jobs)))

    def fill(piece: int) -> None:
        for v in range(piece, min(piece + size, len(names))):
            fill_planes(columns[v], words[first[v] : first[v + 1]])

    map_threads(fill, range(0, len(names), size), n_jobs)
    return words, first


def _n_configurations(family: Sequence[Variable]) -> int:
    return prod(v.n_states for v in family[:-1])


def _starts(sizes: Sequence[int]) -> np.ndarray:
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _counts(family: Sequence[Variable], flat: np.ndarray) -> Counts:
    child = family[-1]
    return Counts(child, tuple(family[:-1]), flat.reshape(-1, child.n_states))
