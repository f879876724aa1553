"""All parent sets of a node and their scores, smallest first.

Exact search and sampling of structures need the scores of whole lattices of parent sets. They come from one count of
every set of variables where this can be had (:mod:`tunbridge.learning.lattice`), else from the families themselves,
those with a common part in one go. Sets are grown one parent at a time, each from the set without its last member. A
set is a bit mask: bit c stands for variable c.

For the *best* graph only few sets matter. A set that scores no more than one of its subsets is never needed: whoever
may have it as parents may have the subset too. Its supersets may still be needed, so it must be grown further, unless
the family is too large to pay: a ceiling that falls with every further parent lies below the score of a subset already
(de Campos and Ji 2011). A positive prior for an arc can lift a ceiling again, so parents with such a prior are grown
first, and only what comes after them cuts a branch.

References
----------
C. P. de Campos, Q. Ji (2011). Efficient structure learning of Bayesian networks using constraints. Journal of Machine
Learning Research 12, 663–689.
M. Teyssier, D. Koller (2005). Ordering-based search: a simple and effective algorithm for learning Bayesian networks.
UAI 21, 584–590 (parent sets that a subset beats).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log, prod

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.learning.families import Families
from tunbridge.learning.lattice import Lattice, count_lattice, has_lattice, lattice_bytes
from tunbridge.learning.problem import Problem
from tunbridge.learning.scores import LogLikelihood

MOST_VARIABLES = 62
"""Bits of a mask."""

_USEFUL_BYTES, _EVERY_BYTES, _GROWN_BYTES, _REMEMBERED_BYTES = 16, 80, 120, 250
"""Memory for a parent set: in the result and what is made of it, while those of one node are grown, and in what the
families remember."""
_FEW = 1_000
"""Up to so many families are scored one by one, without a compiler."""
_WORTH = 20
"""A set of variables is counted so many times faster than a family is scored by itself."""
_ONE = np.int64(1)


@dataclass(frozen=True, eq=False)
class ParentSets:
    """Parent sets of one node as bit masks, the smaller first, and the scores of its families."""

    masks: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class ParentSource:
    """Where the parent sets of every node come from.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    n_more : list of int
        The most parents of each node besides the required ones.
    lattice : Lattice, optional
        The counts of all sets of variables; without them the families are scored.
    """

    problem: Problem
    n_more: list[int]
    lattice: Lattice | None

    def useful(self, x: int) -> ParentSets:
        """Return the parent sets of x that score more than all of their subsets; the best for any order is one."""
        growth = _Growth.of(self, x)
        masks, best = growth.empty
        kept = [(masks, best)]
        for _ in range(self.n_more[x]):
            origins, added = growth.larger(masks)
            below, whole = growth.below(masks[origins] | _ONE << added, masks, best)
            origins, added, below = origins[whole], added[whole], below[whole]
            sets, scores = masks[origins] | _ONE << added, growth.scores(masks, origins, added)
            kept.append((sets[scores > below], scores[scores > below]))
            alive = (scores > -np.inf) | (added < growth.n_lifted)
            masks, best = sets[alive], np.maximum(scores, below)[alive]
            if not masks.size:
                break
        return growth.finished(kept)

    def every(self, x: int) -> ParentSets:
        """Return every parent set of x whose family can be, however bad it is."""
        growth = _Growth.of(self, x)
        masks, scores = growth.empty
        kept = [(masks, scores)]
        for size in range(self.n_more[x]):
            origins, added = growth.larger(masks)
            scores = growth.scores(masks, origins, added)
            masks = masks[origins] | _ONE << added
            unscored = np.flatnonzero(scores == -np.inf)  # too large to pay, but not impossible
            for i, parents in zip(unscored, growth.positions(masks[unscored], size + 1), strict=True):
                scores[i] = self.problem.families.score(x, parents)
            kept.append((masks, scores))
        found = growth.finished(kept)
        possible = found.scores > -np.inf
        return ParentSets(found.masks[possible], found.scores[possible])


def parent_source(
    problem: Problem, *, only_useful: bool, ways_out: str, max_parents: int | None = None, limit: float | None = None
) -> ParentSource:
    """Return the source of all parent sets, after a forecast of its memory.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    only_useful : bool
        Whether families that are too large to pay may be left out.
    ways_out : str
        What to tell who has not enough memory.
    max_parents : int, optional
        The most parents of any node, besides the problem's own limits.
    limit : float, optional
        The memory limit, in bytes.
    """
    n = problem.n
    if n > MOST_VARIABLES:
        raise DataError(f"the variables must be at most {MOST_VARIABLES} for this method; got {n}. {ways_out}")
    most = [payable_configurations(problem, x) if only_useful else np.inf for x in range(n)]
    n_more = [_further_parents(problem, x, max_parents, most[x]) for x in range(n)]
    free = [len(_free_candidates(problem, x)) for x in range(n)]
    n_sets = [sum(comb(m, k) for k in range(more + 1)) for m, more in zip(free, n_more, strict=True)]
    max_size = min(n, 1 + max((len(r) + m for r, m in zip(problem.required, n_more, strict=True)), default=0))
    by_counts = _is_counted(problem.families, sum(n_sets), max_size)
    kept = _USEFUL_BYTES if only_useful else _EVERY_BYTES
    memory = float(kept * sum(n_sets) + _GROWN_BYTES * max(n_sets, default=0))
    memory += lattice_bytes(problem.families, max_size) if by_counts else _REMEMBERED_BYTES * sum(n_sets)
    check_memory(counted(sum(n_sets), "parent set"), memory, ways_out=ways_out, limit=limit)
    lattice = count_lattice(problem.families, max_size, most=max(most)) if by_counts else None
    return ParentSource(problem, n_more, lattice)


def members_of(mask: int) -> tuple[int, ...]:
    """Return the members of a set, ascending.

    Examples
    --------
    >>> members_of(0b1101)
    (0, 2, 3)
    """
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def payable_configurations(problem: Problem, x: int) -> float:
    """Return how many configurations the parents of x must stay below to pay for themselves; infinity if any may.

    The log-likelihood of N rows of a child of r states lies between −N log r and 0. So parents of q configurations, at
    a price of p for each of q (r − 1) parameters, can only beat the required ones, of q' configurations, if

        p (r − 1) (q − q') < N log r,    and so only if    q < q' + N log 2 / p.
    """
    families, score = problem.families, getattr(problem.families, "criterion", None)
    if not has_lattice(families) or not isinstance(score, LogLikelihood) or _is_lifted(families, x).any():
        return np.inf
    states, price = families.columns.states.tolist(), score.price(families.n_rows)  # type: ignore[attr-defined]
    return prod(states[p] for p in problem.required[x]) + families.n_rows * log(2) / price if price > 0 else np.inf


def _further_parents(problem: Problem, x: int, max_parents: int | None, most: float) -> int:
    """Return how many parents x may have besides the required ones."""
    limit = int(problem.max_parents[x]) if max_parents is None else min(int(problem.max_parents[x]), max_parents)
    required, free = problem.required[x], _free_candidates(problem, x)
    limit = max(0, min(limit - len(required), len(free)))
    if most == np.inf:
        return limit
    states = problem.families.columns.states  # type: ignore[attr-defined]
    sizes = np.cumprod(np.sort(states[free]).astype(float)) * prod(states[list(required)].tolist())
    return min(limit, int((sizes < most).sum()))


def _is_counted(families: Families, n_families: int, max_size: int) -> bool:
    """Return whether to count all sets of variables rather than to score the families one by one."""
    n_sets = sum(comb(families.n, k) for k in range(max_size + 1))
    return n_families > _FEW and n_sets < _WORTH * n_families and has_lattice(families)


@dataclass(frozen=True, eq=False)
class _Growth:
    """Sets of candidates of one node, as masks over ``candidates``; those whose arcs the prior likes stand first."""

    families: Families
    lattice: Lattice | None
    x: int
    required: tuple[int, ...]
    candidates: np.ndarray
    n_lifted: int

    @classmethod
    def of(cls, source: ParentSource, x: int) -> _Growth:
        families, required = source.problem.families, source.problem.required[x]
        free = _free_candidates(source.problem, x)
        lifted = _is_lifted(families, x)[free]
        return cls(families, source.lattice, x, required, np.r_[free[lifted], free[~lifted]], int(lifted.sum()))

    @property
    def empty(self) -> tuple[np.ndarray, np.ndarray]:
        """The set without further parents, and its score."""
        return np.zeros(1, np.int64), np.array([self.families.score(self.x, self.required)])

    def larger(self, masks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the sets of one more member come from, and that member; from ascending masks ascending ones."""
        below = np.searchsorted(masks, _ONE << np.arange(len(self.candidates)))  # those without later members
        return np.concatenate([np.arange(n) for n in below]), np.repeat(np.arange(len(below)), below)

    def below(self, sets: np.ndarray, masks: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best score among the proper subsets, and whether none of these has been cut off."""
        found, whole = np.full(len(sets), -np.inf), np.ones(len(sets), bool)
        for d in range(len(self.candidates)):
            having = np.flatnonzero(sets >> d & 1)
            fewer = sets[having] ^ _ONE << d
            places = np.minimum(np.searchsorted(masks, fewer), len(masks) - 1)
            there = masks[places] == fewer
            found[having] = np.maximum(found[having], np.where(there, best[places], -np.inf))
            if d >= self.n_lifted:
                whole[having] &= there
        return found, whole

    def scores(self, masks: np.ndarray, origins: np.ndarray, added: np.ndarray) -> np.ndarray:
        """Return the scores of the families that a member more makes; −inf for one that cannot pay."""
        if self.lattice is not None:
            return self.lattice.scores(self.x, self.outer(masks[origins] | _ONE << added))
        out = np.empty(len(origins))
        if not len(out):
            return out
        by_origin = np.argsort(origins, kind="stable")
        used, starts = np.unique(origins[by_origin], return_index=True)
        parents_of = self.positions(masks[used], int(masks[0]).bit_count())
        for parents, group in zip(parents_of, np.split(by_origin, starts[1:]), strict=True):
            group = group[self.candidates[added[group]].argsort()]
            out[group] = self.families.additions_of(self.x, parents, self.candidates[added[group]])
        return out

    def positions(self, masks: np.ndarray, size: int) -> list[tuple[int, ...]]:
        """Return the parents that masks of so many members stand for."""
        members = np.nonzero(masks[:, None] >> np.arange(len(self.candidates)) & 1)[1].reshape(len(masks), size)
        required = np.broadcast_to(np.array(self.required, np.int64), (len(masks), len(self.required)))
        whole = np.sort(np.concatenate([self.candidates[members], required], axis=1), axis=1)
        return [tuple(row) for row in whole.tolist()]

    def outer(self, masks: np.ndarray) -> np.ndarray:
        """Return the parents as masks over the variables, the required ones with them."""
        out = np.full(len(masks), sum(1 << p for p in self.required), np.int64)
        for i, c in enumerate(self.candidates.tolist()):
            out |= (masks >> i & 1) << c
        return out

    def finished(self, levels: list[tuple[np.ndarray, np.ndarray]]) -> ParentSets:
        """Return the sets of all sizes, the smaller first, then by mask."""
        masks, scores = self.outer(np.concatenate([m for m, _ in levels])), np.concatenate([s for _, s in levels])
        order = np.lexsort((masks, np.bitwise_count(masks)))
        return ParentSets(masks[order], scores[order])


def _free_candidates(problem: Problem, x: int) -> np.ndarray:
    """Return who may be a parent of x but need not."""
    return np.array([c for c in range(problem.n) if problem.is_allowed(c, x) and c not in problem.required[x]], int)


def _is_lifted(families: Families, x: int) -> np.ndarray:
    """Return for which parents of x the prior raises the score."""
    return np.broadcast_to(np.asarray(families.bonuses(x, (), np.arange(families.n))) > 0, families.n)
