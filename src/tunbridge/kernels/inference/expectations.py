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

# Rows of Workspace.members: states, the clique that eliminates a member; the axes of a clique, strides by member.
EXTENTS, HOMES, AXES, STRIDES = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
# Rows of Workspace.cliques: the first member eliminated, the clique above, where table and message lie (−1: none).
FIRSTS, ABOVE, TABLE_AT, MESSAGE_AT = np.int64(0), np.int64(1), np.int64(2), np.int64(3)


class Programs(NamedTuple):
    """The programs of all groups of components: program p is ``code[starts[p]:starts[p + 1]]``."""

    starts: np.ndarray
    code: np.ndarray


class Workspace(NamedTuple):
    """What is known of a component while its program is written, with room for the largest one.

    Parameters
    ----------
    place : int64 array of shape (n,)
        The number of each variable of the network in the component, −1 elsewhere.
    near : uint8 array of shape (m, m)
        near[i, j]: whether j > i is in the clique of i.
    members, cliques : int64 arrays of shape (4, m)
        With the rows above.
    sizes : float64 array of shape (2, m)
        The entries of each clique, and of what it eliminates; floats, for there may be too many for memory.
    tables : int64 array of shape (2, n_tables + 1)
        The clique of each table, and where its members begin in ``held``.
    held : int64 array of shape (2, …)
        The members in each table and their strides.
    """

    place: np.ndarray
    near: np.ndarray
    members: np.ndarray
    cliques: np.ndarray
    sizes: np.ndarray
    tables: np.ndarray
    held: np.ndarray


class _Run(NamedTuple):
    """What runs programs: their code, the places where components read their tables, the workspace, and an odometer."""

    code: np.ndarray
    bases: np.ndarray
    x: np.ndarray
    at: np.ndarray


# Programs


@njit(cache=True, nogil=True)
def _hold(network, w, key, m, n_tables):
    """Link the members that tables hold together: they are key[:m], the tables key[m + 1:]."""
    variables, near, held, place = network.variables, w.near, w.held, w.place
    for i in range(m):
        w.members[EXTENTS, i], w.members[STRIDES, i] = variables[key[i], N_STATES], 0
        for j in range(m):
            near[i, j] = 0
    at = 0
    for t in range(n_tables):
        f, stride, first = key[m + 1 + t], 1, at
        w.tables[1, t] = first
        last = variables[f + 1, PARENTS]
        for i in range(last, variables[f, PARENTS] - 1, -1):
            u = f if i == last else network.relatives[i]
            if place[u] >= 0:
                held[0, at], held[1, at] = place[u], stride
                at += 1
            stride *= variables[u, N_STATES]
        for i in range(first, at):
            for j in range(first, at):
                near[held[0, i], held[0, j]] = i != j
    w.tables[1, n_tables] = at


@njit(cache=True, nogil=True)
def _eliminate(w, m):
    """Eliminate members 0, 1, … in turn, linking what each leaves behind; return how many cliques there are.

    near[i, j] is then 1 if j > i is in the clique of i. The last clique takes all members that are left once these
    have few joint states.
    """
    near, left, n_cliques = w.near, 1.0, 0
    for i in range(m):
        left *= w.members[EXTENTS, i]
    for i in range(m):
        w.cliques[FIRSTS, n_cliques] = i
        is_last = left <= _TAIL or i == m - 1
        for j in range(i, m if is_last else i + 1):
            w.members[HOMES, j] = n_cliques
        n_cliques += 1
        for j in range(i + 1 - is_last, m):
            if is_last or near[i, j]:
                for k in range(i + 1 - is_last, m):
                    if (is_last or near[i, k]) and j != k:
                        near[j, k] = 1
        if is_last:
            break
        left /= w.members[EXTENTS, i]
    return n_cliques


@njit(cache=True, nogil=True)
def _set_axes(w, m, c, is_last):
    """Set the axes of a clique, last eliminated outermost; return how many there are."""
    n_axes, first = 0, w.cliques[FIRSTS, c]
    for j in range(m - 1, first, -1):
        if is_last or w.near[first, j]:
            w.members[AXES, n_axes] = j
            n_axes += 1
    w.members[AXES, n_axes] = first
    return n_axes + 1


