"""All parent sets of a node and their scores, smallest first.

Exact search and sampling of structures need the scores of whole lattices of parent sets. They come from the counts of
every set of variables where possible (``lattice``), otherwise from the families, those with a common part together.
Sets are grown one parent at a time, each from the set without its last member. A set is a bit mask: bit c stands for
variable c.

For the *best* graph only few sets are needed. A set that scores no more than one of its subsets is never needed: a node
that may have it as parents may have the subset too. Its supersets may still be needed, so it is grown further, unless
the family is too large: an upper bound that falls with every further parent is already below the score of a subset (de
Campos and Ji 2011). A prior above ½ for an arc can raise the bound again, so parents with such a prior are grown first,
and only the sets grown after them are cut.

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

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge.errors import DataError
from tunbridge.learning.scores.discrete import LogLikelihood
from tunbridge.learning.scores.families import Families
from tunbridge.learning.scores.lattice import Lattice, count_lattice, has_lattice, lattice_bytes
from tunbridge.learning.searches.problem import Problem

_MOST_VARIABLES = 62
"""Bits of a mask."""

_USEFUL_BYTES, _EVERY_BYTES, _GROWN_BYTES, _REMEMBERED_BYTES = 16, 80, 120, 250
"""Memory for a parent set: in the result (useful sets, all sets), while growing, and in the cache of the families."""
_FEW = 1_000
"""Up to this many families are scored one by one, without a compiler."""
_WORTH = 20
"""Counting a set of variables is this many times faster than scoring a family."""
_ONE = np.int64(1)


@dataclass(frozen=True, eq=False)
class ParentSets:
    """Parent sets of one node as bit masks, the smaller first, and the scores of its families."""

    masks: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class ParentSource:
    """The source of the parent sets of every node.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    n_more : list of int
        The maximum number of parents of each node besides the required ones.
    lattice : Lattice, optional
        The counts of all sets of variables; without them the families are scored.
    """

    problem: Problem
    n_more: list[int]
    lattice: Lattice | None

    def useful(self, x: int) -> ParentSets:
        """Return the parent sets of x that score more than all of their subsets."""
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
        """Return every parent set of x whose family can be scored, however bad it is."""
        growth = _Growth.of(self, x)
        masks, scores = growth.empty
        kept = [(masks, scores)]
        for size in range(self.n_more[x]):
            origins, added = growth.larger(masks)
            scores = growth.scores(masks, origins, added)
            masks = masks[origins] | _ONE << added
            unscored = np.flatnonzero(scores == -np.inf)  # too large to be useful, but not impossible
            for i, parents in zip(unscored, growth.positions(masks[unscored], size + 1), strict=True):
                scores[i] = self.problem.families.score(x, parents)
            kept.append((masks, scores))
        found = growth.finished(kept)
        possible = found.scores > -np.inf
        return ParentSets(found.masks[possible], found.scores[possible])


def parent_source(
    problem: Problem, *, only_useful: bool, ways_out: str, max_parents: int | None = None, limit: float | None = None
) -> ParentSource:
    """Return the source of all parent sets; raise if it would not fit into memory.

    Parameters
    ----------
    problem : Problem
        Scores and constraints.
    only_useful : bool
        Whether families that are too large to be useful may be left out.
    ways_out : str
        The hint of the error when the memory does not suffice.
    max_parents : int, optional
        The maximum number of parents of any node, in addition to the limits of the problem.
    limit : float, optional
        The memory limit, in bytes.
    """
    n = problem.n
    if n > _MOST_VARIABLES:
        raise DataError(f"the variables must be at most {_MOST_VARIABLES} for this method; got {n}. {ways_out}")
    most = [_payable_configurations(problem, x) if only_useful else np.inf for x in range(n)]
    n_more = [_further_parents(problem, x, max_parents, most[x]) for x in range(n)]
    free = [len(_free_candidates(problem, x)) for x in range(n)]
    n_sets = [sum(comb(m, k) for k in range(more + 1)) for m, more in zip(free, n_more, strict=True)]
    max_size = min(n, 1 + max((len(r) + m for r, m in zip(problem.required, n_more, strict=True)), default=0))
    is_worth_it = sum(n_sets) > _FEW and sum(comb(n, k) for k in range(max_size + 1)) < _WORTH * sum(n_sets)
    whole = problem.families if is_worth_it and has_lattice(problem.families) else None
    kept = _USEFUL_BYTES if only_useful else _EVERY_BYTES
    memory = float(kept * sum(n_sets) + _GROWN_BYTES * max(n_sets, default=0))
    memory += lattice_bytes(whole, max_size) if whole is not None else _REMEMBERED_BYTES * sum(n_sets)
    check_memory(counted(sum(n_sets), "parent set"), memory, ways_out=ways_out, limit=limit)
    lattice = None if whole is None else count_lattice(whole, max_size, most=max(most))
    return ParentSource(problem, n_more, lattice)


def members_of(mask: int) -> tuple[int, ...]:
    """Return the members of a set, ascending.

    Examples
    --------
    >>> members_of(0b1101)
    (0, 2, 3)
    """
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _payable_configurations(problem: Problem, x: int) -> float:
    """Return the number of configurations below which parents of x can be useful; infinity if there is no bound.

    The log-likelihood of N rows of a child of r states lies between −N log r and 0. So parents of q configurations,
    with a penalty of p for each of q (r − 1) parameters, can only beat the required ones, of q' configurations, if

        p (r − 1) (q − q') < N log r,    and so only if    q < q' + N log 2 / p.
    """
    families = problem.families
    if not has_lattice(families) or not isinstance(families.criterion, LogLikelihood) or _is_lifted(families, x).any():
        return np.inf
    states, price = families.columns.states.tolist(), families.criterion.price(families.n_rows)
    return prod(states[p] for p in problem.required[x]) + families.n_rows * log(2) / price if price > 0 else np.inf


def _further_parents(problem: Problem, x: int, max_parents: int | None, most: float) -> int:
    """Return how many parents x may have besides the required ones."""
    limit = int(problem.max_parents[x]) if max_parents is None else min(int(problem.max_parents[x]), max_parents)
    required, free = problem.required[x], _free_candidates(problem, x)
    limit = max(0, min(limit - len(required), len(free)))
    if most == np.inf or not has_lattice(problem.families):
        return limit
    states = problem.families.columns.states
    sizes = np.cumprod(np.sort(states[free]).astype(float)) * prod(states[list(required)].tolist())
    return min(limit, int((sizes < most).sum()))


@dataclass(frozen=True, eq=False)
class _Growth:
    """Sets of candidates of one node, as masks over ``candidates``, those with a prior above ½ first."""

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
        """Return the sets (indices into ascending masks) that grow by a member, and that member; the order is kept."""
        below = np.searchsorted(masks, _ONE << np.arange(len(self.candidates)))  # those without later members
        return np.concatenate([np.arange(n) for n in below]), np.repeat(np.arange(len(below)), below)

    def below(self, sets: np.ndarray, masks: np.ndarray, best: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best score among the proper subsets, and whether all of these are known."""
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
        """Return the scores of the families with one more member; −inf for families that are too large."""
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
        """Return the parents of masks with ``size`` members."""
        members = np.nonzero(masks[:, None] >> np.arange(len(self.candidates)) & 1)[1].reshape(len(masks), size)
        required = np.broadcast_to(np.array(self.required, np.int64), (len(masks), len(self.required)))
        whole = np.sort(np.concatenate([self.candidates[members], required], axis=1), axis=1)
        return [tuple(row) for row in whole.tolist()]

    def outer(self, masks: np.ndarray) -> np.ndarray:
        """Return the parents as masks over the variables, including the required ones."""
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
    """Return the allowed parents of x that are not required."""
    return np.array([c for c in range(problem.n) if problem.is_allowed(c, x) and c not in problem.required[x]], int)


def _is_lifted(families: Families, x: int) -> np.ndarray:
    """Return for which parents of x the prior raises the score."""
    return np.broadcast_to(np.asarray(families.bonuses(x, (), np.arange(families.n))) > 0, families.n)
