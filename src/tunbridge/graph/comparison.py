"""How far apart two graphs over the same nodes are.

The structural Hamming distance counts the pairs of nodes that the two graphs join differently: an edge that is missing,
one too many, or one with another direction each count one. It is taken between equivalence classes, since data cannot
tell the graphs of a class apart and a learner should not be blamed for it.

Precision and recall count what was found of what is there, among arcs or, whatever their directions, among the joined
pairs of the skeleton.

References
----------
I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian network structure learning
algorithm. Machine Learning 65, 31–78, algorithm 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from tunbridge._check import listed, shortened
from tunbridge.errors import DataError
from tunbridge.graph.cpdag import CPDAG
from tunbridge.graph.dag import DAG
from tunbridge.graph.names import ARC, EDGE, Pair, joined

Graph = DAG | CPDAG

_SHOWN = 6


@dataclass(frozen=True, repr=False)
class GraphComparison:
    """What a learned graph has in common with the true one.

    Parameters
    ----------
    both : tuple of pairs of str
        The arcs of both graphs.
    reversed : tuple of pairs of str
        The arcs of the true graph that the learned one has with another direction.
    missing : tuple of pairs of str
        The arcs of the true graph between nodes that the learned one does not join.
    extra : tuple of pairs of str
        The arcs of the learned graph between nodes that the true one does not join.
    shd : int
        The structural Hamming distance between the equivalence classes.
    undirected : frozenset of pairs of str
        Those of the pairs above that are undirected edges; there are none between two DAGs.
    """

    both: tuple[Pair, ...]
    reversed: tuple[Pair, ...]
    missing: tuple[Pair, ...]
    extra: tuple[Pair, ...]
    shd: int
    undirected: frozenset[Pair] = frozenset()

    @property
    def precision(self) -> float:
        """The share of the learned arcs that are right; 1 when there are none."""
        return _share(len(self.both), len(self.both) + len(self.reversed) + len(self.extra))

    @property
    def recall(self) -> float:
        """The share of the true arcs that were found; 1 when there are none."""
        return _share(len(self.both), len(self.both) + len(self.reversed) + len(self.missing))

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 when neither graph has arcs."""
        wrong = 2 * len(self.reversed) + len(self.missing) + len(self.extra)
        return _share(2 * len(self.both), 2 * len(self.both) + wrong)

    @property
    def skeleton_precision(self) -> float:
        """The share of the pairs joined by the learned graph that the true one joins; 1 when there are none."""
        return _share(self._n_joined, self._n_joined + len(self.extra))

    @property
    def skeleton_recall(self) -> float:
        """The share of the pairs joined by the true graph that the learned one joins; 1 when there are none."""
        return _share(self._n_joined, self._n_joined + len(self.missing))

    @property
    def skeleton_f1(self) -> float:
        """The harmonic mean of the skeleton's precision and recall; 1 when neither graph has arcs."""
        return _share(2 * self._n_joined, 2 * self._n_joined + len(self.missing) + len(self.extra))

    @property
    def _n_joined(self) -> int:
        """The number of pairs that both graphs join, whatever the direction."""
        return len(self.both) + len(self.reversed)

    def __repr__(self) -> str:
        arcs = _scores(self.precision, self.recall, self.f1)
        skeleton = _scores(self.skeleton_precision, self.skeleton_recall, self.skeleton_f1)
        groups = {name: getattr(self, name) for name in ("both", "reversed", "missing", "extra")}
        width = len(str(max(map(len, groups.values()))))
        lines = [f"  {name:8}  {len(pairs):{width}}  {self._shown(pairs)}".rstrip() for name, pairs in groups.items()]
        return "\n".join([f"GraphComparison: {arcs}, SHD {self.shd}", f"  skeleton: {skeleton}", *lines])

    def _shown(self, pairs: tuple[Pair, ...]) -> str:
        shown = [joined(pair, EDGE if pair in self.undirected else ARC) for pair in pairs[:_SHOWN]]
        return ", ".join(shown + ["…"] * (len(pairs) > _SHOWN))


