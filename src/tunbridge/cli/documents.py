"""Texts and sequences, in: a column of a table, the files of a folder, text files.

One column of a table is read, word for word: the usual missing markers are texts here, and only an empty cell, or what
``--missing`` names, is no document. In a folder every subfolder is a class and every file a document of it. A text file
by itself is one document, or, where sequences are read, has one on each line.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tunbridge._check import listed
from tunbridge.cli.failures import UsageError
from tunbridge.cli.options import Reading, check_column
from tunbridge.cli.output import note
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

TEXT, SEQUENCE = "text", "sequence"
OtherColumn = Annotated[
    str | None,
    typer.Option(
        "--column",
        metavar="COL",
        help="The column of texts or sequences, where its name is not the one learned from.",
    ),
]
NOUNS = {TEXT: "document", SEQUENCE: "sequence"}
FOLDER_TARGET = "class"
READ = "(what is read)"
"""The column of a batch that holds what the model reads, under a name that no file has."""

FIRST_ROWS = 100
_PLAIN = (".txt", ".text", ".eml")
_DIGITS = r"^\s*[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_WITH_POINT = r"^\s*([+-][0-9]+|[+-]?[0-9]*[.,][0-9]+)([eE][+-]?[0-9]+)?\s*$"
_LOST = "\ufffd"


# Models


def innermost(model: Any) -> Any:
    """Return the classifier inside others: what was calibrated, or learned from rows without a class too."""
    while hasattr(model, "estimator_"):
        model = model.estimator_
    return model


def kind_read(model: Any) -> str:
    """Return what a model reads: texts, sequences, or, as nothing to be named, rows of a table."""
    kind = getattr(innermost(model), "kind", "")
    return kind if kind in NOUNS else ""


def column_of(model: Any) -> str | None:
    """Return the column from which a model of texts or sequences was learned, where it had a name."""
    inner = innermost(model)
    found: str | None = inner.column or inner.statistics_.column
    return found


def as_read(batch: pa.Table) -> Any:
    """Return the part of a batch that is given to the model: all of it, or the texts or sequences."""
    return batch[READ] if READ in batch.column_names else batch


# Files


def is_loose(path: Path, reading: Reading) -> bool:
    """Return whether a path is documents by themselves rather than a table: a folder, or a text file.

    Examples
    --------
    >>> is_loose(Path("mail.txt"), Reading()), is_loose(Path("mail.txt"), Reading(format="tsv"))
    (True, False)
    """
    return path.is_dir() or (reading.format is None and path.suffix.lower() in _PLAIN)


def read_folder(path: Path, encoding: str) -> pa.Table:
    """Return the documents of a folder: columns text, class and file."""
    from tunbridge.text import read_documents

    found = read_documents(path, encoding=_decoding(encoding))
    return _told(found, encoding)


def read_files(paths: Sequence[Path], kind: str, encoding: str) -> pa.Table:
    """Return text files as a table: a document each, or a sequence on each line; columns text and file."""
    import pyarrow as pa

    texts, names = [], []
    for path in paths:
        text = path.read_bytes().decode(_decoding(encoding), errors="replace")
        lines = [text] if kind == TEXT else [line.strip() for line in text.splitlines() if line.strip()]
        texts += lines
        names += [str(path)] * len(lines)
    if not texts:
        raise DataError(f"a text file must hold a sequence on each line; {listed([p.name for p in paths])} is empty.")
    columns = [pa.array(texts, pa.large_string()), pa.array(names, pa.string())]
    return _told(pa.table(columns, names=["text", "file"]), encoding)


def _decoding(encoding: str) -> str:
    """Return a text encoding, a mark at the start of UTF-8 left out; raise for one that there is not."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise DataError(f"--encoding must be a text encoding, such as utf-8 or latin-1; got {encoding!r}.") from None
    return "utf-8-sig" if name == "utf-8" else name


def _told(found: pa.Table, encoding: str) -> pa.Table:
    """Return documents, having told how many of them hold bytes that are no text."""
    import pyarrow.compute as pc

    odd = found.filter(pc.match_substring(found["text"], _LOST))
    if odd.num_rows:
        other = "utf-8" if codecs.lookup(encoding).name != "utf-8" else "latin-1"
        files = listed(odd["file"].unique().to_pylist(), most=3)
        note(f"Note: {files} must be {encoding} text; what is not becomes {_LOST}. --encoding {other} may read it.")
    return found


# Columns


def chosen_column(path: Path, first: pa.Table, kind: str, column: str | None, names: list[str]) -> str:
    """Return the column that is asked for; else the one called text or sequence, or the only one that may be it."""
    if column is not None:
        check_column("--column", column, path, names)
        return column
    named = [n for n in first.column_names if n.lower() == kind]
    texts = [n for n in first.column_names if not are_numbers(first[n], kind)]
    for some in (named, texts):
        if len(some) == 1:
            return some[0]
    what = f"the column of the {NOUNS[kind]}s"
    if not texts:
        others = f"{listed(first.column_names)} hold numbers" if first.column_names else "it has no other column"
        raise DataError(f"{path.name} must have {what} beside the target; {others}.")
    longest = max(texts, key=lambda n: _mean_length(first[n]))
    raise UsageError(f"--column must name {what}; {path.name} has {listed(texts)}. Say --column {longest!r}?")


def are_numbers(values: Any, kind: str) -> bool:
    """Return whether all cells that hold something are numbers; digits alone may be a sequence."""
    import pyarrow.compute as pc

    some = values.filter(pc.not_equal(values, ""))
    numbers = pc.match_substring_regex(some, _DIGITS if kind == TEXT else _WITH_POINT)
    return len(some) > 0 and bool(pc.all(numbers).as_py())


def _mean_length(values: Any) -> float:
    import pyarrow.compute as pc

    return pc.mean(pc.utf8_length(values)).as_py() or 0.0
