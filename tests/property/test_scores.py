"""Scores agree with their definitions on any table, and equivalent graphs score alike where they should."""

from __future__ import annotations

from collections.abc import Callable
from math import log, prod

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles import scores as oracle
from oracles.learning import PlainFamilies, all_graphs, graph_score
from tunbridge.learning.scores.complexity import log_regret, log_regret_of_states
from tunbridge.learning.scores.discrete import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage, Score
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.scores.gaussian import GaussianFamilies
from tunbridge.learning.scores.mixed import MixedFamilies

NAMES = ("a", "b", "c")
ALL = [LogLikelihood(), AIC(), AIC(k=0.3), BIC(), NodeAverage(), BDeu(), BDeu(ess=7), BDs(ess=2), K2(), FNML(), QNML()]
EQUIVALENT = [score for score in ALL if score.is_equivalent]
ORACLES: list[tuple[Score, Callable[[oracle.Rows, int, int], float]]] = [
    (LogLikelihood(), lambda rows, q, r: oracle.log_likelihood(rows)),
    (AIC(), lambda rows, q, r: oracle.log_likelihood(rows) - q * (r - 1)),
    (BIC(), lambda rows, q, r: oracle.log_likelihood(rows) - 0.5 * log(len(rows)) * q * (r - 1)),
    (BDeu(ess=3), lambda rows, q, r: oracle.bdeu(rows, q, r, 3)),
    (BDs(ess=3), lambda rows, q, r: oracle.bds(rows, r, 3)),
    (K2(), lambda rows, q, r: oracle.k2(rows, r)),
]


