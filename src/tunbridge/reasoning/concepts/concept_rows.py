"""Rows for concept learning: codes of categorical attributes, and whether each row is in the concept.

Concept learning takes every row at its word, so nothing is guessed here. A number is refused (cut it into intervals
first), and so is a missing cell: whether a constraint on it holds is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean, listed, shortened, warn_user
from tunbridge.data import Column, State, Table, Variable, encode
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.reasoning.concepts.concept_target import Target, find_target
from tunbridge.reasoning.targets import as_classes, split_target, table_of


@dataclass(frozen=True, eq=False)
class ConceptRows:
    """Rows to learn from.

    Parameters
    ----------
    variables : tuple of Variable
        The attributes.
    columns : tuple of ndarray
        The codes of each, none of them missing.
    positive : ndarray of bool
        Which rows are in the concept.
    numbers : ndarray of int
        The number of each row, counted from 1 over everything that was learned.
    """

    variables: tuple[Variable, ...]
    columns: tuple[np.ndarray, ...]
    positive: np.ndarray
    numbers: np.ndarray

    def codes(self, row: int) -> np.ndarray:
        """Return the codes of one row, by its place."""
        return np.array([column[row] for column in self.columns], np.int64)

    def one(self, row: int) -> ConceptRows:
        """Return one of the rows, by its place."""
        part = slice(row, row + 1)
        columns = tuple(column[part] for column in self.columns)
        return ConceptRows(self.variables, columns, self.positive[part], self.numbers[part])


def read_rows(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    positive: Any,
    states: Mapping[str, Iterable[State]] | None = None,
    known: Sequence[Variable] | None = None,
    target: Target | None = None,
    classes: Any = None,
    seen: int = 0,
) -> tuple[ConceptRows, Target, int]:
    """Return rows to learn from, their classes, and how many rows there are; those of weight zero are left out.

    Parameters
    ----------
    X, y, sample_weight
        As in :meth:`tunbridge.FindS.fit`.
    positive : label or None
        The class of the concept.
    states : mapping of str to states, optional
        All that some attributes can be; a value that is none of them is an error.
    known, target, seen
        The attributes, the classes and the number of rows of what was learned before.
    classes : iterable of labels, optional
        Both classes, where rows may have one only.
    """
    attributes, labels = attributes_and_classes(X, y, target)
    if not attributes.n_columns:
        raise DataError("there must be an attribute to learn from; got no column beside the target.")
    kept = row_weights(sample_weight, attributes) > 0
    if not kept.any():
        raise DataError("there must be something to learn from; got no rows.")
    variables, columns = attribute_codes(attributes.take(kept), kept, states, known)
    found = find_target(labels, kept, positive, target, classes)
    is_positive = labels.values[kept] == labels.variable.find(found.positive)
    return ConceptRows(variables, columns, is_positive, np.flatnonzero(kept) + 1 + seen), found, len(kept)


def attribute_codes(
    table: Table,
    kept: np.ndarray | None = None,
    states: Mapping[str, Iterable[State]] | None = None,
    known: Sequence[Variable] | None = None,
) -> tuple[tuple[Variable, ...], tuple[np.ndarray, ...]]:
    """Return the attributes, with new states after the known ones, and their codes; raise for a missing cell.

    ``kept`` marks which rows of the data the table holds, for messages.
    """
    declared = _declared(states, table.names if known is None else [v.name for v in known])
    wanted = [declared.get(v.name) or _categorical(v) for v in table.variables] if known is None else known
    coded, unseen = encode(table, wanted)
    if unseen:
        _check_declared(unseen, declared if known is None else {v.name: v for v in known if v.name in declared})
        wanted = [Variable(v.name, [*(v.states or ()), *unseen.get(v.name, ())], cuts=v.cuts) for v in wanted]
        coded, _ = encode(table, wanted)
    for column in coded:
        if column.values.size and column.values.min() < 0:
            raise _missing(column, kept)
    return tuple(wanted), coded.columns


def known_rows(X: Any, variables: Sequence[Variable]) -> tuple[tuple[np.ndarray, ...], int]:
    """Return the codes of rows to predict, and how many there are.

    X may also be one row, a mapping of attribute to value. A state not known has a code beyond the known ones, and one
    warning names it.
    """
    if isinstance(X, Mapping) and X and all(isinstance(v, str) or not hasattr(v, "__len__") for v in X.values()):
        X = {name: [value] for name, value in X.items()}
    table = table_of(X)
    found, columns = attribute_codes(table, known=variables)
    new = [
        f"{v.name!r} holds {listed((v.states or ())[old.n_states :], most=5)}"
        for v, old in zip(found, variables, strict=True)
        if v.n_states > old.n_states
    ]
    if new:
        warn_user(f"states that were not there at learning meet no constraint: {'; '.join(new)}.", UnseenStateWarning)
    return columns, table.n_rows


def attributes_and_classes(X: Any, y: Any, target: Target | None = None) -> tuple[Table, Column]:
    """Return the attributes and the classes, which are a column of the data or given beside them."""
    attributes, labels = split_target(X, y, None if target is None else target.name)
    return attributes, as_classes(labels)


def row_weights(sample_weight: Any, table: Table) -> np.ndarray:
    """Return the weights of rows: those that are given, those of the table, or ones."""
    if sample_weight is not None:
        return check_weights(np.asarray(sample_weight), table.n_rows)
    return np.ones(table.n_rows) if table.weights is None else table.weights


def _declared(states: Any, names: Sequence[str]) -> dict[str, Variable]:
    """Return the attributes whose states were given."""
    if states is None:
        return {}
    if not isinstance(states, Mapping):
        raise DataError(f"states must be a mapping of attribute to its states; got {shortened(repr(states))}.")
    for name, values in states.items():
        if name not in names:
            raise DataError(f"states must name attributes; got {name!r}. {did_you_mean(name, names)}")
        if values is None:
            raise DataError(f"the states of {name!r} must be a list; got None. Leave it out: the rows show them.")
    return {name: Variable(name, values) for name, values in states.items()}


def _check_declared(unseen: Mapping[str, list[State]], declared: Mapping[str, Variable]) -> None:
    for name, values in unseen.items():
        if name in declared:
            hint = declared[name].near_states(values[0])
            raise DataError(f"attribute {name!r} must be in one of the states given for it; got {values[0]!r}. {hint}")


def _categorical(variable: Variable) -> Variable:
    if variable.is_continuous:
        raise DataError(
            f"attributes must be categorical; {variable.name!r} holds numbers. Cut them into intervals with "
            "tb.discretise, or make each number a state: "
            f"tb.as_table(data, kinds={{{variable.name!r}: 'categorical'}})."
        )
    return variable


def _missing(column: Column, kept: np.ndarray | None) -> DataError:
    place = int((column.values < 0).argmax())
    row = place if kept is None else int(np.flatnonzero(kept)[place])
    return DataError(
        f"every row must have a value of every attribute; {column.variable.name!r} is missing in row {row + 1}. "
        "Whether a constraint on it holds is not known: leave such rows out, as table.take(table.complete) does, fill "
        "the cells, or give them a state of their own."
    )
