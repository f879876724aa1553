"""Greedy equivalence search: the best step from one equivalence class of graphs to the next, until none is left.

Data cannot distinguish equivalent graphs, so a search over graphs moves back and forth between graphs of the same
score, and stops in classes that only several moves lead out of. Greedy equivalence search (GES) moves from class to
class instead. A forward phase joins nodes as long as that raises the score, then a backward phase separates them: with
a consistent and equivalent score, such as BIC or BDeu, and more and more rows from a distribution that is faithful to a
graph, the final class is the true one (Chickering 2002). With a finite number of rows it is a local optimum, and a
third phase that turns arcs often finds a better one (Hauser and Bühlmann 2012); the phases repeat until none gains.

Every step changes one arc x → y in some graph of the class. The graph is chosen by the neighbours of y, the nodes that
share an edge with it: a clique C of them become parents of y before the step. With Pa the parents of y, and NA its
neighbours that are joined to x, there are three kinds of steps.

* :class:`_Inserts` adds x → y and gains s(y | Pa ∪ C ∪ x) − s(y | Pa ∪ C). C must contain NA, and every path from y to
  x along edges and arcs must go through C, so that there is no cycle (Chickering 2002, theorem 15, where C is NA ∪ T).
  One pass over the data scores all x for one C, and one search for paths finds all x that are cut off.
* :class:`_Deletes` removes x → y and gains s(y | Pa∖x ∪ C) − s(y | Pa ∪ C ∪ x). C must be a subset of NA (theorem 17,
  where C is NA∖H).
* :class:`_Turns` turns y → x into x → y, and gains as for one arc less and one more. An arc can be turned if C contains
  NA and every other path from y to x goes through C or a neighbour of x; an edge if some of C are not joined to x, so
  that there is a new v-structure, and the part of C in NA separates these from the rest of NA (Hauser and Bühlmann
  2012).

The work is kept small as in fast GES (Ramsey and others 2017): every node keeps its steps sorted by gain, and only the
nodes around a change compute theirs again. Unlike there, nothing is left out: a step that was impossible is checked
again once the path that made it so is cut.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. Journal of Machine Learning Research 3,
507–554, sections 5.1 and 5.2.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov equivalence classes of
directed acyclic graphs. Journal of Machine Learning Research 13, 2409–2464, section 4.
J. Ramsey, M. Glymour, R. Sanchez-Romero, C. Glymour (2017). A million variables and more: the fast greedy equivalence
search algorithm for learning high-dimensional graphical causal models, with an application to functional magnetic
resonance images. International Journal of Data Science and Analytics 3(2), 121–129.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge._core.registry import search
from tunbridge.errors import DataError
from tunbridge.learning.scores.families import Families
from tunbridge.learning.scores.mixed import MixedFamilies
from tunbridge.learning.searches.equivalence import EquivalenceClass, Mask, mask_of, positions
from tunbridge.learning.searches.problem import INTERRUPTED, TIE, Journal, Problem, Search, SearchResult

_OTHERS = "search 'hill-climbing', 'tabu', 'sparse-candidate', 'orders' or 'exact'"
_OFFER_BYTES = 150
_WAYS_OUT = "Use search='sparse-candidate', which keeps a few candidates for each variable."


@search("ges", rank=4)
@dataclass(frozen=True)
class GES(Search):
    """Greedy equivalence search over classes of graphs that fit all data equally well.

    Parameters
    ----------
    turning : bool
        Whether to add a phase that turns arcs when inserting and deleting no longer gain.

    Notes
    -----
    The score must be the same for equivalent graphs. Arcs can be forbidden in both directions, and ``max_parents`` can
    be one number for all nodes. Constraints on one direction of an arc are not possible. A node whose k neighbours are
    all joined to each other has 2ᵏ families to score: a limit on the parents also limits the work.

    With missing values equivalent graphs do not have exactly the same score. The gains are then those of one graph of
    each class, and the search ends when it would return to a class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> tb.learn_structure(table, search=tb.GES(turning=False)).n_arcs
    8
    """

    turning: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.turning, bool | np.bool_):
            raise DataError(f"turning must be True or False; got {self.turning!r}.", parameter="turning")

    def run(self, problem: Problem) -> SearchResult:
        """Return a graph of the best class found."""
        _check(problem)
        climb, note = _Climb(problem, turning=self.turning), ""
        try:
            climb.run()
        except KeyboardInterrupt:
            note = INTERRUPTED
        return SearchResult(climb.state.graph(), tuple(climb.journal.moves), note)


class _Climb:
    """The state of a search: the current class and the steps to it."""

    def __init__(self, problem: Problem, *, turning: bool) -> None:
        limit = int(problem.max_parents.min(initial=problem.n))
        inserts = _Inserts(problem.families, limit, _forbidden(problem))
        others = [_Deletes, _Turns] if turning else [_Deletes]
        self._ledgers = [_Ledger(inserts), *(_Ledger(kind(problem.families, limit)) for kind in others)]
        self._problem = problem
        self.state = EquivalenceClass.of(problem.start)
        self.journal = Journal(problem.graph_score(problem.start))

    def run(self) -> None:
        """Repeat the phases until they end in a class seen before."""
        seen: set[EquivalenceClass] = set()
        while self.state not in seen:
            seen.add(self.state)
            for ledger in self._ledgers:
                self._phase(ledger)

    def _phase(self, ledger: _Ledger) -> None:
        """Make the best step of one kind as long as there is one."""
        turned: set[EquivalenceClass] = set()
        while self.state not in turned:
            offer = ledger.best(self.state, TIE * max(1.0, abs(self.journal.score)))
            if offer is None:
                return
            if ledger.kind == _Turns.kind:
                turned.add(self.state)  # inserting and deleting never return to a class
            state = ledger.apply(self.state, offer)
            self.journal.add(ledger.kind, offer.start, offer.end, offer.gain)
            self.state = state
            self._problem.tell(ledger.kind, self.journal.score)


# Steps


class _Offer(NamedTuple):
    """A step that may be possible: its gain, its arc, and the neighbours of the end that become parents first."""

    gain: float
    start: int
    end: int
    given: Mask


class _Operators(ABC):
    """The steps of one kind.

    Parameters
    ----------
    families : Families
        The scores.
    max_parents : int
        The maximum number of parents of a node.
    """

    kind: ClassVar[str]

    def __init__(self, families: Families, max_parents: int) -> None:
        self._families = families
        self._max_parents = max_parents

    @abstractmethod
    def offers(self, state: EquivalenceClass, end: int) -> list[_Offer]:
        """Return the steps into a node that gain; some may close a cycle."""

    @abstractmethod
    def way_round(self, state: EquivalenceClass, offer: _Offer) -> Mask:
        """Return the nodes of paths with which the step would close a cycle; 0 when it is possible."""

    @abstractmethod
    def apply(self, state: EquivalenceClass, offer: _Offer) -> EquivalenceClass:
        """Return the class after the step."""

    def _room(self, state: EquivalenceClass, end: int) -> int:
        """Return how many neighbours can become parents of a node besides its parents and one more."""
        return self._max_parents - state.parents[end].bit_count() - 1

    def _score(self, x: int, parents: Mask) -> float:
        return self._families.score(x, tuple(positions(parents)))

    def _gain(self, x: int, new: Mask, old: Mask) -> float:
        """Return the gain of replacing old parents by new ones; −inf when one family cannot be scored."""
        after, before = self._score(x, new), self._score(x, old)
        return after - before if after > -np.inf and before > -np.inf else -np.inf


class _Inserts(_Operators):
    """The steps that join two nodes.

    Parameters
    ----------
    families : Families
        The scores.
    max_parents : int
        The maximum number of parents of a node.
    forbidden : tuple of masks
        For each node the nodes that it must not be joined to.
    """

    kind: ClassVar[str] = "insert"

    def __init__(self, families: Families, max_parents: int, forbidden: tuple[Mask, ...]) -> None:
        super().__init__(families, max_parents)
        self._forbidden = forbidden

    def offers(self, state: EquivalenceClass, end: int) -> list[_Offer]:
        """Return the arcs into a node that gain, for every clique of its neighbours."""
        closed = self._forbidden[end] | state.joined[end] | 1 << end
        found = []
        for given, gains in self._cliques(state, end):
            barred = closed | state.around(state.neighbours[end] & ~given)
            better = np.flatnonzero(gains > 0.0)
            pairs = zip(gains[better].tolist(), better.tolist(), strict=True)
            found += [_Offer(gain, start, end, given) for gain, start in pairs if not barred >> start & 1]
        return found

    def _cliques(self, state: EquivalenceClass, end: int) -> Iterator[tuple[Mask, np.ndarray]]:
        """Yield the cliques of a node's neighbours with the gain of every further parent.

        A family that is too large for any further parent stays so when it grows.
        """
        full: list[Mask] = []
        for given in state.cliques(state.neighbours[end], self._room(state, end)):
            if any(not some & ~given for some in full):
                continue
            gains = self._gains(end, state.parents[end] | given)
            if gains.max() > -np.inf:
                yield given, gains
            else:
                full.append(given)

    def _gains(self, x: int, parents: Mask) -> np.ndarray:
        base = self._score(x, parents)
        if base == -np.inf:
            return np.full(self._families.n, -np.inf)
        return self._families.additions(x, tuple(positions(parents))) - base

    def way_round(self, state: EquivalenceClass, offer: _Offer) -> Mask:
        """Return the nodes reached from the end, if the start is one of them."""
        reached = state.reach(offer.end, offer.given)
        return reached if reached >> offer.start & 1 else 0

    def apply(self, state: EquivalenceClass, offer: _Offer) -> EquivalenceClass:
        """Return the class with the arc."""
        return state.with_arc(offer.start, offer.end, offer.given)


class _Deletes(_Operators):
    """The steps that separate two nodes."""

    kind: ClassVar[str] = "delete"

    def offers(self, state: EquivalenceClass, end: int) -> list[_Offer]:
        """Return the arcs into a node and the edges at it that gain when removed."""
        starts = positions(state.parents[end] | state.neighbours[end])
        return [offer for start in starts for offer in self._of(state, start, end) if offer.gain > 0.0]

    def _of(self, state: EquivalenceClass, start: int, end: int) -> Iterator[_Offer]:
        for given in state.cliques(state.neighbours[end] & state.joined[start], state.n):
            others = state.parents[end] & ~(1 << start) | given
            yield _Offer(self._gain(end, others, others | 1 << start), start, end, given)

    def way_round(self, state: EquivalenceClass, offer: _Offer) -> Mask:
        """Return 0: removing an arc closes no cycle."""
        return 0

    def apply(self, state: EquivalenceClass, offer: _Offer) -> EquivalenceClass:
        """Return the class without the arc."""
        return state.without_arc(offer.start, offer.end, offer.given)


class _Turns(_Operators):
    """The steps that turn an arc, or give an edge a direction that makes a v-structure."""

    kind: ClassVar[str] = "turn"

    def offers(self, state: EquivalenceClass, end: int) -> list[_Offer]:
        """Return the arcs from a node and the edges at it that gain as arcs into it."""
        found = [offer for start in positions(state.children[end]) for offer in self._of_arc(state, start, end)]
        found += [offer for start in positions(state.neighbours[end]) for offer in self._of_edge(state, start, end)]
        return [offer for offer in found if offer.gain > 0.0]

    def _of_arc(self, state: EquivalenceClass, start: int, end: int) -> Iterator[_Offer]:
        """Yield the ways to turn the arc end → start."""
        shared, parents = state.neighbours[end] & state.joined[start], state.parents
        if not state.is_clique(shared):
            return
        less = self._gain(start, parents[start] & ~(1 << end), parents[start])
        others = state.common(shared, state.neighbours[end] & ~shared)
        for more in state.cliques(others, self._room(state, end) - shared.bit_count()):
            before = parents[end] | shared | more
            yield _Offer(less + self._gain(end, before | 1 << start, before), start, end, shared | more)

    def _of_edge(self, state: EquivalenceClass, start: int, end: int) -> Iterator[_Offer]:
        """Yield the ways to turn an edge into the arc start → end."""
        around, parents = state.neighbours[end], state.parents
        shared = around & state.joined[start]
        for given in state.cliques(around & ~(1 << start), self._room(state, end)):
            both = given & shared
            if given == both or state.flood(given & ~both, around & ~both) & shared:
                continue
            before, after = parents[end] | given, parents[start] | both
            less = self._gain(start, after, after | 1 << end)
            yield _Offer(less + self._gain(end, before | 1 << start, before), start, end, given)

    def way_round(self, state: EquivalenceClass, offer: _Offer) -> Mask:
        """Return the nodes reached from the end without the arc to be turned, if the start is one of them."""
        start, end = offer.start, offer.end
        if state.neighbours[end] >> start & 1:
            return 0
        reached = state.reach(end, offer.given | state.neighbours[start], unless=1 << start)
        return reached if reached >> start & 1 else 0

    def apply(self, state: EquivalenceClass, offer: _Offer) -> EquivalenceClass:
        """Return the class with the arc turned."""
        return state.with_turned(offer.start, offer.end, offer.given)


# Steps, sorted and kept up to date


class _Ledger:
    """The steps of one kind, sorted by gain for each node, and updated from class to class.

    The steps of a node before its mark are impossible, because a path exists with which they would close a cycle. They
    stay impossible until something on that path changes.
    """

    def __init__(self, operators: _Operators) -> None:
        self.kind = operators.kind
        self.apply = operators.apply
        self._operators = operators
        self._state: EquivalenceClass | None = None
        self._offers: list[list[_Offer]] = []
        self._mark: list[int] = []
        self._ways: list[Mask] = []
        self._tops = np.empty(0)  # the gains at the marks

    def best(self, state: EquivalenceClass, tie: float) -> _Offer | None:
        """Return the step of the largest gain above ``tie``; of steps that differ by less the first arc."""
        self._follow(state)
        bound, near = tie, []
        for y in np.argsort(-self._tops, kind="stable").tolist():
            if self._tops[y] <= bound:
                break
            for offer in self._possible(state, y, bound, tie):
                near.append(offer)
                bound = max(bound, offer.gain - tie)
        near = [offer for offer in near if offer.gain >= bound]
        return min(near, key=lambda offer: offer[1:]) if near else None

    def _possible(self, state: EquivalenceClass, end: int, bound: float, tie: float) -> Iterator[_Offer]:
        """Yield the first possible step of a node, and those that tie with it; move the mark to it."""
        offers, mark = self._offers[end], self._mark[end]
        for at, offer in enumerate(offers[mark:], mark):
            if offer.gain <= bound:
                break
            way = self._operators.way_round(state, offer)
            if not way:
                yield offer
                bound = max(bound, offer.gain - tie)
            elif at == mark:
                mark += 1
                self._ways[end] |= way
        self._set_mark(end, mark)

    def _set_mark(self, end: int, mark: int) -> None:
        self._mark[end] = mark
        self._tops[end] = self._offers[end][mark].gain if mark < len(self._offers[end]) else -np.inf

    def _follow(self, state: EquivalenceClass) -> None:
        """Compute the steps of the nodes around a change again, and reset the marks whose path was cut."""
        n, old, self._state = state.n, self._state, state
        if old is None:
            self._offers, self._mark, self._ways, self._tops = [[]] * n, [0] * n, [0] * n, np.full(n, -np.inf)
        stale, cut = ((1 << n) - 1, 0) if old is None else _changes(old, state)
        for y in positions(stale):
            self._offers[y] = sorted(self._operators.offers(state, y), key=lambda offer: (-offer.gain, *offer[1:]))
        for y in positions(stale | mask_of(y for y, way in enumerate(self._ways) if way & cut)):
            self._ways[y] = 0
            self._set_mark(y, 0)


def _changes(old: EquivalenceClass, new: EquivalenceClass) -> tuple[Mask, Mask]:
    """Return the nodes whose steps may have changed, and those that lost a neighbour or child."""
    before, after = (zip(some.parents, some.neighbours, some.children, strict=True) for some in (old, new))
    changed = [i for i, (was, now) in enumerate(zip(before, after, strict=True)) if was != now]
    stale = mask_of(changed)
    for i in changed:
        stale |= new.parents[i] | new.neighbours[i]
    cut = [i for i in changed if (old.neighbours[i] | old.children[i]) & ~(new.neighbours[i] | new.children[i])]
    return stale, mask_of(cut)


def _forbidden(problem: Problem) -> tuple[Mask, ...]:
    """Return for each node the nodes that it must not be joined to."""
    if problem.allowed is None:
        return (0,) * problem.n
    return tuple(mask_of(np.flatnonzero(~column).tolist()) for column in problem.allowed.T)


def _check(problem: Problem) -> None:
    """Raise unless the score is equivalent and no constraint concerns one direction of an arc."""
    if isinstance(problem.families, MixedFamilies):
        rule = "columns for search 'ges' must be all categorical or all continuous; got both"
        raise DataError(f"{rule}. Discretise the continuous ones, or use {_OTHERS}.")
    criterion = getattr(problem.families, "criterion", None)
    if not getattr(criterion, "is_equivalent", True):
        rule = "the score for search 'ges' must be the same for equivalent graphs"
        raise DataError(f"{rule}; got {criterion.name!r}. Use score 'bic' or 'bdeu', or {_OTHERS}.")  # type: ignore[union-attr]
    n = problem.n
    check_memory(f"the steps between {counted(n, 'variable')}", _OFFER_BYTES * n**2, ways_out=_WAYS_OUT)
    for got, holds in _directions(problem):
        if holds:
            rule = "constraints for search 'ges' must be the same for both directions of an arc and for all nodes"
            raise DataError(f"{rule}; got {got}. Use {_OTHERS} instead.")


def _directions(problem: Problem) -> list[tuple[str, bool]]:
    """Return each kind of constraint that classes cannot satisfy, and whether there is any."""
    allowed, everyone = problem.allowed, np.arange(problem.n)
    rows = [np.broadcast_to(problem.families.bonuses(x, (), everyone), problem.n) for x in range(problem.n)]
    bonus = np.array(rows).reshape(problem.n, problem.n)
    limits = np.minimum(problem.max_parents, max(problem.n - 1, 0))
    return [
        ("required arcs", any(problem.required)),
        ("arcs forbidden in one direction", allowed is not None and bool((allowed != allowed.T).any())),
        ("different limits on the parents", bool((limits != limits.max(initial=0)).any())),
        ("different prior probabilities", not np.allclose(bonus, bonus.T, rtol=1e-9, atol=0.0)),
    ]
