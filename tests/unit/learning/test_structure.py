from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import tunbridge as tb
from tunbridge._core import registry
from tunbridge._core.registry import entries
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.searches.problem import Problem, Search, SearchResult
from tunbridge.learning.structure import as_search

SEARCHES = ["hill-climbing", "tabu", "sparse-candidate", "ges", "orders", "exact", "chow-liu"]


@pytest.fixture(scope="module")
def asia() -> tb.Table:
    return tb.example_network("asia").sample(5_000, random_state=1)


@pytest.fixture(scope="module")
def wide() -> tb.Table:
    """A table large enough for the kernels and for several threads."""
    rng, n_states = np.random.default_rng(3), [2 + i % 3 for i in range(24)]
    variables = {f"v{i}": [f"s{k}" for k in range(n)] for i, n in enumerate(n_states)}
    arcs = [(f"v{p}", f"v{i}") for i in range(1, 24) for p in rng.permutation(i)[: rng.integers(1, 4)]]
    parents = {name: [a for a, b in arcs if b == name] for name in variables}
    tables = {
        name: rng.dirichlet(np.full(len(states), 0.4), size=[len(variables[p]) for p in parents[name]])
        for name, states in variables.items()
    }
    return tb.BayesianNetwork(variables, arcs, tables).sample(30_000, random_state=2)


class TestResult:
    @pytest.mark.parametrize("search", SEARCHES[:-1])
    def test_the_score_is_the_sum_over_families(self, asia, search):
        dag = tb.learn_structure(asia, search=search, random_state=0)
        assert dag.score == pytest.approx(sum(dag.family_scores.values()), rel=1e-12)
        assert dict(dag.family_scores) == pytest.approx(tb.score_structure(dag, asia, by_family=True), rel=1e-9)
        assert dag.nodes == asia.names
        assert (dag.search, dag.criterion) == (search, "bic")

    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "ges", "orders", "exact"])
    def test_asia_is_found_up_to_its_class(self, asia, search):
        dag = tb.learn_structure(asia, search=search)
        assert tb.shd(dag, tb.example_network("asia").dag) <= 2

    def test_it_is_a_dag_like_any_other(self, asia):
        dag = tb.learn_structure(asia)
        plain = tb.DAG(dag.nodes, dag.arcs)
        assert dag == plain
        assert hash(dag) == hash(plain)
        assert type(dag.add_nodes("more")) is tb.DAG
        assert set(dag.undecided) == set(dag.cpdag().edges)

    def test_a_tree_has_no_score(self, asia):
        dag = tb.learn_structure(asia, search="chow-liu")
        assert np.isnan(dag.score)
        assert dag.family_scores == {}
        assert repr(dag).endswith("; chow-liu)")

    def test_it_survives_copies(self, asia):
        dag = tb.learn_structure(asia)
        for twin in (copy.copy(dag), copy.deepcopy(dag), pickle.loads(pickle.dumps(dag))):
            assert twin == dag
            assert (twin.score, twin.trace, twin.note) == (dag.score, dag.trace, dag.note)

    def test_restarts_keep_the_trace_true(self, asia):
        dag = tb.learn_structure(asia, search=tb.Tabu(restarts=2), random_state=0)
        assert max(move.score for move in dag.trace) == pytest.approx(dag.score, rel=1e-9)

    def test_the_trace_leads_to_the_score(self, asia):
        dag = tb.learn_structure(asia)
        start = tb.score_structure(tb.DAG(asia.names), asia)
        scores = [start, *(move.score for move in dag.trace)]
        assert np.diff(scores) == pytest.approx([move.gain for move in dag.trace], rel=1e-6)
        assert dag.trace[-1].score == pytest.approx(dag.score, rel=1e-9)
        assert (np.diff([move.seconds for move in dag.trace]) >= 0).all()


