"""Trees and k-dependence over categories and numbers: against brute force, and the network's own answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import tunbridge as tb
from tunbridge.classifiers.dependence._pairs import PairMoments, pair_moments
from tunbridge.classifiers.networks._mixed import MixedInformation, borrowed, gaussian_table, mixed_information
from tunbridge.counts.moments import CrossMoments, cross_moments
from tunbridge.data import Variable
from tunbridge.errors import DataError, FormatError
from tunbridge.formats.native import read_model, write_model

KINDS = [tb.TANClassifier(numeric="gaussian"), tb.KDBClassifier(numeric="gaussian")]


def made(kind, **parameters):
    return type(kind)(**{**kind.get_params(), **parameters})


def mixed(n=200, seed=0, holes=0.0):
    """Three numbers and two categories that depend on the class and on each other."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 3, n), rng.integers(0, 3, n)
    x1 = rng.normal(y, 1.0)
    columns = {
        "x1": x1,
        "a": np.array(list("uvw"), object)[a],
        "x2": 0.8 * x1 + rng.normal(0, 0.5, n),
        "b": np.array(list("pqr"), object)[np.where(rng.random(n) < 0.7, a, rng.integers(0, 3, n))],
        "x3": rng.normal(2 * a + 0.3 * y, 1 + 0.5 * a),
    }
    for name, column in columns.items():
        column[rng.random(n) < holes] = np.nan if name[0] == "x" else None
    return columns, np.array(["c0", "c1", "c2"])[y]


def rows_of(columns, which):
    return {name: column[which] for name, column in columns.items()}


def both(one, two):
    return {name: np.concatenate([one[name], two[name]]) for name in one}


def brute_joint(model, row):
    """Return log p(row, c) by enumerating the missing categories and integrating the missing numbers out."""
    nodes = [t.variable for t in model.tables.values()]
    tables, target = {t.variable.name: t for t in model.tables.values()}, nodes[0]
    free = [v for v in nodes[1:] if v.is_categorical and row[v.name] is None]
    out = []
    for c in target.states:
        terms = []
        for states in product(*(v.states for v in free)):
            known = {**row, **dict(zip([v.name for v in free], states, strict=True)), target.name: c}
            terms.append(log_of_configuration(nodes, tables, known))
        out.append(logsumexp(terms))
    return out


def log_of_configuration(nodes, tables, known):
    total = 0.0
    numbers = [v.name for v in nodes if v.is_continuous]
    for v in nodes:
        if v.is_categorical:
            t = tables[v.name]
            total += np.log(t.distribution({p.name: known[p.name] for p in t.parents})[known[v.name]])
    if not numbers:
        return total
    mean, factor = np.zeros(len(numbers)), np.zeros((len(numbers), len(numbers)))
    done: list[str] = []
    while len(done) < len(numbers):
        name = next(n for n in numbers if n not in done and all(p.name in done for p in tables[n].continuous_parents))
        t, i = tables[name], numbers.index(name)
        at = tuple(p.code(known[p.name]) for p in t.discrete_parents)
        mean[i] = t.intercepts[at]
        factor[i, i] = np.sqrt(t.variances[at])
        for b, p in zip(t.coefficients[at], t.continuous_parents, strict=True):
            mean[i] += b * mean[numbers.index(p.name)]
            factor[i] += b * factor[numbers.index(p.name)]
        done.append(name)
    seen = [i for i, n in enumerate(numbers) if not np.isnan(known[n])]
    if seen:
        cov = (factor @ factor.T)[np.ix_(seen, seen)]
        total += multivariate_normal(mean[seen], cov).logpdf([known[numbers[i]] for i in seen])
    return total


