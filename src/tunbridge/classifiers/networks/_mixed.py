"""Networks of categories and numbers: which features depend on which, their counts and moments, and their tables.

Given the class, a pair of features tells

    I(X; Y | C) = Σ_c P(c) · −½ log(1 − ρ_c²)                       of two numbers, ρ_c their correlation in class c,
    I(X; A | C) = ½ Σ_{c,a} P(c, a) log(s_c² / s_ca²)               of a number and a category,

and of two categories what ``trees`` says. These are what the arc gains in log-likelihood, a row,
when a number has a regression (a mean and a variance) of its own for every class and state. A number tells about the
class I(X; C) = ½ Σ_c P(c) log(s² / s_c²).

**The best tree.** A category cannot have a number as its parent: there is no table for it. So arcs into categories come
from categories, and form a forest of these; arcs into numbers, with all categories taken for one node, form a forest of
this node and the numbers, in which an arc from that node weighs what the best category gives. Neither choice restricts
the other, and every such pair of forests, directed away from the one node, is a graph of the kind: the maximum spanning
forest of each is the best of both.

Moments of pairs add up (Chan, Golub & LeVeque 1979), so that what is learned in batches is what is learned at once, the
tree included. A pair is judged by the rows that have both.

**Regressions.** The table of a number x with categorical parents p₁, p₂, … (the class first, where it is one) and
numbers y as parents is a regression for each configuration. What a configuration knows is in its moments (n, means,
products; see :mod:`tunbridge.counts.moments`). As the tables of categories do under hierarchical smoothing, a
configuration borrows from the one with fewer parents,

    M(p₁ … p_i)  ←  M(p₁ … p_i) + s rows' worth of M(p₁ … p_{i−1}),

beginning with all rows together: s = 1 for the first parent, so that classes are hardly drawn together, and 10 for the
others. With many rows a configuration keeps its own regression, with few it has mostly that of its class, without any
exactly that. Borrowed products also make the coefficients of parents that are combinations of each other well defined;
where they still are not, the smallest that fit are taken (``regression``). A column that holds
one value only gets the variance 1, and so says nothing about the class.

References
----------
N. Friedman, M. Goldszmidt, T. J. Lee (1998). Bayesian network classification with continuous attributes: getting the
best of both discretization and parametric fitting. ICML, 179–187.
A. Pérez, P. Larrañaga, I. Inza (2006). Supervised classification with conditional Gaussian networks. International
Journal of Approximate Reasoning 43, 1–25.
D. Edwards, G. C. G. de Abreu, R. Labouriau (2010). Selecting high-dimensional mixed graphical models using minimal AIC
or BIC forests. BMC Bioinformatics 11, 18.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tunbridge._core.seeds import RandomState
from tunbridge.classifiers._statistics import Encoding, Statistics
from tunbridge.classifiers.dependence._families import Families, Structure, as_table_prior, check_tables
from tunbridge.classifiers.dependence._pairs import PairMoments, Pairs
from tunbridge.classifiers.networks._model import NetworkModel
from tunbridge.counts import Counter, Counts, Moments
from tunbridge.counts.moments import CrossMoments
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.learning import fit_parameters
from tunbridge.learning.missing.mixed import MixedProblem
from tunbridge.learning.parameters.priors import DEFAULT_PRIOR, Prior, Rule, pseudo_counts, tables_of
from tunbridge.learning.parameters.regression import check_products, family_moments, least_variance, regressions
from tunbridge.learning.searches.trees import Forest, Pairs as PairInformation, pairs_within
from tunbridge.probability import CPT, ConditionalTable, LinearGaussian

BORROWED = 1.0
"""How many rows' worth the states of the first parent borrow from all rows together."""
_BORROWED_DEEPER = 10.0
"""How many a configuration of several parents borrows from the one with a parent less."""
_NEAREST = 1e-10
"""The least share of a variance that a parent leaves."""
_ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class MixedInformation:
    """What pairs of features tell, given the class.

    Parameters
    ----------
    information, rows : ndarray of shape (n, n)
        The information of all pairs, and the number of rows that it is estimated from.
    n_added : ndarray of shape (n, n)
        How many parameters an arc adds within each class.
    n_classes : int
        The number of the classes.
    with_target : ndarray of shape (n,)
        The information of each feature with the class.
    is_number : ndarray of shape (n,)
        Which features are numbers.
    """

    information: np.ndarray
    rows: np.ndarray
    n_added: np.ndarray
    n_classes: int
    with_target: np.ndarray
    is_number: np.ndarray

    def tree(self, forest: Forest = False, *, root: int | None = None) -> list[int]:
        """Return each feature's parent in the best tree (or forest) in which no category has a number as its parent."""
        weights, parents = self._weights(forest), [-1] * len(self.information)
        categories, numbers = np.flatnonzero(~self.is_number), np.flatnonzero(self.is_number)
        for x, p in _directed(weights, categories, root):
            parents[x] = p
        if not len(categories):
            for x, p in _directed(weights, numbers, root):
                parents[x] = p
            return parents
        best = categories[weights[np.ix_(categories, numbers)].argmax(axis=0)]
        joined = np.full((len(numbers) + 1, len(numbers) + 1), -np.inf)
        joined[1:, 1:] = weights[np.ix_(numbers, numbers)]
        joined[0, 1:] = joined[1:, 0] = weights[best, numbers]
        for i, p in enumerate(_as_pairs(joined).tree(root=0)[1:]):
            parents[numbers[i]] = -1 if p < 0 else int(best[i]) if p == 0 else int(numbers[p - 1])
        return parents

    def dependences(self, k: int) -> list[tuple[int, ...]]:
        """Return each feature's parents: those k before it in the ranking that tell most about it, most first.

        The ranking is by what a feature tells about the class; of a category only categories are parents.
        """
        barred = np.where(~self.is_number[:, None] & self.is_number, -np.inf, self.information)
        pairs = PairInformation(barred, self.rows, np.ones(len(barred)), self.n_classes, self.with_target)
        found = []
        for x, parents in enumerate(pairs.dependences(len(barred))):
            allowed = [p for p in parents if barred[x, p] > -np.inf]
            found.append(tuple(allowed[:k]))
        return found

    def _weights(self, forest: Forest) -> np.ndarray:
        """Return the weights of which a forest has the largest sum, in nats a row; −inf: the arc does not pay."""
        if forest is True or (isinstance(forest, str) and forest in ("bic", "aic")):
            price = 1.0 if forest == "aic" else 0.5 * np.log(np.maximum(self.rows, 1.0))
            gains = self.rows * self.information - price * self.n_classes * self.n_added
            return np.where(gains > 0.0, gains / max(1.0, float(self.rows.max(initial=0.0))), -np.inf)
        return PairInformation(self.information, self.rows, np.ones(len(self.rows))).weights(forest)


