"""The words that documents hold: each with a number, found again by its hash, and named by its bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge.errors import DataError
from tunbridge.text.plain import hash_of, is_worth_a_kernel

_FEWEST = 1 << 13  # the places of the first hash table, of which half may be taken


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Different words, numbered from 0.

    Parameters
    ----------
    hashes : ndarray of uint64
        What each is known by.
    pool : ndarray of uint8
        The bytes (UTF-8) of all, one behind the other; empty where only hashes are kept.
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
        pool = np.frombuffer(b"".join(encoded), np.uint8)
        return cls.of_bytes(pool, np.cumsum([len(word) for word in encoded], dtype=np.int64))

    @classmethod
    def of_bytes(cls, pool: np.ndarray, ends: np.ndarray) -> Vocabulary:
        """Return the vocabulary of different words that stand in a pool."""
        from tunbridge.kernels.tokens import hash_slices

        starts = _starts(ends)
        if not is_worth_a_kernel(hash_slices, len(pool)):
            data, pairs = pool.tobytes(), zip(starts.tolist(), ends.tolist(), strict=True)
            return cls(np.array([hash_of(data[a:b]) for a, b in pairs], np.uint64), pool, ends)
        hashes = np.empty(len(ends), np.uint64)
        hash_slices(locked(pool), starts, ends, hashes)
        return cls(hashes, pool, ends)

    @classmethod
    def of_slices(cls, hashes: np.ndarray, data: np.ndarray, bounds: np.ndarray) -> Vocabulary:
        """Return the vocabulary of different words that stand somewhere in some bytes, from where to where."""
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
        return _is_text(pool, ends)

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """The hash table: keys and numbers, free places −1."""
        return _indexed(self.hashes, 16 << max(0, (len(self) - 1).bit_length() - 3))

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """The hashes in order, and whose they are."""
        order = np.argsort(self.hashes)
        return self.hashes[order], order.astype(np.int32)

    def find(self, hashes: np.ndarray) -> np.ndarray:
        """Return the numbers of words by their hashes; −1 where there is no such word."""
        from tunbridge.kernels.tokens import find_hashes

        if not len(self):
            return np.full(len(hashes), -1, np.int32)
        if not is_worth_a_kernel(find_hashes, len(self)):
            known, order = self._sorted
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            return np.where(known[at] == hashes, order[at], -1).astype(np.int32)
        out = np.empty(len(hashes), np.int32)
        find_hashes(*self._table, locked(hashes), out)
        return out

    def take(self, which: np.ndarray) -> Vocabulary:
        """Return the words that a mask or positions name, numbered anew in their order."""
        positions = np.flatnonzero(which) if which.dtype == np.bool_ else which
        if not len(self.ends):
            return Vocabulary(self.hashes[positions], self.pool, self.ends)
        starts = _starts(self.ends)[positions]
        pool, ends = _gathered(self.pool, starts, self.ends[positions])
        return Vocabulary(self.hashes[positions], pool, ends)

    def names(self, which: Any = None) -> list[str]:
        """Return the words, or those that positions name; numbers where only their hashes are kept."""
        positions = np.arange(len(self)) if which is None else np.asarray(which)
        if len(self) and not len(self.ends):
            return [f"#{int(h)}" for h in self.hashes[positions]]
        starts, ends = _starts(self.ends)[positions], self.ends[positions]
        data = self.pool.tobytes()
        return [data[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


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
            "n_buckets must stay as it was for further documents; some words have names, others only hashes."
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
    from tunbridge.kernels.tokens import number_hashes

    if not is_worth_a_kernel(number_hashes, len(hashes)):
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
    """Return a hash table of some size, a power of two, that has hashes under their numbers; free places are −1."""
    from tunbridge.kernels.tokens import index_hashes

    keys, slots = np.empty(size, np.uint64), np.full(size, -1, np.int32)
    index_hashes(locked(hashes), keys, slots)
    return keys, slots


def locked(array: np.ndarray) -> np.ndarray:
    """Return a view that cannot be written to, whatever the array: so that kernels need be compiled for one type."""
    view = array.view()
    view.flags.writeable = False
    return view


def _is_text(pool: np.ndarray, ends: np.ndarray) -> bool:
    """Return whether the bytes of every word are UTF-8."""
    try:
        pool.tobytes().decode()
    except UnicodeDecodeError:
        return False
    inner = ends[ends < len(pool)]
    return bool((pool[inner] & 0xC0 != 0x80).all())  # no word ends within a character


def _starts(ends: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), ends])[: len(ends)]


def _gathered(pool: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slices of a pool, one behind the other, and where they end."""
    from tunbridge.kernels.tokens import copy_slices

    lengths = ends - starts
    new_ends = np.cumsum(lengths, dtype=np.int64)
    n_bytes = int(lengths.sum())
    if is_worth_a_kernel(copy_slices, n_bytes):
        out = np.empty(n_bytes, np.uint8)
        copy_slices(locked(pool), np.ascontiguousarray(starts), np.ascontiguousarray(ends), out)
        return out, new_ends
    where = np.repeat(starts - new_ends + lengths, lengths)
    where += np.arange(len(where))
    return pool[where], new_ends
