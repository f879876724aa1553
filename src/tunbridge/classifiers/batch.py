"""Features as the learners take them: codes for categorical columns, numbers for continuous ones.

An array that scikit-learn would accept is taken as it is: floats are never copied whole, and whole numbers become codes
of one byte each. Everything else (frames, dicts, tables) comes column by column through :mod:`tunbridge.data`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from tunbridge._check import did_you_mean, listed
from tunbridge._threads import map_threads, row_pieces
from tunbridge.counts.moments import block_of
from tunbridge.data import Column, State, Table, Variable
from tunbridge.data.columns import code_type, column_to_arrow, encode_column, infer_column, to_floats
from tunbridge.data.frames import frame_columns
from tunbridge.errors import DataError, UnseenStateWarning

_TABLE_WIDTH = 2**16
_PIECE_ROWS = 1 << 15
_FAST_CELLS = 20_000


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of features.

    Parameters
    ----------
    variables : tuple of Variable
        The features, in the order of the columns.
    codes : mapping of int to ndarray
        The codes of each categorical feature, by its position.
    numbers : ndarray of shape (n_rows, n_continuous), or list of float columns
        The continuous features, in order.
    n_rows : int
        The number of rows.
    """

    variables: tuple[Variable, ...]
    codes: Mapping[int, np.ndarray]
    numbers: np.ndarray | list[np.ndarray]
    n_rows: int

    def number_column(self, which: int) -> np.ndarray:
        """Return one continuous feature, by its position among the continuous ones."""
        column = self.numbers[:, which] if isinstance(self.numbers, np.ndarray) else self.numbers[which]
        return _finite(np.ascontiguousarray(column, np.float64))

    def number_block(self, start: int, stop: int) -> np.ndarray:
        """Return some rows of all continuous features as a features × rows array."""
        return _finite(block_of(self.numbers, start, stop))

    def check_finite(self) -> None:
        """Raise when some number is infinite."""
        for start, stop in row_pieces(self.n_rows, _PIECE_ROWS):
            self.number_block(start, stop)

    def value(self, feature: int, row: int) -> Any:
        """Return the value of one cell; None when it is missing."""
        variable = self.variables[feature]
        if variable.is_categorical:
            code = int(self.codes[feature][row])
            return (variable.states or ())[code] if code >= 0 else None
        which = sum(v.is_continuous for v in self.variables[:feature])
        cell = self.numbers[row, which] if isinstance(self.numbers, np.ndarray) else self.numbers[which][row]
        return None if np.isnan(cell) else float(cell)


def learn_batch(estimator: Any, X: Any, *, categorical: Any, known: Sequence[Variable] | None = None) -> Batch:
    """Return the features of training rows, kinds inferred; with ``known`` variables their kinds are kept.

    Sets ``n_features_in_`` and ``feature_names_in_`` of the estimator, or checks against them when variables are known.
    """
    data = _validated(estimator, X, reset=known is None)
    names = _names(estimator, data)
    kinds = [v.is_categorical for v in known] if known is not None else categorical_mask(categorical, names)
    if isinstance(data, np.ndarray):
        return _batch_of_array(data, names, kinds)
    columns = [_column(data[n], n, k) for n, k in zip(names, kinds, strict=True)]
    variables = tuple(c.variable for c in columns)
    return Batch(
        variables,
        {j: c.values for j, c in enumerate(columns) if c.variable.is_categorical},
        [c.values for c in columns if c.variable.is_continuous],
        len(columns[0].values),
    )


def known_batch(estimator: Any, X: Any, variables: Sequence[Variable]) -> Batch:
    """Return the features of rows to predict; states that the variables do not have are missing, with one warning."""
    data = _validated(estimator, X, reset=False)
    if isinstance(data, np.ndarray) and data.dtype.kind in "iuf":
        batch, unseen = _encode_array(data, variables)
    else:
        columns = data if not isinstance(data, np.ndarray) else {v.name: data[:, j] for j, v in enumerate(variables)}
        batch, unseen = _encode_columns(columns, variables)
    if unseen:
        told = "; ".join(f"{name!r} holds {listed(states, most=5)}" for name, states in unseen.items())
        warnings.warn(
            f"states that were not there at learning count as missing: {told}.", UnseenStateWarning, stacklevel=4
        )
    return batch


def _finite(numbers: np.ndarray) -> np.ndarray:
    if np.isinf(numbers).any():
        raise DataError(
            "features must be finite numbers; Input X contains infinity. Replace it, or leave the cell empty."
        )
    return numbers


def is_frame(X: Any) -> bool:
    """Return whether X has named columns (some sparse matrices call themselves mappings, and have none)."""
    return not issparse(X) and (isinstance(X, (Table, Mapping)) or hasattr(X, "__arrow_c_stream__"))


