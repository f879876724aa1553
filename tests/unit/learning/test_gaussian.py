"""Scores of families of continuous variables."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tunbridge as tb
from oracles import scores as oracle
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.learning.scores.discrete import AIC, BIC, FNML, K2, QNML, BDeu, BDs, LogLikelihood, NodeAverage, Score
from tunbridge.learning.scores.gaussian import GaussianFamilies

NEAR = 1e-9


def sample(n: int = 60, seed: int = 0) -> dict[str, np.ndarray]:
    """Return columns a → c ← b, c → d and e apart, on different scales."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.normal(3, 1, n), rng.normal(-50, 20, n), rng.normal(1e6, 1e-3, n)
    c = 2 * a - 0.3 * b + rng.normal(0, 1, n)
    return {"a": a, "b": b, "c": c, "d": c + rng.normal(0, 0.1, n), "e": e}


def continuous(columns: dict[str, np.ndarray], **options: object) -> Table:
    return tb.as_table(columns, kinds=dict.fromkeys(columns, "continuous"), **options)


def families(columns: dict[str, np.ndarray], score: Score | None = None, **options: object) -> GaussianFamilies:
    return GaussianFamilies(continuous(columns), score or LogLikelihood(), **options)


def expected(columns: dict[str, np.ndarray], x: int, parents: tuple[int, ...]) -> float:
    values = np.column_stack([columns[name] for name in sorted(columns)])
    return oracle.gaussian(values[:, x], values[:, list(parents)])


class TestScore:
    @pytest.mark.parametrize("x", range(4))
    @pytest.mark.parametrize("parents", [(), (0,), (1,), (0, 1), (2, 3), (0, 1, 3), (0, 1, 2, 3)])
    def test_is_the_likelihood_of_the_regression(self, x, parents):
        parents = tuple(p for p in parents if p != x)
        found = families(sample()).score(x, parents)
        assert found == pytest.approx(expected(sample(), x, parents), rel=NEAR)

    @pytest.mark.parametrize(
        ("score", "price"), [(AIC(), 1.0), (AIC(k=3), 3.0), (BIC(), 0.5 * np.log(60)), (BIC(k=2), 2.0)]
    )
    def test_parameters_are_coefficients_intercept_and_variance(self, score, price):
        plain, priced = families(sample()), families(sample(), score)
        for parents in ((), (1,), (0, 1, 3)):
            assert plain.score(2, parents) - priced.score(2, parents) == pytest.approx(
                (len(parents) + 2) * price, rel=NEAR
            )

    def test_node_average_knows_the_number_of_variables(self):
        plain, priced = families(sample()), families(sample(), NodeAverage())
        assert plain.score(2, (0,)) - priced.score(2, (0,)) == pytest.approx(3 * 60**0.75 / 5, rel=NEAR)

    @pytest.mark.parametrize("score", [BDeu(), BDs(), K2(), FNML(), QNML()], ids=repr)
    def test_scores_of_counts_are_refused(self, score):
        message = f"must be 'loglik', 'aic', 'bic' or 'nal'; got '{score.name}'. Discretise the columns"
        with pytest.raises(DataError, match=re.escape(message)):
            families(sample(), score)

    def test_order_of_columns(self):
        columns = sample()
        turned = families(dict(reversed(columns.items())))
        assert turned.names == ("a", "b", "c", "d", "e")
        assert turned.score(2, (0, 1)) == families(columns).score(2, (0, 1))

    def test_equivalent_graphs(self):
        found = families(sample(), BIC())
        one = found.score(0, ()) + found.score(2, (0,)) + found.score(3, (2,))
        other = found.score(3, ()) + found.score(2, (3,)) + found.score(0, (2,))
        assert one == pytest.approx(other, rel=NEAR)
        assert one != pytest.approx(found.score(0, ()) + found.score(3, ()) + found.score(2, (0, 3)), rel=1e-3)

    def test_units_do_not_matter_to_differences(self):
        columns = sample()
        scaled = {name: values * 10.0 ** (100 * i - 200) for i, (name, values) in enumerate(columns.items())}
        one, other = families(columns), families(scaled)
        for x, parents in ((2, (0, 1)), (0, (2, 3)), (4, (1,))):
            gain, same = one.score(x, parents) - one.score(x, ()), other.score(x, parents) - other.score(x, ())
            assert gain == pytest.approx(same, rel=1e-7, abs=1e-7)


