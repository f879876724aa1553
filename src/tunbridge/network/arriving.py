"""Rows as they arrive: a record, a frame, or a stream of frames larger than memory, as batches of codes.

A batch has a column of codes for every variable of a network, −1 where a cell is missing; a variable without a column
is missing throughout. A value that is none of a variable's states is added behind them, counted as missing, or refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge._threads import map_threads
from tunbridge.data import MISSING, Column, State, Table, Variable
from tunbridge.data.columns import as_arrow, code_type, column_to_arrow, encode_column, is_float_array
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.inference.batches import warn_near_names

NEW_STATES = ("add", "missing", "error")
"""What may become of values that are no states of their variable."""

_MANY_NEW = 20
FEW_ROWS = 2**12
"""Up to so many rows threads cost more than they save."""
_FEW_VALUES = 64  # of a list: up to so many are looked up one by one
_WANTED = "a frame, a record, or an iterator of frames"


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows as codes.

    Attributes
    ----------
    variables : tuple of Variable
        Those of the network, with the new states behind the old ones.
    codes : tuple of ndarray
        For each variable the code of its state in every row, −1 where it is missing.
    weights : ndarray or None
        The weight of each row.
    unknown : dict of str to tuple of states
        The values that were no states before.
    """

    variables: tuple[Variable, ...]
    codes: tuple[np.ndarray, ...]
    weights: np.ndarray | None
    unknown: dict[str, tuple[State, ...]]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes[0]) if self.codes else 0

    def take(self, rows: Any) -> Batch:
        """Return the batch of these rows: a slice or a mask."""
        weights = None if self.weights is None else self.weights[rows]
        return Batch(self.variables, tuple(c[rows] for c in self.codes), weights, self.unknown)

    def table(self, weights: np.ndarray | None) -> Table:
        """Return the rows as a table with these weights, to be counted: of what type cells are does not matter."""
        columns = [Column(v, c, pa.null()) for v, c in zip(self.variables, self.codes, strict=True)]
        return Table.of(columns, weights=weights)

    def matrix(self) -> np.ndarray:
        """Return the codes as an array of shape (n_variables, n_rows)."""
        widest = max((v.n_states for v in self.variables), default=0)
        return np.array(self.codes, np.int16 if widest < 2**15 else np.int32).reshape(len(self.codes), -1)


# Streams


def iter_frames(rows: Any) -> Iterator[Any]:
    """Yield the frames that rows are made of: one, or those of a stream, one at a time.

    Examples
    --------
    >>> [len(frame) for frame in iter_frames(iter([[{"sky": "clear"}, {"sky": "grey"}], {"sky": "clear"}]))]
    [2, 1]
    """
    if isinstance(rows, str | bytes | os.PathLike):
        hint = "read_table reads files; tunbridge update passes them through in batches."
        raise DataError(f"rows must be {_WANTED}; got {shortened(repr(rows))}. {hint}")
    if hasattr(rows, "__next__") or _are_frames(rows):
        for item in rows:
            yield from iter_frames(item)
    elif hasattr(rows, "to_batches") and not isinstance(rows, pa.Table | pa.RecordBatch):
        yield from rows.to_batches()
    elif _is_record(rows):
        yield [dict(rows)]
    elif not isinstance(rows, list | tuple) or rows:
        yield rows


def _are_frames(rows: Any) -> bool:
    def is_frame(item: Any) -> bool:
        return isinstance(item, Table) or hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")

    return isinstance(rows, list | tuple) and bool(rows) and all(map(is_frame, rows))


def _is_record(rows: Any) -> bool:
    """Return whether rows are a single one: a mapping from names to plain values."""
    return isinstance(rows, Mapping) and bool(rows) and not any(_is_column(value) for value in rows.values())


