"""Bit planes: one bit a row for each (variable, state), counted by AND and population count.

``planes[p, w]`` holds rows 64·w … 64·w + 63 of plane p; row i is bit i mod 64. A missing cell sets no bit.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

WORD_BLOCK = 1024
"""Words of one plane that are kept near the core while a tile of planes is counted (8 KiB)."""


@intrinsic
def _popcount(typingctx, word):
    """Return the number of one bits: LLVM's ctpop, which numba does not offer by itself."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _equal_mask(typingctx, codes, start, state):
    """Return the word whose bit b says whether codes[start + b] == state: one vector comparison of 64 bytes."""
    if codes.dtype != types.int8 or codes.layout != "C":
        raise TypingError("bit planes are made from contiguous int8 codes")

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.IntType(8), 64)
        address = builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer())
        values = builder.load(address)
        values.align = 1
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, args[2], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        same = builder.icmp_signed("==", values, builder.shuffle_vector(one, undefined, everywhere))
        return builder.bitcast(same, ir.IntType(64))

    return types.uint64(codes, types.intp, types.int8), codegen


@njit(cache=True, nogil=True)
def fill_planes(codes, out):
    """Set out[s, w] to the mask of codes[64 w : 64 w + 64] == s (codes: int8; out: states × words, uint64)."""
    n_rows = codes.shape[0]
    n_full = n_rows // 64
    for s in range(out.shape[0]):
        state = np.int8(s)
        for w in range(n_full):
            out[s, w] = _equal_mask(codes, w * 64, state)
        if n_rows > 64 * n_full:
            word = np.uint64(0)
            for i in range(64 * n_full, n_rows):
                if codes[i] == state:
                    word |= np.uint64(1) << np.uint64(i - 64 * n_full)
            out[s, n_full] = word


@njit(cache=True, nogil=True)
def cross_planes(a, b, out):
    """Set out[i·n_b + j] to a[i] & b[j], word by word."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            for w in range(a.shape[1]):
                out[i * b.shape[0] + j, w] = a[i, w] & b[j, w]


@njit(cache=True, nogil=True)
def count_planes(a, out):
    """Set out[i] to the number of rows in plane a[i]."""
    for i in range(a.shape[0]):
        total = np.uint64(0)
        for w in range(a.shape[1]):
            total += _popcount(a[i, w])
        out[i] = total


@njit(cache=True, nogil=True)
def _count_four(x, y, u, v):
    """Return the rows in x&u, x&v, y&u, y&v: each word is loaded once for two counts."""
    xu = np.uint64(0)
    xv = np.uint64(0)
    yu = np.uint64(0)
    yv = np.uint64(0)
    for w in range(x.shape[0]):
        xu += _popcount(x[w] & u[w])
        xv += _popcount(x[w] & v[w])
        yu += _popcount(y[w] & u[w])
        yv += _popcount(y[w] & v[w])
    return xu, xv, yu, yv


@njit(cache=True, nogil=True)
def add_tiles(a, b, tiles, out):
    """Add the rows in a[i] & b[j] to out[i, j] for every (i, j) of the tiles (i0, i1, j0, j1), all even.

    Blocks of words come first, so that the planes of a tile stay in the cache while all their pairs are counted.
    """
    n_words = a.shape[1]
    for t in range(tiles.shape[0]):
        i0, i1, j0, j1 = tiles[t, 0], tiles[t, 1], tiles[t, 2], tiles[t, 3]
        for w0 in range(0, n_words, WORD_BLOCK):
            w1 = min(n_words, w0 + WORD_BLOCK)
            for i in range(i0, i1, 2):
                for j in range(j0, j1, 2):
                    xu, xv, yu, yv = _count_four(a[i, w0:w1], a[i + 1, w0:w1], b[j, w0:w1], b[j + 1, w0:w1])
                    out[i, j] += np.int64(xu)
                    out[i, j + 1] += np.int64(xv)
                    out[i + 1, j] += np.int64(yu)
                    out[i + 1, j + 1] += np.int64(yv)


@njit(cache=True, nogil=True)
def fill_margins(kept, first, start, n_rows, margins):
    """Fill the count of every state: the diagonal of ``kept``, and for a last state without plane what is left."""
    for v in range(start.shape[0] - 1):
        n_kept = first[v + 1] - first[v]
        rest = n_rows
        for i in range(n_kept):
            margins[start[v] + i] = kept[first[v] + i, first[v] + i]
            rest -= margins[start[v] + i]
        if n_kept < start[v + 1] - start[v]:
            margins[start[v + 1] - 1] = rest


@njit(cache=True, nogil=True)
def expand_pairs(kept, first, start, margins, low, high, out):
    """Fill the counts of all pairs of states of a variable a, low ≤ a < high, with a variable b ≥ a.

    ``kept[p, q]`` counts planes p ≤ q; variable v's planes begin at first[v], its states at start[v]. One plane less
    than states means that the variable is complete, and its last state gets what the others leave of each margin.
    """
    for a in range(low, high):
        n_a = first[a + 1] - first[a]
        for b in range(a, start.shape[0] - 1):
            n_b = first[b + 1] - first[b]
            for i in range(n_a):
                rest = margins[start[a] + i]
                for j in range(n_b):
                    p, q = first[a] + i, first[b] + j
                    cell = kept[p, q] if p <= q else kept[q, p]
                    out[start[a] + i, start[b] + j] = cell
                    rest -= cell
                if n_b < start[b + 1] - start[b]:
                    out[start[a] + i, start[b + 1] - 1] = rest
            if n_a < start[a + 1] - start[a]:
                for t in range(start[b], start[b + 1]):
                    rest = margins[t]
                    for s in range(start[a], start[a] + n_a):
                        rest -= out[s, t]
                    out[start[a + 1] - 1, t] = rest
            for s in range(start[a], start[a + 1]):
                for t in range(start[b], start[b + 1]):
                    out[t, s] = out[s, t]
