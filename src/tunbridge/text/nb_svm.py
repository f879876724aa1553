"""NB-SVM: a linear model that starts from what naive Bayes knows of each word.

Naive Bayes counts words that always come together as if each said something of its own; a linear model that is learned
from whole documents does not, but has to find out what every word says from nothing. Wang and Manning (2012) let it
start from the log-count ratios of naive Bayes, one class c against the rest,

    r_wc = log (d_wc + a) / (d_c + a n)  −  log (D_w − d_wc + a) / (D − d_c + a n),

d_wc being the documents of class c that have word w, d_c their sum over the n words, D_w and D sums over all classes,
and a what smoothing adds (a_w, and Σ_w a_w in place of a n, where it differs from word to word).
What is learned are factors, v_wc = w_wc r_wc (:mod:`tunbridge.text.linear` says how), which may be mixed with their
mean,

    w′ = (1 − β) w̄_c + β w,

which leads from the linear model (β = 1) to one of nearly naive weights (β = 0).

References
----------
S. Wang, C. D. Manning (2012). Baselines and bigrams: simple, good sentiment and topic classification. ACL, 90–94.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tunbridge._check import check_number
from tunbridge._memory import check_memory
from tunbridge.text.linear import LinearWeights, check_settings, fit_linear
from tunbridge.text.naive import rest_of
from tunbridge.text.tokens import TokenCounts
from tunbridge.text.vocabulary import Vocabulary
from tunbridge.text.weighting import Weighting
from tunbridge.text.word_scores import DenseWeights

_KEPT = np.float32


@dataclass(frozen=True)
class LinearSettings:
    """How the linear model is learned.

    Parameters
    ----------
    penalty, centre, max_iter, tol
        As :func:`tunbridge.text.linear.fit_linear` has them.
    beta : float
        β, from 0 to 1.
    """

    penalty: float
    centre: float
    beta: float
    max_iter: int
    tol: float

    def __post_init__(self) -> None:
        check_settings(self.penalty, self.centre, self.max_iter, self.tol)
        check_number("beta", self.beta, low=0, high=1)

    def learn(
        self,
        documents: csr_array,
        ratios: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray | None,
        n_jobs: int | None,
    ) -> LinearWeights:
        """Return the linear model of documents (:func:`features`)."""
        return fit_linear(
            documents,
            ratios,
            classes,
            weights,
            penalty=self.penalty,
            centre=self.centre,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=n_jobs,
        )


def log_count_ratios(documents: csr_array, added: np.ndarray) -> np.ndarray:
    """Return r_wc, words × classes.

    Parameters
    ----------
    documents : csr_array of shape (n_words, n_classes)
        d_wc.
    added : ndarray of shape (n_words,)
        a_w, above zero.

    Examples
    --------
    >>> ratios = log_count_ratios(csr_array(np.array([[3.0, 0.0], [1.0, 1.0]])), np.ones(2))
    >>> [round(float(r), 2) for r in ratios[:, 0]]
    [0.69, -0.69]
    """
    n_words, n_classes = documents.shape
    check_memory(
        f"the weights of {n_words} words for {n_classes} classes",
        3.0 * n_words * n_classes * np.dtype(_KEPT).itemsize,
        ways_out="Leave out rare words (min_documents), or hash them into fewer buckets (n_buckets).",
    )
    of_class, of_word = documents.sum(axis=0), documents.sum(axis=1)
    inside = of_class + added.sum()
    outside = rest_of(of_class.sum(), of_class) + added.sum()
    ratios = np.empty((n_words, n_classes), _KEPT)
    for c in range(n_classes):
        own = documents[:, [c]].toarray()[:, 0]
        ratios[:, c] = np.log((own + added) / inside[c]) - np.log((rest_of(of_word, own) + added) / outside[c])
    return ratios


def features(found: TokenCounts, known: Vocabulary, weighting: Weighting, factors: np.ndarray | None) -> csr_array:
    """Return documents × known words: the values with which the words are scored."""
    words = known.find(found.vocabulary.hashes)[found.words]
    values, some = weighting.of_known(found, words, factors), words >= 0
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(some)])[found.starts]
    matrix = csr_array((values[some], words[some], starts), shape=(len(starts) - 1, len(known)))
    matrix.sort_indices()
    return matrix


def linear_weights(found: LinearWeights, ratios: np.ndarray | None, beta: float) -> DenseWeights:
    """Return what words say, the factors of their ratios (not needed if β = 1) mixed with the mean of these."""
    base = found.intercept - found.log_shares
    if ratios is None:
        return DenseWeights(found.weights, base)
    factors = np.divide(found.weights, ratios, out=np.zeros_like(found.weights), where=ratios != 0)
    means = np.abs(factors).mean(axis=0) if len(factors) else np.zeros(len(base))
    return DenseWeights(((1.0 - beta) * means * ratios + beta * found.weights).astype(found.weights.dtype), base)


def linear_of_words(found: LinearWeights | None, n_words: int) -> LinearWeights:
    """Return a linear model; raise ValueError where there is none, or where it is one of other words."""
    if found is None or len(found.weights) != n_words:
        raise ValueError("its linear weights do not belong to its words")
    return found


def linear_content(found: LinearWeights | None) -> dict[str, Any] | None:
    """Return what a linear model has learned as content of a native file."""
    if found is None:
        return None
    return {**vars(found), "trace": list(found.trace)}


def linear_of(content: Mapping[str, Any] | None, n_classes: int) -> LinearWeights | None:
    """Return what ``linear_content`` wrote; raise ValueError where its parts do not belong together."""
    if content is None:
        return None
    found = LinearWeights(**{**content, "trace": tuple(float(v) for v in content["trace"])})
    arrays = (found.weights, found.intercept, found.log_shares)
    fits = [a.ndim for a in arrays] == [2, 1, 1] and {a.shape[-1] for a in arrays} == {n_classes}
    kinds = [a.dtype for a in arrays] == [_KEPT, np.float64, np.float64]
    if not (fits and kinds and all(np.isfinite(a).all() for a in arrays)):
        raise ValueError("its linear weights do not belong to its classes")
    return found
