"""Learning from rows of which only some have a class: expectation-maximisation around any classifier that counts.

Rows without a class still tell which values go together, and a model P(x, c) can use them: they are rows of the mixture
P(x) = Σ_c P(x, c). Beginning with what the rows with a class say, two steps take turns.

- E: every row x without a class gets the posterior P(c | x) of the present model;
- M: the model is derived anew from the statistics of the rows with a class and, for each class, of those without one,
  which count λ P(c | x).

Neither step lowers

    L = Σ_{rows with a class} log P(x, c) + λ Σ_{rows without} log P(x) + log prior of the tables,

so the climb ends in a (local) maximum. The weight λ says how much the rows without a class are believed. Where classes
are what makes the rows differ most (the subjects of texts), λ = 1 makes a few classified rows worth many. Where they
are not, the mixture may find other groups than the classes, and a small λ, or one that is chosen by holding out rows
with a class, protects.

Statistics can be merged, so nothing is kept for each row but its posterior, and every classifier with ``partial_fit``
can be inside.

References
----------
K. Nigam, A. K. McCallum, S. Thrun, T. Mitchell (2000). Text classification from labeled and unlabeled documents using
EM. Machine Learning 39, 103–134 (sections 4 and 5.3.1: EM-λ).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_number, check_whole, counted, shortened, warn_user
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.parameters import fitted_content, fitted_of
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.readers import Reader
from tunbridge.classifiers.rows.unlabelled import encode_partly, plain_labels, without_class
from tunbridge.classifiers.wrappers.expectation import (
    Climbed,
    Labelled,
    SemiSupervisedStatistics,
    climb,
    held_out_losses,
)
from tunbridge.data import Variable
from tunbridge.decisions.importance import Importance
from tunbridge.decisions.what_if import WhatIf
from tunbridge.errors import ConvergenceWarning, DataError, DataWarning, TunbridgeWarning
from tunbridge.inference.forward import entropy_of

AUTO = "auto"
TRIED = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The weights among which ``"auto"`` chooses."""


