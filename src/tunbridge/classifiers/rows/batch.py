"""Features as the learners take them: codes for categorical columns, numbers for continuous ones.

An array that scikit-learn would accept is taken as it is: floats are never copied whole, and whole numbers become codes
of one byte each. Everything else (frames, dicts, tables) comes column by column through :mod:`tunbridge.data`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from tunbridge._check import did_you_mean, listed, warn_user
from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.rows.integers import coded_integers, encoded_integers, has_few_values
from tunbridge.classifiers.rows.keys import mixed, seeded, text_key
from tunbridge.counts.moments import block_of
from tunbridge.data import Column, State, Table, Variable, encode
from tunbridge.data.columns import column_to_arrow, encode_column, infer_column
from tunbridge.data.frames import check_column_names, frame_columns
from tunbridge.errors import DataError, UnseenStateWarning

_PIECE_ROWS = 1 << 15


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

    @property
    def row_bytes(self) -> float:
        """About how many bytes it takes to copy a row and count what it holds."""
        return 8.0 * len(self.variables)

    @cached_property
    def numeric(self) -> dict[int, int]:
        """Where each continuous feature, by its position, stands among the continuous ones."""
        return {j: i for i, j in enumerate(j for j, v in enumerate(self.variables) if v.is_continuous)}

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

    def rows(self, start: int, stop: int) -> Batch:
        """Return some of the rows."""
        numbers = (
            self.numbers[start:stop] if isinstance(self.numbers, np.ndarray) else [c[start:stop] for c in self.numbers]
        )
        codes = {j: c[start:stop] for j, c in self.codes.items()}
        return Batch(self.variables, codes, numbers, min(stop, self.n_rows) - start)

    def take(self, which: np.ndarray) -> Batch:
        """Return the rows that a mask or positions name, in their order."""
        numbers = self.numbers[which] if isinstance(self.numbers, np.ndarray) else [c[which] for c in self.numbers]
        codes = {j: c[which] for j, c in self.codes.items()}
        return Batch(self.variables, codes, numbers, int(which.sum()) if which.dtype == np.bool_ else len(which))

    def without(self, features: Collection[int]) -> Batch:
        """Return the same rows with all cells of some features missing."""
        codes = {j: np.full_like(c, -1) if j in features else c for j, c in self.codes.items()}
        hidden = [i for j, i in self.numeric.items() if j in features]
        if not hidden:
            return Batch(self.variables, codes, self.numbers, self.n_rows)
        numbers = self.number_block(0, self.n_rows).copy()
        numbers[hidden] = np.nan
        return Batch(self.variables, codes, list(numbers), self.n_rows)

    def keys(self, seed: int) -> np.ndarray:
        """Return a number for each row that follows from its cells, equal for equal rows, otherwise as if drawn."""
        total = np.zeros(self.n_rows, np.uint64)
        for j, codes in self.codes.items():
            variable = self.variables[j]
            marks = [text_key(f"{variable.name}\0{state}") for state in variable.states or ()]
            total += np.array([*marks, 0], np.uint64)[codes]  # −1, a missing cell, is the last
        for j, which in self.numeric.items():
            numbers = self.number_column(which) + 0.0  # the two zeros are one number
            bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
            total += mixed(bits ^ np.array([text_key(self.variables[j].name)], np.uint64))
        return seeded(total, seed)

    def as_known_to(self, learned: Batch) -> Batch:
        """Return the rows with states missing that no learned row has, as they will be at prediction."""
        codes = {}
        for j, column in self.codes.items():
            seen = np.zeros(self.variables[j].n_states + 1, np.bool_)
            seen[learned.codes[j]] = True
            codes[j] = np.where(seen[column], column, -1).astype(column.dtype)
        return Batch(self.variables, codes, self.numbers, self.n_rows)

    def value(self, feature: int, row: int) -> Any:
        """Return the value of one cell; None when it is missing."""
        variable = self.variables[feature]
        if variable.is_categorical:
            code = int(self.codes[feature][row])
            return (variable.states or ())[code] if code >= 0 else None
        which = self.numeric[feature]
        cell = self.numbers[row, which] if isinstance(self.numbers, np.ndarray) else self.numbers[which][row]
        return None if np.isnan(cell) else float(cell)


def learn_batch(
    estimator: Any, X: Any, *, categorical: Any, known: Sequence[Variable] | None, n_jobs: int | None
) -> Batch:
    """Return the features of training rows, kinds inferred; with ``known`` variables their kinds are kept.

    Sets ``n_features_in_`` and ``feature_names_in_`` of the estimator, or checks against them when variables are known.
    """
    data = _validated(estimator, X, reset=known is None)
    if isinstance(data, np.ndarray):
        names = _array_names(estimator, data)
        kinds = _kinds(categorical, names, known)
        return _batch_of_array(data, names, kinds, n_jobs)
    data = data if known is None else _by_position(estimator, data, known)
    names = list(data) if known is None else [v.name for v in known]
    asked = dict(zip(names, _kinds(categorical, names, known), strict=True))
    columns = map_threads(lambda name: _column(data[name], name, asked[name]), names, n_jobs)
    return Batch(
        tuple(c.variable for c in columns),
        {j: c.values for j, c in enumerate(columns) if c.variable.is_categorical},
        [c.values for c in columns if c.variable.is_continuous],
        len(columns[0].values),
    )


def known_batch(estimator: Any, X: Any, variables: Sequence[Variable], n_jobs: int | None) -> Batch:
    """Return the features of rows to predict; states that the variables do not have are missing, with one warning."""
    data = _validated(estimator, X, reset=False)
    if isinstance(data, np.ndarray):
        batch, unseen = _encode_array(data, variables, n_jobs)
    else:
        table, unseen = encode(_frame_of(_by_position(estimator, data, variables)), variables, n_jobs=n_jobs)
        numbers = [c.values for c in table if c.variable.is_continuous]
        codes = {j: c.values for j, c in enumerate(table) if c.variable.is_categorical}
        batch = Batch(tuple(variables), codes, numbers, table.n_rows)
    if unseen:
        told = "; ".join(f"{name!r} holds {listed(states, most=5)}" for name, states in unseen.items())
        warn_user(f"states that were not there at learning count as missing: {told}.", UnseenStateWarning)
    return batch


def is_frame(X: Any) -> bool:
    """Return whether X has named columns: a frame, table, dict or list of records, but no sparse matrix or Series."""
    if issparse(X) or (hasattr(X, "iloc") and not hasattr(X, "columns")):  # a pandas Series is no frame
        return False
    records = isinstance(X, list) and bool(X) and all(isinstance(row, Mapping) for row in X)
    return (
        records or isinstance(X, (Table, Mapping)) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "collect_schema")
    )


def categorical_mask(categorical: Any, names: Sequence[str]) -> list[bool | None]:
    """Return for each column whether it is to be categorical; None leaves it to its type.

    ``categorical`` is None, "all", a list of names or positions, a mask, or a mapping of columns to True or False.
    """
    if categorical is None:
        return [None] * len(names)
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        if categorical != "all":
            raise DataError(f"categorical must be None, 'all', a list of columns or a mapping; got {categorical!r}.")
        return [True] * len(names)
    place = {name: j for j, name in enumerate(names)}
    if isinstance(categorical, Mapping):
        asked = {_position(c, place): bool(yes) for c, yes in categorical.items()}
        return [asked.get(j) for j in range(len(names))]
    chosen = list(categorical)
    if chosen and all(isinstance(c, (bool, np.bool_)) for c in chosen):
        if len(chosen) != len(names):
            raise DataError(
                f"categorical must say yes or no for each of {len(names)} columns; got {len(chosen)} answers."
            )
        return [True if c else None for c in chosen]
    positions = {_position(c, place) for c in chosen}
    return [True if j in positions else None for j in range(len(names))]


def _kinds(categorical: Any, names: Sequence[str], known: Sequence[Variable] | None) -> list[bool | None]:
    return [v.is_categorical for v in known] if known is not None else categorical_mask(categorical, names)


def _position(column: Any, place: Mapping[str, int]) -> int:
    if isinstance(column, str) and column in place:
        return place[column]
    if isinstance(column, (int, np.integer)) and -len(place) <= column < len(place):
        return int(column) % len(place)
    raise DataError(f"categorical must name columns; got {column!r}. {did_you_mean(column, list(place))}")


def _column(values: Any, name: str, categorical: bool | None) -> Column:
    """Return a column of the kind asked for; a column of a Table keeps the kind it has there."""
    if isinstance(values, Column):
        if categorical is None or categorical == values.variable.is_categorical:
            return values._replace(variable=values.variable.renamed(name))
        values = column_to_arrow(values)
    return infer_column(name, values, _kind(categorical))


def _kind(categorical: bool | None) -> Any:
    return None if categorical is None else "categorical" if categorical else "continuous"


def _validated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return columns by name for frames, or a two-dimensional array, checked against what was seen at fit."""
    if is_frame(X):
        if is_known_frame(X):
            if all(isinstance(c, str) for c in X.columns):
                check_column_names(X.columns)
            X = _expected_columns(estimator, X, reset=reset)
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            return _with_rows(_frame_columns(X))
        columns = {c.variable.name: c for c in X} if isinstance(X, Table) else frame_columns(X)
        check_names(estimator, list(columns), reset=reset)
        return _with_rows(columns)
    if np.ma.isMaskedArray(X):
        mask, numeric = np.ma.getmaskarray(X), X.dtype.kind in "iuf"
        X = X.data.astype(np.float64 if numeric else object)
        X[mask] = np.nan if numeric else None
    X = as_given(X) if isinstance(X, (list, tuple)) else X
    array = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    if array.dtype.kind == "c":
        raise DataError("features must be real numbers; Complex data not supported.")
    return _native(array)


