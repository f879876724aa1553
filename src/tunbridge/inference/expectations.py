"""Expected counts: how often each cell of each family is expected in rows with missing values.

For a row with evidence e the family of a variable v is in configuration j and state k with probability P(j, k | e).
Summed over the rows, with their weights,

    n_jk = Σ_rows w P(j, k | e),     L = Σ_rows w ln P(e),

which EM, gradient ascent and updates need of incomplete data. The families of barren variables (hidden, with
nothing observed below) are left out: such a row is not informative about their tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from tunbridge._core.memory import check_memory, memory_limit
from tunbridge._core.threads import map_threads, n_threads
from tunbridge.inference.flat import FlatNetwork
from tunbridge.inference.tree import find_order
from tunbridge.kernels.beside import compile_beside
from tunbridge.kernels.compiled import announce, is_compiled, itself, plain
from tunbridge.kernels.inference import expectations
from tunbridge.kernels.inference.elimination import MOST_ORDERS
from tunbridge.kernels.inference.expectations import Programs, Workspace
from tunbridge.kernels.inference.rows import PARENTS, Components, Found, Network, Sequences, find_components

_MOST_PIECES = 32
_PIECES_ENTRIES = 2**25  # entries of the counts of all pieces together, each of which has its own
_PIECE_WORK, _LEAST_WORK = 5000.0, 20.0  # entries of workspaces that make a piece, and what a component costs at least
_LEAST_MEMORY = 2**25
_BYTES_A_NUMBER = 12.0  # of what is kept of the rows, while the arrays grow
_MANY_ROWS = "Pass fewer rows, or leave out columns with many missing values."
_WIDE_ROW = "Leave out columns with many missing values, or give nodes fewer parents or states."

_FEW = 256  # sequences for which there is room at first

# What is computed without compiling kernels: cells of the data, variables, entries of workspaces.
_FEW_CELLS, _FEW_VARIABLES, _FEW_ENTRIES = 20_000, 80, 50_000

_INTEGERS, _NUMBERS = np.zeros(1, np.int64), np.zeros(1)
_EXPECTED = (
    Programs(_INTEGERS, _INTEGERS), Components(_INTEGERS, np.zeros(1, np.int32), _NUMBERS), (0, 1),
    _NUMBERS, _NUMBERS, _NUMBERS,
)  # fmt: skip
"""Arguments of the types that ``expect`` is called with."""


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
        flat, n = self.flat, self.flat.n_variables
        limit = max(memory_limit(), _LEAST_MEMORY)
        is_small = rows.size <= _FEW_CELLS and n <= _FEW_VARIABLES
        use = plain if is_small and not is_compiled(expectations.expect) else itself
        if use is itself:
            announce(expectations.expect, "expected counts", 9)
            compile_beside((expectations.expect, _EXPECTED))
        starts = flat.parent_start + np.arange(n + 1)
        scopes = np.insert(flat.parents, flat.parent_start[1:], np.arange(n))
        order = find_order(flat.n_states, np.zeros(n, np.int64), starts, scopes, MOST_ORDERS).order
        self._complete = np.zeros(len(flat.tables))
        found = self._find(use(find_components), np.argsort(order), rows, weights, limit)
        self._components = Components(found.components.starts, found.components.arena, found.weights)
        n_tasks = min(n_threads(self.n_jobs), max(1, len(found.weights)))
        largest = limit / 8.0 / n_tasks
        self._programs, sizes = _programs(use(expectations.compile_programs), flat.network, found.groups, largest)
        widest = float(sizes.max(initial=0.0))
        if widest > largest:
            what = "the junction tree of what is hidden in a row"
            check_memory(what, 8.0 * n_tasks * widest, ways_out=_WIDE_ROW, limit=limit)
        self._sizes = sizes[self._components.arena[self._components.starts[:-1]]]
        self._expect = use(expectations.expect) if self._sizes.sum() <= _FEW_ENTRIES else expectations.expect

    def _find(
        self, find: Callable[..., None], rank: np.ndarray, rows: np.ndarray, weights: np.ndarray, limit: float
    ) -> Found:
        """Return the hidden components of the rows; the arrays grow while they are found."""
        n, done = self.flat.n_variables, np.zeros(3, np.int64)
        found = Found(_sequences(_FEW, 3 * n), _sequences(_FEW, 2 * n), np.empty(_FEW))
        while True:
            find(self.flat.network, rank, rows, weights, found, self._complete, done)
            n_groups, n_components, n_rows = done.tolist()
            if n_rows == len(rows):
                return Found(
                    _first(found.groups, n_groups),
                    _first(found.components, n_components),
                    found.weights[:n_components].copy(),
                )
            n_entries = found.groups.starts[n_groups] + found.components.starts[n_components] + 4 * n_components
            if _BYTES_A_NUMBER * n_entries > limit:
                share = f"the hidden parts of {len(rows)} rows (forecast from {n_rows} of them)"
                check_memory(share, limit * len(rows) / max(1, n_rows) + 1.0, ways_out=_MANY_ROWS, limit=limit)
            found = Found(
                _grown(found.groups, n_groups, n, 3 * n),
                _grown(found.components, n_components, n, 2 * n),
                np.append(found.weights[:n_components], np.empty(n_components + n)),
            )

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


def _sequences(n: int, n_entries: int) -> Sequences:
    """Return room for n sequences of so many entries in all."""
    slots = np.full(1 << (2 * n - 1).bit_length(), -1, np.int64)
    return Sequences(slots, np.empty(n, np.int64), np.zeros(n + 1, np.int64), np.empty(n_entries, np.int32))


def _grown(kept: Sequences, n: int, n_more: int, n_entries: int) -> Sequences:
    """Return the first n sequences with twice the room, and for so many more at least."""
    end = int(kept.starts[n])
    larger = _sequences(2 * n + n_more, 2 * end + n_entries)
    larger.hashes[:n], larger.starts[: n + 1], larger.arena[:end] = (
        kept.hashes[:n],
        kept.starts[: n + 1],
        kept.arena[:end],
    )
    return larger


def _first(kept: Sequences, n: int) -> Sequences:
    """Return the first n sequences without room for more."""
    end = int(kept.starts[n])
    return Sequences(kept.slots[:0], kept.hashes[:0], kept.starts[: n + 1].copy(), kept.arena[:end].copy())


def _programs(
    compile_programs: Callable[..., int], network: Network, groups: Sequences, largest: float
) -> tuple[Programs, np.ndarray]:
    """Return the programs of all groups of components, and the entries of their workspaces."""
    n_groups, n = len(groups.starts) - 1, len(network.variables) - 1
    n_members = np.flatnonzero(groups.arena == -1) - groups.starts[:-1]
    m, n_tables = int(n_members.max(initial=1)), int((np.diff(groups.starts) - n_members).max(initial=1))
    widest = int(np.diff(network.variables[:, PARENTS]).max(initial=0)) + 1
    work = Workspace(
        np.full(n, -1, np.int64), np.empty((m, m), np.uint8), np.empty((4, m), np.int64), np.empty((4, m), np.int64),
        np.empty((2, m)), np.empty((2, n_tables), np.int64), np.empty((2, n_tables * widest), np.int64),
    )  # fmt: skip
    programs, sizes = Programs(np.zeros(n_groups + 1, np.int64), np.empty(64 * _FEW, np.int64)), np.empty(n_groups)
    done = compile_programs(network, groups, work, largest, programs, sizes, 0)
    while done < n_groups:
        programs = Programs(programs.starts, np.append(programs.code, np.empty_like(programs.code)))
        done = compile_programs(network, groups, work, largest, programs, sizes, done)
    return programs._replace(code=programs.code[: programs.starts[-1]].copy()), sizes
