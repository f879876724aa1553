"""Kernels for rows with missing values: answers, completions, and the hidden components that EM needs.

What is hidden in a row falls into *components*: two hidden variables belong together when some table that matters holds
both. Tables of barren variables (hidden, not requested, and nothing observed below) do not matter. A component depends
on nothing outside but observed states, so its joint distribution is the product of the tables that hold one of its
variables, and in a row with few missing values it is tiny. (A component of one variable is the Markov blanket at work.)

``answer_rows`` writes that distribution out; rows with a component too large for that are left to the junction tree.

``find_components`` collects the components of all rows. Rows share components far more often than they are equal: one
missing value between the same neighbours is one component, whatever the rest of the row. Each is kept once, with the
weight of all rows that have it, for :mod:`tunbridge.kernels.inference.expectations`.

``complete_rows`` finds the most probable states of what is missing, or draws them. Within a component, variables are
eliminated one after the other, that of the smallest table first: the tables that hold the variable e are multiplied,
which gives a table

    f(e, s) = Π tables,      s: the states of the neighbours that are left,

and max_e f (or Σ_e f, where states are drawn or e is not to be completed) takes their place. On the way back the
neighbours' states are known, and e gets the state of largest f, or one drawn in proportion to f. Both are exact: the
states are the most probable ones jointly, or a draw from their joint distribution. All tables are logarithms there, so
that nothing vanishes however many are multiplied. A set of members of a component is a word of 64 bits; components that
have more, or need more room than there is, are left to the caller. Where states are drawn, variables below which
nothing is observed wait for the others and are then drawn from their own tables, parents before children. The draws of
a row come from a stream of its own, xoshiro256++ started by the seed and the row's number.

All three share a file because they share how components are found, and numba's cache does not notice edits elsewhere.

References
----------
R. Dechter (1999). Bucket elimination: a unifying framework for reasoning. Artificial Intelligence 113, 41–85.
D. Blackman, S. Vigna (2021). Scrambled linear pseudorandom number generators. ACM TOMS 47(4), article 36.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

DONE, TOO_LARGE, IMPOSSIBLE = np.int8(0), np.int8(1), np.int8(2)

HIDDEN = np.int64(-2)
"""The code of a cell that is not known and is not to be completed; one to be completed holds −1."""

MOST_MEMBERS = np.int64(64)

# Columns of Network.variables: number of states, the variables parents first, and where parents and children (in
# relatives) and table begin. The last row holds the ends.
N_STATES, ORDER, PARENTS, CHILDREN, TABLE = np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4)

# Rows of _Row.marks: what a variable is for, whether it is in a component, and whether a component has used its table.
ROLE, SEEN, USED = np.int64(0), np.int64(1), np.int64(2)
# Roles: only tables of variables that matter (zero) enter components.
_MATTERS, _WAITS, _IDLE = np.uint8(0), np.uint8(1), np.uint8(2)

# Rows of _Row.lists: members and tables of the present component, the place of each variable among the members, and the
# state chosen for each variable.
MEMBERS, TABLES, PLACE, CHOSEN = np.int64(0), np.int64(1), np.int64(2), np.int64(3)

# Rows of _Elimination.counters, and of _Elimination.steps.
GONE, AXIS, SIZES, STEPS, AT = np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4)
SEQUENCE, PRODUCT_AT, MESSAGE_AT = np.int64(0), np.int64(1), np.int64(2)

_MANY_TABLES = 10  # above, logarithms are added
_TOO_SMALL = 1e-150  # what is larger does not vanish when it is multiplied by a table's entry that is larger too
_SMALLEST = 1e-300
_NONE, _ONE = np.uint64(0), np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Network(NamedTuple):
    """A network with dense tables, in few arrays: each costs time whenever a kernel calls another.

    Parameters
    ----------
    variables : int64 array of shape (n + 1, 5), with the columns above
        The variables.
    relatives : int64 array
        The parents of all variables, in the order of their tables' axes, and the children.
    tables : float64 array
        The tables, as in :class:`tunbridge.inference.flat.FlatNetwork`; ``complete_rows`` takes their logarithms.
    """

    variables: np.ndarray
    relatives: np.ndarray
    tables: np.ndarray


class Answers(NamedTuple):
    """What ``answer_rows`` fills, one row each: marginals, ln P(evidence), and whether they are valid (DONE)."""

    marginals: np.ndarray
    log_evidence: np.ndarray
    status: np.ndarray


class Components(NamedTuple):
    """Hidden components: where each begins in ``arena``, its group and where each table is read; its weight."""

    starts: np.ndarray
    arena: np.ndarray
    weights: np.ndarray


class Sequences(NamedTuple):
    """Different sequences, kept one behind the other: sequence i is ``arena[starts[i]:starts[i + 1]]``.

    ``slots`` is a hash table of their numbers (−1: free), of a power of two; ``hashes`` has the hash of each.
    """

    slots: np.ndarray
    hashes: np.ndarray
    starts: np.ndarray
    arena: np.ndarray


class Found(NamedTuple):
    """What ``find_components`` finds: the groups of components (their members, −1 and their tables), the components.

    A component is the number of its group and where each table is read; its weight is that of all rows that have it.
    """

    groups: Sequences
    components: Sequences
    weights: np.ndarray


class _Row(NamedTuple):
    """The states of a row, negative where they are missing, and what is known of its variables (rows as above)."""

    states: np.ndarray
    marks: np.ndarray
    lists: np.ndarray


class _Elimination(NamedTuple):
    """The elimination of a component.

    Parameters
    ----------
    room : float64 array
        Products and messages, as logarithms.
    counters : int64 array, rows GONE … AT
        Whether a member is eliminated, its axis in the present product; sizes, steps and positions along the axes.
    scopes : uint64 array
        The members in the scope of each table, then of each message; empty once it is used.
    near, rests : uint64 arrays
        The neighbours of each member, and those left when it was eliminated, by step.
    steps : int64 array, rows SEQUENCE … MESSAGE_AT
        The member eliminated at each step, and where its product and its message lie.
    """

    room: np.ndarray
    counters: np.ndarray
    scopes: np.ndarray
    near: np.ndarray
    rests: np.ndarray
    steps: np.ndarray


@njit(cache=True, nogil=True)
def distinct_rows(codes, first):
    """Set first[i] to the first row that equals row i; return how many rows are distinct. codes[column, row]."""
    n_columns, n_rows = codes.shape
    size = 16
    while size < 2 * n_rows:
        size *= 2
    slots, mask = np.full(size, -1, np.int64), size - 1
    n_distinct = 0
    for row in range(n_rows):
        mixed = np.uint64(0x9E3779B97F4A7C15)
        for j in range(n_columns):
            mixed = (mixed ^ np.uint64(codes[j, row] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(29)
        slot = np.int64(mixed >> np.uint64(1)) & mask
        while slots[slot] >= 0:
            other, j = slots[slot], 0
            while j < n_columns and codes[j, row] == codes[j, other]:
                j += 1
            if j == n_columns:
                break
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot] = row
            n_distinct += 1
        first[row] = slots[slot]
    return n_distinct


# Components


@njit(cache=True, nogil=True)
def _new_row(n):
    """Return the arrays of a row of n variables."""
    return _Row(np.empty(n, np.int64), np.empty((3, n), np.uint8), np.empty((4, n), np.int64))


@njit(cache=True, nogil=True, inline="always")
def _mark_barren(network, row, out_start):
    """Mark the hidden variables that are not requested (−1) and have nothing observed or requested below them."""
    variables, role = network.variables, row.marks[ROLE]
    for i in range(variables.shape[0] - 2, -1, -1):
        v = variables[i, ORDER]
        role[v] = 0
        if row.states[v] < 0 and out_start[v] < 0:
            role[v] = 1
            for j in range(variables[v, CHILDREN], variables[v + 1, CHILDREN]):
                if not role[network.relatives[j]]:
                    role[v] = 0
                    break


@njit(cache=True, nogil=True)
def _grow(network, row, start):
    """Collect the hidden component of a variable, and the tables that hold one of its members. (sizes of both)"""
    variables, relatives, states = network.variables, network.relatives, row.states
    role, seen, used = row.marks[ROLE], row.marks[SEEN], row.marks[USED]
    members, tables = row.lists[MEMBERS], row.lists[TABLES]
    members[0], seen[start] = start, 1
    n_members, n_tables, at = 1, 0, 0
    while at < n_members:
        v = members[at]
        at += 1
        first = variables[v, CHILDREN]
        for j in range(first - 1, variables[v + 1, CHILDREN]):
            f = v if j < first else relatives[j]
            if role[f] or used[f]:
                continue
            used[f] = 1
            tables[n_tables] = f
            n_tables += 1
            low = variables[f, PARENTS]
            for i in range(low - 1, variables[f + 1, PARENTS]):
                u = f if i < low else relatives[i]
                if states[u] < 0 and not seen[u]:
                    seen[u] = 1
                    members[n_members] = u
                    n_members += 1
    return n_members, n_tables


@njit(cache=True, nogil=True, inline="always")
def _entry(network, states, v):
    """Return where the table of v has its entry for the observed states; hidden ones count as the first."""
    variables, relatives = network.variables, network.relatives
    entry, stride = variables[v, TABLE] + max(states[v], 0), variables[v, N_STATES]
    for i in range(variables[v + 1, PARENTS] - 1, variables[v, PARENTS] - 1, -1):
        entry += max(states[relatives[i]], 0) * stride
        stride *= variables[relatives[i], N_STATES]
    return entry


@njit(cache=True, nogil=True, inline="always")
def _table_steps(network, row, f, axis_of, steps):
    """Set the steps of the table of f along the axes of a product; return its entry for the observed states.

    Axis ``axis_of[i]`` of the product is member i of the component.
    """
    variables, relatives, states, place = network.variables, network.relatives, row.states, row.lists[PLACE]
    if states[f] < 0:
        steps[axis_of[place[f]]] = 1
    stride = variables[f, N_STATES]
    for i in range(variables[f + 1, PARENTS] - 1, variables[f, PARENTS] - 1, -1):
        u = relatives[i]
        if states[u] < 0:
            steps[axis_of[place[u]]] = stride
        stride *= variables[u, N_STATES]
    return _entry(network, states, f)


# Answers


@njit(cache=True, nogil=True, inline="always")
def _multiply_tables(network, row, n_members, n_used, counters, weights):
    """Fill weights with the joint distribution of a component, up to a factor; return the factor's logarithm.

    The last member changes fastest. Where a product becomes very small, and for many tables, logarithms are added
    instead: a state that has vanished beside another could not come back.
    """
    variables, tables, members = network.variables, network.tables, row.lists[MEMBERS]
    at, steps, axis_of, adds = counters[0], counters[1], counters[2], n_used > _MANY_TABLES
    size = 1
    for i in range(n_members):
        row.lists[PLACE, members[i]], axis_of[i] = i, i
        size *= variables[members[i], N_STATES]
    t = 0
    while t < n_used:
        if t == 0:
            for k in range(size):
                weights[k] = 0.0 if adds else 1.0
        for i in range(n_members):
            at[i], steps[i] = 0, 0
        entry, is_small = _table_steps(network, row, row.lists[TABLES, t], axis_of, steps), False
        for k in range(size):
            if adds:
                weights[k] += np.log(tables[entry])
            else:
                product = weights[k] * tables[entry]
                is_small |= product < _TOO_SMALL and weights[k] > 0.0 and tables[entry] > 0.0
                weights[k] = product
            for i in range(n_members - 1, -1, -1):
                at[i] += 1
                entry += steps[i]
                if at[i] < variables[members[i], N_STATES]:
                    break
                entry -= at[i] * steps[i]
                at[i] = 0
        adds, t = adds or is_small, 0 if is_small else t + 1
    largest = weights[:size].max()
    if not adds:
        return 0.0 if largest > 0.0 else -np.inf
    for k in range(size if largest > -np.inf else 0):
        weights[k] = max(np.exp(weights[k] - largest), _SMALLEST) if weights[k] > -np.inf else 0.0
    return largest


@njit(cache=True, nogil=True, inline="always")
def _write_members(variables, members, weights, total, out_start, out):
    """Write the marginals of the requested members."""
    size, inner = 1, 1
    for v in members:
        size *= variables[v, N_STATES]
    for i in range(members.shape[0] - 1, -1, -1):
        v = members[i]
        n = variables[v, N_STATES]
        if out_start[v] >= 0:
            for k in range(n):
                out[out_start[v] + k] = 0.0
            for k in range(size):
                out[out_start[v] + (k // inner) % n] += weights[k] / total
        inner *= n


@njit(cache=True, nogil=True, inline="always")
def _log_known(network, row):
    """Return Σ ln P(x_v | parents) over the tables that hold observed variables only."""
    log_sum, product = 0.0, 1.0
    for v in range(row.states.shape[0]):
        if row.marks[USED, v] or row.marks[ROLE, v]:
            continue
        p = network.tables[_entry(network, row.states, v)]
        if p < 1e-100:
            log_sum += np.log(p)
            continue
        product *= p
        if product < 1e-200:
            log_sum += np.log(product)
            product = 1.0
    return log_sum + np.log(product)


@njit(cache=True, nogil=True)
def answer_rows(network, codes, rows, out_start, largest, answers):
    """Compute the marginals of the requested variables and the log-probability of the evidence for each of the rows.

    codes[v, row] is the state of a variable, −1 where it is missing. The marginals of variable v begin at out_start[v]
    of its row's, which is −1 where they are not requested. A component may have ``largest`` joint states.
    """
    out, log_out, status = answers
    variables, n = network.variables, network.variables.shape[0] - 1
    row, counters, weights = _new_row(n), np.empty((3, n), np.int64), np.empty(largest)
    states, marks, members = row.states, row.marks, row.lists[MEMBERS]
    for i in range(rows.shape[0]):
        for v in range(n):
            states[v] = codes[v, rows[i]]
            marks[SEEN, v] = marks[USED, v] = 0
        _mark_barren(network, row, out_start)
        status[i], log_total = DONE, 0.0
        for v in range(n):
            if states[v] >= 0 or marks[SEEN, v] or marks[ROLE, v]:
                continue
            n_members, n_used = _grow(network, row, v)
            size = 1
            for j in range(n_members):
                size = min(size * variables[members[j], N_STATES], largest + 1)
            if size > largest:
                status[i] = TOO_LARGE
                break
            log_factor = _multiply_tables(network, row, n_members, n_used, counters, weights)
            if log_factor == -np.inf:
                status[i] = IMPOSSIBLE
                break
            total = 0.0
            for k in range(size):
                total += weights[k]
            log_total += log_factor + np.log(total)
            _write_members(variables, members[:n_members], weights, total, out_start, out[i])
        if status[i] != DONE:
            log_out[i] = -np.inf
            continue
        for v in range(n):
            if out_start[v] >= 0 and states[v] >= 0:
                for k in range(variables[v, N_STATES]):
                    out[i, out_start[v] + k] = 1.0 if k == states[v] else 0.0
        log_out[i] = log_total + _log_known(network, row)
        if log_out[i] == -np.inf:
            status[i] = IMPOSSIBLE


# Components of all rows


@njit(cache=True, nogil=True)
def _hash(key):
    mixed = np.uint64(0x9E3779B97F4A7C15)
    for i in range(key.shape[0]):
        mixed = (mixed ^ np.uint64(key[i] + 1)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@njit(cache=True, nogil=True)
def _intern(kept, n_kept, key):
    """Return the number of a sequence among those kept, n_kept when it is new: it is then kept."""
    slots, hashes, starts, arena = kept
    mask, hashed, n = slots.shape[0] - 1, _hash(key), key.shape[0]
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
def _fill_slots(kept, n_kept):
    """Put the first sequences into the hash table, which is empty."""
    slots, mask = kept.slots, kept.slots.shape[0] - 1
    for i in range(n_kept):
        slot = kept.hashes[i] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = i


@njit(cache=True, nogil=True)
def _has_room(kept, n_kept, n_more, n_entries):
    """Return whether so many more sequences, of so many entries in all, leave the hash table half empty."""
    n = n_kept + n_more
    has_entries = kept.starts[n_kept] + n_entries <= kept.arena.shape[0]
    return has_entries and n <= min(kept.hashes.shape[0], kept.slots.shape[0] // 2)


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
def find_components(network, rank, codes, weights, found, complete, done):
    """Find the hidden components of rows, and add up what needs no inference.

    codes[row, v] is a state, −1 where it is missing; rank[v] is the place of a variable in the elimination order. The
    weight of rows in which a family is complete is added to ``complete``, in the layout of the tables. ``done`` has the
    numbers of groups, components and rows so far; it stops before a row for which there is no room. The hash tables
    must be empty: they are filled at the start.
    """
    groups, components, component_weights = found
    n, n_groups, n_components = network.variables.shape[0] - 1, done[0], done[1]
    row, numbers, key = _new_row(n), np.empty((2, n), np.int64), np.empty(2 * n + 1, np.int64)
    states, marks, members, tables = row.states, row.marks, row.lists[MEMBERS], row.lists[TABLES]
    for v in range(n):
        numbers[0, v], numbers[1, v] = v, -1
    _fill_slots(groups, n_groups)
    _fill_slots(components, n_components)
    for r in range(done[2], codes.shape[0]):
        weight, n_hidden = weights[r], 0
        for v in range(n if weight != 0.0 else 0):
            states[v] = codes[r, v]
            n_hidden += states[v] < 0
            marks[ROLE, v] = marks[SEEN, v] = marks[USED, v] = 0
        if not (_has_room(groups, n_groups, n_hidden, 3 * n) and _has_room(components, n_components, n_hidden, 2 * n)):
            break
        done[2] = r + 1
        if weight == 0.0:
            continue
        if n_hidden > 0:
            _mark_barren(network, row, numbers[1])
            for v in range(n):
                if states[v] >= 0 or marks[SEEN, v] or marks[ROLE, v]:
                    continue
                n_members, n_tables = _grow(network, row, v)
                _sort(members, n_members, rank)
                _sort(tables, n_tables, numbers[0])
                for i in range(n_members):
                    key[i] = members[i]
                key[n_members] = -1
                for i in range(n_tables):
                    key[n_members + 1 + i] = tables[i]
                kept = _intern(groups, n_groups, key[: n_members + 1 + n_tables])
                n_groups = max(n_groups, kept + 1)
                key[0] = kept
                for i in range(n_tables):
                    key[i + 1] = _entry(network, states, tables[i])
                kept = _intern(components, n_components, key[: n_tables + 1])
                if kept == n_components:
                    component_weights[kept] = 0.0
                    n_components += 1
                component_weights[kept] += weight
        for v in range(n):
            if not marks[USED, v] and not marks[ROLE, v]:
                complete[_entry(network, states, v)] += weight
    done[0], done[1] = n_groups, n_components


# Completions


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


@njit(cache=True, nogil=True)
def _sort_hidden(network, row, draws):
    """Find the role of each variable: whether its table matters, whether it waits for the others, or neither."""
    variables, role, states = network.variables, row.marks[ROLE], row.states
    for i in range(variables.shape[0] - 2, -1, -1):
        v = variables[i, ORDER]
        role[v] = _MATTERS
        if states[v] >= 0:
            continue
        idle, waits = states[v] == HIDDEN, draws
        for j in range(variables[v, CHILDREN], variables[v + 1, CHILDREN]):
            child = network.relatives[j]
            idle = idle and role[child] == _IDLE
            waits = waits and role[child] != _MATTERS
        role[v] = _IDLE if idle else _WAITS if waits else _MATTERS


@njit(cache=True, nogil=True)
def _join(network, row, n_members, n_tables, scopes, near):
    """Set the scope of each table, as a set of members, and the neighbours of each member."""
    for i in range(n_members):
        row.lists[PLACE, row.lists[MEMBERS, i]] = i
        near[i] = _NONE
    for t in range(n_tables):
        f, scope = row.lists[TABLES, t], _NONE
        low = network.variables[f, PARENTS]
        for i in range(low - 1, network.variables[f + 1, PARENTS]):
            u = f if i < low else network.relatives[i]
            if row.states[u] < 0:
                scope |= _ONE << np.uint64(row.lists[PLACE, u])
        scopes[t] = scope
        for i in range(n_members):
            if scope >> np.uint64(i) & _ONE:
                near[i] |= scope & ~(_ONE << np.uint64(i))


@njit(cache=True, nogil=True)
def _next(network, row, n_members, near, gone, draws):
    """Return the member whose table is smallest, and its size; those that stay hidden go before what is maximised."""
    variables, members = network.variables, row.lists[MEMBERS]
    best, best_size, best_stays = -1, 0.0, False
    for i in range(n_members):
        if gone[i]:
            continue
        stays, size = not draws and row.states[members[i]] == HIDDEN, float(variables[members[i], N_STATES])
        for j in range(n_members):
            if near[i] >> np.uint64(j) & _ONE:
                size *= variables[members[j], N_STATES]
        if best < 0 or (stays and not best_stays) or (stays == best_stays and size < best_size):
            best, best_size, best_stays = i, size, stays
    return best, best_size


@njit(cache=True, nogil=True)
def _add(product, source, entry, counters, n_axes):
    """Add a table to a product, cell by cell; STEPS are how far the table's entry moves along each axis."""
    sizes, steps, at = counters[SIZES], counters[STEPS], counters[AT]
    for i in range(n_axes):
        at[i] = 0
    for k in range(product.shape[0]):
        product[k] += source[entry]
        for i in range(n_axes - 1, -1, -1):
            at[i] += 1
            entry += steps[i]
            if at[i] < sizes[i]:
                break
            entry -= at[i] * steps[i]
            at[i] = 0


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
def _eliminate(network, row, work, n_members, n_tables, draws):
    """Eliminate the members of a component; return whether that was done, was too large, or found it impossible."""
    room, counters, scopes, near, rests, steps_of = work
    gone, axis_of, sizes, steps = counters[GONE], counters[AXIS], counters[SIZES], counters[STEPS]
    variables, members = network.variables, row.lists[MEMBERS]
    _join(network, row, n_members, n_tables, scopes, near)
    for i in range(n_members):
        gone[i] = 0
    used = 0
    for step in range(n_members):
        e, size = _next(network, row, n_members, near, gone, draws)
        n = variables[members[e], N_STATES]
        if used + size + size / n > room.shape[0]:
            return TOO_LARGE
        rest, n_axes, n_rest = near[e], 0, 1
        for i in range(n_members):
            if rest >> np.uint64(i) & _ONE:
                axis_of[i], sizes[n_axes] = n_axes, variables[members[i], N_STATES]
                n_rest *= sizes[n_axes]
                n_axes += 1
        axis_of[e], sizes[n_axes] = n_axes, n
        first, own = used, _ONE << np.uint64(e)
        product = room[first : first + n_rest * n]
        product[:] = 0.0
        for f in range(n_tables + step):
            if not scopes[f] & own:
                continue
            for i in range(n_axes + 1):
                steps[i] = 0
            if f < n_tables:
                entry = _table_steps(network, row, row.lists[TABLES, f], axis_of, steps)
                _add(product, network.tables, entry, counters, n_axes + 1)
            else:
                stride = 1
                for i in range(n_members - 1, -1, -1):
                    if scopes[f] >> np.uint64(i) & _ONE:
                        steps[axis_of[i]] = stride
                        stride *= variables[members[i], N_STATES]
                entry = steps_of[MESSAGE_AT, f - n_tables]
                _add(product, room, entry, counters, n_axes + 1)
            scopes[f] = _NONE
        used += n_rest * n
        if not _reduce(room, first, n_rest, n, draws or row.states[members[e]] == HIDDEN, used):
            return IMPOSSIBLE
        scopes[n_tables + step], rests[step] = rest, rest
        steps_of[SEQUENCE, step], steps_of[PRODUCT_AT, step], steps_of[MESSAGE_AT, step] = e, first, used
        used += n_rest
        gone[e] = 1
        for i in range(n_members):
            if rest >> np.uint64(i) & _ONE:
                near[i] = (near[i] | rest) & ~own & ~(_ONE << np.uint64(i))
    return DONE


