"""Sequences of observations: the rows of a table, cut into sequences.

Sequences come as people have them: one array, a list of arrays or texts, a ragged Arrow column, or a frame with a
column that names the sequence and one that gives the time. Rows of a frame are sorted by time within each sequence, and
answers are given in the order of its rows.

Times that do not follow each other regularly leave gaps: a step behind a gap of g time units is g transitions after the
one before it. The unit is the median distance if all distances are about multiples of it (so months and their missing
ones are regular), otherwise the greatest common divisor of integer distances.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._core.check import as_list, check_number, did_you_mean, listed, shortened, warn_user
from tunbridge.data import Kind, Table, Variable, as_table, encode
from tunbridge.data.arrow import is_pandas
from tunbridge.data.frames import frame_columns
from tunbridge.data.table import warn_unseen
from tunbridge.errors import DataError, DataWarning

_SAMPLE = 4096  # rows that are looked at to see whether rows repeat
_ABOUT = 0.15  # of the median distance of times, by which a distance may differ from a multiple of it
_LONGEST = 1e9  # time units of a gap
_FAR = 24  # time units between steps from which a warning is given
_FORMS = "an array, a text, a list of arrays or texts (one a sequence), or a frame"


@dataclass(frozen=True, eq=False)
class Panel:
    """Sequences of observations, one after the other.

    Attributes
    ----------
    table : Table
        One row for each step; the columns are what is observed.
    offsets : ndarray of int64
        The rows of sequence s are ``offsets[s]:offsets[s + 1]``.
    keys : tuple
        The names of the sequences.
    gaps : ndarray of int64, optional
        The number of time units since the step before; None if it is always one.
    time_unit : float, optional
        The unit of the times.
    order : ndarray of int64, optional
        For each step its row in the frame, if rows were sorted.
    form : {"one", "list", "frame"}
        How the sequences were given, and so how answers are returned.
    """

    table: Table
    offsets: np.ndarray
    keys: tuple[Any, ...]
    gaps: np.ndarray | None = None
    time_unit: float | None = None
    order: np.ndarray | None = None
    form: str = "frame"

    @property
    def n_sequences(self) -> int:
        """The number of sequences."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of steps of each sequence."""
        return np.diff(self.offsets)

    def values(self, lags: int = 0) -> np.ndarray:
        """Return the observations as numbers, one row a step: codes of states, NaN where missing.

        With ``lags`` the rows before follow as further columns, NaN before the first step.
        """
        parts = []
        for column in self.table:
            numbers = np.asarray(column.values, np.float64)
            parts.append(np.where(numbers < 0, np.nan, numbers) if column.variable.is_categorical else numbers)
        x = np.column_stack(parts) if parts else np.empty((self.table.n_rows, 0))
        if not lags:
            return x
        times = np.arange(len(x)) if self.gaps is None else np.cumsum(self.gaps)
        place = np.arange(len(x)) - np.repeat(self.offsets[:-1], self.lengths)
        back = []
        for lag in range(1, lags + 1):
            is_there = (place >= lag) & (times - np.roll(times, lag) == lag)
            back.append(np.where(is_there[:, None], np.roll(x, lag, axis=0), np.nan))
        return np.hstack([x, *back])

    def returned(self, values: np.ndarray) -> Any:
        """Return numbers of steps in the form of the data: one array, a list of them, or in the order of the frame."""
        if self.form == "list":
            return np.split(values, self.offsets[1:-1]) if self.n_sequences else []
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[self.order] = values
        return found

    def aligned(self, what: str, values: Any) -> np.ndarray:
        """Return one value for each step, given as an array in the order of the rows or as a list by sequence."""
        if self.form == "list" and not isinstance(values, np.ndarray):
            given = list(values) if isinstance(values, Iterable) else []
            parts = [np.array(list(p) if isinstance(p, Iterable) else [p], object) for p in given]
            lengths = [len(part) for part in parts]
            if lengths != self.lengths.tolist():
                raise DataError(
                    f"{what} must be as long as the sequences, {listed(self.lengths.tolist())}; got {listed(lengths)}."
                )
            return np.concatenate(parts) if parts else np.empty(0, object)
        if self.form == "one" and isinstance(values, str):
            values = list(values)
        if not isinstance(values, Iterable) or isinstance(values, str) or len(list(values)) != self.table.n_rows:
            raise DataError(_wrong_length(what, values, self.table.n_rows), parameter=what)
        flat = np.asarray(values, object)
        return flat if self.order is None else flat[self.order]

    def take(self, sequences: np.ndarray) -> Panel:
        """Return some of the sequences, also several times."""
        rows = [np.arange(*self.offsets[s : s + 2]) for s in sequences.tolist()]
        flat = np.concatenate(rows) if rows else np.empty(0, np.int64)
        return replace(
            self,
            table=self.table.take(flat),
            offsets=np.append(0, np.cumsum([len(r) for r in rows])).astype(np.int64),
            keys=tuple(self.keys[s] for s in sequences.tolist()),
            gaps=None if self.gaps is None else self.gaps[flat],
            order=None,
            form="list",
        )


