from __future__ import annotations

import copy
import dataclasses
import pickle
import re
import sys

import numpy as np
import pytest

from tunbridge.errors import DataError, MemoryForecastError, UnknownVariableError
from tunbridge.graph import DAG, UndirectedGraph

ASIA = [
    ("asia", "tub"),
    ("smoke", "lung"),
    ("smoke", "bronc"),
    ("tub", "either"),
    ("lung", "either"),
    ("either", "xray"),
    ("either", "dysp"),
    ("bronc", "dysp"),
]


@pytest.fixture
def asia() -> DAG:
    return DAG(arcs=ASIA)


def refusal(*arguments: object, **keywords: object) -> str:
    with pytest.raises(DataError) as error:
        DAG(*arguments, **keywords)  # type: ignore[arg-type]
    return str(error.value)


def test_nodes_come_from_the_arcs_in_order_of_appearance(asia: DAG) -> None:
    assert asia.nodes == ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    assert asia.arcs == tuple(ASIA)
    assert (asia.n_nodes, asia.n_arcs) == (8, 8)


def test_an_empty_graph() -> None:
    dag = DAG()
    assert (dag.nodes, dag.arcs, dag.order, dag.roots, dag.leaves) == ((), (), (), (), ())
    assert dag.moral() == UndirectedGraph()
    assert dag.cpdag().to_dag() == dag == DAG([], [])


def test_relations(asia: DAG) -> None:
    assert asia.roots == ("asia", "smoke")
    assert asia.leaves == ("xray", "dysp")
    assert asia.parents("dysp") == ("either", "bronc")
    assert asia.children("smoke") == ("lung", "bronc")
    assert asia.ancestors("either") == ("asia", "tub", "smoke", "lung")
    assert asia.descendants("lung") == ("either", "xray", "dysp")
    assert asia.markov_blanket("lung") == ("tub", "smoke", "either")
    assert asia.has_arc("asia", "tub")
    assert not asia.has_arc("tub", "asia")
    assert "tub" in asia
    assert "tuberculosis" not in asia
    assert 3 not in asia


def test_ancestors_of_several_are_those_of_each(asia: DAG) -> None:
    assert asia.ancestors(["tub", "either"]) == ("asia", "tub", "smoke", "lung")
    assert asia.descendants(["smoke", "lung"]) == ("lung", "bronc", "either", "xray", "dysp")
    assert asia.ancestors([]) == ()


def test_parents_keep_the_order_of_the_arcs() -> None:
    dag = DAG(["a", "b", "c"], [("c", "b"), ("a", "b")])
    assert dag.parents("b") == ("c", "a")
    assert dag.parent_indices == ((), (2, 0), ())
    assert dag.child_indices == ((1,), (), (1,))


def test_the_order_keeps_that_of_the_nodes_where_it_can() -> None:
    assert DAG(["d", "a", "c", "b"]).order == ("d", "a", "c", "b")
    dag = DAG(["d", "a", "c", "b"], [("b", "d")])
    assert dag.order == ("a", "c", "b", "d")
    assert dag.order_indices == (1, 2, 3, 0)


def test_names_may_be_any_text_and_come_back_as_plain_text() -> None:
    dag = DAG(np.array(["1st, 2nd", "Größe"]), np.array([["1st, 2nd", "Größe"]]))
    assert dag.nodes == ("1st, 2nd", "Größe")
    assert dag.arcs == (("1st, 2nd", "Größe"),)
    assert {type(name) for name in (*dag.nodes, *dag.arcs[0])} == {str}
    assert dag.parents(np.str_("Größe")) == ("1st, 2nd",)


def test_arcs_may_be_lists_and_come_from_a_generator() -> None:
    assert DAG(arcs=([a, b] for a, b in ASIA)) == DAG(arcs=ASIA)


def test_equality_is_by_nodes_and_arcs_in_any_order(asia: DAG) -> None:
    other = DAG(reversed(asia.nodes), reversed(asia.arcs))
    assert other == asia
    assert hash(other) == hash(asia)
    assert asia != DAG([*asia.nodes, "more"], asia.arcs)
    assert asia != asia.remove_arc("asia", "tub")
    assert asia != asia.cpdag()
    assert asia != "asia"


