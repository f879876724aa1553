"""Mutual information of all pairs in one go: counted and turned into information where it is counted.

For a spanning tree, or a list of candidates, the tables of the pairs are needed only until their information is known.
So no matrix of counts is made: the tables of a few variables with a few others are counted by bit planes
(:mod:`tunbridge.kernels.trees`), and each becomes one number at once,

    n I(X; Y) = Σ_ij n_ij log n_ij − Σ_i n_i. log n_i. − Σ_j n_.j log n_.j + n log n,

with n log n looked up, n being a whole number. Given a variable Z, the rows are sorted by its states first, and the sum
goes over them. Columns with many states are counted pair by pair; rows with weights, small tables and sums of several
tables by :class:`tunbridge.counts.Counter`. All ways give the same figures, but for the rounding of the last digits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads
from tunbridge.counts.counter import Counter
from tunbridge.counts.information import information_and_rows, information_with_given, n_log_n
from tunbridge.counts.planes import PLANE_STATES
from tunbridge.counts.radix import SMALL_CELLS, is_dense, joint_table, number_configurations
from tunbridge.data import Table, Variable

_TILE = 8
"""Planes that stay in the cache while others are counted against them."""
_STRIP = 256
"""Planes of these others."""
_WORDS_WORTH_A_THREAD = 500_000
_CODES_WORTH_A_THREAD = 1_000_000
_VECTOR_ROWS = 256
"""Rows of a vector of words, of which planes have a whole number."""

_Found = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Information and rows of all pairs, and the information of each variable with the class."""


@dataclass(frozen=True, eq=False)
class PairInformation:
    """The mutual information of all pairs of variables, given a further one if there is one.

    Parameters
    ----------
    variables : tuple of Variable
        The variables.
    information : ndarray of shape (n, n)
        I(X; Y) or I(X; Y | Z) in nats; the entropies on the diagonal.
    rows : ndarray of shape (n, n)
        The number (or weight) of the rows that each rests on: those that miss neither variable, nor Z.
    with_given : ndarray of shape (n,), optional
        I(X; Z) of each variable, if there is a Z.
    """

    variables: tuple[Variable, ...]
    information: np.ndarray
    rows: np.ndarray
    with_given: np.ndarray | None = None


def pair_information(counter: Counter, given: str | None = None) -> PairInformation:
    """Return the mutual information of all pairs of a counter's variables, conditional on one of them if named.

    The same as ``mutual_information(counter.pairs())`` and ``mutual_information(counter.pairs_within(given))``, without
    the counts.

    Examples
    --------
    >>> import tunbridge as tb
    >>> counter = tb.Counter(tb.datasets.play_tennis())
    >>> found = pair_information(counter, "play")
    >>> [v.name for v in found.variables]
    ['outlook', 'temperature', 'humidity', 'wind']
    >>> found.information[0].round(3).tolist()
    [0.922, 0.291, 0.154, 0.216]
    >>> found.with_given.round(3).tolist()
    [0.171, 0.02, 0.105, 0.033]
    """
    part = counter._parts[0]
    n_states = sum(v.n_states for v in part.table.variables)
    if len(counter._parts) > 1 or part.scale != 1.0 or part.table.weights is not None:
        return _by_counts(counter, given)
    if part.table.n_rows * n_states <= SMALL_CELLS:
        return _by_counts(counter, given)
    return _by_planes(part.table, None if given is None else part.table.position(given), part.n_jobs)


# From counts of pairs


def _by_counts(counter: Counter, given: str | None) -> PairInformation:
    pairs = counter.pairs() if given is None else counter.pairs_within(given)
    information, rows = information_and_rows(pairs)
    if given is None:
        return PairInformation(pairs.variables, information, rows)
    margins = np.diagonal(pairs.matrix, axis1=1, axis2=2)
    return PairInformation(pairs.variables, information, rows, information_with_given(margins, pairs.first))


# By bit planes


