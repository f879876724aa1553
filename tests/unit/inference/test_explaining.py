from __future__ import annotations

import math

import pytest

from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.network import example_network

CALLS = {"JohnCalls": "yes", "MaryCalls": "yes"}


@pytest.fixture(scope="module")
def burglary():
    return example_network("burglary")


def log_odds(p):
    return math.log(p / (1 - p))


def test_weights_are_changes_of_the_log_odds(burglary):
    found = burglary.explain("Burglary", CALLS, state="yes")
    assert found.prior == burglary.posterior("Burglary")
    assert found.posterior == burglary.posterior("Burglary", CALLS)
    assert {f.name for f in found.findings} == set(CALLS)
    for f in found.findings:
        rest = {name: state for name, state in CALLS.items() if name != f.name}
        without = burglary.posterior("Burglary", rest)
        alone = burglary.posterior("Burglary", {f.name: "yes"})
        assert f.finding == "yes"
        assert f.without == without
        assert f.weight == pytest.approx(log_odds(found.posterior["yes"]) - log_odds(without["yes"]))
        assert f.alone == pytest.approx(log_odds(alone["yes"]) - log_odds(0.001))


def test_the_heaviest_finding_comes_first(burglary):
    found = burglary.explain("Burglary", CALLS | {"Earthquake": "no"}, state="yes")
    weights = [abs(f.weight) for f in found.findings]
    assert weights == sorted(weights, reverse=True)
    assert found.findings[0].name == "MaryCalls"


def test_the_most_probable_state_unless_another_is_asked_for(burglary):
    assert burglary.explain("Burglary", CALLS).state == "no"
    assert burglary.explain("Burglary", CALLS, state="yes").state == "yes"


def test_two_states_have_opposite_weights(burglary):
    yes, no = (burglary.explain("Burglary", CALLS, state=state).findings for state in ("yes", "no"))
    for a, b in zip(yes, no, strict=True):
        assert a.weight == pytest.approx(-b.weight)


def test_certainty_weighs_infinitely_or_nothing():
    asia = example_network("asia")
    found = asia.explain("either", {"tub": "yes", "xray": "no"}, state="yes")
    weights = {f.name: f.weight for f in found.findings}
    assert weights == {"tub": math.inf, "xray": 0.0}


def test_findings_that_do_not_bear_on_the_target_weigh_nothing(burglary):
    found = burglary.explain("Burglary", {"Earthquake": "yes"}, state="yes")
    assert found.findings[0].weight == pytest.approx(0.0, abs=1e-12)


def test_no_evidence(burglary):
    found = burglary.explain("Burglary", {})
    assert found.findings == ()
    assert repr(found) == "Burglary = no: 0.999 (before the evidence 0.999)"


def test_repr(burglary):
    lines = repr(
        burglary.explain("Burglary", {"JohnCalls": ["yes", "no"], "MaryCalls": "yes"}, state="yes")
    ).splitlines()
    assert lines[0].startswith("Burglary = yes: 0.0")
    assert lines[1].split() == ["evidence", "weight", "alone", "without", "it"]
    assert lines[2].split()[:3] == ["MaryCalls", "=", "yes"]
    assert lines[3].split()[:7] == ["JohnCalls", "=", "yes", "or", "no", "+0.00", "+0.00"]
    assert "<table" in burglary.explain("Burglary", CALLS)._repr_html_()


def test_to_pandas(burglary):
    found = burglary.explain("Burglary", CALLS, state="yes")
    frame = found.to_pandas()
    assert list(frame.columns) == ["variable", "finding", "weight", "alone", "without"]
    expected = [[f.name, f.finding, f.weight, f.alone, f.without["yes"]] for f in found.findings]
    assert frame.to_numpy().tolist() == expected
    assert len(burglary.explain("Burglary", {}).to_pandas()) == 0


@pytest.mark.parametrize(
    ("target", "evidence", "state", "message"),
    [
        (["Alarm"], CALLS, None, "target must name one variable; got ['Alarm']."),
        ("Fire", CALLS, None, "target must name variables of the network; got 'Fire'."),
        ("Alarm", {"John": "yes"}, None, "evidence must name variables of the network; got 'John'."),
        ("Alarm", CALLS, "on", "'Alarm' must be in one of its states; got 'on'."),
    ],
)
def test_messages(burglary, target, evidence, state, message):
    with pytest.raises(DataError) as caught:
        burglary.explain(target, evidence, state=state)
    assert message in str(caught.value)


def test_impossible_evidence():
    with pytest.raises(ImpossibleEvidenceError):
        example_network("asia").explain("bronc", {"tub": "yes", "either": "no"})