def _as_pairs(weights: np.ndarray) -> PairInformation:
    return PairInformation(weights, np.ones_like(weights), np.ones(len(weights)))


def _directed(weights: np.ndarray, some: np.ndarray, root: int | None) -> list[tuple[int, int]]:
    """Return (feature, parent) for the best forest of some features."""
    first = int(np.flatnonzero(some == root)[0]) if root is not None and root in some else None
    parents = _as_pairs(weights[np.ix_(some, some)]).tree(root=first)
    return [(int(some[x]), int(some[p])) for x, p in enumerate(parents) if p >= 0]


# What pairs tell


def mixed_information(statistics: Statistics) -> MixedInformation:
    """Return what all pairs of features tell, given the class."""
    pairs: Pairs = statistics.pairs
    encoding, n_classes = statistics.encoding, statistics.target.n_states
    n, categories, numbers = len(encoding.variables), list(encoding.categories), list(encoding.numbers)
    assert pairs.numbers is not None  # there are numbers
    information, rows, added = np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n))
    with_target, is_number = np.zeros(n), np.zeros(n, np.bool_)
    is_number[numbers] = True
    if pairs.counts is not None:
        found, at = pairs_within(pairs.counts), np.ix_(categories, categories)
        information[at], rows[at], added[at] = found.information, found.rows, np.outer(found.n_free, found.n_free)
        with_target[categories] = found.with_target
    at = np.ix_(numbers, numbers)
    information[at], rows[at] = _correlated(pairs.numbers), pairs.numbers.count.sum(axis=0)
    alone = Moments(*(np.diagonal(a, axis1=1, axis2=2) for a in pairs.numbers.arrays[:3]))
    with_target[numbers] = _told(alone.pooled(), alone)
    for j, within in zip(categories, pairs.within, strict=True):
        told, count = _told_within(within, n_classes)
        information[j, numbers] = information[numbers, j] = told
        rows[j, numbers] = rows[numbers, j] = count
        added[j, numbers] = added[numbers, j] = 2.0 * max(0, encoding.coded[j].n_states - 1)
    return MixedInformation(information, rows, added, n_classes, with_target, is_number)


