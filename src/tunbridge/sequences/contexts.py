"""Contexts: how they are numbered, and how symbols are counted in them.

A context is a list of items, the latest first. In a Markov chain of order k they are the k letters before a symbol,

    x_{i−1}, x_{i−2}, …, x_{i−k},

fewer if there are no more: behind an unknown symbol, and at the beginning of a sequence. With ``ends`` the beginning
itself is an item, and nothing comes before it. In the position-specific model the first item is the position i, and
letters follow. To shorten a context is to drop its last item; without items there is only the bag of letters.

A context is one integer whose digits are its items, the latest first and 0 for none; a context with an outcome (a
symbol, or the end) is a *key*. If few contexts are possible they also have an index in a table of all of them.

**Counting.** Each symbol is counted once, in its longest context; counts in shorter contexts are sums of these. If few
contexts are possible a kernel adds to a table of all of them, one for each of several shares of the sequences: the
shares depend on the sequences alone, so sums of weights do not depend on the number of threads. Otherwise the keys of a
share are written down, sorted and summed.

Counts are kept in lines: one for each class, or, for cross-validation, one for each class and fold. Equal sequences
are put into the same fold, and long ones are split into blocks of 256 symbols that go to the folds in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads
from tunbridge.errors import DataError
from tunbridge.kernels.text.sequences import Coded, Contexts, add_symbols, fill_keys
from tunbridge.sequences.symbols import PIECE, ready

BEGINNING = 1
"""The digit of the beginning; letters follow, and 0 is no item."""

_LARGEST = 2**62
_FEW_CELLS = 1 << 16
_MOST_CELLS = 1 << 25
_CELLS_PER_SYMBOL = 4
_SHARES = 16
_BLOCK = 1 << 8


@dataclass(frozen=True)
class Layout:
    """The contexts of a model.

    Parameters
    ----------
    n_symbols : int
        The size of the alphabet.
    order : int
        The largest number of letters in a context.
    ends : bool
        Whether the beginning is an item of contexts, and the end an outcome.
    length : int, optional
        The number of positions, if the position is the first item.

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
        """The number of symbols, plus one with ``ends``."""
        return self.n_symbols + self.ends

    @property
    def base(self) -> int:
        """The base of the digits: letters, the beginning, and nothing."""
        return self.n_symbols + 2

    @property
    def depth(self) -> int:
        """The number of items of the longest context."""
        return self.order + self.has_places

    @property
    def has_places(self) -> bool:
        """Whether the position is the first item."""
        return self.length is not None

    @property
    def n_places(self) -> int:
        """The base of the first digit: positions and nothing; 0 if the position is no item."""
        return 0 if self.length is None else self.length + 1

    @cached_property
    def contexts(self) -> Contexts:
        """How contexts are numbered, as kernels take it."""
        sizes = [self.n_symbols**a for a in range(self.order + 1)]
        start = np.array([sum(sizes[:a]) for a in range(self.order + 2)], np.int64)
        every = int(start[-1])
        anchor, stride = every if self.ends else -1, every if self.has_places else 0
        return Contexts(self.n_symbols, self.n_outcomes, self.order, start, anchor, stride)

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
        """Raise where keys would not fit into 64 bits."""
        check_integer("order", self.order, low=0)
        if (
            self.order > _LARGEST.bit_length()
            or max(1, self.n_places) * self.base**self.order * max(1, self.n_outcomes) > _LARGEST
        ):
            raise DataError(
                f"order must be low enough for contexts to be numbered; got {self.order} with an alphabet of "
                f"{self.n_symbols} symbols. Lower the order (or max_order), or merge symbols.",
                parameter="order",
            )

    def with_order(self, order: int) -> Layout:
        """Return the layout of contexts with fewer or more letters."""
        return Layout(self.n_symbols, order, self.ends, self.length)

    def dense_contexts(self) -> np.ndarray:
        """Return the number of the context of every index."""
        runs = [(a, False) for a in range(self.order + 1)] + [(a, True) for a in range(self.order) if self.ends]
        found = np.concatenate([self._numbers(a, anchored=anchored) for a, anchored in runs])
        if not self.has_places:
            return found
        positions = np.arange(1, self.n_places, dtype=np.int64) * self.base**self.order
        return (positions[:, None] + found).reshape(-1)

    def _numbers(self, a: int, *, anchored: bool) -> np.ndarray:
        letters = np.arange(self.n_symbols**a, dtype=np.int64)
        number = np.zeros_like(letters)
        for j in range(1, a + 1):
            number += (letters % self.n_symbols + 2) * self.base ** (self.order - j)
            letters //= self.n_symbols
        return number + BEGINNING * self.base ** (self.order - a - 1) if anchored else number

    def shortened(self, contexts: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the first ``level`` items of contexts, and which contexts have that many."""
        if level == 0:
            return np.zeros_like(contexts), np.ones(len(contexts), np.bool_)
        prefix = contexts // self.base ** (self.depth - level)
        radix = self.n_places if level == 1 and self.has_places else self.base
        return prefix, prefix % radix != 0

    def are_contexts(self, contexts: np.ndarray) -> bool:
        """Return whether numbers are contexts: a position if there are positions, and nothing behind the last item."""
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

        Only the alphabet and the number of positions may differ.
        """
        contexts, outcomes = np.divmod(keys, self.n_outcomes)
        digits = np.concatenate([[0, BEGINNING], lookup + 2])
        found = np.zeros_like(contexts)
        for j in range(self.order):
            found += digits[contexts % self.base] * other.base**j
            contexts = contexts // self.base
        found += contexts * other.base**self.order  # the rest is the position
        return found * other.n_outcomes + np.append(lookup, other.n_symbols)[outcomes]

    def letters_of(self, contexts: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions (from 0), letters as numbers in base n_symbols, and whether the beginning is reached.

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


# Counting


class Counted(NamedTuple):
    """How often outcomes occur in their longest contexts.

    Attributes
    ----------
    keys : ndarray of int64
        Contexts with outcomes, sorted.
    counts : ndarray of float64
        Their numbers, or weights; above zero.
    """

    keys: np.ndarray
    counts: np.ndarray


NOTHING = Counted(np.empty(0, np.int64), np.empty(0))


class Spans(NamedTuple):
    """Parts of sequences, (row, first, stop), where runs of them begin, and the line of counts of each."""

    spans: np.ndarray
    begins: np.ndarray
    lines: np.ndarray


def cut_spans(offsets: np.ndarray, size: int = PIECE) -> tuple[np.ndarray, np.ndarray]:
    """Return spans (row, first, stop) of sequences, long ones split, and where runs of some 10⁶ symbols begin.

    Both depend on the sequences alone, not on the number of threads.
    """
    lengths = np.diff(offsets)
    n_parts = np.maximum(1, -(-lengths // size))
    rows = np.repeat(np.arange(len(lengths)), n_parts)
    part = np.arange(len(rows)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    first = offsets[rows] + part * size
    stop = np.minimum(first + size, offsets[rows + 1])
    run = (np.cumsum(stop - first + 1) - 1) // PIECE
    begins = np.flatnonzero(np.diff(run, prepend=-1))
    return np.column_stack([rows, first, stop]), np.append(begins, len(rows))


def shares_of(begins: np.ndarray, most: int | None = None) -> list[slice]:
    """Return the spans of each run, or of at most so many shares of several runs each."""
    n_runs = max(1, len(begins) - 1)
    ends = np.linspace(0, len(begins) - 1, min(most or n_runs, n_runs) + 1).astype(np.int64)
    return [slice(int(begins[a]), int(begins[b])) for a, b in pairwise(ends)]


def class_spans(offsets: np.ndarray, classes: np.ndarray) -> Spans:
    """Return spans that are counted class by class."""
    spans, begins = cut_spans(offsets)
    return Spans(spans, begins, classes.astype(np.int64)[spans[:, 0]])


def fold_spans(offsets: np.ndarray, classes: np.ndarray, keys: np.ndarray, n_folds: int) -> Spans:
    """Return spans that are counted class by class and fold by fold; the keys of sequences decide on the fold."""
    spans, begins = cut_spans(offsets, _BLOCK)
    rows = spans[:, 0]
    block = (spans[:, 1] - offsets[rows]) // _BLOCK
    fold = (keys % np.uint64(n_folds)).astype(np.int64)[rows] + block
    return Spans(spans, begins, classes.astype(np.int64)[rows] * n_folds + fold % n_folds)


def count_contexts(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None = None
) -> list[Counted]:
    """Return for each line of counts how often outcomes occur in their longest contexts.

    Examples
    --------
    >>> rows = Coded(np.array([0, 1, 0, 0], np.uint8), np.array([0, 3, 4]), np.array([True, True]))
    >>> spans = class_spans(rows.offsets, np.zeros(2, np.int64))
    >>> one, = count_contexts(rows, Layout(2, 1, ends=False), spans, 1, None)
    >>> one.keys.tolist(), one.counts.tolist()  # context × 2 + outcome; digit 0 is no context, 2 and 3 are the letters
    ([0, 5, 6], [2.0, 1.0, 1.0])
    """
    layout.check()
    fits = layout.n_cells * n_lines <= max(_FEW_CELLS, min(_MOST_CELLS, _CELLS_PER_SYMBOL * len(rows.codes)))
    return (_count_table if fits else _count_keys)(rows, layout, spans, n_lines, weights, n_jobs)


def _count_table(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None
) -> list[Counted]:
    """Count in a table of all possible contexts."""
    kind = np.int64 if weights is None else np.float64
    amounts = np.ones(len(rows.known), np.int64) if weights is None else np.array(weights, np.float64)
    cells = n_lines * layout.n_cells
    shares = shares_of(spans.begins, max(1, min(_SHARES, _MOST_CELLS // max(1, cells))))
    check_memory(f"the counts of {layout.n_contexts} contexts", 8.0 * cells * len(shares), ways_out="Lower the order.")
    run = ready(add_symbols, len(rows.codes))

    def counted(share: slice) -> np.ndarray:
        table = np.zeros((n_lines, layout.n_cells), kind)
        run(rows, spans.spans[share], layout.contexts, spans.lines[share], amounts, None, table)
        return table

    tables = map_threads(counted, shares, n_jobs)
    table = tables[0]
    for other in tables[1:]:
        table += other
    numbers = layout.dense_contexts()
    return [_of_table(line, numbers, layout.n_outcomes) for line in table]


def _of_table(line: np.ndarray, contexts: np.ndarray, n_outcomes: int) -> Counted:
    cells = np.flatnonzero(line)
    keys = contexts[cells // max(1, n_outcomes)] * n_outcomes + cells % max(1, n_outcomes)
    order = np.argsort(keys)
    return Counted(keys[order], line[cells][order].astype(np.float64))


def _count_keys(
    rows: Coded, layout: Layout, spans: Spans, n_lines: int, weights: np.ndarray | None, n_jobs: int | None
) -> list[Counted]:
    """Count by sorting keys."""
    run = ready(fill_keys, len(rows.codes))

    def counted(share: slice) -> list[Counted]:
        some, lines = spans.spans[share], spans.lines[share]
        size = int((some[:, 2] - some[:, 1] + 1).sum())
        keys, of = np.empty(size, np.int64), np.empty(size, np.int64)
        n = run(rows, some, layout.contexts, keys, of)
        keys, of = keys[:n], of[:n]
        amounts = np.ones(n) if weights is None else np.asarray(weights, np.float64)[some[of, 0]]
        order = np.argsort(lines[of], kind="stable")
        ends = np.cumsum(np.bincount(lines[of], minlength=n_lines))[:-1]
        return [summed(keys[part], amounts[part]) for part in np.split(order, ends)]

    found, runs = [NOTHING] * n_lines, shares_of(spans.begins)
    for at in range(0, len(runs), _SHARES):
        pieces = map_threads(counted, runs[at : at + _SHARES], n_jobs)
        found = [merged([found[c], *(piece[c] for piece in pieces)]) for c in range(n_lines)]
        check_memory(
            f"the counts of contexts of {layout.order} symbols",
            3.0 * sum(each.keys.nbytes + each.counts.nbytes for each in found),
            ways_out="Lower the order, or learn from fewer sequences.",
        )
    return found


def summed(keys: np.ndarray, counts: np.ndarray) -> Counted:
    """Return counts with those of equal keys added up; those of weight zero are left out."""
    if not len(keys):
        return NOTHING
    distinct, of = np.unique(keys, return_inverse=True)
    totals = np.bincount(of, counts)
    kept = totals > 0.0
    return Counted(distinct, totals) if kept.all() else Counted(distinct[kept], totals[kept])


def merged(parts: list[Counted]) -> Counted:
    """Return the sum of several counts."""
    some = [part for part in parts if len(part.keys)]
    if len(some) < 2:
        return some[0] if some else NOTHING
    return summed(np.concatenate([p.keys for p in some]), np.concatenate([p.counts for p in some]))
