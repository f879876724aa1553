"""The input and the result of a search, the base class of all searches, and progress reports.

Inside a search variables are positions in the sorted names and a graph is the tuple of its nodes' parents;
:mod:`tunbridge.learning.structure` translates names to positions and back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import ClassVar

import numpy as np

from tunbridge._core.progress import Progress, Report, watched as watched_line
from tunbridge.learning.scores.discrete import RegisteredName
from tunbridge.learning.scores.families import Families, Parents

Graph = tuple[Parents, ...]
"""The parents of every node, by position, ascending."""

TIE = 1e-11
"""Scores whose relative difference is smaller count as equal, so that rounding does not decide."""
INTERRUPTED = "interrupted: the best graph so far"


@dataclass(frozen=True, eq=False)
class Problem:
    """The input of a search: scored families, constraints on the arcs, and a start graph.

    Parameters
    ----------
    families : Families
        The scores.
    allowed : ndarray of shape (n, n), optional
        Whether the arc c → x is allowed, at [c, x]; None allows all.
    required : tuple of tuples of int
        The parents that each node must have.
    max_parents : ndarray of shape (n,)
        The maximum number of parents of each node.
    start : tuple of tuples of int
        The graph to start from; it satisfies the constraints.
    rng : numpy.random.Generator
        The only source of randomness.
    report : callable, optional
        Called from time to time with a short text and the current score.
    """

    families: Families
    allowed: np.ndarray | None
    required: Graph
    max_parents: np.ndarray
    start: Graph
    rng: np.random.Generator
    report: Report | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.families.n

    @property
    def is_free(self) -> bool:
        """Whether nothing is required, forbidden or limited."""
        return self.allowed is None and not any(self.required) and bool((self.max_parents >= self.n - 1).all())

    def is_allowed(self, start: int, end: int) -> bool:
        """Return whether the arc is allowed."""
        return start != end and (self.allowed is None or bool(self.allowed[start, end]))

    def is_legal(self, x: int, parents: Parents) -> bool:
        """Return whether a node may have these parents; required parents must be among them."""
        within = len(parents) <= self.max_parents[x] and set(self.required[x]) <= set(parents)
        return within and all(self.is_allowed(p, x) for p in parents)

    def starting_from(self, graph: Graph) -> Problem:
        """Return the same problem with another start graph."""
        return replace(self, start=graph)

    def graph_score(self, graph: Graph) -> float:
        """Return the score of a graph: the sum over its families."""
        return float(sum(self.families.score(x, parents) for x, parents in enumerate(graph)))

    def tell(self, what: str, score: float) -> None:
        """Report progress."""
        if self.report is not None:
            self.report(what, score)


@dataclass(frozen=True)
class Move:
    """One step of a search: the change to an arc, the gain, and the score and the seconds after it."""

    kind: str
    start: int
    end: int
    gain: float
    score: float
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """The graph found, the steps to it, and a note about how the search ended."""

    graph: Graph
    moves: tuple[Move, ...] = ()
    note: str = ""


@dataclass
class Journal:
    """The moves so far; times count from its creation."""

    score: float
    moves: list[Move] = field(default_factory=list)
    _began: float = field(default_factory=perf_counter)

    def add(self, kind: str, start: int, end: int, gain: float) -> None:
        """Record a move."""
        self.score += gain
        self.moves.append(Move(kind, start, end, gain, self.score, perf_counter() - self._began))


class Search(ABC):
    """A search for a good graph; the fields of a subclass are its options.

    A search that people choose by name is registered with ``@search("name")`` of :mod:`tunbridge._core.registry`.
    """

    name = RegisteredName()
    is_scored: ClassVar[bool] = True
    """Whether it uses the score. A search without a score reads pairs of columns and ignores missing values."""
    uses_start: ClassVar[bool] = True
    """Whether the result depends on the start graph."""

    @abstractmethod
    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph found; after Ctrl-C the best so far."""


def watched(progress: Progress) -> AbstractContextManager[Report | None]:
    """Give the function to report the progress of a search to, or None."""
    return watched_line(progress, _line, "score")


def _line(what: str, score: float) -> str:
    return f"learning: {what}, score {score:.10g} (Ctrl-C keeps the best so far)"
