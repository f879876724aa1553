"""One exact answer for every row of a frame with categories and numbers.

Rows with the same cells known are taken together (:mod:`tunbridge.inference.hybrid_rows`), and go through the junction
tree of the discrete network in batches (:mod:`tunbridge.inference.hybrid_answers`). The mean and the variance of a
number are those of its mixture over the configurations of the categories that matter,

    μ = Σ_h P(h | row) μ_h,     σ² = Σ_h P(h | row) (σ_h² + (μ_h − μ)²).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.errors import DataError
from tunbridge.inference import batches
from tunbridge.inference.evidence import find_variable
from tunbridge.inference.hybrid_answers import Question, answer
from tunbridge.inference.hybrid_components import Solution
from tunbridge.inference.hybrid_engine import HybridEngine, Scope
from tunbridge.inference.hybrid_rows import (
    PIECE_CELLS,
    Places,
    Rows,
    Solver,
    design,
    factors_of,
    patterns,
    places,
    read_rows,
)


def log_likelihood(hybrid: HybridEngine, frame: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Return ln p(row) for every row, a density where it has numbers; what is missing is summed or integrated out."""
    rows = read_rows(hybrid, frame)
    return _answers(hybrid, rows, [], n_jobs)[0]


def predict_proba(hybrid: HybridEngine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the posterior of a category for every row; NaN where the evidence is impossible."""
    v = _target(hybrid, target)
    if hybrid.is_number(v):
        hint = "predict() gives its expected value."
        raise DataError(f"predict_proba() must be asked about a categorical variable; {target!r} is continuous. {hint}")
    rows = read_rows(hybrid, frame, leave_out=v)
    log_evidence, found = _answers(hybrid, rows, [hybrid.place[v]], n_jobs)
    batches.warn_impossible(log_evidence)
    return found[0]


def predict(hybrid: HybridEngine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the most probable state of a category, or the expected value of a number, for every row."""
    v = _target(hybrid, target)
    if not hybrid.is_number(v):
        return batches.most_probable_states(hybrid.variables[v], predict_proba(hybrid, frame, target, n_jobs=n_jobs))
    rows = read_rows(hybrid, frame, leave_out=v)
    log_evidence, moments = _moments(hybrid, rows, v, n_jobs)
    batches.warn_impossible(log_evidence)
    return moments[:, 0]


def posteriors(hybrid: HybridEngine, frame: Any, *, n_jobs: int | None = None) -> dict[str, np.ndarray]:
    """Return, for every variable and row, the posterior of a category, or mean and standard deviation of a number."""
    rows = read_rows(hybrid, frame)
    log_evidence, found = _answers(hybrid, rows, list(range(len(hybrid.discrete))), n_jobs)
    batches.warn_impossible(log_evidence)
    each = {}
    for v, variable in enumerate(hybrid.variables):
        each[variable.name] = _moments(hybrid, rows, v, n_jobs)[1] if hybrid.is_number(v) else found[hybrid.place[v]]
    return each


def _target(hybrid: HybridEngine, target: Any) -> int:
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.")
    return find_variable(hybrid.index, target, "target")


def _answers(
    hybrid: HybridEngine, rows: Rows, asked: list[int], n_jobs: int | None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return ln p(row), and the posteriors of categories (by the engine's numbers); a known one is certain."""
    sizes = hybrid.engine.n_states[asked].tolist()
    check_memory("the answers", 16.0 * rows.n_rows * (sum(sizes) + 1), ways_out="Give the rows in pieces.")
    log_evidence = np.empty(rows.n_rows)
    out = [np.zeros((rows.n_rows, size)) for size in sizes]
    solver = Solver(hybrid)
    for pattern in patterns(hybrid, rows):
        factors = factors_of(hybrid, solver, pattern, rows)
        scopes: list[Scope] = [(d,) for d in asked if d not in pattern.known]
        answered = answer(hybrid, rows, Question(pattern, factors, scopes), n_jobs)
        log_evidence[pattern.rows] = answered.log_evidence
        for d, found in zip(asked, out, strict=True):
            if d in pattern.known:
                found[pattern.rows, rows.codes[d, pattern.rows]] = 1.0
                found[pattern.rows[np.isneginf(answered.log_evidence)]] = np.nan
            else:
                found[pattern.rows] = answered.posteriors[(d,)]
    for found in out:
        found[np.isneginf(log_evidence)] = np.nan
    return log_evidence, out


def _moments(hybrid: HybridEngine, rows: Rows, v: int, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return ln p(row), and mean and standard deviation of a number for every row; a known one is certain."""
    log_evidence, out = np.empty(rows.n_rows), np.zeros((rows.n_rows, 2))
    solver = Solver(hybrid)
    for pattern in patterns(hybrid, rows):
        if v in pattern.observed:
            out[pattern.rows, 0] = rows.values[v, pattern.rows]
            log_evidence[pattern.rows] = 0.0
            continue
        component = next(c for c in hybrid.part.cut(pattern.observed, [v]) if v in c.members)
        solution = solver(component)
        where = places(hybrid, component, pattern, rows)
        factors = factors_of(hybrid, solver, pattern, rows)
        scopes = [where.scope] if where.scope else []
        answered = answer(hybrid, rows, Question(pattern, factors, scopes), n_jobs)
        log_evidence[pattern.rows] = answered.log_evidence
        weights = answered.posteriors[where.scope] if where.scope else np.ones((len(pattern.rows), 1))
        out[pattern.rows] = _mean_and_deviation(solution, v, design(component, pattern, rows), where, weights)
        out[pattern.rows[np.isneginf(answered.log_evidence)]] = np.nan
    return log_evidence, out


def _mean_and_deviation(solution: Solution, v: int, z: np.ndarray, where: Places, weights: np.ndarray) -> np.ndarray:
    """Return mean and standard deviation of a number in each row: those of the mixture over configurations."""
    out, k = np.empty((len(z), 2)), z.shape[1]
    own = solution.expressions[v]
    lines = own[:, :k] + np.einsum("qu,quk->qk", own[:, k:], solution.means)
    _, variances = solution.moments(v, z[:1])
    for start, stop in row_pieces(len(z), max(1, PIECE_CELLS // (k * len(where.offsets)))):
        part = slice(start, stop)
        at = where.offsets[None] if where.base is None else where.base[part, None] + where.offsets
        means = np.einsum("nhk,nk->nh", np.broadcast_to(lines[at], (stop - start, len(where.offsets), k)), z[part])
        mean = (weights[part] * means).sum(axis=1)
        spread = (weights[part] * (variances[at] + (means - mean[:, None]) ** 2)).sum(axis=1)
        out[part] = np.stack([mean, np.sqrt(spread)], axis=1)
    return out