@njit(cache=True, nogil=True)
def _assign(network, row, work, n_members, draws, stream):
    """Choose a state for each member, the last eliminated first."""
    variables, members, chosen, steps = network.variables, row.lists[MEMBERS], row.lists[CHOSEN], work.steps
    for step in range(n_members - 1, -1, -1):
        v = members[steps[SEQUENCE, step]]
        if not draws and row.states[v] == HIDDEN:
            break  # this and all that went before stay hidden
        n, k = variables[v, N_STATES], 0
        for i in range(n_members):
            if work.rests[step] >> np.uint64(i) & _ONE:
                k = k * variables[members[i], N_STATES] + chosen[members[i]]
        chosen[v] = _chosen(work.room, steps[PRODUCT_AT, step] + k * n, n, draws, stream)


@njit(cache=True, nogil=True)
def _finish(network, row, draws, stream):
    """Put in the states that were chosen, and draw what waited for them; return whether what is known is possible."""
    variables, log_tables, states = network.variables, network.tables, row.states
    for i in range(states.shape[0]):
        v = variables[i, ORDER]
        role = row.marks[ROLE, v]
        if role == _IDLE:
            continue
        if role == _MATTERS and states[v] >= 0 and not row.marks[USED, v]:
            if log_tables[_entry(network, states, v)] == -np.inf:
                return IMPOSSIBLE
        elif role == _WAITS:  # its own state is missing, so this is the first entry of its distribution
            first = _entry(network, states, v)
            states[v] = _chosen(log_tables, first, variables[v, N_STATES], True, stream)
        elif states[v] < 0 and (draws or states[v] != HIDDEN):
            states[v] = row.lists[CHOSEN, v]
    return DONE


