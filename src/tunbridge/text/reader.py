"""Reading documents: lists, arrays, Series, Arrow columns, frames with a column of text, and folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import shortened
from tunbridge.classifiers._reading import chosen_column, split_column
from tunbridge.classifiers._rows import Frame, Labels, SampleWeight, Split
from tunbridge.classifiers._statistics import inner_statistics
from tunbridge.data.arrow import is_pandas
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, FileMissingError
from tunbridge.text.documents import Documents
from tunbridge.text.statistics import TextStatistics
from tunbridge.text.tokens import Tokens

_RULE = "X must be documents: a list of texts, a column of them, or a frame with such a column"


@dataclass(frozen=True)
class TextReader:
    """The reader of documents; those to predict are split in the same way as the training documents."""

    tokens: Tokens
    column: str | None
    n_jobs: int | None

    def split(self, X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None) -> Split:
        """Return documents, classes, weights and the target's name; a folder has a subfolder for each class."""
        if isinstance(X, os.PathLike):
            found = read_documents(X)
            if y is None and found["class"].null_count:
                raise DataError(f"a folder to learn from must have a subfolder for each class; {str(X)!r} has none.")
            texts = pa.table({self.column or "text": found["text"]})
            return texts, found["class"] if y is None else y, sample_weight, known or "class"
        if isinstance(X, str) and y is None:
            raise _one_text(X)
        if hasattr(X, "__next__") and (y is None or isinstance(y, str)):
            raise DataError(f"{_RULE}; got an iterator of batches, but all are needed at once. Put them into a list.")
        return split_column(X, y, sample_weight, known, "documents")

    def learned(self, estimator: Any, X: Frame, before: TextStatistics | None) -> Documents:
        """Return training documents."""
        return self.read(X, None, None if before is None else before.column)

    def known(self, estimator: Any, X: Frame) -> Documents:
        """Return documents to predict."""
        if isinstance(X, os.PathLike):
            X = read_documents(X)["text"]
        if self.is_one(X):
            X = {name: [value] for name, value in X.items()} if isinstance(X, dict) else [X]
        statistics = inner_statistics(estimator.statistics_)
        return replace(self, tokens=statistics.tokens).read(X, estimator.target_name_, statistics.column)

    def is_one(self, X: object) -> bool:
        """Return whether X is one document, or a mapping with one, rather than a list of them."""
        return isinstance(X, str) or (isinstance(X, dict) and any(isinstance(value, str) for value in X.values()))

    def read(self, X: Frame, target: str | None, before: str | None) -> Documents:
        """Return the documents of the column that holds them: ``before`` is the name of the one read before."""
        values, name = chosen_column(X, self.column, target, "documents", before=before)
        return replace(self.tokens.count(as_texts(values), self.n_jobs), column=name)


def parts_of_batch(batch: object, y: Labels) -> tuple[Any, Any, Any]:
    """Return documents, classes and weights of one batch; y may name the column of the classes."""
    if isinstance(batch, tuple) and len(batch) in (2, 3):
        return batch[0], batch[1], batch[2] if len(batch) == 3 else None
    if isinstance(y, str):
        return batch, y, None
    raise DataError(
        "a batch must be (texts, y) or (texts, y, weights), or a frame if y names the column of classes; "
        f"got {shortened(repr(batch))}."
    )


def as_texts(values: Any) -> pa.Array:
    """Return a column of texts as an Arrow array; missing values are null.

    Examples
    --------
    >>> as_texts(["Ham", None]).to_pylist()
    ['Ham', None]
    """
    if isinstance(values, str | bytes):
        raise _one_text(values)
    if is_pandas(values, "Series"):
        values = values.to_numpy(object) if isinstance(values.dtype, np.dtype) else pa.array(values, from_pandas=True)
    elif hasattr(values, "__arrow_c_stream__"):
        values = pa.chunked_array(values)
    if isinstance(values, pa.ChunkedArray):
        chunks = [_of_arrow(chunk) for chunk in values.chunks] or [pa.array([], pa.large_string())]
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
    if isinstance(values, pa.Array):
        return _of_arrow(values)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise DataError(f"{_RULE}; got an array of shape {values.shape}. Pass one column of it.")
    if not isinstance(values, Iterable) or isinstance(values, dict | set | frozenset):
        raise DataError(f"{_RULE}; got {shortened(repr(values))}.")
    return _of_objects(list(values))


