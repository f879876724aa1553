from __future__ import annotations

import numpy as np

from tunbridge.classifiers._rows import Examples
from tunbridge.data import Column, Table, Variable
from tunbridge.data.table import natural_type

TARGET = Variable("class", [0, 1, 2])


def table(*columns):
    return Table.of([Column(v, values, natural_type(v)) for v, values in columns])


def batch(n=60, seed=0):
    rng = np.random.default_rng(seed)
    codes, numbers = rng.integers(-1, 3, n), rng.normal(size=(n, 2)).round(1)
    return table(
        (Variable("a", ["p", "q", "r"]), codes), (Variable("x"), numbers[:, 0]), (Variable("y"), numbers[:, 1])
    )


def deal_folds(rows, classes, weights, *, n_folds, seed):
    return Examples(rows, classes, TARGET, weights).folds(n_folds, seed)


def shares(folds):
    return np.stack(folds)


def test_every_row_is_held_out_once_and_classes_are_spread_evenly():
    rows, classes = batch(), np.repeat([0, 1, 2], [31, 22, 7])
    found = shares(deal_folds(rows, classes, None, n_folds=5, seed=0))
    np.testing.assert_array_equal(found.sum(axis=0), np.ones(60))
    for k in range(3):
        sizes = found[:, classes == k].sum(axis=1)
        assert sizes.max() - sizes.min() <= 1


def test_copies_and_weights_come_into_one_fold():
    rows, classes = batch(), np.arange(60) % 2
    weights = np.where(np.arange(60) < 30, 3.0, 0.7)
    weights[5] = 0.0
    found = shares(deal_folds(rows, classes, weights, n_folds=4, seed=0))
    assert found[:, 5].tolist() == [0, 0, 0, 0]
    assert set(np.delete(found, 5, axis=1).ravel().tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(np.delete(found.sum(axis=0), 5), np.ones(59))
    several = np.repeat(np.arange(60), np.where(weights == 3.0, 3, weights > 0))
    repeated = shares(deal_folds(rows.take(several), classes[several], None, n_folds=4, seed=0))
    np.testing.assert_array_equal(repeated, found[:, several])


def test_equal_rows_of_several_classes_are_dealt_one_by_one():
    """Few different rows are possible: that some are equal is chance."""
    rows, classes = table((Variable("a", ["p", "q", "r"]), np.arange(60) // 2 % 3)), np.arange(60) % 2
    weights = np.where(np.arange(60) < 30, 3.0, 0.7)
    weights[5] = 0.0
    found = shares(deal_folds(rows, classes, weights, n_folds=4, seed=0))
    assert found[:, 5].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(np.sort(found[:, 6]), [0, 1 / 3, 1 / 3, 1 / 3], rtol=1e-12)
    assert sorted(found[:, 40].tolist()) == [0, 0, 0, 1]


def test_rows_that_are_never_held_out():
    classes = np.array([-1, 0, 0, 1, 2, 2])
    found = shares(deal_folds(batch(6), classes, None, n_folds=3, seed=0))
    assert found.sum(axis=0).tolist() == [0, 1, 1, 0, 1, 1]


def test_folds_follow_what_rows_hold():
    rows, classes = batch(), np.arange(60) % 3
    found = shares(deal_folds(rows, classes, None, n_folds=5, seed=0))
    order = np.random.default_rng(1).permutation(60)
    shuffled = deal_folds(rows.take(order), classes[order], None, n_folds=5, seed=0)
    np.testing.assert_array_equal(shares(shuffled), found[:, order])
    renamed = deal_folds(rows, 2 - classes, None, n_folds=5, seed=0)
    np.testing.assert_array_equal(shares(renamed), found)
    assert (shares(deal_folds(rows, classes, None, n_folds=5, seed=1)) != found).any()


def test_classes_of_equal_rows_are_spread_evenly():
    """All rows have one key, so the classes must be kept apart by themselves."""
    rows = table((Variable("a", ["p"]), np.zeros(24, np.int64)))
    classes = np.arange(24) % 3
    found = shares(deal_folds(rows, classes, None, n_folds=3, seed=0))
    for k in range(3):
        assert np.ptp(found[:, classes == k].sum(axis=1)) <= 1


def test_keys_do_not_depend_on_the_order_of_states_and_columns():
    rows = batch()
    codes = np.where(rows.codes("a") < 0, -1, 2 - rows.codes("a"))
    a = Variable("a", ["r", "q", "p"])
    same = table((Variable("y"), rows.floats("y")), (a, codes), (Variable("x"), rows.floats("x")))
    np.testing.assert_array_equal(rows.keys(3), same.keys(3))
    assert len(set(rows.keys(3))) > 55


def test_missing_and_signed_zero_have_keys():
    keys = table((Variable("x"), np.array([0.0, -0.0, np.nan, -np.nan, 1.0]))).keys(0)
    assert keys[0] == keys[1]
    assert keys[2] == keys[3]
    assert len(set(keys.tolist())) == 3
