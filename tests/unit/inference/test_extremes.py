"""Numbers and networks at the edge: nothing vanishes, nothing hangs, nothing is taken that was not forecast."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta

import tunbridge as tb
from tunbridge.errors import DataError, ImpossibleEvidenceError, MemoryForecastError
from tunbridge.inference import array_propagation, engine as engine_module
from tunbridge.inference.tree import Shelf


@pytest.fixture(params=["whole tree", "tree of its own", "NumPy"])
def path(request, monkeypatch):
    """Take each of the ways an exact answer can go."""
    monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: request.param != "NumPy")
    monkeypatch.setattr(array_propagation, "_left", math.inf)
    if request.param == "tree of its own":
        monkeypatch.setattr(engine_module, "_SMALL_TREE", 0)
        monkeypatch.setattr(engine_module, "_WORTH_A_TREE", math.inf)
    return request.param


def star(rows: list[list[list[float]]]) -> tb.BayesianNetwork:
    """Return a cause of two states with one leaf for each table."""
    leaves = {f"x{i}": ["a", "b"] for i in range(len(rows))}
    tables = {"cause": [0.5, 0.5]} | dict(zip(leaves, rows, strict=True))
    return tb.BayesianNetwork({"cause": ["a", "b"]} | leaves, [("cause", name) for name in leaves], tables)


class TestManyFindings:
    def test_as_many_for_one_cause_as_for_the_other(self, path):
        net = star([[[0.9, 0.1], [0.1, 0.9]]] * 1000)
        evidence = {f"x{i}": "a" if i < 500 else "b" for i in range(1000)}
        np.testing.assert_allclose(net.posterior("cause", evidence).probabilities, 0.5, rtol=1e-9, atol=0)
        assert net.log_probability(evidence) == pytest.approx(500 * math.log(0.09), rel=1e-12)
        rows = {name: [state] for name, state in evidence.items()}
        np.testing.assert_allclose(net.predict_proba(rows, "cause"), 0.5, rtol=1e-9, atol=0)
        soft = {n: {"a": 0.9, "b": 0.1} if s == "a" else {"a": 0.1, "b": 0.9} for n, s in evidence.items()}
        np.testing.assert_allclose(net.posterior("cause", soft).probabilities, 0.5, rtol=1e-9, atol=0)
        assert net.most_probable(evidence | {"cause": "b"}).log_probability == pytest.approx(
            500 * math.log(0.09) + math.log(0.5), rel=1e-12
        )

    def test_one_finding_that_excludes_what_hundreds_spoke_for(self, path):
        net = star([[[0.9, 0.1], [0.1, 0.9]]] * 400 + [[[0.0, 1.0], [0.5, 0.5]]])
        evidence = {f"x{i}": "a" for i in range(401)}
        assert net.posterior("cause", evidence).probabilities.tolist() == [0.0, 1.0]
        assert net.predict_proba({n: [s] for n, s in evidence.items()}, "cause").tolist() == [[0.0, 1.0]]

    def test_gibbs_does_not_lose_a_state(self):
        net = star([[[0.9, 0.1], [0.1, 0.9]]] * 1000)
        evidence = {f"x{i}": "a" if i < 500 else "b" for i in range(1000)}
        found = net.posterior("cause", evidence, method="gibbs", random_state=0, max_samples=4000)
        np.testing.assert_allclose(found.probabilities, 0.5, rtol=1e-9, atol=0)


class TestSmallNumbers:
    def test_six_findings_of_1e_200(self, path):
        net = star([[[1e-200, 1.0], [2e-200, 1.0]]] * 6)
        evidence = {f"x{i}": "a" for i in range(6)}
        np.testing.assert_allclose(net.posterior("cause", evidence)["b"], 64 / 65, rtol=1e-12, atol=0)
        rows = {name: [state] for name, state in evidence.items()}
        np.testing.assert_allclose(net.predict_proba(rows, "cause")[0, 1], 64 / 65, rtol=1e-12, atol=0)

    def test_likelihoods_too_far_apart_for_a_double(self):
        net = tb.BayesianNetwork({"A": ["a", "b"]}, [], {"A": [0.0, 1.0]})
        with pytest.raises(tb.DataError, match="likelihoods of 'A' must be 0, or at least 2"):
            net.posterior("A", {"A": {"a": 1e308, "b": 1e-308}})

    def test_a_likelihood_of_1e_307_against_a_prior_of_1e_300(self):
        net = tb.BayesianNetwork({"A": ["a", "b"]}, [], {"A": [1.0, 1e-300]})
        evidence = {"A": {"a": 1e-307, "b": 1.0}}
        assert net.posterior("A", evidence)["a"] == pytest.approx(1e-7, rel=1e-9)
        assert net.most_probable(evidence)["A"] == "b"
        assert net.log_probability(evidence) == pytest.approx(-300 * np.log(10) + np.log1p(1e-7), rel=1e-12)

    def test_sums_that_are_nearly_nothing(self, path):
        cause = {"p": ["a", "b"], "q": ["a", "b"], "c": ["a", "b"], "d": ["a", "b"]}
        arcs = [("p", "c"), ("q", "c"), ("p", "d"), ("q", "d")]
        rows = np.array([[1e-155, 1.0], [1e-155, 1.0], [2e-155, 1.0], [1e-155, 1.0]])
        net = tb.BayesianNetwork(cause, arcs, {"p": [0.5, 0.5], "q": [0.5, 0.5], "c": rows, "d": rows})
        evidence = {"c": "a", "d": "a"}
        np.testing.assert_allclose(net.posterior("p", evidence)["b"], 5 / 7, rtol=1e-6, atol=0)
        drawn = net.sample(20_000, random_state=0, evidence=evidence)
        assert abs(drawn.codes("p").mean() - 5 / 7) < 0.02


def test_explain_near_certainty():
    net = star([[[0.9, 0.1], [0.1, 0.9]]] * 40)
    found = net.explain("cause", {f"x{i}": "a" for i in range(40)})
    assert found.posterior["a"] == 1.0
    np.testing.assert_allclose([f.weight for f in found.findings], math.log(9), rtol=1e-9, atol=0)


class TestImpossibleEvidence:
    """One answer whatever the question and the size of the network."""

    @pytest.fixture
    def net(self):
        tables = {"A": [0.5, 0.5], "B": [1.0, 0.0], "C": [0.5, 0.5]}
        return tb.BayesianNetwork(dict.fromkeys(tables, ("s0", "s1")), [], tables)

    @pytest.mark.parametrize(
        "ask",
        [
            lambda net, e: net.posterior("A", e),
            lambda net, e: net.posterior(["A", "C"], e),
            lambda net, e: net.posteriors(e),
            lambda net, e: net.probability({"A": "s0"}, e),
            lambda net, e: net.probability(lambda a: a == "s0", e, of="A"),
            lambda net, e: net.most_probable(e),
            lambda net, e: net.explain("A", e),
            lambda net, e: net.conflict(e),
            lambda net, e: net.sample(3, evidence=e),
            lambda net, e: net.posterior("A", e, method="likelihood-weighting", random_state=0, max_samples=1000),
        ],
    )
    def test_is_refused_by_every_question(self, net, path, ask):
        with pytest.raises(ImpossibleEvidenceError):
            ask(net, {"B": "s1"})


class TestLargeNetworks:
    @staticmethod
    def grid(n: int, n_states: int = 2) -> tb.BayesianNetwork:
        states = list(range(n_states))
        variables = {f"g{i}_{j}": states for i in range(n) for j in range(n)}
        arcs = [(f"g{i}_{j}", f"g{i + 1}_{j}") for i in range(n - 1) for j in range(n)]
        arcs += [(f"g{i}_{j}", f"g{i}_{j + 1}") for i in range(n) for j in range(n - 1)]
        into = {name: sum(b == name for _, b in arcs) for name in variables}
        rows = np.random.default_rng(0).dirichlet(np.ones(n_states), n_states**2)
        return tb.BayesianNetwork(variables, arcs, {name: rows[: n_states ** into[name]] for name in variables})

    def test_what_no_memory_could_hold_is_refused_and_a_small_question_answered(self):
        net = self.grid(45)
        forecast = net.forecast()
        assert not forecast.fits
        assert forecast.largest_entries > 1e12
        assert "too many entries to count" in repr(forecast)
        with pytest.raises(MemoryForecastError, match=r"largest clique: \d+ variables.*the limit is [\d.]+ [MG]iB"):
            net.posteriors()
        assert net.posterior("g0_0")[0] + net.posterior("g0_0")[1] == pytest.approx(1.0)

    def test_less_evidence_that_would_not_fit_does_not_hide_a_conflict(self, monkeypatch):
        net = self.grid(8)
        blocked = net.do({"g4_4": 0})
        known = {f"g{i}_{j}": 0 for i in (1, 3, 5, 7) for j in range(8)} | {"g4_4": 1}
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "6000")
        with pytest.raises(ImpossibleEvidenceError, match="g4_4=1"):
            blocked.posteriors(known)

    def test_kept_memory_is_bounded_over_all_trees(self):
        net = self.grid(9)
        net._engine._compiled.shelf = shelf = Shelf(2**20)
        for j in range(9):
            net.posteriors({f"g4_{j}": 0})
        kept = [t for t in net._engine._compiled.trees.values() if t is not None]
        held = sum(run.x.nbytes for tree in kept for runs in tree._kept.values() for run in runs)
        assert held + shelf.room <= 2**20

    def test_a_sparse_table_that_cannot_be_written_out(self):
        parents = [tb.Variable(f"p{i}", ["a", "b"]) for i in range(40)]
        child = tb.SparseCPT(tb.Variable("c", ["a", "b"]), parents, {("a",) * 40: [0.9, 0.1]}, [0.5, 0.5])
        net = tb.BayesianNetwork.from_tables([*(tb.CPT(p, [], [0.5, 0.5]) for p in parents), child])
        assert not net.forecast().fits
        assert net.forecast(target="p3").fits
        assert net.posterior("p3")["a"] == 0.5
        assert net.posterior("c", {p.name: "a" for p in parents})["a"] == pytest.approx(0.9)
        rows = net.sample(2000, random_state=0)
        assert rows.n_rows == 2000
        assert abs(rows.codes("c").mean() - 0.5) < 0.06

    def test_an_interval_needs_no_more_than_the_question(self):
        net = self.grid(30)
        cpt = net.cpt("g0_0")
        counted = [cpt.with_counts(np.array([3.0, 7.0])), *list(net.cpts.values())[1:]]
        found = tb.BayesianNetwork.from_tables(counted).posterior("g0_0", interval=0.9, random_state=0)
        np.testing.assert_allclose(found.interval[0], beta(3, 7).ppf([0.05, 0.95]), rtol=0, atol=0.03)  # 1 000 draws


class TestArgumentsThatWouldDoNothing:
    def test_interval_of_a_sampled_answer(self):
        with pytest.raises(DataError, match="interval must be used with method='exact'; got method='gibbs'"):
            tb.example_network("asia").posterior("lung", interval=0.9, method="gibbs")

    def test_two_tables_for_one_variable(self):
        a = tb.Variable("A", [0, 1])
        with pytest.raises(DataError, match="one table for every variable; got several for 'A'"):
            tb.BayesianNetwork([a], [], [tb.CPT(a, [], [0.5, 0.5]), tb.CPT(a, [], [0.1, 0.9])])

    def test_likelihoods_as_an_event(self):
        with pytest.raises(DataError, match="an event must name states"):
            tb.example_network("asia").probability({"lung": {"yes": 0.2, "no": 0.8}})


def test_a_union_over_many_variables():
    names = [f"v{i}" for i in range(40)]
    net = tb.BayesianNetwork(dict.fromkeys(names, ("a", "b")), [], dict.fromkeys(names, (0.1, 0.9)))
    assert net.probability([{name: "a"} for name in names]) == pytest.approx(1 - 0.9**40, rel=1e-12)
