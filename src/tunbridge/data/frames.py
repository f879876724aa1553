"""Any frame as a Table: Arrow streams, pandas, dicts of columns, lists of rows or records, NumPy arrays.

Each becomes named columns first, which :mod:`tunbridge.data.columns` then reads. The data are never changed and, where
they are 64-bit floats already, not copied either: leave such an array alone as long as the table is in use.

:func:`with_indicators` adds columns that say whether another column is missing. Where a value is missing because of
what it is, or because of something that is not in the table, no method can infer it from the other columns; an
indicator makes the missingness itself an observation, which may depend on anything in a graph.

:func:`with_classes` checks the target of a classifier: text, booleans, or integers with few distinct values. A column
of other numbers is a quantity and raises an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from tunbridge._core.check import as_list, check_choice, check_known, did_you_mean, listed, repeated, shortened
from tunbridge._core.memory import check_memory
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.data.arrow import Frame, Values, is_pandas
from tunbridge.data.columns import (
    KINDS,
    Column,
    Kind,
    column_to_arrow,
    distinct_values,
    infer_column,
    is_float_array,
    to_floats,
)
from tunbridge.data.table import Table, check_lengths, encode_values, natural_type, warn_number_texts
from tunbridge.data.variable import State, Variable
from tunbridge.errors import DataError

_FRAMES = "a frame, a dict of columns, a list of rows or records, or a two-dimensional array"
_PIECE = 2**16


def as_table(
    data: Frame, *, kinds: Mapping[str, Kind] | Kind | None = None, weights: str | ArrayLike | None = None
) -> Table:
    """Return a Table of any frame: an Arrow stream, a dict of columns, a list of rows, or a NumPy array.

    Parameters
    ----------
    data : Table, pandas, polars, pyarrow or duckdb frame, dict of columns, list of rows or records, or ndarray
        The columns of a two-dimensional array and of a list of rows are called ``x0``, ``x1``, …; a structured array
        keeps its names. Records are dicts; what one of them lacks is missing. The index of a pandas frame is left out.
    kinds : mapping of str to {"categorical", "continuous"}, or one of the two for all columns
        Overrides the rules by which kinds are inferred (see the page *Tables* in the documentation).
    weights : str or array-like, optional
        The name of the column that holds row weights (it is taken out of the table), or the weights.

    Returns
    -------
    Table

    Notes
    -----
    Values that are null, None, NaN, NaT or masked are missing; text such as ``"NA"`` is a state, because it was
    read these data already. (:func:`read_table` reads files, and knows missing markers.)

    The data stay as they are. Columns of 64-bit floats are not copied, so leave such an array alone while the table is
    in use.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.as_table({"age": [31, 45, 62], "smokes": [1, 0, 1]})
    Table: 3 rows × 2 columns, 0 missing values
      age     continuous   31 … 62
      smokes  categorical  0, 1
    """
    table = unchecked_table(data, kinds=kinds, weights=weights)
    if not isinstance(data, Table):
        warn_of_texts(table, asked=table.names if isinstance(kinds, str) else kinds or ())
    return table


def warn_of_texts(table: Table, asked: Collection[str] = ()) -> None:
    """Warn of columns of texts that are numbers or dates, unless their kinds were asked for."""
    free = [column for column in table if column.variable.name not in asked]
    warn_number_texts(free, "tb.as_table(data, kinds={})", "continuous")


def unchecked_table(
    data: Frame, *, kinds: Mapping[str, Kind] | Kind | None = None, weights: str | ArrayLike | None = None
) -> Table:
    """Return what :func:`as_table` does, without its warnings."""
    if isinstance(data, Table) and kinds is None:
        return _weighted(data, weights)
    if isinstance(data, Table):
        wanted = column_kinds(kinds, data.names)
        return _weighted(data.with_columns([_of_kind(c, wanted.get(c.variable.name)) for c in data]), weights)
    columns = frame_columns(data)
    n_cells = float(sum(len(values) for values in columns.values() if not is_float_array(values)))
    if n_cells > _PIECE:
        check_memory("the table", 4.0 * n_cells, ways_out="Take fewer rows or columns.")
    wanted = column_kinds(kinds, list(columns))
    return _weighted(Table.of(_inferred(data, columns, wanted)), weights)


def encode(
    data: Frame, variables: Sequence[Variable], *, n_jobs: int | None = None
) -> tuple[Table, dict[str, list[State]]]:
    """Return the frame's columns of known variables as a Table, and for each column the states that are unknown.

    A value is in the state that it equals, or else that reads like it: 1, 1.0 and ``"1"`` are one state. Unknown
    states, each reported once and in sorted order, are coded as missing; columns that are not among the variables are
    left out.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> table, unseen = encode({"sky": ["clear", "green"]}, [Variable("sky", ["clear", "cloudy"])])
    >>> table.codes("sky").tolist(), unseen
    ([0, -1], {'sky': ['green']})
    """
    columns: dict[str, Any] = {c.variable.name: c for c in data} if isinstance(data, Table) else frame_columns(data)
    absent = [v.name for v in variables if v.name not in columns]
    if absent:
        raise DataError(f"the data must have the columns {listed(absent)}. {did_you_mean(absent[0], columns)}")
    checked = _is_finite_matrix(data)
    found = map_threads(lambda v: encode_values(v, columns[v.name], checked=checked), variables, n_jobs)
    parts = [Column(v, values, natural_type(v)) for v, (values, _) in zip(variables, found, strict=True)]
    unseen = {v.name: unknown for v, (_, unknown) in zip(variables, found, strict=True) if unknown}
    return Table.of(parts, weights=data.weights if isinstance(data, Table) else None), unseen


def frame_columns(data: Frame) -> dict[str, Any]:
    """Return the columns of any frame by name, as Arrow columns or one-dimensional values; raise for bad names."""
    if isinstance(data, Table):
        return {c.variable.name: column_to_arrow(c) for c in data}
    if isinstance(data, Mapping):
        if data and all(map(_is_scalar, data.values())):
            data = {name: [value] for name, value in data.items()}  # one row
        return _checked_names([(name, _one_dimensional(name, values)) for name, values in data.items()])
    if is_pandas(data, "DataFrame"):
        check_column_names(data.columns)
        return dict(data.items())
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _arrow_columns(data)
    if isinstance(data, list | tuple) and data and all(isinstance(row, list | tuple | Mapping) for row in data):
        return _row_columns(data)
    return _array_columns(data)


def column_kinds(kinds: Mapping[str, Kind] | str | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the kind asked for each column; raise for names and kinds that do not exist."""
    if isinstance(kinds, str):
        check_choice("kinds", kinds, KINDS)
        return dict.fromkeys(names, kinds)
    if kinds is not None and not isinstance(kinds, Mapping):
        raise DataError(f"kinds must be a kind, or a dict from column to kind; got {shortened(repr(kinds))}.")
    check_known("kinds must name columns", kinds or (), dict.fromkeys(names))
    for name, kind in (kinds or {}).items():
        check_choice(f"the kind of column {name!r}", kind, KINDS)
    return dict(kinds or {})


