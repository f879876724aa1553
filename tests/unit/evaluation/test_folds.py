from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.evaluation.folds import assign_folds, possible_folds


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_folds_are_even_and_spread_the_classes(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [53, 17, 1])[rng.permutation(71)]
    folds = assign_folds(codes, 5, seed)
    assert folds[codes == 2].tolist() == [-1]
    for c in (0, 1):
        sizes = np.bincount(folds[codes == c], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert np.ptp(np.bincount(folds[folds >= 0])) <= 1
    assert not np.array_equal(folds, assign_folds(codes, 5, seed + 1))


def test_every_fold_has_every_class_that_can_be_held_out():
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes = rng.integers(0, 3, rng.integers(10, 40))
        used, _ = possible_folds(codes, 10)
        folds = assign_folds(codes, used, 0)
        for c in np.flatnonzero(np.bincount(codes) > 1):
            assert set(folds[codes == c].tolist()) == set(range(used))


def test_fewer_folds_are_told():
    used, notes = possible_folds(np.array([0, 0, 0, 0, 1, 1, 1, 2, 3]), 10)
    assert used == 3
    assert notes == [
        "3 folds instead of 10, because a class has only 3 rows",
        "2 rows never held out, being the only one of a class",
    ]


@pytest.mark.parametrize("asked", [1, 2.5, "ten"])
def test_the_number_of_folds_is_checked(asked):
    with pytest.raises(DataError, match="folds must be"):
        possible_folds(np.array([0, 0, 1, 1]), asked)


def test_classes_of_one_row_cannot_be_held_out():
    with pytest.raises(DataError, match="a class with two rows or more; every class has one row only"):
        possible_folds(np.array([0, 1, 2]), 2)
