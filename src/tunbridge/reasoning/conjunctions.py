"""Conjunctions of constraints: the hypotheses of concept learning.

A concept is a set of cases, and a hypothesis says which cases are in it: those that meet all of its constraints, each
of which requires one value of one attribute. ⟨Sunny, ?, ?, Strong⟩ covers every sunny day with a strong wind; a
question mark allows any value. There is also the empty concept ⟨∅, ∅, ∅, ∅⟩, which covers nothing.

Over attributes with m_1, …, m_n values there are 1 + Π (m_a + 1) conjunctions: each attribute is free or requires one
of its values, plus the empty concept. They are ordered by generality: h ≥ g if h covers all that g covers, which is so
if every constraint of h is also one of g.

*Wrong labels.* A version space allows for no error: with one wrong label nothing is left. If each label is wrong with
probability ε, independently, a hypothesis that agrees with k of n labels has

    P(D | h) = (1 − ε)^k ε^(n − k),

and every hypothesis keeps some probability: :func:`concept_space` evaluates them all. With ε = 0 the posterior is
1 / |VS| on the version space.

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
T. M. Mitchell (1997). Machine Learning. McGraw-Hill, section 2.2 and 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tunbridge._core.check import counted, did_you_mean, listed, shortened
from tunbridge.data import State, Variable
from tunbridge.data.variable import is_missing
from tunbridge.errors import DataError
from tunbridge.reasoning.concept_rows import read_rows, row_keys
from tunbridge.reasoning.hypotheses import HypothesisSpace
from tunbridge.reasoning.numbers import MOST_BITS, as_float, as_probability, complement

_MOST_HYPOTHESES, _MOST_PAIRS = 50_000, 4_000_000


@dataclass(frozen=True, init=False, repr=False)
class Conjunction:
    """A concept: the cases in which every constrained attribute has the required value.

    Conjunctions are equal if they have the same attributes and constraints. ``h >= g`` and ``h > g`` compare by
    generality, as sets do; of two conjunctions neither may be the more general one.

    Parameters
    ----------
    attributes : iterable of str
        The names of all attributes, constrained or not, in the order in which they are shown.
    constraints : mapping of str to value, optional
        The required values; without any the concept covers everything. :meth:`empty` makes the one that covers nothing.

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
    """The required value of each attribute, None if it is free; None instead of the tuple for the empty concept."""

    def __init__(self, attributes: Iterable[str], constraints: Mapping[str, Any] | None = None) -> None:
        names = _checked_attributes(attributes)
        required = {} if constraints is None else constraints
        if not isinstance(required, Mapping):
            raise DataError(f"constraints must be a mapping of attribute to value; got {shortened(repr(required))}.")
        for name, value in required.items():
            if name not in names:
                raise DataError(f"constraints must name attributes; got {name!r}. {did_you_mean(name, names)}")
            if is_missing(value):
                raise DataError(f"a constraint must require a value; got {value!r} for {name!r}. Leave it out.")
        self.__dict__.update(attributes=names, values=tuple(required.get(name) for name in names))

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
        """Return the conjunction of attributes and values without checks."""
        self = object.__new__(cls)
        self.__dict__.update(attributes=attributes, values=values)
        return self

    @property
    def is_empty(self) -> bool:
        """Whether it covers nothing."""
        return self.values is None

    @property
    def constraints(self) -> dict[str, State]:
        """The required value of each constrained attribute; an error for the empty concept."""
        if self.values is None:
            raise DataError("the empty concept has no constraints; check is_empty first.")
        return {name: value for name, value in zip(self.attributes, self.values, strict=True) if value is not None}

    @property
    def rule(self) -> str:
        """The constraints in words, which is shorter if there are many attributes.

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
            A mapping may leave out attributes that the concept does not constrain.
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
        missing = [name for name, cell in zip(self.attributes, cells, strict=True) if is_missing(cell)]
        if missing:
            raise DataError(f"a case to learn from must have a value of every attribute; {listed(missing)} is missing.")
        if self.values is None:
            return Conjunction.of(self.attributes, cells)
        pairs = zip(self.values, cells, strict=True)
        return Conjunction.of(self.attributes, tuple(want if want == have else None for want, have in pairs))

    def __ge__(self, other: Conjunction) -> bool:
        if not isinstance(other, Conjunction):
            return NotImplemented
        if self.attributes != other.attributes:
            mine, theirs = listed(self.attributes), listed(other.attributes)
            raise DataError(f"conjunctions must have the same attributes to be compared; got {mine} and {theirs}.")
        if self.values is None or other.values is None:
            return other.values is None
        return all(a is None or a == b for a, b in zip(self.values, other.values, strict=True))

    def __gt__(self, other: Conjunction) -> bool:
        return self >= other and self != other

    def __str__(self) -> str:
        values = ["∅"] * len(self.attributes) if self.values is None else self.values
        return f"⟨{', '.join('?' if value is None else str(value) for value in values)}⟩"

    __repr__ = __str__

    def _cells(self, case: object) -> tuple[Any, ...]:
        """Return the values of a case in the order of the attributes, None if it has none."""
        if isinstance(case, Mapping):
            absent = [name for name in ({} if self.values is None else self.constraints) if name not in case]
            if absent:
                hint = did_you_mean(absent[0], case)
                rule = "a case must have a value of every constrained attribute"
                raise DataError(f"{rule}; {absent[0]!r} has none. {hint}", parameter="case")
            return tuple(case.get(name) for name in self.attributes)
        if isinstance(case, str) or not isinstance(case, Iterable):
            raise DataError(f"a case must be a mapping or a sequence of values; got {shortened(repr(case))}.")
        values = tuple(case)
        if len(values) != len(self.attributes):
            rule = f"a case must have a value of each of the attributes {listed(self.attributes)}"
            raise DataError(f"{rule}; got {listed(values)}.", parameter="case")
        return values


def all_conjunctions(variables: Iterable[Variable]) -> Iterator[Conjunction]:
    """Iterate over all conjunctions, the empty concept first and the one that covers everything last.

    Parameters
    ----------
    variables : iterable of Variable
        The attributes with all their states.

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
    """Return the number of conjunctions, 1 + Π (m_a + 1).

    Examples
    --------
    >>> import tunbridge as tb
    >>> count_conjunctions(tb.datasets.enjoy_sport().drop(["enjoy"]).variables)
    973
    """
    return 1 + math.prod(variable.n_states + 1 for variable in _categorical(variables))


