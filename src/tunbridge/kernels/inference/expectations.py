"""Kernels for the expected counts of rows with missing values: programs of hidden components, and how they run.

Every hidden component (:mod:`tunbridge.kernels.inference.rows`) is computed once for all rows that have it. Components
with the same members and tables share a *program*, a little junction tree: members are eliminated in the order that is
good for the whole network, so that no clique is larger than there. A clique has its members as axes, the first
eliminated innermost, and as inputs the tables that come to an end in it and the messages of other cliques. The few
members that are left at the end share the last clique. Messages go up, from the first clique to the last,

    message = Σ_eliminated Π inputs,

and what the cliques then know of their tables goes down again, times the weight of the rows, into the counts. A
component whose products might underflow is computed again in logarithms, which lose nothing.

A program is a sequence of integers:

    number of cliques, entries of the workspace, where each clique begins;  for each clique:
        axes, entries, entries of what it eliminates, inputs, where its table lies, where its message (−1: none) lies,
        extents (one an axis);  for each input:
            table slot (−1: a message), where the message lies, strides (one an axis)
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

# Where a clique has its numbers; its extents begin at HEAD.
N_AXES, SIZE, INNER, N_INPUTS, START, MESSAGE, HEAD = (
    np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4), np.int64(5), np.int64(6)
)  # fmt: skip

# Columns of the network's variables, as in rows.
N_STATES, PARENTS = np.int64(0), np.int64(2)

# How the inputs of a clique are combined: products, products that are checked, sums of logarithms.
PRODUCTS, CHECKED, LOGARITHMS = np.int64(0), np.int64(1), np.int64(2)

# Where a program has the number of its cliques, the entries of its workspace, and the places of its cliques.
N_CLIQUES, N_ENTRIES, CLIQUES = np.int64(0), np.int64(1), np.int64(2)

_TAIL = 64  # joint states that the last clique may have
_TOO_SMALL = 1e-290  # products below are not trusted, and logarithms are added
_MANY_TABLES = 200  # whose product would be too small anyway


class Programs(NamedTuple):
    """The programs of all groups of components: program p is ``code[starts[p]:starts[p + 1]]``."""

    starts: np.ndarray
    code: np.ndarray


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
def _eliminate(near, extents, home):
    """Eliminate members 0, 1, … in turn, linking what each leaves behind; return how many cliques there are.

    near[i, j] is then 1 if j > i is in the clique of i; home[i] is the clique in which i is eliminated. The
    last clique takes all members that are left once these have few joint states.
    """
    left, n_cliques, m = 1.0, 0, extents.shape[0]
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
def _clique_axes(near, home, first, axes):
    """Write the members of the clique that begins with ``first`` as its axes, last eliminated outermost."""
    n_axes, last = 0, home[first] == home[-1]
    for j in range(home.shape[0] - 1, first, -1):
        if last or near[first, j]:
            axes[n_axes] = j
            n_axes += 1
    axes[n_axes] = first
    return n_axes + 1


@njit(cache=True, nogil=True)
def _lay_out(near, home, extents, firsts, axes, layout):
    """Fill layout[c] with the entries of a clique and of what it eliminates, and with its parent; return all entries.

    Entries are floats: there may be too many for memory.
    """
    total, n_cliques = 0.0, firsts.shape[0]
    for c in range(n_cliques):
        n_axes = _clique_axes(near, home, firsts[c], axes)
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
def _place_cliques(layout):
    """Return where the table and the message of each clique lie in the workspace, and its length."""
    n_cliques = layout.shape[0]
    places, end = np.full((n_cliques, 2), -1, np.int64), 0
    for c in range(n_cliques):
        places[c, 0] = end
        end += np.int64(layout[c, 0])
    for c in range(n_cliques - 1):
        places[c, 1] = end
        end += np.int64(layout[c, 0] / layout[c, 1])
    return places, end


@njit(cache=True, nogil=True)
def compile_programs(network, starts, arena, largest):
    """Return the fields of :class:`Programs` for all groups of components, and the entries of their workspaces.

    The network is a :class:`tunbridge.kernels.inference.rows.Network`. A program whose workspace would have more than
    ``largest`` entries is not written.
    """
    variables, relatives = network.variables, network.relatives
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
        n_cliques = _eliminate(near, extents, home)
        firsts, layout, homes = np.empty(n_cliques, np.int64), np.empty((n_cliques, 3)), np.empty(n_tables, np.int64)
        for i in range(m - 1, -1, -1):
            firsts[home[i]] = i
        sizes[p] = _lay_out(near, home, extents, firsts, axes, layout)
        if sizes[p] <= largest:
            places, end = _place_cliques(layout)
            for t in range(n_tables):
                homes[t] = home[held[0, held_start[t] : held_start[t + 1]].min()]
            length = at + CLIQUES + n_cliques * (1 + HEAD + m) + (n_tables + n_cliques) * (2 + m)
            if length > code.shape[0]:
                longer = np.empty(max(length, 2 * code.shape[0]), np.int64)
                longer[:at] = code[:at]
                code = longer
            tree = _Tree(near, extents, firsts, layout, places, homes, held_start, held)
            head = at
            code[head + N_CLIQUES], code[head + N_ENTRIES] = n_cliques, end
            at += CLIQUES + n_cliques
            for c in range(n_cliques):
                code[head + CLIQUES + c] = at - head
                n_axes = _clique_axes(near, home, firsts[c], axes)
                at = _write_clique(code, at, c, tree, axes[:n_axes], strides)
        code_starts[p + 1] = at
        for i in range(m):
            place[key[i]] = -1
    return (code_starts, code[: code_starts[n_programs]].copy()), sizes


# Runs


@njit(cache=True, nogil=True)
def _advance(at, extents, strides, entry):
    """Move to the next configuration of all axes but the innermost."""
    for a in range(extents.shape[0] - 2, -1, -1):
        at[a] += 1
        entry += strides[a]
        if at[a] < extents[a]:
            return entry
        entry -= at[a] * strides[a]
        at[a] = 0
    return entry


@njit(cache=True, nogil=True)
def _clique(program, c):
    """Return the numbers of clique c of a program."""
    last = c == program[N_CLIQUES] - 1
    return program[program[CLIQUES + c] : program.shape[0] if last else program[CLIQUES + c + 1]]


@njit(cache=True, nogil=True)
def _axes(clique, i):
    """Return the extents of a clique's axes, and the strides of the input at i."""
    n_axes = clique[N_AXES]
    return clique[HEAD : HEAD + n_axes], clique[i + 2 : i + 2 + n_axes]


