"""Networks over all columns as classifiers: against the network's own answers, and the formula of the blanket."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

import tunbridge as tb
from networks import random_network
from tunbridge.errors import DataError, FormatError, UnseenStateWarning
from tunbridge.formats.native import read_model, write_model


def asia(n=3000, seed=1):
    return tb.example_network("asia").sample(n, random_state=seed)


def columns_of(table):
    return {name: np.array(table.to_arrow()[name].to_pylist(), object) for name in table.names}


def with_holes(columns, share, seed=0):
    rng = np.random.default_rng(seed)
    return {name: np.where(rng.random(len(c)) < share, None, c) for name, c in columns.items()}


def without(columns, *names):
    return {name: c for name, c in columns.items() if name not in names}


NODES = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")


class TestPrediction:
    @pytest.mark.parametrize("target", NODES)
    @pytest.mark.parametrize("holes", [0.0, 0.3])
    def test_is_that_of_the_network(self, target, holes):
        table = asia()
        model = tb.BayesNetClassifier().fit(table, target)
        asked = with_holes(without(columns_of(asia(400, 2)), target), holes)
        expected = model.network_.predict_proba(asked, target)
        np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-9, atol=1e-12)
        joint = model.predict_joint_log_proba(asked)
        np.testing.assert_allclose(logsumexp(joint, axis=1), model.network_.log_likelihood(asked), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), expected, atol=1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_in_random_networks_with_the_class_anywhere(self, seed):
        net = tb.BayesianNetwork.from_tables(random_network(np.random.default_rng(seed), most_variables=8, zeros=0.0))
        table = net.sample(300, random_state=seed)
        target = net.nodes[seed % len(net.nodes)]
        model = tb.BayesNetClassifier(structure=net.dag, categorical="all").fit(table, target)
        for holes in (0.0, 0.4):
            asked = with_holes(without(columns_of(table), target), holes, seed)
            expected = model.network_.predict_proba(asked, target)
            np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-9, atol=1e-12)

    def test_is_the_formula_of_the_blanket(self):
        model = tb.BayesNetClassifier(structure=tb.example_network("asia").dag).fit(asia(), "either")
        net, row = model.network_, {"tub": "no", "lung": "yes", "bronc": "no", "xray": "yes", "dysp": "no"}
        shares = [
            net.cpt("either").distribution({"tub": "no", "lung": "yes"})[c]
            * net.cpt("xray").distribution({"either": c})["yes"]
            * net.cpt("dysp").distribution({"either": c, "bronc": "no"})["no"]
            for c in model.classes_
        ]
        np.testing.assert_allclose(model.predict_proba(row)[0], np.array(shares) / sum(shares), rtol=1e-12)

    def test_what_is_outside_the_blanket_makes_no_difference(self):
        model = tb.BayesNetClassifier().fit(asia(), "dysp")
        outside = [n for n in NODES if n not in (*model.markov_blanket_, "dysp")]
        assert "asia" in outside
        assert len(outside) > 3
        asked = rows = without(columns_of(asia(200, 3)), "dysp")
        for name in outside:
            asked = asked | {name: np.array(["odd"] * 200, object)}
        with pytest.warns(UnseenStateWarning, match="'asia' holds 'odd'"):
            found = model.predict_proba(asked)
        np.testing.assert_array_equal(found, model.predict_proba(rows))

    @pytest.mark.parametrize("numeric", ["discretise", "gaussian"])
    def test_of_numbers_is_that_of_the_network(self, numeric):
        X, y = numbers(300)
        model = tb.BayesNetClassifier(numeric=numeric).fit(X, y)
        assert model.markov_blanket_
        asked = {
            n: np.where(np.random.default_rng(5).random(300) < 0.3, np.nan, c) for n, c in numbers(300, 1)[0].items()
        }
        if numeric == "discretise":
            assert model.network_.variable("x1").n_states > 1
            cuts = model.statistics_.encoding.cuts
            states = {n: (*model.network_.variable(n).states, None) for n in asked}
            told = {n: np.array([states[n][k] for k in cuts[j].codes(c)]) for j, (n, c) in enumerate(asked.items())}
        else:
            told = asked
        expected = model.network_.predict_proba(told, "class")
        np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-9, atol=1e-12)
        assert model.score(X, y) > 0.5

    def test_a_class_that_depends_on_nothing_gets_its_prior(self):
        rng = np.random.default_rng(0)
        X = {"a": rng.choice(["u", "v"], 200), "b": rng.choice(["p", "q"], 200)}
        model = tb.BayesNetClassifier(structure=tb.DAG(["class", "a", "b"], [("a", "b")])).fit(
            X, rng.integers(0, 2, 200)
        )
        assert model.markov_blanket_ == ()
        np.testing.assert_allclose(
            model.predict_proba(X), np.exp(model.class_log_prior_)[None].repeat(200, 0), rtol=1e-12
        )

    def test_rows_that_cannot_be_get_the_prior_with_a_warning(self):
        table = asia(20_000)
        model = tb.BayesNetClassifier(structure=tb.example_network("asia").dag, smoothing="mle").fit(table, "lung")
        with pytest.warns(tb.TunbridgeWarning, match="probability zero under every class"):
            found = model.predict_proba({"tub": "yes", "either": "no", "smoke": "yes"})
        np.testing.assert_allclose(found[0], np.exp(model.class_log_prior_), rtol=1e-12)


def numbers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x1 = rng.normal(1.5 * y, 1.0)
    return {"x1": x1, "x2": 0.8 * x1 + rng.normal(0, 0.5, n), "x3": rng.normal(-y, 1.0)}, y


class TestPrior:
    def test_of_the_class_is_the_networks(self):
        model = tb.BayesNetClassifier().fit(asia(), "dysp")
        assert model.dag_.parents("dysp")
        expected = model.network_.posterior("dysp")
        np.testing.assert_allclose(np.exp(model.class_log_prior_), [expected[c] for c in model.classes_], rtol=1e-12)

    @pytest.mark.parametrize("target", ["smoke", "dysp"])
    def test_another_one_weighs_the_posterior(self, target):
        table, asked = asia(), without(with_holes(columns_of(asia(300, 2)), 0.2), target)
        plain = tb.BayesNetClassifier().fit(table, target)
        model = tb.BayesNetClassifier(class_prior=[0.9, 0.1]).fit(table, target)
        expected = plain.predict_proba(asked) * np.array([0.9, 0.1]) / np.exp(plain.class_log_prior_)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.9, 0.1], rtol=1e-12)
        nothing = {name: np.array([None], object) for name in without(columns_of(asia(1)), target)}
        np.testing.assert_allclose(model.predict_proba(nothing)[0], [0.9, 0.1], rtol=1e-9)

    def test_of_zero_rules_a_class_out(self):
        model = tb.BayesNetClassifier(class_prior={"no": 0.0, "yes": 1.0}).fit(asia(), "smoke")
        assert set(model.predict(without(columns_of(asia(100, 2)), "smoke"))) == {"yes"}


class TestExplanations:
    @pytest.mark.parametrize("target", ["smoke", "dysp", "either"])
    @pytest.mark.parametrize("holes", [0.0, 0.3])
    def test_add_up_to_the_posterior(self, target, holes):
        model = tb.BayesNetClassifier(class_prior=[0.7, 0.3]).fit(asia(), target)
        asked = without(with_holes(columns_of(asia(60, 2)), holes), target)
        told = model._model.terms(model._rows(asked)).sum(axis=0).T + model.class_log_prior_
        told -= logsumexp(told, axis=1, keepdims=True)
        np.testing.assert_allclose(told, model.predict_log_proba(asked), rtol=1e-9, atol=1e-9)

    def test_features_outside_the_blanket_weigh_nothing(self):
        model = tb.BayesNetClassifier(structure=tb.example_network("asia").dag).fit(asia(), "either")
        row = {name: "no" for name in NODES if name != "either"}
        terms = model._model.terms(model._rows(row))[..., 0]
        names = [v.name for v in model.variables_]
        for name in ("asia", "smoke"):
            np.testing.assert_allclose(np.ptp(terms[names.index(name)]), 0.0, atol=1e-12)
        assert "dysp | bronc" in str(model.explain(row))


class TestLearning:
    def test_the_graph_is_that_of_learn_structure(self):
        table = asia()
        for search in ("hill-climbing", tb.Tabu(length=5), tb.ChowLiu(root="smoke")):
            model = tb.BayesNetClassifier(search).fit(table, "bronc")
            assert model.dag_ == tb.learn_structure(table, search=search)

    def test_every_parameter_of_the_search_counts(self):
        table = asia()
        plain = tb.BayesNetClassifier().fit(table, "bronc").dag_
        assert plain != tb.BayesNetClassifier(criterion="aic").fit(table, "bronc").dag_
        assert plain != tb.BayesNetClassifier(max_parents=1).fit(table, "bronc").dag_
        known = tb.Constraints(forbidden=[("smoke", "bronc"), ("bronc", "smoke")])
        assert "smoke" not in tb.BayesNetClassifier(constraints=known).fit(table, "bronc").dag_.parents("bronc")

    def test_the_tables_are_those_of_fit_parameters(self):
        table, dag = asia(), tb.example_network("asia").dag
        for smoothing in (tb.MEstimate(2), 0.5, "bdeu"):
            model = tb.BayesNetClassifier(structure=dag, smoothing=smoothing).fit(table, "lung")
            net = tb.fit_parameters(dag, table, smoothing)
            for node in net.nodes:
                assert [v.name for v in model.network_.cpt(node).parents] == [v.name for v in net.cpt(node).parents]
                row = {v.name: v.states[0] for v in net.cpt(node).parents}
                one, two = (n.cpt(node).distribution(row) for n in (model.network_, net))
                np.testing.assert_allclose([one[s] for s in two], [two[s] for s in two], rtol=1e-12)

    def test_tan_as_a_search_is_tan(self):
        columns = columns_of(asia())
        X, y = without(columns, "dysp"), columns["dysp"]
        network = tb.BayesNetClassifier(tb.TAN("class", root="bronc"), smoothing=1).fit(X, y)
        tree = tb.TANClassifier(root="bronc", smoothing=1).fit(X, y)
        shares = tree.predict_proba(X) * np.exp(network.class_log_prior_ - tree.class_log_prior_)
        expected = shares / shares.sum(axis=1, keepdims=True)  # its P(c) is smoothed too
        np.testing.assert_allclose(network.predict_proba(X), expected, rtol=1e-9, atol=1e-12)

    def test_batches_keep_the_structure_and_add_up(self):
        table, dag = columns_of(asia(1000)), tb.example_network("asia").dag
        parts = [{n: c[s] for n, c in table.items()} for s in (slice(0, 400), slice(400, 1000))]
        model = tb.BayesNetClassifier(structure=dag)
        for part in parts:
            model.partial_fit(without(part, "lung"), part["lung"])
        whole = tb.BayesNetClassifier(structure=dag).fit(without(table, "lung"), table["lung"])
        asked = without(with_holes(columns_of(asia(300, 5)), 0.3), "lung")
        np.testing.assert_allclose(model.predict_proba(asked), whole.predict_proba(asked), rtol=1e-9, atol=1e-12)

    def test_batches_with_new_states_and_classes(self):
        columns = columns_of(asia(600))
        model = tb.BayesNetClassifier().fit(without(columns, "bronc"), columns["bronc"])
        before = model.dag_
        more = {n: c[:50].copy() for n, c in columns.items()}
        more["smoke"][:20], more["bronc"][:10] = "seldom", "maybe"
        model.partial_fit(without(more, "bronc"), more["bronc"])
        assert model.dag_ == before
        assert model.classes_.tolist() == ["maybe", "no", "yes"]
        assert model.network_.variable("smoke").states[-1] == "seldom"
        assert model.class_count_.tolist() == [10.0, *model.class_count_[1:]]

    def test_weights_are_repetitions(self):
        columns = columns_of(asia(300))
        weights = np.random.default_rng(0).integers(1, 4, 300)
        repeated = {n: np.repeat(c, weights) for n, c in columns.items()}
        one = tb.BayesNetClassifier().fit(without(columns, "dysp"), columns["dysp"], sample_weight=weights)
        two = tb.BayesNetClassifier().fit(without(repeated, "dysp"), repeated["dysp"])
        assert one.dag_ == two.dag_
        np.testing.assert_allclose(
            one.predict_proba(without(columns, "dysp")), two.predict_proba(without(columns, "dysp")), rtol=1e-9
        )

    def test_chance_has_a_seed(self):
        table = asia(300)
        search = tb.HillClimbing(restarts=3)
        one, two = (tb.BayesNetClassifier(search, random_state=4, n_jobs=n).fit(table, "dysp") for n in (1, 2))
        assert one.dag_ == two.dag_

    @pytest.mark.parametrize("numeric", ["discretise", "gaussian"])
    @pytest.mark.parametrize("missing", ["marginal", "em", "state"])
    def test_odd_columns(self, numeric, missing):
        X, y = numbers(120)
        X |= {
            "same": np.full(120, 2.0),
            "never": np.full(120, np.nan),
            "none": np.array([None] * 120),
            "k": ["k"] * 120,
        }
        model = tb.BayesNetClassifier(numeric=numeric, missing=missing).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert not set(model.markov_blanket_) & {"never", "none", "same", "k"}

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_few_rows_and_one_class(self, n):
        X, y = numbers(n)
        assert np.isfinite(tb.BayesNetClassifier().fit(X, y).predict_proba(X)).all()
        assert tb.BayesNetClassifier(numeric="gaussian").fit(X, ["only"] * n).predict(X).tolist() == ["only"] * n


class TestHoles:
    def data(self, share=0.1, n=2000):
        columns = columns_of(asia(n))
        return with_holes(without(columns, "dysp"), share), columns["dysp"]

    def test_complete_rows_are_searched_where_they_are_many(self):
        X, y = self.data(0.03)
        whole = np.array([all(c[i] is not None for c in X.values()) for i in range(len(y))])
        assert 0.5 < whole.mean() < 1.0
        table = tb.as_table({n: c[whole] for n, c in X.items()} | {"class": y[whole]})
        assert tb.BayesNetClassifier().fit(X, y).dag_ == tb.learn_structure(table)

    def test_all_rows_are_searched_where_they_are_few(self):
        X, y = self.data(0.2)
        expected = tb.learn_structure(tb.as_table(X | {"class": y}), "nal")
        assert tb.BayesNetClassifier().fit(X, y).dag_ == expected
        X, y = self.data(0.03)
        asked = tb.learn_structure(tb.as_table(X | {"class": y}), "nal")
        assert tb.BayesNetClassifier(criterion="nal").fit(X, y).dag_ == asked

    def test_all_rows_are_searched_where_a_class_would_be_lost(self):
        X, y = self.data(0.02)
        X["smoke"] = np.where(y == "yes", None, X["smoke"])
        X["smoke"][:2] = "yes"
        few = np.flatnonzero(y == "yes")[:3]
        X["smoke"][few] = "no"
        y = np.where((np.arange(len(y)) % 3 == 0) | (y == "yes"), y, "no")
        expected = tb.learn_structure(tb.as_table(X | {"class": y}), "nal")
        assert tb.BayesNetClassifier().fit(X, y).dag_ == expected

    def test_families_count_the_rows_that_show_them(self):
        X, y = self.data()
        dag = tb.DAG(arcs=[("class", "smoke"), ("smoke", "lung")])
        model = tb.BayesNetClassifier(structure=dag, smoothing=1).fit(X, y)
        seen = [i for i in range(len(y)) if X["smoke"][i] is not None and X["lung"][i] is not None]
        assert model.network_.cpt("lung").counts.sum() == len(seen) + 4  # a row for each cell

    def test_em_gives_the_tables_of_em(self):
        X, y = self.data(0.2)
        dag = tb.DAG(arcs=[("class", "smoke"), ("smoke", "lung"), ("lung", "either"), ("class", "bronc")])
        prior = tb.MEstimate(1)
        model = tb.BayesNetClassifier(structure=dag, smoothing=prior, missing="em").fit(X, y)
        net = tb.fit_parameters(dag, tb.as_table(X | {"class": y}), prior, missing="em")
        for node in dag.nodes:
            one, two = (n.cpt(node).table() for n in (model.network_, net))
            np.testing.assert_allclose(one, two, rtol=1e-9)
        counted = tb.BayesNetClassifier(structure=dag, smoothing=prior).fit(X, y).network_
        assert np.abs(counted.cpt("either").table() - net.cpt("either").table()).max() > 1e-6

    def test_em_over_numbers(self):
        X, y = numbers(200)
        X["x1"][::5] = np.nan
        dag = tb.DAG(arcs=[("class", "x1"), ("x1", "x2"), ("class", "x2")])
        model = tb.BayesNetClassifier(structure=dag, numeric="gaussian", missing="em").fit(X, y)
        assert model.network_.cpt("x1").moments.count.sum() == pytest.approx(200.0)
        plain = tb.BayesNetClassifier(structure=dag, numeric="gaussian").fit(X, y)
        assert plain.network_.cpt("x1").moments.count.sum() == 160.0
        assert model.partial_fit(X, y).class_count_.sum() == 400.0

    def test_a_state_of_its_own(self):
        X, y = self.data()
        X["smoke"] = np.where(y == "yes", None, X["smoke"])
        model = tb.BayesNetClassifier(missing="state").fit(X, y)
        assert model.score(X, y) > 0.9 > tb.BayesNetClassifier().fit(X, y).score(X, y)
        told = model._model.terms(model._rows(X)).sum(axis=0).T + model.class_log_prior_
        told -= logsumexp(told, axis=1, keepdims=True)
        np.testing.assert_allclose(told, model.predict_log_proba(X), rtol=1e-8, atol=1e-9)


class TestStructures:
    def test_the_one_node_that_is_no_feature_is_the_class(self):
        columns = columns_of(asia(300))
        dag = tb.DAG(arcs=[("smoke", "illness"), ("illness", "xray")])
        model = tb.BayesNetClassifier(structure=dag).fit(without(columns, "lung"), columns["lung"])
        assert model.markov_blanket_ == ("smoke", "xray")
        assert model.dag_.nodes[0] == "class"

    def test_features_that_are_no_nodes_are_not_used(self):
        model = tb.BayesNetClassifier(structure=tb.DAG(arcs=[("lung", "xray")])).fit(asia(300), "lung")
        assert set(model.network_.nodes) == {"lung", "xray"}
        assert model.n_features_in_ == 7

    def test_what_does_not_fit_is_told(self):
        table = asia(200)
        cases = [
            (
                tb.DAG(arcs=[("lung", "xrey")]),
                r"nodes of structure must be the class 'lung' and features; got 'xrey'\. Did",
            ),
            (tb.DAG(arcs=[("smoke", "xray")]), r"structure must have the class 'lung' as a node.*got features only"),
            (
                tb.DAG(arcs=[("Lung", "xrey")]),
                r"structure must have the class 'lung' as a node.*got 'Lung', 'xrey'\. Did you",
            ),
            (tb.example_network("asia"), r"structure must be a DAG; got .*Use its \.dag\."),
            ("tan", r"structure must be a DAG; got 'tan'\."),
        ]
        for structure, message in cases:
            with pytest.raises(DataError, match=message):
                tb.BayesNetClassifier(structure=structure).fit(table, "lung")

    def test_a_category_below_a_number_is_told(self):
        X, y = numbers(50)
        dag = tb.DAG(arcs=[("x1", "class"), ("class", "x2")])
        with pytest.raises(
            DataError, match=r"a categorical variable must have categorical parents; 'class' has 'x1'\. Reverse"
        ):
            tb.BayesNetClassifier(structure=dag, numeric="gaussian").fit(X, y)
        assert tb.BayesNetClassifier(structure=dag).fit(X, y).markov_blanket_ == ("x1", "x2")


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"search": "climbing"}, r"search must be one of 'hill-climbing'.*got 'climbing'\. Did you mean"),
            ({"search": "tan"}, r"search 'tan' must be an object with its target"),
            ({"criterion": "bics"}, r"score must be .*got 'bics'"),
            ({"constraints": ["a->b"]}, r"constraints must be a Constraints object"),
            ({"max_parents": -1}, r"max_parents must be .*got -1"),
            ({"numeric": "kernel"}, r"numeric must be one of 'discretise', 'gaussian'; got 'kernel'"),
            ({"missing": "drop"}, r"missing must be one of 'marginal', 'state', 'em'; got 'drop'"),
            ({"smoothing": "lots"}, r"prior must be .*got 'lots'"),
            ({"class_prior": [0.5, 0.6]}, r"class_prior must be probabilities that sum to one"),
        ],
    )
    def test_that_cannot_be(self, parameters, message):
        with pytest.raises(DataError, match=message):
            tb.BayesNetClassifier(**parameters).fit(asia(100), "dysp")

    def test_weights_of_nothing(self):
        with pytest.raises(DataError, match="some row must have a weight above zero"):
            tb.BayesNetClassifier().fit(*numbers(50), sample_weight=np.zeros(50))


class TestFiles:
    @pytest.mark.parametrize(
        "model",
        [
            tb.BayesNetClassifier(tb.Tabu(length=7), criterion=tb.BDeu(ess=3), smoothing=tb.BackOff(2)),
            tb.BayesNetClassifier(tb.SparseCandidate(k=3, inner=tb.Tabu()), smoothing=tb.BDs(2)),
            tb.BayesNetClassifier(tb.TAN("dysp"), class_prior={"no": 0.2, "yes": 0.8}),
            tb.BayesNetClassifier(structure=tb.DAG(arcs=[("dysp", "lung"), ("lung", "xray")]), missing="em"),
            tb.BayesNetClassifier(
                constraints=tb.Constraints(
                    required=[("smoke", "dysp")], tiers=[["asia", "smoke"], ["dysp"]], max_parents={"dysp": 3},
                    arc_probability={("tub", "dysp"): 0.9},
                )
            ),
        ],
        ids=str,
    )  # fmt: skip
    def test_saved_is_loaded_with_its_options(self, model, tmp_path):
        table = asia(400)
        model.fit(table, "dysp").save(tmp_path / "m.tb")
        loaded = tb.load(tmp_path / "m.tb")
        assert loaded.get_params() == model.get_params()
        assert loaded.dag_ == model.dag_
        asked = with_holes(without(columns_of(asia(100, 2)), "dysp"), 0.2)
        np.testing.assert_array_equal(loaded.predict_proba(asked), model.predict_proba(asked))
        np.testing.assert_array_equal(
            loaded.partial_fit(table, "dysp").predict_proba(asked),
            model.partial_fit(table, "dysp").predict_proba(asked),
        )

    def test_a_damaged_file_is_refused(self, tmp_path):
        tb.BayesNetClassifier().fit(asia(200), "dysp").save(tmp_path / "m.tb")
        kind, content = read_model(tmp_path / "m.tb")
        statistics = content["statistics"]
        cyclic = [[1], [0], *statistics["parents"][2:]]
        for key, value in (
            ("parents", cyclic),
            ("parents", statistics["parents"][:-1]),
            ("counts", statistics["counts"][:-1]),
            ("counts", [c | {"table": -1 - c["table"]} for c in statistics["counts"]]),
            ("variables", statistics["variables"][::-1]),
        ):
            write_model(tmp_path / "bad.tb", kind, content | {"statistics": statistics | {key: value}})
            with pytest.raises(FormatError, match="its content does not fit"):
                tb.load(tmp_path / "bad.tb")
        foreign = content["parameters"] | {"search": {"rule": "option", "name": "Popen", "fields": {"args": "ls"}}}
        write_model(tmp_path / "bad.tb", kind, content | {"parameters": foreign})
        with pytest.raises(FormatError, match="there is no option 'Popen'"):
            tb.load(tmp_path / "bad.tb")

    @pytest.mark.parametrize("numeric", ["discretise", "gaussian"])
    def test_can_be_sent_to_other_processes(self, numeric):
        X, y = numbers(100)
        X["x2"][::3] = np.nan
        model = tb.BayesNetClassifier(numeric=numeric).fit(X, y)
        expected = model.predict_proba(X)  # what was compiled for it stays behind
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), expected)


def test_vote(shared_data):
    table = tb.read_table(shared_data / "uci" / "vote.csv")
    model = tb.BayesNetClassifier().fit(table, "Class")
    assert 1 <= len(model.markov_blanket_) < 16
    assert model.score(table, "Class") > 0.94
