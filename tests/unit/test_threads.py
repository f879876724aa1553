from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest

from tunbridge._core.threads import _pool, map_rows, map_threads, n_threads, replacing_state, row_pieces
from tunbridge.errors import DataError


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(4), raising=False)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 4), (1, 1), (np.int64(3), 3), (8, 8), (-1, 4), (-2, 3), (-4, 1), (-9, 1)]
)
def test_n_threads(n_jobs: int | None, threads: int) -> None:
    assert n_threads(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2", "all", float("nan"), [2]])
def test_n_threads_refuses_what_is_no_number_of_threads(n_jobs: object) -> None:
    with pytest.raises(DataError) as error:
        n_threads(n_jobs)  # type: ignore[arg-type]
    assert str(error.value) == f"n_jobs must be an integer other than 0, or None; got {n_jobs!r}."


@pytest.mark.parametrize("n_jobs", [1, 2, 7, None])
def test_results_come_in_the_order_of_the_pieces(n_jobs: int | None) -> None:
    def slow_first(i: int) -> int:
        time.sleep(0.01 * (i == 0))
        return i * i

    assert map_threads(slow_first, iter(range(20)), n_jobs) == [i * i for i in range(20)]


def test_several_threads_work_at_once() -> None:
    both = threading.Barrier(2, timeout=10)
    assert map_threads(lambda _: both.wait() >= 0, range(2), 2) == [True, True]


def test_no_pieces_no_threads() -> None:
    assert map_threads(lambda piece: piece, [], 4) == []


def test_the_first_error_is_raised_and_the_rest_given_up() -> None:
    begun = []

    def fail(i: int) -> None:
        begun.append(i)
        time.sleep(0.005)
        raise ValueError(f"piece {i}")

    with pytest.raises(ValueError, match="piece 0"):
        map_threads(fail, range(1000), 2)
    assert len(begun) < 1000


def test_pieces_may_use_threads_themselves() -> None:
    nested = map_threads(lambda i: sum(map_threads(lambda j: i * j, range(10), 3)), range(40), 3)
    assert nested == [45 * i for i in range(40)]


def test_an_interruption_of_the_caller_stops_the_rest() -> None:
    begun = []

    def interrupt(i: int) -> None:
        begun.append(i)
        time.sleep(0.005)
        if i == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_threads(interrupt, range(1000), 2)
    assert len(begun) < 1000


def test_an_interruption_does_not_wait_for_helpers() -> None:
    """One of them may be compiling a kernel."""
    let_go, main = threading.Event(), threading.current_thread()

    def work(i: int) -> bool:
        if threading.current_thread() is not main:
            return let_go.wait(60)
        while not any(t.name.startswith("tunbridge") for t in threading.enumerate()):
            time.sleep(0.001)
        time.sleep(0.05)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_threads(work, range(20), 2)
    assert not let_go.is_set()
    let_go.set()


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 1000, 20_001])
def test_all_rows_are_done_once_in_runs_that_grow_to_the_most(n_rows: int, n_jobs: int) -> None:
    done, sizes = np.zeros(n_rows, int), []

    def run(start: int, stop: int) -> None:
        done[start:stop] += 1
        sizes.append(stop - start)

    map_rows(run, n_rows, n_jobs, most=1024)
    assert (done == 1).all()
    assert max(sizes, default=0) <= 1024
    assert n_rows < 20_000 or max(sizes) == 1024


def test_rows_that_take_long_come_in_short_runs_and_an_error_ends_all() -> None:
    sizes = []

    def run(start: int, stop: int) -> None:
        sizes.append(stop - start)
        time.sleep(0.002 * (stop - start))
        if start > 300:
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        map_rows(run, 100_000, 2, most=4096)
    assert max(sizes) <= 128
    assert len(sizes) < 50


def test_where_no_thread_can_be_started_the_caller_works_alone(monkeypatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    _pool.cache_clear()
    monkeypatch.setattr("threading.Thread.start", refuse)
    assert map_threads(abs, range(-100, 0), 3) == list(range(100, 0, -1))
    _pool.cache_clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_lock_held_by_another_thread_is_free_after_a_fork() -> None:
    class Learner:
        learned = 0

    learner, holds, done = Learner(), threading.Event(), threading.Event()

    def learn() -> None:
        with replacing_state(learner) as changed:
            changed.learned = 1
            holds.set()
            done.wait()

    thread = threading.Thread(target=learn)
    thread.start()
    holds.wait()
    child = os.fork()
    if child == 0:
        with replacing_state(learner) as changed:
            changed.learned = 2
        os._exit(learner.learned)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert learner.learned == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_after_a_fork() -> None:
    assert map_threads(abs, range(4), 2) == [0, 1, 2, 3]
    child = os.fork()
    if child == 0:
        os._exit(0 if map_threads(abs, range(4), 2) == [0, 1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    ("n_rows", "size", "pieces"),
    [(0, 3, []), (3, 3, [(0, 3)]), (4, 3, [(0, 3), (3, 4)]), (2, 1, [(0, 1), (1, 2)])],
)
def test_row_pieces(n_rows: int, size: int, pieces: list) -> None:
    assert row_pieces(n_rows, size) == pieces
