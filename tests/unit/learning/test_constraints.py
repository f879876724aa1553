from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest

from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.learning.constraints import Constraints

NAMES = ("a", "b", "c", "d")


def arcs_of(allowed: np.ndarray) -> set[str]:
    return {f"{NAMES[c]}{NAMES[x]}" for c, x in np.argwhere(allowed)}


def forbidden_by(**said: object) -> set[str]:
    """Return the arcs that are not allowed, as two letters."""
    return arcs_of(~Constraints(**said).compile(NAMES).allowed & ~np.eye(4, dtype=bool))  # type: ignore[arg-type]


def refused(message: str, **said: object) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        Constraints(**said).compile(NAMES)  # type: ignore[arg-type]


# What is compiled


def test_nothing_said_leaves_everything_free() -> None:
    compiled = Constraints().compile(NAMES)
    assert compiled.allowed is None
    assert compiled.arc_bonus is None
    assert compiled.required == ((), (), (), ())
    assert compiled.max_parents.tolist() == [3, 3, 3, 3]
    compiled.check_graph(((), (0,), (0, 1), (0, 1, 2)))


@pytest.mark.parametrize("said", [{"tiers": [["a", "b"]]}, {"tiers": [[], ["a"]]}, {"order": ["b"]}])
def test_what_forbids_nothing_takes_no_matrix(said: dict[str, object]) -> None:
    assert Constraints(**said).compile(NAMES).allowed is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ({"forbidden": ["a->b"]}, {"ab"}),
        ({"forbidden": ["a->b", ("b", "a")]}, {"ab", "ba"}),
        ({"tiers": [["a", "b"], ["c"]]}, {"ca", "cb"}),
        ({"tiers": [["a", "b"], ["c"]], "within_tiers": False}, {"ca", "cb", "ab", "ba"}),
        ({"order": ["c", "b", "a"]}, {"bc", "ac", "ab"}),
        ({"order": ["a", "b"], "tiers": [["a"], ["c"]]}, {"ba", "ca"}),
        ({"roots": "a"}, {"ba", "ca", "da"}),
        ({"leaves": ["a"]}, {"ab", "ac", "ad"}),
        ({"parents": {"a": ["b"]}}, {"ca", "da"}),
        ({"parents": {"a": "b"}}, {"ca", "da"}),
        ({"parents": {"a": []}}, {"ba", "ca", "da"}),
    ],
)
def test_each_way_to_forbid(said: dict[str, object], gone: set[str]) -> None:
    assert forbidden_by(**said) == gone


def test_no_arc_leads_from_a_node_to_itself() -> None:
    assert not Constraints(forbidden=["a->b"]).compile(NAMES).allowed.diagonal().any()  # type: ignore[union-attr]


def test_fixed_parents_are_required() -> None:
    compiled = Constraints(parents={"d": {"b", "a"}}, required=["a->d", "a->c"]).compile(NAMES)
    assert compiled.required == ((), (), (0,), (0, 1))


def test_a_root_that_is_a_leaf_stands_alone() -> None:
    assert forbidden_by(roots="a", leaves="a") == {"ab", "ac", "ad", "ba", "ca", "da"}


def test_limits_for_all_and_for_some() -> None:
    assert Constraints(max_parents=0).compile(NAMES).max_parents.tolist() == [0] * 4
    assert Constraints(max_parents=np.int64(10**12)).compile(NAMES).max_parents.tolist() == [3] * 4
    assert Constraints(max_parents={"b": 1, "c": 10**30}).compile(NAMES).max_parents.tolist() == [3, 1, 3, 3]
    assert Constraints(max_parents={"b": 1}).compile(NAMES, max_parents=2).max_parents.tolist() == [2, 1, 2, 2]
    assert Constraints(max_parents=1).compile(NAMES, max_parents={"a": 0}).max_parents.tolist() == [0, 1, 1, 1]


def test_the_prior_is_added_for_each_direction_by_itself() -> None:
    bonus = Constraints(arc_probability={"a->b": 0.9, ("b", "a"): 0.2, "a→c": 0.5}).compile(NAMES).arc_bonus
    assert bonus is not None
    expected = np.zeros((4, 4))
    expected[0, 1], expected[1, 0] = np.log(9), np.log(0.25)
    np.testing.assert_allclose(bonus, expected, rtol=1e-12, atol=0)


def test_one_half_changes_nothing() -> None:
    assert Constraints(arc_probability={"a->b": 0.5}).compile(NAMES).arc_bonus is None


