from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.evaluation.cross_validation import assign_folds, possible_folds


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


def test_every_fold_has_rows_and_every_class_that_has_as_many():
    rng = np.random.default_rng(0)
    for _ in range(20):
        codes = rng.integers(0, 3, rng.integers(10, 40))
        used, _ = possible_folds(codes, 10, "abc")
        folds = assign_folds(codes, used, 0)
        assert set(folds[folds >= 0].tolist()) == set(range(used))
        for c, n in enumerate(np.bincount(codes)):
            held = folds[(codes == c) & (folds >= 0)]
            assert len(set(held.tolist())) == min(n if n > 1 else 0, used)


def test_a_rare_class_does_not_take_folds_away():
    codes = np.repeat([0, 1, 2, 3], [81, 61, 4, 2])
    used, notes = possible_folds(codes, 10, ["metastases", "malign", "fibrosis", "normal"])
    assert used == 10
    assert notes == ["fewer rows than folds, so not in every fold: 'fibrosis' (4), 'normal' (2)"]
    folds = assign_folds(codes, used, 0)
    assert len(set(folds[codes == 3].tolist())) == 2  # each is learned from while the other is held out


def test_fewer_folds_are_told():
    used, notes = possible_folds(np.array([0, 0, 0, 0, 1, 1, 1, 2, 3]), 10, "abcd")
    assert used == 4
    assert notes == [
        "4 folds instead of 10, because no class has more than 4 rows",
        "fewer rows than folds, so not in every fold: 'b' (3)",
        "2 rows never held out, being the only one of a class",
    ]


def test_many_rare_classes_are_told_shortly():
    codes = np.concatenate([np.zeros(9, int), np.repeat(np.arange(1, 8), 2)])
    assert possible_folds(codes, 9, list("abcdefgh"))[1][0].endswith("'f' (2), … (7 classes in all)")


def test_rows_without_weight_are_not_counted_and_never_held_out():
    codes, weights = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([1.0, 1, 1, 0, 2, 0, 0])
    used, notes = possible_folds(codes, 3, "ab", weights=weights)
    assert (used, notes) == (3, ["1 row never held out, being the only one of a class"])
    folds = assign_folds(codes, used, 0, weights=weights)
    assert sorted(folds[:3].tolist()) == [0, 1, 2]
    assert folds[3:].tolist() == [-1, -1, -1, -1]


@pytest.mark.parametrize("asked", [1, 2.5, "ten"])
def test_the_number_of_folds_is_checked(asked):
    with pytest.raises(DataError, match="folds must be"):
        possible_folds(np.array([0, 0, 1, 1]), asked, "ab")


def test_classes_of_one_row_cannot_be_held_out():
    with pytest.raises(DataError, match="a class with two rows or more; got 3 rows, each of another class"):
        possible_folds(np.array([0, 1, 2]), 2, "abc")
