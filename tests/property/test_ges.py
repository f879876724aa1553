"""Greedy equivalence search ends in a local optimum, whatever the score and whatever the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.equivalence import SetFamilies, arcs_of, classes_around, problem_of
from oracles.graphs import is_acyclic
from oracles.learning import PlainFamilies, graph_score
from tunbridge.learning.scores.discrete import BIC, BDeu, NodeAverage
from tunbridge.learning.searches.ges import GES

examples = settings(max_examples=40, deadline=None)


def check_local_optimum(families, kinds=("insert", "delete", "turn")):
    result = GES(turning="turn" in kinds).run(problem_of(families))
    score = graph_score(families, result.graph)
    tie = 1e-8 * max(1.0, abs(score))
    for kind in kinds:
        for other in classes_around(result.graph, kind).values():
            assert graph_score(families, other) <= score + tie
    gains = sum(move.gain for move in result.moves)
    assert gains == pytest.approx(score - graph_score(families, ((),) * families.n), rel=1e-9, abs=1e-9)


@st.composite
def tables(draw, least_state=0, most_columns=4):
    n, n_rows = draw(st.integers(1, most_columns)), draw(st.integers(1, 40))
    columns = {f"x{i}": draw(st.lists(st.integers(least_state, 2), min_size=n_rows, max_size=n_rows)) for i in range(n)}
    for name in columns:  # copies make ties and strong effects
        if draw(st.booleans()):
            rows = draw(st.integers(0, n_rows))
            columns[name][:rows] = columns["x0"][:rows]
    return columns


@examples
@given(tables(), st.sampled_from([BIC(), BDeu(ess=1.0), BDeu(ess=20.0)]))
def test_no_step_from_the_last_class_gains(columns, criterion):
    check_local_optimum(PlainFamilies(columns, criterion))


@examples
@given(st.lists(st.integers(-3, 3), min_size=16, max_size=16), st.booleans())
def test_no_step_gains_whatever_the_score(values, turning):
    check_local_optimum(SetFamilies(values), ("insert", "delete", "turn") if turning else ("insert", "delete"))


@examples
@given(st.integers(0, 2**32 - 1))
def test_no_step_gains_in_five_nodes(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=32) - rng.uniform(0, 0.5) * np.array([i.bit_count() ** 2 for i in range(32)])
    check_local_optimum(SetFamilies(values))


@examples
@given(tables(least_state=-1, most_columns=5), st.sampled_from([BIC(), NodeAverage()]))
def test_with_missing_cells_it_ends_with_a_graph(columns, criterion):
    families = PlainFamilies(columns, criterion)
    result = GES().run(problem_of(families))
    assert is_acyclic(families.n, set(arcs_of(result.graph)))
