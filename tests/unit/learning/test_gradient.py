"""Gradient ascent: the optimum of EM, of counting, and of logistic regression; options, ends, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import tunbridge as tb
from oracles.likelihood import em_by_steps
from tunbridge.inference.expectations import ExpectedCounts
from tunbridge.learning.missing.gradient import _Ascent, _ClassifiedRows, _climb_by_lbfgs, _Data, _Objective
from tunbridge.learning.missing.incomplete import DiscreteProblem
from tunbridge.learning.parameters.priors import as_prior

METHODS = ["l-bfgs", "gradient", "stochastic"]
FLU = [34, 6, 2, 8, 16, 24, 0, 10]  # rows of ¬g¬m¬f, ¬g¬mf, ¬gm¬f, ¬gmf, g¬m¬f, g¬mf, gm¬f, gmf
FLU_GRAPH = tb.DAG(arcs=[("flu", "fever"), ("malaria", "fever")])


def flu_rows() -> tb.Table:
    words = {"flu": ["no", "yes"], "malaria": ["no", "yes"], "fever": ["no", "yes"]}
    grid = [(g, m, f) for g in words["flu"] for m in words["malaria"] for f in words["fever"]]
    rows = [row for row, n in zip(grid, FLU, strict=True) for _ in range(n)]
    return tb.as_table(dict(zip(words, zip(*rows, strict=True), strict=True)))


def with_holes(table: tb.Table, share: float, seed: int = 0) -> tb.Table:
    rng = np.random.default_rng(seed)
    columns = []
    for column in table:
        codes = column.values.copy()
        codes[rng.random(table.n_rows) < share] = -1
        columns.append(column._replace(values=codes))
    return tb.Table.of(columns)


@pytest.fixture(scope="module")
def asia() -> tuple[tb.DAG, tb.Table]:
    net = tb.example_network("asia")
    return net.dag, with_holes(net.sample(150, random_state=3), 0.2)


def table_of(net: tb.BayesianNetwork) -> np.ndarray:
    return np.concatenate([net.cpt(node).table().ravel() for node in net.nodes])


# Optima


@pytest.mark.parametrize("method", ["l-bfgs", "gradient"])
def test_complete_rows_give_relative_frequencies(method: Any) -> None:
    fit = tb.GradientAscent(method, tolerance=1e-14, max_iterations=20_000).fit(FLU_GRAPH, flu_rows(), "mle")
    fever = fit.network.cpt("fever").table()
    assert fit.network.cpt("flu").table()[1] == pytest.approx(0.5, abs=1e-6)
    assert fit.network.cpt("malaria").table()[1] == pytest.approx(0.2, abs=1e-6)
    expected = tb.fit_parameters(FLU_GRAPH, flu_rows(), "mle").cpt("fever").table()
    np.testing.assert_allclose(fever, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(sorted(fever[..., 1].ravel()), [0.15, 0.6, 0.8, 1.0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_complete_rows_with_a_prior_give_the_smoothed_frequencies(method: Any) -> None:
    prior = tb.Laplace(1.0)
    fit = tb.GradientAscent(method, tolerance=1e-12, max_iterations=3000).fit(
        FLU_GRAPH, flu_rows(), prior, random_state=0
    )
    expected = tb.fit_parameters(FLU_GRAPH, flu_rows(), prior)
    # Batches show the gradient with noise: the last digits are beyond a stochastic method.
    within = 1e-6 if method != "stochastic" else 1e-3
    np.testing.assert_allclose(table_of(fit.network), table_of(expected), rtol=0, atol=within)


@pytest.mark.parametrize("prior", [1.0, tb.MEstimate(m=1.0)])
def test_same_optimum_as_em(asia: tuple[tb.DAG, tb.Table], prior: Any) -> None:
    dag, table = asia
    fit = tb.GradientAscent(tolerance=1e-12).fit(dag, table, prior)
    problem = DiscreteProblem(dag, table, as_prior(prior))
    plain = em_by_steps(problem, 300)
    np.testing.assert_allclose(
        table_of(fit.network), table_of(problem.network(plain, problem.expected(plain))), rtol=0, atol=1e-4
    )
    em = tb.EM(tolerance=1e-12).fit(dag, table, prior)
    assert fit.trace[-1].objective == pytest.approx(em.trace[-1].objective, rel=1e-9)


def test_same_likelihood_as_em_without_a_prior(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    fit = tb.GradientAscent(tolerance=1e-10).fit(dag, table, "mle")
    em = tb.EM(tolerance=1e-10).fit(dag, table, "mle")
    # Cells whose estimate is zero are approached, not reached: the objective is what can be compared.
    assert fit.log_likelihood == pytest.approx(em.log_likelihood, abs=1e-5)


def test_counts_behind_the_tables_are_those_expected(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    fit = tb.GradientAscent(tolerance=1e-12).fit(dag, table, 1.0)
    for cpt in fit.network.cpts.values():
        assert cpt.counts is not None
        shares = cpt.counts / cpt.counts.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(shares, cpt.table(), rtol=0, atol=1e-4)  # equal at the maximum itself


def test_through_the_door_of_all_fits(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    ascent = tb.GradientAscent(tolerance=1e-8)
    net = tb.fit_parameters(dag, table, 1.0, missing=ascent)
    np.testing.assert_array_equal(table_of(net), table_of(ascent.fit(dag, table, 1.0).network))


def test_a_hidden_variable_is_found() -> None:
    dag = tb.DAG(arcs=[("kind", f"x{i}") for i in range(4)])
    rng = np.random.default_rng(1)
    kind = rng.random(400) < 0.4
    frame = {f"x{i}": np.where(rng.random(400) < np.where(kind, 0.9, 0.1), "yes", "no") for i in range(4)}
    fit = tb.GradientAscent().fit(dag, frame, hidden={"kind": 2}, random_state=0)
    em = tb.EM().fit(dag, frame, hidden={"kind": 2}, random_state=0)
    assert fit.log_likelihood == pytest.approx(em.log_likelihood, abs=0.01)
    assert max(fit.network.cpt("kind").table()) == pytest.approx(1.0 - kind.mean(), abs=0.05)


def test_rows_of_tables_that_nothing_touches_stay_at_the_start() -> None:
    frame = {"sky": ["clear"] * 6, "wind": ["weak", "strong", "weak", None, "weak", None]}
    table = tb.as_table(frame).recode([tb.Variable("sky", ["clear", "dark"]), tb.Variable("wind", ["weak", "strong"])])
    dag = tb.DAG(arcs=[("sky", "wind")])
    start = tb.BayesianNetwork.from_tables(
        [
            tb.CPT(table.variable("sky"), [], [0.6, 0.4]),
            tb.CPT(table.variable("wind"), [table.variable("sky")], [[0.5, 0.5], [0.3, 0.7]]),
        ]
    )
    for method in METHODS:
        fit = tb.GradientAscent(method, tolerance=1e-4).fit(dag, table, "mle", start=start, random_state=0)
        np.testing.assert_allclose(fit.network.cpt("wind").table()[1], [0.3, 0.7], rtol=1e-12, atol=0)
        assert fit.network.cpt("wind").table()[0, 0] == pytest.approx(0.75, abs=0.01)


# The class given the rest


@pytest.fixture(scope="module")
def dependent() -> tuple[tb.DAG, dict[str, np.ndarray]]:
    """Return naive Bayes and rows that are not made for it: columns that repeat each other."""
    rng = np.random.default_rng(5)
    n = 400
    a, b = rng.random(n) < 0.5, rng.random(n) < 0.3
    columns = {"a": a, "again": a ^ (rng.random(n) < 0.1), "b": b, "noise": rng.random(n) < 0.5}
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-(1.5 * a - 2.0 * b)))
    frame = {name: np.where(values, "yes", "no") for name, values in {**columns, "class": y}.items()}
    return tb.DAG(arcs=[("class", name) for name in columns]), frame


def log_loss_of(net: tb.BayesianNetwork, frame: dict[str, np.ndarray]) -> float:
    return float(log_loss(frame["class"], net.predict_proba(frame, "class")))


@pytest.mark.parametrize("method", ["l-bfgs", "gradient"])
def test_naive_bayes_by_its_class_is_logistic_regression(dependent: Any, method: Any) -> None:
    dag, frame = dependent
    fit = tb.GradientAscent(method, target="class", tolerance=1e-9).fit(dag, frame, "mle")
    design = np.column_stack([frame[name] == "yes" for name in frame if name != "class"]).astype(float)
    peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(design, frame["class"])
    expected = log_loss(frame["class"], peer.predict_proba(design))
    assert log_loss_of(fit.network, frame) == pytest.approx(expected, abs=1e-6)
    assert -fit.log_likelihood / 400 == pytest.approx(expected, abs=1e-6)
    predicted = fit.network.predict_proba(frame, "class")
    np.testing.assert_allclose(predicted, peer.predict_proba(design), rtol=0, atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_predicts_the_class_better_than_the_likelihood_of_the_rows(dependent: Any, method: Any) -> None:
    dag, frame = dependent
    by_rows = tb.fit_parameters(dag, frame)
    by_class = tb.GradientAscent(method, target="class", tolerance=1e-5).fit(dag, frame, random_state=0)
    assert log_loss_of(by_class.network, frame) < log_loss_of(by_rows, frame) - 0.005
    assert by_class.network.log_likelihood(frame).sum() < by_rows.log_likelihood(frame).sum()


def test_no_counts_stand_behind_tables_fitted_for_a_class(dependent: Any) -> None:
    dag, frame = dependent
    fit = tb.GradientAscent(target="class").fit(dag, frame)
    assert all(cpt.counts is None for cpt in fit.network.cpts.values())


def test_a_target_counts_also_where_nothing_is_missing(dependent: Any) -> None:
    dag, frame = dependent
    ascent = tb.GradientAscent(target="class")
    net = tb.fit_parameters(dag, frame, missing=ascent)
    np.testing.assert_array_equal(table_of(net), table_of(ascent.fit(dag, frame).network))


def test_rows_without_a_class_tell_nothing(dependent: Any) -> None:
    dag, frame = dependent
    more = {name: np.append(values, [values[0]] * 50).astype(object) for name, values in frame.items()}
    more["class"][-50:] = None
    start = tb.fit_parameters(dag, frame)
    ascent = tb.GradientAscent(target="class", tolerance=1e-10)
    fewer, fit = (ascent.fit(dag, rows, 1.0, start=start) for rows in (frame, more))
    assert fit.n_rows == 400
    assert fit.trace[0].objective == pytest.approx(fewer.trace[0].objective, rel=1e-12)
    assert fit.trace[-1].objective == pytest.approx(fewer.trace[-1].objective, rel=1e-9)


def test_weights_are_as_good_as_repetition(dependent: Any) -> None:
    dag, frame = dependent
    table = tb.as_table(frame).take(slice(60))
    twice = tb.as_table({name: np.tile(values[:60], 2) for name, values in frame.items()})
    ascent = tb.GradientAscent(target="class", tolerance=1e-10)
    weighted = ascent.fit(dag, table.with_weights(np.full(60, 2.0)), 1.0)
    assert weighted.log_likelihood == pytest.approx(ascent.fit(dag, twice, 1.0).log_likelihood, rel=1e-8)
    assert weighted.n_rows == 120


def test_an_impossible_row_has_no_conditional_likelihood() -> None:
    table = tb.as_table({"a": ["x", "y"], "b": ["x", "y"]})
    problem = DiscreteProblem(tb.DAG(["a", "b"]), table, as_prior("mle"))
    rows = _ClassifiedRows(problem.start, problem.rows.codes, target=0)
    found = rows.expected_counts(np.array([0.5, 0.5, 1.0, 0.0]))
    assert found.log_likelihood == -np.inf


# How it goes and how it ends


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("target", [None, "dysp"])
def test_equal_seeds_give_equal_tables(asia: tuple[tb.DAG, tb.Table], method: Any, target: Any) -> None:
    dag, table = asia
    ascent = tb.GradientAscent(method, target=target, max_iterations=4, restarts=1)
    fits = []
    for n_jobs in (1, 2):
        with pytest.warns(tb.ConvergenceWarning, match="did not converge in 4 iterations"):
            fits.append(ascent.fit(dag, table, random_state=7, n_jobs=n_jobs).network)
    np.testing.assert_array_equal(table_of(fits[0]), table_of(fits[1]))


def test_the_seed_matters_to_stochastic_ascent(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    ascent = tb.GradientAscent("stochastic", batch_rows=50, tolerance=1e-2)
    one, other = (ascent.fit(dag, table, random_state=seed).network for seed in (1, 2))
    assert (table_of(one) != table_of(other)).any()


def test_batches_and_step_change_the_way(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    ways = [{}, {"batch_rows": 30}, {"step": 0.02}]
    ends = [
        tb.GradientAscent("stochastic", tolerance=1e-2, **way).fit(dag, table, random_state=0).log_likelihood
        for way in ways
    ]
    assert len(set(ends)) == 3


def test_a_warm_start_is_soon_over(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    cold = tb.GradientAscent(tolerance=1e-8).fit(dag, table)
    warm = tb.GradientAscent(tolerance=1e-8).fit(dag, table, start=cold.network)
    assert warm.n_iterations < cold.n_iterations / 2
    assert warm.trace[0].objective == pytest.approx(cold.trace[-1].objective, rel=1e-12)
    assert warm.trace[-1].objective >= warm.trace[0].objective


def test_trace_ends_at_what_the_network_reaches(asia: tuple[tb.DAG, tb.Table]) -> None:
    dag, table = asia
    for method in METHODS:
        fit = tb.GradientAscent(method, tolerance=1e-3).fit(dag, table, random_state=0)
        assert fit.converged
        assert fit.note == ""
        assert fit.network.log_likelihood(table).sum() == pytest.approx(fit.log_likelihood, rel=1e-9)
        assert [s.seconds for s in fit.trace] == sorted(s.seconds for s in fit.trace)


def test_a_limit_is_told(asia: tuple[tb.DAG, tb.Table]) -> None:
    with pytest.warns(
        tb.ConvergenceWarning,
        match=r"gradient ascent did not converge in 3 iterations: the last raised the objective by [\d.e-]+ per row, "
        r"above the tolerance of 1e-06\. Raise max_iterations or the tolerance\.",
    ):
        fit = tb.GradientAscent(max_iterations=3).fit(*asia)
    assert not fit.converged
    assert fit.n_iterations == 3


def test_progress_is_reported(asia: tuple[tb.DAG, tb.Table]) -> None:
    seen: list[tuple[str, float]] = []
    fit = tb.GradientAscent(tolerance=1e-3).fit(*asia, progress=lambda *what: seen.append(what))
    assert seen[-1] == (f"gradient ascent, iteration {fit.n_iterations}", fit.trace[-1].objective)


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_keeps_the_best_so_far(asia: tuple[tb.DAG, tb.Table], method: Any) -> None:
    def stop(what: str, score: float) -> None:
        if what.endswith(" 4"):
            raise KeyboardInterrupt

    fit = tb.GradientAscent(method, tolerance=0.0).fit(*asia, progress=stop, random_state=0)
    assert fit.note == "interrupted: the best tables so far"
    assert not fit.converged
    assert fit.trace[-1].objective > fit.trace[0].objective
    assert fit.network.log_likelihood(asia[1]).sum() == pytest.approx(fit.log_likelihood, rel=1e-9)


def test_ctrl_c_before_anything_is_found_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Objective, "at", stop)
    with pytest.raises(KeyboardInterrupt):
        tb.GradientAscent().fit(FLU_GRAPH, flu_rows(), 1.0)


def test_a_tolerance_of_zero_ends(asia: tuple[tb.DAG, tb.Table]) -> None:
    for method in ("l-bfgs", "gradient"):
        assert tb.GradientAscent(method, tolerance=0.0, max_iterations=5000).fit(*asia).converged


def test_nothing_to_learn_from_ends_at_once() -> None:
    frame = {"a": ["x", "x", "x"]}
    fit = tb.GradientAscent().fit(tb.DAG(["a"]), frame)
    assert fit.converged
    assert fit.network.cpt("a").table().tolist() == [1.0]


class Cliff:
    """Rows that become impossible beyond a line, and lie in wait for the first step of L-BFGS."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.fallen = rows, 0

    def expected_counts(self, tables: np.ndarray) -> ExpectedCounts:
        found = self.rows.expected_counts(tables)
        if tables[0] > 0.93:
            self.fallen += 1
            return ExpectedCounts(found.counts, -np.inf)
        return found


