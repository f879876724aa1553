from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from tunbridge.evaluation import scores as ranking_module
from tunbridge.evaluation.scores import METRICS, Ranking, Scores, log_odds, merged

EXACT = {"rtol": 1e-12, "atol": 0}


def random_rows(n_classes, n_rows=300, seed=0, *, coarse=False):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n_rows)
    if coarse:  # many ties
        proba = rng.multinomial(10, proba) / 10
    return proba, rng.integers(0, n_classes, n_rows), rng.random(n_rows)


def logs(proba):
    with np.errstate(divide="ignore"):
        return np.log(proba)


def scores_of(proba, true, weights):
    return Scores.of(tuple(map(str, range(proba.shape[1]))), true, logs(proba), weights)


def pairwise_auc(score, positive, weights):
    """Return the AUC by looking at every pair."""
    right = total = 0.0
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive):
            pair = weights[i] * weights[j]
            total += pair
            right += pair * (float(score[i] > score[j]) + 0.5 * float(score[i] == score[j]))
    return right / total


@pytest.mark.parametrize("coarse", [False, True])
def test_auc_of_two_classes_against_scikit_learn_and_every_pair(coarse):
    proba, true, weights = random_rows(2, 120, coarse=coarse)
    found = scores_of(proba, true, weights)
    assert found.auc == pytest.approx(roc_auc_score(true, proba[:, 1], sample_weight=weights), rel=1e-12)
    assert found.auc == pytest.approx(pairwise_auc(proba[:, 1], true == 1, weights), rel=1e-12)
    np.testing.assert_allclose(found.aucs[0], found.aucs[1], **EXACT)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_auc_of_several_classes_is_the_mean_of_each_against_the_rest(n_classes, coarse):
    proba, true, weights = random_rows(n_classes, seed=n_classes, coarse=coarse)
    expected = roc_auc_score(true, proba, multi_class="ovr", average="macro", sample_weight=weights)
    found = scores_of(proba, true, weights)
    assert found.auc == pytest.approx(expected, rel=1e-12)
    single = [roc_auc_score(true == c, proba[:, c], sample_weight=weights) for c in range(n_classes)]
    np.testing.assert_allclose(found.aucs, single, **EXACT)


def test_a_class_without_rows_is_left_out_of_the_mean():
    proba, true, weights = random_rows(3)
    true[true == 2] = 0
    found = scores_of(proba, true, weights)
    assert np.isnan(found.aucs[2])
    assert found.auc == pytest.approx(found.aucs[:2].mean(), rel=1e-12)


def test_probabilities_that_round_to_one_are_still_told_apart():
    log_proba = np.array([[-1e-30, -69.0], [-1e-40, -92.0], [-1e-35, -80.0], [0.0, -np.inf]])
    np.testing.assert_array_equal(np.exp(log_proba[:, 0]), 1.0)
    odds = log_odds(log_proba)
    np.testing.assert_allclose(odds[:3, 0], [69.0, 92.0, 80.0], rtol=1e-9)
    np.testing.assert_allclose(odds[:3, 1], [-69.0, -92.0, -80.0], rtol=1e-9)
    assert odds[3].tolist() == [np.inf, -np.inf]
    found = Ranking.of(np.array([0, 0, 1, 0]), log_proba, np.ones(4)).concordance()
    assert (found[0] / found[1]).tolist() == pytest.approx([2 / 3, 2 / 3], rel=1e-12)


def test_equal_probabilities_are_ties_whatever_the_others_have():
    proba = np.array([[0.7, 0.1, 0.2], [0.7, 0.15, 0.15], [0.7, 0.3, 0.0]])
    assert len(set(log_odds(logs(proba))[:, 0].tolist())) == 1


def test_log_probability_a_little_above_zero_is_one():
    assert log_odds(np.array([[2e-16, -40.0]]))[0, 0] == pytest.approx(40.0, rel=1e-9)


def test_merging_rankings_is_ranking_all_rows():
    proba, true, weights = random_rows(4, coarse=True)
    parts = [Ranking.of(true[s], logs(proba[s]), weights[s]) for s in (slice(0, 100), slice(100, 300))]
    merged_right, merged_pairs = parts[0].merge(parts[1]).concordance()
    right, pairs = Ranking.of(true, logs(proba), weights).concordance()
    np.testing.assert_allclose(merged_right, right, **EXACT)
    np.testing.assert_allclose(merged_pairs, pairs, **EXACT)


