"""Arriving rows as batches of codes, and what a batch adds to the counts of a network.

Rows arrive as a record, a frame, or a stream of frames larger than memory. A batch has a column of codes for every
variable of the network, −1 where a value is missing; a variable without a column is missing in every row. A value that
is not a state of its variable becomes a new state, is treated as missing, or raises an error.

A row can be counted if it gives the parents of every variable that it gives: what it misses is then barren and affects
no table but its own. Other rows need inference and add expected counts. The log-likelihood of counted rows follows from
their counts,

    Σ_rows w ln P(row) = Σ_families Σ_jk n_jk ln P(k | j).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import pyarrow as pa

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.counts import Counter, Counts
from tunbridge.data import MISSING, Column, State, Table, Variable
from tunbridge.data.columns import as_arrow, code_type, column_to_arrow, encode_column, is_float_array
from tunbridge.data.frames import frame_columns
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError, MemoryForecastError
from tunbridge.inference import Engine, batches
from tunbridge.inference.evidence import warn_near_names
from tunbridge.inference.expectations import IncompleteRows
from tunbridge.inference.flat import FlatNetwork, flatten
from tunbridge.probability import ConditionalTable

NEW_STATES = ("add", "missing", "error")
"""What can be done with values that are not states of their variable."""

_NO_TYPE = pa.null()  # never converted back
_MANY_NEW = 20
_FEW_ROWS = 2**12  # up to so many rows threads cost more than they save
_FEW_VALUES = 64  # of a list: up to so many are looked up one by one


Unknown = dict[str, tuple[State, ...]]
"""By variable the values that were not states of it."""


class Batch(NamedTuple):
    """Rows with a column of codes for every variable of the network, and which of them need no inference."""

    table: Table
    countable: np.ndarray

    @classmethod
    def of(cls, table: Table, tables: Sequence[ConditionalTable]) -> Batch:
        """Return the rows with a mask of those that give the parents of every variable that they give."""
        mask = np.ones(table.n_rows, bool)
        codes = dict(zip(table.names, table.columns, strict=True))
        incomplete = {name for name, column in codes.items() if column.min(initial=0) < 0}
        for cpt in tables:
            for parent in cpt.parents:
                if parent.name in incomplete:
                    mask &= (codes[cpt.variable.name] < 0) | (codes[parent.name] >= 0)
        return cls(table, mask)

    def take(self, rows: slice | np.ndarray) -> Batch:
        """Return the batch of these rows: a slice or a mask."""
        return Batch(self.table.take(rows), self.countable[rows])

    def pieces(self, n_rows: int | None) -> Iterator[Batch]:
        """Yield batches of at most so many rows; one batch if all rows can be counted, as pieces would not matter."""
        if n_rows is None or self.countable.all():
            yield self
            return
        for start, stop in row_pieces(self.table.n_rows, n_rows):
            yield self.take(slice(start, stop))

    def matrix(self) -> np.ndarray:
        """Return the codes as an array of shape (n_variables, n_rows)."""
        widest, codes = max((v.n_states for v in self.table.variables), default=0), self.table.columns
        return np.array(codes, np.int16 if widest < 2**15 else np.int32).reshape(len(codes), -1)


def check_discrete(cpts: Mapping[str, ConditionalTable], done: str) -> None:
    """Raise for a network with continuous variables."""
    numbers = [name for name, cpt in cpts.items() if cpt.variable.is_continuous]
    if numbers:
        are = "is" if len(numbers) == 1 else "are"
        hint = "Discretise the numbers, or fit the network again."
        raise DataError(
            f"a network must have categorical variables only to be {done}; {listed(numbers)} {are} continuous. {hint}"
        )


# Reading


def iter_frames(rows: object) -> Iterator[object]:
    """Yield the frames that rows consist of: one, or those of a stream, one at a time.

    Examples
    --------
    >>> [len(frame) for frame in iter_frames(iter([[{"sky": "clear"}, {"sky": "grey"}], {"sky": "clear"}]))]
    [2, 1]
    """
    if isinstance(rows, str | bytes | os.PathLike):
        hint = "read_table reads a file; tunbridge network update reads it in batches."
        raise DataError(
            f"rows must be a frame, a record, or an iterator of frames; got {shortened(repr(rows))}. {hint}",
            parameter="rows",
        )
    if isinstance(rows, Iterator) or _are_frames(rows):
        for item in rows:
            yield from iter_frames(item)
    elif hasattr(rows, "to_batches") and not isinstance(rows, pa.Table | pa.RecordBatch):
        yield from rows.to_batches()
    elif isinstance(rows, Mapping) and rows and not any(map(_is_column, rows.values())):
        yield [dict(rows)]  # a single record
    elif not isinstance(rows, list | tuple) or rows:
        yield rows


def _are_frames(rows: object) -> TypeGuard[Sequence[object]]:
    def is_frame(item: object) -> bool:
        return isinstance(item, Table) or hasattr(item, "__arrow_c_stream__") or hasattr(item, "__arrow_c_array__")

    return isinstance(rows, list | tuple) and bool(rows) and all(map(is_frame, rows))


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def read_batch(
    frame: object, variables: Sequence[Variable], *, new_states: str = "add", n_jobs: int | None = None
) -> tuple[Table, Unknown]:
    """Return the rows of a frame in codes, a column for each variable with its new states, and what was no state.

    Parameters
    ----------
    frame : Table or any frame
        Columns are matched to variables by name; other columns are ignored.
    variables : sequence of Variable
        The variables of the network.
    new_states : {"add", "missing", "error", "mark"}
        Give values that are not states new codes after the states, treat them as missing, or raise an error;
        ``"mark"`` gives all of them the one code after the last state.
    n_jobs : int, optional
        Number of threads.
    """
    table = frame if isinstance(frame, Table) else None
    columns: Mapping[str, Any] = frame_columns(frame) if table is None else {c.variable.name: c for c in table}
    n_rows = _checked_rows(columns, variables)
    parts = map_threads(
        lambda v: _coded(v, columns.get(v.name), n_rows, new_states), variables, 1 if n_rows < _FEW_ROWS else n_jobs
    )
    unknown = {variable.name: states for variable, _, states in parts if states}
    return Table.of_valid([Column(variable, codes, _NO_TYPE) for variable, codes, _ in parts], table), unknown


def _checked_rows(columns: Mapping[str, Any], variables: Sequence[Variable]) -> int:
    """Return the number of rows; raise unless a column is a variable, warn of names that are nearly right."""
    index = {v.name: i for i, v in enumerate(variables)}
    if index.keys().isdisjoint(columns):
        meant = did_you_mean(next(iter(columns), ""), index)
        hint = meant if meant.startswith("Did") else "Columns are matched to variables by name."
        raise DataError(
            f"rows must have a column for at least one variable ({listed(v.name for v in variables)}); "
            f"got {listed(columns) or 'none'}. {hint}",
            parameter="rows",
        )
    warn_near_names(columns, index)
    first = next(iter(columns.values()))
    return len(first.values) if isinstance(first, Column) else len(first)


def _coded(
    variable: Variable, column: object, n_rows: int, new_states: str
) -> tuple[Variable, np.ndarray, tuple[State, ...]]:
    """Return the variable with the new states it gets, its codes, and the values that were not states."""
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
        is_unknown = _encoded(Variable(variable.name, unknown), column)[0] >= 0
        return variable, np.where(is_unknown, variable.n_states, codes.astype(np.int64)), tuple(unknown)
    if new_states == "missing":
        return variable, codes, tuple(unknown)
    _check_addable(variable, unknown)
    grown, added = _with_states(variable, unknown)
    return grown, _encoded(grown, column)[0], added


def _encoded(variable: Variable, column: object) -> tuple[np.ndarray, list[State]]:
    """Return the codes of a column, and the values that are not states."""
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


def _found(variable: Variable, values: list[Any]) -> np.ndarray | None:
    """Return the codes of a few values; None if one is not a state, then the column is encoded as a whole."""
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
    """Return the codes of a column that already has codes, by a lookup table from old to new codes."""
    narrow = code_type(variable.n_states)
    if tuple(states) == variable.states:
        return codes.astype(narrow, copy=False), []
    known = np.full(len(states) + 1, MISSING, narrow)
    known[:-1] = [variable.find(state) for state in states]
    unknown = [i for i in np.flatnonzero(known[:-1] == MISSING).tolist() if not is_missing(states[i])]
    used = set(np.unique(codes).tolist()) if unknown else set()  # states that no row has do not count
    return known[codes], list(dict.fromkeys(states[i] for i in unknown if i in used))


def _with_states(variable: Variable, values: Sequence[State]) -> tuple[Variable, tuple[State, ...]]:
    """Return the variable with new states after its own, converted to the type of these where possible.

    Examples
    --------
    >>> _with_states(Variable("n", [1, 2]), [3.0])
    (Variable('n', [1, 2, 3]), (3,))
    """
    kinds = {type(state) for state in variable.states or ()}
    added: tuple[State, ...] = tuple(dict.fromkeys(_alike(value, kinds) for value in values))
    return Variable(variable.name, [*(variable.states or ()), *added]), added


def _alike(value: State, kinds: set[type]) -> State:
    if isinstance(value, float) and value.is_integer() and kinds in ({str}, {int}):
        value = int(value)
    return str(value) if kinds == {str} else value


def _check_addable(variable: Variable, values: Sequence[State]) -> None:
    """Raise for values that are unlikely to be new states: those of intervals, and too many at once."""
    name, way_out = variable.name, "new_states='missing' treats such values as missing."
    if variable.cuts is not None:
        raise DataError(
            f"{name!r} is discretised, and its column must hold numbers or labels of its bins; "
            f"got {listed(values, most=3)}. {way_out}"
        )
    if len(values) > max(_MANY_NEW, variable.n_states):
        raise DataError(
            f"column {name!r} must hold states of {name!r} or a few new ones; got {len(values)} unknown values, such "
            f"as {listed(values[:3])}. If they are numbers, discretise them as those of the network; {way_out}"
        )


# Counting


class BatchCounts(NamedTuple):
    """The counts of every family, those of the countable rows alone, and Σ w ln P(row) of the others (may be −∞)."""

    families: list[Counts]
    countable: list[Counts]
    log_incomplete: float


def count_batch(batch: Batch, tables: Sequence[ConditionalTable], n_jobs: int | None) -> BatchCounts:
    """Return the counts of every family: counted where possible, expected counts for the other rows."""
    table, simple = batch
    if simple.all():
        counted = _counted(table, tables, 1 if table.n_rows < _FEW_ROWS else n_jobs)
        return BatchCounts(counted, counted, 0.0)
    counted = _counted(table.take(simple), tables, n_jobs)
    expected, log_likelihood = _expected(batch.take(~simple), tables, n_jobs)
    return BatchCounts([a.merge(b) for a, b in zip(counted, expected, strict=True)], counted, log_likelihood)


def _counted(table: Table, tables: Sequence[ConditionalTable], n_jobs: int | None) -> list[Counts]:
    families = [(cpt.variable.name, [p.name for p in cpt.parents]) for cpt in tables]
    return Counter(table, n_jobs=n_jobs).families(families)


def _expected(batch: Batch, tables: Sequence[ConditionalTable], n_jobs: int | None) -> tuple[list[Counts], float]:
    """Return the expected counts of incomplete rows, impossible ones left out, and their log-likelihood."""
    flat, weights = _flattened(tables), batch.table.weights
    ways_out = "Pass the rows in pieces, or set batch_rows."
    size = 8.0 * batch.table.n_rows * len(tables) + 16.0 * len(flat.tables)
    check_memory("the rows with missing values", size, ways_out=ways_out)
    codes = batch.matrix()
    found = IncompleteRows(flat, codes, weights, n_jobs=n_jobs).expected_counts(flat.tables)
    log_likelihood = found.log_likelihood
    if log_likelihood == -np.inf:
        possible = _log_rows(tables, codes, n_jobs) > -np.inf
        kept = None if weights is None else weights[possible]
        found = IncompleteRows(flat, codes[:, possible], kept, n_jobs=n_jobs).expected_counts(flat.tables)
    bounds = zip(flat.table_start[:-1], flat.table_start[1:], strict=True)
    counts = [
        Counts(cpt.variable, cpt.parents, found.counts[a:b].reshape(-1, cpt.variable.n_states))
        for cpt, (a, b) in zip(tables, bounds, strict=True)
    ]
    return counts, log_likelihood


def _flattened(tables: Sequence[ConditionalTable]) -> FlatNetwork:
    """Return the dense tables end to end; raise if a sparse one is too large for that."""
    try:
        return flatten(tables)
    except MemoryForecastError as error:
        hint = "Rows with missing values need dense tables: leave these rows out, or impute their missing values first."
        raise MemoryForecastError(f"{str(error).partition(' Sampling')[0]} {hint}") from None


def _log_rows(tables: Sequence[ConditionalTable], codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return ln P(row) for every row."""
    return batches.answer(Engine(tables), codes, [], n_jobs=n_jobs).log_evidence


