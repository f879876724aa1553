"""Kernels that run the program of a junction tree on logarithms, for tables whose products would underflow.

:mod:`tunbridge.kernels.inference.propagation` multiplies probabilities, and notices when a product might leave the
range of a double: a state that has vanished beside another could not come back, whatever later factors say. Such a run
is repeated here. The recursion is the same, in logarithms, one lane at a time and with the whole table of a clique,

    ln T(x_c) = Σ ln inputs,      up  ln m(s) = ln Σ_r T(r, s),      down  ln m(s) = ln Σ_rest T − ln m_up(s),

where r is the residual of a clique (its outer axes) and s the separator. All evidence about a variable, hard or soft,
is one more input of the clique that eliminates it. Sums are taken beside their largest term.

It is some twenty times as slow, and few runs need it: entries near 1e-150, or many small ones, have to meet in one
clique.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

# Columns of a Program, as in propagation (repeated, because numba's cache does not notice edits in another file).
N_STATES, HOME, STATES = np.int64(0), np.int64(1), np.int64(3)
TABLE = np.int64(1)
MEMBERS, N_RESIDUAL, PARENT, MESSAGE, INPUTS = np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(5)
SOURCE, AXES = np.int64(0), np.int64(1)

# Rows of _Run.axes: the lengths of the axes of the present clique, the strides of one of its inputs, and a counter.
LENGTHS, STRIDES, AT = np.int64(0), np.int64(1), np.int64(2)


class _Run(NamedTuple):
    """The arrays of a run.

    Parameters
    ----------
    potentials : float64 array
        The logarithms of the potentials, their axes in the order of elimination.
    up, down : float64 arrays
        The messages to the parents and from them.
    found : float64 array
        The logarithms of the evidence about each state.
    table, sums : float64 arrays
        The table of the present clique, and room for a sum over some of its axes.
    axes : int64 array of shape (3, n), with the rows above
        The axes of the present clique.
    """

    potentials: np.ndarray
    up: np.ndarray
    down: np.ndarray
    found: np.ndarray
    table: np.ndarray
    sums: np.ndarray
    axes: np.ndarray


@njit(cache=True, nogil=True)
def _start(program, x, at):
    """Return the arrays of a run; x is the buffer in which the potentials lie, and ``at`` its layout."""
    variables, cliques, most_axes, largest = program.variables, program.cliques, 1, 1
    for c in range(cliques.shape[0] - 1):
        low, high, size = cliques[c, MEMBERS], cliques[c + 1, MEMBERS], 1
        for j in range(low, high):
            size *= variables[program.members[j], N_STATES]
        most_axes, largest = max(most_axes, high - low), max(largest, size)
    n_messages, n_states = cliques[-1, MESSAGE], 0
    for v in range(variables.shape[0]):
        n_states += variables[v, N_STATES]
    return _Run(
        np.log(x[at.potentials : at.log_evidence]), np.empty(n_messages), np.empty(n_messages), np.empty(n_states),
        np.empty(largest), np.empty(largest), np.empty((3, most_axes), np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _read_evidence(program, evidence, lane, run):
    """Take the evidence of a lane; its likelihoods are logarithms."""
    codes, log_likelihoods, is_soft = evidence
    for v in range(program.variables.shape[0]):
        first = program.variables[v, STATES]
        for k in range(program.variables[v, N_STATES]):
            run.found[first + k] = 0.0 if codes[v, lane] < 0 or codes[v, lane] == k else -np.inf
            if is_soft[v]:
                run.found[first + k] += log_likelihoods[first + k, lane]


@njit(cache=True, nogil=True)
def _add(table, source, first, axes, n_axes):
    """Add a source, from ``first`` on, to a table; its entries are found by STRIDES."""
    lengths, strides, at = axes[LENGTHS], axes[STRIDES], axes[AT]
    at[:] = 0
    entry = first
    for i in range(table.shape[0]):
        table[i] += source[entry]
        for j in range(n_axes - 1, -1, -1):
            at[j] += 1
            entry += strides[j]
            if at[j] < lengths[j]:
                break
            entry -= at[j] * strides[j]
            at[j] = 0


@njit(cache=True, nogil=True)
def _sum_into(table, axes, n_axes, sums, op):
    """Fill ``sums``, found by STRIDES, with the logarithms of the sums of a table's entries, or (op 1) their maxima."""
    lengths, strides, at = axes[LENGTHS], axes[STRIDES], axes[AT]
    size = 1
    for j in range(n_axes):
        size += (lengths[j] - 1) * strides[j]
    tops = np.full(size, -np.inf)
    sums[:size] = 0.0
    for turn in range(2 - op):
        at[:] = 0
        entry = 0
        for i in range(table.shape[0]):
            if turn == 0:
                tops[entry] = max(tops[entry], table[i])
            elif table[i] > -np.inf:
                sums[entry] += np.exp(table[i] - tops[entry])
            for j in range(n_axes - 1, -1, -1):
                at[j] += 1
                entry += strides[j]
                if at[j] < lengths[j]:
                    break
                entry -= at[j] * strides[j]
                at[j] = 0
    for i in range(size):
        sums[i] = tops[i] if op else tops[i] + np.log(sums[i]) if tops[i] > -np.inf else -np.inf
    return size


