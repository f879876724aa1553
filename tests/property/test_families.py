"""Every way of scoring families gives what plain counting gives."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.learning import PlainFamilies
from tunbridge.counts import extensions, radix
from tunbridge.learning.scores.discrete import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage, Score
from tunbridge.learning.scores.families import DiscreteFamilies, Families

CountedFamilies = partial(DiscreteFamilies, kernels=True)
NumpyFamilies = partial(DiscreteFamilies, kernels=False)

SCORES: list[Score] = [LogLikelihood(), AIC(), BIC(), BDeu(ess=3.0), BDs(ess=2.0), K2(), FNML(), QNML(), NodeAverage()]

PATHS: list[dict[str, int]] = [
    {},
    {"_ROWS_A_PLANE": 1},  # row by row
    {"_ROWS_A_PLANE": 10**9, "_WORDS_WORTH_A_THREAD": 1},  # by planes, by threads
    {"_CODE_CELLS": 0, "_PLANE_JOINT": 20},  # planes only, the rest by histogram
    {"_KEPT_STATES": 0, "_KEPT_CELLS": 0},  # nothing known beforehand
    {"_KEPT_STATES": 0},
    {"_TABLE_JOINT": 0},  # histograms
    {"_TABLE_JOINT": 0, "_DENSE_CELLS": 0},  # configurations that occur, where the cells are more than the rows
    {"_TABLE_CELLS": 60, "_DENSE_CELLS": 30},
]


def random_columns(rng: np.random.Generator, n_rows: int, missing: float) -> tuple[dict, dict]:
    n_states = {name: int(rng.integers(1, 6)) for name in "dbca"}
    columns = {name: rng.integers(0, n, n_rows) for name, n in n_states.items()}
    columns["a"] = np.where(rng.random(n_rows) < 0.7, columns["b"] % n_states["a"], columns["a"])
    for name in "bd":
        columns[name][rng.random(n_rows) < missing] = -1
    return columns, n_states


def table_of(columns: dict, n_states: dict) -> tb.Table:
    import pyarrow as pa

    from tunbridge.data import Column, Table

    return Table.of(
        [
            Column(tb.Variable(name, [f"s{i}" for i in range(n_states[name])]), codes.astype(np.int8), pa.string())
            for name, codes in columns.items()
        ]
    )


def assert_same(fast: Families, slow: Families) -> None:
    n = slow.n
    for x in range(n):
        others = [c for c in range(n) if c != x]
        for parents in (p for k in range(n) for p in combinations(others, k)):
            assert fast.score(x, parents) == pytest.approx(slow.score(x, parents), rel=1e-9, abs=1e-9)
            expected, found = slow.additions(x, parents).copy(), fast.additions(x, parents)
            own = slow.score(x, parents)
            given_up = np.isneginf(found)
            single = [c for c in range(n) if slow.n_states[c] == 1]  # tells nothing, though chance may say otherwise
            expected[single] = np.where(given_up[single], -np.inf, expected[single])
            assert (expected[given_up] <= (own + 1e-9 * abs(own) if own > -np.inf else own)).all()
            np.testing.assert_allclose(found[~given_up], expected[~given_up], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(fast.removals(x, parents), slow.removals(x, parents), rtol=1e-9, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SCORES), st.sampled_from([1, 2, 63, 64, 65, 200]), st.booleans())
def test_all_paths_agree_with_plain_counting(seed: int, score: Score, n_rows: int, holes: bool) -> None:
    rng = np.random.default_rng(seed)
    columns, n_states = random_columns(rng, n_rows, 0.3 if holes and score.is_average else 0.0)
    table, slow = table_of(columns, n_states), PlainFamilies(columns, score, n_states)
    assert_same(NumpyFamilies(table, score), slow)
    for settings_of_paths in PATHS:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings_of_paths.items():
                patch.setattr(radix if hasattr(radix, name) else extensions, name, value)
            assert_same(CountedFamilies(table, score, n_jobs=1 + seed % 3), slow)


@pytest.mark.parametrize("score", SCORES)
def test_additions_of_some_candidates_are_those_of_all(score: Score) -> None:
    columns, n_states = random_columns(np.random.default_rng(5), 300, 0.0)
    for kind in (CountedFamilies, NumpyFamilies):
        families = kind(table_of(columns, n_states), score)
        some = np.array([0, 3])
        np.testing.assert_array_equal(families.additions_of(1, (2,), some), families.additions(1, (2,))[some])


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    columns, n_states = random_columns(rng, 60, 0.0)
    weights = rng.integers(0, 4, 60)
    repeated = {name: np.repeat(codes, weights) for name, codes in columns.items()}
    weighted = NumpyFamilies(table_of(columns, n_states).with_weights(weights.astype(float)), BIC())
    assert_same(weighted, PlainFamilies(repeated, BIC(), n_states))


def test_prior_log_odds_are_added() -> None:
    columns, n_states = random_columns(np.random.default_rng(3), 100, 0.0)
    bonus = np.random.default_rng(4).normal(size=(4, 4))
    for kind in (CountedFamilies, NumpyFamilies):
        plain, raised = (
            kind(table_of(columns, n_states), K2()),
            kind(table_of(columns, n_states), K2(), arc_bonus=bonus),
        )
        assert raised.score(0, (1, 3)) == pytest.approx(plain.score(0, (1, 3)) + bonus[1, 0] + bonus[3, 0], rel=1e-12)
        expected = plain.additions(0, (1,))[2] + bonus[1, 0] + bonus[2, 0]
        assert raised.additions(0, (1,))[2] == pytest.approx(expected, rel=1e-12)
