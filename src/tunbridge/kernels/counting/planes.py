"""Bit planes: one bit a row for each (variable, state), counted by AND and population count.

Row i is bit i mod 64 of word i // 64 of a plane; a missing value sets no bit. The rows may be sorted by a class first;
each class then begins a new word. A variable without missing values has no plane for its last state: it is what the
others leave.

Everything that planes count is in this file, because kernels that call each other share a file: tables of all pairs of
variables, their mutual information, families, and families extended by many candidate parents.

The inner loop is a plain population count, which LLVM turns into vector instructions. Adding vectors bit by bit first
(Harley & Seal's counter) was measured: 1.25 times as fast with AVX2, 1.5 times slower with AVX-512.

**Extensions.** A family X | P is counted with each of many candidate parents. ``family.members`` lists X first, then P;
a joint state of the family is a number whose first digit is X. Its rows are found in one of three ways, whichever is
least work:

* a joint state with many rows becomes a plane, the AND of the planes of its digits, which is counted against the planes
  of all candidates;
* the rows of joint states with few rows are listed and counted one by one;
* where the table of X | B with the same candidates is known for some B ⊂ P, the most common state of the other
  variables of P is not counted at all, for each joint state of (X, B): it is what the others leave of the known table.
  In skewed data that is most of the rows. (Moore & Lee 1998 leave out the most common value in the same way.)

References
----------
A. Moore, M. S. Lee (1998). Cached sufficient statistics for efficient machine learning with large datasets. Journal of
Artificial Intelligence Research 8, 67-91.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from tunbridge.kernels.caching import njit

WORD_BLOCK = 512
"""Words of a plane that stay in the cache while many planes are counted against it (4 KiB)."""

_EMPTY, _PLANE, _LISTED, _REST = np.int8(0), np.int8(1), np.int8(2), np.int8(3)
"""How the rows of a joint state are found."""


class Planes(NamedTuple):
    """The planes of several variables.

    Parameters
    ----------
    words : ndarray of shape (n_planes, n_words)
        The planes (uint64).
    first : ndarray
        The planes of variable v are first[v] … first[v + 1] − 1: one a state, without the last state if v is complete.
    state : ndarray
        The states of variable v are state[v] … state[v + 1] − 1 among the states of all variables.
    start : ndarray
        The rows of class c are in the words start[c] … start[c + 1] − 1 of each plane.
    n_rows : ndarray
        The number of rows of each class.
    """

    words: np.ndarray
    first: np.ndarray
    state: np.ndarray
    start: np.ndarray
    n_rows: np.ndarray


class FamilyList(NamedTuple):
    """Families to count.

    Parameters
    ----------
    members, start : ndarray
        The members of family f, parents first, are members[start[f]] … members[start[f + 1] − 1].
    cell : ndarray
        Its counts begin at cell[f], the states of the last member fastest.
    """

    members: np.ndarray
    start: np.ndarray
    cell: np.ndarray


class Extension(NamedTuple):
    """A family that is extended by candidates.

    Parameters
    ----------
    members : ndarray
        The child, then the parents of the known table, then the other parents.
    counts : ndarray
        The rows of each joint state.
    n_new : int
        The joint states of the parents that are not in the known table.
    least : int
        A joint state of so many rows is counted by its plane.
    """

    members: np.ndarray
    counts: np.ndarray
    n_new: int
    least: int


class Blocks(NamedTuple):
    """Tables one behind the other: that of candidate i begins at cells[first[i]]."""

    cells: np.ndarray
    first: np.ndarray


class Margins(NamedTuple):
    """By class, the rows of each state, and Σ n log n over the states of each variable (−inf: some are missing)."""

    rows: np.ndarray
    terms: np.ndarray


class _Tile(NamedTuple):
    """The planes p0 … p1 − 1, which are counted with the planes q0 … q1 − 1."""

    p0: int
    p1: int
    q0: int
    q1: int


class _Pair(NamedTuple):
    """Two variables, whose planes are counted from place (i, j) of a tile on (unsigned: indices do not wrap)."""

    a: int
    b: int
    i: int
    j: int


# Words


@intrinsic
def _popcount(typingctx, word):
    """Return the number of one bits: LLVM's ctpop, which numba does not offer by itself."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx, word):
    """Return the number of zero bits below the lowest one bit of a word that has one."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def _equal_mask(typingctx, codes, start, state):
    """Return the word whose bit b says whether codes[start + b] == state: one vector comparison of 64 bytes."""
    if codes.dtype != types.int8 or codes.layout != "C":
        raise TypingError("bit planes are made from contiguous int8 codes")

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        vector = ir.VectorType(ir.IntType(8), 64)
        values = builder.load(builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer()))
        values.align = 1
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, args[2], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        same = builder.icmp_signed("==", values, builder.shuffle_vector(one, undefined, everywhere))
        return builder.bitcast(same, ir.IntType(64))

    return types.uint64(codes, types.intp, types.int8), codegen


@njit(cache=True, nogil=True)
def _count(x, y):
    """Return the number of rows in both of two planes."""
    total = np.uint64(0)
    for w in range(x.shape[0]):
        total += _popcount(x[w] & y[w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def _count_two(x, y, u):
    """Return the number of rows in x & u and in y & u: the words of u are loaded once."""
    xu, yu = np.uint64(0), np.uint64(0)
    for w in range(x.shape[0]):
        xu += _popcount(x[w] & u[w])
        yu += _popcount(y[w] & u[w])
    return np.int64(xu), np.int64(yu)


@njit(cache=True, nogil=True)
def _fill_all_rows(n_rows, w0, out):
    """Set out to the plane of all rows, from word w0 on."""
    n = out.shape[0]
    for w in range(n):
        out[w] = ~np.uint64(0)
    if n_rows < 64 * (w0 + n):
        out[n - 1] = (np.uint64(1) << np.uint64(n_rows % 64)) - np.uint64(1)


# Planes


@njit(cache=True, nogil=True)
def sort_codes(codes, order, ends, start, out):
    """Set out to the codes sorted by class, class c from row 64 start[c] on, filled up with −1.

    The rows of class c are order[ends[c]] … order[ends[c + 1] − 1] (uint32).
    """
    for c in range(start.shape[0] - 1):
        shift, stop = np.uint64(64 * start[c] - ends[c]), np.uint64(ends[c + 1])
        for i in range(np.uint64(ends[c]), stop):
            out[i + shift] = codes[np.uint64(order[i])]
        for i in range(stop + shift, np.uint64(64 * start[c + 1])):
            out[i] = -1


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
def fill_margins(planes, out):
    """Set out[c, t] to the rows of class c in state t."""
    for c in range(planes.n_rows.shape[0]):
        w0, w1 = planes.start[c], planes.start[c + 1]
        for v in range(planes.first.shape[0] - 1):
            at, left = planes.state[v], planes.n_rows[c]
            for p in range(planes.first[v], planes.first[v + 1]):
                plane = planes.words[p, w0:w1]
                out[c, at] = _count(plane, plane)
                left -= out[c, at]
                at += 1
            if at < planes.state[v + 1]:
                out[c, at] = left


# Pairs


@njit(cache=True, nogil=True)
def _count_tile(planes, c, tile, counts):
    """Set counts[i, j] to the rows of class c in both of the planes p0 + i < p1 and q0 + j < q1, if that is later.

    Blocks of words come first, so that the planes stay in the cache.
    """
    p0, p1, q0, q1 = tile
    for i in range(p1 - p0):
        for j in range(q1 - q0):
            counts[i, j] = 0
    for w0 in range(planes.start[c], planes.start[c + 1], WORD_BLOCK):
        w1 = min(w0 + WORD_BLOCK, planes.start[c + 1])
        for q in range(q0, q1):
            plane, stop = planes.words[q, w0:w1], min(p1, q)
            for p in range(p0, stop - 1, 2):
                one, two = _count_two(planes.words[p, w0:w1], planes.words[p + 1, w0:w1], plane)
                counts[p - p0, q - q0] += one
                counts[p + 1 - p0, q - q0] += two
            if (stop - p0) % 2 == 1:
                counts[stop - 1 - p0, q - q0] += _count(planes.words[stop - 1, w0:w1], plane)


@njit(cache=True, nogil=True)
def _tile(planes, job):
    """Return the planes of the variables a0 … a1 − 1 and b0 … b1 − 1 of a job."""
    return _Tile(planes.first[job[0]], planes.first[job[1]], planes.first[job[2]], planes.first[job[3]])


@njit(cache=True, nogil=True)
def _pair(planes, tile, a, b):
    return _Pair(a, b, np.uint64(planes.first[a] - tile.p0), np.uint64(planes.first[b] - tile.q0))


@njit(cache=True, nogil=True)
def _extent(planes, v):
    """Return the first state of a variable and how many planes and states it has (unsigned: indices do not wrap)."""
    n_planes, n_states = planes.first[v + 1] - planes.first[v], planes.state[v + 1] - planes.state[v]
    return np.uint64(planes.state[v]), np.uint64(n_planes), np.uint64(n_states)


@njit(cache=True, nogil=True)
def _fill_table(planes, pair, counts, margins, table):
    """Fill the table of two variables; return its shape.

    States without a plane get what the others leave of the margins.
    """
    at_a, n_a, r = _extent(planes, pair.a)
    at_b, n_b, s = _extent(planes, pair.b)
    if pair.a == pair.b:
        for i in range(r):
            for j in range(s):
                table[i, j] = margins[at_a + i] if i == j else 0
        return r, s
    for i in range(n_a):
        left = margins[at_a + i]
        for j in range(n_b):
            table[i, j] = counts[pair.i + i, pair.j + j]
            left -= table[i, j]
        if n_b < s:
            table[i, n_b] = left
    if n_a < r:
        for j in range(s):
            left = margins[at_b + j]
            for i in range(n_a):
                left -= table[i, j]
            table[n_a, j] = left
    return r, s


@njit(cache=True, nogil=True)
def _room(planes, jobs):
    """Return room for the counts of the largest job, and for the largest table."""
    height, width, most = 1, 1, 1
    for t in range(jobs.shape[0]):
        height = max(height, planes.first[jobs[t, 1]] - planes.first[jobs[t, 0]])
        width = max(width, planes.first[jobs[t, 3]] - planes.first[jobs[t, 2]])
    for v in range(planes.state.shape[0] - 1):
        most = max(most, planes.state[v + 1] - planes.state[v])
    return np.empty((height, width), np.int64), np.empty((most, most), np.int64)


@njit(cache=True, nogil=True)
def fill_pairs(planes, margins, jobs, low, out):
    """Fill the counts of all pairs of states for some jobs: out[c, s − low, t − low] are the rows with states s and t.

    A job (a0, a1, b0, b1) has the variables a0 … a1 − 1 and those of b0 … b1 − 1 that are not before them. Of a square
    ``out`` both halves are filled.
    """
    counts, table = _room(planes, jobs)
    is_square = out.shape[1] == out.shape[2]
    for t in range(jobs.shape[0]):
        a0, a1, b0, b1 = jobs[t, 0], jobs[t, 1], jobs[t, 2], jobs[t, 3]
        tile = _tile(planes, jobs[t])
        for c in range(planes.n_rows.shape[0]):
            own, matrix = margins[c], out[c]
            _count_tile(planes, c, tile, counts)
            for a in range(a0, a1):
                at_a = np.uint64(planes.state[a] - low)
                for b in range(max(a, b0), b1):
                    at_b = np.uint64(planes.state[b] - low)
                    r, s = _fill_table(planes, _pair(planes, tile, a, b), counts, own, table)
                    for i in range(r):
                        for j in range(s):
                            matrix[at_a + i, at_b + j] = table[i, j]
                    if is_square:
                        for j in range(s):
                            for i in range(r):
                                matrix[at_b + j, at_a + i] = table[i, j]


# Information of pairs


@njit(cache=True, nogil=True)
def _n_log_n(n, known):
    """Return n log n, looked up where it is known."""
    if n < known.shape[0]:
        return known[np.uint64(n)]
    return n * np.log(n) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def _complete_terms(planes, pair, counts, margins, known, down):
    """Return Σ n log n over the cells of the table of two complete variables: three times as fast as from the table."""
    at_a, n_a, _ = _extent(planes, pair.a)
    at_b, n_b, _ = _extent(planes, pair.b)
    terms = 0.0
    for j in range(n_b):
        down[j] = margins[at_b + j]
    for i in range(n_a):
        left = margins[at_a + i]
        for j in range(n_b):
            cell = counts[pair.i + i, pair.j + j]
            left -= cell
            down[j] -= cell
            terms += _n_log_n(cell, known)
        terms += _n_log_n(left, known)
    corner = margins[at_a + n_a]
    for j in range(n_b):
        corner -= down[j]
        terms += _n_log_n(down[j], known)
    return terms + _n_log_n(corner, known)


@njit(cache=True, nogil=True)
def _table_terms(table, r, s, known, down):
    """Return Σ n log n over the cells of a table less that over its margins, and the rows it counts."""
    terms, total = 0.0, 0
    for j in range(s):
        down[j] = 0
    for i in range(r):
        across = 0
        for j in range(s):
            terms += _n_log_n(table[i, j], known)
            across += table[i, j]
            down[j] += table[i, j]
        terms -= _n_log_n(across, known)
        total += across
    for j in range(s):
        terms -= _n_log_n(down[j], known)
    return terms, total


@njit(cache=True, nogil=True)
def fill_information(matrix, state, known, piece, information, rows):
    """Fill I(A; B) and the number of rows for variables a, low ≤ a < high, and b ≥ a, from the counts of all pairs.

    The piece is (low, high).
    """
    down = np.empty(matrix.shape[0], matrix.dtype)
    for a in range(piece[0], piece[1]):
        for b in range(a, state.shape[0] - 1):
            table = matrix[state[a] : state[a + 1], state[b] : state[b + 1]]
            terms, n = _table_terms(table, table.shape[0], table.shape[1], known, down)
            information[a, b] = max(0.0, terms + _n_log_n(n, known)) / n if n > 0 else 0.0
            information[b, a] = information[a, b]
            rows[a, b] = n
            rows[b, a] = n


@njit(cache=True, nogil=True)
def fill_margin_terms(planes, margins, known, out):
    """Set out[c, v] to Σ n log n over the states of variable v in class c, −inf if it has missing values."""
    for c in range(out.shape[0]):
        for v in range(out.shape[1]):
            out[c, v] = 0.0
            for t in range(planes.state[v], planes.state[v + 1]):
                out[c, v] += _n_log_n(margins[c, t], known)
            if planes.first[v + 1] - planes.first[v] == planes.state[v + 1] - planes.state[v]:
                out[c, v] = -np.inf


@njit(cache=True, nogil=True)
def fill_pair_information(planes, margins, known, jobs, information, rows):
    """Fill I(A; B), given the class, for the pairs of some jobs as in ``fill_pairs``, both ways round.

    A variable with itself gets its entropy. ``rows`` gets the number of rows counted, unless it is empty; ``known[n]``
    is n log n.
    """
    counts, table = _room(planes, jobs)
    down = np.empty(table.shape[0], np.int64)
    for t in range(jobs.shape[0]):
        a0, a1, b0, b1 = jobs[t, 0], jobs[t, 1], jobs[t, 2], jobs[t, 3]
        tile = _tile(planes, jobs[t])
        found, total = np.zeros((a1 - a0, b1 - b0)), np.zeros((a1 - a0, b1 - b0))
        for c in range(planes.n_rows.shape[0]):
            own, own_terms = margins.rows[c], margins.terms[c]
            _count_tile(planes, c, tile, counts)
            for a in range(a0, a1):
                for b in range(max(a, b0), b1):
                    pair, n = _pair(planes, tile, a, b), planes.n_rows[c]
                    of_margins = own_terms[a] + own_terms[b]
                    if of_margins >= 0.0 and a != b:
                        terms = _complete_terms(planes, pair, counts, own, known, down) - of_margins
                    else:
                        r, s = _fill_table(planes, pair, counts, own, table)
                        terms, n = _table_terms(table, r, s, known, down)
                    found[a - a0, b - b0] += max(0.0, terms + _n_log_n(n, known))
                    total[a - a0, b - b0] += n
        for a in range(a0, a1):
            for b in range(max(a, b0), b1):
                n_rows = total[a - a0, b - b0]
                information[a, b] = found[a - a0, b - b0] / n_rows if n_rows > 0.0 else 0.0
                information[b, a] = information[a, b]
                if rows.shape[0] > 0:
                    rows[a, b] = n_rows
                    rows[b, a] = n_rows


# Families


@njit(cache=True, nogil=True)
def _refine(planes, v, w0, w1, joint, out):
    """Set out[i·n + s] to the rows of joint[i] in state s of a variable of n states, for words w0 … w1 − 1."""
    p, n_planes, n = planes.first[v], planes.first[v + 1] - planes.first[v], planes.state[v + 1] - planes.state[v]
    for i in range(joint.shape[0]):
        for s in range(n_planes):
            for w in range(w1 - w0):
                out[i * n + s, w] = joint[i, w] & planes.words[p + s, w0 + w]
        if n_planes < n:
            for w in range(w1 - w0):
                out[i * n + n_planes, w] = joint[i, w]
            for s in range(n_planes):
                for w in range(w1 - w0):
                    out[i * n + n_planes, w] &= ~planes.words[p + s, w0 + w]


@njit(cache=True, nogil=True)
def _add_counts(planes, v, w0, w1, joint, out):
    """Add the rows of joint[i] in state s of a variable of n states to out[i·n + s], for words w0 … w1 − 1."""
    p, n_planes, n = planes.first[v], planes.first[v + 1] - planes.first[v], planes.state[v + 1] - planes.state[v]
    for i in range(joint.shape[0]):
        rows = joint[i, : w1 - w0]
        left = _count(rows, rows) if n_planes < n else 0
        for s in range(n_planes):
            found = _count(rows, planes.words[p + s, w0:w1])
            out[i * n + s] += found
            left -= found
        if n_planes < n:
            out[i * n + n_planes] += left


@njit(cache=True, nogil=True)
def count_families(planes, families, low, high, joint, out):
    """Add the counts of families low … high − 1 to ``out``, which is zero at first.

    ``joint`` has room for the planes of the configurations of any family's parents, twice.
    """
    n_words = planes.words.shape[1]
    for f in range(low, high):
        parents = families.members[families.start[f] : families.start[f + 1] - 1]
        child = families.members[families.start[f + 1] - 1]
        for w0 in range(0, n_words, WORD_BLOCK):
            w1 = min(n_words, w0 + WORD_BLOCK)
            at, n_joint = 0, np.int64(1)
            _fill_all_rows(planes.n_rows[0], w0, joint[0, 0, : w1 - w0])
            for v in parents:
                _refine(planes, v, w0, w1, joint[at, :n_joint], joint[1 - at])
                n_joint *= planes.state[v + 1] - planes.state[v]
                at = 1 - at
            cells = out[families.cell[f] : families.cell[f + 1]]
            _add_counts(planes, child, w0, w1, joint[at, :n_joint], cells)


# Extensions


@njit(cache=True, nogil=True)
def _assign_roles(extension, has_known, roles):
    """Decide for every joint state how its rows are found; return the numbers of planes and of listed rows."""
    counts, n_new = extension.counts, extension.n_new
    for b in range(0, counts.shape[0], n_new):
        common = b
        for j in range(b, b + n_new):
            common = j if counts[j] > counts[common] else common
            roles[j] = _LISTED if counts[j] < extension.least else _PLANE
            roles[j] = _EMPTY if counts[j] == 0 else roles[j]
        if has_known and counts[common] > 0:
            roles[common] = _REST
    n_planes, n_listed = 0, 0
    for j in range(counts.shape[0]):
        n_planes += roles[j] == _PLANE
        n_listed += counts[j] if roles[j] == _LISTED else 0
    return n_planes, n_listed


@njit(cache=True, nogil=True)
def _fill_joint_plane(planes, members, joint, out):
    """Set out to the plane of a joint state: the AND of its digits' planes."""
    n_words = planes.words.shape[1]
    _fill_all_rows(planes.n_rows[0], 0, out)
    for f in range(members.shape[0] - 1, -1, -1):
        v = members[f]
        n_states = planes.state[v + 1] - planes.state[v]
        digit, joint = joint % n_states, joint // n_states
        if digit < planes.first[v + 1] - planes.first[v]:
            for w in range(n_words):
                out[w] &= planes.words[planes.first[v] + digit, w]
        else:
            for p in range(planes.first[v], planes.first[v + 1]):
                for w in range(n_words):
                    out[w] &= ~planes.words[p, w]


