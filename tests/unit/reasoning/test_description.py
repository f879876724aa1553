from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tunbridge.errors import DataError, UnknownStateError
from tunbridge.reasoning import DescriptionLength, bayes_rule, shortest_description

INF = math.inf


def choice(**lengths):
    return shortest_description(lengths)


def test_the_shortest_is_chosen_and_the_others_ranked():
    found = choice(a=(3, 10), b=(5, 6), c=(20, 1))
    assert found.best == DescriptionLength("b", 5, 6)
    assert found.best.total == 11
    assert [candidate.name for candidate in found.ranked] == ["b", "a", "c"]
    assert list(found) == ["a", "b", "c"]
    assert found["c"].total == 21


def test_of_equal_descriptions_the_first_is_chosen():
    assert choice(b=(1, 2), a=(2, 1)).best.name == "b"
    assert choice(b=(1, 2), a=(2, 1)).space().update(["D"]).map == "b"


def test_records_may_be_given_by_name_or_in_a_sequence():
    records = [DescriptionLength("a", 1, 5, "model"), DescriptionLength("b", 2, 2, {"other": "model"})]
    assert shortest_description(records).model == {"other": "model"}
    named = shortest_description({"x": records[0], "b": records[1]})
    assert list(named) == ["x", "b"]
    assert named["x"].model == "model"


def test_to_dict_has_the_lengths_by_name():
    assert choice(a=(3, 10), b=(5, 6.5)).to_dict() == {
        "a": {"hypothesis_bits": 3.0, "data_bits": 10.0, "total": 13.0},
        "b": {"hypothesis_bits": 5.0, "data_bits": 6.5, "total": 11.5},
    }


def test_prior_and_posterior_are_powers_of_a_half():
    found = choice(a=(1, 4), b=(2, 2), c=(2, 5))
    assert found.kraft_sum == 1
    assert dict(found.prior) == {"a": 0.5, "b": 0.25, "c": 0.25}
    assert dict(found.posterior) == pytest.approx({"a": 4 / 13, "b": 8 / 13, "c": 1 / 13}, rel=1e-14)


def test_the_same_by_bayes_rule():
    found = choice(a=(1, 4), b=(2, 2), c=(2, 5))
    prior = {name: Fraction(1, 2 ** int(length.hypothesis_bits)) for name, length in found.items()}
    likelihood = {name: Fraction(1, 2 ** int(length.data_bits)) for name, length in found.items()}
    rule = bayes_rule(prior, likelihood)
    assert rule.map == found.best.name == found.space().update(["D"]).map == found.posterior.mode
    space = found.space().update(["D"]).posterior
    for name in found:
        assert rule[name] == pytest.approx(found.posterior[name], rel=1e-14)
        assert space[name] == pytest.approx(found.posterior[name], rel=1e-13)


def test_thousands_of_bits_do_not_underflow():
    found = choice(simple=(2, 90_000), complex=(9_000, 80_000.5))
    assert found.space().update(["D"]).map == found.best.name == found.posterior.mode == "complex"
    assert found.space().prior["complex"] == 0.0  # as a float; the space knows better


def test_what_cannot_be_told_has_probability_zero():
    found = choice(a=(INF, 1), b=(1, INF), c=(50, 50))
    assert found.best.name == "c"
    assert found.posterior.mode == found.space().update(["D"]).map == "c"
    assert found.prior["a"] == 0
    assert found.posterior["b"] == 0
    assert "L(a) + L(D | a) = ∞ + 1 = ∞" in str(found.derivation())


def test_a_space_cannot_hold_lengths_that_are_too_far_apart():
    with pytest.raises(DataError, match="must be within 1000000 bits of each other; got 2000000"):
        choice(a=(0, 1), b=(2_000_000, 1)).space()


def test_it_prints_as_a_table_the_shortest_first():
    lines = str(choice(a=(3, 10), b=(5, 6))).splitlines()
    assert [line.split() for line in lines[1:]] == [["b", "5", "6", "11", "0"], ["a", "3", "10", "13", "2"]]
    many = shortest_description({i: (i, 50) for i in range(30)})
    assert str(many).splitlines()[-1] == "… the 20 shortest of 30"
    assert "12345678" in str(choice(a=(0, 12_345_678)))


def test_the_derivation_has_the_numbers_in_it():
    found = choice(a=(3, 10), b=(5, 6.5))
    assert str(found["b"].derivation()) == "L(b) + L(D | b) = 5 + 6.5 = 11.5"
    assert str(found.derivation()).splitlines()[-1] == "h_MDL = argmin_h L(h) + L(D | h) = b"
    assert r"L(\text{b}) + L(D \mid \text{b}) &= 5 + 6.5 = 11.5" in found.derivation().latex
    assert r"\operatorname*{argmin}_h" in found.derivation().latex


@pytest.mark.parametrize("wrong", [-1, math.nan, "7", None, True])
def test_lengths_are_numbers_of_bits(wrong):
    with pytest.raises(DataError, match=r"L\(h\) of 'a' must be a number of bits of at least 0; got"):
        DescriptionLength("a", wrong, 1)
    with pytest.raises(DataError, match=r"L\(D \| h\) of 'a' must be a number of bits of at least 0; got"):
        DescriptionLength("a", 1, wrong)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "there must be at least one candidate; got none"),
        ({}, "there must be at least one candidate; got none"),
        ({"a": (INF, 1), "b": (1, INF)}, "at least one candidate must have a finite length; all 2 are infinite"),
        ([(1, 2)], "candidates must be a sequence of DescriptionLengths; got"),
        (None, "candidates must be a sequence of DescriptionLengths; got None"),
        ({"a": 3}, r"the length of 'a' must be \(hypothesis_bits, data_bits\); got 3"),
        ({"a": "12"}, r"the length of 'a' must be \(hypothesis_bits, data_bits\); got '12'"),
        ([DescriptionLength("a", 1, 1)] * 2, "hypotheses must be distinct"),
    ],
)
def test_bad_candidates(candidates, message):
    with pytest.raises(DataError, match=message):
        shortest_description(candidates)


def test_an_unknown_name():
    with pytest.raises(
        UnknownStateError, match=r"must be that of a candidate; got 'degree3'. Did you mean 'degree 3'\?"
    ):
        shortest_description({"degree 3": (1, 1)})["degree3"]