@njit(cache=True, nogil=True)
def _lay_out(w, m, n_cliques):
    """Set the sizes of the cliques, and what is above each; return the entries of all tables and messages."""
    total = 0.0
    for c in range(n_cliques):
        is_last = c == n_cliques - 1
        n_axes, size = _set_axes(w, m, c, is_last), 1.0
        for a in range(n_axes):
            size *= w.members[EXTENTS, w.members[AXES, a]]
        w.sizes[0, c], w.sizes[1, c] = size, size if is_last else w.members[EXTENTS, w.cliques[FIRSTS, c]]
        w.cliques[ABOVE, c] = -1 if is_last else w.members[HOMES, w.members[AXES, n_axes - 2]]
        total += size if is_last else size + size / w.sizes[1, c]
    return total


@njit(cache=True, nogil=True)
def _place(w, n_cliques, n_tables):
    """Set the clique of each table, and where cliques and messages lie in the workspace; return its entries."""
    for t in range(n_tables):
        home = n_cliques
        for i in range(w.tables[1, t], w.tables[1, t + 1]):
            home = min(home, w.members[HOMES, w.held[0, i]])
        w.tables[0, t] = home
    end = 0
    for c in range(n_cliques):
        w.cliques[TABLE_AT, c] = end
        end += np.int64(w.sizes[0, c])
    for c in range(n_cliques):
        w.cliques[MESSAGE_AT, c] = -1 if c == n_cliques - 1 else end
        end += 0 if c == n_cliques - 1 else np.int64(w.sizes[0, c] / w.sizes[1, c])
    return end


@njit(cache=True, nogil=True)
def _write_input(w, n_axes, slot, source, code, at):
    """Write an input of the clique whose axes are set, and forget its strides; return where the next begins."""
    code[at], code[at + 1] = slot, source
    for a in range(n_axes):
        code[at + 2 + a] = w.members[STRIDES, w.members[AXES, a]]
        w.members[STRIDES, w.members[AXES, a]] = 0
    return at + 2 + n_axes


@njit(cache=True, nogil=True)
def _write_clique(w, m, n_tables, c, is_last, code, start):
    """Write clique c; return where the next begins."""
    n_axes, n_inputs, strides = _set_axes(w, m, c, is_last), 0, w.members[STRIDES]
    at = start + HEAD + n_axes
    for a in range(n_axes):
        code[start + HEAD + a] = w.members[EXTENTS, w.members[AXES, a]]
    for t in range(n_tables):
        if w.tables[0, t] == c:
            for i in range(w.tables[1, t], w.tables[1, t + 1]):
                strides[w.held[0, i]] = w.held[1, i]
            at = _write_input(w, n_axes, t, 0, code, at)
            n_inputs += 1
    for b in range(c):
        if w.cliques[ABOVE, b] == c:
            stride, first = 1, w.cliques[FIRSTS, b]
            for j in range(first + 1, m):  # the separator of b, first eliminated innermost
                if w.near[first, j]:
                    strides[j] = stride
                    stride *= w.members[EXTENTS, j]
            at = _write_input(w, n_axes, -1, w.cliques[MESSAGE_AT, b], code, at)
            n_inputs += 1
    code[start + N_AXES], code[start + N_INPUTS] = n_axes, n_inputs
    code[start + SIZE], code[start + INNER] = np.int64(w.sizes[0, c]), np.int64(w.sizes[1, c])
    code[start + START], code[start + MESSAGE] = w.cliques[TABLE_AT, c], w.cliques[MESSAGE_AT, c]
    return at