def _wrong_length(what: str, values: Any, n: int) -> str:
    """Return the message for values that are not one for each step."""
    found = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else None
    got = repr(values) if found is None else str(len(found))
    hint = ""
    if found and all(isinstance(v, int | np.integer) for v in found) and sum(found) == n:
        hint = " These look like lengths: give a list of sequences, np.split(X, np.cumsum(lengths)[:-1])."
    return f"{what} must have a value for each of the {n} steps; got {got}.{hint}"


@dataclass(frozen=True)
class Layout:
    """Which columns of a frame are what.

    Parameters
    ----------
    sequence, time : str, optional
        The columns that name the sequence and give the time.
    columns : list of str, optional
        The observed columns; default: all others.
    time_unit : float, optional
        The unit of the times; default: found from the data.
    """

    sequence: str | None = None
    time: str | None = None
    columns: Sequence[str] | str | None = None
    time_unit: float | str | None = None


def read_panel(
    x: Any,
    layout: Layout = Layout(),
    *,
    kinds: Kind | Mapping[str, Kind] | None = None,
    variables: Sequence[Variable] | None = None,
    ignored: Iterable[str] = (),
) -> Panel:
    """Return sequences in any form as a Panel.

    Parameters
    ----------
    x : array, text, list of arrays or texts, ragged Arrow column, frame, Table or Panel
        The sequences.
    layout : Layout
        Which columns of a frame are what.
    kinds : as for :func:`as_table`
        The kinds of the columns.
    variables : sequence of Variable, optional
        The variables learned before; unseen categories are missing, with one warning.
    ignored : iterable of str
        Columns of a frame that are not observations, such as labels.

    Examples
    --------
    >>> panel = read_panel(["aab", "ba"])
    >>> panel.lengths.tolist(), panel.values()[:, 0].tolist()
    ([3, 2], [0.0, 0.0, 1.0, 1.0, 0.0])
    >>> visits = {"id": ["u", "u", "v"], "day": [1, 2, 1], "mood": ["good", "bad", "good"]}
    >>> read_panel(visits, Layout("id", "day")).values()[:, 0].tolist()
    [1.0, 0.0, 1.0]
    """
    if isinstance(x, Panel):
        return x
    if isinstance(x, str):
        return _of_parts([list(x)], "one", kinds, variables)
    if isinstance(x, np.ndarray) and x.dtype.names is None:
        if x.ndim == 3:
            return _of_parts(list(x), "list", kinds, variables)
        if x.ndim not in (1, 2):
            raise DataError(
                f"an array must have one, two or three axes; got {x.ndim}. One sequence is steps × columns."
            )
        return _of_parts([x], "one", kinds, variables)
    if (ragged := _ragged(x)) is not None:
        return _of_parts(ragged, "list", kinds, variables)
    if is_pandas(x, "Series") or (hasattr(x, "to_numpy") and getattr(x, "ndim", 0) == 1):
        return _of_parts([np.asarray(x.to_numpy())], "one", kinds, variables, name=getattr(x, "name", None))
    if isinstance(x, (list, tuple)) and not (x and all(isinstance(row, Mapping) for row in x)):
        is_flat = bool(x) and all(map(_is_scalar, x)) and not all(isinstance(value, str) for value in x)
        if variables is None and x and all(isinstance(value, str) for value in x):
            _warn_of_words(x)
        parts = [np.array(x, object)] if is_flat else [list(p) if isinstance(p, str) else p for p in x]
        return _of_parts(parts, "one" if is_flat else "list", kinds, variables)
    return _of_frame(x, layout, kinds, variables, set(ignored))


