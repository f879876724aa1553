"""Kernels for the expected counts of rows with holes: they run the programs of the rows' hidden components.

Every component (:mod:`tunbridge.kernels.components`) is computed once for all rows that have it. Its program
(:mod:`tunbridge.kernels.component_programs`) sends messages up, from the first clique to the last, and what the cliques
then know of their tables goes down again, times the weight of the rows, into the counts. Products that become too small
are computed again in logarithms, of which nothing is lost.
"""

import numpy as np
from numba import njit

from tunbridge.kernels.component_programs import HEAD

_TOO_SMALL = 1e-100  # of a sum of products: below, logarithms are added
_MANY_TABLES = 200  # whose product would be too small anyway


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
    return c + HEAD + code[c] + code[c + 3] * (2 + code[c])


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
        extents, inputs = code[c + HEAD : c + HEAD + n_axes], c + HEAD + n_axes
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
