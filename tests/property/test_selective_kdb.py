"""Selective k-dependence Bayes on random small tables: losses as learned anew, batches as all rows at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles import leave_one_out as oracle
from tunbridge.classifiers.dependence import _leave_one_out as leave_one_out

SIZES = (2, 3, 2)


@st.composite
def rows(draw: st.DrawFn, least: int = 8) -> np.ndarray:
    """Return rows in which every state and class occurs; some cells may be missing."""
    n = draw(st.integers(least, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = np.column_stack([rng.integers(0, size, n) for size in (*SIZES, draw(st.integers(1, 3)))])
    found[:, 1] = np.where(rng.random(n) < 0.5, found[:, -1] % 3, found[:, 1])
    found[:, :-1][rng.random((n, len(SIZES))) < draw(st.sampled_from([0.0, 0.3]))] = -1
    for j, size in enumerate((*SIZES, found[:, -1].max() + 1)):
        found[:size, j] = np.arange(size)
    return found


def frame_of(found: np.ndarray) -> dict[str, list[str | None]]:
    return {
        name: [None if v < 0 else f"s{v}" for v in found[:, j].tolist()] for j, name in enumerate(["a", "b", "c", "y"])
    }


@settings(max_examples=40, deadline=None)
@given(rows(), st.sampled_from([0.2, 1.0]), st.sampled_from(["log-loss", "rmse", "error"]), st.integers(0, 2))
def test_losses_are_those_of_learning_without_the_row(found, gamma, criterion, max_k):
    clf = tb.SelectiveKDBClassifier(max_k, smoothing=gamma, criterion=criterion).fit(frame_of(found), "y")
    candidates = tb.KDBClassifier(max_k).fit(frame_of(found), "y").parents_
    names = ["a", "b", "c"]
    told = [len(p) for p in candidates.values()]
    ranked = _ranked(frame_of(found), names)
    parents = [tuple(names.index(u) for u in candidates[names[j]]) for j in ranked]
    assert sum(told) == sum(map(len, parents))
    plain = [tuple(row) for row in found.tolist()]
    n_classes = int(found[:, -1].max()) + 1
    wanted = oracle.loss_table(
        plain, SIZES, n_classes, ranked, parents, max_k, oracle.laplace(gamma), criterion=criterion
    )
    if criterion == "error":  # classes that are equally probable may be told apart by rounding
        assert np.abs(clf.loss_table_ - wanted).max() <= 0.5
    else:
        np.testing.assert_allclose(clf.loss_table_, wanted, rtol=1e-9, atol=1e-12)
    assert clf.loss_table_.min() == clf.loss_table_[len(clf.selected_), clf.k_]


def _ranked(frame, names):
    counter = tb.Counter(frame)
    information = [round(tb.mutual_information(counter.family(name, ["y"])), 12) for name in names]
    return sorted(range(len(names)), key=lambda j: -information[j])


@settings(max_examples=25, deadline=None)
@given(rows(), st.integers(1, 9), st.sampled_from(["hierarchical", 1.0]), st.sampled_from(["marginal", "state"]))
def test_batches_give_what_all_rows_give(found, size, smoothing, missing):
    frame = frame_of(found)
    whole = tb.SelectiveKDBClassifier(2, smoothing=smoothing, missing=missing).fit(frame, "y")
    parts = [{k: v[i : i + size] for k, v in frame.items()} for i in range(0, len(found), size)]
    same = tb.SelectiveKDBClassifier(2, smoothing=smoothing, missing=missing).fit_batches(parts, "y")
    np.testing.assert_array_equal(same.loss_table_, whole.loss_table_)
    np.testing.assert_array_equal(same.predict_proba(frame), whole.predict_proba(frame))
    assert (same.selected_, same.k_) == (whole.selected_, whole.k_)


@settings(max_examples=25, deadline=None)
@given(rows(), st.sampled_from(["hierarchical", 0.0, 0.5]), st.sampled_from(["log-loss", "rmse"]))
def test_kernel_and_numpy_agree(found, smoothing, criterion):
    small, clf = leave_one_out.SMALL_CELLS, tb.SelectiveKDBClassifier(2, smoothing=smoothing, criterion=criterion)
    wanted = clf.fit(frame_of(found), "y").loss_table_
    try:
        leave_one_out.SMALL_CELLS = 0
        np.testing.assert_allclose(clf.fit(frame_of(found), "y").loss_table_, wanted, rtol=1e-10, atol=1e-12)
    finally:
        leave_one_out.SMALL_CELLS = small
