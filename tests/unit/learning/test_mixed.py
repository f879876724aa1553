"""Scores of families of categorical and continuous variables together."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tunbridge as tb
from oracles import scores as oracle
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.learning.scores.discrete import AIC, BIC, BDeu, LogLikelihood, NodeAverage, Score
from tunbridge.learning.scores.families import DiscreteFamilies
from tunbridge.learning.scores.gaussian import GaussianFamilies
from tunbridge.learning.scores.mixed import MixedFamilies

STATES = {"f": 2, "g": 3, "h": 4}
NAMES = ("f", "g", "h", "x", "y", "z")
F, G, H, X, Y, Z = range(6)


def sample(n: int = 300, seed: int = 0) -> dict[str, np.ndarray]:
    """Return categories f, g → h and numbers x, y(f, x), z(g, y)."""
    rng = np.random.default_rng(seed)
    f, g, x = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.normal(10, 2, n)
    h = (f + 2 * g + (rng.random(n) < 0.3)) % 4
    y = np.where(f == 0, 1.0, -1.5) * x + rng.normal(0, 0.5 + f, n)
    z = 100 * g + 0.1 * y + rng.normal(0, 0.2, n)
    return {"f": f, "g": g, "h": h, "x": x, "y": y, "z": z}


def table_of(columns: dict[str, np.ndarray], **options: object) -> Table:
    shown = {n: np.array(list("abcd"))[v] if n in STATES else v for n, v in columns.items()}
    return tb.as_table(shown, **options)


def mixed(table: Table, score: Score | None = None, **options: object) -> MixedFamilies:
    score = score or LogLikelihood()
    categorical = [v.name for v in table.variables if v.is_categorical]
    return MixedFamilies(table, score, DiscreteFamilies(table.select(categorical), score), **options)


def expected(columns: dict[str, np.ndarray], x: int, parents: tuple[int, ...]) -> float:
    """Return the log-likelihood of a continuous child."""
    numbers = [columns[NAMES[p]] for p in parents if p >= X]
    groups = [columns[NAMES[p]].tolist() for p in parents if p < X]
    y = columns[NAMES[x]]
    design = np.column_stack(numbers) if numbers else np.empty((len(y), 0))
    return oracle.conditional_gaussian(y, design, list(zip(*groups, strict=True)) if groups else [0] * len(y))


SETS = [(), (F,), (X,), (F, X), (F, G), (G, H, X), (F, G, H), (F, G, H, X, Y), (H, X, Y)]


class TestScore:
    @pytest.mark.parametrize("parents", SETS)
    @pytest.mark.parametrize("x", [Y, Z])
    def test_is_a_regression_for_each_configuration(self, x, parents):
        parents = tuple(p for p in parents if p != x)
        found = mixed(table_of(sample())).score(x, parents)
        assert found == pytest.approx(expected(sample(), x, parents), rel=1e-9)

    def test_categories_are_scored_as_ever(self):
        table = table_of(sample())
        found, discrete = mixed(table, BIC()), DiscreteFamilies(table.select(["f", "g", "h"]), BIC())
        for x, parents in ((F, ()), (H, (F,)), (H, (F, G)), (G, (F, H))):
            assert found.score(x, parents) == discrete.score(x, parents)

    def test_categories_have_no_continuous_parents(self):
        found = mixed(table_of(sample()), BIC())
        assert found.score(F, (X,)) == found.score(H, (F, Y)) == -np.inf
        assert found.additions(H, (F,))[[X, Y, Z]].tolist() == [-np.inf] * 3
        assert (found.additions(H, (F, X)) == -np.inf).all()

    @pytest.mark.parametrize(
        ("score", "price"), [(AIC(), 1.0), (BIC(), 0.5 * np.log(300)), (NodeAverage(), 300**0.75 / 6)]
    )
    def test_parameters_for_each_configuration(self, score, price):
        table = table_of(sample())
        plain, priced = mixed(table), mixed(table, score)
        for parents, n in (((), 2), ((X,), 3), ((F,), 4), ((F, G, X), 18), ((F, G, H, X, Y), 96)):
            assert plain.score(Z, parents) - priced.score(Z, parents) == pytest.approx(n * price, rel=1e-9)

    def test_without_categories_like_the_continuous_table(self):
        table = table_of(sample())
        found, continuous = mixed(table, BIC()), GaussianFamilies(table.select(["z", "x", "y"]), BIC())
        for x, parents in ((0, ()), (1, (0,)), (2, (0, 1))):
            assert found.score(x + X, tuple(p + X for p in parents)) == pytest.approx(
                continuous.score(x, parents), rel=1e-11
            )

    def test_order_of_columns(self):
        columns = sample()
        turned = mixed(table_of({name: columns[name] for name in ("z", "h", "x", "f", "y", "g")}), BIC())
        straight = mixed(table_of(columns), BIC())
        assert turned.names == straight.names == NAMES
        for x, parents in ((Z, (F, H, X)), (H, (F, G)), (Y, (X,))):
            assert turned.score(x, parents) == straight.score(x, parents)

    def test_scores_of_counts_are_refused(self):
        with pytest.raises(DataError, match=re.escape("must be 'loglik', 'aic', 'bic' or 'nal'; got 'bdeu'")):
            mixed(table_of(sample()), BDeu())


class TestAdditions:
    @pytest.mark.parametrize("parents", SETS)
    def test_are_the_scores_with_each_candidate(self, parents):
        found = mixed(table_of(sample()), BIC())
        for x in set(range(6)) - set(parents):
            additions = found.additions(x, parents)
            for c in range(6):
                if c == x or c in parents:
                    assert additions[c] == -np.inf
                elif additions[c] > -np.inf or x >= X:
                    assert additions[c] == pytest.approx(found.score(x, tuple(sorted((*parents, c)))), rel=1e-10)

    @pytest.mark.parametrize("x", [H, Z])
    def test_of_some(self, x):
        found = mixed(table_of(sample()), BIC())
        some = np.array([0, 2, 3, 4, 5])
        np.testing.assert_array_equal(found.additions_of(x, (G,), some), found.additions(x, (G,))[some])

    def test_bonus(self):
        bonus = np.arange(36.0).reshape(6, 6)
        table = table_of(sample())
        plain, raised = mixed(table, BIC()), mixed(table, BIC(), arc_bonus=bonus)
        assert raised.score(Z, (F, X)) == pytest.approx(plain.score(Z, (F, X)) + bonus[F, Z] + bonus[X, Z])
        expected = plain.additions(Z, (F,)) + bonus[F, Z] + bonus[:, Z]
        np.testing.assert_allclose(raised.additions(Z, (F,)), expected, rtol=1e-12)
        assert raised.score(H, (F,)) == pytest.approx(plain.score(H, (F,)) + bonus[F, H])
        np.testing.assert_allclose(raised.additions(H, ()), plain.additions(H, ()) + bonus[:, H], rtol=1e-12)

    def test_bonus_of_families_that_would_not_pay_otherwise(self):
        rng = np.random.default_rng(0)
        table = tb.as_table({"a": rng.choice(list("ab"), 12), "b": list("abcdefghijkl"), "x": rng.normal(size=12)})
        assert mixed(table, BIC()).additions(0, ())[1] == -np.inf
        raised = mixed(table, BIC(), arc_bonus=np.full((3, 3), 50.0))
        assert raised.additions(0, ())[1] == pytest.approx(raised.score(0, (1,)))
        assert raised.additions(0, ())[1] > raised.score(0, ())
        assert raised.additions(0, ())[[0, 2]].tolist() == [-np.inf] * 2


class TestSmallGroups:
    def test_many_configurations_do_not_pay(self):
        rng = np.random.default_rng(0)
        names = np.array([f"s{i:03d}" for i in range(150)])
        for rare in (names[rng.permutation(np.arange(300) // 2)], names[rng.integers(0, 150, 300)]):
            table = tb.as_table({"rare": rare, "x": rng.normal(0, 1, 300), "y": rng.normal(0, 1, 300).round(1)})
            for score in (AIC(), BIC()):
                found = mixed(table, score)
                for x in (1, 2):
                    assert np.isfinite(found.score(x, (0,)))
                    assert found.score(x, (0,)) < found.score(x, ())

    def test_one_row_each(self):
        table = tb.as_table(
            {"id": [f"r{i}" for i in range(20)], "x": np.arange(20.0) ** 2, "y": np.sin(np.arange(20.0))}
        )
        found = mixed(table)
        assert found.score(1, (0,)) == pytest.approx(found.score(1, ()), rel=1e-12)
        assert found.score(1, (0, 2)) == pytest.approx(found.score(1, ()), rel=1e-12)

    def test_equal_values_do_not_win(self):
        rng = np.random.default_rng(1)
        amount = np.where(rng.random(400) < 0.9, 0.0, rng.normal(5, 0.1, 400))
        place = np.array([f"p{i:02d}" for i in range(40)])[rng.integers(0, 40, 400)]
        found = mixed(tb.as_table({"amount": amount, "place": place}), BIC())
        assert (np.bincount(np.unique(place, return_inverse=True)[1], amount) == 0).any()
        assert found.score(0, (1,)) < found.score(0, ())

    def test_exact_relations_are_found_within_groups_too(self):
        rng = np.random.default_rng(2)
        kind, x = rng.integers(0, 2, 100), rng.normal(0, 1, 100)
        found = mixed(
            tb.as_table({"kind": np.array(["a", "b"])[kind], "x": x, "y": np.where(kind, 2.0, -1.0) * x + kind}), BIC()
        )
        assert np.isfinite(found.score(2, (0, 1)))
        assert found.score(2, (0, 1)) > found.score(2, (1,)) + 500
        assert found.score(2, (0, 1)) > found.score(2, (0,)) + 500

    def test_constants(self):
        columns = sample()
        table = table_of(columns | {"y": np.full(300, 7.0)})
        found = mixed(table, BIC())
        half = 0.5 * np.log(300)
        assert found.score(Y, ()) == pytest.approx(-2 * half)
        assert found.score(Y, (F, X)) == pytest.approx(-6 * half)
        assert found.additions(Y, (F,))[[G, X]] == pytest.approx([-12 * half, -6 * half])
        assert found.score(Z, (G, Y)) < found.score(Z, (G,))

    @pytest.mark.parametrize("n", [1, 2, 3, 5])
    def test_hardly_any_rows(self, n):
        table = table_of({name: values[:n] for name, values in sample().items()})
        found = mixed(table, BIC())
        for parents in SETS:
            parents = tuple(p for p in parents if p != Z)
            assert np.isfinite(found.score(Z, parents))
            free = [c for c in range(6) if c != Z and c not in parents]
            assert np.isfinite(found.additions(Z, parents)[free]).all()


class TestMissing:
    def incomplete(self) -> Table:
        columns = sample()
        shown = {n: np.array(list("abcd"), object)[v] if n in STATES else v.copy() for n, v in columns.items()}
        shown["g"][:30] = None
        shown["x"][20:60] = np.nan
        return tb.as_table(shown)

    @pytest.mark.parametrize(
        ("x", "parents", "rows"),
        [(Z, (), slice(0, 300)), (Z, (F, Y), slice(0, 300)), (Z, (G,), slice(30, 300)), (Z, (G, X), slice(60, 300))],
    )
    def test_average_over_the_rows_that_are_there(self, x, parents, rows):
        complete = {name: values[rows] for name, values in sample().items()}
        scale = 300 / len(complete["x"])
        found = mixed(self.incomplete()).score(x, parents)
        assert found == pytest.approx(scale * expected(complete, x, parents), rel=1e-9)

    def test_additions(self):
        found = mixed(self.incomplete(), BIC())
        for x, parents in ((Z, ()), (Z, (G,)), (Z, (F, X)), (X, (H,)), (Y, (F,))):
            additions = found.additions(x, parents)
            for c in set(range(6)) - {x, *parents}:
                assert additions[c] == pytest.approx(found.score(x, tuple(sorted((*parents, c)))), rel=1e-10)

    def test_nothing_there(self):
        columns = {"f": ["a", "b"] * 5, "g": [None] * 10, "x": np.arange(10.0), "y": np.full(10, np.nan)}
        table = tb.as_table(columns, kinds={"g": "categorical", "y": "continuous"})
        found = mixed(table, BIC())
        assert found.score(2, (1,)) == found.score(2, (3,)) == found.additions(2, ())[1] == -np.inf
        assert found.score(3, ()) == pytest.approx(-np.log(10))
        assert np.isfinite(found.score(2, (0,)))


def test_weights_count_as_repeated_rows():
    columns, weights = sample(), np.random.default_rng(1).integers(0, 4, 300)
    one = mixed(table_of(columns, weights=weights.astype(float)), BIC())
    other = mixed(table_of({name: np.repeat(values, weights) for name, values in columns.items()}), BIC())
    for x, parents in ((Z, ()), (Z, (F, G, X)), (Y, (F,)), (H, (F, G))):
        assert one.score(x, parents) == pytest.approx(other.score(x, parents), rel=1e-9)
        np.testing.assert_allclose(one.additions(x, parents), other.additions(x, parents), rtol=1e-9)


# Values of bnlearn 5.2.1 under R 4.6.1: from tests/parity/fixtures/cg.json of the public repository
# tomtomtom1007/pybnlearn, where R made them.
DENSE = "A| B|A C|AB D|ABCH E|BCDFH F|ABC G|ACDEFH H|BCF"
LEARNED = "A| B| C| D|AH E|BD F|BC G|ADEF H|"
OTHER = "A| B| C| D|A E|B F|C G|DEFH H|"
BNLEARN = [
    (LogLikelihood(), LEARNED, -20074.133460937217),
    (AIC(), LEARNED, -20125.133460937217),
    (BIC(), LEARNED, -20291.321887318325),
    (LogLikelihood(), OTHER, -34156.278385443089),
    (BIC(), OTHER, -34292.553476505745),
    (LogLikelihood(), DENSE, -19897.870978599633),
    (BIC(), "A| B| C| D| E| F| G| H|", -60733.612438386212),
]


@pytest.mark.shared
@pytest.mark.parametrize(("score", "model", "value"), BNLEARN)
def test_bnlearn(shared_data, score, model, value):
    found = mixed(tb.read_table(shared_data / "bnlearn" / "clgaussian.test.csv"), score)
    position = {node: i for i, node in enumerate(found.names)}
    families = [(position[part[0]], tuple(position[p] for p in part[2:])) for part in model.split()]
    assert sum(found.score(x, parents) for x, parents in families) == pytest.approx(value, rel=0, abs=1e-7)
