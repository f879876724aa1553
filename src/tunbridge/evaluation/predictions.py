"""Held-out predictions, row by row: what a model said of rows that it had not seen, and its worst mistakes.

With P(c | x) of every held-out row one can look at any question afterwards: which decisions have the least expected
cost, what a threshold does, where the model is wrong and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import did_you_mean
from tunbridge.decisions import loss_matrix, minimum_risk
from tunbridge.decisions.losses import Losses
from tunbridge.errors import DataError
from tunbridge.evaluation.curves import Thresholds
from tunbridge.evaluation.scores import Scores

if TYPE_CHECKING:
    import pandas

    from tunbridge.decisions import Explanation


@dataclass(frozen=True, eq=False)
class Mistake:
    """A held-out row whose most probable class is not the true one.

    Parameters
    ----------
    row : int
        The number of the row in the data, counted from 0.
    true, predicted : class
        The true class, and the predicted one.
    probability : float
        The probability that the model gave the true class.
    values : mapping of str to value
        The features of the row.
    explanation : Explanation, optional
        Why the model preferred the predicted class to the true one; None for models that cannot explain.
    """

    row: int
    true: Any
    predicted: Any
    probability: float
    values: Mapping[str, Any]
    explanation: Explanation | None = None

    def headline(self) -> str:
        """Return the row and its classes on one line; rows are counted from 1 as in a file."""
        return f"Row {self.row + 1}: {self.true}, predicted {self.predicted}, P({self.true}) = {self.probability:.3g}"

    def __str__(self) -> str:
        why = "\n" + "\n".join(f"  {line}".rstrip() for line in str(self.explanation).splitlines()[1:])
        return self.headline() + ("" if self.explanation is None else why)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        plain = {"row": self.row + 1, "true": self.true, "predicted": self.predicted, "probability": self.probability}
        explained = None if self.explanation is None else self.explanation.to_dict()
        return {**plain, "values": dict(self.values), "explanation": explained}


@dataclass(frozen=True, eq=False)
class Predictions:
    """The probabilities that a model gave to rows it had not seen.

    Parameters
    ----------
    classes : tuple
        The classes.
    rows : ndarray of int
        The number of each row in the data, counted from 0.
    true : ndarray of int
        The code of each row's true class.
    log_proba : ndarray of shape (n_rows, n_classes)
        log P(c | x).
    weights : ndarray
        The weights of the rows.
    folds : ndarray of int
        The fold in which each row was held out, counted from 0; repetitions count on.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.flu_malaria_fever()
    >>> found = tb.compare_classifiers(table, "fever", "nb", folds=5, keep_predictions=True).predictions("nb")
    >>> len(found), found.classes
    (100, ('no', 'yes'))
    >>> round(found.cost({"yes": {"no": 5}}), 2)
    0.59
    """

    classes: tuple[Any, ...]
    rows: np.ndarray
    true: np.ndarray
    log_proba: np.ndarray
    weights: np.ndarray
    folds: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def proba(self) -> np.ndarray:
        """P(c | x) of each row and class."""
        return np.exp(self.log_proba)

    @property
    def predicted(self) -> np.ndarray:
        """The code of the most probable class of each row."""
        codes: np.ndarray = self.log_proba.argmax(axis=1)
        return codes

    def decided(self, loss: Losses, *, reject: float | None = None) -> np.ndarray:
        """Return the code of the class of least expected loss of each row; −1 for no decision.

        ``loss`` and ``reject`` are those of :meth:`tunbridge.NaiveBayesClassifier.decide`.
        """
        return minimum_risk(self.proba, loss_matrix(loss, list(self.classes)), reject=reject).choices

    def cost(self, loss: Losses, *, reject: float | None = None) -> float:
        """Return the mean cost of a row, if the decisions of least expected cost are made."""
        return realised_cost(self.true, self.log_proba, self.weights, loss_matrix(loss, list(self.classes)), reject)

    def scores(self) -> Scores:
        """Return the scores of the rows; the AUC compares rows of different folds too."""
        return Scores.of(tuple(map(str, self.classes)), self.true, self.log_proba, self.weights)

    def thresholds(self, positive: Any = None) -> Thresholds:
        """Return what every threshold on the probability of a class does.

        Parameters
        ----------
        positive : class, optional
            The class that is looked for; default: the rarest one.
        """
        k = self.code_of(positive)
        return Thresholds.of(self.true == k, self.proba[:, k], self.weights)

    def code_of(self, label: Any) -> int:
        """Return the code of a class, by default the rarest of the rows; raise for others."""
        if label is None:
            return int(np.bincount(self.true, self.weights, len(self.classes)).argmin())
        names = [str(c) for c in self.classes]
        if str(label) not in names:
            hint = did_you_mean(str(label), names)
            raise DataError(f"positive must be a class of the rows; got {label!r}. {hint}", parameter="positive")
        return names.index(str(label))

    def worst(self, n: int) -> np.ndarray:
        """Return the places of the n rows that are predicted wrong with the least probability of the true class."""
        wrong = np.flatnonzero(self.predicted != self.true)
        given = self.log_proba[wrong, self.true[wrong]]
        return wrong[np.argsort(given, kind="stable")[:n]]

    def to_arrow(self) -> pa.Table:
        """Return a table with one line per prediction: row (counted from 1), fold, classes and P(c) of each class."""
        names = pa.array([str(c) for c in self.classes])
        columns = {
            "row": self.rows + 1,
            "fold": self.folds + 1,
            "true": names.take(pa.array(self.true)),
            "predicted": names.take(pa.array(self.predicted)),
        }
        shares = {f"P({c})": p.copy() for c, p in zip(self.classes, self.proba.T, strict=True)}
        return pa.table({**columns, **shares})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the same as a pandas frame."""
        return self.to_arrow().to_pandas()


def realised_cost(
    true: np.ndarray, log_proba: np.ndarray, weights: np.ndarray, losses: np.ndarray, reject: float | None = None
) -> float:
    """Return the mean cost of the decisions of least expected cost, given codes of the true classes."""
    choices = minimum_risk(np.exp(log_proba), losses, reject=reject).choices
    costs = np.where(choices < 0, 0.0 if reject is None else reject, losses[true, choices])
    return float(weights @ costs / weights.sum()) if weights.sum() > 0 else float("nan")


def predictions_of(model: Any, frame: Any, y: ArrayLike) -> Predictions:
    """Return the predictions of a fitted model for rows with known classes.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    frame : frame
        The features of rows that it has not seen.
    y : array-like
        The true classes; rows of classes that the model does not know are left out.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.play_tennis()
    >>> clf = tb.NaiveBayesClassifier().fit(table, "play")
    >>> found = predictions_of(clf, table, table.to_arrow()["play"].to_pylist())
    >>> round(found.scores().accuracy, 3)
    0.929
    """
    classes = tuple(model.classes_.tolist())
    place = {c: k for k, c in enumerate(classes)}
    true = np.array([place.get(c, -1) for c in np.asarray(y).tolist()], np.int64)
    known = np.flatnonzero(true >= 0)
    log_proba = model.predict_log_proba(frame)[known]
    return Predictions(classes, known, true[known], log_proba, np.ones(len(known)), np.zeros(len(known), np.int64))
