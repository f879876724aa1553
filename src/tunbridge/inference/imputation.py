"""Imputation: missing values of a table filled in by a network.

Of a row with the states e known, the cells m to be filled, and h that are missing and stay so,

    most probable:  argmax_m P(m | e) = argmax_m Σ_h P(m, h, e)
    cell by cell:   argmax_{m_i} P(m_i | e)  for each cell i
    drawn:          m ~ P(m | e)

The first is the most probable row; the second is right in the most cells on average, though its states may not go
together; the third keeps the spread of the data and the dependence between columns. All are exact. Nearly every row is
completed by elimination within its hidden components (``kernels.inference.rows``); what is too large for that, by a
junction tree for the row alone.

Observed values stay as they are, and so do columns, their order, their types, columns that are not variables, and
weights. A value that is not a state of the network counts as missing for the rest of its row, and stays. So a column of
the result has the states that it had, followed by those of the network that it had not.

A numeric column for which the network has bins gets numbers: of the values that the column has in the bin, the middle
one, or for draws a random one. Where it has none, the value stays missing. A network with continuous variables is
filled cell by cell (:mod:`tunbridge.inference.filling`): numbers get their conditional means, or draws.

References
----------
D. B. Rubin (1987). Multiple Imputation for Nonresponse in Surveys. Wiley, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tunbridge._core.check import check_choice, counted, did_you_mean, listed, warn_user
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import entropy_of
from tunbridge._core.threads import map_rows, row_pieces
from tunbridge.data import Column, Table, Variable, as_table
from tunbridge.data.columns import code_type, column_to_arrow as to_arrow, fitting_type, infer_column, state_type
from tunbridge.data.variable import State, number_of
from tunbridge.errors import DataError, DataWarning, MemoryForecastError, UnknownVariableError, ZeroProbabilityWarning
from tunbridge.inference import batches
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, read_rows
from tunbridge.inference.filling import filled_cells
from tunbridge.inference.queries import most_probable_codes
from tunbridge.inference.sampling.forward import (
    RandomState,
    check_states,
    checked_size,
    conditioned,
    sample,
    sample_codes,
)
from tunbridge.kernels.compiled import announce
from tunbridge.kernels.inference import rows as kernels
from tunbridge.kernels.inference.rows import HIDDEN, distinct_rows

METHODS = ("most-probable", "sample")
_TABLE_BYTES = 2**12  # of a table besides its columns
_PIECE = 2**12
_MOST_ENTRIES = 2**18  # of the tables of a component: 2 MiB for each thread
_ANSWER_BYTES = 2**28  # of the marginals of a piece of rows
_NO_SEEDS = np.empty(0, np.uint64)


def impute(
    engine: Engine,
    frame: object,
    method: str = "most-probable",
    *,
    jointly: bool = True,
    columns: Iterable[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Table:
    """Return a frame as a table whose missing values are filled in; see :meth:`tunbridge.BayesianNetwork.impute`."""
    check_choice("method", method, METHODS)
    if engine.part.numbers:
        rng = np.random.default_rng(entropy_of(random_state)) if method == "sample" else None
        return _filled_mixed(engine, as_table(frame), columns, rng, n_jobs)
    if method == "sample":
        if not jointly:
            hint = "Values drawn one by one would not fit together."
            raise DataError(f"jointly must be True for method='sample'; got {jointly!r}. {hint}")
        return imputations(engine, frame, 1, columns=columns, random_state=random_state, n_jobs=n_jobs)[0]
    missing = _missing(engine, frame, columns)
    complete = _most_probable_completion if jointly else _cell_wise_completion
    completed = complete(engine, missing.codes, n_jobs=n_jobs)
    _warn_impossible(missing, completed)
    return _filled(missing, completed, None)


def imputations(
    engine: Engine,
    frame: object,
    n: int = 5,
    *,
    columns: Iterable[str] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[Table, ...]:
    """Return a frame n times, its missing values drawn; see :meth:`tunbridge.BayesianNetwork.imputations`."""
    n = checked_size(n, low=1)
    if engine.part.numbers:
        seeds, table = np.random.SeedSequence(entropy_of(random_state)).spawn(n), as_table(frame)
        return tuple(_filled_mixed(engine, table, columns, np.random.default_rng(seed), n_jobs) for seed in seeds)
    entropy, missing = entropy_of(random_state), _missing(engine, frame, columns)
    size = n * (_TABLE_BYTES + sum(c.values.itemsize for c in missing.columns) * float(missing.table.n_rows))
    check_memory(counted(n, "imputation"), size, ways_out="Ask for fewer at a time, each with its own seed.")
    tables = []
    for draw in range(n):
        completed = drawn_completion(engine, missing.codes, missing.rows, entropy, draw, n_jobs=n_jobs)
        if draw == 0:
            _warn_impossible(missing, completed)
        tables.append(_filled(missing, completed, np.random.default_rng([entropy, draw])))
    return tuple(tables)


def _filled_mixed(
    engine: Engine,
    table: Table,
    names: Iterable[str] | None,
    rng: np.random.Generator | None,
    n_jobs: int | None,
) -> Table:
    """Return a table with the missing cells of a network with numbers filled in one by one, or drawn together."""
    chosen, is_named = _checked_columns(engine, table, names), names is not None
    new, unfitting = {}, []
    for cells in filled_cells(
        engine, read_rows(engine, table), [engine.index[n] for n in chosen], rng=rng, n_jobs=n_jobs
    ):
        variable = engine.variables[cells.variable]
        found = _open_numbers(table, variable) if variable.is_continuous else _open_column(table, variable)
        if found is None:
            unfitting.append(variable)
            continue
        column, own = found
        filled = cells.values if variable.is_continuous else np.asarray(own)[cells.values]
        values = column.values.copy()
        empty = np.isnan(values[cells.rows]) if column.variable.is_continuous else values[cells.rows] < 0
        values[cells.rows[empty]] = np.round(filled[empty]) if pa.types.is_integer(column.type) else filled[empty]
        new[variable.name] = column._replace(values=values)
    if unfitting:
        _refuse(table, unfitting, is_named=is_named)
    kept = [new.get(c.variable.name, c) for c in table]
    added = [column for name, column in new.items() if name not in table.names]
    return Table.of([*kept, *added], weights=table.weights)


def _open_numbers(table: Table, variable: Variable) -> tuple[Column, None] | None:
    """Return a column of numbers; an empty one where the table has none, None where it holds categories."""
    if variable.name not in table.names:
        return Column(variable, np.full(table.n_rows, np.nan), pa.float64()), None
    column = table.column(variable.name)
    if column.variable.is_continuous:
        return column, None
    try:
        return infer_column(variable.name, to_arrow(column), "continuous"), None
    except DataError:
        return None


States = np.ndarray | list[np.ndarray]


class _Missing(NamedTuple):
    """A table, the columns to be filled as they will be, their variables, and the rows with missing values."""

    table: Table
    columns: list[Column]
    states: list[States]  # of each column: the code of each state of the network, or the values of each bin
    variables: list[int]
    rows: np.ndarray
    codes: np.ndarray  # of these rows: −1 where a value is to be filled in, HIDDEN where it is missing and stays so


def _missing(engine: Engine, frame: object, names: Iterable[str] | None) -> _Missing:
    """Return what has to be filled in a frame."""
    table = as_table(frame)
    codes = read_rows(engine, table).codes
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
    return _Missing(table, columns, states, variables, rows, np.ascontiguousarray(codes[:, rows]))


def _checked_columns(engine: Engine, table: Table, names: Iterable[str] | None) -> list[str]:
    """Return the columns to fill: those that are named, or all that are variables of the network."""
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

    A column that the table does not have is empty, and so is one without values or states, whatever the type of its
    missing values (pandas makes a column of None alone one of numbers). None where the states are not values of the
    column's type.
    """
    column = table.column(variable.name) if variable.name in table.names else None
    if column is None or (_is_empty(column) and _as_values(variable.states or (), column.type) is None):
        values = np.full(table.n_rows, -1, code_type(variable.n_states))
        return Column(variable, values, state_type(variable)), np.arange(variable.n_states)
    own = column.variable.states
    if (
        not _is_empty(column)
        and variable.cuts is not None
        and own != ()
        and set(own or ()).isdisjoint(variable.states or ())
    ):
        return column, _by_interval(column, variable.cuts)
    return _with_states(column, variable)


