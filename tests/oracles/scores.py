"""Scores computed from the rows themselves, one at a time, as the definitions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import comb, exp, log, pi, prod

import numpy as np

Rows = Sequence[tuple[int, ...]]
"""Rows of a family: the states of the parents, then that of the child."""


def log_likelihood(rows: Rows) -> float:
    """Return the sum over the rows of the log relative frequency of the child's state among rows with equal parents."""
    whole, given = Counter(rows), Counter(row[:-1] for row in rows)
    return sum(log(whole[row] / given[row[:-1]]) for row in rows)


def dirichlet(rows: Rows, r: int, pseudo: float) -> float:
    """Return the log-probability of the rows, each predicted from those before it and ``pseudo`` counts a cell."""
    seen: Counter[tuple[int, ...]] = Counter()
    value = 0.0
    for row in rows:
        value += log((seen[row] + pseudo) / (seen[row[:-1]] + r * pseudo))
        seen[row] += 1
        seen[row[:-1]] += 1
    return value


def bdeu(rows: Rows, q: int, r: int, ess: float) -> float:
    """Return the BDeu score."""
    return dirichlet([(0, *row) for row in rows], r, ess / (q * r))


def bds(rows: Rows, r: int, ess: float) -> float:
    """Return the BDs score: BDeu with the number of the parents' configurations that occur."""
    return bdeu(rows, max(1, len({row[:-1] for row in rows})), r, ess)


def k2(rows: Rows, r: int) -> float:
    """Return the K2 score."""
    return dirichlet([(0, *row) for row in rows], r, 1.0)


def regret(n: int, r: int) -> float:
    """Return the log of the sum of the largest likelihoods of all data sets of n rows and r states, by their counts."""
    total = 0.0
    for counts in product(range(n + 1), repeat=r):
        if sum(counts) == n:
            arrangements = prod(comb(sum(counts[: k + 1]), counts[k]) for k in range(r))
            total += arrangements * prod((h / n) ** h for h in counts if h)
    return log(total)


def regret_by_data_sets(n: int, r: int) -> float:
    """Return the same by a sum over the data sets themselves."""
    sets = product(range(r), repeat=n)
    return log(sum(exp(log_likelihood([(k,) for k in rows])) for rows in sets))


def fnml(rows: Rows, r: int) -> float:
    """Return the fNML score."""
    given = Counter(row[:-1] for row in rows)
    return log_likelihood(rows) - sum(regret(n, r) for n in given.values())


def qnml(rows: Rows, q: int, r: int) -> float:
    """Return the qNML score: the NML of child and parents as one variable, less that of the parents as one variable."""
    both = log_likelihood([((row),) for row in rows]) - regret(len(rows), q * r)  # type: ignore[misc]
    parents = log_likelihood([(row[:-1],) for row in rows]) - regret(len(rows), q)  # type: ignore[misc]
    return both - parents


def gaussian(y: np.ndarray, parents: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the log-density of y at its least-squares regression on the columns, residual variance RSS/(n − p − 1)."""
    if weights is not None:
        y, parents = np.repeat(y, weights), np.repeat(parents, weights, axis=0)
    n, p = parents.shape
    design = np.column_stack([np.ones(n), parents])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    variance = float(residual @ residual) / (n - p - 1)
    return float(sum(-0.5 * log(2 * pi * variance) - 0.5 * e * e / variance for e in residual))


def conditional_gaussian(y: np.ndarray, parents: np.ndarray, configurations: Sequence[object]) -> float:
    """Return the sum of the same over the rows of each configuration; too few rows: as a draw from all the values."""
    rows: dict[object, list[int]] = {}
    for i, configuration in enumerate(configurations):
        rows.setdefault(configuration, []).append(i)
    mean, variance = y.mean(), y.var(ddof=1)
    value = 0.0
    for some in rows.values():
        if len(some) >= parents.shape[1] + 2:
            value += gaussian(y[some], parents[some])
        else:
            value += float(sum(-0.5 * log(2 * pi * variance) - 0.5 * (v - mean) ** 2 / variance for v in y[some]))
    return value
