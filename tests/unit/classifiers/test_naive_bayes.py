"""Worked results, equality with scikit-learn, and the manners of NaiveBayesClassifier."""

from __future__ import annotations

import datetime
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

import tunbridge as tb
from tunbridge.data import Variable
from tunbridge.errors import UnseenStateWarning, ZeroProbabilityWarning
from tunbridge.formats import read_model, write_model

SUNNY = {"outlook": ["Sunny"], "temperature": ["Cool"], "humidity": ["High"], "wind": ["Strong"]}


class TestWorkedResults:
    def test_play_tennis_without_smoothing(self):
        clf = tb.NaiveBayesClassifier(smoothing=0).fit(tb.datasets.play_tennis(), "play")
        no, yes = np.exp(clf.predict_joint_log_proba(SUNNY))[0]
        np.testing.assert_allclose(yes, 9 / 14 * 2 / 9 * 3 / 9 * 3 / 9 * 3 / 9, rtol=1e-12)
        np.testing.assert_allclose(no, 5 / 14 * 3 / 5 * 1 / 5 * 4 / 5 * 3 / 5, rtol=1e-12)
        assert (round(yes, 4), round(no, 4)) == (0.0053, 0.0206)
        assert clf.predict(SUNNY).tolist() == ["no"]
        assert round(clf.predict_proba(SUNNY)[0, 0], 3) == 0.795

    @pytest.mark.parametrize("smoothing", [1.0, tb.Laplace(1), tb.MEstimate(m="n_states")])
    def test_play_tennis_with_m_estimate(self, smoothing):
        clf = tb.NaiveBayesClassifier(smoothing=smoothing).fit(tb.datasets.play_tennis(), "play")
        no, yes = np.exp(clf.predict_joint_log_proba(SUNNY))[0]
        np.testing.assert_allclose(yes, 9 / 14 * 3 / 12 * 4 / 12 * 4 / 11 * 4 / 11, rtol=1e-12)
        np.testing.assert_allclose(no, 5 / 14 * 4 / 8 * 2 / 8 * 5 / 7 * 4 / 7, rtol=1e-12)

    def test_drug(self):
        clf = tb.NaiveBayesClassifier(numeric="gaussian", smoothing=0).fit(tb.datasets.drug(), "drug")
        moments = clf.statistics_.densities.moments
        assert moments.mean[:, 0].round(1).tolist() == [36.3, 47.8]
        assert moments.variance(unbiased=True)[:, 0].round(1).tolist() == [161.9, 311.0]
        rows = {"sex": ["male", "female"], "age": [61, 30], "blood_pressure": ["normal", "normal"]}
        assert clf.predict_proba(rows).round(3).tolist() == [[0.219, 0.781], [0.671, 0.329]]

    def test_dating(self):
        table = tb.datasets.dating()
        target = table.names[-1]
        clf = tb.NaiveBayesClassifier(smoothing=0).fit(table, target)
        names = table.names[:-1]
        row = dict(zip(names, [["t"], ["b"], ["l"]], strict=True))
        joint = dict(zip(clf.classes_.tolist(), np.exp(clf.predict_joint_log_proba(row))[0], strict=True))
        np.testing.assert_allclose(joint["+"] / (5 / 8), 12 / 125, rtol=1e-12)
        np.testing.assert_allclose(joint["-"] / (3 / 8), 4 / 9, rtol=1e-12)
        assert clf.predict(row).tolist() == ["-"]

    def test_dating_row_of_probability_zero_gets_the_prior(self):
        table = tb.datasets.dating()
        row = dict(zip(table.names[:-1], [["t"], ["r"], ["w"]], strict=True))
        clf = tb.NaiveBayesClassifier(smoothing=0).fit(table, table.names[-1])
        with pytest.warns(ZeroProbabilityWarning, match="probability zero under every class"):
            probabilities = clf.predict_proba(row)[0]
        np.testing.assert_allclose(dict(zip(clf.classes_, probabilities, strict=True))["+"], 5 / 8, rtol=1e-12)
        smoothed = tb.NaiveBayesClassifier().fit(table, table.names[-1])
        assert smoothed.predict(row).tolist() == ["+"]


class TestSameAsScikitLearn:
    @pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
    def test_gaussian(self, load):
        X, y = load(return_X_y=True)
        ours = tb.NaiveBayesClassifier(numeric="gaussian", variance="mle", variance_floor=0).fit(X, y)
        theirs = GaussianNB(var_smoothing=0).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-9)
        assert (ours.predict(X) == theirs.predict(X)).all()

    def test_gaussian_digits(self):
        # Standardised, every feature has the scale of scikit-learn's floor, a share of the largest variance.
        X, y = load_digits(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        ours = (
            tb.NaiveBayesClassifier(numeric="gaussian", variance="mle", variance_floor=1e-9).fit(X, y).predict_proba(X)
        )
        theirs = GaussianNB(var_smoothing=1e-9).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
    def test_categorical_digits(self, gamma):
        X, y = load_digits(return_X_y=True)
        ours = tb.NaiveBayesClassifier(categorical="all", smoothing=gamma).fit(X, y).predict_proba(X)
        codes = OrdinalEncoder().fit_transform(X)  # scikit-learn counts every value up to the largest as a category
        theirs = CategoricalNB(alpha=gamma).fit(codes, y).predict_proba(codes)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)

    @pytest.mark.shared
    def test_categorical_vote(self, shared_data):
        frame = pd.read_csv(shared_data / "uci" / "vote.csv", keep_default_na=False)
        y = frame.pop("Class")
        codes = OrdinalEncoder().fit_transform(frame)
        theirs = CategoricalNB().fit(codes, y).predict_proba(codes)
        ours = (
            tb.NaiveBayesClassifier().fit(frame.replace("", "neither"), y).predict_proba(frame.replace("", "neither"))
        )
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def mixed_frame(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "name": np.where(y == 0, "a", rng.choice(["a", "b"], n)),
            "size": rng.normal(y, 1.0),
            "count": rng.integers(0, 20, n) + 3 * y,
            "flag": rng.random(n) < 0.3,
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::5, "name"] = None
    return frame, np.array(["x", "y", "z"])[y]


