"""Parent sets and their scores."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import tunbridge as tb
from oracles.structures import ArbitraryFamilies, free_problem
from tunbridge.learning.scores.discrete import AIC, BIC, BDeu, LogLikelihood
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.searches import parent_sets
from tunbridge.learning.searches.parent_sets import _payable_configurations, members_of, parent_source


def found(sets):
    return {members_of(int(mask)): float(score) for mask, score in zip(sets.masks, sets.scores, strict=True)}


def every_set(problem, x):
    free = [c for c in range(problem.n) if problem.is_allowed(c, x) and c not in problem.required[x]]
    most = problem.max_parents[x] - len(problem.required[x])
    chosen = (c for k in range(most + 1) for c in combinations(free, k))
    return {p: problem.families.score(x, p) for p in (tuple(sorted((*c, *problem.required[x]))) for c in chosen)}


def useful_of(scores):
    return {p: s for p, s in scores.items() if all(s > t for q, t in scores.items() if set(q) < set(p))}


def small_table(n, n_rows, seed=0):
    rng = np.random.default_rng(seed)
    columns = {f"v{i}": rng.integers(0, 2 + i % 3, n_rows) for i in range(n)}
    columns["v3"] = (columns["v0"] + columns["v1"]) % 2
    return tb.as_table({name: values.astype(str) for name, values in columns.items()})


@pytest.mark.parametrize("step", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_every_set_and_the_useful_ones(seed, step):
    families = ArbitraryFamilies(5, seed, step=step)
    allowed = np.random.default_rng(seed).random((5, 5)) < 0.8
    allowed[3, 1] = True
    problem = free_problem(families, allowed=allowed, required=((), (3,), (), (), ()), max_parents=np.full(5, 3))
    every = parent_source(problem, only_useful=False, ways_out="")
    useful = parent_source(problem, only_useful=True, ways_out="")
    for x in range(5):
        scores = every_set(problem, x)
        assert found(every.every(x)) == pytest.approx(scores, rel=1e-12)
        assert found(useful.useful(x)) == pytest.approx(useful_of(scores), rel=1e-12)


def test_sets_come_smallest_first_then_by_mask():
    masks = parent_source(free_problem(ArbitraryFamilies(4, 0)), only_useful=False, ways_out="").every(1).masks
    assert masks.tolist() == [0, 1, 4, 8, 5, 9, 12, 13]


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(), LogLikelihood()], ids=lambda score: score.name)
def test_counts_of_sets_give_the_same_useful_sets(monkeypatch, score):
    monkeypatch.setattr(parent_sets, "_FEW", 0)
    problem = free_problem(DiscreteFamilies(small_table(6, 40), score), required=((), (), (5,), (), (), ()))
    source = parent_source(problem, only_useful=True, ways_out="")
    assert source.lattice is not None
    for x in range(6):
        expected = useful_of(every_set(problem, x))
        sets = found(source.useful(x))
        clear = {p for p, s in expected.items() if all(s > t + 1e-9 for q, t in expected.items() if set(q) < set(p))}
        assert clear <= set(sets) <= set(every_set(problem, x))
        assert {p: sets[p] for p in clear} == pytest.approx({p: expected[p] for p in clear}, rel=1e-10)


def test_a_prior_can_make_a_large_family_pay():
    """A set beyond the ceiling, together with a parent that has a bonus, may still be the best; it is found."""
    bonus, n_lifted = np.zeros((4, 4)), 0
    bonus[1, 0], bonus[2, 0] = 0.5, 4.0
    for seed in range(150):
        problem = free_problem(ArbitraryFamilies(4, seed, step=1.0, spread=3.0, bonus=bonus))
        useful = set(useful_of(every_set(problem, 0)))
        assert useful <= set(found(parent_source(problem, only_useful=True, ways_out="").useful(0)))
        hopeless = {c for c in (1, 3) if problem.families.additions(0, ())[c] == -np.inf}
        n_lifted += any(2 in parents and hopeless & set(parents) for parents in useful)
    assert n_lifted > 3


def test_families_that_cannot_pay_are_not_even_counted():
    families = DiscreteFamilies(small_table(12, 30), BIC())
    problem = free_problem(families)
    price = 0.5 * np.log(30)
    assert _payable_configurations(problem, 0) == pytest.approx(1 + 30 * np.log(2) / price, rel=1e-12)
    source = parent_source(problem, only_useful=True, ways_out="")
    assert max(source.n_more) == 3  # 2³ < 13.2 < 2⁴
    assert parent_source(problem, only_useful=False, ways_out="").n_more == [11] * 12


@pytest.mark.parametrize("seed", range(5))
def test_no_useful_set_has_too_many_configurations(seed):
    problem = free_problem(DiscreteFamilies(small_table(5, 25, seed), AIC()), required=((4,), (), (), (), ()))
    states = problem.families.columns.states
    for x in range(5):
        for parents in useful_of(every_set(problem, x)):
            assert np.prod(states[list(parents)]) < _payable_configurations(problem, x)


def test_a_score_without_a_price_bounds_nothing():
    for score in (BDeu(), LogLikelihood()):
        assert _payable_configurations(free_problem(DiscreteFamilies(small_table(5, 30), score)), 0) == np.inf
    bonus = np.zeros((5, 5))
    bonus[1, 0] = 0.5
    lifted = free_problem(DiscreteFamilies(small_table(5, 30), BIC(), arc_bonus=bonus))
    assert _payable_configurations(lifted, 0) == np.inf
    assert _payable_configurations(lifted, 1) < np.inf
