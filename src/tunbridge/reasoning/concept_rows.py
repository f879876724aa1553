"""Rows with classes: attributes and target of a table, and the rows of concept learning.

The classes are a column of the data, given by its name, or given separately. Concept learning takes every row as exact:
numbers must be discretised first, and missing values are errors, because it is not known whether they meet a
constraint. The class of the concept is given, or recognised by its name: yes, true, 1, + and the like. If the rows have
only one class, the other one gets a matching name until a row shows the true one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened, warn_user
from tunbridge.data import Column, State, Table, Variable, as_table, encode
from tunbridge.data.columns import column_to_arrow, infer_column
from tunbridge.data.table import check_weights
from tunbridge.errors import DataError, UnseenStateWarning

States: TypeAlias = Mapping[str, Iterable[State]] | None
"""All states of some attributes."""

_OPPOSITES = {
    "yes": "no", "Yes": "No", "YES": "NO", "y": "n", "Y": "N", "true": "false", "True": "False", "TRUE": "FALSE",
    "t": "f", "T": "F", "+": "-", "1": "0", "positive": "negative", "Positive": "Negative", "pos": "neg",
}  # fmt: skip
_POSITIVES = {no: yes for yes, no in _OPPOSITES.items()}
_LARGE = 2**62


# Attributes and classes of a table


def split_target(X: object, y: object, known: str | None = None) -> tuple[Table, Column]:
    """Return the attributes, and the column of the target as it is: numbers are not converted to classes yet.

    Parameters
    ----------
    X : Table or any frame
    y : str, array-like or None
        The name of the column that holds the target, or its values.
    known : str, optional
        The name of the target in earlier data: its column is then found without y, and values get this name.

    Examples
    --------
    >>> import tunbridge as tb
    >>> attributes, labels = split_target(tb.datasets.play_tennis(), "play")
    >>> attributes.names, labels.variable
    (('outlook', 'temperature', 'humidity', 'wind'), Variable('play', ['no', 'yes']))
    """
    table = _table_of(X)
    name = known if y is None else y
    if name is None:
        raise DataError("y must be given: the classes, or the name of the column that holds them.", parameter="y")
    if not isinstance(name, str):
        return table, _given_target(table, y, known)
    if name not in table.names:
        raise DataError(f"the target must be a column of the data; got {name!r}. {did_you_mean(name, table.names)}")
    return table.drop([name]), table.column(name)


def as_classes(target: Column) -> Column:
    """Return a target with states; each number is one of them."""
    if not target.variable.is_continuous:
        return target
    return infer_column(target.variable.name, column_to_arrow(target), "categorical")


def as_labels(labels: list[Any]) -> np.ndarray:
    """Return labels as an array that keeps their types."""
    return np.array(labels, None if len(set(map(type, labels))) == 1 else object)


def _table_of(X: object) -> Table:
    if isinstance(X, tuple) and X and isinstance(X[0], Table):
        hint = "tb.discretise returns a table and its bins: table, _ = tb.discretise(...)."
        raise DataError(f"X must be one table; got a tuple that begins with one. {hint}", parameter="X")
    return as_table(X)


def _given_target(table: Table, y: object, known: str | None) -> Column:
    """Return the column of a target that is given separately."""
    if isinstance(y, Mapping | Table) or hasattr(y, "columns") or not hasattr(y, "__len__"):
        got = type(y).__name__ if hasattr(y, "__len__") else shortened(repr(y))
        raise DataError(f"y must be a column of classes, or the name of one; got {got}.", parameter="y")
    given = y.variable.name if isinstance(y, Column) else getattr(y, "name", None)
    given = given if isinstance(given, str) and given else None
    if given in table.names:
        hint = "Give its name as y, or drop the column from the data."
        raise DataError(f"the target must not be among the attributes; got {given!r} in both. {hint}", parameter="y")
    found = y if isinstance(y, Column) else infer_column(known or given or "class", y)
    if len(found.values) != table.n_rows:
        got = f"{len(found.values)} for {counted(table.n_rows, 'row')}"
        raise DataError(f"y must have a class for each row; got {got}.", parameter="y")
    return found


# Rows of concept learning


@dataclass(frozen=True)
class Target:
    """The two classes: that of the concept, and the other one.

    Parameters
    ----------
    name : str
        The name of the class column.
    positive, negative : state
        The labels.
    assumed : bool
        Whether the negative label was made up, because no row has one.
    """

    name: str
    positive: State
    negative: State
    assumed: bool = False

    @property
    def classes(self) -> list[Any]:
        """Both labels, sorted if possible."""
        both: list[Any] = [self.negative, self.positive]
        try:
            return sorted(both)
        except TypeError:
            return both


@dataclass(frozen=True, eq=False)
class ConceptRows:
    """Rows to learn from.

    Parameters
    ----------
    variables : tuple of Variable
        The attributes.
    columns : tuple of ndarray
        The codes of each, none missing.
    positive : ndarray of bool
        Which rows are in the concept.
    numbers : ndarray of int
        The number of each row, from 1, counted over all calls.
    """

    variables: tuple[Variable, ...]
    columns: tuple[np.ndarray, ...]
    positive: np.ndarray
    numbers: np.ndarray

    def codes(self, row: int) -> np.ndarray:
        """Return the codes of one row, by its place."""
        return np.array([column[row] for column in self.columns], np.int64)

    def cells(self, row: int) -> tuple[State, ...]:
        """Return the values of one row, by its place."""
        return cells_of(self.variables, self.codes(row))

    def part(self, start: int, end: int) -> ConceptRows:
        """Return the rows at the places from start up to, but not including, end."""
        part = slice(start, end)
        columns = tuple(column[part] for column in self.columns)
        return ConceptRows(self.variables, columns, self.positive[part], self.numbers[part])


def cells_of(variables: Sequence[Variable], codes: np.ndarray) -> tuple[State, ...]:
    """Return the values of codes."""
    return tuple((v.states or ())[code] for v, code in zip(variables, codes.tolist(), strict=True))


class Known(NamedTuple):
    """What is known before rows are read: the attributes, classes and number of earlier ones, or both classes."""

    classes: object = None
    variables: Sequence[Variable] | None = None
    target: Target | None = None
    n_rows: int = 0


_NOTHING = Known()


def read_rows(
    X: object,
    y: object,
    sample_weight: object = None,
    *,
    positive: object,
    states: States = None,
    known: Known = _NOTHING,
) -> tuple[ConceptRows, Target, int]:
    """Return rows to learn from, their classes, and the number of rows; those of weight zero are left out.

    Parameters
    ----------
    X, y, sample_weight
        As in :meth:`tunbridge.FindS.fit`.
    positive : label or None
        The class of the concept.
    states : mapping of str to states, optional
        All states of some attributes; other values are errors.
    known : Known, optional
        What is known from earlier calls.
    """
    attributes, labels = attributes_and_classes(X, y, known.target)
    if not attributes.n_columns:
        raise DataError("there must be at least one attribute; got no column beside the target.", parameter="X")
    kept = row_weights(sample_weight, attributes) > 0
    if not kept.any():
        raise DataError("there must be at least one row of a weight above 0; got none.", parameter="X")
    variables, columns = _attribute_codes(attributes.take(kept), kept, states, known.variables)
    found = _find_target(labels, kept, positive, known)
    is_positive = labels.values[kept] == labels.variable.find(found.positive)
    return ConceptRows(variables, columns, is_positive, np.flatnonzero(kept) + 1 + known.n_rows), found, len(kept)


def known_rows(X: object, variables: Sequence[Variable]) -> tuple[tuple[np.ndarray, ...], int]:
    """Return the codes of rows to predict, and their number.

    X may also be one row, a mapping of attribute to value. An unseen category has a code beyond the known ones, with a
    warning.
    """
    if isinstance(X, Mapping) and X and all(isinstance(v, str) or not hasattr(v, "__len__") for v in X.values()):
        X = {name: [value] for name, value in X.items()}
    table = _table_of(X)
    found, columns = _attribute_codes(table, None, None, variables)
    new = [
        f"{v.name!r} holds {listed((v.states or ())[old.n_states :], most=5)}"
        for v, old in zip(found, variables, strict=True)
        if v.n_states > old.n_states
    ]
    if new:
        warn_user(f"unseen categories meet no constraint: {'; '.join(new)}.", UnseenStateWarning)
    return columns, table.n_rows


def attributes_and_classes(X: object, y: object, target: Target | None = None) -> tuple[Table, Column]:
    """Return the attributes and the classes."""
    attributes, labels = split_target(X, y, None if target is None else target.name)
    return attributes, as_classes(labels)


def row_weights(sample_weight: object, table: Table) -> np.ndarray:
    """Return the weights of rows: the given ones, those of the table, or ones."""
    if sample_weight is not None:
        return check_weights(np.asarray(sample_weight), table.n_rows)
    return np.ones(table.n_rows) if table.weights is None else table.weights


def _attribute_codes(
    table: Table, kept: np.ndarray | None, states: States, known: Sequence[Variable] | None
) -> tuple[tuple[Variable, ...], tuple[np.ndarray, ...]]:
    """Return the attributes, with new states after the known ones, and their codes; raise for a missing value.

    ``kept`` marks which rows of the data the table holds, for messages.
    """
    declared = _declared_states(states, table.names if known is None else [v.name for v in known])
    wanted = [declared.get(v.name) or _categorical(v) for v in table.variables] if known is None else known
    coded, unseen = encode(table, wanted)
    for name, values in unseen.items():
        if name in declared:
            own = next(v for v in wanted if v.name == name)
            rule = f"attribute {name!r} must have one of the given states"
            raise DataError(f"{rule}; got {values[0]!r}. {own.near_states(values[0])}", parameter="states")
    if unseen:
        wanted = [Variable(v.name, [*(v.states or ()), *unseen.get(v.name, ())], cuts=v.cuts) for v in wanted]
        coded, _ = encode(table, wanted)
    for column in coded:
        if column.values.size and column.values.min() < 0:
            place = int((column.values < 0).argmax())
            row = place if kept is None else int(np.flatnonzero(kept)[place])
            hint = "Leave such rows out, as table.take(table.complete) does, or impute them."
            where = f"{column.variable.name!r} is missing in row {row + 1}"
            raise DataError(f"every row must have a value of every attribute; {where}. {hint}", parameter="X")
    return tuple(wanted), coded.columns


def _declared_states(states: object, names: Sequence[str]) -> dict[str, Variable]:
    if states is None:
        return {}
    if not isinstance(states, Mapping):
        raise DataError(f"states must be a mapping of attribute to its states; got {shortened(repr(states))}.")
    for name, values in states.items():
        if name not in names:
            raise DataError(f"states must name attributes; got {name!r}. {did_you_mean(name, names)}")
        if values is None:
            raise DataError(f"the states of {name!r} must be a list; got None. Leave it out to use those of the rows.")
    return {name: Variable(name, values) for name, values in states.items()}


def _categorical(variable: Variable) -> Variable:
    if variable.is_continuous:
        name = variable.name
        hint = f"or make each number a state: tb.as_table(data, kinds={{{name!r}: 'categorical'}})"
        rule = f"attributes must be categorical; {name!r} holds numbers"
        raise DataError(f"{rule}. Discretise them with tb.discretise, {hint}.", parameter="X")
    return variable


def _find_target(labels: Column, kept: np.ndarray, positive: object, before: Known) -> Target:
    """Return which class is the concept, and the name of the other one."""
    name, states = labels.variable.name, labels.variable.states or ()
    codes = labels.values[kept]
    if (codes < 0).any():
        row = int(np.flatnonzero(kept)[int((codes < 0).argmax())]) + 1
        raise DataError(f"every row must have a class; row {row} has none. Leave such rows out.", parameter="y")
    present = [states[code] for code in np.unique(codes)]
    if before.target is not None:
        return _continued(before.target, present)
    declared = list(states)
    if before.classes is not None:
        declared = list(infer_column("classes", before.classes, "categorical").variable.states or ())
        if len(declared) != 2 or not set(present) <= set(declared):
            got = f"{listed(declared)}, and rows of {listed(present)}"
            raise DataError(f"classes must be the two labels of y; got {got}.", parameter="classes")
    known = declared if len(present) < 2 and len(declared) == 2 and set(present) <= set(declared) else present
    if len(known) > 2:
        hint = "Learn one class against the others with a boolean column, such as y == 'a'."
        raise DataError(f"y must have two classes, in the concept or not; got {listed(known)}. {hint}", parameter="y")
    chosen = _positive(positive, known, name)
    others = [label for label in known if Variable(name, [label]).find(chosen) < 0]
    return Target(name, chosen, others[0]) if others else Target(name, chosen, _opposite(chosen), assumed=True)


def _positive(positive: object, known: list[State], name: str) -> State:
    if positive is not None:
        code = Variable(name, known).find(positive)
        if code < 0 and len(known) == 2:
            raise DataError(f"positive must be one of the classes; got {positive!r}. {did_you_mean(positive, known)}")
        return known[code] if code >= 0 else positive
    texts = [str(int(k)) if isinstance(k, float) and k.is_integer() else str(k) for k in known]
    if len(known) == 1 and texts[0] in _POSITIVES:
        return _opposite(known[0])
    found = [label for label, text in zip(known, texts, strict=True) if text in _OPPOSITES]
    if len(found) != 1:
        rule = f"positive must be given: the classes of {name!r} are {listed(known)}"
        raise DataError(f"{rule}. For example positive={known[-1]!r}.", parameter="positive")
    return found[0]


def _opposite(positive: object) -> State:
    """Return a label for the other class."""
    if isinstance(positive, bool):
        return not positive
    if isinstance(positive, int | float):
        return type(positive)(positive == 0)
    text = str(positive)
    return _OPPOSITES.get(text) or _POSITIVES.get(text) or f"not {positive}"


def _continued(before: Target, present: list[State]) -> Target:
    """Return the classes of earlier rows, with the negative label if it has appeared since."""
    known = Variable(before.name, [before.positive, before.negative])
    new = [label for label in present if known.find(label) < 0]
    if not new:
        seen = any(known.find(label) == 1 for label in present)
        return replace(before, assumed=before.assumed and not seen)
    if len(new) > 1 or not before.assumed:
        raise DataError(f"y must have the classes {listed(before.classes)} of earlier rows; got {new[-1]!r}.")
    return Target(before.name, before.positive, new[0])


def row_keys(columns: Sequence[np.ndarray], sizes: Sequence[int], n_rows: int) -> tuple[np.ndarray, int]:
    """Return a number for each row, equal for equal rows only, and a bound above all of them."""
    keys, span = np.zeros(n_rows, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size > _LARGE:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            span = int(keys.max(initial=0)) + 1
        keys = keys * size + column
        span *= size
    return keys, span
