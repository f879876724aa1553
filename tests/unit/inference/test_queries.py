from __future__ import annotations

import math

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, ImpossibleEvidenceError, MemoryForecastError, TunbridgeError
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT

CALLS = {"JohnCalls": "yes", "MaryCalls": "yes"}


@pytest.fixture(scope="module")
def burglary():
    return example_network("burglary")


class TestPosterior:
    def test_one_variable(self, burglary):
        found = burglary.posterior("Burglary", CALLS)
        assert found["yes"] == pytest.approx(0.2841718353643929, abs=1e-12)
        assert [v.name for v in found.variables] == ["Burglary"]

    def test_without_evidence(self, burglary):
        assert burglary.posterior("Alarm")["yes"] == pytest.approx(0.002516442, abs=1e-12)
        assert burglary.posterior("Alarm", {}) == burglary.posterior("Alarm") == burglary.posterior("Alarm", None)

    def test_an_observed_target_is_certain(self, burglary):
        assert dict(burglary.posterior("Alarm", {"Alarm": "no"})) == {"yes": 0.0, "no": 1.0}

    def test_several_variables_in_the_order_asked(self, burglary):
        found = burglary.posterior(["Alarm", "Burglary"], CALLS)
        other = burglary.posterior(("Burglary", "Alarm"), CALLS)
        assert [v.name for v in found.variables] == ["Alarm", "Burglary"]
        np.testing.assert_allclose(found.probabilities, other.probabilities.T, rtol=0, atol=1e-15)
        assert found["yes", "yes"] == pytest.approx(other["yes", "yes"])
        assert found.marginal("Burglary")["yes"] == pytest.approx(0.2841718353643929)

    def test_observed_ones_among_several(self, burglary):
        found = burglary.posterior(["JohnCalls", "Burglary"], CALLS)
        assert found["yes", "yes"] == pytest.approx(0.2841718353643929)
        assert found["no", "yes"] == 0.0

    def test_a_list_of_one(self, burglary):
        assert burglary.posterior(["Burglary"], CALLS) == burglary.posterior("Burglary", CALLS)

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("Burglar", "target must name variables of the network; got 'Burglar'. Did you mean 'Burglary'?"),
            (["Alarm", "Fire"], "target must name variables of the network; got 'Fire'. Known: 'Burglary', "),
            ([], "target must name at least one variable."),
            (["Alarm", "Alarm"], "target must name every variable once; got 'Alarm', 'Alarm'."),
            (None, "target must name variables of the network; got None."),
            (3, "target must name variables of the network; got 3."),
        ],
    )
    def test_messages(self, burglary, target, message):
        with pytest.raises(DataError) as caught:
            burglary.posterior(target)
        assert message in str(caught.value)

    def test_too_many_axes_are_refused(self):
        names = [f"x{i}" for i in range(70)]
        net = BayesianNetwork({n: ["a", "b"] for n in names}, [], {n: [0.5, 0.5] for n in names})
        with pytest.raises(DataError, match="target must name at most 64 variables at once; got 70"):
            net.posterior(names, dict.fromkeys(names, "a"))
        with pytest.raises(MemoryForecastError, match=r"the joint distribution would need .* Ask for fewer variables"):
            net.posterior(names[:64], dict.fromkeys(names, "a"))
        assert net.posterior(names[:16], dict.fromkeys(names, "a"))[("a",) * 16] == 1.0

    def test_a_joint_that_would_not_fit_is_refused(self):
        names = [f"x{i}" for i in range(20)]
        states = [str(k) for k in range(20)]
        net = BayesianNetwork(dict.fromkeys(names, states), [], dict.fromkeys(names, np.full(20, 0.05)))
        with pytest.raises(MemoryForecastError, match="the joint distribution would need more than 1000 PiB"):
            net.posterior(names)


