"""Gibbs sampling finds the exact posteriors within its errors, and says when its chains disagree."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.sampling import joint, posterior, random_network
from tunbridge.data import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling import gibbs
from tunbridge.inference.sampling.gibbs import sample_gibbs
from tunbridge.probability import CPT, deterministic

YES_NO = ["no", "yes"]
RAIN, WET = Variable("Rain", YES_NO), Variable("Wet", YES_NO)
GARDEN = [CPT(RAIN, table=[0.8, 0.2]), CPT(WET, [RAIN], [[0.9, 0.1], [0.2, 0.8]])]
YES = np.array([0.0, 1.0])
HARD, SEVERAL, SOFT = [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.2, 3.0, 0.7]


def evidence_on(flat, *nodes, likelihood):
    return {v: np.resize(likelihood, flat.n_states[v]) + (flat.n_states[v] == 1) for v in nodes}


def all_true(n):
    """Return n fair coins and, after each, whether it and all before showed «yes»."""
    cpts, before = [], None
    for i in range(n):
        coin, both = Variable(f"coin {i}", YES_NO), Variable(f"all {i}", YES_NO)
        parents = [coin] if before is None else [before, coin]
        cpts.append(CPT(coin, table=[0.5, 0.5]))
        cpts.append(deterministic(both, parents, lambda *given: YES_NO[all(state == "yes" for state in given)]))
        before = both
    return cpts


@pytest.mark.parametrize("likelihood", [HARD, SEVERAL, SOFT])
@pytest.mark.parametrize("seed", range(4))
def test_posteriors_are_those_of_enumeration(likelihood, seed):
    cpts = random_network(seed, 6)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = evidence_on(flat, 1, 4, likelihood=likelihood)
    answer = sample_gibbs(flat, range(6), likelihoods, precision=0.002, random_state=seed)
    assert answer.reached
    assert answer.r_hat < 1.1
    assert answer.log_evidence is None
    for target in range(6):
        off = np.abs(answer.probabilities[target] - posterior(exact, likelihoods, target)[0])
        assert (off <= 5 * answer.standard_errors[target] + 1e-12).all()


def test_a_wrong_answer_would_be_found():
    right = random_network(0, 6)
    wrong = flatten([CPT(c.variable, c.parents, 0.9 * c.table() + 0.1 / c.variable.n_states) for c in right])
    likelihoods = evidence_on(wrong, 1, 4, likelihood=SOFT)
    answer = sample_gibbs(wrong, range(6), likelihoods, precision=0.002, random_state=0)
    exact = joint(right)
    off = [np.abs(p - posterior(exact, likelihoods, t)[0]).max() for t, p in answer.probabilities.items()]
    assert max(off) > 0.01


def test_errors_are_as_large_as_stated():
    cpts = random_network(2, 6)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = evidence_on(flat, 0, 3, likelihood=SOFT)
    targets, off = [v for v in range(6) if flat.n_states[v] > 1], []
    for seed in range(60):
        answer = sample_gibbs(flat, targets, likelihoods, precision=1e-9, max_samples=1, random_state=seed)
        for target in targets:
            error = answer.standard_errors[target]
            off.append(
                ((answer.probabilities[target] - posterior(exact, likelihoods, target)[0]) / error)[error > 1e-9]
            )
    assert 0.8 < np.sqrt((np.concatenate(off) ** 2).mean()) < 1.25  # batches of 16 sweeps are not quite independent


def test_a_target_with_evidence_of_its_own():
    answer = sample_gibbs(flatten(GARDEN), [0, 1], {1: YES}, precision=0.01, random_state=0)
    assert answer.probabilities[1].tolist() == [0.0, 1.0]
    assert answer.probabilities[0][1] == pytest.approx(2 / 3, abs=1e-12)  # given the only other variable: no error


def test_the_answer_does_not_depend_on_threads():
    flat = flatten(random_network(5, 6))
    likelihoods = evidence_on(flat, 2, likelihood=SOFT)
    one, *others = (
        sample_gibbs(flat, [0, 1], likelihoods, precision=1e-9, max_samples=20_000, random_state=3, n_jobs=n)
        for n in (1, 2, 4)
    )
    for other in others:
        assert other.r_hat == one.r_hat
        assert all((other.probabilities[t] == one.probabilities[t]).all() for t in (0, 1))


def test_seeds_and_settings_change_the_answer():
    flat = flatten(random_network(5, 6))

    def answer(**settings):
        settings = {"random_state": 1, "max_samples": 1, "precision": 1e-9} | settings
        return np.concatenate(list(sample_gibbs(flat, range(6), {}, **settings).probabilities.values())).tolist()

    base = answer()
    assert answer() == base
    assert base not in [answer(random_state=2), answer(n_chains=3), answer(burn_in=10), answer(max_samples=50_000)]


def test_chains_that_cannot_meet_disagree():
    copied = deterministic(WET, [RAIN], lambda rain: rain)
    answer = sample_gibbs(flatten([CPT(RAIN, table=[0.5, 0.5]), copied]), [0, 1], {}, random_state=0)
    assert answer.r_hat == np.inf
    assert not answer.reached
    assert answer.standard_errors[0].min() > 0.1


def test_a_rare_start_is_found_by_looking_ahead():
    cpts = all_true(24)  # no weighted sample has all 24 coins right
    likelihoods = {47: YES}
    answer = sample_gibbs(flatten(cpts), [0, 10, 46], likelihoods, precision=0.01, random_state=0)
    for target in (0, 10, 46):
        assert answer.probabilities[target].tolist() == [0.0, 1.0]


def test_no_start_is_found(monkeypatch):
    monkeypatch.setattr(gibbs, "possible_state", lambda *given: None)
    with pytest.raises(
        ImpossibleEvidenceError, match="must start from a state of positive probability; none was found"
    ):
        sample_gibbs(flatten(all_true(24)), [0], {47: YES}, random_state=0)


def test_many_children_do_not_underflow():
    words = [CPT(Variable(f"word {i}", YES_NO), [RAIN], [[0.999, 0.001], [0.9989, 0.0011]]) for i in range(300)]
    flat = flatten([CPT(RAIN, table=[0.8, 0.2]), *words])
    answer = sample_gibbs(flat, [0], dict.fromkeys(range(1, 301), YES), precision=0.01, random_state=0)
    odds = 0.25 * 1.1**300
    assert answer.probabilities[0][1] == pytest.approx(odds / (1 + odds), rel=1e-9)


def test_impossible_evidence():
    sure = [CPT(RAIN, table=[1.0, 0.0]), CPT(WET, [RAIN], [[1.0, 0.0], [0.2, 0.8]])]
    with pytest.raises(ImpossibleEvidenceError, match="must be possible; no state of the network agrees"):
        sample_gibbs(flatten(sure), [0], {1: YES}, random_state=0)


@pytest.mark.parametrize("settings", [{"precision": 0}, {"max_samples": 0}, {"n_chains": 1}, {"burn_in": -1}])
def test_bad_settings(settings):
    with pytest.raises(DataError, match=next(iter(settings))):
        sample_gibbs(flatten(GARDEN), [0], {}, **settings)


def test_bad_likelihoods():
    with pytest.raises(DataError, match="the likelihoods of 'Wet' must be 2 finite numbers"):
        sample_gibbs(flatten(GARDEN), [0], {1: np.ones(3)})
