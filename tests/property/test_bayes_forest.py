"""Bayes forests: tries against the definition, exponents against a general optimiser, and what chance may not touch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

import tunbridge as tb
from oracles.tries import estimate
from tunbridge.classifiers.averages._members import fit_exponents, gains
from tunbridge.classifiers.averages._tries import LEAST, TrieRows, flatten, grow_trie
from tunbridge.kernels.classifiers.forests import add_log_estimates


@st.composite
def coded_rows(draw):
    seed, n = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 40))
    rng = np.random.default_rng(seed)
    n_states, n_classes = (3, 2, 3, 4), int(rng.integers(1, 4))
    codes = np.stack([rng.integers(0, r, n) for r in n_states]).astype(np.int32)
    weights = rng.choice([0.5, 1.0, 1.0, 2.0, 3.5], n) if seed % 2 else np.ones(n)
    return TrieRows(codes, rng.integers(0, n_classes, n), weights, n_states, n_classes)


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
    add_log_estimates(query, flat, found)
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
    rows = TrieRows(codes, rng.integers(0, 2, 50), np.ones(50), (2, 2, 2), 2)
    short, whole = (grow_trie(rows, 0, parents)[0] for parents in ([1], [1, 2]))
    query, found = np.array([[0], [1], [-1]], np.int32), []
    for trie in (short, whole):
        out = np.zeros((1, 2))
        add_log_estimates(query, flatten([trie], np.ones(1), rows.n_states), out)
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

    def test_features_that_tell_only_together_are_important(self, tmp_path):
        X = {"a": ["0", "0", "1", "1"] * 50, "b": ["0", "1", "0", "1"] * 50, "same": ["s"] * 200}
        differs = [a != b for a, b in zip(X["a"], X["b"], strict=True)]
        clf = tb.BayesForestClassifier(random_state=0).fit(X, differs)
        found = clf.importance()
        assert min(found["a"], found["b"]) > 0.1
        assert 0.95 * np.log(2) < found["a"] + found["b"] <= np.log(2)
        assert found["same"] == 0.0
        assert list(clf.importance("weight"))[2] == "same"
        clf.save(tmp_path / "m.tb")
        assert dict(tb.load(tmp_path / "m.tb").importance()) == dict(found)

    def test_gains_are_those_of_posteriors_with_more_and_more_features(self):
        rng = np.random.default_rng(0)
        terms, prior = np.log(rng.dirichlet(np.ones(3), (20, 4)).transpose(0, 2, 1)), np.log([0.5, 0.3, 0.2])
        classes, weights, exponents = rng.integers(0, 3, 20), rng.uniform(0.5, 2, 20), np.array([0.5, 1.0, 0.0, 2.0])
        order = [2, 0, 3, 1]
        found = gains(terms, exponents, prior, classes, weights, order)
        for i, f in enumerate(order):
            p = []
            for told in (order[:i], order[: i + 1]):
                shares = np.exp(prior + sum((exponents[g] * terms[:, :, g] for g in told), np.zeros((20, 3))))
                p.append((shares / shares.sum(axis=1, keepdims=True))[np.arange(20), classes])
            logs, odds = np.log(p), np.log(p) - np.log1p(-np.array(p))
            assert found[0, f] == pytest.approx(np.average(logs[1] - logs[0], weights=weights), rel=1e-9, abs=1e-12)
            assert found[1, f] == pytest.approx(np.average(odds[1] - odds[0], weights=weights), rel=1e-9, abs=1e-12)
        assert found[:, 2].tolist() == [0.0, 0.0]

    def test_of_one_class_nothing_is_told(self):
        clf = tb.BayesForestClassifier(2, random_state=0).fit({"a": ["u", "v"]}, ["x", "x"])
        assert clf.importance()["a"] == clf.importance("weight")["a"] == 0.0

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


def test_a_handful_of_missing_cells_says_nothing():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    told = np.where(rng.random(400) < 0.8, y, 1 - y).astype(str).astype(object)
    told[np.flatnonzero(y == 1)[:2]] = None  # two of four hundred, both of one class
    often = rng.integers(0, 2, 400).astype(str).astype(object)
    often[rng.random(400) < np.where(y == 1, 0.6, 0.1)] = None  # here to be missing tells
    clf = tb.BayesForestClassifier(5, random_state=0).fit({"told": told, "often": often}, y)
    assert clf.statistics_.networks.members[0].encoding.missing == {1}
    rare, known = (
        clf.predict_proba({"told": [None], "often": ["0"]}),
        clf.predict_proba({"told": ["1"], "often": ["0"]}),
    )
    assert rare[0, 1] < known[0, 1]
    assert clf.predict_proba({"told": [None], "often": [None]})[0, 1] > 0.7


def test_rows_without_a_code_are_not_counted():
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 3, (3, 60)).astype(np.int32)
    classes, seen = rng.integers(0, 2, 60), codes[0] >= 0
    rows = TrieRows(codes, classes, np.ones(60), (3, 3, 3), 2)
    kept = TrieRows(np.ascontiguousarray(codes[:, seen]), classes[seen], np.ones(seen.sum()), (3, 3, 3), 2)
    (trie, estimate), (other, expected) = grow_trie(rows, 0, [1, 2]), grow_trie(kept, 0, [1, 2])
    np.testing.assert_allclose(estimate[seen], expected, rtol=1e-12)
    np.testing.assert_array_equal(estimate[~seen], 1.0)
    np.testing.assert_allclose(trie.base, other.base, rtol=1e-12)
