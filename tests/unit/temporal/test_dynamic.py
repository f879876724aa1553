from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import tunbridge as tb
from dynamic_networks import random_dynamic, unrolled_evidence
from tunbridge.errors import DataError, DataWarning, ImpossibleEvidenceError, MemoryForecastError, UnknownVariableError
from tunbridge.probability import CPT
from tunbridge.temporal.dynamic import DynamicBayesianNetwork, slices

WEATHER = {"Rain": ["no", "yes"], "Umbrella": ["no", "yes"]}
TABLES = {"Rain": {"no": [0.7, 0.3], "yes": [0.3, 0.7]}, "Umbrella": {"no": [0.8, 0.2], "yes": [0.1, 0.9]}}
ARCS = [("Rain[t-1]", "Rain"), ("Rain", "Umbrella")]


def umbrella(arcs=ARCS, first=None, cpts=TABLES):
    return DynamicBayesianNetwork(WEATHER, first=first or {"Rain": [0.5, 0.5]}, arcs=arcs, cpts=cpts)


def carried(text):
    return [{"Umbrella": "yes" if letter == "u" else "no"} for letter in text]


class TestUmbrella:
    def test_filter_and_smooth(self):
        net, five = umbrella(), carried("uunuu")
        rain = [p["yes"] for p in net.filter(five, "Rain")]
        np.testing.assert_allclose(rain, [0.8182, 0.8834, 0.1907, 0.7308, 0.8673], rtol=0, atol=5e-5)
        rain = net.smooth(five, "Rain").array[:, 1]
        np.testing.assert_allclose(rain, [0.8673, 0.8204, 0.3075, 0.8204, 0.8673], rtol=0, atol=5e-5)
        assert net.filter(carried("uu"), "Rain")[1]["yes"] == pytest.approx(0.883357, abs=5e-7)
        assert net.smooth(carried("uu"), "Rain")[0]["yes"] == pytest.approx(0.883357, abs=5e-7)

    def test_likelihood(self):
        assert math.exp(umbrella().log_probability(carried("uunuu"))) == pytest.approx(0.0343037005, rel=1e-9)
        assert math.exp(umbrella().log_probability(carried("uu"))) == pytest.approx(0.3515, rel=1e-12)

    def test_prediction_and_path(self):
        net = umbrella()
        ahead = net.predict(carried("uu"), "Rain", steps=2)
        np.testing.assert_allclose(ahead.array[:, 1], [0.6533, 0.5613], rtol=0, atol=5e-5)
        assert (ahead.start, len(ahead)) == (2, 2)
        assert net.most_probable(carried("uunuu"))["Rain"] == ["yes", "yes", "no", "yes", "yes"]

    def test_unrolled(self):
        net, evidence = umbrella().unrolled(5), unrolled_evidence(carried("uunuu"))
        assert net.posterior("Rain[2]", evidence)["yes"] == pytest.approx(0.3075, abs=5e-5)
        assert math.exp(net.log_probability(evidence)) == pytest.approx(0.0343037005, rel=1e-9)

    def test_long_sequences_do_not_underflow(self):
        found = umbrella().smooth(carried("uun" * 3000), "Rain")
        assert np.isfinite(found.log_likelihood)
        np.testing.assert_allclose(found.array.sum(axis=1), 1.0, rtol=1e-12)