@pytest.mark.parametrize("kind", KINDS, ids=str)
class TestAnswers:
    @pytest.mark.parametrize("holes", [0.0, 0.3])
    def test_are_those_of_brute_force(self, kind, holes):
        X, y = mixed(150)
        model = made(kind).fit(X, y)
        asked, _ = mixed(25, seed=1, holes=holes)
        found = model.predict_joint_log_proba(asked)
        rows = [{name: column[i] for name, column in asked.items()} for i in range(25)]
        expected = [brute_joint(model._model, row) for row in rows]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("holes", [0.0, 0.3])
    def test_are_those_of_the_network(self, kind, holes):
        X, y = mixed(300, holes=0.1)
        model = made(kind).fit(X, y)
        net = tb.BayesianNetwork.from_tables(model._model.tables.values())
        asked, _ = mixed(200, seed=1, holes=holes)
        np.testing.assert_allclose(model.predict_proba(asked), net.predict_proba(asked, "class"), rtol=1e-9, atol=1e-12)

    def test_explanations_add_up_with_and_without_holes(self, kind):
        X, y = mixed(200)
        model = made(kind).fit(X, y)
        for holes in (0.0, 0.3):
            batch = model._rows(mixed(40, seed=2, holes=holes)[0])
            told = model._model.terms(batch).sum(axis=0).T + model.class_log_prior_
            exact = model._model.joint(batch, lambda joint: joint)
            np.testing.assert_allclose(told, exact, rtol=1e-9, atol=1e-9)

    def test_do_not_depend_on_threads_or_company(self, kind):
        X, y = mixed(300, holes=0.1)
        one, two = (made(kind, n_jobs=n).fit(X, y) for n in (1, 2))
        asked = mixed(100, seed=3, holes=0.2)[0]
        np.testing.assert_array_equal(one.predict_proba(asked), two.predict_proba(asked))
        alone = [one.predict_proba(rows_of(asked, [i]))[0] for i in range(20)]
        np.testing.assert_allclose(alone, one.predict_proba(asked)[:20], rtol=1e-9, atol=1e-12)

    def test_far_numbers_fall_back_to_the_prior_with_a_warning(self, kind):
        X, y = mixed(100)
        model = made(kind).fit(X, y)
        with pytest.warns(tb.TunbridgeWarning, match="probability zero under every class"):
            found = model.predict_proba(rows_of(X, [0]) | {"x1": np.array([1e250]), "x2": np.array([-1e250])})
        np.testing.assert_allclose(found[0], np.exp(model.class_log_prior_), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS, ids=str)
class TestLearning:
    def test_weights_are_repetitions(self, kind):
        X, y = mixed(200, holes=0.1)
        weights = np.random.default_rng(5).integers(1, 4, 200)
        repeated = np.repeat(np.arange(200), weights)
        weighed = made(kind).fit(X, y, sample_weight=weights)
        plain = made(kind).fit(rows_of(X, repeated), y[repeated])
        np.testing.assert_allclose(weighed.predict_proba(X), plain.predict_proba(X), rtol=1e-9, atol=1e-12)

    def test_column_order_does_not_matter(self, kind):
        X, y = mixed(300)
        turned, root = dict(reversed(X.items())), {"root": "a"} if "root" in kind.get_params() else {}
        one, two = made(kind, **root).fit(X, y), made(kind, **root).fit(turned, y)
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(turned), rtol=1e-9, atol=1e-12)

    def test_categories_have_no_numbers_as_parents(self, kind):
        model = made(kind).fit(*mixed(300))
        for child in "ab":
            parents = model.parents_[child]
            assert all(p in "ab" for p in ([parents] if isinstance(parents, str) else parents or ()))
        assert any(model.parents_[x] for x in ("x1", "x2", "x3"))

    def test_without_numbers_it_is_the_plain_classifier(self, kind):
        X, y = mixed(200)
        categories = {"a": X["a"], "b": X["b"]}
        one, two = made(kind).fit(categories, y), made(kind, numeric="discretise").fit(categories, y)
        np.testing.assert_array_equal(one.predict_proba(categories), two.predict_proba(categories))

    def test_numbers_alone(self, kind):
        X, y = mixed(200)
        numbers = np.column_stack([X["x1"], X["x2"], X["x3"]])
        model = made(kind).fit(numbers, y)
        assert model.score(numbers, y) > 0.5

    def test_what_says_nothing_changes_nothing(self, kind):
        X, y = mixed(200)
        more = X | {"constant": np.full(200, 3.7), "never": np.full(200, np.nan), "none": np.array([None] * 200)}
        one, two = made(kind).fit(X, y), made(kind).fit(more, y)
        np.testing.assert_allclose(two.predict_proba(more), one.predict_proba(X), rtol=1e-9, atol=1e-12)
        assert "never" not in two.parents_
        assert "none" not in two.parents_

    def test_copies_and_lines(self, kind):
        X, y = mixed(200)
        model = made(kind).fit(X | {"copy": X["x1"].copy(), "line": 3.0 - 2.0 * X["x1"]}, y)
        found = model.predict_proba(X | {"copy": X["x1"].copy(), "line": 3.0 - 2.0 * X["x1"]})
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)

    @pytest.mark.parametrize("n", [1, 2, 3, 5])
    def test_few_rows(self, kind, n):
        X, y = mixed(200)
        model = made(kind).fit(rows_of(X, slice(0, n)), y[:n])
        assert np.isfinite(model.predict_proba(rows_of(X, slice(0, n)))).all()

    def test_the_units_of_numbers_do_not_matter(self, kind):
        X, y = mixed(200)
        scaled = X | {"x1": 1e-120 * X["x1"], "x3": 1e9 + 1e3 * X["x3"]}
        one, two = made(kind).fit(X, y), made(kind).fit(scaled, y)
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(scaled), rtol=1e-6, atol=1e-8)

    def test_missing_as_a_state(self, kind):
        X, y = mixed(300)
        X["a"] = np.where(y == "c0", None, X["a"])  # that it is missing gives the class away
        model = made(kind, missing="state").fit(X, y)
        assert model.score(X, y) > made(kind).fit(X, y).score(X, y)
        batch = model._rows(X)
        told = model._model.terms(batch).sum(axis=0).T + model.class_log_prior_
        np.testing.assert_allclose(told, model.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)

    def test_a_feature_called_like_the_target(self, kind):
        X, y = mixed(100)
        X["class"] = X.pop("a")
        assert made(kind).fit(X, y).score(X, y) > 0.4


