"""Printed tables and the numbers in them: aligned text for a terminal, HTML for a notebook, a frame for pandas."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from tunbridge._core.check import shortened

if TYPE_CHECKING:
    import pandas
    from numpy import ndarray

_WIDTH = 24
_BAR = 8  # em


def grid_lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int] | None = (0,)
) -> list[str]:
    """Return the lines of a table as aligned text, two spaces between columns.

    Parameters
    ----------
    header : sequence of str
        The first line. Spaces in a title make its column at least that wide.
    rows : iterable of sequence of str
        The other lines.
    left : collection of int, or None
        The columns that are aligned left; None for all. The others are aligned right.

    Examples
    --------
    >>> grid_lines(["class", "rows"], [["no", "5"], ["maybe", "12"]])
    ['class  rows', 'no        5', 'maybe    12']
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [str.ljust if left is None or j in left else str.rjust for j in range(len(header))]
    return [
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)).rstrip()
        for line in lines
    ]


def plain_number(number: float) -> str:
    """Return a number with six digits; a large one in groups of three digits, not with an exponent.

    Examples
    --------
    >>> plain_number(12.3456789), plain_number(1e8), plain_number(99999999.0), plain_number(1e300)
    ('12.3457', '100 000 000', '99 999 999', '1e+300')
    """
    return f"{number:,.0f}".replace(",", " ") if 1e6 <= abs(number) < 1e15 else f"{number:.6g}"


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: Collection[int] | None = (0,)) -> str:
    """Return a table as HTML, everything escaped; ``left`` as in :func:`grid_lines`.

    Examples
    --------
    >>> html_table(["class", "rows"], [["<5", "12"]], left=None)
    '<table><tr><th>class</th><th>rows</th></tr><tr><td>&lt;5</td><td>12</td></tr></table>'
    """
    styles = ["" if left is None or j in left else " style='text-align:right'" for j in range(len(header))]
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = ("".join(f"<td{style}>{escape(cell)}</td>" for style, cell in zip(styles, row, strict=True)) for row in rows)
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{cells}</tr>' for cells in body)}</table>"


def data_frame(
    columns: Mapping[str, Sequence[object] | ndarray], index: Sequence[object] | None = None
) -> pandas.DataFrame:
    """Return columns as a pandas frame; pandas is imported here and needed for nothing else."""
    import pandas

    return pandas.DataFrame(dict(columns), index=index)


def text_grid(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return values as lines of aligned text, all columns left, floats as probabilities.

    Examples
    --------
    >>> print(text_grid(["sky", "p"], [["clear", 0.25], ["grey", 0.75]]))
    sky    p
    clear  0.25
    grey   0.75
    """
    lines = [[_cell(value) for value in line] for line in (header, *rows)]
    return "\n".join(grid_lines(lines[0], lines[1:], left=None))


def html_grid(header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str) -> str:
    """Return a header and rows as an HTML table; floats have a bar in the background."""
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


def probability_text(probability: float) -> str:
    """Return a probability with at most six digits, never rounded to 0 or 1 if it is neither.

    Examples
    --------
    >>> probability_text(0.95), probability_text(1.0), probability_text(1e-9), probability_text(1 - 1e-9)
    ('0.95', '1', '1e-09', '1 - 1e-09')
    """
    text = f"{probability:.6g}"
    return text if text != "1" or probability == 1.0 else f"1 - {1.0 - probability:.3g}"


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with so many decimals; a dash for NaN.

    Examples
    --------
    >>> number_text(0.5), number_text(math.nan), number_text(math.inf)
    ('0.5000', '–', '∞')
    """
    return "–" if math.isnan(value) else "∞" if value == math.inf else f"{value:.{digits}f}"


def spaced(number: float) -> str:
    """Return a number in up to seven digits, with spaces between thousands and a real minus sign.

    Examples
    --------
    >>> spaced(-218667.0979), spaced(-7.5), spaced(0.0)
    ('−218 667.1', '−7.5', '0')
    """
    return f"{number:,.7g}".replace(",", " ").replace("-", "−")


def seconds_text(seconds: float) -> str:
    """Return a duration with its unit.

    Examples
    --------
    >>> seconds_text(0.00012), seconds_text(0.0123), seconds_text(3.14159), seconds_text(250.0)
    ('0.1 ms', '12 ms', '3.1 s', '250 s')
    """
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"
