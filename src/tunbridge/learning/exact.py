"""Exact search: the graph of the highest score of all, to about 25 variables.

Every graph without cycles has a last node, one without children. Let M(S) be the score of the best graph over the
variables S, and b(x, C) the best score of x with parents inside C. Then (Silander and Myllymäki 2006)

    M(S) = max_{x in S} M(S − x) + b(x, S − x),        b(x, C) = max_{P ⊆ C} score(x, P),

which gives M for all 2^n subsets, the smaller first; the best graph is read back from M of them all, one last node
after the other. Three things keep it small:

* Only parent sets that score more than all of their subsets can matter, and families above a certain size cannot
  (:mod:`tunbridge.learning.parent_sets`).
* Who is a possible parent of whom, by the sets that are left and by what is allowed, falls into groups that no cycle
  leaves (strongly connected components: Fan, Malone and Yuan 2014). Each is solved by itself, so 2^n means the largest.
* b is made block by block and thrown away, and the last nodes are found again from M on the way back: the memory is
  8 · 2^n bytes, 256 MiB for 25 variables, and the parent sets.

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

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tunbridge._check import check_number, counted, listed
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.errors import DataError
from tunbridge.learning.parent_sets import ParentSets, members_of, parent_source
from tunbridge.learning.problem import TIE, Problem, Search, SearchResult

_WAYS_OUT = "Learn from fewer variables, set max_parents, forbid arcs, or use another search ('ges', 'tabu')."
_SMALL = 10
"""Up to so many variables NumPy does it at once, without a compiler."""
_LOW_BITS = 11
"""Subsets in a block: 2^11 scores, for each node of it, stay near the core."""
_BLOCKS = 64
"""Blocks that a thread takes in one go."""


@dataclass(frozen=True)
class Exact(Search):
    """The search that finds the graph of the highest score, under any constraints.

    Of graphs that score alike it takes one in which variables of later names stand later and have fewer parents.

    Parameters
    ----------
    max_parents : int, optional
        The most parents of any node, besides the problem's own limits; parents that are required always stay.
    memory_limit : float, optional
        Bytes; without it TUNBRIDGE_MEMORY_LIMIT or half the free memory.

    Notes
    -----
    Time n·2^n for n variables that all may depend on one another, after the families are scored: of these there are up
    to n·2^(n − 1), so that above 15 variables a limit on the parents or a score that punishes large families is needed.
    A search that is interrupted has nothing to show: it gives back the start graph if there is one, else the interrupt
    goes on to the caller.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.plain import NumpyFamilies
    >>> from tunbridge.learning.scores import BDeu
    >>> families = NumpyFamilies(tb.datasets.play_tennis(), BDeu(ess=5))
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

    name: ClassVar[str] = "exact"

    max_parents: int | None = None
    memory_limit: float | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.max_parents, numbers.Integral) and not isinstance(self.max_parents, bool)
        if self.max_parents is not None and (not whole or self.max_parents < 0):
            raise DataError(f"max_parents must be a whole number from 0, or None; got {self.max_parents!r}.")
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
        """Return what may be the parents of each node in a best graph."""
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
    best = best_graphs(inner, scores, tell)
    if best[-1] == -np.inf:
        raise DataError(
            f"the constraints must leave a graph that can be scored; got none over {listed(names[x] for x in members)}."
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
    """Return every node with the place of its parent set, last nodes first.

    What is found never falls more than the tolerance below the best, over all nodes together; within it the later node
    and the smaller parent set are taken.
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


def best_graphs(sets: list[np.ndarray], scores: list[np.ndarray], tell: Callable[[str], None]) -> np.ndarray:
    """Return M(S), the score of the best graph over S, for every subset S of the nodes, by mask.

    Parameters
    ----------
    sets : list of ndarray of int64
        The parent sets of every node, as masks.
    scores : list of ndarray
        Their scores.
    tell : callable
        Called with a word about how far it is.

    Examples
    --------
    >>> sets = [np.array([0, 2]), np.array([0, 1])]  # either of two nodes may be the parent of the other
    >>> best_graphs(sets, [np.array([-5.0, -3.0]), np.array([-4.0, -3.0])], print).tolist()
    [0.0, -5.0, -4.0, -7.0]
    """
    return _small_best_graphs(sets, scores) if len(sets) <= _SMALL else _large_best_graphs(sets, scores, tell)


def _small_best_graphs(sets: list[np.ndarray], scores: list[np.ndarray]) -> np.ndarray:
    """Return M(S) by NumPy, with all the b(x, C) at once."""
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
    """Return M(S) block by block; blocks of equally many upper bits do not depend on each other."""
    from tunbridge.kernels.compiled import announce
    from tunbridge.kernels.subsets import fill_best_graphs

    announce(fill_best_graphs, "exact search")
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
    """Return the parent sets of all nodes in groups of equal upper bits, as :mod:`tunbridge.kernels.subsets` reads."""
    node = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    masks, values = np.concatenate(sets), np.concatenate(scores)
    order = np.lexsort((masks, node))
    node, masks, values = node[order], masks[order], values[order]
    upper = masks >> low
    new = np.append(True, (np.diff(upper) != 0) | (np.diff(node) != 0))
    first = np.append(np.flatnonzero(new), len(masks))
    first_group = np.searchsorted(node[new], np.arange(len(sets) + 1))
    return first_group, upper[new], first, masks & ((1 << low) - 1), values
