from __future__ import annotations

import numpy as np
import pytest

from oracles.enumeration import joint_table
from tunbridge.data import Variable
from tunbridge.inference.flat import gather_potentials, is_chained, is_large_sparse
from tunbridge.probability import CPT, SparseCPT, noisy_max, noisy_or

NO_YES = ["no", "yes"]
A, B, X = Variable("A", NO_YES), Variable("B", ["b0", "b1", "b2"]), Variable("X", NO_YES)
TABLES = (CPT(A, [], [0.3, 0.7]), CPT(B, [A], [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))


def causes(n):
    return [Variable(f"c{i}", NO_YES) for i in range(n)]


def gather(cpts, **options):
    names = [cpt.variable.name for cpt in cpts]
    parents = [[names.index(p.name) for p in cpt.parents] for cpt in cpts]
    return gather_potentials(cpts, parents, np.array([cpt.variable.n_states for cpt in cpts]), **options)


def product(potentials):
    """Return the product of all potentials, with one axis for each of their variables."""
    table, read = np.ones(potentials.n_states), 0
    for f in range(potentials.n_potentials):
        scope = potentials.scope_vars[potentials.scope_start[f] : potentials.scope_start[f + 1]]
        shape = potentials.n_states[scope]
        part = potentials.tables[read : read + shape.prod()].reshape(shape).transpose(np.argsort(scope))
        read += shape.prod()
        table = table * part.reshape([n if v in scope else 1 for v, n in enumerate(table.shape)])
    assert read == len(potentials.tables)
    return table


def test_tables_stand_end_to_end():
    potentials = gather(TABLES)
    assert potentials.n_potentials == 2
    assert potentials.scope_start.tolist() == [0, 1, 3]
    assert potentials.scope_vars.tolist() == [0, 0, 1]
    assert potentials.owner.tolist() == [0, 1]
    np.testing.assert_array_equal(potentials.tables, [0.3, 0.7, 0.2, 0.3, 0.5, 0.1, 0.1, 0.8])


def test_no_tables():
    potentials = gather([])
    assert potentials.n_potentials == 0
    assert len(potentials.tables) == 0


def test_observed_variables_leave():
    variables, left, log_factor = gather(TABLES).observed(np.array([1, -1]), np.array([1, 1]))
    assert variables.tolist() == [1]
    assert left.scope_vars.tolist() == [0]
    np.testing.assert_array_equal(left.tables, [0.1, 0.1, 0.8])
    assert log_factor == pytest.approx(np.log(0.7))


def test_what_is_not_kept_goes_without_a_trace():
    variables, left, log_factor = gather(TABLES).observed(np.array([1, -1]), np.array([0, 1]))
    assert variables.tolist() == [1]
    assert left.owner.tolist() == [1]
    assert log_factor == 0.0


def test_everything_observed_leaves_a_number():
    variables, left, log_factor = gather(TABLES).observed(np.array([1, 2]), np.array([1, 1]))
    assert len(variables) == left.n_potentials == 0
    assert log_factor == pytest.approx(np.log(0.7 * 0.8))


class TestNoisyNodes:
    def test_many_parents_become_a_chain_that_sums_to_the_table(self):
        parents = causes(9)
        effect = noisy_max(X, {p: [[1, 0], [0.4 + i / 20, 0.6 - i / 20]] for i, p in enumerate(parents)}, [0.9, 0.1])
        assert is_chained(effect)
        cpts = [*(CPT(p, [], [0.8, 0.2]) for p in parents), effect]
        potentials = gather(cpts)
        assert np.diff(potentials.scope_start).max() <= 3
        auxiliary = tuple(range(len(cpts), len(potentials.n_states)))
        assert len(auxiliary) == 8
        np.testing.assert_allclose(product(potentials).sum(axis=auxiliary), joint_table(cpts), rtol=1e-12, atol=0)

    def test_several_chains_have_variables_of_their_own(self):
        parents, y = causes(9), Variable("Y", ["0", "1", "2"])
        rows = {p: [[1, 0, 0], [0.5, 0.3, 0.2]] for p in parents}
        cpts = [
            *(CPT(p, [], [0.8, 0.2]) for p in parents),
            noisy_or(X, dict.fromkeys(parents, 0.3)),
            noisy_max(y, rows, [0.5, 0.5, 0]),
        ]
        potentials = gather(cpts)
        assert potentials.n_states[len(cpts) :].tolist() == [2] * 8 + [3] * 8
        assert potentials.owner.tolist() == [*range(9), *[9] * 9, *[10] * 9]

    def test_few_parents_stay_one_table(self):
        effect = noisy_or(X, dict.fromkeys(causes(3), 0.3))
        assert not is_chained(effect)
        potentials = gather([*(CPT(p, [], [0.8, 0.2]) for p in causes(3)), effect])
        assert len(potentials.n_states) == 4

    def test_without_chains_known_parents_keep_the_table_small(self):
        parents = causes(40)
        cpts = [*(CPT(p, [], [0.8, 0.2]) for p in parents), noisy_or(X, dict.fromkeys(parents, 0.3))]
        potentials = gather(cpts, fixed=dict.fromkeys(range(38), 1), chains=False)
        assert potentials.scope_vars[-3:].tolist() == [38, 39, 40]
        np.testing.assert_allclose(potentials.tables[-8:-6], [0.7**38, 1 - 0.7**38], rtol=1e-12, atol=0)


class TestSparseTables:
    PARENTS = tuple(Variable(f"p{i}", [str(k) for k in range(20)]) for i in range(8))
    HUGE = SparseCPT(X, PARENTS, {("3",) * 8: [0.1, 0.9]}, [0.5, 0.5])
    CPTS = (*(CPT(p, [], np.full(20, 0.05)) for p in PARENTS), HUGE)

    def test_are_cut_down_by_what_is_known(self):
        assert is_large_sparse(self.HUGE)
        potentials = gather(self.CPTS, fixed=dict.fromkeys(range(7), 3))
        assert potentials.scope_vars[-2:].tolist() == [7, 8]
        table = potentials.tables[-40:].reshape(20, 2)
        np.testing.assert_array_equal(table[3], [0.1, 0.9])
        np.testing.assert_array_equal(np.delete(table, 3, axis=0), np.full((19, 2), 0.5))

    def test_are_left_out_where_they_do_not_matter(self):
        needed = np.ones(9)
        needed[8] = 0
        assert gather(self.CPTS, needed=needed).owner.tolist() == list(range(8))

    def test_small_ones_are_written_out(self):
        small = SparseCPT(X, self.PARENTS[:2], {("3", "3"): [0.1, 0.9]}, [0.5, 0.5])
        assert not is_large_sparse(small)