class TestBuilding:
    @pytest.mark.parametrize(
        "lagged", [("Rain[t-1]", "Rain"), ("Rain[t-1]", "Rain[t]"), ("Rain", "Rain'"), ("Rain[t]", "Rain[t+1]")]
    )
    def test_ways_to_write_an_arc(self, lagged):
        net = umbrella(arcs=[lagged, ("Rain'", "Umbrella'")])
        assert net == umbrella()
        assert net.arcs == tuple(ARCS)

    def test_parts(self):
        net = umbrella()
        assert repr(net) == "DynamicBayesianNetwork: 2 variables, 1 arc in a slice, 1 arc between slices"
        assert (net.nodes, net.interface, net.order, net.n_parameters) == (("Rain", "Umbrella"), ("Rain",), 1, 5)
        assert net.first.arcs == (("Rain", "Umbrella"),)
        assert net.transition.arcs == (("Rain[t-1]", "Rain"), ("Rain", "Umbrella"))
        assert net.cpts["Rain"].parents[0].name == "Rain[t-1]"
        assert pickle.loads(pickle.dumps(net)) == net

    def test_the_first_slice_as_a_network(self):
        first = tb.BayesianNetwork(
            WEATHER, [("Umbrella", "Rain")], {"Umbrella": [0.6, 0.4], "Rain": [[0.9, 0.1], [0.2, 0.8]]}
        )
        net = umbrella(first=first)
        assert net.filter([{}], "Rain")[0]["yes"] == pytest.approx(first.posterior("Rain")["yes"], rel=1e-12)
        with pytest.raises(DataError, match="the first slice must have the variables"):
            umbrella(first=tb.BayesianNetwork({"Rain": ["no", "yes"]}, [], {"Rain": [0.5, 0.5]}))

    def test_finished_tables(self):
        rain = tb.Variable("Rain", ["no", "yes"])
        table = CPT(rain, [rain.renamed("Rain[t-1]")], [[0.7, 0.3], [0.3, 0.7]])
        assert umbrella(cpts={**TABLES, "Rain": table}) == umbrella()
        net = umbrella()
        assert DynamicBayesianNetwork.from_tables(net.first, list(net.cpts.values())) == net

    @pytest.mark.parametrize(
        ("arcs", "message"),
        [
            ([("Rain", "Rain[t-1]")], "arcs must not lead backwards in time; got 'Rain' → 'Rain\\[t-1\\]'"),
            ([("Rain'", "Umbrella")], "backwards"),
            ([("Rain[t-1]", "Rain"), ("Rain", "Rain'")], "arcs must be distinct; got 'Rain\\[t-1\\] → Rain' twice"),
            ([("Rain", "Umbrella"), ("Umbrella", "Rain")], "must form no cycle"),
            ([("Rain", "Rain")], "must"),
            (["Rain"], "must be a pair"),
            ([("Rain[t-99]", "Rain")], "at most 64 slices"),
        ],
    )
    def test_wrong_arcs(self, arcs, message):
        with pytest.raises(DataError, match=message):
            umbrella(arcs=arcs)

    def test_wrong_names(self):
        with pytest.raises(UnknownVariableError, match=r"got 'Rian\[t-1\]'. Did you mean 'Rain'"):
            umbrella(arcs=[("Rian[t-1]", "Rain")])
        with pytest.raises(UnknownVariableError, match="got 'Snow'"):
            umbrella(cpts={**TABLES, "Snow": [0.5, 0.5]})
        with pytest.raises(DataError, match="cpts must have a table for every variable; 'Umbrella' has none"):
            umbrella(cpts={"Rain": TABLES["Rain"]})

    def test_wrong_tables(self):
        with pytest.raises(DataError, match="Rain"):
            umbrella(cpts={**TABLES, "Rain": {"no": [0.7, 0.2], "yes": [0.3, 0.7]}})
        with pytest.raises(
            DataError, match="first must have a table for every variable with parents in earlier slices; 'Rain'"
        ):
            DynamicBayesianNetwork(WEATHER, arcs=ARCS, cpts=TABLES)
        with pytest.raises(DataError, match="sum to"):
            umbrella(first={"Rain": [0.5, 0.6]})

    def test_parents_before_the_beginning_are_those_of_slice_0(self):
        net = DynamicBayesianNetwork(
            {"x": [0, 1]}, first={"x": [0.0, 1.0]}, arcs=[("x[t-1]", "x"), ("x[t-3]", "x")],
            cpts={"x": [[[0.9, 0.1], [0.8, 0.2]], [[0.4, 0.6], [0.3, 0.7]]]},
        )  # fmt: skip
        assert net.order == 3
        assert net.filter([{}, {}], "x")[1][1] == pytest.approx(0.7)
        assert net.unrolled(2).cpt("x[1]").parents[0].name == "x[0]"


