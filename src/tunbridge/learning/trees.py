"""Trees: the structures that can be found exactly, from the counts of pairs alone.

**Chow–Liu trees.** Among all graphs in which every node has at most one parent, the one of highest likelihood is a
maximum spanning tree of the mutual information I(X; Y) of all pairs: the log-likelihood of a tree is, up to a constant,

    Σ_{edges} N I(X; Y).

Which way the edges point makes no difference to it, so a root is chosen and the edges point away from it. With a price
on each arc (for BIC ½ log N for each of its (r − 1)(s − 1) further parameters), edges that do not pay are left out, and
what remains is the best forest.

**Trees around a class.** A classifier can afford more than naive Bayes: TAN makes the class a parent of every attribute
and joins the attributes by the maximum spanning tree of I(Xᵢ; Xⱼ | C), which again has the highest likelihood of its
kind. FAN keeps only the edges that pay. K-dependence goes beyond trees: the attributes are ordered by I(Xᵢ; C), and
each takes the class and those k before it that tell most about it, by I(Xᵢ; Xⱼ | C); k = 0 is naive Bayes.

Of edges that weigh the same, the first by name is taken. Cells may be missing: each pair counts the rows that have both
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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tunbridge._check import check_number, check_whole, did_you_mean, listed, shortened
from tunbridge.counts import PairCounts
from tunbridge.counts.fused import pair_information
from tunbridge.counts.information import information_and_rows, information_with_given
from tunbridge.errors import DataError
from tunbridge.learning.families import Families
from tunbridge.learning.problem import TIE, Journal, Problem, Search, SearchResult
from tunbridge.learning.spanning import Edge, direct, spanning_forest

Forest = bool | str | float
"""Which edges to leave out: none (False), or those that do not pay by "bic" (True) or "aic", have less than the "mean"
information, or no more than a number of nats."""

_FORESTS = ("bic", "aic", "mean")
_NOISE = 1e-12
"""Information below this, in nats, is a rounding error: it is a difference of sums of n log n, divided by n."""


@dataclass(frozen=True)
class ChowLiu(Search):
    """The tree of highest likelihood; with ``forest``, only of edges that pay.

    Parameters
    ----------
    root : str, optional
        The node that all arcs point away from; unless given, the first by name from which they may. So it is for every
        further tree of a forest.
    forest : bool, str or float
        False: a spanning tree. ``"bic"`` (or True) or ``"aic"``: the forest with the best score. ``"mean"``: the forest
        of edges with more than the mean information. A number: of edges with more nats than that.

    Notes
    -----
    Edges forbidden both ways are left out, and required ones are in; with one direction forbidden the root is chosen
    accordingly. The best tree is looked for without regard to directions, and refused if no root gives it allowed ones.

    Columns are all categorical, or all continuous and then taken for Gaussian: I = −½ log(1 − ρ²).

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
    name: ClassVar[str] = "chow-liu"
    is_scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name("root", self.root, optional=True)
        check_forest(self.forest)

    def run(self, problem: Problem) -> SearchResult:
        """Return the tree, or forest."""
        return _unless_stopped(problem, lambda: self._run(problem))

    def _run(self, problem: Problem) -> SearchResult:
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
        edges = spanning_forest(weights)
        _check_required(required, edges, names)
        parents = direct(edges, problem.n, root=root, allowed=allowed)
        _check_allowed(parents, allowed, names, self.root)
        return _result(parents, pairs, journal)


@dataclass(frozen=True)
class TAN(Search):
    """Tree-augmented naive Bayes: a class, parent of every attribute, and the best tree of the attributes given it.

    Parameters
    ----------
    target : str
        The class.
    root : str, optional
        The attribute that the tree points away from; unless given, the first by name. The classifier is the same
        whichever it is.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=TAN("play"))
    >>> dag.parents("wind"), dag.parents("temperature")
    (('outlook', 'play'), ('humidity', 'play'))
    """

    target: str
    root: str | None = None
    name: ClassVar[str] = "tan"
    is_scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        _check_root(self.root, self.target)

    def run(self, problem: Problem) -> SearchResult:
        """Return the class with a tree of attributes."""
        return _unless_stopped(problem, lambda: _augmented(problem, self.target, self.root, forest=False))


