"""Shows the blank lines of output as such; doctest needs them marked."""

from __future__ import annotations

from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text without doctest's marks."""
    return markdown.replace("<BLANKLINE>\n", "\n")
