"""Base class of all classifiers: learning, prediction, decisions, explanations, files.

A classifier is three things. Its *parameters* say how to learn. Its *statistics* are what it keeps of the data: counts
that can be added to those of further rows. Its *model*, a joint distribution of class and features, is derived from
both, and answers

    P(c | x) = P(x, c) / Σ_c′ P(x, c′).

A final class says how statistics are collected and how the model is derived; everything else is here.

Threads may share a classifier: one learns at a time, so that no rows are lost, and predictions see what was learned
before or after, never something between.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_choice, check_fitted, counted, listed, warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.packing import pack, unpack
from tunbridge._core.registry import Entry
from tunbridge._core.threads import at_once, n_threads, replacing_state, row_pieces
from tunbridge.classifiers._classes import (
    Finish,
    check_answers,
    encode_target,
    labels_of,
    log_class_prior,
    log_posterior,
    posterior,
    series_name,
)
from tunbridge.classifiers._estimator import Estimator, available_if
from tunbridge.classifiers._parameters import parameters_content, parameters_of
from tunbridge.classifiers._reading import TableReader, is_one_row, table_tags, with_unseen
from tunbridge.classifiers._rows import (
    Categorical,
    ClassPrior,
    Examples,
    Frame,
    Labels,
    Learned,
    Reader,
    Rows,
    SampleWeight,
    TextColumns,
)
from tunbridge.classifiers._statistics import Part, Statistics, inner_statistics
from tunbridge.classifiers._summary import summary_html, summary_text
from tunbridge.classifiers._texts import (
    ModelWithTexts,
    TableWithTexts,
    Texts,
    all_names,
    check_text_columns,
    columns_of,
    texts_apart,
    texts_of,
    with_documents,
    with_texts,
    with_words,
)
from tunbridge.classifiers.explanation.contributions import Compared, compared_rows, explanations
from tunbridge.classifiers.explanation.importance import importance_of
from tunbridge.classifiers.explanation.what_if import Changeable, changes
from tunbridge.data import State, Table, Variable, encode
from tunbridge.data.reading import Reading
from tunbridge.data.remarks import number_ranges
from tunbridge.data.table import check_weights
from tunbridge.decisions import Decisions, decide
from tunbridge.decisions.evidence import WhatIf
from tunbridge.decisions.importance import METHODS, Importance
from tunbridge.decisions.losses import Losses
from tunbridge.errors import DataError, ZeroProbabilityWarning
from tunbridge.formats import save_model

_TERMS_AT_ONCE = 1_000_000
_CELLS_AT_ONCE = 2**24
_TERM_BYTES = 400.0  # of a feature in an explanation

S = TypeVar("S", bound=Learned)


class Model(Protocol):
    """A joint distribution of class and features; of a table it is a :class:`TableModel`."""

    def joint(self, rows: Any, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); missing values are left out."""


