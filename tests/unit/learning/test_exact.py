"""Exact search against enumeration of all graphs."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from oracles.learning import PlainFamilies
from oracles.structures import ArbitraryFamilies, best_score, fits, free_problem, graphs_of
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.scores.discrete import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.searches import exact
from tunbridge.learning.searches.exact import Exact, _best_graphs
from tunbridge.learning.searches.parent_sets import members_of, parent_source

SCORES = (BIC(), AIC(), LogLikelihood(), BDeu(ess=2.0), BDs(), K2(), FNML(), QNML())


def silent(_what):
    pass


def dependent_columns(n, n_rows, seed, most_states=3):
    """Columns each of which depends on one or two earlier ones."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n_rows)]
    for _ in range(1, n):
        s = int(rng.integers(2, most_states + 1))
        chosen = rng.choice(len(columns), min(len(columns), 2), replace=False)
        noise = rng.integers(0, s, n_rows) * (rng.random(n_rows) < 0.3)
        columns.append((sum(columns[c] for c in chosen) + noise) % s)
    return {f"v{i:02d}": columns[j] for i, j in enumerate(rng.permutation(n))}


def as_words(columns):
    return tb.as_table({name: values.astype(str) for name, values in columns.items()})


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_it_finds_the_best_of_all_graphs(n, score):
    for seed in range(5):
        problem = free_problem(PlainFamilies(dependent_columns(n, 40, seed), score))
        found = Exact().run(problem)
        assert found.graph in graphs_of(n)
        assert problem.graph_score(found.graph) == pytest.approx(best_score(problem), rel=1e-9)


@pytest.mark.parametrize("step", [0.0, 0.7])
def test_it_finds_the_best_of_all_graphs_of_five_nodes(step):
    for seed in range(3):
        problem = free_problem(ArbitraryFamilies(5, seed, step=step))
        found = Exact().run(problem)
        assert found.graph in set(graphs_of(5))
        assert problem.graph_score(found.graph) == pytest.approx(best_score(problem), rel=1e-9)


def test_it_obeys_the_limit_of_its_own():
    problem = free_problem(ArbitraryFamilies(4, 3), max_parents=np.array([3, 3, 0, 3]))
    limited = free_problem(problem.families, max_parents=np.array([1, 1, 0, 1]))
    found = Exact(max_parents=1).run(problem)
    assert fits(limited, found.graph)
    assert problem.graph_score(found.graph) == pytest.approx(best_score(limited), rel=1e-9)


def test_required_parents_stay_whatever_the_limit():
    problem = free_problem(ArbitraryFamilies(3, 0), required=((1, 2), (), ()), start=((1, 2), (), ()))
    assert Exact(max_parents=0).run(problem).graph == ((1, 2), (), ())


def test_of_equal_graphs_it_takes_the_one_with_few_parents_and_later_children():
    columns = {"a": np.tile([0, 1], 20), "b": np.tile([0, 0, 1, 1], 10), "c": np.zeros(40, int)}
    columns["d"] = columns["a"].copy()
    problem = free_problem(PlainFamilies(columns, LogLikelihood()))
    assert Exact().run(problem).graph == ((), (), (), (0,))


def test_a_move_of_no_use_is_not_made_for_rounding():
    """A parent whose gain is far below what rounding may do to the scores is left out."""

    class Noisy(ArbitraryFamilies):
        def _score(self, x, parents):
            return -1000.0 + 1e-10 * len(parents)

    assert Exact().run(free_problem(Noisy(4, 0))).graph == ((), (), (), ())


def test_groups_of_variables_are_solved_apart(monkeypatch):
    sizes = []

    def noting(sets, scores, tell):
        sizes.append(len(sets))
        return _best_graphs(sets, scores, tell)

    monkeypatch.setattr(exact, "_best_graphs", noting)
    allowed = np.zeros((4, 4), bool)
    allowed[:2, :2] = allowed[:2, 2:] = allowed[2:, 2:] = True  # two tiers
    problem = free_problem(ArbitraryFamilies(4, 1), allowed=allowed)
    found = Exact().run(problem)
    assert max(sizes) <= 2
    assert problem.graph_score(found.graph) == pytest.approx(best_score(problem), rel=1e-9)


def test_forty_variables_in_tiers_are_no_hardship():
    n = 40
    allowed = np.triu(np.ones((n, n), bool), 1)
    problem = free_problem(ArbitraryFamilies(n, 0), allowed=allowed, max_parents=np.full(n, 1))
    found = Exact().run(problem)
    best = sum(max(problem.families.score(x, p) for p in [(), *((c,) for c in range(x))]) for x in range(n))
    assert problem.graph_score(found.graph) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("low", [1, 3, 11])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 11])
