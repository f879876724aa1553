"""Counts and moments of all pairs of features within each class: what classifiers of pairwise dependence keep.

From these follow the information I(X_i; X_j | C), every table P(x_j | x_i, c), every regression on one parent, and
P(x_i, c): trees, multinets and averaged one-dependence estimators need nothing else. Two categories have counts, a
number and a category the moments of the number within the states of the category, two numbers i and j of each class

    n_ij = Σ w,    μ_ij = Σ w x_i / n_ij,    q_ij = Σ w (x_i − μ_ij)²,    p_ij = Σ w (x_i − μ_ij)(x_j − μ_ji),

the sums over the rows that have both. All of them add up over batches (Chan, Golub & LeVeque 1979), so learning in
batches is learning at once.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque (1979). Updating formulae and a pairwise algorithm for computing sample
variances. Stanford STAN-CS-79-773, eq. 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from tunbridge._core.check import counted
from tunbridge._core.memory import check_memory
from tunbridge._core.packing import CountArray, FloatArray, SquareArray, WeightArray, unpack
from tunbridge._core.threads import map_threads, row_pieces
from tunbridge.classifiers._reading import numbers_of
from tunbridge.classifiers._rows import Examples
from tunbridge.classifiers._statistics import (
    Encoding,
    Part,
    Statistics,
    learn_encoding,
    numeric_features,
    placed,
)
from tunbridge.counts import Counter, Counts, Moments, PairCounts, moments_within
from tunbridge.counts.moments import LARGEST, CrossMoments, are_empty, check_squares
from tunbridge.data import Table
from tunbridge.errors import DataError

_PIECE_ROWS = 1 << 15
_FEW_COLUMNS = 64


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

    count: WeightArray
    mean: FloatArray
    square: SquareArray
    product: FloatArray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The arrays in their order."""
        return self.count, self.mean, self.square, self.product

    def merge(self, other: PairMoments) -> PairMoments:
        """Return the moments of the rows of both."""
        n = self.count + other.count
        share = np.divide(other.count, n, out=np.zeros_like(n), where=n > 0)
        with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
            delta, weight = other.mean - self.mean, self.count * share
            # From the mean of the larger side, so that an empty or far smaller one does not blur it.
            mean = np.where(share <= 0.5, self.mean + delta * share, other.mean - delta * (1.0 - share))
            square = self.square + other.square + weight * delta * delta
            product = self.product + other.product + weight * delta * delta.swapaxes(1, 2)
        return PairMoments(n, mean, square, product)

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


@dataclass(frozen=True, eq=False)
class Pairs(Part):
    """Counts and moments of all pairs of features within the classes.

    Parameters
    ----------
    counts : PairCounts, optional
        The counts of the features that are coded, in their order; None where there are none.
    within : tuple of Moments
        For each of these the moments of all numbers, within each class and state, the state fastest.
    numbers : PairMoments, optional
        The moments of the features that stay numbers; None where all are coded.
    """

    name: ClassVar[str] = "pairs"

    counts: PairCounts | None
    within: tuple[Moments, ...] = ()
    numbers: PairMoments | None = None

    def over(self, old: Statistics, new: Statistics) -> Pairs:
        """Return the same counts over more classes and states."""
        categories, target = old.encoding.categories, [old.nodes[0]]
        named = old.encoding.named_like(new.encoding)
        ours, theirs = ([coded[j] for j in categories] for coded in (named, new.encoding.coded))
        counts = self.counts
        if counts is not None:
            counts = replace(counts, variables=tuple(ours)).over(theirs, new.nodes[0])
        within = tuple(
            Moments(*(placed(a, [*target, v], [new.nodes[0], w]) for a in (m.count, m.mean, m.m2)))
            for m, v, w in zip(self.within, ours, theirs, strict=self.numbers is not None)
        )
        numbers = self.numbers
        if numbers is not None:
            numbers = PairMoments(*(placed(a, target, [new.nodes[0]]) for a in numbers.arrays))
        return Pairs(counts, within, numbers)

    def merge(self, other: Pairs) -> Pairs:
        """Return the counts and moments of the rows of both."""
        counts, numbers = self.counts, self.numbers
        if counts is not None and other.counts is not None:
            counts = replace(counts, matrix=counts.matrix + other.counts.matrix)
        if numbers is not None and other.numbers is not None:
            numbers = numbers.merge(other.numbers)
        return Pairs(counts, tuple(map(Moments.merge, self.within, other.within)), numbers)

    def family(self, child: int, parent: int | None = None) -> Counts:
        """Return the counts of a coded feature given the class, and given another one if there is one.

        Both are positions among the features that are coded.
        """
        counts = self.counts
        assert counts is not None  # there are coded features
        assert counts.given is not None  # counted within the classes
        n, first, coded = counts.matrix, counts.first, counts.variables
        x = slice(first[child], first[child + 1])
        if parent is None:
            own = np.ascontiguousarray(np.diagonal(n[:, x, x], axis1=1, axis2=2))
            return Counts(coded[child], (counts.given,), own)
        table = n[:, first[parent] : first[parent + 1], x]
        return Counts(coded[child], (counts.given, coded[parent]), table.reshape(-1, coded[child].n_states))

    def content(self) -> dict[str, Any]:
        """Return the pairs as content of a file."""
        found: dict[str, Any] = {"pairs": None if self.counts is None else self.counts.matrix}
        if self.numbers is not None:
            found["within"] = [[m.count, m.mean, m.m2] for m in self.within]
            found["moments"] = list(self.numbers.arrays)
        return found

    @classmethod
    def from_content(cls, content: Mapping[str, Any], statistics: Statistics) -> Pairs:
        """Return the pairs that a file holds."""
        encoding, matrix = statistics.encoding, unpack(CountArray | None, content["pairs"])
        coded = tuple(encoding.coded[j] for j in encoding.categories)
        counts = None if matrix is None else PairCounts(coded, matrix, statistics.nodes[0])
        if "moments" not in content:
            return cls(counts)
        return cls(counts, unpack(tuple[Moments, ...], content["within"]), unpack(PairMoments, content["moments"]))

    def check(self, statistics: Statistics) -> None:
        """Raise ValueError unless all arrays have the sizes that classes and features ask for."""
        encoding, c = statistics.encoding, statistics.target.n_states
        coded, k = [encoding.coded[j] for j in encoding.categories], len(encoding.numbers)
        size = sum(v.n_states for v in coded)
        fits = [(self.counts is None) == (not coded), (self.numbers is None) == (k == 0)]
        if self.counts is not None:
            fits += [self.counts.matrix.shape == (c, size, size)]
        if self.numbers is not None:
            fits += [
                len(self.within) == len(coded),
                are_empty(self.numbers.count, self.numbers.square)
                and are_empty(self.numbers.count, self.numbers.product),
                all(are_empty(m.count, m.m2) for m in self.within),
                all(a.shape == (c, k, k) for a in self.numbers.arrays),
                all(a.shape == (c * v.n_states, k) for m, v in zip(self.within, coded, strict=False) for a in m.arrays),
            ]
        if not all(fits):
            raise ValueError("its counts do not belong to its features and classes")


def collect_pairs(
    examples: Examples, before: Statistics | None, *, missing: str, numeric: str = "discretise", n_jobs: int | None
) -> Statistics:
    """Return the statistics of all pairs of features; with ``numeric="gaussian"`` numbers stay numbers."""
    numbers = numeric_features(examples.rows) if numeric == "gaussian" else ()
    encoding = learn_encoding(examples, before, missing=missing, numbers=numbers)
    return Statistics.of(examples, encoding, pairs_of(examples, encoding, n_jobs=n_jobs))


def pairs_of(examples: Examples, encoding: Encoding, *, n_jobs: int | None) -> Pairs:
    """Return the counts and moments of all pairs of features."""
    coded, n_numbers = encoding.table(examples, encoding.categories), len(encoding.numbers)
    n_classes, classes, weights = examples.target.n_states, examples.classes, examples.weights
    check_memory(
        f"the moments of {counted(n_numbers, 'number')} within {counted(coded.n_columns - 1, 'column')} of categories",
        8.0 * 3 * n_classes * sum(v.n_states for v in coded.variables[1:]) * n_numbers,
        ways_out="Leave columns with many states out, or use numeric='discretise'.",
    )
    counts = Counter(coded, n_jobs=n_jobs).pairs_within(coded.names[0]) if coded.n_columns > 1 else None
    if not n_numbers:
        return Pairs(counts)
    numbers = [_small(examples.rows, j) for j in encoding.numbers]
    within = []
    for v, codes in zip(coded.variables[1:], coded.columns[1:], strict=True):
        groups = np.where(codes >= 0, classes * v.n_states + codes, -1)
        within.append(moments_within(numbers, groups, n_classes * v.n_states, weights=weights, n_jobs=n_jobs))
    moments = pair_moments(numbers, classes, n_classes, weights=weights, n_jobs=n_jobs)
    whole = Moments(*(np.diagonal(a, axis1=1, axis2=2) for a in moments.arrays[:3])).pooled()
    names, used = [encoding.variables[j].name for j in encoding.numbers], (classes >= 0) & (examples.mass > 0)
    check_squares(names, whole.count[0], whole.m2[0], lambda i: numbers[i][used])
    return Pairs(counts, tuple(within), moments)


def _small(table: Table, feature: int) -> np.ndarray:
    """Return a column of numbers; raise where one cannot be squared."""
    column = numbers_of(table, feature)
    if np.nanmax(np.abs(column), initial=0.0) > LARGEST:
        name = table.variables[feature].name
        raise DataError(
            f"numbers must be small enough to square; those of {name!r} overflow. Divide them by a constant first."
        )
    return column


def pair_moments(
    columns: Sequence[np.ndarray],
    groups: np.ndarray,
    n_groups: int,
    *,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> PairMoments:
    """Return the moments of all pairs of columns within groups; values may be missing.

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
        with np.errstate(over="ignore", invalid="ignore"):  # ``check_squares`` finds it
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
    """Return Σ a_in b_jn; for few columns without BLAS, whose threads would wait for each other."""
    return np.einsum("in,jn->ij", a, b) if len(a) <= _FEW_COLUMNS else a @ b.T


def _of_complete(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the moments of rows without missing values: those of a number are the same whatever the other is."""
    k, n = len(x), float(w.sum())
    middle = (x * w).sum(axis=1) / n if n > 0 else np.zeros(k)
    away = x - middle[:, None]
    weighed = away * w
    product = _products(weighed, away)
    square = np.einsum("ij,ij->i", weighed, away)
    shape = (k, k)
    return np.full(shape, n), np.repeat(middle[:, None], k, 1), np.repeat(square[:, None], k, 1), product
