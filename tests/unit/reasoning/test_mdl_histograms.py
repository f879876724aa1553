from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.reasoning import choose_histogram
from tunbridge.reasoning.number_models import _histogram, _Scale

AGES = [21, 22, 22, 23, 23, 24, 24, 25, 26, 61, 62, 63, 63, 64, 64, 65, 66, 68]


def regret(n: int, k: int) -> float:
    """Return the sum of the largest likelihoods of all data, by going through the counts they can have."""
    total = 0.0
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        counts = np.diff([-1, *bars, n + k - 1]) - 1
        ways = math.factorial(n) / math.prod(math.factorial(int(h)) for h in counts)
        total += ways * math.prod((h / n) ** h for h in counts.tolist())
    return total


def plain_bits(values: list[float], edges: np.ndarray, delta: float) -> float:
    """Return −log₂ of the probability of values, each as probable as any other reading of its bin."""
    n, bits = len(values), 0.0
    for low, high in itertools.pairwise(edges.tolist()):
        h = sum(low < value < high for value in values)
        bits += h * math.log2(n * round((high - low) / delta) / h) if h else 0.0
    return bits


def test_lengths_by_the_formulas():
    values = [1.0, 1.5, 2.0, 2.5, 2.5, 6.0]
    choice = choose_histogram(values, 4, precision=0.5)
    assert list(choice) == ["1 bin", "2 bins", "3 bins", "4 bins"]
    for k, found in enumerate(choice.candidates, start=1):
        assert found.hypothesis_bits == pytest.approx(2 + math.log2(regret(6, k)), rel=1e-12)
        assert found.data_bits == pytest.approx(plain_bits(values, found.model.edges, 0.5), rel=1e-12)
        assert found.model.counts.sum() == 6


@pytest.mark.parametrize("n_bins", [1, 2, 3])
def test_the_code_of_all_data_wastes_nothing(n_bins):
    scale = _Scale(-0.5, 1.0, 5.0)  # the readings 0, 1, 2, 3, 4
    bounds = scale.bounds(n_bins)
    words = [
        2.0 ** -_histogram(np.sort(np.array(data, float)), scale, bounds, 0.0, 1).total
        for data in itertools.product(range(5), repeat=4)
    ]
    assert sum(words) == pytest.approx(1.0, rel=1e-12)


def test_free_bins_are_the_best_of_all():
    values = [0, 0, 0, 1, 4, 4, 4, 4, 6]
    choice = choose_histogram(values, widths="free")
    grid = np.arange(-0.5, 7)
    assert len(choice) == 7
    for k, found in enumerate(choice.candidates, start=1):
        cuts = itertools.combinations(grid[1:-1], k - 1)
        best = min(plain_bits(values, np.array([grid[0], *cut, grid[-1]]), 1.0) for cut in cuts)
        assert found.data_bits == pytest.approx(best, rel=1e-12)
        assert found.data_bits == pytest.approx(plain_bits(values, found.model.edges, 1.0), rel=1e-12)
        told = math.log2(7) + math.log2(math.comb(6, k - 1)) + math.log2(regret(9, k))
        assert found.hypothesis_bits == pytest.approx(told, rel=1e-12)


@pytest.mark.parametrize("widths", ["equal", "free"])
def test_it_is_the_most_probable_number_of_bins(widths):
    choice = choose_histogram(AGES, widths=widths)
    assert choice.space().update(["D"]).map == choice.posterior.mode == choice.best.name
    assert choice.kraft_sum <= 1


def test_two_groups_of_ages():
    model = choose_histogram(AGES, widths="free").model
    assert model.edges.tolist() == [20.5, 26.5, 60.5, 68.5]
    assert model.n_bins == 3
    np.testing.assert_allclose(model.densities, [9 / 18 / 6, 0, 9 / 18 / 8], rtol=1e-14)
    assert (model.densities * np.diff(model.edges)).sum() == pytest.approx(1.0, rel=1e-14)
    assert model.pdf([20.4, 20.5, 22, 40, 68.5, 69]).tolist() == [0.0, 1 / 12, 1 / 12, 0.0, 1 / 16, 0.0]


def test_even_values_need_one_bin_and_uneven_ones_more():
    even, bell = [], []
    for seed in range(5):
        random = np.random.default_rng(seed)
        even.append(choose_histogram(random.uniform(size=300).round(3)).model.n_bins)
        bell.append(choose_histogram(random.normal(size=300).round(3)).model.n_bins)
    assert np.median(even) == 1
    assert min(bell) > 4


def test_dice_have_a_bin_for_each_side():
    throws = [1] * 80 + [2] * 10 + [3] * 40 + [4] * 90 + [5] * 20 + [6] * 240
    assert choose_histogram(throws).model.edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


@pytest.mark.parametrize("widths", ["equal", "free"])
@pytest.mark.parametrize("values", [[3.0], [3.0] * 50, [2.5, 2.5]])
def test_one_value_is_told_by_one_bin(values, widths):
    choice = choose_histogram(values, widths=widths)
    assert list(choice) == ["1 bin"]
    assert choice.best.total == 0
    assert choice.model.counts.tolist() == [len(values)]


@pytest.mark.parametrize("widths", ["equal", "free"])
def test_numbers_with_all_their_digits(widths):
    values = np.random.default_rng(2).normal(size=300)
    choice = choose_histogram(values, 30, widths=widths)
    assert len(choice) == 30
    assert all(candidate.model.counts.sum() == 300 for candidate in choice.candidates)
    assert all((np.diff(candidate.model.edges) > 0).all() for candidate in choice.candidates)
    model = choice.model
    counts, _ = np.histogram(values, [-np.inf, *model.edges[1:-1], np.inf])
    assert model.counts.tolist() == counts.tolist()


def test_the_order_of_the_values_and_their_units_do_not_matter():
    random = np.random.default_rng(3)
    values = random.gamma(2.0, size=200).round(2)
    plain = [candidate.total for candidate in choose_histogram(values, 20).candidates]
    for other in (values[::-1], random.permutation(values)):
        assert [candidate.total for candidate in choose_histogram(other, 20).candidates] == plain
    tenfold = choose_histogram((10 * values).round(1), 20, precision=0.1)
    assert [candidate.total for candidate in tenfold.candidates] == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(("widths", "limit"), [("equal", "10000"), ("free", "1000000")])
def test_memory_is_forecast(monkeypatch, widths, limit):
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", limit)
    with pytest.raises(MemoryForecastError, match=r"the histograms would need .* Use a lower max_bins"):
        choose_histogram(np.arange(500.0), widths=widths)


def test_a_histogram_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        choose_histogram(AGES).model.edges[0] = 0


@pytest.mark.parametrize(
    ("values", "rest", "message"),
    [
        ([], {}, "values must be a list of at least one number"),
        ([1, math.nan], {}, "values must be finite numbers; number 2 is nan. Leave missing values out."),
        ([1, 2], {"max_bins": 0}, "max_bins must be at least 1; got 0"),
        ([1, 2], {"widths": "any"}, "widths must be one of 'equal', 'free'; got 'any'"),
        ([1, 2], {"precision": -1}, "precision must be greater than 0; got -1"),
        ([-1e308, 1e308], {}, "the range of values must not overflow; got -1e[+]308 to 1e[+]308"),
    ],
)
def test_bad_input(values, rest, message):
    with pytest.raises(DataError, match=message):
        choose_histogram(values, **rest)
