from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.network import example_network


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_arcs", "n_parameters"),
    [("asia", 8, 8, 18), ("burglary", 5, 4, 10), ("sprinkler", 4, 4, 9)],
)
def test_sizes(name, n_nodes, n_arcs, n_parameters):
    net = example_network(name)
    assert (len(net.nodes), len(net.dag.arcs), net.n_parameters) == (n_nodes, n_arcs, n_parameters)
    assert net.name == name
    assert all(v.states == ("yes", "no") for v in net.variables)


def test_an_or_without_noise_stands_in_asia():
    table = example_network("asia").cpt("either").table()
    np.testing.assert_array_equal(table[..., 0], [[1, 1], [1, 0]])


def test_each_call_gives_a_network_of_its_own():
    assert example_network("asia") is not example_network("asia")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("asai", "the example must be one of 'asia', 'burglary', 'sprinkler'; got 'asai'. Did you mean 'asia'?"),
        (None, "the example must be one of 'asia', 'burglary', 'sprinkler'; got None."),
    ],
)
def test_messages(name, message):
    with pytest.raises(DataError) as caught:
        example_network(name)
    assert str(caught.value) == message


@pytest.mark.shared
def test_asia_is_that_of_the_repository(shared_data):
    from tunbridge.network import read_network

    ours, theirs = example_network("asia"), read_network(shared_data / "networks" / "asia.bif")
    assert set(ours.dag.arcs) == set(theirs.dag.arcs)
    for name in ours.nodes:
        assert ours.posterior(name)["yes"] == pytest.approx(theirs.posterior(name)["yes"], abs=1e-12)
