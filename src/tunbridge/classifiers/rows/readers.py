"""How a classifier reads what it is given: the rows of a table here, documents and sequences in rooms of their own.

A reader turns X into rows, a record that the rest takes as it comes: rows can be counted, taken in part, dealt to folds
by what they hold, and handed to a model. Classifiers around others (calibrated, semi-supervised) read with the reader
of the one inside, and so work for whatever that one works for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from tunbridge._check import did_you_mean
from tunbridge.classifiers.rows.batch import Batch, is_frame, known_batch, learn_batch
from tunbridge.classifiers.rows.target import split_target
from tunbridge.data import Variable
from tunbridge.errors import DataError


class Rows(Protocol):
    """What a classifier learns from and predicts."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features, where rows are cells of columns; empty otherwise."""

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a row and count what it holds."""

    def rows(self, start: int, stop: int) -> Self:
        """Return some of the rows."""

    def take(self, which: np.ndarray) -> Self:
        """Return the rows that a mask or positions name, in their order."""

    def keys(self, seed: int) -> np.ndarray:
        """Return a number for each row that follows from what it holds, equal for equal rows, else as if drawn."""

    def as_known_to(self, learned: Self) -> Self:
        """Return the rows as a model would read them that was learned from other rows of the same reading."""


class Reader(Protocol):
    """How X becomes rows; the estimator is the one that is asked, and may be told of its columns."""

    def split(self, X: Any, y: Any, sample_weight: Any, known: str | None) -> tuple[Any, Any, Any, str | None]:
        """Return (X, classes, weights, target's name), where y may be the name of a column of X, or say nothing."""

    def learned(self, estimator: Any, X: Any, before: Any) -> Any:
        """Return rows to learn from; ``before`` is what has been learned so far, or None."""

    def known(self, estimator: Any, X: Any) -> Any:
        """Return rows to predict, without the column of the target if it is there."""

    def is_one(self, X: Any) -> bool:
        """Return whether X is one row rather than a list of rows."""


@dataclass(frozen=True)
class TableReader:
    """The reader of tables: frames, dicts of columns, arrays, and one row as a mapping of feature to value."""

    n_jobs: int | None

    def split(self, X: Any, y: Any, sample_weight: Any, known: str | None) -> tuple[Any, Any, Any, str | None]:
        """Return features, classes, weights and the target's name."""
        return split_target(X, y, sample_weight, known)

    def learned(self, estimator: Any, X: Any, before: Any) -> Batch:
        """Return rows to learn from; kinds of columns are kept once they are settled."""
        known = None if before is None else before.variables
        return learn_batch(estimator, X, categorical=estimator._which_categorical(), known=known, n_jobs=self.n_jobs)

    def known(self, estimator: Any, X: Any) -> Batch:
        """Return rows to predict."""
        if is_one_row(X):
            X = _completed(estimator, X)
        if estimator.target_name_ is not None:
            X = split_target(X, None, None, estimator.target_name_, required=False)[0]
        return known_batch(estimator, X, estimator.variables_, self.n_jobs)

    def is_one(self, X: Any) -> bool:
        """Return whether X gives features their values rather than their columns."""
        return is_one_row(X)


def is_one_row(X: Any) -> bool:
    """Return whether X gives features their values rather than their columns: a mapping, or a row of a pandas frame."""
    if hasattr(X, "iloc") and hasattr(X, "items") and not hasattr(X, "columns"):
        return all(isinstance(name, str) for name in X.index)
    if not (isinstance(X, Mapping) and is_frame(X)):
        return False
    return len(X) > 0 and all(isinstance(v, (str, bytes)) or not hasattr(v, "__len__") for v in X.values())


def check_columns(what: str, given: Mapping[str, Any], names: list[str], rule: str) -> None:
    """Raise when something is given for a column that there is not."""
    for name in given:
        if name not in names:
            raise DataError(f"{what} must name {rule}; got {name!r}. {did_you_mean(name, names)}")


def _completed(estimator: Any, row: Any) -> dict[str, list[Any]]:
    """Return one row as columns, with what it does not name missing."""
    given, names = dict(row.items()), [v.name for v in estimator.variables_]
    check_columns("a row", {n: v for n, v in given.items() if n != estimator.target_name_}, names, "features")
    return {name: [given.get(name)] for name in names}
