"""Bayes' rule and hypothesis spaces against enumeration in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tunbridge.reasoning import HypothesisSpace, bayes_rule

shares = st.integers(1, 50)
chances = st.integers(1, 1000).map(lambda n: Fraction(n, 1000))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[Fraction], list[list[Fraction]]]:
    """A prior, and the likelihoods of a few observations."""
    k = draw(st.integers(1, 5))
    raw = draw(st.lists(shares, min_size=k, max_size=k))
    rows = draw(st.lists(st.lists(chances, min_size=k, max_size=k), min_size=1, max_size=6))
    return [Fraction(n, sum(raw)) for n in raw], rows


def enumerated(prior: list[Fraction], rows: list[list[Fraction]]) -> tuple[list[Fraction], Fraction]:
    weights = list(prior)
    for row in rows:
        weights = [w * p for w, p in zip(weights, row, strict=True)]
    return [w / sum(weights) for w in weights], sum(weights)


@settings(max_examples=20, deadline=None)
@given(problems())
def test_the_rule_is_enumeration(problem: tuple[list[Fraction], list[list[Fraction]]]) -> None:
    prior, rows = problem
    posterior, evidence = enumerated(prior, rows)
    found = bayes_rule(dict(enumerate(prior)), [dict(enumerate(row)) for row in rows])
    assert list(found.values()) == posterior
    assert found.evidence == evidence
    assert found.map == posterior.index(max(posterior))
    floats = bayes_rule(
        {i: float(p) for i, p in enumerate(prior)}, [{i: float(p) for i, p in enumerate(r)} for r in rows]
    )
    assert list(floats.values()) == pytest.approx([float(p) for p in posterior], rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_a_space_is_enumeration_in_any_order_and_in_pieces(
    problem: tuple[list[Fraction], list[list[Fraction]]], random
) -> None:  # type: ignore[no-untyped-def]
    prior, rows = problem
    posterior, evidence = enumerated(prior, rows)
    space = HypothesisSpace(range(len(prior)), prior, likelihood=lambda h, d: rows[d][h])
    data = list(range(len(rows)))
    evolution = space.evolution(data)
    assert evolution.probabilities[-1].tolist() == pytest.approx([float(p) for p in posterior], rel=1e-9)
    random.shuffle(data)
    found = space.update(data[:2]).update(data[2:])
    assert list(found.shares.values()) == posterior
    assert found.evidence == evidence
    logs = HypothesisSpace(range(len(prior)), prior, log_likelihood=lambda h, d: float(np.log(float(rows[d][h]))))
    assert list(logs.update(data).posterior.values()) == pytest.approx([float(p) for p in posterior], rel=1e-9)
    assert logs.update(data).log_evidence == pytest.approx(float(np.log(float(evidence))), rel=1e-9, abs=1e-12)


@settings(max_examples=20, deadline=None)
@given(problems())
def test_gibbs_errs_at_most_twice_as_often_as_the_best(problem: tuple[list[Fraction], list[list[Fraction]]]) -> None:
    prior, rows = problem
    space = HypothesisSpace(range(len(prior)), prior, predict=lambda h, x: {"+": rows[0][h], "-": 1 - rows[0][h]})
    errors = space.expected_errors("x")
    assert errors["bayes_optimal"] <= errors["map"] + 1e-12
    assert errors["bayes_optimal"] <= errors["gibbs"] + 1e-12
    assert errors["gibbs"] <= 2 * errors["bayes_optimal"] + 1e-12
