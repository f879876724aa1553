"""How the place of a table is written: a file, several files, a table within a file, standard input.

========================================  ======================================================
``visits.csv``                            a file
``visits-*.csv``, a list of files         several files with the same columns
``clinic.db::visits``                     a table of an SQLite or DuckDB database
``sqlite:///clinic.db?table=visits``      the same; ``duckdb:///…`` for DuckDB
``clinic.xlsx::Sheet2``                   a sheet of a workbook
``-``                                     standard input
========================================  ======================================================
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote
from weakref import WeakKeyDictionary

import pyarrow as pa

from tunbridge._core.check import listed
from tunbridge.errors import DataError, FileMissingError

STDIN = Path("-")
_ADDRESS = re.compile(r"(https?|ftp|s3|gs|file):/+", re.IGNORECASE)
_URI = re.compile(r"(?P<format>sqlite|duckdb):(?P<path>/*[^?]*)(?:\?(?P<query>.*))?", re.IGNORECASE)
_MAGIC = re.compile(r"[*?\[]")
_READ_ONCE: WeakKeyDictionary[object, pa.Buffer] = WeakKeyDictionary()


class Place(NamedTuple):
    """A file, the table or sheet in it that is named, and the format that the place says."""

    path: Path
    part: str | None = None
    format: str | None = None


def place_of(path: str | os.PathLike[str]) -> Place:
    """Return the place that a text or path stands for.

    Examples
    --------
    >>> place_of("clinic.db::visits").part, place_of("sqlite:///clinic.db?table=visits").path.name
    ('visits', 'clinic.db')
    """
    text = os.fspath(path)
    check_address(text)
    found = _URI.fullmatch(text)
    if found is not None and not os.path.exists(text):
        table = parse_qs(found["query"] or "").get("table", [None])[0]
        return Place(_database(unquote(found["path"])), table, found["format"].lower())
    before, sign, part = text.rpartition("::")
    if sign and before and not os.path.exists(text):
        return Place(Path(before), part or None)
    return Place(Path(path))


def check_address(path: str | os.PathLike[str]) -> None:
    """Raise for an address of the network, which is not a file."""
    text = os.fspath(path)
    if _ADDRESS.match(text) and not os.path.exists(text):
        text = re.sub(":/+", "://", text, count=1)  # a path has lost a slash
        raise DataError(
            f"path must be the name of a file; got the address {text!r}. Download the file first, for example with "
            "curl -O, and give its name."
        )


def several(path: object) -> list[str | os.PathLike[str]] | None:
    """Return the files that a list, or a pattern such as ``visits-*.csv``, stands for; None if it is one place."""
    if isinstance(path, list | tuple):
        if not path:
            raise DataError("path must name at least one file; got an empty list.")
        return [one for each in path for one in several(each) or [each]]
    if not isinstance(path, str | os.PathLike):
        return None
    text = os.fspath(path)
    if not isinstance(text, str) or not _MAGIC.search(text) or os.path.exists(text) or _URI.match(text):
        return None
    found = sorted(glob.glob(text, recursive=True))
    if not found:
        raise FileMissingError(f"path must be a file that exists; no file is called like {text!r}.")
    return list(found)


def standard_input() -> pa.Buffer:
    """Return all bytes of standard input, which is read once."""
    stream = sys.stdin
    if stream not in _READ_ONCE:
        _READ_ONCE[stream] = pa.py_buffer(stream.buffer.read())
    return _READ_ONCE[stream]


def check_same_columns(first: object, names: Sequence[str], other: object, others: Sequence[str]) -> None:
    """Raise unless two files have the same columns, in any order; name the difference."""
    lost, new = [n for n in names if n not in others], [n for n in others if n not in names]
    if lost or new:
        parts = [f"lacks {listed(lost, most=4)}" if lost else "", f"has {listed(new, most=4)} besides" if new else ""]
        what = " and ".join(part for part in parts if part)
        raise DataError(f"the files must have the same columns; {str(other)!r} {what}, unlike {str(first)!r}.")


def _database(path: str) -> Path:
    """Return the file of an address: ``///clinic.db`` is relative, ``////home/clinic.db`` absolute.

    A path of the system has lost slashes; then what exists counts.
    """
    bare = path.lstrip("/")
    n = len(path) - len(bare)
    if n >= 4:
        return Path("/" + bare)
    return Path(bare) if n == 3 or os.path.exists(bare) or n == 0 else Path("/" + bare)