def test_a_graph_does_not_change(asia: DAG) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        asia.nodes = ()  # type: ignore[misc]
    asia.add_arc("asia", "xray")
    asia.remove_arc("asia", "tub")
    assert asia == DAG(arcs=ASIA)


def test_copies_and_pickles(asia: DAG) -> None:
    for twin in (copy.copy(asia), copy.deepcopy(asia), pickle.loads(pickle.dumps(asia))):
        assert twin == asia
        assert (twin.nodes, twin.arcs, twin.order) == (asia.nodes, asia.arcs, asia.order)


def test_the_repr_shows_the_first_arcs(asia: DAG) -> None:
    assert repr(DAG(["a", "b"], [("a", "b")])) == "DAG(2 nodes, 1 arc: 'a' → 'b')"
    assert repr(DAG(["a"])) == "DAG(1 node, 0 arcs)"
    assert repr(asia).startswith("DAG(8 nodes, 8 arcs: 'asia' → 'tub', ")
    assert repr(asia).endswith("'either' → 'xray', …)")


# Changes


def test_an_added_arc_comes_last() -> None:
    dag = DAG(["a", "b", "c"], [("a", "c")]).add_arc("b", "c")
    assert dag.arcs == (("a", "c"), ("b", "c"))
    assert dag.parents("c") == ("a", "b")
    assert dag.children("b") == ("c",)
    assert dag.order == ("a", "b", "c")


def test_a_removed_arc_leaves_its_nodes() -> None:
    dag = DAG(arcs=[("a", "c"), ("b", "c"), ("a", "d")]).remove_arc("a", "c")
    assert dag == DAG(["a", "b", "c", "d"], [("b", "c"), ("a", "d")])
    assert dag.parents("c") == ("b",)
    assert dag.children("a") == ("d",)


def test_a_reversed_arc_comes_last() -> None:
    dag = DAG(arcs=[("a", "b"), ("c", "a")]).reverse_arc("a", "b")
    assert dag.arcs == (("c", "a"), ("b", "a"))
    assert dag.order == ("b", "c", "a")


def test_reversing_may_not_close_a_cycle() -> None:
    dag = DAG(arcs=[("a", "b"), ("b", "c"), ("a", "c")])
    with pytest.raises(DataError, match=re.escape("arcs must form no cycle; got 'c' → 'a' → 'b' → 'c'.")):
        dag.reverse_arc("a", "c")


def test_added_nodes_come_behind(asia: DAG) -> None:
    assert DAG(["b"]).add_nodes(["c", "a"]).nodes == ("b", "c", "a")
    assert asia.add_nodes("age") == DAG([*asia.nodes, "age"], asia.arcs)
    with pytest.raises(DataError, match=re.escape("nodes must be distinct; got 'asia' more than once.")):
        asia.add_nodes("asia")


def test_a_subgraph_has_the_arcs_among_its_nodes(asia: DAG) -> None:
    part = asia.subgraph(["either", "lung", "smoke", "dysp"])
    assert part.nodes == ("either", "lung", "smoke", "dysp")
    assert part.arcs == (("smoke", "lung"), ("lung", "either"), ("either", "dysp"))
    with pytest.raises(DataError, match=re.escape("nodes must be distinct; got 'tub' more than once.")):
        asia.subgraph(["tub", "tub"])


# Other graphs


def test_the_moral_graph_marries_parents(asia: DAG) -> None:
    moral = asia.moral()
    assert moral.nodes == asia.nodes
    assert set(moral.edges) - set(asia.skeleton().edges) == {("tub", "lung"), ("bronc", "either")}
    assert moral.n_edges == 10


def test_v_structures(asia: DAG) -> None:
    assert asia.v_structures() == (("tub", "either", "lung"), ("bronc", "dysp", "either"))
    married = asia.add_arc("tub", "lung")
    assert married.v_structures() == (("tub", "lung", "smoke"), ("bronc", "dysp", "either"))


