"""Rows with known classes, which models are fitted and evaluated on, and matrices for estimators of other libraries.

Rows without a class are left out, and counted. The rows are one table, whose columns keep their kinds in every fold;
composite estimators of other libraries get them unchanged.

Most estimators of scikit-learn take a matrix of numbers. :class:`Coded` gives them one: numbers unchanged, and each
categorical column either *one-hot* encoded or as one column of codes (*ordinal*). A missing value is NaN as a number
and as a code, and a zero in every one-hot column. So is an unseen category.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tunbridge._core.check import check_choice, check_fitted, check_number, did_you_mean
from tunbridge._core.memory import check_memory
from tunbridge.classifiers._classes import encode_target
from tunbridge.classifiers._estimator import Estimator, unfitted_copy
from tunbridge.classifiers._reading import (
    categorical_mask,
    is_frame,
    known_table,
    learn_table,
    numbers_of,
    split_target,
    table_tags,
)
from tunbridge.classifiers._rows import Categorical, Frame, Labels, SampleWeight
from tunbridge.data import Column, State, Table, Variable
from tunbridge.data.columns import infer_column
from tunbridge.data.frames import unchecked_table, warn_of_texts, with_classes
from tunbridge.data.remarks import text_columns
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError
from tunbridge.evaluation.splits import group_codes, time_values

CODES = ("one-hot", "ordinal")
_MOST_CATEGORIES = 255  # of a column that gradient boosting takes as categorical


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows that have a class.

    Parameters
    ----------
    table : Table
        The features and the target, which is categorical.
    target : str
        The column of the classes.
    left_out : int
        The number of rows without a class.
    is_named : bool
        Whether the target is a column of the data, or was given separately.
    source : pandas frame or ndarray, optional
        The features of the same rows as given, for models of other libraries.
    numbers : ndarray, optional
        The number of each row in the data, where rows were left out.
    groups, times : ndarray, optional
        The group of each row, and its time.
    """

    table: Table
    target: str
    left_out: int = 0
    is_named: bool = True
    source: Any = None
    numbers: np.ndarray | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.table.n_rows

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the rows, in the order of ``classes_`` of classifiers."""
        states = self.table.variable(self.target).states or ()
        seen = [states[c] for c in np.unique(self.table.codes(self.target))]
        try:
            return tuple(sorted(seen))
        except TypeError:
            return tuple(seen)

    @cached_property
    def codes(self) -> np.ndarray:
        """The position of each row's class among :attr:`classes`."""
        states = self.table.variable(self.target).states or ()
        place = {c: k for k, c in enumerate(self.classes)}
        return np.array([place.get(s, -1) for s in states], np.int64)[self.table.codes(self.target)]

    @property
    def labels(self) -> np.ndarray:
        """The classes of the rows."""
        return np.array(self.classes)[self.codes]

    @property
    def weights(self) -> np.ndarray:
        """The weights of the rows; default: 1."""
        return np.ones(self.n_rows) if self.table.weights is None else self.table.weights

    @property
    def features(self) -> Table:
        """The rows without their classes."""
        return self.table.drop([self.target])

    def as_they_came(self) -> Any:
        """Return the features for scikit-learn: the given frame or array, otherwise a pandas frame."""
        return self.features.to_pandas() if self.source is None else self.source

    def without(self, columns: Collection[str]) -> Labelled:
        """Return the rows without some features."""
        source = self.source
        if hasattr(source, "iloc"):
            source = source.drop(columns=[name for name in columns if name in source.columns])
        return replace(self, table=self.table.drop(columns), source=source)

    def take(self, mask: np.ndarray) -> Labelled:
        """Return some of the rows; the classes are still those of all."""
        each = {name: getattr(self, name) for name in ("numbers", "groups", "times")}
        each = {name: values if values is None else values[mask] for name, values in each.items()}
        found = replace(self, table=self.table.take(mask), source=rows_of(self.source, mask), **each)
        found.__dict__["classes"] = self.classes
        return found


def labelled(
    frame: Frame,
    target: str | ArrayLike,
    *,
    weights: str | ArrayLike | None = None,
    groups: str | ArrayLike | None = None,
    time: str | ArrayLike | None = None,
) -> Labelled:
    """Return the rows of a frame that have a class.

    Parameters
    ----------
    frame : frame, dict of columns, Table, or array
        The rows.
    target : str or array-like
        The name of the column of the classes, or the classes.
    weights : str or array-like, optional
        The name of the column of the rows' weights, or the weights.
    groups, time : str or array-like, optional
        The group of each row, or its time, or the column that holds it, which is no feature then.
    """
    table = unchecked_table(frame, weights=weights)
    named = isinstance(target, str)
    if isinstance(target, str) and target not in table.names:
        raise DataError(f"target must name a column of the data; got {target!r}. {did_you_mean(target, table.names)}")
    table, name = (table, target) if isinstance(target, str) else _with_target(table, target)
    table, group_column = _taken_out(table, "groups", groups, name)
    table, time_column = _taken_out(table, "time", time, name)
    if not isinstance(frame, Table):
        warn_of_texts(table, asked=[name])
    coded, present = with_classes(table, name)
    gone = {each for each in (target, weights, groups, time) if isinstance(each, str)}
    source = rows_of(_source(frame, gone), present)
    kept = coded if present.all() else coded.take(present)
    return Labelled(
        kept, name, int((~present).sum()), named, source, np.flatnonzero(present),
        None if group_column is None else group_codes(_rows_of_column(group_column, present)),
        None if time_column is None else time_values(_rows_of_column(time_column, present)),
    )  # fmt: skip


