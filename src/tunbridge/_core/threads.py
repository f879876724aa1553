"""A small thread pool over kernels that release the interpreter lock.

Work that sums floats is divided into pieces by its size, not by the number of threads, and results come back in the
order of the pieces, so they do not depend on the number of threads.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

from tunbridge.errors import DataError

T = TypeVar("T")
R = TypeVar("R")

_CELLS = 2**22
_RUNS = 32
"""Runs of pieces a thread gets: enough to even out long and short ones, few enough to cost nothing."""


def n_threads(n_jobs: int | None = None) -> int:
    """Return how many threads to use: all available cores, or as many as ``n_jobs`` says.

    As in scikit-learn, −1 means every core and −2 all but one; ``None`` is every core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise DataError(f"n_jobs must be an integer other than 0, or None; got {n_jobs!r}.", parameter="n_jobs")
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def map_threads(function: Callable[[T], R], pieces: Iterable[T], n_jobs: int | None = None) -> list[R]:
    """Return ``[function(piece) for piece in pieces]``, computed by several threads, of which the caller's is one.

    The error of the first piece that fails is raised, and pieces that have not begun are given up. Pieces may call
    ``map_threads`` themselves: a helper that has not begun is not waited for.
    """
    work = list(pieces)
    workers = min(n_threads(n_jobs), len(work))
    if workers <= 1:
        return [function(piece) for piece in work]
    shared = _Work(function, work, max(1, len(work) // (_RUNS * workers)))
    helpers = [_pool(workers - 1).submit(shared.drain) for _ in range(workers - 1)]
    try:
        shared.drain()
    except BaseException as error:  # an interruption between two pieces
        shared.errors[-1] = error
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if shared.errors:
        raise shared.errors[min(shared.errors)]
    return shared.results


class _Work(Generic[T, R]):
    """Pieces that several threads take from one queue, in runs, so that many small ones cost little to hand out."""

    def __init__(self, function: Callable[[T], R], work: list[T], size: int) -> None:
        self.results: list[R] = [None] * len(work)  # type: ignore[list-item]
        self.errors: dict[int, BaseException] = {}
        self._function, self._work = function, work
        self._runs = iter(row_pieces(len(work), size))  # a list's iterator gives each run to one thread only

    def drain(self) -> None:
        """Work until the queue is empty or a piece has failed."""
        for start, stop in self._runs:
            for i in range(start, stop):
                if self.errors:
                    return
                try:
                    self.results[i] = self._function(self._work[i])
                except BaseException as error:
                    self.errors[i] = error
                    return


@cache
def _pool(n_helpers: int) -> ThreadPoolExecutor:
    """Return the pool of so many threads, which live as long as the process: to start one would take too long."""
    return ThreadPoolExecutor(n_helpers, thread_name_prefix="tunbridge")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def row_pieces(n_rows: int, size: int, width: int = 1) -> list[tuple[int, int]]:
    """Return the (start, stop) of consecutive pieces of at most ``size`` rows, fewer where rows are wide.

    Examples
    --------
    >>> row_pieces(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    size = min(size, 1 << max(0, (_CELLS // max(1, width)).bit_length() - 1))  # a power of two divides other pieces
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
