"""Graphs the slow way: every graph listed, every path walked, definitions as they are printed.

A graph here is the number of its nodes 0 … n−1 and a set of arcs (i, j).
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np


@cache
def all_dags(n):
    """Return the arcs of every directed acyclic graph of n nodes."""
    pairs = list(combinations(range(n), 2))
    found = []
    for choice in product([None, False, True], repeat=len(pairs)):
        arcs = {
            (j, i) if turned else (i, j) for (i, j), turned in zip(pairs, choice, strict=True) if turned is not None
        }
        if is_acyclic(n, arcs):
            found.append(frozenset(arcs))
    return found


def is_acyclic(n, arcs):
    """Return whether no node is its own descendant."""
    return all(i not in descendants(n, arcs, i) for i in range(n))


def descendants(n, arcs, start):
    """Return what lies one or more arcs below a node."""
    found = {j for i, j in arcs if i == start}
    for _ in range(n):
        found |= {j for i, j in arcs if i in found}
    return found


def ancestors(n, arcs, start):
    """Return what lies one or more arcs above a node."""
    return {i for i in range(n) if start in descendants(n, arcs, i)}


def trails(arcs, start, end):
    """Yield every path between two nodes that meets no node twice, whatever the direction of its arcs."""
    joined = arcs | {(j, i) for i, j in arcs}
    unfinished = [[start]]
    while unfinished:
        path = unfinished.pop()
        if path[-1] == end:
            yield path
        else:
            unfinished += [[*path, j] for i, j in sorted(joined) if i == path[-1] and j not in path]


def is_blocked(n, arcs, path, given):
    """Return whether a node within the path blocks it, by the definition of Pearl (1988)."""
    for before, here, after in zip(path, path[1:], path[2:], strict=False):
        if (before, here) in arcs and (after, here) in arcs:
            if not ({here} | descendants(n, arcs, here)) & given:
                return True
        elif here in given:
            return True
    return False


def are_separated(n, arcs, a, b, given):
    """Return whether every path between two nodes outside ``given`` is blocked."""
    return all(is_blocked(n, arcs, path, set(given)) for path in trails(arcs, a, b))


@cache
def independences(n, arcs):
    """Return all (a, b, given) that the graph makes independent."""
    found = []
    for a, b in combinations(range(n), 2):
        rest = [i for i in range(n) if i not in (a, b)]
        for size in range(len(rest) + 1):
            found += [(a, b, given) for given in combinations(rest, size) if are_separated(n, arcs, a, b, given)]
    return frozenset(found)


@cache
def equivalence_classes(n):
    """Return for each set of independences the graphs that have exactly these."""
    classes = {}
    for arcs in all_dags(n):
        classes.setdefault(independences(n, arcs), []).append(arcs)
    return classes


def union_of_class(graphs):
    """Return the arcs that all graphs of a class share, and the pairs on whose direction they differ."""
    everything = frozenset().union(*graphs)
    shared = frozenset(arc for arc in everything if (arc[1], arc[0]) not in everything)
    return shared, frozenset(frozenset(arc) for arc in everything - shared)


def v_structures(n, arcs, edges=frozenset()):
    """Return all (a, c, b) with a → c ← b, a < b, and a and b not joined, be it by an arc or an edge."""
    joined = {frozenset(arc) for arc in arcs} | edges
    return {
        (a, c, b)
        for a, b in combinations(range(n), 2)
        for c in range(n)
        if {(a, c), (b, c)} <= arcs and frozenset((a, b)) not in joined
    }


def class_by_meek(n, arcs):
    """Return arcs and edges of the class: the v-structures, then the rules of Meek (1995) until none applies."""
    shared = {arc for a, c, b in v_structures(n, arcs) for arc in ((a, c), (b, c))}
    loose = {frozenset(arc) for arc in arcs if arc not in shared}
    joined = {frozenset(arc) for arc in arcs}
    changed = True
    while changed:
        changed = False
        for a, b in [pair for edge in loose for pair in (sorted(edge), sorted(edge, reverse=True))]:
            if frozenset((a, b)) in loose and _meek(n, shared, loose, joined, a, b):
                shared.add((a, b))
                loose.discard(frozenset((a, b)))
                changed = True
    return frozenset(shared), frozenset(loose)


def _meek(n, shared, loose, joined, a, b):
    """Return whether one of the first three rules turns a – b into a → b."""
    nodes = range(n)
    first = any((c, a) in shared and frozenset((c, b)) not in joined for c in nodes if c != b)
    second = any((a, c) in shared and (c, b) in shared for c in nodes)
    third = any(
        {frozenset((a, c)), frozenset((a, d))} <= loose
        and {(c, b), (d, b)} <= shared
        and frozenset((c, d)) not in joined
        for c, d in combinations(nodes, 2)
    )
    return first or second or third


def random_tables(n, arcs, rng):
    """Return P(x_i = 1 | parents) for binary nodes, an array with one axis a parent, and the parents in order."""
    parents = [sorted(i for i, j in arcs if j == node) for node in range(n)]
    return [(rng.uniform(0.05, 0.95, (2,) * len(p)), p) for p in parents]


def posterior(tables, nodes, targets, findings):
    """Return P(targets | findings) from the tables of these nodes alone, by summing over all their states.

    ``findings`` maps a node to the likelihood of its two states; nodes that have a finding but no table here keep it.
    """
    involved = sorted({*nodes, *findings, *targets, *(p for i in nodes for p in tables[i][1])})
    result = np.zeros((2,) * len(targets))
    for states in product([0, 1], repeat=len(involved)):
        x = dict(zip(involved, states, strict=True))
        weight = np.prod([likelihood[x[i]] for i, likelihood in findings.items()])
        for i in nodes:
            one = tables[i][0][tuple(x[p] for p in tables[i][1])]
            weight *= one if x[i] else 1 - one
        result[tuple(x[t] for t in targets)] += weight
    return result / result.sum()
