from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.graph import CPDAG, DAG
from tunbridge.learning.uncertainty.strengths import ArcStrengths, Drawn, _significance_threshold, average


def strengths(n: int, shares: dict[tuple[int, int], float], n_graphs: int = 100) -> ArcStrengths:
    matrix = np.zeros((n, n))
    for pair, share in shares.items():
        matrix[pair] = share
    return ArcStrengths(tuple("abcdefgh"[:n]), matrix, n_graphs)


# Votes


def test_shares_strengths_and_directions() -> None:
    found = strengths(3, {(0, 1): 0.6, (1, 0): 0.2, (2, 1): 0.3})
    assert found.strength("a", "b") == found.strength("b", "a") == pytest.approx(0.8, rel=1e-12)
    assert found.direction("a", "b") == pytest.approx(0.75, rel=1e-12)
    assert found.direction("b", "a") == pytest.approx(0.25, rel=1e-12)
    assert found.direction("b", "c") == 0.0
    assert found.strength("a", "c") == found.direction("a", "c") == 0.0
    for matrix in (found.shares, found.strengths, found.directions):
        assert not matrix.flags.writeable


def test_the_shares_are_a_copy() -> None:
    matrix = np.array([[0.0, 1.0], [0.0, 0.0]])
    found = ArcStrengths(("a", "b"), matrix, 1)
    matrix[0, 1] = 0.0
    assert found.strength("a", "b") == 1.0


def test_an_undirected_edge_counts_half_each_way() -> None:
    found = ArcStrengths.of([CPDAG(edges=[("a", "b")]), DAG(["b", "a"], [("b", "a")])], cpdag=False)
    assert found.shares.tolist() == [[0.0, 0.25], [0.75, 0.0]]
    assert average(2, [Drawn([], [(1, 0)])]).tolist() == [[0.0, 0.5], [0.5, 0.0]]


def test_graphs_may_have_their_nodes_in_any_order() -> None:
    found = ArcStrengths.of([DAG(["a", "b"], [("a", "b")]), DAG(["b", "a"], [("a", "b")])], cpdag=False)
    assert found.nodes == ("a", "b")
    assert found.direction("a", "b") == 1.0
    assert found.n_graphs == 2


def test_pickle_gives_the_same_back() -> None:
    found = strengths(2, {(0, 1): 0.5})
    again = pickle.loads(pickle.dumps(found))
    assert (again.nodes, again.n_graphs, again.strength("a", "b")) == (("a", "b"), 100, 0.5)


# The threshold, by hand


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            [0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439],
            0.7689,
        ),  # F is ½ on [0.3921, 0.7689), which holds its median
        ([0.0, 0.0, 1.0], 1.0),  # no doubt: F is ⅔ throughout
        ([1.0, 1.0], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.9, 0.8], 0.8),  # F is 0 on [0, 0.8): both are significant
        ([0.2, 0.3], 1.0),  # F is 1 on [0.3, 1): neither is
        ([0.5], 1.0),  # every t is as near as any other: the largest, and so the fewest arcs
        ([0.5, 0.51], 0.51),
        ([], 1.0),
    ],
)
def test_the_threshold(given: list[float], expected: float) -> None:
    assert _significance_threshold(np.array(given)) == expected


def test_rounding_does_not_make_half_of_the_graphs_significant() -> None:
    third = 1 / 3 + 1 / 6 + 1e-16
    assert strengths(2, {(0, 1): 0.1 + 0.2 + 1e-17, (1, 0): 0.2}).threshold == 1.0
    assert strengths(2, {(0, 1): third}).threshold == 1.0


# The consensus


def test_arcs_of_at_least_the_threshold_are_kept() -> None:
    found = strengths(4, {(0, 1): 0.9, (1, 2): 0.1 + 0.2 + 0.3, (2, 3): 0.4})
    assert found.threshold == pytest.approx(0.6, rel=1e-12)
    assert found.consensus() == DAG([*"abcd"], [("a", "b"), ("b", "c")])
    assert found.consensus(0.6).n_arcs == 2
    assert found.consensus(0.4).n_arcs == 3
    assert found.consensus(0).n_arcs == 3
    assert found.consensus(0.95).n_arcs == 0
    assert found.consensus(1).n_arcs == 0


def test_an_arc_that_closes_a_cycle_is_left_out_and_named() -> None:
    found = strengths(3, {(0, 1): 0.9, (1, 2): 0.8, (2, 0): 0.7})
    dag = found.consensus()
    assert dag == DAG([*"abc"], [("a", "b"), ("b", "c")])
    assert found.left_out() == (("c", "a"),)
    assert dag.note == "left out, because they would close a cycle: 'c' → 'a'"
    assert found.consensus(0.75).note == ""
    assert repr(dag).startswith("LearnedDAG(3 nodes, 2 arcs: 'a' → 'b', 'b' → 'c'; consensus; left out")


def test_of_equally_strong_arcs_the_surer_direction_comes_first() -> None:
    found = strengths(3, {(0, 1): 0.5, (1, 0): 0.3, (1, 2): 0.8, (2, 0): 0.8})
    assert found.left_out() == (("a", "b"),)


