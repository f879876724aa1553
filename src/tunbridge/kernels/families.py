"""The counts of many small families at once, by bit planes (see ``planes``): one call, no work between the families."""

from __future__ import annotations

import numpy as np
from numba import njit

from tunbridge.kernels.planes import _popcount

WORD_BLOCK = 512
"""Words of the planes that are kept near the core while a family is counted."""


@njit(cache=True, nogil=True)
def _cross(words, first, n_states, w0, w1, joint, n_joint, out):
    """Set out[i·n_states + s] to joint[i] & words[first + s], over a block of words."""
    for i in range(n_joint):
        for s in range(n_states):
            row = i * n_states + s
            for w in range(w1 - w0):
                out[row, w] = joint[i, w] & words[first + s, w0 + w]


@njit(cache=True, nogil=True)
def _joint_of(words, first, members, w0, w1, joint):
    """Fill the planes of all configurations of the members, the last fastest; return where they are, and how many."""
    n_joint, at = np.int64(1), 0
    for w in range(w1 - w0):
        joint[0, 0, w] = ~np.uint64(0)
    for v in members:
        n_states = first[v + 1] - first[v]
        _cross(words, first[v], n_states, w0, w1, joint[at], n_joint, joint[1 - at])
        n_joint *= n_states
        at = 1 - at
    return at, n_joint


@njit(cache=True, nogil=True)
def _add_counts(a, n_a, words, first, n_states, w0, w1, out):
    """Add the rows in a[i] & words[first + s] to out[i·n_states + s], over a block of words."""
    for i in range(n_a):
        for s in range(n_states):
            total = np.uint64(0)
            for w in range(w1 - w0):
                total += _popcount(a[i, w] & words[first + s, w0 + w])
            out[i * n_states + s] += np.int64(total)


@njit(cache=True, nogil=True)
def count_families(words, first, members, start, cells, low, high, joint, out):
    """Add the counts of families low … high − 1 to out, all of which are zero at first.

    Variable v's planes, one a state, are words[first[v] : first[v + 1]]. The members of family f, parents in order and
    then the child, are members[start[f] : start[f + 1]]; its counts begin at out[cells[f]], the last member's states
    fastest. ``joint`` has room for the planes of the configurations of any family's parents, twice.
    """
    for f in range(low, high):
        child = members[start[f + 1] - 1]
        parents = members[start[f] : start[f + 1] - 1]
        table = out[cells[f] : cells[f + 1]]
        for w0 in range(0, words.shape[1], WORD_BLOCK):
            w1 = min(words.shape[1], w0 + WORD_BLOCK)
            at, n_joint = _joint_of(words, first, parents, w0, w1, joint)
            n_states = first[child + 1] - first[child]
            _add_counts(joint[at], n_joint, words, first[child], n_states, w0, w1, table)
