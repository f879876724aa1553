"""Codes of short texts: each text of a column is looked up in a small hash table of the texts met so far.

Eight bytes are read at a time. A text of at most eight bytes is its own key (texts hold no NUL, so that padding with
zeros keeps them apart); the key of a longer one is mixed from its words, and its bytes are compared as well.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

SLOTS = 4096
"""Places in the hash table: a power of two, four times the number of distinct texts that it takes."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@intrinsic
def _eight_bytes(typing, data, at):
    """Return data[at], …, data[at + 7] as one number, wherever in memory they lie."""

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

    ``keys`` and ``slots`` are the hash table (slots[s] is a code, or −1 where the place is free); ``pool`` holds the
    known texts one after the other, text c up to ends[c + 1]; ``known[0]`` is their number. Return whether all were
    taken: False as soon as there are more texts, or longer ones, than there is room for.
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
