"""Approximate inference where a slice is too large for an exact answer, or numbers depend on hidden states.

*Which method.* The size of the exact computation is forecast, and that of the approximation of Boyen and Koller with
one cluster for each variable of the interface; the first that fits into memory is taken, and particles otherwise, or
where that approximation would take minutes.

*Particles.* Each particle is a state of the last slices. In the next one, variables are drawn parents first, from

    q(x | parents, e) ∝ P(x | parents) λ(x),        and the particle's weight is multiplied by Σ_x P(x | parents) λ(x),

with λ the likelihoods of the finding about x; observed numbers multiply it by their density. Where the effective number
of particles, (Σw)² / Σw², has fallen below half, they are drawn anew by systematic resampling. The particles form
independent groups, whose spread gives the standard errors. Normalised weights bias the estimates of a small group, so
groups count by how probable to them the evidence of each slice is, L_g(s): W_g(t) ∝ Π_s L_g(s)^(0.9^|t−s|). Without the
exponent one group would have all the weight after many slices, and what is long ago hardly matters. Smoothing draws
whole histories backwards (Godsill, Doucet, West 2004):  P(choose particle i at t) ∝ w_t(i) P(x_{t+1} | i).

References
----------
X. Boyen, D. Koller (1998). Tractable inference for complex stochastic processes. UAI 14, 33–42.
S. J. Godsill, A. Doucet, M. West (2004). Monte Carlo smoothing for nonlinear time series. JASA 99, 156–168.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.check import check_choice, check_integer, listed, warn_user
from tunbridge._core.memory import check_memory, memory_limit, size_text
from tunbridge._core.seeds import RandomState, entropy_of
from tunbridge.errors import DataError, DataWarning, ImpossibleEvidenceError
from tunbridge.graph.walks import topological_order
from tunbridge.network import BayesianNetwork
from tunbridge.probability import ConditionalTable, LinearGaussian
from tunbridge.temporal.dynamic.building import node_of
from tunbridge.temporal.dynamic.contraction import n_bytes
from tunbridge.temporal.dynamic.evidence import Findings, Names
from tunbridge.temporal.dynamic.slices import Cluster, SliceModel

METHODS = ("auto", "exact", "boyen-koller", "particle")
_GROUPS = 20
_MOST_WORK = 2.0**32  # about twenty seconds
_MEMORY = 0.9  # of a group's weight, from slice to slice
_HISTORIES = 64  # that a group draws backwards
_LOG_TWO_PI = math.log(2.0 * math.pi)
_HINT = "Use more particles, or leave out some evidence."


def chosen_method(model: SliceModel, found: Findings, method: str, n_copies: int) -> str:
    """Return the method that "auto" stands for; warn where it is an approximation."""
    check_choice("method", method, METHODS)
    if method != "auto":
        return method
    limit = memory_limit()
    sizes = {name: forecast(model, found, name, n_copies) for name in METHODS[1:3]}
    fitting = [name for name, size in sizes.items() if size <= limit]
    if fitting[:1] == ["boyen-koller"] and work(model, found) > _MOST_WORK:
        fitting = []
    chosen = fitting[0] if fitting else "particle"
    if chosen != "exact":
        needs = f"exact inference would need {size_text(sizes['exact'])}, and the limit is {size_text(limit)}"
        warn_user(f"{needs}; the answers are approximations by method={chosen!r}.", DataWarning)
    return chosen


def forecast(model: SliceModel, found: Findings, method: str, n_copies: int = 1) -> float:
    """Return the memory in bytes that messages and tables take."""
    clusters = model.everything() if method == "exact" else singles(model)
    kept = sum(float(math.prod(model.shape[k] for k in c)) for c in clusters)
    return n_bytes(model.largest(found, clusters)) + 8.0 * kept * n_copies * max(found.n_slices, 1)


def work(model: SliceModel, found: Findings) -> float:
    """Return about how many multiplications Boyen and Koller's approximation takes."""
    clusters = singles(model)
    return model.largest(found, clusters) * len(clusters) * found.n_slices


def singles(model: SliceModel) -> tuple[Cluster, ...]:
    """Return a cluster for each variable of the interface."""
    return tuple((k,) for k in range(len(model.after))) or model.everything()


