"""AODE and A2DE against plain loops, and what must not change them, on random rows with missing cells."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.ande import Average
from tunbridge.classifiers.averages import _super_parents
from tunbridge.counts import columns as counted_columns, records
from tunbridge.kernels.compiled import kernels_forced

pytestmark = pytest.mark.filterwarnings("ignore::tunbridge.errors.UnseenStateWarning")

AVERAGES = {1: tb.AODEClassifier, 2: tb.A2DEClassifier}
SMOOTHINGS = [
    ("m-estimate", {"s": 1.0}),
    (tb.MEstimate(2.5), {"s": 2.5}),
    (0.5, {"gamma": 0.5}),
    (0, {"gamma": 0.0}),
    ("hierarchical", {"s": 1.0, "back_off": True}),
    (tb.BackOff(strength=3), {"s": 3.0, "back_off": True}),
]


@st.composite
def rows_and_classes(draw, *, weights=True):
    """Draw rows, classes, weights and one more row; drawn by NumPy, as most rows should have most of their cells."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_features, n_rows = draw(st.integers(1, 5)), draw(st.integers(1, 20))
    n_states, holes = draw(st.integers(1, 3)), draw(st.sampled_from([0.0, 0.1, 0.4]))
    X = rng.choice(np.array(["a", "b", "c"], object)[:n_states], (n_rows + 1, n_features))
    X[rng.random(X.shape) < holes] = None
    *rows, query = X.tolist()
    classes = rng.choice(["x", "y", "z"], n_rows).tolist()
    weighed = weights and draw(st.booleans())
    return rows, classes, rng.choice([0.5, 1.0, 2.0, 3.5], n_rows).tolist() if weighed else None, query


def columns(rows):
    return {f"f{j}": [row[j] for row in rows] for j in range(len(rows[0]))}


def model_of(n_parents, **parameters):
    return AVERAGES[n_parents](categorical="all", **parameters)


@given(
    rows_and_classes(),
    st.sampled_from([1, 2]),
    st.sampled_from(SMOOTHINGS),
    st.sampled_from([0, 2, 4]),
    st.booleans(),
    st.sampled_from([None, 2, 4]),
)
@settings(max_examples=250, deadline=None)
def test_plain_loops(data, n_parents, smoothing, min_count, weighted, least):
    rows, classes, weights, query = data
    oracle = Average(rows, classes, weights, **smoothing[1])
    expected = oracle.joint(query, n_parents=n_parents, min_count=min_count, weighted=weighted, least=least)
    clf = model_of(
        n_parents,
        smoothing=smoothing[0],
        min_count=min_count,
        weighting="mutual information" if weighted else None,
        subsumption=least or False,
    )
    clf.fit(columns(rows), classes, sample_weight=weights)
    found = np.exp(clf.predict_joint_log_proba(columns([query]))[0])
    np.testing.assert_allclose(found, [expected[c] for c in clf.classes_.tolist()], rtol=1e-10, atol=0)


@given(rows_and_classes(), st.sampled_from([1, 2]), st.sampled_from([None, 2]), st.sampled_from([0, 3]))
@settings(max_examples=80, deadline=None)
def test_kernels_are_the_same_as_numpy(data, n_parents, least, min_count):
    rows, classes, weights, _ = data
    found = []
    for limit in (10**9, -1):  # everything in NumPy, everything in kernels
        with pytest.MonkeyPatch.context() as patch, nullcontext() if limit > 0 else kernels_forced():
            patch.setattr(_super_parents, "SMALL_CELLS", limit)
            patch.setattr(counted_columns, "SMALL_CELLS", limit)
            patch.setattr(records, "_PIECE_CELLS", max(1, limit))
            clf = model_of(n_parents, subsumption=least or False, min_count=min_count, smoothing=0.1)
            clf.fit(columns(rows), classes, sample_weight=weights)
            found.append(clf.predict_joint_log_proba(columns(rows)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


@given(rows_and_classes(), st.sampled_from([1, 2]), st.integers(0, 15))
@settings(max_examples=80, deadline=None)
def test_batches_are_the_same_as_all_rows(data, n_parents, cut):
    rows, classes, weights, _ = data
    cut = min(max(1, cut), len(rows))
    whole = model_of(n_parents).fit(columns(rows), classes, sample_weight=weights)
    parts = model_of(n_parents)
    for some in (slice(0, cut), slice(cut, None)):
        if rows[some]:
            parts.partial_fit(columns(rows[some]), classes[some], sample_weight=weights and weights[some])
    assert parts.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(
        parts.predict_joint_log_proba(columns(rows)), whole.predict_joint_log_proba(columns(rows)), rtol=1e-12, atol=0
    )


@given(rows_and_classes(weights=False), st.sampled_from([1, 2]), st.data())
@settings(max_examples=60, deadline=None)
def test_weights_are_replication(data, n_parents, draw):
    rows, classes, *_ = data
    times = draw.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any))
    if {c for c, t in zip(classes, times, strict=True) if t} != set(classes):
        return
    repeated = [i for i, t in enumerate(times) for _ in range(t)]
    weighted = model_of(n_parents).fit(columns(rows), classes, sample_weight=times)
    again = model_of(n_parents).fit(columns([rows[i] for i in repeated]), [classes[i] for i in repeated])
    if any(len(v.states) != len(w.states) for v, w in zip(weighted.variables_, again.variables_, strict=True)):
        return  # a state that only rows of weight 0 have is a state all the same
    query = columns([rows[i] for i in repeated])
    np.testing.assert_allclose(weighted.predict_proba(query), again.predict_proba(query), rtol=1e-12, atol=0)


@given(rows_and_classes(), st.sampled_from([1, 2]), st.sampled_from(["marginal", "state"]))
@settings(max_examples=60, deadline=None)
def test_explanations_add_up(data, n_parents, missing):
    rows, classes, weights, _ = data
    if len(set(classes)) < 2:
        return
    clf = model_of(n_parents, missing=missing).fit(columns(rows), classes, sample_weight=weights)
    joint = clf.predict_joint_log_proba(columns(rows))
    for row, found in zip(joint, clf.explain(columns(rows)), strict=True):
        c, d = (clf.classes_.tolist().index(label) for label in (found.label, found.against))
        total = found.prior + sum(e.weight for e in found.evidence)
        np.testing.assert_allclose(total, row[c] - row[d], rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
@settings(max_examples=10, deadline=None)
def test_threads_do_not_matter(seed, n_parents):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (9000, 5)), rng.integers(0, 3, 9000)
    weights = rng.random(9000)
    found = [
        model_of(n_parents, n_jobs=n_jobs, weighting="mutual information").fit(X, y, weights).predict_proba(X)
        for n_jobs in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
