"""Explanations of every classifier: weights that add up, what-ifs that come true, the information in the data."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy import integrate, special, stats
from sklearn.base import clone

import tunbridge as tb
from contract.test_estimators import CLASSIFIERS
from tunbridge.classifiers.explanation import contributions
from tunbridge.classifiers.explanation.contributions import conditional_terms, hidden
from tunbridge.classifiers.explanation.what_if import inside, nearest_flips, rounded
from tunbridge.errors import DataError, ZeroProbabilityWarning

DAY = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}


def mixed_rows(n: int, seed: int, *, missing: float) -> tuple[dict[str, list], list[str]]:
    """Return columns of text and numbers that depend on the class and on each other, some cells missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = (y + rng.integers(0, 2, n)) % 3
    b = (a + rng.integers(0, 2, n)) % 4
    number = rng.normal(y, 0.8) + b
    other = number * 0.5 + rng.normal(0, 1, n)
    columns = {"a": [f"a{k}" for k in a], "b": [f"b{k}" for k in b], "x": number.tolist(), "z": other.tolist()}
    hidden = rng.random((4, n)) < missing
    columns = {
        name: [None if h else v for v, h in zip(column, gone, strict=True)]
        for (name, column), gone in zip(columns.items(), hidden, strict=True)
    }
    return columns, [f"c{k}" for k in y]


def fitted(estimator, *, missing: float):
    X, y = mixed_rows(150, 1, missing=missing)
    clf = clone(estimator).fit(X, y)
    if getattr(clf, "gibbs", False):  # what is explained is the average, not the model that a prediction draws
        clf.gibbs = False
    return clf


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
class TestEveryClassifier:
    @pytest.mark.parametrize(("learned", "asked"), [(0.0, 0.0), (0.0, 0.4), (0.2, 0.0), (0.2, 0.4)])
    def test_weights_add_up_to_the_log_odds(self, estimator, learned, asked):
        clf = fitted(estimator, missing=learned)
        X, _ = mixed_rows(25, 2, missing=asked)
        log_posterior = clf.predict_log_proba(X)
        for c, d in itertools.permutations(range(3), 2):
            for row, found in enumerate(clf.explain(X, f"c{c}", f"c{d}")):
                total = found.prior + sum(e.weight for e in found.evidence)
                assert total == pytest.approx(log_posterior[row, c] - log_posterior[row, d], rel=1e-10, abs=1e-10)
                assert found.prior == clf.class_log_prior_[c] - clf.class_log_prior_[d]

    def test_what_if_is_what_prediction_says(self, estimator):
        clf = fitted(estimator, missing=0.1)
        X, _ = mixed_rows(4, 3, missing=0.2)
        for i, found in enumerate(clf.what_if(X)):
            row = {name: column[i] for name, column in X.items()}
            assert found.label == clf.predict(row)[0]
            assert found.changes
            for change in found.changes:
                shares = clf.predict_proba({**row, change.feature: change.new_value})[0]
                at = clf.classes_.tolist().index(change.label)
                assert change.probability == pytest.approx(shares[at], rel=1e-9)
                assert change.flips == (clf.classes_[shares.argmax()] != found.label)
                assert change.value == row[change.feature]
                assert change.new_value != change.value

    def test_importance_is_in_order_and_not_negative(self, estimator):
        clf = fitted(estimator, missing=0.1)
        found = clf.importance()
        assert set(found) == {"a", "b", "x", "z"}
        values = list(found.values())
        assert values == sorted(values, reverse=True)
        assert values[-1] >= 0
        assert values[0] > 0
        assert all(0 <= share <= 1 for share in found.shares.values())


def without(rows, features):
    """Return a mask of all values of some features."""
    return np.isin(np.arange(rows.n_columns), list(features))[:, None] & np.ones(rows.n_rows, bool)


