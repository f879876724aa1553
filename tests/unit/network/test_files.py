from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from networks import random_network
from tunbridge.errors import DataError, FileMissingError, FormatError
from tunbridge.network import BayesianNetwork, example_network, read_network

SUFFIXES = [".bif", ".xmlbif", ".xml", ".net", ".dsc", ".xdsl", ".dsl", ".tb", ".bif.gz"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["asia", "burglary", "sprinkler"])
def test_round_trip(tmp_path, name, suffix):
    net = example_network(name)
    net.write(tmp_path / f"n{suffix}")
    back = read_network(tmp_path / f"n{suffix}")
    assert back == net
    assert back.nodes == net.nodes
    assert back.name == name


def test_uai_keeps_the_numbers(tmp_path):
    net = example_network("asia")
    net.write(tmp_path / "n.uai")
    back = read_network(tmp_path / "n.uai")
    for a, b in zip(back.variables, net.variables, strict=True):
        assert a.n_states == b.n_states
    np.testing.assert_array_equal(back.posteriors().marginals, net.posteriors().marginals)


def test_every_kind_of_table(tmp_path):
    for seed in range(10):
        net = BayesianNetwork.from_tables(random_network(np.random.default_rng(seed)))
        net.write(tmp_path / "n.tb")
        assert read_network(tmp_path / "n.tb") == net


def test_the_format_can_be_said(tmp_path):
    net = example_network("asia")
    net.write(tmp_path / "n.txt", format="bif")
    assert read_network(tmp_path / "n.txt", format="bif") == net
    with pytest.raises(DataError, match=r"\.bif"):
        read_network(tmp_path / "n.txt")
    with pytest.raises(DataError, match=r"\.bif"):
        net.write(tmp_path / "n.doc")


def test_properties_stay(tmp_path):
    net = BayesianNetwork.from_tables(
        example_network("asia").cpts.values(), properties={"": ("author = me",), "tub": ("position = (1, 2)",)}
    )
    net.write(tmp_path / "n.bif")
    assert read_network(tmp_path / "n.bif").properties == {"": ("author = me",), "tub": ("position = (1, 2)",)}


def test_no_such_file(tmp_path):
    with pytest.raises(FileMissingError):
        read_network(tmp_path / "none.bif")


def test_a_damaged_file(tmp_path):
    (tmp_path / "n.bif").write_text("network x {\n}\nvariable a {")
    with pytest.raises(FormatError, match="line 3"):
        tb.read_network(tmp_path / "n.bif")


NETWORKS = (
    "alarm", "andes", "asia", "cancer", "child", "earthquake", "hailfinder", "hepar2", "insurance", "pigs", "sachs",
    "survey", "water", "win95pts",
)  # fmt: skip


def as_pyagrum(net):
    """Return the network with the same double-precision tables; pyAgrum itself reads files in single precision."""
    gum = pytest.importorskip("pyagrum")
    other = gum.BayesNet()
    for v in net.variables:
        other.add(gum.LabelizedVariable(v.name, v.name, [f"s{k}" for k in range(v.n_states)]))
    for parent, child in net.dag.arcs:
        other.addArc(parent, child)
    for name in net.nodes:
        cpt, table = other.cpt(name), net.cpt(name).table()
        own = [*(p.name for p in net.cpt(name).parents), name]
        cpt[:] = np.ascontiguousarray(table.transpose([own.index(n) for n in reversed(cpt.names)]))
    return gum, other


@pytest.mark.shared
@pytest.mark.peer
@pytest.mark.parametrize("name", NETWORKS)
def test_marginals_as_pyagrum_tells_them(shared_data, name):
    net = read_network(shared_data / "networks" / f"{name}.bif")
    gum, other = as_pyagrum(net)
    inference = gum.LazyPropagation(other)
    row = {v: column[0] for v, column in net.sample(1, random_state=1).to_arrow().to_pydict().items()}
    rng = np.random.default_rng(2)
    for n_findings in (0, 3, 6):
        seen = [net.nodes[i] for i in rng.permutation(len(net.nodes))[: min(n_findings, len(net.nodes) - 1)]]
        evidence = {v: row[v] for v in seen}
        inference.setEvidence({v: net.variable(v).code(state) for v, state in evidence.items()})
        inference.makeInference()
        found = net.posteriors(evidence)
        for v in net.nodes:
            np.testing.assert_allclose(
                found[v].probabilities, inference.posterior(v).toarray(), rtol=0, atol=1e-9, err_msg=v
            )
        if seen:
            assert np.exp(found.log_evidence) == pytest.approx(inference.evidenceProbability(), rel=1e-8)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["munin1", "link"])
def test_large_networks_answer_single_questions(shared_data, name):
    """What is left after pruning is small; all marginals are for the benchmarks."""
    net = read_network(shared_data / "networks" / f"{name}.bif")
    roots = net.dag.roots[:5]
    for v in roots:
        np.testing.assert_array_equal(net.posterior(v).probabilities, net.cpt(v).table())
    child = net.dag.children(roots[0])[0]
    parents = net.dag.parents(child)
    if all(p in net.dag.roots for p in parents):
        table = net.cpt(child).table()
        for p in parents:
            table = np.tensordot(net.cpt(p).table(), table, axes=(0, 0))
        np.testing.assert_allclose(net.posterior(child).probabilities, table, rtol=0, atol=1e-12)


def test_the_formats_are_listed_once(tmp_path):
    net = tb.example_network("asia")
    with pytest.raises(
        DataError,
        match=r"format must be one of 'bif', 'dsc', 'dsl', 'net', 'tb', 'uai', 'xdsl', 'xmlbif'; got 'json'\.$",
    ):
        net.write(tmp_path / "asia.dat", format="json")
    with pytest.raises(DataError, match=r"got 'bfi'\. Did you mean 'bif'\?"):
        net.write(tmp_path / "asia.dat", format="bfi")


@pytest.mark.parametrize("format", ["tb", "native"])
def test_the_own_format_has_two_names(tmp_path, format):
    net = tb.example_network("asia")
    net.write(tmp_path / "asia.dat", format=format)
    assert tb.read_network(tmp_path / "asia.dat", format) == net


def test_save_is_write(tmp_path):
    net = tb.example_network("asia")
    for name in ("asia.tb", "asia.bif"):
        net.save(tmp_path / name)
        assert tb.read_network(tmp_path / name).dag == net.dag
    with pytest.raises(tb.FileMissingError):
        tb.read_network(tmp_path / "none.tb")


def test_percentages_in_a_file_are_recognised(tmp_path):
    path = tmp_path / "rain.bif"
    tb.BayesianNetwork({"Rain": ["no", "yes"]}, [], {"Rain": [0.8, 0.2]}).write(path)
    path.write_text(path.read_text().replace("0.8", "80").replace("0.2", "20"))
    with pytest.raises(DataError, match=r"must sum to 1; got 100\. They look like percentages\."):
        tb.read_network(path)
