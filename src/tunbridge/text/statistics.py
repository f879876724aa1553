"""What a text classifier keeps of documents: the amount of each word in each class, and the number of its documents.

Most words occur in few classes, so the counts are sparse. Statistics of further documents can be merged: new words and
classes come last.

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

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tunbridge._core.packing import WeightArray, pack, unpack
from tunbridge.classifiers._classes import sorted_target
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import class_counts
from tunbridge.counts.information import entropy, n_log_n
from tunbridge.data import Variable
from tunbridge.decisions.importance import Importance, importance
from tunbridge.errors import DataError
from tunbridge.kernels import compiled
from tunbridge.kernels.text.tokens import add_by_class
from tunbridge.text.documents import Background, Documents, Vocabulary, sparse_rows, united
from tunbridge.text.naive import WordScores, expected_weights, names_of, rest_of
from tunbridge.text.nb_svm import LinearWeights
from tunbridge.text.tokens import Tokens
from tunbridge.text.weighting import Weighting

_CALLED = {"units": "tokens", "low": "ngrams", "high": "ngrams", "late": "model"}
_ROUNDING = 1.0 + 1e-6  # sums of weights in another order


@dataclass(frozen=True, eq=False)
class TextStatistics:
    """Words by class.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the documents of each class.
    vocabulary : Vocabulary
        The words that occur.
    occurrences : ndarray of shape (n_words,)
        How often each occurs in all documents.
    amounts : csr_array of shape (n_words, n_classes)
        The amount of each word in the documents of each class: how often it occurs, or the sum of its weighted counts
        (:class:`Weighting`).
    documents : csr_array of shape (n_words, n_classes)
        The number (or weight) of the documents of each class that contain each word; the same cells.
    tokens : Tokens
        How the documents were split.
    weighting : Weighting
        What their counts became.
    column : str, optional
        The name of the column of documents.
    background : Background, optional
        What is known of the words from more documents than were counted.
    linear : LinearWeights, optional
        The linear model of the words that are used, learned from all documents at once.
    """

    target: Variable
    class_weight: np.ndarray
    vocabulary: Vocabulary
    occurrences: np.ndarray
    amounts: csr_array
    documents: csr_array
    tokens: Tokens
    weighting: Weighting
    column: str | None = None
    background: Background | None = None
    linear: LinearWeights | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """No features."""
        return ()

    @property
    def overall(self) -> Background:
        """What is known of the words in all classes together."""
        if self.background is not None:
            return self.background
        amounts, documents = (np.asarray(matrix.sum(axis=1), np.float64) for matrix in (self.amounts, self.documents))
        return Background(self.occurrences, amounts, documents, float(self.class_weight.sum()))

    def merge(self, other: TextStatistics) -> TextStatistics:
        """Return the statistics of the documents of both, which must have been split and counted alike."""
        _check_alike(self.tokens, other.tokens)
        _check_alike(self.weighting, other.weighting)
        if self.linear is not None or other.linear is not None:
            raise DataError("nb-svm must be learned from all documents at once; got further ones.")
        target = sorted_target(self.target, other.target)
        vocabulary, numbers = united([self.vocabulary, other.vocabulary])
        shape = (len(vocabulary), target.n_states)
        weight, occurrences = np.zeros(target.n_states), np.zeros(len(vocabulary))
        parts = []
        for each, words in zip((self, other), numbers, strict=True):
            classes = np.array([target.code(s) for s in each.target.states or ()], np.int32)
            weight[classes] += each.class_weight
            occurrences[words] += each.occurrences
            parts.append([_placed(matrix, words, classes, shape) for matrix in (each.amounts, each.documents)])
        amounts, documents = (mine + more for mine, more in zip(*parts, strict=True))
        column = self.column if self.column is not None else other.column
        background = self.background if vocabulary is self.vocabulary else None
        both = (target, weight, vocabulary, occurrences, amounts, documents)
        return TextStatistics(*both, self.tokens, self.weighting, column, background)

    # Files

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a model file."""
        own = {name: getattr(self, name) for name in ("target", "class_weight", "occurrences", "column")}
        words = {"hashes": self.vocabulary.hashes, "pool": self.vocabulary.pool, "ends": self.vocabulary.ends}
        amounts = self.amounts
        cells = {"starts": amounts.indptr.astype(np.int64), "classes": amounts.indices.astype(np.int32)}
        values = {"amounts": amounts.data, "documents": self.documents.data}
        how = {name: pack(getattr(self, name)) for name in ("tokens", "weighting", "linear", "background")}
        return {**own, **words, **cells, **values, **how}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> TextStatistics:
        """Return the statistics in a model file; raise ValueError if they do not belong together."""
        target, class_weight = class_counts(content)
        starts, classes = content["starts"], content["classes"]
        n_words, n_classes, n_cells = len(starts) - 1, target.n_states, len(classes)
        values = {name: unpack(WeightArray, content[name]) for name in ("occurrences", "amounts", "documents")}
        shapes = [each.shape for each in values.values()]
        if not _is_csr(starts, classes, n_classes) or shapes != [(n_words,), (n_cells,), (n_cells,)]:
            raise ValueError("its parts do not belong together")
        vocabulary = Vocabulary(content["hashes"], content["pool"], content["ends"])
        if not vocabulary.is_whole() or len(vocabulary) != n_words:
            raise ValueError("its words do not belong together")
        if (values["documents"] > _ROUNDING * class_weight[classes]).any():
            raise ValueError("it has words in more documents than there are")
        amounts, documents = (sparse_rows(values[k], classes, starts, n_classes) for k in ("amounts", "documents"))
        background = unpack(Background | None, content["background"])
        if background is not None and not background.is_whole(n_words):
            raise ValueError("its background does not belong to its words")
        column, linear = unpack(str | None, content["column"]), unpack(LinearWeights | None, content["linear"])
        if linear is not None and not linear.is_whole(n_classes):
            raise ValueError("its linear weights do not belong to its classes")
        found = (target, class_weight, vocabulary, values["occurrences"], amounts, documents)
        how = (unpack(Tokens, content["tokens"]), unpack(Weighting, content["weighting"]))
        return cls(*found, *how, column, background, linear)


