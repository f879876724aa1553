"""The classifier with a hidden Markov model for each class, and what models say about themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

import tunbridge as tb
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.temporal.classifier import SequenceRows, step_log_densities
from tunbridge.temporal.panel import read_panel
from tunbridge.temporal.summary import duration_probabilities, mean_durations

pytestmark = pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")


def drawn(n: int = 20, length: int = 25, seed: int = 0) -> tuple[list[np.ndarray], list[str]]:
    """Return sequences of two models that differ only in how their states follow each other."""
    rng = np.random.default_rng(seed)
    normal = tb.emissions.Gaussian("diagonal", means=[[0.0], [3.0]], covariances=[[1.0], [1.0]])
    slow, fast = (
        tb.HiddenMarkovModel.from_parameters([0.5, 0.5], [[p, 1 - p], [1 - p, p]], normal) for p in (0.9, 0.2)
    )
    x, y = [], []
    for i in range(n):
        which = ("slow", "fast")[i % 2]
        model = slow if which == "slow" else fast
        x.append(np.asarray(model.sample(length, random_state=int(rng.integers(1 << 30))).observations, float))
        y.append(which)
    return x, y


@pytest.fixture(scope="module")
def data():
    return drawn()


@pytest.fixture(scope="module")
def clf(data):
    return tb.HMMClassifier(2, "gaussian", random_state=0, restarts=1).fit(*data)


def test_the_order_in_time_decides(clf, data):
    x, y = drawn(seed=1)
    assert clf.score(x, y) >= 0.9
    shuffled = [np.random.default_rng(0).permutation(each) for each in x]
    assert clf.score(shuffled, y) < clf.score(x, y)


def test_probabilities_are_bayes_rule_over_the_models(clf, data):
    x, _ = data
    logs = np.stack([clf.models_[c].log_likelihood(x) for c in clf.classes_.tolist()], axis=1) + clf.class_log_prior_
    np.testing.assert_allclose(clf.predict_log_proba(x), logs - logsumexp(logs, axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(x).sum(axis=1), 1.0, rtol=1e-12)


def test_a_frame_with_labels_by_row_by_sequence_and_by_name_gives_the_same(clf, data):
    x, y = data
    rows = [
        (i, t, value, label) for i, (each, label) in enumerate(zip(x, y, strict=True)) for t, value in enumerate(each)
    ]
    ids, times, values, labels = map(list, zip(*rows, strict=True))
    order = np.random.default_rng(0).permutation(len(rows))
    frame = {"id": ids, "v": values, "kind": labels}
    mixed = {"t": np.array(times)[order], "v": np.array(values)[order], "id": np.array(ids)[order]}
    make = lambda **how: tb.HMMClassifier(2, "gaussian", random_state=0, restarts=1, sequence="id", **how)  # noqa: E731
    by_name, by_row = make().fit(frame, "kind"), make(columns=["v"]).fit(frame, labels)
    expected = clf.predict_proba(x)
    for other in (by_name, by_row):
        np.testing.assert_allclose(other.predict_proba(frame), expected, atol=1e-12)
    sorted_by_time = make(time="t").fit(mixed, [y[i] for i in dict.fromkeys(mixed["id"].tolist())])
    assert len(sorted_by_time.predict(mixed)) == len(x)
    assert by_name.score(frame, "kind") == clf.score(x, y)


def test_explanations_add_up(clf, data):
    x, _ = data
    one = clf.explain(x[0])
    assert one.prior + one.weights.sum() == pytest.approx(one.log_odds, abs=1e-9)
    p = clf.predict_proba([x[0]])[0]
    assert one.log_odds == pytest.approx(abs(np.log(p[0] / p[1])), abs=1e-6)
    several = clf.explain(x[:3], label="slow", against="fast")
    assert [e.label for e in several] == ["slow"] * 3
    assert "other steps" in str(several[0])


def test_step_densities_sum_to_the_log_likelihood(clf, data):
    hmm = clf.models_["slow"]
    panel = read_panel([data[0][0]], variables=hmm.variables_)
    assert step_log_densities(hmm, panel).sum() == pytest.approx(hmm.log_likelihood(panel)[0], rel=1e-12)


def test_an_impossible_step_is_minus_infinity_once():
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], symbols=["a", "b"])
    assert step_log_densities(hmm, read_panel(["aba"], variables=hmm.variables_)).tolist() == [0.0, -np.inf, 0.0]


def test_weights_are_replication(data):
    x, y = data
    weights = [2.0] * 4 + [1.0] * (len(x) - 4)
    how = {"emissions": "gaussian", "random_state": 0, "restarts": 0, "n_states": 1}
    weighted = tb.HMMClassifier(**how).fit(x, y, sample_weight=weights)
    repeated = tb.HMMClassifier(**how).fit([*x[:4], *x], [*y[:4], *y])
    np.testing.assert_allclose(weighted.predict_proba(x), repeated.predict_proba(x), atol=1e-9)
    assert weighted.class_count_.sum() == sum(weights)


def test_missing_values_and_empty_sequences(clf, data):
    x, y = data
    holes = [np.where(np.arange(len(each)) % 3 == 0, np.nan, each) for each in x]
    fitted = tb.HMMClassifier(2, "gaussian", random_state=0, restarts=1).fit([*holes, np.empty(0)], [*y, "slow"])
    np.testing.assert_allclose(fitted.predict_proba([[], [np.nan, np.nan]]), np.exp([fitted.class_log_prior_] * 2))
    assert fitted.score(x, y) > 0.8


def test_unseen_symbols_are_missing_and_rare_ones_possible():
    clf = tb.HMMClassifier(1, random_state=0).fit(["aab", "aaa", "bcb", "bbc"], ["x", "x", "y", "y"])
    assert clf.predict_proba(["cc"]).min() > 0.0
    with pytest.warns(UnseenStateWarning):
        np.testing.assert_allclose(clf.predict_proba(["az"]), clf.predict_proba([["a", None]]))
    with pytest.warns(tb.ZeroProbabilityWarning):
        tb.HMMClassifier(1, smoothing=0.0).fit(["aa", "bb"], ["x", "y"]).predict(["ab"])


def test_a_class_without_steps_has_the_model_of_all():
    clf = tb.HMMClassifier(1, random_state=0).fit(["ab", "aa", ""], ["x", "x", "y"])
    assert clf.models_["x"].log_likelihood(["ab"]) == clf.models_["y"].log_likelihood(["ab"])


def test_the_prior_and_costs_matter(clf, data):
    x, y = data
    sure = tb.HMMClassifier(2, "gaussian", random_state=0, restarts=1, class_prior={"slow": 1.0, "fast": 0.0})
    assert set(sure.fit(x, y).predict(x)) == {"slow"}
    assert set(clf.decide(x, {"fast": {"slow": 1e12}})) == {"fast"}


def test_files_keep_everything(clf, data, tmp_path):
    x, _ = data
    clf.save(tmp_path / "a.tb")
    same = tb.load(tmp_path / "a.tb")
    np.testing.assert_array_equal(same.predict_proba(x), clf.predict_proba(x))
    assert same.get_params() == clf.get_params()
    assert same.describe() == clf.describe()
    own = tb.HMMClassifier({"slow": 1, "fast": 2}, tb.emissions.Gaussian("diagonal"), random_state=0).fit(*data)
    own.save(tmp_path / "b.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "b.tb").predict_proba(x), own.predict_proba(x))
    assert len(own.models_["slow"].start_) == 1
    assert len(own.models_["fast"].start_) == 2


def test_calibration(data, tmp_path):
    x, y = data
    inner = tb.HMMClassifier(2, "gaussian", random_state=0, restarts=0)
    calibrated = tb.CalibratedClassifier(inner, method="platt", folds=3).fit(x, y)
    np.testing.assert_allclose(calibrated.predict_proba(x).sum(axis=1), 1.0)
    explained = calibrated.explain(x[0])
    assert explained.log_odds == pytest.approx(abs(np.subtract(*calibrated.predict_log_proba([x[0]])[0])), abs=1e-9)
    calibrated.save(tmp_path / "c.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "c.tb").predict_proba(x), calibrated.predict_proba(x))


def test_the_number_of_states_is_chosen_by_class():
    x, y = drawn(12, 60)
    bag = [np.random.default_rng(i).normal(size=60) for i in range(6)]
    clf = tb.HMMClassifier("auto", "gaussian", random_state=0, restarts=0).fit([*x, *bag], [*y, *["none"] * 6])
    assert {c: len(m.start_) for c, m in clf.models_.items()} == {"slow": 2, "fast": 2, "none": 1}


def test_it_learns_from_all_sequences_at_once(clf):
    assert not hasattr(clf, "partial_fit")
    with pytest.raises(DataError, match="sequence has none"):
        clf.importance()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (["ab", "b"], ["x"], "y must have a value for each of the 2 sequences; got 1."),
        (np.zeros((3, 4)), ["x", "y", "x"], "Pass list(X) if its rows are sequences"),
        ({"id": [1, 1, 2], "v": [1.0, 2.0, 3.0]}, ["x", "y", "x"], "in all rows of a sequence; 1 has"),
        (["", ""], ["x", "y"], "there must be a step to learn from"),
        (["ab", "b"], None, "y must be the class of each sequence"),
    ],
)  # fmt: skip
def test_wrong_labels(X, y, message):
    clf = tb.HMMClassifier(1, sequence="id" if isinstance(X, dict) else None)
    with pytest.raises(DataError) as error:
        clf.fit(X, y)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_states": 0}, "n_states"),
        ({"n_states": {"x": 2}}, "n_states must have a number for every class; got none for 'y'"),
        ({"smoothing": -1}, "smoothing"),
        ({"emissions": "gausian"}, "Did you mean 'gaussian'"),
    ],
)
def test_wrong_parameters(how, message):
    with pytest.raises(DataError, match=message):
        tb.HMMClassifier(**how).fit(["ab", "b"], ["x", "y"])


def test_keys_of_sequences_depend_on_what_they_hold():
    rows = SequenceRows(read_panel(["ab", "ba", "ab", ""]))
    keys = rows.keys(0)
    assert keys[0] == keys[2]
    assert len(set(keys.tolist())) == 3
    assert rows.take(np.array([False, True, False, False])).n_rows == 1


# What models say about themselves


def test_describe_has_states_durations_and_emissions():
    hmm = tb.HiddenMarkovModel.from_parameters(
        [0.5, 0.5], [[0.75, 0.25], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], symbols=["umbrella", "none"],
        states=["wet", "dry"],
    )  # fmt: skip
    text = hmm.describe()
    assert "wet    66.7 %         4  umbrella 0.9, none 0.1" in text
    assert "dry        0.500  0.500" in text
    assert str(hmm) == text
    assert "umbrella 0.9" in hmm._repr_html_()
    assert "sk-" in hmm._repr_html_()
    assert "… and 1 more state" in hmm.describe(most=1)
    assert "umbrella" not in str(tb.HiddenMarkovModel(2))


@pytest.mark.parametrize(
    ("emission", "words"),
    [
        ("poisson", "±"), ("negative-binomial", "±"), ("gaussian", "±"), ("student-t", "±"),
        ("autoregressive", "x[t-1]"), ("gaussian-mixture", "9."),
    ],
)  # fmt: skip
def test_every_emission_has_words(emission, words):
    counts = np.array([2, 1, 0, 2, 1, 9, 11, 8, 12, 9, 1, 2, 0, 1, 10, 9, 8])
    text = tb.HiddenMarkovModel(2, emission, random_state=0, restarts=0, max_iterations=2000).fit(counts).describe()
    assert words in text
    assert "learned from 17 steps" in text


def test_durations_are_geometric_without_an_explicit_model():
    hmm = tb.HiddenMarkovModel.from_parameters([1, 0, 0], [[0.8, 0.2, 0], [0, 0.5, 0.5], [0, 0, 1]], np.eye(3))
    np.testing.assert_allclose(mean_durations(hmm), [5.0, 2.0, np.inf])
    d = np.arange(1, 11)
    np.testing.assert_allclose(duration_probabilities(hmm, 10)[0], 0.2 * 0.8 ** (d - 1), rtol=1e-12)
    np.testing.assert_allclose(duration_probabilities(hmm, 10)[2], 0.0)


def test_arrays_and_series_of_texts_are_many_sequences():
    pandas = pytest.importorskip("pandas")
    texts, y = ["abab", "baba", "aabb", "bbaa"], ["x", "x", "z", "z"]
    clf = tb.HMMClassifier(2, random_state=0).fit(texts, y)
    for form in (np.array(texts), np.array(texts, object), pandas.Series(texts)):
        assert clf.predict(form).tolist() == clf.predict(texts).tolist()
        assert tb.HMMClassifier(2, random_state=0).fit(form, y).predict(texts).tolist() == clf.predict(texts).tolist()
