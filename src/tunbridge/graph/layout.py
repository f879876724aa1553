"""Layered layouts of graphs: parents above their children, few crossings, long arcs routed between nodes.

The four steps of Sugiyama, each with a method that finds good answers quickly:

1. *Layers.* Arcs that close a cycle are turned round. The layers y minimise the total length of the arcs,
   Σ (y_child − y_parent) with y_child ≥ y_parent + 1: a linear program whose vertices are integers (Gansner et al.).
2. *Order.* An arc over several layers goes through a place in each. Medians of the neighbours, swaps of neighbouring
   nodes, and *sifting*, which tries every place of a node in its layer, lower the number of crossings; of several
   starts the best is kept.
3. *Coordinates.* x minimises Σ w |x_parent − x_child| under the order, a linear program as well; long arcs weigh more,
   so that they are straight.
4. *Routes.* Within a layer an arc goes straight down through its place, so it never crosses a node. The ends of the
   arcs are spread along the border of a node, in the order of where they go, so that none hides another's tip.

Components are laid out one by one and put side by side, in rows.

Dense graphs have many times more places than nodes. Above ``_APART`` places the arcs that leave one node share theirs,
as branches of one trunk, and so do those to many leaves, which stand in several rows. The shortest arcs get places
until there are ``_MOST_PLACES``; the others go straight, behind the nodes. The sweeps stop after a number of
comparisons, never by the clock.

References
----------
K. Sugiyama, S. Tagawa, M. Toda (1981). Methods for visual understanding of hierarchical system structures. IEEE
Transactions on Systems, Man, and Cybernetics 11, 109–125.
E. R. Gansner, E. Koutsofios, S. C. North, K.-P. Vo (1993). A technique for drawing directed graphs. IEEE Transactions
on Software Engineering 19, 214–230.
C. Matuszewski, R. Schönfeld, P. Molitor (1999). Using sifting for k-layer straightline crossing minimization. Graph
Drawing, 217–224.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import ceil

import numpy as np

from tunbridge._core.check import check_number

Point = tuple[float, float]
Arc = tuple[str, str]

_ROUNDS, _IDLE = 24, 5  # sweeps, and how many may bring nothing
_SMALL, _DENSE = 600, 60  # places up to which several starts are tried, and up to which matrices are dense
_REACH, _MOST_PAIRS = 120_000, 700_000  # pairs that are compared in one pass of sifting, and in all sweeps of a start
_WITH_TIES, _SWAPS = 2, 10  # passes in which swaps may change nothing, and passes in all
_STRAIGHT = (1.0, 2.0, 8.0)  # weight of an arc between two nodes, a node and a place, two places
_LEFTWARDS = 1e-4  # weight of x itself, so that blocks do not float
_PLACE, _ROW = 8.0, 140  # the width of a place of a long arc; in layers with more of them than this it is less
_APART, _MOST_PLACES = 4_000, 8_000  # places up to which every arc has its own, and places in all
_FAN = 14  # children without others of theirs that stand in one row; of more there are several rows
_PORT, _CORNER = 12.0, 7.0  # the distance of the ends of arcs at a node, and their distance to its corner
_ASPECT = 1.6  # of rows of components


@dataclass(frozen=True)
class Layout:
    """Where the nodes of a graph are, and which way its arcs go.

    Parameters
    ----------
    centres : mapping of str to (float, float)
        The centre of each node; y grows downwards.
    sizes : mapping of str to (float, float)
        The width and the height of each node.
    routes : mapping of (str, str) to tuple of points
        The points through which each arc goes, from the border of the first node to that of the second. Between two
        points it is to be drawn as a curve that leaves and arrives vertically.
    width, height : float
        The size of the whole picture.
    n_crossings : int
        The number of crossings of arcs.
    """

    centres: Mapping[str, Point]
    sizes: Mapping[str, Point]
    routes: Mapping[Arc, tuple[Point, ...]]
    width: float
    height: float
    n_crossings: int


def layered_layout(
    nodes: Sequence[str],
    arcs: Sequence[Arc],
    sizes: Mapping[str, Point] | None = None,
    *,
    gap: Point = (18.0, 46.0),
    before: Layout | None = None,
    above: Sequence[Arc] = (),
) -> Layout:
    """Return a layout of a directed graph, the first nodes of its arcs above the second ones.

    Equal graphs get equal layouts, whatever the order of their arcs.

    Parameters
    ----------
    nodes : sequence of str
        The nodes.
    arcs : sequence of pairs of str
        The arcs, each once; a cycle is allowed.
    sizes : mapping of str to (width, height), optional
        The sizes of the nodes; default: 60 × 30.
    gap : (float, float)
        The least distance of neighbouring nodes, and of layers.
    before : Layout, optional
        The layout of a similar graph, whose order of nodes is kept where it does no harm.
    above : sequence of pairs of str
        Pairs without an arc whose first node must be above the second one, where they are connected at all.

    Examples
    --------
    >>> found = layered_layout(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    >>> [found.centres[name][1] for name in "abc"]
    [15.0, 91.0, 167.0]
    >>> found.n_crossings
    0
    """
    for value, what in zip(gap, ("the gap of nodes", "the gap of layers"), strict=True):
        check_number(what, value, low=0)
    known = sizes or {}
    boxes = {name: known.get(name, (60.0, 30.0)) for name in nodes}
    place = {name: i for i, name in enumerate(nodes)}
    lines = sorted((place[a], place[b]) for a, b in arcs)
    parts = []
    higher = [(place[a], place[b]) for a, b in above]
    for members in _components(len(nodes), lines):
        inside = set(members)
        own = [(a, b) for a, b in lines if a in inside]
        number = {v: i for i, v in enumerate(members)}
        limits = [(number[a], number[b]) for a, b in higher if a in inside and b in inside]
        named = [nodes[i] for i in members], [(nodes[a], nodes[b]) for a, b in own]
        parts.append(_laid_out(*named, boxes, gap, before, limits))
    return _side_by_side(parts, boxes, gap)


# Components


def _components(n: int, lines: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the connected parts, the largest first."""
    root = list(range(n))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for a, b in lines:
        root[find(a)] = find(b)
    groups: dict[int, list[int]] = {}
    for i in range(n):
        groups.setdefault(find(i), []).append(i)
    return sorted(groups.values(), key=lambda g: (-len(g), g[0]))


def _side_by_side(parts: Sequence[Layout], boxes: Mapping[str, Point], gap: Point) -> Layout:
    """Return several layouts in rows."""
    if len(parts) == 1:
        return parts[0]
    area = sum((p.width + gap[0]) * (p.height + gap[1]) for p in parts)
    widest = max([(area * _ASPECT) ** 0.5, *(p.width for p in parts)], default=0.0)
    centres: dict[str, Point] = {}
    routes: dict[Arc, tuple[Point, ...]] = {}
    x = y = tall = width = 0.0
    for part in parts:
        if x > 0.0 and x + part.width > widest:
            x, y, tall = 0.0, y + tall + gap[1], 0.0
        centres |= {name: (a + x, b + y) for name, (a, b) in part.centres.items()}
        routes |= {arc: tuple((a + x, b + y) for a, b in points) for arc, points in part.routes.items()}
        width, tall = max(width, x + part.width), max(tall, part.height)
        x += part.width + 2.0 * gap[0]
    return Layout(centres, boxes, routes, width, y + tall, sum(p.n_crossings for p in parts))


# One component. Its nodes are numbered; places of long arcs have the numbers after those of the nodes.


def _laid_out(
    nodes: Sequence[str],
    arcs: Sequence[Arc],
    boxes: Mapping[str, Point],
    gap: Point,
    before: Layout | None,
    limits: Sequence[tuple[int, int]],
) -> Layout:
    place = {name: i for i, name in enumerate(nodes)}
    downwards = _acyclic(len(nodes), [(place[a], place[b]) for a, b in arcs])
    lower = _fans(downwards)
    layer = [at + lower.get(v, 0) for v, at in enumerate(_layers(len(nodes), downwards, limits))]
    chains, layer = _chains(downwards, layer, lower)
    steps = sorted({(a, b) for chain in chains for a, b in pairwise(chain) if layer[b] == layer[a] + 1})
    known = {} if before is None else before.centres
    start = [known[name][0] for name in nodes] if all(name in known for name in nodes) else None
    order, n_crossings = _ordered(layer, steps, start)
    narrow = min(1.0, _ROW / max([1, *(sum(i >= len(nodes) for i in row) for row in order)]))
    widths = [boxes[nodes[i]][0] if i < len(nodes) else narrow * _PLACE for i in range(len(layer))]
    x = _coordinates(order, steps, widths, len(nodes), (gap[0], 0.5 * gap[0] * narrow))
    tall = [max([boxes[nodes[i]][1] for i in row if i < len(nodes)], default=0.0) for row in order]
    tops = [sum(tall[:i]) + i * gap[1] for i in range(len(tall))]
    heights = [boxes[name][1] for name in nodes]
    found = _routes(chains, x, widths, heights, [(tops[row], tops[row] + tall[row]) for row in layer])
    routes = {
        arc: points if place[arc[0]] == chain[0] else points[::-1]
        for arc, chain, points in zip(arcs, chains, found, strict=True)
    }
    centres = {name: (x[i], tops[layer[i]] + 0.5 * heights[i]) for i, name in enumerate(nodes)}
    width = max((x[i] + 0.5 * widths[i] for i in range(len(widths))), default=0.0)
    height = tops[-1] + tall[-1] if tall else 0.0
    return Layout(centres, boxes, routes, width, height, n_crossings)


def _routes(
    chains: Sequence[Sequence[int]],
    x: Sequence[float],
    widths: Sequence[float],
    heights: Sequence[float],
    borders: Sequence[Point],
) -> list[tuple[Point, ...]]:
    """Return the points of each arc: the lower border of a node, both ends of its places, the upper border of a node.

    The nodes of a layer stand at its upper border. Beside a taller node an arc goes straight down, to the lower one.
    """
    below = _ports([(chain[0], chain[1], x[chain[1]]) for chain in chains], x, widths)
    aims = [x[chain[-2]] if len(chain) > 2 else first for chain, first in zip(chains, below, strict=True)]
    above = _ports([(chain[-1], chain[-2], aim) for chain, aim in zip(chains, aims, strict=True)], x, widths)
    found = []
    for chain, first, last in zip(chains, below, above, strict=True):
        top, bottom = borders[chain[0]]
        start = top + heights[chain[0]]
        beside = [(first, bottom)] if start < bottom else []
        through = [(x[v], y) for v in chain[1:-1] for y in borders[v]]
        found.append(((first, start), *beside, *through, (last, borders[chain[-1]][0])))
    return found


def _ports(ends: Sequence[tuple[int, int, float]], x: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return x of the ends of arcs at a node, each given with the node or place where its arc goes, and at which x.

    They are as near to that as the border and the distance of ends permit: least squares under an order. Arcs that
    share a place share the end.
    """
    near: dict[int, dict[int, float]] = {}
    for v, w, aim in ends:
        near.setdefault(v, {})[w] = aim - x[v]
    found: dict[tuple[int, int], float] = {}
    for v, aims in near.items():
        order = sorted(aims, key=lambda w: (aims[w], w))
        half = max(0.0, 0.5 * widths[v] - _CORNER)
        apart = min(_PORT, 2.0 * half / max(1, len(order) - 1))
        reach = min(half, apart * max(1, len(order) - 1))
        wanted = [min(max(aims[w], -reach), reach) for w in order]
        if len(order) == 1 and abs(aims[order[0]]) > reach:
            wanted = [0.0]
        places = _spread(wanted, apart, half)
        found |= {(v, w): x[v] + place for w, place in zip(order, places, strict=True)}
    return [found[v, w] for v, w, _ in ends]


def _spread(wanted: Sequence[float], apart: float, half: float) -> list[float]:
    """Return places between -half and half, each ``apart`` from the one before, near to the wanted ones."""
    blocks: list[tuple[float, int]] = []  # the mean of neighbours that touch, without their distances, and their number
    for i, value in enumerate(wanted):
        mean, n = value - i * apart, 1
        while blocks and blocks[-1][0] >= mean:
            before, k = blocks.pop()
            mean, n = (before * k + mean * n) / (k + n), k + n
        blocks.append((mean, n))
    means = [mean for mean, n in blocks for _ in range(n)]
    low, high = -half, half - (len(means) - 1) * apart
    return [min(max(mean, low), high) + i * apart for i, mean in enumerate(means)]


def _acyclic(n: int, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the arcs, those that close a cycle turned round."""
    children: list[list[int]] = [[] for _ in range(n)]
    for a, b in lines:
        children[a].append(b)
    state, back = [0] * n, set()
    with_parents = {b for _, b in lines}
    for root in sorted(range(n), key=lambda i: (i in with_parents, i)):
        if state[root]:
            continue
        stack, state[root] = [(root, iter(children[root]))], 1
        while stack:
            v, rest = stack[-1]
            w = next(rest, None)
            if w is None:
                state[v] = 2
                stack.pop()
            elif state[w] == 1:
                back.add((v, w))
            elif state[w] == 0:
                state[w] = 1
                stack.append((w, iter(children[w])))
    return [(b, a) if (a, b) in back else (a, b) for a, b in lines]


def _layers(n: int, lines: Sequence[tuple[int, int]], limits: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node for which the arcs are shortest in all; limits are pairs without an arc."""
    if not lines:
        return [0] * n
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    a, b = np.array(sorted(set(lines))).T
    cost = np.bincount(b, minlength=n).astype(float) - np.bincount(a, minlength=n)
    a, b = np.array(sorted({*lines, *limits})).T
    rows = np.arange(len(a))
    steps = csr_array(
        (np.concatenate([np.ones(len(a)), -np.ones(len(a))]), (np.tile(rows, 2), np.concatenate([a, b]))),
        shape=(len(a), n),
    )
    found = linprog(cost, A_ub=steps, b_ub=-np.ones(len(a)), bounds=(0, n), method="highs")
    layers = np.round(found.x).astype(int)
    layers -= layers.min()
    return layers.tolist()


def _fans(lines: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return how many layers lower leaves are, so that a node with many of them has several rows below it.

    A naive Bayes classifier would be a hundred times as wide as high.
    """
    parents, above = Counter(b for _, b in lines), {a for a, _ in lines}
    leaves: dict[int, list[int]] = {}
    for a, b in lines:
        if parents[b] == 1 and b not in above:
            leaves.setdefault(a, []).append(b)
    found: dict[int, int] = {}
    for group in leaves.values():
        long = ceil(len(group) / ceil((len(group) / _FAN) ** 0.6))
        found |= {v: i // long for i, v in enumerate(sorted(group))}
    return found


def _chains(
    lines: Sequence[tuple[int, int]], layer: Sequence[int], lower: Mapping[int, int]
) -> tuple[list[list[int]], list[int]]:
    """Return for each arc the nodes and places that it goes through, and the layers with those of the places.

    Arcs to the rows of ``lower`` share their places, and so do those of any node if there are too many.
    """
    n_places = sum(layer[b] - layer[a] - 1 for a, b in lines)
    layer, places = list(layer), dict[tuple[int, int, bool], int]()
    chains = [[a, b] for a, b in lines]
    for i in sorted(range(len(lines)), key=lambda i: (layer[lines[i][1]] - layer[lines[i][0]], i)):
        a, b = lines[i]
        is_shared = b in lower or n_places > _APART
        keys = [(a if is_shared else i, between, is_shared) for between in range(layer[a] + 1, layer[b])]
        new = [key for key in keys if key not in places]
        if len(places) + len(new) > _MOST_PLACES:
            continue
        places |= {key: len(layer) + k for k, key in enumerate(new)}
        layer += [between for _, between, _ in new]
        chains[i] = [a, *(places[key] for key in keys), b]
    return chains, layer


# The order within the layers


class _Order:
    """Layers whose order is changed, one node after the other."""

    def __init__(self, layer: Sequence[int], steps: Sequence[tuple[int, int]]) -> None:
        self.layer = layer
        self.up: list[list[int]] = [[] for _ in layer]
        self.down: list[list[int]] = [[] for _ in layer]
        for a, b in steps:
            self.down[a].append(b)
            self.up[b].append(a)
        self.rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
        self.at = [0] * len(layer)
        self.reach = max(8, _REACH // max(1, len(layer)))
        self.n_pairs = 0

    def put(self, rows: Sequence[Sequence[int]]) -> None:
        """Take an order."""
        self.rows = [list(row) for row in rows]
        for row in self.rows:
            self._number(row)

    def _number(self, row: Sequence[int]) -> None:
        for i, v in enumerate(row):
            self.at[v] = i

    def crossings(self) -> int:
        """Return the number of crossings."""
        total = 0
        for row in self.rows[:-1]:
            seen: list[int] = []
            for v in row:
                ends = sorted(self.at[w] for w in self.down[v])
                total += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return total

    def by_medians(self, downwards: bool) -> None:
        """Sort every layer by the medians of the neighbours in the layer before it."""
        near = self.up if downwards else self.down
        rows = self.rows[1:] if downwards else self.rows[-2::-1]
        for row in rows:
            keys = {v: self._median(near[v], self.at[v]) for v in row}
            fixed = [i for i, v in enumerate(row) if not near[v]]
            moving = sorted((v for v in row if near[v]), key=lambda v: (keys[v], self.at[v]))
            for i in fixed:  # a node without neighbours stays where it is
                moving.insert(i, row[i])
            row[:] = moving
            self._number(row)

    def _median(self, near: Sequence[int], own: int) -> float:
        """Return the weighted median of Gansner et al."""
        if not near:
            return float(own)
        places = sorted(self.at[w] for w in near)
        middle = len(places) // 2
        if len(places) % 2:
            return float(places[middle])
        if len(places) == 2:
            return 0.5 * (places[0] + places[1])
        left, right = places[middle - 1] - places[0], places[-1] - places[middle]
        if left + right == 0:
            return 0.5 * (places[middle - 1] + places[middle])
        return (places[middle - 1] * right + places[middle] * left) / (left + right)

    def _places(self, v: int) -> tuple[list[int], list[int]]:
        return sorted(self.at[w] for w in self.up[v]), sorted(self.at[w] for w in self.down[v])

    @staticmethod
    def _pair(left: tuple[list[int], list[int]], right: tuple[list[int], list[int]]) -> int:
        """Return the crossings of the arcs of two nodes in this order, less those in the other."""
        total = 0
        for a, b in zip(left, right, strict=True):
            if not a or not b:
                continue
            if a[-1] < b[0]:
                total -= len(a) * len(b)
            elif b[-1] < a[0]:
                total += len(a) * len(b)
            else:
                for x in a:
                    total += bisect_left(b, x) + bisect_right(b, x) - len(b)
        return total

    def swap(self, *, ties: bool) -> bool:
        """Swap neighbours in every layer where that removes crossings; return whether it did."""
        better = False
        for row in self.rows:
            places = [self._places(v) for v in row]
            self.n_pairs += len(row)
            for i in range(len(row) - 1):
                gain = self._pair(places[i], places[i + 1])
                if gain > 0 or (ties and gain == 0):
                    row[i], row[i + 1] = row[i + 1], row[i]
                    places[i], places[i + 1] = places[i + 1], places[i]
                    better = better or gain > 0
            self._number(row)
        return better

    def sift(self) -> bool:
        """Move every node to the best place of its layer within reach; return whether crossings were removed."""
        better = False
        for row in self.rows:
            places = {v: self._places(v) for v in row}
            for v in sorted(row, key=lambda v: (-len(self.up[v]) - len(self.down[v]), v)):
                i, own = self.at[v], places[v]
                low, high = max(0, i - self.reach), min(len(row), i + self.reach + 1)
                self.n_pairs += high - low
                gain, best, to = 0, 0, i
                for j in range(i - 1, low - 1, -1):
                    gain += self._pair(places[row[j]], own)
                    if gain > best:
                        best, to = gain, j
                gain = 0
                for j in range(i + 1, high):
                    gain += self._pair(own, places[row[j]])
                    if gain > best:
                        best, to = gain, j
                if to != i:
                    row.insert(to, row.pop(i))
                    self._number(row)
                    better = True
        return better

    def improve(self) -> int:
        """Lower the crossings as far as sweeps do; return their number."""
        best, least, idle, self.n_pairs = [list(row) for row in self.rows], self.crossings(), 0, 0
        for sweep in range(_ROUNDS):
            self.by_medians(sweep % 2 == 0)
            n = 0
            while n < _SWAPS and self.swap(ties=sweep % 4 < 2 and n < _WITH_TIES):
                n += 1
            while self.n_pairs < _MOST_PAIRS and self.sift():
                pass
            now = self.crossings()
            idle = 0 if now < least else idle + 1
            if now < least:
                best, least = [list(row) for row in self.rows], now
            if least == 0 or idle == _IDLE or self.n_pairs >= _MOST_PAIRS:
                break
        self.put(best)
        return least


def _ordered(
    layer: Sequence[int], steps: Sequence[tuple[int, int]], start: Sequence[float] | None
) -> tuple[list[list[int]], int]:
    """Return the order within each layer, and its number of crossings."""
    state = _Order(layer, steps)
    found: list[tuple[int, list[list[int]]]] = []
    for keys in _starts(state, steps, start):
        rows: list[list[int]] = [[] for _ in state.rows]
        for v in sorted(range(len(layer)), key=lambda v: (keys[v], v)):
            rows[layer[v]].append(v)
        state.put(rows)
        found.append((state.improve(), [list(row) for row in state.rows]))
        if found[-1][0] == 0 or (len(layer) > _SMALL and len(found) == 1):
            break
    least, best = min(found, key=lambda pair: pair[0])
    return [_balanced(state, row) for row in best], least


def _balanced(state: _Order, row: Sequence[int]) -> list[int]:
    """Return a layer in which the only one of some siblings that has children is in their middle.

    That changes no crossing, as its siblings have no other arc than that from their parent.
    """
    found: list[int] = []
    for _, group in groupby(row, key=lambda v: (state.up[v], v if len(state.up[v]) != 1 else -1)):
        members = list(group)
        leaves, others = [v for v in members if not state.down[v]], [v for v in members if state.down[v]]
        half = len(leaves) // 2
        found += [*leaves[:half], *others, *leaves[half:]] if len(others) == 1 else members
    return found


def _starts(state: _Order, steps: Sequence[tuple[int, int]], start: Sequence[float] | None) -> Iterator[list[float]]:
    """Yield keys of the nodes by which they are sorted at first: those of a layout before, or neighbours together."""
    if start is not None:
        yield list(start) + [_between(state, start, v) for v in range(len(start), len(state.layer))]
        return
    yield from _eigenvectors(len(state.layer), steps)
    top = sorted(range(len(state.layer)), key=lambda v: (state.layer[v], v))
    yield _depth_first(top, state)
    yield _depth_first(top[::-1], state)


def _between(state: _Order, start: Sequence[float], v: int) -> float:
    """Return where the place of a long arc may be: between its ends."""
    ends = []
    for near in (state.up, state.down):
        w = v
        while w >= len(start):
            w = near[w][0]
        ends.append(start[w])
    return 0.5 * sum(ends)


def _eigenvectors(n: int, steps: Sequence[tuple[int, int]]) -> Iterator[list[float]]:
    """Yield the eigenvectors of the smallest eigenvalues of the Laplacian: neighbours have similar values."""
    if n < 3:
        return
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import laplacian
    from scipy.sparse.linalg import eigsh

    a, b = np.array(steps).T
    graph = coo_array((np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(n, n)).tocsr()
    matrix = laplacian(graph).astype(float)
    if n <= _DENSE:
        vectors = np.linalg.eigh(matrix.toarray())[1]
    else:
        vectors = eigsh(matrix.tocsc(), k=3, sigma=-1e-3, v0=np.linspace(-1.0, 1.0, n))[1]
    for vector in vectors.T[1:3]:
        largest = vector[np.abs(vector).argmax()]
        yield np.round(vector / largest, 9).tolist()


def _depth_first(order: Sequence[int], state: _Order) -> list[float]:
    """Return when a search in depth meets the nodes, so that neighbours come near to each other."""
    met = [-1.0] * len(order)
    n = 0
    for root in order:
        stack = [root]
        while stack:
            v = stack.pop()
            if met[v] >= 0:
                continue
            met[v] = float(n)
            n += 1
            stack += [w for w in (*state.up[v], *state.down[v]) if met[w] < 0]
    return met


# Coordinates


def _coordinates(
    order: Sequence[Sequence[int]], steps: Sequence[tuple[int, int]], widths: Sequence[float], n_nodes: int, gap: Point
) -> list[float]:
    """Return x of every node and place: arcs as straight as the order and the widths permit.

    ``gap`` is the distance of a node to its neighbour, and of two places. The dual is solved, a flow of least cost
    that has a row for each x rather than one for each distance: ten times faster. x are its shadow prices.
    """
    pairs = [(row[i], row[i + 1]) for row in order for i in range(len(row) - 1)]
    if not steps:
        right = np.cumsum([widths[v] + gap[0] for row in order for v in row])
        return [float(right[i] - gap[0] - 0.5 * widths[v]) for i, v in enumerate(v for row in order for v in row)]
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    near = [0.5 * (widths[a] + widths[b]) + gap[min(a, b) >= n_nodes] for a, b in pairs]
    firsts = [row[0] for row in order]
    n, m, k = len(widths), len(steps), len(pairs)
    (start, end), (left, right) = np.array(steps).T, np.array(pairs, dtype=int).reshape(-1, 2).T
    lines, distances, sides = np.arange(m), np.arange(m, m + k), np.arange(m + k, m + k + len(order))
    signs = np.repeat([1.0, -1.0, 1.0, -1.0, 1.0], [m, m, k, k, len(order)])
    rows = np.concatenate([start, end, right, left, firsts])
    columns = np.concatenate([lines, lines, distances, distances, sides])
    flow = coo_array((signs, (rows, columns)), shape=(n, m + k + len(order))).tocsc()
    cost = -np.concatenate([np.zeros(m), near, [0.5 * widths[v] for v in firsts]])
    most = np.array(_STRAIGHT)[(start >= n_nodes).astype(int) + (end >= n_nodes)]
    bounds = [*((-w, w) for w in most), *[(0.0, None)] * (k + len(order))]
    found = linprog(cost, A_eq=flow, b_eq=np.full(n, _LEFTWARDS), bounds=bounds, method="highs-ds")
    x = -found.eqlin.marginals
    return (x - min(x[v] - 0.5 * widths[v] for v in firsts)).tolist()
