"""What rows say about a concept: the boundaries, size and votes of the version space.

*Evidence.* The positive rows together give one hypothesis: S, the least general conjunction that covers them, which
keeps the attributes in which they all agree. Every hypothesis that covers them all is S without some constraints. So of
a negative row n only the set

    D_n = {a : S requires a value of attribute a, and n has another one}

matters: a hypothesis excludes n if it keeps a constraint in D_n. If D_n contains D_m, what excludes m excludes n too,
and n can be dropped. A million rows thus shrink to a handful, in one pass and in any order; further rows are added to
what is left. No conjunction fits all rows if some D_n is empty: S itself covers n.

*Counting.* A hypothesis is a set A of attributes that meets every D_n. An attribute that is a D_n by itself is in every
A; one that is in no D_n doubles the number. Over the r attributes that remain, a table has a cell for each choice: mark
the cells of the negative rows, let «any value» take over the marks along each attribute in turn, and the cells without
a mark are the consistent hypotheses. Adding up along each attribute (the zeta transform) gives, for every kind of case
x, how many of them cover x: the votes of a million rows are lookups. Before the first positive row the table has a cell
for each value of each attribute, and for «any value». A table of more than 2²⁴ cells is refused.

*Boundaries.* G holds the most general consistent hypotheses: the minimal sets of constraints that meet, for each
negative row n, the constraints that n violates. They are the cells of the table from which no constraint can be
dropped.

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
H. Hirsh, N. Mishra, L. Pitt (2004). Version spaces and the consistency problem. Artificial Intelligence 156, 115–138.
R. Kennes (1992). Computational aspects of the Möbius transformation of graphs. IEEE Trans. SMC 22, 201–223.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge.data import State, Variable
from tunbridge.errors import DataError
from tunbridge.reasoning.concept_rows import ConceptRows, cells_of, row_keys
from tunbridge.reasoning.conjunctions import Conjunction

FREE = -1
"""The code of an attribute that S does not constrain."""

MOST_CELLS = 2**24
"""The largest table of hypotheses: 24 attributes in which they differ."""

_MOST_SUBSET_WORK = 200_000_000
_SMALL = 2**22
_SHOWN = 10
_WAYS_OUT = "More rows, especially positive ones, leave fewer hypotheses; or leave attributes out."


# Evidence


@dataclass(frozen=True)
class ConceptRow:
    """A row and a hypothesis: the one after that row, or one that covers it but should not.

    Parameters
    ----------
    row : int
        The number of the row, from 1.
    cells : tuple
        Its values.
    hypothesis : Conjunction
    """

    row: int
    cells: tuple[State, ...]
    hypothesis: Conjunction

    def __str__(self) -> str:
        return f"row {self.row}, {cells_text(self.cells)}: {self.hypothesis}"


@dataclass(frozen=True, eq=False)
class ConceptEvidence:
    """What is kept of rows.

    Parameters
    ----------
    variables : tuple of Variable
        The attributes.
    specific : ndarray of int, or None
        The codes that S requires, −1 for none; None before the first positive row, when S is empty.
    negatives : ndarray of shape (n, n_attributes)
        The codes of negative rows: all different ones before the first positive row, those with a minimal D_n after it.
    numbers : ndarray of int
        Their row numbers.
    n_positive, n_negative, n_rows : int
        The numbers of rows; those of weight zero count in the last only.
    trace : tuple of ConceptRow
        The rows at which S changed.
    """

    variables: tuple[Variable, ...]
    specific: np.ndarray | None
    negatives: np.ndarray
    numbers: np.ndarray
    n_positive: int = 0
    n_negative: int = 0
    n_rows: int = 0
    trace: tuple[ConceptRow, ...] = ()

    @classmethod
    def none(cls, variables: Sequence[Variable]) -> ConceptEvidence:
        """Return the evidence before any row."""
        return cls(tuple(variables), None, np.empty((0, len(variables)), np.int64), np.empty(0, np.int64))

    @property
    def constrained(self) -> np.ndarray:
        """The places of the attributes that S constrains."""
        return np.flatnonzero(self.specific != FREE) if self.specific is not None else np.arange(len(self.variables))

    @property
    def hypothesis(self) -> Conjunction:
        """S."""
        return _conjunction(self.variables, self.specific)

    @cached_property
    def differing(self) -> np.ndarray:
        """D_n of each negative row, as a row of booleans over the constrained attributes."""
        if self.specific is None:
            return np.ones(self.negatives.shape, bool)
        return self.negatives[:, self.constrained] != self.specific[self.constrained]

    @property
    def conflict(self) -> ConceptRow | None:
        """The first negative row that S covers."""
        covered = np.flatnonzero(~self.differing.any(axis=1))
        if not covered.size:
            return None
        place = int(covered[self.numbers[covered].argmin()])
        return ConceptRow(int(self.numbers[place]), cells_of(self.variables, self.negatives[place]), self.hypothesis)

    def with_rows(self, rows: ConceptRows, n_rows: int) -> ConceptEvidence:
        """Return the evidence of earlier rows and these; ``n_rows`` counts these with those of weight zero.

        The variables of the rows may have further states after the earlier ones.
        """
        start, dropped = self._dropped(rows)
        specific = None if start is None else np.where(dropped < len(rows.positive), FREE, start)
        out = np.flatnonzero(~rows.positive)
        negatives = [
            np.concatenate([old.astype(column.dtype), column[out]])
            for old, column in zip(self.negatives.T, rows.columns, strict=True)
        ]
        kept = _that_matter(negatives, specific, rows.variables)
        return ConceptEvidence(
            rows.variables,
            specific,
            np.stack([column[kept] for column in negatives], axis=1).astype(np.int64),
            np.concatenate([self.numbers, rows.numbers[out]])[kept],
            self.n_positive + len(rows.positive) - len(out),
            self.n_negative + len(out),
            self.n_rows + n_rows,
            self.trace + self._changes(rows, start, dropped),
        )

    def first_conflict(self, rows: ConceptRows) -> tuple[int, ConceptRow]:
        """Return the place of the row that leaves no conjunction, and the negative row that S covers from there on.

        These rows must leave none; once none is left none comes back, so that the place is found by bisection.
        """

        def conflict(place: int) -> ConceptRow | None:
            return self.with_rows(rows.part(0, place + 1), place + 1).conflict

        place = bisect_left(range(len(rows.positive)), True, key=lambda place: conflict(place) is not None)
        return place, cast(ConceptRow, conflict(place))

    def _dropped(self, rows: ConceptRows) -> tuple[np.ndarray | None, np.ndarray]:
        """Return S at the start, and the place of the row at which each attribute is dropped from it.

        The place is −1 for attributes that were free before, and the number of rows for those that stay.
        """
        positive, start = np.flatnonzero(rows.positive), self.specific
        dropped = np.full(len(rows.variables), len(rows.positive))
        if start is None:
            if not positive.size:
                return None, dropped
            start = rows.codes(int(positive[0]))
        for a, column in enumerate(rows.columns):
            other = column[positive] != start[a]
            if start[a] == FREE:
                dropped[a] = -1
            elif other.any():
                dropped[a] = positive[other.argmax()]
        return start, dropped

    def _changes(self, rows: ConceptRows, start: np.ndarray | None, dropped: np.ndarray) -> tuple[ConceptRow, ...]:
        """Return the rows at which S changes."""
        if start is None:
            return ()
        places = {int(place) for place in dropped if 0 <= place < len(rows.positive)}
        if self.specific is None:
            places.add(int(rows.positive.argmax()))
        return tuple(
            ConceptRow(
                int(rows.numbers[place]),
                rows.cells(place),
                _conjunction(rows.variables, np.where(dropped <= place, FREE, start)),
            )
            for place in sorted(places)
        )


@dataclass(frozen=True)
class EliminationStep:
    """The boundaries after a row.

    Parameters
    ----------
    row : int
        The number of the row, from 1; 0 before any.
    cells : tuple
        Its values.
    label : state
        Its class.
    specific, general : tuple of Conjunction
        S and G after it; both empty if no hypothesis is left.
    """

    row: int
    cells: tuple[State, ...]
    label: State
    specific: tuple[Conjunction, ...]
    general: tuple[Conjunction, ...]

    def __str__(self) -> str:
        lines = [f"row {self.row}: {cells_text(self.cells)} → {self.label}" if self.row else "before any row"]
        for name, boundary in (("S", self.specific), ("G", self.general)):
            shown = [str(h) for h in boundary] or ["no hypothesis is left"]
            lines += [f"    {name if i == 0 else ' '}  {text}" for i, text in enumerate(shown)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Elimination:
    """Candidate elimination step by step; ``print`` it.

    Parameters
    ----------
    steps : tuple of EliminationStep
        The boundaries before any row, and after each; the last one is the row that left no hypothesis, if one did.
    """

    steps: tuple[EliminationStep, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    __repr__ = __str__


def cells_text(cells: Sequence[State]) -> str:
    """Return the values of a row as text, the first few if there are many."""
    return f"⟨{', '.join([*map(str, cells[:_SHOWN]), *['…'] * (len(cells) > _SHOWN)])}⟩"


def hypothesis_text(hypothesis: Conjunction) -> str:
    """Return a hypothesis as text, only its constraints if there are many attributes."""
    return str(hypothesis) if len(hypothesis.attributes) <= _SHOWN else f"«{hypothesis.rule}»"


def _conjunction(variables: Sequence[Variable], codes: Sequence[int] | np.ndarray | None) -> Conjunction:
    """Return the conjunction of codes, −1 where an attribute is free; for None the empty concept."""
    names = tuple(variable.name for variable in variables)
    if codes is None:
        return Conjunction.of(names, None)
    pairs = zip(variables, codes, strict=True)
    return Conjunction.of(names, tuple(None if code == FREE else (v.states or ())[code] for v, code in pairs))


def _that_matter(
    negatives: Sequence[np.ndarray], specific: np.ndarray | None, variables: Sequence[Variable]
) -> np.ndarray:
    """Return the places of the negative rows to keep: the first of each kind, and with an S the minimal D_n."""
    n_rows = len(negatives[0])
    if specific is None:
        return distinct_rows(negatives, [variable.n_states for variable in variables], n_rows)
    differing = [negatives[a] != specific[a] for a in np.flatnonzero(specific != FREE).tolist()]
    found = distinct_rows(differing, [2] * len(differing), n_rows)
    if not differing:
        return found
    return found[minimal_sets(np.stack([column[found] for column in differing], axis=1))]


def distinct_rows(columns: Sequence[np.ndarray], sizes: Sequence[int], n_rows: int) -> np.ndarray:
    """Return the place of the first of each kind of equal rows, in order."""
    keys, span = row_keys(columns, sizes, n_rows)
    if span > max(_SMALL, 4 * n_rows):
        return np.sort(np.unique(keys, return_index=True)[1])
    first = np.full(span, n_rows)
    first[keys[::-1]] = np.arange(n_rows - 1, -1, -1)  # of equal rows the one that is written last stays
    return np.sort(first[first < n_rows])


def minimal_sets(sets: np.ndarray) -> np.ndarray:
    """Return the places of the sets (rows of booleans) that contain no other one.

    If that takes long the rest is kept: dropping a row saves time and changes no answer.
    """
    order = np.argsort(sets.sum(axis=1), kind="stable")
    packed = np.packbits(sets[order], axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)
    left, work = np.arange(len(order)), _MOST_SUBSET_WORK
    kept: list[int] = []
    while left.size and work > 0:
        least = packed[left[0]]
        kept.append(int(left[0]))
        work -= left.size * packed.shape[1]
        left = left[((packed[left] & least) != least).any(axis=1)]
    return np.sort(order[np.concatenate([np.array(kept, int), left])])


# The version space


@dataclass(frozen=True, eq=False)
class VersionMembers:
    """The consistent hypotheses that evidence leaves, at least one, as choices on each attribute.

    Parameters
    ----------
    evidence : ConceptEvidence
    forced : tuple of int
        The attributes that every hypothesis constrains, by their places.
    free : tuple of int
        Those that it may constrain or not, independently of the others.
    mixed : tuple of int
        The other ones in which hypotheses differ.
    choices : mapping of int to ndarray
        The codes that a constraint on an attribute may require.
    negatives : ndarray of shape (n, n_mixed)
        For each negative row the number of the choice that it meets; the number of choices if it meets none.
    """

    evidence: ConceptEvidence
    forced: tuple[int, ...]
    free: tuple[int, ...]
    mixed: tuple[int, ...]
    choices: dict[int, np.ndarray]
    negatives: np.ndarray

    @classmethod
    def of(cls, evidence: ConceptEvidence) -> VersionMembers:
        """Return the consistent hypotheses that evidence leaves."""
        if evidence.specific is None:
            choices = {a: np.arange(variable.n_states) for a, variable in enumerate(evidence.variables)}
            return cls(evidence, (), (), tuple(choices), choices, evidence.negatives)
        differing, places = evidence.differing, evidence.constrained
        alone = differing[differing.sum(axis=1) == 1].any(axis=0)
        open_rows = differing[~differing[:, alone].any(axis=1)]
        mixed = open_rows.any(axis=0)
        forced, free, open_ = (tuple(places[which].tolist()) for which in (alone, ~alone & ~mixed, mixed))
        choices = {int(a): evidence.specific[[a]] for a in places}
        return cls(evidence, forced, free, open_, choices, open_rows[:, mixed].astype(np.int64))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of choices of each mixed attribute."""
        return tuple(len(self.choices[a]) for a in self.mixed)

    @cached_property
    def size(self) -> int:
        """The number of hypotheses that are consistent with the rows."""
        found = int(self.consistent.sum()) if len(self.negatives) else math.prod(size + 1 for size in self.sizes)
        return (found << len(self.free)) + (self.evidence.specific is None)

    @cached_property
    def consistent(self) -> np.ndarray:
        """Which cells of the table are consistent; the last choice of each attribute is «any value»."""
        n_cells = math.prod(size + 1 for size in self.sizes)
        if n_cells > MOST_CELLS:
            got = f"{n_cells:.3g}, over {counted(len(self.mixed), 'attribute')}"
            raise DataError(f"the table of hypotheses must have at most {MOST_CELLS} cells; got {got}. {_WAYS_OUT}")
        check_memory("the table of hypotheses", 8 * n_cells, ways_out=_WAYS_OUT)
        excluded = np.zeros(n_cells, bool)
        excluded[self._places(self.negatives.T, len(self.negatives))] = True
        for marks, size in self._along_each(excluded):
            marks[:, size] = marks.any(axis=1)
        return ~excluded

    @cached_property
    def _covering(self) -> np.ndarray:
        """How many consistent cells cover each kind of case; the last choice stands for a value that none requires."""
        found = self.consistent.astype(np.int32)
        for sums, size in self._along_each(found):
            sums[:, :size] += sums[:, size:]
        return found

    def votes(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return for each row how many hypotheses cover it, as Python integers if they are large."""
        cases = [self._choice_numbers(columns[a], a) for a in self.mixed]
        wide = self._covering[self._places(cases, n_rows)].astype(np.int64 if self.size.bit_length() < 63 else object)
        doubled = np.zeros(n_rows, np.int64)
        for a in self.free:
            doubled += columns[a] == self.choices[a][0]
        for a in self.forced:
            wide = np.where(columns[a] == self.choices[a][0], wide, 0)
        return wide * 2 ** doubled.astype(wide.dtype)

    def unanimous(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return for each row whether all members cover it or none does."""
        votes = self.votes(columns, n_rows)
        return (votes == 0) | (votes == self.size)

    @cached_property
    def general(self) -> tuple[Conjunction, ...]:
        """G: the most general members."""
        found = tuple(_conjunction(self.evidence.variables, codes) for codes in self._general)
        return found or (self.evidence.hypothesis,)

    def listed(self) -> tuple[Conjunction, ...]:
        """Return all members, from the least general to the most general ones."""
        codes = self._codes(self._choices(self.consistent))
        for a in self.free:
            constrained = codes.copy()
            constrained[:, a] = self.choices[a][0]
            codes = np.concatenate([codes, constrained])
        found = sorted(map(tuple, codes.tolist()), key=lambda codes: (codes.count(FREE), _order(codes)))
        empty = (self.evidence.hypothesis,) if self.evidence.specific is None else ()
        return (*empty, *(_conjunction(self.evidence.variables, codes) for codes in found))

    def __contains__(self, hypothesis: Conjunction) -> bool:
        evidence = self.evidence
        if hypothesis.attributes != evidence.hypothesis.attributes or not hypothesis >= evidence.hypothesis:
            return False
        if hypothesis.values is None:
            return True
        required = zip(evidence.variables, hypothesis.values, strict=True)
        if not all(value is None or value in (variable.states or ()) for variable, value in required):
            return False
        return not any(hypothesis.covers(cells_of(evidence.variables, codes)) for codes in evidence.negatives)

    # The table

    def _choice_numbers(self, column: np.ndarray, attribute: int) -> np.ndarray:
        """Return which choice each code meets; the number of choices if it meets none."""
        choices = self.choices[attribute]
        top = max(int(choices.max(initial=0)), int(column.max(initial=0)))
        table = np.full(top + 1, len(choices))
        table[choices] = np.arange(len(choices))
        return table[column]

    def _places(self, codes: Sequence[np.ndarray] | np.ndarray, n_rows: int) -> np.ndarray:
        """Return the cells of the table for choices on each attribute."""
        places = np.zeros(n_rows, np.int64)
        for column, size in zip(codes, self.sizes, strict=True):
            places = places * (size + 1) + column
        return places

    def _along_each(self, table: np.ndarray) -> list[tuple[np.ndarray, int]]:
        """Return views of a table with the choices of each attribute in turn on the middle axis."""
        widths = [size + 1 for size in self.sizes]
        after = [math.prod(widths[i + 1 :]) for i in range(len(widths))]
        return [(table.reshape(-1, width, rest), width - 1) for width, rest in zip(widths, after, strict=True)]

    @cached_property
    def _general(self) -> list[tuple[int, ...]]:
        """G as codes of all attributes, −1 where free, without the empty concept: there may be none beside it.

        In the table these are the consistent cells of which every constraint is needed.
        """
        if not len(self.negatives):
            return sorted(map(tuple, self._codes(np.array([self.sizes], int)).tolist()), key=_order)
        found = self.consistent.copy()
        for (top, size), (all_cells, _) in zip(self._along_each(found), self._along_each(self.consistent), strict=True):
            top[:, :size] &= ~all_cells[:, size:]
        return sorted(map(tuple, self._codes(self._choices(found)).tolist()), key=_order)

    def _choices(self, cells: np.ndarray) -> np.ndarray:
        """Return the marked cells of the table as choices on each mixed attribute."""
        places = np.flatnonzero(cells)
        if not self.sizes:
            return np.zeros((len(places), 0), int)
        return np.stack(np.unravel_index(places, [size + 1 for size in self.sizes]), axis=1)

    def _codes(self, choices: np.ndarray) -> np.ndarray:
        """Return the hypotheses with these choices as codes of all attributes, −1 where free."""
        found = np.full((len(choices), len(self.evidence.variables)), FREE)
        for a in self.forced:
            found[:, a] = self.choices[a][0]
        for i, a in enumerate(self.mixed):
            found[:, a] = np.append(self.choices[a], FREE)[choices[:, i]]
        return found


def _order(codes: tuple[int, ...]) -> tuple[float, ...]:
    """Return the sort key of hypotheses: by the first attribute, free ones last, and so on."""
    return tuple(math.inf if code == FREE else code for code in codes)
