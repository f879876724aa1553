"""EM: worked results, its limits where these are known, and what it says to bad input."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import tunbridge as tb
from tunbridge.inference.expectations import ExpectedCounts, IncompleteRows
from tunbridge.inference.flat import flatten

NAIVE = tb.DAG(["Y", "X1", "X2", "X3", "X4"], [("Y", f"X{i}") for i in range(1, 5)])
LABELS = ["1", "0", "0", None, None]
COLUMNS = {"X1": "00000", "X2": "01011", "X3": "10110", "X4": "10001"}
BINARY = {name: ["0", "1"] for name in ["Y", *COLUMNS]}


def unlabelled_rows() -> tb.Table:
    frame = {"Y": LABELS, **{name: list(column) for name, column in COLUMNS.items()}}
    table, _ = tb.data.encode(frame, [tb.Variable(name, states) for name, states in BINARY.items()])
    return table


def started() -> tb.BayesianNetwork:
    """Return the network that the three labelled rows give under Laplace's rule."""
    return tb.fit_parameters(NAIVE, unlabelled_rows(), 1.0, missing="complete")


def test_one_step_on_unlabelled_rows_by_hand() -> None:
    start = started()
    prior = {y: start.cpt("Y").distribution()[y] for y in "01"}
    likelihood = {n: {y: start.cpt(n).distribution({"Y": y})["1"] for y in "01"} for n in COLUMNS}
    assert prior["1"] == pytest.approx(2 / 5)  # (1 + 1) / (3 + 2)
    assert likelihood["X2"]["0"] == pytest.approx(2 / 4)  # (1 + 1) / (2 + 2)
    share = []  # P(Y = 1 | row) of every row
    for i, label in enumerate(LABELS):
        joint = {y: prior[y] for y in "01"}
        for n, column in COLUMNS.items():
            for y in "01":
                joint[y] *= likelihood[n][y] if column[i] == "1" else 1.0 - likelihood[n][y]
        share.append(float(label) if label else joint["1"] / (joint["0"] + joint["1"]))
    with pytest.warns(tb.ConvergenceWarning, match="did not converge in 1 iteration: the last"):
        fit = tb.EM(max_iterations=1, accelerate=False).fit(NAIVE, unlabelled_rows(), "mle", start=start)
    assert fit.network.cpt("Y").distribution()["1"] == pytest.approx(sum(share) / 5, rel=1e-12)
    for n, column in COLUMNS.items():
        expected = sum(s for s, x in zip(share, column, strict=True) if x == "1") / sum(share)
        assert fit.network.cpt(n).distribution({"Y": "1"})["1"] == pytest.approx(expected, rel=1e-12)


def test_the_likelihood_of_unlabelled_rows_never_falls() -> None:
    fit = tb.EM(tolerance=0.0, max_iterations=40).fit(NAIVE, unlabelled_rows(), 0.5, start=started())
    objectives = [step.objective for step in fit.trace]
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(objectives))
    assert objectives[-1] > objectives[0]


def test_expected_counts_of_a_hidden_cause_equal_enumeration() -> None:
    """F, A → S → H, N with S never seen: sinus trouble between flu, allergy, headache and nose."""
    arcs = [("F", "S"), ("A", "S"), ("S", "H"), ("S", "N")]
    rng = np.random.default_rng(3)
    tables = {n: rng.dirichlet(np.ones(2), (2,) * sum(b == n for _, b in arcs)) for n in "FASHN"}
    net = tb.BayesianNetwork({n: ["no", "yes"] for n in "FASHN"}, arcs, tables)
    rows = rng.integers(0, 2, (5, 30))
    rows[2] = -1
    flat = flatten(list(net.cpts.values()))
    found = IncompleteRows(flat, rows).expected_counts(flat.tables)
    expected = np.zeros((2, 2, 2))
    for f, a, _, h, n in rows.T:
        joint = tables["S"][f, a] * tables["H"][:, h] * tables["N"][:, n]
        expected[f, a] += joint / joint.sum()
    np.testing.assert_allclose(found.counts[flat.table_start[2] : flat.table_start[3]], expected.ravel(), rtol=1e-12)


