"""A small thread pool over kernels that release the interpreter lock.

Work that sums floats is divided into pieces by its size, not by the number of threads, and results come back in the
order of the pieces, so they do not depend on the number of threads.

Objects that learn may be shared by threads, too. :func:`replacing_state` lets one of them learn at a time, on a copy
whose state takes the place of the old one at once; :func:`at_once` lets a method that reads see one state only.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, wraps
from threading import Lock, RLock
from time import monotonic
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from tunbridge.errors import DataError

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

_AT_A_TIME = 0.1  # seconds
_FIRST_ROWS = 64
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
    ``map_threads`` themselves: a helper that has not begun is not waited for. After an interruption none is waited for:
    one may be busy with the compiler for many seconds.
    """
    work = list(pieces)
    workers = min(n_threads(n_jobs), len(work))
    if workers <= 1:
        return [function(piece) for piece in work]
    shared = _Work(function, work, max(1, len(work) // (_RUNS * workers)))
    helpers: list[Future[None]] = []
    try:
        with suppress(RuntimeError):  # no further thread can be started: the caller's does the work
            for _ in range(workers - 1):
                helpers.append(_pool(workers - 1).submit(shared.drain))
        shared.drain()
    except BaseException as error:  # an interruption between two pieces
        shared.errors[-1] = error
    for failure in list(shared.errors.values()):
        if not isinstance(failure, Exception):
            raise failure
    for helper in helpers:
        if not helper.cancel():
            helper.result()
    if shared.errors:
        raise shared.errors[min(shared.errors)]
    return shared.results


def map_rows(function: Callable[[int, int], None], n_rows: int, n_jobs: int | None = None, *, most: int) -> None:
    """Call ``function(start, stop)`` for runs of at most so many rows until all are done, by several threads.

    For rows that may take a microsecond or a second each, and whose results do not depend on each other: runs are made
    as long as fits into :data:`_AT_A_TIME`, so that an interruption is answered soon.
    """
    next_row, lock = 0, Lock()

    def taken(size: int) -> tuple[int, int]:
        nonlocal next_row
        with lock:
            start, next_row = next_row, min(next_row + size, n_rows)
            return start, next_row

    def work(_: int) -> None:
        size = min(most, _FIRST_ROWS)
        try:
            while (run := taken(size))[0] < run[1]:
                begun = monotonic()
                function(*run)
                fitting = size * _AT_A_TIME / max(monotonic() - begun, 1e-9)
                size = max(1, min(most, 2 * size, int(fitting)))
        except BaseException:
            taken(n_rows)  # nothing is left for the other threads
            raise

    map_threads(work, range(max(1, min(n_threads(n_jobs), n_rows // _FIRST_ROWS))), n_jobs)


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


def row_pieces(n_rows: int, size: int, width: int = 1) -> list[tuple[int, int]]:
    """Return the (start, stop) of consecutive pieces of at most ``size`` rows, fewer where rows are wide.

    Examples
    --------
    >>> row_pieces(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    size = min(size, 1 << max(0, (_CELLS // max(1, width)).bit_length() - 1))  # a power of two divides other pieces
    return [(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


# Objects that several threads share


class _Locks:
    """A lock for each object that learns: beside the object, so that copies, pickles and files do not have it."""

    def __init__(self) -> None:
        self._own: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._all = Lock()

    def of(self, owner: object) -> Any:
        """Return the lock of an object."""
        with self._all:
            return self._own.setdefault(owner, RLock())


_locks = _Locks()


def lock_of(owner: object) -> Any:
    """Return the lock of an object, which a thread may take again while it holds it."""
    return _locks.of(owner)


@contextmanager
def replacing_state(owner: T) -> Iterator[T]:
    """Yield a copy of an object to change; its state becomes that of the object in the end, at once, or not at all.

    One thread at a time gets a copy; others wait. An error or an interruption leaves the object as it was.
    """
    with lock_of(owner):
        changed: T = sharing(owner)
        changed.__dict__ = dict(owner.__dict__)
        yield changed
        owner.__dict__ = changed.__dict__


def at_once(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """Make a method see one state of its object, also while :func:`replacing_state` replaces it in another thread."""

    @wraps(method)
    def run(self: T, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(sharing(self), *args, **kwargs)

    return run


def sharing(owner: Any, kind: type | None = None) -> Any:
    """Return an object, of another class if wanted, with the state that another one has now.

    It keeps that state when the other one is changed by :func:`replacing_state`.
    """
    kind = type(owner) if kind is None else kind
    other: Any = object.__new__(kind)
    other.__dict__ = owner.__dict__
    return other


def _after_fork() -> None:
    """Forget threads, which do not survive a fork, and locks that they may have held."""
    global _locks
    _pool.cache_clear()
    _locks = _Locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