def _is_empty(column: Column) -> bool:
    """Return whether a column has neither values nor states that a value could have."""
    return bool(np.isnan(column.values).all()) if column.variable.is_continuous else not column.variable.states


def _by_interval(column: Column, cuts: Sequence[float]) -> list[np.ndarray]:
    """Return the cells of a numeric column, which may be written as text, sorted and split into the bins."""
    if column.variable.is_continuous:
        cells = numbers = column.values
    else:
        cells, read = column.values, [number_of(state) for state in column.variable.states or ()]
        numbers = np.array([*(np.nan if number is None else number for number in read), np.nan])[cells]
    order = np.argsort(numbers, kind="stable")[: int((~np.isnan(numbers)).sum())]  # what is not a number comes last
    return np.split(cells[order], np.searchsorted(numbers[order], cuts, side="right"))


def _with_states(column: Column, variable: Variable) -> tuple[Column, np.ndarray] | None:
    """Return a column with its own states and then the missing ones of a variable, and the codes of the variable's.

    None where the type of the column cannot hold them.
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


def _as_values(states: Sequence[State], kind: pa.DataType) -> list[object] | None:
    """Return states as values of a column's type; None where they are not."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(inner) or not states:
        return list(states)
    try:
        return [_converted(state, inner) for state in states]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _converted(state: State, kind: pa.DataType) -> object:
    """Return a state as a value of a type; raise where it is not."""
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return state if isinstance(state, str) else str(state)
    return pa.scalar(state).cast(kind).as_py()


