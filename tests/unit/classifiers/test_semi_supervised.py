"""Semi-supervised classifiers: EM with rows that have no class."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import tunbridge as tb
from oracles.semi_naive import naive_bayes_em
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers.wrappers.semi_supervised import climb

GOING_ON = [
    tb.NaiveBayesClassifier, tb.SelectiveNaiveBayesClassifier, tb.JoinedNaiveBayesClassifier,
    tb.WeightedNaiveBayesClassifier, tb.TANClassifier, tb.KDBClassifier, tb.AODEClassifier, tb.A2DEClassifier,
    tb.MultinetClassifier, tb.BayesNetClassifier,
]  # fmt: skip


def mixture(n=300, n_features=8, seed=0, sharpness=0.8):
    """Return binary columns that depend on a class, and the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.where(rng.random((n, n_features)) < sharpness, y[:, None], 1 - y[:, None])
    return {f"x{j}": X[:, j].tolist() for j in range(n_features)}, y


def hidden(y, n_labelled):
    """Return the classes with only the first few of each known."""
    out = np.full(len(y), -1)
    for c in np.unique(y):
        out[np.flatnonzero(y == c)[:n_labelled]] = c
    return out


class TestExpectationMaximisation:
    @pytest.mark.parametrize("weight", [1.0, 0.3])
    @pytest.mark.parametrize("gamma", [1.0, 0.2])
    def test_it_is_the_plain_one(self, weight, gamma):
        rng = np.random.default_rng(3)
        codes = [rng.integers(-1, r, 60) for r in (2, 3, 4)]
        y = np.where(np.arange(60) < 12, rng.integers(0, 3, 60), -1)
        frame = {f"x{f}": [f"s{v}" if v >= 0 else None for v in c] for f, c in enumerate(codes)}
        with pytest.warns(tb.ConvergenceWarning, match="EM did not converge in 7 iterations: the last raised"):
            model = tb.SemiSupervisedClassifier(
                tb.NaiveBayesClassifier(smoothing=gamma), unlabelled_weight=weight, max_iter=7, tol=0.0
            ).fit(frame, y)
        prior, tables, objectives = naive_bayes_em(
            codes, y, n_states=[2, 3, 4], n_classes=3, gamma=gamma, weight=weight, n_iterations=7
        )
        np.testing.assert_allclose(model.class_log_prior_, prior, rtol=1e-9)
        for f, table in enumerate(tables):
            np.testing.assert_allclose(model.estimator_._model.tables[f][:, 1:], table, rtol=1e-9)
        np.testing.assert_allclose(model.trace_, objectives, rtol=1e-10)

    @pytest.mark.parametrize(
        "estimator",
        [
            tb.NaiveBayesClassifier(),
            tb.NaiveBayesClassifier(variance="mle", variance_floor=0.0),
            tb.NaiveBayesClassifier(numeric="discretise", smoothing=tb.MEstimate(2)),
            tb.KDBClassifier(k=1, smoothing=1.0),
            tb.KDBClassifier(k=1, smoothing="bdeu"),
        ],
        ids=str,
    )
    def test_the_objective_never_falls(self, estimator):
        frame, y = mixture()
        rng = np.random.default_rng(5)
        frame["number"] = rng.normal(y, 1.0)
        frame["number"][::7] = np.nan
        settings = {"max_iter": 25, "tol": 1e-12}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tb.ConvergenceWarning)
            model = tb.SemiSupervisedClassifier(estimator, unlabelled_weight=0.5, **settings).fit(frame, hidden(y, 5))
        rises = np.diff(model.trace_)
        assert len(rises) >= (5 if "unbiased" not in str(estimator.get_params()) else 1)
        assert (rises >= 0).all()

    def test_exact_steps_are_never_refused(self):
        frame, y = mixture(n=120)
        model = tb.SemiSupervisedClassifier(tol=1e-7, max_iter=500).fit(frame, hidden(y, 3))
        assert model.trace_[-1] - model.trace_[-2] <= 1e-7 * 120
        assert model.n_iter_ == len(model.trace_) - 1

    def test_a_tree_inside(self):
        frame, y = mixture(n=400)
        frame["echo"] = frame["x0"]
        model = tb.SemiSupervisedClassifier(tb.TANClassifier(smoothing=1.0)).fit(frame, hidden(y, 10))
        assert (model.predict(frame) == y).mean() > 0.9
        assert isinstance(model.estimator_, tb.TANClassifier)

    @pytest.mark.parametrize("inside", GOING_ON, ids=lambda cls: cls.__name__)
    def test_every_classifier_that_goes_on_can_be_inside(self, inside):
        X, y = mixture(120)
        model = tb.SemiSupervisedClassifier(inside()).fit(X, hidden(y, 10))
        assert model.class_count_.sum() == pytest.approx(120, rel=1e-9)
        assert (np.diff(model.trace_) >= 0).all()
        assert model.score(X, y) > 0.9

    def test_rows_without_a_class_help(self):
        frame, y = mixture(n=600, n_features=12, sharpness=0.65)
        few = hidden(y, 3)
        known = few >= 0
        alone = tb.NaiveBayesClassifier().fit({n: np.array(c)[known].tolist() for n, c in frame.items()}, y[known])
        both = tb.SemiSupervisedClassifier().fit(frame, few)
        assert (both.predict(frame) == y).mean() > (alone.predict(frame) == y).mean() + 0.05

    def test_weight_zero_is_the_rows_with_a_class_alone(self):
        frame, y = mixture()
        few = hidden(y, 6)
        known = few >= 0
        alone = tb.NaiveBayesClassifier().fit({n: np.array(c)[known].tolist() for n, c in frame.items()}, y[known])
        both = tb.SemiSupervisedClassifier(unlabelled_weight=0).fit(frame, few)
        np.testing.assert_allclose(both.predict_proba(frame), alone.predict_proba(frame), rtol=1e-12)
        assert both.n_iter_ == 1
        assert len(both.trace_) == 1

    def test_all_classes_known_is_the_estimator(self):
        frame, y = mixture()
        whole = tb.SemiSupervisedClassifier(tb.TANClassifier()).fit(frame, y)
        plain = tb.TANClassifier().fit(frame, y)
        np.testing.assert_array_equal(whole.predict_proba(frame), plain.predict_proba(frame))

    def test_class_counts_are_expected_ones(self):
        frame, y = mixture()
        model = tb.SemiSupervisedClassifier(unlabelled_weight=0.25).fit(frame, hidden(y, 10))
        assert model.class_count_.sum() == pytest.approx(20 + 0.25 * 280, rel=1e-9)

    def test_weights_of_rows_count(self):
        frame, y = mixture(n=80)
        few, times = hidden(y, 5), np.arange(80) % 3 + 1
        copies = {name: np.repeat(column, times).tolist() for name, column in frame.items()}
        a = tb.SemiSupervisedClassifier().fit(frame, few, sample_weight=times)
        b = tb.SemiSupervisedClassifier().fit(copies, np.repeat(few, times))
        np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame), rtol=1e-9)
        np.testing.assert_allclose(a.trace_, b.trace_, rtol=1e-10)

    def test_threads_do_not_matter(self):
        frame, y = mixture()
        found = [
            tb.SemiSupervisedClassifier(n_jobs=n, unlabelled_weight="auto")
            .fit(frame, hidden(y, 4))
            .predict_proba(frame)
            for n in (1, 3)
        ]
        np.testing.assert_array_equal(*found)

    def test_pieces_do_not_matter(self, monkeypatch):
        frame, y = mixture()
        whole = tb.SemiSupervisedClassifier().fit(frame, hidden(y, 4))
        monkeypatch.setattr("tunbridge.classifiers.wrappers.semi_supervised._BYTES_AT_ONCE", 800)
        parts = tb.SemiSupervisedClassifier().fit(frame, hidden(y, 4))
        np.testing.assert_allclose(whole.predict_proba(frame), parts.predict_proba(frame), rtol=1e-9)

    def test_a_step_down_is_not_made(self):
        frame, y = mixture(n=60)
        inner = tb.NaiveBayesClassifier()
        model = tb.SemiSupervisedClassifier(inner).fit(frame, hidden(y, 4))
        batch = model._rows(frame)
        rows = Examples(batch, hidden(y, 4), model.statistics_.target, None)

        class Falling(tb.NaiveBayesClassifier):
            """Naive Bayes whose prior gets worse every time that it is asked for."""

            asked = 0

            def log_prior(self, statistics):
                Falling.asked += 1
                return super().log_prior(statistics) - 50.0 * (Falling.asked > 2)

        found = climb(Falling(), rows, 1.0, max_iter=20, tol=0.0, n_jobs=1)
        assert len(found.trace) == 2
        assert found.converged


