"""What is requested of a table file, and what every format does alike with columns of text and missing markers.

A marker is looked for among the distinct texts of a column, not in every row, so counting how often each occurs costs
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge._core.check import check_known
from tunbridge.data.arrow import is_text
from tunbridge.data.columns import Column, Kind, code_type, infer_column
from tunbridge.data.formats.source import Source
from tunbridge.data.formats.spelling import Spelling, date_words, known_spellings, misfit, parsed
from tunbridge.data.frames import check_column_names, column_kinds
from tunbridge.data.reading import DEFAULT_MISSING, Reading, is_odd
from tunbridge.data.table import Table
from tunbridge.data.values import FEW_ROWS
from tunbridge.data.variable import MISSING, Variable, number_of
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


def respelled(
    name: str, values: pa.ChunkedArray | pa.Array, spelling: Spelling, done: int = 0, *, or_plain: bool = False
) -> pa.ChunkedArray | pa.Array:
    """Return a column of text as the numbers or dates that it spells; raise with the row for what is neither.

    ``or_plain`` also takes plain numbers and ISO dates, if all values are; ``done`` is the number of rows before.
    """
    texts = nulled(values, spelling.markers)
    found = parsed(texts, spelling)
    if holds_text(found.type):
        texts = nulled(texts, [text for text in texts.unique().to_pylist() if text and is_odd(text)])
        found = parsed(texts, spelling)
    if holds_text(found.type) and or_plain:
        with suppress(pa.ArrowInvalid):
            return texts.cast(pa.timestamp("s") if spelling.date else pa.float64())
    if holds_text(found.type) and texts.null_count < len(texts):
        raise misspelled(name, texts, spelling, done)
    return found


def misspelled(name: str, texts: pa.ChunkedArray | pa.Array, spelling: Spelling, done: int) -> DataError:
    """Return the error that names the first value that is not written like the others."""
    at = misfit(texts, spelling)
    what = f"numbers with {spelling.numbers}" if spelling.numbers else f"dates as {date_words(spelling.date or '')}"
    return DataError(
        f"column {name!r} must hold {what}; row {done + at + 1} holds {texts[at].as_py()!r}. "
        "Correct it or leave the cell empty."
    )


def unmarked(
    values: pa.ChunkedArray | pa.Array, markers: Sequence[str]
) -> tuple[pa.ChunkedArray | pa.Array, dict[str, int]]:
    """Return a column of numbers in which those that are markers are null, and how often each was found.

    Examples
    --------
    >>> values, counts = unmarked(pa.array([31, -99, 62]), ("NA", "-99", "-99.0"))
    >>> values.to_pylist(), counts
    ([31, None, 62], {'-99': 1})
    """
    if not markers or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return values, {}
    marked = {float(n): mark for mark in reversed(markers) if (n := number_of(mark)) is not None and np.isfinite(n)}
    floats = values.cast(pa.float64(), safe=False)
    counts = {mark: pc.sum(pc.equal(floats, n)).as_py() or 0 for n, mark in marked.items()}
    found = {mark: n for mark, n in counts.items() if n}
    if not found:
        return values, {}
    wrong = pc.is_in(floats, pa.array(list(marked), pa.float64()))
    return pc.if_else(wrong, pa.scalar(None, values.type), values), found


def typed_table(
    values: Mapping[str, pa.ChunkedArray],
    request: Request,
    *,
    kinds: Mapping[str, Kind] | None = None,
    nulls: Mapping[str, Mapping[str, int]] | None = None,
) -> Table:
    """Return a table of columns that have types and nulls; given missing markers count in text and among numbers.

    ``kinds`` are those that the file declares, ``nulls`` the markers that the file's reader has found already. Text in
    columns that another table had as numbers or dates is read as it was there.
    """
    kinds = {**(kinds or {}), **request.kinds_of(list(values))}
    found = {name: dict(counts) for name, counts in (nulls or {}).items()}
    markers, parts, spellings = request.own_missing, [], known_spellings(request.reading)
    for name, column in values.items():
        if holds_text(column.type) and kinds.get(name) == "continuous":
            column = nulled(column, markers) if markers else column
            column = respelled(name, column, spellings[name], or_plain=True) if name in spellings else column
        column, numbers = unmarked(column, markers)
        part, counts = without_markers(infer_column(name, column, kinds.get(name)), markers)
        parts.append(part)
        if numbers or counts:
            found[name] = found.get(name, {}) | numbers | counts
    table = Table.of(parts, read_as_missing=found)
    return table.with_reading(_typed_record(table, request))


def _typed_record(table: Table, request: Request) -> Reading:
    """Return how a table was read from a file with types of its own, so that others are read alike."""
    if request.reading is not None:
        return replace(request.reading, missing=request.missing)
    return Reading(
        names=table.names,
        missing=request.missing,
        text=tuple(v.name for v in table.variables if v.states and isinstance(v.states[0], str)),
        kinds={v.name: "categorical" if v.is_categorical else "continuous" for v in table.variables},
    )


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
