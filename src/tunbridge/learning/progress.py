"""A line in the terminal that shows how a long search is getting on; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

from tunbridge.errors import DataError

Report = Callable[[str, float], None]
"""Called with a word on what is going on and the present score."""

_QUIET = 1.0
_PAUSE = 0.1
_WIDTH = 79


@contextmanager
def watched(progress: Report | Literal[False] | None) -> Iterator[Report | None]:
    """Give the function to report to: the caller's, a line in the terminal, or none."""
    if progress is not None and progress is not False and not callable(progress):
        raise DataError(f"progress must be a function of a text and a score, False or None; got {progress!r}.")
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield None
    elif progress is not None:
        yield progress
    else:
        line = _Line()
        try:
            yield line.show
        finally:
            line.clear()


class _Line:
    """The last line of the terminal, written over and over once the work has taken a second."""

    def __init__(self) -> None:
        self._next = monotonic() + _QUIET
        self._shown = False

    def show(self, what: str, score: float) -> None:
        """Show the latest, but not more often than can be read."""
        if monotonic() >= self._next:
            text = f"learning: {what}, score {score:.10g} (Ctrl-C keeps the best so far)"
            print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)
            self._next, self._shown = monotonic() + _PAUSE, True

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)