def as_clusters(model: SliceModel, given: Sequence[Sequence[str]] | None) -> tuple[Cluster, ...]:
    """Return the clusters that lists of names give; what they leave out is alone."""
    if given is None:
        return singles(model)
    owner = {axis: node.name for node, axis in model.lagged.items()}
    names = [owner[axis] for axis in model.before]
    if isinstance(given, str) or any(isinstance(each, str) for each in given):
        raise DataError("clusters must be a list of lists of names; got names. Write [['A', 'B'], ['C']].")
    listed_names = [name for each in given for name in each]
    for name in listed_names:
        if name not in names or listed_names.count(name) > 1:
            rule = f"clusters must name variables with children in later slices ({listed(dict.fromkeys(names))}) once"
            raise DataError(f"{rule}; got {name!r}.", parameter="clusters")
    found = [tuple(k for k, name in enumerate(names) if name in each) for each in given]
    return (*(c for c in found if c), *((k,) for k, name in enumerate(names) if name not in listed_names))


# Particles


class _Draw(NamedTuple):
    """How a variable is drawn: its parents as (number, lag), and its table."""

    variable: int
    parents: tuple[tuple[int, int], ...]
    table: ConditionalTable
    is_number: bool


class Drawing(NamedTuple):
    """The tables of a slice in an order with parents first; numbers of variables are those of Names."""

    n_categorical: int
    first: tuple[_Draw, ...]
    later: tuple[_Draw, ...]
    order: int


def compile_drawing(names: Names, first: BayesianNetwork, tables: Sequence[ConditionalTable]) -> Drawing:
    """Return the tables of a network as they are drawn from."""

    def sorted_draws(cpts: Sequence[ConditionalTable]) -> tuple[_Draw, ...]:
        made = {}
        for cpt in cpts:
            nodes = [node_of(p.name, names.names) for p in cpt.parents]
            v = names.index[cpt.variable.name]
            parents = tuple((names.index[n.name], n.lag) for n in nodes)
            made[v] = _Draw(v, parents, cpt, isinstance(cpt, LinearGaussian))
        inside = [[u for u, lag in made[v].parents if not lag] for v in range(len(made))]
        children = [[v for v in range(len(made)) if u in inside[v]] for u in range(len(made))]
        return tuple(made[v] for v in topological_order(inside, children))

    later = sorted_draws(tables)
    order = max((lag for draw in later for _, lag in draw.parents), default=0)
    return Drawing(names.n_categorical, sorted_draws(list(first.cpts.values())), later, max(order, 1))


History = list[np.ndarray]
"""The latest slices, the newest last: of each variable (first axis) its codes or values in each particle."""


