"""Dynamic networks of continuous variables: the Kalman filter and smoother.

A slice is x_t = c + Σ_j B_j x_{t−j} + ε, parents in the same slice solved for. With s_t = (x_t, …, x_{t−k+1}) that is

    s_t = A s_{t−1} + b + ε_t,    ε_t ~ N(0, Q),        and some entries of x_t are observed, o, without error:

    v = o − a_o,  F = P_oo,  G = P_·o F⁻¹:    a ← a + G v,   P ← P − G P_o·,   ln p(o | past) = ln N(v; 0, F)

with a and P the mean and covariance given the past. The smoother runs backwards in the form of Bryson and Frazier,
which inverts F only, so that exact relations and values seen without error do no harm:

    r ← Z'F⁻¹v + L'r,   N ← Z'F⁻¹Z + L'N L,   L = A (I − G Z);      E s = a + P r,   Var s = P − P N P.

References
----------
R. E. Kalman (1960). A new approach to linear filtering and prediction problems. Journal of Basic Engineering 82, 35–45.
H. E. Rauch, F. Tung, C. T. Striebel (1965). Maximum likelihood estimates of linear dynamic systems. AIAA Journal 3.
J. Durbin, S. J. Koopman (2012). Time Series Analysis by State Space Methods, 2nd ed., section 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable
from tunbridge.temporal.dynamic.building import node_of
from tunbridge.temporal.dynamic.evidence import Findings, Names
from tunbridge.temporal.dynamic.slices import impossible

_LOG_TWO_PI = math.log(2.0 * math.pi)
_CERTAIN = 1e-13  # of the largest variance: what is below is rounding


class LinearModel(NamedTuple):
    """A linear Gaussian state space: n variables, the last ``order`` slices of them in the state."""

    n: int
    start_mean: np.ndarray
    start_covariance: np.ndarray
    matrix: np.ndarray
    offset: np.ndarray
    noise: np.ndarray


class Moments(NamedTuple):
    """The mean and the covariance of the state after each slice, and ln p(values) of each sequence."""

    log_likelihood: np.ndarray
    means: np.ndarray
    covariances: np.ndarray


class _Step(NamedTuple):
    """What the way back needs of a slice."""

    mean: np.ndarray
    covariance: np.ndarray
    seen: np.ndarray
    inverse: np.ndarray
    surprise: np.ndarray
    left: np.ndarray  # I − G Z


def compile_linear(names: Names, first: BayesianNetwork, tables: Sequence[ConditionalTable]) -> LinearModel:
    """Return the state space of a network without categorical variables."""
    n = len(names.variables)
    offset, slopes, noise = _regressions(names, tables)
    order = max(max(slopes), 1)
    begin_offset, begin_slopes, begin_noise = _regressions(names, first.cpts.values())
    begin = np.linalg.inv(np.eye(n) - begin_slopes[0])
    mean, covariance = begin @ begin_offset, begin * begin_noise @ begin.T
    solve = np.linalg.inv(np.eye(n) - slopes[0])
    matrix = np.eye(n * order, k=-n)
    matrix[:n] = np.hstack([solve @ slopes.get(j, np.zeros((n, n))) for j in range(1, order + 1)])
    wide = np.zeros((n * order, n * order))
    wide[:n, :n] = solve * noise @ solve.T
    return LinearModel(
        n, np.tile(mean, order), np.tile(covariance, (order, order)), matrix,
        np.concatenate([solve @ offset, np.zeros(n * (order - 1))]), wide,
    )  # fmt: skip


def _regressions(names: Names, tables: object) -> tuple[np.ndarray, dict[int, np.ndarray], np.ndarray]:
    """Return intercepts, coefficients by lag, and variances."""
    n = len(names.variables)
    offset, noise, slopes = np.zeros(n), np.zeros(n), {0: np.zeros((n, n))}
    for cpt in tables:  # type: ignore[attr-defined]
        v = names.index[cpt.variable.name]
        offset[v], noise[v] = float(cpt.intercepts), float(cpt.variances)
        for parent, slope in zip(cpt.continuous_parents, cpt.coefficients, strict=True):
            node = node_of(parent.name, names.names)
            slopes.setdefault(node.lag, np.zeros((n, n)))[v, names.index[node.name]] = slope
    return offset, slopes, noise


def kalman(model: LinearModel, found: Findings, *, smooth: bool = False, strict: bool = True) -> Moments:
    """Return the moments of the state given the values so far, or all values.

    A sequence of probability zero, which only exact relations make possible, raises, or has the log-likelihood −∞.
    """
    size = len(model.offset)
    means, covariances = np.empty((found.n_slices, size)), np.empty((found.n_slices, size, size))
    logs = np.zeros(len(found.offsets) - 1)
    for s in range(len(logs)):
        begin, end = int(found.offsets[s]), int(found.offsets[s + 1])
        steps: list[_Step] = []
        mean, covariance = model.start_mean, model.start_covariance
        for i in range(begin, end):
            if i > begin:
                mean = model.matrix @ mean + model.offset
                covariance = model.matrix @ covariance @ model.matrix.T + model.noise
            step, log = _observed(mean, covariance, found.values[i])
            if log == -math.inf and strict:
                raise impossible(found, i)
            logs[s] += log
            mean, covariance = _updated(step)
            means[i], covariances[i] = mean, covariance
            if smooth:
                steps.append(step)
        if smooth:
            _back(model, steps, means[begin:end], covariances[begin:end])
    return Moments(logs, means, covariances)


def _observed(mean: np.ndarray, covariance: np.ndarray, values: np.ndarray) -> tuple[_Step, float]:
    """Return what a slice's values say, and ln p(values | past)."""
    seen = np.flatnonzero(~np.isnan(values))
    surprise = values[seen] - mean[seen]
    block = covariance[np.ix_(seen, seen)]
    weights, vectors = np.linalg.eigh(block)
    sure = weights <= _CERTAIN * max(float(np.abs(np.diag(covariance)).max(initial=0.0)), 1e-300)
    part = vectors.T @ surprise
    scale = 1e-6 * (1.0 + np.abs(values[seen]).max(initial=0.0))
    is_impossible = bool((np.abs(part[sure]) > scale).any())
    inverse = (vectors[:, ~sure] / weights[~sure]) @ vectors[:, ~sure].T
    log = -0.5 * float(surprise @ inverse @ surprise + np.log(weights[~sure]).sum() + (~sure).sum() * _LOG_TWO_PI)
    left = np.eye(len(mean))
    left[:, seen] -= covariance[:, seen] @ inverse
    return _Step(mean, covariance, seen, inverse, surprise, left), -math.inf if is_impossible else log


def _updated(step: _Step) -> tuple[np.ndarray, np.ndarray]:
    gain = step.covariance[:, step.seen] @ step.inverse
    mean = step.mean + gain @ step.surprise
    covariance = step.left @ step.covariance @ step.left.T  # positive semi-definite, whatever the rounding
    covariance[step.seen], covariance[:, step.seen] = 0.0, 0.0
    mean[step.seen] = step.mean[step.seen] + step.surprise
    return mean, covariance


def _back(model: LinearModel, steps: list[_Step], means: np.ndarray, covariances: np.ndarray) -> None:
    """Replace moments given the values so far by those given all values."""
    size = len(model.offset)
    r, n = np.zeros(size), np.zeros((size, size))
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        r, n = step.left.T @ r, step.left.T @ n @ step.left
        r[step.seen] += step.inverse @ step.surprise
        n[np.ix_(step.seen, step.seen)] += step.inverse
        means[i] = step.mean + step.covariance @ r
        covariances[i] = step.covariance - step.covariance @ n @ step.covariance
        means[i, step.seen] = step.mean[step.seen] + step.surprise
        covariances[i, step.seen] = covariances[i][:, step.seen] = 0.0
        r, n = model.matrix.T @ r, model.matrix.T @ n @ model.matrix
