"""Joined naive Bayes: features that depend on each other are put together into one.

Naive Bayes takes the features as independent given the class. Where two of them are not, the pair of them can stand as
one feature whose states are the pairs of states,

    P(c | x) ∝ P(c) Π_g P(x_g | c),     P(x_g | c) = P(x₁ | c) P(x₂ | x₁, c) …  for the features of group g,

so that the joint distribution of a group is free within each class. Which features to put together, and which to
leave out, is found by a greedy search that asks how well each row is predicted from all others.

References
----------
M. J. Pazzani (1996). Searching for dependencies in Bayesian classifiers. In: Learning from Data, AISTATS V, Lecture
Notes in Statistics 112, 239–248.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tunbridge._check import check_choice, check_whole
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.dependence.family_model import FamilyModel, as_table_prior, family_model
from tunbridge.classifiers.naive.left_out_factors import Rows, n_cells
from tunbridge.classifiers.naive.searched import (
    CRITERIA,
    Group,
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

_SEARCHES = ("backward", "forward")


class JoinedNaiveBayesClassifier(BayesClassifier):
    """Naive Bayes whose dependent features are joined into one, and useless ones left out.

    What is predicted, decided or explained may be rows of any make, or one row as a mapping of features to values.

    Parameters
    ----------
    search : {"backward", "forward"}
        Backward (BSEJ: backward sequential elimination and joining) starts with all features apart, and joins two
        groups or leaves one out. Forward (FSSJ: forward sequential selection and joining) starts with none, and adds a
        feature as a group of its own or to a group that is there.
    criterion : {"accuracy", "log-loss"}
        What is to be best when each row is predicted from all others: the share of rows whose class is found, log-loss
        deciding between equals; or the log-loss alone.
    patience : int
        How many steps in a row may make predictions no better before the search ends; what is kept is the best that was
        met.
    max_states : int
        The most joint states that a group may have; what would have more is not joined.
    categorical, class_prior, missing, n_jobs
        As in :class:`TANClassifier`; numbers are cut into intervals by Fayyad & Irani's method.
    smoothing
        As in :class:`SelectiveNaiveBayesClassifier`, for the tables P(x | class, features before it in its group).

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    groups_ : list of tuple of str
        The features that are used, those that were joined in one tuple.
    trace_ : tuple of SearchStep
        The search: what was joined, added or removed, and the leave-one-out accuracy and log-loss after it.

    Notes
    -----
    A step of the search tries all pairs of groups, and costs F²/2 passes over rows and classes for F features: with
    more than a hundred features the forward search, or :class:`TANClassifier`, is quicker. Cells that are missing are
    summed out of their group. ``partial_fit`` keeps the groups of the first batch, and adds to their counts.

    References
    ----------
    M. J. Pazzani (1996). Searching for dependencies in Bayesian classifiers. In: Learning from Data, AISTATS V, Lecture
    Notes in Statistics 112, 239–248.

    Examples
    --------
    The class is whether two features differ, of which neither says anything alone:

    >>> import tunbridge as tb
    >>> left, right = ["a", "a", "b", "b"] * 5, ["a", "b"] * 10
    >>> differ = [l != r for l, r in zip(left, right)]
    >>> clf = tb.JoinedNaiveBayesClassifier().fit({"left": left, "right": right}, differ)
    >>> clf.groups_
    [('left', 'right')]
    >>> clf.predict({"left": "a", "right": "b"}).tolist()
    [True]
    """

    kind = "joined-naive-bayes"

    def __init__(
        self,
        search: str = "backward",
        *,
        criterion: str = "accuracy",
        patience: int = 1,
        max_states: int = 4096,
        categorical: Any = None,
        smoothing: Any = 1.0,
        class_prior: Any = None,
        missing: str = "marginal",
        n_jobs: int | None = None,
    ) -> None:
        self.search = search
        self.criterion = criterion
        self.patience = patience
        self.max_states = max_states
        self.categorical = categorical
        self.smoothing = smoothing
        self.class_prior = class_prior
        self.missing = missing
        self.n_jobs = n_jobs

    @property
    def groups_(self) -> list[tuple[str, ...]]:
        """The features that are used, by group."""
        return [tuple(self.variables_[j].name for j in group) for group in self.statistics_.groups]

    @property
    def trace_(self) -> tuple[SearchStep, ...]:
        """The steps of the search."""
        return self.statistics_.steps

    def _check_parameters(self) -> None:
        check_choice("search", self.search, _SEARCHES)
        check_choice("criterion", self.criterion, CRITERIA)
        check_whole("patience", self.patience, low=0)
        check_whole("max_states", self.max_states, low=1)
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
        return joined(rows, self.search, self.max_states, **options)

    def _derive(self, statistics: SearchedStatistics, log_prior: np.ndarray) -> FamilyModel:
        return family_model(statistics.families, log_prior, self.smoothing)

    _content = staticmethod(searched_content)
    _statistics = staticmethod(searched_statistics)


def joined(rows: Rows, search: str, max_states: int, **options: Any) -> tuple[Groups, list[SearchStep]]:
    """Return the groups of features that a greedy search finds, and its steps."""
    everything = tuple((j,) for j in rows.used)

    def fits(group: Group) -> bool:
        return n_cells(rows, group) <= max_states

    def backward(groups: Groups) -> list[Move]:
        removals = [Move("remove", g, gone=(g,)) for g in groups]
        pairs = [(a, b) for a, b in combinations(groups, 2) if fits(a + b)]
        return removals + [Move("join", a + b, gone=(a, b), new=(a + b,)) for a, b in pairs]

    def forward(groups: Groups) -> list[Move]:
        left = [(j,) for j in rows.used if not any(j in g for g in groups)]
        additions = [Move("add", g, new=(g,)) for g in left]
        pairs = [(a, b) for a in groups for b in left if fits(a + b)]
        return additions + [Move("join", a + b, gone=(a,), new=(a + b,)) for a, b in pairs]

    if search == "forward":
        return search_groups(rows, (), forward, **options)
    return search_groups(rows, everything, backward, **options)
