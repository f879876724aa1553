"""Data to learn from, in two parts: the attributes of rows, and the class of each.

The classes are a column of the data, by its name, or are given beside them; both ways say the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunbridge._check import counted, did_you_mean, shortened
from tunbridge.data import Column, Table, as_table
from tunbridge.data.columns import column_to_arrow, infer_column
from tunbridge.errors import DataError

_UNNAMED = "class"


def table_of(X: Any) -> Table:
    """Return data as a table; raise for what is none, such as the pair that ``tb.discretise`` returns."""
    if isinstance(X, tuple) and X and isinstance(X[0], Table):
        raise DataError(
            "the data must be one table; got a tuple that begins with one. tb.discretise returns the table and how it "
            "was cut; take the first: table, _ = tb.discretise(...)."
        )
    return as_table(X)


def split_target(X: Any, y: Any, known: str | None = None) -> tuple[Table, Column]:
    """Return the attributes, and the column of the target as it is: numbers are not made classes yet.

    Parameters
    ----------
    X : Table or any frame
    y : str, array-like or None
        The name of the column that holds the target, or its values.
    known : str, optional
        What the target was called before: so its column is found without a y, and so values are called.

    Examples
    --------
    >>> import tunbridge as tb
    >>> attributes, labels = split_target(tb.datasets.play_tennis(), "play")
    >>> attributes.names, labels.variable
    (('outlook', 'temperature', 'humidity', 'wind'), Variable('play', ['no', 'yes']))
    """
    table = table_of(X)
    name = known if y is None else y
    if name is None:
        raise DataError("y must be given: the classes, or the name of the column that holds them.")
    if not isinstance(name, str):
        return table, _beside(table, y, known)
    if name not in table.names:
        raise DataError(f"the target must be a column of the data; got {name!r}. {did_you_mean(name, table.names)}")
    return table.drop([name]), table.column(name)


def as_classes(target: Column) -> Column:
    """Return a target with states, each number one of them."""
    if not target.variable.is_continuous:
        return target
    return infer_column(target.variable.name, column_to_arrow(target), "categorical")


def _beside(table: Table, y: Any, known: str | None) -> Column:
    """Return the column of a target that is given beside the data."""
    if isinstance(y, Mapping | Table) or hasattr(y, "columns") or not hasattr(y, "__len__"):
        got = type(y).__name__ if hasattr(y, "__len__") else shortened(repr(y))
        raise DataError(f"y must be a column of classes, or the name of one; got {got}.")
    given = y.variable.name if isinstance(y, Column) else getattr(y, "name", None)
    given = given if isinstance(given, str) and given else None
    if given in table.names:
        raise DataError(
            f"the target must not be among the attributes too; got {given!r} in both. Give its name as y, or leave the "
            "column out of the data."
        )
    name = known or given or _UNNAMED
    found = y if isinstance(y, Column) else infer_column(name, y)
    if len(found.values) != table.n_rows:
        got = f"{len(found.values)} for {counted(table.n_rows, 'row')}"
        raise DataError(f"y must have a class for each row; got {got}.")
    return found
