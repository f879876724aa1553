from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.network import example_network


@pytest.fixture(scope="module")
def burglary():
    return example_network("burglary")


def test_doing_is_not_seeing(burglary):
    done = burglary.do({"Alarm": "yes"})
    assert done.posterior("Burglary")["yes"] == pytest.approx(0.001)
    assert burglary.posterior("Burglary", {"Alarm": "yes"})["yes"] > 0.3
    assert done.posterior("JohnCalls")["yes"] == pytest.approx(0.9)


def test_the_arcs_into_it_are_cut_and_the_others_stay(burglary):
    done = burglary.do({"Alarm": "yes"})
    assert set(done.dag.arcs) == {("Alarm", "JohnCalls"), ("Alarm", "MaryCalls")}
    assert done.nodes == burglary.nodes
    assert done.name == "burglary"
    assert len(burglary.dag.arcs) == 4


def test_the_truncated_product(burglary):
    done = burglary.do({"Alarm": "yes", "Burglary": "no"})
    joint = done.posterior(list(done.nodes)).probabilities
    assert joint.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(joint[1, 0, 0, 0, 0], 0.002 * 0.9 * 0.7, rtol=1e-12, atol=0)
    assert joint[0].sum() == 0.0


def test_a_distribution(burglary):
    done = burglary.do({"Alarm": {"yes": 0.25, "no": 0.75}})
    assert done.posterior("JohnCalls")["yes"] == pytest.approx(0.25 * 0.9 + 0.75 * 0.05)


def test_back_door_adjustment():
    """P(wet | do(sprinkler)) = Σ_rain P(rain) P(wet | sprinkler, rain), as clouds are behind both."""
    net = example_network("sprinkler")
    rain = net.posterior("Rain")
    adjusted = sum(rain[r] * net.cpt("WetGrass").distribution({"Sprinkler": "yes", "Rain": r})["yes"] for r in rain)
    assert net.do({"Sprinkler": "yes"}).posterior("WetGrass")["yes"] == pytest.approx(adjusted)
    assert net.posterior("WetGrass", {"Sprinkler": "yes"})["yes"] != pytest.approx(adjusted, abs=1e-3)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("Alarm", "an intervention must be a dict from variable to state; got 'Alarm'."),
        ({"Fire": "yes"}, "an intervention must name variables of the network; got 'Fire'."),
        ({"Alarm": "on"}, "an intervention must give a state of 'Alarm'; got 'on'."),
        ({"Alarm": {"yes": 0.2, "no": 0.2}}, "the probabilities of 'Alarm' must sum to 1; got 0.4"),
    ],
)
def test_messages(burglary, setting, message):
    with pytest.raises(DataError) as caught:
        burglary.do(setting)
    assert message in str(caught.value)