def draw_slice(
    drawing: Drawing, history: History, rng: np.random.Generator, shape: tuple[int, ...],
    found: Findings | None = None, i: int = 0,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return a new slice, of shape (n_variables, *shape), and the logarithms of the weights of its particles."""
    draws = drawing.later if history else drawing.first
    now, logs = np.zeros((len(draws), *shape)), np.zeros(shape)
    row = 0 if found is None else int(found.rows[i])
    for draw in draws:
        v = draw.variable
        given = [_value(history, now, u, lag) for u, lag in draw.parents]
        if draw.is_number:
            value = math.nan if found is None else float(found.values[i, v - drawing.n_categorical])
            now[v], weight = _draw_number(draw.table, given, rng, shape, value)  # type: ignore[arg-type]
        else:
            lines = None if found is None else found.likelihoods.get(v)
            is_set = found is not None and v in found.forced and bool(found.forced[v][row])
            likelihood = None if lines is None else lines[row]
            now[v], weight = _draw_state(draw.table, given, rng, shape, likelihood, is_set)
        logs += weight
    return now, logs


def _value(history: History, now: np.ndarray, u: int, lag: int) -> np.ndarray:
    """Return the values of a parent; what would be before slice 0 is as in slice 0."""
    values: np.ndarray = now[u] if not lag else history[max(len(history) - lag, 0)][u]
    return values


def _rows_of(table: ConditionalTable, given: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the distribution of a categorical variable in each particle."""
    if not given:
        return np.broadcast_to(table.rows(np.empty((1, 0), np.int64))[0], (*shape, table.variable.n_states))
    codes = np.stack([g.astype(np.int64).ravel() for g in given], axis=1)
    return table.rows(codes).reshape(*shape, table.variable.n_states)


def _draw_state(
    table: ConditionalTable, given: Sequence[np.ndarray], rng: np.random.Generator, shape: tuple[int, ...],
    likelihood: np.ndarray | None, is_set: bool,
) -> tuple[np.ndarray, np.ndarray | float]:  # fmt: skip
    rows = np.ones((*shape, table.variable.n_states)) if is_set else _rows_of(table, given, shape)
    cumulative = np.cumsum(rows if likelihood is None else rows * likelihood, axis=-1)
    total = cumulative[..., -1]
    codes = (rng.random(shape)[..., None] * total[..., None] >= cumulative).sum(axis=-1)
    with np.errstate(divide="ignore"):
        weight = 0.0 if likelihood is None else np.log(total)
    return np.minimum(codes, rows.shape[-1] - 1), weight


def _draw_number(
    table: LinearGaussian, given: Sequence[np.ndarray], rng: np.random.Generator, shape: tuple[int, ...], value: float
) -> tuple[np.ndarray | float, np.ndarray | float]:
    mean, variance = regression(table, given)
    if math.isnan(value):
        return mean + np.sqrt(variance) * rng.standard_normal(shape), 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        density = -0.5 * ((value - mean) ** 2 / variance + np.log(variance) + _LOG_TWO_PI)
    is_exact = np.isclose(value, mean, rtol=1e-9, atol=1e-9)
    return value, np.where(variance > 0.0, density, np.where(is_exact, 0.0, -np.inf))


def regression(table: LinearGaussian, given: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the variance of a number given its parents."""
    pairs = list(zip(table.parents, given, strict=True))
    at = tuple(g.astype(np.int64) for p, g in pairs if p.is_categorical)
    mean, slopes = table.intercepts[at], table.coefficients[at]
    for k, g in enumerate(g for p, g in pairs if p.is_continuous):
        mean = mean + slopes[..., k] * g
    return mean, table.variances[at]


class Estimates(NamedTuple):
    """Estimates from particles: for each question an array by slice and group, the groups' weights, and so on.

    Further the effective sizes, and ln P(evidence).
    """

    answers: list[np.ndarray]
    weights: np.ndarray
    effective: np.ndarray
    log_likelihood: float


def particles(
    drawing: Drawing, names: Names, found: Findings, asked: Sequence[Sequence[int]], *,
    smooth: bool, n_particles: int, random_state: RandomState,
) -> Estimates:  # fmt: skip
    """Return estimates for one sequence; each question is a list of categorical variables, or one number."""
    check_integer("n_particles", n_particles, low=2 * _GROUPS)
    shape = (_GROUPS, n_particles // _GROUPS)
    kept = found.n_slices if smooth else drawing.order + 1
    size = 8.0 * kept * (len(names.variables) + 1) * n_particles
    check_memory("the particles", size, ways_out="Use fewer particles, or shorter sequences.")
    if smooth and drawing.order > 1:
        raise DataError("smoothing with particles must be of a network of order 1; filter knows any order.")
    rng = np.random.default_rng(entropy_of(random_state))
    answers = [np.empty((found.n_slices, _GROUPS, *_answer_shape(names, each))) for each in asked]
    effective, gains = np.empty(found.n_slices), np.zeros((found.n_slices, _GROUPS))
    history: History = []
    past: list[tuple[np.ndarray, np.ndarray]] = []
    weights = np.full(shape, 1.0 / shape[1])
    for t in range(found.n_slices):
        now, logs = draw_slice(drawing, history, rng, shape, found, t)
        weights, gains[t] = _weighted(weights, logs, found, t)
        effective[t] = float((1.0 / (weights**2).sum(axis=1)).sum())
        if smooth:
            past.append((now, weights))
        for out, each in zip(answers, asked, strict=True):
            out[t] = _estimates(names, now, weights, each)
        history = [*history, now][-drawing.order :]
        if effective[t] < 0.5 * n_particles:
            history = _resampled(history, weights, rng)
            weights = np.full(shape, 1.0 / shape[1])
    if smooth and past:
        _smooth(drawing, names, past, asked, answers, rng)
    log_z = gains.sum(axis=0)
    top = float(log_z.max())
    log_likelihood = top + math.log(float(np.exp(log_z - top).mean()))
    return Estimates(answers, _group_weights(gains, smooth=smooth), effective, log_likelihood)


def _group_weights(gains: np.ndarray, *, smooth: bool) -> np.ndarray:
    """Return the weight of each group in each slice, by ln P(evidence of a slice | that before) in each."""
    logs = gains.copy()
    for t in range(1, len(gains)):
        logs[t] += _MEMORY * logs[t - 1]
    if smooth:
        ahead = np.zeros(gains.shape[1])
        for t in range(len(gains) - 2, -1, -1):
            ahead = _MEMORY * (ahead + gains[t + 1])
            logs[t] += ahead
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    found: np.ndarray = shares / shares.sum(axis=1, keepdims=True)
    return found


def _weighted(weights: np.ndarray, logs: np.ndarray, found: Findings, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the new weights, summing to one in each group, and the logarithm of each group's sum before."""
    tops = logs.max(axis=1, keepdims=True)
    if (tops == -np.inf).any():
        where = found.place(t)
        raise ImpossibleEvidenceError(
            f"the evidence must be possible; that of {where} fits none of the particles. {_HINT}"
        )
    made = weights * np.exp(logs - tops)
    total = made.sum(axis=1, keepdims=True)
    return made / total, (np.log(total) + tops)[:, 0] + found.logs[found.rows[t]]


def _resampled(history: History, weights: np.ndarray, rng: np.random.Generator) -> History:
    """Return the particles drawn by systematic resampling, in each group."""
    n = weights.shape[1]
    chosen = np.empty(weights.shape, np.int64)
    for g, line in enumerate(weights):
        at = (np.arange(n) + rng.random()) / n
        chosen[g] = np.minimum(np.searchsorted(np.cumsum(line), at), n - 1)
    return [np.take_along_axis(each, chosen[None], axis=2) for each in history]


def _answer_shape(names: Names, asked: Sequence[int]) -> tuple[int, ...]:
    if names.variables[asked[0]].is_continuous:
        return (2,)
    return tuple(names.variables[v].n_states for v in asked)


def _estimates(names: Names, now: np.ndarray, weights: np.ndarray, asked: Sequence[int]) -> np.ndarray:
    """Return the estimates of each group: probabilities, or the mean and the mean of squares."""
    if names.variables[asked[0]].is_continuous:
        x = now[asked[0]]
        return np.stack([(weights * x).sum(axis=1), (weights * x * x).sum(axis=1)], axis=1)
    shape = _answer_shape(names, asked)
    cells = np.ravel_multi_index(tuple(now[v].astype(np.int64) for v in asked), shape)
    cells += np.arange(_GROUPS)[:, None] * math.prod(shape)
    summed = np.bincount(cells.ravel(), weights.ravel(), _GROUPS * math.prod(shape))
    return summed.reshape(_GROUPS, *shape)


def _smooth(
    drawing: Drawing, names: Names, past: list[tuple[np.ndarray, np.ndarray]], asked: Sequence[Sequence[int]],
    answers: list[np.ndarray], rng: np.random.Generator,
) -> None:  # fmt: skip
    """Replace the estimates by those of histories drawn backwards."""
    joining = [d for d in drawing.later if any(lag for _, lag in d.parents)]
    exact = [d.table.variable.name for d in joining if isinstance(d.table, LinearGaussian) and d.table.is_exact]
    if exact:
        raise DataError(f"smoothing with particles needs variances above 0; that of {listed(exact)} is 0.")
    equal = np.full((_GROUPS, _HISTORIES), 1.0 / _HISTORIES)
    after: np.ndarray | None = None
    for t in range(len(past) - 1, -1, -1):
        now, weights = past[t]
        with np.errstate(divide="ignore"):
            logs = np.broadcast_to(np.log(weights)[:, None, :], (_GROUPS, _HISTORIES, weights.shape[1]))
        if after is not None:
            logs = logs + sum(_log_density(d, after, now) for d in joining)
        share = np.cumsum(np.exp(logs - logs.max(axis=-1, keepdims=True)), axis=-1)
        at = rng.random((_GROUPS, _HISTORIES, 1)) * share[..., -1:]
        chosen = np.minimum((at >= share).sum(axis=-1), weights.shape[1] - 1)
        after = np.take_along_axis(now, chosen[None], axis=2)
        for out, each in zip(answers, asked, strict=True):
            out[t] = _estimates(names, after, equal, each)


def _log_density(draw: _Draw, after: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return ln P(value of a variable in each history | each particle of the slice before)."""
    shape = (after.shape[1], after.shape[2], before.shape[2])
    given = [np.broadcast_to(before[u][:, None, :] if lag else after[u][:, :, None], shape) for u, lag in draw.parents]
    x = after[draw.variable][:, :, None]
    if draw.is_number:
        mean, variance = regression(draw.table, given)  # type: ignore[arg-type]
        density: np.ndarray = -0.5 * ((x - mean) ** 2 / variance + np.log(variance))
        return density
    rows = _rows_of(draw.table, given, shape)
    codes = np.broadcast_to(x.astype(np.int64), shape)[..., None]
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(np.take_along_axis(rows, codes, axis=-1)[..., 0])
    return logs


def combined(estimates: np.ndarray, weights: np.ndarray, is_number: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the means over the groups by their weights, and their standard errors, those of a ratio of two means."""
    share = weights.reshape(*weights.shape, *(1,) * (estimates.ndim - 2))
    middle = (share * estimates).sum(axis=1)
    spread = (share * (estimates - middle[:, None])) ** 2
    errors = np.sqrt(spread.sum(axis=1) * _GROUPS / (_GROUPS - 1))
    if is_number:
        middle[:, 1] -= middle[:, 0] ** 2
        return middle, errors[:, 0]
    return middle, errors
