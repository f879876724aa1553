"""Explanations: what each feature adds to log P(x, c), for any model, as the features are added one after another.

    log P(x, c) = log P(c) + Σ_i [log P(x₁ … x_i, c) − log P(x₁ … x_{i−1}, c)]

A feature that has not been added yet is missing, so every term is what a feature adds given those before it,
log P(x_i | x₁ … x_{i−1}, c), and the terms add up whatever the model is. In a model whose features depend on parents,
with parents before children, a term is log P(x_i | parents, c). Where a parent is missing, others take its place: the
features before x_i that are linked with it through missing ones.

Explanations, importance (:mod:`~tunbridge.classifiers.explanation.importance`) and what-ifs
(:mod:`~tunbridge.classifiers.explanation.what_if`) know no concrete model: each is a :class:`TableModel`, which says
what its features add, what they tell, and where numbers lie.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import Finish
from tunbridge.classifiers._reading import seen_values, value_of
from tunbridge.classifiers._statistics import Encoding, Statistics, Structure, parents_first
from tunbridge.data import State, Table, Variable
from tunbridge.data.variable import shown_value
from tunbridge.decisions import Explanation, explanation
from tunbridge.errors import DataError

Given = list[tuple[int, ...]]
"""For each feature the features that its term is conditional on."""

Ranges = dict[int, tuple[float, float]]
"""Between which values nearly all of some numbers lie, by the position of the feature."""

_CELLS_AT_ONCE = 4_000_000


class Changes(NamedTuple):
    """Changes of single values: for each the feature, and its new code or number (−1 and NaN: missing)."""

    features: np.ndarray
    codes: np.ndarray
    numbers: np.ndarray


class TableModel(metaclass=ABCMeta):
    """A joint distribution of the class and the features of a table, and what explains it.

    A final class says how log P(x, c) is computed, and what each feature adds to it.
    """

    parents: Structure | None
    """For each feature the features it depends on beside the class; None where that is not one structure."""

    is_naive: bool = False
    """Whether features are independent given the class, so that a value adds the same in every row."""

    @abstractmethod
    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); missing values are left out."""

    @abstractmethod
    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds to log P(x, c), (n_features, n_classes, n_rows): for a few rows."""

    def log_joint_rows(self, rows: Table, n_jobs: int | None = None) -> np.ndarray:
        """Return log P(x, c) for each row, (n_rows, n_classes)."""
        return self.joint(rows, lambda joint: joint, n_jobs)

    def conditions(self, rows: Table) -> Sequence[Given] | None:
        """Return for each row what the term of each feature is conditional on; None when terms are independent."""
        return None

    def importances(self, statistics: Statistics, method: str) -> dict[int, float]:
        """Return what each feature tells about the class, in nats, by its position."""
        name = type(self).__name__
        raise DataError(f"importance must be taken from counts; {name} has none. Use explain on single rows.")

    def ranges(self, statistics: Statistics) -> Ranges:
        """Return between which values nearly all of each number with a density lie."""
        return {}

    def changed_joint(self, row: Table, changes: Changes, n_jobs: int | None = None) -> np.ndarray:
        """Return log P(x, c) of one row with one value changed, for each change, (n_changes, n_classes)."""
        size = max(1, _CELLS_AT_ONCE // max(1, row.n_columns))
        found = []
        for a, b in row_pieces(len(changes.features), size):
            several = row.take(np.zeros(b - a, np.intp))
            piece = Changes(*(array[a:b] for array in changes))
            found.append(self.log_joint_rows(changed(several, np.arange(b - a), piece), n_jobs))
        return np.concatenate(found)


class CodedModel(TableModel):
    """A model that is asked in codes, in which a missing value may be a state of its own."""

    log_prior: np.ndarray
    encoding: Encoding
    order: Sequence[int]
    """The features in the order in which they are explained."""

    piece_rows: ClassVar[int] = 8192

    @abstractmethod
    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(x, c) for rows of codes, (n_rows, n_classes)."""

    def joint(self, rows: Table, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); missing values are left out."""
        out = np.empty((rows.n_rows, len(self.log_prior)))

        def fill(piece: tuple[int, int]) -> None:
            some = slice(*piece)
            out[some] = finish(self.log_joint(self.encoding.codes(rows, some)).T).T

        map_threads(fill, row_pieces(rows.n_rows, self.piece_rows, len(self.log_prior)), n_jobs)
        return out

    def terms(self, rows: Table) -> np.ndarray:
        """Return what each feature adds given those before it in the order, (n_features, n_classes, n_rows)."""
        return conditional_terms(self, rows, self.order)


class Fitted(Protocol):
    """A fitted classifier of tables, as far as explanations look at it."""

    n_jobs: int | None
    classes_: np.ndarray
    class_count_: np.ndarray
    class_log_prior_: np.ndarray
    variables_: tuple[Variable, ...]

    @property
    def model_(self) -> TableModel:
        """The joint distribution of class and features."""

    @property
    def statistics_(self) -> Any:
        """What was learned."""


class Compared(NamedTuple):
    """The two classes that a row is explained by: their positions and names, their prior log-odds, and P(c | x)."""

    c: int
    d: int
    label: State
    against: State
    prior: float
    probabilities: Mapping[Any, float]


def compared_rows(
    classifier: Fitted, probabilities: np.ndarray, label: State | None, against: State | None
) -> list[Compared]:
    """Return the classes to compare for each row, given P(c | x)."""
    found, classes, prior = [], classifier.classes_.tolist(), classifier.class_log_prior_
    for shares in probabilities:
        c, d = compared_classes(classifier.statistics_.target, shares, label, against)
        told = dict(zip(classes, shares.tolist(), strict=True))
        found.append(Compared(c, d, classes[c], classes[d], difference(prior[c], prior[d]), told))
    return found


def explanations(model: TableModel, rows: Table, compared: Sequence[Compared]) -> list[Explanation]:
    """Return why each row has one class rather than another: the weight of evidence of every feature."""
    terms, given, names = model.terms(rows), model.conditions(rows), [v.name for v in rows.variables]
    return [
        explanation(
            two.label,
            two.against,
            prior=two.prior,
            names=names,
            values=[shown_value(v, value_of(rows, j, row)) for j, v in enumerate(rows.variables)],
            weights=[difference(t[two.c, row], t[two.d, row]) for t in terms],
            probabilities=two.probabilities,
            given=None if given is None else [[names[u] for u in each] for each in given[row]],
        )
        for row, two in enumerate(compared)
    ]


def compared_classes(
    target: Variable, weight: np.ndarray, label: State | None, against: State | None, what: str = "an explanation"
) -> tuple[int, int]:
    """Return the positions of the class to explain and of the one to compare it with.

    By default these are the class of the largest weight (its probability), and that of the largest among the others.
    """
    if len(weight) < 2:
        raise DataError(f"{what} must compare two classes; the model knows only {(target.states or ())[0]!r}.")
    ranked = np.argsort(-weight, kind="stable").tolist()
    other = None if against is None else target.code(against)
    c = target.code(label) if label is not None else next(k for k in ranked if k != other)
    d = other if other is not None else next(k for k in ranked if k != c)
    if c == d:
        raise DataError(f"{what} must compare two different classes; got {label!r} against {against!r}.")
    return c, d


def difference(a: float, b: float) -> float:
    """Return a − b, 0 where both are −∞ (a value that neither class can have says nothing between them)."""
    return 0.0 if a == b else float(a - b)


def conditional_terms(model: TableModel, rows: Table, order: Sequence[int]) -> np.ndarray:
    """Return what each feature adds given those before it in the order, (n_features, n_classes, n_rows).

    Features that are not in the order add nothing. A model of codes is asked in codes, because there a missing value
    may be a state, which differs from a feature that was not added. Any other model is asked with the features missing
    that were not added.
    """
    if not isinstance(model, CodedModel):
        return terms_in_order(
            seen_values(rows), order, lambda which, known: model.log_joint_rows(hidden(rows.take(which), ~known), 1)
        )
    codes = model.encoding.codes(rows)
    return terms_in_order(
        codes >= 0, order, lambda which, known: model.log_joint(np.where(known, codes[:, which], np.int32(-1)))
    )


def terms_in_order(
    seen: np.ndarray, order: Sequence[int], joint: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the terms; ``joint(rows, known)`` gives log P(x, c) of rows of which some features are known.

    A missing value changes nothing when its turn comes, so each row is asked for once with nothing known, and once more
    for each value that it has: all of them in one stack.
    """
    turns = np.asarray(order, np.intp)
    place = np.full(len(seen), len(turns), np.intp)
    place[turns] = np.arange(len(turns))
    rows, known = np.nonzero(np.concatenate([np.ones((seen.shape[1], 1), np.bool_), seen[turns].T], axis=1))
    size = max(1, _CELLS_AT_ONCE // max(1, len(seen)))
    found = np.concatenate(
        [joint(rows[a:b], place[:, None] < known[None, a:b]) for a, b in row_pieces(len(rows), size)]
    )
    out = np.zeros((len(seen), found.shape[1], seen.shape[1]))
    later = np.flatnonzero(known)
    out[turns[known[later] - 1], :, rows[later]] = difference_of(found[later], found[later - 1])
    return out


def difference_of(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return now − before, 0 where both are −∞."""
    same = now == before
    return np.where(same, 0.0, np.where(same, 0.0, now) - np.where(same, 0.0, before))


# Rows with other values


def hidden(rows: Table, where: np.ndarray) -> Table:
    """Return rows with the values missing that a mask names, (n_features, n_rows)."""
    columns = []
    for column, gone in zip(rows, where, strict=True):
        missing = -1 if column.variable.is_categorical else np.nan
        values = np.where(gone, missing, column.values)
        if column.variable.is_categorical:
            values = values.astype(column.values.dtype)
        columns.append(column._replace(values=values))
    return Table.of_valid(columns, rows)


def changed(rows: Table, which: np.ndarray, changes: Changes) -> Table:
    """Return rows with single values changed, given the row of each change."""
    columns = []
    for j, column in enumerate(rows):
        own = changes.features == j
        new, kind = (changes.codes, np.int64) if column.variable.is_categorical else (changes.numbers, np.float64)
        values = column.values.astype(kind)
        values[which[own]] = new[own]
        columns.append(column._replace(values=values))
    return Table.of_valid(columns)


# What terms are conditional on


def structure_conditions(structure: Structure, seen: np.ndarray) -> list[Given]:
    """Return for each row what the term of each feature is conditional on: its parents, or what takes their place."""
    known: dict[bytes, Given] = {}
    keys = [column.tobytes() for column in seen.T]
    for key, column in zip(keys, seen.T, strict=True):
        if key not in known:
            known[key] = _row_conditions(structure, column)
    return [known[key] for key in keys]


def given_before(seen: np.ndarray, order: Sequence[int]) -> Given:
    """Return for each feature of a row the features before it in an order that are not missing."""
    before = [j for j in order if seen[j]]
    out: Given = [()] * len(seen)
    for i, j in enumerate(before):
        out[j] = tuple(before[:i])
    return out


def _row_conditions(structure: Structure, seen: np.ndarray) -> Given:
    """Return the parents of each feature that is seen; where one is missing, what takes its place."""
    order = parents_first(structure)
    out: Given = [()] * len(structure)
    for i, j in enumerate(order):
        parents = structure[j] or ()
        if seen[j]:
            before = {u for u in order[:i] if seen[u]}
            out[j] = parents if before.issuperset(parents) else _linked(structure, j, before)
    return out


def _linked(structure: Structure, feature: int, known: set[int]) -> tuple[int, ...]:
    """Return the known features that a feature depends on: the ends of paths through features that are not known.

    The paths are those of the moral graph over the feature, the known ones and their ancestors (Lauritzen et al. 1990).
    """
    ancestors, todo = set(), [feature, *known]
    while todo:
        if (u := todo.pop()) not in ancestors:
            ancestors.add(u)
            todo += structure[u] or ()
    near: dict[int, set[int]] = {u: set() for u in ancestors}
    for u in ancestors:
        family = {u, *(structure[u] or ())}
        for v in family:
            near[v] |= family
    reached, todo = {feature}, [feature]
    while todo:
        for v in near[todo.pop()] - reached:
            reached.add(v)
            if v not in known:
                todo.append(v)
    parents = [u for u in structure[feature] or () if u in known]
    return (*parents, *sorted((reached & known) - set(parents)))
