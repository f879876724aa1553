"""Equal rows put together: each different row once, with the weight of all its copies.

Whatever is learned from the different rows and their weights cannot depend on the order of the rows, nor on whether a
row of weight three stands there once or three times; not even what is drawn by chance. Rows are sorted by the keys of
a batch, which follow from what their cells say, not from the codes that say it: so the
order of the states of a column does not matter either.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tunbridge.classifiers.rows.batch import Batch


def distinct_rows(batch: Batch, classes: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of one row of each kind (features and class), and the weight of its kind, above zero.

    The kinds are in an order that depends on what the rows hold, not on where they stand.
    """
    rows = np.arange(batch.n_rows) if weights is None else np.flatnonzero(weights > 0)
    weight = np.ones(len(rows)) if weights is None else weights[rows]
    keys = batch.keys(0)[rows]
    order = np.lexsort((classes[rows], keys))  # what a class is called decides only between rows that are equal else
    same = _follows(keys[order]) & _follows(classes[rows][order])
    if any((~_follows(column[rows][order]) & same).any() for column in _cells(batch)):
        columns = [classes[rows], *(column[rows] for column in _cells(batch))]  # two different rows had one key
        order = np.lexsort(columns)
        same = np.logical_and.reduce([_follows(column[order]) for column in columns])
    starts = np.flatnonzero(~same)
    found = np.add.reduceat(weight[order], starts) if len(rows) else np.empty(0)
    return rows[order[starts]], found


def _follows(column: np.ndarray) -> np.ndarray:
    """Return which entries equal the one before them."""
    return np.concatenate([np.zeros(min(1, len(column)), np.bool_), column[1:] == column[:-1]])


def _cells(batch: Batch) -> Iterator[np.ndarray]:
    """Yield the features as numbers that are equal where the cells are equal."""
    yield from batch.codes.values()
    for which in batch.numeric.values():
        numbers = batch.number_column(which) + 0.0  # −0 is 0
        yield np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