@dataclass(frozen=True, eq=False)
class _Rows:
    """How the rows lie in the planes: by class, each class filled up to a whole number of vectors.

    Class c begins with word ``starts[c]`` of a plane; its rows are ``order[ends[c] : ends[c + 1]]``. Without classes
    there is but one, and no order.
    """

    starts: np.ndarray
    ends: np.ndarray
    order: np.ndarray | None = None

    @property
    def n_words(self) -> int:
        return int(self.starts[-1])

    @property
    def n_rows(self) -> int:
        return int(self.ends[-1] - self.ends[0])

    @classmethod
    def of(cls, table: Table, given: int | None) -> _Rows:
        """Return the order of a table's rows by one of its columns, rows that miss it left out."""
        ends, order = np.array([0, table.n_rows], np.int64), None
        if given is not None:
            classes = table.columns[given]
            order = np.argsort(classes, kind="stable").astype(np.uint32)
            ends = np.searchsorted(classes, np.arange(table.variables[given].n_states + 1), sorter=order)
        n_vectors = -(-np.diff(ends) // _VECTOR_ROWS)
        starts = np.concatenate([[0], np.cumsum(n_vectors)]) * (_VECTOR_ROWS // 64)
        return cls(starts.astype(np.int64), ends.astype(np.int64), order)


@dataclass(frozen=True, eq=False)
class _Planes:
    """The planes of several columns, laid out as :mod:`tunbridge.kernels.trees` describes it."""

    words: np.ndarray
    first: np.ndarray
    kept: np.ndarray
    rows: _Rows

    @property
    def is_complete(self) -> bool:
        return bool((self.kept < np.diff(self.first)).all())

    @classmethod
    def of(cls, columns: Sequence[np.ndarray], n_states: Sequence[int], rows: _Rows, n_jobs: int | None) -> _Planes:
        """Return the planes of contiguous int8 columns."""
        from tunbridge.kernels.trees import fill_class_planes, sort_codes

        first = np.concatenate([[0], np.cumsum(n_states)]).astype(np.int64)
        size = rows.n_words
        check_memory("the bit planes", 8.0 * first[-1] * size, ways_out="Use fewer columns or rows.")
        words, kept = _aligned_words(int(first[-1]) * size), np.empty(len(columns), np.int64)

        def fill(v: int) -> None:
            codes = columns[v]
            kept[v] = n_states[v] - int(codes.min(initial=0) >= 0)
            if rows.order is not None:
                codes = np.empty(64 * size, np.int8)
                sort_codes(columns[v], rows.order, rows.ends, rows.starts, codes)
            fill_class_planes(codes, kept[v], size, first[v] * size, words)

        n_codes = len(columns) * rows.n_rows
        map_threads(fill, range(len(columns)), n_jobs if n_codes > _CODES_WORTH_A_THREAD else 1)
        return cls(words, first, kept, rows)


def _by_planes(table: Table, given: int | None, n_jobs: int | None) -> PairInformation:
    chosen = [i for i in range(table.n_columns) if i != given]
    check_memory("the information of all pairs", 16.0 * len(chosen) ** 2, ways_out="Use fewer columns.")
    n_states = [table.variables[i].n_states for i in chosen]
    narrow = [k for k, n in enumerate(n_states) if 1 <= n <= PLANE_STATES]
    columns = [table.columns[chosen[k]] for k in narrow]
    planes = _Planes.of(columns, [n_states[k] for k in narrow], _Rows.of(table, given), n_jobs)
    found = _fused(planes, n_jobs)
    if len(narrow) < len(chosen):
        found = _spread(found, narrow, len(chosen))
        _fill_wide(found, table, chosen, given, n_jobs)
    return PairInformation(tuple(table.variables[i] for i in chosen), *found)


def _fused(planes: _Planes, n_jobs: int | None) -> _Found:
    """Return information and rows of all pairs of columns, and the information of each with the class."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.trees import fill_pair_information

    announce(fill_pair_information, "the counting of pairs")
    n, rows = len(planes.kept), planes.rows
    own = np.concatenate([[0], np.cumsum(planes.kept)])
    places = (np.arange(own[-1]) + np.repeat(planes.first[:-1] - own[:-1], planes.kept)) * rows.n_words
    margins = _margins(planes, int(own[-1]) ** 2 // 8)
    information = np.empty((n, n))
    pairs = np.empty((0, 0)) if planes.is_complete else np.empty((n, n))
    jobs = _jobs(own)
    n_pieces = max(1, min(64, len(jobs), int(own[-1]) ** 2 * rows.n_words // (2 * _WORDS_WORTH_A_THREAD)))

    def fill(piece: int) -> None:
        some = np.ascontiguousarray(jobs[piece::n_pieces])
        fill_pair_information(planes.words, rows.starts, planes.first, own, places, *margins, some, information, pairs)

    map_threads(fill, range(n_pieces), n_jobs)
    if planes.is_complete:
        pairs = np.broadcast_to(np.float64(rows.n_rows), (n, n))
    with_given = None if rows.order is None else information_with_given(margins[0], planes.first)
    return information, pairs, with_given


def _margins(planes: _Planes, n_known: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return for each class the counts of all states, and of each column their Σ n log n and their sum; and n log n.

    That is looked up as far as it pays, which depends on how often it is needed.
    """
    from tunbridge.kernels.trees import fill_class_margins, fill_n_log_n

    rows, n_classes, n = planes.rows, len(planes.rows.starts) - 1, len(planes.kept)
    known = np.empty(min(rows.n_rows + 1, n_known))
    fill_n_log_n(known)
    counts, sums = np.empty((n_classes, int(planes.first[-1])), np.int64), np.empty((n_classes, n))
    present = np.empty((n_classes, n), np.int64)
    layout = (rows.n_words, rows.starts, planes.first, planes.kept, rows.ends)
    fill_class_margins(planes.words, *layout, known, counts, sums, present)
    return counts, sums, present, known


def _jobs(own: np.ndarray) -> np.ndarray:
    """Return the ranges of variables (a0, a1, b0, b1) that are counted against each other, b not before a."""
    first = own.tolist()
    strips = _cuts(first, _STRIP)
    found = [(a0, a1, max(a0, b0), b1) for a0, a1 in _cuts(first, _TILE) for b0, b1 in strips if b1 > a0]
    return np.array(found, np.int64).reshape(-1, 4)


def _cuts(first: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return consecutive ranges of variables of at most so many planes and variables; one of more planes is alone."""
    found, start = [], 0
    while start < len(first) - 1:
        stop = bisect_right(first, first[start] + most) - 1
        found.append((start, min(max(stop, start + 1), start + most)))
        start = found[-1][1]
    return found


def _aligned_words(n: int) -> np.ndarray:
    """Return room for n words that begins a line of the cache, so that no vector lies across two."""
    room = np.empty(n + 8, np.uint64)
    skipped = -(room.ctypes.data // 8) % 8
    return room[skipped : skipped + n]


# Columns with many states, pair by pair


def _spread(found: _Found, at: Sequence[int], n: int) -> _Found:
    """Return what was found of some variables as the figures of n variables, with zeros for the others."""
    information, rows, with_given = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    information[np.ix_(at, at)], rows[np.ix_(at, at)] = found[:2]
    if found[2] is None:
        return information, rows, None
    with_given[at] = found[2]
    return information, rows, with_given


def _fill_wide(found: _Found, table: Table, chosen: Sequence[int], given: int | None, n_jobs: int | None) -> None:
    """Fill in the figures of all pairs in which there is a column with many states."""
    information, rows, with_given = found
    n_states = [v.n_states for v in table.variables]
    classes = [] if given is None else [given]

    def figures(*columns: int) -> tuple[float, float]:
        some = [*classes, *columns]
        return _histogram_information([table.columns[i] for i in some], [n_states[i] for i in some])

    def fill(pair: tuple[int, int]) -> None:
        i, j = pair
        information[i, j], rows[i, j] = information[j, i], rows[j, i] = figures(chosen[i], chosen[j])

    wide = [k for k, i in enumerate(chosen) if n_states[i] > PLANE_STATES]
    narrow = [k for k, i in enumerate(chosen) if 1 <= n_states[i] <= PLANE_STATES]
    map_threads(fill, [(i, j) for i in wide for j in [*narrow, *(k for k in wide if k <= i)]], n_jobs)
    if with_given is not None:
        with_given[wide] = [figures(chosen[i])[0] for i in wide]


def _histogram_information(columns: Sequence[np.ndarray], n_states: Sequence[int]) -> tuple[float, float]:
    """Return the information between the last two columns, given the one before if there is one, and the rows."""
    if is_dense(n_states, len(columns[0])):
        shape = [1] * (3 - len(n_states)) + list(n_states)
        table = joint_table(columns, n_states, None, n_jobs=1).reshape(shape).astype(np.float64)
        sums = [float(n_log_n(table.sum(axis=axes)).sum()) for axes in ((), 2, 1, (1, 2))]
        total = float(table.sum())
    else:
        some = np.flatnonzero(np.logical_and.reduce([codes >= 0 for codes in columns]))
        present, total = [codes[some] for codes in columns], float(len(some))
        *rest, a, b = range(len(columns))
        families = ([*rest, a, b], [*rest, a], [*rest, b], rest)
        sums = [_occurring_sum([present[v] for v in f], [n_states[v] for v in f], total) for f in families]
    cells, of_a, of_b, of_rest = sums
    return (max(0.0, (cells - of_a - of_b + of_rest) / total) if total > 0 else 0.0), total


def _occurring_sum(columns: Sequence[np.ndarray], n_states: Sequence[int], total: float) -> float:
    """Return Σ n log n over the configurations of some columns that occur."""
    if not columns:
        return float(n_log_n(np.array(total)))
    slots, _ = number_configurations(columns, n_states)
    return float(n_log_n(np.bincount(slots).astype(np.float64)).sum())