class TestLabels:
    @pytest.mark.parametrize(
        "labels",
        [
            [0, 1, -1, -1],
            [0.0, 1.0, float("nan"), -1.0],
            ["no", "yes", None, ""],
            np.array(["no", "yes", "", ""]),
            np.array([False, True, None, None], object),
            np.array(["no", "yes", -1, float("nan")], object),
        ],
        ids=str,
    )
    def test_what_marks_a_row_without_a_class(self, labels):
        model = tb.SemiSupervisedClassifier().fit({"x": ["a", "b", "a", "b"]}, labels)
        assert len(model.classes_) == 2
        assert model.class_count_.tolist() == pytest.approx([2.0, 2.0])
        assert model.predict({"x": ["a", "b"]}).tolist() == model.classes_.tolist()

    def test_another_mark(self):
        model = tb.SemiSupervisedClassifier(unlabelled="?").fit({"x": ["a", "b", "a"]}, ["n", "y", "?"])
        assert model.classes_.tolist() == ["n", "y"]

    def test_minus_one_can_be_a_class(self):
        frame = {"x": ["a", "b", "a", "b"]}
        assert tb.SemiSupervisedClassifier(unlabelled=None).fit(frame, [-1, 1, -1, 1]).classes_.tolist() == [-1, 1]
        message = r"-1 is taken as a class, because all other rows have 1\. Leave the labels of rows without a class"
        with pytest.warns(tb.TunbridgeWarning, match=message):
            model = tb.SemiSupervisedClassifier().fit(frame, [-1, 1, -1, 1])
        assert model.classes_.tolist() == [-1, 1]
        assert model.score(frame, [-1, 1, 1, 1]) == 0.75

    def test_a_column_of_a_table(self):
        table = tb.as_table({"x": ["a", "b", "a", "b"], "kind": ["n", "y", None, None]})
        model = tb.SemiSupervisedClassifier().fit(table, "kind")
        assert model.classes_.tolist() == ["n", "y"]
        assert model.score(table) == 1.0
        assert model.estimator_.predict(table).tolist() == ["n", "y", "n", "y"]

    def test_scores_look_at_rows_with_a_class(self):
        frame, y = mixture()
        model = tb.SemiSupervisedClassifier().fit(frame, hidden(y, 10))
        few, right = hidden(y, 7), model.predict(frame) == y
        assert model.score(frame, few) == pytest.approx(right[few >= 0].mean())
        weights = np.arange(300.0)
        assert model.score(frame, few, weights) == pytest.approx(np.average(right[few >= 0], weights=weights[few >= 0]))
        with pytest.raises(tb.DataError, match="some row must have a class to be compared"):
            model.score(frame, np.full(300, -1))

    def test_no_class_at_all(self):
        with pytest.raises(tb.DataError, match=r"some row must have a class; all 2 rows have none \(missing or -1\)"):
            tb.SemiSupervisedClassifier().fit({"x": ["a", "b"]}, [-1, -1])

    def test_the_wrong_number_of_labels(self):
        with pytest.raises(tb.DataError, match="y must have a class for each row; got 3 classes for 2 rows"):
            tb.SemiSupervisedClassifier().fit({"x": ["a", "b"]}, [1, 0, -1])


