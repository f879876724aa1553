"""Sequential adaptation: exact for complete rows, fractional for others, with fading, new states and streams."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import tunbridge as tb
from oracles.adaptation import updated
from tunbridge.errors import DataError, DataWarning, UnseenStateWarning, ZeroProbabilityWarning
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.learning import update_network
from tunbridge.learning.arriving import batches as module
from tunbridge.learning.arriving.batches import Batch, read_batch
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT, SparseCPT

EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def asia():
    return example_network("asia")


@pytest.fixture(scope="module")
def rows(asia):
    return asia.sample(400, random_state=3)


@pytest.fixture(scope="module")
def started(asia, rows):
    """Return Asia's graph with tables from the first 100 rows."""
    return tb.fit_parameters(asia, rows.take(slice(0, 100)))


@pytest.fixture
def lawn():
    """Return a network of two variables with counts that can be checked by hand."""
    rain, wet = tb.Variable("rain", ["no", "yes"]), tb.Variable("wet", ["no", "yes"])
    return BayesianNetwork.from_tables(
        [
            CPT(rain, [], [0.75, 0.25], counts=[6.0, 2.0]),
            CPT(wet, [rain], [[0.9, 0.1], [0.25, 0.75]], counts=[[9.0, 1.0], [1.0, 3.0]]),
        ]
    )


def assert_same(a, b, **tolerance):
    """Compare tables and counts by the names of states, whatever their order."""
    assert set(a.nodes) == set(b.nodes)
    for name in a.nodes:
        one, other = a.cpt(name), b.cpt(name)
        assert [p.name for p in one.parents] == [p.name for p in other.parents]
        axes = [[x.states.index(s) for s in y.states] for x, y in zip(family(one), family(other), strict=True)]
        np.testing.assert_allclose(one.table()[np.ix_(*axes)], other.table(), **(tolerance or EXACT))
        if isinstance(one, CPT) and isinstance(other, CPT):
            np.testing.assert_allclose(one.counts[np.ix_(*axes)], other.counts, **(tolerance or EXACT))


def assert_same_counts(a, b):
    for name in a.nodes:
        np.testing.assert_allclose(a.cpt(name).table(), b.cpt(name).table(), rtol=1e-14, atol=0)
        if a.cpt(name).counts is None:
            assert b.cpt(name).counts is None
        else:
            np.testing.assert_allclose(a.cpt(name).counts, b.cpt(name).counts, rtol=1e-14, atol=0)


def family(cpt):
    return (*cpt.parents, cpt.variable)


def with_holes(table, share, seed):
    rng = np.random.default_rng(seed)
    columns = [c._replace(values=np.where(rng.random(table.n_rows) < share, -1, c.values)) for c in table]
    return tb.Table.of([c._replace(values=c.values.astype(np.int8)) for c in columns], weights=table.weights)