def _taken_out(table: Table, what: str, given: str | ArrayLike | None, target: str) -> tuple[Table, Column | None]:
    """Return the table without a column that is named or given beside it, and this column."""
    if given is None:
        return table, None
    if isinstance(given, str):
        if given not in table.names or given == target:
            known = [name for name in table.names if name != target]
            rule = f"{what} must name a column of the data beside the target"
            raise DataError(f"{rule}; got {given!r}. {did_you_mean(given, known)}", parameter=what)
        return table.drop([given]), table.column(given)
    column = infer_column(what, given if hasattr(given, "__array__") else np.asarray(given), None)
    if len(column.values) != table.n_rows:
        got = f"got {len(column.values)} for {table.n_rows} rows"
        raise DataError(f"{what} must have a value for each row; {got}.", parameter=what)
    return table, column


def _rows_of_column(column: Column, mask: np.ndarray) -> Column:
    return column._replace(values=column.values[mask])


def with_splits_by(rows: Labelled, *, groups: str | None, time: str | None) -> Labelled:
    """Return rows with the group or the time of each taken out of a column of theirs."""
    table, group_column = _taken_out(rows.table, "groups", groups, rows.target)
    table, time_column = _taken_out(table, "time", time, rows.target)
    return replace(
        rows,
        table=table,
        groups=None if group_column is None else group_codes(group_column),
        times=None if time_column is None else time_values(time_column),
    )


def rows_of(source: Any, mask: np.ndarray) -> Any:
    """Return some rows of a pandas frame or an array."""
    if source is None or mask.all():
        return source
    return source.iloc[np.flatnonzero(mask)] if hasattr(source, "iloc") else source[mask]


def _source(frame: Any, gone: set[str]) -> Any:
    """Return the features of a frame unchanged, if scikit-learn can read them; otherwise None."""
    if isinstance(frame, np.ndarray) and frame.ndim == 2 and frame.dtype.names is None:
        return frame
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return frame.drop(columns=[name for name in gone if name in frame.columns])
    return None


def _with_target(table: Table, target: ArrayLike) -> tuple[Table, str]:
    """Return the table with the classes as a column with an unused name."""
    name = getattr(target, "name", None)
    name = name if isinstance(name, str) and name.strip() and name not in table.names else "class"
    while name in table.names:
        name += "_"
    if is_frame(target) or np.ndim(target) != 1:
        raise DataError("target must be the name of a column, or one class for each row; got neither.")
    column = infer_column(name, target if hasattr(target, "__array__") else np.asarray(target), None)
    if len(column.values) != table.n_rows:
        raise DataError(f"target must have a class for each row; got {len(column.values)} for {table.n_rows} rows.")
    return table.with_column(column), name


def class_codes(classes: Iterable[State], values: Iterable[State]) -> np.ndarray:
    """Return the position of each value among some classes; −1 for other values.

    Examples
    --------
    >>> class_codes(["no", "yes"], ["yes", "perhaps"]).tolist()
    [1, -1]
    """
    variable = Variable("class", list(classes))
    return np.array([variable.find(value) for value in values], np.int64)


# Matrices for scikit-learn


