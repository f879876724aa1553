"""Averaged two-dependence estimators: every pair of features in its turn is what all others depend on.

AODE's features depend on one super-parent beside the class. With two of them there is less bias, at the price of more
variance and of counts of all triples of features:

    P(x, c) = 1/|I| Σ_{(i, j) ∈ I} P(c) P(x_i, x_j | c) Π_{k ≠ i, j} P(x_k | x_i, x_j, c),

the sum over the pairs whose values occur together. It pays with many rows. The joint probability of a pair is the mean
of both ways to write it, P(x_i | c) P(x_j | x_i, c) and P(x_j | c) P(x_i | x_j, c), as each is smoothed by itself.

References
----------
G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
full-multivariate probability distributions: decreasingly naive Bayesian classification. Machine Learning 86, 233–272.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tunbridge._threads import map_threads
from tunbridge.classifiers.averages.ande_estimates import NOISE, Estimates, estimates, feature_slices, one_model
from tunbridge.classifiers.averages.ande_model import TwoModel, log_of
from tunbridge.classifiers.averages.ande_smoothing import M_ESTIMATE, Rule, as_rule, drawn
from tunbridge.classifiers.averages.aode import average_options, check_average
from tunbridge.classifiers.averages.triple_counts import TripleCounts, TripleForecast, checked_forecast
from tunbridge.classifiers.averages.triple_statistics import (
    TripleStatistics,
    collect_triples,
    triples_content,
    triples_statistics,
)
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.counts.information import mutual_information
from tunbridge.data import Variable


class A2DEClassifier(BayesClassifier):
    """Averaged two-dependence estimators (A2DE): the mean of all models with two super-parents.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    weighting : None or "mutual information"
        Whether all pairs of super-parents vote alike, or each with its information I(X_i, X_j; C) about the class.
    subsumption : bool or number
        Whether a value that follows from another one of the row is left out; see :class:`AODEClassifier`.
    min_count : number
        Pairs whose values have fewer rows together do not vote, nor do those that have none. A row without any pair is
        left to AODE, and without any super-parent to naive Bayes.
    categorical, smoothing, class_prior, missing, n_jobs
        As in :class:`AODEClassifier`. Hierarchical smoothing draws P(x_k | x_i, x_j, class) towards the mean of
        P(x_k | x_i, class) and P(x_k | x_j, class).

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.

    Notes
    -----
    Learning takes one pass over all triples; a row takes O(n³) steps for each class. The memory is forecast before it
    is taken, see :meth:`forecast`. ``partial_fit`` is exact, as AODE's is.

    References
    ----------
    G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting, H. Salem (2012). Learning by extrapolation from marginal to
    full-multivariate probability distributions. Machine Learning 86, 233–272.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.A2DEClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    kind = "a2de"

    def __init__(
        self,
        *,
        weighting: str | None = None,
        subsumption: bool | float = False,
        min_count: float = 0,
        categorical: Any = None,
        smoothing: Any = M_ESTIMATE,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.weighting = weighting
        self.subsumption = subsumption
        self.min_count = min_count
        self.categorical = categorical
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @staticmethod
    def forecast(features: Any, n_classes: int) -> TripleForecast:
        """Return the memory that learning will take, before anything is learned.

        Parameters
        ----------
        features : list of Variable, or of int
            The features, or the number of states of each; a number that will be cut has as many as it gets intervals.
        n_classes : int
            The number of classes.

        Examples
        --------
        >>> import tunbridge as tb
        >>> found = tb.A2DEClassifier.forecast([10] * 16, n_classes=26)
        >>> found.n_triples, found.counts, found.tables
        (560, 116480000, 399360000)
        """
        return checked_forecast(features, n_classes)

    def _check_parameters(self) -> None:
        check_average(self)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> TripleStatistics:
        return collect_triples(batch, classes, target, weights, before, missing=self.missing, n_jobs=self.n_jobs)

    def _derive(self, statistics: TripleStatistics, log_prior: np.ndarray) -> TwoModel:
        return two_model(statistics, log_prior, as_rule(self.smoothing), **average_options(self), n_jobs=self.n_jobs)

    _content = staticmethod(triples_content)
    _statistics = staticmethod(triples_statistics)


def two_model(
    statistics: TripleStatistics,
    log_prior: np.ndarray,
    rule: Rule,
    *,
    min_count: float,
    weighted: bool,
    subsumption: float | None,
    n_jobs: int | None,
) -> TwoModel:
    """Return the average over pairs of super-parents."""
    found, triples = estimates(statistics.pairs, rule), statistics.triples
    one = one_model(statistics.pairs, found, log_prior, min_count=min_count, weighted=weighted, subsumption=subsumption)
    given = np.empty_like(found.counts)
    for some in feature_slices(found.first):
        given[some] = found.given(some)
    pair_first, n_pairs = number_pairs(triples.n_states)
    tables, shares = np.empty((n_pairs, *found.alone.shape)), np.empty(n_pairs)

    def fill(piece: tuple[int, int, slice]) -> None:
        f, g, some = piece
        r, start = triples.n_states[g], pair_first[f, g]
        tables[start + some.start * r : start + some.stop * r] = pair_tables(triples, found, given, f, g, some)
        if some.start == 0:
            shares[start : start + triples.n_states[f] * r] = pair_shares(found, f, g, min_count, weighted=weighted)

    map_threads(fill, triples.pieces(), n_jobs)
    return TwoModel(one, pair_first, tables, shares)


def number_pairs(n_states: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return where the pairs of states of two features f < g begin among those of all pairs, and how many there are."""
    first, n_pairs = np.zeros((len(n_states), len(n_states)), np.int64), 0
    for f, g in combinations(range(len(n_states)), 2):
        first[f, g] = n_pairs
        n_pairs += n_states[f] * n_states[g]
    return first, n_pairs


def pair_tables(triples: TripleCounts, found: Estimates, given: np.ndarray, f: int, g: int, some: slice) -> np.ndarray:
    """Return what every state adds beside each pair of some states of f and all of g > f: pairs × states × classes.

    ``given`` has P(b | a, c) for all states a and b.
    """
    a = slice(found.first[f] + some.start, found.first[f] + some.stop)
    b = slice(found.first[g], found.first[g + 1])
    base = 0.5 * (given[a, None] + given[None, b]) if found.guess.backs_off else found.guess.q
    out = log_of(drawn(triples.beside(f, g, some), found.first, base, found.guess.s))
    out[:, :, found.first[f] : found.first[f + 1]] = out[:, :, b] = 0.0
    forth = found.alone[a, None] * given[a, b]
    back = found.alone[None, b] * given[b, a].swapaxes(0, 1)
    which = np.arange(len(out))
    out[which, :, a.start + which] = log_of(0.5 * (forth + back))
    return out.reshape(-1, *out.shape[2:])


def pair_shares(found: Estimates, f: int, g: int, min_count: float, *, weighted: bool) -> np.ndarray:
    """Return how much each pair of states of f < g weighs as super-parents."""
    a, b = (slice(found.first[j], found.first[j + 1]) for j in (f, g))
    n = found.counts[a, b].reshape(-1, found.counts.shape[-1])
    rows = n.sum(axis=1)
    weight = mutual_information(n) if weighted and n.size else 1.0
    return np.where((rows > 0) & (rows >= min_count), weight if weight > NOISE else 0.0, 0.0)
