"""Pair counts over variables with more states."""

import numpy as np

import tunbridge as tb


def test_states_are_found_by_name_and_new_ones_are_empty():
    pairs = tb.Counter(tb.datasets.play_tennis()).pairs_within("play")
    wider = [tb.Variable(v.name, ["new", *reversed(v.states)]) for v in pairs.variables]
    given = tb.Variable("play", ["maybe", "yes", "no"])
    found = pairs.over(wider, given)
    old, new = pairs.table("wind", "humidity"), found.table("wind", "humidity")
    assert new.shape == (3, 3, 3)
    np.testing.assert_array_equal(new[2, 1:, 1:], old[0, ::-1, ::-1])
    np.testing.assert_array_equal(new[1, 1:, 1:], old[1, ::-1, ::-1])
    assert new[0].sum() == new[:, 0].sum() == 0
    assert found.matrix.sum() == pairs.matrix.sum()
