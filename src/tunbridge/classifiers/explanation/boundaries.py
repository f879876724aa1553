"""Where a decision flips as one number moves, and numbers that people would write.

The class as a function of one number is constant between boundaries. Their number is not known beforehand (two for
normal densities, any for kernel densities), so the range of the number is walked in steps. Between the last value that
keeps the class and the first that changes it the boundary is then closed in, all numbers of a row at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, inf, isfinite, isnan, log10

import numpy as np

STEPS = 129
_FINER, _ROUNDS = 33, 4

Judge = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(which number, its value) for several trials → (whether the class flips, how probable the class in question is)."""


def nearest_flips(now: np.ndarray, ranges: Sequence[tuple[float, float]], judge: Judge) -> np.ndarray:
    """Return for each number the value nearest to what it is now at which the class flips.

    Where none flips in the range it is the value at which the class in question is most probable; so it is for a number
    that is unknown now (NaN), because nothing is near to that.
    """
    which = np.repeat(np.arange(len(ranges)), STEPS)
    known = np.where(np.isnan(now), [a for a, _ in ranges], now)
    ends = [(min(a, x), max(b, x)) for (a, b), x in zip(ranges, known.tolist(), strict=True)]
    values = np.array([np.linspace(a, b, STEPS) for a, b in ends]).reshape(len(ranges), STEPS)
    flips, reached = (a.reshape(values.shape) for a in judge(which, values.ravel()))
    best = values[np.arange(len(values)), np.where(flips, reached + 1.0, reached).argmax(axis=1)]
    away = np.where(flips, np.abs(values - now[:, None]), inf)
    at = away.argmin(axis=1)
    found = np.flatnonzero(flips.any(axis=1) & ~np.isnan(now))
    if found.size:
        outer = values[found, at[found]]
        before = np.clip(at[found] + np.where(outer > now[found], -1, 1), 0, STEPS - 1)
        inner = values[found, before]
        passed = (inner - now[found]) * (outer - now[found]) < 0  # now lies between the two steps
        best[found] = _closed_in(found, np.where(passed, now[found], inner), outer, judge)
    return best


def _closed_in(which: np.ndarray, inner: np.ndarray, outer: np.ndarray, judge: Judge) -> np.ndarray:
    """Return values that flip, next to a boundary between ``inner``, which does not, and ``outer``, which does."""
    parts, rows = np.linspace(0.0, 1.0, _FINER), np.arange(len(which))
    for _ in range(_ROUNDS):
        values = inner[:, None] + (outer - inner)[:, None] * parts
        values[:, -1] = outer
        flips = judge(np.repeat(which, _FINER), values.ravel())[0].reshape(values.shape)
        flips[:, -1] = True
        first = np.maximum(flips.argmax(axis=1), 1)
        inner, outer = values[rows, first - 1], values[rows, first]
    return outer


def rounded(value: float, towards: float) -> float:
    """Return the shortest number between a value and another one, as near to the value as its digits allow.

    Examples
    --------
    >>> rounded(1.7132466, 1.8), rounded(2.45, 2.3), rounded(12.5, 13.4), rounded(0.0, 1.0)
    (1.8, 2.4, 13.0, 0.0)
    """
    low, high = min(value, towards), max(value, towards)
    if low <= 0.0 <= high or not isfinite(high - low):
        return 0.0 if low <= 0.0 <= high else value
    turn = ceil if value == low else floor
    first = -floor(log10(max(abs(low), abs(high))))
    for digits in range(first, first + 17):
        try:
            short = round(turn(value * 10.0**digits) / 10.0**digits, digits)
        except (OverflowError, ZeroDivisionError):
            break
        if low <= short <= high:
            return float(short)
    return value


def inside(cuts: Sequence[float], interval: int, near: float) -> float:
    """Return a value of an interval that people would write: near to a given one, or in the middle where that is NaN.

    Interval i holds the values above cuts[i − 1], up to and with cuts[i].

    Examples
    --------
    >>> [inside([0.8, 1.75], i, 1.0) for i in range(3)]
    [0.8, 1.0, 1.76]
    """
    low = cuts[interval - 1] if interval > 0 else -inf
    high = cuts[interval] if interval < len(cuts) else inf
    if low < near <= high:
        return near
    span = high - low if isfinite(high - low) else (cuts[-1] - cuts[0]) or abs(cuts[0]) or 1.0
    if isnan(near) and isfinite(high - low):
        return _strictly(rounded(low + span / 2, low + span * 0.7), low, high)
    if near > high or (isnan(near) and low == -inf):
        return _strictly(rounded(high, high - 0.05 * span), low, high)
    above = float(np.nextafter(low, inf))
    return _strictly(rounded(above, low + 0.05 * span), low, high)


def _strictly(value: float, low: float, high: float) -> float:
    """Return the value if it is in the interval, else the lowest or the highest one that is."""
    if value <= low:
        return float(np.nextafter(low, inf))
    return min(value, high)
