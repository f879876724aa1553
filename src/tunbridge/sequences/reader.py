"""How a sequence classifier reads X: texts, lists, arrays, Series and Arrow columns, alone or in a frame.

A text is a sequence of its characters. They are found in its UTF-8 bytes: if all are below 128, a byte is a character,
and a table of 256 codes does the rest; otherwise the bytes are decoded first. Any other iterable of texts or integers
is a sequence of these. None, NaN and null are unknown symbols in a sequence; in place of a sequence they are an empty
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import shortened, warn_user
from tunbridge.classifiers._reading import chosen_column, is_list, split_column
from tunbridge.classifiers._rows import Frame, Labels, SampleWeight, Split
from tunbridge.classifiers._statistics import inner_statistics
from tunbridge.data.arrow import is_pandas, is_text
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.kernels.text.sequences import decode_points
from tunbridge.sequences.statistics import SequenceStatistics
from tunbridge.sequences.symbols import (
    Rules,
    Sequences,
    Symbol,
    check_symbols,
    code_type,
    no_symbol,
    occurring,
    plain_symbol,
    ready,
    symbol_list,
    translated,
)

_Found = tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]  # alphabet, codes, offsets

_WHAT = "sequences"
_POINTS = 0x110000
_RULE = "X must be a list of sequences, each a text or a list of symbols"
_NUMBER_HINT = " Read it as text, or put the symbols of each sequence into a list."


@dataclass(frozen=True)
class SequenceReader:
    """The reader of sequences.

    Parameters
    ----------
    column : str, optional
        The column of a frame that holds the sequences.
    rules : Rules
        Which values are the same symbol, and which are unknown.
    n_jobs : int, optional
        Threads.
    learned_column : str, optional
        The name of the training column; it is read if it is there and ``column`` names no other.
    """

    column: str | None
    rules: Rules
    n_jobs: int | None
    learned_column: str | None = None

    def split(self, X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None) -> Split:
        """Return (X, classes, weights, name of the target), where y may be the name of a column of X."""
        return split_column(X, y, sample_weight, known, _WHAT)

    def learned(self, estimator: Any, X: Frame, before: SequenceStatistics | None) -> Sequences:
        """Return training sequences."""
        reader = self if before is None else replace(self, learned_column=before.column)
        rows = reader.read(X, None)
        if not rows.n_rows:
            raise DataError("X must have at least one sequence; got 0 sample(s) while a minimum of 1 is required.")
        return rows

    def known(self, estimator: Any, X: Frame) -> Sequences:
        """Return sequences to predict; one warning names unseen symbols."""
        learned = inner_statistics(estimator.statistics_)
        reader = replace(self, learned_column=learned.column)
        row = reader.row(X)
        if reader.is_one(X):
            X = {name: [value] for name, value in row.items()} if isinstance(row, Mapping) else [row]
        rows = reader.read(X, estimator.target_name_)
        warn_unknown(self.rules.unknown(rows, learned.alphabet), learned.alphabet)
        return rows

    def is_one(self, X: object) -> bool:
        """Return whether X is one sequence: a text, a list of integers, or a row of a frame with one of these."""
        row = self.row(X)
        if not isinstance(row, Mapping):
            return _is_one(row)
        values = [row[self._name]] if self._name in row else list(row.values())
        return bool(values) and all(_is_one(v) or not isinstance(v, Sized) for v in values)

    def row(self, X: Any) -> Any:
        """Return a row of a pandas frame as a mapping; anything else unchanged."""
        is_row = self._name is not None and is_pandas(X, "Series") and self._name in X.index
        return dict(X.items()) if is_row else X

    @property
    def _name(self) -> str | None:
        return self.column if self.column is not None else self.learned_column

    def read(self, X: Frame, target: str | None) -> Sequences:
        """Return the sequences of the column that holds them."""
        found = chosen_column(X, self.column, target, _WHAT, before=self.learned_column, lists=True)
        return read_sequences(*found, self.n_jobs)


def warn_unknown(unknown: Sequence[Symbol], alphabet: tuple[Symbol, ...]) -> None:
    """Warn of symbols that a model does not know, if there are any."""
    if not unknown:
        return
    alike = {s.lower() for s in alphabet if isinstance(s, str)} & {str(s).lower() for s in unknown}
    hint = " ignore_case=True treats upper and lower case as the same." if alike else ""
    warn_user(f"unseen symbols count as missing: {symbol_list(unknown)}.{hint}", UnseenStateWarning)


def _is_one(X: object) -> bool:
    """Return whether X can only be one sequence: a text, or integers."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "iu" and X.size > 0
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(s, int | np.integer) and not isinstance(s, bool) for s in X)
    return isinstance(X, str)


