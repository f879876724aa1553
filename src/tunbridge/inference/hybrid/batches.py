"""Exact answers for rows with categorical and continuous variables.

Rows that know the same cells are taken together (:mod:`tunbridge.inference.hybrid.rows`). A factor about one unknown
category is soft evidence about it. One about several is soft evidence about a *cluster*: an auxiliary variable whose
states are their configurations. With these the rows go through the junction tree of the discrete network in batches,
rows being the innermost axis of every table. Where a cluster would be too large, rows are answered one at a time.

The mean and the variance of a continuous variable are those of its mixture over the configurations h of the categories
that matter,

    μ = Σ_h P(h | row) μ_h,     σ² = Σ_h P(h | row) (σ_h² + (μ_h − μ)²).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tunbridge._core.memory import check_memory
from tunbridge._core.threads import row_pieces
from tunbridge.inference.engine import Engine, Scope
from tunbridge.inference.evidence import Evidence, Rows
from tunbridge.inference.hybrid.components import Solution
from tunbridge.inference.hybrid.evidence import (
    LogFactor,
    combined,
    possible_only,
    with_factors,
)
from tunbridge.inference.hybrid.rows import PIECE_CELLS, Pattern, Solver, design, n_configurations, patterns
from tunbridge.inference.tree import needs_logarithms

_LARGEST_CLUSTER = 1024  # configurations
_LANES = 64


def answer_rows(engine: Engine, rows: Rows, asked: Sequence[int], n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return ln p(row) and the posteriors of categories, side by side; a known one is certain."""
    starts = np.cumsum([0, *engine.n_states[list(asked)]]).tolist()
    log_evidence, out = np.empty(rows.n_rows), np.zeros((rows.n_rows, starts[-1]))
    solver = Solver(engine, rows, patterns(engine, rows))
    for pattern in solver.patterns:
        scopes: list[Scope] = [(d,) for d in asked if d not in pattern.known]
        answered = answer(engine, rows, Question(pattern, solver.factors(pattern), scopes), n_jobs)
        log_evidence[pattern.rows] = answered.log_evidence
        for d, low, high in zip(asked, starts, starts[1:], strict=False):
            if d in pattern.known:
                out[pattern.rows, low + rows.codes[d, pattern.rows]] = 1.0
            else:
                out[pattern.rows, low:high] = answered.posteriors[(d,)]
    out[np.isneginf(log_evidence)] = np.nan
    return log_evidence, out


