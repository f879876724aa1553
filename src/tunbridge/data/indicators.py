"""Holes as columns of their own.

Where a cell is missing because of what it hides, or of something that is not in the table, no method can make up for it
from the other cells alone. What remains is to make the hole itself an observation: a column that says whether another
one is missing. As a node of a graph it may depend on anything, and anything on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._check import listed
from tunbridge.data.columns import Column
from tunbridge.data.frames import as_table
from tunbridge.data.table import Table
from tunbridge.data.variable import Variable
from tunbridge.errors import DataError

_STATES = ("no", "yes")
_SUFFIX = " missing"


def with_indicators(frame: Any, columns: Iterable[str] | None = None) -> Table:
    """Return the table with a column ``"X missing"``, of the states no and yes, for each column X that has holes.

    Parameters
    ----------
    frame : any frame
        The data.
    columns : iterable of str, optional
        The columns that get one, also such as have no holes; by default all that have some.

    Examples
    --------
    >>> import tunbridge as tb
    >>> tb.with_indicators({"income": [1200.0, None, 2500.0], "owner": ["no", "yes", "yes"]})
    Table: 3 rows × 3 columns, 1 missing cell
      income          continuous   1200 … 2500  1 missing
      owner           categorical  no, yes
      income missing  categorical  no, yes
    """
    table = as_table(frame)
    if isinstance(columns, str):
        raise DataError(f"columns must be a list of names; got the text {columns!r}. Write [{columns!r}].")
    if columns is not None and not isinstance(columns, Iterable):
        raise DataError(f"columns must be a list of names; got {columns!r}.")
    chosen = list(table.missing) if columns is None else list(dict.fromkeys(columns))
    added = [_indicator(table.column(name)) for name in chosen]
    there = [c.variable.name for c in added if c.variable.name in table.names]
    if there:
        raise DataError(f"the table must not have the columns that are added; it has {listed(there)}. Rename them.")
    markers = {"weights": table.weights, "read_as_missing": table.read_as_missing}
    return Table.of([*table, *added], **markers)


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
