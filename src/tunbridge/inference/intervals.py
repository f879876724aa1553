"""Credible intervals: how far the data behind the tables determine an answer.

A table learned from data is itself uncertain: given Dirichlet counts α, a row is distributed as Dirichlet(α). Drawing
all tables that matter from their distributions and answering the question for each draw gives the distribution of the
answer, and its quantiles the interval. The probabilities returned are those of the tables themselves (the answer
at the mean), not the mean of the draws.

References
----------
T. Van Allen, A. Singh, R. Greiner, P. Hooper (2008). Quantifying the uncertainty of a belief net response: Bayesian
error-bars for belief net inference. Artificial Intelligence 172, 483–513.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tunbridge._core.check import check_number
from tunbridge._core.memory import check_memory
from tunbridge._core.seeds import entropy_of
from tunbridge.errors import DataError
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Given, read_evidence
from tunbridge.inference.queries import posterior as exact_posterior, target_numbers
from tunbridge.probability import CPT, ConditionalTable, Distribution, SparseCPT

N_DRAWS = 1000
_LOWEST = -230.0  # e to this power is about 1e-100


def posterior(
    engine: Engine,
    target: str | Sequence[str],
    evidence: Given = None,
    *,
    interval: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Distribution:
    """Return the posterior with the credible interval of each probability."""
    engine.check_categorical("posterior() with interval=…")
    share = check_number("interval", interval, above=0, high=1)
    answer = exact_posterior(engine, target, evidence)
    findings = read_evidence(engine.variables, engine.index, evidence)
    needed = np.flatnonzero(engine.needed_tables(findings, target_numbers(engine, target)))
    if not any(_is_uncertain(engine.tables[v]) for v in needed):
        hint = "Learn the tables from data (a .tb file keeps the counts), or give CPT(…, counts=…)."
        raise DataError(f"an interval must have tables with counts behind it; those for {target!r} have none. {hint}")
    n_bytes = 8.0 * N_DRAWS * answer.probabilities.size
    check_memory(f"{N_DRAWS} draws of the distribution", n_bytes, ways_out="Ask for fewer variables at once.")
    rng = np.random.default_rng(entropy_of(random_state))
    draws = [exact_posterior(_drawn(engine, needed, rng), target, evidence).probabilities for _ in range(N_DRAWS)]
    ends = np.quantile(np.array(draws), [(1.0 - share) / 2.0, (1.0 + share) / 2.0], axis=0)
    return Distribution.of_valid(answer.variables, answer.probabilities, np.moveaxis(ends, 0, -1))


def _is_uncertain(cpt: ConditionalTable) -> bool:
    return cpt.counts is not None


def _drawn(engine: Engine, needed: np.ndarray, rng: np.random.Generator) -> Engine:
    """Return the network with the needed tables drawn from their distributions."""
    tables = list(engine.tables)
    for v in needed:
        if _is_uncertain(tables[v]):
            tables[v] = _drawn_table(tables[v], rng)
    return engine.with_tables(tables)


def _gammas(shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return gamma variates, those of a row divided by its largest; only a shape of 0 gives 0.

    Of small shapes the variates underflow, and evidence that is possible would seem not to be. Their logarithms do not:
    G(a) has the distribution of G(a + 1) · U^(1/a) with U uniform.
    """
    positive = shapes > 0.0
    powers = rng.standard_exponential(shapes.shape) / np.where(positive, shapes, 1.0)
    logs = np.where(positive, np.log(rng.standard_gamma(shapes + 1.0)) - powers, -np.inf)
    largest = logs.max(axis=-1, keepdims=True)
    logs -= np.where(largest > -np.inf, largest, 0.0)
    return np.where(positive, np.exp(np.maximum(logs, _LOWEST)), 0.0)


def _drawn_table(cpt: ConditionalTable, rng: np.random.Generator) -> ConditionalTable:
    """Return a table drawn from the Dirichlet distributions of its rows; uniform over distributions without counts."""
    assert isinstance(cpt, CPT | SparseCPT)
    assert cpt.counts is not None
    gammas = _gammas(np.where(cpt.counts.any(axis=-1, keepdims=True), cpt.counts, 1.0), rng)
    rows = gammas / gammas.sum(axis=-1, keepdims=True)
    if isinstance(cpt, CPT):
        return CPT.of_valid(cpt.variable, cpt.parents, rows)
    return SparseCPT.of_valid(cpt.variable, cpt.parents, cpt.configurations, rows, cpt.default)
