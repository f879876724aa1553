"""Linear Gaussian tables from data: a linear regression for each configuration of the categorical parents.

From the rows in which the categorical parents have configuration j, with n of them, means μ and centred sums of
products S of the continuous parents x and the child y,

    b = S_xx⁻¹ S_xy,     a = μ_y − bᵀ μ_x,     s² = (S_yy − bᵀ S_xy) / n:

the maximum likelihood estimates. Rows with a missing value in the family are left out of this family only. Weights
count as repeated rows. Sums are taken about a mean, so that a large offset costs no precision, and regressions are
solved in units of the standard deviations.

**Few rows.** A configuration with fewer than p + 2 rows (p continuous parents) cannot determine its own regression. The
moments of the family as a whole, all configurations together, are added with the weight of the rows that it lacks.
Without any rows it has the pooled regression; with enough, its own. ``shrinkage`` adds the pooled moments with the
weight of that many rows to every configuration, as an m-estimate does to counts. If the whole family has fewer than
p + 2 rows, the coefficients are 0.

**Degenerate columns.** If parents are collinear (in a configuration), the smallest coefficients with the best fit are
taken; a parent that does not vary gets 0. A residual variance below 1e-10 of the child's own (equal values, or values
exactly on a line) is replaced by the average of all configurations, and if that is as small by 1e-10 of the child's
variance, so that no density is infinite. The variance of a child with a single value c is 1e-10 c² (1e-10 if c is 0,
or too small to square). Numbers that vary, but whose squares would overflow or underflow, are refused.

References
----------
S. L. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which are qualitative
and some quantitative. Annals of Statistics 17, 31–57.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_number, listed
from tunbridge._core.memory import check_memory
from tunbridge.counts.moments import LARGEST, SMALLEST, CrossMoments, check_squares, cross_moments
from tunbridge.counts.radix import configuration_numbers
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.probability import LinearGaussian

_FLOOR = 1e-10
"""The smallest variance, as a share of the child's; also the smallest share of a parent that others do not explain."""

_ROUNDING = 4 * float(np.finfo(float).eps)


def gaussian_table(table: Table, child: str, parents: Sequence[str] = (), *, shrinkage: float = 0.0) -> LinearGaussian:
    """Return the linear Gaussian table of a continuous column given others.

    Parameters
    ----------
    table : Table
        The data; rows count by its weights.
    child : str
        A continuous column.
    parents : sequence of str
        Categorical and continuous columns, in any order.
    shrinkage : float
        With the weight of how many rows the family as a whole is added to every configuration.

    Returns
    -------
    LinearGaussian
        It carries its moments, for updates and merging.

    Raises
    ------
    DataError
        If the child has only missing values.
    MemoryForecastError
        If there are too many configurations.

    Examples
    --------
    >>> import tunbridge as tb
    >>> table = tb.as_table({"sex": ["f", "f", "f", "m", "m", "m"], "height": [160.0, 165, 170, 172, 178, 184]})
    >>> print(gaussian_table(table, "height", ["sex"]))
    height given sex
    sex  mean  std
    f    165   4.08248
    m    178   4.89898
    """
    check_number("shrinkage", shrinkage, low=0)
    family = _family(table, child, parents)
    moments = family_moments(table, child, parents)
    if not moments.count.any():
        return _without_rows(table, family, moments)
    return regressions(family.child, family.parents, filled(moments, shrinkage), behind=moments)


