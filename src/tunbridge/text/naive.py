"""Naive Bayes for words: the multinomial model, the Bernoulli model, and the complement of the classes.

**Multinomial.** Every position of a document of class c holds word w with probability

    P(w | c) = (n_wc + a_w) / (n_c + Σ_w a_w),

n_wc being how often w occurs in the documents of the class and n_c the sum of these. With a_w = 1 it is Laplace's rule
of the textbooks, (n_wc + 1) / (n_c + |vocabulary|) (Mitchell 1997, section 6.10); with a_w = m p_w the m-estimate.

**Bernoulli.** Every word is in a document or not, and known words that are absent are evidence too:
P(w in x | c) = (d_wc + a) / (N_c + 2 a), where d_wc of the N_c documents of the class contain w.

**Complement.** Rennie et al. (2003) measure how badly a document fits everything *outside* a class, of which there is
more data, and about as much for every class:

    log P(x, c) = log P(c) − Σ_w v_w log (N_w − n_wc + a_w) / (N − n_c + Σ_w a_w),

N_w and N being sums over all classes. Dependent words weigh too much in classes that have many of them; the weights of
a class may be divided by their sum (and multiplied by the mean of these sums, which keeps their scale).

**Scores.** In all of them log P(x, c) is a sum over the words of a document. A word w of value v (how often it occurs,
or what :class:`~tunbridge.text.weighting.Weighting` makes of that) adds v (s_wc + a_w b_c + d_c) to the score of class
c. Smoothing gives every word something in every class; for a word that never occurs in a class it is a product of
something of the word and something of the class, a_w b_c + d_c, so that s is only needed where it occurs. Unknown words
add nothing, and a document without known words gets the prior.

References
----------
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, chapter 6.
A. McCallum, K. Nigam (1998). A comparison of event models for naive Bayes text classification. AAAI workshop, 41–48.
J. D. M. Rennie, L. Shih, J. Teevan, D. R. Karger (2003). Tackling the poor assumptions of naive Bayes text classifiers.
ICML, 616–623.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, rel_entr

from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import Finish
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.kernels.text import tokens as kernels
from tunbridge.text.documents import Documents, Vocabulary
from tunbridge.text.weighting import Weighting

_CELLS_AT_ONCE = 1_000_000

_PIECE_ROWS = 512


@dataclass(frozen=True, eq=False)
class Weights:
    """What words add to the score of each class; s is kept only where words occur in classes.

    Parameters
    ----------
    seen : csr_array of shape (n_words, n_classes)
        s.
    own : ndarray of shape (n_words,)
        a.
    each : ndarray of shape (2, n_classes)
        b and d.
    base : ndarray of shape (n_classes,)
        What every document with a known word adds.
    log_density : float
        The log-density (up to a constant) of the prior for which the smoothed probabilities are the posterior mode; 0
        if there is none.
    """

    seen: csr_array
    own: np.ndarray
    each: np.ndarray
    base: np.ndarray
    log_density: float = 0.0

    def rows(self, words: np.ndarray) -> np.ndarray:
        """Return what some words add, words × classes."""
        return self.seen[words].toarray() + self.own[words, None] * self.each[0] + self.each[1]

    def add(self, starts: np.ndarray, words: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        """Add the words of documents to their scores, documents × classes; unknown words are −1."""
        run, seen = compiled.ready(kernels.add_scores, len(words)), self.seen
        run(starts, words, values, seen.indptr, seen.indices, seen.data, self.own, self.each, out)


@dataclass(frozen=True, eq=False)
class DenseWeights:
    """What words add to the score of each class, all of it kept.

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
        """Return what some words add, words × classes."""
        return self.all[words].astype(np.float64)

    def add(self, starts: np.ndarray, words: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        """Add the words of documents to their scores, documents × classes; unknown words are −1."""
        compiled.ready(kernels.add_dense_scores, len(words))(starts, words, values, self.all, out)


@dataclass(frozen=True, eq=False)
class WordScores:
    """Documents scored by their words.

    Parameters
    ----------
    vocabulary : Vocabulary
        The known words.
    weights : Weights or DenseWeights
        What they add to scores.
    weighting : Weighting
        What counts of words become before they are scored.
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    factors : ndarray of shape (n_words,), optional
        The idf factor of each word.
    """

    vocabulary: Vocabulary
    weights: Weights | DenseWeights
    weighting: Weighting
    log_prior: np.ndarray
    factors: np.ndarray | None = None

    def log_table_prior(self) -> float:
        """Return the log-density (up to a constant) of the prior that smoothing stands for."""
        return self.weights.log_density

    def joint(self, batch: Documents, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each document, (n_rows, n_classes); finish works on class × row pieces."""
        (words, values), starts = self.known(batch), batch.starts
        out = np.empty((batch.n_rows, len(self.log_prior)))

        def fill(piece: tuple[int, int]) -> None:
            begin, end = starts[piece[0]], starts[piece[1]]
            scores = np.repeat(self.log_prior[None, :], piece[1] - piece[0], axis=0)
            own = starts[piece[0] : piece[1] + 1] - begin
            some = np.concatenate([[0], np.cumsum(words[begin:end] >= 0)])
            scores[some[own[1:]] > some[own[:-1]]] += self.weights.base
            self.weights.add(own, words[begin:end], values[begin:end], scores)
            out[piece[0] : piece[1]] = finish(scores.T).T

        map_threads(fill, row_pieces(batch.n_rows, _PIECE_ROWS, len(self.log_prior)), n_jobs)
        return out

    def known(self, batch: Documents) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each word of each document among the known ones (−1: unknown), and its value."""
        words = self.vocabulary.find(batch.vocabulary.hashes)[batch.words]
        return words, self.weighting.of_known(batch, words, self.factors)


# Models


def multinomial(amounts: csr_array, added: np.ndarray) -> Weights:
    """Return log P(w | c) from the amounts of words in classes, and what is added to them.

    Parameters
    ----------
    amounts : csr_array of shape (n_words, n_classes)
        n_wc.
    added : ndarray of shape (n_words,)
        a_w, above zero.
    """
    total, log_added = amounts.sum(axis=0) + added.sum(), np.log(added)
    of_cell = added[_words(amounts)]
    seen = np.log(amounts.data + of_cell) - np.log(of_cell)
    unseen = len(total) * float(added @ log_added) - added.sum() * float(_log(total).sum())
    return Weights(
        _like(amounts, seen),
        own=log_added,
        each=np.stack([np.ones(len(total)), -_log(total)]),
        base=np.zeros(len(total)),
        log_density=unseen + float(of_cell @ seen),
    )


def bernoulli(documents: csr_array, class_weight: np.ndarray, added: float) -> Weights:
    """Return the log-odds of words from the documents that contain them, and the score of their absence.

    Parameters
    ----------
    documents : csr_array of shape (n_words, n_classes)
        d_wc.
    class_weight : ndarray of shape (n_classes,)
        N_c.
    added : float
        a, above zero.
    """
    of_class = class_weight[documents.indices]
    present = _log(documents.data + added) - _log(of_class + 2.0 * added)
    absent = _log(rest_of(of_class, documents.data) + added) - _log(of_class + 2.0 * added)
    never = np.log(added) - np.log(class_weight + 2.0 * added)
    not_there = np.log(class_weight + added) - np.log(class_weight + 2.0 * added)
    more = np.bincount(documents.indices, absent - not_there[documents.indices], minlength=len(class_weight))
    unseen = documents.shape[0] * float((never + not_there).sum())
    seen = float((present + absent - (never + not_there)[documents.indices]).sum())
    return Weights(
        _like(documents, present - absent - (never - not_there)[documents.indices]),
        own=np.zeros(documents.shape[0]),
        each=np.stack([np.zeros(len(class_weight)), never - not_there]),
        base=documents.shape[0] * not_there + more,
        log_density=added * (unseen + seen),
    )


def complement(amounts: csr_array, added: np.ndarray, *, normalise: bool) -> Weights:
    """Return −log P(w | not c) from the amounts of words in classes.

    Parameters
    ----------
    amounts : csr_array of shape (n_words, n_classes)
        n_wc.
    added : ndarray of shape (n_words,)
        a_w, above zero.
    normalise : bool
        Whether the weights of all classes get the same sum.
    """
    n_words = amounts.shape[0]
    of_word, of_class = amounts.sum(axis=1), amounts.sum(axis=0)
    own = np.log(of_word + added)
    outside, words = _log(rest_of(of_class.sum(), of_class) + added.sum()), _words(amounts)
    seen = own[words] - np.log(rest_of(of_word[words], amounts.data) + added[words])
    each = np.stack([-np.ones(len(of_class)), outside])
    if normalise and n_words:
        sums = n_words * outside - own.sum() + np.bincount(amounts.indices, seen, minlength=len(of_class))
        scale = sums.mean() / sums if (sums > 0).all() else np.ones(len(sums))
        seen, each = seen * scale[amounts.indices], each * scale
    return Weights(_like(amounts, seen), own=own, each=each, base=np.zeros(len(of_class)))


def scaled(amounts: csr_array, factors: np.ndarray) -> csr_array:
    """Return amounts with those of each word multiplied by a factor."""
    return _like(amounts, amounts.data * factors[_words(amounts)])


def _words(matrix: csr_array) -> np.ndarray:
    """Return the word of each stored cell."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _like(matrix: csr_array, data: np.ndarray) -> csr_array:
    """Return a matrix with other values in the same cells."""
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def rest_of(whole: np.ndarray | float, part: np.ndarray) -> np.ndarray:
    """Return whole − part; rounding may make it slightly negative, which becomes 0."""
    return np.maximum(whole - part, 0.0)


def _log(values: np.ndarray) -> np.ndarray:
    """Return logarithms; values are above zero unless there are no words."""
    return np.log(np.where(values > 0.0, values, 1.0))


# What words tell


def names_of(vocabulary: Vocabulary, what: str) -> list[str]:
    """Return the words; raise if only their hashes were kept."""
    if len(vocabulary) and not len(vocabulary.ends):
        raise DataError(
            f"{what} must have words with names; with n_buckets only their hashes are kept. Use n_buckets=0.",
            parameter="n_buckets",
        )
    return vocabulary.names()


def expected_weights(weights: Weights | DenseWeights, n_words: int, class_weight: np.ndarray) -> np.ndarray:
    """Return the expected weight of evidence of words, given the log-odds of their presence in each class."""
    found, others = np.zeros(n_words), class_weight.sum() - class_weight
    used = (class_weight > 0) & (others > 0)  # not a class without documents, or the only one
    if not used.any():
        return found
    share = class_weight[used] / class_weight[used].sum()
    for start, stop in row_pieces(n_words, max(1, _CELLS_AT_ONCE // len(class_weight))):
        p = expit(weights.rows(np.arange(start, stop)))
        q = ((p @ class_weight)[:, None] - p * class_weight)[:, used] / others[used]
        p, q = p[:, used], np.clip(q, 0.0, 1.0)
        found[start:stop] = (rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)) @ share
    return np.maximum(found, 0.0)


def heaviest_words(model: WordScores, position: int, n: int) -> dict[str, float]:
    """Return the n words of largest weight for a class, each alone, against the mean of the other classes.

    Parameters
    ----------
    model : WordScores
        The model.
    position : int
        The class.
    n : int
        How many words.
    """
    n_words, n_classes = len(model.vocabulary), len(model.log_prior)
    weights = np.zeros(n_words)
    for start, stop in row_pieces(n_words, max(1, _CELLS_AT_ONCE // n_classes)):
        rows = model.weights.rows(np.arange(start, stop))
        others = (rows.sum(axis=1) - rows[:, position]) / max(1, n_classes - 1)
        weights[start:stop] = rows[:, position] - others
    weights *= _alone(model)
    best = np.argsort(-weights, kind="stable")[:n]
    names = names_of(model.vocabulary.take(best), "top_words")
    return dict(zip(names, weights[best].tolist(), strict=True))


def _alone(model: WordScores) -> np.ndarray:
    """Return the value of each word in a document that contains it once and nothing else."""
    n_words = len(model.vocabulary)
    each, once = np.arange(n_words, dtype=np.int32), np.ones(n_words, np.int32)
    _, values = model.known(Documents(model.vocabulary, np.arange(n_words + 1), each, once))
    return values
