"""Sequences of symbols: one array of codes, end to end, and where each sequence begins.

The alphabet of :class:`Sequences` is that of the data. What a model makes of each symbol is a lookup from these codes
to its own: its alphabet is given, or learned from the training sequences. Gap symbols, and symbols that the model has
not learned, are unknown: they add nothing, and contexts start again behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tunbridge._core.check import listed, shortened
from tunbridge._core.hashing import seeded, text_key
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.data import Variable
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.kernels.text import sequences as kernels
from tunbridge.kernels.text.sequences import Coded

Symbol = str | int

PIECE = 1 << 20
"""Symbols that a thread takes at a time."""

_SMALL_CODES = 255
_FEW = 2_000  # symbols that take less time in Python than compiling a kernel does


def ready(kernel: compiled.Kernel, size: int) -> Callable[..., Any]:
    """Return a kernel, or its Python function for few symbols."""
    return compiled.ready(kernel, size, _FEW)


def code_type(n_symbols: int) -> type[np.uint8] | type[np.int32]:
    """Return the type of the codes of an alphabet."""
    return np.uint8 if n_symbols <= _SMALL_CODES else np.int32


def no_symbol(n_symbols: int) -> int:
    """Return the code of an unknown symbol: the largest of the type, beyond every alphabet."""
    return int(np.iinfo(code_type(n_symbols)).max)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of symbols.

    Parameters
    ----------
    alphabet : tuple of str or int
        The symbols that occur, sorted.
    codes : ndarray of uint8 or int32
        The symbols of all sequences, end to end; an unknown symbol has the largest code of the type.
    offsets : ndarray of int64, of shape (n_rows + 1,)
        Where the sequences begin and end.
    column : str, optional
        The name of the column.
    expected : tuple of str or int
        Symbols that are part of the alphabet whether they occur or not.

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

    variables: ClassVar[tuple[Variable, ...]] = ()  # a sequence has no features

    @property
    def n_rows(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a sequence and count its symbols."""
        return 16.0 * len(self.codes) / max(1, self.n_rows)

    @property
    def lengths(self) -> np.ndarray:
        """The number of symbols of each sequence, including unknown ones."""
        return np.diff(self.offsets)

    def met(self, n_jobs: int | None = None) -> tuple[Symbol, ...]:
        """Return the symbols that occur; a part of other sequences may have fewer than the alphabet."""
        seen = occurring(self.codes, n_jobs) if self.codes.dtype == np.uint8 else np.unique(self.codes)
        return tuple(self.alphabet[code] for code in seen.tolist() if code < len(self.alphabet))

    def with_expected(self, weights: np.ndarray | None, n_jobs: int | None = None) -> Sequences:
        """Return the same sequences; any part of them will have all symbols of the whole in its alphabet."""
        some = self if weights is None else self.take(weights > 0)
        return replace(self, expected=some.met(n_jobs))

    def symbols(self, row: int) -> list[Symbol | None]:
        """Return the symbols of one sequence; None for an unknown one."""
        names, codes = (*self.alphabet, None), self.codes[self.offsets[row] : self.offsets[row + 1]]
        return [names[code] for code in np.minimum(codes, len(self.alphabet)).tolist()]

    def rows(self, start: int, stop: int) -> Sequences:
        """Return consecutive sequences."""
        offsets = self.offsets[start : stop + 1]
        return replace(self, codes=self.codes[offsets[0] : offsets[-1]], offsets=offsets - offsets[0])

    def take(self, which: np.ndarray) -> Sequences:
        """Return the sequences that a mask or positions select, in their order."""
        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        offsets = np.zeros(len(positions) + 1, np.int64)
        np.cumsum(self.lengths[positions], out=offsets[1:])
        codes = np.empty(offsets[-1], self.codes.dtype)
        ready(kernels.gather_rows, len(codes))(self.codes, self.offsets[:-1][positions], offsets, codes)
        return replace(self, codes=codes, offsets=offsets)

    def keys(self, seed: int) -> np.ndarray:
        """Return a pseudo-random number for each sequence; equal sequences have equal numbers."""
        marks = np.array([*(text_key(f"{type(s).__name__}\0{s}") for s in self.alphabet), 0], np.uint64)
        found = np.empty(self.n_rows, np.uint64)
        kernels.hash_rows(self.codes, self.offsets, marks, found)
        return seeded(found, seed)

    def as_known_to(self, learned: Sequences) -> Sequences:
        """Return the same sequences: a model looks symbols up itself."""
        return self

    def coded(self, rules: Rules, alphabet: tuple[Symbol, ...], n_jobs: int | None = None) -> Coded:
        """Return the sequences in the codes of a model's alphabet, as kernels take them."""
        codes = self._codes_in(rules, alphabet, n_jobs)
        known = np.zeros(self.n_rows, np.bool_)
        ready(kernels.mark_known, self.n_rows)(codes, self.offsets, len(alphabet), known)
        return Coded(codes, self.offsets, known)

    def _codes_in(self, rules: Rules, alphabet: tuple[Symbol, ...], n_jobs: int | None = None) -> np.ndarray:
        """Return the codes in another alphabet."""
        place = {symbol: code for code, symbol in enumerate(alphabet)}
        unknown, kind = no_symbol(len(alphabet)), code_type(len(alphabet))
        lookup = np.array([*(place.get(rules.symbol(s), unknown) for s in self.alphabet), unknown], kind)
        if lookup.dtype == self.codes.dtype and np.array_equal(lookup[:-1], np.arange(len(lookup) - 1)):
            return self.codes
        if self.codes.dtype != np.uint8 or kind != np.uint8:
            return np.take(lookup, np.minimum(self.codes, len(lookup) - 1))
        full = np.full(256, lookup[-1], np.uint8)
        full[: len(lookup) - 1] = lookup[:-1]
        return translated(self.codes, full, n_jobs)


