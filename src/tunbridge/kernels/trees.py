"""Information of all pairs of variables from bit planes, and the spanning tree of the largest.

**Counting.** A table of two variables is counted by ANDs of bit planes. The population count is the dear part, so eight
vectors of an AND are first added as binary numbers, bit by bit, with full adders of logical operations (Harley & Seal's
counter; Muła, Kurz & Lemire 2018): only the carries worth eight are counted. A table is turned into n I(A; B) where it
is made, so no matrix of counts is ever there.

**Layout.** ``words`` is flat. Plane p is ``words[p * size : (p + 1) * size]``; the words of class c (rows are sorted by
class, and each class is filled up to a whole number of vectors) are ``starts[c] … starts[c + 1] − 1`` of it. Variable
v's planes begin with plane ``first[v]``, ``kept[v]`` of them are there: all its states, or all but the last if the
variable is complete, whose last state is what the others leave. ``margins[c, first[v] + s]`` counts the rows of class c
in state s.

References
----------
W. Muła, N. Kurz, D. Lemire (2018). Faster population counts using AVX2 instructions. The Computer Journal 61, 111-120.
R. C. Prim (1957). Shortest connection networks and some generalizations. Bell System Technical Journal 36, 1389-1401.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

LANES = 4
"""Words of a vector; the words of a class are a multiple of it."""

_ADDED = 8
"""Vectors that are added before anything is counted."""

_BLOCK = np.int64(1024)
"""Words of a plane that are kept near the core while many planes are counted against it (8 KiB)."""

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)
_NOTHING = ir.Constant(_VECTOR, [0] * LANES)


def _popcount(builder, vector):
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.ctpop.v{LANES}i64"), [vector])


def _full_adder(builder, a, b, c):
    """Return the sum and the carry of three bits, for every bit of three vectors."""
    two = builder.xor(b, c)
    return builder.xor(a, two), builder.or_(builder.and_(b, c), builder.and_(a, two))


def _add_to(builder, place, vector):
    builder.store(builder.add(builder.load(place), vector), place)


def _times(builder, vector, power):
    return builder.shl(vector, ir.Constant(_VECTOR, [power] * LANES))


def _sum_of_lanes(builder, vector):
    total = builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))
    for i in range(1, LANES):
        total = builder.add(total, builder.extract_element(vector, ir.Constant(ir.IntType(32), i)))
    return total


@intrinsic
def _count_both(typingctx, words, x, y, n):
    """Return the one bits of words[x : x + n] & words[y : y + n]; n is a multiple of LANES."""
    if words.dtype != types.uint64 or words.layout != "C":
        raise TypingError("planes are contiguous words")

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        step = ir.Constant(_WORD, LANES * _ADDED)

        def both(at):
            vectors = []
            for start in args[1:3]:
                address = builder.gep(data, [builder.add(start, at)])
                vector = builder.load(builder.bitcast(address, _VECTOR.as_pointer()))
                vector.align = 8
                vectors.append(vector)
            return builder.and_(*vectors)

        *digits, eights, rest = (cgutils.alloca_once_value(builder, _NOTHING) for _ in range(5))
        n_blocks = builder.udiv(args[3], step)
        with cgutils.for_range(builder, n_blocks) as block:
            at = builder.mul(block.index, step)
            vectors = [both(builder.add(at, ir.Constant(_WORD, LANES * i))) for i in range(_ADDED)]
            for place in digits:
                digit, carries = builder.load(place), []
                for b, c in zip(vectors[::2], vectors[1::2], strict=True):
                    digit, carry = _full_adder(builder, digit, b, c)
                    carries.append(carry)
                builder.store(digit, place)
                vectors = carries
            _add_to(builder, eights, _popcount(builder, vectors[0]))
        done = builder.mul(n_blocks, step)
        n_rest = builder.udiv(builder.sub(args[3], done), ir.Constant(_WORD, LANES))
        with cgutils.for_range(builder, n_rest) as one:
            at = builder.add(done, builder.mul(one.index, ir.Constant(_WORD, LANES)))
            _add_to(builder, rest, _popcount(builder, both(at)))
        total = builder.add(builder.load(rest), _times(builder, builder.load(eights), len(digits)))
        for power, place in enumerate(digits):
            total = builder.add(total, _times(builder, _popcount(builder, builder.load(place)), power))
        return _sum_of_lanes(builder, total)

    return types.int64(words, types.int64, types.int64, types.int64), codegen


@intrinsic
def _equal_mask(typingctx, codes, start, state):
    """Return the word whose bit b says whether codes[start + b] == state: one vector comparison of 64 bytes."""
    if codes.dtype != types.int8 or codes.layout != "C":
        raise TypingError("planes are made from contiguous int8 codes")

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        vector = ir.VectorType(ir.IntType(8), 64)
        values = builder.load(builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer()))
        values.align = 1
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, args[2], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        same = builder.icmp_signed("==", values, builder.shuffle_vector(one, undefined, everywhere))
        return builder.bitcast(same, _WORD)

    return types.uint64(codes, types.intp, types.int8), codegen


# Planes


@njit(cache=True, nogil=True)
def sort_codes(codes, order, ends, starts, out):
    """Set out to the codes in the given order, class c from row 64 starts[c] on.

    The rows of class c are order[ends[c]] … order[ends[c + 1] − 1] (uint32); −1 stands behind the last of them.
    """
    for c in range(starts.shape[0] - 1):
        shift, stop = np.uint64(64 * starts[c] - ends[c]), np.uint64(ends[c + 1])
        for i in range(np.uint64(ends[c]), stop):
            out[i + shift] = codes[np.uint64(order[i])]
        for i in range(stop + shift, np.uint64(64 * starts[c + 1])):
            out[i] = -1


@njit(cache=True, nogil=True)
def fill_class_planes(codes, n_planes, size, at, words):
    """Fill the planes of a column's first states, each of so many words, from words[at] on."""
    n_rows = codes.shape[0]
    n_full = n_rows // 64
    for s in range(n_planes):
        state, start = np.int8(s), at + s * size
        for w in range(n_full):
            words[start + w] = _equal_mask(codes, w * 64, state)
        last = np.uint64(0)
        for i in range(64 * n_full, n_rows):
            if codes[i] == state:
                last |= np.uint64(1) << np.uint64(i - 64 * n_full)
        for w in range(n_full, size):
            words[start + w] = last if w == n_full else np.uint64(0)


