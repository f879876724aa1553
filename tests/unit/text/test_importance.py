from __future__ import annotations

import re
from math import log

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.errors import DataError

TEXTS = ["cheap pills now", "cheap cheap watches", "meeting at noon", "lunch at noon now", "goal at noon", ""]
CLASSES = ["spam", "spam", "ham", "ham", "sport", "sport"]
WORDS = [set(re.findall(r"\w\w+", text)) for text in TEXTS]


def fitted(**settings) -> tb.TextClassifier:
    return tb.TextClassifier(**settings).fit(TEXTS, CLASSES)


def test_information_is_that_of_presence_and_class():
    found = fitted().importance()
    assert set(found) == set.union(*WORDS)
    assert found.entropy == pytest.approx(log(3), rel=1e-12)
    assert found.target == "class"
    for word, nats in found.items():
        table = np.zeros((2, 3))
        for words, label in zip(WORDS, CLASSES, strict=True):
            table[int(word in words), sorted(set(CLASSES)).index(label)] += 1
        assert nats == pytest.approx(float(tb.mutual_information(table)), rel=1e-12, abs=1e-15)
    values = list(found.values())
    assert values == sorted(values, reverse=True)


def test_weights_of_documents_count():
    weights = [2, 1, 3, 1, 1, 1]
    doubled = [t for t, n in zip(TEXTS, weights, strict=True) for _ in range(n)]
    labels = [c for c, n in zip(CLASSES, weights, strict=True) for _ in range(n)]
    weighted = tb.TextClassifier().fit(TEXTS, CLASSES, sample_weight=weights).importance()
    assert dict(weighted) == pytest.approx(dict(tb.TextClassifier().fit(doubled, labels).importance()), rel=1e-10)


def test_only_words_that_are_used_are_told():
    found = fitted(min_documents=2, stop_words=["at"]).importance()
    assert set(found) == {"cheap", "noon", "now"}
    assert found["cheap"] == fitted().importance()["cheap"]


def test_expected_weight_of_the_bernoulli_model():
    found = fitted(model="bernoulli").importance("weight")
    states = sorted(set(CLASSES))
    for word, value in found.items():
        p = {
            c: (sum(word in w for w, d in zip(WORDS, CLASSES, strict=True) if d == c) + 1) / (CLASSES.count(c) + 2)
            for c in states
        }
        expected = 0.0
        for c in states:
            others = [d for d in states if d != c]
            q = sum(p[d] * CLASSES.count(d) for d in others) / sum(CLASSES.count(d) for d in others)
            expected += (p[c] * log(p[c] / q) + (1 - p[c]) * log((1 - p[c]) / (1 - q))) * CLASSES.count(c) / 6
        assert value == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert next(iter(found)) == "cheap"


def test_one_class_tells_nothing():
    clf = tb.TextClassifier("bernoulli").fit(["cheap", "pills"], ["a", "a"])
    assert dict(clf.importance()) == {"cheap": 0.0, "pills": 0.0}
    assert dict(clf.importance("weight")) == {"cheap": 0.0, "pills": 0.0}
    assert len(tb.TextClassifier().fit(["", ""], ["a", "b"]).importance()) == 0


def test_what_cannot_be_told():
    with pytest.raises(DataError, match=r"only model='bernoulli' has; got 'multinomial'. Use method='information'"):
        fitted().importance("weight")
    with pytest.raises(DataError, match="method must be one of 'information', 'weight'; got 'gain'"):
        fitted().importance("gain")
    with pytest.raises(DataError, match="importance must have words with names; with n_buckets only their hashes"):
        fitted(n_buckets=64).importance()
    with pytest.raises(DataError, match="top_words must have words with names"):
        fitted(n_buckets=64).top_words("ham")


def test_of_many_words_the_first_are_printed():
    words = [f"word{i}" for i in range(20_000)]
    found = tb.TextClassifier().fit([" ".join(words), "spam"], ["a", "b"]).importance()
    assert len(found) == 20_001
    assert len(str(found).splitlines()) < 50
    assert len(found._repr_html_()) < 10_000
    assert str(found).endswith("… 19 961 more features")
    assert "… 19 961 more features" in found._repr_html_()
    assert len(dict(found)) == 20_001  # each is looked up at once
    assert "word7" in found
    assert ["word7"] not in found
    with pytest.raises(DataError, match="an importance must be looked up by feature"):
        found[["word7"]]


def test_importance_of_documents_without_a_class():
    clf = tb.SemiSupervisedClassifier(tb.TextClassifier()).fit([*TEXTS, "cheap"], [*CLASSES, None])
    assert next(iter(clf.importance())) == "cheap"


def test_top_words_are_those_of_greatest_weight_against_the_rest():
    clf = fitted()
    found = clf.top_words("spam", 3)
    assert len(found) == 3
    for word, weight in found.items():
        added = clf.predict_joint_log_proba([word])[0] - clf.class_log_prior_
        spam = clf.classes_.tolist().index("spam")
        assert weight == pytest.approx(added[spam] - np.delete(added, spam).mean(), rel=1e-10)
    assert next(iter(found)) == "cheap"
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(clf.top_words("spam", 1000)) == len(set.union(*WORDS))


@pytest.mark.parametrize(
    "settings", [{}, {"idf": True}, {"length": 3.0, "counts": "log"}, {"model": "nb-svm"}], ids=str
)
def test_top_words_of_two_classes_are_weights_of_evidence(settings):
    clf = tb.TextClassifier(**settings).fit(TEXTS[:4], CLASSES[:4])
    for word, weight in clf.top_words("ham", 4).items():
        assert clf.explain(word, label="ham").words[0].weight == pytest.approx(weight, rel=1e-6)  # single precision


def test_questions_about_top_words():
    with pytest.raises(DataError, match="n must be at least 1; got 0"):
        fitted().top_words("ham", 0)
    with pytest.raises(DataError, match="Did you mean 'spam'"):
        fitted().top_words("spamm")
