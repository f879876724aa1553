"""How good predictions are: counts and sums that add up over batches and folds.

With w_i the weight of a row, t_i its true class and p_i its predicted distribution: accuracy is the share of the weight
on which the most probable class is the true one; balanced accuracy the mean recall of the classes; the log-loss the
mean of −log p_i(t_i), infinite when a true class was held impossible; the Brier score the mean of
Σ_c (p_i(c) − [c = t_i])², halved for two classes, so that it is the squared error of the probability of either; the AUC
the share of pairs, of a row of a class and a row of another, that are ranked rightly: see the module of rankings.

The AUC compares only rows that one model has ranked: scores of different folds come from different models, and are not
of one scale. So merging adds the pairs *within* each part, and the AUC of a cross-validation is a mean over its folds.

References
----------
G. Forman, M. Scholz (2010). Apples-to-apples in cross-validation studies: pitfalls in classifier performance
measurement. SIGKDD Explorations 12, 49–57.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from tunbridge.evaluation.ranking import Ranking

UNKNOWN = "(unknown to the model)"

METRICS = ("accuracy", "balanced accuracy", "log-loss", "Brier score", "AUC")
"""The numbers that sum up predictions, as they are written."""


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
    concordant, pairs : ndarray of shape (n_classes,)
        The weight of the pairs of a row of the class and another row: those ranked rightly, and all.
    n_rows : int
        The number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
    >>> found = Scores.of(("no", "yes"), np.array([0, 0, 1, 1]), np.log(proba), np.ones(4))
    >>> found.accuracy, found.auc, found.sensitivity.tolist(), found.specificity.tolist()
    (0.75, 0.75, [1.0, 0.5], [0.5, 1.0])
    """

    classes: tuple[str, ...]
    confusion: np.ndarray
    surprise: float
    squares: float
    concordant: np.ndarray
    pairs: np.ndarray
    n_rows: int

    @classmethod
    def of(
        cls,
        classes: tuple[str, ...],
        true: np.ndarray,
        log_proba: np.ndarray,
        weights: np.ndarray,
        *,
        ranking: Ranking | None = None,
    ) -> Scores:
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
        concordant, pairs = (ranking or Ranking.of(true, log_proba, weights)).concordance()
        return cls(
            classes,
            confusion,
            float(weights[used] @ surprise[used]),
            float(weights @ squares),
            concordant,
            pairs,
            int(used.sum()),
        )

    def merge(self, other: Scores) -> Scores:
        """Return the scores of both sets of rows; for the AUC rows of one set are compared with each other only."""
        return Scores(
            self.classes,
            self.confusion + other.confusion,
            self.surprise + other.surprise,
            self.squares + other.squares,
            self.concordant + other.concordant,
            self.pairs + other.pairs,
            self.n_rows + other.n_rows,
        )

    def ranked(self, ranking: Ranking) -> Scores:
        """Return the scores with the AUC that a ranking of all rows gives, where one model has ranked them."""
        concordant, pairs = ranking.concordance()
        return replace(self, concordant=concordant, pairs=pairs)

    # The whole

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return _share(np.trace(self.confusion[:-1]), self.weight)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return _mean(self.recall)

    @property
    def log_loss(self) -> float:
        """The mean surprise in nats."""
        return _share(self.surprise, self.weight)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities."""
        return _share(self.squares, self.weight) / (2.0 if len(self.classes) == 2 else 1.0)

    @property
    def auc(self) -> float:
        """The area under the ROC curve: with more than two classes the mean of each against the rest."""
        return _mean(self.aucs)

    # Each class

    @property
    def support(self) -> np.ndarray:
        """The weight of the rows of each true class, the unknown ones last."""
        return self.confusion.sum(axis=1)

    @property
    def recall(self) -> np.ndarray:
        """The share of each class that is found; NaN for a class without rows."""
        return _shares(self._hits, self.support[:-1])

    sensitivity = recall

    @property
    def precision(self) -> np.ndarray:
        """The share of each class's predictions that is right; NaN for a class never predicted."""
        return _shares(self._hits, self._predicted)

    ppv = precision

    @property
    def specificity(self) -> np.ndarray:
        """The share of the rows of other classes that are not taken for the class; NaN where there are none."""
        return _shares(self._rightly_not, self.weight - self.support[:-1])

    @property
    def npv(self) -> np.ndarray:
        """The share of the predictions of other classes that are rightly not the class; NaN where there are none."""
        return _shares(self._rightly_not, self.weight - self._predicted)

    @property
    def f1(self) -> np.ndarray:
        """The harmonic mean of precision and recall; NaN for a class neither there nor predicted."""
        return _shares(2 * self._hits, self.support[:-1] + self._predicted)

    @property
    def aucs(self) -> np.ndarray:
        """The AUC of each class against the rest; NaN where there is no pair."""
        return _shares(self.concordant, self.pairs)

    @property
    def _hits(self) -> np.ndarray:
        return np.diagonal(self.confusion[:-1])

    @property
    def _predicted(self) -> np.ndarray:
        return self.confusion.sum(axis=0)

    @property
    def _rightly_not(self) -> np.ndarray:
        return self.weight - self.support[:-1] - self._predicted + self._hits

    # Out again

    def summary(self) -> dict[str, float]:
        """Return the numbers that sum up everything, by :data:`METRICS`."""
        values = (self.accuracy, self.balanced_accuracy, self.log_loss, self.brier, self.auc)
        return dict(zip(METRICS, values, strict=True))

    def by_class(self) -> dict[str, dict[str, float]]:
        """Return what is said of each class: precision (PPV), recall (sensitivity), and so on."""
        columns = {
            "precision": self.precision,
            "recall": self.recall,
            "specificity": self.specificity,
            "npv": self.npv,
            "f1": self.f1,
            "auc": self.aucs,
            "support": self.support[:-1],
        }
        return {c: {name: float(v[k]) for name, v in columns.items()} for k, c in enumerate(self.classes)}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        unknown = {"unknown_classes": float(self.support[-1])} if self.support[-1] else {}
        return {
            "rows": self.n_rows,
            **{plain_name(name): value for name, value in self.summary().items()},
            "classes": self.by_class(),
            "confusion": {
                c: dict(zip(self.classes, map(float, row), strict=True))
                for c, row in zip(self.classes, self.confusion[:-1], strict=True)
            },
            **unknown,
        }


def merged(parts: Sequence[Scores]) -> Scores:
    """Return the scores of all rows of some parts."""
    return reduce(lambda a, b: a.merge(b), parts)


def plain_name(metric: str) -> str:
    """Return the name of a metric as programs write it.

    Examples
    --------
    >>> [plain_name(metric) for metric in METRICS]
    ['accuracy', 'balanced_accuracy', 'log_loss', 'brier_score', 'auc']
    """
    return metric.lower().replace(" ", "_").replace("-", "_")


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")


def _shares(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _mean(shares: np.ndarray) -> float:
    known = shares[~np.isnan(shares)]
    return float(known.mean()) if known.size else float("nan")
