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

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tunbridge._core.registry import classifier
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import Statistics
from tunbridge.classifiers.averages._super_parents import AverageClassifier, OneModel, as_rule, estimates, one_model
from tunbridge.classifiers.dependence._pairs import Pairs, collect_pairs


@classifier("aode", rank=30, default="aode", help="averaged one-dependence estimators")
@dataclass(kw_only=True, eq=False, repr=False)
class AODEClassifier(AverageClassifier):
    """Averaged one-dependence estimators (AODE): the mean of all models with one super-parent.

    Parameters
    ----------
    weighting : None or "mutual information"
        Whether all super-parents have the same weight, or each its information I(X; C) about the class.
    subsumption : bool or number
        Whether a value that follows from another one of the row is left out: x_j beside x_i when all of at least 100
        rows with x_i (or as many as the number says) have x_j.
    min_count : number
        Super-parents whose value has fewer rows do not vote, nor do those whose value has none. A row without any is
        predicted by naive Bayes.
    categorical, text, class_prior, missing, n_jobs
        As in :class:`TANClassifier`. A missing value is left out, or a category of its own.
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
    learned from batches is what would be learned from all rows at once (bins are those of the first batch).

    Explanations add the features in the order of their information about the class; each weight is what a feature adds
    given those before it.

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

    needs_columns = True
    parts = (Pairs,)

    @property
    def votes_(self) -> dict[str, float]:
        """The share of the votes that each feature has as a super-parent, if all of its values vote."""
        shares, first = self.model_.shares, self.model_.first
        largest = [float(shares[a:b].max(initial=0.0)) for a, b in pairwise(first.tolist())]
        total = sum(largest) or 1.0
        return {v.name: share / total for v, share in zip(self.variables_, largest, strict=True)}

    def collect(self, examples: Examples, before: Statistics | None) -> Statistics:
        """Return the counts of all pairs of features within the classes."""
        return collect_pairs(examples, before, missing=self.missing, n_jobs=self.n_jobs)

    def derive(self, statistics: Statistics, log_prior: np.ndarray) -> OneModel:
        """Return the average over single super-parents."""
        return one_model(statistics, estimates(statistics, as_rule(self.smoothing)), log_prior, self.voting)
