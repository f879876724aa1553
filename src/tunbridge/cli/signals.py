"""Ctrl-C and other signals that end the program: soon, with a sentence and an exit code, and without a traceback.

While a verb works, Ctrl-C raises KeyboardInterrupt, so that work that can keep its best result does. Python raises it
between two of its own steps, and a compiler or a long computation may delay it or lose it. So the system notifies a
thread (``set_wakeup_fd``), which ends the process if it is still there :data:`PATIENCE` seconds later. Before and after
the work, and at the second signal, the process ends at once.

The exit code is 128 + the number of the signal, as in shells: 130 for Ctrl-C, 143 for SIGTERM. This module is imported
before all others and imports next to nothing.
"""

from __future__ import annotations

import os
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
_is_working = False
_is_saving = False


def listen() -> None:
    """Take over the signals that end the program; those that the caller lets the program ignore stay ignored."""
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
        with suppress(RuntimeError):  # no thread can be started
            threading.Thread(target=_watch, args=(reading,), name="signals", daemon=True).start()


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


def leave() -> None:
    """End the process after a signal; Python would wait for threads, and may end itself by the signal again."""
    if _received is not None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(128 + _received)


def ended_by(number: int) -> str:
    """Return the sentence for a signal."""
    return _ENDING[signal.Signals(number)]


def _handle(number: int, frame: Any) -> None:
    global _received
    is_second, _received = _received is not None, number
    if is_second or not _is_working:
        _end(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _watch(reading: int) -> None:
    """Wait for a signal, and end the process if it is still there some time later."""
    while True:
        number = os.read(reading, 1)[0]
        if number in _ENDING:
            time.sleep(PATIENCE)
            if not _is_saving:
                _end(number)


def _end(number: int) -> NoReturn:
    """End the process without waiting for anything."""
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
