"""Kernels that choose an elimination order: greedy triangulation of the interaction graph.

Eliminating a node joins its neighbours to one another and removes it; the node with its neighbours is a clique whose
table has the product of their numbers of states as entries. The order is chosen greedily by one of three rules (fewest
fill edges, lightest fill edges, smallest table) or simply as the variables come, ties broken by the table's size and
then at random, the scores disturbed at random when asked; of several orders the one with the smallest total table size
is kept.

The graph under elimination lies in one pool, in which every node has its neighbours one behind the other and room for
more; a node that outgrows its room moves to the end of the pool.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

MIN_FILL = np.int64(0)
WEIGHTED_MIN_FILL = np.int64(1)
MIN_WEIGHT = np.int64(2)
AS_GIVEN = np.int64(3)
REVERSED = np.int64(4)

_TINY_TABLES = 512.0  # below this many entries in all a second opinion costs more than it can save
_STEPS_PER_ENTRY = 1.0  # steps spent on finding a better order for each entry of the best tables so far
_MOST_STEPS = 40_000_000  # a few tenths of a second
MOST_ORDERS = 300
HOPELESS = 2.0**42  # entries: more are counted no further

# Columns of the nodes of a graph: where the neighbours begin in the pool, how many there are, for how many there is
# room, and the stamp that marks the node for a while.
FIRST, DEGREE, ROOM, MARK = np.int64(0), np.int64(1), np.int64(2), np.int64(3)


class _Choice(NamedTuple):
    """How a greedy order is chosen.

    Parameters
    ----------
    rule : int
        One of the rules above.
    noise : float
        Every score is raised by a random share of up to this.
    seed : int
        Of the random numbers; with 0 ties are not broken at random.
    bound : float
        The cost above which the order is given up.
    """

    rule: int
    noise: float
    seed: int
    bound: float


@njit(cache=True, nogil=True)
def join_scopes(n, scope_start, scope_vars):
    """Return the interaction graph: two nodes are neighbours when they stand in one scope. (start, neighbours)."""
    n_pairs = 0
    for f in range(scope_start.shape[0] - 1):
        k = scope_start[f + 1] - scope_start[f]
        n_pairs += k * (k - 1)
    first = np.zeros(n + 1, np.int64)
    for f in range(scope_start.shape[0] - 1):
        k = scope_start[f + 1] - scope_start[f]
        for i in range(scope_start[f], scope_start[f + 1]):
            first[scope_vars[i] + 1] += k - 1
    for v in range(n):
        first[v + 1] += first[v]
    loose = np.empty(n_pairs, np.int64)
    filled = first[:-1].copy()
    for f in range(scope_start.shape[0] - 1):
        for i in range(scope_start[f], scope_start[f + 1]):
            for j in range(scope_start[f], scope_start[f + 1]):
                if i != j:
                    loose[filled[scope_vars[i]]] = scope_vars[j]
                    filled[scope_vars[i]] += 1
    return _distinct_neighbours(n, first, loose)


@njit(cache=True, nogil=True)
def _distinct_neighbours(n, first, loose):
    start = np.zeros(n + 1, np.int64)
    neighbours = np.empty_like(loose)
    seen = np.full(n, -1, np.int64)
    m = 0
    for v in range(n):
        for i in range(first[v], first[v + 1]):
            u = loose[i]
            if seen[u] != v and u != v:
                seen[u] = v
                neighbours[m] = u
                m += 1
        start[v + 1] = m
    return start, neighbours[:m].copy()


@njit(cache=True, nogil=True)
def _append(v, u, nodes, pool, end):
    """Add ``u`` to the neighbours of ``v``; return the pool and its end, both of which may have moved."""
    if nodes[v, DEGREE] == nodes[v, ROOM]:
        wider = max(4, 2 * nodes[v, ROOM])
        if end + wider > pool.shape[0]:
            larger = np.empty(2 * pool.shape[0] + wider, np.int64)
            for i in range(end):
                larger[i] = pool[i]
            pool = larger
        for i in range(nodes[v, DEGREE]):
            pool[end + i] = pool[nodes[v, FIRST] + i]
        nodes[v, FIRST], nodes[v, ROOM] = end, wider
        end += wider
    pool[nodes[v, FIRST] + nodes[v, DEGREE]] = u
    nodes[v, DEGREE] += 1
    return pool, end


@njit(cache=True, nogil=True)
def _drop(v, u, nodes, pool):
    """Take ``u`` out of the neighbours of ``v``."""
    last = nodes[v, FIRST] + nodes[v, DEGREE] - 1
    for i in range(nodes[v, FIRST], last):
        if pool[i] == u:
            pool[i] = pool[last]
            break
    nodes[v, DEGREE] -= 1


@njit(cache=True, nogil=True)
def _log_size(v, log_states, nodes, pool):
    size = log_states[v]
    for i in range(nodes[v, FIRST], nodes[v, FIRST] + nodes[v, DEGREE]):
        size += log_states[pool[i]]
    return size


@njit(cache=True, nogil=True)
def _fill(v, weigh, log_states, nodes, pool, stamp):
    """Return the fill edges that eliminating ``v`` would add, or their weight: −Σ over edges that are there already."""
    low, high = nodes[v, FIRST], nodes[v, FIRST] + nodes[v, DEGREE]
    whole, there = 0.0, 0.0
    weight = 0.0
    for i in range(low, high):
        nodes[pool[i], MARK] = stamp
        w = np.exp(log_states[pool[i]]) if weigh else 1.0
        whole += w * weight
        weight += w
    for i in range(low, high):
        u = pool[i]
        w = np.exp(log_states[u]) if weigh else 1.0
        for j in range(nodes[u, FIRST], nodes[u, FIRST] + nodes[u, DEGREE]):
            if nodes[pool[j], MARK] == stamp:
                there += w * np.exp(log_states[pool[j]]) if weigh else 1.0
    return whole - 0.5 * there


@njit(cache=True, nogil=True)
def _next_random(state):
    """Return the next state of a 64-bit xorshift generator; ties need no better one."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, nogil=True)
