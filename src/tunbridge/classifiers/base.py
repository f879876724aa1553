"""What all classifiers have in common: learning, prediction, decisions, explanations, files.

A classifier is three things. Its *parameters* say how to learn. Its *statistics* are what it keeps of the data: counts
that can be added to those of further rows. Its *model*, a joint distribution of class and features, is derived from
both, and answers

    P(c | x) = P(x, c) / Σ_c′ P(x, c′).

A final class says how statistics are collected and how the model is derived; everything else stands here.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tunbridge._check import check_choice, warn_user
from tunbridge._threads import n_threads, row_pieces
from tunbridge.classifiers.explanation.contributions import conditions
from tunbridge.classifiers.parameters import parameters_content, parameters_of
from tunbridge.classifiers.posteriors import Finish, log_class_prior, log_posterior, posterior
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.readers import Reader, TableReader
from tunbridge.classifiers.rows.target import encode_target, series_name
from tunbridge.data import Variable
from tunbridge.data.table import check_weights
from tunbridge.decisions import Decisions, decide, explanation
from tunbridge.decisions.importance import METHODS, Importance
from tunbridge.decisions.what_if import WhatIf
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.formats import is_other_file, write_model

_TERMS_AT_ONCE = 1_000_000


class Learned(Protocol):
    """What a classifier keeps of the data."""

    @property
    def target(self) -> Variable:
        """The class variable; its states are the classes, sorted."""

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features, as they come: continuous ones are continuous."""

    def merge(self, other: Any) -> Any:
        """Return what would have been learned from the rows of both."""