class TestCompleteRows:
    @pytest.mark.parametrize("prior", [tb.MEstimate(m=1.0), tb.MEstimate(m=4.0), 0.5, tb.Laplace(2.0), "bdeu"])
    def test_row_by_row_is_one_fit(self, asia, rows, prior):
        net = tb.fit_parameters(asia, rows.take(slice(0, 100)), prior)
        for i in range(100, 130):
            net = net.update(rows.take(slice(i, i + 1)))
        assert_same(net, tb.fit_parameters(asia, rows.take(slice(0, 130)), prior))

    def test_row_by_row_from_an_mle_fit(self, asia, rows):
        """Configurations without rows have no counts behind them, so the first row that comes decides alone."""
        few = tb.fit_parameters(asia, rows.take(slice(0, 3)), "mle")
        assert any((cpt.counts.sum(axis=-1) == 0).any() for cpt in few.cpts.values())
        net = few
        for i in range(3, 60):
            net = net.update(rows.take(slice(i, i + 1)))
        whole = tb.fit_parameters(asia, rows.take(slice(0, 60)), "mle")
        assert_same(net, whole)
        assert_same(few.update(rows.take(slice(3, 60))), whole)

    def test_batches_are_the_whole(self, asia, rows, started):
        net = started
        for start, stop in ((100, 107), (107, 350), (350, 400)):
            net = net.update(rows.take(slice(start, stop)))
        assert_same(net, started.update(rows.take(slice(100, None))))
        assert_same(net, tb.fit_parameters(asia, rows))

    def test_weights(self, asia, rows):
        weighted = rows.with_weights(np.random.default_rng(0).uniform(0, 3, rows.n_rows))
        net = tb.fit_parameters(asia, weighted.take(slice(0, 100))).update(weighted.take(slice(100, None)))
        assert_same(net, tb.fit_parameters(asia, weighted))

    def test_whole_weights_are_repetitions(self, rows, started):
        weights = np.arange(rows.n_rows) % 3
        repeated = rows.take(np.repeat(np.arange(rows.n_rows), weights))
        assert_same(started.update(rows.with_weights(weights)), started.update(repeated))

    def test_by_hand(self, lawn):
        net = lawn.update([{"rain": "yes", "wet": "no"}, {"rain": "no", "wet": "no"}])
        assert net.cpt("rain").counts.tolist() == [7.0, 3.0]
        assert net.cpt("wet").counts.tolist() == [[10.0, 1.0], [2.0, 3.0]]
        assert net.cpt("wet").distribution({"rain": "yes"})["no"] == 0.4

    def test_the_network_itself_stays(self, started, rows):
        before = {name: cpt.counts.copy() for name, cpt in started.cpts.items()}
        started.update(rows, fading=0.9)
        for name, counts in before.items():
            np.testing.assert_array_equal(started.cpt(name).counts, counts)

    def test_name_and_properties_stay(self):
        cpt = CPT(tb.Variable("a", ["x", "y"]), [], [0.5, 0.5], counts=[1, 1])
        net = BayesianNetwork.from_tables([cpt], name="little", properties={"a": ("unit = mm",)})
        after = net.update({"a": "x"})
        assert (after.name, dict(after.properties)) == ("little", {"a": ("unit = mm",)})

    def test_threads_make_no_difference(self, started, rows):
        holes = with_holes(rows, 0.2, 1)
        one, two = (started.update(holes, fading=0.99, n_jobs=n) for n in (1, 2))
        for name in started.nodes:
            np.testing.assert_array_equal(one.cpt(name).counts, two.cpt(name).counts)

    @pytest.mark.parametrize("weight", [None, 0.0, 0.3])
    @pytest.mark.parametrize("absent", [(), ("dysp", "xray")])
    def test_a_single_row_is_a_batch_of_two_without_the_other(self, asia, rows, weight, absent):
        """A single row takes a shorter way, here against the long one by a row of weight 0 beside it."""
        one = rows.take([7]).select([name for name in rows.names if name not in absent])
        one = one if weight is None else one.with_weights([weight])
        two = one.take([0, 0]).with_weights([0.0, 1.0 if weight is None else weight])
        short, long = (update_network(asia, some, ess=4, fixed="smoke") for some in (one, two))
        assert_same_counts(short.network, long.network)
        np.testing.assert_allclose(short.log_score, long.log_score, rtol=1e-12, atol=0)
        assert (short.n_rows, short.n_incomplete, short.n_impossible) == (1, int(bool(absent)), 0)

    def test_a_record_is_a_frame(self, started, rows):
        """Few values are looked up one by one, many as a column."""
        records = rows.take(slice(0, 3)).to_arrow().to_pylist()
        for record in records:
            frame = pa.Table.from_pylist([record])
            assert_same_counts(started.update(record), started.update(frame))

    def test_counts_that_overflow(self, asia, rows):
        heavy = rows.with_weights(np.full(rows.n_rows, 1e305))
        with pytest.raises(
            DataError, match=r"^counts must stay below 1\.8e\+308; with these rows they exceed it\. Divide"
        ):
            asia.update(heavy, ess=1.7e308)
        with pytest.raises(DataError, match=r"^counts must stay below"):
            asia.update(heavy.take([0]).with_weights([1.7e308]), ess=1.7e308)

    def test_no_threads(self, started, rows):
        with pytest.raises(DataError, match=r"^n_jobs must be an integer other than 0"):
            started.update(rows.take(slice(0, 1)), n_jobs=0)

    def test_an_impossible_row_is_counted(self, asia):
        row = dict.fromkeys(asia.nodes, "no") | {"either": "yes"}
        seen = update_network(asia, [row], ess=10)
        given = {"lung": "no", "tub": "no"}
        assert seen.network.cpt("either").distribution(given)["yes"] == pytest.approx(1 / 11, rel=1e-12)
        assert seen.n_impossible == 1
        assert math.isnan(seen.log_score)

    @pytest.mark.shared
    def test_real_rows(self, shared_data):
        table = tb.read_table(shared_data / "bnlearn" / "alarm.csv.gz").take(slice(0, 5000))
        net = tb.read_network(shared_data / "networks" / "alarm.bif")
        table = table.select([name for name in table.names if name in net.nodes])
        dag = tb.DAG(table.names, [arc for arc in net.dag.arcs if set(arc) <= set(table.names)])
        states = tb.fit_parameters(dag, table)
        first = tb.fit_parameters(states, table.take(slice(0, 1000)))
        assert_same(first.update(table.take(slice(1000, None))), states)


class TestTablesWithoutCounts:
    def test_every_row_is_worth_ess_rows(self, asia, rows):
        net = asia.update(rows, ess=50)
        n = tb.Counter(rows).family("dysp", ["either", "bronc"]).array
        mine = [[v.states.index(s) for s in tb.Counter(rows).parts[0].table.variable(v.name).states]
                for v in family(asia.cpt("dysp"))]  # fmt: skip
        expected = 50 * asia.cpt("dysp").table() + n[np.ix_(*np.argsort(mine, axis=1))]
        np.testing.assert_allclose(net.cpt("dysp").counts, expected, **EXACT)
        np.testing.assert_allclose(
            net.cpt("dysp").table(), expected / expected.sum(axis=-1, keepdims=True), rtol=1e-12, atol=0
        )

    def test_a_number_for_each_variable(self, asia):
        ess = dict.fromkeys(asia.nodes, 10.0) | {"smoke": 1000.0}
        net = asia.update(dict.fromkeys(asia.nodes, "yes"), ess=ess)
        assert net.cpt("smoke").counts.sum() == 1001
        assert net.cpt("asia").counts.sum() == 11

    def test_nobody_says_what_they_are_worth(self, asia, rows):
        with pytest.raises(DataError, match=r"^ess must give the number of rows that tables without counts are worth; "
                           "got none"
                           r" for 'asia', 'tub', 'smoke', 'lung', … \(8 in all\)\. ess=100 makes"):  # fmt: skip
            asia.update(rows)
        with pytest.raises(DataError, match=r"got none for 'tub'\. ess=100 makes every row .* fixed=\[name\] leaves"):
            asia.update(rows, ess={name: 5 for name in asia.nodes if name != "tub"})

    def test_counts_that_are_there_are_not_rescaled(self, started, rows):
        assert_same(started.update(rows, ess=7), started.update(rows))
        assert_same(started.update(rows, ess={"smoke": 7}), started.update(rows))

    def test_said_twice_it_holds_once(self, asia, rows):
        twice = asia.update(rows, ess=20).update(rows, ess=20)
        assert_same(twice, asia.update(rows, ess=20).update(rows))

    @pytest.mark.parametrize(
        ("ess", "message"),
        [
            (0, r"^ess must be greater than 0\.0; got 0\.$"),
            (-1, "greater than"),
            (math.inf, "finite"),
            ("much", r"^ess must be a number; got 'much'\.$"),
            ({"smoke": 0}, r"^ess of 'smoke' must be greater than 0\.0; got 0\.$"),
            ({"smoek": 3}, r"^ess must name variables of the network; got 'smoek'\. Did you mean 'smoke'\?$"),
        ],
    )
    def test_bad_numbers(self, asia, ess, message):
        with pytest.raises(DataError, match=message):
            asia.update([], ess=ess)