def test_no_columns_and_one_column() -> None:
    assert Constraints().compile(()).max_parents.shape == (0,)
    alone = Constraints(roots="a", max_parents=2).compile(("a",))
    assert alone.allowed is None
    assert alone.max_parents.tolist() == [0]


def test_the_arrays_cannot_be_changed() -> None:
    compiled = Constraints(roots="a", arc_probability={"a->b": 0.9}).compile(NAMES)
    for array in (compiled.allowed, compiled.max_parents, compiled.arc_bonus):
        assert array is not None
        assert not array.flags.writeable


def test_ten_thousand_columns_take_a_byte_a_pair() -> None:
    names = tuple(f"x{i:05d}" for i in range(10_000))
    compiled = Constraints(tiers=[names[5000:], names[:2500]], order=names[7000:], leaves=names[:3]).compile(names)
    allowed = compiled.allowed
    assert allowed is not None
    assert allowed.nbytes == 10**8
    assert np.count_nonzero(allowed[9999]) == 9999 - 2999
    assert np.count_nonzero(allowed[3]) == 9999 - 5000
    assert not allowed[0].any()


def test_a_matrix_beyond_the_limit_is_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "10")
    with pytest.raises(MemoryForecastError, match="the matrix of allowed arcs would need 16 bytes"):
        Constraints(roots="a").compile(NAMES)
    with pytest.raises(MemoryForecastError, match="Learn from fewer columns or without arc_probability"):
        Constraints(arc_probability={"a->b": 0.9}).compile(NAMES)


# How arcs are written


@pytest.mark.parametrize(
    "arc", [("a", "b"), ["a", "b"], np.array(["a", "b"]), "a->b", "a→b", " a  -> b ", np.str_("a->b")]
)
def test_the_ways_to_write_an_arc(arc: object) -> None:
    assert Constraints(required=[arc]).compile(NAMES).required == ((), (0,), (), ())  # type: ignore[list-item]


def test_any_iterable_will_do() -> None:
    said = Constraints(required=(arc for arc in ["a->b"]), tiers=iter([iter("ab"), {"c"}]), roots=dict.fromkeys("a"))
    assert said == Constraints(required=["a->b"], tiers=[["a", "b"], ["c"]], roots=["a"])
    assert said.compile(NAMES).required == said.compile(NAMES).required == ((), (0,), (), ())


def test_names_with_arrows_are_understood_where_one_reading_has_columns() -> None:
    names = ("a", "a->b", "c", "d→e")
    assert Constraints(required=["a->b->c"]).compile(names).required == ((), (), (1,), ())
    assert Constraints(required=["c->d→e"]).compile(names).required == ((), (), (), (2,))
    assert Constraints(required=[("a->b", "d→e")]).compile(names).required == ((), (), (), (1,))


def test_an_arc_that_can_be_read_in_two_ways_is_refused() -> None:
    names = ("a", "a->b", "b->c", "c")
    message = "an arc of required must be clear; got 'a->b->c', which is 'a' → 'b->c' or 'a->b' → 'c'. Give a pair."
    with pytest.raises(DataError, match=re.escape(message)):
        Constraints(required=["a->b->c"]).compile(names)
    with pytest.raises(DataError, match=re.escape("which is 'a' → 'b' or 'a ' → 'b'. Give a pair.")):
        Constraints(required=["a -> b"]).compile(("a", "a ", "b"))


