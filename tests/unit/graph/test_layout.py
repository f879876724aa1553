"""Layered layouts: what every picture must have, and crossings beside those of Graphviz."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from tunbridge.graph.layout import layered_layout

BOX = (60.0, 30.0)

DOT = {
    "alarm": 8, "asia": 0, "cancer": 0, "child": 3, "earthquake": 0, "hailfinder": 6, "hepar2": 321, "insurance": 22,
    "sachs": 1, "survey": 0, "water": 91, "win95pts": 97,
}  # fmt: skip
"""Crossings of the splines that dot draws (Graphviz 12 as WebAssembly, default settings, boxes of the same sizes)."""


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    nodes = [f"n{i}" for i in range(n)]
    pairs = list(itertools.combinations(nodes, 2))
    arcs = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=30)) if pairs else []
    sizes = {v: (draw(st.floats(5, 200)), draw(st.floats(5, 80))) for v in nodes}
    return nodes, arcs, sizes


def boxes(layout):
    return {v: (*layout.centres[v], *layout.sizes[v]) for v in layout.centres}


def overlap(a, b):
    return abs(a[0] - b[0]) < 0.5 * (a[2] + b[2]) - 1e-6 and abs(a[1] - b[1]) < 0.5 * (a[3] + b[3]) - 1e-6


def curve(points, steps=9):
    """Return points along an arc as it is drawn, none at the middle, where symmetric arcs cross."""
    found = [points[0]]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        for t in np.linspace(0, 1, steps + 1)[1:]:
            middle = 0.5 * (y0 + y1)
            s = 1 - t
            found.append(
                (s**3 * x0 + 3 * s * s * t * x0 + 3 * s * t * t * x1 + t**3 * x1,
                 s**3 * y0 + 3 * s * s * t * middle + 3 * s * t * t * middle + t**3 * y1)
            )  # fmt: skip
    return found


def crossings(layout):
    """Return how often arcs cross, by their curves."""
    curves = {arc: np.array(curve(points)) for arc, points in layout.routes.items()}
    total = 0
    for a, b in itertools.combinations(curves.values(), 2):
        p, r = a[:-1, None], np.diff(a, axis=0)[:, None]
        q, s = b[None, :-1], np.diff(b, axis=0)[None]
        with np.errstate(all="ignore"):
            d = r[..., 0] * s[..., 1] - r[..., 1] * s[..., 0]
            t = ((q - p)[..., 0] * s[..., 1] - (q - p)[..., 1] * s[..., 0]) / d
            u = ((q - p)[..., 0] * r[..., 1] - (q - p)[..., 1] * r[..., 0]) / d
        total += int(((t > 1e-6) & (t < 1 - 1e-6) & (u > 1e-6) & (u < 1 - 1e-6)).sum())
    return total


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_nodes_are_apart_and_parents_above(graph):
    nodes, arcs, sizes = graph
    found = layered_layout(nodes, arcs, sizes)
    assert set(found.centres) == set(nodes)
    assert set(found.routes) == set(arcs)
    for a, b in itertools.combinations(boxes(found).values(), 2):
        assert not overlap(a, b)
    for x, y, w, h in boxes(found).values():
        assert x - w / 2 >= -1e-6
        assert x + w / 2 <= found.width + 1e-6
        assert y - h / 2 >= -1e-6
        assert y + h / 2 <= found.height + 1e-6
    for a, b in arcs:
        assert found.centres[a][1] < found.centres[b][1]
        first, last = found.routes[a, b][0], found.routes[a, b][-1]
        assert first[1] == pytest.approx(found.centres[a][1] + sizes[a][1] / 2)
        assert last[1] == pytest.approx(found.centres[b][1] - sizes[b][1] / 2)
        assert abs(first[0] - found.centres[a][0]) < sizes[a][0] / 2
        assert abs(last[0] - found.centres[b][0]) < sizes[b][0] / 2


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_arcs_go_round_nodes(graph):
    nodes, arcs, sizes = graph
    found = layered_layout(nodes, arcs, sizes)
    for (a, b), points in found.routes.items():
        for name, (x, y, w, h) in boxes(found).items():
            if name not in (a, b):
                inside = [abs(px - x) < w / 2 - 0.5 and abs(py - y) < h / 2 - 0.5 for px, py in curve(points)]
                assert not any(inside)


@settings(max_examples=30, deadline=None)
@given(graphs(), st.randoms())
def test_the_order_of_arcs_does_not_matter(graph, rng):
    nodes, arcs, sizes = graph
    shuffled = list(arcs)
    rng.shuffle(shuffled)
    a, b = layered_layout(nodes, arcs, sizes), layered_layout(nodes, shuffled, sizes)
    assert a.centres == b.centres
    assert all(a.routes[arc] == b.routes[arc] for arc in arcs)


def test_crossings_are_counted():
    rng = random.Random(0)
    for _ in range(20):
        nodes = [f"n{i}" for i in range(9)]
        arcs = rng.sample([*itertools.combinations(nodes, 2)], 14)
        found = layered_layout(nodes, arcs, dict.fromkeys(nodes, BOX))
        assert found.n_crossings == crossings(found)


@pytest.mark.parametrize(("n", "expected"), [(1, 0), (2, 1), (3, 9)])
def test_complete_bipartite_graphs(n, expected):
    arcs = [(f"a{i}", f"b{j}") for i in range(n) for j in range(n)]
    assert layered_layout([f"{c}{i}" for c in "ab" for i in range(n)], arcs).n_crossings == expected  # in any order


def test_a_tree_has_no_crossings():
    arcs = [(f"n{(i - 1) // 2}", f"n{i}") for i in range(1, 63)]
    assert layered_layout([f"n{i}" for i in range(63)], arcs).n_crossings == 0


def test_cycles_and_degenerate_graphs():
    ring = [("a", "b"), ("b", "c"), ("c", "a")]
    found = layered_layout("abc", ring)
    assert set(found.routes) == set(ring)
    assert layered_layout([], []).width == 0.0
    alone = layered_layout(["x"], [])
    assert (alone.width, alone.height) == BOX
    lonely = layered_layout([f"n{i}" for i in range(1000)], [])
    assert lonely.width < 3 * lonely.height < 9 * lonely.width


def test_a_small_change_moves_little():
    net = tb.example_network("asia")
    sizes = dict.fromkeys(net.nodes, BOX)
    before = layered_layout(net.nodes, net.arcs, sizes)
    after = layered_layout(net.nodes, [*net.arcs, ("asia", "xray")], sizes, before=before)

    def order(layout):
        rows = {}
        for name, (x, y) in layout.centres.items():
            rows.setdefault(y, []).append((x, name))
        return [[name for _, name in sorted(row)] for _, row in sorted(rows.items())]

    assert order(after) == order(before)


@pytest.mark.parametrize("name", sorted(DOT))
def test_crossings_beside_graphviz(name, shared_data):
    """At most 1.1 times those of dot, and no label overlaps another one."""
    dag = tb.read_network(shared_data / "networks" / f"{name}.bif").dag
    found = layered_layout(dag.nodes, dag.arcs, {v: (8 + 7.0 * len(v), 26.0) for v in dag.nodes})
    assert found.n_crossings <= 1.1 * DOT[name]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes(found).values(), 2))
