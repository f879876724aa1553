"""Text classification by the textbook: regular expressions, dicts of words, plain loops over words and classes."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from tunbridge.kernels import compiled

WORD = {"words": r"\w+", "letters": r"[^\W\d_]+", "words and marks": r"\w+|[^\w\s]"}
_BITS = 2**64


@contextmanager
def by_kernels(yes: bool) -> Iterator[None]:
    """Have documents read and scored by compiled kernels, whatever their number, or without any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "is_worth", lambda kernel, size, few=0: yes)
        yield


def ngrams_of(text, *, units="words", low=1, high=1, lower_case=True, shortest=2):
    """Return the n-grams of a text, in their order, shorter ones first."""
    text = text or ""
    text = text.lower() if lower_case else text
    if units == "characters":
        parts, glue = list(re.sub(r"\s+", " ", text)), ""
    else:
        found = re.findall(WORD[units], text)
        parts, glue = [p for p in found if len(p) >= shortest or not re.match(r"\w", p)], " "
    return [glue.join(parts[i : i + n]) for n in range(low, high + 1) for i in range(len(parts) - n + 1)]


def fnv(data: bytes) -> int:
    """Return Fowler, Noll & Vo's hash (FNV-1a, 64 bits), its bits mixed at the end."""
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 % _BITS
    h = (h ^ h // 2**32) * 0xFF51AFD7ED558CCD % _BITS
    return h ^ h // 2**32


def named(found, vocabulary):
    """Return counts (Documents) as one dict of words for each document, in the order in which they are met."""
    names = vocabulary.names()
    starts = found.starts.tolist()
    words, counts = [names[w] for w in found.words.tolist()], found.counts.tolist()
    return [dict(zip(words[a:b], counts[a:b], strict=True)) for a, b in pairwise(starts)]


def values_of(counts, how="raw", length=None):
    """Return what the counts of a document become."""
    change = {"raw": float, "log": math.log1p, "binary": lambda n: 1.0}[how]
    values = {w: change(n) for w, n in counts.items()}
    if length is None or not values:
        return values
    if length == "unit":
        size = math.sqrt(sum(v * v for v in values.values()))
        return {w: v / size for w, v in values.items()}
    return {w: v * length / sum(values.values()) for w, v in values.items()}


class PlainText:
    """Naive Bayes for words from dicts.

    ``cut`` gives how documents are cut (as in ``ngrams_of``), ``how`` and ``length`` what counts become, ``added`` what
    is added to each word: a number, or ("marginal", m). Words in fewer than ``min_documents`` documents, or occurring
    less often than ``min_count``, or among ``stopped`` are not used.
    """

    def __init__(self, model, *, cut=None, how="raw", length=None, idf=False, added=1.0, prior=None, **selection):
        self.model, self.cut, self.how, self.length, self.idf = model, cut or {}, how, length, idf
        self.added, self.prior, self.selection = added, prior, selection

    def fit(self, texts, classes, weights=None):
        weights = [1.0] * len(texts) if weights is None else weights
        self.mass = dict.fromkeys(sorted(set(classes)), 0.0)
        amounts, documents, occurrences = defaultdict(float), defaultdict(float), defaultdict(float)
        for text, c, weight in zip(texts, classes, weights, strict=True):
            self.mass[c] += weight
            if weight == 0:
                continue
            counts = Counter(ngrams_of(text, **self.cut))
            for w, v in values_of(counts, self.how, self.length).items():
                amounts[w, c] += weight * v
                documents[w, c] += weight
                occurrences[w] += weight * counts[w]
        self.n = sum(self.mass.values())
        self.in_documents = {w: sum(documents[w, c] for c in self.mass) for w in list(occurrences)}
        self.words = [w for w in occurrences if self._is_used(w, occurrences[w])]
        self.amounts = {(w, c): amounts[w, c] * self._factor(w) for w in self.words for c in self.mass}
        self.documents = {(w, c): documents[w, c] for w in self.words for c in self.mass}
        return self

    def _is_used(self, w, occurrences):
        fewest, least = self.selection.get("min_documents", 0), self.selection.get("min_count", 0)
        enough = self.in_documents[w] >= fewest and occurrences >= least
        return enough and w not in self.selection.get("stopped", ())

    def _factor(self, w):
        return 1 + math.log((self.n + 1) / (self.in_documents[w] + 1)) if self.idf else 1.0

    def _added(self, w):
        if not isinstance(self.added, tuple):
            return self.added
        total = sum(self.amounts.values())
        return self.added[1] * sum(self.amounts[w, c] for c in self.mass) / total

    def weight(self, w, c):
        """Return what one occurrence of a word adds to the score of a class."""
        inside = {v: self.amounts[v, c] for v in self.words}
        every = {v: sum(self.amounts[v, d] for d in self.mass) for v in self.words}
        a = {v: self._added(v) for v in self.words}
        if self.model == "multinomial":
            return math.log((inside[w] + a[w]) / (sum(inside.values()) + sum(a.values())))
        outside = sum(every.values()) - sum(inside.values()) + sum(a.values())
        return -math.log((every[w] - inside[w] + a[w]) / outside)

    def log_joint(self, text):
        """Return log P(x, c) for each class, in order."""
        values = values_of(Counter(ngrams_of(text, **self.cut)), self.how, self.length)
        known = {w: v * self._factor(w) for w, v in values.items() if w in self.words}
        prior = self.prior or {c: m / self.n for c, m in self.mass.items()}
        start = {c: math.log(prior[c]) if prior[c] else -math.inf for c in self.mass}
        if not known:
            return list(start.values())
        if self.model == "bernoulli":
            return [start[c] + self._bernoulli(known, c) for c in self.mass]
        weights = {(w, c): self.weight(w, c) for w in self.words for c in self.mass}
        if self.model == "normalised-complement":
            sums = {c: sum(weights[w, c] for w in self.words) for c in self.mass}
            mean = sum(sums.values()) / len(sums)
            if all(s > 0 for s in sums.values()):
                weights = {(w, c): v * mean / sums[c] for (w, c), v in weights.items()}
        return [start[c] + sum(v * weights[w, c] for w, v in known.items()) for c in self.mass]

    def _bernoulli(self, known, c):
        total = 0.0
        for w in self.words:
            p = (self.documents[w, c] + self.added) / (self.mass[c] + 2 * self.added)
            total += math.log(p) if w in known else math.log(1 - p)
        return total
