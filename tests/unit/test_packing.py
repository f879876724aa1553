"""Records as content of files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from tunbridge._core.packing import CountArray, FloatArray, SquareArray, pack, unpack
from tunbridge.data import Variable


class Step(NamedTuple):
    action: str
    gain: float


@dataclass(frozen=True)
class Record:
    target: Variable
    table: np.ndarray
    parents: tuple[tuple[int, ...] | None, ...]
    steps: tuple[Step, ...] = ()
    points: Mapping[int, tuple[float, ...]] | None = None
    chosen: frozenset[int] = frozenset()


RECORD = Record(
    Variable("y", ["a", "b"]), np.eye(2), ((0, 1), None, ()), (Step("add", 1.5),), {3: (0.5,)}, frozenset({2, 1})
)


def test_there_and_back():
    content = pack(RECORD)
    assert content["parents"] == [[0, 1], None, []]
    assert content["chosen"] == [1, 2]
    found = unpack(Record, content)
    assert (found.target, found.parents, found.steps) == (RECORD.target, RECORD.parents, RECORD.steps)
    assert (found.points, found.chosen) == (RECORD.points, RECORD.chosen)
    assert found.table is RECORD.table


def test_earlier_forms_are_read():
    assert unpack(Step, ["add", 1.5]) == Step("add", 1.5)
    assert unpack(Mapping[int, tuple[float, ...]], [{"feature": 3, "cuts": [0.5]}]) == {3: (0.5,)}


@pytest.mark.parametrize(
    "change",
    [
        {"target": "y"},
        {"table": [[1.0]]},
        {"parents": 3},
        {"parents": [["x"]]},
        {"steps": [["add", "much"]]},
        {"steps": [3]},
        {"points": [[True, [0.5]]]},
        {"points": [[1, 2, 3]]},
        {"chosen": {"a": 1}},
    ],
)
def test_damaged_content_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        unpack(Record, pack(RECORD) | change)


def test_fields_that_follow_from_others_are_not_packed() -> None:
    assert pack(Variable("x", ["a", "b"])) == {"name": "x", "states": ["a", "b"], "ordered": False, "cuts": None}


@pytest.mark.parametrize(
    ("hint", "content", "message"),
    [
        (FloatArray, [1.0], "an array of float64 was expected, not list"),
        (FloatArray, np.ones(2, np.float32), "an array of float64 was expected, not float32"),
        (FloatArray, np.array([np.nan]), "finite numbers"),
        (SquareArray, np.array([-1e-300]), "numbers of at least 0"),
        (CountArray, np.array([1e308, 1e308]), "a sum that does not overflow"),
        (CountArray, np.array([2**62, 2**62]), "a sum that does not overflow"),
        (float, float("nan"), "not NaN"),
        (tuple[float | str | None, ...], [None, []], "str was expected"),
    ],
)
def test_arrays_and_numbers_keep_their_rules(hint, content, message):
    with pytest.raises(ValueError, match=message):
        unpack(hint, content)


def test_arrays_that_keep_their_rules_are_not_copied():
    weights = np.array([[0.0, 2.5]])
    assert unpack(CountArray | None, weights) is weights
    assert unpack(tuple[float | str | None, ...], [None, "unit", np.float64(2)]) == (None, "unit", 2.0)