# What is refused


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"required": "a->b"}, "required must be a list of arcs; got 'a->b'. Write [('A', 'B')] or ['A->B']."),
        ({"forbidden": {"a": "b"}}, "forbidden must be a list of arcs; got {'a': 'b'}."),
        ({"required": 3}, "required must be a list of arcs; got 3."),
        ({"required": ("a", "b")}, "an arc of required must be a pair (from, to) or a text such as 'A->B'; got 'a'."),
        ({"required": ["ab"]}, "an arc of required must be a pair (from, to) or a text such as 'A->B'; got 'ab'."),
        ({"required": [{"a", "b"}]}, "an arc of required must be a pair (from, to)"),
        ({"required": [("a", "b", "c")]}, "an arc of required must be a pair (from, to)"),
        ({"required": [("a", 1)]}, "a node's name must be a non-empty string; got 1."),
        ({"tiers": "ab"}, "tiers must be a list of lists of names; got 'ab'. Write [['A', 'B'], ['C']]."),
        ({"tiers": ["ab", "c"]}, "a tier must be a list of names; got 'ab'. Write [['ab'], …], or use order"),
        ({"tiers": [1]}, "a tier must be a name or a list of names; got 1."),
        ({"tiers": [["a"], ["b", "a"]]}, "the names in tiers must be distinct; got 'a' more than once."),
        ({"within_tiers": "no"}, "within_tiers must be one of True, False; got 'no'."),
        ({"order": "ab"}, "order must be a list of names; got 'ab'. Write ['A', 'B']."),
        ({"order": {"a", "b"}}, "order must be a list of names; got {"),
        ({"order": ["a", "b", "a"]}, "the names in order must be distinct; got 'a' more than once."),
        ({"roots": 1}, "roots must be a name or a list of names; got 1."),
        ({"parents": [("a", "b")]}, "parents must be a dictionary; got [('a', 'b')]."),
        ({"parents": {"a": "a"}}, "an arc of parents must join two different columns; got 'a' twice."),
        ({"forbidden": ["b->b"]}, "an arc of forbidden must join two different columns; got 'b' twice."),
        ({"max_parents": -1}, "max_parents must be at least 0; got -1."),
        ({"max_parents": 1.5}, "max_parents must be an integer; got 1.5."),
        ({"max_parents": True}, "max_parents must be an integer; got True."),
        ({"max_parents": {"a": "2"}}, "max_parents of 'a' must be an integer; got '2'."),
        ({"arc_probability": [("a", "b", 0.3)]}, "arc_probability must be a dictionary; got [('a', 'b', 0.3)]."),
        (
            {"arc_probability": {"a->b": 0}},
            "arc_probability of 'a->b' must be above 0 and below 1; got 0. Use forbidden.",
        ),
        (
            {"arc_probability": {("a", "b"): 1.0}},
            "arc_probability of 'a' → 'b' must be above 0 and below 1; got 1.0. Use required.",
        ),
        ({"arc_probability": {"a->b": 1.5}}, "arc_probability of 'a->b' must be above 0 and below 1; got 1.5."),
        ({"arc_probability": {"a->b": float("nan")}}, "arc_probability of 'a->b' must be finite; got nan."),
        ({"arc_probability": {"a->b": "high"}}, "arc_probability of 'a->b' must be a number; got 'high'."),
        ({"arc_probability": {"ab": 0.5}}, "an arc of arc_probability must be a pair (from, to)"),
        (
            {"arc_probability": {"a->b": 0.2, ("a", "b"): 0.3}},
            "arc_probability must give an arc one probability; got two for 'a' → 'b'.",
        ),
    ],
)
def test_what_is_no_constraint(said: dict[str, object], message: str) -> None:
    refused(message, **said)


@pytest.mark.parametrize(
    "said",
    [
        {"required": ["Smoke->Cancer"]},
        {"forbidden": [("Cancer", "Smoke")]},
        {"tiers": [["Smoke"]]},
        {"order": ["Cancer", "Smoke"]},
        {"roots": "Smoke"},
        {"leaves": "Smoke"},
        {"parents": {"Smoke": []}},
        {"parents": {"Cancer": ["Smoke"]}},
        {"max_parents": {"Smoke": 1}},
        {"arc_probability": {"Smoke->Cancer": 0.5}},
    ],
)
def test_unknown_names_get_the_nearest(said: dict[str, object]) -> None:
    what = next(iter(said))
    message = f"{what} must name columns of the table; got 'Smoke'. Did you mean 'Smoking'?"
    with pytest.raises(DataError, match=re.escape(message)):
        Constraints(**said).compile(("Cancer", "Smoking"))  # type: ignore[arg-type]


