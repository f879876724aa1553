"""Greedy equivalence search: the best step from one equivalence class of graphs to the next, until none is left.

Data cannot tell equivalent graphs apart, so a search over graphs walks back and forth between graphs that say the same
and stops where one class is left only through several of them. Greedy equivalence search (GES) goes from class to
class instead. A forward phase joins nodes as long as that raises the score, a backward phase then parts them: with a
score that is consistent and equivalent, as BIC and BDeu are, and ever more rows from a distribution that is faithful
to some graph, the class at the end is the true one (Chickering 2002). With the rows one has it is a local optimum, and
a third phase that turns arcs round often finds a better one (Hauser and Bühlmann 2012); the phases are repeated until
none gains.

The work is kept small as in fast GES (Ramsey and others 2017): every node remembers its steps in order of their gain,
only the nodes around a change work theirs out anew, and all further parents of one family are scored in one pass over
the data. Unlike there, nothing is left out: a step that was impossible is looked at again once its way round is cut.

References
----------
D. M. Chickering (2002). Optimal structure identification with greedy search. Journal of Machine Learning Research 3,
507–554.
A. Hauser, P. Bühlmann (2012). Characterization and greedy learning of interventional Markov equivalence classes of
directed acyclic graphs. Journal of Machine Learning Research 13, 2409–2464, section 4.
J. Ramsey, M. Glymour, R. Sanchez-Romero, C. Glymour (2017). A million variables and more: the fast greedy equivalence
search algorithm for learning high-dimensional graphical causal models, with an application to functional magnetic
resonance images. International Journal of Data Science and Analytics 3(2), 121–129.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge.errors import DataError
from tunbridge.learning.equivalence import EquivalenceClass, Mask, mask_of, positions
from tunbridge.learning.mixed import MixedFamilies
from tunbridge.learning.operators import Deletes, Inserts, Offer, Operators, Turns
from tunbridge.learning.problem import TIE, Journal, Problem, Search, SearchResult

_OTHERS = "search 'hill-climbing', 'tabu', 'sparse-candidate', 'orders' or 'exact'"
_OFFER_BYTES = 150
_WAYS_OUT = "Use search='sparse-candidate', which keeps a few candidates for each variable."


@dataclass(frozen=True)
class GES(Search):
    """Greedy equivalence search, with the turning phase unless it is not wanted.

    Parameters
    ----------
    turning : bool
        Whether to turn arcs round once nothing can be gained by joining or parting nodes.

    Notes
    -----
    The score must be the same for equivalent graphs. Arcs can be forbidden in both directions, and the number of
    parents can be limited for all nodes alike, which then holds for all graphs of a class or for none. What concerns
    one direction only is not for this search. A node whose k neighbours are all joined to each other has 2ᵏ families to
    look at: a limit on the parents also limits the work.

    With missing cells equivalent graphs no longer have quite the same score. The gains of the steps are then those for
    one graph of each class, and the search ends where it would come back to a class.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.example_network("asia").sample(5000, random_state=1)
    >>> tb.learn_structure(table, search=tb.GES(turning=False)).n_arcs
    8
    """

    name: ClassVar[str] = "ges"
    turning: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.turning, bool | np.bool_):
            raise DataError(f"turning must be True or False; got {self.turning!r}.")

    def run(self, problem: Problem) -> SearchResult:
        """Return a graph of the best class found; after Ctrl-C of the best so far."""
        _check(problem)
        climb = _Climb(problem, turning=self.turning)
        note = ""
        try:
            climb.run()
        except KeyboardInterrupt:
            note = "interrupted: the best graph so far"
        return SearchResult(climb.state.graph(), tuple(climb.journal.moves), note)


class _Climb:
    """A search under way: the present class and the steps to it."""

    def __init__(self, problem: Problem, *, turning: bool) -> None:
        limit = int(problem.max_parents.min(initial=problem.n))
        inserts = Inserts(problem.families, limit, _forbidden(problem))
        others = [Deletes, Turns] if turning else [Deletes]
        self._ledgers = [Ledger(inserts), *(Ledger(kind(problem.families, limit)) for kind in others)]
        self._problem = problem
        self.state = EquivalenceClass.of(problem.start)
        self.journal = Journal(problem.graph_score(problem.start))

    def run(self) -> None:
        """Repeat the phases until they end where they began, or where they have been before."""
        seen: set[EquivalenceClass] = set()
        while self.state not in seen:
            seen.add(self.state)
            for ledger in self._ledgers:
                self._phase(ledger)

    def _phase(self, ledger: Ledger) -> None:
        """Make the best step of one kind as long as there is one."""
        turned: set[EquivalenceClass] = set()
        while self.state not in turned:
            offer = ledger.best(self.state, TIE * max(1.0, abs(self.journal.score)))
            if offer is None:
                return
            if ledger.kind == Turns.kind:
                turned.add(self.state)  # joining and parting nodes never come back to a class
            self._step(ledger, offer)

    def _step(self, ledger: Ledger, offer: Offer) -> None:
        state = ledger.apply(self.state, offer)
        self.journal.add(ledger.kind, offer.start, offer.end, offer.gain)
        self.state = state
        self._problem.tell(ledger.kind, self.journal.score)


class Ledger:
    """The steps of one kind, each node's in order of their gain, kept up to date from class to class.

    Of each node the steps up to a mark are known to be impossible, because there is a way round on which they would
    close a cycle. They stay so until something on that way changes.
    """

    def __init__(self, operators: Operators) -> None:
        self.kind = operators.kind
        self.apply = operators.apply
        self._operators = operators
        self._state: EquivalenceClass | None = None
        self._offers: list[list[Offer]] = []
        self._mark: list[int] = []
        self._ways: list[Mask] = []
        self._tops = np.empty(0)  # the gains at the marks

    def best(self, state: EquivalenceClass, tie: float) -> Offer | None:
        """Return the step of the largest gain above ``tie``, the first arc among those that differ by less."""
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

    def _possible(self, state: EquivalenceClass, end: int, bound: float, tie: float) -> Iterator[Offer]:
        """Yield the first possible step of a node from the mark on, and those that tie with it; move the mark to it."""
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
        """Work out the steps of all nodes around a change anew, and look again at those whose way round was cut."""
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
    """Return the nodes whose steps may have changed, and those from which fewer nodes can be stepped to."""
    before, after = (zip(some.parents, some.neighbours, some.children, strict=True) for some in (old, new))
    changed = [i for i, (was, now) in enumerate(zip(before, after, strict=True)) if was != now]
    stale = mask_of(changed)
    for i in changed:
        stale |= new.parents[i] | new.neighbours[i]
    cut = [i for i in changed if (old.neighbours[i] | old.children[i]) & ~(new.neighbours[i] | new.children[i])]
    return stale, mask_of(cut)


def _forbidden(problem: Problem) -> tuple[Mask, ...]:
    """Return for each node those that it must not be joined to."""
    if problem.allowed is None:
        return (0,) * problem.n
    return tuple(mask_of(np.flatnonzero(~column).tolist()) for column in problem.allowed.T)


def _check(problem: Problem) -> None:
    """Raise unless the problem is one of classes: an equivalent score, and nothing known about directions."""
    if isinstance(problem.families, MixedFamilies):
        rule = "columns for search 'ges' must be all categorical or all continuous; got both"
        raise DataError(f"{rule}. Discretise the continuous ones, or use {_OTHERS}.")
    criterion = getattr(problem.families, "criterion", None)
    if not getattr(criterion, "is_equivalent", True):
        rule = "the score for search 'ges' must be the same for equivalent graphs"
        raise DataError(f"{rule}; got {criterion.name!r}. Use score 'bic' or 'bdeu', or {_OTHERS}.")  # type: ignore[union-attr]
    for got, holds in _directions(problem):
        if holds:
            rule = "what search 'ges' is told must be the same for both directions of an arc and for all nodes"
            raise DataError(f"{rule}; got {got}. Use {_OTHERS} instead.")
    n = problem.n
    check_memory(f"the steps between {counted(n, 'variable')}", _OFFER_BYTES * n**2, ways_out=_WAYS_OUT)


def _directions(problem: Problem) -> list[tuple[str, bool]]:
    """Return each kind of knowledge that is no matter of classes, and whether there is any."""
    allowed, bonus = problem.allowed, problem.families._arc_bonus
    limits = np.minimum(problem.max_parents, max(problem.n - 1, 0))
    return [
        ("required arcs", any(problem.required)),
        ("arcs forbidden in one direction", allowed is not None and bool((allowed != allowed.T).any())),
        ("different limits on the parents", bool((limits != limits.max(initial=0)).any())),
        ("different prior probabilities", bonus is not None and not np.allclose(bonus, bonus.T, rtol=1e-9, atol=0.0)),
    ]
