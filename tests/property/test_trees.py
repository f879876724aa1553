"""Trees are the best there are, and the information they are made from is that of the rows, however it is counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import oracles.trees as oracle
from oracles.learning import PlainFamilies, graph_score
from oracles.trees import CountedColumns, problem_of
from tunbridge.counts import Counter, columns, information
from tunbridge.counts.information import PairInformation, information_and_rows, pair_information
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.kernels.compiled import kernels_forced
from tunbridge.learning.scores.discrete import BIC, LogLikelihood
from tunbridge.learning.searches import trees
from tunbridge.learning.searches.trees import TAN, ChowLiu, _spanning_forest

TINY = {"rtol": 1e-12, "atol": 1e-13}  # a difference of sums of n log n, divided by n
PATHS: dict[str, dict[str, object]] = {
    "as shipped": {},
    "planes": {"SMALL_CELLS": -1},
    "planes in small pieces": {"SMALL_CELLS": -1, "_TILE": 1, "_STRIP": 2, "_WORDS_WORTH_A_THREAD": 1},
    "planes by threads": {"SMALL_CELLS": -1, "_WORDS_WORTH_A_THREAD": 1},
    "histograms": {"SMALL_CELLS": -1, "PLANE_STATES": 0},
    "what occurs": {"SMALL_CELLS": -1, "PLANE_STATES": 0, "is_dense": lambda *_: False},
}
ROWS = [0, 1, 2, 63, 64, 65, 255, 256, 257, 700, 2050]
STATES = [0, 1, 2, 2, 3, 3, 5, 15, 16, 17, 40]

seeds = st.integers(0, 2**32 - 1)


def examples(n: int) -> settings:
    return settings(max_examples=n, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def thresholds(path: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in PATHS[path].items():
            for module in (columns, information):
                if hasattr(module, name):
                    patch.setattr(module, name, value)
        with kernels_forced() if PATHS[path] else nullcontext():
            yield


def table_of(codes: Sequence[np.ndarray], n_states: Sequence[int]) -> Table:
    columns = [
        Column(Variable(name, range(n)), np.asarray(c, code_type(n)), pa.int64())
        for name, c, n in zip("abcdefgh", codes, n_states, strict=False)
    ]
    return Table.of(columns)


def random_table(seed: int, n_rows: int, states: Sequence[int] = STATES, rates: Sequence[float] = (0, 0, 0.2)) -> Table:
    """Return a table of up to seven columns that depend on each other, some with missing cells."""
    rng = np.random.default_rng(seed)
    n_states = rng.choice(states, rng.integers(0, 8)).tolist()
    common, codes = rng.random(n_rows), []
    for n in n_states:
        mixed = np.where(rng.random(n_rows) < rng.random(), common, rng.random(n_rows))
        column = (n * mixed**2).astype(int)
        column[rng.random(n_rows) < (rng.choice(rates) if n else 1.0)] = -1
        codes.append(column)
    return table_of(codes, n_states)


# Information


@pytest.mark.parametrize("path", PATHS)
@examples(25)
@given(seed=seeds, n_rows=st.sampled_from(ROWS), jobs=st.sampled_from([1, 2, 3]))
def test_the_information_of_all_pairs_is_that_of_the_rows(path: str, seed: int, n_rows: int, jobs: int) -> None:
    table = random_table(seed, n_rows)
    with thresholds(path):
        found = pair_information(Counter(table, n_jobs=jobs))
    information, rows = oracle.pair_information(table)
    assert [v.name for v in found.variables] == list(table.names)
    np.testing.assert_allclose(found.information, information, **TINY)
    np.testing.assert_array_equal(found.rows, rows)


@pytest.mark.parametrize("path", PATHS)
@examples(20)
@given(seed=seeds, n_rows=st.sampled_from(ROWS), jobs=st.sampled_from([1, 2, 3]))
def test_the_information_given_a_class_is_that_of_the_rows(path: str, seed: int, n_rows: int, jobs: int) -> None:
    table = random_table(seed, n_rows)
    if not table.names:
        return
    c = table.names[seed % table.n_columns]
    with thresholds(path):
        found = pair_information(Counter(table, n_jobs=jobs), c)
    information, rows = oracle.pair_information(table, c)
    with_class = oracle.pair_information(table)[0][table.names.index(c)]
    assert [v.name for v in found.variables] == [name for name in table.names if name != c]
    np.testing.assert_allclose(found.information, information, **TINY)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.with_given, np.delete(with_class, table.names.index(c)), **TINY)


@examples(10)
@given(seed=seeds, given_class=st.booleans())
def test_the_number_of_threads_changes_no_bit(seed: int, given_class: bool) -> None:
    table = random_table(seed, 700, [1, 2, 3, 16, 17])
    c = table.names[0] if given_class and table.names else None
    with thresholds("planes in small pieces"):
        one, two, three = (pair_information(Counter(table, n_jobs=jobs), c) for jobs in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.information, other.information)


@examples(6)
@given(seed=seeds)
def test_long_planes_are_counted_block_by_block(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = [rng.integers(-(i == 1), 3, 150_001) for i in range(3)]
    codes[2] = np.where(rng.random(150_001) < 0.1, codes[0], codes[2])
    table = table_of([*codes, rng.integers(0, 2, 150_001)], [3, 3, 3, 2])
    for c in (None, "d"):
        counter = Counter(table)
        found, pairs = pair_information(counter, c), counter.pairs() if c is None else counter.pairs_within(c)
        plain = PairInformation(pairs.variables, *information_and_rows(pairs))
        np.testing.assert_allclose(found.information, plain.information, **TINY)
        np.testing.assert_array_equal(found.rows, plain.rows)


# Spanning trees


@st.composite
def weight_matrices(draw: st.DrawFn, most: int = 5) -> np.ndarray:
    """Return symmetric weights of a few sizes, so that many are equal, or none; −inf where there is no edge."""
    rng, n = np.random.default_rng(draw(seeds)), draw(st.integers(0, most))
    values = draw(st.sampled_from([[0.0], [0.0, 1.0], [1.0, 2.0, 3.0], [-np.inf, 1.0, 2.0], []]))
    upper = np.triu(rng.choice(values, (n, n)) if values else rng.random((n, n)), 1)
    return np.where(np.tri(n, dtype=bool), upper.T, upper)


@examples(150)
@given(weights=weight_matrices(), few=st.sampled_from([0, 32]))
def test_no_spanning_tree_weighs_more(weights: np.ndarray, few: int) -> None:
    n = len(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "_FEW_NODES", few)
        patch.setattr(trees, "_PATIENT_NODES", few)
        found = _spanning_forest(weights)
    assert oracle.is_forest(found, n)
    possible = [some for some in oracle.forests(n) if all(weights[e] > -np.inf for e in some)]
    most_edges = max(map(len, possible))
    heaviest = max(sum(weights[e] for e in some) for some in possible if len(some) == most_edges)
    assert len(found) == most_edges
    assert sum(weights[e] for e in found) == pytest.approx(heaviest, rel=1e-12)


@examples(150)
@given(weights=weight_matrices(14))
def test_equal_edges_are_taken_by_their_ends_with_and_without_a_kernel(weights: np.ndarray) -> None:
    expected = oracle.greedy_forest(weights)
    for few in (0, 32):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trees, "_FEW_NODES", few)
            patch.setattr(trees, "_PATIENT_NODES", few)
            assert _spanning_forest(weights) == expected


# Trees


def dependent_codes(seed: int, n: int, n_rows: int = 60) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n, n_rows))
    for x in range(1, n):
        copied = rng.random(n_rows) < rng.choice([0.0, 0.4, 0.8])
        codes[x] = np.where(copied, codes[rng.integers(x)], codes[x])
    return dict(zip("abcde", codes, strict=False))


@examples(60)
@given(seed=seeds, n=st.integers(1, 5))
def test_no_tree_has_a_higher_likelihood(seed: int, n: int) -> None:
    codes = dependent_codes(seed, n)
    families = PlainFamilies(codes, LogLikelihood(), dict.fromkeys(codes, 3))
    found = ChowLiu().run(problem_of(CountedColumns(table_of(list(codes.values()), [3] * n))))
    best = max(graph_score(families, graph) for graph in oracle.rooted_trees(n))
    assert graph_score(families, found.graph) == pytest.approx(best, rel=1e-12)
    gained = graph_score(families, found.graph) - graph_score(families, ((),) * n)
    assert (found.moves[-1].score if found.moves else 0.0) == pytest.approx(gained, rel=1e-9, abs=1e-9)


@examples(40)
@given(seed=seeds, n=st.integers(1, 4))
def test_no_forest_has_a_higher_bic(seed: int, n: int) -> None:
    codes = dependent_codes(seed, n)
    families = PlainFamilies(codes, BIC(), dict.fromkeys(codes, 3))
    found = ChowLiu(forest="bic").run(problem_of(CountedColumns(table_of(list(codes.values()), [3] * n))))
    best = max(graph_score(families, parents_of(edges, n)) for edges in oracle.forests(n))
    assert graph_score(families, found.graph) == pytest.approx(best, rel=1e-12)


def parents_of(edges: Sequence[tuple[int, int]], n: int) -> tuple[tuple[int, ...], ...]:
    parents = trees.direct(edges, n)
    return tuple(() if p < 0 else (p,) for p in parents)


@examples(40)
@given(seed=seeds, n=st.integers(2, 5))
def test_no_tree_around_a_class_has_a_higher_likelihood(seed: int, n: int) -> None:
    codes = dependent_codes(seed, n)
    families = PlainFamilies(codes, LogLikelihood(), dict.fromkeys(codes, 3))
    target = seed % n
    found = TAN("abcde"[target]).run(problem_of(CountedColumns(table_of(list(codes.values()), [3] * n))))
    others = [v for v in range(n) if v != target]
    best = -np.inf
    for tree in oracle.rooted_trees(n - 1):
        graph = {target: ()} | {others[x]: tuple(sorted([target, *(others[p] for p in tree[x])])) for x in range(n - 1)}
        best = max(best, graph_score(families, [graph[v] for v in range(n)]))
    assert found.graph[target] == ()
    assert graph_score(families, found.graph) == pytest.approx(best, rel=1e-12)
    gained = graph_score(families, found.graph) - graph_score(families, ((),) * n)
    assert found.moves[-1].score == pytest.approx(gained, rel=1e-9, abs=1e-9)


@examples(30)
@given(seed=seeds)
def test_the_order_of_columns_and_states_makes_no_difference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = dependent_codes(seed, 5)
    shuffled = {name: rng.permutation(3)[codes[name]] for name in rng.permutation(list(codes)).tolist()}
    tables = [
        Table.of([Column(Variable(name, range(3)), c.astype(np.int8), pa.int64()) for name, c in some.items()])
        for some in (codes, shuffled)
    ]
    for search in (ChowLiu(), ChowLiu(forest=True), TAN("c")):
        one, two = (search.run(problem_of(CountedColumns(table))) for table in tables)
        assert one.graph == two.graph
