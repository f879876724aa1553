"""One exact answer for every row of a frame with categories and numbers.

Rows with the same cells known are taken together (:mod:`tunbridge.inference.hybrid_rows`), and go through the junction
tree of the discrete network in batches (:mod:`tunbridge.inference.hybrid_propagation`). The mean and the variance of a
number are those of its mixture over the configurations of the categories that matter,

    μ = Σ_h P(h | row) μ_h,     σ² = Σ_h P(h | row) (σ_h² + (μ_h − μ)²).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tunbridge._memory import check_memory
from tunbridge._threads import row_pieces
from tunbridge.errors import DataError
from tunbridge.inference import batches
from tunbridge.inference.evidence import find_variable
from tunbridge.inference.hybrid_components import Component, Solution
from tunbridge.inference.hybrid_engine import HybridEngine, Scope
from tunbridge.inference.hybrid_factors import LogFactor
from tunbridge.inference.hybrid_propagation import Question, answer
from tunbridge.inference.hybrid_rows import (
    PIECE_CELLS,
    Occurring,
    Pattern,
    Places,
    Rows,
    design,
    log_factor,
    patterns,
    read_rows,
)


def log_likelihood(hybrid: HybridEngine, frame: Any, *, n_jobs: int | None = None) -> np.ndarray:
    """Return ln p(row) for every row, a density where it has numbers; what is missing is summed or integrated out."""
    rows = read_rows(hybrid, frame)
    return answer_rows(hybrid, rows, [], n_jobs)[0]


def predict_proba(hybrid: HybridEngine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the posterior of a category for every row; NaN where the evidence is impossible."""
    v = _target(hybrid, target)
    if hybrid.is_number(v):
        hint = "predict() gives its expected value."
        raise DataError(f"predict_proba() must be asked about a categorical variable; {target!r} is continuous. {hint}")
    rows = read_rows(hybrid, frame, leave_out=v)
    log_evidence, found = answer_rows(hybrid, rows, [hybrid.place[v]], n_jobs)
    batches.warn_impossible(log_evidence)
    return found[0]