def as_given(values: Any) -> np.ndarray:
    """Return an array of what was given; of cells in lists NumPy alone would make text wherever there is some."""
    array = np.asarray(values)
    if array.dtype.kind != "U" or not isinstance(values, (list, tuple)):
        return array
    cells = np.array(values, object)
    return array if all(isinstance(cell, str) for cell in cells.flat) else cells


def is_known_frame(X: Any) -> bool:
    """Return whether X is a frame whose column names scikit-learn looks at: pandas or polars."""
    makers = {base.__module__.partition(".")[0] for base in type(X).__mro__}
    return hasattr(X, "shape") and hasattr(X, "columns") and not makers.isdisjoint(("pandas", "polars"))


def _expected_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return the frame without columns that were not there at fit, provided that all of those are there."""
    expected = [] if reset else [str(n) for n in getattr(estimator, "feature_names_in_", [])]
    surplus = len(X.columns) > len(expected) and set(expected) <= set(X.columns)
    return X[expected] if expected and surplus else X


def _native(array: np.ndarray) -> np.ndarray:
    """Return numbers in a type that the kernels know: this machine's byte order, floats of 4 or 8 bytes."""
    if array.dtype.kind == "f" and array.dtype not in (np.float32, np.float64):
        return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _frame_columns(X: Any) -> dict[str, Any]:
    if hasattr(X, "iloc") and not all(isinstance(c, str) for c in X.columns):
        return {f"x{j}": X.iloc[:, j] for j in range(X.shape[1])}
    return frame_columns(X)