# Information


@njit(cache=True, nogil=True)
def _n_log_n(n, known):
    """Return n log n, looked up where it is known."""
    if n < known.shape[0]:
        return known[np.uint64(n)]
    return n * np.log(n) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def fill_n_log_n(out):
    """Set out[n] to n log n."""
    for n in range(out.shape[0]):
        out[n] = n * np.log(n) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def fill_class_margins(words, size, starts, first, kept, ends, known, margins, sums, present):
    """Fill the counts of every variable's states, their Σ n log n and their sum, class by class.

    Class c has ends[c + 1] − ends[c] rows.
    """
    for c in range(starts.shape[0] - 1):
        n_rows = ends[c + 1] - ends[c]
        for v in range(kept.shape[0]):
            left = n_rows
            terms = 0.0
            for s in range(kept[v]):
                at = (first[v] + s) * size + starts[c]
                n = _count_both(words, at, at, starts[c + 1] - starts[c])
                margins[c, first[v] + s] = n
                terms += _n_log_n(n, known)
                left -= n
            present[c, v] = n_rows - left
            if kept[v] < first[v + 1] - first[v]:
                margins[c, first[v] + kept[v]] = left
                terms += _n_log_n(left, known)
                present[c, v] = n_rows
            sums[c, v] = terms


@njit(cache=True, nogil=True)
def _count_tile(words, places, a0, a1, b0, b1, w0, w1, counts):
    """Set counts[i, j] to the rows in both the planes at places[a0 + i] and places[b0 + j], if the second comes later.

    Only words w0 … w1 − 1 of a plane are counted. Blocks of words come first, so that the planes a stay in the cache.
    """
    for i in range(a1 - a0):
        for j in range(b1 - b0):
            counts[i, j] = 0
    for w in range(w0, w1, _BLOCK):
        n = min(_BLOCK, w1 - w)
        for j in range(b1 - b0):
            for i in range(min(a1, b0 + j) - a0):
                counts[i, j] += _count_both(words, places[a0 + i] + w, places[b0 + j] + w, n)


@njit(cache=True, nogil=True)
def _complete_terms(counts, i0, i1, j0, j1, margins, a, b, down, known):
    """Return Σ n log n over the cells of the table of two complete variables.

    Cells i0 … i1 − 1 × j0 … j1 − 1 were counted, and the last row and column are what they leave of the margins, which
    begin at margins[a] and margins[b].
    """
    n_i, n_j = i1 - i0, j1 - j0
    terms = 0.0
    for j in range(n_j):
        down[np.uint64(j)] = margins[np.uint64(b + j)]
    for i in range(n_i):
        left = margins[np.uint64(a + i)]
        for j in range(n_j):
            cell = counts[np.uint64(i0 + i), np.uint64(j0 + j)]
            left -= cell
            down[np.uint64(j)] -= cell
            terms += _n_log_n(cell, known)
        terms += _n_log_n(left, known)
    corner = margins[np.uint64(a + n_i)]
    for j in range(n_j):
        corner -= down[np.uint64(j)]
        terms += _n_log_n(down[np.uint64(j)], known)
    return terms + _n_log_n(corner, known)


