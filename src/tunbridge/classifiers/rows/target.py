"""The class column: found, checked and coded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tunbridge._check import did_you_mean, listed
from tunbridge.classifiers.rows.batch import as_given, is_frame, is_known_frame
from tunbridge.data import Table, Variable
from tunbridge.data.columns import column_to_arrow, distinct_values
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError


def split_target(
    X: Any, y: Any, sample_weight: Any, known: str | None, *, required: bool = True
) -> tuple[Any, Any, Any, str | None]:
    """Return (features, classes, weights, target's name) where y may be the name of a column of X.

    Weights are those given, else the weights of a Table. At prediction (``required=False``) a column that has the
    target's name is taken out when it is there.
    """
    if isinstance(X, Table) and X.weights is not None and sample_weight is None:
        sample_weight = X.weights
    name = y if isinstance(y, str) else None if y is not None else known
    if name is None:
        if y is None and required:
            raise DataError(
                "the estimator requires y to be passed, but the target y is None. Give the classes, or the name of the "
                "column that holds them."
            )
        return X, y, sample_weight, known
    if not is_frame(X):
        if required:
            raise DataError(f"y must be an array of classes unless X is a frame with named columns; got y={name!r}.")
        return X, y, sample_weight, name
    if not (isinstance(X, (Table, Mapping)) or is_known_frame(X)):
        X = frame_columns(X)  # once: it may be a stream
    names = list(X.names) if isinstance(X, Table) else list(X) if isinstance(X, Mapping) else list(X.columns)
    if name not in names:
        if not required:
            return X, y, sample_weight, name
        raise DataError(f"the target must be a column of the data; got {name!r}. {did_you_mean(name, names)}")
    return _without(X, name), _classes_of(X, name), sample_weight, name


def encode_target(y: Any, classes: Any, name: str, n_rows: int) -> tuple[Variable, np.ndarray]:
    """Return the class variable, its states sorted, and the code of each row."""
    values = _class_array(y)
    if len(values) != n_rows:
        raise DataError(f"y must have a class for each row; got {len(values)} classes for {n_rows} rows.")
    distinct, codes = _distinct(values)
    labels = distinct if classes is None else sorted_labels([*distinct, *_class_array(classes).tolist()])
    place = {label: code for code, label in enumerate(labels)}
    return Variable(name, labels), np.array([place[d] for d in distinct], np.int32)[codes]


def series_name(y: Any, features: Iterable[Variable]) -> str | None:
    """Return the name that a Series of classes brings along, unless a feature has it."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name not in {v.name for v in features} else None


def apart_from(target: Variable, features: Iterable[Variable]) -> Variable:
    """Return the class variable under a name that no feature has."""
    names = {v.name for v in features}
    while target.name in names:
        target = Variable(f"{target.name}'", target.states)
    return target


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """Return distinct class labels in sorted order; raise unless they are all text, all numbers or all truth values."""
    distinct = list(dict.fromkeys(labels))
    kinds = {_label_kind(label) for label in distinct}
    if len(kinds) > 1:
        raise DataError(
            f"classes must be of one kind, all text or all numbers; got {listed(distinct)}. Turn them all into text."
        )
    return sorted(distinct)


def sorted_target(a: Variable, b: Variable) -> Variable:
    """Return the class variable with the classes of both, in sorted order."""
    if a.states == b.states:
        return a
    return Variable(a.name, sorted_labels([*(a.states or ()), *(b.states or ())]))


def _label_kind(label: Any) -> str:
    if isinstance(label, bool):
        return "truth value"
    return "number" if isinstance(label, (int, float)) else type(label).__name__


def _class_array(y: Any) -> np.ndarray:
    """Return the classes as a one-dimensional array; raise for missing, continuous and odd ones."""
    values = column_or_1d(as_given(y), warn=True)
    if values.dtype.kind in "mM":
        raise DataError("classes must be text, numbers or truth values; got dates or times. Turn them into text.")
    if values.dtype.kind == "O" and _is_all_text(values):
        return values
    if values.dtype.kind == "O":
        _check_missing(np.array([is_missing(v) for v in values], bool))
        sorted_labels(values.tolist())
    if values.dtype.kind == "f":
        _check_missing(np.isnan(values))
    if values.dtype.kind not in "iubU":
        _check_classes(values)
    return values


def _check_classes(values: np.ndarray) -> None:
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise DataError(
            f"classes must be a few labels that rows share; got {listed(values[:3].tolist())} and so on. Cut numbers "
            f"into intervals first. ({error})"
        ) from error


def _check_missing(missing: np.ndarray) -> None:
    if not missing.any():
        return
    if missing.all():
        raise DataError("the target must have classes; every row of it is missing (Input y contains NaN).")
    raise DataError(
        f"every row must have a class; {int(missing.sum())} of {missing.size} have none, "
        f"row {int(missing.argmax()) + 1} first. Leave these rows out, or use SemiSupervisedClassifier. "
        "(Input y contains NaN.)"
    )


def _is_all_text(values: np.ndarray) -> bool:
    """Return whether every value is a text, as Arrow sees it: it refuses mixtures."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return False
    return bool(values.size) and column.null_count == 0 and pa.types.is_string(column.type)


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    if values.dtype.kind in "iu" or (values.dtype.kind == "O" and isinstance(values[0], str)):
        return distinct_values("y", values)
    distinct, codes = np.unique(values, return_inverse=True)
    return distinct.tolist(), codes


def _without(X: Any, name: str) -> Any:
    if isinstance(X, Table):
        return X.drop([name])
    if hasattr(X, "iloc"):
        return X.drop(columns=name)
    if hasattr(X, "with_columns"):
        return X.drop(name)
    return {k: v for k, v in X.items() if k != name}


def _classes_of(X: Any, name: str) -> np.ndarray:
    if isinstance(X, Table):
        column = X.column(name)
        if column.variable.is_categorical:
            states = np.array(column.variable.states or ())
            plain = states.dtype.kind in "iubf" and bool((column.values >= 0).all())
            return (states if plain else np.array([*(column.variable.states or ()), None], object))[column.values]
        return column_to_arrow(column).to_numpy(zero_copy_only=False)
    return np.asarray(X[name])
