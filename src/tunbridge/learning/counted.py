"""Scores of families of categorical variables, counted in the way that costs least.

A family X | P is asked for with every candidate as a further parent, in one call. What (X, P) have in common is done
once, and the score is taken from the counts where they are made:

* **tables** of all candidates at once while they fit: joint states with many rows by bit planes, those with few row by
  row, and what a smaller family has left over not at all (:mod:`tunbridge.kernels.extensions`);
* **histograms** for candidates with many states: one addition for each row;
* **grouped rows** for what is too large for a table: the rows are sorted by the configuration of P, and each group is
  tallied and cleared in turn, so that a family of 20⁶ cells costs no more memory than its rows.

A candidate is not counted at all when the family would be too large to pay: the score of any family is at most the
ceiling that its dimensions alone allow (for BIC minus the penalty), and where the ceiling lies below the score of X | P
no rows could make the candidate worth adding.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from tunbridge._memory import check_memory, memory_limit
from tunbridge._threads import map_threads, n_threads, row_pieces
from tunbridge.counts import Counter
from tunbridge.counts.pairs import all_pairs
from tunbridge.counts.radix import SMALL_CELLS, is_dense, joint_codes, joint_table, number_configurations
from tunbridge.data import Table
from tunbridge.learning.criterion import Score, rests_on_enough
from tunbridge.learning.families import Families, Parents
from tunbridge.learning.plain import Columns, NumpyFamilies, worth_counting

_TABLE_JOINT, _TABLE_CELLS = 8_192, 1 << 21
"""The most joint states of a family, and cells of its table with all candidates, that are counted at once."""
_PLANE_JOINT = 128
"""The most joint states where every one is counted by its plane."""
_ROWS_A_PLANE = 256
"""A joint state with one row in so many (for each plane of a candidate) is counted by planes, rarer ones row by row."""
_CODE_CELLS = 1 << 29
"""Up to so many cells the codes are kept a second time, as one array."""
_HISTOGRAM_CELLS = 65_536
_LANE_CELLS = 4_096
_KEPT_CELLS = 1 << 26
_WORDS_WORTH_A_THREAD = 3_000_000
_KEPT_STATES = 4_000
"""Up to so many states in all the counts of all pairs are kept."""
_PATIENT_CELLS = 400_000
"""Up to so many cells NumPy counts, as long as the kernels have not been compiled."""

_NO_TABLE, _NOWHERE = np.zeros(0, np.int32), np.zeros(0, np.int64)

Found = tuple[np.ndarray, np.ndarray]
"""The sums of the terms of several families, and the rows counted in each."""


def discrete_families(
    table: Table, score: Score, *, arc_bonus: np.ndarray | None = None, n_jobs: int | None = None
) -> Families:
    """Return the families of a table of categorical columns: by kernels, or by NumPy where these would not pay."""
    from tunbridge.kernels.compiled import announce, is_compiled
    from tunbridge.kernels.extensions import extend_family

    n_cells = table.n_rows * table.n_columns
    small = n_cells <= SMALL_CELLS or (n_cells <= _PATIENT_CELLS and not is_compiled(extend_family))
    if small or table.weights is not None:
        return NumpyFamilies(table, score, arc_bonus=arc_bonus, n_jobs=n_jobs)
    announce(extend_family, "structure learning")
    return CountedFamilies(table, score, arc_bonus=arc_bonus, n_jobs=n_jobs)


class Terms(NamedTuple):
    """What kernels need to know of a score: its terms by count, or the equivalent sample size of a Dirichlet score."""

    cells: np.ndarray
    rows: np.ndarray
    ess: float
    occurring: bool


class Extended(NamedTuple):
    """The table of a family with many candidates: joint states of x and ``parents``, as digits in this order, × states.

    The block of candidate i begins at ``n_joint * own[i]``.
    """

    parents: Parents
    candidates: np.ndarray
    own: np.ndarray
    n_joint: int
    table: np.ndarray

    def blocks(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the blocks of some columns begin, and which of the columns there are."""
        at = np.minimum(np.searchsorted(self.candidates, columns), len(self.candidates) - 1)
        return self.n_joint * self.own[at], self.candidates[at] == columns


class Family(NamedTuple):
    """A family as the kernels take it: x first, then the parents of a known table, then the new ones."""

    members: np.ndarray
    n_new: int
    counts: np.ndarray
    known: Extended | None


