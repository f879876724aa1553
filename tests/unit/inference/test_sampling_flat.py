"""Tables become flat arrays: the right places, the right order, and errors that name what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from tunbridge.data import Variable
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.inference.flat import flatten
from tunbridge.probability import CPT, SparseCPT

A, B, C = Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]), Variable("C", ["c0", "c1"])
RNG = np.random.default_rng(0)


def random_cpt(variable, *parents):
    table = RNG.random((*(p.n_states for p in parents), variable.n_states))
    return CPT(variable, parents, table / table.sum(axis=-1, keepdims=True))


def test_arrays_of_a_network():
    cpts = [random_cpt(C, A, B), random_cpt(B, A), random_cpt(A)]
    flat = flatten(cpts)
    assert flat.variables == (C, B, A)
    assert flat.n_states.tolist() == [2, 3, 2]
    assert flat.order.tolist() == [2, 1, 0]
    assert flat.parent_start.tolist() == [0, 2, 3, 3]
    assert flat.parents.tolist() == [2, 1, 2]
    assert flat.table_start.tolist() == [0, 12, 18, 20]
    np.testing.assert_array_equal(flat.tables, np.concatenate([cpt.table().ravel() for cpt in cpts]))
    assert flat.tables[flat.table_start[0] + (1 * 3 + 2) * 2 + 1] == cpts[0].table()[1, 2, 1]


def test_views_of_one_variable():
    cpts = [random_cpt(C, A, B), random_cpt(B, A), random_cpt(A)]
    flat = flatten(cpts)
    assert flat.n_variables == 3
    assert flat.parents_of(0).tolist() == [2, 1]
    np.testing.assert_array_equal(flat.table_of(1), cpts[1].table())


def test_arrays_are_what_kernels_take():
    flat = flatten([random_cpt(A)])
    for array in (flat.n_states, flat.order, flat.parent_start, flat.parents, flat.table_start):
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
    assert flat.tables.dtype == np.float64
    assert flat.tables.flags.writeable  # a locked array is another type to a kernel


def test_a_network_without_variables():
    flat = flatten([])
    assert flat.tables.size == flat.order.size == 0
    assert flat.table_start.tolist() == [0]


def test_a_sparse_table_is_written_out():
    flat = flatten([random_cpt(A), SparseCPT(C, [A], {("a1",): [0.2, 0.8]}, default=[0.5, 0.5])])
    assert flat.table_of(1).tolist() == [[0.5, 0.5], [0.2, 0.8]]


def test_a_parent_without_a_table():
    with pytest.raises(DataError, match="every parent must have a table of its own; got 'B', which has none"):
        flatten([random_cpt(A), random_cpt(C, B)])


def test_two_tables_of_one_variable():
    with pytest.raises(DataError, match="every variable must have one table; got 'A' more than once"):
        flatten([random_cpt(A), random_cpt(A)])


def test_a_cycle():
    with pytest.raises(DataError, match=r"must not form a cycle; got [AB] → [AB] → [AB]"):
        flatten([random_cpt(A, B), random_cpt(B, A), random_cpt(C)])


def test_too_large_to_write_out():
    many = [Variable(f"p{i}", range(20)) for i in range(12)]
    cpts = [random_cpt(v) for v in many] + [SparseCPT(A, many, {}, default=[0.5, 0.5])]
    with pytest.raises(MemoryForecastError, match=r"the largest, of 'A', with 10\^16 entries"):
        flatten(cpts)
