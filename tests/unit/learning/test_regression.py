"""Linear Gaussian tables from data, complete and with holes."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from oracles.hybrid import HybridEnumeration, random_hybrid_network
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import read_rows
from tunbridge.inference.hybrid import rows as hybrid_rows
from tunbridge.inference.hybrid.expectations import IncompleteMixedRows
from tunbridge.learning.missing.mixed import MixedProblem
from tunbridge.learning.parameters.priors import as_prior
from tunbridge.learning.parameters.regression import gaussian_table


def regression_data(n: int = 600, offset: float = 0.0, seed: int = 0) -> dict[str, np.ndarray]:
    """Return two numbers, a category and a number that depends on all of them."""
    rng = np.random.default_rng(seed)
    x, z, g = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 3, n)
    y = 2 * x + g * z + 0.1 * rng.normal(size=n)
    return {"x": x + offset, "z": z, "g": np.array(["a", "b", "c"])[g], "y": y + offset}


def least_squares(y: np.ndarray, *columns: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """Return coefficients, the intercept first, and the variance of maximum likelihood."""
    w = np.ones(len(y)) if weights is None else weights
    design = np.column_stack([np.ones(len(y)), *columns]) * np.sqrt(w)[:, None]
    found = np.linalg.lstsq(design, y * np.sqrt(w), rcond=None)[0]
    rest = y * np.sqrt(w) - design @ found
    return found, float(rest @ rest / w.sum())


class TestGaussianTable:
    def test_least_squares_in_each_configuration(self):
        data = regression_data()
        table = gaussian_table(tb.as_table(data), "y", ["x", "g", "z"])
        for k, state in enumerate("abc"):
            rows = data["g"] == state
            b, s2 = least_squares(data["y"][rows], data["x"][rows], data["z"][rows])
            np.testing.assert_allclose([table.intercepts[k], *table.coefficients[k]], b, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(table.variances[k], s2, rtol=1e-9)
        assert table.counts.tolist() == [np.sum(data["g"] == s) for s in "abc"]

    def test_offsets_cost_no_digits(self):
        near, far = (gaussian_table(tb.as_table(regression_data(offset=o)), "y", ["x", "g", "z"]) for o in (0.0, 1e9))
        np.testing.assert_allclose(far.coefficients, near.coefficients, rtol=0, atol=1e-6)
        np.testing.assert_allclose(far.variances, near.variances, rtol=1e-5)

    def test_weights_are_repeated_rows(self):
        data = regression_data(60)
        weights = np.random.default_rng(1).integers(0, 4, 60)
        repeated = {name: np.repeat(column, weights) for name, column in data.items()}
        one = gaussian_table(tb.as_table(data, weights=weights.astype(float)), "y", ["x", "g"])
        two = gaussian_table(tb.as_table(repeated), "y", ["x", "g"])
        for a, b in zip(one._values(), two._values(), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)

    def test_rows_with_holes_are_left_out_of_their_families_only(self):
        data = regression_data(100)
        data["x"][:30] = np.nan
        holed = tb.as_table(data)
        whole = tb.as_table({name: column[30:] for name, column in data.items()})
        assert gaussian_table(holed, "y", ["x"]) == gaussian_table(whole, "y", ["x"])
        assert gaussian_table(holed, "y", ["z"]).counts.item() == 100

    def test_column_order_and_row_order_do_not_matter(self):
        data, shuffled = regression_data(80), np.random.default_rng(2).permutation(80)
        one = gaussian_table(tb.as_table(data), "y", ["x", "g", "z"])
        two = gaussian_table(tb.as_table({n: c[shuffled] for n, c in data.items()}), "y", ["z", "g", "x"])
        np.testing.assert_allclose(one.coefficients, two.coefficients[:, ::-1], rtol=1e-10, atol=1e-13)

    def test_shrinkage_adds_rows_worth_of_the_whole(self):
        data = tb.as_table({"g": ["a"] * 4 + ["b"] * 4, "y": [0.0, 1, 2, 3, 10, 11, 12, 13]})
        table = gaussian_table(data, "y", ["g"], shrinkage=4.0)
        assert table.intercepts.tolist() == [(4 * 1.5 + 4 * 6.5) / 8, (4 * 11.5 + 4 * 6.5) / 8]
        assert table.variances[0] > gaussian_table(data, "y", ["g"]).variances[0]


class TestDegenerateData:
    def test_a_configuration_without_rows_has_the_pooled_regression(self):
        data = regression_data(200)
        states = tb.Variable("g", ["a", "b", "c", "never"])
        table = tb.as_table(data).recode([states, *(tb.Variable(n) for n in "xzy")])
        found = gaussian_table(table, "y", ["g", "x"])
        b, s2 = least_squares(data["y"], data["x"])
        np.testing.assert_allclose([found.intercepts[3], found.coefficients[3, 0]], b, rtol=1e-9)
        np.testing.assert_allclose(found.variances[3], s2, rtol=1e-9)
        assert found.counts[3] == 0

    def test_one_row_is_filled_up(self):
        data = tb.as_table({"g": ["a", "b", "b", "b"], "y": [10.0, 0.0, 1.0, 2.0]})
        table = gaussian_table(data, "y", ["g"])
        assert table.intercepts.tolist() == [(10.0 + 3.25) / 2, 1.0]
        assert (table.variances > 0.5).all()

    def test_equal_values_have_the_average_variance(self):
        data = tb.as_table({"g": ["a"] * 3 + ["b"] * 3, "y": [5.0, 5, 5, 0, 1, 2]})
        table = gaussian_table(data, "y", ["g"])
        np.testing.assert_allclose(table.variances, [2 / 6, 2 / 3], rtol=1e-12)

    @pytest.mark.parametrize("value", [0.0, 7.0, -1e9])
    def test_a_constant_column_is_as_good_as_certain(self, value):
        data = tb.as_table({"g": ["a", "b", "a"], "x": [1.0, 2.0, 3.0], "y": [value] * 3}, kinds={"y": "continuous"})
        table = gaussian_table(data, "y", ["g", "x"])
        assert table.intercepts.tolist() == [value, value]
        assert not table.coefficients.any()
        np.testing.assert_allclose(table.variances, 1e-10 * (value**2 or 1.0), rtol=1e-12)

    def test_constant_and_collinear_parents(self):
        x = np.arange(10.0)
        data = tb.as_table({"x": x, "twice": 2 * x, "c": np.full(10, 3.0), "y": 3 * x + 1.5 * np.cos(7 * x)})
        table = gaussian_table(data, "y", ["x", "twice", "c"])
        b, s2 = least_squares(data.floats("y"), x)
        np.testing.assert_allclose(table.coefficients[0] + 2 * table.coefficients[1], b[1], rtol=1e-9)
        assert table.coefficients[2] == 0.0
        np.testing.assert_allclose(table.variances, s2, rtol=1e-9)

    def test_an_exact_line_has_a_small_variance(self):
        data = tb.as_table({"x": np.arange(10.0), "y": 2 * np.arange(10.0) + 1})
        table = gaussian_table(data, "y", ["x"])
        np.testing.assert_allclose([table.intercepts, table.coefficients[0]], [1.0, 2.0], rtol=1e-9)
        np.testing.assert_allclose(table.variances, 1e-10 * np.var(data.floats("y")), rtol=1e-6)

    def test_fewer_rows_than_parameters(self):
        data = tb.as_table({"x": [1.0, 2.0], "y": [0.0, 4.0]}, kinds="continuous")
        table = gaussian_table(data, "y", ["x"])
        assert (table.intercepts.item(), table.coefficients.item(), table.variances.item()) == (2.0, 0.0, 4.0)
        single = gaussian_table(data.take([0]), "y", ["x"])
        assert (single.intercepts.item(), single.variances.item()) == (0.0, 1e-10)

    def test_no_row_has_all_cells(self):
        data = tb.as_table({"x": [1.0, 2.0, None, None], "y": [None, None, 3.0, 5.0]}, kinds="continuous")
        table = gaussian_table(data, "y", ["x"])
        assert (table.intercepts.item(), table.coefficients.item(), table.variances.item()) == (4.0, 0.0, 1.0)
        assert table.counts.item() == 0

    def test_what_is_refused(self, monkeypatch):
        data = tb.as_table({"g": ["a", "b"], "x": [1.0, 2.0], "none": [None, None], "huge": [1e200, -1e200]},
                           kinds={"none": "continuous", "x": "continuous"})  # fmt: skip
        with pytest.raises(DataError, match="the child of a regression must be continuous; 'g' is categorical"):
            gaussian_table(data, "g", ["x"])
        with pytest.raises(DataError, match="every column must have a value; 'none' holds only missing values"):
            gaussian_table(data, "none", [])
        with pytest.raises(DataError, match=r"the numbers of the family of 'huge' must be below 1e\+150"):
            gaussian_table(data, "huge")
        with pytest.raises(DataError, match="shrinkage must be at least 0; got -1"):
            gaussian_table(data, "x", shrinkage=-1)
        empty = tb.as_table({"g": [None, None], "x": [1.0, 2.0]}, kinds={"x": "continuous"})
        with pytest.raises(DataError, match="every column must have a state; 'g' holds only missing values"):
            gaussian_table(empty, "x", ["g"])
        wide = {f"d{i}": [f"s{k}" for k in range(20)] for i in range(8)} | {"x": np.arange(20.0)}
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e9")
        with pytest.raises(MemoryForecastError, match="Give it fewer categorical parents"):
            gaussian_table(tb.as_table(wide), "x", [f"d{i}" for i in range(8)])


class TestDoors:
    def test_fit_parameters_of_a_mixed_table(self):
        data = regression_data()
        dag = tb.DAG(["g", "x", "y"], [("g", "y"), ("x", "y")])
        net = tb.fit_parameters(dag, data)
        assert net.cpt("y") == gaussian_table(tb.as_table(data), "y", ["g", "x"])
        assert isinstance(net.cpt("g"), tb.CPT)
        assert tb.fit_parameters(net, data) == net

    def test_a_category_with_a_number_as_its_parent(self):
        with pytest.raises(DataError, match=r"must have categorical parents; 'g' has 'x'\. Reverse"):
            tb.fit_parameters(tb.DAG(arcs=[("x", "g")]), regression_data())

    def test_learn_network_of_a_mixed_table(self):
        net = tb.learn_network(regression_data(2000), search="tabu")
        assert {*net.dag.parents("y"), *net.dag.children("y")} == {"g", "x", "z"}
        assert net.dag.parents("g") == ()
        assert np.isfinite(net.log_likelihood(regression_data(10, seed=5))).all()

    def test_complete_and_available_rows(self):
        data = regression_data(200)
        data["x"][:50] = np.nan
        dag = tb.DAG(["g", "x", "y", "z"], [("g", "y"), ("x", "y")])
        available = tb.fit_parameters(dag, data, missing="available")
        complete = tb.fit_parameters(dag, data, missing="complete")
        assert available.cpt("z").counts.item() == 200
        assert complete.cpt("z").counts.item() == 150
        assert available.cpt("y") == complete.cpt("y")


# Rows with holes


def holed(net: tb.BayesianNetwork, n: int, share: float, seed: int) -> tb.Table:
    """Return rows of a network, some of whose cells are missing at random."""
    frame = net.sample(n, random_state=seed).to_pandas()
    gone = np.random.default_rng(seed).random(frame.shape) < share
    return tb.as_table(frame.mask(gone), kinds={v.name: "continuous" for v in net.variables if v.is_continuous})


class TestExpectedStatistics:
    @pytest.mark.parametrize("seed", range(12))
    def test_against_enumeration(self, seed):
        rng = np.random.default_rng(seed)
        cpts = random_hybrid_network(rng, most_categories=3, most_numbers=3)
        net = tb.BayesianNetwork.from_tables(cpts)
        hybrid = Engine(cpts)
        if not hybrid.part.numbers:
            return
        table = holed(net, 6, 0.4, seed)
        weights = rng.uniform(0.5, 2.0, table.n_rows)
        rows = IncompleteMixedRows(hybrid, read_rows(hybrid, table), weights)
        found = rows.expected(hybrid)
        oracle = HybridEnumeration(cpts)
        evidence = [{k: v for k, v in row.items() if v is not None} for row in table.to_arrow().to_pylist()]
        total = sum(w * oracle.log_density(e) for w, e in zip(weights, evidence, strict=True))
        np.testing.assert_allclose(found.log_likelihood, total, rtol=1e-9)
        for v, cpt in enumerate(cpts):
            if cpt.variable.is_categorical:
                self.check_counts(oracle, net, cpt, evidence, weights, found.counts[v])
            elif v in found.moments:
                self.check_moments(oracle, net, cpt, evidence, weights, found.moments[v])

    def check_counts(self, oracle, net, cpt, evidence, weights, found):
        expected = np.zeros(cpt.shape)
        for w, e in zip(weights, evidence, strict=True):
            if is_informed(net, cpt.variable.name, e):
                names = [*(p.name for p in cpt.parents), cpt.variable.name]
                expected += w * oracle.posterior(names, e)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)

    def check_moments(self, oracle, net, cpt, evidence, weights, found):
        names = [*(p.name for p in cpt.continuous_parents), cpt.variable.name]
        places, k = [oracle.numbers.index(n) for n in names], len(names)
        n, first, second = np.zeros(cpt.shape), np.zeros((*cpt.shape, k)), np.zeros((*cpt.shape, k, k))
        for w, e in zip(weights, evidence, strict=True):
            if not is_informed(net, cpt.variable.name, e):
                continue
            for states, log_weight, mean, cov in oracle.worlds(e):
                j = tuple(p.code(states[p.name]) for p in cpt.discrete_parents)
                share = w * np.exp(log_weight - oracle.log_density(e))
                m = mean[places]
                n[j] += share
                first[j] += share * m
                second[j] += share * (np.outer(m, m) + cov[np.ix_(places, places)])
        np.testing.assert_allclose(found.count, n.ravel(), rtol=1e-8, atol=1e-12)
        again = found.products + found.count[:, None, None] * found.mean[:, :, None] * found.mean[:, None, :]
        np.testing.assert_allclose(found.count[:, None] * found.mean, first.reshape(-1, k), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(again, second.reshape(-1, k, k), rtol=1e-7, atol=1e-7)


def is_informed(net: tb.BayesianNetwork, name: str, evidence: dict) -> bool:
    """Return whether a variable or one below it is known."""
    return name in evidence or any(is_informed(net, child, evidence) for child in net.dag.children(name))


class TestEM:
    @pytest.mark.parametrize("seed", range(6))
    def test_the_objective_never_falls(self, seed):
        rng = np.random.default_rng(seed)
        cpts = random_hybrid_network(rng, most_categories=3, most_numbers=3)
        net = tb.BayesianNetwork.from_tables(cpts)
        if not any(v.is_continuous for v in net.variables):
            return
        table = holed(net, 60, 0.3, seed)
        empty = [n for n, m in table.missing.items() if m == table.n_rows]
        if empty:
            return
        fit = tb.EM(tolerance=1e-8, max_iterations=400).fit(net, table)
        steps = np.diff([step.objective for step in fit.trace])
        assert (steps >= -1e-9 * abs(fit.trace[-1].objective)).all()
        np.testing.assert_allclose(fit.log_likelihood, fit.network.log_likelihood(table).sum(), rtol=1e-9)

    def test_without_holes_it_is_regression(self):
        data = tb.as_table(regression_data(400))
        dag = tb.DAG(["g", "x", "y", "z"], [("g", "y"), ("x", "y"), ("z", "y")])
        fit = tb.EM().fit(dag, data, "mle")
        exact = tb.fit_parameters(dag, data, "mle")
        np.testing.assert_allclose(fit.network.cpt("y").coefficients, exact.cpt("y").coefficients, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(fit.network.cpt("y").variances, exact.cpt("y").variances, rtol=1e-2)

    def test_a_hidden_class_is_a_mixture_of_gaussians(self):
        from sklearn.mixture import GaussianMixture

        rng = np.random.default_rng(0)
        k = rng.integers(0, 3, 900)
        x = np.column_stack([rng.normal(np.array([0, 4, 8])[k], 1.0), rng.normal(np.array([0, 6, 0])[k], 1.5)])
        dag = tb.DAG(["k", "a", "b"], [("k", "a"), ("k", "b")])
        fit = tb.EM(tolerance=1e-9).fit(dag, {"a": x[:, 0], "b": x[:, 1]}, "mle", hidden={"k": 3}, random_state=0)
        other = GaussianMixture(3, covariance_type="diag", tol=1e-9, max_iter=1000, n_init=5, random_state=0).fit(x)
        np.testing.assert_allclose(fit.log_likelihood, 900 * other.score(x), rtol=1e-5)
        order, theirs = np.argsort(fit.network.cpt("a").intercepts), np.argsort(other.means_[:, 0])
        np.testing.assert_allclose(fit.network.cpt("a").intercepts[order], other.means_[theirs, 0], atol=0.02)
        assert fit.converged

    def test_holes_missing_at_random_do_not_bias(self):
        rng = np.random.default_rng(3)
        x = rng.normal(size=20_000)
        y = x + rng.normal(size=20_000)
        seen = np.where(x > 0, np.nan, y)  # the larger x, the less is known of y
        net = tb.fit_parameters(tb.DAG(["y", "x"], [("y", "x")]), {"x": x, "y": seen})
        assert abs(net.posterior("y").mean) < 0.06
        available = tb.fit_parameters(tb.DAG(["y", "x"], [("y", "x")]), {"x": x, "y": seen}, missing="available")
        assert abs(available.posterior("y").mean) > 0.5

    def test_equal_seeds_give_equal_networks(self):
        data = {"a": np.random.default_rng(0).normal(size=50)}
        dag = tb.DAG(arcs=[("k", "a")])
        one, two = (
            tb.EM(max_iterations=30, tolerance=1e-3).fit(dag, data, hidden={"k": 2}, random_state=7, n_jobs=n).network
            for n in (1, 2)
        )
        assert one == two

    def test_a_warm_start_goes_on(self):
        data = {"a": np.random.default_rng(0).normal(size=80)}
        dag = tb.DAG(arcs=[("k", "a")])
        fit = tb.EM(tolerance=1e-4).fit(dag, data, hidden={"k": 2}, random_state=0)
        again = tb.EM(tolerance=1e-4).fit(dag, data, hidden={"k": 2}, start=fit.network)
        assert again.trace[0].objective == pytest.approx(fit.trace[-1].objective)
        with pytest.raises(DataError, match="start must be a network with the graph's nodes"):
            tb.EM().fit(dag, data, hidden={"k": 2}, start=tb.example_network("asia"))
        with pytest.raises(DataError, match="start must have the parents and states"):
            tb.EM().fit(dag, data, hidden={"k": 3}, start=fit.network)

    def test_it_warns_where_it_has_not_settled(self):
        data = {"a": np.random.default_rng(0).normal(size=80)}
        with pytest.warns(tb.ConvergenceWarning, match="EM did not converge in 3 iterations"):
            tb.EM(max_iterations=3, tolerance=0).fit(tb.DAG(arcs=[("k", "a")]), data, hidden={"k": 2}, random_state=0)

    def test_a_number_that_was_never_seen(self):
        data = tb.as_table({"a": [1.0, 2.0], "b": [None, None]}, kinds="continuous")
        with pytest.raises(DataError, match="a continuous variable must have values; 'b' holds only missing"):
            tb.fit_parameters(tb.DAG(arcs=[("a", "b")]), data)

    def test_variances_do_not_collapse(self):
        data = tb.as_table({"a": np.array([0.0] * 5 + [1.0] * 5)})
        fit = tb.EM().fit(tb.DAG(arcs=[("k", "a")]), data, hidden={"k": 2}, random_state=0)
        assert (fit.network.cpt("a").variances > 0.01).all()

    def test_where_rows_begin(self):
        data = tb.as_table({"a": [0.0, 0.1, 9.0, 9.1]}, kinds="continuous")
        graph = tb.DAG(arcs=[("k", "a")])
        from tunbridge.learning.missing.fitting import graph_and_table

        _, table = graph_and_table(graph, data, {"k": 2})
        problem = MixedProblem(graph, table, as_prior("mle"))
        starts = problem.starts(None, 20, np.random.default_rng(0))
        assert len(starts) == 21
        spread = [abs(cpts[1].intercepts[0] - cpts[1].intercepts[1]) for cpts in starts]
        assert max(spread) > 5.0

    @pytest.mark.filterwarnings("ignore:column 'x' has missing values and only the numbers")
    @pytest.mark.parametrize("value", [0.0, 3.0, 1e9])
    def test_a_constant_with_holes_does_not_oscillate(self, value):
        rng = np.random.default_rng(0)
        x = np.where(rng.random(200) < 0.3, np.nan, value)
        c = [None if hole else state for hole, state in zip(rng.random(200) < 0.25, "ab" * 100, strict=True)]
        dag = tb.DAG(arcs=[("c", "x"), ("x", "y"), ("c", "y")])
        table = tb.as_table({"c": c, "x": x, "y": rng.normal(size=200)}, kinds={"x": "continuous"})
        fit = tb.EM().fit(dag, table)
        assert fit.converged
        assert (np.diff([step.objective for step in fit.trace]) >= 0.0).all()
        np.testing.assert_allclose(fit.network.cpt("x").variances, 1e-10 * (value**2 or 1.0), rtol=1e-12)

    @pytest.mark.parametrize("offset", [0.0, 1e9])
    def test_collinear_parents_with_holes(self, offset):
        rng = np.random.default_rng(0)
        x = rng.normal(size=200)
        data = {"x": np.where(rng.random(200) < 0.3, np.nan, x), "z": 2 * x + offset, "y": x + rng.normal(size=200)}
        fit = tb.EM().fit(tb.DAG(arcs=[("x", "y"), ("z", "y"), ("x", "z")]), data)
        assert (np.diff([step.objective for step in fit.trace]) >= 0.0).all()
        np.testing.assert_allclose(fit.network.cpt("z").coefficients, [2.0], rtol=1e-4)

    def test_values_exactly_on_a_line_with_holes(self):
        i, b = [1, 2, 3, None] * 10, [True, False, None, True] * 10
        data = tb.as_table({"b": b, "i": i, "x": [1.5, None, 2.5, None] * 10}, kinds={"i": "continuous"})
        fit = tb.EM().fit(tb.DAG(arcs=[("b", "x"), ("i", "x")]), data)
        assert (np.diff([step.objective for step in fit.trace]) >= 0.0).all()
        assert np.isfinite(fit.log_likelihood)

    def test_leaps_end_where_plain_iterations_do(self):
        net = tb.BayesianNetwork.from_tables(random_hybrid_network(np.random.default_rng(5)))
        table = holed(net, 300, 0.5, 1)
        plain, leaping = (tb.EM(tolerance=1e-8, accelerate=a).fit(net, table, "mle") for a in (False, True))
        np.testing.assert_allclose(leaping.trace[-1].objective, plain.trace[-1].objective, rtol=1e-5)
        assert leaping.n_iterations < plain.n_iterations
        assert (np.diff([step.objective for step in leaping.trace]) >= 0.0).all()
        for cpt in leaping.network.cpts.values():
            assert cpt.counts is not None

    @pytest.mark.parametrize("scale", [1e-12, 1e12, 1e149])
    def test_units_do_not_matter(self, scale):
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.normal(0.0, 1.0, 60), rng.normal(5.0, 1.0, 60)])
        y = np.where(rng.random(120) < 0.3, np.nan, x + rng.normal(size=120))
        dag = tb.DAG(arcs=[("k", "x"), ("k", "y"), ("x", "y")])
        one, other = (tb.EM().fit(dag, {"x": s * x, "y": s * y}, hidden={"k": 2}, random_state=0) for s in (1.0, scale))
        n_numbers = 120 + np.isfinite(y).sum()
        np.testing.assert_allclose(other.log_likelihood + n_numbers * np.log(scale), one.log_likelihood, rtol=1e-6)
        np.testing.assert_allclose(
            other.network.cpt("y").coefficients, one.network.cpt("y").coefficients, rtol=1e-4, atol=1e-6
        )

    def test_a_leap_that_is_the_last_step_carries_its_moments(self):
        data = {"a": np.random.default_rng(0).normal(size=80)}
        dag = tb.DAG(arcs=[("k", "a")])
        for n in range(2, 6):
            with pytest.warns(tb.ConvergenceWarning):
                fit = tb.EM(max_iterations=n, tolerance=0, restarts=0).fit(dag, data, hidden={"k": 2}, random_state=0)
            assert fit.n_iterations == n
            np.testing.assert_allclose(fit.network.cpt("a").counts.sum(), 82.0, rtol=1e-9)

    def test_a_start_without_noise_or_without_a_row(self):
        data = tb.as_table({"c": ["a", "b", None, "a"], "x": [1.0, 2.0, 3.0, None]}, kinds={"x": "continuous"})
        dag = tb.DAG(arcs=[("c", "x")])
        c, x = tb.Variable("c", ["a", "b"]), tb.Variable("x")
        line = tb.LinearGaussian(x, [c], [1.0, 2.0], variances=0.0)
        fit = tb.EM().fit(dag, data, start=tb.BayesianNetwork.from_tables([tb.CPT(c, [], [0.5, 0.5]), line]))
        assert (fit.network.cpt("x").variances > 0.0).all()
        noisy = tb.LinearGaussian(x, [c], [1.0, 2.0], variances=1.0)
        with pytest.raises(DataError, match="start must give every row a positive probability; row 2 has none"):
            tb.EM().fit(dag, data, start=tb.BayesianNetwork.from_tables([tb.CPT(c, [], [1.0, 0.0]), noisy]))

    def test_many_known_categories_behind_unknown_numbers(self):
        """Only the configurations that occur are solved: all of them would not fit into any memory."""
        rng, n = np.random.default_rng(0), 30
        codes = rng.integers(0, 3, (45, 40))
        data = {f"d{i}": [f"s{k}" for k in codes[i]] for i in range(45)}
        values = np.cumsum(codes + rng.normal(size=codes.shape), axis=0)
        arcs = [(f"d{i}", f"x{i}") for i in range(45)] + [(f"x{i}", f"x{i + 1}") for i in range(44)]
        data |= {f"x{i}": np.where((np.arange(40) < n) & (i < 44), values[i], np.nan) for i in range(45)}
        data["x44"] = values[44]
        fit = tb.EM(tolerance=1e-3).fit(tb.DAG(arcs=arcs), data)
        assert np.isfinite(fit.log_likelihood)
        likelihoods = fit.network.log_likelihood(data)
        np.testing.assert_allclose(likelihoods.sum(), fit.log_likelihood, rtol=1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_patterns_put_together_change_nothing(self, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        cpts = random_hybrid_network(rng, zeros=0.2)
        net, hybrid = tb.BayesianNetwork.from_tables(cpts), Engine(cpts)
        if not hybrid.part.numbers:
            return
        rows = read_rows(hybrid, holed(net, 40, 0.4, seed))
        found = []
        for few in (0, 64):
            monkeypatch.setattr(hybrid_rows, "_FEW_ROWS", few)
            found.append(IncompleteMixedRows(hybrid, rows).expected(hybrid))
        apart, together = found
        np.testing.assert_allclose(together.log_likelihood, apart.log_likelihood, rtol=1e-12)
        for v, counts in apart.counts.items():
            np.testing.assert_allclose(together.counts[v], counts, rtol=1e-9, atol=1e-12)
        for v, moments in apart.moments.items():
            for a, b in zip(moments.arrays, together.moments[v].arrays, strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-9)


class TestNetworks:
    def test_numbers_with_holes_need_no_score(self):
        data = tb.as_table(regression_data(400))
        frame = data.to_pandas().mask(np.random.default_rng(0).random((400, 4)) < 0.1)
        net = tb.learn_network(frame)
        assert set(net.dag.arcs) == set(tb.learn_structure(frame, "nal").arcs)
        assert net == tb.learn_network(frame, "nal")
        assert tb.learn_network(data) == tb.learn_network(data, "bic")
        with pytest.raises(DataError, match="score must be 'nal' if a table with continuous columns has missing"):
            tb.learn_network(frame, "bic")

    def test_no_rows(self):
        empty = tb.as_table({"c": ["a", "b"], "x": [1.0, 2.5]}).take(np.zeros(2, bool))
        with pytest.raises(DataError, match="every column must have a value; 'x' holds only missing values"):
            tb.fit_parameters(tb.DAG(arcs=[("c", "x")]), empty)
