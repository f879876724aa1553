"""Calibrated posteriors: any classifier, with its probabilities put right by rows that it has not seen.

Naive Bayes counts every feature as evidence of its own. Where features repeat each other the same evidence is counted
twice, and posteriors sit too near 0 and 1: right about the class, wrong about the odds. Costs that differ are weighed
by these odds, so they must be right. The cure is to hold rows out in turns, to look at what the posteriors of these
rows were worth, and to learn a map from one to the other (:mod:`tunbridge.classifiers.wrappers.calibration`). The model
itself is then learned from all rows.

References
----------
P. Domingos, M. Pazzani (1997). On the optimality of the simple Bayesian classifier under zero-one loss. Machine
Learning 29, 103–130.
A. Niculescu-Mizil, R. Caruana (2005). Predicting good probabilities with supervised learning. ICML, 625–632.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from tunbridge._check import check_choice, check_whole, shortened
from tunbridge._memory import check_memory
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import conditions
from tunbridge.classifiers.explanation.importance import importance_of
from tunbridge.classifiers.explanation.ranges import cuts_of
from tunbridge.classifiers.naive.naive_bayes import NaiveBayesClassifier
from tunbridge.classifiers.parameters import fitted_content, fitted_of
from tunbridge.classifiers.posteriors import Finish, log_posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.folds import deal_folds
from tunbridge.classifiers.rows.readers import Reader
from tunbridge.classifiers.wrappers.calibration import (
    METHODS,
    Calibration,
    HeldOut,
    best_calibration,
    learn_calibration,
)
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.decisions import Evidence, Explanation
from tunbridge.errors import DataError, TunbridgeWarning
from tunbridge.inference.forward import entropy_of

CALIBRATION = "calibration"
"""What the line of an explanation is called that leads from the estimator's log-odds to the calibrated ones."""

_AUTO = "auto"
_FARTHEST = 700.0  # an infinite weight of evidence, where it must be added to others


