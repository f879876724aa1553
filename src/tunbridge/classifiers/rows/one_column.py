"""Data of which one column is read: documents, sequences. It comes alone, or in a frame beside the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._check import did_you_mean, listed
from tunbridge.classifiers.rows.batch import is_frame
from tunbridge.classifiers.rows.target import split_target
from tunbridge.data import Table
from tunbridge.data.arrow import is_text
from tunbridge.data.columns import column_to_arrow
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError

_LOOKED_AT = 20  # cells


def has_columns(X: Any) -> bool:
    """Return whether X is a frame, not one column of it (an array, a Series, a list of values).

    Examples
    --------
    >>> has_columns({"text": ["a"]}), has_columns(["a"]), has_columns(pa.array(["a"]))
    (True, False, False)
    """
    if isinstance(X, (pa.Array, pa.ChunkedArray, np.ndarray)) or type(X).__name__ == "Series":
        return False
    return is_frame(X)


def is_list(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of lists (views of lists are none: Arrow casts them wrongly)."""
    t = pa.types
    return t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)


def split_column(X: Any, y: Any, sample_weight: Any, known: str | None, what: str) -> tuple[Any, Any, Any, str | None]:
    """Return (X without the classes, classes, weights, target's name), where y may be the name of a column of X."""
    if has_columns(X):
        return split_target(X, y, sample_weight, known)
    if y is None or isinstance(y, str):
        got = "None" if y is None else repr(y)
        raise DataError(f"y must be the classes, one for each of the {what}, unless X is a frame; got {got}.")
    return X, y, sample_weight, known


def chosen_column(
    X: Any, column: str | None, target: str | None, what: str, *, before: str | None = None, lists: bool = False
) -> tuple[Any, str | None]:
    """Return the column of X that is read, and its name; X itself where it is one.

    Without a name it is the one that was read ``before``, where it is there; else the only column that is left beside
    the target, or the only one of text (with ``lists``, of text or lists).
    """
    if not has_columns(X):
        return X, None
    columns = {name: values for name, values in _columns(X).items() if name == column or name != target}
    if column is not None:
        if column not in columns:
            raise DataError(f"column must name a column of the data; got {column!r}. {did_you_mean(column, columns)}")
        return columns[column], column
    if before in columns:
        return columns[before], before
    names = list(columns) if len(columns) == 1 else [name for name in columns if _is_text(columns[name], lists)]
    if len(names) != 1:
        kinds = "text or lists" if lists else "text"
        told = f"{listed(names)} hold {kinds}" if names else f"none of {listed(columns)} holds {kinds}"
        raise DataError(f"column must say which column holds the {what}; got None, and {told}. Name one of them.")
    return columns[names[0]], names[0]


def _columns(X: Any) -> dict[str, Any]:
    if isinstance(X, Table):
        return {c.variable.name: column_to_arrow(c) for c in X}
    return dict(X) if isinstance(X, Mapping) else frame_columns(X)


def _is_text(values: Any, lists: bool) -> bool:
    """Return whether a column holds texts, or lists where these count too, as far as its first cells tell."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        return is_text(kind) or (lists and is_list(kind))
    if not hasattr(values, "__getitem__"):
        return False
    first = next((v for v in list(values[:_LOOKED_AT]) if not is_missing(v)), None)
    return isinstance(first, str) or (lists and isinstance(first, list | tuple | np.ndarray))
