"""What rows say about a concept: the least general hypothesis S, and the negative rows that matter.

All positive rows together demand one hypothesis: S, the least general conjunction that covers them, which keeps the
attributes in which they all agree. Every hypothesis that covers them all is S with some constraints left out. So of a
negative row n only the set

    D_n = {a : S demands a value of attribute a, and n has another one}

matters: a hypothesis excludes n when it keeps a constraint in D_n. If D_n holds all of D_m, what excludes m excludes n
too, and n can be forgotten. A million rows thus shrink to a handful, in one pass and in any order. Further rows are
added to what is left: S only ever loses constraints, and every D_n with it.

No conjunction fits all rows when some D_n is empty: S itself covers n. With t_a the row at which attribute a is dropped
from S, row n is covered from row max(n, max_{a ∈ D_n} t_a) on, and the least of these is where the space became empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge.data import State, Variable
from tunbridge.reasoning.concepts.concept_rows import ConceptRows
from tunbridge.reasoning.concepts.conjunctions import Conjunction
from tunbridge.reasoning.concepts.row_sets import distinct_rows, minimal_sets

FREE = -1
"""The code of an attribute that S does not constrain."""

_SHOWN = 10


@dataclass(frozen=True)
class ConceptRow:
    """A row and a hypothesis: the one to which the row led, or one that covers it though it should not.

    Parameters
    ----------
    row : int
        The number of the row, counted from 1.
    cells : tuple
        Its values.
    hypothesis : Conjunction
    """

    row: int
    cells: tuple[State, ...]
    hypothesis: Conjunction

    def __str__(self) -> str:
        return f"row {self.row}, {cells_text(self.cells)}: {self.hypothesis}"


@dataclass(frozen=True)
class Contradiction:
    """Where no conjunction is left that fits the rows.

    Parameters
    ----------
    row : int
        The number of the row that left none, counted from 1.
    cells : tuple
        Its values.
    negative_row : int
        The number of the negative row that S covers: this row, or an earlier one.
    negative_cells : tuple
        Its values.
    hypothesis : Conjunction
        S, as the positive rows so far demand it.
    """

    row: int
    cells: tuple[State, ...]
    negative_row: int
    negative_cells: tuple[State, ...]
    hypothesis: Conjunction


@dataclass(frozen=True, eq=False)
class ConceptEvidence:
    """What is kept of rows.

    Parameters
    ----------
    variables : tuple of Variable
        The attributes.
    specific : ndarray of int, or None
        The codes that S demands, −1 where it demands none; None before the first positive row, when S is empty.
    negatives : ndarray of shape (n, n_attributes)
        The codes of negative rows: all different ones before the first positive row, those with a least D_n after it.
    numbers : ndarray of int
        Their row numbers.
    n_positive, n_negative, n_rows : int
        How many rows there were; those of weight zero count in the last only.
    trace : tuple of ConceptRow
        The rows at which S changed, one more than there are attributes at most.
    """

    variables: tuple[Variable, ...]
    specific: np.ndarray | None
    negatives: np.ndarray
    numbers: np.ndarray
    n_positive: int
    n_negative: int
    n_rows: int
    trace: tuple[ConceptRow, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(variable.name for variable in self.variables)

    @property
    def constrained(self) -> np.ndarray:
        """The places of the attributes that S constrains."""
        return np.flatnonzero(self.specific != FREE) if self.specific is not None else np.arange(len(self.variables))

    @property
    def hypothesis(self) -> Conjunction:
        """S."""
        return hypothesis_of(self.variables, self.specific)

    @cached_property
    def differing(self) -> np.ndarray:
        """D_n of each negative row, as a row of truth values over the constrained attributes."""
        if self.specific is None:
            return np.ones(self.negatives.shape, bool)
        return self.negatives[:, self.constrained] != self.specific[self.constrained]

    @property
    def covered(self) -> np.ndarray:
        """The places of negative rows that S covers."""
        return np.flatnonzero(~self.differing.any(axis=1)) if self.specific is not None else np.empty(0, int)

    def cells(self, place: int) -> tuple[State, ...]:
        """Return the values of a negative row."""
        return cells_of(self.variables, self.negatives[place])


def no_evidence(variables: Sequence[Variable]) -> ConceptEvidence:
    """Return what is known before any row."""
    none = np.empty((0, len(variables)), np.int64)
    return ConceptEvidence(tuple(variables), None, none, np.empty(0, np.int64), 0, 0, 0, ())


def with_rows(before: ConceptEvidence, rows: ConceptRows, n_rows: int) -> ConceptEvidence:
    """Return the evidence of earlier rows and these together; ``n_rows`` says how many they are, weightless ones too.

    The codes of the earlier states must be those of the rows' variables, which may have further states.
    """
    start, dropped = _dropped(before, rows)
    specific = None if start is None else np.where(dropped < len(rows.positive), FREE, start)
    out = np.flatnonzero(~rows.positive)
    negatives = tuple(
        np.concatenate([old.astype(column.dtype), column[out]])
        for old, column in zip(before.negatives.T, rows.columns, strict=True)
    )
    numbers = np.concatenate([before.numbers, rows.numbers[out]])
    kept = _that_matter(negatives, specific, rows.variables)
    return ConceptEvidence(
        rows.variables,
        specific,
        np.stack([column[kept] for column in negatives], axis=1).astype(np.int64),
        numbers[kept],
        before.n_positive + len(rows.positive) - len(out),
        before.n_negative + len(out),
        before.n_rows + n_rows,
        before.trace + _steps(before, rows, start, dropped),
    )


def first_contradiction(before: ConceptEvidence, rows: ConceptRows) -> Contradiction | None:
    """Return the first of these rows with which no conjunction fits all rows; None if one does."""
    start, dropped = _dropped(before, rows)
    if start is None:
        return None
    positive, out = np.flatnonzero(rows.positive), np.flatnonzero(~rows.positive)
    since = np.concatenate([np.full(len(before.negatives), -1), out])  # the place of each negative row
    if before.specific is None:
        since = np.maximum(since, positive[0])
    for a in np.flatnonzero(start != FREE):
        column = np.concatenate([before.negatives[:, a], rows.columns[a][out]])
        np.maximum(since, np.where(column != start[a], dropped[a], -1), out=since)
    if not since.size or (place := int(since.min())) >= len(rows.positive):
        return None
    which = int(since.argmin())
    earlier = which < len(before.negatives)
    negative = before.negatives[which] if earlier else rows.codes(int(out[which - len(before.negatives)]))
    number = before.numbers[which] if earlier else rows.numbers[out[which - len(before.negatives)]]
    return Contradiction(
        int(rows.numbers[place]),
        cells_of(rows.variables, rows.codes(place)),
        int(number),
        cells_of(rows.variables, negative),
        hypothesis_of(rows.variables, np.where(dropped <= place, FREE, start)),
    )


def hypothesis_of(variables: Sequence[Variable], codes: np.ndarray | None) -> Conjunction:
    """Return the conjunction of codes, −1 where an attribute is free; of None the empty concept."""
    names = tuple(variable.name for variable in variables)
    if codes is None:
        return Conjunction.of(names, None)
    pairs = zip(variables, codes.tolist(), strict=True)
    return Conjunction.of(names, tuple(None if code == FREE else (v.states or ())[code] for v, code in pairs))


def cells_text(cells: Sequence[State]) -> str:
    """Return the values of a row for people, the first ones only of many."""
    shown = [*map(str, cells[:_SHOWN]), *["…"] * (len(cells) > _SHOWN)]
    return f"⟨{', '.join(shown)}⟩"


def hypothesis_text(hypothesis: Conjunction) -> str:
    """Return a hypothesis for people: its constraints alone where there are many attributes."""
    return str(hypothesis) if len(hypothesis.attributes) <= _SHOWN else f"«{hypothesis.rule}»"


def cells_of(variables: Sequence[Variable], codes: np.ndarray) -> tuple[State, ...]:
    """Return the values of a row."""
    return tuple((v.states or ())[code] for v, code in zip(variables, codes.tolist(), strict=True))


def _dropped(before: ConceptEvidence, rows: ConceptRows) -> tuple[np.ndarray | None, np.ndarray]:
    """Return S at its start, and the place of the row at which each attribute is dropped from it.

    The place is −1 for attributes that were free before, and the number of rows for those that stay.
    """
    positive, n_rows = np.flatnonzero(rows.positive), len(rows.positive)
    start = before.specific
    if start is None and positive.size:
        start = rows.codes(int(positive[0]))
    dropped = np.full(len(rows.variables), n_rows)
    if start is None:
        return None, dropped
    for a, column in enumerate(rows.columns):
        other = column[positive] != start[a]
        if start[a] == FREE:
            dropped[a] = -1
        elif other.any():
            dropped[a] = positive[other.argmax()]
    return start, dropped


def _steps(
    before: ConceptEvidence, rows: ConceptRows, start: np.ndarray | None, dropped: np.ndarray
) -> tuple[ConceptRow, ...]:
    """Return the rows at which S changes."""
    if start is None:
        return ()
    places = {int(place) for place in dropped if 0 <= place < len(rows.positive)}
    if before.specific is None:
        places.add(int(rows.positive.argmax()))
    return tuple(
        ConceptRow(
            int(rows.numbers[place]),
            cells_of(rows.variables, rows.codes(place)),
            hypothesis_of(rows.variables, np.where(dropped <= place, FREE, start)),
        )
        for place in sorted(places)
    )


def _that_matter(
    negatives: Sequence[np.ndarray], specific: np.ndarray | None, variables: Sequence[Variable]
) -> np.ndarray:
    """Return the places of the negative rows to keep: the first of each kind, and with an S the least D_n."""
    n_rows = len(negatives[0])
    if specific is None:
        return distinct_rows(negatives, [variable.n_states for variable in variables], n_rows)
    differing = [negatives[a] != specific[a] for a in np.flatnonzero(specific != FREE).tolist()]
    found = distinct_rows(differing, [2] * len(differing), n_rows)
    if not differing:
        return found
    return found[minimal_sets(np.stack([column[found] for column in differing], axis=1))]
