"""A2DE: its counts of triples, the forecast of their memory, and what it falls back to."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers._statistics import Statistics
from tunbridge.classifiers.averages.a2de import TripleCounts, forecast_triples
from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError


def random_rows(n=300, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, n_features)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, 3, n)


def statistics_of(X, y, **parameters) -> Statistics:
    return tb.A2DEClassifier(categorical="all").fit(X, y, **parameters).statistics_


class TestTriples:
    @pytest.mark.parametrize("n", [300, 9000])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_every_cell_is_the_number_of_its_rows(self, n, weighted):
        X, y = random_rows(n)
        weights = np.random.default_rng(1).integers(0, 4, n) / 2 if weighted else np.ones(n)
        found = statistics_of(X, y, sample_weight=weights if weighted else None)
        codes = [
            [list(v.states).index(s) if s in v.states else -1 for s in X[:, j]] for j, v in enumerate(found.variables)
        ]
        codes = np.array(codes)
        for f, g, h in combinations(range(5), 3):
            table = found.triples.counts.table(f, g, h)
            for a, b, k, c in product(range(3), range(3), range(3), range(3)):
                rows = (codes[f] == a) & (codes[g] == b) & (codes[h] == k) & (y == c)
                assert table[a, b, k, c] == weights[rows].sum()
        assert found.triples.counts.cells.dtype == (np.float64 if weighted else np.int64)

    def test_beside_a_pair_stand_all_others(self):
        counts = statistics_of(*random_rows()).triples.counts
        for f, g in combinations(range(5), 2):
            found = counts.beside(f, g)
            for h in range(5):
                part = found[:, :, counts.first[h] : counts.first[h + 1]]
                if h in (f, g):
                    assert not part.any()
                    continue
                order = sorted((f, g, h))
                table = np.moveaxis(counts.table(*order), [order.index(f), order.index(g), order.index(h)], [0, 1, 2])
                np.testing.assert_array_equal(part, table)

    def test_merging_adds(self):
        X, y = random_rows()
        whole, parts = statistics_of(X, y), [statistics_of(X[some], y[some]) for some in (slice(0, 99), slice(99, 300))]
        merged = parts[0].merge(parts[1])
        order = [[merged.variables[j].code(s) for s in v.states] for j, v in enumerate(whole.variables)]
        for f, g, h in combinations(range(5), 3):
            again = merged.triples.counts.table(f, g, h)[np.ix_(order[f], order[g], order[h])]
            np.testing.assert_array_equal(again, whole.triples.counts.table(f, g, h))

    def test_merging_is_symmetric_in_classes_and_states_that_are_new(self):
        one = statistics_of({"a": ["u"], "b": ["p"], "c": ["0"]}, ["y"])
        two = statistics_of({"a": ["w"], "b": ["p"], "c": ["1"]}, ["x"])
        merged = one.merge(two)
        assert merged.triples.counts.table(0, 1, 2).tolist() == [[[[0, 1], [0, 0]]], [[[0, 0], [1, 0]]]]


class TestForecast:
    def test_the_arrays_are_as_large_as_forecast(self):
        X, y = random_rows()
        clf = tb.A2DEClassifier(categorical="all").fit(X, y)
        found = tb.A2DEClassifier.forecast(clf.statistics_.encoding.coded, n_classes=3)
        assert found.counts == clf.statistics_.triples.counts.cells.nbytes
        assert found.tables == clf._model.tables.nbytes
        assert found.n_triples == 10
        assert found == tb.A2DEClassifier.forecast([3] * 5, 3)
        assert found.total == found.counts + found.tables + found.work

    @pytest.mark.parametrize("n_states", [[], [4], [2, 3], [2, 3, 4], [0, 5, 2, 7]])
    def test_few_features(self, n_states):
        expected = 8 * 2 * sum(a * b * c for a, b, c in combinations(n_states, 3))
        assert forecast_triples(n_states, 2).counts == expected

    def test_it_says_whether_it_fits(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e9")
        few, many = tb.A2DEClassifier.forecast([3] * 20, 2), tb.A2DEClassifier.forecast([10] * 500, 10)
        assert few.fits
        assert not many.fits
        assert str(few).startswith("1 140 triples of features: ")
        assert str(many).endswith("beyond the limit of 953.7 MiB")

    @pytest.mark.parametrize(
        ("features", "n_classes", "message"),
        [
            (7, 2, "features must be a list of variables or of numbers of states; got int"),
            ("abc", 2, "features must be a list"),
            ([2, -1], 2, "the number of states must be at least 0; got -1"),
            ([2.5], 2, "the number of states must be an integer"),
            ([Variable("age")], 2, "features must have states; 'age' is continuous. Give the number of intervals"),
            ([Variable("a", ["u"])], 0, "n_classes must be at least 1; got 0"),
        ],
    )
    def test_bad_questions(self, features, n_classes, message):
        with pytest.raises(DataError, match=message):
            tb.A2DEClassifier.forecast(features, n_classes)

    def test_too_large_is_refused_before_anything_is_counted(self, monkeypatch):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 20, (300, 20))
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e8")
        monkeypatch.setattr(TripleCounts, "flat", None)
        expected = (
            r"A2DE of 20 features with 400 states \('x0' alone has 20\) for 2 classes \(.* of counts, .* of tables\)"
        )
        with pytest.raises(MemoryForecastError, match=expected + r" would need .* 95\.4 MiB\. Use AODEClassifier"):
            tb.A2DEClassifier(categorical="all").fit(X, rng.integers(0, 2, 300))

    def test_too_large_a_sum_is_refused(self, monkeypatch):
        X, y = random_rows()
        clf = tb.A2DEClassifier(categorical="all").fit(X, y)
        before = clf.predict_proba(X)
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", str(forecast_triples([3] * 5, 3).total + 100))
        with pytest.raises(MemoryForecastError, match="A2DE of 5 features"):
            clf.partial_fit(X, y)
        np.testing.assert_array_equal(clf.predict_proba(X), before)


class TestModel:
    def test_three_bits_that_no_pair_tells(self):
        """The class is the parity of three bits: AODE sees nothing in them, A2DE all."""
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (2000, 3))
        y = X.sum(axis=1) % 2
        assert tb.AODEClassifier(categorical="all").fit(X, y).score(X, y) < 0.7
        assert tb.A2DEClassifier(categorical="all").fit(X, y).score(X, y) == 1.0

    def test_rows_whose_pairs_never_occurred_are_left_to_aode(self):
        X = {"a": ["u", "v", "u", "v"], "b": ["p", "q", "p", "q"], "c": ["s", "t", "s", "s"]}
        y = ["x", "y", "y", "y"]
        row = {"a": "u", "b": "q", "c": None}
        two, one = tb.A2DEClassifier().fit(X, y), tb.AODEClassifier().fit(X, y)
        np.testing.assert_allclose(two.predict_joint_log_proba(row), one.predict_joint_log_proba(row), rtol=1e-12)
        many = {"a": ["u", "u"] * 6000, "b": ["q", "p"] * 6000, "c": [None, "s"] * 6000}
        np.testing.assert_allclose(two.predict_proba(many)[0], one.predict_proba(row)[0], rtol=1e-12)
        assert not np.allclose(two.predict_proba(many)[1], one.predict_proba(many)[1])

    def test_joint_probabilities_of_all_rows_sum_to_one(self):
        X, y = random_rows(500, 3)
        X, y = X[~np.isnan(X).any(axis=1)], y[~np.isnan(X).any(axis=1)]
        every = np.array(list(product([0.0, 1.0, 2.0], repeat=3)))
        for smoothing in ("m-estimate", "hierarchical", 0.5):
            for cls in (tb.AODEClassifier, tb.A2DEClassifier):
                joint = cls(categorical="all", smoothing=smoothing).fit(X, y).predict_joint_log_proba(every)
                np.testing.assert_allclose(np.exp(joint).sum(), 1.0, rtol=1e-12)

    def test_the_order_of_columns_does_not_matter(self):
        X, y = random_rows()
        usual = tb.A2DEClassifier(categorical="all", smoothing="hierarchical").fit(X, y).predict_proba(X)
        other = (
            tb.A2DEClassifier(categorical="all", smoothing="hierarchical").fit(X[:, ::-1], y).predict_proba(X[:, ::-1])
        )
        np.testing.assert_allclose(usual, other, rtol=1e-12)

    def test_a_damaged_file_is_refused(self):
        content = tb.A2DEClassifier(categorical="all").fit(*random_rows()).to_content()
        cells = content["statistics"]["triples"]
        for wrong, message in ((cells[:-1], "do not belong"), (-1.0 - cells, "numbers of at least 0")):
            content["statistics"]["triples"] = wrong
            with pytest.raises(ValueError, match=message):
                tb.A2DEClassifier.from_content(content)
