"""How good predictions are: counts and sums that add up over batches and folds.

With w_i the weight of a row, t_i its true class and p_i its predicted distribution: accuracy is the share of the weight
on which the most probable class is the true one; balanced accuracy the mean recall of the classes; the log-loss the
mean of −log p_i(t_i), infinite when a true class was held impossible; the Brier score the mean of
Σ_c (p_i(c) − [c = t_i])², halved for two classes, so that it is the squared error of the probability of either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

UNKNOWN = "(unknown to the model)"


@dataclass(frozen=True, eq=False)
class Scores:
    """What is known of predictions for rows whose classes are known.

    Parameters
    ----------
    classes : tuple of str
        The classes' names.
    confusion : ndarray of shape (n_classes + 1, n_classes)
        The weight of the rows by true (rows) and predicted class; the last row is for true classes that the model does
        not know.
    surprise, squares : float
        The sums behind the log-loss and the Brier score.
    n_rows : int
        The number of rows.
    """

    classes: tuple[str, ...]
    confusion: np.ndarray
    surprise: float
    squares: float
    n_rows: int

    @classmethod
    def of(cls, classes: tuple[str, ...], true: np.ndarray, log_proba: np.ndarray, weights: np.ndarray) -> Scores:
        """Return the scores of rows, given codes of the true classes (−1: unknown) and log-probabilities."""
        n = len(classes)
        rows = np.where(true < 0, n, true)
        confusion = np.zeros((n + 1, n))
        np.add.at(confusion, (rows, log_proba.argmax(axis=1)), weights)
        padded = np.column_stack([log_proba, np.full(len(true), -np.inf)])
        surprise = -padded[np.arange(len(true)), rows]
        aim = np.eye(n + 1)[rows]
        squares = ((np.exp(padded) - aim) ** 2).sum(axis=1)
        used = weights > 0
        return cls(classes, confusion, float(weights[used] @ surprise[used]), float(weights @ squares), int(used.sum()))

    def merge(self, other: Scores) -> Scores:
        """Return the scores of both sets of rows."""
        return Scores(
            self.classes,
            self.confusion + other.confusion,
            self.surprise + other.surprise,
            self.squares + other.squares,
            self.n_rows + other.n_rows,
        )

    @property
    def support(self) -> np.ndarray:
        """The weight of the rows of each true class, the unknown ones last."""
        return self.confusion.sum(axis=1)

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return float(np.trace(self.confusion[:-1]) / self.confusion.sum())

    @property
    def recall(self) -> np.ndarray:
        """The share of each class that is found; NaN for a class without rows."""
        return _shares(np.diagonal(self.confusion[:-1]), self.support[:-1])

    @property
    def precision(self) -> np.ndarray:
        """The share of each class's predictions that is right; NaN for a class never predicted."""
        return _shares(np.diagonal(self.confusion[:-1]), self.confusion.sum(axis=0))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        known = self.recall[~np.isnan(self.recall)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def log_loss(self) -> float:
        """The mean surprise in nats."""
        return float(self.surprise / self.confusion.sum())

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities."""
        return float(self.squares / self.confusion.sum()) / (2.0 if len(self.classes) == 2 else 1.0)

    def summary(self) -> dict[str, float]:
        """Return the four numbers that sum up everything."""
        return {
            "accuracy": self.accuracy,
            "balanced accuracy": self.balanced_accuracy,
            "log-loss": self.log_loss,
            "Brier score": self.brier,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        by_class = zip(self.classes, self.precision, self.recall, self.support[:-1], strict=True)
        unknown = {"unknown_classes": float(self.support[-1])} if self.support[-1] else {}
        return {
            "rows": self.n_rows,
            **{name.lower().replace(" ", "_").replace("-", "_"): value for name, value in self.summary().items()},
            "classes": {c: {"precision": float(p), "recall": float(r), "support": float(s)} for c, p, r, s in by_class},
            "confusion": {
                c: dict(zip(self.classes, map(float, row), strict=True))
                for c, row in zip(self.classes, self.confusion[:-1], strict=True)
            },
            **unknown,
        }


def _shares(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out
