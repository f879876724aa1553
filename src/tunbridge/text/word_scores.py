"""The model behind every naive Bayes text classifier: log P(x, c) as a sum over the words of a document.

A word w of value v (how often it occurs, or what :class:`~tunbridge.text.weighting.Weighting` makes of that) adds
v (s_wc + a_w b_c + d_c) to the score of class c. Smoothing gives every word something in every class; what it gives
where a word has never been seen in a class depends on the word alone and on the class alone, a_w b_c + d_c, so that s
need only be kept where it has been seen. Words that are unknown add nothing, and a document without known words gets
the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.posteriors import Finish
from tunbridge.text.documents import Documents
from tunbridge.text.plain import is_worth_a_kernel
from tunbridge.text.tokens import TokenCounts
from tunbridge.text.vocabulary import Vocabulary
from tunbridge.text.weighting import Weighting

_PIECE_ROWS = 512


@dataclass(frozen=True, eq=False)
class Weights:
    """What words add to the score of each class.

    Parameters
    ----------
    seen : csr_array of shape (n_words, n_classes)
        s, where words have been seen in classes.
    own : ndarray of shape (n_words,)
        a.
    each : ndarray of shape (2, n_classes)
        b and d.
    base : ndarray of shape (n_classes,)
        What every document with a known word adds.
    log_density : float
        The logarithm of the prior density (up to a constant) whose maximum the smoothed probabilities are; 0 where they
        are no maximum.
    """

    seen: csr_array
    own: np.ndarray
    each: np.ndarray
    base: np.ndarray
    log_density: float = 0.0

    def rows(self, words: np.ndarray) -> np.ndarray:
        """Return what each of some words adds, words × classes."""
        return self.seen[words].toarray() + self.own[words, None] * self.each[0] + self.each[1]

    def add(self, starts: np.ndarray, words: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        """Add what documents say to their scores, documents × classes; unknown words are −1."""
        from tunbridge.kernels.tokens import add_scores

        seen = self.seen
        if is_worth_a_kernel(add_scores, len(words)):
            add_scores(starts, words, values, seen.indptr, seen.indices, seen.data, self.own, self.each, out)
            return
        known = words >= 0
        documents = np.repeat(np.arange(len(out)), np.diff(starts))[known]
        np.add.at(out, documents, values[known, None] * self.rows(words[known]))


@dataclass(frozen=True, eq=False)
class DenseWeights:
    """What words add to the score of each class, every one of them kept.

    Parameters
    ----------
    all : ndarray of shape (n_words, n_classes)
        What each word adds.
    base : ndarray of shape (n_classes,)
        What every document with a known word adds.
    """

    all: np.ndarray
    base: np.ndarray

    log_density = 0.0

    def rows(self, words: np.ndarray) -> np.ndarray:
        """Return what each of some words adds, words × classes."""
        return self.all[words].astype(np.float64)

    def add(self, starts: np.ndarray, words: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        """Add what documents say to their scores, documents × classes; unknown words are −1."""
        from tunbridge.kernels.tokens import add_dense_scores

        if is_worth_a_kernel(add_dense_scores, len(words)):
            add_dense_scores(starts, words, values, self.all, out)
            return
        known = words >= 0
        documents = np.repeat(np.arange(len(out)), np.diff(starts))[known]
        np.add.at(out, documents, values[known, None] * self.rows(words[known]))


@dataclass(frozen=True, eq=False)
class WordScores:
    """Documents scored by their words.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words that are known.
    weights : Weights or DenseWeights
        What they say.
    weighting : Weighting
        What counts of words become before they are scored.
    factors : ndarray of shape (n_words,), optional
        What the values of each word are multiplied with.
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    """

    vocabulary: Vocabulary
    weights: Weights | DenseWeights
    weighting: Weighting
    log_prior: np.ndarray
    factors: np.ndarray | None = None

    def log_table_prior(self) -> float:
        """Return the logarithm of the prior density (up to a constant) whose maximum the smoothed probabilities are."""
        return self.weights.log_density

    def joint(self, batch: Documents, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each document, (n_rows, n_classes); finish works on class × row pieces."""
        words, values = self.known(batch.counts)
        starts = batch.counts.starts
        out = np.empty((batch.n_rows, len(self.log_prior)))

        def fill(piece: tuple[int, int]) -> None:
            begin, end = starts[piece[0]], starts[piece[1]]
            scores = np.repeat(self.log_prior[None, :], piece[1] - piece[0], axis=0)
            own = starts[piece[0] : piece[1] + 1] - begin
            some = np.concatenate([[0], np.cumsum(words[begin:end] >= 0)])
            scores[some[own[1:]] > some[own[:-1]]] += self.weights.base
            self.weights.add(own, words[begin:end], values[begin:end], scores)
            out[piece[0] : piece[1]] = finish(scores.T).T

        map_threads(fill, row_pieces(batch.n_rows, _PIECE_ROWS), n_jobs)
        return out

    def known(self, counts: TokenCounts) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each word of each document among the known ones (−1: unknown), and its value."""
        words = self.vocabulary.find(counts.vocabulary.hashes)[counts.words]
        return words, self.weighting.of_known(counts, words, self.factors)
