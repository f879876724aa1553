"""The area under the ROC curve: how often a row of a class is ranked above a row of another.

For one class c let every row have the score s = log P(c | x) − log P(not c | x). Over all pairs of a row i of the class
and a row j of another, with their weights,

    AUC_c = Σ w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / Σ w_i w_j,

the statistic of Mann and Whitney, which equals the area under the curve of true against false positives. With two
classes both have the same area; with several the mean over the classes is taken, each against the rest.

A ranking keeps the distinct scores with the weight of the rows that have them, and so can be merged with that of
further rows. Beyond two million of them neighbours are taken together, which changes an area by less than 1e-6 times
the number of classes: so a file of any size can be evaluated.

References
----------
J. A. Hanley, B. J. McNeil (1982). The meaning and use of the area under a receiver operating characteristic (ROC)
curve. Radiology 143, 29–36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_KEPT = 1 << 21
_LEAST_KEPT = 1 << 12
_NEARLY_SURE = 1e-6


class Ranked(NamedTuple):
    """The distinct scores of one class, rising, and the weights of its rows and of the others that have them."""

    scores: np.ndarray
    inside: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, inside: np.ndarray, outside: np.ndarray, *, most: int) -> Ranked:
        """Return the distinct ones of some scores, at most so many."""
        distinct, place = np.unique(scores, return_inverse=True)
        within, beside = (np.bincount(place, w, len(distinct)) for w in (inside, outside))
        return cls(distinct, within, beside)._thinned(most)

    def _thinned(self, most: int) -> Ranked:
        """Return the scores with neighbours taken together, so that about as much weight is in each."""
        if len(self.scores) <= most:
            return self
        weight = np.cumsum(self.inside + self.outside)
        group = np.minimum(weight * (most / weight[-1]), most - 1).astype(np.int64)
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        return Ranked(self.scores[starts], *(np.add.reduceat(w, starts) for w in (self.inside, self.outside)))

    def concordance(self) -> tuple[float, float]:
        """Return the weight of the pairs that are ranked rightly, and of all pairs."""
        below = np.cumsum(self.outside) - self.outside
        return float(self.inside @ (below + self.outside / 2)), float(self.inside.sum() * self.outside.sum())


@dataclass(frozen=True, eq=False)
class Ranking:
    """How rows are ranked by the probability of each class."""

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
        """Return the ranking of both sets of rows, which one model must have ranked."""
        pairs = zip(self.classes, other.classes, strict=True)
        most = _most(len(self.classes))
        joined = ([np.concatenate(parts) for parts in zip(a, b, strict=True)] for a, b in pairs)
        return Ranking(tuple(Ranked.of(*parts, most=most) for parts in joined))

    def concordance(self) -> tuple[np.ndarray, np.ndarray]:
        """Return for each class the weight of the pairs that are ranked rightly, and of all pairs."""
        found = np.array([ranked.concordance() for ranked in self.classes])
        return found[:, 0], found[:, 1]


def log_odds(log_proba: np.ndarray) -> np.ndarray:
    """Return log P(c | x) − log (1 − P(c | x)), exact where a probability is nearly one.

    Equal probabilities give equal odds, whatever the other classes have; only within 1e-6 of one, where a probability
    no longer tells rows apart, are those of the others added up.
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
