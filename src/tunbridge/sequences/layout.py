"""Contexts: what a symbol is predicted from, how contexts are numbered, and which one is left when memory fails.

A context is a list of items, the nearest first. In a Markov chain of order k they are the k letters before a symbol,

    x_{i−1}, x_{i−2}, …, x_{i−k},

fewer where there are no more: behind a symbol that is unknown, and at the beginning of a sequence. With ``ends`` the
beginning itself is an item, and nothing comes before it. In the position-specific model the first item is the place i,
and letters follow. To shorten a context is to drop its last item; without items there is only the bag of letters.

A context is one whole number whose digits are its items, the nearest first and 0 where there is none; a context with an
outcome (a symbol, or the end) is a *key*. Where few contexts are possible they also have an index, by which a table of
all of them is laid out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge.errors import DataError

BEGINNING = 1
"""The digit of the beginning; letters follow, and 0 is no item."""

_LARGEST = 2**62


@dataclass(frozen=True)
class Layout:
    """The contexts of a model.

    Parameters
    ----------
    n_symbols : int
        The size of the alphabet.
    order : int
        The number of letters that a context may have.
    ends : bool
        Whether the beginning is an item of contexts, and the end an outcome.
    length : int, optional
        The number of places, where the place is the first item.

    Examples
    --------
    >>> dna = Layout(4, 3, ends=True)
    >>> dna.n_outcomes, dna.depth, dna.n_contexts
    (5, 3, 106)
    """

    n_symbols: int
    order: int
    ends: bool
    length: int | None = None

    @property
    def n_outcomes(self) -> int:
        """The symbols, and the end where that is one."""
        return self.n_symbols + self.ends

    @property
    def base(self) -> int:
        """The number of digits that stand for a letter, the beginning, or nothing."""
        return self.n_symbols + 2

    @property
    def depth(self) -> int:
        """The number of items of the longest context."""
        return self.order + self.has_places

    @property
    def has_places(self) -> bool:
        """Whether the place is the first item."""
        return self.length is not None

    @property
    def n_places(self) -> int:
        """The number of digits that stand for a place or nothing; 0 where the place is no item."""
        return 0 if self.length is None else self.length + 1

    @cached_property
    def start(self) -> np.ndarray:
        """The index of the first context of a letters, for a = 0 … order + 1."""
        sizes = [self.n_symbols**a for a in range(self.order + 1)]
        return np.array([sum(sizes[:a]) for a in range(self.order + 2)], np.int64)

    @property
    def anchor(self) -> int:
        """The index of the first context that reaches back to the beginning; negative where that is no item."""
        return int(self.start[-1]) if self.ends else -1

    @property
    def stride(self) -> int:
        """The number of contexts of each place; 0 where the place is no item."""
        return int(self.start[-1]) if self.has_places else 0

    @property
    def n_contexts(self) -> int:
        """The number of all possible contexts."""
        letters = sum(self.n_symbols**a for a in range(self.order + 1))
        beginning = sum(self.n_symbols**a for a in range(self.order)) if self.ends else 0
        return (letters + beginning) * (1 if self.length is None else self.length)

    @property
    def n_cells(self) -> int:
        """The number of all possible contexts with outcomes."""
        return self.n_contexts * self.n_outcomes

    def check(self) -> None:
        """Raise where keys would be larger than whole numbers are."""
        if max(1, self.n_places) * self.base**self.order * max(1, self.n_outcomes) > _LARGEST:
            raise DataError(
                f"order must be low enough for contexts to be numbered; got {self.order} with an alphabet of "
                f"{self.n_symbols} symbols. Lower the order (or max_order), or put symbols together."
            )

    def with_order(self, order: int) -> Layout:
        """Return the layout of contexts with fewer or more letters."""
        return Layout(self.n_symbols, order, self.ends, self.length)

    def dense_contexts(self) -> np.ndarray:
        """Return the number of the context of every index."""
        runs = [self._numbers(a, anchored=False) for a in range(self.order + 1)]
        if self.ends:
            runs += [self._numbers(a, anchored=True) for a in range(self.order)]
        found = np.concatenate(runs)
        if not self.has_places:
            return found
        places = np.arange(1, self.n_places, dtype=np.int64) * self.base**self.order
        return (places[:, None] + found).reshape(-1)

    def _numbers(self, a: int, *, anchored: bool) -> np.ndarray:
        letters = np.arange(self.n_symbols**a, dtype=np.int64)
        number = np.zeros_like(letters)
        for j in range(1, a + 1):
            number += (letters % self.n_symbols + 2) * self.base ** (self.order - j)
            letters //= self.n_symbols
        return number + BEGINNING * self.base ** (self.order - a - 1) if anchored else number

    def shortened(self, contexts: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return contexts with their first ``level`` items only, and which of them have as many."""
        if level == 0:
            return np.zeros_like(contexts), np.ones(len(contexts), np.bool_)
        prefix = contexts // self.base ** (self.depth - level)
        radix = self.n_places if level == 1 and self.has_places else self.base
        return prefix, prefix % radix != 0

    def are_contexts(self, contexts: np.ndarray) -> bool:
        """Return whether numbers are contexts: a place where there are places, and nothing behind the last item."""
        rest, last = contexts, np.ones(len(contexts), np.bool_)
        fits = np.ones(len(contexts), np.bool_)
        for _ in range(self.order):  # the farthest item first
            rest, digit = np.divmod(rest, self.base)
            fits &= last | (digit > BEGINNING)
            fits &= (digit != BEGINNING) | (last & self.ends)
            last &= digit == 0
        return bool((fits & ((rest > 0) & (rest < self.n_places) if self.has_places else rest == 0)).all())

    def cut(self, keys: np.ndarray, order: int) -> np.ndarray:
        """Return keys as those of the layout with fewer letters; they need no longer be distinct."""
        contexts, outcomes = np.divmod(keys, max(1, self.n_outcomes))
        return contexts // self.base ** (self.order - order) * self.n_outcomes + outcomes

    def recoded(self, keys: np.ndarray, other: Layout, lookup: np.ndarray) -> np.ndarray:
        """Return keys of this layout as those of another one with as many letters; ``lookup`` has the new codes.

        Only the alphabet and the number of places may differ.
        """
        contexts, outcomes = np.divmod(keys, self.n_outcomes)
        digits = np.concatenate([[0, BEGINNING], lookup + 2])
        found = np.zeros_like(contexts)
        for j in range(self.order):
            found += digits[contexts % self.base] * other.base**j
            contexts = contexts // self.base
        found += contexts * other.base**self.order  # what is left is the place
        return found * other.n_outcomes + np.append(lookup, other.n_symbols)[outcomes]

    def letters_of(self, contexts: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the places (from 0), the letters as numbers in base n_symbols, and whether the beginning is reached.

        ``contexts`` have ``level`` items.
        """
        rest, items = contexts, level - self.has_places
        digits = []
        for _ in range(max(0, items)):
            digits.append(rest % self.base)
            rest = rest // self.base
        anchored = digits[0] == BEGINNING if digits else np.zeros(len(contexts), np.bool_)
        letters = np.zeros_like(contexts)
        for digit in digits:  # the farthest first: it is the first of the number in base n_symbols too
            letters = letters * self.n_symbols + np.where(digit == BEGINNING, 0, digit - 2)
        return (rest - 1 if self.has_places and level else np.zeros_like(contexts)), letters, anchored
