"""An explanation of a text as HTML: the text with its words coloured by their weight, and a table of the heaviest.

Colours are laid over whatever background there is, so that the text can be read on a light page and on a dark one.
Nothing is loaded from elsewhere, and everything that comes from outside is escaped.
"""

from __future__ import annotations

import html
from math import isfinite
from typing import TYPE_CHECKING

from tunbridge._check import listed
from tunbridge.text.marked_text import table_of

if TYPE_CHECKING:
    from tunbridge.text.explanation import TextExplanation

_FOR, _AGAINST = "30,120,255", "255,130,0"
_STRONGEST = 0.55  # opacity of the heaviest

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; line-height: 1.5; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
td, th {{ padding: 0.1rem 0.8rem 0.1rem 0; text-align: left; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""


def as_html(told: TextExplanation, *, full_page: bool) -> str:
    """Return an explanation as a fragment of a page, or as a page."""
    parts = [f"<p><strong>{html.escape(told.headline)}</strong></p>"]
    if told.text:
        style = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.7"
        parts.append(f"<div style='{style}'>{_marked(told)}</div>")
    if told.spans:
        parts.append(_legend(told))
    if told.remark:
        parts.append(f"<p>{html.escape(told.remark)}</p>")
    parts.append(_table(told))
    if told.unknown:
        parts.append(f"<p><small>not used: {html.escape(listed(told.unknown, most=20))}</small></p>")
    body = "<div class='tunbridge-text'>" + "\n".join(parts) + "</div>"
    return _PAGE.format(title=html.escape(told.headline), body=body) if full_page else body


def _marked(told: TextExplanation) -> str:
    """Return the text with what spoke coloured."""
    largest = max((abs(s.weight) for s in told.spans if isfinite(s.weight)), default=0.0)
    found, at = [], 0
    for start, end, weight in told.spans:
        speaks = html.escape(str(told.label if weight > 0 else told.against))
        title = f"{weight:+.2f} {speaks}" if weight else "0"
        found += [
            html.escape(told.text[at:start]),
            f'<mark style="{_style(weight, largest)}" title="{title}">{html.escape(told.text[start:end])}</mark>',
        ]
        at = end
    return "".join([*found, html.escape(told.text[at:].rstrip())])


def _style(weight: float, largest: float) -> str:
    share = 1.0 if not isfinite(weight) else abs(weight) / largest if largest else 0.0
    return f"background:rgba({_FOR if weight > 0 else _AGAINST},{_STRONGEST * share**0.75:.2f});color:inherit"


def _legend(told: TextExplanation) -> str:
    keys = [(1.0, f"for {told.label!s}"), (-1.0, f"for {told.against!s}")]
    marks = [f'<mark style="{_style(w, 1.0)};padding:0 0.5em">{html.escape(name)}</mark>' for w, name in keys]
    return f"<p><small>{' '.join(marks)} the stronger the colour, the heavier the word</small></p>"


def _table(told: TextExplanation) -> str:
    numbers = "text-align:right"
    cells = "".join(
        f"<tr><td>{html.escape(row.name)}</td><td style='{numbers}'>{html.escape(row.times)}</td>"
        f"<td style='{numbers}'>{row.weight:+.2f}</td><td style='{numbers}'>{row.odds}</td></tr>\n"
        for row in table_of(told)
    )
    head = "".join(f"<th style='{numbers}'>{name}</th>" for name in ("times", "weight", "odds ×"))
    return f"<table><tr><th style='text-align:left'>word</th>{head}</tr>\n{cells}</table>"
