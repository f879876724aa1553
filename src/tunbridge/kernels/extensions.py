"""Counts and scores of a family X | P extended by each of many candidate parents.

**Counts.** ``family`` lists X first, then P; a joint state of the family is a number whose first digit is X. Its rows
are found in one of three ways, whichever is least work:

* a joint state with many rows becomes a bit plane, the AND of the planes of its digits, which is counted against the
  planes of all candidates;
* the rows of joint states with few rows are listed and tallied one by one;
* where the table of X | B with the same candidates is known for some B ⊂ P, the commonest state of the other variables
  of P is not counted at all, for each joint state of (X, B): it is what the others leave of the known table. In skewed
  data that is most of the rows. (Moore & Lee 1998 leave out the most common value in the same way.)

``planes[first[v] + s]`` is the plane of state s of variable v; one plane less than states means that the variable is
complete and its last state is what the others leave. The table of candidate i is the block ``table[J own[i]:]`` of J
rows, J the joint states, with a column for each of its states.

**Scores.** A score is Σ cell(n_jk) − Σ row(n_j) over the cells and rows of the family's table. For most scores both
terms are functions of the count alone and are looked up in ``cells`` and ``rows`` (one entry for each count 0 … N). The
Dirichlet scores depend on the number of configurations q too: then ``ess`` > 0, cell(n) = log Γ(n + a) − log Γ(a) with
a = ess/(q r), and row(n) likewise with a = ess/q; ``occurring`` says that only configurations with rows make up q.
Kernels fill ``values`` (the score without penalty) and ``totals`` (the rows counted) for each candidate.

References
----------
A. Moore, M. S. Lee (1998). Cached sufficient statistics for efficient machine learning with large datasets. Journal of
Artificial Intelligence Research 8, 67-91.
"""

from __future__ import annotations

from math import lgamma

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

WORD_BLOCK = 512
"""Words of one plane that are kept near the core while many planes are counted against it (4 KiB)."""

EMPTY = np.int8(0)
PLANE = np.int8(1)
LISTED = np.int8(2)
REST = np.int8(3)


@intrinsic
def _popcount(typingctx, word):
    """Return the number of one bits."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@intrinsic
def _trailing_zeros(typingctx, word):
    """Return the number of zero bits below the lowest one bit of a word that has one."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@njit(cache=True, nogil=True)
def _dirichlet(n, a):
    return lgamma(n + a) - lgamma(a) if n > 0 else 0.0


@njit(cache=True, nogil=True)
def _score_block(table, at, n_joint, r, s, cells, rows, ess, occurring):
    """Return Σ cell − Σ row of a candidate's block (joint states with the child's digit first × s), and its rows."""
    q = n_joint // r
    value, total = 0.0, 0
    if ess <= 0.0:
        for j in range(q):
            for t in range(s):
                n = 0
                for k in range(r):
                    m = table[at + (k * q + j) * s + t]
                    n += m
                    value += cells[m]
                value -= rows[n]
                total += n
        return value, total
    size = float(q * s)
    if occurring:
        size = 0.0
        for j in range(q):
            for t in range(s):
                n = 0
                for k in range(r):
                    n += table[at + (k * q + j) * s + t]
                size += n > 0
    size = max(size, 1.0)
    for j in range(q):
        for t in range(s):
            n = 0
            for k in range(r):
                m = table[at + (k * q + j) * s + t]
                n += m
                value += _dirichlet(m, ess / (size * r))
            value -= _dirichlet(n, ess / size)
            total += n
    return value, total


