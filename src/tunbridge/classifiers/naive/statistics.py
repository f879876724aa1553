"""What naive Bayes keeps of the data: the sufficient statistics of each feature within each class.

Categorical and discretised features keep counts, Gaussian ones moments, kernel ones their points. All of them can be
merged, so learning from a second batch is: collect its statistics, merge, and derive the parameters again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge.classifiers.rows.batch import Batch
from tunbridge.classifiers.rows.target import apart_from, sorted_target
from tunbridge.counts import Counter, Counts, Moments, moments_within
from tunbridge.data import Column, Table, Variable
from tunbridge.data.columns import code_type
from tunbridge.data.discretisation import Discretisation, mdl_cuts
from tunbridge.errors import DataError
from tunbridge.probability.kernel_density import Points, points_of

NUMERIC_ROLES = ("gaussian", "kernel", "discretise")

_EXTENT_ROWS, _EXTENT_CELLS = 4096, 1 << 22


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics of features within classes.

    Parameters
    ----------
    target : Variable
        The class variable; its states are the classes, sorted.
    class_weight : ndarray of shape (n_classes,)
        The number (or weight) of the rows of each class.
    variables : tuple of Variable
        The features.
    roles : tuple of str
        How each feature is modelled: "categorical", "gaussian", "kernel" or "discretise".
    counts : mapping of int to Counts
        Counts of categorical and discretised features given the class, by the feature's position.
    moments : Moments
        Moments of the Gaussian features, in order, within each class.
    points : mapping of int to tuple of Points
        Points of each kernel feature, for each class.
    cuts : mapping of int to Discretisation
        The cut points of discretised features.
    extent : ndarray of shape (2, n_gaussian), optional
        The least and the greatest value of each Gaussian feature in a sample of the rows: nothing is estimated from
        them, they say where values lie.
    """

    target: Variable
    class_weight: np.ndarray
    variables: tuple[Variable, ...]
    roles: tuple[str, ...]
    counts: Mapping[int, Counts]
    moments: Moments
    points: Mapping[int, tuple[Points, ...]]
    cuts: Mapping[int, Discretisation]
    extent: np.ndarray | None = None

    def merge(self, other: Statistics) -> Statistics:
        """Return the statistics of the rows of both; classes and states may be new."""
        target = sorted_target(self.target, other.target)
        a, b = self._over(target), other._over(target)
        counts = {j: c.merge(b.counts[j]).dense() for j, c in a.counts.items()}
        return replace(
            a,
            class_weight=a.class_weight + b.class_weight,
            variables=tuple(
                counts[j].child if role == "categorical" else v
                for j, (v, role) in enumerate(zip(self.variables, self.roles, strict=True))
            ),
            counts=counts,
            moments=a.moments.merge(b.moments),
            points={j: tuple(map(Points.merge, p, b.points[j])) for j, p in a.points.items()},
            extent=_merged_extent(a.extent, b.extent),
        )

    def _over(self, target: Variable) -> Statistics:
        """Return the statistics with one entry for each class of a larger target."""
        if target.states == self.target.states:
            return self
        at = np.array([target.code(s) for s in self.target.states or ()], np.intp)
        none = Points(np.empty(0), np.empty(0))
        points = {j: dict(zip(at.tolist(), p, strict=True)) for j, p in self.points.items()}
        return replace(
            self,
            target=target,
            class_weight=_placed(self.class_weight, at, target.n_states),
            counts={j: _empty_counts(c.child, target).merge(c) for j, c in self.counts.items()},
            moments=Moments(
                *(_placed(a, at, target.n_states) for a in (self.moments.count, self.moments.mean, self.moments.m2))
            ),
            points={j: tuple(p.get(k, none) for k in range(target.n_states)) for j, p in points.items()},
        )


