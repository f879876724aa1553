from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from networks import random_evidence, random_network
from oracles.enumeration import Enumeration
from tunbridge.data import Variable
from tunbridge.errors import MemoryForecastError
from tunbridge.inference import array_propagation, engine as engine_module, tree as tree_module
from tunbridge.inference.engine import Engine
from tunbridge.inference.tree import Tree
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, NoisyMaxCPT, SparseCPT, noisy_max, noisy_or

NO_YES = ["no", "yes"]


def binary(prefix, n):
    return [Variable(f"{prefix}{i}", NO_YES) for i in range(n)]


def rows(rng, n, k=2):
    return rng.dirichlet(np.ones(k), n)


class TestLargeSimpleNetworks:
    def test_a_chain_of_two_thousand(self):
        rng, x = np.random.default_rng(0), binary("x", 2000)
        tables = [rows(rng, 1)[0], *(rows(rng, 2) for _ in x[1:])]
        net = BayesianNetwork.from_tables(CPT(v, x[max(0, i - 1) : i], tables[i]) for i, v in enumerate(x))
        forward = [tables[0]]
        for table in tables[1:]:
            forward.append(forward[-1] @ table)
        found = net.posteriors()
        for i in (0, 1, 700, 1999):
            np.testing.assert_allclose(found[f"x{i}"].probabilities, forward[i], rtol=0, atol=1e-12)
        everything = {v.name: "yes" for v in x}
        total = math.log(tables[0][1]) + sum(math.log(t[1, 1]) for t in tables[1:])
        assert net.log_probability(everything) == pytest.approx(total, rel=1e-12)
        assert net.posterior("x0", {"x1999": "yes"}).probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        assert len(net.most_probable({"x1999": "yes"})) == 2000

    def test_a_hidden_chain_does_not_underflow(self):
        """The forward algorithm with scaling, written out."""
        rng, n = np.random.default_rng(1), 1500
        hidden = [Variable(f"h{i}", ["a", "b", "c"]) for i in range(n)]
        seen = [Variable(f"o{i}", ["x", "y"]) for i in range(n)]
        start, move, emit = rows(rng, 1, 3)[0], rows(rng, 3, 3), rows(rng, 3)
        tables = [CPT(h, hidden[max(0, i - 1) : i], move if i else start) for i, h in enumerate(hidden)]
        net = BayesianNetwork.from_tables([*tables, *(CPT(o, [h], emit) for o, h in zip(seen, hidden, strict=True))])
        codes = rng.integers(0, 2, n)
        belief, total = start, 0.0
        for i, code in enumerate(codes):
            belief = (belief @ move if i else belief) * emit[:, code]
            total += math.log(belief.sum())
            belief = belief / belief.sum()
        found = net.posteriors({f"o{i}": "xy"[code] for i, code in enumerate(codes)})
        assert found.log_evidence == pytest.approx(total, rel=1e-11)
        np.testing.assert_allclose(found[f"h{n - 1}"].probabilities, belief, rtol=0, atol=1e-11)

    def test_a_tree_of_two_thousand(self):
        rng, x = np.random.default_rng(2), binary("x", 2000)
        parents = [None, *(int(rng.integers(i)) for i in range(1, 2000))]
        tables = [rows(rng, 1 if p is None else 2) for p in parents]
        net = BayesianNetwork.from_tables(
            CPT(v, [] if p is None else [x[p]], t if p is not None else t[0])
            for v, p, t in zip(x, parents, tables, strict=True)
        )
        marginal = [tables[0][0]]
        for p, table in zip(parents[1:], tables[1:], strict=True):
            marginal.append(marginal[p] @ table)
        found = net.posteriors()
        for i in range(0, 2000, 97):
            np.testing.assert_allclose(found[f"x{i}"].probabilities, marginal[i], rtol=0, atol=1e-12)

    def test_naive_bayes_of_five_thousand_leaves(self):
        rng, n = np.random.default_rng(3), 5000
        cause, leaves = Variable("cause", ["a", "b", "c"]), binary("x", n)
        prior, tables = rows(rng, 1, 3)[0], rng.uniform(0.2, 0.8, (n, 3))
        net = BayesianNetwork.from_tables(
            [
                CPT(cause, [], prior),
                *(CPT(v, [cause], np.stack([1 - t, t], 1)) for v, t in zip(leaves, tables, strict=True)),
            ]
        )
        codes = (rng.random(n) < tables[:, 0]).astype(int)
        codes[::2] = rng.random(n // 2) < tables[::2, 1]  # two causes, in turns, so that none runs away
        logs = np.log(prior) + np.where(codes[:, None] == 1, np.log(tables), np.log1p(-tables)).sum(axis=0)
        evidence = {f"x{i}": NO_YES[code] for i, code in enumerate(codes)}
        reference = np.exp(logs - np.logaddexp.reduce(logs))
        assert net.log_probability(evidence) == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
        np.testing.assert_allclose(net.posterior("cause", evidence).probabilities, reference, rtol=0, atol=1e-9)
        np.testing.assert_allclose(net.posteriors(evidence)["cause"].probabilities, reference, rtol=0, atol=1e-9)


class TestExtremeNumbers:
    def test_findings_for_one_cause_and_then_as_many_for_the_other(self):
        cause, leaves = Variable("cause", ["a", "b"]), binary("x", 2000)
        net = BayesianNetwork.from_tables(
            [CPT(cause, [], [0.5, 0.5]), *(CPT(v, [cause], [[0.9, 0.1], [0.1, 0.9]]) for v in leaves)]
        )
        evidence = {f"x{i}": "no" if i < 1000 else "yes" for i in range(2000)}
        assert net.posterior("cause", evidence)["a"] == pytest.approx(0.5, abs=1e-9)

    def test_tiny_probabilities_are_not_impossible(self, monkeypatch):
        monkeypatch.setattr(engine_module, "_SMALL_TREE", 0)
        monkeypatch.setattr(engine_module, "_WORTH_A_TREE", math.inf)
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: True)
        cause, leaves = Variable("cause", ["a", "b"]), binary("x", 6)
        net = BayesianNetwork.from_tables(
            [CPT(cause, [], [0.5, 0.5]), *(CPT(v, [cause], [[1.0, 1e-200], [1.0, 2e-200]]) for v in leaves)]
        )
        evidence = {v.name: "yes" for v in leaves}
        assert net.posterior("cause", evidence)["b"] == pytest.approx(64 / 65, rel=1e-12)


