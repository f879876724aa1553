"""Intervals of shares: against the score equation solved by bisection, and against the quantiles of scipy's Beta."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from scipy import optimize, stats

import tunbridge as tb
from tunbridge.errors import DataError
from tunbridge.reasoning.proportions import normal_quantile, ratio_interval, sum_interval

proportion_interval = tb.reasoning.proportion_interval

CASES = [(8, 10), (1, 10), (9, 10), (1, 1000), (999, 1000), (400, 610), (0.3, 2.7), (2, 10**9), (Fraction(1, 3), 1)]


def score_interval(x: float, n: float, level: float) -> tuple[float, float]:
    """Return where (p̂ − p)² = z² p (1 − p)/n on either side of p̂, found numerically."""
    share, z = x / n, stats.norm.ppf((1 + level) / 2)

    def gap(p: float) -> float:
        return (share - p) ** 2 * n - z * z * p * (1 - p)

    return optimize.brentq(gap, 0, share, xtol=1e-18), optimize.brentq(gap, share, 1, xtol=1e-18)


@pytest.mark.parametrize(("x", "n"), CASES)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_wilson_solves_the_score_equation(x, n, level):
    expected = score_interval(float(x), float(n), level)
    assert proportion_interval(x, n, level) == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize(("x", "n"), CASES)
@pytest.mark.parametrize(("method", "prior"), [("beta", 1), ("jeffreys", 0.5)])
def test_beta_is_between_quantiles(x, n, method, prior):
    expected = stats.beta.ppf([0.05, 0.95], float(x) + prior, float(n - x) + prior)
    assert proportion_interval(x, n, 0.9, method=method) == pytest.approx(tuple(expected), rel=1e-9, abs=0)


@pytest.mark.parametrize("method", ["wilson", "beta", "jeffreys"])
@pytest.mark.parametrize("n", [1, 20, 0.5, 10**9])
def test_none_and_all(method, n):
    low, high = proportion_interval(0, n, method=method)
    assert low == 0.0
    assert 0.0 < high < 1.0
    low, high = proportion_interval(n, n, method=method)
    assert high == 1.0
    assert 0.0 < low < 1.0


def test_wilson_of_none_is_known_in_closed_form():
    z = normal_quantile(0.95)
    assert proportion_interval(0, 20)[1] == pytest.approx(z * z / (20 + z * z), rel=1e-12)


@pytest.mark.parametrize("method", ["wilson", "beta", "jeffreys"])
def test_more_cases_and_less_certainty_make_it_narrower(method):
    def width(n: int, level: float) -> float:
        low, high = proportion_interval(n // 4, n, level, method=method)
        return high - low

    assert width(40, 0.95) > width(400, 0.95) > width(4000, 0.95)
    assert width(40, 0.99) > width(40, 0.95) > width(40, 0.5)


def test_wilson_covers_as_often_as_it_says_on_average():
    """Exact coverage by enumeration; an interval of half the width would cover in far fewer cases."""
    n, shares = 30, [i / 40 for i in range(1, 40)]
    ends = [proportion_interval(x, n) for x in range(n + 1)]

    def coverage(p: float, shrink: float) -> float:
        return sum(
            stats.binom.pmf(x, n, p)
            for x, (low, high) in enumerate(ends)
            if x / n + shrink * (low - x / n) <= p <= x / n + shrink * (high - x / n)
        )

    assert sum(coverage(p, 1.0) for p in shares) / len(shares) == pytest.approx(0.95, abs=0.01)
    assert sum(coverage(p, 0.5) for p in shares) / len(shares) < 0.8


def test_levels_near_one_keep_their_digits():
    low, high = proportion_interval(3, 10, 1 - 1e-12)
    assert (low, high) == pytest.approx(score_interval(3, 10, 1 - 1e-12), rel=1e-5)  # 1 − level has few digits left
    assert 0 < low < 0.3 < high < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0), r"total must be above 0; got 0\. A share of no cases is undefined\."),
        ((3, 2), r"successes must lie between 0 and total; got 3 of 2\."),
        ((-1, 2), r"successes must lie between 0 and total; got -1 of 2\."),
        ((1, 2, 95), r"level must lie between 0 and 1; got 95\. It looks like a percentage"),
        ((1, 2, 1), r"level must lie between 0 and 1, such as 0\.95; got 1\."),
        ((1, 2, 0), r"level must lie between 0 and 1, such as 0\.95; got 0\."),
        ((1, float("nan")), "total must be finite; got nan"),
        ((None, 2), "successes must be a number; got None"),
        ((1, 10**200), r"total must be at most 1e\+100; got 1e\+200"),
    ],
)
def test_bad_counts_and_levels(arguments, message):
    with pytest.raises(DataError, match=message):
        proportion_interval(*arguments)


def test_unknown_method():
    with pytest.raises(
        DataError, match=r"method must be one of 'wilson', 'beta', 'jeffreys'; got 'wilsn'. Did you mean"
    ):
        proportion_interval(1, 2, method="wilsn")


def test_ratio_interval_is_symmetric_in_the_logarithm():
    low, high = ratio_interval(3.0, 0.25, 0.9)
    assert math.log(high / 3.0) == pytest.approx(math.log(3.0 / low), rel=1e-12)
    assert math.log(high / 3.0) == pytest.approx(stats.norm.ppf(0.95) * 0.5, rel=1e-12)
    assert ratio_interval(3.0, 1e300, 0.9)[1] > 1e300


def test_sum_interval_of_one_share_is_its_own():
    assert sum_interval([(1.0, 0.4, (0.3, 0.6))]) == pytest.approx((0.3, 0.6), rel=1e-12)


def test_a_share_is_no_count():
    with pytest.raises(DataError) as raised:
        proportion_interval(0.5, 20)
    assert str(raised.value) == "successes must be a count; got 0.5, which looks like a share. Give how many."
