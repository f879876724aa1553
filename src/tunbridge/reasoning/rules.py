"""The rules that all reasoning with probabilities comes from.

    product rule         P(A, B) = P(A | B) P(B)
    sum rule             P(A or B) = P(A) + P(B) − P(A, B)
    total probability    P(E) = Σ_h P(E | h) P(h)
    odds                 p / (1 − p)

Exact numbers give fractions, floats give floats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, overload

from tunbridge._check import shortened
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError
from tunbridge.probability.distribution import Distribution
from tunbridge.reasoning.models import value_table
from tunbridge.reasoning.numbers import (
    Number,
    as_float,
    as_number,
    as_probability,
    exact_sum,
    exact_value,
    like,
    number_text,
)
from tunbridge.reasoning.priors import NOISE, as_prior, by_name, distinct


@overload
def product_rule(conditional: Mapping[Any, Any], marginal: Mapping[Any, Any] | None) -> Distribution: ...
@overload
def product_rule(conditional: Any, marginal: Any) -> Number: ...
def product_rule(conditional: Any, marginal: Any) -> Number | Distribution:
    """Return P(A, B) = P(A | B) P(B), of two events or of two variables.

    Parameters
    ----------
    conditional : number, or mapping of B's value to a mapping of A's value to probability
        P(A | B).
    marginal : number, or mapping of B's value to probability
        P(B).

    Returns
    -------
    number, or Distribution of B and A

    Examples
    --------
    >>> product_rule("98/100", "8/1000")
    Fraction(49, 6250)
    >>> product_rule({"rain": {"wet": 0.9, "dry": 0.1}, "sun": {"wet": 0.2, "dry": 0.8}}, {"rain": 0.25, "sun": 0.75})
    B     A
    rain  wet  0.225
    rain  dry  0.025
    sun   wet  0.15
    sun   dry  0.6
    """
    if isinstance(conditional, Mapping):
        return _joint(conditional, marginal)
    p, q = as_probability("P(A | B)", conditional), as_probability("P(B)", marginal)
    return like(exact_value(p) * exact_value(q), (p, q))


def sum_rule(first: Any, second: Any, both: Any) -> Number:
    """Return P(A or B) = P(A) + P(B) − P(A, B).

    Parameters
    ----------
    first, second : number
        P(A) and P(B).
    both : number
        P(A, B); 0 for events that exclude each other, P(A) P(B) for independent ones.

    Examples
    --------
    >>> sum_rule("1/2", "1/3", "1/6")
    Fraction(2, 3)
    """
    given = as_probability("P(A)", first), as_probability("P(B)", second), as_probability("P(A, B)", both)
    a, b, c = map(exact_value, given)
    low, high = max(Fraction(0), a + b - 1), min(a, b)
    if not low - NOISE <= c <= high + NOISE:
        rule = f"must lie between {number_text(like(low, given))} and {number_text(like(high, given))}"
        raise DataError(f"P(A, B) {rule}, given P(A) and P(B); got {number_text(given[2])}.")
    return like(a + b - min(max(c, low), high), given)


def total_probability(prior: Any, likelihood: Mapping[Any, Any]) -> Number:
    """Return P(E) = Σ_h P(E | h) P(h).

    Parameters
    ----------
    prior : mapping of hypothesis to probability, or None
        P(h); one hypothesis may be left out and gets what the others leave, ``None`` makes all alike.
    likelihood : mapping of hypothesis to probability
        P(E | h).

    Examples
    --------
    >>> total_probability({"cancer": 0.008}, {"cancer": 0.98, "healthy": 0.03})
    0.0376
    """
    if not isinstance(likelihood := by_name(likelihood), Mapping):
        got = shortened(repr(likelihood))
        raise DataError(f"the likelihood must be a mapping of hypothesis to probability; got {got}.")
    names = distinct(likelihood)
    chances = [as_probability(f"P(E | {name})", value) for name, value in likelihood.items()]
    shares = as_prior(prior, names)
    pairs = zip(chances, shares, strict=True)
    return like(exact_sum(exact_value(p) * exact_value(q) for p, q in pairs), (*chances, *shares))


def odds(probability: Any) -> Number:
    """Return the odds p / (1 − p) of a probability; infinite for 1.

    Examples
    --------
    >>> odds("1/5"), odds(0.75)
    (Fraction(1, 4), 3.0)
    """
    p = as_probability("the probability", probability)
    return math.inf if p == 1 else like(exact_value(p) / (1 - exact_value(p)), [p])


def from_odds(odds: Any) -> Number:
    """Return the probability o / (1 + o) of odds.

    Examples
    --------
    >>> from_odds("1/4"), from_odds(3.0)
    (Fraction(1, 5), 0.75)
    """
    if isinstance(odds, float) and odds == math.inf:
        return 1.0
    o = as_number("odds", odds)
    if o < 0:
        raise DataError(f"odds must be at least 0; got {number_text(o)}.")
    return like(exact_value(o) / (1 + exact_value(o)), [o])


def _joint(conditional: Mapping[Any, Any], marginal: Any) -> Distribution:
    """Return the distribution of B and A from P(A | b) for each b, and P(B)."""
    outer = distinct(conditional)
    shares = as_prior(marginal, outer, what="P(B)")
    tables = [value_table(f"P(A | {b})", conditional[b]) for b in outer]
    inner = list(dict.fromkeys(a for table in tables for a in table))
    cells = [
        [as_float(exact_value(q) * exact_value(table.get(a, Fraction(0)))) for a in inner]
        for q, table in zip(shares, tables, strict=True)
    ]
    return Distribution([Variable("B", outer), Variable("A", inner)], cells)
