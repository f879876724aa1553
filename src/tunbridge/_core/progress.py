"""Progress of long work: reported to the caller's function, or shown on one line of a terminal or notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

from tunbridge._core.check import shortened
from tunbridge.errors import DataError

Report = Callable[[str, float], None]
"""Called with a short text about the current work and a number: the score so far, or the share that is done."""

Progress = Report | Literal[False] | None
"""A function to call with progress, False for none, or None for a line in a terminal or notebook."""

_FIRST_SECONDS, _SECONDS_BETWEEN = 1.0, 0.1
_WIDTH = 79


@contextmanager
def watched(progress: Progress, line: Callable[[str, float], str], number: str) -> Iterator[Report | None]:
    """Yield the function to report progress to: the caller's, one that writes a line for people, or None.

    Parameters
    ----------
    progress : callable, False or None
        As the user gave it.
    line : callable
        What people read for a text and a number.
    number : str
        What the number is, for the error message.
    """
    if progress is not None and progress is not False and not callable(progress):
        rule = f"progress must be a function of a text and a {number}, False or None"
        raise DataError(f"{rule}; got {shortened(repr(progress))}.", parameter="progress")
    if progress is False or (progress is None and not _is_read()):
        yield None
    elif progress is not None:
        yield progress
    else:
        terminal = _Line(line)
        try:
            yield terminal.show
        finally:
            terminal.clear()


def _is_read() -> bool:
    """Return whether a person reads the standard error as it is written: a terminal or a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _Line:
    """The last line of the terminal or of a cell's output, written once the work has taken a second."""

    def __init__(self, line: Callable[[str, float], str]) -> None:
        self._line, self._next, self._shown = line, monotonic() + _FIRST_SECONDS, False

    def show(self, what: str, number: float) -> None:
        """Show the progress, at most ten times a second."""
        if monotonic() >= self._next:
            text = self._line(what, number)
            print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = monotonic() + _SECONDS_BETWEEN, True

    def clear(self) -> None:
        """Erase the line."""
        if self._shown:
            print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)