def _score(v, rule, log_states, nodes, pool, stamp):
    """Return what the rule thinks of eliminating ``v`` next: the less the better."""
    if rule >= AS_GIVEN:
        return 1.0 + v if rule == AS_GIVEN else log_states.shape[0] - v
    if rule == MIN_WEIGHT:
        return _log_size(v, log_states, nodes, pool)
    return _fill(v, rule == WEIGHTED_MIN_FILL, log_states, nodes, pool, stamp)


@njit(cache=True, nogil=True)
def _best_alive(alive, group, score, size, breaks_ties, random):
    """Return the place of the node to eliminate, and the state of the generator that broke ties."""
    at, ties = 0, 1
    for i in range(1, alive.shape[0]):
        v, best = alive[i], alive[at]
        if group[v] != group[best]:
            if group[v] < group[best]:
                at, ties = i, 1
        elif score[v] < score[best] or (score[v] == score[best] and size[v] < size[best]):
            at, ties = i, 1
        elif score[v] == score[best] and size[v] == size[best] and breaks_ties:
            ties += 1
            random = _next_random(random)
            if random % np.uint64(ties) == np.uint64(0):
                at = i
    return at, random


@njit(cache=True, nogil=True)
def _connect(clique, nodes, pool, end, stamp):
    """Join nodes to one another: (pool, its end, the last stamp used, whether an edge was added)."""
    added = False
    for i in range(clique.shape[0]):
        u = clique[i]
        stamp += 1
        for j in range(nodes[u, FIRST], nodes[u, FIRST] + nodes[u, DEGREE]):
            nodes[pool[j], MARK] = stamp
        for j in range(i + 1, clique.shape[0]):
            if nodes[clique[j], MARK] != stamp:
                pool, end = _append(u, clique[j], nodes, pool, end)
                pool, end = _append(clique[j], u, nodes, pool, end)
                added = True
    return pool, end, stamp, added


@njit(cache=True, nogil=True)
def _list_changed(clique, beyond, nodes, pool, stamp, changed):
    """List the nodes whose score may have changed: these, and where edges were added their neighbours. (how many)"""
    for i in range(clique.shape[0]):
        nodes[clique[i], MARK] = stamp
        changed[i] = clique[i]
    n_changed = clique.shape[0]
    for i in range(clique.shape[0] if beyond else 0):
        for j in range(nodes[clique[i], FIRST], nodes[clique[i], FIRST] + nodes[clique[i], DEGREE]):
            if nodes[pool[j], MARK] != stamp:
                nodes[pool[j], MARK] = stamp
                changed[n_changed] = pool[j]
                n_changed += 1
    return n_changed


