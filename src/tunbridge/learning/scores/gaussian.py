"""Scores of families of continuous variables: linear regressions with Gaussian residuals.

A variable X with continuous parents is modelled as a + Σ b_i P_i plus Gaussian noise. With least-squares coefficients
and the residual variance s² = RSS/(n − p − 1) of p parents and n rows, the log-likelihood is

    −(n/2) log(2π s²) − (n − p − 1)/2,

the convention of bnlearn's «loglik-g»; the p + 2 parameters (coefficients, intercept, variance) are priced as those of
discrete families are. Only sums of squares and products are needed: with S the centred products of all columns,
computed once, the residual sum of X after its parents is a pivot of Gaussian elimination, and what is left with each
further candidate c,

    RSS(X | P, c) = S_xx·P − S²_xc·P / S_cc·P        (·P: after elimination of the parents),

costs one row operation for all c together.

**Degenerate columns.** Columns are scaled to unit variance first. A parent or candidate of which elimination leaves
less than 1e-10 is a combination of the others and explains nothing more. A residual variance below 1e-10 is raised to
it, so that a copy of a column adds much but a finite amount, and a second copy nothing. The likelihood of a
constant column is 1. With fewer than p + 2 rows the residual variance cannot be estimated, and the rows are scored as
without parents.

**Missing values.** A family is scored over its complete rows, and its likelihood multiplied by N over their number (see
:mod:`tunbridge.learning.scores.discrete`).

References
----------
D. Geiger, D. Heckerman (1994). Learning Gaussian networks. Proceedings of the 10th Conference on Uncertainty in
Artificial Intelligence, 235–243.

M. Scutari, J.-B. Denis (2021). Bayesian Networks: With Examples in R, second edition, chapter 2. CRC Press.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge.data import Table
from tunbridge.errors import DataError
from tunbridge.learning.scores.discrete import LogLikelihood, Score
from tunbridge.learning.scores.families import Families, Parents

_ROWS_A_PARAMETER = 5
_FLOOR = 1e-10
"""The least variance that counts, as a share of the column's."""
_DENSE = 4
"""Configurations are numbered as they are while there are at most so many for a row, else those that occur."""
_ROUNDING, _TINY = 4 * np.finfo(float).eps, np.finfo(float).tiny


