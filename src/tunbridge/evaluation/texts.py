"""Numbers, times and tables as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def text_table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in plain text, the first column to the left, the others to the right."""
    widths = [max(len(line[j]) for line in [header, *lines]) for j in range(len(header))]
    sides = [str.ljust, *[str.rjust] * (len(header) - 1)]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in [header, *lines]
    ]


def seconds_text(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> seconds_text(0.00012), seconds_text(0.0123), seconds_text(3.14159), seconds_text(250.0)
    ('0.1 ms', '12 ms', '3.1 s', '250 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"


def number_text(value: float, digits: int = 4) -> str:
    """Return a number; a dash where there is none.

    Examples
    --------
    >>> number_text(0.5), number_text(math.nan), number_text(math.inf)
    ('0.5000', '–', '∞')
    """
    return "–" if math.isnan(value) else "∞" if value == math.inf else f"{value:.{digits}f}"
