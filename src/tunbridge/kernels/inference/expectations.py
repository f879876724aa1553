"""Kernels for the expected counts of rows with missing values: programs of hidden components, and how they run.

Every hidden component (:mod:`tunbridge.kernels.inference.rows`) is computed once for all rows that have it. Components
with the same members and tables share a *program*, a little junction tree: members are eliminated in the order that is
good for the whole network, so that no clique is larger than there. A clique has its members as axes, the first
eliminated innermost, and as inputs the tables that come to an end in it and the messages of other cliques. The few
members that are left at the end share the last clique. Messages go up, from the first clique to the last,

    message = Σ_eliminated Π inputs,

and what the cliques then know of their tables goes down again, times the weight of the rows, into the counts. Products
that become too small are computed again in logarithms, which lose nothing.

A program is a sequence of integers:

    number of cliques, entries of the workspace;  for each clique:
        axes, entries, entries of what it eliminates, inputs, where its table lies, where its message (−1: none) lies,
        extents (one an axis);  for each input:
            table slot (−1: a message), where the message lies, strides (one an axis)
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# Where a clique has its numbers; its extents begin at HEAD.
N_AXES, SIZE, INNER, N_INPUTS, START, MESSAGE, HEAD = (
    np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4), np.int64(5), np.int64(6)
)  # fmt: skip

# Columns of the network's variables, as in rows.
N_STATES, PARENTS = np.int64(0), np.int64(2)

_TAIL = 64  # joint states that the last clique may have
_TOO_SMALL = 1e-100  # of a sum of products: below, logarithms are added
_MANY_TABLES = 200  # whose product would be too small anyway


class _Tree(NamedTuple):
    """The cliques of a component while its program is written.

    Parameters
    ----------
    near : uint8 array of shape (m, m)
        near[i, j]: whether j > i is in the clique of i.
    extents, firsts : int64 arrays
        The states of each member, and the first member that each clique eliminates.
    layout : float64 array of shape (n_cliques, 3)
        The entries of a clique, of what it eliminates, and its parent (−1: none).
    places : int64 array of shape (n_cliques, 2)
        Where the table and the message of each clique lie in the workspace.
    homes, held_start, held : int64 arrays
        The clique of each table; where its members begin in ``held``, which has their numbers and strides.
    """

    near: np.ndarray
    extents: np.ndarray
    firsts: np.ndarray
    layout: np.ndarray
    places: np.ndarray
    homes: np.ndarray
    held_start: np.ndarray
    held: np.ndarray


# Programs


@njit(cache=True, nogil=True)
def _held_by(variables, relatives, f, place, locals_, strides):
    """Write the hidden variables of the table of f, by local number, and their strides; return how many there are."""
    n_held, stride = 0, 1
    last = variables[f + 1, PARENTS]
    for i in range(last, variables[f, PARENTS] - 1, -1):
        u = f if i == last else relatives[i]
        if place[u] >= 0:
            locals_[n_held], strides[n_held] = place[u], stride
            n_held += 1
        stride *= variables[u, N_STATES]
    return n_held


@njit(cache=True, nogil=True)
def _eliminate(near, extents, m, home):
    """Eliminate members 0, 1, … in turn, linking what each leaves behind; return how many cliques there are.

    near[i, j] is then 1 if j > i is in the clique of i; home[i] is the clique in which i is eliminated. The
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
def _write_clique(code, at, c, tree, axes, strides):
    """Write clique c, whose axes are given, behind ``at``; return where the next begins."""
    near, extents, firsts, layout, places, homes, held_start, held = tree
    m, n_axes, n_inputs, start = extents.shape[0], axes.shape[0], 0, at
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
    code[start + N_AXES], code[start + N_INPUTS] = n_axes, n_inputs
    code[start + SIZE], code[start + INNER] = np.int64(layout[c, 0]), np.int64(layout[c, 1])
    code[start + START], code[start + MESSAGE] = places[c, 0], places[c, 1]
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
def compile_programs(variables, relatives, starts, arena, largest):
    """Write the program of each group of components; return where each begins, all of them, and their workspaces.

    The network is that of :class:`tunbridge.kernels.inference.rows.Network`. A program whose workspace would have more
    than ``largest`` entries is not written.
    """
    n, n_programs = variables.shape[0] - 1, starts.shape[0] - 1
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
            extents[i] = variables[key[i], N_STATES]
        held_start, n_most = np.zeros(n_tables + 1, np.int64), 0
        for t in range(n_tables):
            n_most += variables[key[m + 1 + t] + 1, PARENTS] - variables[key[m + 1 + t], PARENTS] + 1
        held, axes, strides = np.empty((2, n_most), np.int64), np.empty(m, np.int64), np.zeros(m, np.int64)
        for t in range(n_tables):
            first = held_start[t]
            n_held = _held_by(variables, relatives, key[m + 1 + t], place, held[0, first:], held[1, first:])
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
            length = at + 2 + n_cliques * (HEAD + m) + (n_tables + n_cliques) * (2 + m)
            if length > code.shape[0]:
                longer = np.empty(max(length, 2 * code.shape[0]), np.int64)
                longer[:at] = code[:at]
                code = longer
            tree = _Tree(near, extents, firsts, layout, places, homes, held_start, held)
            code[at], code[at + 1] = n_cliques, end
            at += 2
            for c in range(n_cliques):
                n_axes = _clique_axes(near, home, m, firsts[c], n_cliques, axes)
                at = _write_clique(code, at, c, tree, axes[:n_axes], strides)
        code_starts[p + 1] = at
        for i in range(m):
            place[key[i]] = -1
    return code_starts, code[: code_starts[n_programs]].copy(), sizes


