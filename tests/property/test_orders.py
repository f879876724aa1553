"""Walks along trees equal plain grow-shrink; the search obeys and ends in a local optimum, whatever the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.equivalence import class_of, members
from oracles.graphs import is_acyclic
from oracles.learning import PlainFamilies
from oracles.structures import ArbitraryFamilies, best_score, fits, free_problem
from tunbridge.learning.scores.discrete import BIC, K2, BDeu
from tunbridge.learning.searches.orders import (
    OrderSearch,
    _GrowShrinkTrees,
    _neighbourhood,
    _random_equivalent,
    topological_order,
)

examples = settings(max_examples=100, deadline=None)
few = settings(max_examples=40, deadline=None)

ROUNDING = 1e-11


class TiedFamilies(ArbitraryFamilies):
    """Small whole numbers as scores, so that many families score alike."""

    def _score(self, x, parents):
        return float(round(super()._score(x, parents)))


@st.composite
def problems(draw, most=6):
    """Draw scores, with or without a ceiling, ties and a prior, and constraints that some graph obeys."""
    n, seed = draw(st.integers(1, most)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from([ArbitraryFamilies, TiedFamilies]))
    bonus = rng.integers(-2, 3, (n, n)).astype(float) if draw(st.booleans()) else None
    families = kind(n, seed, step=draw(st.sampled_from([0.0, 1.0])), bonus=bonus)
    if draw(st.booleans()):
        return free_problem(families, seed)
    order = rng.permutation(n).tolist()
    required = [()] * n
    for i, x in enumerate(order):
        required[x] = tuple(sorted(p for p in order[:i] if rng.random() < 0.2))
    allowed = rng.random((n, n)) < draw(st.sampled_from([0.5, 0.8, 1.0]))
    for x, parents in enumerate(required):
        allowed[list(parents), x] = True
    limits = np.array([max(len(p), int(rng.integers(0, n + 1))) for p in required])
    known = tuple(required)
    return free_problem(families, seed, allowed=allowed, required=known, max_parents=limits, start=known)


def best_of(scores, least):
    """Return the first choice that scores highest, rounding apart; None unless it scores more than the least."""
    highest = max(scores.values(), default=-np.inf)
    return min(c for c in scores if scores[c] >= highest - ROUNDING) if highest > least + ROUNDING else None


def plain_grow_shrink(problem, x, before):
    """Return the parents that grow and shrink find in turn, each family scored where it is needed."""
    parents, score = set(problem.required[x]), problem.families.score

    def value(chosen):
        return score(x, tuple(sorted(chosen)))

    while True:
        began = set(parents)
        while len(parents) < problem.max_parents[x]:
            adds = {c: value(parents | {c}) for c in before if c not in parents and problem.is_allowed(c, x)}
            if (best := best_of(adds, value(parents))) is None:
                break
            parents.add(best)
        while True:
            removals = {p: value(parents - {p}) for p in parents if p not in problem.required[x]}
            if (best := best_of(removals, value(parents))) is None:
                break
            parents.discard(best)
        if parents == began:
            return tuple(sorted(parents))


def legal_order(problem, seed):
    return topological_order(problem.required, np.random.default_rng(seed).random(problem.n))


@examples
@given(problems(), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_walks_equal_plain_grow_shrink(problem, seeds):
    trees = _GrowShrinkTrees(problem)
    for seed in seeds:  # the later ones meet trees that are filled in already
        order = legal_order(problem, seed)
        graph, score = trees.along(order)
        before = [order[:i].tolist() for i in np.argsort(order)]
        assert graph == tuple(plain_grow_shrink(problem, x, before[x]) for x in range(problem.n))
        assert score == pytest.approx(problem.graph_score(graph), rel=1e-12, abs=1e-12)


@examples
@given(problems(), st.integers(0, 99))
def test_places_equal_whole_orders(problem, seed):
    trees, order = _GrowShrinkTrees(problem), legal_order(problem, seed)
    trees.along(order)
    for v in range(problem.n):
        others = order[order != v]
        after = max((i + 1 for i, u in enumerate(others) if u in problem.required[v]), default=0)
        until = min((i for i, u in enumerate(others) if v in problem.required[u]), default=len(others))
        found = trees.places(v, others, after, until)
        whole = [_GrowShrinkTrees(problem).along(np.insert(others, i, v))[1] for i in range(after, until + 1)]
        np.testing.assert_allclose(found - found[0], np.array(whole) - whole[0], rtol=0, atol=1e-9)


def changed_by_one_arc(graph):
    """Give every graph with one arc more, less or turned, cycles included."""
    for x in range(len(graph)):
        for c in (c for c in range(len(graph)) if c != x):
            sets = [set(parents) for parents in graph]
            sets[x] ^= {c}
            yield tuple(tuple(sorted(s)) for s in sets)
            if c in graph[x]:
                sets[c].add(x)
                yield tuple(tuple(sorted(s)) for s in sets)


def check_result(problem, result):
    """Assert that the graph obeys, that no single arc helps, and that the moves lead to its score."""
    graph, score = result.graph, problem.graph_score(result.graph)
    assert is_acyclic(problem.n, {(p, x) for x, parents in enumerate(graph) for p in parents})
    assert fits(problem, graph)
    for other in changed_by_one_arc(graph):
        if fits(problem, other) and is_acyclic(problem.n, {(p, x) for x, own in enumerate(other) for p in own}):
            assert problem.graph_score(other) <= score + 1e-9
    gains = sum(move.gain for move in result.moves)
    assert gains == pytest.approx(score - problem.graph_score(problem.start), rel=1e-9, abs=1e-9)
    if result.moves:
        assert result.moves[-1].score == pytest.approx(score, rel=1e-9, abs=1e-9)


@examples
@given(problems(), st.integers(0, 1), st.integers(0, 3))
def test_the_graph_obeys_and_no_single_arc_would_raise_the_score(problem, restarts, patience):
    check_result(problem, OrderSearch(restarts=restarts, patience=patience).run(problem))


@few
@given(problems(most=4))
def test_no_graph_is_better_than_the_best(problem):
    result = OrderSearch(restarts=2).run(problem)
    assert problem.graph_score(result.graph) <= best_score(problem) + 1e-9


@few
@given(st.integers(0, 10**6), st.sampled_from([BIC(), BDeu(ess=5.0), K2()]))
def test_tables_of_rows(seed, criterion):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (4, 40))
    for x in range(1, 4):
        codes[x] = np.where(rng.random(40) < 0.7, codes[:x].sum(axis=0) % 2, codes[x])
    problem = free_problem(PlainFamilies(dict(zip("abcd", codes, strict=True)), criterion), seed)
    check_result(problem, OrderSearch(patience=2).run(problem))


@examples
@given(problems(), st.integers(0, 99))
def test_the_same_seed_gives_the_same_graph(problem, seed):
    search = OrderSearch(restarts=1, patience=2)
    first, second = (
        search.run(free_problem(problem.families, seed, required=problem.required, start=problem.required))
        for _ in range(2)
    )
    assert first.graph == second.graph
    assert [(m.kind, m.start, m.end) for m in first.moves] == [(m.kind, m.start, m.end) for m in second.moves]


@examples
@given(problems())
def test_turning_covered_arcs_stays_in_the_class_and_obeys(problem):
    graph = _GrowShrinkTrees(problem).along(legal_order(problem, 0))[0]
    other = _random_equivalent(problem, graph)
    assert class_of(other) == class_of(graph)
    assert fits(problem, other)


def test_turning_covered_arcs_reaches_the_whole_class():
    graph = ((), (0,), (0, 1), (1,))
    problem = free_problem(ArbitraryFamilies(4, 0))
    assert {_random_equivalent(problem, graph) for _ in range(300)} == set(members(graph))


@examples
@given(problems(), st.integers(1, 8), st.integers(0, 99))
def test_a_neighbourhood_is_connected(problem, size, seed):
    graph = _GrowShrinkTrees(problem).along(legal_order(problem, seed))[0]
    found = _neighbourhood(graph, size, np.random.default_rng(seed))
    assert 1 <= len(found) == len(set(found)) <= size
    for i, x in enumerate(found[1:], 1):
        assert any(x in graph[y] or y in graph[x] for y in found[:i])
