"""What a threshold on a probability does: the numbers behind ROC, precision–recall, lift and cost curves.

A row is called positive when its probability is at least the threshold t. With the weights of the rows that are called
positive rightly and wrongly, TP(t) and FP(t), and the weights of all positive and negative rows, P and N,

    recall, true positive rate   TP / P            precision   TP / (TP + FP)
    false positive rate          FP / N            lift        precision / (P / (P + N))
    cost of a row                (c_FN (P − TP) + c_FP FP) / (P + N).

Each distinct probability is a threshold; one above all of them calls no row positive. With calibrated probabilities the
threshold of least cost is c_FP / (c_FP + c_FN).

References
----------
T. Fawcett (2006). An introduction to ROC analysis. Pattern Recognition Letters 27, 861–874.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_number
from tunbridge._core.grid import data_frame, grid_lines, number_text
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas

_SHOWN = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """The weight of the rows called positive, rightly and wrongly, for each threshold.

    Parameters
    ----------
    thresholds : ndarray
        The distinct probabilities, descending, after infinity.
    true_positives, false_positives : ndarray
        The weight of the rows with at least this probability that are positive, and that are not.

    Examples
    --------
    >>> found = Thresholds.of([True, False, True, False], [0.9, 0.7, 0.6, 0.2])
    >>> found.recall.tolist(), found.precision.tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.6666666666666666, 0.5])
    >>> found.cheapest(false_negative=5)
    0.6
    """

    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray

    @classmethod
    def of(cls, came_true: ArrayLike, probabilities: ArrayLike, sample_weight: ArrayLike | None = None) -> Thresholds:
        """Return the table of rows, given whether each is positive and its probability of being so."""
        positive, p = np.asarray(came_true, bool), np.asarray(probabilities, np.float64)
        weights = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if not positive.shape == p.shape == weights.shape or p.ndim != 1:
            raise DataError(f"each row must have a probability and a class; got {p.shape} and {positive.shape}.")
        if np.isnan(p).any():
            row = int(np.isnan(p).argmax()) + 1
            raise DataError(f"probabilities must be numbers; got NaN in row {row}. Leave such rows out.")
        if not weights[positive].sum() > 0 or not weights[~positive].sum() > 0:
            raise DataError("a curve must have rows of the class and others; all rows are on one side.")
        order = np.argsort(-p, kind="stable")
        ends = np.flatnonzero(np.diff(p[order], append=-np.inf))
        tp, fp = (np.cumsum(np.where(side, weights, 0.0)[order])[ends] for side in (positive, ~positive))
        return cls(
            *(np.concatenate([[first], part]) for first, part in ((np.inf, p[order][ends]), (0.0, tp), (0.0, fp)))
        )

    @property
    def positives(self) -> float:
        """The weight of all positive rows."""
        return float(self.true_positives[-1])

    @property
    def negatives(self) -> float:
        """The weight of all other rows."""
        return float(self.false_positives[-1])

    @property
    def recall(self) -> np.ndarray:
        """The share of the positive rows that is found (sensitivity, true positive rate)."""
        return self.true_positives / self.positives

    @property
    def false_positive_rate(self) -> np.ndarray:
        """The share of the other rows that is called positive, 1 − specificity."""
        return self.false_positives / self.negatives

    @property
    def precision(self) -> np.ndarray:
        """The share of the rows called positive that is; 1 where there are none."""
        called = self.true_positives + self.false_positives
        return np.divide(self.true_positives, called, out=np.ones(len(called)), where=called > 0)

    @property
    def share(self) -> np.ndarray:
        """The share of the rows that is called positive."""
        return (self.true_positives + self.false_positives) / (self.positives + self.negatives)

    @property
    def lift(self) -> np.ndarray:
        """How many times more frequent positive rows are among those called so than among all."""
        return self.precision * (self.positives + self.negatives) / self.positives

    @property
    def auc(self) -> float:
        """The area under the ROC curve."""
        return float(np.diff(self.false_positive_rate) @ (self.recall[1:] + self.recall[:-1]) / 2)

    @property
    def average_precision(self) -> float:
        """The mean precision over the recall, Σ (R_i − R_{i−1}) P_i."""
        return float(np.diff(self.recall) @ self.precision[1:])

    def cost(self, false_negative: float = 1.0, false_positive: float = 1.0) -> np.ndarray:
        """Return the mean cost of a row at each threshold."""
        check_number("false_negative", false_negative, low=0)
        check_number("false_positive", false_positive, low=0)
        total = self.positives + self.negatives
        missed = self.positives - self.true_positives
        return (false_negative * missed + false_positive * self.false_positives) / total

    def cheapest(self, false_negative: float = 1.0, false_positive: float = 1.0) -> float:
        """Return the threshold of least cost."""
        return float(self.thresholds[self.cost(false_negative, false_positive).argmin()])

    def place(self, threshold: float) -> int:
        """Return the place of the last entry whose rows all have at least this probability."""
        return int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1

    def rows(
        self, at: ArrayLike = _SHOWN, *, false_negative: float = 1.0, false_positive: float = 1.0
    ) -> tuple[list[str], list[list[str]]]:
        """Return the header and the lines of a table of some thresholds."""
        cost = self.cost(false_negative, false_positive)
        lines = []
        for t in np.asarray(at, np.float64).tolist():
            i = self.place(check_number("a threshold", t, low=0, high=1))
            found = (self.share[i], self.recall[i], 1 - self.false_positive_rate[i], self.precision[i], cost[i])
            lines.append([f"{t:g}", *(number_text(value) for value in found)])
        return ["threshold", "positive", "recall", "specificity", "precision", "cost"], lines

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per threshold."""
        names = ("recall", "false_positive_rate", "precision", "share", "lift")
        return data_frame({"threshold": self.thresholds, **{name: getattr(self, name) for name in names}})

    def __str__(self) -> str:
        return "\n".join(grid_lines(*self.rows()))

    __repr__ = __str__
