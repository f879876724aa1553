"""Greedy equivalence search: its steps against enumeration, its results, and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oracles.equivalence import (
    JointFamilies,
    SetFamilies,
    class_of,
    classes_around,
    graph_of,
    problem_of,
    random_graph,
    random_joint,
)
from oracles.learning import PlainFamilies, all_graphs, graph_score
from tunbridge.data import as_table
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.graph import DAG
from tunbridge.learning.scores.discrete import BIC, K2, BDeu
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.scores.gaussian import GaussianFamilies
from tunbridge.learning.scores.mixed import MixedFamilies
from tunbridge.learning.searches.equivalence import EquivalenceClass, positions
from tunbridge.learning.searches.ges import GES, _Deletes, _Inserts, _Ledger, _Turns

OTHERS = "search 'hill-climbing', 'tabu', 'sparse-candidate', 'orders' or 'exact'"


def all_operators(families):
    n = families.n
    return [_Inserts(families, n, (0,) * n), _Deletes(families, n), _Turns(families, n)]


def check_steps(graph, rng):
    """Assert that the steps from a class lead to all classes around it, and gain what these score more.

    A step is only offered when it gains; under the scores with the opposite sign those offer themselves that do not.
    """
    state, values = EquivalenceClass.of(graph), rng.normal(size=2 ** len(graph))
    found = {"insert": set(), "delete": set(), "turn": set()}
    for families in (SetFamilies(values), SetFamilies(-values)):
        for operators, end in itertools.product(all_operators(families), range(len(graph))):
            for offer in operators.offers(state, end):
                if not operators.way_round(state, offer):
                    after = operators.apply(state, offer).graph()
                    difference = graph_score(families, after) - graph_score(families, graph)
                    assert offer.gain == pytest.approx(difference, rel=0, abs=1e-12)
                    found[operators.kind].add(class_of(after))
    for kind, classes in found.items():
        assert classes == set(classes_around(graph, kind))


# Classes


def test_the_class_is_that_of_the_graph_room():
    rng = np.random.default_rng(0)
    for _ in range(100):
        graph = random_graph(rng, int(rng.integers(1, 9)), rng.random())
        state, names = EquivalenceClass.of(graph), [str(i) for i in range(len(graph))]
        cpdag = DAG(names, [(str(x), str(y)) for y, parents in enumerate(graph) for x in parents]).cpdag()
        for i, name in enumerate(names):
            assert {str(j) for j in positions(state.parents[i])} == set(cpdag.parents(name))
            assert {str(j) for j in positions(state.children[i])} == set(cpdag.children(name))
            assert {str(j) for j in positions(state.neighbours[i])} == set(cpdag.neighbours(name))


def test_equivalent_graphs_have_one_class_and_one_graph_stands_for_it():
    seen = {}
    for graph in all_graphs(4):
        state = EquivalenceClass.of(graph)
        assert class_of(state.graph()) == class_of(graph)
        assert seen.setdefault(class_of(graph), state) == state
        assert seen[class_of(graph)].graph() == state.graph()
    assert len(set(seen.values())) == 185


def test_a_tree_gets_its_directions_from_its_first_node():
    assert EquivalenceClass.of([(1,), (2,), ()]).graph() == ((), (0,), (1,))


def test_no_node_at_all():
    assert EquivalenceClass.of(()).graph() == ()


def test_cliques():
    state = EquivalenceClass.of([(), (0,), (0, 1), (2,)])
    assert sorted(state.cliques(0b1111, 4)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 12]
    assert sorted(state.cliques(0b1111, 1)) == [0, 1, 2, 4, 8]
    assert list(state.cliques(0b1111, -1)) == []


# Steps


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_steps_from_all_classes_of_up_to_four_nodes(n):
    rng, seen = np.random.default_rng(n), set()
    for graph in all_graphs(n):
        if class_of(graph) not in seen:
            seen.add(class_of(graph))
            check_steps(graph, rng)


@pytest.mark.parametrize("seed", range(20))
def test_steps_from_classes_of_five_nodes(seed):
    rng = np.random.default_rng(seed)
    check_steps(random_graph(rng, 5, 0.3 + 0.03 * seed), rng)


def test_an_edge_of_a_star_can_be_turned_into_a_v_structure_in_six_nodes():
    rng = np.random.default_rng(0)
    for arcs in ([(0, i) for i in range(1, 6)], [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (2, 5)]):
        check_steps(graph_of(6, arcs), rng)


def test_steps_one_after_the_other_keep_the_class_in_order():
    rng = np.random.default_rng(3)
    state, n = EquivalenceClass.of(((),) * 7), 7
    for _ in range(150):
        operators = all_operators(SetFamilies(rng.normal(size=2**n)))[rng.choice(3, p=[0.45, 0.25, 0.3])]
        offers = [offer for end in range(n) for offer in operators.offers(state, end)]
        possible = [offer for offer in offers if not operators.way_round(state, offer)]
        if possible:
            state = operators.apply(state, possible[rng.integers(len(possible))])
            anew = EquivalenceClass.of(state.graph())
            assert (anew, anew.children, anew.joined) == (state, state.children, state.joined)


@pytest.mark.parametrize("seed", range(5))
def test_the_ledgers_find_what_a_new_one_would(seed):
    rng = np.random.default_rng(seed)
    families = gaussian_families(rng, 30, 45)
    operators = all_operators(families)
    ledgers, state, n_steps = [_Ledger(some) for some in operators], EquivalenceClass.of(((),) * 30), 0
    for _ in range(120):
        offers = [some.best(state, 1e-6) for some in ledgers]
        assert offers == [_Ledger(some).best(state, 1e-6) for some in operators]
        possible = [(offer, some) for offer, some in zip(offers, ledgers, strict=True) if offer is not None]
        if not possible:
            break
        offer, ledger = possible[rng.integers(len(possible))]
        state, n_steps = ledger.apply(state, offer), n_steps + 1
    assert n_steps > 40


def gaussian_families(rng, n, n_arcs, n_rows=500):
    columns = rng.normal(size=(n, n_rows))
    pairs = sorted(rng.choice(n * (n - 1) // 2, n_arcs, replace=False).tolist())
    for x, y in (list(itertools.combinations(range(n), 2))[at] for at in pairs):
        columns[y] += rng.choice([-1, 1]) * rng.uniform(0.4, 0.9) * columns[x]
    names = [f"x{i:02}" for i in rng.permutation(n)]
    return GaussianFamilies(as_table(dict(zip(names, columns, strict=True))), BIC())


# Results


@pytest.mark.parametrize("criterion", [BIC(), BDeu(ess=1.0)])
def test_the_true_class_is_found_from_many_rows(criterion):
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng, int(rng.integers(6, 9)), 0.25)
        counts = rng.multinomial(50_000, (joint := random_joint(rng, graph)).ravel()).reshape(joint.shape)
        result = GES().run(problem_of(JointFamilies(counts.astype(float), criterion)))
        found.append(class_of(result.graph) == class_of(graph))
    assert sum(found) >= 15


def test_moves_add_up_and_every_phase_is_named():
    families = gaussian_families(np.random.default_rng(0), 20, 40)
    problem = problem_of(families)
    result = GES().run(problem)
    assert {move.kind for move in result.moves} <= {"insert", "delete", "turn"}
    assert all(move.gain > 0 for move in result.moves)
    assert result.moves[-1].score == pytest.approx(problem.graph_score(result.graph), rel=1e-12, abs=0)
    assert result.note == ""
    assert result.graph == GES().run(problem_of(families)).graph


def test_turning_finds_better_graphs():
    gains = []
    for seed in range(10):
        problem = problem_of(gaussian_families(np.random.default_rng(seed), 10, 18))
        plain, turned = GES(turning=False).run(problem), GES().run(problem)
        assert all(move.kind != "turn" for move in plain.moves)
        gains.append(problem.graph_score(turned.graph) - problem.graph_score(plain.graph))
    assert max(gains) > 1.0


def test_a_start_graph_is_left_for_a_better_one_and_kept_when_it_is_the_best():
    problem = problem_of(gaussian_families(np.random.default_rng(2), 7, 8))
    best = GES().run(problem)
    assert GES().run(problem.starting_from(best.graph)).moves == ()
    full = tuple(tuple(range(i)) for i in range(7))
    again = GES().run(problem.starting_from(full))
    assert again.moves[0].kind == "delete"
    assert problem.graph_score(again.graph) > problem.graph_score(full)


def test_small_tables():
    assert GES().run(problem_of(PlainFamilies({"a": [0, 1, 0]}, BIC()))).graph == ((),)
    copies = {name: [0, 1] * 20 for name in "cab"}
    assert GES().run(problem_of(PlainFamilies(copies, BIC()))).graph == ((), (0,), (0,))


def test_reports_are_made():
    told = []
    problem = problem_of(PlainFamilies({"a": [0, 1] * 20, "b": [0, 1] * 20}, BIC()), report=lambda *it: told.append(it))
    result = GES().run(problem)
    assert told == [("insert", result.moves[0].score)]


# Limits


def test_no_graph_of_the_class_has_more_parents_than_allowed():
    families = gaussian_families(np.random.default_rng(4), 12, 35)
    assert max(map(len, GES().run(problem_of(families)).graph)) > 2
    for most in (0, 1, 2):
        graph = GES().run(problem_of(families, max_parents=np.full(12, most))).graph
        assert max(map(len, graph)) == most


def test_a_pair_that_is_forbidden_is_not_joined():
    families = gaussian_families(np.random.default_rng(5), 10, 15)
    free = GES().run(problem_of(families)).graph
    x, y = next((parents[0], y) for y, parents in enumerate(free) if parents)
    allowed = np.ones((10, 10), bool)
    allowed[x, y] = allowed[y, x] = False
    graph = GES().run(problem_of(families, allowed=allowed)).graph
    assert x not in graph[y]
    assert y not in graph[x]


# Refusals


@pytest.fixture
def families():
    return PlainFamilies({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "c": [0, 1, 1, 0]}, BIC())


def one_way():
    allowed = np.ones((3, 3), bool)
    allowed[0, 1] = False
    return allowed


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"required": ((), (0,), ())}, "required arcs"),
        ({"allowed": one_way()}, "arcs forbidden in one direction"),
        ({"max_parents": np.array([2, 1, 2])}, "different limits on the parents"),
    ],
)
def test_knowledge_about_directions_is_refused(families, changes, got):
    with pytest.raises(DataError) as error:
        GES().run(problem_of(families, **changes))
    assert str(error.value) == (
        "constraints for search 'ges' must be the same for both directions of an arc and for all nodes; "
        f"got {got}. Use {OTHERS} instead."
    )


def test_prior_probabilities_must_be_the_same_for_both_directions():
    table = as_table({"a": list("xyxy") * 9, "b": list("xxyy") * 9})
    bonus = np.array([[0.0, 3.0], [3.0, 0.0]])
    assert GES().run(problem_of(DiscreteFamilies(table, BIC(), arc_bonus=bonus))).graph == ((), (0,))
    bonus[0, 1] = 2.0
    with pytest.raises(DataError, match="got different prior probabilities"):
        GES().run(problem_of(DiscreteFamilies(table, BIC(), arc_bonus=bonus)))


def test_limits_beyond_all_others_are_no_limits(families):
    assert GES().run(problem_of(families, max_parents=np.array([2, 3, 9]))).note == ""


def test_a_score_that_tells_equivalent_graphs_apart_is_refused(families):
    families.criterion = K2()
    with pytest.raises(DataError) as error:
        GES().run(problem_of(families))
    assert str(error.value) == (
        "the score for search 'ges' must be the same for equivalent graphs; got 'k2'. "
        f"Use score 'bic' or 'bdeu', or {OTHERS}."
    )


def test_columns_of_both_kinds_are_refused():
    table = as_table({"kind": list("aabb"), "size": [1.0, 1.5, 3.0, 2.5]})
    families = MixedFamilies(table, BIC(), DiscreteFamilies(table.select(["kind"]), BIC()))
    with pytest.raises(DataError, match="must be all categorical or all continuous; got both"):
        GES().run(problem_of(families))


def test_too_many_variables_for_the_memory_are_refused(families, monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(MemoryForecastError, match="the steps between 3 variables would need "):
        GES().run(problem_of(families))


@pytest.mark.parametrize("turning", ["no", 1, None])
def test_turning_is_yes_or_no(turning):
    with pytest.raises(DataError, match="turning must be True or False; got "):
        GES(turning=turning)


# Interruption


class Impatient(SetFamilies):
    """Families whose user presses Ctrl-C after so many passes over the data."""

    def __init__(self, values, passes):
        super().__init__(values)
        self.passes = passes

    def _additions_of(self, x, parents, candidates):
        self.passes -= 1
        if self.passes < 0:
            raise KeyboardInterrupt
        return super()._additions_of(x, parents, candidates)


def test_after_an_interruption_the_best_so_far_is_kept():
    values = np.random.default_rng(0).normal(size=2**6)
    whole = [move[:3] for move in moves_of(GES().run(problem_of(SetFamilies(values))))]
    numbers = set()
    for passes in range(60):
        result = GES().run(problem_of(families := Impatient(values, passes)))
        moves = moves_of(result)
        assert [move[:3] for move in moves] == whole[: len(moves)]
        assert sum(move[3] for move in moves) == pytest.approx(
            graph_score(families, result.graph) - graph_score(families, ((),) * 6), rel=0, abs=1e-12
        )
        assert result.note == ("interrupted: the best graph so far" if families.passes < 0 else "")
        numbers.add(len(moves))
    assert 0 in numbers
    assert len(numbers) > 3


def moves_of(result):
    return [(move.kind, move.start, move.end, move.gain) for move in result.moves]
