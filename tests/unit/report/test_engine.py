"""The script of the page, run by Node.js, gives the answers of the package."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tunbridge as tb
from networks import random_evidence, random_network, random_rows
from tunbridge.probability import CPT, NoisyMaxCPT, SparseCPT
from tunbridge.report import engine_script, export, network_data

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")

CALLS = r"""
const games = JSON.parse(require("fs").readFileSync(0, "utf8"));
const play = ({ data, calls }) => {
  const engine = TunbridgeEngine(data);
  return calls.map(([name, ...given]) => {
    try {
      return engine[name](...given) ?? null;
    } catch (error) {
      return error.message;
    }
  });
};
const text = JSON.stringify(games.map(play), (_, value) => (value === -Infinity ? "impossible" : value));
process.stdout.write(text);
"""
ODD_NAMES = ["<script>", "</script><!--", '"', "'", "\\", "שלום ‏abc", "__proto__", "constructor", "0", "", "a\u2028b"]
SMALL = {"asia", "cancer", "earthquake", "survey", "sachs", "child", "alarm", "insurance", "win95pts", "hailfinder"}


def played(games: list[tuple[tb.BayesianNetwork, list[Any]]]) -> list[list[Any]]:
    """Return what the engine's functions return, or the messages of their errors, for calls about networks."""
    given = [{"data": network_data(net)[0], "calls": calls} for net, calls in games]
    words = ["node", "-e", engine_script() + CALLS]
    done = subprocess.run(words, input=json.dumps(given).encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: list[list[Any]] = json.loads(done.stdout)
    return found


def calls_for(net: tb.BayesianNetwork, evidence: Mapping[str, Any]) -> list[list[Any]]:
    """Return the calls that set evidence: by index, or as likelihoods for states and for lists of them."""
    calls = []
    for name, finding in evidence.items():
        variable = net.variable(name)
        if isinstance(finding, str):
            calls.append(["setEvidence", name, variable.code(finding)])
        else:
            shares = finding if isinstance(finding, dict) else dict.fromkeys(finding, 1.0)
            calls.append(["setEvidence", name, [shares.get(state, 0.0) for state in variable.states or ()]])
    return calls


def assert_same(net: tb.BayesianNetwork, evidence: Mapping[str, Any], found: Any, log_evidence: Any) -> None:
    """Compare with the package: zeros are zeros, everything else agrees to nine digits."""
    expected_log = net.log_probability(evidence)
    if expected_log == -math.inf:
        assert (found, log_evidence) == (None, "impossible")
        return
    expected = net.posteriors(evidence)
    assert log_evidence == pytest.approx(expected_log, rel=1e-9, abs=1e-9)
    assert set(found) == set(net.nodes)
    for variable in net.variables:
        numbers = [found[variable.name][str(state)] for state in variable.states or ()]
        np.testing.assert_allclose(numbers, expected[variable.name].probabilities, rtol=1e-9, atol=0)


ASK = [["posteriors"], ["logEvidence"]]


class TestPosteriors:
    def test_of_random_networks(self):
        rng = np.random.default_rng(7)
        nets = [tb.BayesianNetwork.from_tables(random_network(rng, window=w)) for w in [None, 3, 2] * 40]
        cases = [[random_evidence(rng, list(net.cpts.values())) for _ in range(3)] for net in nets]
        games = []
        for net, some in zip(nets, cases, strict=True):
            calls = list(ASK)
            for evidence in some:
                calls += [["clearEvidence"], *calls_for(net, evidence), *ASK]
            games.append((net, calls))
        n_possible = 0
        for net, some, found in zip(nets, cases, played(games), strict=True):
            assert_same(net, {}, *found[:2])
            at = 2
            for evidence in some:
                at += 1 + len(evidence)
                assert_same(net, evidence, *found[at : at + 2])
                n_possible += found[at] is not None
                at += 2
        assert n_possible > 200

    def test_after_every_change_of_the_evidence(self):
        rng = np.random.default_rng(8)
        net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=30, most_cells=1e30, window=4))
        states: list[dict[str, Any]] = [{}]
        calls = list(ASK)
        for _ in range(200):
            evidence = dict(states[-1])
            name = str(rng.choice(net.nodes))
            if name in evidence and rng.random() < 0.7:
                del evidence[name]
                calls += [["clearEvidence", name], *ASK]
            else:
                code = int(rng.integers(net.variable(name).n_states))
                evidence[name] = net.variable(name).states[code]
                calls += [["setEvidence", name, evidence[name]], *ASK]
            states.append(evidence)
        (found,) = played([(net, calls)])
        for i, evidence in enumerate(states):
            assert_same(net, evidence, *found[3 * i : 3 * i + 2])

    def test_of_odd_names(self):
        rng = np.random.default_rng(9)
        variables = [
            tb.Variable(name or "empty", [*ODD_NAMES[i:], "hasOwnProperty"]) for i, name in enumerate(ODD_NAMES)
        ]
        rows = [random_rows(rng, (*(p.n_states for p in variables[i - 1 : i]), v.n_states), 0.3)
                for i, v in enumerate(variables)]  # fmt: skip
        net = tb.BayesianNetwork.from_tables(
            [CPT(v, variables[i - 1 : i], rows[i]) for i, v in enumerate(variables)], name="</script>"
        )
        evidence = {"__proto__": "hasOwnProperty", "constructor": "constructor"}
        calls = [["setEvidence", name, state] for name, state in evidence.items()]
        (found,) = played([(net, [*calls, *ASK, ["evidence"], ["clearEvidence", "__proto__"], *ASK])])
        assert_same(net, evidence, *found[2:4])
        assert found[4] == evidence
        assert_same(net, {"constructor": "constructor"}, *found[6:8])

    def test_of_states_that_read_alike_or_are_no_texts(self):
        states = {"n": [1, "1"], "x": [0.5, 2, False]}
        net = tb.BayesianNetwork(states, [], {"n": [0.2, 0.8], "x": [0.1, 0.1, 0.8]})
        (found,) = played([(net, [["setEvidence", "n", "'1'"], ["posteriors"]])])
        assert found[1]["x"] == pytest.approx({"0.5": 0.1, "2": 0.1, "False": 0.8}, rel=1e-12)
        assert found[1]["n"] == {"1": 0, "'1'": 1}

    def test_of_no_variables_and_of_one_state(self):
        nets = [tb.BayesianNetwork({}), tb.BayesianNetwork({"a": ["x"]}, [], {"a": [1.0]})]
        assert played([(net, ASK) for net in nets]) == [[{}, 0], [{"a": {"x": 1}}, 0]]

    def test_of_written_out_and_chained_tables(self):
        rng = np.random.default_rng(10)
        causes = [tb.Variable(f"c{i}", ["no", "yes", "very"][: 2 + i % 2]) for i in range(14)]
        effect, sparse = tb.Variable("effect", ["none", "some", "much"]), tb.Variable("sparse", ["a", "b"])
        noisy = NoisyMaxCPT(effect, causes, [random_rows(rng, (c.n_states, 3), 0.2) for c in causes], [0.9, 0.1, 0.0])
        seen = {tuple(c.states[0] for c in causes[:10]): [0.25, 0.75]}
        tables = [CPT(c, [], random_rows(rng, (c.n_states,), 0.0)) for c in causes]
        net = tb.BayesianNetwork.from_tables([*tables, noisy, SparseCPT(sparse, causes[:10], seen, [0.5, 0.5])])
        evidence = {"effect": "much", "sparse": "b", "c3": "very"}
        (found,) = played([(net, [*calls_for(net, evidence), *ASK])])
        assert_same(net, evidence, *found[3:5])


