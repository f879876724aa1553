"""``numeric="auto"``: the models of numbers that naive Bayes chooses."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers.naive._automatic import _HeldOut
from tunbridge.classifiers.naive._densities import curve_of, soft_gaussian
from tunbridge.counts import moments_within
from tunbridge.kernels.compiled import kernels_forced
from tunbridge.probability.kernel_density import points_of


def columns(n=600, seed=0):
    """Return columns that ask for a model each, and classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return {
        "normal": rng.normal(2.0 * y, 1.0),
        "skewed": np.exp(rng.normal(1.0 * y, 1.0)),
        "two humps": rng.normal(np.where(y == 1, rng.choice([-2.0, 2.0], n), 0.0), 0.6),
        "odd or even": 2.0 * rng.integers(0, 8, n) + (y != (rng.random(n) < 0.1)),
        "word": np.where(rng.random(n) < 0.3, "a", np.array(["b", "c"])[y]),
    }, y


class TestTheChoice:
    @pytest.mark.parametrize("weights", [None, "some"])
    def test_threads_do_not_change_it(self, weights: str | None):
        X, y = columns()
        some = None if weights is None else np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
        found = [tb.NaiveBayesClassifier(n_jobs=n).fit(X, y, sample_weight=some) for n in (1, 4)]
        assert found[0].numeric_ == found[1].numeric_
        assert found[0].predict_log_proba(X).tobytes() == found[1].predict_log_proba(X).tobytes()

    def test_each_column_gets_its_model(self):
        X, y = columns(3_000)
        clf = tb.NaiveBayesClassifier().fit(X, y)
        assert clf.numeric_["skewed"] == "log-gaussian"
        assert clf.numeric_["normal"] in ("gaussian", "kernel")
        assert clf.numeric_["two humps"] in ("kernel", "discretise")
        assert clf.numeric_["odd or even"] in ("category", "discretise")
        assert "word" not in clf.numeric_

    def test_it_is_better_than_any_one_model(self):
        X, y = columns(2_000)
        new, truth = columns(2_000, seed=1)
        del X["odd or even"], new["odd or even"]

        def loss(numeric):
            p = tb.NaiveBayesClassifier(numeric=numeric).fit(X, y).predict_proba(new)
            return -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-12)).mean()

        assert loss("auto") < min(loss(numeric) for numeric in ("gaussian", "kernel", "discretise"))

    def test_repeated_columns_get_less_weight(self):
        X, y = columns(1_000)
        once = tb.NaiveBayesClassifier().fit({"x": X["normal"]}, y)
        often = tb.NaiveBayesClassifier().fit({f"x{i}": X["normal"] for i in range(8)}, y)
        assert once.numeric_weight_ > 0.8
        assert often.numeric_weight_ < 0.25
        p, q = once.predict_proba({"x": X["normal"]}), often.predict_proba({f"x{i}": X["normal"] for i in range(8)})
        assert np.abs(p - q).max() < 0.1

    def test_a_mapping_settles_some_columns(self):
        X, y = columns()
        asked = {"normal": "log-gaussian", "skewed": "kernel", "odd or even": "category"}
        found = tb.NaiveBayesClassifier(numeric=asked).fit(X, y)
        assert {name: found.numeric_[name] for name in asked} == asked
        assert set(found.statistics_.densities.automatic.steps) == {2}

    def test_logarithms_need_a_positive_number(self):
        with pytest.raises(
            tb.DataError, match="a column modelled by logarithms must have positive numbers; 'a' has none"
        ):
            tb.NaiveBayesClassifier(numeric="log-gaussian").fit({"a": [-1.0, 0.0, -3.0]}, [0, 1, 0])

    def test_equal_rows_in_any_order_and_columns_in_any_order(self):
        X, y = columns(300)
        rows, turned = np.random.default_rng(2).permutation(300), dict(reversed(X.items()))
        plain = tb.NaiveBayesClassifier().fit(X, y)
        other = tb.NaiveBayesClassifier().fit({name: values[rows] for name, values in turned.items()}, y[rows])
        np.testing.assert_allclose(other.predict_proba(turned), plain.predict_proba(X), rtol=1e-9)

    @pytest.mark.parametrize("n", [1, 2, 5, 19, 21])
    def test_few_rows(self, n):
        X, y = columns(n)
        p = tb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
        assert np.isfinite(p).all()

    def test_the_weight_has_the_least_loss(self):
        rng = np.random.default_rng(3)
        classes, mass = rng.integers(0, 3, 200), rng.random(200)
        total = 4.0 * rng.normal(size=(3, 200))
        total[classes, np.arange(200)] += 2.0
        base = rng.normal(size=(3, 200))
        held = _HeldOut(classes, mass, base, base, {})
        losses = {w: held.loss(base + w * total) for w in np.linspace(0.02, 1.0, 500)}
        assert held.weight(total) == pytest.approx(min(losses, key=lambda w: losses[w]), abs=0.005)


