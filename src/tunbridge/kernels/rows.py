"""Kernels that answer for many rows of nearly complete evidence, one row at a time and without a tree.

What is hidden in a row falls into components: two hidden variables belong together when some table that matters holds
both. Tables of barren variables (hidden, not asked for, and nothing observed below) do not matter. A component depends
on nothing outside but observed states, so its joint distribution is the product of the tables that hold one of its
variables, and in a row with few missing cells it is tiny. (A component of one variable is the Markov blanket at work.)
Rows with a component too large to be written out are left to the junction tree.
"""

import numpy as np
from numba import njit

DONE = np.int8(0)
TOO_LARGE = np.int8(1)
IMPOSSIBLE = np.int8(2)

_MANY_TABLES = 10  # above, logarithms are added
_TOO_SMALL = 1e-60
_SMALLEST = 1e-300


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


@njit(cache=True, nogil=True)
def _mark_barren(order, child_start, children, states, asked, barren):
    """Mark the hidden variables that nobody asks for and that have nothing observed or asked for below them."""
    for i in range(order.shape[0] - 1, -1, -1):
        v = order[i]
        barren[v] = 0
        if states[v] < 0 and not asked[v]:
            barren[v] = 1
            for j in range(child_start[v], child_start[v + 1]):
                if not barren[children[j]]:
                    barren[v] = 0
                    break


@njit(cache=True, nogil=True)
def _grow(start, parent_start, parents, child_start, children, states, barren, seen, used, members, tables):
    """Collect the hidden component of a variable, and the tables that hold one of its members. (sizes of both)"""
    members[0], seen[start] = start, 1
    n_members, n_tables, at = 1, 0, 0
    while at < n_members:
        v = members[at]
        at += 1
        for j in range(child_start[v] - 1, child_start[v + 1]):
            f = v if j < child_start[v] else children[j]
            if barren[f] or used[f]:
                continue
            used[f] = 1
            tables[n_tables] = f
            n_tables += 1
            for i in range(parent_start[f] - 1, parent_start[f + 1]):
                u = f if i < parent_start[f] else parents[i]
                if states[u] < 0 and not seen[u]:
                    seen[u] = 1
                    members[n_members] = u
                    n_members += 1
    return n_members, n_tables


@njit(cache=True, nogil=True)
def _raise_small(weights, size):
    """Scale weights that have all become small; return the logarithm of what they were divided by."""
    largest = weights[:size].max()
    if largest >= _TOO_SMALL:
        return 0.0
    for k in range(size if largest > 0.0 else 0):
        weights[k] /= largest
    return np.log(largest)


@njit(cache=True, nogil=True)
def _multiply_tables(
    n_states, parent_start, parents, table_start, tables, states, members, n_members, used, n_used, place, at, weights
):
    """Fill weights with the joint distribution of a component, up to a factor; return the factor's logarithm.

    The last member changes fastest. Many tables are multiplied by adding logarithms: a state that has vanished beside
    another could not come back.
    """
    adds = n_used > _MANY_TABLES
    size = 1
    for i in range(n_members):
        place[members[i]] = i
        size *= n_states[members[i]]
    for k in range(size):
        weights[k] = 0.0 if adds else 1.0
    log_factor = 0.0
    for t in range(n_used):
        f = used[t]
        entry, stride = table_start[f], n_states[f]
        for i in range(n_members):
            at[0, i], at[1, i] = 0, 0
        if states[f] < 0:
            at[1, place[f]] = 1
        else:
            entry += states[f]
        for i in range(parent_start[f + 1] - 1, parent_start[f] - 1, -1):
            u = parents[i]
            if states[u] < 0:
                at[1, place[u]] = stride
            else:
                entry += states[u] * stride
            stride *= n_states[u]
        for k in range(size):
            if adds:
                weights[k] += np.log(tables[entry])
            else:
                weights[k] *= tables[entry]
            for i in range(n_members - 1, -1, -1):
                at[0, i] += 1
                entry += at[1, i]
                if at[0, i] < n_states[members[i]]:
                    break
                entry -= at[0, i] * at[1, i]
                at[0, i] = 0
        if not adds:
            log_factor += _raise_small(weights, size)
    if not adds:
        return log_factor
    largest = weights[:size].max()
    for k in range(size if largest > -np.inf else 0):
        weights[k] = max(np.exp(weights[k] - largest), _SMALLEST) if weights[k] > -np.inf else 0.0
    return largest


