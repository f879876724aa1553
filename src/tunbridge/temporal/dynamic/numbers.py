"""Observed numbers next to categorical variables: densities that multiply the likelihoods of a slice.

A number that is observed together with its continuous parents says about categorical variables only what its density
given these and each configuration of its categorical parents does. If this holds for all observed numbers, exact
inference stays that of categorical variables: hidden Markov models with Gaussian emissions and autoregressive ones are
networks of this kind. Where numbers hide behind numbers, particles answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable, LinearGaussian
from tunbridge.temporal.dynamic.building import node_of
from tunbridge.temporal.dynamic.evidence import Findings, Names
from tunbridge.temporal.dynamic.slices import Messages, SliceModel, joint

_LOG_TWO_PI = math.log(2.0 * math.pi)


class _Number(NamedTuple):
    """The table of a continuous variable: its categorical parents as axes, its continuous ones as (column, lag)."""

    variable: int
    axes: tuple[int, ...]
    table: LinearGaussian
    parents: tuple[tuple[int, int], ...]


def number_tables(
    model: SliceModel, first: BayesianNetwork, tables: Sequence[ConditionalTable]
) -> tuple[list[_Number], list[_Number]]:
    """Return the tables of the continuous variables in slice 0, and in later slices."""
    names = model.names

    def made(cpt: LinearGaussian) -> _Number:
        nodes = [node_of(p.name, names.names) for p in cpt.discrete_parents]
        axes = tuple(model.lagged[n] if n.lag else names.index[n.name] for n in nodes)
        given = [node_of(p.name, names.names) for p in cpt.continuous_parents]
        parents = tuple((names.index[n.name] - names.n_categorical, n.lag) for n in given)
        return _Number(names.index[cpt.variable.name], axes, cpt, parents)

    both = (first.cpts.values(), tables)
    one, other = ([made(cpt) for cpt in some if isinstance(cpt, LinearGaussian)] for some in both)
    return one, other


def absorbed(
    names: Names, numbers: tuple[list[_Number], list[_Number]], found: Findings, questions: Sequence[Sequence[int]]
) -> Findings | None:
    """Return findings with a density for each observed number; None where numbers are hidden that others depend on."""
    place = found.positions()
    made, logs = dict[tuple[int, tuple[int, ...]], np.ndarray](), found.logs[found.rows]
    asked = {v for some in questions for v in some}
    for at, own in zip((np.flatnonzero(place == 0), np.flatnonzero(place > 0)), numbers, strict=True):
        for number in own:
            means = _means(number, found, at, place)
            x = found.values[at, number.variable - names.n_categorical]
            is_seen = ~np.isnan(x)
            hidden = np.isnan(means.reshape(len(at), -1)).any(axis=1)
            if (hidden & (is_seen | (number.variable in asked))).any():
                return None
            density = _log_densities(number.table, x, means)
            tops = density.reshape(len(at), -1).max(axis=1, initial=-np.inf)
            tops[~np.isfinite(tops)] = 0.0
            wide = tops.reshape(-1, *[1] * (density.ndim - 1))
            shares = np.where(is_seen.reshape(wide.shape), np.exp(density - wide), 1.0)
            key = (number.variable, number.axes)
            made.setdefault(key, np.ones((found.n_slices, *shares.shape[1:])))[at] = shares
            logs[at] += np.where(is_seen, tops, 0.0)
    likelihoods = {v: lines[found.rows] for v, lines in found.likelihoods.items()}
    forced = {v: line[found.rows] for v, line in found.forced.items()}
    rows = np.arange(found.n_slices)
    return found._replace(likelihoods=likelihoods, forced=forced, logs=logs, rows=rows, densities=made)


def _means(number: _Number, found: Findings, at: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the mean of a number in slices, in each configuration of its categorical parents; NaN where unknown."""
    table = number.table
    means = np.broadcast_to(table.intercepts, (len(at), *table.shape)).copy()
    for k, (column, lag) in enumerate(number.parents):
        values = found.values[at - np.minimum(lag, place[at]), column]
        means += values.reshape(-1, *[1] * len(table.shape)) * table.coefficients[..., k]
    return means


def _log_densities(table: LinearGaussian, x: np.ndarray, means: np.ndarray) -> np.ndarray:
    off = x.reshape(-1, *[1] * (means.ndim - 1)) - means
    if table.is_exact:
        return np.where(np.abs(off) <= 1e-9 * (1.0 + np.abs(means)), 0.0, -np.inf)
    return -0.5 * (off * off / table.variances + np.log(table.variances) + _LOG_TWO_PI)


def number_moments(
    model: SliceModel, numbers: tuple[list[_Number], list[_Number]], found: Findings, made: Messages, v: int
) -> np.ndarray:
    """Return the mean and the variance of a continuous variable in each slice; its continuous parents are known."""
    place = found.positions()
    out = np.empty((found.n_slices, 2))
    for at, own in zip((np.flatnonzero(place == 0), np.flatnonzero(place > 0)), numbers, strict=True):
        number = next(each for each in own if each.variable == v)
        means = _means(number, found, at, place).reshape(len(at), -1)
        weights = joint(model, found, made, number.axes, at).reshape(len(at), -1)
        middle = (weights * means).sum(axis=1)
        spread = number.table.variances.reshape(-1) + (means - middle[:, None]) ** 2
        out[at] = np.stack([middle, (weights * spread).sum(axis=1)], axis=1)
    x = found.values[:, v - model.names.n_categorical]
    is_seen = ~np.isnan(x)
    out[is_seen] = np.stack([x, np.zeros_like(x)], axis=1)[is_seen]
    return out