def _unordered(kind: pa.DataType) -> pa.DataType:
    return pa.dictionary(kind.index_type, kind.value_type) if pa.types.is_dictionary(kind) else kind


def _refuse(table: Table, variables: Sequence[Variable], *, is_named: bool) -> None:
    """Warn that columns cannot be filled; raise if they were named."""
    one = variables[0]
    several = "columns" if len(variables) > 1 else "column"
    rule = f"{several} {listed([v.name for v in variables], most=4)} must hold the network's states to be filled"
    whose = f"{one.name!r} holds" if len(variables) > 1 else "it holds"
    shown = f"{whose} {_contents(table.column(one.name))}, and they are {listed(one.states or (), most=3)}"
    hint = "Encode it like the data of the network."
    if is_named:
        raise DataError(f"{rule}; {shown}. {hint}")
    warn_user(f"missing values are not imputed: {rule}; {shown}. {hint}", DataWarning)


def _contents(column: Column) -> str:
    if column.variable.is_categorical:
        return f"values such as {listed(column.variable.states or (), most=3)}"
    return "times" if pa.types.is_temporal(column.type) else "numbers"


def _filled(missing: _Missing, completed: Completed, rng: np.random.Generator | None) -> Table:
    """Return the table with the states of completed rows in its missing cells."""
    new = {}
    for column, states, v in zip(missing.columns, missing.states, missing.variables, strict=True):
        filled = (missing.codes[v] == -1) & (completed.codes[v] >= 0)
        values, codes = column.values.copy(), completed.codes[v, filled]
        values[missing.rows[filled]] = states[codes] if isinstance(states, np.ndarray) else _numbers(states, codes, rng)
        new[column.variable.name] = column._replace(values=values)
    kept = [new.get(c.variable.name, c) for c in missing.table]
    added = [c for name, c in new.items() if name not in missing.table.names]
    markers = {name: marks for name, marks in missing.table.read_as_missing.items() if name not in new}
    return Table.of([*kept, *added], weights=missing.table.weights, read_as_missing=markers)


