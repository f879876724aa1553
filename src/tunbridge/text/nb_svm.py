"""NB-SVM: a linear model that starts from what naive Bayes knows of each word.

Naive Bayes counts words that always come together as if each said something of its own; a linear model that is learned
from whole documents does not, but has to find out what every word says from nothing. Wang and Manning (2012) let it
start from the log-count ratios of naive Bayes, one class c against the rest,

    r_wc = log (d_wc + a) / (d_c + a n)  −  log (D_w − d_wc + a) / (D − d_c + a n),

d_wc being the documents of class c that have word w, d_c their sum over the n words, D_w and D sums over all classes.
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
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tunbridge._memory import check_memory
from tunbridge.text.linear import LinearWeights
from tunbridge.text.tokens import TokenCounts
from tunbridge.text.word_scores import DenseWeights

_KEPT = np.float32


def log_count_ratios(documents: csr_array, added: float) -> np.ndarray:
    """Return r_wc, words × classes.

    Parameters
    ----------
    documents : csr_array of shape (n_words, n_classes)
        d_wc.
    added : float
        a, above zero.

    Examples
    --------
    >>> ratios = log_count_ratios(csr_array(np.array([[3.0, 0.0], [1.0, 1.0]])), 1.0)
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
    inside = of_class + added * n_words
    outside = of_class.sum() - of_class + added * n_words
    ratios = np.empty((n_words, n_classes), _KEPT)
    for c in range(n_classes):
        own = documents[:, [c]].toarray()[:, 0]
        ratios[:, c] = np.log((own + added) / inside[c]) - np.log((of_word - own + added) / outside[c])
    return ratios


def features(found: TokenCounts, words: np.ndarray, values: np.ndarray, n_words: int) -> csr_array:
    """Return documents × words: the values of the words that are known (number 0 or above)."""
    known = words >= 0
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[found.starts]
    matrix = csr_array((values[known], words[known], starts), shape=(len(starts) - 1, n_words))
    matrix.sort_indices()
    return matrix


def linear_weights(found: LinearWeights, ratios: np.ndarray, beta: float) -> DenseWeights:
    """Return what words say, the factors of their ratios mixed with the mean of these."""
    base = found.intercept - found.log_shares
    if beta == 1.0:
        return DenseWeights(found.weights, base)
    factors = np.divide(found.weights, ratios, out=np.zeros_like(found.weights), where=ratios != 0)
    means = np.abs(factors).mean(axis=0)
    return DenseWeights(((1.0 - beta) * means * ratios + beta * found.weights).astype(found.weights.dtype), base)


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
    sizes = {found.weights.shape[1], len(found.intercept), len(found.log_shares)}
    if found.weights.ndim != 2 or sizes != {n_classes}:
        raise ValueError("its linear weights do not belong to its classes")
    return found