def _check_alike(before: Tokens | Weighting, now: Tokens | Weighting) -> None:
    """Raise if further documents are split or counted in another way than earlier ones."""
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(now, field.name)
        if old != new:
            name = _CALLED.get(field.name, field.name)
            rule = f"{name} must not change between calls of partial_fit; got {new!r} after {old!r}."
            raise DataError(f"{rule} Call fit to start again.", parameter=name)


def collect(examples: Examples, weighting: Weighting, tokens: Tokens) -> TextStatistics:
    """Return the statistics of documents; those of weight zero add nothing, not even words."""
    rows, classes, target = examples.rows, examples.classes, examples.target
    mass, vocabulary = _mass(rows, examples.weights), rows.vocabulary
    amounts, documents = _by_class(rows, classes, target.n_states, mass, weighting.within(rows))
    occurrences = np.bincount(rows.words, rows.spread(mass) * rows.counts, minlength=len(vocabulary))
    if rows.background is None:
        occurs = np.flatnonzero(np.diff(amounts.indptr))
        vocabulary, occurrences = vocabulary.take(occurs), occurrences[occurs]
        amounts, documents = amounts[occurs], documents[occurs]
    parts = (target, examples.class_weight, vocabulary, occurrences, amounts, documents, tokens, weighting)
    return TextStatistics(*parts, column=rows.column, background=rows.background)


def overall_of(rows: Documents, weights: np.ndarray | None, weighting: Weighting) -> Background:
    """Return what documents say of words in all classes together."""
    mass = _mass(rows, weights)
    each, n_words = rows.spread(mass), len(rows.vocabulary)
    values = (rows.counts, weighting.within(rows), np.ones(len(rows.words)))
    occurrences, amounts, documents = (np.bincount(rows.words, each * v, minlength=n_words) for v in values)
    return Background(occurrences, amounts, documents, float(mass.sum()))


def _mass(rows: Documents, weights: np.ndarray | None) -> np.ndarray:
    return np.ones(rows.n_rows) if weights is None else np.require(weights, np.float64, ["C", "W"])


def _by_class(
    rows: Documents, classes: np.ndarray, n_classes: int, mass: np.ndarray, values: np.ndarray
) -> tuple[csr_array, ...]:
    """Return the sum of the values of each word in each class, words × classes, and the weight of its documents."""
    n_words, n = len(rows.vocabulary), len(rows.words)
    some = np.flatnonzero(mass > 0)
    order = some[np.argsort(classes[some], kind="stable")]
    limits = np.searchsorted(classes[order], np.arange(n_classes + 1))
    words, sums, documents = np.empty(n, np.int32), np.empty(n), np.empty(n)
    starts, places = np.zeros(n_classes + 1, np.int64), np.full(n_words, -1, np.int64)
    run = compiled.ready(add_by_class, n)
    run(order, limits, rows.starts, rows.words, values, mass, places, starts, words, sums, documents)
    cut = slice(0, starts[-1])
    return tuple(_transposed(sparse_rows(each[cut], words[cut], starts, n_words)) for each in (sums, documents))


def _transposed(matrix: csr_array) -> csr_array:
    """Return the transposed matrix, stored by rows."""
    by_column = matrix.tocsc()
    by_column.sort_indices()
    return sparse_rows(by_column.data, by_column.indices, by_column.indptr, matrix.shape[0])


def _is_csr(starts: np.ndarray, columns: np.ndarray, n_columns: int) -> bool:
    """Return whether arrays are the rows of a sparse matrix."""
    if starts.ndim != 1 or columns.ndim != 1 or starts.dtype.kind != "i" or columns.dtype.kind != "i":
        return False
    whole = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(columns) and bool((np.diff(starts) >= 0).all())
    return whole and (not len(columns) or bool(columns.min() >= 0 and columns.max() < n_columns))


def _placed(matrix: csr_array, words: np.ndarray, classes: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Return a matrix with its rows and columns in new places; rows that keep their places are not moved."""
    same = len(classes) == shape[1]
    if len(words) and (words[-1] != len(words) - 1 or not (np.diff(words) == 1).all()):
        whole = matrix.tocoo()
        return csr_array((whole.data, (words[whole.row], classes[whole.col])), shape=shape)
    starts = np.concatenate([matrix.indptr, np.full(shape[0] - len(words), matrix.indptr[-1], matrix.indptr.dtype)])
    return csr_array((matrix.data, matrix.indices if same else classes[matrix.indices], starts), shape=shape)


# The importance of words


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