@njit(cache=True, nogil=True)
def _available_terms(counts, i0, i1, j0, j1, margin_a, margin_b, down, known):
    """Return Σ n log n over the cells of a table less that over its margins, and the rows it counts.

    As before, but one variable at least has missing cells: its last state was counted too, and the other's margins are
    those of the rows in which it is there.
    """
    n_i, n_j = i1 - i0, j1 - j0
    terms = 0.0
    total = 0
    for j in range(n_j + 1):
        down[j] = 0
    for i in range(margin_a.shape[0]):
        left, across = margin_a[i], 0
        for j in range(margin_b.shape[0]):
            if j == n_j:
                cell = left
            elif i == n_i:
                cell = margin_b[j] - down[j]
            else:
                cell = counts[i0 + i, j0 + j]
            terms += _n_log_n(cell, known)
            left -= cell
            across += cell
            down[j] += cell
        terms -= _n_log_n(across, known)
        total += across
    for j in range(margin_b.shape[0]):
        terms -= _n_log_n(down[j], known)
    return terms, total


@njit(cache=True, nogil=True)
def fill_pair_information(words, starts, first, own, places, margins, sums, present, known, jobs, information, rows):
    """Fill I(A; B), given the class, and the rows it rests on for the pairs of some jobs, both ways round.

    A job (a0, a1, b0, b1) has the variables a0 … a1 − 1 and those of b0 … b1 − 1 that are not before them; a variable
    with itself gets its entropy. Variable v's planes are at places[own[v]] … places[own[v + 1] − 1]. ``rows`` may be
    empty, and is then left alone.
    """
    height, width = 0, 0
    for t in range(jobs.shape[0]):
        a0, a1, b0, b1 = jobs[t, 0], jobs[t, 1], jobs[t, 2], jobs[t, 3]
        height = max(height, a1 - a0, own[a1] - own[a0])
        width = max(width, b1 - b0, own[b1] - own[b0])
    counts, values, totals = np.empty((height, width), np.int64), np.empty((height, width)), np.empty((height, width))
    down = np.empty(margins.shape[1] + 1, np.int64)
    for t in range(jobs.shape[0]):
        a0, a1, b0, b1 = jobs[t, 0], jobs[t, 1], jobs[t, 2], jobs[t, 3]
        values[:] = 0.0
        totals[:] = 0.0
        for c in range(starts.shape[0] - 1):
            _count_tile(words, places, own[a0], own[a1], own[b0], own[b1], starts[c], starts[c + 1], counts)
            for a in range(a0, a1):
                i0, i1 = own[a] - own[a0], own[a + 1] - own[a0]
                n_a = first[a + 1] - first[a]
                for b in range(max(a, b0), b1):
                    j0, j1 = own[b] - own[b0], own[b + 1] - own[b0]
                    n_b = first[b + 1] - first[b]
                    if a == b:
                        terms, n = -sums[c, a], present[c, a]
                    elif i1 - i0 < n_a and j1 - j0 < n_b:
                        terms = _complete_terms(counts, i0, i1, j0, j1, margins[c], first[a], first[b], down, known)
                        terms, n = terms - (sums[c, a] + sums[c, b]), present[c, a]
                    else:
                        margin_a, margin_b = margins[c, first[a] : first[a + 1]], margins[c, first[b] : first[b + 1]]
                        terms, n = _available_terms(counts, i0, i1, j0, j1, margin_a, margin_b, down, known)
                    values[a - a0, b - b0] += max(0.0, terms + _n_log_n(n, known))
                    totals[a - a0, b - b0] += n
        for a in range(a0, a1):
            for b in range(max(a, b0), b1):
                n = totals[a - a0, b - b0]
                found = values[a - a0, b - b0] / n if n > 0.0 else 0.0
                information[a, b] = found
                information[b, a] = found
                if rows.shape[0] > 0:
                    rows[a, b] = n
                    rows[b, a] = n


# Spanning tree


@njit(cache=True, nogil=True)
def _comes_first(weight, u, v, best, x, y):
    """Return whether the edge u – v goes before x – y: it is heavier, or as heavy and the first by its ends."""
    if weight != best:
        return weight > best
    return (min(u, v), max(u, v)) < (min(x, y), max(x, y))


@njit(cache=True, nogil=True)
def span(weights, joined_to):
    """Fill the node that each node is joined to when it enters a maximum spanning forest; −1 for the first of a tree.

    Edges of weight −inf are not there. Edges of equal weight are taken by their ends, so the forest is the one that
    Kruskal's algorithm finds.
    """
    n = weights.shape[0]
    best, nearest, waiting = np.full(n, -np.inf), np.full(n, -1), np.arange(n)
    at = 0
    for n_left in range(n, 0, -1):
        chosen = waiting[at]
        joined_to[chosen] = nearest[chosen]
        waiting[at] = waiting[n_left - 1]
        at = 0
        for k in range(n_left - 1):
            v = waiting[k]
            weight = weights[chosen, v]
            if weight > -np.inf and _comes_first(weight, chosen, v, best[v], nearest[v], v):
                best[v], nearest[v] = weight, chosen
            first = waiting[at]
            if k > 0 and _comes_first(best[v], nearest[v], v, best[first], nearest[first], first):
                at = k
