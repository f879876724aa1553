"""Naive Bayes: one classifier for categorical and numeric columns together.

The features are taken as independent given the class, so that Bayes' rule reads

    P(c | x) ∝ P(c) Π_f P(x_f | c).

Each factor is estimated by itself: smoothed frequencies for a categorical feature; a normal density, a kernel density
or frequencies of intervals for a numeric one. Because the factors stand alone, a missing value is simply left out of
the product, at learning and at prediction; a state never seen before counts as missing; and a row's posterior odds are
a sum of one weight of evidence a feature.

References
----------
T. M. Mitchell (1997). Machine Learning, chapter 6.9.
G. H. John, P. Langley (1995). Estimating continuous distributions in Bayesian classifiers. UAI, 338–345.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_number
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.naive.files import statistics_content, statistics_of
from tunbridge.classifiers.naive.likelihood import Likelihood, derive
from tunbridge.classifiers.naive.statistics import NUMERIC_ROLES, Statistics, collect
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.readers import check_columns
from tunbridge.data import Variable
from tunbridge.probability.smoothing import Smoothing, as_smoothing


class NaiveBayesClassifier(BayesClassifier):
    """Naive Bayes for mixed tables: text, categories, numbers, missing values, weights, data that keep arriving.

    What is predicted, decided or explained may be rows of any make (frame, dict of columns, Table, array), or one row
    as a mapping of features to values, in which a feature that is not named is missing.

    Parameters
    ----------
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical. ``None`` goes by type: text, truth values, categoricals, and whole numbers with
        at most two distinct values are; other numbers are numeric. A list (names, positions or a mask) adds to that; a
        mapping says yes or no for the columns it names. Positions count the features, without the target.
    numeric : {"gaussian", "kernel", "discretise"} or mapping of column to one of them
        How numeric columns are modelled: a normal density in each class, a kernel density, or frequencies of intervals
        cut by Fayyad & Irani's method. Columns that a mapping does not name are Gaussian.
    smoothing : float, Laplace, MEstimate, or mapping of column to one of them
        How frequencies become probabilities; a number is Laplace's γ, added to every count (0: none). Columns that a
        mapping does not name get γ = 1.
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); ``None`` takes the relative frequencies of the classes. An array follows the order of ``classes_``.
    variance : {"unbiased", "mle"}
        Whether Gaussian variances divide by n − 1 or by n.
    variance_floor : float
        The share of a feature's variance over all rows that is added to its variance in each class.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        The class labels, sorted.
    class_count_ : ndarray
        The number (or weight) of the rows of each class.
    class_log_prior_ : ndarray
        log P(c).
    variables_ : tuple of Variable
        The features, with their states.
    statistics_ : Statistics
        The counts, moments and points the parameters are derived from.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Learning and prediction take one pass over the data, in pieces: memory beyond the data themselves is a byte a cell
    for categorical columns and nothing for numeric ones. A row that has probability zero under every class (without
    smoothing, or with a number absurdly far from all that were learned) gets the prior, with a warning. Weights are
    numbers of rows: a row of weight 3 counts like three.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.play_tennis()
    >>> clf = tb.NaiveBayesClassifier(smoothing=0).fit(table, "play")
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    >>> clf.predict_proba(day).round(3).tolist()
    [[0.795, 0.205]]
    """

    kind = "naive-bayes"

    def __init__(
        self,
        *,
        categorical: Any = None,
        numeric: str | Mapping[str, str] = "gaussian",
        smoothing: Any = 1.0,
        class_prior: Any = None,
        variance: str = "unbiased",
        variance_floor: float = 1e-9,
        n_jobs: int | None = None,
    ) -> None:
        self.categorical = categorical
        self.numeric = numeric
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.variance = variance
        self.variance_floor = variance_floor
        self.n_jobs = n_jobs

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> Statistics:
        return collect(
            batch,
            classes,
            target,
            roles=self._roles(batch.variables) if before is None else before.roles,
            weights=weights,
            cuts=None if before is None else before.cuts,
            n_jobs=self.n_jobs,
        )

    def _derive(self, statistics: Statistics, log_prior: np.ndarray) -> Likelihood:
        return derive(
            statistics,
            log_prior=log_prior,
            smoothing=self._smoothing(statistics),
            unbiased=self.variance == "unbiased",
            variance_floor=float(self.variance_floor),
        )

    _content = staticmethod(statistics_content)
    _statistics = staticmethod(statistics_of)

    def _check_parameters(self) -> None:
        check_choice("variance", self.variance, ("unbiased", "mle"))
        check_number("variance_floor", self.variance_floor, low=0)
        numeric = self.numeric.values() if isinstance(self.numeric, Mapping) else [self.numeric]
        for role in numeric:
            check_choice("numeric", role, NUMERIC_ROLES)
        rules = self.smoothing.values() if isinstance(self.smoothing, Mapping) else [self.smoothing]
        for rule in rules:
            as_smoothing(rule)

    def _roles(self, variables: tuple[Variable, ...]) -> list[str]:
        given = self.numeric if isinstance(self.numeric, Mapping) else {}
        check_columns("numeric", given, [v.name for v in variables if v.is_continuous], "numeric columns")
        default = "gaussian" if isinstance(self.numeric, Mapping) else self.numeric
        return ["categorical" if v.is_categorical else given.get(v.name, default) for v in variables]

    def _smoothing(self, statistics: Statistics) -> dict[int, Smoothing]:
        """Return the rule of each feature that is counted."""
        names = [v.name for v in statistics.variables]
        given = self.smoothing if isinstance(self.smoothing, Mapping) else {}
        check_columns("smoothing", given, [names[j] for j in statistics.counts], "columns that are counted")
        default = as_smoothing(1.0 if isinstance(self.smoothing, Mapping) else self.smoothing)
        return {j: as_smoothing(given.get(names[j], default)) for j in statistics.counts}
