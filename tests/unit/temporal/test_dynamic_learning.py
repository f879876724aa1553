from __future__ import annotations

import math

import numpy as np
import pytest

import tunbridge as tb
from dynamic_networks import random_dynamic
from tunbridge.errors import ConvergenceWarning, DataError
from tunbridge.temporal.chain import Chain, Frames, best_paths, filtered, smoothed
from tunbridge.temporal.dynamic import DynamicBayesianNetwork, kinds, learning
from tunbridge.temporal.dynamic.evidence import Asked, read_findings
from tunbridge.temporal.dynamic.learning import fit_dynamic, lag_strengths, learn_dynamic

BY = {"sequence": "sequence", "time": "time"}


def weather(n_states=2):
    move, seen = [[0.8, 0.2], [0.3, 0.7]], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]
    return kinds.hmm([0.6, 0.4], move, seen, states=["dry", "wet"], symbols=["a", "b", "c"])


class TestParameters:
    def test_complete_data_are_counted(self):
        net = weather()
        rows = net.sample(20, 300, random_state=0)
        fitted = fit_dynamic(net, rows, "mle", **BY)
        state, symbol, time = rows.codes("state"), rows.codes("symbol"), rows.floats("time")
        moves = np.zeros((2, 2))
        np.add.at(moves, (state[:-1][time[1:] > 0], state[1:][time[1:] > 0]), 1)
        np.testing.assert_allclose(fitted.cpts["state"].table(), moves / moves.sum(axis=1, keepdims=True), rtol=1e-12)
        shown = np.zeros((2, 3))
        np.add.at(shown, (state, symbol), 1)
        np.testing.assert_allclose(fitted.cpts["symbol"].table(), shown / shown.sum(axis=1, keepdims=True), rtol=1e-12)
        assert fitted.first.cpt("symbol") == fitted.cpts["symbol"]
        begin = np.bincount(state[time == 0]) / (time == 0).sum()
        np.testing.assert_allclose(fitted.first.cpt("state").table(), begin, rtol=1e-12)

    def test_em_on_complete_data_is_counting(self):
        rng = np.random.default_rng(4)
        for order in (1, 2):
            net = random_dynamic(rng, most_variables=3, most_states=2, order=order, zeros=0.0)
            rows = net.sample(6, 40, random_state=1)
            counted = fit_dynamic(net, rows, 1.0, **BY)
            found = read_findings(net._names, rows, Asked("sequence", "time"))
            rule = learning.as_prior(1.0)
            once = learning._estimated(net, learning.expected_counts(net, found)[0], rule)
            for name in net.nodes:
                np.testing.assert_allclose(once.cpts[name].table(), counted.cpts[name].table(), rtol=1e-9)
                np.testing.assert_allclose(once.first.cpt(name).table(), counted.first.cpt(name).table(), rtol=1e-9)

    def test_expected_counts_are_those_of_the_unrolled_network(self):
        rng = np.random.default_rng(8)
        net = random_dynamic(rng, most_variables=4, zeros=0.0)
        given = [{net.nodes[0]: "s0"}, {}, {net.nodes[-1]: "s1"}]
        (first, later), log = learning.expected_counts(net, read_findings(net._names, given, Asked()))
        wide = net.unrolled(3)
        evidence = {f"{net.nodes[0]}[0]": "s0", f"{net.nodes[-1]}[2]": "s1"}
        assert log == pytest.approx(wide.log_probability(evidence), rel=1e-12)
        for name in net.nodes:
            total = sum(family(wide, f"{name}[{t}]", evidence) for t in (1, 2))
            np.testing.assert_allclose(later[name], total, rtol=1e-10)
            np.testing.assert_allclose(first[name], family(wide, f"{name}[0]", evidence), rtol=1e-10)

    @pytest.mark.parametrize("seed", range(10))
    def test_em_never_falls(self, seed):
        rng = np.random.default_rng(seed)
        net = random_dynamic(rng, most_variables=3, order=1 + seed % 2, zeros=0.0)
        rows = net.sample(6, 8, random_state=seed).to_pandas()
        for name in net.nodes:
            rows[name] = rows[name].astype(object).where(rng.random(len(rows)) < 0.7, None)
        found = read_findings(net._names, rows, Asked("sequence", "time"))
        for prior in (0.0, 1.0):
            options = learning.DynamicEM(tolerance=0.0, max_iterations=15)
            start = learning._randomised(net, rng)
            reached, trace, _ = learning._climb(start, found, learning.as_prior(prior), options)
            assert (np.diff(trace) > -1e-9).all()
            if prior == 0.0:
                logs = [n.log_likelihood(rows, **BY).sum() for n in (start, reached)]
                assert logs[0] == pytest.approx(trace[0], rel=1e-9)
                assert logs[1] >= trace[-1] - 1e-9

    def test_hidden_states_are_found(self):
        rows = weather().sample(60, 60, random_state=2)
        arcs = [("state[t-1]", "state"), ("state", "symbol")]
        given = rows.drop(["state"])
        found = fit_dynamic(arcs, given, "mle", hidden={"state": 2}, restarts=1, random_state=0, **BY)
        assert found.log_likelihood(given, **BY).sum() > weather().log_likelihood(given, **BY).sum()
        stays = np.sort(np.diag(found.cpts["state"].table()))
        np.testing.assert_allclose(stays, [0.7, 0.8], atol=0.1)  # 3600 symbols
        with pytest.warns(ConvergenceWarning, match="EM did not converge in 1 iterations"):
            fit_dynamic(arcs, given, hidden={"state": 2}, max_iterations=1, random_state=0, **BY)

    def test_numbers(self):
        walk = DynamicBayesianNetwork(
            {"x": None}, arcs=[("x[t-1]", "x")], first={"x": {"variances": 1.0}},
            cpts={"x": {"intercepts": 0.5, "coefficients": [0.8], "variances": 0.3}},
        )  # fmt: skip
        rows = walk.sample(50, 100, random_state=3)
        found = fit_dynamic([("x[t-1]", "x")], rows, **BY).cpts["x"]
        assert float(found.coefficients[0]) == pytest.approx(0.8, abs=0.03)
        assert float(found.intercepts) == pytest.approx(0.5, abs=0.06)
        with pytest.raises(DataError, match="must be complete in a network with continuous variables"):
            fit_dynamic([("x[t-1]", "x")], {"x": [1.0, None, 2.0]})

    def test_wrong_input(self):
        with pytest.raises(DataError, match="hidden variables must not be columns"):
            fit_dynamic([], {"a": ["x", "y"]}, hidden={"a": 2})
        with pytest.raises(DataError, match="prior must not depend on the data"):
            fit_dynamic(weather(), {"symbol": ["a", "b"]}, "bds")
        with pytest.raises(DataError, match="the data must have a column"):
            fit_dynamic(weather(), {"Symbol!": ["a", "b"]})


