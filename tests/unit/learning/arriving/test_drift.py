"""The drift alarm: it sounds when rows change, says where, and keeps its promise when they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tunbridge as tb
from networks import random_network
from oracles.adaptation import brute_cusum, configurations
from tunbridge.errors import DataError
from tunbridge.learning import DriftMonitor
from tunbridge.learning.arriving import drift
from tunbridge.learning.arriving.batches import read_batch
from tunbridge.learning.arriving.drift import cusum, watch_network
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT


@pytest.fixture(scope="module")
def asia():
    return example_network("asia")


@pytest.fixture(scope="module")
def calm(asia):
    """Return a monitor after 5 000 rows of the network itself."""
    return DriftMonitor(asia).update(asia.sample(5000, random_state=0))


def with_table(net, name, table):
    """Return the network with another table."""
    old = net.cpt(name)
    return BayesianNetwork.from_tables(
        [CPT(old.variable, old.parents, table) if cpt is old else cpt for cpt in net.cpts.values()]
    )


class TestPromise:
    """E[e^L] = 1 for all that is watched, whatever the parents: on this all bounds rest."""

    def nets(self):
        yield example_network("asia")
        rng = np.random.default_rng(0)
        for zeros in (0.0, 0.0, 0.3, 0.3, 0.3):
            yield BayesianNetwork.from_tables(random_network(rng, zeros=zeros))

    @pytest.mark.parametrize("shift", [0.1, 0.25, 2.0])
    def test_the_mean_ratio_is_one(self, shift):
        for net in self.nets():
            for watch in watch_network(net, shift).families:
                cpt = watch.cpt
                for codes in configurations(cpt):
                    p = cpt.rows([codes])[0]
                    columns = [np.zeros(len(p), np.int64) for _ in net.nodes]
                    for place, code in zip(watch.columns, codes, strict=False):
                        columns[place] = np.full(len(p), code)
                    columns[watch.columns[-1]] = np.arange(len(p))
                    _, evidence, log_scores, expected = watch.evidence(columns)
                    possible = p > 0
                    means = (p[possible, None] * np.exp(evidence[possible])).sum(axis=0)
                    np.testing.assert_allclose(means, 1.0, rtol=1e-10, atol=0)
                    np.testing.assert_allclose(np.exp(log_scores), p, rtol=1e-12, atol=0)
                    mean = (p[possible] * np.log(p[possible])).sum()
                    np.testing.assert_allclose(expected, mean, rtol=1e-10, atol=1e-15)

    def test_no_alarm_on_rows_of_the_network_itself(self, asia):
        monitor = DriftMonitor(asia).update(asia.sample(20_000, random_state=7))
        assert not monitor.alarm
        assert monitor.alarm_row is None
        assert monitor.drifted == ()
        assert monitor.score == pytest.approx(monitor.expected_score, abs=0.03)  # five standard errors

    def test_a_threshold_for_short_runs_would_sound(self, asia):
        assert DriftMonitor(asia, run_length=1).update(asia.sample(20_000, random_state=7)).alarm

    @pytest.mark.shared
    @pytest.mark.parametrize("name", ["alarm", "child", "insurance"])
    def test_no_alarm_in_larger_networks(self, shared_data, name):
        net = tb.read_network(shared_data / "networks" / f"{name}.bif")
        assert not DriftMonitor(net).update(net.sample(20_000, random_state=0)).alarm

    def test_false_alarms_are_no_more_than_was_said(self):
        """Within n rows at most n / run_length, here 20 / 100, though states are rare; one nat would not do."""
        variable = tb.Variable("x", ["a", "b", "c"])
        net = BayesianNetwork.from_tables([CPT(variable, [], [0.9, 0.09, 0.01])])
        monitor = DriftMonitor(net, run_length=100)
        found = [monitor.update(net.sample(20, random_state=seed)) for seed in range(300)]
        assert np.mean([m.alarm for m in found]) <= 20 / 100
        assert np.mean([m.signals[0].evidence > 1.0 for m in found]) > 20 / 100

    def test_a_fitted_network_and_further_rows_of_the_same_source(self, asia):
        """The errors of tables from 2 000 rows are smaller than the shift that is worth an alarm."""
        rows = asia.sample(22_000, random_state=3)
        net = tb.fit_parameters(asia, rows.take(slice(0, 2000)))
        assert not DriftMonitor(net).update(rows.take(slice(2000, None))).alarm


class TestAlarm:
    def test_a_shift_between_states_that_were_equally_probable(self, asia, calm):
        """The log-score of smoke is ln ½ whatever happens; the frequency of its states tells."""
        later = calm.update(asia.do({"smoke": {"yes": 0.75, "no": 0.25}}).sample(2000, random_state=1))
        assert later.alarm
        assert later.drifted == ("smoke",)  # its children are watched given it, and have not changed
        signal = later.signals[0]
        assert (signal.node, signal.what, signal.alarm) == ("smoke", "'yes' more often than expected", True)
        assert 4900 < signal.since <= 5001 < later.alarm_row < 5400
        assert signal.log_score == pytest.approx(math.log(0.5), rel=1e-12)

    def test_a_table_that_changes_within_its_configurations(self, asia, calm):
        """Bronchitis from smoking reversed: its states are as frequent as before, its log-score is not."""
        changed = with_table(asia, "bronc", asia.cpt("bronc").table()[::-1])
        later = calm.update(changed.sample(2000, random_state=2))
        assert "bronc" in later.drifted
        signal = next(s for s in later.signals if s.node == "bronc")
        assert signal.what == "less probable than expected"
        assert signal.log_score < signal.expected
        assert later.score < later.expected_score

    def test_rows_that_are_more_probable(self, asia, calm):
        sharper = with_table(asia, "bronc", [[0.99, 0.01], [0.01, 0.99]])
        later = calm.update(sharper.sample(3000, random_state=3))
        assert "bronc" in later.drifted
        assert calm.update(asia.sample(3000, random_state=3)).drifted == ()

    def test_a_state_that_no_longer_occurs(self, asia):
        later = DriftMonitor(asia).update(asia.do({"bronc": "no"}).sample(1000, random_state=0))
        assert later.drifted[0] == "bronc"

    def test_an_impossible_row_sounds_it_at_once(self, asia):
        row = dict.fromkeys(asia.nodes, "no") | {"either": "yes"}
        monitor = DriftMonitor(asia).update(row)
        assert (monitor.alarm_row, monitor.drifted) == (1, ("either",))
        assert monitor.score == -math.inf

    def test_an_unknown_state_sounds_it_at_once(self, asia):
        rows = asia.sample(10, random_state=0).to_arrow().to_pylist()
        rows[4]["smoke"] = "pipe"
        monitor = DriftMonitor(asia).update(rows)
        assert (monitor.alarm_row, monitor.drifted, monitor.unknown) == (5, ("smoke",), {"smoke": ("pipe",)})
        assert monitor.signals[0].what == "unknown states: 'pipe'"

    def test_a_value_that_is_in_no_interval_sounds_it_at_once(self):
        fever = tb.Variable("fever", ["no", "yes"], cuts=[38.5])
        net = BayesianNetwork.from_tables([CPT(fever, [], [0.5, 0.5])])
        assert not DriftMonitor(net).update({"fever": [36.6, None, 40.1]}).alarm
        monitor = DriftMonitor(net).update({"fever": ["36.6", None, "very"]})
        assert (monitor.alarm_row, monitor.drifted, monitor.unknown) == (3, ("fever",), {"fever": ("very",)})

    def test_more_unknown_values_than_states(self, asia):
        monitor = DriftMonitor(asia).update({"smoke": [f"s{i}" for i in range(200)]})
        assert (monitor.alarm_row, len(monitor.unknown["smoke"])) == (1, 200)

    def test_it_goes_on_sounding(self, asia):
        odd = DriftMonitor(asia).update(asia.do({"smoke": "yes"}).sample(300, random_state=0))
        later = odd.update(asia.sample(5000, random_state=0))
        assert odd.alarm
        assert later.alarm
        assert later.alarm_row == odd.alarm_row

    def test_a_larger_shift_is_waited_for(self, asia):
        rows = asia.do({"smoke": {"yes": 0.57, "no": 0.43}}).sample(4000, random_state=5)
        assert DriftMonitor(asia, shift=0.1).update(rows).alarm
        assert not DriftMonitor(asia, shift=0.5).update(rows).alarm


class TestMonitor:
    def test_it_never_changes(self, asia):
        monitor = DriftMonitor(asia)
        monitor.update(asia.sample(1000, random_state=0))
        assert monitor.n_rows == 0
        assert math.isnan(monitor.score)
        assert math.isnan(monitor.expected_score)
        assert all(signal.evidence == 0.0 for signal in monitor.signals)

    def test_batches_are_the_whole(self, asia):
        rows = asia.do({"smoke": {"yes": 0.6, "no": 0.4}}).sample(3000, random_state=0)
        whole = DriftMonitor(asia).update(rows)
        parts = DriftMonitor(asia).update(rows.take(slice(a, b)) for a, b in ((0, 1), (1, 1500), (1500, 3000)))
        assert (whole.alarm_row, whole.drifted, whole.n_rows) == (parts.alarm_row, parts.drifted, 3000)
        for one, other in zip(whole.signals, parts.signals, strict=True):
            assert (one.node, one.what, one.since) == (other.node, other.what, other.since)
            assert one.evidence == pytest.approx(other.evidence, rel=1e-9, abs=1e-9)
        assert whole.score == pytest.approx(parts.score, rel=1e-12)

    def test_the_score_is_the_mean_log_likelihood(self, asia):
        rows = asia.sample(500, random_state=0)
        monitor = DriftMonitor(asia).update(rows)
        assert monitor.score == pytest.approx(asia.log_likelihood(rows).mean(), rel=1e-12)

    def test_what_is_missing_tells_nothing(self, asia):
        rows = [{"smoke": "yes", "lung": None, "bronc": "yes"}, {"lung": "no"}, {"smoke": None, "asia": "no"}]
        monitor = DriftMonitor(asia).update(rows)
        p = [0.5, asia.cpt("bronc").distribution({"smoke": "yes"})["yes"], asia.cpt("asia").distribution()["no"]]
        assert monitor.score == pytest.approx(np.log(p).sum() / 3, rel=1e-12)
        assert {s.node for s in monitor.signals if s.evidence > 0} <= {None, "smoke", "bronc", "asia"}
        assert math.isnan(next(s for s in monitor.signals if s.node == "lung").log_score)

    def test_the_sums_are_those_of_a_loop(self, asia):
        rows = asia.do({"smoke": {"yes": 0.6, "no": 0.4}}).sample(200, random_state=0)
        evidence = watch_network(asia, 0.25).watch(read_batch(rows, asia.variables)[0].columns).evidence
        found = cusum(evidence, np.zeros(evidence.shape[1]))
        for i in range(evidence.shape[1]):
            np.testing.assert_allclose(found[:, i], brute_cusum(evidence[:, i]), rtol=1e-9, atol=1e-9)
        later = cusum(evidence[100:], found[99])
        np.testing.assert_allclose(later, found[100:], rtol=1e-9, atol=1e-9)

    def test_tables_that_are_too_large_to_be_kept(self, asia, monkeypatch):
        kept = DriftMonitor(asia).update(asia.sample(300, random_state=2))
        monkeypatch.setattr(drift, "_SMALL", 0)
        found = DriftMonitor(asia).update(asia.sample(300, random_state=2))
        assert found._watcher.families[-1]._whole is None
        assert kept._watcher.families[-1]._whole is not None
        np.testing.assert_array_equal(found._seen.evidence, kept._seen.evidence)
        np.testing.assert_array_equal(found._seen.log_scores, kept._seen.log_scores)

    def test_sparse_and_noisy_tables(self):
        rain, wet, slip = (tb.Variable(name, ["no", "yes"]) for name in ("rain", "wet", "slip"))
        cpts = [
            CPT(rain, [], [0.7, 0.3]),
            tb.SparseCPT(wet, [rain], {"yes": [0.1, 0.9]}, default=[0.8, 0.2]),
            tb.noisy_or(slip, {wet: 0.5}, leak=0.05),
        ]
        net = BayesianNetwork.from_tables(cpts)
        dense = BayesianNetwork.from_tables([CPT(c.variable, c.parents, c.table()) for c in cpts])
        rows = net.sample(500, random_state=0)
        one, other = (DriftMonitor(n).update(rows) for n in (net, dense))
        assert [s.node for s in one.signals] == [s.node for s in other.signals]
        assert one.score == pytest.approx(other.score, rel=1e-12)

    def test_text(self, asia, calm):
        assert repr(calm) == "DriftMonitor over 5 000 rows: no drift (threshold 17.3 nats)"
        later = calm.update(asia.do({"smoke": "yes"}).sample(300, random_state=0))
        assert repr(later).startswith("DriftMonitor over 5 300 rows: drift, first seen at row 50")
        lines = str(later).splitlines()
        assert lines[1].split() == ["variable", "than", "expected", "evidence", "since", "row"]
        assert lines[2].startswith("smoke     'yes' more often")
        assert " !" in lines[2]
        assert lines[-1] == "… and 1 weaker one"

    def test_threshold(self, asia):
        n_watched = 2 + 8 * (2 + 2)
        assert DriftMonitor(asia, run_length=5000).threshold == pytest.approx(math.log(n_watched * 5000), rel=1e-15)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"run_length": 0.5}, r"^run_length must be at least 1; got 0\.5\.$"),
            ({"run_length": math.inf}, r"^run_length must be finite; got inf\.$"),
            ({"shift": 0}, r"^shift must be greater than 0; got 0\.$"),
        ],
    )
    def test_bad_settings(self, asia, settings, message):
        with pytest.raises(DataError, match=message):
            DriftMonitor(asia, **settings)

    def test_no_network(self):
        with pytest.raises(DataError, match=r"^network must be a BayesianNetwork; got str\.$"):
            DriftMonitor("asia.bif")

    def test_rows_are_checked(self, asia):
        with pytest.raises(DataError, match=r"^rows must have a column for at least one variable"):
            DriftMonitor(asia).update({"snow": ["yes"]})
        assert DriftMonitor(asia).update([]).n_rows == 0
        assert DriftMonitor(asia).update(asia.sample(0)).n_rows == 0


def test_signals_as_a_frame(asia):
    monitor = DriftMonitor(asia).update(asia.sample(100, random_state=0))
    frame = monitor.to_pandas()
    assert frame["what"].tolist() == [signal.what for signal in monitor.signals]
    assert frame["evidence"].tolist() == [signal.evidence for signal in monitor.signals]
