from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

from networks import random_network
from oracles.enumeration import joint_table
from tunbridge.inference.engine import Engine
from tunbridge.inference.tree import Shelf, compile_tree, triangulate
from tunbridge.kernels.inference.propagation import HOME, N_RESIDUAL, PARENT, SCOPE, TABLE


def tree_of(seed, together=()):
    engine = Engine(random_network(np.random.default_rng(seed), most_cells=500))
    wanted = np.array([v for v in together if v < engine.n_variables], np.int64)
    found = triangulate(engine.potentials, together=wanted)
    return engine, found, compile_tree(engine.potentials, found, wanted, Shelf(2**20))


@pytest.mark.parametrize("seed", range(20))
def test_the_cost_is_the_number_of_entries(seed):
    engine, found, _ = tree_of(seed)
    sizes = found.sizes(engine.n_states)
    assert found.n_entries == pytest.approx(sizes.sum())
    members, largest = found.largest_clique(engine.n_states)
    assert largest == pytest.approx(sizes.max())
    assert largest == pytest.approx(engine.n_states[members].prod())


@pytest.mark.parametrize("seed", range(20))
def test_every_variable_is_eliminated_once_in_its_home(seed):
    engine, _, tree = tree_of(seed)
    variables, cliques = tree.program.variables, tree.program.cliques
    eliminated = []
    for c, n in enumerate(cliques[:-1, N_RESIDUAL]):
        clique = tree.clique(c)
        eliminated += clique[:n]
        for v in clique[:n]:
            assert variables[v, HOME] == c
        parent = cliques[c, PARENT]
        assert parent > c or (parent == -1 and len(clique) == n)
        if parent >= 0:  # the running intersection property
            assert set(clique[n:]) <= set(tree.clique(parent))
    assert sorted(eliminated) == list(range(engine.n_variables))


@pytest.mark.parametrize("seed", range(20))
def test_variables_asked_for_together_stand_in_one_clique(seed):
    engine, _, tree = tree_of(seed, together=[0, 1, 2])
    wanted = [v for v in (0, 1, 2) if v < engine.n_variables]
    assert set(wanted) <= set(tree.clique_of(wanted))


def test_those_that_go_last_do():
    for seed in range(20):
        engine, *_ = tree_of(seed)
        last = np.arange(engine.n_variables) % 2
        found = triangulate(engine.potentials, last=last)
        groups = last[found.order]
        assert (np.diff(groups) >= 0).all()


def test_nothing_to_eliminate():
    engine = Engine([])
    found = triangulate(engine.potentials)
    assert found.largest_clique(engine.n_states) == ([], 1.0)
    assert found.n_entries == 0.0


class TestBuffers:
    def test_one_that_was_given_back_is_lent_again(self):
        engine, _, tree = tree_of(1)
        with tree.borrow(engine.potentials) as first:
            pass
        with tree.borrow(engine.potentials) as second:
            assert second.x is first.x
            with tree.borrow(engine.potentials) as third:
                assert third.x is not first.x

    def test_other_numbers_are_loaded(self):
        engine, _, tree = tree_of(1)
        doubled = engine.potentials.__class__(
            engine.potentials.n_states, engine.potentials.scope_start, engine.potentials.scope_vars,
            engine.potentials.tables * 2, engine.potentials.owner,
        )  # fmt: skip
        with tree.borrow(engine.potentials) as run:
            before = run.x[run.at.potentials : run.at.log_evidence].copy()
        with tree.borrow(doubled) as run:
            np.testing.assert_array_equal(run.x[run.at.potentials : run.at.log_evidence], 2 * before)

    def test_room_behind_the_end_is_made(self):
        engine, _, tree = tree_of(1)
        with tree.borrow(engine.potentials) as run:
            n = len(run.x)
        with tree.borrow(engine.potentials, extra=100) as run:
            assert len(run.x) >= n + 100

    def test_a_run_that_fails_does_not_spoil_the_next(self):
        engine, _, tree = tree_of(1)
        with contextlib.suppress(RuntimeError), tree.borrow(engine.potentials) as run:
            run.x[:] = np.nan
            raise RuntimeError
        with tree.borrow(engine.potentials) as run:
            assert np.isfinite(run.x[run.at.potentials : run.at.log_evidence]).all()

    def test_threads_get_buffers_of_their_own(self):
        engine, _, tree = tree_of(2)
        seen, barrier = [], threading.Barrier(4)

        def work():
            with tree.borrow(engine.potentials) as run:
                seen.append(id(run.x))
                barrier.wait(10)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(seen)) == 4


def test_potentials_lie_in_the_order_of_elimination():
    engine, found, tree = tree_of(3)
    position = np.argsort(found.order)
    starts, scopes = tree.program.potentials[:, SCOPE], tree.program.members
    tables = tree.program.potentials[:, TABLE]
    with tree.borrow(engine.potentials) as run:
        product = np.ones(engine.n_states)
        for f in range(engine.potentials.n_potentials):
            scope = scopes[starts[f] : starts[f + 1]]
            assert (np.diff(position[scope]) > 0).all()
            shape = engine.n_states[scope]
            own = run.x[run.at.potentials :][tables[f] : tables[f + 1]]
            table = own.reshape(shape).transpose(np.argsort(scope))
            product = product * table.reshape([n if v in scope else 1 for v, n in enumerate(product.shape)])
    np.testing.assert_allclose(product, joint_table(engine.cpts), rtol=1e-13, atol=0)
