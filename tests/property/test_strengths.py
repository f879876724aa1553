"""Votes of graphs against plain counting, the threshold against its definition, the consensus against greedy search."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from oracles.equivalence import arcs_of, class_of, members
from oracles.graphs import is_acyclic
from oracles.learning import all_graphs
from tunbridge.graph import DAG
from tunbridge.learning.uncertainty.strengths import ArcStrengths, _significance_threshold

examples = settings(max_examples=150, deadline=None)
graphs = cache(all_graphs)
NAMES = "abcd"


def named(graph) -> DAG:
    return DAG([*NAMES[: len(graph)]], [(NAMES[p], NAMES[x]) for p, x in sorted(arcs_of(graph))])


some_graphs = st.integers(1, 4).flatmap(lambda n: st.lists(st.sampled_from(graphs(n)), min_size=1, max_size=8))


@st.composite
def votes(draw) -> ArcStrengths:
    """Draw strengths of which few come from graphs: any shares that are possible for each pair by itself."""
    n = draw(st.integers(1, 6))
    shares = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            halves = draw(st.integers(0, 20))
            ahead = draw(st.integers(0, halves) | st.just(halves // 2))
            shares[i, j], shares[j, i] = ahead / 20, (halves - ahead) / 20
    return ArcStrengths([f"v{i}" for i in range(n)], shares, 10)


# Votes


@examples
@given(some_graphs)
def test_votes_of_directions_as_they_are(some):
    found = ArcStrengths.of(map(named, some), cpdag=False)
    for i in range(found.n_nodes):
        for j in range(found.n_nodes):
            share = np.mean([(i, j) in arcs_of(graph) for graph in some])
            assert found.shares[i, j] == pytest.approx(share, rel=1e-12)


@examples
@given(some_graphs)
def test_votes_of_classes(some):
    found = ArcStrengths.of(map(named, some))
    everyone = [[arcs_of(member) for member in members(graph)] for graph in some]
    for i in range(found.n_nodes):
        for j in range(found.n_nodes):
            there = [[(i, j) in arcs for arcs in one] for one in everyone]
            share = np.mean([1.0 if all(one) else 0.5 if any(one) else 0.0 for one in there])
            assert found.shares[i, j] == pytest.approx(share, rel=1e-12)


@examples
@given(some_graphs)
def test_strengths_and_directions_are_shares(some):
    found = ArcStrengths.of(map(named, some))
    np.testing.assert_array_equal(found.strengths, found.strengths.T)
    both = found.directions + found.directions.T
    np.testing.assert_allclose(both, (found.strengths > 0).astype(float), rtol=1e-12, atol=0)


# The threshold


def step_distance(strengths, t):
    """Return the integral over [0, 1] of |F − t|, F the distribution function of the strengths."""
    ends = sorted({0.0, 1.0, *strengths})
    return sum((b - a) * abs(np.mean([s <= a for s in strengths]) - t) for a, b in pairwise(ends))


@examples
@given(st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=1, max_size=15))
def test_the_threshold_is_that_of_the_nearest_step(strengths):
    levels = np.array([0.0, *(np.mean([s <= a for s in strengths]) for a in strengths)])
    distances = np.array([step_distance(strengths, t) for t in levels])
    finely = min(step_distance(strengths, t) for t in np.linspace(0, 1, 101))
    assert distances.min() <= finely + 1e-12  # the least is at a level of F
    t = levels[distances <= distances.min() + 1e-9].max()
    quantile = min((a for a in [0.0, *strengths] if np.mean([s <= a for s in strengths]) >= t - 1e-12), default=0.0)
    significant = {s for s in strengths if s > quantile}
    threshold = _significance_threshold(np.array(strengths))
    assert {s for s in strengths if s >= threshold and s > 0.5} == significant
    assert threshold == min(significant, default=1.0)


# The consensus


def greedy(found, threshold):
    """Return arcs whose direction is no even vote, put in one by one, and those that would close a cycle."""
    n, kept, left_out = found.n_nodes, [], []
    pairs = [(i, j) for i in range(n) for j in range(n) if found.directions[i, j] > 0.5 + 1e-9]
    key = lambda p: (-round(found.strengths[p], 9), -round(found.directions[p], 9), p)  # noqa: E731
    for pair in sorted(pairs, key=key):
        if found.strengths[pair] >= threshold - 1e-9:
            (kept if is_acyclic(n, {*kept, pair}) else left_out).append(pair)
    return kept, left_out


@examples
@given(votes(), st.none() | st.integers(0, 20).map(lambda k: k / 20))
def test_the_consensus_takes_the_most_certain_arcs_first(found, threshold):
    cut = found.threshold if threshold is None else threshold
    kept, left_out = greedy(found, cut)
    dag = found.consensus(threshold)
    index = {name: i for i, name in enumerate(found.nodes)}
    arcs = {(index[a], index[b]) for a, b in dag.arcs}
    even = {frozenset(arc) for arc in arcs - set(kept)}
    assert set(kept) <= arcs
    assert [(index[a], index[b]) for a, b in found.left_out(threshold)] == left_out
    some = [(i, j) for i in range(found.n_nodes) for j in range(i) if found.strengths[i, j] > max(0, cut - 1e-9)]
    assert even == {frozenset(pair) for pair in some if abs(found.directions[pair] - 0.5) < 1e-9}


@examples
@given(st.integers(1, 4).flatmap(lambda n: st.sampled_from(graphs(n))))
def test_the_consensus_of_one_class_is_in_it(graph):
    dag = ArcStrengths.of([named(graph)]).consensus()
    arcs = [tuple(sorted(NAMES.index(p) for p in dag.parents(name))) for name in NAMES[: len(graph)]]
    assert class_of(arcs) == class_of(graph)


@examples
@given(some_graphs, st.randoms())
def test_the_order_of_the_graphs_does_not_matter(some, random):
    other = list(some)
    random.shuffle(other)
    np.testing.assert_array_equal(ArcStrengths.of(map(named, some)).shares, ArcStrengths.of(map(named, other)).shares)


@examples
@given(votes())
def test_the_table_lists_every_joined_pair_once(found):
    table = found.table()
    assume(table.n_rows)
    pairs = {
        frozenset(pair) for pair in zip(*(table.to_arrow()[name].to_pylist() for name in ("from", "to")), strict=True)
    }
    assert len(pairs) == table.n_rows == np.count_nonzero(np.triu(found.strengths, 1))
    assert (np.diff(table.floats("strength")) <= 1e-12).all()
    assert (table.floats("direction") >= 0.5 - 1e-12).all()
