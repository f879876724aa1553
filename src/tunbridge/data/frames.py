"""Frames of any make, in: Arrow streams, dicts of columns, NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._check import check_choice, did_you_mean, listed
from tunbridge.data.columns import KINDS, Column, Kind, column_to_arrow, encode_column, infer_column, to_floats
from tunbridge.data.table import Table
from tunbridge.data.variable import State, Variable
from tunbridge.errors import DataError


def as_table(data: Any, *, kinds: Mapping[str, Kind] | Kind | None = None, weights: Any = None) -> Table:
    """Return a Table of any frame: one that speaks Arrow, a dict of columns, or a NumPy array.

    Parameters
    ----------
    data : Table, pandas, polars, pyarrow or duckdb frame, dict of columns, or ndarray
        The columns of a two-dimensional array are called ``x0``, ``x1``, …; a structured array keeps its names.
    kinds : mapping of str to {"categorical", "continuous"}, or one of the two for all columns
        Overrides the rules by which kinds are inferred (see the page *Tables* in the documentation).
    weights : str or array-like, optional
        The name of the column that holds row weights (it is taken out of the table), or the weights.

    Returns
    -------
    Table

    Notes
    -----
    Values that are null, None, NaN or NaT are missing; text such as ``"NA"`` is a state, because somebody has read these
    data already. (:func:`read_table` reads files, and knows missing markers.)

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.as_table({"age": [31, 45, 62], "smokes": [1, 0, 1]})
    Table: 3 rows × 2 columns, 0 missing cells
      age     continuous   31 … 62
      smokes  categorical  0, 1
    """
    if isinstance(data, Table) and kinds is None:
        return data if weights is None else _weighted(data, weights)
    columns = frame_columns(data)
    wanted = column_kinds(kinds, list(columns))
    table = Table.of([infer_column(name, values, wanted.get(name)) for name, values in columns.items()])
    if isinstance(data, Table) and data.weights is not None and weights is None:
        weights = data.weights
    return _weighted(table, weights)


def encode(data: Any, variables: Sequence[Variable]) -> tuple[Table, dict[str, list[State]]]:
    """Return the frame's columns of known variables as a Table, and for each column the states that are unknown.

    Unknown states are coded as missing; columns that are not among the variables are left out.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> table, unseen = encode({"sky": ["clear", "green"]}, [Variable("sky", ["clear", "cloudy"])])
    >>> table.codes("sky").tolist(), unseen
    ([0, -1], {'sky': ['green']})
    """
    columns = frame_columns(data)
    absent = [v.name for v in variables if v.name not in columns]
    if absent:
        raise DataError(f"the data must have the columns {listed(absent)}. {did_you_mean(absent[0], columns)}")
    parts, unseen = [], {}
    for variable in variables:
        values, unknown = encode_column(variable, columns[variable.name])
        parts.append(Column(variable, values, pa.float64() if variable.is_continuous else _state_type(variable)))
        if unknown:
            unseen[variable.name] = unknown
    return Table.of(parts), unseen


def frame_columns(data: Any) -> dict[str, Any]:
    """Return the columns of any frame by name, as Arrow columns or one-dimensional arrays; raise for bad names."""
    if isinstance(data, Table):
        data = data.to_arrow()
    if isinstance(data, Mapping):
        return _checked_names([(name, _one_dimensional(name, values)) for name, values in data.items()])
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow_columns(data)
    array = np.asanyarray(data)
    if array.dtype.names:
        return _checked_names([(name, array[name]) for name in array.dtype.names])
    if array.ndim != 2:
        raise DataError(
            f"a table must be a frame, a dict of columns or a two-dimensional array; got {_what_it_is(data, array)}."
        )
    return {f"x{j}": array[:, j] for j in range(array.shape[1])}


def column_kinds(kinds: Mapping[str, Kind] | str | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the kind asked for each column; raise for names and kinds that do not exist."""
    if isinstance(kinds, str):
        check_choice("kinds", kinds, KINDS)
        return dict.fromkeys(names, kinds)
    for name, kind in (kinds or {}).items():
        if name not in names:
            raise DataError(f"kinds must name columns; got {name!r}. {did_you_mean(name, names)}")
        check_choice(f"the kind of column {name!r}", kind, KINDS)
    return dict(kinds or {})


def check_column_names(names: Iterable[Any]) -> None:
    """Raise unless every column has a name and no two the same."""
    names = list(names)
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise DataError(f"column names must be text; column {position} is called {name!r}. Rename it.")
        if not name.strip():
            raise DataError(
                f"columns must have names; column {position} of {len(names)} has none. Name it in the header."
            )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"column names must be distinct; got {name!r} more than once. Rename one.")
        seen.add(name)


def _arrow_columns(data: Any) -> dict[str, Any]:
    if type(data).__module__.startswith("pandas"):
        check_column_names(data.columns)
        return {name: data[name].array if _is_mixed(data[name]) else _series(name, data[name]) for name in data.columns}
    table = data if isinstance(data, pa.Table) else pa.table(data)
    return _checked_names(list(zip(table.column_names, table.columns, strict=True)))


def _series(name: str, series: Any) -> Any:
    """Return a pandas column as NumPy where it is plain numbers (no copy), else as Arrow."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
        return series.to_numpy()
    return pa.chunked_array([pa.array(series, from_pandas=True)])


def _is_mixed(series: Any) -> bool:
    return bool(series.dtype == object)


def _checked_names(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    check_column_names(name for name, _ in pairs)
    lengths = {name: len(values) for name, values in pairs}
    if len(set(lengths.values())) > 1:
        raise DataError(f"columns must be equally long; got {lengths}.")
    return dict(pairs)


def _one_dimensional(name: Any, values: Any) -> Any:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError(f"column {name!r} must be a list of values; got {values!r}.")
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"column {name!r} must be one-dimensional; got shape {values.shape}.")
    return values


def _what_it_is(data: Any, array: np.ndarray) -> str:
    return f"{type(data).__name__} of {array.ndim} dimension{'s' if array.ndim != 1 else ''}"


def _weighted(table: Table, weights: Any) -> Table:
    if not isinstance(weights, str):
        return table if weights is None else table.with_weights(weights)
    values = to_floats(weights, column_to_arrow(table.column(weights)))
    return table.drop([weights]).with_weights(values)


def _state_type(variable: Variable) -> pa.DataType:
    return pa.array(list(variable.states or ())).type