def collect(
    batch: Batch,
    classes: np.ndarray,
    target: Variable,
    *,
    roles: Sequence[str],
    weights: np.ndarray | None,
    cuts: Mapping[int, Discretisation] | None = None,
    n_jobs: int | None = None,
) -> Statistics:
    """Return the statistics of a batch of rows; ``classes`` are codes of the target's states.

    Cut points of features to discretise are found in this batch (Fayyad & Irani's method) unless they are given.
    """
    numeric = batch.numeric
    discretised = [j for j in numeric if roles[j] == "discretise"]
    found = dict(cuts or {j: mdl_cuts(batch.number_column(numeric[j]), classes, weights) for j in discretised})
    codes = dict(batch.codes) | {j: found[j].codes(batch.number_column(numeric[j])) for j in discretised}
    variables = [found[j].variable(v.name) if j in found else v for j, v in enumerate(batch.variables)]
    ones = np.ones(batch.n_rows) if weights is None else weights
    return Statistics(
        target,
        np.bincount(classes, ones, minlength=target.n_states),
        batch.variables,
        tuple(roles),
        _class_counts({j: variables[j] for j in codes}, codes, classes, target, weights, n_jobs),
        _class_moments(
            batch, [i for j, i in numeric.items() if roles[j] == "gaussian"], classes, target, weights, n_jobs
        ),
        {
            j: _class_points(batch.number_column(i), classes, target, ones)
            for j, i in numeric.items()
            if roles[j] == "kernel"
        },
        found,
        _extent(batch, [i for j, i in numeric.items() if roles[j] == "gaussian"], weights),
    )


def _class_counts(
    variables: Mapping[int, Variable],
    codes: Mapping[int, np.ndarray],
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    n_jobs: int | None,
) -> dict[int, Counts]:
    if not variables:
        return {}
    given = apart_from(target, variables.values())  # the counter wants distinct names
    columns = [Column(given, classes.astype(code_type(target.n_states), copy=False), pa.null())]
    columns += [Column(v, codes[j], pa.null()) for j, v in variables.items()]
    counter = Counter(Table.of(columns, weights=weights), n_jobs=n_jobs)
    found = counter.families([(v.name, [given.name]) for v in variables.values()])
    return {j: Counts(c.child, (target,), c.dense().table) for j, c in zip(variables, found, strict=True)}


def _class_moments(
    batch: Batch,
    which: list[int],
    classes: np.ndarray,
    target: Variable,
    weights: np.ndarray | None,
    n_jobs: int | None,
) -> Moments:
    if not which:
        return Moments(*(np.zeros((target.n_states, 0)) for _ in range(3)))
    numbers: Any = batch.numbers
    if len(which) < (numbers.shape[1] if isinstance(numbers, np.ndarray) else len(numbers)):
        numbers = [batch.number_column(i) for i in which]
    moments = moments_within(numbers, classes, target.n_states, weights=weights, n_jobs=n_jobs)
    if not np.isfinite(moments.m2).all():
        batch.check_finite()
        column = list(batch.numeric)[which[int(np.argmin(np.isfinite(moments.m2).all(axis=0)))]]
        raise DataError(
            f"numbers must be small enough to square; those of {batch.variables[column].name!r} overflow. Divide them "
            "by a constant first."
        )
    return moments


def _extent(batch: Batch, which: list[int], weights: np.ndarray | None) -> np.ndarray:
    """Return the least and the greatest value of some numbers in up to 4096 rows, evenly taken; NaN without any."""
    rows = np.arange(batch.n_rows) if weights is None else np.flatnonzero(weights > 0)
    most = max(64, min(_EXTENT_ROWS, _EXTENT_CELLS // max(1, len(batch.variables))))
    some = batch.take(rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.intp)])
    columns = [some.number_column(i) for i in which]
    found = [(np.fmin.reduce(c, initial=np.nan), np.fmax.reduce(c, initial=np.nan)) for c in columns]
    return np.array(found).reshape(-1, 2).T


def _merged_extent(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    if a is None or b is None:
        return b if a is None else a
    return np.array([np.fmin(a[0], b[0]), np.fmax(a[1], b[1])])


def _class_points(values: np.ndarray, classes: np.ndarray, target: Variable, weights: np.ndarray) -> tuple[Points, ...]:
    return tuple(points_of(values[classes == k], weights[classes == k]) for k in range(target.n_states))


def _placed(array: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((n, *array.shape[1:]), array.dtype)
    out[at] = array
    return out


def _empty_counts(child: Variable, target: Variable) -> Counts:
    return Counts(child, (target,), np.zeros((target.n_states, child.n_states), np.int64))