class TestAdditions:
    @pytest.mark.parametrize("parents", [(), (1,), (0, 3)])
    def test_are_the_scores_with_each_candidate(self, parents):
        found = families(sample(), BIC())
        for x in set(range(5)) - set(parents):
            additions = found.additions(x, parents)
            for c in range(5):
                if c == x or c in parents:
                    assert additions[c] == -np.inf
                else:
                    assert additions[c] == pytest.approx(found.score(x, tuple(sorted((*parents, c)))), rel=1e-11)

    def test_of_some(self):
        found = families(sample(), BIC())
        some = found.additions_of(2, (0,), np.array([0, 1, 2, 4]))
        np.testing.assert_array_equal(some, found.additions(2, (0,))[[0, 1, 2, 4]])

    def test_removals(self):
        found = families(sample(), BIC())
        assert found.removals(2, (0, 1)).tolist() == [found.score(2, (1,)), found.score(2, (0,))]

    def test_bonus(self):
        bonus = np.arange(25.0).reshape(5, 5)
        plain, raised = families(sample(), BIC()), families(sample(), BIC(), arc_bonus=bonus)
        assert raised.score(2, (0, 3)) == pytest.approx(plain.score(2, (0, 3)) + bonus[0, 2] + bonus[3, 2])
        np.testing.assert_allclose(
            raised.additions(2, (0,))[[1, 3, 4]],
            plain.additions(2, (0,))[[1, 3, 4]] + bonus[0, 2] + bonus[[1, 3, 4], 2],
        )


class TestDegenerate:
    def test_copies_pay_once(self):
        columns = sample()
        columns |= {"x": 2 * columns["a"] - 7, "y": columns["a"] * 1e5, "z": columns["a"] + columns["b"]}
        found = families(columns, BIC())  # a b c d e x y z
        one, two, three = found.score(0, (5,)), found.score(0, (5, 6)), found.score(0, (1, 5, 6, 7))
        assert np.isfinite([one, two, three]).all()
        assert one > found.score(0, ()) + 500
        assert two < one
        assert three < two
        assert found.additions(0, (5,)).max() < one
        assert found.additions(5, (0,)).max() < found.score(5, (0,))

    def test_combinations_of_parents_explain_nothing_more(self):
        columns = sample()
        columns["z"] = columns["a"] + columns["b"]
        found = families(columns)  # a b c d e z
        all_three = found.score(2, (0, 1, 5))
        assert all_three == pytest.approx(found.score(2, (0, 1)), abs=0.1)  # one degree of freedom less
        for parents, c in (((0, 1), 5), ((0, 5), 1), ((1, 5), 0)):
            assert found.additions(2, parents)[c] == pytest.approx(all_three, rel=1e-9)
            assert found.score(2, parents) == pytest.approx(found.score(2, (0, 1)), rel=1e-9)

    def test_constants(self):
        columns = sample() | {
            "k": np.full(60, 0.1),
            "l": np.full(60, 0.1 + 0.2) - np.where(np.arange(60) % 2, 1e-16, 0),
        }
        found = families(columns, BIC())  # … k l
        half = 0.5 * np.log(60)
        for k in (5, 6):
            assert found.score(k, ()) == pytest.approx(-2 * half)
            assert found.score(k, (0, 1)) == pytest.approx(-4 * half)
            np.testing.assert_allclose(found.additions(k, (0,))[1:5], -4 * half)
            assert found.score(2, (k,)) == pytest.approx(found.score(2, ()) - half, abs=0.02)
            assert found.additions(2, ())[k] < found.score(2, ())

    @pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
    def test_hardly_any_rows(self, n):
        found = families({name: values[:n] for name, values in sample().items()}, BIC())
        for x in range(5):
            others = tuple(v for v in range(5) if v != x)
            assert np.isfinite([found.score(x, others[:k]) for k in range(5)]).all()
            assert np.isfinite(found.additions(x, ())[list(others)]).all()

    def test_too_many_parents_for_the_rows_say_nothing(self):
        found = families({name: values[:4] for name, values in sample().items()})
        assert found.score(2, (0, 1, 3)) == pytest.approx(found.score(2, ()), rel=1e-12)
        assert found.score(2, (0, 1)) == pytest.approx(
            expected({name: values[:4] for name, values in sample().items()}, 2, (0, 1)), rel=1e-6
        )


class TestMissing:
    def incomplete(self) -> dict[str, np.ndarray]:
        columns = sample()
        columns["a"][:10] = np.nan
        columns["d"][5:25] = np.nan
        return columns

    def test_average_over_the_rows_that_are_there(self):
        found = families(self.incomplete())
        for x, parents, rows in (
            (0, (), slice(10, 60)),
            (2, (0,), slice(10, 60)),
            (2, (0, 3), slice(25, 60)),
            (2, (1,), slice(60)),
        ):
            complete = {name: values[rows] for name, values in sample().items()}
            scale = 60 / len(complete["a"])
            assert found.score(x, parents) == pytest.approx(scale * expected(complete, x, parents), rel=NEAR)

    def test_additions(self):
        found = families(self.incomplete(), BIC())
        for x, parents in ((2, ()), (2, (1,)), (2, (0,)), (0, (3,)), (3, ())):
            additions = found.additions(x, parents)
            for c in set(range(5)) - {x, *parents}:
                assert additions[c] == pytest.approx(found.score(x, tuple(sorted((*parents, c)))), rel=1e-11)

    def test_nothing_there(self):
        columns = sample() | {"n": np.full(60, np.nan)}
        found = families(columns, BIC())
        assert found.score(5, ()) == pytest.approx(-np.log(60))
        assert found.score(2, (5,)) == -np.inf
        assert found.additions(2, ())[5] == -np.inf


