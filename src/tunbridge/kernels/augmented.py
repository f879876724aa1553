"""log P(x, c) of rows when features depend on the class and on some other features."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def add_families(codes, members, strides, start, first, tables, out, hidden):
    """Add log P(x | parents, c) of every family whose child is seen to out[row, c].

    Family f is of the features members[start[f]] (the child) … members[start[f + 1] − 1]; the cell of a row is the sum
    of its codes times the strides, and ``tables[first[f] + cell]`` has an entry for each class. A row in which a child
    is seen but one of its parents is not gets hidden[row] = True: something would have to be summed out.
    """
    for i in range(codes.shape[1]):
        for f in range(start.shape[0] - 1):
            child = codes[members[start[f]], i]
            if child < 0:
                continue
            cell = first[f] + child * strides[start[f]]
            seen = True
            for m in range(start[f] + 1, start[f + 1]):
                code = codes[members[m], i]
                seen = seen and code >= 0
                cell += code * strides[m]
            if seen:
                for c in range(out.shape[1]):
                    out[i, c] += tables[cell, c]
            else:
                hidden[i] = True
