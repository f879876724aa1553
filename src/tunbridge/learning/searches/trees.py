"""Trees: structures that can be found exactly, from the counts of pairs.

**Chow–Liu trees.** Among all graphs in which every node has at most one parent, the one of highest likelihood is a
maximum spanning tree of the mutual information I(X; Y) of all pairs: the log-likelihood of a tree is, up to a constant,

    Σ_{edges} N I(X; Y).

The likelihood does not depend on the directions of the edges, so a root is chosen and the edges point away from it.
With a penalty on each arc (for BIC ½ log N for each of its (r − 1)(s − 1) parameters), edges that gain less than the
penalty are left out, and the rest is the best forest.

**Trees around a class.** TAN makes the class a parent of every attribute and joins the attributes by the maximum
spanning tree of I(Xᵢ; Xⱼ | C), which again has the highest likelihood of its kind. FAN keeps only the edges that gain
more than their penalty. K-dependence goes beyond trees: the attributes are sorted by I(Xᵢ; C), and the parents of each
are the class and the k attributes before it with the largest I(Xᵢ; Xⱼ | C); k = 0 is naive Bayes.

Of edges with equal weight the first by name is taken. With missing values each pair uses the rows that have both values
(and the class).

References
----------
C. K. Chow, C. N. Liu (1968). Approximating discrete probability distributions with dependence trees. IEEE Transactions
on Information Theory 14, 462-467.
N. Friedman, D. Geiger, M. Goldszmidt (1997). Bayesian network classifiers. Machine Learning 29, 131-163 (TAN, §4.1).
M. Sahami (1996). Learning limited dependence Bayesian classifiers. KDD-96, 335-338 (k-dependence).
P. J. F. Lucas (2004). Restricted Bayesian network structure learning. Advances in Bayesian Networks, 217-232 (forests).
L. Jiang, H. Zhang, Z. Cai, J. Su (2005). Learning tree augmented naive Bayes for ranking. DASFAA 2005, 688-698 (edges
of less than the average information are left out).
D. Edwards, G. C. G. de Abreu, R. Labouriau (2010). Selecting high-dimensional mixed graphical models using minimal AIC
or BIC forests. BMC Bioinformatics 11, 18.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunbridge._core.check import check_integer, check_number, did_you_mean, listed, shortened
from tunbridge._core.registry import search
from tunbridge.counts import PairCounts
from tunbridge.counts.information import information_and_rows, information_with_given, pair_information
from tunbridge.errors import DataError
from tunbridge.learning.scores.families import Families
from tunbridge.learning.searches.problem import TIE, Journal, Problem, Search, SearchResult

Forest = bool | str | float
"""Which edges to leave out: none (False); those that lower "bic" (True) or "aic"; those with less than the "mean"
information, or with no more than a number of nats."""

_Edge = tuple[int, int]
"""Two nodes, the smaller first."""

_FORESTS = ("bic", "aic", "mean")
_NOISE = 1e-12
"""Information below this, in nats, is a rounding error: it is a difference of sums of n log n, divided by n."""
_FEW_NODES = 32
"""Up to this many nodes the edges are sorted, without a kernel."""
_PATIENT_NODES = 300
"""The same until the kernel has been compiled."""


class _PairSearch(Search):
    """Base class of the searches that read the information of pairs instead of a score."""

    is_scored: ClassVar[bool] = False

    def run(self, problem: Problem) -> SearchResult:
        """Return the graph."""
        try:
            return self._found(problem)
        except KeyboardInterrupt:
            return SearchResult(problem.start, note="interrupted before the tree was found: the start graph")

    @abstractmethod
    def _found(self, problem: Problem) -> SearchResult:
        """Return the graph."""


@search("chow-liu", rank=7)
@dataclass(frozen=True)
class ChowLiu(_PairSearch):
    """The tree of highest likelihood, or the best forest.

    Parameters
    ----------
    root : str, optional
        The node that all arcs point away from; default, and in the other trees of a forest: the first by name for which
        all arcs are allowed.
    forest : bool, str or float
        False: a spanning tree. ``"bic"`` (or True) or ``"aic"``: the forest with the best score. ``"mean"``: the forest
        of edges with more than the mean information. A number: of edges with more nats than that.

    Notes
    -----
    Edges forbidden in both directions are left out, and required ones are in; if one direction is forbidden the root is
    chosen accordingly. The best tree is found without regard to directions; it is an error if no root gives allowed
    ones.

    All columns must be categorical, or all continuous; the latter are assumed Gaussian: I = −½ log(1 − ρ²).

    Takes one pass over all pairs, O(n² N), and O(n²) for the tree.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=ChowLiu(root="play"))
    >>> dag.arcs
    (('play', 'outlook'), ('outlook', 'temperature'), ('temperature', 'humidity'), ('play', 'wind'))
    >>> tb.learn_structure(tb.datasets.play_tennis(), search=ChowLiu(forest="bic")).arcs
    (('humidity', 'temperature'), ('humidity', 'play'))
    """

    root: str | None = None
    forest: Forest = False

    def __post_init__(self) -> None:
        _check_name("root", self.root, optional=True)
        check_forest(self.forest)

    def _found(self, problem: Problem) -> SearchResult:
        journal, names = Journal(0.0), problem.families.names
        root = None if self.root is None else _position("root", self.root, names)
        pairs = _pairs_of(problem.families)
        weights = _rounded(pairs.weights(self.forest))
        allowed = _allowed(problem)
        required = [(p, x) for x, parents in enumerate(problem.required) for p in parents]
        if allowed is not None:
            weights[~(allowed | allowed.T)] = -np.inf
        for p, x in required:
            weights[p, x] = weights[x, p] = np.inf
        edges = _spanning_forest(weights)
        _check_required(required, edges, names)
        parents = direct(edges, problem.n, root=root, allowed=allowed)
        _check_allowed(parents, allowed, names, self.root)
        return _result(parents, pairs, journal)


@search("tan", rank=8, needs="target")
@dataclass(frozen=True)
class TAN(_PairSearch):
    """Tree-augmented naive Bayes: the class is a parent of every attribute, and a tree joins the attributes.

    Parameters
    ----------
    target : str
        The class.
    root : str, optional
        The attribute that the tree points away from; default: the first by name. The class probabilities do not depend
        on it.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=TAN("play"))
    >>> dag.parents("wind"), dag.parents("temperature")
    (('outlook', 'play'), ('humidity', 'play'))
    """

    target: str
    root: str | None = None

    forest: ClassVar[Forest] = False

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        _check_root(self.root, self.target)

    def _found(self, problem: Problem) -> SearchResult:
        return _augmented(problem, self)


@search("fan", rank=9, needs="target")
@dataclass(frozen=True)
class FAN(_PairSearch):
    """Forest-augmented naive Bayes: as :class:`TAN`, but only with edges that raise the score.

    Parameters
    ----------
    target : str
        The class.
    root : str, optional
        The attribute that its tree points away from; default, and in all other trees: the first by name.
    forest : str or float
        ``"bic"`` (or True) or ``"aic"``: the forest with the best score. ``"mean"``: the forest of edges with more than
        the mean information (Jiang et al. 2005). A number: of edges with more nats than that.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=FAN("play", forest=0.25))
    >>> dag.parents("wind"), dag.parents("temperature")
    (('play',), ('humidity', 'play'))
    """

    target: str
    root: str | None = None
    forest: Forest = "bic"

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        _check_root(self.root, self.target)
        check_forest(self.forest)
        if self.forest is False:
            raise DataError("forest must be 'bic', 'aic', 'mean' or a number; got False. Use TAN for a whole tree.")

    def _found(self, problem: Problem) -> SearchResult:
        return _augmented(problem, self)


@search("k-dependence", rank=10, needs="target")
@dataclass(frozen=True)
class KDependence(_PairSearch):
    """K-dependence: each attribute has the class and up to k other attributes as parents.

    The attributes are sorted by I(X; C), and each takes the k before it with the largest I(X; Y | C).

    Parameters
    ----------
    target : str
        The class.
    k : int
        The maximum number of attributes among the parents of an attribute; 0 is naive Bayes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=KDependence("play", k=2))
    >>> dag.parents("temperature")
    ('humidity', 'outlook', 'play')
    """

    target: str
    k: int = 1

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        check_integer("k", self.k, low=0)

    def _found(self, problem: Problem) -> SearchResult:
        target = _checked_target(problem, self.target)
        pairs = _pairs_of(problem.families, target)
        others = [v for v in range(problem.n) if v != target]
        parents: list[tuple[int, ...]] = [()] * problem.n
        for x, best in enumerate(pairs.dependences(self.k)):
            parents[others[x]] = tuple(sorted([target, *(others[c] for c in best)]))
        return SearchResult(tuple(parents))


# The information of pairs


@dataclass(frozen=True, eq=False)
class Pairs:
    """The information of all pairs of variables, from which trees are made.

    Parameters
    ----------
    information, rows : ndarray of shape (n, n)
        The information of all pairs, and the number of rows it was computed from.
    n_free : ndarray of shape (n,)
        An edge between i and j adds n_free[i] · n_free[j] · n_given parameters.
    n_given : int
        The states of the class.
    with_target : ndarray of shape (n,), optional
        The information of each variable with the class.
    """

    information: np.ndarray
    rows: np.ndarray
    n_free: np.ndarray
    n_given: int = 1
    with_target: np.ndarray | None = None

    def weights(self, forest: Forest) -> np.ndarray:
        """Return the weight of each edge, in nats per row; −inf for an edge that is left out."""
        if forest is False:
            return self.information
        if forest is True or forest in ("bic", "aic"):
            penalty = 1.0 if forest == "aic" else 0.5 * np.log(np.maximum(self.rows, 1.0))
            gains = self.rows * self.information - penalty * self.n_given * np.outer(self.n_free, self.n_free)
            weights, least = gains / max(1.0, float(self.rows.max(initial=0.0))), 0.0
        else:
            weights, least = self.information, self.mean if forest == "mean" else float(forest)
        return np.where(weights > least + _NOISE, weights, -np.inf)

    def tree(self, forest: Forest = False, *, root: int | None = None) -> list[int]:
        """Return each variable's parent in the tree (or forest) of most information, −1 for none."""
        return direct(_spanning_forest(_rounded(self.weights(forest))), len(self.information), root=root)

    def ranked(self) -> list[int]:
        """Return the variables by their information about the class, most first."""
        return np.argsort(-_rounded(np.asarray(self.with_target)), kind="stable").tolist()

    def dependences(self, k: int) -> list[tuple[int, ...]]:
        """Return each variable's parents: the k before it in the ranking with the most information, most first."""
        ranked, information = self.ranked(), _rounded(self.information)
        parents: list[tuple[int, ...]] = [()] * len(ranked)
        for i, x in enumerate(ranked):
            before = np.array(sorted(ranked[:i]), np.intp)
            parents[x] = tuple(before[np.argsort(-information[x, before], kind="stable")[:k]].tolist())
        return parents

    @property
    def mean(self) -> float:
        """The mean information of two different variables."""
        n = len(self.information)
        return float(self.information[np.triu_indices(n, 1)].mean()) if n > 1 else 0.0