class BayesClassifier(Estimator, Generic[S], metaclass=ABCMeta):
    """Base class of all classifiers; see :class:`tunbridge.NaiveBayesClassifier` for the simplest one."""

    registry_entry: ClassVar[Entry]
    """Its names, from ``@classifier``."""

    parts: ClassVar[tuple[type[Part], ...]] = ()
    """The parts of its statistics, as files hold them."""

    can_continue: ClassVar[bool] = True
    """Whether it can learn from further rows."""

    needs_columns: ClassVar[bool] = False
    """Whether it must have a column beside those of free text."""

    has_joint: ClassVar[bool] = True
    """Whether its model is a joint distribution P(x, c), so that rows without a class tell P(x)."""

    _model: Any
    n_jobs: int | None
    class_prior: ClassPrior
    categorical: Categorical
    text: TextColumns
    statistics_: S
    feature_names_in_: np.ndarray
    evaluation_: dict[str, float]
    reading_: Reading
    """How the table was read that it was learned from, if that came from a file."""
    ranges_: dict[str, tuple[float, float]]
    """The least and greatest value of each number in that table."""
    training_key_: str
    """What tells whether rows are those that it was learned from, if that is known; see :meth:`key_of_rows`."""

    @property
    def kind(self) -> str:
        """What its files are called inside."""
        return self.registry_entry.file

    @property
    def model_(self) -> Any:
        """The joint distribution of class and features; see :class:`Model`."""
        check_fitted(self)
        return self._model

    # What a final class says

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise for parameters that are not valid."""

    @abstractmethod
    def collect(self, examples: Examples, before: S | None) -> S:
        """Return the statistics of some rows.

        ``before`` are the statistics so far, or None: kinds, bins and structures stay those of the first rows.
        """

    @abstractmethod
    def derive(self, statistics: S, log_prior: np.ndarray) -> Model:
        """Return the model that follows from the statistics and the parameters."""

    @classmethod
    def _statistics(cls, content: Mapping[str, Any]) -> Any:
        """Return the statistics that a file holds; raise ValueError where they do not belong together."""
        kinds = (*cls.parts, Texts) if Texts.name in content else cls.parts
        return Statistics.from_content(content, kinds)

    def categorical_columns(self) -> Categorical:
        """Return which columns of a table are categorical, as the parameter says it."""
        return self.categorical

    def text_setting(self) -> TextColumns:
        """Return which columns of a table are free text, as the parameter says it."""
        return getattr(self, "text", None)

    def reader(self) -> Reader:
        """Return how X is read."""
        return TableReader(self.n_jobs)

    def settled(self, rows: Any, weights: np.ndarray | None) -> Any:
        """Return rows, some of them without a class, with everything fixed that depends on all of them."""
        return rows

    def encode_classes(self, y: Labels, classes: Labels, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
        """Return the class variable and the code of each row."""
        return encode_target(y, classes, name, n_rows)

    def log_prior(self, statistics: S) -> np.ndarray:
        """Return log P(c)."""
        return log_class_prior(self.class_prior, statistics.target, statistics.class_weight)

    # Learning

    def fit(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> Self:
        """Learn from rows and their classes; what was learned before is forgotten.

        Parameters
        ----------
        X : frame, dict of columns, Table, or array-like of shape (n_rows, n_features)
            The features; values may be missing.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_rows,), optional
            A weight for each row; default: the weights of a Table. A row of weight zero adds nothing, but its
            categories and its class are known, as ``classes`` of :meth:`partial_fit` are.

        Returns
        -------
        self
        """
        with replacing_state(self) as learner:
            learner._forget()
            learner._learn(X, y, None, sample_weight)
            learner._remember(X)
        return self

    @available_if(lambda self: self.can_continue)
    def partial_fit(
        self, X: Frame, y: Labels = None, classes: Labels = None, sample_weight: SampleWeight = None
    ) -> Self:
        """Learn from further rows, which may have new categories and new classes.

        The first batch fixes which columns are categorical or free text, how numeric ones are modelled, and their bins:
        if it is small, say with ``categorical`` and ``text`` what its columns are.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array-like, optional
            Classes that no row has yet.

        Returns
        -------
        self
        """
        with replacing_state(self) as learner:
            learner._learn(X, y, classes, sample_weight)
        return self

    def _forget(self) -> None:
        for name in ("statistics_", "target_name_", "feature_names_in_", "reading_", "ranges_", "training_key_"):
            self.__dict__.pop(name, None)

    def _remember(self, X: Frame) -> None:
        """Keep how a table was read from its file, so that others are read alike, and the ranges of its numbers."""
        if isinstance(X, Table) and X.reading is not None:
            self.reading_ = X.reading
            learned = {v.name for v in getattr(self, "variables_", ())}
            self.ranges_ = {name: ends for name, ends in number_ranges(X).items() if name in learned}

    def check_parameters(self) -> None:
        """Raise for parameters that are not valid, before anything is learned."""
        n_threads(self.n_jobs)
        self._check_parameters()
        check_text_columns(self.text_setting())

    def _learn(self, X: Frame, y: Labels, classes: Labels, sample_weight: SampleWeight) -> None:
        """Collect the statistics of a batch, merge them with those so far, and derive the model."""
        self.check_parameters()
        before, target_name = getattr(self, "statistics_", None), getattr(self, "target_name_", None)
        self.adopt(*self._all_rows(X, y, classes, sample_weight, before, target_name))

    def _all_rows(
        self, X: Frame, y: Labels, classes: Labels, weights: SampleWeight, before: S | None, target_name: str | None
    ) -> tuple[S, str | None]:
        """Return the statistics of what was learned before and of X together, and the name of the target."""
        reader = self.reader()
        X, y, weights, target_name = reader.split(X, y, weights, target_name)
        if texts_of(before):
            X = columns_of(X)
        rows = reader.learned(self, X, before)
        if texts_of(before):
            rows = self._with_texts(rows, X)
        elif before is None and isinstance(rows, Table):
            rows = texts_apart(self, rows)
        if not rows.n_rows and before is None:
            raise DataError("X must have at least one row to learn from; got none.", parameter="X")
        if target_name is None and before is None:
            target_name = series_name(y, rows.variables)
        name = (target_name or "class") if before is None else before.target.name
        target, codes = self.encode_classes(y, classes, name, rows.n_rows)
        n_cells = sum(float(v.n_states or 7) for v in rows.variables) * target.n_states
        what = f"what is kept of {counted(len(rows.variables), 'feature')} for {target.n_states} classes"
        check_memory(what, 8.0 * n_cells, ways_out="Leave out features, or group classes.")
        mass = None if weights is None else check_weights(np.asarray(weights), rows.n_rows)
        new = self.gathered(Examples(rows, codes, target, mass), before)
        return new if before is None else before.merge(new), target_name

    def gathered(self, examples: Examples, before: S | None) -> S:
        """Return the statistics of some rows: of the columns, and of the texts beside them."""
        rows = examples.rows
        if not isinstance(rows, TableWithTexts):
            return self.collect(examples, before)
        if self.needs_columns and not rows.columns:
            rule = f"{type(self).__name__} must have a column beside those of free text"
            hint = "Use NaiveBayesClassifier or TextClassifier."
            raise DataError(f"{rule}; got {listed(rows.documents)} only. {hint}", parameter="X")
        found: Any = self.collect(examples, before)
        if isinstance(found, Statistics):  # otherwise those of a classifier around another one, which has them
            found = with_texts(self, examples, found, before)
        return found

    def fit_examples(self, examples: Examples) -> Self:
        """Learn from rows that have been read: for an estimator around this one."""
        self._check_parameters()
        return self.adopt(self.gathered(examples, None), None)

    def adopt(self, statistics: S, target_name: str | None) -> Self:
        """Take statistics as what has been learned, and derive everything else from them."""
        for name in ("evaluation_", "training_key_"):  # they were those of other rows
            self.__dict__.pop(name, None)
        self.class_log_prior_ = self.log_prior(statistics)
        self._model = self.derive(statistics, self.class_log_prior_)
        if texts := texts_of(statistics):
            self._model = ModelWithTexts(self._model, texts, self.class_log_prior_)
        self.statistics_, self.target_name_ = statistics, target_name
        self.classes_, self.class_count_ = np.array(statistics.target.states), statistics.class_weight
        self.variables_ = statistics.variables
        self.text_columns_ = tuple(each.name for each in texts_of(inner_statistics(statistics)))
        if self.variables_ or self.text_columns_:
            self.n_features_in_ = len(self.variables_) + len(self.text_columns_)
        return self

    # Prediction

    @at_once
    def predict_joint_log_proba(self, X: Frame) -> np.ndarray:
        """Return log P(x, c) for each row and class; missing values are left out."""
        return self._joint(self._rows(X), lambda joint: joint)

    @at_once
    def predict_log_proba(self, X: Frame) -> np.ndarray:
        """Return log P(c | x) for each row and class."""
        return self.answers(self._rows(X), log_posterior)

    @at_once
    def predict_proba(self, X: Frame) -> np.ndarray:
        """Return P(c | x) for each row and class, in the order of ``classes_``."""
        return self.answers(self._rows(X), posterior)

    @at_once
    def predict(self, X: Frame) -> np.ndarray:
        """Return the most probable class of each row; the first of equally probable ones."""
        rows = self._rows(X)
        pieces = row_pieces(rows.n_rows, max(1, _CELLS_AT_ONCE // len(self.classes_)))
        if len(pieces) < 2:
            return self.classes_[self.answers(rows, log_posterior).argmax(axis=1)]
        parts = (self.answers(rows.take(np.arange(*piece)), log_posterior) for piece in pieces)
        return self.classes_[np.concatenate([part.argmax(axis=1) for part in parts])]

    def decide(
        self,
        X: Frame,
        loss: Losses = None,
        *,
        utility: Losses = None,
        actions: Sequence[State] | None = None,
        reject: ArrayLike | None = None,
        return_risk: bool = False,
    ) -> Any:
        """Return for each row the choice with the smallest expected loss.

        Parameters
        ----------
        X : as in :meth:`fit`
            The rows.
        loss : None, array-like, pandas frame, or mapping
            The loss of choosing j when i is true: a matrix (n_classes, n_classes) in the order of ``classes_``, or
            ``{true: {chosen: loss}}``, in which pairs that are not named cost 0 if right and 1 if wrong, or
            ``{true: cost}``, the cost of missing that class. Losses by row are an array (n_rows, n_classes,
            n_classes), or a mapping with columns of numbers. ``None`` counts errors, so that the most probable class
            is chosen.
        utility : as loss, optional
            The utility of each choice, instead of its loss.
        actions : sequence, optional
            What can be chosen, where that is not a class; the losses are then a matrix (n_classes, n_actions) or
            ``{true: {action: loss}}``.
        reject : float or array-like of shape (n_rows,), optional
            The loss of not deciding; rows whose every choice has a higher expected loss get ``None``.
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

    @at_once
    def decisions(
        self,
        X: Frame,
        loss: Losses = None,
        *,
        utility: Losses = None,
        actions: Sequence[State] | None = None,
        reject: ArrayLike | None = None,
    ) -> Decisions:
        """Return the choices with the smallest expected loss, and these losses.

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
        check_fitted(self)
        classes = self.classes_.tolist()
        return decide(self.predict_proba(X), classes, loss, utility=utility, actions=actions, reject=reject)

    @at_once
    def explain(self, X: Frame, label: State | None = None, against: State | None = None) -> Any:
        """Return why each row is given its class: the weight of evidence of every feature.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of feature to value
            The rows, or one row.
        label : class, optional
            The class to explain; default: the most probable one.
        against : class, optional
            The class to compare it with; default: the most probable of the others.

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
        check_fitted(self)
        rows = self._rows(X)
        n_bytes = _TERM_BYTES * rows.n_rows * (1.0 + len(self.variables_))
        check_memory(f"{counted(rows.n_rows, 'explanation')}", n_bytes, ways_out="Explain the rows in parts.")
        size = max(1, _TERMS_AT_ONCE // max(1, len(self.variables_) * len(self.classes_)))
        pieces = [rows.take(np.arange(start, stop)) for start, stop in row_pieces(rows.n_rows, size)]
        found = [each for piece in pieces for each in self._explained(piece, label, against)]
        found = with_unseen(found, X, rows) if isinstance(rows, Table) else found
        return found[0] if self.reader().is_one(X) else found

    def _explained(self, rows: Rows, label: State | None, against: State | None) -> list[Any]:
        return self.reasons(rows, compared_rows(self, self.posteriors(rows, posterior), label, against))

    def reasons(self, rows: Any, compared: list[Compared]) -> list[Any]:
        """Return why each row has one class rather than another."""
        found = explanations(self.model_, rows, compared)
        return with_words(found, self.model_.texts, rows, compared) if isinstance(rows, TableWithTexts) else found

    @at_once
    def what_if(self, X: Frame, *, to: State | None = None, features: Changeable = None) -> WhatIf | list[WhatIf]:
        """Return which single changes would give each row another class.

        Each feature is given every other category; a discretized number, a value of every other bin; a number with a
        density, the nearest value at which the class flips (if none does, the one that comes closest); and each known
        value is made missing.

        Parameters
        ----------
        X : as in :meth:`fit`, or a mapping of feature to value
            The rows, or one row.
        to : class, optional
            The class that is wanted; default: any other than the predicted one.
        features : list of str, or mapping of str to list, (low, high) or None, optional
            The features that may change; default: all. A mapping says which values each may take: a list, for a number
            also a range, or None for any value.

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
        feature   value  instead   other class  probability
        outlook   Sunny  Overcast  yes                0.722  flips
        humidity  High   Normal    yes                 0.63  flips
        outlook   Sunny  unknown   yes                0.437
        humidity  High   unknown   yes                0.433
        outlook   Sunny  Rain      yes                0.409
        """
        check_fitted(self)
        if len(self.classes_) < 2:
            raise DataError(f"a what-if must have another class; the model knows only {self.classes_.tolist()[0]!r}.")
        if not self.variables_:
            raise DataError("a what-if must have features in columns to change; texts and sequences have none.")
        rows, n_changes = self._rows(X), sum(v.n_states + 2.0 for v in self.variables_)
        n_bytes = _TERM_BYTES * rows.n_rows * n_changes
        check_memory(f"the changes of {counted(rows.n_rows, 'row')}", n_bytes, ways_out="Pass the rows in parts.")
        found = changes(self, rows, to=to, features=features)
        return found[0] if self.reader().is_one(X) else found

    @at_once
    def importance(self, method: str = "information") -> Importance:
        """Return how much each feature tells about the class, over all training rows.

        Parameters
        ----------
        method : {"information", "weight"}
            The mutual information of feature and class, given the feature's parents where it has any; or the expected
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
        check_fitted(self)
        check_choice("method", method, METHODS)
        return importance_of(self.model_, inner_statistics(self.statistics_), method)

    @at_once
    def score(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted; y may be the name of a column."""
        check_fitted(self)
        X, y, sample_weight, _ = self.reader().split(X, y, sample_weight, self.target_name_)
        return super().score(X, np.atleast_1d(labels_of(y)), sample_weight)  # of one row, too

    def answers(self, rows: Rows, normalise: Finish) -> np.ndarray:
        """Return what rows that have been read are predicted: their :meth:`posteriors`."""
        return self.posteriors(rows, normalise)

    def posteriors(self, rows: Rows, normalise: Finish) -> np.ndarray:
        """Return the normalised log P(x, c) of rows; impossible ones get the prior, with one warning."""
        impossible: list[int] = []

        def finish(joint: np.ndarray) -> np.ndarray:
            lost = np.isneginf(joint.max(axis=0))
            impossible.append(int(lost.sum()))
            return normalise(np.where(lost, self.class_log_prior_[:, None], joint) if lost.any() else joint)

        found = self._joint(rows, finish)
        if sum(impossible):
            warn_user(
                f"{sum(impossible)} row(s) have probability zero under every class and get the class prior. Smoothing "
                "above 0 avoids it, unless a number is extremely far from all training values.",
                ZeroProbabilityWarning,
            )
        return found

    def _joint(self, rows: Rows, finish: Finish) -> np.ndarray:
        check_answers(rows.n_rows, len(self.classes_))
        found: np.ndarray = self.model_.joint(rows, finish, self.n_jobs)
        return found

    def _rows(self, X: Frame) -> Any:
        check_fitted(self)
        if self.text_columns_ and not is_one_row(X):
            X = columns_of(X)
        rows = self.reader().known(self, X)
        return self._with_texts(rows, X) if self.text_columns_ else rows

    def _with_texts(self, rows: Table, X: Frame) -> TableWithTexts:
        return with_documents(texts_of(inner_statistics(self.statistics_)), rows, X)

    # What was learned, in words

    @at_once
    def describe(self, *, most: int | None = 30) -> str:
        """Return what was learned: target and classes, settings, training size, structure, and the features.

        Each feature has its type, and its states or bins. Lines about the cross-validated accuracy and about how the
        table was read follow where the classifier knows them.

        Parameters
        ----------
        most : int or None
            The number of features to list; None for all.

        Examples
        --------
        >>> import tunbridge as tb
        >>> print(tb.TANClassifier().fit(tb.datasets.play_tennis(), "play").describe())
        TANClassifier() learned from 14 rows
        target     play: no 5, yes 9
        features   4: 'outlook', 'temperature', 'humidity', 'wind'
        structure  temperature | outlook; humidity | temperature; wind | outlook
        <BLANKLINE>
        feature      type                   values
        outlook      categorical, 3 states  Overcast, Rain, Sunny
        temperature  categorical, 3 states  Cool, Hot, Mild
        humidity     categorical, 2 states  High, Normal
        wind         categorical, 2 states  Strong, Weak
        """
        check_fitted(self)
        return summary_text(self, most)

    def _described(self) -> dict[str, str]:
        """Return further lines of the description: what, and the text."""
        parents = getattr(self, "parents_", None)
        if not isinstance(parents, dict) or not all(isinstance(p, str | tuple | None) for p in parents.values()):
            return {}
        arcs = [f"{child} | {p if isinstance(p, str) else ', '.join(p)}" for child, p in parents.items() if p]
        return {"structure": "; ".join(arcs) or "no feature depends on another one"}

    def __str__(self) -> str:
        return self.describe() if self.__sklearn_is_fitted__() else repr(self)

    @property
    def _repr_html_(self) -> Any:
        """The page that a notebook shows: scikit-learn's, and once fitted the summary below it."""
        theirs = super()._repr_html_
        return (lambda: theirs() + summary_html(self)) if self.__sklearn_is_fitted__() else theirs

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        found: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if self.__sklearn_is_fitted__() and "text/html" in found:
            found["text/html"] += summary_html(self)
        return found

    def key_of_rows(self, X: Frame) -> int:
        """Return a 64-bit key of the features of some rows, whatever their order; those of batches may be added.

        Equal rows have equal keys, other rows nearly never. It takes one pass over the values.
        """
        X = columns_of(X)
        table = encode(X, self.variables_)[0] if self.variables_ else Table.of_valid([])
        if self.text_columns_:
            table = self._with_texts(table, X)
        return int(table.keys(0).sum(dtype=np.uint64))

    # Files

    @at_once
    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, data only; :func:`tunbridge.load` reads it.

        An existing model file is replaced, any other file is not.
        """
        check_fitted(self)
        save_model(path, self.kind, self.to_content)

    write = save
    """The same as :meth:`save`."""

    def to_content(self) -> dict[str, Any]:
        """Return what a file holds of the classifier; :meth:`save` writes it."""
        reading = getattr(self, "reading_", None)
        return {
            "parameters": parameters_content(self.get_params(deep=False)),
            "target_name": self.target_name_,
            "has_feature_names": hasattr(self, "feature_names_in_"),
            "statistics": self.statistics_.content(),
            **({"evaluation": pack(self.evaluation_)} if getattr(self, "evaluation_", None) else {}),
            **({} if reading is None else {"reading": pack(reading)}),
            **({"ranges": pack(self.ranges_)} if getattr(self, "ranges_", None) else {}),
            **({"training_key": self.training_key_} if getattr(self, "training_key_", "") else {}),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the classifier that a file holds; :func:`tunbridge.load` reads it."""
        model = cls(**parameters_of(content["parameters"]))
        model.check_parameters()
        statistics = cls._statistics(content["statistics"])
        model.adopt(statistics, unpack(str | None, content["target_name"]))
        if unpack(bool, content["has_feature_names"]):
            model.feature_names_in_ = np.array(all_names(inner_statistics(statistics)), object)
            if model.target_name_ in model.feature_names_in_.tolist():
                raise ValueError("its target must not be one of its features")
        if "evaluation" in content:
            model.evaluation_ = unpack(dict[str, float], content["evaluation"])
        if "reading" in content:
            model.reading_ = unpack(Reading, content["reading"])
        if "training_key" in content:
            model.training_key_ = unpack(str, content["training_key"])
        if "ranges" in content:
            model.ranges_ = unpack(dict[str, tuple[float, float]], content["ranges"])
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "statistics_")

    def __sklearn_tags__(self) -> Any:
        return table_tags(super().__sklearn_tags__())
