"""Graphs against enumeration of all graphs and of all paths, and what must hold for any graph."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles import graphs as slow
from tunbridge.errors import DataError
from tunbridge.graph import CPDAG, DAG, compare_graphs, shd
from tunbridge.graph.separation import requisite

examples = settings(max_examples=200, deadline=None)


def name(i):
    return f"node {i}"


def named(arcs):
    return [(name(i), name(j)) for i, j in arcs]


def as_dag(n, arcs):
    return DAG([name(i) for i in range(n)], named(arcs))


def as_cpdag(n, arcs, edges):
    return CPDAG([name(i) for i in range(n)], named(arcs), named(map(sorted, edges)))


@st.composite
def small_dags(draw, min_nodes=1, max_nodes=6):
    n = draw(st.integers(min_nodes, max_nodes))
    order = draw(st.permutations(range(n)))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    arcs = [(order[i], order[j]) for (i, j), taken in zip(pairs, chosen, strict=True) if taken]
    return n, frozenset(arcs), as_dag(n, draw(st.permutations(arcs)))


@st.composite
def dags_with_sets(draw, n_sets, **sizes):
    """Draw a graph and some disjoint sets of its nodes."""
    n, arcs, dag = draw(small_dags(**sizes))
    where = draw(st.lists(st.integers(0, n_sets), min_size=n, max_size=n))
    return n, arcs, dag, *([i for i in range(n) if where[i] == k] for k in range(n_sets))


# All graphs of up to four nodes


def test_the_oracle_finds_as_many_graphs_and_classes_as_are_known():
    assert [len(slow.all_dags(n)) for n in (1, 2, 3, 4)] == [1, 3, 25, 543]
    assert [len(slow.equivalence_classes(n)) for n in (1, 2, 3, 4)] == [1, 2, 11, 185]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_cpdag_is_the_union_of_the_equivalence_class(n):
    for graphs in slow.equivalence_classes(n).values():
        expected = as_cpdag(n, *slow.union_of_class(graphs))
        assert {as_dag(n, arcs).cpdag() for arcs in graphs} == {expected}
        assert expected.is_complete
        assert expected.to_dag() in {as_dag(n, arcs) for arcs in graphs}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_d_separation_is_that_of_all_paths_in_every_graph(n):
    for arcs in slow.all_dags(n):
        dag, independent = as_dag(n, arcs), slow.independences(n, arcs)
        for a, b in combinations(range(n), 2):
            rest = [i for i in range(n) if i not in (a, b)]
            for given_ in [some for size in range(n - 1) for some in combinations(rest, size)]:
                found = dag.d_separated(name(a), name(b), [name(i) for i in given_])
                assert found == ((a, b, given_) in independent)


@pytest.mark.parametrize("n", [2, 3])
def test_any_graph_of_arcs_and_edges_has_an_extension_exactly_when_enumeration_finds_one(n):
    dags = [(arcs, as_dag(n, arcs)) for arcs in slow.all_dags(n)]
    for arcs, _ in dags:
        for size in range(len(arcs) + 1):
            for loose in combinations(sorted(arcs), size):
                _check_extension(n, arcs - set(loose), {frozenset(arc) for arc in loose}, dags)


def test_four_nodes_of_arcs_and_edges_too():
    dags = [(arcs, as_dag(4, arcs)) for arcs in slow.all_dags(4)]
    rng = np.random.default_rng(0)
    for arcs, _ in dags:
        loose = {arc for arc in arcs if rng.random() < 0.6}
        _check_extension(4, arcs - loose, {frozenset(arc) for arc in loose}, dags)


def _check_extension(n, arcs, edges, dags):
    joined = {frozenset(arc) for arc in arcs} | edges
    before = slow.v_structures(n, arcs, edges)
    extensions = [
        dag
        for some, dag in dags
        if arcs <= some and {frozenset(arc) for arc in some} == joined and slow.v_structures(n, some) == before
    ]
    partial = as_cpdag(n, arcs, edges)
    if extensions:
        assert partial.to_dag() in extensions
        assert partial.is_complete == (extensions[0].cpdag() == partial)
    else:
        assert not partial.is_complete
        with pytest.raises(DataError, match="edges must have directions that close no cycle"):
            partial.to_dag()


# Larger random graphs


@examples
@given(dags_with_sets(3, max_nodes=6))
def test_sets_are_separated_when_every_pair_is(drawn):
    n, arcs, dag, a, b, given_ = drawn
    expected = all(slow.are_separated(n, arcs, i, j, given_) for i in a for j in b)
    assert dag.d_separated(map(name, a), map(name, b), map(name, given_)) == expected


@examples
@given(dags_with_sets(3, max_nodes=7))
def test_d_separation_is_separation_in_the_moral_graph_of_the_ancestors(drawn):
    _, _, dag, a, b, given_ = drawn
    a, b, given_ = ([name(i) for i in some] for some in (a, b, given_))
    kept = {*a, *b, *given_, *dag.ancestors([*a, *b, *given_])}
    moral = dag.subgraph(sorted(kept)).moral()
    assert dag.d_separated(a, b, given_) == moral.separated(a, b, given_) == dag.d_separated(b, a, given_)


@examples
@given(small_dags(max_nodes=9))
def test_the_cpdag_is_what_the_rules_of_meek_give(drawn):
    n, arcs, dag = drawn
    cpdag = dag.cpdag()
    assert cpdag == as_cpdag(n, *slow.class_by_meek(n, arcs))
    back = cpdag.to_dag()
    assert back.cpdag() == cpdag
    assert (back.skeleton(), set(back.v_structures())) == (dag.skeleton(), set(dag.v_structures()))
    assert cpdag.skeleton() == dag.skeleton()


@pytest.mark.parametrize("seed", range(6))
def test_the_cpdag_of_a_wide_graph(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(40).tolist()
    arcs = frozenset((i, j) for i, j in combinations(order, 2) if rng.random() < (0.02, 0.05, 0.15)[seed % 3])
    cpdag = as_dag(40, arcs).cpdag()
    assert cpdag == as_cpdag(40, *slow.class_by_meek(40, arcs))
    assert cpdag.is_complete


@examples
@given(small_dags(max_nodes=7))
def test_relations_are_those_of_the_definition(drawn):
    n, arcs, dag = drawn
    for i in range(n):
        parents, children = {p for p, c in arcs if c == i}, {c for p, c in arcs if p == i}
        blanket = (parents | children | {p for p, c in arcs if c in children}) - {i}
        assert set(dag.parents(name(i))) == set(map(name, parents))
        assert set(dag.children(name(i))) == set(map(name, children))
        assert set(dag.markov_blanket(name(i))) == set(map(name, blanket))
        assert dag.ancestors(name(i)) == tuple(map(name, sorted(slow.ancestors(n, arcs, i))))
        assert dag.descendants(name(i)) == tuple(map(name, sorted(slow.descendants(n, arcs, i))))
    assert {(int(a[5:]), int(c[5:]), int(b[5:])) for a, c, b in dag.v_structures()} == slow.v_structures(n, arcs)


@examples
@given(small_dags(max_nodes=7))
def test_the_moral_graph_joins_those_that_share_a_table(drawn):
    n, arcs, dag = drawn
    families = [{i} | {p for p, c in arcs if c == i} for i in range(n)]
    joined = {(name(i), name(j)) for i, j in combinations(range(n), 2) if any({i, j} <= f for f in families)}
    assert set(dag.moral().edges) == joined
    for i in range(n):  # the blanket of a node is its neighbours
        assert dag.moral().neighbours(name(i)) == dag.markov_blanket(name(i))


@examples
@given(small_dags(max_nodes=8))
def test_the_order_puts_parents_first(drawn):
    _, arcs, dag = drawn
    at = {node: i for i, node in enumerate(dag.order)}
    assert sorted(dag.order) == sorted(dag.nodes)
    assert all(at[a] < at[b] for a, b in named(arcs))
    assert DAG(dag.order, dag.arcs).order == dag.order


@examples
@given(small_dags(min_nodes=2, max_nodes=6), st.data())
def test_an_arc_can_be_added_exactly_when_no_cycle_arises(drawn, data):
    n, arcs, dag = drawn
    i, j = data.draw(st.sampled_from([(i, j) for i in range(n) for j in range(n) if i != j and (i, j) not in arcs]))
    if slow.is_acyclic(n, arcs | {(i, j)}):
        bigger = dag.add_arc(name(i), name(j))
        assert bigger == as_dag(n, arcs | {(i, j)})
        assert bigger.parents(name(j)) == (*dag.parents(name(j)), name(i))
        assert sorted(bigger.order) == sorted(dag.nodes)
        assert bigger.remove_arc(name(i), name(j)) == dag
    else:
        with pytest.raises(DataError, match=f"no cycle; got 'node {i}' → 'node {j}'.* → 'node {i}'[.]"):
            dag.add_arc(name(i), name(j))
        with pytest.raises(DataError, match="arcs must form no cycle"):
            as_dag(n, arcs | {(i, j)})


# What a question needs


@examples
@given(dags_with_sets(3, max_nodes=6), st.integers(0, 10**6))
def test_what_is_not_requisite_does_not_change_the_answer(drawn, seed):
    n, arcs, dag, targets, observed, soft = drawn
    rng = np.random.default_rng(seed)
    tables = slow.random_tables(n, arcs, rng)
    findings = {i: np.eye(2)[rng.integers(2)] for i in observed} | {i: rng.uniform(0.1, 1, 2) for i in soft}
    needed = requisite(dag.parent_indices, dag.child_indices, targets, observed, soft=soft)
    kept = {i: findings[i] for i in (*needed.observations, *(set(needed.tables) & set(soft)))}
    full = slow.posterior(tables, range(n), targets, findings)
    pruned = slow.posterior(tables, needed.tables, targets, kept)
    np.testing.assert_allclose(pruned, full, rtol=1e-9, atol=0)


@examples
@given(dags_with_sets(3, max_nodes=5))
def test_what_is_requisite_is_connected_to_the_targets(drawn):
    n, arcs, dag, targets, observed, soft = drawn
    needed = requisite(dag.parent_indices, dag.child_indices, targets, observed, soft=soft)
    # A finding that leaves states open is an observed child; a table matters when a parent put above it is connected.
    child = {i: n + at for at, i in enumerate(soft)}
    virtual = arcs | set(child.items())
    known = [*observed, *child.values()]
    size = n + len(soft) + 1
    tables = [
        i
        for i in range(n)
        if any(not slow.are_separated(size, virtual | {(size - 1, i)}, t, size - 1, known) for t in targets)
    ]
    seen = [
        i
        for i in observed
        if any(not slow.are_separated(size, virtual, t, i, [k for k in known if k != i]) for t in targets)
    ]
    assert needed == (tuple(tables), tuple(seen))
    assert {p for i in tables for p in dag.parent_indices[i]} <= set(needed.nodes)


# Distance


@examples
@given(small_dags(min_nodes=4, max_nodes=4), small_dags(min_nodes=4, max_nodes=4), small_dags(min_nodes=4, max_nodes=4))
def test_the_distance_is_a_metric_between_classes_that_counts_pairs(first, second, third):
    (n, arcs, a), (_, others, b), (_, _, c) = first, second, third
    marks = [
        {frozenset(arc): arc for arc in shared} | dict.fromkeys(loose, "edge")
        for shared, loose in (slow.class_by_meek(n, some) for some in (arcs, others))
    ]
    pairs = map(frozenset, combinations(range(n), 2))
    assert shd(a, b) == sum(marks[0].get(pair) != marks[1].get(pair) for pair in pairs)
    assert shd(a, b) == shd(b, a) == shd(a.cpdag(), b)
    assert (shd(a, b) == 0) == (slow.independences(n, arcs) == slow.independences(n, others))
    assert shd(a, c) <= shd(a, b) + shd(b, c)


@examples
@given(small_dags(min_nodes=4, max_nodes=4), small_dags(min_nodes=4, max_nodes=4))
def test_a_comparison_sorts_every_arc(first, second):
    (_, true, a), (_, learned, b) = first, second
    turned = {(j, i) for i, j in learned}
    found = compare_graphs(a, b)
    assert set(found.both) == set(named(true & learned))
    assert set(found.reversed) == set(named(true & turned))
    assert set(found.missing) == set(named(true - learned - turned))
    assert set(found.extra) == set(named(learned - true - {(j, i) for i, j in true}))
    assert found.precision == (len(true & learned) / len(learned) if learned else 1.0)
    assert found.recall == (len(true & learned) / len(true) if true else 1.0)
    assert found.shd == shd(a, b)
