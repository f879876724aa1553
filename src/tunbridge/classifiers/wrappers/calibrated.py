"""Calibrated posteriors: any classifier, with its probabilities calibrated by cross-validation.

Naive Bayes counts every feature as independent evidence. Where features repeat each other the same evidence is counted
twice, and posteriors are too near 0 and 1: the class is right, the odds are wrong, and decisions with unequal costs
need the odds. So the posteriors of held-out rows are compared with their classes, and a map from one to the other is
learned (:mod:`tunbridge.classifiers.wrappers._calibration`). The model itself is then fitted with all rows.

References
----------
P. Domingos, M. Pazzani (1997). On the optimality of the simple Bayesian classifier under zero-one loss. Machine
Learning 29, 103–130.
A. Niculescu-Mizil, R. Caruana (2005). Predicting good probabilities with supervised learning. ICML, 625–632.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from scipy.special import logsumexp

from tunbridge._core.check import check_choice, check_integer
from tunbridge._core.memory import check_memory
from tunbridge._core.packing import unpack, unpack_fields
from tunbridge._core.registry import classifier
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.classifiers._classes import Finish, log_posterior
from tunbridge.classifiers._parameters import fitted_content, fitted_of
from tunbridge.classifiers._rows import Examples, Rows
from tunbridge.classifiers._statistics import Statistics
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.explanation.contributions import Compared, Ranges, TableModel
from tunbridge.classifiers.wrappers._calibration import (
    METHODS,
    Calibration,
    HeldOut,
    best_calibration,
    learn_calibration,
)
from tunbridge.classifiers.wrappers._wrapper import Wrapped, WrapperClassifier
from tunbridge.data import Table
from tunbridge.decisions import Evidence, Explanation
from tunbridge.errors import TunbridgeWarning

CALIBRATION = "calibration"
"""The name of the line of an explanation that leads from the estimator's log-odds to the calibrated ones."""

_AUTO = "auto"
_FARTHEST = 700.0  # an infinite weight of evidence, where it must be added to others


