"""A variable: a name and what values it may take.

A categorical variable has named states in a fixed order; a continuous one has none. States keep the type they came
with (text, integers, booleans, …), so that a prediction is
the label in the data, not a copy of it in another type.

A value is in a state when it equals it, and else when both read alike: the number 1, the number 1.0 and the text "1"
are one state, and so are the boolean and the texts "True" and "true". Missing values (None, NaN, NaT, pandas' NA)
are in no state, not even in one called "None" or "nan".

The states of a categorical variable may be intervals of a number: then it has bin edges (``cuts``), and a number is in
the state of its interval. No state of such a variable may be a number or read like one, so a value is a label or a
number, never both.

Bin edges c₁ < … < c_m divide the numbers into m + 1 intervals. A number x is in interval i, counted from 0, when

    c_i < x ≤ c_{i+1},    with c₀ = −∞ and c_{m+1} = ∞,

so a number equal to a bin edge belongs to the interval below it. Which interval that is, is found by bisection.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from tunbridge._core.check import check_number, did_you_mean, listed, repeated, shortened
from tunbridge.errors import DataError

State = Hashable

MISSING = -1
"""The code of a missing value in a categorical column."""

_NEVER_MISSING = {str, int, bool}


@dataclass(frozen=True)
class Variable:
    """A named variable, categorical with ordered states or continuous.

    Parameters
    ----------
    name : str
        Any text; spaces, commas and non-Latin letters included.
    states : iterable of hashable, optional
        The states of a categorical variable, in the order of their codes; ``None`` makes it continuous. No states
        at all is allowed: a column in which every cell is missing.
    ordered : bool
        Whether the order of the states means something (low < normal < high).
    cuts : iterable of float, optional
        The bin edges of a variable whose states are intervals of a number, from low to high: finite, strictly
        increasing, one fewer than the states. A number x is in state i when cuts[i − 1] < x ≤ cuts[i]. The states are
        then ordered, and are named after the bin edges where no others are given.
    dates : bool
        Whether the numbers are dates and times, in seconds since 1970: bin edges and values are then shown as dates.
        It does not count when variables are compared.

    Examples
    --------
    >>> outlook = Variable("Outlook", ["Overcast", "Rain", "Sunny"])
    >>> outlook.n_states, outlook.code("Sunny")
    (3, 2)
    >>> Variable("Age")
    Variable('Age', continuous)
    >>> fever = Variable("Fever", ["none", "mild", "high"], cuts=[37.5, 38.5])
    >>> fever.code("mild"), fever.code(38.5), fever.code(39)
    (1, 1, 2)
    """

    name: str
    states: tuple[State, ...] | None = None
    ordered: bool = False
    cuts: tuple[float, ...] | None = None
    dates: bool = field(default=False, compare=False, metadata={"optional": True})
    is_categorical: bool = field(init=False, compare=False)
    """Whether the variable has states."""
    is_continuous: bool = field(init=False, compare=False)
    """Whether the variable is a number without states."""
    n_states: int = field(init=False, compare=False)
    """How many states there are (0 for a continuous variable)."""
    if TYPE_CHECKING:  # no field: the mapping would double what asdict() returns
        _codes: dict[State, int] = field(init=False)

    def __init__(
        self,
        name: str,
        states: Iterable[State] | None = None,
        ordered: bool = False,
        cuts: Iterable[float] | None = None,
        dates: bool = False,
    ) -> None:
        name = _checked_name(name)
        if cuts is not None:
            cuts = checked_cuts(cuts, f" of {name!r}")
            states, ordered = interval_labels(cuts, dates=dates) if states is None else states, True
        if states is not None:
            states = _plain_states(name, states)
        self.__dict__.update(  # the class is frozen
            name=name,
            states=states,
            ordered=bool(ordered),
            cuts=cuts,
            dates=bool(dates),
            is_categorical=states is not None,
            is_continuous=states is None,
            n_states=len(states or ()),
            _codes=_codes_of(name, states or ()),
        )
        if cuts is not None:
            self._check_intervals()

    def _check_intervals(self) -> None:
        """Raise unless the states can be those of the intervals between the bin edges."""
        states, cuts = self.states or (), self.cuts or ()
        if len(cuts) != len(states) - 1:
            rule = f"must be one fewer than its states, {len(states)}"
            raise DataError(f"the cuts of {self.name!r} {rule}; got {len(cuts)}.")
        numbers = [state for state in states if _finite(state) is not None]
        if numbers:
            rule = f"the states of {self.name!r}, which has cuts, must be no numbers"
            raise DataError(f"{rule}; got {numbers[0]!r}. A number is in its interval; give names such as 'low'.")

    @cached_property
    def _codes_of_text(self) -> dict[str, int]:
        pairs = [(text, code) for code, state in enumerate(self.states or ()) for text in _texts(state)]
        return dict(reversed(pairs))  # of states that read alike the first counts

    def find(self, value: object) -> int:
        """Return the code of a state, by value or else by its text; −1 when it is none of the states.

        With bin edges a finite number, or a text that reads as one, is in the state of its interval. Dates and times
        are seconds, as in a continuous column; texts of them are read in ISO form.

        Examples
        --------
        >>> answer = Variable("Answer", ["0", "1"])
        >>> answer.find("1"), answer.find(1), answer.find(1.0), answer.find(2), answer.find(None)
        (1, 1, 1, -1, -1)
        >>> age = Variable("Age", cuts=[18, 65])
        >>> age.find("18 – 65"), age.find(40), age.find("40"), age.find("old"), age.find(float("nan"))
        (1, 1, 1, -1, -1)
        """
        value = _plain(value)
        if self.cuts is not None and (number := _place_of(value)) is not None:
            return bisect_left(self.cuts, number)
        try:
            code = self._codes.get(value)
        except TypeError:  # it cannot be hashed, so it is no plain value
            return MISSING
        if code is not None:
            return code
        if is_missing(value):
            return MISSING
        return next((c for c in map(self._codes_of_text.get, _texts(value)) if c is not None), MISSING)

    def code(self, state: object) -> int:
        """Return the code of a state; raise an error that lists the states when it is none of them."""
        code = self.find(state)
        if code == MISSING:
            hint = "It is continuous." if self.states is None else self.near_states(state)
            raise DataError(f"{self.name!r} must be in one of its states; got {state!r}. {hint}")
        return code

    def near_states(self, value: object) -> str:
        """Return a hint about a value that is none of the states: the nearest of them, or all.

        Examples
        --------
        >>> Variable("Age", cuts=[18]).near_states("old")
        "Known: '≤ 18', '> 18'. A finite number will do too."
        """
        hint = did_you_mean(value, self.states or ())
        kind = "A date such as 2025-12-24" if self.dates else "A finite number"
        return hint if self.cuts is None else f"{hint} {kind} will do too."

    def renamed(self, name: str) -> Variable:
        """Return the same variable under another name."""
        return self if name == self.name else Variable(name, self.states, self.ordered, self.cuts, self.dates)

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name, self.states, self.ordered, self.cuts, self.dates)

    def __repr__(self) -> str:
        if self.states is None:
            return f"Variable({self.name!r}, continuous)"
        remark = ", ordered" if self.ordered else ""
        if self.cuts is not None:
            shown = [float(f"{cut:.12g}") for cut in self.cuts]
            remark = f", cut at {listed(shown)}" if shown else ", one interval"
        return f"Variable({self.name!r}, [{listed(self.states)}]{remark})"


def is_missing(value: object) -> bool:
    """Return whether a value is one of those that stand for nothing: None, NaN, NaT, pandas' NA.

    Examples
    --------
    >>> is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, False, False)
    """
    if value is None or value is np.ma.masked:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # bool(pandas.NA) raises; so does the comparison of an array, which is not NA
        return type(value).__name__ == "NAType"


def _checked_name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise DataError(f"a variable's name must be a text that is not empty; got {name!r}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(f"a variable's name must be text that UTF-8 can write; got {name!r}.") from None
    return str.__str__(name)  # the text alone of a subclass such as numpy.str_


def _plain_states(name: str, states: Iterable[State]) -> tuple[State, ...]:
    if isinstance(states, set | frozenset):
        hint = "A set has no order, and tables are read by it."
        raise DataError(f"the states of {name!r} must be a list; got the set {states!r}. {hint}")
    if isinstance(states, str | bytes) or not isinstance(states, Iterable):
        raise DataError(f"the states of {name!r} must be a list; got {states!r}.")
    states = tuple(states)
    foreign = any(issubclass(kind, np.generic) or hasattr(kind, "as_py") for kind in _kinds(states))
    return tuple(map(_plain, states)) if foreign else states


def _codes_of(name: str, states: tuple[State, ...]) -> dict[State, int]:
    """Return the codes of states; raise unless they are distinct values."""
    try:
        codes = {state: code for code, state in enumerate(states)}
    except TypeError as error:
        raise DataError(f"the states of {name!r} must be plain values; {error}.") from None
    if len(codes) < len(states):
        raise DataError(f"the states of {name!r} must be distinct; got {listed(repeated(states))} more than once.")
    absent = [s for s in states if is_missing(s)] if _kinds(states) - _NEVER_MISSING else []
    if absent:
        hint = "Leave it out: a missing value is in no state."
        raise DataError(f"the states of {name!r} must be values; got {absent[0]!r}. {hint}")
    return codes


def _kinds(values: Iterable[object]) -> set[type]:
    return set(map(type, values))


def _plain(value: object) -> Any:
    """Return a NumPy or Arrow scalar as the Python value it stands for."""
    if isinstance(value, np.generic):
        return value.item() if value.dtype.kind in "biufU" else value  # the item of a date may be a bare number
    return value.as_py() if hasattr(value, "as_py") else value


def _finite(value: object) -> float | None:
    """Return the number that a value is or spells, if it is finite."""
    number = number_of(value)
    return number if number is not None and math.isfinite(number) else None


def _place_of(value: object) -> float | None:
    """Return the finite number, or the date in seconds, that a value is or spells."""
    number = _finite(value)
    return seconds_of(value) if number is None and isinstance(value, str) else number


def seconds_of(text: str) -> float | None:
    """Return a date or time in ISO form in seconds since 1970; None for every other text.

    Examples
    --------
    >>> seconds_of("1970-01-02"), seconds_of("1970-01-01 00:01"), seconds_of("02.01.1970")
    (86400.0, 60.0, None)
    """
    if not _ISO.match(text.strip()):
        return None
    try:
        return number_of(datetime.datetime.fromisoformat(text.strip()))
    except ValueError:
        return None


def date_text(seconds: float) -> str:
    """Return a date or time in ISO form, given in seconds since 1970; without the time of day at midnight.

    Examples
    --------
    >>> date_text(86400.0), date_text(90000.0), date_text(1e300)
    ('1970-01-02', '1970-01-02 01:00', '1e+300')
    """
    try:
        time = _EPOCH + datetime.timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return f"{seconds:.6g}"
    text = time.isoformat(" ", "microseconds")
    return text.removesuffix(".000000").removesuffix(":00").removesuffix(" 00:00")


def shown_value(variable: Variable, value: Any) -> Any:
    """Return a value as people read it: a number that is a date in ISO form, all others as they are.

    Examples
    --------
    >>> shown_value(Variable("seen", dates=True), 86400.0), shown_value(Variable("age"), 31.0)
    ('1970-01-02', 31.0)
    """
    return date_text(value) if variable.dates and isinstance(value, float) else value


def _texts(value: object) -> tuple[str, ...]:
    """Return how a value may be written."""
    if isinstance(value, bool | np.bool_):
        return str(value), str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(value), str(int(value))
    return (str(value),)


_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:$|[ T])")
_HALF_DAY = 43200.0


def iterated_cuts(cuts: object, whose: str = "") -> Iterable[Any]:
    """Return what may be a list of bin edges; raise for what cannot be one."""
    if isinstance(cuts, (str, bytes, Mapping)) or not isinstance(cuts, Iterable):
        raise DataError(f"{_named(whose)} must be a list of numbers; got {shortened(repr(cuts))}.")
    return cuts


def checked_cuts(cuts: object, whose: str = "") -> tuple[float, ...]:
    """Return bin edges as floats; raise unless they are finite and strictly increasing.

    ``whose`` is for the message, such as " of 'age'".

    Examples
    --------
    >>> checked_cuts([18, 65])
    (18.0, 65.0)
    """
    # Adding zero makes −0.0 an ordinary zero.
    found = tuple(check_number(f"a bin edge{whose}", cut) + 0.0 for cut in iterated_cuts(cuts, whose))
    for before, cut in itertools.pairwise(found):
        if not before < cut:
            rule = f"{_named(whose)} must be strictly increasing"
            raise DataError(f"{rule}; got {cut} after {before}. Sort them, drop repeats.")
    return found


def interval_labels(cuts: tuple[float, ...], *, dates: bool = False) -> tuple[str, ...]:
    """Return the names of the intervals, from low to high, with as many digits as distinguish the bin edges.

    Examples
    --------
    >>> interval_labels((37.5, 38.5))
    ('≤ 37.5', '37.5 – 38.5', '> 38.5')
    >>> interval_labels((0.0, 129600.0), dates=True)
    ('≤ 1970-01-01', '1970-01-01 – 1970-01-02', '> 1970-01-02')
    """
    if not cuts:
        return ("all",)
    texts = _distinct_dates(cuts) if dates else _distinct_texts(cuts)
    between = [f"{low} – {high}" for low, high in itertools.pairwise(texts)]
    return (f"≤ {texts[0]}", *between, f"> {texts[-1]}")


def number_of(value: object) -> float | None:
    """Return the number that a value is or that a text spells; None for everything else, booleans included.

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
    except (ValueError, OverflowError):  # no number; an integer beyond the doubles
        return None
    return _seconds(value)


def _named(whose: str) -> str:
    return f"the cuts{whose}" if whose else "cuts"


def _seconds(value: object) -> float | None:
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


def _distinct_dates(cuts: tuple[float, ...]) -> list[str]:
    """Return bin edges as dates, with their time of day only where days do not tell them apart.

    Between two days edges are at midnight or noon, and no date lies between that and the midnight before.
    """
    times = [date_text(cut) for cut in cuts]
    days = [text[: len("2025-12-24")] for text in times]
    is_of_days = all(cut % _HALF_DAY == 0.0 for cut in cuts) and len(set(days)) == len(days)
    texts = days if is_of_days else times
    return texts if len(set(texts)) == len(texts) else _distinct_texts(cuts)


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