def pairs_within(counts: PairCounts) -> Pairs:
    """Return the information of pairs that were counted within the classes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> pairs = pairs_within(tb.Counter(tb.datasets.play_tennis()).pairs_within("play"))
    >>> pairs.tree()
    [-1, 0, 1, 0]
    """
    information, rows = information_and_rows(counts)
    n_free = np.array([max(0, v.n_states - 1) for v in counts.variables], np.float64)
    margins = np.diagonal(counts.matrix, axis1=1, axis2=2)
    with_target = information_with_given(margins, counts.first)
    return Pairs(information, rows, n_free, len(counts.matrix), with_target)


def _pairs_of(families: Families, target: int | None = None) -> Pairs:
    """Return the information of all pairs; with a target given the target, which is left out."""
    counter = getattr(families, "counter", None)
    if counter is not None and tuple(v.name for v in counter.variables) == families.names:
        found = pair_information(counter, None if target is None else families.names[target])
        n_free = np.array([max(0, v.n_states - 1) for v in found.variables], np.float64)
        n_given = 1 if target is None else counter.variables[target].n_states
        return Pairs(found.information, found.rows, n_free, n_given, found.with_given)
    correlations = getattr(families, "correlations", None)
    if correlations is not None and target is None:
        return _gaussian(*correlations())
    rule = "of one kind, categorical or continuous" if target is None else "categorical"
    raise DataError(f"the columns of a tree must be {rule}; some are not. Discretise the continuous ones first.")


