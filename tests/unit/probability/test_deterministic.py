from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.probability import CPT, deterministic

A, B = Variable("A", [0, 1]), Variable("B", [0, 1, 2])
SUM = Variable("Sum", [0, 1, 2, 3])


def test_the_function_decides():
    cpt = deterministic(SUM, [A, B], lambda a, b: a + b)
    assert isinstance(cpt, CPT)
    for a in range(2):
        for b in range(3):
            assert cpt.distribution({"A": a, "B": b}).mode == a + b
    assert set(np.unique(cpt.table())) == {0.0, 1.0}
    assert np.array_equal(cpt.table().sum(axis=-1), np.ones((2, 3)))


def test_without_parents():
    assert deterministic(SUM, [], lambda: 2).table().tolist() == [0, 0, 1, 0]


def test_states_by_their_text():
    assert deterministic(Variable("X", ["False", "True"]), [A], bool).table().tolist() == [[1, 0], [0, 1]]


def test_bad_functions():
    with pytest.raises(DataError, match="'Sum' given A=1, B=0 must return one of its states; got 'one'"):
        deterministic(SUM, [A, B], lambda a, b: "one" if a else b)
    with pytest.raises(DataError, match=r"must return one of its states; got None\. Does it always return a state"):
        deterministic(Variable("X", ["no", "yes"]), [A], lambda a: None)
    with pytest.raises(DataError, match="function must be callable"):
        deterministic(SUM, [A], 3)


def test_too_large_is_refused_before_the_function_is_called():
    parents = [Variable(f"p{i}", range(10)) for i in range(14)]
    with pytest.raises(MemoryForecastError, match="the deterministic table of 'Sum' would need"):
        deterministic(SUM, parents, lambda *states: pytest.fail("it was called"))
