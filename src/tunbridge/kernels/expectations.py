"""Kernels for the expected counts of rows with holes.

What is hidden in a row falls into components (see :mod:`tunbridge.kernels.rows`). A component depends on nothing but
the observed states in the tables that hold one of its members, so rows share components far more often than they are
equal: one hole between the same neighbours is one component, however the rest of the row looks. Components are found
once, each kept with the weight of all rows that have it, and computed once in every iteration.

Components with the same members and tables share a *program*, a little junction tree: members are eliminated in the
order that is good for the whole network, so that no clique is larger than there. A clique has its members as axes, the
first eliminated innermost, and as inputs the tables that come to an end in it and the messages of other cliques. The
few members that are left at the end share the last clique.

A program is written as whole numbers:

    number of cliques, entries of the workspace;  for each clique:
        axes, entries, entries of what it eliminates, inputs, where its table lies, where its message (−1: none) lies,
        extents (one an axis);  for each input:
            table slot (−1: a message), where the message lies, strides (one an axis)
"""

import numpy as np
from numba import njit

from tunbridge.kernels.rows import _grow, _mark_barren

_TAIL = 64  # joint states that the last clique may have
_HEAD = 6  # numbers in front of a clique's extents
_TOO_SMALL = 1e-100  # of a sum of products: below, logarithms are added
_MANY_TABLES = 200  # whose product would be too small anyway