class TestNoisyNodes:
    def test_thirty_parents(self):
        """P(X = no) = (1 − leak) Π (1 − p_i q_i), since the causes are independent."""
        rng, parents, x = np.random.default_rng(0), binary("c", 30), Variable("X", NO_YES)
        priors, strengths = rng.uniform(0.05, 0.3, 30), rng.uniform(0.1, 0.9, 30)
        net = BayesianNetwork.from_tables(
            [*(CPT(p, [], [1 - a, a]) for p, a in zip(parents, priors, strict=True)),
             noisy_or(x, dict(zip(parents, strengths.tolist(), strict=True)), leak=0.02)]
        )  # fmt: skip
        absent = 0.98 * np.prod(1 - priors * strengths)
        assert net.posterior("X")["no"] == pytest.approx(absent, rel=1e-12)
        others = absent / (1 - priors[4] * strengths[4])
        with_cause = priors[4] * (1 - (1 - strengths[4]) * others)
        assert net.posterior("c4", {"X": "yes"})["yes"] == pytest.approx(with_cause / (1 - absent), rel=1e-12)
        assert net.posterior("c4", {"X": "no"})["yes"] == pytest.approx(
            priors[4] * (1 - strengths[4]) / (1 - priors[4] * strengths[4]), rel=1e-12
        )
        assert set(net.posteriors({"X": "yes"})) == {"X", *(p.name for p in parents)}  # no auxiliary variables
        assert net.forecast().n_entries < 1000

    @pytest.mark.parametrize("seed", range(5))
    def test_a_chain_says_the_same_as_the_dense_table(self, seed):
        rng = np.random.default_rng(seed)
        x = Variable("X", ["none", "some", "much"])
        parents = [Variable(f"c{i}", [str(k) for k in range(rng.integers(2, 4))]) for i in range(7)]
        effects = {p: np.vstack([[1, 0, 0], rows(rng, p.n_states - 1, 3)]) for p in parents}
        noisy = noisy_max(x, effects, leak=rows(rng, 1, 3)[0], order=["some", "none", "much"] if seed % 2 else None)
        child = CPT(Variable("Y", NO_YES), [x, parents[0]], rng.dirichlet([1, 1], (3, parents[0].n_states)))
        roots = [CPT(p, [], rows(rng, 1, p.n_states)[0]) for p in parents]
        chained = BayesianNetwork.from_tables([*roots, noisy, child])
        dense = BayesianNetwork.from_tables([*roots, CPT(x, parents, noisy.table()), child])
        assert isinstance(chained.cpt("X"), NoisyMaxCPT)
        for evidence in ({}, {"X": "some"}, {"Y": "yes", "c1": "1"}, {"X": ["none", "much"]}):
            a, b = chained.posteriors(evidence), dense.posteriors(evidence)
            assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-12)
            for name in dense.nodes:
                np.testing.assert_allclose(a[name].probabilities, b[name].probabilities, rtol=0, atol=1e-12)
            pair = ["X", "c2"]
            np.testing.assert_allclose(
                chained.posterior(pair, evidence).probabilities, dense.posterior(pair, evidence).probabilities,
                rtol=0, atol=1e-12,
            )  # fmt: skip
            best, reference = chained.most_probable(evidence), dense.most_probable(evidence)
            assert best.log_probability == pytest.approx(reference.log_probability, rel=1e-12)
            some, reference = chained.most_probable(evidence, of=pair), dense.most_probable(evidence, of=pair)
            assert some.log_probability == pytest.approx(reference.log_probability, rel=1e-12)

    def test_most_probable_states_of_many_parents_once_most_are_known(self):
        parents, x = binary("c", 40), Variable("X", NO_YES)
        net = BayesianNetwork.from_tables(
            [*(CPT(p, [], [0.9, 0.1]) for p in parents), noisy_or(x, dict.fromkeys(parents, 0.5))]
        )
        best = net.most_probable({"X": "yes", **{f"c{i}": "no" for i in range(37)}})
        assert sorted(best[f"c{i}"] for i in (37, 38, 39)) == ["no", "no", "yes"]


