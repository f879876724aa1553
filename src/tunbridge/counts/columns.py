"""The categorical columns of one table, and what is counted from their bit planes.

A bit plane has one bit a row for each (column, state), so that counting is AND and population count over N/64 words a
cell (:mod:`tunbridge.kernels.counting.planes`). A column without missing values needs no plane for its last state:
n(a, last of b) is n(a) less the other cells of that row. So a complete binary column is one plane, and all pairs of
2 000 such columns cost 2 · 10⁶ ANDs of N/64 words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from tunbridge._core.lazy import LazyModule
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.counts.radix import SMALL_CELLS, joint_table
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.kernels.compiled import is_numpy_quicker, read_only

if TYPE_CHECKING:
    from tunbridge.kernels.counting.planes import Planes

special = LazyModule("scipy.special")

PLANE_STATES = 16
"""Columns with more states are counted by histogram: r² ANDs of N/64 words cost more than N additions."""

_HOT_STATES, _HOT_CELLS, _HOT_ROWS = 1_000, 2**22, 2**23
"""States for which a product of 0/1 matrices is quick; its entries; its rows, which single precision counts exactly."""
_TILE, _STRIP = 8, 256
"""Planes that stay in the cache, and planes that are counted against them."""
_WORDS_WORTH_A_THREAD = 500_000
_FAMILIES_A_PIECE = 32

Within = tuple[np.ndarray, int]
"""The codes of a class, and its number of states."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The categorical columns of one table, by position, and the factor by which their counts are multiplied.

    Parameters
    ----------
    table : Table
        Categorical columns only, their codes contiguous and of the smallest type, which is what the kernels read.
    weight : float
        The number (or weight) of its rows, which a table without columns does not know.
    n_jobs : int, optional
        Threads.
    scale : float
        The factor of all counts.
    """

    table: Table
    weight: float
    n_jobs: int | None = None
    scale: float = 1.0
    names: tuple[str, ...] = field(init=False)
    """The names of the columns."""
    codes: tuple[np.ndarray, ...] = field(init=False)
    """The codes of each column, −1 where missing."""
    weights: np.ndarray | None = field(init=False)
    """The weights of the rows, if they have any."""
    n_rows: int = field(init=False)
    """The number of rows."""
    n_states: list[int] = field(init=False)
    """The number of states of each column."""
    states: np.ndarray = field(init=False)
    """The number of states of each column, as an array."""

    def __post_init__(self) -> None:
        table, n_states = self.table, [v.n_states for v in self.table.variables]
        self.__dict__.update(  # the class is frozen
            names=table.names,
            codes=table.columns,
            weights=table.weights,
            n_rows=table.n_rows,
            n_states=n_states,
            states=np.array(n_states, np.int64),
        )

    @classmethod
    def of(cls, table: Table, n_jobs: int | None = None) -> Columns:
        """Return the categorical columns of a table."""
        columns = [_compact(column) for column in table if column.variable.is_categorical]
        weight = table.n_rows if table.weights is None else float(table.weights.sum())
        return cls(Table.of_valid(columns, table) if columns else Table.of([]), weight, n_jobs)

    def recode(self, variables: Sequence[Variable], n_jobs: int | None) -> Columns:
        """Return the columns with their codes in the variables' order of states."""
        return replace(self, table=self.table.recode(variables), n_jobs=n_jobs)

    @property
    def total(self) -> float:
        """The number (or weight) of the rows, scaled."""
        return self.weight if self.scale == 1.0 else self.weight * self.scale

    @property
    def count_type(self) -> type[np.int64 | np.float64]:
        """The type of counts: integers unless rows have weights."""
        return np.int64 if self.weights is None else np.float64

    @cached_property
    def first_states(self) -> np.ndarray:
        """Where the states of each column begin among those of all columns, and where the last end."""
        return offsets(self.n_states)

    @cached_property
    def complete(self) -> np.ndarray:
        """Which columns have no missing values."""
        return np.array([int(codes.min(initial=0)) >= 0 for codes in self.codes], bool)

    @cached_property
    def narrow(self) -> np.ndarray:
        """Which columns have few enough states for bit planes."""
        return (self.states >= 1) & (self.states <= PLANE_STATES)

    @property
    def has_planes(self) -> bool:
        """Whether rows are counted by bit planes: not if they have weights, or if NumPy is as fast."""
        return self.weights is None and self.n_rows * len(self.codes) > SMALL_CELLS

    def of_members(self, members: Sequence[int]) -> tuple[list[np.ndarray], list[int]]:
        """Return the codes and the numbers of states of some columns."""
        codes, n_states = self.codes, self.n_states
        return [codes[v] for v in members], [n_states[v] for v in members]

    def n_configurations(self, members: Sequence[int]) -> int:
        """Return the number of configurations of some columns."""
        n_states = self.n_states
        return prod(n_states[v] for v in members)

    @cached_property
    def planes(self) -> Planes:
        """The bit planes of the narrow columns."""
        return build_planes(self.codes, self.n_states, n_jobs=self.n_jobs)

    @cached_property
    def narrow_codes(self) -> np.ndarray:
        """The codes of the narrow columns as one array, a row of memory for each column."""
        codes = np.empty((len(self.codes), self.n_rows), np.int8)
        for v, is_narrow in enumerate(self.narrow.tolist()):
            codes[v] = self.codes[v] if is_narrow else 0
        return codes