def _gaussian(correlations: np.ndarray, rows: np.ndarray) -> Pairs:
    """Return the information of Gaussian variables, finite also for perfectly correlated ones."""
    squared = np.minimum(np.nan_to_num(correlations) ** 2, 1.0 - np.finfo(float).eps)
    return Pairs(-0.5 * np.log1p(-squared), rows, np.ones(len(squared)))


# From pairs to graphs


def _augmented(problem: Problem, settings: TAN | FAN) -> SearchResult:
    """Return the class as parent of all attributes, which a forest joins."""
    journal, target = Journal(0.0), _checked_target(problem, settings.target)
    root = None if settings.root is None else _position("root", settings.root, problem.families.names)
    pairs = _pairs_of(problem.families, target)
    shifted = None if root is None else root - (root > target)
    return _result(pairs.tree(settings.forest, root=shifted), pairs, journal, target)


def _rounded(weights: np.ndarray) -> np.ndarray:
    """Return weights as integers, coarse enough that rounding errors do not make equal weights differ."""
    step = max(_NOISE, TIE * float(weights.max(initial=0.0)))
    return np.rint(weights * (1.0 / step))


def _result(parents: Sequence[int], pairs: Pairs, journal: Journal, target: int | None = None) -> SearchResult:
    """Return the graph, with a move for each arc; gains are in log-likelihood."""
    others = [v for v in range(len(parents) + (target is not None)) if v != target]
    graph: list[tuple[int, ...]] = [()] * len(others)
    if target is not None and pairs.with_target is not None:
        graph = [(target,)] * len(others)
        for x, gain in zip(others, (pairs.rows.diagonal() * pairs.with_target).tolist(), strict=True):
            journal.add("add", target, x, gain)
    ends = [x for x, p in enumerate(parents) if p >= 0]
    starts = [parents[x] for x in ends]
    gains = (pairs.rows[starts, ends] * pairs.information[starts, ends]).tolist()
    for p, x, gain in zip(starts, ends, gains, strict=True):
        graph[x] = tuple(sorted((*graph[x], others[p])))
        journal.add("add", others[p], others[x], gain)
    if target is not None:
        graph.insert(target, ())
    return SearchResult(tuple(graph), tuple(journal.moves))


