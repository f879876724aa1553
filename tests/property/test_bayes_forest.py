"""Bayes forests: tries against the definition, exponents against a general optimiser, and what chance may not touch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import tunbridge as tb
from oracles.tries import estimate
from tunbridge.classifiers.back_off_tries import LEAST, Rows, flatten, grow_trie
from tunbridge.classifiers.exponents import fit_exponents
from tunbridge.kernels.forests import add_log_estimates


@st.composite
def coded_rows(draw):
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 40))
    rng = np.random.default_rng(seed)
    n_states, n_classes = (3, 2, 3, 4), int(rng.integers(1, 4))
    codes = np.stack([rng.integers(0, r, n) for r in n_states]).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 1.0, 2.0, 3.5], n) if seed % 2 else np.ones(n)
    return Rows(codes, rng.integers(0, n_classes, n), weights, n_states, n_classes)


@given(coded_rows())
@settings(max_examples=60, deadline=None)
def test_tries_are_the_definition(rows):
    parents = [1, 2, 3]
    trie, left_out = grow_trie(rows, 0, parents)
    strengths = [level.strength for level in trie.levels]
    plain = [
        (tuple(rows.codes[parents, i].tolist()), int(rows.classes[i]), int(rows.codes[0, i]), float(rows.weights[i]))
        for i in range(len(rows.classes))
    ]
    flat = flatten([trie], np.ones(1), rows.n_states)
    query = np.stack([np.arange(3), *(np.full(3, rows.codes[p, 0]) for p in parents)]).astype(np.int32)
    found = np.zeros((3, rows.n_classes))
    add_log_estimates(query, *flat, found)
    for c in range(rows.n_classes):
        for x in range(3):
            expected = estimate(plain, x, c, plain[0][0], strengths, 3, least=LEAST)
            assert np.exp(found[x, c]) == pytest.approx(expected, rel=1e-10)
        for i in range(min(4, len(plain))):
            expected = estimate(plain, plain[i][2], c, plain[i][0], strengths, 3, least=LEAST, left_out=i)
            assert left_out[i, c] == pytest.approx(expected, rel=1e-10)


def test_a_parent_that_is_not_seen_ends_the_descent():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3, 50)).astype(np.int32)
    rows = Rows(codes, rng.integers(0, 2, 50), np.ones(50), (2, 2, 2), 2)
    short, whole = (grow_trie(rows, 0, parents)[0] for parents in ([1], [1, 2]))
    query, found = np.array([[0], [1], [-1]], np.int32), []
    for trie in (short, whole):
        out = np.zeros((1, 2))
        add_log_estimates(query, *flatten([trie], np.ones(1), rows.n_states), out)
        found.append(out)
    np.testing.assert_array_equal(*found)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 20.0))
@settings(max_examples=30, deadline=None)
def test_exponents_are_the_optimum(seed, penalty):
    rng = np.random.default_rng(seed)
    n, n_classes, n_features = 30, 3, 4
    terms = np.log(rng.dirichlet(np.ones(n_classes), (n, n_features)).transpose(0, 2, 1) + 1e-3)
    terms, classes, weights = np.ascontiguousarray(terms), rng.integers(0, n_classes, n), rng.random(n) + 0.1
    log_prior = np.log(rng.dirichlet(np.ones(n_classes)))

    def loss(w):
        joint = terms @ w + log_prior
        own = joint[np.arange(n), classes]
        return weights @ (np.logaddexp.reduce(joint, axis=1) - own) + 0.5 * penalty * ((w - 1) ** 2).sum()

    best = minimize(loss, np.ones(n_features), method="BFGS", options={"gtol": 1e-7})
    found = fit_exponents(terms, log_prior, classes, weights, penalty=penalty)
    assert loss(found) <= best.fun + 1e-3 * max(1.0, abs(best.fun))
    assert loss(found) <= loss(np.ones(n_features))


def mixed(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    number = np.where(rng.random(n) < 0.1, np.nan, rng.normal(y, 1.0).round(1))
    words = np.array(["a", "b", "c", None], object)[np.where(rng.random(n) < 0.6, y, rng.integers(0, 4, n))]
    return {"number": number, "word": words, "coin": rng.integers(0, 2, n).astype(str)}, y


class TestChance:
    def test_the_order_of_rows_does_not_matter(self):
        X, y = mixed()
        order = np.random.default_rng(1).permutation(len(y))
        found = tb.BayesForestClassifier(4, random_state=3).fit(X, y)
        shuffled = tb.BayesForestClassifier(4, random_state=3).fit({n: c[order] for n, c in X.items()}, y[order])
        np.testing.assert_allclose(shuffled.predict_proba(X), found.predict_proba(X), rtol=1e-9)

    def test_weights_are_replication(self):
        X, y = mixed()
        w = np.arange(len(y)) % 4
        weighted = tb.BayesForestClassifier(4, random_state=3).fit(X, y, sample_weight=w)
        copied = tb.BayesForestClassifier(4, random_state=3).fit(
            {n: np.repeat(c, w) for n, c in X.items()}, np.repeat(y, w)
        )
        np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-9)

    def test_threads_do_not_matter_and_seeds_do(self):
        X, y = mixed()
        found = [
            tb.BayesForestClassifier(4, random_state=s, n_jobs=n).fit(X, y).predict_proba(X)
            for s, n in ((0, 1), (0, 3), (1, 1))
        ]
        np.testing.assert_array_equal(found[0], found[1])
        assert not np.allclose(found[0], found[2])


class TestForest:
    def test_each_parameter_changes_the_result(self):
        X, y = mixed()
        usual = tb.BayesForestClassifier(3, random_state=0).fit(X, y).predict_proba(X)
        others = [{"n_networks": 4}, {"max_parents": 0}, {"penalty": 100.0}, {"class_prior": "uniform"}]
        for other in others:
            clf = tb.BayesForestClassifier(**({"n_networks": 3, "random_state": 0} | other))
            assert not np.allclose(clf.fit(X, y).predict_proba(X), usual), other

    def test_evidence_adds_up(self):
        X, y = mixed()
        clf = tb.BayesForestClassifier(3, random_state=0).fit(X, y)
        rows = [{"number": 0.5, "word": "a", "coin": "1"}, {"number": None, "word": "b", "coin": None}]
        for row in rows:
            told = clf.explain(row)
            p = told.probabilities
            assert told.log_odds == pytest.approx(np.log(p[told.label] / p[told.against]), abs=1e-9)

    def test_further_rows_are_refused(self):
        assert not hasattr(tb.BayesForestClassifier(), "partial_fit")

    def test_a_damaged_file_makes_no_model(self):
        X, y = mixed()
        content = tb.BayesForestClassifier(2, random_state=0).fit(X, y).to_content()
        tries = content["statistics"]["members"][0]["tries"]
        for name in ("child", "cell", "features", "parents", "node_class", "cell_start", "level_first"):
            kept = tries[name]
            tries[name] = kept + 1000
            with pytest.raises(ValueError, match="do not belong"):
                tb.BayesForestClassifier.from_content(content)
            tries[name] = kept
        tb.BayesForestClassifier.from_content(content)

    def test_odd_tables(self):
        clf = tb.BayesForestClassifier(2, random_state=0)
        assert clf.fit({"a": ["u"]}, ["x"]).predict({"a": ["u"]}).tolist() == ["x"]
        X, y = mixed(30)
        X |= {"empty": [None] * 30, "same": ["s"] * 30, "constant": [1.5] * 30}
        p = clf.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)

    def test_bad_parameters(self):
        X, y = mixed(30)
        for bad, message in (
            ({"n_networks": 0}, "n_networks must be"),
            ({"max_parents": -1}, "max_parents must be"),
            ({"penalty": 0}, "penalty must be"),
            ({"random_state": "x"}, "random_state must be"),
        ):
            with pytest.raises(tb.DataError, match=message):
                tb.BayesForestClassifier(**bad).fit(X, y)
