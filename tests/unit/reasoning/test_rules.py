from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tunbridge.errors import DataError
from tunbridge.reasoning import from_odds, odds, product_rule, sum_rule, total_probability


def test_product_rule() -> None:
    assert product_rule(0.98, 0.008) == 0.00784
    assert product_rule(Fraction(1, 3), 1) == Fraction(1, 3)


def test_product_rule_of_variables() -> None:
    joint = product_rule({"rain": {"wet": 0.9, "dry": 0.1}, "sun": {"wet": 0.2, "dry": 0.8}}, {"rain": 0.25})
    assert joint["sun", "dry"] == pytest.approx(0.6, rel=1e-15)
    assert joint.marginal("A")["wet"] == pytest.approx(0.375, rel=1e-15)
    assert joint.marginal("B")["rain"] == pytest.approx(0.25, rel=1e-15)
    with pytest.raises(DataError, match=r"P\(B\) must name hypotheses; got 'snow'"):
        product_rule({"rain": {"wet": 1}, "sun": {"wet": 1}}, {"rain": 0.5, "snow": 0.5})


def test_sum_rule() -> None:
    assert sum_rule("1/2", "1/2", 0) == 1
    assert sum_rule(0.5, 0.5, 0.25) == 0.75
    assert sum_rule(0.3, 1.0, 3 * 0.1) == 1.0  # which is a little more than 0.3
    with pytest.raises(DataError) as caught:
        sum_rule(0.7, 0.6, 0.2)
    assert str(caught.value) == "P(A, B) must lie between 0.3 and 0.6, given P(A) and P(B); got 0.2."
    with pytest.raises(DataError, match=r"P\(A, B\) must lie between 0 and 0.1"):
        sum_rule(0.1, 0.2, 0.15)


def test_total_probability() -> None:
    assert total_probability({"cancer": "0.008"}, {"cancer": "0.98", "healthy": "0.03"}) == Fraction(47, 1250)
    assert total_probability(None, {"a": 1, "b": 0}) == Fraction(1, 2)
    with pytest.raises(DataError, match=r"P\(E \| b\) must lie between 0 and 1; got 2"):
        total_probability(None, {"a": 1, "b": 2})
    with pytest.raises(DataError, match="the likelihood must be a mapping"):
        total_probability(None, 0.5)


def test_odds_and_back() -> None:
    for p in ("1/7", "0", "9/10"):
        assert from_odds(odds(p)) == Fraction(p)
    assert odds(1) == math.inf
    assert from_odds(math.inf) == 1.0
    with pytest.raises(DataError, match="odds must be at least 0; got -1"):
        from_odds(-1)
    with pytest.raises(DataError, match="the probability must lie between 0 and 1; got -1"):
        odds(-1)
