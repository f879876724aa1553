"""A small thread pool over kernels that release the interpreter lock.

Work is cut into pieces by its own size, never by the number of threads, and results come back in the order of
the pieces: so sums of floats, too, are equal whatever the number of threads.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tunbridge.errors import DataError

T = TypeVar("T")
R = TypeVar("R")

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
        raise DataError(f"n_jobs must be a whole number other than 0, or None; got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def map_threads(function: Callable[[T], R], pieces: Iterable[T], n_jobs: int | None = None) -> list[R]:
    """Return ``[function(piece) for piece in pieces]``, computed by several threads.

    The error of the first piece that fails is raised, and pieces that have not begun are given up.
    """
    work = list(pieces)
    workers = min(n_threads(n_jobs), len(work))
    if workers <= 1:
        return [function(piece) for piece in work]
    size = -(-len(work) // (_RUNS * workers))  # many small pieces are handed out in runs
    with ThreadPoolExecutor(workers) as pool:
        runs = pool.map(lambda run: [function(piece) for piece in work[run[0] : run[1]]], row_pieces(len(work), size))
        return [result for run in runs for result in run]


def row_pieces(n_rows: int, size: int) -> list[tuple[int, int]]:
    """Return the (start, stop) of consecutive pieces of at most ``size`` rows.

    Examples
    --------
    >>> row_pieces(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