def test_nothing_missing_is_counting() -> None:
    table = tb.datasets.play_tennis()
    dag = tb.DAG(table.names, [("outlook", "play"), ("wind", "play"), ("outlook", "humidity")])
    for prior in ("mle", 1.0, tb.MEstimate(m=2, p="marginal")):
        fit = tb.EM().fit(dag, table, prior)
        counted = tb.fit_parameters(dag, table, prior, missing="available")
        for name in dag.nodes:
            np.testing.assert_allclose(fit.network.cpt(name).table(), counted.cpt(name).table(), rtol=1e-14)
            np.testing.assert_allclose(fit.network.cpt(name).counts, counted.cpt(name).counts, rtol=1e-14)
        assert fit.n_iterations <= 3
        assert fit.converged


@pytest.mark.parametrize("prior", ["mle", 0.7])
def test_the_optimum_is_that_of_brute_force(prior: str | float) -> None:
    """Maximise the observed-data likelihood of a tiny network directly, from many starts."""
    rng = np.random.default_rng(0)
    frame = {n: np.where(rng.random(40) < 0.3, None, rng.choice(["a", "b"], 40)) for n in "xyz"}
    frame["z"] = np.where(rng.random(40) < 0.8, frame["y"], frame["z"])
    dag = tb.DAG(list("xyz"), [("x", "y"), ("y", "z")])
    fit = tb.EM(tolerance=1e-12, max_iterations=5000).fit(dag, frame, prior)
    codes = np.array([[{"a": 0, "b": 1, None: -1}[s] for s in frame[n]] for n in "xyz"])
    pseudo = 0.0 if prior == "mle" else float(prior)

    def loss(eta: np.ndarray) -> float:
        p = 1.0 / (1.0 + np.exp(-eta))
        x, y, z = np.array([1 - p[0], p[0]]), np.array([1 - p[1:3], p[1:3]]).T, np.array([1 - p[3:], p[3:]]).T
        joint = x[:, None, None] * y[:, :, None] * z[None]
        total = 0.0
        for row in codes.T:
            total += np.log(joint[tuple(slice(None) if s < 0 else s for s in row)].sum())
        return -total - pseudo * sum(np.log(t).sum() for t in (x, y, z))

    best = min((minimize(loss, rng.normal(size=5)) for _ in range(8)), key=lambda found: found.fun)
    assert fit.trace[-1].objective == pytest.approx(-best.fun, abs=1e-6)  # the accuracy of its numerical gradient


def test_states_that_the_data_lack_are_kept() -> None:
    variables = [tb.Variable("a", ["x", "y", "never"]), tb.Variable("b", ["u", "v"])]
    table, _ = tb.data.encode({"a": ["x", "y", None, "x"], "b": ["u", None, "v", "v"]}, variables)
    net = tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), table)
    assert 0.0 < net.cpt("a").distribution()["never"] < 0.1
    assert net.cpt("b").rows([[2]])[0, 0] == pytest.approx(0.5, abs=0.05)  # the prior's, but for the row with a hole


def test_a_network_gives_its_states() -> None:
    net = tb.example_network("asia")
    frame = {name: ["no", None] for name in net.nodes}
    found = tb.fit_parameters(net, frame)
    assert found.cpt("xray").variable == net.cpt("xray").variable
    with pytest.raises(tb.DataError, match=r"the states of 'smoke' must be those of the network; got 'Yes'\. Did you"):
        tb.fit_parameters(net, frame | {"smoke": ["Yes", "no"]})


def test_rows_that_are_all_missing_change_nothing() -> None:
    frame = {"a": ["x", "y", "x", None], "b": ["u", "v", None, "u"]}
    dag = tb.DAG(["a", "b"], [("a", "b")])
    more = {name: [*column, None, None] for name, column in frame.items()}
    one, other = tb.EM().fit(dag, frame), tb.EM().fit(dag, more)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-4)  # the tolerance is for each row


def test_weights_are_replication() -> None:
    rng = np.random.default_rng(1)
    frame = {n: np.where(rng.random(30) < 0.3, None, rng.choice(["a", "b", "c"], 30)) for n in "xy"}
    table = tb.as_table(frame)
    weights = rng.integers(0, 4, 30)
    dag = tb.DAG(["x", "y"], [("x", "y")])
    one = tb.fit_parameters(dag, table.with_weights(weights.astype(float)))
    other = tb.fit_parameters(dag, table.take(np.repeat(np.arange(30), weights)))
    np.testing.assert_allclose(one.cpt("y").table(), other.cpt("y").table(), rtol=1e-9)


