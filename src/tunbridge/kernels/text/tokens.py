"""Text: documents become counts of words, and columns of short texts become codes.

**Documents.** A document is a slice of UTF-8 bytes. Its units are words, or characters. They are written one behind the
other into a buffer, words with a space between them, so that an n-gram of either is a slice of the buffer: from the
start of its first unit to the end of its last. A slice is identified by a hash of 64 bits. Two of n different ones have
the same hash with probability n²/2⁶⁵ (a million words: 3·10⁻⁸), and would be counted as one; so bytes are not compared.

Slices are numbered in the order of their first appearance, by hash tables with open addressing. Their number is not
known in advance, so the caller starts with a small table and goes on with a larger one when it is half full.

**Columns.** Each text of a column is looked up in a small hash table of the texts so far. Eight bytes are read at a
time. A text of at most eight bytes is its own key (texts contain no NUL, so padding with zeros keeps them apart); the
key of a longer one is mixed from its words, and its bytes are compared as well.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from tunbridge.kernels.caching import njit

SLOTS = 4096
"""Slots of the hash table of a column: a power of two, four times the number of distinct texts that it takes."""

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FREE = np.int32(-1)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _hash(data, start, stop):
    """Return a 64-bit hash of some bytes (Fowler, Noll & Vo's FNV-1a, with its bits mixed at the end)."""
    h = _SEED
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * _PRIME
    h = (h ^ (h >> _HALF)) * _MIX
    return h ^ (h >> _HALF)


@njit(cache=True, nogil=True)
def copy_slices(data, starts, ends, out):
    """Write slices of some bytes one behind the other."""
    n = 0
    for k in range(starts.shape[0]):
        for i in range(starts[k], ends[k]):
            out[n] = data[i]
            n += 1


@njit(cache=True, nogil=True)
def _slot(keys, slots, key):
    """Return the slot of a key in a table, or the free slot for it; the length is a power of two."""
    mask = np.uint64(slots.shape[0] - 1)
    at = key & mask
    while slots[at] != _FREE and keys[at] != key:
        at = (at + _ONE) & mask
    return at


@njit(cache=True, nogil=True)
def number_hashes(hashes, done, keys, slots, firsts, out):
    """Fill a number for each hash, equal for equal ones, in the order of their first appearance.

    ``keys`` and ``slots`` are the table of those met so far, ``firsts`` gets where each appears first; ``done`` holds
    how many hashes have been numbered and how many of them differ. It ends early when ``firsts`` is full.
    """
    k, n = done[0], done[1]
    while k < hashes.shape[0]:
        at = _slot(keys, slots, hashes[k])
        if slots[at] == _FREE:
            if n == firsts.shape[0]:
                break
            keys[at], slots[at], firsts[n] = hashes[k], np.int32(n), k
            n += 1
        out[k] = slots[at]
        k += 1
    done[0], done[1] = k, n


@njit(cache=True, nogil=True)
def index_hashes(hashes, keys, slots):
    """Fill a table, free so far and more than large enough, with different hashes under their numbers."""
    for k in range(hashes.shape[0]):
        at = _slot(keys, slots, hashes[k])
        keys[at], slots[at] = hashes[k], np.int32(k)


@njit(cache=True, nogil=True)
def find_hashes(keys, slots, asked, out):
    """Fill the number of each hash in a table; −1 if it is not there."""
    for k in range(asked.shape[0]):
        out[k] = slots[_slot(keys, slots, asked[k])]


@njit(cache=True, nogil=True)
def _decoded(data, at):
    """Return the code point that begins at a byte, and the number of its bytes."""
    b = np.int64(data[at])
    if b < 0x80:
        return b, 1
    if b < 0xE0:
        return (b & 0x1F) << 6 | (data[at + 1] & 0x3F), 2
    if b < 0xF0:
        return (b & 0x0F) << 12 | (data[at + 1] & 0x3F) << 6 | (data[at + 2] & 0x3F), 3
    high = (b & 0x07) << 18 | (data[at + 1] & 0x3F) << 12
    return high | (data[at + 2] & 0x3F) << 6 | (data[at + 3] & 0x3F), 4


@njit(cache=True, nogil=True)
def _copy(data, start, stop, lower, buffer, length):
    """Append bytes to a buffer, ASCII letters in lower case if ``lower``; return its new length."""
    for i in range(start, stop):
        b = data[i]
        if lower and np.uint8(65) <= b <= np.uint8(90):
            b = b | np.uint8(32)
        buffer[length] = b
        length += 1
    return length


@njit(cache=True, nogil=True)
def split_words(data, offsets, kinds, lower, shortest, buffer, ends, starts):
    """Write the words of documents into a buffer, each with a space behind it.

    Document d is ``data[offsets[d]:offsets[d + 1]]``. A word is the longest run of characters whose entry in ``kinds``
    (by code point) is 1; words of fewer than ``shortest`` characters are left out. A character of kind 3 is a word by
    itself. ``ends`` gets where each word ends in the buffer, ``starts[d]`` the number of words before document d.
    """
    n, length = 0, 0
    for d in range(offsets.shape[0] - 1):
        i, stop = offsets[d], offsets[d + 1]
        while i < stop:
            begin, characters = i, 1
            point, size = _decoded(data, i)
            kind = kinds[point]
            i += size
            while kind == 1 and i < stop:
                point, size = _decoded(data, i)
                if kinds[point] != 1:
                    break
                characters += 1
                i += size
            if kind == 3 or (kind == 1 and characters >= shortest):
                length = _copy(data, begin, i, lower, buffer, length)
                ends[n] = length
                buffer[length] = np.uint8(32)
                length += 1
                n += 1
        starts[d + 1] = n


@njit(cache=True, nogil=True)
def split_characters(data, offsets, kinds, lower, buffer, ends, starts):
    """Write the characters of documents into a buffer, a run of white space (kind 2) as one; see ``split_words``."""
    n, length = 0, 0
    for d in range(offsets.shape[0] - 1):
        i, stop = offsets[d], offsets[d + 1]
        while i < stop:
            begin = i
            point, size = _decoded(data, i)
            i += size
            if kinds[point] == 2:
                while i < stop:
                    point, size = _decoded(data, i)
                    if kinds[point] != 2:
                        break
                    i += size
                buffer[length] = np.uint8(32)
                length += 1
            else:
                length = _copy(data, begin, i, lower, buffer, length)
            ends[n] = length
            n += 1
        starts[d + 1] = n


@njit(cache=True, nogil=True)
def hash_ngrams(buffer, ends, starts, gap, low, high, hashes, bounds, sizes):
    """Fill the hash of every n-gram of ``low`` to ``high`` units, and from where to where it stands in the buffer.

    Unit u of the buffer begins ``gap`` bytes behind the end of the one before it. Those of a document stand together,
    shorter ones first; ``sizes[d]`` gets the number of those before document d.
    """
    n = 0
    for d in range(starts.shape[0] - 1):
        for size in range(low, min(high, starts[d + 1] - starts[d]) + 1):
            for u in range(starts[d], starts[d + 1] - size + 1):
                begin = ends[u - 1] + gap if u > 0 else 0
                end = ends[u + size - 1]
                hashes[n], bounds[n, 0], bounds[n, 1] = _hash(buffer, begin, end), begin, end
                n += 1
        sizes[d + 1] = n


@njit(cache=True, nogil=True)
def count_numbers(numbers, sizes, places, words, counts, starts):
    """Fill how often each number occurs in each document: CSR, in the order of their first appearance there.

    ``places`` has an entry −1 for each possible number.
    """
    total = 0
    for d in range(sizes.shape[0] - 1):
        for k in range(sizes[d], sizes[d + 1]):
            word = numbers[k]
            if places[word] >= starts[d]:
                counts[places[word]] += 1
            else:
                places[word], words[total], counts[total] = total, word, 1
                total += 1
        starts[d + 1] = total


@njit(cache=True, nogil=True)
def add_by_class(order, limits, starts, words, values, weights, places, out_starts, out_words, out_sums, out_documents):
    """Fill for each class its words, the sum of their values, and the weight of the documents that contain them.

    The documents of class c are ``order[limits[c]:limits[c + 1]]``; document d has ``words[starts[d]:starts[d + 1]]``
    and the weight ``weights[d]``. ``places`` has an entry −1 for each possible word.
    """
    total = 0
    for c in range(limits.shape[0] - 1):
        for k in range(limits[c], limits[c + 1]):
            d = order[k]
            for i in range(starts[d], starts[d + 1]):
                word = words[i]
                at = places[word]
                if at < out_starts[c]:
                    at = total
                    places[word], out_words[at], out_sums[at], out_documents[at] = at, word, 0.0, 0.0
                    total += 1
                out_sums[at] += weights[d] * values[i]
                out_documents[at] += weights[d]
        out_starts[c + 1] = total


@njit(cache=True, nogil=True)
def add_scores(starts, words, values, row_starts, classes, weights, own, each, out):
    """Add to ``out[d, c]`` the scores of the known words (number 0 or above) of each document for each class.

    Word w of value v adds v (s + own[w] each[0, c] + each[1, c]), where s is the weight of class c in row w, or 0.
    """
    n_classes = out.shape[1]
    for d in range(starts.shape[0] - 1):
        total, common = 0.0, 0.0
        for i in range(starts[d], starts[d + 1]):
            word = words[i]
            if word < 0:
                continue
            value = values[i]
            total += value
            common += value * own[word]
            for k in range(row_starts[word], row_starts[word + 1]):
                out[d, classes[k]] += value * weights[k]
        for c in range(n_classes):
            out[d, c] += common * each[0, c] + total * each[1, c]


@njit(cache=True, nogil=True)
def add_dense_scores(starts, words, values, weights, out):
    """Add to ``out[d, c]`` the sum of value · ``weights[w, c]`` over the known words (number 0 or above)."""
    for d in range(starts.shape[0] - 1):
        for i in range(starts[d], starts[d + 1]):
            word = words[i]
            if word >= 0:
                for c in range(out.shape[1]):
                    out[d, c] += values[i] * weights[word, c]


# Columns of short texts


@intrinsic
def _eight_bytes(typing, data, at):
    """Return data[at], …, data[at + 7] as one number; they need not be aligned."""

    def generate(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        place = builder.gep(array.data, [args[1]])
        return builder.load(builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


@njit(cache=True, nogil=True)
def _word(data, at, n):
    """Return the n ≤ 8 bytes from there on as one number, the rest of it zero."""
    if at + 8 <= data.shape[0]:
        return _eight_bytes(data, np.int64(at)) & (np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(8 * (8 - n)))
    word = np.uint64(0)
    for k in range(n):
        word |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return word


@njit(cache=True, nogil=True)
def _same(data, at, pool, start, n):
    k = 0
    while k < n and data[at + k] == pool[start + k]:
        k += 1
    return k == n


@njit(cache=True, nogil=True)
def encode_texts(offsets, data, keys, slots, pool, ends, known, out):
    """Set out[i] to the code of text i, the bytes offsets[i] … offsets[i + 1] of data; new texts get the next codes.

    ``keys`` and ``slots`` are the hash table (slots[s] is a code, or −1 if it is free); ``pool`` holds the
    known texts one after the other, text c up to ends[c + 1]; ``known[0]`` is their number. Return False as
    soon as there are too many texts, or too long ones.
    """
    last = np.uint64(keys.shape[0] - 1)
    for i in range(offsets.shape[0] - 1):
        at, n = offsets[i], offsets[i + 1] - offsets[i]
        key = _word(data, at, min(n, 8)) if n > 0 else np.uint64(0)
        for k in range(8, n, 8):
            key = (key ^ (key >> np.uint64(29))) * _SPREAD ^ _word(data, at + k, min(n - k, 8))
        place = (key * _SPREAD) >> np.uint64(40) & last
        while True:
            code = slots[place]
            if code < 0:
                code = known[0]
                if code + 1 == ends.shape[0] or ends[code] + n > pool.shape[0]:
                    return False
                pool[ends[code] : ends[code] + n] = data[at : at + n]
                ends[code + 1] = ends[code] + n
                known[0] = code + 1
                slots[place] = code
                keys[place] = key
                break
            same_key = keys[place] == key and ends[code + 1] - ends[code] == n
            if same_key and (n <= 8 or _same(data, at, pool, ends[code], n)):
                break
            place = (place + np.uint64(1)) & last
        out[i] = code
    return True
