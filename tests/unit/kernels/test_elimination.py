from __future__ import annotations

import numpy as np
import pytest

from tunbridge.kernels.compiled import plain
from tunbridge.kernels.inference import elimination

RULES = [elimination.MIN_FILL, elimination.WEIGHTED_MIN_FILL, elimination.MIN_WEIGHT]


def best_order(*graph):
    return elimination.best_order(*graph, elimination.MOST_ORDERS)


def random_scopes(seed, n=12, n_scopes=14):
    rng = np.random.default_rng(seed)
    scopes = [rng.permutation(n)[: rng.integers(1, 5)].tolist() for _ in range(n_scopes)]
    return rng.integers(1, 5, n), scopes


def graph_of(n, scopes):
    starts = np.cumsum([0, *map(len, scopes)], dtype=np.int64)
    flat = np.array([v for scope in scopes for v in scope], np.int64)
    return elimination.join_scopes(n, starts, flat)


def neighbours_of(n, graph):
    start, neighbours = graph
    return [set(neighbours[start[v] : start[v + 1]].tolist()) for v in range(n)]


def check_elimination(n_states, neighbours, order, clique_start, clique_nodes):
    """Eliminate by the order with plain sets; return the entries of all cliques."""
    assert sorted(order.tolist()) == list(range(len(n_states)))
    left, total = [set(s) for s in neighbours], 0.0
    for step, v in enumerate(order.tolist()):
        told = clique_nodes[clique_start[step] : clique_start[step + 1]].tolist()
        assert len(told) == len(set(told))
        assert set(told) == left[v]
        total += n_states[[v, *told]].prod(dtype=float)
        for u in told:
            left[u] |= left[v] - {u}
            left[u].discard(v)
    return total


@pytest.mark.parametrize("seed", range(10))
def test_the_graph_joins_what_stands_in_one_scope(seed):
    _, scopes = random_scopes(seed)
    expected = [{u for s in scopes if v in s for u in s} - {v} for v in range(12)]
    start, neighbours = graph = graph_of(12, scopes)
    assert neighbours_of(12, graph) == expected
    assert len(neighbours) == start[-1] == sum(map(len, expected))  # each neighbour once


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_orders_are_permutations_and_cliques_those_of_elimination(rule, noise, seed):
    n_states, scopes = random_scopes(seed)
    graph = graph_of(12, scopes)
    cost, steps, *found = plain(elimination._eliminate)(
        np.log(n_states), np.zeros(12, np.int64), *graph, elimination._Choice(rule, noise, np.int64(seed), np.inf)
    )
    assert cost == pytest.approx(check_elimination(n_states, neighbours_of(12, graph), *found), rel=1e-9)
    assert steps > 0
    order, clique_start, clique_nodes = found
    cliques = [{v, *clique_nodes[clique_start[i] : clique_start[i + 1]].tolist()} for i, v in enumerate(order.tolist())]
    assert all(any(set(scope) <= clique for clique in cliques) for scope in scopes)


@pytest.mark.parametrize("seed", range(8))
def test_groups_go_in_order(seed):
    n_states, scopes = random_scopes(seed)
    group = np.random.default_rng(seed).integers(0, 3, 12)
    graph = graph_of(12, scopes)
    cost, *found = best_order(np.log(n_states), group, *graph)
    assert (np.diff(group[found[0]]) >= 0).all()
    assert cost == pytest.approx(check_elimination(n_states, neighbours_of(12, graph), *found), rel=1e-9)


def test_work_is_dropped_once_it_costs_too_much():
    n_states, scopes = random_scopes(1)
    graph, group = graph_of(12, scopes), np.zeros(12, np.int64)
    choice = elimination._Choice(elimination.MIN_FILL, 0.0, np.int64(0), np.inf)
    cost = plain(elimination._eliminate)(np.log(n_states), group, *graph, choice)[0]
    again = plain(elimination._eliminate)(np.log(n_states), group, *graph, choice._replace(bound=cost / 2))[0]
    assert again == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_the_best_order_is_no_worse_than_the_plain_rules_and_always_the_same(seed):
    n_states, scopes = random_scopes(seed, n=30, n_scopes=45)
    log_states, group, graph = np.log(n_states), np.zeros(30, np.int64), graph_of(30, scopes)
    first = best_order(log_states, group, *graph)
    again = best_order(log_states, group, *graph)
    filled = int(first[2][-1])
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(np.ravel(a)[:filled], np.ravel(b)[:filled])
    choice = elimination._Choice(elimination.WEIGHTED_MIN_FILL, 0.0, np.int64(0), np.inf)
    weighted = plain(elimination._eliminate)(log_states, group, *graph, choice)
    assert first[0] <= weighted[0]
    assert first[0] == pytest.approx(check_elimination(n_states, neighbours_of(30, graph), *first[1:]), rel=1e-9)


def test_a_tree_needs_no_fill():
    rng = np.random.default_rng(0)
    n = 2000
    scopes = [[0], *([int(rng.integers(v)), v] for v in range(1, n))]
    cost, order, clique_start, _ = best_order(np.log(np.full(n, 2)), np.zeros(n, np.int64), *graph_of(n, scopes))
    assert np.diff(clique_start).max() == 1
    assert cost == pytest.approx(4 * (n - 1) + 2, rel=1e-9)
    assert sorted(order.tolist()) == list(range(n))


def test_a_cycle_gets_cliques_of_three():
    scopes = [[v, (v + 1) % 40] for v in range(40)]
    _, _, clique_start, _ = best_order(np.log(np.full(40, 3)), np.zeros(40, np.int64), *graph_of(40, scopes))
    assert np.diff(clique_start).max() == 2


def test_no_nodes():
    cost, order, *_ = best_order(np.empty(0), np.empty(0, np.int64), *graph_of(0, []))
    assert cost == 0.0
    assert len(order) == 0


def test_a_table_beyond_all_numbers_costs_infinity():
    cost, order, *_ = best_order(np.full(3, 400.0), np.zeros(3, np.int64), *graph_of(3, [[0, 1, 2]]))
    assert cost == np.inf
    assert sorted(order.tolist()) == [0, 1, 2]
