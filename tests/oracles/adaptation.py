"""Updating as one would do it by hand: row after row, cell after cell, with plain dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from oracles.enumeration import Enumeration
from tunbridge.probability import ConditionalTable

Alphas = dict[str, np.ndarray]
"""The Dirichlet counts of every table, written out densely."""


def fractional_counts(cpts: Sequence[ConditionalTable], row: Mapping[str, Any]) -> Alphas:
    """Return P(j, k | row) for every cell of every family that is not barren, by enumeration of the joint."""
    exact = Enumeration(cpts)
    evidence = {name: state for name, state in row.items() if state is not None}
    counts: Alphas = {}
    for cpt in cpts:
        family = [*(p.name for p in cpt.parents), cpt.variable.name]
        counts[cpt.variable.name] = np.zeros(cpt.shape)
        if not is_barren(cpts, cpt.variable.name, evidence):
            counts[cpt.variable.name] = exact.posterior(family, evidence)
    return counts


def is_barren(cpts: Sequence[ConditionalTable], name: str, evidence: Mapping[str, Any]) -> bool:
    """Return whether neither a variable nor anything below it is observed."""
    below = [cpt.variable.name for cpt in cpts if name in [p.name for p in cpt.parents]]
    return name not in evidence and all(is_barren(cpts, child, evidence) for child in below)


def updated(
    cpts: Sequence[ConditionalTable],
    alphas: Alphas,
    rows: Sequence[Mapping[str, Any]],
    weights: Sequence[float],
    fading: float,
) -> Alphas:
    """Return the counts after rows that are taken together: α ← f α + w n, with n under the tables before all rows."""
    alphas = dict(alphas)
    for row, weight in zip(rows, weights, strict=True):
        found = fractional_counts(cpts, row)
        alphas = {name: fading * alpha + weight * found[name] for name, alpha in alphas.items()}
    return alphas


def brute_cusum(evidence: Sequence[float], start: float = 0.0) -> list[float]:
    """Return max(0, C + L) after each row."""
    found, value = [], start
    for one in evidence:
        value = max(0.0, value + one)
        found.append(value)
    return found


def configurations(cpt: ConditionalTable) -> list[tuple[int, ...]]:
    """Return the codes of all configurations of a table's parents."""
    return list(product(*(range(p.n_states) for p in cpt.parents)))
