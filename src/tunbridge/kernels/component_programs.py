"""Kernels that compile the hidden components of rows to little junction trees.

Components with the same members and tables share a *program*: members are eliminated in the order that is good for the
whole network, so that no clique is larger than there. A clique has its members as axes, the first eliminated innermost,
and as inputs the tables that come to an end in it and the messages of other cliques. The few members that are left at
the end share the last clique.

A program is written as whole numbers:

    number of cliques, entries of the workspace;  for each clique:
        axes, entries, entries of what it eliminates, inputs, where its table lies, where its message (−1: none) lies,
        extents (one an axis);  for each input:
            table slot (−1: a message), where the message lies, strides (one an axis)
"""

import numpy as np
from numba import njit

from tunbridge.kernels.components import _longer

HEAD = 6
"""Numbers in front of a clique's extents."""

_TAIL = 64  # joint states that the last clique may have


@njit(cache=True, nogil=True)
def _held_by(n_states, parent_start, parents, f, place, locals_, strides):
    """Write the hidden variables of the table of f, by local number, and their strides; return how many there are."""
    n_held, stride = 0, 1
    for i in range(parent_start[f + 1], parent_start[f] - 1, -1):
        u = f if i == parent_start[f + 1] else parents[i]
        if place[u] >= 0:
            locals_[n_held], strides[n_held] = place[u], stride
            n_held += 1
        stride *= n_states[u]
    return n_held


@njit(cache=True, nogil=True)
def _eliminate(near, extents, m, home):
    """Eliminate members 0, 1, … in turn, linking what each leaves behind; return how many cliques there are.

    near[i, j] then tells whether j > i stands in the clique of i; home[i] is the clique in which i is eliminated. The
    last clique takes all members that are left once these have few joint states.
    """
    left, n_cliques = 1.0, 0
    for i in range(m):
        left *= extents[i]
    for i in range(m):
        if left <= _TAIL or i == m - 1:
            for j in range(i, m):
                home[j] = n_cliques
                for k in range(i, m):
                    near[j, k] = j != k
            return n_cliques + 1
        home[i] = n_cliques
        n_cliques += 1
        left /= extents[i]
        for j in range(i + 1, m):
            if near[i, j]:
                for k in range(i + 1, m):
                    if near[i, k] and j != k:
                        near[j, k] = 1
    return n_cliques


@njit(cache=True, nogil=True)
def _clique_axes(near, home, m, first, n_cliques, axes):
    """Write the members of the clique that begins with ``first`` as its axes, last eliminated outermost."""
    n_axes, last = 0, home[first] == n_cliques - 1
    for j in range(m - 1, first, -1):
        if last or near[first, j]:
            axes[n_axes] = j
            n_axes += 1
    axes[n_axes] = first
    return n_axes + 1


@njit(cache=True, nogil=True)
def _lay_out(near, home, extents, m, n_cliques, firsts, axes, layout):
    """Fill layout[c] with the entries of a clique and of what it eliminates, and with its parent; return all entries.

    Entries are floats: there may be too many for memory.
    """
    total = 0.0
    for c in range(n_cliques):
        n_axes = _clique_axes(near, home, m, firsts[c], n_cliques, axes)
        size = 1.0
        for a in range(n_axes):
            size *= extents[axes[a]]
        last = c == n_cliques - 1
        layout[c, 0], layout[c, 1] = size, size if last else extents[firsts[c]]
        layout[c, 2] = -1.0 if last else home[axes[n_axes - 2]]
        total += size if last else size + size / extents[firsts[c]]
    return total


