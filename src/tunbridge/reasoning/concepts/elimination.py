"""Candidate elimination, example by example: how the boundaries S and G close in on each other.

A positive row generalises S just enough to cover it, and removes from G what does not cover it. A negative row
specialises the members of G that cover it, just enough to exclude it, and removes S if it is covered. Whatever lies
between the boundaries is consistent with all rows so far. The order of the rows changes the way, not the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from tunbridge._check import counted
from tunbridge.data import State
from tunbridge.errors import DataError
from tunbridge.reasoning.concepts.concept_evidence import (
    ConceptEvidence,
    cells_of,
    cells_text,
    first_contradiction,
    no_evidence,
    with_rows,
)
from tunbridge.reasoning.concepts.concept_rows import ConceptRows
from tunbridge.reasoning.concepts.concept_target import Target
from tunbridge.reasoning.concepts.conjunctions import Conjunction
from tunbridge.reasoning.concepts.version_members import VersionMembers

MOST_ROWS = 200
"""How many rows are shown one after the other."""


@dataclass(frozen=True)
class EliminationStep:
    """The boundaries after a row.

    Parameters
    ----------
    row : int
        The number of the row, counted from 1; 0 before any.
    cells : tuple
        Its values.
    label : state
        Its class.
    specific, general : tuple of Conjunction
        S and G after it; both empty when no hypothesis is left.
    """

    row: int
    cells: tuple[State, ...]
    label: State
    specific: tuple[Conjunction, ...]
    general: tuple[Conjunction, ...]

    def __str__(self) -> str:
        head = f"row {self.row}: {cells_text(self.cells)} → {self.label}" if self.row else "before any row"
        return "\n".join([head, *_boundary("S", self.specific), *_boundary("G", self.general)])


@dataclass(frozen=True)
class Elimination:
    """Candidate elimination as the textbook shows it; ``print`` it.

    Parameters
    ----------
    steps : tuple of EliminationStep
        The boundaries before any row, and after each; the last one is that of the row that left no hypothesis, if one
        did.
    """

    steps: tuple[EliminationStep, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    __repr__ = __str__


def elimination(rows: ConceptRows, target: Target) -> Elimination:
    """Return the boundaries after each row."""
    if len(rows.positive) > MOST_ROWS:
        raise DataError(
            f"the steps can be shown of {MOST_ROWS} rows at most; got {counted(len(rows.positive), 'row')}. Take the "
            "first ones, or see trace_, which has the rows at which S changed."
        )
    evidence = no_evidence(rows.variables)
    steps = [EliminationStep(0, (), None, *_boundaries(evidence))]
    for i in range(len(rows.positive)):
        row = rows.one(i)
        lost = first_contradiction(evidence, row)
        evidence = with_rows(evidence, row, 1)
        label = target.positive if row.positive[0] else target.negative
        found = _boundaries(evidence) if lost is None else ((), ())
        steps.append(EliminationStep(int(row.numbers[0]), cells_of(row.variables, row.codes(0)), label, *found))
        if lost is not None:
            break
    return Elimination(tuple(steps))


def _boundaries(evidence: ConceptEvidence) -> tuple[tuple[Conjunction, ...], tuple[Conjunction, ...]]:
    """Return S and G of a version space that is not empty."""
    return (evidence.hypothesis,), VersionMembers(evidence).general


def _boundary(name: str, hypotheses: tuple[Conjunction, ...]) -> list[str]:
    shown = [str(h) for h in hypotheses] or ["no hypothesis is left"]
    return [f"    {name if i == 0 else ' '}  {text}" for i, text in enumerate(shown)]