class TestDeterminism:
    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "ges", "orders", "sparse-candidate", "chow-liu"])
    def test_threads_do_not_matter(self, wide, search):
        one, two, eight = (tb.learn_structure(wide, search=search, random_state=5, n_jobs=n) for n in (1, 2, 8))
        assert one.arcs == two.arcs == eight.arcs
        assert one.family_scores == two.family_scores == eight.family_scores

    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "ges", "orders", "sparse-candidate", "chow-liu"])
    def test_the_order_of_columns_does_not_matter(self, wide, search):
        shuffled = wide.select(np.random.default_rng(0).permutation(wide.names).tolist())
        one, other = (tb.learn_structure(t, search=search, random_state=5) for t in (wide, shuffled))
        assert one == other

    def test_random_restarts_follow_the_seed(self, wide):
        search = tb.HillClimbing(restarts=4)
        one, two = (tb.learn_structure(wide, search=search, random_state=7) for _ in range(2))
        assert one.arcs == two.arcs
        assert len(one.trace) > len(tb.learn_structure(wide).trace)


class TestKnowledge:
    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "orders", "exact", "sparse-candidate"])
    def test_constraints_are_obeyed(self, asia, search):
        known = tb.Constraints(
            required=["asia->tub", "xray->dysp"], forbidden=["smoke->lung", "lung->smoke"], roots="smoke"
        )
        dag = tb.learn_structure(asia, search=search, constraints=known, max_parents=2, random_state=0)
        assert dag.has_arc("asia", "tub")
        assert dag.has_arc("xray", "dysp")
        assert not dag.has_arc("smoke", "lung")
        assert not dag.has_arc("lung", "smoke")
        assert dag.parents("smoke") == ()
        assert max(len(dag.parents(node)) for node in dag.nodes) <= 2

    def test_the_start_graph_is_where_it_starts(self, asia):
        true = tb.example_network("asia").dag
        dag = tb.learn_structure(asia, start=true)
        assert len(dag.trace) <= 2
        assert dag.score >= tb.score_structure(true, asia)

    def test_prior_probabilities_weigh(self, asia):
        strong = tb.Constraints(arc_probability={"asia->smoke": 1 - 1e-9})
        assert tb.learn_structure(asia, constraints=strong).has_arc("asia", "smoke")
        assert not tb.learn_structure(asia).has_arc("asia", "smoke")


