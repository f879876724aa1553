"""Markov chains on 10⁸ letters of DNA, as one text and as a million; a corpus of words as symbols.

The peer is what people do today: scikit-learn's CountVectorizer on character n-grams with MultinomialNB, which counts
the same n-grams, on the same texts (a part of them, since it would take minutes; its time grows in proportion).
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

import tunbridge as tb
from benchmarks.harness import Result, Section, best_of, interleaved, timed
from benchmarks.samples import shared

N, LENGTH, PART = 10**8, 100, 50
GOAL = 3.0


def run() -> Section:
    texts, y = _dna()
    whole = ["".join(texts[c::2]) for c in (0, 1)]
    first = timed(lambda: _fit(texts[:2000], y[:2000]))
    found = [
        Result("first fit in a process, kernels in the cache", first),
        _absolute("fit, order 3, two texts of 5·10⁷ letters", lambda: _fit(whole, [0, 1])),
        _absolute("fit, order 3, 10⁶ texts of 100 letters", lambda: _fit(texts, y)),
    ]
    clf = _fit(texts, y)
    found.append(_absolute("predict_proba, the same 10⁶ texts", lambda: clf.predict_proba(texts)))
    found.append(_absolute("predict_proba, two texts of 5·10⁷ letters", lambda: clf.predict_proba(whole)))
    some, labels = texts[: len(texts) // PART], y[: len(texts) // PART]
    name = "CountVectorizer(char, 4-grams) + MultinomialNB"
    ours, peer = interleaved(lambda: _fit(some, labels), lambda: _peer().fit(some, labels), repeat=2)
    found.append(Result(f"fit, order 3, {len(some)} texts of 100 letters", ours, peer, name))
    clf, other = _fit(some, labels), _peer().fit(some, labels)
    ours, peer = interleaved(lambda: clf.predict(some), lambda: other.predict(some), repeat=2)
    found.append(Result(f"predict, {len(some)} texts of 100 letters", ours, peer, name))
    return found + _words()


def _absolute(work: str, function: Callable[[], object]) -> Result:
    took = best_of(function, repeat=3)
    return Result(work, took, goal=f"< {GOAL:g} s", reached=took < GOAL)


def _fit(X: list[str], y: object) -> tb.SequenceClassifier:
    return tb.SequenceClassifier("markov", 3).fit(X, y)


def _peer() -> Pipeline:
    return make_pipeline(CountVectorizer(analyzer="char", ngram_range=(4, 4), lowercase=False), MultinomialNB())


def _dna() -> tuple[list[str], np.ndarray]:
    """Return texts of random letters, those of the two classes with different frequencies."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(b"ACGT", np.uint8)
    rows = letters[rng.integers(0, 4, (N // LENGTH, LENGTH), dtype=np.uint8)]
    rows[::2, ::10] = letters[0]
    data = rows.tobytes().decode()
    return [data[i : i + LENGTH] for i in range(0, N, LENGTH)], np.arange(N // LENGTH) % 2


def _words() -> Section:
    """Sentences as sequences of words, 40 000 different ones: contexts are too many for a table."""
    data = shared()
    if data is None:
        return []
    sentences, y = _sentences(data / "sequences" / "masc_pos.csv.gz")
    ours = best_of(lambda: tb.SequenceClassifier(order=2).fit(sentences, y), repeat=2)
    clf = tb.SequenceClassifier(order=2).fit(sentences, y)
    asked = best_of(lambda: clf.predict(sentences), repeat=2)
    size = f"{sum(map(len, sentences))} words, {len(clf.alphabet_)} different, {len(clf.classes_)} classes"
    return [Result("fit, order 2, words as symbols", ours, remark=size), Result("predict, the same", asked)]


def _sentences(file: Path) -> tuple[list[list[str]], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    classes: dict[tuple[str, str], str] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            key = (row["document"], row["sentence"])
            found.setdefault(key, []).append(row["token"])
            classes[key] = row["category"]
    return list(found.values()), list(classes.values())
