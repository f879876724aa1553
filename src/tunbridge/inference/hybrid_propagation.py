"""The rows of a pattern through the junction tree: posteriors of categories that their numbers bear on.

A factor about one unknown category is soft evidence about it. One about several is soft evidence about a *cluster*: an
auxiliary variable whose states are their configurations. With these the rows go through the junction tree of the
discrete network in batches, rows being the innermost axis of every table. Where a cluster would be too large, the rows
are answered one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tunbridge._threads import map_threads, row_pieces
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence
from tunbridge.inference.hybrid_engine import HybridEngine, Scope
from tunbridge.inference.hybrid_evidence import factor_child
from tunbridge.inference.hybrid_factors import LARGEST_UNION, LogFactor, combined, has_small, scaled, united
from tunbridge.inference.hybrid_rows import Pattern, Rows
from tunbridge.kernels import propagation
from tunbridge.kernels.buffer import MARGINALS, UP
from tunbridge.kernels.compiled import announce

_LARGEST_CLUSTER = 1024  # configurations
_LANES = 64
_LANE_ENTRIES = 2**22  # of all tables of a batch; above, fewer rows go together
_NOTHING = np.empty(0, np.int64)


class Question(NamedTuple):
    """What is asked of the rows of a pattern: the posteriors of some unknown categories together, for each scope."""

    pattern: Pattern
    factors: list[LogFactor]
    scopes: list[Scope]


class Answered(NamedTuple):
    """ln p(row) of the rows of a pattern, and for each scope that was asked its posterior, of shape (n, q)."""

    log_evidence: np.ndarray
    posteriors: dict[Scope, np.ndarray]


def answer(hybrid: HybridEngine, rows: Rows, question: Question, n_jobs: int | None = None) -> Answered:
    """Return the posteriors of scopes for the rows of a pattern."""
    n = len(question.pattern.rows)
    factors, constants = combined(question.factors, n)
    small = np.broadcast_to(has_small(factors), n)
    if small.any() and _n_configurations(hybrid, {d for f in factors for d in f.scope}) > _LARGEST_CLUSTER:
        return _answer_apart(hybrid, rows, question, small, n_jobs)
    if small.any():
        factors = _possible_only(hybrid, rows, question.pattern, factors, n_jobs)
    clusters = _clusters([f.scope for f in factors] + question.scopes)
    if any(_n_configurations(hybrid, scope) > _LARGEST_CLUSTER for scope in clusters):
        return _answer_singly(hybrid, rows, question, factors, constants)
    engine = hybrid.with_clusters(clusters)
    soft: dict[int, np.ndarray] = {}
    for factor in factors:
        v = factor.scope[0] if len(factor.scope) == 1 else hybrid.engine.n_variables + _home(clusters, factor.scope)
        logs = _spread(factor, clusters, hybrid.engine)
        table, tops = scaled(logs)
        soft[v], constants = table.T, constants + np.where(np.isfinite(tops), tops, -np.inf)
    asked = sorted({_where(scope, clusters, hybrid) for scope in question.scopes})
    codes = rows.codes[:, question.pattern.rows]
    codes[[v for v in soft if v < len(codes)]] = -1  # a factor says it in the rows that know it
    log_evidence, marginals = _propagated(engine, codes, soft, asked, n_jobs)
    found = {scope: _marginal(hybrid, scope, clusters, marginals) for scope in question.scopes}
    return Answered(log_evidence + constants, found)


def _n_configurations(hybrid: HybridEngine, scope: Iterable[int]) -> int:
    return math.prod(hybrid.engine.n_states[list(scope)].tolist())


def _answer_apart(
    hybrid: HybridEngine, rows: Rows, question: Question, small: np.ndarray, n_jobs: int | None
) -> Answered:
    """Answer the rows with entries too small to be kept one at a time, and the others together."""
    pattern, n = question.pattern, len(small)
    log_evidence = np.empty(n)
    found = {s: np.empty((n, _n_configurations(hybrid, s))) for s in question.scopes}
    for some in (np.flatnonzero(small), np.flatnonzero(~small)):
        if not len(some):
            continue
        factors = [f._replace(logs=f.logs[some]) for f in question.factors]
        part = question._replace(pattern=replace(pattern, rows=pattern.rows[some]), factors=factors)
        if small[some[0]]:
            answered = _answer_singly(hybrid, rows, part, *combined(factors, len(some)))
        else:
            answered = answer(hybrid, rows, part, n_jobs)
        log_evidence[some] = answered.log_evidence
        for scope, out in found.items():
            out[some] = answered.posteriors[scope]
    return Answered(log_evidence, found)


def _possible_only(
    hybrid: HybridEngine, rows: Rows, pattern: Pattern, factors: list[LogFactor], n_jobs: int | None
) -> list[LogFactor]:
    """Return the factors united, without what each row's known categories make impossible."""
    scope = tuple(sorted({d for factor in factors for d in factor.scope}))
    whole = united(factors, hybrid.engine.n_states)
    clusters = _clusters([scope])
    v = _where(scope, clusters, hybrid)
    _, found = _propagated(hybrid.with_clusters(clusters), rows.codes[:, pattern.rows], {}, [v], n_jobs)
    chances = np.nan_to_num(found[v]).reshape(whole.logs.shape)
    return [whole._replace(logs=np.where(chances > 0.0, whole.logs, -np.inf))]


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


