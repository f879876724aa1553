"""Selective naive Bayes: only the features that help are used.

Naive Bayes counts the evidence of two features that say the same twice. Leaving one of them out is the simplest cure.
The features are chosen by a greedy search: forward from none, always adding the one that helps most, or backward from
all, always leaving out the one that is missed least. How much a feature helps is measured on the rows themselves, each
predicted by a model that has learned from all others. These models need not be learned: a row is taken away from the
counts (:mod:`tunbridge.classifiers.naive.left_out_factors`), so that trying a feature costs one look into a table for
each row and class.

References
----------
P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_whole
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import FamilyModel, as_table_prior, family_model
from tunbridge.classifiers.naive.left_out_factors import Rows
from tunbridge.classifiers.naive.searched import (
    CRITERIA,
    Groups,
    Move,
    SearchedStatistics,
    SearchStep,
    collect_searched,
    search_groups,
    searched_content,
    searched_statistics,
)
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import MISSING_RULES
from tunbridge.data import Variable

_SEARCHES = ("forward", "backward")


class SelectiveNaiveBayesClassifier(BayesClassifier):
    """Naive Bayes with the features that help: chosen forward or backward by leave-one-out.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    search : {"forward", "backward"}
        Whether features are added one by one, or left out one by one. Forward leaves out copies of what is known
        already; backward finds features that help only together, and keeps more.
    criterion : {"accuracy", "log-loss"}
        What is to be best when each row is predicted from all others: the share of rows whose class is found, log-loss
        deciding between equals; or the log-loss alone, which looks at all probabilities and stops later.
    patience : int
        How many steps in a row may make predictions no better before the search ends: features that help only together
        are found that way. What is kept is the best that was met.
    max_features : int, optional
        The most features that are added (forward), or left in (backward).
    categorical, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are cut into intervals by Fayyad & Irani's method.
    smoothing : number, "hierarchical", or prior
        How counts become tables P(x | class); a number is Laplace's γ. Where pseudo-counts depend on the data, as those
        of ``MEstimate(m, "marginal")`` and the strengths of ``"hierarchical"`` do, they are not made anew for every row
        that is left out.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    selected_ : list of str
        The features that are used, in the order of the columns.
    trace_ : tuple of SearchStep
        The search: what was added or removed, and the leave-one-out accuracy and log-loss after it.

    Notes
    -----
    A feature is added where that makes predictions better, and left out where they do not get worse. Choosing from F
    features takes at most F²/2 passes over rows and classes. ``partial_fit`` keeps the features that the first
    batch chose, and adds to their counts.

    References
    ----------
    P. Langley, S. Sage (1994). Induction of selective Bayesian classifiers. UAI, 399–406.

    Examples
    --------
    >>> import tunbridge as tb
    >>> clf = tb.SelectiveNaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
    >>> clf.selected_
    ['outlook', 'humidity']
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> clf.predict(day).tolist()
    ['no']
    """

    kind = "selective-naive-bayes"

    def __init__(
        self,
        search: str = "forward",
        *,
        criterion: str = "accuracy",
        patience: int = 2,
        max_features: int | None = None,
        categorical: Any = None,
        smoothing: Any = 1.0,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.patience = patience
        self.max_features = max_features
        self.categorical = categorical
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @property
    def selected_(self) -> list[str]:
        """The features that are used."""
        return [self.variables_[j].name for (j,) in self.statistics_.groups]

    @property
    def trace_(self) -> tuple[SearchStep, ...]:
        """The steps of the search."""
        return self.statistics_.steps

    def _check_parameters(self) -> None:
        check_choice("search", self.search, _SEARCHES)
        check_choice("criterion", self.criterion, CRITERIA)
        check_whole("patience", self.patience, low=0)
        check_whole("max_features", self.max_features, low=1, optional=True)
        check_choice("missing", self.missing, MISSING_RULES)
        as_table_prior(self.smoothing)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> SearchedStatistics:
        return collect_searched(
            batch,
            classes,
            target,
            weights,
            before,
            search=self._search,
            missing=self.missing,
            class_prior=self.class_prior,
            smoothing=self.smoothing,
            n_jobs=self.n_jobs,
        )

    def _search(self, rows: Rows) -> tuple[Groups, list[SearchStep]]:
        options = {"criterion": self.criterion, "patience": self.patience, "n_jobs": self.n_jobs}
        return selected(rows, self.search, self.max_features, **options)

    def _derive(self, statistics: SearchedStatistics, log_prior: np.ndarray) -> FamilyModel:
        return family_model(statistics.families, log_prior, self.smoothing)

    _content = staticmethod(searched_content)
    _statistics = staticmethod(searched_statistics)


def selected(rows: Rows, search: str, max_features: int | None, **options: Any) -> tuple[Groups, list[SearchStep]]:
    """Return the features that a greedy search chooses, each a group of its own, and the steps of the search."""
    everything = tuple((j,) for j in rows.used)

    def additions(chosen: Groups) -> list[Move]:
        left = everything if max_features is None or len(chosen) < max_features else ()
        return [Move("add", g, new=(g,)) for g in left if g not in chosen]

    def removals(chosen: Groups) -> list[Move]:
        return [Move("remove", g, gone=(g,)) for g in chosen]

    if search == "forward":
        return search_groups(rows, (), additions, **options)
    return search_groups(rows, everything, removals, most=max_features, **options)
