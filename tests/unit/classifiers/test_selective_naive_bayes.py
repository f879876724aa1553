"""Selective naive Bayes: what is chosen, and what can go wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from oracles.semi_naive import forward_selection, score


def noisy_table(seed=0, n=120):
    """Return a frame with an informative feature, a copy of it, another informative one, and noise; and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    signal = np.where(rng.random(n) < 0.8, y, 1 - y)
    other = np.where(rng.random(n) < 0.75, y, 1 - y)
    columns = {"signal": signal, "copy": signal, "other": other, "noise": rng.integers(0, 3, n)}
    return {name: [f"s{v}" for v in column] for name, column in columns.items()}, y


class TestChoice:
    def test_a_copy_is_left_out_by_both_searches(self):
        frame, y = noisy_table()
        for search in ("forward", "backward"):
            chosen = tb.SelectiveNaiveBayesClassifier(search, criterion="log-loss").fit(frame, y).selected_
            assert "other" in chosen
            assert len({"signal", "copy"} & set(chosen)) == 1

    @pytest.mark.parametrize("seed", range(4))
    def test_forward_is_the_greedy_search_of_the_oracle(self, seed):
        rng = np.random.default_rng(seed)
        n_states, n = [2, 3, 2, 4], 30
        codes = [rng.integers(-1, r, n) for r in n_states]
        y = np.where(rng.random(n) < 0.7, codes[0] > 0, rng.random(n) < 0.4).astype(int)
        frame = {f"x{f}": [str(v) if v >= 0 else None for v in c] for f, c in enumerate(codes)}
        model = tb.SelectiveNaiveBayesClassifier(patience=0, smoothing=0.5).fit(frame, y)
        variables = [v.n_states for v in model.variables_]
        chosen, reached = forward_selection(
            [c.tolist() for c in codes], y.tolist(), [1.0] * n, gamma=0.5, n_states=variables, n_classes=2
        )
        assert [step.features[0] for step in model.trace_[1:]] == [f"x{f}" for f in chosen]
        np.testing.assert_allclose(model.trace_[-1][2:], reached, rtol=1e-10)

    def test_the_trace_tells_leave_one_out(self):
        table = tb.datasets.play_tennis()
        model = tb.SelectiveNaiveBayesClassifier("backward").fit(table, "play")
        assert [s.action for s in model.trace_] == ["start", "remove", "remove"]
        features = [n for n in table.names if n != "play"]
        codes = [table.column(n).values.tolist() for n in features]
        found = score(
            codes,
            table.column("play").values.tolist(),
            [1.0] * table.n_rows,
            groups=[(f,) for f, n in enumerate(features) if n in model.selected_],
            gamma=1.0,
            n_states=[table.column(n).variable.n_states for n in features],
            n_classes=2,
        )
        np.testing.assert_allclose(model.trace_[-1][2:], found, rtol=1e-12)

    def test_patience_finds_what_helps_only_together(self):
        table = tb.datasets.play_tennis()
        assert tb.SelectiveNaiveBayesClassifier(patience=0).fit(table, "play").selected_ == []
        assert tb.SelectiveNaiveBayesClassifier(patience=1).fit(table, "play").selected_ == ["outlook", "humidity"]

    def test_the_number_of_features_can_be_limited(self):
        frame, y = noisy_table()
        for search in ("forward", "backward"):
            model = tb.SelectiveNaiveBayesClassifier(search, criterion="log-loss", max_features=1).fit(frame, y)
            assert len(model.selected_) == 1

    def test_without_features_the_prior_answers(self):
        model = tb.SelectiveNaiveBayesClassifier().fit({"x": ["a"] * 6}, [0, 0, 0, 0, 1, 1])
        assert model.selected_ == []
        np.testing.assert_allclose(model.predict_proba({"x": ["a", "b"][:1]}), [[4 / 6, 2 / 6]])

    def test_all_features_is_naive_bayes(self):
        table = tb.datasets.play_tennis()
        model = tb.SelectiveNaiveBayesClassifier("backward", criterion="log-loss").fit(table, "play")
        chosen = table.select([*model.selected_, "play"])
        plain = tb.NaiveBayesClassifier().fit(chosen, "play")
        np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(chosen), rtol=1e-12)

    def test_hierarchical_smoothing_chooses_too(self):
        frame, y = noisy_table()
        model = tb.SelectiveNaiveBayesClassifier(smoothing="hierarchical", criterion="log-loss").fit(frame, y)
        assert "noise" not in model.selected_

    @pytest.mark.parametrize("search", ["forward", "backward"])
    def test_a_column_of_keys_is_not_chosen(self, search):
        frame, y = noisy_table()
        frame, y = {"key": [f"k{i}" for i in range(90)], **{n: c[:90] for n, c in frame.items()}}, y[:90]
        y[:20] = 0  # keys would stand for classes of different size
        for criterion in ("accuracy", "log-loss"):
            assert "key" not in tb.SelectiveNaiveBayesClassifier(search, criterion=criterion).fit(frame, y).selected_