class TestSparseTables:
    PARENTS = tuple(Variable(f"p{i}", [str(k) for k in range(20)]) for i in range(10))  # 10¹³ configurations
    X, Y = Variable("X", NO_YES), Variable("Y", NO_YES)

    @pytest.fixture
    def net(self):
        seen = {("0",) * 10: [0.2, 0.8], ("0",) * 9 + ("1",): [0.9, 0.1]}
        return BayesianNetwork.from_tables(
            [*(CPT(p, [], np.full(20, 0.05)) for p in self.PARENTS),
             SparseCPT(self.X, self.PARENTS, seen, [0.5, 0.5]), CPT(self.Y, [self.X], [[0.7, 0.3], [0.1, 0.9]])]
        )  # fmt: skip

    def test_with_all_parents_known(self, net):
        known = dict.fromkeys((p.name for p in self.PARENTS), "0")
        assert net.posterior("X", known)["yes"] == pytest.approx(0.8)
        assert net.posterior("X", known | {"p3": "7"})["yes"] == pytest.approx(0.5)
        assert net.posterior("X", known | {"Y": "yes"})["yes"] == pytest.approx(0.72 / 0.78)
        assert net.log_probability(known | {"Y": "yes"}) == pytest.approx(10 * math.log(0.05) + math.log(0.78))
        assert dict(net.most_probable(known)) == known | {"X": "yes", "Y": "yes"}

    def test_with_some_parents_known(self, net):
        known = {f"p{i}": "0" for i in range(9)}
        assert net.posterior("X", known)["yes"] == pytest.approx((0.8 + 0.1 + 18 * 0.5) / 20)
        reference = 0.05 * 0.8 / ((0.8 + 0.1 + 18 * 0.5) / 20)
        assert net.posteriors(known | {"X": "yes"})["p9"]["0"] == pytest.approx(reference)

    def test_where_it_does_not_matter_it_is_left_out(self, net):
        assert net.posterior("p3")["7"] == pytest.approx(0.05)
        assert net.log_probability({"p3": "7", "p4": "1"}) == pytest.approx(2 * math.log(0.05))
        assert net.most_probable({"p4": "1"}, of=["p4"])["p4"] == "1"

    def test_without_evidence_it_is_refused_by_name(self, net):
        with pytest.raises(MemoryForecastError, match="the dense table of 'X' would need"):
            net.posterior("X")


class TestThreadsAndRepeats:
    def test_the_same_answer_every_time(self):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            cpts = random_network(rng, zeros=0.0)
            net, evidence = BayesianNetwork.from_tables(cpts), random_evidence(rng, cpts)
            first, again = net.posteriors(evidence), net.posteriors(evidence)
            np.testing.assert_array_equal(first.marginals, again.marginals)
            fresh = BayesianNetwork.from_tables(cpts).posteriors(evidence)
            np.testing.assert_array_equal(first.marginals, fresh.marginals)

    @pytest.mark.parametrize("small", [0, 30_000])
    def test_threads_share_a_network(self, monkeypatch, small):
        monkeypatch.setattr(engine_module, "_SMALL_TREE", small)
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: True)
        rng = np.random.default_rng(5)
        cpts = random_network(rng, most_variables=40, most_cells=math.inf, most_states=3, window=5, zeros=0.0)
        questions = [(cpts[i % len(cpts)].variable.name, random_evidence(rng, cpts, share=0.2)) for i in range(120)]

        def answer(net, question):
            target, evidence = question
            pair = [target, next(name for name in net.nodes if name != target)]
            return (
                net.posterior(target, evidence).probabilities, net.posteriors(evidence).marginals,
                net.posterior(pair, evidence).probabilities, net.most_probable(evidence).log_probability,
            )  # fmt: skip

        alone = BayesianNetwork.from_tables(cpts)
        reference = [answer(alone, question) for question in questions]
        shared = BayesianNetwork.from_tables(cpts)
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda question: answer(shared, question), questions))
        for a, b in zip(found, reference, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)


