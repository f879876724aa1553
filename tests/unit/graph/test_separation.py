from __future__ import annotations

import numpy as np
import pytest

from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.graph.separation import connected, requisite


@pytest.fixture
def alarm() -> DAG:
    return DAG(arcs=[("Burglary", "Alarm"), ("Earthquake", "Alarm"), ("Alarm", "John"), ("Alarm", "Mary")])


def test_chain_fork_and_collider() -> None:
    chain, fork = DAG(arcs=[("a", "b"), ("b", "c")]), DAG(arcs=[("b", "a"), ("b", "c")])
    collider = DAG(arcs=[("a", "b"), ("c", "b"), ("b", "d")])
    for dag in (chain, fork):
        assert not dag.d_separated("a", "c")
        assert dag.d_separated("a", "c", given="b")
    assert collider.d_separated("a", "c")
    assert not collider.d_separated("a", "c", given="b")
    assert not collider.d_separated("a", "c", given="d")


def test_names_or_lists_of_names(alarm: DAG) -> None:
    assert alarm.d_separated(["Burglary"], ("Earthquake",), given=[])
    assert not alarm.d_separated("Burglary", ["Earthquake", "Mary"])
    assert alarm.d_separated(["Burglary", "Earthquake"], ["John", "Mary"], given={"Alarm"})


def test_nodes_in_several_places(alarm: DAG) -> None:
    assert not alarm.d_separated("John", "John")
    assert alarm.d_separated("John", "John", given="John")
    assert alarm.d_separated(["Alarm", "John"], "Mary", given="Alarm")
    assert alarm.d_separated([], "Mary")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Jon", "Mary"), "a must name nodes of the graph; got 'Jon'. Did you mean 'John'?"),
        (("John", "mary"), "b must name nodes of the graph; got 'mary'. Did you mean 'Mary'?"),
        (("John", "Mary", ["Alarm", "Fire"]), "given must name nodes of the graph; got 'Fire'. Known: 'Burglary', "),
        (("John", 3), "b must be a name or a list of names; got 3."),
        (("John", b"Mary"), "b must be a name or a list of names; got b'Mary'."),
        (("John", "Mary", None), "given must be a name or a list of names; got None."),
    ],
)
def test_refused(alarm: DAG, arguments: tuple, message: str) -> None:
    with pytest.raises(DataError) as error:
        alarm.d_separated(*arguments)
    assert str(error.value).startswith(message)


def test_connected_leaves_out_what_is_observed(alarm: DAG) -> None:
    lists = alarm.parent_indices, alarm.child_indices
    assert alarm.nodes == ("Burglary", "Alarm", "Earthquake", "John", "Mary")
    assert connected(*lists, [0]) == [0, 1, 3, 4]
    assert connected(*lists, [0], [3]) == [0, 1, 2, 4]
    assert connected(*lists, [0], [1]) == [0, 2]
    assert connected(*lists, [0], [0]) == []


def test_requisite_by_name(alarm: DAG) -> None:
    assert alarm.requisite("Burglary") == ("Burglary",)
    assert alarm.requisite("Burglary", given="John") == ("Burglary", "Alarm", "Earthquake", "John")
    assert alarm.requisite("John", given=["Alarm", "Burglary"]) == ("Alarm", "John")
    assert alarm.requisite(["John", "Mary"]) == ("Burglary", "Alarm", "Earthquake", "John", "Mary")
    with pytest.raises(DataError, match="targets must name nodes of the graph; got 'Jon'"):
        alarm.requisite("Jon")


def test_requisite_tells_tables_from_observations(alarm: DAG) -> None:
    lists = alarm.parent_indices, alarm.child_indices
    assert requisite(*lists, [3], [1, 0]) == ((3,), (1,))
    assert requisite(*lists, [0], [1]) == ((0, 1, 2), (1,))
    assert requisite(*lists, [0], [3, 2]) == ((0, 1, 3), (2, 3))
    assert requisite(*lists, [0], [0]) == ((), (0,))
    assert requisite(*lists, []) == ((), ())
    assert requisite(*lists, [0], [3, 2]).nodes == (0, 1, 2, 3)


def test_a_soft_finding_opens_a_collider_and_blocks_nothing(alarm: DAG) -> None:
    lists = alarm.parent_indices, alarm.child_indices
    assert requisite(*lists, [0], soft=[3]) == ((0, 1, 2, 3), ())
    assert requisite(*lists, [3], soft=[1]) == ((0, 1, 2, 3), ())
    assert requisite(*lists, [3], [1], soft=[1]) == ((3,), (1,))  # a known state says more


def test_requisite_takes_arrays(alarm: DAG) -> None:
    lists = alarm.parent_indices, alarm.child_indices
    found = requisite(*lists, np.array([0]), np.array([3, 3], np.int32))
    assert found == ((0, 1, 2, 3), (3,))
