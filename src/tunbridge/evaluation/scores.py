"""How good predictions are: counts and sums that add up over batches and folds.

With w_i the weight of a row, t_i its true class and p_i its predicted distribution: accuracy is the share of the weight
for which the most probable class is the true one; balanced accuracy the mean recall of the classes; the log-loss the
mean of −log p_i(t_i), infinite if a true class was predicted to be impossible; the Brier score the mean of
Σ_c (p_i(c) − [c = t_i])², halved for two classes, so that it is the squared error of the probability of either.

**AUC**, the area under the ROC curve, is how often a row of a class is ranked above a row of another. For one class c
let every row have the score s = log P(c | x) − log P(not c | x). Over all pairs of a row i of the class and a row j of
another, with their weights,

    AUC_c = Σ w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / Σ w_i w_j,

the Mann-Whitney statistic. With two classes both have the same area; with several the mean over the classes is taken,
each against the rest. A ranking keeps the distinct scores with the weight of their rows, and can be merged with that of
further rows. Beyond two million of them neighbours are merged, which changes an area by less than 1e-6 times the number
of classes: so a file of any size can be evaluated.

The AUC compares only rows that one model has ranked: scores of different folds come from different models, and are not
on one scale. So merging adds the pairs *within* each part, and the AUC of a cross-validation is a mean over its folds.

References
----------
G. Forman, M. Scholz (2010). Apples-to-apples in cross-validation studies: pitfalls in classifier performance
measurement. SIGKDD Explorations 12, 49–57.
J. A. Hanley, B. J. McNeil (1982). The meaning and use of the area under a receiver operating characteristic (ROC)
curve. Radiology 143, 29–36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tunbridge._core.grid import data_frame

if TYPE_CHECKING:
    import pandas

UNKNOWN = "(unknown to the model)"

METRICS = ("accuracy", "balanced accuracy", "log-loss", "Brier score", "AUC")
"""The names of the overall scores."""

_KEPT = 1 << 21
_LEAST_KEPT = 1 << 12
_NEARLY_SURE = 1e-6


class Ranked(NamedTuple):
    """The distinct scores of one class, ascending, with the weights of its rows and of the other rows."""

    scores: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, inside: np.ndarray, outside: np.ndarray, *, most: int) -> Ranked:
        """Return the distinct scores; where they are more than ``most``, neighbours in groups of about equal weight."""
        distinct, place = np.unique(scores, return_inverse=True)
        within, beside = (np.bincount(place, w, len(distinct)) for w in (inside, outside))
        if len(distinct) <= most:
            return cls(distinct, within, beside)
        weight = np.cumsum(within + beside)
        group = np.minimum(weight * (most / weight[-1]), most - 1).astype(np.int64)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        return cls(distinct[starts], *(np.add.reduceat(w, starts) for w in (within, beside)))

    def concordance(self) -> tuple[float, float]:
        """Return the weight of the pairs that are ranked correctly, and of all pairs."""
        below = np.cumsum(self.outside) - self.outside
        return float(self.inside @ (below + self.outside / 2)), float(self.inside.sum() * self.outside.sum())


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranking of rows by the probability of each class."""

    classes: tuple[Ranked, ...]

    @classmethod
    def of(cls, true: np.ndarray, log_proba: np.ndarray, weights: np.ndarray) -> Ranking:
        """Return the ranking of rows, given codes of the true classes (−1: none of these) and log-probabilities.

        Examples
        --------
        >>> import numpy as np
        >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]])
        >>> right, pairs = Ranking.of(np.array([0, 0, 1, 1]), np.log(proba), np.ones(4)).concordance()
        >>> (right / pairs).tolist()
        [0.75, 0.75]
        """
        n_classes = log_proba.shape[1]
        odds = log_odds(log_proba)
        most = _most(n_classes)
        return cls(
            tuple(
                Ranked.of(odds[:, c], np.where(true == c, weights, 0.0), np.where(true == c, 0.0, weights), most=most)
                for c in range(n_classes)
            )
        )

    def merge(self, other: Ranking) -> Ranking:
        """Return the ranking of both sets of rows, which must come from one model."""
        pairs = zip(self.classes, other.classes, strict=True)
        most = _most(len(self.classes))
        joined = ([np.concatenate(parts) for parts in zip(a, b, strict=True)] for a, b in pairs)
        return Ranking(tuple(Ranked.of(*parts, most=most) for parts in joined))

    def concordance(self) -> tuple[np.ndarray, np.ndarray]:
        """Return for each class the weight of the pairs that are ranked correctly, and of all pairs."""
        found = np.array([ranked.concordance() for ranked in self.classes])
        return found[:, 0], found[:, 1]


