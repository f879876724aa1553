"""Networks learned from numbers that were cut into intervals: asked with numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, UnseenStateWarning

CUTS = {"age": [30, 60], "dose": [0.5]}


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 90, n)
    dose = np.round(rng.exponential(0.6, n), 3)
    ill = np.where(rng.random(n) < 0.1 + 0.4 * (age > 60) + 0.3 * (dose > 0.5), "yes", "no")
    return {"age": age, "dose": dose, "ill": ill}


@pytest.fixture(scope="module")
def frame():
    return rows()


@pytest.fixture(scope="module")
def cut(frame):
    return tb.discretise(frame, CUTS)[0]


@pytest.fixture(scope="module")
def net(cut):
    dag = tb.DAG(["age", "dose", "ill"], [("age", "ill"), ("dose", "ill")])
    return tb.fit_parameters(dag, cut, prior=1.0)


def test_learning_keeps_the_cut_points(cut, net):
    assert net.variables == cut.variables
    assert net.variable("age").cuts == (30.0, 60.0)
    assert [p.cuts for p in net.cpt("ill").parents] == [(30.0, 60.0), (0.5,)]
    learned = tb.fit_parameters(tb.learn_structure(cut), cut)
    assert [v.cuts for v in learned.variables] == [(30.0, 60.0), (0.5,), None]
    assert tb.learn_network(cut).variable("dose").cuts == (0.5,)


@pytest.mark.parametrize(
    ("value", "label"), [(12, "≤ 30"), (30, "≤ 30"), (30.01, "30 – 60"), ("45", "30 – 60"), (np.float32(60.5), "> 60")]
)
def test_evidence_may_be_a_number(net, value, label):
    assert net.posterior("ill", {"age": value}) == net.posterior("ill", {"age": label})
    assert net.log_probability({"age": value}) == net.log_probability({"age": label})
    assert net.most_probable({"age": value}) == net.most_probable({"age": label})
    assert net.do({"age": value}) == net.do({"age": label})
    assert net.posteriors({"age": value})["ill"] == net.posterior("ill", {"age": label})


def test_lists_likelihoods_and_answers_know_numbers_too(net):
    assert net.posterior("ill", {"age": [20, 70]}) == net.posterior("ill", {"age": ["≤ 30", "> 60"]})
    likely = {"≤ 30": 0.2, "30 – 60": 0.3, "> 60": 0.5}
    assert net.posterior("ill", {"age": {20: 0.2, 45: 0.3, 70: 0.5}}) == net.posterior("ill", {"age": likely})
    assert net.posterior("age")[70] == net.posterior("age")["> 60"]
    assert net.probability({"age": 70}) == net.probability({"age": "> 60"})


def test_a_hole_in_a_row_is_no_evidence(net):
    assert net.posterior("ill", {"age": float("nan"), "dose": None}) == net.posterior("ill")


@pytest.mark.parametrize("value", ["old", float("inf"), True, "1_000"])
def test_what_is_no_number_is_told(net, value):
    with pytest.raises(DataError) as error:
        net.posterior("ill", {"age": value})
    rule = f"evidence must give a state of 'age'; got {value!r}."
    assert str(error.value) == f"{rule} Known: '≤ 30', '30 – 60', '> 60'. A finite number will do too."


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, tb.as_table, lambda d: pd.DataFrame(d).astype(str)])
def test_rows_of_numbers_are_answered_like_rows_of_labels(net, cut, frame, make):
    raw = make(frame)
    np.testing.assert_array_equal(net.predict_proba(raw, "ill"), net.predict_proba(cut, "ill"))
    np.testing.assert_array_equal(net.log_likelihood(raw), net.log_likelihood(cut))
    np.testing.assert_array_equal(net.predict(raw, "age"), net.predict(cut, "age"))


def test_labels_in_a_frame_still_work(net, cut):
    expected = net.predict_proba(cut, "ill")
    np.testing.assert_array_equal(net.predict_proba(cut.to_pandas(), "ill"), expected)
    np.testing.assert_array_equal(net.predict_proba(cut.to_pandas().astype(str), "ill"), expected)


def test_labels_numbers_and_strangers_in_one_column(net):
    known = net.predict_proba({"age": [70, 10, None]}, "ill")
    with pytest.warns(UnseenStateWarning, match="the network does not know count as missing: age: 'old'"):
        mixed = net.predict_proba({"age": ["> 60", "10", "old"]}, "ill")
    np.testing.assert_array_equal(mixed, known)


def test_infinity_in_a_frame_is_an_error(net):
    with pytest.raises(DataError, match="column 'age' must hold finite numbers; row 2 contains infinity"):
        net.predict_proba({"age": [10.0, float("inf")]}, "ill")


def test_samples_are_labels(net):
    drawn = net.sample(50, random_state=1)
    assert drawn.variables == net.variables
    assert set(drawn.to_pandas()["age"]) <= {"≤ 30", "30 – 60", "> 60"}
    assert set(net.sample(20, random_state=1, evidence={"age": 70}).to_pandas()["age"]) == {"> 60"}


@pytest.mark.parametrize("suffix", ["tb", "bif", "xmlbif", "net", "dsc"])
def test_a_network_from_a_file_reads_numbers(net, frame, tmp_path, suffix):
    path = tmp_path / f"net.{suffix}"
    net.write(path)
    again = tb.read_network(path)
    assert again.variables == net.variables
    np.testing.assert_allclose(again.predict_proba(frame, "ill"), net.predict_proba(frame, "ill"), rtol=1e-14, atol=0)


def test_networks_that_differ_in_a_cut_point_differ(net):
    def shifted(variable):
        return variable if variable.name != "dose" else tb.Variable("dose", variable.states, cuts=[0.25])

    cpts = [tb.CPT(shifted(c.variable), [shifted(p) for p in c.parents], c.probabilities) for c in net.cpts.values()]
    same = [tb.CPT(c.variable, c.parents, c.probabilities) for c in net.cpts.values()]
    assert tb.BayesianNetwork.from_tables(same) == tb.BayesianNetwork.from_tables(same)
    assert tb.BayesianNetwork.from_tables(cpts) != tb.BayesianNetwork.from_tables(same)


def test_an_expert_may_give_cut_points():
    fever = tb.Variable("Fever", ["none", "mild", "high"], cuts=[37.5, 38.5])
    flu = tb.Variable("Flu", ["no", "yes"])
    net = tb.BayesianNetwork(
        [flu, fever],
        [("Flu", "Fever")],
        {"Flu": [0.9, 0.1], "Fever": {"no": [0.9, 0.08, 0.02], "yes": [0.1, 0.3, 0.6]}},
    )
    assert net.posterior("Flu", {"Fever": 38.6})["yes"] == pytest.approx(0.06 / (0.06 + 0.018), rel=1e-12)