class TestSmallNumbers:
    """Products below the smallest double: the engine goes on with logarithms."""

    def star(self, rows: list[Any]) -> tb.BayesianNetwork:
        leaves = {f"x{i}": ["a", "b"] for i in range(len(rows))}
        tables = {"cause": [0.5, 0.5]} | dict(zip(leaves, rows, strict=True))
        return tb.BayesianNetwork({"cause": ["a", "b"]} | leaves, [("cause", name) for name in leaves], tables)

    def test_as_many_findings_for_one_cause_as_for_the_other(self):
        net = self.star([[[0.9, 0.1], [0.1, 0.9]]] * 1000)
        evidence = {f"x{i}": "a" if i < 500 else "b" for i in range(1000)}
        calls = [*calls_for(net, evidence), *ASK, ["clearEvidence", "x0"], *ASK, ["clearEvidence"], *ASK]
        (found,) = played([(net, calls)])
        assert found[1000]["cause"] == pytest.approx({"a": 0.5, "b": 0.5}, rel=1e-9)
        assert found[1001] == pytest.approx(500 * math.log(0.09), rel=1e-12)
        assert found[1003]["cause"] == pytest.approx({"a": 0.1, "b": 0.9}, rel=1e-9)
        assert_same(net, {}, *found[1006:])

    def test_one_finding_that_excludes_what_hundreds_support(self):
        net = self.star([[[0.9, 0.1], [0.1, 0.9]]] * 400 + [[[0.0, 1.0], [0.5, 0.5]]])
        evidence = {f"x{i}": "a" for i in range(401)}
        (found,) = played([(net, [*calls_for(net, evidence), *ASK])])
        assert found[401]["cause"] == {"a": 0, "b": 1}
        assert found[402] == pytest.approx(net.log_probability(evidence), rel=1e-12)

    def test_probabilities_of_1e_300(self):
        tiny = [[1.0, 1e-300], [1.0, 2e-300]]
        net = self.star([tiny, tiny, [[0.3, 0.7], [0.6, 0.4]]])
        evidence = {"x0": "b", "x1": "b"}
        (found,) = played([(net, [*calls_for(net, evidence), *ASK])])
        assert_same(net, evidence, *found[2:])
        assert found[2]["cause"]["b"] == pytest.approx(0.8, rel=1e-12)

    def test_likelihoods(self):
        net = self.star([[[0.9, 0.1], [0.1, 0.9]]] * 3)
        evidence = {f"x{i}": {"a": 1e-200, "b": 1e-5} for i in range(3)}
        (found,) = played([(net, [*calls_for(net, evidence), *ASK])])
        assert_same(net, evidence, *found[3:])


