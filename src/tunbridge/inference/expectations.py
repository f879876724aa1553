"""Expected counts: how often each cell of each family is expected in rows with missing values.

For a row with evidence e the family of a variable v is in configuration j and state k with probability P(j, k | e).
Summed over the rows, with their weights,

    n_jk = Σ_rows w P(j, k | e),     L = Σ_rows w ln P(e),

which EM, gradient ascent and updates need of incomplete data. The families of barren variables (hidden, with
nothing observed below) are left out: such a row is not informative about their tables.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tunbridge._core.memory import check_memory, memory_limit
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.kernels.compiled import announce, is_compiled
from tunbridge.kernels.inference import elimination, expectations
from tunbridge.kernels.inference.rows import find_components

_MOST_PIECES = 32
_PIECES_ENTRIES = 2**25  # entries of the counts of all pieces together, each of which has its own
_PIECE_WORK, _LEAST_WORK = 5000.0, 20.0  # entries of workspaces that make a piece, and what a component costs at least
_LEAST_MEMORY = 2**25
_BYTES_A_NUMBER = 12.0  # of what is kept of the rows, while the arrays grow
_MANY_ROWS = "Pass fewer rows, or leave out columns with many missing values."
_WIDE_ROW = "Leave out columns with many missing values, or give nodes fewer parents or states."

# Limits of rows that are computed in NumPy while the kernels have not been compiled.
_MOST_CELLS = 20_000  # of the data
_MOST_STATES = 4096  # of one component
_MOST_PLACES = 2_000_000  # cells of all lines


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """Expected counts of rows with missing values.

    Attributes
    ----------
    counts : ndarray
        The expected count of every cell of every table, in the layout of ``FlatNetwork.tables``.
    log_likelihood : float
        Σ w ln P(row), −∞ when some row is impossible; the hidden part that makes it so is not counted.
    """

    counts: np.ndarray
    log_likelihood: float


class IncompleteRows:
    """Rows of data prepared for expected counts under many settings of the tables.

    What is hidden in the rows is found once, and compiled (:mod:`tunbridge.kernels.inference.expectations`).

    Parameters
    ----------
    flat : FlatNetwork
        The network; only its structure is used.
    codes : ndarray of shape (n_variables, n_rows)
        The states, −1 where a value is missing.
    weights : ndarray of shape (n_rows,), optional
        The weight of each row.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Raises
    ------
    MemoryForecastError
        When what is hidden in the rows, or the junction tree of what is hidden in one, would not fit.

    Notes
    -----
    Until the kernels are compiled a few rows are computed in NumPy, which differs in the last bits.
    """

    def __init__(
        self, flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.flat, self.codes, self.weights, self.n_jobs = flat, codes, weights, n_jobs
        check_memory("the rows", 4.0 * codes.size + 8.0 * codes.shape[1], ways_out=_MANY_ROWS)
        shown = np.ones(codes.shape[1]) if weights is None else np.array(weights, np.float64)
        self._few = None if is_compiled(expectations.expect) else _few_rows(flat, codes, shown)
        if self._few is None:
            announce(expectations.expect, "expected counts")
            self._compile(np.ascontiguousarray(codes.T, np.int32), shown)

    def _compile(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Find the hidden components of the rows, and write their programs."""
        flat = self.flat
        limit = max(memory_limit(), _LEAST_MEMORY)
        self._complete = np.zeros(len(flat.tables))
        starts, arena, self._components, n_rows = find_components(
            flat.network, _ranks(flat), rows, weights, limit / _BYTES_A_NUMBER, self._complete
        )
        if n_rows < len(rows):
            share = f"the hidden parts of {len(rows)} rows (forecast from {n_rows} of them)"
            check_memory(share, limit * len(rows) / max(1, n_rows) + 1.0, ways_out=_MANY_ROWS, limit=limit)
        n_tasks = min(n_threads(self.n_jobs), max(1, len(self._components.weights)))
        largest = limit / 8.0 / n_tasks
        self._programs, sizes = expectations.compile_programs(flat.network, starts, arena, largest)
        widest = float(sizes.max(initial=0.0))
        if widest > largest:
            what = "the junction tree of what is hidden in a row"
            check_memory(what, 8.0 * n_tasks * widest, ways_out=_WIDE_ROW, limit=limit)
        self._pieces = self._cut(sizes)

    def _cut(self, sizes: np.ndarray) -> list[tuple[int, int]]:
        """Return the components in pieces of about equal work, whatever the threads; each has counts of its own."""
        starts, arena, _ = self._components
        n_pieces = max(1, min(_MOST_PIECES, _PIECES_ENTRIES // max(1, len(self.flat.tables))))
        work = np.cumsum(sizes[arena[starts[:-1]]] + _LEAST_WORK)
        if not len(work):
            return []
        n_pieces = int(min(n_pieces, 1 + work[-1] // _PIECE_WORK))
        ends = np.unique(np.searchsorted(work, work[-1] * np.arange(1, n_pieces) / n_pieces))
        return list(pairwise([0, *(end for end in ends.tolist() if 0 < end < len(work)), len(work)]))

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the expected counts under these tables, in the layout of ``FlatNetwork.tables``."""
        if self._few is not None:
            return ExpectedCounts(*self._few.expected_counts(tables))
        with np.errstate(divide="ignore"):
            logs = np.log(tables)

        def run(piece: tuple[int, int]) -> tuple[np.ndarray, float]:
            counts = np.zeros(len(tables))
            return counts, expectations.expect(self._programs, self._components, piece, tables, logs, counts)

        used = self._complete > 0.0
        counts, log_likelihood = self._complete.copy(), float(self._complete[used] @ logs[used])
        for part, log_part in map_threads(run, self._pieces, self.n_jobs):
            counts += part
            log_likelihood += log_part
        return ExpectedCounts(counts, log_likelihood)


def _ranks(flat: FlatNetwork) -> np.ndarray:
    """Return when each variable is eliminated, in an order that is good for the whole network."""
    scopes = [[*flat.parents_of(v).tolist(), v] for v in range(flat.n_variables)]
    starts, members = starts_of(map(len, scopes)), np.array([u for scope in scopes for u in scope], np.int64)
    group = np.zeros(flat.n_variables, np.int64)
    _, order, *_ = elimination.find_order(flat.n_states, group, starts, members, elimination.MOST_ORDERS)
    ranks = np.empty(flat.n_variables, np.int64)
    ranks[order] = np.arange(flat.n_variables)
    return ranks


# Few rows, without kernels


class _FewRows:
    """Rows whose hidden parts are written out, for small data while no kernel is compiled.

    Every joint state of every hidden component is written out as a line of cells, one for each table that holds a
    member,

        P(joint state, observed) = Π θ[cells of its line],

    and all lines are computed at once. A second algorithm stays because the kernels cannot run uncompiled (their
    ``py_func`` calls other kernels, which compile): 200 rows of 8 variables with 20 % missing take 17 ms here
    and 0.2 ms an iteration, compiling the kernels of EM 18 s.
    """

    def __init__(
        self, complete: np.ndarray, cells: np.ndarray, lines: np.ndarray, starts: np.ndarray, weights: np.ndarray
    ):
        self._complete, self._cells, self._lines, self._starts, self._weights = complete, cells, lines, starts, weights

    def expected_counts(self, tables: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the expected count of every cell, and the log-likelihood."""
        used = self._complete > 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(tables)
        counts, log_likelihood = self._complete.copy(), float(self._complete[used] @ logs[used])
        if not len(self._starts):
            return counts, log_likelihood
        joint = np.add.reduceat(logs[self._cells], self._lines)
        sizes = np.diff(np.append(self._starts, len(joint)))
        largest = np.maximum.reduceat(joint, self._starts)
        is_possible = largest > -np.inf
        shifted = np.exp(joint - np.repeat(np.where(is_possible, largest, 0.0), sizes))
        totals = np.add.reduceat(shifted, self._starts)
        log_likelihood += float(
            self._weights @ np.where(is_possible, largest + np.log(np.maximum(totals, 1e-300)), -np.inf)
        )
        factors = np.where(is_possible, self._weights / np.where(is_possible, totals, 1.0), 0.0)
        shares = np.repeat(shifted * np.repeat(factors, sizes), np.diff(np.append(self._lines, len(self._cells))))
        counts += np.bincount(self._cells, weights=shares, minlength=len(tables))
        return counts, log_likelihood


def _few_rows(flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray) -> _FewRows | None:
    """Return the rows with their hidden parts written out; None where that would take much memory."""
    if codes.size > _MOST_CELLS:
        return None
    complete, found = np.zeros(len(flat.tables)), defaultdict[tuple[int, ...], float](float)
    for row, weight in zip(codes.T.astype(np.int64), weights.tolist(), strict=True):
        if weight > 0.0:
            for hidden, tables in _components(flat, row):
                bases = [_entry(flat, row, v) for v in tables]
                if hidden:
                    found[(len(hidden), *hidden, *tables, *bases)] += weight
                else:
                    complete[bases] += weight
    blocks, n_places = [], 0
    for key in found:
        members, rest = key[1 : key[0] + 1], key[key[0] + 1 :]
        n_lines = math.prod(int(flat.n_states[v]) for v in members)
        n_places += n_lines * (len(rest) // 2)
        if n_lines > _MOST_STATES or n_places > _MOST_PLACES:
            return None
        blocks.append(_lines(flat, members, rest[: len(rest) // 2], rest[len(rest) // 2 :]))
    return _assembled(complete, blocks, np.array(list(found.values())))


def _assembled(complete: np.ndarray, blocks: list[np.ndarray], weights: np.ndarray) -> _FewRows:
    if not blocks:
        nothing = np.empty(0, np.int64)
        return _FewRows(complete, nothing, nothing, nothing, weights)
    widths = np.concatenate([np.full(len(block), block.shape[1]) for block in blocks])
    sizes = np.array([len(block) for block in blocks])
    cells = np.concatenate([block.ravel() for block in blocks])
    return _FewRows(complete, cells, np.cumsum(widths) - widths, np.cumsum(sizes) - sizes, weights)


def _components(flat: FlatNetwork, row: np.ndarray) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the hidden components of a row with their tables; first no members with the tables that are complete."""
    barren = row < 0
    for v in flat.order[::-1].tolist():
        if not barren[v]:
            barren[flat.parents_of(v)] = False
    groups: dict[int, tuple[set[int], list[int]]] = {}
    complete = []
    for v in np.flatnonzero(~barren).tolist():
        members = {u for u in (*flat.parents_of(v).tolist(), v) if row[u] < 0}
        if not members:
            complete.append(v)
            continue
        tables = [v]
        for group in {id(groups[u]): groups[u] for u in members if u in groups}.values():
            members |= group[0]
            tables += group[1]
        joined = (members, tables)
        groups.update((u, joined) for u in members)
    yield [], complete
    for hidden, tables in {id(group): group for group in groups.values()}.values():
        yield sorted(hidden), sorted(tables)


def _entry(flat: FlatNetwork, row: np.ndarray, v: int) -> int:
    """Return where the table of v is read for the observed states; hidden ones count as the first."""
    j = 0
    for u in (*flat.parents_of(v).tolist(), v):
        j = j * int(flat.n_states[u]) + max(int(row[u]), 0)
    return int(flat.table_start[v]) + j


def _lines(flat: FlatNetwork, hidden: tuple[int, ...], tables: tuple[int, ...], bases: tuple[int, ...]) -> np.ndarray:
    """Return the cells of each joint state: an array of shape (joint states, tables)."""
    states, n_lines = {}, 1
    for v in hidden:
        n_lines *= int(flat.n_states[v])
    left = np.arange(n_lines)
    for v in hidden:
        left, states[v] = np.divmod(left, flat.n_states[v])
    cells = np.empty((n_lines, len(tables)), np.int64)
    for t, (v, base) in enumerate(zip(tables, bases, strict=True)):
        cells[:, t], stride = base, 1
        for u in (v, *flat.parents_of(v).tolist()[::-1]):
            if u in states:
                cells[:, t] += states[u] * stride
            stride *= int(flat.n_states[u])
    return cells