@st.composite
def discrete_columns(draw: st.DrawFn) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return three columns of codes, related by chance, and their numbers of states (some states may not occur)."""
    states = {name: draw(st.integers(1, 4)) for name in NAMES}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 40))
    columns = {name: rng.integers(0, draw(st.integers(1, states[name])), n) for name in NAMES}
    if draw(st.booleans()):
        columns["b"] = np.minimum(columns["a"], states["b"] - 1)
    return columns, states


def related(graphs: list[tuple[tuple[int, ...], ...]]) -> list[list[tuple[tuple[int, ...], ...]]]:
    """Return graphs of three nodes in groups with equal skeletons and v-structures."""
    groups: dict[object, list[tuple[tuple[int, ...], ...]]] = {}
    for graph in graphs:
        lines = frozenset(frozenset((x, p)) for x, parents in enumerate(graph) for p in parents)
        met = frozenset((x, p) for x, p in enumerate(graph) if len(p) == 2 and frozenset(p) not in lines)
        groups.setdefault((lines, met), []).append(graph)
    return list(groups.values())


CLASSES = related(all_graphs(3))


def test_classes_of_equivalent_graphs():
    assert sum(len(c) for c in CLASSES) == 25
    assert len(CLASSES) == 11


@pytest.mark.parametrize("score", EQUIVALENT, ids=repr)
@given(data=discrete_columns())
@settings(max_examples=25, deadline=None)
def test_equivalent_graphs_score_alike(score, data):
    columns, states = data
    families = PlainFamilies(columns, score, states)
    for graphs in CLASSES:
        values = [graph_score(families, graph) for graph in graphs]
        np.testing.assert_allclose(values, values[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("score", [BDs(ess=5), K2(), FNML()], ids=repr)
def test_others_need_not(score):
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 30)
    families = PlainFamilies(
        {"a": a, "b": np.where(rng.random(30) < 0.7, a, 3), "c": a}, score, {"a": 3, "b": 4, "c": 2}
    )
    gaps = [np.ptp([graph_score(families, graph) for graph in graphs]) for graphs in CLASSES]
    assert max(gaps) > 1e-3
    assert not score.is_equivalent


@pytest.mark.parametrize(("score", "definition"), ORACLES, ids=[repr(score) for score, _ in ORACLES])
@given(data=discrete_columns())
@settings(max_examples=20, deadline=None)
def test_sum_over_families_is_the_definition(score, definition, data):
    columns, states = data
    families, sizes = PlainFamilies(columns, score, states), [states[name] for name in NAMES]
    for graph in (((), (0,), (0, 1)), ((1, 2), (), ()), ((2,), (2,), ())):
        value = 0.0
        for x, parents in enumerate(graph):
            rows = list(zip(*(columns[NAMES[v]].tolist() for v in (*parents, x)), strict=True))
            value += definition(rows, prod(sizes[p] for p in parents), sizes[x])
        assert graph_score(families, graph) == pytest.approx(value, rel=1e-10, abs=1e-9)


@given(n=st.integers(1, 9), r=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_regret_is_its_definition(n, r):
    assert float(log_regret(n, r)) == pytest.approx(oracle.regret(n, r), rel=1e-12, abs=1e-12)
    assert float(log_regret_of_states(n, r)) == pytest.approx(oracle.regret(n, r), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("score", ALL, ids=repr)
@given(seed=st.integers(0, 2**32 - 1), q=st.integers(1, 30), r=st.integers(1, 5), density=st.floats(0.05, 3))
@settings(max_examples=25, deadline=None)
def test_sparse_tables_and_ceilings(score, seed, q, r, density):
    table = np.random.default_rng(seed).poisson(density, (q, r))
    n = max(int(table.sum()), 1)
    value = score.family(table, q, n)
    sparse = score.family(table[table.any(axis=1)], q, n)
    assert sparse == pytest.approx(value, rel=1e-12, abs=1e-12)
    assert value <= score.ceiling(q, r, n) + 1e-9
    assert score.family(table.astype(float), q, n) == value


@st.composite
def continuous_columns(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Return four related columns of numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(8, 40))
    mixing = rng.normal(size=(4, 4)) * (rng.random((4, 4)) < 0.6) + np.eye(4)
    values = rng.normal(size=(n, 4)) @ mixing * 10.0 ** rng.integers(-3, 4, 4) + rng.normal(0, 100, 4)
    return {name: values[:, i] for i, name in enumerate("pqrs")}


@given(columns=continuous_columns())
@settings(max_examples=40, deadline=None)
def test_continuous_families(columns):
    families = GaussianFamilies(tb.as_table(columns), LogLikelihood())
    values = np.column_stack(list(columns.values()))
    for x, parents in ((0, ()), (3, (0,)), (1, (0, 2)), (2, (0, 1, 3))):
        assert families.score(x, parents) == pytest.approx(
            oracle.gaussian(values[:, x], values[:, list(parents)]), rel=1e-6
        )
        additions = families.additions(x, parents[1:])
        if parents:
            # By other arithmetic, of columns that may be nearly collinear.
            assert additions[parents[0]] == pytest.approx(families.score(x, parents), rel=1e-6, abs=1e-6)


@given(columns=continuous_columns())
@settings(max_examples=20, deadline=None)
def test_equivalent_continuous_graphs(columns):
    families = GaussianFamilies(tb.as_table({name: columns[name] for name in "pqr"}), BIC())
    for graphs in CLASSES:
        values = [graph_score(families, graph) for graph in graphs]
        np.testing.assert_allclose(values, values[0], rtol=1e-7, atol=1e-7)


@given(
    columns=continuous_columns(),
    seed=st.integers(0, 2**32 - 1),
    n_states=st.tuples(st.integers(1, 3), st.integers(1, 12)),
)
@settings(max_examples=40, deadline=None)
def test_mixed_families(columns, seed, n_states):
    n = len(columns["p"])
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, k, n) for k in n_states]
    table = tb.as_table(
        {"a": np.array(list("abc"))[codes[0]], "b": np.array(list("abcdefghijkl"))[codes[1]], **columns}
    )
    families = MixedFamilies(table, LogLikelihood(), DiscreteFamilies(table.select(["a", "b"]), LogLikelihood()))
    values = np.column_stack([columns[name] for name in "pqrs"])
    for categories in ((), (0,), (1,), (0, 1)):
        groups = list(zip(*(codes[c].tolist() for c in categories), strict=True)) if categories else [0] * n
        for numbers in ((), (1,), (1, 3)):
            parents = (*categories, *(2 + v for v in numbers))
            found = families.score(2, parents)
            assert found == pytest.approx(
                oracle.conditional_gaussian(values[:, 0], values[:, list(numbers)], groups), rel=1e-6
            )
            for i, c in enumerate(parents):
                assert families.additions(2, parents[:i] + parents[i + 1 :])[c] == pytest.approx(found, rel=1e-8)
