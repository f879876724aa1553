"""Parts of the rows that are held out in turns, each class spread evenly over them."""

from __future__ import annotations

import numpy as np

from tunbridge._check import check_whole, counted
from tunbridge.errors import DataError


def assign_folds(codes: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, the classes spread evenly; −1 for the only row of a class, which is never held out.

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.array([0, 0, 0, 0, 1, 1, 2]), 2, seed=0)
    >>> [sorted(folds[:4].tolist()), sorted(folds[4:6].tolist()), folds[6:].tolist()]
    [[0, 0, 1, 1], [0, 1], [-1]]
    """
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    folds = np.empty(len(codes), np.int64)
    folds[by_class] = np.arange(len(codes)) % n_folds
    folds[np.bincount(codes)[codes] == 1] = -1
    return folds


def possible_folds(codes: np.ndarray, asked: int) -> tuple[int, list[str]]:
    """Return how many folds the classes allow, so that each has every class, and what to say about it.

    Examples
    --------
    >>> possible_folds(np.array([0, 0, 0, 0, 1, 1, 1]), 10)
    (3, ['3 folds instead of 10, because a class has only 3 rows'])
    """
    check_whole("folds", asked, low=2)
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    if (counts < 2).all():
        raise DataError("cross-validation must have a class with two rows or more; every class has one row only.")
    used, notes = min(asked, int(counts[counts > 1].min())), []
    if used < asked:
        notes.append(f"{used} folds instead of {asked}, because a class has only {used} rows")
    if single := int((counts == 1).sum()):
        notes.append(f"{counted(single, 'row')} never held out, being the only one of a class")
    return used, notes
