"""Conditional tables from dicts, arrays and frames.

With the parents Burglary and Earthquake, all of these are the same table of Alarm:

    {"no": {"no": [0.999, 0.001], "yes": [0.71, 0.29]}, "yes": {"no": …, "yes": …}}     nested dicts
    {("no", "no"): [0.999, 0.001], ("no", "yes"): [0.71, 0.29], …}                      tuples of states
    [[[0.999, 0.001], [0.71, 0.29]], …]        an array with an axis for each parent, and the last for Alarm's states
    [[0.999, 0.001], [0.71, 0.29], …]          or with one row for each configuration, the last parent fastest
    a frame with the columns Burglary, Earthquake, Alarm, probability                   long
    a frame with the columns Burglary, Earthquake, no, yes                              wide

In dicts a row may be a mapping from state to probability; a state of probability zero may be omitted. Results of
pandas are accepted: columns may be named levels of the index, and the probabilities may be called "proportion", so that
both of these are tables as well:

    pd.crosstab([data.Burglary, data.Earthquake], data.Alarm, normalize="index")
    data.groupby(["Burglary", "Earthquake"]).Alarm.value_counts(normalize=True)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import did_you_mean, listed, shortened
from tunbridge._core.memory import check_memory
from tunbridge.data import Table, Variable
from tunbridge.data.arrow import Frame, Values, is_pandas
from tunbridge.data.columns import encode_column, to_floats
from tunbridge.data.frames import frame_columns
from tunbridge.errors import DataError
from tunbridge.probability.conditional import ConditionalTable
from tunbridge.probability.cpt import CPT
from tunbridge.probability.reading import (
    TOLERANCE,
    Parents,
    check_absent,
    check_n_axes,
    checked_family,
    condition_text,
    number_of,
    numbers_of,
    read_row,
    state_code,
)

if TYPE_CHECKING:
    import pandas

_PROBABILITY = "probability"
_PROPORTION = "proportion"  # what pandas calls it
_WAYS_OUT = "SparseCPT stores only some rows."
_AS_SHARES = " Counts become probabilities with value_counts(normalize=True)."
_SOME = "SparseCPT accepts some rows and a default row for the others."


def as_cpt(variable: Variable, parents: Parents, given: object) -> ConditionalTable:
    """Return the conditional table of a variable from a dict, an array, a frame, or a finished table.

    Parameters
    ----------
    variable : Variable
        The variable.
    parents : sequence of Variable
        Its parents.
    given : ConditionalTable, mapping, array-like, frame or pandas Series
        The probabilities; the page *Bayesian networks* shows all forms. A single parent needs no tuples, and without
        parents a row is enough. A frame may have its columns and rows in any order. A finished table must have this
        variable and these parents.

    Returns
    -------
    ConditionalTable
        The given one, or else a :class:`CPT`.

    Examples
    --------
    >>> burglary = Variable("Burglary", ["no", "yes"])
    >>> alarm = Variable("Alarm", ["no", "yes"])
    >>> print(as_cpt(alarm, [burglary], {"no": {"no": 0.999, "yes": 0.001}, "yes": [0.06, 0.94]}))
    Alarm given Burglary
    Burglary  no     yes
    no        0.999  0.001
    yes       0.06   0.94
    >>> as_cpt(alarm, [burglary], {"no": [0.999, 0.001]})
    Traceback (most recent call last):
    ...
    tunbridge.errors.DataError: the table of 'Alarm' must have a row for every configuration of its parents; 1 of 2 is
    missing, such as Burglary='yes'. SparseCPT accepts some rows and a default row for the others.
    """
    family = checked_family(variable, parents)
    if isinstance(given, ConditionalTable):
        return _same_family(variable, family, given)
    if is_pandas(given, "Series"):
        given = _from_series(variable, family, given)
    if _is_frame(given) or _is_column_dict(variable, family, given):
        return CPT(variable, family, _from_frame(variable, family, given))
    if not family:
        _check_one_row(variable, given)
    if isinstance(given, Mapping):
        return CPT(variable, family, _from_mapping(variable, family, given))
    return CPT(variable, family, given)  # type: ignore[arg-type]


def _same_family(variable: Variable, parents: tuple[Variable, ...], given: ConditionalTable) -> ConditionalTable:
    if given.variable != variable or given.parents != parents:
        wanted = f"{variable.name!r} given {listed(p.name for p in parents) or 'nothing'}"
        found = repr(given)
        if {v.name for v in (given.variable, *given.parents)} == {v.name for v in (variable, *parents)}:
            found += ", which has another order of parents or states"
        raise DataError(f"the table must be that of {wanted}, with the same states; got {found}.")
    return given


# Dicts


def _from_mapping(variable: Variable, parents: tuple[Variable, ...], given: Mapping[Any, Any]) -> np.ndarray:
    if not parents:
        row = np.array([read_row(variable, (), given.get((), given), ())])  # {(): row} is the tuple form
        _check_no_counts(variable, (), row)
        return row
    table, seen = _empty(variable, parents)
    for codes, row in _configurations(variable, parents, given, ()):
        j = number_of(parents, codes)
        if seen[j]:
            raise _repeated(variable, parents, j)
        table[j], seen[j] = read_row(variable, parents, row, codes), True
    _check_complete(variable, parents, seen)
    _check_no_counts(variable, parents, table)
    return table


def _configurations(
    variable: Variable, parents: tuple[Variable, ...], given: object, codes: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield every configuration and its row; a key is a state of the next parent, or a tuple for the next parents."""
    if len(codes) == len(parents):
        yield codes, given
        return
    if not isinstance(given, Mapping):
        raise _too_shallow(variable, parents, given, codes)
    for key, inner in given.items():
        found = _key_codes(variable, parents[len(codes) :], key)
        yield from _configurations(variable, parents, inner, codes + found)


