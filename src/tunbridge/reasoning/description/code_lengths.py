"""Code lengths in bits: how long the shortest message is that tells one thing among others.

A code that is short for likely things and long for unlikely ones takes, at its best, −log₂ p bits for what has
probability p. Conversely, the lengths L of any code in which no word begins another obey Kraft's inequality

    Σ 2^−L ≤ 1,

so that every code is a probability distribution with p = 2^−L (or a little less than one). Code lengths are ideal here:
they need not be whole numbers.

References
----------
C. E. Shannon (1948). A mathematical theory of communication. Bell System Technical Journal 27, 379–423, 623–656.

J. Rissanen (1983). A universal prior for integers and estimation by minimum description length. Annals of Statistics
11, 416–431.

J. R. Quinlan, R. L. Rivest (1989). Inferring decision trees using the minimum description length principle. Information
and Computation 80, 227–248.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import betaln

from tunbridge._check import check_number, check_whole
from tunbridge.errors import DataError
from tunbridge.probability.floats import as_floats
from tunbridge.reasoning.numbers import as_float, as_probability

LOG_STAR = 2.8651084158399
"""Σ_n 2^−(log₂ n + log₂ log₂ n + …), which makes the universal code of the whole numbers a probability.

It is the sum of the first terms plus the rest as an integral: with f(x) = 1/(x log₂ x log₂ log₂ x …) the integral from
2^a on is ln 2 times that from a on, so that from 65536 = 2^2^2^2 on it is (ln 2)⁵/(1 − ln 2). Rissanen gives 2.865064,
with which the probabilities would sum to 1.0000155.
"""

_MOST_DECIMALS = 17
_LARGEST = 2**53


def code_length(probability: Any) -> float:
    """Return −log₂ p, the bits that tell something of probability p; infinite for what is impossible.

    Parameters
    ----------
    probability : number or str
        From 0 to 1: a float, a Fraction of any size, or a text such as "1/3".

    Examples
    --------
    >>> code_length(0.125), code_length("1/1024"), code_length(1), code_length(0)
    (3.0, 10.0, 0.0, inf)
    """
    p = as_probability("the probability", probability)
    if p == 0:
        return math.inf
    if p > Fraction(1, 2):
        return abs(math.log1p(as_float(p - 1)) / math.log(2))
    if isinstance(p, Fraction) and p < Fraction(1, 2**1000):
        return math.log2(p.denominator) - math.log2(p.numerator)
    return -math.log2(p)


def naming_bits(n: int) -> float:
    """Return log₂ n, the bits that name one of n things without a preference.

    Examples
    --------
    >>> naming_bits(8), naming_bits(1)
    (3.0, 0.0)
    """
    check_whole("n", n, low=1)
    return math.log2(n)


def whole_number_bits(n: int) -> float:
    """Return the bits of a whole number ≥ 1 of which nothing is known beforehand, not even a limit.

    Rissanen's universal code first tells n, then how many digits n has, then how many digits that has, …:

        log* n = log₂ c + log₂ n + log₂ log₂ n + …,

    as long as the terms are positive. The constant c = 2.865108 makes Σ_n 2^−log* n = 1.

    Examples
    --------
    >>> [round(whole_number_bits(n), 3) for n in (1, 2, 16, 1000)]
    [1.519, 2.519, 8.519, 17.322]
    """
    check_whole("n", n, low=1)
    length, rest = math.log2(LOG_STAR), math.log2(n)
    while rest > 0:
        length, rest = length + rest, math.log2(rest)
    return length


def exception_bits(n: int, k: int, *, most: int | None = None, classes: int = 2) -> float:
    """Return the bits that tell which k of n rows are exceptions, and what they are instead.

    First their number, up to ``most``, then their places, then for each one of the other classes:

        log₂(most + 1) + log₂ C(n, k) + k log₂(classes − 1).

    Parameters
    ----------
    n, k : int
        The number of rows, and of exceptions among them.
    most : int, optional
        The largest number of exceptions there can be; by default n.
    classes : int
        How many classes there are; with two an exception is of the other one.

    References
    ----------
    Quinlan and Rivest (1989), where log₂(b + 1) + log₂ C(n, k) is called L(n, k, b).

    Examples
    --------
    Which five of fourteen days are different:

    >>> round(exception_bits(14, 5), 3)
    14.874
    """
    for name, value in (("n", n), ("k", k), ("most", n if most is None else most)):
        check_whole(name, value, low=0)
        check_number(name, value, high=_LARGEST)
    check_whole("classes", classes, low=1)
    n, k, limit, classes = int(n), int(k), int(n if most is None else most), int(classes)
    if k > min(n, limit) or (k and classes == 1):
        what = "n" if k > n else "most" if k > limit else "what one class allows, 0"
        raise DataError(f"k must be at most {what}; got k = {k}, n = {n}, most = {limit}, classes = {classes}.")
    return math.log2(limit + 1) + float(log2_binomial(n, k)) + (k * math.log2(classes - 1) if k else 0.0)


def log2_binomial(n: Any, k: Any) -> np.ndarray:
    """Return log₂ C(n, k) for arrays of numbers.

    Examples
    --------
    >>> log2_binomial(5, [0, 2, 5]).round(6).tolist()
    [0.0, 3.321928, 0.0]
    """
    n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
    inside = (k > 0) & (k < n)
    some = np.where(inside, k, 0.0)
    found = -(betaln(n - some + 1.0, some + 1.0) + np.log(n + 1.0)) / math.log(2)
    return np.where(inside, found, 0.0)


def as_readings(what: str, values: Any) -> np.ndarray:
    """Return numbers that were read off as a new array; raise unless they are finite, and one at least."""
    array = as_floats(what, values)
    if array.ndim != 1 or array.size == 0:
        raise DataError(f"{what} must be a list of numbers, one at least; got an array of shape {array.shape}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        hint = "Leave such rows out." if np.isnan(array[bad[0]]) else ""
        raise DataError(f"{what} must be finite numbers; number {bad[0] + 1} is {array[bad[0]]}. {hint}".rstrip())
    return array


def recorded_precision(values: Any) -> float:
    """Return the precision to which numbers were written down: the last decimal place that any of them has.

    A number can be told only to some precision δ, and its probability is that of the numbers that would have been
    rounded to it, about density × δ. Another precision adds the same bits to every description, unless one of them is
    exact to that precision: then it is where the gain ends.

    Examples
    --------
    >>> recorded_precision([3.5, 4.25, 1]), recorded_precision([170, 182, 165])
    (0.01, 1.0)
    """
    array = as_readings("values", values)
    spacing = float(np.spacing(np.abs(array).max()))
    for decimals in range(_MOST_DECIMALS + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.round(array, decimals)
        if np.array_equal(rounded, array):
            return max(float(f"1e-{decimals}"), spacing)
    return spacing
