"""Slow and obvious counting: one look at every row, sums without rounding, definitions as they stand in a textbook."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import fsum, log

import numpy as np

Cells = dict[tuple, float]


def count_cells(columns: Sequence[np.ndarray], weights: np.ndarray | None = None) -> Cells:
    """Return the number (or weight) of the rows with each combination of codes that occurs; −1 leaves a row out."""
    found = defaultdict(list)
    w = [1] * len(columns[0]) if weights is None else weights.tolist()
    for row, weight in zip(zip(*(c.tolist() for c in columns), strict=True), w, strict=True):
        if min(row) >= 0:
            found[row].append(weight)
    return {row: sum(terms) if weights is None else fsum(terms) for row, terms in found.items()}


def count_table(
    columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the same as an array with one axis a column."""
    table = np.zeros(n_states, np.int64 if weights is None else np.float64)
    for row, n in count_cells(columns, weights).items():
        table[row] = n
    return table


def count_pairs(
    columns: Sequence[np.ndarray], n_states: Sequence[int], weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the matrix of all pairs of states, pair by pair."""
    return np.block(
        [
            [count_table([a, b], [n, m], weights) for b, m in zip(columns, n_states, strict=True)]
            for a, n in zip(columns, n_states, strict=True)
        ]
    )


def count_pairs_within(
    given: np.ndarray,
    n_given: int,
    columns: Sequence[np.ndarray],
    n_states: Sequence[int],
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return a matrix of all pairs of states for each state of a further column."""
    matrices = []
    for state in range(n_given):
        rows = [i for i, code in enumerate(given.tolist()) if code == state]
        matrices.append(count_pairs([c[rows] for c in columns], n_states, None if weights is None else weights[rows]))
    return np.array(matrices)


def moments(
    array: np.ndarray, groups: np.ndarray, n_groups: int, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return count, mean and sum of squared deviations (group × column) in exact fractions, rounded at the end."""
    count, mean, m2 = (np.zeros((n_groups, array.shape[1])) for _ in range(3))
    w = np.ones(len(array)) if weights is None else weights
    for g in range(n_groups):
        for j in range(array.shape[1]):
            rows = np.flatnonzero((groups == g) & ~np.isnan(array[:, j]))
            terms = [(Fraction(float(w[i])), Fraction(float(array[i, j]))) for i in rows]
            n = sum((v for v, _ in terms), Fraction(0))
            if n > 0:
                mu = sum(v * x for v, x in terms) / n
                count[g, j], mean[g, j] = float(n), float(mu)
                m2[g, j] = float(sum(v * (x - mu) ** 2 for v, x in terms))
    return count, mean, m2


def entropy(n: Sequence[float]) -> float:
    """Return −Σ p log p of a list of counts."""
    total = fsum(n)
    return -fsum(k / total * log(k / total) for k in n if k > 0)


def mutual_information(table: np.ndarray) -> float:
    """Return Σ p(x, y) log(p(x, y) / (p(x) p(y))) of a table of two variables; 0 without rows."""
    total = fsum(table.ravel())
    rows = [fsum(r) / total if total else 0.0 for r in table]
    columns = [fsum(c) / total if total else 0.0 for c in table.T]
    terms = []
    for i, p_i in enumerate(rows):
        for j, p_j in enumerate(columns):
            if table[i, j] > 0:
                p = table[i, j] / total
                terms.append(p * log(p / (p_i * p_j)))
    return fsum(terms)


def conditional_mutual_information(tables: Sequence[np.ndarray]) -> float:
    """Return Σ_z p(z) I(X; Y | z) from a table of X and Y for each z; 0 without rows."""
    n = [float(fsum(t.ravel())) for t in tables]
    total = fsum(n)
    return fsum(k / total * mutual_information(t) for k, t in zip(n, tables, strict=True)) if total else 0.0