class TestOtherData:
    def test_missing_cells(self, asia):
        rng = np.random.default_rng(0)
        frame = asia.to_pandas().astype(object)
        frame = frame.mask(rng.random(frame.shape) < 0.05)
        dag = tb.learn_structure(frame, "nal", search="tabu")
        assert tb.shd(dag, tb.example_network("asia").dag) <= 4
        for score in ("bic", "bdeu"):
            with pytest.raises(DataError, match=r"must have no missing values; got some in 'asia', .*score='nal'"):
                tb.learn_structure(frame, score)

    def test_weights_count_as_rows(self, asia):
        weights = np.random.default_rng(1).integers(0, 3, asia.n_rows)
        repeated = asia.take(np.repeat(np.arange(asia.n_rows), weights))
        one = tb.learn_structure(asia.with_weights(weights.astype(float)))
        other = tb.learn_structure(repeated)
        assert one == other
        assert one.score == pytest.approx(other.score, rel=1e-9)

    def test_continuous_and_mixed_columns(self):
        rng = np.random.default_rng(0)
        a = rng.normal(size=2_000)
        group = rng.integers(0, 2, 2_000)
        frame = {
            "a": a,
            "b": 2 * a + rng.normal(size=2_000),
            "c": group * 3.0 + rng.normal(size=2_000),
            "group": group.astype(str),
        }
        numbers = {name: frame[name] for name in "abc"}
        assert tb.learn_structure(numbers).skeleton().edges == (("a", "b"),)
        dag = tb.learn_structure(frame)
        assert dag.parents("c") == ("group",)
        assert dag.skeleton().edges == (("a", "b"), ("c", "group"))
        assert tb.learn_network(frame).dag == dag

    def test_constant_and_empty_columns(self, asia):
        frame = asia.to_pandas().astype(object)
        frame["same"] = "x"
        frame["nothing"] = None
        dag = tb.learn_structure(frame, "nal")
        assert dag.parents("same") == dag.parents("nothing") == ()
        assert dag.children("same") == dag.children("nothing") == ()

    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "ges", "orders", "sparse-candidate"])
    def test_a_constant_with_holes_tells_nothing(self, search):
        rng = np.random.default_rng(0)
        frame = {f"c{i}": rng.integers(0, 2, 3_000).astype(str) for i in range(8)}
        frame["const"] = np.where(rng.random(3_000) < 0.5, None, "x")
        assert tb.learn_structure(tb.as_table(frame, kinds="categorical"), "nal", search=search).arcs == ()

    def test_a_column_that_is_mostly_empty_does_not_explain_everything(self):
        rng = np.random.default_rng(0)
        frame = {name: rng.integers(0, 2, 1_000).astype(str).astype(object) for name in "abc"}
        rare = np.full(1_000, None, object)
        rare[[3, 500, 900]] = ["u", "v", "u"]
        half = np.where(rng.random(1_000) < 0.97, None, rng.integers(0, 3, 1_000).astype(str))
        table = tb.as_table(frame | {"rare": rare, "half": half}, kinds="categorical")
        for search in ("hill-climbing", "tabu", "ges", "orders"):
            assert tb.learn_structure(table, "nal", search).arcs == ()
        numbers = {name: rng.normal(size=500) for name in "xyz"} | {"few": np.full(500, np.nan)}
        numbers["few"][:4] = rng.normal(size=4)
        assert tb.learn_structure(numbers, "nal").arcs == ()

    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "orders", "exact"])
    @pytest.mark.parametrize("seed", range(4))
    def test_nearly_collinear_columns_end(self, search, seed):
        rng = np.random.default_rng(seed)
        celsius = rng.normal(20, 5, 1_000)
        frame = {"c": celsius, "f": np.round(celsius * 1.8 + 32, 3), "k": rng.choice(["a", "b"], 1_000)}
        assert len(tb.learn_structure(frame, search=search, random_state=0).skeleton().edges) == 1

    def test_a_prior_can_join_a_constant(self):
        frame = {"a": ["k"] * 12, "b": list("xyxyxyxxyyxy")}
        known = tb.Constraints(arc_probability={"a->b": 0.9})
        for search in ("exact", "hill-climbing", "tabu"):
            assert tb.learn_structure(frame, search=search, constraints=known).arcs == (("a", "b"),)

    def test_weights_that_are_shares_are_refused(self, asia):
        with pytest.raises(DataError, match=r"weights must be numbers of rows; got a sum of 1. Rescale them"):
            tb.learn_structure(asia.with_weights(np.full(5_000, 1 / 5_000)))

    def test_identifiers_are_told_of(self, asia):
        frame = asia.to_pandas().assign(patient=[f"P{i}" for i in range(5_000)])
        with pytest.warns(tb.TunbridgeWarning, match="'patient' looks like an identifier"):
            assert tb.learn_structure(frame).markov_blanket("patient") == ()

    def test_columns_never_seen_together_are_not_joined(self):
        rng = np.random.default_rng(0)
        x = np.where(np.arange(2_000) < 1_000, rng.integers(0, 2, 2_000).astype(str), None)
        frame = {
            "x": x,
            "c": np.where(np.arange(2_000) < 1_000, None, "yes"),
            "y": rng.integers(0, 2, 2_000).astype(str),
        }
        table = tb.as_table(frame, kinds="categorical")
        assert tb.learn_structure(table, "nal").arcs == ()
        with pytest.raises(DataError, match="'x' given 'c' cannot be: no row has all values"):
            tb.learn_structure(table, "nal", constraints=tb.Constraints(required=["c->x"]))

    @pytest.mark.parametrize("n_rows", [500, 30_000])
    def test_a_parent_without_states_is_refused(self, n_rows):
        frame = {"e": [None] * n_rows, "y": np.random.default_rng(0).integers(0, 2, n_rows).astype(str)}
        table = tb.as_table(frame, kinds="categorical")
        with pytest.raises(DataError, match="'y' given 'e' cannot be"):
            tb.learn_structure(table, "nal", constraints=tb.Constraints(required=["e->y"]))

    def test_identifiers_are_refused_before_memory_is_taken(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "20000000")
        ids = np.arange(6_000).astype(str)
        table = tb.as_table({"a": ids, "b": ids, "c": np.tile(["x", "y"], 3_000)}, kinds="categorical")
        with pytest.warns(tb.TunbridgeWarning, match="looks like an identifier"):
            assert tb.learn_structure(table).arcs == ()
        with pytest.raises(tb.MemoryForecastError), pytest.warns(tb.TunbridgeWarning):
            tb.learn_structure(table, search="sparse-candidate")

    @pytest.mark.parametrize("search", SEARCHES)
    def test_one_column_and_one_row(self, search):
        assert tb.learn_structure({"a": ["x", "y"]}, search=search).arcs == ()
        assert tb.learn_structure({"a": ["x"], "b": ["u"]}, search=search).n_nodes == 2

    def test_columns_with_many_states(self):
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 300, 20_000)
        frame = {
            "code": codes.astype(str),
            "group": (codes // 30).astype(str),
            "noise": rng.integers(0, 2, 20_000).astype(str),
        }
        dag = tb.learn_structure(tb.as_table(frame, kinds="categorical"))
        assert dag.skeleton().edges == (("code", "group"),)


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"search": "hillclimb"}, r"search must be one of .*; got 'hillclimb'. Did you mean 'hill-climbing'\?"),
            ({"search": tb.Tabu}, r"search must be an object; got the class Tabu. Write tb.Tabu\(\)."),
            ({"search": 3}, "search must be a name or a search"),
            (
                {"search": "tan"},
                r"'tan' must be an object with its target; got a name. Write tb.TAN\(target=...\).",
            ),
            (
                {"score": "bik"},
                r"score must be a name or a score object such as tb.BDeu\(10\); got 'bik'. Did you mean 'bic'",
            ),
            ({"constraints": {"required": []}}, "constraints must be a Constraints object"),
            ({"start": [("asia", "tub")]}, "start must be a DAG"),
            ({"start": tb.DAG(["a"])}, "start must have the table's columns as its nodes"),
            ({"random_state": "now"}, "random_state must be"),
            ({"n_jobs": 0}, "n_jobs must be an integer"),
            ({"progress": True}, "progress must be a function of a text and a score, False or None; got True"),
            ({"score": tb.BDeu}, r"score must be an object; got the class BDeu. Write tb.BDeu\(\)."),
            ({"search": tb.TAN}, r"search must be an object; got the class TAN. Write tb.TAN\(target=...\)."),
            ({"start": tb.example_network("asia")}, r"start must be a DAG; got .*. Use its .dag."),
        ],
    )
    def test_mistakes_are_named(self, asia, options, message):
        with pytest.raises(DataError, match=message):
            tb.learn_structure(asia, **options)

    @pytest.mark.parametrize("length", [2**60, 10**400], ids=["60 bits", "400 digits"])
    def test_a_tabu_list_beyond_the_memory(self, asia, length):
        with pytest.raises(MemoryForecastError, match="the tabu list would need"):
            tb.learn_structure(asia, search=tb.Tabu(length=length))

    def test_an_empty_table(self):
        with pytest.raises(
            DataError, match="a table to learn from must have rows and columns; got 0 rows and 1 column"
        ):
            tb.learn_structure({"a": []})