class TestConditionalTerms:
    def test_a_complete_row_has_the_logs_of_its_tables(self):
        clf = tb.TANClassifier().fit(tb.datasets.play_tennis(), "play")
        (found,) = [clf.explain(DAY)]
        by_name = {e.feature: e for e in found.evidence}
        assert {e.feature: e.given for e in found.evidence} == {
            name: () if parent is None else (parent,) for name, parent in clf.parents_.items()
        }
        cpt = clf._model.cpts[2].probabilities  # humidity given class and temperature
        of = [v.find(DAY[v.name]) for v in clf.variables_]
        no, yes = cpt[0, of[1], of[2]], cpt[1, of[1], of[2]]
        assert by_name["humidity"].weight == pytest.approx(np.log(no / yes), rel=1e-12)

    def test_what_stands_in_for_a_missing_parent(self):
        clf = tb.TANClassifier().fit(tb.datasets.play_tennis(), "play")
        assert clf.parents_ == {
            "outlook": None, "temperature": "outlook", "humidity": "temperature", "wind": "outlook",
        }  # fmt: skip
        given = {e.feature: e.given for e in clf.explain({**DAY, "outlook": None}).evidence}
        assert given == {"outlook": (), "temperature": (), "humidity": ("temperature",), "wind": ("temperature",)}
        given = {e.feature: e.given for e in clf.explain({**DAY, "temperature": None}).evidence}
        assert given == {"outlook": (), "temperature": (), "humidity": ("outlook",), "wind": ("outlook",)}

    def test_terms_are_those_of_the_slow_way(self):
        clf = tb.KDBClassifier().fit(*mixed_rows(150, 1, missing=0.2))
        batch = clf._rows(mixed_rows(12, 2, missing=0.4)[0])
        order = [2, 0, 3, 1]
        slow = np.zeros((4, 3, 12))
        before = clf._model.joint(hidden(batch, without(batch, range(4))), lambda joint: joint)
        for i, feature in enumerate(order):
            now = clf._model.joint(hidden(batch, without(batch, order[i + 1 :])), lambda joint: joint)
            slow[feature], before = (now - before).T, now
        np.testing.assert_allclose(conditional_terms(clf._model, batch, order), slow, rtol=1e-9, atol=1e-12)

    def test_pieces_make_no_difference(self, monkeypatch):
        clf = tb.TANClassifier().fit(*mixed_rows(150, 1, missing=0.0))
        batch = clf._rows(mixed_rows(12, 2, missing=0.4)[0])
        whole = conditional_terms(clf._model, batch, [0, 1, 2, 3])
        monkeypatch.setattr(contributions, "_CELLS_AT_ONCE", 5)
        np.testing.assert_allclose(conditional_terms(clf._model, batch, [0, 1, 2, 3]), whole, rtol=1e-12, atol=1e-13)

    def test_a_model_without_codes_is_asked_with_missing_cells(self):
        clf = tb.NaiveBayesClassifier().fit(*mixed_rows(150, 1, missing=0.1))
        batch = clf._rows(mixed_rows(12, 2, missing=0.4)[0])
        found = conditional_terms(clf._model, batch, [3, 1, 2, 0])
        np.testing.assert_allclose(found, clf._model.terms(batch), rtol=1e-9, atol=1e-12)
        assert (conditional_terms(clf._model, batch, [1])[[0, 2, 3]] == 0).all()

    def test_what_a_class_cannot_have_settles_it(self):
        clf = tb.TANClassifier(smoothing="mle").fit(tb.datasets.play_tennis(), "play")
        third = {"outlook": "Overcast", "temperature": "Hot", "humidity": "High", "wind": "Weak"}
        for row in (third, {"humidity": "Normal", "outlook": "Overcast"}):
            found = clf.explain(row, "yes", "no")
            assert found.log_odds == np.inf
            assert found.probabilities["yes"] == 1.0
            assert "nan" not in str(found)

    def test_no_class_can_have_it(self):
        rows = {"a": ["u", "u", "v", "v"], "b": ["s", "t", "s", "t"]}
        clf = tb.TANClassifier(smoothing="mle").fit({k: v[:2] + v[3:] for k, v in rows.items()}, ["m", "n", "n"])
        with pytest.warns(ZeroProbabilityWarning):
            found = clf.explain({"a": "v", "b": "s"})
        assert found.log_odds == pytest.approx(found.prior, rel=1e-12)


