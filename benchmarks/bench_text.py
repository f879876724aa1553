"""Text against scikit-learn: from raw strings to a learned model, and from raw strings to predictions.

The texts are Python lists of strings on both sides. The words are the same (two word characters or more, in small
letters), and so are the models, except where NB-SVM stands beside logistic regression: there the accuracies are told.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline

import tunbridge as tb
from benchmarks.accuracy.newsgroup_data import by_date
from benchmarks.accuracy.sms import messages
from benchmarks.harness import Result, Section, interleaved, skipped, timed
from benchmarks.samples import shared
from tunbridge.text.tokens import Tokens

GOAL, LINEAR_GOAL = 3.0, 2.0


class Texts(NamedTuple):
    """Texts to learn from and to test with, and their classes."""

    name: str
    learn: list[str]
    learn_classes: np.ndarray
    test: list[str]
    test_classes: np.ndarray


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    news, sms = _newsgroups(data), _sms(data)
    return [
        _reading(news),
        *_same(news, "multinomial", tb.TextClassifier(), MultinomialNB(), goal=GOAL),
        *_same(news, "complement", tb.TextClassifier("complement", class_prior="uniform"), ComplementNB(), goal=GOAL),
        *_same(news, "multinomial, words and pairs", tb.TextClassifier(ngrams=2), MultinomialNB(), pairs=True),
        *_same(sms, "multinomial", tb.TextClassifier(), MultinomialNB(), repeat=20),
        *_same(sms, "Bernoulli", tb.TextClassifier("bernoulli"), BernoulliNB(), repeat=20),
        *_linear(news, CountVectorizer(), "counts", repeat=1, goal=LINEAR_GOAL),
        *_linear(news, TfidfVectorizer(), "tf–idf", repeat=1),
        *_linear(sms, CountVectorizer(), "counts", repeat=5),
    ]


def _newsgroups(data: Path) -> Texts:
    learn, test = by_date(data)
    return Texts("newsgroups by date", learn.texts, learn.groups, test.texts, test.groups)


def _sms(data: Path) -> Texts:
    """Return the distinct messages, every third to test with."""
    texts, labels = messages(data)
    test = np.arange(len(texts)) % 3 == 2
    parts = [([t for t, own in zip(texts, which, strict=True) if own], labels[which]) for which in (~test, test)]
    return Texts("SMS", *parts[0], *parts[1])


def _reading(texts: Texts) -> Result:
    """Cut into words and counted, without classes."""
    size = sum(len(text.encode()) for text in texts.learn) / 1e6
    ours, peer = interleaved(
        lambda: Tokens().count(pa.array(texts.learn, pa.large_string())),
        lambda: CountVectorizer().fit_transform(texts.learn),
    )
    remark = f"{size:.1f} MB: {size / ours:.0f} MB/s, the peer {size / peer:.1f} MB/s"
    return Result(f"{texts.name}: words counted", ours, peer, "CountVectorizer", remark=remark)


def _same(
    texts: Texts, what: str, ours: Any, peer: Any, *, pairs: bool = False, repeat: int = 3, goal: float | None = None
) -> list[Result]:
    """The same model on both sides."""
    binary = isinstance(peer, BernoulliNB)
    other = make_pipeline(CountVectorizer(ngram_range=(1, 2) if pairs else (1, 1), binary=binary), peer)
    fit = interleaved(
        lambda: ours.fit(texts.learn, texts.learn_classes), lambda: other.fit(texts.learn, texts.learn_classes), repeat
    )
    predict = interleaved(lambda: ours.predict(texts.test), lambda: other.predict(texts.test), repeat)
    differ = int(np.sum(ours.predict(texts.test) != other.predict(texts.test)))
    assert differ == 0, f"the two sides do not compute the same thing: {differ} predictions differ"
    remark = f"{differ} of {len(texts.test)} predictions differ"
    return _results(f"{texts.name}, {what}", fit, predict, f"scikit-learn {type(peer).__name__}", goal, remark)


def _linear(texts: Texts, vectorizer: Any, what: str, *, repeat: int, goal: float | None = None) -> list[Result]:
    """NB-SVM beside logistic regression, both as they are by default; what takes long is learned without a warm-up."""
    ours, other = tb.TextClassifier("nb-svm"), make_pipeline(vectorizer, LogisticRegression())
    ours.fit(texts.learn, texts.learn_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 iterations do not suffice for every set
        pairs = [
            (
                timed(lambda: ours.fit(texts.learn, texts.learn_classes)),
                timed(lambda: other.fit(texts.learn, texts.learn_classes)),
            )
            for _ in range(repeat)
        ]
    fit = min(a for a, _ in pairs), min(b for _, b in pairs)
    predict = interleaved(lambda: ours.predict(texts.test), lambda: other.predict(texts.test))
    right, theirs = (100 * float(np.mean(m.predict(texts.test) == texts.test_classes)) for m in (ours, other))
    remark = f"accuracy {right:.2f} %, the peer {theirs:.2f} % after {int(other[-1].n_iter_[0])} iterations"
    name = f"LogisticRegression of {what}"
    return _results(f"{texts.name}, NB-SVM", fit, predict, name, goal, remark, is_good=right >= theirs)


def _results(
    what: str,
    fit: tuple[float, float],
    predict: tuple[float, float],
    peer: str,
    goal: float | None,
    remark: str,
    *,
    is_good: bool = True,
) -> list[Result]:
    """Return the lines of learning, of predicting, and of both together."""
    both = fit[0] + predict[0], fit[1] + predict[1]
    lines = []
    for step, (ours, theirs) in {"fit": fit, "predict": predict, "both": both}.items():
        aim, reached = "–", None
        if goal is not None:
            aim, reached = f"≥ {goal:.0f} ×", is_good and theirs >= goal * ours
        lines.append(Result(f"{what}: {step}", ours, theirs, peer, aim, reached, remark if step == "both" else ""))
    return lines