@njit(cache=True, nogil=True)
def _eliminate(log_states, group, start, neighbours, choice):
    """Return a greedy elimination order and its cliques: (cost, steps, order, clique_start, clique_nodes).

    ``clique_nodes[clique_start[i] : clique_start[i + 1]]`` are the neighbours of ``order[i]`` when it is eliminated.
    Nodes of a lower ``group`` go before those of a higher one. The cost is the sum of the table sizes; once it passes
    the bound the rest is left as it is and infinity returned.
    """
    rule, noise, seed, bound = choice
    n = log_states.shape[0]
    nodes = np.zeros((n, 4), np.int64)
    for v in range(n):
        nodes[v, FIRST], nodes[v, DEGREE] = start[v], start[v + 1] - start[v]
        nodes[v, ROOM] = nodes[v, DEGREE]
    pool, end = np.empty(2 * neighbours.shape[0] + 4 * n + 8, np.int64), neighbours.shape[0]
    for i in range(end):
        pool[i] = neighbours[i]
    stamp, changed = 0, np.arange(n)
    random = np.uint64(seed * 2 + 1) * np.uint64(0x9E3779B97F4A7C15)
    score, size, alive = np.empty(n), np.empty(n), np.arange(n)
    order, clique_start = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    clique_nodes = np.empty(neighbours.shape[0] + n + 8, np.int64)
    cost, steps, n_changed = 0.0, 0, n
    for step in range(n):
        for i in range(n_changed):
            u = changed[i]
            stamp += 1
            size[u] = _log_size(u, log_states, nodes, pool)
            random = _next_random(random)
            share = 1.0 + noise * (random >> np.uint64(11)) / 9007199254740992.0
            score[u] = share * _score(u, rule, log_states, nodes, pool, stamp)
            steps += nodes[u, DEGREE] * nodes[u, DEGREE]
        at, random = _best_alive(alive[: n - step], group, score, size, seed > 0, random)
        v = alive[at]
        alive[at] = alive[n - step - 1]
        order[step] = v
        filled, k = clique_start[step], nodes[v, DEGREE]
        if filled + k > clique_nodes.shape[0]:
            larger = np.empty(2 * clique_nodes.shape[0] + k, np.int64)
            for i in range(filled):
                larger[i] = clique_nodes[i]
            clique_nodes = larger
        for i in range(k):
            clique_nodes[filled + i] = pool[nodes[v, FIRST] + i]
        clique_start[step + 1] = filled + k
        cost += np.exp(size[v])
        steps += n - step + k * k
        if cost > bound:
            for i in range(step + 1, n):
                order[i], clique_start[i + 1] = alive[i - step - 1], filled + k
            return np.inf, steps, order, clique_start, clique_nodes
        clique = clique_nodes[filled : filled + k]
        for u in clique:
            _drop(u, v, nodes, pool)
        pool, end, stamp, added = _connect(clique, nodes, pool, end, stamp)
        stamp += 1
        n_changed = _list_changed(clique, added and rule != MIN_WEIGHT, nodes, pool, stamp, changed)
    return cost, steps, order, clique_start, clique_nodes


@njit(cache=True, nogil=True)
def best_order(log_states, group, start, neighbours, most_orders):
    """Return the cheapest of several greedy orders: (cost, order, clique_start, clique_nodes).

    First the lightest fill, then, while the steps spent are small against the size of the best tables found, the other
    rules, the variables as given and in reverse (on grids far better than any rule), and disturbed rules: every score
    is raised by a random share, which finds far smaller tables than breaking ties does (MUNIN1: 0.9 · 10⁸ entries
    instead of 2.1 · 10⁸). Steps are counted, not timed, so that the same network always gets the same tree. Where every
    rule runs into tables that no memory could hold, that is the answer.
    """
    cost, steps, n_orders = np.inf, 0, np.int64(0)
    order = clique_start = nodes = neighbours
    while n_orders < 1 or (steps < min(_STEPS_PER_ENTRY * cost, _MOST_STEPS) and cost > _TINY_TABLES):
        rule, noise = (n_orders + WEIGHTED_MIN_FILL) % 3 if n_orders < 3 else n_orders, 0.0
        if n_orders > REVERSED:
            rule = MIN_WEIGHT if n_orders % 8 == 7 else n_orders % 2
            noise = 0.3 if n_orders % 4 < 2 or rule == MIN_WEIGHT else 1.0
        choice = _Choice(rule, noise, n_orders, min(cost, HOPELESS))
        c, s, o, b, m = _eliminate(log_states, group, start, neighbours, choice)
        steps += s
        n_orders += 1
        if c < cost or n_orders == 1:
            cost, order, clique_start, nodes = c, o, b, m
        if n_orders == most_orders or (n_orders > REVERSED and cost == np.inf):
            break
    return cost, order, clique_start, nodes


def find_order(n_states, group, scope_start, scope_vars, most_orders):
    """Return a good elimination order for tables with these scopes; see :func:`best_order`."""
    start, neighbours = join_scopes(n_states.shape[0], scope_start, scope_vars)
    return best_order(np.log(n_states), group, start, neighbours, most_orders)
