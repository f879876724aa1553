"""The Bayes optimal classifier: hypotheses, their posterior weights, averages and draws."""

from __future__ import annotations

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.classifiers._rows import Examples


def pair(**settings):
    return tb.BayesOptimalClassifier([("naive", tb.NaiveBayesClassifier()), ("tree", tb.TANClassifier())], **settings)


def dependent(n=60, seed=0):
    """Return features of which two differ exactly when the class is 1, mostly, and the class."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, 2, n), rng.integers(0, 2, n)
    y = np.where(rng.random(n) < 0.9, left != right, left == right).astype(int)
    frame = {"left": left, "right": right, "signal": np.where(rng.random(n) < 0.7, y, 1 - y)}
    return {name: [f"s{v}" for v in column] for name, column in frame.items()}, y


class TestWeights:
    def test_the_training_likelihood(self):
        table = tb.datasets.play_tennis()
        model = pair(weights="training").fit(table, "play")
        logs = []
        for inner in (tb.NaiveBayesClassifier(), tb.TANClassifier()):
            shares = inner.fit(table, "play").predict_proba(table)
            logs.append(np.log(shares[np.arange(14), table.column("play").values]).sum())
        np.testing.assert_allclose(list(model.log_likelihoods_.values()), logs, rtol=1e-12)
        expected = np.exp(logs - np.max(logs))
        np.testing.assert_allclose(list(model.weights_.values()), expected / expected.sum(), rtol=1e-10)

    def test_the_cross_validated_likelihood(self):
        frame, y = dependent()
        model = pair(folds=4, random_state=3).fit(frame, y)
        plain = tb.NaiveBayesClassifier().fit(frame, y)
        folds = Examples(plain._rows(frame), y, plain.statistics_.target).folds(4, seed=3)
        total = 0.0
        for share in folds:
            held = share > 0
            parts = [{n: np.array(c)[which].tolist() for n, c in frame.items()} for which in (~held, held)]
            shares = tb.NaiveBayesClassifier().fit(parts[0], y[~held]).predict_proba(parts[1])
            total += np.log(shares[np.arange(held.sum()), y[held]]).sum()
        assert model.log_likelihoods_["naive"] == pytest.approx(total, rel=1e-10)

    def test_what_fits_the_data_has_the_weight(self):
        frame, y = dependent(200)
        assert pair().fit(frame, y).weights_["tree"] > 0.99
        rng = np.random.default_rng(1)
        noise = {f"x{j}": [f"s{v}" for v in rng.integers(0, 6, 60)] for j in range(6)}
        naive_or_learned_by_heart = tb.BayesOptimalClassifier(
            {"naive": tb.NaiveBayesClassifier(), "many": tb.KDBClassifier(k=4, smoothing=0.01)}
        )
        labels = rng.integers(0, 2, 60)
        assert naive_or_learned_by_heart.fit(noise, labels).weights_["naive"] > 0.99
        assert naive_or_learned_by_heart.set_params(weights="training").fit(noise, labels).weights_["many"] > 0.99

    def test_given_weights(self):
        table = tb.datasets.play_tennis()
        for given in ([1, 3], np.array([0.25, 0.75]), {"tree": 3, "naive": 1}):
            found = pair(weights=given).fit(table, "play").weights_
            assert found == pytest.approx({"naive": 0.25, "tree": 0.75}, rel=1e-12)

    def test_priors_multiply(self):
        table = tb.datasets.play_tennis()
        plain, priced = pair().fit(table, "play"), pair(prior={"naive": 1, "tree": 9}).fit(table, "play")
        odds = [m.weights_["tree"] / m.weights_["naive"] for m in (plain, priced)]
        assert odds[1] == pytest.approx(9 * odds[0], rel=1e-10)

    def test_weights_of_rows_count(self):
        frame, y = dependent(40)
        times = np.arange(40) % 3
        copies = {name: np.repeat(column, times).tolist() for name, column in frame.items()}
        a = pair().fit(frame, y, sample_weight=times)
        b = pair().fit(copies, np.repeat(y, times))
        np.testing.assert_allclose(list(a.weights_.values()), list(b.weights_.values()), rtol=1e-9)
        np.testing.assert_allclose(a.predict_proba(frame), b.predict_proba(frame), rtol=1e-9)

    def test_the_order_of_rows_does_not_matter(self):
        rng = np.random.default_rng(0)
        y, order = rng.integers(0, 2, 50), rng.permutation(50)
        X = rng.normal(y[:, None], 1.5, (50, 3))
        a, b = pair().fit(X, y), pair().fit(X[order], y[order])
        np.testing.assert_allclose(list(a.weights_.values()), list(b.weights_.values()), rtol=1e-10)


class TestAverage:
    def test_it_is_the_weighted_mean(self):
        table = tb.datasets.play_tennis()
        model = pair(weights=[0.3, 0.7]).fit(table, "play")
        naive, tree = (m.predict_proba(table) for m in model.estimators_.values())
        np.testing.assert_allclose(model.predict_proba(table), 0.3 * naive + 0.7 * tree, rtol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(table)), 0.3 * naive + 0.7 * tree, rtol=1e-12)

    def test_the_default_hypotheses(self):
        frame, y = dependent()
        model = tb.BayesOptimalClassifier().fit(frame, y)
        assert list(model.weights_) == ["naive Bayes", "TAN", "k-DB"]
        assert sum(model.weights_.values()) == pytest.approx(1.0)

    def test_missing_cells_and_explanations(self):
        frame, y = dependent()
        model = pair(weights=[0.5, 0.5]).fit(frame, y)
        for row in ({"left": "s0", "right": "s1", "signal": "s1"}, {"right": "s1"}, {"left": None}):
            odds = np.log(model.predict_proba(row)[0])
            found = model.explain(row, label=1, against=0)
            assert found.log_odds == pytest.approx(odds[1] - odds[0], rel=1e-9, abs=1e-12)
        assert set(model.importance()) == set(frame)
        assert model.what_if({"left": "s0", "right": "s1", "signal": "s1"}).label == 1

    def test_numbers(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 80)
        X = rng.normal(y[:, None], 1.0, (80, 3))
        model = pair().fit(X, y)
        assert model.score(X, y) > 0.7
        assert model.what_if(X[:1])[0].label == model.predict(X[:1])[0]

    def test_impossible_rows_get_the_prior_of_each_hypothesis(self):
        naive = ("naive", tb.NaiveBayesClassifier(smoothing=0))
        frame = {"x": ["a", "a", "b"], "z": ["u", "u", "v"]}
        model = tb.BayesOptimalClassifier([naive], weights=[1]).fit(frame, [0, 0, 1])
        np.testing.assert_allclose(model.predict_proba({"x": "a", "z": "v"}), [[2 / 3, 1 / 3]], rtol=1e-12)

    def test_threads_do_not_matter(self):
        frame, y = dependent()
        np.testing.assert_array_equal(*(pair(n_jobs=n).fit(frame, y).predict_proba(frame) for n in (1, 3)))


class TestGibbs:
    def test_every_row_is_answered_by_one_hypothesis(self):
        frame, y = dependent(200)
        model = pair(weights=[0.3, 0.7], gibbs=True).fit(frame, y)
        naive, tree = (m.predict_proba(frame) for m in model.estimators_.values())
        found = model.predict_proba(frame)
        is_naive, is_tree = (np.isclose(found, p, rtol=1e-12, atol=0).all(axis=1) for p in (naive, tree))
        assert (is_naive | is_tree).all()
        assert is_naive.any()
        assert is_tree.any()
        np.testing.assert_array_equal(found, model.predict_proba(frame))
        np.testing.assert_array_equal(model.predict(frame), model.classes_[found.argmax(axis=1)])

    def test_hypotheses_are_drawn_as_often_as_they_are_probable(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(4000, 2))
        model = pair(weights=[0.3, 0.7], gibbs=True).fit(X, (X[:, 0] > 0).astype(int))
        naive = next(iter(model.estimators_.values()))
        share = np.isclose(model.predict_proba(X), naive.predict_proba(X), rtol=1e-12, atol=0).all(axis=1).mean()
        assert share == pytest.approx(0.3, abs=0.03)  # four standard errors of 4000 draws

    def test_seeds(self):
        frame, y = dependent(200)
        models = [pair(weights=[0.5, 0.5], gibbs=True, random_state=s).fit(frame, y) for s in (0, 1, None)]
        first, second, free = (m.predict_proba(frame) for m in models)
        assert (first != second).any()
        draws = [models[2].predict_proba(frame) for _ in range(5)] + [free]
        assert any((a != draws[0]).any() for a in draws)

    def test_equal_rows_are_answered_alike_in_any_order(self):
        frame, y = dependent(200)
        model = pair(weights=[0.5, 0.5], gibbs=True).fit(frame, y)
        found = model.predict_proba(frame)
        order = np.random.default_rng(0).permutation(200)
        shuffled = {name: np.array(column)[order].tolist() for name, column in frame.items()}
        np.testing.assert_array_equal(model.predict_proba(shuffled), found[order])

    def test_the_error_is_at_most_twice_that_of_the_average(self):
        # over draws of the truth from the hypotheses, which is what the theorem is about
        frame, y = dependent(300, seed=2)
        model = pair(weights=[0.5, 0.5]).fit(frame, y)
        naive, tree = (m.predict_proba(frame) for m in model.estimators_.values())
        average = 0.5 * naive + 0.5 * tree
        optimal = 1 - average.max(axis=1).mean()
        drawn = [1 - average[np.arange(300), p.argmax(axis=1)].mean() for p in (naive, tree)]
        assert optimal <= np.mean(drawn) <= 2 * optimal


class TestPrefit:
    def test_classifiers_stay_as_they_are(self):
        frame, y = dependent(80)
        new, truth = dependent(40, seed=9)
        naive, tree = tb.NaiveBayesClassifier().fit(frame, y), tb.TANClassifier().fit(frame, y)
        model = tb.BayesOptimalClassifier([("naive", naive), ("tree", tree)], prefit=True).fit(new, truth)
        for inner, name in ((naive, "naive"), (tree, "tree")):
            shares = inner.predict_proba(new)[np.arange(40), truth]
            assert model.log_likelihoods_[name] == pytest.approx(np.log(shares).sum(), rel=1e-10)
            np.testing.assert_array_equal(model.estimators_[name].predict_proba(frame), inner.predict_proba(frame))
        assert not hasattr(model, "partial_fit")

    def test_states_and_classes_may_differ(self, tmp_path):
        one = tb.NaiveBayesClassifier().fit({"x": ["a", "b", "a"], "z": ["u", "u", "v"]}, ["no", "yes", "no"])
        two = tb.NaiveBayesClassifier().fit({"x": ["c", "b", "a"], "z": ["v", "w", "v"]}, ["maybe", "yes", "no"])
        model = tb.BayesOptimalClassifier({"one": one, "two": two}, prefit=True, weights=[0.5, 0.5])
        model.fit({"x": ["a", "c"], "z": ["u", "w"]}, ["no", "yes"])
        assert model.classes_.tolist() == ["maybe", "no", "yes"]
        found = model.predict_proba({"x": ["b"], "z": ["u"]})
        first = one.predict_proba({"x": ["b"], "z": ["u"]})[0]
        second = two.predict_proba({"x": ["b"], "z": [None]})[0]
        np.testing.assert_allclose(found[0], 0.5 * np.array([0.0, *first]) + 0.5 * second, rtol=1e-12)
        model.save(tmp_path / "m.tb")
        np.testing.assert_array_equal(tb.load(tmp_path / "m.tb").predict_proba({"x": ["b"], "z": ["u"]}), found)

    def test_what_must_agree(self):
        one = tb.NaiveBayesClassifier().fit({"x": ["a", "b"]}, [0, 1])
        two = tb.NaiveBayesClassifier().fit({"y": ["a", "b"]}, [0, 1])
        with pytest.raises(tb.DataError, match="the same columns of the same kinds; 'one' has 'x', 'two' has 'y'"):
            tb.BayesOptimalClassifier({"one": one, "two": two}, prefit=True).fit({"x": ["a"]}, [0])
        both = {"one": one, "two": tb.NaiveBayesClassifier()}
        with pytest.raises(tb.DataError, match="must have been fitted where prefit is True; 'two' has not"):
            tb.BayesOptimalClassifier(both, prefit=True).fit({"x": ["a"]}, [0])


class TestFurtherRows:
    def test_they_are_predicted_before_they_are_learned(self):
        frame, y = dependent(60)
        more, truth = dependent(30, seed=4)
        model = pair().fit(frame, y)
        before = dict(model.log_likelihoods_)
        told = {
            name: np.log(m.predict_proba(more)[np.arange(30), truth]).sum() for name, m in model.estimators_.items()
        }
        model.partial_fit(more, truth)
        for name in before:
            assert model.log_likelihoods_[name] == pytest.approx(before[name] + told[name], rel=1e-10)
        whole = {name: frame[name] + more[name] for name in frame}
        plain = tb.NaiveBayesClassifier().fit(whole, np.concatenate([y, truth]))
        np.testing.assert_allclose(
            model.estimators_["naive"].predict_proba(more), plain.predict_proba(more), rtol=1e-12
        )
        assert model.class_count_.sum() == 90

    def test_new_classes(self):
        frame, y = dependent(60)
        model = pair().fit(frame, y).partial_fit({name: ["s0", "s5"] for name in frame}, [2, 1])
        assert model.classes_.tolist() == [0, 1, 2]
        assert np.isfinite(list(model.log_likelihoods_.values())).all()

    def test_only_where_all_hypotheses_can(self):
        assert hasattr(pair(), "partial_fit")
        inside = [("a", tb.NaiveBayesClassifier()), ("b", tb.CalibratedClassifier())]
        assert not hasattr(tb.BayesOptimalClassifier(inside), "partial_fit")


class TestFilesAndErrors:
    def test_files(self, tmp_path):
        frame, y = dependent()
        model = pair(prior=[1, 2]).fit(frame, y)
        model.save(tmp_path / "m.tb")
        again = tb.load(tmp_path / "m.tb")
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
        assert (again.weights_, again.log_likelihoods_) == (model.weights_, model.log_likelihoods_)
        again.partial_fit(frame, y)
        model.partial_fit(frame, y)
        np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))

    @pytest.mark.parametrize("damage", ["log_likelihoods", "variables"])
    def test_damaged_files(self, damage):
        content = pair().fit(tb.datasets.play_tennis(), "play").to_content()
        if damage == "variables":
            content["statistics"]["variables"].pop()
        else:
            content["statistics"]["log_likelihoods"] = np.array([0.0, np.nan])
        with pytest.raises(ValueError, match=r"an array must hold finite numbers|its hypotheses have other features"):
            tb.BayesOptimalClassifier.from_content(content)

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"estimators": []}, r"estimators must be pairs of a name and a classifier of Tunbridge; got \[\]\."),
            ({"estimators": [tb.NaiveBayesClassifier()]}, r"Write \[\('name', classifier\), …\]\."),
            ({"estimators": [("a", "nb")]}, r"'a' is 'nb'\."),
            ({"estimators": [("a", tb.TANClassifier)]}, r"Make one: TANClassifier\(\)\."),
            ({"estimators": [("a", tb.TANClassifier())] * 2}, r"estimators must have different names; got 'a' twice\."),
            ({"weights": "best"}, r"weights must be 'cross-validated', 'training', or numbers; got 'best'\."),
            ({"weights": [1, 2]}, r"weights must have one number for each of 3 estimators; got \(2,\)\."),
            ({"weights": [1, -2, 1]}, r"weights must be at least 0, and not all 0; got"),
            ({"prior": "flat"}, r"prior must be numbers; got 'flat'\."),
            ({"prior": {"TAN": 1}}, r"prior must have a number for each estimator; 'naive Bayes', 'k-DB' has none\."),
            ({"prior": {"tan": 1}}, r"prior must name the estimators; got 'tan'\. Did you mean 'TAN'\?"),
            ({"prior": [[1], "x", 2]}, r"prior must be numbers; got"),
            ({"folds": 1}, r"folds must be at least 2; got 1\."),
            ({"gibbs": "yes"}, r"gibbs must be True or False; got 'yes'\."),
            ({"prefit": 1}, r"prefit must be True or False; got 1\."),
            ({"random_state": -1}, r"random_state must be a non-negative integer"),
            ({"weights": [1, 0, 0], "prior": [0, 1, 1]}, r"some hypothesis must be possible"),
        ],
    )
    def test_parameters(self, parameters, message):
        with pytest.raises(tb.DataError, match=message):
            tb.BayesOptimalClassifier(**parameters).fit(tb.datasets.play_tennis(), "play")

    def test_hypotheses_must_read_columns_alike(self):
        inside = {"a": tb.NaiveBayesClassifier(categorical="all"), "b": tb.TANClassifier()}
        with pytest.raises(tb.DataError, match="must take the same columns as categorical; 'a' has categorical='all'"):
            tb.BayesOptimalClassifier(inside).fit({"x": [1.0, 2.0]}, [0, 1])