class TestImpossibleEvidence:
    NET = tb.BayesianNetwork(
        {"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"], "d": ["x", "y"]},
        [("a", "b"), ("b", "c")],
        {"a": [0.5, 0.5], "b": [[1, 0], [0, 1]], "c": [[1, 0], [0, 1]], "d": [0.25, 0.75]},
    )

    def test_has_no_posteriors_and_can_be_taken_back(self):
        calls = [*calls_for(self.NET, {"d": "y", "a": "x", "c": "y"}), *ASK, ["isPossible"], ["conflict"], ["evidence"]]
        (found,) = played([(self.NET, [*calls, ["clearEvidence", "c"], *ASK, ["isPossible"], ["conflict"]])])
        assert found[3:8] == [None, "impossible", False, ["a", "c"], {"d": "y", "a": "x", "c": "y"}]
        assert_same(self.NET, {"d": "y", "a": "x"}, *found[9:11])
        assert found[11:] == [True, []]

    def test_a_state_without_probability(self):
        net = tb.BayesianNetwork({"a": ["x", "y"], "b": ["x", "y"]}, [], {"a": [1.0, 0.0], "b": [0.5, 0.5]})
        (found,) = played([(net, [["setEvidence", "b", 0], ["setEvidence", "a", 1], ["conflict"], ["posteriors"]])])
        assert found[2:] == [["a"], None]

    def test_no_finding_of_a_conflict_can_be_left_out(self):
        rng = np.random.default_rng(11)
        games, cases = [], []
        while len(games) < 30:
            net = tb.BayesianNetwork.from_tables(random_network(rng, zeros=0.5))
            evidence = {v.name: str(rng.choice(v.states)) for v in net.variables}
            if net.log_probability(evidence) == -math.inf:
                games.append((net, [*calls_for(net, evidence), ["conflict"], ["isPossible"]]))
                cases.append(evidence)
        for (net, _), evidence, found in zip(games, cases, played(games), strict=True):
            conflict = {name: evidence[name] for name in found[-2]}
            assert net.log_probability(conflict) == -math.inf
            for name in conflict:
                rest = {n: s for n, s in conflict.items() if n != name}
                assert net.log_probability(rest) > -math.inf
            assert found[-1] is False


NAMES = "evidence must name variables of the network; got {}. The list is in variables."
STATES = 'evidence must give a state of "Alarm"; got {}. Known: "yes", "no".'
LIKELIHOODS = 'the likelihoods of "Alarm" must be 2 numbers, each 0 or at least 1e-290 of the largest; got {}.'


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("setEvidence", "Alarms", 0), NAMES.format('"Alarms"')),
        (("clearEvidence", "toString"), NAMES.format('"toString"')),
        (("setEvidence", "Alarm", "on"), STATES.format('"on"')),
        (("setEvidence", "Alarm", 2), STATES.format(2)),
        (("setEvidence", "Alarm", -1), STATES.format(-1)),
        (("setEvidence", "Alarm", 0.5), STATES.format(0.5)),
        (("setEvidence", "Alarm", None), STATES.format("null")),
        (("setEvidence", "Alarm", [1]), LIKELIHOODS.format("[1]")),
        (("setEvidence", "Alarm", [0, 0]), LIKELIHOODS.format("[0,0]")),
        (("setEvidence", "Alarm", [1, -1]), LIKELIHOODS.format("[1,-1]")),
        (("setEvidence", "Alarm", [1, 1e-300]), LIKELIHOODS.format("[1,1e-300]")),
    ],
)
def test_mistakes_are_named_and_change_nothing(call, message):
    net = tb.example_network("burglary")
    (found,) = played([(net, [["setEvidence", "JohnCalls", "yes"], list(call), *ASK])])
    assert found[1] == message
    assert_same(net, {"JohnCalls": "yes"}, *found[2:])