@njit(cache=True, nogil=True)
def _multiply(x, clique, i, source, at):
    """Multiply a clique's table by the input at i, which begins with ``source``."""
    extents, strides = _axes(clique, i)
    inner, step, entry = extents[-1], strides[-1], 0
    for j in range(clique[START], clique[START] + clique[SIZE], inner):
        for k in range(inner):
            x[j + k] *= source[entry + k * step]
        entry = _advance(at, extents, strides, entry)


@njit(cache=True, nogil=True)
def _multiply_checked(x, clique, i, source, at):
    """Multiply a clique's table by the input at i; return whether a product of positive numbers is too small."""
    extents, strides = _axes(clique, i)
    inner, step, entry, is_lost = extents[-1], strides[-1], 0, False
    for j in range(clique[START], clique[START] + clique[SIZE], inner):
        for k in range(inner):
            product = x[j + k] * source[entry + k * step]
            is_lost |= (product < _TOO_SMALL) & (x[j + k] > 0.0) & (source[entry + k * step] > 0.0)
            x[j + k] = product
        entry = _advance(at, extents, strides, entry)
    return is_lost


@njit(cache=True, nogil=True)
def _add(x, clique, i, source, at):
    """Add the input at i, of logarithms, to a clique's table."""
    extents, strides = _axes(clique, i)
    inner, step, entry = extents[-1], strides[-1], 0
    for j in range(clique[START], clique[START] + clique[SIZE], inner):
        for k in range(inner):
            x[j + k] += source[entry + k * step]
        entry = _advance(at, extents, strides, entry)


@njit(cache=True, nogil=True)
def _scatter(x, clique, i, weight, out, at):
    """Add a clique's table, times a weight, to the cells of the input at i."""
    extents, strides = _axes(clique, i)
    inner, step, entry = extents[-1], strides[-1], 0
    for j in range(clique[START], clique[START] + clique[SIZE], inner):
        for k in range(inner):
            out[entry + k * step] += weight * x[j + k]
        entry = _advance(at, extents, strides, entry)


@njit(cache=True, nogil=True)
def _fill_clique(clique, bases, tables, x, at, mode):
    """Fill a clique's table with the product of its inputs, or with the sum of those that are logarithms.

    Returns whether a product was found to be too small.
    """
    is_lost = False
    for j in range(clique[START], clique[START] + clique[SIZE]):
        x[j] = 0.0 if mode == LOGARITHMS else 1.0
    i = HEAD + clique[N_AXES]
    for _ in range(clique[N_INPUTS]):
        slot = clique[i]
        source = tables[bases[slot + 1] :] if slot >= 0 else x[clique[i + 1] :]
        if mode == LOGARITHMS:
            _add(x, clique, i, source, at)
        elif mode == CHECKED:
            is_lost |= _multiply_checked(x, clique, i, source, at)
        else:
            _multiply(x, clique, i, source, at)
        i += 2 + clique[N_AXES]
    return is_lost


