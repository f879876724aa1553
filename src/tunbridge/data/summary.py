"""What people see of a table: one line a column, and what looks odd about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tunbridge._core.check import shortened
from tunbridge.data.columns import Column, column_to_arrow
from tunbridge.data.formats.spelling import odd_dates
from tunbridge.data.reading import known_text
from tunbridge.data.variable import number_of

_SENTINELS = (-1, -7, -8, -9, -77, -88, -99, -777, -888, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)
_IDENTIFIER_ROWS = 10  # in fewer rows, all values differ by chance
_SURE_ROWS = 100  # in so many rows, integers that all differ need not be consecutive to look like identifiers
_GAPS = 1.5  # of the rows, at most, between the least and the greatest of numbers that are nearly consecutive
_CALLED_SO = re.compile(
    r"(?i:(?:^|[^a-z])(?:id|nr|no|num|number|nummer|key|index|idx|code|uuid|serial)(?:$|[^a-z]))"
    r"|(?:Id|ID|Nr|No|Key|Index|Code|Number|Nummer|nr|nummer|number)$"
)
_SHOWN_STATES = 5
_NAME_WIDTH = 40
_STATE_WIDTH = 20
_STATES_WIDTH = 60
_MOST_ODD = 5


class Facts(NamedTuple):
    """What one pass over a column tells: missing values, the least and the greatest code or float (NaN: none)."""

    n_missing: int
    low: float
    high: float


def facts_of(values: np.ndarray) -> Facts:
    """Return what one pass over the codes or floats of a column tells."""
    values = np.ascontiguousarray(values)  # a column of a matrix is slow to read, so read it once
    missing = np.isnan(values) if values.dtype.kind == "f" else values < 0
    n_missing = int(np.count_nonzero(missing))
    present = values[~missing] if n_missing else values
    if not present.size:
        return Facts(n_missing, np.nan, np.nan)
    return Facts(n_missing, float(present.min()), float(present.max()))


def looks_like_identifier(column: Column) -> bool:
    """Return whether a column without missing values has a value of its own for each of more than ten rows.

    It must be categorical, or hold integers that are consecutive; of a hundred rows at least also nearly so, or rising
    from row to row, or called a number, key or code. Amounts, which differ as well, are none of these.
    """
    variable, values, arrow_type = column
    n_rows, head = len(values), values[:_SURE_ROWS]
    whole = variable.is_categorical or pa.types.is_integer(arrow_type)
    if n_rows <= _IDENTIFIER_ROWS or not whole or 0 < variable.n_states < n_rows:
        return False
    if np.unique(head).size < head.size or np.unique(values).size < n_rows:
        return False
    extent = values.max() - values.min() + 1.0
    if variable.is_categorical or extent == n_rows:
        return True
    steps = np.diff(values)
    is_counted = extent < _GAPS * n_rows or (steps > 0).all() or (steps < 0).all()
    return n_rows >= _SURE_ROWS and bool(is_counted or _CALLED_SO.search(variable.name))


def suspected_markers(column: Column, facts: Facts) -> dict[str, int]:
    """Return the values of a column that may stand for missing ones, and how often each occurs.

    Examples
    --------
    >>> from tunbridge.data.columns import infer_column
    >>> ages = infer_column("age", [31, -99, 45, 62, -99])
    >>> suspected_markers(ages, facts_of(ages.values))
    {'-99': 2}
    """
    variable, values, _ = column
    if variable.is_continuous:
        found = [end for end in (facts.low, facts.high) if end in _SENTINELS and _is_apart(values, end)]
        return {f"{end:g}": int(np.count_nonzero(values == end)) for end in found}
    states = variable.states or ()
    words = [state for state in states if isinstance(state, str)]
    dates = odd_dates(words)
    texts = dates.texts if dates else known_text(words) or _among_numbers(values, states)
    return {text: int(np.count_nonzero(values == states.index(text))) for text in texts}


def _among_numbers(values: np.ndarray, states: Sequence[object]) -> list[str]:
    """Return the few texts of a column whose other values, most of all, are numbers."""
    odd: list[int] = []
    for code, state in enumerate(states):
        if not isinstance(state, str) or (number_of(state) is None and len(odd) == _MOST_ODD):
            return []
        if number_of(state) is None:
            odd.append(code)
    is_number = (
        len(states) > 2 * len(odd) + _MOST_ODD and np.isin(values, odd).sum() < np.count_nonzero(values >= 0) / 2
    )
    return [str(states[code]) for code in odd] if is_number else []


def _is_apart(values: np.ndarray, end: float) -> bool:
    """Return whether a number that often means missing is far from all others: below 0, or twice the next largest."""
    others = values[(values != end) & ~np.isnan(values)]
    if not others.size:
        return False
    if end > 0:
        return bool(2 * others.max() <= end)
    low = others.min()
    return bool(low >= 0 and (end < -1 or (np.count_nonzero(values == end) > 1 and (others == np.rint(others)).all())))


def described(column: Column, facts: Facts) -> tuple[str, str, str]:
    """Return a column's name, kind, and states or range, each short enough for a line."""
    variable = column.variable
    name = _shown_text(variable.name, _NAME_WIDTH)
    if variable.is_continuous:
        return name, "date" if variable.dates else "continuous", _span(column, facts)
    states = ", ".join(_shown_text(state) for state in (variable.states or ())[:_SHOWN_STATES])
    more = f", … ({variable.n_states} states)" if variable.n_states > _SHOWN_STATES else ""
    return name, "categorical", shortened(states, _STATES_WIDTH) + more if states else "no states"


def _span(column: Column, facts: Facts) -> str:
    """Return the least and the greatest value, dates and times as such."""
    if facts.n_missing == len(column.values):
        return "no values"
    t, ends, unit = pa.types, np.array([facts.low, facts.high]), ""
    if t.is_temporal(column.type) and not t.is_duration(column.type):
        texts, unit = _times(column, ends), "Z" if getattr(column.type, "tz", None) else ""
    else:
        texts = [f"{end:.0f}" if t.is_integer(column.type) else f"{end:g}" for end in ends]
        unit = " s" if t.is_duration(column.type) else ""
    return " … ".join(dict.fromkeys(texts)) + unit


def _times(column: Column, ends: np.ndarray) -> list[str]:
    """Return times as people write them, without fractions of a second that are zero; those with a zone in UTC."""
    plain = pa.timestamp(column.type.unit) if pa.types.is_timestamp(column.type) else column.type
    texts = column_to_arrow(Column(column.variable, ends, plain)).cast(pa.string()).to_pylist()
    return [re.sub(r"\.0+$", "", text) for text in texts]


def _shown_text(value: object, width: int = _STATE_WIDTH) -> str:
    text = str(value)
    return shortened(text if text.isprintable() and text.strip() else repr(text), width)


def counted(n: int, noun: str) -> str:
    """Return a number and a noun, in the plural where that is due."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def listed_markers(markers: Iterable[str]) -> str:
    """Return the texts that were read as missing, in brackets.

    Examples
    --------
    >>> listed_markers({"NA": 3, "": 1})
    ' (NA, empty)'
    """
    shown = [_shown_text(marker) if marker else "empty" for marker in markers]
    more = ["…"] if len(shown) > _SHOWN_STATES else []
    return f" ({', '.join(shown[:_SHOWN_STATES] + more)})" if shown else ""
