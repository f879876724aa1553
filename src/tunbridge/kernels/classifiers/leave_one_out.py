"""How well every row is predicted from all others, by many models at once.

The models share the order of the features and differ in how many of them they use and in how many parents each feature
has. P(c | x) of a row is kept for every number of parents, multiplied by one feature's factors after another, and
brought back to a sum of one each time; after every feature what it says of the row's class is turned into a loss.

A class that is all but impossible after some features may come back after others. So where a share becomes very small,
the shares of that row are floats times powers of 2⁻⁵¹² from then on: none becomes zero by being multiplied, and nothing
has to be computed in logarithms.
"""

from __future__ import annotations

from math import log

import numpy as np

from tunbridge.kernels.caching import njit

LOG_LOSS = np.int64(0)
SQUARES = np.int64(1)

LEAST = 2.0**-52
"""What a class is given at least, so that one row cannot cost any number of nats."""

STEP = 2.0**-512
BACK = 2.0**512


@njit(cache=True, nogil=True)
def _tell(shares, i, k, others, row, own, y, room):
    """Multiply P(c | x) by the factors of a feature; return whether that could be done with plain floats.

    Arrays and indices come apart, because rows of them made the whole kernel 1.3 times as slow.
    """
    total, least = 0.0, 1.0
    for c in range(shares.shape[2]):
        room[c] = shares[i, k, c] * others[row, c]
    room[y] = shares[i, k, y] * own
    for c in range(shares.shape[2]):
        total += room[c]
        least = min(least, room[c])
    if least <= STEP:
        return False
    scale = 1.0 / total
    for c in range(shares.shape[2]):
        shares[i, k, c] = room[c] * scale
    return True


@njit(cache=True, nogil=True)
def _tell_in_steps(shares, steps, others, own, y):
    """Multiply P(c | x) by the factors of a feature, shares being floats times powers of the step."""
    top = np.int32(-(2**30))
    for c in range(shares.shape[0]):
        factor = own if c == y else others[c]
        if shares[c] == 0.0 or factor == 0.0:
            shares[c] = 0.0
            continue
        if factor < STEP:
            factor *= BACK
            steps[c] -= 1
        shares[c] *= factor
        if shares[c] < STEP:
            shares[c] *= BACK
            steps[c] -= 1
        top = max(top, steps[c])
    total = 0.0
    for c in range(shares.shape[0]):
        if steps[c] == top:
            total += shares[c]
    if total > 0.0:
        for c in range(shares.shape[0]):
            shares[c] /= total
            steps[c] -= top
            if steps[c] < 0 and shares[c] >= 1.0:
                shares[c] *= STEP
                steps[c] += 1


@njit(cache=True, nogil=True)
def _loss(shares, i, k, y, measure):
    """Return what P(c | x) loses on a row of class y."""
    if measure == LOG_LOSS:
        return -log(max(shares[i, k, y], LEAST))
    if measure == SQUARES:
        return (1.0 - shares[i, k, y]) ** 2
    best = 0
    for c in range(1, shares.shape[2]):
        if shares[i, k, c] > shares[i, k, best]:
            best = c
    return 0.0 if best == y else 1.0


@njit(cache=True, nogil=True)
def _fill_plain(shares, steps, prior, room):
    """Write the shares as plain floats; where no class is possible the prior stands for them."""
    possible = False
    for c in range(shares.shape[0]):
        possible = possible or shares[c] > 0.0
        room[c] = shares[c] if steps[c] == 0 else 0.0
    if not possible:
        room[:] = prior


@njit(cache=True, nogil=True)
def add_losses(rows, tables, prior, measure, room, out):
    """Add the losses of all rows to out[number of features, number of parents].

    A parent that is missing, and those after it, are left out. Row y of ``prior`` is P(c) without a row of class y.
    """
    codes, classes, weights = rows.codes, rows.classes, rows.weights
    members, start, first, own, others = tables.members, tables.start, tables.first, tables.own, tables.others
    shares, steps, in_steps = room.shares, room.steps, room.in_steps
    n_levels, one, plain = out.shape[1], np.empty(prior.shape[0]), np.empty((1, 1, prior.shape[0]))
    steps[:] = 0
    in_steps[:] = False
    for i in range(codes.shape[1]):
        for k in range(n_levels):
            shares[i, k] = prior[classes[i]]
            out[0, k] += weights[i] * _loss(shares, i, k, classes[i], measure)
    for f in range(start.shape[0] - 1):
        n_parents = start[f + 1] - start[f] - 1
        for i in range(codes.shape[1]):
            y, cell, level = classes[i], np.int64(codes[members[start[f]], i]), np.int64(0)
            for k in range(n_levels):
                if 0 < k <= n_parents and level == k - 1:
                    code = codes[members[start[f] + k], i]
                    if code >= 0:
                        cell, level = cell * tables.sizes[start[f] + k] + code, np.int64(k)
                if cell >= 0:
                    row = first[f, level] + cell
                    if not in_steps[i, k]:
                        in_steps[i, k] = not _tell(shares, i, k, others, row, own[row, y], y, one)
                    if in_steps[i, k]:
                        _tell_in_steps(shares[i, k], steps[i, k], others[row], own[row, y], y)
                if in_steps[i, k]:
                    _fill_plain(shares[i, k], steps[i, k], prior[y], plain[0, 0])
                    out[f + 1, k] += weights[i] * _loss(plain, 0, 0, y, measure)
                else:
                    out[f + 1, k] += weights[i] * _loss(shares, i, k, y, measure)