@njit(cache=True, nogil=True)
def _collect(program, bases, tables, x, at, mode):
    """Send the messages of a program up; return ln P(observed).

    What is left of a clique's table is the distribution of what it eliminates given the rest. Returns −∞ where a
    product has become too small to be trusted, be it impossible or not.
    """
    log_total = 0.0
    for c in range(program[N_CLIQUES]):
        clique = _clique(program, c)
        is_lost = _fill_clique(clique, bases, tables, x, at, mode)
        size, inner, start, message = clique[SIZE], clique[INNER], clique[START], clique[MESSAGE]
        total = 0.0
        for k in range(start, start + size):
            total += x[k]
        if is_lost or total < _TOO_SMALL:
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
    return log_total


@njit(cache=True, nogil=True)
def _collect_logarithms(program, bases, log_tables, x, at):
    """Send the messages of a program up as logarithms: slower, and nothing that is possible is lost."""
    log_total = -np.inf
    for c in range(program[N_CLIQUES]):
        clique = _clique(program, c)
        _fill_clique(clique, bases, log_tables, x, at, LOGARITHMS)
        size, inner, start, message = clique[SIZE], clique[INNER], clique[START], clique[MESSAGE]
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
    return log_total


@njit(cache=True, nogil=True)
def _distribute(program, bases, weight, x, at, counts):
    """Turn the cliques' tables into probabilities, last to first, and add them, times a weight, to the counts.

    The place of a message gets, on the way, the probabilities of its axes.
    """
    for c in range(program[N_CLIQUES] - 1, -1, -1):
        clique = _clique(program, c)
        inner, start, message = clique[INNER], clique[START], clique[MESSAGE]
        if message >= 0:
            for s in range(clique[SIZE] // inner):
                for k in range(start + s * inner, start + (s + 1) * inner):
                    x[k] *= x[message + s]
        i = HEAD + clique[N_AXES]
        for _ in range(clique[N_INPUTS]):
            slot = clique[i]
            if slot >= 0:
                _scatter(x, clique, i, weight, counts[bases[slot + 1] :], at)
            else:
                _clear(x, clique, i)
                _scatter(x, clique, i, 1.0, x[clique[i + 1] :], at)
            i += 2 + clique[N_AXES]


@njit(cache=True, nogil=True)
def _clear(x, clique, i):
    """Set the entries of the message at i to zero."""
    extents, strides = _axes(clique, i)
    size, start = 1, clique[i + 1]
    for a in range(extents.shape[0]):
        if strides[a] > 0:
            size *= extents[a]
    for k in range(start, start + size):
        x[k] = 0.0


@njit(cache=True, nogil=True)
def expect(programs, components, piece, tables, log_tables, counts):
    """Add the expected counts of a piece of the components to ``counts``; return Σ weight ln P(observed).

    The components are those of :class:`tunbridge.kernels.inference.rows.Components`; the piece is the numbers of the
    first, and of the one behind the last. Components that are impossible under the tables make the sum −∞ and are
    counted nowhere.
    """
    (code_starts, code), (starts, arena, weights), (first, last) = programs, components, piece
    most_entries, most_axes, log_sum, log_least = 1, 1, 0.0, 0.0
    for p in log_tables:
        log_least = p if -np.inf < p < log_least else log_least
    for i in range(first, last):
        program = code[code_starts[arena[starts[i]]] :]
        most_entries = max(most_entries, program[N_ENTRIES])
        for c in range(program[N_CLIQUES]):
            most_axes = max(most_axes, program[program[CLIQUES + c] + N_AXES])
    x, at = np.empty(most_entries), np.zeros(most_axes, np.int64)
    for i in range(first, last):
        bases, log_total = arena[starts[i] : starts[i + 1]], -np.inf
        program = code[code_starts[bases[0]] : code_starts[bases[0] + 1]]
        if bases.shape[0] <= _MANY_TABLES:  # no product is below the power of the least entry
            mode = PRODUCTS if bases.shape[0] * log_least > np.log(_TOO_SMALL) else CHECKED
            log_total = _collect(program, bases, tables, x, at, mode)
        if log_total == -np.inf:
            log_total = _collect_logarithms(program, bases, log_tables, x, at)
        log_sum += weights[i] * log_total
        if log_total > -np.inf:
            _distribute(program, bases, weights[i], x, at, counts)
    return log_sum