@njit(cache=True, nogil=True)
def _hash(key, n):
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for i in range(n):
        mixed = (mixed ^ np.uint64(key[i] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@njit(cache=True, nogil=True)
def _intern(slots, hashes, starts, arena, n_kept, key, n):
    """Return the number of a sequence among those kept, n_kept when it is new: it is then kept."""
    mask, hashed = slots.shape[0] - 1, _hash(key, n)
    slot = hashed & mask
    while slots[slot] >= 0:
        other = slots[slot]
        if hashes[other] == hashed and starts[other + 1] - starts[other] == n:
            i, start = 0, starts[other]
            while i < n and arena[start + i] == key[i]:
                i += 1
            if i == n:
                return other
        slot = (slot + 1) & mask
    slots[slot], hashes[n_kept] = n_kept, hashed
    start = starts[n_kept]
    for i in range(n):
        arena[start + i] = key[i]
    starts[n_kept + 1] = start + n
    return n_kept


@njit(cache=True, nogil=True)
def _longer(array, size):
    """Return an array at least so long with the same beginning."""
    if array.shape[0] >= size:
        return array
    other = np.empty(max(size, 2 * array.shape[0]), array.dtype)
    for i in range(array.shape[0]):
        other[i] = array[i]
    return other


@njit(cache=True, nogil=True)
def _roomier(slots, hashes, n_kept, n_more):
    """Return slots that are at most half full when so many more are kept."""
    size = slots.shape[0]
    if 2 * (n_kept + n_more) <= size:
        return slots
    while 2 * (n_kept + n_more) > size:
        size *= 2
    other = np.full(size, -1, np.int64)
    for i in range(n_kept):
        slot = hashes[i] & (size - 1)
        while other[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        other[slot] = i
    return other


@njit(cache=True, nogil=True)
def _sort(values, n, rank):
    """Sort the first n values by rank; they are few."""
    for i in range(1, n):
        value, j = values[i], i - 1
        while j >= 0 and rank[values[j]] > rank[value]:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value


@njit(cache=True, nogil=True)
def _entry(n_states, parent_start, parents, table_start, states, v):
    """Return where the table of v has its entry for the observed states; hidden ones count as the first."""
    entry, stride = table_start[v] + max(states[v], 0), n_states[v]
    for i in range(parent_start[v + 1] - 1, parent_start[v] - 1, -1):
        entry += max(states[parents[i]], 0) * stride
        stride *= n_states[parents[i]]
    return entry


@njit(cache=True, nogil=True)
def find_components(
    n_states, order, parent_start, parents, table_start, child_start, children, rank, codes, weights, most, complete
):
    """Find the hidden components of all rows, and add up what needs no inference.

    codes[row, v] is a state, −1 where the cell is missing; rank[v] tells when a variable is eliminated. The weight of
    rows in which a family is complete is added to ``complete``, laid out like the tables. Returns the programs (where
    each begins, and its members, −1 and its tables), the components (where each begins, its program and where each of
    its tables is to be read, and its weight), and how many rows were looked at: it stops where the components would
    have more than ``most`` numbers.
    """
    n = n_states.shape[0]
    numbers = np.arange(n)
    states, barren, seen = np.empty(n, np.int64), np.zeros(n, np.uint8), np.empty(n, np.uint8)
    asked, used = np.zeros(n, np.uint8), np.empty(n, np.uint8)
    members, tables, key = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(2 * n + 1, np.int64)
    slots, hashes = np.full(256, -1, np.int64), np.empty(64, np.int64)
    starts, arena = np.zeros(65, np.int64), np.empty(1024, np.int32)
    own_slots, own_hashes = np.full(256, -1, np.int64), np.empty(64, np.int64)
    own_starts, own_arena, own_weights = np.zeros(65, np.int64), np.empty(1024, np.int32), np.zeros(64)
    n_programs, n_components, n_rows = 0, 0, 0
    for row in range(codes.shape[0]):
        weight = weights[row]
        if starts[n_programs] + own_starts[n_components] + 4 * n_components > most:
            break
        n_rows += 1
        if weight == 0.0:
            continue
        n_hidden = 0
        for v in range(n):
            states[v] = codes[row, v]
            n_hidden += states[v] < 0
            seen[v], used[v], barren[v] = 0, 0, 0
        if n_hidden > 0:
            _mark_barren(order, child_start, children, states, asked, barren)
            slots = _roomier(slots, hashes, n_programs, n_hidden)
            hashes, starts = _longer(hashes, n_programs + n_hidden), _longer(starts, n_programs + n_hidden + 1)
            arena = _longer(arena, starts[n_programs] + 3 * n)
            own_slots = _roomier(own_slots, own_hashes, n_components, n_hidden)
            own_hashes = _longer(own_hashes, n_components + n_hidden)
            own_weights = _longer(own_weights, n_components + n_hidden)
            own_starts = _longer(own_starts, n_components + n_hidden + 1)
            own_arena = _longer(own_arena, own_starts[n_components] + 2 * n)
            for v in range(n):
                if states[v] >= 0 or seen[v] or barren[v]:
                    continue
                n_members, n_tables = _grow(
                    v, parent_start, parents, child_start, children, states, barren, seen, used, members, tables
                )
                _sort(members, n_members, rank)
                _sort(tables, n_tables, numbers)
                for i in range(n_members):
                    key[i] = members[i]
                key[n_members] = -1
                for i in range(n_tables):
                    key[n_members + 1 + i] = tables[i]
                found = _intern(slots, hashes, starts, arena, n_programs, key, n_members + 1 + n_tables)
                n_programs = max(n_programs, found + 1)
                key[0] = found
                for i in range(n_tables):
                    key[i + 1] = _entry(n_states, parent_start, parents, table_start, states, tables[i])
                found = _intern(own_slots, own_hashes, own_starts, own_arena, n_components, key, n_tables + 1)
                if found == n_components:
                    own_weights[found] = 0.0
                    n_components += 1
                own_weights[found] += weight
        for v in range(n):
            if not used[v] and not barren[v]:
                complete[_entry(n_states, parent_start, parents, table_start, states, v)] += weight
    return (
        starts[: n_programs + 1].copy(), arena[: starts[n_programs]].copy(), own_starts[: n_components + 1].copy(),
        own_arena[: own_starts[n_components]].copy(), own_weights[:n_components].copy(), n_rows,
    )  # fmt: skip


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
        code[at + _HEAD + a] = extents[axes[a]]
    at += _HEAD + n_axes
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
            code = _longer(code, at + 2 + n_cliques * (_HEAD + m) + (n_tables + n_cliques) * (2 + m))
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
    n_axes, size, n_inputs, start = code[c], code[c + 1], code[c + 3], code[c + 4]
    extents, inputs = code[c + _HEAD : c + _HEAD + n_axes], c + _HEAD + n_axes
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
    return c + _HEAD + code[c] + code[c + 3] * (2 + code[c])


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
        size, inner, start, message = code[c + 1], code[c + 2], code[c + 4], code[c + 5]
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
        size, inner, start, message = code[c + 1], code[c + 2], code[c + 4], code[c + 5]
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
        n_axes, size, inner, start, message = code[c], code[c + 1], code[c + 2], code[c + 4], code[c + 5]
        if message >= 0:
            for s in range(size // inner):
                for k in range(start + s * inner, start + (s + 1) * inner):
                    x[k] *= x[message + s]
        extents, inputs = code[c + _HEAD : c + _HEAD + n_axes], c + _HEAD + n_axes
        for _ in range(code[c + 3]):
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
            most_axes = max(most_axes, code[c])
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