class GaussianFamilies(Families):
    """The scores of the families of a table of continuous columns.

    Parameters
    ----------
    table : Table
        Continuous columns only, in any order; missing values and weights are allowed.
    score : Score
        One with a price for each parameter: the log-likelihood, AIC, BIC, or the node-average likelihood.
    arc_bonus : ndarray of shape (n, n), optional
        ``arc_bonus[c, x]`` is added to the score of x for the parent c.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.learning.scores.discrete import BIC
    >>> table = tb.as_table({"x": [0.1, 1.2, 1.9, 3.1, 4.0], "y": [1.0, 3.1, 5.2, 6.9, 9.1]})
    >>> families = GaussianFamilies(table, BIC())
    >>> round(families.score(1, ()), 4), round(families.score(1, (0,)), 4)
    (-13.9638, -3.1294)
    """

    def __init__(self, table: Table, score: Score, *, arc_bonus: np.ndarray | None = None) -> None:
        self._columns = scaled_columns(table, tuple(sorted(table.names)))
        super().__init__(self._columns.names, self._columns.total, arc_bonus)
        self._price = price_of(score, table.n_columns, self.n_rows)
        values = self._columns.values if self._columns.complete.all() else np.nan_to_num(self._columns.values)
        self._products = _weighed(values, self._columns.weights) @ values.T  # of complete columns: others are not read

    def correlations(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the correlation of every pair of columns (0 for a constant), and the rows that have both values.

        Pairs with missing values are centred by the means of their own rows: sums around other means may cancel.
        """
        unit = np.sqrt(np.diag(self._products))
        found, rows = _ratio(self._products, np.outer(unit, unit), self.n_rows), np.full((self.n, self.n), self.n_rows)
        for x in np.flatnonzero(~self._columns.complete):
            own = np.flatnonzero(~np.isnan(self._columns.values[x]))
            values = self._columns.values[:, own]
            weights = 1.0 if self._columns.weights is None else self._columns.weights[own]
            weights, values = np.where(np.isnan(values), 0.0, weights), np.nan_to_num(values)
            total = weights.sum(axis=1)
            share = (1.0 / np.maximum(total, _TINY))[:, None]
            first = values[x] - (weights * values[x]).sum(axis=1, keepdims=True) * share
            others = values - (weights * values).sum(axis=1, keepdims=True) * share
            scale = np.sqrt((weights * first**2).sum(axis=1) * (weights * others**2).sum(axis=1))
            found[x] = found[:, x] = _ratio((weights * first * others).sum(axis=1), scale, total)
            rows[x] = rows[:, x] = total
        return found, rows

    def _score(self, x: int, parents: Parents) -> float:
        family = (*parents, x)
        cost = self._price * (len(parents) + 2)
        if self._columns.constant[x]:
            return -cost
        if self._columns.complete[list(family)].all():
            sums = self._sums(family, np.empty(0, np.intp))
        else:
            rows = np.flatnonzero(self._columns.present(family))
            sums = group_sums(self._columns, family, (), Groups(rows))
        return self._columns.likelihood(x, sums) - cost

    def _additions_of(self, x: int, parents: Parents, candidates: np.ndarray | None) -> np.ndarray:
        some = np.arange(self.n) if candidates is None else candidates
        out = np.full(len(some), -np.inf)
        free = (some != x) & ~np.isin(some, parents)
        together = free & self._columns.complete[some] & self._columns.complete[[*parents, x]].all()
        out[together] = self._extended(x, parents, some[together])
        for i in np.flatnonzero(free & ~together):
            out[i] = self._score(x, tuple(sorted((*parents, int(some[i])))))
        return out + self.bonuses(x, parents, some)

    def _extended(self, x: int, parents: Parents, some: np.ndarray) -> np.ndarray:
        cost = self._price * (len(parents) + 3)
        if self._columns.constant[x]:
            return np.full(len(some), -cost)
        return self._columns.likelihoods(x, self._sums((*parents, x), some)) - cost

    def _sums(self, family: Parents, candidates: np.ndarray) -> GroupSums:
        rows, columns = np.array(family), np.concatenate([family, candidates]).astype(np.intp)
        square = self._products[rows[-1], rows[-1]]
        return GroupSums(
            np.array([self.n_rows]),
            np.array([square]),
            self._products[np.newaxis, rows[:, np.newaxis], columns],
            self._products[np.newaxis, candidates, candidates],
        )


def price_of(score: Score, n_variables: int, n_rows: float) -> float:
    """Return what a parameter of a continuous variable costs; raise for a score that has no such price."""
    filled = score.for_variables(n_variables)
    if not isinstance(filled, LogLikelihood):
        raise DataError(
            "the score of a table with continuous columns must be 'loglik', 'aic', 'bic' or 'nal'; "
            f"got {score.name!r}. Discretise the columns, or use 'bic'."
        )
    return filled.price(n_rows)


# Columns of unit variance


class ScaledColumns(NamedTuple):
    """Continuous columns less their mean, in units of their standard deviation.

    Parameters
    ----------
    names : tuple of str
        The columns.
    values : ndarray of shape (columns, rows)
        The values, NaN where missing; a constant column is 0.
    log_scale : ndarray of shape (columns,)
        The logarithms of the standard deviations (0: constant).
    constant, complete : ndarrays of shape (columns,)
        Which columns hold one value only, and which have no missing values.
    weights : ndarray, optional
        The weights of the rows.
    total : float
        Their sum, or the number of rows.
    """

    names: tuple[str, ...]
    values: np.ndarray
    log_scale: np.ndarray
    constant: np.ndarray
    complete: np.ndarray
    weights: np.ndarray | None
    total: float

    def present(self, family: Sequence[int]) -> np.ndarray:
        """Return which rows have no missing value in some columns."""
        return ~np.isnan(self.values[list(family)]).any(axis=0)

    def likelihood(self, x: int, sums: GroupSums) -> float:
        """Return the log-likelihood of a column given its parents, for all rows."""
        return float(self._for_all_rows(x, sums, sums.rest()[0][:, np.newaxis], sums.n_parents)[0])

    def likelihoods(self, x: int, sums: GroupSums) -> np.ndarray:
        """Return the same with each candidate as a further parent."""
        return self._for_all_rows(x, sums, sums.rest()[1], sums.n_parents + 1)

    def _for_all_rows(self, x: int, sums: GroupSums, rest: np.ndarray, n_parents: int) -> np.ndarray:
        total = float(sums.n.sum())
        needed = _ROWS_A_PARAMETER * len(sums.n) * (n_parents + 2) if n_parents or len(sums.n) > 1 else 0
        if total <= 0 or (total < self.total and total < needed):  # averages of a handful must not stand for all
            return np.full(rest.shape[1], -np.inf)
        terms = log_likelihoods(sums.n, sums.spread, rest, n_parents)
        return (terms - total * self.log_scale[x]) * (self.total / total)


def scaled_columns(table: Table, names: tuple[str, ...]) -> ScaledColumns:
    """Return continuous columns scaled to mean 0 and variance 1."""
    weights, n = table.weights, len(names)
    check_memory(
        f"the sums of {n} continuous columns", 8.0 * n * (3.0 * table.n_rows + n), ways_out="Learn from fewer columns."
    )
    values = np.empty((n, table.n_rows))
    log_scale, constant = np.zeros(n), np.zeros(n, bool)
    for i, name in enumerate(names):
        values[i], log_scale[i], constant[i] = _scaled(np.ascontiguousarray(table.floats(name)), weights)
    complete = np.array([not np.isnan(v).any() for v in values], bool)
    total = float(table.n_rows if weights is None else weights.sum())
    return ScaledColumns(names, values, log_scale, constant, complete, weights, total)


def _scaled(column: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, float, bool]:
    present = ~np.isnan(column)
    total = float(present.sum() if weights is None else weights[present].sum())
    largest = float(np.abs(column[present]).max(initial=0.0))
    values = column / (largest or 1.0)  # squares of huge and tiny numbers must not overflow
    values -= float(np.nansum(_weighed(values, weights))) / (total or 1.0)
    squares = float(np.nansum(_weighed(values * values, weights)))
    deviation = float(np.sqrt(squares / max(total - 1.0, 0.5 * total, _TINY)))
    if deviation <= _ROUNDING:
        return np.where(present, 0.0, np.nan), 0.0, True
    return values / deviation, float(np.log(deviation) + np.log(largest)), False


def _weighed(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return values if weights is None else values * weights


def _ratio(products: np.ndarray, scale: np.ndarray, rows: float | np.ndarray) -> np.ndarray:
    """Return products / scale, and 0 where the scale is nothing but rounding."""
    return np.divide(products, scale, out=np.zeros_like(scale), where=scale > _FLOOR * rows)


# Sums of squares and products within groups of rows


class GroupSums(NamedTuple):
    """The sums that regressions within groups of rows need.

    Parameters
    ----------
    n : ndarray of shape (groups,)
        The number (or weight) of the rows.
    spread : ndarray of shape (groups,)
        The child's sum of squares about its overall mean.
    products : ndarray of shape (groups, family, family + candidates)
        Centred sums of products of the family (the parents, then the child) with family and candidates.
    squares : ndarray of shape (groups, candidates)
        Centred sums of squares of the candidates.
    """

    n: np.ndarray
    spread: np.ndarray
    products: np.ndarray
    squares: np.ndarray

    @property
    def n_parents(self) -> int:
        """The number of the parents."""
        return self.products.shape[1] - 1

    def rest(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the child's residual sums of squares after its parents, and after these and each candidate."""
        left, squares = self.products.copy(), self.squares.copy()
        least = _FLOOR * self.n[:, np.newaxis]
        child = self.n_parents
        for j in range(child):
            row = _quotient(left[:, j], left[:, j, j, np.newaxis], least)
            squares -= left[:, j, child + 1 :] * row[:, child + 1 :]
            left[:, j + 1 :] -= left[:, j + 1 :, j, np.newaxis] * row[:, np.newaxis]
        own, joint = left[:, child, child], left[:, child, child + 1 :]
        explained = joint * _quotient(joint, squares, least)
        return np.maximum(own, 0.0), np.maximum(own[:, np.newaxis] - explained, 0.0)


class Groups(NamedTuple):
    """The complete rows of a family, and their groups by the configuration of its categorical parents.

    Parameters
    ----------
    rows : ndarray of int, optional
        The rows; without them all.
    codes : ndarray of int, optional
        The group of each of these rows; without them they are one group.
    n_groups : int
        The number of groups.
    """

    rows: np.ndarray | None = None
    codes: np.ndarray | None = None
    n_groups: int = 1

    def divided(self, codes: np.ndarray, n_states: int) -> Groups:
        """Return the groups by a further column without missing values, given for all rows of the table."""
        own = (codes if self.rows is None else codes[self.rows]).astype(np.int64)
        joint = own if self.codes is None else self.codes * n_states + own
        n_groups = self.n_groups * n_states
        if n_groups > max(_DENSE * len(own), 1):
            occurring, joint = np.unique(joint, return_inverse=True)
            n_groups = len(occurring)
        return Groups(self.rows, joint, n_groups)


def group_sums(columns: ScaledColumns, family: Sequence[int], candidates: Sequence[int], groups: Groups) -> GroupSums:
    """Return the sums over rows within groups.

    Parameters
    ----------
    columns : ScaledColumns
        The columns.
    family, candidates : sequences of int
        The parents and the child, in this order; further columns. None of them has missing values in these rows.
    groups : Groups
        The rows, and their groups.
    """
    values = columns.values[[*family, *candidates]]
    weights = columns.weights
    if groups.rows is not None:
        values, weights = values[:, groups.rows], None if weights is None else weights[groups.rows]
    if groups.codes is None:
        return _ungrouped(values, weights, len(family))
    return _grouped(values, weights, len(family), groups.codes, groups.n_groups)


def _ungrouped(values: np.ndarray, weights: np.ndarray | None, size: int) -> GroupSums:
    weighed = _weighed(values, weights)
    total = float(values.shape[1] if weights is None else weights.sum())
    spread = (weighed[size - 1] * values[size - 1]).sum()
    centred = values - weighed.sum(axis=1, keepdims=True) / (total or 1.0)
    weighed = _weighed(centred, weights)
    products = weighed[:size] @ centred.T
    squares = np.einsum("ij,ij->i", weighed[size:], centred[size:])
    return GroupSums(np.array([total]), np.array([spread]), products[np.newaxis], squares[np.newaxis])


def _grouped(values: np.ndarray, weights: np.ndarray | None, size: int, codes: np.ndarray, n_groups: int) -> GroupSums:
    n = np.bincount(codes, weights, n_groups).astype(np.float64)
    share = np.divide(1.0, n, out=np.zeros(n_groups), where=n > 0)
    means = np.array([np.bincount(codes, v, n_groups) * share for v in _weighed(values, weights)])
    centred = values - np.take(means, codes, axis=1)
    weighed = _weighed(centred, weights)
    products = np.empty((n_groups, size, len(values)))
    for i in range(size):
        for j in range(i, len(values)):
            products[:, i, j] = np.bincount(codes, weighed[i] * centred[j], n_groups)
        products[:, i + 1 : size, i] = products[:, i, i + 1 : size]
    spread = products[:, size - 1, size - 1] + n * means[size - 1] ** 2
    squares = np.empty((n_groups, len(values) - size))
    for j in range(size, len(values)):
        squares[:, j - size] = np.bincount(codes, weighed[j] * centred[j], n_groups)
    return GroupSums(n, spread, products, squares)


def log_likelihoods(n: np.ndarray, spread: np.ndarray, rest: np.ndarray, n_parents: int) -> np.ndarray:
    """Return the log-likelihoods of a column of unit variance, regressed within groups: for each column of ``rest``.

    A group of fewer than p + 2 rows is scored by the overall mean and variance; one without any spread of its own has
    the pooled residual variance of all groups.

    Parameters
    ----------
    n : ndarray of shape (groups,)
        The number of rows.
    spread : ndarray of shape (groups,)
        The sum of squares about the overall mean.
    rest : ndarray of shape (groups, candidates)
        The residual sums of squares.
    n_parents : int
        The number p of the parents, the candidate included.
    """
    enough = n >= n_parents + 2
    few, spread = n[~enough].sum(), spread[~enough].sum()
    n, rest = n[enough, np.newaxis], rest[enough]
    freedom = n - n_parents - 1
    pooled = rest.sum(axis=0) / max(float(freedom.sum()), 1.0)
    least = _FLOOR * n
    variance = np.where(rest > least, rest, np.maximum(pooled * freedom, least)) / freedom
    own = -0.5 * (n * np.log(2 * np.pi * variance) + freedom).sum(axis=0)
    return own - 0.5 * (few * np.log(2 * np.pi) + spread)


def _quotient(above: np.ndarray, below: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return above/below, 0 where what is below is too small to divide by."""
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > least)