@dataclass(eq=False, repr=False)
class Coded(Estimator):
    """A scikit-learn classifier that takes frames, tables, categories and missing values; free text is left out.

    Parameters
    ----------
    estimator : scikit-learn classifier
        The classifier of the matrix. Unless it takes NaN, numbers must not be missing.
    codes : {"one-hot", "ordinal"}
        The encoding of categorical columns. With "ordinal" the parameter ``categorical_features`` of the estimator is
        set, if it has one.
    class_share : float
        The share of the probability that goes to the class frequencies. Above 0 no class has probability 0, as in a
        forest whose trees all agree; its log-loss could be infinite.
    categorical : None, "all", list of columns, or mapping of column to bool
        Which columns are categorical; see :class:`tunbridge.NaiveBayesClassifier`.

    Attributes
    ----------
    classes_, class_count_, variables_, n_features_in_, feature_names_in_
        As in :class:`tunbridge.NaiveBayesClassifier`.
    estimator_ : scikit-learn classifier
        The fitted estimator, with integers as classes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = Coded(DecisionTreeClassifier(random_state=0)).fit(tb.datasets.play_tennis(), "play")
    >>> tree.predict({"outlook": ["Overcast"], "temperature": ["Hot"], "humidity": ["High"], "wind": ["Weak"]}).tolist()
    ['yes']
    """

    estimator: Any
    _: KW_ONLY
    codes: str = "one-hot"
    class_share: float = 0.0
    categorical: Categorical = None

    def fit(self, X: Frame, y: Labels = None, sample_weight: SampleWeight = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : frame, dict of columns, Table, or array-like of shape (n_rows, n_features)
            The features; values may be missing.
        y : array-like of shape (n_rows,), or str
            The classes, or the name of the column of X that holds them.
        sample_weight : array-like of shape (n_rows,), optional
            A weight for each row; default: the weights of a Table.
        """
        check_choice("codes", self.codes, CODES)
        check_number("class_share", self.class_share, low=0, high=1)
        X, y, sample_weight, name = split_target(X, y, sample_weight, None)
        rows = learn_table(self, X, categorical=self.categorical, known=None, n_jobs=None)
        if hasattr(self, "feature_names_in_"):
            kept = categorical_mask(self.categorical, rows.names)
            asked = {name for name, yes in zip(rows.names, kept, strict=True) if yes}
            rows = rows.drop([name for name in text_columns(rows) if name not in asked])
            if not rows.n_columns:
                raise DataError("models of scikit-learn must have a column that is no free text; got none.")
        target, classes = encode_target(y, None, name or "class", rows.n_rows)
        weights = None if sample_weight is None else check_weights(np.asarray(sample_weight), rows.n_rows)
        self.target_name_, self.variables_ = name, rows.variables
        self.classes_ = np.array(target.states)
        self.class_count_ = np.bincount(classes, weights, len(self.classes_)).astype(np.float64)
        self.estimator_ = self._with_categories(unfitted_copy(self.estimator), rows)
        self.estimator_.fit(self._matrix(rows), classes, **weight_arguments(self.estimator_, weights))
        return self

    def predict_proba(self, X: Frame) -> np.ndarray:
        """Return P(c | x) for each row and class, in the order of ``classes_``."""
        check_fitted(self)
        X = split_target(X, None, None, self.target_name_, required=False)[0] if self.target_name_ else X
        found = self.estimator_.predict_proba(self._matrix(known_table(self, X, self.variables_, None)))
        full = np.zeros((len(found), len(self.classes_)))
        full[:, self.estimator_.classes_] = found
        frequencies = self.class_count_ / self.class_count_.sum()
        return (1 - self.class_share) * full + self.class_share * frequencies

    def predict(self, X: Frame) -> np.ndarray:
        """Return the most probable class of each row; the first of equally probable ones."""
        check_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _with_categories(self, estimator: Any, rows: Table) -> Any:
        """Return the estimator with the columns of the matrix that are categories, if it has such a parameter."""
        if self.codes == "ordinal" and "categorical_features" in estimator.get_params():
            mask = [v.is_categorical and v.n_states <= _MOST_CATEGORIES for v in rows.variables]
            estimator.set_params(categorical_features=mask)
        return estimator

    def _matrix(self, rows: Table) -> np.ndarray:
        """Return the rows as a matrix of numbers."""
        one_hot = self.codes == "one-hot"
        widths = [v.n_states if one_hot and v.is_categorical else 1 for v in rows.variables]
        size = rows.n_rows * sum(widths) * 8.0
        check_memory("the matrix for scikit-learn", size, ways_out="Use codes='ordinal', fewer rows or fewer columns.")
        out = np.zeros((rows.n_rows, sum(widths)))
        for j, stop in enumerate(np.cumsum(widths).tolist()):
            if not rows.variables[j].is_categorical:
                out[:, stop - 1] = numbers_of(rows, j)
            elif one_hot:
                _fill_one_hot(rows.columns[j], out[:, stop - widths[j] : stop])
            else:
                out[:, stop - 1] = np.where(rows.columns[j] < 0, np.nan, rows.columns[j])
        return out

    def __sklearn_tags__(self) -> Any:
        return table_tags(super().__sklearn_tags__())


def weight_arguments(estimator: Any, weights: np.ndarray | None) -> dict[str, Any]:
    """Return the argument of ``fit`` for weights, of an estimator or of the last one of a pipeline.

    Raises
    ------
    DataError
        If there are weights and it takes none.
    """
    if weights is None:
        return {}
    from sklearn.utils.validation import has_fit_parameter

    if has_fit_parameter(estimator, "sample_weight"):
        return {"sample_weight": weights}
    if hasattr(estimator, "steps") and has_fit_parameter(estimator.steps[-1][1], "sample_weight"):
        return {f"{estimator.steps[-1][0]}__sample_weight": weights}
    raise DataError(
        f"a model must take weights if rows have them; {type(estimator).__name__} takes none. "
        "Leave out the model or the weights."
    )


def _fill_one_hot(codes: np.ndarray, out: np.ndarray) -> None:
    known = np.flatnonzero(codes >= 0)
    out[known, codes[known]] = 1.0
