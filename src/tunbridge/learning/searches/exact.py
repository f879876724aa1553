"""Exact search: the graph of the highest score of all, to about 25 variables.

Every graph without cycles has a node without children. Let M(S) be the score of the best graph over the variables S,
and b(x, C) the best score of x with parents inside C. Then (Silander and Myllymäki 2006)

    M(S) = max_{x in S} M(S − x) + b(x, S − x),        b(x, C) = max_{P ⊆ C} score(x, P),

which gives M for all 2^n subsets, smaller ones first; the best graph is read back from M, one last node after the
other. Three things keep the work small:

* Only parent sets that score more than all of their subsets are needed, and families above a certain size cannot be
  among them (:mod:`tunbridge.learning.searches.parent_sets`).
* The remaining parent sets define possible arcs; the variables fall into groups between which no cycle is possible
  (strongly connected components: Fan, Malone and Yuan 2014). Each group is solved separately, so n above is the size of
  the largest.
* b is computed block by block and not kept, and the last nodes are found again from M: the memory is 8 · 2^n bytes,
  256 MiB for 25 variables, plus the parent sets.

References
----------
T. Silander, P. Myllymäki (2006). A simple approach for finding the globally optimal Bayesian network structure. UAI 22,
445–452.
X. Fan, B. Malone, C. Yuan (2014). Finding optimal Bayesian network structures with constraints learned from data. UAI
30, 200–209.
C. P. de Campos, Q. Ji (2011). Efficient structure learning of Bayesian networks using constraints. Journal of Machine
Learning Research 12, 663–689.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tunbridge._core.check import check_integer, check_number, counted, listed
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import search
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.errors import DataError
from tunbridge.learning.searches.parent_sets import ParentSets, members_of, parent_source
from tunbridge.learning.searches.problem import TIE, Problem, Search, SearchResult

_WAYS_OUT = "Learn from fewer variables, set max_parents, forbid arcs, or use another search ('ges', 'tabu')."
_SMALL = 10
"""Up to this many variables NumPy is used, without a compiler."""
_LOW_BITS = 11
"""Subsets in a block: 2^11 scores for each node fit into the cache."""
_BLOCKS = 64
"""Blocks that a thread takes at a time."""


@search("exact", rank=5)
@dataclass(frozen=True)
class Exact(Search):
    """Exact search: the graph of the highest score, under any constraints, for up to about 25 variables.

    Of graphs with equal score it takes one in which variables of later names come later and have fewer parents.

    Parameters
    ----------
    max_parents : int, optional
        The maximum number of parents of any node, in addition to other limits; required parents are always kept.
    memory_limit : float, optional
        The memory limit in bytes; default: TUNBRIDGE_MEMORY_LIMIT or half the free memory.

    Notes
    -----
    Takes time n·2^n for n variables that may all depend on one another, after up to n·2^(n − 1) families have been
    scored: above 15 variables use a limit on the parents or a score that penalises large families. After Ctrl-C the
    start graph is returned if one was given, otherwise KeyboardInterrupt is raised.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.scores.families import DiscreteFamilies
    >>> from tunbridge.learning.scores.discrete import BDeu
    >>> families = DiscreteFamilies(tb.datasets.play_tennis(), BDeu(ess=5))
    >>> empty = ((),) * 5
    >>> problem = Problem(families, None, empty, np.full(5, 4), empty, np.random.default_rng(0))
    >>> for x, parents in enumerate(Exact(max_parents=2).run(problem).graph):
    ...     print(families.names[x], "|", *(families.names[p] for p in parents))
    humidity | play
    outlook |
    play | outlook wind
    temperature | humidity
    wind |
    """

    uses_start: ClassVar[bool] = False

    max_parents: int | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        check_integer("max_parents", self.max_parents, low=0, optional=True)
        if self.memory_limit is not None:
            check_number("the memory limit (bytes)", self.memory_limit, above=0)

    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph of all."""
        try:
            return self._optimum(problem)
        except KeyboardInterrupt:
            if problem.start == problem.required:
                raise
            return SearchResult(problem.start, note="interrupted: the start graph, unchanged")

    def _optimum(self, problem: Problem) -> SearchResult:
        tell = partial(problem.tell, score=problem.graph_score(problem.start))
        sets = self._parent_sets(problem, tell)
        components = _components([int(np.bitwise_or.reduce(s.masks)) for s in sets])
        largest = max(map(len, components), default=0)
        what = f"exact search over {counted(largest, 'variable')} that may depend on one another"
        check_memory(what, 8 * 2.0**largest, ways_out=_WAYS_OUT, limit=self.memory_limit)
        graph: list[tuple[int, ...]] = [()] * problem.n
        for members in components:
            for x, mask in _best_graph([sets[x] for x in members], members, problem.families.names, tell):
                graph[x] = members_of(mask)
        note = f"the best of all graphs, from {counted(sum(len(s.masks) for s in sets), 'useful parent set')}"
        return SearchResult(tuple(graph), note=note)

    def _parent_sets(self, problem: Problem, tell: Callable[[str], None]) -> list[ParentSets]:
        """Return the parent sets of each node that a best graph can have."""
        tell("counting")
        source = parent_source(
            problem, only_useful=True, ways_out=_WAYS_OUT, max_parents=self.max_parents, limit=self.memory_limit
        )
        sets = []
        for x, name in enumerate(problem.families.names):
            tell(f"parents of {name} ({x + 1} of {problem.n})")
            sets.append(source.useful(x))
        return sets