def test_of_a_text_with_several_arrows_the_likelier_unknown_name_is_told() -> None:
    with pytest.raises(DataError, match=re.escape("got 'd'. Known: 'a', 'b->c'.")):
        Constraints(required=["b->c->d"]).compile(("a", "b->c"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            {"required": ["a->b", "b->c", "c->a"]},
            "required arcs must form no cycle; got 'a' → 'b' → 'c' → 'a'. Leave one out or reverse it.",
        ),
        ({"required": ["a->b"], "parents": {"a": "b"}}, "required arcs must form no cycle; got 'a' → 'b' → 'a'."),
        (
            {"required": ["a->b"], "forbidden": ["a->b"]},
            "required arcs must be allowed; got 'a' → 'b', but that is forbidden.",
        ),
        (
            {"required": ["c->a"], "tiers": [["a", "b"], ["c"]]},
            "required arcs must be allowed; got 'c' → 'a', but 'c' is in a later tier than 'a'.",
        ),
        (
            {"required": ["b->a"], "tiers": [["a", "b"], ["c"]], "within_tiers": False},
            "got 'b' → 'a', but the two are in one tier and within_tiers is False.",
        ),
        ({"required": ["c->a"], "order": ["a", "c"]}, "got 'c' → 'a', but 'c' comes after 'a' in the order."),
        ({"required": ["c->a"], "roots": "a"}, "got 'c' → 'a', but 'a' is one of the roots."),
        ({"parents": {"a": "c"}, "roots": "a"}, "got 'c' → 'a', but 'a' is one of the roots."),
        ({"required": ["c->a"], "leaves": "c"}, "got 'c' → 'a', but 'c' is one of the leaves."),
        (
            {"required": ["c->a"], "parents": {"a": "b"}},
            "got 'c' → 'a', but 'a' has fixed parents, and this is none of them.",
        ),
        (
            {"required": ["c->a", "b->a"], "max_parents": 1},
            "required arcs must keep to max_parents; got 2 parents of 'a' ('b', 'c'), but at most 1 may be.",
        ),
        ({"order": ["c", "a"], "tiers": [["a"], ["c"]]}, "got 'c' before 'a', which is in an earlier tier."),
        ({"order": ["c", "b", "a"], "tiers": [["a"], ["c"]]}, "order must agree with tiers; got 'c' before 'a'"),
    ],
)
def test_what_no_graph_can_satisfy(said: dict[str, object], message: str) -> None:
    refused(message, **said)


# Graphs


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (((), (0,), (), (2,)), "begin must have allowed arcs only; got 'c' → 'd', but that is forbidden."),
        (((), (), (), ()), "begin must have every required arc; got no 'a' → 'b'."),
        (
            ((), (0, 2, 3), (), ()),
            "begin must keep to max_parents; got 3 parents of 'b' ('a', 'c', 'd'), but at most 2 may be.",
        ),
    ],
)
def test_a_graph_that_does_not_obey(graph: tuple[tuple[int, ...], ...], message: str) -> None:
    compiled = Constraints(required=["a->b"], forbidden=["c->d"], max_parents={"b": 2}).compile(NAMES)
    compiled.check_graph(((), (0, 2), (), (0, 1)))
    with pytest.raises(DataError, match=re.escape(message)):
        compiled.check_graph(graph, "begin")


# The record


def test_the_repr_shows_what_was_given() -> None:
    assert repr(Constraints()) == "Constraints()"
    assert repr(Constraints(max_parents=1)) == "Constraints(max_parents=1)"
    assert repr(Constraints(max_parents=0)) == "Constraints(max_parents=0)"
    said = Constraints(
        required=[("a", "b"), "b->c"],
        tiers=[["a", "b"], ["c"]],
        within_tiers=False,
        roots="a",
        parents={"d": ["a", "b"], "a": []},
        max_parents={"c": 2},
        arc_probability={("a", "d"): 0.9, "b->d": 0.1},
    )
    assert repr(said) == (
        "Constraints(required=['a' → 'b', 'b->c'], tiers=[['a', 'b'], ['c']], within_tiers=False, roots=['a'], "
        "parents={'d': ['a', 'b'], 'a': []}, max_parents={'c': 2}, arc_probability={'a' → 'd': 0.9, 'b->d': 0.1})"
    )


def test_the_repr_of_much_is_short() -> None:
    many = [f"x{i}" for i in range(1000)]
    assert repr(Constraints(order=many)).endswith("'x6', 'x7', … (1000 in all)])")
    assert len(repr(Constraints(required=[("a", x) for x in many], tiers=[many, ["a"]]))) < 600


def test_constraints_are_equal_by_what_they_say_and_can_be_copied() -> None:
    said = Constraints(required=["a->b"], parents={"c": ("a",)}, arc_probability={"a->d": 0.3})
    assert said == Constraints(required=("a->b",), parents={"c": ["a"]}, arc_probability={"a->d": 0.3})
    assert said != Constraints(required=["a->b"])
    assert copy.deepcopy(said) == pickle.loads(pickle.dumps(said)) == said


def test_only_keywords_are_taken() -> None:
    with pytest.raises(TypeError):
        Constraints(["a->b"])  # type: ignore[misc]