def is_single(x: object) -> bool:
    """Return whether x is one sequence: a text, one array, or a list of numbers.

    Examples
    --------
    >>> is_single("aab"), is_single([1, 2]), is_single(["aab"]), is_single([[1, 2]])
    (True, True, False, False)
    """
    if isinstance(x, np.ndarray):
        return x.dtype.names is None and x.ndim in (1, 2)
    is_flat = isinstance(x, (list, tuple)) and bool(x) and all(_is_scalar(v) and not isinstance(v, str) for v in x)
    return isinstance(x, str) or is_flat


def _is_scalar(value: object) -> bool:
    if isinstance(value, list | tuple | Mapping):
        return False
    return value is None or isinstance(value, str | bytes) or np.ndim(value) == 0  # type: ignore[arg-type]


def _ragged(x: Any) -> list[Any] | None:
    """Return the parts of an Arrow column of lists or of texts, or of a Series of them."""
    if isinstance(x, (pa.Array, pa.ChunkedArray)):
        is_nested = pa.types.is_list(x.type) or pa.types.is_large_list(x.type) or pa.types.is_fixed_size_list(x.type)
        if is_nested or pa.types.is_string(x.type):
            return [list(part or ()) if is_nested else list(part or "") for part in x.to_pylist()]
        return None
    if type(x).__name__ == "Series" and hasattr(x, "to_list"):
        values = x.to_list()
        nested = bool(values) and all(isinstance(v, (list, tuple, np.ndarray)) for v in values)
        return [np.asarray(v) for v in values] if nested else None
    return None


def _warn_of_words(texts: Sequence[str]) -> None:
    """Warn where texts look like the words of one sequence: short, and many of them equal."""
    is_repeated = len(texts) > 4 and len(set(texts)) <= len(texts) // 2
    if is_repeated and 1 < sum(map(len, texts)) / len(texts) < 12 and not any(" " in text for text in texts):
        warn_user(
            f"{len(texts)} texts are {len(texts)} sequences of characters. For one sequence of words write [words].",
            DataWarning,
        )


# Arrays and lists


def _of_parts(
    parts: Sequence[Any], form: str, kinds: Any, variables: Sequence[Variable] | None, *, name: Any = None
) -> Panel:
    """Return the panel of arrays, one a sequence."""
    arrays = [_array(i, part) for i, part in enumerate(parts, start=1)]
    widths = {array.shape[1] if array.ndim == 2 else 1 for array in arrays if len(array)}
    if len(widths) > 1 or any(array.ndim > 2 for array in arrays):
        raise DataError(f"sequences must have equally many columns; got {listed(sorted(widths))}.")
    offsets = np.append(0, np.cumsum([len(array) for array in arrays])).astype(np.int64)
    filled = [array for array in arrays if len(array)]
    if not filled:
        names = ["x"] if variables is None else [v.name for v in variables]
        columns: dict[str, Any] = {column: np.empty(0) for column in names}
    elif filled[0].ndim == 2 and filled[0].shape[1] != 1:
        whole = np.concatenate(filled)
        columns = {f"x{i}": _values(whole[:, i]) for i in range(whole.shape[1])}
    else:
        own = name if isinstance(name, str) and name else "x"
        columns = {own: _values(np.concatenate([array.reshape(len(array)) for array in filled]))}
    if variables is not None:
        if len(variables) != len(columns) and filled:
            raise DataError(
                f"sequences must have the columns that were learned, {listed(v.name for v in variables)}; "
                f"got {len(columns)} columns."
            )
        columns = {v.name: values for v, values in zip(variables, columns.values(), strict=False)}
    return Panel(_table(columns, kinds, variables), offsets, tuple(range(len(arrays))), form=form)