# Runs


@njit(cache=True, nogil=True)
def _advance(at, extents, strides, n_axes, entry):
    """Move to the next configuration of all axes but the innermost."""
    for a in range(n_axes - 2, -1, -1):
        at[a] += 1
        entry += strides[a]
        if at[a] < extents[a]:
            return entry
        entry -= at[a] * strides[a]
        at[a] = 0
    return entry


@njit(cache=True, nogil=True)
def _multiply(x, start, size, source, entry, extents, strides, n_axes, at):
    """Multiply a clique's table by an input."""
    inner, step = extents[n_axes - 1], strides[n_axes - 1]
    for i in range(start, start + size, inner):
        for k in range(inner):
            x[i + k] *= source[entry + k * step]
        entry = _advance(at, extents, strides, n_axes, entry)


@njit(cache=True, nogil=True)
def _add(x, start, size, source, entry, extents, strides, n_axes, at):
    """Add an input of logarithms to a clique's table."""
    inner, step = extents[n_axes - 1], strides[n_axes - 1]
    for i in range(start, start + size, inner):
        for k in range(inner):
            x[i + k] += source[entry + k * step]
        entry = _advance(at, extents, strides, n_axes, entry)


@njit(cache=True, nogil=True)
def _scatter(x, start, size, weight, out, entry, extents, strides, n_axes, at):
    """Add a clique's table, times a weight, to the cells of an input."""
    inner, step = extents[n_axes - 1], strides[n_axes - 1]
    for i in range(start, start + size, inner):
        for k in range(inner):
            out[entry + k * step] += weight * x[i + k]
        entry = _advance(at, extents, strides, n_axes, entry)


@njit(cache=True, nogil=True)
def _fill_clique(code, c, bases, tables, x, at, adds):
    """Fill a clique's table with the product of its inputs, or with the sum of those that are logarithms."""
    n_axes, size, n_inputs, start = code[c + N_AXES], code[c + SIZE], code[c + N_INPUTS], code[c + START]
    extents, inputs = code[c + HEAD : c + HEAD + n_axes], c + HEAD + n_axes
    for i in range(start, start + size):
        x[i] = 0.0 if adds else 1.0
    for _ in range(n_inputs):
        strides, slot = code[inputs + 2 : inputs + 2 + n_axes], code[inputs]
        if slot >= 0 and adds:
            _add(x, start, size, tables, bases[slot + 1], extents, strides, n_axes, at)
        elif slot >= 0:
            _multiply(x, start, size, tables, bases[slot + 1], extents, strides, n_axes, at)
        elif adds:
            _add(x, start, size, x, code[inputs + 1], extents, strides, n_axes, at)
        else:
            _multiply(x, start, size, x, code[inputs + 1], extents, strides, n_axes, at)
        inputs += 2 + n_axes


@njit(cache=True, nogil=True)
def _next_clique(code, c):
    return c + HEAD + code[c + N_AXES] + code[c + N_INPUTS] * (2 + code[c + N_AXES])