def family_moments(table: Table, child: str, parents: Sequence[str] = ()) -> CrossMoments:
    """Return the moments of the continuous parents and the child within each configuration of the categorical ones."""
    family = _family(table, child, parents)
    q, k = math.prod(family.shape), len(family.numbers)
    what = f"the moments of {child!r} for {q} configurations of {listed(v.name for v in family.categories)}"
    check_memory(what, 8.0 * q * k * (6 * k + 4), ways_out="Give it fewer categorical parents.")
    columns = np.array([table.floats(v.name) for v in family.numbers])
    codes = np.array([table.codes(v.name) for v in family.categories], np.int64)
    codes = codes.reshape(len(family.categories), table.n_rows)
    whole = ~np.isnan(columns).any(axis=0) & (codes >= 0).all(axis=0)
    if table.weights is not None:
        whole &= table.weights > 0.0
    columns, codes = columns[:, whole], codes[:, whole]
    if columns.size and not np.abs(columns).max() <= LARGEST:
        raise DataError(f"the numbers of the family of {child!r} must be below {LARGEST:g}. Change their unit.")
    weights = None if table.weights is None else table.weights[whole]
    groups = configuration_numbers(codes.T, family.shape) if len(codes) else np.zeros(columns.shape[1], np.int64)
    moments = cross_moments(columns, groups, q, weights)
    check_products(moments, family.numbers, columns.__getitem__)
    return moments


def check_products(
    moments: CrossMoments, numbers: Sequence[Variable], values: Callable[[int], np.ndarray] | None = None
) -> CrossMoments:
    """Return the moments of all configurations together; raise where squares were lost (see ``check_squares``).

    Without the values it is the means of the configurations that tell whether a number varies.
    """
    pooled = moments.pooled()
    squares = np.diagonal(pooled.products[0])
    means = moments.mean[moments.count > 0.0].T
    count = np.broadcast_to(pooled.count, squares.shape)
    check_squares([v.name for v in numbers], count, squares, values or means.__getitem__)
    return pooled


class _Family(NamedTuple):
    child: Variable
    parents: tuple[Variable, ...]

    @property
    def categories(self) -> tuple[Variable, ...]:
        return tuple(p for p in self.parents if p.is_categorical)

    @property
    def numbers(self) -> tuple[Variable, ...]:
        return (*(p for p in self.parents if p.is_continuous), self.child)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(p.n_states for p in self.categories)


def _family(table: Table, child: str, parents: Sequence[str]) -> _Family:
    variable = table.variable(child)
    if variable.is_categorical:
        raise DataError(f"the child of a regression must be continuous; {child!r} is categorical.")
    family = _Family(variable, tuple(table.variable(name) for name in parents))
    if empty := [p.name for p in family.categories if not p.n_states]:
        raise DataError(f"every column must have a state; {empty[0]!r} holds only missing values. Leave it out.")
    return family


def _without_rows(table: Table, family: _Family, moments: CrossMoments) -> LinearGaussian:
    """Return the table of a family without a complete row: the child's own mean and variance for all parents."""
    name = family.child.name
    values = table.floats(name)
    present = ~np.isnan(values) if table.weights is None else ~np.isnan(values) & (table.weights > 0.0)
    if not present.any():
        raise DataError(f"every column must have a value; {name!r} holds only missing values. Leave it out.")
    alone = gaussian_table(table, name)
    slopes = np.zeros((*family.shape, len(family.numbers) - 1))
    return LinearGaussian(
        family.child, family.parents, float(alone.intercepts), slopes, float(alone.variances), moments=moments
    )


def check_arcs(graph: DAG, table: Table) -> None:
    """Raise if a categorical variable has a continuous parent."""
    for node in graph.nodes:
        numbers = [p for p in graph.parents(node) if table.variable(p).is_continuous]
        if table.variable(node).is_categorical and numbers:
            hint = f"Reverse the arc, so that {numbers[0]!r} depends on {node!r}, or discretise {numbers[0]!r}."
            rule = "a categorical variable must have categorical parents"
            raise DataError(f"{rule}; {node!r} has {listed(numbers)}. {hint}")


# From moments to regressions