class TestWhatIf:
    def clf(self, **parameters):
        return tb.NaiveBayesClassifier(**parameters).fit(tb.datasets.play_tennis(), "play")

    def test_every_other_state_and_none(self):
        found = self.clf().what_if(DAY)
        told = {(c.feature, c.new_value) for c in found.changes}
        states = {v.name: v.states for v in self.clf().variables_}
        assert told == {(n, s) for n, v in DAY.items() for s in (*states[n], None) if s != v}
        assert [c.flips for c in found.changes] == sorted((c.flips for c in found.changes), reverse=True)

    def test_only_what_may_change(self):
        clf = self.clf()
        assert {c.feature for c in clf.what_if(DAY, features=["wind", "outlook"]).changes} == {"wind", "outlook"}
        assert {c.feature for c in clf.what_if(DAY, features="wind").changes} == {"wind"}
        only = clf.what_if(DAY, features={"outlook": ["Rain", "Sunny"]})
        assert [(c.feature, c.new_value) for c in only.changes] == [("outlook", "Rain")]
        assert clf.what_if(DAY, features={"outlook": "Sunny"}).changes == ()
        assert clf.what_if(DAY, features=[]).changes == ()

    def test_to_a_class(self):
        X, y = mixed_rows(150, 1, missing=0.0)
        clf = tb.NaiveBayesClassifier(numeric="gaussian").fit(X, y)
        row = {name: column[0] for name, column in X.items()}
        now = clf.predict(row)[0]
        for label in clf.classes_:
            found = clf.what_if(row, to=label)
            assert {c.label for c in found.changes} == {label}
            assert found.to == label
            assert all(
                c.flips == (clf.predict({**row, c.feature: c.new_value})[0] == label != now) for c in found.changes
            )
        assert "already" in str(clf.what_if(row, to=now))

    @pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
    def test_the_nearest_number_that_flips(self, numeric):
        rng = np.random.default_rng(0)
        y = np.repeat(["low", "high"], 200)
        x = np.concatenate([rng.normal(0, 1, 200), rng.normal(4, 1, 200)])
        clf = tb.NaiveBayesClassifier(numeric=numeric).fit({"x": x}, y)
        for start in (-1.0, 0.5, 3.0, 5.0):
            found = clf.what_if({"x": start}).changes[0]
            fine = np.linspace(start, found.new_value, 4001)[1:-1]
            same = clf.predict({"x": fine}) == clf.predict({"x": start})
            assert found.flips
            assert same[:-600].all()  # rounding to few digits goes at most 2 % of the range beyond the boundary
            assert abs(found.new_value - fine[same][-1]) < 0.16

    def test_intervals_of_a_cut_number(self):
        x = np.arange(60.0)
        clf = tb.NaiveBayesClassifier(numeric="discretise").fit({"x": x}, np.repeat(["u", "v", "w"], 20))
        assert clf.statistics_.encoding.cuts[0].cuts == (19.5, 39.5)
        found = {c.interval: c.new_value for c in clf.what_if({"x": 45.0}).changes if c.interval}
        assert found == {"≤ 19.5": 19.0, "19.5 – 39.5": 39.0}
        found = {c.interval: c.new_value for c in clf.what_if({"x": 45.0}, features={"x": (10, 30)}).changes}
        assert found == {"≤ 19.5": 19.0, "19.5 – 39.5": 30.0}
        found = {c.interval: c.new_value for c in clf.what_if({"x": None}).changes}
        assert found == {"≤ 19.5": 19.0, "19.5 – 39.5": 30.0, "> 39.5": 40.0}

    def test_ranges_and_values_of_numbers(self):
        X, y = mixed_rows(150, 1, missing=0.0)
        clf = tb.NaiveBayesClassifier(numeric="gaussian").fit(X, y)
        row = {name: column[0] for name, column in X.items()}
        low = clf.what_if(row, features={"x": (row["x"] - 0.1, row["x"] + 0.1)}).changes
        assert len(low) == 1
        assert abs(low[0].new_value - row["x"]) <= 0.1 + 1e-9
        assert {c.new_value for c in clf.what_if(row, features={"x": [1, 2, 3.5]}).changes} == {1.0, 2.0, 3.5}

    def test_rows_no_class_can_have_are_no_changes(self):
        clf = tb.NaiveBayesClassifier(smoothing=0).fit({"a": ["u", "v", "w"], "b": ["s", "t", "t"]}, ["m", "n", "n"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = clf.what_if({"a": "u", "b": "s"})
        assert {(c.feature, c.new_value) for c in found.changes} == {("a", None), ("b", None)}
        with pytest.raises(DataError, match="a what-if must start from a possible row"):
            clf.what_if({"a": "u", "b": "t"})

    def test_arrays_of_whole_numbers(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 80)
        X = rng.integers(0, 9, (80, 2)) + 3 * y[:, None]
        clf = tb.NaiveBayesClassifier().fit(X, y)
        found = clf.what_if(X[:2])
        assert len(found) == 2
        assert {c.new_value is None for c in found[0].changes} == {True, False}

    def test_pieces_make_no_difference(self, monkeypatch):
        whole = str(self.clf().what_if(DAY))
        monkeypatch.setattr(contributions, "_CELLS_AT_ONCE", 9)
        assert str(self.clf().what_if(DAY)) == whole

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            (["outlok"], "features must name features of the model; got 'outlok'. Did you mean 'outlook'?"),
            (3, "features must be names of features; got 3"),
            ({"wind": ["Storm"]}, "'wind' must be in one of its states; got 'Storm'"),
            ({"x": (3, 1)}, r"the range of 'x' must be \(low, high\), low below high; got \(3, 1\)"),
            ({"x": ["a"]}, "what 'x' may become must be a number; got 'a'"),
        ],
    )
    def test_wrong_features(self, features, message):
        rows = {"wind": ["Weak", "Strong"] * 3, "outlook": ["Rain", "Sunny"] * 3, "x": [1.0, 2.5, 2.0, 3.0, 1.5, 4.0]}
        clf = tb.NaiveBayesClassifier().fit(rows, ["no", "yes"] * 3)
        with pytest.raises(DataError, match=message):
            clf.what_if({"wind": "Weak"}, features=features)

    def test_wrong_class_and_one_class(self):
        with pytest.raises(DataError, match="Did you mean 'yes'"):
            self.clf().what_if(DAY, to="yess")
        one = tb.NaiveBayesClassifier().fit({"a": ["u", "v"]}, ["m", "m"])
        with pytest.raises(DataError, match="a what-if must have another class; the model knows only 'm'"):
            one.what_if({"a": "u"})


