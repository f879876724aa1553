"""Families X | P extended by each of many candidate parents: their counts, and sums of terms of the counts.

What (X, P) have in common is done once for all candidates. The counts come from

* **bit planes** of all candidates at once while their tables fit: joint states with many rows by planes, those with few
  row by row, and what a smaller known family leaves over not at all (:mod:`tunbridge.kernels.counting.planes`);
* **histograms** for candidates with many states: one addition for each row.

A table has the child's states first, then the configurations of the parents, the candidate fastest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, cached_property
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tunbridge._core.memory import memory_limit
from tunbridge._core.threads import map_threads, n_threads, row_pieces
from tunbridge.counts.columns import Columns, count_pairs, offsets
from tunbridge.counts.radix import SMALL_CELLS, dense_cells, joint_codes, joint_table
from tunbridge.kernels.compiled import is_numpy_quicker

if TYPE_CHECKING:
    from tunbridge.kernels.counting.scores import Terms

Members = tuple[int, ...]
"""Positions of columns."""
Sums = tuple[np.ndarray, np.ndarray]
"""The sums of the terms of several families, and the rows counted in each."""

_TABLE_JOINT, _TABLE_CELLS = 8_192, 1 << 21
"""The most joint states of a family, and cells of its tables with all candidates, that are counted at once."""
_PLANE_JOINT = 128
"""The most joint states where every one is counted by its plane."""
_ROWS_A_PLANE = 640
"""A joint state with one row in so many (for each plane of a candidate) is counted by planes, rarer ones row by row."""
_CODE_CELLS = 1 << 29
"""Up to so many cells the codes are kept a second time, as one array."""
_KEPT_CELLS = 1 << 26
_KEPT_STATES = 4_000
"""Up to so many states in all the counts of all pairs are kept."""
_WORDS_WORTH_A_THREAD = 3_000_000

_NO_TABLE, _NOWHERE = np.zeros(0, np.int32), np.zeros(0, np.int64)


@cache
def _kernels() -> tuple[ModuleType, ModuleType]:
    """Return the kernels that count and that score, imported when first used (an import costs a microsecond a call)."""
    from tunbridge.kernels.counting import planes, scores

    return planes, scores


def compile_beside_counting() -> None:
    """Start to compile the kernel that extends families, the largest, in another process where that pays."""
    from tunbridge.kernels.beside import compile_beside

    planes, _ = _kernels()
    integers, tables = np.zeros(1, np.int64), planes.Blocks(_NO_TABLE, _NOWHERE)
    some = planes.Planes(np.zeros((1, 1), np.uint64), *[integers] * 4)
    extension = planes.Extension(integers, integers, 1, 1)
    types = (some, np.zeros((1, 1), np.int8), extension, integers, tables, tables)
    compile_beside((planes.extend_family, types))


class Tables(NamedTuple):
    """The tables of a child and its parents with several candidates, one after the other.

    The table of candidate i is ``cells[first[i] : first[i + 1]]``; ``parents`` are in the order of the digits.
    """

    parents: Members
    candidates: np.ndarray
    first: np.ndarray
    cells: np.ndarray

    def find(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the tables of some columns begin, and which of the columns have one."""
        at = np.minimum(np.searchsorted(self.candidates, columns), len(self.candidates) - 1)
        return self.first[at], self.candidates[at] == columns


class Start(NamedTuple):
    """What the tables of an extended family start from.

    Parameters
    ----------
    x : int
        The child.
    parents : tuple of int
        The parents: first those of the known tables, then the others.
    n_new : int
        The configurations of these others.
    counts : ndarray
        The rows of each joint state of child and parents.
    known : Tables, optional
        The tables of the same child with some of the parents.
    """

    x: int
    parents: Members
    n_new: int
    counts: np.ndarray
    known: Tables | None