def test_a_moral_graph_that_is_too_large_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100000000")
    dag = DAG(arcs=[(str(i), "effect") for i in range(5000)])
    with pytest.raises(MemoryForecastError, match=r"moral graph would need 3\.5 GiB.*One node has 5000 parents"):
        dag.moral()
    with pytest.raises(MemoryForecastError, match="the list of v-structures would need"):
        dag.v_structures()
    assert dag.cpdag().arcs == dag.arcs


def test_long_chains_and_wide_graphs_are_no_trouble() -> None:
    names = [f"x{i}" for i in range(20_000)]
    chain = DAG(names, zip(names[1:], names[:-1], strict=True))
    assert chain.order == tuple(reversed(names))
    assert len(chain.ancestors("x0")) == 19_999
    assert chain.cpdag().n_edges == 19_999
    assert chain.cpdag().to_dag().cpdag() == chain.cpdag()
    assert chain.d_separated("x0", "x19999", given="x7")
    assert not chain.d_separated("x0", "x19999")
    star = DAG(names, [("x0", name) for name in names[1:]])
    assert star.cpdag().to_dag() == star


# What is refused


@pytest.mark.parametrize(
    ("nodes", "arcs", "message"),
    [
        ("abc", [], "nodes must be a list of names; got 'abc'."),
        (3, [], "nodes must be a list of names; got 3."),
        ([1, 2], [], "a node's name must be a non-empty string; got 1."),
        (["a", ""], [], "a node's name must be a non-empty string; got ''."),
        (["a", None], [], "a node's name must be a non-empty string; got None."),
        (["\ud800"], [], r"a node's name must be text that UTF-8 can encode; got '\ud800'."),
        (["a", "b", "a"], [], "nodes must be distinct; got 'a' more than once."),
        (None, [("a", 2)], "a node's name must be a non-empty string; got 2."),
        (None, [("a", ["b"])], "a node's name must be a non-empty string; got ['b']."),
        (["a", "b"], None, "arcs must be a list of pairs of names; got None."),
        (["a", "b"], "ab", "arcs must be a list of pairs of names; got 'ab'."),
        (["a", "b"], ["ab"], "an arc must be a pair of names (from, to); got 'ab'."),
        (["a", "b"], [{"a": "b"}], "an arc must be a pair of names (from, to); got {'a': 'b'}."),
        (["a", "b"], [{"a"}], "an arc must be a pair of names (from, to); got {'a'}."),
        (["a", "b"], [("a", "b", "c")], "an arc must be a pair of names (from, to); got ('a', 'b', 'c')."),
        (["a", "b"], [7], "an arc must be a pair of names (from, to); got 7."),
        (
            ["Smoking", "b"],
            [("Smoke", "b")],
            "an arc must join nodes of the graph; got 'Smoke'. Did you mean 'Smoking'?",
        ),
        (["a", "b"], [("a", 1)], "an arc must join nodes of the graph; got 1. Known: 'a', 'b'."),
        (["a", "b"], [("a", ["b"])], "an arc must join nodes of the graph; got ['b']. Known: 'a', 'b'."),
        (["a", "b"], [("a", "a")], "an arc must join two different nodes; got 'a' twice."),
        (None, [("a", "a")], "an arc must join two different nodes; got 'a' twice."),
        (None, [("a", "b"), ("a", "b")], "arcs must be distinct; got ('a', 'b') more than once."),
        (None, [("b", "a"), ("a", "b")], "arcs must form no cycle; got 'b' → 'a' → 'b'. Leave one out or reverse it."),
    ],
)
def test_refused(nodes: object, arcs: object, message: str) -> None:
    assert refusal(nodes, arcs) == message