def _where(scope: Scope, clusters: Sequence[Scope], hybrid: HybridEngine) -> int:
    """Return the variable of the extended engine that tells the posterior of a scope."""
    return scope[0] if len(scope) == 1 else hybrid.engine.n_variables + _home(clusters, scope)


def _spread(factor: LogFactor, clusters: Sequence[Scope], engine: Engine) -> np.ndarray:
    """Return the logarithms over the whole cluster that a factor belongs to."""
    if len(factor.scope) == 1:
        return factor.logs
    scope = clusters[_home(clusters, factor.scope)]
    sizes = dict(zip(factor.scope, factor.logs.shape[1:], strict=True))
    wide = factor.logs.reshape(len(factor.logs), *(sizes.get(d, 1) for d in scope))
    return np.broadcast_to(wide, (len(wide), *engine.n_states[list(scope)].tolist()))


def _marginal(
    hybrid: HybridEngine, scope: Scope, clusters: Sequence[Scope], marginals: Mapping[int, np.ndarray]
) -> np.ndarray:
    """Return the posterior of a scope from that of its cluster: an array of shape (n, q)."""
    found = marginals[_where(scope, clusters, hybrid)]
    if len(scope) == 1:
        return found
    cluster = clusters[_home(clusters, scope)]
    table = found.reshape(len(found), *hybrid.engine.n_states[list(cluster)].tolist())
    rest = tuple(1 + i for i, d in enumerate(cluster) if d not in scope)
    return table.sum(axis=rest).reshape(len(found), -1)


# Through the junction tree


