"""Exact search equals enumeration, whatever the scores, ties, priors and constraints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.structures import ArbitraryFamilies, best_score, fits, free_problem, graphs_of
from tunbridge.learning.searches.exact import Exact

examples = settings(max_examples=150, deadline=None)


class TiedFamilies(ArbitraryFamilies):
    """Small integers as scores, so that many graphs score alike; rounded down, so that none is above its ceiling."""

    def _score(self, x, parents):
        return float(np.floor(super()._score(x, parents)))


@st.composite
def problems(draw, kind=ArbitraryFamilies):
    """Draw scores, with or without a ceiling and a prior, and constraints that some graph obeys."""
    n, seed = draw(st.integers(1, 4)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    bonus = rng.normal(size=(n, n)) * 2 if draw(st.booleans()) else None
    families = kind(n, seed, step=draw(st.sampled_from([0.0, 0.3, 1.0])), bonus=bonus)
    known = graphs_of(n)[draw(st.integers(0, len(graphs_of(n)) - 1))]
    required = tuple(tuple(p for p in parents if rng.random() < 0.4) for parents in known)
    allowed = rng.random((n, n)) < draw(st.sampled_from([0.5, 0.8, 1.0]))
    for x, parents in enumerate(required):
        allowed[list(parents), x] = True
    limits = np.array([max(len(p), int(rng.integers(0, n + 1))) for p in required])
    return free_problem(families, allowed=allowed, required=required, max_parents=limits, start=required)


@examples
@given(problems())
def test_the_best_graph_is_found_under_any_constraints(problem):
    found = Exact().run(problem).graph
    assert found in graphs_of(problem.n)
    assert fits(problem, found)
    assert problem.graph_score(found) == pytest.approx(best_score(problem), rel=1e-9, abs=1e-9)


@examples
@given(problems(TiedFamilies))
def test_ties_are_broken_alike_every_time(problem):
    found = Exact().run(problem).graph
    assert fits(problem, found)
    assert problem.graph_score(found) == pytest.approx(best_score(problem), rel=1e-9, abs=1e-9)
    assert Exact().run(problem).graph == found