def test_a_warm_start_is_soon_done_and_the_threads_do_not_matter() -> None:
    net = tb.example_network("asia")
    rows = net.sample(2000, random_state=1).to_pandas()
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.3)
    cold = tb.EM(tolerance=1e-8).fit(net.dag, rows, n_jobs=1)
    again = tb.EM(tolerance=1e-8).fit(net.dag, rows, n_jobs=2)
    assert cold.network == again.network
    warm = tb.EM(tolerance=1e-8).fit(net.dag, rows, start=cold.network)
    assert warm.n_iterations < cold.n_iterations
    assert warm.log_likelihood == pytest.approx(cold.log_likelihood, abs=1e-3)
    assert cold.log_likelihood == pytest.approx(cold.network.log_likelihood(rows).sum(), rel=1e-12)


def test_acceleration_finds_the_same_in_fewer_iterations() -> None:
    net = tb.example_network("asia")
    rows = net.sample(500, random_state=1).to_pandas()
    rows = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.6)
    plain, fast = (tb.EM(tolerance=1e-8, accelerate=a).fit(net.dag, rows) for a in (False, True))
    assert fast.n_iterations < plain.n_iterations
    assert fast.trace[-1].objective >= plain.trace[-1].objective - 1e-3


# Hidden variables


def kinds(n: int = 3000) -> tuple[tb.BayesianNetwork, tb.Table]:
    net = tb.BayesianNetwork(
        {"kind": ["a", "b"], **{name: ["no", "yes"] for name in "wxyz"}},
        [("kind", name) for name in "wxyz"],
        {"kind": [0.35, 0.65], **{name: [[0.9, 0.1], [0.2, 0.8]] for name in "wxyz"}},
    )
    return net, net.sample(n, random_state=0).drop(["kind"])


def test_a_hidden_class_is_found() -> None:
    net, rows = kinds()
    fit = tb.EM().fit(net.dag, rows, hidden={"kind": 2}, random_state=0)
    shares = sorted(fit.network.cpt("kind").distribution().values())
    assert shares[0] == pytest.approx(0.35, abs=0.04)  # four standard errors of 3 000 rows
    assert fit.log_likelihood >= net.log_likelihood(rows).sum()
    again = tb.fit_parameters(net.dag, rows, hidden={"kind": 2}, random_state=0)
    assert again == fit.network
    named = tb.fit_parameters(net.dag, rows, hidden={"kind": ["a", "b"]}, random_state=0)
    assert named.cpt("kind").variable.states == ("a", "b")