def _array(i: int, part: Any) -> np.ndarray:
    """Return a sequence as an array; raise where it is none."""
    if part is None or _is_scalar(part):
        raise DataError(f"every sequence must be an array, a list or a text; got {part!r} as number {i}.")
    try:
        return np.asarray(part) if len(part) else np.empty(0)
    except (TypeError, ValueError):
        raise DataError(f"the rows of a sequence must be equally long; they are not in sequence {i}.") from None


def _values(column: np.ndarray) -> Any:
    """Return a column as the table wants it: objects that hold numbers or texts as a list."""
    return column.tolist() if column.dtype.kind in "OU" else column


def _table(columns: Any, kinds: Any, variables: Sequence[Variable] | None) -> Table:
    if variables is None:
        wanted: Any = kinds
        if isinstance(kinds, Mapping):
            wanted = {name: kind for name, kind in kinds.items() if name in columns}
        return as_table(dict(columns), kinds=wanted)
    table, unseen = encode(columns, variables)
    warn_unseen(unseen)
    return table


# Frames


def _of_frame(x: Any, layout: Layout, kinds: Any, variables: Sequence[Variable] | None, ignored: set[str]) -> Panel:
    if isinstance(x, (bytes, int, float)) or x is None:
        raise DataError(f"sequences must be {_FORMS}; got {shortened(repr(x))}.")
    columns = frame_columns(x)
    if isinstance(layout.columns, str):
        layout = replace(layout, columns=[layout.columns])
    for name in (layout.sequence, layout.time, *(layout.columns or ())):
        if name is not None and name not in columns:
            raise DataError(f"the data must have a column {name!r}. {did_you_mean(name, columns)}")
    ignored = ignored | {name for name in (layout.sequence, layout.time) if name is not None}
    if variables is not None:
        names = [v.name for v in variables]
    elif layout.columns is not None:
        names = as_list("columns", layout.columns, "column names")
    else:
        names = [name for name in columns if name not in ignored]
    if not names:
        raise DataError(f"the data must have a column to observe beside {listed(sorted(ignored))}; there is none.")
    if variables is None:
        wanted: Any = kinds
        if isinstance(kinds, Mapping):
            wanted = {name: kind for name, kind in kinds.items() if name in names}
        table = as_table(x.select(names) if isinstance(x, Table) else {n: columns[n] for n in names}, kinds=wanted)
    else:
        table = _table(x if isinstance(x, Table) else columns, None, variables)
    n = table.n_rows
    keys, group = _groups(columns, layout.sequence, n)
    times = None if layout.time is None else _times(columns, layout.time)
    is_new = variables is None
    if is_new and times is None and layout.columns is None:
        _warn_of_times(table, layout)
    order = _sorted(group, times, layout, keys, is_new)
    offsets = np.append(0, np.cumsum(np.bincount(group, minlength=len(keys)))).astype(np.int64)
    gaps, unit = (None, None) if times is None else _gaps(times[order], offsets, layout, keys)
    is_sorted = bool((order == np.arange(n)).all())
    taken = table if is_sorted else table.take(order)
    return Panel(taken, offsets, keys, gaps, unit, None if is_sorted else order)