def _is_column(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


# Batches


def read_batch(
    frame: Any, variables: Sequence[Variable], *, new_states: str = "add", n_jobs: int | None = None
) -> Batch:
    """Return the rows of a frame as codes.

    Parameters
    ----------
    frame : Table or any frame
        Columns are matched to variables by name; others are left aside.
    variables : sequence of Variable
        The variables of the network.
    new_states : {"add", "missing", "error", "mark"}
        Values that are no states get codes of their own behind the states, or are missing, or raise. ``"mark"`` gives
        all of them one code, that behind the last state.
    n_jobs : int, optional
        Threads.
    """
    is_table = isinstance(frame, Table)
    columns: Mapping[str, Any] = {c.variable.name: c for c in frame} if is_table else frame_columns(frame)
    n_rows = _checked_rows(columns, variables)
    parts = map_threads(
        lambda v: _coded(v, columns.get(v.name), n_rows, new_states), variables, 1 if n_rows < FEW_ROWS else n_jobs
    )
    unknown = {variable.name: states for variable, _, states in parts if states}
    weights = frame.weights if is_table else None
    return Batch(tuple(v for v, _, _ in parts), tuple(codes for _, codes, _ in parts), weights, unknown)


def _checked_rows(columns: Mapping[str, Any], variables: Sequence[Variable]) -> int:
    """Return the number of rows; raise unless there is a column of the network, warn of names that are nearly right."""
    index = {v.name: i for i, v in enumerate(variables)}
    if index.keys().isdisjoint(columns):
        meant = did_you_mean(next(iter(columns), ""), index)
        hint = meant if meant.startswith("Did") else "Columns are matched to variables by name."
        raise DataError(
            f"the rows must have a column of the network ({listed(v.name for v in variables)}); "
            f"got {listed(columns) or 'none'}. {hint}"
        )
    warn_near_names(columns, index)
    first = next(iter(columns.values()))
    return len(first.values) if isinstance(first, Column) else len(first)


def _coded(
    variable: Variable, column: Any, n_rows: int, new_states: str
) -> tuple[Variable, np.ndarray, tuple[State, ...]]:
    """Return the variable, with the new states that it gets, its codes, and the values that were no states."""
    if column is None:
        return variable, np.full(n_rows, MISSING, np.int8), ()
    codes, unknown = _encoded(variable, column)
    if not unknown:
        return variable, codes, ()
    if new_states == "error":
        hint = did_you_mean(unknown[0], variable.states or ())
        raise DataError(
            f"column {variable.name!r} must hold states of {variable.name!r}; got {listed(unknown, most=3)}. {hint}"
        )
    if new_states == "mark":
        return variable, _marked(variable, codes, unknown, column), tuple(unknown)
    if new_states == "missing":
        return variable, codes, tuple(unknown)
    _check_addable(variable, unknown)
    grown, added = with_states(variable, unknown)
    return grown, _encoded(grown, column)[0], added


def _marked(variable: Variable, codes: np.ndarray, unknown: Sequence[State], column: Any) -> np.ndarray:
    """Return codes in which a value that is no state has the code behind the last state."""
    strange = _encoded(Variable(variable.name, unknown), column)[0] >= 0
    return np.where(strange, variable.n_states, codes.astype(np.int64))


def _encoded(variable: Variable, column: Any) -> tuple[np.ndarray, list[State]]:
    """Return the codes of a column, and the values that are no states."""
    if isinstance(column, Column):
        if column.variable.is_categorical and variable.cuts is None:
            return _recoded(variable, column.variable.states or (), column.values)
        return encode_column(variable, column_to_arrow(column))
    if isinstance(column, list) and len(column) <= _FEW_VALUES and (codes := _found(variable, column)) is not None:
        return codes, []
    if not is_float_array(column):
        column = as_arrow(variable.name, column)
    pieces: list[Any] = getattr(column, "chunks", [])
    if len(pieces) == 1 and variable.cuts is None and _is_plain_dictionary(pieces[0].type):
        return _recoded(variable, pieces[0].dictionary.to_pylist(), _indices(pieces[0]))
    return encode_column(variable, column)


def _found(variable: Variable, values: Sequence[Any]) -> np.ndarray | None:
    """Return the codes of a few values, None where one is no state: then it takes a look at the column as a whole."""
    codes = [MISSING if value is None else variable.find(value) for value in values]
    if codes.count(MISSING) > values.count(None):
        return None
    return np.array(codes, code_type(variable.n_states))


def _is_plain_dictionary(kind: pa.DataType) -> bool:
    t = pa.types
    return t.is_dictionary(kind) and kind.index_type.bit_width <= 32 and not t.is_temporal(kind.value_type)


def _indices(column: pa.DictionaryArray) -> np.ndarray:
    indices = column.indices
    if pa.types.is_unsigned_integer(indices.type):
        indices = indices.cast(pa.int64())
    return (indices.fill_null(MISSING) if indices.null_count else indices).to_numpy()


def _recoded(variable: Variable, states: Sequence[Any], codes: np.ndarray) -> tuple[np.ndarray, list[State]]:
    """Return the codes of a column that has codes already, by way of a table from the old to the new ones."""
    narrow = code_type(variable.n_states)
    if tuple(states) == variable.states:
        return codes.astype(narrow, copy=False), []
    known = np.full(len(states) + 1, MISSING, narrow)
    known[:-1] = [variable.find(state) for state in states]
    strange = [i for i in np.flatnonzero(known[:-1] == MISSING).tolist() if not is_missing(states[i])]
    held = set(np.unique(codes).tolist()) if strange else set()  # states that no row is in are none
    return known[codes], list(dict.fromkeys(states[i] for i in strange if i in held))


# New states


def with_states(variable: Variable, values: Sequence[State]) -> tuple[Variable, tuple[State, ...]]:
    """Return the variable with further states behind its own, of the type of these where the values allow it.

    Examples
    --------
    >>> with_states(Variable("n", [1, 2]), [3.0])
    (Variable('n', [1, 2, 3]), (3,))
    """
    kinds = {type(state) for state in variable.states or ()}
    added: tuple[State, ...] = tuple(dict.fromkeys(_alike(value, kinds) for value in values))
    return Variable(variable.name, [*(variable.states or ()), *added]), added


def _alike(value: Any, kinds: set[type]) -> State:
    whole = isinstance(value, float) and value.is_integer()
    if kinds == {str}:
        return str(int(value)) if whole else str(value)
    return int(value) if kinds == {int} and whole else value


def _check_addable(variable: Variable, values: Sequence[State]) -> None:
    """Raise for values that are hardly new states: of intervals, and numbers or names without end."""
    name, way_out = variable.name, "new_states='missing' counts such cells as missing."
    if variable.cuts is not None:
        raise DataError(
            f"{name!r} is cut into intervals, and its column must hold numbers or their labels; "
            f"got {listed(values, most=3)}. {way_out}"
        )
    if len(values) > max(_MANY_NEW, variable.n_states):
        raise DataError(
            f"column {name!r} must hold states of {name!r}, or a few new ones; got {len(values)} that are none, such "
            f"as {listed(values[:3])}. If they are numbers, cut them as the network's were; {way_out}"
        )
