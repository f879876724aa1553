"""Documents as the learners take them: how often each word occurs in each of them, and the texts themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from tunbridge._check import shortened
from tunbridge.classifiers.rows.keys import mixed, seeded
from tunbridge.classifiers.rows.one_column import chosen_column, split_column
from tunbridge.data import Variable
from tunbridge.data.arrow import is_pandas
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.text.folders import read_documents
from tunbridge.text.tokens import TokenCounts, Tokens
from tunbridge.text.vocabulary import Vocabulary

_WORD_BYTES = 64.0  # a word of a document, its value, its weight, and its place among those of a class
_RULE = "X must be documents: a list of texts, a column of them, or a frame with such a column"


@dataclass(frozen=True, eq=False)
class Background:
    """What is known of words, whatever the class.

    Parameters
    ----------
    occurrences, amounts, documents : ndarray of shape (n_words,)
        How often each occurs, how much of it there is by its weighting, and the number (or weight) of its documents.
    n_documents : float
        The number (or weight) of all documents.
    """

    occurrences: np.ndarray
    amounts: np.ndarray
    documents: np.ndarray
    n_documents: float

    def is_whole(self, n_words: int) -> bool:
        """Return whether it can be that of so many words, which one from a file may not."""
        arrays = (self.occurrences, self.amounts, self.documents)
        kinds = all(a.shape == (n_words,) and a.dtype == np.float64 for a in arrays)
        if not kinds or not all(np.isfinite(a).all() and (a >= 0).all() for a in arrays):
            return False
        return bool(np.isfinite(self.n_documents) and (self.documents <= self.n_documents * (1.0 + 1e-6)).all())

    def take(self, words: np.ndarray) -> Background:
        """Return what is known of some of the words."""
        return Background(self.occurrences[words], self.amounts[words], self.documents[words], self.n_documents)


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents: their texts, and what they hold.

    Parameters
    ----------
    texts : pyarrow.LargeStringArray
        The texts that were read; null where one is missing.
    counts : TokenCounts
        What each document holds, words numbered by its vocabulary (which may have words that none of them holds).
    column : str, optional
        What the column was called.
    where : ndarray of int, optional
        Which of the texts each document is; all of them, in order, by default.
    background : Background, optional
        What is known of the words of the vocabulary from more documents than these.
    """

    texts: pa.Array
    counts: TokenCounts
    column: str | None = None
    where: np.ndarray | None = None
    background: Background | None = None

    @property
    def n_rows(self) -> int:
        """The number of documents."""
        return len(self.counts.starts) - 1

    def text(self, row: int) -> str:
        """Return the text of one document; an empty one where it is missing."""
        at = row if self.where is None else int(self.where[row])
        return self.texts[at].as_py() or ""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features: a document is not a row of cells."""
        return ()

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.counts.vocabulary

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a document and count what it holds."""
        return _WORD_BYTES * len(self.counts.words) / max(1, self.n_rows)

    def rows(self, start: int, stop: int) -> Documents:
        """Return some of the documents."""
        return self.take(np.arange(start, min(stop, self.n_rows)))

    def take(self, which: np.ndarray) -> Documents:
        """Return the documents that a mask or positions name, in their order."""
        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        rows = self.matrix()[positions]
        counts = TokenCounts(self.vocabulary, rows.indptr.astype(np.int64), rows.indices, rows.data)
        return replace(self, counts=counts, where=positions if self.where is None else self.where[positions])

    def matrix(self) -> csr_array:
        """Return the counts as a sparse matrix, documents × words."""
        found = self.counts
        return sparse_rows(found.counts, found.words, found.starts, len(found.vocabulary))

    def keys(self, seed: int) -> np.ndarray:
        """Return a number for each document that follows from its words, equal for equal ones, else as if drawn."""
        marks = mixed(self.vocabulary.hashes)
        return seeded(self.matrix().astype(np.uint64) @ marks, seed)

    def as_known_to(self, learned: Documents) -> Documents:
        """Return the same documents: a model looks words up by themselves, and so knows those it has learned."""
        return self