def _propagated(
    engine: Engine, codes: np.ndarray, soft: Mapping[int, np.ndarray], asked: list[int], n_jobs: int | None
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return ln P(evidence) and the marginals of some variables for rows with hard and soft evidence."""
    n = codes.shape[1]
    found = {v: np.empty((n, int(engine.n_states[v]))) for v in asked}
    if not engine.n_variables:
        return np.zeros(n), found
    log_evidence = np.empty(n)
    lanes = _lanes(engine, n)
    if lanes == 1:
        for i in range(n):
            log_evidence[i] = _alone(
                engine, codes[:, i], {v: likelihood[:, i] for v, likelihood in soft.items()}, i, found
            )
        return log_evidence, found
    announce(propagation.propagate, "answers for rows")

    def run(piece: tuple[int, int]) -> None:
        log_evidence[piece[0] : piece[1]] = _together(engine, codes, soft, piece, lanes, found)

    map_threads(run, row_pieces(n, lanes), n_jobs)
    return log_evidence, found


def _lanes(engine: Engine, n: int) -> int:
    """Return how many rows go through the tree together: a power of two, 1 when each needs a tree of its own."""
    if engine.needs_reduction or n == 1:
        return 1
    room = _LANE_ENTRIES / engine.whole.found.n_entries
    most = min(_LANES, 2 ** math.ceil(math.log2(n)))
    return int(min(most, 2 ** max(0, math.floor(math.log2(room))))) if room >= 1.0 else 1


def _alone(
    engine: Engine, codes: np.ndarray, soft: dict[int, np.ndarray], i: int, found: dict[int, np.ndarray]
) -> float:
    evidence = Evidence({v: int(code) for v, code in enumerate(codes) if code >= 0}, soft)
    log_evidence = engine.log_probability(evidence)
    if log_evidence > -math.inf and found:
        marginals = engine.run(evidence, list(found)).marginals
    for v, out in found.items():
        out[i] = marginals[engine.starts[v] : engine.starts[v + 1]] if log_evidence > -math.inf else np.nan
    return log_evidence


def _together(
    engine: Engine,
    codes: np.ndarray,
    soft: Mapping[int, np.ndarray],
    piece: tuple[int, int],
    lanes: int,
    found: dict[int, np.ndarray],
) -> np.ndarray:
    """Answer up to ``lanes`` rows in one run; lanes that are left over repeat the last row."""
    size = piece[1] - piece[0]
    at = np.minimum(np.arange(piece[0], piece[0] + lanes), piece[1] - 1)
    tree, n_states = engine.tree, engine.potentials.n_states
    findings = np.full((len(n_states), lanes), -1, np.int64)
    findings[: len(codes)] = codes[:, at]
    wanted, is_soft = np.zeros(len(n_states), np.int64), np.zeros(len(n_states), np.int64)
    wanted[list(found)] = 1
    likelihoods = np.empty((int(n_states.sum()), lanes))
    for v, likelihood in soft.items():
        is_soft[v] = 1
        likelihoods[engine.starts[v] : engine.starts[v + 1]] = likelihood[:, at]
    log_evidence = np.empty(lanes)
    with tree.borrow(engine.potentials, lanes) as (parts, buffer, _):
        propagation.propagate(
            tree.program, parts, buffer, findings, likelihoods, is_soft, wanted, _NOTHING, log_evidence
        )
        marginals = buffer[parts[MARGINALS] : parts[UP]].reshape(-1, lanes)
        for v, out in found.items():
            out[piece[0] : piece[1]] = marginals[engine.starts[v] : engine.starts[v + 1], :size].T
            out[piece[0] : piece[1]][np.isneginf(log_evidence[:size])] = np.nan
    return log_evidence[:size]


def _answer_singly(
    hybrid: HybridEngine, rows: Rows, question: Question, factors: list[LogFactor], constants: np.ndarray
) -> Answered:
    """Answer rows one at a time, their factors as tables of the discrete network."""
    n = len(question.pattern.rows)
    log_evidence = np.empty(n)
    found = {s: np.full((n, _n_configurations(hybrid, s)), np.nan) for s in question.scopes}
    for i, row in enumerate(question.pattern.rows.tolist()):
        hard = {v: int(code) for v, code in enumerate(rows.codes[:, row]) if code >= 0}
        own = _of_row(hybrid, [f._replace(logs=f.logs[i : i + 1]) for f in factors], hard)
        made = [factor_child(hybrid.engine, f, k) for k, f in enumerate(own)]
        engine = hybrid.with_children([f.scope for f in own], [table for table, _ in made])
        hard |= {hybrid.engine.n_variables + k: 0 for k in range(len(made))}
        evidence = Evidence(hard, {}, float(constants[i]) + sum(top for _, top in made))
        log_evidence[i] = engine.log_probability(evidence)
        for scope, out in found.items():
            if log_evidence[i] > -math.inf:
                joint = engine.run(evidence, [], joint=list(scope)).joint
                assert joint is not None
                out[i] = joint.ravel()
    return Answered(log_evidence, found)


def _of_row(hybrid: HybridEngine, factors: list[LogFactor], known: Mapping[int, int]) -> list[LogFactor]:
    """Return the factors of one row without what it knows, and where need be without what is impossible."""
    kept = []
    for factor in factors:
        at = (slice(None), *(known.get(d, slice(None)) for d in factor.scope))
        kept.append(LogFactor(tuple(d for d in factor.scope if d not in known), factor.logs[at]))
    scope = sorted({d for factor in kept for d in factor.scope})
    if not np.any(has_small(kept)) or _n_configurations(hybrid, scope) > LARGEST_UNION:
        return kept
    chances = hybrid.engine.run(Evidence(dict(known), {}), [], joint=scope)
    if chances.log_evidence == -math.inf or chances.joint is None:
        return kept
    whole = united(kept, hybrid.engine.n_states)
    return [whole._replace(logs=np.where(chances.joint[None] > 0.0, whole.logs, -np.inf))]
