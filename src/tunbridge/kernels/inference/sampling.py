"""Draws from the tables of a network: forward samples, weighted samples and Gibbs sweeps.

**The generator** is xoshiro256++ (Blackman and Vigna 2021), LANES of them side by side: it needs additions, shifts and
exclusive ors only, so that the lanes run in vector registers (half a nanosecond for 64 bits), it passes the known
batteries of tests, and a state of 256 bits lets streams start anywhere without meeting. The caller seeds one stream for
every block of rows, so the rows do not depend on which thread draws them.

**Exactness.** A draw is an integer u, uniform below 2⁶², and a row of a table becomes limits c₀ ≤ c₁ ≤ … with
c_k − c_{k−1} = ⌊2⁶² p_k⌋; the state is the number of limits that u has reached. Each probability is therefore kept to
2⁻⁶², finer than a double near one; what rounding leaves over goes to the most probable state, and a state of
probability zero has no room and is never drawn.

**Speed.** A tile of ROWS rows is drawn variable by variable, so that draws, configurations and columns stay in the
first cache and each loop does one thing.

The network is a :class:`tunbridge.kernels.inference.rows.Network` whose tables are limits. ``room`` is what a thread
works in: draws (int64), then two arrays for places in a table (uint32, or uint64 for tables of 2³² entries), each for
ROWS rows; ``state`` is that of the thread's generators.

References
----------
D. Blackman, S. Vigna (2021). Scrambled linear pseudorandom number generators. ACM TOMS 47(4), article 36.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit
from tunbridge.kernels.inference.rows import N_STATES, ORDER, PARENTS, TABLE, Network

LANES = 32
"""Generators that run side by side: eight vector registers of four, enough to hide the latency of each."""

ROWS = 1024
"""Rows of a tile: their draws, configurations and columns fill a part of a first cache of 32 KiB."""

_WHOLE = 2.0**62
_TINY = 1e-150  # products of probabilities are scaled up when they fall below this
_MANY_CHILDREN = 10


@njit(cache=True, nogil=True)
def _fill_draws(state, draws):
    """Fill draws (int64, a multiple of LANES of them) with numbers below 2⁶²; state (4 × LANES, uint64) moves on."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    for i in range(0, draws.shape[0], LANES):
        out = draws[i : i + LANES]
        for lane in range(LANES):
            a, b, c, d = s0[lane], s1[lane], s2[lane], s3[lane]
            total = a + d
            mixed = ((total << np.uint64(23)) | (total >> np.uint64(41))) + a
            out[lane] = np.int64(mixed >> np.uint64(2))
            shifted = b << np.uint64(17)
            c ^= a
            d ^= b
            s1[lane] = b ^ c
            s0[lane] = a ^ d
            s2[lane] = c ^ shifted
            s3[lane] = (d << np.uint64(45)) | (d >> np.uint64(19))


@njit(cache=True, nogil=True)
def fill_limits(tables, n_states, table_start, limits):
    """Fill the limits (int64) of every row of every table; they lie where the probabilities do."""
    for v in range(n_states.shape[0]):
        for start in range(table_start[v], table_start[v + 1], n_states[v]):
            best, left = start, np.int64(_WHOLE)
            for k in range(start, start + n_states[v]):
                best = k if tables[k] > tables[best] else best
                left -= np.int64(tables[k] * _WHOLE)
            reached = np.int64(0)
            for k in range(start, start + n_states[v]):
                reached += np.int64(tables[k] * _WHOLE) + (left if k == best else 0)
                limits[k] = reached


class Tilted(NamedTuple):
    """A network whose tables were tilted by evidence.

    Parameters
    ----------
    network : Network
        The limits of the tilted tables.
    order : int64 array
        The variables to be drawn, parents first.
    norm_start : int64 array
        Where in ``log_norms`` a variable's begin; −1 for one without evidence.
    log_norms : float64 array
        ln Σ_k P(k | parents) λ(k) for each parent configuration of each variable with evidence λ.
    """

    network: Network
    order: np.ndarray
    norm_start: np.ndarray
    log_norms: np.ndarray


