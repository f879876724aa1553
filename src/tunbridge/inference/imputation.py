"""Tables with their holes filled by a network.

Which cells are filled with what is the business of :mod:`tunbridge.inference.completions`; here frames become codes,
and codes a table that is as the frame was, but for its holes: columns, their order, their types, values that the
network does not know, columns that it does not know, and weights.

A cell that holds a value keeps it. Where that value is no state of the network, it counts as missing for what is
concluded from the row, and stays. So a column of the result has the states that it had, and behind them those of the
network's that it had not.

A column of numbers for which the network has intervals gets numbers: the interval is what the network knows, and the
number is one that the column has in that interval, the middle one, or for draws any of them by chance. Where it has
none, the hole is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tunbridge._check import check_choice, check_whole, counted, did_you_mean, listed, warn_user
from tunbridge._memory import check_memory
from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import code_type, fitting_type, infer_column, state_type
from tunbridge.data.columns import column_to_arrow as to_arrow
from tunbridge.data.intervals import number_of
from tunbridge.errors import DataError, DataWarning, UnknownVariableError, ZeroProbabilityWarning
from tunbridge.inference import batches
from tunbridge.inference.completions import (
    Completed,
    cell_wise_completion,
    drawn_completion,
    most_probable_completion,
)
from tunbridge.inference.engine import Engine
from tunbridge.inference.forward import RandomState, entropy_of
from tunbridge.kernels.completions import HIDDEN

METHODS = ("most-probable", "sample")
_TABLE_BYTES = 2**12  # of a table besides its columns


def impute(
    engine: Engine,
    frame: Any,
    method: str = "most-probable",
    *,
    jointly: bool = True,
    columns: Iterable[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Table:
    """Return a frame as a table whose missing cells are filled; see :meth:`tunbridge.BayesianNetwork.impute`."""
    check_choice("method", method, METHODS)
    if method == "sample":
        if not jointly:
            hint = "Cells drawn one by one would not go together."
            raise DataError(f"jointly must be True for method='sample'; got {jointly!r}. {hint}")
        return imputations(engine, frame, 1, columns=columns, random_state=random_state, n_jobs=n_jobs)[0]
    holes = _holes(engine, frame, columns)
    complete = most_probable_completion if jointly else cell_wise_completion
    completed = complete(engine, holes.codes, n_jobs=n_jobs)
    _warn_impossible(holes, completed)
    return _filled(holes, completed, None)


def imputations(
    engine: Engine,
    frame: Any,
    n: int = 5,
    *,
    columns: Iterable[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[Table, ...]:
    """Return a frame n times, its missing cells drawn; see :meth:`tunbridge.BayesianNetwork.imputations`."""
    check_whole("n", n, low=1)
    entropy, holes = entropy_of(random_state), _holes(engine, frame, columns)
    size = n * (_TABLE_BYTES + sum(c.values.itemsize for c in holes.columns) * float(holes.table.n_rows))
    check_memory(counted(n, "imputation"), size, ways_out="Ask for fewer at a time, each with a seed of its own.")
    tables = []
    for draw in range(n):
        completed = drawn_completion(engine, holes.codes, holes.rows, entropy, draw, n_jobs=n_jobs)
        if draw == 0:
            _warn_impossible(holes, completed)
        tables.append(_filled(holes, completed, np.random.default_rng([entropy, draw])))
    return tuple(tables)


States = np.ndarray | list[np.ndarray]


class _Holes(NamedTuple):
    """A table, the columns to be filled as they will be, their variables' numbers, and the rows that have a hole."""

    table: Table
    columns: list[Column]
    states: list[States]  # of each column: the code of each of the network's states, or the numbers it has there
    variables: list[int]
    rows: np.ndarray
    codes: np.ndarray  # of these rows: −1 where a hole is to be filled, HIDDEN where else nothing is known


def _holes(engine: Engine, frame: Any, names: Iterable[str] | None) -> _Holes:
    """Return what there is to be filled in a frame."""
    table = as_table(frame)
    codes = batches.read_rows(engine, table)
    hidden = codes < 0
    codes[hidden] = HIDDEN
    columns, states, variables, unfitting = [], [], [], []
    for name in _checked_columns(engine, table, names):
        v, variable = engine.index[name], engine.variables[engine.index[name]]
        found = _open_column(table, variable)
        if found is None:
            unfitting.append(variable)
            continue
        column, own = found
        missing = np.isnan(column.values) if column.variable.is_continuous else column.values < 0
        codes[v, missing & hidden[v]] = -1
        columns.append(column)
        states.append(own)
        variables.append(v)
    if unfitting:
        _refuse(table, unfitting, is_named=names is not None)
    rows = np.flatnonzero((codes == -1).any(axis=0))
    return _Holes(table, columns, states, variables, rows, np.ascontiguousarray(codes[:, rows]))


def _checked_columns(engine: Engine, table: Table, names: Iterable[str] | None) -> list[str]:
    """Return the columns with holes to be filled: those that are named, or all that are variables of the network."""
    if names is None:
        return [name for name in table.names if name in engine.index and name in table.missing]
    if isinstance(names, str):
        raise DataError(f"columns must be a list of names; got the text {names!r}. Write [{names!r}].")
    if not isinstance(names, Iterable):
        raise DataError(f"columns must be a list of names; got {names!r}.")
    chosen = list(names)
    for name in chosen:
        if not isinstance(name, str) or name not in engine.index:
            hint = did_you_mean(name, engine.index)
            raise UnknownVariableError(f"columns must name variables of the network; got {name!r}. {hint}")
    return [name for name in dict.fromkeys(chosen) if name in table.missing or name not in table.names]


