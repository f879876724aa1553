from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.reasoning import bayes_rule, code_length, shortest_description

lengths = st.floats(0, 5_000) | st.sampled_from([0.0, 1.0, 64.0, math.inf])
whole = st.integers(0, 60)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(lengths, lengths), min_size=1, max_size=6).filter(lambda c: any(sum(p) < 1e9 for p in c)))
def test_the_shortest_description_is_the_most_probable_hypothesis(pairs):
    choice = shortest_description(dict(enumerate(pairs)))
    chosen = choice.space().update(["D"])
    for name in (chosen.map, choice.posterior.mode):
        assert choice[name].total == pytest.approx(choice.best.total, rel=1e-12, abs=1e-9)
    assert dict(chosen.posterior) == pytest.approx(dict(choice.posterior), rel=1e-9, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=6))
def test_whole_numbers_of_bits_by_bayes_rule_without_rounding(pairs):
    choice = shortest_description(dict(enumerate(pairs)))
    weights = {name: Fraction(1, 2**told) for name, (told, _) in enumerate(pairs)}
    prior = {name: weight / sum(weights.values()) for name, weight in weights.items()}
    rule = bayes_rule(prior, {name: Fraction(1, 2**data) for name, (_, data) in enumerate(pairs)})
    assert rule.map == choice.best.name
    assert rule[rule.map] == max(Fraction(1, 2 ** sum(pair)) for pair in pairs) / sum(
        Fraction(1, 2 ** sum(pair)) for pair in pairs
    )


@settings(max_examples=50, deadline=None)
@given(st.fractions(0, 1, max_denominator=10**6))
def test_code_lengths_are_logarithms(p):
    assert 2.0 ** -code_length(p) == pytest.approx(float(p), rel=1e-12, abs=0)
