"""Rows to learn from: of a table, of documents, of sequences; with their classes and weights; and dealt to folds.

A reader turns what users give into rows: a :class:`tunbridge.Table` here, documents and sequences in their own
packages. Classifiers around others (calibrated, semi-supervised) use the reader of the one inside, and so work for
whatever that one works for. The types of what users give besides frames (:data:`Labels` and so on) stand here once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tunbridge.data import Column, Frame, Table, Variable

Labels: TypeAlias = str | Column | ArrayLike | Iterable[Any] | None
"""The class of each row, or the name of the column that holds them."""

SampleWeight: TypeAlias = ArrayLike | None
"""A weight for each row; None: all weigh the same."""

Categorical: TypeAlias = str | Sequence[str] | Sequence[int] | Mapping[str, bool] | None
"""Which columns are categorical: None, "all", names, positions or a mask, or a mapping of columns to bool."""

TextColumns: TypeAlias = str | Sequence[str] | Mapping[str, Any] | None
"""Which columns are free text: "auto", None, names, or a mapping of columns to classifiers of texts."""

ClassPrior: TypeAlias = str | ArrayLike | Mapping[Any, float] | None
"""P(c): relative frequencies (None), "uniform", in the order of the classes, or by class."""


class Rows(Protocol):
    """What a classifier learns from and predicts: a Table, documents, or sequences."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features, where rows have columns; empty otherwise."""

    @property
    def row_bytes(self) -> float:
        """The bytes that it takes to copy a row and count what it holds, roughly."""

    def take(self, rows: np.ndarray) -> Self:
        """Return the rows of a mask or of positions, in their order."""

    def keys(self, seed: int) -> np.ndarray:
        """Return a key for each row: equal for equal rows, else random."""

    def as_known_to(self, learned: Self) -> Self:
        """Return the rows as a model would read them that was learned from other rows."""


