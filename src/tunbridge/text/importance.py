"""The importance of words for the class over all documents.

**Information.** The mutual information of the presence of a word in a document and the class is

    N · I(W; C) = Σ_c [n(d_wc) + n(N_c − d_wc) − n(N_c)] − n(D_w) − n(N − D_w) + n(N),   n(x) = x log x,

where d_wc of the N_c documents of class c contain the word, and D_w and N are the sums over the classes. A class
without the word adds nothing, so only stored counts are read, for any number of classes.

**Expected weight.** In the Bernoulli model a word is in a document of class c with probability p_c, and in one of the
others with q_c, the mean of theirs. Its presence or absence moves the log-odds of the true class on average by

    Σ_c P(c) [p_c log p_c/q_c + (1 − p_c) log (1 − p_c)/(1 − q_c)],

a mean of Kullback-Leibler divergences, which is never negative. The other models have no probability that a word is in
a document, and give its absence no weight; the mean weight of its occurrences alone can be negative for a word that is
typical of a rare class. It is not a measure of importance, and is not offered.

References
----------
Y. Yang, J. O. Pedersen (1997). A comparative study on feature selection in text categorization. ICML, 412–420.
I. J. Good (1950). Probability and the Weighing of Evidence. Griffin, London.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, rel_entr

from tunbridge._core.threads import row_pieces
from tunbridge.counts.information import entropy, n_log_n
from tunbridge.decisions.importance import Importance, importance
from tunbridge.errors import DataError
from tunbridge.text.documents import Documents, Vocabulary
from tunbridge.text.naive import DenseWeights, Weights, WordScores, rest_of
from tunbridge.text.statistics import TextStatistics

_CELLS_AT_ONCE = 1_000_000


def word_importance(model: WordScores, statistics: TextStatistics, method: str) -> Importance:
    """Return the importance of each word of a model, the most important first.

    Parameters
    ----------
    model : WordScores
        The model; of the Bernoulli kind for ``"weight"``.
    statistics : TextStatistics
        What it was derived from.
    method : {"information", "weight"}
        Mutual information of the word's presence with the class, or expected weight of evidence.
    """
    names = names_of(model.vocabulary, "importance")
    if method == "information":
        words = statistics.vocabulary.find(model.vocabulary.hashes)
        values = information(statistics, words)
    else:
        values = expected_weights(model.weights, len(names), statistics.class_weight)
    return importance(
        zip(names, values.tolist(), [()] * len(names), strict=True),
        method=method,
        target=statistics.target.name,
        entropy=entropy(statistics.class_weight),
    )


def names_of(vocabulary: Vocabulary, what: str) -> list[str]:
    """Return the words; raise if only their hashes were kept."""
    if len(vocabulary) and not len(vocabulary.ends):
        raise DataError(
            f"{what} must have words with names; with n_buckets only their hashes are kept. Use n_buckets=0.",
            parameter="n_buckets",
        )
    return vocabulary.names()


def information(statistics: TextStatistics, words: np.ndarray) -> np.ndarray:
    """Return the mutual information of the presence of words with the class, in nats."""
    n_c, documents = statistics.class_weight, statistics.documents[words]
    if (total := float(n_c.sum())) <= 0.0:
        return np.zeros(len(words))
    of_class, of_word = n_c[documents.indices], documents.sum(axis=1)
    cells = n_log_n(documents.data) + n_log_n(rest_of(of_class, documents.data)) - n_log_n(of_class)
    where = np.repeat(np.arange(len(words)), np.diff(documents.indptr))
    within = np.bincount(where, cells, minlength=len(words))
    over = n_log_n(of_word) + n_log_n(rest_of(total, of_word)) - n_log_n(np.array(total))
    return np.maximum(0.0, (within - over) / total)


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