class TestQuestions:
    def test_soft_and_several(self):
        net = umbrella()
        soft = [{"Umbrella": {"no": 0.2, "yes": 0.6}}, {"Rain": ["no", "yes"]}, None]
        wide = net.unrolled(3)
        for t in range(3):
            wanted = wide.posterior(f"Rain[{t}]", unrolled_evidence(soft))
            assert net.smooth(soft, "Rain")[t]["yes"] == pytest.approx(wanted["yes"], rel=1e-12)

    def test_interventions_in_some_slices(self):
        net = umbrella()
        evidence, do = carried("unu"), [None, {"Rain": "yes"}]
        wide = net.unrolled(3).do({"Rain[1]": "yes"})
        for t in range(3):
            wanted = wide.posterior(f"Rain[{t}]", unrolled_evidence(evidence))
            assert net.smooth(evidence, "Rain", do=do)[t]["yes"] == pytest.approx(wanted["yes"], rel=1e-12)
        assert net.log_probability(evidence, do=do) == pytest.approx(wide.log_probability(unrolled_evidence(evidence)))

    def test_do_sets_every_slice(self):
        net = umbrella()
        forced = net.do({"Umbrella": "yes"})
        np.testing.assert_allclose(forced.smooth(carried("uuu"), "Rain").array, 0.5, rtol=1e-12)
        by_slice = net.smooth(carried("uuu"), "Rain", do={"Umbrella": "yes"})
        np.testing.assert_allclose(by_slice.array, 0.5, rtol=1e-12)
        with pytest.raises(UnknownVariableError):
            net.do({"Rain[t-1]": "yes"})

    def test_several_sequences_and_frames(self):
        net, texts = umbrella(), ["uunuu", "", "n", "unn"]
        each = [net.smooth(carried(text), "Rain").array for text in texts]
        together = net.smooth([carried(text) for text in texts], "Rain")
        for found, wanted in zip(together, each, strict=True):
            np.testing.assert_allclose(found.array, wanted, rtol=1e-12)
        rows = [(s, t, "yes" if c == "u" else "no") for s, text in enumerate(texts) for t, c in enumerate(text)]
        order = np.random.default_rng(0).permutation(len(rows))
        frame = {
            "id": [f"n{rows[i][0]}" for i in order], "t": [rows[i][1] for i in order],
            "Umbrella": [rows[i][2] for i in order], "Rain": [None] * len(rows),
        }  # fmt: skip
        found = net.smooth_proba(frame, "Rain", sequence="id", time="t")
        np.testing.assert_allclose(found, np.concatenate(each)[order], rtol=1e-12)
        alone = net.filter_proba(frame, "Rain", sequence="id", time="t")
        wanted = np.concatenate([net.filter(carried(text), "Rain").array for text in texts])[order]
        np.testing.assert_allclose(alone, wanted, rtol=1e-12)
        assert len(net.log_likelihood(frame, sequence="id", time="t")) == 3
        assert net.log_likelihood([carried(text) for text in texts])[1] == 0.0

    def test_times_that_are_left_out_are_slices_without_evidence(self):
        net = umbrella()
        frame = {"id": ["a", "a", "b", "a"], "t": [0, 1, 0, 4], "Umbrella": ["yes", "no", "yes", "yes"]}
        found = net.filter_proba(frame, "Rain", sequence="id", time="t")
        wanted = net.filter([{"Umbrella": "yes"}, {"Umbrella": "no"}, {}, {}, {"Umbrella": "yes"}], "Rain").array
        np.testing.assert_allclose(found[[0, 1, 3]], wanted[[0, 1, 4]], rtol=1e-12)
        ahead = net.predict(frame, "Rain", steps=2, sequence="id", time="t")
        np.testing.assert_allclose(ahead[0].array[0], wanted[4] @ [[0.7, 0.3], [0.3, 0.7]], rtol=1e-12)
        assert [len(each) for each in ahead] == [2, 2]

    def test_frames_that_do_not_fit(self):
        net = umbrella()
        frame = {"id": [1, 1], "t": [0, 0], "Umbrella": ["yes", "no"]}
        with pytest.raises(DataError, match=r"the data must have a column 'ids'. Did you mean 'id'"):
            net.filter(frame, "Rain", sequence="ids")
        with pytest.raises(DataError, match="must be distinct"):
            net.filter(frame, "Rain", sequence="id", time="t")
        with pytest.raises(DataError, match="missing in row 2"):
            net.filter({**frame, "id": [1, None]}, "Rain", sequence="id")

    def test_wrong_evidence(self):
        net = umbrella()
        with pytest.raises(UnknownVariableError, match="the evidence of slice 1 must name variables of the network"):
            net.filter([{}, {"Umbrela": "yes"}], "Rain")
        with pytest.raises(DataError, match="the evidence of slice 0 must give a state of 'Umbrella'"):
            net.filter([{"Umbrella": "maybe"}], "Rain")
        with pytest.raises(UnknownVariableError, match="targets must name"):
            net.filter([{}], "Sun")
        with pytest.raises(DataError, match="do must be"):
            net.filter([{}], "Rain", do=[{}, {}])
        with pytest.raises(DataError, match="method must be one of"):
            net.filter([{}], "Rain", method="magic")

    def test_impossible_evidence_names_the_slice(self):
        tables = {"Rain": {"no": [1.0, 0.0], "yes": [0.3, 0.7]}, "Umbrella": {"no": [1.0, 0.0], "yes": [0.1, 0.9]}}
        net = umbrella(cpts=tables)
        with pytest.raises(ImpossibleEvidenceError, match="that of slice 2 has probability zero"):
            net.filter([{}, {"Rain": "no"}, {"Umbrella": "yes"}], "Rain")
        with pytest.raises(ImpossibleEvidenceError, match="slice 2 of sequence 1"):
            net.smooth([[{}], [{}, {"Rain": "no"}, {"Umbrella": "yes"}]], "Rain")
        assert net.log_probability([{}, {"Rain": "no"}, {"Umbrella": "yes"}]) == -math.inf

    @pytest.mark.parametrize("stay", [[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.0, 1.0]]])
    def test_three_hundred_sensors_do_not_underflow(self, stay):
        sensors = [f"y{i}" for i in range(300)]
        net = DynamicBayesianNetwork(
            {name: [0, 1] for name in ["s", *sensors]}, first={"s": [0.5, 0.5]},
            arcs=[("s[t-1]", "s"), *(("s", y) for y in sensors)],
            cpts={"s": stay, **{y: [[0.99, 0.01], [0.01, 0.99]] for y in sensors}},
        )  # fmt: skip
        given = [{"s": 0}, dict.fromkeys(sensors, 1), dict.fromkeys(sensors[:250], 0)]
        wanted = net.unrolled(3).log_probability(unrolled_evidence(given))
        assert net.log_probability(given) == pytest.approx(wanted, rel=1e-12)
        states = [0, 1, 0] if stay[0][1] else [0, 0, 0]
        assert net.most_probable(given)["s"] == states
        np.testing.assert_allclose(net.smooth(given, "s").array[range(3), states], 1.0, rtol=1e-12)

    def test_nothing_observed_and_no_slices(self):
        net = umbrella()
        assert len(net.filter([], "Rain")) == 0
        assert repr(net.filter({"Umbrella": []}, "Rain")).startswith("Rain in 0 slices")
        assert [len(each) for each in net.smooth([[], carried("u"), []], "Rain")] == [0, 1, 0]
        assert net.log_likelihood([]).tolist() == [0.0]
        assert net.predict(None, "Rain")[0]["yes"] == 0.5

    def test_stream(self):
        rng = np.random.default_rng(3)
        for order in (1, 2):
            net = random_dynamic(rng, order=order, zeros=0.0)
            given = [{net.nodes[0]: "s0"}, None, {net.nodes[-1]: "s1" if order == 1 else "s0"}, {}]
            stream = net.stream()
            for t, each in enumerate(given):
                stream.observe(each)
                for name in net.nodes:
                    wanted = net.filter(given[: t + 1], name)[t].probabilities
                    np.testing.assert_allclose(stream.posterior(name).probabilities, wanted, rtol=1e-12)
            assert stream.log_likelihood == pytest.approx(net.log_probability(given), rel=1e-12)
            wanted = net.predict(given, net.nodes[0], steps=3)[2].probabilities
            np.testing.assert_allclose(stream.predict(net.nodes[0], 3).probabilities, wanted, rtol=1e-12)
            assert stream.n_slices == 4

    def test_sample(self):
        table = umbrella().sample(30, 4000, random_state=1)
        assert table.n_rows == 120_000
        rain, time = table.codes("Rain"), table.floats("time")
        later = rain[time > 0][rain[time < 29] == 1]
        assert later.mean() == pytest.approx(0.7, abs=4 * math.sqrt(0.21 / len(later)))
        again = umbrella().sample(30, 4000, random_state=1)
        assert np.array_equal(rain, again.codes("Rain"))

    def test_answers(self):
        found = umbrella().filter(carried("uun"), "Rain")
        assert len(found[1:]) == 2
        assert found[1:].start == 1
        assert found[-1]["no"] == found.array[2, 0]
        assert list(found.to_pandas().columns) == ["slice", "no", "yes"]
        assert "3 slices" in repr(found)
        assert "<table" in found._repr_html_()
        best = umbrella().most_probable(carried("uun"))
        assert best[0] == {"Rain": "yes", "Umbrella": "yes"}
        assert best.to_pandas().shape == (3, 3)
        assert "log-probability" in repr(best)


