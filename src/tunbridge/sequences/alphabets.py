"""Which symbols a model knows, and what becomes of the others.

The alphabet is given, or is what the training sequences hold. Symbols that are called gaps, and symbols that the model
has not learned, are unknown: they add nothing, and contexts begin anew behind them. Capitals may be put together with
small letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.errors import DataError
from tunbridge.sequences.sequence_rows import Sequences, Symbol, code_type, no_symbol
from tunbridge.sequences.symbols import plain_symbol, symbol_kind


@dataclass(frozen=True)
class Rules:
    """What counts as which symbol.

    Parameters
    ----------
    given : tuple of str or int, optional
        The alphabet, where it is given.
    gaps : frozenset
        Symbols that stand for what is unknown.
    ignore_case : bool
        Whether capitals are small letters.

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
        """Return the symbol that a value counts as."""
        return value.lower() if self.ignore_case and isinstance(value, str) else value

    @cached_property
    def _gaps(self) -> frozenset[Symbol]:
        return frozenset(map(self.symbol, self.gaps))

    def alphabet(self, met: Iterable[Symbol]) -> tuple[Symbol, ...]:
        """Return the alphabet of sequences in which these symbols were met."""
        known = {self.symbol(s) for s in (met if self.given is None else self.given)} - self._gaps
        symbol_kind(known)
        return tuple(sorted(known))

    def lookup(self, rows: Sequences, alphabet: tuple[Symbol, ...]) -> np.ndarray:
        """Return the code that each symbol of sequences has in an alphabet, and at the end that of what is unknown."""
        place = {symbol: code for code, symbol in enumerate(alphabet)}
        unknown = no_symbol(len(alphabet))
        codes = [place.get(self.symbol(s), unknown) for s in rows.alphabet]
        return np.array([*codes, unknown], code_type(len(alphabet)))

    def codes(self, rows: Sequences, alphabet: tuple[Symbol, ...], n_jobs: int | None = None) -> np.ndarray:
        """Return the codes that sequences have in an alphabet."""
        return rows.recoded(self.lookup(rows, alphabet), len(alphabet), n_jobs)

    def unknown(self, rows: Sequences, alphabet: tuple[Symbol, ...]) -> list[Symbol]:
        """Return the symbols of sequences that are in no alphabet and no gaps."""
        known = {*alphabet, *self._gaps}
        return [s for s in rows.alphabet if self.symbol(s) not in known]


def rules_of(alphabet: Any, gaps: Any, *, ignore_case: bool) -> Rules:
    """Return the rules that parameters state; raise where they are none."""
    given = None if alphabet is None else _symbols("alphabet", alphabet)
    if given == ():
        raise DataError("alphabet must have symbols; got none. None learns it from the data.")
    if not isinstance(ignore_case, bool):
        raise DataError(f"ignore_case must be True or False; got {ignore_case!r}.")
    return Rules(given, frozenset(() if gaps is None else _symbols("gaps", gaps)), ignore_case)


def _symbols(what: str, values: Any) -> tuple[Symbol, ...]:
    if not isinstance(values, Iterable) or isinstance(values, Iterator):
        raise DataError(f"{what} must be a text or a list of symbols, or None; got {shortened(repr(values))}.")
    symbols = [plain_symbol(value) for value in values]
    if None in symbols:
        raise DataError(f"{what} must name symbols; got a missing value among them. It is unknown anyway.")
    return tuple(s for s in symbols if s is not None)
