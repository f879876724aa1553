"""Concept learning against all conjunctions of small domains, one by one."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tunbridge as tb
from oracles.concepts import (
    NOTHING,
    candidate_elimination,
    covers,
    find_s,
    greatest,
    least,
    version_space,
)
from tunbridge.errors import DataWarning, EmptyVersionSpaceError
from tunbridge.reasoning import Conjunction

FEW = settings(max_examples=20, deadline=None)
pytestmark = pytest.mark.filterwarnings("ignore:unseen categories")  # cases have one state more


@st.composite
def problems(draw, *, consistent=None):
    """Draw states, rows and labels: of a hidden conjunction, or any."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    states = [[f"{chr(97 + a)}{v}" for v in range(size)] for a, size in enumerate(sizes)]
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, states)), min_size=1, max_size=7))
    hidden = draw(st.tuples(*(st.sampled_from([*values, None, None]) for values in states)))
    labels = [covers(hidden, row) for row in rows]
    if not (draw(st.booleans()) if consistent is None else consistent):
        labels = draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    return states, rows, labels


def learner(kind, states):
    return kind("yes", states=dict(zip(names_of(states), states, strict=True)))


def names_of(states):
    return [f"x{a}" for a in range(len(states))]


def labelled(labels):
    return ["yes" if label else "no" for label in labels]


def plain(h: Conjunction):
    return NOTHING if h.is_empty else h.values


def all_cases(states):
    cells = np.array(np.meshgrid(*([*values, "other"] for values in states), indexing="ij")).reshape(len(states), -1)
    return [tuple(map(str, case)) for case in cells.T]


@FEW
@given(problems())
def test_version_space_is_that_of_the_list(problem):
    states, rows, labels = problem
    expected = version_space(states, rows, labels)
    space = learner(tb.VersionSpace, states)
    if not expected:
        with pytest.raises(EmptyVersionSpaceError):
            space.fit(rows, labelled(labels))
        return
    space.fit(rows, labelled(labels))
    assert space.size_ == len(expected)
    assert {plain(h) for h in space.specific_} == least(expected)
    assert {plain(h) for h in space.general_} == greatest(expected)
    assert len(space.general_) == len(set(space.general_))
    members = space.hypotheses()
    assert len(members) == len(expected)
    assert {plain(h) for h in members} == set(expected)
    assert not any(members[i] > members[j] for i in range(len(members)) for j in range(i, len(members)))
    assert space.evidence_ == Fraction(len(expected), 1 + int(np.prod([len(v) + 1 for v in states])))


@FEW
@given(problems(consistent=True))
def test_votes_are_those_of_the_list(problem):
    states, rows, labels = problem
    expected = version_space(states, rows, labels)
    space = learner(tb.VersionSpace, states).fit(rows, labelled(labels))
    cases = all_cases(states)
    votes = [sum(covers(h, case) for h in expected) for case in cases]
    assert space.votes(cases).tolist() == votes
    assert space.unanimous(cases).tolist() == [vote in (0, len(expected)) for vote in votes]
    assert space.predict(cases).tolist() == labelled(2 * vote > len(expected) for vote in votes)
    shares = np.array([[1 - vote / len(expected), vote / len(expected)] for vote in votes])
    np.testing.assert_allclose(space.predict_proba(cases), shares, rtol=1e-15, atol=0)


@FEW
@given(problems())
def test_steps_are_candidate_elimination(problem):
    states, rows, labels = problem
    expected = candidate_elimination(states, rows, labels)
    end = next((i for i, (specific, _) in enumerate(expected) if not specific), len(expected) - 1)
    steps = learner(tb.VersionSpace, states).steps(rows, labelled(labels)).steps
    found = [({plain(h) for h in step.specific}, {plain(h) for h in step.general}) for step in steps]
    assert found[:end] == expected[:end]
    assert [step.row for step in steps] == list(range(end + 1))
    assert found[end] == (expected[end] if expected[end][0] else (set(), set()))


@FEW
@given(problems())
def test_the_row_that_leaves_nothing_is_the_first_one(problem):
    states, rows, labels = problem
    emptied = [not version_space(states, rows[:n], labels[:n]) for n in range(1, len(rows) + 1)]
    space = learner(tb.VersionSpace, states)
    if not any(emptied):
        space.fit(rows, labelled(labels))
        return
    with pytest.raises(EmptyVersionSpaceError) as caught:
        space.fit(rows, labelled(labels))
    assert caught.value.row == emptied.index(True) + 1
    assert tuple(caught.value.cells.values()) == rows[caught.value.row - 1]
    assert not hasattr(space, "specific_")


@FEW
@given(problems(consistent=True), st.randoms(use_true_random=False), st.integers(0, 7))
def test_order_and_parts_make_no_difference(problem, random, cut):
    states, rows, labels = problem
    once = learner(tb.VersionSpace, states).fit(rows, labelled(labels))
    order = random.sample(range(len(rows)), len(rows))
    parts = [part for part in (order[:cut], order[cut:]) if part]
    space, find = learner(tb.VersionSpace, states), learner(tb.FindS, states)
    for part in parts:
        some, their = [rows[i] for i in part], labelled(labels[i] for i in part)
        space.partial_fit(some, their)
        find.partial_fit(some, their)
    cases = all_cases(states)
    assert space.size_ == once.size_
    assert space.general_ == once.general_
    assert space.specific_ == once.specific_ == (find.hypothesis_,)
    assert space.votes(cases).tolist() == once.votes(cases).tolist()


@FEW
@given(problems(), st.integers(1, 7))
def test_parts_lose_nothing_when_they_contradict(problem, cut):
    states, rows, labels = problem
    first, rest = (rows[:cut], labels[:cut]), (rows[cut:], labels[cut:])
    if not rest[0] or not version_space(states, *first) or version_space(states, rows, labels):
        return
    emptied = [not version_space(states, rows[:n], labels[:n]) for n in range(1, len(rows) + 1)]
    space = learner(tb.VersionSpace, states).fit(first[0], labelled(first[1]))
    before = (space.size_, space.general_, space.n_rows_)
    with pytest.raises(EmptyVersionSpaceError) as caught:
        space.partial_fit(rest[0], labelled(rest[1]))
    assert caught.value.row == emptied.index(True) + 1
    assert (space.size_, space.general_, space.n_rows_) == before


@FEW
@given(problems())
def test_find_s_is_the_loop_over_rows(problem):
    states, rows, labels = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        found = learner(tb.FindS, states).fit(rows, labelled(labels))
    expected = find_s(rows, labels)
    assert plain(found.hypothesis_) == expected
    assert [plain(step.hypothesis) for step in found.trace_] == _changes(rows, labels)
    wrong = [i + 1 for i, row in enumerate(rows) if not labels[i] and covers(expected, row)]
    assert found.consistent_ == found.is_map_ == (not wrong)
    assert (found.conflict_.row if found.conflict_ else None) == (wrong[0] if wrong else None)
    assert found.predict(rows).tolist() == labelled(covers(expected, row) for row in rows)


def _changes(rows, labels):
    after = [find_s(rows[:n], labels[:n]) for n in range(len(rows) + 1)]
    return [new for old, new in pairwise(after) if new != old]