class TestManners:
    def test_further_rows_keep_the_choice(self):
        frame, y = noisy_table()
        model = tb.SelectiveNaiveBayesClassifier(criterion="log-loss").fit(frame, y)
        before = model.selected_, model.trace_
        model.partial_fit({name: ["s9", "s1"] for name in frame}, [2, 1])
        assert (model.selected_, model.trace_) == before
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.class_count_.sum() == 122

    def test_a_file_keeps_the_trace(self, tmp_path):
        frame, y = noisy_table()
        model = tb.SelectiveNaiveBayesClassifier("backward").fit(frame, y)
        model.save(tmp_path / "m.tb")
        again = tb.load(tmp_path / "m.tb")
        assert again.trace_ == model.trace_
        assert again.selected_ == model.selected_

    def test_threads_do_not_matter(self):
        frame, y = noisy_table()
        traces = [tb.SelectiveNaiveBayesClassifier(n_jobs=n).fit(frame, y).trace_ for n in (1, 2, 3)]
        assert traces[0] == traces[1] == traces[2]

    def test_odd_tables(self):
        frame = {"gone": [None] * 4, "same": ["a"] * 4, "x": ["a", "b", None, "b"]}
        for search in ("forward", "backward"):
            for y in (["c"] * 4, ["c", "d", "e", "f"], ["c", "c", "d", "d"]):
                model = tb.SelectiveNaiveBayesClassifier(search, categorical="all").fit(frame, y)
                np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0, rtol=1e-12)
        one = tb.SelectiveNaiveBayesClassifier().fit({"x": ["a"]}, ["c"])
        assert one.predict({"x": "a"}).tolist() == ["c"]

    def test_no_smoothing_and_a_class_that_cannot_be(self):
        frame, y = noisy_table()
        model = tb.SelectiveNaiveBayesClassifier(smoothing=0, class_prior=[1.0, 0.0]).fit(frame, y)
        assert set(model.predict(frame)) == {0}

    def test_explanations_add_up(self):
        frame, y = noisy_table()
        model = tb.SelectiveNaiveBayesClassifier().fit(frame, y)
        row = {name: column[0] for name, column in frame.items()}
        found = model.explain(row, label=1, against=0)
        odds = np.log(model.predict_proba(row)[0])
        assert found.log_odds == pytest.approx(odds[1] - odds[0], rel=1e-12)


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"search": "forwards"}, "search must be one of 'forward', 'backward'; got 'forwards'. Did you mean"),
            ({"criterion": "auc"}, "criterion must be one of 'accuracy', 'log-loss'; got 'auc'."),
            ({"patience": -1}, "patience must be at least 0; got -1."),
            ({"max_features": 0}, "max_features must be at least 1; got 0."),
            ({"missing": "drop"}, "missing must be one of 'marginal', 'state'; got 'drop'."),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(tb.DataError, match=message.replace(".", r"\.")):
            tb.SelectiveNaiveBayesClassifier(**parameters).fit({"x": [1.0, 2.0]}, [0, 1])

    def test_memory_is_forecast(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "10000")
        frame, y = noisy_table()
        with pytest.raises(tb.MemoryForecastError, match="leaving out every row would need"):
            tb.SelectiveNaiveBayesClassifier().fit(frame, y)

    def test_a_file_with_another_structure(self):
        model = tb.SelectiveNaiveBayesClassifier("backward").fit(tb.datasets.play_tennis(), "play")
        content = model.to_content()
        parents = content["statistics"]["parents"]
        parents[0], parents[2] = [2], []
        with pytest.raises(ValueError):
            tb.SelectiveNaiveBayesClassifier.from_content(content)