def _groups(columns: Mapping[str, Any], name: str | None, n: int) -> tuple[tuple[Any, ...], np.ndarray]:
    """Return the names of the sequences, in the order in which they appear, and the number of each row's."""
    if name is None:
        return (0,), np.zeros(n, np.int64)
    column = as_table({name: columns[name]}, kinds="categorical").column(name)
    codes = column.values.astype(np.int64)
    if (codes < 0).any():
        row = int(np.flatnonzero(codes < 0)[0]) + 1
        raise DataError(f"every row must say to which sequence it belongs; {name!r} is missing in row {row}.")
    seen, first = np.unique(codes, return_index=True)
    appearance = seen[np.argsort(first)]
    number = np.empty(len(column.variable.states or ()), np.int64)
    number[appearance] = np.arange(len(appearance))
    states = column.variable.states or ()
    return tuple(states[c] for c in appearance.tolist()), number[codes]


def _times(columns: Mapping[str, Any], name: str) -> np.ndarray:
    """Return the times as numbers; dates are seconds."""
    try:
        times = as_table({name: columns[name]}, kinds="continuous").floats(name)
    except DataError as error:
        got = str(error).partition("; ")[2].partition(". ")[0]
        raise DataError(f"the time column {name!r} must hold numbers or dates{got and '; '}{got}.") from None
    if np.isnan(times).any():
        row = int(np.flatnonzero(np.isnan(times))[0]) + 1
        raise DataError(f"every row must have a time; {name!r} is missing in row {row}.")
    return times


def _warn_of_times(table: Table, layout: Layout) -> None:
    """Warn of a number that rises by the same amount in every row, and is observed."""
    for column in table if table.n_rows > 7 and table.n_columns > 1 else ():
        if column.variable.is_continuous:
            steps = np.diff(column.values)
            if steps[0] > 0 and (steps == steps[0]).all():
                name = column.variable.name
                warn_user(
                    f"{name!r} rises by {steps[0]:g} in every row and is taken as an observation. If it is the time, "
                    f"say time={name!r}.",
                    DataWarning,
                )


def _sorted(
    group: np.ndarray, times: np.ndarray | None, layout: Layout, keys: tuple[Any, ...], is_new: bool
) -> np.ndarray:
    """Return the order of rows by sequence and time; refuse times that occur twice in a sequence."""
    if times is None:
        return np.argsort(group, kind="stable")
    order = np.lexsort((times, group))
    grouped = np.argsort(group, kind="stable")
    if is_new and (order != grouped).any():
        warn_user(f"The rows were put in the order of {layout.time!r}; answers keep the order given.", DataWarning)
    same = (np.diff(times[order]) == 0) & (np.diff(group[order]) == 0)
    if same.any():
        row = int(order[1:][same][0])
        which = "" if layout.sequence is None else f" of sequence {keys[group[row]]!r}"
        raise DataError(
            f"times{which} must be distinct; {layout.time!r} is {times[row]:g} in several rows, one of them row "
            f"{row + 1}. "
            + ("Name the column that tells sequences apart with sequence='…'." if layout.sequence is None else "")
        )
    return order


def _gaps(
    times: np.ndarray, offsets: np.ndarray, layout: Layout, keys: tuple[Any, ...]
) -> tuple[np.ndarray | None, float | None]:
    """Return the number of time units between the steps, None where it is always one, and the unit."""
    between = np.ones(len(times), bool)
    between[offsets[:-1][np.diff(offsets) > 0]] = False
    distances = np.diff(times, prepend=np.nan)[between]
    if not len(distances):
        return None, None if layout.time_unit is None else unit_of(layout.time_unit)
    unit = _unit(distances) if layout.time_unit is None else unit_of(layout.time_unit)
    found = np.rint(distances / unit)
    if found.max() > _LONGEST:
        raise DataError(
            f"gaps of {layout.time!r} must be below {_LONGEST:g} time units; got {found.max():g} with the unit "
            f"{unit:g}. Give time_unit=, or split the sequence there."
        )
    worst = int(np.argmax(np.abs(distances / unit - found)))
    if abs(distances[worst] / unit - found[worst]) > _ABOUT or (found < 1).any():
        raise DataError(
            f"the distances of {layout.time!r} must be multiples of a time unit; got {distances[worst]:g} with the "
            f"unit {unit:g}. Give time_unit=, round the times, or leave time= out for rows at regular times."
        )
    if layout.time_unit is None and np.median(found) > _FAR:
        warn_user(
            f"The unit of {layout.time!r} is {unit:g}, by which steps are {np.median(found):g} apart (median). "
            "Give time_unit=, or round the times.",
            DataWarning,
        )
    gaps = np.ones(len(times), np.int64)
    gaps[between] = found.astype(np.int64)
    return (None if (gaps == 1).all() else gaps), unit


