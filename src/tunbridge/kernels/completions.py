"""Kernels that complete rows: the most probable states of what is missing in each, or a draw from its distribution.

What is hidden in a row falls into components that depend on one another only through observed states (as in
:mod:`tunbridge.kernels.rows`), so each is completed by itself. Within one, variables are eliminated one after the
other, that of the smallest table first: the tables that hold the variable e are multiplied, which gives a table

    f(e, s) = Π tables,      s: the states of the neighbours that are left,

and max_e f (or Σ_e f, where states are drawn or e is not to be completed) takes their place. On the way back the
neighbours' states are known, and e gets the state of largest f, or one drawn in proportion to f. Both are exact: the
states are the most probable ones jointly, or a draw from their joint distribution.

All tables are logarithms, so that nothing vanishes however many are multiplied. A set of members of a component is a
word of 64 bits; components that have more, or need more room than there is, are left to the caller.

A cell to be completed holds −1; one that is hidden and to be left so, HIDDEN. Where states are drawn, variables below
which nothing is observed wait for the others and are then drawn from their own tables, parents before children.

The draws of a row come from a stream of its own, xoshiro256++ started by the seed and the row's number.

References
----------
R. Dechter (1999). Bucket elimination: a unifying framework for reasoning. Artificial Intelligence 113, 41–85.
D. Blackman, S. Vigna (2021). Scrambled linear pseudorandom number generators. ACM TOMS 47(4), article 36.
"""

import numpy as np
from numba import njit

from tunbridge.kernels.rows import _grow

DONE = np.int8(0)
TOO_LARGE = np.int8(1)
IMPOSSIBLE = np.int8(2)

HIDDEN = np.int64(-2)
"""The code of a cell that is not known and is not to be completed."""

MOST_MEMBERS = np.int64(64)

# What matters is zero: the components are those of rows.py, whose barren variables are all the others here.
_MATTERS, _WAITS, _IDLE = np.uint8(0), np.uint8(1), np.uint8(2)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# Draws


@njit(cache=True, nogil=True)
def _mixed(word):
    """Return a word whose every bit depends on every bit of the one given (the finish of splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def _start_stream(seeds, number, stream):
    """Set the state of the generator for the row of this number."""
    word = _mixed(seeds[0] + np.uint64(number) * _GOLDEN) ^ seeds[1]
    for j in range(4):
        word += _GOLDEN
        stream[j] = _mixed(word)


@njit(cache=True, nogil=True)
def _uniform(stream):
    """Return a number from 0 up to 1, of 53 bits; the stream moves on."""
    total = stream[0] + stream[3]
    drawn = ((total << np.uint64(23)) | (total >> np.uint64(41))) + stream[0]
    shifted = stream[1] << np.uint64(17)
    stream[2] ^= stream[0]
    stream[3] ^= stream[1]
    stream[1] ^= stream[2]
    stream[0] ^= stream[3]
    stream[2] ^= shifted
    stream[3] = (stream[3] << np.uint64(45)) | (stream[3] >> np.uint64(19))
    return np.float64(drawn >> np.uint64(11)) * 2.0**-53


@njit(cache=True, nogil=True)
def _chosen(logs, first, n, draws, stream):
    """Return the place of the largest of n logarithms, or one drawn in proportion to what they are logarithms of."""
    best = 0
    for k in range(1, n):
        if logs[first + k] > logs[first + best]:
            best = k
    if not draws:
        return best
    top, total = logs[first + best], 0.0
    for k in range(n):
        total += np.exp(logs[first + k] - top)
    left = _uniform(stream) * total
    for k in range(n):
        weight = np.exp(logs[first + k] - top)
        if left < weight:
            return k
        left -= weight
    return best  # rounding has left a little over


# What is hidden in a row


@njit(cache=True, nogil=True)
def _sort_hidden(order, child_start, children, states, draws, role):
    """Tell of each variable whether its table matters, whether it waits for the others, or whether it is idle."""
    for i in range(order.shape[0] - 1, -1, -1):
        v = order[i]
        role[v] = _MATTERS
        if states[v] >= 0:
            continue
        idle, waits = states[v] == HIDDEN, draws
        for j in range(child_start[v], child_start[v + 1]):
            idle = idle and role[children[j]] == _IDLE
            waits = waits and role[children[j]] != _MATTERS
        role[v] = _IDLE if idle else _WAITS if waits else _MATTERS


@njit(cache=True, nogil=True)
def _known_entry(v, n_states, parent_start, parents, table_start, states):
    """Return where the table of a variable lies whose parents are all known, at the state 0 of the variable."""
    entry, stride = table_start[v], n_states[v]
    for i in range(parent_start[v + 1] - 1, parent_start[v] - 1, -1):
        entry += states[parents[i]] * stride
        stride *= n_states[parents[i]]
    return entry


# Elimination


@njit(cache=True, nogil=True)
def _join(parent_start, parents, states, members, n_members, tables, n_tables, place, scopes, near):
    """Set the scope of each table, as a set of members, and the neighbours of each member."""
    for i in range(n_members):
        place[members[i]] = i
        near[i] = _NONE
    for t in range(n_tables):
        f, scope = tables[t], _NONE
        for i in range(parent_start[f] - 1, parent_start[f + 1]):
            u = f if i < parent_start[f] else parents[i]
            if states[u] < 0:
                scope |= _ONE << np.uint64(place[u])
        scopes[t] = scope
        for i in range(n_members):
            if scope >> np.uint64(i) & _ONE:
                near[i] |= scope & ~(_ONE << np.uint64(i))


@njit(cache=True, nogil=True)
def _next(n_states, states, members, n_members, near, gone, draws):
    """Return the member whose table is smallest, and its size; those that stay hidden go before what is maximised."""
    best, best_size, best_stays = -1, 0.0, False
    for i in range(n_members):
        if gone[i]:
            continue
        stays, size = not draws and states[members[i]] == HIDDEN, float(n_states[members[i]])
        for j in range(n_members):
            if near[i] >> np.uint64(j) & _ONE:
                size *= n_states[members[j]]
        if best < 0 or (stays and not best_stays) or (stays == best_stays and size < best_size):
            best, best_size, best_stays = i, size, stays
    return best, best_size


@njit(cache=True, nogil=True)
def _add(product, first, size, source, entry, sizes, steps, at, n_axes):
    """Add a table to a product, cell by cell; steps are how far the table's entry moves along each axis."""
    for i in range(n_axes):
        at[i] = 0
    for k in range(first, first + size):
        product[k] += source[entry]
        for i in range(n_axes - 1, -1, -1):
            at[i] += 1
            entry += steps[i]
            if at[i] < sizes[i]:
                break
            entry -= at[i] * steps[i]
            at[i] = 0


