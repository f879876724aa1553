"""What conjugate priors share: exact products, counts, levels, and what to say about them.

A prior is **conjugate** to a likelihood if the posterior is of the same family as the prior: learning is then
arithmetic on a few parameters. Counts are whole numbers, so the probabilities of data are ratios of rising factorials

    a^(n) = a (a + 1) … (a + n − 1) = Γ(a + n) / Γ(a),

which are taken without rounding for any rational a. They come back as fractions where a pseudo-count is a fraction or a
text and none is a float; whole numbers alone give floats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tunbridge._check import check_number, shortened
from tunbridge.errors import DataError
from tunbridge.probability.floats import as_floats
from tunbridge.reasoning.numbers import Number, as_float, as_number, exact_value, like, log_of, number_text

MOST_EXACT = 5_000
"""Up to how many observations the probability of data is taken without rounding; of more it is always a float."""

_LARGE = 1e4


def evidence(alphas: Sequence[Number], counts: Sequence[int]) -> Number:
    """Return Π_k a_k^(n_k) / a^(n), the probability of states seen in a given order, these numbers of times.

    Examples
    --------
    >>> evidence([Fraction(1), Fraction(1)], [7, 3])
    Fraction(1, 1320)
    """
    if sum(counts) > MOST_EXACT:
        return math.exp(log_evidence(alphas, counts))
    return like(_exact_evidence(alphas, counts), alphas)


def log_evidence(alphas: Sequence[Number], counts: Sequence[int]) -> float:
    """Return the natural logarithm of the evidence, of any size."""
    if sum(counts) <= MOST_EXACT:
        return log_of(_exact_evidence(alphas, counts))
    floats = [as_float(alpha) for alpha in alphas]
    parts = [_log_rising(a, n) for a, n in zip(floats, counts, strict=True)]
    return math.fsum(parts) - _log_rising(math.fsum(floats), sum(counts))


def predictive_probability(alphas: Sequence[Number], counts: Sequence[int]) -> Number:
    """Return the probability of states seen these numbers of times, in any order."""
    if sum(counts) > MOST_EXACT:
        orders = math.lgamma(sum(counts) + 1) - math.fsum(math.lgamma(n + 1) for n in counts)
        return math.exp(min(0.0, orders + log_evidence(alphas, counts)))
    orders = math.factorial(sum(counts)) // math.prod(map(math.factorial, counts))
    return like(orders * _exact_evidence(alphas, counts), alphas)


def _exact_evidence(alphas: Sequence[Number], counts: Sequence[int]) -> Fraction:
    exact = [exact_value(alpha) for alpha in alphas]
    above = math.prod((rising(a, n) for a, n in zip(exact, counts, strict=True)), start=Fraction(1))
    return above / rising(sum(exact, Fraction(0)), sum(counts))


def rising(a: Fraction, n: int) -> Fraction:
    """Return a (a + 1) … (a + n − 1).

    Examples
    --------
    >>> rising(Fraction(1, 2), 3), rising(Fraction(3), 0)
    (Fraction(15, 8), Fraction(1, 1))
    """
    p, q = a.numerator, a.denominator
    return Fraction(math.perm(p + n - 1, n) if q == 1 else math.prod(range(p, p + n * q, q)), q**n)


def _log_rising(a: float, n: int) -> float:
    """Return ln Γ(a + n) − ln Γ(a); for a large a by Stirling's series, where the two would cancel."""
    if a < _LARGE:
        return math.lgamma(a + n) - math.lgamma(a)
    return (a - 0.5) * math.log1p(n / a) + n * (math.log(a + n) - 1.0) + (1.0 / (a + n) - 1.0 / a) / 12.0


def as_positive(what: str, value: Any) -> Number:
    """Return a number above 0 that a float can hold too."""
    found = as_number(what, value)
    if not (found > 0 and 0.0 < as_float(found) < math.inf):
        raise DataError(f"{what} must be above 0; got {number_text(found)}.")
    return found


def as_count(what: str, value: Any) -> int:
    """Return a whole number, at least 0."""
    found = exact_value(as_number(what, value))
    if found < 0 or found.denominator != 1:
        raise DataError(f"{what} must be a whole number, at least 0; got {shortened(repr(value))}.")
    return int(found)


def check_level(level: Any) -> float:
    """Return how probable an interval is to be; raise unless it is between 0 and 1."""
    found = check_number("level", level, above=0)
    if found >= 1:
        raise DataError(f"level must be below 1; got {level!r}. Write 0.95 for 95 %.")
    return found


def as_places(what: str, values: Any) -> np.ndarray:
    """Return numbers at which a density is asked for."""
    found = as_floats(what, values)
    if np.isnan(found).any():
        raise DataError(f"{what} must be numbers; got nan.")
    return found
