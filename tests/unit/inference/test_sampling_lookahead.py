"""Looking ahead finds possible states that no forward sample would, and proves that there are none."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.sampling import joint, random_network
from tunbridge.data import Variable
from tunbridge.errors import ImpossibleEvidenceError
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling.gibbs import possible_state
from tunbridge.probability import CPT, deterministic

YES_NO = ["no", "yes"]
COINS = [CPT(Variable(f"coin {i}", YES_NO), table=[0.5, 0.5]) for i in range(40)]


def chained(function):
    """Return the coins, and after them the function of each and what came out of those before."""
    cpts, last = list(COINS), COINS[0].variable
    for coin in COINS[1:]:
        result = Variable(f"up to {coin.variable.name}", YES_NO)
        cpts.append(deterministic(result, [last, coin.variable], lambda a, b: YES_NO[function(a == "yes", b == "yes")]))
        last = result
    return flatten(cpts)


def test_all_coins_must_show_yes():
    flat = chained(lambda a, b: a and b)
    codes = possible_state(flat, flat.order, {flat.n_variables - 1: np.array([0.0, 1.0])}, np.random.default_rng(0))
    assert codes.tolist() == [1] * flat.n_variables


def test_an_odd_number_of_coins_must_show_yes():
    flat = chained(lambda a, b: a != b)
    rng = np.random.default_rng(0)
    found = [possible_state(flat, flat.order, {flat.n_variables - 1: np.array([0.0, 1.0])}, rng) for _ in range(5)]
    assert all(codes[:40].sum() % 2 == 1 for codes in found)
    assert len({tuple(codes) for codes in found}) == 5


@pytest.mark.parametrize("seed", range(30))
def test_states_are_possible(seed):
    cpts = random_network(seed, 6, zeros=0.6)
    flat, exact = flatten(cpts), joint(cpts)
    rng = np.random.default_rng(seed)
    for row in np.argwhere(exact > 0)[:10]:
        likelihoods = {v: np.eye(flat.n_states[v])[row[v]] for v in rng.permutation(6)[:3].tolist()}
        codes = possible_state(flat, flat.order, likelihoods, rng)
        assert exact[tuple(codes)] > 0
        assert all(codes[v] == row[v] for v in likelihoods)


def test_impossible_evidence_is_proved():
    flat = chained(lambda a, b: a and b)
    likelihoods = {3: np.array([1.0, 0.0]), flat.n_variables - 1: np.array([0.0, 1.0])}
    with pytest.raises(ImpossibleEvidenceError, match="no state of the network agrees with it"):
        possible_state(flat, flat.order, likelihoods, np.random.default_rng(0))


def test_variables_that_do_not_matter_are_left_out():
    flat = chained(lambda a, b: a and b)
    codes = possible_state(flat, np.array([2]), {2: np.array([0.0, 1.0])}, np.random.default_rng(0))
    assert np.flatnonzero(codes).tolist() == [2]