def _open_column(table: Table, variable: Variable) -> tuple[Column, States] | None:
    """Return a column with room for all states of the network's variable, and their codes in it.

    One that the table has not is empty. None comes back where the states are no values of the column's type.
    """
    if variable.name not in table.names:
        values = np.full(table.n_rows, -1, code_type(variable.n_states))
        return Column(variable, values, state_type(variable)), np.arange(variable.n_states)
    column = table.column(variable.name)
    own = column.variable.states
    if variable.cuts is not None and own != () and set(own or ()).isdisjoint(variable.states or ()):
        return column, _by_interval(column, variable.cuts)
    return _with_states(column, variable)


def _by_interval(column: Column, cuts: Sequence[float]) -> list[np.ndarray]:
    """Return the cells of a column of numbers, which may be written as text, in the order of the numbers and cut."""
    if column.variable.is_continuous:
        cells = numbers = column.values
    else:
        cells, read = column.values, [number_of(state) for state in column.variable.states or ()]
        numbers = np.array([*(np.nan if number is None else number for number in read), np.nan])[cells]
    order = np.argsort(numbers, kind="stable")[: int((~np.isnan(numbers)).sum())]  # what is no number comes last
    return np.split(cells[order], np.searchsorted(numbers[order], cuts, side="right"))


def _with_states(column: Column, variable: Variable) -> tuple[Column, np.ndarray] | None:
    """Return a column of its own states and then those of a variable that it lacks, and the codes of the latter's.

    None comes back when the column cannot hold them: its type is another.
    """
    if column.variable.is_continuous:
        column = infer_column(variable.name, to_arrow(column), "categorical")
    own = list(column.variable.states or ())
    place = {code: k for k, state in reversed(list(enumerate(own))) if (code := variable.find(state)) >= 0}
    added = [code for code in range(variable.n_states) if code not in place]
    if not added:
        return column, np.array([place[code] for code in range(variable.n_states)], np.int64)
    new = _as_values([(variable.states or ())[code] for code in added], column.type)
    if new is None:
        return None
    opened = Variable(variable.name, [*own, *new])
    place |= {code: len(own) + i for i, code in enumerate(added)}
    values = column.values.astype(code_type(opened.n_states), copy=False)
    codes = np.array([place[code] for code in range(variable.n_states)], np.int64)
    return Column(opened, values, fitting_type(opened, _unordered(column.type))), codes


def _as_values(states: Sequence[Any], kind: pa.DataType) -> list[Any] | None:
    """Return states as values of a column's type; None when they are none."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(inner) or not states:
        return list(states)
    try:
        return [_converted(state, inner) for state in states]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _converted(state: Any, kind: pa.DataType) -> Any:
    """Return a state as a value of a type; raise when it is none."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return state if isinstance(state, str) else str(state)
    return pa.scalar(state).cast(kind).as_py()


def _unordered(kind: pa.DataType) -> pa.DataType:
    return pa.dictionary(kind.index_type, kind.value_type) if pa.types.is_dictionary(kind) else kind


def _refuse(table: Table, variables: Sequence[Variable], *, is_named: bool) -> None:
    """Warn that columns cannot be filled; where they were named, raise."""
    one = variables[0]
    several = "columns" if len(variables) > 1 else "column"
    rule = f"{several} {listed([v.name for v in variables], most=4)} must hold the network's states to be filled"
    whose = f"{one.name!r} holds" if len(variables) > 1 else "it holds"
    told = f"{whose} {_contents(table.column(one.name))}, and they are {listed(one.states or (), most=3)}"
    hint = "Encode it as the network's data were."
    if is_named:
        raise DataError(f"{rule}; {told}. {hint}")
    warn_user(f"holes are left: {rule}; {told}. {hint}", DataWarning)


def _contents(column: Column) -> str:
    if column.variable.is_categorical:
        return f"values such as {listed(column.variable.states or (), most=3)}"
    return "times" if pa.types.is_temporal(column.type) else "numbers"


def _filled(holes: _Holes, completed: Completed, rng: np.random.Generator | None) -> Table:
    """Return the table with the states of completed rows in its holes; numbers are drawn where there is chance."""
    new = {}
    for column, states, v in zip(holes.columns, holes.states, holes.variables, strict=True):
        filled = (holes.codes[v] == -1) & (completed.codes[v] >= 0)
        values, codes = column.values.copy(), completed.codes[v, filled]
        values[holes.rows[filled]] = states[codes] if isinstance(states, np.ndarray) else _numbers(states, codes, rng)
        new[column.variable.name] = column._replace(values=values)
    kept = [new.get(c.variable.name, c) for c in holes.table]
    added = [c for name, c in new.items() if name not in holes.table.names]
    markers = {name: marks for name, marks in holes.table.read_as_missing.items() if name not in new}
    return Table.of([*kept, *added], weights=holes.table.weights, read_as_missing=markers)


def _numbers(known: list[np.ndarray], codes: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Return a number of each interval: the middle one of those known in it, or one of them by chance; else NaN."""
    sizes = np.array([len(part) for part in known])
    starts = np.cumsum(sizes) - sizes
    n = sizes[codes]
    place = (n - 1) // 2 if rng is None else (rng.random(len(codes)) * n).astype(np.int64)
    together = np.concatenate(known)
    found = np.full(len(codes), np.nan if together.dtype.kind == "f" else -1, together.dtype)
    found[n > 0] = together[(starts[codes] + place)[n > 0]]
    return found


def _warn_impossible(holes: _Holes, completed: Completed) -> None:
    n = int(completed.impossible.sum())
    if n:
        first = int(holes.rows[completed.impossible.argmax()]) + 1
        told = f"{n} of {counted(holes.table.n_rows, 'row')} (first: row {first})"
        warn_user(f"impossible evidence in {told}; the holes there are left.", ZeroProbabilityWarning)