@njit(cache=True, nogil=True)
def compile_programs(network, groups, w, largest, programs, sizes, first):
    """Write programs from number ``first`` on, and the entries of their workspaces; return the first without room.

    The network is a :class:`tunbridge.kernels.inference.rows.Network`, the groups of components its
    :class:`Sequences`. A program whose workspace would have more than ``largest`` entries is left empty.
    """
    for p in range(first, sizes.shape[0]):
        key, m = groups.arena[groups.starts[p] : groups.starts[p + 1]], 0
        while key[m] >= 0:
            w.place[key[m]] = m
            m += 1
        n_tables, head = key.shape[0] - m - 1, programs.starts[p]
        _hold(network, w, key, m, n_tables)
        for i in range(m):
            w.place[key[i]] = -1
        n_cliques, at = _eliminate(w, m), head
        sizes[p] = _lay_out(w, m, n_cliques)
        if sizes[p] <= largest:
            if head + CLIQUES + n_cliques * (1 + HEAD + m) + (n_tables + n_cliques) * (2 + m) > programs.code.shape[0]:
                return p
            programs.code[head + N_CLIQUES] = n_cliques
            programs.code[head + N_ENTRIES] = _place(w, n_cliques, n_tables)
            at += CLIQUES + n_cliques
            for c in range(n_cliques):
                programs.code[head + CLIQUES + c] = at - head
                at = _write_clique(w, m, n_tables, c, c == n_cliques - 1, programs.code, at)
        programs.starts[p + 1] = at
    return sizes.shape[0]


# Runs. A clique begins at c of the code, one of its inputs at i; ``first`` is where the input begins in its source.


@njit(cache=True, nogil=True)
def _advance(run, c, i, entry):
    """Move to the next configuration of all axes but the innermost; return the input's entry there."""
    code, at = run.code, run.at
    for a in range(code[c + N_AXES] - 2, -1, -1):
        at[a] += 1
        entry += code[i + 2 + a]
        if at[a] < code[c + HEAD + a]:
            return entry
        entry -= at[a] * code[i + 2 + a]
        at[a] = 0
    return entry


@njit(cache=True, nogil=True)
def _multiply(run, c, i, source, first):
    """Multiply a clique's table by an input."""
    code, x, last = run.code, run.x, run.code[c + N_AXES] - 1
    inner, step, entry = code[c + HEAD + last], code[i + 2 + last], first
    for j in range(code[c + START], code[c + START] + code[c + SIZE], inner):
        for k in range(inner):
            x[j + k] *= source[entry + k * step]
        entry = _advance(run, c, i, entry)


@njit(cache=True, nogil=True)
def _combine(run, c, i, source, first, mode):
    """Multiply a clique's table by an input, or add logarithms; return whether a product of numbers is too small."""
    code, x, last, is_lost = run.code, run.x, run.code[c + N_AXES] - 1, False
    inner, step, entry = code[c + HEAD + last], code[i + 2 + last], first
    for j in range(code[c + START], code[c + START] + code[c + SIZE], inner):
        for k in range(inner):
            before, factor = x[j + k], source[entry + k * step]
            x[j + k] = before + factor if mode == LOGARITHMS else before * factor
            is_lost |= mode == CHECKED and x[j + k] < _TOO_SMALL and before > 0.0 and factor > 0.0
        entry = _advance(run, c, i, entry)
    return is_lost


@njit(cache=True, nogil=True)
def _scatter(run, c, i, weight, out, first):
    """Add a clique's table, times a weight, to the cells of an input."""
    code, x, last = run.code, run.x, run.code[c + N_AXES] - 1
    inner, step, entry = code[c + HEAD + last], code[i + 2 + last], first
    for j in range(code[c + START], code[c + START] + code[c + SIZE], inner):
        for k in range(inner):
            out[entry + k * step] += weight * x[j + k]
        entry = _advance(run, c, i, entry)


@njit(cache=True, nogil=True)
def _fill_clique(run, c, base, tables, mode):
    """Fill a clique's table with the product of its inputs, or with the sum of those that are logarithms.

    Returns whether a product was found to be too small.
    """
    code, x, is_lost = run.code, run.x, False
    for j in range(code[c + START], code[c + START] + code[c + SIZE]):
        x[j] = 0.0 if mode == LOGARITHMS else 1.0
    i = c + HEAD + code[c + N_AXES]
    for _ in range(code[c + N_INPUTS]):
        is_table = code[i] >= 0
        source = tables if is_table else x
        first = np.int64(run.bases[base + 1 + code[i]]) if is_table else code[i + 1]
        if mode == PRODUCTS:
            _multiply(run, c, i, source, first)
        else:
            is_lost |= _combine(run, c, i, source, first, mode)
        i += 2 + code[c + N_AXES]
    return is_lost