def concept_space(
    X: object,
    y: object = None,
    *,
    noise: object = 0,
    prior: object = None,
    positive: object = None,
    states: Mapping[str, Iterable[State]] | None = None,
) -> HypothesisSpace:
    """Return the space of all conjunctions after rows whose labels may be wrong.

    Parameters
    ----------
    X, y
        As in :meth:`tunbridge.VersionSpace.fit`.
    noise : number
        The probability that a label is wrong, below 1/2. With 0 the answers are those of the version space.
    prior : None, mapping of Conjunction to probability, or sequence
        P(h); default: all equal. A sequence is in the order of :func:`tunbridge.reasoning.all_conjunctions`.
    positive, states
        As in :class:`tunbridge.VersionSpace`.

    Returns
    -------
    HypothesisSpace
        Its hypotheses are conjunctions, its observations pairs of the values of a row and its label, and its cases
        values, or mappings of attribute to value. It predicts whether a case is in the concept, not its noisy label.

    Notes
    -----
    Every conjunction is compared with every different row, which limits them to 50 000 conjunctions and 4 000 000 such
    pairs; a million of them take about a second, without noise about four.

    Examples
    --------
    Fourteen days of tennis are no conjunction of the weather. With one label in five wrong the best one is:

    >>> import tunbridge as tb
    >>> space = tb.reasoning.concept_space(tb.datasets.play_tennis(), "play", noise="1/5")
    >>> len(space), space.map
    (145, ⟨?, ?, Normal, ?⟩)
    """
    wrong = as_probability("noise", noise)
    if wrong >= Fraction(1, 2):
        raise DataError(f"noise must be below 1/2; got {noise!r}.", parameter="noise")
    rows, target, _ = read_rows(X, y, positive=positive, states=states)
    keys, _ = row_keys(rows.columns, [v.n_states for v in rows.variables], len(rows.positive))
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    n_hypotheses = _checked_size(rows.variables, len(first))
    cells = [rows.cells(i) for i in first.tolist()]
    coverage = {case: _covered(rows.variables, rows.codes(i)) for case, i in zip(cells, first.tolist(), strict=True)}
    labels, right = {True: target.positive, False: target.negative}, complement(wrong)
    if wrong and n_hypotheses * len(first) > MOST_BITS:  # too many factors to keep exact weights
        right, wrong = as_float(right), as_float(wrong)

    def likelihood(h: tuple[int, Conjunction], seen: tuple[Any, State]) -> Any:
        known = coverage.get(seen[0]) if isinstance(seen[0], tuple) else None
        covers = h[1].covers(seen[0]) if known is None else known[h[0]] == 1
        return right if labels[covers] == seen[1] else wrong

    def predict(h: tuple[int, Conjunction], case: Mapping[str, object] | Sequence[object]) -> State:
        return labels[h[1].covers(case)]

    hypotheses = {h: (place, h) for place, h in enumerate(all_conjunctions(rows.variables))}
    space = HypothesisSpace(hypotheses, prior, likelihood=likelihood, predict=predict)
    return space.update([(cells[k], labels[p]) for k, p in zip(kinds.tolist(), rows.positive.tolist(), strict=True)])