class TestFixedTables:
    def test_they_stay(self, asia, rows):
        net = asia.update(rows, ess=10, fixed=["either", "smoke"], fading=0.99)
        assert net.cpt("either") is asia.cpt("either")
        assert net.cpt("smoke").counts is None
        assert net.cpt("lung") != asia.cpt("lung")

    def test_without_counts_and_without_ess(self, lawn):
        bare = BayesianNetwork.from_tables([lawn.cpt("rain").with_counts(None), lawn.cpt("wet")])
        net = bare.update({"rain": "yes", "wet": "no"}, fixed="rain")
        assert net.cpt("rain") == lawn.cpt("rain")
        assert net.cpt("wet").counts.tolist() == [[9.0, 1.0], [2.0, 3.0]]

    @pytest.mark.parametrize("names", [["lungs"], [("lung",)], [3], 3, "lungs"])
    def test_unknown_names(self, asia, names):
        with pytest.raises(DataError, match=r"^fixed must name variables of the network; got "):
            asia.update([], ess=1, fixed=names)

    def test_noisy_tables_are_refused_unless_fixed(self):
        rain, wet = tb.Variable("rain", ["no", "yes"]), tb.Variable("wet", ["no", "yes"])
        noisy = tb.noisy_or(wet, {rain: 0.8}, leak=0.1)
        net = BayesianNetwork.from_tables([CPT(rain, [], [0.5, 0.5]), noisy])
        record = {"rain": "yes", "wet": "no"}
        way_out = r"Keep it with fixed=\['wet'\], or convert it to a CPT first: CPT\("
        what = "tables must store their rows to be updated; the one of 'wet' is a NoisyMaxCPT"
        with pytest.raises(DataError, match=rf"^{what}\. {way_out}"):
            net.update(record, ess=1)
        seen = update_network(net, [record, {"wet": "yes"}], ess=1, fixed="wet")
        assert seen.network.cpt("wet") is noisy
        assert seen.log_score == pytest.approx(np.mean(net.log_likelihood([record, {"wet": "yes"}])), rel=1e-12)


