"""Order search: its options and results, interruption, bounded trees, and how often it finds the best graph."""

from __future__ import annotations

import numpy as np
import pytest

from networks import random_network
from oracles.learning import PlainFamilies
from oracles.structures import ArbitraryFamilies, best_score, fits, free_problem
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.scores.discrete import BIC
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.searches.hill_climbing import HillClimbing
from tunbridge.learning.searches.orders import OrderSearch, _GrowShrinkTrees, topological_order
from tunbridge.learning.searches.problem import Search
from tunbridge.network import BayesianNetwork


def small_table(seed: int, n_rows: int = 150) -> PlainFamilies:
    """Return the families of four two-valued columns drawn from a random network."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((4, n_rows), np.int64)
    for x in range(4):
        parents = rng.permutation(x)[: rng.integers(0, 3)]
        tables = rng.dirichlet([0.5] * 2, size=(2,) * len(parents))
        codes[x] = rng.random(n_rows) < tables[tuple(codes[p] for p in parents)][..., 1]
    return PlainFamilies(dict(zip("abcd", codes, strict=True)), BIC(), n_states=dict.fromkeys("abcd", 2))


def large_sample(seed: int):
    """Return the families of 20 000 rows from a random network, and the graph of that network."""
    rng = np.random.default_rng(seed)
    tables = random_network(rng, most_variables=20, most_cells=1e9, zeros=0.0, window=5)
    net = BayesianNetwork.from_tables(tables)
    families = DiscreteFamilies(net.sample(20_000, random_state=seed), BIC())
    place = {name: i for i, name in enumerate(families.names)}
    return families, tuple(tuple(sorted(place[p] for p in net.dag.parents(name))) for name in families.names)


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": -1}, r"restarts must be at least 0; got -1\."),
        ({"restarts": 1.5}, r"restarts must be an integer; got 1\.5\."),
        ({"patience": -2}, r"patience must be at least 0; got -2\."),
        ({"patience": None}, r"patience must be an integer; got None\."),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(DataError, match=message):
        OrderSearch(**options)


def test_it_is_a_search_with_a_name():
    assert isinstance(OrderSearch(), Search)
    assert OrderSearch.name == "orders"


def test_each_option_can_raise_the_score():
    scores = {}
    for options in ((0, 0), (0, 10), (5, 0)):
        search = OrderSearch(restarts=options[0], patience=options[1])
        problems = [free_problem(ArbitraryFamilies(7, seed), seed) for seed in range(15)]
        scores[options] = np.array([p.graph_score(search.run(p).graph) for p in problems])
    for options in ((0, 10), (5, 0)):
        assert (scores[options] >= scores[0, 0] - 1e-9).all()
        assert (scores[options] > scores[0, 0] + 1e-9).any()


# Small and odd problems


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_order(n):
    result = OrderSearch(restarts=2).run(free_problem(ArbitraryFamilies(n, 0)))
    assert result.graph == ((),) * n
    assert result.moves == ()


def test_a_column_without_values_and_a_constant_one():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 60)
    columns = {"a": a, "b": a ^ (rng.random(60) < 0.1), "c": np.full(60, -1), "d": np.zeros(60, np.int64)}
    families = PlainFamilies(columns, BIC(), n_states={"a": 2, "b": 2, "c": 2, "d": 1})
    graph = OrderSearch(restarts=1).run(free_problem(families)).graph
    assert graph[2] == graph[3] == ()
    assert sorted(graph[:2]) in ([(), (0,)], [(), (1,)])


class Hopeless(ArbitraryFamilies):
    """The last variable cannot be scored at all."""

    def _score(self, x, parents):
        return -np.inf if x == self.n - 1 or self.n - 1 in parents else super()._score(x, parents)


def test_a_variable_without_a_score_leaves_the_others_alone():
    trees, order = _GrowShrinkTrees(free_problem(Hopeless(4, 3))), np.array([3, 0, 1, 2])
    graph, score = trees.along(order)
    assert graph[3] == ()
    assert all(3 not in parents for parents in graph)
    assert np.isfinite(score)
    assert np.isfinite(trees.places(0, order[order != 0], 0, 3)).all()


def test_too_many_variables_are_refused_before_anything_is_stored(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "300")
    with pytest.raises(MemoryForecastError, match=r"which of 20 variables depend on which .*'sparse-candidate'"):
        _GrowShrinkTrees(free_problem(ArbitraryFamilies(20, 0)))


# Start, chance and Ctrl-C


def test_it_is_never_worse_than_the_start():
    for seed in range(20):
        families = ArbitraryFamilies(5, seed)
        start = OrderSearch(restarts=3).run(free_problem(families, seed)).graph
        problem = free_problem(families, seed + 1, start=start)
        result = OrderSearch(patience=0).run(problem)
        assert problem.graph_score(result.graph) >= problem.graph_score(start) - 1e-9


def test_only_the_given_generator_is_used():
    families = ArbitraryFamilies(8, 1)
    moves = {seed: OrderSearch().run(free_problem(families, seed)).moves for seed in (3, 3, 4)}
    again = OrderSearch().run(free_problem(families, 3)).moves
    assert [(m.kind, m.start, m.end) for m in moves[3]] == [(m.kind, m.start, m.end) for m in again]


def test_the_moves_lead_to_the_graph():
    disturbed = 0
    for seed in range(15):
        problem = free_problem(ArbitraryFamilies(9, seed), seed)
        result = OrderSearch().run(problem)
        score, steps = problem.graph_score(problem.start), [move.score for move in result.moves]
        np.testing.assert_allclose(np.cumsum([score, *(move.gain for move in result.moves)])[1:], steps, rtol=1e-9)
        assert steps[-1] == pytest.approx(problem.graph_score(result.graph), rel=1e-9, abs=0)
        assert all(a.seconds <= b.seconds for a, b in zip(result.moves, result.moves[1:], strict=False))
        disturbed += any(move.kind == "disturb" for move in result.moves)
    assert disturbed >= 3


class Interrupting(ArbitraryFamilies):
    """Ctrl-C at a certain question."""

    left = 10**9

    def _additions_of(self, x, parents, candidates):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super()._additions_of(x, parents, candidates)


def test_an_interrupt_keeps_the_best_so_far():
    scores, whole = [], free_problem(Interrupting(7, 5), 0)
    best = whole.graph_score(OrderSearch(restarts=2).run(whole).graph)
    for questions in range(7, 200, 8):
        families = Interrupting(7, 5)
        families.left = questions
        problem = free_problem(families, 0)
        result = OrderSearch(restarts=2).run(problem)
        families.left = 10**9
        assert fits(problem, result.graph)
        assert result.note in ("", "interrupted: the best graph so far")
        gained = sum(m.gain for m in result.moves)
        scores.append(problem.graph_score(result.graph))
        assert scores[-1] == pytest.approx(problem.graph_score(problem.start) + gained, rel=1e-9, abs=1e-9)
        assert result.note or scores[-1] == pytest.approx(best, rel=1e-12, abs=0)
    assert result.note == ""
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


def test_an_interrupt_between_moves():
    def interrupt(what, score):
        heard.append(score)
        if len(heard) == 3:
            raise KeyboardInterrupt

    heard: list[float] = []
    problem = free_problem(ArbitraryFamilies(12, 2), 0, report=interrupt)
    result = OrderSearch().run(problem)
    assert result.note == "interrupted: the best graph so far"
    assert problem.graph_score(result.graph) >= heard[-1] - 1e-9


# Trees


def test_trees_that_are_emptied_change_nothing(monkeypatch):
    problem = [free_problem(ArbitraryFamilies(7, 4), 0) for _ in range(2)]
    whole = OrderSearch().run(problem[0])
    monkeypatch.setitem(_GrowShrinkTrees.__init__.__kwdefaults__, "most_bytes", 5_000)
    trimmed = OrderSearch().run(problem[1])
    assert trimmed.graph == whole.graph
    assert [m.kind for m in trimmed.moves] == [m.kind for m in whole.moves]


def test_trees_are_emptied_only_when_they_are_large():
    problem = free_problem(ArbitraryFamilies(6, 0))
    for most, emptied in ((10**9, False), (0, True)):
        trees = _GrowShrinkTrees(problem, most_bytes=most)
        before = trees.along(np.arange(6))
        assert trees.trim() is emptied
        assert trees.along(np.arange(6)) == before


def test_a_second_walk_asks_for_nothing():
    families = Interrupting(6, 0)
    trees, order = _GrowShrinkTrees(free_problem(families)), np.arange(6)
    first = trees.along(order)
    families._additions.clear()
    families._scores.clear()
    families.left = 0
    assert trees.along(order) == first


class Rounded(ArbitraryFamilies):
    """Every parent is as good as any other, but for the last digit."""

    def _score(self, x, parents):
        return len(parents) + 1e-14 * sum(parents)


def test_rounding_does_not_choose_the_parents():
    problem = free_problem(Rounded(5, 0), max_parents=np.full(5, 1))
    graph, _ = _GrowShrinkTrees(problem).along(np.array([4, 3, 2, 1, 0]))
    assert graph == ((1,), (2,), (3,), (4,), ())


def test_an_order_of_a_graph():
    graph = ((2,), (), (1,), ())
    assert topological_order(graph, range(4)).tolist() == [1, 2, 0, 3]
    assert topological_order(graph, [3, 2, 1, 0]).tolist() == [3, 1, 2, 0]


# How good it is


def test_of_small_tables_nearly_all_give_the_best_graph():
    problems = [free_problem(small_table(seed), seed) for seed in range(60)]
    found = [p.graph_score(OrderSearch(restarts=2, patience=3).run(p).graph) for p in problems]
    hits = sum(score >= best_score(p) - 1e-9 for score, p in zip(found, problems, strict=True))
    assert hits >= 57  # all 60 in fact; of the first 100 seeds, with 3 restarts and a patience of 10, 99


def test_large_samples_score_at_least_as_well_as_the_true_graph():
    gains = {"orders": [], "climb": []}
    for seed in range(15):
        families, true = large_sample(seed)
        problem = free_problem(families, seed)
        level = problem.graph_score(true) - 1e-6
        gains["orders"].append(problem.graph_score(OrderSearch(patience=5).run(problem).graph) - level)
        gains["climb"].append(problem.graph_score(HillClimbing().run(problem).graph) - level)
    assert sum(gain >= 0 for gain in gains["orders"]) >= 13
    assert sum(gain >= 0 for gain in gains["climb"]) <= 10  # so the bound is no matter of course
