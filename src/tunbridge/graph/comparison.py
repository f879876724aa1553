"""Comparison of two graphs over the same nodes.

The structural Hamming distance counts the pairs of nodes that the two graphs join differently: a missing edge, an extra
edge, or one with another direction each count one. It is computed between equivalence classes, since data cannot
distinguish the graphs of a class.

Precision and recall are those of the arcs or, ignoring directions, of the edges of the skeleton.

References
----------
I. Tsamardinos, L. E. Brown, C. F. Aliferis (2006). The max-min hill-climbing Bayesian network structure learning
algorithm. Machine Learning 65, 31–78, algorithm 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tunbridge._core.check import listed, shortened
from tunbridge.errors import DataError
from tunbridge.graph.dag import CPDAG, DAG
from tunbridge.graph.names import ARC, EDGE, Pair, joined

if TYPE_CHECKING:
    import pandas

Graph = DAG | CPDAG

_SHOWN = 6
_GROUPS = ("both", "reversed", "missing", "extra")


@dataclass(frozen=True, repr=False)
class GraphComparison:
    """The differences between a learned graph and the true one.

    Parameters
    ----------
    both : tuple of pairs of str
        The arcs of both graphs.
    reversed : tuple of pairs of str
        The arcs of the true graph with another direction in the learned one.
    missing : tuple of pairs of str
        The arcs of the true graph between nodes that the learned one does not join.
    extra : tuple of pairs of str
        The arcs of the learned graph between nodes that the true one does not join.
    shd : int
        The structural Hamming distance between the equivalence classes.
    undirected : frozenset of pairs of str
        The pairs above that are undirected edges; empty for two DAGs.
    """

    both: tuple[Pair, ...]
    reversed: tuple[Pair, ...]
    missing: tuple[Pair, ...]
    extra: tuple[Pair, ...]
    shd: int
    undirected: frozenset[Pair] = frozenset()

    @property
    def precision(self) -> float:
        """The fraction of the learned arcs that are correct; 1 if there are none."""
        return _share(len(self.both), len(self.both) + len(self.reversed) + len(self.extra))

    @property
    def recall(self) -> float:
        """The fraction of the true arcs that were found; 1 if there are none."""
        return _share(len(self.both), len(self.both) + len(self.reversed) + len(self.missing))

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 if neither graph has arcs."""
        wrong = 2 * len(self.reversed) + len(self.missing) + len(self.extra)
        return _share(2 * len(self.both), 2 * len(self.both) + wrong)

    @property
    def skeleton_precision(self) -> float:
        """The precision of the skeleton, ignoring directions; 1 if the learned graph has no arcs."""
        return _share(self._n_joined, self._n_joined + len(self.extra))

    @property
    def skeleton_recall(self) -> float:
        """The recall of the skeleton, ignoring directions; 1 if the true graph has no arcs."""
        return _share(self._n_joined, self._n_joined + len(self.missing))

    @property
    def skeleton_f1(self) -> float:
        """The harmonic mean of the skeleton's precision and recall; 1 if neither graph has arcs."""
        return _share(2 * self._n_joined, 2 * self._n_joined + len(self.missing) + len(self.extra))

    @property
    def _n_joined(self) -> int:
        """The number of pairs that both graphs join, in any direction."""
        return len(self.both) + len(self.reversed)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each pair: ``from``, ``to``, ``result`` and ``directed``.

        The result is ``"both"``, ``"reversed"``, ``"missing"`` or ``"extra"``.
        """
        import pandas

        rows = [(*pair, name, pair not in self.undirected) for name in _GROUPS for pair in getattr(self, name)]
        return pandas.DataFrame(rows, columns=["from", "to", "result", "directed"])

    def __repr__(self) -> str:
        arcs = _scores(self.precision, self.recall, self.f1)
        skeleton = _scores(self.skeleton_precision, self.skeleton_recall, self.skeleton_f1)
        groups = {name: getattr(self, name) for name in _GROUPS}
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
        Graphs over the same nodes; a DAG is replaced by its equivalence class.

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
    """Return the arcs that a learned graph shares with the true one, and the missing and extra ones.

    Parameters
    ----------
    true, learned : DAG or CPDAG
        Graphs over the same nodes. Two DAGs are compared arc by arc; if one is a CPDAG the other is replaced by its
        class, and an undirected edge against an arc counts as reversed.

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
    """Return the direction of the arc for every joined pair of nodes; None for an undirected edge."""
    found: dict[frozenset[str], Pair | None] = {frozenset(pair): pair for pair in graph.arcs}
    return found | {frozenset(pair): None for pair in _edges(graph)}


def _distance(a: CPDAG, b: CPDAG) -> int:
    one, other = _directions(a).items(), _directions(b).items()
    return len({key for key, _ in one ^ other})


def _scores(precision: float, recall: float, f1: float) -> str:
    return f"precision {precision:.3g}, recall {recall:.3g}, F1 {f1:.3g}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
