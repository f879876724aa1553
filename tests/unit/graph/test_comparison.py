from __future__ import annotations

import re

import pytest

from tunbridge.errors import DataError
from tunbridge.graph import CPDAG, DAG, GraphComparison, compare_graphs, shd

NODES = ["a", "b", "c", "d"]
TRUE = DAG(NODES, [("a", "c"), ("b", "c"), ("c", "d")])


def test_equivalent_graphs_are_at_distance_zero() -> None:
    chain = DAG(arcs=[("a", "b"), ("b", "c")])
    assert shd(chain, DAG(arcs=[("c", "b"), ("b", "a")])) == 0
    assert shd(chain, chain.cpdag()) == 0
    assert shd(DAG(), DAG()) == 0


@pytest.mark.parametrize(
    ("other", "distance"),
    [
        (DAG(NODES, []), 3),  # three missing
        (TRUE.add_arc("a", "d"), 1),  # one extra, all others compelled as before
        (TRUE.remove_arc("c", "d"), 1),
        (TRUE.remove_arc("b", "c"), 3),  # one missing, and two lose their direction with the v-structure
        (TRUE.reverse_arc("c", "d"), 1),
        (CPDAG(NODES, [("a", "c"), ("b", "c")], [("c", "d")]), 1),  # a direction not found
    ],
)
def test_every_pair_that_differs_counts_once(other: DAG, distance: int) -> None:
    assert shd(TRUE, other) == shd(other, TRUE) == distance


def test_compare_sorts_the_arcs() -> None:
    learned = DAG(NODES, [("a", "c"), ("d", "c"), ("a", "b")])
    found = compare_graphs(TRUE, learned)
    assert found == GraphComparison(
        both=(("a", "c"),), reversed=(("c", "d"),), missing=(("b", "c"),), extra=(("a", "b"),), shd=3
    )
    assert (found.precision, found.recall, found.f1) == (1 / 3, 1 / 3, 1 / 3)


def test_precision_and_recall_are_of_the_learned_and_the_true_arcs() -> None:
    found = compare_graphs(TRUE, TRUE.add_arc("a", "b"))
    assert (found.precision, found.recall) == (0.75, 1.0)
    assert found.f1 == pytest.approx(2 * 0.75 / 1.75, rel=1e-12)
    assert compare_graphs(TRUE.add_arc("a", "b"), TRUE).recall == 0.75


def test_the_skeleton_has_scores_of_its_own() -> None:
    found = compare_graphs(TRUE, DAG(NODES, [("a", "c"), ("d", "c"), ("a", "b"), ("a", "d")]))
    assert (len(found.both), len(found.reversed), len(found.missing), len(found.extra)) == (1, 1, 1, 2)
    assert (found.skeleton_precision, found.skeleton_recall) == (2 / 4, 2 / 3)
    assert found.skeleton_f1 == pytest.approx(4 / 7, rel=1e-12)
    assert "\n  skeleton: precision 0.5, recall 0.667, F1 0.571\n" in repr(found)


def test_the_skeleton_forgives_directions() -> None:
    turned = DAG(NODES, [("c", "a"), ("c", "b"), ("d", "c")])
    for found in (compare_graphs(TRUE, turned), compare_graphs(TRUE, turned.cpdag())):
        assert (found.skeleton_precision, found.skeleton_recall, found.skeleton_f1) == (1.0, 1.0, 1.0)
        assert found.f1 == 0.0


def test_graphs_without_arcs_have_scores_too() -> None:
    empty = DAG(NODES)
    assert (compare_graphs(TRUE, empty).precision, compare_graphs(TRUE, empty).recall) == (1.0, 0.0)
    assert (compare_graphs(empty, TRUE).precision, compare_graphs(empty, TRUE).recall) == (0.0, 1.0)
    assert compare_graphs(TRUE, empty).f1 == 0.0
    assert compare_graphs(empty, empty).f1 == 1.0
    assert (compare_graphs(TRUE, empty).skeleton_precision, compare_graphs(TRUE, empty).skeleton_recall) == (1.0, 0.0)
    assert (compare_graphs(empty, TRUE).skeleton_f1, compare_graphs(empty, empty).skeleton_f1) == (0.0, 1.0)


def test_classes_are_compared_with_their_edges() -> None:
    true = DAG(["a", "b", "c", "x", "y"], [("a", "c"), ("b", "c"), ("x", "y")])
    learned = CPDAG(["y", "x", "c", "b", "a"], [("a", "c")], [("c", "b"), ("y", "x"), ("a", "b")])
    found = compare_graphs(true, learned)
    assert found.both == (("a", "c"), ("x", "y"))
    assert found.reversed == (("b", "c"),)
    assert found.extra == (("b", "a"),)
    assert found.undirected == {("x", "y"), ("b", "a")}
    assert found.shd == 2 == shd(true, learned)
    assert "both      2  'a' → 'c', 'x' – 'y'" in repr(found)
    assert "extra     1  'b' – 'a'" in repr(found)


def test_the_repr_shows_scores_and_the_first_arcs() -> None:
    names = [f"x{i}" for i in range(13)]
    star = DAG(names, [("x0", name) for name in names[1:]])
    assert repr(compare_graphs(star, DAG(names, [("x2", "x1")]))) == (
        "GraphComparison: precision 0, recall 0, F1 0, SHD 13\n"
        "  skeleton: precision 0, recall 0, F1 0\n"
        "  both       0\n"
        "  reversed   0\n"
        "  missing   12  'x0' → 'x1', 'x0' → 'x2', 'x0' → 'x3', 'x0' → 'x4', 'x0' → 'x5', 'x0' → 'x6', …\n"
        "  extra      1  'x2' → 'x1'"
    )


def test_what_cannot_be_compared() -> None:
    with pytest.raises(
        DataError, match=re.escape("graphs to compare must have the same nodes; got 'd', 'e' in one of them only.")
    ):
        shd(TRUE, DAG(["a", "b", "c", "e"]))
    with pytest.raises(DataError, match=re.escape("a graph to compare must be a DAG or a CPDAG; got 'graph'.")):
        compare_graphs(TRUE, "graph")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="must be a DAG or a CPDAG; got UndirectedGraph"):
        shd(TRUE.skeleton(), TRUE)  # type: ignore[arg-type]


def test_as_a_frame():
    true = DAG(arcs=[("A", "C"), ("B", "C")])
    frame = compare_graphs(true, DAG(["A", "B", "C"], [("A", "C"), ("A", "B")])).to_pandas()
    assert frame.to_numpy().tolist() == [
        ["A", "C", "both", True],
        ["B", "C", "missing", True],
        ["A", "B", "extra", True],
    ]
    classes = compare_graphs(DAG(arcs=[("A", "B")]).cpdag(), DAG(["A", "B"])).to_pandas()
    assert classes.to_numpy().tolist() == [["A", "B", "missing", False]]
