"""Sequences of any make, in: texts, lists, arrays, Series, Arrow columns.

A text is a sequence of its characters. They are found in its UTF-8 bytes: where all are below 128, a byte is a
character, and a table of 256 codes does the rest; otherwise the bytes are decoded first. Anything else that holds one
value after the other, texts or whole numbers, is a sequence of these. None, NaN and null are unknown symbols in a
sequence, and in the place of a sequence they are one without symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._check import listed, shortened
from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.rows.one_column import is_list
from tunbridge.data.arrow import is_pandas, is_text
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.sequences.sequence_rows import Sequences, Symbol, code_type, no_symbol, ready

_PIECE = 1 << 22
_POINTS = 0x110000
_RULE = "X must be a list of sequences, each a text or a list of symbols"


def read_sequences(X: Any, column: str | None = None, n_jobs: int | None = None) -> Sequences:
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


def symbol_kind(symbols: Iterable[Symbol]) -> None:
    """Raise unless symbols are all text or all whole numbers."""
    symbols = list(symbols)
    if len({isinstance(s, str) for s in symbols}) > 1:
        text = next(s for s in symbols if isinstance(s, str))
        number = next(s for s in symbols if not isinstance(s, str))
        raise DataError(
            f"symbols must be all text or all whole numbers; got {text!r} and {number!r}. Turn them all into text."
        )


def plain_symbol(value: Any) -> Symbol | None:
    """Return a value as a symbol, None where it is missing; raise for what can be none."""
    if type(value) is str:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    hint = "Cut numbers into intervals first." if isinstance(value, float) else "Turn it into text first."
    raise DataError(f"symbols must be text or whole numbers; got {shortened(repr(value))}. {hint}")


def _as_column(X: Any) -> Any:
    """Return X as an Arrow column where it is one or holds texts only, as an array or a list otherwise."""
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
    return _texts(list(X))


def _texts(rows: list[Any]) -> Any:
    """Return a list of texts as an Arrow column; a list of anything else as it is."""
    if not rows or not all(issubclass(kind, str) or kind in (float, type(None)) for kind in set(map(type, rows))):
        return rows  # Arrow would take bytes
    try:
        return pa.chunked_array([pa.array(rows, pa.large_string(), from_pandas=True)])
    except (pa.ArrowException, TypeError, ValueError):
        return rows


# Arrow


def _from_arrow(column: pa.ChunkedArray, n_jobs: int | None) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
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
        return " Read it as text, or put the symbols of each sequence into a list."
    return " Decode the bytes into text first." if "binary" in str(kind) else ""


def _from_texts(texts: pa.LargeStringArray, n_jobs: int | None) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
    """Return the characters of texts without nulls."""
    from tunbridge.kernels.sequences import mark_bytes, translate_bytes

    _, begins, data = texts.buffers()
    offsets = np.zeros(1, np.int64)
    if len(texts):
        offsets = np.frombuffer(begins, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    part = whole[offsets[0] : offsets[-1]]
    part.flags.writeable = False  # Arrow lets some buffers be written to; the kernels are compiled for one of the two
    offsets, pieces = offsets - offsets[0], row_pieces(len(part), _PIECE)
    marks = np.zeros((max(1, len(pieces)), 256), np.bool_)
    mark, translate = ready(mark_bytes, len(part)), ready(translate_bytes, len(part))
    map_threads(lambda i: mark(part[slice(*pieces[i])], marks[i]), range(len(pieces)), n_jobs)
    seen = np.flatnonzero(marks.any(axis=0))
    if len(seen) and seen[-1] > 127:
        return _from_points(part, offsets)
    lookup, codes = np.zeros(256, np.uint8), np.empty(len(part), np.uint8)
    lookup[seen] = np.arange(len(seen))
    map_threads(lambda p: translate(part[slice(*p)], lookup, codes[slice(*p)]), pieces, n_jobs)
    return tuple(map(chr, seen.tolist())), codes, offsets


def _from_points(data: np.ndarray, offsets: np.ndarray) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
    """Return the characters of UTF-8 texts that are not all ASCII."""
    from tunbridge.kernels.sequences import decode_points

    points, ends = np.empty(len(data), np.int32), np.zeros(len(offsets), np.int64)
    points = points[: ready(decode_points, len(data))(data, offsets, points, ends)]
    marks = np.zeros(2 * _POINTS, np.bool_)
    marks[points] = True
    if marks[_POINTS:].any() or marks[0xD800:0xE000].any():
        raise DataError("texts must be UTF-8; got bytes that are not. Decode them with the encoding they have.")
    seen = np.flatnonzero(marks)
    lookup = np.zeros(_POINTS, code_type(len(seen)))
    lookup[seen] = np.arange(len(seen))
    return tuple(map(chr, seen.tolist())), lookup[points], ends


def _from_lists(column: pa.ChunkedArray) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
    """Return the symbols of a column of lists; null among them is an unknown symbol, null itself an empty list."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    values = _decoded(pc.list_flatten(column)).combine_chunks()
    values = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
    if pa.types.is_nested(values.type):
        raise DataError(f"symbols must be text or whole numbers; got a column of {column.type}. Turn them into text.")
    encoded = values.dictionary_encode()
    distinct = [plain_symbol(v) for v in encoded.dictionary.to_pylist()]
    codes = encoded.indices.fill_null(len(distinct)).to_numpy()
    return _coded([*distinct, None], codes, offsets)


# Lists


def _from_objects(rows: Sequence[Any]) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
    pieces = [_symbols_of(row, number) for number, row in enumerate(rows, start=1)]
    offsets = np.concatenate([[0], np.cumsum([len(p) for p in pieces], dtype=np.int64)]).astype(np.int64)
    flat = list(chain.from_iterable(pieces))
    try:
        place = {value: code for code, value in enumerate(dict.fromkeys(flat))}
    except TypeError:
        odd = next(v for v in flat if not getattr(type(v), "__hash__", None) or isinstance(v, list | tuple))
        raise DataError(f"symbols must be text or whole numbers; got {shortened(repr(odd))}.") from None
    codes = np.fromiter((place[v] for v in flat), np.int64, len(flat))
    return _coded([plain_symbol(v) for v in place], codes, offsets)


def _symbols_of(row: Any, number: int) -> Sequence[Any]:
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
    hint = " Read it as text, or put the symbols of each sequence into a list." if isinstance(row, int | float) else ""
    raise DataError(f"{_RULE}; row {number} is {shortened(repr(row))}.{hint}")


def _coded(distinct: Any, codes: np.ndarray, offsets: np.ndarray) -> tuple[tuple[Symbol, ...], np.ndarray, np.ndarray]:
    """Return codes in a sorted alphabet; values that are one symbol become one, and None no symbol."""
    symbols = [plain_symbol(v) for v in distinct]
    known = {s for s in symbols if s is not None}
    symbol_kind(known)
    alphabet = tuple(sorted(known))
    place = {s: code for code, s in enumerate(alphabet)}
    lookup = [no_symbol(len(alphabet)) if s is None else place[s] for s in symbols]
    return alphabet, np.array(lookup, code_type(len(alphabet)))[codes.reshape(-1)], offsets


def told_symbols(symbols: Iterable[Symbol]) -> str:
    """Return symbols as a message lists them."""
    return listed(sorted(symbols), most=10)
