"""Rows drawn from a network of categories and numbers, or exactly from what evidence leaves of it.

Categories come first: from the discrete network, or given evidence from the one that the observed numbers have been
taken into. Then the numbers, for each row in the configuration that it has: those that the evidence bears on from
their conditional distribution, component by component,

    u = E[u | observed] + R⁻¹ ε,     ε ~ N(0, 1),

and the others from their tables, parents before children. Rows come in blocks of fixed size with a random stream of
their own, so that equal seeds give equal rows, and the first m of n rows are the m rows that one gets by asking for m.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tunbridge._memory import check_memory
from tunbridge._threads import map_threads, row_pieces
from tunbridge.counts.configurations import configuration_numbers
from tunbridge.data import Column, Table
from tunbridge.inference import simulation
from tunbridge.inference.forward import checked_size, entropy_of
from tunbridge.inference.hybrid_components import Solution, solve
from tunbridge.inference.hybrid_engine import HybridEngine
from tunbridge.inference.hybrid_evidence import Absorbed, Findings, absorb

_BLOCK = 2**14
_NUMBERS = 1  # what tells the stream of the numbers from others with the same seed


def sample(
    hybrid: HybridEngine,
    n: int,
    *,
    random_state: Any = None,
    evidence: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> Table:
    """Return n rows drawn from the joint distribution given evidence, columns in the order of the variables."""
    n = checked_size(n)
    size = 8.0 * len(hybrid.part.numbers) * n
    check_memory(f"{n} rows of {len(hybrid.part.numbers)} numbers", size, ways_out="Draw fewer rows at a time.")
    absorbed, entropy = absorb(hybrid, evidence), entropy_of(random_state)
    drawn = _categories(absorbed, n, entropy, n_jobs)
    values = _numbers(hybrid, absorbed.findings, drawn, n, entropy, n_jobs)
    columns = [
        Column(variable, values[v], pa.float64()) if hybrid.is_number(v) else drawn.column(variable.name)
        for v, variable in enumerate(hybrid.variables)
    ]
    return Table.of(columns)


def _categories(absorbed: Absorbed, n: int, entropy: int, n_jobs: int | None) -> Table:
    """Return the categories, and the auxiliary variables, of n rows."""
    if not absorbed.engine.n_variables:
        return Table.of([])
    evidence = absorbed.evidence or None
    return simulation.sample(absorbed.engine, n, random_state=entropy, evidence=evidence, n_jobs=n_jobs)


def _numbers(
    hybrid: HybridEngine, findings: Findings, drawn: Table, n: int, entropy: int, n_jobs: int | None
) -> dict[int, np.ndarray]:
    """Return a column for each number."""
    part = hybrid.part
    order = sorted(part.numbers, key=part.order.__getitem__)
    values = {v: np.full(n, findings.values.get(v, np.nan)) for v in order}
    solutions = [solve(part, c, findings.fixed) for c in part.cut(findings.values)]
    codes = {d: drawn.codes(hybrid.variables[d].name) for d in hybrid.discrete}

    def fill(piece: tuple[int, int]) -> None:
        block = slice(*piece)
        seeds = np.random.SeedSequence(entropy, spawn_key=(_NUMBERS, piece[0] // _BLOCK))
        noise = np.random.default_rng(seeds).standard_normal((piece[1] - piece[0], len(order)))
        noises = dict(zip(order, noise.T, strict=True))
        own = {d: column[block].astype(np.int64) for d, column in codes.items()}
        here = {v: column[block] for v, column in values.items()}
        done = set(findings.values)
        for solution in solutions:
            _fill_conditioned(hybrid, solution, findings, own, noises, here)
            done |= set(solution.component.hidden)
        for v in order:
            if v not in done:
                _fill_forward(hybrid, v, own, noises[v], here)

    map_threads(fill, row_pieces(n, _BLOCK), n_jobs)
    return values


def _configurations(
    hybrid: HybridEngine, scope: tuple[int, ...], codes: Mapping[int, np.ndarray], n: int
) -> np.ndarray:
    if not scope:
        return np.zeros(n, np.int64)
    return configuration_numbers(np.array([codes[d] for d in scope]).T, hybrid.part.shape(scope))


def _fill_conditioned(
    hybrid: HybridEngine,
    solution: Solution,
    findings: Findings,
    codes: Mapping[int, np.ndarray],
    noises: Mapping[int, np.ndarray],
    values: Mapping[int, np.ndarray],
) -> None:
    """Draw the unobserved numbers of a component given the observed ones."""
    hidden = solution.component.hidden
    if not hidden:
        return
    n = len(next(iter(noises.values())))
    z = findings.z(solution.component)[0]
    j = _configurations(hybrid, solution.scope, codes, n)
    noise = np.array([noises[u] for u in solution.unknowns]).reshape(len(solution.unknowns), n)
    drawn = (solution.means @ z)[j] + np.einsum("nuw,wn->nu", solution.roots[j], noise)
    for v in hidden:
        own = solution.expressions[v]
        values[v][:] = (own[:, : len(z)] @ z)[j] + (own[j, len(z) :] * drawn).sum(axis=1)


def _fill_forward(
    hybrid: HybridEngine,
    v: int,
    codes: Mapping[int, np.ndarray],
    noise: np.ndarray,
    values: Mapping[int, np.ndarray],
) -> None:
    """Draw a number from its table, its parents being known."""
    table, causes = hybrid.part.tables[v], hybrid.part.causes[v]
    j = _configurations(hybrid, hybrid.part.categories[v], codes, len(noise))
    coefficients = table.coefficients.reshape(table.n_configurations, len(causes))
    values[v][:] = table.intercepts.ravel()[j] + np.sqrt(table.variances.ravel())[j] * noise
    for i, cause in enumerate(causes):
        values[v][:] += coefficients[j, i] * values[cause]
