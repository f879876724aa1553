"""The class-conditional log-likelihood of rows, from the statistics of their features.

log P(x, c) = log P(c) + Σ_f log P(x_f | c), in log space throughout: a row with 100 000 features does not underflow. A
missing value adds nothing to any class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.classifiers.naive.statistics import Statistics
from tunbridge.classifiers.posteriors import Finish
from tunbridge.classifiers.rows.batch import Batch
from tunbridge.counts.radix import SMALL_CELLS
from tunbridge.data import Variable
from tunbridge.data.discretisation import Discretisation
from tunbridge.probability.kernel_density import Points, bandwidth, log_density
from tunbridge.probability.smoothing import Smoothing, smooth

_BLOCK_CELLS = 1 << 16
_PIECE_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Normal densities of the Gaussian features; every array has shape (n_classes, n_features)."""

    mean: np.ndarray
    variance: np.ndarray

    @cached_property
    def constant(self) -> np.ndarray:
        """−½ log 2πσ²."""
        return -0.5 * np.log(2.0 * np.pi * self.variance)

    @cached_property
    def precision(self) -> np.ndarray:
        """1/(2σ²)."""
        return 0.5 / self.variance


@dataclass(frozen=True, eq=False)
class Likelihood:
    """log P(c) and log P(x_f | c) for every class and feature.

    Parameters
    ----------
    log_prior : ndarray of shape (n_classes,)
        log P(c).
    tables : mapping of int to ndarray of shape (n_classes, n_states + 1)
        For categorical and discretised features, by position: log P(state | c) in column state + 1, and 0, for a
        missing cell, in column 0.
    gaussian : Gaussian
        For the Gaussian features in order.
    densities : mapping of int to tuple of (Points, bandwidth)
        For the kernel features: one for each class.
    cuts : mapping of int to Discretisation
        How discretised features are cut.
    numeric : mapping of int to int
        Where each continuous feature stands among the continuous ones.
    roles : tuple of str
        How each feature is modelled.
    """

    log_prior: np.ndarray
    tables: Mapping[int, np.ndarray]
    gaussian: Gaussian
    densities: Mapping[int, tuple[tuple[Points, float], ...]]
    cuts: Mapping[int, Discretisation]
    numeric: Mapping[int, int]
    roles: tuple[str, ...]

    def joint(self, batch: Batch, finish: Finish, n_jobs: int | None = None) -> np.ndarray:
        """Return ``finish(log P(x, c))`` for each row, (n_rows, n_classes); finish works on class × row pieces."""
        out = np.empty((batch.n_rows, len(self.log_prior)))
        n_numbers = len(self.numeric)
        size = max(256, _BLOCK_CELLS // (n_numbers + len(self.log_prior))) if n_numbers else _PIECE_ROWS

        def fill(rows: tuple[int, int]) -> None:
            out[rows[0] : rows[1]] = finish(self._piece(batch, *rows)).T

        map_threads(fill, row_pieces(batch.n_rows, size), n_jobs)
        return out

    def terms(self, batch: Batch) -> np.ndarray:
        """Return log P(x_f | c) of every feature, (n_features, n_classes, n_rows): for a few rows, to explain them."""
        block = batch.number_block(0, batch.n_rows) if self.numeric else np.empty((0, batch.n_rows))
        out = np.zeros((len(self.roles), len(self.log_prior), batch.n_rows))
        normal = [j for j, role in enumerate(self.roles) if role == "gaussian"]
        if normal:
            x = block[[self.numeric[j] for j in normal]][:, None, :]
            mean, precision, constant = (
                a.T[:, :, None] for a in (self.gaussian.mean, self.gaussian.precision, self.gaussian.constant)
            )
            with np.errstate(over="ignore"):
                out[normal] = np.where(np.isnan(x), 0.0, constant - precision * (x - mean) ** 2)
        for j, role in enumerate(self.roles):
            if role != "gaussian":
                self._add_feature(j, batch, block, 0, out[j])
        return out

    def _piece(self, batch: Batch, start: int, stop: int) -> np.ndarray:
        out = np.repeat(self.log_prior[:, None], stop - start, axis=1)
        block = batch.number_block(start, stop) if self.numeric else np.empty((0, stop - start))
        normal = [self.numeric[j] for j, role in enumerate(self.roles) if role == "gaussian"]
        if normal:
            _add_gaussian(block if len(normal) == len(block) else block[normal], self.gaussian, out)
        for j, role in enumerate(self.roles):
            if role != "gaussian":
                self._add_feature(j, batch, block, start, out)
        return out

    def _add_feature(self, j: int, batch: Batch, block: np.ndarray, start: int, out: np.ndarray) -> None:
        """Add one feature's log-likelihood of the rows start … start + out.shape[1]."""
        if j in self.densities:
            for k, (points, h) in enumerate(self.densities[j]):
                out[k] += log_density(block[self.numeric[j]], points, h) if points.values.size else 0.0
        else:
            codes = self.cuts[j].codes(block[self.numeric[j]]) if j in self.cuts else batch.codes[j]
            _add_categorical(codes if j in self.cuts else codes[start : start + out.shape[1]], self.tables[j], out)


def derive(
    statistics: Statistics,
    *,
    log_prior: np.ndarray,
    smoothing: Mapping[int, Smoothing],
    unbiased: bool,
    variance_floor: float,
) -> Likelihood:
    """Return the likelihood whose parameters are estimated from the statistics."""
    numeric = [j for j, v in enumerate(statistics.variables) if v.is_continuous]
    return Likelihood(
        log_prior,
        {j: _log_table(counts.table, smoothing[j], counts.child) for j, counts in statistics.counts.items()},
        fit_gaussian(statistics, unbiased=unbiased, variance_floor=variance_floor),
        {j: _densities(points) for j, points in statistics.points.items()},
        statistics.cuts,
        {j: i for i, j in enumerate(numeric)},
        statistics.roles,
    )


def fit_gaussian(statistics: Statistics, *, unbiased: bool, variance_floor: float) -> Gaussian:
    """Return the normal densities of the Gaussian features.

    To each variance is added ``variance_floor`` times the feature's variance over all rows, which makes the floor move
    with the feature's scale. A class that has no value of a feature, or (unbiased) a single one, takes the spread of
    the whole column; a column that is constant gets variance one and says nothing about the class.
    """
    moments, pooled = statistics.moments, statistics.moments.pooled()
    overall = np.nan_to_num(pooled.variance(unbiased=False))
    variance = moments.variance(unbiased=unbiased)
    variance = np.where(np.isnan(variance), overall, variance) + variance_floor * overall
    mean = np.where(moments.count > 0, moments.mean, pooled.mean)
    constant = overall <= 0
    if variance_floor == 0:
        # A class whose values are all equal has no density; the smallest positive spread stands for it.
        variance = np.maximum(variance, np.finfo(float).tiny)
    return Gaussian(np.where(constant, pooled.mean, mean), np.where(constant, 1.0, variance))


def _log_table(counts: np.ndarray, rule: Smoothing, variable: Variable) -> np.ndarray:
    table = np.zeros((len(counts), variable.n_states + 1))
    with np.errstate(divide="ignore"):
        table[:, 1:] = np.log(smooth(counts, rule, variable))
    return table


def _densities(points: tuple[Points, ...]) -> tuple[tuple[Points, float], ...]:
    """Return each class's points with their bandwidth; a class of one value takes that of all classes together."""
    everything = points[0]
    for more in points[1:]:
        everything = everything.merge(more)
    common = bandwidth(everything) or 1.0
    return tuple((p if p.values.size else everything, bandwidth(p) or common) for p in points)


def _add_categorical(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    if out.size <= SMALL_CELLS:
        out += table[:, codes.astype(np.intp) + 1]
        return
    from tunbridge.kernels.likelihood import add_categorical

    add_categorical(codes, table, out)


def _add_gaussian(block: np.ndarray, gaussian: Gaussian, out: np.ndarray) -> None:
    if out.size * len(block) <= SMALL_CELLS:
        for j, x in enumerate(block):
            with np.errstate(over="ignore"):  # a deviation whose square overflows has density zero
                square = (x - gaussian.mean[:, j, None]) ** 2
            out += np.where(np.isnan(x), 0.0, gaussian.constant[:, j, None] - gaussian.precision[:, j, None] * square)
        return
    from tunbridge.kernels.likelihood import add_gaussian

    add_gaussian(block, gaussian.mean, gaussian.precision, gaussian.constant, out)
