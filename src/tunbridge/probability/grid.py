"""Small tables for people: aligned text for a terminal, HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tunbridge._check import shortened

_WIDTH = 24
_BAR = 8  # em


def probability_text(probability: float) -> str:
    """Return a probability in at most six digits, never rounded to 0 or 1 when it is neither.

    Examples
    --------
    >>> probability_text(0.95), probability_text(1.0), probability_text(1e-9), probability_text(1 - 1e-9)
    ('0.95', '1', '1e-09', '1 - 1e-09')
    """
    text = f"{probability:.6g}"
    return text if text != "1" or probability == 1.0 else f"1 - {1.0 - probability:.3g}"


def text_grid(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a header and rows as lines of aligned text.

    Examples
    --------
    >>> print(text_grid(["sky", "p"], [["clear", 0.25], ["grey", 0.75]]))
    sky    p
    clear  0.25
    grey   0.75
    """
    lines = [[_cell(value) for value in line] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def html_grid(header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str) -> str:
    """Return a header and rows as an HTML table; floats get a bar behind them."""
    head = "".join(f"<th>{escape(_cell(value))}</th>" for value in header)
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>"
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return probability_text(value) if isinstance(value, float) else shortened(str(value), _WIDTH)


def _html_cell(value: object) -> str:
    if not isinstance(value, float):
        return f'<th style="text-align:left">{escape(_cell(value))}</th>'
    share = f"{100.0 * min(1.0, max(0.0, value)):.1f}%"
    shade = f"background:linear-gradient(90deg,rgba(70,130,180,.35) {share},transparent {share})"
    return f'<td style="text-align:right;min-width:{_BAR}em;{shade}">{_cell(value)}</td>'
