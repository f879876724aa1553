"""Kernels on potentials: tables over some of the variables, laid end to end."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def reduce_potentials(n_states, scope_start, scope_vars, tables, owner, codes, keep):
    """Return the kept potentials with the observed variables (codes ≥ 0) taken out, the others numbered anew.

    (variables, scope_start, scope_vars, tables, owner, log_constant): ``variables`` are the old numbers of the new
    ones; potentials without any variable left go into the constant.
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