def _one_text(value: str | bytes) -> DataError:
    """Return the error for a text in place of documents."""
    got = shortened(repr(value), 20)
    if isinstance(value, str) and os.path.isdir(value):
        return DataError(f"{_RULE}; got one text, the name of a folder. Use pathlib.Path({got}) to read its files.")
    return DataError(f"{_RULE}; got one text. Put it into a list: [{got}].")


def _of_arrow(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _of_arrow(values.dictionary).take(values.indices)
    if pa.types.is_null(kind) or pa.types.is_string(kind) or pa.types.is_string_view(kind):
        values = values.cast(pa.large_string())
    if not pa.types.is_large_string(values.type):
        hint = "Decode the bytes into text first." if "binary" in str(kind) else "Turn it into text first."
        raise DataError(f"{_RULE}; got a column of {kind}. {hint}")
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"documents must be text in UTF-8; got a column that is damaged ({error}).") from None
    return values


def _of_objects(values: list[Any]) -> pa.Array:
    """Return texts; lone surrogates, which UTF-8 does not have, become question marks."""
    if any(issubclass(kind, bytes | bytearray | memoryview) for kind in set(map(type, values))):
        raise _not_text(values)  # Arrow would take them
    try:
        return pa.array(values, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError:
        return _of_objects([v.encode(errors="replace").decode() if isinstance(v, str) else v for v in values])
    except (pa.ArrowException, TypeError, ValueError):
        raise _not_text(values) from None


def _not_text(values: list[Any]) -> DataError:
    """Return the error for the first document that is not text."""
    row = next((i for i, v in enumerate(values) if not (isinstance(v, str) or is_missing(v))), 0)
    hint = "Decode it into text first." if isinstance(values[row], bytes | bytearray) else "Turn it into text first."
    return DataError(f"{_RULE}; got {shortened(repr(values[row]))} as document {row + 1}. {hint}")


def read_documents(folder: str | os.PathLike[str], *, encoding: str = "utf-8") -> pa.Table:
    """Return the documents of a folder that has a subfolder for each class.

    Every file below a subfolder is a document of its class; hidden files are skipped. Documents are sorted by name.

    Parameters
    ----------
    folder : str or path
        The folder. If it has no subfolders the documents have no class: ``class`` is missing.
    encoding : str
        The encoding of the files. Bytes that cannot be decoded become the replacement character «�».

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
    try:
        b" ".decode(encoding, errors="replace")
    except (LookupError, TypeError):
        got = shortened(repr(encoding))
        rule = f"encoding must be one that Python knows; got {got}. Common ones are 'utf-8' and 'latin-1'."
        raise DataError(rule, parameter="encoding") from None
    if not root.exists():
        raise FileMissingError(f"the folder of documents must exist; there is no {str(folder)!r}.")
    if not root.is_dir():
        raise DataError(
            f"documents must be in a folder with a subfolder for each class; got the file {root.name!r}. "
            "tb.read_table reads tables."
        )
    every = sorted(path for path in root.rglob("*") if path.is_file())
    files = [p for p in every if not any(part.startswith(".") for part in p.relative_to(root).parts)]
    inside = [path.relative_to(root) for path in files]
    if not files:
        raise DataError(f"the folder must hold documents, a subfolder for each class; {str(folder)!r} has no file.")
    labels = [path.parts[0] if len(path.parts) > 1 else None for path in inside]
    if None in labels and any(label is not None for label in labels):
        stray = shortened(inside[labels.index(None)].name)
        raise DataError(
            f"documents must be in the subfolder of their class; {stray!r} is beside the subfolders. Move it."
        )
    texts = [path.read_bytes().decode(encoding, errors="replace") for path in files]
    names = [path.as_posix() for path in inside]
    columns = [pa.array(texts, pa.large_string()), pa.array(labels, pa.string()), pa.array(names, pa.string())]
    return pa.table(columns, names=["text", "class", "file"])