class TestFrames:
    def test_every_make_of_frame_gives_the_same_answer(self):
        frame, y = mixed_frame()
        expected = tb.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
        frames = [
            pl.from_pandas(frame),
            pa.Table.from_pandas(frame, preserve_index=False),
            tb.as_table(frame),
            {name: frame[name] for name in frame},
        ]
        for other in frames:
            found = tb.NaiveBayesClassifier().fit(other, y).predict_proba(other)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)

    def test_target_by_name_is_the_same_as_target_apart(self):
        frame, y = mixed_frame()
        apart = tb.NaiveBayesClassifier().fit(frame, y)
        together = frame.assign(label=y)
        for data in (together, pl.from_pandas(together), tb.as_table(together)):
            named = tb.NaiveBayesClassifier().fit(data, "label")
            np.testing.assert_allclose(named.predict_proba(data), apart.predict_proba(frame), rtol=1e-12, atol=0)

    def test_kinds_of_a_table_are_kept(self):
        data = {"grade": [1, 2, 3, 1, 2, 3], "two": [0, 1, 0, 1, 1, 0], "y": ["a", "b", "b", "a", "b", "b"]}
        table = tb.as_table(data, kinds={"grade": "categorical", "two": "continuous"})
        clf = tb.NaiveBayesClassifier().fit(table, "y")
        assert [v.is_categorical for v in clf.variables_] == [True, False]
        asked = tb.NaiveBayesClassifier(categorical=["two"]).fit(table, "y")
        assert [v.is_categorical for v in asked.variables_] == [True, True]
        np.testing.assert_array_equal(clf.predict_proba(table), clf.predict_proba(data))

    def test_target_that_does_not_exist(self):
        with pytest.raises(
            tb.DataError, match=r"target must be a column of the data; got 'pley'\. Did you mean 'play'"
        ):
            tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "pley")

    def test_input_is_left_as_it_was(self):
        frame, y = mixed_frame()
        before = frame.copy(deep=True)
        X = np.random.default_rng(0).normal(size=(60, 3))
        X0 = X.copy()
        tb.NaiveBayesClassifier().fit(frame, y).predict(frame)
        tb.NaiveBayesClassifier().fit(X, y).predict(X)
        pd.testing.assert_frame_equal(frame, before)
        np.testing.assert_array_equal(X, X0)
        assert X.flags.writeable

    def test_columns_that_are_absent_at_prediction_are_named(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        with pytest.raises(tb.DataError, match="must have the columns 'wind'"):
            clf.predict({k: v for k, v in SUNNY.items() if k != "wind"})


class TestMissingAndUnseen:
    def test_missing_feature_is_left_out_of_the_product(self):
        table = tb.datasets.play_tennis()
        whole = tb.NaiveBayesClassifier().fit(table, "play")
        without = tb.NaiveBayesClassifier().fit(table.drop(["wind"]), "play")
        row = SUNNY | {"wind": [None]}
        np.testing.assert_allclose(
            whole.predict_proba(row), without.predict_proba({k: v for k, v in SUNNY.items() if k != "wind"}), rtol=1e-12
        )

    def test_unseen_state_counts_as_missing_with_one_warning(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        with pytest.warns(UnseenStateWarning) as caught:
            found = clf.predict_proba({k: v * 2 for k, v in (SUNNY | {"wind": ["Storm"], "outlook": ["Fog"]}).items()})
        assert len(caught) == 1
        assert "'wind' holds 'Storm'" in str(caught[0].message)
        assert "'outlook' holds 'Fog'" in str(caught[0].message)
        missing = SUNNY | {"wind": [None], "outlook": [None]}
        np.testing.assert_allclose(found[0], clf.predict_proba(missing)[0], rtol=1e-12)

    def test_row_in_which_everything_is_missing_gets_the_prior(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        found = clf.predict_proba({name: [None] for name in SUNNY})
        np.testing.assert_allclose(found[0], [5 / 14, 9 / 14], rtol=1e-12)

    def test_missing_numbers(self):
        X = np.array([[1.0, np.nan], [2.0, 5.0], [8.0, 6.0], [9.0, np.nan], [np.nan, 1.0], [10.0, 2.0]])
        y = [0, 0, 1, 1, 0, 1]
        clf = tb.NaiveBayesClassifier().fit(X, y)
        assert np.isfinite(clf.predict_proba(X)).all()
        assert clf.predict([[1.5, np.nan], [9.0, np.nan]]).tolist() == [0, 1]

    def test_class_without_any_value_of_a_feature_takes_the_whole_column(self):
        X = np.array([[1.0], [2.0], [np.nan], [np.nan]])
        clf = tb.NaiveBayesClassifier().fit(X, [0, 0, 1, 1])
        np.testing.assert_allclose(clf.predict_proba([[1.5]]).sum(), 1.0, rtol=1e-12)
        assert clf.predict_proba([[1.5]])[0, 1] > 0.1

    def test_column_in_which_everything_is_missing_says_nothing(self):
        frame = pd.DataFrame({"a": ["x", "y", "x", "y"], "empty": [None] * 4, "nan": [np.nan] * 4})
        y = [0, 1, 0, 1]
        both = tb.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
        alone = tb.NaiveBayesClassifier().fit(frame[["a"]], y).predict_proba(frame[["a"]])
        np.testing.assert_allclose(both, alone, rtol=1e-12)


class TestEdges:
    def test_one_row(self):
        clf = tb.NaiveBayesClassifier().fit([[1.0, 2.0]], ["only"])
        assert clf.predict([[5.0, 5.0]]).tolist() == ["only"]
        assert clf.predict_proba([[5.0, 5.0]]).tolist() == [[1.0]]

    def test_one_class(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        assert tb.NaiveBayesClassifier().fit(X, [3] * 20).predict(X).tolist() == [3] * 20

    def test_constant_column_says_nothing(self):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(40, 2))
        y = (X[:, 0] > 0).astype(int)
        plain = tb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
        padded = np.column_stack([X, np.full(40, 7.0)])
        np.testing.assert_allclose(tb.NaiveBayesClassifier().fit(padded, y).predict_proba(padded), plain, rtol=1e-9)

    def test_hundred_thousand_features_do_not_underflow(self):
        rng = np.random.default_rng(2)
        X = rng.integers(0, 5, (6, 100_000))
        clf = tb.NaiveBayesClassifier(categorical="all").fit(X, [0, 1] * 3)
        assert np.isfinite(clf.predict_log_proba(X)).all()
        assert clf.predict(X).tolist() == [0, 1] * 3
        Z = rng.normal(size=(6, 100_000))
        assert np.isfinite(tb.NaiveBayesClassifier().fit(Z, [0, 1] * 3).predict_joint_log_proba(Z)).all()

    def test_variance_floor_does_not_depend_on_the_scale(self):
        X = np.array([[1.0, 4.0], [1.0, 5.0], [3.0, 9.0], [4.0, 8.0]])
        y = [0, 0, 1, 1]
        rows = np.array([[1.0001, 5.0], [2.0, 6.0], [0.99, 9.0]])
        base = tb.NaiveBayesClassifier(variance_floor=1e-3).fit(X, y).predict_proba(rows)
        for scale in (1e-12, 1e9):
            factor = np.array([scale, 1.0])
            found = tb.NaiveBayesClassifier(variance_floor=1e-3).fit(X * factor, y).predict_proba(rows * factor)
            np.testing.assert_allclose(found, base, rtol=1e-9)

    def test_large_offset_keeps_the_variance(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(100, 1))
        y = rng.integers(0, 2, 100)
        small = tb.NaiveBayesClassifier().fit(X, y).statistics_.densities.moments.m2
        large = tb.NaiveBayesClassifier().fit(X + 1e8, y).statistics_.densities.moments.m2
        np.testing.assert_allclose(large, small, rtol=1e-6)  # doubles near 1e8 resolve 1.5e-8

    @pytest.mark.parametrize("bad", [np.inf, -np.inf])
    def test_infinities_are_refused(self, bad):
        X = np.array([[1.0], [bad], [2.0]])
        with pytest.raises(ValueError, match="infinity"):
            tb.NaiveBayesClassifier().fit(X, [0, 1, 0])
        with pytest.raises(ValueError, match="infinity"):
            tb.NaiveBayesClassifier().fit({"a": X[:, 0]}, [0, 1, 0])
        clf = tb.NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1])
        with pytest.raises(ValueError, match="infinity"):
            clf.predict(X)

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([0.5, 1.5, 2.5, 0.1], "continuous"),
            ([None, None, None, None], "every row of it is missing"),
            (["a", None, "b", "a"], "1 of 4 have none, row 2 first"),
            ([0.0, np.nan, 1.0, 0.0], "1 of 4 have none, row 2 first"),
            (["a", "b"], "2 classes for 4 rows"),
        ],
    )
    def test_bad_targets(self, y, message):
        with pytest.raises(ValueError, match=message):
            tb.NaiveBayesClassifier().fit(np.arange(8.0).reshape(4, 2), y)

    def test_all_weights_zero(self):
        with pytest.raises(tb.DataError, match="weight above zero"):
            tb.NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1], sample_weight=[0, 0])


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"numeric": "gausian"}, "Did you mean 'gaussian'"),
            ({"numeric": {"siz": "kernel"}}, "numeric must name numeric columns; got 'siz'. Did you mean 'size'"),
            ({"smoothing": -1}, "smoothing must be at least 0"),
            ({"smoothing": "laplace"}, "smoothing must be a number"),
            ({"smoothing": {"size": 1}}, "smoothing must name columns that are counted; got 'size'"),
            ({"smoothing": {"nme": 1}}, "smoothing must name columns that are counted; got 'nme'"),
            ({"variance": "biased"}, "variance must be one of"),
            ({"variance_floor": -0.1}, "variance_floor must be at least 0"),
            ({"categorical": "some"}, "categorical must be None, 'all', a list of columns or a mapping"),
            ({"categorical": 3}, "categorical must be None"),
            ({"n_jobs": "x"}, "n_jobs must be an integer"),
            ({"categorical": ["colou"]}, "Did you mean 'colour'"),
            ({"categorical": [True, False]}, "each of 5 columns; got 2"),
            ({"class_prior": "flat"}, "class_prior must be one of 'uniform'"),
            ({"class_prior": [0.5, 0.5]}, "each of 3 classes"),
            ({"class_prior": [0.5, 0.5, 0.5]}, "sum to one"),
            ({"class_prior": {"x": 0.5, "y": 0.5}}, "'z' has none"),
        ],
    )
    def test_bad_parameters(self, parameters, message):
        frame, y = mixed_frame()
        with pytest.raises(tb.DataError, match=message):
            tb.NaiveBayesClassifier(**parameters).fit(frame, y)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"numeric": "gaussian"},
            {"numeric": "kernel"},
            {"numeric": "discretise"},
            {"numeric": {"size": "kernel"}},
            {"smoothing": 0.1},
            {"smoothing": {"name": 9.0}},
            {"smoothing": tb.MEstimate(m=5)},
            {"class_prior": "uniform"},
            {"class_prior": [0.1, 0.1, 0.8]},
            {"numeric": "gaussian", "variance": "mle"},
            {"numeric": "gaussian", "variance_floor": 0.5},
            {"categorical": ["count"]},
            {"categorical": {"count": True}},
        ],
    )
    def test_each_parameter_changes_the_result(self, parameters):
        frame, y = mixed_frame(200)
        same = {key: parameters[key] for key in ("numeric",) if len(parameters) > 1}
        plain = tb.NaiveBayesClassifier(**same).fit(frame, y).predict_proba(frame)
        changed = tb.NaiveBayesClassifier(**parameters).fit(frame, y).predict_proba(frame)
        assert not np.allclose(plain, changed, rtol=1e-6, atol=0)
        np.testing.assert_allclose(changed.sum(axis=1), 1.0, rtol=1e-12)

    def test_per_feature_prior(self):
        table = tb.datasets.play_tennis()
        rule = tb.MEstimate(m=3, p={"Strong": 0.9, "Weak": 0.1})
        clf = tb.NaiveBayesClassifier(smoothing={"wind": rule}).fit(table, "play")
        terms = clf.explain({k: v[0] for k, v in SUNNY.items()}, label="no", against="yes")
        weight = {e.feature: e.weight for e in terms.evidence}["wind"]
        np.testing.assert_allclose(weight, np.log((3 + 2.7) / (5 + 3)) - np.log((3 + 2.7) / (9 + 3)), rtol=1e-12)

    def test_n_jobs_does_not_matter(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(30_000, 4))
        y = rng.integers(0, 3, 30_000)
        w = rng.random(30_000)
        one, many = (tb.NaiveBayesClassifier(n_jobs=j).fit(X, y, sample_weight=w).predict_proba(X) for j in (1, 3))
        assert (one == many).all()

    def test_weights_are_replication(self):
        frame, y = mixed_frame()
        w = np.random.default_rng(6).integers(0, 4, len(y))
        rows = np.repeat(np.arange(len(y)), w)
        for numeric in ("gaussian", "kernel", "discretise"):
            weighted = tb.NaiveBayesClassifier(numeric=numeric).fit(frame, y, sample_weight=w)
            repeated = tb.NaiveBayesClassifier(numeric=numeric).fit(frame.iloc[rows], y[rows])
            np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), rtol=1e-9)

    def test_row_and_column_order_do_not_matter(self):
        frame, y = mixed_frame()
        rows = np.random.default_rng(7).permutation(len(y))
        plain = tb.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
        turned = frame[frame.columns[::-1]]
        shuffled = tb.NaiveBayesClassifier().fit(turned.iloc[rows], y[rows]).predict_proba(turned)
        np.testing.assert_allclose(shuffled, plain, rtol=1e-9)


