"""Which rows are held out, and when: stratified folds, folds of whole groups, and folds in the order of time.

**Groups.** Rows of one patient, machine or author resemble each other. If some of them are in the training rows and
others held out, a model is tested on what it has seen. So all rows of a group are in one fold. Groups are dealt out,
the largest first, each to the fold in which the shares of the classes then differ least from those of all rows.

**Time.** Whoever predicts the future has the past only. The rows are sorted by time and divided into k + 1 blocks;
fold i holds out block i + 1 and trains on all blocks before it. Rows of equal time are in one block.

**Repetitions** divide the rows again by another seed, which removes the chance of one division.

References
----------
D. R. Roberts et al. (2017). Cross-validation strategies for data with temporal, spatial, hierarchical, or phylogenetic
structure. Ecography 40, 913–929.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tunbridge._core.check import counted
from tunbridge.data import Column, Table
from tunbridge.data.variable import number_of
from tunbridge.errors import DataError

NEVER = -1
_SURPRISING = 5.0  # times as many equal rows as by chance
_FEW, _LOOKED_AT = 0.005, 10_000
_ISO_TIME = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?")  # whose order is that of the texts


@dataclass(frozen=True, eq=False)
class Splits:
    """Which rows are held out in which fold.

    Parameters
    ----------
    folds : tuple of ndarray of shape (n_rows,)
        For each repetition the fold of each row (−1: never held out).
    n_folds : int
        The number of folds of a repetition.
    is_ordered : bool
        Whether a fold trains on earlier folds only, and on the rows of −1.
    """

    folds: tuple[np.ndarray, ...]
    n_folds: int
    is_ordered: bool = False

    def __len__(self) -> int:
        return self.n_folds * len(self.folds)

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the masks of the training rows and of the held-out rows of every fold of every repetition."""
        for fold_of in self.folds:
            for fold in range(self.n_folds):
                yield (fold_of < fold if self.is_ordered else fold_of != fold), fold_of == fold


def group_folds(codes: np.ndarray, groups: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, all rows of a group in one, the shares of the classes as equal as possible.

    Examples
    --------
    >>> import numpy as np
    >>> groups = np.array([0, 0, 1, 1, 2, 3])
    >>> folds = group_folds(np.array([0, 1, 0, 1, 0, 1]), groups, 3, seed=0)
    >>> [len(set(folds[groups == g].tolist())) for g in range(4)], np.bincount(folds).tolist()
    ([1, 1, 1, 1], [2, 2, 2])
    """
    n_groups, n_classes = int(groups.max()) + 1, int(codes.max()) + 1
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (groups, codes), 1.0)
    share = 1.0 / np.maximum(counts.sum(axis=0), 1.0)
    order = np.random.default_rng(seed).permutation(n_groups)
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    filled, fold_of = np.zeros((n_folds, n_classes)), np.empty(n_groups, np.int64)
    for g in order.tolist():
        best = int((((2 * filled + counts[g]) * counts[g]) @ share).argmin())
        filled[best] += counts[g]
        fold_of[g] = best
    return fold_of[groups]


def time_folds(times: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the fold of each row in the order of time; −1 for the first rows, which are never held out.

    Examples
    --------
    >>> import numpy as np
    >>> time_folds(np.array([5.0, 1.0, 2.0, 2.0, 3.0, 4.0]), 2).tolist()
    [1, -1, -1, -1, 0, 1]
    """
    place = np.searchsorted(np.sort(times), times, side="left")
    blocks = place * (n_folds + 1) // len(times)
    return np.unique(blocks, return_inverse=True)[1] - 1


def group_codes(column: Column) -> np.ndarray:
    """Return the group of each row as a number; raise where a row has none."""
    values = column.values
    missing = values < 0 if column.variable.is_categorical else np.isnan(values)
    if missing.any():
        row = int(missing.argmax()) + 1
        rule = f"every row must have a group; column {column.variable.name!r} is missing in row {row}"
        raise DataError(f"{rule}. Fill it in, or leave these rows out.", parameter="groups")
    codes: np.ndarray = np.unique(values, return_inverse=True)[1]
    return codes


def time_values(column: Column) -> np.ndarray:
    """Return the times of the rows as numbers in their order: numbers, dates, or texts such as 2026-11-19."""
    name, states = column.variable.name, column.variable.states or ()
    if column.variable.is_continuous:
        times = column.values
    else:
        texts = [str(state) for state in states]
        numbers = [number_of(state) for state in states]
        if all(n is not None for n in numbers):
            rank = np.array([*numbers, np.nan], np.float64)
        elif all(map(_ISO_TIME.fullmatch, texts)):
            rank = np.array([*np.unique(texts, return_inverse=True)[1], np.nan], np.float64)
        else:
            odd = next(text for text in texts if not _ISO_TIME.fullmatch(text))
            rule = f"the time must be a number or a date such as 2026-11-19; column {name!r} holds {odd!r}"
            raise DataError(f"{rule}. Write it so, or sort the rows and use their number.", parameter="time")
        times = rank[column.values]
    if np.isnan(times).any():
        row = int(np.isnan(times).argmax()) + 1
        raise DataError(f"every row must have a time; column {name!r} is missing in row {row}.", parameter="time")
    return np.asarray(times, np.float64)


def copies_note(table: Table, splits: Splits) -> str:
    """Return a remark on held-out rows that equal a training row in all columns; empty if that is no surprise.

    Equal rows are to be expected where few different ones are possible, as with a handful of categories.
    """
    if table.n_columns < 2 or (chance := _chance_of_copy(table)) > 1 / _SURPRISING:
        return ""
    keys = np.unique(table.keys(0), return_inverse=True)[1]
    n = held = 0
    for train, held_out in splits:
        seen = np.zeros(int(keys.max()) + 1, bool)
        seen[keys[train]] = True
        n += int(seen[keys[held_out]].sum())
        held += int(held_out.sum())
    if n <= max(_SURPRISING * chance, _FEW) * held:
        return ""
    what = f"{n} of {counted(held, 'held-out row')} equal a training row in all columns"
    return f"{what}: if they are copies, the scores are too good; remove them, or keep them together by groups"


def _chance_of_copy(table: Table) -> float:
    """Return how likely a row has an equal one by chance, if the columns were independent of each other.

    Two rows agree in a column with the frequency of pairs of equal values, Σ n_s (n_s − 1) / (n (n − 1)).
    """
    head = table.take(slice(0, _LOOKED_AT))
    n, agreement = head.n_rows, 1.0
    for values in head.columns:
        counts = np.unique(values, return_counts=True)[1].astype(np.float64)
        agreement *= float((counts * (counts - 1)).sum()) / max(1.0, n * (n - 1.0))
    return float(-np.expm1(-table.n_rows * agreement))
