"""A climb ends where no legal move raises the score; every search obeys what is known about the arcs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.learning import PlainFamilies, graph_score
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.scores.discrete import BIC, K2, BDeu, Score
from tunbridge.learning.scores.families import Parents
from tunbridge.learning.searches.climber import Climber
from tunbridge.learning.searches.hill_climbing import HillClimbing
from tunbridge.learning.searches.problem import Graph, Problem
from tunbridge.learning.searches.tabu import Tabu


def random_problem(seed: int, score: Score, *, constrained: bool) -> Problem:
    rng = np.random.default_rng(seed)
    n, names = 5, "abcde"
    codes = rng.integers(0, 3, (n, 80))
    for x in range(1, n):  # noisy copies and combinations of earlier columns
        copied = rng.random(80) < rng.choice([0.0, 0.5, 0.9])
        codes[x] = np.where(copied, (codes[rng.integers(x)] + codes[rng.integers(x)]) % 3, codes[x])
    families = PlainFamilies(dict(zip(names, codes, strict=True)), score)
    known = Constraints()
    if constrained:
        order = rng.permutation(list(names)).tolist()
        pairs = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
        some = [pairs[i] for i in rng.permutation(len(pairs))[:4]]
        known = Constraints(
            required=some[:1],
            forbidden=[*some[1:3], some[3][::-1]],
            max_parents={a: int(rng.integers(1, 4)) for a in "ab"},
        )
    compiled = known.compile(tuple(names))
    return Problem(families, compiled.allowed, compiled.required, compiled.max_parents, compiled.required, rng)


def is_acyclic(graph: Graph) -> bool:
    left = dict(enumerate(graph))
    while left:
        free = [x for x, parents in left.items() if not set(parents) & left.keys()]
        if not free:
            return False
        for x in free:
            del left[x]
    return True


def neighbours(problem: Problem, graph: Graph) -> list[Graph]:
    """Return every legal graph that differs by one arc added, removed or turned."""
    found = []

    def changed(*changes: tuple[int, Parents]) -> Graph:
        new = dict(changes)
        return tuple(tuple(sorted(new.get(x, parents))) for x, parents in enumerate(graph))

    for x in range(problem.n):
        for c in range(problem.n):
            if c == x:
                continue
            if c in graph[x]:
                rest = tuple(p for p in graph[x] if p != c)
                found += [changed((x, rest)), changed((x, rest), (c, (*graph[c], x)))]
            elif x not in graph[c]:
                found.append(changed((x, (*graph[x], c))))
    return [g for g in found if is_acyclic(g) and all(problem.is_legal(x, p) for x, p in enumerate(g))]


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([BIC(), BDeu(), K2()]), st.booleans(), st.booleans())
def test_the_climb_ends_in_a_local_optimum(seed: int, score: Score, constrained: bool, restart: bool) -> None:
    problem = random_problem(seed, score, constrained=constrained)
    found = HillClimbing(restarts=3 if restart else 0).run(problem)
    reached = graph_score(problem.families, found.graph)
    assert is_acyclic(found.graph)
    assert all(problem.is_legal(x, parents) for x, parents in enumerate(found.graph))
    assert all(graph_score(problem.families, g) <= reached + 1e-7 for g in neighbours(problem, found.graph))
    for move in found.moves:
        assert move.gain > 0 or restart


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([BIC(), BDeu()]), st.booleans())
def test_tabu_is_never_worse_than_a_climb_and_obeys(seed: int, score: Score, constrained: bool) -> None:
    problem = random_problem(seed, score, constrained=constrained)
    climbed = graph_score(problem.families, HillClimbing().run(problem).graph)
    found = Tabu(length=3, patience=15).run(problem)
    assert graph_score(problem.families, found.graph) >= climbed - 1e-7
    assert is_acyclic(found.graph)
    assert all(problem.is_legal(x, parents) for x, parents in enumerate(found.graph))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_the_best_move_is_the_best_of_all_neighbours(seed: int, constrained: bool) -> None:
    """Also in the middle of a walk at random, when most of what is kept is old."""
    problem = random_problem(seed, BIC(), constrained=constrained)
    climber = Climber(problem)
    for _ in range(12):
        reached = graph_score(problem.families, climber.graph)
        assert climber.score == pytest.approx(reached, rel=1e-12)
        around = [graph_score(problem.families, g) - reached for g in neighbours(problem, climber.graph)]
        finite = [gain for gain in around if gain > 0]
        step = climber.best()
        if finite:
            assert step is not None
            assert step.gain == pytest.approx(max(finite), rel=1e-9, abs=1e-9)
        step = climber.random_step()
        if step is not None:
            climber.make(step)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_plain_python_finds_the_same_moves(seed: int, constrained: bool, tabu: bool) -> None:
    """Along a tabu walk: the kernel, and the look at all moves."""
    problem = random_problem(seed, BIC(), constrained=constrained)
    climber = Climber(problem)
    climber.forbid(4)
    for _ in range(15):
        needed = climber.best_score - climber.score
        step = climber.best(needed)
        assert step == climber._best_of_all(needed)
        if step is None:
            break
        climber.make(step)
        if tabu:
            climber.touch(step.start, step.end)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_candidate_lists_of_everything_change_nothing(seed: int) -> None:
    problem = random_problem(seed, BIC(), constrained=False)
    lists = np.array([[c for c in range(problem.n) if c != x] for x in range(problem.n)])
    assert HillClimbing().run(problem, lists).graph == HillClimbing().run(problem).graph
