"""Folds that depend on what rows say, not on where they stand.

Rows are held out in turns. Which fold a row comes into follows from a key, a mixture of the bits of its cells and of
the seed: so shuffled rows, shuffled columns and renamed codes give the same folds. Within a class the rows stand on a
line by their keys and are dealt to the folds in turn, so that every fold has its share of every class.

A weight is a number of rows: a row of weight 3 is three equal rows, and they are dealt as such, one to a fold. A weight
that is not whole is rounded up to a number of equal parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tunbridge.classifiers.rows.readers import Rows

_MOST_PARTS = 1 << 20  # where a row is in every fold, further parts change nothing


@dataclass(frozen=True, eq=False)
class Folds:
    """Which parts of which rows are held out when.

    Parameters
    ----------
    start, parts : ndarray of int
        Where each row begins on the line, and how many parts it has; 0 for rows that are never held out.
    n_folds : int
        The number of folds; part t of the line is held out with fold t mod n_folds.
    """

    start: np.ndarray
    parts: np.ndarray
    n_folds: int

    def held_out(self, fold: int) -> np.ndarray:
        """Return the share of each row that is held out with a fold."""
        before = (self.start - 1 - fold) // self.n_folds
        inside = (self.start + self.parts - 1 - fold) // self.n_folds - before
        return inside / np.maximum(self.parts, 1)


def deal_folds(batch: Rows, classes: np.ndarray, weights: np.ndarray | None, *, n_folds: int, seed: int) -> Folds:
    """Return folds of the rows; those without a class (−1), without weight, or alone in their class are never held out.

    Parameters
    ----------
    batch : Rows
        The rows.
    classes : ndarray of int
        The code of each row's class.
    weights : ndarray, optional
        The rows' weights.
    n_folds, seed : int
        How many folds, and which of the many ways to deal the rows.
    """
    parts = np.ones(len(classes), np.int64)
    if weights is not None:
        parts = np.minimum(np.ceil(weights), _MOST_PARTS).astype(np.int64)
    parts[classes < 0] = 0
    of_class = np.bincount(classes[classes >= 0], weights=parts[classes >= 0], minlength=1)
    parts[of_class[classes] < 2] = 0
    keys = batch.keys(seed)
    first = np.full(len(of_class), np.iinfo(np.uint64).max, np.uint64)  # classes stand in an order that names don't set
    np.minimum.at(first, classes[classes >= 0], keys[classes >= 0])
    order = np.lexsort((keys, classes, first[classes]))
    start = np.empty_like(parts)
    start[order] = np.cumsum(parts[order]) - parts[order]
    return Folds(start, parts, n_folds)