def test_the_cycle_is_named_and_nothing_but_the_cycle() -> None:
    arcs = [("in", "b"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("c", "a"), ("d", "out"), ("out", "far")]
    assert refusal(["a", "b", "c", "d", "in", "out", "far"], arcs).startswith(
        "arcs must form no cycle; got 'a' → 'b' → 'c' → 'a'."
    )


def test_a_long_cycle_is_cut_short_in_the_message() -> None:
    names = [f"x{i}" for i in range(5000)]
    message = refusal(names, zip(names, [*names[1:], "x0"], strict=True))
    assert "'x0' → 'x1' → " in message
    assert "→ … (4992 more) → 'x0'." in message
    assert len(message) < 250


@pytest.mark.parametrize("method", ["parents", "children", "markov_blanket", "index"])
def test_unknown_node(asia: DAG, method: str) -> None:
    with pytest.raises(
        DataError, match=re.escape("the node must be one of the graph; got 'tubb'. Did you mean 'tub'?")
    ):
        getattr(asia, method)("tubb")
    with pytest.raises(DataError, match=r"the node must be one of the graph; got \['tub'\]"):
        getattr(asia, method)(["tub"])


@pytest.mark.parametrize("method", ["ancestors", "descendants", "subgraph"])
def test_unknown_nodes(asia: DAG, method: str) -> None:
    with pytest.raises(
        DataError, match=re.escape("nodes must name nodes of the graph; got 'Xray'. Did you mean 'xray'?")
    ):
        getattr(asia, method)(["tub", "Xray"])
    with pytest.raises(DataError, match=re.escape("nodes must be a name or a list of names; got 3.")):
        getattr(asia, method)(3)
    with pytest.raises(DataError, match=r"nodes must name nodes of the graph; got \['tub'\]"):
        getattr(asia, method)([["tub"]])


def test_arcs_that_cannot_be_added_or_removed(asia: DAG) -> None:
    with pytest.raises(DataError, match=re.escape("the arc must be new; got 'asia' → 'tub', which exists already.")):
        asia.add_arc("asia", "tub")
    with pytest.raises(DataError, match=re.escape("an arc must join two different nodes; got 'asia' twice.")):
        asia.add_arc("asia", "asia")
    with pytest.raises(
        DataError, match=re.escape("an arc must join nodes of the graph; got 'smok'. Did you mean 'smoke'?")
    ):
        asia.add_arc("smok", "asia")
    with pytest.raises(DataError, match=re.escape("arcs must form no cycle; got 'tub' → 'asia' → 'tub'.")):
        asia.add_arc("tub", "asia")
    with pytest.raises(
        DataError, match=re.escape("the arc must be one of the graph; got 'tub' → 'asia'. There is 'asia' → 'tub'.")
    ):
        asia.remove_arc("tub", "asia")
    with pytest.raises(DataError, match=re.escape("the arc must be one of the graph; got 'asia' → 'xray'.")):
        asia.reverse_arc("asia", "xray")


class TestNetworkx:
    """Conversion to and from networkx."""

    def test_a_round_trip(self, networkx):
        dag = DAG(["c", "a", "b"], [("a", "c"), ("b", "c")])
        graph = dag.to_networkx()
        assert isinstance(graph, networkx.DiGraph)
        assert (list(graph.nodes), list(graph.edges)) == (["c", "a", "b"], [("a", "c"), ("b", "c")])
        assert DAG.from_networkx(graph) == dag
        assert DAG.from_networkx(graph).nodes == dag.nodes

    def test_what_is_refused(self, networkx):
        with pytest.raises(DataError, match="graph must be a directed graph of networkx"):
            DAG.from_networkx(networkx.Graph())
        with pytest.raises(DataError, match="graph must be a directed graph of networkx; got 3"):
            DAG.from_networkx(3)
        graph = networkx.DiGraph()
        graph.add_nodes_from([1, 2])
        with pytest.raises(DataError, match="a node's name must be a non-empty string; got 1"):
            DAG.from_networkx(graph)

    def test_without_networkx(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "networkx", None)
        with pytest.raises(ImportError, match=r"needs networkx.* -m pip install networkx"):
            DAG(["a"]).to_networkx()


def test_unknown_nodes_are_unknown_variables():
    with pytest.raises(UnknownVariableError, match="Did you mean 'Smoking'"):
        DAG(["Smoking"]).parents("Smokin")
    with pytest.raises(UnknownVariableError, match="Did you mean 'Smoking'"):
        DAG(["Smoking"]).d_separated("Smokin", "Smoking")
