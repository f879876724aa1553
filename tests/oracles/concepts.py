"""Concept learning by going through all conjunctions, and candidate elimination as the textbook has it.

A hypothesis is a tuple with a value or None («any») for each attribute, or the text "nothing" for the empty concept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

NOTHING = "nothing"
Hypothesis = Any
Row = tuple[Any, ...]


def all_hypotheses(states: Sequence[Sequence[Any]]) -> list[Hypothesis]:
    return [NOTHING, *product(*([*values, None] for values in states))]


def covers(h: Hypothesis, row: Row) -> bool:
    return h != NOTHING and all(want is None or want == have for want, have in zip(h, row, strict=True))


def at_least_as_general(h: Hypothesis, g: Hypothesis) -> bool:
    if g == NOTHING:
        return True
    return h != NOTHING and all(a is None or a == b for a, b in zip(h, g, strict=True))


def version_space(states: Sequence[Sequence[Any]], rows: Sequence[Row], labels: Sequence[bool]) -> list[Hypothesis]:
    """Return all hypotheses that say about every row what its label says."""
    pairs = list(zip(rows, labels, strict=True))
    return [h for h in all_hypotheses(states) if all(covers(h, row) == label for row, label in pairs)]


def least(space: Sequence[Hypothesis]) -> set[Hypothesis]:
    return {h for h in space if not any(g != h and at_least_as_general(h, g) for g in space)}


def greatest(space: Sequence[Hypothesis]) -> set[Hypothesis]:
    return {h for h in space if not any(g != h and at_least_as_general(g, h) for g in space)}


def find_s(rows: Sequence[Row], labels: Sequence[bool]) -> Hypothesis:
    """Return the hypothesis of Find-S, row by row."""
    h: Hypothesis = NOTHING
    for row, label in zip(rows, labels, strict=True):
        if label:
            h = row if h == NOTHING else tuple(a if a == b else None for a, b in zip(h, row, strict=True))
    return h


def candidate_elimination(
    states: Sequence[Sequence[Any]], rows: Sequence[Row], labels: Sequence[bool]
) -> list[tuple[set[Hypothesis], set[Hypothesis]]]:
    """Return S and G before any row and after each (Mitchell 1997, table 2.5), also when they are empty."""
    specific: set[Hypothesis] = {NOTHING}
    general: set[Hypothesis] = {(None,) * len(states)}
    found = [(specific, general)]
    for row, label in zip(rows, labels, strict=True):
        if label:
            general = {g for g in general if covers(g, row)}
            wider = {h if covers(h, row) else _generalised(h, row) for h in specific}
            specific = {h for h in wider if any(at_least_as_general(g, h) for g in general)}
        else:
            specific = {h for h in specific if not covers(h, row)}
            narrower = {n for g in general for n in ([g] if not covers(g, row) else _specialised(g, row, states))}
            narrower = {g for g in narrower if any(at_least_as_general(g, h) for h in specific)}
            general = greatest(list(narrower))
        found.append((specific, general))
    return found


def _generalised(h: Hypothesis, row: Row) -> Hypothesis:
    return row if h == NOTHING else tuple(a if a == b else None for a, b in zip(h, row, strict=True))


def _specialised(g: Hypothesis, row: Row, states: Sequence[Sequence[Any]]) -> list[Hypothesis]:
    found: list[Hypothesis] = [NOTHING]
    for i, values in enumerate(states):
        if g[i] is None:
            found += [(*g[:i], value, *g[i + 1 :]) for value in values if value != row[i]]
    return found
