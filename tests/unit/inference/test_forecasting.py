from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT


def tangled(n=60, seed=0):
    """Return a network whose cliques no machine can hold: every node has four parents anywhere before it."""
    rng = np.random.default_rng(seed)
    x = [Variable(f"x{i}", ["a", "b", "c"]) for i in range(n)]
    cpts = []
    for i, v in enumerate(x):
        parents = [x[j] for j in rng.permutation(i)[:4]]
        cpts.append(CPT(v, parents, rng.dirichlet(np.ones(3), (3,) * len(parents))))
    return BayesianNetwork.from_tables(cpts)


@pytest.fixture(scope="module")
def large():
    return tangled()


def test_of_a_small_network():
    found = example_network("asia").forecast()
    assert found.fits
    assert found.largest_entries == pytest.approx(8)
    assert len(found.largest_clique) == 3
    assert found.n_cliques == 8
    assert found.n_bytes < 10_000
    assert repr(found).splitlines()[0].endswith(": fits")
    assert repr(found).splitlines()[1].startswith("largest clique: 8 entries over 3 variables (")


def test_evidence_makes_it_smaller(large):
    known = {f"x{i}": "a" for i in range(40)}
    assert large.forecast(known).n_entries < large.forecast().n_entries / 1e6
    assert large.forecast(known, "x50").n_entries <= large.forecast(known).n_entries


def test_pruning_makes_it_smaller(large):
    assert large.forecast(target="x3").n_cliques <= 4
    assert large.posterior("x3").probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_joint_makes_it_larger():
    asia = example_network("asia")
    assert asia.forecast(target=["asia", "smoke", "xray", "dysp"]).largest_entries >= 16


def test_everything_known():
    net = example_network("sprinkler")
    row = {"Cloudy": "yes", "Sprinkler": "no", "Rain": "yes", "WetGrass": "yes"}
    found = net.forecast(row)
    assert found.fits
    assert found.largest_clique == ()
    assert "over 0 variables" in repr(found)


def test_what_does_not_fit_says_so_and_offers_ways_out(large):
    found = large.forecast()
    assert not found.fits
    assert found.largest_entries > 1e9
    assert set(found.largest_clique) <= set(large.nodes)
    assert "does not fit. Ways out: ask for fewer variables" in repr(found)


@pytest.mark.parametrize("ask", ["posteriors", "most_probable", "posterior"])
def test_what_does_not_fit_is_refused_with_the_largest_clique(large, ask):
    arguments = ("x0", {f"x{i}": ["a", "b"] for i in range(30, 60)}) if ask == "posterior" else ()
    with pytest.raises(MemoryForecastError) as caught:
        getattr(large, ask)(*arguments)
    message = str(caught.value)
    assert message.startswith("exact inference (largest clique: ")
    assert "entries: 'x" in message
    assert "method='likelihood-weighting'" in message


def test_the_limit_can_be_set(monkeypatch):
    rng = np.random.default_rng(1)
    net = tangled(18, seed=1)
    n_bytes = net.forecast().n_bytes
    assert net.posteriors().log_evidence == pytest.approx(0.0, abs=1e-12)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", str(int(n_bytes / 2)))
    assert not net.forecast().fits
    assert net.forecast().limit == int(n_bytes / 2)
    fresh = BayesianNetwork.from_tables(net.cpts.values())
    with pytest.raises(MemoryForecastError, match=r"largest clique: \d+ variables"):
        fresh.posteriors()
    known = {f"x{i}": str(rng.choice(["a", "b"])) for i in range(0, 18, 2)}
    assert fresh.posteriors(known)["x1"].probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_messages():
    net = example_network("asia")
    with pytest.raises(DataError, match="target must name variables of the network; got 'x-ray'"):
        net.forecast(target="x-ray")
    with pytest.raises(DataError, match="evidence must name variables of the network; got 'x-ray'"):
        net.forecast({"x-ray": "yes"})