def offsets(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return where each of consecutive pieces begins, and where the last ends.

    Examples
    --------
    >>> offsets([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    out = np.zeros(len(sizes) + 1, np.int64)
    np.asarray(sizes, np.int64).cumsum(out=out[1:])
    return out


def build_planes(
    columns: Sequence[np.ndarray],
    n_states: Sequence[int],
    *,
    within: Within | None = None,
    n_jobs: int | None,
) -> Planes:
    """Return the planes of columns of codes, none for columns with many states.

    Parameters
    ----------
    columns : sequence of ndarray
        Contiguous codes of equal length; int8 for columns with few states.
    n_states : sequence of int
        The number of states of each column.
    within : (ndarray, int), optional
        The codes of a class, by which the rows are sorted, and its number of states; rows without class are left out.
    n_jobs : int, optional
        Threads.
    """
    from tunbridge.kernels.counting.planes import Planes, fill_planes, sort_codes

    ends, order = np.array([0, len(columns[0]) if columns else 0], np.int64), None
    if within is not None:
        order = np.argsort(within[0], kind="stable").astype(np.uint32)
        ends = np.searchsorted(within[0], np.arange(within[1] + 1), sorter=order).astype(np.int64)
    states = np.array([n if 1 <= n <= PLANE_STATES else 0 for n in n_states], np.int64)
    complete = [r > 0 and int(c.min(initial=0)) >= 0 for c, r in zip(columns, states, strict=True)]
    first, start = offsets(states - np.array(complete, np.int64)), offsets(-(-np.diff(ends) // 64))
    check_memory("the bit planes", 8.0 * first[-1] * start[-1], ways_out="Count fewer columns at a time.")
    words = np.empty((first[-1], start[-1]), np.uint64)

    def fill(v: int) -> None:
        codes = columns[v]
        if order is not None:
            codes = np.empty(64 * start[-1], np.int8)
            sort_codes(columns[v], order, ends, start, codes)
        fill_planes(read_only(codes), words[first[v] : first[v + 1]])

    narrow = np.flatnonzero(states).tolist()
    map_threads(fill, narrow, n_jobs if words.size > _WORDS_WORTH_A_THREAD else 1)
    return Planes(words, first, offsets(states), start, np.diff(ends))


def count_margins(planes: Planes) -> np.ndarray:
    """Return how often each state occurs in each class: an array of shape (n_classes, n_states)."""
    from tunbridge.kernels.counting.planes import fill_margins

    margins = np.empty((len(planes.n_rows), planes.state[-1]), np.int64)
    fill_margins(planes, margins)
    return margins


# Pairs


def count_pairs(
    part: Columns, chosen: Sequence[int], within: Within | None = None, block: tuple[int, int] | None = None
) -> np.ndarray:
    """Return the counts of all pairs of states, for each state of a class: an array with three axes.

    ``block`` = (low, high): only those of the columns low … high − 1 with the columns from ``low`` on.
    """
    low, high = block or (0, len(chosen))
    columns, n_states = part.of_members(chosen)
    first = offsets(n_states)
    if not columns or has_few_pairs(part, int(first[-1]), "fill_pairs"):
        return _one_hot_pairs(part, chosen, within)[:, first[low] : first[high], first[low] :]
    narrow = part.narrow[list(chosen)] & (part.weights is None)
    by_planes = None
    if narrow.any():
        whole = within is None and len(chosen) == len(part.codes)
        planes = part.planes if whole else build_planes(columns, n_states, within=within, n_jobs=part.n_jobs)
        by_planes = pairs_by_planes(planes, low, high, n_jobs=part.n_jobs)
        if narrow.all():
            return by_planes
    first -= first[low]
    shape = (1 if within is None else within[1], first[high], first[-1])
    out = np.zeros(shape, part.count_type)
    if by_planes is not None:
        kept = np.concatenate([np.arange(first[v], first[v + 1]) for v in range(low, len(chosen)) if narrow[v]])
        out[np.ix_(np.arange(len(out)), kept[: by_planes.shape[1]], kept)] = by_planes

    def fill(pair: tuple[int, int]) -> None:
        a, b = (slice(first[v], first[v + 1]) for v in pair)
        table = out[:, a, b] = _pair_by_histogram(part, [chosen[v] for v in pair], within)
        if shape[1] == shape[2]:
            out[:, b, a] = table.swapaxes(1, 2)

    wide = [(a, b) for a in range(low, high) for b in range(a, len(chosen)) if not (narrow[a] and narrow[b])]
    map_threads(fill, [(a, b) for a, b in wide if n_states[a] and n_states[b]], part.n_jobs)
    return out


def _pair_by_histogram(part: Columns, pair: Sequence[int], within: Within | None) -> np.ndarray:
    codes, n_states = part.of_members(pair)
    if within is not None:
        codes, n_states = [within[0], *codes], [within[1], *n_states]
    return joint_table(codes, n_states, part.weights, n_jobs=1).reshape(-1, *n_states[-2:])


def has_few_pairs(part: Columns, n_states: int, kernel: str) -> bool:
    """Return whether NumPy counts the pairs of so many states as fast as the kernel, or before that is compiled."""
    size = part.n_rows * n_states
    is_exact = part.weights is None and n_states <= _HOT_STATES
    return size <= SMALL_CELLS or (is_exact and is_numpy_quicker(size, "counting.planes", kernel))


def _one_hot_pairs(part: Columns, chosen: Sequence[int], within: Within | None) -> np.ndarray:
    """Return ZᵀWZ for the 0/1 matrix Z of all states, class by class: needs no kernel, and is exact without weights.

    Single precision counts a piece of rows exactly, in a third of the time.
    """
    columns, n_states = part.of_members(chosen)
    first, n_rows = offsets(n_states), part.n_rows if columns else 0
    classes, n_classes = within or (None, 1)
    found = np.zeros((n_classes, first[-1], first[-1]))
    for low, high in row_pieces(n_rows, max(1, min(_HOT_ROWS, _HOT_CELLS // max(1, first[-1])))):
        hot = np.empty((first[-1], high - low), np.float32 if part.weights is None else np.float64)
        for codes, start, r in zip(columns, first[:-1], n_states, strict=True):
            for state in range(r):
                np.equal(codes[low:high], state, out=hot[start + state], casting="unsafe")
        weighed = hot if part.weights is None else hot * part.weights[low:high]
        for c in range(n_classes):
            some = slice(None) if classes is None else np.flatnonzero(classes[low:high] == c)
            found[c] += weighed[:, some] @ hot[:, some].T
    return found.astype(part.count_type)


def pairs_by_planes(planes: Planes, low: int, high: int, *, n_jobs: int | None) -> np.ndarray:
    """Return the counts of the states of columns low … high − 1 with those of columns from ``low`` on, class by class.

    Pairs of a column with an earlier one are filled in only if all columns are counted.
    """
    from tunbridge.kernels.counting.planes import fill_pairs

    margins, begin = count_margins(planes), planes.state[low]
    shape = (len(planes.n_rows), planes.state[high] - begin, planes.state[-1] - begin)
    out = np.zeros(shape, np.int64)
    _run_jobs(
        planes, _jobs(planes.first, low, high), lambda jobs: fill_pairs(planes, margins, jobs, begin, out), n_jobs
    )
    return out


def information_by_planes(
    planes: Planes, dtype: DTypeLike, *, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mutual information of all pairs of columns, given the class, the rows of each, and the margins.

    The tables of a few columns with a few others are counted, and each becomes one number at once,

        n I(X; Y) = Σ_ij n_ij log n_ij − Σ_i n_i. log n_i. − Σ_j n_.j log n_.j + n log n,

    so no matrix of counts is made; n log n is looked up as far as that pays, which depends on how often it is needed.
    """
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.counting.planes import Margins, fill_margin_terms, fill_pair_information

    announce(fill_pair_information, "the counting of pairs", 2)
    n, n_rows, margins = len(planes.first) - 1, int(planes.n_rows.sum()), count_margins(planes)
    counts = np.arange(min(n_rows + 1, len(planes.words) ** 2 // 8 + 1), dtype=np.float64)
    known, terms = special.xlogy(counts, counts), np.empty((len(planes.n_rows), n))
    fill_margin_terms(planes, margins, known, terms)
    information, is_complete = np.empty((n, n), dtype), bool(np.isfinite(terms).all())
    to_fill = np.empty((0, 0)) if is_complete else np.empty((n, n))
    rows = np.broadcast_to(np.float64(n_rows), (n, n)) if is_complete else to_fill

    def fill(jobs: np.ndarray) -> None:
        fill_pair_information(planes, Margins(margins, terms), known, jobs, information, to_fill)

    _run_jobs(planes, _jobs(planes.first, 0, n), fill, n_jobs)
    return information, rows, margins


def _run_jobs(planes: Planes, jobs: np.ndarray, fill: Callable[[np.ndarray], None], n_jobs: int | None) -> None:
    work = len(planes.words) * planes.words.size // (2 * _WORDS_WORTH_A_THREAD)
    n_pieces = max(1, min(64, len(jobs), work))
    map_threads(lambda p: fill(np.ascontiguousarray(jobs[p::n_pieces])), range(n_pieces), n_jobs)


def _jobs(first: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the ranges of columns (a0, a1, b0, b1) that are counted against each other, b not before a."""
    planes = first.tolist()
    tiles, strips = _cuts(planes, low, high, _TILE), _cuts(planes, low, len(planes) - 1, _STRIP)
    found = [(a0, a1, max(a0, b0), b1) for a0, a1 in tiles for b0, b1 in strips if b1 > a0]
    return np.array(found, np.int64).reshape(-1, 4)


def _cuts(first: Sequence[int], low: int, high: int, most: int) -> list[tuple[int, int]]:
    """Return consecutive ranges of columns of at most so many planes and columns; one of more planes is alone."""
    found, start = [], low
    while start < high:
        stop = bisect_right(first, first[start] + most) - 1
        found.append((start, min(max(stop, start + 1), start + most, high)))
        start = found[-1][1]
    return found


# Families


def families_by_planes(planes: Planes, families: Sequence[Sequence[int]], *, n_jobs: int | None) -> list[np.ndarray]:
    """Return the counts of several families of columns, the child last, as flat arrays.

    A graph of 441 nodes has 441 families, most of them of three variables with a handful of states: one by one they
    take longer to ask for than to count. Here one kernel goes through all of them.
    """
    from tunbridge.kernels.counting.planes import WORD_BLOCK, FamilyList, count_families

    n_states = np.diff(planes.state).tolist()
    sizes = [[n_states[v] for v in family] for family in families]
    members = np.array([v for family in families for v in family], np.int64)
    asked = FamilyList(members, offsets([len(s) for s in sizes]), offsets([prod(s) for s in sizes]))
    out, widest = np.zeros(asked.cell[-1], np.int64), max(prod(s[:-1]) for s in sizes)

    def count(piece: tuple[int, int]) -> None:
        joint = np.empty((2, widest, min(WORD_BLOCK, planes.words.shape[1])), np.uint64)
        count_families(planes, asked, *piece, joint, out)

    n_pieces = -(-len(families) // _FAMILIES_A_PIECE)
    cuts = [i * len(families) // n_pieces for i in range(n_pieces + 1)]
    map_threads(count, pairwise(cuts), n_jobs)
    return np.split(out, asked.cell[1:-1])


def _compact(column: Column) -> Column:
    """Return a column whose codes are contiguous and of the smallest type: no copy for all but hand-made tables."""
    values = np.ascontiguousarray(column.values, code_type(column.variable.n_states))
    values.flags.writeable = False
    return column._replace(values=values)