def _correlated(moments: PairMoments) -> np.ndarray:
    """Return the information of two numbers: −½ log(1 − ρ²) in each class, as its rows have it.

    A class borrows from the others as its regressions do, and 1 − ρ² is divided by the rows that are left to show it.
    """
    n, s = moments.count, BORROWED
    total = n.sum(axis=0)
    square, product = (
        a + s * np.divide(a.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
        for a in (moments.square, moments.product)
    )
    varies = moments.square > _nothing(moments.mean, n)
    varies &= varies.swapaxes(1, 2)
    slope = np.divide(product, square, out=np.zeros_like(square), where=varies & (square > 0))
    squared = slope * slope.swapaxes(1, 2)  # the regression of one on the other times that of the other on the one
    rest = np.maximum(1.0 - squared, _NEAREST) * _ratio(n)
    told = np.where(varies, n * -0.5 * np.log(rest), 0.0).sum(axis=0)
    return np.maximum(np.divide(told, total, out=np.zeros_like(total), where=total > 0), 0.0)


def _ratio(n: np.ndarray) -> np.ndarray:
    """Return (n − 1 + s) / (n − 2 + s), where there are so many rows: one more parameter leaves one row less."""
    above = np.maximum(n - 1.0, 0.0) + BORROWED
    return above / np.maximum(above - 1.0, 0.5 * above)


def _nothing(mean: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the sum of squares that rounding alone can show."""
    with np.errstate(over="ignore"):  # beside huge weights no finite sum is more
        return n * (_ROUNDING * np.abs(mean)) ** 2


def _told_within(moments: Moments, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the states of a category tell about each number given the class, and the rows that have both."""
    by_class = [Moments(*(np.split(a, n_classes)[c] for a in (moments.count, moments.mean, moments.m2)))
                for c in range(n_classes)]  # fmt: skip
    n = np.array([m.count.sum(axis=0) for m in by_class])
    told = np.array([_told(m.pooled(), m) for m in by_class])
    total = n.sum(axis=0)
    return np.divide((n * told).sum(axis=0), total, out=np.zeros_like(total), where=total > 0), total


def _told(whole: Moments, groups: Moments) -> np.ndarray:
    """Return ½ Σ_g P(g) log(s² / s_g²) for each number, s² the variance of all groups together.

    Variances are divided by the rows less one, with s rows' worth of the whole added: a group of one row tells nothing.
    """
    n, total = groups.count, whole.count[0]
    varies = whole.m2[0] > _nothing(whole.mean[0], total)
    variance = np.where(varies, whole.m2[0] / np.maximum(total - 1.0, np.maximum(0.5 * total, 1e-300)), 1.0)
    own = (groups.m2 + BORROWED * variance) / (np.maximum(n - 1.0, 0.0) + BORROWED)
    logs = np.log(variance) - np.log(np.maximum(own, _NEAREST * variance))
    told = 0.5 * (n * logs).sum(axis=0)
    return np.where(varies, np.maximum(told / np.where(total > 0, total, 1.0), 0.0), 0.0)


# The families of a tree


def tree_network(statistics: Statistics, tree: Sequence[int]) -> Statistics:
    """Return the counts and moments of the families of a tree, given the parent of each feature (−1: none).

    Features without a value are not used; a parent without a row that has both is left out.
    """
    pairs, encoding, given = statistics.pairs, statistics.encoding, statistics.nodes[0]
    place = {j: i for some in (encoding.categories, encoding.numbers) for i, j in enumerate(some)}
    parents: list[tuple[int, ...] | None] = [()]
    counts = {0: Counts(given, (), statistics.class_weight[None])}
    moments: dict[int, CrossMoments] = {}
    for j, p in enumerate(tree):
        if j in encoding.numbers:
            p, found = _number_family(pairs, encoding, j, p, place)
            used = found is not None
            moments |= {} if found is None else {j + 1: found}
        else:
            used = encoding.coded[j].n_states > 0
            p = p if p >= 0 and encoding.coded[p].n_states else -1
            counts |= {j + 1: pairs.family(place[j], None if p < 0 else place[p])} if used else {}
        parents.append(None if not used else (0,) if p < 0 else (0, p + 1))
    families = Families(tuple(parents), counts, moments, with_class=True)
    return replace(statistics, parts={families.name: families})


def _number_family(
    pairs: Pairs, encoding: Encoding, j: int, parent: int, place: dict[int, int]
) -> tuple[int, CrossMoments | None]:
    """Return the parent of a number that there are rows for, and the moments; None when it has no value."""
    i = place[j]
    assert pairs.numbers is not None  # there are numbers
    if parent >= 0 and parent in encoding.numbers:
        found = pairs.numbers.family(i, place[parent])
    elif parent >= 0:
        m = pairs.within[place[parent]]
        found = CrossMoments(m.count[:, i].copy(), m.mean[:, [i]], m.m2[:, [i], None])
    else:
        found = pairs.numbers.family(i)
    if found.count.any():
        return parent, found
    return (-1, None) if parent < 0 else _number_family(pairs, encoding, j, -1, place)


def check_root(root: int | None, encoding: Encoding) -> None:
    """Raise for a root that the arcs cannot all point away from: a number where there are categories."""
    if root is not None and root in encoding.numbers and encoding.categories:
        name = encoding.variables[root].name
        raise DataError(
            "root must be a category where there are some, since no category depends on a number; got "
            f"{name!r}. Name another, or none.",
            parameter="root",
        )


# Counts and moments


def collect_network(
    table: Table, parents: Sequence[Sequence[int] | None], *, settled: bool, n_jobs: int | None
) -> Families:
    """Return the counts and moments of a structure over a table, the class first.

    Features without a value are not used. A number without any row that has the whole family depends on the class
    alone, if it did, or on nothing. A structure that is ``settled`` stays as it is: families without rows are not
    counted.
    """
    nodes = table.variables
    seen = {i for i, v in enumerate(nodes) if is_seen(table, v)}
    structure = tuple(None if p is None else tuple(p) for p in parents)
    structure = structure if settled else _usable(table, nodes, structure, seen)
    families = {i: p for i, p in enumerate(structure) if p is not None and seen.issuperset((i, *p))}
    counts = _family_counts(table, nodes, {i: p for i, p in families.items() if nodes[i].is_categorical}, n_jobs)
    moments = {
        i: family_moments(table, nodes[i].name, [nodes[u].name for u in p])
        for i, p in families.items()
        if nodes[i].is_continuous
    }
    return Families(structure, counts, moments, with_class=True)


def is_seen(table: Table, variable: Variable) -> bool:
    """Return whether a column has a value in some row with weight."""
    name = variable.name
    present = table.codes(name) >= 0 if variable.is_categorical else ~np.isnan(table.floats(name))
    return bool((present if table.weights is None else present & (table.weights > 0)).any())


def _usable(table: Table, nodes: Sequence[Variable], parents: Structure, seen: set[int]) -> Structure:
    """Return a structure without features that have no value, and without parents that leave a number no row."""
    found: list[tuple[int, ...] | None] = []
    for i, given in enumerate(parents):
        own = None if given is None or i not in seen else tuple(u for u in given if u in seen)
        if own and nodes[i].is_continuous and not _is_together(table, [nodes[u] for u in (i, *own)]):
            own = own[:1] if own[0] == 0 else ()
        found.append(own)
    return tuple(found)


def _is_together(table: Table, family: Sequence[Variable]) -> bool:
    """Return whether some row with weight has a value in all columns of a family."""
    whole = np.ones(table.n_rows, np.bool_) if table.weights is None else table.weights > 0
    for v in family:
        whole &= table.codes(v.name) >= 0 if v.is_categorical else ~np.isnan(table.floats(v.name))
    return bool(whole.any())


def _family_counts(
    table: Table, nodes: Sequence[Variable], families: Mapping[int, tuple[int, ...]], n_jobs: int | None
) -> dict[int, Counts]:
    check_tables([[nodes[u].n_states for u in (i, *p)] for i, p in families.items()])
    discrete = table.select([v.name for v in nodes if v.is_categorical])
    asked = [(nodes[i].name, [nodes[u].name for u in p]) for i, p in families.items()]
    return {i: c.dense() for i, c in zip(families, Counter(discrete, n_jobs=n_jobs).families(asked), strict=True)}


# Tables


def network_tables(statistics: Statistics, families: Families, rule: Rule) -> dict[int, ConditionalTable]:
    """Return the table of each node that is used; ``rule`` says how counts become tables."""
    if not families.with_class:
        raise ValueError("its structure must be one of the class and the features")
    tables = tables_of(list(families.counts.values()), rule)
    found: dict[int, ConditionalTable] = dict(zip(families.counts, tables, strict=True))
    for i, moments in families.moments.items():
        found[i] = gaussian_table(*families.family(i, statistics.nodes), moments)
    return dict(sorted(found.items()))


def filled_in(
    families: Families, table: Table, *, random_state: RandomState = None, n_jobs: int | None = None
) -> Families:
    """Return the counts and moments that EM expects of the rows of a table with missing values."""
    used = sorted({*families.counts, *families.moments})
    parents = {i: families.parents[i] or () for i in used}
    names = {i: table.names[i] for i in sorted({*used, *(p for own in parents.values() for p in own)})}
    seen = table.select(list(names.values()))
    if not seen.missing:
        return families
    dag = DAG(names.values(), [(names[p], names[i]) for i, own in parents.items() for p in own])
    net = fit_parameters(dag, seen, DEFAULT_PRIOR, random_state=random_state, n_jobs=n_jobs, progress=False)
    if not families.moments:
        raised = {i: np.asarray(net.cpt(names[i]).counts).reshape(c.table.shape) for i, c in families.counts.items()}
        added = {i: pseudo_counts(DEFAULT_PRIOR, c) for i, c in families.counts.items()}
        counts = {i: replace(c, table=np.maximum(raised[i] - added[i], 0.0)) for i, c in families.counts.items()}
        return replace(families, counts=counts)
    problem, place = MixedProblem(dag, seen, DEFAULT_PRIOR, n_jobs), {i: v for v, i in enumerate(names)}
    found = problem.expected(list(net.cpts.values()))
    expected = {i: found.counts[place[i]].reshape(c.table.shape) for i, c in families.counts.items()}
    return replace(
        families,
        counts={i: replace(c, table=expected[i]) for i, c in families.counts.items()},
        moments={i: found.moments.get(place[i], m) for i, m in families.moments.items()},
    )


def class_network(statistics: Statistics, log_prior: np.ndarray, smoothing: Prior) -> NetworkModel:
    """Return the model of a class that has no parents, with P(c) as given."""
    families: Families = statistics.families
    if families.parents[0] != ():
        raise ValueError("its class must have no parents")
    tables = network_tables(statistics, families, as_table_prior(smoothing))
    prior = np.exp(log_prior)
    tables[0] = CPT(statistics.nodes[0], [], prior / prior.sum())
    return NetworkModel(statistics.encoding, families.parents, tables)


def gaussian_table(child: Variable, parents: Sequence[Variable], moments: CrossMoments) -> LinearGaussian:
    """Return the regressions of a number, each configuration borrowing from the one with fewer parents."""
    shape = [p.n_states for p in parents if p.is_categorical]
    moments = CrossMoments(*map(np.ascontiguousarray, moments.arrays))  # sums are the same when read from a file
    pooled = check_products(moments, [*(p for p in parents if p.is_continuous), child])
    if pooled.products[0, -1, -1] / pooled.count[0] <= least_variance(pooled):
        numbers = moments.mean.shape[1] - 1
        return LinearGaussian(
            child, parents, np.full(shape, pooled.mean[0, -1]), np.zeros((*shape, numbers)), np.ones(shape),
            moments=moments,
        )  # fmt: skip
    return regressions(child, parents, borrowed(moments, shape), behind=moments)


def borrowed(moments: CrossMoments, shape: Sequence[int]) -> CrossMoments:
    """Return moments of which each configuration has borrowed from the one with fewer parents, and so on down."""
    found = moments.pooled()
    for i in range(1, len(shape) + 1):
        level = moments if i == len(shape) else _first(moments, prod(shape[:i]))
        wide = CrossMoments(*(np.repeat(a, shape[i - 1], axis=0) for a in found.arrays))
        found = level + wide.scaled((BORROWED if i == 1 else _BORROWED_DEEPER) / wide.count)
    return found


def _first(moments: CrossMoments, n_groups: int) -> CrossMoments:
    """Return the moments of runs of configurations, each run together."""
    count, mean, products = (a.reshape(n_groups, -1, *a.shape[1:]) for a in moments.arrays)
    n = count.sum(axis=1)
    share = np.divide(count, n[:, None], out=np.zeros_like(count), where=n[:, None] > 0)
    middle = np.einsum("gi,gik->gk", share, mean)
    off = np.where(count[..., None] > 0, mean - middle[:, None], 0.0)
    between = np.einsum("gi,gik,gil->gkl", count, off, off)
    return CrossMoments(n, middle, products.sum(axis=1) + between)