def predict(hybrid: HybridEngine, frame: Any, target: str, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the most probable state of a category, or the expected value of a number, for every row."""
    v = _target(hybrid, target)
    if not hybrid.is_number(v):
        return batches.most_probable_states(hybrid.variables[v], predict_proba(hybrid, frame, target, n_jobs=n_jobs))
    rows = read_rows(hybrid, frame, leave_out=v)
    log_evidence, moments = _moments(hybrid, rows, [v], n_jobs)
    batches.warn_impossible(log_evidence)
    return moments[v][:, 0]


def posteriors(hybrid: HybridEngine, frame: Any, *, n_jobs: int | None = None) -> dict[str, np.ndarray]:
    """Return, for every variable and row, the posterior of a category, or mean and standard deviation of a number."""
    rows = read_rows(hybrid, frame)
    log_evidence, found = answer_rows(hybrid, rows, list(range(len(hybrid.discrete))), n_jobs)
    batches.warn_impossible(log_evidence)
    _, moments = _moments(hybrid, rows, hybrid.part.numbers, n_jobs)
    return {
        variable.name: moments[v] if hybrid.is_number(v) else found[hybrid.place[v]]
        for v, variable in enumerate(hybrid.variables)
    }


def _target(hybrid: HybridEngine, target: Any) -> int:
    if not isinstance(target, str):
        raise DataError(f"target must name one variable; got {target!r}.")
    return find_variable(hybrid.index, target, "target")


def answer_rows(
    hybrid: HybridEngine, rows: Rows, asked: list[int], n_jobs: int | None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return ln p(row), and the posteriors of categories (by the engine's numbers); a known one is certain."""
    sizes = hybrid.engine.n_states[asked].tolist()
    check_memory("the answers", 16.0 * rows.n_rows * (sum(sizes) + 1), ways_out="Give the rows in pieces.")
    log_evidence = np.empty(rows.n_rows)
    out = [np.zeros((rows.n_rows, size)) for size in sizes]
    solver = Solver(hybrid, rows, patterns(hybrid, rows))
    for pattern in solver.patterns:
        factors = solver.factors(pattern)
        scopes: list[Scope] = [(d,) for d in asked if d not in pattern.known]
        answered = answer(hybrid, rows, Question(pattern, factors, scopes), n_jobs)
        log_evidence[pattern.rows] = answered.log_evidence
        for d, found in zip(asked, out, strict=True):
            if d in pattern.known:
                found[pattern.rows, rows.codes[d, pattern.rows]] = 1.0
            else:
                found[pattern.rows] = answered.posteriors[(d,)]
    for found in out:
        found[np.isneginf(log_evidence)] = np.nan
    return log_evidence, out


def _moments(
    hybrid: HybridEngine, rows: Rows, targets: Sequence[int], n_jobs: int | None
) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return ln p(row), and mean and standard deviation of numbers for every row; a known one is certain."""
    check_memory("the answers", 16.0 * rows.n_rows * (len(targets) + 1), ways_out="Give the rows in pieces.")
    log_evidence, out = np.zeros(rows.n_rows), {v: np.zeros((rows.n_rows, 2)) for v in targets}
    solver = Solver(hybrid, rows, patterns(hybrid, rows, wanted=targets), targets)
    for pattern in solver.patterns:
        some, factors = pattern.rows, None
        for v in pattern.observed.intersection(targets):
            out[v][some, 0] = rows.values[v, some]
        for component, asked in solver.asked(pattern).items():
            factors = solver.factors(pattern) if factors is None else factors
            solution, where = solver.solution(pattern, component)
            scopes = [where.scope] if where.scope else []
            answered = answer(hybrid, rows, Question(pattern, factors, scopes), n_jobs)
            log_evidence[some] = answered.log_evidence
            weights = answered.posteriors[where.scope] if where.scope else np.ones((len(some), 1))
            for v in asked:
                z = design(component, pattern, rows)
                out[v][some] = _mean_and_deviation(solution, v, z, where.at, weights)
                out[v][some[np.isneginf(answered.log_evidence)]] = np.nan
    return log_evidence, out


class Solver:
    """The components of patterns, each solved once for the configurations that occur in any of them.

    Parameters
    ----------
    hybrid, rows
        The network and the rows.
    patterns : iterable of Pattern
        The rows by pattern.
    targets : sequence of int
        Numbers that are asked for where they are not observed.
    """

    def __init__(
        self, hybrid: HybridEngine, rows: Rows, patterns: Iterable[Pattern], targets: Sequence[int] = ()
    ) -> None:
        self.hybrid, self.rows, self.patterns, self.targets = hybrid, rows, list(patterns), targets
        self._occurring = Occurring(hybrid)
        self._places: dict[tuple[int, Component], Places] = {}
        self._solved: dict[Component, Solution] = {}
        for pattern in self.patterns:
            for component in dict.fromkeys((*hybrid.part.cut(pattern.observed), *self.asked(pattern))):
                self._places[id(pattern), component] = self._occurring.place(component, pattern, rows)

    def asked(self, pattern: Pattern) -> dict[Component, list[int]]:
        """Return the components that tell about the targets that a pattern does not know, with these."""
        found: dict[Component, list[int]] = {}
        for v, component in self.hybrid.part.telling(pattern.observed, self.targets).items():
            found.setdefault(component, []).append(v)
        return found

    def solution(self, pattern: Pattern, component: Component) -> tuple[Solution, Places]:
        """Return a component solved, and where the rows of a pattern stand in it."""
        if component not in self._solved:
            self._solved[component] = self._occurring.solved(self.hybrid, component)
        return self._solved[component], self._occurring.settled(component, self._places[id(pattern), component])

    def factors(self, pattern: Pattern) -> list[LogFactor]:
        """Return what the observed numbers of a pattern's rows say about their unknown categories."""
        solved = [self.solution(pattern, c) for c in self.hybrid.part.cut(pattern.observed)]
        return [log_factor(self.hybrid, solution, where, pattern, self.rows) for solution, where in solved]


def _mean_and_deviation(solution: Solution, v: int, z: np.ndarray, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return mean and standard deviation of a number in each row: those of the mixture over configurations."""
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
