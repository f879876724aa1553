"""Every result that is a table can be had as a pandas frame."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.decisions import calibration_table, decide, minimum_risk

ROW = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}


@pytest.fixture(scope="module")
def tennis():
    return tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")


def test_weights_of_an_explanation_add_up(tennis):
    found = tennis.explain(ROW)
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["feature", "value", "weight", "given"]
    assert frame["feature"].tolist() == ["prior", *(e.feature for e in found.evidence)]
    assert frame["weight"].sum() == pytest.approx(found.log_odds, rel=1e-12)


def test_conditions_are_named():
    found = tb.TANClassifier().fit(tb.datasets.play_tennis(), "play").explain(ROW)
    assert found.to_pandas()["given"].tolist() == ["", *(", ".join(e.given) for e in found.evidence)]
    assert any(found.to_pandas()["given"])


def test_texts_and_sequences():
    clf = tb.TextClassifier().fit(["cheap pills", "lunch at noon"], ["spam", "ham"])
    frame = clf.explain("cheap cheap lunch").to_pandas()
    assert dict(zip(frame["feature"], frame["value"], strict=True))["cheap"] == 2
    clf = tb.SequenceClassifier().fit(["abab", "bbbb"], ["x", "y"])
    assert clf.explain("ab").to_pandas()["feature"].tolist() == ["prior", "1", "2", "end"]


def test_importance(tennis):
    found = tennis.importance()
    frame = found.to_pandas()
    assert dict(zip(frame["feature"], frame["value"], strict=True)) == dict(found)
    assert frame["share"].tolist() == list(found.shares.values())
    assert "share" not in tennis.importance("weight").to_pandas()


def test_what_if(tennis):
    found = tennis.what_if(ROW)
    frame = found.to_pandas()
    assert frame["flips"].sum() == len(found.flips)
    assert frame["new_value"].isna().tolist() == [change.new_value is None for change in found.changes]
    assert frame["probability"].tolist() == [change.probability for change in found.changes]


def test_decisions():
    frame = decide([[0.04, 0.96], [0.5, 0.5]], ["diseased", "healthy"], {"diseased": 10}, reject=0.45).to_pandas()
    assert frame["choice"][0] == "healthy"
    assert frame["choice"].isna().tolist() == [False, True]
    np.testing.assert_allclose(frame["risk"], [0.4, 0.45])
    assert minimum_risk([[0.2, 0.8]], 1 - np.eye(2)).to_pandas()["choice"].tolist() == [1]


def test_calibration_table():
    found = calibration_table([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], n_bins=2)
    frame = found.to_pandas()
    assert frame.columns.tolist() == ["low", "high", "n_rows", "predicted", "observed"]
    assert frame["observed"].tolist() == [0.0, 1.0]
