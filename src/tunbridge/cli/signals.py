"""Ctrl-C and other signals that end the program: soon, with a sentence and an exit code, and without a traceback.

While a verb works, Ctrl-C raises KeyboardInterrupt, so that work that can keep its best result does. Python raises it
between two of its own steps, and a compiler or a long computation may delay it. So the system notifies a thread
(``set_wakeup_fd``), which ends the process if it is still there :data:`PATIENCE` seconds later, and at once when a
second signal comes. Before and after the work the first signal ends the process at once.

The program ends by ``os._exit``: Python's own end takes some tenths of a second, in which a signal would have no
answer.

The exit code is 128 + the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM. This module is imported
before all others and imports next to nothing.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

PATIENCE = 1.5
"""Seconds that the work has to end by itself after a signal."""

_SENTENCES = {"SIGINT": "interrupted.", "SIGTERM": "terminated.", "SIGHUP": "the terminal was closed."}
_ENDING = {getattr(signal, name): text for name, text in _SENTENCES.items() if hasattr(signal, name)}

_received: int | None = None
_is_watched = False
_is_working = False
_is_saving = False
_last_words = threading.RLock()


def listen() -> None:
    """Take over the signals that end the program; those that the caller lets the program ignore stay ignored."""
    global _is_watched
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread of Python gets signals
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _handle)
    sys.unraisablehook = _unraisable
    if os.name == "posix":
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # the pipe is the parent's
        with suppress(RuntimeError):  # no thread can be started
            threading.Thread(target=_watch, args=(reading,), name="signals", daemon=True).start()
            _is_watched = True


@contextmanager
def working() -> Iterator[None]:
    """Let signals raise exceptions here, so that the work can clean up; elsewhere they end the process at once."""
    global _is_working
    _is_working = True
    try:
        yield
    finally:
        _is_working = False


def received() -> int | None:
    """Return the signal that ends the program, if there was one."""
    return _received


def saving() -> None:
    """Give the work the time that it needs from here on, to save its best result; a second signal ends it at once."""
    global _is_saving
    _is_saving = True


def leave(code: int) -> NoReturn:
    """End the process: with what Python does at its end, except waiting for threads and freeing memory."""
    with suppress(Exception):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if _received is None else 128 + _received)


def ended_by(number: int) -> str:
    """Return the sentence for a signal."""
    return _ENDING[signal.Signals(number)]


def _handle(number: int, frame: Any) -> None:
    global _received
    is_second, _received = _received is not None, number
    if is_second and _is_watched:
        return  # the thread ends the process
    if is_second or not _is_working:
        _end(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _watch(reading: int) -> None:
    """Wait for a signal, and end the process if it is still there some time later, or when another one comes."""
    number = _next(reading)
    select.select([reading], [], [], PATIENCE)
    if _is_saving:
        number = _next(reading)
    _end(number)


def _next(reading: int) -> int:
    """Return the next signal that ends the program; others are let pass."""
    while (number := os.read(reading, 1)[0]) not in _ENDING:
        pass
    return number


def _end(number: int) -> NoReturn:
    """End the process without waiting for anything."""
    if not _last_words.acquire(blocking=False):
        while True:  # another thread ends the process
            time.sleep(1.0)
    files = sys.modules.get("tunbridge._core.replacing")
    if files is not None and hasattr(files, "discard_unfinished"):
        files.discard_unfinished()
    with suppress(OSError):
        shown = "\r\x1b[2K\x1b[?25h" if os.isatty(2) else ""  # no progress line, and the cursor
        os.write(2, f"{shown}tunbridge: {ended_by(number)}\n".encode())
    os._exit(128 + number)


def _unraisable(unraisable: Any) -> None:
    """Say nothing of an interruption that came where Python cannot raise it."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(unraisable)
