"""Layered layouts of graphs: parents above their children, few crossings, long arcs routed between nodes.

The four steps of Sugiyama, each with a method that finds good answers quickly:

1. *Layers.* Arcs that close a cycle are turned round. The layers y minimise the total length of the arcs,
   Σ (y_child − y_parent) with y_child ≥ y_parent + 1: a linear program whose vertices are integers (Gansner et al.).
2. *Order.* An arc over several layers goes through a place in each. Medians of the neighbours, swaps of neighbouring
   nodes, and *sifting*, which tries every place of a node in its layer, lower the number of crossings; of several
   starts the best is kept.
3. *Coordinates.* x minimises Σ w |x_parent − x_child| under the order, a linear program as well; long arcs weigh more,
   so that they are straight.
4. *Routes.* Within a layer an arc goes straight down through its place, so it never crosses a node.

Components are laid out one by one and put side by side, in rows.

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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tunbridge._core.check import check_number

Point = tuple[float, float]
Arc = tuple[str, str]

_ROUNDS, _IDLE = 24, 5  # sweeps, and how many may bring nothing
_SMALL, _DENSE = 600, 60  # places up to which several starts are tried, and up to which matrices are dense
_REACH, _MOST_PAIRS = 120_000, 1_000_000  # pairs that are compared in one pass of sifting, and in all sweeps of a start
_WITH_TIES, _SWAPS = 2, 10  # passes in which swaps may change nothing, and passes in all
_STRAIGHT = (1.0, 2.0, 8.0)  # weight of an arc between two nodes, a node and a place, two places
_PLACE = 8.0  # the width of a place of a long arc
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
    for members in _components(len(nodes), lines):
        inside = set(members)
        own = [(a, b) for a, b in lines if a in inside]
        parts.append(_laid_out([nodes[i] for i in members], [(nodes[a], nodes[b]) for a, b in own], boxes, gap, before))
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
    nodes: Sequence[str], arcs: Sequence[Arc], boxes: Mapping[str, Point], gap: Point, before: Layout | None
) -> Layout:
    place = {name: i for i, name in enumerate(nodes)}
    downwards = _acyclic(len(nodes), [(place[a], place[b]) for a, b in arcs])
    chains, layer = _chains(downwards, _layers(len(nodes), downwards))
    steps = sorted({step for chain in chains for step in pairwise(chain)})
    known = {} if before is None else before.centres
    start = [known[name][0] for name in nodes] if all(name in known for name in nodes) else None
    order, n_crossings = _ordered(layer, steps, start)
    widths = [boxes[nodes[i]][0] if i < len(nodes) else _PLACE for i in range(len(layer))]
    x = _coordinates(order, steps, widths, len(nodes), gap[0])
    tall = [max([boxes[nodes[i]][1] for i in row if i < len(nodes)], default=0.0) for row in order]
    tops = np.concatenate([[0.0], np.cumsum(np.array(tall[:-1]) + gap[1])]) if tall else np.zeros(0)
    centres = {name: (x[i], float(tops[layer[i]] + 0.5 * tall[layer[i]])) for i, name in enumerate(nodes)}
    routes = {}
    for arc, chain in zip(arcs, chains, strict=True):
        points = _route(chain, x, centres, boxes, nodes, tops, tall, layer)
        routes[arc] = points if place[arc[0]] == chain[0] else points[::-1]
    width = max((x[i] + 0.5 * widths[i] for i in range(len(widths))), default=0.0)
    height = float(tops[-1] + tall[-1]) if tall else 0.0
    return Layout(centres, boxes, routes, width, height, n_crossings)


def _route(
    chain: Sequence[int],
    x: Sequence[float],
    centres: Mapping[str, Point],
    boxes: Mapping[str, Point],
    nodes: Sequence[str],
    tops: np.ndarray,
    tall: Sequence[float],
    layer: Sequence[int],
) -> tuple[Point, ...]:
    """Return the points of an arc: the lower border of a node, both ends of its places, the upper border of a node.

    Within a layer it goes straight down, so that it does not meet a taller node beside it.
    """
    first, last = nodes[chain[0]], nodes[chain[-1]]
    start, end = centres[first][1] + 0.5 * boxes[first][1], centres[last][1] - 0.5 * boxes[last][1]
    bottom, top = (float(tops[layer[chain[0]]] + tall[layer[chain[0]]]), float(tops[layer[chain[-1]]]))
    points = [(x[chain[0]], start), *([(x[chain[0]], bottom)] if bottom > start else [])]
    for i in chain[1:-1]:
        high = float(tops[layer[i]])
        points += [(x[i], high), (x[i], high + tall[layer[i]])]
    return (*points, *([(x[chain[-1]], top)] if top < end else []), (x[chain[-1]], end))


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


def _layers(n: int, lines: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each node for which the arcs are shortest in all."""
    if not lines:
        return [0] * n
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    a, b = np.array(sorted(set(lines))).T
    rows = np.arange(len(a))
    cost = np.bincount(b, minlength=n).astype(float) - np.bincount(a, minlength=n)
    steps = csr_array(
        (np.concatenate([np.ones(len(a)), -np.ones(len(a))]), (np.tile(rows, 2), np.concatenate([a, b]))),
        shape=(len(a), n),
    )
    found = linprog(cost, A_ub=steps, b_ub=-np.ones(len(a)), bounds=(0, n), method="highs")
    layers = np.round(found.x).astype(int)
    layers -= layers.min()
    return layers.tolist()


