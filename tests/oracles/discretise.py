"""Discretisation the slow way: plain Python, every gap tried, the formulas as they are printed."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise


def mdl_cuts_by_enumeration(values, classes, weights=None):
    """Return the bin edges of Fayyad and Irani (1993), by recursion over all gaps between distinct values."""
    weights = [1] * len(values) if weights is None else weights
    rows = [
        (value, cls, weight)
        for value, cls, weight in zip(values, classes, weights, strict=True)
        if not math.isnan(value) and cls >= 0 and weight > 0
    ]
    return _cuts(sorted(rows))


def equal_frequency_by_enumeration(values, n_bins, weights=None):
    """Return one cut in the gap nearest to each of the shares i / n_bins, in exact arithmetic."""
    weights = [1] * len(values) if weights is None else weights
    rows = [(v, Fraction(w)) for v, w in zip(values, weights, strict=True) if not math.isnan(v) and w > 0]
    total = sum(w for _, w in rows)
    distinct = sorted({v for v, _ in rows})
    gaps = [(sum(w for v, w in rows if v <= low), middle(low, high)) for low, high in pairwise(distinct)]
    wanted = [total * i / n_bins for i in range(1, n_bins)]
    return sorted({min(gaps, key=lambda gap: (abs(gap[0] - share), gap[0]))[1] for share in wanted}) if gaps else []


def interval_of(value, cuts):
    """Return how many cuts lie below a value; −1 for a missing one."""
    return -1 if math.isnan(value) else sum(cut < value for cut in cuts)


def middle(low, high):
    """Return the middle of two numbers, computed exactly and rounded once, and kept below the upper one."""
    exact = float((Fraction(low) + Fraction(high)) / 2)
    return exact if exact < high else low


def _cuts(rows):
    n = sum(weight for _, _, weight in rows)
    gaps = [i for i in range(1, len(rows)) if rows[i - 1][0] < rows[i][0]]
    if not gaps or n < 2 or len({cls for _, cls, _ in rows}) < 2:
        return []
    gains = [_gain(rows, i) for i in gaps]
    # Cuts as good as the best up to rounding count as equal, and the lowest is taken.
    best = next(i for i, gain in zip(gaps, gains, strict=True) if gain >= max(gains) - 1e-12 * math.log2(n))
    left, right = rows[:best], rows[best:]
    if not _gain(rows, best) > _price(rows, left, right) / n:
        return []
    return [*_cuts(left), middle(left[-1][0], right[0][0]), *_cuts(right)]


def _gain(rows, i):
    n = _size(rows)
    return _ent(rows) - _size(rows[:i]) / n * _ent(rows[:i]) - _size(rows[i:]) / n * _ent(rows[i:])


def _price(rows, left, right):
    k, k1, k2 = (len({cls for _, cls, _ in part}) for part in (rows, left, right))
    delta = math.log2(3**k - 2) - (k * _ent(rows) - k1 * _ent(left) - k2 * _ent(right))
    return math.log2(_size(rows) - 1) + delta


def _size(rows):
    return math.fsum(weight for _, _, weight in rows)


def _ent(rows):
    counts = Counter()
    for _, cls, weight in rows:
        counts[cls] += weight
    return -math.fsum(c / _size(rows) * math.log2(c / _size(rows)) for c in counts.values())