class Extensions:
    """The families of some columns, extended by candidates.

    Parameters
    ----------
    columns : Columns
        The columns.
    kernels : bool, optional
        Whether to count by bit planes; default: where that is faster.
    """

    def __init__(self, columns: Columns, *, kernels: bool | None = None) -> None:
        self.columns = columns
        self._by_planes = columns.has_planes if kernels is None else kernels
        self._kept: dict[int, Tables] = {}
        self._has_codes = len(columns.codes) * columns.n_rows <= min(_CODE_CELLS, memory_limit() // 4)

    @cached_property
    def pairs(self) -> np.ndarray | None:
        """The counts of all pairs of states, if they are few enough to be kept."""
        few = self.columns.states.sum() <= _KEPT_STATES
        return count_pairs(self.columns, range(len(self.columns.codes)))[0] if few else None

    def tables(self, x: int, parents: Members, candidates: np.ndarray) -> dict[int, np.ndarray]:
        """Return the table of the family with each of the candidates, but for those that would be too large."""
        columns, (codes, n_states) = self.columns, self.columns.of_members((x, *parents))
        n_joint, found = prod(n_states), {}
        narrow = candidates[columns.narrow[candidates]]
        if self._by_planes and n_joint <= _PLANE_JOINT and columns.narrow[[x, *parents]].all() and len(narrow):
            tables, _ = self._count(self._start(x, parents, None), narrow, None)
            found = dict(zip(narrow.tolist(), np.split(tables.cells, tables.first[1:-1]), strict=True))
        dense = candidates[columns.states[candidates] * min(n_joint, 2**31) <= dense_cells(columns.n_rows)]
        others = [c for c in dense.tolist() if c not in found]
        joint = joint_codes(codes, n_states) if others else _NOWHERE
        n_jobs = columns.n_jobs if columns.n_rows > SMALL_CELLS else 1
        counted = map_threads(lambda c: self._histogram(joint, n_joint, c), others, n_jobs)
        return found | dict(zip(others, counted, strict=True))

    def start(self, x: int, parents: Members, candidates: np.ndarray | None = None) -> Start | None:
        """Return what the tables of a family start from, None if they would be too large.

        ``candidates``: the columns that it will be extended by, ascending; None: all.
        """
        most = _TABLE_JOINT if self._has_codes else _PLANE_JOINT
        if self.columns.n_configurations((x, *parents)) > most or not self.columns.narrow[[x, *parents]].all():
            return None
        return self._start(x, parents, self._known(x, parents, candidates))

    def sums(self, x: int, parents: Members, candidates: np.ndarray, start: Start | None, terms: Terms) -> Sums:
        """Return Σ cell − Σ row of the family with each of the candidates, and the rows counted.

        ``start`` is what :meth:`start` returned for the family; none of the tables is larger than the data.
        """
        if start is None or len(start.counts) * int(self.columns.states[candidates].sum()) > _TABLE_CELLS:
            return self._by_histogram(x, parents, candidates, terms)
        narrow = self.columns.narrow[candidates]
        if narrow.all():
            return self._count(start, candidates, terms)[1]
        values, totals = np.empty(len(candidates)), np.empty(len(candidates), np.int64)
        if narrow.any():
            values[narrow], totals[narrow] = self._count(start, candidates[narrow], terms)[1]
        values[~narrow], totals[~narrow] = self._by_histogram(x, parents, candidates[~narrow], terms)
        return values, totals

    # By bit planes

    def _start(self, x: int, parents: Members, known: Tables | None) -> Start:
        new = [p for p in parents if known is None or p not in known.parents]
        order = (*(known.parents if known is not None else ()), *new)
        n_joint, n_new = self.columns.n_configurations((x, *parents)), self.columns.n_configurations(new)
        if known is not None and len(new) == 1:
            (at,), (is_there,) = known.find(np.array(new))
            if is_there:
                return Start(x, order, n_new, known.cells[at : at + n_joint].astype(np.int64), known)
        return Start(x, order, n_new, self._joint_counts((x, *order), n_joint), known)

    def _joint_counts(self, members: Members, n_joint: int) -> np.ndarray:
        if is_numpy_quicker(len(members) * self.columns.n_rows, "counting.planes", "count_families"):
            codes, n_states = self.columns.of_members(members)
            return joint_table(codes, n_states, None, n_jobs=1).astype(np.int64)
        from tunbridge.kernels.counting.planes import WORD_BLOCK, FamilyList, count_families

        planes, counts = self.columns.planes, np.zeros(n_joint, np.int64)
        family = FamilyList(np.array(members), np.array([0, len(members)]), np.array([0, n_joint]))
        n_words = min(WORD_BLOCK, planes.words.shape[1])
        room = np.empty((2, n_joint // self.columns.n_states[members[-1]], n_words), np.uint64)
        count_families(planes, family, 0, 1, room, counts)
        return counts

    def _known(self, x: int, parents: Members, candidates: np.ndarray | None) -> Tables | None:
        """Return the tables of a smaller family whose other parents are complete: kept ones, or those of all pairs."""
        kept = self._kept.get(x)
        if (
            kept is not None
            and set(kept.parents) < set(parents)
            and self._are_complete(set(parents) - set(kept.parents))
        ):
            return kept
        if not parents or self.pairs is None or not self._are_complete(parents):
            return None
        return self.pair_tables(x, None if candidates is None else np.union1d(candidates, parents))

    def _are_complete(self, columns: Iterable[int]) -> bool:
        return bool(self.columns.complete[list(columns)].all())

    def pair_tables(self, x: int, candidates: np.ndarray | None = None) -> Tables:
        """Return the tables of a column without parents and each of the candidates (None: all), from all pairs."""
        from tunbridge.kernels.counting.scores import take_pairs

        columns = self.columns
        if candidates is None:
            chosen, first = np.arange(len(columns.codes)), columns.n_states[x] * columns.first_states
        else:
            chosen, first = candidates, offsets(columns.n_states[x] * columns.states[candidates])
        cells = np.empty(first[-1], np.int32)
        take_pairs(self.pairs, columns.first_states, x, chosen, first, cells)
        return Tables((), chosen, first, cells)

    def _count(self, start: Start, chosen: np.ndarray, terms: Terms | None) -> tuple[Tables, Sums]:
        """Return the tables, kept for larger families, and the sums of the terms, if there are any."""
        first = offsets(len(start.counts) * self.columns.states[chosen])
        tables = Tables(start.parents, chosen, first, np.zeros(first[-1], np.int32))
        sums = np.empty(len(chosen)), np.empty(len(chosen), np.int64)
        known_at, is_known = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), bool)
        if start.known is not None:
            known_at, is_known = start.known.find(chosen)
        if is_known.any() and not is_known.all():
            for some in (is_known, ~is_known):
                sums[0][some], sums[1][some] = self._count(start, chosen[some], terms)[1]
            return tables, sums
        self._fill(start, tables, known_at if is_known.any() else None, terms, sums)
        if first[-1] <= _KEPT_CELLS // max(1, len(self.columns.codes)):
            self._kept[start.x] = tables
        return tables, sums

    def _fill(self, start: Start, tables: Tables, known_at: np.ndarray | None, terms: Terms | None, sums: Sums) -> None:
        """Count the candidates and sum the terms, in pieces for threads."""
        counting, scoring = _kernels()
        columns, planes, chosen = self.columns, self.columns.planes, tables.candidates
        n_planes = int((planes.first[chosen + 1] - planes.first[chosen]).sum())
        least = max(1, columns.n_rows * n_planes // (_ROWS_A_PLANE * len(chosen))) if self._has_codes else 1
        by_rows = bool(((start.counts > 0) & (start.counts < least)).any())
        codes = columns.narrow_codes if by_rows else np.empty((0, 0), np.int8)
        known, n_new = _NO_TABLE, len(start.counts)
        if start.known is not None and known_at is not None:
            known, n_new = start.known.cells, start.n_new
        extension = counting.Extension(np.array([start.x, *start.parents]), start.counts, n_new, least)

        def count(piece: tuple[int, int]) -> None:
            some = slice(*piece)
            first = tables.first[piece[0] : piece[1] + 1]
            cells, first = tables.cells[first[0] : first[-1]], first - first[0]
            at = known_at[some] if known_at is not None else _NOWHERE
            before, after = counting.Blocks(known, at), counting.Blocks(cells, first)
            counting.extend_family(planes, codes, extension, chosen[some], before, after)
            if terms is not None:
                scoring.score_tables(cells, first, columns.n_states[start.x], terms, sums[0][some], sums[1][some])

        work = int((start.counts >= least).sum()) * n_planes * (columns.n_rows // 64) // _WORDS_WORTH_A_THREAD
        if min(work, len(chosen)) <= 1:
            count((0, len(chosen)))
        else:
            n_pieces = min(len(chosen), work, n_threads(columns.n_jobs))
            map_threads(count, row_pieces(len(chosen), -(-len(chosen) // n_pieces)), columns.n_jobs)

    # By histogram

    def _histogram(self, joint: np.ndarray, n_joint: int, c: int) -> np.ndarray:
        columns = self.columns
        n_states = [n_joint, columns.n_states[c]]
        return joint_table([joint, columns.codes[c]], n_states, columns.weights, n_jobs=1)

    def _by_histogram(self, x: int, parents: Members, chosen: np.ndarray, terms: Terms) -> Sums:
        from tunbridge.kernels.counting.scores import score_tables

        codes, n_states = self.columns.of_members((x, *parents))
        joint, n_joint = joint_codes(codes, n_states), prod(n_states)
        values, totals = np.empty(len(chosen)), np.empty(len(chosen), np.int64)

        def count(i: int) -> None:
            cells = self._histogram(joint, n_joint, int(chosen[i])).astype(np.int32)
            some = slice(i, i + 1)
            score_tables(cells, np.array([0, len(cells)]), n_states[0], terms, values[some], totals[some])

        map_threads(count, range(len(chosen)), self.columns.n_jobs)
        return values, totals
