"""The column of the classes, in a table that is to be learned from.

A target is made of classes: text, truth values, or whole numbers of few different values. A column of other numbers is
a quantity, and an error says so before anything is learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._check import shortened
from tunbridge.data.columns import Column, column_to_arrow, distinct_values, infer_column
from tunbridge.data.table import Table
from tunbridge.errors import DataError

_MOST_NUMBERS = 20  # a target of more different whole numbers is taken for a quantity
_HINT = "make its column categorical if each value is a class."


def with_classes(table: Table, target: str, *, hint: str = _HINT) -> tuple[Table, np.ndarray]:
    """Return the table with a categorical target, and which rows have a class.

    Raises unless there are features and at least two classes. The hint ends the sentence «Cut it into classes first, or
    …» for a target that is a quantity.

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
        what = "numbers that are not whole" if isinstance(distinct[0], int | float) else "dates or times"
        raise _quantity(name, what, distinct, hint)
    if len(distinct) > _MOST_NUMBERS:
        raise _quantity(name, "many different numbers", distinct, hint)
    return infer_column(name, values, "categorical")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def _quantity(name: str, what: str, distinct: list[Any], hint: str) -> DataError:
    held = f"{len(distinct)} different ones, {distinct[0]} to {distinct[-1]}"
    return DataError(
        f"the target must have classes; column {name!r} holds {what} ({held}). Cut it into classes first, or {hint}"
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
            f"{table.n_rows} rows."
        )