@njit(cache=True, nogil=True)
def _set_strides(program, run, c, i):
    """Set STRIDES to those of input i of clique c."""
    strides, first = run.axes[STRIDES], program.cliques[c, MEMBERS]
    strides[:] = 0
    stride = 1
    for j in range(program.inputs[i + 1, AXES] - 1, program.inputs[i, AXES] - 1, -1):
        axis = program.members[j]
        strides[axis] = stride
        stride *= program.variables[program.members[first + axis], N_STATES]


@njit(cache=True, nogil=True)
def _open(program, run, c, is_down):
    """Fill the table of clique c with the sum of its inputs, on the way down with its parent's; return it."""
    variables, cliques, axes = program.variables, program.cliques, run.axes
    first, n_axes = cliques[c, MEMBERS], cliques[c + 1, MEMBERS] - cliques[c, MEMBERS]
    n_potentials, n_cliques, size = program.potentials.shape[0] - 1, cliques.shape[0] - 1, 1
    for j in range(n_axes):
        axes[LENGTHS, j] = variables[program.members[first + j], N_STATES]
        size *= axes[LENGTHS, j]
    table = run.table[:size]
    table[:] = 0.0
    for i in range(cliques[c, INPUTS], cliques[c + 1, INPUTS]):
        source = program.inputs[i, SOURCE]
        _set_strides(program, run, c, i)
        if source < n_potentials:
            _add(table, run.potentials, program.potentials[source, TABLE], axes, n_axes)
        elif source - n_potentials < n_cliques:
            _add(table, run.up, cliques[source - n_potentials, MESSAGE], axes, n_axes)
        elif is_down:
            _add(table, run.down, cliques[c, MESSAGE], axes, n_axes)
    for j in range(cliques[c, N_RESIDUAL]):
        axes[STRIDES, :] = 0
        axes[STRIDES, j] = 1
        _add(table, run.found, variables[program.members[first + j], STATES], axes, n_axes)
    return table, n_axes


@njit(cache=True, nogil=True)
def _normalise(logs):
    """Subtract the largest logarithm from all; return it."""
    top = logs.max()
    if top > -np.inf:
        logs -= top
    return top


@njit(cache=True, nogil=True)
def _collect(program, run, is_maximised):
    """Send the messages up; return the logarithm of the sum (or maximum) of all."""
    cliques, log_total = program.cliques, 0.0
    for c in range(cliques.shape[0] - 1):
        table, _ = _open(program, run, c, False)
        message = run.up[cliques[c, MESSAGE] : cliques[c + 1, MESSAGE]]
        for s in range(message.shape[0]):
            column = table[s :: message.shape[0]]
            message[s] = column.max()
            if message[s] > -np.inf and not is_maximised[program.members[cliques[c, MEMBERS]]]:
                message[s] += np.log(np.exp(column - message[s]).sum())
        log_total += _normalise(message)
    return log_total


@njit(cache=True, nogil=True)
def _send_down(program, run, c, table, n_axes):
    """Send the messages of clique c, whose table is whole, to its children."""
    cliques, n_potentials, n_cliques = program.cliques, program.potentials.shape[0] - 1, program.cliques.shape[0] - 1
    for i in range(cliques[c, INPUTS], cliques[c + 1, INPUTS]):
        child = program.inputs[i, SOURCE] - n_potentials
        if not 0 <= child < n_cliques:
            continue
        _set_strides(program, run, c, i)
        size = _sum_into(table, run.axes, n_axes, run.sums, 0)
        low = cliques[child, MESSAGE]
        for s in range(size):
            up = run.up[low + s]
            run.down[low + s] = run.sums[s] - up if up > -np.inf else -np.inf
        _normalise(run.down[low : low + size])


