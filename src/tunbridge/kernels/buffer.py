"""The buffer of a junction tree: all the doubles that a run reads and writes, in one array.

    unit | least | potentials | marginals | messages up | messages down | copies | scratch | product | other product

The unit is a table without axes, and ``least`` the least positive entry of the potentials. How large the parts are the
program says; all but the potentials have room for as many lanes as are run together.
"""

import numpy as np
from numba import njit

from tunbridge.kernels.program import N_STATES, SCOPE_VARS, SIZES, STATE_START, TABLE_START, section

# The first two entries.
UNIT = np.int64(0)
LEAST = np.int64(1)

# The parts behind them, as numbers of what layout() returns.
POTENTIALS = np.int64(0)
MARGINALS = np.int64(1)
UP = np.int64(2)
DOWN = np.int64(3)
COPIES = np.int64(4)
SCRATCH = np.int64(5)
PRODUCT = np.int64(6)
OTHER_PRODUCT = np.int64(7)
END = np.int64(8)


@njit(cache=True, nogil=True)
def layout(program, lanes):
    """Return where the parts of the buffer begin, and last its length."""
    sizes = section(program, SIZES)
    starts = np.empty(9, np.int64)
    starts[POTENTIALS] = 2
    starts[MARGINALS] = starts[POTENTIALS] + sizes[0]
    starts[UP] = starts[MARGINALS] + program[program[STATE_START + 1] - 1] * lanes
    starts[DOWN] = starts[UP] + sizes[1] * lanes
    starts[COPIES] = starts[DOWN] + sizes[1] * lanes
    starts[SCRATCH] = starts[COPIES] + sizes[2] * lanes
    starts[PRODUCT] = starts[SCRATCH] + sizes[3] * lanes
    starts[OTHER_PRODUCT] = starts[PRODUCT] + sizes[4] * lanes
    starts[END] = starts[OTHER_PRODUCT] + sizes[5] * lanes
    return starts


@njit(cache=True, nogil=True)
def load_potentials(program, scope_start, scope_vars, tables, buffer):
    """Write the first two entries and the potentials into the buffer, their axes in the order of elimination."""
    n_states, sorted_vars = section(program, N_STATES), section(program, SCOPE_VARS)
    table_start = section(program, TABLE_START)
    n_axes = 1
    for f in range(table_start.shape[0] - 1):
        n_axes = max(n_axes, scope_start[f + 1] - scope_start[f])
    extents, strides, at = np.empty(n_axes, np.int64), np.empty(n_axes, np.int64), np.empty(n_axes, np.int64)
    stride_of = np.empty(n_states.shape[0], np.int64)
    buffer[UNIT], least = 1.0, np.inf
    for f in range(table_start.shape[0] - 1):
        low, k = scope_start[f], scope_start[f + 1] - scope_start[f]
        stride = 1
        for i in range(k - 1, -1, -1):
            stride_of[scope_vars[low + i]] = stride
            stride *= n_states[scope_vars[low + i]]
        for i in range(k):
            v = sorted_vars[low + i]
            extents[i], strides[i], at[i] = n_states[v], stride_of[v], 0
        read = table_start[f]
        for write in range(2 + table_start[f], 2 + table_start[f + 1]):
            buffer[write] = tables[read]
            if 0.0 < tables[read] < least:
                least = tables[read]
            for i in range(k - 1, -1, -1):
                at[i] += 1
                read += strides[i]
                if at[i] < extents[i]:
                    break
                read -= at[i] * strides[i]
                at[i] = 0
    buffer[LEAST] = least
