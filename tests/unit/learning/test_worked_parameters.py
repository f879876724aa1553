"""Results that can be worked out by hand."""

from __future__ import annotations

from math import comb, exp, log

import numpy as np
import pytest

import tunbridge as tb

CELLS = {"nnn": 34, "nny": 6, "nyn": 2, "nyy": 8, "ynn": 16, "yny": 24, "yyn": 0, "yyy": 10}
"""Flu, malaria, fever: rows of each kind."""

FEVER = tb.DAG(list("GMF"), [("G", "F"), ("M", "F")])


def fever_frame() -> dict[str, list[str]]:
    rows = [key for key, n in CELLS.items() for _ in range(n)]
    return {name: [row[i] for row in rows] for i, name in enumerate("GMF")}


@pytest.mark.parametrize("missing", ["em", "available", "complete"])
def test_flu_malaria_fever(missing: str) -> None:
    net = tb.fit_parameters(FEVER, fever_frame(), "mle", missing=missing)  # type: ignore[arg-type]
    assert net.cpt("G").distribution()["y"] == pytest.approx(0.50, rel=1e-12)
    assert net.cpt("M").distribution()["y"] == pytest.approx(0.20, rel=1e-12)
    found = {g + m: net.cpt("F").distribution({"G": g, "M": m})["y"] for g in "ny" for m in "ny"}
    assert found == pytest.approx({"yy": 1.00, "yn": 0.60, "ny": 0.80, "nn": 0.15}, rel=1e-12)


def test_the_likelihood_of_a_hundred_patients_is_a_product() -> None:
    """Σ n ln θ over all cells of all tables, the numbers of the cells counted by hand."""
    by_hand = (
        50 * log(0.50) + 50 * log(0.50)  # flu
        + 80 * log(0.80) + 20 * log(0.20)  # malaria
        + 34 * log(0.85) + 6 * log(0.15)  # fever, neither
        + 2 * log(0.20) + 8 * log(0.80)  # fever, malaria alone
        + 16 * log(0.40) + 24 * log(0.60)  # fever, flu alone
        + 10 * log(1.00)  # fever, both
    )  # fmt: skip
    assert by_hand == pytest.approx(-168.1878, abs=1e-4)
    net = tb.fit_parameters(FEVER, fever_frame(), "mle")
    assert float(net.log_likelihood(fever_frame()).sum()) == pytest.approx(by_hand, rel=1e-12)


def test_any_other_number_makes_the_patients_less_probable() -> None:
    best = float(tb.fit_parameters(FEVER, fever_frame(), "mle").log_likelihood(fever_frame()).sum())
    for prior in ("jeffreys", "bdeu", tb.MEstimate(1.0), "backoff"):
        net = tb.fit_parameters(FEVER, fever_frame(), prior)
        assert float(net.log_likelihood(fever_frame()).sum()) < best


def test_a_coin_of_three_kinds() -> None:
    """49 heads of 80 under p = 1/3, 1/2, 2/3: the binomial likelihoods, and the kind that makes them most probable."""
    tosses = {"toss": ["heads"] * 49 + ["tails"] * 31}
    found = {}
    for name, p in {"1/3": 1 / 3, "1/2": 1 / 2, "2/3": 2 / 3}.items():
        coin = tb.BayesianNetwork({"toss": ["heads", "tails"]}, [], {"toss": [p, 1 - p]})
        found[name] = exp(float(coin.log_likelihood(tosses).sum()) + log(comb(80, 49)))
    assert {name: round(value, 3) for name, value in found.items()} == {"1/3": 0.000, "1/2": 0.012, "2/3": 0.054}
    assert max(found, key=lambda name: found[name]) == "2/3"
    fitted = tb.fit_parameters(tb.DAG(["toss"]), tosses, "mle")
    assert fitted.cpt("toss").distribution()["heads"] == 49 / 80
    assert exp(float(fitted.log_likelihood(tosses).sum()) + log(comb(80, 49))) > found["2/3"]


def test_an_expert_and_ten_rows() -> None:
    """Nine in ten, from twenty remembered: α = (18, 2); then five of ten."""
    rows = {"works": ["yes"] * 5 + ["no"] * 5}
    net = tb.fit_parameters(tb.DAG(["works"]), rows, tb.Dirichlet({"works": {"yes": 18, "no": 2}}))
    assert net.cpt("works").distribution()["yes"] == pytest.approx(23 / 30, rel=1e-12)
    np.testing.assert_allclose(sorted(net.cpt("works").counts), [7, 23], rtol=1e-12)


def test_back_off_by_hand() -> None:
    """One row (a=0, b=0, x=0) and three (a=0, b=1, x=1): s = 1, b dropped first."""
    frame = {"a": [0, 0, 0, 0, 1], "b": [0, 1, 1, 1, 1], "x": [0, 1, 1, 1, 0]}
    table = tb.as_table(frame, kinds="categorical")
    dag = tb.DAG(list("abx"), [("a", "x"), ("b", "x")])
    cpt = tb.fit_parameters(dag, table, tb.BackOff(strength=1.0, drop="last")).cpt("x")
    marginal = (2 + 1 * 0.5) / (5 + 1)  # P(x = 0)
    given_a = [(1 + marginal) / (4 + 1), (1 + marginal) / (1 + 1)]
    expected = [(1 + given_a[0]) / 2, (0 + given_a[0]) / 4, given_a[1], (1 + given_a[1]) / 2]
    np.testing.assert_allclose(cpt.table()[..., 0].ravel(), expected, rtol=1e-12)