class TestChosenWeight:
    def test_auto_uses_rows_that_help(self):
        frame, y = mixture(n=500, n_features=12, sharpness=0.7)
        model = tb.SemiSupervisedClassifier(unlabelled_weight="auto").fit(frame, hidden(y, 15))
        assert set(model.losses_) == {0.0, 0.01, 0.03, 0.1, 0.3, 1.0}
        assert model.unlabelled_weight_ == min(model.losses_, key=model.losses_.get) > 0

    def test_auto_protects_from_rows_that_hurt(self):
        # the features of the rows without a class group by something else than the class
        rng = np.random.default_rng(1)
        n = 400
        y, other = rng.integers(0, 2, n), rng.integers(0, 2, n)
        X = np.where(rng.random((n, 12)) < 0.95, other[:, None], 1 - other[:, None])
        frame = {f"x{j}": X[:, j].tolist() for j in range(12)}
        frame["signal"] = np.where(rng.random(n) < 0.85, y, 1 - y).tolist()
        few = hidden(y, 20)
        scores = {
            w: (tb.SemiSupervisedClassifier(unlabelled_weight=w).fit(frame, few).predict(frame) == y).mean()
            for w in (0.0, 1.0, "auto")
        }
        assert scores[1.0] < scores[0.0] - 0.1
        assert scores["auto"] > scores[1.0] + 0.1

    def test_auto_needs_two_rows_of_a_class(self):
        with pytest.warns(tb.TunbridgeWarning, match="'auto' must have a class with at least two rows"):
            model = tb.SemiSupervisedClassifier(unlabelled_weight="auto").fit({"x": ["a", "b", "a"]}, [0, 1, -1])
        assert model.unlabelled_weight_ == 0.0

    def test_auto_without_anything_to_weigh(self):
        model = tb.SemiSupervisedClassifier(unlabelled_weight="auto").fit({"x": ["a", "b", "a"]}, [0, 1, 1])
        assert (model.unlabelled_weight_, model.losses_) == (1.0, {})