class TestPartialFit:
    @pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
    def test_batches_are_as_good_as_one(self, numeric):
        frame, y = mixed_frame(90)
        whole = tb.NaiveBayesClassifier(numeric=numeric).fit(frame, y)
        parts = tb.NaiveBayesClassifier(numeric=numeric)
        for rows in (slice(0, 30), slice(30, 40), slice(40, 90)):
            parts.partial_fit(frame.iloc[rows], y[rows])
        np.testing.assert_allclose(parts.predict_proba(frame), whole.predict_proba(frame), rtol=1e-9)

    def test_new_states_and_new_classes(self):
        clf = tb.NaiveBayesClassifier()
        clf.partial_fit({"a": ["p", "q"]}, ["m", "z"])
        clf.partial_fit({"a": ["r", "r", "p"]}, ["b", "b", "m"])
        together = tb.NaiveBayesClassifier().fit({"a": ["p", "q", "r", "r", "p"]}, ["m", "z", "b", "b", "m"])
        assert clf.classes_.tolist() == ["b", "m", "z"]
        rows = {"a": ["p", "q", "r"]}
        np.testing.assert_allclose(clf.predict_proba(rows), together.predict_proba(rows), rtol=1e-12)

    def test_classes_announced_in_advance(self):
        clf = tb.NaiveBayesClassifier(numeric="gaussian").partial_fit([[1.0], [2.0]], [0, 0], classes=[0, 1])
        assert clf.classes_.tolist() == [0, 1]
        assert clf.predict([[1.0]]).tolist() == [0]
        clf.partial_fit([[8.0], [9.0]], [1, 1])
        assert clf.predict([[1.0], [9.0]]).tolist() == [0, 1]

    def test_cut_points_are_those_of_the_first_batch(self):
        rng = np.random.default_rng(8)
        y = rng.integers(0, 2, 200)
        X = rng.normal(size=(200, 1)) + 3 * y[:, None]
        clf = tb.NaiveBayesClassifier(numeric="discretise").partial_fit(X[:100], y[:100])
        before = clf.statistics_.encoding.cuts
        clf.partial_fit(X[100:], y[100:])
        assert clf.statistics_.encoding.cuts[0].cuts == before[0].cuts
        assert clf.class_count_.sum() == 200

    def test_fit_forgets(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1])
        np.testing.assert_array_equal(
            clf.fit(frame, y).predict_proba(frame), tb.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
        )