def shd(a: Graph, b: Graph) -> int:
    """Return the structural Hamming distance between two equivalence classes.

    Parameters
    ----------
    a, b : DAG or CPDAG
        Graphs over the same nodes; a DAG is turned into its equivalence class.

    Examples
    --------
    >>> chain = DAG(arcs=[("A", "B"), ("B", "C")])
    >>> shd(chain, chain.reverse_arc("A", "B"))
    0
    >>> shd(chain, DAG(arcs=[("A", "B"), ("C", "B")]))
    2
    """
    _check_graphs(a, b)
    return _distance(_class(a), _class(b))


def compare_graphs(true: Graph, learned: Graph) -> GraphComparison:
    """Return the arcs that a learned graph shares with the true one, those it lacks, and those it has too many.

    Parameters
    ----------
    true, learned : DAG or CPDAG
        Graphs over the same nodes. Two DAGs are compared arc by arc; when one is a CPDAG the other is turned into one,
        and undirected edges are treated like arcs: as one of two that differ in direction, they count as reversed.

    Examples
    --------
    >>> compare_graphs(DAG(arcs=[("A", "C"), ("B", "C")]), DAG(["A", "B", "C"], [("A", "C"), ("A", "B")]))
    GraphComparison: precision 0.5, recall 0.5, F1 0.5, SHD 3
      skeleton: precision 0.5, recall 0.5, F1 0.5
      both      1  'A' → 'C'
      reversed  0
      missing   1  'B' → 'C'
      extra     1  'A' → 'B'
    """
    _check_graphs(true, learned)
    classes = _class(true), _class(learned)
    if not (isinstance(true, DAG) and isinstance(learned, DAG)):
        true, learned = classes
    t, f = _directions(true), _directions(learned)
    pairs = [(pair, frozenset(pair)) for pair in (*true.arcs, *_edges(true))]
    extra = [pair for pair in (*learned.arcs, *_edges(learned)) if frozenset(pair) not in t]
    return GraphComparison(
        both=tuple(pair for pair, key in pairs if key in f and t[key] == f[key]),
        reversed=tuple(pair for pair, key in pairs if key in f and t[key] != f[key]),
        missing=tuple(pair for pair, key in pairs if key not in f),
        extra=tuple(extra),
        shd=_distance(*classes),
        undirected=frozenset(_edges(true)) | (frozenset(extra) & frozenset(_edges(learned))),
    )


def _check_graphs(a: object, b: object) -> None:
    for graph in (a, b):
        if not isinstance(graph, DAG | CPDAG):
            raise DataError(f"a graph to compare must be a DAG or a CPDAG; got {shortened(repr(graph))}.")
    first, second = set(a.nodes), set(b.nodes)  # type: ignore[attr-defined]
    if first != second:
        only = listed(sorted(first ^ second))
        raise DataError(f"graphs to compare must have the same nodes; got {only} in one of them only.")


def _class(graph: Graph) -> CPDAG:
    return graph.cpdag() if isinstance(graph, DAG) else graph


def _edges(graph: Graph) -> tuple[Pair, ...]:
    return graph.edges if isinstance(graph, CPDAG) else ()


def _directions(graph: Graph) -> dict[frozenset[str], Pair | None]:
    """Return for every two nodes that are joined the direction of their arc; None for an edge, which has none."""
    found: dict[frozenset[str], Pair | None] = {frozenset(pair): pair for pair in graph.arcs}
    return found | {frozenset(pair): None for pair in _edges(graph)}


def _distance(a: CPDAG, b: CPDAG) -> int:
    one, other = _directions(a).items(), _directions(b).items()
    return len({key for key, _ in one ^ other})


def _scores(precision: float, recall: float, f1: float) -> str:
    return f"precision {precision:.3g}, recall {recall:.3g}, F1 {f1:.3g}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