@njit(cache=True, nogil=True)
def _table_steps(f, n_states, parent_start, parents, table_start, states, place, axis_of, steps):
    """Set the steps of a variable's table along the axes of a product; return its first entry."""
    entry, stride = table_start[f], n_states[f]
    if states[f] >= 0:
        entry += states[f]
    else:
        steps[axis_of[place[f]]] = 1
    for i in range(parent_start[f + 1] - 1, parent_start[f] - 1, -1):
        u = parents[i]
        if states[u] >= 0:
            entry += states[u] * stride
        else:
            steps[axis_of[place[u]]] = stride
        stride *= n_states[u]
    return entry


@njit(cache=True, nogil=True)
def _reduce(room, first, n_rest, n, sums, out):
    """Fill room[out …] with the maximum, or the sum, of each run of n logarithms; return whether one is possible."""
    possible = False
    for k in range(n_rest):
        begin = first + k * n
        top = room[begin]
        for j in range(begin + 1, begin + n):
            top = max(top, room[j])
        if sums and top > -np.inf:
            total = 0.0
            for j in range(begin, begin + n):
                total += np.exp(room[j] - top)
            top += np.log(total)
        room[out + k] = top
        possible = possible or top > -np.inf
    return possible


@njit(cache=True, nogil=True)
def _eliminate(
    n_states, parent_start, parents, table_start, log_tables, states, members, n_members, tables, n_tables, place,
    draws, room, marks, scopes, message_at, near, sequence, rests, product_at,
):  # fmt: skip
    """Eliminate the members of a component; return whether that was done, was too large, or found it impossible."""
    gone, axis_of, sizes, steps, at = marks
    _join(parent_start, parents, states, members, n_members, tables, n_tables, place, scopes, near)
    for i in range(n_members):
        gone[i] = 0
    used = 0
    for step in range(n_members):
        e, size = _next(n_states, states, members, n_members, near, gone, draws)
        n = n_states[members[e]]
        if used + size + size / n > room.shape[0]:
            return TOO_LARGE
        rest, n_axes, n_rest = near[e], 0, 1
        for i in range(n_members):
            if rest >> np.uint64(i) & _ONE:
                axis_of[i], sizes[n_axes] = n_axes, n_states[members[i]]
                n_rest *= sizes[n_axes]
                n_axes += 1
        axis_of[e], sizes[n_axes] = n_axes, n
        first, own = used, _ONE << np.uint64(e)
        for k in range(first, first + n_rest * n):
            room[k] = 0.0
        for f in range(n_tables + step):
            if not scopes[f] & own:
                continue
            for i in range(n_axes + 1):
                steps[i] = 0
            if f < n_tables:
                entry = _table_steps(
                    tables[f], n_states, parent_start, parents, table_start, states, place, axis_of, steps
                )
                _add(room, first, n_rest * n, log_tables, entry, sizes, steps, at, n_axes + 1)
            else:
                stride = 1
                for i in range(n_members - 1, -1, -1):
                    if scopes[f] >> np.uint64(i) & _ONE:
                        steps[axis_of[i]] = stride
                        stride *= n_states[members[i]]
                _add(room, first, n_rest * n, room, message_at[f - n_tables], sizes, steps, at, n_axes + 1)
            scopes[f] = _NONE
        used += n_rest * n
        if not _reduce(room, first, n_rest, n, draws or states[members[e]] == HIDDEN, used):
            return IMPOSSIBLE
        scopes[n_tables + step], message_at[step] = rest, used
        used += n_rest
        sequence[step], rests[step], product_at[step] = e, rest, first
        gone[e] = 1
        for i in range(n_members):
            if rest >> np.uint64(i) & _ONE:
                near[i] = (near[i] | rest) & ~own & ~(_ONE << np.uint64(i))
    return DONE