class Tile(NamedTuple):
    """ROWS weighted rows: codes (variables × ROWS), state and room of what draws them, logarithms of their weights."""

    codes: np.ndarray
    state: np.ndarray
    room: tuple[np.ndarray, np.ndarray, np.ndarray]
    log_weights: np.ndarray


class Blankets(NamedTuple):
    """What Gibbs sweeps read.

    Parameters
    ----------
    tables, likelihoods : float64 arrays
        The tables, and the likelihoods of all states.
    variables : int64 array of shape (n + 1, 4)
        Number of states, and where the states, the children and the sums (−1: none) of each variable begin.
    scan : int64 array
        The variables that are redrawn.
    children : int64 array of shape (n_arcs, 2)
        A child, and by how much its place in its table moves with the state of the parent.
    """

    tables: np.ndarray
    likelihoods: np.ndarray
    variables: np.ndarray
    scan: np.ndarray
    children: np.ndarray


class Chain(NamedTuple):
    """A Gibbs chain: codes, places of their probabilities in the tables, random stream; draws and chances of a step."""

    codes: np.ndarray
    places: np.ndarray
    state: np.ndarray
    draws: np.ndarray
    chances: np.ndarray


@njit(cache=True, nogil=True)
def fill_samples(codes, network, state, room, begin, end):
    """Draw the rows begin … end − 1 (full tiles) of codes (variables × rows) from one stream."""
    for start in range(begin, end, ROWS):
        for i in range(codes.shape[0]):
            _draw(codes, network, network.variables[i, ORDER], state, room, start)


@njit(cache=True, nogil=True)
def fill_weighted(tilted, tile):
    """Draw the codes of a tile and fill the logarithm of each row's weight."""
    codes, state, room, log_weights = tile
    rows = room[1]
    log_weights[:] = 0.0
    for v in tilted.order:
        _draw(codes, tilted.network, v, state, room, 0)
        if tilted.norm_start[v] >= 0:
            for j in range(ROWS):
                log_weights[j] += tilted.log_norms[tilted.norm_start[v] + np.int64(rows[j])]


@njit(cache=True, nogil=True)
def sum_weighted(tilted, tile, n_tiles, targets, sum_start, sums):
    """Draw tiles and sum their weights and squared weights, by state for each target; return the scale of the sums.

    ``sums[0]`` takes weights and ``sums[1]`` squares: target t in state k at ``sum_start[t] + k``, all rows in the last
    column. Weights are relative to the largest met, whose logarithm is the scale (−∞ while all are zero).
    """
    top = -np.inf
    for _ in range(n_tiles):
        fill_weighted(tilted, tile)
        highest = np.max(tile.log_weights)
        if highest > top:
            sums[0] *= np.exp(top - highest)
            sums[1] *= np.exp(2.0 * (top - highest))
            top = highest
        if top > -np.inf:
            _add_tile(tile.codes, tile.log_weights, top, targets, sum_start, sums)
    return top


@njit(cache=True, nogil=True)
def sweep(blankets, chain, n_sweeps, sums):
    """Make Gibbs sweeps; add to sums the distributions that variables were drawn from.

    A variable is drawn from its distribution given all others: its own row times the entry of each child's table, as a
    function of its state. Codes and places of the chain are kept up to date. With many children logarithms are added: a
    state that vanished beside another could not come back.
    """
    tables, likelihoods, variables, scan, children = blankets
    codes, places, state, draws, chances = chain
    used = draws.shape[0]
    for _ in range(n_sweeps):
        for v in scan:
            if used == draws.shape[0]:
                _fill_draws(state, draws)
                used = 0
            n, first_state, begin, end = variables[v, 0], variables[v, 1], variables[v, 2], variables[v + 1, 2]
            first = places[v] - codes[v]
            for k in range(n):
                chances[k] = tables[first + k] * likelihoods[first_state + k]
            adds = end - begin > _MANY_CHILDREN
            for k in range(n if adds else 0):
                chances[k] = np.log(chances[k])
            for c in range(begin, end):
                stride = children[c, 1]
                first = places[children[c, 0]] - codes[v] * stride
                if adds:
                    for k in range(n):
                        chances[k] += np.log(tables[first + k * stride])
                else:
                    _multiply(chances, n, tables, first, stride)
            if adds:
                _raise(chances, n)
            total = 0.0
            for k in range(n):
                total += chances[k]
            k = _chosen(chances, n, draws[used] / _WHOLE * total, codes[v])
            used += 1
            moved = k - codes[v]
            codes[v] = k
            places[v] += moved
            for c in range(begin, end):
                places[children[c, 0]] += moved * children[c, 1]
            if variables[v, 3] >= 0:
                for j in range(n):
                    sums[variables[v, 3] + j] += chances[j] / total


