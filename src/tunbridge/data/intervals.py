"""Intervals of numbers: the cut points between them, their names, and the numbers that values stand for.

Cut points c₁ < … < c_m part the numbers into m + 1 intervals. A number x is in interval i, counted from 0, when

    c_i < x ≤ c_{i+1},    with c₀ = −∞ and c_{m+1} = ∞,

so a number equal to a cut point belongs to the interval below it. Which interval that is, is found by bisection.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from tunbridge._check import check_number, shortened
from tunbridge.errors import DataError

_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)


def iterated_cuts(cuts: Any, whose: str = "") -> Iterable[Any]:
    """Return what may be a list of cut points; raise for what cannot be one."""
    if isinstance(cuts, (str, bytes, Mapping)) or not isinstance(cuts, Iterable):
        raise DataError(f"{_named(whose)} must be a list of numbers; got {shortened(repr(cuts))}.")
    return cuts


def checked_cuts(cuts: Any, whose: str = "") -> tuple[float, ...]:
    """Return cut points as floats; raise unless they are finite and strictly increasing.

    ``whose`` is for the message, such as " of 'age'".

    Examples
    --------
    >>> checked_cuts([18, 65])
    (18.0, 65.0)
    """
    # Adding zero makes −0.0 an ordinary zero.
    found = tuple(check_number(f"a cut point{whose}", cut) + 0.0 for cut in iterated_cuts(cuts, whose))
    for before, cut in itertools.pairwise(found):
        if not before < cut:
            rule = f"{_named(whose)} must be strictly increasing"
            raise DataError(f"{rule}; got {cut} after {before}. Sort them, drop repeats.")
    return found


def interval_labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return the names of the intervals, from low to high, with as many digits as tell the cut points apart.

    Examples
    --------
    >>> interval_labels((37.5, 38.5))
    ('≤ 37.5', '37.5 – 38.5', '> 38.5')
    """
    if not cuts:
        return ("all",)
    texts = _distinct_texts(cuts)
    between = [f"{low} – {high}" for low, high in itertools.pairwise(texts)]
    return (f"≤ {texts[0]}", *between, f"> {texts[-1]}")


def number_of(value: Any) -> float | None:
    """Return the number that a value is or that a text spells; None for everything else, truth values included.

    Dates, times and durations are seconds, as they are in a continuous column: counted from 1970, in UTC where there is
    a time zone, or from midnight.

    Examples
    --------
    >>> number_of(37), number_of(" 37.5 "), number_of("high"), number_of(True)
    (37.0, 37.5, None, None)
    """
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, np.timedelta64):  # which NumPy takes for a number
        return _seconds(value)
    try:
        if isinstance(value, str):
            return None if "_" in value else float(value)
        if isinstance(value, Real | Decimal):
            return float(value)
    except (ValueError, OverflowError):  # no number; a whole number beyond the doubles
        return None
    return _seconds(value)


def _named(whose: str) -> str:
    return f"the cuts{whose}" if whose else "cuts"


def _seconds(value: Any) -> float | None:
    """Return a date, a time or a duration in seconds; None for what is none of them."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else _whole_and_rest(int(value.astype(f"{value.dtype.kind}8[us]").astype(int)))
    if isinstance(value, datetime.datetime):
        since: datetime.timedelta = value - _EPOCH.replace(tzinfo=value.tzinfo and datetime.UTC)
    elif isinstance(value, datetime.date):
        since = value - _EPOCH.date()
    elif isinstance(value, datetime.time):
        since = datetime.datetime.combine(_EPOCH, value.replace(tzinfo=None)) - _EPOCH
    elif isinstance(value, datetime.timedelta):
        since = value
    else:
        return None
    return _whole_and_rest(since // _MICROSECOND) if since == since else None  # NaT is a date, and nothing


def _whole_and_rest(microseconds: int) -> float:
    """Return microseconds as seconds, rounded as a column of times is: whole seconds and the rest apart."""
    whole, rest = divmod(abs(microseconds), 10**6)
    return math.copysign(whole + rest / 1e6, microseconds)


def _distinct_texts(cuts: tuple[float, ...]) -> list[str]:
    """Return the cuts with the fewest significant digits, at least four, that keep all of them distinct."""
    for digits in range(4, 18):  # 17 digits tell any two doubles apart
        texts = [_text(cut, digits) for cut in cuts]
        if len(set(texts)) == len(texts):
            break
    return texts


def _text(number: float, digits: int) -> str:
    """Return a number as people write it; the digits before the decimal point are never rounded away."""
    if number == 0 or not 1e-4 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    text = f"{number:.{max(0, digits - 1 - math.floor(math.log10(abs(number))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
