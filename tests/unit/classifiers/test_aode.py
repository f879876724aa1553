"""AODE, and what A2DE has in common with it: worked results, parameters, and odd data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, MemoryForecastError, UnseenStateWarning, ZeroProbabilityWarning

BOTH = [tb.AODEClassifier, tb.A2DEClassifier]
DAY = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}


def xor(n=400, seed=0):
    """Rows whose class only two features together tell, with a third that is noise."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.integers(0, 2, (3, n))
    y = np.where(rng.random(n) < 0.95, a ^ b, 1 - (a ^ b))
    return {"a": a.astype(str), "b": b.astype(str), "noise": noise.astype(str)}, y


class TestWorkedResults:
    def test_two_features(self):
        X = {"a": ["u", "u", "v", "v"], "b": ["p", "q", "q", "q"]}
        clf = tb.AODEClassifier().fit(X, ["x", "x", "x", "y"])
        found = np.exp(clf.predict_joint_log_proba({"a": "v", "b": "q"}))[0]
        # x: a = v in 1 of 3 rows, b = q in 2 of 3, and in 1 of the 1 with a = v; one row's worth of ½ each time
        x = 3 / 4 * 0.5 * (1.5 / 4 * 1.5 / 2 + 2.5 / 4 * 1.5 / 3)
        y = 1 / 4 * 0.5 * (1.5 / 2 * 1.5 / 2 + 1.5 / 2 * 1.5 / 2)
        np.testing.assert_allclose(found, [x, y], rtol=1e-12)

    def test_a_number_in_one_bin_is_not_used(self):
        rng = np.random.default_rng(0)
        a, late, y = rng.integers(0, 3, 200), rng.normal(size=200), rng.integers(0, 2, 200)
        X = {"a": a.astype(str), "b": ((a + y) % 3).astype(str), "c": (a * y % 3).astype(str), "late": late}
        unknown = {**X, "late": np.full(200, np.nan)}
        for cls in BOTH:
            for smoothing in ("m-estimate", "hierarchical"):
                clf = cls(smoothing=smoothing).fit(X, y)
                assert not clf.statistics_.encoding.cuts[3].cuts
                np.testing.assert_allclose(clf.predict_proba(X), clf.predict_proba(unknown), rtol=1e-12)
                row = {name: values[0] for name, values in X.items()}
                assert abs({e.feature: e.weight for e in clf.explain(row).evidence}["late"]) < 1e-12

    def test_naive_bayes_where_nobody_votes(self):
        table = tb.datasets.play_tennis()
        naive = tb.NaiveBayesClassifier(smoothing=tb.MEstimate(1)).fit(table, "play")
        for cls in BOTH:
            clf = cls(min_count=15).fit(table, "play")
            np.testing.assert_allclose(
                clf.predict_joint_log_proba(table), naive.predict_joint_log_proba(table), rtol=1e-12
            )

    def test_one_feature_is_naive_bayes(self):
        table = tb.datasets.play_tennis().select(["outlook", "play"])
        naive = tb.NaiveBayesClassifier(smoothing=2.0).fit(table, "play").predict_proba(table)
        for cls in BOTH:
            np.testing.assert_allclose(cls(smoothing=2.0).fit(table, "play").predict_proba(table), naive, rtol=1e-12)

    @pytest.mark.shared
    @pytest.mark.parametrize(("name", "weka"), [("vote", 94.25), ("glass2", 80.37), ("heart", 80.74)])
    def test_as_accurate_as_weka(self, shared_data, name, weka):
        """Ten-fold accuracy is within two standard errors (of a difference between two runs) of the one measured."""
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        frame = pd.read_csv(shared_data / "uci" / f"{name}.csv", keep_default_na=False, na_values=[""])
        X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
        two_valued = [c for c in X if X[c].nunique() == 2]
        folds = StratifiedKFold(10, shuffle=True, random_state=1)
        found = 100 * cross_val_score(tb.AODEClassifier(categorical=two_valued), X, y, cv=folds).mean()
        error = 100 * np.sqrt(weka / 100 * (1 - weka / 100) / len(y))
        assert abs(found - weka) < 2 * error