def _components(parents: list[int]) -> list[list[int]]:
    """Return the groups of nodes that are possible ancestors of each other, given masks of possible parents."""
    n, above = len(parents), list(parents)
    for k in range(n):
        above = [a | above[k] if a >> k & 1 else a for a in above]
    groups = {sum(1 << j for j in range(n) if i == j or (above[i] >> j & 1 and above[j] >> i & 1)) for i in range(n)}
    return [list(members_of(group)) for group in sorted(groups)]


def _best_graph(
    sets: list[ParentSets], members: list[int], names: tuple[str, ...], tell: Callable[[str], None]
) -> list[tuple[int, int]]:
    """Return the nodes of one group with their parents (a mask over all variables) in the best graph."""
    inner, scores = [_within(s.masks, members) for s in sets], [s.scores for s in sets]
    best = _best_graphs(inner, scores, tell)
    if best[-1] == -np.inf:
        raise DataError(
            f"the constraints must allow a graph that can be scored; got none over {listed(names[x] for x in members)}."
        )
    tolerance = TIE * sum(abs(float(s.max())) for s in scores)
    return [(members[i], int(sets[i].masks[f])) for i, f in _read_back(best, inner, scores, tolerance)]


def _within(masks: np.ndarray, members: list[int]) -> np.ndarray:
    """Return masks over the members only."""
    out = np.zeros(len(masks), np.int64)
    for i, x in enumerate(members):
        out |= (masks >> x & 1) << i
    return out


def _read_back(
    best: np.ndarray, sets: list[np.ndarray], scores: list[np.ndarray], tolerance: float
) -> list[tuple[int, int]]:
    """Return every node with the index of its parent set, last nodes first.

    The score of the result is at most the tolerance below the best; within it the later node and the smaller parent set
    are taken.
    """
    left, missing, found = len(best) - 1, float(best[-1]) - tolerance, []
    while left:
        for x in reversed(members_of(left)):
            rest = left ^ 1 << x
            fits = (sets[x] & ~rest == 0) & (scores[x] >= missing - best[rest])
            if fits.any():
                break
        place = int(fits.argmax())
        found.append((x, place))
        left, missing = rest, missing - float(scores[x][place])
    return found


def _best_graphs(sets: list[np.ndarray], scores: list[np.ndarray], tell: Callable[[str], None]) -> np.ndarray:
    """Return M(S), the score of the best graph over S, for every subset S of the nodes, by mask.

    Parameters
    ----------
    sets : list of ndarray of int64
        The parent sets of every node, as masks.
    scores : list of ndarray
        Their scores.
    tell : callable
        Called with a text about the progress.

    Examples
    --------
    >>> sets = [np.array([0, 2]), np.array([0, 1])]  # each of two nodes may be the parent of the other
    >>> _best_graphs(sets, [np.array([-5.0, -3.0]), np.array([-4.0, -3.0])], print).tolist()
    [0.0, -5.0, -4.0, -7.0]
    """
    return _small_best_graphs(sets, scores) if len(sets) <= _SMALL else _large_best_graphs(sets, scores, tell)


def _small_best_graphs(sets: list[np.ndarray], scores: list[np.ndarray]) -> np.ndarray:
    """Return M(S) by NumPy, with all b(x, C) at once."""
    n = len(sets)
    parents = np.full((n, 2**n), -np.inf)
    for x in range(n):
        np.maximum.at(parents[x], sets[x], scores[x])
    for b in range(n):
        halves = parents.reshape(n, -1, 2, 2**b)
        np.maximum(halves[:, :, 1], halves[:, :, 0], out=halves[:, :, 1])
    subsets = np.arange(2**n)
    sizes, best = np.bitwise_count(subsets), np.full(2**n, -np.inf)
    best[0] = 0.0
    for size in range(1, n + 1):
        some = subsets[sizes == size]
        for x in range(n):
            having = some[some >> x & 1 == 1]
            rest = having ^ 1 << x
            best[having] = np.maximum(best[having], best[rest] + parents[x, rest])
    return best


def _large_best_graphs(sets: list[np.ndarray], scores: list[np.ndarray], tell: Callable[[str], None]) -> np.ndarray:
    """Return M(S) block by block; blocks with the same number of upper bits are independent."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.learning.subsets import fill_best_graphs

    announce(fill_best_graphs, "exact search", 3)
    n = len(sets)
    low = min(n, _LOW_BITS)
    grouped = _grouped(sets, scores, low)
    out = np.empty((2 ** (n - low), 2**low))
    blocks = np.arange(len(out))
    n_upper = np.bitwise_count(blocks)

    def fill(some: np.ndarray) -> None:
        fill_best_graphs(some, n, grouped, np.empty((low, 2**low)), out)

    for k in range(n - low + 1):
        tell(f"orders of {counted(n, 'variable')}: {k + 1} of {n - low + 1}")
        layer = blocks[n_upper == k]
        map_threads(fill, [layer[start:stop] for start, stop in row_pieces(len(layer), _BLOCKS)])
    return out.reshape(-1)


def _grouped(sets: list[np.ndarray], scores: list[np.ndarray], low: int) -> tuple[np.ndarray, ...]:
    """Return the parent sets of all nodes in groups of equal upper bits, as ``subsets`` reads."""
    node = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    masks, values = np.concatenate(sets), np.concatenate(scores)
    order = np.lexsort((masks, node))
    node, masks, values = node[order], masks[order], values[order]
    upper = masks >> low
    new = np.append(True, (np.diff(upper) != 0) | (np.diff(node) != 0))
    first = np.append(np.flatnonzero(new), len(masks))
    first_group = np.searchsorted(node[new], np.arange(len(sets) + 1))
    return first_group, upper[new], first, masks & ((1 << low) - 1), values
