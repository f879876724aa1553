"""Documents in folders: one subfolder for each class, one file for each document."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from tunbridge._check import shortened
from tunbridge.errors import DataError, FileMissingError


def read_documents(folder: str | os.PathLike[str], *, encoding: str = "utf-8") -> pa.Table:
    """Return the documents of a folder that has a subfolder for each class.

    Every file below a subfolder is a document of its class; names that begin with a dot are left out. The order is that
    of the names.

    Parameters
    ----------
    folder : str or path
        The folder. One without subfolders holds documents without a class: ``class`` is then missing.
    encoding : str
        How the files are written. What cannot be decoded becomes the replacement character «�».

    Returns
    -------
    pyarrow.Table
        Columns ``text``, ``class``, and ``file``, the path below the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as mails:
    ...     for name, text in (("ham/1.txt", "See you at noon."), ("spam/1.txt", "You have won!")):
    ...         path = Path(mails, name)
    ...         path.parent.mkdir()
    ...         _ = path.write_text(text)
    ...     read_documents(mails).to_pylist()[1]
    {'text': 'You have won!', 'class': 'spam', 'file': 'spam/1.txt'}
    """
    root = Path(folder)
    _check_encoding(encoding)
    if not root.exists():
        raise FileMissingError(f"the folder of documents must exist; there is no {str(folder)!r}.")
    if not root.is_dir():
        raise DataError(
            f"documents must be in a folder with a subfolder for each class; got the file {root.name!r}. "
            "tb.read_table reads tables."
        )
    files = sorted(path for path in root.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(root)))
    inside = [path.relative_to(root) for path in files]
    if not files:
        raise DataError(f"the folder must hold documents, a subfolder for each class; {str(folder)!r} has no file.")
    labels = [path.parts[0] if len(path.parts) > 1 else None for path in inside]
    if None in labels and any(label is not None for label in labels):
        stray = shortened(inside[labels.index(None)].name)
        raise DataError(
            f"documents must be in the subfolder of their class; {stray!r} stands beside the subfolders. Move it."
        )
    texts = [path.read_bytes().decode(encoding, errors="replace") for path in files]
    names = [path.as_posix() for path in inside]
    columns = [pa.array(texts, pa.large_string()), pa.array(labels, pa.string()), pa.array(names, pa.string())]
    return pa.table(columns, names=["text", "class", "file"])


def _check_encoding(encoding: str) -> None:
    try:
        b" ".decode(encoding, errors="replace")
    except (LookupError, TypeError):
        got = shortened(repr(encoding))
        raise DataError(f"encoding must be one that Python knows; got {got}. Usual are 'utf-8', 'latin-1'.") from None


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