class TestBatches:
    def test_of_a_tree_are_all_rows_at_once(self):
        X, y = mixed(400, holes=0.1)
        y[:300] = np.where(y[:300] == "c2", "c1", y[:300])  # the third class is new in the last batch,
        X["a"][:200] = np.where(X["a"][:200] == "w", "u", X["a"][:200])  # and a state in the second
        model = tb.TANClassifier(numeric="gaussian")
        for start in (0, 200, 300):
            stop = {0: 200, 200: 300, 300: 400}[start]
            model.partial_fit(rows_of(X, slice(start, stop)), y[start:stop])
        whole = tb.TANClassifier(numeric="gaussian").fit(X, y)
        assert model.parents_ == whole.parents_
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)

    def test_of_k_dependence_keep_the_structure_and_add_up(self):
        one, y1 = mixed(300, holes=0.1)
        two, y2 = mixed(200, seed=9, holes=0.1)
        two["b"][:20] = "new"
        y2[:10] = "c3"
        model = tb.KDBClassifier(numeric="gaussian").fit(one, y1)
        structure, net = model.parents_, model._model
        model.partial_fit(two, y2)
        assert model.parents_ == structure
        assert "c3" in model.classes_.tolist()
        table = tb.as_table(both(one, two) | {"class": np.concatenate([y1, y2])})
        for node, cpt in model._model.tables.items():
            if cpt.variable.is_categorical:
                continue
            parents = [p.name for p in net.tables[node].parents]
            rows = [i for i in range(500) if all(cell_is_seen(table, n, i) for n in (*parents, cpt.variable.name))]
            assert cpt.moments.count.sum() == len(rows)
            mean = table.floats(cpt.variable.name)[rows].mean()
            np.testing.assert_allclose(cpt.moments.pooled().mean[0, -1], mean, rtol=1e-10)

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    @pytest.mark.parametrize("name", ["a", "x1"])
    def test_a_batch_may_lack_a_column_altogether(self, kind, name):
        one, y = mixed(200)
        two, y2 = mixed(100, seed=4)
        two[name] = np.full(100, np.nan) if name == "x1" else np.array([None] * 100)
        model = made(kind).fit(one, y).partial_fit(two, y2)
        assert model.class_count_.sum() == 300
        assert np.isfinite(model.predict_proba(one)).all()