def _chains(lines: Sequence[tuple[int, int]], layer: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return for each arc the nodes and places that it goes through, and the layers with those of the places."""
    layer, chains = list(layer), []
    for a, b in lines:
        chain = [a]
        for between in range(layer[a] + 1, layer[b]):
            chain.append(len(layer))
            layer.append(between)
        chains.append([*chain, b])
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
    return best, least


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
    order: Sequence[Sequence[int]], steps: Sequence[tuple[int, int]], widths: Sequence[float], n_nodes: int, gap: float
) -> list[float]:
    """Return x of every node and place: arcs as straight as the order and the widths permit."""
    n = len(widths)
    pairs = [(row[i], row[i + 1]) for row in order for i in range(len(row) - 1)]
    if not steps:
        x, found = 0.0, [0.0] * n
        for row in order:
            for v in row:
                found[v] = x + 0.5 * widths[v]
                x += widths[v] + gap
        return found
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    m = len(steps)
    weight = [_STRAIGHT[(a >= n_nodes) + (b >= n_nodes)] for a, b in steps]
    rows, columns, values, bound = list[int](), list[int](), list[float](), list[float]()
    for e, (a, b) in enumerate(steps):  # d_e ≥ x_a − x_b and d_e ≥ x_b − x_a
        for sign in (1.0, -1.0):
            rows += [len(bound)] * 3
            columns += [a, b, n + e]
            values += [sign, -sign, -1.0]
            bound.append(0.0)
    for a, b in pairs:  # x_a + distance ≤ x_b
        rows += [len(bound)] * 2
        columns += [a, b]
        values += [1.0, -1.0]
        between = gap if a < n_nodes or b < n_nodes else 0.5 * gap
        bound.append(-(0.5 * (widths[a] + widths[b]) + between))
    matrix = coo_array((values, (rows, columns)), shape=(len(bound), n + m)).tocsr()
    low = [0.5 * w for w in widths] + [0.0] * m
    cost = np.concatenate([np.full(n, 1e-6), weight])
    solved = linprog(cost, A_ub=matrix, b_ub=bound, bounds=[(v, None) for v in low], method="highs")
    x = solved.x[:n]
    return (x - min(x[v] - 0.5 * widths[v] for v in range(n))).tolist()
