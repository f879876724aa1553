"""Records as content of files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from tunbridge._core.packing import pack, unpack
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
