"""Expected counts: how often each cell of each family is expected in rows with missing values.

For a row with evidence e the family of a variable v is in configuration j and state k with probability P(j, k | e).
Summed over the rows, with their weights,

    n_jk = Σ_rows w P(j, k | e),     L = Σ_rows w ln P(e),

which EM, gradient ascent and updates need of incomplete data. The families of barren variables (hidden, with
nothing observed below) are left out: such a row is not informative about their tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tunbridge._core.memory import check_memory, memory_limit
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.inference.flat import FlatNetwork
from tunbridge.kernels.compiled import announce, is_compiled, itself, plain
from tunbridge.kernels.inference import elimination, expectations
from tunbridge.kernels.inference.elimination import MOST_ORDERS
from tunbridge.kernels.inference.rows import Components, find_components

_MOST_PIECES = 32
_PIECES_ENTRIES = 2**25  # entries of the counts of all pieces together, each of which has its own
_PIECE_WORK, _LEAST_WORK = 5000.0, 20.0  # entries of workspaces that make a piece, and what a component costs at least
_LEAST_MEMORY = 2**25
_BYTES_A_NUMBER = 12.0  # of what is kept of the rows, while the arrays grow
_MANY_ROWS = "Pass fewer rows, or leave out columns with many missing values."
_WIDE_ROW = "Leave out columns with many missing values, or give nodes fewer parents or states."

# What is computed without compiling kernels, which takes 18 s: cells of the data, variables, entries of workspaces.
_FEW_CELLS, _FEW_VARIABLES, _FEW_ENTRIES = 20_000, 80, 50_000


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
    """

    def __init__(
        self, flat: FlatNetwork, codes: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = None
    ) -> None:
        self.flat, self.codes, self.weights, self.n_jobs = flat, codes, weights, n_jobs
        check_memory("the rows", 4.0 * codes.size + 8.0 * codes.shape[1], ways_out=_MANY_ROWS)
        shown = np.ones(codes.shape[1]) if weights is None else np.array(weights, np.float64)
        self._compile(np.ascontiguousarray(codes.T, np.int32), shown)

    def _compile(self, rows: np.ndarray, weights: np.ndarray) -> None:
        """Find the hidden components of the rows, and write their programs."""
        flat, network, n = self.flat, self.flat.network, self.flat.n_variables
        scopes = flat.parent_start + np.arange(n + 1), np.insert(flat.parents, flat.parent_start[1:], np.arange(n))
        limit = max(memory_limit(), _LEAST_MEMORY)
        is_small = rows.size <= _FEW_CELLS and n <= _FEW_VARIABLES
        use = plain if is_small and not is_compiled(expectations.expect) else itself
        n_orders = MOST_ORDERS if use is itself else 1  # in Python the first is good enough
        if use is itself:
            announce(expectations.expect, "expected counts")
        _, order, *_ = use(elimination.find_order)(flat.n_states, np.zeros(n, np.int64), *scopes, n_orders)
        self._complete = np.zeros(len(flat.tables))
        starts, arena, components, n_rows = use(find_components)(
            network, np.argsort(order), rows, weights, limit / _BYTES_A_NUMBER, self._complete
        )
        self._components = Components(*components)
        if n_rows < len(rows):
            share = f"the hidden parts of {len(rows)} rows (forecast from {n_rows} of them)"
            check_memory(share, limit * len(rows) / max(1, n_rows) + 1.0, ways_out=_MANY_ROWS, limit=limit)
        n_tasks = min(n_threads(self.n_jobs), max(1, len(self._components.weights)))
        largest = limit / 8.0 / n_tasks
        programs, sizes = use(expectations.compile_programs)(network, starts, arena, largest)
        self._programs = expectations.Programs(*programs)
        widest = float(sizes.max(initial=0.0))
        if widest > largest:
            what = "the junction tree of what is hidden in a row"
            check_memory(what, 8.0 * n_tasks * widest, ways_out=_WIDE_ROW, limit=limit)
        self._sizes = sizes[self._components.arena[self._components.starts[:-1]]]
        self._expect = use(expectations.expect) if self._sizes.sum() <= _FEW_ENTRIES else expectations.expect

    @cached_property
    def _pieces(self) -> list[tuple[int, int]]:
        """The components in pieces of about equal work, whatever the threads; each has counts of its own."""
        n_pieces = max(1, min(_MOST_PIECES, _PIECES_ENTRIES // max(1, len(self.flat.tables))))
        work = np.cumsum(self._sizes + _LEAST_WORK)
        if not len(work):
            return []
        n_pieces = int(min(n_pieces, 1 + work[-1] // _PIECE_WORK))
        ends = np.unique(np.searchsorted(work, work[-1] * np.arange(1, n_pieces) / n_pieces))
        return list(pairwise([0, *(end for end in ends.tolist() if 0 < end < len(work)), len(work)]))

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        """Return the expected counts under these tables, in the layout of ``FlatNetwork.tables``."""
        with np.errstate(divide="ignore"):
            logs = np.log(tables)

        def run(piece: tuple[int, int]) -> tuple[np.ndarray, float]:
            counts = np.zeros(len(tables))
            return counts, float(self._expect(self._programs, self._components, piece, tables, logs, counts))

        used = self._complete > 0.0
        counts, log_likelihood = self._complete.copy(), float(self._complete[used] @ logs[used])
        for part, log_part in map_threads(run, self._pieces, self.n_jobs):
            counts += part
            log_likelihood += log_part
        return ExpectedCounts(counts, log_likelihood)