def test_the_number_of_hidden_states_by_bic() -> None:
    net, rows = kinds()
    choice = tb.choose_states(net.dag, rows, "kind", [3, 1, 2], random_state=0)
    assert choice.n_states == 2
    assert list(choice.fits) == [1, 2, 3]
    assert choice.network is choice.fits[2].network
    assert choice.best.bic == max(fit.bic for fit in choice.fits.values())
    by_hand = choice.best.log_likelihood - 0.5 * np.log(3000) * 9
    assert choice.best.bic == pytest.approx(by_hand)
    assert "*" in repr(choice)
    assert "BIC" in choice._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden": {"kind": 0}}, "number of states of hidden 'kind' must be"),
        ({"hidden": {"kinds": 2}}, "hidden must name nodes of the graph; got 'kinds'. Did you mean 'kind'"),
        ({"hidden": {"kind": 2, "x": 2}}, "a hidden variable must have no observed values; 'x' has"),
        ({"hidden": 2}, "hidden must be a dict"),
        ({"hidden": {"kind": []}}, "the states of hidden 'kind' must be a number or a list; got"),
        ({"hidden": {"kind": None}}, "the states of hidden 'kind' must be a number or a list; got None"),
        ({"hidden": {"kind": {"a": 1}}}, "the states of hidden 'kind' must be a number or a list"),
        ({}, r"must be columns of the table; got none for 'kind'\. .* as in hidden=\{'kind': 2\}"),
        (
            {"hidden": {"kind": 2}, "missing": "drop"},
            "missing must be one of 'em', 'gradient', 'available'",
        ),
        ({"hidden": {"kind": 2}, "missing": tb.EM}, r"missing must be an object; got the class EM\. Write tb\.EM\(\)"),
        ({"hidden": {"kind": 2}, "missing": "complete"}, "missing='complete' must leave rows to count"),
        (
            {"hidden": {"kind": 2}, "missing": "available"},
            "'available' must have values to count; 'kind' is never",
        ),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    net, rows = kinds(50)
    with pytest.raises(tb.DataError, match=message):
        tb.fit_parameters(net.dag, rows, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": 3}, "candidates must be numbers of states"),
        ({"candidates": []}, "candidates must have a number"),
        ({"candidates": [0]}, "a number of states must be"),
        ({"hidden": {"kind": 2}}, "hidden must not name the variable"),
        ({"fitter": "em"}, "fitter must be an object such as tb.EM"),
    ],
)
def test_bad_choices(arguments: dict[str, object], message: str) -> None:
    net, rows = kinds(50)
    with pytest.raises(tb.DataError, match=message):
        tb.choose_states(net.dag, rows, "kind", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1}, "tolerance of EM must be"),
        ({"max_iterations": 0}, "max_iterations of EM must be"),
        ({"restarts": -1}, "restarts of EM must be"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(tb.DataError, match=message):
        tb.EM(**options)  # type: ignore[arg-type]


def test_a_start_that_makes_rows_impossible_is_named() -> None:
    dag = tb.DAG(["a", "b"], [("a", "b")])
    start = tb.BayesianNetwork({"a": ["x", "y"], "b": ["u", "v"]}, dag, {"a": [1, 0], "b": [[0.5, 0.5], [0.5, 0.5]]})
    frame = {"a": ["x", "x", "y", None], "b": ["u", None, "v", "v"]}
    with pytest.raises(tb.DataError, match="start must give every row a positive probability; row 3 has none"):
        tb.EM().fit(dag, frame, "mle", start=start)
    assert tb.EM().fit(dag, frame, start=start).network.cpt("a").distribution()["y"] > 0.1  # which the prior allows
    with pytest.raises(tb.DataError, match="start must be a BayesianNetwork; got DAG"):
        tb.EM().fit(dag, frame, start=dag)  # type: ignore[arg-type]
    with pytest.raises(tb.DataError, match="start must have the graph's nodes as its variables; 'c' differ"):
        tb.EM().fit(dag, frame, start=net_of("abc"))
    with pytest.raises(tb.DataError, match="start must give 'b' the graph's parents, 'a'; got CPT"):
        tb.EM().fit(dag, frame, start=net_of("ab", "xy", "uv"))
    with pytest.raises(
        tb.DataError, match="start must have the states of 'a' that the data have, 'x', 'y'; got 'u', 'v'"
    ):
        tb.EM().fit(tb.DAG(["a", "b"]), frame, start=net_of("ab"))


def net_of(names: str, *states: str) -> tb.BayesianNetwork:
    """Return a network without arcs."""
    known = dict(zip(names, states, strict=False))
    return tb.BayesianNetwork({n: list(known.get(n, "uv")) for n in names}, [], {n: [0.5, 0.5] for n in names})


def test_a_start_may_have_its_states_and_parents_in_another_order() -> None:
    rng = np.random.default_rng(2)
    frame = {n: np.where(rng.random(60) < 0.2, None, rng.choice(["a", "b"], 60)) for n in "xyz"}
    dag = tb.DAG(list("xyz"), [("x", "z"), ("y", "z")])
    cold = tb.EM(tolerance=1e-10).fit(dag, frame)
    z = cold.network.cpt("z").table()
    turned = tb.BayesianNetwork(
        {n: ["b", "a"] for n in "xyz"},
        [("y", "z"), ("x", "z")],
        {n: cold.network.cpt(n).table()[::-1] for n in "xy"} | {"z": z[::-1, ::-1, ::-1].transpose(1, 0, 2)},
    )
    warm = tb.EM().fit(dag, frame, start=turned)
    assert warm.trace[0].log_likelihood == pytest.approx(cold.log_likelihood, rel=1e-10)
    assert warm.n_iterations == 1


def test_variables_that_are_never_seen_together_do_not_stay_on_a_saddle() -> None:
    """A class shown in half of the rows and its features in the others: uniform tables are no place to begin."""
    net, _ = kinds()
    rows = net.sample(2000, random_state=1).to_pandas().astype(object)
    rows.loc[:999, "kind"] = None
    rows.loc[1000:, list("wxyz")] = None
    plain = tb.EM().fit(net.dag, rows, random_state=0)
    assert plain.log_likelihood >= net.log_likelihood(rows).sum() - 1.0
    labelled = tb.as_table(net.sample(500, random_state=1)).with_weights(np.repeat([0.0, 1.0], [250, 250]))
    hidden = labelled.to_pandas().astype(object)
    hidden.loc[250:, "kind"] = None  # its labels stand in rows without weight only
    found = tb.EM().fit(net.dag, tb.as_table(hidden).with_weights(labelled.weights), random_state=0)
    assert abs(np.diff(found.network.cpt("w").table()[:, 0])[0]) > 0.3


@pytest.mark.parametrize("prior", ["bds", "backoff", tb.MEstimate(m=5, p="marginal"), tb.Dirichlet(2.0), "bdeu"])
def test_every_prior_with_a_hidden_variable(prior: object) -> None:
    net, rows = kinds(400)
    fit = tb.EM().fit(net.dag, rows, prior, hidden={"kind": 2}, random_state=0)  # type: ignore[arg-type]
    objectives = np.array([step.objective for step in fit.trace])
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:]))
    assert all((cpt.counts > 0).all() for cpt in fit.network.cpts.values() if cpt.counts is not None)