def cell_is_seen(table, name, row):
    if table.variable(name).is_categorical:
        return table.codes(name)[row] >= 0
    return not np.isnan(table.floats(name)[row])


class TestFiles:
    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_saved_is_loaded_and_goes_on(self, kind, tmp_path):
        X, y = mixed(200, holes=0.1)
        model = made(kind).fit(X, y)
        model.save(tmp_path / "m.tb")
        loaded = tb.load(tmp_path / "m.tb")
        assert loaded.get_params() == model.get_params()
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        more, y2 = mixed(50, seed=7)
        np.testing.assert_array_equal(
            loaded.partial_fit(more, y2).predict_proba(X), model.partial_fit(more, y2).predict_proba(X)
        )

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_a_damaged_file_is_refused(self, kind, tmp_path):
        X, y = mixed(60)
        made(kind).fit(X, y).save(tmp_path / "m.tb")
        name, content = read_model(tmp_path / "m.tb")
        statistics = content["statistics"]
        for key, value in (
            ("class_weight", -statistics["class_weight"]),
            ("numbers", [0, 1]),
            ("moments", statistics["moments"][:-1]),
        ):
            write_model(tmp_path / "bad.tb", name, content | {"statistics": statistics | {key: value}})
            with pytest.raises(FormatError, match="its content does not fit"):
                tb.load(tmp_path / "bad.tb")


class TestErrors:
    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_numeric_is_one_of_two(self, kind):
        with pytest.raises(DataError, match=r"numeric must be one of 'discretise', 'gaussian'; got 'normal'\."):
            made(kind, numeric="normal").fit(*mixed(50))

    def test_root_is_no_number_beside_categories(self):
        X, y = mixed(60)
        with pytest.raises(DataError, match=r"root must be a category where there are some.*got 'x1'\. Name another"):
            tb.TANClassifier(numeric="gaussian", root="x1").fit(X, y)
        numbers = {name: X[name] for name in ("x1", "x2", "x3")}
        assert tb.TANClassifier(numeric="gaussian", root="x2").fit(numbers, y).parents_["x2"] is None
        assert tb.TANClassifier(numeric="gaussian", root="b").fit(X, y).parents_["b"] is None

    @pytest.mark.parametrize("kind", KINDS, ids=str)
    def test_numbers_that_cannot_be_squared(self, kind):
        X, y = mixed(60)
        with pytest.raises(DataError, match=r"numbers must be small enough to square; those of 'x1' overflow"):
            made(kind).fit(X | {"x1": X["x1"] * 1e200}, y)


class TestForests:
    def information(self, n, numbers, seed):
        rng = np.random.default_rng(seed)
        weights = rng.random((n, n)) * (rng.random((n, n)) < 0.8)
        weights = weights + weights.T
        is_number = np.isin(np.arange(n), numbers)
        return MixedInformation(weights, np.full((n, n), 100.0), np.ones((n, n)), 2, rng.random(n), is_number)

    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("numbers", [[], [0, 3], [1, 2, 4], [0, 1, 2, 3, 4]])
    def test_are_the_best_of_all_allowed(self, numbers, seed):
        found = self.information(5, numbers, seed)
        parents = found.tree()
        assert weight_of(found, parents) == pytest.approx(best_weight(found), rel=1e-9)

    @pytest.mark.parametrize("seed", range(5))
    def test_leave_out_arcs_that_do_not_pay(self, seed):
        found = self.information(5, [1, 2, 4], seed)
        parents = found.tree(0.5)
        kept = [found.information[x, p] for x, p in enumerate(parents) if p >= 0]
        assert all(w > 0.5 for w in kept)
        cut = np.where(found.information > 0.5, found.information, 0.0)
        only = MixedInformation(cut, found.rows, found.n_added, 2, found.with_target, found.is_number)
        assert sum(kept) == pytest.approx(best_weight(only), rel=1e-9)

    def test_bic_prices_each_kind_of_arc(self):
        X, y = mixed(400)
        X["noise"] = np.random.default_rng(1).normal(size=400)
        parents = tb.TANClassifier(numeric="gaussian", forest="bic").fit(X, y).parents_
        assert parents["noise"] is None
        assert parents["x3"] == "a"
        assert {parents["x1"], parents["x2"]} in ({"x1", None}, {"x2", None})

    @pytest.mark.parametrize("k", [0, 1, 2])
    def test_dependences_go_by_the_ranking(self, k):
        found = self.information(6, [1, 3, 4], 3)
        ranked = np.argsort(-found.with_target).tolist()
        for x, parents in enumerate(found.dependences(k)):
            before = [u for u in ranked[: ranked.index(x)] if found.is_number[x] or not found.is_number[u]]
            expected = sorted(before, key=lambda u, x=x: -found.information[x, u])[:k]
            assert list(parents) == expected


