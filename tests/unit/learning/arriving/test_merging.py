"""Merged networks are what one fit to all rows would have been."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.learning import merge_networks
from tunbridge.network import BayesianNetwork, example_network
from tunbridge.probability import CPT, SparseCPT

EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(scope="module")
def asia():
    return example_network("asia")


@pytest.fixture(scope="module")
def rows(asia):
    return asia.sample(300, random_state=1)


def assert_same(a, b):
    assert set(a.nodes) == set(b.nodes)
    for name in a.nodes:
        one, other = a.cpt(name), b.cpt(name)
        axes = [
            [x.states.index(s) for s in y.states]
            for x, y in zip((*one.parents, one.variable), (*other.parents, other.variable), strict=True)
        ]
        np.testing.assert_allclose(one.table()[np.ix_(*axes)], other.table(), **EXACT)
        if isinstance(one, CPT) and isinstance(other, CPT):
            np.testing.assert_allclose(one.counts[np.ix_(*axes)], other.counts, **EXACT)


class TestFits:
    @pytest.mark.parametrize("prior", [tb.MEstimate(m=1.0), tb.MEstimate(m=5.0), 0.5, tb.Laplace(3.0)])
    @pytest.mark.parametrize("cuts", [(150,), (40, 41, 220)])
    def test_parts_are_the_whole(self, asia, rows, prior, cuts):
        ends = [0, *cuts, 300]
        parts = [tb.fit_parameters(asia, rows.take(slice(a, b)), prior) for a, b in pairwise(ends)]
        assert_same(merge_networks(parts, prior=prior), tb.fit_parameters(asia, rows, prior))

    def test_the_default_prior_is_that_of_fitting(self, asia, rows):
        a, b = (tb.fit_parameters(asia, rows.take(slice(i, None, 2))) for i in (0, 1))
        assert_same(a.merge(b), tb.fit_parameters(asia, rows))
        assert_same(a.merge(), a)
        assert_same(merge_networks(a), a)

    def test_another_prior_would_be_wrong(self, asia, rows):
        a, b = (tb.fit_parameters(asia, rows.take(slice(i, None, 2))) for i in (0, 1))
        with pytest.raises(AssertionError):
            assert_same(a.merge(b, prior=0.1), tb.fit_parameters(asia, rows))

    def test_weights(self, asia, rows):
        weighted = rows.with_weights(np.random.default_rng(0).uniform(0, 2, 300))
        a, b = (tb.fit_parameters(asia, weighted.take(slice(i, None, 2))) for i in (0, 1))
        assert_same(a.merge(b), tb.fit_parameters(asia, weighted))

    def test_without_a_prior(self, rows):
        dag = tb.DAG(["smoke", "bronc"], [("smoke", "bronc")])
        a, b = (tb.fit_parameters(dag, rows.take(slice(i, None, 2)), "mle") for i in (0, 1))
        assert_same(a.merge(b, prior="mle"), tb.fit_parameters(dag, rows, "mle"))

    def test_without_a_prior_and_without_rows(self, asia, rows):
        """Configurations that no part has seen have no counts in the whole either."""
        a, b = (tb.fit_parameters(asia, rows.take(some), "mle") for some in (slice(0, 3), slice(3, 7)))
        whole = tb.fit_parameters(asia, rows.take(slice(0, 7)), "mle")
        assert any((cpt.counts.sum(axis=-1) == 0).any() for cpt in whole.cpts.values())
        assert_same(a.merge(b, prior="mle"), whole)

    def test_states_are_united(self):
        """Either half lacks states of the other; a single fit knows all of them, and spreads its prior over all."""
        dag = tb.DAG(["wind", "sail"], [("wind", "sail")])
        one = [{"wind": w, "sail": s} for w, s in [("no", "up"), ("weak", "up"), ("weak", "reefed"), ("no", "up")]]
        two = [{"wind": w, "sail": s} for w, s in [("gale", "down"), ("weak", "up"), ("gale", "reefed")]]
        merged = tb.fit_parameters(dag, one).merge(tb.fit_parameters(dag, two))
        assert merged.variable("wind").states == ("no", "weak", "gale")
        whole = tb.fit_parameters(dag, [*one, *two])
        counts = merged.cpt("sail").counts[np.ix_([2, 0, 1], *_order(merged, whole, "sail"))]
        assert whole.variable("wind").states == ("gale", "no", "weak")
        np.testing.assert_allclose(counts, whole.cpt("sail").counts, **EXACT)
        assert_same(merged, whole)

    def test_the_order_of_parents_may_differ(self, rows):
        nodes = ["tub", "lung", "either"]
        a = tb.DAG(nodes, [("tub", "either"), ("lung", "either")])
        b = tb.DAG(nodes[::-1], [("lung", "either"), ("tub", "either")])
        one = tb.fit_parameters(a, rows.take(slice(0, 100)))
        other = tb.fit_parameters(b, rows.take(slice(100, None)))
        assert [p.name for p in other.cpt("either").parents] == ["lung", "tub"]
        assert_same(one.merge(other), tb.fit_parameters(a, rows))

    def test_sparse_and_dense_tables(self):
        rng = np.random.default_rng(0)
        names = ["a", "b", "c", "d", "e", "x"]
        table = tb.as_table({name: [f"s{k}" for k in rng.integers(0, 10, 500)] for name in names})
        dag = tb.DAG(names, [(name, "x") for name in names[:-1]])
        whole = tb.fit_parameters(dag, table)
        parts = [tb.fit_parameters(whole, table.take(slice(i, None, 2))) for i in (0, 1)]
        merged = parts[0].merge(parts[1])
        assert isinstance(merged.cpt("x"), SparseCPT)
        np.testing.assert_array_equal(merged.cpt("x").configurations, whole.cpt("x").configurations)
        np.testing.assert_allclose(merged.cpt("x").counts, whole.cpt("x").counts, **EXACT)
        np.testing.assert_allclose(merged.cpt("x").default, whole.cpt("x").default, **EXACT)
        pair = tb.DAG(["a", "x"], [("a", "x")])
        one = tb.fit_parameters(pair, table.take(slice(0, 250)))
        cpt = one.cpt("x")
        codes = np.arange(10)[:, None]
        sparse = SparseCPT.from_codes(cpt.variable, cpt.parents, codes, cpt.table(), counts=cpt.counts)
        other = tb.fit_parameters(pair, table.take(slice(250, None)))
        mixed = BayesianNetwork.from_tables([one.cpt("a"), sparse])
        assert_same(mixed.merge(other), tb.fit_parameters(pair, table))


class TestAdaptedNetworks:
    def test_sites_that_set_out_from_one_network(self, asia, rows):
        a, b = (asia.update(rows.take(slice(i, None, 2)), ess=20) for i in (0, 1))
        start = asia.update([], ess=20)
        assert_same(a.merge(b, prior=start), asia.update(rows, ess=20))

    def test_a_new_state_at_one_of_them(self, rows):
        start = tb.fit_parameters(tb.DAG(["smoke"], []), rows)
        a, b = tb.update_network(start, [{"smoke": "pipe"}] * 3).network, start.update([{"smoke": "yes"}] * 2)
        merged = a.merge(b, prior=start)
        assert merged.variable("smoke").states == ("yes", "no", "pipe")
        yes, no = start.cpt("smoke").counts
        expected = [yes + 2, no, 1 / 3 + 3]
        np.testing.assert_allclose(merged.cpt("smoke").counts, expected, **EXACT)

    def test_fixed_tables_stay(self, asia, rows):
        start = asia.update([], ess=10, fixed="either")
        sites = [start.update(rows.take(slice(i, None, 2)), fixed="either") for i in (0, 1)]
        merged = merge_networks(sites, prior=start)
        assert merged.cpt("either") == asia.cpt("either")
        np.testing.assert_allclose(
            merged.cpt("dysp").counts, start.update(rows, fixed="either").cpt("dysp").counts, **EXACT
        )

    def test_any_prior_of_fitting_as_a_network(self, asia, rows):
        """Fitting to no rows at all gives the prior itself."""
        prior = tb.fit_parameters(asia, rows.take([]), "bdeu")
        a, b = (tb.fit_parameters(asia, rows.take(slice(i, None, 2)), "bdeu") for i in (0, 1))
        assert_same(a.merge(b, prior=prior), tb.fit_parameters(asia, rows, "bdeu"))


class TestErrors:
    def test_other_arcs(self, asia, rows):
        a = tb.fit_parameters(asia, rows)
        arcs = [arc for arc in asia.dag.arcs if arc != ("smoke", "bronc")]
        b = tb.fit_parameters(tb.DAG(asia.nodes, [*arcs, ("bronc", "smoke")]), rows)
        what = "networks to be merged must have the same arcs; got 'bronc' → 'smoke', 'smoke' → 'bronc'"
        with pytest.raises(DataError, match=f"^{what} in one only"):
            a.merge(b)

    def test_other_variables(self, asia, rows):
        a = tb.fit_parameters(asia, rows)
        b = tb.fit_parameters(tb.DAG(["smoke"], []), rows)
        with pytest.raises(DataError, match=r"^networks to be merged must have the same variables; 'asia', .* are"):
            a.merge(b)
        with pytest.raises(DataError, match=r"^the prior and the networks must have the same variables; "):
            a.merge(a, prior=b)

    def test_no_counts(self, asia, rows):
        what = "tables must have counts to be merged; the one of 'asia' has none"
        with pytest.raises(DataError, match=rf"^{what}\. Fit it to data, or update the network with ess\.$"):
            tb.fit_parameters(asia, rows).merge(asia)
        with pytest.raises(DataError, match=rf"^{what}"):
            asia.merge(asia)

    def test_a_prior_that_is_too_large(self, asia, rows):
        a = tb.fit_parameters(asia, rows)
        what = r"prior must be the one behind all networks; the counts of 'asia' are smaller \(-9"
        with pytest.raises(DataError, match=rf"^{what}.* are left\)\. Give the prior with which they were fitted, or"):
            a.merge(a, prior=100)
        small = tb.fit_parameters(asia, rows.take(slice(0, 5)))
        with pytest.raises(DataError, match=r"^prior must be the one behind all networks; the counts of"):
            small.merge(small, prior=a)
        with pytest.raises(DataError, match=r"Counts that have faded, and states that an update added, are smaller"):
            a.merge(a.update(rows, fading=0.5))

    @pytest.mark.parametrize(
        ("prior", "message"),
        [
            ("bdeu", r"^prior must be 'mle', .*, MEstimate, Laplace or a network; got 'bdeu'\. For another prior"),
            (tb.BDeu(), r"got BDeu\(ess=1\.0\)\. For another prior, pass the network that fit_parameters returns"),
            (None, r"Laplace or a network; got None\."),
            (-1, r"^prior must be at least 0; got -1\.$"),
            (tb.MEstimate(m=1, p="marginal"), r"^prior must not depend on the rows; got p='marginal', which differs"),
        ],
    )
    def test_bad_priors(self, asia, rows, prior, message):
        a = tb.fit_parameters(asia, rows)
        with pytest.raises(DataError, match=message):
            a.merge(a, prior=prior)

    @pytest.mark.parametrize(
        ("given", "message"), [([], "not be empty; got none"), ([3], "be BayesianNetworks; got 3")]
    )
    def test_no_networks(self, given, message):
        with pytest.raises(DataError, match=f"^networks must {message}"):
            merge_networks(given)

    def test_noisy_tables(self):
        rain, wet = tb.Variable("rain", ["no", "yes"]), tb.Variable("wet", ["no", "yes"])
        root = CPT(rain, [], [0.5, 0.5], counts=[3, 3])
        a, b = (BayesianNetwork.from_tables([root, tb.noisy_or(wet, {rain: p})]) for p in (0.8, 0.7))
        assert a.merge(a).cpt("wet") is a.cpt("wet")
        assert a.merge(a).cpt("rain").counts.tolist() == [5.5, 5.5]
        with pytest.raises(DataError, match=r"^tables that store no rows must be equal to be merged; those of 'wet'"):
            a.merge(b)


def _order(merged, whole, name):
    return [[merged.variable(name).states.index(s) for s in whole.variable(name).states]]
