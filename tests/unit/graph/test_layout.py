"""Layered layouts: what every picture must have, and crossings beside those of Graphviz."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from tunbridge.graph import layout as layouts
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


def random_arcs(n, n_arcs):
    return random.Random(0).sample([*itertools.combinations([f"n{i}" for i in range(n)], 2)], n_arcs)


def path_with_long_arcs(n):
    return [*itertools.pairwise(f"n{i}" for i in range(n)), *((f"n{i}", f"n{n - 1 - i}") for i in range(n // 2 - 1))]


LARGE = {
    "dense": (120, random_arcs(120, 3000)),
    "complete": (60, list(itertools.combinations([f"n{i}" for i in range(60)], 2))),
    "many nodes": (1000, random_arcs(1000, 2000)),
    "many nodes and arcs": (1000, random_arcs(1000, 5000)),
    "path": (1000, list(itertools.pairwise(f"n{i}" for i in range(1000)))),
    "path with long arcs": (400, path_with_long_arcs(400)),
    "star": (1001, [("n0", f"n{i}") for i in range(1, 1001)]),
    "star upside down": (1001, [(f"n{i}", "n1000") for i in range(1000)]),
    "no arcs": (1000, []),
}


@pytest.mark.parametrize("case", LARGE)
def test_work_is_bounded(case, monkeypatch):
    """The sweeps compare a bounded number of pairs, and the linear program has a bounded number of places."""
    n, arcs = LARGE[case]
    nodes, sizes = [f"n{i}" for i in range(n)], []
    compared = 0
    pair, coordinates = layouts._Order._pair, layouts._coordinates

    def counted(left, right):
        nonlocal compared
        compared += 1
        return pair(left, right)

    def sized(order, steps, widths, *rest):
        sizes.append(len(widths))
        return coordinates(order, steps, widths, *rest)

    monkeypatch.setattr(layouts._Order, "_pair", staticmethod(counted))
    monkeypatch.setattr(layouts, "_coordinates", sized)
    found = layered_layout(nodes, arcs)
    assert compared < 3_000_000
    assert max(sizes) <= n + 8_000
    assert set(found.centres) == set(nodes)
    assert set(found.routes) == set(arcs)
    rows = {}
    for x, y in found.centres.values():
        rows.setdefault(y, []).append(x)
    assert all(b - a >= 60.0 - 1e-6 for row in rows.values() for a, b in itertools.pairwise(sorted(row)))
    assert all(found.centres[a][1] < found.centres[b][1] for a, b in arcs)


def test_many_leaves_stand_in_rows():
    found = layered_layout(*star(300))
    assert found.n_crossings == 0
    assert found.width < 10 * found.height
    hub = found.centres["hub"]
    assert 0.4 * found.width < hub[0] < 0.6 * found.width
    few = layered_layout(*star(8))
    assert len({y for _, y in few.centres.values()}) == 2


def star(n):
    return ["hub", *(f"n{i}" for i in range(n))], [("hub", f"n{i}") for i in range(n)]


def test_dense_graphs_share_places_and_stay_narrow():
    n, arcs = LARGE["dense"]
    found = layered_layout([f"n{i}" for i in range(n)], arcs)
    assert found.width < 4_000
    starts = {}
    for (a, _), points in found.routes.items():
        starts.setdefault(a, set()).add(points[0])
    assert max(map(len, starts.values())) < 20  # ends of trunks, not of 25 arcs on average


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_coordinates_are_shortest(graph):
    """The dual flow finds the least weighted length; the oracle is the linear program itself."""
    from scipy.optimize import linprog

    nodes, arcs, sizes = graph
    calls = []
    coordinates = layouts._coordinates
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layouts, "_coordinates", lambda *a: calls.append((a, coordinates(*a))) or calls[-1][1])
        layered_layout(nodes, arcs, sizes)
    for (order, steps, widths, n_nodes, gap), x in calls:
        n, m = len(widths), len(steps)
        weights = [(1.0, 2.0, 8.0)[(a >= n_nodes) + (b >= n_nodes)] for a, b in steps]
        rows, bounds = [], []
        for e, (a, b) in enumerate(steps):
            for sign in (1.0, -1.0):
                row = np.zeros(n + m)
                row[[a, b, n + e]] = sign, -sign, -1.0
                rows.append(row)
                bounds.append(0.0)
        for line in order:
            for a, b in itertools.pairwise(line):
                row = np.zeros(n + m)
                row[[a, b]] = 1.0, -1.0
                rows.append(row)
                bounds.append(-0.5 * (widths[a] + widths[b]) - gap[min(a, b) >= n_nodes])
                assert row[:n] @ x <= bounds[-1] + 1e-6
        if not m:
            continue
        best = linprog([*[0.0] * n, *weights], A_ub=np.array(rows), b_ub=bounds).fun
        length = sum(w * abs(x[a] - x[b]) for w, (a, b) in zip(weights, steps, strict=True))
        assert length == pytest.approx(best, rel=1e-4, abs=0.1)  # x itself has a weight of 1e-4


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_ends_of_arcs_are_apart(graph):
    nodes, arcs, sizes = graph
    found = layered_layout(nodes, arcs, sizes)
    ends = {}
    for (a, b), points in found.routes.items():
        ends.setdefault((a, "below"), []).append(points[0][0])
        ends.setdefault((b, "above"), []).append(points[-1][0])
    for (name, _), places in ends.items():
        room = sizes[name][0] - 14.0
        if room > 0 and len(places) <= 10:
            apart = min(12.0, room / max(1, len(places) - 1))
            assert all(b - a >= apart - 1e-6 for a, b in itertools.pairwise(sorted(places)))


def test_what_goes_up_and_what_goes_down_have_ends_of_their_own():
    arcs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("d", "a")]
    found = layered_layout("abcd", arcs, dict.fromkeys("abcd", (100.0, 30.0)))
    at_a = [found.routes["a", "b"][0], found.routes["c", "a"][-1], found.routes["a", "d"][0]]
    assert len({y for _, y in at_a}) == 1
    assert all(b - a >= 12.0 for a, b in itertools.pairwise(sorted(x for x, _ in at_a)))


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