@dataclass(frozen=True, eq=False)
class CalibratedStatistics(Wrapped):
    """What is kept of the data: the estimator that was fitted with all rows, and the map behind it.

    Parameters
    ----------
    fitted : BayesClassifier
        The estimator.
    calibration : Calibration
        The map from its posteriors to calibrated ones.
    losses : mapping of str to float
        The cross-validated log-loss of each method, where one was to be chosen.
    """

    calibration: Calibration
    losses: Mapping[str, float]

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a file."""
        found = self.calibration
        return {
            "estimator": fitted_content(self.fitted),
            "method": found.method,
            "reach": found.reach,
            "maps": list(found.maps),
            "losses": dict(self.losses),
        }


@dataclass(frozen=True, eq=False)
class CalibratedModel(TableModel):
    """The joint distribution of an estimator with calibrated P(c | x); P(x) is the estimator's."""

    parents = None

    inner: TableModel
    calibration: Calibration
    log_prior: np.ndarray

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row; rows that are impossible under every class stay so."""
        return self.inner.joint(rows, lambda joint: finish(self._calibrated(joint)), n_jobs)

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds to the estimator's log P(x, c)."""
        return self.inner.terms(rows)

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values nearly all of each number with a density lie."""
        return self.inner.ranges(statistics)

    def _calibrated(self, joint: np.ndarray) -> np.ndarray:
        lost = np.isneginf(joint.max(axis=0))
        possible = np.where(lost, self.log_prior[:, None], joint) if lost.any() else joint
        found = self.calibration.log_posterior(possible, self.log_prior) + logsumexp(possible, axis=0)
        return np.where(lost, -np.inf, found) if lost.any() else found


@classifier("calibrated", compared=False)
@dataclass(eq=False, repr=False)
class CalibratedClassifier(WrapperClassifier[CalibratedStatistics]):
    """Any classifier with calibrated probabilities: of the rows with P(c | x) = 70 %, about 70 % have class c.

    Parameters
    ----------
    estimator : BayesClassifier, optional
        The classifier; default: :class:`NaiveBayesClassifier`. It is copied, not changed.
    method : {"auto", "isotonic", "platt", "temperature", "none"}
        How posteriors are calibrated. ``"isotonic"``: any increasing one, for thousands of rows.
        ``"platt"``: a logistic regression on the log-odds. ``"temperature"``: one exponent for
        the evidence. ``"none"``: no change. ``"auto"`` takes the one with the smallest cross-validated log-loss.
    folds : int
        The number of cross-validation folds.
    random_state : int, numpy Generator or None
        Random seed of the folds; None takes a new one each time.
    n_jobs : int, optional
        Number of threads; ``None`` uses all cores. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    estimator_ : BayesClassifier
        The classifier, fitted with all rows.
    method_ : str
        The method that is used.
    losses_ : dict
        With ``"auto"`` the cross-validated log-loss of each method.

    Notes
    -----
    Fitting takes ``folds + 1`` times as long as that of the estimator, prediction a little longer. Folds depend on what
    rows hold, so the order of rows and columns does not matter; they are stratified by class, and the only row of a
    class is never held out. Weights are numbers of rows: a row of weight 3 is three equal rows, which can be in
    different folds. The isotonic map has steps: rows on one step get the same probability.

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
    >>> clf = tb.CalibratedClassifier(tb.NaiveBayesClassifier(numeric="gaussian"), method="platt").fit(X, y)
    >>> case = X[505:506]
    >>> clf.estimator_.predict_proba(case).round(2).tolist(), clf.predict_proba(case).round(2).tolist()
    ([[0.06, 0.94]], [[0.33, 0.67]])
    """

    estimator: BayesClassifier | None = None
    _: KW_ONLY
    method: str = _AUTO
    folds: int = 5
    random_state: RandomState = 0
    n_jobs: int | None = None

    @property
    def method_(self) -> str:
        """The method that is used."""
        return str(self.statistics_.calibration.method)

    @property
    def losses_(self) -> dict[str, float]:
        """The cross-validated log-loss of each method, where one was chosen."""
        return dict(self.statistics_.losses)

    def _check_parameters(self) -> None:
        check_choice("method", self.method, (_AUTO, *METHODS))
        check_integer("folds", self.folds, low=2)
        entropy_of(self.random_state)
        self.check_estimator("scikit-learn's CalibratedClassifierCV takes others.")

    def collect(self, examples: Examples, before: CalibratedStatistics | None) -> CalibratedStatistics:
        """Return the estimator fitted with all rows, and the map learned by cross-validation."""
        fitted = self.unfitted().fit_examples(examples)
        held_out = self._held_out(examples, fitted.class_log_prior_)
        method, losses = best_calibration(held_out) if self.method == _AUTO else (self.method, {})
        return CalibratedStatistics(fitted, learn_calibration(method, held_out), losses)

    def _held_out(self, examples: Examples, log_prior: np.ndarray) -> HeldOut:
        """Return what copies of the estimator say about rows that they were not fitted with."""
        n_classes, none = examples.target.n_states, np.empty(0, np.int64)
        parts = [(np.empty((n_classes, 0)), none, np.empty(0), none)]
        if n_classes > 1 and self.method != "none":
            check_memory(
                f"the posteriors of {examples.n_rows} held-out rows",
                16.0 * n_classes * examples.n_rows,
                ways_out="Calibrate with a sample of the rows.",
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TunbridgeWarning)  # all rows together give the same warnings
                splits = examples.splits(self.folds, entropy_of(self.random_state))
                for fold, (train, held) in enumerate(splits):
                    model = self.unfitted().fit_examples(train).model_
                    joint = model.joint(held.rows.as_known_to(train.rows), lambda joint: joint, self.n_jobs).T
                    joint = np.where(np.isneginf(joint.max(axis=0)), log_prior[:, None], joint)
                    parts.append((joint, held.classes, held.mass, np.full(held.n_rows, fold)))
        joint, classes, mass, folds = (np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        return HeldOut(joint, classes, mass, folds, log_prior)

    def derive(self, statistics: CalibratedStatistics, log_prior: np.ndarray) -> CalibratedModel:
        """Return the model of the estimator with calibrated posteriors."""
        return CalibratedModel(statistics.fitted.model_, statistics.calibration, log_prior)

    def reasons(self, rows: Rows, compared: list[Compared]) -> list[Explanation]:
        """Return the evidence of the estimator, and one line more, which leads to the calibrated log-odds."""
        log_shares = self.posteriors(rows, log_posterior)
        inner = super().reasons(rows, compared)
        wanted = [float(shares[two.c] - shares[two.d]) for shares, two in zip(log_shares, compared, strict=True)]
        return [_with_calibration(each, odds, self.method_) for each, odds in zip(inner, wanted, strict=True)]

    def _described(self) -> dict[str, str]:
        return {"method": self.method_}

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> CalibratedStatistics:
        fitted = fitted_of(content["estimator"])
        found = Calibration(**unpack_fields(Calibration, content))
        if not found.fits(fitted.statistics_.target.n_states):
            raise ValueError("its parts do not belong together")
        losses = {unpack(str, method): unpack(float, loss) for method, loss in content["losses"].items()}
        return CalibratedStatistics(fitted, found, losses)


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
