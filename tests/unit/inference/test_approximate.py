from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError, ImpossibleEvidenceError, PrecisionWarning
from tunbridge.inference.sampling.approximate import METHODS
from tunbridge.network import BayesianNetwork, example_network

FINDINGS = {"MaryCalls": "no", "Earthquake": {"yes": 0.6, "no": 0.4}}


@pytest.fixture(scope="module")
def sprinkler():
    """Return the sprinkler without zeros, so that Gibbs chains reach everything."""
    net = example_network("sprinkler")
    tables = {name: np.clip(cpt.table(), 0.02, 0.98) for name, cpt in net.cpts.items()}
    return BayesianNetwork(net.variables, net.dag, tables)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("evidence", [{}, {"WetGrass": "yes"}, {"WetGrass": {"yes": 0.9, "no": 0.3}, "Cloudy": "no"}])
def test_estimates_are_within_their_errors(sprinkler, method, evidence):
    exact = sprinkler.posterior("Rain", evidence).probabilities
    found = sprinkler.posterior("Rain", evidence, method=method, precision=0.004, random_state=1)
    errors = np.array([found.standard_errors[state] for state in found])
    assert (errors <= 0.004).all()
    assert (errors > 0.0).all()
    assert (np.abs(found.probabilities - exact) < 5 * errors).all()
    assert found.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    wrong = sprinkler.posterior("Sprinkler", evidence).probabilities
    assert (np.abs(found.probabilities - wrong) > 5 * errors).all()


@pytest.mark.parametrize("method", METHODS)
def test_equal_seeds_give_equal_samples(sprinkler, method):
    a, b = (sprinkler.posterior("Rain", {"WetGrass": "yes"}, method=method, random_state=7) for _ in range(2))
    assert a == b
    other = sprinkler.posterior("Rain", {"WetGrass": "yes"}, method=method, random_state=8)
    assert other != a


@pytest.mark.parametrize("method", METHODS)
def test_too_few_samples_are_told(sprinkler, method):
    with pytest.warns(PrecisionWarning, match="the precision of 1e-06 was not reached: the largest standard error is"):
        sprinkler.posterior("Rain", {}, method=method, precision=1e-6, max_samples=5000, random_state=0)


def test_exact_has_no_errors(sprinkler):
    assert sprinkler.posterior("Rain", method="exact").standard_errors is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gibs"}, "method must be one of 'exact', 'likelihood-weighting', 'gibbs', 'forward'; got 'gibs'."),
        ({"method": "gibbs", "precision": 0}, "precision must be greater than 0; got 0."),
        ({"method": "forward", "max_samples": 0}, "max_samples must be at least 1; got 0."),
        ({"method": "likelihood-weighting", "max_samples": 2.5}, "max_samples must be an integer; got 2.5."),
        (
            {"method": "gibbs", "max_samples": 10**5000},
            "max_samples must be an integer from 1 to 2**63 - 1; got",
        ),
        (
            {"method": "forward", "target": ["Rain", "Cloudy"]},
            "target must name one variable when the answer is sampled",
        ),
        ({"method": "forward", "target": "Rein"}, "target must name variables of the network; got 'Rein'."),
        ({"method": "forward", "evidence": {"Rain": "hail"}}, "evidence must give a state of 'Rain'; got 'hail'."),
    ],
)
def test_messages(sprinkler, options, message):
    with pytest.raises(DataError) as caught:
        sprinkler.posterior(**{"target": "Rain", **options})
    assert message in str(caught.value)


def test_forward_sampling_gives_up_on_what_never_happens():
    asia = example_network("asia")
    with pytest.raises(ImpossibleEvidenceError, match="none of 2000 samples agreed with it"):
        asia.posterior("lung", {"tub": "yes", "either": "no"}, method="forward", max_samples=2000, random_state=0)