@dataclass(frozen=True, eq=False)
class CalibratedStatistics:
    """What is kept of the data: the estimator that was learned from all rows, and the map behind it.

    Parameters
    ----------
    fitted : BayesClassifier
        The estimator.
    calibration : Calibration
        The map from its posteriors to calibrated ones.
    losses : mapping of str to float
        The log-loss of each method on held-out rows, where one was to be chosen.
    """

    fitted: BayesClassifier
    calibration: Calibration
    losses: Mapping[str, float]

    @property
    def target(self) -> Variable:
        """The class variable."""
        return self.fitted.statistics_.target

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return np.asarray(self.fitted.class_count_)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features."""
        return self.fitted.variables_

    def merge(self, other: Any) -> Any:
        """Raise: what was held out cannot be held out again."""
        raise DataError("a calibrated classifier must be learned from all rows at once; got further ones.")


@dataclass(frozen=True, eq=False)
class CalibratedModel:
    """The joint distribution of an estimator with calibrated P(c | x); P(x) is the estimator's."""

    inner: Any
    calibration: Calibration
    log_prior: np.ndarray

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row; what no class can produce stays impossible."""
        return np.asarray(self.inner.joint(batch, lambda joint: finish(self._calibrated(joint)), n_jobs))

    def terms(self, batch: Batch) -> np.ndarray:
        """Return what each feature adds to the estimator's log P(x, c)."""
        return np.asarray(self.inner.terms(batch))

    def conditions(self, batch: Batch) -> Any:
        """Return what the term of each feature is conditional on."""
        return conditions(self.inner, batch) or [[()] * len(batch.variables)] * batch.n_rows

    def importances(self, statistics: CalibratedStatistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class, which calibration leaves alone."""
        found = importance_of(self.inner, statistics.fitted.statistics_, method)
        return {j: found[v.name] for j, v in enumerate(statistics.variables)}

    @property
    def cuts(self) -> Mapping[int, Discretisation]:
        """How the numbers that the estimator cuts are cut."""
        return cuts_of(self.inner)

    @property
    def parents(self) -> Any:
        """What depends on what, where the estimator has a structure."""
        return getattr(self.inner, "parents", None)

    def _calibrated(self, joint: np.ndarray) -> np.ndarray:
        lost = np.isneginf(joint.max(axis=0))
        possible = np.where(lost, self.log_prior[:, None], joint) if lost.any() else joint
        found = self.calibration.log_posterior(possible, self.log_prior) + logsumexp(possible, axis=0)
        return np.where(lost, -np.inf, found) if lost.any() else found


class CalibratedClassifier(BayesClassifier):
    """Any classifier with calibrated probabilities: what it calls 70 % comes true in about 70 of 100 cases.

    Parameters
    ----------
    estimator : BayesClassifier, optional
        The classifier; :class:`NaiveBayesClassifier` by default. It is copied, not changed.
    method : {"auto", "isotonic", "platt", "temperature", "none"}
        The map from its posteriors to calibrated ones. ``"isotonic"``: any increasing one, for thousands of rows.
        ``"platt"``: a logistic regression on the log-odds. ``"temperature"``: one number, by which the evidence counts
        less (or more) than it says. ``"none"``: as they are. ``"auto"`` takes the one of least log-loss on rows that
        it was not learned from.
    folds : int
        How often a part of the rows is held out, while the others are learned from.
    random_state : int, numpy Generator or None
        Which rows are held out together; None makes it differ from time to time.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    estimator_ : BayesClassifier
        The classifier, learned from all rows.
    method_ : str
        The method that is used.
    losses_ : dict
        With ``"auto"`` the log-loss of each method on rows that it was not learned from.

    Notes
    -----
    Learning takes ``folds + 1`` times as long as that of the estimator, prediction a little longer. Which rows are held
    out together follows from what they hold, so the order of rows and columns does not matter; rows are spread evenly
    by class, and the only row of a class is never held out. Weights are numbers of rows: a row of weight 3 is three
    equal rows, which can be held out one at a time. The isotonic map has steps: rows on one step are equally probable,
    and their order is lost.

    Predictions are the most probable classes after calibration, which need not be those before it. There is no
    ``partial_fit``.

    References
    ----------
    A. Niculescu-Mizil, R. Caruana (2005). Predicting good probabilities with supervised learning. ICML, 625–632.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = tb.CalibratedClassifier(tb.NaiveBayesClassifier(), method="platt").fit(X, y)
    >>> case = X[505:506]
    >>> clf.estimator_.predict_proba(case).round(2).tolist(), clf.predict_proba(case).round(2).tolist()
    ([[0.06, 0.94]], [[0.33, 0.67]])
    """

    kind = "calibrated"
    _goes_on = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = _AUTO,
        folds: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def estimator_(self) -> BayesClassifier:
        """The classifier, learned from all rows."""
        fitted: BayesClassifier = self.statistics_.fitted
        return fitted

    @property
    def method_(self) -> str:
        """The method that is used."""
        return str(self.statistics_.calibration.method)

    @property
    def losses_(self) -> dict[str, float]:
        """The log-loss of each method on held-out rows, where one was to be chosen."""
        return dict(self.statistics_.losses)

    def _check_parameters(self) -> None:
        check_choice("method", self.method, (_AUTO, *METHODS))
        check_whole("folds", self.folds, low=2)
        entropy_of(self.random_state)
        if self.estimator is not None and not isinstance(self.estimator, BayesClassifier):
            got = shortened(repr(self.estimator))
            hint = "scikit-learn's CalibratedClassifierCV takes others."
            if isinstance(self.estimator, type):
                hint = f"Make one: {self.estimator.__name__}()."
            raise DataError(f"estimator must be a classifier of Tunbridge; got {got}. {hint}")
        self._unfitted()._check_parameters()

    def _unfitted(self) -> BayesClassifier:
        """Return a fresh copy of the estimator."""
        copy: BayesClassifier = NaiveBayesClassifier() if self.estimator is None else clone(self.estimator)
        return copy.set_params(n_jobs=self.n_jobs)

    def _reader(self) -> Reader:
        return self._unfitted()._reader()

    def _which_categorical(self) -> Any:
        return self._unfitted()._which_categorical()

    def _encoded_target(self, y: Any, classes: Any, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        return self._unfitted()._encoded_target(y, classes, name, n_rows)

    def _log_prior(self, statistics: CalibratedStatistics) -> np.ndarray:
        return statistics.fitted.class_log_prior_

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> CalibratedStatistics:
        fitted = self._unfitted()._fit_batch(batch, classes, target, weights)
        rows = self._held_out(batch, classes, target, weights, fitted.class_log_prior_)
        method, losses = best_calibration(rows) if self.method == _AUTO else (self.method, {})
        return CalibratedStatistics(fitted, learn_calibration(method, rows), losses)

    def _held_out(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, log_prior: np.ndarray
    ) -> HeldOut:
        """Return what copies of the estimator say about rows that they were not learned from."""
        n_classes = target.n_states
        if n_classes < 2 or self.method == "none":
            none = np.empty(0, np.int64)
            return HeldOut(np.empty((n_classes, 0)), none, none, none, log_prior)
        check_memory(
            f"the posteriors of {batch.n_rows} held-out rows",
            16.0 * n_classes * batch.n_rows,
            ways_out="Calibrate with a sample of the rows.",
        )
        folds = deal_folds(batch, classes, weights, n_folds=self.folds, seed=entropy_of(self.random_state))
        parts = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # whatever is odd in a part will be told of the whole
            for fold in range(self.folds):
                share = folds.held_out(fold)
                if share.any():
                    joint = self._scores(batch, classes, target, weights, share, log_prior)
                    parts.append((fold, np.flatnonzero(share), joint))
        which = np.concatenate([np.empty(0, np.int64), *(w for _, w, _ in parts)])
        mass = np.ones(batch.n_rows) if weights is None else weights
        shares = np.concatenate([np.empty(0), *(folds.held_out(f)[w] for f, w, _ in parts)])
        numbers = np.concatenate([np.empty(0, np.int64), *(np.full(len(w), f) for f, w, _ in parts)])
        joints = np.concatenate([np.empty((n_classes, 0)), *(joint for _, _, joint in parts)], axis=1)
        return HeldOut(joints, classes[which], mass[which] * shares, numbers, log_prior)

    def _scores(
        self,
        batch: Batch,
        classes: np.ndarray,
        target: Variable,
        weights: np.ndarray | None,
        share: np.ndarray,
        log_prior: np.ndarray,
    ) -> np.ndarray:
        """Return log P(x, c), class × row, of the rows of which a share is held out, learned from all the rest."""
        kept = np.ones(batch.n_rows) if weights is None else weights
        kept = kept * (1.0 - share)
        train, held = kept > 0, share > 0
        whole = weights is None and not (train & held).any()
        rows = batch.take(train)
        model = self._unfitted()._fit_batch(rows, classes[train], target, None if whole else kept[train])
        joint = model._model.joint(batch.take(held).as_known_to(rows), lambda joint: joint, self.n_jobs).T
        return np.where(np.isneginf(joint.max(axis=0)), log_prior[:, None], joint)

    def _adopt(self, statistics: CalibratedStatistics, target_name: str | None) -> None:
        """Take the statistics; the estimator inside learns what the columns are called."""
        super()._adopt(statistics, target_name)
        statistics.fitted.target_name_ = target_name
        if hasattr(self, "feature_names_in_"):
            statistics.fitted.feature_names_in_ = self.feature_names_in_

    def _derive(self, statistics: CalibratedStatistics, log_prior: np.ndarray) -> CalibratedModel:
        return CalibratedModel(statistics.fitted._model, statistics.calibration, log_prior)

    def _reasons(self, batch: Any, compared: list[tuple[int, int]], probabilities: np.ndarray) -> list[Any]:
        """Return the evidence of the estimator, and one line more, which leads to the calibrated log-odds."""
        log_shares = self._posterior(batch, log_posterior)
        told = self.estimator_._reasons(batch, compared, probabilities)
        wanted = [float(shares[c] - shares[d]) for shares, (c, d) in zip(log_shares, compared, strict=True)]
        return [_with_calibration(each, odds, self.method_) for each, odds in zip(told, wanted, strict=True)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self._unfitted().__sklearn_tags__().input_tags
        return tags

    @staticmethod
    def _content(statistics: CalibratedStatistics) -> dict[str, Any]:
        found = statistics.calibration
        return {
            "estimator": fitted_content(statistics.fitted),
            "method": found.method,
            "reach": found.reach,
            "maps": list(found.maps),
            "losses": dict(statistics.losses),
        }

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> CalibratedStatistics:
        fitted = fitted_of(content["estimator"])
        found = Calibration(content["method"], content["reach"], tuple(content["maps"]))
        if not found.fits(fitted.statistics_.target.n_states):
            raise ValueError("its parts do not belong together")
        return CalibratedStatistics(fitted, found, dict(content["losses"]))


def _with_calibration(told: Explanation, wanted: float, method: str) -> Explanation:
    """Return an explanation whose evidence adds up to the calibrated log-odds; infinite weights are cut for it."""
    if not isfinite(wanted):
        return told
    prior = _finite(told.prior)
    evidence = tuple(Evidence(e.feature, e.value, _finite(e.weight), e.given) for e in told.evidence)
    rest = wanted - prior - sum(e.weight for e in evidence)
    return replace(told, prior=prior, evidence=(*evidence, Evidence(CALIBRATION, method, rest)))


def _finite(weight: float) -> float:
    return min(max(weight, -_FARTHEST), _FARTHEST)