def _numbers(known: list[np.ndarray], codes: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Return a value of each bin: the middle one of those known in it, or a random one; NaN where there is none."""
    sizes = np.array([len(part) for part in known])
    starts = np.cumsum(sizes) - sizes
    n = sizes[codes]
    place = (n - 1) // 2 if rng is None else (rng.random(len(codes)) * n).astype(np.int64)
    together = np.concatenate(known)
    found = np.full(len(codes), np.nan if together.dtype.kind == "f" else -1, together.dtype)
    found[n > 0] = together[(starts[codes] + place)[n > 0]]
    return found


def _warn_impossible(missing: _Missing, completed: Completed) -> None:
    n = int(completed.impossible.sum())
    if n:
        first = int(missing.rows[completed.impossible.argmax()]) + 1
        shown = f"{n} of {counted(missing.table.n_rows, 'row')} (first: row {first})"
        warn_user(f"impossible evidence in {shown}; missing values there are not imputed.", ZeroProbabilityWarning)


# Rows of codes: −1 where a state is filled in, HIDDEN where it is missing and stays so


@dataclass(frozen=True)
class Completed:
    """Codes with −1 filled in, and which rows are impossible and hence as they were."""

    codes: np.ndarray
    impossible: np.ndarray


def _most_probable_completion(engine: Engine, codes: np.ndarray, *, n_jobs: int | None = None) -> Completed:
    """Return each row with the jointly most probable states in its cells of −1; equal rows are completed once."""
    first = np.empty(codes.shape[1], np.int64)
    distinct_rows(codes, first)
    distinct, where = np.unique(first, return_inverse=True)
    filled = np.ascontiguousarray(codes[:, distinct])
    impossible, left = _complete(engine, filled, np.arange(len(distinct)), _NO_SEEDS, n_jobs)
    for i in left.tolist():  # one at a time: each may need all the memory
        evidence, wanted = _evidence_of(filled[:, i]), np.flatnonzero(filled[:, i] == -1)
        impossible[i] = engine.log_probability(evidence) == -np.inf
        if not impossible[i]:
            filled[wanted, i] = _most_probable_alone(engine, evidence, wanted)
    return Completed(filled[:, where], impossible[where])


def _cell_wise_completion(engine: Engine, codes: np.ndarray, *, n_jobs: int | None = None) -> Completed:
    """Return each row with the most probable state of each cell of −1, whatever the other cells get."""
    filled, impossible = codes.copy(), np.zeros(codes.shape[1], bool)
    asked = np.flatnonzero((codes == -1).any(axis=1)).tolist()
    starts = np.cumsum([0, *engine.n_states[asked]])
    size = max(1, int(_ANSWER_BYTES / (16.0 * (int(starts[-1]) + 1))))
    for begin, end in row_pieces(codes.shape[1], size):
        part = slice(begin, end)
        answers = batches.answer(engine, np.maximum(codes[:, part], -1), asked, n_jobs=n_jobs)
        impossible[part] = np.isneginf(answers.log_evidence)
        for v, low, high in zip(asked, starts, starts[1:], strict=False):
            rows = begin + np.flatnonzero((codes[v, part] == -1) & ~impossible[part])
            filled[v, rows] = answers.marginals[rows - begin, low:high].argmax(axis=1)
    return Completed(filled, impossible)


def drawn_completion(
    engine: Engine, codes: np.ndarray, numbers: np.ndarray, entropy: int, draw: int = 0, *, n_jobs: int | None = None
) -> Completed:
    """Return each row with states in its cells of −1 that are drawn from their exact joint distribution given the rest.

    Parameters
    ----------
    engine : Engine
        The network.
    codes : ndarray of shape (n_variables, n_rows)
        The rows.
    numbers : ndarray of shape (n_rows,)
        The number of each row, which together with the seed determines its draws.
    entropy, draw : int
        The seed, and which of the draws with that seed it is.
    """
    seeds = np.random.SeedSequence(entropy, spawn_key=(draw,)).generate_state(2, np.uint64)
    filled = codes.copy()
    impossible, left = _complete(engine, filled, numbers, seeds, n_jobs)
    for rows in _equal_rows(filled, left):
        evidence = _evidence_of(filled[:, rows[0]])
        impossible[rows] = engine.log_probability(evidence) == -np.inf
        if not impossible[rows[0]]:
            own = np.random.SeedSequence(entropy, spawn_key=(draw, int(numbers[rows[0]])))
            drawn = _drawn_alone(engine, evidence, len(rows), int(own.generate_state(1, np.uint64)[0]), n_jobs)
            for v in np.flatnonzero(filled[:, rows[0]] == -1).tolist():
                filled[v, rows] = drawn[v]
    return Completed(filled, impossible)


def _complete(
    engine: Engine, codes: np.ndarray, numbers: np.ndarray, seeds: np.ndarray, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Complete what elimination can in place; return which rows are impossible, and which are left to be completed.

    Without seeds the most probable states are chosen, else they are drawn.
    """
    n_rows = codes.shape[1]
    if engine.needs_reduction:
        return np.zeros(n_rows, bool), np.arange(n_rows)
    flat = engine.flat
    check_states(flat)
    check_memory("the logarithms of the tables", 8.0 * flat.tables.size, ways_out="Give nodes fewer parents.")
    announce(kernels.complete_rows, "imputation", 4)
    with np.errstate(divide="ignore"):
        network = flat.network._replace(tables=np.log(flat.tables))
    status = np.empty(n_rows, np.int8)

    def run(start: int, stop: int) -> None:
        part = slice(start, stop)
        own = np.full((flat.n_variables, stop - start), HIDDEN, codes.dtype)  # auxiliary variables stay hidden
        own[: engine.n_variables] = codes[:, part]
        kernels.complete_rows(network, own, numbers[part], seeds, _MOST_ENTRIES, status[part])
        codes[:, part] = own[: engine.n_variables]

    map_rows(run, n_rows, n_jobs, most=_PIECE)
    return status == kernels.IMPOSSIBLE, np.flatnonzero(status == kernels.TOO_LARGE)


def _most_probable_alone(engine: Engine, evidence: Evidence, wanted: np.ndarray) -> np.ndarray:
    """Return the most probable states of some variables by a junction tree."""
    try:
        found, _ = most_probable_codes(engine, evidence, wanted.tolist())
    except MemoryForecastError as error:
        reason = str(error).partition(", and the limit")[0]
        hint = "Ways out: jointly=False, method='sample', or fewer columns."
        raise MemoryForecastError(f"a row cannot be completed: {reason}. {hint}") from None
    return np.maximum(np.array(found)[wanted], 0)  # a variable of one state may have been left out of the tree


def _drawn_alone(engine: Engine, evidence: Evidence, n: int, seed: int, n_jobs: int | None) -> dict[int, np.ndarray]:
    """Return n draws of the variables that are not observed, by a junction tree."""
    if not evidence:
        return dict(enumerate(sample(engine, n, random_state=seed, n_jobs=n_jobs).columns))
    variables, flat = conditioned(engine, evidence)
    return dict(zip(variables.tolist(), sample_codes(flat, n, seed, n_jobs), strict=True))


def _evidence_of(row: np.ndarray) -> Evidence:
    return Evidence({v: int(code) for v, code in enumerate(row) if code >= 0}, {})


def _equal_rows(codes: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """Return the rows in groups of equal ones."""
    if not len(rows):
        return []
    first = np.empty(len(rows), np.int64)
    distinct_rows(np.ascontiguousarray(codes[:, rows]), first)
    by_group = np.argsort(first, kind="stable")
    return np.split(rows[by_group], np.flatnonzero(np.diff(first[by_group])) + 1)