class TestPosteriors:
    def test_is_a_mapping_of_all_variables(self, burglary):
        found = burglary.posteriors(CALLS)
        assert list(found) == list(burglary.nodes)
        assert len(found) == 5
        assert "Alarm" in found
        assert "Fire" not in found
        assert found["Burglary"] == burglary.posterior("Burglary", CALLS)
        assert found.get("Fire") is None

    def test_tells_the_probability_of_the_evidence(self, burglary):
        assert math.exp(burglary.posteriors(CALLS).log_evidence) == pytest.approx(0.00208410, abs=5e-9)
        assert burglary.posteriors().log_evidence == pytest.approx(0.0, abs=1e-12)

    def test_an_unknown_name_is_a_key_error_with_a_hint(self, burglary):
        with pytest.raises(KeyError) as caught:
            burglary.posteriors()["Alarms"]
        assert isinstance(caught.value, TunbridgeError)
        assert (
            str(caught.value) == "a posterior must name variables of the network; got 'Alarms'. Did you mean 'Alarm'?"
        )

    def test_repr(self, burglary):
        lines = repr(burglary.posteriors(CALLS)).splitlines()
        assert lines[0].split() == ["variable", "most", "probable", "probability"]
        assert lines[3].split() == ["Alarm", "yes", "0.760692"]
        assert "<table" in burglary.posteriors()._repr_html_()

    def test_repr_of_many_says_how_many(self):
        names = [f"x{i}" for i in range(70)]
        net = BayesianNetwork(dict.fromkeys(names, ("a", "b")), [], dict.fromkeys(names, (0.5, 0.5)))
        assert repr(net.posteriors()).endswith("… the first 60 of 70 variables")


class TestLogProbability:
    def test_of_evidence(self, burglary):
        assert burglary.log_probability({"Burglary": "yes", "Earthquake": "no"}) == pytest.approx(
            math.log(0.001 * 0.998)
        )
        assert burglary.log_probability({}) == pytest.approx(0.0, abs=1e-12)

    def test_rounding_makes_no_probability_above_one(self):
        rng, states = np.random.default_rng(1), [f"s{i}" for i in range(4)]
        nothing, factor = dict.fromkeys(states, 1), dict.fromkeys(states, 7)
        found, tables = [], {"A": (4,), "B": (4, 4), "C": (4, 4, 4)}
        for _ in range(30):
            cpts = {name: rng.dirichlet(np.ones(4), shape[:-1]) for name, shape in tables.items()}
            net = BayesianNetwork(dict.fromkeys("ABC", states), [("A", "B"), ("A", "C"), ("B", "C")], cpts)
            found += [net.log_probability({"C": nothing}), net.posteriors(dict.fromkeys("ABC", nothing)).log_evidence]
            assert math.log(7) - 1e-12 < net.log_probability({"C": factor}) <= math.log(7)
        assert -1e-12 < min(found) <= max(found) <= 0

    def test_of_likelihoods(self, burglary):
        soft = {"Burglary": {"yes": 0.8, "no": 0.4}}
        assert burglary.log_probability(soft) == pytest.approx(math.log(0.001 * 0.8 + 0.999 * 0.4))

    def test_of_what_is_impossible(self):
        assert example_network("asia").log_probability({"tub": "yes", "either": "no"}) == -math.inf


class TestProbability:
    def test_a_dict_holds_when_all_of_it_does(self, burglary):
        assert burglary.probability({"Alarm": "yes", "Burglary": "no"}) == pytest.approx(
            burglary.posterior(["Alarm", "Burglary"])["yes", "no"]
        )
        assert burglary.probability({"Alarm": ["yes", "no"]}, CALLS) == pytest.approx(1.0)
        assert burglary.probability({}, CALLS) == pytest.approx(1.0)

    def test_a_list_holds_when_any_of_it_does(self, burglary):
        either = burglary.probability([{"JohnCalls": "yes"}, {"MaryCalls": "yes"}])
        john, mary = (burglary.posterior(name)["yes"] for name in CALLS)
        assert either == pytest.approx(john + mary - burglary.probability(CALLS))
        assert burglary.probability([]) == 0.0
        assert burglary.probability([{}]) == 1.0

    def test_a_function_of_states(self, burglary):
        same = burglary.probability(lambda john, mary: john == mary, of=["JohnCalls", "MaryCalls"])
        joint = burglary.posterior(["JohnCalls", "MaryCalls"])
        assert same == pytest.approx(joint["yes", "yes"] + joint["no", "no"])

    @pytest.mark.parametrize("of", ["Alarm", ["Alarm"]])
    def test_a_function_of_one_state(self, burglary, of):
        assert burglary.probability(lambda alarm: alarm == "yes", of=of) == pytest.approx(0.002516442)

    def test_events_that_contradict_the_evidence(self, burglary):
        assert burglary.probability({"JohnCalls": "no"}, CALLS) == 0.0
        assert burglary.probability({"Alarm": "no"}, {"Alarm": {"yes": 0.5, "no": 0.0}}) == 0.0
        assert burglary.probability([{"JohnCalls": "no"}], CALLS) == 0.0

    @pytest.mark.parametrize(
        ("event", "message"),
        [
            ({"Fire": "yes"}, "an event must name variables of the network; got 'Fire'."),
            ({"Alarm": "on"}, "an event must give a state of 'Alarm'; got 'on'."),
            ([{"Alarm": "yes"}, "x"], "an event must be a dict, a list of dicts, or a function with of=[…]; got"),
            (5, "an event must be a dict, a list of dicts, or a function with of=[…]; got 5."),
            (lambda: True, "of must name the variables that the function gets, as in of=['A', 'B']."),
        ],
    )
    def test_messages(self, burglary, event, message):
        with pytest.raises(DataError) as caught:
            burglary.probability(event)
        assert message in str(caught.value)

    def test_impossible_evidence(self):
        asia = example_network("asia")
        for event in ({"xray": "yes"}, [{"xray": "yes"}]):
            with pytest.raises(ImpossibleEvidenceError):
                asia.probability(event, {"tub": "yes", "either": "no"})


