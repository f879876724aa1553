"""TAN and k-DB against plain counting and summing, on random tables with missing cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.augmented import conditional_information, joint

cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b"]))


@st.composite
def labelled_rows(draw, most_rows=25):
    n_features = draw(st.integers(1, 4))
    n_rows = draw(st.integers(1, most_rows))
    rows = draw(st.lists(st.tuples(*[cells] * n_features), min_size=n_rows, max_size=n_rows))
    classes = draw(st.lists(st.sampled_from(["x", "y", "z"]), min_size=n_rows, max_size=n_rows))
    weights = draw(st.none() | st.lists(st.floats(0.1, 5.0), min_size=n_rows, max_size=n_rows))
    query = draw(st.tuples(*[cells] * n_features))
    known = [{row[f] for row in rows} for f in range(n_features)]
    return rows, classes, weights, tuple(v if v in known[f] else None for f, v in enumerate(query))


def as_columns(rows):
    return {f"f{j}": [row[j] for row in rows] for j in range(len(rows[0]))}


def structure_of(clf, n_features):
    found = {}
    for name, parents in clf.parents_.items():
        several = () if parents is None else (parents,) if isinstance(parents, str) else parents
        found[int(name[1:])] = [int(p[1:]) for p in several]
    return {f: found.get(f, []) for f in range(n_features)}


@pytest.mark.parametrize(
    "make", [lambda g: tb.TANClassifier(smoothing=g), lambda g: tb.KDBClassifier(2, smoothing=g)], ids=["tan", "kdb"]
)
@given(data=labelled_rows(), gamma=st.floats(0.01, 10.0))
@settings(max_examples=100, deadline=None)
def test_joint_is_the_sum_over_completions(make, data, gamma):
    rows, classes, weights, query = data
    clf = make(gamma).fit(as_columns(rows), classes, sample_weight=weights)
    parents = structure_of(clf, len(query))
    expected = joint(rows, classes, query, parents, gamma=gamma, weights=weights)
    found = np.exp(clf.predict_joint_log_proba(as_columns([query]))[0])
    np.testing.assert_allclose(found, [expected[c] for c in clf.classes_.tolist()], rtol=1e-9, atol=0)


@given(labelled_rows())
@settings(max_examples=60, deadline=None)
def test_the_tree_has_the_most_information_of_all(data):
    rows, classes, _, _ = data
    n = len(rows[0])
    clf = tb.TANClassifier().fit(as_columns(rows), classes)
    parents = structure_of(clf, n)
    used = [f for f in range(n) if any(row[f] is not None for row in rows)]
    gain = {
        frozenset(e): conditional_information(rows, classes, *e)
        for e in itertools.combinations(used, 2)
        if any(row[e[0]] is not None and row[e[1]] is not None for row in rows)
    }

    def total(edges):
        return sum(gain.get(frozenset(e), 0.0) for e in edges)

    trees = (
        edges
        for edges in itertools.combinations(list(itertools.combinations(used, 2)), max(0, len(used) - 1))
        if len({*itertools.chain(*edges)}) == len(used) or len(used) < 2
    )
    best = max((total(t) for t in trees if _is_forest(t)), default=0.0)
    assert total([(f, p[0]) for f, p in parents.items() if p]) == pytest.approx(best, abs=1e-9)


def _is_forest(edges):
    group = {}
    for a, b in edges:
        x, y = group.setdefault(a, {a}), group.setdefault(b, {b})
        if x is y:
            return False
        x |= y
        for v in y:
            group[v] = x
    return True


@given(labelled_rows(most_rows=40), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_a_tree_learned_in_batches_is_the_one_learned_at_once(data, cut):
    rows, classes, weights, _ = data
    cut = min(cut, len(rows) - 1)
    whole = tb.TANClassifier(categorical="all").fit(as_columns(rows), classes, weights)
    parts = tb.TANClassifier(categorical="all")
    for piece in (slice(0, cut), slice(cut, None)):
        if rows[piece]:
            some = None if weights is None else weights[piece]
            parts.partial_fit(as_columns(rows[piece]), classes[piece], sample_weight=some)
    assert parts.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(
        parts.predict_proba(as_columns(rows)), whole.predict_proba(as_columns(rows)), rtol=1e-9, atol=1e-12
    )


@given(labelled_rows(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_kernel_and_numpy_agree(data, seed):
    rows, classes, _, _ = data
    clf = tb.KDBClassifier(2).fit(as_columns(rows), classes)
    n = [v.n_states for v in clf.statistics_.encoding.coded]
    codes = np.random.default_rng(seed).integers(-1, n, (50, len(n))).T.astype(np.int32)
    from tunbridge.classifiers.dependence._families import _add_families
    from tunbridge.kernels.classifiers.likelihood import add_families

    found = []
    for add in (_add_families, add_families):
        out, hidden = np.zeros((50, len(clf.classes_))), np.zeros(50, bool)
        add(codes, clf.model_.flat, out, hidden)
        found.append((out, hidden))
    np.testing.assert_array_equal(found[0][1], found[1][1])
    kept = ~found[0][1]
    np.testing.assert_allclose(found[0][0][kept], found[1][0][kept], rtol=1e-12, atol=0)
