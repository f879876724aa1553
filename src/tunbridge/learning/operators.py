"""Operators: the steps of a search from one equivalence class of graphs to the next, and what each would gain.

Every step changes one arc x → y in some graph of the class. Which graph is up to the neighbours of y, the nodes that
share an edge with it: a clique C of them become parents of y before the step. With Pa the parents of y, and NA those of
its neighbours that are joined to x, there are three kinds of steps.

* :class:`Inserts` adds x → y and gains s(y | Pa ∪ C ∪ x) − s(y | Pa ∪ C). C must hold NA, and every path from y to x
  along edges and arcs must go through C, so that no cycle arises (Chickering 2002, theorem 15, where C is NA ∪ T). One
  pass over the data scores all x for one C, and one search for paths finds all x that are cut off.
* :class:`Deletes` takes x → y away and gains s(y | Pa∖x ∪ C) − s(y | Pa ∪ C ∪ x). C must lie within NA (theorem 17,
  where C is NA∖H).
* :class:`Turns` makes x → y of y → x, and gains as for one arc less and one more. Of an arc if C holds NA and every
  other path from y to x goes through C or a neighbour of x; of an edge if some of C are not joined to x, so that a
  v-structure arises, and the part of C in NA keeps these apart from the rest of NA (Hauser and Bühlmann 2012).

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. Journal of Machine Learning Research 3,
507–554, sections 5.1 and 5.2.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov equivalence classes of
directed acyclic graphs. Journal of Machine Learning Research 13, 2409–2464, section 4.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from tunbridge.learning.equivalence import EquivalenceClass, Mask, positions
from tunbridge.learning.families import Families


class Offer(NamedTuple):
    """A step that may be possible: its gain, the arc, and the neighbours of its end that are parents before it."""

    gain: float
    start: int
    end: int
    given: Mask


class Operators(ABC):
    """The steps of one kind.

    Parameters
    ----------
    families : Families
        The scores.
    max_parents : int
        The most parents of a node.
    """

    kind: ClassVar[str]

    def __init__(self, families: Families, max_parents: int) -> None:
        self._families = families
        self._max_parents = max_parents

    @abstractmethod
    def offers(self, state: EquivalenceClass, end: int) -> list[Offer]:
        """Return the steps with an arc into a node that gain; whether there is a way round remains to be seen."""

    @abstractmethod
    def way_round(self, state: EquivalenceClass, offer: Offer) -> Mask:
        """Return nodes that hold a path with which the step would close a cycle; none when it is possible."""

    @abstractmethod
    def apply(self, state: EquivalenceClass, offer: Offer) -> EquivalenceClass:
        """Return the class after the step."""

    def _room(self, state: EquivalenceClass, end: int) -> int:
        """Return how many neighbours can become parents of a node beside its parents and one more."""
        return self._max_parents - state.parents[end].bit_count() - 1

    def _score(self, x: int, parents: Mask) -> float:
        return self._families.score(x, tuple(positions(parents)))

    def _gain(self, x: int, new: Mask, old: Mask) -> float:
        """Return what new parents in place of old ones add to the score; −inf when one family cannot be scored."""
        after, before = self._score(x, new), self._score(x, old)
        return after - before if after > -np.inf and before > -np.inf else -np.inf


class Inserts(Operators):
    """The steps that join two nodes.

    Parameters
    ----------
    families : Families
        The scores.
    max_parents : int
        The most parents of a node.
    forbidden : tuple of masks
        The nodes that each must not be joined to.
    """

    kind: ClassVar[str] = "insert"

    def __init__(self, families: Families, max_parents: int, forbidden: tuple[Mask, ...]) -> None:
        super().__init__(families, max_parents)
        self._forbidden = forbidden

    def offers(self, state: EquivalenceClass, end: int) -> list[Offer]:
        """Return the arcs into a node that gain, for every clique of its neighbours."""
        closed = self._forbidden[end] | state.joined[end] | 1 << end
        found = []
        for given, gains in self._cliques(state, end):
            barred = closed | state.around(state.neighbours[end] & ~given)
            better = np.flatnonzero(gains > 0.0)
            pairs = zip(gains[better].tolist(), better.tolist(), strict=True)
            found += [Offer(gain, start, end, given) for gain, start in pairs if not barred >> start & 1]
        return found

    def _cliques(self, state: EquivalenceClass, end: int) -> Iterator[tuple[Mask, np.ndarray]]:
        """Yield the cliques of a node's neighbours with what every further parent adds.

        A family that is too large for any further parent stays so with more of them.
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

    def way_round(self, state: EquivalenceClass, offer: Offer) -> Mask:
        """Return what can be reached from the end if the start is among it."""
        reached = state.reach(offer.end, offer.given)
        return reached if reached >> offer.start & 1 else 0

    def apply(self, state: EquivalenceClass, offer: Offer) -> EquivalenceClass:
        """Return the class with the arc."""
        return state.with_arc(offer.start, offer.end, offer.given)