def test_even_votes_make_no_new_v_structure() -> None:
    chain = {(0, 2): 0.5, (2, 0): 0.5, (1, 2): 0.5, (2, 1): 0.5}  # a – c – b: not a → c ← b
    assert strengths(3, chain).consensus() == DAG([*"abc"], [("a", "c"), ("c", "b")])
    led = chain | {(0, 2): 0.1, (2, 0): 0.9}
    assert strengths(3, led).consensus() == DAG([*"abc"], [("c", "a"), ("c", "b")])
    into = chain | {(0, 2): 0.9, (2, 0): 0.1}
    assert strengths(3, into).consensus() == DAG([*"abc"], [("a", "c"), ("c", "b")])


def test_even_votes_around_a_hole_still_get_directions() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    found = strengths(5, {pair: 0.4 for i, j in ring for pair in ((i, j), (j, i))} | {(4, 0): 0.7})
    dag = found.consensus()
    assert dag.n_arcs == 5
    assert found.left_out() == ()
    assert dag.has_arc("e", "a")


def test_no_node_and_one_node() -> None:
    assert ArcStrengths((), np.zeros((0, 0)), 1).consensus().n_nodes == 0
    assert strengths(1, {}).consensus() == DAG(["a"])


# What is shown


def test_the_table() -> None:
    table = strengths(3, {(1, 0): 0.6, (0, 1): 0.2, (2, 1): 0.9}).table()
    rows = table.to_arrow().to_pylist()
    assert [(row["from"], row["to"]) for row in rows] == [("c", "b"), ("b", "a")]
    np.testing.assert_allclose(table.floats("strength"), [0.9, 0.8], rtol=1e-12, atol=0)
    np.testing.assert_allclose(table.floats("direction"), [1.0, 0.75], rtol=1e-12, atol=0)
    assert strengths(3, {(1, 0): 0.6}).table(0.7).n_rows == 0


def test_repr() -> None:
    assert repr(strengths(2, {})) == "ArcStrengths: 2 nodes, 100 graphs; 0 of 0 pairs are significant"
    many = strengths(6, {(i, j): 0.4 for i in range(6) for j in range(i)} | {(1, 0): 0.8})
    lines = repr(many).splitlines()
    assert lines[0] == "ArcStrengths: 6 nodes, 100 graphs; 1 of 15 pairs is significant, at 0.8 or more"
    assert lines[1:3] == ["  from  to  strength  direction", "  b     a      0.800      1.000"]
    assert lines[-1] == "  … and 5 more pairs"
    assert len(lines) == 13


def test_two_thousand_nodes() -> None:
    n = 2000
    arcs = [(i, i + 1) for i in range(n - 1)]
    found = ArcStrengths([f"v{i:04}" for i in range(n)], average(n, [Drawn(arcs[::2], arcs[1::2])] * 2), 2)
    assert found.consensus().n_arcs == n - 1
    assert found.table().n_rows == n - 1


# Errors


def test_the_memory_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError, match="the strengths of all pairs of 20 nodes would need"):
        ArcStrengths.of([DAG([f"v{i}" for i in range(20)])])


@pytest.mark.parametrize(
    ("nodes", "shares", "n_graphs", "message"),
    [
        (["a"], np.zeros((2, 2)), 1, "shares must be a matrix of 1 rows and columns; got shape (2, 2)."),
        (["a", "b"], [[0, 0.7], [0.7, 0]], 1, "shares must be at least 0, and those of the two directions"),
        (["a", "b"], [[0, -0.1], [0, 0]], 1, "shares must be at least 0"),
        (["a", "b"], [[0, np.nan], [0, 0]], 1, "shares must be at least 0"),
        (["a", "b"], [[0.5, 0], [0, 0]], 1, "shares must be 0 on the diagonal"),
        (["a", "a"], np.zeros((2, 2)), 1, "nodes must be distinct; got 'a' more than once."),
        (["a"], np.zeros((1, 1)), 0, "the number of graphs must be at least 1; got 0."),
    ],
)
def test_bad_shares(nodes: list[str], shares: object, n_graphs: int, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        ArcStrengths(nodes, shares, n_graphs)  # type: ignore[arg-type]


def test_bad_graphs() -> None:
    with pytest.raises(DataError, match=re.escape("graphs must not be empty; got none.")):
        ArcStrengths.of([])
    with pytest.raises(DataError, match=re.escape("graphs must be DAGs or CPDAGs; got 'a'.")):
        ArcStrengths.of(["a"])  # type: ignore[list-item]
    with pytest.raises(DataError, match=re.escape("graphs must have the same nodes; 'a', 'c' differ.")):
        ArcStrengths.of([DAG(["a", "b"]), DAG(["b", "c"])])


def test_bad_questions() -> None:
    found = strengths(2, {(0, 1): 0.5})
    with pytest.raises(DataError, match=re.escape("the node must be one of the graph; got 'x'. Known: 'a', 'b'.")):
        found.strength("a", "x")
    with pytest.raises(DataError, match=re.escape("the threshold must be at most 1.0; got 2.")):
        found.consensus(2)