def test_a_long_ranking_is_thinned_and_stays_near(monkeypatch):
    proba, true, weights = random_rows(2, 20_000)
    exact = scores_of(proba, true, weights).auc
    monkeypatch.setattr(ranking_module, "_KEPT", 4000)
    monkeypatch.setattr(ranking_module, "_LEAST_KEPT", 10)
    ranking = Ranking.of(true, logs(proba), weights)
    assert max(len(r.scores) for r in ranking.classes) <= 2000
    right, pairs = ranking.concordance()
    np.testing.assert_allclose(right / pairs, exact, rtol=0, atol=1 / 2000)
    assert not np.array_equal(right / pairs, [exact, exact])


def test_merged_scores_compare_rows_of_one_part_only():
    """Folds come from different models: a shift of all scores of one fold must not change the AUC."""
    parts = [random_rows(2, 50, seed=s) for s in (1, 2)]
    shifted = parts[1][0] * [0.01, 1.0]
    shifted /= shifted.sum(axis=1, keepdims=True)
    plain = merged([scores_of(*p) for p in parts])
    moved = merged([scores_of(*parts[0]), scores_of(shifted, *parts[1][1:])])
    assert moved.auc == pytest.approx(plain.auc, rel=1e-12)
    pairs = [scores_of(*p).pairs[0] for p in parts]
    assert plain.auc == pytest.approx(np.average([scores_of(*p).auc for p in parts], weights=pairs), rel=1e-12)


def test_other_numbers_against_scikit_learn():
    proba, true, weights = random_rows(4, seed=3)
    parts = [scores_of(proba[s], true[s], weights[s]) for s in (slice(0, 70), slice(70, 300))]
    found = merged(parts)
    guess = proba.argmax(axis=1)
    assert found.log_loss == pytest.approx(log_loss(true, proba, sample_weight=weights), rel=1e-12)
    assert found.brier == pytest.approx(brier_score_loss(true, proba, sample_weight=weights), rel=1e-12)
    assert found.accuracy == pytest.approx(np.average(guess == true, weights=weights), rel=1e-12)
    expected = balanced_accuracy_score(true, guess, sample_weight=weights)
    assert found.balanced_accuracy == pytest.approx(expected, rel=1e-12)
    assert found.n_rows == 300
    assert list(found.summary()) == list(METRICS)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_numbers_of_each_class_against_scikit_learn(n_classes):
    proba, true, weights = random_rows(n_classes, seed=5)
    found, guess = scores_of(proba, true, weights), proba.argmax(axis=1)
    how = {"labels": range(n_classes), "average": None, "sample_weight": weights}
    np.testing.assert_allclose(found.precision, precision_score(true, guess, **how), **EXACT)
    np.testing.assert_allclose(found.recall, recall_score(true, guess, **how), **EXACT)
    np.testing.assert_allclose(found.f1, f1_score(true, guess, **how), **EXACT)
    np.testing.assert_allclose(found.confusion[:-1], confusion_matrix(true, guess, sample_weight=weights), **EXACT)
    for c in range(n_classes):
        # Of «not c», as the class of a problem of two, precision is the NPV of c and recall its specificity.
        rest = {"sample_weight": weights, "pos_label": True}
        assert found.npv[c] == pytest.approx(precision_score(true != c, guess != c, **rest), rel=1e-12)
        assert found.specificity[c] == pytest.approx(recall_score(true != c, guess != c, **rest), rel=1e-12)
    np.testing.assert_array_equal(found.ppv, found.precision)
    np.testing.assert_array_equal(found.sensitivity, found.recall)


def test_rows_of_unknown_classes_count_as_wrong_and_as_not_the_class():
    proba = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    found = scores_of(proba, np.array([0, 1, -1]), np.ones(3))
    assert found.accuracy == pytest.approx(2 / 3, rel=1e-12)
    assert found.log_loss == np.inf
    assert found.specificity.tolist() == [0.5, 1.0]
    assert found.npv.tolist() == [1.0, 1.0]
    assert found.aucs.tolist() == [1.0, 1.0]
    assert found.to_dict()["unknown_classes"] == 1.0


def test_without_weight_there_are_no_numbers():
    proba, true, _ = random_rows(2, 10)
    found = scores_of(proba, true, np.zeros(10))
    assert all(np.isnan(value) for value in found.summary().values())


def test_weights_are_numbers_of_rows():
    proba, true, _ = random_rows(3, 40)
    weights = np.random.default_rng(1).integers(0, 4, 40)
    weighted = scores_of(proba, true, weights.astype(float))
    repeated = scores_of(np.repeat(proba, weights, axis=0), np.repeat(true, weights), np.ones(weights.sum()))
    for name, value in weighted.summary().items():
        assert value == pytest.approx(repeated.summary()[name], rel=1e-12)
