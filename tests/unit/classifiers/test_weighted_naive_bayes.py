"""Weighted naive Bayes: the weights, and what they are for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import tunbridge as tb


def copied(n=400, seed=0, copies=3):
    """Return a frame in which one answer stands several times beside an independent one, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    answer = np.where(rng.random(n) < 0.75, y, 1 - y)
    other = np.where(rng.random(n) < 0.7, y, 1 - y)
    frame = {f"copy{i}": [f"s{v}" for v in answer] for i in range(copies)}
    return frame | {"other": [f"s{v}" for v in other]}, y


def log_loss(model, frame, y):
    return -np.log(model.predict_proba(frame)[np.arange(len(y)), y]).mean()


class TestWeights:
    def test_copies_share_what_one_would_have(self):
        frame, y = copied()
        weights = tb.WeightedNaiveBayesClassifier(penalty=0.01).fit(frame, y).weights_
        assert sum(weights[f"copy{i}"] for i in range(3)) == pytest.approx(1.0, abs=0.15)  # a sample of 400 rows
        assert weights["other"] == pytest.approx(1.0, abs=0.2)
        assert len({round(weights[f"copy{i}"], 6) for i in range(3)}) == 1

    def test_new_rows_are_predicted_better(self):
        frame, y = copied()
        new, truth = copied(seed=1)
        weighted, plain = tb.WeightedNaiveBayesClassifier().fit(frame, y), tb.NaiveBayesClassifier().fit(frame, y)
        assert log_loss(weighted, new, truth) < log_loss(plain, new, truth) - 0.02

    def test_the_optimum_is_that_of_a_plain_minimiser(self):
        table = tb.datasets.play_tennis()
        model = tb.WeightedNaiveBayesClassifier(leave_one_out=False, tol=1e-10, max_weight=2.0).fit(table, "play")
        terms = tb.NaiveBayesClassifier().fit(table, "play")._model.terms(model._rows(table))
        prior, y = np.log([5 / 14, 9 / 14]), table.column("play").values

        def loss(w):
            joint = prior[:, None] + np.einsum("f,fcn->cn", w, terms)
            own = joint[y, np.arange(14)]
            return np.sum(np.logaddexp(*joint) - own) + 0.5 * np.sum((w - 1) ** 2)

        found = minimize(loss, np.ones(4), method="L-BFGS-B", bounds=[(0, 2)] * 4, options={"ftol": 1e-15}).x
        np.testing.assert_allclose(list(model.weights_.values()), found, atol=1e-4)  # its gradient is numerical

    def test_a_strong_penalty_is_naive_bayes(self):
        frame, y = copied()
        weighted = tb.WeightedNaiveBayesClassifier(penalty=1e9).fit(frame, y)
        np.testing.assert_allclose(list(weighted.weights_.values()), 1.0, atol=1e-6)
        plain = tb.NaiveBayesClassifier().fit(frame, y)
        np.testing.assert_allclose(weighted.predict_proba(frame), plain.predict_proba(frame), atol=1e-6)  # weights

    def test_many_states_are_not_trusted_when_rows_are_left_out(self):
        frame, y = copied()
        frame = {"town": [f"t{i}" for i in np.random.default_rng(5).integers(0, 100, len(y))], **frame}
        sceptic = tb.WeightedNaiveBayesClassifier().fit(frame, y).weights_["town"]
        credulous = tb.WeightedNaiveBayesClassifier(leave_one_out=False).fit(frame, y).weights_["town"]
        assert sceptic < 0.2 < 0.8 < credulous

    def test_weights_stay_within_their_bounds(self):
        frame, y = copied(copies=1)
        free = tb.WeightedNaiveBayesClassifier(smoothing=60, penalty=0.0).fit(frame, y)
        assert max(free.weights_.values()) > 1
        bound = tb.WeightedNaiveBayesClassifier(smoothing=60, penalty=0.0, max_weight=1).fit(frame, y)
        assert max(bound.weights_.values()) == 1.0

    def test_weights_of_rows_count(self):
        frame, y = copied(n=60)
        times = np.arange(60) % 3 + 1
        twice = {name: np.repeat(column, times).tolist() for name, column in frame.items()}
        a = tb.WeightedNaiveBayesClassifier(tol=1e-10).fit(frame, y, sample_weight=times)
        b = tb.WeightedNaiveBayesClassifier(tol=1e-10).fit(twice, np.repeat(y, times))
        np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame), rtol=1e-7)  # two climbs