@njit(cache=True, nogil=True)
def _write_members(n_states, members, n_members, asked, weights, total, out_start, out):
    """Write the marginals of the members that are asked for."""
    size, inner = 1, 1
    for i in range(n_members):
        size *= n_states[members[i]]
    for i in range(n_members - 1, -1, -1):
        v = members[i]
        if asked[v]:
            for k in range(n_states[v]):
                out[out_start[v] + k] = 0.0
            for k in range(size):
                out[out_start[v] + (k // inner) % n_states[v]] += weights[k] / total
        inner *= n_states[v]


@njit(cache=True, nogil=True)
def answer_rows(
    n_states, order, parent_start, parents, table_start, tables, child_start, children,
    codes, rows, asked, largest, out_start, out, log_out, status,
):  # fmt: skip
    """Answer for each of the rows: the marginals of the variables asked for, and the log-probability of the evidence.

    codes[v, row] is the state of a variable, −1 where it is missing. out[i] gets the marginals of rows[i]; status[i]
    tells whether they are there. A component may have ``largest`` joint states.
    """
    n = n_states.shape[0]
    states, barren, seen = np.empty(n, np.int64), np.zeros(n, np.uint8), np.empty(n, np.uint8)
    used_mark, members, used = np.empty(n, np.uint8), np.empty(n, np.int64), np.empty(n, np.int64)
    place, at, weights = np.empty(n, np.int64), np.empty((2, n), np.int64), np.empty(largest)
    for i in range(rows.shape[0]):
        for v in range(n):
            states[v] = codes[v, rows[i]]
            seen[v] = 0
            used_mark[v] = 0
        _mark_barren(order, child_start, children, states, asked, barren)
        status[i], log_total = DONE, 0.0
        for v in range(n):
            if states[v] >= 0 or seen[v] or barren[v]:
                continue
            n_members, n_used = _grow(
                v, parent_start, parents, child_start, children, states, barren, seen, used_mark, members, used
            )
            size = 1
            for j in range(n_members):
                size = min(size * n_states[members[j]], largest + 1)
            if size > largest:
                status[i] = TOO_LARGE
                break
            log_factor = _multiply_tables(
                n_states, parent_start, parents, table_start, tables, states, members, n_members, used, n_used, place,
                at, weights,
            )  # fmt: skip
            if log_factor == -np.inf:
                status[i] = IMPOSSIBLE
                break
            total = 0.0
            for k in range(size):
                total += weights[k]
            log_total += log_factor + np.log(total)
            _write_members(n_states, members, n_members, asked, weights, total, out_start, out[i])
        if status[i] != DONE:
            log_out[i] = -np.inf
            continue
        for v in range(n):
            if asked[v] and states[v] >= 0:
                for k in range(n_states[v]):
                    out[i, out_start[v] + k] = 1.0 if k == states[v] else 0.0
        log_out[i] = log_total + _log_known(
            n_states, parent_start, parents, table_start, tables, states, barren, used_mark
        )
        if log_out[i] == -np.inf:
            status[i] = IMPOSSIBLE


@njit(cache=True, nogil=True)
def _log_known(n_states, parent_start, parents, table_start, tables, states, barren, used):
    """Return Σ ln P(x_v | parents) over the tables that hold observed variables only."""
    log_sum, product = 0.0, 1.0
    for v in range(n_states.shape[0]):
        if used[v] or barren[v]:
            continue
        entry, stride = table_start[v] + states[v], n_states[v]
        for i in range(parent_start[v + 1] - 1, parent_start[v] - 1, -1):
            entry += states[parents[i]] * stride
            stride *= n_states[parents[i]]
        if tables[entry] < 1e-100:
            log_sum += np.log(tables[entry])
            continue
        product *= tables[entry]
        if product < 1e-200:
            log_sum += np.log(product)
            product = 1.0
    return log_sum + np.log(product)
