"""Structural EM against complete data, complete rows and the node average; completions against exact posteriors."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import ConvergenceWarning, DataError, MemoryForecastError
from tunbridge.learning.missing.completions import _Repeated, complete
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.missing.structural_em import Task, _observed_score
from tunbridge.learning.parameters.priors import as_prior
from tunbridge.learning.structure import families_of

SCORES = [tb.BIC(), tb.AIC(), tb.LogLikelihood(), tb.K2(), tb.FNML(), tb.QNML(), tb.NodeAverage(), tb.BDeu(5), tb.BDs()]


def with_holes(table: tb.Table, share: float, seed: int) -> tb.Table:
    """Return a table with cells missing completely at random."""
    rng = np.random.default_rng(seed)
    holes = [rng.random(table.n_rows) < share for _ in table.names]
    return tb.Table.of(
        [c._replace(values=np.where(h, -1, c.values).astype(c.values.dtype)) for c, h in zip(table, holes, strict=True)]
    )


def whole_rows(table: tb.Table) -> tb.Table:
    return table.take(np.logical_and.reduce([codes >= 0 for codes in table.columns]))


@pytest.fixture(scope="module")
def asia() -> tb.BayesianNetwork:
    return tb.example_network("asia")


@pytest.fixture(scope="module")
def complete_rows(asia) -> tb.Table:
    return asia.sample(2000, random_state=2)


@pytest.fixture(scope="module")
def holes(complete_rows) -> tb.Table:
    return with_holes(complete_rows, 0.2, 2)


@pytest.fixture(scope="module")
def fit(holes) -> tb.StructuralFit:
    return tb.StructuralEM().fit(holes, random_state=0)


class TestWithoutHoles:
    @pytest.mark.parametrize("search", ["hill-climbing", tb.Tabu(restarts=2), "chow-liu"])
    def test_it_is_search_and_counting(self, complete_rows, search):
        found = tb.StructuralEM(search).fit(complete_rows, 0.5, random_state=3)
        dag = tb.learn_structure(complete_rows, search=search, random_state=3)
        net = tb.fit_parameters(dag, complete_rows, 0.5)
        assert found.network.dag == dag
        assert all(np.array_equal(found.network.cpt(n).table(), net.cpt(n).table()) for n in net.nodes)
        assert found.converged
        assert len(found.trace) == 1
        assert found.log_likelihood == pytest.approx(net.log_likelihood(complete_rows).sum(), rel=1e-12)
        if search != "chow-liu":
            assert found.score == pytest.approx(dag.score, rel=1e-12)

    def test_a_start_is_passed_on(self, complete_rows, asia):
        found = tb.StructuralEM(tb.HillClimbing(max_moves=0)).fit(complete_rows, start=asia)
        assert set(found.network.dag.arcs) == set(asia.dag.arcs)

    def test_weights_count(self, complete_rows):
        table = complete_rows.take(slice(0, 400))
        twice = tb.StructuralEM().fit(table.with_weights(np.full(400, 2.0)))
        assert twice.log_likelihood == pytest.approx(2 * twice.network.log_likelihood(table).sum(), rel=1e-12)


class TestQuality:
    def test_the_score_rises_and_its_steps_are_told(self, fit, holes):
        scores = [step.score for step in fit.trace]
        assert len(scores) > 1
        assert all(b > a for a, b in pairwise(scores))
        assert fit.score == scores[-1]
        assert fit.converged
        assert fit.trace[-1].n_arcs == fit.network.dag.n_arcs
        assert fit.log_likelihood == pytest.approx(fit.network.log_likelihood(holes).sum(), rel=1e-9)
        assert [step.round for step in fit.trace] == sorted({step.round for step in fit.trace})
        assert repr(fit).startswith(f"StructuralFit: bic {fit.score:.6g} after {len(scores) - 1} better graph")

    @pytest.mark.parametrize(("share", "most"), [(0.1, 0.5), (0.2, 0.9)])
    def test_asia_comes_closer_than_by_dropping_rows_or_the_node_average(self, asia, share, most):
        whole = average = found = 0
        for seed in range(1, 6):
            table = with_holes(asia.sample(2000, random_state=seed), share, seed)
            whole += tb.shd(tb.learn_structure(whole_rows(table)), asia.dag)
            average += tb.shd(tb.learn_structure(table, "nal"), asia.dag)
            found += tb.shd(tb.StructuralEM().fit(table, random_state=0).network.dag, asia.dag)
        assert found < most * min(whole, average)

    def test_alarm_with_a_tenth_missing(self, shared_data):
        net = tb.read_network(shared_data / "networks" / "alarm.bif")
        table = with_holes(net.sample(2000, random_state=1), 0.1, 1)
        average = tb.learn_structure(table, "nal")
        whole = tb.learn_structure(whole_rows(table))
        found = tb.StructuralEM().fit(table, random_state=0).network.dag
        assert tb.shd(found, net.dag) < 0.7 * min(tb.shd(average, net.dag), tb.shd(whole, net.dag))

    def test_no_graph_of_the_way_is_better_than_the_last(self, holes, asia):
        start = tb.StructuralEM(rounds=20).fit(holes, start=asia.dag, random_state=1)
        assert start.trace[0].n_arcs == asia.dag.n_arcs
        assert start.score >= start.trace[0].score

    @pytest.mark.parametrize("search", ["tabu", "ges", "orders", "exact", "sparse-candidate"])
    def test_every_search(self, holes, fit, search):
        found = tb.StructuralEM(search).fit(holes, random_state=0)
        assert found.search == search
        assert found.score > fit.score - 1

    def test_trees_go_by_the_likelihood(self, holes):
        found = tb.StructuralEM("chow-liu").fit(holes, random_state=0)
        assert found.criterion == "loglik"
        assert found.network.dag.n_arcs == 7
        assert found.score == pytest.approx(found.log_likelihood, abs=1.0)

    @pytest.mark.parametrize("score", SCORES, ids=lambda s: s.name)
    def test_every_score(self, holes, score):
        found = tb.StructuralEM(score=score).fit(holes, random_state=0)
        assert found.criterion == score.name
        assert found.score >= found.trace[0].score
        assert found.converged


class TestObservedScore:
    @pytest.mark.parametrize("score", SCORES, ids=lambda s: s.name)
    def test_without_holes_it_is_the_score(self, asia, complete_rows, score):
        score = score.for_variables(8)
        problem = DiscreteProblem(asia.dag, complete_rows, as_prior("mle"))
        tables = problem.tables_of(asia)
        value, log_likelihood = _observed_score(problem, problem.normalised(tables + 0.01), score)
        assert value == pytest.approx(tb.score_structure(asia.dag, complete_rows, score), rel=1e-10)
        assert log_likelihood < problem.rows.expected_counts(tables).log_likelihood

    def test_bic_is_that_of_the_fit_without_a_prior(self, asia, holes):
        found = tb.EM(tolerance=1e-10).fit(asia.dag, holes, "mle")
        problem = DiscreteProblem(asia.dag, holes, as_prior("mle"))
        value, _ = _observed_score(problem, problem.tables_of(found.network), tb.BIC())
        assert value == pytest.approx(found.bic, rel=1e-7)

    def test_with_a_prior_it_lies_between_the_fit_and_the_best_tables(self, asia, holes):
        best = tb.EM(tolerance=1e-10).fit(asia.dag, holes, "mle")
        found = tb.EM().fit(asia.dag, holes, 5.0)
        problem = DiscreteProblem(asia.dag, holes, as_prior("mle"))
        value, _ = _observed_score(problem, problem.tables_of(found.network), tb.BIC())
        assert found.bic + 1 < value < best.bic - 1


class TestCompletions:
    def test_what_is_known_stays_and_nothing_is_missing(self, asia, holes):
        rows = complete(asia, holes, tb.BIC(), times=3, entropy=1)
        assert rows.table.n_rows == 3 * holes.n_rows
        assert not rows.table.missing
        for name in asia.nodes:
            known = np.tile(holes.codes(name), 3)
            assert np.array_equal(rows.table.codes(name)[known >= 0], known[known >= 0])

    def test_draws_follow_the_exact_posterior(self, asia):
        hidden = ("tub", "lung", "either", "bronc")
        evidence = {"asia": "no", "smoke": "yes", "xray": "yes", "dysp": "yes"}
        row = {name: [evidence.get(name)] * 2000 for name in asia.nodes}
        table, _ = tb.data.encode(row, asia.variables)
        times = 20_000
        rows = complete(asia, table, tb.BIC(), times=10, entropy=5).table
        exact, prior = asia.posterior(list(hidden), evidence), asia.posterior(list(hidden))
        drawn = Counter(zip(*(rows.codes(name).tolist() for name in hidden), strict=True))
        shares = np.zeros((2, 2, 2, 2))
        for states, n in drawn.items():
            shares[states] = n / times
        assert 0.5 * np.abs(shares - exact.probabilities).sum() < 0.015
        assert 0.5 * np.abs(shares - prior.probabilities).sum() > 0.2

    def test_counts_are_the_expected_ones(self, asia, holes):
        rows = complete(asia, holes, tb.BIC(), times=200, entropy=1)
        problem = DiscreteProblem(asia.dag, holes, as_prior("mle"))
        flat = problem.start
        expected = problem.rows.expected_counts(problem.tables_of(asia)).counts
        family = tb.Counter(rows.table).family("smoke", [])
        v = [x.name for x in flat.variables].index("smoke")
        observed = expected[flat.table_start[v] : flat.table_start[v + 1]]
        barren = holes.n_rows - observed.sum()  # rows that tell nothing of it are drawn from its own table
        whole = observed + barren * asia.cpt("smoke").table()
        assert family.table.ravel() / 200 == pytest.approx(whole, abs=4)

    @pytest.mark.parametrize("score", SCORES, ids=lambda s: s.name)
    def test_merged_rows_score_as_repeated_ones(self, asia, holes, score):
        score = score.for_variables(8)
        merged = complete(asia, holes, score, times=4, entropy=2, merge=True)
        other = complete(asia, holes, score, times=4, entropy=2)
        assert merged.table.weights.sum() == pytest.approx(holes.n_rows, rel=1e-12)
        assert (getattr(other.score, "times", None) == 4) != score.is_dirichlet
        for family in (("either", ("lung", "tub")), ("dysp", ()), ("smoke", ("xray", "bronc"))):
            child, parents = family
            dag = tb.DAG(asia.nodes, [(p, child) for p in parents])
            a, b = (tb.score_structure(dag, c.table, c.score, by_family=True)[child] for c in (merged, other))
            assert a == pytest.approx(b, rel=1e-10)

    @pytest.mark.parametrize("score", SCORES[:7], ids=lambda s: s.name)
    def test_a_table_repeated_scores_as_it_does(self, complete_rows, score):
        table = complete_rows.take(slice(0, 500))
        five = table.take(np.tile(np.arange(500), 5))
        one, other = families_of(table, score), families_of(five, _Repeated(score, 5))
        assert other.criterion.is_equivalent == score.is_equivalent
        for x in range(8):
            known = one.additions(x, ())
            assert np.allclose(other.additions(x, ()), known, rtol=1e-10, atol=0)
            assert other.score(x, ((x + 1) % 8,)) == pytest.approx(one.score(x, ((x + 1) % 8,)), rel=1e-10)

    def test_weights_are_shared_out(self, asia, holes):
        weights = np.random.default_rng(0).random(holes.n_rows)
        rows = complete(asia, holes.with_weights(weights), tb.BIC(), times=3, entropy=1)
        assert rows.table.weights.sum() == pytest.approx(weights.sum(), rel=1e-12)
        assert rows.score == _Repeated(tb.BIC(), 1)
        assert rows.table.n_rows < 3 * holes.n_rows

    def test_memory_is_forecast(self, asia, holes, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e6")
        with pytest.raises(MemoryForecastError, match=r"50 completions of each row would need .* fewer completions"):
            complete(asia, holes, tb.BIC(), times=50, entropy=1)


class TestSettings:
    def test_equal_seeds_give_equal_networks_whatever_the_threads(self, holes, fit):
        again = tb.StructuralEM().fit(holes, random_state=0, n_jobs=1)
        assert again.network.dag == fit.network.dag
        assert all(
            np.array_equal(again.network.cpt(n).table(), fit.network.cpt(n).table()) for n in again.network.nodes
        )
        assert [s.score for s in again.trace] == [s.score for s in fit.trace]

    def test_the_number_of_completions_matters(self, holes, monkeypatch):
        asked = []

        def counting(*args, times, **rest):
            asked.append(times)
            return complete(*args, times=times, **rest)

        monkeypatch.setattr("tunbridge.learning.missing.structural_em.complete", counting)
        tb.StructuralEM(completions=2).fit(holes, random_state=0)
        assert set(asked) == {2}
        asked.clear()
        monkeypatch.setattr("tunbridge.learning.missing.structural_em._MANY_ROWS", 5 * holes.n_rows)
        tb.StructuralEM().fit(holes, random_state=0)
        assert set(asked) == {5}

    def test_constraints_hold(self, holes):
        known = tb.Constraints(required=["xray->smoke"], forbidden=["either->dysp", "dysp->either"], max_parents=2)
        net = tb.StructuralEM().fit(holes, constraints=known, max_parents=1, random_state=0).network
        assert net.dag.has_arc("xray", "smoke")
        assert not net.dag.has_arc("either", "dysp")
        assert not net.dag.has_arc("dysp", "either")
        assert max(len(net.dag.parents(n)) for n in net.nodes) == 1

    def test_the_prior_of_an_arc_counts(self, holes):
        likely = tb.Constraints(arc_probability={"asia->smoke": 1 - 1e-9})
        usual = tb.StructuralEM(tb.HillClimbing(max_moves=0)).fit(holes, start=tb.DAG(holes.names, [("asia", "smoke")]))
        found = tb.StructuralEM().fit(holes, constraints=likely, random_state=0)
        assert found.network.dag.has_arc("asia", "smoke")
        raised = tb.StructuralEM(tb.HillClimbing(max_moves=0), rounds=1).fit(
            holes, constraints=likely, start=tb.DAG(holes.names, [("asia", "smoke")]), random_state=0
        )
        assert raised.trace[0].score - usual.trace[0].score == pytest.approx(np.log((1 - 1e-9) / 1e-9), rel=1e-6)

    def test_required_arcs_between_columns_never_seen_together(self):
        rng = np.random.default_rng(0)
        a = np.where(rng.random(300) < 0.5, "x", "y").astype(object)
        b, c = a.copy(), np.where(rng.random(300) < 0.1, "x", a).astype(object)
        a[::2], b[1::2] = None, None
        found = tb.StructuralEM().fit({"a": a, "b": b, "c": c}, constraints=tb.Constraints(required=["a->b"]))
        assert found.network.dag.has_arc("a", "b")

    def test_the_tables_of_a_start_are_used(self, holes, fit):
        short = tb.EM(max_iterations=1)
        known = tb.StructuralEM(tb.HillClimbing(max_moves=0), em=short, rounds=1).fit(holes, start=fit.network)
        assert known.trace[0].log_likelihood == pytest.approx(fit.log_likelihood, abs=0.1)


@pytest.fixture(scope="module")
def rows() -> dict[str, list[str]]:
    """Return columns with a common cause that nobody has seen."""
    rng = np.random.default_rng(0)
    h = rng.integers(0, 2, 1500)
    return {f"x{i}": np.where(rng.random(1500) < np.where(h, 0.9, 0.15), "a", "b").tolist() for i in range(4)}


class TestHidden:
    def test_a_common_cause_explains_more_than_any_arcs(self, rows):
        found = tb.StructuralEM().fit(rows, hidden={"h": 2}, random_state=0)
        assert set(found.network.dag.arcs) == {("h", f"x{i}") for i in range(4)}
        assert found.score > tb.StructuralEM().fit(rows).score + 10
        assert found.network.cpt("h").variable.states == ("0", "1")

    def test_a_given_start_is_improved(self, rows):
        start = tb.DAG([*rows, "h"], [("h", "x0"), ("h", "x1"), ("h", "x2")])
        found = tb.StructuralEM().fit(rows, hidden={"h": ["low", "high"]}, start=start, random_state=0)
        assert found.trace[0].n_arcs == 3
        assert found.score > found.trace[0].score + 100
        assert set(found.network.dag.markov_blanket("h")) == set(rows)

    def test_the_first_arcs_obey(self, rows):
        known = tb.Constraints(forbidden=["h->x0"], required=["x1->h"], max_parents={"x2": 0})
        found = tb.StructuralEM(tb.HillClimbing(max_moves=0), rounds=1).fit(
            rows, hidden={"h": 2}, constraints=known, random_state=0
        )
        assert set(found.network.dag.arcs) == {("x1", "h"), ("h", "x3")}

    def test_through_learn_network(self, rows):
        net = tb.learn_network(rows, hidden={"h": 2}, random_state=0)
        assert set(net.dag.arcs) == {("h", f"x{i}") for i in range(4)}
        with pytest.raises(DataError, match="missing must be 'em' if variables are hidden; got 'complete'"):
            tb.learn_network(rows, hidden={"h": 2}, missing="complete")

    def test_a_column_without_a_value_may_be_hidden(self, rows):
        table = tb.as_table({**rows, "h": [None] * 1500}, kinds="categorical")
        with pytest.raises(DataError, match="a network's columns must have states; 'h' held only missing"):
            tb.StructuralEM().fit(table)
        assert tb.StructuralEM().fit(table, hidden={"h": 2}, random_state=0).network.dag.children("h")

    def test_what_was_observed_is_not_hidden(self, rows):
        with pytest.raises(DataError, match="a hidden variable must have no observed values; 'x0' has"):
            tb.StructuralEM().fit(rows, hidden={"x0": 2})


class TestEnd:
    @staticmethod
    def stopping_at(word: str, times: int = 1):
        left = [times]

        def report(what: str, score: float) -> None:
            if word in what:
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt

        return report

    @pytest.mark.parametrize(
        ("word", "n_graphs"), [("round 0, EM", 1), ("round 1, completing", 1), ("round 1, EM", 2), ("round 2, comp", 2)]
    )
    def test_an_interruption_keeps_the_best_so_far(self, holes, word, n_graphs):
        found = tb.StructuralEM().fit(holes, random_state=0, progress=self.stopping_at(word))
        assert found.note == "interrupted: the best network so far"
        assert not found.converged
        assert len(found.trace) == n_graphs
        assert found.network.log_likelihood(holes.take(slice(0, 10))).max() < 0
        assert "interrupted" in repr(found)

    @pytest.mark.parametrize(("nth", "n_graphs"), [(1, 1), (2, 1), (3, 1), (4, 2)])
    def test_an_interrupted_search_ends_it(self, holes, monkeypatch, nth, n_graphs):
        calls = []

        def search(*args, **rest):
            calls.append(1)
            dag = tb.learn_structure(*args, **rest)
            note = "interrupted: the best graph so far" if len(calls) == nth else ""
            return tb.LearnedDAG(dag.nodes, dag.arcs, family_scores=dag.family_scores, note=note)

        monkeypatch.setattr("tunbridge.learning.missing.structural_em.learn_structure", search)
        found = tb.StructuralEM().fit(holes, random_state=0)
        assert found.note == "interrupted: the best network so far"
        assert len(found.trace) == n_graphs

    def test_a_graph_that_is_too_large_ends_it(self, holes, monkeypatch):
        honest = Task.fitted

        def small_only(self, dag, start, n_round):
            if n_round:
                raise MemoryForecastError("the largest junction tree of a row would need 9 GiB.")
            return honest(self, dag, start, n_round)

        monkeypatch.setattr(Task, "fitted", small_only)
        found = tb.StructuralEM().fit(holes, random_state=0)
        assert len(found.trace) == 1
        assert not found.converged
        assert found.note.startswith("stopped because of insufficient memory: the largest junction tree")

    def test_tables_that_would_not_fit_are_not_tried(self, monkeypatch):
        rng = np.random.default_rng(0)
        table = with_holes(tb.as_table({f"x{i}": rng.integers(0, 8, 200).astype(str) for i in range(8)}), 0.1, 1)
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e8")
        found = tb.StructuralEM(score="loglik").fit(table, start=tb.DAG(table.names), random_state=0)
        assert found.network.dag.n_arcs == 0
        assert found.note.startswith("stopped because of insufficient memory: EM on the tables of a graph would need")
        assert found.note.endswith("Set max_parents, or use a score that penalises parameters.")

    def test_the_limit_is_told(self, holes):
        with pytest.warns(
            ConvergenceWarning, match=r"structural EM did not converge in 1 round: .* raised the score by"
        ):
            found = tb.StructuralEM(rounds=1).fit(holes, random_state=0)
        assert not found.converged
        assert found.trace[-1].round == 1


class TestMessages:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"rounds": 0}, "rounds must be at least 1; got 0"),
            ({"completions": 1.5}, "completions must be an integer, or None; got 1.5"),
            ({"em": "em"}, r"em must be a fitter such as tb.EM\(\); got 'em'"),
            ({"score": "bik"}, "Did you mean 'bic'"),
            ({"search": "tabo"}, "Did you mean 'tabu'"),
            ({"search": tb.SparseCandidate(checkpoint="x")}, "search must not have a checkpoint, because"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(DataError, match=message):
            tb.StructuralEM(**options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"start": tb.DAG(["a"])}, "start must have the table's columns as its nodes"),
            ({"start": "empty"}, "start must be a DAG; got 'empty'"),
            ({"constraints": tb.Constraints(roots=["smok"])}, "Did you mean 'smoke'"),
            ({"prior": -1}, "prior must be at least 0"),
            ({"random_state": "x"}, "random_state must be a non-negative integer"),
        ],
    )
    def test_arguments(self, holes, options, message):
        with pytest.raises(DataError, match=message):
            tb.StructuralEM().fit(holes, **options)

    def test_tables(self):
        with pytest.raises(DataError, match="a table to learn from must have rows and columns"):
            tb.StructuralEM().fit(tb.as_table({"a": ["x"]}).take(slice(0, 0)))
        with pytest.raises(DataError, match="a network's columns must be categorical; 'x' is continuous"):
            tb.StructuralEM().fit({"x": [0.5, 1.25, None]})

    @pytest.mark.parametrize(
        "frame",
        [
            {"a": ["x", None, "y"]},
            {"a": ["x", None, "x"], "b": [None, None, "y"]},
            {"a": ["x", None], "b": [None, "y"]},
            {"a": ["x"], "b": ["y"]},
        ],
        ids=["one column", "a row without cells, constants", "no row whole", "one row"],
    )
    @pytest.mark.parametrize("options", [{}, {"score": "bdeu"}, {"search": "chow-liu"}])
    def test_small_tables_have_an_answer(self, frame, options):
        found = tb.StructuralEM(**options).fit(frame, random_state=0)
        assert np.isfinite(found.score)
        assert found.converged
        assert found.network.nodes == tuple(frame)

    def test_a_structure_alone_points_here(self, holes):
        with pytest.raises(DataError, match=r"Use score='nal', .* or use tb\.learn_network\(df\), .*\(structural EM\)"):
            tb.learn_structure(holes)


class TestLearnNetwork:
    def test_holes_lead_to_structural_em(self, holes, fit):
        net = tb.learn_network(holes, random_state=0)
        assert net.dag == fit.network.dag
        assert np.array_equal(net.cpt("dysp").table(), fit.network.cpt("dysp").table())

    def test_the_fitter_is_passed_on(self, holes):
        with pytest.warns(ConvergenceWarning, match="EM did not converge in 2 iterations"):
            tb.learn_network(holes, missing=tb.EM(max_iterations=2), random_state=0)

    def test_the_node_average_keeps_its_graph(self, holes):
        net = tb.learn_network(holes, "nal")
        assert net.dag == tb.learn_structure(holes, "nal")
        counted = tb.learn_network(holes, "nal", missing="available")
        assert np.array_equal(
            counted.cpt("smoke").table(), tb.fit_parameters(net.dag, holes, missing="available").cpt("smoke").table()
        )

    def test_an_unknown_option_is_one_of_this_function(self, holes):
        what = r"^learn_network\(\) got an unexpected keyword argument"
        with pytest.raises(TypeError, match=rf"{what} 'max_parent'\. Did you mean 'max_parents'\?$"):
            tb.learn_network(holes, max_parent=2)
        with pytest.raises(TypeError, match=rf"{what} 'discretise'\. Known: 'frame', 'score', 'search'"):
            tb.learn_network(holes, discretise="frequency")

    def test_complete_rows(self, holes):
        whole = whole_rows(holes)
        net = tb.learn_network(holes, missing="complete")
        assert net.dag == tb.learn_structure(whole)
        assert np.array_equal(net.cpt("xray").table(), tb.fit_parameters(net.dag, whole).cpt("xray").table())
        with pytest.raises(DataError, match="missing='complete' must leave rows to learn from; every row"):
            tb.learn_network({"a": ["x", None], "b": [None, "y"]}, missing="complete")

    def test_available_rows_need_the_node_average(self, holes):
        with pytest.raises(DataError, match="must have no missing values"):
            tb.learn_network(holes, missing="available")
        with pytest.raises(DataError, match="missing must be one of 'em', 'available', 'complete'; got 'drop'"):
            tb.learn_network(holes, missing="drop")
        with pytest.raises(DataError, match=r"missing must be 'em' or a fitter .* Call its fit\(frame\)"):
            tb.learn_network(holes, missing=tb.StructuralEM())


def test_weights_of_completed_rows_add_up_to_the_rows():
    frame = {"a": ["x", "y"], "b": ["u", None], "c": [None, "w"]}
    fit = tb.StructuralEM(score="bdeu").fit(frame, random_state=0)
    assert fit.converged