def log_odds(log_proba: np.ndarray) -> np.ndarray:
    """Return log P(c | x) − log (1 − P(c | x)), exact where a probability is nearly one.

    Equal probabilities give equal odds; only within 1e-6 of one, where a probability no longer distinguishes rows, are
    those of the other classes added up.
    """
    log_proba = np.minimum(log_proba, 0.0)
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.exp(log_proba))
        rows = np.arange(len(log_proba))
        top = log_proba.argmax(axis=1)
        sure = rest[rows, top] < np.log(_NEARLY_SURE)
        others = log_proba[sure].copy()
        others[np.arange(len(others)), top[sure]] = -np.inf
        rest[rows[sure], top[sure]] = np.logaddexp.reduce(others, axis=1)
        return log_proba - rest


def _most(n_classes: int) -> int:
    return max(_LEAST_KEPT, _KEPT // n_classes)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of predictions for rows with known classes.

    Parameters
    ----------
    classes : tuple of str
        The classes' names.
    confusion : ndarray of shape (n_classes + 1, n_classes)
        The confusion matrix: the weight of the rows by true (rows) and predicted class; the last row is for true
        classes that the model does not know.
    surprise, squares : float
        The sums behind the log-loss and the Brier score.
    concordant, pairs : ndarray of shape (n_classes,)
        The weight of the pairs of a row of the class and another row: those ranked correctly, and all.
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
        """Return the scores of both sets of rows; the AUC compares only rows of the same set."""
        sums = ("confusion", "surprise", "squares", "concordant", "pairs", "n_rows")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in sums})

    def ranked(self, ranking: Ranking) -> Scores:
        """Return the scores with the AUC of a ranking of all rows by one model."""
        concordant, pairs = ranking.concordance()
        return replace(self, concordant=concordant, pairs=pairs)

    # Overall

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        return _share(np.trace(self.confusion[:-1]), self.weight)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of the classes that have rows."""
        return _mean(self.recall)

    @property
    def log_loss(self) -> float:
        """The mean of −log P(true class), in nats."""
        return _share(self.surprise, self.weight)

    @property
    def brier(self) -> float:
        """The mean squared error of the probabilities."""
        return _share(self.squares, self.weight) / (2.0 if len(self.classes) == 2 else 1.0)

    @property
    def auc(self) -> float:
        """The area under the ROC curve: with more than two classes the mean of each against the rest."""
        return _mean(self.aucs)

    # By class

    @property
    def support(self) -> np.ndarray:
        """The weight of the rows of each true class, unknown classes last."""
        return self.confusion.sum(axis=1)

    @property
    def recall(self) -> np.ndarray:
        """The share of each class that is found; NaN for a class without rows."""
        return _shares(self._hits, self.support[:-1])

    sensitivity = recall

    @property
    def precision(self) -> np.ndarray:
        """The share of each class's predictions that is correct; NaN for a class never predicted."""
        return _shares(self._hits, self._predicted)

    ppv = precision

    @property
    def specificity(self) -> np.ndarray:
        """The share of the rows of other classes that are not predicted as the class; NaN if there are none."""
        return _shares(self._true_negatives, self.weight - self.support[:-1])

    @property
    def npv(self) -> np.ndarray:
        """The share of the predictions of other classes that are correctly not the class; NaN if there are none."""
        return _shares(self._true_negatives, self.weight - self._predicted)

    @property
    def f1(self) -> np.ndarray:
        """The harmonic mean of precision and recall; NaN for a class without rows and predictions."""
        return _shares(2 * self._hits, self.support[:-1] + self._predicted)

    @property
    def aucs(self) -> np.ndarray:
        """The AUC of each class against the rest; NaN if there is no pair."""
        return _shares(self.concordant, self.pairs)

    @property
    def _hits(self) -> np.ndarray:
        return np.diagonal(self.confusion[:-1])

    @property
    def _predicted(self) -> np.ndarray:
        return self.confusion.sum(axis=0)

    @property
    def _true_negatives(self) -> np.ndarray:
        return self.weight - self.support[:-1] - self._predicted + self._hits

    # Tables

    def summary(self) -> dict[str, float]:
        """Return the overall scores by name."""
        values = (self.accuracy, self.balanced_accuracy, self.log_loss, self.brier, self.auc)
        return dict(zip(METRICS, values, strict=True))

    def by_class(self) -> dict[str, dict[str, float]]:
        """Return the scores of each class: precision (PPV), recall (sensitivity), and so on."""
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with one row per class: precision, recall, specificity, NPV, F1, AUC and support."""
        rows = self.by_class()
        names = next(iter(rows.values()), {})
        return data_frame({name: [row[name] for row in rows.values()] for name in names}, index=list(rows))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
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
    """Return the scores of several sets of rows together."""
    return reduce(lambda a, b: a.merge(b), parts)


def plain_name(metric: str) -> str:
    """Return the name of a metric as an identifier.

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