class TestNoVeto:
    def test_a_number_that_is_constant_in_one_class(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 50)
        X = {"a": np.where(y == 0, 5.0, rng.integers(0, 10, 100)), "b": rng.normal(3.0 * y, 1.0)}
        p = tb.NaiveBayesClassifier().fit(X, y).predict_proba({"a": [4.0], "b": [-1.0]})
        assert 0.2 < p[0, 0] < 0.999

    @pytest.mark.parametrize("numeric", ["gaussian", "log-gaussian", "kernel"])
    def test_far_values_say_nothing(self, numeric, monkeypatch):
        monkeypatch.setattr("tunbridge.classifiers.naive._automatic.ROLES", (numeric,))
        monkeypatch.setattr("tunbridge.classifiers.naive._automatic._possible", lambda *_: iter([numeric]))
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [30, 90])
        clf = tb.NaiveBayesClassifier().fit({"x": np.exp(rng.normal(y, 0.3))}, y)
        assert clf.numeric_ == {"x": numeric}
        p = clf.predict_proba({"x": [1e9, -1e9 if numeric != "log-gaussian" else 1e12]})
        np.testing.assert_allclose(p, [[0.25, 0.75]] * 2, atol=0.02)

    def test_densities_integrate_to_one(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=200), rng.integers(0, 2, 200)
        at = np.linspace(-60, 60, 200_001)
        soft = soft_gaussian(moments_within([x], y, 2), np.array([0.0]))
        curve = curve_of(tuple(points_of(x[y == k], np.ones((y == k).sum())) for k in (0, 1)), 0.0, n_knots=4096)
        for logs in (*soft.log_density(at, 0), *np.where(np.abs(at) < 8, curve.log_density(at), -np.inf)):
            assert np.trapezoid(np.exp(logs), at) == pytest.approx(1.0, abs=0.02)


def test_kernels_and_numpy_agree():
    X, y = columns(500)
    clf = tb.NaiveBayesClassifier().fit(X, y)
    plain = clf.predict_proba(X)
    with kernels_forced():
        np.testing.assert_allclose(clf.predict_proba(X), plain, rtol=1e-12)


def test_terms_add_up():
    X, y = columns(400)
    clf = tb.NaiveBayesClassifier().fit(X, y)
    for found in clf.explain({name: values[:20] for name, values in X.items()}):
        assert found.prior + sum(e.weight for e in found.evidence) == pytest.approx(found.log_odds, rel=1e-9)
        p = found.probabilities
        assert np.log(p[found.label] / p[found.against]) == pytest.approx(found.log_odds, rel=1e-6)


def test_files_and_batches(tmp_path):
    X, y = columns(900)
    clf = tb.NaiveBayesClassifier().fit({k: v[:500] for k, v in X.items()}, y[:500])
    clf.partial_fit({k: v[500:] for k, v in X.items()}, y[500:])
    clf.save(tmp_path / "m.tb")
    again = tb.load(tmp_path / "m.tb")
    assert again.numeric_ == clf.numeric_
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
