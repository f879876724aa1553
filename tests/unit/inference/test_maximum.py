from __future__ import annotations

import math

import pytest

from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.network import BayesianNetwork, example_network

CALLS = {"JohnCalls": "yes", "MaryCalls": "yes"}


@pytest.fixture(scope="module")
def burglary():
    return example_network("burglary")


def test_all_variables_together(burglary):
    best = burglary.most_probable(CALLS)
    assert dict(best) == {"Burglary": "no", "Earthquake": "no", "Alarm": "yes", **CALLS}
    assert best.log_probability == pytest.approx(math.log(0.999 * 0.998 * 0.001 * 0.9 * 0.7))
    assert best.probability == pytest.approx(math.exp(best.log_probability - burglary.log_probability(CALLS)))


def test_the_most_probable_states_need_not_be_those_of_the_single_posteriors():
    rows = [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    net = BayesianNetwork({"A": ["a", "b", "c"], "B": ["x", "y"]}, [("A", "B")], {"A": [0.4, 0.3, 0.3], "B": rows})
    assert net.posterior("A").mode == "a"
    assert net.most_probable()["A"] in ("b", "c")
    assert net.most_probable().probability == pytest.approx(0.3)


def test_some_with_the_others_summed_out(burglary):
    best = burglary.most_probable(CALLS, of=["Alarm", "Burglary"])
    joint = burglary.posterior(["Alarm", "Burglary"], CALLS)
    assert tuple(best.values()) == joint.mode
    assert list(best) == ["Alarm", "Burglary"]
    assert best.probability == pytest.approx(joint[joint.mode])


def test_one_by_name(burglary):
    assert dict(burglary.most_probable(CALLS, of="Alarm")) == {"Alarm": "yes"}


def test_observed_ones_keep_their_states(burglary):
    best = burglary.most_probable(CALLS, of=["JohnCalls", "MaryCalls"])
    assert dict(best) == CALLS
    assert best.probability == 1.0
    assert best.log_probability == pytest.approx(burglary.log_probability(CALLS))


def test_everything_observed():
    net = example_network("sprinkler")
    row = {"Cloudy": "yes", "Sprinkler": "no", "Rain": "yes", "WetGrass": "yes"}
    assert dict(net.most_probable(row)) == row
    assert net.most_probable(row).probability == 1.0


def test_ties_are_always_broken_alike():
    names = [f"x{i}" for i in range(8)]
    net = BayesianNetwork(dict.fromkeys(names, ("a", "b", "c")), [], dict.fromkeys(names, (1 / 3,) * 3))
    assert dict(net.most_probable()) == dict(net.most_probable())
    assert net.most_probable().probability == pytest.approx(3.0**-8)


def test_likelihoods_count(burglary):
    soft = {"Alarm": {"yes": 1.0, "no": 1e-9}}
    best = burglary.most_probable(soft)
    assert best["Alarm"] == "yes"
    assert best.log_probability == pytest.approx(math.log(0.999 * 0.998 * 0.001 * 0.9 * 0.7))


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (["Fire"], "of must name variables of the network; got 'Fire'."),
        ([], "of must name at least one variable."),
        (["Alarm", "Alarm"], "of must name every variable once"),
    ],
)
def test_messages(burglary, of, message):
    with pytest.raises(DataError) as caught:
        burglary.most_probable(of=of)
    assert message in str(caught.value)


def test_impossible_evidence():
    with pytest.raises(ImpossibleEvidenceError, match="tub='yes' and either='no' have probability zero together"):
        example_network("asia").most_probable({"tub": "yes", "either": "no", "smoke": "yes"})


class TestRecord:
    def test_is_a_mapping(self, burglary):
        best = burglary.most_probable(of=["Alarm"])
        assert len(best) == 1
        assert "Fire" not in best
        assert best.get("Fire") is None
        assert best == {"Alarm": "no"}
        with pytest.raises(KeyError) as caught:
            best["Alrm"]
        assert str(caught.value) == "'Alrm' must be one of the requested variables. Did you mean 'Alarm'?"

    def test_repr(self, burglary):
        text = repr(burglary.most_probable(CALLS, of=["Alarm"]))
        assert text.splitlines() == ["variable  state", "Alarm     yes", "probability 0.760692"]
        assert "<table" in burglary.most_probable()._repr_html_()
