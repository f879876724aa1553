"""The states of two variables put together."""

from __future__ import annotations

import pytest

from tunbridge.counts import merge_states
from tunbridge.data import Variable
from tunbridge.errors import DataError


def merged(a: list, b: list, *, ordered: tuple[bool, bool] = (False, False)) -> Variable:
    return merge_states(Variable("x", a, ordered[0]), Variable("x", b, ordered[1]))


def test_new_states_come_last_in_their_order() -> None:
    assert merged(["b", "a"], ["d", "a", "c"]).states == ("b", "a", "d", "c")
    assert merged(["b", "a"], ["a"]).states == ("b", "a")
    assert merged([], ["a"]).states == ("a",)
    assert merged(["a"], []).states == ("a",)


def test_states_are_matched_as_a_variable_finds_them() -> None:
    assert merged([1, 2], ["2", "3"]).states == (1, 2, "3")
    assert merged(["1"], [1.0]).states == ("1",)
    assert merged([1], ["1", 1]).states == (1, "1")
    assert merged(["true"], [True, False]).states == ("true", False)


@pytest.mark.parametrize(
    ("a", "b", "ordered"),
    [
        (["low", "mid"], ["mid", "high"], True),
        (["low", "mid", "high"], ["low", "high"], True),
        (["low", "high"], ["low", "mid", "high"], False),
        (["low", "high"], ["mid"], False),
        (["low", "high"], ["high", "low"], False),
        (["low", "mid"], ["top", "mid"], False),
        ([], ["low", "high"], True),
    ],
)
def test_the_order_is_kept_only_where_both_tell_it(a: list, b: list, ordered: bool) -> None:
    assert merged(a, b, ordered=(True, True)).ordered is ordered
    assert not merged(a, b, ordered=(True, False)).ordered


def test_kinds_must_agree() -> None:
    with pytest.raises(DataError, match="'x' must be of one kind in both"):
        merge_states(Variable("x", ["a"]), Variable("x"))
    assert merge_states(Variable("x"), Variable("x")) == Variable("x")
