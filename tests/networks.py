"""Random networks and random evidence for the tests, from a seed or from hypothesis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tunbridge.data import Variable
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT

MOST_CELLS = 4000  # of the joint table: enumeration has to stay quick


def random_network(
    rng: np.random.Generator,
    *,
    most_variables: int = 10,
    most_states: int = 5,
    most_parents: int = 4,
    most_cells: float = MOST_CELLS,
    zeros: float = 0.25,
    window: int | None = None,
) -> list[ConditionalTable]:
    """Return the tables of a random network, in an order that is not the topological one.

    Parameters
    ----------
    rng : Generator
        Where it comes from.
    most_variables, most_states, most_parents : int
        The largest numbers, which all occur; variables of a single state too.
    most_cells : float
        The largest number of cells of the joint table.
    zeros : float
        The share of the probabilities that are zero.
    window : int, optional
        Parents are among this many variables before, so that large networks have small cliques.
    """
    variables: list[Variable] = []
    cpts: list[ConditionalTable] = []
    for i in range(int(rng.integers(1, most_variables + 1))):
        n_states = int(rng.integers(1 if rng.random() < 0.1 else 2, most_states + 1))
        if math.prod(v.n_states for v in variables) * n_states > most_cells:
            break
        variable = Variable(f"v{i}", [f"s{k}" for k in range(n_states)])
        near = variables if window is None else variables[-window:]
        parents = [near[j] for j in rng.permutation(len(near))[: rng.integers(0, most_parents + 1)]]
        variables.append(variable)
        cpts.append(_random_table(rng, variable, parents, zeros))
    return [cpts[i] for i in rng.permutation(len(cpts))]


def _random_table(
    rng: np.random.Generator, variable: Variable, parents: Sequence[Variable], zeros: float
) -> ConditionalTable:
    kind = rng.random()
    if parents and kind < 0.08:
        effects = [random_rows(rng, (p.n_states, variable.n_states), zeros) for p in parents]
        return NoisyMaxCPT(variable, parents, effects, random_rows(rng, (variable.n_states,), zeros))
    if parents and kind < 0.16:
        default, *rows = random_rows(rng, (4, variable.n_states), zeros)
        keys = [tuple(str(rng.choice(p.states)) for p in parents) for _ in rows]
        return SparseCPT(variable, parents, dict(zip(keys, rows, strict=True)), default)
    return CPT(variable, parents, random_rows(rng, (*(p.n_states for p in parents), variable.n_states), zeros))


def random_rows(rng: np.random.Generator, shape: tuple[int, ...], zeros: float) -> np.ndarray:
    """Return distributions along the last axis, a share of their probabilities zero."""
    rows = rng.gamma(0.7, size=shape) + 1e-3
    rows[rng.random(shape) < zeros] = 0.0
    rows[..., 0] += rows.sum(axis=-1) == 0.0
    return rows / rows.sum(axis=-1, keepdims=True)


def random_evidence(rng: np.random.Generator, cpts: Sequence[ConditionalTable], share: float = 0.4) -> dict[str, Any]:
    """Return random findings: states, lists of states, and likelihoods of which some are zero."""
    found: dict[str, Any] = {}
    for cpt in cpts:
        states = [str(s) for s in cpt.variable.states or ()]
        if rng.random() >= share:
            continue
        kind = rng.integers(4)
        if kind < 2:
            found[cpt.variable.name] = str(rng.choice(states))
        elif kind == 2:
            found[cpt.variable.name] = rng.permutation(states)[: rng.integers(1, len(states) + 1)].tolist()
        else:
            values = rng.random(len(states)) * (rng.random(len(states)) < 0.8)
            values[0] += 0.3 * (not values.any())
            found[cpt.variable.name] = dict(zip(states, values.tolist(), strict=True))
    return found


@st.composite
def networks(draw: Any, *, most_variables: int = 6, most_states: int = 4) -> list[ConditionalTable]:
    """Draw the tables of a small network, so that hypothesis can shrink it: structure, then rows of small numbers."""
    cpts: list[ConditionalTable] = []
    variables: list[Variable] = []
    for i in range(draw(st.integers(1, most_variables))):
        variable = Variable(f"v{i}", [f"s{k}" for k in range(draw(st.integers(1, most_states)))])
        parents = draw(st.lists(st.sampled_from(variables), max_size=3, unique=True)) if variables else []
        shape = (*(p.n_states for p in parents), variable.n_states)
        weights = draw(st.lists(st.integers(0, 4), min_size=math.prod(shape), max_size=math.prod(shape)))
        rows = np.array(weights, float).reshape(shape)
        rows[..., 0] += rows.sum(axis=-1) == 0.0
        variables.append(variable)
        cpts.append(CPT(variable, parents, rows / rows.sum(axis=-1, keepdims=True)))
    return draw(st.permutations(cpts))


@st.composite
def networks_with_evidence(draw: Any) -> tuple[list[ConditionalTable], dict[str, Any]]:
    """Draw a small network and findings of all kinds on some of its variables."""
    cpts, evidence = draw(networks()), {}
    for cpt in draw(st.lists(st.sampled_from(cpts), unique_by=lambda cpt: cpt.variable.name)):
        states = st.sampled_from(cpt.variable.states)
        weights = st.lists(st.integers(0, 3), min_size=cpt.variable.n_states, max_size=cpt.variable.n_states)
        likelihoods = weights.filter(any).map(lambda w, cpt=cpt: dict(zip(cpt.variable.states, w, strict=True)))
        several = st.lists(states, min_size=1, unique=True)
        evidence[cpt.variable.name] = draw(st.one_of(states, several, likelihoods))
    return cpts, evidence