@dataclass(frozen=True)
class FAN(Search):
    """Forest-augmented naive Bayes: as :class:`TAN`, but attributes are joined only where it pays.

    Parameters
    ----------
    target : str
        The class.
    root : str, optional
        The attribute that its tree points away from; unless given, and in all other trees, the first by name.
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
    name: ClassVar[str] = "fan"
    is_scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        _check_root(self.root, self.target)
        check_forest(self.forest)
        if self.forest is False:
            raise DataError("forest must be 'bic', 'aic', 'mean' or a number; got False. Use TAN for a whole tree.")

    def run(self, problem: Problem) -> SearchResult:
        """Return the class with a forest of attributes."""
        return _unless_stopped(problem, lambda: _augmented(problem, self.target, self.root, self.forest))


@dataclass(frozen=True)
class KDependence(Search):
    """A classifier of limited dependence: each attribute has the class and up to k attributes as parents.

    The attributes are ordered by I(X; C), and each takes those k before it of largest I(X; Y | C).

    Parameters
    ----------
    target : str
        The class.
    k : int
        The most attributes among the parents of an attribute; 0 is naive Bayes.

    Examples
    --------
    >>> import tunbridge as tb
    >>> dag = tb.learn_structure(tb.datasets.play_tennis(), search=KDependence("play", k=2))
    >>> dag.parents("temperature")
    ('humidity', 'outlook', 'play')
    """

    target: str
    k: int = 1
    name: ClassVar[str] = "k-dependence"
    is_scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_name("target", self.target)
        check_whole("k", self.k, low=0)

    def run(self, problem: Problem) -> SearchResult:
        """Return the class with its attributes."""
        return _unless_stopped(problem, lambda: self._run(problem))

    def _run(self, problem: Problem) -> SearchResult:
        target = _checked_target(problem, self.target)
        pairs = _pairs_of(problem.families, target)
        others = [v for v in range(problem.n) if v != target]
        parents: list[tuple[int, ...]] = [()] * problem.n
        for x, best in enumerate(pairs.dependences(self.k)):
            parents[others[x]] = tuple(sorted([target, *(others[c] for c in best)]))
        return SearchResult(tuple(parents))


# What is known of the pairs


@dataclass(frozen=True, eq=False)
class Pairs:
    """What trees are made from.

    Parameters
    ----------
    information, rows : ndarray of shape (n, n)
        The information of all pairs, and the number of the rows it rests on.
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
        """Return the weights of which a forest has the largest sum, in nats a row; −inf: the edge does not pay."""
        if forest is False:
            return self.information
        if forest is True or forest in ("bic", "aic"):
            price = 1.0 if forest == "aic" else 0.5 * np.log(np.maximum(self.rows, 1.0))
            gains = self.rows * self.information - price * self.n_given * np.outer(self.n_free, self.n_free)
            weights, least = gains / max(1.0, float(self.rows.max(initial=0.0))), 0.0
        else:
            weights, least = self.information, self.mean if forest == "mean" else float(forest)
        return np.where(weights > least + _NOISE, weights, -np.inf)

    def tree(self, forest: Forest = False, *, root: int | None = None) -> list[int]:
        """Return each variable's parent in the tree (or forest) of most information, −1 for none."""
        return direct(spanning_forest(_rounded(self.weights(forest))), len(self.information), root=root)

    def ranked(self) -> list[int]:
        """Return the variables by what they tell about the class, most first."""
        return np.argsort(-_rounded(np.asarray(self.with_target)), kind="stable").tolist()

    def dependences(self, k: int) -> list[tuple[int, ...]]:
        """Return each variable's parents: those k that stand before it in the ranking and tell most about it.

        They come in the order of what they tell, most first.
        """
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
    """Return what pairs that were counted within the classes tell.

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
    """Return the information of all pairs, given the target if there is one, which is then left out."""
    counter = getattr(families, "counter", None)
    if counter is not None and tuple(v.name for v in counter.variables) == families.names:
        found = pair_information(counter, None if target is None else families.names[target])
        n_free = np.array([max(0, v.n_states - 1) for v in found.variables], np.float64)
        n_given = 1 if target is None else counter.variables[target].n_states
        return Pairs(found.information, found.rows, n_free, n_given, found.with_given)
    correlations = getattr(families, "correlations", None)
    if correlations is not None and target is None:
        return _gaussian(correlations(), families.n_rows)
    rule = "of one kind, categorical or continuous" if target is None else "categorical"
    raise DataError(f"the columns of a tree must be {rule}; some here are not. Discretise the continuous ones first.")


def _gaussian(correlations: np.ndarray, n_rows: float) -> Pairs:
    """Return the information of Gaussian variables; perfectly correlated ones have as much as rounding can tell."""
    squared = np.minimum(np.nan_to_num(correlations) ** 2, 1.0 - np.finfo(float).eps)
    return Pairs(-0.5 * np.log1p(-squared), np.full(squared.shape, float(n_rows)), np.ones(len(squared)))


# From pairs to graphs


def _augmented(problem: Problem, target_name: str, root_name: str | None, forest: Forest) -> SearchResult:
    """Return the class as parent of all attributes, joined by a forest."""
    journal, target = Journal(0.0), _checked_target(problem, target_name)
    root = None if root_name is None else _position("root", root_name, problem.families.names)
    pairs = _pairs_of(problem.families, target)
    shifted = None if root is None else root - (root > target)
    return _result(pairs.tree(forest, root=shifted), pairs, journal, target)


def _rounded(weights: np.ndarray) -> np.ndarray:
    """Return weights in whole numbers of a size that rounding errors do not reach, so that equal ones are equal."""
    step = max(_NOISE, TIE * float(weights.max(initial=0.0)))
    return np.rint(weights * (1.0 / step))


def _result(parents: Sequence[int], pairs: Pairs, journal: Journal, target: int | None = None) -> SearchResult:
    """Return the graph, with a move for each arc; the gains are those in log-likelihood."""
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


def _unless_stopped(problem: Problem, find: Callable[[], SearchResult]) -> SearchResult:
    try:
        return find()
    except KeyboardInterrupt:
        return SearchResult(problem.start, note="interrupted before there was a tree: this is the graph at the start")


# Checks


def _check_name(what: str, name: object, *, optional: bool = False) -> None:
    if not isinstance(name, str) and not (optional and name is None):
        raise DataError(f"{what} must be the name of a column; got {shortened(repr(name))}.")


def _check_root(root: object, target: str) -> None:
    _check_name("root", root, optional=True)
    if root == target:
        raise DataError(f"root must be an attribute; got {root!r}, which is the target. Name another, or none.")


def check_forest(forest: object) -> None:
    """Raise for what does not say which edges a forest has."""
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
    """Return the position of the target; refuse what is known about arcs, which these graphs cannot heed."""
    target = _position("target", name, problem.families.names)
    if not problem.is_free:
        raise DataError(
            "a graph around a target must be learned without constraints and max_parents; got some. "
            "Leave them out, or use search='chow-liu' or 'hill-climbing'."
        )
    return target


def _allowed(problem: Problem) -> np.ndarray | None:
    """Return which arcs may be there, None for all: a required one may not be there the other way round."""
    if problem.is_free:
        return None
    allowed = np.ones((problem.n, problem.n), bool) if problem.allowed is None else problem.allowed.astype(bool)
    allowed[:, problem.max_parents < 1] = False
    for x, parents in enumerate(problem.required):
        allowed[x, list(parents)] = False
    return allowed


def _check_required(required: Sequence[Edge], edges: Sequence[Edge], names: Sequence[str]) -> None:
    """Raise unless all required arcs are edges of the tree: together they must be a forest."""
    for p, x in required:
        if (min(p, x), max(p, x)) not in edges:
            raise DataError(
                f"the required arcs of a tree must not form a ring, whatever their directions; got "
                f"{names[p]!r} → {names[x]!r}, which closes one. Use search='hill-climbing'."
            )


def _check_allowed(parents: Sequence[int], allowed: np.ndarray | None, names: Sequence[str], root: str | None) -> None:
    for x, p in enumerate(parents):
        if p >= 0 and allowed is not None and not allowed[p, x]:
            why = "whatever its root" if root is None else f"with the root {root!r}"
            raise DataError(
                f"the arcs of the tree must be allowed; got {names[p]!r} → {names[x]!r}, which is not, {why}. "
                "Constrain fewer arcs, or use search='hill-climbing'."
            )
