"""Networks of categories and numbers: known results, the whole public face, extremes, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

import tunbridge as tb
from oracles.hybrid import HybridEnumeration, random_hybrid_network
from tunbridge.errors import DataError, ImpossibleEvidenceError, MemoryForecastError, UnknownVariableError
from tunbridge.inference import queries
from tunbridge.inference.engine import Engine
from tunbridge.inference.hybrid import batches as hybrid_batches, rows as hybrid_rows
from tunbridge.inference.hybrid.components import solve

RTOL = 1e-9


@pytest.fixture
def body() -> tb.BayesianNetwork:
    """Return a small network: sex, height, weight."""
    return tb.BayesianNetwork(
        {"Sex": ["female", "male"], "Height": None, "Weight": None},
        [("Sex", "Height"), ("Sex", "Weight"), ("Height", "Weight")],
        {
            "Sex": [0.5, 0.5],
            "Height": {"intercepts": {"female": 165, "male": 178}, "variances": [36, 49]},
            "Weight": {"intercepts": -100, "coefficients": {"Height": {"female": 0.97, "male": 1.0}}, "variances": 64},
        },
    )


def chain(n: int, rng: np.random.Generator) -> tuple[tb.BayesianNetwork, np.ndarray, np.ndarray]:
    """Return a network of numbers only, and its mean and covariance."""
    variables = [tb.Variable(f"x{i}") for i in range(n)]
    tables, mean, root = [], np.zeros(n), np.zeros((n, n))
    for i, v in enumerate(variables):
        parents = list(range(max(0, i - 2), i))
        a, b, s2 = rng.normal(), rng.normal(size=len(parents)), rng.uniform(0.5, 2.0)
        tables.append(tb.LinearGaussian(v, [variables[p] for p in parents], a, b if parents else None, s2))
        mean[i] = a + b @ mean[parents]
        root[i] = b @ root[parents]
        root[i, i] += np.sqrt(s2)
    return tb.BayesianNetwork.from_tables(tables), mean, root @ root.T


class TestKnownResults:
    def test_gaussian_network_is_a_multivariate_normal(self):
        net, mean, cov = chain(7, np.random.default_rng(0))
        evidence = {"x1": 0.3, "x4": -2.0, "x6": 1.0}
        known, rest = [1, 4, 6], [0, 2, 3, 5]
        x = np.array(list(evidence.values()))
        joint = stats.multivariate_normal(mean[known], cov[np.ix_(known, known)])
        np.testing.assert_allclose(net.log_probability(evidence), joint.logpdf(x), rtol=RTOL)
        gain = cov[np.ix_(rest, known)] @ np.linalg.inv(cov[np.ix_(known, known)])
        means, covs = mean[rest] + gain @ (x - mean[known]), cov[np.ix_(rest, rest)] - gain @ cov[np.ix_(known, rest)]
        for i, v in enumerate(rest):
            found = net.posterior(f"x{v}", evidence)
            assert len(found) == 1
            np.testing.assert_allclose([found.mean, found.variance], [means[i], covs[i, i]], rtol=RTOL)

    def test_gaussian_naive_bayes_is_the_classifier(self):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 3, 300)
        frame = {"y": np.array(["a", "b", "c"])[y]} | {f"x{i}": rng.normal(y * i, 1.0 + y) for i in range(4)}
        model = tb.NaiveBayesClassifier(numeric="gaussian", smoothing=0.0).fit(frame, "y")
        dag = tb.DAG(["y", *(f"x{i}" for i in range(4))], [("y", f"x{i}") for i in range(4)])
        net = tb.fit_parameters(dag, frame, "mle")
        variances = {n: net.cpt(n).variances * (net.cpt(n).counts / (net.cpt(n).counts - 1)) for n in dag.nodes[1:]}
        tables = [
            tb.LinearGaussian(net.variable(n), net.cpt(n).parents, net.cpt(n).intercepts, variances=variances[n])
            for n in dag.nodes[1:]
        ]
        unbiased = tb.BayesianNetwork.from_tables([net.cpt("y"), *tables])
        new = {f"x{i}": rng.normal(0, 3, 50) for i in range(4)}
        np.testing.assert_allclose(unbiased.predict_proba(new, "y"), model.predict_proba(new), rtol=1e-6, atol=1e-12)

    def test_by_hand(self, body):
        male = 0.5 * stats.norm.pdf(180, 178, 7)
        female = 0.5 * stats.norm.pdf(180, 165, 6)
        found = body.posterior("Sex", {"Height": 180})
        np.testing.assert_allclose(found["male"], male / (male + female), rtol=RTOL)
        weight = body.posterior("Weight", {"Height": 180})
        np.testing.assert_allclose(weight.weights, [male / (male + female), female / (male + female)], rtol=RTOL)
        assert weight.means.tolist() == [80.0, pytest.approx(74.6)]
        np.testing.assert_allclose(np.sqrt(weight.variances), [8.0, 8.0], rtol=RTOL)


class TestQuestions:
    def test_posteriors_and_their_text(self, body):
        found = body.posteriors({"Weight": 80})
        assert list(found) == ["Sex", "Height", "Weight"]
        assert len(found) == 3
        assert found["Height"] == body.posterior("Height", {"Weight": 80})
        assert found["Weight"].std == 0.0
        assert repr(found).splitlines()[2] == "Height    178.022       ± 5.67585"
        assert "mode or mean" in found._repr_html_()
        with pytest.raises(UnknownVariableError, match="Did you mean 'Height'"):
            found["Hight"]

    def test_soft_evidence_and_lists(self, body):
        soft = body.posterior("Height", {"Sex": {"female": 1, "male": 3}})
        assert sorted(soft.weights.tolist()) == [0.25, 0.75]
        either = body.posterior("Height", {"Sex": ["female", "male"]})
        assert either == body.posterior("Height")

    def test_missing_values_and_rows_of_pandas_are_evidence(self, body):
        import pandas as pd

        row = pd.Series({"Weight": 80.0, "Height": float("nan"), "Sex": None})
        assert body.posterior("Sex", row) == body.posterior("Sex", {"Weight": 80})

    def test_probabilities_of_events(self, body):
        p = body.posterior("Sex", {"Weight": 80})
        np.testing.assert_allclose(body.probability({"Sex": "male"}, {"Weight": 80}), p["male"], rtol=RTOL)
        assert body.probability([{"Sex": "male"}, {"Sex": "female"}], {"Weight": 80}) == pytest.approx(1.0)
        assert body.probability(lambda s: s == "male", {"Weight": 80}, of=["Sex"]) == pytest.approx(p["male"])

    def test_most_probable_categories(self, body):
        found = body.most_probable({"Weight": 90}, of="Sex")
        assert dict(found) == {"Sex": "male"}
        np.testing.assert_allclose(found.probability, body.posterior("Sex", {"Weight": 90})["male"], rtol=RTOL)
        np.testing.assert_allclose(
            found.log_probability, body.log_probability({"Weight": 90, "Sex": "male"}), rtol=RTOL
        )

    def test_explanations_weigh_numbers(self, body):
        found = body.explain("Sex", {"Weight": 80, "Height": 180})
        assert (found.state, {f.name for f in found.findings}) == ("male", {"Weight", "Height"})
        odds = [np.log(d["male"] / d["female"]) for d in (found.posterior, body.posterior("Sex", {"Weight": 80}))]
        height = next(f for f in found.findings if f.name == "Height")
        np.testing.assert_allclose(height.weight, odds[0] - odds[1], rtol=1e-8)

    def test_conflict_does_not_depend_on_units(self, body):
        evidence = {"Weight": 50, "Height": 190}
        found = body.conflict(evidence)
        alone = sum(body.log_probability({k: v}) for k, v in evidence.items())
        np.testing.assert_allclose(found.measure, alone - body.log_probability(evidence), rtol=RTOL)
        assert found.measure > 0
        assert found.without == {"Weight": 0.0, "Height": 0.0}

    def test_forecast(self, body):
        assert body.forecast().fits
        assert body.forecast({"Weight": 80}, "Height").largest_clique == ("Sex",)
        assert body.forecast(target=["Sex"]).fits

    def test_interventions(self, body):
        done = body.do({"Height": 180})
        assert done.posterior("Sex", {"Height": 180})["male"] == 0.5
        assert sorted(done.posterior("Weight").means.tolist()) == [pytest.approx(74.6), 80.0]
        assert done.posterior("Height").std == 0.0
        both = body.do({"Height": 180.0, "Sex": {"male": 0.5, "female": 0.5}})
        seen = {"Weight": 80}
        np.testing.assert_allclose(done.posterior("Sex", seen)["male"], both.posterior("Sex", seen)["male"], rtol=RTOL)
        male = body.do({"Sex": "male"})
        assert male.posterior("Height").mean == 178
        with pytest.raises(ImpossibleEvidenceError, match="Height=181 contradicts the network's exact value"):
            done.posterior("Sex", {"Height": 181})
        assert done.log_probability({"Height": 181}) == -np.inf
        with pytest.warns(tb.ZeroProbabilityWarning):
            assert np.isnan(done.predict_proba({"Height": [180.0, 181.0]}, "Sex")[:, 0]).tolist() == [False, True]

    def test_exact_functions_of_other_numbers(self):
        x, y, total = map(tb.Variable, ("x", "y", "total"))
        sums = tb.LinearGaussian(total, [x, y], 1.0, [1.0, 2.0], 0.0)
        rest = [tb.LinearGaussian(v, [], 1.0, variances=4.0) for v in (x, y)]
        net = tb.BayesianNetwork.from_tables([sums, *rest])
        found = net.posterior("total")
        np.testing.assert_allclose([found.mean, found.variance], [4.0, 20.0], rtol=RTOL)
        assert net.posterior("total", {"x": 2, "y": 3}).mean == pytest.approx(9.0)
        assert net.log_probability({"x": 2, "y": 3, "total": 9}) == pytest.approx(net.log_probability({"x": 2, "y": 3}))
        with pytest.raises(DataError, match="must not be an exact function of unobserved ones; 'total' is"):
            net.posterior("x", {"total": 9.0})

    def test_networks_as_objects(self, body):
        assert pickle.loads(pickle.dumps(body)) == body
        assert "Height" in body
        assert body.cpt("Height").variable == body.variable("Height") == tb.Variable("Height")
        assert repr(body) == "BayesianNetwork: 3 variables, 3 arcs, 11 parameters"
        assert "continuous" in body._repr_html_()
        assert body.independent("Sex", "Weight", given=["Height"]) is False


class TestRows:
    def test_predictions(self, body):
        rows = {"Height": [180.0, None, 160.0], "Weight": [80.0, 60.0, None], "Sex": [None, None, "female"]}
        assert body.predict(rows, "Sex").tolist() == ["male", "female", "female"]
        np.testing.assert_allclose(body.predict(rows, "Weight")[2], 0.97 * 160 - 100, rtol=RTOL)
        assert body.posteriors(tb.as_table(rows))["Height"].shape == (3, 2)

    def test_threads_and_pieces_do_not_matter(self, body, monkeypatch):
        rows = body.sample(300, random_state=0).to_pandas()
        rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.4)
        expected = [body.log_likelihood(rows, n_jobs=1), body.predict_proba(rows, "Sex"), body.predict(rows, "Height")]
        monkeypatch.setattr(hybrid_rows, "PIECE_CELLS", 50)
        found = [body.log_likelihood(rows, n_jobs=2), body.predict_proba(rows, "Sex"), body.predict(rows, "Height")]
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)

    @pytest.mark.parametrize("seed", range(8))
    def test_large_clusters_go_row_by_row(self, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(random_hybrid_network(rng))
        rows = {v.name: [_cell(rng, v) for _ in range(5)] for v in net.variables}
        expected = net.log_likelihood(rows), {v.name: _asked(net, rows, v) for v in net.variables}
        monkeypatch.setattr(hybrid_batches, "_LARGEST_CLUSTER", 0)
        np.testing.assert_allclose(net.log_likelihood(rows), expected[0], rtol=RTOL)
        for v in net.variables:
            np.testing.assert_allclose(_asked(net, rows, v), expected[1][v.name], rtol=1e-8, atol=1e-10)

    def test_unknown_states_and_columns(self, body):
        with pytest.warns(tb.UnseenStateWarning, match="Sex: 'x'"):
            found = body.predict({"Sex": ["x"], "Height": [180.0]}, "Weight")
        np.testing.assert_allclose(found, body.posterior("Weight", {"Height": 180}).mean, rtol=RTOL)
        with pytest.raises(DataError, match="the data must have a column of the network"):
            body.log_likelihood({"other": [1.0]})
        with pytest.raises(DataError, match="column 'Height' must hold finite numbers; row 2 contains infinity"):
            body.log_likelihood({"Height": [1.0, float("inf")]})
        with pytest.raises(DataError, match="predict_proba\\(\\) must have a categorical target; 'Height'"):
            body.predict_proba({"Sex": ["male"]}, "Height")


def _cell(rng: np.random.Generator, v: tb.Variable) -> object:
    if rng.random() < 0.3:
        return None
    return float(rng.normal()) if v.is_continuous else v.states[int(rng.integers(v.n_states))]


def _asked(net: tb.BayesianNetwork, rows: dict, v: tb.Variable) -> np.ndarray:
    return net.predict(rows, v.name) if v.is_continuous else net.predict_proba(rows, v.name)


class TestSamples:
    def test_moments_of_samples(self, body):
        rows = body.sample(200_000, random_state=0)
        for name in ("Height", "Weight"):
            exact = body.posterior(name)
            values = rows.floats(name)
            assert abs(values.mean() - exact.mean) < 4 * exact.std / np.sqrt(len(values))
            assert abs(values.std() / exact.std - 1.0) < 0.01

    def test_given_evidence_samples_follow_the_posterior(self, body):
        evidence = {"Weight": 85.0}
        rows = body.sample(20_000, random_state=1, evidence=evidence)
        assert set(rows.floats("Weight")) == {85.0}
        exact = body.posterior("Height", evidence)
        assert stats.kstest(rows.floats("Height"), exact.cdf).pvalue > 1e-3
        assert stats.kstest(rows.floats("Height"), body.posterior("Height").cdf).pvalue < 1e-10  # a wrong answer fails
        share = (rows.codes("Sex") == 1).mean()
        assert abs(share - body.posterior("Sex", evidence)["male"]) < 0.01

    @pytest.mark.parametrize("seed", range(4))
    def test_components_below_and_above_the_evidence(self, seed):
        rng = np.random.default_rng(seed)
        net, _, _ = chain(5, rng)
        evidence = {"x2": 1.0}
        rows = net.sample(20_000, random_state=seed, evidence=evidence)
        for name in ("x0", "x1", "x3", "x4"):
            assert stats.kstest(rows.floats(name), net.posterior(name, evidence).cdf).pvalue > 1e-4

    def test_seeds(self, body):
        one, two = body.sample(20_000, random_state=3, n_jobs=1), body.sample(30_000, random_state=3, n_jobs=2)
        for a, b in zip(one.columns, two.columns, strict=True):
            assert np.array_equal(a, b[:20_000])
        assert not np.array_equal(one.floats("Height"), body.sample(20_000, random_state=4).floats("Height"))
        assert body.sample(0, random_state=0).n_rows == 0

    def test_tables_are_those_that_fit(self, body):
        net = tb.fit_parameters(body.dag, body.sample(100_000, random_state=5), "mle")
        np.testing.assert_allclose(net.cpt("Weight").coefficients, body.cpt("Weight").coefficients, rtol=0.02)
        np.testing.assert_allclose(net.cpt("Height").intercepts, body.cpt("Height").intercepts, rtol=1e-3)


class TestExtremes:
    def two_linked(self, spread: float) -> tb.BayesianNetwork:
        a, b = tb.Variable("A", ["a", "b"]), tb.Variable("B", ["a", "b"])
        x, y = tb.Variable("X"), tb.Variable("Y")
        return tb.BayesianNetwork.from_tables(
            [
                tb.CPT(a, [], [0.5, 0.5]),
                tb.CPT(b, [a], [[1, 0], [0, 1]]),
                tb.LinearGaussian(x, [a], [0, 10], variances=spread),
                tb.LinearGaussian(y, [b], [0, 10], variances=spread),
            ]
        )

    @pytest.mark.parametrize("y", [9.0, 10.0, 10.001, 11.0])
    def test_contradictory_numbers_far_beyond_underflow(self, y):
        net = self.two_linked(0.01)
        oracle = HybridEnumeration(list(net.cpts.values()))
        evidence = {"X": 0.0, "Y": y}
        np.testing.assert_allclose(net.log_probability(evidence), oracle.log_density(evidence), rtol=RTOL)
        expected = oracle.posterior(["A"], evidence)
        np.testing.assert_allclose(net.posterior("A", evidence).probabilities, expected, rtol=1e-7, atol=1e-200)
        rows = {"X": [0.0, 0.0], "Y": [y, y]}
        np.testing.assert_allclose(net.log_likelihood(rows), [oracle.log_density(evidence)] * 2, rtol=RTOL)
        np.testing.assert_allclose(net.predict_proba(rows, "A"), [expected] * 2, rtol=1e-7, atol=1e-200)

    def test_impossible_states_do_not_hide_improbable_ones(self):
        a, x = tb.Variable("A", ["a", "b"]), tb.Variable("X")
        net = tb.BayesianNetwork.from_tables(
            [tb.CPT(a, [], [0, 1]), tb.LinearGaussian(x, [a], [0, 10], variances=0.01)]
        )
        expected = stats.norm.logpdf(0, 10, 0.1)
        np.testing.assert_allclose(net.log_probability({"X": 0}), expected, rtol=RTOL)
        np.testing.assert_allclose(net.log_likelihood({"X": [0.0, 0.0]}), expected, rtol=RTOL)

    def test_a_thousand_measurements(self):
        c = tb.Variable("C", ["a", "b"])
        numbers = [tb.Variable(f"x{i}") for i in range(1000)]
        tables = [tb.LinearGaussian(x, [c], [0, 1], variances=1) for x in numbers]
        net = tb.BayesianNetwork.from_tables([tb.CPT(c, [], [0.5, 0.5]), *tables])
        row = dict.fromkeys((x.name for x in numbers), 5.0)
        by_state = [np.log(0.5) + 1000 * stats.norm.logpdf(5.0, m, 1) for m in (0, 1)]
        np.testing.assert_allclose(net.log_probability(row), np.logaddexp(*by_state), rtol=1e-12)
        assert net.posterior("C", row)["b"] == 1.0

    def test_small_variances_beside_large_ones(self):
        x, y, z = map(tb.Variable, "xyz")
        tables = [
            tb.LinearGaussian(x, [], 0, variances=1.0),
            tb.LinearGaussian(y, [], 0, variances=1.0),
            tb.LinearGaussian(z, [x, y], 0, [1.0, 1.0], 1e-20),
        ]
        net = tb.BayesianNetwork.from_tables(tables)
        found = net.posterior("x", {"z": 1.0})
        np.testing.assert_allclose([found.mean, found.variance], [0.5, 0.5], rtol=1e-6)
        np.testing.assert_allclose(net.log_probability({"z": 1.0}), stats.norm.logpdf(1, 0, 2**0.5), rtol=1e-6)

    def test_many_configurations_are_forecast(self, monkeypatch):
        categories = [tb.Variable(f"d{i}", range(10)) for i in range(8)]
        numbers = [tb.Variable(f"x{i}") for i in range(8)]
        tables = [tb.CPT(d, [], np.full(10, 0.1)) for d in categories]
        tables += [
            tb.LinearGaussian(x, [d, *numbers[max(0, i - 1) : i]], np.zeros(10), None if i == 0 else 1.0, 1.0)
            for i, (x, d) in enumerate(zip(numbers, categories, strict=True))
        ]
        net = tb.BayesianNetwork.from_tables(tables)
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e9")
        assert not net.forecast({"x7": 1.0}).fits
        assert net.forecast({"x0": 1.0}, "d0").fits
        with pytest.raises(
            MemoryForecastError, match=r"the 1e\+08 configurations of 'd0', 'd1', .* Ways out: observe more"
        ):
            net.posterior("d0", {"x7": 1.0})
        assert net.posterior("d0", {"x7": 1.0, "x0": 2.0, **{f"d{i}": 0 for i in range(1, 8)}}).mode == 0


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (
                lambda n: n.posterior("Sex", {"Weight": "heavy"}),
                "evidence about 'Weight' must be a number; got 'heavy'. It is continuous.",
            ),
            (lambda n: n.posterior("Sex", {"Weight": [1, 2]}), "evidence about 'Weight' must be a number"),
            (lambda n: n.posterior("Sex", {"Weight": float("inf")}), "evidence about 'Weight' must be finite"),
            (
                lambda n: n.posterior("Sex", {"Wieght": 1}),
                "evidence must name variables of the network; got 'Wieght'. Did you mean 'Weight'",
            ),
            (lambda n: n.posterior("Sex", [80]), "evidence must be a dict from variable to state or number"),
            (lambda n: n.posterior("Size"), "target must name variables of the network; got 'Size'"),
            (
                lambda n: n.posterior(["Sex", "Height"]),
                "a joint distribution must be of categorical variables; 'Height' is continuous",
            ),
            (
                lambda n: n.posterior("Sex", interval=0.9),
                r"posterior\(\) with interval=… must have a network of categorical variables; 'Height', 'Weight'",
            ),
            (
                lambda n: n.posterior("Sex", method="gibbs"),
                r"posterior\(\) with method=… must have a network of categorical variables",
            ),
            (
                lambda n: n.most_probable(),
                r"most_probable\(\) must be about categorical variables; continuous: 'Height', 'Weight'",
            ),
            (
                lambda n: n.most_probable(of=["Height"]),
                "of must be about categorical variables; 'Height' is continuous",
            ),
            (
                lambda n: n.probability({"Height": 3}),
                r"an event must be about categorical variables; 'Height' is continuous. posterior\('Height'\).cdf",
            ),
            (
                lambda n: n.explain("Height", {"Weight": 1}),
                r"explain\(\) must have a categorical target; 'Height'",
            ),
            (lambda n: n.do({"Height": "tall"}), "an intervention on 'Height' must be a number; got 'tall'"),
            (lambda n: n.do([1]), "an intervention must be a dict from variable to state or number"),
            (lambda n: n.predict({"Height": [1.0]}, ["Sex"]), "target must name one variable"),
            (
                lambda n: n.variable("Hight"),
                "name must be a variable of the network; got 'Hight'. Did you mean",
            ),
        ],
    )
    def test_questions(self, body, ask, message):
        with pytest.raises(DataError, match=message):
            ask(body)

    @pytest.mark.parametrize(
        ("cpts", "message"),
        [
            (
                {"A": [0.5, 0.5], "X": [0.5, 0.5]},
                "the table of the continuous variable 'X' must be a LinearGaussian; got",
            ),
            (
                {"A": [0.5, 0.5], "X": tb.LinearGaussian(tb.Variable("X"), [], 0, variances=1)},
                "the table must be that of 'X' given 'A', with",
            ),
            ({"A": [0.5, 0.5], "X": {"variances": -1}}, "the variances of 'X' must be at least 0; got -1"),
        ],
    )
    def test_tables(self, cpts, message):
        with pytest.raises(DataError, match=message):
            tb.BayesianNetwork({"A": ["a", "b"], "X": None}, [("A", "X")], cpts)

    def test_a_category_that_depends_on_a_number(self):
        rule = "'X': it is continuous. Exact inference needs categories that do not depend on numbers: reverse the arc"
        with pytest.raises(DataError, match=rule):
            tb.BayesianNetwork({"A": ["a", "b"], "X": None}, [("X", "A")], {"A": [0.5, 0.5], "X": {"variances": 1}})

    def test_impossible_evidence_names_the_categories(self):
        a, b = tb.Variable("A", ["a", "b"]), tb.Variable("B", ["a", "b"])
        x = tb.Variable("X")
        net = tb.BayesianNetwork.from_tables(
            [tb.CPT(a, [], [0.5, 0.5]), tb.CPT(b, [a], np.eye(2)), tb.LinearGaussian(x, [a, b], 0, variances=1)]
        )
        with pytest.raises(ImpossibleEvidenceError, match="A='a' and B='b' have probability zero together"):
            net.posterior("A", {"A": "a", "B": "b", "X": 3})
        with pytest.raises(ImpossibleEvidenceError):
            net.posterior("X", {"A": "a", "B": "b"})
        with pytest.raises(ImpossibleEvidenceError):
            net.conflict({"A": "a", "B": "b", "X": 1.0})
        assert net.log_probability({"A": "a", "B": "b", "X": 3}) == -np.inf


class TestFiles:
    def test_a_native_file_keeps_everything(self, body, tmp_path):
        net = tb.fit_parameters(body.dag, body.sample(500, random_state=0))
        for each in (body, net):
            each.write(tmp_path / "net.tb")
            again = tb.read_network(tmp_path / "net.tb")
            assert again == each
            assert tb.load(tmp_path / "net.tb") == each
        moments, expected = again.cpt("Weight").moments, net.cpt("Weight").moments
        assert np.array_equal(moments.products, expected.products)

    @pytest.mark.parametrize("suffix", ["bif", "xmlbif", "dsc", "uai", "bif.gz"])
    def test_other_formats_refuse(self, body, tmp_path, suffix):
        path = tmp_path / f"net.{suffix}"
        with pytest.raises(
            DataError, match=r"must have categorical variables only; 'Height', 'Weight' are .* Write a '\.tb'"
        ):
            body.write(path)
        assert not path.exists()

    @pytest.mark.parametrize(
        ("name", "value"),
        [("variances", np.array([1.0, -1.0])), ("intercepts", [1.0, 2.0]), ("moments", [np.ones(1)] * 3)],
    )
    def test_damaged_content_is_told(self, body, tmp_path, name, value):
        from tunbridge.formats.native import write_model
        from tunbridge.formats.native_network import network_content

        content = network_content(body._parts)
        content["tables"][1][name] = value
        write_model(tmp_path / "net.tb", "network", content)
        with pytest.raises(tb.FormatError, match="must hold a model of kind 'network'; its content"):
            tb.read_network(tmp_path / "net.tb")


class TestLimits:
    def chain(self, n):
        vs = {f"d{i}": ["a", "b", "c"] for i in range(n)} | {f"x{i}": None for i in range(n)}
        arcs = [(f"d{i}", f"x{i}") for i in range(n)] + [(f"x{i}", f"x{i + 1}") for i in range(n - 1)]
        cpts = {f"d{i}": [0.2, 0.3, 0.5] for i in range(n)}
        cpts |= {f"x{i}": {"intercepts": [0, 1, 2], "coefficients": [1.0] * (i > 0), "variances": 1} for i in range(n)}
        return tb.BayesianNetwork(vs, arcs, cpts)

    def test_all_posteriors_are_forecast_before_the_first_is_computed(self, monkeypatch):
        net = self.chain(40)
        monkeypatch.setattr(queries, "solve", lambda *_: pytest.fail("solved before it was checked"))
        with pytest.raises(tb.MemoryForecastError, match="configurations of 'd0', 'd1'"):
            net.posteriors()

    def test_numbers_beyond_any_density(self, body):
        with pytest.raises(
            ImpossibleEvidenceError, match=r"Height=1e\+200 is so far off that its density is not a number"
        ):
            body.posterior("Sex", {"Height": 1e200})
        assert body.log_probability({"Height": 1e200}) == -np.inf
        assert body.posterior("Sex", {"Height": 1e100})["male"] == 1.0

    def test_contradictory_outliers_about_many_categories(self):
        """Each number speaks for a state by over 700 nats, and equal categories make them contradict each other."""
        n, rng = 8, np.random.default_rng(0)
        vs = {f"d{i}": ["a", "b", "c"] for i in range(n)} | {f"x{i}": None for i in range(n)}
        arcs = [(f"d{i}", f"d{i + 1}") for i in range(n - 1)] + [(f"d{i}", f"x{i}") for i in range(n)]
        cpts = {"d0": [0.2, 0.3, 0.5]} | {f"d{i}": np.eye(3) for i in range(1, n)}
        cpts |= {f"x{i}": {"intercepts": [0, 50, 100], "variances": [1, 2, 1]} for i in range(n)}
        net = tb.BayesianNetwork(vs, arcs, cpts)
        rows = {f"x{i}": rng.choice([0.0, 50.0, 100.0], 20) for i in range(n)}
        rows |= {"d3": [None, "a", "b", "c"] * 5, "d5": [None] * 19 + ["c"]}
        found, likelihoods = net.predict_proba(rows, "d0"), net.log_likelihood(rows)
        for i in range(20):
            row = {name: column[i] for name, column in rows.items()}
            np.testing.assert_allclose(likelihoods[i], net.log_probability(row), rtol=1e-9)
            np.testing.assert_allclose(found[i], net.posterior("d0", row).probabilities, rtol=1e-9, atol=1e-15)
            state = net.posterior("d0", row).mode
            alike = {f"d{k}": state for k in range(n)}
            np.testing.assert_allclose(net.log_probability({**row, **alike}), likelihoods[i], rtol=1e-6)

    def test_no_columns(self, body):
        with pytest.raises(DataError, match=r"got none\. Columns are matched"):
            body.log_likelihood({})

    def test_gaussians_share_a_solution(self, monkeypatch):
        n, solved = 30, []
        vs = {f"x{i}": None for i in range(n)}
        cpts = {f"x{i}": {"coefficients": [0.5] * (i > 0), "variances": 1} for i in range(n)}
        net = tb.BayesianNetwork(vs, [(f"x{i}", f"x{i + 1}") for i in range(n - 1)], cpts)
        plain = {name: net.posterior(name, {"x9": 1.0}) for name in net.nodes}
        monkeypatch.setattr(queries, "solve", lambda *how: solved.append(how) or solve(*how))
        found = net.posteriors({"x9": 1.0})
        assert len(solved) == 2
        rows = net.posteriors(tb.as_table({"x9": [1.0, 2.0]}, kinds="continuous"))
        for name in net.nodes:
            np.testing.assert_allclose(
                [found[name].mean, found[name].std], [plain[name].mean, plain[name].std], atol=1e-12
            )
            np.testing.assert_allclose(rows[name][0], [plain[name].mean, plain[name].std], atol=1e-12)

    def test_what_was_compiled_is_shared_between_settings_of_the_tables(self):
        net = self.chain(3)
        hybrid = Engine(list(net.cpts.values()))
        hybrid.with_tables(hybrid.cpts).with_clusters([(0, 1)])
        assert ("cluster", (0, 1)) in hybrid.with_tables(hybrid.cpts)._compiled.engines