# Spanning forests


def _spanning_forest(weights: np.ndarray) -> list[_Edge]:
    """Return the edges of the maximum spanning forest of a symmetric matrix, the smaller end of each first.

    Pairs of weight −inf have no edge. Of edges of equal weight the first by their ends is taken.

    Examples
    --------
    >>> _spanning_forest(np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]]))
    [(0, 1), (0, 2)]
    """
    if len(weights) <= _FEW_NODES:
        return _kruskal(weights)
    from tunbridge.kernels.compiled import is_compiled
    from tunbridge.kernels.learning.climbing import span

    if len(weights) <= _PATIENT_NODES and not is_compiled(span):
        return _kruskal(weights)
    joined_to = np.empty(len(weights), np.int64)
    span(np.ascontiguousarray(weights, np.float64), joined_to)
    return sorted((min(v, u), max(v, u)) for v, u in enumerate(joined_to.tolist()) if u >= 0)


def _kruskal(weights: np.ndarray) -> list[_Edge]:
    n = len(weights)
    starts, ends = np.triu_indices(n, 1)
    heavy = weights[starts, ends]
    tree, found = list(range(n)), []
    for e in np.argsort(-heavy, kind="stable")[: int((heavy > -np.inf).sum())].tolist():
        a, b = int(starts[e]), int(ends[e])
        if tree[a] != tree[b]:
            found.append((a, b))
            tree = [tree[a] if t == tree[b] else t for t in tree]
    return sorted(found)