def _with_rows(columns: dict[str, Any]) -> dict[str, Any]:
    if not columns:
        raise DataError("features must have at least one column; got 0 feature(s) while a minimum of 1 is required.")
    first = next(iter(columns.values()))
    if not len(first.values if isinstance(first, Column) else first):
        raise DataError("features must have at least one row; got 0 sample(s) while a minimum of 1 is required.")
    return columns


def check_names(estimator: Any, names: list[str], *, reset: bool) -> None:
    """Do for tables and dicts what scikit-learn does for the frames it knows."""
    if reset:
        estimator.feature_names_in_ = np.array(names, object)
        estimator.n_features_in_ = len(names)
        return
    absent = [str(n) for n in getattr(estimator, "feature_names_in_", []) if n not in names]
    if absent:
        raise DataError(f"the data must have the columns {listed(absent)}. {did_you_mean(absent[0], names)}")


def _by_position(estimator: Any, columns: dict[str, Any], variables: Sequence[Variable]) -> dict[str, Any]:
    """Return the columns as they are when names were seen at fit, else called like the variables in their order."""
    if not hasattr(estimator, "feature_names_in_"):
        if len(columns) != len(variables):
            raise DataError(f"the data must have {len(variables)} columns, as at fit; got {len(columns)}.")
        columns = dict(zip([v.name for v in variables], columns.values(), strict=True))
    return columns