def regressions(
    child: Variable,
    parents: Sequence[Variable],
    moments: CrossMoments,
    *,
    behind: CrossMoments | None = None,
    least: float | None = None,
) -> LinearGaussian:
    """Return the table whose regressions are those of the moments as they are.

    ``behind`` are the moments that it carries. With ``least`` no variance is below it, and no other is replaced: this
    table has the highest likelihood under that bound.
    """
    pooled = moments.pooled()
    enough = pooled.count[0] >= moments.mean.shape[1] + 1.0
    slopes = _slopes(moments) if enough else np.zeros((moments.n_groups, moments.mean.shape[1] - 1))
    intercepts = moments.mean[:, -1] - (slopes * moments.mean[:, :-1]).sum(axis=1)
    own = residual_squares(moments, slopes) / moments.count
    variances = np.maximum(own, least) if least is not None else _replaced(own, moments.count, pooled)
    shape = tuple(p.n_states for p in parents if p.is_categorical)
    return LinearGaussian(
        child, parents, intercepts.reshape(shape), slopes.reshape(*shape, -1 if slopes.size else 0),
        variances.reshape(shape), moments=moments if behind is None else behind,
    )  # fmt: skip


def filled(moments: CrossMoments, shrinkage: float = 0.0) -> CrossMoments:
    """Return moments in which every configuration has enough rows, filled up with those of all together."""
    needed = moments.mean.shape[1] + 1.0
    added = np.maximum(shrinkage, needed - moments.count)
    if moments.n_groups == 1 or not added.max() > 0.0:
        return moments
    return moments + worth_of(moments.pooled(), np.maximum(added, 0.0))


def worth_of(pooled: CrossMoments, rows: np.ndarray) -> CrossMoments:
    """Return for each configuration the moments of one group, rescaled to a number of rows."""
    wide = CrossMoments(*(np.repeat(a, len(rows), axis=0) for a in pooled.arrays))
    return wide.scaled(rows / pooled.count[0])


def _slopes(moments: CrossMoments) -> np.ndarray:
    """Return the coefficients of each configuration, an array of shape (g, p)."""
    p = moments.mean.shape[1] - 1
    if not p:
        return np.zeros((moments.n_groups, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.diagonal(moments.products, axis1=1, axis2=2) / moments.count[:, None])
    varies = scale > np.maximum(_ROUNDING * np.abs(moments.mean), SMALLEST)
    unit = np.where(varies, scale, 1.0)
    n = np.where(moments.count > 0.0, moments.count, 1.0)
    correlations = moments.products / (unit[:, :, None] * unit[:, None, :] * n[:, None, None])
    correlations *= varies[:, :, None] & varies[:, None, :]
    values, vectors = np.linalg.eigh(correlations[:, :p, :p])
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > _FLOOR)
    along = np.einsum("gij,gi->gj", vectors, correlations[:, :p, p]) * inverse
    return np.einsum("gij,gj->gi", vectors, along) * unit[:, p:] / unit[:, :p]


def residual_squares(moments: CrossMoments, slopes: np.ndarray) -> np.ndarray:
    """Return the residual sum of squares of regressions through the means in each configuration."""
    direction = np.concatenate([-slopes, np.ones((len(slopes), 1))], axis=1)
    return np.maximum(np.einsum("gi,gij,gj->g", direction, moments.products, direction), 0.0)


def least_variance(pooled: CrossMoments) -> float:
    """Return the smallest residual variance, from the moments of a child (the last column) as a whole."""
    middle, total = float(pooled.mean[0, -1]), float(pooled.products[0, -1, -1] / pooled.count[0])
    if not math.sqrt(total) > _ROUNDING * abs(middle):
        return _FLOOR * (middle * middle if abs(middle) > SMALLEST else 1.0)
    return _FLOOR * total


def _replaced(own: np.ndarray, count: np.ndarray, pooled: CrossMoments) -> np.ndarray:
    """Return the residual variances, with those that are nearly zero replaced (see the top of the module)."""
    least = least_variance(pooled)
    average = max(float((own * count).sum() / count.sum()), least)
    return np.where(own > least, own, average)
