"""How classifiers read tables: arrays, frames, dicts of columns, one row as a mapping; and single columns of text.

An array that scikit-learn accepts is taken as it is: numbers are not copied, and categorical integers become codes of
one byte each. Everything else comes column by column through :mod:`tunbridge.data`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import as_strided

from tunbridge._core.check import did_you_mean, listed
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._classes import as_given
from tunbridge.classifiers._rows import Categorical, Frame, Labels, Learned, SampleWeight, Split
from tunbridge.counts.moments import block_of
from tunbridge.data import Column, Kind, State, Table, Variable, encode
from tunbridge.data.arrow import as_arrow, is_text
from tunbridge.data.columns import code_type, column_to_arrow, encode_column, infer_column
from tunbridge.data.frames import check_column_names, frame_columns
from tunbridge.data.table import warn_number_texts, warn_unseen
from tunbridge.data.variable import is_missing
from tunbridge.decisions import Evidence
from tunbridge.errors import DataError

if TYPE_CHECKING:
    import pandas

_PIECE_ROWS = 1 << 15
_FAST_CELLS = 20_000
_MOST_EXACT = 2**53
_LOOKED_AT = 20  # values of a column of which the type is not known


@dataclass(frozen=True)
class TableReader:
    """The reader of tables: frames, dicts of columns, arrays, and one row as a mapping of feature to value."""

    n_jobs: int | None

    def split(self, X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None) -> Split:
        """Return features, classes, weights and the name of the target."""
        return split_target(X, y, sample_weight, known)

    def learned(self, estimator: Any, X: Frame, before: Learned | None) -> Table:
        """Return rows to learn from; the kinds of columns stay those of the first rows."""
        known = None if before is None else before.variables
        return learn_table(estimator, X, categorical=estimator.categorical_columns(), known=known, n_jobs=self.n_jobs)

    def known(self, estimator: Any, X: Frame) -> Table:
        """Return rows to predict."""
        if is_one_row(X):
            X = _completed(estimator, X)
        if estimator.target_name_ is not None:
            X = split_target(X, None, None, estimator.target_name_, required=False)[0]
        return known_table(estimator, X, estimator.variables_, self.n_jobs)

    def is_one(self, X: object) -> bool:
        """Return whether X gives features their values rather than their columns."""
        return is_one_row(X)


def learn_table(
    estimator: Any,
    X: Frame,
    *,
    categorical: Categorical,
    known: Sequence[Variable] | None,
    n_jobs: int | None,
) -> Table:
    """Return the features of training rows, kinds inferred; with ``known`` variables their kinds are kept.

    Sets ``n_features_in_`` and ``feature_names_in_`` of the estimator, or checks against them when variables are known.
    """
    if isinstance(X, Table) and known is None:
        return _of_kinds(estimator, X, categorical)
    data = validated(estimator, X, reset=known is None)
    if isinstance(data, np.ndarray):
        names = [str(n) for n in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(data.shape[1])])]
        return _learned(_array_columns(data, names, _kinds(categorical, names, known), n_jobs), categorical, known)
    data = data if known is None else _by_position(estimator, data, known)
    names = list(data) if known is None else [v.name for v in known]
    asked = dict(zip(names, _kinds(categorical, names, known), strict=True))
    columns = map_threads(lambda name: _column(data[name], name, asked[name]), names, n_jobs)
    return _learned(columns, categorical, known)


def _learned(columns: list[Column], categorical: Categorical, known: Sequence[Variable] | None) -> Table:
    """Return columns as a table, with a warning about texts that are numbers, unless their kinds were given."""
    if known is None:
        asked = categorical_mask(categorical, [c.variable.name for c in columns])
        left = [c for c, kind in zip(columns, asked, strict=True) if kind is None]
        warn_number_texts(left, "categorical={}", False)
    return Table.of_valid(columns)


def known_table(estimator: Any, X: Frame, variables: Sequence[Variable], n_jobs: int | None) -> Table:
    """Return the features of rows to predict; unseen categories are missing, with one warning."""
    data = validated(estimator, X, reset=False)
    if isinstance(data, np.ndarray):
        table, unseen = _encode_array(data, variables, n_jobs)
    else:
        table, unseen = encode(_frame_of(_by_position(estimator, data, variables)), variables, n_jobs=n_jobs)
    warn_unseen(unseen)
    return table


def with_unseen(found: list[Any], X: Frame, rows: Table) -> list[Any]:
    """Return explanations in which unseen categories of the rows, which count as missing, are named as such."""
    lost = {v.name: codes < 0 for v, codes, _ in rows if v.is_categorical and (codes < 0).any()}
    columns: Mapping[str, Any] = {}
    with suppress(DataError):  # values without names
        columns = frame_columns(X.select([n for n in lost if n in X]) if isinstance(X, Table) else X) if lost else {}
    unseen = {}
    for name, where in lost.items():
        values = as_arrow(name, columns[name]).to_pylist() if name in columns else []
        for i in np.flatnonzero(where[: len(values)]).tolist():
            if not is_missing(values[i]):
                unseen[i, name] = f"{values[i]} (unseen)"
    for i in {i for i, _ in unseen}:
        evidence = [
            Evidence(e.feature, unseen.get((i, e.feature), e.value), e.weight, e.given) for e in found[i].evidence
        ]
        found[i] = replace(found[i], evidence=tuple(evidence))
    return found


# The values of a table


def numbers_of(table: Table, feature: int, rows: slice = slice(None)) -> np.ndarray:
    """Return a continuous feature as contiguous floats; raise where one is infinite."""
    return _finite(np.ascontiguousarray(table.columns[feature][rows], np.float64))


def number_block(columns: np.ndarray | Sequence[np.ndarray], start: int, stop: int) -> np.ndarray:
    """Return some rows of continuous columns as a columns × rows array; raise where a number is infinite."""
    return _finite(block_of(columns, start, stop))


def number_columns(table: Table, features: Sequence[int]) -> np.ndarray | list[np.ndarray]:
    """Return continuous features as one rows × columns array, where that is how they lie in memory, else as a list."""
    columns = [table.columns[j] for j in features]
    if len(columns) < 2 or any((c.dtype, c.strides) != (columns[0].dtype, columns[0].strides) for c in columns):
        return columns
    (stride,), size = columns[0].strides, columns[0].itemsize
    places = np.array([c.__array_interface__["data"][0] for c in columns])
    if stride < size * len(columns) or (np.diff(places) != size).any():
        return columns
    return as_strided(columns[0], (table.n_rows, len(columns)), (stride, size), writeable=False)


def value_of(table: Table, feature: int, row: int) -> Any:
    """Return one value; None when it is missing."""
    variable, found = table.variables[feature], table.columns[feature][row]
    if variable.is_categorical:
        return (variable.states or ())[int(found)] if found >= 0 else None
    return None if np.isnan(found) else float(found)


def seen_values(table: Table) -> np.ndarray:
    """Return which values are not missing, (n_features, n_rows)."""
    return np.array([c.values >= 0 if c.variable.is_categorical else ~np.isnan(c.values) for c in table], np.bool_)


def _finite(numbers: np.ndarray) -> np.ndarray:
    if np.isinf(numbers).any():
        raise DataError(
            "features must be finite numbers; Input X contains infinity. Replace it, or make the value missing.",
            parameter="X",
        )
    return numbers


# Which column is what


def split_target(
    X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None, *, required: bool = True
) -> Split:
    """Return (features, classes, weights, target's name) where y may be the name of a column of X.

    Weights are those given, else the weights of a Table. Classes of a Table are a column, with its codes. At prediction
    (``required=False``) a column that has the target's name is taken out when there is one.
    """
    if isinstance(X, Table) and X.weights is not None and sample_weight is None:
        sample_weight = X.weights
    name = y if isinstance(y, str) else None if y is not None else known
    if name is None:
        if y is None and required:
            raise DataError(
                "the estimator requires y to be passed, but the target y is None. Give the classes, or the name of the "
                "column that holds them.",
                parameter="y",
            )
        return X, y, sample_weight, known
    if not is_frame(X):
        if isinstance(X, str | PathLike):
            hint = f"Read it first: tb.read_table({str(X)!r})."
            raise DataError(f"X must be a frame or an array; got the name of a file, {str(X)!r}. {hint}", parameter="X")
        if required:
            rule = "y must be an array of classes unless X is a frame with named columns"
            is_pair = isinstance(X, tuple) and X and isinstance(X[0], Table)
            hint = " X is the pair that discretise returns; pass its first element." if is_pair else ""
            raise DataError(f"{rule}; got y={name!r}.{hint}", parameter="y")
        return X, y, sample_weight, name
    if not (isinstance(X, (Table, Mapping)) or is_known_frame(X)):
        X = frame_columns(X)  # once: it may be a stream
    names = X.names if isinstance(X, Table) else list(X) if isinstance(X, Mapping) else list(X.columns)
    if name not in names:
        if not required:
            return X, y, sample_weight, name
        hint = did_you_mean(name, names)
        raise DataError(f"the target must be a column of the data; got {name!r}. {hint}", parameter="y")
    if isinstance(X, Table):
        return X.select([n for n in names if n != name]), X.column(name), sample_weight, name
    return _without(X, name), _labels(X[name], name) if required else None, sample_weight, name


def _labels(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths
        raise DataError(f"the target must have one label in each row; column {name!r} holds lists.") from None


def _without(X: pandas.DataFrame, name: str) -> Frame:
    if hasattr(X, "iloc"):
        return X.drop(columns=name)
    if hasattr(X, "with_columns"):
        return X.drop(name)
    return {k: v for k, v in X.items() if k != name}


def categorical_mask(categorical: Categorical, names: Sequence[str]) -> list[bool | None]:
    """Return for each column whether it is to be categorical; None leaves it to its type.

    ``categorical`` is None, "all", a list of names or positions, a mask, or a mapping of columns to True or False.
    """
    if categorical is None:
        return [None] * len(names)
    what = "categorical"
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        if categorical != "all":
            rule = f"{what} must be None, 'all', a list of columns or a mapping"
            raise DataError(f"{rule}; got {categorical!r}.", parameter=what)
        return [True] * len(names)
    place = {name: j for j, name in enumerate(names)}
    if isinstance(categorical, Mapping):
        asked = {_position(c, place): bool(yes) for c, yes in categorical.items()}
        return [asked.get(j) for j in range(len(names))]
    chosen = list(categorical)
    if chosen and all(isinstance(c, (bool, np.bool_)) for c in chosen):
        if len(chosen) != len(names):
            rule = f"{what} must say yes or no for each of {len(names)} columns"
            raise DataError(f"{rule}; got {len(chosen)} answers.", parameter=what)
        return [True if c else None for c in chosen]
    positions = {_position(c, place) for c in chosen}
    return [True if j in positions else None for j in range(len(names))]


def check_columns(what: str, given: Iterable[str], names: Sequence[str], rule: str) -> None:
    """Raise when something is given for a column that does not exist."""
    known = set(names)
    for name in given:
        if name not in known:
            raise DataError(f"{what} must name {rule}; got {name!r}. {did_you_mean(name, names)}", parameter=what)


def is_frame(X: object) -> bool:
    """Return whether X has named columns: a frame, table, dict or list of records, but no sparse matrix or Series."""
    if _is_sparse(X) or (hasattr(X, "iloc") and not hasattr(X, "columns")):  # a pandas Series is no frame
        return False
    records = isinstance(X, list) and bool(X) and all(isinstance(row, Mapping) for row in X)
    return (
        records or isinstance(X, (Table, Mapping)) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "collect_schema")
    )


def _is_sparse(X: object) -> bool:
    """Return whether X is a sparse matrix, which it can be only after SciPy's module of them was imported."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_known_frame(X: object) -> TypeGuard[pandas.DataFrame]:
    """Return whether X is a frame whose column names scikit-learn looks at: pandas or polars."""
    makers = {base.__module__.partition(".")[0] for base in type(X).__mro__}
    return hasattr(X, "shape") and hasattr(X, "columns") and not makers.isdisjoint(("pandas", "polars"))


def is_one_row(X: object) -> TypeGuard[Mapping[str, Any]]:
    """Return whether X gives features their values rather than their columns: a mapping, or a row of a pandas frame."""
    if hasattr(X, "iloc") and hasattr(X, "index") and not hasattr(X, "columns"):
        return all(isinstance(name, str) for name in X.index)
    if not (isinstance(X, Mapping) and is_frame(X)):
        return False
    return len(X) > 0 and all(isinstance(v, (str, bytes)) or not hasattr(v, "__len__") for v in X.values())


def table_tags(tags: Any) -> Any:
    """Return scikit-learn's tags of an estimator that takes tables: text, categories and missing values."""
    tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
    return tags


def check_names(estimator: Any, names: list[str], *, reset: bool) -> None:
    """Do for tables and dicts what scikit-learn does for the frames it knows."""
    if reset:
        estimator.feature_names_in_ = np.array(names, object)
        estimator.n_features_in_ = len(names)
        return
    known = set(names)
    absent = [str(n) for n in getattr(estimator, "feature_names_in_", []) if n not in known]
    if absent:
        hint = did_you_mean(absent[0], names)
        raise DataError(f"the data must have the columns {listed(absent)}. {hint}", parameter="X")


def _kinds(categorical: Categorical, names: Sequence[str], known: Sequence[Variable] | None) -> list[bool | None]:
    return [v.is_categorical for v in known] if known is not None else categorical_mask(categorical, names)


def _position(column: object, place: Mapping[str, int]) -> int:
    if isinstance(column, str) and column in place:
        return place[column]
    if isinstance(column, (int, np.integer)) and -len(place) <= column < len(place):
        return int(column) % len(place)
    hint = did_you_mean(column, list(place))
    raise DataError(f"categorical must name columns; got {column!r}. {hint}", parameter="categorical")


def _completed(estimator: Any, row: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return one row as columns; features that it does not name are missing."""
    given, names = dict(row.items()), [v.name for v in estimator.variables_]
    names += getattr(estimator, "text_columns_", ())
    check_columns("a row", [n for n in given if n != estimator.target_name_], names, "features")
    return {name: [given.get(name)] for name in names}


# Frames


def _of_kinds(estimator: Any, table: Table, categorical: Categorical) -> Table:
    """Return a table with the kinds of columns that are asked for: itself, where it has them."""
    names = list(table.names)
    _with_rows(dict(zip(names, table.columns, strict=True)))
    check_names(estimator, names, reset=True)
    asked = categorical_mask(categorical, names)
    if all(k is None or k == v.is_categorical for k, v in zip(asked, table.variables, strict=True)):
        return table
    return Table.of_valid([_column(c, c.variable.name, k) for c, k in zip(table, asked, strict=True)])


def validated(estimator: Any, X: Frame, *, reset: bool) -> Any:
    """Return columns by name for frames, or a two-dimensional array, checked against what was seen at fit."""
    if is_frame(X):
        if is_known_frame(X):
            if any(isinstance(c, str) for c in X.columns):
                check_column_names(X.columns)
            X = _expected_columns(estimator, X, reset=reset)
            columns = _with_rows(_frame_columns(X))
            _check_features(estimator, X, reset=reset, skip_check_array=True)
            return columns
        columns = {c.variable.name: c for c in X} if isinstance(X, Table) else frame_columns(X)
        check_names(estimator, list(columns), reset=reset)
        return _with_rows(columns)
    if _is_sparse(X):
        raise DataError("X must be a frame or an array; got a sparse matrix. Call .toarray() first.", parameter="X")
    if isinstance(X, np.ma.MaskedArray):
        mask, numeric = np.ma.getmaskarray(X), X.dtype.kind in "iuf"
        X = X.data.astype(np.float64 if numeric else object)
        X[mask] = np.nan if numeric else None
    matrix = _matrix(X)
    if matrix.dtype.kind == "c":
        raise DataError("features must be real numbers; Complex data not supported.", parameter="X")
    return _native(_check_features(estimator, matrix, reset=reset, dtype=None, ensure_all_finite=False))


def _matrix(X: Any) -> Any:
    """Return what has rows and columns, as an array; raise for everything else."""
    try:
        array = as_given(X) if isinstance(X, (list, tuple)) else X if hasattr(X, "dtype") else np.asarray(X)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.empty((), object)
    n_dimensions = len(getattr(array, "shape", ()))
    if n_dimensions == 0:
        frame_columns(X)  # raises, and says what it is
    if n_dimensions != 2:
        is_text = n_dimensions == 1 and array.size and isinstance(array[0], str)
        hint = "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        hint = f"For raw texts use tb.TextClassifier. {hint}" if is_text else hint
        raise DataError(f"X must have rows and columns; got an array of shape {array.shape}. {hint}", parameter="X")
    _check_size(*array.shape)
    return array


def _check_features(estimator: Any, X: Any, *, reset: bool, **settings: Any) -> Any:
    """Let scikit-learn note, or compare, the number and the names of the features; its errors come as ours."""
    from sklearn.utils.validation import validate_data

    try:
        return validate_data(estimator, X, reset=reset, **settings)
    except (TypeError, ValueError) as error:
        if reset:
            raise DataError(f"X must be a frame or an array of plain values; scikit-learn says: {error}.") from None
        raise DataError(f"{_mismatch(estimator, X)} ({error})", parameter="X") from None


def _mismatch(estimator: Any, X: Any) -> str:
    """Return how the columns of X differ from those at fit."""
    expected = [str(n) for n in getattr(estimator, "feature_names_in_", [])]
    given = [c for c in getattr(X, "columns", ()) if isinstance(c, str)]
    absent = [name for name in expected if name not in set(given)]
    if given and absent:
        hint = did_you_mean(absent[0], given)
        if hasattr(X, "reindex") and not hint.startswith("Did"):
            hint = "X.reindex(columns=classifier.feature_names_in_) adds them as missing values."
        return f"the data must have the columns {listed(absent)}. {hint}"
    if given and expected:
        return f"columns must be in the order of the training data, {listed(expected)}; got {listed(given)}."
    names = f", {listed(expected)}" if expected else ""
    return f"X must have the {estimator.n_features_in_} columns of the training data{names}; got {X.shape[1]}."


def _expected_columns(estimator: Any, X: pandas.DataFrame, *, reset: bool) -> pandas.DataFrame:
    """Return the frame without columns that are no features; every feature must be present."""
    expected = [] if reset else [str(n) for n in getattr(estimator, "feature_names_in_", [])]
    surplus = len(X.columns) > len(expected) and set(expected) <= set(X.columns)
    return X[expected] if expected and surplus else X


def _native(array: np.ndarray) -> np.ndarray:
    """Return numbers in a type that the kernels know: this machine's byte order, floats of 4 or 8 bytes."""
    if array.dtype.kind == "f" and array.dtype not in (np.float32, np.float64):
        return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _frame_columns(X: pandas.DataFrame) -> dict[str, Any]:
    if hasattr(X, "iloc") and not all(isinstance(c, str) for c in X.columns):
        return {f"x{j}": X.iloc[:, j] for j in range(X.shape[1])}
    return frame_columns(X)


def _with_rows(columns: dict[str, Any]) -> dict[str, Any]:
    first = next(iter(columns.values()), ())
    _check_size(len(first.values if isinstance(first, Column) else first), len(columns))
    return columns


def _check_size(n_rows: int, n_columns: int) -> None:
    """Raise without a row or a column, also in scikit-learn's words, which its checks look for."""
    shape = f"(shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
    if not n_columns:
        raise DataError(f"X must have at least one column; got 0 feature(s) {shape}", parameter="X")
    if not n_rows:
        raise DataError(f"X must have at least one row; got 0 sample(s) {shape}", parameter="X")


def _by_position(estimator: Any, columns: dict[str, Any], variables: Sequence[Variable]) -> dict[str, Any]:
    """Return the columns as they are when names were seen at fit, else named like the variables in their order."""
    if not hasattr(estimator, "feature_names_in_"):
        if len(columns) != len(variables):
            raise DataError(f"the data must have {len(variables)} columns, as at fit; got {len(columns)}.")
        columns = dict(zip([v.name for v in variables], columns.values(), strict=True))
    return columns


def _frame_of(columns: dict[str, Any]) -> Any:
    """Return columns as ``encode`` takes them: a Table where they come from one, so that codes stay codes."""
    if not isinstance(next(iter(columns.values())), Column):
        return columns
    return Table.of_valid([_column(c, name, None) for name, c in columns.items()])


def _column(values: Any, name: str, categorical: bool | None) -> Column:
    """Return a column of the kind asked for; a column of a Table keeps the kind it has there."""
    if isinstance(values, Column):
        if categorical is None or categorical == values.variable.is_categorical:
            return values._replace(variable=values.variable.renamed(name))
        values = column_to_arrow(values)
    return infer_column(name, values, _kind(categorical))


def _kind(categorical: bool | None) -> Kind | None:
    return None if categorical is None else "categorical" if categorical else "continuous"


# Arrays


def _array_columns(
    array: np.ndarray, names: list[str], kinds: Sequence[bool | None], n_jobs: int | None
) -> list[Column]:
    """Return the columns of an array; numbers are views of it."""
    numeric = array.dtype.kind in "iuf"
    columns: Mapping[int, Column]
    if array.dtype.kind == "f":
        columns = {j: infer_column(names[j], array[:, j], "categorical") for j, k in enumerate(kinds) if k}
    elif numeric:
        columns = _integer_columns(array, names, kinds, n_jobs)
    else:
        columns = {j: infer_column(n, array[:, j], _kind(k)) for j, (n, k) in enumerate(zip(names, kinds, strict=True))}
    plain = pa.from_numpy_dtype(array.dtype) if numeric else pa.null()
    return [columns[j] if j in columns else Column(Variable(n), array[:, j], plain) for j, n in enumerate(names)]


def _integer_columns(
    array: np.ndarray, names: list[str], kinds: Sequence[bool | None], n_jobs: int | None
) -> dict[int, Column]:
    """Return the columns that are categorical: those asked for, and those left open that have at most two values."""
    few = _has_few_values(array, n_jobs) if None in kinds else []
    chosen = [j for j, k in enumerate(kinds) if k or (k is None and few[j])]
    coded = _coded_integers(array, names, n_jobs) if len(chosen) == len(names) else None
    if coded is None:
        return {j: infer_column(names[j], array[:, j], "categorical") for j in chosen}
    arrow_type = pa.from_numpy_dtype(array.dtype)
    return {j: Column(v, codes, arrow_type) for j, (v, codes) in enumerate(zip(*coded, strict=True))}


def _encode_array(
    array: np.ndarray, variables: Sequence[Variable], n_jobs: int | None
) -> tuple[Table, dict[str, list[State]]]:
    if array.dtype.kind not in "iuf":
        return encode({v.name: array[:, j] for j, v in enumerate(variables)}, variables)
    which = [j for j, v in enumerate(variables) if v.is_categorical]
    coded = None
    if len(which) == len(variables) and array.dtype.kind in "iu":
        coded = _encoded_integers(array, variables, n_jobs)
    found = {j: (coded[j], []) if coded is not None else encode_column(variables[j], array[:, j]) for j in which}
    unseen = {variables[j].name: states for j, (_, states) in found.items() if states}
    if coded is not None:  # integers are never missing, so −1 is a value without a state
        odd = np.flatnonzero(coded.min(axis=1) < 0).tolist()
        unseen = {variables[j].name: encode_column(variables[j], array[:, j])[1] for j in odd}
    plain = pa.from_numpy_dtype(array.dtype)
    columns = [Column(v, found[j][0] if j in found else array[:, j], plain) for j, v in enumerate(variables)]
    return Table.of_valid(columns), unseen


# Arrays of integers: codes of all columns in three passes, by a table of the ranges of all columns. Hashes and other
# wide numbers, whose table would be larger than the data, go column by column through tunbridge.data.


def _has_few_values(array: np.ndarray, n_jobs: int | None) -> list[bool]:
    """Return for each column whether it is categorical by itself: at most two values, or beyond exact doubles."""
    low, high = _ranges(array, n_jobs)
    return [
        _beyond_doubles(lo, hi) or hi - lo <= 1 or bool(np.all((column == lo) | (column == hi)))
        for lo, hi, column in zip(low, high, array.T, strict=True)
    ]


def _coded_integers(
    array: np.ndarray, names: Sequence[str], n_jobs: int | None
) -> tuple[list[Variable], np.ndarray] | None:
    """Return the variables and codes (columns × rows) of an array of integers; None where that would not pay."""
    if array.size <= _FAST_CELLS:
        return None
    low, high = _ranges(array, n_jobs)
    first = _places(low, high, array.size)
    if first is None:
        return None
    from tunbridge.kernels.counting.histograms import mark_present

    least, present = np.array(low, np.int64), np.zeros(first[-1], bool)
    map_threads(
        lambda rows: mark_present(array[rows[0] : rows[1]], least, first, present),
        row_pieces(len(array), _PIECE_ROWS),
        n_jobs,
    )
    variables = [
        Variable(name, (np.flatnonzero(present[first[j] : first[j + 1]]) + low[j]).tolist())
        for j, name in enumerate(names)
    ]
    return variables, _looked_up(array, variables, first, n_jobs)


def _encoded_integers(array: np.ndarray, variables: Sequence[Variable], n_jobs: int | None) -> np.ndarray | None:
    """Return codes of known variables (columns × rows; −1: no such state), or None where that would not pay."""
    states: list[Any] = [v.states or () for v in variables]
    if array.size <= _FAST_CELLS or not all(s and all(type(x) is int for x in s) for s in states):
        return None
    first = _places([min(s) for s in states], [max(s) for s in states], array.size)
    return None if first is None else _looked_up(array, variables, first, n_jobs)


def _places(low: Sequence[int], high: Sequence[int], most: int) -> np.ndarray | None:
    """Return where each column's range begins in a table of all ranges; None when the table would be too large."""
    widths = [hi - lo + 1 for lo, hi in zip(low, high, strict=True)]
    if sum(widths) > most or any(_beyond_doubles(lo, hi) for lo, hi in zip(low, high, strict=True)):
        return None
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.intp)


def _beyond_doubles(low: int, high: int) -> bool:
    return low < -_MOST_EXACT or high > _MOST_EXACT


def _looked_up(array: np.ndarray, variables: Sequence[Variable], first: np.ndarray, n_jobs: int | None) -> np.ndarray:
    from tunbridge.kernels.counting.histograms import look_up

    table = np.full(first[-1], -1, code_type(max(v.n_states for v in variables)))
    states: list[Any] = [v.states for v in variables]
    low = np.array([min(s) for s in states], np.int64)
    for j, s in enumerate(states):
        table[first[j] + np.array(s, np.int64) - low[j]] = np.arange(len(s))
    out = np.empty((len(variables), len(array)), table.dtype)
    map_threads(
        lambda rows: look_up(array[rows[0] : rows[1]], low, first, table, out[:, rows[0] : rows[1]]),
        row_pieces(len(array), _PIECE_ROWS),
        n_jobs,
    )
    return out


def _ranges(array: np.ndarray, n_jobs: int | None) -> tuple[list[int], list[int]]:
    """Return the least and the greatest value of each column, as Python numbers, whose differences cannot overflow."""
    if array.size <= _FAST_CELLS:
        return array.min(axis=0).tolist(), array.max(axis=0).tolist()
    from tunbridge.kernels.counting.histograms import fill_ranges

    def one(rows: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        low, high = array[rows[0]].copy(), array[rows[0]].copy()
        fill_ranges(array[rows[0] : rows[1]], low, high)
        return low, high

    found = map_threads(one, row_pieces(len(array), _PIECE_ROWS), n_jobs)
    return np.min([low for low, _ in found], axis=0).tolist(), np.max([high for _, high in found], axis=0).tolist()


# One column of text or lists, alone or in a frame beside the classes


def has_columns(X: object) -> bool:
    """Return whether X is a frame, not one column of it (an array, a Series, a list of values).

    Examples
    --------
    >>> has_columns({"text": ["a"]}), has_columns(["a"]), has_columns(pa.array(["a"]))
    (True, False, False)
    """
    if isinstance(X, (pa.Array, pa.ChunkedArray, np.ndarray)) or type(X).__name__ == "Series":
        return False
    return is_frame(X)


def is_list(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of lists (views of lists are none: Arrow casts them wrongly)."""
    t = pa.types
    return t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)


def split_column(X: Frame, y: Labels, sample_weight: SampleWeight, known: str | None, what: str) -> Split:
    """Return (X without the classes, classes, weights, target's name), where y may be the name of a column of X."""
    if has_columns(X):
        return split_target(X, y, sample_weight, known)
    if y is None or isinstance(y, str):
        got = "None" if y is None else repr(y)
        rule = f"y must be the classes, one for each of the {what}, unless X is a frame"
        raise DataError(f"{rule}; got {got}.", parameter="y")
    return X, y, sample_weight, known


def chosen_column(
    X: Frame, column: str | None, target: str | None, what: str, *, before: str | None = None, lists: bool = False
) -> tuple[Any, str | None]:
    """Return the column of X that is read, and its name; X itself where it is one column.

    Without a name it is the one that was read ``before``, where there is one of that name; else the only column beside
    the target, or the only one of text (with ``lists``, of text or lists).
    """
    if not has_columns(X):
        return X, None
    found = dict(X) if isinstance(X, Mapping) else frame_columns(X)
    columns = {name: values for name, values in found.items() if name == column or name != target}
    if column is not None:
        if column not in columns:
            hint = did_you_mean(column, columns)
            raise DataError(f"column must name a column of the data; got {column!r}. {hint}", parameter="column")
        return columns[column], column
    if before in columns:
        return columns[before], before
    names = list(columns) if len(columns) == 1 else [name for name in columns if _is_text(columns[name], lists)]
    if len(names) != 1:
        kinds = "text or lists" if lists else "text"
        told = f"{listed(names)} hold {kinds}" if names else f"none of {listed(columns)} holds {kinds}"
        rule = f"column must say which column holds the {what}"
        raise DataError(f"{rule}; got None, and {told}. Name one of them.", parameter="column")
    return columns[names[0]], names[0]


def _is_text(values: object, lists: bool) -> bool:
    """Return whether a column holds texts, or lists where these count too, as far as its first values tell."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
        return is_text(kind) or (lists and is_list(kind))
    if not hasattr(values, "__getitem__"):
        return False
    first = next((v for v in list(values[:_LOOKED_AT]) if not is_missing(v)), None)
    return isinstance(first, str) or (lists and isinstance(first, list | tuple | np.ndarray))
