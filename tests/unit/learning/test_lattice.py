"""The scores of all families from the counts of sets of variables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import tunbridge as tb
from oracles.learning import PlainFamilies
from tunbridge.learning.scores.discrete import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.scores.lattice import count_lattice, has_lattice, lattice_bytes

SCORES = (BIC(), AIC(), LogLikelihood(), NodeAverage(n_variables=5), BDeu(ess=2.0), K2(), FNML(), QNML())


def table_of(n, n_rows, seed, n_states=(2, 3, 4, 2, 5)):
    rng = np.random.default_rng(seed)
    columns = {f"v{i}": rng.integers(0, n_states[i % len(n_states)], n_rows) for i in range(n)}
    columns["v0"][: n_rows // 2] = columns[f"v{min(n - 1, 1)}"][: n_rows // 2] % 2
    return tb.as_table({name: values.astype(str) for name, values in columns.items()})


def parent_sets(n, x, most):
    return [p for k in range(most + 1) for p in combinations([c for c in range(n) if c != x], k)]


def as_masks(sets):
    return np.array([sum(1 << c for c in members) for members in sets], np.int64)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@pytest.mark.parametrize(("n", "n_rows", "max_size"), [(5, 60, 5), (5, 400, 3), (6, 15, 6), (1, 9, 1), (2, 9, 1)])
def test_scores_equal_those_of_the_families(score, n, n_rows, max_size):
    families = DiscreteFamilies(table_of(n, n_rows, 0), score)
    lattice = count_lattice(families, max_size)
    for x in range(n):
        sets = parent_sets(n, x, max_size - 1)
        expected = [families.score(x, parents) for parents in sets]
        np.testing.assert_allclose(lattice.scores(x, as_masks(sets)), expected, rtol=1e-10, atol=1e-10)


def test_priors_of_arcs_are_added():
    bonus = np.random.default_rng(0).normal(size=(4, 4))
    families = DiscreteFamilies(table_of(4, 50, 1), BIC(), arc_bonus=bonus)
    lattice = count_lattice(families, 4)
    sets = parent_sets(4, 2, 3)
    expected = [families.score(2, parents) for parents in sets]
    np.testing.assert_allclose(lattice.scores(2, as_masks(sets)), expected, rtol=1e-10, atol=0)


def test_sets_of_too_many_states_are_left_out():
    families = DiscreteFamilies(table_of(5, 80, 2), BIC())
    lattice, states = count_lattice(families, 5, most=9), families.columns.states
    for x in range(5):
        sets = parent_sets(5, x, 4)
        for parents, score in zip(sets, lattice.scores(x, as_masks(sets)), strict=True):
            if np.prod(states[list(parents)]) < 9:
                assert score == pytest.approx(families.score(x, parents), rel=1e-10)
            elif len(parents) == 4:
                assert score == -np.inf


def test_the_number_of_threads_changes_nothing():
    table = table_of(7, 300, 3)
    terms = [count_lattice(DiscreteFamilies(table, BDeu(), n_jobs=n), 5).terms for n in (1, 2, 8)]
    assert np.array_equal(terms[0], terms[1])
    assert np.array_equal(terms[0], terms[2])


def test_who_has_a_lattice():
    table, rows = table_of(3, 20, 4), {"a": ["x", None, "y"], "b": ["u", "v", "v"]}
    assert has_lattice(DiscreteFamilies(table, BIC()))
    assert not has_lattice(DiscreteFamilies(table, BDs()))
    assert not has_lattice(DiscreteFamilies(table.with_weights(np.full(20, 0.5)), BIC()))
    assert not has_lattice(DiscreteFamilies(tb.as_table(rows), BIC()))
    assert not has_lattice(PlainFamilies({"a": [0, 1], "b": [0, 1]}, BIC()))


def test_the_memory_grows_with_the_sets():
    families = DiscreteFamilies(table_of(20, 30, 5), BIC())
    assert lattice_bytes(families, 5) > 8 * 21_700
    assert lattice_bytes(families, 20) > 8 * 2**20
