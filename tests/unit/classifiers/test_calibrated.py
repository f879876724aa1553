from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import tunbridge as tb
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers.wrappers._calibration import (
    METHODS,
    Calibration,
    HeldOut,
    best_calibration,
    learn_calibration,
    log_odds,
)
from tunbridge.decisions import expected_calibration_error
from tunbridge.errors import DataError, FormatError, MemoryForecastError, UnseenStateWarning

KINDS = ("temperature", "platt", "isotonic")


def repeated_features(n=600, copies=4, seed=0, n_classes=2):
    """Return rows whose features say the same thing several times: naive Bayes is far too sure of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    told = np.where(rng.random((n, 3)) < 0.6, y[:, None], rng.integers(0, n_classes, (n, 3)))
    frame = pd.DataFrame({f"f{j}_{c}": told[:, j] for j in range(3) for c in range(copies)}).astype(str)
    return frame, np.array(["a", "b", "c", "d"])[y]


def held_out(n=400, n_classes=3, seed=0, scale=5.0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, n_classes, n)
    joint = rng.normal(size=(n_classes, n)) * scale
    joint[classes, np.arange(n)] += 3.0
    weights, log_prior = rng.integers(1, 4, n).astype(float), np.full(n_classes, -np.log(n_classes))
    return HeldOut(joint, classes, weights, np.arange(n) % 5, log_prior)


# The maps against slow, obvious ones


def test_log_odds_against_a_plain_sum():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3, 6):
        joint = rng.normal(0, 30, (n_classes, 200))
        joint[:, :5] = 0.0
        joint[0, 5:9] = -np.inf
        joint[1, 9:12] = joint[0, 9:12]
        expected = [joint[k] - logsumexp(np.delete(joint, k, axis=0), axis=0) for k in range(n_classes)]
        np.testing.assert_allclose(log_odds(joint), expected, rtol=1e-11, atol=1e-12)


def test_platt_is_the_logistic_regression_of_scikit_learn():
    rows = held_out(n_classes=2)
    z, own, w = log_odds(rows.joint)[1], rows.classes == 1, rows.weights
    n, m = w[own].sum(), w[~own].sum()
    aim = np.where(own, (n + 1) / (n + 2), 1 / (m + 2))

    model = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    both = np.repeat([1, 0], len(z))
    model.fit(np.tile(z, 2)[:, None], both, np.concatenate([w * aim, w * (1 - aim)]))
    found = learn_calibration("platt", rows).maps[0]
    np.testing.assert_allclose(found, [model.coef_[0, 0], model.intercept_[0]], rtol=1e-8)


def test_platt_of_far_and_separate_odds():
    joint = np.array([np.zeros(60), np.where(np.arange(60) < 40, -1.0, 1.0) * np.geomspace(1e-3, 1e5, 60)])
    classes = (np.arange(60) >= 40).astype(int)
    a, b = learn_calibration("platt", HeldOut(joint, classes, np.ones(60), classes, np.log([0.5, 0.5]))).maps[0]
    t = a * log_odds(joint)[1] + b
    aim = np.where(classes == 1, 21 / 22, 1 / 42)
    slope = np.array([(expit(t) - aim).sum(), (log_odds(joint)[1] * (expit(t) - aim)).sum() / 1e5])
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)


def test_temperature_minimises_its_loss():
    rows = held_out()
    found = float(learn_calibration("temperature", rows).maps[0][0])
    total, k = rows.weights.sum(), len(rows.joint)
    aim = np.full(rows.joint.shape, 1 / (total + k))
    aim[rows.classes, np.arange(len(rows.classes))] = (total + 1) / (total + k)

    def loss(beta):
        tempered = rows.log_prior[:, None] + beta * (rows.joint - rows.log_prior[:, None])
        return float(-(aim * rows.weights * (tempered - logsumexp(tempered, axis=0))).sum())

    assert 0 < found < 1
    around = [loss(found + d) for d in (-1e-3, -1e-5, 0.0, 1e-5, 1e-3)]
    assert min(around) == around[2]


def pooled(z, y, w):
    """Return the isotonic fit of each row: blocks are joined while they fall."""
    blocks = []
    for value in np.unique(z):
        same = z == value
        blocks.append([w[same] @ y[same], w[same].sum(), int(same.sum()), [value]])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    level = {v: s / n for s, n, _, values in blocks for v in values}
    return np.array([level[v] for v in z])


def test_isotonic_is_pooling_with_two_more_rows_at_either_end():
    rows = held_out(n=150, n_classes=2)
    z, own, w = log_odds(rows.joint)[1], rows.classes == 1, rows.weights
    ends = np.repeat([z.min(), z.max()], 2)
    y = np.append(own, [0.0, 1.0, 0.0, 1.0])
    expected = pooled(np.append(z, ends), y, np.append(w, np.ones(4)))[:150]
    found = np.exp(learn_calibration("isotonic", rows).log_posterior(rows.joint, rows.log_prior)[1])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_several_classes_are_each_against_the_rest_and_sum_to_one():
    rows = held_out()
    z = log_odds(rows.joint)
    found = learn_calibration("platt", rows)
    shares = np.stack([expit(a * row + b) for (a, b), row in zip(found.maps, z, strict=True)])
    expected = np.log(shares / shares.sum(axis=0))
    np.testing.assert_allclose(found.log_posterior(rows.joint, rows.log_prior), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", KINDS)
def test_nothing_becomes_certain(method):
    # Ten rows, all told apart: without the rule the maps would say 0 and 1.
    joint = np.array([[0.0] * 5 + [-9.0] * 5, [-9.0] * 5 + [0.0] * 5])
    rows = HeldOut(joint, np.repeat([0, 1], 5), np.ones(10), np.arange(10) % 5, np.log([0.5, 0.5]))
    found = np.exp(learn_calibration(method, rows).log_posterior(joint * 1000, rows.log_prior))
    assert found[0, 0] > 0.8
    assert found[1, 0] >= 1 / 13  # one more row than there are
    np.testing.assert_allclose(found, found[::-1, ::-1], rtol=1e-7)


@pytest.mark.parametrize("method", KINDS)
def test_no_map_turns_the_order_round(method):
    rows = held_out(n_classes=2)
    wrong = rows._replace(classes=1 - rows.classes)
    calibration = learn_calibration(method, wrong)
    line = np.stack([np.zeros(50), np.linspace(-20, 20, 50)])
    found = calibration.log_posterior(line, rows.log_prior)[1]
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("method", KINDS)
def test_infinite_odds_count_as_the_farthest(method):
    joint = np.array([[0.0, -1.0, -np.inf, -4.0, 0.0, -2.0], [-3.0, 0.0, 0.0, 0.0, -np.inf, 0.0]])
    rows = HeldOut(joint, np.array([0, 1, 0, 1, 0, 1]), np.ones(6), np.arange(6) % 3, np.log([0.5, 0.5]))
    calibration = learn_calibration(method, rows)
    assert calibration.reach == 4.0
    found = calibration.log_posterior(joint, rows.log_prior)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 2], found[:, 3], rtol=1e-12)
    assert best_calibration(rows)[1]["none"] == np.inf


@pytest.mark.parametrize("method", KINDS)
def test_a_class_that_was_not_held_out_is_left_as_it_is(method):
    rows = held_out(n_classes=3)
    only = rows.take(rows.classes == 0)
    assert np.isfinite(learn_calibration(method, only).log_posterior(rows.joint, rows.log_prior)).all()
    none = learn_calibration(method, rows.take(rows.classes > 5))
    assert none.method == "none"


def test_auto_takes_the_method_of_least_loss():
    method, losses = best_calibration(held_out())
    assert tuple(losses) == METHODS
    assert losses[method] == min(losses.values())
    assert method != "none"


# The classifier


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", [*KINDS, "auto"])
def test_calibrated_is_better_calibrated(method, n_classes):
    X, y = repeated_features(n=1500, n_classes=n_classes)
    new, true = repeated_features(n=1500, n_classes=n_classes, seed=1)
    raw = tb.NaiveBayesClassifier().fit(X, y)
    clf = tb.CalibratedClassifier(raw, method=method).fit(X, y)
    errors, losses = [], []
    for model in (raw, clf):
        p = model.predict_proba(new)
        errors.append(expected_calibration_error(true, p, model.classes_.tolist()))
        losses.append(-model.predict_log_proba(new)[np.arange(1500), np.searchsorted(model.classes_, true)].mean())
    assert errors[1] < errors[0] / 2
    assert losses[1] < losses[0] - 0.1


def test_none_is_the_estimator():
    X, y = repeated_features()
    clf = tb.CalibratedClassifier(method="none").fit(X, y)
    raw = tb.NaiveBayesClassifier().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), raw.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), raw.predict_joint_log_proba(X), rtol=1e-12)


def test_the_joint_keeps_the_probability_of_the_rows():
    X, y = repeated_features()
    clf = tb.CalibratedClassifier(method="platt").fit(X, y)
    expected = logsumexp(clf.estimator_.predict_joint_log_proba(X), axis=1)
    np.testing.assert_allclose(logsumexp(clf.predict_joint_log_proba(X), axis=1), expected, rtol=1e-12)


@pytest.mark.parametrize("method", KINDS)
def test_out_of_fold_posteriors_make_the_map(method):
    # With rows that differ and no weights the map is that of copies fitted on the other folds.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.normal(y[:, None], 2.0, (120, 3))
    clf = tb.CalibratedClassifier(method=method, folds=4).fit(X, y)
    batch = clf._rows(X)
    folds = Examples(batch, y, clf.statistics_.target).folds(4, seed=0)
    joints, classes = [], []
    for share in folds:
        out = share > 0
        assert 29 <= out.sum() <= 31
        joints.append(tb.NaiveBayesClassifier().fit(X[~out], y[~out]).predict_joint_log_proba(X[out]).T)
        classes.append(y[out])
    joint = np.concatenate(joints, axis=1)
    rows = HeldOut(joint, np.concatenate(classes), np.ones(120), np.zeros(120), clf.class_log_prior_)
    expected = learn_calibration(method, rows)
    for a, b in zip(clf.statistics_.calibration.maps, expected.maps, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("estimator", [None, tb.TANClassifier(), tb.KDBClassifier(k=1)])
@pytest.mark.parametrize("method", KINDS)
def test_explanations_add_up_to_the_calibrated_odds(estimator, method):
    X, y = repeated_features(copies=1)
    clf = tb.CalibratedClassifier(estimator, method=method).fit(X, y)
    p = clf.predict_log_proba(X[:20])
    for row, told in enumerate(clf.explain(X[:20])):
        c, d = (clf.classes_.tolist().index(k) for k in (told.label, told.against))
        assert told.log_odds == pytest.approx(p[row, c] - p[row, d], rel=1e-9, abs=1e-9)
        assert (told.evidence[-1].feature, told.evidence[-1].value) == ("calibration", method)
        plain = clf.estimator_.explain(X[row : row + 1], label=told.label, against=told.against)[0]
        assert set(plain.evidence) == set(told.evidence[:-1])


def test_infinite_evidence_adds_up_as_well():
    X = pd.DataFrame({"a": list("ppppqqqq"), "b": list("uvuvuvuv")})
    y = np.array(list("xxxxyyyy"))
    clf = tb.CalibratedClassifier(tb.NaiveBayesClassifier(smoothing=0), method="isotonic", folds=2).fit(X, y)
    told = clf.explain({"a": "p", "b": "u"})
    p = clf.predict_log_proba({"a": "p", "b": "u"})[0]
    assert np.isfinite(p).all()
    assert told.log_odds == pytest.approx(p[0] - p[1], abs=1e-9)


def test_other_questions_go_to_the_estimator():
    X, y = repeated_features(copies=1)
    clf = tb.CalibratedClassifier(tb.TANClassifier(), method="platt").fit(X, y)
    assert dict(clf.importance()) == pytest.approx(dict(clf.estimator_.importance()))
    case = dict(X.iloc[0])
    assert str(clf.what_if(case)).startswith(f"{clf.predict(case)[0]}:")


@pytest.mark.parametrize("method", [*KINDS, "auto", "none"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_is_loaded(method, n_classes, tmp_path):
    X, y = repeated_features(n_classes=n_classes)
    X.loc[3, "f0_0"] = None
    estimator = tb.NaiveBayesClassifier(smoothing=tb.MEstimate(2, "uniform"), class_prior="uniform")
    clf = tb.CalibratedClassifier(estimator, method=method, folds=3).fit(X, y)
    clf.save(tmp_path / "model.tb")
    same = tb.load(tmp_path / "model.tb")
    np.testing.assert_array_equal(same.predict_proba(X), clf.predict_proba(X))
    assert str(same.get_params()) == str(clf.get_params())
    assert same.method_ == clf.method_
    assert same.losses_ == clf.losses_
    np.testing.assert_array_equal(same.estimator_.predict_proba(X), clf.estimator_.predict_proba(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same.estimator_.predict(X)


def test_damaged_content_is_refused(tmp_path):
    from tunbridge.formats.native import read_model, write_model

    X, y = repeated_features()
    clf = tb.CalibratedClassifier(method="isotonic").fit(X, y)
    clf.save(tmp_path / "model.tb")
    for change in ({"maps": []}, {"method": "magic"}, {"reach": -1.0}, {"maps": [np.array([[0.0, 1.0], [0.5, 1.0]])]}):
        kind, content = read_model(tmp_path / "model.tb")
        content["statistics"] |= change
        write_model(tmp_path / "bad.tb", kind, content)
        with pytest.raises(FormatError, match="content does not fit"):
            tb.load(tmp_path / "bad.tb")


def test_maps_that_fit():
    assert Calibration("none").fits(3)
    assert Calibration("isotonic", 1.0, (np.empty((2, 0)),) * 3).fits(3)
    assert not Calibration("isotonic", 1.0, (np.zeros(3),) * 3).fits(3)
    assert not Calibration("platt", 1.0, (np.zeros(2),)).fits(3)
    assert not Calibration("temperature", 1.0, (np.array([np.nan]),)).fits(2)


def test_weights_are_rows():
    X, y = repeated_features(n=60)
    w = np.random.default_rng(0).integers(0, 4, 60)
    for method in KINDS:
        weighted = tb.CalibratedClassifier(method=method).fit(X, y, sample_weight=w)
        again = tb.CalibratedClassifier(method=method).fit(X.loc[X.index.repeat(w)], y.repeat(w))
        np.testing.assert_allclose(weighted.predict_proba(X), again.predict_proba(X), rtol=1e-7)  # of the optimiser


def test_a_table_of_counts_is_calibrated_as_its_rows():
    clf = tb.CalibratedClassifier(method="isotonic").fit(tb.datasets.allergy(), "allergy")
    people = {"test": ["positive", "negative"]}
    raw = tb.NaiveBayesClassifier().fit(tb.datasets.allergy(), "allergy")
    np.testing.assert_allclose(clf.predict_proba(people), raw.predict_proba(people), atol=0.005, rtol=0)


def test_order_of_rows_and_columns_and_threads_do_not_matter():
    X, y = repeated_features(n=200)
    clf = tb.CalibratedClassifier(n_jobs=1).fit(X, y)
    order = np.random.default_rng(0).permutation(200)
    for other in (
        tb.CalibratedClassifier(n_jobs=3).fit(X, y),
        tb.CalibratedClassifier().fit(X.iloc[order], y[order]),
        tb.CalibratedClassifier().fit(X[X.columns[::-1]], y),
    ):
        np.testing.assert_allclose(other.predict_proba(X[other.feature_names_in_]), clf.predict_proba(X), rtol=1e-7)


def test_random_state():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = rng.normal(y[:, None], 2.0, (80, 3))
    found = [tb.CalibratedClassifier(method="platt", random_state=s).fit(X, y).predict_proba(X) for s in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()
    drawn = tb.CalibratedClassifier(method="platt", random_state=np.random.default_rng(3)).fit(X, y).predict_proba(X)
    assert (drawn != found[0]).any()


def test_each_parameter_counts():
    X, y = repeated_features(n=120)
    base = tb.CalibratedClassifier(method="platt").fit(X, y).predict_proba(X)
    for change in ({"method": "isotonic"}, {"folds": 3}, {"estimator": tb.TANClassifier()}):
        other = tb.CalibratedClassifier(**{"method": "platt", **change}).fit(X, y).predict_proba(X)
        assert (other != base).any(), change


@pytest.mark.parametrize("method", [*KINDS, "auto"])
def test_small_and_odd_data(method):
    def fitted(X, y):
        return tb.CalibratedClassifier(method=method).fit(X, y)

    one_row = fitted({"a": ["p"]}, ["x"])
    assert one_row.predict_proba({"a": ["p"]}).tolist() == [[1.0]]
    assert one_row.method_ == "none" or method != "auto"
    two = fitted({"a": ["p", "q"]}, ["x", "y"])  # the only row of a class is never held out
    assert two.method_ == "none"
    np.testing.assert_allclose(two.predict_proba({"a": ["p"]}).sum(), 1.0, rtol=1e-12)
    lonely = fitted({"a": list("pqpqpqp")}, list("xyxyxyz"))
    assert np.isfinite(lonely.predict_log_proba({"a": list("pq")})).all()
    empty = fitted({"a": [None] * 8, "b": list("pqpqppqq")}, list("xyxyxyxy"))
    assert np.isfinite(empty.predict_log_proba({"a": [None], "b": [None]})).all()


def test_unseen_states_and_unknown_cells():
    X, y = repeated_features(n=100)
    clf = tb.CalibratedClassifier(method="isotonic").fit(X, y)
    row = dict(X.iloc[0]) | {"f0_0": "never"}
    with pytest.warns(UnseenStateWarning, match="never"):
        told = clf.predict_proba(row)
    np.testing.assert_array_equal(told, clf.predict_proba(row | {"f0_0": None}))


def test_states_that_only_a_held_out_row_has_say_nothing():
    # Every row has a name of its own: learned on the others it is unknown, and must not speak for any class.
    rng = np.random.default_rng(0)
    y = np.repeat(["x", "y"], [30, 90])
    X = pd.DataFrame({"name": [f"n{i}" for i in range(120)], "f": rng.choice(list("pq"), 120)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = tb.CalibratedClassifier(method="platt").fit(X, y)
    assert clf.statistics_.calibration.reach < 3.0


def test_decisions_use_the_calibrated_probabilities():
    X, y = repeated_features()
    clf = tb.CalibratedClassifier(method="platt").fit(X, y)
    found = clf.decisions(X, {"a": 5})
    expected = clf.predict_proba(X) @ np.array([[0.0, 5.0], [1.0, 0.0]])
    np.testing.assert_allclose(found.risks, expected.min(axis=1), rtol=1e-12)
    raw = tb.NaiveBayesClassifier().fit(X, y).decisions(X, {"a": 5})
    spread = found.costs(y).std() / np.sqrt(len(y))
    assert abs(found.mean_risk - found.costs(y).mean()) < 4 * spread < abs(raw.mean_risk - raw.costs(y).mean())


def test_german_credit(shared_data):
    table = tb.read_table(shared_data / "uci" / "german.csv")
    raw = tb.NaiveBayesClassifier(numeric="gaussian")
    rows = np.random.default_rng(0).permutation(table.n_rows)
    train, test = table.take(rows[:700]), table.take(rows[700:])
    found = {}
    for name, model in (("raw", raw), ("isotonic", tb.CalibratedClassifier(raw, method="isotonic"))):
        decided = model.fit(train, "class").decisions(test, {"bad": 5})
        true = [test.variable("class").states[c] for c in test.codes("class")]
        found[name] = abs(decided.mean_risk - decided.costs(true).mean())
    assert found["isotonic"] < found["raw"] / 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "isotonc"}, "method must be one of .*; got 'isotonc'. Did you mean 'isotonic'"),
        ({"folds": 1}, "folds must be at least 2; got 1"),
        ({"folds": 2.5}, "folds must be an integer"),
        ({"random_state": "x"}, "random_state must be a non-negative integer"),
        ({"estimator": RandomForestClassifier()}, "must be a classifier of Tunbridge.*CalibratedClassifierCV"),
        ({"estimator": tb.TANClassifier}, r"must be a classifier of Tunbridge.*Make one: TANClassifier\(\)"),
        ({"estimator": tb.NaiveBayesClassifier(variance="odd")}, "variance must be one of"),
    ],
)
def test_messages(parameters, message):
    X, y = repeated_features(n=20)
    with pytest.raises(DataError, match=message):
        tb.CalibratedClassifier(**parameters).fit(X, y)


def test_it_does_not_learn_on():
    X, y = repeated_features(n=40)
    clf = tb.CalibratedClassifier().fit(X, y)
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(DataError, match="from all rows at once"):
        clf.statistics_.merge(clf.statistics_)


def test_memory_is_forecast(monkeypatch):
    X, y = repeated_features(n=400)
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "10000")
    with pytest.raises(MemoryForecastError, match="posteriors of 400 held-out rows"):
        tb.CalibratedClassifier().fit(X, y)


def test_the_estimator_given_is_left_alone():
    X, y = repeated_features(n=40)
    given = tb.NaiveBayesClassifier()
    clf = tb.CalibratedClassifier(given).fit(X, y)
    assert clf.estimator_ is not given
    assert not hasattr(given, "classes_")
    assert clone(clf).estimator is not given
    assert clf.set_params(estimator__smoothing=2).estimator.smoothing == 2


def test_weights_do_not_let_the_calibration_see_what_was_learned():
    def rows(n, seed):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n)
        return {f"x{i}": rng.normal(0.5 * y, 1.0) for i in range(6)}, y

    def loss(weight):
        (X, y), (new, true) = rows(300, 0), rows(2_000, 1)
        clf = tb.CalibratedClassifier(tb.NaiveBayesClassifier(numeric="kernel"))
        p = clf.fit(X, y, sample_weight=np.full(300, weight)).predict_proba(new)
        return -np.log(p[np.arange(2_000), true]).mean()

    assert loss(50.0) < loss(1.0) + 0.1