@njit(cache=True, nogil=True)
def _count_by_planes(planes, chosen, joint_planes, which, tables):
    """Add the rows of the joint states that have planes, for every plane of every candidate."""
    table, first = tables
    n_words, n = planes.words.shape[1], which.shape[0]
    for w0 in range(0, n_words, WORD_BLOCK):
        w1 = min(n_words, w0 + WORD_BLOCK)
        for i in range(chosen.shape[0]):
            c = chosen[i]
            s = planes.state[c + 1] - planes.state[c]
            for t in range(planes.first[c + 1] - planes.first[c]):
                plane, at = planes.words[planes.first[c] + t, w0:w1], first[i] + t
                for m in range(0, n - 1, 2):
                    one, two = _count_two(joint_planes[m, w0:w1], joint_planes[m + 1, w0:w1], plane)
                    table[at + which[m] * s] += one
                    table[at + which[m + 1] * s] += two
                if n % 2 == 1:
                    table[at + which[n - 1] * s] += _count(joint_planes[n - 1, w0:w1], plane)


@njit(cache=True, nogil=True)
def _fill_last(planes, chosen, counts, roles, tables):
    """Give the last state of complete candidates what the others leave, for the joint states counted by planes."""
    table, first = tables
    for i in range(chosen.shape[0]):
        c = chosen[i]
        s = planes.state[c + 1] - planes.state[c]
        if planes.first[c + 1] - planes.first[c] == s:
            continue
        for j in range(counts.shape[0]):
            if roles[j] == _PLANE:
                at = first[i] + j * s
                rest = counts[j]
                for t in range(s - 1):
                    rest -= table[at + t]
                table[at + s - 1] = rest


