"""Joined naive Bayes: which features are put together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tunbridge as tb
from oracles.semi_naive import backward_joining


def differing(n=80, seed=0):
    """Return three columns, and whether the first two differ, with a little noise."""
    rng = np.random.default_rng(seed)
    left, right, noise = (rng.integers(0, 2, n) for _ in range(3))
    y = np.where(rng.random(n) < 0.95, left != right, left == right)
    return {name: [f"s{v}" for v in c] for name, c in (("left", left), ("noise", noise), ("right", right))}, y


class TestGroups:
    @pytest.mark.parametrize("search", ["backward", "forward"])
    def test_what_differs_is_joined(self, search):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier(search, patience=2).fit(frame, y)
        assert any({"left", "right"} <= set(group) for group in model.groups_)
        assert model.score(frame, y) > 0.9

    @pytest.mark.parametrize("seed", range(5))
    def test_backward_is_the_search_of_the_oracle(self, seed):
        rng = np.random.default_rng(seed)
        n_states, n = [2, 3, 2, 2], 24
        codes = [rng.integers(-(f == 1), r, n) for f, r in enumerate(n_states)]
        y = (codes[0] ^ codes[2]) if seed % 2 else rng.integers(0, 3, n)
        frame = {f"x{f}": [str(v) if v >= 0 else None for v in c] for f, c in enumerate(codes)}
        model = tb.JoinedNaiveBayesClassifier(patience=0).fit(frame, y)
        groups, reached = backward_joining(
            [c.tolist() for c in codes],
            y.tolist(),
            [1.0] * n,
            gamma=1.0,
            n_states=[v.n_states for v in model.variables_],
            n_classes=int(y.max()) + 1,
        )
        assert sorted(model.groups_) == sorted(tuple(f"x{f}" for f in g) for g in groups)
        np.testing.assert_allclose(model.trace_[-1][2:], reached, rtol=1e-10)

    def test_tables_are_those_of_the_chain(self):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier().fit(frame, y)
        ((a, b),) = [g for g in model.groups_ if len(g) > 1][:1]
        used = [g for g in model.groups_ if len(g) == 1]
        assert not used or used == [("noise",)]
        rows = list(itertools.product(["s0", "s1"], repeat=2))
        for c in (False, True):
            inside = [(p, q) for p, q, k in zip(frame[a], frame[b], y, strict=True) if k == c]
            for p, q in rows:
                first = (sum(u == p for u, _ in inside) + 1) / (len(inside) + 2)
                both = sum(u == (p, q) for u in inside)
                second = (both + 1) / (sum(u == p for u, _ in inside) + 2)
                expected = np.log(np.mean(y == c) * first * second)
                found = model.predict_joint_log_proba({a: [p], b: [q], "noise": [None]})[0, int(c)]
                assert found == pytest.approx(expected, rel=1e-12)

    def test_a_missing_member_is_summed_out(self):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier().fit(frame, y)
        ((first, last),) = [g for g in model.groups_ if len(g) > 1][:1]
        for gone, kept in ((first, last), (last, first)):
            parts = [model.predict_joint_log_proba({gone: [s], kept: ["s1"], "noise": [None]}) for s in ("s0", "s1")]
            whole = model.predict_joint_log_proba({gone: [None], kept: ["s1"], "noise": [None]})
            np.testing.assert_allclose(whole, np.logaddexp(*parts), rtol=1e-12)

    def test_joint_states_are_limited(self):
        frame, y = differing()
        apart = tb.JoinedNaiveBayesClassifier(max_states=3).fit(frame, y)
        assert all(len(g) == 1 for g in apart.groups_)

    def test_log_loss_alone(self):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier(criterion="log-loss").fit(frame, y)
        losses = [s.log_loss for s in model.trace_]
        assert losses[-1] == min(losses)


class TestManners:
    def test_further_rows_keep_the_groups(self):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier().fit(frame, y)
        groups = model.groups_
        model.partial_fit(frame, y)
        assert model.groups_ == groups
        twice = {name: column * 2 for name, column in frame.items()}
        both = tb.JoinedNaiveBayesClassifier().fit(twice, np.tile(y, 2))
        if both.groups_ == groups:
            np.testing.assert_allclose(both.predict_proba(frame), model.predict_proba(frame), rtol=1e-12)

    def test_files_keep_groups_and_trace(self, tmp_path):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier("forward").fit(frame, y)
        model.save(tmp_path / "m.tb")
        again = tb.load(tmp_path / "m.tb")
        assert (again.groups_, again.trace_) == (model.groups_, model.trace_)

    def test_threads_do_not_matter(self):
        frame, y = differing()
        traces = [tb.JoinedNaiveBayesClassifier(n_jobs=n).fit(frame, y).trace_ for n in (1, 2, 3)]
        assert traces[0] == traces[1] == traces[2]

    def test_odd_tables(self):
        frame = {"gone": [None] * 4, "same": ["a"] * 4, "x": ["a", "b", None, "b"], "z": ["u", None, "v", "v"]}
        for search in ("forward", "backward"):
            for y in (["c"] * 4, ["c", "d", "e", "f"], ["c", "c", "d", "d"]):
                model = tb.JoinedNaiveBayesClassifier(search, categorical="all").fit(frame, y)
                np.testing.assert_allclose(model.predict_proba(frame).sum(axis=1), 1.0, rtol=1e-12)

    def test_explanations_add_up(self):
        frame, y = differing()
        model = tb.JoinedNaiveBayesClassifier().fit(frame, y)
        for row in ({n: c[0] for n, c in frame.items()}, {"right": "s1"}, {"left": "s0", "noise": "s1"}):
            found = model.explain(row, label=True, against=False)
            odds = np.log(model.predict_proba(row)[0])
            assert found.log_odds == pytest.approx(odds[1] - odds[0], rel=1e-10, abs=1e-12)


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"search": "bsej"}, "search must be one of 'backward', 'forward'; got 'bsej'."),
            ({"criterion": "auc"}, "criterion must be one of 'accuracy', 'log-loss'; got 'auc'."),
            ({"max_states": 0}, "max_states must be at least 1; got 0."),
            ({"patience": 1.5}, "patience must be an integer; got 1.5."),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(tb.DataError, match=message.replace(".", r"\.")):
            tb.JoinedNaiveBayesClassifier(**parameters).fit({"x": [1.0, 2.0]}, [0, 1])

    def test_memory_of_joins_is_forecast(self, monkeypatch):
        rng = np.random.default_rng(0)
        frame = {name: [f"s{v}" for v in rng.integers(0, 40, 60)] for name in ("a", "b")}
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "40000")
        with pytest.raises(tb.MemoryForecastError, match=r"the table of 2 joined features would need .* max_states"):
            tb.JoinedNaiveBayesClassifier().fit(frame, rng.integers(0, 2, 60))
