"""Equal rows put together: each different row once, with the weight of all its copies.

Whatever is learned from the different rows and their weights cannot depend on the order of the rows, nor on whether a
row of weight three stands there once or three times; not even what is drawn by chance.
"""

from __future__ import annotations

import numpy as np

from tunbridge.classifiers.batch import Batch

_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def distinct_rows(batch: Batch, classes: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of one row of each kind (features and class), and the weight of its kind, above zero.

    The kinds are in an order that depends on what the rows hold, not on where they stand.
    """
    rows = np.arange(batch.n_rows) if weights is None else np.flatnonzero(weights > 0)
    columns = [classes[rows].astype(np.int64), *(column[rows] for column in _cells(batch))]
    keys = np.zeros(len(rows), np.uint64)
    for column in columns[1:]:
        keys = _mixed(keys ^ column.view(np.uint64))
    order = np.lexsort((columns[0], keys))  # what a class is called decides only between rows that are equal else
    same = (keys[order][1:] == keys[order][:-1]) & (columns[0][order][1:] == columns[0][order][:-1])
    if any((column[order][1:] != column[order][:-1])[same].any() for column in columns):
        order = np.lexsort(columns)  # two different rows had one key
        same = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
    starts = np.flatnonzero(np.concatenate([[True], ~same])) if len(rows) else np.empty(0, np.intp)
    weight = np.ones(len(rows)) if weights is None else weights[rows]
    found = np.add.reduceat(weight[order], starts) if len(rows) else np.empty(0)
    return rows[order[starts]], found


def _cells(batch: Batch) -> list[np.ndarray]:
    """Return the features as 64-bit whole numbers, equal where the cells are equal."""
    found = []
    for j, v in enumerate(batch.variables):
        if v.is_categorical:
            found.append(np.asarray(batch.codes[j]).astype(np.int64))
        else:
            numbers = batch.number_column(batch.numeric[j]) + 0.0  # −0 is 0
            found.append(np.where(np.isnan(numbers), np.nan, numbers).view(np.int64))
    return found


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Return numbers in which every bit depends on all bits."""
    for factor, shift in zip(_FACTORS, (np.uint64(30), np.uint64(27)), strict=True):
        keys = (keys ^ (keys >> shift)) * factor
    return keys ^ (keys >> np.uint64(31))