@njit(cache=True, nogil=True)
def _collect(code, first, n_cliques, bases, tables, x, at, places):
    """Send the messages of a program up; note where each clique is written, and return ln P(observed).

    What is left of a clique's table is the distribution of what it eliminates given the rest. Returns −∞ where a
    product has become too small to be trusted, be it impossible or not.
    """
    log_total, c = 0.0, first
    for i in range(n_cliques):
        places[i] = c
        _fill_clique(code, c, bases, tables, x, at, False)
        size, inner, start, message = code[c + SIZE], code[c + INNER], code[c + START], code[c + MESSAGE]
        total = 0.0
        for k in range(start, start + size):
            total += x[k]
        if total < _TOO_SMALL:
            return -np.inf
        log_total += np.log(total)
        for s in range(size // inner):
            part, low, high = 0.0, start + s * inner, start + (s + 1) * inner
            for k in range(low, high):
                part += x[k]
            for k in range(low, high if part > 0.0 else low):
                x[k] /= part
            if message >= 0:
                x[message + s] = part / total
        c = _next_clique(code, c)
    return log_total


@njit(cache=True, nogil=True)
def _collect_logarithms(code, first, n_cliques, bases, log_tables, x, at, places):
    """Send the messages of a program up as logarithms: slower, and nothing that is possible is lost."""
    c, log_total = first, -np.inf
    for i in range(n_cliques):
        places[i] = c
        _fill_clique(code, c, bases, log_tables, x, at, True)
        size, inner, start, message = code[c + SIZE], code[c + INNER], code[c + START], code[c + MESSAGE]
        for s in range(size // inner):
            largest, part, low, high = -np.inf, 0.0, start + s * inner, start + (s + 1) * inner
            for k in range(low, high):
                largest = max(largest, x[k])
            for k in range(low, high):
                x[k] = np.exp(x[k] - largest) if largest > -np.inf else 0.0
                part += x[k]
            for k in range(low, high if part > 0.0 else low):
                x[k] /= part
            log_total = largest + np.log(part) if part > 0.0 else -np.inf
            if message >= 0:
                x[message + s] = log_total
        c = _next_clique(code, c)
    return log_total


@njit(cache=True, nogil=True)
def _distribute(code, n_cliques, bases, weight, x, at, places, counts):
    """Turn the cliques' tables into probabilities, last to first, and add them, times a weight, to the counts.

    The place of a message gets, on the way, the probabilities of its axes.
    """
    for i in range(n_cliques - 1, -1, -1):
        c = places[i]
        n_axes, size, inner = code[c + N_AXES], code[c + SIZE], code[c + INNER]
        start, message = code[c + START], code[c + MESSAGE]
        if message >= 0:
            for s in range(size // inner):
                for k in range(start + s * inner, start + (s + 1) * inner):
                    x[k] *= x[message + s]
        extents, inputs = code[c + HEAD : c + HEAD + n_axes], c + HEAD + n_axes
        for _ in range(code[c + N_INPUTS]):
            strides, slot = code[inputs + 2 : inputs + 2 + n_axes], code[inputs]
            if slot >= 0:
                _scatter(x, start, size, weight, counts, bases[slot + 1], extents, strides, n_axes, at)
            else:
                _clear(x, code[inputs + 1], extents, strides, n_axes)
                _scatter(x, start, size, 1.0, x, code[inputs + 1], extents, strides, n_axes, at)
            inputs += 2 + n_axes


@njit(cache=True, nogil=True)
def _clear(x, start, extents, strides, n_axes):
    """Set the entries of a message to zero."""
    size = 1
    for a in range(n_axes):
        if strides[a] > 0:
            size *= extents[a]
    for k in range(start, start + size):
        x[k] = 0.0


@njit(cache=True, nogil=True)
def expect(code_starts, code, starts, arena, weights, first, last, tables, log_tables, counts):
    """Add the expected counts of components first … last − 1 to ``counts``; return Σ weight ln P(observed).

    Components that are impossible under the tables make the sum −∞ and are counted nowhere.
    """
    most_cliques, most_entries, most_axes, log_sum = 1, 1, 1, 0.0
    for i in range(first, last):
        at = code_starts[arena[starts[i]]]
        most_cliques, most_entries = max(most_cliques, code[at]), max(most_entries, code[at + 1])
        c = at + 2
        for _ in range(code[at]):
            most_axes = max(most_axes, code[c + N_AXES])
            c = _next_clique(code, c)
    x, at, places = np.empty(most_entries), np.zeros(most_axes, np.int64), np.empty(most_cliques, np.int64)
    for i in range(first, last):
        bases = arena[starts[i] : starts[i + 1]]
        p, log_total = code_starts[bases[0]], -np.inf
        if bases.shape[0] <= _MANY_TABLES:
            log_total = _collect(code, p + 2, code[p], bases, tables, x, at, places)
        if log_total == -np.inf:
            log_total = _collect_logarithms(code, p + 2, code[p], bases, log_tables, x, at, places)
        log_sum += weights[i] * log_total
        if log_total > -np.inf:
            _distribute(code, code[p], bases, weights[i], x, at, places, counts)
    return log_sum