class TestExplain:
    @pytest.mark.parametrize("numeric", ["gaussian", "kernel", "discretise"])
    def test_weights_add_up_to_the_log_odds(self, numeric):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier(numeric=numeric).fit(frame, y)
        for row, (found, p) in enumerate(zip(clf.explain(frame), clf.predict_proba(frame), strict=True)):
            by_class = dict(zip(clf.classes_, p, strict=True))
            np.testing.assert_allclose(
                found.log_odds, np.log(by_class[found.label] / by_class[found.against]), atol=1e-9
            )
            assert found.label == clf.predict(frame.iloc[[row]])[0]
            weights = [abs(e.weight) for e in found.evidence]
            assert weights == sorted(weights, reverse=True)

    def test_missing_value_has_no_weight(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        found = clf.explain({k: v[0] for k, v in SUNNY.items()} | {"wind": None})
        assert [e for e in found.evidence if e.feature == "wind"] == [("wind", None, 0.0)]
        assert "missing" in str(found)

    def test_label_and_against(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit(frame, y)
        found = clf.explain(frame.iloc[:1], label="z", against="x")[0]
        assert (found.label, found.against) == ("z", "x")
        with pytest.raises(tb.DataError, match="two different classes"):
            clf.explain(frame.iloc[:1], label="z", against="z")
        with pytest.raises(tb.DataError, match="must be in one of its states; got 'w'"):
            clf.explain(frame.iloc[:1], label="w")

    def test_one_class_cannot_be_compared(self):
        clf = tb.NaiveBayesClassifier().fit([[1.0]], ["a"])
        with pytest.raises(tb.DataError, match="must compare two classes"):
            clf.explain([[1.0]])


class TestDecide:
    def test_zero_one_loss_is_the_most_probable_class(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit(frame, y)
        assert (clf.decide(frame, 1 - np.eye(3)) == clf.predict(frame)).all()
        assert (clf.decide(frame, {}) == clf.predict(frame)).all()

    def test_reject_and_risk(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit(frame, y)
        chosen, risk = clf.decide(frame, {}, reject=0.3, return_risk=True)
        best = clf.predict_proba(frame).max(axis=1)
        assert [c is None for c in chosen] == (1 - best > 0.3).tolist()
        np.testing.assert_allclose(risk, np.minimum(1 - best, 0.3), rtol=1e-9, atol=1e-12)

    def test_expensive_mistake_is_avoided(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        assert clf.predict(SUNNY).tolist() == ["no"]
        assert clf.decide(SUNNY, {"yes": {"no": 10}}).tolist() == ["yes"]


class TestFiles:
    @pytest.mark.parametrize("numeric", ["gaussian", "kernel", "discretise", {"size": "kernel", "count": "discretise"}])
    def test_round_trip(self, tmp_path, numeric):
        frame, y = mixed_frame(200)
        rule = {"name": tb.MEstimate(m=2, p={"a": 0.25, "b": 0.75}), "colour": tb.Laplace(0.5)}
        clf = tb.NaiveBayesClassifier(numeric=numeric, smoothing=rule, class_prior={"x": 0.2, "y": 0.3, "z": 0.5})
        clf.fit(frame, y).save(tmp_path / "model.tb")
        same = tb.load(tmp_path / "model.tb")
        assert same.get_params() == clf.get_params()
        np.testing.assert_array_equal(same.predict_proba(frame), clf.predict_proba(frame))
        assert same.classes_.tolist() == clf.classes_.tolist()
        assert same.feature_names_in_.tolist() == clf.feature_names_in_.tolist()
        more = [c.partial_fit(frame.iloc[:50], y[:50]).predict_proba(frame) for c in (same, clf)]
        np.testing.assert_array_equal(*more)

    @pytest.mark.parametrize("labels", [[0, 1], [True, False], ["a", "b"], [1.0, 2.0]])
    def test_labels_keep_their_type(self, tmp_path, labels):
        clf = tb.NaiveBayesClassifier().fit([[1.0], [2.0], [3.0], [4.0]], labels * 2)
        clf.save(tmp_path / "m.tb")
        same = tb.load(tmp_path / "m.tb")
        assert same.classes_.dtype == clf.classes_.dtype
        assert type(same.predict([[1.0]]).tolist()[0]) is type(labels[0])

    def test_unfitted(self, tmp_path):
        with pytest.raises(ValueError, match="not fitted"):
            tb.NaiveBayesClassifier().save(tmp_path / "m.tb")


def test_in_pipeline_search_and_cross_validation():
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(tb.NaiveBayesClassifier(), X, y, cv=5).mean() > 0.94
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), tb.NaiveBayesClassifier())
    search = GridSearchCV(pipe, {"naivebayesclassifier__numeric": ["gaussian", "kernel", "discretise"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.93


class TestOddInput:
    """What once went wrong, or could."""

    def test_hashes_as_categories(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([rng.integers(-(2**63), 2**63 - 1, 12_000), rng.integers(0, 10, 12_000)])
        y = X[:, 1] > 4
        assert tb.NaiveBayesClassifier(categorical="all").fit(X, y).score(X, y) > 0.99

    def test_one_wide_column_does_not_widen_the_others(self):
        X = np.random.default_rng(1).integers(0, 2, (20, 3000))
        X[0, 0] = 2**40
        clf = tb.NaiveBayesClassifier(categorical="all").fit(X, [0, 1] * 10)
        assert clf.variables_[0].states[-1] == 2**40
        assert clf.predict(X).tolist() == [0, 1] * 10

    def test_partial_fit_with_many_states_and_a_class_without_counts(self):
        names = [f"n{i}" for i in range(40_000)]
        first = {"name": [None, *names[:20_000]]}, ["a", *["b"] * 20_000]
        second = {"name": names[20_000:]}, ["c"] * 20_000
        parts = tb.NaiveBayesClassifier().partial_fit(*first).partial_fit(*second)
        whole = tb.NaiveBayesClassifier().fit({"name": first[0]["name"] + names[20_000:]}, first[1] + second[1])
        rows = {"name": [names[0], names[-1], None]}
        np.testing.assert_allclose(parts.predict_proba(rows), whole.predict_proba(rows), rtol=1e-12)

    @pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
    def test_weights_that_are_no_numbers_of_rows(self, numeric):
        rng = np.random.default_rng(2)
        y = rng.integers(0, 2, 200)
        X = rng.normal(y[:, None], [[1.0, 5.0]])
        plain = tb.NaiveBayesClassifier(numeric=numeric).fit(X, y).score(X, y)
        for factor in (1 / 200, 0.0101, 1e-6):
            scaled = tb.NaiveBayesClassifier(numeric=numeric).fit(X, y, sample_weight=np.full(200, factor))
            assert scaled.score(X, y) == pytest.approx(plain, abs=0.03)  # variances may differ, by two at most

    def test_outlier_does_not_flatten_the_kernel_density(self):
        rng = np.random.default_rng(3)
        y = np.repeat([0, 1], 1000)
        X = rng.normal(3.0 * y)[:, None]
        clean = tb.NaiveBayesClassifier(numeric="kernel").fit(X, y).score(X, y)
        X[0] = X[-1] = 1e6
        assert tb.NaiveBayesClassifier(numeric="kernel").fit(X, y).score(X, y) > clean - 0.01

    @pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
    def test_absurd_numbers_never_give_nan(self, numeric):
        clf = tb.NaiveBayesClassifier(numeric=numeric).fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ZeroProbabilityWarning)
            assert np.isfinite(clf.predict_proba([[1e160], [-1e300]])).all()

    def test_numbers_too_large_to_square(self):
        with pytest.raises(tb.DataError, match="those of 'x1' overflow"):
            tb.NaiveBayesClassifier().fit(np.array([[1.0, 1e200], [2.0, -1e200], [0.0, 3.0]]), [0, 0, 1])

    def test_weights_that_overflow(self):
        with pytest.raises(tb.DataError, match="finite sum"):
            tb.NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1], sample_weight=[1e308, 1e308])

    @pytest.mark.parametrize("dtype", ["f2", ">f8", ">i8", "g", "f4", "u1", "i2"])
    @pytest.mark.parametrize("n", [30, 15_000])
    def test_every_numeric_type(self, dtype, n):
        rng = np.random.default_rng(4)
        y = rng.integers(0, 2, n)
        X = (rng.integers(0, 50, (n, 2)) + 40 * y[:, None]).astype(float)
        expected = tb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
        found = tb.NaiveBayesClassifier().fit(X.astype(dtype), y).predict_proba(X.astype(dtype))
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_masked_cells_are_missing(self):
        X = np.ma.masked_greater(np.array([[1.0], [2.0], [99.0], [8.0], [9.0]]), 50)
        gaps = X.filled(np.nan)
        y = [0, 0, 0, 1, 1]
        np.testing.assert_array_equal(
            tb.NaiveBayesClassifier().fit(X, y).predict_proba(X),
            tb.NaiveBayesClassifier().fit(gaps, y).predict_proba(gaps),
        )

    def test_learned_from_an_array_asked_with_a_frame(self):
        X, y = load_iris(return_X_y=True)
        clf = tb.NaiveBayesClassifier().fit(X, y)
        expected = clf.predict(X)
        for frame in (tb.as_table(X), {f"c{j}": X[:, j] for j in range(4)}):
            assert (clf.predict(frame) == expected).all()
        with pytest.warns(UserWarning, match="feature names"):
            assert (clf.predict(pd.DataFrame(X, columns=list("abcd"))) == expected).all()
        with pytest.raises(tb.DataError, match="4 columns, as at fit; got 2"):
            clf.predict({"a": [1.0], "b": [2.0]})

    def test_a_fit_that_fails_leaves_the_old_model(self):
        clf = tb.NaiveBayesClassifier().fit([[1.0], [9.0]], ["a", "b"])
        with pytest.raises(tb.DataError, match="infinity"):
            clf.fit([[1.0, 2.0], [np.inf, 0.0]], ["c", "d"])
        assert clf.predict([[8.0]]).tolist() == ["b"]
        assert clf.n_features_in_ == 1

    @pytest.mark.parametrize(
        ("first", "second"), [([0, 1, 0], ["9", "9", "9"]), ([True, False, True], [2, 2, 2]), (["a", 1, "b"], None)]
    )
    def test_labels_of_several_kinds(self, first, second):
        X = [[1.0], [2.0], [3.0]]
        clf = tb.NaiveBayesClassifier()
        with pytest.raises((tb.DataError, ValueError), match=r"of one kind|Unknown label type"):
            clf.fit(X, np.array(first, object) if second is None else first).partial_fit(X, second)

    def test_dates_are_no_classes(self):
        with pytest.raises(tb.DataError, match="got dates or times"):
            tb.NaiveBayesClassifier().fit([[1.0], [2.0]], np.array(["2020-01-01", "2021-01-01"], "M8[ns]"))

    def test_pandas_na_in_the_target(self):
        with pytest.raises(tb.DataError, match="1 of 3 have none, row 2 first"):
            tb.NaiveBayesClassifier().fit([[1.0], [2.0], [3.0]], pd.Series(["a", pd.NA, "b"], dtype="string"))

    def test_stream_of_arrow_batches(self):
        frame, y = mixed_frame()
        table = pa.Table.from_pandas(frame.assign(label=y), preserve_index=False)
        clf = tb.NaiveBayesClassifier().fit(table.to_reader(max_chunksize=7), "label")
        expected = tb.NaiveBayesClassifier().fit(frame, y).predict_proba(frame)
        np.testing.assert_allclose(clf.predict_proba(frame), expected, rtol=1e-9)

    def test_repeated_column_names(self):
        frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
        with pytest.raises(tb.DataError, match="got 'a' more than once"):
            tb.NaiveBayesClassifier().fit(frame, [0, 1])

    def test_loss_with_labels_is_read_by_its_labels(self):
        clf = tb.NaiveBayesClassifier(class_prior={"x": 0.6, "y": 0.4}).fit({"a": ["p", "p"]}, ["x", "y"])
        loss = pd.DataFrame([[0, 9], [1, 0]], index=["y", "x"], columns=["y", "x"])
        assert clf.decide({"a": "p"}, loss).tolist() == clf.decide({"a": "p"}, {"y": {"x": 9}}).tolist() == ["y"]

    def test_explanation_of_a_row_that_both_classes_exclude(self):
        table = tb.as_table({"a": list("pq"), "b": list("rs"), "c": list("tu"), "y": list("xy")})
        clf = tb.NaiveBayesClassifier(smoothing=0, class_prior={"x": 0.4, "y": 0.6}).fit(table, "y")
        with pytest.warns(ZeroProbabilityWarning):
            found = clf.explain({"a": "q", "b": "r", "c": "t"})
        assert found.log_odds == pytest.approx(np.log(0.6 / 0.4), rel=1e-12)
        assert (found.label, round(found.probabilities["y"], 12)) == ("y", 0.6)

    def test_score_takes_the_name_of_the_target(self):
        table = tb.datasets.play_tennis()
        clf = tb.NaiveBayesClassifier().fit(table, "play")
        assert clf.score(table, "play") == clf.score(table) == np.mean(clf.predict(table) == table.to_pandas()["play"])

    def test_warning_names_the_line_of_the_user(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        for method in (clf.predict, clf.predict_proba, lambda X: clf.decide(X, {}), clf.explain):
            with pytest.warns(UnseenStateWarning) as caught:
                method(SUNNY | {"wind": ["Storm"]})
            assert caught[0].filename == __file__

    def test_records_relations_and_rows_of_frames(self):
        frame, y = mixed_frame()
        frame = frame.astype({"colour": str}).drop(columns=["name", "size"])  # records have no NaN for missing text
        clf = tb.NaiveBayesClassifier().fit(frame.assign(label=y), "label")
        expected = clf.predict_proba(frame)
        records = frame.assign(label=y).to_dict("records")
        np.testing.assert_allclose(tb.NaiveBayesClassifier().fit(records, "label").predict_proba(records), expected)
        whole = frame.assign(label=y)
        relation = duckdb.sql("select * from whole")
        np.testing.assert_allclose(tb.NaiveBayesClassifier().fit(relation, "label").predict_proba(relation), expected)
        np.testing.assert_allclose(clf.predict_proba(frame.iloc[3])[0], expected[3])
        assert clf.explain(whole.iloc[3]).label == clf.predict(frame)[3]
        with pytest.raises(ValueError, match="collect"):
            clf.predict(pl.from_pandas(frame).lazy())

    def test_one_row_may_leave_features_out(self):
        clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        some = {"outlook": "Sunny"}
        rest = dict.fromkeys(["temperature", "humidity", "wind"])
        np.testing.assert_array_equal(clf.predict_proba(some), clf.predict_proba(some | rest))
        with pytest.raises(tb.DataError, match=r"a row must name features; got 'outlok'\. Did you mean 'outlook'"):
            clf.predict({"outlok": "Sunny"})

    def test_surplus_columns_are_left_out(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit(frame, y)
        more = frame.assign(extra=1)[["extra", *frame.columns[::-1]]]
        for data in (more, pl.from_pandas(more)):
            np.testing.assert_array_equal(clf.predict_proba(data), clf.predict_proba(frame))

    def test_name_of_a_series_is_the_targets(self):
        frame, y = mixed_frame()
        clf = tb.NaiveBayesClassifier().fit(frame, pd.Series(y, name="label"))
        assert clf.target_name_ == "label"
        np.testing.assert_array_equal(clf.predict_proba(frame.assign(label=y)), clf.predict_proba(frame))
        assert tb.NaiveBayesClassifier().fit(frame, pd.Series(y, name="size")).target_name_ is None

    def test_save_does_not_replace_other_files(self, tmp_path):
        clf = tb.NaiveBayesClassifier().fit([[1.0], [2.0]], [0, 1])
        (tmp_path / "data.csv").write_text("a,b\n1,2\n")
        with pytest.raises(tb.DataError, match="must not overwrite a file that is not a model"):
            clf.save(tmp_path / "data.csv")
        assert (tmp_path / "data.csv").read_text() == "a,b\n1,2\n"
        clf.save(tmp_path / "m.tb")
        clf.save(tmp_path / "m.tb")
        with (tmp_path / "m.tb").open("ab") as file:
            file.write(b"junk")
        with pytest.raises(tb.FormatError, match="continues after its end"):
            tb.load(tmp_path / "m.tb")

    def test_text_arrays(self):
        X = np.array([["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]])
        clf = tb.NaiveBayesClassifier().fit(X, [0, 1, 0, 1])
        assert clf.predict(X).tolist() == [0, 1, 0, 1]
        assert clf.predict(X.astype(object)).tolist() == [0, 1, 0, 1]


class TestDamagedFiles:
    @pytest.mark.parametrize(
        ("damage", "numeric"),
        [
            (lambda c: c["statistics"]["roles"].__setitem__(0, "banana"), "gaussian"),
            (lambda c: c["statistics"]["counts"][0].__setitem__("table", np.ones((3, 1))), "gaussian"),
            (
                lambda c: c["statistics"]["counts"][0].__setitem__("child", Variable("colour", ["a", "b", "c"])),
                "gaussian",
            ),
            (lambda c: c["statistics"].__setitem__("class_weight", np.array([1.0, np.nan, 2.0])), "gaussian"),
            (lambda c: c["statistics"]["moments"].__setitem__("m2", -c["statistics"]["moments"]["m2"]), "gaussian"),
            (lambda c: c["statistics"]["points"][0][1].pop(), "kernel"),
            (lambda c: c["statistics"]["cuts"][0].__setitem__("cuts", []), "discretise"),
            (lambda c: c.pop("parameters"), "gaussian"),
            (lambda c: c["parameters"].__setitem__("variance", "odd"), "gaussian"),
        ],
    )
    def test_parts_that_do_not_belong_together(self, tmp_path, damage, numeric):
        frame, y = mixed_frame(200)
        path = tmp_path / "m.tb"
        tb.NaiveBayesClassifier(numeric=numeric).fit(frame, y).save(path)
        kind, content = read_model(path)
        damage(content)
        write_model(path, kind, content)
        with pytest.raises(tb.FormatError, match="content does not fit"):
            tb.load(path)

    def test_states_that_are_times(self, tmp_path):
        day = [datetime.time(8, 30), datetime.time(9, 0), datetime.time(8, 30)]
        clf = tb.NaiveBayesClassifier(categorical=("at",)).fit({"at": day}, ["a", "b", "a"])
        clf.save(tmp_path / "m.tb")
        assert tb.load(tmp_path / "m.tb").variables_ == clf.variables_


def test_counts_of_many_features_are_saved_in_one_array(monkeypatch, tmp_path):
    monkeypatch.setattr("tunbridge.classifiers.dependence._families._JOINED", 2)
    table = tb.datasets.play_tennis()
    model = tb.NaiveBayesClassifier().fit(table, "play")
    model.save(tmp_path / "model.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "model.tb").predict_proba(table), model.predict_proba(table))
    content = model.to_content()
    for tables in (np.ones(3), np.ones(99)):
        content["statistics"]["joined"]["tables"] = tables
        with pytest.raises(ValueError, match="its counts do not belong to its features"):
            tb.NaiveBayesClassifier.from_content(content)


def test_a_description_shows_a_few_of_many_classes():
    text = tb.NaiveBayesClassifier().fit({"x": ["a"] * 1000}, np.arange(1000)).describe()
    assert "28 1, 29 1, … (1000 in all)" in text


def test_predictions_in_parts_are_those_of_all_rows(monkeypatch):
    table = tb.datasets.play_tennis()
    for model in (tb.NaiveBayesClassifier(), tb.BayesOptimalClassifier(gibbs=True, random_state=0)):
        expected = model.fit(table, "play").predict(table)
        with monkeypatch.context() as small:
            small.setattr("tunbridge.classifiers.base._CELLS_AT_ONCE", 6)
            np.testing.assert_array_equal(model.predict(table), expected)
