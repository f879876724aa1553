"""A variable: a name and what values it may take.

A categorical variable has named states in a fixed order; a continuous one has none. States keep the type they came
with (text, whole numbers, truth values, …), so that a prediction is the label that stood in the data, not a copy of
it in another type.

A value is in a state when it equals it, and else when both read alike: the number 1, the number 1.0 and the text "1"
are one state, and so are the truth value and the texts "True" and "true". Missing values (None, NaN, NaT, pandas' NA)
are in no state, not even in one called "None" or "nan".
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tunbridge._check import did_you_mean, listed
from tunbridge.errors import DataError

State = Hashable

MISSING = -1
"""The code of a missing cell in a categorical column."""

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

    Examples
    --------
    >>> outlook = Variable("Outlook", ["Overcast", "Rain", "Sunny"])
    >>> outlook.n_states, outlook.code("Sunny")
    (3, 2)
    >>> Variable("Age")
    Variable('Age', continuous)
    """

    name: str
    states: tuple[State, ...] | None = None
    ordered: bool = False

    def __init__(self, name: str, states: Iterable[State] | None = None, ordered: bool = False) -> None:
        object.__setattr__(self, "name", _checked_name(name))
        object.__setattr__(self, "states", None if states is None else _plain_states(name, states))
        object.__setattr__(self, "ordered", bool(ordered))
        self._check_states()

    def _check_states(self) -> None:
        states = self.states or ()
        try:
            n_distinct = len(self._codes)
        except TypeError as error:
            raise DataError(f"the states of {self.name!r} must be plain values; {error}.") from None
        if n_distinct < len(states):
            twice = [s for i, s in enumerate(states) if self._codes[s] != i]
            raise DataError(f"the states of {self.name!r} must be distinct; got {listed(twice)} more than once.")
        absent = [s for s in states if is_missing(s)] if _kinds(states) - _NEVER_MISSING else []
        if absent:
            hint = "Leave it out: a missing cell is in no state."
            raise DataError(f"the states of {self.name!r} must be values; got {absent[0]!r}. {hint}")

    @property
    def is_categorical(self) -> bool:
        """Whether the variable has states."""
        return self.states is not None

    @property
    def is_continuous(self) -> bool:
        """Whether the variable is a number without states."""
        return self.states is None

    @property
    def n_states(self) -> int:
        """How many states there are (0 for a continuous variable)."""
        return 0 if self.states is None else len(self.states)

    @cached_property
    def _codes(self) -> dict[State, int]:
        return {state: code for code, state in enumerate(self.states or ())}

    @cached_property
    def _codes_of_text(self) -> dict[str, int]:
        pairs = [(text, code) for code, state in enumerate(self.states or ()) for text in _texts(state)]
        return dict(reversed(pairs))  # of states that read alike the first counts

    def find(self, value: object) -> int:
        """Return the code of a state, by value or else by its text; −1 when it is none of the states.

        Examples
        --------
        >>> answer = Variable("Answer", ["0", "1"])
        >>> answer.find("1"), answer.find(1), answer.find(1.0), answer.find(2), answer.find(None)
        (1, 1, 1, -1, -1)
        """
        value = _plain(value)
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
            hint = "It is continuous." if self.states is None else did_you_mean(state, self.states)
            raise DataError(f"{self.name!r} must be in one of its states; got {state!r}. {hint}")
        return code

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.name, self.states, self.ordered)

    def __repr__(self) -> str:
        if self.states is None:
            return f"Variable({self.name!r}, continuous)"
        return f"Variable({self.name!r}, [{listed(self.states)}]{', ordered' if self.ordered else ''})"


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
    except (TypeError, ValueError):  # pandas.NA has no truth value; nor has the comparison of an array, which is not NA
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


def _kinds(values: Iterable[object]) -> set[type]:
    return set(map(type, values))


def _plain(value: Any) -> Any:
    """Return a NumPy or Arrow scalar as the Python value it stands for."""
    if isinstance(value, np.generic):
        return value.item() if value.dtype.kind in "biufU" else value  # the item of a date may be a bare number
    return value.as_py() if hasattr(value, "as_py") else value


def _texts(value: object) -> tuple[str, ...]:
    """Return how a value may be written."""
    if isinstance(value, bool | np.bool_):
        return str(value), str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(value), str(int(value))
    return (str(value),)
