"""Likelihood weighting finds the exact posteriors within the errors that it states."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.sampling import joint, posterior, random_network
from tunbridge.data import Variable
from tunbridge.errors import DataError, ImpossibleEvidenceError
from tunbridge.inference.flat import flatten
from tunbridge.inference.sampling.weighting import relevant, weigh_likelihoods
from tunbridge.probability import CPT

YES_NO = ["no", "yes"]
RAIN, WET = Variable("Rain", YES_NO), Variable("Wet", YES_NO)
GARDEN = [CPT(RAIN, table=[0.8, 0.2]), CPT(WET, [RAIN], [[0.9, 0.1], [0.2, 0.8]])]
HARD, SEVERAL, SOFT = [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.2, 3.0, 0.7]


def evidence_on(flat, *nodes, likelihood):
    return {v: np.resize(likelihood, flat.n_states[v]) + (flat.n_states[v] == 1) for v in nodes}


def deviations(answer, exact, likelihoods):
    """Return how many standard errors each estimate is off."""
    parts = [
        (p - posterior(exact, likelihoods, t)[0]) / answer.standard_errors[t] for t, p in answer.probabilities.items()
    ]
    return np.concatenate(parts)


def test_the_garden():
    answer = weigh_likelihoods(flatten(GARDEN), [0], {1: np.array([0.0, 1.0])}, precision=0.002, random_state=0)
    assert answer.reached
    assert answer.standard_errors[0].max() <= 0.002
    np.testing.assert_allclose(answer.probabilities[0], [1 / 3, 2 / 3], rtol=0, atol=0.01)  # five standard errors
    assert answer.log_evidence == pytest.approx(np.log(0.24), abs=5 * answer.log_evidence_error)
    assert 0 < answer.log_evidence_error < 0.01
    assert 100 < answer.effective_size < answer.n_samples


@pytest.mark.parametrize("likelihood", [HARD, SEVERAL, SOFT])
@pytest.mark.parametrize("seed", range(4))
def test_posteriors_are_those_of_enumeration(likelihood, seed):
    cpts = random_network(seed, 6, zeros=0.1)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = evidence_on(flat, 1, 4, likelihood=likelihood)
    answer = weigh_likelihoods(flat, range(6), likelihoods, precision=0.002, random_state=seed)
    assert answer.reached
    assert np.abs(deviations(answer, exact, likelihoods)).max() < 5
    p_evidence = posterior(exact, likelihoods, 0)[1]
    assert answer.log_evidence == pytest.approx(np.log(p_evidence), abs=5 * answer.log_evidence_error + 1e-9)


def test_a_wrong_answer_would_be_found():
    cpts = random_network(0, 6)
    wrong = [CPT(c.variable, c.parents, 0.95 * c.table() + 0.05 / c.variable.n_states) for c in cpts]
    flat = flatten(wrong)
    likelihoods = evidence_on(flat, 1, 4, likelihood=SOFT)
    answer = weigh_likelihoods(flat, range(6), likelihoods, precision=0.001, random_state=0)
    assert np.abs(deviations(answer, joint(cpts), likelihoods)).max() > 5


def test_errors_are_as_large_as_stated():
    cpts = random_network(2, 6)
    flat, exact = flatten(cpts), joint(cpts)
    likelihoods = evidence_on(flat, *flat.order[-2:].tolist(), likelihood=SOFT)
    targets = [v for v in range(6) if flat.n_states[v] > 1]
    runs = [
        weigh_likelihoods(flat, targets, likelihoods, precision=1e-9, max_samples=1, random_state=s)
        for s in range(200)
    ]  # fmt: skip
    off = np.array([deviations(answer, exact, likelihoods) for answer in runs])
    assert 0.9 < np.sqrt((off**2).mean()) < 1.1
    true = np.log(posterior(exact, likelihoods, 0)[1])
    off = np.array([(answer.log_evidence - true) / answer.log_evidence_error for answer in runs])
    assert 0.85 < np.sqrt((off**2).mean()) < 1.15  # 200 values: three standard errors


def test_no_evidence():
    answer = weigh_likelihoods(flatten(GARDEN), [1], {}, precision=0.01, random_state=0)
    assert answer.log_evidence == 0.0
    assert answer.log_evidence_error == 0.0
    assert answer.effective_size == answer.n_samples
    np.testing.assert_allclose(answer.probabilities[1], [0.76, 0.24], rtol=0, atol=0.02)  # five standard errors


def test_a_target_with_evidence_of_its_own():
    answer = weigh_likelihoods(flatten(GARDEN), [1], {1: np.array([0.0, 1.0])}, random_state=0)
    assert answer.probabilities[1].tolist() == [0.0, 1.0]


def test_a_state_never_drawn_has_an_error():
    rare = [CPT(RAIN, table=[1 - 1e-7, 1e-7])]
    answer = weigh_likelihoods(flatten(rare), [0], {}, max_samples=1, random_state=0)
    assert answer.probabilities[0].tolist() == [1.0, 0.0]
    assert answer.standard_errors[0].tolist() == [1 / answer.n_samples] * 2


def test_thousands_of_findings_do_not_underflow():
    words = [CPT(Variable(f"word {i}", YES_NO), [RAIN], [[0.99, 0.01], [0.989, 0.011]]) for i in range(2000)]
    likelihoods = {v: np.array([0.0, 1.0]) for v in range(1, 101)} | {v: np.array([1.0, 0.0]) for v in range(101, 2001)}
    logs = [np.log(0.8) + 100 * np.log(0.01) + 1900 * np.log(0.99)]
    logs.append(np.log(0.2) + 100 * np.log(0.011) + 1900 * np.log(0.989))
    flat = flatten([CPT(RAIN, table=[0.8, 0.2]), *words])
    answer = weigh_likelihoods(flat, [0], likelihoods, precision=0.01, max_samples=20_000, random_state=0)
    assert answer.log_evidence == pytest.approx(np.logaddexp(*logs), abs=5 * answer.log_evidence_error)
    exact = np.exp(logs[1] - np.logaddexp(*logs))
    assert answer.probabilities[0][1] == pytest.approx(exact, abs=5 * answer.standard_errors[0][1])


def test_likelihoods_may_have_any_scale():
    flat = flatten(GARDEN)
    small, large = (
        weigh_likelihoods(flat, [0], {1: np.array([1.0, 3.0]) * scale}, random_state=0) for scale in (1e-300, 1e300)
    )
    np.testing.assert_allclose(small.probabilities[0], large.probabilities[0], rtol=1e-12, atol=0)
    assert large.log_evidence - small.log_evidence == pytest.approx(600 * np.log(10), rel=1e-12)


def test_the_answer_does_not_depend_on_threads():
    cpts = random_network(5, 6)
    flat = flatten(cpts)
    likelihoods = evidence_on(flat, 2, likelihood=SOFT)
    one, *others = (
        weigh_likelihoods(flat, [0, 1], likelihoods, precision=1e-9, max_samples=200_000, random_state=3, n_jobs=n)
        for n in (1, 2, 4)
    )
    for other in others:
        assert other.log_evidence == one.log_evidence
        assert all((other.probabilities[t] == one.probabilities[t]).all() for t in (0, 1))
        assert all((other.standard_errors[t] == one.standard_errors[t]).all() for t in (0, 1))


def test_it_stops_at_the_most_samples():
    answer = weigh_likelihoods(flatten(GARDEN), [0], {}, precision=1e-6, max_samples=50_000, random_state=0)
    assert not answer.reached
    assert answer.n_samples == 65_536  # four blocks


def test_only_what_matters_is_drawn():
    flat = flatten(GARDEN)
    assert relevant(flat, [0]).tolist() == [0]
    assert relevant(flat, [1]).tolist() == [0, 1]


def test_impossible_evidence():
    sure = [CPT(RAIN, table=[1.0, 0.0]), CPT(WET, [RAIN], [[1.0, 0.0], [0.2, 0.8]])]
    with pytest.raises(ImpossibleEvidenceError, match="on 'Wet' must be possible; none of 32768 samples agreed"):
        weigh_likelihoods(flatten(sure), [0], {1: np.array([0.0, 1.0])}, max_samples=20_000)


def test_evidence_against_every_state():
    with pytest.raises(ImpossibleEvidenceError, match="must leave 'Wet' a possible state"):
        weigh_likelihoods(flatten(GARDEN), [0], {1: np.zeros(2)})


@pytest.mark.parametrize("given", [[1.0], [1.0, -1.0], [1.0, np.nan], [np.inf, 1.0], [[1.0, 0.0]]])
def test_bad_likelihoods(given):
    with pytest.raises(DataError, match="the likelihoods of 'Wet' must be 2 finite numbers that are not negative; got"):
        weigh_likelihoods(flatten(GARDEN), [0], {1: np.array(given)})


def test_bad_indices():
    with pytest.raises(DataError, match="targets must be indices below 2; got 2"):
        weigh_likelihoods(flatten(GARDEN), [0, 2], {})
    with pytest.raises(DataError, match="evidence must be about indices below 2; got 5"):
        weigh_likelihoods(flatten(GARDEN), [0], {5: np.ones(2)})


@pytest.mark.parametrize("settings", [{"precision": 0}, {"max_samples": 0}])
def test_bad_settings(settings):
    with pytest.raises(DataError, match=next(iter(settings))):
        weigh_likelihoods(flatten(GARDEN), [0], {}, **settings)
