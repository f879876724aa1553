"""The models of words: worked by hand, and against scikit-learn on the same counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

import tunbridge as tb
from tunbridge.text.naive import bernoulli, complement, multinomial

AMOUNTS = np.array([[5.0, 0.0, 1.0], [0.0, 2.0, 3.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
ADDED = np.array([1.0, 0.5, 2.0, 1.0])
EVERY = np.arange(4)


def test_multinomial_is_laplace_s_rule_of_the_textbook():
    weights = multinomial(csr_array(AMOUNTS), np.ones(4)).rows(EVERY)
    np.testing.assert_allclose(weights, np.log((AMOUNTS + 1) / (AMOUNTS.sum(axis=0) + 4)), rtol=1e-13)
    np.testing.assert_allclose(np.exp(weights).sum(axis=0), 1.0, rtol=1e-13)


def test_multinomial_with_a_guess_for_each_word():
    weights = multinomial(csr_array(AMOUNTS), ADDED)
    expected = (AMOUNTS + ADDED[:, None]) / (AMOUNTS.sum(axis=0) + ADDED.sum())
    np.testing.assert_allclose(weights.rows(EVERY), np.log(expected), rtol=1e-13)
    np.testing.assert_allclose(weights.log_density, (ADDED[:, None] * np.log(expected)).sum(), rtol=1e-13)


def test_bernoulli_counts_what_is_absent():
    documents, n = np.minimum(AMOUNTS, 2.0), np.array([4.0, 2.0, 5.0])
    weights = bernoulli(csr_array(documents), n, 0.5)
    p = (documents + 0.5) / (n + 1.0)
    np.testing.assert_allclose(weights.rows(EVERY), np.log(p) - np.log1p(-p), rtol=1e-12)
    np.testing.assert_allclose(weights.base, np.log1p(-p).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(weights.log_density, 0.5 * (np.log(p) + np.log1p(-p)).sum(), rtol=1e-12)


@pytest.mark.parametrize("normalise", [False, True])
def test_complement_asks_the_other_classes(normalise):
    weights = complement(csr_array(AMOUNTS), ADDED, normalise=normalise).rows(EVERY)
    outside = AMOUNTS.sum(axis=1, keepdims=True) - AMOUNTS + ADDED[:, None]
    expected = -np.log(outside / outside.sum(axis=0))
    if normalise:
        expected *= expected.sum(axis=0).mean() / expected.sum(axis=0)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


def test_one_word_or_none_has_an_answer():
    for amounts in (csr_array((0, 2)), csr_array(np.array([[3.0, 0.0]]))):
        added = np.ones(amounts.shape[0])
        for weights in (
            multinomial(amounts, added),
            bernoulli(amounts, np.array([3.0, 1.0]), 1.0),
            complement(amounts, added, normalise=False),
            complement(amounts, added, normalise=True),
        ):
            assert np.isfinite(weights.rows(np.arange(amounts.shape[0]))).all()
            assert np.isfinite([*weights.base, weights.log_density]).all()


def test_the_example_of_manning_and_others():
    """Introduction to Information Retrieval, example 13.1: China or not."""
    texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao", "Tokyo Japan Chinese"]
    clf = tb.TextClassifier().fit(texts, [True, True, True, False])
    asked = "Chinese Chinese Chinese Tokyo Japan"
    joint = np.exp(clf.predict_joint_log_proba(asked)[0])
    np.testing.assert_allclose(joint, [1 / 4 * (2 / 9) ** 5, 3 / 4 * (3 / 7) ** 3 * (1 / 14) ** 2], rtol=1e-12)
    assert clf.predict(asked).tolist() == [True]
    other = tb.TextClassifier("bernoulli").fit(texts, [True, True, True, False])  # example 13.2
    joint = np.exp(other.predict_joint_log_proba(asked)[0])
    expected = [1 / 4 * (2 / 3) ** 3 * (2 / 3) ** 3, 3 / 4 * 4 / 5 * 1 / 5 * 1 / 5 * (3 / 5) ** 3]
    np.testing.assert_allclose(joint, expected, rtol=1e-12)
    assert other.predict(asked).tolist() == [False]


# Against scikit-learn


@pytest.fixture(scope="module")
def corpus():
    """Return documents of three classes of unequal size, their classes, and documents to ask for."""
    rng = np.random.default_rng(5)

    def documents(n):
        y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
        ranks = rng.zipf(1.4, (n, 40)) % 400
        shown = rng.random((n, 40)) < rng.random((n, 1))
        words = np.where(rng.random((n, 40)) < 0.2, ranks + 500 * (y[:, None] + 1), ranks)
        return [" ".join(f"W{w}" for w, s in zip(*row, strict=True) if s) for row in zip(words, shown, strict=True)], y

    return *documents(300), documents(100)[0]


@pytest.mark.parametrize("alpha", [1.0, 0.1, 3.0])
@pytest.mark.parametrize(
    ("ours", "peer", "vectorizer"),
    [
        ({"model": "multinomial"}, MultinomialNB(), {}),
        ({"model": "multinomial", "class_prior": "uniform"}, MultinomialNB(fit_prior=False), {}),
        ({"model": "multinomial", "ngrams": 2, "counts": "binary"}, MultinomialNB(),
         {"ngram_range": (1, 2), "binary": True}),
        ({"model": "multinomial", "tokens": "characters", "ngrams": (2, 3)}, MultinomialNB(),
         {"analyzer": "char", "ngram_range": (2, 3)}),
        ({"model": "multinomial", "min_documents": 3}, MultinomialNB(), {"min_df": 3}),
        ({"model": "complement", "class_prior": "uniform"}, ComplementNB(), {}),
        ({"model": "normalised-complement", "class_prior": "uniform"}, ComplementNB(norm=True), {}),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)  # fmt: skip
def test_models_are_those_of_scikit_learn(corpus, ours, peer, vectorizer, alpha):
    texts, y, asked = corpus
    clf = tb.TextClassifier(**ours, smoothing=alpha).fit(texts, y)
    counter = CountVectorizer(**vectorizer)
    peer.set_params(alpha=alpha).fit(counter.fit_transform(texts), y)
    theirs = peer.predict_joint_log_proba(counter.transform(asked))
    found = clf.predict_joint_log_proba(asked)
    if ours["model"] == "normalised-complement":  # ours keeps the scale that the weights had
        found = (found + math.log(3)) * (theirs[0, 0] / (found[0, 0] + math.log(3)))
    elif ours["model"] == "complement":
        found = found + math.log(3)  # scikit-learn leaves the prior out
    np.testing.assert_allclose(found, theirs, rtol=1e-10)
    np.testing.assert_array_equal(clf.predict(asked), peer.predict(counter.transform(asked)))


@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_bernoulli_is_that_of_scikit_learn(corpus, alpha):
    texts, y, asked = corpus
    counter = CountVectorizer(binary=True)
    peer = BernoulliNB(alpha=alpha).fit(counter.fit_transform(texts), y)
    X = counter.transform(asked)
    known = np.asarray(X.sum(axis=1)).ravel() > 0  # a document without a known word gets the prior here
    clf = tb.TextClassifier("bernoulli", smoothing=alpha).fit(texts, y)
    found = clf.predict_joint_log_proba(asked)
    assert known.sum() > 50
    np.testing.assert_allclose(found[known], peer.predict_joint_log_proba(X)[known], rtol=1e-10)
    np.testing.assert_allclose(found[~known], np.tile(peer.class_log_prior_, ((~known).sum(), 1)), rtol=1e-12)


def test_weights_are_those_of_scikit_learn(corpus):
    texts, y, asked = corpus
    weights = np.random.default_rng(1).integers(0, 4, len(texts)) / 2
    counter = CountVectorizer()
    kept = weights > 0
    counter.fit([text for text, keep in zip(texts, kept, strict=True) if keep])  # words of no weight are no words
    peer = MultinomialNB().fit(counter.transform(texts), y, sample_weight=weights)
    found = tb.TextClassifier().fit(texts, y, sample_weight=weights).predict_joint_log_proba(asked)
    np.testing.assert_allclose(found, peer.predict_joint_log_proba(counter.transform(asked)), rtol=1e-10)
