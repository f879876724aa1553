"""Linear Gaussian tables from data: a linear regression for each configuration of the categorical parents.

From the rows in which the categorical parents have configuration j, with n of them, means μ and centred sums of
products S of the continuous parents x and the child y,

    b = S_xx⁻¹ S_xy,     a = μ_y − bᵀ μ_x,     s² = (S_yy − bᵀ S_xy) / n:

the estimates of maximum likelihood. Rows that miss a cell of the family are left out of it, and of no other. Weights
count as repeated rows. Sums are taken about a mean, so that a large offset costs no digits, and regressions are solved
in units of the standard deviations.

**Few rows.** A configuration with fewer than p + 2 rows (p continuous parents) cannot show its own regression. What it
lacks is filled up with rows' worth of the family as a whole: their moments, all configurations together, are added with
the weight of the lacking rows. Without any rows it has the pooled regression; with enough, its own. ``shrinkage`` adds
so many rows' worth to every configuration, as an m-estimate does to counts. Where the whole family has fewer than p + 2
rows, the coefficients are 0.

**Degenerate columns.** Of parents that are combinations of one another (in a configuration) the smallest coefficients
are taken that fit as well; a parent that does not vary there gets 0. A residual variance that is nothing beside the
child's own (below 1e-10 of it: equal values, or values exactly on a line) is replaced by the average one of all
configurations, and where that is nothing either by 1e-10 of the child's variance, so that no density is infinite. The
variance of a child that holds a single value c is 1e-10 c² (1e-10 if c is 0): it is as good as certain.

References
----------
S. L. Lauritzen, N. Wermuth (1989). Graphical models for associations between variables, some of which are qualitative
and some quantitative. Annals of Statistics 17, 31–57.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._check import check_number, listed
from tunbridge._memory import check_memory
from tunbridge.counts.configurations import configuration_numbers
from tunbridge.counts.cross_moments import CrossMoments, cross_moments
from tunbridge.data import Table, Variable
from tunbridge.errors import DataError
from tunbridge.graph import DAG
from tunbridge.probability import LinearGaussian

_FLOOR = 1e-10
"""The least variance that counts, as a share of the child's; also the least share of a parent that others leave."""

_ROUNDING = 4 * float(np.finfo(float).eps)
_LARGEST = 1e150  # the square of anything beyond is no number


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
        How many rows' worth of the family as a whole are added to every configuration of the categorical parents.

    Returns
    -------
    LinearGaussian
        It carries its moments, so that it can be updated and merged.

    Raises
    ------
    DataError
        When the child has no number at all.
    MemoryForecastError
        When the configurations are too many; nothing was allocated.

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
    return table_of_moments(family.child, family.parents, moments, shrinkage=shrinkage)


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
    if columns.size and not np.abs(columns).max() <= _LARGEST:
        raise DataError(f"the numbers of the family of {child!r} must be below {_LARGEST:g}. Change their unit.")
    weights = None if table.weights is None else table.weights[whole]
    groups = configuration_numbers(codes.T, family.shape) if len(codes) else np.zeros(columns.shape[1], np.int64)
    return cross_moments(columns, groups, q, weights)


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
        raise DataError(f"every column must have a state; {empty[0]!r} holds nothing but missing cells. Leave it out.")
    return family


def _without_rows(table: Table, family: _Family, moments: CrossMoments) -> LinearGaussian:
    """Return the table of a family without a complete row: the child's own mean and variance, whatever its parents."""
    name = family.child.name
    values = table.floats(name)
    present = ~np.isnan(values) if table.weights is None else ~np.isnan(values) & (table.weights > 0.0)
    if not present.any():
        raise DataError(f"every column must have a value; {name!r} holds nothing but missing cells. Leave it out.")
    alone = gaussian_table(table, name)
    slopes = np.zeros((*family.shape, len(family.numbers) - 1))
    return LinearGaussian(
        family.child, family.parents, float(alone.intercepts), slopes, float(alone.variances), moments=moments
    )


