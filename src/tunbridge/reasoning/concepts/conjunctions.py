"""Conjunctions of constraints: the hypotheses of concept learning.

A concept is a set of cases, and a hypothesis says which cases are in it: those that meet all of its constraints, each
of which demands one value of one attribute. ⟨Sunny, ?, ?, Strong⟩ covers every sunny day with a strong wind; a question
mark lets any value pass. Beside these there is the empty concept ⟨∅, ∅, ∅, ∅⟩, which covers nothing.

Over attributes with m_1, …, m_n values there are 1 + Π (m_a + 1) conjunctions: each attribute is free or demands one of
its values, and there is the empty concept. They are ordered by generality: h ≥ g when h covers all that g covers, which
is when every constraint of h is one of g's too.

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, section 2.2 and 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tunbridge._check import did_you_mean, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError

ANY, NOTHING = "?", "∅"


@dataclass(frozen=True, init=False, repr=False)
class Conjunction:
    """A concept: the cases in which every constrained attribute has the value demanded of it.

    Two conjunctions are equal when they have the same attributes and constraints. ``h >= g`` and ``h > g`` compare by
    generality, as sets compare by what they hold; of two conjunctions neither may be the more general one.

    Parameters
    ----------
    attributes : iterable of str
        The names of all attributes, constrained or not, in the order in which they are shown.
    constraints : mapping of str to value, optional
        The values demanded; without any the concept covers everything. :meth:`empty` makes the one that covers nothing.

    Examples
    --------
    >>> import tunbridge as tb
    >>> names = ["sky", "temperature", "wind"]
    >>> h = tb.reasoning.Conjunction(names, {"sky": "Sunny", "wind": "Strong"})
    >>> print(h)
    ⟨Sunny, ?, Strong⟩
    >>> h.covers({"sky": "Sunny", "temperature": "Cold", "wind": "Strong"})
    True
    >>> tb.reasoning.Conjunction(names, {"wind": "Strong"}) > h
    True
    """

    attributes: tuple[str, ...]
    values: tuple[State | None, ...] | None
    """What each attribute must be, None where it is free; None instead of the tuple for the empty concept."""

    def __init__(self, attributes: Iterable[str], constraints: Mapping[str, Any] | None = None) -> None:
        names = _checked_attributes(attributes)
        demanded = _checked_constraints({} if constraints is None else constraints, names)
        object.__setattr__(self, "attributes", names)
        object.__setattr__(self, "values", tuple(demanded.get(name) for name in names))

    @classmethod
    def empty(cls, attributes: Iterable[str]) -> Conjunction:
        """Return the concept that covers nothing.

        Examples
        --------
        >>> print(Conjunction.empty(["sky", "wind"]))
        ⟨∅, ∅⟩
        """
        return cls.of(_checked_attributes(attributes), None)

    @classmethod
    def of(cls, attributes: tuple[str, ...], values: tuple[State | None, ...] | None) -> Conjunction:
        """Return the conjunction of attributes and values that are known to be right."""
        self = object.__new__(cls)
        object.__setattr__(self, "attributes", attributes)
        object.__setattr__(self, "values", values)
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it covers nothing."""
        return self.values is None

    @property
    def constraints(self) -> dict[str, State]:
        """The value that each constrained attribute must have; of the empty concept an error."""
        if self.values is None:
            raise DataError("the empty concept has no constraints that a case could meet; ask is_empty first.")
        return {name: value for name, value in zip(self.attributes, self.values, strict=True) if value is not None}

    @property
    def rule(self) -> str:
        """The constraints in words, which is shorter where there are many attributes.

        Examples
        --------
        >>> Conjunction(["sky", "humidity", "wind"], {"sky": "Sunny", "wind": "Weak"}).rule
        'sky = Sunny and wind = Weak'
        >>> Conjunction(["sky"]).rule, Conjunction.empty(["sky"]).rule
        ('anything', 'nothing')
        """
        if self.values is None:
            return "nothing"
        return " and ".join(f"{name} = {value}" for name, value in self.constraints.items()) or "anything"

    def covers(self, case: Mapping[str, Any] | Sequence[Any]) -> bool:
        """Return whether a case is in the concept.

        Parameters
        ----------
        case : mapping of attribute to value, or sequence of values in the order of the attributes
            Attributes that the concept does not constrain may be left out of a mapping.
        """
        values = self._cells(case)
        if self.values is None:
            return False
        return all(want is None or want == have for want, have in zip(self.values, values, strict=True))

    def generalised(self, case: Mapping[str, Any] | Sequence[Any]) -> Conjunction:
        """Return the least general conjunction that covers what this one covers, and the case: the step of Find-S.

        Examples
        --------
        >>> h = Conjunction.empty(["sky", "wind"]).generalised(["Sunny", "Strong"])
        >>> print(h, h.generalised(["Sunny", "Weak"]))
        ⟨Sunny, Strong⟩ ⟨Sunny, ?⟩
        """
        cells = self._cells(case)
        lacking = [name for name, cell in zip(self.attributes, cells, strict=True) if is_missing(cell)]
        if lacking:
            raise DataError(
                f"a case to learn from must have a value of every attribute; got none of {listed(lacking)}."
            )
        if self.values is None:
            return Conjunction.of(self.attributes, cells)
        pairs = zip(self.values, cells, strict=True)
        return Conjunction.of(self.attributes, tuple(want if want == have else None for want, have in pairs))

    def __ge__(self, other: Conjunction) -> bool:
        if not isinstance(other, Conjunction):
            return NotImplemented
        self._check_same(other)
        if self.values is None or other.values is None:
            return other.values is None
        return all(a is None or a == b for a, b in zip(self.values, other.values, strict=True))

    def __gt__(self, other: Conjunction) -> bool:
        return self >= other and self != other

    def __str__(self) -> str:
        if self.values is None:
            return f"⟨{', '.join([NOTHING] * len(self.attributes))}⟩"
        return f"⟨{', '.join(ANY if value is None else str(value) for value in self.values)}⟩"

    __repr__ = __str__

    def _check_same(self, other: Conjunction) -> None:
        if self.attributes != other.attributes:
            mine, theirs = listed(self.attributes), listed(other.attributes)
            raise DataError(f"conjunctions must have the same attributes to be compared; got {mine} and {theirs}.")

    def _cells(self, case: Any) -> tuple[Any, ...]:
        """Return the values of a case in the order of the attributes, None where it has none."""
        if isinstance(case, Mapping):
            needed = () if self.values is None else self.constraints
            absent = [name for name in needed if name not in case]
            if absent:
                hint = did_you_mean(absent[0], case)
                raise DataError(
                    f"a case must have a value of every constrained attribute; {absent[0]!r} has none. {hint}"
                )
            return tuple(case.get(name) for name in self.attributes)
        if isinstance(case, str) or not isinstance(case, Iterable):
            raise DataError(f"a case must be a mapping or a sequence of values; got {shortened(repr(case))}.")
        values = tuple(case)
        if len(values) != len(self.attributes):
            raise DataError(
                f"a case must have a value of each of the attributes {listed(self.attributes)}; got {listed(values)}."
            )
        return values


