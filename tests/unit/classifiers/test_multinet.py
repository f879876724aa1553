"""Multinets: against summing over all states, trees of the rows of each class, and the tables of TAN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers.dependence import multinet
from tunbridge.errors import DataError, FormatError

SIZES = (2, 3, 2, 2)


def random_rows(seed: int, n: int = 200, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose second feature goes with the first in one class, and with the third in the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    x[:, 1] = np.where(rng.random(n) < 0.8, np.where(y == 0, x[:, 0], x[:, 2]), x[:, 1])
    x[:, 3] = np.where(rng.random(n) < 0.7, np.where(y == 0, x[:, 2], x[:, 1] % 2), x[:, 3])
    x[rng.random(x.shape) < missing] = -1
    return x, y


def frame_of(x: np.ndarray, y: np.ndarray | None = None) -> dict[str, list[str | None]]:
    frame = {f"x{j}": [None if v < 0 else f"s{v}" for v in x[:, j].tolist()] for j in range(x.shape[1])}
    return frame if y is None else frame | {"y": [f"c{v}" for v in y.tolist()]}


def summed(clf: tb.MultinetClassifier, row: np.ndarray) -> list[float]:
    """Return P(x, c) of each class by going through all states of what is missing."""
    found = []
    for c, tree in enumerate(clf._model.trees):
        total = 0.0
        for states in itertools.product(*([v] if v >= 0 else range(SIZES[j]) for j, v in enumerate(row.tolist()))):
            terms = []
            for j, cpt in tree.cpts.items():
                terms.append(cpt.probabilities[(0, *(states[u] for u in tree.parents[j]), states[j])])
            total += float(np.prod(terms))
        found.append(total * float(np.exp(clf.class_log_prior_[c])))
    return found


@pytest.mark.parametrize("forest", [False, "bic"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rows_are_answered_by_summing_out(forest, missing):
    x, y = random_rows(1)
    clf = tb.MultinetClassifier(forest=forest).fit(frame_of(x, y), "y")
    asked, _ = random_rows(2, 60, missing)
    expected = np.log([summed(clf, row) for row in asked])
    np.testing.assert_allclose(clf.predict_joint_log_proba(frame_of(asked)), expected, rtol=1e-10)


def test_many_rows_take_the_kernel():
    x, y = random_rows(3)
    clf = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    asked, _ = random_rows(4, 9000, 0.02)
    found = clf.predict_joint_log_proba(frame_of(asked))
    some = np.random.default_rng(0).choice(9000, 30, replace=False)
    np.testing.assert_allclose(found[some], np.log([summed(clf, asked[i]) for i in some]), rtol=1e-10)
    one = tb.MultinetClassifier(n_jobs=1).fit(frame_of(x, y), "y").predict_joint_log_proba(frame_of(asked))
    np.testing.assert_array_equal(found, one)


def test_every_class_has_the_tree_of_its_own_rows():
    x, y = random_rows(5)
    clf = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    for c in (0, 1):
        dag = tb.learn_structure(frame_of(x[y == c]), search=tb.ChowLiu(root="x0"))
        expected = {name: (dag.parents(name) or (None,))[0] for name in dag.nodes}
        assert clf.parents_[f"c{c}"] == expected
    assert clf.parents_["c0"] != clf.parents_["c1"]
    assert clf.parents_["c0"]["x1"] == "x0"


def test_tables_are_those_of_trees_for_all_classes():
    x, y = random_rows(6)
    clf = tb.MultinetClassifier(smoothing=0.5).fit(frame_of(x, y), "y")
    for c, tree in enumerate(clf._model.trees):
        for j, cpt in tree.cpts.items():
            parents = [f"x{u}" for u in tree.parents[j]]
            rows = frame_of(x[y == c])
            counts = tb.Counter(rows).family(f"x{j}", parents).dense().table + 0.5
            expected = counts / counts.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(cpt.probabilities.reshape(expected.shape), expected, rtol=1e-12)


def test_smoothing_borrows_from_the_other_classes():
    """A value that a class never had gets a share from those that had it."""
    frame = {"a": ["u", "v"] * 20 + ["u"] * 10, "b": ["p", "q"] * 20 + ["p", "q"] * 5, "y": ["m"] * 40 + ["n"] * 10}
    clf = tb.MultinetClassifier().fit(frame, "y")
    table = clf._model.trees[1].cpts[0].probabilities
    assert 0.0 < table[..., 1].max() < 0.4


def test_forests_leave_arcs_out():
    rng = np.random.default_rng(7)
    x, y = rng.integers(0, 2, (300, 4)), rng.integers(0, 2, 300)
    x[:, 1] = np.where(y == 0, x[:, 0], x[:, 1])
    clf = tb.MultinetClassifier(forest="bic", categorical="all").fit(x, y)
    assert clf.parents_[0] == {"x0": None, "x1": "x0", "x2": None, "x3": None}
    assert set(clf.parents_[1].values()) == {None}


def test_two_ways_to_depend_are_told_apart():
    """Equal features in one class, opposite ones in the other: TAN sees it too, naive Bayes does not."""
    rng = np.random.default_rng(8)
    y, a = rng.integers(0, 2, (2, 2000))
    b = np.where(rng.random(2000) < 0.9, a ^ y, 1 - (a ^ y))
    X = np.column_stack([a, b, rng.integers(0, 2, 2000)])
    assert tb.MultinetClassifier(categorical="all").fit(X, y).score(X, y) > 0.85
    assert tb.NaiveBayesClassifier(categorical="all").fit(X, y).score(X, y) < 0.6


def test_partial_fit_is_exact():
    x, y = random_rows(9, 150, 0.1)
    whole = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    parts = tb.MultinetClassifier()
    for i in range(0, 150, 40):
        parts.partial_fit(frame_of(x[i : i + 40], y[i : i + 40]), "y")
    assert parts.parents_ == whole.parents_
    np.testing.assert_allclose(parts.predict_proba(frame_of(x)), whole.predict_proba(frame_of(x)), rtol=1e-10)


def test_weights_are_replication():
    x, y = random_rows(10, 80)
    times = np.random.default_rng(10).integers(0, 4, 80)
    weighted = tb.MultinetClassifier().fit(frame_of(x, y), "y", sample_weight=times)
    repeated = tb.MultinetClassifier().fit(frame_of(np.repeat(x, times, axis=0), np.repeat(y, times)), "y")
    np.testing.assert_allclose(weighted.predict_proba(frame_of(x)), repeated.predict_proba(frame_of(x)), rtol=1e-10)


def test_explanations_add_up_with_missing_cells():
    x, y = random_rows(11)
    clf = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    asked = frame_of(random_rows(12, 8, 0.3)[0])
    odds = np.diff(clf.predict_log_proba(asked), axis=1).ravel()
    for i, found in enumerate(clf.explain(asked, "c1", "c0")):
        total = found.prior + sum(e.weight for e in found.evidence)
        np.testing.assert_allclose(total, odds[i], rtol=1e-9)


def test_odd_tables():
    frame = {"n": [None] * 6, "k": ["u"] * 6, "x": ["a", "b", "a", "b", "a", "b"], "y": ["p", "q"] * 3}
    clf = tb.MultinetClassifier().fit(frame, "y")
    assert clf.parents_["p"] == {"k": None, "x": None}  # n has no value, and joins nothing
    assert clf.predict({"x": "a"}).tolist() == ["p"]
    one = tb.MultinetClassifier().fit({"x": ["a", "b"], "y": ["p", "p"]}, "y")
    np.testing.assert_array_equal(one.predict_proba({"x": "a"}), [[1.0]])
    nothing = tb.MultinetClassifier().fit({"n": [None, None], "y": ["p", "q"]}, "y")
    np.testing.assert_allclose(nothing.predict_proba({"n": [None]}), [[0.5, 0.5]], rtol=1e-12)


def test_a_class_without_rows():
    clf = tb.MultinetClassifier().partial_fit({"a": ["u", "v"], "b": ["p", "q"]}, ["m", "n"], classes=["k", "m", "n"])
    found = clf.predict_proba({"a": ["u", None], "b": [None, "q"]})
    assert found[:, 0].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_a_feature_with_the_name_of_the_class():
    x, y = random_rows(13)
    frame = frame_of(x) | {"class": [f"s{v}" for v in x[:, 0].tolist()]}
    clf = tb.MultinetClassifier().fit(frame, y)
    assert clf.parents_[0]["class"] == "x0" or clf.parents_[0]["x0"] == "class"
    np.testing.assert_allclose(clf.predict_proba({"x1": "s1"}).sum(), 1.0, rtol=1e-12)


def test_a_saved_model_is_the_same(tmp_path):
    x, y = random_rows(14)
    clf = tb.MultinetClassifier(forest="mean", smoothing=tb.MEstimate(5, "marginal")).fit(frame_of(x, y), "y")
    clf.save(tmp_path / "model.tb")
    same = tb.load(tmp_path / "model.tb")
    assert same.parents_ == clf.parents_
    np.testing.assert_array_equal(same.predict_proba(frame_of(x)), clf.predict_proba(frame_of(x)))


def test_a_damaged_file_is_refused(tmp_path):
    from tunbridge.formats import write_model

    x, y = random_rows(15, 30)
    clf = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    content = clf.to_content()
    damaged = content | {"statistics": content["statistics"] | {"class_weight": np.ones(7)}}
    write_model(tmp_path / "model.tb", clf.kind, damaged)
    with pytest.raises(FormatError, match="do not belong"):
        tb.load(tmp_path / "model.tb")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forest": "bics"}, "forest must be"),
        ({"missing": "drop"}, "missing must be one of 'marginal', 'state'; got 'drop'."),
        ({"smoothing": -1}, "prior must be at least 0; got -1."),
    ],
)
def test_bad_parameters(settings, message):
    x, y = random_rows(0, 20)
    with pytest.raises(DataError) as caught:
        tb.MultinetClassifier(**settings).fit(frame_of(x, y), "y")
    assert message in str(caught.value)


def test_arcs_of_several_trees_are_estimated_once(monkeypatch):
    x, y = random_rows(16)
    calls = []
    estimated = multinet.tables_of
    monkeypatch.setattr(
        multinet, "tables_of", lambda counts, rule: calls.append(len(counts)) or estimated(counts, rule)
    )
    clf = tb.MultinetClassifier().fit(frame_of(x, y), "y")
    arcs = {(name, parent) for tree in clf.parents_.values() for name, parent in tree.items()}
    assert calls == [len(arcs)]