@njit(cache=True, nogil=True)
def _write(run, table, n_axes, out):
    """Write the distribution over the axes with strides, normalised, to ``out``."""
    size = _sum_into(table, run.axes, n_axes, run.sums, 0)
    top, total = run.sums[:size].max(), 0.0
    for k in range(size):
        out[k] = np.exp(run.sums[k] - top) if top > -np.inf else 0.0
        total += out[k]
    for k in range(size if total > 0.0 else 0):
        out[k] /= total


@njit(cache=True, nogil=True)
def propagate(program, x, at, evidence, wanted, joint):
    """Compute what :func:`tunbridge.kernels.inference.propagation.propagate` does, and write it to the same places.

    ``at`` is the layout of the buffer x. The likelihoods of the evidence are logarithms, here and below.
    """
    variables, cliques, lanes = program.variables, program.cliques, evidence.codes.shape[1]
    run, sums_all = _start(program, x, at), np.zeros(variables.shape[0], np.int64)
    for lane in range(lanes):
        _read_evidence(program, evidence, lane, run)
        log_total = _collect(program, run, sums_all)
        x[at.log_evidence + lane] = log_total
        if log_total == -np.inf or (joint.shape[0] == 0 and not wanted.any()):
            continue
        for c in range(cliques.shape[0] - 2, -1, -1):
            table, n_axes = _open(program, run, c, True)
            _send_down(program, run, c, table, n_axes)
            first = cliques[c, MEMBERS]
            for j in range(cliques[c, N_RESIDUAL]):
                v = program.members[first + j]
                if wanted[v]:
                    run.axes[STRIDES, :] = 0
                    run.axes[STRIDES, j] = 1
                    low = at.marginals + variables[v, STATES] * lanes + lane
                    _write(run, table, n_axes, x[low : low + variables[v, N_STATES] * lanes : lanes])
            if joint.shape[0] > 0 and variables[joint[0], HOME] == c:
                stride = 1
                run.axes[STRIDES, :] = 0
                for i in range(joint.shape[0] - 1, -1, -1):  # what is observed has an axis of length one
                    for j in range(n_axes if evidence.codes[joint[i], 0] < 0 else 0):
                        if program.members[first + j] == joint[i]:
                            run.axes[STRIDES, j] = stride
                            stride *= variables[joint[i], N_STATES]
                _write(run, table, n_axes, x[at.end : at.end + stride])


@njit(cache=True, nogil=True)
def maximise(program, x, at, evidence, is_maximised, chosen):
    """Find what :func:`tunbridge.kernels.inference.propagation.maximise` does."""
    variables, cliques, run = program.variables, program.cliques, _start(program, x, at)
    _read_evidence(program, evidence, 0, run)
    log_largest = _collect(program, run, is_maximised)
    chosen[:] = evidence.codes[:, 0]
    for c in range(cliques.shape[0] - 2, -1, -1):
        first, residual = cliques[c, MEMBERS], cliques[c, N_RESIDUAL]
        if not is_maximised[program.members[first]]:
            continue
        table, n_axes = _open(program, run, c, False)
        separator, size = 0, 1
        for j in range(n_axes - 1, residual - 1, -1):
            separator += chosen[program.members[first + j]] * size
            size *= run.axes[LENGTHS, j]
        best = table[separator::size].argmax()
        for j in range(residual - 1, -1, -1):
            v = program.members[first + j]
            chosen[v] = best % variables[v, N_STATES]
            best //= variables[v, N_STATES]
    return log_largest


@njit(cache=True, nogil=True)
def condition(program, x, at, evidence, table_start, tables):
    """Write what :func:`tunbridge.kernels.inference.propagation.condition` does."""
    cliques, run = program.cliques, _start(program, x, at)
    _read_evidence(program, evidence, 0, run)
    log_evidence = _collect(program, run, np.zeros(program.variables.shape[0], np.int64))
    for c in range(cliques.shape[0] - 1):
        table, _ = _open(program, run, c, False)
        v, size = program.members[cliques[c, MEMBERS]], cliques[c + 1, MESSAGE] - cliques[c, MESSAGE]
        n_states = program.variables[v, N_STATES]
        for s in range(size):
            column, first = table[s::size], table_start[v] + s * n_states
            top = column.max()
            shares = np.exp(column - top) if top > -np.inf else 1.0 * (np.arange(n_states) == 0)
            tables[first : first + n_states] = shares / shares.sum()
    return log_evidence
