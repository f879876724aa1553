"""Naive Bayes for words: the multinomial model, the Bernoulli model, and the complement of the classes.

**Multinomial.** Every position of a document of class c holds word w with probability

    P(w | c) = (n_wc + a_w) / (n_c + Σ_w a_w),

n_wc being how often w occurs in the documents of the class and n_c the sum of these. With a_w = 1 it is Laplace's rule
of the textbooks, (n_wc + 1) / (n_c + |vocabulary|) (Mitchell 1997, section 6.10); with a_w = m p_w the m-estimate.

**Bernoulli.** Every word is in a document or not, the known ones that are absent also speak:
P(w in x | c) = (d_wc + a) / (N_c + 2 a), d_wc of N_c documents of the class having w.

**Complement.** Rennie et al. (2003) ask how badly a document fits everything *outside* a class, of which there is more,
and more equally much for all classes:

    log P(x, c) = log P(c) − Σ_w v_w log (N_w − n_wc + a_w) / (N − n_c + Σ_w a_w),

N_w and N being sums over all classes. Words that hang together weigh too much in classes that have many of them; the
weights of a class may be divided by their sum (and multiplied with the mean of these sums, so that their scale stays).

References
----------
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, chapter 6.
A. McCallum, K. Nigam (1998). A comparison of event models for naive Bayes text classification. AAAI workshop, 41–48.
J. D. M. Rennie, L. Shih, J. Teevan, D. R. Karger (2003). Tackling the poor assumptions of naive Bayes text classifiers.
ICML, 616–623.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tunbridge.text.word_scores import Weights


def multinomial(amounts: csr_array, added: np.ndarray) -> Weights:
    """Return log P(w | c) from how much of each word there is in each class, and what is added to it.

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
    """Return the log-odds of words from the documents that have them, and what their absence says.

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
    never, not_there = np.log(added) - np.log(class_weight + 2.0 * added), _log1(class_weight, added)
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
    """Return −log P(w | not c), from how much of each word there is in each class.

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
    """Return amounts with those of each word multiplied with a factor."""
    return _like(amounts, amounts.data * factors[_words(amounts)])


def _words(matrix: csr_array) -> np.ndarray:
    """Return the word of each cell that is kept."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _like(matrix: csr_array, data: np.ndarray) -> csr_array:
    """Return a matrix with other values in the same cells."""
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def rest_of(whole: np.ndarray | float, part: np.ndarray) -> np.ndarray:
    """Return what is left; sums of weights in another order may be a little less than nothing."""
    return np.maximum(whole - part, 0.0)


def _log1(class_weight: np.ndarray, added: float) -> np.ndarray:
    """Return the log-probability that a word is absent that was never there."""
    return np.log(class_weight + added) - np.log(class_weight + 2.0 * added)


def _log(values: np.ndarray) -> np.ndarray:
    """Return logarithms; values are above zero unless there are no words at all."""
    return np.log(np.where(values > 0.0, values, 1.0))