def categorical_mask(categorical: Any, names: Sequence[str]) -> list[bool | None]:
    """Return for each column whether it is to be categorical; None leaves it to its type.

    ``categorical`` is None, "all", a boolean mask, or a list of names or positions.
    """
    if categorical is None:
        return [None] * len(names)
    if isinstance(categorical, str):
        if categorical != "all":
            raise DataError(f"categorical must be None, 'all' or a list of columns; got {categorical!r}.")
        return [True] * len(names)
    chosen = list(categorical)
    if chosen and all(isinstance(c, (bool, np.bool_)) for c in chosen):
        if len(chosen) != len(names):
            raise DataError(
                f"categorical must say yes or no for each of {len(names)} columns; got {len(chosen)} answers."
            )
        return [True if c else None for c in chosen]
    positions = {_position(c, names) for c in chosen}
    return [True if j in positions else None for j in range(len(names))]


def _position(column: Any, names: Sequence[str]) -> int:
    if column in names:
        return list(names).index(column)
    if isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
        return int(column) % len(names)
    raise DataError(f"categorical must name columns; got {column!r}. {did_you_mean(column, names)}")


def _column(values: Any, name: str, categorical: bool | None) -> Column:
    """Return a column of the kind asked for; a column of a Table keeps the kind it has there."""
    if isinstance(values, Column):
        if categorical is None or categorical == values.variable.is_categorical:
            return values
        values = column_to_arrow(values)
    return infer_column(name, values, _kind(categorical))


