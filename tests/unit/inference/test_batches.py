"""One exact answer for every row: against enumeration, whatever is missing, whichever path a row takes."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pyarrow as pa
import pytest

import tunbridge as tb
from networks import random_network
from oracles.enumeration import Enumeration
from tunbridge.errors import DataError, DataWarning, UnseenStateWarning, ZeroProbabilityWarning
from tunbridge.inference import array_propagation, batches, engine


def random_rows(rng: np.random.Generator, net: tb.BayesianNetwork, n_rows: int, missing: float) -> dict[str, list]:
    """Return columns of random states, impossible combinations among them, of which a share is missing."""
    columns = {}
    for variable in net.variables:
        codes = rng.integers(0, variable.n_states, n_rows)
        gone = rng.random(n_rows) < missing
        columns[variable.name] = [None if g else variable.states[c] for c, g in zip(codes, gone, strict=True)]
    return columns


def expected(net: tb.BayesianNetwork, columns: dict[str, list], row: int, *, without: str | None = None):
    """Return (oracle, evidence, its probability) for a row."""
    oracle = Enumeration(list(net.cpts.values()))
    given = {name: values[row] for name, values in columns.items() if values[row] is not None and name != without}
    return oracle, given, float(oracle.with_evidence(given).sum())


@pytest.mark.parametrize("component", [1, 4, 256], ids=["all by tree", "some by tree", "few by tree"])
@pytest.mark.parametrize("lane_entries", [2**22, 0], ids=["together", "alone"])
def test_rows_equal_enumeration(monkeypatch, component, lane_entries):
    monkeypatch.setattr(batches, "_LARGEST_COMPONENT", component)
    monkeypatch.setattr(engine, "_LANE_ENTRIES", lane_entries)
    n_impossible = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        net = tb.BayesianNetwork.from_tables(random_network(rng, most_variables=7, most_cells=600))
        target = str(rng.choice(net.nodes))
        columns = random_rows(rng, net, 9, float(rng.choice([0.1, 0.5, 0.9])))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            found = net.predict_proba(columns, target)
            everything = net.posteriors(tb.as_table(columns, kinds="categorical"))
        logs = net.log_likelihood(columns)
        for row in range(9):
            oracle, given, p = expected(net, columns, row, without=target)
            if p > 0.0:
                np.testing.assert_allclose(found[row], oracle.posterior(target, given), rtol=0, atol=1e-12)
            else:
                assert np.isnan(found[row]).all()
                n_impossible += 1
            oracle, given, p = expected(net, columns, row)
            assert logs[row] == (-math.inf if p == 0.0 else pytest.approx(math.log(p), rel=1e-12, abs=1e-12))
            for name in net.nodes:
                if p > 0.0:
                    np.testing.assert_allclose(everything[name][row], oracle.posterior(name, given), rtol=0, atol=1e-12)
                else:
                    assert np.isnan(everything[name][row]).all()
    assert n_impossible > 5


@pytest.mark.parametrize("compiled", [True, False])
def test_noisy_and_sparse_tables_that_cannot_be_written_out(compiled, monkeypatch):
    monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: compiled)
    yes_no = ["no", "yes"]
    causes = [tb.Variable(f"c{i}", yes_no) for i in range(40)]
    effect = tb.noisy_or(tb.Variable("x", yes_no), {c: 0.02 * (i % 9) for i, c in enumerate(causes)}, leak=0.01)
    net = tb.BayesianNetwork.from_tables([*(tb.CPT(c, [], [0.9, 0.1]) for c in causes), effect])
    rows = {"x": ["yes", "no", None], "c3": ["yes", None, "no"], "c5": [None, None, "yes"]}
    found = net.predict_proba(rows, "c7")
    for i in range(3):
        given = {name: values[i] for name, values in rows.items() if values[i] is not None}
        np.testing.assert_allclose(found[i], net.posterior("c7", given).probabilities, rtol=0, atol=1e-12)

    many = [tb.Variable(f"p{i}", range(20)) for i in range(6)]
    seen = {(1,) * 6: [0.2, 0.8], (2,) * 6: [0.7, 0.3]}
    child = tb.SparseCPT(tb.Variable("y", yes_no), many, seen, [0.5, 0.5])
    net = tb.BayesianNetwork.from_tables([*(tb.CPT(p, [], np.full(20, 0.05)) for p in many), child])
    rows = {f"p{i}": [1, 2, 3] for i in range(6)}
    np.testing.assert_allclose(net.predict_proba(rows, "y"), [[0.2, 0.8], [0.7, 0.3], [0.5, 0.5]], rtol=0, atol=1e-12)


def test_results_do_not_depend_on_threads_or_on_the_company():
    rng = np.random.default_rng(5)
    net = tb.example_network("asia")
    columns = random_rows(rng, net, 3000, 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZeroProbabilityWarning)
        one = net.predict_proba(columns, "lung", n_jobs=1)
        np.testing.assert_array_equal(net.predict_proba(columns, "lung", n_jobs=4), one)
        few = {name: values[:10] for name, values in columns.items()}
        np.testing.assert_allclose(net.predict_proba(few, "lung"), one[:10], rtol=1e-13, atol=0)


def test_thousands_of_findings_do_not_underflow():
    n = 5000
    leaves = {f"x{i}": ["a", "b"] for i in range(n)}
    tables = {"class": [0.5, 0.5]} | {name: [[1e-4, 1 - 1e-4], [2e-4, 1 - 2e-4]] for name in leaves}
    net = tb.BayesianNetwork({"class": [0, 1]} | leaves, [("class", name) for name in leaves], tables)
    row = {name: ["a" if i % 2 else "b"] for i, name in enumerate(leaves)}
    log_odds = n / 2 * (math.log(2e-4 / 1e-4) + math.log((1 - 2e-4) / (1 - 1e-4)))
    found = net.predict_proba(row, "class")
    assert found[0, 0] == pytest.approx(math.exp(-log_odds), rel=1e-9)
    each = n / 2 * (math.log(2e-4) + math.log(1 - 2e-4)) + math.log(0.5)
    assert net.log_likelihood(row)[0] == pytest.approx(each + math.log1p(math.exp(-log_odds)), rel=1e-12)


def test_predict_names_states_and_none_for_impossible_rows():
    net = tb.example_network("asia")
    rows = {"either": ["no", "yes"], "tub": ["yes", None], "xray": ["yes", "yes"]}
    with pytest.warns(ZeroProbabilityWarning, match="impossible evidence in 1 of 2 rows"):
        assert net.predict(rows, "lung").tolist() == [None, "yes"]
    possible = net.predict({"xray": ["yes", "no"]}, "xray")
    assert possible.tolist() == ["no", "no"]  # its own column is not looked at


def test_frames_of_every_make_and_without_rows():
    net = tb.example_network("asia")
    rows = {"xray": ["yes", None], "smoke": ["no", "yes"]}
    found = net.predict_proba(rows, "lung")
    for frame in (pa.table(rows), tb.as_table(rows), pa.table(rows).to_pandas()):
        np.testing.assert_array_equal(net.predict_proba(frame, "lung"), found)
    assert net.predict_proba({"xray": []}, "lung").shape == (0, 2)
    assert net.log_likelihood({"xray": []}).shape == (0,)


def test_odd_columns_are_told():
    net = tb.example_network("asia")
    with pytest.warns(UnseenStateWarning, match="'maybe'"):
        found = net.predict_proba({"xray": ["maybe"]}, "lung")
    np.testing.assert_allclose(found[0], net.posterior("lung").probabilities, rtol=1e-12, atol=0)
    with pytest.warns(DataWarning, match="'XRay' \\(the network has 'xray'\\)"):
        net.predict_proba({"XRay": ["yes"], "smoke": ["no"]}, "lung")
    with pytest.raises(DataError, match="must have a column of the network"):
        net.predict_proba({"nothing": [1]}, "lung")
    with pytest.raises(DataError, match=r"got 'lungs'\. Did you mean 'lung'\?"):
        net.predict_proba({"xray": ["yes"]}, "lungs")
    with pytest.raises(DataError, match="target must name one variable"):
        net.predict_proba({"xray": ["yes"]}, ["lung"])


@pytest.mark.parametrize("seed", range(20))
def test_few_rows_without_kernels_get_the_same_answers(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    engine = tb.BayesianNetwork.from_tables(random_network(rng))._engine
    n = engine.n_variables
    codes = rng.integers(-1, engine.n_states, (12, n)).T.astype(np.int16)
    asked = [0, n - 1] if n > 1 else [0]
    monkeypatch.setattr(array_propagation, "_left", np.inf)
    monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: False)
    plain = batches.answer(engine, codes, asked)
    monkeypatch.setattr(array_propagation, "is_compiled", lambda kernel: True)
    fast = batches.answer(engine, codes, asked)
    np.testing.assert_allclose(plain.log_evidence, fast.log_evidence, rtol=1e-12)
    np.testing.assert_allclose(plain.marginals, fast.marginals, rtol=1e-10, atol=1e-15)
