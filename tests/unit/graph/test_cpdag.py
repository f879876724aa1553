from __future__ import annotations

import dataclasses
import pickle

import pytest

from tunbridge.errors import DataError
from tunbridge.graph import CPDAG, DAG, UndirectedGraph


@pytest.fixture
def asia() -> CPDAG:
    arcs = "asia tub, smoke lung, smoke bronc, tub either, lung either, either xray, either dysp, bronc dysp"
    return DAG(arcs=[arc.split() for arc in arcs.split(", ")]).cpdag()


def test_the_class_of_asia(asia: CPDAG) -> None:
    assert asia.nodes == ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    assert set(asia.arcs) == {
        ("tub", "either"), ("lung", "either"), ("either", "xray"), ("either", "dysp"), ("bronc", "dysp")
    }  # fmt: skip
    assert asia.edges == (("asia", "tub"), ("smoke", "lung"), ("smoke", "bronc"))
    assert (asia.n_nodes, asia.n_arcs, asia.n_edges) == (8, 5, 3)
    assert asia.is_complete


def test_relations(asia: CPDAG) -> None:
    assert asia.parents("dysp") == ("either", "bronc")
    assert asia.children("either") == ("xray", "dysp")
    assert asia.neighbours("smoke") == ("lung", "bronc")
    assert asia.has_arc("tub", "either")
    assert not asia.has_arc("asia", "tub")
    assert asia.has_edge("tub", "asia")
    assert not asia.has_edge("tub", "either")
    assert asia.skeleton() == UndirectedGraph(asia.nodes, [*asia.arcs, *asia.edges])


def test_an_arc_behind_a_v_structure_is_compelled() -> None:
    assert DAG(arcs=[("a", "c"), ("b", "c"), ("c", "d")]).cpdag().edges == ()


def test_arcs_that_a_cycle_compels() -> None:
    # a → b → d is compelled, so a – d can only be a → d.
    dag = DAG(arcs=[("a", "b"), ("x", "b"), ("b", "d"), ("a", "d"), ("a", "y")])
    assert dag.cpdag() == CPDAG(dag.nodes, [("a", "b"), ("x", "b"), ("b", "d"), ("a", "d")], [("a", "y")])


def test_a_complete_graph_has_no_compelled_arc() -> None:
    dag = DAG(arcs=[(a, b) for a in "abcd" for b in "abcd" if a < b])
    assert dag.cpdag().arcs == ()
    assert dag.cpdag().to_dag() == dag


def test_to_dag_makes_earlier_nodes_parents_where_it_can() -> None:
    assert CPDAG(["a", "b", "c"], [], [("c", "b"), ("b", "a")]).to_dag() == DAG(arcs=[("a", "b"), ("b", "c")])


def test_to_dag_keeps_the_arcs_first() -> None:
    dag = CPDAG(None, [("x", "y")], [("b", "a")]).to_dag()
    assert dag.nodes == ("x", "y", "b", "a")
    assert dag.arcs == (("x", "y"), ("b", "a"))


def test_a_ring_of_four_has_no_extension() -> None:
    ring = CPDAG(None, [], [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    assert not ring.is_complete
    with pytest.raises(DataError) as error:
        ring.to_dag()
    assert str(error.value) == (
        "edges must have directions that close no cycle and make no new v-structure; got none for those among "
        "'a', 'b', 'c', 'd'. Is this the class of a graph?"
    )


def test_arcs_without_a_reason_are_not_complete() -> None:
    assert not CPDAG(None, [("a", "b")]).is_complete
    assert CPDAG(None, [], [("a", "b")]).is_complete
    assert CPDAG().is_complete


def test_equality_in_any_order(asia: CPDAG) -> None:
    other = CPDAG(reversed(asia.nodes), reversed(asia.arcs), [(b, a) for a, b in asia.edges])
    assert other == asia
    assert hash(other) == hash(asia)
    assert asia != CPDAG(asia.nodes, asia.arcs, asia.edges[1:])
    assert CPDAG(None, [("a", "b")]) != CPDAG(None, [], [("a", "b")])
    assert CPDAG(None, [("a", "b")]) != DAG(None, [("a", "b")])
    assert pickle.loads(pickle.dumps(asia)) == asia


def test_it_does_not_change(asia: CPDAG) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        asia.arcs = ()  # type: ignore[misc]


def test_repr() -> None:
    assert repr(CPDAG(None, [("a", "b")], [("c", "d")])) == "CPDAG(4 nodes, 1 arc: 'a' → 'b', 1 edge: 'c' – 'd')"
    assert repr(CPDAG(["a"])) == "CPDAG(1 node, 0 arcs, 0 edges)"


@pytest.mark.parametrize(
    ("arcs", "edges", "message"),
    [
        ([("a", "b")], [("b", "a")], "nodes must be joined by an arc or by an edge; got both for ('a', 'b')."),
        ([("a", "b"), ("b", "a")], [], "arcs must form no cycle; got 'a' → 'b' → 'a'. Leave one out or reverse it."),
        ([], [("a", "b"), ("b", "a")], "edges must be distinct; got ('a', 'b') more than once."),
        ([("a", "a")], [], "an arc must join two different nodes; got 'a' twice."),
        ([], [("a", "x")], "an edge must join nodes of the graph; got 'x'. Known: 'a', 'b'."),
        ([("x", "a")], [], "an arc must join nodes of the graph; got 'x'. Known: 'a', 'b'."),
    ],
)
def test_refused(arcs: object, edges: object, message: str) -> None:
    with pytest.raises(DataError) as error:
        CPDAG(["a", "b"], arcs, edges)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_a_large_graph_without_an_extension_is_refused_without_delay():
    square = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]
    with pytest.raises(DataError, match="got none for those among 'a', 'b', 'c', 'd'"):
        CPDAG([*map(str, range(30_000)), *"abcd"], [], square).to_dag()
