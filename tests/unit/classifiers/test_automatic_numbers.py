"""``numeric="auto"``: the models of numbers that naive Bayes chooses."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers.naive._automatic import _HeldOut
from tunbridge.classifiers.naive._densities import curve_of, soft_gaussian, soft_kernel
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


class TestWeights:
    """A weight is a number of equal rows, and equal rows must not be learned from and held out at once."""

    @staticmethod
    def data(n, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        return {"a": rng.normal(y, 1.0), "b": np.exp(rng.normal(0.5 * y, 1.0)), "c": rng.normal(0.0, 1.0, n)}, y

    @classmethod
    def loss(cls, weights):
        (X, y), (new, truth) = cls.data(400, 0), cls.data(5_000, 1)
        p = tb.NaiveBayesClassifier().fit(X, y, sample_weight=weights).predict_proba(new)
        return -np.log(p[np.arange(len(truth)), truth]).mean()

    @pytest.mark.parametrize("weight", [1e-6, 1e-3, 2.0, 4.0, 10.0, 1e3, 1e6])
    def test_the_same_weight_for_all_rows_hardly_matters(self, weight):
        assert self.loss(np.full(400, weight)) < self.loss(None) + 0.03

    def test_survey_weights(self):
        weights = np.random.default_rng(2).lognormal(np.log(3000.0), 0.8, 400)
        assert self.loss(weights) < 0.65

    def test_weights_are_repeated_rows(self):
        X, y = self.data(300, 0)
        weights = np.random.default_rng(3).integers(0, 6, 300)
        rows = np.repeat(np.arange(300), weights)
        repeated = tb.NaiveBayesClassifier().fit({k: v[rows] for k, v in X.items()}, y[rows])
        weighted = tb.NaiveBayesClassifier().fit(X, y, sample_weight=weights)
        assert weighted.numeric_ == repeated.numeric_
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-8)

    @pytest.mark.parametrize("weight", [1e-2, 1e-3, 1e-6])
    def test_small_weights_leave_the_probabilities_as_they_are(self, weight):
        rng = np.random.default_rng(0)
        x, y = np.append(rng.normal(0, 1, 500), rng.normal(3, 1, 500)), np.repeat([0, 1], 500)
        p, q = (
            tb.NaiveBayesClassifier().fit({"x": x}, y, sample_weight=np.full(1000, w)).predict_proba({"x": [-1.0, 4.0]})
            for w in (1.0, weight)
        )
        np.testing.assert_allclose(q, p, rtol=1e-9)

    def test_equal_rows_by_chance_are_no_copies(self):
        """Of ten integers and two classes every row has many equal ones; each tells about the others."""
        rng = np.random.default_rng(0)
        x = rng.integers(0, 10, 2_000)
        y = x % 2 != (rng.random(2_000) < 0.05)
        clf = tb.NaiveBayesClassifier().fit({"x": x.astype(float)}, y)
        assert clf.numeric_["x"] in ("category", "discretise")
        assert clf.score({"x": x.astype(float)}, y) > 0.9


@pytest.mark.parametrize("unit", [7.3, 1e-30, 1e5, 2.0**100])
def test_the_unit_of_a_column_does_not_matter(unit):
    X, y = columns(300)
    plain = tb.NaiveBayesClassifier().fit({k: X[k] for k in ("normal", "skewed")}, y)
    other = tb.NaiveBayesClassifier().fit({k: X[k] * unit for k in ("normal", "skewed")}, y)
    assert other.numeric_ == plain.numeric_
    assert other.numeric_weight_ == pytest.approx(plain.numeric_weight_, rel=1e-9)


def heavy_tailed(kind):
    rng = np.random.default_rng(0)
    if kind == "lognormal":
        return [np.exp(rng.normal(k, 2.0, 3_000)) for k in (0, 1)]
    if kind == "cauchy":
        return [rng.standard_cauchy(3_000) + k for k in (0, 1)]
    if kind == "narrow and wide":
        return [rng.normal(0.0, 1e-3, 2_000), rng.normal(0.0, 100.0, 2_000)]
    return [np.append(rng.normal(k, 0.6, 400), far) for k, far in ((0, [70.0, -1e6]), (1, [100.0, 101.0]))]


def around(values):
    """Return values, the middles between them, and others over twice their range."""
    known = np.unique(np.concatenate(values))
    middles, wide = 0.5 * (known[1:] + known[:-1]), np.linspace(2 * known[0], 2 * known[-1], 999)
    return np.sort(np.concatenate([known, middles, wide]))


class TestNoVeto:
    @pytest.mark.parametrize("kind", ["lognormal", "cauchy", "narrow and wide", "outliers"])
    def test_curves_are_the_exact_sums(self, kind):
        values = heavy_tailed(kind)
        points, at = tuple(points_of(v, np.ones(len(v))) for v in values), around(values)
        found, exact = curve_of(points, 0.0).log_density(at), soft_kernel(points, 0.0, 1.0, at)
        np.testing.assert_allclose(found[0] - found[1], exact[0] - exact[1], atol=0.1, rtol=0)

    @pytest.mark.parametrize("kind", ["lognormal", "cauchy", "narrow and wide", "outliers"])
    def test_no_value_is_certain(self, kind):
        """The log-odds are at most log(1 + 2 K n) for kernels, 2 log(n + 1) for normal densities."""
        values = heavy_tailed(kind)
        x, y = np.concatenate(values), np.repeat([0, 1], [len(v) for v in values])
        n, at = len(x), around(values)
        curve = curve_of(tuple(points_of(v, np.ones(len(v))) for v in values), 0.0).log_density(at)
        assert np.ptp(curve, axis=0).max() <= np.log1p(4 * n) + 1e-9
        soft = soft_gaussian(moments_within([x], y, 2), np.array([0.0]))
        assert np.ptp(soft.log_density(at, 0), axis=0).max() <= 2 * np.log1p(n) + 1e-9

    def test_one_row_far_away_is_weak_evidence(self):
        x, y = np.append(np.random.default_rng(0).normal(size=1_000), 1e6), np.append(np.arange(1_000) % 2, 2)
        soft = soft_gaussian(moments_within([x], y, 3), np.array([0.0]))
        assert np.ptp(soft.log_density(np.array([1e6]), 0)) < 2 * np.log1p(1_001) + 1e-9

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

    def test_a_row_that_stands_alone_says_little(self):
        rng = np.random.default_rng(0)
        values = [np.append(rng.gamma(2.0, 500.0, 150), lone) for lone in (8_000.0, 12_000.0)]
        points = tuple(points_of(v, np.ones(len(v))) for v in values)
        logs = curve_of(points, 0.0).log_density(np.array([8_000.0, 12_000.0, 800.0, 50_000.0]))
        odds = np.exp(logs[0] - logs[1])
        assert 2.0 < odds[0] < 8.0
        assert 2.0 < 1.0 / odds[1] < 8.0
        assert 0.8 < odds[3] < 1.25
        many = tuple(points_of(np.append(v, np.full(30, v[-1])), np.ones(len(v) + 30)) for v in values)
        assert np.exp(np.ptp(curve_of(many, 0.0).log_density(np.array([8_000.0])), axis=0)).item() > 50.0

    def test_densities_integrate_to_one(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=200), rng.integers(0, 2, 200)
        at = np.linspace(-60, 60, 200_001)
        soft = soft_gaussian(moments_within([x], y, 2), np.array([0.0]))
        curve = curve_of(tuple(points_of(x[y == k], np.ones((y == k).sum())) for k in (0, 1)), 0.0)
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


def test_a_small_first_batch_leaves_numbers_gaussian_with_a_warning():
    X, y = columns(60)
    clf, few = tb.NaiveBayesClassifier(), {k: v[:6] for k, v in X.items()}
    with pytest.warns(tb.DataWarning, match="the first batch must have 20 rows or more .*; got 6 rows, so 'normal', "):
        clf.partial_fit(few, y[:6])
    assert set(clf.partial_fit(X, y).numeric_.values()) == {"gaussian"}
    tb.NaiveBayesClassifier(numeric="gaussian").partial_fit(few, y[:6])
    tb.NaiveBayesClassifier().partial_fit(X, y, sample_weight=np.full(60, 0.01))
    tb.NaiveBayesClassifier().fit(few, y[:6])
