"""Conjunctions: what they cover, how they are ordered, how many there are."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError
from itertools import product

import pytest

import tunbridge as tb
from oracles.concepts import NOTHING, all_hypotheses, at_least_as_general, covers
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.reasoning import Conjunction, all_conjunctions, count_conjunctions

SKY, WIND = Variable("sky", ["Sunny", "Cloudy", "Rainy"]), Variable("wind", ["Strong", "Weak"])
NAMES = ("sky", "wind")


def plain(h: Conjunction) -> object:
    return NOTHING if h.is_empty else h.values


def test_all_of_a_small_domain_are_listed_once_and_ordered_as_what_they_cover():
    found = list(all_conjunctions([SKY, WIND]))
    assert len(found) == len(set(found)) == count_conjunctions([SKY, WIND]) == 13
    assert [plain(h) for h in found] == all_hypotheses([SKY.states, WIND.states])
    assert found[0].is_empty
    assert str(found[-1]) == "⟨?, ?⟩"
    for h, g in product(found, found):
        assert (h >= g) == (g <= h) == at_least_as_general(plain(h), plain(g))
        assert (h > g) == (g < h) == (h >= g and h != g)
        inside = all(h.covers(case) for case in product(SKY.states, WIND.states) if g.covers(case))
        assert (h >= g) == inside


def test_enjoy_sport_has_973():
    variables = tb.datasets.enjoy_sport().drop(["enjoy"]).variables
    assert count_conjunctions(variables) == 973
    assert sum(1 for _ in all_conjunctions(variables)) == 973


def test_covers_takes_rows_and_mappings():
    h = Conjunction(NAMES, {"sky": "Sunny"})
    assert h.covers({"sky": "Sunny"})
    assert h.covers(["Sunny", "Weak"])
    assert not h.covers(("Rainy", "Weak"))
    assert not h.covers({"sky": None, "wind": "Weak"})
    assert not Conjunction.empty(NAMES).covers(["Sunny", "Weak"])
    for case in product(SKY.states, WIND.states):
        assert h.covers(case) == covers(h.values, case)


def test_generalised_is_the_least_that_covers_both():
    found = list(all_conjunctions([SKY, WIND]))
    for h, case in product(found, product(SKY.states, WIND.states)):
        wider = h.generalised(case)
        assert wider >= h
        assert wider.covers(case)
        assert all(other >= wider for other in found if other >= h and other.covers(case))


def test_it_is_a_value():
    h = Conjunction(NAMES, {"wind": "Weak"})
    assert h == Conjunction(list(NAMES), {"wind": "Weak"})
    assert hash(h) == hash(Conjunction(NAMES, {"wind": "Weak"}))
    assert h != Conjunction(NAMES)
    assert h.constraints == {"wind": "Weak"}
    assert repr(h) == str(h) == "⟨?, Weak⟩"
    assert str(Conjunction.empty(NAMES)) == "⟨∅, ∅⟩"
    assert (h.rule, Conjunction(NAMES).rule, Conjunction.empty(NAMES).rule) == ("wind = Weak", "anything", "nothing")
    with pytest.raises(FrozenInstanceError):
        h.values = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        h >= 3  # noqa: B015


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Conjunction("sky"), "attributes must be a list of names; got 'sky'"),
        (lambda: Conjunction(["sky", "sky"]), "attributes must be distinct names; got 'sky', 'sky'"),
        (
            lambda: Conjunction(NAMES, {"Sky": "Sunny"}),
            "constraints must name attributes; got 'Sky'. Did you mean 'sky'",
        ),
        (lambda: Conjunction(NAMES, {"sky": None}), "a constraint must require a value; got None for 'sky'"),
        (lambda: Conjunction(NAMES, ["Sunny"]), "constraints must be a mapping of attribute to value; got"),
        (lambda: Conjunction.empty(NAMES).constraints, "the empty concept has no constraints"),
        (lambda: Conjunction(NAMES).covers(["Sunny"]), "a value of each of the attributes 'sky', 'wind'; got 'Sunny'"),
        (lambda: Conjunction(NAMES).covers("Sunny"), "a case must be a mapping or a sequence of values; got 'Sunny'"),
        (lambda: Conjunction(NAMES, {"sky": "Sunny"}).covers({"Sky": 1}), "'sky' has none. Did you mean 'Sky'"),
        (lambda: Conjunction(NAMES).generalised({"sky": "Sunny"}), "a value of every attribute; 'wind' is missing"),
        (lambda: Conjunction(NAMES) >= Conjunction(["sky"]), "same attributes to be compared; got 'sky', 'wind' and"),
        (lambda: count_conjunctions([Variable("age")]), "attributes must be categorical; 'age' is continuous"),
        (lambda: list(all_conjunctions(["sky"])), "variables must be a list of Variable; got 'sky'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(DataError) as caught:
        make()
    assert message in str(caught.value)


def test_the_room_does_not_wait_for_scikit_learn():
    code = (
        "import sys; from tunbridge.reasoning import Conjunction, HypothesisSpace, bayes_rule, concept_space; "
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
