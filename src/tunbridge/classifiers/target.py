"""The class column: found, checked and coded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from tunbridge._check import did_you_mean
from tunbridge.classifiers.batch import is_frame
from tunbridge.data import Table, Variable
from tunbridge.data.columns import column_to_arrow, distinct_values
from tunbridge.data.frames import frame_columns
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
    names = list(X.names) if isinstance(X, Table) else list(X) if isinstance(X, Mapping) else _frame_names(X)
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
    labels = np.unique(np.concatenate([np.asarray(distinct), np.asarray(classes)]) if classes is not None else distinct)
    place = np.searchsorted(labels, distinct)
    return Variable(name, labels.tolist()), place[codes].astype(np.int32)


def _class_array(y: Any) -> np.ndarray:
    """Return the classes as a one-dimensional array; raise for missing, continuous and odd ones."""
    values = column_or_1d(np.asarray(y), warn=True)
    if values.dtype.kind == "O":
        missing = [i for i, v in enumerate(values) if v is None or v != v]
        if missing:
            raise DataError(_missing_message(len(missing), values.size, missing[0]))
        if all(isinstance(v, str) for v in values):
            return values.astype(str) if values.size else values
    if values.dtype.kind == "f":
        nan = np.flatnonzero(np.isnan(values))
        if nan.size:
            raise DataError(_missing_message(nan.size, values.size, int(nan[0])))
    if values.dtype.kind not in "iubU":
        check_classification_targets(values)
    return values


def _missing_message(n_missing: int, n_rows: int, first: int) -> str:
    if n_missing == n_rows:
        return "the target must have classes; every row of it is missing (Input y contains NaN)."
    return (
        f"every row must have a class; {n_missing} of {n_rows} have none, row {first + 1} first. Leave these rows out. "
        "(Input y contains NaN.)"
    )


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.dtype.kind in "iu":
        distinct, codes = distinct_values("y", values)
        return np.asarray(distinct), codes
    return np.unique(values, return_inverse=True)


def _frame_names(X: Any) -> list[str]:
    names = getattr(X, "columns", None)
    if names is not None and len(names) and isinstance(next(iter(names)), str):
        return list(names)
    return list(frame_columns(X))


def _without(X: Any, name: str) -> Any:
    if isinstance(X, Table):
        return X.drop([name])
    if isinstance(X, Mapping):
        return {k: v for k, v in X.items() if k != name}
    if hasattr(X, "iloc"):
        return X.drop(columns=name)
    if hasattr(X, "with_columns"):
        return X.drop(name)
    return {k: v for k, v in frame_columns(X).items() if k != name}


def _classes_of(X: Any, name: str) -> np.ndarray:
    if isinstance(X, Table):
        column = X.column(name)
        return column_to_arrow(column).to_numpy(zero_copy_only=False)
    values = (
        X[name]
        if isinstance(X, Mapping) or hasattr(X, "iloc") or hasattr(X, "with_columns")
        else frame_columns(X)[name]
    )
    return np.asarray(values)