class TestFading:
    def test_a_batch_is_its_rows(self, started, rows):
        whole = started.update(rows, fading=0.97)
        net = started
        for i in range(rows.n_rows):
            net = net.update(rows.take(slice(i, i + 1)), fading=0.97)
        assert_same(net, whole, rtol=1e-11, atol=1e-15)
        assert_same(
            started.update(rows.take(slice(0, 123)), fading=0.97).update(rows.take(slice(123, None)), fading=0.97),
            whole, rtol=1e-11, atol=1e-15,
        )  # fmt: skip

    def test_the_formula(self, lawn):
        states = ["no", "no", "yes", "no"]
        net = lawn.update([{"rain": s} for s in states], fading=0.5)
        expected = 0.5**4 * np.array([6.0, 2.0])
        for i, state in enumerate(states):
            expected[int(state == "yes")] += 0.5 ** (3 - i)
        np.testing.assert_allclose(net.cpt("rain").counts, expected, rtol=1e-15, atol=0)
        np.testing.assert_allclose(net.cpt("rain").table(), expected / expected.sum(), rtol=1e-15, atol=0)

    def test_the_order_of_rows_matters(self, lawn):
        there = [{"rain": "no"}, {"rain": "yes"}]
        a, b = (lawn.update(some, fading=0.5).cpt("rain").counts for some in (there, there[::-1]))
        assert a.tolist() != b.tolist()

    def test_the_most_that_a_table_is_worth(self, lawn):
        net = lawn.update([{"rain": "yes"}] * 2000, fading=0.98)
        assert net.cpt("rain").counts.sum() == pytest.approx(50.0, rel=1e-12)

    def test_by_variable(self, started, rows):
        net = started.update(rows, fading={"smoke": 0.9, "lung": 0.99})
        plain = started.update(rows)
        for name, factor in (("smoke", 0.9), ("lung", 0.99)):
            np.testing.assert_allclose(
                net.cpt(name).counts, started.update(rows, fading=factor).cpt(name).counts, **EXACT
            )
            assert net.cpt(name) != plain.cpt(name)
        assert all(net.cpt(name) == plain.cpt(name) for name in started.nodes if name not in ("smoke", "lung"))

    def test_with_weights_and_holes(self, started, rows):
        holes = with_holes(rows, 0.1, 5).take(slice(0, 60))
        holes = holes.with_weights(np.random.default_rng(1).uniform(0.5, 2, 60))
        net = started.update(holes, fading=0.9)
        records = holes.to_arrow().to_pylist()
        alphas = {name: cpt.counts for name, cpt in started.cpts.items()}
        expected = updated(list(started.cpts.values()), alphas, records, holes.weights, 0.9)
        for name, alpha in expected.items():
            np.testing.assert_allclose(net.cpt(name).counts, alpha, rtol=1e-9, atol=1e-12)

    def test_what_was_possible_stays_possible(self, lawn):
        net = lawn.update([{"rain": "yes", "wet": "no"}] * 5000, fading=0.5)
        assert (net.cpt("rain").table() > 0).all()
        np.testing.assert_array_equal(net.cpt("wet").table()[0], lawn.cpt("wet").table()[0])
        assert 0 < net.cpt("wet").counts[0].sum() < 1e-100

    def test_zeros_stay_zeros(self, asia, rows):
        net = asia.update(rows, ess=5, fading=0.9)
        np.testing.assert_array_equal(net.cpt("either").counts == 0, asia.cpt("either").table() == 0)

    @pytest.mark.parametrize(
        ("fading", "message"),
        [
            (0, r"^fading must be greater than 0\.0; got 0\.$"),
            (1.01, r"^fading must be at most 1\.0; got 1\.01\.$"),
            (None, r"^fading must be a number; got None\.$"),
            ({"smoke": 2}, r"^fading of 'smoke' must be at most 1\.0; got 2\.$"),
            ({"lungs": 0.5}, r"^fading must name variables of the network; got 'lungs'\. Did you mean 'lung'\?$"),
        ],
    )
    def test_bad_numbers(self, started, fading, message):
        with pytest.raises(DataError, match=message):
            started.update([], fading=fading)


class TestRowsWithHoles:
    def test_by_hand(self, lawn):
        """P(rain | wet) = 0.25·0.75 / (0.25·0.75 + 0.75·0.1)."""
        net = lawn.update({"wet": "yes"})
        p = 0.1875 / 0.2625
        np.testing.assert_allclose(net.cpt("rain").counts, [6 + 1 - p, 2 + p], rtol=1e-14, atol=0)
        np.testing.assert_allclose(net.cpt("wet").counts, [[9, 1 + 1 - p], [1, 3 + p]], rtol=1e-14, atol=0)

    def test_equal_to_enumeration(self, started, rows):
        holes = with_holes(rows, 0.3, 0).take(slice(0, 40))
        alphas = {name: cpt.counts for name, cpt in started.cpts.items()}
        expected = updated(
            list(started.cpts.values()), alphas, holes.to_arrow().to_pylist(), np.ones(40), 1.0
        )  # fmt: skip
        net = started.update(holes)
        for name, alpha in expected.items():
            np.testing.assert_allclose(net.cpt(name).counts, alpha, rtol=1e-9, atol=1e-12)

    def test_batch_rows_is_a_loop(self, started, rows):
        holes = with_holes(rows, 0.3, 0).take(slice(0, 50))
        net = started
        for start in range(0, 50, 7):
            net = net.update(holes.take(slice(start, min(start + 7, 50))))
        assert_same(started.update(holes, batch_rows=7), net)

    def test_the_batches_matter(self, started, rows):
        holes = with_holes(rows, 0.3, 0)
        whole, single = started.update(holes), started.update(holes, batch_rows=1)
        differ = max(np.abs(whole.cpt(n).table() - single.cpt(n).table()).max() for n in started.nodes)
        assert 1e-4 < differ < 0.2

    def test_barren_families_are_not_touched(self, started):
        seen = update_network(started, {"asia": "yes", "smoke": "no", "bronc": "yes"})
        assert seen.n_incomplete == 1  # though nothing has to be inferred
        net = seen.network
        touched = [n for n in started.nodes if (net.cpt(n).counts != started.cpt(n).counts).any()]
        assert touched == ["asia", "smoke", "bronc"]

    def test_every_row_with_a_missing_value_is_incomplete(self):
        net = tb.BayesianNetwork({"A": ["x", "y"], "B": ["p", "q"]}, [], {"A": [0.5, 0.5], "B": [0.5, 0.5]})
        rows = {"A": ["x"] * 10, "B": [None] * 9 + ["p"], "other": [None] * 10}
        assert [update_network(net, rows, ess=1, batch_rows=n).n_incomplete for n in (None, 1)] == [9, 9]

    def test_rows_without_inference_are_those_that_know_the_parents(self, asia):
        records = [{"smoke": "yes"}, {"lung": "yes"}, {"smoke": "yes", "lung": "no"}, {"dysp": "no"}, {"xray": None}]
        table = tb.as_table(records)
        rows, _ = read_batch(table, asia.variables)
        assert Batch.of(rows, list(asia.cpts.values())).countable.tolist() == [True, False, True, False, True]

    def test_a_row_that_knows_nothing(self, started):
        seen = update_network(started, [dict.fromkeys(started.nodes)])
        assert_same(seen.network, started)
        assert (seen.n_rows, seen.log_score) == (1, 0.0)

    def test_impossible_rows_are_left_out(self, asia, rows):
        odd = [{"tub": "yes", "either": "no"}, {"lung": "yes", "tub": "no", "either": "yes"}]
        with pytest.warns(ZeroProbabilityWarning, match=r"^1 of 2 rows cannot occur in the network and was left out\. "
                          "Missing values cannot be inferred in them; tables without zeros have no"):  # fmt: skip
            seen = update_network(asia, odd, ess=10)
        assert_same(seen.network, asia.update(odd[1], ess=10))
        assert seen.n_impossible == 1
        assert seen.log_score == pytest.approx(asia.log_likelihood(odd)[1], rel=1e-12)

    def test_inference_only_where_it_is_needed(self, started, rows, monkeypatch):
        sizes = []

        class Watched(IncompleteRows):
            def __init__(self, flat, codes, *args, **kwargs):
                sizes.append(codes.shape[1])
                super().__init__(flat, codes, *args, **kwargs)

        monkeypatch.setattr(module, "IncompleteRows", Watched)
        started.update(rows)
        assert sizes == []
        records = rows.take(slice(0, 9)).to_arrow().to_pylist()
        records[4]["either"] = None
        started.update(records)
        assert sizes == [1]

    @pytest.mark.parametrize("size", [0, 2.5, "all"])
    def test_bad_batch_rows(self, started, size):
        with pytest.raises(DataError, match=r"^batch_rows must be "):
            started.update([], batch_rows=size)


