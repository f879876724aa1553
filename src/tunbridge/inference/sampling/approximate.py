"""Approximate posteriors with their errors, by name: likelihood weighting, Gibbs sampling, forward sampling.

Each draws samples in rounds until the largest standard error is within the requested precision. Forward sampling draws
without regard to the evidence and keeps the samples that agree with it: the simplest method, and useless when the
evidence is rare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tunbridge._core.check import check_choice, check_number, listed, warn_user
from tunbridge._core.seeds import entropy_of
from tunbridge.errors import DataError, ImpossibleEvidenceError, PrecisionWarning
from tunbridge.inference.engine import Engine
from tunbridge.inference.evidence import Evidence, Given, read_evidence
from tunbridge.inference.queries import target_numbers
from tunbridge.inference.sampling.forward import RandomState, checked_size, sample_codes
from tunbridge.inference.sampling.gibbs import sample_gibbs
from tunbridge.inference.sampling.weighting import weigh_likelihoods
from tunbridge.probability import Distribution

METHODS = ("likelihood-weighting", "gibbs", "forward")
_ROUND = 2**17
_MOST = {"likelihood-weighting": 10_000_000, "gibbs": 2_000_000, "forward": 10_000_000}
_ENOUGH = 100


def posterior(
    engine: Engine,
    target: str | Sequence[str],
    evidence: Given = None,
    *,
    method: str = "likelihood-weighting",
    precision: float = 0.005,
    max_samples: int | None = None,
    random_state: RandomState = None,
) -> Distribution:
    """Return an estimate of the posterior of one variable, with the standard error of each probability."""
    engine.check_categorical("posterior() with method=…")
    check_choice("method", method, ("exact", *METHODS))
    check_number("precision", precision, above=0)
    if not isinstance(target, str):
        hint = "Ask for one variable at a time, or use method='exact'."
        raise DataError(f"target must name one variable when the answer is sampled; got {target!r}. {hint}")
    v = target_numbers(engine, target)[0]
    findings = read_evidence(engine.variables, engine.index, evidence)
    most = _MOST[method] if max_samples is None else checked_size(max_samples, "max_samples", low=1)
    if method == "gibbs":
        _warn_of_zeros(engine, v, findings)
    if method == "forward":
        p, errors, reached = _forward(engine, v, findings, precision, most, random_state)
    else:
        sample = weigh_likelihoods if method == "likelihood-weighting" else sample_gibbs
        found = sample(
            engine.flat, [v], _likelihoods(engine, findings), precision=precision, max_samples=most,
            random_state=random_state,
        )  # fmt: skip
        p, errors, reached = found.probabilities[v], found.standard_errors[v], found.reached
    if not reached:
        worst = f"the largest standard error is {errors.max():.2g}"
        hint = "Raise max_samples, or use method='exact'."
        warn_user(f"the precision of {precision:g} was not reached: {worst}. {hint}", PrecisionWarning)
    return Distribution.of_valid((engine.variables[v],), p.copy(), None, errors.copy())


def _warn_of_zeros(engine: Engine, target: int, findings: Evidence) -> None:
    """Warn where tables that matter hold zeros: a chain may never leave the part of the space it began in."""
    needed = np.flatnonzero(engine.needed_tables(findings, [target])).tolist()
    names = [engine.variables[u].name for u in needed if (engine.flat.table_of(u) == 0.0).any()]
    if names:
        what = f"the tables of {listed(names, most=3)} hold zeros"
        hint = "Use method='likelihood-weighting'."
        warn_user(f"{what}, so that Gibbs chains may be stuck and their errors wrong. {hint}", PrecisionWarning)


def _likelihoods(engine: Engine, findings: Evidence) -> dict[int, np.ndarray]:
    likelihoods = dict(findings.soft)
    for v, code in findings.hard.items():
        likelihoods[v] = np.zeros(engine.variables[v].n_states)
        likelihoods[v][code] = 1.0
    return likelihoods


def _forward(
    engine: Engine, target: int, findings: Evidence, precision: float, most: int, random_state: RandomState
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return (probabilities, standard errors, whether they are small enough) by rejection."""
    likelihoods, n_states = _likelihoods(engine, findings), engine.variables[target].n_states
    seeds = np.random.SeedSequence(entropy_of(random_state))
    weight = squares = 0.0
    hits, n = np.zeros(n_states), 0
    p = errors = np.full(n_states, np.nan)
    reached = False
    while n < most and not reached:
        size = min(_ROUND, most - n)
        columns = sample_codes(engine.flat, size, int(seeds.spawn(1)[0].generate_state(1)[0]))
        kept = np.ones(size)
        for v, likelihood in likelihoods.items():
            kept *= likelihood[columns[v]]
        hits += np.bincount(columns[target], weights=kept, minlength=n_states)
        weight, squares, n = weight + kept.sum(), squares + (kept * kept).sum(), n + size
        if weight > 0.0:
            effective = weight * weight / squares
            p = hits / weight
            errors = np.maximum(np.sqrt(p * (1.0 - p) / effective), 1.0 / effective)
            reached = effective >= _ENOUGH and float(errors.max()) <= precision
    if not weight:
        names = ", ".join(engine.variables[v].name for v in likelihoods)
        raise ImpossibleEvidenceError(
            f"the evidence on {names} must be possible; none of {n} samples agreed with it. "
            "It is impossible or too rare for forward sampling: try likelihood-weighting, or method='exact'."
        )
    return p, errors, reached and math.isfinite(float(errors.max()))