@njit(cache=True, nogil=True)
def _draw(codes, network, v, state, room, start):
    """Draw variable v in a tile of rows, whose parent configurations stay in room[1]."""
    variables = network.variables
    _fill_draws(state, room[0])
    parents = network.relatives[variables[v, PARENTS] : variables[v + 1, PARENTS]]
    _fill_rows(codes, parents, variables, room[1], start)
    limits = network.tables[variables[v, TABLE] : variables[v + 1, TABLE]]
    _pick(limits, variables[v, N_STATES], room, codes[v, start : start + ROWS])


@njit(cache=True, nogil=True)
def _fill_rows(codes, parents, variables, rows, start):
    """Fill rows with the parent configuration of every row of a tile."""
    kind = rows.dtype.type
    rows[:] = 0
    for p in range(parents.shape[0]):
        column, r = codes[parents[p], start : start + ROWS], kind(variables[parents[p], N_STATES])
        for i in range(ROWS):
            rows[i] = rows[i] * r + kind(column[i])


@njit(cache=True, nogil=True)
def _pick(limits, n_states, room, out):
    """Put into out the number of limits of its configuration's row that each draw has reached.

    Found by halving, all rows a step at a time: there is no branch on the draw, and rows do not wait for each other.
    """
    draws, rows, places = room
    if n_states == 2:
        for i in range(ROWS):
            out[i] = draws[i] >= limits[np.uint64(2) * np.uint64(rows[i])]
        return
    wide, left = rows.dtype.type(n_states), n_states - 1
    for i in range(ROWS):
        places[i] = rows[i] * wide
    while left > 0:
        half = (left + 1) // 2
        for i in range(ROWS):
            beyond = places[i] + rows.dtype.type(half)
            places[i] = beyond if draws[i] >= limits[np.uint64(beyond) - np.uint64(1)] else places[i]
        left -= half
    for i in range(ROWS):
        out[i] = places[i] - rows[i] * wide


@njit(cache=True, nogil=True)
def _add_tile(codes, log_weights, top, targets, sum_start, sums):
    """Turn the weights of a tile from logarithms into numbers relative to the top, and add them up."""
    last = sums.shape[1] - 1
    for i in range(ROWS):
        w = np.exp(log_weights[i] - top)
        log_weights[i] = w
        sums[0, last] += w
        sums[1, last] += w * w
    for t in range(targets.shape[0]):
        column, first = codes[targets[t]], sum_start[t]
        for i in range(ROWS):
            w = log_weights[i]
            sums[0, first + column[i]] += w
            sums[1, first + column[i]] += w * w


@njit(cache=True, nogil=True)
def _raise(chances, n_states):
    """Turn logarithms into chances, the largest being 1."""
    top = -np.inf
    for k in range(n_states):
        top = max(top, chances[k])
    for k in range(n_states):
        chances[k] = np.exp(chances[k] - top)


@njit(cache=True, nogil=True)
def _multiply(chances, n_states, tables, first, stride):
    """Multiply chances by every stride-th entry of the tables; scale them up before they underflow."""
    top = 0.0
    for k in range(n_states):
        chances[k] *= tables[first + k * stride]
        top = max(top, chances[k])
    if 0.0 < top < _TINY:
        for k in range(n_states):
            chances[k] /= top


@njit(cache=True, nogil=True)
def _chosen(chances, n_states, mark, present):
    """Return the first state whose cumulated chances pass the mark; the present one when all chances are zero."""
    reached = 0.0
    for k in range(n_states):
        reached += chances[k]
        if reached > mark:
            return k
    return present
