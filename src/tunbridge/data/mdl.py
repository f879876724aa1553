"""The search for the cuts of minimum description length: the inside of :func:`tunbridge.data.mdl_cuts`.

Rows are sorted once and put into blocks between which cuts are possible. Then each set of blocks is cut where the gain
is largest, and both sides in the same way, as long as a cut shortens the description (Fayyad & Irani 1993; the formulas
stand in :mod:`tunbridge.data.discretisation`). The class counts of a side are differences of running sums, so that a
set costs time in proportion to its cells, whatever the number of classes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge.data.columns import code_type

_TIE = 1e-12
_CHECKED = 1024  # cuts after which it is seen whether they have not become too many
_TINY = np.finfo(np.float64).tiny


def mdl_gaps(values: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> list[tuple[float, float]]:
    """Return the gaps to cut, each as the values below and above it, in order; every row is present and has weight.

    Examples
    --------
    >>> mdl_gaps(np.arange(8.0), np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.ones(8))
    [(3.0, 4.0)]
    """
    blocks = _class_blocks(values, classes, weights)
    boundaries, pending = [], [(0, blocks.low.size)]  # no recursion: it could be as deep as there are cuts
    while pending:
        first, last = pending.pop()
        cut = _best_cut(blocks, first, last)
        if cut is not None and _part(blocks, first, cut, last):
            boundaries.append(cut)
            if len(boundaries) % _CHECKED == 0:
                n_bytes = 8.0 * len(boundaries) * blocks.reached.size
                what = f"the counts of {len(boundaries)} bins × {blocks.reached.size} classes"
                check_memory(what, n_bytes, ways_out="Use equal_frequency, or group classes.")
            pending += [(first, cut), (cut, last)]
    return [(float(blocks.high[i - 1]), float(blocks.low[i])) for i in sorted(boundaries)]


class _Blocks(NamedTuple):
    """The rows in order of their values, in blocks between which cuts are possible.

    A block is one distinct value, or a run of them that hold one and the same class only. It consists of cells, one
    for each of its classes: block b has the cells first[b] … first[b + 1] − 1, each with its class and weight, and with
    the weight of that class, added up from low to high values, ``before`` and ``after`` the cell, and at the ``start``
    and at the ``end`` of the set of blocks it is in. These two change whenever a set is cut. ``reached`` has room for a
    number for each class.
    """

    low: np.ndarray
    high: np.ndarray
    first: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    before: np.ndarray
    after: np.ndarray
    start: np.ndarray
    end: np.ndarray
    reached: np.ndarray


def _class_blocks(values: np.ndarray, classes: np.ndarray, mass: np.ndarray) -> _Blocks:
    """Return the blocks of these rows, in one set."""
    distinct, rank = np.unique(values, return_inverse=True)
    labels, code = _distinct(classes)
    keys, cell = _distinct(rank * labels.size + code)
    rank, code = np.divmod(keys, labels.size)  # from here on of cells: a value and a class
    joined = _joins_previous(rank, code)
    cells, heads = np.flatnonzero(~joined[rank]), np.flatnonzero(~joined)
    first = np.append(np.searchsorted(rank[cells], heads), cells.size)
    high = distinct[np.append(heads[1:], distinct.size) - 1]
    weights, code = np.add.reduceat(np.bincount(cell, mass), cells), code[cells]
    running = _running_weights(code, weights, labels.size)
    return _Blocks(distinct[heads], high, first, code, weights, *running, np.empty(labels.size))


def _distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct numbers, sorted, and which of them each is; codes of a small range need no sorting."""
    if numbers.dtype.kind not in "iu" or not numbers.size or numbers.min() < 0 or numbers.max() > 4 * numbers.size:
        return np.unique(numbers, return_inverse=True)
    occurs = np.bincount(numbers) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def _joins_previous(rank: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Return for each distinct value whether it and the value before it hold one and the same class only."""
    n_cells = np.bincount(rank)
    lone = np.where(n_cells == 1, code[np.cumsum(n_cells) - 1], -1)
    joined = np.zeros(n_cells.size, bool)
    joined[1:] = (lone[1:] >= 0) & (lone[1:] == lone[:-1])
    return joined


def _running_weights(
    code: np.ndarray, weights: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the weight of each cell's class before and after the cell, and before and after all cells.

    One sum runs through the cells of the first class, then through those of the second, and so on. As differences
    are taken between its own partial sums, a class that is absent from a side weighs exactly zero there, whatever the
    weights; the number of classes of a side depends on that.
    """
    order = np.argsort(code.astype(code_type(n_classes)), kind="stable")
    running = np.append(0.0, np.cumsum(weights[order]))
    bounds = np.searchsorted(code[order], np.arange(n_classes + 1))
    before, after = np.empty(code.size), np.empty(code.size)
    before[order], after[order] = running[:-1], running[1:]
    return before, after, running[bounds[:-1]][code], running[bounds[1:]][code]


def _best_cut(blocks: _Blocks, first: int, last: int) -> int | None:
    """Return the block in front of which a cut of the set first … last − 1 gains most; None: nothing to cut."""
    cells = slice(blocks.first[first], blocks.first[last])
    n = float(blocks.weights[cells].sum())
    if last - first < 2 or n < 2:
        return None
    bits = _bits_of_sides(blocks, cells, blocks.first[first + 1 : last] - cells.start)
    return first + 1 + int(np.argmax(bits <= bits.min() + _TIE * n * math.log2(n)))


def _bits_of_sides(blocks: _Blocks, cells: slice, cuts: np.ndarray) -> np.ndarray:
    """Return |S₁|·Ent(S₁) + |S₂|·Ent(S₂) for cuts in front of some of the cells.

    With f(n) = n log₂ n, a side of N rows and class counts n_c needs f(N) − Σ f(n_c) bits. Moving one cell from the
    right side to the left changes a single n_c, so both sums are running sums of these changes over the cells.
    """
    start, end = blocks.start[cells], blocks.end[cells]
    before, after = blocks.before[cells], blocks.after[cells]
    left = np.cumsum(_n_log_n(after - start) - _n_log_n(before - start))
    right = np.cumsum((_n_log_n(end - before) - _n_log_n(end - after))[::-1])[::-1]
    n = np.cumsum(blocks.weights[cells])
    n_left = n[cuts - 1]
    return _n_log_n(n_left) - left[cuts - 1] + _n_log_n(n[-1] - n_left) - right[cuts]


def _part(blocks: _Blocks, first: int, cut: int, last: int) -> bool:
    """Make two sets of one, and return whether the cut is worth its description."""
    left, right = slice(blocks.first[first], blocks.first[cut]), slice(blocks.first[cut], blocks.first[last])
    whole = _class_counts(blocks, slice(left.start, right.stop))
    classes, reached = blocks.classes, blocks.reached
    reached[classes[right]] = blocks.start[right]
    reached[classes[left]] = blocks.after[left]  # of a class with several cells the last one stays
    blocks.end[left] = reached[classes[left]]
    blocks.start[right] = reached[classes[right]]
    return _shortens(whole, _class_counts(blocks, left), _class_counts(blocks, right))


def _class_counts(blocks: _Blocks, cells: slice) -> np.ndarray:
    """Return the weight of each class that is in the set of these cells."""
    start = blocks.start[cells]
    is_first = blocks.before[cells] == start  # one cell for each class
    return (blocks.end[cells] - start)[is_first]


def _n_log_n(n: np.ndarray) -> np.ndarray:
    return n * np.log2(np.maximum(n, _TINY))


def _shortens(whole: np.ndarray, left: np.ndarray, right: np.ndarray) -> bool:
    """Return whether the cut of a set into sides of these class counts passes the criterion of Fayyad and Irani."""
    (n, k, ent), (n_1, k_1, ent_1), (n_2, k_2, ent_2) = _entropy(whole), _entropy(left), _entropy(right)
    if n < 2:  # weights can be too small to be seen beside those of other sets
        return False
    gain = ent - n_1 / n * ent_1 - n_2 / n * ent_2
    log_patterns = k * math.log2(3) + math.log1p(-2 * 3.0**-k) / math.log(2)  # log₂(3ᵏ − 2) for any number of classes
    price = math.log2(n - 1) + log_patterns - (k * ent - k_1 * ent_1 - k_2 * ent_2)
    return gain > price / n


def _entropy(counts: np.ndarray) -> tuple[float, int, float]:
    """Return the number of rows, of classes among them, and the entropy of the classes in bits."""
    present = counts[counts > 0]  # a weight can be too small to be seen beside the others
    n = float(present.sum())
    share = present / n if present.size else present
    return n, present.size, -float(share @ np.log2(np.maximum(share, _TINY)))