def weight_of(found, parents):
    return sum(found.information[x, p] for x, p in enumerate(parents) if p >= 0)


def best_weight(found):
    """Return the weight of the best forest of at most one parent each, no category below a number, by enumeration."""
    n = len(found.information)
    allowed = [
        [-1, *(p for p in range(n) if p != x and (found.is_number[x] or not found.is_number[p]))] for x in range(n)
    ]
    return max(weight_of(found, parents) for parents in product(*allowed) if not has_cycle(parents))


def has_cycle(parents):
    for x in range(len(parents)):
        seen = set()
        while x >= 0 and x not in seen:
            seen.add(x)
            x = parents[x]
        if x >= 0:
            return True
    return False


class TestInformation:
    def test_of_many_rows_is_that_of_the_formulas(self):
        rng = np.random.default_rng(0)
        n = 200_000
        y, a = rng.integers(0, 2, n), rng.integers(0, 2, n)
        rho = np.where(y == 0, 0.3, 0.8)
        x1 = rng.normal(size=n)
        x2 = rho * x1 + np.sqrt(1 - rho**2) * rng.normal(size=n)
        x3 = rng.normal(2.0 * a, 1.0) + 1.0 * y
        model = tb.TANClassifier(numeric="gaussian").fit({"x1": x1, "x2": x2, "x3": x3, "a": a.astype(str)}, y)
        found = mixed_information(model.statistics_)
        numbers = 0.5 * (-0.5 * np.log(1 - 0.09) - 0.5 * np.log(1 - 0.64))
        mixture = 0.5 * np.log(2.0)  # of 1 within the state, and 1 between the two
        np.testing.assert_allclose(found.information[0, 1], numbers, rtol=0.02)
        np.testing.assert_allclose(found.information[2, 3], mixture, rtol=0.02)
        np.testing.assert_allclose(found.information[0, 3], 0.0, atol=1e-4)
        np.testing.assert_allclose(found.with_target[2], 0.5 * np.log(2.25 / 2.0), rtol=0.05)
        np.testing.assert_allclose(found.information, found.information.T, rtol=1e-12)

    def test_few_rows_tell_little(self):
        rng = np.random.default_rng(0)
        told = []
        for _ in range(50):
            X = {"x": rng.normal(size=40), "y": rng.normal(size=40), "id": np.array([f"s{i}" for i in range(40)])}
            model = tb.TANClassifier(numeric="gaussian").fit(X, rng.integers(0, 8, 40))
            told.append(mixed_information(model.statistics_).information[np.triu_indices(3, 1)])
        assert np.mean(told) < 0.1  # five rows a class would show 0.14 of two independent numbers, and 40 states more


