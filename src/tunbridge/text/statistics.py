"""What a text classifier keeps of documents: for each word and class, how much of it there was and in how many.

Most words occur in few classes, so only what occurs is kept. Statistics of further documents can be added: words and
classes that are new come behind those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.text.documents import Background, Documents, sparse_rows
from tunbridge.text.linear import LinearWeights
from tunbridge.text.nb_svm import linear_content, linear_of
from tunbridge.text.plain import is_worth_a_kernel
from tunbridge.text.tokens import TokenCounts, Tokens
from tunbridge.text.vocabulary import Vocabulary, united
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
        How much of each word there is in the documents of each class: how often it occurs, or the sum of what
        :class:`Weighting` makes of that in each document.
    documents : csr_array of shape (n_words, n_classes)
        The number (or weight) of the documents of each class in which each word occurs; the same cells.
    tokens : Tokens
        How the documents were cut.
    weighting : Weighting
        What their counts became.
    column : str, optional
        What the column of documents was called.
    background : Background, optional
        What is known of the words from more documents than were counted.
    linear : LinearWeights, optional
        What a linear model has learned of the words that are used, from all documents at once.
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
        """No features: a document is not a row of cells."""
        return ()

    @property
    def overall(self) -> Background:
        """What is known of the words, whatever the class."""
        if self.background is not None:
            return self.background
        amounts, documents = (np.asarray(matrix.sum(axis=1), np.float64) for matrix in (self.amounts, self.documents))
        return Background(self.occurrences, amounts, documents, float(self.class_weight.sum()))

    def merge(self, other: TextStatistics) -> TextStatistics:
        """Return what would have been learned from the documents of both, which were cut and counted alike."""
        _check_alike(self.tokens, other.tokens)
        _check_alike(self.weighting, other.weighting)
        if self.linear is not None or other.linear is not None:
            raise DataError("a linear model must be learned from all documents at once; got further ones.")
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


def _check_alike(before: Tokens | Weighting, now: Tokens | Weighting) -> None:
    """Raise where further documents are cut or counted in another way than those before them."""
    for field in fields(before):
        old, new = getattr(before, field.name), getattr(now, field.name)
        if old != new:
            name = _CALLED.get(field.name, field.name)
            raise DataError(
                f"{name} must stay as it was for further documents; got {new!r} after {old!r}. fit learns anew."
            )


def collect(
    rows: Documents,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    weighting: Weighting,
    tokens: Tokens,
) -> TextStatistics:
    """Return the statistics of documents; those without weight say nothing, not even which words there are."""
    found, mass = rows.counts, _mass(rows, weights)
    amounts, documents = _by_class(rows, classes, target.n_states, mass, weighting.within(found))
    occurrences = np.bincount(found.words, _spread(found, mass) * found.counts, minlength=len(found.vocabulary))
    weight = np.bincount(classes, mass, minlength=target.n_states).astype(np.float64)
    vocabulary = found.vocabulary
    if rows.background is None:
        occurs = np.flatnonzero(np.diff(amounts.indptr))
        vocabulary, occurrences = vocabulary.take(occurs), occurrences[occurs]
        amounts, documents = amounts[occurs], documents[occurs]
    parts = (target, weight, vocabulary, occurrences, amounts, documents, tokens, weighting)
    return TextStatistics(*parts, column=rows.column, background=rows.background)


def overall_of(rows: Documents, weights: np.ndarray | None, weighting: Weighting) -> Background:
    """Return what documents say of words, whatever the class."""
    found, mass = rows.counts, _mass(rows, weights)
    each, n_words = _spread(found, mass), len(found.vocabulary)
    values = (found.counts, weighting.within(found), np.ones(len(found.words)))
    occurrences, amounts, documents = (np.bincount(found.words, each * v, minlength=n_words) for v in values)
    return Background(occurrences, amounts, documents, float(mass.sum()))


def _mass(rows: Documents, weights: np.ndarray | None) -> np.ndarray:
    return np.ones(rows.n_rows) if weights is None else np.require(weights, np.float64, ["C", "W"])


def _spread(found: TokenCounts, mass: np.ndarray) -> np.ndarray:
    """Return the weight of the document in which each word stands."""
    return np.repeat(mass, np.diff(found.starts))


def _by_class(
    rows: Documents, classes: np.ndarray, n_classes: int, mass: np.ndarray, values: np.ndarray
) -> tuple[csr_array, ...]:
    """Return what there is of each word in each class, words × classes: the sum of its values, and the documents."""
    from tunbridge.kernels.tokens import add_by_class

    found = rows.counts
    n_words, n = len(found.vocabulary), len(found.words)
    some = np.flatnonzero(mass > 0)
    order = some[np.argsort(classes[some], kind="stable")]
    if not is_worth_a_kernel(add_by_class, n):
        of_class = csr_array((mass[order], (classes[order], order)), shape=(n_classes, rows.n_rows))
        cells = (sparse_rows(v, found.words, found.starts, n_words) for v in (values, np.ones(n)))
        return tuple(_transposed((of_class @ each).tocsr()) for each in cells)
    limits = np.searchsorted(classes[order], np.arange(n_classes + 1))
    words, sums, documents = np.empty(n, np.int32), np.empty(n), np.empty(n)
    starts, places = np.zeros(n_classes + 1, np.int64), np.full(n_words, -1, np.int64)
    add_by_class(order, limits, found.starts, found.words, values, mass, places, starts, words, sums, documents)
    cut = slice(0, starts[-1])
    return tuple(_transposed(sparse_rows(each[cut], words[cut], starts, n_words)) for each in (sums, documents))


def _transposed(matrix: csr_array) -> csr_array:
    """Return the transposed matrix, by rows again."""
    by_column = matrix.tocsc()
    by_column.sort_indices()
    return sparse_rows(by_column.data, by_column.indices, by_column.indptr, matrix.shape[0])


def statistics_content(statistics: TextStatistics) -> dict[str, Any]:
    """Return statistics as content of a native file."""
    amounts = statistics.amounts
    return {
        "target": statistics.target,
        "class_weight": statistics.class_weight,
        "hashes": statistics.vocabulary.hashes,
        "pool": statistics.vocabulary.pool,
        "ends": statistics.vocabulary.ends,
        "occurrences": statistics.occurrences,
        "starts": amounts.indptr.astype(np.int64),
        "classes": amounts.indices.astype(np.int32),
        "amounts": amounts.data,
        "documents": statistics.documents.data,
        "tokens": asdict(statistics.tokens),
        "weighting": asdict(statistics.weighting),
        "column": statistics.column,
        "linear": linear_content(statistics.linear),
        "background": None if statistics.background is None else asdict(statistics.background),
    }


def statistics_of(content: Mapping[str, Any]) -> TextStatistics:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    target, starts, classes = content["target"], content["starts"], content["classes"]
    n_words, n_classes, n_cells = len(starts) - 1, target.n_states, len(classes)
    lengths = {"class_weight": n_classes, "occurrences": n_words, "amounts": n_cells, "documents": n_cells}
    if not _is_csr(starts, classes, n_classes) or not all(_are_amounts(content[k], n) for k, n in lengths.items()):
        raise ValueError("its parts do not belong together")
    vocabulary = Vocabulary(content["hashes"], content["pool"], content["ends"])
    if not vocabulary.is_whole() or len(vocabulary) != n_words:
        raise ValueError("its words do not belong together")
    if (content["documents"] > _ROUNDING * content["class_weight"][classes]).any():
        raise ValueError("it has words in more documents than there are")
    amounts, documents = (sparse_rows(content[k], classes, starts, n_classes) for k in ("amounts", "documents"))
    background = None if content["background"] is None else Background(**content["background"])
    if background is not None and not background.is_whole(n_words):
        raise ValueError("its background does not belong to its words")
    found = (target, content["class_weight"], vocabulary, content["occurrences"], amounts, documents)
    if not (content["column"] is None or isinstance(content["column"], str)):
        raise ValueError("the name of its column is no text")
    how = (Tokens(**content["tokens"]), Weighting(**content["weighting"]), content["column"])
    return TextStatistics(*found, *how, background, linear_of(content["linear"], n_classes))


def _is_csr(starts: np.ndarray, columns: np.ndarray, n_columns: int) -> bool:
    """Return whether arrays are the rows of a sparse matrix."""
    if starts.ndim != 1 or columns.ndim != 1 or starts.dtype.kind != "i" or columns.dtype.kind != "i":
        return False
    whole = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(columns) and bool((np.diff(starts) >= 0).all())
    return whole and (not len(columns) or bool(columns.min() >= 0 and columns.max() < n_columns))


def _are_amounts(values: Any, n: int) -> bool:
    """Return whether values are n numbers, none of them negative or infinite."""
    if not isinstance(values, np.ndarray) or values.shape != (n,) or values.dtype != np.float64:
        return False
    return bool(np.isfinite(values).all() and (values >= 0).all())


def _placed(matrix: csr_array, words: np.ndarray, classes: np.ndarray, shape: tuple[int, int]) -> csr_array:
    """Return a matrix with its rows and columns in new places; rows that stay where they are are not moved."""
    same = len(classes) == shape[1]
    if len(words) and (words[-1] != len(words) - 1 or not (np.diff(words) == 1).all()):
        whole = matrix.tocoo()
        return csr_array((whole.data, (words[whole.row], classes[whole.col])), shape=shape)
    starts = np.concatenate([matrix.indptr, np.full(shape[0] - len(words), matrix.indptr[-1], matrix.indptr.dtype)])
    return csr_array((matrix.data, matrix.indices if same else classes[matrix.indices], starts), shape=shape)