def _checked_size(variables: Sequence[Variable], n_different: int) -> int:
    n_hypotheses = count_conjunctions(variables)
    if n_hypotheses > _MOST_HYPOTHESES or n_hypotheses * n_different > _MOST_PAIRS:
        limits = f"{counted(_MOST_HYPOTHESES, 'conjunction')} and {counted(_MOST_PAIRS, 'pair')} of one and a row"
        got = f"{counted(n_hypotheses, 'conjunction')} and {counted(n_different, 'different row')}"
        hint = "Leave attributes out, join rare states, or use VersionSpace."
        raise DataError(f"the space must have at most {limits}; got {got}. {hint}")
    return n_hypotheses


def _covered(variables: Sequence[Variable], codes: np.ndarray) -> bytes:
    """Return 1 for each conjunction that covers a row and 0 for the others, in the order of all conjunctions.

    It is an outer product over the attributes: requiring the value of the row is met, and so is requiring nothing.
    """
    covered = np.ones(1, bool)
    for variable, code in zip(variables, codes.tolist(), strict=True):
        required = np.arange(variable.n_states + 1)  # the last requires nothing
        covered = np.logical_and.outer(covered, (required == code) | (required == variable.n_states)).ravel()
    return b"\0" + covered.tobytes()


def _categorical(variables: Iterable[Variable]) -> list[Variable]:
    found = list(variables)
    for variable in found:
        if not isinstance(variable, Variable):
            raise DataError(f"variables must be a list of Variable; got {shortened(repr(variable))} in it.")
        if variable.is_continuous:
            raise DataError(f"attributes must be categorical; {variable.name!r} is continuous. Discretise it first.")
    return found


def _checked_attributes(attributes: Iterable[str]) -> tuple[str, ...]:
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        raise DataError(f"attributes must be a list of names; got {shortened(repr(attributes))}.")
    names = tuple(attributes)
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise DataError(f"attributes must be distinct names; got {listed(names)}.")
    return names
