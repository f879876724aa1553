"""Parts of the rows that are held out in turns, each class spread as evenly over them as its rows allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunbridge._check import check_whole, counted, listed
from tunbridge.errors import DataError

_NEVER = -1


def assign_folds(codes: np.ndarray, n_folds: int, seed: int, *, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the fold of each row, the classes spread evenly.

    Never held out, and −1, is the only row of a class, because nothing can be learned about the class without it; and a
    row of weight zero, about which nobody asks.

    Examples
    --------
    >>> import numpy as np
    >>> folds = assign_folds(np.array([0, 0, 0, 0, 1, 1, 2]), 2, seed=0)
    >>> [sorted(folds[:4].tolist()), sorted(folds[4:6].tolist()), folds[6:].tolist()]
    [[0, 0, 1, 1], [0, 1], [-1]]
    """
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(codes[shuffled], kind="stable")]
    by_class = by_class if weights is None else by_class[weights[by_class] > 0]
    folds = np.full(len(codes), _NEVER, np.int64)
    folds[by_class] = np.arange(len(by_class)) % n_folds
    folds[np.bincount(codes[by_class], minlength=codes.max() + 1)[codes] == 1] = _NEVER
    return folds


def possible_folds(
    codes: np.ndarray, asked: int, classes: Sequence[Any], *, weights: np.ndarray | None = None
) -> tuple[int, list[str]]:
    """Return how many folds there can be, and what to say about it.

    As many as were asked for, as long as some class has so many rows; a rarer class is in some of the folds only.

    Examples
    --------
    >>> import numpy as np
    >>> possible_folds(np.array([0, 0, 0, 0, 1, 1, 1]), 4, ["no", "yes"])
    (4, ["fewer rows than folds, so not in every fold: 'yes' (3)"])
    """
    check_whole("folds", asked, low=2)
    counts = np.bincount(codes if weights is None else codes[weights > 0], minlength=len(classes))
    if (counts < 2).all():
        raise DataError("cross-validation must have a class with two rows or more; every class has one row only.")
    used, notes = min(asked, int(counts.max())), []
    if used < asked:
        notes.append(f"{used} folds instead of {asked}, because no class has more than {counted(used, 'row')}")
    rare = {str(classes[c]): int(counts[c]) for c in np.flatnonzero((counts > 1) & (counts < used)).tolist()}
    if rare:
        notes.append(f"fewer rows than folds, so not in every fold: {_with_counts(rare)}")
    if single := int((counts == 1).sum()):
        notes.append(f"{counted(single, 'row')} never held out, being the only one of a class")
    return used, notes


def _with_counts(rare: dict[str, int], most: int = 5) -> str:
    shown = ", ".join(f"{listed([name])} ({n})" for name, n in list(rare.items())[:most])
    return shown if len(rare) <= most else f"{shown}, … ({len(rare)} classes in all)"
