"""The Bayes optimal classifier: every hypothesis votes, with the weight that the data give it.

The most probable class of a new row is not what the most probable hypothesis says. All hypotheses h together say

    P(c | x, D) = Σ_h P(c | x, h) P(h | D),     P(h | D) ∝ P(h) Π_i P(c_i | x_i, h),

and no other method with the same hypotheses and the same prior P(h) is right more often on average. Here a hypothesis
is a classifier. One that was learned from the very rows that are to weigh it would be judged by its memory, and the one
with most parameters would win: so the likelihood is that of rows that are held out in turns.

Gibbs' algorithm draws one hypothesis for each row, with probability P(h | D), and says what that one says. It costs one
prediction instead of many, and on average is wrong at most twice as often as the Bayes optimal classifier.

References
----------
T. M. Mitchell (1997). Machine Learning, sections 6.7 and 6.8.
D. Haussler, M. Kearns, R. E. Schapire (1994). Bounds on the sample complexity of Bayesian learning using information
theory and the VC dimension. Machine Learning 14, 83–113.
J. A. Hoeting, D. Madigan, A. E. Raftery, C. T. Volinsky (1999). Bayesian model averaging: a tutorial. Statistical
Science 14, 382–401.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_whole, listed, shortened
from tunbridge.classifiers.averages.hypotheses import (
    CROSS_VALIDATED,
    TRAINING,
    BayesOptimalStatistics,
    Rows,
    learned,
    named_estimators,
    shares_of,
)
from tunbridge.classifiers.averages.model_average import ModelAverage, member_posterior
from tunbridge.classifiers.base import BayesClassifier
from tunbridge.classifiers.parameters import class_of, parameters_content, parameters_of
from tunbridge.classifiers.posteriors import Finish, log_posterior, posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.folds import deal_folds
from tunbridge.classifiers.rows.readers import TableReader
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.data import Variable
from tunbridge.errors import DataError, TunbridgeWarning
from tunbridge.inference.forward import entropy_of

_CONFIDENT = 1e-15


class BayesOptimalClassifier(BayesClassifier):
    """The average of several classifiers, each weighted by its posterior probability (Bayesian model averaging).

    Parameters
    ----------
    estimators : list of (name, classifier), or mapping of name to classifier, optional
        The hypotheses, classifiers of Tunbridge; naive Bayes, TAN and k-DB by default. They are copied, not changed.
        All of them take the same columns as categorical.
    weights : {"cross-validated", "training"}, array-like, or mapping of name to number
        P(h | D): by the likelihood of held-out rows, by that of the training rows (which favours hypotheses that learn
        by heart), or as given.
    prior : array-like, or mapping of name to number, optional
        P(h); all hypotheses alike by default.
    prefit : bool
        Whether the classifiers have been fitted already. They are then left as they are, each with its own states and
        classes, and the rows given to ``fit`` do nothing but weigh them: take rows that none of them has learned from.
        (scikit-learn's ``clone`` makes classifiers that are not fitted, so this does not go with cross-validation.)
    gibbs : bool
        Whether to draw one hypothesis for each row that is predicted, instead of averaging.
    folds : int
        In how many parts the rows are held out in turns.
    random_state : int, numpy Generator or None
        Which rows are held out together, and which hypotheses are drawn; None makes them differ from time to time.
    n_jobs : int, optional
        Threads; ``None`` takes every core. Results do not depend on it.

    Attributes
    ----------
    classes_, class_count_, variables_, statistics_, n_features_in_, feature_names_in_
        As in :class:`NaiveBayesClassifier`.
    class_log_prior_ : ndarray
        The logarithm of the average of the hypotheses' P(c).
    estimators_ : dict
        The hypotheses, learned from all rows, by name.
    weights_ : dict
        P(h | D) by name.
    log_likelihoods_ : dict
        Σ log P(c | x, h), by which they were weighed.

    Notes
    -----
    The likelihood is a product over rows, so with more than a few hundred of them one hypothesis usually has nearly
    all the weight: averaging says which hypothesis is right, it does not combine them to a better one. A probability
    below 1e-15 counts as 1e-15. Learning takes ``folds + 1`` times as long as that of all hypotheses.

    ``partial_fit`` weighs the hypotheses by how well they predict the new rows before they learn from them, which is
    P(h | D, D′) ∝ P(h | D) P(D′ | h, D). Explanations are those of the average, also with ``gibbs``, told feature by
    feature in the order of the columns.

    References
    ----------
    T. M. Mitchell (1997). Machine Learning, sections 6.7 and 6.8.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.datasets.play_tennis()
    >>> clf = tb.BayesOptimalClassifier([("naive", tb.NaiveBayesClassifier()), ("tree", tb.TANClassifier())])
    >>> clf = clf.fit(table, "play")
    >>> {name: round(weight, 2) for name, weight in clf.weights_.items()}
    {'naive': 0.79, 'tree': 0.21}
    >>> clf.predict({"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}).tolist()
    ['no']
    """

    kind = "bayes-optimal"
    _has_joint = False

    def __init__(
        self,
        estimators: Any = None,
        *,
        weights: Any = CROSS_VALIDATED,
        prior: Any = None,
        prefit: bool = False,
        gibbs: bool = False,
        folds: int = 5,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.prior = prior
        self.prefit = prefit
        self.gibbs = gibbs
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _goes_on(self) -> bool:  # type: ignore[override]
        return not self.prefit and all(e._goes_on for e in named_estimators(self.estimators).values())

    @property
    def estimators_(self) -> dict[str, BayesClassifier]:
        """The hypotheses, learned from all rows."""
        return dict(zip(self._names(), self._model.fitted, strict=True))

    @property
    def weights_(self) -> dict[str, float]:
        """P(h | D)."""
        return dict(zip(self._names(), self._model.weights.tolist(), strict=True))

    @property
    def log_likelihoods_(self) -> dict[str, float]:
        """Σ log P(c | x, h) of the rows by which the hypotheses were weighed."""
        return dict(zip(self._names(), self.statistics_.log_likelihoods.tolist(), strict=True))

    def _names(self) -> list[str]:
        return list(named_estimators(self.estimators))

    def _check_parameters(self) -> None:
        found = named_estimators(self.estimators)
        shares_of("prior", self.prior, list(found))
        if not (isinstance(self.weights, str) and self.weights in (CROSS_VALIDATED, TRAINING)):
            shares_of("weights", self.weights, list(found))
        check_whole("folds", self.folds, low=2)
        entropy_of(self.random_state)
        for what, value in (("prefit", self.prefit), ("gibbs", self.gibbs)):
            if not isinstance(value, (bool, np.bool_)):
                raise DataError(f"{what} must be True or False; got {shortened(repr(value))}.")
        for estimator in found.values():
            estimator._check_parameters()

    def _which_categorical(self) -> Any:
        members = named_estimators(self.estimators)
        if self.prefit:
            return self._same_kinds(members)
        for name, member in members.items():
            if not isinstance(member._reader(), TableReader):
                raise DataError(f"estimators must be classifiers of tables; {name!r} is a {type(member).__name__}.")
        asked = {name: m._which_categorical() for name, m in members.items()}
        texts = {name: repr(value) for name, value in asked.items()}
        first, *others = texts
        for name in others:
            if texts[name] != texts[first]:
                raise DataError(
                    f"estimators must take the same columns as categorical; {first!r} has categorical="
                    f"{shortened(texts[first])}, {name!r} has {shortened(texts[name])}."
                )
        return asked[first]

    @staticmethod
    def _same_kinds(members: Mapping[str, BayesClassifier]) -> dict[str, bool]:
        """Return which features are categorical, as in all of some fitted classifiers."""
        for name, member in members.items():
            if not hasattr(member, "statistics_"):
                raise DataError(f"estimators must have been fitted where prefit is True; {name!r} has not.")
        kinds = {name: {v.name: v.is_categorical for v in m.variables_} for name, m in members.items()}
        first, *others = kinds
        for name in others:
            if list(kinds[name].items()) != list(kinds[first].items()):
                raise DataError(
                    f"estimators must have been fitted with the same columns of the same kinds; {first!r} has "
                    f"{listed(kinds[first])}, {name!r} has {listed(kinds[name])}. Say with categorical which are which."
                )
        return kinds[first]

    # Learning

    def _collect(
        self, batch: Batch, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> BayesOptimalStatistics:
        rows = Rows(batch, classes, target, weights)
        makers = tuple(self._maker(m) for m in named_estimators(self.estimators).values())
        weight = np.bincount(classes, rows.mass, minlength=target.n_states).astype(np.float64)
        if self.prefit:
            return self._weighed(rows, makers, weight)
        if before is not None:
            told = self._told(rows, before.hypotheses())
            new = [
                m._collect(batch, classes, target, weights, s) for m, s in zip(makers, before.statistics, strict=True)
            ]
        else:
            new = [m._collect(batch, classes, target, weights, None) for m in makers]
            told = self._first_told(rows, makers, new)
        return BayesOptimalStatistics(target, weight, batch.variables, makers, tuple(new), told)

    def _maker(self, estimator: BayesClassifier) -> BayesClassifier:
        copy: BayesClassifier = clone(estimator)
        return copy.set_params(n_jobs=self.n_jobs)

    def _weighed(self, rows: Rows, makers: tuple[BayesClassifier, ...], weight: np.ndarray) -> BayesOptimalStatistics:
        """Return the statistics of classifiers that were fitted before, weighed by these rows."""
        fitted = tuple(named_estimators(self.estimators).values())
        target = rows.target
        for each in fitted:
            target = sorted_target(target, each.statistics_.target)
        whole = np.zeros(target.n_states)
        whole[[target.code(s) for s in rows.target.states or ()]] = weight
        told = np.zeros(len(fitted)) if self._is_given() else self._told(rows, fitted)
        kept = tuple(each.statistics_ for each in fitted)
        return BayesOptimalStatistics(target, whole, kept[0].variables, makers, kept, told)

    def _is_given(self) -> bool:
        return not isinstance(self.weights, str)

    def _first_told(self, rows: Rows, makers: tuple[BayesClassifier, ...], new: list[Any]) -> np.ndarray:
        if self._is_given():
            return np.zeros(len(makers))
        if self.weights == TRAINING:
            return self._told(rows, [learned(m, s) for m, s in zip(makers, new, strict=True)])
        seed, total = entropy_of(self.random_state), np.zeros(len(makers))
        folds = deal_folds(rows.batch, rows.classes, rows.weights, n_folds=self.folds, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TunbridgeWarning)  # whatever is odd in a part will be told of the whole
            for fold in range(self.folds):
                share = folds.held_out(fold)
                if share.any():
                    kept, held = rows.weighted(1.0 - share), rows.weighted(share)
                    parts = (kept.batch, kept.classes, kept.target, kept.weights)
                    total += self._told(held, [clone(m)._fit_batch(*parts) for m in makers])
        return total

    def _told(self, rows: Rows, fitted: Any) -> np.ndarray:
        """Return Σ log P(c | x, h) over the rows whose class a hypothesis may know, for each of the hypotheses."""
        if self._is_given():
            return np.zeros(len(fitted))
        target = rows.target
        for each in fitted:
            target = sorted_target(target, each.statistics_.target)
        place = np.array([target.code(s) for s in rows.target.states or ()], np.intp)[rows.classes]
        known = np.isin(place, [target.code(s) for m in fitted for s in m.statistics_.target.states or ()])
        found = []
        for model in fitted:
            shares = member_posterior(model, rows.batch, target, self.n_jobs)[np.arange(len(place)), place]
            found.append(float((rows.mass * known) @ np.log(np.maximum(shares, _CONFIDENT))))
        return np.array(found)

    def _log_prior(self, statistics: BayesOptimalStatistics) -> np.ndarray:
        model = self._averaged(statistics)
        shares = np.zeros(statistics.target.n_states)
        for each, weight in zip(model.fitted, model.weights, strict=True):
            at = [statistics.target.code(s) for s in each.statistics_.target.states or ()]
            shares[at] += weight * np.exp(each.class_log_prior_)
        with np.errstate(divide="ignore"):
            return np.log(shares)

    def _derive(self, statistics: BayesOptimalStatistics, log_prior: np.ndarray) -> ModelAverage:
        return self._averaged(statistics)

    def _averaged(self, statistics: BayesOptimalStatistics) -> ModelAverage:
        names = self._names()
        given = self.weights if self._is_given() else None
        with np.errstate(divide="ignore"):
            logs = np.log(shares_of("prior", self.prior, names)) + np.log(shares_of("weights", given, names))
        logs = logs + statistics.log_likelihoods
        if np.isneginf(logs.max()):
            raise DataError("some hypothesis must be possible; prior and weights exclude all of them.")
        weights = np.exp(logs - logs.max())
        return ModelAverage(statistics.target, statistics.hypotheses(), weights / weights.sum())

    def _adopt(self, statistics: BayesOptimalStatistics, target_name: str | None) -> None:
        """Take the statistics; the hypotheses learn what the columns are called."""
        super()._adopt(statistics, target_name)
        for each in self._model.fitted:
            each.target_name_ = target_name
            if hasattr(self, "feature_names_in_"):
                each.feature_names_in_ = self.feature_names_in_

    # Prediction

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(c | x) for each row and class, as in ``classes_``; with ``gibbs`` that of a drawn hypothesis."""
        return self._drawn(X, posterior) if self.gibbs else super().predict_proba(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(c | x) for each row and class; with ``gibbs`` of a drawn hypothesis."""
        return self._drawn(X, log_posterior) if self.gibbs else super().predict_log_proba(X)

    def _drawn(self, X: Any, finish: Finish) -> np.ndarray:
        check_is_fitted(self)
        found: np.ndarray = self._model.drawn(self._batch(X), finish, self.n_jobs, entropy_of(self.random_state))
        return found

    # Files

    @staticmethod
    def _content(statistics: BayesOptimalStatistics) -> dict[str, Any]:
        members = [
            {"kind": m.kind, "parameters": parameters_content(m.get_params(deep=False)), "statistics": m._content(s)}
            for m, s in zip(statistics.makers, statistics.statistics, strict=True)
        ]
        return {
            "target": statistics.target,
            "class_weight": statistics.class_weight,
            "variables": list(statistics.variables),
            "members": members,
            "log_likelihoods": statistics.log_likelihoods,
        }

    @staticmethod
    def _statistics(content: Mapping[str, Any]) -> BayesOptimalStatistics:
        makers, found = [], []
        for each in content["members"]:
            kind = class_of(each["kind"])
            makers.append(kind(**parameters_of(each["parameters"])))
            found.append(kind._statistics(each["statistics"]))
        target, weight, told = content["target"], content["class_weight"], content["log_likelihoods"]
        if weight.shape != (target.n_states,) or told.shape != (len(makers),) or not np.isfinite(told).all():
            raise ValueError("its parts do not belong together")
        variables = tuple(content["variables"])
        if any(len(s.variables) != len(variables) for s in found):
            raise ValueError("its hypotheses have other features")
        return BayesOptimalStatistics(target, weight, variables, tuple(makers), tuple(found), told)