class TestData:
    def test_numbers_come_back_exactly_in_either_form(self):
        net = tb.example_network("asia")
        assert isinstance(network_data(net)[0]["values"], list)
        table = random_rows(np.random.default_rng(0), (40,), 0.0)
        many = tb.BayesianNetwork({"a": [f"s{k}" for k in range(40)]}, [], {"a": table})
        assert isinstance(network_data(many)[0]["values"], str)
        (found,) = played([(many, [["posteriors"]])])
        np.testing.assert_allclose(list(found[0]["a"].values()), many.cpt("a").table(), rtol=1e-15, atol=0)

    def test_too_large_a_tree_is_refused_with_its_size(self, monkeypatch):
        monkeypatch.setattr(export, "MOST_ENTRIES", 30)
        data, reason = network_data(tb.example_network("asia"))
        assert data is None
        assert reason == "the junction tree of the network is too large for a page (46 entries; the limit is 30)"

    def test_too_large_a_table_is_not_written_out(self):
        causes = [tb.Variable(f"c{i}", ["no", "yes"]) for i in range(40)]
        table = SparseCPT(tb.Variable("x", ["no", "yes"]), causes, {}, [0.5, 0.5])
        net = tb.BayesianNetwork.from_tables([*(CPT(c, [], [0.5, 0.5]) for c in causes), table])
        reason = "the table of 'x' is too large for a page (2.2e+12 entries; the limit is 4 000 000)"
        assert network_data(net) == (None, reason)

    def test_the_tree_is_a_junction_tree_of_the_largest_cliques(self):
        rng = np.random.default_rng(12)
        for _ in range(50):
            net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=25, most_cells=1e30, window=6))
            data, _ = network_data(net)
            cliques, up = list(map(set, data["cliques"])), data["up"]
            assert all(any(set(scope) <= clique for clique in cliques) for scope in data["scopes"])
            assert not any(a < b for a in cliques for b in cliques)
            assert all(above < c for c, above in enumerate(up))
            for v in range(len(data["sizes"])):  # the cliques of a variable are connected: one of them is the highest
                highest = [
                    c for c, above in enumerate(up) if v in cliques[c] and (above < 0 or v not in cliques[above])
                ]
                assert len(highest) == 1


@pytest.mark.shared
@pytest.mark.parametrize("name", [*sorted(SMALL), "hepar2", "andes", "pigs", "water"])
def test_a_thousand_clicks(shared_data, name):
    net = tb.read_network(shared_data / "networks" / f"{name}.bif")
    rng = np.random.default_rng(13)
    n_clicks = 1000 if name in SMALL else 20
    evidence: dict[str, Any] = {}
    calls, cases = [], []
    while len(cases) < n_clicks:
        node = str(rng.choice(net.nodes))
        state = net.variable(node).states[int(rng.integers(net.variable(node).n_states))]
        if rng.random() < 0.03:
            evidence = {}
            calls.append(["clearEvidence"])
        elif evidence.get(node) == state or net.log_probability(evidence) == -math.inf:
            node = node if evidence.get(node) == state else next(reversed(evidence))
            evidence = {n: s for n, s in evidence.items() if n != node}
            calls.append(["clearEvidence", node])
        else:
            evidence = {n: s for n, s in evidence.items() if n != node} | {node: state}
            calls.append(["setEvidence", node, state])
        calls += ASK
        cases.append(evidence)
    (found,) = played([(net, calls)])
    for i, case in enumerate(cases):
        assert_same(net, case, *found[3 * i + 1 : 3 * i + 3])


def test_the_script_needs_nothing_else():
    script = engine_script()
    assert not any(word in script for word in ("http", "fetch", "import ", "require(", "eval(", "innerHTML"))
    check = "const vm = require('vm'), room = vm.createContext({ atob });" + (
        f"vm.runInContext({json.dumps(script)}, room); process.stdout.write(Object.keys(room).join());"
    )
    done = subprocess.run(["node", "-e", check], capture_output=True, text=True, check=True)
    assert done.stdout == "atob"