class TestParameters:
    @pytest.mark.parametrize("cls", BOTH)
    def test_each_changes_the_result(self, cls):
        X, y = xor(60)
        X = {name: [None if i < 9 and name == "a" else v for i, v in enumerate(c)] for name, c in X.items()}
        X["follows"] = ["-" if b == "0" else n for b, n in zip(X["b"], X["noise"], strict=True)]
        usual = cls().fit(X, y).predict_proba(X)
        others = [
            {"weighting": "mutual information"},
            {"subsumption": 10},
            {"min_count": 20},
            {"smoothing": 1.0},
            {"smoothing": "hierarchical"},
            {"smoothing": tb.MEstimate(1, "marginal")},
            {"class_prior": [0.9, 0.1]},
            {"missing": "state"},
        ]
        for other in others:
            assert not np.allclose(cls(**other).fit(X, y).predict_proba(X), usual), other

    @pytest.mark.parametrize("cls", BOTH)
    def test_the_prior_is_a_factor(self, cls):
        X, y = xor(200)
        usual, given = cls().fit(X, y), cls(class_prior={0: 0.2, 1: 0.8}).fit(X, y)
        shift = np.log([0.2, 0.8]) - usual.class_log_prior_
        np.testing.assert_allclose(
            given.predict_joint_log_proba(X), usual.predict_joint_log_proba(X) + shift, rtol=1e-12
        )

    def test_votes_are_shares_of_information(self):
        table = tb.datasets.play_tennis()
        assert tb.AODEClassifier().fit(table, "play").votes_ == dict.fromkeys(table.names[:-1], 0.25)
        votes = tb.AODEClassifier(weighting="mutual information").fit(table, "play").votes_
        counter = tb.Counter(table)
        told = {name: tb.mutual_information(counter.family("play", [name])) for name in votes}
        assert votes == pytest.approx({name: i / sum(told.values()) for name, i in told.items()})

    def test_votes_without_information(self):
        clf = tb.AODEClassifier(weighting="mutual information").fit({"a": ["u", "u"], "b": ["p", "p"]}, ["x", "y"])
        assert clf.votes_ == {"a": 0.0, "b": 0.0}
        np.testing.assert_allclose(clf.predict_proba({"a": "u", "b": "p"}), [[0.5, 0.5]], rtol=1e-12)

    @pytest.mark.parametrize("cls", BOTH)
    def test_subsumption_leaves_out_what_follows(self, cls):
        rng = np.random.default_rng(0)
        sex = rng.choice(["f", "m"], 600)
        pregnant = np.where((sex == "f") & (rng.random(600) < 0.5), "yes", "no")
        other, y = rng.choice(["u", "v"], 600), rng.integers(0, 2, 600)
        X = {"sex": sex, "pregnant": pregnant, "other": other}
        plain, resolved = cls().fit(X, y), cls(subsumption=True).fit(X, y)
        row = {"sex": "f", "pregnant": "yes", "other": "u"}
        np.testing.assert_allclose(
            resolved.predict_proba(row), plain.predict_proba({"pregnant": "yes", "other": "u"}), rtol=1e-12
        )
        not_pregnant = {"sex": "f", "pregnant": "no", "other": "u"}
        np.testing.assert_allclose(resolved.predict_proba(not_pregnant), plain.predict_proba(not_pregnant), rtol=1e-12)
        rare = cls(subsumption=500).fit(X, y)
        np.testing.assert_allclose(rare.predict_proba(row), plain.predict_proba(row), rtol=1e-12)

    @pytest.mark.parametrize("cls", BOTH)
    def test_of_two_that_follow_from_each_other_one_stays(self, cls):
        X, y = xor(400)
        twice = {**X, "again": X["a"]}
        resolved = cls(subsumption=True).fit(twice, y)
        np.testing.assert_allclose(resolved.predict_proba(twice), cls().fit(X, y).predict_proba(X), rtol=1e-12)

    @pytest.mark.parametrize("cls", BOTH)
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"weighting": "information"}, "weighting must be one of None, 'mutual information'; got 'information'"),
            ({"subsumption": "yes"}, r"subsumption \(True, False, or a number of rows\) must be a number; got 'yes'"),
            ({"subsumption": 0}, "must be greater than 0; got 0"),
            ({"min_count": -1}, "min_count must be at least 0; got -1"),
            ({"missing": "drop"}, "missing must be one of 'marginal', 'state'; got 'drop'"),
            ({"smoothing": "lots"}, "smoothing must be 'm-estimate', 'hierarchical', a number .* got 'lots'"),
            ({"smoothing": -1}, "smoothing must be .*; got -1"),
            ({"smoothing": tb.BackOff()}, "BackOff with a number as its strength; got BackOff"),
            ({"smoothing": tb.BDeu()}, "smoothing must be .*; got BDeu"),
            ({"n_jobs": 0}, "n_jobs must be"),
        ],
    )
    def test_bad_ones(self, cls, parameters, message):
        with pytest.raises(DataError, match=message):
            cls(**parameters).fit(*xor(20))


