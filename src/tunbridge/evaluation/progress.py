"""A bar in the terminal that shows how far a comparison is; elsewhere nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Literal

from tunbridge._check import shortened
from tunbridge.errors import DataError

Report = Callable[[str, float], None]
"""Called with what is going on and the share of the work that is done."""

_QUIET = 1.0
_WIDTH, _BAR = 79, 24


@contextmanager
def watched(progress: Report | Literal[False] | None) -> Iterator[Report]:
    """Give the function to report to: the caller's, one that draws a bar in a terminal, or one that does nothing."""
    if progress is not None and progress is not False and not callable(progress):
        got = shortened(repr(progress))
        raise DataError(f"progress must be a function of a text and a share, False or None; got {got}.")
    if progress is not None and progress is not False:
        yield progress
    elif progress is False or not sys.stderr.isatty():
        yield lambda what, share: None
    else:
        bar = _Bar()
        try:
            yield bar.show
        finally:
            bar.clear()


class _Bar:
    """The last line of the terminal, once the work has taken a second."""

    def __init__(self) -> None:
        self._start = monotonic() + _QUIET
        self._shown = False

    def show(self, what: str, share: float) -> None:
        """Show how far the work is."""
        if monotonic() < self._start:
            return
        bar = "█" * round(_BAR * share)
        text = f"{bar:·<{_BAR}} {share:4.0%} {what} (Ctrl-C keeps what is done)"
        print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)
        self._shown = True

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self._shown:
            print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)
