from __future__ import annotations

import copy
import json
from math import inf

import pytest

from tunbridge.decisions import Evidence, explanation
from tunbridge.decisions.evidence import json_value


def example(weights=(0.5, -2.0, 0.0), prior=0.25):
    return explanation(
        "yes",
        "no",
        prior=prior,
        names=["a", "<b>", "c"],
        values=["x", 3.5, None],
        weights=weights,
        probabilities={"yes": 0.25, "no": 0.75},
    )


def test_heaviest_first_and_sum():
    found = example()
    assert [e.feature for e in found.evidence] == ["<b>", "a", "c"]
    assert found.log_odds == pytest.approx(-1.25, rel=1e-12)


def test_text_has_a_line_for_everything():
    lines = str(example()).splitlines()
    assert lines[0] == "yes rather than no: P(yes) = 0.25"
    assert [line.split()[0] for line in lines[2:]] == ["feature", "prior", "<b>", "a", "c", "sum"]
    assert "missing" in lines[-2]


def test_html_is_escaped():
    assert "&lt;b&gt;" in example()._repr_html_()
    assert "<b>" not in example()._repr_html_()


def test_json():
    assert json.loads(json.dumps(example().to_dict()))["evidence"][0] == {
        "feature": "<b>",
        "value": 3.5,
        "weight": -2.0,
    }


@pytest.mark.parametrize(
    ("weights", "log_odds"),
    [((inf, -2.0, 0.0), inf), ((1.0, -inf, 0.0), -inf), ((inf, -inf, 3.0), 0.25), ((0.0, 0.0, 0.0), 0.25)],
)
def test_infinite_weights(weights, log_odds):
    found = example(weights)
    assert found.log_odds == log_odds
    assert "nan" not in str(found)


@pytest.mark.parametrize("prior", [inf, -inf])
def test_a_class_that_the_prior_excludes(prior):
    found = explanation("a", "b", prior=prior, names=["f"], values=["v"], weights=[-prior], probabilities={"a": 0.0})
    assert found.log_odds == prior
    assert found.to_dict()["log_odds"] == ("Infinity" if prior > 0 else "-Infinity")
    assert "nan" not in str(found)


def test_nan_is_nothing_in_json():
    assert json_value(float("nan")) is None


def test_what_a_weight_is_conditional_on():
    found = explanation(
        "yes",
        "no",
        prior=0.0,
        names=["a", "b", "c"],
        values=["x", "y", "z"],
        weights=[3.0, 2.0, 1.0],
        probabilities={"yes": 0.5, "no": 0.5},
        given=[(), ["a"], ["a", "b", "d", "e"]],
    )
    assert [e.given for e in found.evidence] == [(), ("a",), ("a", "b", "d", "e")]
    assert [line.split("  ")[0] for line in str(found).splitlines()[4:7]] == ["a", "b | a", "c | a, b, d, …"]
    told = found.to_dict()["evidence"]
    assert "given" not in told[0]
    assert told[2]["given"] == ["a", "b", "d", "e"]
    assert "b | a" in found._repr_html_()


def test_evidence_is_still_a_tuple_of_three():
    one = Evidence("a", "x", 0.5, ("b",))
    feature, value, weight = one
    assert (feature, value, weight) == ("a", "x", 0.5) == one
    assert repr(Evidence("a", "x", 0.5)) == "Evidence(feature='a', value='x', weight=0.5)"
    assert repr(one) == "Evidence(feature='a', value='x', weight=0.5, given=('b',))"
    assert copy.deepcopy(one).given == ("b",)