class TestScore:
    @pytest.mark.parametrize("share", [0.0, 0.2])
    @pytest.mark.parametrize("fading", [1.0, 0.9])
    def test_it_is_the_mean_log_likelihood_before(self, started, rows, share, fading):
        some = with_holes(rows, share, 2).with_weights(np.linspace(0.1, 2, rows.n_rows))
        seen = update_network(started, some, fading=fading)
        expected = np.average(started.log_likelihood(some), weights=some.weights)
        assert seen.log_score == pytest.approx(expected, rel=1e-10)
        assert (seen.n_rows, seen.n_impossible, seen.new_states) == (400, 0, {})
        assert (seen.n_incomplete > 0) == (share > 0)

    def test_each_batch_is_scored_before_it_is_learned(self, started, rows):
        batches = [rows.take(slice(0, 100)), rows.take(slice(100, 400))]
        seen = update_network(started, iter(batches))
        first = started.log_likelihood(batches[0]).sum()
        second = started.update(batches[0]).log_likelihood(batches[1]).sum()
        assert seen.log_score == pytest.approx((first + second) / 400, rel=1e-12)

    def test_no_rows(self, started):
        seen = update_network(started, [])
        assert_same(seen.network, started)
        assert seen.n_rows == 0
        assert math.isnan(seen.log_score)


