"""TAN and k-DB: what their parameters do, and what odd data get."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError, MemoryForecastError, UnseenStateWarning

BOTH = [tb.TANClassifier, tb.KDBClassifier]


def xor(n=400, seed=0):
    """Rows whose class only two features together tell, with a third that is noise."""
    rng = np.random.default_rng(seed)
    a, b, noise = rng.integers(0, 2, (3, n))
    y = np.where(rng.random(n) < 0.95, a ^ b, 1 - (a ^ b))
    return {"a": a.astype(str), "b": b.astype(str), "noise": noise.astype(str)}, y


@pytest.mark.parametrize("cls", BOTH)
class TestBoth:
    def test_sees_what_naive_bayes_cannot(self, cls):
        X, y = xor()
        assert tb.NaiveBayesClassifier().fit(X, y).score(X, y) < 0.6
        assert cls().fit(X, y).score(X, y) > 0.93

    def test_numbers_are_cut_by_the_classes(self, cls):
        rng = np.random.default_rng(1)
        y = rng.integers(0, 2, 300)
        X = np.column_stack([rng.normal(3 * y, 1), rng.normal(size=300)])
        clf = cls().fit(X, y)
        assert len(clf.statistics_.encoding.cuts[0].cuts) >= 1
        assert clf.statistics_.encoding.cuts[1].cuts == ()
        assert clf.score(X, y) > 0.9

    def test_each_parameter_changes_the_result(self, cls):
        X, y = xor(60)
        X["a"][:9] = None
        X = {name: [None if v == "None" else v for v in column] for name, column in X.items()}
        usual = cls().fit(X, y).predict_proba(X)
        others = [{"smoothing": 1.0}, {"class_prior": [0.9, 0.1]}, {"missing": "state"}]
        others.append({"k": 0} if cls is tb.KDBClassifier else {"forest": 10.0})
        for other in others:
            assert not np.allclose(cls(**other).fit(X, y).predict_proba(X), usual), other

    def test_threads_do_not_matter(self, cls):
        X, y = xor(30_000)
        clf = cls().fit(X, y)
        one = cls(n_jobs=1).fit(X, y)
        np.testing.assert_array_equal(one.predict_proba(X), clf.predict_proba(X))

    def test_weights_are_replication(self, cls):
        X, y = xor(50)
        w = np.arange(50) % 4
        weighted = cls().fit(X, y, sample_weight=w)
        copied = cls().fit({n: np.repeat(c, w) for n, c in X.items()}, np.repeat(y, w))
        np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), rtol=1e-12, atol=0)

    def test_a_column_that_is_always_missing_says_nothing(self, cls):
        X, y = xor(80)
        with_empty = {"empty": [None] * 80, **X}
        found = cls().fit(with_empty, y)
        np.testing.assert_allclose(found.predict_proba(with_empty), cls().fit(X, y).predict_proba(X), rtol=1e-12)

    def test_a_constant_column_changes_nothing(self, cls):
        X, y = xor(80)
        found = cls(smoothing=1.0).fit({"same": ["s"] * 80, **X}, y)
        assert found.score({"same": ["s"] * 80, **X}, y) == cls(smoothing=1.0).fit(X, y).score(X, y)

    def test_a_feature_may_be_called_like_the_target(self, cls):
        X, y = xor(50)
        renamed = {"class": X["a"], "class'": X["b"]}
        plain = {"a": X["a"], "b": X["b"]}
        np.testing.assert_array_equal(
            cls().fit(renamed, y).predict_proba(renamed), cls().fit(plain, y).predict_proba(plain)
        )

    def test_one_class_and_one_row(self, cls):
        assert cls().fit({"a": ["u"]}, ["x"]).predict_proba({"a": ["u"]}).tolist() == [[1.0]]

    def test_unseen_states_are_missing(self, cls):
        X, y = xor(200)
        clf = cls().fit(X, y)
        with pytest.warns(UnseenStateWarning, match="'a' holds '7'"):
            odd = clf.predict_proba({"a": ["7"], "b": ["1"], "noise": ["0"]})
        np.testing.assert_allclose(odd, clf.predict_proba({"b": "1", "noise": "0"}), rtol=1e-12)

    def test_new_classes_and_states_come_in_later(self, cls):
        clf = cls().partial_fit({"a": ["u", "v"], "b": ["p", "q"]}, ["x", "y"])
        clf.partial_fit({"a": ["w", "u"], "b": ["p", "p"]}, ["n", "x"])
        assert clf.classes_.tolist() == ["n", "x", "y"]
        assert clf.class_count_.tolist() == [1, 2, 1]
        assert clf.predict({"a": "w", "b": "p"}).tolist() == ["n"]

    def test_missing_as_a_state_in_batches(self, cls):
        clf = cls(missing="state", categorical="all")
        X = {"a": ["u", None, "v", "u"], "b": ["p", "q", None, "q"]}
        clf.fit(X, ["x", "y", "y", "x"])
        clf.partial_fit({"a": ["w", None], "b": ["p", "p"]}, ["x", "y"])
        assert clf.predict({"a": None, "b": "p"}).tolist() == ["y"]

    def test_evidence_adds_up_with_and_without_holes(self, cls):
        X, y = xor(100)
        clf = cls().fit(X, y)
        for row in ({"a": "1", "b": "0", "noise": "1"}, {"b": "0", "noise": "1"}, {"a": "1"}, {}):
            told = clf.explain(row) if row else clf.explain({"a": None})
            p = told.probabilities
            assert told.log_odds == pytest.approx(np.log(p[told.label] / p[told.against]), abs=1e-10)

    def test_bad_parameters(self, cls):
        X, y = xor(20)
        with pytest.raises(DataError, match="missing must be one of 'marginal', 'state'; got 'drop'"):
            cls(missing="drop").fit(X, y)
        with pytest.raises(DataError, match="prior must be"):
            cls(smoothing="lots").fit(X, y)


class TestTAN:
    def test_the_tree_is_that_of_structure_learning(self):
        table = tb.example_network("asia").sample(2000, random_state=0)
        clf = tb.TANClassifier(root="bronc").fit(table, "lung")
        dag = tb.learn_structure(table, search=tb.TAN("lung", root="bronc"))
        for name, parent in clf.parents_.items():
            assert set(dag.parents(name)) == {"lung", parent} - {None}

    def test_a_forest_leaves_useless_arcs_out(self):
        X, y = xor(500)
        parents = tb.TANClassifier(forest="bic").fit(X, y).parents_
        assert parents == {"a": None, "b": "a", "noise": None}

    def test_the_smoothing_of_the_paper(self):
        table = tb.datasets.play_tennis()
        clf = tb.TANClassifier(smoothing=tb.MEstimate(5, "marginal")).fit(table, "play")
        # wind given outlook and play: P(Strong) = 6/14 in all rows; Sunny and no: one of three days was strong.
        wind = clf._model.cpts[3].probabilities
        assert wind[0, 2, 0] == pytest.approx((1 + 5 * 6 / 14) / (3 + 5))

    def test_unknown_root(self):
        X, y = xor(20)
        with pytest.raises(DataError, match=r"root must name a feature; got 'nose'\. Did you mean 'noise'"):
            tb.TANClassifier(root="nose").fit(X, y)

    def test_hierarchical_smoothing_of_an_unseen_configuration_is_that_of_the_class(self):
        rng = np.random.default_rng(0)
        X = {"a": ["u"] * 30 + ["v"] * 10, "b": rng.choice(["p", "q"], 40).tolist()}
        y = ["x"] * 30 + ["y"] * 10
        clf = tb.TANClassifier(smoothing=tb.BackOff(2.0, drop="last"), root="a").fit(X, y)
        table = clf._model.cpts[1].probabilities  # class, a, b; class x has no row with a = v
        naive = tb.KDBClassifier(0, smoothing=tb.BackOff(2.0, drop="last")).fit(X, y)._model.cpts[1].probabilities
        np.testing.assert_allclose(table[0, 1], naive[0], rtol=1e-12)


class TestKDB:
    def test_no_parents_is_naive_bayes(self):
        X, y = xor(100)
        naive = tb.NaiveBayesClassifier(smoothing=1.0).fit(X, y)
        found = tb.KDBClassifier(0, smoothing=1.0).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(X), naive.predict_proba(X), rtol=1e-12)

    def test_structure_is_that_of_structure_learning(self):
        table = tb.example_network("asia").sample(2000, random_state=0)
        clf = tb.KDBClassifier(2).fit(table, "lung")
        dag = tb.learn_structure(table, search=tb.KDependence("lung", k=2))
        for name, parents in clf.parents_.items():
            assert set(dag.parents(name)) == {"lung", *parents}

    def test_k_must_be_whole(self):
        with pytest.raises(DataError, match="k must be"):
            tb.KDBClassifier(k=1.5).fit(*xor(20))

    def test_tables_that_do_not_fit_are_forecast(self):
        rng = np.random.default_rng(0)
        X = {f"x{j}": rng.integers(0, 300, 900).astype(str) for j in range(5)}
        with pytest.raises(MemoryForecastError, match="Allow fewer parents"):
            tb.KDBClassifier(4, categorical="all").fit(X, rng.integers(0, 2, 900))

    def test_further_rows_keep_the_structure(self):
        X, y = xor(300)
        clf = tb.KDBClassifier(1).fit(X, y)
        before = clf.parents_
        clf.partial_fit({n: c[:50] for n, c in X.items()}, y[:50])
        assert clf.parents_ == before
        assert clf.class_count_.sum() == 350


class TestFiles:
    @pytest.mark.parametrize("cls", BOTH)
    def test_a_loaded_model_goes_on_learning(self, cls, tmp_path):
        X, y = xor(90)
        clf = cls().fit(X, y)
        clf.save(tmp_path / "m.tb")
        loaded = tb.load(tmp_path / "m.tb").partial_fit(X, y)
        np.testing.assert_array_equal(loaded.predict_proba(X), clf.partial_fit(X, y).predict_proba(X))

    def test_parts_that_do_not_belong_together(self):
        X, y = xor(30)
        content = tb.KDBClassifier(1).fit(X, y).to_content()
        content["statistics"]["parents"] = [[1], [0], []]
        with pytest.raises(ValueError, match="cycle"):
            tb.KDBClassifier.from_content(content)
        content = tb.TANClassifier().fit(X, y).to_content()
        content["statistics"]["pairs"] = content["statistics"]["pairs"][:, :-1]
        with pytest.raises(ValueError, match="do not belong"):
            tb.TANClassifier.from_content(content)
