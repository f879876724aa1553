"""Exact inference by plain variable elimination: multiply the tables that hold a variable, sum it out, go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tunbridge.probability import ConditionalTable

Factor = tuple[list[str], np.ndarray]


def eliminate(
    cpts: Sequence[ConditionalTable], targets: Sequence[str], evidence: Mapping[str, Any], order: Sequence[str]
) -> np.ndarray:
    """Return P(targets, e), one axis for each target; ``order`` names the other variables as they are summed out."""
    factors: list[Factor] = [([*(p.name for p in cpt.parents), cpt.variable.name], cpt.table()) for cpt in cpts]
    for cpt in cpts:
        if cpt.variable.name in evidence:
            factors.append(([cpt.variable.name], _likelihood(cpt, evidence[cpt.variable.name])))
    for name in order:
        holding = [f for f in factors if name in f[0]]
        others = [f for f in factors if name not in f[0]]
        scope = sorted({n for names, _ in holding for n in names} - {name})
        factors = [*others, (scope, _product(holding, scope))]
    return _product(factors, targets)


def _likelihood(cpt: ConditionalTable, finding: Any) -> np.ndarray:
    states = cpt.variable.states or ()
    if isinstance(finding, Mapping):
        return np.array([finding[s] for s in states])
    several = finding if isinstance(finding, list | set | tuple) else [finding]
    return np.array([float(s in several) for s in states])


def _product(factors: Sequence[Factor], scope: Sequence[str]) -> np.ndarray:
    """Return the product of tables, summed over all that is not in the scope."""
    names = {name for axes, _ in factors for name in axes} | set(scope)
    letter = {name: i for i, name in enumerate(sorted(names))}
    operands: list[Any] = []
    for axes, table in factors:
        operands += [table, [letter[name] for name in axes]]
    return np.einsum(*operands, [letter[name] for name in scope], optimize="greedy")
