"""Which words are used."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import tunbridge as tb

TEXTS = ["spam spam egg the", "spam egg the", "The ham", "the tea tea tea"]
CLASSES = ["a", "a", "b", "b"]


def used(texts=TEXTS, weights=None, **options):
    clf = tb.TextClassifier(**options).fit(texts, CLASSES[: len(texts)], sample_weight=weights)
    return clf._model.vocabulary.names()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ["spam", "egg", "the", "ham", "tea"]),
        ({"min_documents": 2}, ["spam", "egg", "the"]),
        ({"min_documents": 2.5}, ["the"]),
        ({"min_count": 3}, ["spam", "the", "tea"]),
        ({"min_count": 3, "min_documents": 2}, ["spam", "the"]),
        ({"stop_words": 1}, ["spam", "egg", "ham", "tea"]),
        ({"stop_words": np.int64(1)}, ["spam", "egg", "ham", "tea"]),
        ({"stop_words": 100}, []),
        ({"stop_words": ["the", "ham", "unknown"]}, ["spam", "egg", "tea"]),
        ({"stop_words": ("The", "HAM")}, ["spam", "egg", "tea"]),
        ({"stop_words": {"the"}}, ["spam", "egg", "ham", "tea"]),
        ({"stop_words": np.array(["the"])}, ["spam", "egg", "ham", "tea"]),
        ({"stop_words": ENGLISH_STOP_WORDS}, ["spam", "egg", "ham", "tea"]),
        ({"stop_words": ["the"], "lower_case": False}, ["spam", "egg", "The", "ham", "tea"]),
        ({"stop_words": ["spam egg"], "ngrams": (2, 2)}, ["spam spam", "egg the", "the ham", "the tea", "tea tea"]),
        ({"stop_words": ["\ud800"]}, ["spam", "egg", "the", "ham", "tea"]),
    ],
)
def test_words_are_chosen(options, words):
    assert used(**options) == words


def test_stop_words_are_found_in_buckets_too():
    whole = tb.TextClassifier(n_buckets=2**20).fit(TEXTS, CLASSES)
    less = tb.TextClassifier(n_buckets=2**20, stop_words=["the", "spam"]).fit(TEXTS, CLASSES)
    assert (len(whole._model.vocabulary), len(less._model.vocabulary)) == (5, 3)
    assert less.predict_proba(["the spam"])[0].tolist() == [0.5, 0.5]


def test_among_equally_common_words_the_order_of_documents_does_not_matter():
    for n in range(1, 5):
        assert sorted(used(stop_words=n)) == sorted(used(texts=TEXTS[::-1], stop_words=n))


def test_weights_count_as_documents():
    assert used(weights=[1, 1, 1, 2], min_documents=2) == ["spam", "egg", "the", "tea"]
    assert used(weights=[1, 0, 1, 1], min_documents=2) == ["the"]


def test_light_documents_lose_no_words():
    """Without a limit every word is used that occurs, however little its documents count."""
    assert used(weights=[0.1] * 4) == used()
    light = tb.TextClassifier(class_prior="uniform", smoothing=0.1).fit(TEXTS, CLASSES, sample_weight=[0.1] * 4)
    plain = tb.TextClassifier(class_prior="uniform").fit(TEXTS, CLASSES)
    np.testing.assert_allclose(light.predict_proba(TEXTS), plain.predict_proba(TEXTS), rtol=1e-12)


def test_selection_looks_at_all_batches():
    clf = tb.TextClassifier(min_documents=2)
    for text, label in zip(TEXTS, CLASSES, strict=True):
        clf.partial_fit([text], [label])
    assert sorted(clf._model.vocabulary.names()) == sorted(used(min_documents=2))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_documents": -1}, "min_documents must be at least 0; got -1"),
        ({"min_count": "2"}, "min_count must be a number; got '2'"),
        ({"stop_words": -1}, "stop_words must be at least 0; got -1"),
        ({"stop_words": True}, "stop_words must be an integer; got True"),
        ({"stop_words": "english"}, "stop_words must be a number of words or a list of them; got 'english'"),
        ({"stop_words": 2.5}, "stop_words must be a number of words or a list of them; got 2.5"),
        ({"stop_words": None}, "stop_words must be a number of words or a list of them; got None"),
        ({"stop_words": ["the", 3]}, "stop_words must be texts; got 3 among them"),
    ],
)
def test_settings_that_cannot_be(options, told):
    with pytest.raises(tb.DataError, match=told):
        used(**options)
