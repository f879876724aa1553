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

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_choice, check_number, did_you_mean, warn_user
from tunbridge._threads import n_threads, row_pieces
from tunbridge.classifiers.batch import Batch, is_frame, known_batch, learn_batch
from tunbridge.classifiers.files import KIND, model_content, model_parts
from tunbridge.classifiers.likelihood import class_prior, derive, log_posterior, posterior
from tunbridge.classifiers.statistics import NUMERIC_ROLES, Statistics, collect
from tunbridge.classifiers.target import encode_target, split_target
from tunbridge.data import Variable
from tunbridge.data.table import check_weights
from tunbridge.decisions import REJECT, Explanation, explanation, loss_matrix, minimum_risk
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.formats import is_other_file, write_model
from tunbridge.probability.smoothing import Smoothing, as_smoothing

_TERMS_AT_ONCE = 1_000_000


class NaiveBayesClassifier(ClassifierMixin, BaseEstimator):
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
        return self._learn(X, y, None, sample_weight, forget=True)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> NaiveBayesClassifier:
        """Learn from further rows; new states and new classes are welcome.

        The first batch settles which columns are categorical, how numeric ones are modelled, and where they are cut: if
        it is small, say with ``categorical`` what its columns are.

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
        return self._learn(X, y, classes, sample_weight, forget=False)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, forget: bool) -> NaiveBayesClassifier:
        """Collect the statistics of a batch, merge them with those so far, and derive the parameters.

        Whatever stops it, bad data or the user, leaves what was learned before as it was.
        """
        state = dict(self.__dict__)
        try:
            if forget:
                for name in ("statistics_", "target_name_", "feature_names_in_"):
                    self.__dict__.pop(name, None)
            self._learn_batch(X, y, classes, sample_weight)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(state)
            raise
        return self

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        self._check_parameters()
        before: Statistics | None = getattr(self, "statistics_", None)
        X, y, sample_weight, target_name = split_target(X, y, sample_weight, getattr(self, "target_name_", None))
        known = None if before is None else before.variables
        batch = learn_batch(self, X, categorical=self.categorical, known=known, n_jobs=self.n_jobs)
        if target_name is None:  # a Series brings its name along
            name = getattr(y, "name", None)
            target_name = name if isinstance(name, str) and name not in {v.name for v in batch.variables} else None
        target, codes = encode_target(y, classes, target_name or "class", batch.n_rows)
        new = collect(
            batch,
            codes,
            target,
            roles=self._roles(batch.variables) if before is None else before.roles,
            weights=None if sample_weight is None else check_weights(np.asarray(sample_weight), batch.n_rows),
            cuts=None if before is None else before.cuts,
            n_jobs=self.n_jobs,
        )
        self._adopt(new if before is None else before.merge(new), target_name)

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
        n_threads(self.n_jobs)
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
        _check_columns("smoothing", given, [names[j] for j in statistics.counts], "columns that are counted")
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
        size = max(1, _TERMS_AT_ONCE // (len(self.variables_) * len(self.classes_)))
        pieces = [batch.rows(start, stop) for start, stop in row_pieces(batch.n_rows, size)]
        found = [each for piece in pieces for each in self._explained(piece, label, against)]
        return found[0] if _is_one_row(X) else found

    def _explained(self, batch: Batch, label: Any, against: Any) -> list[Explanation]:
        terms, probabilities = self._likelihood.terms(batch), self._posterior(batch, posterior)
        classes, names = self.classes_.tolist(), [v.name for v in batch.variables]
        found = []
        for row, shares in enumerate(probabilities):
            c, d = self._compared(shares, label, against)
            evidence = explanation(
                classes[c],
                classes[d],
                prior=_difference(self.class_log_prior_[c], self.class_log_prior_[d]),
                names=names,
                values=[batch.value(j, row) for j in range(len(names))],
                weights=[_difference(t[c, row], t[d, row]) for t in terms],
                probabilities=dict(zip(classes, shares.tolist(), strict=True)),
            )
            found.append(evidence)
        return found

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
            X = self._completed(X)
        if self.target_name_ is not None:
            X = split_target(X, None, None, self.target_name_, required=False)[0]
        return known_batch(self, X, self.variables_, self.n_jobs)

    def _completed(self, row: Any) -> dict[str, list[Any]]:
        """Return one row as columns, with what it does not name missing."""
        given, names = dict(row.items()), [v.name for v in self.variables_]
        _check_columns("a row", {n: v for n, v in given.items() if n != self.target_name_}, names, "features")
        return {name: [given.get(name)] for name in names}

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
            warn_user(
                f"{sum(impossible)} row(s) have probability zero under every class and get the class prior. Smoothing "
                "above 0 avoids it, unless a number is absurdly far from all that were learned.",
                ZeroProbabilityWarning,
            )
        return found

    # Files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, data only; :func:`tunbridge.load` reads it.

        A model that is there is replaced, any other file is not.
        """
        check_is_fitted(self)
        if is_other_file(path):
            raise DataError(
                f"a model must not replace a file that is no model; got {str(path)!r}. Choose another name."
            )
        content = model_content(
            self.get_params(deep=False),
            self.statistics_,
            target_name=self.target_name_,
            has_feature_names=hasattr(self, "feature_names_in_"),
        )
        write_model(path, KIND, content)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> NaiveBayesClassifier:
        """Return the classifier that a native file holds (:func:`tunbridge.load` is the way to call it)."""
        parameters, statistics = model_parts(content)
        model = cls(**parameters)
        model._check_parameters()
        model._adopt(statistics, content["target_name"])
        model.n_features_in_ = len(statistics.variables)
        if content["has_feature_names"]:
            model.feature_names_in_ = np.array([v.name for v in statistics.variables], object)
        return model

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted; y may be the name of a column, as in :meth:`fit`."""
        check_is_fitted(self)
        X, y, sample_weight, _ = split_target(X, y, sample_weight, self.target_name_)
        return super().score(X, y, sample_weight)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _check_columns(what: str, given: Mapping[str, Any], names: list[str], rule: str) -> None:
    for name in given:
        if name not in names:
            raise DataError(f"{what} must name {rule}; got {name!r}. {did_you_mean(name, names)}")


def _is_one_row(X: Any) -> bool:
    """Return whether X gives features their values rather than their columns: a mapping, or a row of a pandas frame."""
    if hasattr(X, "iloc") and hasattr(X, "items") and not hasattr(X, "columns"):
        return all(isinstance(name, str) for name in X.index)
    if not (isinstance(X, Mapping) and is_frame(X)):
        return False
    return len(X) > 0 and all(isinstance(v, (str, bytes)) or not hasattr(v, "__len__") for v in X.values())


def _difference(a: float, b: float) -> float:
    """Return a − b, 0 where both are −∞ (a value that neither class can have says nothing between them)."""
    return 0.0 if a == b else float(a - b)
