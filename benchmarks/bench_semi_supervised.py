"""Semi-supervised learning: where rows without a class help, where they hurt, and what their weight λ does.

The newsgroups are texts of 20 subjects, taken as words that occur or do not. The words are those that occur in the
texts they are in more often than chance would have it (residual inverse document frequency, Church & Gale 1995), for
which no class is needed. In the chess endgames and the waves, classes are not what makes rows differ most.
"""

from __future__ import annotations

import gzip
import json
import re
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Section, seconds, skipped
from benchmarks.samples import shared

N_WORDS, LEAST_TEXTS, MOST_TEXTS = 2000, 20, 0.1
WORD = re.compile(r"[a-z]{3,}")
N_SPLITS = 5


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    return [_news(data / "text" / "20news_bydate.jsonl.gz"), _uci(data / "uci")]


def _news(file: Path) -> Grid:
    """20 subjects, trained on the older part of the texts and tested on the newer."""
    texts, group, is_train = _read_news(file)
    X = _occurrences(texts, is_train)
    test, rows = X[~is_train], []
    truth = group[~is_train]
    for n_labelled, weights in ((5, (0.0, 1.0)), (20, (0.0, 0.1, 1.0))):
        few = _few(group[is_train], n_labelled, seed=0)
        for weight in weights:
            start = perf_counter()
            inner = tb.NaiveBayesClassifier(smoothing=0.01)
            model = tb.SemiSupervisedClassifier(inner, unlabelled_weight=weight, tol=0.05).fit(X[is_train], few)
            took = perf_counter() - start
            right = np.mean(model.predict(test) == truth)
            name = "those alone" if weight == 0 else f"EM, λ = {weight:g}"
            known = f"{n_labelled} of each class"
            rows.append((known, name, f"{100 * right:.1f} %", str(len(model.trace_) - 1), seconds(took)))
    columns = ("20 newsgroups, 11 314 texts, 2 000 words", "learned from", "test accuracy", "iterations", "time")
    return Grid(columns, tuple(rows))


def _uci(folder: Path) -> Grid:
    """Half of the rows to learn from, 20 of each class with their class; the mean of some splits."""
    weights: tuple[float | str, ...] = (0.0, 0.1, 1.0, "auto")
    rows = []
    for name in ("chess", "waveform-21", "german"):
        table = tb.read_table(folder / f"{name}.csv")
        found = np.array([_split_accuracies(table, weights, seed) for seed in range(N_SPLITS)])
        rows.append((name, *(f"{100 * value:.1f} %" for value in found.mean(axis=0))))
    titles = ["those alone", "λ = 0.1", "λ = 1", "λ by held-out rows"]
    return Grid(("20 of each class, others without", *titles), tuple(rows))


def _split_accuracies(table: tb.Table, weights: tuple[float | str, ...], seed: int) -> list[float]:
    frame = table.to_pandas()
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy(object)
    order = np.random.default_rng(seed).permutation(len(y))
    learn, test = order[: len(y) // 2], order[len(y) // 2 :]
    few, found = _few(y[learn], 20, seed), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.UnseenStateWarning)
        for weight in weights:
            inner = tb.NaiveBayesClassifier(numeric="gaussian", variance="mle")
            model = tb.SemiSupervisedClassifier(inner, unlabelled_weight=weight, max_iter=500)
            found.append(float(np.mean(model.fit(X.iloc[learn], few).predict(X.iloc[test]) == y[test])))
    return found


def _few(y: np.ndarray, n_labelled: int, seed: int) -> np.ndarray:
    """Return the classes of some rows of each class, None for the others."""
    rng, few = np.random.default_rng(seed), np.full(len(y), None, object)
    for c in sorted(set(y)):
        few[rng.permutation(np.flatnonzero(y == c))[:n_labelled]] = c
    return few


def _read_news(file: Path) -> tuple[list[Counter[str]], np.ndarray, np.ndarray]:
    """Return the words of each text (subject line and body), its group, and whether it is for training."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    texts = []
    for document in documents:
        head, _, body = document["text"].partition("\n\n")
        subject = re.search(r"^Subject:(.*)$", head, re.MULTILINE)
        texts.append(Counter(WORD.findall(f"{subject.group(1) if subject else ''}\n{body}".lower())))
    group = np.array([d["group"] for d in documents], object)
    return texts, group, np.array([d["split"] == "train" for d in documents])


def _occurrences(texts: list[Counter[str]], is_train: np.ndarray) -> np.ndarray:
    """Return which of the chosen words occur in each text, 0 or 1."""
    total: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for words, train in zip(texts, is_train, strict=True):
        if train:
            total.update(words)
            within.update(words.keys())
    n = int(is_train.sum())
    some = [w for w, k in within.items() if LEAST_TEXTS <= k < MOST_TEXTS * n]
    df, tf = (np.array([count[w] for w in some], np.float64) for count in (within, total))
    residual = np.log(n / df) + np.log(-np.expm1(-tf / n))
    place = {some[j]: i for i, j in enumerate(np.argsort(-residual, kind="stable")[:N_WORDS].tolist())}
    X = np.zeros((len(texts), len(place)), np.int8)
    for row, words in zip(X, texts, strict=True):
        row[[place[w] for w in words if w in place]] = 1
    return X
