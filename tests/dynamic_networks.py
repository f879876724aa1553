"""Random dynamic networks and evidence for the tests, and the unrolled network as the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np

from networks import random_evidence, random_rows
from tunbridge.data import Variable
from tunbridge.probability import CPT, NoisyMaxCPT
from tunbridge.temporal.dynamic import DynamicBayesianNetwork


def random_dynamic(
    rng: np.random.Generator, *, most_variables: int = 6, most_states: int = 3, order: int = 1, zeros: float = 0.15
) -> DynamicBayesianNetwork:
    """Return a random network: any parents in the same slice and in earlier ones, zeros in the tables."""
    n = int(rng.integers(1, most_variables + 1))
    variables = [
        Variable(f"v{i}", [f"s{k}" for k in range(rng.integers(1 if i == 3 else 2, most_states + 1))]) for i in range(n)
    ]
    first, tables = [], []
    for i in rng.permutation(n):
        inside = [variables[j] for j in rng.permutation(n) if j < i and rng.random() < 0.4][:2]
        earlier = [(j, lag) for j in range(n) for lag in range(1, order + 1) if rng.random() < 0.5 / order]
        chosen = [earlier[k] for k in rng.permutation(len(earlier))[:2]]
        lagged = [variables[j].renamed(f"v{j}[t-{lag}]") for j, lag in chosen]
        parents = [*lagged, *inside]
        parents = [parents[k] for k in rng.permutation(len(parents))]
        first.append(
            CPT(variables[i], inside, random_rows(rng, (*(p.n_states for p in inside), variables[i].n_states), zeros))
        )
        if parents and rng.random() < 0.1:
            effects = [random_rows(rng, (p.n_states, variables[i].n_states), zeros) for p in parents]
            tables.append(NoisyMaxCPT(variables[i], parents, effects))
        else:
            shape = (*(p.n_states for p in parents), variables[i].n_states)
            tables.append(CPT(variables[i], parents, random_rows(rng, shape, zeros)))
    from tunbridge.network import BayesianNetwork

    return DynamicBayesianNetwork.from_tables(BayesianNetwork.from_tables(first), tables)


def random_slices(rng: np.random.Generator, net: DynamicBayesianNetwork, n_slices: int) -> list[dict[str, Any] | None]:
    """Return random evidence: states, several states, likelihoods; some slices without any."""
    made: list[dict[str, Any] | None] = []
    for _ in range(n_slices):
        share = float(rng.choice([0.0, 0.3, 0.6]))
        made.append(random_evidence(rng, net._tables, share) if share else rng.choice([None, {}]))
    return made


def unrolled_evidence(slices: list[dict[str, Any] | None]) -> dict[str, Any]:
    """Return the evidence about the nodes of the unrolled network."""
    return {f"{name}[{t}]": finding for t, given in enumerate(slices) for name, finding in (given or {}).items()}
