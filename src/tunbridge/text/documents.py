"""Documents as learners take them: how often each word occurs in each of them, and the words themselves.

A word has a number, is found by its hash, and is named by its bytes. Hashing and counting are our own code, not
scikit-learn's ``CountVectorizer``: from raw strings to predictions they are 10.8 times as fast as ``CountVectorizer`` +
``MultinomialNB`` (benchmarks/RESULTS.md), read documents in batches, and never hold a Python object per word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from tunbridge._core.hashing import mixed, seeded
from tunbridge._core.packing import WeightArray
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.kernels.text import tokens as kernels

_WORD_BYTES = 64.0  # of a word in a document: its value, its weight, and its place among those of a class
_FEWEST = 1 << 13  # the slots of the first hash table, of which half may be taken
_SEED, _PRIME, _MIX = 0xCBF29CE484222325, 0x100000001B3, 0xFF51AFD7ED558CCD
_BITS = (1 << 64) - 1


@lru_cache(maxsize=1 << 14)
def hash_of(word: bytes) -> int:
    """Return the 64-bit hash of some bytes, the same as that of the kernels (FNV-1a, its bits mixed at the end)."""
    h = _SEED
    for b in word:
        h = ((h ^ b) * _PRIME) & _BITS
    h = ((h ^ (h >> 32)) * _MIX) & _BITS
    return h ^ (h >> 32)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Different words, numbered from 0.

    Parameters
    ----------
    hashes : ndarray of uint64
        The hash of each.
    pool : ndarray of uint8
        The bytes (UTF-8) of all, one behind the other; empty if only hashes are kept.
    ends : ndarray of int64
        Where each ends in the pool.

    Examples
    --------
    >>> words = Vocabulary.of(["spam", "egg"])
    >>> words.names(), words.find(Vocabulary.of(["egg", "ham"]).hashes).tolist()
    (['spam', 'egg'], [1, -1])
    """

    hashes: np.ndarray
    pool: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, words: Sequence[str]) -> Vocabulary:
        """Return the vocabulary of different words."""
        encoded = [word.encode() for word in words]
        pool, ends = np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([len(w) for w in encoded], dtype=np.int64)
        return cls(np.array([hash_of(word) for word in encoded], np.uint64), pool, ends)

    @classmethod
    def of_slices(cls, hashes: np.ndarray, data: np.ndarray, bounds: np.ndarray) -> Vocabulary:
        """Return the vocabulary of different words that are slices of some bytes; bounds are (start, end)."""
        return cls(hashes, *_gathered(data, bounds[:, 0], bounds[:, 1]))

    def __len__(self) -> int:
        return len(self.hashes)

    def is_whole(self) -> bool:
        """Return whether the parts belong together, which those from a file may not."""
        hashes, pool, ends = self.hashes, self.pool, self.ends
        kinds = (hashes.dtype, pool.dtype, ends.dtype) == (np.uint64, np.uint8, np.int64)
        if not kinds or not hashes.ndim == pool.ndim == ends.ndim == 1:
            return False
        if not len(ends):
            return not len(pool)
        if len(ends) != len(hashes) or ends[-1] != len(pool) or (np.diff(ends, prepend=0) < 0).any():
            return False
        try:
            pool.tobytes().decode()
        except UnicodeDecodeError:
            return False
        return bool((pool[ends[ends < len(pool)]] & 0xC0 != 0x80).all())  # no word ends within a character

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """The hash table: keys and numbers, −1 for free slots."""
        return _indexed(self.hashes, 16 << max(0, (len(self) - 1).bit_length() - 3))

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The sorted hashes, and their numbers."""
        order = np.argsort(self.hashes)
        return self.hashes[order], order.astype(np.int32)

    def find(self, hashes: np.ndarray) -> np.ndarray:
        """Return the numbers of words by their hashes; −1 for unknown words."""
        if not len(self):
            return np.full(len(hashes), -1, np.int32)
        if not compiled.is_worth(kernels.find_hashes, len(self)):
            known, order = self._sorted
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            return np.where(known[at] == hashes, order[at], -1).astype(np.int32)
        out = np.empty(len(hashes), np.int32)
        kernels.find_hashes(*self._table, locked(hashes), out)
        return out

    def take(self, which: np.ndarray) -> Vocabulary:
        """Return the words that a mask or positions select, numbered anew in their order."""
        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        if not len(self.ends):
            return Vocabulary(self.hashes[positions], self.pool, self.ends)
        starts = _starts(self.ends)[positions]
        return Vocabulary(self.hashes[positions], *_gathered(self.pool, starts, self.ends[positions]))

    def names(self) -> list[str]:
        """Return the words; numbers if only their hashes are kept."""
        if len(self) and not len(self.ends):
            return [f"#{int(h)}" for h in self.hashes]
        data, starts = self.pool.tobytes(), _starts(self.ends)
        return [data[a:b].decode() for a, b in zip(starts.tolist(), self.ends.tolist(), strict=True)]


def united(parts: Sequence[Vocabulary]) -> tuple[Vocabulary, list[np.ndarray]]:
    """Return the words of several vocabularies in the order of their first appearance, and the numbers of each one's.

    Examples
    --------
    >>> both, numbers = united([Vocabulary.of(["spam", "egg"]), Vocabulary.of(["ham", "egg"])])
    >>> both.names(), [n.tolist() for n in numbers]
    (['spam', 'egg', 'ham'], [[0, 1], [2, 1]])
    """
    if all(part is parts[0] for part in parts):
        return parts[0], [np.arange(len(parts[0]), dtype=np.int32)] * len(parts)
    if len({len(part.ends) > 0 for part in parts if len(part)}) > 1:
        raise DataError(
            "n_buckets must not change between calls of partial_fit; some words have names, others only hashes.",
            parameter="n_buckets",
        )
    hashes = np.concatenate([part.hashes for part in parts])
    firsts, numbers = numbered(hashes)
    before = np.cumsum([0, *(len(part.pool) for part in parts[:-1])])
    pool = np.concatenate([part.pool for part in parts])
    ends = np.concatenate([part.ends + shift for part, shift in zip(parts, before, strict=True)])
    limits = np.cumsum([len(part) for part in parts])[:-1]
    return Vocabulary(hashes, pool, ends).take(firsts), np.split(numbers, limits)


def numbered(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each of the different hashes appears first, and the number of each hash in that order.

    Examples
    --------
    >>> [found.tolist() for found in numbered(np.array([7, 5, 7, 9], np.uint64))]
    [[0, 1, 3], [0, 1, 0, 2]]
    """
    number_hashes = kernels.number_hashes
    if not compiled.is_worth(number_hashes, len(hashes)):
        _, firsts, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        order = np.argsort(firsts)
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order))
        return firsts[order], places[inverse]
    numbers, firsts, done = np.empty(len(hashes), np.int32), np.empty(_FEWEST // 2, np.int64), np.zeros(2, np.int64)
    table, hashes = _indexed(hashes[:0], _FEWEST), locked(hashes)
    number_hashes(hashes, done, *table, firsts, numbers)
    while done[0] < len(hashes):
        firsts = np.concatenate([firsts, np.empty_like(firsts)])
        table = _indexed(hashes[firsts[: done[1]]], 2 * len(firsts))
        number_hashes(hashes, done, *table, firsts, numbers)
    return firsts[: done[1]].copy(), numbers


def _indexed(hashes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a hash table of some size, a power of two, of hashes and their numbers; free slots are −1."""
    keys, slots = np.empty(size, np.uint64), np.full(size, -1, np.int32)
    kernels.index_hashes(locked(hashes), keys, slots)
    return keys, slots


def locked(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, whatever the array, so that kernels are compiled for one type only."""
    view = array.view()
    view.flags.writeable = False
    return view


def _starts(ends: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]


def _gathered(pool: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slices of a pool, one behind the other, and where they end."""
    lengths = ends - starts
    out = np.empty(int(lengths.sum()), np.uint8)
    run = compiled.ready(kernels.copy_slices, len(out))
    run(locked(pool), np.ascontiguousarray(starts), np.ascontiguousarray(ends), out)
    return out, np.cumsum(lengths, dtype=np.int64)


# Documents


@dataclass(frozen=True, eq=False)
class Background:
    """What is known of words in all classes together.

    Parameters
    ----------
    occurrences, amounts, documents : ndarray of shape (n_words,)
        How often each word occurs, the sum of its weighted counts, and the number (or weight) of its documents.
    n_documents : float
        The number (or weight) of all documents.
    """

    occurrences: WeightArray
    amounts: WeightArray
    documents: WeightArray
    n_documents: float

    def is_whole(self, n_words: int) -> bool:
        """Return whether it fits so many words, which one from a file may not."""
        if any(a.shape != (n_words,) for a in (self.occurrences, self.amounts, self.documents)):
            return False
        return bool(np.isfinite(self.n_documents) and (self.documents <= self.n_documents * (1.0 + 1e-6)).all())

    def take(self, words: np.ndarray) -> Background:
        """Return the part of some of the words."""
        return Background(self.occurrences[words], self.amounts[words], self.documents[words], self.n_documents)


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as counts of words: d has word ``words[i]`` ``counts[i]`` times, ``starts[d]`` ≤ i < ``starts[d + 1]``.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words (some may be in none of the documents).
    starts, words, counts : ndarray of int64, int32, int32
        The counts, as above.
    texts : pyarrow.LargeStringArray, optional
        The texts that were read; null for a missing one.
    column : str, optional
        The name of the column.
    where : ndarray of int, optional
        The position of each document among the texts; default: all of them, in order.
    background : Background, optional
        What is known of the words from more documents than these.
    """

    vocabulary: Vocabulary
    starts: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    texts: pa.Array | None = None
    column: str | None = None
    where: np.ndarray | None = None
    background: Background | None = None

    variables: ClassVar[tuple[Variable, ...]] = ()  # a document has no features

    @property
    def n_rows(self) -> int:
        """The number of documents."""
        return len(self.starts) - 1

    def text(self, row: int) -> str:
        """Return the text of one document; an empty one if it is missing."""
        at = row if self.where is None else int(self.where[row])
        return "" if self.texts is None else self.texts[at].as_py() or ""

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a document and count its words."""
        return _WORD_BYTES * len(self.words) / max(1, self.n_rows)

    def rows(self, start: int, stop: int) -> Documents:
        """Return consecutive documents."""
        return self.take(np.arange(start, min(stop, self.n_rows)))

    def take(self, which: np.ndarray) -> Documents:
        """Return the documents that a mask or positions select, in their order."""
        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        rows = self.matrix()[positions]
        where = positions if self.where is None else self.where[positions]
        return replace(self, starts=rows.indptr.astype(np.int64), words=rows.indices, counts=rows.data, where=where)

    def matrix(self) -> csr_array:
        """Return the counts as a sparse matrix, documents × words."""
        return sparse_rows(self.counts, self.words, self.starts, len(self.vocabulary))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the value of its document for each entry of ``words``."""
        return np.repeat(values, np.diff(self.starts))

    def keys(self, seed: int) -> np.ndarray:
        """Return a pseudo-random number for each document; documents with equal words have equal numbers."""
        return seeded(self.matrix().astype(np.uint64) @ mixed(self.vocabulary.hashes), seed)

    def as_known_to(self, learned: Documents) -> Documents:
        """Return the same documents: a model looks words up itself."""
        return self


def sparse_rows(values: np.ndarray, columns: np.ndarray, starts: np.ndarray, n_columns: int) -> csr_array:
    """Return a sparse matrix, row r holding ``values[i]`` in ``columns[i]`` for ``starts[r]`` ≤ i < ``starts[r + 1]``.

    Indices are integers of 32 bits if possible: half the memory, and one type for kernels.
    """
    kind = np.int32 if len(values) < 2**31 else np.int64
    places = columns.astype(kind, copy=False), starts.astype(kind, copy=False)
    return csr_array((values, *places), shape=(len(starts) - 1, n_columns))
