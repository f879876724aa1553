"""What the concept learners have in common: they read rows, keep the evidence of them, and say yes or no.

The evidence (:mod:`tunbridge.reasoning.concepts.concept_evidence`) of further rows is added to that of earlier ones, so
that learning in parts is learning at once. An estimator says what it makes of the evidence, and which rows it takes in.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.reasoning.concepts.concept_evidence import ConceptEvidence, no_evidence, with_rows
from tunbridge.reasoning.concepts.concept_rows import (
    ConceptRows,
    attributes_and_classes,
    known_rows,
    read_rows,
    row_weights,
)
from tunbridge.reasoning.concepts.concept_target import Target, as_labels


class ConceptLearner(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """The manners of both concept learners; see :class:`tunbridge.FindS` and :class:`tunbridge.VersionSpace`."""

    positive: Any
    states: Mapping[str, Iterable[State]] | None
    _evidence: ConceptEvidence
    _target: Target

    @abstractmethod
    def _adopt(self, before: ConceptEvidence, rows: ConceptRows, evidence: ConceptEvidence, target: Target) -> None:
        """Take the evidence as what has been learned; raise, and change nothing, if it cannot be."""

    @abstractmethod
    def _says_yes(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return which rows are taken to be in the concept."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows and their classes, forgetting what was learned before.

        Parameters
        ----------
        X : frame, dict of columns, Table, list of rows, or array
            The attributes, categorical and without missing cells. A Table may know states that no row shows.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them: one class for the rows in the concept, one for
            the others.
        sample_weight : array-like of shape (n_rows,), optional
            Rows of weight 0 are left out; other weights make no difference. The weights of a Table are used otherwise.

        Returns
        -------
        self
        """
        return self._learn(X, y, None, sample_weight, None)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows; new states are welcome. The result is that of all rows at once.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            Both classes, where the first rows may have one only.

        Returns
        -------
        self
        """
        return self._learn(X, y, classes, sample_weight, getattr(self, "_evidence", None))

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, before: ConceptEvidence | None) -> Self:
        known, target = (None, None) if before is None else (before.variables, self._target)
        seen = 0 if before is None else before.n_rows
        rows, target, n_rows = read_rows(
            X, y, sample_weight, positive=self.positive, states=self.states, known=known, target=target,
            classes=classes, seen=seen,
        )  # fmt: skip
        before = no_evidence(rows.variables) if before is None else before
        self._adopt(before, rows, with_rows(before, rows, n_rows), target)
        return self

    def _store(self, evidence: ConceptEvidence, target: Target) -> None:
        """Keep what every concept learner keeps."""
        self._evidence, self._target = evidence, target
        self.variables_, self.n_features_in_ = evidence.variables, len(evidence.variables)
        self.classes_, self.positive_ = as_labels(target.classes), target.positive
        self.n_rows_, self.trace_ = evidence.n_rows, evidence.trace

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of attribute to value for one row
            Columns beside the attributes are left alone. A state that was never learned meets no constraint, with one
            warning.
        """
        columns, n_rows = self._rows(X)
        labels = as_labels([self._target.negative, self._target.positive])
        return labels[self._says_yes(columns, n_rows).astype(int)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted; y may be the name of a column, as in :meth:`fit`."""
        check_is_fitted(self)
        attributes, labels = attributes_and_classes(X, y, self._target)
        states = np.array([*(labels.variable.states or ()), None], object)
        right = self.predict(attributes) == states[labels.values]
        weights = row_weights(sample_weight, attributes)
        if not weights.any():
            raise DataError("there must be something to score; got no rows, or none of a weight above 0.")
        return float(np.average(right, weights=weights))

    def _rows(self, X: Any) -> tuple[tuple[np.ndarray, ...], int]:
        check_is_fitted(self)
        return known_rows(X, self.variables_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags
