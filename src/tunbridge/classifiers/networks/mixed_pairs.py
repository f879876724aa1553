"""What trees over categories and numbers are learned from: counts and moments of all pairs of features within classes.

Two categories have counts, a number and a category the moments of the number within the states of the category, two
numbers i and j of each class

    n_ij = Σ w,    μ_ij = Σ w x_i / n_ij,    q_ij = Σ w (x_i − μ_ij)²,    p_ij = Σ w (x_i − μ_ij)(x_j − μ_ji),

the sums over the rows that have both. All of them add up over batches (Chan, Golub & LeVeque 1979): a tree, and every
regression on one parent, follows from them, so that learning in batches is learning at once.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque (1979). Updating formulae and a pairwise algorithm for computing sample
variances. Stanford STAN-CS-79-773, eq. 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from tunbridge._check import counted
from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.dependence.pair_statistics import are_weights, class_weights
from tunbridge.classifiers.networks.network_columns import Columns, columns_of
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.coding import coding_content
from tunbridge.classifiers.rows.target import sorted_target
from tunbridge.counts import Counter, Moments, PairCounts, moments_within
from tunbridge.counts.cross_moments import CrossMoments
from tunbridge.data import Variable
from tunbridge.errors import DataError

_PIECE_ROWS = 1 << 15
_FEW_COLUMNS = 64
_LARGEST = 1e150  # the square of anything beyond is no number


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Moments of all pairs of numbers within groups; every array has shape (n_groups, k, k).

    Parameters
    ----------
    count : ndarray
        n_ij, the number (or weight) of the rows that have both.
    mean, square : ndarray
        μ_ij and q_ij, of the first number over these rows.
    product : ndarray
        p_ij, of both.
    """

    count: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    product: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays in their order."""
        return self.count, self.mean, self.square, self.product

    def merge(self, other: PairMoments) -> PairMoments:
        """Return the moments of the rows of both."""
        n = self.count + other.count
        share = np.divide(other.count, n, out=np.zeros_like(n), where=n > 0)
        delta, weight = other.mean - self.mean, self.count * share
        # From the mean of the larger side, so that an empty or far smaller one does not blur it.
        mean = np.where(share <= 0.5, self.mean + delta * share, other.mean - delta * (1.0 - share))
        between = delta * delta.swapaxes(1, 2)
        return PairMoments(
            n, mean, self.square + other.square + weight * delta**2, self.product + other.product + weight * between
        )

    def family(self, child: int, parent: int | None = None) -> CrossMoments:
        """Return the moments of a number, or of a parent and the number, over the rows that have both."""
        at = [child] if parent is None else [parent, child]
        other = at[::-1]
        count = self.count[:, child, other[-1] if parent is None else parent]
        mean = self.mean[:, at, other]
        products = self.product[:, at][:, :, at].copy()
        for i, (a, b) in enumerate(zip(at, other, strict=True)):
            products[:, i, i] = self.square[:, a, b]
        return CrossMoments(count.copy(), mean, products)

    def over(self, n_groups: int, at: np.ndarray) -> PairMoments:
        """Return the moments among more groups; ``at`` says which are ours."""
        wide = [np.zeros((n_groups, *a.shape[1:])) for a in self.arrays]
        for into, ours in zip(wide, self.arrays, strict=True):
            into[at] = ours
        return PairMoments(*wide)


def pair_moments(
    columns: Sequence[np.ndarray],
    groups: np.ndarray,
    n_groups: int,
    *,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> PairMoments:
    """Return the moments of all pairs of columns within groups; cells may be missing.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.array([1.0, 2.0, 3.0, np.nan]), np.array([2.0, 4.0, 6.0, 8.0])
    >>> found = pair_moments([x, y], np.zeros(4, int), 1)
    >>> found.count[0].tolist(), found.mean[0].tolist(), found.product[0].tolist()
    ([[3.0, 3.0], [3.0, 4.0]], [[2.0, 2.0], [4.0, 5.0]], [[2.0, 4.0], [4.0, 20.0]])
    """
    ones, k = np.ones(len(groups)) if weights is None else weights, len(columns)
    pieces = row_pieces(len(groups), _PIECE_ROWS) or [(0, 0)]
    check_memory(
        f"the moments of all pairs of {k} numbers",
        8.0 * 4 * n_groups * k * k * (len(pieces) + 4),
        ways_out="Leave numbers out, or use numeric='discretise'.",
    )

    def moments(rows: tuple[int, int]) -> PairMoments:
        part = slice(*rows)
        block = np.array([c[part] for c in columns], np.float64).reshape(k, rows[1] - rows[0])
        found = [_of_group(block, groups[part] == g, ones[part]) for g in range(n_groups)]
        return PairMoments(*(np.array(arrays) for arrays in zip(*found, strict=True)))

    return reduce(PairMoments.merge, map_threads(moments, pieces, n_jobs))


def _of_group(block: np.ndarray, chosen: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the moments of the rows of one group."""
    chosen = chosen & (weights > 0)
    x, w = block[:, chosen], weights[chosen]
    missing = np.isnan(x)
    if not missing.any():
        return _of_complete(x, w)
    mask = 1.0 - missing
    n, known = (mask * w).sum(axis=1), np.where(missing, 0.0, x)
    middle = np.divide((known * w).sum(axis=1), n, out=np.zeros(len(x)), where=n > 0)
    away = mask * (known - middle[:, None])
    weighed = away * w
    count, total = _products(mask * w, mask), _products(weighed, mask)
    share = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    square = np.maximum(_products(weighed * away, mask) - share * total, 0.0)
    mean, product = np.where(count > 0, middle[:, None] + share, 0.0), _products(weighed, away) - share * total.T
    return count, mean, square, product


def _products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return Σ a_in b_jn; for few columns without a library whose threads would wait for each other."""
    return np.einsum("in,jn->ij", a, b) if len(a) <= _FEW_COLUMNS else a @ b.T


def _of_complete(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the moments of rows that miss nothing: those of a number are the same whatever the other is."""
    k, n = len(x), float(w.sum())
    middle = (x * w).sum(axis=1) / n if n > 0 else np.zeros(k)
    away = x - middle[:, None]
    weighed = away * w
    product = _products(weighed, away)
    square = np.einsum("ij,ij->i", weighed, away)
    shape = (k, k)
    return np.full(shape, n), np.repeat(middle[:, None], k, 1), np.repeat(square[:, None], k, 1), product


@dataclass(frozen=True, eq=False)
class MixedPairs:
    """Counts and moments of all pairs of features within the classes.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    columns : Columns
        How features become columns; those that stay numbers are all that are continuous.
    counts : PairCounts, optional
        The counts of the categories, where there are some.
    within : tuple of Moments
        For each category the moments of all numbers, within each class and state, the state fastest.
    numbers : PairMoments
        The moments of the numbers.
    """

    target: Variable
    class_weight: np.ndarray
    columns: Columns
    counts: PairCounts | None
    within: tuple[Moments, ...]
    numbers: PairMoments

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The features as they come."""
        return self.columns.variables

    def merge(self, other: MixedPairs) -> MixedPairs:
        """Return the statistics of the rows of both; classes and states may be new."""
        target, columns = sorted_target(self.target, other.target), self.columns.merge(other.columns)
        a, b = (s._over(target, columns) for s in (self, other))
        counts = None
        if a.counts is not None and b.counts is not None:
            counts = replace(a.counts, matrix=a.counts.matrix + b.counts.matrix)
        return replace(
            a,
            class_weight=a.class_weight + b.class_weight,
            counts=counts,
            within=tuple(map(Moments.merge, a.within, b.within)),
            numbers=a.numbers.merge(b.numbers),
        )

    def _over(self, target: Variable, columns: Columns) -> MixedPairs:
        at = np.array([target.code(s) for s in self.target.states or ()], np.intp)
        weight = np.zeros(target.n_states)
        weight[at] = self.class_weight
        counts, ours = self.counts, self.columns.coding.called_like(columns.coding)
        if counts is not None:
            counts = replace(counts, variables=ours).over(columns.coding.coded, columns.nodes(target)[0])
        within = tuple(
            _wider(m, at, target.n_states, old, new)
            for m, old, new in zip(self.within, ours, columns.coding.coded, strict=True)
        )
        return MixedPairs(target, weight, columns, counts, within, self.numbers.over(target.n_states, at))


def _wider(moments: Moments, at: np.ndarray, n_classes: int, old: Variable, new: Variable) -> Moments:
    """Return moments within classes and states among more of both."""
    states = np.array([new.code(s) for s in old.states or ()], np.intp)
    rows = (at[:, None] * new.n_states + states).ravel()
    wide = [np.zeros((n_classes * new.n_states, moments.count.shape[1])) for _ in range(3)]
    for into, ours in zip(wide, (moments.count, moments.mean, moments.m2), strict=True):
        into[rows] = ours
    return Moments(*wide)


def collect_mixed(
    batch: Batch,
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    columns: Columns,
    *,
    n_jobs: int | None,
) -> MixedPairs:
    """Return the statistics of a batch of rows; ``classes`` are codes of the target's states."""
    numbers = [_small(batch, j) for j in columns.numbers]
    codes, n_classes, coded = columns.codes(batch), target.n_states, columns.coding.coded
    check_memory(
        f"the moments of {counted(len(numbers), 'number')} within {counted(len(coded), 'column')} of categories",
        8.0 * 3 * n_classes * sum(v.n_states for v in coded) * len(numbers),
        ways_out="Leave columns with many states out, or use numeric='discretise'.",
    )
    within = []
    for j, v in zip(columns.categories, coded, strict=True):
        groups = np.where(codes[j + 1] >= 0, classes * v.n_states + codes[j + 1], -1)
        within.append(moments_within(numbers, groups, n_classes * v.n_states, weights=weights, n_jobs=n_jobs))
    pairs = None
    if coded:
        table = columns.table(batch, classes, target, weights)
        given = columns.nodes(target)[0].name
        discrete = table.select([given, *(v.name for v in coded)])
        pairs = Counter(discrete, n_jobs=n_jobs).pairs_within(given)
    moments = pair_moments(numbers, classes, n_classes, weights=weights, n_jobs=n_jobs)
    return MixedPairs(target, class_weights(classes, weights, target), columns, pairs, tuple(within), moments)


def _small(batch: Batch, feature: int) -> np.ndarray:
    """Return a column of numbers; raise where one cannot be squared."""
    column = batch.number_column(batch.numeric[feature])
    if np.nanmax(np.abs(column), initial=0.0) > _LARGEST:
        name = batch.variables[feature].name
        raise DataError(
            f"numbers must be small enough to square; those of {name!r} overflow. Divide them by a constant first."
        )
    return column


def mixed_content(statistics: MixedPairs) -> dict[str, Any]:
    """Return the statistics as content of a native file."""
    s = statistics
    return {
        "target": s.target,
        "class_weight": s.class_weight,
        "variables": list(s.variables),
        "coding": coding_content(s.columns.coding),
        "numbers": list(s.columns.numbers),
        "pairs": None if s.counts is None else s.counts.matrix,
        "within": [[m.count, m.mean, m.m2] for m in s.within],
        "moments": list(s.numbers.arrays),
    }


def mixed_statistics(content: Mapping[str, Any]) -> MixedPairs:
    """Return the statistics that a native file holds; raise ValueError where they do not belong together."""
    columns, target, matrix = columns_of(content), content["target"], content["pairs"]
    coded, k, c = columns.coding.coded, len(columns.numbers), target.n_states
    counts = None if matrix is None else PairCounts(coded, matrix, columns.nodes(target)[0])
    within, numbers = tuple(Moments(*m) for m in content["within"]), PairMoments(*content["moments"])
    size, weight = sum(v.n_states for v in coded), content["class_weight"]
    fits = [
        weight.shape == (c,) and are_weights(weight),
        (matrix is None) == (not coded),
        matrix is None or (matrix.shape == (c, size, size) and are_weights(matrix)),
        len(within) == len(coded),
        all(a.shape == (c, k, k) and np.isfinite(a).all() for a in numbers.arrays),
        are_weights(numbers.count) and are_weights(numbers.square),
        all(m.mean.shape == (c * v.n_states, k) for m, v in zip(within, coded, strict=False)),
        all(are_weights(a) and a.shape == m.mean.shape for m in within for a in (m.count, m.m2)),
        all(np.isfinite(m.mean).all() for m in within),
    ]
    if not all(fits):
        raise ValueError("its counts and moments do not belong to its features and classes")
    return MixedPairs(target, weight, columns, counts, within, numbers)