class TestFiles:
    def test_round_trip(self, tmp_path):
        for net in (umbrella(), walk()):
            net.write(tmp_path / "net.tb")
            assert DynamicBayesianNetwork.load(tmp_path / "net.tb") == net
            assert tb.load(tmp_path / "net.tb") == net

    def test_other_formats_by_unrolling(self, tmp_path):
        with pytest.raises(DataError, match="unrolled"):
            umbrella().write(tmp_path / "net.bif")
        umbrella().unrolled(3).write(tmp_path / "net.bif")
        assert len(tb.read_network(tmp_path / "net.bif").nodes) == 6


def z_scores(values, exact):
    """Return how many standard errors the means over the first axis are off."""
    return (values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / math.sqrt(len(values)))


class TestApproximations:
    def coupled(self, n=4, seed=0):
        rng = np.random.default_rng(seed)
        names = [f"x{i}" for i in range(n)]
        arcs = [(f"x{j}[t-1]", f"x{i}") for i in range(n) for j in {i, (i + 1) % n}] + [
            (name, f"y{name}") for name in names
        ]
        variables = {name: ["a", "b"] for name in [*names, *(f"y{name}" for name in names)]}
        cpts = {name: rng.dirichlet([1, 1], (2, 2)) for name in names}
        cpts |= {f"y{name}": [[0.8, 0.2], [0.3, 0.7]] for name in names}
        first = {name: [0.5, 0.5] for name in names}
        return DynamicBayesianNetwork(variables, first=first, arcs=arcs, cpts=cpts)

    def evidence(self, net, n=12):
        rows = net.sample(n, random_state=5)
        return [{name: rows[name][t] for name in net.nodes if name.startswith("y")} for t in range(n)]

    def test_one_cluster_is_exact(self):
        net = self.coupled()
        given = self.evidence(net)
        for ask in (net.filter, net.smooth):
            exact, one = ask(given), ask(given, method="boyen-koller", clusters=[net.interface])
            for name in net.nodes:
                np.testing.assert_allclose(one[name].array, exact[name].array, rtol=1e-10)
        logs = [net.log_likelihood(given, method=m, clusters=[net.interface]) for m in ("exact", "boyen-koller")]
        assert logs[0] == pytest.approx(logs[1], rel=1e-12)

    def test_single_clusters_are_near(self):
        net = self.coupled()
        given = self.evidence(net)
        for ask in (net.filter, net.smooth):
            exact, near = ask(given, "x0"), ask(given, "x0", method="boyen-koller")
            assert near.method == "boyen-koller"
            gap = np.abs(exact.array - near.array).max()
            assert 1e-9 < gap < 0.05
        with pytest.raises(DataError, match="clusters must name variables with children in later slices"):
            net.filter(given, "x0", method="boyen-koller", clusters=[["yx0"]])

    @pytest.mark.parametrize(("question", "n_particles"), [("filter", 1000), ("smooth", 600)])
    def test_particles_have_no_bias_and_honest_errors(self, question, n_particles):
        net = self.coupled()
        given, ask = self.evidence(net), getattr(net, question)
        exact = ask(given, "x0").array[:, 1]
        how = {"method": "particle", "n_particles": n_particles}
        drawn = [ask(given, "x0", **how, random_state=seed) for seed in range(20)]
        values = np.array([d.array[:, 1] for d in drawn])
        assert np.abs(z_scores(values, exact)).max() < 4.0
        assert np.abs(z_scores(values, exact + 0.03)).max() > 4.0
        off = [(d.array[:, 1] - exact) / d.standard_errors[:, 1] for d in drawn]
        assert 0.7 < np.sqrt(np.mean(np.square(off))) < 1.4
        assert (drawn[0].effective_sizes > 100).all()
        assert drawn[0][0].standard_errors is not None
        assert np.array_equal(ask(given, "x0", **how, random_state=3).array, drawn[3].array)

    def test_the_likelihood_of_particles_has_no_bias(self):
        net = self.coupled()
        given = self.evidence(net)
        how = {"method": "particle", "n_particles": 1000}
        logs = np.array([net.log_likelihood(given, **how, random_state=seed)[0] for seed in range(30)])
        ratios = np.exp(logs - net.log_probability(given))[:, None]
        assert abs(z_scores(ratios, 1.0)) < 3.0
        assert abs(z_scores(ratios, 0.8)) > 3.0
        assert abs(z_scores(ratios, 1.25)) > 3.0

    def test_a_dense_interface_of_26_nodes_is_approximated(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", str(2**28))
        net = self.coupled(26)
        given = self.evidence(net, 3)
        with pytest.warns(DataWarning, match="exact inference would need .* approximations by method='boyen-koller'"):
            found = net.filter(given, "x0")
        assert found.method == "boyen-koller"
        with pytest.raises(MemoryForecastError):
            net.filter(given, "x0", method="exact")

    def test_where_nothing_fits_particles_answer(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "600000")
        n = 14
        variables = {f"x{i}": ["a", "b"] for i in range(n)}
        arcs = [(f"x{j}[t-1]", "x0") for j in range(n)] + [(f"x{i}[t-1]", f"x{i}") for i in range(1, n)]
        cpts = {f"x{i}": [[0.9, 0.1], [0.2, 0.8]] for i in range(1, n)} | {"x0": np.full((2,) * n + (2,), 0.5)}
        net = DynamicBayesianNetwork(variables, first={x: [0.5, 0.5] for x in variables}, arcs=arcs, cpts=cpts)
        with pytest.warns(DataWarning, match="particle"):
            found = net.filter([{"x0": "a"}] * 3, "x1", n_particles=2000, random_state=0)
        assert found.method == "particle"


def walk(seen_noise=0.3):
    return DynamicBayesianNetwork(
        {"x": None, "y": None}, arcs=[("x[t-1]", "x"), ("x", "y")],
        first={"x": {"intercepts": 1.0, "variances": 2.0}},
        cpts={
            "x": {"intercepts": 0.1, "coefficients": [0.9], "variances": 0.5},
            "y": {"intercepts": 0.2, "coefficients": [2.0], "variances": seen_noise},
        },
    )  # fmt: skip


class TestNumbers:
    def random(self, rng, order):
        n = int(rng.integers(1, 4))
        names = [f"x{i}" for i in range(n)]
        arcs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if rng.random() < 0.5]
        arcs += [(f"{a}[t-{k}]", b) for a in names for b in names for k in range(1, order + 1) if rng.random() < 0.4]
        n_parents = {b: sum(child == b for _, child in arcs) for b in names}
        n_inside = {b: sum(child == b and "[" not in parent for parent, child in arcs) for b in names}

        def table(size):
            return {"intercepts": rng.normal(), "coefficients": rng.normal(0, 0.6, size), "variances": rng.gamma(2.0)}

        first = {b: table(n_inside[b]) for b in names}
        cpts = {b: table(n_parents[b]) for b in names}
        return DynamicBayesianNetwork(dict.fromkeys(names), first=first, arcs=arcs, cpts=cpts)

    @pytest.mark.parametrize("seed", range(30))
    def test_kalman_is_conditioning_of_the_joint_gaussian(self, seed):
        rng = np.random.default_rng(seed)
        net, n = self.random(rng, 1 + seed % 3), int(rng.integers(1, 6))
        given = [{name: rng.normal() for name in net.nodes if rng.random() < 0.5} for _ in range(n)]
        wide = net.unrolled(n + 1)
        everything = unrolled_evidence(given)
        assert net.log_probability(given) == pytest.approx(wide.log_probability(everything), rel=1e-9, abs=1e-9)
        filtered, smooth, ahead = net.filter(given), net.smooth(given), net.predict(given)
        for name in net.nodes:
            for t in range(n):
                close(filtered[name][t], wide.posterior(f"{name}[{t}]", unrolled_evidence(given[: t + 1])))
                close(smooth[name][t], wide.posterior(f"{name}[{t}]", everything))
            close(ahead[name][0], wide.posterior(f"{name}[{n}]", everything))

    def test_values_and_frames(self):
        net = walk()
        found = net.filter([{"y": 1.0}, {}], "x")
        assert found[0].variance < found[1].variance
        assert net.most_probable([{"y": 1.0}, {}])[0]["y"] == 1.0
        rows = net.filter_proba({"y": [1.0, None]}, "x")
        np.testing.assert_allclose(rows[:, 0], found.array[:, 0], rtol=1e-12)
        np.testing.assert_allclose(rows[:, 1] ** 2, found.array[:, 1], rtol=1e-12)
        with pytest.raises(DataError, match="the value of 'y' in slice 0"):
            net.filter([{"y": "much"}], "x")

    def test_relations_without_noise(self):
        net = walk(seen_noise=0.0)
        found = net.smooth([{"y": 2.2}, {}, {"y": 4.2}], "x")
        np.testing.assert_allclose(found.array[[0, 2]], [[1.0, 0.0], [2.0, 0.0]], atol=1e-12)
        with pytest.raises(ImpossibleEvidenceError, match="slice 0"):
            net.filter([{"x": 1.0, "y": 5.0}], "x")
        assert net.log_likelihood([{"x": 1.0, "y": 5.0}])[0] == -math.inf

    @pytest.mark.parametrize("question", ["filter", "smooth"])
    def test_particles_agree_with_kalman(self, question):
        ask, given = getattr(walk(), question), [{"y": 1.0}, {"y": 0.3}, {}, {"y": -0.5}]
        exact = ask(given, "x").array[:, 0]
        drawn = [ask(given, "x", method="particle", n_particles=800, random_state=seed) for seed in range(20)]
        values = np.array([d.array[:, 0] for d in drawn])
        assert np.abs(z_scores(values, exact)).max() < 4.0
        assert np.abs(z_scores(values, exact + 0.1)).max() > 4.0
        off = [(d.array[:, 0] - exact) / d.standard_errors for d in drawn]
        assert 0.7 < np.sqrt(np.mean(np.square(off))) < 1.4

    def switching(self):
        return DynamicBayesianNetwork(
            {"s": ["calm", "wild"], "x": None, "y": None},
            arcs=[("s[t-1]", "s"), ("x[t-1]", "x"), ("s", "x"), ("s[t-1]", "y"), ("x", "y")],
            first={"s": [0.5, 0.5], "x": {"intercepts": [0.0, 0.0], "variances": [1.0, 25.0]},
                   "y": {"coefficients": [1.0], "variances": 1.0}},
            cpts={"s": [[0.9, 0.1], [0.2, 0.8]],
                  "x": {"intercepts": [0.0, 0.0], "coefficients": {"x[t-1]": [0.8, 0.1]}, "variances": [0.1, 25.0]},
                  "y": {"intercepts": [0.0, 3.0], "coefficients": {"x": [1.0, 0.5]}, "variances": [1.0, 2.0]}},
        )  # fmt: skip

    @pytest.mark.parametrize("n_states", [1024, 0])
    def test_observed_numbers_are_densities(self, n_states, monkeypatch):
        monkeypatch.setattr(slices, "_MOST_STATES", n_states)
        net = self.switching()
        given = [{"x": 0.1}, {"x": 0.0, "y": 2.0}, {"x": 9.0, "s": ["calm", "wild"]}, {"x": 8.0}]
        wide, everything = net.unrolled(4), unrolled_evidence(given)
        found, filtered = net.smooth(given), net.filter(given, "s")
        assert found["s"].method == "exact"
        assert net.log_probability(given) == pytest.approx(wide.log_probability(everything), rel=1e-10)
        for t in range(4):
            np.testing.assert_allclose(
                found["s"].array[t], wide.posterior(f"s[{t}]", everything).probabilities, rtol=1e-9
            )
            known = unrolled_evidence(given[: t + 1])
            np.testing.assert_allclose(filtered.array[t], wide.posterior(f"s[{t}]", known).probabilities, rtol=1e-9)
            close(found["y"][t], wide.posterior(f"y[{t}]", everything))
            close(found["x"][t], wide.posterior(f"x[{t}]", everything))
        best = net.most_probable(given)
        wanted = wide.most_probable(everything, of=[f"s[{t}]" for t in range(4)])
        assert best["s"] == list(wanted.values())
        assert best.log_probability == pytest.approx(wanted.log_probability, rel=1e-9)

    def test_switching(self):
        net, given = self.switching(), [{"x": 0.1}, {"y": 0.5}, {"x": 9.0}]
        found = net.filter(given, "s", random_state=0)
        assert found.method == "particle"
        wide = net.unrolled(3)
        for t in range(3):
            wanted = wide.posterior(f"s[{t}]", unrolled_evidence(given[: t + 1]))["wild"]
            assert abs(found[t]["wild"] - wanted) < 4 * found[t].standard_errors["wild"] + 1e-6
        with pytest.raises(DataError, match="method must be 'auto' or 'particle'"):
            net.filter(given, "s", method="exact")
        with pytest.raises(DataError, match="method must be 'auto' or 'particle'"):
            net.most_probable(given)


def close(found, wanted):
    assert found.mean == pytest.approx(wanted.mean, rel=1e-8, abs=1e-8)
    assert found.variance == pytest.approx(wanted.variance, rel=1e-7, abs=1e-9)


def test_messages_do_not_depend_on_the_way(monkeypatch):
    net = umbrella()
    chained = net.smooth(carried("uunuu"), "Umbrella").array
    monkeypatch.setattr(slices, "_MOST_STATES", 0)
    np.testing.assert_allclose(net.smooth(carried("uunuu"), "Umbrella").array, chained, rtol=1e-12)
