"""Which of two unknown probabilities is the larger one: P(p > q) of two beta beliefs, as in an A/B test.

With p ~ Beta(a, b) and q ~ Beta(c, d), independent of each other,

    P(p > q) = ∫ f(p) P(q < p) dp,     f the density of p.

It is taken over s = ln(p / (1 − p)) − ln(a / b), the log-odds of p measured from those of its mean m = a / (a + b). In
s the density is smooth, has its top at 0 and falls off like exp(a s) to the left and exp(−b s) to the right:

    f ∝ exp(a s) / (1 + m (exp(s) − 1))^(a + b).

Panels that are narrow around both means and grow away from them follow it there, each with a Gauss-Legendre rule. The
same rule gives the integral of f itself, by which the first is divided.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betainc, betaincc, expit

from tunbridge.errors import DataError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_DEEPEST = 750.0  # the logarithm of a density that is too small for a float, with the other sign
_GROWTH = 0.25
_LEAST, _LARGEST = 1e-10, 1e10  # beyond, the incomplete beta function loses digits


def probability_above(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return P(p > q) of p ~ Beta(first) and q ~ Beta(second).

    Examples
    --------
    >>> round(probability_above((2.0, 1.0), (1.0, 1.0)), 12)
    0.666666666667
    """
    if not all(_LEAST <= number <= _LARGEST for number in (*first, *second)):
        rule = f"alpha and beta must lie between {_LEAST:g} and {_LARGEST:g} to be compared"
        raise DataError(f"{rule}; got {first} and {second}.")
    (a, b), (c, d) = first, second
    middle, other = math.log(a / b), math.log(c / d)
    edges = _edges(a, b, [(0.0, _width(a, b)), (other - middle, _width(c, d)), (-middle, 1.0)])
    half = 0.5 * np.diff(edges)[:, None]
    s = 0.5 * (edges[:-1] + edges[1:])[:, None] + half * _NODES
    density = np.exp(_log_density(s, a, b)) * half * _WEIGHTS
    return min(1.0, float((density * _below(s + middle, c, d)).sum() / density.sum()))


def _log_density(s: np.ndarray, a: float, b: float) -> np.ndarray:
    """Return ln f, 0 at its top; each side by the form in which nothing overflows."""
    m, n = 1.0 / (1.0 + b / a), 1.0 / (1.0 + a / b)
    left, right = np.minimum(s, 0.0), np.minimum(-s, 0.0)
    return a * left + b * right - (a + b) * (_log_mixed(m, n, left) + _log_mixed(n, m, right))


def _log_mixed(m: float, n: float, s: np.ndarray) -> np.ndarray:
    """Return ln(m exp(s) + n) of s ≤ 0 and m + n = 1, to full precision near 0 and far from it."""
    fall = m * np.expm1(s)
    return np.where(fall > -0.5, np.log1p(np.maximum(fall, -0.5)), np.log(m * np.exp(s) + n))


def _below(log_odds: np.ndarray, c: float, d: float) -> np.ndarray:
    """Return the probability that q ~ Beta(c, d) has smaller log-odds."""
    from_0, from_1 = betainc(c, d, expit(log_odds)), betaincc(d, c, expit(-log_odds))
    return np.where(log_odds < 0.0, from_0, from_1)


def _width(a: float, b: float) -> float:
    """Return about the standard deviation of the log-odds, and 1 where that is larger."""
    return min(1.0, math.sqrt(1.0 / a + 1.0 / b))


def _edges(a: float, b: float, centres: list[tuple[float, float]]) -> np.ndarray:
    """Return the ends of panels over all s where the density is a float above 0."""
    low = -(_DEEPEST + (a + b) * math.log1p(a / b)) / a
    high = (_DEEPEST + (a + b) * math.log1p(b / a)) / b
    found = [np.array([low, high])]
    for centre, width in centres:
        reach = math.asinh(max(centre - low, high - centre, 1.0) / width)
        steps = np.arange(0.0, reach + _GROWTH, _GROWTH)
        found += [centre - width * np.sinh(steps), centre + width * np.sinh(steps)]
    return np.unique(np.concatenate(found).clip(low, high))