def check_arcs(graph: DAG, table: Table) -> None:
    """Raise where a category would have a number as its parent."""
    for node in graph.nodes:
        numbers = [p for p in graph.parents(node) if table.variable(p).is_continuous]
        if table.variable(node).is_categorical and numbers:
            hint = f"Turn the arc round, so that {numbers[0]!r} depends on {node!r}, or discretise {numbers[0]!r}."
            raise DataError(f"a category must have categories as its parents; {node!r} has {listed(numbers)}. {hint}")


# From moments to regressions


def table_of_moments(
    child: Variable, parents: Sequence[Variable], moments: CrossMoments, *, shrinkage: float = 0.0
) -> LinearGaussian:
    """Return the table of a family from its moments, some of whose counts must be above 0.

    Parameters
    ----------
    child, parents : Variable, sequence of Variable
        The family.
    moments : CrossMoments
        Of the continuous parents in their order and the child, for each configuration of the categorical parents.
    shrinkage : float
        As for :func:`gaussian_table`.
    """
    return regressions(child, parents, filled(moments, shrinkage), behind=moments)


def regressions(
    child: Variable,
    parents: Sequence[Variable],
    moments: CrossMoments,
    *,
    behind: CrossMoments | None = None,
    least: float | None = None,
) -> LinearGaussian:
    """Return the table whose regressions are those of the moments as they are.

    ``behind`` are the moments that it carries. With ``least`` no variance is below it, and no other is replaced: of all
    such tables it is the one of the highest likelihood.
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
    """Return moments in which every configuration has rows enough, those it lacks being taken from all together."""
    needed = moments.mean.shape[1] + 1.0
    added = np.maximum(shrinkage, needed - moments.count)
    if moments.n_groups == 1 or not added.max() > 0.0:
        return moments
    return moments + worth_of(moments.pooled(), np.maximum(added, 0.0))


def worth_of(pooled: CrossMoments, rows: np.ndarray) -> CrossMoments:
    """Return, for each configuration, so many rows' worth of the moments of one group, whose count is above 0."""
    wide = CrossMoments(*(np.repeat(a, len(rows), axis=0) for a in pooled.arrays))
    return wide.scaled(rows / pooled.count[0])


def _slopes(moments: CrossMoments) -> np.ndarray:
    """Return the coefficients of each configuration, an array of shape (g, p)."""
    p = moments.mean.shape[1] - 1
    if not p:
        return np.zeros((moments.n_groups, 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.sqrt(np.diagonal(moments.products, axis1=1, axis2=2) / moments.count[:, None])
    varies = scale > _ROUNDING * np.abs(moments.mean)
    unit = np.where(varies, scale, 1.0)
    n = np.where(moments.count > 0.0, moments.count, 1.0)
    correlations = moments.products / (unit[:, :, None] * unit[:, None, :] * n[:, None, None])
    correlations *= varies[:, :, None] & varies[:, None, :]
    values, vectors = np.linalg.eigh(correlations[:, :p, :p])
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > _FLOOR)
    along = np.einsum("gij,gi->gj", vectors, correlations[:, :p, p]) * inverse
    return np.einsum("gij,gj->gi", vectors, along) * unit[:, p:] / unit[:, :p]


def residual_squares(moments: CrossMoments, slopes: np.ndarray) -> np.ndarray:
    """Return the sum of squares that regressions through the means leave in each configuration."""
    direction = np.concatenate([-slopes, np.ones((len(slopes), 1))], axis=1)
    return np.maximum(np.einsum("gi,gij,gj->g", direction, moments.products, direction), 0.0)


def least_variance(pooled: CrossMoments) -> float:
    """Return the least residual variance that counts, from the moments of a child (the last column) as a whole."""
    middle, total = float(pooled.mean[0, -1]), float(pooled.products[0, -1, -1] / pooled.count[0])
    if not math.sqrt(total) > _ROUNDING * abs(middle):
        return _FLOOR * (middle * middle or 1.0)
    return _FLOOR * total


def _replaced(own: np.ndarray, count: np.ndarray, pooled: CrossMoments) -> np.ndarray:
    """Return the residual variances, those without any spread replaced as the module says."""
    least = least_variance(pooled)
    average = max(float((own * count).sum() / count.sum()), least)
    return np.where(own > least, own, average)
