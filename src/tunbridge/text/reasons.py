"""Why a text is given this class rather than that one: the words that spoke, and where they stand in the text.

A document's score is a sum over its words, so the log-odds of class c against c′ are one as well,

    log P(c | x)/P(c′ | x) = log P(c)/P(c′) + (b_c − b_c′) + Σ_w v_w (s_wc − s_wc′),

v_w being how often w occurs (or what the model makes of that), s_wc what it adds to the score of c, and b_c what a
document with a known word adds, where a model has such a term: in the Bernoulli model what the words say that are *not*
there, in a linear model its intercept. The weight of a word is its whole term. It is shared equally by the places where
the word stands; an n-gram shares what it has at a place equally among its units, and where n-grams overlap their shares
add up. What all places have is therefore what all words say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tunbridge.classifiers.base import difference
from tunbridge.decisions.evidence import Evidence
from tunbridge.text.documents import Documents
from tunbridge.text.explanation import Span, TextExplanation
from tunbridge.text.tokens import Tokens
from tunbridge.text.word_scores import WordScores

ABSENT = "words that are not there"
"""What the line of an explanation is called that says what the absence of known words tells."""

INTERCEPT = "intercept"
"""What the line is called of what every document with a known word adds, whatever its words."""


def text_explanations(
    model: WordScores,
    tokens: Tokens,
    batch: Documents,
    compared: Sequence[tuple[int, int]],
    *,
    classes: Sequence[Any],
    probabilities: np.ndarray,
    absence_speaks: bool,
) -> list[TextExplanation]:
    """Return why each document has one class rather than another, given the positions of both.

    Parameters
    ----------
    model : WordScores
        The model.
    tokens : Tokens
        How documents are cut.
    batch : Documents
        The documents.
    compared : sequence of (int, int)
        For each the class to explain and the one to compare it with.
    classes : sequence
        The classes.
    probabilities : ndarray of shape (n_rows, n_classes)
        Their probabilities.
    absence_speaks : bool
        Whether the weights are log-odds of the presence of words, and the base what the absence of all says.
    """
    words, values = model.known(batch.counts)
    starts, found = batch.counts.starts, []
    for row, (c, d) in enumerate(compared):
        own = slice(starts[row], starts[row + 1])
        said, base = _said(model, words[own], values[own], (c, d), absence_speaks)
        counts, hashes = batch.counts.counts[own], batch.vocabulary.hashes[batch.counts.words[own]]
        each = {
            mark: weight / n
            for mark, weight, n, word in zip(hashes.tolist(), said, counts.tolist(), words[own], strict=True)
            if word >= 0
        }
        evidence, spans, unknown = _placed(tokens, batch.text(row), each)
        told = TextExplanation(
            classes[c],
            classes[d],
            difference(model.log_prior[c], model.log_prior[d]),
            (*evidence, *_base(base, absence_speaks, len(model.vocabulary) - len(each))),
            dict(zip(classes, probabilities[row].tolist(), strict=True)),
            batch.text(row),
            spans,
            unknown,
            len(evidence),
        )
        found.append(told)
    return found


def _base(weight: float, absence_speaks: bool, n_absent: int) -> tuple[Evidence, ...]:
    """Return the line of what the known words that are absent say, or of an intercept; none where it says nothing."""
    if weight == 0.0:
        return ()
    return (Evidence(ABSENT, n_absent, weight) if absence_speaks else Evidence(INTERCEPT, 1, weight),)


def _said(
    model: WordScores, words: np.ndarray, values: np.ndarray, compared: tuple[int, int], absence_speaks: bool
) -> tuple[list[float], float]:
    """Return the weight of each word of a document (0 if unknown), and that of what is there besides."""
    known = words >= 0
    weights = np.zeros(len(words))
    if not known.any():
        return weights.tolist(), 0.0
    scores, base = model.weights.rows(words[known])[:, compared], model.weights.base[list(compared)]
    terms = values[known, None] * scores
    if absence_speaks:
        absent = -np.logaddexp(0.0, scores)  # log P(w not in x | c), from the log-odds that it is
        terms, base = terms + absent, base - absent.sum(axis=0)
    weights[known] = terms[:, 0] - terms[:, 1]
    return weights.tolist(), float(base[0] - base[1])


def _placed(
    tokens: Tokens, text: str, each: Mapping[int, float]
) -> tuple[list[Evidence], tuple[Span, ...], tuple[str, ...]]:
    """Return the known n-grams of a text with their weights, where these are, and the units that are unknown.

    ``each`` has the weight of one occurrence of the n-grams that are known by a hash. Where several n-grams of the text
    share a hash bucket, each gets what its own occurrences have.
    """
    small = text.lower() if tokens.lower_case else text
    units = [(a, b) for _, a, b in replace(tokens, low=1, high=1).ngrams(small)]
    firsts, lasts = {a: i for i, (a, _) in enumerate(units)}, {b: i for i, (_, b) in enumerate(units)}
    occurrences: dict[bytes, list[tuple[int, int]]] = {}
    for ngram, a, b in tokens.ngrams(small):
        occurrences.setdefault(ngram, []).append((firsts[a], lasts[b] + 1))
    weights: list[float | None] = [None] * len(units)
    evidence = []
    for (ngram, where), mark in zip(occurrences.items(), tokens.hashes_of(list(occurrences)).tolist(), strict=True):
        if (weight := each.get(mark)) is None:
            continue
        evidence.append(Evidence(ngram.decode(), len(where), weight * len(where)))
        for first, last in where:
            for i in range(first, last):
                weights[i] = (weights[i] or 0.0) + weight / (last - first)
    unknown = (small[a:b] for (a, b), weight in zip(units, weights, strict=True) if weight is None)
    return (
        sorted(evidence, key=lambda e: -abs(e.weight)),
        _spans(units, weights, places(text, small)),
        tuple(dict.fromkeys(unit for unit in unknown if not unit.isspace())),
    )


def _spans(units: Sequence[tuple[int, int]], weights: Sequence[float | None], where: Sequence[int]) -> tuple[Span, ...]:
    """Return the places of units that spoke; those that stand within one character of the original text are one."""
    found: list[Span] = []
    for (a, b), weight in zip(units, weights, strict=True):
        if weight is None:
            continue
        start, end = where[a], where[b - 1] + 1
        if found and start < found[-1].end:
            start, weight = found[-1].start, found.pop().weight + weight
        found.append(Span(start, end, weight))
    return tuple(found)


def places(text: str, small: str) -> Sequence[int]:
    """Return for each character of a text in small letters which character of the text it comes from.

    Examples
    --------
    The capital I with a dot becomes two characters, i and a dot above:

    >>> places("İzmir", "İzmir".lower())
    [0, 0, 1, 2, 3, 4]
    """
    if len(small) == len(text):
        return range(len(text))
    return [i for i, character in enumerate(text) for _ in character.lower()]