def test_blocks_give_the_same_as_numpy(monkeypatch, n, low):
    monkeypatch.setattr(exact, "_LOW_BITS", low)
    problem = free_problem(ArbitraryFamilies(n, 5), max_parents=np.full(n, 2))
    source = parent_source(problem, only_useful=False, ways_out="")
    sets = [source.every(x) for x in range(n)]
    masks, scores = [s.masks for s in sets], [s.scores for s in sets]
    large = exact._large_best_graphs(masks, scores, silent)
    assert large.tolist() == exact._small_best_graphs(masks, scores).tolist()


@pytest.mark.parametrize("score", [BIC(), BDeu(ess=1.0)], ids=lambda score: score.name)
def test_counts_of_sets_and_families_lead_to_the_same_graph(monkeypatch, score):
    families = DiscreteFamilies(as_words(dependent_columns(9, 300, 1)), score)
    problem = free_problem(families, max_parents=np.full(9, 4))
    by_counts = Exact().run(problem)
    monkeypatch.setattr("tunbridge.learning.searches.parent_sets._FEW", 10**9)
    assert Exact().run(problem).graph == by_counts.graph


def test_it_is_no_worse_than_climbing():
    families = DiscreteFamilies(as_words(dependent_columns(12, 500, 2)), BIC())
    problem = free_problem(families)
    found = Exact(max_parents=4).run(problem)
    assert problem.graph_score(found.graph) >= problem.graph_score(climbed(problem, 4)) - 1e-6
    assert is_acyclic(found.graph)


def climbed(problem, most):
    """Add the best arc as long as one raises the score."""
    graph = list(problem.start)
    while True:
        options = []
        for x, parents in enumerate(graph):
            for c, score in enumerate(problem.families.additions(x, parents)):
                if len(parents) < most and c not in parents and c != x and x not in ancestors(graph, c) | {c}:
                    options.append((score - problem.families.score(x, parents), x, c))
        gain, x, c = max(options, default=(0.0, 0, 0))
        if gain <= 1e-9:
            return tuple(graph)
        graph[x] = tuple(sorted((*graph[x], c)))


def ancestors(graph, x):
    found, new = set(), set(graph[x])
    while new - found:
        found |= new
        new = {p for y in new for p in graph[y]}
    return found


def is_acyclic(graph):
    return all(x not in ancestors(graph, x) for x in range(len(graph)))


def test_progress_is_told():
    heard = []
    problem = free_problem(ArbitraryFamilies(3, 0), report=lambda what, score: heard.append((what, score)))
    Exact().run(problem)
    assert [what for what, _ in heard] == ["counting", *(f"parents of v{i} ({i + 1} of 3)" for i in range(3))]
    assert {score for _, score in heard} == {problem.graph_score(problem.start)}


class Interrupted(ArbitraryFamilies):
    def additions_of(self, x, parents, candidates):
        raise KeyboardInterrupt


def test_an_interrupt_goes_on_when_there_is_nothing_to_give_back():
    with pytest.raises(KeyboardInterrupt):
        Exact().run(free_problem(Interrupted(3, 0)))


def test_an_interrupt_gives_back_the_start_graph():
    start = ((1,), (), ())
    found = Exact().run(free_problem(Interrupted(3, 0), start=start))
    assert (found.graph, found.note) == (start, "interrupted: the start graph, unchanged")


def test_the_table_of_subsets_is_forecast():
    problem = free_problem(ArbitraryFamilies(21, 0), max_parents=np.full(21, 1))
    with pytest.raises(MemoryForecastError, match=r"exact search over \d+ variables that may depend on one another"):
        Exact(memory_limit=2**20).run(problem)


def test_the_parent_sets_are_forecast():
    problem = free_problem(ArbitraryFamilies(40, 0))
    with pytest.raises(MemoryForecastError, match=r"parent sets would need .* set max_parents, forbid arcs"):
        Exact().run(problem)


def test_too_many_variables_are_refused():
    with pytest.raises(DataError, match="at most 62 for this method; got 63"):
        Exact().run(free_problem(ArbitraryFamilies(63, 0), max_parents=np.full(63, 1)))


def test_constraints_that_leave_nothing_are_refused():
    class Impossible(ArbitraryFamilies):
        def _score(self, x, parents):
            return -np.inf if x == 1 else 0.0

    with pytest.raises(DataError, match="must allow a graph that can be scored; got none over 'v1'"):
        Exact().run(free_problem(Impossible(3, 0)))


@pytest.mark.parametrize("value", [-1, 1.5, True, "two"])
def test_a_limit_that_is_no_whole_number_is_refused(value):
    with pytest.raises(DataError, match=r"max_parents must be (an integer, or None|at least 0); got"):
        Exact(max_parents=value)


def test_a_memory_limit_must_be_a_positive_number():
    with pytest.raises(DataError, match="the memory limit"):
        Exact(memory_limit=0)


def test_members_of_a_mask():
    assert members_of(0) == ()
    assert members_of((1 << 61) | 2) == (1, 61)
