"""Trees: what is found by hand, what is refused, and the odd tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import oracles.trees as oracle
import tunbridge as tb
from oracles.trees import CorrelatedColumns, CountedColumns, problem_of
from tunbridge.data import Table, as_table, datasets
from tunbridge.errors import DataError
from tunbridge.learning.constraints import Constraints
from tunbridge.learning.scores.discrete import BIC
from tunbridge.learning.scores.gaussian import GaussianFamilies
from tunbridge.learning.searches import trees
from tunbridge.learning.searches.problem import Search, SearchResult
from tunbridge.learning.searches.trees import FAN, TAN, ChowLiu, KDependence

TENNIS = ("humidity", "outlook", "play", "temperature", "wind")


def arcs(search: Search, table: Table | object, known: Constraints | None = None) -> set[str]:
    """Return the arcs found, as texts 'a>b'."""
    families = CountedColumns(table) if isinstance(table, Table) else table
    found = search.run(problem_of(families, known))
    names = families.names
    return {f"{names[p]}>{names[x]}" for x, parents in enumerate(found.graph) for p in parents}


def run(search: Search, table: Table) -> SearchResult:
    return search.run(problem_of(CountedColumns(table)))


def noisy_chain(names: str, n_rows: int = 400, noise: float = 0.1, seed: int = 0) -> Table:
    """Return columns of which each is a noisy copy of the one before; the noise grows along the chain."""
    rng = np.random.default_rng(seed)
    columns, last = {}, rng.integers(0, 3, n_rows)
    for i, name in enumerate(names):
        last = np.where(rng.random(n_rows) < noise * i, rng.integers(0, 3, n_rows), last)
        columns[name] = last
    return as_table(columns, kinds=dict.fromkeys(names, "categorical"))


# Chow–Liu


def test_a_chain_is_found_and_points_away_from_the_first_name_or_the_root() -> None:
    table = noisy_chain("dbeac")
    assert arcs(ChowLiu(), table) == {"a>c", "a>e", "e>b", "b>d"}
    assert arcs(ChowLiu(root="d"), table) == {"d>b", "b>e", "e>a", "a>c"}


def test_play_tennis_by_hand() -> None:
    # I(X; Y): humidity – temperature 0.260, outlook – play 0.171, outlook – temperature 0.165, then humidity – play
    # 0.105, which would close a ring, play – wind 0.033, temperature – wind 0.027
    expected = {"humidity>temperature", "temperature>outlook", "outlook>play", "play>wind"}
    assert arcs(ChowLiu(), datasets.play_tennis()) == expected


def test_equal_edges_are_taken_by_name() -> None:
    same = [0, 1, 1, 0, 2, 1]
    table = as_table(dict.fromkeys("cadb", same), kinds=dict.fromkeys("abcd", "categorical"))
    assert arcs(ChowLiu(), table) == {"a>b", "a>c", "a>d"}
    assert arcs(ChowLiu(root="c"), table) == {"c>a", "a>b", "a>d"}


def test_rounding_does_not_decide_between_equal_edges() -> None:
    a = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 0])
    columns = {"a": a, "b": 2 - a, "c": (a + 1) % 3, "d": np.where(a == 0, 2, np.where(a == 2, 0, 1))}
    table = as_table(columns, kinds=dict.fromkeys("abcd", "categorical"))
    assert arcs(ChowLiu(), table) == {"a>b", "a>c", "a>d"}


@pytest.mark.parametrize(("forest", "expected"), [(True, {"a>b"}), ("bic", {"a>b"}), ("aic", {"a>b"}), (0.5, {"a>b"})])
def test_a_forest_has_only_edges_that_pay(forest: object, expected: set[str]) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 300)
    table = as_table({"a": a, "b": a ^ (rng.random(300) < 0.02), "c": rng.integers(0, 2, 300)})
    assert arcs(ChowLiu(forest=forest), table) == expected
    assert len(arcs(ChowLiu(), table)) == 2


def test_the_price_of_an_edge_grows_with_the_states_and_the_rows() -> None:
    # 14 I(humidity; play) = 1.473 lies above ½ log 14 = 1.320; 14 I(outlook; play) = 2.394 below twice that
    table = datasets.play_tennis().select(["humidity", "outlook", "play"])
    assert arcs(ChowLiu(forest="bic"), table) == {"humidity>play"}
    assert arcs(ChowLiu(forest="aic"), table) == {"humidity>play", "play>outlook"}
    assert arcs(ChowLiu(forest=0.16), table) == {"outlook>play"}


def test_a_forest_may_keep_the_edges_above_the_mean() -> None:
    table = datasets.play_tennis()
    information, _ = oracle.pair_information(table.select(TENNIS))
    mean = information[np.triu_indices(5, 1)].mean()
    by_hand = oracle.greedy_forest(np.where(information > mean, information, -np.inf))
    assert {frozenset(a.split(">")) for a in arcs(ChowLiu(forest="mean"), table)} == {
        frozenset((TENNIS[a], TENNIS[b])) for a, b in by_hand
    }
    assert arcs(ChowLiu(forest="mean"), as_table({"a": ["x", "y"]})) == set()


def test_the_number_one_is_no_truth_value() -> None:
    table = noisy_chain("ab", noise=0.0)
    assert arcs(ChowLiu(forest=1), table) == {"a>b"}  # log 3 = 1.1 nats
    assert arcs(ChowLiu(forest=1.2), table) == set()
    assert arcs(ChowLiu(forest=0), table) == {"a>b"}


# Odd tables


def test_tables_of_no_one_and_two_columns() -> None:
    assert run(ChowLiu(), Table.of([])).graph == ()
    assert run(ChowLiu(), as_table({"a": ["x", "y"]})).graph == ((),)
    assert run(ChowLiu(), as_table({"a": ["x", "y"], "b": ["x", "y"]})).graph == ((), (0,))
    assert run(TAN("a"), as_table({"a": ["x", "y"]})).graph == ((),)
    assert run(TAN("b"), as_table({"a": ["x", "y"], "b": ["x", "y"]})).graph == ((1,), ())
    assert run(KDependence("a"), as_table({"a": ["x", "y"]})).graph == ((),)


def test_constant_and_empty_columns_hang_on_the_first_name() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 50)
    columns = {"a": a, "b": a, "c": ["x"] * 50, "d": [None] * 50}
    table = as_table(columns, kinds=dict.fromkeys("abcd", "categorical"))
    assert arcs(ChowLiu(), table) == {"a>b", "a>c", "a>d"}
    assert arcs(ChowLiu(forest=True), table) == {"a>b"}
    assert arcs(TAN("c"), table) == {"c>a", "c>b", "c>d", "a>b", "a>d"}
    assert arcs(TAN("d"), table) == {"d>a", "d>b", "d>c", "a>b", "a>c"}
    assert arcs(FAN("d"), table) == {"d>a", "d>b", "d>c"}


def test_missing_cells_leave_out_a_pair_not_the_row() -> None:
    table = noisy_chain("abc", n_rows=900, noise=0.2)
    rows = np.arange(900)
    columns = {name: [None if i % 3 == k else int(table.codes(name)[i]) for i in rows] for k, name in enumerate("abc")}
    holes = as_table(columns, kinds=dict.fromkeys("abc", "categorical"))
    assert arcs(ChowLiu(), holes) == {"a>b", "b>c"}
    assert run(ChowLiu(), holes).moves[0].gain < 300 * np.log(3)


def test_weights_count_as_repeated_rows() -> None:
    table = noisy_chain("abcd", n_rows=60, noise=0.3)
    weights = np.arange(60) % 4
    repeated = table.take(np.repeat(np.arange(60), weights))
    for search in (ChowLiu(), ChowLiu(forest="aic"), TAN("b"), KDependence("c", k=2)):
        assert arcs(search, table.with_weights(weights)) == arcs(search, repeated)


def test_columns_with_many_states() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 40, 3000)
    table = as_table(
        {"a": a, "b": a // 2, "c": a // 4, "d": rng.integers(0, 3, 3000)}, kinds=dict.fromkeys("abcd", "categorical")
    )
    assert arcs(ChowLiu(forest=0.1), table) == {"a>b", "a>c"}
    assert arcs(ChowLiu(forest=True), table) == {"a>b", "b>c"}  # as much information, and fewer parameters
    assert arcs(TAN("d"), table) == {"d>a", "d>b", "d>c", "a>b", "a>c"}


def test_many_columns_are_spanned_by_the_kernel() -> None:
    names = [f"x{i:02}" for i in range(40)]
    rng = np.random.default_rng(0)
    codes = np.cumsum(rng.random((40, 600)) < 0.05, axis=0) % 2
    table = as_table(dict(zip(names, codes, strict=True)), kinds=dict.fromkeys(names, "categorical"))
    families = CountedColumns(table)
    found = ChowLiu().run(problem_of(families))
    information, _ = oracle.pair_information(table)
    expected = oracle.greedy_forest(np.rint(information / (1e-9 * information.max())))
    assert sorted((p[0], x) if p[0] < x else (x, p[0]) for x, p in enumerate(found.graph) if p) == expected


# Around a class


def test_tan_of_play_tennis_by_hand() -> None:
    # I(Xi; Xj | play): humidity – temperature and outlook – temperature 0.291, outlook – wind 0.216, then
    # humidity – outlook 0.154, which would close a ring, temperature – wind 0.117, humidity – wind 0.042
    table = datasets.play_tennis()
    class_arcs = {"play>humidity", "play>outlook", "play>temperature", "play>wind"}
    assert arcs(TAN("play"), table) == class_arcs | {"humidity>temperature", "temperature>outlook", "outlook>wind"}
    assert arcs(TAN("play", root="wind"), table) == class_arcs | {
        "wind>outlook", "outlook>temperature", "temperature>humidity"
    }  # fmt: skip
    assert arcs(FAN("play", forest=0.25), table) == class_arcs | {"humidity>temperature", "temperature>outlook"}
    assert arcs(FAN("play"), table) == class_arcs  # 14 rows do not pay for the arcs


def test_a_forest_around_a_class_pays_for_the_states_of_the_class() -> None:
    rng = np.random.default_rng(1)
    a, c = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
    b = np.where(rng.random(400) < 0.9, rng.integers(0, 2, 400), a)
    table = as_table({"a": a, "b": b, "c": c}, kinds={"c": "categorical"})
    information = oracle.pair_information(table, "c")[0][0, 1]
    assert 0.5 * np.log(400) < 400 * information < 4 * 0.5 * np.log(400)  # it would pay for one class, not for four
    assert arcs(FAN("c"), table) == {"c>a", "c>b"}
    assert arcs(FAN("c", forest="mean"), noisy_chain("abdc")) == {"c>a", "c>b", "c>d", "a>b"}


def test_k_dependence_by_hand() -> None:
    # I(X; play): outlook 0.171, humidity 0.105, wind 0.033, temperature 0.020; given play: see above
    table = datasets.play_tennis()
    naive = {"play>humidity", "play>outlook", "play>temperature", "play>wind"}
    assert arcs(KDependence("play", k=0), table) == naive
    one = {"outlook>humidity", "outlook>wind", "humidity>temperature"}
    assert arcs(KDependence("play"), table) == naive | one
    two = {"humidity>wind", "outlook>temperature"}
    assert arcs(KDependence("play", k=2), table) == naive | one | two
    assert arcs(KDependence("play", k=9), table) == naive | one | two | {"wind>temperature"}


def test_attributes_that_are_equal_are_ordered_by_name() -> None:
    same = [0, 1, 1, 0, 0, 1]
    table = as_table({"c": same, "b": same, "a": same, "y": [0, 1, 1, 0, 1, 1]})
    assert arcs(KDependence("y", k=1), table) == {"y>a", "y>b", "y>c", "a>b", "a>c"}


# Continuous columns


def test_gaussian_columns_are_joined_by_their_correlations() -> None:
    rho = np.array([[1.0, 0.9, 0.1, np.nan], [0.9, 1.0, -0.5, 0.0], [0.1, -0.5, 1.0, 0.0], [np.nan, 0.0, 0.0, 1.0]])
    families = CorrelatedColumns("abcd", rho, 50.0)
    assert arcs(ChowLiu(), families) == {"a>b", "b>c", "a>d"}
    assert arcs(ChowLiu(forest="bic"), families) == {"a>b", "b>c"}
    assert arcs(ChowLiu(forest=0.2), families) == {"a>b"}
    moves = ChowLiu().run(problem_of(families)).moves
    assert {(m.start, m.end): m.gain for m in moves}[0, 1] == pytest.approx(-25 * np.log(1 - 0.81), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_correlations_of_a_table_are_those_of_the_rows_with_both_values(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 60)) @ np.diag(rng.uniform(0.5, 2.0, 60)) + 1e3
    values[1] += 2.0 * values[0]
    values[2, ::3], values[0, ::7], values[3] = np.nan, np.nan, 5.0
    weights = rng.integers(0, 4, 60).astype(float) if weighted else np.ones(60)
    table = as_table(dict(zip("abcd", values, strict=True))).with_weights(weights if weighted else None)
    rho, rows = GaussianFamilies(table, BIC()).correlations()
    for i, j in product(range(4), repeat=2):
        both = ~np.isnan(values[[i, j]]).any(axis=0)
        assert rows[i, j] == weights[both].sum()
        expected = 0.0 if 3 in (i, j) else weighted_correlation(*values[[i, j]][:, both], weights[both])
        assert rho[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def weighted_correlation(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    covariance = np.cov(x, y, fweights=w.astype(int))
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


def test_a_tree_of_a_table_of_continuous_columns() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    b = a + 0.5 * rng.normal(size=300)
    table = as_table({"c": b + 0.5 * rng.normal(size=300), "a": a, "b": b, "alone": rng.normal(size=300)})
    assert set(tb.learn_structure(table, search="chow-liu").arcs) >= {("a", "b"), ("b", "c")}
    found = tb.learn_structure(table, search=ChowLiu(forest="bic"))
    assert set(found.arcs) == {("a", "b"), ("b", "c")}
    np.testing.assert_allclose(found.trace[0].gain, -150 * np.log1p(-(np.corrcoef(a, b)[0, 1] ** 2)), rtol=1e-9)


def test_perfectly_correlated_columns_are_taken_by_name() -> None:
    assert arcs(ChowLiu(), CorrelatedColumns("abc", np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]]), 9)) == {
        "a>b",
        "a>c",
    }


def test_columns_of_two_kinds_are_refused() -> None:
    mixed = CountedColumns(as_table({"a": ["x", "y"]}))
    mixed.names = ("a", "b")
    mixed.n = 2
    with pytest.raises(DataError, match=r"must be of one kind, categorical or continuous; .* Discretise"):
        ChowLiu().run(problem_of(mixed))
    with pytest.raises(DataError, match=r"the columns of a tree must be categorical; .* Discretise"):
        TAN("a").run(problem_of(CorrelatedColumns("ab", np.eye(2), 5)))


# What is known about the arcs


def test_edges_forbidden_both_ways_are_left_out() -> None:
    table = noisy_chain("abc")
    assert arcs(ChowLiu(), table) == {"a>b", "b>c"}
    assert arcs(ChowLiu(), table, Constraints(forbidden=["a->b", "b->a"])) == {"a>c", "c>b"}
    apart = Constraints(forbidden=["a->b", "b->a", "a->c", "c->a"])
    assert arcs(ChowLiu(), table, apart) == {"b>c"}


def test_one_direction_forbidden_moves_the_root() -> None:
    table = noisy_chain("abc")
    assert arcs(ChowLiu(), table, Constraints(forbidden=["a->b"])) == {"b>a", "b>c"}
    assert arcs(ChowLiu(), table, Constraints(tiers=[["c"], ["b"], ["a"]])) == {"c>b", "b>a"}
    assert arcs(ChowLiu(), table, Constraints(roots="b")) == {"b>a", "b>c"}
    assert arcs(ChowLiu(), table, Constraints(max_parents={"c": 0})) == {"c>b", "b>a"}
    assert arcs(ChowLiu(), table, Constraints(max_parents=1)) == {"a>b", "b>c"}


def test_required_arcs_are_in_and_keep_their_direction() -> None:
    table = noisy_chain("abc")
    assert arcs(ChowLiu(), table, Constraints(required=["c->a"])) == {"c>a", "a>b"}
    assert arcs(ChowLiu(forest=1e9), table, Constraints(required=["c->b"])) == {"c>b"}


def test_a_tree_that_cannot_be_directed_is_refused() -> None:
    table = noisy_chain("abc")
    with pytest.raises(DataError, match=r"arcs of the tree must be allowed; got 'b' → 'c', which is not, for any root"):
        ChowLiu().run(problem_of(CountedColumns(table), Constraints(roots=["a", "c"])))


def test_a_root_against_the_constraints_is_refused() -> None:
    families = CountedColumns(noisy_chain("abc"))
    with pytest.raises(DataError, match=r"'a' → 'b', which is not, with the root 'a'. Constrain fewer arcs"):
        ChowLiu(root="a").run(problem_of(families, Constraints(forbidden=["a->b"])))


def test_two_required_parents_or_a_ring_are_refused() -> None:
    families = CountedColumns(noisy_chain("abc"))
    with pytest.raises(DataError, match="arcs of the tree must be allowed"):
        ChowLiu().run(problem_of(families, Constraints(required=["a->b", "c->b"])))
    with pytest.raises(DataError, match="must not form an undirected cycle; got 'b' → 'c'"):
        ChowLiu().run(problem_of(families, Constraints(required=["a->b", "b->c", "a->c"])))


@pytest.mark.parametrize("search", [TAN("a"), FAN("a"), KDependence("a")])
def test_graphs_around_a_class_take_no_constraints(search: Search) -> None:
    families = CountedColumns(noisy_chain("abc"))
    for known in (Constraints(forbidden=["a->b"]), Constraints(required=["a->b"]), Constraints(max_parents=1)):
        with pytest.raises(DataError, match=r"must be learned without constraints and max_parents; got some. Leave"):
            search.run(problem_of(families, known))


# Options


@pytest.mark.parametrize("search", [TAN("plya"), FAN("plya"), KDependence("plya")])
def test_a_target_that_is_not_there_gets_a_hint(search: Search) -> None:
    with pytest.raises(DataError, match=r"target must be the name of a column; got 'plya'\. Did you mean 'play'\?"):
        run(search, datasets.play_tennis())


def test_a_root_that_is_not_there_gets_a_hint() -> None:
    for search in (ChowLiu(root="winds"), TAN("play", root="winds"), FAN("play", root="winds")):
        with pytest.raises(DataError, match=r"root must be the name of a column; got 'winds'\. Did you mean 'wind'\?"):
            run(search, datasets.play_tennis())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ChowLiu(root=3), "root must be the name of a column; got 3"),
        (
            lambda: ChowLiu(forest="bci"),
            "forest must be False, True, 'bic', 'aic', 'mean' or a number; got 'bci'. Did you",
        ),
        (lambda: ChowLiu(forest=-1), "forest must be at least 0; got -1"),
        (lambda: ChowLiu(forest=None), "forest must be a number; got None"),
        (lambda: TAN(None), "target must be the name of a column; got None"),
        (lambda: TAN("a", root="a"), "root must be an attribute; got 'a', which is the target"),
        (lambda: FAN("a", forest=False), "forest must be 'bic', 'aic', 'mean' or a number; got False. Use TAN"),
        (lambda: KDependence("a", k=-1), "k must be at least 0; got -1"),
        (lambda: KDependence("a", k=1.5), "k must be an integer; got 1.5"),
    ],
)
def test_options_are_checked(make: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()


def test_ctrl_c_gives_back_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trees, "pair_information", interrupted)
    problem = problem_of(CountedColumns(noisy_chain("abc")), Constraints(required=["a->c"]))
    found = ChowLiu().run(problem)
    assert found.graph == ((), (), (0,))
    assert found.note.startswith("interrupted")


def test_the_trace_has_every_arc_with_its_information() -> None:
    table = datasets.play_tennis()
    moves = run(TAN("play"), table).moves
    assert [(m.start, m.end) for m in moves] == [(2, 0), (2, 1), (2, 3), (2, 4), (3, 1), (0, 3), (1, 4)]
    information, _ = oracle.pair_information(table.select(TENNIS))
    assert moves[0].gain == pytest.approx(14 * information[0, 2], rel=1e-12)
    assert moves[-1].score == pytest.approx(sum(m.gain for m in moves), rel=1e-12)
    assert all(0.0 <= m.seconds < 60.0 for m in moves)


@pytest.mark.parametrize("big", [1e7, 1e8, 1e9])
def test_large_values_beside_missing_ones_do_not_spoil_a_correlation(big: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    values = np.array([np.r_[x, rng.normal(size=5) + big], np.r_[x + 0.1 * rng.normal(size=200), np.full(5, np.nan)]])
    rho, rows = GaussianFamilies(tb.as_table(dict(zip("ab", values, strict=True))), BIC()).correlations()
    expected = np.corrcoef(values[:, :200])[0, 1]
    np.testing.assert_allclose(rho[0, 1], expected, rtol=1e-15 * big)  # the digits that the scaled values keep
    assert rows[0, 1] == rows[1, 0] == 200