@njit(cache=True, nogil=True)
def _fill_rest(planes, chosen, known, n_new, roles, tables):
    """Give the most common states what the others leave of the known tables."""
    table, first = tables
    for i in range(chosen.shape[0]):
        s = planes.state[chosen[i] + 1] - planes.state[chosen[i]]
        for b in range(roles.shape[0] // n_new):
            for t in range(s):
                rest, missing = np.int64(known.cells[known.first[i] + b * s + t]), -1
                for j in range(b * n_new, (b + 1) * n_new):
                    if roles[j] == _REST:
                        missing = j
                    else:
                        rest -= table[first[i] + j * s + t]
                if missing >= 0:
                    table[first[i] + missing * s + t] = rest


@njit(cache=True, nogil=True)
def _list_rows(planes, codes, members, covered, listed, joints):
    """List the rows outside the covered ones that miss no member, with their joint states; return how many."""
    n = 0
    for w in range(covered.shape[0]):
        word = ~covered[w]
        while word != np.uint64(0):
            row = 64 * w + np.int64(_trailing_zeros(word))
            word &= word - np.uint64(1)
            if row >= planes.n_rows[0]:
                break
            joint, is_complete = np.int64(0), True
            for v in members:
                code = codes[v, row]
                is_complete = is_complete and code >= 0
                joint = joint * (planes.state[v + 1] - planes.state[v]) + code
            if is_complete:
                listed[n], joints[n] = row, joint
                n += 1
    return n


@njit(cache=True, nogil=True)
def _count_listed(planes, codes, chosen, listed, joints, tables):
    """Add the listed rows one by one, for two candidates at a time: a cell met twice in a row waits for its store."""
    table, first = tables
    for i in range(0, chosen.shape[0], 2):
        k = min(i + 1, chosen.shape[0] - 1)
        a, b, has_two = codes[chosen[i]], codes[chosen[k]], k > i
        _, _, n_a = _extent(planes, chosen[i])
        _, _, n_b = _extent(planes, chosen[k])
        at_a, at_b = np.uint64(first[i]), np.uint64(first[k])
        for m in range(listed.shape[0]):
            row, joint = np.uint64(listed[m]), np.uint64(joints[m])
            if a[row] >= 0:
                table[at_a + joint * n_a + np.uint64(a[row])] += 1
            if has_two and b[row] >= 0:
                table[at_b + joint * n_b + np.uint64(b[row])] += 1


@njit(cache=True, nogil=True)
def extend_family(planes, codes, extension, chosen, known, tables):
    """Count a family with each of the chosen candidates.

    The tables, of joint states × states of the candidate, are zero at first. ``known`` are the known tables; they have
    no cells if there are none.
    """
    members, counts = extension.members, extension.counts
    roles = np.empty(counts.shape[0], np.int8)
    n_planes, n_listed = _assign_roles(extension, known.cells.shape[0] > 0, roles)
    joint_planes, which = np.empty((n_planes, planes.words.shape[1]), np.uint64), np.empty(n_planes, np.int64)
    m = 0
    for j in range(counts.shape[0]):
        if roles[j] == _PLANE:
            _fill_joint_plane(planes, members, j, joint_planes[m])
            which[m] = j
            m += 1
    _count_by_planes(planes, chosen, joint_planes, which, tables)
    _fill_last(planes, chosen, counts, roles, tables)
    if n_listed > 0:
        room = np.empty((2, planes.words.shape[1]), np.uint64)
        covered, plane = room[0], room[1]
        for w in range(covered.shape[0]):
            covered[w] = 0
            for m in range(n_planes):
                covered[w] |= joint_planes[m, w]
        for j in range(counts.shape[0]):
            if roles[j] == _REST:
                _fill_joint_plane(planes, members, j, plane)
                for w in range(covered.shape[0]):
                    covered[w] |= plane[w]
        listed, joints = np.empty(n_listed, np.uint32), np.empty(n_listed, np.uint32)
        n_listed = _list_rows(planes, codes, members, covered, listed, joints)
        _count_listed(planes, codes, chosen, listed[:n_listed], joints[:n_listed], tables)
    if known.cells.shape[0] > 0:
        _fill_rest(planes, chosen, known, extension.n_new, roles, tables)