def _kind(categorical: bool | None) -> Any:
    return None if categorical is None else "categorical" if categorical else "continuous"


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return columns by name for frames, or a two-dimensional array, checked against what was seen at fit."""
    if is_frame(X):
        if hasattr(X, "iloc") or hasattr(X, "with_columns"):  # pandas, polars: scikit-learn knows their names
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            return _frame(X)
        columns = {c.variable.name: c for c in X} if isinstance(X, Table) else frame_columns(X)
        _check_names(estimator, list(columns), reset=reset)
        return _with_rows(columns)
    array = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    if array.dtype.kind == "c":
        raise DataError("features must be real; Complex data not supported.")
    return array


def _frame(X: Any) -> dict[str, Any]:
    if hasattr(X, "iloc") and not all(isinstance(c, str) for c in X.columns):
        return _with_rows({f"x{j}": X.iloc[:, j].to_numpy() for j in range(X.shape[1])})
    return _with_rows(frame_columns(X))


def _with_rows(columns: dict[str, Any]) -> dict[str, Any]:
    if not columns:
        raise DataError("features must have at least one column; got 0 feature(s) while a minimum of 1 is required.")
    if not _n_rows(columns):
        raise DataError("features must have at least one row; got 0 sample(s) while a minimum of 1 is required.")
    return columns


def _n_rows(columns: Mapping[str, Any]) -> int:
    first = next(iter(columns.values()))
    return len(first.values if isinstance(first, Column) else first)


def _check_names(estimator: Any, names: list[str], *, reset: bool) -> None:
    """Do for tables and dicts what scikit-learn does for the frames it knows."""
    if reset:
        estimator.feature_names_in_ = np.array(names, object)
        estimator.n_features_in_ = len(names)
        return
    expected = [str(n) for n in getattr(estimator, "feature_names_in_", [])]
    absent = [n for n in expected if n not in names]
    if absent:
        raise DataError(f"the data must have the columns {listed(absent)}. {did_you_mean(absent[0], names)}")


def _names(estimator: Any, data: Any) -> list[str]:
    if not isinstance(data, np.ndarray):
        known = getattr(estimator, "feature_names_in_", None)
        return list(data) if known is None else [str(n) for n in known]
    return [str(n) for n in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(data.shape[1])])]


def _batch_of_array(array: np.ndarray, names: list[str], kinds: Sequence[bool | None]) -> Batch:
    if array.dtype.kind == "f":
        categorical = [j for j, k in enumerate(kinds) if k]
        columns = {j: infer_column(names[j], array[:, j], "categorical") for j in categorical}
    elif array.dtype.kind in "iu":
        columns = _integer_columns(array, names, kinds)
    else:
        columns = {j: infer_column(n, array[:, j], _kind(k)) for j, (n, k) in enumerate(zip(names, kinds, strict=True))}
    variables = tuple(columns[j].variable if j in columns else Variable(n) for j, n in enumerate(names))
    codes = {j: c.values for j, c in columns.items() if c.variable.is_categorical}
    return Batch(variables, codes, _numbers(array, variables, columns), len(array))


def _numbers(array: np.ndarray, variables: Sequence[Variable], columns: Mapping[int, Any]) -> Any:
    which = [j for j, v in enumerate(variables) if v.is_continuous]
    if array.dtype.kind in "iuf":
        return array if len(which) == len(variables) else [array[:, j] for j in which]
    return [columns[j].values for j in which]


def _integer_columns(array: np.ndarray, names: list[str], kinds: Sequence[bool | None]) -> dict[int, Any]:
    """Return the columns that are categorical: those asked for, and those with at most two distinct values."""
    asked = [j for j, k in enumerate(kinds) if k]
    if len(asked) == array.shape[1] and array.size > _FAST_CELLS and array.dtype != np.uint64:
        fast = _coded_integers(array, names)
        if fast is not None:
            return fast
    open_ = [j for j, k in enumerate(kinds) if k is None]
    found = {j: infer_column(names[j], array[:, j], "categorical") for j in asked}
    inferred = {j: infer_column(names[j], array[:, j]) for j in open_}
    return found | {j: c for j, c in inferred.items() if c.variable.is_categorical}


def _coded_integers(array: np.ndarray, names: list[str]) -> dict[int, Any] | None:
    """Return all columns of a whole-number matrix coded in three passes; None where a range is too wide for that."""
    import pyarrow as pa

    from tunbridge.kernels.encode import mark_present

    low = array[0].astype(np.int64)
    high = low.copy()
    ranges = map_threads(
        lambda rows: _range_of(array[rows[0] : rows[1]], low, high), row_pieces(len(array), _PIECE_ROWS)
    )
    low, high = np.min([r[0] for r in ranges], axis=0), np.max([r[1] for r in ranges], axis=0)
    width = int((high - low).max()) + 1
    if not 0 < width <= _TABLE_WIDTH:
        return None
    present = np.zeros((len(names), width), bool)
    map_threads(lambda rows: mark_present(array[rows[0] : rows[1]], low, present), row_pieces(len(array), _PIECE_ROWS))
    variables = [Variable(n, (np.flatnonzero(p) + lo).tolist()) for n, p, lo in zip(names, present, low, strict=True)]
    codes, _ = _looked_up(array, variables)
    arrow_type = pa.from_numpy_dtype(array.dtype)
    return {j: Column(v, codes[j], arrow_type) for j, v in enumerate(variables)}


def _range_of(array: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from tunbridge.kernels.encode import fill_ranges

    least, most = low.copy(), high.copy()
    fill_ranges(array, least, most)
    return least, most


def _looked_up(array: np.ndarray, variables: Sequence[Variable]) -> tuple[np.ndarray, list[int]]:
    """Return codes (features × rows) of a whole-number matrix, and the columns in which some value has no state."""
    from tunbridge.kernels.encode import look_up

    low = np.array([min(v.states, default=0) for v in variables], np.int64)  # type: ignore[type-var, arg-type]
    high = np.array([max(v.states, default=-1) for v in variables], np.int64)  # type: ignore[type-var, arg-type]
    table = np.full(
        (len(variables), max(1, int((high - low).max()) + 1)), -1, code_type(max(v.n_states for v in variables))
    )
    for j, v in enumerate(variables):
        table[j, np.array(v.states, np.int64) - low[j]] = np.arange(v.n_states)
    out = np.empty((len(variables), len(array)), table.dtype)
    map_threads(
        lambda rows: look_up(array[rows[0] : rows[1]], low, high, table, out[:, rows[0] : rows[1]]),
        row_pieces(len(array), _PIECE_ROWS),
    )
    return out, np.flatnonzero(out.min(axis=1, initial=0) < 0).tolist()


def _encode_array(array: np.ndarray, variables: Sequence[Variable]) -> tuple[Batch, dict[str, list[State]]]:
    which = [j for j, v in enumerate(variables) if v.is_categorical]
    unseen: dict[str, list[State]] = {}
    if len(which) == len(variables) and array.dtype.kind in "iu" and array.size > _FAST_CELLS and _narrow(variables):
        coded, odd = _looked_up(array, variables)
        codes = dict(enumerate(coded))
        for j in odd:
            unseen[variables[j].name] = encode_column(variables[j], array[:, j])[1]
    else:
        codes = {}
        for j in which:
            codes[j], unknown = encode_column(variables[j], array[:, j])
            if unknown:
                unseen[variables[j].name] = unknown
    return Batch(tuple(variables), codes, _numbers(array, variables, {}), len(array)), unseen


def _narrow(variables: Sequence[Variable]) -> bool:
    """Return whether all states are whole numbers in ranges that a look-up table can span."""
    for v in variables:
        states = v.states or ()
        if not states or not all(type(s) is int for s in states) or max(states) - min(states) >= _TABLE_WIDTH:  # type: ignore[operator, type-var]
            return False
    return True


def _encode_columns(columns: Mapping[str, Any], variables: Sequence[Variable]) -> tuple[Batch, dict[str, list[State]]]:
    codes, numbers, unseen = {}, [], {}
    for j, v in enumerate(variables):
        column = columns[v.name]
        values = column_to_arrow(column) if isinstance(column, Column) else column
        if v.is_continuous:
            numbers.append(to_floats(v.name, values))
            continue
        codes[j], unknown = encode_column(v, values)
        if unknown:
            unseen[v.name] = unknown
    return Batch(tuple(variables), codes, numbers, _n_rows(columns)), unseen