def _key_codes(variable: Variable, parents: tuple[Variable, ...], key: object) -> tuple[int, ...]:
    code = parents[0].find(key)
    if code >= 0:
        return (code,)
    if not isinstance(key, tuple):
        return (state_code(variable, parents[0], key),)
    if not 0 < len(key) <= len(parents):
        names = listed(p.name for p in parents)
        rule = f"must have a state for each of {names}"
        raise DataError(f"a key of the table of {variable.name!r} {rule}; got {shortened(repr(key))}.")
    return tuple(state_code(variable, p, state) for p, state in zip(parents, key, strict=False))


def _too_shallow(variable: Variable, parents: tuple[Variable, ...], given: object, codes: tuple[int, ...]) -> DataError:
    known = parents[: len(codes)]
    where = condition_text(known, number_of(known, codes))
    rule = f"the table of {variable.name!r}{where} must be a dict with the states of {parents[len(codes)].name!r}"
    return DataError(f"{rule}; got {shortened(repr(given))}.")


# Frames


def _is_frame(given: object) -> bool:
    if isinstance(given, list) and given and all(isinstance(record, Mapping) for record in given):
        return True
    is_arrow = hasattr(given, "__arrow_c_stream__") and getattr(given, "ndim", 2) == 2
    return isinstance(given, Table) or hasattr(given, "columns") or is_arrow


def _is_column_dict(variable: Variable, parents: tuple[Variable, ...], given: object) -> bool:
    """Return whether a dict is one of columns: it has a column for each parent, and all keys are strings."""
    if not isinstance(given, Mapping) or not all(p.name in given for p in parents):
        return False
    if not parents:
        return variable.name in given and (_PROBABILITY in given or _PROPORTION in given)
    if all(parents[0].find(name) >= 0 for name in given):  # a parent that has states of these names
        return False
    return all(isinstance(name, str) for name in given)


def _from_series(
    variable: Variable, parents: tuple[Variable, ...], series: pandas.Series
) -> pandas.DataFrame | dict[object, object]:
    """Return a pandas Series as a long frame if its index has a level for each variable, otherwise as a dict."""
    wanted = {v.name for v in (*parents, variable)}
    if not parents or set(series.index.names) != wanted:
        return dict(series.items())
    return series.rename(_PROBABILITY).reset_index()