class TestScoreStructure:
    def test_a_network_is_scored_by_its_graph(self, asia):
        net = tb.example_network("asia")
        assert tb.score_structure(net, asia) == tb.score_structure(net.dag, asia)
        with pytest.raises(DataError, match="dag must be a DAG or a network; got 3"):
            tb.score_structure(3, asia)

    def test_a_continuous_parent_of_a_categorical_variable_is_an_error(self):
        dag, frame = tb.DAG(arcs=[("age", "sex")]), {"age": [20.5, 31.0, 44.25], "sex": ["m", "f", "m"]}
        for function in (tb.score_structure, tb.fit_parameters):
            with pytest.raises(DataError, match=r"must have categorical parents; 'sex' has 'age'\. Reverse the arc"):
                function(dag, frame)


class TestProgress:
    def test_a_listener_hears_of_it(self, wide):
        heard = []
        tb.learn_structure(wide, progress=lambda what, score: heard.append((what, score)))
        assert heard
        assert all(np.isfinite(score) for _, score in heard)

    @pytest.mark.parametrize("search", ["hill-climbing", "tabu", "ges", "orders", "sparse-candidate"])
    def test_ctrl_c_keeps_the_best_so_far(self, wide, search):
        def interrupt(what: str, score: float) -> None:
            raise KeyboardInterrupt

        dag = tb.learn_structure(wide, search=search, progress=interrupt)
        assert "interrupted" in dag.note
        assert "interrupted" in repr(dag)
        empty = tb.score_structure(tb.DAG(wide.names), wide)
        assert dag.score >= max([empty, *(move.score for move in dag.trace)]) - 1e-6

    def test_ctrl_c_while_counting_keeps_a_whole_graph(self, wide, monkeypatch):
        """An interruption between the two halves of a reversal, or at any other moment of a move."""
        from tunbridge.learning.searches.climber import Climber

        rescore, left = Climber._rescore, iter(range(10**6))

        for moment in range(26, 80, 3):
            left = iter(range(moment))

            def interrupted(self: Climber, x: int, left=left) -> None:
                if next(left, None) is None:
                    raise KeyboardInterrupt
                rescore(self, x)

            monkeypatch.setattr(Climber, "_rescore", interrupted)
            dag = tb.learn_structure(wide, search=tb.Tabu(restarts=0))
            assert "interrupted" in dag.note
            start = tb.score_structure(tb.DAG(wide.names), wide)
            assert dag.score == pytest.approx(max([start, *(move.score for move in dag.trace)]), rel=1e-9)