def moments(
    engine: Engine, rows: Rows, targets: Sequence[int], n_jobs: int | None
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return ln p(row), and mean and standard deviation of continuous variables; a known one is certain."""
    check_memory("the answers", 16.0 * rows.n_rows * (len(targets) + 1), ways_out="Pass the rows in batches.")
    log_evidence, out = np.zeros(rows.n_rows), {v: np.zeros((rows.n_rows, 2)) for v in targets}
    solver = Solver(engine, rows, patterns(engine, rows, wanted=targets), targets)
    for pattern in solver.patterns:
        some, factors = pattern.rows, None
        for v in pattern.observed.intersection(targets):
            out[v][some, 0] = rows.numbers(v)[some]
        for component, asked in solver.asked(pattern).items():
            factors = solver.factors(pattern) if factors is None else factors
            solution, where = solver.solution(pattern, component)
            scopes = [where.scope] if where.scope else []
            answered = answer(engine, rows, Question(pattern, factors, scopes), n_jobs)
            log_evidence[some] = answered.log_evidence
            weights = answered.posteriors[where.scope] if where.scope else np.ones((len(some), 1))
            for v in asked:
                z = design(component, pattern, rows)
                out[v][some] = _mean_and_deviation(solution, v, z, where.at, weights)
                out[v][some[np.isneginf(answered.log_evidence)]] = np.nan
    return log_evidence, out


def _mean_and_deviation(solution: Solution, v: int, z: np.ndarray, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return mean and standard deviation of a variable in each row: those of the mixture over configurations."""
    out, k = np.empty((len(z), 2)), z.shape[1]
    own = solution.expressions[v]
    lines = own[:, :k] + np.einsum("qu,quk->qk", own[:, k:], solution.means)
    _, variances = solution.moments(v, z[:1])
    for start, stop in row_pieces(len(z), max(1, PIECE_CELLS // (k * at.shape[1]))):
        part = slice(start, stop)
        own_at = at if len(at) == 1 else at[part]
        means = np.einsum("nhk,nk->nh", np.broadcast_to(lines[own_at], (stop - start, at.shape[1], k)), z[part])
        mean = (weights[part] * means).sum(axis=1)
        spread = (weights[part] * (variances[own_at] + (means - mean[:, None]) ** 2)).sum(axis=1)
        out[part] = np.stack([mean, np.sqrt(spread)], axis=1)
    return out


# The rows of a pattern


class Question(NamedTuple):
    """A question about the rows of a pattern: the joint posterior of the unknown categories of each scope."""

    pattern: Pattern
    factors: list[LogFactor]
    scopes: list[Scope]


class Answered(NamedTuple):
    """ln p(row) of the rows of a pattern, and the posterior of each scope, of shape (n, q)."""

    log_evidence: np.ndarray
    posteriors: dict[Scope, np.ndarray]


def answer(engine: Engine, rows: Rows, question: Question, n_jobs: int | None = None) -> Answered:
    """Return the posteriors of scopes for the rows of a pattern."""
    factors, constants = combined(question.factors, len(question.pattern.rows))
    clusters = _clusters([f.scope for f in factors] + question.scopes)
    if any(n_configurations(engine, scope) > _LARGEST_CLUSTER for scope in clusters):
        return _answer_singly(engine, rows, question, factors, constants)
    extended = engine.with_clusters(clusters)
    if extended.is_large and any(needs_logarithms(_below_top(factor)).any() for factor in factors):
        return _answer_singly(engine, rows, question, factors, constants)
    soft: dict[int, np.ndarray] = {}
    for factor in factors:
        v = factor.scope[0] if len(factor.scope) == 1 else engine.n_variables + _home(clusters, factor.scope)
        logs = _spread(factor, clusters, engine).reshape(len(constants), -1).T
        soft[v] = soft[v] + logs if v in soft else logs  # several factors may lie in one cluster
    for v, logs in soft.items():
        tops = logs.max(axis=0)
        constants = constants + np.where(np.isfinite(tops), tops, -np.inf)
        soft[v] = logs - np.where(np.isfinite(tops), tops, 0.0)
    asked = sorted({_where(scope, clusters, engine) for scope in question.scopes})
    codes = rows.codes[:, question.pattern.rows]
    codes[[v for v in soft if v < len(codes)]] = -1  # in the rows that know it, the factor holds it
    log_evidence, marginals = _propagated(extended, codes, soft, asked, n_jobs)
    found = {scope: _marginal(engine, scope, clusters, marginals) for scope in question.scopes}
    return Answered(log_evidence + constants, found)


def _below_top(factor: LogFactor) -> np.ndarray:
    """Return the logarithms of a factor beside its largest entry in each row, one column a row."""
    flat = factor.logs.reshape(len(factor.logs), -1)
    tops = flat.max(axis=1, keepdims=True)
    return (flat - np.where(np.isfinite(tops), tops, 0.0)).T


def _clusters(scopes: Iterable[Scope]) -> list[Scope]:
    """Return the scopes of several variables that are not part of another."""
    several = sorted({scope for scope in scopes if len(scope) > 1}, key=lambda scope: (-len(scope), scope))
    kept: list[Scope] = []
    for scope in several:
        if not any(set(scope) <= set(other) for other in kept):
            kept.append(scope)
    return kept


def _home(clusters: Sequence[Scope], scope: Scope) -> int:
    return next(i for i, cluster in enumerate(clusters) if set(scope) <= set(cluster))


def _where(scope: Scope, clusters: Sequence[Scope], engine: Engine) -> int:
    """Return the variable of the extended engine whose posterior is that of a scope."""
    return scope[0] if len(scope) == 1 else engine.n_variables + _home(clusters, scope)


def _spread(factor: LogFactor, clusters: Sequence[Scope], engine: Engine) -> np.ndarray:
    """Return the logarithms over the whole cluster that a factor belongs to."""
    if len(factor.scope) == 1:
        return factor.logs
    scope = clusters[_home(clusters, factor.scope)]
    sizes = dict(zip(factor.scope, factor.logs.shape[1:], strict=True))
    wide = factor.logs.reshape(len(factor.logs), *(sizes.get(d, 1) for d in scope))
    return np.broadcast_to(wide, (len(wide), *engine.n_states[list(scope)].tolist()))


def _marginal(
    engine: Engine, scope: Scope, clusters: Sequence[Scope], marginals: Mapping[int, np.ndarray]
) -> np.ndarray:
    """Return the posterior of a scope from that of its cluster: an array of shape (n, q)."""
    found = marginals[_where(scope, clusters, engine)]
    if len(scope) == 1:
        return found
    cluster = clusters[_home(clusters, scope)]
    table = found.reshape(len(found), *engine.n_states[list(cluster)].tolist())
    rest = tuple(1 + i for i, d in enumerate(cluster) if d not in scope)
    return table.sum(axis=rest).reshape(len(found), -1)


def _propagated(
    engine: Engine, codes: np.ndarray, soft: Mapping[int, np.ndarray], asked: list[int], n_jobs: int | None
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return ln P(evidence) and the marginals of some variables for rows with hard and soft evidence (logarithms)."""
    lanes = min(_LANES, 2 ** math.ceil(math.log2(max(1, codes.shape[1]))))
    is_wide = np.zeros(codes.shape[1], bool)
    for logs in soft.values():
        is_wide |= needs_logarithms(logs)
    log_evidence, found = np.empty(len(is_wide)), np.empty((len(is_wide), int(engine.n_states[asked].sum())))
    for some in (np.flatnonzero(~is_wide), np.flatnonzero(is_wide)):  # apart, because the others are much faster
        if len(some):
            own = {v: logs[:, some] for v, logs in soft.items()}
            log_evidence[some], found[some] = engine.run_rows(codes[:, some], asked, own, lanes=lanes, n_jobs=n_jobs)
    ends = np.cumsum(engine.n_states[asked])[:-1]
    return log_evidence, dict(zip(asked, np.split(found, ends, axis=1), strict=True)) if asked else {}


def _answer_singly(
    engine: Engine, rows: Rows, question: Question, factors: list[LogFactor], constants: np.ndarray
) -> Answered:
    """Answer rows one at a time, their factors as tables of the discrete network."""
    n = len(question.pattern.rows)
    log_evidence = np.empty(n)
    found = {s: np.full((n, n_configurations(engine, s)), np.nan) for s in question.scopes}
    for i, row in enumerate(question.pattern.rows.tolist()):
        known = Evidence({v: int(code) for v, code in enumerate(rows.codes[:, row]) if code >= 0}, {})
        own = _of_row(engine, [f._replace(logs=f.logs[i : i + 1]) for f in factors], known)
        extended, evidence = with_factors(engine, own, known, float(constants[i]))
        log_evidence[i] = extended.log_probability(evidence)
        for scope, out in found.items():
            if log_evidence[i] > -math.inf:
                joint = extended.run(evidence, [], joint=list(scope)).joint
                assert joint is not None
                out[i] = joint.ravel()
    return Answered(log_evidence, found)


def _of_row(engine: Engine, factors: list[LogFactor], known: Evidence) -> list[LogFactor]:
    """Return the factors of one row without what it knows, and where necessary without what is impossible."""
    kept = []
    for factor in factors:
        at = (slice(None), *(known.hard.get(d, slice(None)) for d in factor.scope))
        kept.append(LogFactor(tuple(d for d in factor.scope if d not in known.hard), factor.logs[at]))
    return possible_only(engine, kept, known)
