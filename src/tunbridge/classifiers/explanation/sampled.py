"""What the features of a network tell about its class, where no table of counts has the answer: from a sample of it.

A network in which the class stands anywhere, with numbers that depend on numbers, has no closed form for I(X; C |
parents). But it can be sampled, and asked for the posterior of each row with and without the feature:

    I(X; C | U) = E[Σ_c P(c | u, x) log P(c | u, x)/P(c | u)],

and the expected weight of evidence is the same with the log-odds of c in the place of its logarithm. Only the rows are
random, not the classes within them, so that a few thousand do; where a feature says nothing the answer is exactly 0.
The sample is the same each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tunbridge.classifiers.posteriors import log_posterior
from tunbridge.network import BayesianNetwork

if TYPE_CHECKING:
    from tunbridge.classifiers.networks.network_model import NetworkModel

_ROWS = 2000
_TAIL = 0.025


def sampled_importances(model: NetworkModel, method: str) -> dict[int, float]:
    """Return what each feature tells about the class beside its parents, by its position."""
    codes, values = _sample(model)
    found = {}
    for j, parents in enumerate(model.parents):
        if parents is not None:
            before = _log_posterior(model, codes, values, [u + 1 for u in parents])
            after = _log_posterior(model, codes, values, [*(u + 1 for u in parents), j + 1])
            found[j] = _gain(before, after, method)
    return found


def sampled_ranges(model: NetworkModel) -> dict[int, tuple[float, float]]:
    """Return between which values nearly all of each number lie, by its position."""
    _, values = _sample(model)
    ends = {i - 1: np.quantile(v, [_TAIL, 1 - _TAIL]).tolist() for i, v in values.items()}
    return {j: (low, high) for j, (low, high) in ends.items() if low < high}


def _sample(model: NetworkModel) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Return the codes of all nodes, the class unknown, and the numbers, of a sample of the network."""
    table = BayesianNetwork.from_tables(model.tables.values()).sample(_ROWS, random_state=0)
    codes, values = np.full((len(model.structure), _ROWS), -1, np.int32), {}
    for i, known in model.tables.items():
        if known.variable.is_continuous:
            values[i] = table.floats(known.variable.name)
        elif i:
            codes[i] = table.codes(known.variable.name)
    return codes, values


def _log_posterior(
    model: NetworkModel, codes: np.ndarray, values: dict[int, np.ndarray], told: list[int]
) -> np.ndarray:
    """Return log P(c | what is told of each row), class × row."""
    seen = np.full_like(codes, -1)
    seen[told] = codes[told]
    known = {i: v if i in told else np.full_like(v, np.nan) for i, v in values.items()}
    return log_posterior(model._log_joint(seen, known).T)


def _gain(before: np.ndarray, after: np.ndarray, method: str) -> float:
    share = np.exp(after)
    if method == "weight":
        before, after = _log_odds(before), _log_odds(after)
    moved = np.where(
        before == after, 0.0, np.where(before == after, 0.0, after) - np.where(before == after, 0.0, before)
    )
    return max(0.0, float(np.where(share > 0, share * np.where(share > 0, moved, 0.0), 0.0).sum(axis=0).mean()))


def _log_odds(log_shares: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return log_shares - np.log(-np.expm1(np.minimum(log_shares, 0.0)))
