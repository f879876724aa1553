from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import tunbridge as tb
from tunbridge.errors import DataError, MemoryForecastError, UnseenStateWarning
from tunbridge.evaluation.labelled import Coded, weight_arguments


def mixed(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    colour = np.array(["red", "green", "blue"])[(y + rng.integers(0, 2, n)) % 3].astype(object)
    colour[::11] = None
    size = rng.normal(y, 1.0)
    size[::7] = np.nan
    return pd.DataFrame({"colour": colour, "size": size, "flag": rng.integers(0, 2, n)}), np.array(["a", "b", "c"])[y]


def one_hot(X):
    states = {"colour": ["blue", "green", "red"], "flag": [0, 1]}
    parts = [
        np.column_stack([(X[name] == s) for s in states[name]]) if name in states else X[[name]].to_numpy()
        for name in X.columns
    ]
    return np.column_stack(parts).astype(float)


def test_the_matrix_is_one_hot_with_missing_left_out():
    X, y = mixed()
    estimator = RandomForestClassifier(20, random_state=0)
    expected = clone(estimator).fit(one_hot(X), y)
    found = Coded(estimator).fit(X, y)
    assert found.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(one_hot(X)), rtol=1e-12, atol=1e-15)


def test_ordinal_codes_tell_gradient_boosting_the_categories():
    X, y = mixed()
    codes = np.column_stack(
        [X["colour"].map({"blue": 0, "green": 1, "red": 2}).astype(float), X["size"], X["flag"].astype(float)]
    )
    mask = [True, False, True]
    expected = HistGradientBoostingClassifier(max_iter=5, categorical_features=mask, random_state=0).fit(codes, y)
    found = Coded(HistGradientBoostingClassifier(max_iter=5, random_state=0), codes="ordinal").fit(X, y)
    assert found.estimator_.categorical_features == mask
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(codes), rtol=1e-12)


def test_frames_tables_and_names_of_targets_are_one():
    X, y = mixed()
    frame = X.assign(y=y)
    estimator = Coded(DecisionTreeClassifier(max_depth=3, random_state=0))
    plain = clone(estimator).fit(X, y).predict_proba(X)
    for data in (frame, tb.as_table(frame), frame.to_dict("list")):
        named = clone(estimator).fit(data, "y")
        np.testing.assert_array_equal(named.predict_proba(data), plain)
        assert named.score(X, y) == pytest.approx(np.mean(named.predict(X) == y), rel=1e-12)


def test_a_new_state_is_missing():
    X, y = mixed()
    model = Coded(DecisionTreeClassifier(random_state=0)).fit(X, y)
    row = pd.DataFrame({"colour": ["mauve"], "size": [1.0], "flag": [1]})
    with pytest.warns(UnseenStateWarning, match="'colour' holds 'mauve'"):
        found = model.predict_proba(row)
    np.testing.assert_array_equal(found, model.predict_proba(row.assign(colour=[None])))


def test_the_class_share_keeps_every_class_possible():
    X, y = mixed()
    sharp = Coded(DecisionTreeClassifier(random_state=0)).fit(X, y)
    mixed_in = Coded(DecisionTreeClassifier(random_state=0), class_share=0.1).fit(X, y)
    frequencies = np.array([np.mean(y == c) for c in "abc"])
    expected = 0.9 * sharp.predict_proba(X) + 0.1 * frequencies
    np.testing.assert_allclose(mixed_in.predict_proba(X), expected, rtol=1e-12)
    assert sharp.predict_proba(X).min() == 0.0
    assert mixed_in.predict_proba(X).min() > 0.0


def test_weights_reach_the_estimator_as_numbers_of_rows():
    X, y = mixed(60)
    weights = np.random.default_rng(1).integers(0, 3, 60)
    estimator = Coded(DecisionTreeClassifier(max_depth=2, random_state=0))
    weighted = clone(estimator).fit(X, y, weights.astype(float))
    repeated = clone(estimator).fit(X.loc[X.index.repeat(weights)], np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-12)
    assert weighted.class_count_.tolist() == repeated.class_count_.tolist()


def test_weights_go_to_the_last_step_of_a_pipeline_or_are_refused():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert list(weight_arguments(pipeline, [1.0])) == ["logisticregression__sample_weight"]
    assert weight_arguments(KNeighborsClassifier(), None) == {}
    with pytest.raises(DataError, match="must take weights if rows have them; KNeighborsClassifier takes none"):
        weight_arguments(KNeighborsClassifier(), [1.0])


def test_bad_parameters():
    X, y = mixed(20)
    with pytest.raises(DataError, match=r"codes must be one of 'one-hot', 'ordinal'; got 'onehot'. Did you mean"):
        Coded(DecisionTreeClassifier(), codes="onehot").fit(X, y)
    with pytest.raises(DataError, match="class_share must be at most 1; got 2"):
        Coded(DecisionTreeClassifier(), class_share=2).fit(X, y)


def test_a_matrix_too_large_is_forecast(monkeypatch):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    X, y = mixed()
    with pytest.raises(MemoryForecastError, match=r"the matrix for scikit-learn would need .* Use codes='ordinal'"):
        Coded(DecisionTreeClassifier()).fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks():
    results = check_estimator(Coded(DecisionTreeClassifier(random_state=0)), on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] not in ("passed", "skipped")}
    assert failed == {}