def unit_of(unit: float | str) -> float:
    """Return a unit of time as a number; texts such as "1d" or "30min" are seconds, as dates are."""
    if isinstance(unit, str):
        found = re.fullmatch(r"\s*(\d*\.?\d+)?\s*(s|min|h|d|w)\s*", unit)
        if found is None:
            raise DataError(f'time_unit must be a number, or a text such as "1d" or "30min"; got {unit!r}.')
        return float(found[1] or 1.0) * {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}[found[2]]
    number = check_number("time_unit", unit, low=0)
    if not number > 0.0:
        raise DataError(f"time_unit must be above 0; got {unit!r}.", parameter="time_unit")
    return number


def _unit(distances: np.ndarray) -> float:
    """Return the median distance if all are about multiples of it, otherwise the greatest common divisor."""
    median = float(np.median(distances))
    multiples = np.rint(distances / median)
    if ((multiples >= 1) & (np.abs(distances - multiples * median) <= _ABOUT * median)).all():
        return median
    if (distances == np.rint(distances)).all() and distances.max() < 2**53:
        return float(np.gcd.reduce(distances.astype(np.int64)))
    return float(distances.min())


def frame_column(x: Any, name: str) -> list[Any]:
    """Return the values of a column of a frame, None where missing."""
    try:
        columns = frame_columns(x)
    except DataError:
        columns = {}
    if name not in columns:
        raise DataError(f"y must be a column of the data, or a value for each step; got {name!r}.", parameter="y")
    column = as_table({name: columns[name]}, kinds="categorical").column(name)
    states = (*(column.variable.states or ()), None)
    return [states[code] for code in column.values.tolist()]


# Distinct observations


def distinct_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of numbers, and which one each row is; rows as they are where few repeat.

    Examples
    --------
    >>> distinct, rows = distinct_rows(np.array([[2.0], [5.0], [2.0], [np.nan], [2.0], [5.0]]))
    >>> distinct[:, 0].tolist(), rows.tolist()
    ([2.0, 5.0, nan], [0, 1, 0, 2, 0, 1])
    """
    n = len(x)
    codes, size = np.zeros(n, np.int64), 1
    if n > _SAMPLE and any(len(np.unique(column)) > _SAMPLE // 2 for column in x[:_SAMPLE].T):
        return x, np.arange(n)
    for column in x.T:
        own, n_values = _codes(column)
        codes, size = codes * n_values + own, size * n_values
        if size > 4 * n + 2**16:
            seen, codes = np.unique(codes, return_inverse=True)
            size = len(seen)
    seen, first, rows = (
        np.unique(codes, return_index=True, return_inverse=True) if size > 2**22 else _small(codes, size)
    )
    if len(seen) > n // 2:
        return x, np.arange(n)
    return x[first], rows.reshape(-1)


def _small(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what ``np.unique`` does for small non-negative integers, without sorting."""
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    seen = np.flatnonzero(first >= 0)
    place = np.cumsum(first >= 0) - 1
    return seen, first[seen], place[codes]


def _codes(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a number for each distinct value of a column, and how many there may be."""
    missing = np.isnan(column)
    known = column[~missing]
    if len(known) and known.min() >= 0 and known.max() < 2**16 and (known == np.floor(known)).all():
        n = int(known.max()) + 2
        return np.where(missing, n - 1, column).astype(np.int64) if missing.any() else column.astype(np.int64), n
    values, codes = np.unique(column, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), max(1, len(values))