def occurring(data: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return the bytes that occur, sorted."""
    pieces = row_pieces(len(data), PIECE)
    marks, mark = np.zeros((max(1, len(pieces)), 256), np.bool_), ready(kernels.mark_bytes, len(data))
    map_threads(lambda i: mark(compiled.read_only(data[slice(*pieces[i])]), marks[i]), range(len(pieces)), n_jobs)
    return np.flatnonzero(marks.any(axis=0))


def translated(data: np.ndarray, lookup: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return ``lookup[data]`` for bytes."""
    out, run = np.empty(len(data), np.uint8), ready(kernels.translate_bytes, len(data))
    map_threads(
        lambda p: run(compiled.read_only(data[slice(*p)]), lookup, out[slice(*p)]), row_pieces(len(data), PIECE), n_jobs
    )
    return out


# Alphabets


@dataclass(frozen=True)
class Rules:
    """Which values are the same symbol, and which are unknown.

    Parameters
    ----------
    given : tuple of str or int, optional
        The alphabet, if it is given.
    gaps : frozenset
        Symbols that mean «unknown».
    ignore_case : bool
        Ignore case.

    Examples
    --------
    >>> rules = Rules(None, frozenset("N"), True)
    >>> rules.alphabet(("A", "C", "N", "a"))
    ('a', 'c')
    """

    given: tuple[Symbol, ...] | None
    gaps: frozenset[Symbol]
    ignore_case: bool

    def symbol(self, value: Symbol) -> Symbol:
        """Return the symbol of a value."""
        return value.lower() if self.ignore_case and isinstance(value, str) else value

    @cached_property
    def _gaps(self) -> frozenset[Symbol]:
        return frozenset(map(self.symbol, self.gaps))

    def alphabet(self, met: Iterable[Symbol]) -> tuple[Symbol, ...]:
        """Return the alphabet of sequences with these symbols."""
        known = {self.symbol(s) for s in (met if self.given is None else self.given)} - self._gaps
        check_symbols(known)
        return tuple(sorted(known))

    def unknown(self, rows: Sequences, alphabet: tuple[Symbol, ...]) -> list[Symbol]:
        """Return the symbols of sequences that are neither in the alphabet nor gaps."""
        known = {*alphabet, *self._gaps}
        return [s for s in rows.alphabet if self.symbol(s) not in known]


def rules_of(alphabet: Iterable[Symbol] | None, gaps: Iterable[Symbol] | None, *, ignore_case: bool) -> Rules:
    """Return the rules for the parameters of a classifier; raise where they are invalid."""
    given = None if alphabet is None else _symbols("alphabet", alphabet)
    if given == ():
        raise DataError("alphabet must have symbols; got none. None learns it from the data.", parameter="alphabet")
    if not isinstance(ignore_case, bool):
        raise DataError(f"ignore_case must be True or False; got {ignore_case!r}.", parameter="ignore_case")
    return Rules(given, frozenset(() if gaps is None else _symbols("gaps", gaps)), ignore_case)


def _symbols(what: str, values: object) -> tuple[Symbol, ...]:
    if not isinstance(values, Iterable) or isinstance(values, Iterator):
        got = shortened(repr(values))
        raise DataError(f"{what} must be a text or a list of symbols, or None; got {got}.", parameter=what)
    symbols = [plain_symbol(value) for value in values]
    if None in symbols:
        raise DataError(
            f"{what} must name symbols; got a missing value among them. It is unknown anyway.", parameter=what
        )
    return tuple(s for s in symbols if s is not None)


def symbol_list(symbols: Iterable[Symbol]) -> str:
    """Return symbols as a message lists them."""
    return listed(sorted(symbols), most=10)


def check_symbols(symbols: Iterable[Symbol]) -> None:
    """Raise unless symbols are all text or all integers."""
    kinds = {isinstance(s, str): s for s in symbols}
    if len(kinds) > 1:
        raise DataError(
            f"symbols must be all text or all integers; got {kinds[True]!r} and {kinds[False]!r}. "
            "Turn them all into text."
        )


def plain_symbol(value: object) -> Symbol | None:
    """Return a value as a symbol, None where it is missing; raise for values that cannot be symbols."""
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
    hint = "Discretize numbers first." if isinstance(value, float) else "Turn it into text first."
    raise DataError(f"symbols must be text or integers; got {shortened(repr(value))}. {hint}")