def direct(edges: Sequence[_Edge], n: int, *, root: int | None = None, allowed: np.ndarray | None = None) -> list[int]:
    """Return each node's parent when the edges of a forest point away from its roots; −1 for a root.

    The root of a tree is the given one, otherwise the first node with the fewest arcs that are not allowed.

    Examples
    --------
    >>> direct([(0, 1), (1, 2)], 4, root=2)
    [1, 2, -1, -1]
    """
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    parents, seen = [-1] * n, [False] * n
    for first in range(n):
        if seen[first]:
            continue
        nodes = _walk(first, neighbours, parents)
        start = root if root is not None and root in nodes else _best_root(nodes, parents, allowed)
        if start != first:
            nodes = _walk(start, neighbours, parents)
        for v in nodes:
            seen[v] = True
    return parents


def _walk(root: int, neighbours: Sequence[Sequence[int]], parents: list[int]) -> list[int]:
    """Set the parents of the nodes of a tree, seen from its root; return the nodes, parents first."""
    parents[root] = -1
    nodes = [root]
    for v in nodes:
        for u in neighbours[v]:
            if u != parents[v]:
                parents[u] = v
                nodes.append(u)
    return nodes


def _best_root(nodes: Sequence[int], parents: Sequence[int], allowed: np.ndarray | None) -> int:
    """Return the first node from which the fewest arcs are not allowed; nodes and parents are as seen from nodes[0]."""
    if allowed is None:
        return nodes[0]
    broken = {nodes[0]: 0}
    for v in nodes[1:]:  # moving the root along an edge reverses only that edge
        p = parents[v]
        broken[v] = broken[p] + int(allowed[p, v]) - int(allowed[v, p])
    return min(nodes, key=lambda v: (broken[v], v))


# Checks


def _check_name(what: str, name: object, *, optional: bool = False) -> None:
    if not isinstance(name, str) and not (optional and name is None):
        raise DataError(f"{what} must be the name of a column; got {shortened(repr(name))}.")


def _check_root(root: object, target: str) -> None:
    _check_name("root", root, optional=True)
    if root == target:
        raise DataError(f"root must be an attribute; got {root!r}, which is the target.", parameter="root")


def check_forest(forest: object) -> None:
    """Raise unless ``forest`` is a valid option."""
    if isinstance(forest, str):
        if forest not in _FORESTS:
            hint = did_you_mean(forest, _FORESTS)
            raise DataError(f"forest must be False, True, {listed(_FORESTS)} or a number; got {forest!r}. {hint}")
    elif not isinstance(forest, bool):
        check_number("forest", forest, low=0)


def _position(what: str, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise DataError(f"{what} must be the name of a column; got {name!r}. {did_you_mean(name, names)}")
    return names.index(name)


def _checked_target(problem: Problem, name: str) -> int:
    """Return the position of the target; raise for constraints, which these graphs cannot satisfy."""
    target = _position("target", name, problem.families.names)
    if not problem.is_free:
        raise DataError(
            "a graph around a target must be learned without constraints and max_parents; got some. "
            "Leave them out, or use search='chow-liu' or 'hill-climbing'."
        )
    return target


def _allowed(problem: Problem) -> np.ndarray | None:
    """Return which arcs are allowed, None for all; a required arc is not allowed in the other direction."""
    if problem.is_free:
        return None
    allowed = np.ones((problem.n, problem.n), bool) if problem.allowed is None else problem.allowed.astype(bool)
    allowed[:, problem.max_parents < 1] = False
    for x, parents in enumerate(problem.required):
        allowed[x, list(parents)] = False
    return allowed


def _check_required(required: Sequence[_Edge], edges: Sequence[_Edge], names: Sequence[str]) -> None:
    """Raise unless all required arcs are edges of the tree: together they must be a forest."""
    for p, x in required:
        if (min(p, x), max(p, x)) not in edges:
            raise DataError(
                f"the required arcs of a tree must not form an undirected cycle; got {names[p]!r} → {names[x]!r}, "
                "which closes one. Use search='hill-climbing'."
            )


def _check_allowed(parents: Sequence[int], allowed: np.ndarray | None, names: Sequence[str], root: str | None) -> None:
    for x, p in enumerate(parents):
        if p >= 0 and allowed is not None and not allowed[p, x]:
            why = "for any root" if root is None else f"with the root {root!r}"
            raise DataError(
                f"the arcs of the tree must be allowed; got {names[p]!r} → {names[x]!r}, which is not, {why}. "
                "Constrain fewer arcs, or use search='hill-climbing'."
            )