def test_weights_far_apart() -> None:
    table = tb.as_table({"a": ["x", "y", None, "x"], "b": ["u", "v", "v", None]}).with_weights([1e-200, 1, 1, 1e200])
    fit = tb.EM().fit(tb.DAG(["a", "b"], [("a", "b")]), table, "mle")
    assert np.isfinite(fit.log_likelihood)
    assert fit.log_likelihood >= fit.trace[0].log_likelihood


def test_a_step_that_loses_by_rounding_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = IncompleteRows.expected_counts, []

    def lossy(self: IncompleteRows, tables: np.ndarray) -> ExpectedCounts:
        calls.append(tables)
        found = whole(self, tables)
        return found if len(calls) < 3 else ExpectedCounts(found.counts, -np.inf)

    monkeypatch.setattr(IncompleteRows, "expected_counts", lossy)
    with pytest.warns(tb.ConvergenceWarning, match="EM stopped because rounding errors"):
        fit = tb.EM(tolerance=0.0).fit(NAIVE, unlabelled_rows(), 0.5)
    assert not fit.converged
    assert fit.n_iterations == 1
    assert np.isfinite(fit.log_likelihood)


def test_no_rows_and_no_weight() -> None:
    table = tb.as_table({"a": ["x", "y", None], "b": ["u", None, "v"]})
    dag = tb.DAG(["a", "b"], [("a", "b")])
    for nothing in (table.take([]), table.with_weights([0.0, 0.0, 0.0])):
        fit = tb.EM().fit(dag, nothing)
        assert fit.converged
        assert fit.bic == fit.log_likelihood == 0.0
        np.testing.assert_allclose(fit.network.cpt("b").table(), 0.5)


def test_a_column_that_nearly_has_the_name_of_a_variable_is_told() -> None:
    net = tb.example_network("asia")
    frame = {("Smoke" if name == "smoke" else name): ["no", "yes"] for name in net.nodes}
    for column in ("Smoke", "smokes"):
        turned = {(column if name == "Smoke" else name): values for name, values in frame.items()}
        with pytest.warns(tb.TunbridgeWarning, match=f"treated as hidden: 'smoke' \\(the table has '{column}'\\)"):
            tb.fit_parameters(net, turned, random_state=0)


def test_large_families_are_written_out_if_they_fit() -> None:
    rng = np.random.default_rng(0)
    frame = {n: np.char.add("s", rng.integers(0, 30, 200).astype(str)) for n in "abcx"}
    frame["a"] = np.where(rng.random(200) < 0.2, None, frame["a"].astype(object))
    dag = tb.DAG(list("abcx"), [(n, "x") for n in "abc"])
    assert isinstance(tb.fit_parameters(dag, frame, missing="available").cpt("x"), tb.SparseCPT)
    assert isinstance(tb.fit_parameters(dag, frame).cpt("x"), tb.CPT)
    wide = {f"p{i}": np.char.add("s", rng.integers(0, 12, 200).astype(str)) for i in range(12)} | {"x": frame["a"]}
    dag = tb.DAG(list(wide), [(f"p{i}", "x") for i in range(12)])
    with pytest.raises(tb.MemoryForecastError, match="the largest: 'x' given 12 others"):
        tb.fit_parameters(dag, wide)