def _frame_of(columns: dict[str, Any]) -> Any:
    """Return columns as ``encode`` takes them: a Table where they come from one, so that codes stay codes."""
    if not isinstance(next(iter(columns.values())), Column):
        return columns
    return Table.of([_column(c, name, None) for name, c in columns.items()])


def _array_names(estimator: Any, array: np.ndarray) -> list[str]:
    return [str(n) for n in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(array.shape[1])])]


def _batch_of_array(array: np.ndarray, names: list[str], kinds: Sequence[bool | None], n_jobs: int | None) -> Batch:
    if array.dtype.kind == "f":
        columns = {j: infer_column(names[j], array[:, j], "categorical") for j, k in enumerate(kinds) if k}
    elif array.dtype.kind in "iu":
        columns = _integer_columns(array, names, kinds, n_jobs)
    else:
        columns = {j: infer_column(n, array[:, j], _kind(k)) for j, (n, k) in enumerate(zip(names, kinds, strict=True))}
    variables = tuple(columns[j].variable if j in columns else Variable(n) for j, n in enumerate(names))
    codes = {j: c.values for j, c in columns.items() if c.variable.is_categorical}
    if array.dtype.kind in "iuf":
        return Batch(variables, codes, _numbers(array, variables), len(array))
    return Batch(variables, codes, [c.values for c in columns.values() if c.variable.is_continuous], len(array))


def _numbers(array: np.ndarray, variables: Sequence[Variable]) -> np.ndarray | list[np.ndarray]:
    which = [j for j, v in enumerate(variables) if v.is_continuous]
    return array if len(which) == len(variables) else [array[:, j] for j in which]


def _integer_columns(
    array: np.ndarray, names: list[str], kinds: Sequence[bool | None], n_jobs: int | None
) -> dict[int, Column]:
    """Return the columns that are categorical: those asked for, and those left open that have few values."""
    few = has_few_values(array, n_jobs) if None in kinds else []
    chosen = [j for j, k in enumerate(kinds) if k or (k is None and few[j])]
    coded = coded_integers(array, names, n_jobs) if len(chosen) == len(names) else None
    if coded is None:
        return {j: infer_column(names[j], array[:, j], "categorical") for j in chosen}
    arrow_type = pa.from_numpy_dtype(array.dtype)
    return {j: Column(v, codes, arrow_type) for j, (v, codes) in enumerate(zip(*coded, strict=True))}


def _encode_array(
    array: np.ndarray, variables: Sequence[Variable], n_jobs: int | None
) -> tuple[Batch, dict[str, list[State]]]:
    if array.dtype.kind not in "iuf":
        table, unseen = encode({v.name: array[:, j] for j, v in enumerate(variables)}, variables)
        codes = {j: c.values for j, c in enumerate(table) if c.variable.is_categorical}
        return Batch(tuple(variables), codes, [c.values for c in table if c.variable.is_continuous], len(array)), unseen
    which = [j for j, v in enumerate(variables) if v.is_categorical]
    coded = None
    if len(which) == len(variables) and array.dtype.kind in "iu":
        coded = encoded_integers(array, variables, n_jobs)
    found = {j: (coded[j], []) if coded is not None else encode_column(variables[j], array[:, j]) for j in which}
    unseen = {variables[j].name: states for j, (_, states) in found.items() if states}
    if coded is not None:  # whole numbers are never missing, so −1 is a value without a state
        odd = np.flatnonzero(coded.min(axis=1) < 0).tolist()
        unseen = {variables[j].name: encode_column(variables[j], array[:, j])[1] for j in odd}
    return Batch(
        tuple(variables), {j: c for j, (c, _) in found.items()}, _numbers(array, variables), len(array)
    ), unseen


def _finite(numbers: np.ndarray) -> np.ndarray:
    if np.isinf(numbers).any():
        raise DataError(
            "features must be finite numbers; Input X contains infinity. Replace it, or leave the cell empty."
        )
    return numbers