class Model(Protocol):
    """A joint distribution of class and features."""

    def joint(self, batch: Any, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); what is missing is left out."""

    def terms(self, batch: Any) -> np.ndarray:
        """Return what each feature adds to log P(x, c), (n_features, n_classes, n_rows): for a few rows of a table."""


class BayesClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """The manners of every classifier; see :class:`tunbridge.NaiveBayesClassifier` for one that can be made."""

    kind: ClassVar[str]
    """What files call it."""

    _goes_on: ClassVar[bool] = True
    """Whether it can learn from further rows."""

    _has_joint: ClassVar[bool] = True
    """Whether its model is a joint distribution P(x, c), of which rows without a class tell something."""

    _model: Any
    n_jobs: int | None
    class_prior: Any
    categorical: Any

    # What a final class says

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for parameters that cannot be."""

    @abstractmethod
    def _collect(
        self, batch: Any, classes: np.ndarray, target: Variable, weights: np.ndarray | None, before: Any
    ) -> Any:
        """Return the statistics of some rows (a Batch, for tables); ``classes`` are codes of the target's states.

        ``before`` is what has been learned so far, or None: kinds, cut points and structures are kept.
        """

    @abstractmethod
    def _derive(self, statistics: Any, log_prior: np.ndarray) -> Any:
        """Return the :class:`Model` that follows from the statistics and the parameters."""

    @staticmethod
    @abstractmethod
    def _content(statistics: Any) -> dict[str, Any]:
        """Return the statistics as content of a native file."""

    @staticmethod
    @abstractmethod
    def _statistics(content: Mapping[str, Any]) -> Any:
        """Return the statistics that a native file holds; raise ValueError where they do not belong together."""

    def _which_categorical(self) -> Any:
        """Return what says which columns of a table are categorical."""
        return self.categorical

    def _reader(self) -> Reader:
        """Return how X is read."""
        return TableReader(self.n_jobs)

    def _settled(self, batch: Any, weights: np.ndarray | None) -> Any:
        """Return rows, some of them without a class, with everything settled that is to follow from all of them."""
        return batch

    def _log_prior(self, statistics: Any) -> np.ndarray:
        """Return log P(c)."""
        return log_class_prior(self.class_prior, statistics.target, statistics.class_weight)

    # Learning

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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

    @available_if(lambda self: self._goes_on)
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
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

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, forget: bool) -> Self:
        """Collect the statistics of a batch, merge them with those so far, and derive the model.

        Whatever stops it, bad data or the user, leaves what was learned before as it was.
        """
        with self._all_or_nothing():
            if forget:
                self._forget()
            self._learn_batch(X, y, classes, sample_weight)
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Put everything back as it was when something stops what is done here."""
        state = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(state)
            raise

    def _forget(self) -> None:
        for name in ("statistics_", "target_name_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        n_threads(self.n_jobs)
        self._check_parameters()
        before, target_name = getattr(self, "statistics_", None), getattr(self, "target_name_", None)
        self._adopt(*self._gathered(X, y, classes, sample_weight, before, target_name))

    def _gathered(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, before: Learned | None, target_name: str | None
    ) -> tuple[Any, str | None]:
        """Return the statistics of what was learned before and of X together, and the name of the target."""
        reader = self._reader()
        X, y, sample_weight, target_name = reader.split(X, y, sample_weight, target_name)
        batch = reader.learned(self, X, before)
        if not batch.n_rows and before is None:
            raise DataError("there must be something to learn from; got no rows.")
        if target_name is None and before is None:
            target_name = series_name(y, batch.variables)
        name = (target_name or "class") if before is None else before.target.name
        target, codes = self._encoded_target(y, classes, name, batch.n_rows)
        weights = None if sample_weight is None else check_weights(np.asarray(sample_weight), batch.n_rows)
        new = self._collect(batch, codes, target, weights, before)
        return new if before is None else before.merge(new), target_name

    def _fit_batch(
        self,
        batch: Batch,
        classes: np.ndarray,
        target: Variable,
        weights: np.ndarray | None = None,
        target_name: str | None = None,
    ) -> Self:
        """Learn from rows that have been read: what an estimator around this one calls."""
        n_threads(self.n_jobs)
        self._check_parameters()
        self._adopt(self._collect(batch, classes, target, weights, None), target_name)
        self._count_features()
        return self

    def _encoded_target(self, y: Any, classes: Any, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        return encode_target(y, classes, name, n_rows)

    def _adopt(self, statistics: Any, target_name: str | None) -> None:
        """Take the statistics as what has been learned, and derive everything else from them."""
        self.class_log_prior_ = self._log_prior(statistics)
        self._model = self._derive(statistics, self.class_log_prior_)
        self.statistics_, self.target_name_ = statistics, target_name
        self.classes_, self.class_count_ = np.array(statistics.target.states), statistics.class_weight
        self.variables_ = statistics.variables

    def _count_features(self) -> None:
        """Say how many features there are, where rows are cells of columns."""
        if self.variables_:
            self.n_features_in_ = len(self.variables_)

    # Prediction

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Return log P(x, c) for each row and class, missing features left out."""
        return self._model_of(self._batch(X), lambda joint: joint)

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

    def decide(
        self,
        X: Any,
        loss: Any = None,
        *,
        utility: Any = None,
        actions: Any = None,
        reject: Any = None,
        return_risk: bool = False,
    ) -> Any:
        """Return for each row the choice of least expected loss.

        Parameters
        ----------
        X : as in :meth:`fit`
            The rows.
        loss : None, array-like, pandas frame, or mapping
            What it costs to choose j when i is true: a matrix (n_classes, n_classes) in the order of ``classes_``, or
            ``{true: {chosen: loss}}``, in which what is not named costs 0 if right and 1 if wrong, or
            ``{true: cost}``, the cost of missing that class. Losses by row are an array (n_rows, n_classes,
            n_classes), or a mapping with columns of numbers. ``None``: the fewest errors, which is the most probable
            class.
        utility : as loss, optional
            What it is worth, instead of what it costs.
        actions : sequence, optional
            What can be chosen, where that is not a class; the losses are then a matrix (n_classes, n_actions) or
            ``{true: {action: loss}}``.
        reject : float or array-like of shape (n_rows,), optional
            The loss of not deciding; rows whose every choice risks more get ``None``.
        return_risk : bool
            Return the expected losses of the choices as well; :meth:`decisions` returns more.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.play_tennis()
        >>> clf = tb.NaiveBayesClassifier().fit(table, "play")
        >>> sunny = {"outlook": "Sunny", "temperature": "Mild", "humidity": "High", "wind": "Weak"}
        >>> clf.predict(sunny).tolist(), clf.decide(sunny, {"yes": {"no": 5}}).tolist()
        (['no'], ['yes'])
        """
        decided = self.decisions(X, loss, utility=utility, actions=actions, reject=reject)
        return (decided.labels, decided.risks) if return_risk else decided.labels

    def decisions(
        self, X: Any, loss: Any = None, *, utility: Any = None, actions: Any = None, reject: Any = None
    ) -> Decisions:
        """Return the choices of least expected loss with what they are expected to cost.

        Parameters
        ----------
        X, loss, utility, actions, reject
            As in :meth:`decide`.

        Examples
        --------
        >>> import tunbridge as tb
        >>> table = tb.datasets.play_tennis()
        >>> clf = tb.NaiveBayesClassifier().fit(table, "play")
        >>> clf.decisions(table, {"no": 3}, reject=0.5)
        14 decisions: no 4, yes 4, none 6; expected loss 0.3952 a row, 5.533 in all
        """
        check_is_fitted(self)
        classes = self.classes_.tolist()
        return decide(self.predict_proba(X), classes, loss, utility=utility, actions=actions, reject=reject)

    def explain(self, X: Any, label: Any = None, against: Any = None) -> Any:
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
        size = max(1, _TERMS_AT_ONCE // max(1, len(self.variables_) * len(self.classes_)))
        pieces = [batch.rows(start, stop) for start, stop in row_pieces(batch.n_rows, size)]
        found = [each for piece in pieces for each in self._explained(piece, label, against)]
        return found[0] if self._reader().is_one(X) else found

    def _explained(self, batch: Any, label: Any, against: Any) -> list[Any]:
        probabilities = self._posterior(batch, posterior)
        return self._reasons(batch, [self._compared(shares, label, against) for shares in probabilities], probabilities)

    def _reasons(self, batch: Any, compared: list[tuple[int, int]], probabilities: np.ndarray) -> list[Any]:
        """Return why each row has one class rather than another, given the positions of both."""
        terms, given = self._model.terms(batch), conditions(self._model, batch)
        classes, names = self.classes_.tolist(), [v.name for v in batch.variables]
        found = []
        for row, (c, d) in enumerate(compared):
            evidence = explanation(
                classes[c],
                classes[d],
                prior=difference(self.class_log_prior_[c], self.class_log_prior_[d]),
                names=names,
                values=[batch.value(j, row) for j in range(len(names))],
                weights=[difference(t[c, row], t[d, row]) for t in terms],
                probabilities=dict(zip(classes, probabilities[row].tolist(), strict=True)),
                given=None if given is None else [[names[u] for u in each] for each in given[row]],
            )
            found.append(evidence)
        return found

    def what_if(self, X: Any, *, to: Any = None, features: Any = None) -> WhatIf | list[WhatIf]:
        """Return which single changes would give each row another class.

        Each feature is given every other state; a number that is cut into intervals, a value of every other interval; a
        number with a density, the nearest value at which the class flips (where none does, the one that comes nearest
        to it); and each that is known is taken away.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of feature to value
            The rows, or one row.
        to : class, optional
            The class that is wanted; any other than the present one by default.
        features : list of str, or mapping of str to list, (low, high) or None, optional
            The features that may change; all by default. A mapping says what each may become: a list of values, for a
            number also a range; None is whatever it can be.

        Returns
        -------
        WhatIf, or list of WhatIf when X holds rows

        Examples
        --------
        >>> import tunbridge as tb
        >>> clf = tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play")
        >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
        >>> print(clf.what_if(day, features=["outlook", "humidity"]))
        no: P(no) = 0.72. 2 of 5 single changes give another class.
        <BLANKLINE>
        feature   value  instead   class  probability
        outlook   Sunny  Overcast  yes          0.722  flips
        humidity  High   Normal    yes           0.63  flips
        outlook   Sunny  unknown   yes          0.437
        humidity  High   unknown   yes          0.433
        outlook   Sunny  Rain      yes          0.409
        """
        from tunbridge.classifiers.explanation.what_if import changes  # when it is asked for: it needs much else

        check_is_fitted(self)
        if len(self.classes_) < 2:
            raise DataError(f"a what-if must have another class; the model knows only {self.classes_.tolist()[0]!r}.")
        if not self.variables_:
            raise DataError("a what-if must have features in columns to change; texts and sequences have none.")
        batch = self._batch(X)

        def log_joint(rows: Batch) -> np.ndarray:
            return self._model_of(rows, lambda joint: joint)

        found = changes(self._model, self.statistics_, batch, log_joint=log_joint, to=to, features=features)
        return found[0] if self._reader().is_one(X) else found

    def importance(self, method: str = "information") -> Importance:
        """Return what each feature tells about the class over all rows that were learned from.

        Parameters
        ----------
        method : {"information", "weight"}
            The mutual information of feature and class, beside the feature's parents where it has any; or the expected
            weight of evidence, by which a value of the feature moves the log-odds of the true class on average.

        Returns
        -------
        Importance
            A mapping of features to nats, the most important first.

        Examples
        --------
        >>> import tunbridge as tb
        >>> print(tb.NaiveBayesClassifier().fit(tb.datasets.play_tennis(), "play").importance())
        What each feature tells about play: H(play) = 0.652 nats
        <BLANKLINE>
        feature        nats   share
        outlook      0.1710  26.2 %  ++++++++++++++++++++++++
        humidity     0.1052  16.1 %  +++++++++++++++
        wind         0.0334   5.1 %  +++++
        temperature  0.0203   3.1 %  +++
        """
        from tunbridge.classifiers.explanation.importance import importance_of  # when it is asked for, as above

        check_is_fitted(self)
        check_choice("method", method, METHODS)
        return importance_of(self._model, self.statistics_, method)

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

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted; y may be the name of a column, as in :meth:`fit`."""
        check_is_fitted(self)
        X, y, sample_weight, _ = self._reader().split(X, y, sample_weight, self.target_name_)
        return super().score(X, y, sample_weight)

    def _batch(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._reader().known(self, X)

    def _model_of(self, batch: Batch, finish: Finish) -> np.ndarray:
        return self._model.joint(batch, finish, self.n_jobs)

    def _posterior(self, batch: Batch, normalise: Finish) -> np.ndarray:
        """Return the normalised log P(x, c); rows that no class can produce get the prior, with one warning."""
        impossible: list[int] = []

        def finish(joint: np.ndarray) -> np.ndarray:
            lost = np.isneginf(joint.max(axis=0))
            impossible.append(int(lost.sum()))
            return normalise(np.where(lost, self.class_log_prior_[:, None], joint) if lost.any() else joint)

        found = self._model_of(batch, finish)
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
        write_model(path, self.kind, self.to_content())

    def to_content(self) -> dict[str, Any]:
        """Return what a native file holds of the classifier (:meth:`save` is the way to call it)."""
        return {
            "parameters": parameters_content(self.get_params(deep=False)),
            "target_name": self.target_name_,
            "has_feature_names": hasattr(self, "feature_names_in_"),
            "statistics": self._content(self.statistics_),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the classifier that a native file holds (:func:`tunbridge.load` is the way to call it)."""
        model = cls(**parameters_of(content["parameters"]))
        model._check_parameters()
        statistics = cls._statistics(content["statistics"])
        model._adopt(statistics, content["target_name"])
        model._count_features()
        if content["has_feature_names"]:
            model.feature_names_in_ = np.array([v.name for v in statistics.variables], object)
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def difference(a: float, b: float) -> float:
    """Return a − b, 0 where both are −∞ (a value that neither class can have says nothing between them)."""
    return 0.0 if a == b else float(a - b)
