"""What the classifiers with dependences between features do at the edges: odd names, weights, widths and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import tunbridge as tb
from tunbridge.classifiers._reading import categorical_mask
from tunbridge.classifiers._rows import Examples, distinct_rows
from tunbridge.classifiers._statistics import parents_first
from tunbridge.classifiers.averages._members import fit_exponents
from tunbridge.data import Column, Table, Variable
from tunbridge.data.table import natural_type
from tunbridge.errors import DataError, MemoryForecastError

GOING_ON = [
    tb.TANClassifier(),
    tb.TANClassifier(numeric="gaussian"),
    tb.KDBClassifier(),
    tb.KDBClassifier(numeric="gaussian"),
    tb.SelectiveKDBClassifier(2),
    tb.MultinetClassifier(),
    tb.BayesNetClassifier(),
    tb.BayesNetClassifier(numeric="gaussian", missing="em"),
]


def mixed(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    return {
        "s": np.where(y == "a", "p", np.array(["q", "r"])[rng.integers(0, 2, n)]).tolist(),
        "t": np.array(["u", "v"])[rng.integers(0, 2, n)].tolist(),
        "x": (rng.normal(size=n) + (y == "b")).tolist(),
        "z": rng.normal(size=n).tolist(),
    }, y


def part(X, start, stop):
    return {name: column[start:stop] for name, column in X.items()}


@pytest.mark.parametrize("estimator", GOING_ON, ids=str)
def test_a_later_batch_may_call_the_class_by_another_name(estimator):
    pd = pytest.importorskip("pandas")
    X, y = mixed()
    plain = clone(estimator).partial_fit(part(X, 0, 30), y[:30]).partial_fit(part(X, 30, 60), y[30:])
    named = clone(estimator).partial_fit(part(X, 0, 30), y[:30])
    named.partial_fit(part(X, 30, 60), pd.Series(y[30:], name="result"))
    assert named.statistics_.target.name == "class"
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))


GAPS = [
    tb.TANClassifier(missing="state"),
    tb.TANClassifier(missing="state", numeric="gaussian"),
    tb.KDBClassifier(1, missing="state"),
    tb.KDBClassifier(1, missing="state", numeric="gaussian"),
    tb.SelectiveKDBClassifier(1, missing="state"),
    tb.MultinetClassifier(missing="state"),
    tb.AODEClassifier(missing="state"),
    tb.A2DEClassifier(missing="state"),
    tb.BayesNetClassifier(structure=tb.DAG(arcs=[("class", "s"), ("class", "t"), ("s", "t")]), missing="state"),
]


@pytest.mark.parametrize("estimator", GAPS, ids=str)
def test_a_missing_cell_is_not_the_text_missing_that_comes_later(estimator):
    X, y = mixed()
    for i in range(0, 30, 3):
        X["s"][i] = None
    X = X if "numeric='gaussian'" in str(estimator) else {name: X[name] for name in ("s", "t")}
    first, second = part(X, 0, 30), part(X, 30, 60)
    renamed = {**second, "s": ["(missing)" if s == "q" else s for s in second["s"]]}
    new = {**second, "s": ["new" if s == "q" else s for s in second["s"]]}
    models = [clone(estimator).partial_fit(first, y[:30]).partial_fit(each, y[30:]) for each in (renamed, new)]
    for rows, other in ((first, first), (renamed, new), ({"s": "(missing)"}, {"s": "new"}), ({"s": None}, {"s": None})):
        found, expected = models[0].predict_proba(rows), models[1].predict_proba(other)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)


def test_a_new_row_of_weight_zero_is_no_row():
    X, y = mixed()
    w = np.zeros(60)
    w[0] = 1.0
    lone = tb.BayesNetClassifier().fit(part(X, 0, 1), y[:1])
    weighted = tb.BayesNetClassifier().fit(X, y, sample_weight=w)
    assert weighted.dag_.arcs == lone.dag_.arcs == ()


class TestWide:
    """A long chain: what takes a step for each pair of features would be noticed here."""

    def chain(self, n_features):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 200)
        return rng.normal(size=(200, n_features)).cumsum(axis=1) + y[:, None], y

    def test_numbers_with_holes_are_answered_exactly(self):
        X, y = self.chain(120)
        model = tb.TANClassifier(numeric="gaussian").fit(X, y)
        X[0, ::7] = np.nan
        X[1, 50:] = np.nan
        batch = model._rows(X[:5])
        exact = model._model.exact_joint(batch)
        np.testing.assert_allclose(model.predict_joint_log_proba(X[:5]), exact, rtol=1e-9, atol=0)
        terms = model._model.terms(batch).sum(axis=0).T + model.class_log_prior_
        np.testing.assert_allclose(terms, exact, rtol=1e-9, atol=0)

    def test_parents_come_first_in_a_chain(self):
        n = 5000
        structure = tuple(() if j == n - 1 else (j + 1,) for j in range(n))
        assert parents_first(structure) == list(range(n))[::-1]

    def test_many_columns_are_named(self):
        names = [f"x{j}" for j in range(5000)]
        assert categorical_mask(names[::2], names)[:3] == [True, None, True]


class TestOrder:
    @pytest.mark.parametrize("seed", range(5))
    def test_parents_come_first_layer_by_layer(self, seed):
        rng = np.random.default_rng(seed)
        place = rng.permutation(12)
        parents = [
            None if j == 3 else tuple(u for u in range(12) if u != 3 and place[u] < place[j] and rng.random() < 0.3)
            for j in range(12)
        ]
        left, order = {j for j in range(12) if j != 3}, []
        while left:
            free = sorted(j for j in left if set(parents[j]) <= set(order))
            order, left = order + free, left - set(free)
        assert parents_first(tuple(parents)) == order

    @pytest.mark.parametrize("parents", [((1,), (0,)), ((0,),), (None, (0,)), ((7,),), ((-1,),)])
    def test_other_structures_are_refused(self, parents):
        with pytest.raises(ValueError, match="a cycle, or a parent that is not used"):
            parents_first(parents)


class TestWeights:
    @pytest.mark.parametrize("size", [1e30, 1e200])
    @pytest.mark.parametrize("numeric", ["gaussian", "discretise"])
    def test_very_many_rows(self, numeric, size):
        X, y = mixed()
        many, more = (tb.TANClassifier(numeric=numeric).fit(X, y, np.full(60, w)) for w in (1e9, size))
        assert more.parents_ == many.parents_
        np.testing.assert_allclose(more.predict_proba(X), many.predict_proba(X), rtol=1e-5, atol=1e-9)

    @pytest.mark.parametrize("size", [1e30, 1e200])
    def test_a_forest_of_very_many_rows(self, size):
        X, y = mixed()
        found = tb.BayesForestClassifier(3, random_state=0).fit(X, y, np.full(60, size)).predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


class TestForest:
    def test_the_order_of_states_does_not_matter(self):
        pd = pytest.importorskip("pandas")
        X, y = mixed()
        frame = pd.DataFrame(X)
        turned = frame.assign(s=pd.Categorical(frame["s"], ["r", "q", "p"]))
        found = [tb.BayesForestClassifier(3, random_state=0).fit(f, y).predict_proba(f) for f in (frame, turned)]
        np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=0)

    def test_configurations_are_forecast(self, monkeypatch):
        rng = np.random.default_rng(0)
        X = {name: rng.integers(0, 500, 4000).astype(str).tolist() for name in "ab"}
        X["b"] = X["a"][:2000] + X["b"][2000:]
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "5e7")
        with pytest.raises(MemoryForecastError, match=r"all pairs of 999 states in 2 classes.*or use n_jobs=1"):
            tb.BayesForestClassifier(4, categorical="all", n_jobs=4).fit(X, rng.integers(0, 2, 4000))

    def test_tries_are_forecast(self, monkeypatch):
        from tunbridge.classifiers.averages._tries import TrieRows, grow_trie

        codes = np.stack([np.arange(600) % 300] * 3).astype(np.int32)
        rows = TrieRows(codes, np.zeros(600, np.int64), np.ones(600), (300, 300, 300), 1)
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e5")
        with pytest.raises(MemoryForecastError, match=r"configurations of a feature and its parents.*smaller max_par"):
            grow_trie(rows, 0, [1, 2])

    def test_rows_and_classes_are_forecast(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1e6")
        with pytest.raises(MemoryForecastError, match="the estimates of 400 distinct rows for 400 classes"):
            tb.BayesForestClassifier(2, n_jobs=1).fit(np.arange(400.0)[:, None], np.arange(400))

    def test_equal_rows_stand_together_even_where_keys_do_not_tell_them_apart(self, monkeypatch):
        v = Variable("v", ["a", "b"])
        columns = (v, np.array([0, 1, 0, 1, -1])), (Variable("x"), np.array([0.0, 1.0, -0.0, 1.0, np.nan]))
        batch = Table.of([Column(u, values, natural_type(u)) for u, values in columns])
        classes, weights = np.array([0, 0, 0, 1, 0]), np.array([1.0, 2.0, 3.0, 4.0, 0.0])
        for keys in (Table.keys, lambda batch, seed: np.zeros(batch.n_rows, np.uint64)):
            monkeypatch.setattr(Table, "keys", keys)
            which, weight = distinct_rows(Examples(batch, classes, Variable("c", [0, 1]), weights))
            found = {(int(batch.codes("v")[i]), int(classes[i])): float(w) for i, w in zip(which, weight, strict=True)}
            assert found == {(0, 0): 4.0, (1, 0): 2.0, (1, 1): 4.0}

    def test_the_smallest_penalty_has_an_answer(self):
        once = np.log(np.array([[0.8, 0.2], [0.2, 0.8], [0.8, 0.2]]))
        terms = np.concatenate([np.repeat(once[:, :, None], 2, axis=2), np.zeros((3, 2, 1))], axis=2)
        found = fit_exponents(terms, np.log([0.5, 0.5]), np.array([0, 1, 1]), np.ones(3), penalty=5e-324)
        assert np.isfinite(found).all()


class TestFiles:
    @pytest.mark.parametrize("kind", [tb.BayesForestClassifier, tb.BayesNetClassifier])
    def test_a_generator_does_not_keep_a_model_from_being_saved(self, kind, tmp_path):
        X, y = mixed()
        model = kind(random_state=np.random.default_rng(0)).fit(X, y)
        model.save(tmp_path / "model.tb")
        loaded = tb.load(tmp_path / "model.tb")
        assert loaded.random_state is None
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_moments_of_all_categories_are_forecast_together(monkeypatch):
    rng = np.random.default_rng(0)
    X = {f"c{j}": rng.integers(0, 50, 300).astype(str).tolist() for j in range(4)}
    X |= {f"x{j}": rng.normal(size=300) for j in range(10)}
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "9e4")
    with pytest.raises(MemoryForecastError, match="moments of 10 numbers within 4 columns of categories"):
        tb.TANClassifier(numeric="gaussian", categorical=["c0", "c1", "c2", "c3"]).fit(X, rng.integers(0, 2, 300))


def test_a_column_that_is_none_is_named():
    with pytest.raises(DataError, match="categorical must name columns; got 'xx'"):
        categorical_mask(["xx"], ["x0", "x1"])


def test_weights_are_not_the_classes(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\nu,1\nv,2\n")
    with pytest.raises(DataError, match="weights must be another column than the classes; got 'y' for both"):
        tb.SelectiveKDBClassifier().fit_batches(path, "y", weights="y")


def test_tables_too_large_say_what_helps(monkeypatch):
    X, y = mixed()
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "1000")
    dag = tb.DAG(arcs=[("class", "s"), ("class", "t"), ("s", "t")])
    with pytest.raises(MemoryForecastError, match="Use fewer parents, or another prior"):
        tb.BayesNetClassifier(structure=dag).fit({"s": X["s"], "t": X["t"]}, y)


class TestListsOfClasses:
    """NumPy makes "nan" of a gap and "1" of a number that stand in a list beside text."""

    def test_a_gap_is_no_class(self):
        with pytest.raises(DataError, match="every row must have a class; 1 of 3 have none, row 2 first"):
            tb.TANClassifier().fit({"a": ["u", "v", "u"]}, ["x", float("nan"), "y"])

    def test_a_number_is_no_text(self):
        with pytest.raises(DataError, match="classes must be of one kind, all text or all numbers; got 'x', 1"):
            tb.TANClassifier().fit({"a": ["u", "v"]}, ["x", 1])

    def test_text_is_text(self):
        assert tb.TANClassifier().fit({"a": ["u", "v"]}, ("x", "nan")).classes_.tolist() == ["nan", "x"]


class TestListsOfRows:
    rows = (("a", 1.5, 1), ("b", float("nan"), 2), ("a", 2.5, 1), ("b", 3.5, 2))

    @pytest.mark.parametrize("estimator", [tb.NaiveBayesClassifier(), tb.TANClassifier()], ids=str)
    def test_numbers_and_gaps_beside_text_stay_what_they_are(self, estimator):
        listed = clone(estimator).fit([list(row) for row in self.rows], ["x", "y", "x", "y"])
        plain = clone(estimator).fit(np.array(self.rows, object), ["x", "y", "x", "y"])
        assert [v.is_continuous for v in listed.variables_] == [False, True, False]
        np.testing.assert_array_equal(listed.predict_proba(self.rows), plain.predict_proba(np.array(self.rows, object)))

    def test_text_stays_text(self):
        model = tb.TANClassifier().fit([["1", "nan"], ["2", "u"]], ["x", "y"])
        assert [v.states for v in model.variables_] == [("1", "2"), ("nan", "u")]


@pytest.mark.parametrize("labels", [[1, 2, 1, 2], [True, False, True, False]])
def test_integers_and_booleans_among_objects_are_classes(labels):
    clf = tb.NaiveBayesClassifier().fit({"x": list("abab")}, np.array(labels, object))
    assert clf.classes_.tolist() == sorted(set(labels))
    assert clf.predict({"x": ["a"]}).tolist() == [labels[0]]
