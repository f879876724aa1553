"""Part-of-speech tags of MASC, and secondary structures of proteins, by labelled hidden Markov models.

Sentences whose number is divisible by 10 are the test; the settings (weight and frequency of words taken for rare,
length of endings, priors) were chosen on those with remainder 1. A word that occurs once is learned twice: as itself,
and with a weight of 0.3 as a rare word with an ending and a shape, as which unknown words are tagged.
"""

from __future__ import annotations

import csv
import gzip
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tunbridge as tb
from benchmarks.harness import Grid, Section, skipped
from benchmarks.samples import shared
from tunbridge.temporal.emissions import Categorical

RARE, RARE_WEIGHT, PREDICTED_WEIGHT = 1, 0.3, 0.1
LONGEST, LEAST = 4, 5  # letters of an ending, and different rare words that must have it
COLUMNS = ("word", "ending", "shape")
ALPHAS = {"word": 1.001, "ending": 1.05, "shape": 1.05}


@dataclass(frozen=True)
class Corpus:
    """Tokens with their tags and the numbers of their sentences."""

    words: np.ndarray
    tags: np.ndarray
    sentences: np.ndarray

    def take(self, chosen: np.ndarray) -> Corpus:
        return Corpus(self.words[chosen], self.tags[chosen], self.sentences[chosen])

    @property
    def begins(self) -> np.ndarray:
        return np.append(True, np.diff(self.sentences) != 0)


class Lexicon:
    """The words of a corpus, and the endings of its rare ones."""

    def __init__(self, words: np.ndarray) -> None:
        self.counts = Counter(words.tolist())
        rare = [word.lower() for word, n in self.counts.items() if n <= RARE]
        self.endings = Counter(word[-n:] if n else "" for word in rare for n in range(LONGEST + 1))

    def columns(self, corpus: Corpus, least: int, columns: tuple[str, ...] = COLUMNS, first: int = 0) -> dict[str, Any]:
        """Return the columns of a frame; words that occur less than ``least`` times are rare."""
        rows = [self._row(w, b, least) for w, b in zip(corpus.words.tolist(), corpus.begins.tolist(), strict=True)]
        found = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
        return {"sentence": corpus.sentences + first, **{name: found[name] for name in columns}}

    def _row(self, word: str, begins: bool, least: int) -> tuple[str | None, ...]:
        small = word[:1].lower() + word[1:]
        if self.counts[word] >= least:
            return word, None, None
        if begins and self.counts[small] >= least:
            return small, None, None
        return "<rare>", self._ending(word.lower()), shape(word) + ("^" if begins else "")

    def _ending(self, word: str) -> str:
        endings = (word[-n:] for n in range(min(LONGEST, len(word)), 0, -1))
        return next((end for end in endings if self.endings[end] >= LEAST), "")


def shape(word: str) -> str:
    """Return what a word looks like: digits, hyphens, capitals, punctuation."""
    marks = "d" * any(c.isdigit() for c in word) + "-" * ("-" in word) + "p" * (not any(c.isalnum() for c in word))
    return marks + ("A" if word.isupper() and len(word) > 1 else "a" if word[:1].isupper() else "")


def tagger(corpus: Corpus, weights: np.ndarray | None = None, columns: tuple[str, ...] = COLUMNS) -> Any:
    """Return a function that tags a corpus, learned from tags; sentences may have weights."""
    lexicon = Lexicon(corpus.words)
    parts = [lexicon.columns(corpus, least, columns, i * 10**9) for i, least in enumerate((1, RARE + 1))]
    frame = {name: list(parts[0][name]) + list(parts[1][name]) for name in parts[0]}
    own = np.ones(int(corpus.begins.sum())) if weights is None else weights
    emissions = {name: Categorical(alpha=ALPHAS[name]) for name in columns}
    hmm = tb.HiddenMarkovModel(sequence="sentence", alpha=1.05, emissions=emissions)
    hmm.fit(frame, np.tile(corpus.tags, 2), sample_weight=np.concatenate([own, RARE_WEIGHT * own]))
    return lambda other: hmm.predict(lexicon.columns(other, 1, columns))


def run() -> Section:
    data = shared()
    if data is None:
        return skipped("the development data are not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tb.UnseenStateWarning)  # endings that no rare word had
        return [Grid(("tagging MASC", "accuracy", "goal"), tuple(_tags(data))), *_proteins(data)]


def _tags(data: Path) -> list[tuple[str, ...]]:
    corpus = _read(data / "sequences" / "masc_pos.csv.gz")
    rest = corpus.sentences % 10
    train, test = corpus.take(rest != 0), corpus.take(rest == 0)
    some = corpus.take(rest == 2)
    known: dict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in zip(train.words.tolist(), train.tags.tolist(), strict=True):
        known[word][tag] += 1
    usual = np.array([known[w].most_common(1)[0][0] if w in known else "NN" for w in test.words.tolist()])
    few = tagger(some)
    guessed = Corpus(train.words, np.where(train.sentences % 10 == 2, train.tags, few(train)), train.sentences)
    weights = np.where(train.sentences[train.begins] % 10 == 2, 1.0, PREDICTED_WEIGHT)
    rows = [
        ("the most frequent tag of each word", usual, "92.53 %"),
        ("bigram HMM, words only", tagger(train, columns=("word",))(test), "≥ 95.0 %"),
        ("bigram HMM, endings and shapes of rare words", tagger(train)(test), "≥ 96 %"),
        ("10 % of the tags", few(test), ""),
        ("10 % of the tags, the rest as predicted with weight 0.1", tagger(guessed, weights)(test), "not below"),
    ]
    return [(name, f"{(found == test.tags).mean():.2%}", goal) for name, found, goal in rows]


def _read(path: Path) -> Corpus:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    sentences, words, tags = (np.array(column) for column in list(zip(*rows, strict=True))[2:])
    return Corpus(words, tags, sentences.astype(np.int64))


def _proteins(data: Path) -> Section:
    with (data / "sequences" / "protein_secondary_structure.csv").open() as file:
        rows = list(csv.DictReader(file))
    train, test = ([r for r in rows if r["split"] == part] for part in ("train", "test"))
    hmm = tb.HiddenMarkovModel(alpha=2.0)  # one imagined transition of each kind
    hmm.fit([r["sequence"] for r in train], [list(r["structure"]) for r in train])
    truth = np.concatenate([list(r["structure"]) for r in test])
    proba = np.concatenate(hmm.predict_proba([r["sequence"] for r in test]))
    found = np.array(hmm.state_names_)[proba.argmax(axis=1)]
    lines = (
        ("all coil", f"{(truth == '_').mean():.2%}", "54.63 %"),
        ("3-state HMM, most probable state of each residue", f"{(found == truth).mean():.2%}", "59.69 %"),
    )
    return [Grid(("protein secondary structure", "Q3", "published"), lines)]