def test_codes_that_holes_have_made_floats_are_told() -> None:
    frame = {"a": ["x", "y", "x"], "b": np.array([0.0, 1.0, np.nan])}
    with pytest.warns(tb.TunbridgeWarning, match="column 'b' has missing values and only the numbers 0.0, 1.0"):
        tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), frame)
    table = tb.as_table(frame, kinds={"b": "categorical"})
    assert isinstance(tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), table).cpt("b"), tb.CPT)


def test_a_graph_without_nodes() -> None:
    with pytest.raises(tb.DataError, match="dag must have a node"):
        tb.fit_parameters(tb.DAG(), {"a": ["x"]})


def test_a_column_without_a_single_cell_needs_a_number_of_states() -> None:
    frame = {"a": ["x", "y"], "b": [None, None]}
    with pytest.raises(tb.DataError, match=r"'b' holds only missing values\. .* hidden=\{'b': 2\}"):
        tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), frame)
    net = tb.fit_parameters(tb.DAG(["a", "b"], [("a", "b")]), frame, hidden={"b": 2}, random_state=0)
    assert net.cpt("b").variable.n_states == 2


def test_interruption_keeps_the_best_so_far() -> None:
    net, rows = kinds(200)

    def stop(what: str, score: float) -> None:
        if "iteration 4" in what:
            raise KeyboardInterrupt

    fit = tb.EM(restarts=0, tolerance=0.0).fit(net.dag, rows, hidden={"kind": 2}, random_state=0, progress=stop)
    assert fit.note.startswith("interrupted")
    assert not fit.converged
    assert fit.n_iterations == 4


def test_interrupting_a_choice_compares_what_was_finished() -> None:
    net, rows = kinds(200)
    seen: list[str] = []

    def stop(what: str, score: float) -> None:
        seen.append(what)
        if len([w for w in seen if w.startswith("EM, start 1,") and w.endswith("iteration 1")]) == 3:
            raise KeyboardInterrupt

    choice = tb.choose_states(net.dag, rows, "kind", [1, 2, 3], random_state=0, progress=stop)
    assert list(choice.fits) == [1, 2]


@pytest.mark.shared
def test_alarm_with_a_fifth_missing_is_as_good_as_its_cells(shared_data) -> None:
    """The divergence from the truth is that of complete rows with as many cells, within 1.3 times."""
    net = tb.read_network(shared_data / "networks" / "alarm.bif")
    rows = net.sample(20_000, random_state=0).to_pandas()
    holes = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.2)
    by_em = tb.fit_parameters(net.dag, holes)
    as_many = tb.fit_parameters(net.dag, rows.iloc[:16_000])
    assert divergence(net, by_em) <= 1.3 * divergence(net, as_many)
    assert divergence(net, tb.fit_parameters(net.dag, holes, missing="available")) > 1.3 * divergence(net, as_many)


def divergence(truth: tb.BayesianNetwork, found: tb.BayesianNetwork) -> float:
    """Return KL(truth ‖ found) = Σ_v Σ_j P(j) KL of the rows."""
    total = 0.0
    for name in truth.nodes:
        p = truth.cpt(name).table()
        theirs = [v.name for v in found.cpt(name).parents]
        ours = [v.name for v in truth.cpt(name).parents]
        q = found.cpt(name).table().transpose([*map(theirs.index, ours), len(ours)])
        q = q[np.ix_(*([variable_order(found, truth, n) for n in (*ours, name)]))]
        joint = truth.posterior([*ours, name]).probabilities if ours else p
        mask = joint > 0
        total += float((joint[mask] * np.log(p[mask] / q[mask])).sum())
    return total


def variable_order(found: tb.BayesianNetwork, truth: tb.BayesianNetwork, name: str) -> list[int]:
    return [found.cpt(name).variable.code(state) for state in truth.cpt(name).variable.states or ()]