def family(net, name, evidence):
    own = [*net.parents(name), name]
    if all(each in evidence for each in own):
        cells = np.zeros([net.variable(each).n_states for each in own])
        cells[tuple(net.variable(each).code(evidence[each]) for each in own)] = 1.0
        return cells
    return net.posterior(own, evidence).probabilities


class TestStructure:
    def truth(self):
        noisy = [[0.9, 0.1], [0.1, 0.9]]
        return DynamicBayesianNetwork(
            {"a": [0, 1], "b": [0, 1], "c": [0, 1]},
            first={"a": [0.5, 0.5], "b": [0.5, 0.5]},
            arcs=[("a[t-1]", "a"), ("a[t-2]", "b"), ("b", "c")],
            cpts={"a": [[0.7, 0.3], [0.3, 0.7]], "b": noisy, "c": noisy},
        )

    def test_lags_are_found(self):
        rows = self.truth().sample(50, 40, random_state=0).to_pandas().astype(int)
        rows = tb.as_table(rows, kinds={"a": "categorical", "b": "categorical", "c": "categorical"})
        net = learn_dynamic(rows, lags=2, random_state=0, **BY)
        assert {("a[t-1]", "a"), ("a[t-2]", "b")} <= set(net.arcs)
        assert {("b", "c"), ("c", "b")} & set(net.arcs)
        assert net.order == 2
        alone = learn_dynamic(rows, lags=2, intra_slice=False, random_state=0, **BY)
        assert all("[t-" in parent for parent, _ in alone.arcs)
        known = tb.Constraints(forbidden=[("a[t-2]", "b")])
        assert ("a[t-2]", "b") not in learn_dynamic(rows, lags=2, constraints=known, **BY).arcs
        strengths = lag_strengths(rows, lags=2, n_samples=5, random_state=0, **BY)
        best = {(s.parent, s.lag, s.child): s.strength for s in strengths}
        assert best["a", 2, "b"] == 1.0
        assert best.get(("c", 1, "a"), 0.0) < 1.0

    def test_gaussian(self):
        net = DynamicBayesianNetwork(
            {"x": None, "y": None}, arcs=[("x[t-1]", "x"), ("x[t-1]", "y")],
            first={"x": {"variances": 1.0}, "y": {"variances": 1.0}},
            cpts={"x": {"coefficients": [0.7], "variances": 0.5}, "y": {"coefficients": [1.0], "variances": 0.5}},
        )  # fmt: skip
        found = learn_dynamic(net.sample(40, 40, random_state=1), random_state=0, **BY)
        assert set(found.arcs) == {("x[t-1]", "x"), ("x[t-1]", "y")}

    def test_wrong_input(self):
        with pytest.raises(DataError, match="lags must be at least 1"):
            learn_dynamic({"a": [0, 1]}, lags=0)
        with pytest.raises(DataError, match="more than 3 slices"):
            learn_dynamic({"a": ["x", "y"]}, lags=3)
        with pytest.raises(DataError, match="at least two sequences"):
            lag_strengths({"id": [1, 1], "a": ["x", "y"]}, sequence="id")
        with pytest.raises(DataError, match="the slices are the tiers"):
            learn_dynamic({"a": ["x", "y"] * 3}, constraints=tb.Constraints(tiers=[["a"]]))