# Columns


def read_sequences(X: Frame, column: str | None = None, n_jobs: int | None = None) -> Sequences:
    """Return the sequences of a list, array, Series or Arrow column, in the alphabet of what they hold.

    Examples
    --------
    >>> rows = read_sequences(["TATA", "GC"])
    >>> rows.alphabet, rows.codes.tolist(), rows.offsets.tolist()
    (('A', 'C', 'G', 'T'), [3, 0, 3, 0, 2, 1], [0, 4, 6])
    >>> read_sequences([[3, 1, None], []]).symbols(0)
    [3, 1, None]
    """
    if isinstance(X, str | bytes):
        raise DataError(f"{_RULE}; got one text. Put it into a list: [{shortened(repr(X), 20)}].")
    values = _as_column(X)
    if isinstance(values, pa.ChunkedArray):
        found = _from_arrow(values, n_jobs)
    elif isinstance(values, np.ndarray) and values.ndim == 2 and values.dtype.kind in "iu":
        offsets = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
        found = _coded(*np.unique(values, return_inverse=True), offsets)
    else:
        found = _from_objects(list(values))
    return Sequences(*found, column)


def _as_column(X: Any) -> Any:
    """Return X as an Arrow column if it is one or holds only texts, otherwise as an array or a list."""
    if isinstance(X, pa.ChunkedArray):
        return X
    if isinstance(X, pa.Array):
        return pa.chunked_array([X])
    if is_pandas(X, "Series"):
        X = X.to_numpy(object) if isinstance(X.dtype, np.dtype) else pa.chunked_array([pa.array(X, from_pandas=True)])
        return _as_column(X)
    if hasattr(X, "__arrow_c_stream__"):
        return pa.chunked_array(X)
    if isinstance(X, np.ndarray) and X.ndim in (1, 2):
        if X.ndim == 2 and X.dtype.kind in "iu":
            return X
        if X.ndim == 2 and X.shape[1] == 1 and all(isinstance(cell, str) or is_missing(cell) for cell in X[:, 0]):
            X = X[:, 0]  # a column of texts, not rows of one symbol
        X = X.astype(object).tolist() if X.dtype.kind == "U" else list(X)
    if not isinstance(X, Iterable) or hasattr(X, "shape") or isinstance(X, dict | set | frozenset):
        raise DataError(f"{_RULE}; got {shortened(repr(X))}.")
    rows = list(X)
    if not rows or not all(issubclass(kind, str) or kind in (float, type(None)) for kind in set(map(type, rows))):
        return rows  # Arrow would take bytes
    try:
        return pa.chunked_array([pa.array(rows, pa.large_string(), from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError):
        return rows


# Arrow


def _from_arrow(column: pa.ChunkedArray, n_jobs: int | None) -> _Found:
    column = _decoded(column)
    kind = column.type
    if is_text(kind):
        whole = column.cast(pa.large_string()).combine_chunks()
        whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
        return _from_texts(whole.fill_null("") if whole.null_count else whole, n_jobs)
    if pa.types.is_null(kind):
        return (), np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    if is_list(kind):
        return _from_lists(column.cast(pa.large_list(kind.value_type)))
    raise DataError(f"{_RULE}; got a column of {kind}.{_hint(kind)}")


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of a dictionary's values as these values; any other as it is."""
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    plain = pa.large_string() if is_text(kind.value_type) else kind.value_type  # Arrow takes nothing from string views
    return pa.chunked_array([chunk.dictionary.cast(plain).take(chunk.indices) for chunk in column.chunks], plain)


def _hint(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _NUMBER_HINT
    return " Decode the bytes into text first." if "binary" in str(kind) else ""


def _from_texts(texts: pa.LargeStringArray, n_jobs: int | None) -> _Found:
    """Return the characters of texts that have no nulls."""
    _, begins, data = texts.buffers()
    offsets = np.zeros(1, np.int64)
    if len(texts):
        offsets = np.frombuffer(begins, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    part, offsets = whole[offsets[0] : offsets[-1]], offsets - offsets[0]
    part.flags.writeable = False  # Arrow lets some buffers be written to; the kernels are compiled for one of the two
    seen = occurring(part, n_jobs)
    if len(seen) and seen[-1] > 127:
        return _from_points(part, offsets)
    lookup = np.zeros(256, np.uint8)
    lookup[seen] = np.arange(len(seen))
    return tuple(map(chr, seen.tolist())), translated(part, lookup, n_jobs), offsets


def _from_points(data: np.ndarray, offsets: np.ndarray) -> _Found:
    """Return the characters of UTF-8 texts that are not all ASCII."""
    points, ends = np.empty(len(data), np.int32), np.zeros(len(offsets), np.int64)
    points = points[: ready(decode_points, len(data))(data, offsets, points, ends)]
    marks = np.zeros(2 * _POINTS, np.bool_)
    marks[points] = True
    if marks[_POINTS:].any() or marks[0xD800:0xE000].any():
        raise DataError("texts must be UTF-8; got bytes that are not. Decode them with their encoding.")
    seen = np.flatnonzero(marks)
    lookup = np.zeros(_POINTS, code_type(len(seen)))
    lookup[seen] = np.arange(len(seen))
    return tuple(map(chr, seen.tolist())), lookup[points], ends


def _from_lists(column: pa.ChunkedArray) -> _Found:
    """Return the symbols of a column of lists; null among them is an unknown symbol, null itself an empty list."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    values = _decoded(pc.list_flatten(column)).combine_chunks()
    values = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
    if pa.types.is_nested(values.type):
        raise DataError(f"symbols must be text or integers; got a column of {column.type}. Turn them into text.")
    encoded = values.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    return _coded([*distinct, None], encoded.indices.fill_null(len(distinct)).to_numpy(), offsets)


# Lists


def _from_objects(rows: Sequence[Any]) -> _Found:
    pieces = [_symbols_of(row, number) for number, row in enumerate(rows, start=1)]
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in pieces], dtype=np.int64)]).astype(np.int64)
    flat = list(chain.from_iterable(pieces))
    try:
        place = {value: code for code, value in enumerate(dict.fromkeys(flat))}
    except TypeError:
        odd = next(v for v in flat if not getattr(type(v), "__hash__", None) or isinstance(v, list | tuple))
        raise DataError(f"symbols must be text or integers; got {shortened(repr(odd))}.") from None
    codes = np.fromiter((place[v] for v in flat), np.int64, len(flat))
    return _coded(list(place), codes, offsets)


def _symbols_of(row: object, number: int) -> Sequence[Any]:
    if isinstance(row, str):
        return list(row)
    if isinstance(row, np.ndarray) and row.ndim == 1:
        return row.tolist()
    if hasattr(row, "to_pylist"):
        return list(row.to_pylist())
    if isinstance(row, bytes | bytearray):
        raise DataError(f"{_RULE}; row {number} holds bytes. Decode them: {shortened(repr(row), 20)}.decode().")
    if isinstance(row, Iterable) and not isinstance(row, dict | set | frozenset):
        return list(row)
    if is_missing(row):
        return []
    hint = _NUMBER_HINT if isinstance(row, int | float) else ""
    raise DataError(f"{_RULE}; row {number} is {shortened(repr(row))}.{hint}")


def _coded(distinct: Iterable[object], codes: np.ndarray, offsets: np.ndarray) -> _Found:
    """Return codes in a sorted alphabet; equal symbols are merged, and None becomes unknown."""
    symbols = [plain_symbol(v) for v in distinct]
    known = {s for s in symbols if s is not None}
    check_symbols(known)
    alphabet = tuple(sorted(known))
    place = {s: code for code, s in enumerate(alphabet)}
    lookup = [no_symbol(len(alphabet)) if s is None else place[s] for s in symbols]
    return alphabet, np.array(lookup, code_type(len(alphabet)))[codes.reshape(-1)], offsets