@pytest.mark.parametrize("cls", BOTH)
class TestOddData:
    def test_sees_what_naive_bayes_cannot(self, cls):
        X, y = xor()
        assert tb.NaiveBayesClassifier().fit(X, y).score(X, y) < 0.6
        assert cls().fit(X, y).score(X, y) > 0.93

    def test_mixed_columns_of_every_make(self, cls):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 3, 200)
        frame = pd.DataFrame(
            {"size": rng.normal(2 * y, 1.0), "word": np.where(y == 0, "a", rng.choice(["a", "b"], 200))}
        )
        frame.loc[::7, "size"] = np.nan
        frame.loc[::5, "word"] = None
        expected = cls().fit(frame, y).predict_proba(frame)
        for other in (tb.as_table(frame), {name: frame[name] for name in frame}):
            np.testing.assert_allclose(cls().fit(other, y).predict_proba(other), expected, rtol=1e-12)
        assert cls().fit(frame, y).score(frame, y) > 0.7

    def test_what_is_missing_takes_no_part(self, cls):
        X, y = xor(100)
        full, without = cls().fit(X, y), cls().fit({"a": X["a"], "noise": X["noise"]}, y)
        np.testing.assert_allclose(
            full.predict_proba({"a": "1", "noise": "0"}), without.predict_proba({"a": "1", "noise": "0"}), rtol=1e-12
        )
        np.testing.assert_allclose(full.predict_proba({"a": None}), np.exp([full.class_log_prior_]), rtol=1e-12)

    def test_columns_without_values_or_with_one(self, cls):
        X, y = xor(80)
        empty = {"empty": [None] * 80, **X}
        np.testing.assert_allclose(
            cls().fit(empty, y).predict_proba(empty), cls().fit(X, y).predict_proba(X), rtol=1e-12
        )
        nothing = {"a": [None, None], "b": [None, None]}
        np.testing.assert_allclose(cls().fit(nothing, ["x", "y"]).predict_proba(nothing), np.full((2, 2), 0.5))

    def test_one_class_and_one_row(self, cls):
        assert cls().fit({"a": ["u"]}, ["x"]).predict_proba({"a": ["u"]}).tolist() == [[1.0]]

    def test_a_class_without_rows(self, cls):
        clf = cls().partial_fit({"a": ["u", "v"], "b": ["p", "q"]}, ["x", "y"], classes=["x", "y", "z"])
        assert clf.predict_proba({"a": "u", "b": "p"})[0, 2] == 0.0
        clf = cls(class_prior="uniform").partial_fit({"a": ["u"], "b": ["p"]}, ["x"], classes=["x", "z"])
        assert np.isfinite(clf.predict_joint_log_proba({"a": "u", "b": "p"})).all()

    def test_features_may_be_called_like_the_target(self, cls):
        X, y = xor(50)
        renamed, plain = {"class": X["a"], "class'": X["b"]}, {"a": X["a"], "b": X["b"]}
        np.testing.assert_array_equal(
            cls().fit(renamed, y).predict_proba(renamed), cls().fit(plain, y).predict_proba(plain)
        )

    def test_unseen_states_are_missing(self, cls):
        X, y = xor(200)
        clf = cls().fit(X, y)
        with pytest.warns(UnseenStateWarning, match="'a' holds '7'"):
            odd = clf.predict_proba({"a": ["7"], "b": ["1"], "noise": ["0"]})
        np.testing.assert_allclose(odd, clf.predict_proba({"b": "1", "noise": "0"}), rtol=1e-12)

    def test_rows_that_are_impossible_get_the_prior(self, cls):
        X = {"a": ["u", "v"], "b": ["p", "q"]}
        clf = cls(smoothing=0).fit(X, ["x", "y"])
        with pytest.warns(ZeroProbabilityWarning, match="probability zero"):
            found = clf.predict_proba({"a": "u", "b": "q"})
        np.testing.assert_allclose(found, [[0.5, 0.5]], rtol=1e-12)

    def test_zero_weights_are_no_rows(self, cls):
        X, y = xor(60)
        weights = np.r_[np.ones(50), np.zeros(10)]
        some = cls().fit({name: c[:50] for name, c in X.items()}, y[:50])
        np.testing.assert_allclose(
            cls().fit(X, y, sample_weight=weights).predict_proba(X), some.predict_proba(X), rtol=1e-12
        )

    def test_new_classes_and_states_come_in_later(self, cls):
        clf = cls().partial_fit({"a": ["u", "v"], "b": ["p", "q"], "c": ["0", "1"]}, ["x", "y"])
        clf.partial_fit({"a": ["w", "u"], "b": ["p", "p"], "c": ["2", "0"]}, ["n", "x"])
        assert clf.classes_.tolist() == ["n", "x", "y"]
        assert clf.predict({"a": "w", "b": "p", "c": "2"}).tolist() == ["n"]

    def test_a_loaded_model_goes_on_learning(self, cls, tmp_path):
        X, y = xor(90)
        clf = cls(weighting="mutual information", smoothing=tb.MEstimate(2), subsumption=True).fit(X, y)
        clf.save(tmp_path / "m.tb")
        loaded = tb.load(tmp_path / "m.tb")
        assert str(loaded.get_params()) == str(clf.get_params())
        np.testing.assert_array_equal(loaded.partial_fit(X, y).predict_proba(X), clf.partial_fit(X, y).predict_proba(X))

    def test_importance_is_information(self, cls):
        table = tb.datasets.play_tennis()
        found = cls().fit(table, "play").importance()
        told = tb.mutual_information(tb.Counter(table).family("play", ["outlook"]))
        assert found["outlook"] == pytest.approx(told)


def test_nothing_underflows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (100, 240))  # each factor is below 1/30: the product is far below the least float
    y = rng.integers(0, 2, 100)
    clf = tb.AODEClassifier(categorical="all").fit(X, y)
    joint = clf.predict_joint_log_proba(rng.permuted(X, axis=0))
    assert np.isfinite(joint).all()
    assert joint.max() < np.log(np.finfo(np.float64).tiny)
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert clf.score(X, y) > 0.99


def test_counts_of_too_many_states_are_forecast():
    X = {f"x{j}": [f"s{i}" for i in range(3000)] for j in range(40)}
    with pytest.raises(MemoryForecastError, match=r"all pairs of 120000 states .* Leave out columns"):
        tb.AODEClassifier().fit(X, np.arange(3000) % 2)


def test_tables_of_too_many_states_are_forecast(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (300, 30))
    y = rng.integers(0, 2, 300)
    clf = tb.AODEClassifier(categorical="all").fit(X, y)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "5e6")
    with pytest.raises(
        MemoryForecastError, match=r"the tables of all pairs of 600 states for 2 classes would need 11\.0 MiB"
    ):
        clf.derive(clf.statistics_, clf.class_log_prior_)