class TestBoundaries:
    @pytest.mark.parametrize(
        ("value", "towards", "expected"),
        [(1.7132, 1.8, 1.8), (2.45, 2.3, 2.4), (-2.45, -2.3, -2.4), (12.5, 13.4, 13.0), (1e-9, 1.4e-9, 1e-9),
         (123456.7, 123999, 123500.0), (-0.5, 0.5, 0.0), (7.0, 7.0, 7.0)],
    )  # fmt: skip
    def test_rounded(self, value, towards, expected):
        assert rounded(value, towards) == pytest.approx(expected, rel=1e-15)

    def test_rounded_stays_between(self):
        rng = np.random.default_rng(0)
        for scale in (1e-300, 1e-5, 1.0, 1e7, 1e300):
            for value in (rng.normal(size=50) * scale).tolist():
                towards = value + 0.02 * scale
                assert value <= rounded(value, towards) <= towards
                assert value - 0.02 * scale <= rounded(value, value - 0.02 * scale) <= value

    def test_inside(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            cuts = np.unique(rng.normal(size=rng.integers(1, 5)) * 10.0 ** rng.integers(-8, 8)).tolist()
            found = tb.Discretisation(tuple(cuts))
            for near in (*rng.normal(size=3).tolist(), *cuts, np.nan):
                values = [inside(cuts, i, near) for i in range(len(cuts) + 1)]
                assert found.codes(values).tolist() == list(range(len(cuts) + 1))

    def test_nearest_flips_on_both_sides(self):
        def judge(which, values):
            return (values < -1.0) | (values > 2.0), np.abs(values) / 100

        found = nearest_flips(np.array([0.0, 1.0, np.nan, 0.0]), [(-4.0, 4.0)] * 3 + [(-0.5, 0.7)], judge)
        np.testing.assert_allclose(found[:2], [-1.0, 2.0], atol=1e-5)
        assert abs(found[2]) == 4.0
        assert found[3] == 0.7  # nothing flips: as far as it goes


class TestImportance:
    def test_counted_features(self):
        table = tb.datasets.play_tennis()
        counter = tb.Counter(table)
        found = tb.NaiveBayesClassifier().fit(table, "play").importance()
        for name in found:
            assert found[name] == pytest.approx(tb.mutual_information(counter.family("play", [name])), rel=1e-12)
        assert found.entropy == pytest.approx(tb.entropy(np.array([5, 9])), rel=1e-12)

    def test_beside_the_parents(self):
        table = tb.datasets.play_tennis()
        clf = tb.TANClassifier().fit(table, "play")
        found = clf.importance()
        counter = tb.Counter(table)
        for feature in found.features:
            parent = clf.parents_[feature.feature]
            assert feature.given == (() if parent is None else (parent,))
            if parent is not None:
                pairs = counter.pairs_within(parent)
                names = [v.name for v in pairs.variables]
                matrix = tb.conditional_mutual_information(pairs)
                expected = matrix[names.index(feature.feature), names.index("play")]
                assert feature.value == pytest.approx(expected, rel=1e-10)

    def test_normal_densities(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], [100, 60, 40])
        x = np.concatenate([rng.normal(0, 1, 100), rng.normal(1, 0.3, 60), rng.normal(-2, 3, 40)])
        clf = tb.NaiveBayesClassifier(numeric="gaussian").fit(x[:, None], y)
        mean, sd = clf._model.gaussian.mean[:, 0], np.sqrt(clf._model.gaussian.variance[:, 0])
        share = np.array([0.5, 0.3, 0.2])

        at = np.linspace(-40, 40, 200_001)
        logs = stats.norm.logpdf(at, mean[:, None], sd[:, None])

        def mixed(c, method):
            others = np.where((np.arange(3) == c) & (method == "weight"), 0.0, share)
            return special.logsumexp(logs, axis=0, b=others[:, None] / others.sum())

        for method in ("information", "weight"):
            terms = [share[c] * np.exp(logs[c]) * (logs[c] - mixed(c, method)) for c in range(3)]
            expected = integrate.trapezoid(np.sum(terms, axis=0), at)
            assert clf.importance(method)["x0"] == pytest.approx(expected, rel=1e-9)

    def test_kernel_densities(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [80, 50])
        x = np.concatenate([rng.normal(0, 1, 80), rng.normal(1.5, 2, 50)])
        clf = tb.NaiveBayesClassifier(numeric="kernel").fit(x[:, None], y)
        share = np.array([80, 50]) / 130
        at = np.linspace(-12, 14, 200_001)
        p = np.exp(clf._model.terms(clf._rows(at[:, None]))[0])
        mixed = share @ p
        expected = integrate.trapezoid((share[:, None] * p * np.log(p / mixed)).sum(axis=0), at)
        assert clf.importance()["x0"] == pytest.approx(expected, rel=1e-5)  # nodes half a bandwidth apart

    def test_expected_weight_of_counted_features(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        p = np.exp(clf._model.tables[0][:, 1:])
        expected = 5 / 14 * (p[0] * np.log(p[0] / p[1])).sum() + 9 / 14 * (p[1] * np.log(p[1] / p[0])).sum()
        assert clf.importance("weight")["outlook"] == pytest.approx(expected, rel=1e-12)
        bare = tb.NaiveBayesClassifier(smoothing=0).fit(tb.datasets.play_tennis(), "play").importance("weight")
        assert bare["outlook"] == np.inf
        assert "∞" in str(bare)

    @pytest.mark.parametrize("method", ["information", "weight"])
    def test_nothing_to_tell(self, method):
        rows = {"same": ["a"] * 4, "gone": [None] * 4, "number": [1.0] * 4, "good": ["u", "u", "v", "v"]}
        for estimator in (tb.NaiveBayesClassifier(), tb.TANClassifier(), tb.KDBClassifier()):
            found = estimator.fit(rows, [0, 0, 1, 1]).importance(method)
            assert next(iter(found)) == "good"
            assert [found[name] for name in ("same", "gone", "number")] == pytest.approx([0.0] * 3, abs=1e-12)
        one = tb.NaiveBayesClassifier().fit(rows, [0] * 4).importance(method)
        assert set(one.values()) == {0.0}
        assert set(one.shares.values()) == {0.0}

    def test_loaded_is_the_same(self, tmp_path):
        clf = tb.KDBClassifier().fit(*mixed_rows(150, 1, missing=0.1))
        clf.save(tmp_path / "m.tb")
        assert tb.load(tmp_path / "m.tb").importance() == clf.importance()

    @pytest.mark.parametrize("first", [("class", "a"), ("a", "class")])
    def test_networks_are_sampled(self, first):
        X, y = mixed_rows(400, 1, missing=0.0)
        rows = {"a": X["a"], "b": X["b"], "class": y}
        dag = tb.DAG(arcs=[first, ("class", "b"), ("a", "b")])
        clf = tb.BayesNetClassifier(structure=dag, smoothing="mle").fit(rows, "class")
        found, counter = clf.importance(), tb.Counter(tb.as_table(rows))
        within = counter.pairs_within("a")
        expected = {
            "a": tb.mutual_information(counter.family("class", ["a"])),
            "b": tb.conditional_mutual_information(within)[0, 1],
        }
        assert {f.feature: f.given for f in found.features} == {"a": (), "b": ("a",)}
        assert dict(found) == pytest.approx(expected, rel=0.05)  # 2000 sampled rows
        assert dict(found) == clf.importance()
        assert found["a"] != pytest.approx(found["b"], rel=0.2)
        assert all(value > 0 for value in clf.importance("weight").values())

    def test_wrong_method(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        with pytest.raises(DataError, match="method must be one of 'information', 'weight'; got 'weights'"):
            clf.importance("weights")
