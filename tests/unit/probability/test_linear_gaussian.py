"""Linear Gaussian tables and mixtures of Gaussians."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import integrate, stats

import tunbridge as tb
from tunbridge.counts.moments import CrossMoments, cross_moments, merged
from tunbridge.errors import DataError

SEX = tb.Variable("Sex", ["female", "male"])
AREA = tb.Variable("Area", ["town", "land", "coast"])
HEIGHT, WEIGHT, AGE = tb.Variable("Height"), tb.Variable("Weight"), tb.Variable("Age")


def weight_table() -> tb.LinearGaussian:
    """Return a table with parents of both kinds, mixed."""
    return tb.LinearGaussian(
        WEIGHT, [HEIGHT, SEX, AGE, AREA], np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(2, 3, 2),
        np.arange(1.0, 7.0).reshape(2, 3),
    )  # fmt: skip


class TestLinearGaussian:
    def test_parents_of_both_kinds_in_any_order(self):
        table = weight_table()
        assert table.discrete_parents == (SEX, AREA)
        assert table.continuous_parents == (HEIGHT, AGE)
        assert (table.shape, table.n_configurations, table.n_parameters) == ((2, 3), 6, 24)
        found = table.distribution({"Sex": "male", "Area": "land", "Height": 2.0, "Age": 10})
        assert (found.mean, found.variance) == (4.0 + 8.0 * 2.0 + 9.0 * 10.0, 5.0)

    @pytest.mark.parametrize(
        "given",
        [
            {"intercepts": {"female": 1, "male": 2}, "variances": {"male": 4, "female": 3}},
            {"intercepts": [1, 2], "variances": np.array([3.0, 4.0])},
        ],
    )
    def test_numbers_by_state_or_in_order(self, given):
        expected = tb.LinearGaussian(HEIGHT, [SEX], [1.0, 2.0], variances=[3.0, 4.0])
        assert tb.LinearGaussian(HEIGHT, [SEX], **given) == expected

    def test_numbers_by_several_states(self):
        keys = [(s, a) for s in SEX.states for a in AREA.states]
        table = tb.LinearGaussian(HEIGHT, [SEX, AREA], {k: i for i, k in enumerate(keys)}, variances=1)
        assert table.intercepts.tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_coefficients_by_parent_once_for_all_or_flat(self):
        by_parent = {"Age": {"female": 1, "male": 2}, "Height": 3}
        one = tb.LinearGaussian(WEIGHT, [SEX, HEIGHT, AGE], 0, by_parent, 1)
        assert one.coefficients.tolist() == [[3, 1], [3, 2]]
        assert tb.LinearGaussian(WEIGHT, [SEX, HEIGHT], 0, 2.0, 1).coefficients.tolist() == [[2], [2]]
        assert tb.LinearGaussian(WEIGHT, [SEX, HEIGHT, AGE], 0, [1, 2], 1).coefficients.tolist() == [[1, 2], [1, 2]]

    def test_it_never_changes(self):
        table = weight_table()
        for array in (table.intercepts, table.coefficients, table.variances):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        with pytest.raises(AttributeError):
            table.variances = 1.0
        again = pickle.loads(pickle.dumps(table))
        assert again == table
        assert not again.variances.flags.writeable

    def test_equality_is_about_the_numbers(self):
        table = weight_table()
        other = tb.LinearGaussian(WEIGHT, table.parents, table.intercepts, table.coefficients, table.variances + 1.0)
        assert table == weight_table()
        assert table != other
        assert table != "text"

    def test_as_text(self):
        table = tb.LinearGaussian(WEIGHT, [SEX, HEIGHT], {"female": -100, "male": -90}, {"Height": 1}, [49, 64])
        assert repr(table) == "LinearGaussian('Weight' | 'Sex', 'Height': 2 regressions on 1 number)"
        assert str(table).splitlines() == [
            "Weight given Sex, Height",
            "Sex     intercept  Height  std",
            "female  -100       1       7",
            "male    -90        1       8",
        ]
        assert "<caption>Weight given Sex, Height</caption>" in table._repr_html_()
        assert str(tb.LinearGaussian(HEIGHT, [], 170, variances=4)) == "Height\nmean  std\n170   2"

    def test_many_configurations_are_cut_short(self):
        many = tb.Variable("Many", range(50))
        assert "… and 30 more rows" in str(tb.LinearGaussian(HEIGHT, [many], 0, variances=1))

    def test_fixing_categorical_parents(self):
        moments = CrossMoments(np.arange(6.0), np.ones((6, 3)), np.zeros((6, 3, 3)))
        table = weight_table()
        table = tb.LinearGaussian(
            WEIGHT, table.parents, table.intercepts, table.coefficients, table.variances, moments=moments
        )
        part = table.reduced({"Sex": 1})
        assert part.parents == (HEIGHT, AGE, AREA)
        assert part.intercepts.tolist() == [3, 4, 5]
        assert part.counts.tolist() == [3, 4, 5]

    def test_counts_are_those_of_the_moments(self):
        moments = CrossMoments(np.array([3.0, 4.0]), np.ones((2, 1)), np.ones((2, 1, 1)))
        table = tb.LinearGaussian(HEIGHT, [SEX], 0, variances=1, moments=moments)
        assert table.counts.tolist() == [3, 4]
        assert table.with_counts(None).counts is None
        with pytest.raises(DataError, match="the counts of 'Height' must be those of its moments"):
            table.with_counts([1, 2])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((SEX, [], 0, None, 1), "the variable of a LinearGaussian must be continuous; 'Sex' has states. CPT is"),
            ((HEIGHT, ["Sex"], 0, None, 1), "variable and parents must be Variables; got 'Sex'"),
            ((HEIGHT, "Sex", 0, None, 1), "parents must be a list of Variables; got 'Sex'"),
            ((HEIGHT, [HEIGHT], 0, 1, 1), "must have distinct names; got 'Height' more than once"),
            ((HEIGHT, [tb.Variable("None", [])], 0, None, 1), "must have states; 'None' has none"),
            ((HEIGHT, [SEX], 0, None, None), "the variances of 'Height' must be given; got none"),
            ((HEIGHT, [SEX], 0, None, -1), "the variances of 'Height' must be at least 0; got -1"),
            ((HEIGHT, [SEX], 0, None, [0, 1]), "must be above 0 in every configuration, or 0 in all; got both"),
            ((HEIGHT, [SEX], float("nan"), None, 1), "the intercepts of 'Height' must be finite; got nan"),
            ((HEIGHT, [SEX], "tall", None, 1), "the intercepts of 'Height' must be an array of numbers; got 'tall'"),
            ((HEIGHT, [SEX], [1, 2, 3], None, 1), r"must be one number, or have the shape \(2,\) .*; got \(3,\)"),
            (
                (HEIGHT, [SEX], {"male": 1}, None, 1),
                "must have a number for every configuration; Sex='female' has none",
            ),
            ((HEIGHT, [SEX], {"man": 1}, None, 1), "'Sex' must be in one of its states; got 'man'"),
            ((HEIGHT, [SEX, AREA], {"male": 1}, None, 1), "must have tuples with a state of each of 'Sex', 'Area'"),
            ((HEIGHT, [], {"male": 1}, None, 1), "must be one number without categorical parents"),
            (
                (WEIGHT, [HEIGHT], 0, None, 1),
                r"must be given for 'Height'; got none. Write coefficients=\{'Height': 1.0\}",
            ),
            ((WEIGHT, [HEIGHT, AGE], 0, {"Age": 1}, 1), "must name every continuous parent; 'Height' is missing"),
            (
                (WEIGHT, [HEIGHT], 0, {"Hight": 1}, 1),
                "must name parents of 'Weight'; got 'Hight'. Did you mean 'Height'",
            ),
            ((WEIGHT, [HEIGHT], 0, [1, 2], 1), r"must have the shape \(1,\); got \(2,\)"),
        ],
    )
    def test_what_is_refused(self, arguments, message):
        with pytest.raises(DataError, match=message):
            tb.LinearGaussian(*arguments)

    def test_questions_for_categories_are_refused(self):
        table = weight_table()
        for ask in (table.table, lambda: table.rows([[0, 0, 0, 0]])):
            with pytest.raises(DataError, match="must be of a categorical variable; 'Weight' is continuous"):
                ask()
        with pytest.raises(DataError, match="the value of 'Height' must be a number; got 'tall'"):
            table.distribution({"Sex": "male", "Area": "land", "Height": "tall", "Age": 1})
        with pytest.raises(DataError, match="given must name every parent of 'Weight'; 'Age' is missing"):
            table.distribution({"Sex": "male", "Area": "land", "Height": 1})

    def test_moments_of_another_size_are_refused(self):
        moments = CrossMoments(np.ones(1), np.ones((1, 1)), np.ones((1, 1, 1)))
        with pytest.raises(DataError, match="the moments of 'Height' must be of 2 groups and 1 column; got"):
            tb.LinearGaussian(HEIGHT, [SEX], 0, variances=1, moments=moments)


class TestMixture:
    PARTS = ([0.2, 0.5, 0.3], [-1.0, 2.0, 4.0], [0.5, 2.0, 0.1])

    def test_numbers_that_overflow_are_no_answer(self):
        with pytest.raises(tb.DataError, match="'Height' must be finite; they overflow"):
            tb.Mixture.of_valid(HEIGHT, np.ones(1), np.array([np.inf]), np.ones(1))

    def test_tables_that_overflow_are_refused(self):
        u, v = tb.Variable("u"), tb.Variable("v")
        steep = tb.LinearGaussian(v, [u], 0.0, [1e150], variances=1.0)
        net = tb.BayesianNetwork.from_tables([tb.LinearGaussian(u, [], 1e308, variances=1.0), steep])
        with pytest.raises(tb.DataError, match="of 'u', 'v' must not differ so much in size"):
            net.posteriors()

    def test_density_and_distribution_function(self):
        found = tb.Mixture(HEIGHT, *self.PARTS)
        w, m, v = map(np.array, self.PARTS)
        x = np.linspace(-5, 8, 40)
        expected = (w * stats.norm.pdf(x[:, None], m, np.sqrt(v))).sum(axis=1)
        np.testing.assert_allclose(found.density(x), expected, rtol=1e-12)
        np.testing.assert_allclose(found.log_density(x), np.log(expected), rtol=1e-12)
        np.testing.assert_allclose(
            found.cdf(x), (w * stats.norm.cdf(x[:, None], m, np.sqrt(v))).sum(axis=1), rtol=1e-12
        )

    def test_moments_by_integration(self):
        found = tb.Mixture(HEIGHT, *self.PARTS)
        mean = integrate.quad(lambda x: x * found.density(x), -20, 20, limit=200)[0]
        variance = integrate.quad(lambda x: (x - mean) ** 2 * found.density(x), -20, 20, limit=200)[0]
        np.testing.assert_allclose([found.mean, found.variance, found.std], [mean, variance, variance**0.5], rtol=1e-7)

    def test_quantiles_undo_the_distribution_function(self):
        found = tb.Mixture(HEIGHT, *self.PARTS)
        p = np.array([1e-12, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-9])
        np.testing.assert_allclose(found.cdf(found.quantile(p)), p, rtol=1e-9)
        assert found.quantile([0, 1]).tolist() == [-np.inf, np.inf]
        low, high = found.interval(0.9)
        np.testing.assert_allclose(found.cdf(high) - found.cdf(low), 0.9, rtol=1e-9)

    def test_far_tail_keeps_its_digits(self):
        found = tb.Mixture(HEIGHT, [1.0], [0.0], [1.0])
        np.testing.assert_allclose(found.quantile(1 - 1e-12), -found.quantile(1e-12), rtol=1e-4)
        assert found.log_density(1e5) == pytest.approx(-5e9, rel=1e-9)

    def test_equal_parts_come_together_and_weights_of_zero_go(self):
        found = tb.Mixture(HEIGHT, [0.25, 0.25, 0.5, 0.0], [1, 1, 2, 3], [1, 1, 1, 1])
        assert (found.weights.tolist(), found.means.tolist()) == ([0.5, 0.5], [1, 2])
        assert found == tb.Mixture(HEIGHT, [0.5, 0.5], [2, 1], [1, 1])

    def test_large_offsets_cost_no_digits(self):
        found = tb.Mixture(HEIGHT, [0.5, 0.5], [1e9, 1e9 + 2], [1, 1])
        assert (found.mean, found.variance) == (1e9 + 1, 2.0)

    def test_a_value_that_is_certain(self):
        found = tb.Mixture(HEIGHT, [1], [3], [0])
        assert repr(found) == "Height: 3 with certainty"
        assert (found.cdf(2.999), found.cdf(3), found.quantile(0.3), found.std) == (0, 1, 3, 0)
        assert (found.density(3), found.density(4)) == (np.inf, 0)
        half = tb.Mixture(HEIGHT, [0.5, 0.5], [0, 1], [0, 1])
        assert half.cdf(-1e-9) < 0.1 < 0.5 < half.cdf(0)

    def test_as_an_object(self):
        found = tb.Mixture(HEIGHT, *self.PARTS)
        again = pickle.loads(pickle.dumps(found))
        assert again == found
        assert len(found) == 3
        assert found != 3
        with pytest.raises(ValueError, match="read-only"):
            again.means[0] = 0
        assert repr(tb.Mixture(HEIGHT, [1], [170], [4])) == "Height: Gaussian, mean 170, standard deviation 2"
        assert "mixture of 3 Gaussians" in found._repr_html_()
        many = tb.Mixture(HEIGHT, np.full(30, 1 / 30), np.arange(30), np.ones(30))
        assert repr(many).endswith("… the 20 largest of 30")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((SEX, [1], [0], [1]), "the variable of a mixture must be a continuous Variable"),
            ((HEIGHT, [0.5], [0], [1]), "the weights of a mixture must sum to 1; got 0.5"),
            (
                (HEIGHT, [1.5, -0.5], [0, 1], [1, 1]),
                "the weights of the mixture of 'Height' must be at least 0; got -0.5",
            ),
            ((HEIGHT, [1], [0], [-1]), "the variances of the mixture of 'Height' must be at least 0; got -1"),
            ((HEIGHT, [1], [np.inf], [1]), "the means of the mixture of 'Height' must be finite; got inf"),
            ((HEIGHT, [1], [0, 1], [1]), "must have the same length, at least 1; got 1, 2, 1"),
            ((HEIGHT, [], [], []), "must have the same length, at least 1; got 0, 0, 0"),
            ((HEIGHT, [[1]], [0], [1]), "must be a list of numbers; got an array of shape"),
        ],
    )
    def test_what_is_refused(self, arguments, message):
        with pytest.raises(DataError, match=message):
            tb.Mixture(*arguments)

    def test_questions_that_make_no_sense(self):
        found = tb.Mixture(HEIGHT, *self.PARTS)
        with pytest.raises(DataError, match="x must be numbers; got NaN"):
            found.density(float("nan"))
        with pytest.raises(DataError, match=r"p must be from 0 to 1; got 1\.5"):
            found.quantile(1.5)
        with pytest.raises(DataError, match="probability must be at most 1; got 2"):
            found.interval(2)


class TestCrossMoments:
    def rows(self, seed=0):
        rng = np.random.default_rng(seed)
        return rng.normal(1e6, 1.0, (3, 200)), rng.integers(0, 4, 200), rng.uniform(0.0, 2.0, 200)

    def test_against_numpy(self):
        columns, groups, weights = self.rows()
        found = cross_moments(columns, groups, 5, weights)
        for g in range(4):
            x, w = columns[:, groups == g], weights[groups == g]
            np.testing.assert_allclose(found.count[g], w.sum(), rtol=1e-12)
            np.testing.assert_allclose(found.mean[g], np.average(x, axis=1, weights=w), rtol=1e-12)
            np.testing.assert_allclose(found.products[g], np.cov(x, aweights=w, ddof=0) * w.sum(), rtol=1e-7)
        assert (found.count[4], found.mean[4].tolist()) == (0, [0, 0, 0])

    def test_one_group_is_the_same(self):
        columns, _, weights = self.rows()
        one, many = (cross_moments(columns, np.zeros(200, int), n, weights) for n in (1, 2))
        np.testing.assert_allclose(one.products[0], many.products[0], rtol=1e-9)

    def test_parts_merge_to_the_whole(self):
        columns, groups, weights = self.rows()
        cuts = [slice(0, 50), slice(50, 51), slice(51, 200)]
        parts = merged([cross_moments(columns[:, c], groups[c], 5, weights[c]) for c in cuts])
        whole = cross_moments(columns, groups, 5, weights)
        np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-13)
        np.testing.assert_allclose(parts.products, whole.products, rtol=1e-7)

    def test_pooled_and_scaled(self):
        columns, groups, weights = self.rows()
        whole = cross_moments(columns, groups, 5, weights)
        one = cross_moments(columns, np.zeros(200, int), 1, weights)
        np.testing.assert_allclose(whole.pooled().products, one.products, rtol=1e-9)
        np.testing.assert_allclose(whole.pooled().mean, one.mean, rtol=1e-13)
        half = whole.scaled([0.5, 0.5, 0.5, 0.5, 0.0])
        np.testing.assert_allclose(half.count[:4], 0.5 * whole.count[:4], rtol=1e-15)
        assert cross_moments(columns[:, :0], groups[:0], 2).pooled().count.tolist() == [0]
        with pytest.raises(DataError, match="the factor of moments must be at least 0"):
            whole.scaled(-1)


def test_as_frames():
    sex, height = tb.Variable("Sex", ["f", "m"]), tb.Variable("Height")
    table = tb.LinearGaussian(height, [sex], intercepts=[165, 178], variances=[36, 49])
    assert table.to_pandas().to_dict("list") == {"Sex": ["f", "m"], "mean": [165.0, 178.0], "std": [6.0, 7.0]}
    mixture = tb.Mixture(height, [0.25, 0.75], [165, 178], [36, 49])
    assert mixture.to_pandas().to_dict("list") == {"weight": [0.75, 0.25], "mean": [178.0, 165.0], "std": [7.0, 6.0]}