@njit(cache=True, nogil=True)
def _fill_joint_plane(planes, first, states, family, joint, n_rows, out, at):
    """Set out[at] to the plane of a joint state: the AND of its digits' planes."""
    n_words = planes.shape[1]
    for w in range(n_words):
        out[at, w] = ~np.uint64(0)
    if n_rows % 64:
        out[at, n_words - 1] = (np.uint64(1) << np.uint64(n_rows % 64)) - np.uint64(1)
    for f in range(family.shape[0] - 1, -1, -1):
        v = family[f]
        digit = joint % states[v]
        joint //= states[v]
        n_planes = first[v + 1] - first[v]
        if digit < n_planes:
            p = first[v] + digit
            for w in range(n_words):
                out[at, w] &= planes[p, w]
        else:
            for p in range(first[v], first[v + 1]):
                for w in range(n_words):
                    out[at, w] &= ~planes[p, w]


@njit(cache=True, nogil=True)
def _count_plane(planes, at):
    total = np.uint64(0)
    for w in range(planes.shape[1]):
        total += _popcount(planes[at, w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def count_joint_states(planes, first, states, family, n_rows, out):
    """Count the rows of every joint state of a family."""
    plane = np.empty((1, planes.shape[1]), np.uint64)
    for j in range(out.shape[0]):
        _fill_joint_plane(planes, first, states, family, j, n_rows, plane, 0)
        out[j] = _count_plane(plane, 0)


@njit(cache=True, nogil=True)
def _assign_roles(counts, n_new, has_rest, least, roles):
    """Decide for every joint state how its rows are found; return how many get a plane, and whether some are listed."""
    n_planes, listed = 0, False
    for b in range(counts.shape[0] // n_new):
        common = 0
        for a in range(n_new):
            j = b * n_new + a
            if counts[j] > counts[b * n_new + common]:
                common = a
            if counts[j] == 0:
                roles[j] = EMPTY
            elif counts[j] >= least:
                roles[j] = PLANE
                n_planes += 1
            else:
                roles[j] = LISTED
                listed = True
        j = b * n_new + common
        if has_rest and counts[j] > 0:
            n_planes -= roles[j] == PLANE
            roles[j] = REST
    return n_planes, listed


@njit(cache=True, nogil=True)
def _list_rows(covered, codes, states, family, n_rows, listed, joints):
    """List the rows outside the covered ones that miss nothing of the family, with their joint states."""
    n = 0
    for w in range(covered.shape[0]):
        word = ~covered[w]
        while word != np.uint64(0):
            row = 64 * w + np.int64(_trailing_zeros(word))
            word &= word - np.uint64(1)
            if row >= n_rows:
                break
            joint, complete = np.int64(0), True
            for f in range(family.shape[0]):
                code = codes[family[f], row]
                complete = complete and code >= 0
                joint = joint * states[family[f]] + code
            if complete:
                listed[n] = row
                joints[n] = joint
                n += 1
    return n


@njit(cache=True, nogil=True)
def _count_one(x, u):
    xu = np.uint64(0)
    for w in range(x.shape[0]):
        xu += _popcount(x[w] & u[w])
    return np.int64(xu)


@njit(cache=True, nogil=True)
def _count_pair(x, y, u):
    """Return the rows in x&u and y&u: the words of u are loaded once for two counts."""
    xu = np.uint64(0)
    yu = np.uint64(0)
    for w in range(x.shape[0]):
        xu += _popcount(x[w] & u[w])
        yu += _popcount(y[w] & u[w])
    return np.int64(xu), np.int64(yu)


@njit(cache=True, nogil=True)
def _count_by_planes(planes, first, states, chosen, own, joint_planes, which, n_joint, table):
    """Add the rows of the joint states that have planes, for every plane of every candidate."""
    n_words = planes.shape[1]
    n = which.shape[0]
    for w0 in range(0, n_words, WORD_BLOCK):
        w1 = min(n_words, w0 + WORD_BLOCK)
        for i in range(chosen.shape[0]):
            c = chosen[i]
            at, s = n_joint * own[i], states[c]
            for t in range(first[c + 1] - first[c]):
                u = planes[first[c] + t, w0:w1]
                for m in range(0, n - 1, 2):
                    one, other = _count_pair(joint_planes[m, w0:w1], joint_planes[m + 1, w0:w1], u)
                    table[at + which[m] * s + t] += one
                    table[at + which[m + 1] * s + t] += other
                if n % 2:
                    table[at + which[n - 1] * s + t] += _count_one(joint_planes[n - 1, w0:w1], u)


@njit(cache=True, nogil=True)
def _tally(codes, states, chosen, own, i, listed, joints, n_listed, n_joint, table):
    """Tally the listed rows for one candidate."""
    c = chosen[i]
    at, s = np.uint64(n_joint * own[i]), np.uint64(states[c])
    for m in range(n_listed):
        code = codes[c, np.uint64(listed[m])]
        if code >= 0:
            table[at + np.uint64(joints[m]) * s + np.uint64(code)] += 1


@njit(cache=True, nogil=True)
def _count_listed(codes, states, chosen, own, listed, joints, n_listed, n_joint, table):
    """Tally the listed rows for every candidate, three at a time: a cell met twice in a row has to wait for itself."""
    n = chosen.shape[0]
    for i in range(0, n - n % 3, 3):
        a, b, c = chosen[i], chosen[i + 1], chosen[i + 2]
        s_a, s_b, s_c = np.uint64(states[a]), np.uint64(states[b]), np.uint64(states[c])
        at_a, at_b, at_c = np.uint64(n_joint * own[i]), np.uint64(n_joint * own[i + 1]), np.uint64(n_joint * own[i + 2])
        for m in range(n_listed):
            row, joint = np.uint64(listed[m]), np.uint64(joints[m])
            code_a, code_b, code_c = codes[a, row], codes[b, row], codes[c, row]
            if code_a >= 0:
                table[at_a + joint * s_a + np.uint64(code_a)] += 1
            if code_b >= 0:
                table[at_b + joint * s_b + np.uint64(code_b)] += 1
            if code_c >= 0:
                table[at_c + joint * s_c + np.uint64(code_c)] += 1
    for i in range(n - n % 3, n):
        _tally(codes, states, chosen, own, i, listed, joints, n_listed, n_joint, table)


@njit(cache=True, nogil=True)
def _fill_last(first, states, chosen, own, counts, roles, n_joint, table):
    """Give the last state of complete candidates what the others leave, for the joint states counted by planes."""
    for i in range(chosen.shape[0]):
        c = chosen[i]
        s = states[c]
        if first[c + 1] - first[c] == s:
            continue
        for j in range(n_joint):
            if roles[j] == PLANE:
                at = n_joint * own[i] + j * s
                rest = counts[j]
                for t in range(s - 1):
                    rest -= table[at + t]
                table[at + s - 1] = rest


@njit(cache=True, nogil=True)
def _fill_rest(states, chosen, own, base, base_at, n_new, roles, n_joint, table):
    """Give the commonest states what the others leave of the known table; block i of it begins at base_at[i]."""
    for i in range(chosen.shape[0]):
        s = states[chosen[i]]
        for b in range(n_joint // n_new):
            for t in range(s):
                rest, missing = np.int64(base[base_at[i] + b * s + t]), -1
                for a in range(n_new):
                    j = b * n_new + a
                    if roles[j] == REST:
                        missing = j
                    else:
                        rest -= table[n_joint * own[i] + j * s + t]
                if missing >= 0:
                    table[n_joint * own[i] + missing * s + t] = rest


@njit(cache=True, nogil=True)
def extend_family(
    planes, first, states, codes, n_rows, family, n_new, counts, least, base, base_at, chosen, own, table, cells, rows,
    ess, occurring, values, totals,
):  # fmt: skip
    """Count and score a family with each of the chosen candidates.

    ``counts`` holds the rows of each joint state; ``n_new`` is the number of joint states of the variables that are not
    in the known table ``base`` (empty: there is none). A joint state with ``least`` rows or more is counted by its
    plane. ``table`` is zero before.
    """
    n_joint, r = counts.shape[0], states[family[0]]
    roles = np.empty(n_joint, np.int8)
    n_planes, some_listed = _assign_roles(counts, n_new, base.shape[0] > 0, least, roles)
    joint_planes = np.empty((n_planes, planes.shape[1]), np.uint64)
    which = np.empty(n_planes, np.int64)
    m = 0
    for j in range(n_joint):
        if roles[j] == PLANE:
            _fill_joint_plane(planes, first, states, family, j, n_rows, joint_planes, m)
            which[m] = j
            m += 1
    _count_by_planes(planes, first, states, chosen, own, joint_planes, which, n_joint, table)
    _fill_last(first, states, chosen, own, counts, roles, n_joint, table)
    if some_listed:
        covered = np.zeros(planes.shape[1], np.uint64)
        one = np.empty((1, planes.shape[1]), np.uint64)
        n_listed = 0
        for j in range(n_joint):
            if roles[j] == LISTED:
                n_listed += counts[j]
            if roles[j] == REST:
                _fill_joint_plane(planes, first, states, family, j, n_rows, one, 0)
                for w in range(covered.shape[0]):
                    covered[w] |= one[0, w]
        for m in range(n_planes):
            for w in range(covered.shape[0]):
                covered[w] |= joint_planes[m, w]
        listed, joints = np.empty(n_listed, np.uint32), np.empty(n_listed, np.uint32)
        _list_rows(covered, codes, states, family, n_rows, listed, joints)
        _count_listed(codes, states, chosen, own, listed, joints, n_listed, n_joint, table)
    if base.shape[0] > 0:
        _fill_rest(states, chosen, own, base, base_at, n_new, roles, n_joint, table)
    for i in range(chosen.shape[0]):
        s = states[chosen[i]]
        value, total = _score_block(table, n_joint * own[i], n_joint, r, s, cells, rows, ess, occurring)
        values[i] = value
        totals[i] = total


@njit(cache=True, nogil=True)
def score_crossed(crossed, r, s, cells, rows, ess, occurring):
    """Return the score of one candidate from its block alone, and the rows in it."""
    return _score_block(crossed, 0, crossed.shape[0] // s, r, s, cells, rows, ess, occurring)


@njit(cache=True, nogil=True)
def score_margins(table, n_states, r, cells, rows, ess, occurring, scratch, values, totals):
    """Score a family from its joint states (child first, then the parents): whole, then without each parent."""
    n_joint = table.shape[0]
    values[0], totals[0] = _score_block(table, 0, n_joint, r, 1, cells, rows, ess, occurring)
    inner = 1
    for p in range(n_states.shape[0] - 1, -1, -1):
        s = n_states[p]
        for i in range(n_joint // s):
            scratch[i] = 0
        for i in range(n_joint):
            scratch[i // (inner * s) * inner + i % inner] += table[i]
        values[p + 1], totals[p + 1] = _score_block(scratch, 0, n_joint // s, r, 1, cells, rows, ess, occurring)
        inner *= s


@njit(cache=True, nogil=True)
def take_pairs(matrix, start, x, chosen, own, out):
    """Fill the table of a variable without parents and the chosen candidates from the matrix of all pair counts."""
    r = start[x + 1] - start[x]
    for i in range(chosen.shape[0]):
        c = chosen[i]
        s = start[c + 1] - start[c]
        for k in range(r):
            for t in range(s):
                out[r * own[i] + k * s + t] = matrix[start[x] + k, start[c] + t]


@njit(cache=True, nogil=True)
def score_pairs(matrix, start, x, cells, rows, ess, occurring, values, totals):
    """Score a variable x given each other one, from the matrix of all pair counts; v's states begin at start[v]."""
    n, r = start.shape[0] - 1, start[x + 1] - start[x]
    table = np.empty(r * matrix.shape[0], np.int64)
    for c in range(n):
        s = start[c + 1] - start[c]
        for k in range(r):
            for t in range(s):
                table[k * s + t] = matrix[start[x] + k, start[c] + t]
        values[c], totals[c] = _score_block(table, 0, r, r, s, cells, rows, ess, occurring)