class TestWeights:
    def test_count_as_repeated_rows(self):
        columns, weights = sample(), np.random.default_rng(1).integers(0, 4, 60)
        table = continuous(columns, weights=weights.astype(float))
        repeated = {name: np.repeat(values, weights) for name, values in columns.items()}
        one, other = GaussianFamilies(table, BIC()), families(repeated, BIC())
        assert one.n_rows == other.n_rows
        for x, parents in ((2, ()), (2, (0, 1)), (4, (3,))):
            assert one.score(x, parents) == pytest.approx(other.score(x, parents), rel=1e-9)
            np.testing.assert_allclose(one.additions(x, parents), other.additions(x, parents), rtol=1e-9)

    def test_with_missing_cells(self):
        columns, weights = sample(), np.random.default_rng(1).integers(0, 4, 60)
        columns["a"][:10] = np.nan
        table = continuous(columns, weights=weights.astype(float))
        repeated = {name: np.repeat(values, weights) for name, values in columns.items()}
        one, other = GaussianFamilies(table, BIC()), families(repeated, BIC())
        assert one.score(2, (0, 1)) == pytest.approx(other.score(2, (0, 1)), rel=1e-9)

    def test_small_ones(self):
        found = GaussianFamilies(continuous(sample(), weights=np.full(60, 1 / 60)), BIC())
        assert np.isfinite([found.score(2, ()), found.score(2, (0, 1))]).all()


# Values of bnlearn 5.2.1 under R 4.6.1, by node: from tests/parity/fixtures/hc.json of the public repository
# tomtomtom1007/pybnlearn, where R made them.
BNLEARN = {
    "bic-g": (
        "gaussian.test", BIC(), "A| B| C|AB D|B E| F|ADEG G|",
        "-7123.8294680173567 -12652.301798121058 -3733.4667510581276 -1542.919950915282 -10543.030911452875 "
        "-7098.4444771026911 -10527.354431761405",
    ),
    "aic-g": (
        "gaussian.test", AIC(), "A| B|A C|AB D|B E| F|ACDEG G|",
        "-7117.3122748259402 -12645.078983145178 -3720.432364675295 -1533.1441611281577 -10536.51371826146 "
        "-7078.2507230333485 -10520.837238569989",
    ),
    "loglik-g": (
        "gaussian.test", LogLikelihood(), "A| B|A C|ABDEG D|ABEG E|AB F|ABCDEG G|ABE",
        "-7115.3122748259402 -12642.078983145178 -3715.7384694551124 -1529.2876679455478 -10534.282799035893 "
        "-7071.1095105240856 -10518.702974063561",
    ),
    "bic-g, k = 2": (
        "gaussian.test", BIC(k=2), "A| B| C|AB D|B E| F|ADEG G|",
        "-7119.3122748259402 -12647.784604929642 -3724.432364675295 -1536.1441611281577 -10538.51371826146 "
        "-7084.8928975284425 -10522.837238569989",
    ),
}  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("case", BNLEARN)
def test_bnlearn(shared_data, case):
    name, score, model, values = BNLEARN[case]
    found = GaussianFamilies(tb.read_table(shared_data / "bnlearn" / f"{name}.csv"), score)
    position = {node: i for i, node in enumerate(found.names)}
    for part, value in zip(model.split(), values.split(), strict=True):
        x, parents = position[part[0]], tuple(position[p] for p in part[2:])
        assert found.score(x, parents) == pytest.approx(float(value), rel=0, abs=1e-8), part


@pytest.mark.shared
def test_bnlearn_marks(shared_data):
    table = tb.read_table(
        shared_data / "bnlearn" / "marks.csv", kinds=dict.fromkeys(("MECH", "VECT", "ALG", "ANL", "STAT"), "continuous")
    )
    found = GaussianFamilies(table, BIC())  # ALG ANL MECH STAT VECT
    values = [
        found.score(2, ()),
        found.score(4, (2,)),
        found.score(0, (2, 4)),
        found.score(1, (0,)),
        found.score(3, (0, 1)),
    ]
    theirs = [-380.64830370157404, -341.70717234729801, -316.19564493664649, -337.52441844894486, -355.33168937282051]
    np.testing.assert_allclose(values, theirs, rtol=0, atol=1e-9)