class TestKinds:
    def test_an_hmm_has_the_numbers_of_the_chain(self):
        rng = np.random.default_rng(0)
        start, move, emit = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)
        x = rng.integers(0, 4, 50)
        net, given = kinds.hmm(start, move, emit), [{"symbol": int(s)} for s in x]
        chain = Chain(start, move[None])
        frames = Frames(np.log(emit.T), x, np.array([0, 50]))
        logs, alpha = filtered(chain, frames)
        assert net.log_probability(given) == pytest.approx(logs[0], rel=1e-12)
        np.testing.assert_allclose(net.filter(given, "state").array, alpha, rtol=1e-11)
        np.testing.assert_allclose(net.smooth(given, "state").array, smoothed(chain, frames)[1], rtol=1e-11)
        best = net.most_probable(given)
        assert best["state"] == best_paths(chain, frames)[1].tolist()
        assert best.log_probability == pytest.approx(best_paths(chain, frames)[0][0], rel=1e-12)

    def test_ice_cream(self):
        net = kinds.hmm([0.2, 0.8], [[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.4, 0.1], [0.2, 0.4, 0.4]],
                        states=["C", "H"], symbols=[1, 2, 3])  # fmt: skip
        assert math.exp(net.log_probability([{"symbol": s} for s in (3, 1, 3)])) == pytest.approx(0.028562, abs=5e-7)

    def test_factorial_coupled_and_input_output(self):
        rng = np.random.default_rng(1)

        def rows(*shape):
            return rng.dirichlet(np.ones(shape[-1]), shape[:-1])

        nets = [
            kinds.factorial({"s": rows(2), "r": rows(3)}, {"s": rows(2, 2), "r": rows(3, 3)}, rows(2, 3, 2)),
            kinds.coupled({"s": rows(2), "r": rows(2)}, {"s": rows(2, 2, 2), "r": rows(2, 2, 2)},
                          {"s": rows(2, 3), "r": rows(2, 2)}),
            kinds.input_output(rows(2, 2), rows(2, 2, 2), rows(2, 2, 3), ["u", "v"]),
            kinds.input_output(rows(2, 2), rows(2, 2, 2), rows(2, 3), [0.3, 0.7]),
        ]  # fmt: skip
        for net in nets:
            given = [{net.nodes[-1]: 0}, {}, {net.nodes[-1]: 1}]
            wide = net.unrolled(3)
            evidence = {f"{net.nodes[-1]}[0]": 0, f"{net.nodes[-1]}[2]": 1}
            for name in net.nodes:
                wanted = wide.posterior(f"{name}[1]", evidence).probabilities
                np.testing.assert_allclose(net.smooth(given, name)[1].probabilities, wanted, rtol=1e-10)
        with pytest.raises(DataError, match="emissions must be an array with 2 axes"):
            kinds.hmm([1.0], [[1.0]], [1.0])
