"""A variable: a name and what values it may take.

A categorical variable has named states in a fixed order; a continuous one has none. States keep the type they came
with (text, whole numbers, truth values, …), so that a prediction is the label that stood in the data, not a copy of
it in another type.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

from tunbridge._check import did_you_mean, listed
from tunbridge.errors import DataError

State = Hashable

MISSING = -1
"""The code of a missing cell in a categorical column."""


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
        if not isinstance(name, str) or not name:
            raise DataError(f"a variable's name must be a text that is not empty; got {name!r}.")
        if isinstance(states, str):
            raise DataError(f"the states of {name!r} must be a list; got the text {states!r}.")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "states", None if states is None else tuple(states))
        object.__setattr__(self, "ordered", bool(ordered))
        if self.states is not None and len(self._codes) < len(self.states):
            twice = [s for i, s in enumerate(self.states) if self._codes[s] != i]
            raise DataError(f"the states of {name!r} must be distinct; got {listed(twice)} more than once.")

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
        return {str(state): code for code, state in enumerate(self.states or ())}

    def find(self, value: object) -> int:
        """Return the code of a state, by value or else by its text; −1 when it is none of the states."""
        try:
            code = self._codes.get(value)  # type: ignore[arg-type]
        except TypeError:
            code = None
        return code if code is not None else self._codes_of_text.get(str(value), MISSING)

    def code(self, state: object) -> int:
        """Return the code of a state; raise an error that lists the states when it is none of them."""
        code = self.find(state)
        if code == MISSING:
            raise DataError(
                f"{self.name!r} must be in one of its states; got {state!r}. "
                + (did_you_mean(state, self.states) if self.states is not None else "It is continuous.")
            )
        return code

    def __repr__(self) -> str:
        if self.states is None:
            return f"Variable({self.name!r}, continuous)"
        return f"Variable({self.name!r}, [{listed(self.states)}]{', ordered' if self.ordered else ''})"
