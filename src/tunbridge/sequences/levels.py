"""Counts at every level of back-off: in contexts of no item, of one, and so on to the longest.

A symbol that was met in a context is counted in all shorter ones too. Level j holds the counts n(context, s) of
contexts of exactly j items; a symbol whose context has fewer items takes no part in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tunbridge.sequences.counting import Counted
from tunbridge.sequences.layout import Layout


class Level(NamedTuple):
    """The counts of outcomes in contexts of so many items.

    Attributes
    ----------
    contexts : ndarray of int64
        The contexts that were met, sorted.
    totals : ndarray
        n(context).
    cells : ndarray of int64
        The keys of contexts with the outcomes that were met in them, sorted.
    counts : ndarray
        n(context, s) of each cell.
    context : ndarray of int
        Where the context of each cell stands.
    below : ndarray of int
        Where the same outcome in the context with one item less stands among the cells of the level below.
    stopped : ndarray
        How many of each cell's counts have no longer context.
    """

    contexts: np.ndarray
    totals: np.ndarray
    cells: np.ndarray
    counts: np.ndarray
    context: np.ndarray
    below: np.ndarray
    stopped: np.ndarray


def levels_of(counted: Counted, layout: Layout) -> list[Level]:
    """Return the counts level by level, from the bag of letters to the longest contexts.

    Examples
    --------
    >>> counted = Counted(np.array([0, 5, 6]), np.array([2.0, 1.0, 1.0]))  # a after nothing, b after a, a after b
    >>> bag, pairs = levels_of(counted, Layout(2, 1, ends=False))
    >>> bag.counts.tolist(), pairs.counts.tolist(), pairs.totals.tolist()
    ([3.0, 1.0], [1.0, 1.0], [1.0, 1.0])
    """
    contexts, outcomes = np.divmod(counted.keys, max(1, layout.n_outcomes))
    found: list[Level] = []
    for j in range(layout.depth + 1):
        prefix, takes_part = layout.shortened(contexts, j)
        longer = layout.shortened(contexts, j + 1)[1] if j < layout.depth else np.zeros(len(contexts), np.bool_)
        keys = prefix[takes_part] * layout.n_outcomes + outcomes[takes_part]
        counts, stops = counted.counts[takes_part], ~longer[takes_part]
        found.append(_level(keys, counts, stops, layout, found))
    return found


def _level(keys: np.ndarray, counts: np.ndarray, stops: np.ndarray, layout: Layout, lower: list[Level]) -> Level:
    cells, of = np.unique(keys, return_inverse=True)
    total = np.bincount(of, counts, minlength=len(cells))
    stopped = np.bincount(of[stops], counts[stops], minlength=len(cells))
    owner, outcome = np.divmod(cells, max(1, layout.n_outcomes))
    contexts, context = np.unique(owner, return_inverse=True)
    totals = np.bincount(context, total, minlength=len(contexts))
    below = np.zeros(len(cells), np.int64)
    if lower:
        shorter = owner // layout.base if len(lower) > 1 else np.zeros_like(owner)
        below = np.searchsorted(lower[-1].cells, shorter * layout.n_outcomes + outcome)
    return Level(contexts, totals, cells, total, context, below, stopped)
