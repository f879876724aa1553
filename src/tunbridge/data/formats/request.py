"""What is requested of a table file, and what every format does alike with columns of text and missing markers.

A marker is looked for among the distinct texts of a column, not in every row, so counting how often each occurs costs
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import check_known
from tunbridge.data.arrow import is_text
from tunbridge.data.columns import Column, Kind, code_type, infer_column
from tunbridge.data.formats.source import Source
from tunbridge.data.frames import check_column_names, column_kinds
from tunbridge.data.reading import DEFAULT_MISSING, Reading
from tunbridge.data.table import Table
from tunbridge.data.values import FEW_ROWS
from tunbridge.data.variable import MISSING, Variable
from tunbridge.errors import DataError

_POOL = 1 << 16


class TableFormat(Protocol):
    """A format of table files: register a class with these two functions by ``@table_format``."""

    @staticmethod
    def read(source: Source, request: Request) -> Table:
        """Return the table in a file."""

    @staticmethod
    def batches(source: Source, request: Request) -> Iterator[pa.Table | pa.RecordBatch]:
        """Yield the rows of a file, ``request.numbers`` as numbers where the format can; batches of any size."""


@dataclass(frozen=True)
class Request:
    """What is to be read: which columns, of which kinds, with which missing markers, delimiter and header.

    ``reading`` says how another file was read, ``day_first`` whether dates that do not tell have the day before the
    month, ``decimal`` which mark numbers that do not tell have, ``given_missing`` which markers were asked for.
    ``numbers`` and ``batch_rows`` are for reading in batches.
    """

    columns: Sequence[str] | Callable[[list[str]], Sequence[str]] | None = None
    kinds: Mapping[str, Kind] | Kind | None = None
    weights: str | None = None
    missing: tuple[str, ...] = DEFAULT_MISSING
    delimiter: str | None = None
    numbers: Collection[str] = ()
    batch_rows: int = 65536
    header: bool | None = None
    reading: Reading | None = None
    day_first: bool | None = None
    given_missing: tuple[str, ...] = ()
    decimal: str | None = None

    @property
    def guesses_markers(self) -> bool:
        """Whether texts such as ``n/a`` are missing in columns of numbers: unless a default marker is a value."""
        return set(DEFAULT_MISSING) <= set(self.missing)

    @property
    def own_missing(self) -> tuple[str, ...]:
        """The markers to look for in formats that have a null of their own: only those that were given."""
        return tuple(m for m in self.missing if m in self.given_missing or m not in DEFAULT_MISSING)

    def as_text(self, names: Sequence[str]) -> set[str]:
        """Return the columns that are to be categorical, and so are read as text."""
        if self.kinds is None:
            return set()
        return {name for name, kind in column_kinds(self.kinds, names).items() if kind == "categorical"}

    def kinds_of(self, names: Sequence[str]) -> dict[str, Kind]:
        """Return the kinds of columns that are given, or were found before."""
        asked = column_kinds(self.kinds, names) if self.kinds is not None else {}
        if self.reading is None:
            return asked
        known: dict[str, Any] = {name: kind for name, kind in self.reading.kinds.items() if name in names}
        return {**known, **asked}

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the columns to be read, including the weights."""
        check_column_names(names)
        if isinstance(self.columns, str):
            raise DataError(f"columns must be a list of names; got the text {self.columns!r}.")
        wanted = self.columns(list(names)) if callable(self.columns) else self.columns
        chosen = list(names if wanted is None else wanted)
        if not chosen:
            raise DataError(f"{'columns' if names else 'a file'} must name at least one column; got none.")
        known = dict.fromkeys(names)
        check_known("columns must name columns of the file", chosen, known)
        check_column_names(chosen)
        if self.weights is None or self.weights in chosen:
            return chosen
        check_known("weights must name columns of the file", [self.weights], known)
        return [*chosen, self.weights]


def text_column(name: str, values: pa.ChunkedArray) -> Column:
    """Return a column of text without nulls as codes; its states are sorted.

    Examples
    --------
    >>> column = text_column("sky", pa.chunked_array([["red", "blue", "red"]]))
    >>> column.variable.states, column.values.tolist()
    (('blue', 'red'), [1, 0, 1])
    """
    if len(values) <= FEW_ROWS:
        found = values.to_pylist()
        place = {text: code for code, text in enumerate(sorted(set(found)))}
        codes = np.array([place[text] for text in found], code_type(len(place)))
        return Column(Variable(name, tuple(place)), codes, pa.string())
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
    """Return the texts that a numeric column reads as NaN, which is missing as well."""
    return [str(s) for s in column.variable.states or () if str(s).strip().lstrip("+-").lower() == "nan"]


def holds_text(arrow_type: pa.DataType) -> bool:
    """Return whether a column of this type holds text, in a dictionary or not."""
    return is_text(arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type)


def nulled(values: pa.ChunkedArray, markers: Collection[str]) -> pa.ChunkedArray:
    """Return text in which the markers are null."""
    texts = values.cast(pa.string())
    marked = pc.is_in(texts, pa.array(list(markers), pa.string()))
    return pc.if_else(marked, pa.scalar(None, pa.string()), texts)


def typed_table(
    values: Mapping[str, pa.ChunkedArray],
    request: Request,
    *,
    kinds: Mapping[str, Kind] | None = None,
    nulls: Mapping[str, Mapping[str, int]] | None = None,
) -> Table:
    """Return a table of columns that have types and nulls; given missing markers also count in columns of text.

    ``kinds`` are those that the file declares, ``nulls`` the markers that the file's reader has found already.
    """
    kinds = {**(kinds or {}), **column_kinds(request.kinds, list(values))}
    found = {name: dict(counts) for name, counts in (nulls or {}).items()}
    markers, parts = request.own_missing, []
    for name, column in values.items():
        if markers and kinds.get(name) == "continuous" and holds_text(column.type):
            column = nulled(column, markers)
        part, counts = without_markers(infer_column(name, column, kinds.get(name)), markers)
        parts.append(part)
        if counts:
            found[name] = found.get(name, {}) | counts
    return Table.of(parts, read_as_missing=found)


def _dictionary(values: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct texts, in no order, and which of them each row holds."""
    if not pa.types.is_dictionary(values.type):
        values = pc.dictionary_encode(values)
    unified = values.unify_dictionaries()
    codes = [chunk.indices.to_numpy() for chunk in unified.chunks]
    return unified.chunk(0).dictionary, np.concatenate(codes)


def _few_texts(values: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray] | None:
    """Return the same for a column with few distinct texts, in half the time; ``None`` when they are too many."""
    from tunbridge.kernels.text.tokens import SLOTS, encode_texts

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
