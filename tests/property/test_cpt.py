"""Conditional tables of every kind and from every source are one and the same function."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
from hypothesis import given, settings, strategies as st

from oracles.noisy_max import noisy_max_row
from tunbridge.data import Variable
from tunbridge.probability import CPT, ConditionalTable, NoisyMaxCPT, SparseCPT, as_cpt

shapes = st.tuples(st.lists(st.integers(1, 4), max_size=3), st.integers(1, 4), st.integers(0, 2**32 - 1))


def family(n_states: list[int], r: int) -> tuple[Variable, tuple[Variable, ...]]:
    parents = tuple(Variable(f"p{i}", [f"s{k}" for k in range(n)]) for i, n in enumerate(n_states))
    return Variable("x", range(r)), parents


def random_rows(rng: np.random.Generator, n: int, r: int) -> np.ndarray:
    rows = rng.random((n, r)) * (rng.random((n, r)) < 0.7)
    rows[np.arange(n), rng.integers(0, r, n)] += 0.1  # zeros, but no row of zeros
    return rows / rows.sum(axis=1, keepdims=True)


def all_codes(cpt: ConditionalTable) -> np.ndarray:
    codes = list(itertools.product(*map(range, cpt.shape[:-1])))
    return np.array(codes, int).reshape(len(codes), len(cpt.parents))


def check_laws(cpt: ConditionalTable) -> None:
    """Check what holds for every kind of table."""
    table, codes = cpt.table(), all_codes(cpt)
    assert table.shape == cpt.shape
    assert math.prod(cpt.shape[:-1]) == cpt.n_configurations
    np.testing.assert_allclose(table.sum(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(cpt.rows(codes), table.reshape(-1, cpt.shape[-1]), rtol=1e-12, atol=0)
    assert pickle.loads(pickle.dumps(cpt)) == cpt
    for i, parent in enumerate(cpt.parents):
        for code in range(parent.n_states):
            reduced = cpt.reduced({parent.name: code})
            np.testing.assert_allclose(reduced.table(), table.take(code, axis=i), rtol=1e-12, atol=1e-300)
    last = {p.name: (p.states or ())[c] for p, c in zip(cpt.parents, codes[-1], strict=True)}
    np.testing.assert_allclose(list(cpt.distribution(last).values()), table.reshape(-1, cpt.shape[-1])[-1], rtol=1e-12)


@settings(deadline=None)
@given(shapes)
def test_dense_tables_from_every_source(case):
    n_states, r, seed = case
    variable, parents = family(n_states, r)
    rows = random_rows(np.random.default_rng(seed), math.prod(n_states), r)
    cpt = CPT(variable, parents, rows)
    check_laws(cpt)
    keys = list(itertools.product(*(p.states for p in parents)))
    assert as_cpt(variable, parents, cpt.table()) == cpt
    assert as_cpt(variable, parents, dict(zip(keys, cpt.table().reshape(-1, r), strict=True))) == cpt
    long = [
        {**{p.name: s for p, s in zip(parents, key, strict=True)}, "x": k, "probability": p_k}
        for key, row in zip(keys, cpt.table().reshape(-1, r), strict=True)
        for k, p_k in enumerate(row.tolist())
    ]
    np.random.default_rng(seed).shuffle(long)
    assert as_cpt(variable, parents, long) == cpt


@settings(deadline=None)
@given(shapes, st.floats(0, 1))
def test_sparse_tables_are_dense_ones_with_gaps(case, share):
    n_states, r, seed = case
    rng = np.random.default_rng(seed)
    variable, parents = family(n_states, r)
    rows, default = random_rows(rng, math.prod(n_states), r), random_rows(rng, 1, r)[0]
    seen = rng.random(len(rows)) < share
    full = CPT(variable, parents, np.where(seen[:, None], rows, default))
    where = rng.permutation(np.flatnonzero(seen))
    cpt = SparseCPT.from_codes(variable, parents, all_codes(full)[where], rows[where], default=default)
    check_laws(cpt)
    assert np.array_equal(cpt.table(), full.table())
    assert cpt.n_rows == seen.sum()


@settings(deadline=None)
@given(shapes)
def test_noisy_tables_are_the_highest_effect_and_their_factors_multiply_to_them(case):
    n_states, r, seed = case
    rng = np.random.default_rng(seed)
    variable, parents = family(n_states, r)
    order = rng.permutation(r).tolist()
    cpt = NoisyMaxCPT(
        variable, parents, [random_rows(rng, n, r) for n in n_states], random_rows(rng, 1, r)[0], order=order
    )
    check_laws(cpt)
    for codes in all_codes(cpt).tolist():
        rows = [cpt.leak, *(effect[code] for effect, code in zip(cpt.effects, codes, strict=True))]
        np.testing.assert_allclose(cpt.table()[tuple(codes)], noisy_max_row(rows, order), rtol=1e-12, atol=0)
    axis = {name: i for i, name in enumerate([*(p.name for p in parents), "x"])}
    operands = [
        part
        for axes, array in cpt.factors()
        for part in (array, [axis[a] if isinstance(a, str) else len(axis) + a for a in axes])
    ]
    np.testing.assert_allclose(np.einsum(*operands, list(range(len(axis)))), cpt.table(), rtol=1e-12, atol=0)