class TestTextbooks:
    """What the books say of the networks they made known."""

    def test_burglary(self, burglary):
        """Russell and Norvig, Artificial Intelligence: P(Burglary | both call) = ⟨0.284, 0.716⟩."""
        assert round(burglary.posterior("Burglary", CALLS)["yes"], 4) == 0.2842
        assert round(burglary.posterior("Alarm", CALLS)["yes"], 4) == 0.7607
        assert round(burglary.posterior("Earthquake", CALLS)["yes"], 4) == 0.1761

    def test_sprinkler(self):
        """Murphy's tutorial on the same numbers: P(S=1 | W=1) = 0.430, P(R=1 | W=1) = 0.708, P(W=1) = 0.6471."""
        net = example_network("sprinkler")
        assert round(net.posterior("WetGrass")["yes"], 4) == 0.6471
        assert round(net.posterior("Sprinkler", {"WetGrass": "yes"})["yes"], 4) == 0.4298
        assert round(net.posterior("Rain", {"WetGrass": "yes"})["yes"], 4) == 0.7079
        assert round(net.posterior("Sprinkler", {"WetGrass": "yes", "Rain": "yes"})["yes"], 4) == 0.1945

    def test_asia(self):
        """Lauritzen and Spiegelhalter (1988), table 5 and section 2: a patient with dyspnoea who was in Asia."""
        net = example_network("asia")
        prior = {"tub": 0.0104, "lung": 0.055, "bronc": 0.45, "xray": 0.11, "dysp": 0.436, "either": 0.0648}
        for name, p in prior.items():
            assert net.posterior(name)["yes"] == pytest.approx(p, abs=6e-4)
        visited = net.posteriors({"asia": "yes", "dysp": "yes"})
        for name, p in {"tub": 0.088, "lung": 0.100, "bronc": 0.811, "smoke": 0.626}.items():
            assert visited[name]["yes"] == pytest.approx(p, abs=6e-4)
        clear = net.posteriors({"asia": "yes", "dysp": "yes", "xray": "no"})
        assert clear["tub"]["yes"] < 0.003
        assert clear["bronc"]["yes"] > 0.85

    def test_flu_malaria_fever(self):
        """Two causes of a fever, counted from a hundred patients: explaining away."""
        counter = tb.Counter(tb.datasets.flu_malaria_fever())
        variables = {v.name: v for v in counter.variables}

        def cpt(name, parents):
            counts = counter.family(name, parents).table
            counts = np.asarray(counts, float)
            return CPT(variables[name], [variables[p] for p in parents], counts / counts.sum(axis=-1, keepdims=True))

        net = BayesianNetwork.from_tables([cpt("flu", []), cpt("malaria", []), cpt("fever", ["flu", "malaria"])])
        yes = {name: v.states[-1] for name, v in variables.items()}
        no = {name: v.states[0] for name, v in variables.items()}

        def fever(flu, malaria):
            return net.posterior("fever", {"flu": flu["flu"], "malaria": malaria["malaria"]})[yes["fever"]]

        assert fever(yes, yes) == pytest.approx(1.00)
        assert fever(no, no) == pytest.approx(0.15)
        assert fever(yes, no) == pytest.approx(0.75)
        assert fever(no, yes) == pytest.approx(0.80)
        hot = net.posterior("flu", {"fever": yes["fever"]})[yes["flu"]]
        explained = net.posterior("flu", {"fever": yes["fever"], "malaria": yes["malaria"]})[yes["flu"]]
        assert net.posterior("flu")[yes["flu"]] < explained < hot
