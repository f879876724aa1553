"""Class columns in which some rows have no class: a mark such as −1, or nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._check import warn_user
from tunbridge.classifiers.rows.target import encode_target
from tunbridge.data import Variable
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, DataWarning


def without_class(y: Any, mark: Any) -> np.ndarray:
    """Return which rows have no class: those that are missing (None, NaN, empty text), and those that have the mark.

    Examples
    --------
    >>> without_class(["spam", None, "ham", ""], -1).tolist()
    [False, True, False, True]
    >>> without_class([0, 1, -1], -1).tolist(), without_class([0, 1, -1], None).tolist()
    ([False, False, True], [False, False, False])
    """
    values = np.asarray(y).reshape(-1)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind in "iub":
        missing = np.zeros(len(values), bool)
    else:
        missing = np.array([is_missing(v) or (isinstance(v, str) and not v) for v in values.tolist()], bool)
    if mark is None:
        return missing
    return missing | np.array([not m and _is(v, mark) for v, m in zip(values.tolist(), missing, strict=True)], bool)


def encode_partly(y: Any, classes: Any, name: str, n_rows: int, mark: Any) -> tuple[Variable, np.ndarray]:
    """Return the class variable and the code of each row's class, −1 where it has none.

    Where the mark leaves only one class, as −1 does among −1 and 1, it is taken as a class itself, with a warning: rows
    of one class and rows of none cannot tell classes apart.
    """
    absent, values = without_class(y, mark), np.asarray(y).reshape(-1)
    if len(values) != n_rows or not absent.any():
        return encode_target(y, classes, name, n_rows)
    if absent.all():
        raise DataError(f"some row must have a class; all {n_rows} rows have none (missing or {mark!r}).")
    target, codes = encode_target(plain_labels(values[~absent]), classes, name, int((~absent).sum()))
    if target.n_states < 2 and not (without_class(y, None) == absent).all():
        warn_user(
            f"{mark!r} is taken as a class, because all other rows have {(target.states or ())[0]!r}. Leave the labels "
            "of rows without a class empty (None), or set unlabelled=None.",
            DataWarning,
        )
        return encode_partly(y, classes, name, n_rows, None)
    found = np.full(n_rows, -1, codes.dtype)
    found[~absent] = codes
    return target, found


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels among which nothing is missing any more in the type that they have in common."""
    values = labels.tolist()
    return np.array(values) if labels.dtype.kind == "O" and len(set(map(type, values))) == 1 else labels


def _is(value: Any, mark: Any) -> bool:
    return isinstance(value, bool) == isinstance(mark, bool) and bool(value == mark)