def check_column_names(names: Iterable[Any]) -> None:
    """Raise unless every column has a name and no two the same."""
    names = list(names)
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            hint = "Rename the columns, for example by [str(name) for name in names]."
            raise DataError(f"column names must be text; column {position} is called {name!r}. {hint}")
        if not name.strip():
            raise DataError(
                f"columns must have names; column {position} of {len(names)} has none. Name it in the header."
            )
    if len(set(names)) < len(names):
        raise DataError(f"column names must be distinct; got {repeated(names)[0]!r} more than once. Rename one.")


# Columns of frames


def _arrow_columns(data: Frame) -> dict[str, Any]:
    try:
        table = data if isinstance(data, pa.Table) else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as reason:
        if getattr(data, "ndim", 1) == 1 and not hasattr(data, "columns"):
            raise _no_table(data, "Give the column a name: {'x': values}.") from None
        raise DataError(f"a table must be {_FRAMES} that pyarrow can read; it says: {reason}.") from reason
    return _checked_names(list(zip(table.column_names, table.columns, strict=True)))


def _row_columns(data: Sequence[Any]) -> dict[str, Any]:
    """Return the columns of a list of rows, or of records, in which what is not there is missing."""
    if all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        return _checked_names([(name, [row.get(name) for row in data]) for name in names])
    shapes = [None if isinstance(row, Mapping) else len(row) for row in data]
    odd = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), None)
    if odd is not None:
        rows = f"row 1 is {shortened(repr(data[0]))}, row {odd + 1} is {shortened(repr(data[odd]))}"
        raise DataError(f"rows must be equally long lists, or all dicts; {rows}.")
    return {f"x{j}": list(values) for j, values in enumerate(zip(*data, strict=True))}