class TestNewStates:
    def test_of_a_variable_and_of_a_parent(self, lawn):
        seen = update_network(lawn, [{"rain": "hail", "wet": "yes"}])
        net = seen.network
        assert seen.new_states == {"rain": ("hail",)}
        assert net.variable("rain").states == ("no", "yes", "hail")
        np.testing.assert_allclose(net.cpt("rain").counts, [6, 2, 1 / 3 + 1], rtol=1e-14, atol=0)
        pooled, one = np.array([10, 4]) / 14, np.array([0, 1])  # pooled: of the rows with the other states together
        np.testing.assert_allclose(net.cpt("wet").counts, [[9, 1], [1, 3], pooled + one], rtol=1e-14, atol=0)
        np.testing.assert_allclose(net.cpt("wet").table()[2], (pooled + one) / 2, rtol=1e-14, atol=0)

    def test_a_configuration_that_is_worth_little_gives_little(self, lawn):
        small = lawn.cpt("rain").with_counts([0.15, 0.05])
        net = BayesianNetwork.from_tables([small, lawn.cpt("wet").with_counts([[0.1, 0.1], [0.2, 0.2]])])
        net = update_network(net, {"rain": "hail"}, fading=1.0).network
        np.testing.assert_allclose(net.cpt("rain").counts, [0.15, 0.05, 0.2 / 3 + 1], rtol=1e-14, atol=0)
        np.testing.assert_allclose(net.cpt("wet").counts[2], [0.15, 0.15], rtol=1e-14, atol=0)

    def test_several_at_once_and_later(self, lawn):
        first = update_network(lawn, {"rain": ["snow", "hail", "snow"], "wet": ["yes", "damp", "no"]}).network
        assert first.variable("rain").states == ("no", "yes", "hail", "snow")
        assert first.variable("wet").states == ("no", "yes", "damp")
        assert first.cpt("wet").shape == (4, 3)
        np.testing.assert_allclose(first.cpt("wet").table().sum(axis=-1), 1, rtol=1e-12, atol=0)
        second = update_network(first, {"rain": "fog"}).network
        assert second.variable("rain").states == ("no", "yes", "hail", "snow", "fog")

    def test_laplace_comes_out_nearly_as_one_fit(self, rows):
        """The share of a new state is that of the default prior, so only old cells differ, by 1/2 − 1/3 at most."""
        dag = tb.DAG(["smoke", "bronc"], [("smoke", "bronc")])
        known = rows.select(["smoke", "bronc"])
        records = known.to_arrow().to_pylist() + [{"smoke": "pipe", "bronc": "yes"}] * 20
        net = update_network(tb.fit_parameters(dag, known), records[400:]).network
        whole = tb.fit_parameters(dag, records)
        assert_same(net, whole, rtol=0.02, atol=0.35)

    def test_an_update_that_returns_the_network_alone_warns_of_them(self, lawn):
        what = "values that are not states of the network became new states: rain: 'hail', 'snow'; wet: 'damp'"
        with pytest.warns(DataWarning, match=rf"^{what}\. new_states='error' raises an error instead; update_network"):
            net = lawn.update({"rain": ["hail", "snow"], "wet": ["damp", "yes"]})
        assert net.variable("wet").states == ("no", "yes", "damp")

    def test_as_missing(self, lawn):
        with pytest.warns(
            UnseenStateWarning, match=r"^states that the network does not know count as missing: rain: 'hail'\.$"
        ):
            net = lawn.update({"rain": "hail", "wet": "yes"}, new_states="missing")
        assert_same(net, lawn.update({"wet": "yes"}))

    def test_as_an_error(self, lawn):
        with pytest.raises(
            DataError, match=r"^column 'rain' must hold states of 'rain'; got 'yess'\. Did you mean 'yes'\?$"
        ):
            lawn.update({"rain": "yess"}, new_states="error")
        with pytest.raises(
            DataError, match=r"^new_states must be one of 'add', 'missing', 'error'; got 'ad'\. Did you"
        ):
            lawn.update({"rain": "yes"}, new_states="ad")

    def test_their_type_is_that_of_the_others(self):
        number = CPT(tb.Variable("n", [1, 2]), [], [0.5, 0.5], counts=[1, 1])
        text = CPT(tb.Variable("t", ["1", "2"]), [], [0.5, 0.5], counts=[1, 1])
        truth = CPT(tb.Variable("b", [False, True]), [], [0.5, 0.5], counts=[1, 1])
        net = BayesianNetwork.from_tables([number, text, truth])
        net = update_network(net, {"n": [3.0, 1.0], "t": [3, 1], "b": ["maybe", "true"]}).network
        assert [v.states for v in net.variables] == [(1, 2, 3), ("1", "2", "3"), (False, True, "maybe")]

    def test_an_order_ends(self):
        size = CPT(tb.Variable("size", ["S", "M"], ordered=True), [], [0.5, 0.5], counts=[1, 1])
        net = BayesianNetwork.from_tables([size])
        assert net.update({"size": "M"}).variable("size").ordered
        assert not update_network(net, {"size": "XS"}).network.variable("size").ordered

    def test_values_without_end_are_refused(self, lawn):
        what = r"column 'rain' must hold states of 'rain' or a few new ones; got 21 unknown values, such as 0\.0"
        with pytest.raises(DataError, match=rf"^{what}, 1\.0, 2\.0\. If they are numbers, .* new_states='missing'"):
            lawn.update({"rain": np.arange(21.0)})
        assert update_network(lawn, {"rain": np.arange(20.0)}).network.variable("rain").n_states == 22

    def test_intervals_take_none(self):
        fever = CPT(tb.Variable("fever", ["no", "yes"], cuts=[38.5]), [], [0.5, 0.5], counts=[1, 1])
        net = BayesianNetwork.from_tables([fever])
        assert net.update({"fever": [36.6, 40.1, 37.0]}).cpt("fever").counts.tolist() == [3, 2]
        assert net.update(tb.as_table({"fever": [36.6, 40.1, 37.0]})).cpt("fever").counts.tolist() == [3, 2]
        what = "'fever' is discretised, and its column must hold numbers or labels of its bins; got 'some'"
        with pytest.raises(DataError, match=rf"^{what}\. new_states='missing' treats such values as missing\.$"):
            net.update({"fever": ["some", "no"]})

    def test_a_fixed_table_takes_none(self, lawn):
        what = "the table of 'wet' must not change, and has no row for new states; got 'hail' of 'rain'"
        with pytest.raises(DataError, match=rf"^{what}\. new_states='missing' treats"):
            lawn.update({"rain": "hail"}, fixed="wet")

    def test_states_that_no_row_is_in_are_none(self, lawn):
        table = tb.Table.of([tb.as_table({"rain": ["no", "fog"]}).column("rain")]).take([0])
        assert table.variable("rain").n_states == 2
        assert lawn.update(table).variable("rain").n_states == 2
        text = pa.table({"rain": pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["no", "fog"])})
        assert lawn.update(text).variable("rain").n_states == 2


RECORDS = ({"rain": "yes", "wet": "no"}, {"rain": "no", "wet": None}, {"rain": "no", "wet": "yes"})


