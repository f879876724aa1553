"""Sequences of symbols as the learners take them: one array of codes, end to end, and where each sequence begins.

The alphabet is that of the data, in which nothing is put together or left out yet: what a model does with each symbol
(which it knows, which are gaps, whether capitals matter) is a lookup from these codes to its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.rows.keys import seeded, text_key
from tunbridge.data import Variable
from tunbridge.kernels.compiled import is_compiled

Symbol = str | int

_SMALL_CODES = 255
_PIECE = 1 << 20
_FEW = 2_000  # symbols that are dealt with sooner than a compiler is


def code_type(n_symbols: int) -> type[np.uint8] | type[np.int32]:
    """Return the type of codes of so many symbols."""
    return np.uint8 if n_symbols <= _SMALL_CODES else np.int32


def no_symbol(n_symbols: int) -> int:
    """Return the code of what is no symbol: the largest there is, so that it is beyond every alphabet."""
    return int(np.iinfo(code_type(n_symbols)).max)


def ready(kernel: Any, size: int) -> Callable[..., Any]:
    """Return a kernel, or for small work that would have to wait for the compiler the Python behind it."""
    return kernel if size > _FEW or is_compiled(kernel) else kernel.py_func


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of symbols.

    Parameters
    ----------
    alphabet : tuple of str or int
        The symbols that occur, sorted.
    codes : ndarray of uint8 or int32
        The symbols of all sequences, end to end; what is unknown has the largest code of the type.
    offsets : ndarray of int64, of shape (n_rows + 1,)
        Where the sequences begin and end.
    column : str, optional
        What the column was called.
    expected : tuple of str or int
        Symbols that count as met, whether they occur or not.

    Examples
    --------
    >>> rows = Sequences(("A", "C"), np.array([0, 1, 0], np.uint8), np.array([0, 2, 3]))
    >>> rows.n_rows, rows.symbols(0), rows.take(np.array([1])).symbols(0)
    (2, ['A', 'C'], ['A'])
    """

    alphabet: tuple[Symbol, ...]
    codes: np.ndarray
    offsets: np.ndarray
    column: str | None = None
    expected: tuple[Symbol, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features: a sequence is not a row of cells."""
        return ()

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a sequence and count what it holds."""
        return 16.0 * len(self.codes) / max(1, self.n_rows)

    @property
    def lengths(self) -> np.ndarray:
        """The number of symbols of each sequence, unknown ones included."""
        return np.diff(self.offsets)

    def met(self, n_jobs: int | None = None) -> tuple[Symbol, ...]:
        """Return the symbols that occur; of rows that were taken from others these may be fewer than the alphabet."""
        from tunbridge.kernels.sequences import mark_bytes

        if self.codes.dtype != np.uint8:
            seen = np.unique(self.codes)
        else:
            pieces = row_pieces(len(self.codes), _PIECE)
            marks, mark = np.zeros((len(pieces), 256), np.bool_), ready(mark_bytes, len(self.codes))
            map_threads(lambda i: mark(self.codes[slice(*pieces[i])], marks[i]), range(len(pieces)), n_jobs)
            seen = np.flatnonzero(marks.any(axis=0))
        return tuple(self.alphabet[code] for code in seen.tolist() if code < len(self.alphabet))

    def with_expected(self, weights: np.ndarray | None, n_jobs: int | None = None) -> Sequences:
        """Return the same sequences, in parts of which all symbols count as met that occur in the whole."""
        some = self if weights is None else self.take(weights > 0)
        return replace(self, expected=some.met(n_jobs))

    def symbols(self, row: int) -> list[Symbol | None]:
        """Return the symbols of one sequence; None where one is unknown."""
        names, codes = (*self.alphabet, None), self.codes[self.offsets[row] : self.offsets[row + 1]]
        return [names[code] for code in np.minimum(codes, len(self.alphabet)).tolist()]

    def rows(self, start: int, stop: int) -> Sequences:
        """Return some of the sequences."""
        offsets = self.offsets[start : stop + 1]
        return replace(self, codes=self.codes[offsets[0] : offsets[-1]], offsets=offsets - offsets[0])

    def take(self, which: np.ndarray) -> Sequences:
        """Return the sequences that a mask or positions name, in their order."""
        from tunbridge.kernels.sequences import gather_rows

        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        offsets = np.zeros(len(positions) + 1, np.int64)
        np.cumsum(self.lengths[positions], out=offsets[1:])
        codes = np.empty(offsets[-1], self.codes.dtype)
        ready(gather_rows, len(codes))(self.codes, self.offsets[:-1][positions], offsets, codes)
        return replace(self, codes=codes, offsets=offsets)

    def keys(self, seed: int) -> np.ndarray:
        """Return a number for each sequence that follows from its symbols, equal for equal ones, else as if drawn."""
        from tunbridge.kernels.sequences import hash_rows

        marks = np.array([*(text_key(f"{type(s).__name__}\0{s}") for s in self.alphabet), 0], np.uint64)
        found = np.empty(self.n_rows, np.uint64)
        hash_rows(self.codes, self.offsets, marks, found)
        return seeded(found, seed)

    def as_known_to(self, learned: Sequences) -> Sequences:
        """Return the same sequences: a model looks symbols up by themselves, and so knows those it has learned."""
        return self

    def recoded(self, lookup: np.ndarray, n_symbols: int, n_jobs: int | None = None) -> np.ndarray:
        """Return codes in another alphabet; ``lookup`` has that of each symbol, and at the end that of no symbol."""
        from tunbridge.kernels.sequences import translate_bytes

        wanted = code_type(n_symbols)
        if lookup.dtype == self.codes.dtype and np.array_equal(lookup[:-1], np.arange(len(lookup) - 1)):
            return self.codes
        out = np.empty(len(self.codes), wanted)
        if self.codes.dtype != np.uint8 or wanted != np.uint8:
            return np.take(lookup, np.minimum(self.codes, len(lookup) - 1), out=out)
        full = np.full(256, lookup[-1], np.uint8)
        full[: len(lookup) - 1] = lookup[:-1]
        run = ready(translate_bytes, len(out))

        def part(piece: tuple[int, int]) -> None:
            run(self.codes[slice(*piece)], full, out[slice(*piece)])

        map_threads(part, row_pieces(len(out), _PIECE), n_jobs)
        return out


def cut_spans(offsets: np.ndarray, size: int = _PIECE) -> tuple[np.ndarray, np.ndarray]:
    """Return spans (row, first, stop) of sequences, long ones cut to a size, and where runs of some 10⁶ symbols begin.

    Both follow from the sequences alone, not from the number of threads.
    """
    lengths = np.diff(offsets)
    n_parts = np.maximum(1, -(-lengths // size))
    rows = np.repeat(np.arange(len(lengths)), n_parts)
    part = np.arange(len(rows)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    first = offsets[rows] + part * size
    stop = np.minimum(first + size, offsets[rows + 1])
    run = (np.cumsum(stop - first + 1) - 1) // _PIECE
    begins = np.flatnonzero(np.diff(run, prepend=-1))
    return np.column_stack([rows, first, stop]), np.append(begins, len(rows))


def runs_of(begins: np.ndarray) -> list[slice]:
    """Return where the spans of each run stand."""
    return [slice(a, b) for a, b in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True)]
