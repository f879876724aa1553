"""A learned graph: a DAG that knows how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tunbridge._check import counted
from tunbridge.graph import DAG
from tunbridge.graph.names import Pair, joined_pairs


@dataclass(frozen=True)
class TracedMove:
    """One step of a search.

    Parameters
    ----------
    kind : str
        ``"add"``, ``"remove"`` or ``"reverse"``; searches over classes and orders have words of their own.
    start, end : str
        The arc (before it was turned, if it was).
    gain : float
        By how much the score rose.
    score : float
        The score after it.
    seconds : float
        When it was made, from the start of the search.
    """

    kind: str
    start: str
    end: str
    gain: float
    score: float
    seconds: float


class LearnedDAG(DAG):
    """A graph found by a search: a :class:`DAG` with its score and the way to it.

    It is equal to any DAG with the same nodes and arcs; methods that change something return plain DAGs.

    Attributes
    ----------
    score : float
        The score of the graph; NaN for searches without one.
    family_scores : mapping of str to float
        The score of each node with its parents.
    trace : tuple of TracedMove
        The steps of the search; :func:`tunbridge.plots.trace` draws them.
    criterion, search : str
        The names of the score and the search.
    note : str
        A word about how the search ended, where there is something to say.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis())
    >>> dag
    LearnedDAG(5 nodes, 2 arcs: 'temperature' → 'humidity', 'humidity' → 'play'; bic -66.8887, hill-climbing)
    >>> dag.undecided
    (('temperature', 'humidity'), ('humidity', 'play'))
    """

    score: float
    family_scores: Mapping[str, float]
    trace: tuple[TracedMove, ...]
    criterion: str
    search: str
    note: str

    def __init__(
        self,
        nodes: Sequence[str],
        arcs: Sequence[Pair],
        *,
        family_scores: Mapping[str, float],
        trace: Sequence[TracedMove] = (),
        criterion: str = "",
        search: str = "",
        note: str = "",
    ) -> None:
        super().__init__(nodes, arcs)
        self.__dict__.update(score=float(sum(family_scores.values())) if family_scores else float("nan"))
        self.__dict__.update(family_scores=MappingProxyType(dict(family_scores)), trace=tuple(trace))
        self.__dict__.update(criterion=criterion, search=search, note=note)

    @cached_property
    def undecided(self) -> tuple[Pair, ...]:
        """The arcs whose direction the data cannot tell: an equivalent graph has them the other way round."""
        return self.cpdag().edges

    @cached_property
    def _key(self) -> Any:
        return DAG(self.nodes, self.arcs)._key

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (
            self.nodes,
            self.arcs,
            dict(self.family_scores),
            self.trace,
            self.criterion,
            self.search,
            self.note,
        )

    def __repr__(self) -> str:
        arcs = f": {joined_pairs(self.arcs)}" if self.arcs else ""
        size = f"{counted(self.n_nodes, 'node')}, {counted(self.n_arcs, 'arc')}{arcs}"
        score = f"{self.criterion} {self.score:.6g}, " if self.family_scores else ""
        return f"LearnedDAG({'; '.join(filter(None, [size, score + self.search, self.note]))})"


def _rebuilt(nodes: Any, arcs: Any, scores: Any, trace: Any, criterion: str, search: str, note: str) -> LearnedDAG:
    return LearnedDAG(nodes, arcs, family_scores=scores, trace=trace, criterion=criterion, search=search, note=note)
