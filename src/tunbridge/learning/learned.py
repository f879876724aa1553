"""A learned graph: a DAG with its score and the steps of the search."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

from tunbridge._core.check import counted
from tunbridge._core.grid import grid_lines
from tunbridge.graph import DAG
from tunbridge.graph.names import Pair, joined_pairs

_SHOWN = 20


@dataclass(frozen=True)
class TracedMove:
    """One step of a search.

    Parameters
    ----------
    kind : str
        ``"add"``, ``"remove"`` or ``"reverse"``; searches over classes and orders have other kinds.
    start, end : str
        The arc (before it was reversed, if it was).
    gain : float
        The change of the score.
    score : float
        The score after the step.
    seconds : float
        The time from the start of the search.
    """

    kind: str
    start: str
    end: str
    gain: float
    score: float
    seconds: float


class LearnedDAG(DAG):
    """A graph found by a search: a :class:`DAG` with its score and the steps of the search.

    It equals any DAG with the same nodes and arcs; methods that return a changed graph return a plain DAG.

    Attributes
    ----------
    score : float
        The score of the graph; NaN for searches without a score.
    family_scores : mapping of str to float
        The score of each node with its parents.
    trace : tuple of TracedMove
        The steps of the search; :func:`tunbridge.plots.trace` draws them.
    criterion, search : str
        The names of the score and the search.
    note : str
        A note about how the search ended.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis())
    >>> dag
    LearnedDAG(5 nodes, 2 arcs: 'temperature' → 'humidity', 'humidity' → 'play'; bic -66.8887, hill-climbing)
    >>> print(dag)
    LearnedDAG: 5 nodes, 2 arcs; bic -66.8887, hill-climbing
    node         parents         score
    outlook                   -17.9463
    temperature               -17.7449
    humidity     temperature   -10.027
    wind                      -10.8802
    play         humidity     -10.2902
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
        """The arcs whose direction the data do not determine: an equivalent graph has them reversed."""
        return self.cpdag().edges

    @cached_property
    def _key(self) -> Hashable:
        return DAG, frozenset(self.nodes), self._lines()  # equal to a plain graph

    def __reduce__(self) -> tuple[Callable[[], LearnedDAG], tuple[()]]:
        names = ("trace", "criterion", "search", "note")
        kept = {name: getattr(self, name) for name in names} | {"family_scores": dict(self.family_scores)}
        return partial(LearnedDAG, self.nodes, self.arcs, **kept), ()

    def _summary(self, arcs: str = "") -> str:
        size = f"{counted(self.n_nodes, 'node')}, {counted(self.n_arcs, 'arc')}{arcs}"
        score = f"{self.criterion} {self.score:.6g}, " if self.family_scores else ""
        return "; ".join(filter(None, [size, score + self.search, self.note]))

    def __repr__(self) -> str:
        return f"LearnedDAG({self._summary(f': {joined_pairs(self.arcs)}' if self.arcs else '')})"

    def __str__(self) -> str:
        scores = {name: f"{value:.6g}" for name, value in self.family_scores.items()}
        rows = [[node, ", ".join(self.parents(node)), scores.get(node, "")] for node in self.nodes[:_SHOWN]]
        more = [f"… and {counted(self.n_nodes - _SHOWN, 'more node')}"] if self.n_nodes > _SHOWN else []
        grid = grid_lines(["node", "parents", "score" if scores else ""], rows, left=(0, 1))
        return "\n".join([f"LearnedDAG: {self._summary()}", *grid, *more])
