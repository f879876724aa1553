"""Expected counts: how often each cell of each family is to be expected in rows with holes.

For a row with evidence e the family of a variable v is in configuration j and state k with probability P(j, k | e).
Summed over the rows, with their weights,

    n_jk = Σ_rows w P(j, k | e),     L = Σ_rows w ln P(e),

which is what EM, gradient ascent and updating read of incomplete data. The families of barren variables (hidden, with
nothing observed below) are left out: such a row tells nothing about their tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tunbridge._memory import check_memory, memory_limit
from tunbridge._threads import map_threads, n_threads
from tunbridge.inference.few_rows import few_rows
from tunbridge.inference.flat import FlatNetwork, starts_of
from tunbridge.kernels import component_programs, components, elimination, expectations
from tunbridge.kernels.compiled import announce, is_compiled

_MOST_PIECES = 32
_PIECES_ENTRIES = 2**25  # entries of the counts of all pieces together, each of which has its own
_PIECE_WORK, _LEAST_WORK = 5000.0, 20.0  # entries of workspaces that make a piece, and what a component costs at least
_LEAST_MEMORY = 2**25
_BYTES_A_NUMBER = 12.0  # of what is kept of the rows, while the arrays grow
_MANY_ROWS = "Give fewer rows, or leave columns with many holes out."
_WIDE_ROW = "Leave columns with many holes out, or give nodes fewer parents or states."


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """What rows with holes are expected to hold.

    Attributes
    ----------
    counts : ndarray
        The expected count of every cell of every table, laid out like ``FlatNetwork.tables``.
    log_likelihood : float
        Σ w ln P(row), −∞ when some row is impossible; the hidden part that makes it so is counted nowhere.
    """

    counts: np.ndarray
    log_likelihood: float


class IncompleteRows:
    """Rows of data prepared for expected counts under many settings of the tables.

    What is hidden in the rows is found, and compiled, once (:mod:`tunbridge.kernels.components`).

    Parameters
    ----------
    flat : FlatNetwork
        The network; only its structure is looked at.
    codes : ndarray of shape (n_variables, n_rows)
        The states, −1 where a cell is missing.
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
    Until the kernels are compiled a few rows are computed in plain NumPy, which differs in the last bits.
    """

    def __init__(
        self, flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.flat, self.codes, self.weights, self.n_jobs = flat, codes, weights, n_jobs
        check_memory("the rows", 4.0 * codes.size + 8.0 * codes.shape[1], ways_out=_MANY_ROWS)
        shown = np.ones(codes.shape[1]) if weights is None else np.array(weights, np.float64)
        self._few = None if is_compiled(expectations.expect) else few_rows(flat, codes, shown)
        if self._few is None:
            announce(expectations.expect, "expected counts")
            self._compile(np.ascontiguousarray(codes.T, np.int32), shown)

    def _compile(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Find the hidden components of the rows, and write their programs."""
        flat, (child_start, children) = self.flat, _children(self.flat)
        limit = max(memory_limit(), _LEAST_MEMORY)
        self._complete = np.zeros(len(flat.tables))
        starts, arena, *self._components, n_rows = components.find_components(
            flat.n_states, flat.order, flat.parent_start, flat.parents, flat.table_start, child_start, children,
            _ranks(flat), rows, weights, limit / _BYTES_A_NUMBER, self._complete,
        )  # fmt: skip
        if n_rows < len(rows):
            share = f"the hidden parts of {len(rows)} rows (forecast from {n_rows} of them)"
            check_memory(share, limit * len(rows) / max(1, n_rows) + 1.0, ways_out=_MANY_ROWS, limit=limit)
        n_tasks = min(n_threads(self.n_jobs), max(1, len(self._components[2])))
        largest = limit / 8.0 / n_tasks
        *self._programs, sizes = component_programs.compile_programs(
            flat.n_states, flat.parent_start, flat.parents, starts, arena, largest
        )
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
        """Return the expected counts under these tables, laid out like ``FlatNetwork.tables``."""
        if self._few is not None:
            return ExpectedCounts(*self._few.expected_counts(tables))

        (code_starts, code), (starts, arena, weights) = self._programs, self._components
        with np.errstate(divide="ignore"):
            logs = np.log(tables)

        def run(piece: tuple[int, int]) -> tuple[np.ndarray, float]:
            counts, (first, last) = np.zeros(len(tables)), piece
            log_sum = expectations.expect(code_starts, code, starts, arena, weights, first, last, tables, logs, counts)
            return counts, log_sum

        used = self._complete > 0.0
        counts, log_likelihood = self._complete.copy(), float(self._complete[used] @ logs[used])
        for part, log_part in map_threads(run, self._pieces, self.n_jobs):
            counts += part
            log_likelihood += log_part
        return ExpectedCounts(counts, log_likelihood)


def _children(flat: FlatNetwork) -> tuple[np.ndarray, np.ndarray]:
    """Return the children of all variables end to end, and where those of each begin."""
    owner = np.repeat(np.arange(flat.n_variables), np.diff(flat.parent_start))
    by_parent = np.argsort(flat.parents, kind="stable")
    return starts_of(np.bincount(flat.parents, minlength=flat.n_variables).tolist()), owner[by_parent]


def _ranks(flat: FlatNetwork) -> np.ndarray:
    """Return when each variable is eliminated, in an order that is good for the whole network."""
    scopes = [[*flat.parents_of(v).tolist(), v] for v in range(flat.n_variables)]
    starts, members = starts_of(map(len, scopes)), np.array([u for scope in scopes for u in scope], np.int64)
    group = np.zeros(flat.n_variables, np.int64)
    _, order, *_ = elimination.find_order(flat.n_states, group, starts, members, elimination.MOST_ORDERS)
    ranks = np.empty(flat.n_variables, np.int64)
    ranks[order] = np.arange(flat.n_variables)
    return ranks
