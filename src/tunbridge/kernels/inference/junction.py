"""Kernels that compile an elimination order into the program of a junction tree.

Every step of elimination makes a clique: the variable with its neighbours at that time. What is eliminated in a clique
is its *residual*, the rest the *separator* it shares with its parent, the clique that eliminates the first variable of
the separator. A clique receives the potentials whose first variable it eliminates, and the messages of its children;
steps that receive nothing of their own are merged into the clique before them.

All tables have their axes in the order of elimination, first eliminated outermost. The program itself is described in
:mod:`tunbridge.kernels.inference.propagation`, which runs it.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

_LAST_CANDIDATES = 3  # of the largest inputs, how many are tried as the one that is multiplied last
_MOST_SOURCES = 16
_JOINT_SHARE = 4.0  # marginals come from the residual's joint table where it is this much smaller than the clique


class _Cliques(NamedTuple):
    """The cliques of a tree: which one each step belongs to; their variables, from ``starts`` on, the first
    ``n_residual`` of which they eliminate; and their parents (−1: none).
    """

    of_step: np.ndarray
    starts: np.ndarray
    variables: np.ndarray
    n_residual: np.ndarray
    parent: np.ndarray


class _Inputs(NamedTuple):
    """The inputs of all cliques: those of clique c begin at ``starts[c]``, the axes of input i at ``axes_start[i]``."""

    starts: np.ndarray
    source: np.ndarray
    axes_start: np.ndarray
    axes: np.ndarray


@njit(cache=True, nogil=True)
def _sort(items, keys):
    """Sort items by their keys, smallest first, of equal ones the smaller item first (Shell's method)."""
    gap = items.shape[0] // 2
    while gap > 0:
        for i in range(gap, items.shape[0]):
            item, j = items[i], i
            while j >= gap:
                other = items[j - gap]
                if keys[other] < keys[item] or (keys[other] == keys[item] and other < item):
                    break
                items[j] = other
                j -= gap
            items[j] = item
        gap //= 2


@njit(cache=True, nogil=True)
def _supernodes(position, clique_start, clique_nodes, n_inputs, group):
    """Return, for every step, the first step of the clique it belongs to, and its parent step (−1: none).

    A step whose clique is all of a child's separator is merged with the child, but only where it has no other input:
    what is multiplied in or summed out over the smaller clique is cheaper there. ``n_inputs`` counts its potentials.
    """
    n = position.shape[0]
    representative, up = np.arange(n), np.full(n, -1, np.int64)
    for i in range(n):
        if clique_start[i + 1] > clique_start[i]:
            up[i] = n
        for j in range(clique_start[i], clique_start[i + 1]):
            up[i] = min(up[i], position[clique_nodes[j]])
        if up[i] >= 0:
            n_inputs[up[i]] += 1
    for i in range(n):
        if up[i] < 0 or n_inputs[up[i]] > 1 or group[i] != group[up[i]]:
            continue
        if clique_start[i + 1] - clique_start[i] == clique_start[up[i] + 1] - clique_start[up[i]] + 1:
            representative[up[i]] = representative[i]
    return representative, up


@njit(cache=True, nogil=True)
def _cliques(order, position, clique_start, clique_nodes, n_inputs, group):
    """Return the cliques of the tree."""
    n = order.shape[0]
    representative, up = _supernodes(position, clique_start, clique_nodes, n_inputs, group[order])
    last = np.full(n, -1, np.int64)
    for i in range(n):
        last[representative[i]] = i
    clique_of, n_cliques = np.full(n, -1, np.int64), 0
    for i in range(n):
        if last[representative[i]] == i:
            clique_of[representative[i]] = n_cliques
            n_cliques += 1
    for i in range(n):
        clique_of[i] = clique_of[representative[i]]
    n_residual, parent = np.zeros(n_cliques, np.int64), np.full(n_cliques, -1, np.int64)
    start = np.zeros(n_cliques + 1, np.int64)
    for i in range(n):
        n_residual[clique_of[i]] += 1
    for i in range(n):
        if last[representative[i]] == i:
            c = clique_of[i]
            start[c + 1] = n_residual[c] + clique_start[i + 1] - clique_start[i]
            parent[c] = clique_of[up[i]] if up[i] >= 0 else -1
    for c in range(n_cliques):
        start[c + 1] += start[c]
    variables, filled = np.empty(start[-1], np.int64), start[:-1].copy()
    for i in range(n):
        variables[filled[clique_of[i]]] = order[i]
        filled[clique_of[i]] += 1
    for i in range(n):
        if last[representative[i]] == i:
            low, high = filled[clique_of[i]], filled[clique_of[i]] + clique_start[i + 1] - clique_start[i]
            for j in range(high - low):
                variables[low + j] = clique_nodes[clique_start[i] + j]
            _sort(variables[low:high], position)
    return _Cliques(clique_of, start, variables, n_residual, parent)


@njit(cache=True, nogil=True)
def _grouped(keys, n_groups):
    """Return the items 0 … n−1 ordered by key, as (starts, items)."""
    start = np.zeros(n_groups + 1, np.int64)
    for key in keys:
        if key >= 0:
            start[key + 1] += 1
    for g in range(n_groups):
        start[g + 1] += start[g]
    items, filled = np.empty(start[-1], np.int64), start[:-1].copy()
    for i in range(keys.shape[0]):
        if keys[i] >= 0:
            items[filled[keys[i]]] = i
            filled[keys[i]] += 1
    return start, items


@njit(cache=True, nogil=True)
def _order_inputs(order, inputs, sizes, extents, cover, most):
    """Put inputs in the order in which they are multiplied; ``most`` keeps the largest entries of both products."""
    k, axes_start, axes = order.shape[0], inputs.axes_start, inputs.axes
    _sort(order, sizes)
    cover[:] = 0
    for i in order:
        for j in range(axes_start[i], axes_start[i + 1]):
            cover[axes[j]] += 1
    best, best_size = k - 1, np.inf
    for t in range(k - 1, max(-1, k - 1 - _LAST_CANDIDATES), -1):
        i, size = order[t], 1.0
        for j in range(axes_start[i], axes_start[i + 1]):
            cover[axes[j]] -= 1
        for j in range(extents.shape[0]):
            if cover[j] > 0:
                size *= extents[j]
        for j in range(axes_start[i], axes_start[i + 1]):
            cover[axes[j]] += 1
        if size < best_size:
            best, best_size = t, size
    last = order[best]
    for t in range(best, k - 1):
        order[t] = order[t + 1]
    order[k - 1] = last
    cover[:] = 0
    size, side = 1.0, 1
    for t in range(k - 1):
        grows = False
        for j in range(axes_start[order[t]], axes_start[order[t] + 1]):
            if cover[axes[j]] == 0:
                cover[axes[j]] = 1
                size *= extents[axes[j]]
                grows = True
        if t > 0:
            side = 1 - side if grows or t == 1 else side
            most[side] = max(most[side], size)


@njit(cache=True, nogil=True)
def _nest(low, high, axes_start, axes, mark, via):
    """Find, for every child's separator, the smallest other one that holds it: its belief is summed from there.

    The children come from large to small; only the few largest are tried, so that thousands of children are quick.
    """
    for child in range(low + 1, high):
        for source in range(min(child, low + _MOST_SOURCES) - 1, low - 1, -1):
            held = 0
            mark[:] = 0
            for j in range(axes_start[source], axes_start[source + 1]):
                mark[axes[j]] = 1
            for j in range(axes_start[child], axes_start[child + 1]):
                held += mark[axes[j]]
            if held == axes_start[child + 1] - axes_start[child]:
                via[child] = source
                break


@njit(cache=True, nogil=True)
def _sort_scopes(n_states, scope_start, scope_vars, n_potentials, position):
    """Return the scopes in the order of elimination, where their tables begin, their hosts and owners.

    A potential is hosted by the step that eliminates the first of its variables, and takes up the soft evidence of the
    last one of its scope as given: with conditional tables, of the variable it is the table of.
    """
    n = n_states.shape[0]
    scopes = scope_vars[: scope_start[n_potentials]].copy()
    table_start = np.zeros(n_potentials + 1, np.int64)
    host, own = np.full(n_potentials, n - 1, np.int64), np.full(n, -1, np.int64)
    for f in range(n_potentials):
        low, high = scope_start[f], scope_start[f + 1]
        _sort(scopes[low:high], position)
        size = np.int64(1)
        for i in range(low, high):
            size *= n_states[scopes[i]]
        table_start[f + 1] = table_start[f] + size
        if high > low:
            own[scope_vars[high - 1]] = f
            host[f] = position[scopes[low]]
    for f in range(n_potentials):
        for i in range(scope_start[f], scope_start[f + 1]):
            if own[scopes[i]] < 0:  # it is last in no scope
                own[scopes[i]] = f
    return scopes, table_start, host, own


@njit(cache=True, nogil=True)
def _separator_sizes(n_states, cliques):
    """Return the offsets of the messages of the cliques when they are concatenated."""
    starts, variables, n_residual = cliques.starts, cliques.variables, cliques.n_residual
    message_start = np.zeros(starts.shape[0], np.int64)
    for c in range(n_residual.shape[0]):
        size = np.int64(1)
        for j in range(starts[c] + n_residual[c], starts[c + 1]):
            size *= n_states[variables[j]]
        message_start[c + 1] = message_start[c] + size
    return message_start


@njit(cache=True, nogil=True)
def _list_inputs(cliques, scope_start, scopes, host, message_start):
    """Return the inputs of every clique with their axes: potentials, children from large to small, the parent.

    ``host`` is the step of elimination that takes each potential.
    """
    clique_of, starts, variables, n_residual, parent = cliques
    n, n_cliques, n_potentials = clique_of.shape[0], parent.shape[0], host.shape[0]
    hosted_start, hosted = _grouped(clique_of[host], n_cliques)
    child_start, children = _grouped(parent, n_cliques)
    n_inputs = n_potentials + 2 * n_cliques
    input_start, source = np.zeros(n_cliques + 1, np.int64), np.empty(n_inputs, np.int64)
    axes_start = np.zeros(n_inputs + 1, np.int64)
    axes = np.empty(scopes.shape[0] + 2 * starts[-1], np.int64)
    axis_of, rank = np.empty(n, np.int64), np.empty(n_cliques, np.int64)
    for c in range(n_cliques):
        rank[c] = message_start[c] - message_start[c + 1]
    m, w = 0, 0
    for c in range(n_cliques):
        for j in range(starts[c], starts[c + 1]):
            axis_of[variables[j]] = j - starts[c]
        for i in range(hosted_start[c], hosted_start[c + 1]):
            for j in range(scope_start[hosted[i]], scope_start[hosted[i] + 1]):
                axes[w] = axis_of[scopes[j]]
                w += 1
            source[m] = hosted[i]
            m += 1
            axes_start[m] = w
        own_children = children[child_start[c] : child_start[c + 1]]
        _sort(own_children, rank)
        for child in own_children:
            for j in range(starts[child] + n_residual[child], starts[child + 1]):
                axes[w] = axis_of[variables[j]]
                w += 1
            source[m] = n_potentials + child
            m += 1
            axes_start[m] = w
        if parent[c] >= 0:
            for j in range(n_residual[c], starts[c + 1] - starts[c]):
                axes[w] = j
                w += 1
            source[m] = n_potentials + n_cliques
            m += 1
            axes_start[m] = w
        input_start[c + 1] = m
    return _Inputs(input_start, source[:m], axes_start[: m + 1], axes[:w])


@njit(cache=True, nogil=True)
def _schedule(n_states, cliques, table_start, inputs):
    """Return in which orders the inputs are multiplied, where beliefs are summed from, and the sizes of the buffer."""
    _, starts, variables, n_residual, parent = cliques
    input_start, source, axes_start, axes = inputs
    n_cliques, n_potentials = parent.shape[0], table_start.shape[0] - 1
    up_order, down_order = np.arange(source.shape[0]), np.arange(source.shape[0])
    via, jointly = np.full(source.shape[0], -1, np.int64), np.zeros(n_cliques, np.int64)
    sizes, totals, most = np.ones(source.shape[0]), np.zeros(8, np.int64), np.ones(2)
    marks = np.empty(n_states.shape[0], np.int64)
    totals[0], totals[3] = table_start[-1], 1
    for c in range(n_cliques):
        low, high = input_start[c], input_start[c + 1]
        below, first_child, copied = high - (parent[c] >= 0), low, 0
        extents = n_states[variables[starts[c] : starts[c + 1]]]
        for i in range(low, high):
            for j in range(axes_start[i], axes_start[i + 1]):
                sizes[i] *= extents[axes[j]]
            if source[i] < n_potentials:
                first_child = i + 1
                copied += table_start[source[i] + 1] - table_start[source[i]]
        mark = marks[: extents.shape[0]]
        _order_inputs(up_order[low:below], inputs, sizes, extents, mark, most)
        _order_inputs(down_order[low:high], inputs, sizes, extents, mark, most)
        _nest(first_child, below, axes_start, axes, mark, via)
        whole, residual, separator = 1.0, 1.0, 1.0
        for j in range(extents.shape[0]):
            whole *= extents[j]
            if j < n_residual[c]:
                residual *= extents[j]
            else:
                separator *= extents[j]
        jointly[c] = n_residual[c] > 1 and residual * _JOINT_SHARE <= whole
        totals[1] += np.int64(separator)
        totals[2] = max(totals[2], copied)
        totals[3] = max(totals[3], np.int64(residual) if jointly[c] else 1)
    totals[4], totals[5], totals[6], totals[7] = most[0], most[1], n_states.sum(), n_potentials + 2 * n_cliques
    return up_order, down_order, via, jointly, totals


@njit(cache=True, nogil=True)
def compile_program(n_states, scope_start, scope_vars, n_potentials, triangulation):
    """Return the fields of the Program of an elimination order.

    The order is a :class:`tunbridge.inference.tree.Triangulation`. Scopes from ``n_potentials`` on have no table: they
    only join nodes. Variables of different groups are never eliminated in one clique. The caller has made sure that
    every variable is in some potential, and that the sizes fit into 63 bits.
    """
    n, order = n_states.shape[0], triangulation.order
    position, state_start = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    for step in range(n):
        position[order[step]] = step
        state_start[step + 1] = state_start[step] + n_states[step]
    scopes, table_start, host, own = _sort_scopes(n_states, scope_start, scope_vars, n_potentials, position)
    n_hosted = np.zeros(n, np.int64)
    for step in host:
        n_hosted[step] += 1
    cliques = _cliques(
        order, position, triangulation.clique_start, triangulation.clique_nodes, n_hosted, triangulation.group
    )
    message_start = _separator_sizes(n_states, cliques)
    inputs = _list_inputs(cliques, scope_start, scopes, host, message_start)
    up_order, down_order, via, jointly, totals = _schedule(n_states, cliques, table_start, inputs)
    clique_of, starts, variables, n_residual, parent = cliques
    input_start, source, axes_start, axes = inputs
    n_cliques, n_inputs, first_member = parent.shape[0], source.shape[0], scopes.shape[0]
    first_axis = first_member + variables.shape[0]
    variable_rows, potential_rows = np.empty((n, 4), np.int64), np.empty((n_potentials + 1, 2), np.int64)
    clique_rows, input_rows = np.zeros((n_cliques + 1, 6), np.int64), np.zeros((n_inputs + 1, 5), np.int64)
    for v in range(n):
        variable_rows[v] = (n_states[v], clique_of[position[v]], own[v], state_start[v])
    for f in range(n_potentials + 1):
        potential_rows[f] = (scope_start[f], table_start[f])
    for c in range(n_cliques + 1):
        clique_rows[c, 0] = first_member + starts[c]
        clique_rows[c, 3], clique_rows[c, 5] = message_start[c], input_start[c]
        if c < n_cliques:
            clique_rows[c, 1], clique_rows[c, 2], clique_rows[c, 4] = n_residual[c], parent[c], jointly[c]
            low = input_start[c]
            for i in range(low, input_start[c + 1]):  # inputs are counted within their clique
                input_rows[i, 0], input_rows[i, 1] = source[i], first_axis + axes_start[i]
                input_rows[i, 2], input_rows[i, 3] = up_order[i] - low, down_order[i] - low
                input_rows[i, 4] = via[i] - low if via[i] >= 0 else -1
    input_rows[n_inputs, 1] = first_axis + axes_start[n_inputs]
    members = np.concatenate((scopes, variables, axes))
    return variable_rows, potential_rows, clique_rows, input_rows, members, totals


# Evidence taken out before compilation


@njit(cache=True, nogil=True)
def reduce_potentials(n_states, scope_start, scope_vars, tables, owner, codes, keep):
    """Return the kept potentials with the observed variables (codes ≥ 0) taken out, the others numbered anew.

    (variables, scope_start, scope_vars, tables, owner, log_constant): ``variables`` are the old numbers of the new
    ones; potentials without any variable left go into the constant. The potentials come field by field, because every
    question to a large network passes here: as a record they would take 2 µs more.
    """
    n, n_potentials = n_states.shape[0], scope_start.shape[0] - 1
    number, variables = np.full(n, -1, np.int64), np.empty(n, np.int64)
    n_left, n_entries, read = 0, 0, 0
    for f in range(n_potentials):
        size, whole = 1, 1
        for i in range(scope_start[f], scope_start[f + 1]):
            v = scope_vars[i]
            whole *= n_states[v]
            if keep[f] and codes[v] < 0:
                size *= n_states[v]
                if number[v] < 0:
                    number[v] = n_left
                    variables[n_left] = v
                    n_left += 1
        n_entries += size * keep[f]
    starts, scopes = np.zeros(n_potentials + 1, np.int64), np.empty(scope_vars.shape[0], np.int64)
    values, owners, work = np.empty(n_entries), np.empty_like(owner), np.empty((3, max(1, n)), np.int64)
    m, w, at, log_constant = 0, 0, 0, 0.0
    for f in range(n_potentials):
        k, base, stride, size = 0, read, 1, 1
        for i in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
            v = scope_vars[i]
            if codes[v] >= 0:
                base += codes[v] * stride
            else:
                work[0, k], work[1, k], work[2, k] = n_states[v], stride, 0
                size *= n_states[v]
                k += 1
            stride *= n_states[v]
        read += stride
        if not keep[f]:
            continue
        if k == 0:
            log_constant += np.log(tables[base])
            continue
        for i in range(scope_start[f], scope_start[f + 1]):
            if codes[scope_vars[i]] < 0:
                scopes[w] = number[scope_vars[i]]
                w += 1
        owners[m] = owner[f]
        m += 1
        starts[m] = w
        for entry in range(at, at + size):
            values[entry] = tables[base]
            for i in range(k):
                work[2, i] += 1
                base += work[1, i]
                if work[2, i] < work[0, i]:
                    break
                base -= work[2, i] * work[1, i]
                work[2, i] = 0
        at += size
    variables, starts, scopes = variables[:n_left].copy(), starts[: m + 1].copy(), scopes[:w].copy()
    return variables, starts, scopes, values[:at].copy(), owners[:m].copy(), log_constant