@njit(cache=True, nogil=True)
def _write_clique(code, at, c, near, extents, n_axes, axes, layout, places, firsts, homes, held_start, held, strides):
    """Write clique c, whose axes are given, behind ``at``; return where the next begins.

    ``homes`` has the clique of each table, ``held`` the members of the tables and their strides.
    """
    m, n_inputs, start = extents.shape[0], 0, at
    for a in range(n_axes):
        code[at + HEAD + a] = extents[axes[a]]
    at += HEAD + n_axes
    for t in range(homes.shape[0]):
        if homes[t] != c:
            continue
        for i in range(held_start[t], held_start[t + 1]):
            strides[held[0, i]] = held[1, i]
        code[at], code[at + 1] = t, 0
        for a in range(n_axes):
            code[at + 2 + a] = strides[axes[a]]
            strides[axes[a]] = 0
        at += 2 + n_axes
        n_inputs += 1
    for b in range(c):
        if layout[b, 2] != c:
            continue
        stride = 1
        for j in range(firsts[b] + 1, m):  # the separator of b, first eliminated innermost
            if near[firsts[b], j]:
                strides[j] = stride
                stride *= extents[j]
        code[at], code[at + 1] = -1, places[b, 1]
        for a in range(n_axes):
            code[at + 2 + a] = strides[axes[a]]
            strides[axes[a]] = 0
        at += 2 + n_axes
        n_inputs += 1
    code[start], code[start + 1], code[start + 2] = n_axes, np.int64(layout[c, 0]), np.int64(layout[c, 1])
    code[start + 3], code[start + 4], code[start + 5] = n_inputs, places[c, 0], places[c, 1]
    return at


@njit(cache=True, nogil=True)
def _place_cliques(layout, n_cliques):
    """Return where the table and the message of each clique lie in the workspace, and its length."""
    places, end = np.full((n_cliques, 2), -1, np.int64), 0
    for c in range(n_cliques):
        places[c, 0] = end
        end += np.int64(layout[c, 0])
    for c in range(n_cliques - 1):
        places[c, 1] = end
        end += np.int64(layout[c, 0] / layout[c, 1])
    return places, end


@njit(cache=True, nogil=True)
def compile_programs(n_states, parent_start, parents, starts, arena, largest):
    """Write the program of each group of components; return where each begins, all of them, and their workspaces.

    A program whose workspace would have more than ``largest`` entries is not written.
    """
    n, n_programs = n_states.shape[0], starts.shape[0] - 1
    code_starts, code, sizes = np.zeros(n_programs + 1, np.int64), np.empty(1024, np.int64), np.empty(n_programs)
    place = np.full(n, -1, np.int64)
    for p in range(n_programs):
        key = arena[starts[p] : starts[p + 1]]
        m = 0
        while key[m] >= 0:
            place[key[m]] = m
            m += 1
        n_tables, at = key.shape[0] - m - 1, code_starts[p]
        near, home, extents = np.zeros((m, m), np.uint8), np.empty(m, np.int64), np.empty(m, np.int64)
        for i in range(m):
            extents[i] = n_states[key[i]]
        held_start, n_most = np.zeros(n_tables + 1, np.int64), 0
        for t in range(n_tables):
            n_most += parent_start[key[m + 1 + t] + 1] - parent_start[key[m + 1 + t]] + 1
        held, axes, strides = np.empty((2, n_most), np.int64), np.empty(m, np.int64), np.zeros(m, np.int64)
        for t in range(n_tables):
            first = held_start[t]
            n_held = _held_by(n_states, parent_start, parents, key[m + 1 + t], place, held[0, first:], held[1, first:])
            held_start[t + 1] = first + n_held
            for i in range(first, first + n_held):
                for j in range(first, first + n_held):
                    near[held[0, i], held[0, j]] = i != j
        n_cliques = _eliminate(near, extents, m, home)
        firsts, layout, homes = np.empty(n_cliques, np.int64), np.empty((n_cliques, 3)), np.empty(n_tables, np.int64)
        for i in range(m - 1, -1, -1):
            firsts[home[i]] = i
        sizes[p] = _lay_out(near, home, extents, m, n_cliques, firsts, axes, layout)
        if sizes[p] <= largest:
            places, end = _place_cliques(layout, n_cliques)
            for t in range(n_tables):
                homes[t] = home[held[0, held_start[t] : held_start[t + 1]].min()]
            code = _longer(code, at + 2 + n_cliques * (HEAD + m) + (n_tables + n_cliques) * (2 + m))
            code[at], code[at + 1] = n_cliques, end
            at += 2
            for c in range(n_cliques):
                n_axes = _clique_axes(near, home, m, firsts[c], n_cliques, axes)
                at = _write_clique(
                    code, at, c, near, extents, n_axes, axes, layout, places, firsts, homes, held_start, held, strides
                )
        code_starts[p + 1] = at
        for i in range(m):
            place[key[i]] = -1
    return code_starts, code[: code_starts[n_programs]].copy(), sizes