class SemiSupervisedClassifier(BayesClassifier):
    """A classifier that also learns from rows without a class, by expectation-maximisation (EM).

    Parameters
    ----------
    estimator : BayesClassifier, optional
        The classifier inside, any with ``partial_fit`` but :class:`BayesOptimalClassifier`, which has no P(x);
        :class:`NaiveBayesClassifier` by default. It is copied, not changed.
    unlabelled_weight : float or "auto"
        λ, from 0 to 1: how many rows with a class a row without one counts like. ``"auto"`` takes the one of 0, 0.01,
        0.03, 0.1, 0.3 and 1 under which rows with a class are predicted best (in log-loss) when they are held out.
    unlabelled : label, optional
        The label that marks rows without a class, −1 as in scikit-learn. Missing labels (None, NaN, empty text) mark
        them too. None: only missing ones do. Where all other labels are equal, as in −1 and 1, the mark is taken as a
        class, with a warning.
    max_iter : int
        The most iterations.
    tol : float
        The climb ends when an iteration raises the objective by less than this for each row.
    folds : int
        For ``"auto"``: in how many parts the rows with a class are held out in turns.
    random_state : int, numpy Generator or None
        Which rows are held out together.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    class_count_ : ndarray
        The rows of each class: those that have it, and those expected to, each of which counts λ.
    estimator_ : BayesClassifier
        The classifier inside, as it was learned.
    unlabelled_weight_ : float
        λ.
    losses_ : dict
        With ``"auto"`` the log-loss of held-out rows for each λ.
    trace_ : tuple of float
        The objective L at the start, learned from the rows with a class, and after each iteration.
    n_iter_ : int
        The number of iterations.

    Notes
    -----
    Which columns are categorical, and their states, follow from all rows. What needs classes is settled by the rows
    that have one: cut points of numbers, and structures that an estimator settles with its first rows (the tree of
    :class:`TANClassifier` is found anew in every iteration). With few such rows Fayyad & Irani's method hardly cuts:
    let numbers be Gaussian.

    L never falls with tables that are smoothed by a number and with Gaussian numbers of ``variance="mle"``. Where the
    rule of an estimator is not the maximum of anything (unbiased variances, hierarchical smoothing) an iteration that
    would lower L is not made, and ends the climb; L is then without a prior. There is no ``partial_fit``.

    References
    ----------
    K. Nigam, A. K. McCallum, S. Thrun, T. Mitchell (2000). Text classification from labeled and unlabeled documents
    using EM. Machine Learning 39, 103–134.

    Examples
    --------
    The texts with a subject do not say what «goal» is about. Those without one say that it goes with «ball»:

    >>> import tunbridge as tb
    >>> words = {"ball": [1, 1, 0, 0, 1, 1, 1, 0, 0, 0], "goal": [0, 0, 0, 0, 1, 1, 1, 0, 0, 0]}
    >>> subject = ["sports", "sports", "politics", "politics", None, None, None, None, None, None]
    >>> clf = tb.SemiSupervisedClassifier().fit(words, subject)
    >>> clf.classes_.tolist(), clf.predict_proba({"goal": 1}).round(2).tolist()
    (['politics', 'sports'], [[0.24, 0.76]])
    >>> labelled = tb.SemiSupervisedClassifier(unlabelled_weight=0).fit(words, subject)
    >>> labelled.predict_proba({"goal": 1}).round(2).tolist()
    [[0.5, 0.5]]
    """

    kind = "semi-supervised"
    _goes_on = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        unlabelled_weight: float | str = 1.0,
        unlabelled: Any = -1,
        max_iter: int = 100,
        tol: float = 1e-3,
        folds: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.unlabelled_weight = unlabelled_weight
        self.unlabelled = unlabelled
        self.max_iter = max_iter
        self.tol = tol
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def estimator_(self) -> BayesClassifier:
        """The classifier inside, as it was learned."""
        fitted: BayesClassifier = self.statistics_.fitted
        return fitted

    @property
    def unlabelled_weight_(self) -> float:
        """λ, the weight of a row without a class."""
        return float(self.statistics_.unlabelled_weight)

    @property
    def losses_(self) -> dict[float, float]:
        """The log-loss of held-out rows for each λ, where one was to be chosen."""
        return dict(self.statistics_.losses)

    @property
    def trace_(self) -> tuple[float, ...]:
        """The objective at the start and after each iteration."""
        return tuple(self.statistics_.trace)

    @property
    def n_iter_(self) -> int:
        """The number of iterations."""
        return max(1, len(self.trace_) - 1)

    def _check_parameters(self) -> None:
        if not (isinstance(self.unlabelled_weight, str) and self.unlabelled_weight == AUTO):
            check_number("unlabelled_weight (λ, or 'auto')", self.unlabelled_weight, low=0, high=1)
        check_whole("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol, low=0)
        check_whole("folds", self.folds, low=2)
        entropy_of(self.random_state)
        if self.estimator is not None and not isinstance(self.estimator, BayesClassifier):
            got = shortened(repr(self.estimator))
            hint = f" Make one: {self.estimator.__name__}()." if isinstance(self.estimator, type) else ""
            raise DataError(f"estimator must be a classifier of Tunbridge; got {got}.{hint}")
        inner = self._unfitted()
        if not inner._has_joint:
            raise DataError(
                "estimator must have a joint distribution P(x, c), of which rows without a class tell P(x); "
                f"{shortened(repr(inner))} has none."
            )
        if not inner._goes_on:
            raise DataError(
                "estimator must be able to add rows to what it has learned; "
                f"{shortened(repr(inner))} has no partial_fit."
            )
        inner._check_parameters()

    def _unfitted(self) -> BayesClassifier:
        """Return a fresh copy of the estimator."""
        copy: BayesClassifier = NaiveBayesClassifier() if self.estimator is None else clone(self.estimator)
        return copy.set_params(n_jobs=self.n_jobs)

    def _reader(self) -> Reader:
        return self._unfitted()._reader()

    def _which_categorical(self) -> Any:
        return self._unfitted()._which_categorical()

    def _log_prior(self, statistics: SemiSupervisedStatistics) -> np.ndarray:
        return statistics.fitted.class_log_prior_

    def _encoded_target(self, y: Any, classes: Any, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        return encode_partly(y, classes, name, n_rows, self.unlabelled)

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> SemiSupervisedStatistics:
        rows = Labelled(self._unfitted()._settled(batch, weights), classes, target, weights)
        weight, losses = self._chosen_weight(rows)
        found = self._climb(rows, weight)
        if not found.settled:
            last = (found.trace[-1] - found.trace[-2]) / rows.n(weight)
            warn_user(
                f"EM did not settle within {counted(self.max_iter, 'iteration')}: the last raised the objective by "
                f"{last:.2g} a row, above tol = {self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        return SemiSupervisedStatistics(found.fitted, weight, tuple(found.trace), losses)

    def _climb(self, rows: Labelled, weight: float) -> Climbed:
        return climb(self._unfitted(), rows, weight, max_iter=self.max_iter, tol=self.tol, n_jobs=self.n_jobs)

    def _chosen_weight(self, rows: Labelled) -> tuple[float, dict[float, float]]:
        if not isinstance(self.unlabelled_weight, str):
            return float(self.unlabelled_weight), {}
        if not (rows.classes < 0).any():
            return 1.0, {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # whatever is odd in a part will be told of the whole
            seed = entropy_of(self.random_state)
            losses = held_out_losses(rows, TRIED, self._climb, n_folds=self.folds, seed=seed, n_jobs=self.n_jobs)
        if not losses:
            warn_user(
                "unlabelled_weight='auto' must have a class with two rows or more to hold one out; rows without a "
                "class are not used. Give unlabelled_weight a number.",
                DataWarning,
            )
            return 0.0, {}
        return min(losses, key=lambda weight: (losses[weight], weight)), losses

    def _adopt(self, statistics: SemiSupervisedStatistics, target_name: str | None) -> None:
        """Take the statistics; the estimator inside learns what the columns are called."""
        super()._adopt(statistics, target_name)
        statistics.fitted.target_name_ = target_name
        if hasattr(self, "feature_names_in_"):
            statistics.fitted.feature_names_in_ = self.feature_names_in_

    def _derive(self, statistics: SemiSupervisedStatistics, log_prior: np.ndarray) -> Any:
        return statistics.fitted._model

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of the rows with a class whose class is predicted; y may be the name of a column."""
        check_is_fitted(self)
        X, y, sample_weight, _ = self._reader().split(X, y, sample_weight, self.target_name_)
        known = ~without_class(y, None if self.unlabelled in self.classes_.tolist() else self.unlabelled)
        if not known.any():
            raise DataError("some row must have a class to be compared with what is predicted; got none.")
        right = self.predict(X)[known] == plain_labels(np.asarray(y).reshape(-1)[known])
        return float(np.average(right, weights=None if sample_weight is None else np.asarray(sample_weight)[known]))

    def _reasons(self, batch: Any, compared: list[tuple[int, int]], probabilities: np.ndarray) -> list[Any]:
        return self.estimator_._reasons(batch, compared, probabilities)

    def importance(self, method: str = "information") -> Importance:
        """Return what each feature tells about the class: :meth:`importance` of the estimator inside."""
        check_is_fitted(self)
        return self.estimator_.importance(method)

    def what_if(self, X: Any, *, to: Any = None, features: Any = None) -> WhatIf | list[WhatIf]:
        """Return which single changes would give each row another class: :meth:`what_if` of the estimator inside."""
        check_is_fitted(self)
        return self.estimator_.what_if(X, to=to, features=features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._unfitted().__sklearn_tags__().input_tags
        return tags

    @staticmethod
    def _content(statistics: SemiSupervisedStatistics) -> dict[str, Any]:
        return {
            "estimator": fitted_content(statistics.fitted),
            "unlabelled_weight": statistics.unlabelled_weight,
            "trace": list(statistics.trace),
            "losses": [list(pair) for pair in statistics.losses.items()],
        }

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> SemiSupervisedStatistics:
        trace, losses = (float(v) for v in content["trace"]), {float(w): float(v) for w, v in content["losses"]}
        weight = float(content["unlabelled_weight"])
        return SemiSupervisedStatistics(fitted_of(content["estimator"]), weight, tuple(trace), losses)
