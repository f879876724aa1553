from __future__ import annotations

import math

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT, deterministic

NO_YES = ["no", "yes"]


@pytest.fixture(scope="module")
def asia():
    return example_network("asia")


class TestConflict:
    def test_is_the_logarithm_of_the_ratio(self, asia):
        evidence = {"xray": "yes", "bronc": "yes", "dysp": "no"}
        found = asia.conflict(evidence)
        alone = sum(asia.log_probability({name: state}) for name, state in evidence.items())
        assert found.measure == pytest.approx(alone - asia.log_probability(evidence), abs=1e-12)
        for name in evidence:
            rest = {n: s for n, s in evidence.items() if n != name}
            assert found.without[name] == pytest.approx(asia.conflict(rest).measure, abs=1e-12)

    def test_findings_of_one_story_agree_and_others_do_not(self, asia):
        assert asia.conflict({"xray": "yes", "lung": "yes"}).measure < 0
        assert asia.conflict({"bronc": "yes", "dysp": "no"}).measure > 0

    def test_one_finding_or_none_is_in_no_conflict(self, asia):
        assert asia.conflict({"xray": "yes"}).measure == pytest.approx(0.0, abs=1e-12)
        assert asia.conflict({}).measure == pytest.approx(0.0, abs=1e-12)

    def test_the_scale_of_likelihoods_does_not_matter(self, asia):
        a = asia.conflict({"dysp": {"yes": 0.2, "no": 0.8}, "bronc": "yes"}).measure
        b = asia.conflict({"dysp": {"yes": 2.0, "no": 8.0}, "bronc": "yes"}).measure
        assert a == pytest.approx(b, abs=1e-12)

    def test_repr(self, asia):
        text = repr(asia.conflict({"bronc": "yes", "dysp": "no"}))
        assert text.splitlines()[0].startswith("Conflict +1.077")
        assert text.splitlines()[0].endswith(": the evidence disagrees")
        assert "the evidence agrees" in repr(asia.conflict({"xray": "yes", "lung": "yes"}))
        assert repr(asia.conflict({})).count("\n") == 0

    def test_messages(self, asia):
        with pytest.raises(DataError, match="evidence must name variables of the network; got 'x-ray'"):
            asia.conflict({"x-ray": "yes"})
        with pytest.raises(ImpossibleEvidenceError):
            asia.conflict({"tub": "yes", "either": "no"})


class TestImpossibleEvidence:
    def test_names_a_smallest_part(self, asia):
        evidence = {"asia": "yes", "smoke": "no", "tub": "yes", "either": "no", "xray": "no"}
        with pytest.raises(ImpossibleEvidenceError) as caught:
            asia.posterior("bronc", evidence)
        assert caught.value.conflict == {"tub": "yes", "either": "no"}
        assert str(caught.value) == (
            "the evidence must be possible; tub='yes' and either='no' have probability zero together. "
            "Leave out some evidence, or check the tables."
        )

    def test_one_finding_alone(self):
        net = BayesianNetwork({"A": NO_YES}, [], {"A": [1.0, 0.0]})
        with pytest.raises(ImpossibleEvidenceError, match="A='yes' has probability zero\\. Leave out") as caught:
            net.posterior("A", {"A": "yes"})
        assert caught.value.conflict == {"A": "yes"}

    def test_likelihoods_are_told_by_the_states_they_leave(self, asia):
        evidence = {"tub": {"yes": 0.4, "no": 0.0}, "lung": ["yes", "no"], "either": "no"}
        with pytest.raises(ImpossibleEvidenceError) as caught:
            asia.posteriors(evidence)
        assert caught.value.conflict == {"tub": "yes", "either": "no"}

    def test_several_states_that_are_all_impossible(self):
        net = BayesianNetwork({"A": ["a", "b", "c"]}, [], {"A": [1.0, 0.0, 0.0]})
        with pytest.raises(ImpossibleEvidenceError) as caught:
            net.posterior("A", {"A": ["b", "c"]})
        assert caught.value.conflict == {"A": ["b", "c"]}

    def test_smaller_than_what_leaving_out_one_by_one_finds(self):
        """Three findings that contradict together are named only where no two do."""
        bits = [Variable(f"b{i}", NO_YES) for i in range(3)]
        parity = Variable("parity", NO_YES)
        copy = Variable("copy", NO_YES)
        net = BayesianNetwork.from_tables(
            [*(CPT(b, [], [0.5, 0.5]) for b in bits),
             deterministic(parity, bits, lambda *s: NO_YES[s.count("yes") % 2]),
             deterministic(copy, [bits[2]], lambda s: s)]
        )  # fmt: skip
        four = {"b0": "yes", "b1": "no", "b2": "no", "parity": "no"}
        with pytest.raises(ImpossibleEvidenceError) as caught:
            net.posteriors(four)
        assert caught.value.conflict == four
        with pytest.raises(ImpossibleEvidenceError) as caught:
            net.posteriors({"copy": "yes"} | four)
        assert caught.value.conflict == {"copy": "yes", "b2": "no"}

    def test_among_many_findings(self):
        rng = np.random.default_rng(0)
        names = [f"x{i}" for i in range(60)]
        arcs = [(names[i], names[i + 1]) for i in range(59)]
        cpts = {name: rng.dirichlet([1, 1], 2) if i else [0.5, 0.5] for i, name in enumerate(names)}
        cpts["x30"] = [[1.0, 0.0], [0.4, 0.6]]
        net = BayesianNetwork(dict.fromkeys(names, NO_YES), arcs, cpts)
        evidence = dict.fromkeys(names, "no") | {"x30": "yes"}
        with pytest.raises(ImpossibleEvidenceError) as caught:
            net.posteriors(evidence)
        assert caught.value.conflict == {"x29": "no", "x30": "yes"}
        assert net.log_probability(evidence) == -math.inf