# Scoring


class Score(NamedTuple):
    """Σ w ln P(row) and Σ w over the possible rows, how many rows were impossible, and how many of them left out."""

    log_likelihood: float = 0.0
    weight: float = 0.0
    n_impossible: int = 0
    n_left_out: int = 0

    def plus(self, other: Score) -> Score:
        """Return the score of both batches."""
        a, b = self, other
        weight = a.weight + b.weight
        n_impossible, n_left_out = a.n_impossible + b.n_impossible, a.n_left_out + b.n_left_out
        return Score(a.log_likelihood + b.log_likelihood, weight, n_impossible, n_left_out)


def score_batch(batch: Batch, tables: Sequence[ConditionalTable], counts: BatchCounts, n_jobs: int | None) -> Score:
    """Return the score of the rows under the tables before the update."""
    weights = batch.table.weights
    pairs = zip(tables, counts.countable, strict=True)
    total = sum(_log_likelihood(cpt, n) for cpt, n in pairs) + counts.log_incomplete
    if total > -np.inf:
        return Score(total, float(batch.table.n_rows if weights is None else weights.sum()))
    log_rows = _log_rows(tables, batch.matrix(), n_jobs)
    possible = log_rows > -np.inf
    w = np.ones(len(log_rows)) if weights is None else weights
    return Score(
        float(w[possible] @ log_rows[possible]),
        float(w[possible].sum()),
        int(np.count_nonzero(~possible)),
        int(np.count_nonzero(~possible & ~batch.countable)),
    )


def _log_likelihood(cpt: ConditionalTable, counts: Counts) -> float:
    if counts.configurations is not None:
        rows = cpt.rows(counts.configurations)
    else:
        rows = cpt.table().reshape(-1, cpt.variable.n_states)
    used = counts.table > 0
    with np.errstate(divide="ignore"):
        return float(counts.table[used] @ np.log(rows[used]))
