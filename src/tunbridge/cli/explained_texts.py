"""Texts and sequences to be explained: where they come from, and the page that shows them with their words coloured."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from tunbridge._check import shortened
from tunbridge.cli.documents import NOUNS, READ, SEQUENCE, column_of, is_loose, kind_read
from tunbridge.cli.failures import UsageError
from tunbridge.cli.networks import near_file
from tunbridge.cli.options import Reading
from tunbridge.cli.output import counted, note
from tunbridge.errors import DataError

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family: sans-serif; max-width: 60em; margin: 2em auto">{body}</body>
</html>
"""


def check_text_use(model: Any, *, what_if: bool, importance: bool, draws_all: bool) -> None:
    """Raise for what only models of columns can do; words have an importance, letters have none."""
    letters = importance and kind_read(model) == SEQUENCE
    for option, asked in (("--what-if", what_if), ("--nomogram", draws_all), ("--importance", letters)):
        if asked:
            raise UsageError(f"{option} must come with a model that reads columns; this one reads {_plural(model)}.")


def file_of(text: str) -> Path | None:
    """Return the file that an argument may name; None where it can only be a text.

    Examples
    --------
    >>> print(file_of("new.csv"), file_of("You have won a prize"))
    new.csv None
    """
    path = Path(text or " ")
    try:
        return path if path.exists() or not any(c.isspace() for c in text) else None
    except (OSError, ValueError):  # longer than a file's name can be, or with characters that no name has
        return None


def text_case(model: Any, text: str, row: int, reading: Reading, column: str | None) -> str:
    """Return a document of a table, a folder or a text file, counted from one; or the argument itself as text."""
    path = file_of(text)
    if path is None or not (path.exists() or _looks_like_a_file(path)):
        if column is not None or row > 1:
            option = "--column" if column is not None else "--row"
            raise UsageError(f"{option} must come with a file; got {shortened(repr(text))}.")
        return text
    if not path.exists():
        raise DataError(f"what is explained must be a file that exists, or a text; got {text!r}.{near_file(path)}")
    return _of_file(model, path, row, reading, column)


def given_text(model: Any, given: list[str]) -> str:
    """Return the text of ``--given text=…``, which may also be called by the name of its column."""
    names = list(dict.fromkeys([column_of(model) or kind_read(model), kind_read(model)]))
    if len(given) > 1:
        raise UsageError(f"--given must come once: the model reads one {NOUNS[kind_read(model)]}.")
    for name in names:
        if given[0].startswith(f"{name}="):
            return given[0][len(name) + 1 :]
    raise UsageError(
        f"--given must be {names[0]}=… where the model reads {_plural(model)}; got {shortened(given[0])!r}."
    )


def write_page(path: Path, found: Any) -> None:
    """Write an explanation as an HTML page."""
    from tunbridge.cli.writers import replacing

    if hasattr(found, "to_html"):
        page = found.to_html(full_page=True)
    else:
        title = f"{found.label!s} rather than {found.against!s}"
        page = _PAGE.format(title=html.escape(title), body=found._repr_html_())
    with replacing(path) as file:
        file.write_text(page, encoding="utf-8")
    note(f"The page is in {path}.")


def _looks_like_a_file(path: Path) -> bool:
    """Return whether a name that no file has was meant for one: it ends as files do, or is in a folder."""
    from tunbridge.data.source import SUFFIXES

    known = (*SUFFIXES, ".gz", ".txt", ".tb", ".html", ".xlsx", ".json")
    return path.suffix.lower() in known or len(path.parts) > 1


def _of_file(model: Any, path: Path, row: int, reading: Reading, column: str | None) -> str:
    from tunbridge.cli.rows import iter_rows

    seen = 0
    for batch in iter_rows(model, path, reading, column, verbatim=False):
        if row <= seen + batch.n_rows:
            return batch.features[READ][row - 1 - seen].as_py() or ""
        seen += batch.n_rows
    what = NOUNS[kind_read(model)] if is_loose(path, reading) else "row"
    raise DataError(f"--row must be a {what} of {path.name}, which has {counted(seen, what)}; got {row}.")


def _plural(model: Any) -> str:
    return "sequences" if kind_read(model) == SEQUENCE else "texts"
