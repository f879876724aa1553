"""The version space, counted: all conjunctions that fit the rows, without a list of them.

A consistent hypothesis covers every positive row and no negative one. Once there is a positive row, each is S with some
constraints left out, so it is a set A of attributes; it is consistent when A meets every D_n
(:mod:`tunbridge.reasoning.concepts.concept_evidence`). An attribute that is a D_n by itself is in every A; one that is
in no D_n may be in A or not and only doubles the number. Over the r attributes that remain, a table with a cell for
each choice is filled at once: mark the cells of the negative rows, let «any value» take over the marks along each
attribute in turn, and the cells without a mark are the consistent hypotheses. Adding up along each attribute in turn
then gives, for every kind of case x, how many of them cover x (the zeta transform). The vote of a million rows is a
look-up.

Before the first positive row the same table has a cell for each value of each attribute, and for «any value».

Where the table would be too large, hypotheses are counted attribute by attribute: all that exclude the same negative
rows so far are counted together. That is exact too, and quick as long as few negative rows matter.

References
----------
H. Hirsh, N. Mishra, L. Pitt (2004). Version spaces and the consistency problem. Artificial Intelligence 156, 115–138.
R. Kennes (1992). Computational aspects of the Möbius transformation of graphs. IEEE Trans. SMC 22, 201–223.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.reasoning.concepts.concept_evidence import ConceptEvidence
from tunbridge.reasoning.concepts.row_sets import row_keys

MOST_CELLS = 2**24
"""The largest table of hypotheses; more of them are counted attribute by attribute."""

MOST_STEPS = 2_000_000
"""How many steps, of sixty-four negative rows each, the latter may take."""

_WAYS_OUT = "More rows, positive ones above all, leave fewer hypotheses; or leave attributes out."


@dataclass(frozen=True, eq=False)
class VersionCounts:
    """The consistent hypotheses, as choices on each attribute.

    Parameters
    ----------
    forced : tuple of int
        The attributes that every hypothesis constrains, by their places.
    free : tuple of int
        Those that it may constrain or not, whatever the others.
    mixed : tuple of int
        Those that hypotheses differ in otherwise.
    choices : mapping of int to ndarray
        The codes that a constraint on an attribute may demand.
    negatives : ndarray of shape (n, n_mixed)
        For each negative row the number of the choice that it meets; the number of choices where it meets none.
    with_empty : bool
        Whether the empty concept is among the hypotheses: there is no positive row.
    """

    forced: tuple[int, ...]
    free: tuple[int, ...]
    mixed: tuple[int, ...]
    choices: dict[int, np.ndarray]
    negatives: np.ndarray
    with_empty: bool

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many choices each mixed attribute has."""
        return tuple(len(self.choices[a]) for a in self.mixed)

    @property
    def has_table(self) -> bool:
        """Whether the table of hypotheses is small enough."""
        return math.prod(size + 1 for size in self.sizes) <= MOST_CELLS

    @cached_property
    def size(self) -> int:
        """How many hypotheses are consistent with the rows."""
        found = int(self.consistent.sum()) if self.has_table else self._counted(self.negatives, self.sizes, MOST_STEPS)
        return (found << len(self.free)) + self.with_empty

    @cached_property
    def consistent(self) -> np.ndarray:
        """Which cells of the table are consistent; the last choice of each attribute is «any value»."""
        check_memory("the table of hypotheses", 8 * math.prod(s + 1 for s in self.sizes), ways_out=_WAYS_OUT)
        excluded = np.zeros(math.prod(size + 1 for size in self.sizes), bool)
        excluded[self._places(self.negatives.T)] = True
        for marks, size in self.along_each(excluded):
            marks[:, size] = marks.any(axis=1)
        return ~excluded

    @cached_property
    def covering(self) -> np.ndarray:
        """How many consistent cells cover each kind of case; the last choice stands for a value that none demands."""
        found = self.consistent.astype(np.int32)
        for sums, size in self.along_each(found):
            sums[:, :size] += sums[:, size:]
        return found

    def votes(self, columns: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return for each row how many hypotheses cover it: whole numbers, as Python's own where they are large."""
        cases = [self.choice_numbers(columns[a], a) for a in self.mixed]
        found = self.covering[self._places(cases, n_rows)] if self.has_table else self._counted_votes(cases, n_rows)
        wide = found.astype(np.int64 if self.size.bit_length() < 63 else object)
        doubled = np.zeros(n_rows, np.int64)
        for a in self.free:
            doubled += columns[a] == self.choices[a][0]
        for a in self.forced:
            wide = np.where(columns[a] == self.choices[a][0], wide, 0)
        return wide * 2 ** doubled.astype(wide.dtype)

    def choice_numbers(self, column: np.ndarray, attribute: int) -> np.ndarray:
        """Return which choice each code meets; the number of choices where it meets none."""
        choices = self.choices[attribute]
        top = max(int(choices.max(initial=0)), int(column.max(initial=0)))
        table = np.full(top + 1, len(choices))
        table[choices] = np.arange(len(choices))
        return table[column]

    def _places(self, codes: Sequence[np.ndarray] | np.ndarray, n_rows: int | None = None) -> np.ndarray:
        """Return the cell of the table that belongs to choices on each attribute."""
        places = np.zeros(len(self.negatives) if n_rows is None else n_rows, np.int64)
        for column, size in zip(codes, self.sizes, strict=True):
            places = places * (size + 1) + column
        return places

    def along_each(self, table: np.ndarray) -> list[tuple[np.ndarray, int]]:
        """Return views of a table with the choices of each attribute in turn on the middle axis."""
        widths = [size + 1 for size in self.sizes]
        after = [math.prod(widths[i + 1 :]) for i in range(len(widths))]
        return [(table.reshape(-1, width, rest), width - 1) for width, rest in zip(widths, after, strict=True)]

    def _counted_votes(self, cases: Sequence[np.ndarray], n_rows: int) -> np.ndarray:
        """Return how many hypotheses cover each row, by counting for each kind of row."""
        keys, _ = row_keys(cases, [size + 1 for size in self.sizes], n_rows)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        kinds = np.array(cases).T[first]
        found, steps = np.zeros(len(kinds), object), MOST_STEPS // max(1, len(kinds))
        for i, kind in enumerate(kinds):
            live = kind < np.array(self.sizes)  # an attribute with a value that none demands must be free
            same = (self.negatives[:, live] != kind[live]).astype(np.int64)
            found[i] = self._counted(same, (1,) * int(live.sum()), steps)
        return found[inverse]

    def _counted(self, negatives: np.ndarray, sizes: Sequence[int], steps: int) -> int:
        """Return how many conjunctions over attributes of these sizes cover none of the negative rows.

        The sets of negative rows that are not yet excluded are bit masks, with the number of ways to each.
        """
        ways, total, words = {(1 << len(negatives)) - 1: 1}, 0, 1 + len(negatives) // 64
        for i, size in enumerate(sizes):
            meets = [_mask(negatives[:, i] == choice) for choice in range(size)]
            rest = math.prod(other + 1 for other in sizes[i + 1 :])
            total += ways.pop(0, 0) * (size + 1) * rest
            after: defaultdict[int, int] = defaultdict(int)
            for left, n in ways.items():
                after[left] += n
                for mask in meets:
                    after[left & mask] += n
            ways = after
            if (steps := steps - len(ways) * (size + 1) * words) < 0:
                raise self.too_many("hypotheses can be counted")
        return total + ways.get(0, 0)

    def too_many(self, what: str) -> DataError:
        """Return the error about something that would take too much work."""
        rows, attributes = counted(len(self.negatives), "such row"), counted(len(self.mixed), "such attribute")
        return DataError(
            f"{what} only where few negative rows matter or few attributes are open; got {rows} and {attributes}. "
            f"{_WAYS_OUT} What is known all the same: specific_, and perhaps general_ or unanimous."
        )


def version_counts(evidence: ConceptEvidence) -> VersionCounts:
    """Return the consistent hypotheses that evidence leaves."""
    if evidence.specific is None:
        choices = {a: np.arange(variable.n_states) for a, variable in enumerate(evidence.variables)}
        return VersionCounts((), (), tuple(choices), choices, evidence.negatives, True)
    differing, places = evidence.differing, evidence.constrained
    alone = differing[differing.sum(axis=1) == 1].any(axis=0) if len(differing) else np.zeros(len(places), bool)
    open_rows = differing[~differing[:, alone].any(axis=1)]
    mixed = open_rows.any(axis=0)
    choices = {int(a): evidence.specific[[a]] for a in places}
    return VersionCounts(
        tuple(places[alone].tolist()),
        tuple(places[~alone & ~mixed].tolist()),
        tuple(places[mixed].tolist()),
        choices,
        open_rows[:, mixed].astype(np.int64),
        False,
    )


def _mask(which: np.ndarray) -> int:
    """Return truth values as the bits of a number."""
    return int.from_bytes(np.packbits(which, bitorder="little").tobytes(), "little")