def sparse_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray, n_columns: int) -> csr_array:
    """Return a sparse matrix, row r holding ``values[i]`` in ``columns[i]`` for ``starts[r]`` ≤ i < ``starts[r + 1]``.

    Places are numbers of 32 bits wherever they can be: half the memory, and one type for kernels.
    """
    kind = np.int32 if len(values) < 2**31 else np.int64
    places = columns.astype(kind, copy=False), starts.astype(kind, copy=False)
    return csr_array((values, *places), shape=(len(starts) - 1, n_columns))


@dataclass(frozen=True)
class TextReader:
    """The reader of documents: lists, arrays, Series, Arrow columns, frames with a column of texts, folders.

    Documents to predict are cut as those were that were learned from.
    """

    tokens: Tokens
    column: str | None
    n_jobs: int | None

    def split(self, X: Any, y: Any, sample_weight: Any, known: str | None) -> tuple[Any, Any, Any, str | None]:
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
            raise DataError(f"{_RULE}; got an iterator of batches, and all are needed at once. Put them into a list.")
        return split_column(X, y, sample_weight, known, "documents")

    def learned(self, estimator: Any, X: Any, before: Any) -> Documents:
        """Return documents to learn from."""
        return self._read(X, None, None if before is None else before.column)

    def known(self, estimator: Any, X: Any) -> Documents:
        """Return documents to predict."""
        if isinstance(X, os.PathLike):
            X = read_documents(X)["text"]
        if self.is_one(X):
            X = [X]
        statistics = _statistics_of(estimator)
        return replace(self, tokens=statistics.tokens)._read(X, estimator.target_name_, statistics.column)

    def is_one(self, X: Any) -> bool:
        """Return whether X is one document rather than a list of them."""
        return isinstance(X, str)

    def _read(self, X: Any, target: str | None, before: str | None) -> Documents:
        values, name = chosen_column(X, self.column, target, "documents", before=before)
        texts = as_texts(values)
        return Documents(texts, self.tokens.count(texts, self.n_jobs), name)


def parts_of_batch(batch: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return documents, classes and weights of a batch of a stream; y may name the column of the classes."""
    if isinstance(batch, tuple) and len(batch) in (2, 3):
        return batch[0], batch[1], batch[2] if len(batch) == 3 else None
    if isinstance(y, str):
        return batch, y, None
    raise DataError(
        "a batch must be (texts, y) or (texts, y, weights), or a frame when y names the column of classes; "
        f"got {shortened(repr(batch))}."
    )


def _statistics_of(estimator: Any) -> Any:
    """Return what an estimator, or the one inside it, has learned from documents."""
    statistics = estimator.statistics_
    while hasattr(statistics, "fitted"):
        statistics = statistics.fitted.statistics_
    return statistics


def as_texts(values: Any) -> pa.Array:
    """Return a column of texts as Arrow has it; what is missing is null.

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
        raise DataError(f"{_RULE}; got an array of shape {values.shape}. Give one column of it.")
    if not isinstance(values, Iterable) or isinstance(values, dict | set | frozenset):
        raise DataError(f"{_RULE}; got {shortened(repr(values))}.")
    return _of_objects(list(values))


def _one_text(value: str | bytes) -> DataError:
    """Return the error for a text in the place of documents."""
    got = shortened(repr(value), 20)
    if isinstance(value, str) and os.path.isdir(value):
        return DataError(f"{_RULE}; got one text, the name of a folder. Say pathlib.Path({got}) to read its files.")
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
    """Return the error for the first document that is no text."""
    row = next((i for i, v in enumerate(values) if not (isinstance(v, str) or is_missing(v))), 0)
    hint = "Decode it into text first." if isinstance(values[row], bytes | bytearray) else "Turn it into text first."
    return DataError(f"{_RULE}; got {shortened(repr(values[row]))} as document {row + 1}. {hint}")
