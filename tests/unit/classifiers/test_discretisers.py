"""The scikit-learn transformer around the discretisations."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tunbridge.classifiers.discretisers import Discretiser
from tunbridge.data import as_table
from tunbridge.data.discretisation import Discretisation, equal_frequency, equal_width, mdl_cuts
from tunbridge.errors import DataError

NAN = float("nan")
CUTS = {"b": [5, 2], "a": Discretisation((0.5,))}
METHODS = ["mdl", "frequency", "width"]


# Every check passes: there are no expected failures.
@parametrize_with_checks([Discretiser(method) for method in METHODS] + [Discretiser("width", n_bins=2)])
def test_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True, as_frame=True)


class TestFit:
    def test_learns_what_the_functions_learn(self, iris):
        X, y = iris
        functions = {"mdl": lambda x: mdl_cuts(x, y), "frequency": equal_frequency, "width": equal_width}
        for method, function in functions.items():
            fitted = Discretiser(method).fit(X, y)
            assert fitted.discretisations_ == [function(X[name]) for name in X]
            assert [tuple(cuts) for cuts in fitted.cut_points_] == [d.cuts for d in fitted.discretisations_]

    def test_classes_may_be_text(self, iris):
        X, y = iris
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        assert Discretiser().fit(X, names).discretisations_ == Discretiser().fit(X, y).discretisations_

    def test_missing_values_do_not_count(self):
        X = np.array([[1.0, NAN], [2.0, NAN], [NAN, NAN], [3.0, NAN], [4.0, NAN]])
        fitted = Discretiser().fit(X, [0, 0, 1, 1, 1])
        assert [d.cuts for d in fitted.discretisations_] == [(2.5,), ()]
        np.testing.assert_array_equal(fitted.transform(X), [[0.0, NAN], [0.0, NAN], [NAN, NAN], [1.0, NAN], [1.0, NAN]])

    @pytest.mark.parametrize("method", METHODS)
    def test_weights_are_replication(self, iris, method):
        X, y = iris
        times = np.random.default_rng(0).integers(0, 4, len(y))
        rows = np.repeat(np.arange(len(y)), times)
        weighted = Discretiser(method, n_bins=4).fit(X, y, sample_weight=times)
        repeated = Discretiser(method, n_bins=4).fit(X.iloc[rows], y.iloc[rows])
        assert weighted.discretisations_ == repeated.discretisations_

    def test_each_parameter_changes_the_result(self, iris):
        X, y = iris
        variants = [
            Discretiser(),
            Discretiser("width"),
            Discretiser("frequency"),
            Discretiser("width", n_bins=3),
            Discretiser("frequency", n_bins=3),
            Discretiser([[5], [3], [4], [1]]),
            Discretiser(encode="labels"),
        ]
        results = {str(variant.fit(X, y).transform(X).tolist()) for variant in variants}
        assert len(results) == len(variants)

    def test_fitting_twice_is_fitting_once(self, iris):
        X, y = iris
        once, twice = Discretiser().fit(X, y), Discretiser().fit(X[::-1] * 2, y).fit(X, y)
        assert once.discretisations_ == twice.discretisations_

    @pytest.mark.parametrize("y", [[0.5, 1.5, 2.25], [0.0, NAN, 1.0], [0, 1], [[0, 1], [1, 0], [1, 1]]])
    def test_classes_must_be_classes(self, y):
        with pytest.raises(ValueError, match=r"Unknown label type|NaN|2 classes for 3 rows|one label for each row"):
            Discretiser().fit([[1.0], [2.0], [3.0]], y)

    @pytest.mark.parametrize("sample_weight", [[1.0, -1.0], [1.0], [1.0, NAN]])
    def test_bad_weights_are_refused(self, sample_weight):
        with pytest.raises(ValueError, match="weight"):
            Discretiser("width").fit([[1.0], [2.0]], sample_weight=sample_weight)

    def test_only_mdl_requires_the_classes(self, iris):
        X, _ = iris
        assert Discretiser().__sklearn_tags__().target_tags.required
        assert not Discretiser("width").__sklearn_tags__().target_tags.required
        Discretiser("width").fit(X)
        with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
            Discretiser().fit(X)


class TestGivenCuts:
    def test_by_name(self):
        X = pandas.DataFrame({"a": [0.0, 1.0], "b": [2.0, 7.0]})
        fitted = Discretiser(CUTS).fit(X)
        assert [cuts.tolist() for cuts in fitted.cut_points_] == [[0.5], [2.0, 5.0]]
        assert fitted.transform(X).tolist() == [[0.0, 0.0], [1.0, 2.0]]

    def test_by_position_or_by_the_names_that_arrays_get(self):
        X = np.array([[0.0, 2.0], [1.0, 7.0]])
        by_name = Discretiser({"x1": [2, 5], "x0": [0.5]}).fit(X)
        for cuts in ([[0.5], [2, 5]], ((0.5,), (2, 5))):
            assert Discretiser(cuts).fit(X).discretisations_ == by_name.discretisations_
        assert len(Discretiser(np.array([[1.0], [2.0]])).fit(X).discretisations_) == 2

    def test_can_be_cloned(self):
        copy = clone(Discretiser(CUTS, encode="labels"))
        assert copy.get_params() == {"method": CUTS, "n_bins": 10, "encode": "labels"}

    @pytest.mark.parametrize(
        ("method", "message"),
        [
            ({"a": [1], "c": [1]}, "method must name columns of X; got 'c'"),
            ({"a": [1]}, "method must give bin edges for every column; it has none for 'b'"),
            ([[1]], "method must give bin edges for each of 2 columns; got 1 lists"),
            ([1, 2], "cuts must be a list of numbers; got 1"),
            (3, "method must be one of 'width', 'frequency', 'mdl', or bin edges for each column; got 3"),
            (None, "method must be one of"),
            ("mld", "Did you mean 'mdl'"),
        ],
    )
    def test_bad_methods(self, method, message):
        with pytest.raises(DataError, match=message):
            Discretiser(method).fit(pandas.DataFrame({"a": [0.0, 1.0], "b": [2.0, 7.0]}), [0, 1])


class TestTransform:
    def test_values_beyond_those_seen_are_in_the_outer_intervals(self):
        fitted = Discretiser("width", n_bins=2).fit([[0.0], [1.0]])
        assert fitted.transform([[-9.0], [0.5], [99.0]]).tolist() == [[0.0], [0.0], [1.0]]

    def test_labels(self):
        fitted = Discretiser([[2.5, 4.1], []], encode="labels").fit([[1.0, 1.0]])
        found = fitted.transform([[1.0, NAN], [NAN, 2.0], [9.0, 3.0]])
        assert found.tolist() == [["≤ 2.5", None], [None, "all"], ["> 4.1", "all"]]

    def test_leaves_X_alone(self, iris):
        X, y = iris
        before = X.copy()
        Discretiser().fit(X, y).transform(X)
        pandas.testing.assert_frame_equal(X, before)

    def test_names_come_out_as_they_went_in(self, iris):
        X, y = iris
        assert Discretiser().fit(X, y).get_feature_names_out().tolist() == list(X)
        assert Discretiser().fit(X.to_numpy(), y).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]

    @pytest.mark.parametrize("encode", ["codes", "labels"])
    def test_set_output(self, iris, encode):
        X, y = iris
        frame = Discretiser(encode=encode).set_output(transform="pandas").fit(X, y).transform(X)
        assert list(frame) == list(X)
        assert frame.iloc[-1, 3] == {"codes": 2.0, "labels": "> 1.75"}[encode]
        polars = Discretiser(encode=encode).set_output(transform="polars").fit(X, y).transform(X)
        assert polars.columns == list(X)

    def test_encode_is_checked(self):
        with pytest.raises(DataError, match="encode must be one of 'codes', 'labels'; got 'label'"):
            Discretiser("width", encode="label").fit([[1.0]])


class TestComposition:
    def test_in_a_pipeline_with_categorical_naive_bayes(self, iris):
        X, y = iris
        scores = cross_val_score(make_pipeline(Discretiser(), CategoricalNB()), X, y, cv=5)
        assert scores.mean() > 0.9

    def test_the_method_can_be_searched(self, iris):
        X, y = iris
        pipeline = make_pipeline(Discretiser(), CategoricalNB(min_categories=20))
        search = GridSearchCV(pipeline, {"discretiser__method": METHODS, "discretiser__n_bins": [2, 8]}, cv=3)
        search.fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert len(set(search.cv_results_["mean_test_score"])) > 1

    def test_on_some_columns_only(self, iris):
        X, y = iris
        some = make_column_transformer((Discretiser("frequency", n_bins=3), ["petal width (cm)"]), remainder="drop")
        assert sorted(set(some.fit_transform(X, y).ravel())) == [0.0, 1.0, 2.0]


def test_tables_and_dicts():
    X, y = load_iris(return_X_y=True)
    names = list("abcd")
    frame = {name: X[:, j] for j, name in enumerate(names)}
    expected = Discretiser().fit(X, y).transform(X)
    for data in (frame, as_table(frame)):
        discretiser = Discretiser().fit(data, y)
        np.testing.assert_array_equal(discretiser.transform(data), expected)
        assert discretiser.get_feature_names_out().tolist() == names
    with pytest.raises(DataError, match="must have the columns 'd'"):
        discretiser.transform({name: frame[name] for name in "abc"})