class TestMoments:
    def columns(self, seed=0, n=300):
        rng = np.random.default_rng(seed)
        columns = rng.normal(1e6, 2.0, (4, n)) * np.array([[1.0], [2.0], [-1.0], [0.5]])
        columns[rng.random(columns.shape) < 0.2] = np.nan
        return columns, rng.integers(0, 3, n), rng.integers(0, 3, n).astype(float)

    def test_are_those_of_the_rows_that_have_both(self):
        columns, groups, weights = self.columns()
        found = pair_moments(list(columns), groups, 3, weights=weights)
        for g, i, j in product(range(3), range(4), range(4)):
            rows = (groups == g) & ~np.isnan(columns[i]) & ~np.isnan(columns[j])
            w, x, z = weights[rows], columns[i][rows], columns[j][rows]
            mean, other = np.average(x, weights=w), np.average(z, weights=w)
            np.testing.assert_allclose(found.count[g, i, j], w.sum(), rtol=1e-12)
            np.testing.assert_allclose(found.mean[g, i, j], mean, rtol=1e-12)
            np.testing.assert_allclose(found.square[g, i, j], (w * (x - mean) ** 2).sum(), rtol=1e-8)
            np.testing.assert_allclose(found.product[g, i, j], (w * (x - mean) * (z - other)).sum(), atol=1e-6)

    def test_add_up(self):
        columns, groups, weights = self.columns()
        whole = pair_moments(list(columns), groups, 3, weights=weights)
        parts = [
            pair_moments([c[s] for c in columns], groups[s], 3, weights=weights[s])
            for s in (slice(0, 80), slice(80, 300))
        ]
        for a, b in zip(whole.arrays, parts[0].merge(parts[1]).arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-6)

    def test_of_pieces_many_columns_and_families_agree(self):
        rng = np.random.default_rng(2)
        columns = rng.normal(size=(70, 40_000))
        found = pair_moments(list(columns), np.zeros(40_000, int), 1)
        np.testing.assert_allclose(found.product[0], 40_000 * np.cov(columns, ddof=0), atol=1e-6)
        family = found.family(3, 5)
        direct = cross_moments(columns[[5, 3]], np.zeros(40_000, int), 1)
        for a, b in zip(family.arrays, direct.arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
        assert isinstance(found, PairMoments)


class TestTables:
    def moments(self, n=(50, 3, 0, 20)):
        rng = np.random.default_rng(0)
        groups = np.repeat(np.arange(4), n)
        x = rng.normal(size=len(groups))
        return cross_moments(np.array([x, 2 * x + groups + rng.normal(0, 0.1, len(groups))]), groups, 4)

    def test_many_rows_keep_their_regression(self):
        moments = self.moments((200_000, 100_000, 50_000, 100_000))
        table = gaussian_table(Variable("y"), self.parents(), moments)
        np.testing.assert_allclose(table.coefficients.ravel(), 2.0, atol=0.02)
        np.testing.assert_allclose(table.intercepts.ravel(), [0, 1, 2, 3], atol=0.02)
        np.testing.assert_allclose(table.variances.ravel(), 0.01, rtol=0.1)

    def test_no_rows_take_those_of_the_class(self):
        moments = self.moments()
        table = gaussian_table(Variable("y"), self.parents(), moments)
        second = CrossMoments(*(a[2:] for a in moments.arrays))
        own = borrowed(second, [2])  # the configuration (1, 0) is empty, and (1, 1) is all of its class
        assert second.count.tolist() == [0.0, 20.0]
        assert table.coefficients[1, 0, 0] == pytest.approx(own.products[0, 0, 1] / own.products[0, 0, 0], rel=0.05)
        assert table.variances.min() > 0

    def test_borrowing_is_adding_a_row_of_the_parent(self):
        moments = self.moments()
        found = borrowed(moments, [4])
        pooled = moments.pooled()
        np.testing.assert_allclose(found.count, moments.count + 1.0, rtol=1e-12)
        expected = (moments.count[:, None] * moments.mean + pooled.mean) / (moments.count[:, None] + 1.0)
        np.testing.assert_allclose(found.mean, expected, rtol=1e-12)

    def test_a_single_value_says_nothing(self):
        moments = cross_moments(np.full((1, 6), 2.5), np.arange(6) % 2, 2)
        table = gaussian_table(Variable("y"), [Variable("c", ["a", "b"])], moments)
        assert table.intercepts.tolist() == [2.5, 2.5]
        assert table.variances.tolist() == [1.0, 1.0]

    def parents(self):
        return [Variable("class", ["a", "b"]), Variable("s", ["p", "q"]), Variable("x")]


def test_iris(shared_data):
    table = tb.read_table(shared_data / "uci" / "iris.csv")
    assert tb.TANClassifier(numeric="gaussian").fit(table, "class").score(table, "class") > 0.95