def _array_columns(data: Frame) -> dict[str, Any]:
    if isinstance(data, tuple) and data and isinstance(data[0], Table):
        raise DataError(f"a table must be {_FRAMES}; got the pair that discretise returns; pass its first element.")
    if hasattr(type(data), "columns"):  # a frame, which as an array would lose its names
        raise _no_table(data, _hint(data, 2) or "Turn it into a pyarrow.Table first.")
    array = data if np.ma.isMA(data) else _as_array(data)
    if array.dtype.names and array.ndim == 1:
        return _checked_names([(name, _one_dimensional(name, array[name])) for name in array.dtype.names])
    if array.ndim != 2:
        raise _no_table(data, _hint(data, array.ndim))
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def _as_array(data: Frame) -> np.ndarray:
    try:
        return np.asarray(data)
    except (TypeError, ValueError):  # rows of different lengths
        return np.empty((), object)


def _no_table(data: Frame, hint: str) -> DataError:
    what = f"an array of shape {data.shape}" if isinstance(data, np.ndarray) else type(data).__name__
    what = "None" if data is None else what
    return DataError(f"a table must be {_FRAMES}; got {what}. {hint}".rstrip())


def _hint(data: Frame, n_dimensions: int) -> str:
    """Return what to do about data that are no table."""
    if isinstance(data, str | os.PathLike):
        return f"Read a file first: tb.read_table({str(data)!r})."
    if hasattr(data, "collect"):
        return "Call .collect() first."
    if hasattr(data, "toarray"):
        return "Call .toarray() first."
    return "Give the column a name: {'x': values}." if n_dimensions == 1 else ""


def _checked_names(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    check_column_names(name for name, _ in pairs)
    check_lengths(pairs)
    return dict(pairs)


def _one_dimensional(name: object, values: Values) -> Values:
    if len(shape := getattr(values, "shape", (0,))) != 1:
        raise DataError(f"column {name!r} must be one-dimensional; got shape {shape}.")
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not hasattr(values, "__len__"):
        hint = f"A single row is written {{{name!r}: [{shortened(repr(values))}]}}." if _is_scalar(values) else ""
        raise DataError(f"column {name!r} must be a list of values; got {shortened(repr(values))}. {hint}".rstrip())
    return values


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | bytes) or not isinstance(value, Iterable)


# Columns of tables


def _inferred(data: Frame, columns: Mapping[str, Any], kinds: Mapping[str, Kind]) -> list[Column]:
    if "categorical" not in kinds.values() and _is_finite_matrix(data):
        return [Column(Variable(name), values, pa.float64()) for name, values in columns.items()]
    large = any(len(values) > _PIECE for values in columns.values())
    return map_threads(lambda c: infer_column(*c, kinds.get(c[0])), columns.items(), None if large else 1)


def _is_finite_matrix(data: Frame) -> bool:
    """Return whether data are a matrix of doubles, row after row in memory, without infinities.

    To look through it by rows is many times faster than column by column.
    """
    if not isinstance(data, np.ndarray) or np.ma.isMA(data) or data.ndim != 2 or not data.flags.c_contiguous:
        return False
    return data.dtype == np.float64 and not any(np.isinf(data[a:b]).any() for a, b in row_pieces(len(data), _PIECE))


def _of_kind(column: Column, kind: Kind | None) -> Column:
    if kind is None or column.variable.is_categorical == (kind == "categorical"):
        return column
    return infer_column(column.variable.name, column_to_arrow(column), kind)


def _weighted(table: Table, weights: str | ArrayLike | None) -> Table:
    if not isinstance(weights, str):
        return table if weights is None else table.with_weights(weights)
    check_known("weights must name a column", [weights], table.positions)
    try:
        values = to_floats(weights, column_to_arrow(table.column(weights)))
    except DataError:
        held = listed((table.variable(weights).states or ())[:3])
        raise DataError(
            f"weights must name a column of numbers; column {weights!r} holds {held}. Name another column, or leave "
            "the weights out.",
            parameter="weights",
        ) from None
    return table.drop([weights]).with_weights(values)


_STATES = ("no", "yes")
_SUFFIX = " missing"


