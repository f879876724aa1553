from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError


def test_flu_malaria_fever() -> None:
    """The worked example: 100 rows, G → F ← M."""
    cells = {"nnn": 34, "nny": 6, "nyn": 2, "nyy": 8, "ynn": 16, "yny": 24, "yyn": 0, "yyy": 10}
    rows = [tuple(key) for key, n in cells.items() for _ in range(n)]
    frame = {name: [row[i] for row in rows] for i, name in enumerate("GMF")}
    net = tb.fit_parameters(tb.DAG(list("GMF"), [("G", "F"), ("M", "F")]), frame, "mle")
    assert net.cpt("G").distribution()["y"] == pytest.approx(0.5)
    assert net.cpt("M").distribution()["y"] == pytest.approx(0.2)
    fever = net.cpt("F")
    found = [fever.distribution({"G": g, "M": m})["y"] for g, m in ("yy", "yn", "ny", "nn")]
    assert found == pytest.approx([1.00, 0.60, 0.80, 0.15])


def test_priors_add_their_rows() -> None:
    dag = tb.DAG(["wind", "play"], [("wind", "play")])
    table = tb.datasets.play_tennis()
    counts = tb.Counter(table).family("play", ["wind"]).table
    for prior, added in [(tb.Laplace(2.0), 2.0), (0.5, 0.5), (tb.MEstimate(m=3.0), 1.5), ("mle", 0.0)]:
        expected = (counts + added) / (counts + added).sum(axis=1, keepdims=True)
        cpt = tb.fit_parameters(dag, table, prior).cpt("play")
        np.testing.assert_allclose(cpt.table(), expected, rtol=1e-12)
        np.testing.assert_allclose(cpt.counts, counts + added, rtol=1e-12)


def test_a_configuration_never_seen_is_uniform_or_the_prior_guess() -> None:
    frame = {"a": ["x", "x", "y"], "b": ["u", "v", "u"], "c": ["0", "1", "1"]}
    net = tb.fit_parameters(tb.DAG(list("abc"), [("a", "c"), ("b", "c")]), frame, "mle")
    assert net.cpt("c").distribution({"a": "y", "b": "v"})["0"] == pytest.approx(0.5)


def test_large_families_are_sparse() -> None:
    rng = np.random.default_rng(0)
    frame = {f"p{i}": rng.integers(0, 20, 500).astype(str) for i in range(6)} | {
        "x": rng.integers(0, 2, 500).astype(str)
    }
    table = tb.as_table(frame, kinds="categorical")
    dag = tb.DAG(table.names, [(f"p{i}", "x") for i in range(6)])
    cpt = tb.fit_parameters(dag, table).cpt("x")
    assert isinstance(cpt, tb.SparseCPT)
    row = {f"p{i}": frame[f"p{i}"][0] for i in range(6)}
    assert cpt.distribution(row)[frame["x"][0]] == pytest.approx(0.75)
    assert cpt.distribution(dict.fromkeys(row, "0"))["1"] == pytest.approx(0.5)


def test_missing_cells_leave_out_their_family_only() -> None:
    frame = {"a": ["x", "x", None, "y"], "b": ["u", None, "v", "v"]}
    net = tb.fit_parameters(tb.DAG(list("ab"), [("a", "b")]), frame, "mle", missing="available")
    assert net.cpt("a").distribution()["x"] == pytest.approx(2 / 3)
    assert net.cpt("b").distribution({"a": "x"})["u"] == pytest.approx(1.0)


def test_weights_count_as_rows() -> None:
    table = tb.datasets.play_tennis()
    weights = np.arange(14) % 3
    dag = tb.DAG(["wind", "play"], [("wind", "play")])
    one = tb.fit_parameters(dag, table.with_weights(weights.astype(float)))
    other = tb.fit_parameters(dag, table.take(np.repeat(np.arange(14), weights)))
    np.testing.assert_allclose(one.cpt("play").table(), other.cpt("play").table(), rtol=1e-12)


@pytest.mark.parametrize(
    ("dag", "prior", "message"),
    [
        (tb.DAG(["wind", "rain"]), 1.0, "the graph's nodes must be columns of the table; got none for 'rain'"),
        ([("wind", "play")], 1.0, "dag must be a DAG"),
        (tb.DAG(["wind"]), "ml", "prior must be 'mle', a number .* got 'ml'"),
        (tb.DAG(["wind"]), -1, "prior must be at least 0"),
    ],
)
def test_mistakes_are_named(dag: object, prior: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tb.fit_parameters(dag, tb.datasets.play_tennis(), prior)  # type: ignore[arg-type]