class Deletes(Operators):
    """The steps that part two nodes."""

    kind: ClassVar[str] = "delete"

    def offers(self, state: EquivalenceClass, end: int) -> list[Offer]:
        """Return the arcs into a node and the edges at it that gain when taken away."""
        starts = positions(state.parents[end] | state.neighbours[end])
        return [offer for start in starts for offer in self._of(state, start, end) if offer.gain > 0.0]

    def _of(self, state: EquivalenceClass, start: int, end: int) -> Iterator[Offer]:
        for given in state.cliques(state.neighbours[end] & state.joined[start], state.n):
            others = state.parents[end] & ~(1 << start) | given
            yield Offer(self._gain(end, others, others | 1 << start), start, end, given)

    def way_round(self, state: EquivalenceClass, offer: Offer) -> Mask:
        """Return nothing: an arc less closes no cycle."""
        return 0

    def apply(self, state: EquivalenceClass, offer: Offer) -> EquivalenceClass:
        """Return the class without the arc."""
        return state.without_arc(offer.start, offer.end, offer.given)


class Turns(Operators):
    """The steps that turn an arc round, or give an edge a direction that makes a v-structure."""

    kind: ClassVar[str] = "turn"

    def offers(self, state: EquivalenceClass, end: int) -> list[Offer]:
        """Return the arcs from a node and the edges at it that gain as arcs into it."""
        found = [offer for start in positions(state.children[end]) for offer in self._of_arc(state, start, end)]
        found += [offer for start in positions(state.neighbours[end]) for offer in self._of_edge(state, start, end)]
        return [offer for offer in found if offer.gain > 0.0]

    def _of_arc(self, state: EquivalenceClass, start: int, end: int) -> Iterator[Offer]:
        """Yield the ways to turn the arc end → start."""
        shared, parents = state.neighbours[end] & state.joined[start], state.parents
        if not state.is_clique(shared):
            return
        less = self._gain(start, parents[start] & ~(1 << end), parents[start])
        others = state.common(shared, state.neighbours[end] & ~shared)
        for more in state.cliques(others, self._room(state, end) - shared.bit_count()):
            before = parents[end] | shared | more
            yield Offer(less + self._gain(end, before | 1 << start, before), start, end, shared | more)

    def _of_edge(self, state: EquivalenceClass, start: int, end: int) -> Iterator[Offer]:
        """Yield the ways to make the arc start → end of an edge."""
        around, parents = state.neighbours[end], state.parents
        shared = around & state.joined[start]
        for given in state.cliques(around & ~(1 << start), self._room(state, end)):
            both = given & shared
            if given == both or state.flood(given & ~both, around & ~both) & shared:
                continue
            before, after = parents[end] | given, parents[start] | both
            less = self._gain(start, after, after | 1 << end)
            yield Offer(less + self._gain(end, before | 1 << start, before), start, end, given)

    def way_round(self, state: EquivalenceClass, offer: Offer) -> Mask:
        """Return what can be reached from the end by other ways than the arc to be turned, if the start is among it."""
        start, end = offer.start, offer.end
        if state.neighbours[end] >> start & 1:
            return 0
        reached = state.reach(end, offer.given | state.neighbours[start], unless=1 << start)
        return reached if reached >> start & 1 else 0

    def apply(self, state: EquivalenceClass, offer: Offer) -> EquivalenceClass:
        """Return the class with the arc turned round."""
        return state.with_turned(offer.start, offer.end, offer.given)