@njit(cache=True, nogil=True)
def _assign(n_states, states, members, n_members, room, sequence, rests, product_at, draws, stream, chosen):
    """Give each member a state, the last eliminated first; chosen holds them by member."""
    for step in range(n_members - 1, -1, -1):
        e = sequence[step]
        if not draws and states[members[e]] == HIDDEN:
            break  # this and all that went before stay hidden
        n, k = n_states[members[e]], 0
        for i in range(n_members):
            if rests[step] >> np.uint64(i) & _ONE:
                k = k * n_states[members[i]] + chosen[i]
        chosen[e] = _chosen(room, product_at[step] + k * n, n, draws, stream)


@njit(cache=True, nogil=True)
def complete_rows(
    n_states, order, parent_start, parents, table_start, log_tables, child_start, children,
    codes, first, numbers, seeds, draws, most_entries, status,
):  # fmt: skip
    """Complete rows in place: the cells of codes[variable, first + i] that are −1, where status[i] says DONE.

    numbers[i] is the number of a row, which together with the two words of seeds decides its draws. The tables of a
    component may have ``most_entries`` in all.
    """
    n = n_states.shape[0]
    states, place, chosen = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    members, tables, role = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.uint8)
    seen, used = np.empty(n, np.uint8), np.empty(n, np.uint8)
    most = MOST_MEMBERS
    room, stream, picked = np.empty(most_entries), np.empty(4, np.uint64), np.empty(most, np.int64)
    marks = (
        np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most + 1, np.int64), np.empty(most + 1, np.int64),
        np.empty(most + 1, np.int64),
    )  # fmt: skip
    scopes, near, rests = np.empty(n + most, np.uint64), np.empty(most, np.uint64), np.empty(most, np.uint64)
    message_at, sequence, product_at = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    for row in range(status.shape[0]):
        for v in range(n):
            states[v] = codes[v, first + row]
            seen[v], used[v] = 0, 0
        _sort_hidden(order, child_start, children, states, draws, role)
        if draws:
            _start_stream(seeds, numbers[row], stream)
        found = DONE
        for v in range(n):
            if states[v] >= 0 or seen[v] or role[v] != _MATTERS:
                continue
            n_members, n_tables = _grow(
                v, parent_start, parents, child_start, children, states, role, seen, used, members, tables
            )
            found = TOO_LARGE
            if n_members <= MOST_MEMBERS:
                found = _eliminate(
                    n_states, parent_start, parents, table_start, log_tables, states, members, n_members, tables,
                    n_tables, place, draws, room, marks, scopes, message_at, near, sequence, rests, product_at,
                )  # fmt: skip
            if found != DONE:
                break
            _assign(n_states, states, members, n_members, room, sequence, rests, product_at, draws, stream, picked)
            for i in range(n_members):
                chosen[members[i]] = picked[i]
        if found == DONE:
            found = _finish(
                n_states, order, parent_start, parents, table_start, log_tables, states, role, used, chosen, draws,
                stream,
            )  # fmt: skip
        status[row] = found
        for v in range(n):
            if found == DONE and codes[v, first + row] == -1:
                codes[v, first + row] = states[v]


@njit(cache=True, nogil=True)
def _finish(n_states, order, parent_start, parents, table_start, log_tables, states, role, used, chosen, draws, stream):
    """Put in the states that were chosen, and draw what waited for them; return whether what is known is possible."""
    for i in range(order.shape[0]):
        v = order[i]
        if role[v] == _IDLE:
            continue
        if role[v] == _MATTERS and states[v] >= 0 and not used[v]:
            entry = _known_entry(v, n_states, parent_start, parents, table_start, states)
            if log_tables[entry + states[v]] == -np.inf:
                return IMPOSSIBLE
        elif role[v] == _WAITS:
            entry = _known_entry(v, n_states, parent_start, parents, table_start, states)
            states[v] = _chosen(log_tables, entry, n_states[v], True, stream)
        elif states[v] < 0 and (draws or states[v] != HIDDEN):
            states[v] = chosen[v]
    return DONE