def test_impossible_points_on_the_way_are_stepped_back_from() -> None:
    table = tb.as_table({"a": ["x"] * 9 + ["y"]})
    problem = DiscreteProblem(tb.DAG(["a"]), table, as_prior("mle"))
    cliff = Cliff(problem.rows)
    climb = _Ascent(_Objective(problem, cliff, np.array([0.05, 0.95])), 1e-12, 0.0, _climb_by_lbfgs)
    climb.go(200, None)
    assert cliff.fallen > 0
    np.testing.assert_allclose(climb.best.tables, [0.9, 0.1], rtol=0, atol=1e-5)


# Starts


def two_tables(zero: float) -> tb.BayesianNetwork:
    a, b = tb.Variable("a", ["x", "y"]), tb.Variable("b", ["x", "y"])
    return tb.BayesianNetwork.from_tables([tb.CPT(a, [], [0.5, 0.5]), tb.CPT(b, [a], [[1.0 - zero, zero], [0.5, 0.5]])])


ROWS = {"a": ["x", "x", "y", None], "b": ["x", "x", "y", "x"]}


def test_zeros_of_a_start_stay_without_a_prior() -> None:
    fit = tb.GradientAscent().fit(two_tables(0.0).dag, ROWS, "mle", start=two_tables(0.0))
    assert fit.network.cpt("b").table()[0].tolist() == [1.0, 0.0]