def all_conjunctions(variables: Iterable[Variable]) -> Iterator[Conjunction]:
    """Iterate over all conjunctions, the empty concept first and the one that covers everything last.

    Parameters
    ----------
    variables : iterable of Variable
        The attributes with all states that they can be in.

    Examples
    --------
    >>> from tunbridge.data import Variable
    >>> print(*all_conjunctions([Variable("sky", ["Sunny", "Rainy"]), Variable("wind", ["Weak"])]))
    ⟨∅, ∅⟩ ⟨Sunny, Weak⟩ ⟨Sunny, ?⟩ ⟨Rainy, Weak⟩ ⟨Rainy, ?⟩ ⟨?, Weak⟩ ⟨?, ?⟩
    """
    variables = _categorical(variables)
    names = tuple(variable.name for variable in variables)
    yield Conjunction.of(names, None)
    for values in product(*((*(variable.states or ()), None) for variable in variables)):
        yield Conjunction.of(names, values)


def count_conjunctions(variables: Iterable[Variable]) -> int:
    """Return how many conjunctions there are, 1 + Π (m_a + 1).

    Examples
    --------
    >>> import tunbridge as tb
    >>> count_conjunctions(tb.datasets.enjoy_sport().drop(["enjoy"]).variables)
    973
    """
    return 1 + math.prod(variable.n_states + 1 for variable in _categorical(variables))


def _categorical(variables: Iterable[Variable]) -> list[Variable]:
    found = list(variables)
    for variable in found:
        if not isinstance(variable, Variable):
            raise DataError(f"variables must be a list of Variable; got {shortened(repr(variable))} in it.")
        if variable.is_continuous:
            raise DataError(f"attributes must have states; {variable.name!r} is continuous. Discretise it first.")
    return found


def _checked_attributes(attributes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        raise DataError(f"attributes must be a list of names; got {shortened(repr(attributes))}.")
    names = tuple(attributes)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise DataError(f"attributes must be names that are distinct; got {listed(names)}.")
    return names


def _checked_constraints(constraints: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(constraints, Mapping):
        got = shortened(repr(constraints))
        raise DataError(f"constraints must be a mapping of attribute to value; got {got}.")
    for name, value in constraints.items():
        if name not in names:
            raise DataError(f"constraints must name attributes; got {name!r}. {did_you_mean(name, names)}")
        if is_missing(value):
            raise DataError(f"a constraint must demand a value; got {value!r} for {name!r}. Leave it out: it is free.")
    return dict(constraints)
