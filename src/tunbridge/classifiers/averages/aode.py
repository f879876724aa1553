"""Averaged one-dependence estimators: every feature in its turn is the one that all others depend on.

A model in which each feature depends on the class and on one super-parent x_i is as quick to learn as naive Bayes: it
needs the counts of pairs. None of them is chosen; all of them vote with the probability that they give to the row,

    P(x, c) = 1/|I| Σ_{i ∈ I} P(c) P(x_i | c) Π_{j ≠ i} P(x_j | x_i, c),     I = {i : n(x_i) ≥ min_count},

so there is no search for a structure, little variance, and learning from further rows is exact.

References
----------
G. I. Webb, J. R. Boughton, Z. Wang (2005). Not so naive Bayes: aggregating one-dependence estimators. Machine Learning
58, 5–24.
L. Jiang, H. Zhang (2006). Weightily averaged one-dependence estimators. PRICAI 2006, 970–974.
F. Zheng, G. I. Webb (2006). Efficient lazy elimination for averaged one-dependence estimators. ICML, 1113–1120.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_number
from tunbridge.classifiers.averages.ande_estimates import estimates, one_model
from tunbridge.classifiers.averages.ande_model import OneModel
from tunbridge.classifiers.averages.ande_smoothing import M_ESTIMATE, as_rule
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.pair_statistics import (
    PairStatistics,
    collect_pairs,
    pairs_content,
    pairs_statistics,
)
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES
from tunbridge.data import Variable

INFORMATION = "mutual information"
_SURE = 100.0  # rows of a value that are enough to believe that another follows from it


class AODEClassifier(BayesClassifier):
    """Averaged one-dependence estimators (AODE): the mean of all models with one super-parent.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    weighting : None or "mutual information"
        Whether all super-parents vote alike, or each with its information I(X; C) about the class.
    subsumption : bool or number
        Whether a value that follows from another one of the row is left out: x_j beside x_i when all of at least 100
        rows with x_i (or as many as the number says) have x_j.
    min_count : number
        Super-parents whose value has fewer rows do not vote, nor do those whose value has none. A row without any is
        left to naive Bayes.
    categorical, class_prior, missing, n_jobs
        As in :class:`TANClassifier`. A missing cell is no super-parent and no child, or a state of its own.
    smoothing : "m-estimate", "hierarchical", number, or rule
        How counts become P(x_j | x_i, class) and P(x_i | class). ``"m-estimate"`` is that of the paper, one row's worth
        of the uniform distribution: ``MEstimate(1)``. ``"hierarchical"`` is one row's worth of P(x_j | class), which is
        drawn towards P(x_j): ``BackOff(1)``. A number is Laplace's γ. Or any ``MEstimate``, ``Laplace``, or
        ``BackOff`` with a number as its strength.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    votes_ : dict
        The share of the votes that each feature has as a super-parent, if all of its values have enough rows.

    Notes
    -----
    Learning takes one pass over all pairs; a row takes O(n²) steps for each class. ``partial_fit`` is exact: what is
    learned from batches is what would be learned from all rows at once (cut points are those of the first batch).

    Explanations tell the features in the order of their information about the class; each weight is what a feature
    says beside those before it.

    References
    ----------
    G. I. Webb, J. R. Boughton, Z. Wang (2005). Not so naive Bayes: aggregating one-dependence estimators. Machine
    Learning 58, 5–24.
    L. Jiang, H. Zhang (2006). Weightily averaged one-dependence estimators. PRICAI 2006, 970–974.
    F. Zheng, G. I. Webb (2006). Efficient lazy elimination for averaged one-dependence estimators. ICML, 1113–1120.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.AODEClassifier(weighting="mutual information").fit(tb.datasets.play_tennis(), "play")
    >>> {feature: round(share, 2) for feature, share in clf.votes_.items()}
    {'outlook': 0.52, 'temperature': 0.06, 'humidity': 0.32, 'wind': 0.1}
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict_proba(day).round(3).tolist()
    [[0.6, 0.4]]
    """

    kind = "aode"

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

    @property
    def votes_(self) -> dict[str, float]:
        """The share of the votes that each feature has as a super-parent."""
        return named_votes(self._model)

    def _check_parameters(self) -> None:
        check_average(self)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> PairStatistics:
        return collect_pairs(batch, classes, target, weights, before, missing=self.missing, n_jobs=self.n_jobs)

    def _derive(self, statistics: PairStatistics, log_prior: np.ndarray) -> OneModel:
        found = estimates(statistics, as_rule(self.smoothing))
        return one_model(statistics, found, log_prior, **average_options(self))

    _content = staticmethod(pairs_content)
    _statistics = staticmethod(pairs_statistics)


def check_average(classifier: Any) -> None:
    """Raise for parameters of an average that cannot be."""
    check_choice("weighting", classifier.weighting, (None, INFORMATION))
    if not isinstance(classifier.subsumption, bool | np.bool_):
        check_number("subsumption (True, False, or a number of rows)", classifier.subsumption, above=0)
    check_number("min_count", classifier.min_count, low=0)
    check_choice("missing", classifier.missing, MISSING_RULES)
    as_rule(classifier.smoothing)


def average_options(classifier: Any) -> dict[str, Any]:
    """Return what the parameters of an average mean for its model."""
    given = classifier.subsumption
    rows = (_SURE if given else None) if isinstance(given, bool | np.bool_) else float(given)
    return {
        "min_count": classifier.min_count,
        "weighted": classifier.weighting == INFORMATION,
        "subsumption": rows,
    }


def named_votes(model: OneModel) -> dict[str, float]:
    """Return the share of the votes of each feature whose values all vote."""
    largest = [float(model.shares[a:b].max(initial=0.0)) for a, b in zip(model.first, model.first[1:], strict=False)]
    total = sum(largest)
    names = [v.name for v in model.coding.variables]
    return {name: share / total if total > 0 else 0.0 for name, share in zip(names, largest, strict=True)}
