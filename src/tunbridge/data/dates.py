"""Dates as features: year, month, weekday and hour beside the date itself, which is one ordered number.

A date as a number tells early from late. What repeats (the season, the days of a week, the hours of a day) a model can
only learn from columns of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from tunbridge._core.check import as_list
from tunbridge.data.arrow import Frame
from tunbridge.data.columns import Column, holds_dates
from tunbridge.data.frames import as_table
from tunbridge.data.table import Table
from tunbridge.data.values import DAY
from tunbridge.data.variable import MISSING, Variable
from tunbridge.errors import DataError

MONTHS = tuple(range(1, 13))
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOUR = 3600


def with_date_parts(frame: Frame, columns: Iterable[str] | None = None) -> Table:
    """Return the table with columns ``"X year"``, ``"X month"``, ``"X weekday"`` and ``"X hour"`` for each date X.

    Year and hour are numbers, month and weekday categories. There is no hour where no value has a time of day.

    Parameters
    ----------
    frame : any frame
        The data.
    columns : iterable of str, optional
        The columns of dates; default: all of them.

    Examples
    --------
    >>> from datetime import date
    >>> import tunbridge as tb
    >>> tb.with_date_parts({"seen": [date(2025, 12, 24), date(2026, 1, 6)], "ill": ["yes", "no"]})
    Table: 2 rows × 5 columns, 0 missing values
      seen          date         2025-12-24 … 2026-01-06
      ill           categorical  no, yes
      seen year     continuous   2025 … 2026
      seen month    categorical  1, 2, 3, 4, 5, … (12 states)
      seen weekday  categorical  Mon, Tue, Wed, Thu, Fri, … (7 states)
    """
    table = as_table(frame)
    chosen = date_columns(table) if columns is None else as_list("columns", columns, "column names")
    for name in chosen:
        if not _is_date(table.column(name)):
            raise DataError(f"columns must name dates; got {name!r}, which holds none.", parameter="columns")
    parts = [part for name in chosen for part in date_parts(name, table.floats(name))]
    taken = [part.variable.name for part in parts if part.variable.name in table.positions]
    if taken:
        raise DataError(f"the table must not have the columns that are added; it has {taken[0]!r}. Rename it.")
    return table.with_columns([*table, *parts])


def date_columns(table: Table) -> list[str]:
    """Return the names of the columns of dates."""
    return [column.variable.name for column in table if _is_date(column)]


def date_parts(name: str, seconds: np.ndarray, *, hours: bool | None = None) -> Iterator[Column]:
    """Yield year, month, weekday and hour of dates in seconds since 1970; hours None: if any is not midnight."""
    missing = np.isnan(seconds)
    days = np.floor(np.where(missing, 0, seconds) / DAY).astype(np.int64)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    years, of_day = months // 12 + 1970, np.floor((np.where(missing, 0, seconds) - days * DAY) / _HOUR)
    yield Column(Variable(f"{name} year"), np.where(missing, np.nan, years.astype(float)), pa.int64())
    yield Column(Variable(f"{name} month", MONTHS), np.where(missing, MISSING, months % 12).astype(np.int8), pa.int64())
    weekday = np.where(missing, MISSING, (days + 3) % 7).astype(np.int8)  # 1970 began on a Thursday
    yield Column(Variable(f"{name} weekday", WEEKDAYS), weekday, pa.string())
    if of_day.any() if hours is None else hours:
        yield Column(Variable(f"{name} hour"), np.where(missing, np.nan, of_day), pa.int64())


def _is_date(column: Column) -> bool:
    return column.variable.is_continuous and holds_dates(column.type)
