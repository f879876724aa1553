"""What a search is given, and what it gives back.

Inside a search variables are positions in the sorted names and a graph is the tuple of its nodes' parents; names come
back at the border, in :mod:`tunbridge.learning.structure`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import ClassVar

import numpy as np

from tunbridge.learning.families import Families, Parents

Graph = tuple[Parents, ...]
"""The parents of every node, by position, ascending."""

TIE = 1e-11
"""Scores that differ by less than this share of their size are taken for equal: rounding must not decide."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A search's input: scored families, what is known about the arcs, where to start.

    Parameters
    ----------
    families : Families
        The scores.
    allowed : ndarray of shape (n, n), optional
        Whether the arc c → x may be there, at [c, x]; without it all may.
    required : tuple of tuples of int
        The parents that each node must have.
    max_parents : ndarray of shape (n,)
        The most parents of each node.
    start : tuple of tuples of int
        The graph to start from; it obeys the rest.
    rng : numpy.random.Generator
        The only source of chance.
    report : callable, optional
        Called now and then with a word about what is going on and the present score.
    """

    families: Families
    allowed: np.ndarray | None
    required: Graph
    max_parents: np.ndarray
    start: Graph
    rng: np.random.Generator
    report: Callable[[str, float], None] | None = None

    @property
    def n(self) -> int:
        """The number of variables."""
        return self.families.n

    @property
    def is_free(self) -> bool:
        """Whether nothing is required, forbidden or limited."""
        return self.allowed is None and not any(self.required) and bool((self.max_parents >= self.n - 1).all())

    def is_allowed(self, start: int, end: int) -> bool:
        """Return whether the arc may be there."""
        return start != end and (self.allowed is None or bool(self.allowed[start, end]))

    def is_legal(self, x: int, parents: Parents) -> bool:
        """Return whether a node may have these parents, and has all that it must have."""
        within = len(parents) <= self.max_parents[x] and set(self.required[x]) <= set(parents)
        return within and all(self.is_allowed(p, x) for p in parents)

    def starting_from(self, graph: Graph) -> Problem:
        """Return the same problem with another graph to start from."""
        return replace(self, start=graph)

    def graph_score(self, graph: Graph) -> float:
        """Return the score of a graph: the sum over its families."""
        return float(sum(self.families.score(x, parents) for x, parents in enumerate(graph)))

    def tell(self, what: str, score: float) -> None:
        """Report progress, if somebody listens."""
        if self.report is not None:
            self.report(what, score)


@dataclass(frozen=True)
class Move:
    """One step of a search: what was done to which arc, the gain, and the score and seconds after it."""

    kind: str
    start: int
    end: int
    gain: float
    score: float
    seconds: float


@dataclass(frozen=True)
class SearchResult:
    """The graph found, the steps to it, and a word about how the search ended."""

    graph: Graph
    moves: tuple[Move, ...] = ()
    note: str = ""


@dataclass
class Journal:
    """The moves so far; times count from when it was made."""

    score: float
    moves: list[Move] = field(default_factory=list)
    _began: float = field(default_factory=perf_counter)

    def add(self, kind: str, start: int, end: int, gain: float) -> None:
        """Note a move."""
        self.score += gain
        self.moves.append(Move(kind, start, end, gain, self.score, perf_counter() - self._began))


class Search(ABC):
    """A way to look for a good graph; its options are the fields of its kinds."""

    name: ClassVar[str]
    is_scored: ClassVar[bool] = True
    """Whether it goes by the score; a search that does not takes missing cells pair by pair."""

    @abstractmethod
    def run(self, problem: Problem) -> SearchResult:
        """Return the best graph found; after Ctrl-C the best so far."""
