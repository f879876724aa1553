from __future__ import annotations

import dataclasses
import pickle
import re

import pytest

from tunbridge.errors import DataError
from tunbridge.graph import DAG, UndirectedGraph


@pytest.fixture
def square() -> UndirectedGraph:
    return UndirectedGraph(["a", "b", "c", "d", "alone"], [("b", "a"), ("b", "c"), ("d", "c"), ("a", "d")])


def test_edges_are_written_in_the_order_of_the_nodes(square: UndirectedGraph) -> None:
    assert square.edges == (("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"))
    assert (square.n_nodes, square.n_edges) == (5, 4)
    assert square.neighbour_indices == ((1, 3), (0, 2), (1, 3), (0, 2), ())


def test_neighbours(square: UndirectedGraph) -> None:
    assert square.neighbours("d") == ("a", "c")
    assert square.neighbours("alone") == ()
    assert square.has_edge("a", "b")
    assert square.has_edge("b", "a")
    assert not square.has_edge("a", "c")
    assert "a" in square


def test_components_and_subgraph(square: UndirectedGraph) -> None:
    assert square.components() == (("a", "b", "c", "d"), ("alone",))
    part = square.subgraph(["c", "b", "a"])
    assert part == UndirectedGraph(["a", "b", "c"], [("a", "b"), ("b", "c")])
    assert part.edges == (("c", "b"), ("b", "a"))
    assert part.neighbour_indices == ((1,), (0, 2), (1,))
    assert UndirectedGraph().components() == ()


def test_separation(square: UndirectedGraph) -> None:
    assert not square.separated("a", "c")
    assert not square.separated("a", "c", given="b")
    assert square.separated("a", "c", given=["b", "d"])
    assert square.separated("a", "alone")
    assert square.separated(["a", "b"], "c", given=["b", "d"])
    assert square.separated("a", ["b", "c"], given=["b", "d"])
    assert not square.separated("a", "a")
    assert square.separated("a", "a", given="a")


def test_equality_in_any_order(square: UndirectedGraph) -> None:
    other = UndirectedGraph(reversed(square.nodes), [(b, a) for a, b in square.edges])
    assert other == square
    assert hash(other) == hash(square)
    assert square != UndirectedGraph(square.nodes, square.edges[1:])
    assert UndirectedGraph(["a"]) != DAG(["a"])
    assert pickle.loads(pickle.dumps(square)) == square


def test_it_does_not_change(square: UndirectedGraph) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        square.edges = ()  # type: ignore[misc]


def test_repr() -> None:
    assert repr(UndirectedGraph(edges=[("b", "a")])) == "UndirectedGraph(2 nodes, 1 edge: 'b' – 'a')"
    assert repr(UndirectedGraph(["a"])) == "UndirectedGraph(1 node, 0 edges)"


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ("ab", [], "nodes must be a list of names; got 'ab'."),
        (["a", 1], [], "a node's name must be a non-empty string; got 1."),
        (["a", "b"], 1, "edges must be a list of pairs of names; got 1."),
        (["a", "b"], ["ab"], "an edge must be a pair of names (one, other); got 'ab'."),
        (["a", "b"], [("a", "c")], "an edge must join nodes of the graph; got 'c'. Known: 'a', 'b'."),
        (["a", "b"], [("b", "b")], "an edge must join two different nodes; got 'b' twice."),
        (["a", "b"], [("a", "b"), ("b", "a")], "edges must be distinct; got ('a', 'b') more than once."),
    ],
)
def test_refused(nodes: object, edges: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        UndirectedGraph(nodes, edges)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_unknown_names(square: UndirectedGraph) -> None:
    with pytest.raises(
        DataError, match=re.escape("the node must be one of the graph; got 'lone'. Did you mean 'alone'?")
    ):
        square.neighbours("lone")
    with pytest.raises(DataError, match="given must name nodes of the graph; got 'x'"):
        square.separated("a", "b", given=["x"])
    with pytest.raises(DataError, match=re.escape("nodes must be distinct; got 'a' more than once.")):
        square.subgraph(["a", "a"])