def with_indicators(frame: Frame, columns: Iterable[str] | None = None) -> Table:
    """Return the table with a column ``"X missing"``, of the states no and yes, for each column X with missing values.

    Parameters
    ----------
    frame : any frame
        The data.
    columns : iterable of str, optional
        The columns that get an indicator (default: those with missing values).

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.with_indicators({"income": [1200.0, None, 2500.0], "owner": ["no", "yes", "yes"]})
    Table: 3 rows × 3 columns, 1 missing value
      income          continuous   1200 … 2500  1 missing
      owner           categorical  no, yes
      income missing  categorical  no, yes
    """
    table = as_table(frame)
    if columns is not None and not isinstance(columns, Iterable):
        raise DataError(f"columns must be a list of names; got {columns!r}.")
    chosen = list(table.missing) if columns is None else list(dict.fromkeys(as_list("columns", columns)))
    added = [_indicator(table.column(name)) for name in chosen]
    there = [c.variable.name for c in added if c.variable.name in table.names]
    if there:
        raise DataError(f"the table must not have the columns that are added; it has {listed(there)}. Rename them.")
    return table.with_columns([*table, *added])


def holes_of(column: Column) -> np.ndarray:
    """Return which cells of a column are missing.

    Examples
    --------
    >>> holes_of(as_table({"x": ["a", None]}).column("x")).tolist()
    [False, True]
    """
    return column.values < 0 if column.variable.is_categorical else np.isnan(column.values)


def _indicator(column: Column) -> Column:
    variable = Variable(column.variable.name + _SUFFIX, _STATES)
    return Column(variable, holes_of(column).astype(np.int8), pa.string())


_MOST_NUMBERS = 20  # a target of more different integers is taken for a quantity
_HINT_FOR_DATES = "Choose another column, or make a column of classes from it, such as the year."
_HINT = (
    "For classes discretize it: tb.discretise(table, columns=[{}], n_bins=3)[0], or make each value a class: "
    "tb.as_table(table, kinds={{}: 'categorical'}). A network predicts numbers: "
    "tb.learn_network(table).predict(rows, {})."
)


def with_classes(table: Table, target: str, *, hint: str = _HINT) -> tuple[Table, np.ndarray]:
    """Return the table with a categorical target, and which rows have a class.

    Raises unless there are features and at least two classes. The hint says what to do about a target that is a
    quantity; {} stands for its name.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.as_table({"x": ["a", "b", "a"], "y": [1, 3, None]})
    >>> coded, present = with_classes(table, "y")
    >>> coded.variable("y").states, present.tolist()
    ((1, 3), [True, True, False])
    """
    if table.n_columns < 2:
        raise DataError(f"there must be a column to learn from beside the target {target!r}; got none.")
    coded = table.with_column(_as_classes(table.column(target), hint))
    present = coded.codes(target) >= 0
    if not present.any():
        raise DataError(f"the target must have classes; every cell of column {target!r} is missing.")
    _check_classes(coded.select([target]).take(present), target)
    return coded, present


def _as_classes(column: Column, hint: str) -> Column:
    """Return the target as a categorical column; raise when it is a quantity."""
    name = column.variable.name
    if column.variable.is_categorical:
        return column
    values = column_to_arrow(column)
    distinct = distinct_values(name, values)[0]
    if not all(_is_whole(value) for value in distinct):
        is_number = isinstance(distinct[0], int | float)
        what = "numbers that are not integers" if is_number else "dates or times"
        raise _quantity(name, what, distinct, hint if is_number else _HINT_FOR_DATES)
    if len(distinct) > _MOST_NUMBERS:
        raise _quantity(name, "many different numbers", distinct, hint)
    return infer_column(name, values, "categorical")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _quantity(name: str, what: str, distinct: list[Any], hint: str) -> DataError:
    held = f"{len(distinct)} different ones, {distinct[0]} to {distinct[-1]}"
    return DataError(
        f"the target must have classes; column {name!r} holds {what} ({held}). {hint.replace('{}', repr(name))}"
    )


def _check_classes(table: Table, target: str) -> None:
    found = np.unique(table.codes(target))
    states = table.variable(target).states or ()
    if len(found) < 2:
        value = shortened(str(states[int(found[0])]))
        raise DataError(f"the target must have at least two classes; every cell of column {target!r} is {value!r}.")
    if target in table.identifiers:
        raise DataError(
            f"the target must have classes that come more than once; column {target!r} has another value in each of "
            f"{table.n_rows} rows. Choose another column."
        )