class TestNetwork:
    def test_mistakes_are_found_before_the_search(self, asia):
        def forbidden(what: str, score: float) -> None:
            raise AssertionError("the search has begun")

        with pytest.raises(DataError, match="prior must be at least 0"):
            tb.learn_network(asia, prior=-1, progress=forbidden)
        frame = {"a": ["x", "y"] * 50, "e": [None] * 100}
        with pytest.raises(DataError, match="a network's columns must have states; 'e' held only missing values"):
            tb.learn_network(tb.as_table(frame, kinds="categorical"), "nal", progress=forbidden)

    def test_a_network_answers(self, asia):
        net = tb.learn_network(asia, search="tabu")
        exact = tb.example_network("asia").posterior("lung", {"xray": "yes"})["yes"]
        assert net.posterior("lung", {"xray": "yes"})["yes"] == pytest.approx(exact, abs=0.08)
        assert net.dag == tb.learn_structure(asia, search="tabu")


@dataclass(frozen=True)
class ToySearch(Search):
    """Return the start graph."""

    name: ClassVar[str] = "toy-search"

    def run(self, problem: Problem) -> SearchResult:
        return SearchResult(problem.start)


class TestRegistry:
    def test_names_are_those_of_the_classes(self):
        for name, entry in entries("search").items():
            assert entry.load().name == name

    def test_a_search_of_ones_own_is_found_by_name(self, asia):
        registered = registry.search("toy-search")(ToySearch)
        try:
            assert entries("search")["toy-search"].summary == "Return the start graph"
            assert as_search("toy search") == registered()
            assert tb.learn_structure(asia, search="toy-search").search == "toy-search"
        finally:
            registry._REGISTERED["search"].pop("toy-search")
