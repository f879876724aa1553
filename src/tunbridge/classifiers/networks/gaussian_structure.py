"""Which features depend on which where some are categories and some are numbers.

Given the class, a pair of features tells

    I(X; Y | C) = Σ_c P(c) · −½ log(1 − ρ_c²)                       of two numbers, ρ_c their correlation in class c,
    I(X; A | C) = ½ Σ_{c,a} P(c, a) log(s_c² / s_ca²)               of a number and a category,

and of two categories what :mod:`tunbridge.learning.trees` says. These are what the arc gains in log-likelihood, a row,
when a number has a regression (a mean and a variance) of its own for every class and state. A number tells about the
class I(X; C) = ½ Σ_c P(c) log(s² / s_c²).

**The best tree.** A category cannot have a number as its parent: there is no table for it. So arcs into categories come
from categories, and form a forest of these; arcs into numbers, with all categories taken for one node, form a forest of
this node and the numbers, in which an arc from that node weighs what the best category gives. Neither choice restricts
the other, and every such pair of forests, directed away from the one node, is a graph of the kind: the maximum spanning
forest of each is the best of both.

Moments of pairs add up (Chan, Golub & LeVeque 1979), so that what is learned in batches is what is learned at once, the
tree included. A pair is judged by the rows that have both.

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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tunbridge.classifiers.dependence.family_statistics import Structure
from tunbridge.classifiers.networks.mixed_pairs import MixedPairs, PairMoments
from tunbridge.classifiers.networks.network_statistics import NetworkStatistics
from tunbridge.classifiers.networks.network_tables import BORROWED
from tunbridge.counts import Counts, Moments
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.errors import DataError
from tunbridge.learning.trees import Forest, Pairs, pairs_within

_NEAREST = 1e-10
"""The least share of a variance that a parent leaves."""
_ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class MixedInformation:
    """What pairs of features tell, given the class.

    Parameters
    ----------
    information, rows : ndarray of shape (n, n)
        The information of all pairs, and the number of the rows it rests on.
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
        pairs = Pairs(barred, self.rows, np.ones(len(barred)), self.n_classes, self.with_target)
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
        return Pairs(self.information, self.rows, np.ones(len(self.rows))).weights(forest)


def _as_pairs(weights: np.ndarray) -> Pairs:
    return Pairs(weights, np.ones_like(weights), np.ones(len(weights)))


def _directed(weights: np.ndarray, some: np.ndarray, root: int | None) -> list[tuple[int, int]]:
    """Return (feature, parent) for the best forest of some features."""
    first = int(np.flatnonzero(some == root)[0]) if root is not None and root in some else None
    parents = _as_pairs(weights[np.ix_(some, some)]).tree(root=first)
    return [(int(some[x]), int(some[p])) for x, p in enumerate(parents) if p >= 0]


# What pairs tell


def mixed_information(pairs: MixedPairs) -> MixedInformation:
    """Return what all pairs of features tell, given the class."""
    n, categories, numbers = len(pairs.variables), list(pairs.columns.categories), list(pairs.columns.numbers)
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
        told, count = _told_within(within, pairs.target.n_states)
        information[j, numbers] = information[numbers, j] = told
        rows[j, numbers] = rows[numbers, j] = count
        r = pairs.columns.columns[j].n_states
        added[j, numbers] = added[numbers, j] = 2.0 * max(0, r - 1)
    return MixedInformation(information, rows, added, pairs.target.n_states, with_target, is_number)


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
    return n * (_ROUNDING * np.abs(mean)) ** 2


def _told_within(moments: Moments, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what the states of a category tell about each number given the class, and the rows it rests on."""
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


def tree_network(pairs: MixedPairs, parents: Sequence[int]) -> NetworkStatistics:
    """Return what the families of a tree need, given the parent of each feature (−1: none).

    Features that were never seen are not used; a parent of which no row shows both is left out.
    """
    empty = NetworkStatistics(pairs.target, pairs.class_weight, pairs.columns, (), {}, {})
    structure: list[tuple[int, ...] | None] = [()]
    counts = {0: Counts(empty.nodes[0], (), pairs.class_weight[None])}
    moments: dict[int, CrossMoments] = {}
    place = {j: i for some in (pairs.columns.categories, pairs.columns.numbers) for i, j in enumerate(some)}
    for j, p in enumerate(parents):
        node = j + 1
        if j in pairs.columns.numbers:
            parent, found = _number_family(pairs, j, p, place)
            structure.append(None if found is None else (0,) if parent < 0 else (0, parent + 1))
            if found is not None:
                moments[node] = found
            continue
        used = empty.nodes[node].n_states > 0
        p = p if p >= 0 and empty.nodes[p + 1].n_states else -1
        structure.append(None if not used else (0,) if p < 0 else (0, p + 1))
        if used:
            counts[node] = _category_family(pairs, place[j], -1 if p < 0 else place[p])
    return NetworkStatistics(pairs.target, pairs.class_weight, pairs.columns, tuple(structure), counts, moments)


def _number_family(pairs: MixedPairs, j: int, parent: int, place: dict[int, int]) -> tuple[int, CrossMoments | None]:
    """Return the parent of a number that there are rows for, and the moments; None when it was never seen."""
    i = place[j]
    if parent >= 0 and parent in pairs.columns.numbers:
        found = pairs.numbers.family(i, place[parent])
    elif parent >= 0:
        m = pairs.within[place[parent]]
        found = CrossMoments(m.count[:, i].copy(), m.mean[:, [i]], m.m2[:, [i], None])
    else:
        found = pairs.numbers.family(i)
    if found.count.any():
        return parent, found
    return (-1, None) if parent < 0 else _number_family(pairs, j, -1, place)


def _category_family(pairs: MixedPairs, i: int, parent: int) -> Counts:
    """Return the counts of a category given the class, and another category if there is one."""
    counts = pairs.counts
    assert counts is not None  # there are categories
    assert counts.given is not None  # counted within the classes
    coded, first, n = counts.variables, counts.first, counts.matrix
    x = slice(first[i], first[i + 1])
    if parent < 0:
        table = np.ascontiguousarray(np.diagonal(n[:, x, x], axis1=1, axis2=2))
        return Counts(coded[i], (counts.given,), table)
    table = n[:, first[parent] : first[parent + 1], x].reshape(-1, coded[i].n_states)
    return Counts(coded[i], (counts.given, coded[parent]), table)


def check_root(root: int | None, pairs: MixedPairs) -> None:
    """Raise for a root that the arcs cannot all point away from: a number where there are categories."""
    if root is not None and root in pairs.columns.numbers and pairs.columns.categories:
        name = pairs.variables[root].name
        raise DataError(
            f"root must be a category where there are some, since no category depends on a number; got {name!r}. "
            "Name another, or none."
        )


def dependence_structure(pairs: MixedPairs, k: int) -> Structure:
    """Return the structure of k-dependence, nodes numbered from the class."""
    found = mixed_information(pairs).dependences(k)
    return ((), *((0, *(p + 1 for p in parents)) for parents in found))
