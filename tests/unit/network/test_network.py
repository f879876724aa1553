from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tunbridge as tb
from networks import random_network
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.inference import Engine
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT


@pytest.fixture(scope="module")
def asia():
    return example_network("asia")


class TestParts:
    def test_what_it_is_made_of(self, asia):
        assert asia.name == "asia"
        assert asia.nodes == ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
        assert [v.name for v in asia.variables] == list(asia.nodes)
        assert asia.variable("tub") == Variable("tub", ["yes", "no"])
        assert asia.dag.parents("dysp") == ("either", "bronc")
        assert asia.n_parameters == 18
        assert asia.cpt("tub").distribution({"asia": "yes"})["yes"] == 0.05
        assert list(asia.cpts) == list(asia.nodes)
        assert asia.properties == {}

    def test_the_graph_by_name(self, asia):
        assert asia.arcs == asia.dag.arcs
        assert asia.parents("dysp") == ("either", "bronc")
        assert asia.children("smoke") == ("lung", "bronc")
        assert asia.markov_blanket("either") == asia.dag.markov_blanket("either")

    def test_print(self, asia):
        assert repr(asia) == "BayesianNetwork 'asia': 8 variables, 8 arcs, 18 parameters"
        lines = str(asia).splitlines()
        assert lines[0] == repr(asia)
        assert [line.split() for line in (lines[1], lines[3], lines[9])] == [
            ["variable", "states", "parents"],
            ["tub", "'yes',", "'no'", "asia"],
            ["dysp", "'yes',", "'no'", "either,", "bronc"],
        ]
        large = BayesianNetwork.from_tables([CPT(Variable(f"v{i}", ["a", "b"]), [], [0.5, 0.5]) for i in range(30)])
        assert str(large).splitlines()[-1] == "… and 10 more variables"
        assert len(str(large).splitlines()) == 23

    def test_nothing_of_it_can_be_changed(self, asia):
        with pytest.raises(TypeError):
            asia.cpts["tub"] = None
        with pytest.raises(ValueError, match="read-only"):
            asia.cpt("tub").table()[0] = 0.5
        with pytest.raises(TypeError):
            asia.properties["tub"] = ("x",)
        with pytest.raises(AttributeError):
            asia.dag = None

    @pytest.mark.parametrize("ask", ["variable", "cpt", "parents", "children", "markov_blanket"])
    def test_unknown_names(self, asia, ask):
        with pytest.raises(DataError, match=r"name must be a variable .* got 'lungs'\. Did you mean 'lung'\?"):
            getattr(asia, ask)("lungs")

    def test_independence(self, asia):
        assert asia.independent("asia", "smoke")
        assert not asia.independent("asia", "smoke", given="dysp")
        assert asia.independent("asia", ["xray", "dysp"], given=["either", "bronc"])
        with pytest.raises(DataError, match="'lungs'"):
            asia.independent("lungs", "asia")


class TestAsAnObject:
    def test_equality(self, asia):
        assert asia == example_network("asia")
        assert asia != example_network("burglary")
        assert asia != asia.do({"tub": "yes"})
        assert asia != "asia"
        tables = [CPT(c.variable, c.parents, c.table()) for c in reversed(asia.cpts.values())]
        assert BayesianNetwork.from_tables(tables) == asia  # whatever the order and the name

    def test_is_not_hashable(self, asia):
        with pytest.raises(TypeError):
            hash(asia)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
    def test_copies_answer_alike(self, asia, again):
        asia.posteriors({"xray": "yes"})  # with what was compiled for it
        other = again(asia)
        assert other == asia
        assert other.name == "asia"
        np.testing.assert_array_equal(
            other.posteriors({"xray": "yes"}).marginals, asia.posteriors({"xray": "yes"}).marginals
        )

    def test_pickles_of_all_kinds_of_tables(self):
        for seed in range(10):
            net = BayesianNetwork.from_tables(random_network(np.random.default_rng(seed)), name="ü", properties={})
            other = pickle.loads(pickle.dumps(net))
            assert other == net
            assert other.name == "ü"

    def test_repr(self, asia):
        assert repr(asia) == "BayesianNetwork 'asia': 8 variables, 8 arcs, 18 parameters"
        one = BayesianNetwork({"Rain": ["no", "yes"]}, [], {"Rain": [0.8, 0.2]})
        assert repr(one) == "BayesianNetwork: 1 variable, 0 arcs, 1 parameter"

    def test_tables_and_properties_cannot_be_changed(self, asia):
        lines = ["unit = day"]
        net = BayesianNetwork.from_tables(asia.cpts.values(), properties={"lung": lines, "tub": []})
        lines.append("unit = week")
        assert dict(net.properties) == {"lung": ("unit = day",)}
        for mapping in (net.cpts, net.properties):
            with pytest.raises(TypeError):
                mapping["lung"] = ()

    def test_the_engine_is_built_for_the_first_question(self, asia, monkeypatch, tmp_path):
        built = []
        monkeypatch.setattr("tunbridge.network.network.Engine", lambda cpts: built.append(1) or Engine(cpts))
        net = BayesianNetwork.of_valid(asia.cpts.values(), name="asia")
        net.write(tmp_path / "asia.bif")
        assert net == asia
        assert repr(net) == repr(asia)
        assert not built
        assert net.posterior("lung") == asia.posterior("lung")
        net.posterior("tub")
        assert built == [1]

    def test_the_public_face(self):
        assert tb.BayesianNetwork is BayesianNetwork
        assert tb.example_network is example_network


class TestDoors:
    """Each question finds its way; what the answers are is tested where they are made."""

    def test_questions(self, asia):
        evidence = {"dysp": "yes"}
        assert asia.posterior("lung", evidence).mode == "no"
        assert set(asia.posteriors(evidence)) == set(asia.nodes)
        assert 0 < asia.probability({"lung": "yes"}, evidence) < 1
        assert asia.log_probability(evidence) < 0
        assert asia.most_probable(evidence)["dysp"] == "yes"
        assert asia.explain("lung", evidence).target == "lung"
        assert asia.conflict(evidence).measure == pytest.approx(0.0, abs=1e-12)
        assert asia.forecast(evidence, "lung").fits
        assert asia.do({"lung": "yes"}).posterior("smoke")["yes"] == pytest.approx(0.5)

    def test_rows(self, asia):
        rows = asia.sample(50, random_state=0)
        assert rows.n_rows == 50
        assert asia.predict_proba(rows, "lung").shape == (50, 2)
        assert asia.log_likelihood(rows).shape == (50,)
        assert set(asia.posteriors(rows)) == set(asia.nodes)
        assert len(asia.predict(rows, "lung")) == 50


class TestNetworkx:
    """Conversion to and from networkx."""

    def test_a_round_trip(self, asia, networkx):
        graph = asia.to_networkx()
        assert list(graph.nodes) == list(asia.nodes)
        assert graph.nodes["tub"]["cpt"] is asia.cpt("tub")
        again = BayesianNetwork.from_networkx(graph)
        assert again == asia
        assert again.name == "asia"

    def test_what_is_refused(self, asia, networkx):
        with pytest.raises(DataError, match=r"every node must have a table as attribute 'cpt'; 'asia', .* have none"):
            BayesianNetwork.from_networkx(asia.dag.to_networkx())
        graph = tb.DAG(["a", "b"], [("a", "b")]).to_networkx()
        for name in "ab":
            graph.nodes[name]["cpt"] = CPT(Variable(name, ["x", "y"]), [], [0.5, 0.5])
        with pytest.raises(DataError, match="the nodes and arcs of graph must be those of its tables"):
            BayesianNetwork.from_networkx(graph)