class Groups(NamedTuple):
    """Rows in the order of the parents' configurations, where each group begins, and the child's codes."""

    order: np.ndarray
    starts: np.ndarray
    child: np.ndarray


class CountedFamilies(Families):
    """The scores of the families of a table of unweighted categorical columns.

    Parameters
    ----------
    table : Table
        Categorical columns only; missing cells only under a score that averages over the rows it has.
    score : Score
        The score.
    arc_bonus : ndarray of shape (n, n), optional
        What an arc adds to the score of its child.
    n_jobs : int, optional
        Threads; the scores do not depend on it.
    """

    def __init__(
        self, table: Table, score: Score, *, arc_bonus: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        self.columns = Columns(table, score, n_jobs)
        super().__init__(self.columns.names, self.columns.total, arc_bonus)
        self.criterion = score
        self._terms: dict[int, Terms] = {}
        self._kept: dict[int, Extended] = {}
        self._start = _offsets(self.columns.states)

    @property
    def counter(self) -> Counter:
        """The counter of the same columns."""
        return self.columns.counter

    # Whole families

    def _score(self, x: int, parents: Parents) -> float:
        codes, states = self.columns.of(x, *parents)
        r = states[0]
        if min(states) == 0:
            return -np.inf if parents else 0.0
        if is_dense(states, self.columns.n_rows):
            return self._margin_scores(x, parents, joint_table(codes, states, None, n_jobs=1))
        q, alone = self.columns.size(parents), np.zeros(self.columns.n_rows, np.int8)
        value, total = self._group_score(self._grouped(x, parents), alone, 1, q, r)
        return float(self._finished(x, np.array([q]), np.array([value]), np.array([total]))[0])

    def _margin_scores(self, x: int, parents: Parents, counts: np.ndarray) -> float:
        """Return the score of a family from its joint states, remembering those without each parent on the way."""
        from tunbridge.kernels.extensions import score_margins

        states, r = self.columns.states[list(parents)], int(self.columns.states[x])
        values, totals = np.empty(len(parents) + 1), np.empty(len(parents) + 1, np.int64)
        score_margins(counts, states, r, *self._terms_of(r), np.empty_like(counts), values, totals)
        sizes = np.full(len(parents) + 1, float(len(counts) // r))
        sizes[1:] /= states
        if len(parents) <= 1:
            totals[len(parents)] = max(1, totals[len(parents)])  # never seen: alone it explains nothing, but may be
        own, *rest = self._finished(x, sizes, values, totals).tolist()
        for i, value in enumerate(rest):
            if self.columns.complete[parents[i]]:  # without an incomplete one the family has more rows
                fewer = tuple(sorted(parents[:i] + parents[i + 1 :]))
                self.remember_score(x, fewer, value + self._bonus(x, fewer))
        return own

    def _finished(self, x: int, q: np.ndarray, values: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Return scores from the terms of the counts: averaged over the rows that are there, less the penalty."""
        if self.criterion.is_average and not self.columns.complete.all():
            scale = np.divide(self.n_rows, totals, out=np.zeros(len(values)), where=totals > 0)
            r = int(self.columns.states[x])
            values = np.where(rests_on_enough(totals, q, r, self.n_rows), values * scale, -np.inf)
        return values - self.criterion.penalty(q, int(self.columns.states[x]), self.n_rows)

    @cached_property
    def _codes(self) -> np.ndarray:
        """The codes of the narrow columns as one array; empty where that would take too much memory."""
        if self.n * self.columns.n_rows > min(_CODE_CELLS, memory_limit() // 4):
            return np.empty((self.n, 0), np.int8)
        codes = np.zeros((self.n, self.columns.n_rows), np.int8)
        for v in np.flatnonzero(self.columns.narrow):
            codes[v] = self.columns.codes[v]
        return codes

    def _terms_of(self, r: int) -> Terms:
        if r not in self._terms:
            ess = float(getattr(self.criterion, "ess", 0.0))
            nothing = np.zeros(1)
            cells, rows = nothing, nothing
            if not self.criterion.is_dirichlet:
                cells = self.criterion.cell_table(self.columns.n_rows, r)
                rows = self.criterion.row_table(self.columns.n_rows, r)
            self._terms[r] = Terms(cells, rows, ess, self.criterion.is_of_occurring)
        return self._terms[r]

    # Extended families

    def additions(self, x: int, parents: Parents) -> np.ndarray:
        """Return for every variable c the score of x given parents and c; see :class:`Families`."""
        if not parents and not self._additions and self._pairs is not None:
            self._score_pairs(self._pairs)
        return super().additions(x, parents)

    @cached_property
    def _pairs(self) -> np.ndarray | None:
        """The counts of all pairs, if they are few enough to be kept."""
        if self.columns.states.sum() > _KEPT_STATES:
            return None
        planes = self.columns.bit_planes if self.columns.narrow.any() else None
        states = self.columns.states.tolist()
        return all_pairs(self.columns.codes, states, None, n_jobs=self.columns.n_jobs, planes=planes)

    def _score_pairs(self, matrix: np.ndarray) -> None:
        """Score every variable alone and given each other one."""
        from tunbridge.kernels.extensions import score_pairs

        states, everything = self.columns.states, np.arange(self.n)
        values, totals = np.zeros((self.n, self.n)), np.zeros((self.n, self.n), np.int64)
        counts = np.ascontiguousarray(matrix.diagonal())
        for x in range(self.n):
            own = counts[self._start[x] : self._start[x + 1]]
            self.remember_score(x, (), self._margin_scores(x, (), own) if len(own) else 0.0)

        def score(x: int) -> None:
            score_pairs(matrix, self._start, x, *self._terms_of(int(states[x])), values[x], totals[x])

        seen = np.flatnonzero(states).tolist()
        map_threads(score, seen, self.columns.n_jobs if self.n > 64 else 1)
        for x in range(self.n):
            worth = worth_counting(self, self.columns, self.criterion, x, (), everything)
            found = self._finished(x, states.astype(float), values[x], totals[x]) + self.bonuses(x, (), everything)
            self.remember_additions(x, (), np.where(worth, found, -np.inf))

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        some = np.arange(self.n) if candidates is None else candidates
        out = np.full(len(some), -np.inf)
        family = self._family(x, parents, candidates)
        worth = worth_counting(self, self.columns, self.criterion, x, parents, some)
        if worth.any():
            chosen = some[worth]
            q = self.columns.size(parents) * self.columns.states[chosen]
            found = self._finished(x, q, *self._extended(x, parents, chosen, family))
            out[worth] = found + self.bonuses(x, parents, chosen)
        return out

    def _extended(self, x: int, parents: Parents, chosen: np.ndarray, family: Family | None) -> Found:
        """Return values and totals of a family with each of the columns."""
        values, totals = np.empty(len(chosen)), np.empty(len(chosen), np.int64)
        states, n_joint = self.columns.states[chosen], self.columns.n_configurations((*parents, x))
        tables = self.columns.narrow[chosen] & (family is not None)
        if family is not None and n_joint * int(states[tables].sum()) > _TABLE_CELLS:
            tables[:] = False
        dense = ~tables & (states * min(n_joint, 2**31) <= max(_HISTOGRAM_CELLS, self.columns.n_rows))
        sparse = ~tables & ~dense
        if family is not None and tables.any():
            values[tables], totals[tables] = self._by_tables(x, family, chosen[tables])
        if dense.any():
            values[dense], totals[dense] = self._by_histogram(x, parents, chosen[dense])
        if sparse.any():
            values[sparse], totals[sparse] = self._by_groups(x, parents, chosen[sparse])
        return values, totals

    # By tables

    def _family(self, x: int, parents: Parents, candidates: np.ndarray | None) -> Family | None:
        """Return what the tables of a family's extensions start from; its score is remembered on the way."""
        n_joint = self.columns.n_configurations((*parents, x))
        most = _TABLE_JOINT if self._codes.size else _PLANE_JOINT
        if n_joint > most or not self.columns.narrow[[x, *parents]].all():
            return None
        known = self._known_part(x, parents, candidates)
        new = [p for p in parents if known is None or p not in known.parents]
        members = np.array([x, *(known.parents if known is not None else ()), *new])
        n_new = self.columns.n_configurations(tuple(new))
        family = Family(members, n_new, self._joint_counts(members, new, known, n_joint), known)
        if (x, parents) not in self._scores:
            order = tuple(members[1:].tolist())
            self.remember_score(x, parents, self._margin_scores(x, order, family.counts) + self._bonus(x, parents))
        return family

    def _known_part(self, x: int, parents: Parents, candidates: np.ndarray | None) -> Extended | None:
        """Return the table of a smaller family whose rest is complete: that of all pairs, or one that has been kept."""
        kept = self._kept.get(x)
        if (
            kept is not None
            and set(kept.parents) < set(parents)
            and self._are_complete(set(parents) - set(kept.parents))
        ):
            return kept
        if not parents or self._pairs is None or not self._are_complete(parents):
            return None
        return self._pair_table(x, None if candidates is None else np.union1d(candidates, parents))

    def _are_complete(self, columns: Iterable[int]) -> bool:
        return bool(self.columns.complete[list(columns)].all())

    def _pair_table(self, x: int, columns: np.ndarray | None) -> Extended:
        """Return the table of a variable without parents and the columns (all of them: None) that have planes."""
        from tunbridge.kernels.extensions import take_pairs

        narrow = np.flatnonzero(self.columns.narrow) if columns is None else columns[self.columns.narrow[columns]]
        r = int(self.columns.states[x])
        own = _offsets(self.columns.states[narrow])
        table = np.empty(r * own[-1], np.int32)
        take_pairs(self._pairs, self._start, x, narrow, own, table)
        return Extended((), narrow, own, r, table)

    def _joint_counts(self, members: np.ndarray, new: list[int], known: Extended | None, n_joint: int) -> np.ndarray:
        """Return the rows of each joint state of a family."""
        from tunbridge.kernels.extensions import count_joint_states

        if known is not None and len(new) == 1:
            at, there = known.blocks(np.array(new))
            if there[0]:
                return known.table[at[0] : at[0] + n_joint].astype(np.int64)
        counts = np.empty(n_joint, np.int64)
        count_joint_states(*self.columns.planes, self.columns.states, members, self.columns.n_rows, counts)
        return counts

    def _by_tables(self, x: int, family: Family, chosen: np.ndarray) -> Found:
        """Return values and totals; the table is kept for larger families."""
        own = _offsets(self.columns.states[chosen])
        table = np.zeros(len(family.counts) * int(own[-1]), np.int32)
        values, totals = np.empty(len(chosen)), np.empty(len(chosen), np.int64)
        base_at, there = np.zeros(len(chosen), np.int64), np.zeros(len(chosen), bool)
        if family.known is not None:
            base_at, there = family.known.blocks(chosen)
        if there.all() or not there.any():
            self._fill(x, family, chosen, own, base_at if there.any() else None, table, values, totals)
        else:
            for some in (there, ~there):
                values[some], totals[some] = self._by_tables(x, family, chosen[some])
            return values, totals
        if len(table) <= _KEPT_CELLS // max(1, self.n):
            self._kept[x] = Extended(tuple(family.members[1:].tolist()), chosen, own, len(family.counts), table)
        return values, totals

    def _fill(
        self, x: int, family: Family, chosen: np.ndarray, own: np.ndarray, base_at: np.ndarray | None,
        table: np.ndarray, values: np.ndarray, totals: np.ndarray,
    ) -> None:  # fmt: skip
        """Count and score the candidates, in pieces for threads."""
        from tunbridge.kernels.extensions import extend_family

        words, first = self.columns.planes
        states, r, n_joint = self.columns.states, int(self.columns.states[x]), len(family.counts)
        n_planes = int((first[chosen + 1] - first[chosen]).sum())
        least = 1
        if self._codes.size:
            least = max(1, self.columns.n_rows * n_planes // (_ROWS_A_PLANE * len(chosen)))
        terms = self._terms_of(r)
        base = family.known.table if family.known is not None and base_at is not None else _NO_TABLE
        n_new = family.n_new if base_at is not None else n_joint

        def count(piece: tuple[int, int]) -> None:
            part = slice(*piece)
            block = table[n_joint * own[piece[0]] : n_joint * own[piece[1]]]
            at = base_at[part] if base_at is not None else _NOWHERE
            extend_family(
                words, first, states, self._codes, self.columns.n_rows, family.members, n_new, family.counts, least,
                base, at, chosen[part], own[part] - own[piece[0]], block, *terms, values[part], totals[part],
            )  # fmt: skip

        n_pieces = min(len(chosen), self._work(family, n_planes, least))
        if n_pieces > 1:
            n_pieces = min(n_pieces, n_threads(self.columns.n_jobs))
            map_threads(count, row_pieces(len(chosen), -(-len(chosen) // n_pieces)), self.columns.n_jobs)
        else:
            count((0, len(chosen)))

    def _work(self, family: Family, n_planes: int, least: int) -> int:
        """Return how many threads the counting of a family is worth."""
        n_large = int((family.counts >= least).sum())
        return n_large * n_planes * (self.columns.n_rows // 64) // _WORDS_WORTH_A_THREAD

    # By histogram

    def _by_histogram(self, x: int, parents: Parents, chosen: np.ndarray) -> Found:
        from tunbridge.kernels.counts import LANES, count_joint
        from tunbridge.kernels.extensions import score_crossed

        codes, states = self.columns.of(x, *parents)
        joint, n_joint, r = joint_codes(codes, states), prod(states), states[0]
        values, totals = np.empty(len(chosen)), np.empty(len(chosen), np.int64)

        def count(i: int) -> None:
            c = int(chosen[i])
            s = int(self.columns.states[c])
            lanes = np.zeros((LANES if n_joint * s <= _LANE_CELLS else 1, n_joint * s + 1), np.int64)
            count_joint(joint, self.columns.codes[c], s, lanes)
            crossed = lanes.sum(axis=0)[:-1]
            values[i], totals[i] = score_crossed(crossed, r, s, *self._terms_of(r))

        map_threads(count, range(len(chosen)), self.columns.n_jobs)
        return values, totals

    # By groups of rows

    def _by_groups(self, x: int, parents: Parents, chosen: np.ndarray) -> Found:
        groups = self._grouped(x, parents)
        q, r = self.columns.size(parents), int(self.columns.states[x])

        def count(c: int) -> tuple[float, int]:
            return self._group_score(groups, self.columns.codes[c], int(self.columns.states[c]), q, r)

        found = map_threads(count, chosen.tolist(), self.columns.n_jobs)
        return np.array([value for value, _ in found]), np.array([total for _, total in found])

    def _grouped(self, x: int, parents: Parents) -> Groups:
        """Return the rows that miss nothing of the family, by the configuration of the parents."""
        from tunbridge.kernels.groups import sort_by_slot

        n_rows = self.columns.n_rows
        codes, states = self.columns.of(*parents)
        if prod(states) <= 4 * n_rows + 1024:
            slots, n_slots = joint_codes(codes, states) if parents else np.zeros(n_rows, np.int32), prod(states)
        else:
            complete = np.flatnonzero(np.logical_and.reduce([c >= 0 for c in codes]))
            numbers, representatives = number_configurations([c[complete] for c in codes], states)
            slots, n_slots = np.full(n_rows, -1, np.int32), len(representatives)
            slots[complete] = numbers
        check_memory("the rows of a family in order", 16.0 * n_rows + 8.0 * n_slots, ways_out="Use fewer rows.")
        starts = np.zeros(n_slots + 1, np.int64)
        order, child = np.empty(n_rows, np.int32), np.empty(n_rows, np.int32)
        n = sort_by_slot(slots, self.columns.codes[x], starts, order, child)
        return Groups(order[:n], starts, child[:n])

    def _group_score(self, groups: Groups, codes: np.ndarray, s: int, q: float, r: int) -> tuple[float, int]:
        """Return value and total of grouped rows with one more column of s states."""
        from tunbridge.kernels.groups import count_configurations, score_groups

        terms, sums = self._terms_of(r), np.zeros(s, np.int64)
        size = q * s
        if terms.occurring:
            size = max(1, count_configurations(groups.order, groups.starts, codes, sums))
        check_memory("the table of two columns with many states", 8.0 * s * r, ways_out="Leave out one of them.")
        table, a = np.zeros(s * r, np.int64), terms.ess / size
        value: tuple[float, int] = score_groups(*groups, codes, r, terms.cells, terms.rows, a / r, a, table, sums)
        return value


def _offsets(sizes: np.ndarray) -> np.ndarray:
    """Return where each of consecutive pieces begins, and where the last ends."""
    out = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=out[1:])
    return out
