"""The members of a version space: its boundaries, what belongs to it, and where all of it agrees.

G holds the most general consistent hypotheses. Each keeps just enough constraints to exclude every negative row, and
none that it could do without: G are the minimal sets of constraints (attribute, value) that meet, for each negative row
n, the set of constraints that n violates. They are found by taking the negative rows one after the other (Berge's
algorithm, which here is candidate elimination): a hypothesis that excludes the row stays; one that covers it is
replaced by all its least specialisations that exclude it, less those that are below one that stayed. Where there is a
table of hypotheses (:mod:`tunbridge.reasoning.concepts.version_counts`), G is read off it: the cells from which no
constraint can be dropped.

Everything between S and G is consistent, so the members follow from G by adding constraints of S. All of them cover a
case exactly when S does. None covers it when even the least general of those that might is excluded by a negative row:
the one that demands every value of the case that may be demanded at all.

References
----------
T. M. Mitchell (1982). Generalization as search. Artificial Intelligence 18, 203–226.
C. Berge (1989). Hypergraphs. North-Holland, section 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge.reasoning.concepts.concept_evidence import FREE, ConceptEvidence, hypothesis_of
from tunbridge.reasoning.concepts.conjunctions import Conjunction
from tunbridge.reasoning.concepts.row_sets import row_keys
from tunbridge.reasoning.concepts.version_counts import VersionCounts, version_counts

MOST_GENERAL = 20_000
"""How many hypotheses G may hold where they are found one negative row after the other."""

MOST_LOOKS = 5 * 10**9
"""How many pairs of cells may be compared to see where all hypotheses agree."""

_MOST_STEPS = 5_000_000


@dataclass(frozen=True, eq=False)
class VersionMembers:
    """The version space that evidence leaves, which must not be empty.

    Parameters
    ----------
    evidence : ConceptEvidence
    """

    evidence: ConceptEvidence

    @cached_property
    def counts(self) -> VersionCounts:
        """The members as choices on each attribute."""
        return version_counts(self.evidence)

    @cached_property
    def general(self) -> tuple[Conjunction, ...]:
        """G: the most general members."""
        return tuple(map(self._conjunction, self._general)) or (self.evidence.hypothesis,)

    def listed(self) -> tuple[Conjunction, ...]:
        """Return all members, from the least general to the most general ones."""
        found = sorted(_members(self._general, self.counts), key=lambda codes: codes.count(FREE))
        empty = (self.evidence.hypothesis,) if self.evidence.specific is None else ()
        return (*empty, *map(self._conjunction, found))

    def holds(self, hypothesis: Conjunction) -> bool:
        """Return whether a hypothesis is consistent with the rows."""
        evidence = self.evidence
        if hypothesis.attributes != evidence.names or not hypothesis >= evidence.hypothesis:
            return False
        demanded = zip(evidence.variables, hypothesis.values or (), strict=not hypothesis.is_empty)
        if not all(value is None or value in (variable.states or ()) for variable, value in demanded):
            return False
        return not any(hypothesis.covers(evidence.cells(i)) for i in range(len(evidence.negatives)))

    def agreed(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return for each row whether all members cover it or none does."""
        counts, specific = self.counts, self.evidence.specific
        if counts.has_table:
            votes = counts.votes(columns, n_rows)
            return (votes == 0) | (votes == counts.size)
        covered = np.full(n_rows, specific is not None)
        for a in counts.choices if specific is not None else ():
            covered &= columns[a] == counts.choices[a][0]
        return covered | self._ruled_out(columns, n_rows)

    def _ruled_out(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return which rows no member covers."""
        counts = self.counts
        out = np.zeros(n_rows, bool)
        for a in counts.forced:
            out |= columns[a] != counts.choices[a][0]
        if not len(counts.negatives):
            return out
        cases = np.stack([counts.choice_numbers(columns[a], a) for a in counts.mixed])
        return out | _met(cases, counts)

    @cached_property
    def _general(self) -> list[tuple[int, ...]]:
        """G as codes of all attributes, −1 where free, without the empty concept: there may be none beside it."""
        counts = self.counts
        mixed = _from_table(counts) if counts.has_table else _row_by_row(counts)
        found = np.full((len(mixed), len(self.evidence.variables)), FREE)
        for a in counts.forced:
            found[:, a] = counts.choices[a][0]
        for i, a in enumerate(counts.mixed):
            found[:, a] = np.append(counts.choices[a], FREE)[mixed[:, i]]
        return sorted(map(tuple, found.tolist()), key=_order)

    def _conjunction(self, codes: tuple[int, ...]) -> Conjunction:
        return hypothesis_of(self.evidence.variables, np.array(codes))


def _members(general: Sequence[tuple[int, ...]], counts: VersionCounts) -> Iterator[tuple[int, ...]]:
    """Iterate over the consistent hypotheses as codes, from the most general to the most specific ones."""
    level = set[tuple[int, ...]]()
    for n_constraints in range(len(general[0]) + 1 if general else 0):
        level |= {h for h in general if len(h) - h.count(FREE) == n_constraints}
        yield from sorted(level, key=_order)
        level = {further for h in level for further in _specialisations(h, counts)}


def _specialisations(codes: tuple[int, ...], counts: VersionCounts) -> Iterator[tuple[int, ...]]:
    """Iterate over the hypotheses with one constraint more."""
    for a, choices in counts.choices.items():
        if codes[a] == FREE:
            for code in choices.tolist():
                yield (*codes[:a], code, *codes[a + 1 :])


def _order(codes: tuple[int, ...]) -> tuple[float, ...]:
    """Return what sorts hypotheses: by the first attribute, free ones last, and so on."""
    return tuple(math.inf if code == FREE else code for code in codes)


def _from_table(counts: VersionCounts) -> np.ndarray:
    """Return the consistent cells of which every constraint is needed, as choices on each mixed attribute."""
    consistent = counts.consistent
    found = consistent.copy()
    for (top, size), (all_cells, _) in zip(counts.along_each(found), counts.along_each(consistent), strict=True):
        top[:, :size] &= ~all_cells[:, size:]
    widths = [size + 1 for size in counts.sizes]
    places = np.flatnonzero(found)
    if not widths:
        return np.zeros((len(places), 0), int)
    return np.stack(np.unravel_index(places, widths), axis=1)


def _row_by_row(counts: VersionCounts) -> np.ndarray:
    """Return the same by candidate elimination; a constraint is a bit, a hypothesis the set of its bits."""
    bits = [(i, choice) for i, size in enumerate(counts.sizes) for choice in range(size)]
    rivals = [sum(1 << b for b, (j, _) in enumerate(bits) if j == i) for i, _ in bits]
    if counts.negatives.shape[0] * len(bits) > _MOST_STEPS:
        raise counts.too_many("the general boundary can be listed")
    rows = counts.negatives.tolist()
    violated = {sum(1 << b for b, (i, choice) in enumerate(bits) if row[i] != choice) for row in rows}
    general, steps = {0}, _MOST_STEPS
    for wanted in sorted(violated, key=int.bit_count):
        stay = {h for h in general if h & wanted}
        replaced = [
            h | 1 << b for h in general - stay for b in range(len(bits)) if wanted >> b & 1 and not h & rivals[b]
        ]
        steps -= len(replaced) * max(1, len(stay))
        if len(stay) + len(replaced) > MOST_GENERAL or steps < 0:
            raise counts.too_many("the general boundary can be listed")
        general = stay | {h for h in replaced if not any(g & h == g for g in stay)}
    found = np.array([[*counts.sizes]] * len(general), int).reshape(len(general), len(counts.sizes))
    for row, h in zip(found, general, strict=True):
        for b, (i, choice) in enumerate(bits):
            if h >> b & 1:
                row[i] = choice
    return found


def _met(cases: np.ndarray, counts: VersionCounts) -> np.ndarray:
    """Return which cases some negative row is like in every attribute of which they have a value that may be demanded.

    Goes through the negative rows, or through the kinds of cases with such values of the same attributes, whichever are
    fewer.
    """
    negatives, sizes = counts.negatives, counts.sizes
    live = cases < np.array(sizes)[:, None]
    keys, _ = row_keys(list(live), [2] * len(live), live.shape[1])
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    found = np.zeros(live.shape[1], bool)
    if min(len(negatives), len(first)) * live.size > MOST_LOOKS:
        raise counts.too_many("where all hypotheses agree can be told")
    if len(negatives) <= len(first):
        for negative in negatives:
            found |= ((cases == negative[:, None]) | ~live).all(axis=0)
        return found
    for kind, place in enumerate(first):
        which, known = np.flatnonzero(kinds == kind), np.flatnonzero(live[:, place])
        both = np.concatenate([negatives[:, known].T, cases[np.ix_(known, which)]], axis=1)
        keys, _ = row_keys(list(both), [sizes[i] + 1 for i in known.tolist()], both.shape[1])
        found[which] = np.isin(keys[len(negatives) :], keys[: len(negatives)])
    return found