class TestWaysToGiveRows:
    def forms(self):
        records = list(RECORDS)
        table = pa.Table.from_pylist(records)
        encoded = pa.table({name: table[name].dictionary_encode() for name in table.column_names})
        swapped = encoded.set_column(
            0, "rain", pa.DictionaryArray.from_arrays(pa.array([1, 0, 0], pa.uint8()), ["no", "yes"])
        )
        return {
            "records": records,
            "columns": {"rain": ["yes", "no", "no"], "wet": ["no", None, "yes"], "other": [1, 2, 3]},
            "Table": tb.as_table(records),
            "arrow": table,
            "dictionaries": encoded,
            "unsigned dictionaries": swapped,
            "record batch": table.to_batches()[0],
            "pandas": table.to_pandas(),
            "pandas categoricals": table.to_pandas().astype("category"),
            "reader": table.to_reader(1),
            "dataset": ds.dataset(table),
            "generator": (record for record in records),
            "frames": [table.slice(0, 2), tb.as_table(records[2:])],
            "iterator of frames": iter([tb.as_table(records[:1]), records[1:]]),
        }

    @pytest.mark.parametrize("form", range(14))
    def test_all_are_the_same(self, lawn, form):
        expected = lawn
        for record in list(RECORDS):
            expected = expected.update(record)
        name, given = list(self.forms().items())[form]
        assert_same(lawn.update(given), expected)
        assert name

    def test_polars(self, lawn):
        polars = pytest.importorskip("polars")
        expected = lawn.update(list(RECORDS))
        assert_same(lawn.update(polars.DataFrame(list(RECORDS))), expected)
        assert_same(lawn.update(polars.DataFrame(list(RECORDS)).cast(polars.Categorical)), expected)

    def test_only_one_frame_is_held(self, started, rows):
        """A frame is asked for when the one before has been counted, and can be forgotten by then."""
        import gc
        import weakref

        alive: list[weakref.ref] = []

        def stream():
            for start in range(0, 400, 100):
                gc.collect()
                assert sum(ref() is not None for ref in alive) <= 1
                frame = rows.take(slice(start, start + 100))
                alive.append(weakref.ref(frame))
                yield frame

        assert_same(started.update(stream()), started.update(rows))
        assert len(alive) == 4

    def test_an_interruption_changes_nothing(self, started, rows):
        before = {name: cpt.counts.copy() for name, cpt in started.cpts.items()}

        def stream():
            yield rows
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            started.update(stream())
        assert all((started.cpt(name).counts == counts).all() for name, counts in before.items())

    @pytest.mark.parametrize("path", ["new.csv", b"x"])
    def test_a_file_name(self, lawn, path):
        with pytest.raises(DataError, match=r"^rows must be a frame, a record, or an iterator of frames; got .*read_"):
            lawn.update(path)

    @pytest.mark.parametrize("value", [2, 2.0, "2", np.int64(2), True, None, float("nan"), 1.5, "x"])
    def test_values_of_a_record_are_those_of_a_column(self, value):
        """Whatever way they are read, the same states come out."""
        n = CPT(tb.Variable("n", [1, 2, 3]), [], [0.2, 0.3, 0.5], counts=[2, 3, 5])
        net = BayesianNetwork.from_tables([n])
        one, many = (update_network(net, {"n": values}).network for values in (value, [value] * 70))
        assert one.variable("n") == many.variable("n")
        start = net.cpt("n").counts
        for after, times in ((one, 1), (many, 70)):
            seen = [times * (value == 1), times * (str(value) in ("2", "2.0")), 0]
            assert (after.cpt("n").counts[:3] - start).tolist() == seen

    def test_no_column_of_the_network(self, lawn):
        with pytest.raises(
            DataError, match=r"^rows must have a column for at least one variable \('rain', 'wet'\); got 'snow'"
        ):
            lawn.update({"snow": ["yes"]})

    def test_the_only_column_nearly_has_the_name(self, lawn):
        with pytest.raises(DataError, match=r"got 'Rain'\. Did you mean 'rain'\?$"):
            lawn.update({"Rain": ["yes"]})
        with pytest.raises(DataError, match=r"got none\. Columns are matched to variables by name\.$"):
            lawn.update({})

    def test_nearly_the_name(self, lawn):
        with pytest.warns(DataWarning, match=r"^columns that are not named like a variable are ignored: 'Wet' \("):
            net = lawn.update({"rain": ["yes"], "Wet": ["yes"]})
        assert_same(net, lawn.update({"rain": "yes"}))

    def test_a_frame_without_rows(self, lawn):
        assert_same(lawn.update(tb.as_table(list(RECORDS)).take([])), lawn)
        assert_same(lawn.update(tb.as_table(list(RECORDS)).take([]), fading=0.5), lawn)

    def test_networks_with_numbers_are_refused(self):
        table = tb.as_table({"sex": ["f", "m"] * 20, "height": np.linspace(150, 200, 40)})
        net = tb.fit_parameters(tb.DAG(["sex", "height"], [("sex", "height")]), table)
        for done, work in {
            "updated": lambda: net.update(table),
            "monitored": lambda: tb.DriftMonitor(net),
            "merged": lambda: net.merge(net),
        }.items():
            with pytest.raises(
                DataError,
                match=rf"^a network must have categorical variables only to be {done}; 'height' is continuous",
            ):
                work()