class TestManners:
    def test_files(self, tmp_path):
        frame, y = mixture()
        model = tb.SemiSupervisedClassifier(tb.TANClassifier(forest="bic"), unlabelled_weight="auto")
        model.fit(frame, hidden(y, 8))
        model.save(tmp_path / "m.tb")
        again = tb.load(tmp_path / "m.tb")
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert (again.trace_, again.losses_) == (model.trace_, model.losses_)
        assert str(again.get_params()) == str(model.get_params())
        assert again.estimator_.parents_ == model.estimator_.parents_

    def test_explanations_and_the_rest(self):
        frame, y = mixture()
        model = tb.SemiSupervisedClassifier().fit(frame, hidden(y, 8))
        row = {name: column[0] for name, column in frame.items()}
        odds = np.log(model.predict_proba(row)[0])
        assert model.explain(row, label=1, against=0).log_odds == pytest.approx(odds[1] - odds[0], rel=1e-10)
        assert set(model.importance()) == set(frame)
        assert model.what_if(row).label == model.predict(row)[0]

    def test_there_is_no_partial_fit(self):
        assert not hasattr(tb.SemiSupervisedClassifier(), "partial_fit")
        frame, y = mixture()
        statistics = tb.SemiSupervisedClassifier().fit(frame, y).statistics_
        with pytest.raises(tb.DataError, match="must be learned from all rows at once"):
            statistics.merge(statistics)

    def test_states_that_only_rows_without_a_class_have(self):
        model = tb.SemiSupervisedClassifier().fit({"x": ["a", "b", "c", "c"]}, [0, 1, -1, -1])
        np.testing.assert_allclose(model.predict_proba({"x": "c"}), [[0.5, 0.5]], rtol=1e-9)

    def test_without_smoothing(self):
        frame = {"x": ["a", "b", "c", "a"], "z": ["u", "v", "u", "v"]}
        model = tb.SemiSupervisedClassifier(tb.NaiveBayesClassifier(smoothing=0)).fit(frame, [0, 1, -1, -1])
        assert np.isfinite(model.trace_).all()
        np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0, rtol=1e-12)

    def test_the_estimator_is_left_alone(self):
        frame, y = mixture()
        inner = tb.NaiveBayesClassifier()
        tb.SemiSupervisedClassifier(inner).fit(frame, hidden(y, 8))
        assert not hasattr(inner, "statistics_")
        assert clone(tb.SemiSupervisedClassifier(inner)).estimator is not inner

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"unlabelled_weight": 2}, r"unlabelled_weight \(λ, or 'auto'\) must be at most 1; got 2\."),
            ({"unlabelled_weight": "much"}, r"unlabelled_weight \(λ, or 'auto'\) must be a number; got 'much'\."),
            ({"max_iter": 0}, r"max_iter must be at least 1; got 0\."),
            ({"tol": -1}, r"tol must be at least 0; got -1\."),
            ({"folds": 1}, r"folds must be at least 2; got 1\."),
            ({"random_state": "x"}, r"random_state must be a non-negative integer"),
            ({"estimator": "nb"}, r"estimator must be a classifier of Tunbridge; got 'nb'\."),
            ({"estimator": tb.TANClassifier}, r"got <class .*\. Make one: TANClassifier\(\)\."),
            (
                {"estimator": tb.SemiSupervisedClassifier()},
                r"must have partial_fit; SemiSupervisedClassifier\(.*\) has none",
            ),
            ({"estimator": tb.BayesOptimalClassifier()}, r"must have a joint distribution P\(x, c\)"),
            ({"estimator": tb.TANClassifier(missing="x")}, r"missing must be one of"),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(tb.DataError, match=message):
            tb.SemiSupervisedClassifier(**parameters).fit({"x": [1.0, 2.0]}, [0, 1])
