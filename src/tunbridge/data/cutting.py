"""Columns cut into intervals: numbers, text that spells them, and the labels of the intervals.

Numbers are cut by bisection, all rows at once. In a column of text each cell is by itself a label or a number: labels
are looked up in a hash table, and the rest is read as numbers in one go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tunbridge.data.arrow import as_arrow, is_text
from tunbridge.data.distinct import code_type
from tunbridge.data.floats import is_float_array, to_floats
from tunbridge.data.intervals import number_of
from tunbridge.data.variable import MISSING, Variable


def interval_codes(cuts: tuple[float, ...], floats: np.ndarray) -> np.ndarray:
    """Return the number of each value's interval, counted from 0; −1 for NaN.

    Examples
    --------
    >>> interval_codes((37.5, 38.5), np.array([36.6, 37.5, 39.2, np.nan]))
    array([ 0,  0,  2, -1], dtype=int8)
    """
    codes = np.searchsorted(np.array(cuts), floats, side="left").astype(code_type(len(cuts) + 1))
    codes[np.isnan(floats)] = MISSING
    return codes


def cut_column(variable: Variable, values: Any) -> np.ndarray | None:
    """Return the codes of a column of numbers, labels or both; None where it holds, or may hold, anything else."""
    cuts, t = variable.cuts or (), pa.types
    if is_float_array(values):
        return interval_codes(cuts, to_floats(variable.name, values))
    column = as_arrow(variable.name, values)
    if is_text(column.type):
        return _cut_text(variable, column.cast(pa.large_string()))
    number = t.is_floating(column.type) or t.is_integer(column.type) or t.is_decimal(column.type)
    return interval_codes(cuts, to_floats(variable.name, column)) if number or t.is_temporal(column.type) else None


def _cut_text(variable: Variable, column: pa.ChunkedArray) -> np.ndarray | None:
    """Return the codes of labels and numbers; None when there is any other text."""
    labels = [state if isinstance(state, str) else None for state in variable.states or ()]
    at = pc.index_in(column, value_set=pa.array(labels, pa.large_string()), skip_nulls=True)
    rest = pc.if_else(at.is_valid(), pa.scalar(None, pa.large_string()), column)
    first = next(iter(rest.drop_null().slice(0, 1).to_pylist()), "0")
    if number_of(first) is None:  # Arrow takes its time over each text that is no number
        return None
    try:
        floats = to_floats(variable.name, rest.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    codes = interval_codes(variable.cuts or (), floats)
    codes[at.is_valid().to_numpy()] = at.drop_null().to_numpy()
    return codes