class TestSparseTables:
    @pytest.fixture
    def town(self):
        """Return a network with a sparse table that has counts."""
        place, month = tb.Variable("place", ["Bath", "York"]), tb.Variable("month", list(range(1, 13)))
        rain = tb.Variable("rain", ["no", "yes"])
        sparse = SparseCPT(
            rain, [place, month], {("York", 11): [0.4, 0.6], ("Bath", 2): [0.5, 0.5]}, default=[0.7, 0.3],
            counts=[[4, 6], [1, 1]],
        )  # fmt: skip
        return BayesianNetwork.from_tables(
            [CPT(place, [], [0.5, 0.5], counts=[2, 2]), CPT(month, [], np.full(12, 1 / 12), counts=np.ones(12)), sparse]
        )

    def test_stored_and_new_configurations(self, town):
        records = [
            {"place": "York", "month": 11, "rain": "yes"},
            {"place": "York", "month": 3, "rain": "no"},
            {"place": "York", "month": 3, "rain": "yes"},
        ]
        cpt = town.update(records).cpt("rain")
        assert isinstance(cpt, SparseCPT)
        assert cpt.codes().tolist() == [[0, 1], [1, 2], [1, 10]]
        np.testing.assert_allclose(cpt.counts, [[1, 1], [1.7, 1.3], [4, 7]], rtol=1e-14, atol=0)
        np.testing.assert_allclose(cpt.probabilities[1], [1.7 / 3, 1.3 / 3], rtol=1e-14, atol=0)
        assert cpt.default.tolist() == [0.7, 0.3]

    def test_what_a_new_configuration_is_worth(self, town):
        cpt = town.update({"place": "York", "month": 3, "rain": "no"}, ess=10).cpt("rain")
        np.testing.assert_allclose(cpt.counts[1], [8, 3], rtol=1e-14, atol=0)

    def test_without_counts(self, town):
        bare = BayesianNetwork.from_tables([c.with_counts(None) for c in town.cpts.values()])
        cpt = bare.update({"place": "York", "month": 11, "rain": "no"}, ess=10).cpt("rain")
        np.testing.assert_allclose(cpt.counts, [[5, 5], [5, 6]], rtol=1e-14, atol=0)

    def test_rows_with_holes(self, town):
        net = town.update({"place": "York", "rain": "yes"})
        dense = BayesianNetwork.from_tables(
            [*list(town.cpts.values())[:2], CPT(town.cpt("rain").variable, town.cpt("rain").parents,
                                                town.cpt("rain").table(), counts=_spread(town.cpt("rain")))]
        )  # fmt: skip
        expected = dense.update({"place": "York", "rain": "yes"})
        np.testing.assert_allclose(net.cpt("rain").table(), expected.cpt("rain").table(), rtol=1e-12, atol=0)
        np.testing.assert_allclose(net.cpt("month").counts, expected.cpt("month").counts, rtol=1e-12, atol=0)

    def test_new_states(self, town):
        net = update_network(town, {"place": ["Ely"], "month": [13], "rain": ["hail"]}).network
        cpt = net.cpt("rain")
        assert cpt.shape == (3, 13, 3)
        assert cpt.codes().tolist() == [[0, 1], [1, 10], [2, 12]]
        np.testing.assert_allclose(cpt.counts[0], [1, 1, 1 / 3], rtol=1e-14, atol=0)
        np.testing.assert_allclose(cpt.default, np.array([0.7, 0.3, 1 / 3]) / (4 / 3), rtol=1e-14, atol=0)
        np.testing.assert_allclose(cpt.counts[2], cpt.default + np.array([0, 0, 1]), rtol=1e-14, atol=0)

    def test_fading(self, town):
        cpt = town.update([{"place": "York", "month": 11, "rain": "yes"}] * 3, fading=0.5).cpt("rain")
        np.testing.assert_allclose(cpt.counts, [[1 / 8, 1 / 8], [0.5, 0.75 + 1.75]], rtol=1e-14, atol=0)
        assert cpt.probabilities[0].tolist() == [0.5, 0.5]

    def test_too_large_to_be_written_out(self):
        """10¹² configurations: complete rows are counted, holes are forecast to need too much."""
        parents = [tb.Variable(name, range(1000)) for name in "abcd"]
        roots = [CPT(p, [], np.full(1000, 1e-3), counts=np.ones(1000)) for p in parents]
        net = BayesianNetwork.from_tables(
            [*roots, SparseCPT(tb.Variable("x", [0, 1]), parents, {}, counts=np.empty((0, 2)))]
        )
        row = {"a": 3, "b": 5, "c": 7, "d": 999, "x": 1}
        cpt = net.update(row).cpt("x")
        assert cpt.codes().tolist() == [[3, 5, 7, 999]]
        assert cpt.counts.tolist() == [[0.5, 1.5]]
        with pytest.raises(
            tb.MemoryForecastError, match=r"limit is .*\. Rows with missing values need dense tables: leave"
        ):
            net.update(row | {"a": None})

    def test_one_fit_of_a_large_family(self):
        """Five parents of ten states: what was learned sparsely stays so, and is what one fit would give."""
        rng = np.random.default_rng(0)
        names = ["a", "b", "c", "d", "e", "x"]
        columns = {name: [f"s{k}" for k in rng.integers(0, 10, 600)] for name in names}
        table = tb.as_table(columns)
        dag = tb.DAG(names, [(name, "x") for name in names[:-1]])
        whole = tb.fit_parameters(dag, table)
        assert isinstance(whole.cpt("x"), SparseCPT)
        net = tb.fit_parameters(whole, table.take(slice(0, 300))).update(table.take(slice(300, None)))
        np.testing.assert_array_equal(net.cpt("x").configurations, whole.cpt("x").configurations)
        np.testing.assert_allclose(net.cpt("x").counts, whole.cpt("x").counts, **EXACT)
        np.testing.assert_allclose(net.cpt("x").probabilities, whole.cpt("x").probabilities, **EXACT)


def _spread(cpt):
    """Return the counts of a sparse table written out: where none are stored, one row's worth of the default."""
    counts = np.tile(cpt.default, (cpt.n_configurations, 1))
    counts[cpt.configurations] = cpt.counts
    return counts.reshape(cpt.shape)