class TestManners:
    def test_further_rows_keep_the_weights(self):
        frame, y = copied()
        model = tb.WeightedNaiveBayesClassifier().fit(frame, y)
        weights = model.weights_
        model.partial_fit({name: ["s0", "s7"] for name in frame}, [0, 2])
        assert model.weights_ == weights
        assert model.class_count_.tolist() == [np.sum(y == 0) + 1, np.sum(y == 1), 1]

    def test_odd_tables(self):
        frame = {"gone": [None] * 4, "same": ["a"] * 4, "x": ["a", "b", None, "b"]}
        for y in (["c"] * 4, ["c", "d", "e", "f"], ["c", "c", "d", "d"]):
            model = tb.WeightedNaiveBayesClassifier(categorical="all").fit(frame, y)
            np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0, rtol=1e-12)
            assert "gone" not in model.weights_
        only = tb.WeightedNaiveBayesClassifier(categorical="all").fit({"gone": [None, None]}, ["c", "d"])
        assert only.weights_ == {}

    def test_missing_cells_as_a_state(self):
        y = np.array([0, 1] * 20)
        frame = {"x": [None if k else "a" for k in y]}
        assert tb.WeightedNaiveBayesClassifier(missing="state").fit(frame, y).score(frame, y) == 1.0

    def test_explanations_add_up(self):
        frame, y = copied()
        model = tb.WeightedNaiveBayesClassifier().fit(frame, y)
        row = {name: column[0] for name, column in frame.items()}
        found = model.explain(row, label=1, against=0)
        odds = np.log(model.predict_proba(row)[0])
        assert found.log_odds == pytest.approx(odds[1] - odds[0], rel=1e-12)

    def test_an_unsettled_search_warns(self):
        frame, y = copied()
        with pytest.warns(tb.ConvergenceWarning, match="did not converge in 1 iteration. Raise max_iter or tol"):
            tb.WeightedNaiveBayesClassifier(max_iter=1, tol=1e-12).fit(frame, y)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"penalty": -1}, "penalty must be at least 0; got -1."),
            ({"max_weight": -1}, "max_weight must be at least 0; got -1."),
            ({"leave_one_out": "yes"}, "leave_one_out must be True or False; got 'yes'."),
            ({"max_iter": 0}, "max_iter must be at least 1; got 0."),
            ({"tol": 0}, "tol must be greater than 0; got 0."),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(tb.DataError, match=message.replace(".", r"\.")):
            tb.WeightedNaiveBayesClassifier(**parameters).fit({"x": [1.0, 2.0]}, [0, 1])

    def test_memory_is_forecast(self, monkeypatch):
        frame, y = copied()
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "60000")
        with pytest.raises(tb.MemoryForecastError, match="finding the weights of the features would need"):
            tb.WeightedNaiveBayesClassifier().fit(frame, y)

    @pytest.mark.parametrize("damage", ["weights", "parents"])
    def test_damaged_files(self, damage):
        content = tb.WeightedNaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play").to_content()
        statistics = content["statistics"]
        if damage == "weights":
            statistics["weights"] = np.array([1.0, -1.0, 0.0, 1.0])
        else:
            statistics["weights"] = np.ones(3)
        with pytest.raises(ValueError, match=r"weights do not belong|numbers of at least 0"):
            tb.WeightedNaiveBayesClassifier.from_content(content)
