"""Compiled constraints against a plain reading of what was said, over all graphs of up to four nodes."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.learning import all_graphs
from tunbridge.errors import DataError
from tunbridge.learning.constraints import Constraints

examples = settings(max_examples=200, deadline=None)
graphs = cache(all_graphs)
NAMES = ("a", "b b", "c->d", "e")


@st.composite
def specifications(draw):
    """Draw columns and what is said about them, the arcs as pairs; tiers and order agree."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    arcs = [(c, x) for c, x in product(names, names) if c != x]
    some_arcs = st.lists(st.sampled_from(arcs), max_size=4) if arcs else st.just([])
    some = st.lists(st.sampled_from(names), max_size=2)
    limit = st.integers(0, 2)
    time = draw(st.permutations(names))
    cuts = sorted(draw(st.lists(st.integers(0, len(names)), max_size=3)))
    tiers = [list(time[i:j]) for i, j in zip([0, *cuts], [*cuts, len(names)], strict=True)]
    said = {
        "required": draw(some_arcs),
        "forbidden": draw(some_arcs),
        "tiers": draw(st.sampled_from([[], tiers, tiers[1:]])),
        "within_tiers": draw(st.booleans()),
        "order": draw(st.sampled_from([[], time, time[::2]])),
        "roots": draw(some),
        "leaves": draw(some),
        "parents": {x: [c for c in draw(some) if c != x] for x in draw(some)[:1]},
        "max_parents": draw(st.one_of(st.none(), limit, st.dictionaries(st.sampled_from(names), limit))),
        "arc_probability": {arc: draw(st.floats(0.001, 0.999)) for arc in draw(some_arcs)},
    }
    alone = st.sampled_from([{"required"}, {"required", "parents"}, {"required", "max_parents"}])  # else they are rare
    kept = draw(st.one_of(st.sets(st.sampled_from(sorted(said))), alone))
    return names, {key: value for key, value in said.items() if key in kept}


def is_forbidden(said, c, x):
    """Return whether anything that was said forbids the arc."""
    tiers = {name: k for k, tier in enumerate(said.get("tiers", [])) for name in tier}
    place = {name: k for k, name in enumerate(said.get("order", []))}
    return any(
        [
            c == x,
            (c, x) in said.get("forbidden", []),
            c in tiers and x in tiers and tiers[c] > tiers[x],
            c in tiers and x in tiers and tiers[c] == tiers[x] and not said.get("within_tiers", True),
            c in place and x in place and place[c] > place[x],
            x in said.get("roots", []),
            c in said.get("leaves", []),
            x in said.get("parents", {}) and c not in said["parents"][x],
        ]
    )


def is_required(said, c, x):
    return (c, x) in said.get("required", []) or c in said.get("parents", {}).get(x, [])


def most(said, x, n):
    limit = said.get("max_parents")
    return n if limit is None else limit.get(x, n) if isinstance(limit, dict) else limit


def obeys(said, names, graph):
    """Return whether a graph is one that was not ruled out."""
    arcs = {(names[c], names[x]) for x, parents in enumerate(graph) for c in parents}
    return (
        not any(is_forbidden(said, c, x) for c, x in arcs)
        and all((c, x) in arcs for c, x in product(names, names) if is_required(said, c, x))
        and all(len(parents) <= most(said, names[x], len(names)) for x, parents in enumerate(graph))
    )


def accepts(compiled, graph):
    try:
        compiled.check_graph(graph)
    except DataError:
        return False
    return True


def written(arc, style):
    """Return an arc in one of the ways in which it may be given."""
    return [tuple(arc), list(arc), np.array(arc), "->".join(arc), " → ".join(arc)][style]


@given(specifications())
@examples
def test_exactly_what_some_graph_satisfies_is_accepted_and_exactly_those_graphs_pass(specification):
    names, said = specification
    legal = {graph for graph in graphs(len(names)) if obeys(said, names, graph)}
    if not legal:
        with pytest.raises(DataError, match="required arcs must"):
            Constraints(**said).compile(names)
        return
    compiled = Constraints(**said).compile(names)
    assert {graph for graph in graphs(len(names)) if accepts(compiled, graph)} == legal
    assert compiled.required in legal


@given(specifications())
@examples
def test_the_arrays_are_those_of_a_plain_loop(specification):
    names, said = specification
    if not any(obeys(said, names, graph) for graph in graphs(len(names))):
        return
    compiled = Constraints(**said).compile(names)
    n = len(names)
    allowed = np.array([[not is_forbidden(said, c, x) for x in names] for c in names])
    if compiled.allowed is None:
        assert (allowed == ~np.eye(n, dtype=bool)).all()
    else:
        assert (compiled.allowed == allowed).all()
        assert not (allowed == ~np.eye(n, dtype=bool)).all()
    required = tuple(tuple(i for i, c in enumerate(names) if is_required(said, c, x)) for x in names)
    assert compiled.required == required
    assert compiled.max_parents.tolist() == [min(most(said, x, n), n - 1) for x in names]
    assert compiled.max_parents.dtype == np.int64


@given(specifications())
@examples
def test_the_prior_is_the_log_odds_of_each_arc(specification):
    names, said = specification
    given_ = said.get("arc_probability", {})
    bonus = Constraints(arc_probability=given_).compile(names).arc_bonus
    odds = [[math.log(p / (1 - p)) for x in names for p in [given_.get((c, x), 0.5)]] for c in names]
    found = np.zeros_like(odds) if bonus is None else bonus
    np.testing.assert_allclose(found, odds, rtol=1e-9, atol=1e-12)


@given(specifications(), st.data())
@examples
def test_how_an_arc_is_written_makes_no_difference(specification, data):
    names, said = specification
    styles = st.integers(0, 4)
    other = dict(said)
    for key in {"required", "forbidden"} & said.keys():
        other[key] = (written(arc, data.draw(styles)) for arc in said[key])
    if "arc_probability" in said:
        keys = {arc: data.draw(st.sampled_from([0, 3, 4])) for arc in said["arc_probability"]}
        other["arc_probability"] = {written(arc, keys[arc]): p for arc, p in said["arc_probability"].items()}
    first, second = outcome(Constraints(**said), names), outcome(Constraints(**other), names)
    assert first == second


def outcome(constraints, names):
    try:
        found = constraints.compile(names)
    except DataError as error:
        return str(error)
    matrices = [None if m is None else m.tolist() for m in (found.allowed, found.arc_bonus)]
    return matrices, found.required, found.max_parents.tolist()


@given(specifications(), st.integers(0, 3))
@examples
def test_of_two_limits_the_smaller_counts(specification, k):
    names, said = specification
    limits = said.get("max_parents")
    found = Constraints(max_parents=limits).compile(names, max_parents=k).max_parents
    assert found.tolist() == [min(most(said, x, len(names)), k, len(names) - 1) for x in names]
    swapped = Constraints(max_parents=k).compile(names, max_parents=limits).max_parents
    assert swapped.tolist() == found.tolist()
