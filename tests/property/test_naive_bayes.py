"""Naive Bayes against plain loops, on random tables with missing cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.naive_bayes import gaussian_posterior, posterior

cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c", "d"]))


@st.composite
def categorical_rows(draw):
    n_features = draw(st.integers(1, 5))
    n_rows = draw(st.integers(1, 25))
    rows = draw(st.lists(st.tuples(*[cells] * n_features), min_size=n_rows, max_size=n_rows))
    classes = draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=n_rows, max_size=n_rows))
    query = draw(st.tuples(*[cells] * n_features))
    weights = draw(st.none() | st.lists(st.floats(0.1, 5.0), min_size=n_rows, max_size=n_rows))
    return rows, classes, query, weights


def as_columns(rows):
    return {f"f{j}": [row[j] for row in rows] for j in range(len(rows[0]))}


@given(categorical_rows(), st.floats(0.01, 10.0))
@settings(max_examples=150, deadline=None)
@pytest.mark.filterwarnings("ignore::tunbridge.errors.UnseenStateWarning")
def test_categorical(data, gamma):
    rows, classes, query, weights = data
    expected = posterior(rows, classes, query, gamma=gamma, weights=weights)
    clf = tb.NaiveBayesClassifier(smoothing=gamma).fit(as_columns(rows), classes, sample_weight=weights)
    found = dict(zip(clf.classes_.tolist(), clf.predict_proba(as_columns([query]))[0], strict=True))
    assert found.keys() == expected.keys()
    for c, p in expected.items():
        np.testing.assert_allclose(found[c], p, rtol=1e-9, atol=1e-300)


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(1, 4), st.floats(-1e5, 1e5), st.floats(1e-6, 1e6))
@settings(max_examples=100, deadline=None)
def test_gaussian(seed, n_rows, n_features, offset, scale):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n_rows, n_features)) + offset) * scale
    y = np.arange(n_rows) % 2
    missing = rng.random(X.shape) < 0.2
    missing[:4] = False  # two values of each class are always there
    X[missing] = np.nan
    rows = [[None if np.isnan(v) else v for v in row] for row in X.tolist()]
    clf = tb.NaiveBayesClassifier(numeric="gaussian", variance_floor=0).fit(X, y)
    for row, found in zip(rows, clf.predict_proba(X), strict=True):
        expected = gaussian_posterior(rows, y.tolist(), row)
        # An offset of 1e5 deviations leaves eleven digits of each deviation.
        np.testing.assert_allclose(found, [expected[0], expected[1]], rtol=1e-6, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["gaussian", "kernel", "discretise"]))
@settings(max_examples=30, deadline=None)
def test_large_and_small_paths_agree(seed, numeric):
    """Rows predicted one by one (NumPy) and all together (kernels) get the same posterior."""
    rng = np.random.default_rng(seed)
    n = 4000
    y = rng.integers(0, 3, n)
    X = np.column_stack([rng.normal(y, 1.0), rng.normal(size=n), rng.normal(-y, 2.0)])
    X[rng.random(X.shape) < 0.1] = np.nan
    clf = tb.NaiveBayesClassifier(numeric=numeric).fit(X, y)
    together = clf.predict_proba(X)
    some = rng.integers(0, n, 20)
    alone = np.concatenate([clf.predict_proba(X[i : i + 1]) for i in some])
    np.testing.assert_allclose(together[some], alone, rtol=1e-9, atol=1e-14)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=20, deadline=None)
def test_coded_integers_are_the_same_as_text(seed, n_features):
    rng = np.random.default_rng(seed)
    n = 9000
    X = rng.integers(-3, 300, (n, n_features))
    y = rng.integers(0, 2, n)
    numbers = tb.NaiveBayesClassifier(categorical="all").fit(X, y).predict_proba(X)
    text = {f"c{j}": X[:, j].astype(str).tolist() for j in range(n_features)}
    words = tb.NaiveBayesClassifier(categorical="all").fit(text, y).predict_proba(text)
    np.testing.assert_allclose(numbers, words, rtol=1e-10, atol=0)