def _with_index(variable: Variable, parents: tuple[Variable, ...], frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return a pandas frame with levels of the index as columns where these are missing."""
    names = [name if isinstance(name, str) else str(name) for name in frame.columns]  # states may be numbers
    levels = [v.name for v in (*parents, variable) if v.name in frame.index.names and v.name not in names]
    plain = frame.set_axis(names, axis=1)  # a categorical index accepts no other columns
    return plain.reset_index(level=levels) if levels else plain


def _from_frame(variable: Variable, parents: tuple[Variable, ...], frame: Frame) -> np.ndarray:
    frame = _with_index(variable, parents, frame) if is_pandas(frame, "DataFrame") else frame
    columns = _with_probability(variable, parents, frame_columns(frame))
    _check_columns(variable, parents, columns)
    codes = [_codes(variable, p, columns[p.name]) for p in parents]
    n_rows = len(next(iter(columns.values())))
    numbers = numbers_of(parents, np.stack(codes, axis=1)) if parents else np.zeros(n_rows, np.int64)
    rest = {name: values for name, values in columns.items() if name not in {p.name for p in parents}}
    table, seen = _empty(variable, parents)
    seen[numbers] = True
    is_long = variable.name in rest and _PROBABILITY in rest
    fill = _fill_long if is_long else _fill_wide
    present = fill(variable, parents, rest, numbers, table)
    _check_complete(variable, parents, seen)
    _check_no_counts(variable, parents, table)
    _check_cells(variable, parents, table, present)
    return table


def _with_probability(variable: Variable, parents: tuple[Variable, ...], columns: dict[str, Any]) -> Mapping[str, Any]:
    """Return the columns, with pandas' name of the probabilities replaced by ours."""
    taken = {_PROBABILITY} & set(columns) or _PROPORTION in {v.name for v in (*parents, variable)}
    if taken or variable.name not in columns or _PROPORTION not in columns:
        return columns
    return {_PROBABILITY if name == _PROPORTION else name: values for name, values in columns.items()}


def _check_columns(variable: Variable, parents: tuple[Variable, ...], columns: Mapping[str, Any]) -> None:
    absent = [p.name for p in parents if p.name not in columns]
    if absent:
        hint = did_you_mean(absent[0], columns)
        are = "is" if len(absent) == 1 else "are"
        raise DataError(
            f"the frame of {variable.name!r} must have a column for each parent; {listed(absent)} {are} missing. {hint}"
        )


def _codes(variable: Variable, column: Variable, values: Values) -> np.ndarray:
    codes, unknown = encode_column(column, values)
    what = f"column {column.name!r} of the frame of {variable.name!r}"
    if unknown:
        hint = did_you_mean(unknown[0], column.states or ())
        raise DataError(f"{what} must hold states of {column.name!r}; got {unknown[0]!r}. {hint}")
    if (codes < 0).any():
        raise DataError(f"{what} must have a state in every row; row {int((codes < 0).argmax()) + 1} is missing.")
    return codes.astype(np.int64)


def _fill_long(
    variable: Variable, parents: Sequence[Variable], columns: Mapping[str, Any], numbers: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Fill the table from a frame with a row for each probability; return which probabilities it has."""
    extra = [name for name in columns if name not in (variable.name, _PROBABILITY)]
    if extra:
        rule = f"must have columns for the parents, {variable.name!r} and {_PROBABILITY!r}"
        raise DataError(f"the frame of {variable.name!r} {rule}; got also {listed(extra)}. Drop it.")
    codes = _codes(variable, variable, columns[variable.name])
    _check_once(variable, parents, numbers * variable.n_states + codes, variable.n_states)
    table[numbers, codes] = to_floats(_PROBABILITY, columns[_PROBABILITY])
    present = np.zeros(table.shape, bool)
    present[numbers, codes] = True
    return present


def _fill_wide(
    variable: Variable, parents: Sequence[Variable], columns: Mapping[str, Any], numbers: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """Fill the table from a frame with a row for each configuration and a column for each state."""
    names = _state_columns(variable, columns)
    _check_once(variable, parents, numbers, 1)
    table[numbers] = np.stack([to_floats(name, columns[name]) for name in names], axis=1)
    return np.ones(table.shape, bool)


def _state_columns(variable: Variable, columns: Mapping[str, Any]) -> list[str]:
    """Return the columns of a wide frame in the order of the states."""
    by_code: dict[int, str] = {}
    for name in columns:
        code = variable.find(name)
        if code < 0 or code in by_code:
            raise _column_error(variable, name, columns)
        by_code[code] = name
    absent = [s for code, s in enumerate(variable.states or ()) if code not in by_code]
    if absent:
        are = "is" if len(absent) == 1 else "are"
        raise DataError(
            f"the frame of {variable.name!r} must have a column for each of its states; {listed(absent)} {are} missing."
        )
    return [by_code[code] for code in range(variable.n_states)]


def _column_error(variable: Variable, name: str, columns: Mapping[str, Any]) -> DataError:
    if variable.name in columns:
        hint = f"A frame with the column {variable.name!r} needs a column {_PROBABILITY!r}."
        near = did_you_mean(_PROBABILITY, columns)
        hint += f" {near}" if near.startswith("Did") else _AS_SHARES if "count" in columns else ""
    elif _PROBABILITY in columns:
        hint = f"A frame with the column {_PROBABILITY!r} needs a column {variable.name!r}."
    else:
        hint = did_you_mean(name, variable.states or ())
    rule = "must have columns for the parents and the states"
    return DataError(f"the frame of {variable.name!r} {rule}; got {name!r}. {hint}")


# Checks


def _check_one_row(variable: Variable, given: object) -> None:
    """Raise if a variable without parents is given several rows: an arc is probably missing."""
    rows: list[object] = []
    if isinstance(given, Mapping):
        rows = [row for key, row in given.items() if key != ()]  # {(): row} is the tuple form
    elif isinstance(given, list | tuple) or (isinstance(given, Collection) and getattr(given, "ndim", 0) > 1):
        rows = list(given) if len(given) > 1 else []
    if any(isinstance(row, list | tuple | Mapping) or getattr(row, "ndim", 0) for row in rows):
        rule = f"the table of {variable.name!r} must be one row, since it has no parents"
        raise DataError(f"{rule}; got {shortened(repr(given))}. Is an arc missing?")


def _check_no_counts(variable: Variable, parents: Sequence[Variable], table: np.ndarray) -> None:
    """Raise for integer counts in place of probabilities; percentages are reported later."""
    totals = table.sum(axis=1)
    whole = np.isfinite(table).all() and (table >= 0.0).all() and (table == np.rint(table)).all()
    if not whole or table.max(initial=0.0) <= 1.0 or (np.abs(totals - 100.0) < 0.1).all():
        return
    j = int((np.abs(totals - 1.0) > TOLERANCE).argmax())
    where = f"the probabilities of {variable.name!r}{condition_text(parents, j)}"
    hint = "They look like counts: divide each row by its sum, or with pandas use normalize='index'."
    raise DataError(f"{where} must sum to 1; got {totals[j]:.10g}. {hint}")


def _empty(variable: Variable, parents: Sequence[Variable]) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of zeros, one row for each configuration, and a mask of the rows seen so far."""
    check_n_axes(variable, parents)
    n = math.prod(p.n_states for p in parents)
    check_memory(f"the dense table of {variable.name!r}", 9 * n * variable.n_states, ways_out=_WAYS_OUT)
    return np.zeros((n, variable.n_states)), np.zeros(n, bool)


def _check_complete(variable: Variable, parents: Sequence[Variable], seen: np.ndarray) -> None:
    if not seen.all():
        n_absent = int((~seen).sum())
        such = condition_text(parents, int(seen.argmin())).removeprefix(" given ")
        which = f"{n_absent} of {len(seen)} {'is' if n_absent == 1 else 'are'} missing, such as {such}"
        rule = "must have a row for every configuration of its parents"
        raise DataError(f"the table of {variable.name!r} {rule}; {which if such else 'it is empty'}. {_SOME}")


def _check_once(variable: Variable, parents: Sequence[Variable], cells: np.ndarray, n_states: int) -> None:
    values, counts = np.unique(cells, return_counts=True)
    if (counts > 1).any():
        raise _repeated(variable, parents, int(values[counts > 1][0]) // n_states)


def _repeated(variable: Variable, parents: Sequence[Variable], number: int) -> DataError:
    where = condition_text(parents, number)
    return DataError(f"the probabilities of {variable.name!r}{where} must be given once; got them more than once.")


def _check_cells(variable: Variable, parents: Sequence[Variable], table: np.ndarray, present: np.ndarray) -> None:
    """Raise if states have no probability although the others do not sum to one."""
    short = ~present.all(axis=1) & ~(np.abs(table.sum(axis=1) - 1.0) <= TOLERANCE)
    if short.any():
        j = int(short.argmax())
        found = {code: float(table[j, code]) for code in np.flatnonzero(present[j]).tolist()}
        check_absent(variable, parents, found, j)