@njit(cache=True, nogil=True)
def _collect(run, p, base, tables, mode):
    """Send the messages of a program up; return ln P(observed).

    What is left of a clique's table is the distribution of what it eliminates given the rest. Returns −∞ where a
    product has become too small to be trusted, be it impossible or not.
    """
    code, x, log_total = run.code, run.x, 0.0
    for number in range(code[p + N_CLIQUES]):
        c = p + code[p + CLIQUES + number]
        is_lost = _fill_clique(run, c, base, tables, mode)
        size, inner, start, message = code[c + SIZE], code[c + INNER], code[c + START], code[c + MESSAGE]
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
def _collect_logarithms(run, p, base, log_tables):
    """Send the messages of a program up as logarithms: slower, and nothing that is possible is lost."""
    code, x, log_total = run.code, run.x, -np.inf
    for number in range(code[p + N_CLIQUES]):
        c = p + code[p + CLIQUES + number]
        _fill_clique(run, c, base, log_tables, LOGARITHMS)
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
    return log_total


@njit(cache=True, nogil=True)
def _distribute(run, p, base, weight, counts):
    """Turn the cliques' tables into probabilities, last to first, and add them, times a weight, to the counts.

    The place of a message gets, on the way, the probabilities of its axes.
    """
    code, x = run.code, run.x
    for number in range(code[p + N_CLIQUES] - 1, -1, -1):
        c = p + code[p + CLIQUES + number]
        inner, start, message = code[c + INNER], code[c + START], code[c + MESSAGE]
        if message >= 0:
            for s in range(code[c + SIZE] // inner):
                for k in range(start + s * inner, start + (s + 1) * inner):
                    x[k] *= x[message + s]
        i, n_axes = c + HEAD + code[c + N_AXES], code[c + N_AXES]
        for _ in range(code[c + N_INPUTS]):
            if code[i] >= 0:
                _scatter(run, c, i, weight, counts, np.int64(run.bases[base + 1 + code[i]]))
            else:
                size = 1
                for a in range(n_axes):
                    size *= code[c + HEAD + a] if code[i + 2 + a] > 0 else 1
                for k in range(code[i + 1], code[i + 1] + size):
                    x[k] = 0.0
                _scatter(run, c, i, 1.0, x, code[i + 1])
            i += 2 + n_axes


@njit(cache=True, nogil=True)
def expect(programs, components, piece, tables, log_tables, counts):
    """Add the expected counts of a piece of the components to ``counts``; return Σ weight ln P(observed).

    The components are those of :class:`tunbridge.kernels.inference.rows.Components`; the piece is the numbers of the
    first, and of the one behind the last. Components that are impossible under the tables make the sum −∞ and are
    counted nowhere.
    """
    (code_starts, code), (starts, arena, weights), (first, last) = programs, components, piece
    most_entries, most_axes, log_sum, log_least = 1, 1, 0.0, 0.0
    for log_p in log_tables:
        log_least = log_p if -np.inf < log_p < log_least else log_least
    for i in range(first, last):
        p = code_starts[arena[starts[i]]]
        most_entries = max(most_entries, code[p + N_ENTRIES])
        for c in range(code[p + N_CLIQUES]):
            most_axes = max(most_axes, code[p + code[p + CLIQUES + c] + N_AXES])
    run = _Run(code, arena, np.empty(most_entries), np.zeros(most_axes, np.int64))
    for i in range(first, last):
        base, n_tables, log_total = starts[i], starts[i + 1] - starts[i], -np.inf
        p = code_starts[arena[base]]
        if n_tables <= _MANY_TABLES:  # no product is below the power of the least entry
            mode = PRODUCTS if n_tables * log_least > np.log(_TOO_SMALL) else CHECKED
            log_total = _collect(run, p, base, tables, mode)
        if log_total == -np.inf:
            log_total = _collect_logarithms(run, p, base, log_tables)
        log_sum += weights[i] * log_total
        if log_total > -np.inf:
            _distribute(run, p, base, weights[i], counts)
    return log_sum