class Learned(Protocol):
    """What a classifier keeps of the data; :class:`Statistics` for tables."""

    @property
    def target(self) -> Variable:
        """The class variable; its states are the classes, sorted."""

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features, as they come: continuous ones are continuous."""

    def merge(self, other: Self) -> Self:
        """Return what would have been learned from the rows of both."""

    def content(self) -> dict[str, Any]:
        """Return the statistics as content of a file."""


Split: TypeAlias = tuple[Any, Any, Any, str | None]
"""Features, classes, weights, and the name of the target."""


class Reader(Protocol):
    """How X becomes rows for an estimator."""

    def split(self, X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None) -> Split:
        """Return (X, classes, weights, target's name), where y may be the name of a column of X."""

    def learned(self, estimator: Any, X: Frame, before: Any) -> Any:
        """Return rows to learn from; ``before`` are the statistics so far, or None."""

    def known(self, estimator: Any, X: Frame) -> Any:
        """Return rows to predict, without the column of the target if there is one."""

    def is_one(self, X: object) -> bool:
        """Return whether X is one row rather than several."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with their classes and weights.

    Parameters
    ----------
    rows : Rows
        The features.
    classes : ndarray of int
        The code of each row's class; −1 where it has none.
    target : Variable
        The class variable.
    weights : ndarray, optional
        The weights of the rows.
    """

    rows: Any
    classes: np.ndarray
    target: Variable
    weights: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.classes)

    @property
    def mass(self) -> np.ndarray:
        """The weights of the rows, ones where there are none."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    @property
    def class_weight(self) -> np.ndarray:
        """The number (or weight) of the rows of each class."""
        return np.bincount(self.classes, self.weights, minlength=self.target.n_states).astype(np.float64)

    def take(self, which: np.ndarray) -> Self:
        """Return the rows of a mask or of positions."""
        weights = None if self.weights is None else self.weights[which]
        return replace(self, rows=self.rows.take(which), classes=self.classes[which], weights=weights)

    def weighted(self, shares: np.ndarray) -> Self:
        """Return the rows that are left when each counts a share of its weight."""
        mass = self.mass * shares
        some = mass > 0
        plain = self.weights is None and (mass[some] == 1.0).all()
        return replace(self.take(some), weights=None if plain else mass[some])

    def splits(self, n_folds: int, seed: int) -> Iterator[tuple[Self, Self]]:
        """Yield for each cross-validation fold the rows to learn from, and those held out."""
        for share in self.folds(n_folds, seed):
            yield self.weighted(1.0 - share), self.weighted(share)

    def folds(self, n_folds: int, seed: int) -> list[np.ndarray]:
        """Return for each cross-validation fold that has rows the share of each row that is held out.

        Which fold a row comes into depends on its key and the seed: the order of rows and columns does not matter.
        Within a class the rows are sorted by their keys and dealt to the folds in turn, so that every fold has its
        share of every class. Equal rows are copies, and so are the three that a weight of 3 stands for: they come into
        one fold, or a model would be tested on what it has learned. Where many rows differ in their class only, few
        different ones are possible, and equal ones are no copies: they are dealt one by one, a row of weight 3 as three
        rows; other weights are rounded up to a number of equal parts. Rows without a class, without weight, or alone in
        their class are never held out.
        """
        keys = self.rows.keys(seed)
        features = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        kinds = features * (self.target.n_states + 1) + self.classes + 1
        _, first, kind = np.unique(kinds, return_index=True, return_inverse=True)
        used = (self.classes >= 0) & (self.mass > 0)
        n_kinds, n_features = len(np.unique(kinds[used])), len(np.unique(features[used]))
        if n_kinds - n_features > _CONFLICTS * n_kinds:
            return _shares(keys, self.classes, self.weights, n_folds)
        present = np.sign(np.bincount(kind, self.mass))
        return [share[kind] for share in _shares(keys[first], self.classes[first], present, n_folds)]


_CONFLICTS = 0.1  # different rows that differ from another in their class only, from which on equal rows are no copies
_MOST_PARTS = 1 << 20  # a row that is in every fold does not change with more parts


def _shares(keys: np.ndarray, classes: np.ndarray, weights: np.ndarray | None, n_folds: int) -> list[np.ndarray]:
    """Return the share of each row that is held out in each fold that has rows."""
    start, parts = _dealt(keys, classes, weights)
    shares = []
    for fold in range(n_folds):  # part t of the line is held out with fold t mod n_folds
        inside = (start + parts - 1 - fold) // n_folds - (start - 1 - fold) // n_folds
        shares.append(inside / np.maximum(parts, 1))
    return [share for share in shares if share.any()]


def _dealt(keys: np.ndarray, classes: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row begins on a line of all parts, and how many parts it has."""
    parts = np.ones(len(classes), np.int64)
    if weights is not None:
        parts = np.minimum(np.ceil(weights), _MOST_PARTS).astype(np.int64)
    parts[classes < 0] = 0
    of_class = np.bincount(classes[classes >= 0], weights=parts[classes >= 0], minlength=1)
    parts[of_class[classes] < 2] = 0
    first = np.full(len(of_class), np.iinfo(np.uint64).max, np.uint64)  # the names of classes do not order them
    np.minimum.at(first, classes[classes >= 0], keys[classes >= 0])
    order = np.lexsort((keys, classes, first[classes]))
    start = np.empty_like(parts)
    start[order] = np.cumsum(parts[order]) - parts[order]
    return start, parts


def distinct_rows(examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Return the position of one row of each kind (features and class), and the weight of its kind, above zero.

    What is learned from distinct rows and their weights does not depend on the order of the rows, nor on whether a row
    of weight three is there once or three times. The kinds are sorted by their keys, which depend on what rows hold.
    """
    table, classes, weights = examples.rows, examples.classes, examples.weights
    rows = np.arange(table.n_rows) if weights is None else np.flatnonzero(weights > 0)
    weight = np.ones(len(rows)) if weights is None else weights[rows]
    keys = table.keys(0)[rows]
    order = np.lexsort((classes[rows], keys))  # the name of a class decides only between otherwise equal rows
    same = _follows(keys[order]) & _follows(classes[rows][order])
    if any((~_follows(column[rows][order]) & same).any() for column in _comparable(table)):
        columns = [classes[rows], *(column[rows] for column in _comparable(table))]  # two different rows had one key
        order = np.lexsort(columns)
        same = np.logical_and.reduce([_follows(column[order]) for column in columns])
    starts = np.flatnonzero(~same)
    found = np.add.reduceat(weight[order], starts) if len(rows) else np.empty(0)
    return rows[order[starts]], found


def _follows(column: np.ndarray) -> np.ndarray:
    """Return which entries equal the one before them."""
    return np.concatenate([np.zeros(min(1, len(column)), np.bool_), column[1:] == column[:-1]])


def _comparable(table: Table) -> Iterator[np.ndarray]:
    """Yield the features as integers that are equal where the values are equal."""
    for variable, values, _ in table:
        if variable.is_categorical:
            yield values
        else:
            numbers = np.asarray(values, np.float64) + 0.0  # −0 is 0
            yield np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