def test_zeros_of_a_start_give_way_to_a_prior() -> None:
    dag = two_tables(0.0).dag
    fit = tb.GradientAscent(tolerance=1e-12).fit(dag, ROWS, 1.0, start=two_tables(0.0))
    usual = tb.GradientAscent(tolerance=1e-12).fit(dag, ROWS, 1.0)
    np.testing.assert_allclose(table_of(fit.network), table_of(usual.network), rtol=0, atol=1e-5)


def test_a_start_must_be_a_network() -> None:
    with pytest.raises(tb.DataError, match=r"start must be a BayesianNetwork; got DAG\("):
        tb.GradientAscent().fit(FLU_GRAPH, flu_rows(), start=FLU_GRAPH)  # type: ignore[arg-type]


def test_a_start_must_make_every_row_possible() -> None:
    rows = {"a": ["y", "x", "x", None], "b": ["x", "x", "y", "x"]}
    for target in (None, "a"):
        with pytest.raises(tb.DataError, match=r"start must give every row a positive probability; row 3 has none\."):
            tb.GradientAscent(target=target).fit(two_tables(0.0).dag, rows, "mle", start=two_tables(0.0))


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "lbfgs"}, r"method of gradient ascent must be one of 'l-bfgs', 'gradient', 'stochastic'; got "
                              r"'lbfgs'\. Did you mean 'l-bfgs'\?"),
        ({"target": ["a"]}, r"target must name one variable; got \['a'\]\."),
        ({"tolerance": -1}, r"tolerance of gradient ascent must be at least 0; got -1\."),
        ({"max_iterations": 0}, r"max_iterations of gradient ascent must be at least 1; got 0\."),
        ({"restarts": 1.5}, r"restarts of gradient ascent must be an integer, or None; got 1\.5\."),
        ({"batch_rows": 0, "method": "stochastic"}, r"batch_rows must be at least 1; got 0\."),
        ({"step": 0, "method": "stochastic"}, r"step must be greater than 0; got 0\."),
        ({"batch_rows": 10}, r"batch_rows must be used with method='stochastic'; got method='l-bfgs'\. Leave batch_"),
        ({"step": 1.0, "method": "gradient"}, r"step must be used with method='stochastic'; got method='gradient'\."),
    ],
)  # fmt: skip
def test_wrong_options_are_told(options: Any, message: str) -> None:
    with pytest.raises(tb.DataError, match=message):
        tb.GradientAscent(**options)


def test_a_target_must_be_in_the_graph() -> None:
    with pytest.raises(tb.DataError, match=r"target must name a node of the graph; got 'fevr'\. Did you mean 'fever'"):
        tb.GradientAscent(target="fevr").fit(FLU_GRAPH, flu_rows())


def test_a_target_must_be_known_somewhere() -> None:
    message = r"target must be known in some row; 'flu' is missing in all\. Leave target out to maximise"
    frame = {"malaria": ["yes", "no"], "fever": ["no", "yes"]}
    with pytest.raises(tb.DataError, match=message):
        tb.GradientAscent(target="flu").fit(FLU_GRAPH, frame, hidden={"flu": 2})


def test_a_forecast_comes_before_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = DiscreteProblem(FLU_GRAPH, flu_rows(), as_prior(1.0))
    climb = _Ascent(_Objective(problem, problem.rows, problem.start.tables), 0.0, 0.0, _climb_by_lbfgs)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    with pytest.raises(tb.MemoryForecastError, match="the memory of L-BFGS would need"):
        climb.go(3, None)
    data = _Data(problem, None)
    with pytest.raises(tb.MemoryForecastError, match=r"the batches of rows would need .* Raise batch_rows, or use"):
        data.batches(1, np.random.default_rng(0))