@njit(cache=True, nogil=True)
def complete_rows(network, codes, numbers, seeds, most_entries, status):
    """Complete rows in place: the cells of codes[variable, i] that are −1, where status[i] says DONE.

    The network's tables are logarithms. numbers[i] is the number of a row, which together with the two words of seeds
    decides its draws; without seeds the most probable states are chosen. The tables of a component may have
    ``most_entries`` in all.
    """
    n, most, draws = network.variables.shape[0] - 1, MOST_MEMBERS, seeds.shape[0] > 0
    row, stream = _new_row(n), np.empty(4, np.uint64)
    work = _Elimination(
        np.empty(most_entries), np.empty((5, most + 1), np.int64), np.empty(n + most, np.uint64),
        np.empty(most, np.uint64), np.empty(most, np.uint64), np.empty((3, most), np.int64),
    )  # fmt: skip
    for i in range(status.shape[0]):
        for v in range(n):
            row.states[v] = codes[v, i]
            row.marks[SEEN, v] = row.marks[USED, v] = 0
        _sort_hidden(network, row, draws)
        if draws:
            _start_stream(seeds, numbers[i], stream)
        found = DONE
        for v in range(n):
            if row.states[v] >= 0 or row.marks[SEEN, v] or row.marks[ROLE, v] != _MATTERS:
                continue
            n_members, n_tables = _grow(network, row, v)
            found = TOO_LARGE
            if n_members <= most:
                found = _eliminate(network, row, work, n_members, n_tables, draws)
            if found != DONE:
                break
            _assign(network, row, work, n_members, draws, stream)
        if found == DONE:
            found = _finish(network, row, draws, stream)
        status[i] = found
        for v in range(n):
            if found == DONE and codes[v, i] == -1:
                codes[v, i] = row.states[v]