class TestTrees:
    @pytest.fixture(autouse=True)
    def _own_trees(self, monkeypatch):
        monkeypatch.setattr(engine_module, "_SMALL_TREE", 0)
        monkeypatch.setattr(engine_module, "_WORTH_A_TREE", math.inf)
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: True)

    def test_new_findings_on_the_same_variables_use_the_same_tree(self):
        x = binary("x", 6)
        net = BayesianNetwork.from_tables(
            CPT(v, x[max(0, i - 1) : i], [[0.8, 0.2], [0.3, 0.7]] if i else [0.5, 0.5]) for i, v in enumerate(x)
        )
        net.posterior("x0", {"x5": "yes"})
        before = len(net._engine._compiled.trees)
        net.posterior("x0", {"x5": "no"})
        assert len(net._engine._compiled.trees) == before
        net.posterior("x0", {"x4": "no"})
        assert len(net._engine._compiled.trees) == before + 1

    def test_old_ones_are_given_up(self):
        rng = np.random.default_rng(0)
        cpts = random_network(rng, most_variables=40, most_cells=math.inf, most_states=2, window=4, zeros=0.0)
        net = BayesianNetwork.from_tables(cpts)
        for _ in range(120):
            target, *seen = (net.nodes[i] for i in rng.permutation(len(cpts))[:3])
            net.posterior(target, dict.fromkeys(seen, "s0"))
        assert len(net._engine._compiled.trees) <= engine_module._KEPT_TREES

    def test_barren_and_separated_parts_are_dropped(self):
        x = binary("x", 9)
        net = BayesianNetwork.from_tables(
            CPT(v, x[max(0, i - 1) : i], [[0.8, 0.2], [0.3, 0.7]] if i else [0.5, 0.5]) for i, v in enumerate(x)
        )
        assert net.forecast({"x3": "yes", "x5": "no"}, "x4").n_cliques == 1
        assert net.forecast({}, "x2").n_cliques == 3
        assert net.forecast({"x8": ["no", "yes"]}, "x2").n_cliques == 9


class TestOtherNumbers:
    def test_the_same_trees_answer_for_other_tables(self):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            cpts = [CPT(c.variable, c.parents, c.table()) for c in random_network(rng, most_cells=500)]
            first = Engine(cpts)
            first.run()
            others = [CPT(c.variable, c.parents, rng.dirichlet(np.ones(c.shape[-1]), c.shape[:-1])) for c in cpts]
            found = first.with_tables(others).run().marginals
            exact = Enumeration(others)
            reference = np.concatenate([exact.posterior(name, {}) for name in exact.names])
            np.testing.assert_allclose(found, reference, rtol=0, atol=1e-12)


class TestWithoutKernels:
    def test_numpy_answers_for_a_time_and_then_kernels_do(self, monkeypatch):
        runs, kernel = [], tree_module.propagation.propagate
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: False)
        monkeypatch.setattr(array_propagation, "_left", 0.1)
        monkeypatch.setattr(tree_module.propagation, "propagate", lambda *given: runs.append(1) or kernel(*given))
        rng = np.random.default_rng(8)
        cpts = random_network(rng, most_variables=6, most_states=3, most_parents=2)
        net, exact = BayesianNetwork.from_tables(cpts), Enumeration(cpts)
        name, n_before = net.nodes[0], []
        while not runs and len(n_before) < 10_000:
            n_before.append(array_propagation._left)
            np.testing.assert_allclose(net.posterior(name).probabilities, exact.posterior(name, {}), rtol=0, atol=1e-12)
        assert 10 < len(n_before) < 10_000

    @pytest.mark.parametrize("n_entries", [1e3, 1e9])
    def test_work_that_takes_longer_than_a_compiler_is_left_to_kernels(self, monkeypatch, n_entries):
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: False)
        monkeypatch.setattr(array_propagation, "_left", 15.0)
        engine = BayesianNetwork.from_tables(random_network(np.random.default_rng(8)))._engine
        tree = Tree(engine.tree.program, n_entries)
        assert tree.is_array_quicker(tree_module.propagation.propagate) == (n_entries == 1e3)

    def test_a_joint_too_large_is_refused(self, monkeypatch):
        monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: False)
        x = [Variable(f"x{i}", [str(k) for k in range(50)]) for i in range(10)]
        net = BayesianNetwork.from_tables(CPT(v, [], np.full(50, 0.02)) for v in x)
        with pytest.raises(MemoryForecastError, match="the joint distribution would need"):
            net.posterior(list(net.nodes))
