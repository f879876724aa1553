"""Columns of text from a file: each distinct text once, sorted, and a code a row; missing markers found among them.

A marker is looked for among the distinct texts, not in every row, so that it costs nothing to know how often each one
occurs.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge.data.arrow import is_text
from tunbridge.data.columns import Column, code_type
from tunbridge.data.variable import MISSING, Variable

_POOL = 1 << 16


def text_column(name: str, values: pa.ChunkedArray) -> Column:
    """Return a column of text without nulls as codes; its states are sorted.

    Examples
    --------
    >>> column = text_column("sky", pa.chunked_array([["red", "blue", "red"]]))
    >>> column.variable.states, column.values.tolist()
    (('blue', 'red'), [1, 0, 1])
    """
    short = None if pa.types.is_dictionary(values.type) else _few_texts(values)
    texts, codes = short or _dictionary(values)
    order = pc.sort_indices(texts)  # by bytes, which in UTF-8 is by characters
    rank = np.empty(len(texts), code_type(len(texts)))
    rank[order.to_numpy()] = np.arange(len(texts))
    return Column(Variable(name, texts.take(order).to_pylist()), rank.take(codes, mode="clip"), pa.string())


def without_markers(column: Column, markers: Collection[str]) -> tuple[Column, dict[str, int]]:
    """Return a column in which the states that are markers are missing, and how often each was found."""
    variable, values, arrow_type = column
    states = variable.states or ()
    if not frozenset(markers).intersection(states):
        return column, {}
    kept = [code for code, state in enumerate(states) if state not in markers]
    lookup = np.full(len(states) + 1, MISSING, code_type(len(kept)))
    lookup[kept] = np.arange(len(kept))
    slim = Variable(variable.name, [states[code] for code in kept], variable.ordered)
    return Column(slim, lookup[values], arrow_type), marker_counts(column, markers)


def marker_counts(column: Column, markers: Collection[str]) -> dict[str, int]:
    """Return how often each state that is a marker occurs."""
    marked = {state: code for code, state in enumerate(column.variable.states or ()) if state in markers}
    counts = {str(state): int(np.count_nonzero(column.values == code)) for state, code in marked.items()}
    return {state: n for state, n in counts.items() if n}


def texts_of_nan(column: Column) -> list[str]:
    """Return the states that a column of numbers takes for NaN, which is missing there as well."""
    return [str(s) for s in column.variable.states or () if str(s).strip().lstrip("+-").lower() == "nan"]


def holds_text(arrow_type: pa.DataType) -> bool:
    """Return whether a column of this type holds text, in a dictionary or not."""
    return is_text(arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type)


def nulled(values: pa.ChunkedArray, markers: Collection[str]) -> pa.ChunkedArray:
    """Return text in which the markers are null."""
    texts = values.cast(pa.string())
    marked = pc.is_in(texts, pa.array(list(markers), pa.string()))
    return pc.if_else(marked, pa.scalar(None, pa.string()), texts)


def _dictionary(values: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct texts, in no order, and which of them each row holds."""
    if not pa.types.is_dictionary(values.type):
        values = pc.dictionary_encode(values)
    unified = values.unify_dictionaries()
    codes = [chunk.indices.to_numpy() for chunk in unified.chunks]
    return unified.chunk(0).dictionary, np.concatenate(codes)


def _few_texts(values: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray] | None:
    """Return the same for a column with few distinct texts, in half the time; ``None`` when they are too many."""
    from tunbridge.kernels.text import SLOTS, encode_texts

    keys, slots = np.empty(SLOTS, np.uint64), np.full(SLOTS, -1, np.int16)
    pool, ends, known = np.empty(_POOL, np.uint8), np.zeros(SLOTS // 4 + 1, np.int64), np.zeros(1, np.int64)
    codes, at = np.empty(len(values), np.int16), 0
    for chunk in values.chunks:
        out = codes[at : at + len(chunk)]
        if not encode_texts(*_offsets_and_bytes(chunk), keys, slots, pool, ends, known, out):
            return None
        at += len(chunk)
    texts = [bytes(pool[ends[i] : ends[i + 1]]).decode() for i in range(known[0])]
    return pa.array(texts, pa.string()), codes


def _offsets_and_bytes(chunk: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = chunk.buffers()
    starts = np.frombuffer(offsets, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    texts = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    # Arrow lets some buffers be written to and others not; the kernel is compiled for one of the two only.
    starts.flags.writeable = texts.flags.writeable = False
    return starts, texts
