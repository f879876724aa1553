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

import warnings
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_choice, check_number, did_you_mean, listed
from tunbridge.classifiers.batch import Batch, is_frame, known_batch, learn_batch
from tunbridge.classifiers.likelihood import derive
from tunbridge.classifiers.statistics import NUMERIC_ROLES, Statistics, collect
from tunbridge.classifiers.target import encode_target, split_target
from tunbridge.data import Variable
from tunbridge.data.table import check_weights
from tunbridge.decisions import REJECT, Explanation, explanation, loss_matrix, minimum_risk
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.probability.smoothing import Smoothing, as_smoothing


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
    """Naive Bayes for mixed tables: text, categories, numbers, missing values, weights, data that keep arriving.

    What is predicted, decided or explained may be rows of any make (frame, dict of columns, Table, array), or one row
    as a mapping of features to values.

    Parameters
    ----------
    categorical : None, "all", or list of columns
        Which columns are categorical. ``None`` goes by type: text, truth values, categoricals, and whole numbers with
        at most two distinct values are; other numbers are numeric. A list (names, positions or a mask) adds to that.
    numeric : {"gaussian", "kernel", "discretise"} or mapping of column to one of them
        How numeric columns are modelled: a normal density in each class, a kernel density, or frequencies of intervals
        cut by Fayyad & Irani's method. Columns that a mapping does not name are Gaussian.
    smoothing : float, Laplace, MEstimate, or mapping of column to one of them
        How frequencies become probabilities; a number is Laplace's γ, added to every count (0: none).
    class_prior : None, "uniform", array-like or mapping of class to probability
        P(c); ``None`` takes the relative frequencies of the classes.
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
    for categorical columns and nothing for numeric ones. A row that has probability zero under every class (possible
    only without smoothing) gets the prior, with a warning.

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

    # Learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NaiveBayesClassifier:
        """Learn from rows and their classes, forgetting what was learned before.

        Parameters
        ----------
        X : frame, dict of columns, Table, or array-like of shape (n_rows, n_features)
            The features; cells may be missing.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_rows,), optional
            A weight for each row; the weights of a Table are used otherwise.

        Returns
        -------
        self
        """
        self._check_parameters()
        for name in ("statistics_", "target_name_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        return self._learn(X, y, None, sample_weight)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> NaiveBayesClassifier:
        """Learn from further rows; new states and new classes are welcome.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            Classes to know of although no row has them yet.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._learn(X, y, classes, sample_weight)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> NaiveBayesClassifier:
        """Collect the statistics of a batch, merge them with those so far, and derive the parameters."""
        before: Statistics | None = getattr(self, "statistics_", None)
        X, y, sample_weight, target_name = split_target(X, y, sample_weight, getattr(self, "target_name_", None))
        batch = learn_batch(self, X, categorical=self.categorical, known=None if before is None else before.variables)
        target, codes = encode_target(y, classes, target_name or "class", batch.n_rows)
        roles = before.roles if before is not None else self._roles(batch.variables)
        weights = None if sample_weight is None else check_weights(np.asarray(sample_weight), batch.n_rows)
        new = collect(
            batch,
            codes,
            target,
            roles=roles,
            weights=weights,
            cuts=None if before is None else before.cuts,
            n_jobs=self.n_jobs,
        )
        self._adopt(new if before is None else before.merge(new), target_name)
        return self

    def _adopt(self, statistics: Statistics, target_name: str | None) -> None:
        """Take the statistics as what has been learned, and derive everything else from them."""
        prior = class_prior(self.class_prior, statistics)
        likelihood = derive(
            statistics,
            log_prior=prior,
            smoothing=self._smoothing(statistics),
            unbiased=self.variance == "unbiased",
            variance_floor=float(self.variance_floor),
        )
        self.statistics_, self._likelihood = statistics, likelihood
        self.target_name_ = target_name
        self.classes_ = np.array(statistics.target.states)
        self.class_count_, self.class_log_prior_ = statistics.class_weight, prior
        self.variables_ = statistics.variables

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
        _check_columns("numeric", given, [v.name for v in variables if v.is_continuous], "numeric columns")
        default = "gaussian" if isinstance(self.numeric, Mapping) else self.numeric
        return ["categorical" if v.is_categorical else given.get(v.name, default) for v in variables]

    def _smoothing(self, statistics: Statistics) -> dict[int, Smoothing]:
        """Return the rule of each feature that is counted."""
        names = [v.name for v in statistics.variables]
        given = self.smoothing if isinstance(self.smoothing, Mapping) else {}
        _check_columns("smoothing", given, names, "columns")
        default = as_smoothing(1.0 if isinstance(self.smoothing, Mapping) else self.smoothing)
        return {j: as_smoothing(given.get(names[j], default)) for j in statistics.counts}

    # Prediction

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(x, c) for each row and class, missing features left out."""
        return self._likelihood_of(self._batch(X), lambda joint: joint)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(c | x) for each row and class."""
        return self._posterior(self._batch(X), log_posterior)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return P(c | x) for each row and class, in the order of ``classes_``."""
        return self._posterior(self._batch(X), posterior)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row (the first of equals)."""
        found = self.predict_log_proba(X)
        return self.classes_[found.argmax(axis=1)]

    def decide(self, X: Any, loss: Any, *, reject: float | None = None, return_risk: bool = False) -> Any:
        """Return for each row the class of least expected loss.

        Parameters
        ----------
        X : as in :meth:`fit`
            The rows.
        loss : array-like of shape (n_classes, n_classes), or mapping
            λ_ij, the loss of choosing j when i is true; or ``{true: {chosen: loss}}``, in which what is not named
            costs 0 if right and 1 if wrong.
        reject : float, optional
            The loss of not deciding; rows whose every choice risks more get ``None``.
        return_risk : bool
            Return the expected losses of the choices as well.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.play_tennis()
        >>> clf = tb.NaiveBayesClassifier().fit(table, "play")
        >>> sunny = {"outlook": "Sunny", "temperature": "Mild", "humidity": "High", "wind": "Weak"}
        >>> clf.predict(sunny).tolist(), clf.decide(sunny, {"yes": {"no": 5}}).tolist()
        (['no'], ['yes'])
        """
        check_is_fitted(self)
        decided = minimum_risk(self.predict_proba(X), loss_matrix(loss, self.classes_.tolist()), reject=reject)
        labels = self.classes_[decided.choices]
        if reject is not None:
            labels = labels.astype(object)
            labels[decided.choices == REJECT] = None
        return (labels, decided.risks) if return_risk else labels

    def explain(self, X: Any, label: Any = None, against: Any = None) -> Explanation | list[Explanation]:
        """Return why each row is given its class: the weight of evidence of every feature.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of feature to value
            The rows, or one row.
        label : class, optional
            The class to explain; the most probable one by default.
        against : class, optional
            The class to compare it with; the most probable of the others by default.

        Returns
        -------
        Explanation, or list of Explanation when X holds rows

        Examples
        --------
        >>> import tunbridge as tb
        >>> clf = tb.NaiveBayesClassifier(smoothing=0).fit(tb.datasets.play_tennis(), "play")
        >>> print(clf.explain({"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}))
        no rather than yes: P(no) = 0.795
        <BLANKLINE>
        feature      value    weight    odds ×
        prior                  -0.59     0.556  -------
        outlook      Sunny     +0.99       2.7  ++++++++++++
        humidity     High      +0.88       2.4  +++++++++++
        ...
        """
        check_is_fitted(self)
        batch = self._batch(X)
        found = [self._explained(batch, row, label, against) for row in range(batch.n_rows)]
        return found[0] if _is_one_row(X) else found

    def _explained(self, batch: Batch, row: int, label: Any, against: Any) -> Explanation:
        one = Batch(
            batch.variables,
            {j: c[row : row + 1] for j, c in batch.codes.items()},
            batch.numbers[row : row + 1]
            if isinstance(batch.numbers, np.ndarray)
            else [c[row : row + 1] for c in batch.numbers],
            1,
        )
        terms = self._likelihood.terms(one)[:, :, 0]
        probabilities = self._posterior(one, posterior)[0]
        c, d = self._compared(probabilities, label, against)
        return explanation(
            self.classes_.tolist()[c],
            self.classes_.tolist()[d],
            prior=_difference(self.class_log_prior_[c], self.class_log_prior_[d]),
            names=[v.name for v in batch.variables],
            values=[one.value(j, 0) for j in range(len(batch.variables))],
            weights=[_difference(t[c], t[d]) for t in terms],
            probabilities=dict(zip(self.classes_.tolist(), probabilities.tolist(), strict=True)),
        )

    def _compared(self, probabilities: np.ndarray, label: Any, against: Any) -> tuple[int, int]:
        """Return the positions of the class to explain and of the one to compare it with."""
        if len(probabilities) < 2:
            raise DataError(
                f"an explanation must compare two classes; the model knows only {self.classes_.tolist()[0]!r}."
            )
        target = self.statistics_.target
        ranked = np.argsort(-probabilities, kind="stable").tolist()
        other = None if against is None else target.code(against)
        c = target.code(label) if label is not None else next(k for k in ranked if k != other)
        d = other if other is not None else next(k for k in ranked if k != c)
        if c == d:
            raise DataError(f"an explanation must compare two different classes; got {label!r} against {against!r}.")
        return c, d

    def _batch(self, X: Any) -> Batch:
        check_is_fitted(self)
        if _is_one_row(X):
            X = {name: [value] for name, value in X.items()}
        if self.target_name_ is not None:
            X = split_target(X, None, None, self.target_name_, required=False)[0]
        return known_batch(self, X, self.variables_)

    def _likelihood_of(self, batch: Batch, finish: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return self._likelihood.joint(batch, finish, self.n_jobs)

    def _posterior(self, batch: Batch, normalise: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Return the normalised log P(x, c); rows that no class can produce get the prior, with one warning."""
        impossible: list[int] = []

        def finish(joint: np.ndarray) -> np.ndarray:
            lost = np.isneginf(joint.max(axis=0))
            impossible.append(int(lost.sum()))
            return normalise(np.where(lost, self.class_log_prior_[:, None], joint) if lost.any() else joint)

        found = self._likelihood_of(batch, finish)
        if sum(impossible):
            warnings.warn(
                f"{sum(impossible)} row(s) have probability zero under every class and get the class prior. "
                "Use smoothing above 0.",
                ZeroProbabilityWarning,
                stacklevel=3,
            )
        return found

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, data only; :func:`tunbridge.load` reads it."""
        from tunbridge.classifiers.files import save_naive_bayes  # it builds classifiers, so it imports this module

        check_is_fitted(self)
        save_naive_bayes(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def posterior(joint: np.ndarray) -> np.ndarray:
    """Return P(c | x) from log P(x, c), class × row."""
    shares = np.exp(joint - joint.max(axis=0))
    shares /= shares.sum(axis=0)
    return shares


def log_posterior(joint: np.ndarray) -> np.ndarray:
    """Return log P(c | x) from log P(x, c), class × row."""
    shifted = joint - joint.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))


def class_prior(given: Any, statistics: Statistics) -> np.ndarray:
    """Return log P(c): relative frequencies, uniform, or as given."""
    classes = list(statistics.target.states or ())
    total = statistics.class_weight.sum()
    if total <= 0:
        raise DataError("some row must have a weight above zero; all sample weights are zero.")
    if given is None:
        prior = statistics.class_weight / total
    elif isinstance(given, str):
        check_choice("class_prior", given, ("uniform",))
        prior = np.full(len(classes), 1.0 / len(classes))
    else:
        prior = _given_prior(given, statistics.target)
    with np.errstate(divide="ignore"):
        return np.log(prior)


def _given_prior(given: Any, target: Variable) -> np.ndarray:
    if isinstance(given, Mapping):
        by_code = {target.code(label): value for label, value in given.items()}
        absent = [s for k, s in enumerate(target.states or ()) if k not in by_code]
        if absent:
            raise DataError(f"class_prior must give every class a probability; {listed(absent)} has none.")
        given = [by_code[k] for k in range(target.n_states)]
    prior = np.array(given, np.float64)
    if prior.shape != (target.n_states,):
        raise DataError(
            f"class_prior must have one probability for each of {target.n_states} classes; got {prior.shape}."
        )
    if not (np.isfinite(prior) & (prior >= 0)).all() or abs(prior.sum() - 1.0) > 1e-6:
        raise DataError(f"class_prior must be probabilities that sum to one; got {prior.tolist()}.")
    return prior / prior.sum()


def _check_columns(what: str, given: Mapping[str, Any], names: list[str], rule: str) -> None:
    for name in given:
        if name not in names:
            raise DataError(f"{what} must name {rule}; got {name!r}. {did_you_mean(name, names)}")


def _is_one_row(X: Any) -> bool:
    """Return whether X is a mapping of features to plain values rather than to columns."""
    plain = (isinstance(v, (str, bytes)) or not hasattr(v, "__len__") for v in X.values()) if _is_mapping(X) else ()
    return _is_mapping(X) and len(X) > 0 and all(plain)


def _is_mapping(X: Any) -> bool:
    return isinstance(X, Mapping) and is_frame(X)


def _difference(a: float, b: float) -> float:
    """Return a − b, 0 where both are −∞ (a value that neither class can have says nothing between them)."""
    return 0.0 if a == b else float(a - b)
